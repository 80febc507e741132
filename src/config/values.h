/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Values: a KeyParser for each kind of value that a key can have, for the table in keys.c. */

#include "config/keys.h"

#define DECLARE_VALUE(kind)                                                                                 \
        int value_##kind(const KeyInfo *key, const char *value, void *field, const char **reason)

DECLARE_VALUE(boolean);             /* bool */
DECLARE_VALUE(tristate);            /* Tristate */
DECLARE_VALUE(page_size);           /* uint64_t, bytes */
DECLARE_VALUE(pool_size);           /* Amount: BYTES, PERCENT, REST, NODES_BYTES */
DECLARE_VALUE(pool_pages);          /* Amount: PAGES, NODES_PAGES */
DECLARE_VALUE(size);                /* Amount: BYTES */
DECLARE_VALUE(size_or_percent);     /* Amount: BYTES, PERCENT */
DECLARE_VALUE(pages);               /* Amount: PAGES */
DECLARE_VALUE(nodes);               /* Nodes */
DECLARE_VALUE(where);               /* char * */
DECLARE_VALUE(name);                /* char *, a [Pool] */
DECLARE_VALUE(mount_size);          /* Amount: BYTES, INFINITY */
DECLARE_VALUE(mount_reserve);       /* Amount: BYTES, WHOLE_POOL */
DECLARE_VALUE(max_files);           /* uint64_t */
DECLARE_VALUE(user);                /* char *, name or number of a user or group */
DECLARE_VALUE(mode);                /* mode_t */
DECLARE_VALUE(unit);                /* char *, with ".service" */
DECLARE_VALUE(names);               /* char **, NULL-terminated; on -EINVAL the words nonetheless */
DECLARE_VALUE(require);             /* bool; on -EINVAL true */
DECLARE_VALUE(limit_memlock);       /* char * */
DECLARE_VALUE(hugetlb_max);         /* HugetlbLimit * and a size_t behind it */
DECLARE_VALUE(word);                /* char *, one of the key's words */
DECLARE_VALUE(kernel_command_line); /* KernelCommandLine, one of the key's words */
DECLARE_VALUE(timespan);            /* uint64_t, microseconds */
DECLARE_VALUE(sleep);               /* OptionalU64, microseconds, of a kernel file in milliseconds */
DECLARE_VALUE(count);               /* OptionalU64 */
DECLARE_VALUE(positive_count);      /* OptionalU64, not 0 */

void free_string(void *field);
void free_names(void *field);
void free_amount(void *field);
void free_nodes(void *field);

/* name, or NAME of [Service NAME], with ".service" where it has no suffix, to be freed by the caller.
 * -EINVAL with *reason for what cannot be a service that waits for huge pages. */
int service_unit_name(const char *name, char **ret, const char **reason);

/* What a unit name can consist of (systemd.unit(5)), suffix or not. */
bool unit_name_is_valid(const char *name) _pure_;

/* "2M": a power of two. 0 or -EINVAL, -ERANGE. */
int page_size_parse(const char *s, uint64_t *ret);
