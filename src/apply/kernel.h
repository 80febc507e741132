/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Kernel: the one door through which apply reads and writes /sys and /proc. Behind it is the real kernel, a
 * test's root directory, or the simulated kernel of tests/unit/sim-kernel.c. */

#include "basic/util.h"

typedef struct Kernel Kernel;

struct Kernel {
        /* A whole file, without the last newline, to be freed by the caller. Negative errno. */
        int (*read)(Kernel *k, const char *path, char **ret);
        /* One write(2) on a freshly opened file. Negative errno as the kernel gives it. */
        int (*write)(Kernel *k, const char *path, const char *value);
        /* Compacts the memory of these nodes, all at the same time, and returns when the last one is done; n
         * 0: of the whole machine, where the kernel knows no nodes. Negative errno where none was compacted.
         */
        int (*compact)(Kernel *k, const unsigned *node_ids, size_t n);
        /* Monotonic time in microseconds. */
        uint64_t (*now)(Kernel *k);
        void *userdata;
};

/* The real one; below root where that is not NULL (ordinary files then stand for the kernel's). */
Kernel kernel_real(const char *root);

/* compact.c: the real one's compact(). For others with files below a root, too. */
int compact_nodes(Kernel *k, const unsigned *node_ids, size_t n);

int kernel_read_u64(Kernel *k, const char *path, uint64_t *ret);
/* MemTotal and MemAvailable of /proc/meminfo, in bytes, of one moment. Errors of read() and of
 * meminfo_get(). */
int kernel_read_memory(Kernel *k, uint64_t *ret_total, uint64_t *ret_available);
