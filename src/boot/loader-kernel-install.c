/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* systemd-boot and unified kernel images, as kernel-install(8) makes them: /etc/kernel/cmdline for the
 * kernels to come, and the entries of those that are installed. */

#include "basic/fs.h"
#include "boot/loader-internal.h"

static const char *const kernel_install_paths[] = { "/usr/bin/kernel-install", "/bin/kernel-install", NULL };

static bool kernel_install_detect(const LoaderContext *c) {
        bool found = booted_by_systemd_boot(c->root);
        Entries e = {};

        if (!found && entries_find(c->root, &e) >= 0)
                found = e.n > 0;
        entries_done(&e);
        return found && (loader_tool(c, kernel_install_paths) || !isempty(c->root));
}

static const char *kernel_install_nearly(const LoaderContext *c) {
        if (!loader_tool(c, kernel_install_paths))
                return NULL;
        return "kernel-install is here, but no entry or image of this system is in /efi, /boot or "
               "/boot/efi: mount the EFI system partition there, or have them made by "
               "kernel-install add VERSION KERNEL";
}

static int collect(const LoaderContext *c, const Installed *installed, const Entries *e, Lines *l) {
        int r = lines_add_cmdline(c, installed, l);

        return r < 0 ? r : lines_add_entries(c, installed, e, l);
}

static int kernel_install_read(const LoaderContext *c, LoaderArguments *ret) {
        return loader_read_lines(c, collect, KERNEL_CMDLINE, ret);
}

/* Makes /etc/kernel/cmdline where it is not there. */
static int ensure_cmdline(const LoaderContext *c, const Entries *e, const Installed *installed, Snapshot *s,
                          bool *ret_seeded) {
        _cleanup_free_ char *text = NULL;
        const char *from;
        int r;

        if (root_exists(c->root, KERNEL_CMDLINE))
                return 0;
        r = loader_seed(c, e, installed, &text, &from);
        if (r < 0)
                return loader_fail(c, r, KERNEL_CMDLINE,
                                   "is not there, and what it should say is not known");
        r = snapshot_add(s, KERNEL_CMDLINE);
        if (r >= 0)
                r = file_replace(c->root, KERNEL_CMDLINE, text, strlen(text));
        if (r < 0)
                return loader_fail(c, r, KERNEL_CMDLINE, "cannot be written");
        *ret_seeded = true;
        loader_note(c, KERNEL_CMDLINE ": made from %s: %.*s", from, (int) strcspn(text, "\n"), text);
        return 0;
}

static bool layout_is_uki(const LoaderContext *c) {
        static const char *const paths[] = { "/etc/kernel/install.conf", "/run/kernel/install.conf",
                                             "/usr/lib/kernel/install.conf", NULL };
        const char *path = loader_tool(c, paths);
        _cleanup_free_ char *text = NULL;
        bool uki = false;

        if (!path || root_read_text(c->root, path, CMDLINE_MAX, &text) < 0)
                return false;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *v = startswith(line, "layout=");

                if (v)
                        uki = startswith(v, "uki") && strchr(" \t\r\n", v[3]);
        }
        return uki;
}

/* Has kernel-install build the image of a kernel anew, with the arguments that /etc/kernel/cmdline now has.
 */
static int renew_image(const LoaderContext *c, const Entry *e) {
        static const struct {
                const char *before, *after;
        } places[] = { { "/usr/lib/modules/", "/vmlinuz" },
                       { "/lib/modules/", "/vmlinuz" },
                       { "/boot/vmlinuz-", "" },
                       { "/boot/vmlinux-", "" } };
        const char *tool = loader_tool(c, kernel_install_paths);

        for (size_t i = 0; tool && i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *kernel = NULL;

                if (asprintf(&kernel, "%s%s%s", places[i].before, e->version, places[i].after) < 0) {
                        kernel = NULL;
                        return -ENOMEM;
                }
                if (root_exists(c->root, kernel))
                        return loader_run(c, (const char *const[]){ tool, "add", e->version, kernel, NULL },
                                          NULL);
        }
        return loader_fail(c, -ENOENT, e->path,
                           "cannot be built anew, its kernel or kernel-install is missing");
}

/* Where one fails, *ret_done tells how many may have been built with the new arguments. */
static int renew_images(const LoaderContext *c, const Entries *e, size_t *ret_done) {
        bool can = loader_may_run(c) && layout_is_uki(c);

        *ret_done = 0;
        for (size_t i = 0; i < e->n; i++) {
                int r = 0;

                if (!e->items[i].is_image)
                        continue;
                if (can) {
                        *ret_done = i + 1;
                        r = renew_image(c, e->items + i);
                        if (r >= 0)
                                loader_note(c, "%s: built anew", e->items[i].path);
                } else
                        diag_warning(c->diagnostics, (Source){ .file = e->items[i].path },
                                     "this image keeps its arguments until what made it makes it anew");
                if (r < 0)
                        return r;
        }
        return 0;
}

static void renew_images_back(const LoaderContext *c, const Entries *e, size_t done) {
        for (size_t i = 0; i < done; i++)
                if (e->items[i].is_image)
                        (void) renew_image(c, e->items + i);
}

static int change_files(const LoaderContext *c, const Entries *e, const Installed *old,
                        const char *arguments, Snapshot *s, bool *ret_seeded) {
        int r = 0;

        if (*arguments)
                r = ensure_cmdline(c, e, old, s, ret_seeded);
        if (r >= 0 && root_exists(c->root, KERNEL_CMDLINE))
                r = loader_edit_file(c, KERNEL_CMDLINE, TEXT_CMDLINE, old, arguments, s);
        if (r >= 0)
                r = loader_edit_entries(c, e, old, arguments, s);
        return r;
}

static int change(const LoaderContext *c, const Entries *e, Installed *old, const char *arguments) {
        Snapshot s = { .root = c->root };
        Installed both = {};
        size_t done = 0;
        int r = loader_load_installed(c, &both);

        if (r >= 0)
                r = snapshot_add(&s, INSTALLED_PATH);
        if (r >= 0)
                r = installed_push(&both, arguments);
        if (r >= 0 && *arguments && !root_exists(c->root, KERNEL_CMDLINE))
                both.seeded = true;
        if (r >= 0) /* first: should this be cut short, the new ones and the file are known as ours */
                r = installed_save(c->root, &both);
        if (r >= 0)
                r = change_files(c, e, old, arguments, &s, &old->seeded);
        if (r >= 0)
                r = renew_images(c, e, &done);
        if (r >= 0)
                r = installed_set(old, arguments);
        if (r >= 0 && !*arguments)
                r = loader_tidy_seeded(c, e, old);
        if (r >= 0)
                r = installed_save(c->root, old);
        if (r < 0) {
                snapshot_restore(&s, c->diagnostics);
                renew_images_back(c, e, done);
        }
        installed_done(&both);
        snapshot_done(&s);
        return r < 0 ? r : 1;
}

static int kernel_install_set(const LoaderContext *c, const char *arguments) {
        _cleanup_close_ int lock = loader_lock(c);
        Installed installed = {};
        Entries e = {};
        Lines l = {};
        int r = lock < 0 ? lock : loader_load_installed(c, &installed);

        if (r >= 0)
                r = entries_find(c->root, &e);
        if (r >= 0)
                r = collect(c, &installed, &e, &l);
        if (r >= 0 && !*arguments)
                loader_warn_changed(c, &l, &installed, KERNEL_CMDLINE);
        if (r >= 0) {
                bool there = !*arguments || root_exists(c->root, KERNEL_CMDLINE);

                if (there && installed.n <= 1 && lines_are(&l, arguments))
                        r = loader_settle(c, &e, &installed, arguments);
                else
                        r = change(c, &e, &installed, arguments);
        }
        lines_done(&l);
        entries_done(&e);
        installed_done(&installed);
        return r;
}

static int kernel_install_remove(const LoaderContext *c) {
        return kernel_install_set(c, "");
}

const Loader loader_kernel_install = {
        .name = "kernel-install",
        .sought = "entries or images of this system in /efi, /boot or /boot/efi",
        .where = KERNEL_CMDLINE,
        .detect = kernel_install_detect,
        .read = kernel_install_read,
        .install = kernel_install_set,
        .remove = kernel_install_remove,
        .nearly = kernel_install_nearly,
};
