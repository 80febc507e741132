/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Kernel: the one door through which apply reads and writes /sys and /proc. Behind it is the real kernel, a
 * test's root directory, or the simulated kernel of tests/unit/sim-kernel.c. */

#include <limits.h>

#include "basic/util.h"

typedef struct Kernel Kernel;

#define WHOLE_MACHINE UINT_MAX

/* A node that is to be compacted. */
typedef struct CompactNode {
        unsigned id; /* WHOLE_MACHINE: where the kernel knows no nodes, or keeps them from us; alone, then */
        /* How many of its free blocks (of kernel_block_size()) are broken up for the time of the compaction,
         * as places to move pages to; see targets.h. */
        size_t targets;
} CompactNode;

struct Kernel {
        /* A whole file, without the last newline, to be freed by the caller. Negative errno. */
        int (*read)(Kernel *k, const char *path, char **ret);
        /* One write(2) on a freshly opened file. Negative errno as the kernel gives it. */
        int (*write)(Kernel *k, const char *path, const char *value);
        /* Compacts the memory of these nodes, all at the same time, and returns when the last one is done.
         * Negative errno where none was compacted. */
        int (*compact)(Kernel *k, const CompactNode *nodes, size_t n);
        /* Monotonic time in microseconds. */
        uint64_t (*now)(Kernel *k);
        void *userdata;
};

/* The real one; below root where that is not NULL (ordinary files then stand for the kernel's). */
Kernel kernel_real(const char *root);

/* compact.c: the real one's compact(). For others with files below a root, too. */
int compact_nodes(Kernel *k, const CompactNode *nodes, size_t n);

int kernel_read_u64(Kernel *k, const char *path, uint64_t *ret);
/* Bytes of the blocks that the kernel can break up on demand: transparent huge pages of the PMD size. 0: it
 * has none. */
uint64_t kernel_block_size(Kernel *k);
/* MemTotal and MemAvailable of /proc/meminfo, in bytes, of one moment. Errors of read() and of
 * meminfo_get(). */
int kernel_read_memory(Kernel *k, uint64_t *ret_total, uint64_t *ret_available);
