/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Outcome: who has what in the end, and why not more. */

#include "apply/run.h"

static void outcome_pool_done(OutcomePool *p) {
        free(p->name);
        if (p->node_planned != p->node_reserved)
                free(p->node_planned);
        free(p->reason);
}

void outcome_free(Outcome *o) {
        if (!o)
                return;
        for (size_t i = 0; i < o->n_pools; i++)
                outcome_pool_done(&o->pools[i]);
        for (size_t i = 0; i < o->n_settings; i++)
                outcome_setting_done(&o->settings[i]);
        free(o->pools);
        free(o->settings);
        free(o->sizes);
        free(o->node_ids);
        free(o->reserved);
        free(o);
}

static const PlanPool *find_plan_pool(const Plan *plan, const Pool *pool, size_t *ret_index) {
        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].pool == pool) {
                        if (ret_index)
                                *ret_index = i;
                        return &plan->pools[i];
                }
        return NULL;
}

/* A copy only where not all is as planned: there may be thousands of pools. */
static uint64_t *planned_counts(const PlanPool *pp, uint64_t *reserved, size_t n) {
        uint64_t *copy;

        if (n == 0 || memcmp(pp->node_planned, reserved, n * sizeof(uint64_t)) == 0)
                return reserved;
        copy = calloc(n, sizeof(uint64_t));
        return copy ? memcpy(copy, pp->node_planned, n * sizeof(uint64_t)) : NULL;
}

/* Size=rest is what there was to be had, which only the run finds out: it is not short by what memory that
 * counts as available would not become. */
static bool settles_rest(const PlanPool *pp, const Host *host, const Run *run) {
        if (!run || !pp->rest || !run->first_for_rest)
                return false;
        for (size_t n = 0; n < host->n_nodes; n++)
                if (run_record(run, pp->size_index, n)->error < 0)
                        return false;
        return true;
}

static int build_pool(const Plan *plan, const PlanPool *pp, const Host *host, const Run *run,
                      uint64_t *reserved, OutcomePool *o) {
        o->page_size = host->sizes[pp->size_index].bytes;
        o->requested = pp->requested;
        o->planned = pp->planned;
        o->node_reserved = reserved;
        o->node_planned = planned_counts(pp, reserved, host->n_nodes);
        if (!o->node_planned)
                return -ENOMEM;
        for (size_t n = 0; n < host->n_nodes; n++)
                o->reserved += reserved[n];
        if (o->reserved < o->requested && settles_rest(pp, host, run))
                o->requested = o->planned = o->reserved;
        return o->reserved < o->requested ? reason_for_short(plan, pp, host, run, reserved, &o->reason) : 0;
}

static int build_pools(const Plan *first, const Plan *last, const Host *host, const Diagnostics *d,
                       const Run *run, Outcome *o) {
        const Config *c = first->config;
        int r;

        o->reserved = calloc(last->n_pools * host->n_nodes + 1, sizeof(uint64_t));
        o->pools = calloc(c->n_pools + 1, sizeof(OutcomePool));
        if (!o->reserved || !o->pools)
                return -ENOMEM;
        r = plan_attribute(last, host, o->reserved);
        if (r < 0)
                return r;
        for (size_t i = 0; i < c->n_pools; i++) {
                const Pool *pool = c->pools[i];
                size_t k;
                const PlanPool *pp = find_plan_pool(first, pool, NULL);
                uint64_t page_size = pp ? host->sizes[pp->size_index].bytes : pool->page_size;
                OutcomePool *p;

                if (page_size > 0 && page_size < first->least_page_size)
                        continue; /* no business of this run */
                p = &o->pools[o->n_pools++];
                p->source = pool->section.source;
                p->page_size = pool->page_size;
                p->essential = pool->essential;
                p->name = strdup(pool->section.name);
                if (!p->name)
                        return -ENOMEM;
                if (pp && find_plan_pool(last, pool, &k))
                        r = build_pool(first, pp, host, run, &o->reserved[k * host->n_nodes], p);
                else {
                        p->dropped = true;
                        r = reason_for_dropped(&pool->section, d, &p->source, &p->reason);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int build_sizes(const Host *host, Outcome *o) {
        o->sizes = calloc(host->n_sizes + 1, sizeof(OutcomeSize));
        if (!o->sizes)
                return -ENOMEM;
        for (size_t s = 0; s < host->n_sizes; s++) {
                const PageSize *size = &host->sizes[s];
                OutcomeSize *os = &o->sizes[o->n_sizes++];

                os->page_size = size->bytes;
                os->persistent = pages_persistent(&size->total);
                os->free = size->total.free;
                os->surplus = size->total.surplus;
                os->resv = size->resv;
                for (size_t i = 0; i < o->n_pools; i++) {
                        const OutcomePool *p = &o->pools[i];

                        if (p->dropped || p->page_size != size->bytes)
                                continue;
                        os->has_pool = true;
                        os->requested = add_sat(os->requested, p->requested);
                        os->reserved += p->reserved;
                }
                if (os->has_pool)
                        os->beyond = sub_sat(os->persistent, os->reserved);
        }
        return 0;
}

/* The line that a setting has in the Host; text is what it may point to. */
static const char *observed_line(const Plan *plan, const Host *host, const PlanWrite *w,
                                 char text[static 32]) {
        if (w->kind != WRITE_OVERCOMMIT)
                return host_knob(host, w->path);
        if (!host->sizes[w->size_index].has_overcommit)
                return NULL;
        snprintf(text, 32, "%llu", (unsigned long long) host->sizes[w->size_index].overcommit);
        return text;
}

static int build_settings(const Plan *plan, const Host *host, Run *run, Outcome *o) {
        int r;

        if (run) {
                o->settings = TAKE_PTR(run->settings);
                o->n_settings = run->n_settings;
                run->n_settings = 0;
                return 0;
        }
        o->settings = calloc(plan->n_settings + 1, sizeof(OutcomeSetting));
        if (!o->settings)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_settings; i++) {
                const PlanWrite *w = &plan->settings[i];
                char text[32];

                r = setting_observe(w, observed_line(plan, host, w, text), &o->settings[i]);
                if (r < 0)
                        return r;
                o->n_settings++;
        }
        return 0;
}

static int build_nodes(const Host *host, Outcome *o) {
        o->node_ids = calloc(host->n_nodes + 1, sizeof(unsigned));
        if (!o->node_ids)
                return -ENOMEM;
        for (size_t n = 0; n < host->n_nodes; n++) {
                o->node_ids[o->n_nodes++] = host->nodes[n].id;
                o->n_memory_nodes += host->nodes[n].has_memory;
        }
        return 0;
}

int outcome_build(const Plan *first, const Plan *last, const Host *host, const Diagnostics *diagnostics,
                  Run *run, Outcome **ret) {
        _cleanup_(outcome_freep) Outcome *o = calloc(1, sizeof(Outcome));
        int r;

        if (!o)
                return -ENOMEM;
        if ((r = build_nodes(host, o)) < 0 ||
            (r = build_pools(first, last, host, diagnostics, run, o)) < 0 ||
            (r = build_sizes(host, o)) < 0 || (r = build_settings(first, host, run, o)) < 0)
                return r;
        if (diagnostics) {
                o->n_errors = diagnostics->n_errors;
                o->n_warnings = diagnostics->n_warnings;
        }
        if (run) {
                o->n_writes = run->n_writes;
                o->timed_out = run->timed_out;
        }
        *ret = TAKE_PTR(o);
        return 0;
}

int outcome_observe(const Plan *plan, const Host *host, const Diagnostics *diagnostics, Outcome **ret) {
        return outcome_build(plan, plan, host, diagnostics, NULL, ret);
}

int outcome_exit_status(const Outcome *o) {
        if (o->n_errors > 0)
                return 1;
        for (size_t i = 0; i < o->n_pools; i++)
                if (o->pools[i].dropped || (o->pools[i].essential && outcome_pool_is_short(&o->pools[i])))
                        return 1;
        return 0;
}

bool outcome_degraded(const Outcome *o) {
        if (o->n_errors > 0)
                return true;
        for (size_t i = 0; i < o->n_pools; i++)
                if (outcome_pool_is_short(&o->pools[i]))
                        return true;
        for (size_t i = 0; i < o->n_settings; i++)
                if (o->settings[i].result == SETTING_REFUSED)
                        return true;
        return false;
}
