/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing the nodes of a page size, and going on where one write was not enough: making unbroken memory and
 * asking again. */

#include "apply/memory.h"
#include "apply/run.h"

/* All that are short at the same time; the machine's other nodes have no part in it. Where a kernel cannot
 * compact, asking again may still help. */
static int compact(Run *run, const NodePages *pages, size_t n) {
        _cleanup_free_ unsigned *ids = NULL;
        size_t n_ids = 0;

        if (!run->config->system.compact)
                return 0;
        ids = calloc(n + 1, sizeof(unsigned));
        if (!ids)
                return -ENOMEM;
        for (size_t i = 0; i < n && run->host->numa; i++)
                if (pages_can_grow(&pages[i]))
                        ids[n_ids++] = run->host->nodes[pages[i].node_index].id;
        (void) run->kernel->compact(run->kernel, ids, n_ids);
        return 0;
}

/* A compaction may end early, with nothing gained, where the next one goes on: on the same broken memory one
 * attempt got a third of the pages that a few got. Pages larger than the buddy allocator's blocks are looked
 * for and moved together by the write itself, which is slow and ends the same way each time. */
#define FRUITLESS_MAX 3u

static unsigned fruitless_max(const NodePages *p) {
        const Host *h = p->run->host;
        uint64_t page_size = h->sizes[p->size_index].bytes;
        NodeMemory m = {};

        return memory_look_at_blocks(p->run->kernel, h, NULL, page_size, &m) >= 0 && page_size <= m.block_max
                       ? FRUITLESS_MAX
                       : 1;
}

static void ask_again(NodePages *pages, size_t n, unsigned max) {
        for (size_t i = 0; i < n; i++) {
                NodePages *p = &pages[i];
                uint64_t before = pages_persistent(&p->counts);

                if (!pages_can_grow(p))
                        continue;
                pages_raise(p);
                p->fruitless = pages_persistent(&p->counts) > before ? 0 : p->fruitless + 1;
                if (p->fruitless >= max)
                        p->exhausted = true;
                run_progress(p->run, p->size_index);
        }
}

static bool any_can_grow(const NodePages *pages, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (pages_can_grow(&pages[i]))
                        return true;
        return false;
}

static int make_room(Run *run, NodePages *pages, size_t n) {
        unsigned max = any_can_grow(pages, n) ? fruitless_max(pages) : 0;

        while (any_can_grow(pages, n)) {
                int r;

                if (run->kernel->now(run->kernel) >= run->deadline) {
                        run->timed_out = true;
                        return 0;
                }
                r = compact(run, pages, n);
                if (r < 0)
                        return r;
                ask_again(pages, n, max);
        }
        return 0;
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
        for (size_t i = 0; i < n; i++) {
                pages_init(&pages[i], run, &writes[i]);
                if (writes[i].lowers)
                        pages_lower(&pages[i]);
                else
                        pages_raise(&pages[i]);
                run_progress(run, writes[i].size_index);
        }
        if (writes->lowers)
                return 0;
        r = make_room(run, pages, n);
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
