/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An Outcome in words: one status line over all, one line a pool. */

#include <inttypes.h>

#include "basic/format.h"
#include "host/host.h"
#include "report/report.h"

#define SEPARATOR " · "
#define FAULTS_NAMED_MAX 3u /* the line is for reading: the log has them all */
#define NODES_NAMED_MAX 4u

/* The text that was written to f, which is closed; NULL when out of memory. */
static char *take_text(FILE *f, char **text) {
        bool failed = ferror(f);

        if (fclose(f) != 0 || failed) {
                free(*text);
                *text = NULL;
        }
        return TAKE_PTR(*text);
}

static bool short_on_node(const OutcomePool *p, size_t n) {
        return p->node_planned && p->node_reserved && p->node_reserved[n] < p->node_planned[n];
}

/* " on node1" where the pages are missing on particular nodes, and there is more than one to choose from. */
static void put_short_nodes(FILE *f, const Outcome *o, const OutcomePool *p) {
        size_t total = 0, k = 0;

        for (size_t n = 0; n < o->n_nodes; n++)
                total += short_on_node(p, n);
        if (total == 0 || o->n_memory_nodes < 2)
                return;
        if (total > NODES_NAMED_MAX) {
                fprintf(f, " on %zu nodes", total);
                return;
        }
        for (size_t n = 0; n < o->n_nodes; n++)
                if (short_on_node(p, n)) {
                        fprintf(f, "%snode%u",
                                k == 0           ? " on "
                                : k + 1 == total ? " and "
                                                 : ", ",
                                o->node_ids[n]);
                        k++;
                }
}

static void put_shortage(FILE *f, const Outcome *o, const OutcomePool *p) {
        fprintf(f, "short by %" PRIu64 " × %s", p->requested - p->reserved, FORMAT_SIZE_EXACT(p->page_size));
        put_short_nodes(f, o, p);
}

int report_pool_shortage(const Outcome *o, const OutcomePool *p, char **ret) {
        char *text = NULL;
        size_t size;
        FILE *f;

        *ret = NULL;
        if (!outcome_pool_is_short(p))
                return 0;
        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        fputs(p->name, f);
        if (!p->dropped) {
                fputc(' ', f);
                put_shortage(f, o, p);
        } else if (p->source.file)
                fprintf(f, " dropped (error in %s:%u)", p->source.file, p->source.line);
        else
                fputs(" dropped for an error", f);
        *ret = take_text(f, &text);
        return *ret ? 0 : -ENOMEM;
}

static uint64_t pages_there(const Outcome *o, uint64_t page_size) {
        for (size_t i = 0; i < o->n_sizes; i++)
                if (o->sizes[i].page_size == page_size)
                        return o->sizes[i].persistent;
        return 0;
}

int report_cmdline_hint(const Outcome *o, const Argument *a, char **ret) {
        const char *pool = NULL;

        *ret = NULL;
        for (size_t i = 0; i < o->n_pools && !pool; i++)
                if (!o->pools[i].dropped && o->pools[i].page_size == a->page_size &&
                    outcome_pool_is_short(&o->pools[i]))
                        pool = o->pools[i].name;
        if (!pool || a->pages <= pages_there(o, a->page_size))
                return 0;
        return asprintf(ret,
                        "pool %s is short: the kernel command line would have got its %s pages (%s): run "
                        "hugepagesctl cmdline --install, and reboot",
                        pool, FORMAT_SIZE_EXACT(a->page_size), a->text) < 0
                       ? -ENOMEM
                       : 0;
}

/* What is not as declared, one after another, the first few in words. */
typedef struct Faults {
        FILE *f;
        size_t n;
} Faults;

static void put_fault(Faults *faults, const char *text) {
        if (faults->n < FAULTS_NAMED_MAX)
                fprintf(faults->f, "%s%s", faults->n == 0 ? SEPARATOR "degraded: " : ", ", text);
        faults->n++;
}

static void put_faults_of_pools(Faults *faults, const Outcome *o) {
        for (size_t i = 0; i < o->n_pools; i++) {
                _cleanup_free_ char *text = NULL;

                if (report_pool_shortage(o, &o->pools[i], &text) >= 0 && text)
                        put_fault(faults, text);
        }
}

/* An error that cost a pool has been told with the pool. */
static void put_faults_of_drop_ins(Faults *faults, const Outcome *o) {
        size_t n_dropped = 0, n;
        char text[64];

        for (size_t i = 0; i < o->n_pools; i++)
                n_dropped += o->pools[i].dropped;
        n = sub_sat(o->n_errors, n_dropped);
        if (n == 0)
                return;
        snprintf(text, sizeof(text), "%zu %serror%s in drop-ins", n, n_dropped > 0 ? "more " : "",
                 n == 1 ? "" : "s");
        put_fault(faults, text);
}

static void put_faults_of_settings(Faults *faults, const Outcome *o) {
        size_t n = 0;
        char text[64];

        for (size_t i = 0; i < o->n_settings; i++)
                n += o->settings[i].result == SETTING_REFUSED;
        if (n == 0)
                return;
        snprintf(text, sizeof(text), "%zu setting%s not as declared", n, n == 1 ? "" : "s");
        put_fault(faults, text);
}

/* Smallest first, as people list them. Returns whether anything was written. */
static bool put_sizes(FILE *f, const Outcome *o) {
        bool any = false;

        for (size_t i = o->n_sizes; i-- > 0;) {
                const OutcomeSize *s = &o->sizes[i];

                if (!s->has_pool)
                        continue;
                fprintf(f, "%s%s %" PRIu64 "/%" PRIu64 " (%s)", any ? SEPARATOR : "",
                        FORMAT_SIZE_EXACT(s->page_size), s->reserved, s->requested,
                        FORMAT_SIZE(mul_sat(s->reserved, s->page_size)));
                any = true;
        }
        if (any && o->n_memory_nodes > 1)
                fprintf(f, " on %zu nodes", o->n_memory_nodes);
        return any;
}

static void put_thp(FILE *f, const Outcome *o) {
        for (size_t i = 0; i < o->n_settings; i++)
                if (streq(o->settings[i].path, THP_DIRECTORY "/enabled") && o->settings[i].actual)
                        fprintf(f, SEPARATOR "THP %s", o->settings[i].actual);
}

static void put_state(FILE *f, const Outcome *o) {
        if (!put_sizes(f, o))
                fputs(o->n_pools > 0 ? "no usable pools" : "no pools configured", f);
        put_thp(f, o);
}

char *report_unapplied_line(const Outcome *o) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        fputs("not applied: ", f);
        put_state(f, o);
        return take_text(f, &text);
}

char *report_status_line(const Outcome *o) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        Faults faults = { .f = f };

        if (!f)
                return NULL;
        put_state(f, o);
        put_faults_of_pools(&faults, o);
        put_faults_of_drop_ins(&faults, o);
        put_faults_of_settings(&faults, o);
        if (faults.n > FAULTS_NAMED_MAX)
                fprintf(f, " and %zu more fault%s", faults.n - FAULTS_NAMED_MAX,
                        faults.n - FAULTS_NAMED_MAX == 1 ? "" : "s");
        return take_text(f, &text);
}

/* ": node0 2048, node1 2048" */
static void put_placement(FILE *f, const Outcome *o, const OutcomePool *p) {
        const char *before = ": ";

        if (o->n_memory_nodes < 2)
                return;
        for (size_t n = 0; n < o->n_nodes; n++)
                if (p->node_reserved[n] > 0) {
                        fprintf(f, "%snode%u %" PRIu64, before, o->node_ids[n], p->node_reserved[n]);
                        before = ", ";
                }
}

char *report_pool_line(const Outcome *o, const OutcomePool *p) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        fprintf(f, "pool %s", p->name);
        if (p->dropped) {
                fprintf(f, " dropped: %s", p->reason ?: "an error in its drop-in");
                return take_text(f, &text);
        }
        fprintf(f, ": %" PRIu64, p->reserved);
        if (p->reserved < p->requested)
                fprintf(f, " of %" PRIu64, p->requested);
        fprintf(f, " × %s (%s) reserved", FORMAT_SIZE_EXACT(p->page_size),
                FORMAT_SIZE(mul_sat(p->reserved, p->page_size)));
        put_placement(f, o, p);
        if (p->reserved < p->requested) {
                fputs("; ", f);
                put_shortage(f, o, p);
                if (!isempty(p->reason))
                        fprintf(f, ": %s", p->reason);
        }
        return take_text(f, &text);
}
