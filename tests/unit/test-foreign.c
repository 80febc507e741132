/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Foreign managers: what sysctl.d, tuned and the command line set of ours, with file and line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/foreign.h"
#include "temp-root.h"

static void assert_setting(const Foreign *f, size_t i, ForeignKind kind, const char *file, unsigned line,
                           const char *key, const char *value) {
        assert_true(i < f->n);
        assert_int_equal(f->items[i].kind, kind);
        assert_string_equal(f->items[i].file, file);
        assert_int_equal(f->items[i].line, line);
        assert_string_equal(f->items[i].key, key);
        assert_string_equal(f->items[i].value, value);
}

static Foreign load(const char *root) {
        Foreign f = {};

        assert_int_equal(foreign_load(root, &f), 0);
        return f;
}

/* The one setting of one line, or NULL; foreign_sysctl_conflicts() must agree. */
static char *sysctl_line(const char *line) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(foreign_done) Foreign f = {};
        char *s = NULL;

        temp_root_write(root, "/etc/sysctl.d/a.conf", line);
        f = load(root);
        assert_true(f.n <= 1);
        assert_int_equal(foreign_sysctl_conflicts(root), f.n == 1);
        if (f.n == 1)
                assert_true(asprintf(&s, "%s=%s", f.items[0].key, f.items[0].value) >= 0);
        return s;
}

static void test_our_keys_in_every_spelling(void **state) {
        static const struct {
                const char *line, *expected;
        } table[] = {
                { "vm.nr_hugepages=1024\n", "vm.nr_hugepages=1024" },
                { "  vm.nr_hugepages\t =  1024  \r\n", "vm.nr_hugepages=1024" },
                { "vm/nr_hugepages = 1", "vm.nr_hugepages=1" },
                { "-vm.nr_hugepages = 1", "vm.nr_hugepages=1" },
                { "- vm/nr_hugepages = 1", "vm.nr_hugepages=1" },
                { "vm.nr_hugepages_mempolicy=2", "vm.nr_hugepages_mempolicy=2" },
                { "vm.nr_overcommit_hugepages=3", "vm.nr_overcommit_hugepages=3" },
                { "vm.hugetlb_shm_group=27", "vm.hugetlb_shm_group=27" },
                { "vm.hugetlb_optimize_vmemmap=1", "vm.hugetlb_optimize_vmemmap=1" },
                { "vm.defrag_mode=1", "vm.defrag_mode=1" },
                { "vm.nr_*=5", "vm.nr_*=5" },
                { "vm/nr_huge?ages=5", "vm.nr_huge?ages=5" },
                { "*.nr_hugepages=5", "*.nr_hugepages=5" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *s = sysctl_line(table[i].line);

                assert_non_null(s);
                assert_string_equal(s, table[i].expected);
        }
}

static void test_what_is_not_ours_is_left_alone(void **state) {
        static const char *const lines[] = {
                "",
                "\n",
                "# vm.nr_hugepages=1",
                "; vm.nr_hugepages=1",
                " #vm.nr_hugepages=1",
                "vm.nr_hugepages",
                "-vm.nr_hugepages",
                "=1",
                "vm.swappiness=1",
                "vm.nr_hugepages_treat=1",
                "kernel.vm.nr_hugepages=1",
                "net.ipv4.conf.*.rp_filter=2",
                "*=1",
                "vm.swap*=1",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                assert_null(sysctl_line(lines[i]));
}

static void test_sysctl_files_are_read_by_base_name_and_the_higher_directory_replaces(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(foreign_done) Foreign f = {};

        temp_root_write(root, "/usr/lib/sysctl.d/10-a.conf", "vm.nr_hugepages=1\n");
        temp_root_write(root, "/run/sysctl.d/10-a.conf", "\nvm.nr_hugepages=2\n");
        temp_root_write(root, "/etc/sysctl.d/50-b.conf", "vm.nr_hugepages=5\n");
        temp_root_write(root, "/usr/local/lib/sysctl.d/20-c.conf",
                        "vm.hugetlb_shm_group=3\nvm.nr_hugepages=4\n");
        temp_root_write(root, "/lib/sysctl.d/60-d.conf", "vm.nr_hugepages=6\n");
        temp_root_write(root, "/etc/sysctl.d/70.conf.bak", "vm.nr_hugepages=7\n");
        temp_root_write(root, "/etc/sysctl.d/.80.conf", "vm.nr_hugepages=8\n");
        f = load(root);
        assert_int_equal(f.n, 5);
        assert_setting(&f, 0, FOREIGN_SYSCTL, "/run/sysctl.d/10-a.conf", 2, "vm.nr_hugepages", "2");
        assert_setting(&f, 1, FOREIGN_SYSCTL, "/usr/local/lib/sysctl.d/20-c.conf", 1, "vm.hugetlb_shm_group",
                       "3");
        assert_setting(&f, 2, FOREIGN_SYSCTL, "/usr/local/lib/sysctl.d/20-c.conf", 2, "vm.nr_hugepages",
                       "4");
        assert_setting(&f, 3, FOREIGN_SYSCTL, "/etc/sysctl.d/50-b.conf", 1, "vm.nr_hugepages", "5");
        assert_setting(&f, 4, FOREIGN_SYSCTL, "/lib/sysctl.d/60-d.conf", 1, "vm.nr_hugepages", "6");
}

static void test_merged_usr_shows_each_file_once(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(foreign_done) Foreign f = {};

        temp_root_write(root, "/usr/lib/sysctl.d/10-a.conf", "vm.nr_hugepages=1\n");
        temp_root_link(root, "/lib", "usr/lib");
        f = load(root);
        assert_int_equal(f.n, 1);
        assert_setting(&f, 0, FOREIGN_SYSCTL, "/usr/lib/sysctl.d/10-a.conf", 1, "vm.nr_hugepages", "1");
}

static void test_masked_sysctl_files_hide_and_set_nothing(void **state) {
        _cleanup_temp_root_ char *linked = temp_root_new(), *empty = temp_root_new(),
                                 *dangling = temp_root_new();

        temp_root_write(linked, "/usr/lib/sysctl.d/10-a.conf", "vm.nr_hugepages=1\n");
        assert_true(foreign_sysctl_conflicts(linked));
        temp_root_link(linked, "/etc/sysctl.d/10-a.conf", "/dev/null");
        assert_false(foreign_sysctl_conflicts(linked));

        temp_root_write(empty, "/usr/lib/sysctl.d/10-a.conf", "vm.nr_hugepages=1\n");
        temp_root_write(empty, "/run/sysctl.d/10-a.conf", "");
        assert_false(foreign_sysctl_conflicts(empty));

        temp_root_write(dangling, "/usr/lib/sysctl.d/10-a.conf", "vm.nr_hugepages=1\n");
        temp_root_link(dangling, "/etc/sysctl.d/10-a.conf", "/nowhere");
        assert_true(foreign_sysctl_conflicts(dangling));
}

static void test_sysctl_conf_counts_only_where_a_link_leads_to_it(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(foreign_done) Foreign f = {};

        temp_root_write(root, "/etc/sysctl.conf", "# old\nvm.nr_hugepages=1\n");
        assert_false(foreign_sysctl_conflicts(root));
        temp_root_link(root, "/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
        assert_true(foreign_sysctl_conflicts(root));
        f = load(root);
        assert_int_equal(f.n, 1);
        assert_setting(&f, 0, FOREIGN_SYSCTL, "/etc/sysctl.d/99-sysctl.conf", 2, "vm.nr_hugepages", "1");
}

static void test_what_is_no_file_is_no_obstacle(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *fifo = NULL;

        assert_int_equal(root_mkdir_p(root, "/etc/sysctl.d/10-a.conf", 0755), 0);
        assert_true(asprintf(&fifo, "%s/etc/sysctl.d/20-b.conf", root) >= 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_false(foreign_sysctl_conflicts(root));
        temp_root_write(root, "/etc/sysctl.d/30-c.conf", "vm.nr_hugepages=1");
        assert_true(foreign_sysctl_conflicts(root));
}

static void test_tuned_profiles_are_followed_through_their_includes(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(foreign_done) Foreign f = {};

        temp_root_write(root, "/etc/tuned/active_profile", "database  other\n");
        temp_root_write(root, "/etc/tuned/profiles/database/tuned.conf",
                        "[main]\nsummary=x\ninclude=base, extra\n\n[sysctl]\nvm.nr_hugepages = "
                        "100\nvm.swappiness=1\n"
                        "[vm]\ntransparent_hugepages=never\n# transparent_hugepage=x\n"
                        "[bootloader]\ncmdline_db=quiet hugepages=4\ncmdline=quiet\n"
                        "[sysfs]\n/sys/kernel/mm/transparent_hugepage/defrag=never\n");
        temp_root_write(root, "/usr/lib/tuned/database/tuned.conf", "[vm]\ntransparent_hugepages=always\n");
        temp_root_write(root, "/etc/tuned/base/tuned.conf",
                        "[main]\ninclude=database\n[vm]\ntransparent_hugepage=madvise\n");
        temp_root_write(root, "/usr/lib/tuned/profiles/extra/tuned.conf",
                        "vm.nr_hugepages=1\n[sysctl]\nvm/nr_hugepages=7\n");
        temp_root_write(root, "/usr/lib/tuned/other/tuned.conf",
                        "[sysctl]\n-vm.hugetlb_shm_group=7\nvm.hugetlb_shm_group=8\n");
        f = load(root);
        assert_int_equal(f.n, 7);
        assert_setting(&f, 0, FOREIGN_TUNED, "/etc/tuned/base/tuned.conf", 4, "transparent_hugepage",
                       "madvise");
        assert_setting(&f, 1, FOREIGN_TUNED, "/usr/lib/tuned/profiles/extra/tuned.conf", 3,
                       "vm.nr_hugepages", "7");
        assert_setting(&f, 2, FOREIGN_TUNED, "/etc/tuned/profiles/database/tuned.conf", 6, "vm.nr_hugepages",
                       "100");
        assert_setting(&f, 3, FOREIGN_TUNED, "/etc/tuned/profiles/database/tuned.conf", 9,
                       "transparent_hugepages", "never");
        assert_setting(&f, 4, FOREIGN_TUNED, "/etc/tuned/profiles/database/tuned.conf", 12, "cmdline_db",
                       "quiet hugepages=4");
        assert_setting(&f, 5, FOREIGN_TUNED, "/etc/tuned/profiles/database/tuned.conf", 15,
                       "/sys/kernel/mm/transparent_hugepage/defrag", "never");
        assert_setting(&f, 6, FOREIGN_TUNED, "/usr/lib/tuned/other/tuned.conf", 3, "vm.hugetlb_shm_group",
                       "8");
        assert_false(foreign_sysctl_conflicts(root));
}

static void test_tuned_includes_end(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(foreign_done) Foreign f = {};

        temp_root_write(root, "/etc/tuned/active_profile", "p0 ../../escape none");
        for (unsigned i = 0; i < 100; i++) {
                char path[64], text[128];

                snprintf(path, sizeof(path), "/etc/tuned/p%u/tuned.conf", i);
                snprintf(text, sizeof(text), "[main]\ninclude=p%u p0 p%u\n[sysctl]\nvm.nr_hugepages=%u\n",
                         i + 1, i, i);
                temp_root_write(root, path, text);
        }
        temp_root_write(root, "/etc/escape/tuned.conf", "[sysctl]\nvm.nr_hugepages=1\n");
        f = load(root);
        assert_int_equal(f.n, 32);
        assert_setting(&f, 0, FOREIGN_TUNED, "/etc/tuned/p31/tuned.conf", 4, "vm.nr_hugepages", "31");
        assert_setting(&f, 31, FOREIGN_TUNED, "/etc/tuned/p0/tuned.conf", 4, "vm.nr_hugepages", "0");
}

static void test_two_socket_machine(void **state) {
        _cleanup_free_ char *root = NULL;
        _cleanup_(foreign_done) Foreign f = {};

        assert_true(asprintf(&root, "%s/two-socket/root", getenv("FIXTURES")) >= 0);
        assert_true(foreign_sysctl_conflicts(root));
        f = load(root);
        assert_int_equal(f.n, 1);
        assert_setting(&f, 0, FOREIGN_SYSCTL, "/etc/sysctl.d/50-tuning.conf", 3, "vm.nr_hugepages", "1024");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_our_keys_in_every_spelling),
                cmocka_unit_test(test_what_is_not_ours_is_left_alone),
                cmocka_unit_test(test_sysctl_files_are_read_by_base_name_and_the_higher_directory_replaces),
                cmocka_unit_test(test_merged_usr_shows_each_file_once),
                cmocka_unit_test(test_masked_sysctl_files_hide_and_set_nothing),
                cmocka_unit_test(test_sysctl_conf_counts_only_where_a_link_leads_to_it),
                cmocka_unit_test(test_what_is_no_file_is_no_obstacle),
                cmocka_unit_test(test_tuned_profiles_are_followed_through_their_includes),
                cmocka_unit_test(test_tuned_includes_end),
                cmocka_unit_test(test_two_socket_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
