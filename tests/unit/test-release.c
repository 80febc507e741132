/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Revert and release against a simulated kernel: what comes back, what stays and why, every place where
 * either can be killed, and on random machines that nobody loses a page that is his. */

#include "bed.h"

#define ROUNDS 1500u

typedef struct Job {
        Bed bed;
        Released *released;
} Job;

static void job_done(Job *j) {
        released_free(j->released);
        bed_done(&j->bed);
}

#define _cleanup_job_ _cleanup_(job_done)

static ApplyInput input_of(Bed *b, Kernel *kernel) {
        return (ApplyInput){
                .host = b->host,
                .kernel = kernel,
                .root = b->root,
                .diagnostics = &b->diagnostics,
                .status_line = bed_status_line,
        };
}

static int revert_with(Bed *b, bool dry_run, Released **ret) {
        Kernel kernel = sim_kernel(b->sim);
        PlanInput plan;
        ApplyInput input;

        assert_int_equal(bed_load(b, &plan), 0);
        b->sim->keep_free = b->plan->keep_free;
        input = input_of(b, &kernel);
        return revert_run(&input, b->plan, dry_run, ret);
}

static int release_claimed(Bed *b, const char *name, const MountClaim *claims, bool dry_run,
                           Released **ret) {
        Kernel kernel = sim_kernel(b->sim);
        bool named[8] = {};
        PlanInput plan;
        ApplyInput input;

        assert_int_equal(bed_load(b, &plan), 0);
        assert_true(b->plan->n_pools <= ELEMENTSOF(named));
        for (size_t i = 0; name && i < b->plan->n_pools; i++)
                named[i] = streq(b->plan->pools[i].pool->section.name, name);
        input = input_of(b, &kernel);
        return release_run(&input, b->plan, name ? named : NULL, claims, dry_run, ret);
}

static int release_with(Bed *b, const char *name, bool dry_run, Released **ret) {
        return release_claimed(b, name, /* claims= */ NULL, dry_run, ret);
}

static void revert(Job *j) {
        released_free(j->released);
        j->released = NULL;
        j->bed.sim->n_writes = 0;
        assert_int_equal(revert_with(&j->bed, /* dry_run= */ false, &j->released), 0);
        assert_false(j->bed.sim->asked_too_much);
        assert_false(j->bed.sim->dropped_promised);
}

static void release(Job *j, const char *name) {
        released_free(j->released);
        j->released = NULL;
        j->bed.sim->n_writes = 0;
        assert_int_equal(release_with(&j->bed, name, /* dry_run= */ false, &j->released), 0);
        assert_false(j->bed.sim->dropped_promised);
}

static const ReleasedPool *released_pool(const Job *j, const char *name) {
        for (size_t i = 0; i < j->released->n_pools; i++)
                if (streq(j->released->pools[i].pool->pool->section.name, name))
                        return &j->released->pools[i];
        fail();
        return NULL;
}

/* What a look without a run sees. */
static const OutcomePool *observed_pool(Bed *b, const char *name) {
        PlanInput plan;

        assert_int_equal(bed_load(b, &plan), 0);
        assert_int_equal(outcome_observe(b->plan, b->host, &b->diagnostics, &b->outcome), 0);
        for (size_t i = 0; i < b->outcome->n_pools; i++)
                if (streq(b->outcome->pools[i].name, name))
                        return &b->outcome->pools[i];
        fail();
        return NULL;
}

static const char everything[] = "[Pool a]\nPageSize=2M\nPages=0:50,1:30\nOvercommitPages=7\n"
                                 "[Pool big]\nPageSize=1G\nPages=1:2\n[THP]\nEnabled=never\n";

/* Some pages were there, and words to come back to. */
static Bed everything_bed(void) {
        Bed b = bed_new(2, 8 * G, everything);

        bed_add_gigantic(&b);
        sim_place(b.sim, 1, 0, 5);
        sim_add_knob(b.sim, THP_DIRECTORY "/enabled", "[always] madvise never");
        b.sim->overcommit[1] = 3;
        return b;
}

/* --- revert --- */

static void test_everything_comes_back(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        _cleanup_free_ char *text = NULL;
        SimKernel *sim = j.bed.sim;

        bed_run(&j.bed);
        assert_int_equal(on_node(&j.bed, 1, 0), 50);
        assert_int_equal(sim->overcommit[1], 7);

        revert(&j);
        assert_int_equal(on_node(&j.bed, 1, 0), 5);
        assert_int_equal(on_node(&j.bed, 1, 1), 0);
        assert_int_equal(on_node(&j.bed, 0, 1), 0);
        assert_int_equal(sim->overcommit[1], 3);
        assert_string_equal(sim->knobs[0].value, "[always] madvise never");
        assert_true(released_complete(j.released));
        assert_int_equal(j.released->n_pages, 3);
        assert_int_equal(j.released->pages[0].from, 2); /* the largest size first */
        assert_int_equal(j.released->pages[0].to, 0);
        assert_int_equal(j.released->pages[0].actual, 0);
        assert_int_equal(j.released->pages[1].to, 5);
        assert_int_equal(j.released->n_knobs, 2);
        text = state_text(&j.bed);
        assert_string_equal(text, "hugepages-setup-state 1\nreverted\n");
        assert_string_equal(observed_pool(&j.bed, "a")->reason,
                            "hugepages-setup.service has not reserved them yet");
        assert_int_equal(observed_pool(&j.bed, "a")->reserved, 5);
}

static void test_a_knob_of_vm_comes_back(void **state) {
        _cleanup_job_ Job j = { bed_new(1, 4 * G, "[System]\nDefragMode=yes\n") };

        sim_add_knob(j.bed.sim, "/proc/sys/vm/defrag_mode", "0");
        bed_run(&j.bed);
        assert_string_equal(j.bed.sim->knobs[0].value, "1");
        revert(&j);
        assert_string_equal(j.bed.sim->knobs[0].value, "0");
        assert_int_equal(j.released->n_knobs, 1);
        assert_string_equal(j.released->knobs[0].path, "/proc/sys/vm/defrag_mode");
}

static void test_a_second_revert_has_nothing_to_do(void **state) {
        _cleanup_job_ Job j = { everything_bed() };

        bed_run(&j.bed);
        revert(&j);
        assert_false(j.released->was_reverted);
        revert(&j);
        assert_int_equal(j.bed.sim->n_writes, 0);
        assert_int_equal(j.released->n_pages + j.released->n_knobs, 0);
        assert_true(j.released->was_reverted);
        /* A run that changes nothing makes the past no better. */
        bed_declare(&j.bed, "[Pool a]\nPageSize=2M\nPages=5\n");
        bed_run(&j.bed);
        assert_int_equal(j.bed.sim->n_writes, 0);
        revert(&j);
        assert_false(j.released->was_reverted);
}

static void test_without_a_state_nothing_is_written(void **state) {
        static const char *const damaged[] = { "", "hugepages-setup-state 1\nbefore x\n" };
        _cleanup_job_ Job j = { everything_bed() };

        assert_int_equal(revert_with(&j.bed, /* dry_run= */ false, &j.released), -ENOENT);
        assert_false(root_exists(j.bed.root, STATE_DIRECTORY));
        for (size_t i = 0; i < ELEMENTSOF(damaged); i++) {
                temp_root_write(j.bed.root, STATE_PATH, damaged[i]);
                assert_int_equal(revert_with(&j.bed, /* dry_run= */ false, &j.released), -EINVAL);
        }
        assert_int_equal(j.bed.sim->n_writes, 0);
        assert_null(j.released);
}

static void test_a_dry_run_foresees_and_changes_nothing(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        _cleanup_(released_freep) Released *dry = NULL;
        _cleanup_free_ char *before = NULL, *after = NULL;

        bed_run(&j.bed);
        sim_use(j.bed.sim, 1, 1, 20);
        j.bed.sim->resv[1] = 35;
        before = state_text(&j.bed);
        j.bed.sim->n_writes = 0;
        assert_int_equal(revert_with(&j.bed, /* dry_run= */ true, &dry), 0);
        assert_int_equal(j.bed.sim->n_writes, 0);
        after = state_text(&j.bed);
        assert_string_equal(before, after);
        assert_string_equal(j.bed.sim->knobs[0].value, "always madvise [never]");

        revert(&j);
        assert_int_equal(dry->n_pages, j.released->n_pages);
        for (size_t i = 0; i < dry->n_pages; i++) {
                assert_int_equal(dry->pages[i].actual, j.released->pages[i].actual);
                assert_int_equal(j.released->pages[i].to, j.released->pages[i].actual);
        }
        /* 60 were free, 35 of them promised: of node 0 the first 25 went, nothing of node 1. */
        assert_int_equal(on_node(&j.bed, 1, 0), 25);
        assert_int_equal(on_node(&j.bed, 1, 1), 30);
}

static void test_what_is_used_or_promised_stays_and_is_remembered(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        _cleanup_free_ char *text = NULL;

        bed_run(&j.bed);
        sim_use(j.bed.sim, 1, 1, 20);
        j.bed.sim->resv[1] = 10;
        revert(&j);
        assert_int_equal(on_node(&j.bed, 1, 0), 5);
        assert_int_equal(on_node(&j.bed, 1, 1), 25);
        assert_false(released_complete(j.released));
        assert_null(j.released->pages[1].reason);
        assert_string_equal(j.released->pages[2].reason, "in use or promised");
        text = state_text(&j.bed);
        assert_string_equal(text, "hugepages-setup-state 1\nbefore 2097152 1 0\nreverted\n");

        /* They have gone: so can the pages. */
        j.bed.sim->resv[1] = 0;
        j.bed.sim->nodes[1].pages[1].free = 25;
        revert(&j);
        assert_int_equal(on_node(&j.bed, 1, 1), 0);
        assert_true(released_complete(j.released));
}

static void test_what_was_lowered_is_raised_above_keep_free_alone(void **state) {
        _cleanup_job_ Job j = { bed_new(2, 1 * G,
                                        "[Pool a]\nPageSize=2M\nPages=1:10\n"
                                        "[System]\nKeepFree=1G\n") };
        SimKernel *sim = j.bed.sim;

        sim_place(sim, 0, 0, 100);
        bed_run(&j.bed);
        bed_declare(&j.bed, "[Pool a]\nPageSize=2M\nPages=0:50\n[System]\nKeepFree=1G\n");
        release(&j, NULL);
        assert_int_equal(on_node(&j.bed, 0, 0), 50);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 0, 0), 100);
        assert_int_equal(on_node(&j.bed, 0, 1), 0);
        assert_true(released_complete(j.released));

        /* Again, but somebody has the memory now: 40 pages are left above KeepFree=. */
        release(&j, NULL);
        sim_leave_free(sim, 0, SIM_MOVABLE, 40 * 2 * M);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 0, 0), 90);
        assert_string_equal(j.released->pages[0].reason, "KeepFree=1G leaves no room");
        sim_clear(sim, 0, SIM_MOVABLE);
        sim_break(sim, 0, SIM_UNMOVABLE, 4 * 2 * M);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 0, 0), 94);
        assert_string_equal(j.released->pages[0].reason, "too little unbroken memory");
}

/* 50 pages go and make room for 50 of the 70 that are to come. */
static void test_what_goes_makes_room_for_what_comes(void **state) {
        _cleanup_job_ Job j = { bed_new(2, 1 * G,
                                        "[Pool a]\nPageSize=2M\nPages=1:50\n"
                                        "[System]\nKeepFree=1G\n") };
        Released *dry = NULL;

        bed_run(&j.bed);
        temp_root_write(j.bed.root, STATE_PATH,
                        "hugepages-setup-state 1\nbefore 2097152 0 70\nbefore 2097152 1 0\nexit 0\n");
        sim_leave_free(j.bed.sim, 0, SIM_MOVABLE, 100 * M);
        assert_int_equal(revert_with(&j.bed, /* dry_run= */ true, &dry), 0);
        assert_int_equal(dry->pages[0].to, 50);
        assert_int_equal(dry->pages[1].to, 0);
        assert_string_equal(dry->pages[0].reason, "KeepFree=1G leaves no room");
        released_free(dry);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 0, 0), 50);
        assert_int_equal(on_node(&j.bed, 0, 1), 0);
}

static void test_what_is_refused_is_told_and_remembered(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        _cleanup_free_ char *text = NULL;

        bed_run(&j.bed);
        sim_refuse(j.bed.sim, "/node1/hugepages/hugepages-2048kB", -EPERM, /* read_too= */ false);
        sim_refuse(j.bed.sim, THP_DIRECTORY, -EACCES, /* read_too= */ false);
        revert(&j);
        assert_false(released_complete(j.released));
        assert_string_equal(j.released->pages[2].reason, "the kernel refused: Operation not permitted");
        assert_string_equal(j.released->knobs[1].path, THP_DIRECTORY "/enabled");
        assert_string_equal(j.released->knobs[1].from, "never");
        assert_string_equal(j.released->knobs[1].to, "always");
        assert_string_equal(j.released->knobs[1].actual, "never");
        assert_int_equal(j.released->knobs[1].error, -EACCES);
        assert_int_equal(j.bed.sim->overcommit[1], 3);
        text = state_text(&j.bed);
        assert_string_equal(text, "hugepages-setup-state 1\nbefore 2097152 1 0\n"
                                  "knob " THP_DIRECTORY "/enabled always\nreverted\n");
}

static void test_the_next_run_begins_with_what_is_there(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        State *s;

        bed_run(&j.bed);
        revert(&j);
        sim_place(j.bed.sim, 1, 1, 12); /* somebody else's */
        bed_run(&j.bed);
        s = read_state(&j.bed);
        assert_int_equal(state_pages_before(s, 2 * M, 0, 999), 5);
        assert_int_equal(state_pages_before(s, 2 * M, 1, 999), 12);
        assert_int_equal(s->n_knobs, 2);
        assert_int_equal(s->exit_status, 0);
        assert_false(s->reverted);
        state_free(s);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 1, 0), 5);
        assert_int_equal(on_node(&j.bed, 1, 1), 12);
}

static void test_a_run_that_was_killed_is_not_taken_for_a_revert(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        State *s;

        bed_run(&j.bed);
        revert(&j);
        assert_true(bed_killed(&j.bed, 30, bed_try));
        s = read_state(&j.bed);
        assert_false(s->reverted);
        assert_int_equal(s->exit_status, -1);
        state_free(s);
}

/* The other one has read the counts, and then waits or is slow: they are those before the revert. */
static void test_a_run_does_not_take_what_is_reverted_for_what_was_there(void **state) {
        _cleanup_job_ Job j = { everything_bed() };
        Bed late = { .root = j.bed.root, .sim = j.bed.sim };
        Kernel kernel = sim_kernel(j.bed.sim);
        ApplyInput input;
        PlanInput plan;
        State *s;

        bed_run(&j.bed);
        assert_int_equal(bed_load(&late, &plan), 0);
        revert(&j);
        input = input_of(&late, &kernel);
        input.plan = &plan;
        assert_int_equal(apply_run(&input, late.plan, &late.outcome), 0);
        assert_int_equal(on_node(&j.bed, 1, 0), 50);
        s = read_state(&j.bed);
        assert_int_equal(state_pages_before(s, 2 * M, 0, 999), 5);
        assert_int_equal(state_pages_before(s, 2 * M, 1, 999), 0);
        state_free(s);
        bed_forget(&late);
}

static void test_nodes_that_are_gone_are_forgotten(void **state) {
        _cleanup_job_ Job j = { everything_bed() };

        temp_root_write(j.bed.root, STATE_PATH,
                        "hugepages-setup-state 1\nbefore 2097152 7 0\nbefore 65536 0 3\n"
                        "before 2097152 0 2\nexit 0\n");
        revert(&j);
        assert_int_equal(j.released->n_pages, 1);
        assert_int_equal(on_node(&j.bed, 1, 0), 2);
        assert_true(released_complete(j.released));
}

static int try_revert(Bed *b) {
        Released *released = NULL;
        int r = revert_with(b, /* dry_run= */ false, &released);

        released_free(released);
        return r;
}

/* Everything is to be done: knobs, pages to be lowered and others to be raised, some that stay. */
static Bed reverting_bed(void) {
        Bed b = everything_bed();
        Released *released = NULL;

        sim_place(b.sim, 0, 0, 1);
        bed_declare(&b, "[Pool z]\nPageSize=1G\nPages=0:1\n");
        assert_int_equal(release_with(&b, NULL, /* dry_run= */ false, &released), 0);
        released_free(released);
        bed_declare(&b, everything);
        bed_run(&b);
        sim_use(b.sim, 1, 1, 7);
        b.sim->resv[1] = 3;
        return b;
}

static void test_a_killed_revert_is_carried_on_by_the_next(void **state) {
        _cleanup_bed_ Bed whole = reverting_bed();
        _cleanup_free_ char *expected = NULL;
        bool killed = true;
        size_t n = 1;

        assert_int_equal(try_revert(&whole), 0);
        assert_int_equal(on_node(&whole, 0, 0), 1);
        assert_int_equal(on_node(&whole, 1, 0), 5);
        expected = state_text(&whole);
        for (; killed; n++) {
                _cleanup_bed_ Bed b = reverting_bed();
                _cleanup_free_ char *text = NULL;

                killed = bed_killed(&b, n, try_revert);
                assert_int_equal(try_revert(&b), 0);
                assert_false(b.sim->dropped_promised);
                for (size_t i = 0; i < 2; i++)
                        for (size_t node = 0; node < 2; node++)
                                assert_int_equal(on_node(&b, i, node), on_node(&whole, i, node));
                assert_string_equal(b.sim->knobs[0].value, whole.sim->knobs[0].value);
                assert_int_equal(b.sim->overcommit[1], 3);
                text = state_text(&b);
                assert_string_equal(text, expected);
        }
        assert_true(n > 60);
}

/* --- release --- */

static Bed tenants_bed(void) {
        Bed b = bed_new(2, 4 * G,
                        "[Pool db]\nPageSize=2M\nPages=33\nEssential=yes\n"
                        "[Pool mq]\nPageSize=2M\nPages=0:8,1:32\n");

        bed_run(&b);
        return b;
}

static void test_a_pool_gives_its_pages_back_and_others_keep_theirs(void **state) {
        _cleanup_job_ Job j = { tenants_bed() };
        const ReleasedPool *p;
        State *s;

        release(&j, "db");
        assert_int_equal(j.released->n_pools, 1);
        p = released_pool(&j, "db");
        assert_int_equal(p->held, 33);
        assert_int_equal(p->released, 33);
        assert_int_equal(p->node_released[0], 17);
        assert_int_equal(p->node_released[1], 16);
        assert_int_equal(p->in_use + p->promised + p->refused, 0);
        assert_true(released_complete(j.released));
        assert_int_equal(on_node(&j.bed, 0, 0), 8);
        assert_int_equal(on_node(&j.bed, 0, 1), 32);

        /* It comes first, and yet what is left is not its. */
        assert_int_equal(observed_pool(&j.bed, "db")->reserved, 0);
        assert_string_equal(observed_pool(&j.bed, "db")->reason, "given back with hugepagesctl release");
        assert_int_equal(observed_pool(&j.bed, "mq")->reserved, 40);
        s = read_state(&j.bed);
        assert_true(state_find_pool(s, "db")->released);
        assert_false(state_find_pool(s, "mq")->released);
        assert_int_equal(state_find_pool(s, "db")->requested, 33);
        assert_int_equal(s->exit_status, 0);
        assert_string_equal(s->status, "as reported");
        state_free(s);

        /* Once more: there is nothing of it. */
        release(&j, "db");
        assert_int_equal(j.bed.sim->n_writes, 0);
        assert_int_equal(released_pool(&j, "db")->held, 0);

        bed_run(&j.bed);
        assert_int_equal(on_node(&j.bed, 0, 0), 25);
        assert_int_equal(on_node(&j.bed, 0, 1), 48);
        s = read_state(&j.bed);
        assert_false(state_find_pool(s, "db")->released);
        assert_null(state_find_pool(s, "db")->reason);
        state_free(s);
}

static void test_without_names_all_pools_go_those_pages_too_that_were_there(void **state) {
        _cleanup_job_ Job j = { bed_new(2, 4 * G, "[Pool a]\nPageSize=2M\nPages=0:30,1:10\n") };

        sim_place(j.bed.sim, 0, 0, 20);
        sim_place(j.bed.sim, 0, 1, 15);
        bed_run(&j.bed);
        release(&j, NULL);
        assert_int_equal(on_node(&j.bed, 0, 0), 0);
        assert_int_equal(on_node(&j.bed, 0, 1), 5); /* beyond the pools */
        assert_int_equal(released_pool(&j, "a")->released, 40);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 0, 0), 20);
        assert_int_equal(on_node(&j.bed, 0, 1), 15);
}

static void test_what_is_used_and_what_is_promised_is_told_apart(void **state) {
        _cleanup_job_ Job j = { bed_new(1, 4 * G,
                                        "[Pool a]\nPageSize=2M\nPages=30\n"
                                        "[Pool b]\nPageSize=2M\nPages=20\n") };
        Released *dry = NULL;

        bed_run(&j.bed);
        sim_use(j.bed.sim, 0, 0, 26);
        j.bed.sim->resv[0] = 10;
        assert_int_equal(release_with(&j.bed, NULL, /* dry_run= */ true, &dry), 0);
        assert_int_equal(on_node(&j.bed, 0, 0), 50);
        assert_int_equal(dry->pools[0].released, 14);
        assert_int_equal(dry->pools[0].promised, 10);
        assert_int_equal(dry->pools[0].in_use, 6);
        released_free(dry);

        release(&j, NULL);
        assert_int_equal(on_node(&j.bed, 0, 0), 36);
        assert_int_equal(released_pool(&j, "a")->released, 14);
        assert_int_equal(released_pool(&j, "a")->promised, 10);
        assert_int_equal(released_pool(&j, "a")->in_use, 6);
        assert_int_equal(released_pool(&j, "b")->released, 0);
        assert_int_equal(released_pool(&j, "b")->in_use, 20);
        assert_false(released_complete(j.released));
        assert_string_equal(observed_pool(&j.bed, "b")->reason, "given back with hugepagesctl release");
}

/* Its mount has 20 of its pages promised and 5 in use: none of the other pool's pages goes instead. */
static void test_what_a_mount_has_is_not_made_up_for_by_others(void **state) {
        _cleanup_job_ Job j = { tenants_bed() };
        const MountClaim claims[] = { { .used = 5, .promised = 20 }, {} };

        sim_use(j.bed.sim, 0, 1, 5);
        j.bed.sim->resv[0] = 20;
        assert_int_equal(release_claimed(&j.bed, "db", claims, /* dry_run= */ false, &j.released), 0);
        assert_int_equal(released_pool(&j, "db")->released, 8);
        assert_int_equal(released_pool(&j, "db")->in_use, 5);
        assert_int_equal(released_pool(&j, "db")->promised, 20);
        assert_int_equal(released_pool(&j, "db")->node_released[0], 8);
        assert_false(released_complete(j.released));
        assert_string_equal(j.released->pages[0].reason, "in use or promised");
        assert_int_equal(on_node(&j.bed, 0, 0), 17);
        assert_int_equal(on_node(&j.bed, 0, 1), 48);
        assert_int_equal(observed_pool(&j.bed, "mq")->reserved, 40);
        assert_int_equal(observed_pool(&j.bed, "db")->reserved, 25);
}

/* The other pool's mount has a promise, somebody without a mount has pages: those are in use. */
static void test_promises_to_the_mount_of_another_pool_are_not_this_ones(void **state) {
        _cleanup_job_ Job j = { tenants_bed() };
        const MountClaim claims[] = { { .promised = 33 }, {} };

        sim_use(j.bed.sim, 0, 0, 12);
        j.bed.sim->resv[0] = 33;
        assert_int_equal(release_claimed(&j.bed, "mq", claims, /* dry_run= */ false, &j.released), 0);
        assert_int_equal(released_pool(&j, "mq")->released, 28);
        assert_int_equal(released_pool(&j, "mq")->in_use, 12);
        assert_int_equal(released_pool(&j, "mq")->promised, 0);
        assert_int_equal(observed_pool(&j.bed, "db")->reserved, 33);
        assert_int_equal(observed_pool(&j.bed, "mq")->reserved, 12);
}

/* A mount with more than its pool has (another one has lent it). */
static void test_a_claim_is_no_more_than_the_pool_has(void **state) {
        _cleanup_job_ Job j = { tenants_bed() };
        const MountClaim claims[] = { {}, { .used = 7, .promised = UINT64_MAX } };

        assert_int_equal(release_claimed(&j.bed, NULL, claims, /* dry_run= */ false, &j.released), 0);
        assert_int_equal(released_pool(&j, "db")->released, 33);
        assert_int_equal(released_pool(&j, "mq")->released, 0);
        assert_int_equal(released_pool(&j, "mq")->in_use, 7);
        assert_int_equal(released_pool(&j, "mq")->promised, 33);
        assert_int_equal(on_node(&j.bed, 0, 0) + on_node(&j.bed, 0, 1), 40);
}

static void test_what_a_mount_has_is_not_counted_twice(void **state) {
        _cleanup_job_ Job j = { bed_new(1, 4 * G, "[Pool a]\nPageSize=2M\nPages=30\n") };
        const MountClaim claim = { .promised = 10 };

        bed_run(&j.bed);
        sim_use(j.bed.sim, 0, 0, 15);
        j.bed.sim->resv[0] = 10;
        assert_int_equal(release_claimed(&j.bed, NULL, &claim, /* dry_run= */ false, &j.released), 0);
        assert_int_equal(on_node(&j.bed, 0, 0), 25);
        assert_int_equal(released_pool(&j, "a")->released, 5);
        assert_int_equal(released_pool(&j, "a")->promised, 10);
        assert_int_equal(released_pool(&j, "a")->in_use, 15);
}

/* Who comes first gets the pages of the next run first, whatever was given back before. */
static void test_a_run_knows_no_released_pools(void **state) {
        _cleanup_job_ Job j = { tenants_bed() };

        release(&j, "db");
        for (size_t n = 0; n < 2; n++)
                sim_break(j.bed.sim, n, SIM_UNMOVABLE, 2 * 2 * M);
        bed_run(&j.bed);
        assert_int_equal(outcome_exit_status(j.bed.outcome), 0);
        assert_int_equal(j.bed.outcome->pools[0].reserved, 33);
        assert_int_equal(j.bed.outcome->pools[1].reserved, 11);
}

static void test_a_refused_release_is_told(void **state) {
        _cleanup_job_ Job j = { tenants_bed() };

        sim_refuse(j.bed.sim, "/node1/hugepages/", -EPERM, /* read_too= */ false);
        release(&j, "db");
        assert_int_equal(released_pool(&j, "db")->released, 17);
        assert_int_equal(released_pool(&j, "db")->refused, 16);
        assert_int_equal(released_pool(&j, "db")->in_use + released_pool(&j, "db")->promised, 0);
        assert_string_equal(j.released->pages[1].reason, "the kernel refused: Operation not permitted");
}

static void test_before_any_run_pages_can_be_released_and_come_back(void **state) {
        _cleanup_job_ Job j = { bed_new(1, 4 * G, "[Pool a]\nPageSize=2M\nPages=30\n") };
        State *s;

        sim_place(j.bed.sim, 0, 0, 20);
        release(&j, "a");
        assert_int_equal(on_node(&j.bed, 0, 0), 0);
        s = read_state(&j.bed);
        assert_true(s->reverted); /* no run is in effect */
        assert_int_equal(s->exit_status, -1);
        state_free(s);
        revert(&j);
        assert_int_equal(on_node(&j.bed, 0, 0), 20);
}

static void test_where_nothing_is_held_nothing_is_remembered(void **state) {
        _cleanup_job_ Job j = { everything_bed() };

        bed_declare(&j.bed, "[Pool big]\nPageSize=1G\nPages=1:2\n");
        release(&j, NULL);
        assert_int_equal(j.released->n_pages, 0);
        assert_false(root_exists(j.bed.root, STATE_PATH));
}

static int try_release(Bed *b) {
        Released *released = NULL;
        int r = release_with(b, "db", /* dry_run= */ false, &released);

        released_free(released);
        return r;
}

static void test_a_killed_release_takes_nothing_of_others_the_next_time(void **state) {
        _cleanup_bed_ Bed whole = tenants_bed();
        _cleanup_free_ char *expected = NULL;
        bool killed = true;
        size_t n = 1;

        assert_int_equal(try_release(&whole), 0);
        expected = state_text(&whole);
        for (; killed; n++) {
                _cleanup_bed_ Bed b = tenants_bed();
                _cleanup_free_ char *text = NULL;

                killed = bed_killed(&b, n, try_release);
                assert_int_equal(try_release(&b), 0);
                assert_int_equal(on_node(&b, 0, 0), 8);
                assert_int_equal(on_node(&b, 0, 1), 32);
                text = state_text(&b);
                assert_string_equal(text, expected);
        }
        assert_true(n > 30);
}

/* --- random machines --- */

typedef struct Counts {
        uint64_t persistent[SIM_SIZES_MAX][SIM_NODES_MAX];
        uint64_t surplus;
} Counts;

static Counts take_counts(const Bed *b) {
        Counts c = {};

        for (size_t i = 0; i < b->sim->n_sizes; i++)
                for (size_t n = 0; n < b->sim->n_nodes; n++) {
                        c.persistent[i][n] = on_node(b, i, n);
                        c.surplus += b->sim->nodes[n].pages[i].surplus;
                }
        return c;
}

static void assert_counts(const Bed *b, const Counts *c) {
        for (size_t i = 0; i < b->sim->n_sizes; i++)
                for (size_t n = 0; n < b->sim->n_nodes; n++)
                        assert_int_equal(on_node(b, i, n), c->persistent[i][n]);
}

/* Each pool's pages went or are accounted for. */
static void assert_sums(const Released *r, size_t n_nodes) {
        for (size_t i = 0; i < r->n_pools; i++) {
                const ReleasedPool *p = &r->pools[i];
                uint64_t held = 0, released = 0;

                for (size_t n = 0; n < n_nodes; n++) {
                        held += p->node_held[n];
                        released += p->node_released[n];
                        assert_true(p->node_released[n] <= p->node_held[n]);
                }
                assert_int_equal(held, p->held);
                assert_int_equal(released, p->released);
                assert_int_equal(p->released + p->in_use + p->promised + p->refused, p->held);
        }
}

/* What is in use or promised is still there for those who have it. */
static void assert_promises(const Bed *b) {
        assert_false(b->sim->dropped_promised);
        for (size_t i = 0; i < b->sim->n_sizes; i++) {
                uint64_t unused = 0;

                for (size_t n = 0; n < b->sim->n_nodes; n++)
                        unused += b->sim->nodes[n].pages[i].free;
                assert_true(unused >= b->sim->resv[i]);
        }
}

static void promise(Bed *b) {
        size_t i = b->sim->n_sizes - 1;
        uint64_t unused = 0;

        for (size_t n = 0; n < b->sim->n_nodes; n++) {
                sim_use(b->sim, i, n, random_below(200));
                unused += b->sim->nodes[n].pages[i].free;
        }
        b->sim->resv[i] = random_below(unused + 1);
}

static void one_random_machine(char *root, uint64_t seed) {
        _cleanup_(bed_leave_root) Bed b = { .root = root, .sim = sim_new() };
        Released *released = NULL;
        bool idle;
        Counts before;

        random_state = seed * 0x9e3779b97f4a7c15ull + 1;
        random_machine(b.sim);
        random_drop_in(&b);
        before = take_counts(&b);
        idle = before.surplus == 0;

        /* A machine where nobody does anything: all is as it was, whatever was declared meanwhile. */
        bed_run(&b);
        if (random_below(2)) {
                random_drop_in(&b);
                bed_run(&b);
        }
        if (random_below(2)) {
                assert_int_equal(
                        release_with(&b, random_below(2) ? "p0" : NULL, /* dry_run= */ false, &released), 0);
                assert_sums(released, b.sim->n_nodes);
                released_free(TAKE_PTR(released));
        }
        assert_int_equal(revert_with(&b, /* dry_run= */ false, &released), 0);
        assert_promises(&b);
        assert_false(b.sim->asked_too_much);
        if (idle && released_complete(released))
                assert_counts(&b, &before);
        if (idle)
                for (size_t i = 0; i < released->n_pages; i++) /* nothing of ours stays */
                        assert_true(released->pages[i].actual <= released->pages[i].goal);
        released_free(TAKE_PTR(released));

        /* One where somebody takes pages and is promised others. */
        random_drop_in(&b);
        bed_run(&b);
        promise(&b);
        assert_int_equal(release_with(&b, random_below(2) ? "p0" : NULL, /* dry_run= */ false, &released),
                         0);
        assert_sums(released, b.sim->n_nodes);
        assert_promises(&b);
        released_free(TAKE_PTR(released));
        assert_int_equal(revert_with(&b, /* dry_run= */ false, &released), 0);
        assert_promises(&b);
        assert_false(b.sim->asked_too_much);
        released_free(TAKE_PTR(released));
}

static void test_nobody_loses_a_page_on_random_machines(void **state) {
        _cleanup_temp_root_ char *root = bed_root_new();

        for (uint64_t seed = 1; seed <= ROUNDS; seed++)
                one_random_machine(root, seed);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_everything_comes_back),
                cmocka_unit_test(test_a_knob_of_vm_comes_back),
                cmocka_unit_test(test_a_second_revert_has_nothing_to_do),
                cmocka_unit_test(test_without_a_state_nothing_is_written),
                cmocka_unit_test(test_a_dry_run_foresees_and_changes_nothing),
                cmocka_unit_test(test_what_is_used_or_promised_stays_and_is_remembered),
                cmocka_unit_test(test_what_was_lowered_is_raised_above_keep_free_alone),
                cmocka_unit_test(test_what_goes_makes_room_for_what_comes),
                cmocka_unit_test(test_what_is_refused_is_told_and_remembered),
                cmocka_unit_test(test_the_next_run_begins_with_what_is_there),
                cmocka_unit_test(test_a_run_that_was_killed_is_not_taken_for_a_revert),
                cmocka_unit_test(test_a_run_does_not_take_what_is_reverted_for_what_was_there),
                cmocka_unit_test(test_nodes_that_are_gone_are_forgotten),
                cmocka_unit_test(test_a_killed_revert_is_carried_on_by_the_next),
                cmocka_unit_test(test_a_pool_gives_its_pages_back_and_others_keep_theirs),
                cmocka_unit_test(test_without_names_all_pools_go_those_pages_too_that_were_there),
                cmocka_unit_test(test_what_is_used_and_what_is_promised_is_told_apart),
                cmocka_unit_test(test_what_a_mount_has_is_not_made_up_for_by_others),
                cmocka_unit_test(test_promises_to_the_mount_of_another_pool_are_not_this_ones),
                cmocka_unit_test(test_a_claim_is_no_more_than_the_pool_has),
                cmocka_unit_test(test_what_a_mount_has_is_not_counted_twice),
                cmocka_unit_test(test_a_run_knows_no_released_pools),
                cmocka_unit_test(test_a_refused_release_is_told),
                cmocka_unit_test(test_before_any_run_pages_can_be_released_and_come_back),
                cmocka_unit_test(test_where_nothing_is_held_nothing_is_remembered),
                cmocka_unit_test(test_a_killed_release_takes_nothing_of_others_the_next_time),
                cmocka_unit_test(test_nobody_loses_a_page_on_random_machines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
