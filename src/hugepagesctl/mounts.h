/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Mounts: the live ones beside the declared ones. */

#include <libmount.h>

#include "hugepagesctl/ctl.h"

/* Of the system, or of an image or a test below the root. NULL where there is none. */
struct libmnt_table *mount_table(const Options *o);

/* The hugetlbfs that is mounted on where, topmost; NULL where there is none. */
struct libmnt_fs *mount_find(struct libmnt_table *table, const char *where);

/* What a live mount has otherwise than declared: "size=8G (now 4G), mode=0750 (now 0755)", to be freed by
 * the caller. NULL where it is as declared, or the mount is left to fstab. */
char *mount_difference(const Options *o, const Context *context, const Mount *m, struct libmnt_fs *fs);
