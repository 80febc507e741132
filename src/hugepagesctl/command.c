/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running the tools of others: boot loaders', and those that build initrds. */

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "hugepagesctl/ctl.h"

/* All that comes out of fd, until the other end is closed. */
static int read_all(int fd, char **ret) {
        _cleanup_fclose_ FILE *f = fdopen(fd, "re");
        char *text = NULL;
        size_t size = 0;

        if (!f) {
                close(fd);
                return -errno;
        }
        if (getdelim(&text, &size, 0, f) < 0) {
                free(text);
                if (ferror(f))
                        return -EIO;
                text = strdup("");
        }
        *ret = text;
        return text ? 0 : -ENOMEM;
}

static int spawn(const char *const *argv, int output, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        int r = posix_spawn_file_actions_init(&actions);

        if (r != 0)
                return -r;
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn(ret, argv[0], &actions, NULL, (char *const *) argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int wait_for(pid_t pid) {
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); /* as a shell tells it */
}

static int run_for_output(const char *const *argv, char **ret_output) {
        _cleanup_free_ char *text = NULL;
        int fds[2], r, s;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        r = spawn(argv, fds[1], &pid);
        close(fds[1]);
        if (r < 0) {
                close(fds[0]);
                return r;
        }
        r = read_all(fds[0], &text);
        s = wait_for(pid);
        if (r < 0)
                return r;
        *ret_output = TAKE_PTR(text);
        return s;
}

/* Through a process in between, which keeps what we have locked until the tool has ended, also where we are
 * killed: another of us would run the same tool beside it. Not through the tool itself, which may leave a
 * daemon behind. */
static int spawn_kept(const char *const *argv, pid_t *ret) {
        pid_t tool, pid;

        if (access(argv[0], X_OK) < 0)
                return -errno;
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid > 0) {
                *ret = pid;
                return 0;
        }
        if (spawn(argv, STDERR_FILENO, &tool) < 0)
                _exit(127);
        /* A terminal sends its signals to all of us: only the tool's end is ours. */
        (void) signal(SIGHUP, SIG_IGN);
        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGQUIT, SIG_IGN);
        (void) signal(SIGTERM, SIG_IGN);
        _exit(wait_for(tool));
}

int command_run(void *userdata, const char *const *argv, char **ret_output) {
        pid_t pid = -1;
        int r;

        fflush(stdout);
        if (ret_output)
                return run_for_output(argv, ret_output);
        r = spawn_kept(argv, &pid);
        return r < 0 ? r : wait_for(pid);
}
