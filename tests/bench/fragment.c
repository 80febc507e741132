/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fragment: breaks up the memory of this machine in a way that anyone can repeat, and holds it until it is
 * told to end (SIGTERM, or end of file on standard input). Prints "ready" once everything is in place.
 *
 *     fragment [--seed N] [--keep-percent N] KIND BYTES
 *
 * regular   movable pages: BYTES are touched, of each four pages three are given back
 * random    the same with holes at random places
 * cache     page cache: a file of BYTES is written in the current directory and removed at the end
 * pinned    small objects that the kernel cannot move (page tables), each between pages that are given back
 *
 * What stays is keep-percent (25) of BYTES. */

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>

#include "basic/parse.h"
#include "basic/util.h"

#define PAGE 4096ul
#define HUGE (2ul << 20)

static uint64_t random_state = 1;

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
        if (madvise(p, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL) /* EINVAL: a kernel without THP */
                return NULL;
        return p;
}

static int touch(char *p, size_t bytes) {
        for (size_t i = 0; i < bytes; i += PAGE)
                p[i] = 1;
        return 0;
}

/* Gives back runs of pages, so that a system call serves several. */
static void give_back(char *p, size_t bytes, bool (*keep)(size_t page, unsigned percent), unsigned percent) {
        size_t start = 0, n = bytes / PAGE;

        for (size_t i = 0; i <= n; i++) {
                if (i < n && !keep(i, percent))
                        continue;
                if (i > start)
                        madvise(p + start * PAGE, (i - start) * PAGE, MADV_DONTNEED);
                start = i + 1;
        }
}

static bool keep_regular(size_t page, unsigned percent) {
        return page * percent / 100 != (page + 1) * percent / 100;
}

static bool keep_random(size_t page, unsigned percent) {
        return random_next() % 100 < percent;
}

static int fragment_movable(size_t bytes, unsigned percent, bool regular) {
        char *p = map_small_pages(bytes);

        if (!p)
                return -errno;
        touch(p, bytes);
        give_back(p, bytes, regular ? keep_regular : keep_random, percent);
        return 0;
}

static int fragment_cache(size_t bytes, int *ret_fd) {
        _cleanup_free_ char *block = calloc(1, 1 << 20);
        char name[] = "fragment.XXXXXX";
        int fd = mkstemp(name);

        if (!block || fd < 0)
                return -errno;
        (void) unlink(name);
        for (size_t done = 0; done < bytes; done += 1 << 20)
                if (write(fd, block, 1 << 20) < 0)
                        return -errno;
        if (fsync(fd) < 0) /* dirty pages would not be cache that can be dropped */
                return -errno;
        *ret_fd = fd;
        return 0;
}

/* A page table serves 2 MiB of addresses with one page that cannot be moved. They are made while memory is
 * full of movable pages, in the holes that a few of those leave, so that they end up everywhere. */
static int fragment_pinned(size_t bytes, unsigned percent) {
        size_t n_tables = bytes / PAGE * percent / 100 / 8, step = bytes / PAGE / (n_tables + 1);
        char *movable = map_small_pages(bytes), *sparse = map_small_pages(n_tables * HUGE);

        if (!movable || !sparse)
                return -errno;
        touch(movable, bytes);
        for (size_t i = 0; i < n_tables; i++) {
                size_t page = i * step + random_next() % (step / 2 + 1);

                madvise(movable + page * PAGE, 2 * PAGE, MADV_DONTNEED);
                sparse[i * HUGE] = 1;
        }
        munmap(movable, bytes);
        return 0;
}

static void wait_for_end(void) {
        char c;

        while (read(STDIN_FILENO, &c, 1) > 0 || (errno == EINTR))
                ;
}

static int usage(void) {
        fprintf(stderr, "Usage: fragment [--seed N] [--keep-percent N] regular|random|cache|pinned BYTES\n");
        return 2;
}

int main(int argc, char *argv[]) {
        static const struct option options[] = {
                { "seed", required_argument, NULL, 's' },
                { "keep-percent", required_argument, NULL, 'k' },
                {},
        };
        uint64_t bytes, percent = 25;
        const char *kind;
        int fd = -1, r;

        for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;)
                if ((c == 's' && parse_u64(optarg, &random_state) < 0) ||
                    (c == 'k' && (parse_u64(optarg, &percent) < 0 || percent > 100)) || c == '?')
                        return usage();
        if (argc - optind != 2 || parse_size(argv[optind + 1], &bytes) < 0 || random_state == 0)
                return usage();

        kind = argv[optind];
        if (streq(kind, "regular") || streq(kind, "random"))
                r = fragment_movable(bytes, (unsigned) percent, streq(kind, "regular"));
        else if (streq(kind, "cache"))
                r = fragment_cache(bytes, &fd);
        else if (streq(kind, "pinned"))
                r = fragment_pinned(bytes, (unsigned) percent);
        else
                return usage();
        if (r < 0) {
                fprintf(stderr, "fragment: %s: %s\n", kind, strerror(-r));
                return 1;
        }
        puts("ready");
        fflush(stdout);
        wait_for_end();
        return 0;
}
