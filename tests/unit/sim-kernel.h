/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A simulated kernel: nodes whose memory is broken up, huge pages with surplus and promised ones, knobs, and
 * others that use the machine at the same time, behind the Kernel door. It counts as mm/hugetlb.c does
 * (set_max_huge_pages() and demote_store(), kernels 6.1 and 6.12), and is the same each time. It lives in
 * shared memory, so that a child process may be killed in the middle of a run and another one carry on. */

#include "apply/kernel.h"
#include "host/host.h"
#include "sim-memory.h"

#define SIM_NODES_MAX 4u
#define SIM_SIZES_MAX 3u
#define SIM_KNOBS_MAX 8u
#define SIM_REFUSALS_MAX 8u
#define SIM_EVENTS_MAX 8u

typedef struct SimPages {
        uint64_t nr, free, surplus;
} SimPages;

typedef struct SimNode {
        unsigned id;
        bool has_cpu;
        bool gone; /* unplugged: its files are no more */
        SimMemory memory;
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
        size_t operation; /* from this one on; what takes memory, at the next look at /proc/meminfo */
        bool done;
        size_t node, size_index;
        uint64_t take_bytes;    /* memory that somebody takes on the node */
        uint64_t reserve_pages; /* pages that somebody is promised */
        uint64_t use_pages;     /* pages that somebody touches on the node, promised ones first */
        uint64_t end_promises;  /* promises that somebody gives up */
        uint64_t add_pages;     /* pages that another manager places on the node */
        bool sets_pages;        /* another manager writes the node's nr_hugepages: set_pages */
        uint64_t set_pages;
        uint64_t grow_bytes, shrink_bytes; /* memory that comes to the node, or leaves it */
        bool unplug;                       /* the node goes, where nobody uses its pages */
} SimEvent;

typedef struct SimKernel {
        bool numa;
        SimNode nodes[SIM_NODES_MAX];
        size_t n_nodes;
        uint64_t sizes[SIM_SIZES_MAX]; /* bytes, descending, multiples of 2M */
        uint64_t resv[SIM_SIZES_MAX], overcommit[SIM_SIZES_MAX];
        size_t demote_to[SIM_SIZES_MAX]; /* demote_size, as the index of a size; 0: the next smaller one */
        size_t n_sizes;
        SimKnob knobs[SIM_KNOBS_MAX];
        size_t n_knobs;
        SimRefusal refusals[SIM_REFUSALS_MAX];
        size_t n_refusals;
        SimEvent events[SIM_EVENTS_MAX];
        size_t n_events;

        uint64_t overstated; /* bytes that MemAvailable says too much */
        bool surplus_bug; /* before 6.7: surplus pages of other nodes are added to what a node is to have */
        bool overcommit_gigantic; /* since 7.2: gigantic sizes have an overcommit limit */
        bool has_thp;             /* free blocks can be broken up for a compaction */
        bool has_reclaim;         /* nodeN/reclaim (6.17) */
        uint64_t n_reclaimed;     /* small pages, by that */
        unsigned compact_percent; /* of the blocks that compaction could free, what one does */
        SimEffort effort;
        uint64_t usec_per_operation, usec_per_compaction, usec_per_page;

        uint64_t now;
        size_t n_operations, n_writes, n_compactions, n_rounds, n_drops;
        size_t most_targets; /* that one compaction of a node had */
        size_t kill_at;      /* _exit(SIM_KILLED) instead of that operation; 0: never */
        size_t call_at;      /* call() before that operation; 0: never */
        void (*call)(struct SimKernel *s);
        pid_t process;      /* whose the last operation was */
        size_t n_processes; /* how often it was another one's, the first one included */
        uint64_t trace;     /* a hash of all operations and what came of them */

        /* What a run must never do, found out when it happens. */
        uint64_t keep_free;    /* bytes */
        bool broke_too_many;   /* more blocks were to be broken up than are free */
        bool asked_too_much;   /* a write asked for more than fits above keep_free */
        bool dropped_promised; /* a write turned pages that somebody has or was promised into surplus */
        uint64_t floor[SIM_SIZES_MAX][SIM_NODES_MAX]; /* persistent pages that are not the run's to take */
        bool took_foreign;
        size_t smallest_raised; /* index of the smallest size that was raised so far */
        bool wrong_order;       /* a larger size was raised after a smaller one */
} SimKernel;

#define SIM_KILLED 99

SimKernel *sim_new(void); /* no node, 2M pages; in shared memory. Writes neither compact nor reclaim */
void sim_free(SimKernel *s);
DEFINE_CLEANUP(SimKernel, sim_free)

/* All of its memory free and unbroken. Returns it. */
SimNode *sim_add_node(SimKernel *s, unsigned id, uint64_t bytes);
void sim_add_knob(SimKernel *s, const char *path, const char *value);
void sim_refuse(SimKernel *s, const char *path, int error, bool read_too);

/* Of the node's free memory, only so many bytes stay unbroken: in each block of the rest comes a page. */
void sim_break(SimKernel *s, size_t node, SimKind kind, uint64_t unbroken);
/* Somebody takes memory, until only so many bytes are free; or all small pages of the kind go. */
void sim_leave_free(SimKernel *s, size_t node, SimKind kind, uint64_t bytes);
void sim_clear(SimKernel *s, size_t node, SimKind kind);

/* So many pages are there already. */
void sim_place(SimKernel *s, size_t size_index, size_t node, uint64_t pages);
/* Somebody has touched so many of the node's pages. */
void sim_use(SimKernel *s, size_t size_index, size_t node, uint64_t pages);
/* Surplus pages on a node, in use. */
void sim_add_surplus(SimKernel *s, size_t size_index, size_t node, uint64_t pages);

/* Before a run: what it must not do is judged from here on. */
void sim_begin_run(SimKernel *s);

Kernel sim_kernel(SimKernel *s);

/* What host_load() would find, with the state below root. */
Host *sim_host(const SimKernel *s, const char *root);

uint64_t sim_total(const SimKernel *s, size_t size_index, uint64_t (*count)(const SimPages *p));
uint64_t sim_persistent(const SimPages *p);
uint64_t sim_mem_available(const SimKernel *s);
uint64_t sim_mem_free(const SimKernel *s);
/* Bytes that new pages may take above keep_free. */
uint64_t sim_room(const SimKernel *s);
/* Pages that a node could still give: what is free, with compaction and without the page cache where a run
 * may do that; gigantic ones as a single write can. */
typedef enum SimMeans { SIM_COMPACTS = 1, SIM_DROPS_CACHES = 2 } SimMeans;
uint64_t sim_could_give(const SimKernel *s, size_t size_index, size_t node, SimMeans means);
