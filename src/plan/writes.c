/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes: from targets and settings to what is written to the kernel, in the order in which it happens. */

#include <inttypes.h>

#include "plan/internal.h"

int plan_append_write(PlanWrite **list, size_t *n, const PlanWrite *write) {
        if (!write->path || !write->value || GROW_ARRAY(*list, *n) < 0) {
                free(write->path);
                free(write->value);
                return -ENOMEM;
        }
        (*list)[(*n)++] = *write;
        return 0;
}

/* The pool that a node's pages are mainly for: the first one that gets some, else the first of the size. */
static Source pool_source(const Plan *p, size_t s, size_t n) {
        Source source = {};

        for (size_t i = 0; i < p->n_pools; i++) {
                const PlanPool *pp = &p->pools[i];

                if (pp->size_index != s)
                        continue;
                if (pp->node_planned[n] > 0)
                        return pp->pool->section.source;
                if (!source.file)
                        source = pp->pool->section.source;
        }
        return source;
}

static int add_node_write(Plan *p, size_t s, size_t n) {
        const Host *host = p->host;
        const PlanNode *node = plan_node(p, s, n);
        PlanWrite w = {
                .kind = WRITE_POOL,
                .path = host_counter_path(host, &host->nodes[n], host->sizes[s].bytes, "nr_hugepages"),
                .source = pool_source(p, s, n),
                .size_index = s,
                .node_index = n,
                .pages = node->target,
                .lowers = node->target < node->now,
        };

        if (asprintf(&w.value, "%" PRIu64, node->target) < 0)
                w.value = NULL;
        return plan_append_write(&p->writes, &p->n_writes, &w);
}

static int add_node_writes(Plan *p, bool lowers) {
        for (size_t s = 0; s < p->host->n_sizes; s++)
                for (size_t n = 0; n < p->host->n_nodes; n++) {
                        const PlanNode *node = plan_node(p, s, n);
                        int r;

                        if (p->host->sizes[s].bytes < p->least_page_size || node->target == node->now ||
                            (node->target < node->now) != lowers)
                                continue;
                        r = add_node_write(p, s, n);
                        if (r < 0)
                                return r;
                }
        return 0;
}

static bool setting_is_current(const Host *host, const PlanWrite *setting) {
        const char *line;
        char word[128];

        if (setting->kind == WRITE_OVERCOMMIT)
                return strtoull(setting->value, NULL, 10) == host->sizes[setting->size_index].overcommit;
        line = host_knob(host, setting->path);
        return line && streq(knob_current_word(line, word, sizeof(word)), setting->value);
}

/* Settings that the kernel has and that differ from what is declared. */
static int add_setting_writes(Plan *p, bool before_pools) {
        for (size_t i = 0; i < p->n_settings; i++) {
                const PlanWrite *setting = &p->settings[i];
                PlanWrite w = *setting;
                int r;

                if (setting->before_pools != before_pools || setting_is_current(p->host, setting))
                        continue;
                if (setting->kind == WRITE_KNOB && !host_knob(p->host, setting->path))
                        continue;
                w.path = strdup(setting->path);
                w.value = strdup(setting->value);
                r = plan_append_write(&p->writes, &p->n_writes, &w);
                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_add_writes(Plan *p) {
        int r;

        if ((r = add_setting_writes(p, /* before_pools= */ true)) < 0 ||
            (r = add_node_writes(p, /* lowers= */ true)) < 0 ||
            (r = add_node_writes(p, /* lowers= */ false)) < 0)
                return r;
        return add_setting_writes(p, /* before_pools= */ false);
}
