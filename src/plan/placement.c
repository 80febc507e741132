/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Placement: pages of one size onto nodes, evenly where it can be, and with earlier pools moved aside where
 * a later one would otherwise go short. */

#include "plan/placement.h"

#define NO_NODE SIZE_MAX
#define NO_POOL SIZE_MAX

typedef struct Placement {
        PlacementPool *pools;
        size_t n_pools;
        const PlacementNode *nodes;
        size_t n_nodes;
        uint64_t *used;  /* by node: pages placed, over all pools */
        uint64_t *spare; /* by node: scratch of take_even() */
        uint64_t new_left;

        /* scratch of augment(): how the search got to a node */
        size_t *came_from; /* by node */
        size_t *mover;     /* by node: the pool that moves from came_from to here */
        size_t *queue;
} Placement;

/* What a node can still give, in the order in which it should be asked for. */
typedef enum PageSource {
        SOURCE_PRESENT, /* pages that are there and nobody has */
        SOURCE_NEW,     /* pages that would have to be allocated */
        SOURCE_LATER,   /* pages that a less important pool holds */
        _SOURCE_MAX,
} PageSource;

static uint64_t node_present_left(const Placement *p, size_t n) {
        return sub_sat(MIN(p->nodes[n].present, p->nodes[n].capacity), p->used[n]);
}

static uint64_t node_new_left(const Placement *p, size_t n) {
        return MIN(sub_sat(p->nodes[n].capacity, MAX(p->used[n], p->nodes[n].present)), p->new_left);
}

/* The most important page is the last to be taken: pools are asked from the end of the list. */
static size_t later_holder(const Placement *p, size_t pool, size_t n) {
        for (size_t i = p->n_pools; i-- > pool + 1;)
                if (p->pools[i].placed[n] > 0)
                        return i;
        return NO_POOL;
}

static uint64_t source_left(const Placement *p, PageSource source, size_t pool, size_t n) {
        size_t later;

        switch (source) {
        case SOURCE_PRESENT:
                return node_present_left(p, n);
        case SOURCE_NEW:
                return node_new_left(p, n);
        case SOURCE_LATER:
                later = later_holder(p, pool, n);
                return later == NO_POOL ? 0 : p->pools[later].placed[n];
        default:
                return 0;
        }
}

/* What the pool may still get on a node by its own rules. */
static uint64_t pool_wants_on_node(const PlacementPool *pool, size_t n) {
        uint64_t missing = sub_sat(pool->want, pool->total);

        if (pool->node_want)
                return MIN(missing, sub_sat(pool->node_want[n], pool->placed[n]));
        return pool->allowed[n] ? missing : 0;
}

/* Pages on a node beyond those present: they count against new_left. */
static uint64_t node_new(const Placement *p, size_t n) {
        return sub_sat(p->used[n], p->nodes[n].present);
}

static void give(Placement *p, PlacementPool *pool, size_t n, uint64_t pages) {
        uint64_t before = node_new(p, n);

        pool->placed[n] += pages;
        pool->total += pages;
        p->used[n] += pages;
        p->new_left -= node_new(p, n) - before;
}

static void take(Placement *p, PlacementPool *pool, size_t n, uint64_t pages) {
        uint64_t before = node_new(p, n);

        pool->placed[n] -= pages;
        pool->total -= pages;
        p->used[n] -= pages;
        p->new_left += before - node_new(p, n);
}

/* Pages that a node gets when the pool's count on every node is raised to level, as far as spare allows. */
static uint64_t raise_to(const PlacementPool *pool, const uint64_t *spare, size_t n, uint64_t level) {
        return MIN(spare[n], sub_sat(level, pool->placed[n]));
}

/* The highest level to which all nodes can be raised with so many pages. */
static uint64_t find_level(const PlacementPool *pool, const uint64_t *spare, size_t n_nodes,
                           uint64_t pages) {
        uint64_t low = 0, high = 0;

        for (size_t n = 0; n < n_nodes; n++)
                high = MAX(high, add_sat(pool->placed[n], spare[n]));
        while (low < high) {
                uint64_t level = low + (high - low) / 2 + 1, sum = 0;

                for (size_t n = 0; n < n_nodes; n++)
                        sum = add_sat(sum, raise_to(pool, spare, n, level));
                if (sum <= pages)
                        low = level;
                else
                        high = level - 1;
        }
        return low;
}

/* Spreads what a source has over the pool's nodes so that its own pages end up as even as possible; the
 * remainder goes to the lowest-numbered nodes. */
static void take_even(Placement *p, size_t pool_index, PageSource source) {
        PlacementPool *pool = &p->pools[pool_index];
        uint64_t sum = 0, pages, level;

        for (size_t n = 0; n < p->n_nodes; n++) {
                p->spare[n] = MIN(pool_wants_on_node(pool, n), source_left(p, source, pool_index, n));
                sum = add_sat(sum, p->spare[n]);
        }
        pages = MIN(sum, sub_sat(pool->want, pool->total));
        if (source == SOURCE_NEW)
                pages = MIN(pages, p->new_left);
        if (pages == 0)
                return;

        level = find_level(pool, p->spare, p->n_nodes, pages);
        for (size_t n = 0; n < p->n_nodes; n++) {
                uint64_t x = raise_to(pool, p->spare, n, level);

                p->spare[n] -= x;
                pages -= x;
                give(p, pool, n, x);
        }
        for (size_t n = 0; n < p->n_nodes && pages > 0; n++)
                if (p->spare[n] > 0 && pool->placed[n] == level) {
                        give(p, pool, n, 1);
                        pages--;
                }
}

/* A pool that could move pages from one node to another: a spread one that has some and may go there. */
static size_t find_mover(const Placement *p, size_t from, size_t to) {
        for (size_t i = 0; i < p->n_pools; i++) {
                const PlacementPool *q = &p->pools[i];

                if (!q->node_want && q->placed[from] > 0 && q->allowed[to])
                        return i;
        }
        return NO_POOL;
}

/* Breadth-first from the nodes where the pool wants pages, along moves of other pools, to a node that still
 * has some. Returns that node. */
static size_t find_path(Placement *p, size_t pool_index, PageSource source) {
        size_t head = 0, tail = 0;

        for (size_t n = 0; n < p->n_nodes; n++) {
                p->came_from[n] = NO_NODE;
                p->mover[n] = NO_POOL;
                if (pool_wants_on_node(&p->pools[pool_index], n) > 0) {
                        p->came_from[n] = n;
                        p->queue[tail++] = n;
                }
        }
        while (head < tail) {
                size_t n = p->queue[head++];

                if (source_left(p, source, pool_index, n) > 0)
                        return n;
                for (size_t to = 0; to < p->n_nodes; to++) {
                        size_t mover;

                        if (p->came_from[to] != NO_NODE)
                                continue;
                        mover = find_mover(p, n, to);
                        if (mover == NO_POOL)
                                continue;
                        p->came_from[to] = n;
                        p->mover[to] = mover;
                        p->queue[tail++] = to;
                }
        }
        return NO_NODE;
}

/* Gets pages for a short pool by moving others along a path. False where there is none. */
static bool augment(Placement *p, size_t pool_index, PageSource source) {
        PlacementPool *pool = &p->pools[pool_index];
        size_t end = find_path(p, pool_index, source), start = end;
        uint64_t pages;

        if (end == NO_NODE)
                return false;
        pages = source_left(p, source, pool_index, end);
        for (; p->came_from[start] != start; start = p->came_from[start])
                pages = MIN(pages, p->pools[p->mover[start]].placed[p->came_from[start]]);
        pages = MIN(pages, pool_wants_on_node(pool, start));

        if (source == SOURCE_LATER)
                take(p, &p->pools[later_holder(p, pool_index, end)], end, pages);
        for (size_t n = end; p->came_from[n] != n; n = p->came_from[n]) {
                PlacementPool *mover = &p->pools[p->mover[n]];

                take(p, mover, p->came_from[n], pages);
                give(p, mover, n, pages);
        }
        give(p, pool, start, pages);
        return true;
}

/* Whoever has a page, or was to have it, keeps it as long as it is there. */
static void keep_preferred(Placement *p) {
        for (size_t i = 0; i < p->n_pools; i++) {
                PlacementPool *pool = &p->pools[i];

                if (!pool->preferred)
                        continue;
                for (size_t n = 0; n < p->n_nodes; n++)
                        give(p, pool, n,
                             MIN(MIN(pool->preferred[n], pool_wants_on_node(pool, n)),
                                 node_present_left(p, n)));
        }
}

/* What is there is used up, by moving others if need be, before anything new is asked for: so the number of
 * new pages is the least possible. */
static void place_pool(Placement *p, size_t i) {
        for (PageSource source = SOURCE_PRESENT; source < _SOURCE_MAX; source++) {
                if (source != SOURCE_LATER)
                        take_even(p, i, source);
                while (p->pools[i].total < p->pools[i].want && augment(p, i, source))
                        ;
        }
}

int placement_fill(PlacementPool *pools, size_t n_pools, const PlacementNode *nodes, size_t n_nodes,
                   uint64_t max_new) {
        _cleanup_free_ uint64_t *counts = calloc(2 * n_nodes + 1, sizeof(uint64_t));
        _cleanup_free_ size_t *indexes = calloc(3 * n_nodes + 1, sizeof(size_t));
        Placement p = {
                .pools = pools,
                .n_pools = n_pools,
                .nodes = nodes,
                .n_nodes = n_nodes,
                .new_left = max_new,
        };

        if (!counts || !indexes)
                return -ENOMEM;
        p.used = counts;
        p.spare = counts + n_nodes;
        p.came_from = indexes;
        p.mover = indexes + n_nodes;
        p.queue = indexes + 2 * n_nodes;

        for (size_t i = 0; i < n_pools; i++) {
                memset(pools[i].placed, 0, n_nodes * sizeof(uint64_t));
                pools[i].total = 0;
        }
        keep_preferred(&p);
        for (size_t i = 0; i < n_pools; i++)
                place_pool(&p, i);
        return 0;
}
