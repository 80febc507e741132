/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Drop-ins: which files there are, in which order, and which of them count. */

#include "basic/diag.h"

typedef struct Dropin {
        char *path;       /* as the administrator knows it */
        char *name;       /* its base name, which decides about order and replacement */
        const char *root; /* below which path is; NULL for the real system */
        unsigned rank;    /* of its directory; of one name, the highest rank counts */
} Dropin;

/* All drop-ins, by name and then by ascending rank: the last of a name replaces the others. extra is as in
 * config_load_with(), or NULL. Directories that cannot be read are an error in d (which may be NULL). 0 or
 * -ENOMEM. *ret is to be freed with dropins_free(). */
int dropins_find(const char *root, char *const *extra, Dropin **ret, size_t *ret_n, Diagnostics *d);
void dropins_free(Dropin *dropins, size_t n);

/* Whether one of the same name and a higher rank follows (dropins is an element of the array found, which
 * ends at end). */
bool dropin_replaced(const Dropin *dropin, const Dropin *end) _pure_;

/* Opens one. 1 with a file, 0 where it masks: it is empty or a link to /dev/null. Negative errno: -EISDIR
 * for a directory, -EINVAL for what is no regular file, -EFBIG beyond DROPIN_SIZE_MAX, … */
#define DROPIN_SIZE_MAX (1024 * 1024)
int dropin_open(const Dropin *dropin, FILE **ret);

/* What such an error means, in words. */
const char *dropin_open_error(int error);
