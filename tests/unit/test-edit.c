/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Odd files: lines without words, quotes that are not closed, links that lead to no file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "boot/edit.h"
#include "boot/snapshot.h"
#include "temp-root.h"

#define OURS "hugepagesz=1G hugepages=0:1,1:2"
#define NEW "default_hugepagesz=1G hugepagesz=1G hugepages=3"

/* There, changed and away again. */
static void assert_edited(const char *text, const char *with, const char *changed, const char *gone) {
        _cleanup_free_ char *first = NULL, *again = NULL, *second = NULL, *last = NULL;
        _cleanup_(installed_done) Installed ours = {}, new = {};
        Installed none = {};

        assert_int_equal(installed_set(&ours, OURS), 0);
        assert_int_equal(installed_set(&new, NEW), 0);
        assert_int_equal(edit_replace(text, TEXT_CMDLINE, &none, OURS, &first), 0);
        assert_string_equal(first, with);
        assert_int_equal(edit_replace(first, TEXT_CMDLINE, &ours, OURS, &again), 0);
        assert_string_equal(again, first);
        assert_int_equal(edit_replace(first, TEXT_CMDLINE, &ours, NEW, &second), 0);
        assert_string_equal(second, changed);
        assert_int_equal(edit_replace(second, TEXT_CMDLINE, &new, "", &last), 0);
        assert_string_equal(last, gone);
}

static void test_no_words(void **state) {
        assert_edited("", OURS, NEW, "");
        assert_edited("\n", "\n" OURS "\n", "\n" NEW "\n", "\n");
        assert_edited("# comment\n", "# comment\n" OURS "\n", "# comment\n" NEW "\n", "# comment\n");
        assert_edited("# c\n\n", "# c\n\n" OURS "\n", "# c\n\n" NEW "\n", "# c\n\n");
        assert_edited("# a\n\t# b", "# a\n\t# b\n" OURS, "# a\n\t# b\n" NEW, "# a\n\t# b");
        assert_edited("  ", "  " OURS, "  " NEW, "  ");
}

static void test_words_for_init(void **state) {
        assert_edited("-- single\n", OURS " -- single\n", NEW " -- single\n", "-- single\n");
        assert_edited("--", OURS " --", NEW " --", "--");
        assert_edited(" -- foo", " " OURS " -- foo", " " NEW " -- foo", " -- foo");
        assert_edited("  -- foo\n", "  " OURS " -- foo\n", "  " NEW " -- foo\n", "  -- foo\n");
        assert_edited("# c\n\t-- foo\n", "# c\n\t" OURS " -- foo\n", "# c\n\t" NEW " -- foo\n",
                      "# c\n\t-- foo\n");
}

static void test_open_quote(void **state) {
        Installed none = {};
        char *result = NULL;

        assert_int_equal(edit_replace("root=1 a=\"b c\n", TEXT_CMDLINE, &none, OURS, &result), -EBADMSG);
        assert_int_equal(edit_replace("linux /l\noptions a=\"b c\n", TEXT_ENTRY, &none, OURS, &result),
                         -EBADMSG);
        /* Those who read these files join the lines: the last is within the quotes. */
        assert_int_equal(edit_replace("a=\"b c\nro\n", TEXT_CMDLINE, &none, OURS, &result), -EBADMSG);
        assert_int_equal(
                edit_replace("options \" root=1 ro\noptions quiet\n", TEXT_ENTRY, &none, OURS, &result),
                -EBADMSG);
        assert_null(result);
        assert_edited("ro -- \"x\n", "ro " OURS " -- \"x\n", "ro " NEW " -- \"x\n", "ro -- \"x\n");
}

static char *path_below(const char *root, const char *path) {
        char *result;

        assert_true(asprintf(&result, "%s%s", root, path) > 0);
        return result;
}

/* A device in a temporary root would take privileges. */
static void test_link_to_no_file(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *null = NULL, *link = NULL;
        struct stat st;

        temp_root_write(root, "/dev/x", "");
        temp_root_write(root, "/etc/kernel/x", "");
        null = path_below(root, "/dev/null");
        link = path_below(root, "/etc/kernel/cmdline");
        assert_int_equal(mkfifo(null, 0600), 0);
        assert_int_equal(symlink("/dev/null", link), 0);
        assert_int_equal(file_replace(root, "/etc/kernel/cmdline", "a", 1), -ENOLINK);
        assert_int_equal(lstat(null, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
        assert_int_equal(lstat(link, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
}

static void test_left_by_killed(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *left = NULL;

        temp_root_write(root, "/etc/kernel/.#cmdline.hugepages", "half");
        left = path_below(root, "/etc/kernel/.#cmdline.hugepages");
        assert_int_equal(file_remove(root, "/etc/kernel/cmdline"), 0);
        assert_int_equal(access(left, F_OK), -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_words),       cmocka_unit_test(test_words_for_init),
                cmocka_unit_test(test_open_quote),     cmocka_unit_test(test_link_to_no_file),
                cmocka_unit_test(test_left_by_killed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
