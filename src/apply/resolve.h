/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Resolve: the callbacks of a PlanInput, for programs that may use NSS (the generator may not). userdata is
 * the root prefix, or NULL for the real system. */

#include "basic/util.h"

/* As host_pci_node(). */
int resolve_pci_node(void *root, const char *address);

/* A group's name to its number: through NSS, or /etc/group below root. -ESRCH where there is none. */
int resolve_group(void *root, const char *group, gid_t *ret);
