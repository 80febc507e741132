/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fragment: breaks up the memory of this machine in a way that anyone can repeat, and holds it until its
 * standard input ends. Prints "ready" once everything is in place.
 *
 *     fragment [--seed N] [--keep-percent N] [--heal] KIND BYTES
 *
 * regular   movable pages: BYTES are touched, and given back but for one page in four
 * random    the same with holes at random places
 * aligned   as regular, but what stays are the pages at every fourth frame, and the last sixteenth of
 *           memory: compaction looks for free pages from there, and is then blind to these holes
 *           (src/apply/targets.h)
 * cache     as random, but the holes are full of clean page cache
 * pinned    as random, and in one block of 2 MiB in four a page that stays is pinned, so that the kernel
 *           cannot move it: what RDMA, io_uring and vfio do to memory
 *
 * What stays is keep-percent (25) of BYTES. One more, for whoever experiments:
 *
 * hold      takes pages of 2 MiB, those at the lowest addresses, until BYTES are available. They are no
 *           business of compaction: what is left is a smaller machine. Does so anew for each byte that it
 *           reads. Wants THP and its defrag in mode madvise, as does
 *
 * --heal    with any kind: the kernel has forgotten before that compaction ever failed. BYTES must be nearly
 *           all that is available. */

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "basic/parse.h"
#include "basic/util.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096ul
#define HUGE (2ul << 20)
#define EDGE (1ul << 30) /* of what is available; beyond it others would suffer */
#define PIPE_PAGES 256u  /* what a pipe takes without any setting (pipe-max-size) */

static uint64_t random_state = 1;
static unsigned keep_percent = 25;

static uint64_t random_next(void) { /* xorshift64*: the same everywhere */
        random_state ^= random_state >> 12;
        random_state ^= random_state << 25;
        random_state ^= random_state >> 27;
        return random_state * 0x2545f4914f6cdd1du;
}

typedef bool (*Keep)(size_t page);

static bool keep_random(size_t page) {
        return (random_next() >> 32) % 100 < keep_percent;
}

static bool keep_regular(size_t page) {
        return page * keep_percent / 100 != (page + 1) * keep_percent / 100;
}

/* Every block can be emptied by moving one page; at random, as compaction can be blind to regular holes. */
static bool keep_one_a_block(size_t page) {
        static size_t kept;

        if (page % (HUGE / PAGE) == 0)
                kept = page + random_next() % (HUGE / PAGE);
        return page == kept;
}

static uint64_t page_frame(const char *page);
static const char *aligned_area;
static uint64_t aligned_top; /* the frame from which on all stays */

static bool keep_aligned(size_t page) {
        uint64_t frame = page_frame(aligned_area + page * PAGE);

        return frame >= aligned_top || frame % (100 / keep_percent) == 0;
}

static char *map_pages(size_t bytes, int advice) {
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                       0);

        if (p == MAP_FAILED)
                return NULL;
        if (madvise(p, bytes, advice) < 0 && errno != EINVAL) /* EINVAL: a kernel without THP */
                return NULL;
        return p;
}

static char *map_touched(size_t bytes) {
        char *p = map_pages(bytes, MADV_NOHUGEPAGE);

        if (!p || madvise(p, bytes, MADV_POPULATE_WRITE) >= 0)
                return p;
        for (size_t i = 0; i < bytes; i += PAGE) /* a kernel before 5.14 */
                p[i] = 1;
        return p;
}

/* Gives back runs of pages, so that a system call serves several. */
static void give_back(char *p, size_t bytes, Keep keep) {
        size_t start = 0, n = bytes / PAGE;

        for (size_t i = 0; i <= n; i++) {
                if (i < n && !keep(i))
                        continue;
                if (i > start)
                        madvise(p + start * PAGE, (i - start) * PAGE, MADV_DONTNEED);
                start = i + 1;
        }
}

static int fragment_movable(size_t bytes, Keep keep) {
        char *p = map_touched(bytes);

        if (!p)
                return -errno;
        give_back(p, bytes, keep);
        return 0;
}

static int fragment_aligned(size_t bytes) {
        char *p = map_touched(bytes);

        if (!p)
                return -errno;
        aligned_area = p;
        for (size_t i = 0; i < bytes; i += PAGE)
                aligned_top = MAX(aligned_top, page_frame(p + i));
        aligned_top -= MIN(aligned_top, bytes / PAGE / 16);
        give_back(p, bytes, keep_aligned);
        return 0;
}

/* A file that is one hole fills the page cache without touching the disk. */
static int open_hole(size_t bytes) {
        char name[] = "/var/tmp/fragment.XXXXXX";
        int fd = mkstemp(name);

        if (fd < 0)
                return -errno;
        (void) unlink(name);
        if (ftruncate(fd, (off_t) bytes) < 0)
                return -errno;
        /* No reading ahead: it would make folios of many pages. */
        return posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0 ? fd : -EINVAL;
}

static int fragment_cache(size_t bytes) {
        char *p = map_pages(bytes, MADV_NOHUGEPAGE), byte;
        int fd = open_hole(bytes); /* stays open: with it the cache would go */

        if (!p || fd < 0)
                return p ? fd : -ENOMEM;
        for (size_t i = 0; i < bytes; i += PAGE)
                if (keep_random(i / PAGE))
                        p[i] = 1;
                else if (pread(fd, &byte, 1, (off_t) i) != 1)
                        return -EIO;
        return 0;
}

/* A page in a pipe is referenced by nobody that migration could ask to let it go. */
static int pin_page(char *page, size_t n) {
        static int fds[2];
        struct iovec iov = { .iov_base = page, .iov_len = PAGE };

        if (n % PIPE_PAGES == 0 &&
            (pipe(fds) < 0 || fcntl(fds[1], F_SETPIPE_SZ, (int) (PIPE_PAGES * PAGE)) < 0))
                return -errno;
        return vmsplice(fds[1], &iov, 1, SPLICE_F_NONBLOCK) == (ssize_t) PAGE ? 0 : -errno;
}

static int fragment_pinned(size_t bytes) {
        char *p = map_touched(bytes);
        size_t n = 0;

        if (!p)
                return -errno;
        for (size_t block = 0; block < bytes; block += HUGE) {
                size_t page = random_next() % (HUGE / PAGE);
                int r;

                if (!keep_random(block))
                        continue;
                r = pin_page(p + block + page * PAGE, n++);
                if (r < 0)
                        return r;
        }
        give_back(p, bytes, keep_random); /* a pinned page stays, whoever else lets it go */
        return 0;
}

/* The frame of a page, 0 where there is none. */
static uint64_t page_frame(const char *page) {
        static int fd = -1;
        uint64_t entry;

        if (fd < 0)
                fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        if (pread(fd, &entry, sizeof(entry), (off_t) ((uintptr_t) page / PAGE * sizeof(entry))) !=
            sizeof(entry))
                return 0;
        return entry >> 63 ? entry & ((1ull << 55) - 1) : 0;
}

/* The frame of the huge page that touching gave; 0, and nothing touched, where it gave a small one. */
static uint64_t touch_huge(char *p) {
        *p = 1;
        if (page_frame(p + PAGE) != 0)
                return page_frame(p);
        madvise(p, HUGE, MADV_DONTNEED);
        return 0;
}

/* A value of a file of "name value" or "name: value kB" lines. */
static uint64_t kernel_value(const char *path, const char *name) {
        FILE *f = fopen(path, "re");
        char line[256];
        uint64_t value = 0;

        while (f && fgets(line, sizeof(line), f)) {
                size_t n = strlen(name);

                if (strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == ':'))
                        value = strtoull(line + n + 1, NULL, 10);
        }
        if (f)
                fclose(f);
        return value;
}

static uint64_t available_bytes(void) {
        return kernel_value("/proc/meminfo", "MemAvailable") * 1024;
}

static char *map_huge(size_t bytes) {
        char *p = map_pages(bytes + HUGE, MADV_HUGEPAGE);

        return p ? p + (HUGE - (uintptr_t) p % HUGE) % HUGE : NULL;
}

typedef struct Block {
        uint64_t frame;
        char *p;
} Block;

static int compare_frames(const void *a, const void *b) {
        const Block *x = a, *y = b;

        return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* The first *n of blocks are held: lets go of the last, or takes more, until leave is available. */
static int balance(const Block *blocks, size_t n_blocks, size_t *n, size_t leave) {
        uint64_t available = available_bytes();

        for (; *n > 0 && available < leave; available += HUGE)
                madvise(blocks[--*n].p, HUGE, MADV_DONTNEED);
        for (; *n < n_blocks && available >= leave + HUGE; available -= HUGE, ++*n)
                if (touch_huge(blocks[*n].p) == 0)
                        break;
        for (size_t i = 0; i < *n; i++)
                if (mlock(blocks[i].p, HUGE) < 0)
                        return -errno;
        return available < leave + leave / 16 ? 0 : -EBUSY;
}

static int hold(size_t leave) {
        size_t most = available_bytes() / HUGE, n = 0, n_held;
        _cleanup_free_ Block *blocks = calloc(most + 1, sizeof(Block));
        char *p = map_huge(most * HUGE), c;
        int r;

        if (!p || !blocks)
                return -ENOMEM;
        /* Nearly all, whatever is asked for: only so are those of low addresses among them. */
        for (; n < most && available_bytes() > MIN(leave, EDGE); n++) {
                blocks[n] = (Block){ touch_huge(p + n * HUGE), p + n * HUGE };
                if (blocks[n].frame == 0)
                        break;
        }
        qsort(blocks, n, sizeof(Block), compare_frames);
        n_held = n;
        do {
                r = balance(blocks, n, &n_held, leave);
                if (r < 0)
                        return r;
                puts("ready");
                fflush(stdout);
        } while (read(STDIN_FILENO, &c, 1) > 0);
        return 0;
}

static uint64_t n_compacted(void) {
        return kernel_value("/proc/vmstat", "compact_success");
}

/* Allocations until one found no unbroken block and succeeded after compacting. */
static int compact_directly(void) {
        enum { MOST = 1024 }; /* while compaction is deferred up to 64 do not even try */
        char *p = map_huge(MOST * HUGE);
        uint64_t before = n_compacted();
        int r = -EAGAIN;

        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < MOST && r < 0; i++) {
                (void) touch_huge(p + i * HUGE);
                if (n_compacted() > before)
                        r = 0;
        }
        munmap(p, MOST * HUGE);
        return r;
}

/* A success of an allocation resets the deferral of its zone (compaction_defer_reset()). Memory is filled,
 * so that kswapd runs: when it goes back to sleep it removes the marks of blocks where compaction got
 * nowhere (reset_isolation_suitable()). Then compaction succeeds where one page a block is left. */
static int heal(size_t bytes) {
        char *p = map_touched(bytes);
        int r;

        if (!p)
                return -errno;
        (void) usleep(300000); /* kswapd */
        give_back(p, bytes, keep_one_a_block);
        r = compact_directly();
        munmap(p, bytes);
        return r;
}

static int fragment(const char *kind, size_t bytes) {
        if (streq(kind, "regular"))
                return fragment_movable(bytes, keep_regular);
        if (streq(kind, "aligned"))
                return fragment_aligned(bytes);
        if (streq(kind, "random"))
                return fragment_movable(bytes, keep_random);
        if (streq(kind, "cache"))
                return fragment_cache(bytes);
        if (streq(kind, "pinned"))
                return fragment_pinned(bytes);
        if (streq(kind, "hold"))
                return hold(bytes);
        return -EINVAL;
}

static int usage(void) {
        fprintf(stderr, "Usage: fragment [--seed N] [--keep-percent N] [--heal] "
                        "regular|random|aligned|cache|pinned|hold BYTES\n");
        return 2;
}

static void wait_for_end(void) {
        char c;

        while (read(STDIN_FILENO, &c, 1) > 0 || errno == EINTR)
                errno = 0;
}

int main(int argc, char *argv[]) {
        static const struct option options[] = {
                { "seed", required_argument, NULL, 's' },
                { "keep-percent", required_argument, NULL, 'k' },
                { "heal", no_argument, NULL, 'h' },
                {},
        };
        uint64_t bytes, percent = keep_percent, seed = 1;
        bool healing = false;
        int r = 0;

        for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;)
                if ((c == 's' && parse_u64(optarg, &seed) < 0) ||
                    (c == 'k' && (parse_u64(optarg, &percent) < 0 || percent - 1 > 99)) || c == '?')
                        return usage();
                else if (c == 'h')
                        healing = true;
        if (argc - optind != 2 || parse_size(argv[optind + 1], &bytes) < 0 || seed == 0)
                return usage();
        random_state = seed * 0x9e3779b97f4a7c15u; /* seeds that follow each other have little in common */
        keep_percent = (unsigned) percent;

        bytes = bytes / HUGE * HUGE;
        if (healing)
                r = heal(bytes);
        if (r >= 0)
                r = fragment(argv[optind], bytes);
        if (r < 0) {
                fprintf(stderr, "fragment: %s: %s\n", argv[optind], strerror(-r));
                return r == -EINVAL ? usage() : 1;
        }
        if (streq(argv[optind], "hold")) /* until there was nothing to read */
                return 0;
        puts("ready");
        fflush(stdout);
        wait_for_end();
        return 0;
}
