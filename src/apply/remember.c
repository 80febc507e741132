/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state file: how things were before the first change of this boot, kept before that change is made, and
 * what came of the run.
 *
 * The file is replaced as a whole each time, so that a run that is killed at any point (SIGTERM has its
 * default action) leaves either the old or the new one, and one whose next run carries on from. */

#include "apply/run.h"
#include "basic/fs.h"

/* One more element, zeroed; NULL when out of memory. The array may have come from anywhere. */
static void *append(void *array, size_t *n, size_t element_size) {
        char *p = reallocarray(*(void **) array, *n + 1, element_size);

        if (!p)
                return NULL;
        *(void **) array = p;
        p += (*n)++ * element_size;
        return memset(p, 0, element_size);
}

#define APPEND(array, n) append(&(array), &(n), sizeof(*(array)))

static bool has_pages(const State *s, uint64_t page_size, unsigned node) {
        for (size_t i = 0; i < s->n_before; i++)
                if (s->before[i].page_size == page_size && s->before[i].node == node)
                        return true;
        return false;
}

static bool has_knob(const State *s, const char *path) {
        for (size_t i = 0; i < s->n_knobs; i++)
                if (streq(s->knobs[i].path, path))
                        return true;
        return false;
}

static int remember_pages(Run *run, State *s, const PlanWrite *w) {
        uint64_t page_size = run->host->sizes[w->size_index].bytes;
        const Node *node = &run->host->nodes[w->node_index];
        StatePages *entry;

        if (has_pages(s, page_size, node->id))
                return 0;
        entry = APPEND(s->before, s->n_before);
        if (!entry)
                return -ENOMEM;
        *entry = (StatePages){ page_size, node->id, pages_persistent(&node->pages[w->size_index]) };
        return 1;
}

static int remember_knob(Run *run, State *s, const PlanWrite *w) {
        _cleanup_free_ char *line = NULL, *path = NULL, *value = NULL;
        char buffer[64];
        StateKnob *entry;

        if (has_knob(s, w->path) || run->kernel->read(run->kernel, w->path, &line) < 0 ||
            setting_holds(line, w->value))
                return 0;
        path = strdup(w->path);
        value = strdup(knob_current_word(line, buffer, sizeof(buffer)));
        if (!path || !value)
                return -ENOMEM;
        entry = APPEND(s->knobs, s->n_knobs);
        if (!entry)
                return -ENOMEM;
        *entry = (StateKnob){ TAKE_PTR(path), TAKE_PTR(value) };
        return 1;
}

/* What Size=rest comes to is decided once: a run that is killed must not change what the next one asks for.
 */
static int remember_rest(Run *run, State *s, const PlanPool *pp) {
        StatePool *entry;

        if (!pp->rest || state_find_pool(s, pp->pool->section.name))
                return 0;
        run->first_for_rest = true;
        entry = APPEND(s->pools, s->n_pools);
        if (!entry)
                return -ENOMEM;
        entry->page_size = run->host->sizes[pp->size_index].bytes;
        entry->requested = pp->requested;
        entry->name = strdup(pp->pool->section.name);
        return entry->name ? 1 : -ENOMEM;
}

static int save(Run *run) {
        _cleanup_free_ char *text = state_format(run->host->state);
        int r;

        if (!text)
                return -ENOMEM;
        r = root_mkdir_p(run->input->root, STATE_DIRECTORY, 0755);
        return r < 0 ? r : root_write_file_atomic(run->input->root, STATE_PATH, text);
}

static int ensure_state(Run *run) {
        State *s;

        if (run->host->state)
                return 0;
        s = calloc(1, sizeof(State));
        if (!s)
                return -ENOMEM;
        s->exit_status = -1;
        run->host->state = s;
        return 0;
}

int remember_before(Run *run, const Plan *plan) {
        State *s;
        int r, changed = 0;

        r = ensure_state(run);
        if (r < 0)
                return r;
        s = run->host->state;
        for (size_t i = 0; i < plan->n_pools; i++) {
                r = remember_rest(run, s, &plan->pools[i]);
                if (r < 0)
                        return r;
                changed |= r;
        }
        for (size_t i = 0; i < plan->n_writes; i++) {
                const PlanWrite *w = &plan->writes[i];

                if (w->kind != WRITE_POOL)
                        continue;
                r = remember_pages(run, s, w);
                if (r < 0)
                        return r;
                changed |= r;
        }
        for (size_t i = 0; i < plan->n_settings; i++) {
                r = remember_knob(run, s, &plan->settings[i]);
                if (r < 0)
                        return r;
                changed |= r;
        }
        if (plan->n_writes > 0 && s->exit_status >= 0) {
                s->exit_status = -1; /* a run is under way */
                changed = 1;
        }
        return changed ? save(run) : 0;
}

static void forget_pools(State *s) {
        for (size_t i = 0; i < s->n_pools; i++) {
                free(s->pools[i].name);
                free(s->pools[i].nodes);
                free(s->pools[i].reason);
        }
        free(s->pools);
        s->pools = NULL;
        s->n_pools = 0;
}

static int remember_pool(State *s, const Outcome *o, const OutcomePool *p) {
        StatePool *entry = APPEND(s->pools, s->n_pools);

        if (!entry)
                return -ENOMEM;
        entry->page_size = p->page_size;
        entry->requested = p->requested;
        entry->reserved = p->reserved;
        entry->name = strdup(p->name);
        entry->reason = p->reason ? strdup(p->reason) : NULL;
        if (!entry->name || (p->reason && !entry->reason))
                return -ENOMEM;
        for (size_t n = 0; n < o->n_nodes; n++) {
                StatePages *pages;

                if (p->node_reserved[n] == 0)
                        continue;
                pages = APPEND(entry->nodes, entry->n_nodes);
                if (!pages)
                        return -ENOMEM;
                *pages = (StatePages){ p->page_size, o->node_ids[n], p->node_reserved[n] };
        }
        return 0;
}

int remember_outcome(Run *run, const Outcome *o) {
        State *s = run->host->state;
        int r;

        forget_pools(s);
        for (size_t i = 0; i < o->n_pools; i++) {
                if (o->pools[i].dropped)
                        continue;
                r = remember_pool(s, o, &o->pools[i]);
                if (r < 0)
                        return r;
        }
        free(s->status);
        s->status = run->input->status_line ? run->input->status_line(o) : NULL;
        s->exit_status = outcome_exit_status(o);
        return save(run);
}
