/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts of pages, read anew from the kernel while it is being changed. */

#include "apply/run.h"

static int read_counter(Kernel *k, const Host *h, size_t size_index, const Node *node, const char *counter,
                        uint64_t *ret) {
        _cleanup_free_ char *path =
                host_counter_path(h, h->numa ? node : NULL, h->sizes[size_index].bytes, counter);

        return path ? kernel_read_u64(k, path, ret) : -ENOMEM;
}

int counts_read(Kernel *k, const Host *h, size_t size_index, size_t node_index, PageCounts *ret) {
        const Node *node = node_index == SIZE_MAX ? NULL : &h->nodes[node_index];
        PageCounts counts;
        const struct {
                const char *counter;
                uint64_t *field;
        } table[] = {
                { "nr_hugepages", &counts.nr },
                { "free_hugepages", &counts.free },
                { "surplus_hugepages", &counts.surplus },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                int r = read_counter(k, h, size_index, node, table[i].counter, table[i].field);

                if (r < 0)
                        return r;
        }
        *ret = counts;
        return 0;
}

static int refresh_size(Kernel *k, Host *h, size_t s) {
        PageSize *size = &h->sizes[s];
        PageCounts counts;
        uint64_t u;
        int r;

        r = counts_read(k, h, s, SIZE_MAX, &counts);
        if (r >= 0)
                size->total = counts;
        if (r == -ENOMEM)
                return r;
        r = read_counter(k, h, s, NULL, "resv_hugepages", &u);
        if (r >= 0)
                size->resv = u;
        if (r == -ENOMEM)
                return r;
        r = read_counter(k, h, s, NULL, "nr_overcommit_hugepages", &u);
        if (r >= 0)
                size->overcommit = u;
        if (r == -ENOMEM)
                return r;
        for (size_t n = 0; n < h->n_nodes; n++) {
                r = counts_read(k, h, s, n, &counts);
                if (r >= 0)
                        h->nodes[n].pages[s] = counts;
                if (r == -ENOMEM)
                        return r;
        }
        return 0;
}

int counts_read_total(Kernel *k, const Host *h, size_t size_index, const char *counter, uint64_t *ret) {
        return read_counter(k, h, size_index, NULL, counter, ret);
}

static void refresh_memory(Kernel *k, Host *h) {
        /* What cannot be known is not there: no page is added on a guess. */
        if (kernel_read_memory(k, &h->mem_total, &h->mem_available) < 0)
                h->mem_available = 0;
}

int counts_refresh(Kernel *k, Host *h) {
        refresh_memory(k, h);
        for (size_t s = 0; s < h->n_sizes; s++) {
                int r = refresh_size(k, h, s);

                if (r < 0)
                        return r;
        }
        return 0;
}

uint64_t counts_room(Run *run) {
        Host *h = run->host;
        uint64_t huge = 0;

        refresh_memory(run->kernel, h);
        for (size_t s = 0; s < h->n_sizes; s++) {
                (void) counts_read_total(run->kernel, h, s, "nr_hugepages", &h->sizes[s].total.nr);
                huge = add_sat(huge, mul_sat(h->sizes[s].total.nr, h->sizes[s].bytes));
        }
        return MIN(sub_sat(h->mem_total, add_sat(huge, run->keep_free)),
                   sub_sat(h->mem_available, run->keep_free));
}

/* A node's free pages include those that are promised to somebody and not yet touched; how many of them are
 * is known only over all nodes (hugetlbpage.rst, resv_hugepages). The kernel keeps as many persistent pages
 * as are in use and promised, surplus ones included (set_max_huge_pages(), min_count). */
uint64_t counts_spare(const NodePages *p) {
        const Host *h = p->run->host;
        Kernel *k = p->run->kernel;
        uint64_t free_pages, surplus, resv;

        if (counts_read_total(k, h, p->size_index, "free_hugepages", &free_pages) < 0 ||
            counts_read_total(k, h, p->size_index, "surplus_hugepages", &surplus) < 0 ||
            counts_read_total(k, h, p->size_index, "resv_hugepages", &resv) < 0)
                return 0;
        return MIN(p->counts.free, sub_sat(free_pages, add_sat(resv, surplus)));
}
