/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files below the root prefix (HUGEPAGES_ROOT). All paths given here are absolute and as the administrator
 * knows them; root is NULL or "" for the real system. Symbolic links are followed inside the root. */

#include <dirent.h>
#include <sys/stat.h>

#include "basic/util.h"

static inline void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}

#define _cleanup_closedir_ _cleanup_(closedirp)

/* The value of $HUGEPAGES_ROOT, without trailing slashes; NULL where it is unset, empty or "/". It must be
 * an absolute path: anything else gives -EINVAL. *ret is to be freed by the caller. */
int root_from_environment(char **ret);

/* open(2) below root: O_CLOEXEC is added. Returns a file descriptor or a negative errno. */
int root_open(const char *root, const char *path, int flags);

/* fopen(3) for reading, of a regular file only: -EISDIR for a directory, -EINVAL for anything else that is
 * not a regular file (a FIFO would block the boot). */
int root_fopen(const char *root, const char *path, FILE **ret);

/* opendir(3) below root. */
int root_opendir(const char *root, const char *path, DIR **ret);

/* Reads a whole file of at most max bytes (-EFBIG beyond) into a NUL-terminated *ret, to be freed by the
 * caller; *ret_size, where not NULL, counts without the terminator. A trailing newline stays. Works for
 * sysfs and procfs, whose files tell no size. */
int root_read_file(const char *root, const char *path, size_t max, char **ret, size_t *ret_size);

/* The same for what is used as a string: -EILSEQ where there is a NUL byte in it, behind which the rest
 * would be lost. */
int root_read_text(const char *root, const char *path, size_t max, char **ret);

/* The same for the small one-line files of sysfs and procfs: the final newline is cut. */
int root_read_line(const char *root, const char *path, char **ret);

/* Reads an unsigned decimal number. -EINVAL where the file holds something else. */
int root_read_u64(const char *root, const char *path, uint64_t *ret);

/* Whether path exists below root (following symbolic links). */
bool root_exists(const char *root, const char *path);

/* readlink(2) below root, of path itself. *ret is to be freed by the caller. */
int root_readlink(const char *root, const char *path, char **ret);

/* Writes value with one write(2) on a freshly opened file: a second write on an open /proc/sys file is
 * ignored by the kernel (see docs/architecture.md). Never creates the file. */
int root_write_knob(const char *root, const char *path, const char *value);

/* Replaces path atomically (temporary file in the same directory, fsync not needed: /run is tmpfs). The
 * temporary file's name is always the same, so that those who are killed leave one at most: writers of one
 * path must keep each other out. */
int root_write_file_atomic(const char *root, const char *path, const char *contents);
/* The same, with what put() writes; it need not look for errors. */
int root_write_file_atomic_by(const char *root, const char *path, void (*put)(FILE *f, const void *userdata),
                              const void *userdata);

/* mkdir -p below root. */
int root_mkdir_p(const char *root, const char *path, mode_t mode);
