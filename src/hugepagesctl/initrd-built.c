/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tools that build initrds have left, and what has not come to where the boot loader looks. */

#include <fcntl.h>

#include "basic/fs.h"
#include "boot/entries.h"
#include "hugepagesctl/initrd-built.h"

#define BOOT "/boot"
#define ENTRIES_DIRECTORY "/loader/entries/"
#define ENTRY_MAX ((size_t) 256 * 1024)
#define BLANKS " \t"
/* Of a time on FAT. */
#define CLOCK_STEP 2

typedef enum Age {
        AGE_MISSING, /* nothing that can be found */
        AGE_OLD,
        AGE_NEW,
} Age;

void built_done(Built *b) {
        for (size_t i = 0; i < b->n; i++)
                free(b->paths[i]);
        free(b->paths);
        *b = (Built){};
}

static Age age_of(const char *root, const char *path, time_t since) {
        _cleanup_close_ int fd = root_open(root, path, O_PATH);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return AGE_MISSING;
        return st.st_mtim.tv_sec + CLOCK_STEP > since ? AGE_NEW : AGE_OLD;
}

static int add(Built *b, const char *path) {
        for (size_t i = 0; i < b->n; i++)
                if (streq(b->paths[i], path))
                        return 0;
        if (GROW_ARRAY(b->paths, b->n) < 0)
                return -ENOMEM;
        b->paths[b->n] = strdup(path);
        return b->paths[b->n++] ? 0 : -ENOMEM;
}

/* Not what is kept of an earlier one. */
static bool is_initrd_name(const char *name) {
        return (startswith(name, "initrd") || startswith(name, "initramfs")) && !endswith(name, ".bak") &&
               !endswith(name, ".new") && !endswith(name, ".old") && !endswith(name, "~");
}

static int look_in_boot(const char *root, time_t since, Built *b) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r = root_opendir(root, BOOT, &d);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        while (r >= 0 && (de = readdir(d))) {
                _cleanup_free_ char *path = NULL;
                struct stat st;

                /* A link is what some distributions have for the newest. */
                if (!is_initrd_name(de->d_name) ||
                    fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                        continue;
                if (asprintf(&path, "%s/%s", BOOT, de->d_name) < 0)
                        return -ENOMEM;
                if (age_of(root, path, since) == AGE_NEW)
                        r = add(b, path);
        }
        return r;
}

/* Where an entry in PLACE/loader/entries means by path: it is relative to the file system that PLACE is on,
 * which may be the one of the whole system. NULL for nothing. */
static char *find_initrd(const char *root, const char *entry, const char *path) {
        const char *end = strstr(entry, ENTRIES_DIRECTORY);
        _cleanup_free_ char *below = NULL;

        if (*path != '/' || !end || asprintf(&below, "%.*s%s", (int) (end - entry), entry, path) < 0)
                return NULL;
        if (root_exists(root, below))
                return TAKE_PTR(below);
        return root_exists(root, path) ? strdup(path) : NULL;
}

/* The newest of what the lines "initrd PATH…" name, and the last of those that are as old. */
static Age age_of_lines(const char *root, const char *entry, char *text, time_t since, char **ret_path) {
        Age age = AGE_MISSING;
        char *save_line, *save_word;

        for (char *line = strtok_r(text, "\n", &save_line); line; line = strtok_r(NULL, "\n", &save_line)) {
                char *word = strtok_r(line, BLANKS "\r", &save_word);

                if (!word || !streq(word, "initrd"))
                        continue;
                while ((word = strtok_r(NULL, BLANKS "\r", &save_word))) {
                        _cleanup_free_ char *path = find_initrd(root, entry, word);
                        Age a = path ? age_of(root, path, since) : AGE_MISSING;

                        if (a == AGE_MISSING || a < age)
                                continue;
                        age = a;
                        free(*ret_path);
                        *ret_path = TAKE_PTR(path);
                }
        }
        return age;
}

static Age age_of_entry(const char *root, const Entry *e, time_t since, char **ret_path) {
        _cleanup_free_ char *text = NULL;

        if (e->is_image) {
                *ret_path = strdup(e->path);
                return *ret_path ? age_of(root, e->path, since) : AGE_MISSING;
        }
        if (root_read_file(root, e->path, ENTRY_MAX, &text, NULL) < 0)
                return AGE_MISSING;
        return age_of_lines(root, e->path, text, since, ret_path);
}

/* "/boot/initrd.img-VERSION", "/boot/initramfs-VERSION.img" */
static bool is_for_version(const char *path, const char *version) {
        const char *name = startswith(path, BOOT "/"), *at = name ? strstr(name, version) : NULL;

        if (!at || at == name || at[-1] != '-')
                return false;
        at += strlen(version);
        return !*at || streq(at, ".img");
}

static bool was_built_for(const Built *b, const char *version) {
        for (size_t i = 0; i < b->n; i++)
                if (is_for_version(b->paths[i], version))
                        return true;
        return false;
}

/* Tools may build for the newest kernel alone: entries of others are as they were. Where nothing at all was
 * written, all have to do with it but the rescue system. */
static bool is_concerned(const char *root, const Built *b, const Entry *e) {
        _cleanup_free_ char *modules = NULL;

        if (b->n > 0)
                return was_built_for(b, e->version);
        return asprintf(&modules, "/lib/modules/%s", e->version) >= 0 && root_exists(root, modules);
}

static void judge(const char *root, const Entry *e, time_t since, const Built *b, Diagnostics *d) {
        _cleanup_free_ char *path = NULL;

        if (is_concerned(root, b, e) && age_of_entry(root, e, since, &path) == AGE_OLD)
                diag_warning(d, (Source){ .file = e->path },
                             "%s is older than this update, and this entry boots with it: what copies the "
                             "initrd there has not run (is the EFI system partition mounted?)",
                             path);
}

static int look_at_entries(const char *root, time_t since, Built *b, Diagnostics *d) {
        Entries entries = {};
        int r = entries_find(root, &entries);

        for (size_t i = 0; r >= 0 && i < entries.n; i++) {
                _cleanup_free_ char *path = NULL;

                if (age_of_entry(root, &entries.items[i], since, &path) == AGE_NEW)
                        r = add(b, path);
        }
        for (size_t i = 0; r >= 0 && i < entries.n; i++)
                judge(root, &entries.items[i], since, b, d);
        entries_done(&entries);
        return r;
}

int built_find(const char *root, time_t since, Built *ret, Diagnostics *d) {
        Built b = {};
        int r = look_in_boot(root, since, &b);

        if (r >= 0)
                r = look_at_entries(root, since, &b, d);
        if (r < 0)
                built_done(&b);
        *ret = b;
        return r;
}
