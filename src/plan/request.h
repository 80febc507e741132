/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Request: what one pool asks for, in pages, from its drop-in and the sizes of the nodes alone. Pure. */

#include "config/config.h"
#include "host/host.h"

typedef int (*PciNode)(void *userdata, const char *address);

typedef struct Request {
        bool rest;           /* Size=rest: pages is not known yet */
        bool explicit_nodes; /* per-node amounts */
        uint64_t pages;      /* headroom included */
        uint64_t missing; /* of these, on nodes that do not exist or have no memory; explicit_nodes only */
        unsigned missing_node; /* the first of those nodes, where missing > 0 */
} Request;

/* Which nodes the pool may use. allowed has room for the host's nodes. What is wrong goes to d (NULL: to
 * nobody). 0; -ENODEV where no node is left (an error in d), else a negative errno. */
int request_nodes(const Pool *pool, const Host *host, PciNode pci_node, void *userdata, bool *allowed,
                  Diagnostics *d);

/* Rounded up to whole pages of page_size bytes. node_pages (room for the host's nodes, zeroed by the callee,
 * may be NULL) gets the per-node amounts. */
void request_pages(const Pool *pool, const Host *host, const bool *allowed, uint64_t page_size, Request *ret,
                   uint64_t *node_pages);
