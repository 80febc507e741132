/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entries of the Boot Loader Specification through grubby(8), as Fedora and its relatives have it. */

#include "basic/fs.h"
#include "boot/grub-config.h"
#include "boot/loader-internal.h"

#define ENTRIES_DIR "/boot/loader/entries"
#define GRUBENV "/boot/grub2/grubenv"

static const char *const grubby_paths[] = { "/usr/sbin/grubby", "/usr/bin/grubby", "/sbin/grubby", NULL };

static bool grubby_detect(const LoaderContext *c) {
        return loader_tool(c, grubby_paths) && root_exists(c->root, ENTRIES_DIR) &&
               !booted_by_systemd_boot(c->root);
}

/* What is between the quotes of NAME="…"; NULL where line is of another name. Cuts line. */
static const char *quoted(char *line, const char *name) {
        const char *v = startswith(line, name);
        char *end = strrchr(line, '"');

        v = v ? startswith(v, "=\"") : NULL;
        if (!v || end < v)
                return NULL;
        *end = 0;
        return v;
}

/* Of each entry "kernel=", which GRUB passes on in BOOT_IMAGE=, "args=" with the variables that GRUB would
 * put in already in place, and "root=", which is an argument too. */
static int add_info(const LoaderContext *c, const Installed *installed, Lines *l) {
        _cleanup_free_ char *output = NULL;
        size_t kernel_bytes = 0;
        char *save = NULL;
        int r = loader_run(c, (const char *const[]){ loader_tool(c, grubby_paths), "--info=ALL", NULL },
                           &output);

        for (char *line = r < 0 || !output ? NULL : strtok_r(output, "\n", &save); line && r >= 0;
             line = strtok_r(NULL, "\n", &save)) {
                const char *v;

                if ((v = quoted(line, "kernel")))
                        kernel_bytes = strlen("BOOT_IMAGE= ") + strlen(v);
                else if ((v = quoted(line, "root")) && l->n > 0)
                        l->items[l->n - 1].other_bytes += strlen(" root=") + strlen(v);
                else if ((v = quoted(line, "args"))) {
                        r = lines_add(l, v, TEXT_CMDLINE, installed);
                        if (r == -EBADMSG)
                                return loader_fail(c, r, ENTRIES_DIR, "cannot be edited");
                        if (r >= 0)
                                l->items[l->n - 1].other_bytes += kernel_bytes;
                }
        }
        return r;
}

/* The entries, and the file from which those of coming kernels are made. */
static int collect(const LoaderContext *c, const Installed *installed, const Entries *e, Lines *l) {
        int r = loader_may_run(c) ? add_info(c, installed, l) : lines_add_entries(c, installed, e, l);

        return r < 0 ? r : lines_add_cmdline(c, installed, l);
}

static int grubby_read(const LoaderContext *c, LoaderArguments *ret) {
        return loader_read_lines(c, collect, ENTRIES_DIR, ret);
}

/* The word of line that has the same key as one of arguments, NULL for none. */
static const char *same_key(const char *line, const char *arguments, size_t *ret_length) {
        const char *word, *p, *ours;

        for (size_t n, m; (n = next_word(&line, &word)) > 0;) {
                const char *equals = memchr(word, '=', n);
                size_t key = equals ? (size_t) (equals - word) : n;

                for (p = arguments; (m = next_word(&p, &ours)) > 0;)
                        if (m > key && ours[key] == '=' && strncmp(ours, word, key) == 0) {
                                *ret_length = n;
                                return word;
                        }
        }
        return NULL;
}

static int refuse_same_key(const LoaderContext *c, const char *line, const char *arguments,
                           const char *file) {
        size_t n;
        const char *word = same_key(line, arguments, &n);

        if (!word)
                return 0;
        diag_error(c->diagnostics, (Source){ .file = file },
                   "%.*s would be lost: grubby replaces all arguments of one name, also those that are not "
                   "ours; take it out with grubby --remove-args, and declare these pages in "
                   "/etc/hugepages.d too",
                   (int) n, word);
        return -EEXIST;
}

/* What grubby cannot do without harm to others. */
static int refuse(const LoaderContext *c, const Lines *l, const Installed *installed,
                  const char *arguments) {
        _cleanup_free_ char *ours = NULL, *others = NULL;
        GrubWords configured = {};
        int r = 0;

        for (size_t i = 0; i < l->n && r >= 0; i++)
                r = refuse_same_key(c, l->items[i].others, arguments, ENTRIES_DIR);
        if (r >= 0)
                r = grub_configured(c, false, &configured);
        if (r >= 0)
                r = edit_split(configured.linux_words, TEXT_CMDLINE, installed, &ours, &others);
        if (r == -EBADMSG)
                (void) loader_fail(c, r, GRUB_DEFAULTS, "cannot be understood");
        if (r >= 0)
                r = refuse_same_key(c, others, arguments, GRUB_DEFAULTS);
        grub_words_done(&configured);
        return r;
}

static int save_state(const LoaderContext *c, Snapshot *s) {
        static const char *const files[] = { INSTALLED_PATH, KERNEL_CMDLINE, GRUB_DEFAULTS, GRUBENV };
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(files) && r >= 0; i++)
                r = snapshot_add(s, files[i]);
        if (r >= 0)
                r = root_opendir(c->root, ENTRIES_DIR, &d);
        while (r >= 0 && (de = readdir(d))) {
                _cleanup_free_ char *path = NULL;

                if (!endswith(de->d_name, ".conf"))
                        continue;
                r = asprintf(&path, ENTRIES_DIR "/%s", de->d_name) < 0 ? -ENOMEM : snapshot_add(s, path);
        }
        return r;
}

/* All that is ours on any line. */
static int ours_anywhere(const Lines *l, char **ret) {
        char *words = strdup(l->n > 0 ? l->items[0].ours : "");
        const char *p, *start;

        for (size_t i = 1; words && i < l->n; i++) {
                p = l->items[i].ours;
                for (size_t n; (n = next_word(&p, &start)) > 0;)
                        if (!has_word(words, start, n) && append_word(&words, start, n) < 0)
                                break;
        }
        *ret = words;
        return words ? 0 : -ENOMEM;
}

static int run_grubby(const LoaderContext *c, const Lines *l, const char *arguments) {
        _cleanup_free_ char *ours = NULL, *add = NULL, *take = NULL;
        const char *argv[5] = { loader_tool(c, grubby_paths), "--update-kernel=ALL" };
        size_t n = 2;
        int r = ours_anywhere(l, &ours);

        if (r < 0)
                return r;
        if (asprintf(&take, "--remove-args=%s", ours) < 0) {
                take = NULL;
                return -ENOMEM;
        }
        if (asprintf(&add, "--args=%s", arguments) < 0) {
                add = NULL;
                return -ENOMEM;
        }
        if (*ours)
                argv[n++] = take;
        if (*arguments)
                argv[n++] = add;
        return n > 2 ? loader_run(c, argv, NULL) : 0;
}

/* grubby before 2022 leaves the file alone from which the next kernel's entry is made. */
static int edit_kernel_cmdline(const LoaderContext *c, const Installed *old, const char *arguments,
                               Snapshot *s) {
        _cleanup_free_ char *text = NULL, *ours = NULL, *others = NULL;
        Installed new = {};
        int r = root_read_text(c->root, KERNEL_CMDLINE, CMDLINE_MAX, &text);

        if (r < 0)
                return r == -ENOENT ? 0 : loader_fail(c, r, KERNEL_CMDLINE, "cannot be read");
        r = installed_set(&new, arguments);
        if (r >= 0)
                r = edit_split(text, TEXT_CMDLINE, &new, &ours, &others);
        if (r >= 0 && !(*arguments && streq(ours, arguments)))
                r = loader_edit_file(c, KERNEL_CMDLINE, TEXT_CMDLINE, old, arguments, s);
        installed_done(&new);
        return r;
}

/* What was done is believed only when it is read back: versions of grubby differ. */
static int verify(const LoaderContext *c, const Entries *e, const char *arguments) {
        Installed new = {};
        Lines l = {};
        int r = installed_set(&new, arguments);

        if (r >= 0)
                r = collect(c, &new, e, &l);
        if (r >= 0 && !lines_are(&l, arguments)) {
                diag_error(c->diagnostics, (Source){ .file = ENTRIES_DIR },
                           "has not got the arguments after grubby was told to put them there");
                r = -EIO;
        }
        lines_done(&l);
        installed_done(&new);
        return r;
}

static int change(const LoaderContext *c, const Lines *l, const Entries *e, Installed *old,
                  const char *arguments) {
        Snapshot s = { .root = c->root };
        Installed both = {};
        int r = loader_load_installed(c, &both);

        if (r >= 0)
                r = save_state(c, &s);
        if (r >= 0)
                r = installed_push(&both, arguments);
        if (*arguments && !root_exists(c->root, KERNEL_CMDLINE))
                both.seeded = old->seeded = true; /* grubby makes it */
        if (r >= 0)
                r = installed_save(c->root, &both);
        if (r >= 0)
                r = loader_may_run(c) ? run_grubby(c, l, arguments)
                                      : loader_edit_entries(c, e, old, arguments, &s);
        if (r >= 0)
                r = edit_kernel_cmdline(c, old, arguments, &s);
        if (r >= 0)
                r = verify(c, e, arguments);
        if (r >= 0)
                r = installed_set(old, arguments);
        if (r >= 0 && !*arguments)
                r = loader_tidy_seeded(c, e, old);
        if (r >= 0)
                r = installed_save(c->root, old);
        if (r < 0)
                snapshot_restore(&s, c->diagnostics);
        installed_done(&both);
        snapshot_done(&s);
        return r < 0 ? r : 1;
}

static int grubby_set(const LoaderContext *c, const char *arguments) {
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
                loader_warn_changed(c, &l, &installed, ENTRIES_DIR);
        if (r >= 0 && lines_are(&l, arguments) && installed.n <= 1)
                r = loader_settle(c, &e, &installed, arguments);
        else if (r >= 0) {
                r = *arguments ? refuse(c, &l, &installed, arguments) : 0;
                if (r >= 0)
                        r = change(c, &l, &e, &installed, arguments);
        }
        lines_done(&l);
        entries_done(&e);
        installed_done(&installed);
        return r;
}

static int grubby_remove(const LoaderContext *c) {
        return grubby_set(c, "");
}

const Loader loader_grubby = {
        .name = "grubby",
        .sought = "grubby, with " ENTRIES_DIR,
        .where = ENTRIES_DIR,
        .detect = grubby_detect,
        .read = grubby_read,
        .install = grubby_set,
        .remove = grubby_remove,
};
