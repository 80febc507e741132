/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Host: what this machine and its kernel are and have, as one snapshot of /sys, /proc and the state that an
 * earlier run of this boot left in /run. Kernel documents: Documentation/admin-guide/mm/hugetlbpage.rst,
 * Documentation/ABI/stable/sysfs-devices-node, Documentation/ABI/testing/sysfs-kernel-mm-hugepages. */

#include "basic/diag.h"
#include "basic/util.h"
#include "host/state.h"

typedef struct PageCounts { /* of one page size on one node, in pages */
        uint64_t nr;        /* nr_hugepages: includes surplus */
        uint64_t free;      /* includes pages that are promised (reserved) and not yet touched */
        uint64_t surplus;
} PageCounts;

typedef struct Node {
        unsigned id;
        bool has_memory; /* as in /sys/devices/system/node/has_memory; true without NUMA */
        bool has_cpu;
        uint64_t mem_total; /* bytes */
        uint64_t mem_free;  /* bytes */
        PageCounts *pages;  /* by index in Host.sizes */
} Node;

typedef struct PageSize {
        uint64_t bytes;
        PageCounts total;    /* over all nodes, as the kernel's global files say */
        uint64_t resv;       /* promised and not yet touched; known over all nodes only */
        uint64_t overcommit; /* nr_overcommit_hugepages */
        bool has_overcommit;
} PageSize;

typedef struct Knob { /* a file of one line that a drop-in can set, other than a pool's */
        char *path;
        char *value; /* the raw line, e.g. "always [madvise] never" */
} Knob;

typedef struct Host {
        bool numa;   /* false: no /sys/devices/system/node; nodes then holds one made-up node 0 */
        Node *nodes; /* by ascending id; online nodes, memoryless ones too */
        size_t n_nodes;
        PageSize *sizes; /* by descending size; what /sys/kernel/mm/hugepages lists. None: no hugetlb */
        size_t n_sizes;
        bool no_sysfs;              /* nor is there a /sys that could list any */
        uint64_t default_page_size; /* bytes, Hugepagesize of /proc/meminfo; 0 where there is no hugetlb */
        uint64_t mem_total, mem_available; /* bytes */
        bool has_cma;                      /* CmaTotal of /proc/meminfo: the kernel knows hugetlb_cma= */
        char *cmdline;                     /* /proc/cmdline, one line; "" where unreadable */
        Knob *knobs; /* by ascending path; only those that exist: THP, khugepaged, vm.hugetlb_* */
        size_t n_knobs;
        State *state; /* what an earlier run of this boot left; NULL where there was none, or it is
                         unreadable */
        bool state_damaged;
} Host;

typedef enum HostParts {
        HOST_SIZES = 1 << 0,  /* page sizes and the default, without counts */
        HOST_NODES = 1 << 1,  /* nodes and their memory, MemTotal, MemAvailable */
        HOST_COUNTS = 1 << 2, /* counts of pages, in all and by node; implies SIZES and NODES */
        HOST_KNOBS = 1 << 3,
        HOST_CMDLINE = 1 << 4,
        HOST_STATE = 1 << 5,
        HOST_ALL = (1 << 6) - 1,
} HostParts;

/* Reads the parts asked for, below root (NULL: the real system). What is missing (no NUMA, no hugetlb, no
 * THP) is no error: the fields say so. A file that exists and cannot be understood is a warning in d, and is
 * treated as missing. 0 or -ENOMEM. */
int host_load(const char *root, HostParts parts, Host **ret, Diagnostics *d);

void host_free(Host *h);
DEFINE_CLEANUP(Host, host_free)

/* Index in sizes or nodes, or SIZE_MAX. */
size_t host_find_size(const Host *h, uint64_t bytes) _pure_;
size_t host_find_node(const Host *h, unsigned id) _pure_;

/* Why there is no page size at all, half a sentence. */
const char *host_why_no_sizes(const Host *h) _pure_;

/* The raw line of a knob, or NULL where this kernel lacks it. */
const char *host_knob(const Host *h, const char *path) _pure_;

/* The word in brackets of "always [madvise] never", or the whole line where there are none. Returns buffer.
 */
const char *knob_current_word(const char *line, char *buffer, size_t size);

/* Whether word is one of those that the line offers. */
bool knob_offers(const char *line, const char *word) _pure_;

/* The node of a PCI device ("0000:3b:00.0"): its number; -1 where the kernel knows none for it (numa_node is
 * -1, as in most virtual machines); -ENODEV where there is no such device. */
int host_pci_node(const char *root, const char *address);

/* The path of a counter. node NULL: the global one (which is the only one without NUMA). counter is
 * "nr_hugepages", "free_hugepages", "surplus_hugepages"; globally also "resv_hugepages",
 * "nr_overcommit_hugepages". To be freed by the caller; NULL when out of memory. */
char *host_counter_path(const Host *h, const Node *node, uint64_t page_size, const char *counter);

/* A line "NAME:   123 kB" of the text of /proc/meminfo or, behind "Node 0 ", of a node's meminfo, in bytes.
 * -ENOENT where there is none, -EINVAL where it cannot be understood. */
int meminfo_get(const char *text, const char *name, uint64_t *ret);

#define THP_DIRECTORY "/sys/kernel/mm/transparent_hugepage"
#define KHUGEPAGED_DIRECTORY THP_DIRECTORY "/khugepaged"
