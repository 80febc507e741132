/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attribute: whose are the pages that are really there. The kernel knows no pools; this is where they get
 * theirs, so that a shortage has an owner. */

#include "plan/placement.h"
#include "plan/plan.h"

/* One page size: no page is new, so capacity is what is present. */
static int attribute_size(const Plan *plan, const Host *host, const size_t *order, size_t s,
                          uint64_t *reserved) {
        size_t n_nodes = host->n_nodes, k = 0;
        _cleanup_free_ PlacementNode *nodes = calloc(n_nodes + 1, sizeof(PlacementNode));
        _cleanup_free_ PlacementPool *pools = calloc(plan->n_pools + 1, sizeof(PlacementPool));

        if (!nodes || !pools)
                return -ENOMEM;
        for (size_t n = 0; n < n_nodes; n++) {
                const PageCounts *c = &host->nodes[n].pages[s];
                uint64_t persistent = sub_sat(c->nr, c->surplus);

                nodes[n] = (PlacementNode){ .capacity = persistent, .present = persistent };
        }
        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *pp = &plan->pools[order[i]];

                if (pp->size_index == s)
                        pools[k++] = (PlacementPool){
                                .want = pp->requested,
                                .allowed = pp->allowed,
                                .node_want = pp->node_requested,
                                .preferred = pp->node_planned,
                                .placed = reserved + order[i] * n_nodes,
                        };
        }
        return placement_fill(pools, k, nodes, n_nodes, /* max_new= */ 0);
}

int plan_attribute(const Plan *plan, const Host *host, uint64_t *reserved) {
        _cleanup_free_ size_t *order = calloc(plan->n_pools + 1, sizeof(size_t));

        if (!order)
                return -ENOMEM;
        plan_cut_order(plan, order);
        for (size_t s = 0; s < host->n_sizes; s++) {
                int r = attribute_size(plan, host, order, s, reserved);

                if (r < 0)
                        return r;
        }
        return 0;
}
