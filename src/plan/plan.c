/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plan: collects what the pools ask for and has it allotted, turned into writes and explained. */

#include <inttypes.h>

#include "basic/format.h"
#include "plan/internal.h"

static void plan_pool_done(PlanPool *p) {
        free(p->allowed);
        free(p->node_requested);
        free(p->node_planned);
        free(p->node_prior);
        free(p->cut);
}

static void writes_free(PlanWrite *writes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(writes[i].path);
                free(writes[i].value);
        }
        free(writes);
}

void plan_free(Plan *p) {
        if (!p)
                return;
        for (size_t i = 0; i < p->n_pools; i++)
                plan_pool_done(&p->pools[i]);
        free(p->pools);
        free(p->nodes);
        writes_free(p->writes, p->n_writes);
        writes_free(p->settings, p->n_settings);
        free(p);
}

/* "1G, 2M" */
static void list_sizes(const Host *host, char *buffer, size_t size) {
        size_t used = 0;

        *buffer = 0;
        for (size_t i = 0; i < host->n_sizes && used < size; i++)
                used += (size_t) snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "",
                                          FORMAT_SIZE_EXACT(host->sizes[i].bytes));
}

/* The index of the pool's page size, or SIZE_MAX with the reason in d. */
static size_t resolve_page_size(const Pool *pool, const Host *host, Diagnostics *d) {
        uint64_t bytes = pool->page_size > 0 ? pool->page_size : host->default_page_size;
        size_t i = bytes > 0 ? host_find_size(host, bytes) : SIZE_MAX;
        char known[256];

        if (i != SIZE_MAX)
                return i;
        list_sizes(host, known, sizeof(known));
        if (host->n_sizes == 0)
                diag_error(d, pool->section.source, "%s; pool %s is dropped", host_why_no_sizes(host),
                           pool->section.name);
        else if (bytes == 0)
                diag_error(
                        d, pool->section.source,
                        "this kernel has no default huge page size; pool %s needs PageSize= (there are %s)",
                        pool->section.name, known);
        else
                diag_error(d, section_key_source(&pool->section, "PageSize"),
                           "PageSize=%s: this kernel has no huge pages of this size (it has %s); pool %s is "
                           "dropped",
                           FORMAT_SIZE_EXACT(bytes), known, pool->section.name);
        return SIZE_MAX;
}

/* Where the last run of this boot put the pool's pages: they stay there. */
static int recall_prior(PlanPool *pp, const Host *host, uint64_t page_size, uint64_t *ret_requested) {
        const StatePool *prior = host->state ? state_find_pool(host->state, pp->pool->section.name) : NULL;

        *ret_requested = 0;
        if (!prior || prior->page_size != page_size)
                return 0;
        pp->node_prior = calloc(host->n_nodes + 1, sizeof(uint64_t));
        if (!pp->node_prior)
                return -ENOMEM;
        for (size_t i = 0; i < prior->n_nodes; i++) {
                size_t n = host_find_node(host, prior->nodes[i].node);

                if (n != SIZE_MAX)
                        pp->node_prior[n] = prior->nodes[i].pages;
        }
        *ret_requested = prior->requested;
        return 0;
}

static void warn_missing_node(const PlanPool *pp, const Host *host, Diagnostics *d) {
        if (pp->missing == 0)
                return;
        diag_warning(d, section_key_source(&pp->pool->section, "Size"),
                     "pool %s asks for pages on node%u, which %s", pp->pool->section.name, pp->missing_node,
                     host_find_node(host, pp->missing_node) == SIZE_MAX ? "does not exist"
                                                                        : "has no memory");
}

/* "Size=4096" is a page or less where somebody meant 4096 pages. */
static void warn_tiny_size(const Pool *pool, uint64_t page_size, Diagnostics *d) {
        if (pool->size.type != AMOUNT_BYTES || pool->size.value == 0 || pool->size.value >= page_size)
                return;
        diag_warning(d, section_key_source(&pool->section, "Size"),
                     "Size=%" PRIu64 ": bytes, less than one page of %s (Pages=%" PRIu64 " would be pages)",
                     pool->size.value, FORMAT_SIZE_EXACT(page_size), pool->size.value);
}

/* 1: collected, 0: the pool cannot be used (in d), negative errno. */
static int collect_pool(const PlanInput *input, Pool *pool, PlanPool *ret, Diagnostics *d) {
        const Host *host = input->host;
        uint64_t page_size, prior_requested;
        Request request;
        int r;

        *ret = (PlanPool){ .pool = pool };
        ret->size_index = resolve_page_size(pool, host, d);
        if (ret->size_index == SIZE_MAX)
                return 0;
        page_size = host->sizes[ret->size_index].bytes;

        ret->allowed = calloc(host->n_nodes + 1, sizeof(bool));
        ret->node_requested = calloc(host->n_nodes + 1, sizeof(uint64_t));
        ret->node_planned = calloc(host->n_nodes + 1, sizeof(uint64_t));
        if (!ret->allowed || !ret->node_requested || !ret->node_planned)
                return -ENOMEM;

        r = request_nodes(pool, host, input->pci_node, input->userdata, ret->allowed, d);
        if (r < 0)
                return r == -ENODEV ? 0 : r;
        request_pages(pool, host, ret->allowed, page_size, &request, ret->node_requested);
        r = recall_prior(ret, host, page_size, &prior_requested);
        if (r < 0)
                return r;

        ret->rest = request.rest;
        ret->explicit_nodes = request.explicit_nodes;
        ret->missing = request.missing;
        ret->missing_node = request.missing_node;
        /* What Size=rest comes to is found out once a boot: later runs must not follow every change of
         * free memory. */
        ret->requested = request.rest ? prior_requested : request.pages;
        if (!ret->explicit_nodes) {
                free(ret->node_requested);
                ret->node_requested = NULL;
        } else
                for (size_t n = 0; n < host->n_nodes; n++)
                        ret->allowed[n] = ret->node_requested[n] > 0;
        warn_missing_node(ret, host, d);
        warn_tiny_size(pool, page_size, d);
        return 1;
}

int plan_collect_pools(const PlanInput *input, Plan *p, Diagnostics *d) {
        p->pools = calloc(input->config->n_pools + 1, sizeof(PlanPool));
        if (!p->pools)
                return -ENOMEM;
        for (size_t i = 0; i < input->config->n_pools; i++) {
                Pool *pool = input->config->pools[i];
                PlanPool pp;
                int r;

                if (pool->section.dropped)
                        continue;
                r = collect_pool(input, pool, &pp, d);
                if (r <= 0)
                        plan_pool_done(&pp);
                if (r < 0)
                        return r;
                if (r == 0)
                        pool->section.dropped = true;
                else
                        p->pools[p->n_pools++] = pp;
        }
        return 0;
}

static uint64_t resolve_keep_free(const System *system, uint64_t mem_total) {
        switch (system->keep_free.type) {
        case AMOUNT_BYTES:
                return system->keep_free.value;
        case AMOUNT_PERCENT:
                return mul_sat(mem_total / 10000, system->keep_free.value);
        default:
                return MAX(mem_total / 10000 * KEEP_FREE_DEFAULT_PERCENT, KEEP_FREE_DEFAULT_MIN);
        }
}

static void warn_keep_everything(const Plan *p, Diagnostics *d) {
        const Section *section = &p->config->system.section;

        if (p->n_pools > 0 && p->keep_free >= p->host->mem_total)
                diag_warning(d, section_key_source(section, "KeepFree"),
                             "KeepFree=%s: there is no more than %s of memory; no page can be added",
                             FORMAT_SIZE(p->keep_free), FORMAT_SIZE(p->host->mem_total));
}

static uint64_t huge_bytes(const Host *host) {
        uint64_t sum = 0;

        for (size_t s = 0; s < host->n_sizes; s++)
                sum = add_sat(sum, mul_sat(host->sizes[s].total.nr, host->sizes[s].bytes));
        return sum;
}

/* Whether KeepFree= has room for one page more than the plan adds: then it is the nodes that are full. */
static bool has_room_left(const Plan *p, size_t s) {
        const Host *host = p->host;
        uint64_t added = 0, lowered = 0;

        for (size_t i = 0; i < host->n_sizes; i++)
                for (size_t n = 0; n < host->n_nodes; n++) {
                        const PlanNode *node = plan_node(p, i, n);
                        uint64_t bytes = host->sizes[i].bytes;

                        added = add_sat(added, mul_sat(sub_sat(node->target, node->now), bytes));
                        lowered = add_sat(lowered, mul_sat(sub_sat(node->now, node->target), bytes));
                }
        return sub_sat(add_sat(p->room, lowered), added) >= host->sizes[s].bytes;
}

static int explain_cut(const Plan *p, PlanPool *pp) {
        const Host *host = p->host;
        int r;

        if (pp->planned >= pp->requested)
                return 0;
        if (pp->missing > 0)
                r = asprintf(&pp->cut, "node%u %s: %" PRIu64 " pages cannot be had there", pp->missing_node,
                             host_find_node(host, pp->missing_node) == SIZE_MAX ? "does not exist"
                                                                                : "has no memory",
                             pp->missing);
        else if (pp->granted < pp->requested && !has_room_left(p, pp->size_index))
                r = asprintf(&pp->cut,
                             "KeepFree=%s of %s memory leaves room for %" PRIu64 " of %" PRIu64 " pages",
                             FORMAT_SIZE(p->keep_free), FORMAT_SIZE(host->mem_total), pp->planned,
                             pp->requested);
        else
                r = asprintf(&pp->cut, "the allowed nodes have memory for %" PRIu64 " of %" PRIu64 " pages",
                             pp->planned, pp->requested);
        return r < 0 ? -ENOMEM : 0;
}

static int node_states(Plan *p) {
        const Host *host = p->host;

        p->nodes = calloc(host->n_sizes * host->n_nodes + 1, sizeof(PlanNode));
        if (!p->nodes)
                return -ENOMEM;
        for (size_t s = 0; s < host->n_sizes; s++)
                for (size_t n = 0; n < host->n_nodes; n++) {
                        const PageCounts *c = &host->nodes[n].pages[s];
                        PlanNode *node = plan_node(p, s, n);

                        node->now = sub_sat(c->nr, c->surplus);
                        node->before = host->state ? state_pages_before(host->state, host->sizes[s].bytes,
                                                                        host->nodes[n].id, node->now)
                                                   : node->now;
                }
        return 0;
}

int plan_make(const PlanInput *input, Plan **ret, Diagnostics *d) {
        _cleanup_(plan_freep) Plan *p = calloc(1, sizeof(Plan));
        const Host *host = input->host;
        int r;

        if (!p)
                return -ENOMEM;
        p->config = input->config;
        p->host = host;
        p->least_page_size = input->least_page_size;
        p->keep_free = resolve_keep_free(&input->config->system, host->mem_total);
        p->room = MIN(sub_sat(host->mem_total, add_sat(p->keep_free, huge_bytes(host))),
                      sub_sat(host->mem_available, p->keep_free));

        if ((r = node_states(p)) < 0 || (r = plan_collect_pools(input, p, d)) < 0 ||
            (r = plan_allot(p, input->limits)) < 0 || (r = plan_add_settings(input, p, d)) < 0 ||
            (r = plan_add_writes(p)) < 0)
                return r;
        for (size_t i = 0; i < p->n_pools; i++)
                if ((r = explain_cut(p, &p->pools[i])) < 0)
                        return r;
        warn_keep_everything(p, d);
        *ret = TAKE_PTR(p);
        return 0;
}
