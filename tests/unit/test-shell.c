/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* That a script can neither change anything nor leave anything running. */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "basic/fs.h"
#include "boot/shell.h"
#include "temp-root.h"

#define MSEC 20000
#define SKIPPED 77 /* to meson: not tested */

static int evaluate(const char *script, const char *argument, char **ret) {
        size_t size;

        return shell_evaluate(script, (const char *const[]){ argument, NULL }, MSEC, 4096, ret, &size);
}

static void assert_not_made(const char *root) {
        assert_false(root_exists(root, "/made"));
}

/* Whether a process has this command line, with blanks for the NULs. */
static bool is_running(const char *command) {
        _cleanup_closedir_ DIR *d = opendir("/proc");
        struct dirent *de;

        assert_non_null(d);
        while ((de = readdir(d))) {
                _cleanup_free_ char *path = NULL, *text = NULL;
                size_t size = 0;

                assert_true(asprintf(&path, "/proc/%s/cmdline", de->d_name) > 0);
                if (root_read_file(NULL, path, 65536, &text, &size) < 0)
                        continue;
                for (size_t i = 0; i + 1 < size; i++)
                        if (!text[i])
                                text[i] = ' ';
                if (streq(text, command))
                        return true;
        }
        return false;
}

/* One that nobody else runs. */
static void assert_ended(const char *command) {
        for (unsigned i = 0; i < 500; i++) {
                if (!is_running(command))
                        return;
                usleep(10000);
        }
        fail_msg("%s is still there", command);
}

static void assert_leaves_nothing(const char *before, const char *after) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *command = NULL, *script = NULL, *text = NULL;

        assert_true(asprintf(&command, "sleep 60%d", getpid()) > 0);
        assert_true(asprintf(&script, "%s%s%s", before, command, after) > 0);
        assert_int_equal(evaluate(script, root, &text), 0);
        assert_string_equal(text, "right\n");
        assert_ended(command);
}

static void test_what_it_leaves_running_is_ended(void **state) {
        assert_leaves_nothing("", "& echo right >&3");
}

static void test_a_daemon_is_ended(void **state) {
        assert_leaves_nothing("(setsid ", " >/dev/null 2>&1 &)\nsleep 0.2; echo right >&3");
}

/* The temporary root is in /tmp, which is what it was. */
static void test_it_has_room_for_scratch(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(evaluate("[ -d \"$1\" ]; set -- /var/tmp/*\n[ \"$1\" = '/var/tmp/*' ] || exit 1\n"
                                  "x=$(mktemp /var/tmp/hugepages-test-XXXXXX) || exit 1\n"
                                  "echo right >\"$x\"; cat \"$x\" >&3",
                                  root, &text),
                         0);
        assert_string_equal(text, "right\n");
}

static void test_it_changes_nothing(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(evaluate("set -e; echo wrong >\"$1/made\"", root, &text), -EIO);
        assert_not_made(root);
}

/* The system's own folders below a folder that is no mount point, as in a chroot. */
static int enter_chroot(const char *folder) {
        static const char *const names[] = { "/bin", "/lib", "/lib64", "/usr", "/dev", "/tmp" };
        char root[256], path[512];

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", folder, "tmpfs", 0, NULL) < 0)
                return -1;
        (void) snprintf(root, sizeof(root), "%s/root", folder);
        if (mkdir(root, 0755) < 0)
                return -1;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                (void) snprintf(path, sizeof(path), "%s%s", root, names[i]);
                if (access(names[i], F_OK) == 0 &&
                    (mkdir(path, 0755) < 0 || mount(names[i], path, NULL, MS_BIND | MS_REC, NULL) < 0))
                        return -1;
        }
        return chroot(root) < 0 || chdir("/") < 0 ? -1 : 0;
}

/* What a script that is given a folder to write to says of it. */
static int evaluate_in_chroot(const char *folder, const char *target) {
        _cleanup_free_ char *text = NULL;

        if (enter_chroot(folder) < 0)
                return 2;
        if (evaluate("if echo wrong >\"$1/made\"; then echo written >&3; else echo kept >&3; fi", target,
                     &text) < 0)
                return 1;
        return !streq(text, "kept\n");
}

static void test_it_changes_nothing_in_a_chroot(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *folder = NULL;
        int status;
        pid_t pid;

        assert_true(asprintf(&folder, "%s/chroot", root) > 0);
        assert_int_equal(mkdir(folder, 0755), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(evaluate_in_chroot(folder, root));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_not_made(root);
}

/* A tmpfs goes below a mount of one's own alone, which / of a chroot is not. */
static bool may_have_namespaces(void) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
                _exit(unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
                      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0);
        return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void) {
        const struct CMUnitTest anywhere[] = {
                cmocka_unit_test(test_what_it_leaves_running_is_ended),
        };
        const struct CMUnitTest with_namespaces[] = {
                cmocka_unit_test(test_a_daemon_is_ended),
                cmocka_unit_test(test_it_has_room_for_scratch),
                cmocka_unit_test(test_it_changes_nothing),
                cmocka_unit_test(test_it_changes_nothing_in_a_chroot),
        };

        if (cmocka_run_group_tests(anywhere, NULL, NULL) != 0)
                return 1;
        if (!may_have_namespaces()) {
                fputs("not tested: no mount and PID namespaces can be had here\n", stderr);
                return SKIPPED;
        }
        return cmocka_run_group_tests(with_namespaces, NULL, NULL);
}
