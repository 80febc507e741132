/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where pages of a size do not come, larger ones that no pool claims are taken apart (hugetlbpage.rst,
 * demote; Linux 5.16 and later). */

#include "apply/run.h"

typedef struct Split {
        size_t from, to; /* size indexes */
        size_t node_index;
        uint64_t pages; /* larger ones */
} Split;

/* Pages that the first plan had room for, and that have not come. What KeepFree= cut before is not made up
 * for from larger pages: with a Size= that is a typo, that would be all of them. */
static uint64_t pool_lacks(const Plan *first, const PlanPool *pp) {
        for (size_t i = 0; i < first->n_pools; i++)
                if (first->pools[i].pool == pp->pool)
                        return sub_sat(first->pools[i].planned, pp->planned);
        return 0;
}

/* Pages of a size that a node could still take for pools that lack some. */
static uint64_t lacking(const Plan *first, const Plan *plan, size_t s, size_t n) {
        uint64_t sum = 0;

        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *pp = &plan->pools[i];
                uint64_t pages;

                if (pp->size_index != s || !pp->allowed[n])
                        continue;
                pages = pool_lacks(first, pp);
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

/* What was there before the first change of this boot is not ours to take, claimed or not. */
static uint64_t unclaimed(Run *run, const Plan *plan, size_t s, size_t n) {
        NodePages p = {
                .run = run,
                .size_index = s,
                .node_index = n,
                .counts = run->host->nodes[n].pages[s],
        };
        const PlanNode *node = plan_node(plan, s, n);
        uint64_t kept = MAX(node->wanted, MIN(node->before, pages_persistent(&p.counts)));

        return MIN(sub_sat(pages_persistent(&p.counts), kept), counts_spare(&p));
}

/* The smallest larger pages first: fewer are left over. */
static bool find_split(Run *run, const Plan *first, const Plan *plan, Split *ret) {
        const Host *h = run->host;

        for (size_t to = h->n_sizes; to-- > 1;)
                for (size_t from = to; from-- > 0;)
                        for (size_t n = 0; n < h->n_nodes && may_split(plan, from); n++) {
                                uint64_t parts = h->sizes[from].bytes / h->sizes[to].bytes;
                                uint64_t lacks = lacking(first, plan, to, n);
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

#define PARTS_FILE "demote_size"

/* Failing to write the state afterwards costs nothing: what is remembered too long is found as it should be
 * by the next run. */
static int forget_parts(Run *run, const char *path) {
        return remember_no_knob(run, path) == -ENOMEM ? -ENOMEM : 0;
}

/* Into what a page is split is one setting for all nodes, and it stays: what it was before is remembered
 * until it is put back. *ret_before is NULL where it is right as it is. */
static int choose_parts(Run *run, const char *path, uint64_t parts_size, char **ret_before) {
        _cleanup_free_ char *before = NULL;
        char value[32];
        int r = run->kernel->read(run->kernel, path, &before);

        *ret_before = NULL;
        if (r < 0)
                return r;
        snprintf(value, sizeof(value), "%llukB", (unsigned long long) parts_size / 1024);
        if (streq(before, value))
                return 0;
        r = remember_knob_value(run, path, before);
        if (r < 0)
                return r;
        *ret_before = TAKE_PTR(before);
        return run->kernel->write(run->kernel, path, value);
}

/* Forgotten only where it was read back: else the next run tries again. */
static int put_back(Run *run, const char *path, const char *before) {
        _cleanup_free_ char *now = NULL;
        int r;

        (void) run->kernel->write(run->kernel, path, before);
        r = run->kernel->read(run->kernel, path, &now);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return streq(now, before) ? forget_parts(run, path) : 0;
}

int split_put_back(Run *run) {
        const State *s = run->host->state;

        for (size_t i = s ? s->n_knobs : 0; i-- > 0;) {
                const StateKnob *knob = &s->knobs[i];
                _cleanup_free_ char *path = NULL, *before = NULL;
                int r;

                if (!endswith(knob->path, "/" PARTS_FILE))
                        continue;
                path = strdup(knob->path);
                before = strdup(knob->value);
                if (!path || !before)
                        return -ENOMEM;
                run->n_writes++;
                r = put_back(run, path, before);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int split_pages(Run *run, const Split *split) {
        const Host *h = run->host;
        const Node *node = h->numa ? &h->nodes[split->node_index] : NULL;
        uint64_t page_size = h->sizes[split->from].bytes;
        _cleanup_free_ char *size_path = host_counter_path(h, NULL, page_size, PARTS_FILE),
                            *path = host_counter_path(h, node, page_size, "demote"), *size_before = NULL;
        char value[32];
        int r, q = 0;

        if (!size_path || !path)
                return -ENOMEM;
        r = choose_parts(run, size_path, h->sizes[split->to].bytes, &size_before);
        if (r >= 0) {
                snprintf(value, sizeof(value), "%llu", (unsigned long long) split->pages);
                run->n_writes++;
                r = run->kernel->write(run->kernel, path, value);
        }
        if (size_before)
                q = put_back(run, size_path, size_before);
        return q < 0 ? q : r;
}

int split_larger(Run *run, const Plan *first, const Plan *plan) {
        Host *h = run->host;
        Split split;

        while (find_split(run, first, plan, &split)) {
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
