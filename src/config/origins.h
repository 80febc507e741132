/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Origins: the drop-in that goes into the initrd is put together from others. Above each line stands a
 * comment with the place it came from, and messages name that place. */

#include "config/config.h"

/* The drop-in that hugepagesctl initrd writes, where it is in the initrd. */
#define INITRD_DROPIN_PATH "/etc/hugepages.d/initrd.conf"
/* The same as it was in the initrd of this boot, and in the one that was built last on this system. */
#define INITRD_BOOTED_PATH "/run/hugepages-setup/initrd.conf"
#define INITRD_BUILT_PATH "/var/lib/hugepages-setup/initrd.conf"

typedef struct Origins {
        Source *lines; /* by line, from 1 on; .file NULL where there is none */
        size_t n;
} Origins;

/* Replaces every place in file, as config_load() has found it, by the one that it came from: in c, which
 * then refers to the Origins, and in d. A file that cannot be read, or has no such comments, stays what it
 * is. 0 or -ENOMEM. */
int origins_restore(const char *root, const char *file, Config *c, Diagnostics *d, Origins *ret);
void origins_done(Origins *o);
