/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl check: what is wrong with the drop-ins, one line each. */

#include "hugepagesctl/ctl.h"

/* A FILE that is not there is no drop-in with an error: it is not what the caller meant. */
static int check_files_exist(char *const *files) {
        for (; *files; files++) {
                struct stat st;

                if (stat(*files, &st) < 0) {
                        ctl_error("%s: %m", *files);
                        return -errno;
                }
        }
        return 0;
}

static bool is_one_of(const char *file, char *const *files) {
        for (; file && *files; files++)
                if (streq(file, *files))
                        return true;
        return false;
}

static bool diagnostics_contain(const Diagnostics *d, const Diagnostic *wanted) {
        for (size_t i = 0; i < d->n; i++)
                if (streq_ptr(d->items[i].file, wanted->file) && d->items[i].line == wanted->line &&
                    streq(d->items[i].message, wanted->message))
                        return true;
        return false;
}

/* With FILEs: what concerns them, and what is wrong elsewhere only since they are there. */
static void keep_new(Diagnostics *d, const Diagnostics *before, char *const *files) {
        Diagnostics kept = {};

        for (size_t i = 0; i < d->n; i++) {
                const Diagnostic *item = &d->items[i];
                Source source = { item->file, item->line };

                if (is_one_of(item->file, files) || !diagnostics_contain(before, item))
                        diag_add(&kept, item->severity, source, "%s", item->message);
        }
        diag_done(d);
        *d = kept;
}

/* A pool that this machine has no room for is as declared as ever: the plan tells it with the pool, and only
 * who validates a drop-in wants it among the faults. */
static void warn_cuts(const Plan *p, Diagnostics *d) {
        for (size_t i = 0; i < p->n_pools; i++) {
                const PlanPool *pool = &p->pools[i];
                const Section *section = &pool->pool->section;

                /* Nodes that do not exist have had their warning. */
                if (add_sat(pool->planned, pool->missing) < pool->requested)
                        diag_warning(d, section_key_source(section, "Size"), "pool %s: %s", section->name,
                                     pool->cut);
        }
}

static void check_print(const Options *o, const Diagnostics *d) {
        if (o->json) {
                struct json_object *document = json_new_object();

                json_add_diagnostics(document, d);
                json_print(document);
                return;
        }
        for (size_t i = 0; i < d->n; i++) {
                _cleanup_free_ char *line = format_diagnostic(&d->items[i]);

                print_text(o, line);
                putchar('\n');
        }
}

static void check_load(const Options *o, char *const *files, Context *ret) {
        context_load(o, files, ret);
        warn_cuts(ret->plan, &ret->diagnostics);
        diag_sort(&ret->diagnostics);
}

int verb_check(const Options *o, char *const *arguments) {
        _cleanup_(context_done) Context context = {}, before = {};

        if (check_files_exist(arguments) < 0)
                return CTL_FAILURE;
        check_load(o, *arguments ? arguments : NULL, &context);
        if (*arguments) {
                check_load(o, NULL, &before);
                keep_new(&context.diagnostics, &before.diagnostics, arguments);
        }
        check_print(o, &context.diagnostics);
        if (context.diagnostics.n_errors > 0 || (o->strict && context.diagnostics.n_warnings > 0))
                return CTL_FAILURE;
        return CTL_OK;
}
