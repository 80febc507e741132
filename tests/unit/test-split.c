/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Larger pages taken apart, against a simulated kernel: into what they are is a setting of the kernel's,
 * which is as it was afterwards, wherever a run is killed and whatever comes next. */

#include "apply/run.h"
#include "bed.h"

#define PARTS "/sys/kernel/mm/hugepages/hugepages-131072kB/demote_size"

/* 2M pages come only where 128M ones are taken apart, past the 32M that the kernel would make of them. */
static Bed splitting_bed(void) {
        Bed b = bed_new(1, 1 * G,
                        "[Pool big]\nPageSize=128M\nPages=1\n[Pool small]\nPageSize=2M\nPages=60\n"
                        "[System]\nKeepFree=128M\n");

        b.sim->sizes[0] = 128 * M;
        b.sim->sizes[1] = 32 * M;
        b.sim->sizes[2] = 2 * M;
        b.sim->n_sizes = 3;
        sim_place(b.sim, 0, 0, 2);
        sim_place(b.sim, 2, 0, 20);
        sim_break(b.sim, 0, SIM_UNMOVABLE, 0);
        temp_root_write(b.root, STATE_PATH, "hugepages-setup-state 1\nbefore 134217728 0 0\n");
        return b;
}

/* The part of a run that comes after the node has given all it can. */
static int split_in(Bed *b, Run *run, const ApplyInput *input) {
        _cleanup_(plan_freep) Plan *learnt = NULL;
        _cleanup_close_ int lock = -1;
        PlanInput again = *input->plan;
        int r = run_init(run, input, b->plan);

        if (r >= 0)
                r = run_lock(input, &lock);
        if (r >= 0)
                r = run_reload_state(run);
        if (r < 0)
                return r;
        run->limits.pages[2] = 20;
        again.limits = &run->limits;
        r = plan_make(&again, &learnt, &b->diagnostics);
        return r < 0 ? r : split_larger(run, b->plan, learnt);
}

/* Gives what split_larger() does. */
static int try_split(Bed *b) {
        Kernel kernel = sim_kernel(b->sim);
        PlanInput plan;
        ApplyInput input;
        Run run;
        int r;

        assert_int_equal(bed_load(b, &plan), 0);
        input = (ApplyInput){ .plan = &plan, .host = b->host, .kernel = &kernel, .root = b->root };
        r = split_in(b, &run, &input);
        run_done(&run);
        return r;
}

static char *parts_of(const Bed *b) {
        Kernel kernel = sim_kernel(b->sim);
        char *value;

        assert_int_equal(kernel.read(&kernel, PARTS, &value), 0);
        return value;
}

static void assert_parts(const Bed *b, const char *expected) {
        _cleanup_free_ char *value = parts_of(b);

        assert_string_equal(value, expected);
}

static void assert_nothing_remembered(const Bed *b) {
        State *s = read_state(b);

        assert_int_equal(s->n_knobs, 0);
        state_free(s);
}

static void assert_pages(const Bed *b, uint64_t large, uint64_t small) {
        assert_int_equal(on_node(b, 0, 0), large);
        assert_int_equal(on_node(b, 1, 0), 0);
        assert_int_equal(on_node(b, 2, 0), small);
}

static void test_the_setting_is_put_back(void **state) {
        _cleanup_bed_ Bed b = splitting_bed();

        assert_parts(&b, "32768kB");
        assert_int_equal(try_split(&b), 1);
        assert_pages(&b, 1, 20 + 64);
        assert_parts(&b, "32768kB");
        assert_nothing_remembered(&b);
}

static void test_what_a_pool_has_is_left_alone(void **state) {
        _cleanup_bed_ Bed b = splitting_bed();

        bed_declare(&b, "[Pool big]\nPageSize=128M\nPages=2\n[Pool small]\nPageSize=2M\nPages=60\n"
                        "[System]\nKeepFree=128M\n");
        assert_int_equal(try_split(&b), 0);
        assert_pages(&b, 2, 20);
}

static void test_what_was_there_before_is_left_alone(void **state) {
        _cleanup_bed_ Bed b = splitting_bed();

        temp_root_write(b.root, STATE_PATH, "hugepages-setup-state 1\nbefore 134217728 0 2\n");
        assert_int_equal(try_split(&b), 0);
        assert_pages(&b, 2, 20);
}

static void test_a_size_without_a_pool_is_left_alone(void **state) {
        _cleanup_bed_ Bed b = splitting_bed();

        bed_declare(&b, "[Pool small]\nPageSize=2M\nPages=60\n[System]\nKeepFree=128M\n");
        assert_int_equal(try_split(&b), 0);
        assert_pages(&b, 2, 20);
}

static void test_a_setting_that_is_right_is_not_written(void **state) {
        _cleanup_bed_ Bed b = splitting_bed();

        b.sim->demote_to[0] = 2;
        sim_refuse(b.sim, PARTS, -EIO, /* read_too= */ false);
        assert_int_equal(try_split(&b), 1);
        assert_pages(&b, 1, 20 + 64);
        assert_parts(&b, "2048kB");
        assert_nothing_remembered(&b);
}

static void test_a_setting_that_is_refused_splits_nothing(void **state) {
        _cleanup_bed_ Bed b = splitting_bed();

        sim_refuse(b.sim, PARTS, -EIO, /* read_too= */ false);
        assert_int_equal(try_split(&b), 0);
        assert_pages(&b, 2, 20);
        assert_nothing_remembered(&b);
}

typedef int (*Action)(Bed *b);

static int try_giving_back(Bed *b, bool all) {
        Kernel kernel = sim_kernel(b->sim);
        _cleanup_(released_freep) Released *released = NULL;
        PlanInput plan;
        ApplyInput input;

        assert_int_equal(bed_load(b, &plan), 0);
        b->sim->keep_free = b->plan->keep_free;
        input = (ApplyInput){ .host = b->host, .kernel = &kernel, .root = b->root };
        return all ? revert_run(&input, b->plan, /* dry_run= */ false, &released)
                   : release_run(&input, b->plan, NULL, NULL, /* dry_run= */ false, &released);
}

static int try_revert(Bed *b) {
        return try_giving_back(b, true);
}

static int try_release(Bed *b) {
        return try_giving_back(b, false);
}

static void kill_everywhere(Action next) {
        size_t n_changed = 0;
        bool killed = true;

        for (size_t n = 1; killed; n++) {
                _cleanup_bed_ Bed b = splitting_bed();
                _cleanup_free_ char *value = NULL;

                killed = bed_killed(&b, n, try_split);
                value = parts_of(&b);
                n_changed += !streq(value, "32768kB");
                assert_int_equal(next(&b), 0);
                assert_parts(&b, "32768kB");
                assert_nothing_remembered(&b);
                if (next == bed_try)
                        assert_pages(&b, 1, 60);
        }
        assert_true(n_changed >= 2); /* before the pages are split, and before it is put back */
}

static void test_a_killed_run_is_put_back_by_the_next(void **state) {
        kill_everywhere(bed_try);
}

static void test_a_killed_run_is_put_back_by_release(void **state) {
        kill_everywhere(try_release);
}

static void test_a_killed_run_is_put_back_by_revert(void **state) {
        kill_everywhere(try_revert);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_setting_is_put_back),
                cmocka_unit_test(test_what_a_pool_has_is_left_alone),
                cmocka_unit_test(test_what_was_there_before_is_left_alone),
                cmocka_unit_test(test_a_size_without_a_pool_is_left_alone),
                cmocka_unit_test(test_a_setting_that_is_right_is_not_written),
                cmocka_unit_test(test_a_setting_that_is_refused_splits_nothing),
                cmocka_unit_test(test_a_killed_run_is_put_back_by_the_next),
                cmocka_unit_test(test_a_killed_run_is_put_back_by_release),
                cmocka_unit_test(test_a_killed_run_is_put_back_by_revert),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
