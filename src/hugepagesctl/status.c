/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl status: on one screen, what there is of what the drop-ins ask for. */

#include <time.h>

#include "basic/format.h"
#include "hugepagesctl/status.h"
#include "report/report.h"

const TableInfo *const status_tables[] = { &pools_table,  &sizes_table, &settings_table,
                                           &mounts_table, &units_table, NULL };

/* In the order of status_tables. */
static void (*const print_tables[])(const Status *s, const char *select) = {
        print_pools_table, print_sizes_table, print_settings_table, print_mounts_table, print_units_table,
};

/* Where a sentence has room. Before the service has run every pool is short, for no reason of its own; what
 * a dropped one lacks is among the diagnostics. */
static void print_shortages(const Status *s) {
        bool any = false;

        for (size_t i = 0; s->ran && i < s->outcome->n_pools; i++) {
                const OutcomePool *p = &s->outcome->pools[i];
                _cleanup_free_ char *shortage = NULL, *line = NULL;

                if (report_pool_shortage(s->outcome, p, &shortage) < 0)
                        out_of_memory();
                if (!shortage)
                        continue;
                line = p->reason && !p->dropped ? format_text("  %s: %s", shortage, p->reason)
                                                : format_text("  %s", shortage);
                if (!any)
                        print_title(s->options, "Short:");
                any = true;
                print_wrapped(s->options, line, 0, 6);
        }
}

/* Pages that no pool accounts for are left alone, but not passed over in silence. */
static void print_strangers(const Status *s) {
        for (size_t i = 0; i < s->outcome->n_sizes; i++) {
                const OutcomeSize *size = &s->outcome->sizes[i];
                uint64_t pages = size->has_pool ? size->beyond : size->persistent;
                _cleanup_free_ char *page = format_bytes_exact(s->options, size->page_size), *memory = NULL;
                _cleanup_free_ char *line = NULL;

                if (pages == 0)
                        continue;
                memory = format_bytes(s->options, mul_sat(pages, size->page_size));
                line = format_text("%" PRIu64 " × %s (%s) %s, left alone", pages, page, memory,
                                   size->has_pool ? "beyond the pools" : "without a pool");
                print_wrapped(s->options, line, 0, 4);
        }
}

static char *service_line(const Status *s) {
        const State *state = s->context.host->state;
        const char *active = s->n_units > 0 ? unit_state(&s->units[0]) : NULL;

        if (s->context.off != SWITCHED_ON)
                return format_text("%s", switched_off_to_string(s->context.off));
        if (state && state->reverted)
                return format_text("what it did in this boot has been reverted");
        if (s->ran)
                return format_text("ran in this boot, exit status %d%s%s", state->exit_status,
                                   active ? ", " : "", active ?: "");
        if (s->context.host->state_damaged)
                return format_text("what it left in %s cannot be understood", STATE_PATH);
        if (state)
                return format_text("running, or interrupted");
        return format_text("has not run in this boot");
}

static void print_header(const Status *s) {
        _cleanup_free_ char *service = service_line(s);

        fputs(" Status: ", stdout);
        print_wrapped(s->options, s->configured ? s->line : "no drop-ins: nothing is configured", 9, 9);
        fputs("Service: ", stdout);
        print_wrapped(s->options, service, 9, 9);
}

/* The kernel's counts, or why there are none. */
static void print_sizes(const Status *s) {
        const Host *h = s->context.host;
        bool any = false;

        for (size_t i = 0; i < h->n_sizes; i++)
                any |= h->sizes[i].total.nr > 0 ||
                       (i < s->outcome->n_sizes && s->outcome->sizes[i].has_pool);
        if (h->n_sizes == 0)
                puts(h->no_sysfs ? "\nThere is no /sys here to tell the huge page sizes."
                                 : "\nThis kernel has no huge pages (hugetlb).");
        else if (!any)
                puts("\nThe kernel holds no huge pages.");
        else
                putchar('\n');
        print_sizes_table(s, NULL);
}

static void print_part(const Status *s, size_t n, void (*print)(const Status *s, const char *select)) {
        if (n == 0)
                return;
        putchar('\n');
        print(s, NULL);
}

/* With -o, -n or -r: the one table that has these columns. */
static int print_one_table(const Status *s) {
        _cleanup_(pool_columns_freep) TableInfo *pools = pool_columns_make(s->context.host);
        const TableInfo *tables[ELEMENTSOF(status_tables)];
        size_t i;

        memcpy(tables, status_tables, sizeof(tables));
        tables[0] = pools;
        i = tables_choose(tables, s->options->output);
        if (i == SIZE_MAX)
                return -EINVAL;
        print_tables[i](s, s->options->output);
        return 0;
}

static int status_print_text(const Status *s) {
        if (options_table_only(s->options))
                return print_one_table(s);

        print_header(s);
        print_part(s, s->outcome->n_pools, print_pools_table);
        print_shortages(s);
        print_sizes(s);
        print_strangers(s);
        print_bars(s);
        print_part(s, s->n_settings, print_settings_table);
        print_part(s, s->n_mounts, print_mounts_table);
        print_part(s, s->n_units, print_units_table);
        print_diagnostics(s->options, &s->context.diagnostics);
        return 0;
}

static bool status_degraded(const Status *s) {
        if (outcome_degraded(s->outcome) || s->context.host->state->exit_status > 0)
                return true;
        for (size_t i = 0; i < s->n_mounts; i++)
                if (mount_is_bad(&s->mounts[i]))
                        return true;
        for (size_t i = 0; i < s->n_units; i++)
                if (unit_is_bad(&s->units[i]))
                        return true;
        return false;
}

static int status_judge(const Status *s) {
        if (!s->configured)
                return CTL_OK;
        if (!s->ran)
                return CTL_NOT_APPLIED;
        return status_degraded(s) ? CTL_DEGRADED : CTL_OK;
}

const char *status_state(const Status *s) {
        if (!s->configured)
                return "unconfigured";
        return s->exit_status == CTL_OK         ? "applied"
               : s->exit_status == CTL_DEGRADED ? "degraded"
                                                : "not-applied";
}

static void status_load(const Options *o, Status *s) {
        const State *state;

        s->options = o;
        context_load(o, NULL, &s->context);
        if (outcome_observe(s->context.plan, s->context.host, &s->context.diagnostics, &s->outcome) < 0)
                out_of_memory();
        state = s->context.host->state;
        s->configured = config_exists(o->root);
        s->ran = state && state->exit_status >= 0;
        s->line = s->ran && s->context.off == SWITCHED_ON ? report_status_line(s->outcome)
                                                          : report_unapplied_line(s->outcome);
        if (!s->line)
                out_of_memory();
        status_make_settings(s);
        status_read_mounts(s);
        status_read_units(s);
        s->exit_status = status_judge(s);
}

static void status_done(Status *s) {
        status_free_system(s);
        status_free_settings(s);
        free(s->line);
        if (s->outcome)
                outcome_free(s->outcome);
        context_done(&s->context);
}

static int status_once(const Options *o) {
        _cleanup_(status_done) Status status = {};

        status_load(o, &status);
        if (o->json)
                status_print_json(&status);
        else if (status_print_text(&status) < 0)
                return CTL_USAGE;
        return status.exit_status;
}

/* On a terminal in place of what was there, else one after another with an empty line between. */
static void begin_look(const Options *o, bool first) {
        char now[sizeof("23:59:59")];
        time_t t = time(NULL);
        struct tm tm;

        if (o->terminal)
                fputs("\033[H\033[J", stdout);
        else if (!first && !o->json && !options_table_only(o))
                putchar('\n');
        if (o->json || options_table_only(o))
                return;
        if (localtime_r(&t, &tm) && strftime(now, sizeof(now), "%T", &tm) > 0)
                printf("   Time: %s\n", now);
}

/* Until a signal ends it, or nobody reads any more. */
static int status_watch(const Options *o) {
        const struct timespec interval = { .tv_sec = (time_t) (o->watch_usec / 1000000),
                                           .tv_nsec = (long) (o->watch_usec % 1000000 * 1000) };
        int status;

        for (bool first = true;; first = false) {
                begin_look(o, first);
                status = status_once(o);
                if (fflush(stdout) != 0 || status == CTL_USAGE)
                        return status;
                (void) nanosleep(&interval, NULL);
        }
}

int verb_status(const Options *o, char *const *arguments) {
        return o->watch_usec > 0 ? status_watch(o) : status_once(o);
}
