/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* measure: runs a program and prints what it cost: wall time from fork to exit and CPU time, both in
 * microseconds, peak memory in KiB (ru_maxrss) and exit status.
 *
 *     measure PROGRAM [ARGUMENT…]
 *
 * A large parent cannot do this: up to its exec a child counts the parent's memory as its own peak, so what
 * an interpreter sees of a small child is the interpreter's own size. Standard output and standard error of
 * the program go to /dev/null. */

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "basic/util.h"

static int64_t now_nsec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static long long usec(const struct timeval *tv) {
        return (long long) tv->tv_sec * 1000000 + tv->tv_usec;
}

static _Noreturn void run_program(int null, char *argv[]) {
        if (dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0)
                execvp(argv[0], argv);
        _exit(127);
}

int main(int argc, char *argv[]) {
        struct rusage usage;
        int64_t start;
        int null, status;
        pid_t pid;

        if (argc < 2) {
                fprintf(stderr, "Usage: measure PROGRAM [ARGUMENT...]\n");
                return 2;
        }
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0)
                return 1;
        start = now_nsec();
        pid = fork();
        if (pid == 0)
                run_program(null, &argv[1]);
        if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
                return 1;
        printf("%lld %lld %ld %d\n", (long long) ((now_nsec() - start) / 1000),
               usec(&usage.ru_utime) + usec(&usage.ru_stime), usage.ru_maxrss,
               WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 0;
}
