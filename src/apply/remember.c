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

int remember_pages(Run *run, size_t size_index, size_t node_index) {
        uint64_t page_size = run->host->sizes[size_index].bytes;
        const Node *node = &run->host->nodes[node_index];
        State *s = run->host->state;
        StatePages *entry;

        if (has_pages(s, page_size, node->id))
                return 0;
        entry = APPEND(s->before, s->n_before);
        if (!entry)
                return -ENOMEM;
        *entry = (StatePages){ page_size, node->id, pages_persistent(&node->pages[size_index]) };
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

/* A run in the initrd is the first part of the service's: it leaves the boot's run unfinished, with the
 * pages that it has placed. */
static bool is_partial(const Run *run) {
        return run->input->plan->least_page_size > 0;
}

/* What Size=rest comes to is decided once: a run that is killed must not change what the next one asks for.
 * What the initrd found there to be had is not what the system has. */
static int remember_rest(Run *run, State *s, const PlanPool *pp) {
        StatePool *entry;

        if (!pp->rest || state_find_pool(s, pp->pool->section.name))
                return 0;
        run->first_for_rest = true;
        if (is_partial(run))
                return 0;
        entry = APPEND(s->pools, s->n_pools);
        if (!entry)
                return -ENOMEM;
        entry->page_size = run->host->sizes[pp->size_index].bytes;
        entry->requested = pp->requested;
        entry->name = strdup(pp->pool->section.name);
        return entry->name ? 1 : -ENOMEM;
}

static int save_by(Run *run, void (*put)(FILE *f, const void *userdata), const void *userdata) {
        int r = root_mkdir_p(run->input->root, STATE_DIRECTORY, 0755);

        return r < 0 ? r : root_write_file_atomic_by(run->input->root, STATE_PATH, put, userdata);
}

static void put_state(FILE *f, const void *state) {
        state_put(f, state);
}

static int save(Run *run) {
        return save_by(run, put_state, run->host->state);
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
                r = remember_pages(run, w->size_index, w->node_index);
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
        for (size_t i = 0; i < s->n_pools; i++)
                s->pools[i].released = false;
        if (plan->n_writes > 0 && (s->exit_status >= 0 || s->reverted)) {
                s->exit_status = -1; /* a run is under way */
                s->reverted = false;
                changed = 1;
        }
        return changed ? save(run) : 0;
}

int remember_splitting(Run *run, size_t from, size_t to, size_t node_index) {
        int r = remember_pages(run, from, node_index), q = remember_pages(run, to, node_index);

        if (r < 0 || q < 0)
                return -ENOMEM;
        return r + q > 0 ? save(run) : 0;
}

int remember_knob_value(Run *run, const char *path, const char *value) {
        State *s = run->host->state;
        StateKnob *entry;

        if (has_knob(s, path))
                return 0;
        entry = APPEND(s->knobs, s->n_knobs);
        if (!entry)
                return -ENOMEM;
        *entry = (StateKnob){ strdup(path), strdup(value) };
        return entry->path && entry->value ? save(run) : -ENOMEM;
}

int remember_no_knob(Run *run, const char *path) {
        State *s = run->host->state;

        for (size_t i = 0; i < s->n_knobs; i++) {
                if (!streq(s->knobs[i].path, path))
                        continue;
                free(s->knobs[i].path);
                free(s->knobs[i].value);
                memmove(&s->knobs[i], &s->knobs[i + 1], (--s->n_knobs - i) * sizeof(StateKnob));
                return save(run);
        }
        return 0;
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

static int remember_reserved(StatePool *entry, const Outcome *o, const OutcomePool *p, const char *reason) {
        free(entry->nodes);
        entry->nodes = NULL;
        entry->n_nodes = 0;
        entry->reserved = p->reserved;
        free(entry->reason);
        entry->reason = reason ? strdup(reason) : NULL;
        if (reason && !entry->reason)
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

static StatePool *add_pool(State *s, const char *name, uint64_t page_size, uint64_t requested) {
        StatePool *entry = APPEND(s->pools, s->n_pools);

        if (!entry)
                return NULL;
        entry->page_size = page_size;
        entry->requested = requested;
        entry->name = strdup(name);
        return entry->name ? entry : NULL;
}

/* What the service that goes on from here has to find out itself. */
static bool is_left_open(const Run *run, const OutcomePool *p) {
        const Pool *pool = config_find_pool(run->config, p->name);

        return is_partial(run) && pool && pool->size.type == AMOUNT_REST;
}

typedef struct Ended {
        const Run *run;
        const Outcome *outcome;
        StatePages *nodes; /* room for those of one pool */
} Ended;

/* One pool at a time: all of them on all nodes would be what takes the most memory. */
static void put_outcome(FILE *f, const void *userdata) {
        const Ended *e = userdata;
        const Outcome *o = e->outcome;

        state_put(f, e->run->host->state);
        for (size_t i = 0; i < o->n_pools; i++) {
                const OutcomePool *p = &o->pools[i];
                StatePool pool = { .name = p->name,
                                   .page_size = p->page_size,
                                   .requested = p->requested,
                                   .reserved = p->reserved,
                                   .nodes = e->nodes,
                                   .reason = p->reason };

                if (p->dropped || is_left_open(e->run, p))
                        continue;
                for (size_t n = 0; n < o->n_nodes; n++)
                        if (p->node_reserved[n] > 0)
                                pool.nodes[pool.n_nodes++] =
                                        (StatePages){ p->page_size, o->node_ids[n], p->node_reserved[n] };
                state_put_pool(f, &pool);
        }
}

int remember_outcome(Run *run, const Outcome *o) {
        _cleanup_free_ StatePages *nodes = calloc(o->n_nodes + 1, sizeof(StatePages));
        State *s = run->host->state;

        if (!nodes)
                return -ENOMEM;
        forget_pools(s);
        free(s->status);
        s->status = NULL;
        if (!is_partial(run)) {
                s->status = run->input->status_line ? run->input->status_line(o) : NULL;
                s->exit_status = outcome_exit_status(o);
        }
        s->reverted = false;
        return save_by(run, put_outcome, &(Ended){ run, o, nodes });
}

/* Marked before the first page goes: a release that is killed must not take the pages of others the next
 * time, which would seem to be those of its pools. */
static int mark_released(Run *run, const ReleasedPool *p) {
        const char *name = p->pool->pool->section.name;
        StatePool *entry = (StatePool *) state_find_pool(run->host->state, name);

        if (p->held == 0)
                return 0;
        if (!entry)
                entry = add_pool(run->host->state, name, run->host->sizes[p->pool->size_index].bytes,
                                 p->pool->requested);
        if (!entry)
                return -ENOMEM;
        entry->released = true;
        return 0;
}

int remember_releasing(Run *run, const Released *released) {
        bool first = !run->host->state;
        int r = ensure_state(run);

        if (r < 0)
                return r;
        if (first)
                run->host->state->reverted = true; /* no run is under way */
        for (size_t i = 0; i < released->n_pages; i++)
                if ((r = remember_pages(run, released->pages[i].size_index, released->pages[i].node_index)) <
                    0)
                        return r;
        for (size_t i = 0; i < released->n_pools; i++)
                if ((r = mark_released(run, &released->pools[i])) < 0)
                        return r;
        return save(run);
}

int remember_released(Run *run, const Plan *plan) {
        _cleanup_(outcome_freep) Outcome *o = NULL;
        State *s = run->host->state;
        int r = outcome_observe(plan, run->host, run->input->diagnostics, &o);

        for (size_t i = 0; r >= 0 && i < o->n_pools; i++) {
                const OutcomePool *p = &o->pools[i];
                StatePool *entry = p->dropped ? NULL : (StatePool *) state_find_pool(s, p->name);

                if (!entry || !entry->released)
                        continue;
                entry->released = p->reserved < p->requested;
                r = remember_reserved(entry, o, p, entry->released ? RELEASED_REASON : NULL);
        }
        if (r < 0)
                return r;
        free(s->status);
        s->status = run->input->status_line ? run->input->status_line(o) : NULL;
        return save(run);
}

static void forget_knobs(State *s) {
        for (size_t i = 0; i < s->n_knobs; i++) {
                free(s->knobs[i].path);
                free(s->knobs[i].value);
        }
        s->n_knobs = 0;
}

/* The arrays have room: what stays is part of what was there. */
static int keep_knobs(State *s, const Released *released) {
        forget_knobs(s);
        for (size_t i = 0; i < released->n_knobs; i++) {
                const ReleasedKnob *k = &released->knobs[i];
                StateKnob *entry;

                if (streq_ptr(k->actual, k->to))
                        continue;
                entry = &s->knobs[s->n_knobs++];
                *entry = (StateKnob){ strdup(k->path), strdup(k->to) };
                if (!entry->path || !entry->value)
                        return -ENOMEM;
        }
        return 0;
}

int remember_reverted(Run *run, const Released *released) {
        const Host *h = run->host;
        State *s = h->state;
        int r;

        s->n_before = 0;
        for (size_t i = 0; i < released->n_pages; i++) {
                const ReleasedPages *p = &released->pages[i];

                if (p->actual != p->goal)
                        s->before[s->n_before++] = (StatePages){ h->sizes[p->size_index].bytes,
                                                                 h->nodes[p->node_index].id, p->goal };
        }
        r = keep_knobs(s, released);
        if (r < 0)
                return r;
        forget_pools(s);
        free(s->status);
        s->status = NULL;
        s->exit_status = -1;
        s->reverted = true;
        return save(run);
}
