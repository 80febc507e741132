/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hugetlb limits of the own cgroup, and the group database below a root. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apply/cgroup.h"
#include "apply/resolve.h"
#include "temp-root.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define M (1ull << 20)
#define G (1ull << 30)

static char *cgroup_root_new(const char *proc_self_cgroup) {
        char *root = temp_root_new();

        temp_root_write(root, "/proc/self/cgroup", proc_self_cgroup);
        temp_root_write(root, CGROUP_ROOT "/cgroup.controllers", "cpu hugetlb memory\n");
        temp_root_write(root, CGROUP_ROOT "/cgroup.subtree_control", "cpu memory\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/cgroup.controllers", "hugetlb\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/cgroup.subtree_control", "\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.2MB.max", "max\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.2MB.rsvd.max", "max\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.1GB.max", "5\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.1GB.rsvd.max", "5\n");
        return root;
}

static void assert_file(const char *root, const char *path, const char *expected) {
        _cleanup_free_ char *line = NULL;

        assert_int_equal(root_read_line(root, path, &line), 0);
        assert_string_equal(line, expected);
}

static void test_controller_is_handed_down_and_both_limits_are_set(void **state) {
        _cleanup_temp_root_ char *root = cgroup_root_new("4:memory:/x\n0::/a.slice/db.service\n");
        const HugetlbLimit limits[] = { { 2 * M, 8 * G }, { G, UINT64_MAX } };
        _cleanup_free_ char *error = NULL;

        assert_int_equal(cgroup_limit_hugetlb(root, limits, 2, &error), 0);
        assert_null(error);
        assert_file(root, CGROUP_ROOT "/cgroup.subtree_control", "+hugetlb");
        assert_file(root, CGROUP_ROOT "/a.slice/cgroup.subtree_control", "+hugetlb");
        assert_file(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.2MB.max", "8589934592");
        assert_file(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.2MB.rsvd.max", "8589934592");
        assert_file(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.1GB.max", "max");
        assert_file(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.1GB.rsvd.max", "max");
}

static void test_control_group_of_a_delegated_unit_is_not_the_unit(void **state) {
        _cleanup_temp_root_ char *root = cgroup_root_new("0::/a.slice/db.service/.control\n");
        const HugetlbLimit limit = { 2 * M, 4 * M };
        _cleanup_free_ char *error = NULL;

        assert_int_equal(cgroup_limit_hugetlb(root, &limit, 1, &error), 0);
        assert_file(root, CGROUP_ROOT "/a.slice/db.service/hugetlb.2MB.max", "4194304");
}

static void test_controller_that_is_there_is_not_asked_for(void **state) {
        _cleanup_temp_root_ char *root = cgroup_root_new("0::/a.slice/db.service\n");
        const HugetlbLimit limit = { 2 * M, 4 * M };
        _cleanup_free_ char *error = NULL;

        temp_root_write(root, CGROUP_ROOT "/cgroup.subtree_control", "cpu hugetlb\n");
        assert_int_equal(cgroup_limit_hugetlb(root, &limit, 1, &error), 0);
        assert_file(root, CGROUP_ROOT "/cgroup.subtree_control", "cpu hugetlb");
}

static void assert_refused(char *root, uint64_t page_size, int expected, const char *text) {
        _cleanup_temp_root_ char *r = root;
        const HugetlbLimit limit = { page_size, G };
        _cleanup_free_ char *error = NULL;

        assert_int_equal(cgroup_limit_hugetlb(r, &limit, 1, &error), expected);
        assert_non_null(strstr(error, text));
        assert_file(r, CGROUP_ROOT "/a.slice/db.service/hugetlb.2MB.max", "max");
}

static void test_what_is_in_the_way_is_said(void **state) {
        char *root;

        assert_refused(cgroup_root_new("0::/\n"), 2 * M, -EINVAL, "root cgroup cannot be limited");
        assert_refused(cgroup_root_new("4:memory:/x\n"), 2 * M, -ENODATA, "in no cgroup v2");
        assert_refused(cgroup_root_new("0::/a.slice/db.service\n"), 64 << 10, -ENOENT, "hugetlb.64KB.max");

        root = cgroup_root_new("0::/a.slice/db.service\n");
        temp_root_write(root, CGROUP_ROOT "/a.slice/cgroup.controllers", "memory hugetlbx\n");
        assert_refused(root, 2 * M, -EOPNOTSUPP, "no hugetlb controller in cgroup /a.slice/");
}

static void test_group_is_looked_up_below_the_root(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        gid_t gid = 0;

        assert_int_equal(resolve_group(root, "dba", &gid), -ESRCH);
        temp_root_write(root, "/etc/group", "root:x:0:\nbroken\ndba:x:4711:a,b\n");
        assert_int_equal(resolve_group(root, "dba", &gid), 0);
        assert_int_equal(gid, 4711);
        assert_int_equal(resolve_group(root, "dbb", &gid), -ESRCH);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_controller_is_handed_down_and_both_limits_are_set),
                cmocka_unit_test(test_control_group_of_a_delegated_unit_is_not_the_unit),
                cmocka_unit_test(test_controller_that_is_there_is_not_asked_for),
                cmocka_unit_test(test_what_is_in_the_way_is_said),
                cmocka_unit_test(test_group_is_looked_up_below_the_root),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
