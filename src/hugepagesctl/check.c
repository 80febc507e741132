/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl check: what is wrong with the drop-ins, one line each. */

#include "basic/format.h"
#include "hugepagesctl/cmdline.h"
#include "hugepagesctl/ignored.h"
#include "hugepagesctl/initrd.h"
#include "hugepagesctl/lint.h"

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

/* As drop-ins: "50-db" is taken for "50-db.conf". */
static bool same_name(const char *a, const char *b) {
        const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
        const char *x_end, *y_end;

        x = x ? x + 1 : a;
        y = y ? y + 1 : b;
        x_end = endswith(x, ".conf") ?: x + strlen(x);
        y_end = endswith(y, ".conf") ?: y + strlen(y);
        return x_end - x == y_end - y && memcmp(x, y, (size_t) (x_end - x)) == 0;
}

/* Of two drop-ins of one name only the last is read: nobody must take the other for valid. */
static void report_unread(const char *file, char *const *later, Diagnostics *d) {
        for (; *later; later++)
                if (!streq(file, *later) && same_name(file, *later)) {
                        diag_error(d, ((Source){ file, 0 }),
                                   "not checked: %s has the same name and replaces it (expected different "
                                   "names, or one file at a time)",
                                   *later);
                        return;
                }
}

/* It is checked all the same: the name may be what is wrong with it alone. */
static void report_ignored(const Options *o, const char *file, Diagnostics *d) {
        if (ignored_file(o, file))
                diag_warning(d, ((Source){ file, 0 }),
                             "not read under this name, which does not end in .conf");
}

typedef struct DiagnosticSet {
        const Diagnostic **items;
        size_t n;
} DiagnosticSet;

/* The next character of a message; each number, with its unit, is one of its own. */
static int next_of_message(const char **s) {
        if (**s < '0' || **s > '9')
                return **s ? (unsigned char) *(*s)++ : 0;
        *s += strspn(*s, "0123456789.");
        *s += strspn(*s, "KMGT%");
        return '0';
}

/* Whatever the numbers: that a pool is cut, or that sysctl.d says otherwise, is no news where the numbers
 * alone have changed. */
static int message_compare(const char *a, const char *b) {
        int x, y;

        do {
                x = next_of_message(&a);
                y = next_of_message(&b);
        } while (x == y && x != 0);
        return x - y;
}

static int diagnostic_compare(const void *a, const void *b) {
        const Diagnostic *x = *(const Diagnostic *const *) a, *y = *(const Diagnostic *const *) b;
        int r = strcmp(x->file ?: "", y->file ?: "");

        if (r == 0)
                r = (x->line > y->line) - (x->line < y->line);
        return r != 0 ? r : message_compare(x->message, y->message);
}

static void diagnostic_set_make(const Diagnostics *d, DiagnosticSet *ret) {
        *ret = (DiagnosticSet){ .items = calloc(d->n + 1, sizeof(Diagnostic *)), .n = d->n };
        if (!ret->items)
                out_of_memory();
        for (size_t i = 0; i < d->n; i++)
                ret->items[i] = &d->items[i];
        qsort(ret->items, ret->n, sizeof(Diagnostic *), diagnostic_compare);
}

/* With FILEs: what concerns them, and what is wrong elsewhere only since they are there. */
static void keep_new(Diagnostics *d, const Diagnostics *before, char *const *files) {
        Diagnostics kept = {};
        DiagnosticSet known;

        diagnostic_set_make(before, &known);
        for (size_t i = 0; i < d->n; i++) {
                const Diagnostic *item = &d->items[i];
                Source source = { item->file, item->line };

                if (is_one_of(item->file, files) ||
                    !bsearch(&item, known.items, known.n, sizeof(Diagnostic *), diagnostic_compare))
                        diag_add(&kept, item->severity, source, "%s", item->message);
        }
        free(known.items);
        diag_done(d);
        *d = kept;
}

/* What all pools but Size=rest ask for, in bytes. */
static uint64_t requested_bytes(const Plan *p) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < p->n_pools; i++)
                if (!p->pools[i].rest)
                        bytes = add_sat(bytes, mul_sat(p->pools[i].requested,
                                                       p->host->sizes[p->pools[i].size_index].bytes));
        return bytes;
}

/* Each for itself would fit. */
static bool is_cut_by_others(const Plan *p, const PlanPool *pool, uint64_t all, uint64_t room) {
        uint64_t own = mul_sat(pool->requested, p->host->sizes[pool->size_index].bytes);

        return !pool->rest && own <= room && all > room;
}

/* A pool that this machine has no room for is as declared as ever: the plan tells it with the pool, and only
 * who validates a drop-in wants it among the faults. */
static void warn_cuts(const Plan *p, Diagnostics *d) {
        uint64_t all = requested_bytes(p), room = sub_sat(p->host->mem_total, p->keep_free);

        for (size_t i = 0; i < p->n_pools; i++) {
                const PlanPool *pool = &p->pools[i];
                const Section *section = &pool->pool->section;
                Source source = section_key_source(section, "Size");

                /* Nodes that do not exist have had their warning. */
                if (add_sat(pool->planned, pool->missing) >= pool->requested)
                        continue;
                if (is_cut_by_others(p, pool, all, room))
                        diag_warning(d, source,
                                     "pool %s: %s; the pools do not fit together: they ask for %s, and "
                                     "KeepFree= leaves %s",
                                     section->name, pool->cut, FORMAT_SIZE(all), FORMAT_SIZE(room));
                else
                        diag_warning(d, source, "pool %s: %s", section->name, pool->cut);
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
        lint(o, ret, &ret->diagnostics);
        if (!files) {
                ignored_find(o, &ret->diagnostics);
                folklore_find(o->root, &ret->diagnostics);
                initrd_lint(o, &ret->diagnostics);
                cmdline_lint(o, &ret->diagnostics);
        }
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
                for (char *const *file = arguments; *file; file++) {
                        report_unread(*file, file + 1, &context.diagnostics);
                        report_ignored(o, *file, &context.diagnostics);
                }
        }
        check_print(o, &context.diagnostics);
        if (context.diagnostics.n_errors > 0 || (o->strict && context.diagnostics.n_warnings > 0))
                return CTL_FAILURE;
        return CTL_OK;
}
