/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The run in the initrd, which is the first part of the service's, and the drop-in that it reads. */

#include "bed.h"

#include "config/origins.h"

static const OutcomePool *pool(const Bed *b, const char *name) {
        for (size_t i = 0; i < b->outcome->n_pools; i++)
                if (streq(b->outcome->pools[i].name, name))
                        return &b->outcome->pools[i];
        return NULL;
}

/* As hugepages-setup --initrd does. */
static int try_in_initrd(Bed *b) {
        return bed_try_part(b, G);
}

static void run_in_initrd(Bed *b) {
        assert_int_equal(try_in_initrd(b), 0);
        assert_false(b->sim->asked_too_much);
}

static Bed initrd_bed(const char *drop_in) {
        Bed b = bed_new(2, 8 * G, drop_in);

        bed_add_gigantic(&b);
        return b;
}

static void test_only_gigantic_pages_are_written(void **state) {
        _cleanup_bed_ Bed b = initrd_bed("[Pool small]\nPageSize=2M\nPages=300\nEssential=yes\n"
                                         "[Pool vm]\nPageSize=1G\nPages=0:2,1:1\n"
                                         "[System]\nKeepFree=1G\n");

        run_in_initrd(&b);
        assert_int_equal(on_node(&b, 0, 0), 2);
        assert_int_equal(on_node(&b, 0, 1), 1);
        assert_int_equal(sim_persistent(&b.sim->nodes[0].pages[1]), 0);
        assert_int_equal(sim_persistent(&b.sim->nodes[1].pages[1]), 0);
        /* Others are neither short nor told of. */
        assert_int_equal(b.outcome->n_pools, 1);
        assert_int_equal(pool(&b, "vm")->reserved, 3);
        assert_false(outcome_degraded(b.outcome));
}

static void test_the_service_goes_on_from_there(void **state) {
        _cleanup_bed_ Bed b = initrd_bed("[Pool small]\nPageSize=2M\nPages=300\n"
                                         "[Pool vm]\nPageSize=1G\nPages=0:2,1:1\n"
                                         "[System]\nKeepFree=1G\n");
        _cleanup_free_ char *text = NULL, *after = NULL;

        run_in_initrd(&b);
        text = state_text(&b);
        /* No status, no exit status: the run of this boot has not ended. */
        assert_string_equal(text, "hugepages-setup-state 1\n"
                                  "before 1073741824 0 0\n"
                                  "before 1073741824 1 0\n"
                                  "pool vm 1073741824 3 3 0:2 1:1\n");
        bed_run(&b);
        assert_int_equal(b.sim->n_writes, 2); /* of 2M, on two nodes */
        assert_int_equal(pool(&b, "vm")->reserved, 3);
        assert_int_equal(pool(&b, "small")->reserved, 300);
        after = state_text(&b);
        assert_string_equal(after, "hugepages-setup-state 1\n"
                                   "before 1073741824 0 0\n"
                                   "before 1073741824 1 0\n"
                                   "before 2097152 0 0\n"
                                   "before 2097152 1 0\n"
                                   "pool small 2097152 300 300 0:150 1:150\n"
                                   "pool vm 1073741824 3 3 0:2 1:1\n"
                                   "status as reported\n"
                                   "exit 0\n");
}

static void test_what_a_stale_initrd_took_goes_back(void **state) {
        _cleanup_bed_ Bed b = initrd_bed("[Pool vm]\nPageSize=1G\nPages=0:3,1:1\n[System]\nKeepFree=1G\n");

        run_in_initrd(&b);
        bed_declare(&b, "[Pool vm]\nPageSize=1G\nPages=0:1,1:2\n[System]\nKeepFree=1G\n");
        bed_run(&b);
        assert_int_equal(on_node(&b, 0, 0), 1);
        assert_int_equal(on_node(&b, 0, 1), 2);
}

static void test_a_node_that_comes_later_moves_nothing(void **state) {
        _cleanup_bed_ Bed b = initrd_bed("[Pool vm]\nPageSize=1G\nPages=6\n[Pool late]\nPageSize=1G\n"
                                         "Pages=2:2\n[System]\nKeepFree=1G\n");

        run_in_initrd(&b);
        assert_int_equal(pool(&b, "late")->reserved, 0);
        sim_add_node(b.sim, 2, 4 * G);
        bed_run(&b);
        assert_int_equal(b.sim->n_writes, 1);
        assert_int_equal(on_node(&b, 0, 0), 3);
        assert_int_equal(on_node(&b, 0, 1), 3);
        assert_int_equal(on_node(&b, 0, 2), 2);
        assert_int_equal(pool(&b, "late")->reserved, 2);
        assert_int_equal(pool(&b, "vm")->reserved, 6);
}

static void test_smaller_pages_of_essential_pools_keep_their_room(void **state) {
        _cleanup_bed_ Bed b = initrd_bed("[Pool vm]\nPageSize=1G\nPages=16\n"
                                         "[Pool small]\nPageSize=2M\nSize=5G\nEssential=yes\n"
                                         "[System]\nKeepFree=1G\n");

        run_in_initrd(&b);
        assert_int_equal(pool(&b, "vm")->reserved, 10);
        bed_run(&b);
        assert_int_equal(pool(&b, "vm")->reserved, 10);
        assert_int_equal(pool(&b, "small")->reserved, 5 * G / (2 * M));
}

static void test_rest_is_left_to_the_service(void **state) {
        _cleanup_bed_ Bed b = initrd_bed("[Pool r]\nPageSize=1G\nSize=rest\n"
                                         "[Pool small]\nPageSize=2M\nSize=2G\n"
                                         "[System]\nKeepFree=2G\n");
        State *s;

        sim_leave_free(b.sim, 0, SIM_MOVABLE, 6 * G); /* the initrd itself has the rest */
        run_in_initrd(&b);
        assert_int_equal(pool(&b, "r")->reserved, 10);
        assert_int_equal(pool(&b, "r")->requested, 10);
        s = read_state(&b);
        assert_null(state_find_pool(s, "r"));
        assert_int_equal(s->exit_status, -1);
        state_free(s);

        sim_clear(b.sim, 0, SIM_MOVABLE);
        bed_run(&b);
        assert_int_equal(pool(&b, "r")->reserved, 12);
        assert_int_equal(pool(&b, "r")->requested, 12);
        assert_int_equal(pool(&b, "small")->reserved, 1024);
        sim_memory_grow(&b.sim->nodes[1].memory, 2 * G / SIM_BLOCK); /* but only once */
        bed_run(&b);
        assert_int_equal(pool(&b, "r")->requested, 12);
        assert_int_equal(b.sim->n_writes, 0);
}

static void test_killed_in_the_initrd(void **state) {
        bool killed = true;
        size_t n = 1;

        for (; killed; n++) {
                _cleanup_bed_ Bed b =
                        initrd_bed("[Pool r]\nPageSize=1G\nSize=rest\n[System]\nKeepFree=2G\n");

                sim_leave_free(b.sim, 0, SIM_UNMOVABLE, 6 * G);
                killed = bed_killed(&b, n, try_in_initrd);
                sim_clear(b.sim, 0, SIM_UNMOVABLE);
                bed_run(&b);
                assert_int_equal(pool(&b, "r")->reserved, 14);
                assert_int_equal(pool(&b, "r")->requested, 14);
        }
        assert_true(n > 10);
}

static void test_dropped_pools_of_smaller_pages_are_no_matter(void **state) {
        _cleanup_bed_ Bed b =
                initrd_bed("[Pool odd]\nPageSize=64K\nPages=1\n[Pool vm]\nPageSize=1G\nPages=2\n");

        run_in_initrd(&b);
        assert_int_equal(b.outcome->n_pools, 1);
        assert_string_equal(b.outcome->pools[0].name, "vm");
}

/* Origins. */

#define HEADER "# For the initrd\n\n"

static void test_messages_name_the_files_that_lines_came_from(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(config_freep) Config *c = NULL;
        Diagnostics d = {};
        Origins origins;
        Source source;

        temp_root_write(root, INITRD_DROPIN_PATH,
                        HEADER "# /etc/hugepages.d/90-local.conf:7\n[System]\n"
                               "# /usr/lib/hugepages.d/50-a:b.conf:3\nKeepFree=1G\n"
                               "Compact=no\n\n"
                               "# /etc/hugepages.d/50-db.conf:12\n[Pool db]\n"
                               "# /etc/hugepages.d/90-local.conf:40\nPageSize=3\n"
                               "# no place:1\nSize=8Q\n"
                               "# /etc/hugepages.d/50-db.conf:0\nEssential=yes\n");
        assert_int_equal(config_load(root, &c, &d), 0);
        assert_int_equal(origins_restore(root, INITRD_DROPIN_PATH, c, &d, &origins), 0);

        assert_string_equal(c->system.section.source.file, "/etc/hugepages.d/90-local.conf");
        assert_int_equal(c->system.section.source.line, 7);
        source = section_key_source(&c->system.section, "KeepFree");
        assert_string_equal(source.file, "/usr/lib/hugepages.d/50-a:b.conf");
        assert_int_equal(source.line, 3);
        source = section_key_source(&c->system.section, "Compact");
        assert_string_equal(source.file, INITRD_DROPIN_PATH);
        assert_int_equal(source.line, 7);
        assert_string_equal(c->pools[0]->section.source.file, "/etc/hugepages.d/50-db.conf");
        assert_int_equal(c->pools[0]->section.source.line, 12);
        source = section_key_source(&c->pools[0]->section, "Essential");
        assert_string_equal(source.file, INITRD_DROPIN_PATH);
        assert_int_equal(source.line, 16);

        assert_int_equal(d.n, 2);
        assert_string_equal(d.items[0].file, "/etc/hugepages.d/90-local.conf");
        assert_int_equal(d.items[0].line, 40);
        assert_string_equal(d.items[1].file, INITRD_DROPIN_PATH);
        assert_int_equal(d.items[1].line, 14);
        diag_done(&d);
        origins_done(&origins);
}

static void test_other_drop_ins_are_what_they_are(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(config_freep) Config *c = NULL;
        Diagnostics d = {};
        Origins origins;

        temp_root_write(root, "/etc/hugepages.d/50-db.conf", "# /etc/passwd:1\n[Pool db]\nPages=1\n");
        assert_int_equal(config_load(root, &c, &d), 0);
        assert_int_equal(origins_restore(root, INITRD_DROPIN_PATH, c, &d, &origins), 0);
        assert_string_equal(c->pools[0]->section.source.file, "/etc/hugepages.d/50-db.conf");
        assert_int_equal(c->pools[0]->section.source.line, 2);
        origins_done(&origins);

        temp_root_write(root, INITRD_DROPIN_PATH, "# /etc/passwd:1\n");
        assert_int_equal(origins_restore(root, INITRD_DROPIN_PATH, c, &d, &origins), 0);
        assert_string_equal(c->pools[0]->section.source.file, "/etc/hugepages.d/50-db.conf");
        origins_done(&origins);
        diag_done(&d);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_only_gigantic_pages_are_written),
                cmocka_unit_test(test_the_service_goes_on_from_there),
                cmocka_unit_test(test_what_a_stale_initrd_took_goes_back),
                cmocka_unit_test(test_a_node_that_comes_later_moves_nothing),
                cmocka_unit_test(test_smaller_pages_of_essential_pools_keep_their_room),
                cmocka_unit_test(test_rest_is_left_to_the_service),
                cmocka_unit_test(test_killed_in_the_initrd),
                cmocka_unit_test(test_dropped_pools_of_smaller_pages_are_no_matter),
                cmocka_unit_test(test_messages_name_the_files_that_lines_came_from),
                cmocka_unit_test(test_other_drop_ins_are_what_they_are),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
