/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The memory of one simulated node: page blocks of 2M, and in each so many small pages of four kinds, or a
 * part of a huge page. It is given out, compacted and reclaimed as mm/page_alloc.c, mm/compaction.c and
 * mm/vmscan.c do it, and the same each time. */

#include "basic/util.h"

#define SIM_PAGE 4096ull       /* bytes */
#define SIM_BLOCK_PAGES 512u   /* small pages in a block */
#define SIM_BLOCK (2ull << 20) /* bytes */
#define SIM_BLOCKS_MAX 8192u   /* of a node */
#define SIM_ORDERS 11u         /* of free blocks: 4K to 4M */
#define SIM_NO_BLOCK SIZE_MAX

typedef enum SimKind {
        SIM_MOVABLE, /* of programs */
        SIM_CACHE,   /* page cache: moves, and a write's own reclaim drops it */
        SIM_STUCK, /* page cache that neither moves nor is reclaimed by a write, but drop_caches takes it */
        SIM_UNMOVABLE, /* of the kernel */
        _SIM_KIND_MAX,
} SimKind;

typedef struct SimBlock {
        uint16_t pages[_SIM_KIND_MAX]; /* small pages, by kind */
        uint8_t huge;                  /* 1 + the index of the huge page's size; 0: none */
        uint8_t order;                 /* its free pages come in runs of this order at most */
} SimBlock;

typedef struct SimMemory {
        size_t n_blocks, n_huge; /* n_huge: those of them that are in huge pages */
        uint64_t pages[_SIM_KIND_MAX];
        unsigned defer_shift, considered; /* as in mm/compaction.c */
        /* Compaction finds no place to move pages to, unless a free block was broken up for it. */
        bool blind;
        size_t take_cursor[2], migrate_cursor, target_cursor, reclaim_cursor;
        SimBlock blocks[SIM_BLOCKS_MAX];
} SimMemory;

/* What a write does by itself to get pages. */
typedef struct SimEffort {
        unsigned direct_percent; /* chance that direct compaction makes a block where it could; 0: none is
                                    done */
        size_t reclaim_blocks;   /* blocks whose page cache one reclaim drops at most */
        bool contig_moves; /* gigantic pages: alloc_contig_range() moves what is in the way (since 5.13) */
        uint64_t random;   /* state of the generator, not 0 */
} SimEffort;

uint64_t sim_memory_free(const SimMemory *m);                 /* small pages */
uint64_t sim_memory_total(const SimMemory *m);                /* small pages, huge ones included */
void sim_memory_orders(const SimMemory *m, uint64_t *counts); /* free blocks by order, SIM_ORDERS of them */

void sim_memory_grow(SimMemory *m, size_t blocks);
/* Takes blocks off the end, as far as what is in them can move. */
void sim_memory_shrink(SimMemory *m, size_t blocks);

/* Small pages of a kind come into one block, as far as there is room; or anywhere, into broken blocks first.
 * They go again with sim_memory_clear(). */
void sim_memory_put(SimMemory *m, size_t block, SimKind kind, uint64_t pages);
void sim_memory_fill(SimMemory *m, SimKind kind, uint64_t pages);
void sim_memory_clear(SimMemory *m, SimKind kind);
/* One page of the kind in each free block but the first so many. */
void sim_memory_break(SimMemory *m, SimKind kind, size_t unbroken);

/* One huge page of run blocks, marked with mark. effort NULL: only what is free already. */
bool sim_memory_allocate(SimMemory *m, uint8_t mark, size_t run, SimEffort *effort);
/* The last so many huge pages of a mark become another one's, or free (0). */
void sim_memory_remark(SimMemory *m, uint8_t mark, size_t run, uint64_t n, uint8_t to);

/* Drops page cache, so many small pages at most, from the first block on; returns how many. */
uint64_t sim_memory_reclaim(SimMemory *m, uint64_t pages);
/* An explicit compaction, never deferred: percent of the blocks that it can make free, at least one. */
void sim_memory_compact(SimMemory *m, unsigned percent);
/* Free blocks that there can be after compaction, without reclaim: arithmetic, not a trial. */
uint64_t sim_memory_could_free(const SimMemory *m);
uint64_t sim_memory_free_blocks(const SimMemory *m);
