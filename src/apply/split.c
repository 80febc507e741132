/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where pages of a size do not come, larger ones that no pool claims are taken apart (hugetlbpage.rst,
 * demote; Linux 5.16 and later). */

#include "apply/run.h"

typedef struct Split {
        size_t from, to; /* size indexes */
        size_t node_index;
        uint64_t pages; /* larger ones */
} Split;

/* Pages of a size that a node could still take for pools that lack some. */
static uint64_t lacking(const Plan *plan, size_t s, size_t n) {
        uint64_t sum = 0;

        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *pp = &plan->pools[i];
                uint64_t pages = sub_sat(pp->granted, pp->planned);

                if (pp->size_index != s || !pp->allowed[n])
                        continue;
                if (pp->explicit_nodes)
                        pages = MIN(pages, sub_sat(pp->node_requested[n], pp->node_planned[n]));
                sum = add_sat(sum, pages);
        }
        return sum;
}

/* Sizes without a pool are left alone, and so is everything where a pool may be missing for a typo. */
static bool may_split(const Plan *plan, size_t s) {
        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].size_index == s)
                        return !plan_keeps_all(plan->config);
        return false;
}

static uint64_t unclaimed(Run *run, const Plan *plan, size_t s, size_t n) {
        NodePages p = {
                .run = run,
                .size_index = s,
                .node_index = n,
                .counts = run->host->nodes[n].pages[s],
        };

        return MIN(sub_sat(pages_persistent(&p.counts), plan_node(plan, s, n)->wanted), counts_spare(&p));
}

/* The smallest larger pages first: fewer are left over. */
static bool find_split(Run *run, const Plan *plan, Split *ret) {
        const Host *h = run->host;

        for (size_t to = h->n_sizes; to-- > 1;)
                for (size_t from = to; from-- > 0;)
                        for (size_t n = 0; n < h->n_nodes && may_split(plan, from); n++) {
                                uint64_t parts = h->sizes[from].bytes / h->sizes[to].bytes;
                                uint64_t lacks = lacking(plan, to, n);
                                uint64_t pages = (lacks + parts - 1) / parts;

                                if (lacks == 0 || parts < 2)
                                        continue;
                                pages = MIN(pages, unclaimed(run, plan, from, n));
                                if (pages == 0 || run_record(run, to, n)->unsplittable)
                                        continue;
                                *ret = (Split){ from, to, n, pages };
                                return true;
                        }
        return false;
}

/* Into what a page is split is one setting for all nodes; it is put back by the caller. */
static int choose_parts(Run *run, const Split *split, char **ret_path, char **ret_before) {
        const Host *h = run->host;
        _cleanup_free_ char *before = NULL,
                            *path = host_counter_path(h, NULL, h->sizes[split->from].bytes, "demote_size");
        char value[32];
        int r;

        if (!path)
                return -ENOMEM;
        r = run->kernel->read(run->kernel, path, &before);
        if (r < 0)
                return r;
        snprintf(value, sizeof(value), "%llukB", (unsigned long long) h->sizes[split->to].bytes / 1024);
        if (!streq(before, value)) {
                r = run->kernel->write(run->kernel, path, value);
                if (r < 0)
                        return r;
        }
        *ret_path = TAKE_PTR(path);
        *ret_before = TAKE_PTR(before);
        return 0;
}

static int split_pages(Run *run, const Split *split) {
        const Host *h = run->host;
        _cleanup_free_ char *size_path = NULL, *size_before = NULL,
                            *path = host_counter_path(h, h->numa ? &h->nodes[split->node_index] : NULL,
                                                      h->sizes[split->from].bytes, "demote");
        char value[32];
        int r;

        if (!path)
                return -ENOMEM;
        r = choose_parts(run, split, &size_path, &size_before);
        if (r < 0)
                return r;
        snprintf(value, sizeof(value), "%llu", (unsigned long long) split->pages);
        run->n_writes++;
        r = run->kernel->write(run->kernel, path, value);
        (void) run->kernel->write(run->kernel, size_path, size_before);
        return r;
}

int split_larger(Run *run, const Plan *plan) {
        Host *h = run->host;
        Split split;

        while (find_split(run, plan, &split)) {
                size_t cell = split.to * h->n_nodes + split.node_index;
                const PageCounts *counts = &h->nodes[split.node_index].pages[split.to];
                uint64_t before = pages_persistent(counts);
                int r;

                r = remember_splitting(run, split.from, split.to, split.node_index);
                if (r < 0)
                        return r;
                r = split_pages(run, &split);
                if (r != -ENOMEM)
                        r = counts_refresh(run->kernel, h);
                if (r < 0)
                        return r;
                if (pages_persistent(counts) > before) {
                        run->limits.pages[cell] = pages_persistent(counts);
                        return 1;
                }
                run_record(run, split.to, split.node_index)->unsplittable = true;
        }
        return 0;
}
