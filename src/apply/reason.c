/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why a pool is short, in one sentence that somebody can act on. */

#include "apply/memory.h"
#include "apply/run.h"
#include "basic/format.h"
#include "config/keys.h"

#define NODES_NAMED_MAX 4u

static const Diagnostic *find_error(const Diagnostics *d, Source s) {
        for (size_t i = 0; d && s.file && i < d->n; i++)
                if (d->items[i].severity == SEVERITY_ERROR && d->items[i].line == s.line &&
                    streq_ptr(d->items[i].file, s.file))
                        return &d->items[i];
        return NULL;
}

/* The error that cost the section: at a key whose last value was bad, else at any of its keys or its header
 * (what only the plan could see). */
static const Diagnostic *error_of_section(const Section *s, const Diagnostics *d, Source *ret) {
        size_t n_keys = s->keys ? section_table[s->type].n_keys : 0;
        const Diagnostic *e;

        for (int bad = 1; bad >= 0; bad--)
                for (size_t i = 0; i < n_keys; i++) {
                        if (bad && s->keys[i].state != KEY_STATE_BAD)
                                continue;
                        e = find_error(d, s->keys[i].source);
                        if (e) {
                                *ret = s->keys[i].source;
                                return e;
                        }
                }
        *ret = s->source;
        return find_error(d, s->source);
}

int reason_for_dropped(const Section *s, const Diagnostics *d, Source *ret_source, char **ret) {
        const Diagnostic *e = error_of_section(s, d, ret_source);

        *ret = e ? diag_format(e) : strdup("an error in its drop-in");
        return *ret ? 0 : -ENOMEM;
}

typedef enum Cause {
        CAUSE_REFUSED,
        CAUSE_KEPT_FREE,
        CAUSE_TAKEN,
        CAUSE_NOT_RUN,
        CAUSE_FRAGMENTED,
        _CAUSE_MAX,
} Cause;

static const NodeRecord *node_record(const Run *run, const Host *host, size_t s, size_t n) {
        return run ? run_record(run, s, n) : NULL;
}

static Cause cause_of(const PlanPool *pp, const Host *host, const Run *run, size_t n, uint64_t reserved) {
        const NodeRecord *record = node_record(run, host, pp->size_index, n);
        const StatePool *prior;

        if (record)
                return record->error < 0   ? CAUSE_REFUSED
                       : record->kept_free ? CAUSE_KEPT_FREE
                                           : CAUSE_FRAGMENTED;
        prior = state_find_pool(host->state, pp->pool->section.name);
        if (!prior || !pp->node_prior || prior->requested != pp->requested || host->state->exit_status < 0)
                return CAUSE_NOT_RUN;
        return pp->node_prior[n] > reserved ? CAUSE_TAKEN : CAUSE_FRAGMENTED;
}

/* "node0, node2 and 5 more nodes"; "this machine" where there is but one node with memory. */
static void put_nodes(FILE *f, const Host *host, const Cause *causes, Cause cause) {
        size_t n_with_memory = 0, total = 0, k = 0;

        for (size_t n = 0; n < host->n_nodes; n++) {
                n_with_memory += host->nodes[n].has_memory;
                total += causes[n] == cause;
        }
        if (n_with_memory < 2) {
                fputs("this machine", f);
                return;
        }
        for (size_t n = 0; n < host->n_nodes && k < NODES_NAMED_MAX; n++)
                if (causes[n] == cause) {
                        fprintf(f, "%snode%u",
                                k == 0           ? ""
                                : k + 1 == total ? " and "
                                                 : ", ",
                                host->nodes[n].id);
                        k++;
                }
        if (total > k)
                fprintf(f, " and %zu more nodes", total - k);
}

static int first_error(const PlanPool *pp, const Host *host, const Run *run, const Cause *causes) {
        for (size_t n = 0; n < host->n_nodes; n++)
                if (causes[n] == CAUSE_REFUSED)
                        return node_record(run, host, pp->size_index, n)->error;
        return 0;
}

/* What there is of these nodes' memory, as one who would free some wants to know it. */
static int put_memory(FILE *f, const Host *host, const Run *run, const Cause *causes, Cause cause,
                      uint64_t page_size) {
        _cleanup_free_ bool *marked = calloc(host->n_nodes + 1, sizeof(bool));
        NodeMemory m;
        int r;

        if (!marked)
                return -ENOMEM;
        for (size_t n = 0; n < host->n_nodes; n++)
                marked[n] = causes[n] == cause;
        r = memory_look(run->kernel, host, marked, page_size, &m);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        fprintf(f, " (%s free", FORMAT_SIZE(m.free));
        if (m.largest_block > 0 && m.largest_block < page_size && m.largest_block < m.block_max)
                fprintf(f, ", in blocks of up to %s", FORMAT_SIZE(m.largest_block));
        fprintf(f, "; programs hold %s, the page cache %s, the kernel %s)", FORMAT_SIZE(m.programs),
                FORMAT_SIZE(m.cache), FORMAT_SIZE(m.kernel));
        return 0;
}

static int put_cause(FILE *f, const Plan *plan, const PlanPool *pp, const Host *host, const Run *run,
                     const Cause *causes, Cause cause) {
        switch (cause) {
        case CAUSE_REFUSED:
                fputs("the kernel refused pages on ", f);
                put_nodes(f, host, causes, cause);
                fprintf(f, ": %s", strerror(-first_error(pp, host, run, causes)));
                break;
        case CAUSE_KEPT_FREE:
                fprintf(f, "memory was taken meanwhile, and KeepFree=%s left no room for more on ",
                        FORMAT_SIZE(plan->keep_free));
                put_nodes(f, host, causes, cause);
                break;
        case CAUSE_TAKEN:
                fputs("pages were taken away after they had been reserved, on ", f);
                put_nodes(f, host, causes, cause);
                break;
        case CAUSE_NOT_RUN:
                fputs("hugepages-setup.service has not reserved them yet", f);
                break;
        case CAUSE_FRAGMENTED:
        default:
                fputs("too little unbroken memory on ", f);
                put_nodes(f, host, causes, cause);
                if (run && run->timed_out)
                        fputs(" within TimeoutSec=", f);
                return run ? put_memory(f, host, run, causes, cause, host->sizes[pp->size_index].bytes) : 0;
        }
        return 0;
}

/* What the run that left things as they are has said: it has seen more than can be seen now. */
static const char *remembered_reason(const PlanPool *pp, const Host *host, const uint64_t *node_reserved) {
        const StatePool *prior = state_find_pool(host->state, pp->pool->section.name);
        uint64_t reserved = 0;

        if (!prior || host->state->exit_status < 0)
                return NULL;
        for (size_t n = 0; n < host->n_nodes; n++)
                reserved += node_reserved[n];
        return prior->requested == pp->requested && prior->reserved == reserved ? prior->reason : NULL;
}

int reason_for_short(const Plan *plan, const PlanPool *pp, const Host *host, const Run *run,
                     const uint64_t *node_reserved, char **ret) {
        const char *remembered = run ? NULL : remembered_reason(pp, host, node_reserved);
        _cleanup_free_ Cause *causes = NULL;
        char *text = NULL;
        size_t size = 0;
        unsigned seen = 0;
        FILE *f;
        int r = 0;

        if (remembered)
                return (*ret = strdup(remembered)) ? 0 : -ENOMEM;
        causes = calloc(host->n_nodes + 1, sizeof(Cause));
        f = causes ? open_memstream(&text, &size) : NULL;
        if (!f)
                return -ENOMEM;
        for (size_t n = 0; n < host->n_nodes; n++) {
                bool is_short = node_reserved[n] < pp->node_planned[n];

                causes[n] = is_short ? cause_of(pp, host, run, n, node_reserved[n]) : _CAUSE_MAX;
                if (is_short)
                        seen |= 1u << causes[n];
        }
        if (pp->cut)
                fputs(pp->cut, f);
        for (Cause c = 0; c < _CAUSE_MAX && r >= 0; c++)
                if (seen & (1u << c)) {
                        fputs(ftell(f) > 0 ? "; " : "", f);
                        r = put_cause(f, plan, pp, host, run, causes, c);
                }
        if (fclose(f) != 0 || r < 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}
