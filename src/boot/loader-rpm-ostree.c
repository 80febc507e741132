/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Image-based systems whose kernel arguments rpm-ostree(1) keeps: a change makes a new deployment, for the
 * next boot, and either is complete or was not. */

#include "basic/fs.h"
#include "boot/loader-internal.h"

static const char *const rpm_ostree_paths[] = { "/usr/bin/rpm-ostree", NULL };

static bool rpm_ostree_detect(const LoaderContext *c) {
        return loader_may_run(c) && root_exists(c->root, "/run/ostree-booted") &&
               loader_tool(c, rpm_ostree_paths);
}

/* What the next boot gets. */
static int collect(const LoaderContext *c, const Installed *installed, Lines *l) {
        _cleanup_free_ char *output = NULL;
        int r = loader_run(c, (const char *const[]){ loader_tool(c, rpm_ostree_paths), "kargs", NULL },
                           &output);

        if (r < 0)
                return r;
        r = lines_add(l, output ?: "", TEXT_CMDLINE, installed);
        return r == -EBADMSG ? loader_fail(c, r, "rpm-ostree kargs", "cannot be edited") : r;
}

static int rpm_ostree_read(const LoaderContext *c, LoaderArguments *ret) {
        Installed installed = {};
        Lines l = {};
        int r = loader_load_installed(c, &installed);

        if (r >= 0)
                r = collect(c, &installed, &l);
        if (r >= 0)
                r = lines_merge(&l, &installed, ret);
        lines_done(&l);
        installed_done(&installed);
        return r;
}

static int add_options(char ***argv, size_t *n, const char *option, const char *words) {
        const char *start;

        for (size_t l; (l = next_word(&words, &start)) > 0;) {
                if (GROW_ARRAY(*argv, *n) < 0)
                        return -ENOMEM;
                if (asprintf(*argv + *n, "--%s=%.*s", option, (int) l, start) < 0)
                        return -ENOMEM;
                (*n)++;
        }
        return 0;
}

/* One call, and so one deployment. --append, as --append-if-missing would drop the count of one page size
 * that another has too. */
static int run_kargs(const LoaderContext *c, const char *take, const char *add) {
        char **argv = NULL;
        size_t n = 0, first;
        int r = 0;

        for (first = 0; first < 2 && r >= 0; first++) {
                r = GROW_ARRAY(argv, n);
                if (r >= 0) {
                        argv[n] = strdup(first == 0 ? loader_tool(c, rpm_ostree_paths) : "kargs");
                        r = argv[n] ? 0 : -ENOMEM;
                        n++;
                }
        }
        if (r >= 0)
                r = add_options(&argv, &n, "delete", take);
        if (r >= 0)
                r = add_options(&argv, &n, "append", add);
        if (r >= 0)
                r = GROW_ARRAY(argv, n);
        if (r >= 0)
                r = loader_run(c, (const char *const *) argv, NULL);
        for (size_t i = 0; i < n; i++)
                free(argv[i]);
        free(argv);
        return r;
}

/* Old versions of ostree keep arguments by name, not in the order in which the kernel must see them. */
static int verify(const LoaderContext *c, const char *arguments) {
        Installed new = {};
        Lines l = {};
        int r = installed_set(&new, arguments);

        if (r >= 0)
                r = collect(c, &new, &l);
        if (r >= 0 && !lines_are(&l, arguments)) {
                diag_error(c->diagnostics, (Source){ .file = "rpm-ostree kargs" },
                           "has not kept the order of %s", arguments);
                r = -EIO;
        }
        lines_done(&l);
        installed_done(&new);
        return r;
}

static int change(const LoaderContext *c, const char *ours, Installed *installed, const char *arguments) {
        Snapshot s = { .root = c->root };
        Installed both = {};
        int r = loader_load_installed(c, &both);

        if (r >= 0)
                r = snapshot_add(&s, INSTALLED_PATH);
        if (r >= 0)
                r = installed_push(&both, arguments);
        if (r >= 0)
                r = installed_save(c->root, &both);
        if (r >= 0)
                r = run_kargs(c, ours, arguments);
        if (r >= 0) {
                r = verify(c, arguments);
                if (r < 0)
                        (void) run_kargs(c, arguments, ours);
        }
        if (r >= 0)
                r = installed_set(installed, arguments);
        if (r >= 0)
                r = installed_save(c->root, installed);
        if (r < 0)
                snapshot_restore(&s, c->diagnostics);
        installed_done(&both);
        snapshot_done(&s);
        return r < 0 ? r : 1;
}

static int rpm_ostree_set(const LoaderContext *c, const char *arguments) {
        _cleanup_close_ int lock = loader_lock(c);
        Installed installed = {};
        Lines l = {};
        int r = lock < 0 ? lock : loader_load_installed(c, &installed);

        if (r >= 0)
                r = collect(c, &installed, &l);
        if (r >= 0 && !*arguments)
                loader_warn_changed(c, &l, &installed, "rpm-ostree kargs");
        if (r >= 0 && lines_are(&l, arguments)) {
                r = installed_set(&installed, arguments);
                if (r >= 0)
                        r = installed_save(c->root, &installed);
        } else if (r >= 0)
                r = change(c, l.items[0].ours, &installed, arguments);
        lines_done(&l);
        installed_done(&installed);
        return r;
}

static int rpm_ostree_remove(const LoaderContext *c) {
        return rpm_ostree_set(c, "");
}

const Loader loader_rpm_ostree = {
        .name = "rpm-ostree",
        .sought = "/usr/bin/rpm-ostree, with /run/ostree-booted",
        .where = "rpm-ostree kargs",
        .detect = rpm_ostree_detect,
        .read = rpm_ostree_read,
        .install = rpm_ostree_set,
        .remove = rpm_ostree_remove,
};
