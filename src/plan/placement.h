/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Placement: which pages of one page size on which node, for several pools that share the nodes. Pure. */

#include "basic/util.h"

typedef struct PlacementPool {
        uint64_t want;             /* pages; for explicit pools the sum of node_want */
        const bool *allowed;       /* by node */
        const uint64_t *node_want; /* explicit per-node amounts, or NULL */
        const uint64_t *preferred; /* where its pages are now or were planned, or NULL: kept if possible */
        uint64_t *placed;          /* out, by node */
        uint64_t total;            /* out, the sum of placed */
} PlacementPool;

typedef struct PlacementNode {
        uint64_t capacity; /* pages it can hold in all */
        uint64_t present;  /* pages that are there already: they are used before new ones */
} PlacementNode;

/* Places the pools in the order given (most important first); each gets as much as is possible without
 * taking from an earlier one, moving the spread pages of earlier ones to other allowed nodes where that
 * makes room. max_new bounds the pages beyond those present. 0 or -ENOMEM. */
int placement_fill(PlacementPool *pools, size_t n_pools, const PlacementNode *nodes, size_t n_nodes,
                   uint64_t max_new);
