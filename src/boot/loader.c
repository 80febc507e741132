/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which boot loader boots this system, and what the backends share. */

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>

#include "basic/fs.h"
#include "boot/loader-internal.h"

#define OUR_FILE_MAX ((size_t) 4 * 1024 * 1024)

const Loader *const loaders[] = {
        &loader_rpm_ostree, &loader_bootc,          &loader_grubby,
        &loader_grub,       &loader_kernel_install, &loader_grub_by_hand,
};
const size_t n_loaders = ELEMENTSOF(loaders);

const Loader *loader_find(const LoaderContext *c) {
        for (size_t i = 0; i < n_loaders; i++)
                if (loaders[i]->detect(c))
                        return loaders[i];
        return NULL;
}

void loader_arguments_done(LoaderArguments *a) {
        free(a->ours);
        free(a->others);
        free(a->others_path);
        *a = (LoaderArguments){};
}

bool loader_may_run(const LoaderContext *c) {
        return isempty(c->root) || c->tools_know_root;
}

static const char *reason(int r) {
        switch (r) {
        case -EILSEQ:
                return "there is a NUL byte in it";
        case -EBADMSG:
                return "a quote is not closed on its line";
        case -ENOLINK:
                return "it is a link that leads to no file";
        default:
                return strerror(-r);
        }
}

int loader_fail(const LoaderContext *c, int r, const char *file, const char *what) {
        diag_error(c->diagnostics, (Source){ .file = file }, "%s: %s", what, reason(r));
        return r;
}

int loader_run(const LoaderContext *c, const char *const *argv, char **ret_output) {
        int r = c->run(c->userdata, argv, ret_output);

        if (r < 0)
                return loader_fail(c, r, argv[0], "cannot be run");
        if (r > 0) {
                diag_error(c->diagnostics, (Source){ .file = argv[0] }, "failed with exit status %d", r);
                return -EIO;
        }
        return 0;
}

void loader_note(const LoaderContext *c, const char *format, ...) {
        va_list ap;

        if (!c->notes)
                return;
        va_start(ap, format);
        vfprintf(c->notes, format, ap);
        va_end(ap);
        putc('\n', c->notes);
}

const char *loader_tool(const LoaderContext *c, const char *const *paths) {
        for (; *paths; paths++)
                if (root_exists(c->root, *paths))
                        return *paths;
        return NULL;
}

int loader_check_ours(const LoaderContext *c, const char *path, const char *first_line) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_text(c->root, path, OUR_FILE_MAX, &text);

        if (r == -ENOENT || r == -ENOTDIR)
                return 0;
        if (r < 0)
                return loader_fail(c, r, path, "cannot be read");
        if (startswith(text, first_line))
                return 0;
        diag_error(
                c->diagnostics, (Source){ .file = path },
                "was not written by hugepagesctl, whose name for its own file this is: move it away first");
        return -EEXIST;
}

static char *directory_of(const char *path) {
        return strndup(path, (size_t) (strrchr(path, '/') - path));
}

bool loader_makes_directory(const LoaderContext *c, const char *path) {
        _cleanup_free_ char *text = NULL, *directory = directory_of(path);

        if (root_read_text(c->root, path, OUR_FILE_MAX, &text) >= 0)
                return strstr(text, DIRECTORY_LINE);
        return directory && !root_exists(c->root, directory);
}

int loader_remove_ours(const LoaderContext *c, const char *path) {
        _cleanup_free_ char *directory = directory_of(path);
        bool made = root_exists(c->root, path) && loader_makes_directory(c, path);
        int r = file_remove(c->root, path);

        if (r >= 0 && made && directory)
                directory_remove(c->root, directory);
        return r;
}

int loader_load_installed(const LoaderContext *c, Installed *ret) {
        int r = installed_load(c->root, ret);

        if (r == -EEXIST)
                return loader_check_ours(c, INSTALLED_PATH, INSTALLED_FIRST_LINE);
        return r < 0 ? loader_fail(c, r, INSTALLED_PATH, "cannot be read") : r;
}

int loader_lock(const LoaderContext *c) {
        int fd = root_open(c->root, "/etc", O_RDONLY | O_DIRECTORY), r;

        if (fd >= 0 && flock(fd, LOCK_EX) < 0) {
                r = -errno;
                close(fd);
                fd = r;
        }
        return fd < 0 ? loader_fail(c, fd, "/etc", "cannot be locked") : fd;
}

int lines_add(Lines *l, const char *text, TextKind kind, const Installed *installed) {
        LoaderArguments a = {};
        int r = GROW_ARRAY(l->items, l->n);

        if (r >= 0)
                r = edit_split(text, kind, installed, &a.ours, &a.others);
        if (r < 0)
                return r;
        a.other_bytes = strlen(a.others);
        cut_init(a.others);
        l->items[l->n++] = a;
        return 0;
}

/* systemd-boot passes each initrd of an entry on as an argument, "initrd=PATH". */
static size_t initrd_bytes(const char *text) {
        size_t n = 0;

        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *path;

                line += strspn(line, " \t");
                path = startswith(line, "initrd");
                if (path && strchr(" \t", *path))
                        n += strlen("initrd= ") + strcspn(path + strspn(path, " \t"), " \t\r\n");
        }
        return n;
}

static int add_file(const LoaderContext *c, const char *path, TextKind kind, const Installed *installed,
                    Lines *l) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_text(c->root, path, CMDLINE_MAX, &text);

        if (r == -ENOENT)
                return r;
        if (r < 0)
                return loader_fail(c, r, path, "cannot be read");
        r = lines_add(l, text, kind, installed);
        if (r == -EBADMSG)
                return loader_fail(c, r, path, "cannot be edited");
        if (r >= 0 && kind == TEXT_ENTRY)
                l->items[l->n - 1].other_bytes += initrd_bytes(text);
        return r;
}

int lines_add_cmdline(const LoaderContext *c, const Installed *installed, Lines *l) {
        int r = add_file(c, KERNEL_CMDLINE, TEXT_CMDLINE, installed, l);

        return r == -ENOENT ? 0 : r;
}

int lines_add_entries(const LoaderContext *c, const Installed *installed, const Entries *e, Lines *l) {
        for (size_t i = 0; i < e->n; i++) {
                int r = e->items[i].is_image ? 0 : add_file(c, e->items[i].path, TEXT_ENTRY, installed, l);

                if (r == -ENOENT)
                        return loader_fail(c, r, e->items[i].path, "cannot be read");
                if (r < 0)
                        return r;
        }
        return 0;
}

int loader_read_lines(const LoaderContext *c,
                      int (*collect)(const LoaderContext *c, const Installed *installed, const Entries *e,
                                     Lines *l),
                      const char *others_path, LoaderArguments *ret) {
        Installed installed = {};
        LoaderArguments a = {};
        Entries e = {};
        Lines l = {};
        int r = loader_load_installed(c, &installed);

        if (r >= 0) {
                r = entries_find(c->root, &e);
                if (r < 0)
                        (void) loader_fail(c, r, e.unread ?: "/boot", "cannot be read");
        }
        if (r >= 0)
                r = collect(c, &installed, &e, &l);
        if (r >= 0)
                r = lines_merge(&l, &installed, &a);
        if (r >= 0) {
                a.others_path = strdup(others_path);
                *ret = a;
        }
        lines_done(&l);
        entries_done(&e);
        installed_done(&installed);
        return r;
}

bool lines_are(const Lines *l, const char *arguments) {
        for (size_t i = 0; i < l->n; i++)
                if (!streq(l->items[i].ours, arguments))
                        return false;
        return true;
}

/* Adds those words of line that are not there yet. */
static int add_missing(char **words, const char *line) {
        const char *start;

        for (size_t n; (n = next_word(&line, &start)) > 0;)
                if (!has_word(*words, start, n) && append_word(words, start, n) < 0)
                        return -ENOMEM;
        return 0;
}

int lines_merge(const Lines *l, const Installed *installed, LoaderArguments *ret) {
        const char *ours = installed->n > 0 && l->n > 0 ? installed->arguments[0] : "";
        LoaderArguments a = { .others = strdup("") };

        for (size_t i = l->n; i-- > 0;)
                if (!streq(l->items[i].ours, installed->n > 0 ? installed->arguments[0] : ""))
                        ours = l->items[i].ours;
        a.ours = strdup(ours);
        if (!a.ours || !a.others)
                goto oom;
        for (size_t i = 0; i < l->n; i++) {
                a.other_bytes = MAX(a.other_bytes, l->items[i].other_bytes);
                if (i == 0) { /* as it stands there, even a word that is there twice */
                        free(a.others);
                        a.others = strdup(l->items[0].others);
                        if (!a.others)
                                goto oom;
                } else if (add_missing(&a.others, l->items[i].others) < 0)
                        goto oom;
        }
        *ret = a;
        return 0;
oom:
        loader_arguments_done(&a);
        return -ENOMEM;
}

void lines_done(Lines *l) {
        for (size_t i = 0; i < l->n; i++)
                loader_arguments_done(l->items + i);
        free(l->items);
        *l = (Lines){};
}

int loader_edit_file(const LoaderContext *c, const char *path, TextKind kind, const Installed *installed,
                     const char *arguments, Snapshot *s) {
        _cleanup_free_ char *text = NULL, *new = NULL;
        int r = root_read_text(c->root, path, CMDLINE_MAX, &text);

        if (r < 0)
                return loader_fail(c, r, path, "cannot be read");
        r = edit_replace(text, kind, installed, arguments, &new);
        if (r == -EBADMSG)
                return loader_fail(c, r, path, "cannot be edited");
        if (r < 0)
                return r;
        if (streq(text, new))
                return 0;
        r = snapshot_add(s, path);
        if (r >= 0)
                r = file_replace(c->root, path, new, strlen(new));
        return r < 0 ? loader_fail(c, r, path, "cannot be written") : 1;
}

int loader_edit_entries(const LoaderContext *c, const Entries *e, const Installed *installed,
                        const char *arguments, Snapshot *s) {
        int changed = 0;

        for (size_t i = 0; i < e->n; i++) {
                int r = e->items[i].is_image
                                ? 0
                                : loader_edit_file(c, e->items[i].path, TEXT_ENTRY, installed, arguments, s);

                if (r < 0)
                        return r;
                if (r > 0)
                        loader_note(c, "%s: changed", e->items[i].path);
                changed |= r;
        }
        return changed;
}

void loader_clean(const LoaderContext *c, const Entries *e) {
        for (size_t i = 0; i < e->n; i++)
                if (!e->items[i].is_image)
                        file_clean(c->root, e->items[i].path);
        file_clean(c->root, KERNEL_CMDLINE);
}

void loader_warn_changed(const LoaderContext *c, const Lines *l, const Installed *installed,
                         const char *file) {
        const char *line = installed->n > 0 ? installed->arguments[0] : "", *start;

        for (size_t n; (n = next_word(&line, &start)) > 0;)
                for (size_t i = 0; i < l->n; i++) {
                        if (has_word(l->items[i].ours, start, n) || !has_word(l->items[i].others, start, n))
                                continue;
                        diag_warning(c->diagnostics, (Source){ .file = file },
                                     "%.*s was installed and then changed by hand: it is left alone",
                                     (int) n, start);
                        return;
                }
}
