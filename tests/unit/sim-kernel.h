/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A simulated kernel: nodes with free and with unbroken memory, huge pages with surplus and promised ones,
 * and knobs, behind the Kernel door. It counts as mm/hugetlb.c does (set_max_huge_pages(), kernel 6.1
 * and 6.12), and is the same each time. It lives in shared memory, so that a child process may be killed in
 * the middle of a run and another one carry on. */

#include "apply/kernel.h"
#include "host/host.h"

#define SIM_NODES_MAX 4u
#define SIM_SIZES_MAX 3u
#define SIM_KNOBS_MAX 8u
#define SIM_REFUSALS_MAX 8u
#define SIM_EVENTS_MAX 4u

typedef struct SimPages {
        uint64_t nr, free, surplus;
        uint64_t unbroken; /* bytes in blocks that are large enough, without compaction */
} SimPages;

typedef struct SimNode {
        unsigned id;
        bool has_cpu;
        uint64_t mem_total; /* bytes */
        uint64_t mem_free;  /* bytes */
        uint64_t pinned;    /* bytes of mem_free that no compaction makes unbroken */
        uint64_t cache;     /* bytes of pinned that are so only until the page cache is dropped */
        SimPages pages[SIM_SIZES_MAX];
} SimNode;

typedef struct SimKnob {
        char path[128];
        char value[64]; /* as it is read: with brackets for words */
} SimKnob;

typedef struct SimRefusal {
        char path[128]; /* any path that contains this */
        int error;      /* what a write gives, negative errno */
        bool read_too;
} SimRefusal;

typedef struct SimEvent { /* something else on the machine, at a moment of the run */
        size_t operation; /* from this one on; memory goes at the next look at /proc/meminfo */
        bool done;
        size_t node;
        uint64_t take_bytes; /* memory that somebody takes on the node */
        size_t size_index;
        uint64_t reserve_pages; /* pages that somebody is promised */
        uint64_t add_pages;     /* pages that another manager places on the node */
} SimEvent;

typedef struct SimKernel {
        bool numa;
        SimNode nodes[SIM_NODES_MAX];
        size_t n_nodes;
        uint64_t sizes[SIM_SIZES_MAX]; /* bytes, descending */
        uint64_t resv[SIM_SIZES_MAX], overcommit[SIM_SIZES_MAX];
        size_t n_sizes;
        SimKnob knobs[SIM_KNOBS_MAX];
        size_t n_knobs;
        SimRefusal refusals[SIM_REFUSALS_MAX];
        size_t n_refusals;
        SimEvent events[SIM_EVENTS_MAX];
        size_t n_events;

        uint64_t overstated; /* bytes that MemAvailable says too much */
        bool surplus_bug; /* before 6.7: surplus pages of other nodes are added to what a node is to have */
        unsigned compact_percent; /* of a node's broken memory that one compaction repairs */
        uint64_t usec_per_operation, usec_per_compaction;

        uint64_t now;
        size_t n_operations, n_writes, n_compactions, n_rounds, n_drops;
        size_t kill_at; /* _exit(SIM_KILLED) instead of that operation; 0: never */

        /* What a run must never do, found out when it happens. */
        uint64_t keep_free;    /* bytes */
        bool asked_too_much;   /* a write asked for more than fits above keep_free */
        bool dropped_promised; /* a write turned pages that somebody has or was promised into surplus */
} SimKernel;

#define SIM_KILLED 99

SimKernel *sim_new(void); /* one empty node, 2M pages; in shared memory */
void sim_free(SimKernel *s);
DEFINE_CLEANUP(SimKernel, sim_free)

/* All of its memory free and unbroken. Returns it. */
SimNode *sim_add_node(SimKernel *s, unsigned id, uint64_t bytes);
void sim_add_knob(SimKernel *s, const char *path, const char *value);
void sim_refuse(SimKernel *s, const char *path, int error, bool read_too);

/* So many pages are there already. */
void sim_place(SimKernel *s, size_t size_index, size_t node, uint64_t pages);
/* Somebody has touched so many of the node's pages. */
void sim_use(SimKernel *s, size_t size_index, size_t node, uint64_t pages);
/* Surplus pages on a node, in use. */
void sim_add_surplus(SimKernel *s, size_t size_index, size_t node, uint64_t pages);

Kernel sim_kernel(SimKernel *s);

/* What host_load() would find, with the state below root. */
Host *sim_host(const SimKernel *s, const char *root);

uint64_t sim_total(const SimKernel *s, size_t size_index, uint64_t (*count)(const SimPages *p));
uint64_t sim_persistent(const SimPages *p);
uint64_t sim_mem_available(const SimKernel *s);
