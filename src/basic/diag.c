/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnostics: a growing list of what is wrong, each with its file and line. */

#include <stdarg.h>

#include "basic/diag.h"

void diag_add(Diagnostics *d, Severity severity, Source source, const char *format, ...) {
        _cleanup_free_ char *file = NULL, *message = NULL;
        va_list ap;
        int r;

        if (severity == SEVERITY_ERROR)
                d->n_errors++;
        else
                d->n_warnings++;

        va_start(ap, format);
        r = vasprintf(&message, format, ap);
        va_end(ap);
        if (r < 0) {
                message = NULL;
                return;
        }
        if (source.file && !(file = strdup(source.file)))
                return;
        if (GROW_ARRAY(d->items, d->n) < 0)
                return;
        d->items[d->n++] = (Diagnostic){
                .severity = severity,
                .file = TAKE_PTR(file),
                .line = source.line,
                .message = TAKE_PTR(message),
        };
}

/* Drop-ins are read in the order of their base names, whatever directory they are in. */
static int diagnostic_compare(const Diagnostic *a, const Diagnostic *b) {
        const char *x, *y;
        int r;

        if (!a->file || !b->file)
                return !!a->file - !!b->file;
        x = strrchr(a->file, '/');
        y = strrchr(b->file, '/');
        r = strcmp(x ? x : a->file, y ? y : b->file);
        if (r == 0)
                r = strcmp(a->file, b->file);
        if (r != 0)
                return r;
        return (a->line > b->line) - (a->line < b->line);
}

void diag_sort(Diagnostics *d) {
        if (d->n < 2)
                return;

        /* Merge sort, bottom up: stable, which qsort() is not. */
        _cleanup_free_ Diagnostic *other = calloc(d->n, sizeof(Diagnostic));
        if (!other)
                return; /* unsorted is better than lost */

        Diagnostic *from = d->items, *to = other;
        for (size_t width = 1; width < d->n; width *= 2) {
                for (size_t start = 0; start < d->n; start += 2 * width) {
                        size_t middle = MIN(start + width, d->n), end = MIN(start + 2 * width, d->n);

                        for (size_t i = start, j = middle, k = start; k < end; k++)
                                to[k] = i < middle && (j >= end ||
                                                       diagnostic_compare(&from[i], &from[j]) <= 0)
                                                ? from[i++]
                                                : from[j++];
                }
                Diagnostic *swap = from;
                from = to;
                to = swap;
        }
        if (from != d->items)
                memcpy(d->items, from, d->n * sizeof(Diagnostic));
}

const char *severity_to_string(Severity s) {
        return s == SEVERITY_ERROR ? "error" : "warning";
}

char *diag_format(const Diagnostic *d) {
        char *s;
        int r;

        if (!d->file)
                return strdup(d->message);
        if (d->line == 0)
                r = asprintf(&s, "%s: %s", d->file, d->message);
        else
                r = asprintf(&s, "%s:%u: %s", d->file, d->line, d->message);
        return r < 0 ? NULL : s;
}

void diag_done(Diagnostics *d) {
        for (size_t i = 0; i < d->n; i++) {
                free(d->items[i].file);
                free(d->items[i].message);
        }
        free(d->items);
        *d = (Diagnostics){};
}
