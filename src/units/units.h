/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Units: the unit files that a Config asks for. The only stage that writes unit files. What is written
 * depends only on the drop-ins and on constants of this boot, so that a daemon-reload yields the same bytes.
 */

#include "config/config.h"
#include "host/host.h"

/* "/dev/hugepages/my-app" → "dev-hugepages-my\x2dapp.mount", as systemd-escape --path --suffix=mount does
 * (systemd.unit(5), "String escaping for inclusion in unit names"). path must be normalized and absolute.
 * NULL when out of memory. */
char *unit_name_from_path(const char *path, const char *suffix);

/* Escapes what is no pool name so that it can be an instance name: "a/b" → "a\x2fb". Valid pool names come
 * back unchanged and nothing else becomes one. */
char *unit_instance_escape(const char *name);

/* Doubles "%". */
char *unit_escape_specifiers(const char *value);

/* One word of a space-separated list of paths (RequiresMountsFor=, BindPaths=): specifiers doubled, quoted
 * and C-escaped where needed. */
char *unit_quote_path(const char *path);

typedef struct UnitsInput {
        const char *root;      /* root prefix, NULL for the real system */
        const char *directory; /* the generator's normal directory: a real path, not below root. NULL:
                                * nothing is written, what is wrong is only told */
        Config *config;
        const Host *host; /* HOST_SIZES; HOST_NODES too where units_need_nodes() says so */
} UnitsInput;

/* Whether a percentage or a node list makes node sizes necessary: reading them costs time. */
bool units_need_nodes(const Config *c);

/* Writes everything; to be called where config_exists(). A failure on one unit goes to d and does not lose
 * the others. Mounts that cannot be had are marked dropped in the Config. 0, or -ENOMEM. */
int units_generate(const UnitsInput *input, Diagnostics *d);

/* The unit of a mount: "dev-hugepages-db.mount". NULL when out of memory. */
char *mount_unit_name(const Mount *m);

/* What the options of a mount's unit say, in bytes. */
typedef struct MountNumbers {
        uint64_t page_size;
        uint64_t limit;   /* size=; 0: none */
        uint64_t reserve; /* min_size=; 0: none */
} MountNumbers;

/* input->directory is not used. 0, or a negative errno where the mount cannot be had; why goes to d. */
int mount_numbers(const UnitsInput *input, const Mount *m, MountNumbers *ret, Diagnostics *d);

/* The line of /etc/fstab that mounts something on the mount's Where=, which is then left to it; 0: none. */
unsigned mount_fstab_line(const char *root, const Mount *m);
