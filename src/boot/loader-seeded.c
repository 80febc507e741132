/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /etc/kernel/cmdline where there was none: what it begins with, and when it goes again. */

#include "basic/fs.h"
#include "boot/loader-internal.h"

#define VENDOR_CMDLINE "/usr/lib/kernel/cmdline"

/* What the boot loader or an initrd's loader adds to the words it was given. */
static bool is_of_loader(const char *word) {
        return startswith(word, "BOOT_IMAGE=") || startswith(word, "initrd=") || startswith(word, "rdinit=");
}

int loader_seed(const LoaderContext *c, const Entries *e, const Installed *installed, char **ret,
                const char **ret_from) {
        _cleanup_free_ char *text = NULL, *ours = NULL, *others = NULL, *line = strdup("");
        const char *p, *start;
        TextKind kind = TEXT_CMDLINE;
        int r;

        if (!line)
                return -ENOMEM;
        *ret_from = VENDOR_CMDLINE;
        r = root_read_text(c->root, VENDOR_CMDLINE, CMDLINE_MAX, ret);
        if (r != -ENOENT)
                return r;
        *ret_from = "the running kernel's command line";
        r = root_read_text(c->root, "/proc/cmdline", CMDLINE_MAX, &text);
        for (size_t i = 0; r == -ENOENT && i < e->n; i++)
                if (!e->items[i].is_image) {
                        kind = TEXT_ENTRY;
                        *ret_from = e->items[i].path;
                        r = root_read_text(c->root, e->items[i].path, CMDLINE_MAX, &text);
                }
        if (r >= 0)
                r = edit_split(text, kind, installed, &ours, &others);
        if (r < 0)
                return r;
        p = others;
        for (size_t n; (n = next_word(&p, &start)) > 0;)
                if (!is_of_loader(start) && append_word(&line, start, n) < 0)
                        return -ENOMEM;
        return asprintf(ret, "%s\n", line) < 0 ? -ENOMEM : 0;
}

/* Word by word, but for the one that kernel-install adds where it is missing. */
static bool same_words(const char *a, const char *b) {
        static const char added[] = "systemd.machine_id=";
        const char *x, *y;

        for (;;) {
                size_t n, m;

                while ((n = next_word(&a, &x)) > 0 && startswith(x, added))
                        ;
                while ((m = next_word(&b, &y)) > 0 && startswith(y, added))
                        ;
                if (n != m || strncmp(x, y, n) != 0)
                        return false;
                if (n == 0)
                        return true;
        }
}

int loader_tidy_seeded(const LoaderContext *c, const Entries *e, Installed *installed) {
        _cleanup_free_ char *text = NULL, *seeded = NULL, *link = NULL;
        Installed none = {};
        const char *from;
        int r;

        if (!installed->seeded)
                return 0;
        r = root_read_text(c->root, KERNEL_CMDLINE, CMDLINE_MAX, &text);
        if (r == -ENOENT) {
                installed->seeded = false;
                return 0;
        }
        if (r < 0 || loader_seed(c, e, &none, &seeded, &from) < 0 || !same_words(text, seeded))
                return 0;
        if (root_readlink(c->root, KERNEL_CMDLINE, &link) >= 0) { /* made by somebody else since */
                installed->seeded = false;
                return 0;
        }
        r = file_remove(c->root, KERNEL_CMDLINE);
        if (r < 0)
                return loader_fail(c, r, KERNEL_CMDLINE, "cannot be removed");
        installed->seeded = false;
        return 1;
}

int loader_settle(const LoaderContext *c, const Entries *e, Installed *installed, const char *arguments) {
        int r = *arguments ? 0 : loader_tidy_seeded(c, e, installed),
            q = installed_set(installed, arguments);

        loader_clean(c, e);
        if (q >= 0)
                q = installed_save(c->root, installed);
        return q < 0 ? q : r;
}
