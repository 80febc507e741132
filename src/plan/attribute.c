/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attribute: whose are the pages that are really there. The kernel knows no pools; this is where they get
 * theirs, so that a shortage has an owner. */

#include "plan/placement.h"
#include "plan/plan.h"

/* The order of cuts, but pools that gave their pages back on demand (hugepagesctl release) come last: the
 * pages of others must not seem to be theirs. */
static int attribution_order(const Plan *plan, const Host *host, size_t *order) {
        _cleanup_free_ size_t *ranked = calloc(plan->n_pools + 1, sizeof(size_t));
        size_t k = 0;

        if (!ranked)
                return -ENOMEM;
        plan_cut_order(plan, ranked);
        for (int released = 0; released < 2; released++)
                for (size_t i = 0; i < plan->n_pools; i++) {
                        const StatePool *prior =
                                state_find_pool(host->state, plan->pools[ranked[i]].pool->section.name);

                        if ((prior && prior->released) == released)
                                order[k++] = ranked[i];
                }
        return 0;
}

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
        int r = order ? attribution_order(plan, host, order) : -ENOMEM;

        if (r < 0)
                return r;
        for (size_t s = 0; s < host->n_sizes; s++) {
                r = attribute_size(plan, host, order, s, reserved);
                if (r < 0)
                        return r;
        }
        return 0;
}
