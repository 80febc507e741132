/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a node's memory looks like at this moment: in blocks of which size it is free, and who holds the
 * rest. Sources: /proc/buddyinfo and nodeN/meminfo, as in Documentation/filesystems/proc.rst and
 * Documentation/ABI/stable/sysfs-devices-node. */

#include "apply/kernel.h"
#include "host/host.h"

typedef struct NodeMemory { /* in bytes */
        uint64_t free;
        uint64_t unbroken;      /* of free: in blocks that are large enough for the page size asked about */
        uint64_t largest_block; /* the largest that is free; the kernel keeps track of blocks up to a few MiB
                                 */
        uint64_t block_max;     /* the largest that the kernel keeps track of */
        uint64_t programs; /* anonymous memory: moved by a compaction, unless it is locked or in use by a
                              device */
        uint64_t cache;    /* page cache, tmpfs and shared memory: likewise */
        uint64_t kernel;   /* slab that cannot be reclaimed, page tables, stacks: stays where it is */
} NodeMemory;

/* Nodes with marked[i] are added up; NULL: all of them. What cannot be read counts as 0; -ENODATA where not
 * even the free blocks can be told. */
int memory_look(Kernel *k, const Host *h, const bool *marked, uint64_t page_size, NodeMemory *ret);

/* The free blocks alone, added to m: one file for the whole machine, where the holders are one more a node.
 */
int memory_look_at_blocks(Kernel *k, const Host *h, const bool *marked, uint64_t page_size, NodeMemory *m);
