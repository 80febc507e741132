/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot entries of this system, among those of others, as kernel-install(8) names and places them: files
 * of the Boot Loader Specification, and unified kernel images. */

#include "basic/util.h"

typedef struct Entry {
        char *path;
        char *version; /* of its kernel */
        bool is_image; /* a unified kernel image: its arguments are inside */
} Entry;

typedef struct Entries {
        Entry *items;
        size_t n;
        const char *unread; /* the place that could not be read, where that was the error */
} Entries;

/* By the first token that has any: /etc/kernel/entry-token, else the machine's ID, IMAGE_ID= and ID= of
 * os-release, "Default"; below /efi, /boot and /boot/efi. Those without a kernel of Linux are left out. */
int entries_find(const char *root, Entries *ret);

void entries_done(Entries *e);

/* Whether the firmware was told that it is systemd-boot which boots this machine. */
bool booted_by_systemd_boot(const char *root);
