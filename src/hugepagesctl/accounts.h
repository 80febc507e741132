/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Accounts: the users and groups that own a mount. */

#include "hugepagesctl/ctl.h"

typedef enum AccountKind {
        ACCOUNT_USER,
        ACCOUNT_GROUP,
} AccountKind;

/* The number of a user or group, given as a name or as that number: of the running system, or of the files
 * below root. -ESRCH where there is none, -ENOENT where there is no file below root that could tell. */
int account_find(const char *root, AccountKind kind, const char *name, uint32_t *ret);

/* Whether a file of sysusers.d(5) makes it, at the next boot at the latest. */
bool account_from_sysusers(const char *root, AccountKind kind, const char *name);
