/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Plan: the arithmetic. A Config and a Host in, a Plan out; no I/O and no clock. The rules are those of
 * hugepages.d(5): sizes are rounded up to whole pages, headroom is added, pages are spread over the allowed
 * nodes, what KeepFree= does not allow is cut from non-essential pools first, then in reverse reading order,
 * and the largest page size is written first. */

#include "config/config.h"
#include "host/host.h"

#define KEEP_FREE_DEFAULT_PERCENT 500u /* hundredths of a percent */
#define KEEP_FREE_DEFAULT_MIN (512ull << 20)

typedef struct PlanPool {
        const Pool *pool;
        size_t size_index;        /* in Host.sizes */
        bool explicit_nodes;      /* per-node amounts: never moved to another node */
        bool *allowed;            /* by node index */
        bool rest;                /* Size=rest: requested is what there was to be had */
        uint64_t requested;       /* pages, headroom included, before any cut */
        uint64_t granted;         /* pages that KeepFree= leaves room for */
        uint64_t planned;         /* pages placed on nodes; ≤ granted ≤ requested */
        uint64_t *node_requested; /* by node index; explicit_nodes only, else NULL */
        uint64_t *node_planned;   /* by node index; adds up to planned */
        uint64_t *node_prior;     /* by node index; what the last run of this boot gave it, or NULL */
        uint64_t missing;         /* pages asked of nodes that do not exist or have no memory */
        unsigned missing_node;    /* the first of these nodes */
        char *cut;                /* why planned < requested, one sentence; NULL where nothing was cut */
} PlanPool;

typedef enum WriteKind {
        WRITE_POOL,       /* nr_hugepages of a node */
        WRITE_OVERCOMMIT, /* nr_overcommit_hugepages */
        WRITE_KNOB,       /* THP, khugepaged, vm.hugetlb_* */
} WriteKind;

typedef struct PlanWrite {
        WriteKind kind;
        char *path;
        char *value;
        Source source;     /* the key that asked for it; for pools the first pool's header */
        size_t size_index; /* POOL, OVERCOMMIT: in Host.sizes */
        size_t node_index; /* POOL: in Host.nodes */
        uint64_t pages;    /* POOL: value as a number */
        bool lowers;       /* POOL: fewer pages than now */
        bool before_pools; /* KNOB: must be set before pages are reserved */
} PlanWrite;

/* A page size on a node, over all pools. */
typedef struct PlanNode {
        uint64_t now;    /* persistent pages there, nr − surplus */
        uint64_t before; /* those that were there before our first change of this boot */
        uint64_t wanted; /* pages that pools are planned to have */
        uint64_t target; /* pages that there will be, ≥ wanted: what is not ours to take stays */
} PlanNode;

/* What a node was seen to be able to hold, at most; see plan_make(). */
typedef struct PlanLimits {
        uint64_t *pages; /* [size_index * n_nodes + node_index]; UINT64_MAX: nothing learnt yet */
} PlanLimits;

typedef struct Plan {
        const Config *config;
        const Host *host;
        PlanPool *pools; /* those that are not dropped, in reading order */
        size_t n_pools;
        PlanNode *nodes;   /* [size_index * n_nodes + node_index] */
        PlanWrite *writes; /* in the order in which they would happen; none that would change nothing */
        size_t n_writes;
        PlanWrite *settings; /* every knob and overcommit limit that is declared, changed or not */
        size_t n_settings;
        uint64_t keep_free;       /* bytes, resolved */
        uint64_t room;            /* bytes that pages may take beyond those there are, now */
        uint64_t least_page_size; /* as in the PlanInput */
} Plan;

/* What depends on more than the drop-ins and is therefore told here: a page size that the kernel lacks, a
 * node that does not exist, a PCI device without a node, cuts. Pools that cannot be used get an error in d
 * and are marked dropped in the Config (which is why it is not const). group_to_gid resolves
 * SharedMemoryGroup= (NULL: only numbers; a name is then left out).
 *
 * limits, where not NULL, holds what earlier writes have shown: a node is planned to hold at most that many
 * persistent pages of a size. Planning again with what was learnt is how pages move to other nodes.
 *
 * pci_node tells the node of a PCI device, as host_pci_node() does; NULL: none is known.
 *
 * 0 or -ENOMEM. The Plan refers to c and h, which must outlive it. */
typedef struct PlanInput {
        Config *config;
        const Host *host;
        const PlanLimits *limits;
        /* Bytes; 0 for all. Pools of smaller pages are planned, so that the others leave them their room,
         * but nothing is written for them: what the initrd does, which is in a hurry. */
        uint64_t least_page_size;
        int (*pci_node)(void *userdata, const char *address);
        int (*group_to_gid)(void *userdata, const char *group, gid_t *ret);
        void *userdata;
} PlanInput;

int plan_make(const PlanInput *input, Plan **ret, Diagnostics *d);

void plan_free(Plan *p);
DEFINE_CLEANUP(Plan, plan_free)

static inline PlanNode *plan_node(const Plan *p, size_t size_index, size_t node_index) {
        return &p->nodes[size_index * p->host->n_nodes + node_index];
}

/* The bytes a pool asks for, headroom included, from the drop-ins and constants of this boot alone (node
 * sizes): what the generator writes as a mount's limit. UINT64_MAX for Size=rest, which is known only when
 * pages are reserved. page_size is the pool's, resolved. -EINVAL where it cannot be said. */
int pool_requested_bytes(const Pool *pool, const Host *host, int (*pci_node)(void *, const char *),
                         void *userdata, uint64_t page_size, uint64_t *ret);

/* Who has what: hands the persistent pages that host (newer than the plan's) has to the plan's pools, in the
 * order of cuts (but to released pools last), each as near to its planned nodes as there are pages. reserved
 * has room for n_pools × n_nodes counts. 0 or -ENOMEM. */
int plan_attribute(const Plan *plan, const Host *host, uint64_t *reserved);

/* Whether a drop-in has an error that may hide a pool: then no page is taken from anybody. */
bool plan_keeps_all(const Config *c) _pure_;

/* The rank of pools when there is not enough: essential first, then reading order. Fills order[n_pools] with
 * indexes. */
void plan_cut_order(const Plan *plan, size_t *order);
