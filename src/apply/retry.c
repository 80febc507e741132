/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing the nodes of a page size, and going on where one write was not enough: making unbroken memory and
 * asking again. */

#include "apply/memory.h"
#include "apply/run.h"

/* After an allocation failed, the kernel puts its compaction off for up to 64 of the attempts that follow,
 * which end at once (mm/compaction.c, COMPACT_MAX_DEFER_SHIFT); the one behind them goes on where the last
 * one ended, and often gets all. So many writes in a row that gain nothing are the end. Pages larger than
 * the buddy allocator's blocks are looked for and moved together by the write itself, which is slow and ends
 * the same way each time. */
#define DEFERRED_MAX 64u

/* Free memory beyond what is wanted that compaction needs to move pages to: a fourth. */
#define RECLAIM_SLACK 4u

/* How much of a node's unbroken memory is broken up as places to move pages to: so many bytes at most, as
 * each block is zeroed for it; and a fourth of what is in pieces at most, as compaction may fill them and
 * free nothing. What lies above the highest of these blocks stays out of its sight, so they should be many:
 * which ones they are is the kernel's choice. */
#define TARGETS_MAX (512ull << 20)
#define TARGETS_SHARE 4u

static int look_at_blocks(const NodePages *p, uint64_t page_size, NodeMemory *ret) {
        const Host *h = p->run->host;
        _cleanup_free_ bool *marked = calloc(h->n_nodes + 1, sizeof(bool));

        *ret = (NodeMemory){};
        if (!marked)
                return -ENOMEM;
        marked[p->node_index] = true;
        return memory_look_at_blocks(p->run->kernel, h, h->numa ? marked : NULL, page_size, ret);
}

static uint64_t page_bytes(const NodePages *p) {
        return p->run->host->sizes[p->size_index].bytes;
}

static uint64_t missing_bytes(const NodePages *p) {
        return mul_sat(sub_sat(p->target, pages_persistent(&p->counts)), page_bytes(p));
}

/* Broken up, their memory is as free as before: nobody is short of it meanwhile. */
static size_t count_targets(const NodePages *p) {
        uint64_t block_size = kernel_block_size(p->run->kernel);
        NodeMemory m;

        if (block_size == 0 || look_at_blocks(p, block_size, &m) < 0 || block_size > m.block_max)
                return 0;
        return MIN(MIN(m.unbroken, sub_sat(m.free, m.unbroken) / TARGETS_SHARE),
                   MAX(TARGETS_MAX, block_size)) /
               block_size;
}

/* All that are short at the same time; the machine's other nodes have no part in it. Where a kernel cannot
 * compact, asking again may still help. */
static int compact(Run *run, const NodePages *pages, size_t n, bool (*filter)(const NodePages *p)) {
        _cleanup_free_ CompactNode *nodes = NULL;
        size_t n_nodes = 0;

        if (!run->config->system.compact)
                return 0;
        nodes = calloc(n + 1, sizeof(CompactNode));
        if (!nodes)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (filter(&pages[i]))
                        nodes[n_nodes++] = (CompactNode){
                                .id = run->host->numa ? run->host->nodes[pages[i].node_index].id
                                                      : WHOLE_MACHINE,
                                .targets = count_targets(&pages[i]),
                        };
        if (n_nodes > 0)
                (void) run->kernel->compact(run->kernel, nodes, n_nodes);
        return 0;
}

/* Free memory is there, but not in blocks of the size. An allocation compacts until it has one page, and
 * after that for the next one; one compaction of all is quicker by far, and is not put off. */
static bool lacks_blocks(const NodePages *p) {
        NodeMemory m;

        if (!pages_can_grow(p) || look_at_blocks(p, page_bytes(p), &m) < 0 || page_bytes(p) > m.block_max)
                return false;
        return m.unbroken < missing_bytes(p) && sub_sat(m.free, m.unbroken) >= page_bytes(p);
}

static bool out_of_time(Run *run) {
        if (run->kernel->now(run->kernel) >= run->deadline)
                run->timed_out = true;
        return run->timed_out;
}

/* How many writes in a row must have gained nothing, for pages of the group's size. */
static unsigned attempts_max(const NodePages *p) {
        NodeMemory m;

        return look_at_blocks(p, page_bytes(p), &m) >= 0 && page_bytes(p) <= m.block_max ? DEFERRED_MAX + 1
                                                                                         : 1;
}

static void ask_until_stuck(NodePages *p, unsigned attempts) {
        for (unsigned misses = 0; pages_can_grow(p) && misses < attempts;) {
                uint64_t before = pages_persistent(&p->counts);

                pages_raise(p);
                run_progress(p->run, p->size_index);
                misses = pages_persistent(&p->counts) > before ? 0 : misses + 1;
                if (out_of_time(p->run))
                        return;
        }
}

static bool any_can_grow(const NodePages *pages, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (pages_can_grow(&pages[i]))
                        return true;
        return false;
}

/* Compaction makes blocks of free memory only, and an allocation whose compaction is put off does not
 * reclaim either: where the page cache has the memory, it must be asked for. As much as is missing and no
 * more, the least recently used first, and nothing that would be swapped out. nodeN/reclaim: Linux 6.17 and
 * later; memory.reclaim with swappiness=: 6.9. */
static void reclaim(const NodePages *p) {
        const Host *h = p->run->host;
        Kernel *k = p->run->kernel;
        uint64_t wanted = missing_bytes(p), bytes;
        char path[64], value[64];
        NodeMemory m;

        if (!pages_can_grow(p) || look_at_blocks(p, page_bytes(p), &m) < 0)
                return;
        bytes = sub_sat(add_sat(wanted, wanted / RECLAIM_SLACK), m.free);
        if (bytes == 0)
                return;
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/reclaim", h->nodes[p->node_index].id);
        snprintf(value, sizeof(value), "%llu swappiness=0", (unsigned long long) bytes);
        /* Less than asked for is -EAGAIN, and as welcome. */
        if (!h->numa || k->write(k, path, value) == -ENOENT)
                (void) k->write(k, "/sys/fs/cgroup/memory.reclaim", value);
}

/* Compaction by request and that of the allocation in turns: each gets what the other does not. */
static int make_room(Run *run, NodePages *pages, size_t n, unsigned attempts) {
        while (any_can_grow(pages, n) && !out_of_time(run)) {
                int r;

                for (size_t i = 0; i < n && run->config->system.compact; i++)
                        reclaim(&pages[i]);
                r = compact(run, pages, n, pages_can_grow);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < n; i++) {
                        uint64_t before = pages_persistent(&pages[i].counts);

                        ask_until_stuck(&pages[i], attempts);
                        if (pages_persistent(&pages[i].counts) == before && !run->timed_out)
                                pages[i].exhausted = true;
                }
        }
        return 0;
}

static int raise_pages(Run *run, NodePages *pages, size_t n) {
        unsigned attempts;
        int r = compact(run, pages, n, lacks_blocks); /* before a write takes the free blocks it needs */

        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                pages_raise(&pages[i]);
                run_progress(run, pages[i].size_index);
        }
        if (!any_can_grow(pages, n))
                return 0;
        attempts = attempts_max(pages);
        for (size_t i = 0; i < n && !out_of_time(run); i++)
                ask_until_stuck(&pages[i], attempts - 1);
        return make_room(run, pages, n, attempts);
}

static void lower_pages(Run *run, NodePages *pages, size_t n) {
        for (size_t i = 0; i < n; i++) {
                pages_lower(&pages[i]);
                run_progress(run, pages[i].size_index);
        }
}

size_t pages_group(const PlanWrite *writes, size_t n) {
        size_t k = 0;

        while (k < n && writes[k].kind == WRITE_POOL && writes[k].size_index == writes->size_index &&
               writes[k].lowers == writes->lowers)
                k++;
        return k;
}

/* 1 where a node is short. */
static int learn_limits(Run *run, const NodePages *pages, size_t n) {
        int any_short = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t reserved = pages_persistent(&pages[i].counts);

                if (reserved >= pages[i].target)
                        continue;
                run->limits.pages[pages[i].size_index * run->host->n_nodes + pages[i].node_index] = reserved;
                any_short = 1;
        }
        return any_short;
}

int pages_write(Run *run, const PlanWrite *writes, size_t n) {
        _cleanup_free_ NodePages *pages = calloc(n, sizeof(NodePages));
        int r;

        if (!pages)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                pages_init(&pages[i], run, &writes[i]);
        if (writes->lowers) {
                lower_pages(run, pages, n);
                return 0;
        }
        r = raise_pages(run, pages, n);
        return r < 0 ? r : learn_limits(run, pages, n);
}

bool drop_caches(Run *run) {
        Kernel *k = run->kernel;

        if (!run->config->system.drop_caches || run->dropped_caches || k->now(k) >= run->deadline)
                return false;
        run->dropped_caches = true;
        /* 1: the page cache alone; dentries and inodes (2) are dear to read again and small. */
        return k->write(k, "/proc/sys/vm/drop_caches", "1") >= 0;
}
