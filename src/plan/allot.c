/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allot: how many pages each pool gets under KeepFree=, on which nodes, and what that makes of each node.
 *
 * Pools are placed more than once: first as if memory had no end, to see which pages of an earlier run
 * nobody wants any more (they can be given back and make room); then class by class of importance, so that
 * larger pages of others leave an essential pool its nodes. Room granted to a pool whose nodes cannot hold
 * it is granted anew to others. Among pools of one class, those with fewer nodes to choose from are placed
 * first; when there is not enough, essential pools come first, then reading order. */

#include "plan/internal.h"
#include "plan/placement.h"

/* The least important last. */
typedef enum CutClass {
        CUT_ESSENTIAL,
        CUT_ORDINARY,
        CUT_REST, /* Size=rest is what the others leave, whatever else it is */
        _CUT_CLASS_MAX,
} CutClass;

typedef struct Allotment {
        Plan *plan;
        const PlanLimits *limits;
        uint64_t *released; /* like Plan.nodes: pages that can be given back there */
        uint64_t *floor;    /* like Plan.nodes: pages that more important pools need there */
        uint64_t *ceiling;  /* by pool: pages that its nodes were seen to hold at most */
        size_t *order;      /* pools in the order in which they are placed */
        size_t *cut_order;  /* pools by importance */
        CutClass least;     /* the least important class that is placed at all */
} Allotment;

static size_t cell(const Plan *p, size_t size_index, size_t node_index) {
        return size_index * p->host->n_nodes + node_index;
}

static CutClass cut_class(const PlanPool *pp) {
        return pp->rest ? CUT_REST : pp->pool->essential ? CUT_ESSENTIAL : CUT_ORDINARY;
}

void plan_cut_order(const Plan *plan, size_t *order) {
        size_t k = 0;

        for (CutClass c = 0; c < _CUT_CLASS_MAX; c++)
                for (size_t i = 0; i < plan->n_pools; i++)
                        if (cut_class(&plan->pools[i]) == c)
                                order[k++] = i;
}

static size_t n_choices(const PlanPool *pp, size_t n_nodes) {
        size_t count = 0;

        if (pp->explicit_nodes)
                return 0;
        for (size_t n = 0; n < n_nodes; n++)
                count += pp->allowed[n];
        return count;
}

typedef struct PlacementRank {
        CutClass class;
        size_t choices, index;
} PlacementRank;

static int placement_rank_compare(const void *a, const void *b) {
        const PlacementRank *x = a, *y = b;

        if (x->class != y->class)
                return x->class < y->class ? -1 : 1;
        if (x->choices != y->choices)
                return x->choices < y->choices ? -1 : 1;
        return (x->index > y->index) - (x->index < y->index);
}

static int placement_order(const Plan *p, size_t *order) {
        _cleanup_free_ PlacementRank *ranks = calloc(p->n_pools + 1, sizeof(PlacementRank));

        if (!ranks)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_pools; i++)
                ranks[i] = (PlacementRank){
                        .class = cut_class(&p->pools[i]),
                        .choices = n_choices(&p->pools[i], p->host->n_nodes),
                        .index = i,
                };
        qsort(ranks, p->n_pools, sizeof(PlacementRank), placement_rank_compare);
        for (size_t i = 0; i < p->n_pools; i++)
                order[i] = ranks[i].index;
        return 0;
}

/* Pages of a size that fit on a node beside the huge pages of other sizes: those of larger sizes as they
 * will be (they are placed already), those of smaller ones as they are. Surplus pages take their memory
 * once: the first of those that a size gets on a node are made of its surplus ones (set_max_huge_pages()).
 */
static uint64_t node_capacity(const Allotment *a, size_t s, size_t n) {
        const Plan *p = a->plan;
        const Host *host = p->host;
        const Node *node = &host->nodes[n];
        uint64_t taken = 0, capacity;

        for (size_t t = 0; t < host->n_sizes; t++) {
                size_t i = cell(p, t, n);
                uint64_t pages = add_sat(sub_sat(p->nodes[i].now, a->released[i]), node->pages[t].surplus);

                if (t == s)
                        continue;
                pages = MAX(pages, t < s ? p->nodes[i].wanted : a->floor[i]);
                taken = add_sat(taken, mul_sat(pages, host->sizes[t].bytes));
        }
        capacity = sub_sat(node->mem_total, taken) / host->sizes[s].bytes;
        /* What is there is there, whatever the arithmetic says. */
        capacity = MAX(capacity, p->nodes[cell(p, s, n)].now);
        return a->limits ? MIN(capacity, a->limits->pages[cell(p, s, n)]) : capacity;
}

/* Has the pools of one size placed on nodes that hold at most capacity pages (by node index; NULL: what is
 * there); want is by pool index. */
static int place_pools(Allotment *a, size_t s, const uint64_t *capacity, uint64_t max_new,
                       const uint64_t *want) {
        Plan *p = a->plan;
        size_t n_nodes = p->host->n_nodes, k = 0;
        _cleanup_free_ PlacementNode *nodes = calloc(n_nodes + 1, sizeof(PlacementNode));
        _cleanup_free_ PlacementPool *pools = calloc(p->n_pools + 1, sizeof(PlacementPool));
        int r;

        if (!nodes || !pools)
                return -ENOMEM;
        for (size_t n = 0; n < n_nodes; n++) {
                uint64_t now = p->nodes[cell(p, s, n)].now;

                nodes[n] = (PlacementNode){ .capacity = capacity ? capacity[n] : now, .present = now };
        }
        for (size_t i = 0; i < p->n_pools; i++) {
                PlanPool *pp = &p->pools[a->order[i]];

                if (pp->size_index == s)
                        pools[k++] = (PlacementPool){
                                .want = want[a->order[i]],
                                .allowed = pp->allowed,
                                .node_want = pp->node_requested,
                                .preferred = pp->node_prior,
                                .placed = pp->node_planned,
                        };
        }
        r = placement_fill(pools, k, nodes, n_nodes, max_new);
        if (r < 0)
                return r;
        for (size_t i = 0, j = 0; i < p->n_pools; i++) {
                PlanPool *pp = &p->pools[a->order[i]];

                if (pp->size_index == s)
                        pp->planned = pools[j++].total;
        }
        return 0;
}

/* Places the pools of one size; wants are what was granted. */
static int place_size(Allotment *a, size_t s, uint64_t max_new) {
        Plan *p = a->plan;
        size_t n_nodes = p->host->n_nodes;
        _cleanup_free_ uint64_t *want = calloc(p->n_pools + 1, sizeof(uint64_t));
        _cleanup_free_ uint64_t *capacity = calloc(n_nodes + 1, sizeof(uint64_t));
        int r;

        if (!want || !capacity)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_pools; i++)
                want[i] = cut_class(&p->pools[i]) > a->least ? 0 : p->pools[i].granted;
        for (size_t n = 0; n < n_nodes; n++)
                capacity[n] = node_capacity(a, s, n);
        r = place_pools(a, s, capacity, max_new, want);
        if (r < 0)
                return r;

        for (size_t n = 0; n < n_nodes; n++) {
                uint64_t *wanted = &p->nodes[cell(p, s, n)].wanted;

                *wanted = 0;
                for (size_t i = 0; i < p->n_pools; i++)
                        if (p->pools[i].size_index == s)
                                *wanted += p->pools[i].node_planned[n];
        }
        return 0;
}

/* A mistake in a drop-in must not drain a machine that runs: who lost his pool to it still wants his pages.
 */
bool plan_keeps_all(const Config *c) {
        for (size_t i = 0; i < c->n_pools; i++)
                if (c->pools[i]->section.dropped)
                        return true;
        return c->faulty;
}

/* Pages of ours that no pool wants. A node's free pages may be promised to somebody: only what is free
 * beyond all promises can go, over all nodes. */
static void find_released(Allotment *a) {
        Plan *p = a->plan;
        const Host *host = p->host;

        if (plan_keeps_all(p->config))
                return;
        for (size_t s = 0; s < host->n_sizes; s++) {
                const PageSize *size = &host->sizes[s];
                uint64_t slack = sub_sat(size->total.free, add_sat(size->resv, size->total.surplus));

                for (size_t n = 0; n < host->n_nodes; n++) {
                        const PlanNode *node = &p->nodes[cell(p, s, n)];
                        uint64_t keep = MAX(node->wanted, MIN(node->now, node->before));
                        uint64_t x = MIN(sub_sat(node->now, keep), MIN(host->nodes[n].pages[s].free, slack));

                        a->released[cell(p, s, n)] = x;
                        slack -= x;
                }
        }
}

static uint64_t released_bytes(const Allotment *a) {
        const Host *host = a->plan->host;
        uint64_t sum = 0;

        for (size_t s = 0; s < host->n_sizes; s++)
                for (size_t n = 0; n < host->n_nodes; n++)
                        sum = add_sat(sum, mul_sat(a->released[cell(a->plan, s, n)], host->sizes[s].bytes));
        return sum;
}

/* Pages that a pool asks for and that its nodes may be able to hold. */
static uint64_t most_of(const Allotment *a, size_t pool) {
        const PlanPool *pp = &a->plan->pools[pool];

        return MIN(sub_sat(pp->requested, pp->missing), a->ceiling[pool]);
}

/* How many of the pages that are there each pool can have: granted, for a start. */
static int grant_present(Allotment *a) {
        Plan *p = a->plan;
        _cleanup_free_ uint64_t *want = calloc(p->n_pools + 1, sizeof(uint64_t));

        if (!want)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_pools; i++)
                want[i] = most_of(a, i);
        for (size_t s = 0; s < p->host->n_sizes; s++) {
                int r = place_pools(a, s, /* capacity= */ NULL, /* max_new= */ 0, want);

                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < p->n_pools; i++)
                p->pools[i].granted = p->pools[i].planned;
        return 0;
}

/* Decides how many pages each pool may have, so that all together stay within room (bytes beyond what is
 * there): what is there by who has the least choice, new pages by importance. */
static int grant(Allotment *a, uint64_t room) {
        Plan *p = a->plan;
        int r;

        for (size_t i = 0; i < p->n_pools; i++)
                if (p->pools[i].rest && !p->pools[i].node_prior)
                        p->pools[i].requested = UINT64_MAX; /* settle_rest() finds out */
        r = grant_present(a);
        if (r < 0)
                return r;
        for (size_t i = 0; i < p->n_pools; i++) {
                PlanPool *pp = &p->pools[a->cut_order[i]];
                uint64_t page_size = p->host->sizes[pp->size_index].bytes;
                uint64_t new = MIN(most_of(a, a->cut_order[i]) - pp->granted, room / page_size);

                room -= new *page_size;
                pp->granted += new;
        }
        return 0;
}

/* What the placement costs beyond what is there and after what is given back. */
static uint64_t added_bytes(const Plan *p) {
        uint64_t sum = 0;

        for (size_t s = 0; s < p->host->n_sizes; s++)
                for (size_t n = 0; n < p->host->n_nodes; n++) {
                        const PlanNode *node = &p->nodes[cell(p, s, n)];

                        sum = add_sat(sum,
                                      mul_sat(sub_sat(node->wanted, node->now), p->host->sizes[s].bytes));
                }
        return sum;
}

static void set_targets(Allotment *a) {
        Plan *p = a->plan;

        for (size_t i = 0; i < p->host->n_sizes * p->host->n_nodes; i++)
                p->nodes[i].target = MAX(p->nodes[i].wanted, sub_sat(p->nodes[i].now, a->released[i]));
}

/* Largest size first: what is placed of it limits what a node can hold of the next. */
static int place_all(Allotment *a, uint64_t room) {
        Plan *p = a->plan;
        int r;

        for (size_t s = 0; s < p->host->n_sizes; s++) {
                uint64_t left = room == UINT64_MAX ? room : sub_sat(room, added_bytes(p));

                r = place_size(a, s, left == UINT64_MAX ? left : left / p->host->sizes[s].bytes);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What was granted to Size=rest counts on all memory of its nodes; what could not be placed was never there.
 */
static void settle_rest(Plan *p) {
        for (size_t i = 0; i < p->n_pools; i++)
                if (p->pools[i].rest && !p->pools[i].node_prior)
                        p->pools[i].requested = p->pools[i].granted = p->pools[i].planned;
}

static void forget_placement(Plan *p) {
        for (size_t i = 0; i < p->host->n_sizes * p->host->n_nodes; i++)
                p->nodes[i].wanted = 0;
}

/* The most important pools alone first: what they need of a node, larger pages of others leave them. */
static int place_by_class(Allotment *a, uint64_t room) {
        Plan *p = a->plan;
        size_t n_cells = p->host->n_sizes * p->host->n_nodes;

        memset(a->floor, 0, n_cells * sizeof(uint64_t));
        for (a->least = 0; a->least < _CUT_CLASS_MAX; a->least++) {
                int r;

                forget_placement(p);
                r = place_all(a, room);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < n_cells; i++)
                        a->floor[i] = p->nodes[i].wanted;
        }
        return 0;
}

/* Pages of ours that are in nobody's way if every pool got what it asks for. */
static int look_for_released(Allotment *a) {
        Plan *p = a->plan;
        int r;

        for (size_t i = 0; i < p->n_pools; i++) {
                PlanPool *pp = &p->pools[i];

                pp->granted = pp->requested;
                if (pp->rest && !pp->node_prior) /* it would take all of what is there */
                        for (size_t n = 0; n < p->host->n_nodes; n++)
                                pp->granted += p->nodes[cell(p, pp->size_index, n)].now;
        }
        r = place_by_class(a, UINT64_MAX);
        if (r >= 0)
                find_released(a);
        return r;
}

/* Whether some pool could not be placed as granted: its ceiling is now known. */
static bool learn_ceilings(Allotment *a) {
        bool learnt = false;

        for (size_t i = 0; i < a->plan->n_pools; i++)
                if (a->plan->pools[i].planned < a->plan->pools[i].granted) {
                        a->ceiling[i] = a->plan->pools[i].planned;
                        learnt = true;
                }
        return learnt;
}

/* Grants and places until all that is granted can be placed. */
static int settle(Allotment *a, uint64_t room) {
        int r;

        memset(a->ceiling, 0xff, a->plan->n_pools * sizeof(uint64_t));
        do { /* at most once a pool */
                r = grant(a, room);
                if (r < 0)
                        return r;
                r = place_by_class(a, room);
                if (r < 0)
                        return r;
        } while (learn_ceilings(a));
        return 0;
}

static int allot(Allotment *a) {
        int r;

        r = look_for_released(a);
        if (r < 0)
                return r;
        r = settle(a, add_sat(a->plan->room, released_bytes(a)));
        if (r < 0)
                return r;
        set_targets(a);
        settle_rest(a->plan);
        return 0;
}

int plan_allot(Plan *p, const PlanLimits *limits) {
        size_t n_cells = p->host->n_sizes * p->host->n_nodes;
        _cleanup_free_ uint64_t *counts = calloc(2 * n_cells + p->n_pools + 1, sizeof(uint64_t));
        _cleanup_free_ size_t *orders = calloc(2 * p->n_pools + 1, sizeof(size_t));
        Allotment a = { .plan = p, .limits = limits };
        int r;

        if (!counts || !orders)
                return -ENOMEM;
        a.released = counts;
        a.floor = counts + n_cells;
        a.ceiling = counts + 2 * n_cells;
        a.order = orders;
        a.cut_order = orders + p->n_pools;
        plan_cut_order(p, a.cut_order);
        r = placement_order(p, a.order);
        return r < 0 ? r : allot(&a);
}
