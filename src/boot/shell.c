/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scripts of others, evaluated. */

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "boot/shell.h"

#define SHELL "/bin/sh"
#define INSIDE "HUGEPAGES_IN_SHELL"
#define ARGUMENTS_MAX 1024
#define NOT_PROTECTED 125 /* its exit status before there is a script */
#define FIRST_FREE_FD (SHELL_OUTPUT_FD + 1)

static bool any_below(const char *const *paths, const char *directory) {
        for (; *paths; paths++)
                if (startswith(*paths, directory))
                        return true;
        return false;
}

#if defined SYS_mount_setattr && defined SYS_open_tree
static int protect(int directory, const char *path, unsigned flags) {
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE };

        return (int) syscall(SYS_mount_setattr, directory, path, flags | AT_RECURSIVE, &attr, sizeof(attr));
}

/* In a chroot / is as a rule no mount point, and has no attributes of its own. Bound onto itself it would be
 * one, for all that share the file system below it; a copy that is attached nowhere is ours alone. */
static int enter_read_only_copy(void) {
        int fd = (int) syscall(SYS_open_tree, AT_FDCWD, "/",
                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

        return fd < 0 || protect(fd, "", AT_EMPTY_PATH) < 0 || fchdir(fd) < 0 || chroot(".") < 0 ? -1 : 0;
}

/* A configuration is read, and reading changes nothing: in a copy of the mount namespace all is read-only,
 * but for what mktemp(1) needs. Whoever may not have one gives the script no more than his own rights, which
 * it is trusted with anyhow: it is what the boot loader's own tools run. */
static int make_file_systems_read_only(const char *const *argv) {
        static const char *const scratch[] = { "/tmp/", "/var/tmp/" };

        if (unshare(CLONE_NEWNS) < 0)
                return 0;
        if (protect(AT_FDCWD, "/", 0) < 0 && enter_read_only_copy() < 0)
                return -1;
        for (size_t i = 0; i < ELEMENTSOF(scratch); i++)
                if (!any_below(argv, scratch[i])) /* what is to be read is not covered up */
                        (void) syscall(SYS_mount, "tmpfs", scratch[i], "tmpfs", MS_NOSUID | MS_NODEV,
                                       "size=16m,mode=1777");
        return 0;
}
#else
static int make_file_systems_read_only(const char *const *argv) {
        return 0;
}
#endif

/* Whether nobody is left to read what is written. */
static bool is_closed(int output) {
        struct pollfd p = { .fd = output };

        return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* In the child: only what is safe after a fork. A parent that was gone before it could be told to end us has
 * closed the pipe: from a PID namespace of our own no number of its would tell. */
static void run(const char *const *argv, int output) {
        static const char *const environment[] = {
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/root",
                "LC_ALL=C",
                INSIDE "=1",
                NULL,
        };
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || is_closed(output) || setsid() < 0 ||
            chdir("/") < 0)
                _exit(126);
        if (make_file_systems_read_only(argv) < 0)
                _exit(NOT_PROTECTED);
        if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
            dup2(output, SHELL_OUTPUT_FD) < 0)
                _exit(126);
        if (null > SHELL_OUTPUT_FD)
                close(null);
        execve(argv[0], (char *const *) argv, (char *const *) environment);
        _exit(127);
}

static int64_t now_msec(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the other end is closed. 1 with more in the buffer, 0 at the end. */
static int read_some(int fd, int64_t deadline, char *buffer, size_t size, size_t *n) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int64_t left = deadline - now_msec();
        int r = left <= 0 ? 0 : poll(&p, 1, (int) left);
        ssize_t got;

        if (r < 0)
                return errno == EINTR ? 1 : -errno;
        if (r == 0)
                return -ETIMEDOUT;
        got = read(fd, buffer + *n, size - *n);
        if (got < 0)
                return errno == EINTR ? 1 : -errno;
        *n += (size_t) got;
        if (*n == size)
                return -EFBIG;
        return got > 0;
}

/* The output is closed as a rule when the script ends, and it may close it before. The script stays a
 * zombie, so that its number is nobody else's. */
static int wait_for(pid_t pid, int64_t deadline) {
        static const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };

        for (;;) {
                siginfo_t info = {};

                if (waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno != EINTR)
                        return -errno;
                if (info.si_pid == pid && info.si_code == CLD_EXITED && info.si_status == NOT_PROTECTED)
                        return -EPERM;
                if (info.si_pid == pid)
                        return info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -EIO;
                if (now_msec() >= deadline)
                        return -ETIMEDOUT;
                (void) nanosleep(&pause, NULL);
        }
}

static int collect(pid_t pid, int fd, unsigned msec, char *buffer, size_t max, size_t *ret_size) {
        int64_t deadline = now_msec() + msec;
        int r;

        *ret_size = 0;
        while ((r = read_some(fd, deadline, buffer, max, ret_size)) > 0)
                ;
        if (r >= 0)
                r = wait_for(pid, deadline);
        (void) kill(-pid, SIGKILL); /* also what a script that has ended left */
        (void) kill(pid, SIGKILL);  /* should it not have come to a session of its own */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

/* Beyond the descriptors that the child gets. */
static int make_pipe(int fds[2]) {
        _cleanup_close_ int in = -1, out = -1;
        int low[2];

        if (pipe2(low, O_CLOEXEC) < 0)
                return -errno;
        in = low[0];
        out = low[1];
        fds[0] = fcntl(in, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
        if (fds[0] < 0)
                return -errno;
        fds[1] = fcntl(out, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
        if (fds[1] < 0) {
                close(fds[0]);
                return -ENFILE;
        }
        return 0;
}

/* In a PID namespace where that may be: nothing in it survives the shell, however well it hides. */
static pid_t fork_alone(void) {
#ifdef SYS_clone3
        struct clone_args args = { .flags = CLONE_NEWPID, .exit_signal = SIGCHLD };
        pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));

        if (pid >= 0)
                return pid;
#endif
        return fork();
}

static int evaluate(const char *const *argv, unsigned msec, size_t max, char **ret, size_t *ret_size) {
        _cleanup_free_ char *buffer = malloc(max + 1);
        int fds[2] = { -1, -1 }, r;
        pid_t pid;

        if (!buffer)
                return -ENOMEM;
        r = make_pipe(fds);
        if (r < 0)
                return r;
        pid = fork_alone();
        if (pid == 0) {
                close(fds[0]);
                run(argv, fds[1]);
        }
        r = pid < 0 ? -errno : 0;
        close(fds[1]);
        if (r >= 0)
                r = collect(pid, fds[0], msec, buffer, max, ret_size);
        close(fds[0]);
        if (r < 0)
                return r;
        buffer[*ret_size] = 0;
        *ret = TAKE_PTR(buffer);
        return 0;
}

int shell_evaluate(const char *script, const char *const *arguments, unsigned msec, size_t max, char **ret,
                   size_t *ret_size) {
        const char *argv[ARGUMENTS_MAX + 5] = { SHELL, "-c", script, "grub-mkconfig" };
        size_t n = 0;

        if (getenv(INSIDE))
                return -EDEADLK;
        if (access(SHELL, X_OK) < 0)
                return -ENOENT;
        for (; arguments[n]; n++) {
                if (n == ARGUMENTS_MAX)
                        return -E2BIG;
                argv[4 + n] = arguments[n];
        }
        return evaluate(argv, msec, max, ret, ret_size);
}
