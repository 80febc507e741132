/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Breaking up free blocks on demand: a transparent huge page takes one; MADV_COLD on a part of it has the
 * kernel split it at once (Linux 5.4 and later), where giving back a part alone would be put off until
 * memory is short; and then all its pages but the first are given back. */

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "apply/kernel.h"
#include "apply/targets.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Preferred and not bound to: where the node's memory ran out in this moment, the kernel would otherwise
 * kill somebody for it. Called directly, as libnuma would be a library for one call. */
static int prefer_node(void *p, size_t size, unsigned node_id) {
        enum { BITS = 8 * sizeof(unsigned long) };
        unsigned long mask[(1u << 10) / BITS] = {};

        if (node_id >= ELEMENTSOF(mask) * BITS)
                return -ERANGE;
        mask[node_id / BITS] = 1ul << node_id % BITS;
        return syscall(SYS_mbind, p, size, MPOL_PREFERRED, mask, ELEMENTSOF(mask) * BITS + 1, 0) < 0 ? -errno
                                                                                                     : 0;
}

/* An area of n blocks, aligned as they are. */
static char *map_blocks(Targets *t, size_t n, size_t block_size) {
        size_t size = (n + 1) * block_size;
        char *p =
                mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
                return NULL;
        *t = (Targets){ p, size };
        return p + (block_size - (uintptr_t) p % block_size) % block_size;
}

/* Whether there is a page; who is not allowed to see frames still sees that. */
static bool is_present(int pagemap_fd, const char *p) {
        uint64_t entry;
        off_t place = (off_t) ((uintptr_t) p / (size_t) sysconf(_SC_PAGESIZE) * sizeof(entry));

        return pread(pagemap_fd, &entry, sizeof(entry), place) == sizeof(entry) && entry >> 63;
}

/* One page is asked for, and all of the block is there: it is a huge page. */
static bool take_block(char *block, size_t block_size, int pagemap_fd) {
        *(volatile char *) block = 1;
        return is_present(pagemap_fd, block + block_size - 1);
}

/* The same where they are switched off (Linux 6.1 and later), from the page that is there. */
static bool collapse_block(char *block, size_t block_size, int pagemap_fd) {
        return madvise(block, block_size, MADV_COLLAPSE) >= 0 &&
               is_present(pagemap_fd, block + block_size - 1);
}

static bool break_block(char *block, size_t block_size) {
        size_t page_size = (size_t) sysconf(_SC_PAGESIZE);

        return madvise(block, page_size, MADV_COLD) >= 0 &&
               madvise(block + page_size, block_size - page_size, MADV_DONTNEED) >= 0;
}

void targets_make(unsigned node_id, size_t n, size_t block_size, Targets *ret) {
        _cleanup_close_ int pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        char *blocks = block_size > 0 && pagemap_fd >= 0 ? map_blocks(ret, n, block_size) : NULL;
        bool switched_off = false;

        if (!blocks || madvise(blocks, n * block_size, MADV_HUGEPAGE) < 0 ||
            (node_id != WHOLE_MACHINE && prefer_node(blocks, n * block_size, node_id) < 0))
                return;
        for (size_t i = 0; i < n; i++) {
                char *block = blocks + i * block_size;
                bool taken = take_block(block, block_size, pagemap_fd);

                switched_off |= i == 0 && !taken;
                if (!taken && (!switched_off || !collapse_block(block, block_size, pagemap_fd)))
                        return;
                if (!break_block(block, block_size))
                        return;
        }
}

void targets_done(Targets *t) {
        if (t->area)
                (void) munmap(t->area, t->size);
        *t = (Targets){};
}
