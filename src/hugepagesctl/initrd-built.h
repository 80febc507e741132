/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Built: which initrds a tool has written, and which boot entries still have an older one. */

#include <time.h>

#include "basic/diag.h"

typedef struct Built {
        char **paths;
        size_t n;
} Built;

/* What was written from since on: below /boot, and where the boot entries of this system say. Entries (of
 * the Boot Loader Specification, and unified images) of the kernels that were built for, whose initrds are
 * all older, are a warning in d. File systems of boot partitions count in steps of two seconds. 0 or
 * negative errno of what could not be read. */
int built_find(const char *root, time_t since, Built *ret, Diagnostics *d);
void built_done(Built *b);
