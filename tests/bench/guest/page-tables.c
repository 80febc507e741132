/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Breaks up memory with what belongs to the kernel: page tables, which cannot be moved.
 *
 *     page-tables SEED TABLES MIB
 *
 * They are made while MIB of memory are full of movable pages, in the holes that a few of those leave: where
 * they end up is the kernel's choice, and that is what vm.defrag_mode is about. Then the movable pages go.
 * Prints "ready", and holds the tables until it is ended. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define SERVED (2ul << 20) /* bytes of addresses that one table is for */

static uint64_t random_state;

static uint64_t random_next(void) { /* xorshift64: the same everywhere */
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state;
}

static char *map_small_pages(size_t bytes) {
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                       0);

        if (p == MAP_FAILED)
                return NULL;
        madvise(p, bytes, MADV_NOHUGEPAGE);
        return p;
}

int main(int argc, char *argv[]) {
        size_t tables, bytes, step;
        char *movable, *sparse;

        if (argc != 4)
                return 2;
        random_state = strtoul(argv[1], NULL, 10);
        tables = strtoul(argv[2], NULL, 10);
        bytes = strtoul(argv[3], NULL, 10) << 20;
        if (random_state == 0 || tables == 0 || bytes / PAGE <= tables)
                return 2;
        movable = map_small_pages(bytes);
        sparse = map_small_pages(tables * SERVED);
        if (!movable || !sparse)
                return perror("page-tables"), 1;

        for (size_t i = 0; i < bytes; i += PAGE)
                movable[i] = 1;
        step = bytes / PAGE / (tables + 1);
        for (size_t i = 0; i < tables; i++) {
                size_t page = i * step + random_next() % (step / 2 + 1);

                madvise(movable + page * PAGE, 2 * PAGE, MADV_DONTNEED);
                sparse[i * SERVED] = 1; /* a table, and a page to go with it */
        }
        munmap(movable, bytes);
        puts("ready");
        fflush(stdout);
        pause();
        return 0;
}
