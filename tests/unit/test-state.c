/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state file: what is written can be read again, and what is damaged is refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "host/state.h"
#include "temp-root.h"

static const char example[] = "hugepages-setup-state 1\n"
                              "before 1073741824 0 2\n"
                              "before 2097152 8 512\n"
                              "knob /sys/kernel/mm/transparent_hugepage/enabled always\n"
                              "knob /sys/kernel/mm/transparent_hugepage/defrag defer+madvise\n"
                              "pool postgresql 2097152 4096 4095 0:2048 8:2047\n"
                              "pool vm 1073741824 8 0\n"
                              "status 2M 4095/4096 (8G) · degraded\n"
                              "exit 1\n";

static int read_text(const char *text, State **ret) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, STATE_PATH, text);
        return state_read(root, ret);
}

static State *read_valid(const char *text) {
        State *s = NULL;

        assert_int_equal(read_text(text, &s), 0);
        return s;
}

static void assert_damaged(const char *text) {
        State *s = NULL;

        assert_int_equal(read_text(text, &s), -EINVAL);
        assert_null(s);
}

static void test_reads_every_kind_of_line(void **state) {
        _cleanup_(state_freep) State *s = read_valid(example);
        const StatePool *p;

        assert_int_equal(s->n_before, 2);
        assert_int_equal(s->before[1].page_size, 2097152);
        assert_int_equal(s->before[1].node, 8);
        assert_int_equal(s->before[1].pages, 512);
        assert_int_equal(s->n_knobs, 2);
        assert_string_equal(s->knobs[1].path, "/sys/kernel/mm/transparent_hugepage/defrag");
        assert_string_equal(s->knobs[1].value, "defer+madvise");
        assert_int_equal(s->n_pools, 2);
        p = state_find_pool(s, "postgresql");
        assert_non_null(p);
        assert_int_equal(p->page_size, 2097152);
        assert_int_equal(p->requested, 4096);
        assert_int_equal(p->reserved, 4095);
        assert_int_equal(p->n_nodes, 2);
        assert_int_equal(p->nodes[1].page_size, 2097152);
        assert_int_equal(p->nodes[1].node, 8);
        assert_int_equal(p->nodes[1].pages, 2047);
        assert_int_equal(state_find_pool(s, "vm")->n_nodes, 0);
        assert_string_equal(s->status, "2M 4095/4096 (8G) · degraded");
        assert_int_equal(s->exit_status, 1);
}

static void test_what_is_formatted_is_what_was_read(void **state) {
        _cleanup_(state_freep) State *s = read_valid(example);
        _cleanup_free_ char *text = state_format(s);

        assert_string_equal(text, example);
}

static void test_what_was_given_back_is_marked(void **state) {
        static const char text[] = "hugepages-setup-state 1\n"
                                   "pool db 2097152 33 0\n"
                                   "reason db given back\n"
                                   "released db\n"
                                   "pool mq 2097152 40 40 0:40\n"
                                   "reverted\n";
        _cleanup_(state_freep) State *s = read_valid(text);
        _cleanup_free_ char *again = state_format(s);

        assert_true(state_find_pool(s, "db")->released);
        assert_false(state_find_pool(s, "mq")->released);
        assert_true(s->reverted);
        assert_string_equal(again, text);
        assert_damaged("hugepages-setup-state 1\nreleased db\n");
        assert_damaged("hugepages-setup-state 1\npool db 2097152 33 0\nreleased db now\n");
        assert_damaged("hugepages-setup-state 1\nreverted twice\n");
}

static void test_an_empty_state_is_a_header_and_a_run_that_has_not_ended(void **state) {
        State empty = { .exit_status = -1 };
        _cleanup_free_ char *text = state_format(&empty);
        _cleanup_(state_freep) State *s = NULL;

        assert_string_equal(text, "hugepages-setup-state 1\n");
        s = read_valid(text);
        assert_int_equal(s->n_before + s->n_knobs + s->n_pools, 0);
        assert_null(s->status);
        assert_int_equal(s->exit_status, -1);
}

static void test_values_are_the_rest_of_the_line(void **state) {
        StateKnob knob = { (char *) "/proc/sys/vm/x", (char *) "  two  words " };
        StateKnob nothing = { (char *) "/proc/sys/vm/y", (char *) "" };
        State out = { .knobs = (StateKnob[]){ knob, nothing }, .n_knobs = 2, .status = (char *) "" };
        _cleanup_free_ char *text = state_format(&out);
        _cleanup_(state_freep) State *s = read_valid(text);

        assert_string_equal(s->knobs[0].value, "  two  words ");
        assert_string_equal(s->knobs[1].value, "");
        assert_string_equal(s->status, "");
        assert_int_equal(s->exit_status, 0);
}

static void test_a_newline_in_a_text_makes_no_line(void **state) {
        State out = { .status = (char *) "a\nexit 7", .exit_status = 0 };
        _cleanup_free_ char *text = state_format(&out);

        assert_string_equal(text, "hugepages-setup-state 1\nstatus a exit 7\nexit 0\n");
}

static void test_the_largest_numbers_survive(void **state) {
        StatePages pages = { UINT64_MAX, 1023, UINT64_MAX };
        State out = { .before = &pages, .n_before = 1 };
        _cleanup_free_ char *text = state_format(&out);
        _cleanup_(state_freep) State *s = read_valid(text);

        assert_true(s->before[0].page_size == UINT64_MAX && s->before[0].pages == UINT64_MAX);
        assert_int_equal(s->before[0].node, 1023);
}

static void test_unknown_lines_of_later_versions_are_ignored(void **state) {
        _cleanup_(state_freep) State *s = read_valid("hugepages-setup-state 1\nfuture 1 2 3\n\nexit 0\nx\n");

        assert_int_equal(s->exit_status, 0);
}

static void test_damage_is_refused(void **state) {
        static const char *const lines[] = {
                "before",
                "before 2097152 0",
                "before 2097152 0 1 2",
                "before 2097152 0 1 ",
                "before 2097152  0 1",
                "before 0 0 1",
                "before 2097152 1024 1",
                "before 2097152 -1 1",
                "before 2M 0 1",
                "before 2097152 0 99999999999999999999",
                "knob",
                "knob /sys/x",
                "knob relative x",
                "pool",
                "pool db",
                "pool db 2097152 1",
                "pool db 0 1 1",
                "pool db 2097152 1 1 0",
                "pool db 2097152 1 1 0:",
                "pool db 2097152 1 1 :1",
                "pool db 2097152 1 1 0:1 ",
                "pool db 2097152 1 1 0:1:1",
                "pool db 2097152 1 1 1024:1",
                "status",
                "exit",
                "exit x",
                "exit 256",
                "exit -1",
                "exit 0 0",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *text = NULL;

                assert_true(asprintf(&text, "hugepages-setup-state 1\n%s\n", lines[i]) >= 0);
                assert_damaged(text);
        }
}

static void test_without_its_header_or_its_end_a_file_is_damaged(void **state) {
        assert_damaged("");
        assert_damaged("\n");
        assert_damaged("exit 0\n");
        assert_damaged("hugepages-setup-state 2\nexit 0\n");
        assert_damaged("hugepages-setup-state 1");
        assert_damaged("hugepages-setup-state 1\nbefore 2097152 0 12");
}

static void test_nul_bytes_and_endless_files_are_damage(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        static char large[2 * 1024 * 1024];
        State *s = NULL;

        temp_root_write_bytes(root, STATE_PATH, "hugepages-setup-state 1\nexit 0\n\0\n", 33);
        assert_int_equal(state_read(root, &s), -EINVAL);
        memset(large, '\n', sizeof(large));
        memcpy(large, "hugepages-setup-state 1", 23);
        temp_root_write_bytes(root, STATE_PATH, large, sizeof(large));
        assert_int_equal(state_read(root, &s), -EINVAL);
}

static void test_no_file_is_enoent(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        State *s = NULL;

        assert_int_equal(state_read(root, &s), -ENOENT);
        assert_null(s);
}

/* Bytes of the example changed at random, and lines of its letters in random order. */
static void test_garbage_never_crashes(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        unsigned read = 0, refused = 0;

        srandom(1);
        for (unsigned round = 0; round < 2000; round++) {
                char text[sizeof(example)];
                State *s = NULL;
                int r;

                memcpy(text, example, sizeof(example));
                for (long n = random() % 8; n >= 0; n--)
                        text[24 + (size_t) random() % (sizeof(example) - 25)] =
                                round % 2 ? (char) random() : example[(size_t) random() % sizeof(example)];
                temp_root_write_bytes(root, STATE_PATH, text, sizeof(example) - 1);
                r = state_read(root, &s);
                assert_true(r == 0 || r == -EINVAL);
                r < 0 ? refused++ : read++;
                state_free(s);
        }
        assert_true(read > 0 && refused > 0);
}

static void test_lookups_fall_back(void **state) {
        _cleanup_(state_freep) State *s = read_valid(example);

        assert_int_equal(state_pages_before(s, 2097152, 8, 7), 512);
        assert_int_equal(state_pages_before(s, 1073741824, 0, 7), 2);
        assert_int_equal(state_pages_before(s, 2097152, 0, 7), 7);
        assert_int_equal(state_pages_before(NULL, 2097152, 8, 7), 7);
        assert_null(state_find_pool(s, "postgres"));
        assert_null(state_find_pool(NULL, "vm"));
}

static void test_a_killed_writer_leaves_one_file_at_most(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_closedir_ DIR *dir = NULL;
        pid_t child;
        int status;

        assert_int_equal(root_mkdir_p(root, STATE_DIRECTORY, 0755), 0);
        for (unsigned i = 0; i < 3; i++) {
                child = fork();
                if (child == 0) {
                        struct rlimit limit = { 1, RLIM_INFINITY };

                        if (setrlimit(RLIMIT_FSIZE, &limit) == 0) /* SIGXFSZ at the second byte */
                                (void) root_write_file_atomic(root, STATE_PATH, "text");
                        _exit(0);
                }
                assert_int_equal(waitpid(child, &status, 0), child);
                assert_true(WIFSIGNALED(status));
        }
        assert_int_equal(root_write_file_atomic(root, STATE_PATH, "text"), 0);

        assert_int_equal(root_opendir(root, STATE_DIRECTORY, &dir), 0);
        for (struct dirent *de; (de = readdir(dir));)
                if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
                        assert_string_equal(de->d_name, "state");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_reads_every_kind_of_line),
                cmocka_unit_test(test_what_is_formatted_is_what_was_read),
                cmocka_unit_test(test_what_was_given_back_is_marked),
                cmocka_unit_test(test_an_empty_state_is_a_header_and_a_run_that_has_not_ended),
                cmocka_unit_test(test_values_are_the_rest_of_the_line),
                cmocka_unit_test(test_a_newline_in_a_text_makes_no_line),
                cmocka_unit_test(test_the_largest_numbers_survive),
                cmocka_unit_test(test_unknown_lines_of_later_versions_are_ignored),
                cmocka_unit_test(test_damage_is_refused),
                cmocka_unit_test(test_without_its_header_or_its_end_a_file_is_damaged),
                cmocka_unit_test(test_nul_bytes_and_endless_files_are_damage),
                cmocka_unit_test(test_no_file_is_enoent),
                cmocka_unit_test(test_garbage_never_crashes),
                cmocka_unit_test(test_lookups_fall_back),
                cmocka_unit_test(test_a_killed_writer_leaves_one_file_at_most),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
