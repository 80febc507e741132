/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Giving back: what this boot's runs have changed (revert), or the pages of pools on demand (release). Pages
 * go through pages.c, which takes none that is in use or promised. */

#include "apply/run.h"
#include "basic/format.h"

static void released_pool_done(ReleasedPool *p) {
        free(p->node_held);
        free(p->node_released);
        free(p->node_claimed);
}

static void released_knob_done(ReleasedKnob *k) {
        free(k->path);
        free(k->from);
        free(k->to);
        free(k->actual);
}

void released_free(Released *r) {
        if (!r)
                return;
        for (size_t i = 0; i < r->n_pages; i++) {
                free(r->pages[i].path);
                free(r->pages[i].reason);
        }
        for (size_t i = 0; i < r->n_knobs; i++)
                released_knob_done(&r->knobs[i]);
        for (size_t i = 0; i < r->n_pools; i++)
                released_pool_done(&r->pools[i]);
        free(r->pages);
        free(r->knobs);
        free(r->pools);
        free(r);
}

bool released_complete(const Released *r) {
        for (size_t i = 0; i < r->n_pages; i++)
                if (r->pages[i].actual != r->pages[i].goal)
                        return false;
        for (size_t i = 0; i < r->n_knobs; i++)
                if (!streq_ptr(r->knobs[i].actual, r->knobs[i].to))
                        return false;
        return true;
}

static const PageCounts *counts_of(const Run *run, const ReleasedPages *p) {
        return &run->host->nodes[p->node_index].pages[p->size_index];
}

static int add_pages(const Run *run, Released *r, size_t s, size_t n, uint64_t goal, uint64_t stays) {
        const Host *h = run->host;
        ReleasedPages *p;

        if (GROW_ARRAY(r->pages, r->n_pages) < 0)
                return -ENOMEM;
        p = &r->pages[r->n_pages++];
        p->size_index = s;
        p->node_index = n;
        p->goal = goal;
        p->target = goal + stays;
        p->from = p->to = p->actual = pages_persistent(counts_of(run, p));
        p->path = host_counter_path(h, &h->nodes[n], h->sizes[s].bytes, "nr_hugepages");
        return p->path ? 0 : -ENOMEM;
}

/* What pages.c will write: of what is free over all nodes, the promises stay. */
static void foresee_lowering(const Run *run, Released *r) {
        const Host *h = run->host;

        for (size_t s = 0; s < h->n_sizes; s++) {
                const PageSize *size = &h->sizes[s];
                uint64_t spare = sub_sat(size->total.free, add_sat(size->resv, size->total.surplus));

                for (size_t i = 0; i < r->n_pages; i++) {
                        ReleasedPages *p = &r->pages[i];
                        uint64_t goes =
                                MIN(sub_sat(p->from, p->target), MIN(counts_of(run, p)->free, spare));

                        if (p->size_index != s || p->target >= p->from)
                                continue;
                        p->to = p->from - goes;
                        spare -= goes;
                }
        }
}

static uint64_t bytes_lowered(const Run *run, const Released *r) {
        uint64_t sum = 0;

        for (size_t i = 0; i < r->n_pages; i++)
                sum = add_sat(sum, mul_sat(sub_sat(r->pages[i].from, r->pages[i].to),
                                           run->host->sizes[r->pages[i].size_index].bytes));
        return sum;
}

/* As much as KeepFree= leaves room for, once the others have gone. */
static void foresee_raising(Run *run, Released *r) {
        uint64_t room = add_sat(counts_room(run), bytes_lowered(run, r));

        for (size_t i = 0; i < r->n_pages; i++) {
                ReleasedPages *p = &r->pages[i];
                uint64_t bytes = run->host->sizes[p->size_index].bytes, new_pages;

                if (p->target <= p->from)
                        continue;
                new_pages = MIN(p->target - p->from, room / bytes);
                p->to = p->from + new_pages;
                room -= new_pages * bytes;
        }
}

static bool written(const ReleasedPages *p, bool lowers) {
        return lowers ? p->target < p->from : p->target > p->from;
}

static int write_pages(Run *run, Released *r, bool lowers) {
        _cleanup_free_ PlanWrite *writes = calloc(r->n_pages + 1, sizeof(PlanWrite));
        size_t n = 0;
        int q;

        if (!writes)
                return -ENOMEM;
        for (size_t i = 0; i < r->n_pages; i++) {
                const ReleasedPages *p = &r->pages[i];

                if (!written(p, lowers))
                        continue;
                writes[n++] = (PlanWrite){
                        .kind = WRITE_POOL,
                        .path = p->path,
                        .size_index = p->size_index,
                        .node_index = p->node_index,
                        .pages = p->target,
                        .lowers = lowers,
                };
        }
        for (size_t i = 0, k; i < n; i += k) {
                k = pages_group(&writes[i], n - i);
                q = pages_write(run, &writes[i], k);
                if (q < 0)
                        return q;
        }
        for (size_t i = 0; i < r->n_pages; i++)
                if (written(&r->pages[i], lowers))
                        r->pages[i].actual = pages_persistent(counts_of(run, &r->pages[i]));
        return 0;
}

static const NodeRecord *record_of(const Run *run, const ReleasedPages *p) {
        return run_record(run, p->size_index, p->node_index);
}

static int explain_pages(const Run *run, ReleasedPages *p, bool dry_run) {
        const NodeRecord *record = record_of(run, p);
        int r;

        if (p->actual == p->goal)
                return 0;
        if (record->error < 0)
                r = asprintf(&p->reason, "the kernel refused: %s", strerror(-record->error));
        else if (p->actual > p->goal)
                r = asprintf(&p->reason, "in use or promised");
        else if (record->kept_free || dry_run)
                r = asprintf(&p->reason, "KeepFree=%s leaves no room", FORMAT_SIZE(run->keep_free));
        else
                r = asprintf(&p->reason, "too little unbroken memory");
        if (r < 0) {
                p->reason = NULL;
                return -ENOMEM;
        }
        return 0;
}

/* Lowering first makes room for what is raised. */
static int move_pages(Run *run, Released *r, bool dry_run) {
        int q;

        foresee_lowering(run, r);
        foresee_raising(run, r);
        if (dry_run) {
                for (size_t i = 0; i < r->n_pages; i++)
                        r->pages[i].actual = r->pages[i].to;
        } else if ((q = write_pages(run, r, /* lowers= */ true)) < 0 ||
                   (q = write_pages(run, r, /* lowers= */ false)) < 0)
                return q;
        for (size_t i = 0; i < r->n_pages; i++)
                if (explain_pages(run, &r->pages[i], dry_run) < 0)
                        return -ENOMEM;
        return 0;
}

/* Everything that both begin with. The state and the counts are those under the lock. */
static int begin(Run *run, const ApplyInput *input, const Plan *plan, bool dry_run, int *ret_lock) {
        int r = run_init(run, input, plan);

        if (r >= 0 && !dry_run)
                r = run_lock(input, ret_lock);
        if (r >= 0)
                r = run_reload_state(run);
        if (r >= 0 && !dry_run)
                r = split_put_back(run);
        if (r >= 0)
                r = counts_refresh(run->kernel, run->host);
        run->deadline = add_sat(run->kernel->now(run->kernel), run->config->system.timeout_usec);
        return r < 0 ? r : 0;
}

/* Revert. */

/* The current word of a knob; NULL where it cannot be read. */
static int read_word(Run *run, const char *path, char **ret) {
        _cleanup_free_ char *line = NULL;
        int r = run->kernel->read(run->kernel, path, &line);
        char buffer[64];

        if (r == -ENOMEM)
                return r;
        *ret = r < 0 ? NULL : strdup(knob_current_word(line, buffer, sizeof(buffer)));
        return r >= 0 && !*ret ? -ENOMEM : 0;
}

static int restore_knob(Run *run, const StateKnob *knob, bool dry_run, ReleasedKnob *k) {
        int r = read_word(run, knob->path, &k->from);

        k->path = strdup(knob->path);
        k->to = strdup(knob->value);
        if (r < 0 || !k->path || !k->to)
                return -ENOMEM;
        if (streq_ptr(k->from, k->to) || (dry_run && k->from)) {
                k->actual = strdup(k->to);
                return k->actual ? 0 : -ENOMEM;
        }
        if (dry_run)
                return 0;
        run->n_writes++;
        k->error = run->kernel->write(run->kernel, k->path, k->to);
        return read_word(run, k->path, &k->actual);
}

static int restore_knobs(Run *run, bool dry_run, Released *r) {
        const State *s = run->host->state;

        for (size_t i = 0; i < s->n_knobs; i++) {
                int q;

                if (GROW_ARRAY(r->knobs, r->n_knobs) < 0)
                        return -ENOMEM;
                q = restore_knob(run, &s->knobs[i], dry_run, &r->knobs[r->n_knobs++]);
                if (q < 0)
                        return q;
        }
        return 0;
}

/* Nodes and page sizes that are no more have nothing to bring back. */
static int collect_before(const Run *run, Released *r) {
        const Host *h = run->host;

        for (size_t s = 0; s < h->n_sizes; s++)
                for (size_t n = 0; n < h->n_nodes; n++) {
                        uint64_t before = state_pages_before(h->state, h->sizes[s].bytes, h->nodes[n].id,
                                                             /* fallback= */ UINT64_MAX);

                        if (before != UINT64_MAX && add_pages(run, r, s, n, before, /* stays= */ 0) < 0)
                                return -ENOMEM;
                }
        return 0;
}

/* Giving back is for emergencies, when /run may be full as well: what cannot be recorded is done all the
 * same. */
static int recorded(Released *r, int error) {
        if (error < 0 && error != -ENOMEM) {
                r->state_error = error;
                return 0;
        }
        return error;
}

static bool has_changed_anything(const State *s) {
        return s->n_before + s->n_knobs > 0;
}

static int revert_locked(Run *run, bool dry_run, Released *r) {
        int q;

        if (!has_changed_anything(run->host->state)) {
                r->was_reverted = run->host->state->reverted;
                return 0;
        }
        if ((q = collect_before(run, r)) < 0 || (q = restore_knobs(run, dry_run, r)) < 0 ||
            (q = move_pages(run, r, dry_run)) < 0)
                return q;
        return dry_run ? 0 : recorded(r, remember_reverted(run, r));
}

int revert_run(const ApplyInput *input, const Plan *plan, bool dry_run, Released **ret) {
        _cleanup_(released_freep) Released *released = calloc(1, sizeof(Released));
        _cleanup_(state_freep) State *state = NULL;
        _cleanup_close_ int lock = -1;
        Run run;
        int r = state_read(input->root, &state);

        if (r < 0)
                return r;
        if (!released)
                return -ENOMEM;
        r = begin(&run, input, plan, dry_run, &lock);
        if (r >= 0)
                r = run.host->state ? revert_locked(&run, dry_run, released) : -ENOENT;
        run_done(&run);
        if (r >= 0)
                *ret = TAKE_PTR(released);
        return r;
}

/* Release. */

/* Which pages a mount has nobody says: those of the last nodes, for want of better. */
static void set_claimed(ReleasedPool *p, const MountClaim *claim, size_t n_nodes) {
        uint64_t left;

        p->in_use = MIN(claim->used, p->held);
        p->promised = MIN(claim->promised, p->held - p->in_use);
        left = p->in_use + p->promised;
        for (size_t n = n_nodes; n-- > 0;) {
                p->node_claimed[n] = MIN(left, p->node_held[n]);
                left -= p->node_claimed[n];
        }
}

static int add_pool(const Run *run, const PlanPool *pp, const uint64_t *reserved, const MountClaim *claim,
                    Released *r) {
        size_t n_nodes = run->host->n_nodes;
        ReleasedPool *p;

        if (GROW_ARRAY(r->pools, r->n_pools) < 0)
                return -ENOMEM;
        p = &r->pools[r->n_pools++];
        p->pool = pp;
        p->node_held = calloc(n_nodes + 1, sizeof(uint64_t));
        p->node_released = calloc(n_nodes + 1, sizeof(uint64_t));
        p->node_claimed = calloc(n_nodes + 1, sizeof(uint64_t));
        if (!p->node_held || !p->node_released || !p->node_claimed)
                return -ENOMEM;
        for (size_t n = 0; n < n_nodes; n++) {
                p->node_held[n] = reserved[n];
                p->held += reserved[n];
        }
        if (claim)
                set_claimed(p, claim, n_nodes);
        return 0;
}

static int collect_pools(const Run *run, const Plan *plan, const bool *named, const MountClaim *claims,
                         Released *r) {
        const Host *h = run->host;
        _cleanup_free_ uint64_t *reserved = calloc(plan->n_pools * h->n_nodes + 1, sizeof(uint64_t));
        int q = reserved ? plan_attribute(plan, h, reserved) : -ENOMEM;

        for (size_t i = 0; q >= 0 && i < plan->n_pools; i++)
                if (!named || named[i])
                        q = add_pool(run, &plan->pools[i], reserved + i * h->n_nodes,
                                     claims ? &claims[i] : NULL, r);
        return q;
}

/* Over the pools: what they hold of a size on a node, and what of it mounts have. */
static uint64_t held_on_node(const Released *r, size_t s, size_t n, uint64_t *ret_claimed) {
        uint64_t held = 0, claimed = 0;

        for (size_t i = 0; i < r->n_pools; i++) {
                const ReleasedPool *p = &r->pools[i];

                if (p->pool->size_index != s)
                        continue;
                held += p->node_held[n];
                claimed += p->node_claimed[n];
        }
        *ret_claimed = claimed;
        return held;
}

static int collect_held(const Run *run, Released *r) {
        const Host *h = run->host;

        for (size_t s = 0; s < h->n_sizes; s++)
                for (size_t n = 0; n < h->n_nodes; n++) {
                        uint64_t claimed, held = held_on_node(r, s, n, &claimed);
                        uint64_t goal = sub_sat(pages_persistent(&h->nodes[n].pages[s]), held);

                        if (held > 0 && add_pages(run, r, s, n, goal, claimed) < 0)
                                return -ENOMEM;
                }
        return 0;
}

/* What stayed counts as in use, for the time being. */
static void share_node(const Run *run, const ReleasedPages *p, Released *r) {
        uint64_t gone = sub_sat(p->from, p->actual);
        bool refused = record_of(run, p)->error < 0;

        for (size_t i = 0; i < r->n_pools; i++) {
                ReleasedPool *pool = &r->pools[i];
                uint64_t held = pool->node_held[p->node_index] - pool->node_claimed[p->node_index];
                uint64_t goes = MIN(gone, held);

                if (pool->pool->size_index != p->size_index)
                        continue;
                pool->node_released[p->node_index] = goes;
                pool->released += goes;
                *(refused ? &pool->refused : &pool->in_use) += held - goes;
                gone -= goes;
        }
}

static uint64_t claimed(const ReleasedPool *p, size_t n_nodes) {
        uint64_t sum = 0;

        for (size_t n = 0; n < n_nodes; n++)
                sum += p->node_claimed[n];
        return sum;
}

/* Of what stayed without a mount's having it, as much is promised as the kernel has promised to others than
 * mounts of pools. */
static void tell_promised(const Run *run, const Plan *plan, const MountClaim *claims, size_t s,
                          Released *r) {
        uint64_t promised = run->host->sizes[s].resv;

        for (size_t i = 0; claims && i < plan->n_pools; i++)
                if (plan->pools[i].size_index == s)
                        promised = sub_sat(promised, add_sat(claims[i].used, claims[i].promised));
        for (size_t i = 0; i < r->n_pools; i++) {
                ReleasedPool *p = &r->pools[i];
                uint64_t stayed = p->held - p->released - p->refused - claimed(p, run->host->n_nodes);
                uint64_t x = MIN(promised, stayed);

                if (p->pool->size_index != s)
                        continue;
                p->in_use -= x;
                p->promised += x;
                promised -= x;
        }
}

static void share(const Run *run, const Plan *plan, const MountClaim *claims, Released *r) {
        for (size_t i = 0; i < r->n_pages; i++)
                share_node(run, &r->pages[i], r);
        for (size_t s = 0; s < run->host->n_sizes; s++)
                tell_promised(run, plan, claims, s, r);
}

/* A release that was killed may have left nothing to give back, and no word why. */
static bool some_are_marked(const Run *run) {
        const State *s = run->host->state;

        for (size_t i = 0; s && i < s->n_pools; i++)
                if (s->pools[i].released)
                        return true;
        return false;
}

static int release_locked(Run *run, const Plan *plan, const bool *named, const MountClaim *claims,
                          bool dry_run, Released *r) {
        int q;

        if ((q = collect_pools(run, plan, named, claims, r)) < 0 || (q = collect_held(run, r)) < 0)
                return q;
        if (r->n_pages == 0)
                return !dry_run && some_are_marked(run) ? recorded(r, remember_released(run, plan)) : 0;
        if ((!dry_run && (q = recorded(r, remember_releasing(run, r))) < 0) ||
            (q = move_pages(run, r, dry_run)) < 0)
                return q;
        share(run, plan, claims, r);
        if (dry_run)
                return 0;
        q = counts_refresh(run->kernel, run->host);
        return q < 0 ? q : recorded(r, remember_released(run, plan));
}

int release_run(const ApplyInput *input, const Plan *plan, const bool *named, const MountClaim *claims,
                bool dry_run, Released **ret) {
        _cleanup_(released_freep) Released *released = calloc(1, sizeof(Released));
        _cleanup_close_ int lock = -1;
        Run run;
        int r;

        if (!released)
                return -ENOMEM;
        r = begin(&run, input, plan, dry_run, &lock);
        if (r >= 0)
                r = release_locked(&run, plan, named, claims, dry_run, released);
        run_done(&run);
        if (r >= 0)
                *ret = TAKE_PTR(released);
        return r;
}
