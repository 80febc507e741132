/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The off switches, and the words of the kernel command line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/cmdline.h"
#include "boot/switch.h"
#include "temp-root.h"

static void assert_words(const char *cmdline, const char *const *expected) {
        const char *p = cmdline;

        for (;; expected++) {
                _cleanup_free_ char *word = NULL;
                int r = cmdline_next(&p, &word);

                assert_int_equal(r, *expected ? 1 : 0);
                if (r == 0)
                        return;
                assert_string_equal(word, *expected);
        }
}

#define assert_words(cmdline, ...) assert_words(cmdline, (const char *const[]){ __VA_ARGS__, NULL })

static void test_cmdline_is_split_at_blanks_outside_of_quotes(void **state) {
        assert_words("", NULL);
        assert_words(" \t\n ", NULL);
        assert_words("a b=c  d\n", "a", "b=c", "d");
        assert_words("dyndbg=\"file a.c +p\" b", "dyndbg=file a.c +p", "b");
        assert_words("\"hugepages_setup=off x\" b", "hugepages_setup=off x", "b");
        assert_words("a=\"", "a=");
        assert_words("\"", "");
        assert_words("a=\"b c", "a=b c");
        assert_words("a=b\"c d\"e", "a=b\"c d\"e");
}

static void test_cmdline_value_knows_the_key_and_both_dashes(void **state) {
        assert_string_equal(cmdline_value("a_b=c=d", "a_b"), "c=d");
        assert_string_equal(cmdline_value("a-b=c", "a_b"), "c");
        assert_string_equal(cmdline_value("a=", "a"), "");
        assert_null(cmdline_value("a", "a"));
        assert_null(cmdline_value("ab=c", "a"));
        assert_null(cmdline_value("a=c", "ab"));
        assert_null(cmdline_value("", "a"));
}

static SwitchedOff with_cmdline(const char *cmdline) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/proc/cmdline", cmdline);
        return switched_off(root);
}

static void test_cmdline_switches_off_with_four_words(void **state) {
        assert_int_equal(with_cmdline("quiet hugepages_setup=off\n"), SWITCHED_OFF_CMDLINE);
        assert_int_equal(with_cmdline("hugepages_setup=0 quiet\n"), SWITCHED_OFF_CMDLINE);
        assert_int_equal(with_cmdline("hugepages_setup=no"), SWITCHED_OFF_CMDLINE);
        assert_int_equal(with_cmdline("hugepages_setup=false"), SWITCHED_OFF_CMDLINE);
        assert_int_equal(with_cmdline("hugepages_setup=\"off\""), SWITCHED_OFF_CMDLINE);
        assert_int_equal(with_cmdline("hugepages-setup=off"), SWITCHED_OFF_CMDLINE);
        assert_int_equal(with_cmdline("hugepages_setup=on"), SWITCHED_ON);
        assert_int_equal(with_cmdline("hugepages_setup="), SWITCHED_ON);
        assert_int_equal(with_cmdline("hugepages_setup"), SWITCHED_ON);
        assert_int_equal(with_cmdline("xhugepages_setup=off hugepages_setup=offline"), SWITCHED_ON);
        assert_int_equal(with_cmdline("x=\"hugepages_setup=off y\""), SWITCHED_ON);
}

static void test_the_last_one_on_the_cmdline_wins(void **state) {
        assert_int_equal(with_cmdline("hugepages_setup=off hugepages_setup=on"), SWITCHED_ON);
        assert_int_equal(with_cmdline("hugepages_setup=on hugepages_setup=off"), SWITCHED_OFF_CMDLINE);
}

static void test_cmdline_masks_as_systemd_does(void **state) {
        assert_int_equal(with_cmdline("systemd.mask=hugepages-setup.service"), SWITCHED_OFF_MASKED);
        assert_int_equal(with_cmdline("systemd.mask=a systemd.mask=hugepages-setup systemd.mask=b"),
                         SWITCHED_OFF_MASKED);
        assert_int_equal(with_cmdline("systemd.mask=hugepages-setup.target"), SWITCHED_ON);
        assert_int_equal(with_cmdline("systemd.mask=hugepages-setup hugepages_setup=0"),
                         SWITCHED_OFF_CMDLINE);
}

#define ETC_UNIT "/etc/systemd/system/hugepages-setup.service"
#define RUN_UNIT "/run/systemd/system/hugepages-setup.service"

static void test_masked_by_link_or_empty_file(void **state) {
        static const char *const units[] = { ETC_UNIT, RUN_UNIT };

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                _cleanup_temp_root_ char *linked = temp_root_new(), *empty = temp_root_new();

                temp_root_link(linked, units[i], "/dev/null");
                assert_int_equal(switched_off(linked), SWITCHED_OFF_MASKED);
                temp_root_write(empty, units[i], "");
                assert_int_equal(switched_off(empty), SWITCHED_OFF_MASKED);
        }
}

static void test_a_unit_of_ones_own_is_no_mask_and_beats_one_in_run(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, ETC_UNIT, "[Service]\n");
        assert_int_equal(switched_off(root), SWITCHED_ON);
        temp_root_link(root, RUN_UNIT, "/dev/null");
        assert_int_equal(switched_off(root), SWITCHED_ON);
}

static void test_a_link_to_a_unit_elsewhere_is_no_mask(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/opt/hugepages-setup.service", "[Service]\n");
        temp_root_link(root, ETC_UNIT, "/opt/hugepages-setup.service");
        assert_int_equal(switched_off(root), SWITCHED_ON);
}

static void test_off_in_a_kdump_kernel(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/proc/vmcore", "");
        assert_int_equal(switched_off(root), SWITCHED_OFF_KDUMP);
}

static void test_off_in_a_container_but_not_in_wsl(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/run/systemd/container", "podman\n");
        assert_int_equal(switched_off(root), SWITCHED_OFF_CONTAINER);
        temp_root_write(root, "/run/systemd/container", "");
        assert_int_equal(switched_off(root), SWITCHED_ON);
        temp_root_write(root, "/run/systemd/container", "wsl\n");
        assert_int_equal(switched_off(root), SWITCHED_ON);
}

static void test_environment_tells_of_this_machine_only(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        setenv("SYSTEMD_VIRTUALIZATION", "container:docker", 1);
        assert_int_equal(switched_off(root), SWITCHED_ON);
        unsetenv("SYSTEMD_VIRTUALIZATION");
}

static void test_every_reason_has_words(void **state) {
        assert_null(switched_off_to_string(SWITCHED_ON));
        assert_string_equal(switched_off_to_string(SWITCHED_OFF_CMDLINE),
                            "switched off by hugepages_setup= on the kernel command line");
        assert_string_equal(switched_off_to_string(SWITCHED_OFF_MASKED),
                            "switched off: hugepages-setup.service is masked");
        assert_string_equal(switched_off_to_string(SWITCHED_OFF_KDUMP), "switched off in a kdump kernel");
        assert_string_equal(switched_off_to_string(SWITCHED_OFF_CONTAINER), "switched off in a container");
}

static void test_of_the_machines_only_the_container_is_off(void **state) {
        static const char *const machines[] = { "laptop",     "two-socket", "power9", "arm64-64k",
                                                "arm64-4k",   "no-numa",    "wsl2",   "memoryless",
                                                "no-hugetlb", "mthp",       "forky",  "container" };

        for (size_t i = 0; i < ELEMENTSOF(machines); i++) {
                _cleanup_free_ char *root = NULL;

                assert_true(asprintf(&root, "%s/%s/root", getenv("FIXTURES"), machines[i]) >= 0);
                assert_int_equal(switched_off(root),
                                 streq(machines[i], "container") ? SWITCHED_OFF_CONTAINER : SWITCHED_ON);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cmdline_is_split_at_blanks_outside_of_quotes),
                cmocka_unit_test(test_cmdline_value_knows_the_key_and_both_dashes),
                cmocka_unit_test(test_cmdline_switches_off_with_four_words),
                cmocka_unit_test(test_the_last_one_on_the_cmdline_wins),
                cmocka_unit_test(test_cmdline_masks_as_systemd_does),
                cmocka_unit_test(test_masked_by_link_or_empty_file),
                cmocka_unit_test(test_a_unit_of_ones_own_is_no_mask_and_beats_one_in_run),
                cmocka_unit_test(test_a_link_to_a_unit_elsewhere_is_no_mask),
                cmocka_unit_test(test_off_in_a_kdump_kernel),
                cmocka_unit_test(test_off_in_a_container_but_not_in_wsl),
                cmocka_unit_test(test_environment_tells_of_this_machine_only),
                cmocka_unit_test(test_every_reason_has_words),
                cmocka_unit_test(test_of_the_machines_only_the_container_is_off),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
