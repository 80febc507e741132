/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl apply as text: what has changed, and what is left to do. */

#include "basic/format.h"
#include "hugepagesctl/apply.h"
#include "report/report.h"

static void print_item(const Options *o, const char *line) {
        fputs("  ", stdout);
        print_wrapped(o, line, 2, 6);
}

/* "2M: node0 16 → 24, node1 16 → 24", a line a page size. */
static void print_pages(const Options *o, const Changes *c) {
        for (size_t i = 0; i < c->n_pages;) {
                uint64_t page_size = c->pages[i].page_size;
                char *line = format_text("%s pages:", FORMAT_SIZE_EXACT(page_size));

                for (const char *comma = ""; i < c->n_pages && c->pages[i].page_size == page_size; i++) {
                        const PagesChange *p = &c->pages[i];
                        char *longer = format_text("%s%s node%u %" PRIu64 " → %" PRIu64, line, comma,
                                                   p->node, p->before, p->after);

                        free(line);
                        line = longer;
                        comma = ",";
                }
                print_item(o, line);
                free(line);
        }
}

static void print_pools(const Options *o, const Changes *c) {
        for (size_t i = 0; i < c->n_pools; i++) {
                const PoolChange *p = &c->pools[i];
                _cleanup_free_ char *line = NULL;

                if (!p->before)
                        line = format_text("pool %s: %" PRIu64 " × %s, new", p->name, p->after->reserved,
                                           FORMAT_SIZE_EXACT(p->page_size));
                else if (!p->after)
                        line = format_text("pool %s: gone, it had %" PRIu64 " × %s", p->name,
                                           p->before->reserved, FORMAT_SIZE_EXACT(p->page_size));
                else if (p->before->page_size != p->page_size)
                        line = format_text("pool %s: %" PRIu64 " × %s → %" PRIu64 " × %s", p->name,
                                           p->before->reserved, FORMAT_SIZE_EXACT(p->before->page_size),
                                           p->after->reserved, FORMAT_SIZE_EXACT(p->page_size));
                else
                        line = format_text("pool %s: %" PRIu64 " → %" PRIu64 " × %s", p->name,
                                           p->before->reserved, p->after->reserved,
                                           FORMAT_SIZE_EXACT(p->page_size));
                print_item(o, line);
        }
}

static void print_settings(const Options *o, const Changes *c) {
        for (size_t i = 0; i < c->n_settings; i++) {
                const SettingChange *s = &c->settings[i];
                _cleanup_free_ char *line = format_text("%s: %s → %s", s->path, s->before, s->after);

                print_item(o, line);
        }
}

static void print_changes(const Options *o, const Changes *c) {
        if (c->n_pages + c->n_pools + c->n_settings == 0) {
                puts("\nNo page and no setting had to change.");
                return;
        }
        print_title(o, "Changed:");
        print_pages(o, c);
        print_pools(o, c);
        print_settings(o, c);
}

static void print_short(const Apply *a) {
        bool any = false;

        for (size_t i = 0; i < a->outcome->n_pools; i++) {
                const OutcomePool *p = &a->outcome->pools[i];
                _cleanup_free_ char *shortage = NULL, *line = NULL;

                if (!outcome_pool_is_short(p))
                        continue;
                if (report_pool_shortage(a->outcome, p, &shortage) < 0)
                        out_of_memory();
                if (!any)
                        print_title(a->options, "Short:");
                any = true;
                line = format_text("%s%s%s", shortage, p->reason ? ": " : "", p->reason ?: "");
                print_item(a->options, line);
        }
}

static void print_starts(const Apply *a, bool succeeded) {
        bool any = false;

        if (!succeeded && a->service_error) {
                _cleanup_free_ char *line = format_text(SETUP_UNIT ": %s", a->service_error);

                print_title(a->options, "Failed:");
                any = true;
                print_item(a->options, line);
        }
        for (size_t i = 0; i < a->n_starts; i++) {
                const Start *s = &a->starts[i];
                _cleanup_free_ char *line = NULL;

                if (s->succeeded != succeeded)
                        continue;
                if (!any)
                        print_title(a->options, succeeded ? "Started:" : "Failed:");
                any = true;
                line = succeeded ? format_text("%s", s->unit) : format_text("%s: %s", s->unit, s->reason);
                print_item(a->options, line);
        }
}

static void print_advice(const Apply *a) {
        if (a->n_advice > 0)
                print_title(a->options, "Left to you:");
        for (size_t i = 0; i < a->n_advice; i++) {
                _cleanup_free_ char *line = advice_command(&a->advice[i]);

                printf("  %s\n      ", line);
                print_wrapped(a->options, a->advice[i].reason, 6, 6);
        }
}

static void print_reboots(const Apply *a) {
        if (a->n_reboots > 0)
                print_title(a->options, "Needs a reboot:");
        for (size_t i = 0; i < a->n_reboots; i++) {
                _cleanup_free_ char *line = format_text("%s: %s", a->reboots[i].name, a->reboots[i].reason);

                print_item(a->options, line);
        }
}

static void print_units(const Apply *a) {
        bool any = false;

        for (size_t i = 0; i < a->units_after.n + a->units_before.n; i++) {
                bool old = i >= a->units_after.n;
                const char *path = old ? a->units_before.items[i - a->units_after.n].path
                                       : a->units_after.items[i].path;
                GeneratedChange change = generated_compare(&a->units_before, &a->units_after, path);
                _cleanup_free_ char *line = NULL;

                if (change == GENERATED_SAME || (old && change != GENERATED_VANISHED))
                        continue;
                if (!any)
                        print_title(a->options, "Units:");
                any = true;
                line = format_text("%-8s  %s", generated_change_names[change], path);
                fputs("  ", stdout);
                print_wrapped(a->options, line, 2, 12);
        }
        if (!any)
                puts("\nNo unit changes.");
}

static void print_outcome(const Apply *a) {
        _cleanup_(changes_done) Changes changes = {};
        _cleanup_free_ char *status = report_status_line(a->outcome);

        if (!status)
                out_of_memory();
        changes_find(a, &changes);
        fputs("Status: ", stdout);
        print_wrapped(a->options, status, 8, 8);
        print_changes(a->options, &changes);
        print_short(a);
        print_starts(a, /* succeeded= */ true);
        print_starts(a, /* succeeded= */ false);
}

void apply_print_text(const Apply *a) {
        if (a->options->dry_run) {
                puts("Nothing is done.");
                plan_print_writes(a->options, a->before.plan);
                print_units(a);
        } else
                print_outcome(a);
        print_advice(a);
        print_reboots(a);
        print_diagnostics(a->options, &apply_context(a)->diagnostics);
}
