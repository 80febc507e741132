/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Mount options of hugetlbfs, declared and in effect: a live mount cannot change them, so a difference lasts
 * until it is mounted anew (Documentation/admin-guide/mm/hugetlbpage.rst). */

#include "basic/util.h"

typedef struct MountOptions {
        uint64_t page_size; /* bytes; 0: not said */
        uint64_t size;      /* bytes, in whole pages; UINT64_MAX: no limit */
        uint64_t min_size;  /* bytes, in whole pages; 0: none */
        uint64_t nr_inodes; /* UINT64_MAX: no limit */
        uid_t uid;
        gid_t gid;
        mode_t mode;
} MountOptions;

/* Reads the options of a live mount, as in /proc/self/mountinfo: all are numbers, and what is not there has
 * the kernel's default. Options that are not hugetlbfs' own are passed over. 0, or -EINVAL. */
int mount_options_parse(const char *options, MountOptions *ret);

/* "size=64M (now 32M), mode=0750 (now 0755)", to be freed by the caller; NULL where they are the same. */
char *mount_options_difference(const MountOptions *declared, const MountOptions *live);
