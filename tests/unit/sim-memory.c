/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory of one simulated node. */

#include "sim-memory.h"

#define DEFER_SHIFT_MAX 6u /* COMPACT_MAX_DEFER_SHIFT */
#define BLOCK_ORDER 9u

static unsigned content(const SimBlock *b) {
        return (unsigned) b->pages[SIM_MOVABLE] + b->pages[SIM_CACHE] + b->pages[SIM_STUCK] +
               b->pages[SIM_UNMOVABLE];
}

static unsigned moving(const SimBlock *b) {
        return (unsigned) b->pages[SIM_MOVABLE] + b->pages[SIM_CACHE];
}

static unsigned room(const SimBlock *b) {
        return b->huge ? 0 : SIM_BLOCK_PAGES - content(b);
}

static bool is_free(const SimBlock *b) {
        return room(b) == SIM_BLOCK_PAGES;
}

/* Something in it stays where it is. */
static bool is_mixed(const SimBlock *b) {
        return b->pages[SIM_STUCK] + b->pages[SIM_UNMOVABLE] > 0;
}

uint64_t sim_memory_total(const SimMemory *m) {
        return (uint64_t) m->n_blocks * SIM_BLOCK_PAGES;
}

uint64_t sim_memory_free(const SimMemory *m) {
        uint64_t free_pages = (uint64_t) (m->n_blocks - m->n_huge) * SIM_BLOCK_PAGES;

        for (size_t k = 0; k < _SIM_KIND_MAX; k++)
                free_pages -= m->pages[k];
        return free_pages;
}

static bool has_free_buddy(const SimMemory *m, size_t i) {
        return (i ^ 1) < m->n_blocks && is_free(&m->blocks[i ^ 1]);
}

void sim_memory_orders(const SimMemory *m, uint64_t *counts) {
        memset(counts, 0, SIM_ORDERS * sizeof(uint64_t));
        for (size_t i = 0; i < m->n_blocks; i++) {
                const SimBlock *b = &m->blocks[i];
                unsigned n = room(b), order = MIN((unsigned) b->order, BLOCK_ORDER - 1);

                if (n == SIM_BLOCK_PAGES) {
                        if (!has_free_buddy(m, i))
                                counts[BLOCK_ORDER]++;
                        else
                                counts[BLOCK_ORDER + 1] += i % 2;
                        continue;
                }
                counts[order] += n >> order;
                for (unsigned k = 0; k < order; k++)
                        counts[k] += n >> k & 1;
        }
}

static void restart_cursors(SimMemory *m) {
        m->take_cursor[0] = m->take_cursor[1] = 0;
}

static void add_pages(SimMemory *m, size_t i, SimKind kind, unsigned pages) {
        m->blocks[i].pages[kind] = (uint16_t) (m->blocks[i].pages[kind] + pages);
        m->pages[kind] += pages;
}

static void remove_pages(SimMemory *m, size_t i, SimKind kind, unsigned pages) {
        m->blocks[i].pages[kind] = (uint16_t) (m->blocks[i].pages[kind] - pages);
        m->pages[kind] -= pages;
        restart_cursors(m);
}

void sim_memory_put(SimMemory *m, size_t block, SimKind kind, uint64_t pages) {
        add_pages(m, block, kind, (unsigned) MIN(pages, room(&m->blocks[block])));
}

/* From the end, as the free scanner of compaction goes; the blocks [skip, skip + n_skip) stay as they are.
 * Returns what found no room. */
static uint64_t fill_around(SimMemory *m, SimKind kind, uint64_t pages, size_t skip, size_t n_skip) {
        for (int unbroken = 0; unbroken < 2; unbroken++)
                for (size_t i = m->n_blocks; i-- > 0 && pages > 0;) {
                        unsigned x = (unsigned) MIN(pages, room(&m->blocks[i]));

                        if (x == 0 || (i >= skip && i < skip + n_skip) ||
                            (!unbroken && is_free(&m->blocks[i])))
                                continue;
                        add_pages(m, i, kind, x);
                        pages -= x;
                }
        return pages;
}

void sim_memory_fill(SimMemory *m, SimKind kind, uint64_t pages) {
        (void) fill_around(m, kind, pages, 0, 0);
}

void sim_memory_clear(SimMemory *m, SimKind kind) {
        for (size_t i = 0; i < m->n_blocks; i++)
                remove_pages(m, i, kind, m->blocks[i].pages[kind]);
}

void sim_memory_break(SimMemory *m, SimKind kind, size_t unbroken) {
        for (size_t i = 0; i < m->n_blocks; i++)
                if (is_free(&m->blocks[i]) && unbroken-- == 0) {
                        add_pages(m, i, kind, 1);
                        m->blocks[i].order = BLOCK_ORDER - 1;
                        unbroken = 0;
                }
}

void sim_memory_grow(SimMemory *m, size_t blocks) {
        blocks = MIN(blocks, SIM_BLOCKS_MAX - m->n_blocks);
        memset(m->blocks + m->n_blocks, 0, blocks * sizeof(SimBlock));
        m->n_blocks += blocks;
        m->target_cursor = m->n_blocks;
        restart_cursors(m);
}

/* What the small pages around a run of blocks leave, or would leave without their cache. */
static uint64_t room_around(const SimMemory *m, size_t start, size_t run, bool cached) {
        uint64_t pages = sim_memory_free(m) + (cached ? m->pages[SIM_CACHE] : 0);

        for (size_t i = start; i < start + run; i++)
                pages -= room(&m->blocks[i]) + (cached ? m->blocks[i].pages[SIM_CACHE] : 0u);
        return pages;
}

static void drop_around(SimMemory *m, size_t start, size_t run, uint64_t pages) {
        for (size_t i = m->n_blocks; i-- > 0 && pages > 0;) {
                unsigned x = (unsigned) MIN(pages, m->blocks[i].pages[SIM_CACHE]);

                if (i >= start && i < start + run)
                        continue;
                remove_pages(m, i, SIM_CACHE, x);
                pages -= x;
        }
}

/* Empties a run of blocks: its cache is dropped, the rest moves, to where other cache was if need be. False,
 * and nothing is done, where it cannot. */
static bool empty_run(SimMemory *m, size_t start, size_t run) {
        uint64_t moves = 0;

        for (size_t i = start; i < start + run; i++) {
                if (m->blocks[i].huge || is_mixed(&m->blocks[i]))
                        return false;
                moves += m->blocks[i].pages[SIM_MOVABLE];
        }
        if (moves > room_around(m, start, run, /* cached= */ true))
                return false;
        drop_around(m, start, run, sub_sat(moves, room_around(m, start, run, /* cached= */ false)));
        for (size_t i = start; i < start + run; i++)
                for (SimKind k = 0; k < _SIM_KIND_MAX; k++)
                        remove_pages(m, i, k, m->blocks[i].pages[k]);
        (void) fill_around(m, SIM_MOVABLE, moves, start, run);
        return true;
}

void sim_memory_shrink(SimMemory *m, size_t blocks) {
        while (blocks-- > 0 && m->n_blocks > 0 && empty_run(m, m->n_blocks - 1, 1))
                m->n_blocks--;
        restart_cursors(m);
        m->migrate_cursor = m->reclaim_cursor = 0;
        m->target_cursor = m->n_blocks;
}

/* Huge pages. */

static void mark_run(SimMemory *m, size_t start, size_t run, uint8_t mark) {
        for (size_t i = start; i < start + run; i++) {
                m->n_huge += (mark > 0) - (m->blocks[i].huge > 0);
                m->blocks[i].huge = mark;
        }
        if (mark == 0)
                restart_cursors(m);
}

/* Blocks without a free buddy come first, as from the buddy lists: a larger block is split last. */
static size_t find_free_block(SimMemory *m) {
        for (size_t pass = 0; pass < 2; pass++)
                for (size_t *i = &m->take_cursor[pass]; *i < m->n_blocks; (*i)++)
                        if (is_free(&m->blocks[*i]) && (pass > 0 || !has_free_buddy(m, *i)))
                                return *i;
        return SIM_NO_BLOCK;
}

static unsigned random_percent(SimEffort *e) {
        e->random ^= e->random << 13;
        e->random ^= e->random >> 7;
        e->random ^= e->random << 17;
        return (unsigned) (e->random % 100);
}

/* What moves of a block goes to broken ones at the end; a block that is free is no place for it. */
static bool move_up(SimMemory *m, size_t i) {
        for (SimKind k = SIM_MOVABLE; k <= SIM_CACHE; k++)
                while (m->blocks[i].pages[k] > 0) {
                        size_t target = m->target_cursor - 1;
                        const SimBlock *b = &m->blocks[target];
                        unsigned x = is_free(b) ? 0 : MIN(room(b), (unsigned) m->blocks[i].pages[k]);

                        if (target <= i)
                                return false;
                        add_pages(m, target, k, x);
                        remove_pages(m, i, k, x);
                        if (x == 0 || room(b) == 0)
                                m->target_cursor--;
                }
        return true;
}

/* Two scanners move towards each other; when they have met, they start again the next time. */
static bool compact_until_one(SimMemory *m) {
        while (!m->blind && m->migrate_cursor + 1 < m->target_cursor) {
                size_t i = m->migrate_cursor++;

                if (!m->blocks[i].huge && !is_mixed(&m->blocks[i]) && moving(&m->blocks[i]) > 0)
                        return move_up(m, i);
        }
        m->migrate_cursor = 0;
        m->target_cursor = m->n_blocks;
        return false;
}

/* compaction_deferred() */
static bool is_deferred(SimMemory *m) {
        unsigned limit = 1u << m->defer_shift;

        m->considered = MIN(m->considered + 1, limit);
        return m->considered < limit;
}

static bool compact_directly(SimMemory *m, SimEffort *e) {
        if (e->direct_percent == 0 || is_deferred(m))
                return false;
        m->considered = 0;
        if (random_percent(e) < e->direct_percent && compact_until_one(m)) {
                m->defer_shift = 0;
                return true;
        }
        m->defer_shift = MIN(m->defer_shift + 1, DEFER_SHIFT_MAX);
        return false;
}

uint64_t sim_memory_reclaim(SimMemory *m, uint64_t pages) {
        uint64_t left = pages;

        for (size_t i = 0; i < m->n_blocks && left > 0; i++) {
                unsigned x = (unsigned) MIN(left, m->blocks[i].pages[SIM_CACHE]);

                remove_pages(m, i, SIM_CACHE, x);
                left -= x;
        }
        return pages - left;
}

static bool reclaim(SimMemory *m, const SimEffort *e) {
        bool freed = false;

        for (size_t n = 0, i = 0; n < e->reclaim_blocks && i < m->n_blocks && m->pages[SIM_CACHE] > 0; i++) {
                SimBlock *b = &m->blocks[m->reclaim_cursor++ % m->n_blocks];

                if (b->pages[SIM_CACHE] == 0)
                        continue;
                remove_pages(m, (size_t) (b - m->blocks), SIM_CACHE, b->pages[SIM_CACHE]);
                freed |= is_free(b);
                n++;
        }
        return freed;
}

static bool allocate_block(SimMemory *m, uint8_t mark, SimEffort *e) {
        size_t i = find_free_block(m);

        if (i == SIM_NO_BLOCK && e && (compact_directly(m, e) || reclaim(m, e)))
                i = find_free_block(m);
        if (i == SIM_NO_BLOCK)
                return false;
        mark_run(m, i, 1, mark);
        return true;
}

static bool is_free_run(const SimMemory *m, size_t start, size_t run) {
        for (size_t i = start; i < start + run; i++)
                if (!is_free(&m->blocks[i]))
                        return false;
        return true;
}

/* alloc_contig_pages(): the first aligned run that is free, or can be made so. */
static bool allocate_run(SimMemory *m, uint8_t mark, size_t run, const SimEffort *e) {
        for (size_t i = 0; i + run <= m->n_blocks; i += run)
                if (is_free_run(m, i, run) || (e && e->contig_moves && empty_run(m, i, run))) {
                        mark_run(m, i, run, mark);
                        return true;
                }
        return false;
}

bool sim_memory_allocate(SimMemory *m, uint8_t mark, size_t run, SimEffort *effort) {
        return run == 1 ? allocate_block(m, mark, effort) : allocate_run(m, mark, run, effort);
}

void sim_memory_remark(SimMemory *m, uint8_t mark, size_t run, uint64_t n, uint8_t to) {
        for (size_t i = m->n_blocks / run * run; n > 0 && i >= run; i -= run)
                if (m->blocks[i - run].huge == mark) {
                        mark_run(m, i - run, run, to);
                        n--;
                }
}

/* Compaction. */

/* What of the pages that move the other blocks have no room for. */
static uint64_t left_to_pack(const SimMemory *m) {
        uint64_t moves = 0, beside = 0;

        for (size_t i = 0; i < m->n_blocks; i++) {
                const SimBlock *b = &m->blocks[i];

                if (b->huge)
                        continue;
                if (is_mixed(b))
                        beside += room(b);
                else
                        moves += moving(b);
        }
        return sub_sat(moves, beside);
}

uint64_t sim_memory_could_free(const SimMemory *m) {
        uint64_t blocks = 0;

        for (size_t i = 0; i < m->n_blocks; i++)
                blocks += !m->blocks[i].huge && !is_mixed(&m->blocks[i]);
        return blocks - (left_to_pack(m) + SIM_BLOCK_PAGES - 1) / SIM_BLOCK_PAGES;
}

uint64_t sim_memory_free_blocks(const SimMemory *m) {
        uint64_t sum = 0;

        for (size_t i = 0; i < m->n_blocks; i++)
                sum += is_free(&m->blocks[i]);
        return sum;
}

/* The blocks that can be emptied, the emptiest first: a counting sort. */
static size_t sort_by_content(const SimMemory *m, uint16_t *list) {
        size_t starts[SIM_BLOCK_PAGES + 2] = {}, n = 0;

        for (int sorting = 0; sorting < 2; sorting++) {
                for (size_t i = 0; i < m->n_blocks; i++) {
                        const SimBlock *b = &m->blocks[i];

                        if (b->huge || is_mixed(b) || moving(b) == 0)
                                continue;
                        if (sorting)
                                list[starts[moving(b)]++] = (uint16_t) i;
                        else
                                starts[moving(b) + 1]++;
                }
                for (size_t k = 1; !sorting && k < ELEMENTSOF(starts); k++)
                        n = starts[k] += starts[k - 1];
        }
        return n;
}

/* Where pages go: into blocks that cannot be emptied, then into the fullest. */
typedef struct Targets {
        size_t mixed; /* the next of the first ones */
        const uint16_t *list;
        size_t n_list;
} Targets;

static size_t next_target(const SimMemory *m, Targets *t) {
        for (; t->mixed < m->n_blocks; t->mixed++)
                if (is_mixed(&m->blocks[t->mixed]) && room(&m->blocks[t->mixed]) > 0)
                        return t->mixed;
        while (t->n_list > 0 && room(&m->blocks[t->list[t->n_list - 1]]) == 0)
                t->n_list--;
        return t->list[t->n_list - 1];
}

static void pack_block(SimMemory *m, size_t i, Targets *t) {
        for (SimKind k = SIM_MOVABLE; k <= SIM_CACHE; k++)
                while (m->blocks[i].pages[k] > 0) {
                        size_t target = next_target(m, t);
                        unsigned x = MIN(room(&m->blocks[target]), (unsigned) m->blocks[i].pages[k]);

                        add_pages(m, target, k, x);
                        remove_pages(m, i, k, x);
                        m->blocks[target].order = BLOCK_ORDER - 1;
                }
}

void sim_memory_compact(SimMemory *m, unsigned percent) {
        uint64_t gain = sim_memory_could_free(m) - sim_memory_free_blocks(m);
        uint64_t quota = m->blind ? 0 : (gain * percent + 99) / 100;
        uint16_t list[SIM_BLOCKS_MAX];
        Targets targets = { .list = list, .n_list = sort_by_content(m, list) };

        for (uint64_t i = 0; i < quota; i++)
                pack_block(m, list[i], &targets);
        restart_cursors(m);
}
