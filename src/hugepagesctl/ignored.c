/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files in the directories of drop-ins whose names do not end in .conf: nobody reads them. */

#include <fnmatch.h>

#include "hugepagesctl/ignored.h"

/* Hidden ones, and what is there without anybody having meant it to count: what package managers put beside
 * a file, what editors leave. */
static const char *const expected[] = {
        ".*",        "README*", "*.dpkg-*", "*.ucf-*", "*.rpmsave", "*.rpmnew",
        "*.rpmorig", "*.bak",   "*.orig",   "*.swp",   "*~",
};

static bool is_ignored(const char *name) {
        if (endswith(name, ".conf"))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(expected); i++)
                if (fnmatch(expected[i], name, 0) == 0)
                        return false;
        return true;
}

static void find_in_directory(const Options *o, const char *directory, Diagnostics *d) {
        _cleanup_closedir_ DIR *dir = NULL;
        struct dirent *de;

        if (root_opendir(o->root, directory, &dir) < 0) /* told by who reads the drop-ins */
                return;
        while ((de = readdir(dir)))
                if (is_ignored(de->d_name)) {
                        _cleanup_free_ char *path = format_text("%s/%s", directory, de->d_name);

                        diag_warning(d, (Source){ .file = path },
                                     "ignored, as its name does not end in .conf");
                }
}

void ignored_find(const Options *o, Diagnostics *d) {
        for (const char *const *directory = config_directories; *directory; directory++)
                find_in_directory(o, *directory, d);
}

static bool is_directory_of(const char *path, const char *root, const char *directory) {
        _cleanup_free_ char *full = format_text("%s%s", root ?: "", directory);
        struct stat a, b;

        return stat(path, &a) >= 0 && stat(full, &b) >= 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool ignored_file(const Options *o, const char *file) {
        const char *slash = strrchr(file, '/');
        _cleanup_free_ char *parent =
                slash ? format_text("%.*s/", (int) (slash - file), file) : format_text(".");

        if (!is_ignored(slash ? slash + 1 : file))
                return false;
        for (const char *const *directory = config_directories; *directory; directory++)
                if (is_directory_of(parent, o->root, *directory))
                        return true;
        return false;
}
