/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A root directory for one test, in /tmp, filled file by file and removed with all that is in it. */

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "basic/fs.h"
#include "basic/util.h"

static inline char *temp_root_new(void) {
        char *root = strdup("/tmp/hugepages-test-XXXXXX");

        if (!root || !mkdtemp(root))
                abort();
        return root;
}

static inline int temp_root_remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
        return remove(path);
}

static inline void temp_root_free(char *root) {
        (void) nftw(root, temp_root_remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free(root);
}

DEFINE_CLEANUP(char, temp_root_free)
#define _cleanup_temp_root_ _cleanup_(temp_root_freep)

static inline void temp_root_parent(const char *root, const char *path) {
        _cleanup_free_ char *parent = strndup(path, (size_t) (strrchr(path, '/') - path));

        if (!parent || root_mkdir_p(root, parent, 0755) < 0)
                abort();
}

/* Writes size bytes, or text. */
static inline void temp_root_write_bytes(const char *root, const char *path, const void *data, size_t size) {
        _cleanup_close_ int fd = -1;

        temp_root_parent(root, path);
        fd = openat(AT_FDCWD, root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                abort();

        _cleanup_close_ int file = openat(fd, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file < 0 || write(file, data, size) != (ssize_t) size)
                abort();
}

static inline void temp_root_write(const char *root, const char *path, const char *text) {
        temp_root_write_bytes(root, path, text, strlen(text));
}

static inline void temp_root_link(const char *root, const char *path, const char *target) {
        _cleanup_free_ char *full = NULL;

        temp_root_parent(root, path);
        if (asprintf(&full, "%s%s", root, path) < 0 || symlink(target, full) < 0)
                abort();
}
