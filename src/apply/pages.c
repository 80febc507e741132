/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing one node's nr_hugepages, and believing only what is read back. */

#include "apply/memory.h"
#include "apply/run.h"

static NodeRecord *node_record(const NodePages *p) {
        return run_record(p->run, p->size_index, p->node_index);
}

static uint64_t persistent(const NodePages *p) {
        return pages_persistent(&p->counts);
}

static int read_back(NodePages *p) {
        return counts_read(p->run->kernel, p->run->host, p->size_index, p->node_index, &p->counts);
}

static int write_count(NodePages *p, uint64_t pages) {
        char value[32];
        int r, q;

        snprintf(value, sizeof(value), "%llu", (unsigned long long) pages);
        p->run->n_writes++;
        r = p->run->kernel->write(p->run->kernel, p->path, value);
        q = read_back(p); /* also after an error: part of it may have been done */
        return r < 0 ? r : q;
}

/* Kernels before 6.7 add surplus pages of other nodes to what a node is asked to have ("mm/hugetlb: fix
 * nodes huge page allocation when there are surplus pages"): so many pages too many can come of one write.
 */
static uint64_t surplus_elsewhere(const NodePages *p) {
        const Host *h = p->run->host;
        uint64_t total;

        if (p->run->counts_right || h->n_nodes < 2)
                return 0;
        if (counts_read_total(p->run->kernel, h, p->size_index, "surplus_hugepages", &total) < 0)
                return 0;
        return sub_sat(total, p->counts.surplus);
}

/* Corrects what such a kernel made of a write, without touching pages that have been promised since. A
 * second time, as surplus pages come and go. */
static int take_back(NodePages *p, uint64_t target) {
        p->run->counts_right = false;
        for (unsigned i = 0; i < 2 && persistent(p) > target; i++) {
                uint64_t excess = MIN(persistent(p) - target, counts_spare(p));
                int r;

                if (excess == 0)
                        return 0;
                r = write_count(p, sub_sat(persistent(p) - excess, surplus_elsewhere(p)));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What to write so that neither kind of kernel makes more than pages of it, and never more than ceiling. */
static uint64_t cautious_count(const NodePages *p, uint64_t pages, uint64_t ceiling, uint64_t margin) {
        uint64_t count = sub_sat(pages, margin);

        /* Fewer than there are would be a request to lower: rather too many, which can be taken back. */
        return count > persistent(p) ? count : MIN(pages, sub_sat(ceiling, margin));
}

/* Only where a kernel with the bug could have made the margin's pages as well: else memory was short, and
 * the number came out right by chance. */
static bool had_more(const NodePages *p, uint64_t margin) {
        const Host *h = p->run->host;
        uint64_t page_size = h->sizes[p->size_index].bytes;
        _cleanup_free_ bool *marked = calloc(h->n_nodes + 1, sizeof(bool));
        NodeMemory m = {};

        if (!marked)
                return false;
        marked[p->node_index] = true;
        return memory_look_at_blocks(p->run->kernel, h, marked, page_size, &m) >= 0 &&
               m.unbroken / page_size >= margin;
}

static int raise_once(NodePages *p, uint64_t target) {
        uint64_t page_size = p->run->host->sizes[p->size_index].bytes;

        for (unsigned i = 0; i < 2; i++) {
                uint64_t room = counts_room(p->run), ceiling, margin, pages, count;
                int r = read_back(p); /* after the room: pages that have left made some of it */

                if (r < 0)
                        return r;
                /* Surplus pages of this node become persistent ones first and need no new memory. */
                ceiling = add_sat(p->counts.nr, room / page_size);
                margin = surplus_elsewhere(p);
                pages = MIN(target, ceiling);
                count = cautious_count(p, pages, ceiling, margin);

                node_record(p)->kept_free = pages < target;
                if (count <= persistent(p))
                        return 0;
                r = write_count(p, count);
                if (r < 0)
                        return r;
                if (persistent(p) > pages)
                        return take_back(p, pages);
                if (margin == 0 || persistent(p) != count)
                        return 0;
                p->run->counts_right = had_more(p, margin); /* then for the rest, without caution */
        }
        return 0;
}

/* Never more than is free and promised to nobody: the kernel would make surplus pages of those in use, and
 * they would be lost when their owner leaves. */
static int lower_node(NodePages *p, uint64_t target) {
        uint64_t surplus = p->counts.surplus, margin = surplus_elsewhere(p);
        uint64_t page_size = p->run->host->sizes[p->size_index].bytes;
        int r;

        target = MAX(target, sub_sat(persistent(p), counts_spare(p)));
        if (target >= persistent(p) ||
            (margin > 0 && add_sat(target, margin) > add_sat(p->counts.nr, counts_room(p->run) / page_size)))
                return 0;
        r = write_count(p, target);
        if (r >= 0 && persistent(p) > target)
                r = take_back(p, target);
        /* Somebody was faster and took pages between reading and writing: they are given back to the pool.
         */
        if (r >= 0 && p->counts.surplus > surplus)
                r = raise_once(p, persistent(p) + p->counts.surplus - surplus);
        return r;
}

static void store(NodePages *p, int r) {
        if (r < 0) {
                node_record(p)->error = r;
                p->exhausted = true;
        }
        p->run->host->nodes[p->node_index].pages[p->size_index] = p->counts;
}

void pages_init(NodePages *p, Run *run, const PlanWrite *w) {
        *p = (NodePages){
                .run = run,
                .size_index = w->size_index,
                .node_index = w->node_index,
                .path = w->path,
                .target = w->pages,
                .counts = run->host->nodes[w->node_index].pages[w->size_index],
        };
        store(p, read_back(p));
}

bool pages_can_grow(const NodePages *p) {
        return persistent(p) < p->target && !p->exhausted && !node_record(p)->kept_free;
}

/* Others may have been here since the plan was made: a raise never lowers, and the reverse. */
void pages_raise(NodePages *p) {
        if (!p->exhausted && persistent(p) < p->target)
                store(p, raise_once(p, p->target));
}

void pages_lower(NodePages *p) {
        if (!p->exhausted && persistent(p) > p->target)
                store(p, lower_node(p, p->target));
}
