/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What hugepagesctl apply has changed: the machine before and after, compared. */

#include "hugepagesctl/apply.h"

void changes_done(Changes *c) {
        for (size_t i = 0; i < c->n_settings; i++) {
                free(c->settings[i].before);
                free(c->settings[i].after);
        }
        free(c->pages);
        free(c->pools);
        free(c->settings);
}

/* Surplus pages come and go as programs do. */
static uint64_t persistent(const PageCounts *c) {
        return sub_sat(c->nr, c->surplus);
}

static void find_pages(const Host *before, const Host *after, Changes *c) {
        for (size_t s = 0; s < after->n_sizes; s++)
                for (size_t n = 0; n < after->n_nodes; n++) {
                        size_t old_size = host_find_size(before, after->sizes[s].bytes);
                        size_t old_node = host_find_node(before, after->nodes[n].id);
                        PagesChange p = { .page_size = after->sizes[s].bytes, .node = after->nodes[n].id };

                        if (old_size == SIZE_MAX || old_node == SIZE_MAX) /* a node came just now */
                                continue;
                        p.before = persistent(&before->nodes[old_node].pages[old_size]);
                        p.after = persistent(&after->nodes[n].pages[s]);
                        if (p.before == p.after)
                                continue;
                        if (GROW_ARRAY(c->pages, c->n_pages) < 0)
                                out_of_memory();
                        c->pages[c->n_pages++] = p;
                }
}

static void add_pool(Changes *c, const StatePool *before, const OutcomePool *after) {
        if (before && after && before->reserved == after->reserved && before->page_size == after->page_size)
                return;
        if (GROW_ARRAY(c->pools, c->n_pools) < 0)
                out_of_memory();
        c->pools[c->n_pools++] = (PoolChange){
                .name = after ? after->name : before->name,
                .page_size = after ? after->page_size : before->page_size,
                .before = before,
                .after = after,
        };
}

static const OutcomePool *find_outcome(const Outcome *o, const char *name) {
        for (size_t i = 0; i < o->n_pools; i++)
                if (!o->pools[i].dropped && streq(o->pools[i].name, name))
                        return &o->pools[i];
        return NULL;
}

static void find_pools(const Apply *a, Changes *c) {
        const State *before = a->before.host->state;

        for (size_t i = 0; i < a->outcome->n_pools; i++) {
                const OutcomePool *p = &a->outcome->pools[i];

                if (!p->dropped)
                        add_pool(c, before ? state_find_pool(before, p->name) : NULL, p);
        }
        for (size_t i = 0; before && i < before->n_pools; i++)
                if (!find_outcome(a->outcome, before->pools[i].name))
                        add_pool(c, &before->pools[i], NULL);
}

/* Takes the values over. */
static void add_setting(Changes *c, const char *path, char *before, char *after) {
        if (streq(before, after)) {
                free(before);
                free(after);
                return;
        }
        if (GROW_ARRAY(c->settings, c->n_settings) < 0)
                out_of_memory();
        c->settings[c->n_settings++] = (SettingChange){ path, before, after };
}

static char *knob_word(const char *line) {
        char word[128];

        return format_text("%s", knob_current_word(line, word, sizeof(word)));
}

static uint64_t overcommit_of(const Host *h, const char *path) {
        for (size_t i = 0; i < h->n_sizes; i++) {
                _cleanup_free_ char *p =
                        host_counter_path(h, NULL, h->sizes[i].bytes, "nr_overcommit_hugepages");

                if (streq_ptr(p, path))
                        return h->sizes[i].overcommit;
        }
        return 0;
}

/* Those that are declared: the others are not ours to change. */
static void find_settings(const Apply *a, Changes *c) {
        for (size_t i = 0; i < a->after.plan->n_settings; i++) {
                const PlanWrite *w = &a->after.plan->settings[i];
                const char *before = host_knob(a->before.host, w->path),
                           *after = host_knob(a->after.host, w->path);

                if (w->kind == WRITE_OVERCOMMIT)
                        add_setting(c, w->path,
                                    format_text("%" PRIu64, overcommit_of(a->before.host, w->path)),
                                    format_text("%" PRIu64, overcommit_of(a->after.host, w->path)));
                else if (before && after)
                        add_setting(c, w->path, knob_word(before), knob_word(after));
        }
}

void changes_find(const Apply *a, Changes *c) {
        if (a->options->dry_run)
                return;
        find_pages(a->before.host, a->after.host, c);
        find_pools(a, c);
        find_settings(a, c);
}
