/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files that a machine needs to boot, changed so that a power cut or a failing tool leaves the old ones. */

#include "basic/diag.h"
#include "basic/util.h"

/* Replaces a file, or makes it with the directories above it: a new one on disk before the old one goes.
 * Owner and mode stay. The target of a symbolic link is what is replaced; -ENOLINK where that is no file,
 * such as /dev/null, or is not there. Writers must keep each other out. */
int file_replace(const char *root, const char *path, const void *data, size_t size);

/* With what a file_replace() that was killed has left. No file is no error. */
int file_remove(const char *root, const char *path);

/* Takes away what a file_replace() that was killed has left. */
void file_clean(const char *root, const char *path);

/* Where nothing else is in it. */
void directory_remove(const char *root, const char *path);

typedef struct SavedFile {
        char *path;
        char *data; /* NULL: there was none */
        size_t size;
        bool no_directory; /* nor one to be in */
} SavedFile;

typedef struct Snapshot {
        const char *root;
        SavedFile *files;
        size_t n;
} Snapshot;

/* Remembers a file as it is now, also that it is not there. */
int snapshot_add(Snapshot *s, const char *path);

/* Puts back what is different now; what cannot be put back becomes an error in d. */
void snapshot_restore(const Snapshot *s, Diagnostics *d);

void snapshot_done(Snapshot *s);
