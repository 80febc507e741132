/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A machine for the tests of the boot loaders, whose tools are fakes (tests/boot/fakes). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "boot/edit.h"
#include "boot/loader.h"
#include "temp-root.h"

#define OURS "hugepagesz=1G hugepages=0:1,1:2"
#define NEW "default_hugepagesz=1G hugepagesz=1G hugepages=0:2,1:2"
#define ID "0123456789abcdef0123456789abcdef"
#define ENTRY "/boot/loader/entries/" ID "-6.1.0-1.conf"
#define ENTRY2 "/boot/loader/entries/" ID "-6.1.0-2+3-1.conf"

/* A machine below a temporary root, whose tools are the fakes. */
typedef struct Bed {
        char *root;
        LoaderContext context;
        Diagnostics diagnostics;
        unsigned n_runs;
        const char *fail, *old, *no_kernel; /* $FAKE_FAIL, $FAKE_OLD, $FAKE_NO_KERNEL */
} Bed;

static inline int run_fake(void *userdata, const char *const *argv, char **ret_output) {
        Bed *b = userdata;
        char path[4096], buffer[8192];
        int fds[2], status;
        size_t n = 0;
        pid_t pid;

        b->n_runs++;
        snprintf(path, sizeof(path), "%s/tests/boot/fakes/%s", getenv("SOURCE_ROOT"),
                 strrchr(argv[0], '/') + 1);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                char search[4096];

                snprintf(search, sizeof(search), "%s/tests/boot/fakes:/usr/bin:/bin", getenv("SOURCE_ROOT"));
                setenv("PATH", search, 1);
                setenv("FAKE_ROOT", b->root, 1);
                setenv("FAKE_FAIL", b->fail ?: "", 1);
                setenv("FAKE_OLD", b->old ?: "", 1);
                setenv("FAKE_NO_KERNEL", b->no_kernel ?: "", 1);
                dup2(fds[1], STDOUT_FILENO);
                dup2(fds[1], STDERR_FILENO);
                execv(path, (char *const *) argv);
                _exit(127);
        }
        close(fds[1]);
        for (ssize_t got;
             n < sizeof(buffer) - 1 && (got = read(fds[0], buffer + n, sizeof(buffer) - 1 - n)) > 0;)
                n += (size_t) got;
        buffer[n] = 0;
        close(fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (ret_output) {
                *ret_output = strdup(buffer);
                assert_non_null(*ret_output);
        }
        return WEXITSTATUS(status);
}

static inline Bed *bed_new(void) {
        Bed *b = calloc(1, sizeof(*b));

        assert_non_null(b);
        b->root = temp_root_new();
        b->context = (LoaderContext){
                .root = b->root,
                .run = run_fake,
                .userdata = b,
                .diagnostics = &b->diagnostics,
                .tools_know_root = true,
        };
        temp_root_write(b->root, "/etc/machine-id", ID "\n");
        temp_root_write(b->root, "/etc/os-release", "NAME=Fake\nID=\"fake\"\n");
        return b;
}

static inline void bed_free(Bed *b) {
        diag_done(&b->diagnostics);
        temp_root_free(b->root);
        free(b);
}

DEFINE_CLEANUP(Bed, bed_free)
#define _cleanup_bed_ _cleanup_(bed_freep)

static inline void assert_file(const Bed *b, const char *path, const char *expected) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_file(b->root, path, 65536, &text, NULL);

        if (!expected) {
                assert_int_equal(r, -ENOENT);
                return;
        }
        assert_int_equal(r, 0);
        assert_string_equal(text, expected);
}

static inline void assert_loader(const Bed *b, const char *name) {
        const Loader *l = loader_find(&b->context);

        if (!name)
                assert_null(l);
        else {
                assert_non_null(l);
                assert_string_equal(l->name, name);
        }
}

static inline void assert_arguments(const Bed *b, const char *ours, const char *others) {
        LoaderArguments a = {};

        assert_int_equal(loader_find(&b->context)->read(&b->context, &a), 0);
        assert_string_equal(a.ours, ours);
        assert_string_equal(a.others, others);
        loader_arguments_done(&a);
}

static inline int install(const Bed *b, const char *arguments) {
        return loader_find(&b->context)->install(&b->context, arguments);
}

static inline int take_away(const Bed *b) {
        return loader_find(&b->context)->remove(&b->context);
}

static inline void assert_message(const Bed *b, const char *part) {
        for (size_t i = 0; i < b->diagnostics.n; i++) {
                _cleanup_free_ char *text = diag_format(b->diagnostics.items + i);

                if (text && strstr(text, part))
                        return;
        }
        fail_msg("no message has: %s", part);
}

static inline void assert_runs(Bed *b, unsigned n) {
        assert_int_equal(b->n_runs, n);
        b->n_runs = 0;
}

static inline int remove_below(const Bed *b, const char *path) {
        _cleanup_free_ char *full = NULL;

        assert_true(asprintf(&full, "%s%s", b->root, path) > 0);
        return remove(full);
}
