/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Diagnostics: what is wrong with a drop-in, with the file and the line. Stages add, programs print. */

#include "basic/util.h"

typedef enum Severity {
        SEVERITY_WARNING,
        SEVERITY_ERROR,
} Severity;

/* Where something was written. file is the path as the administrator knows it (never with the root
 * prefix), owned by someone who outlives the Source; NULL for something that is in no file. line is 1-based;
 * 0 means the file as a whole. */
typedef struct Source {
        const char *file;
        unsigned line;
} Source;

typedef struct Diagnostic {
        Severity severity;
        char *file; /* owned copy; may be NULL */
        unsigned line;
        char *message; /* without file and line, without a final period */
} Diagnostic;

typedef struct Diagnostics {
        Diagnostic *items;
        size_t n;
        size_t n_errors, n_warnings; /* counted even where memory for the text was not to be had */
} Diagnostics;

/* Adds one, in printf style. Never fails in a way the caller has to handle: the counters are kept anyhow. */
void diag_add(Diagnostics *d, Severity severity, Source source, const char *format, ...) _printf_(4, 5);

#define diag_error(d, source, ...) diag_add(d, SEVERITY_ERROR, source, __VA_ARGS__)
#define diag_warning(d, source, ...) diag_add(d, SEVERITY_WARNING, source, __VA_ARGS__)

/* Stable sort by file (in reading order of the base names, as the drop-ins are read), then line. */
void diag_sort(Diagnostics *d);

/* "warning" or "error". */
const char *severity_to_string(Severity s) _const_;

/* "file:line: message", the form of every message about a drop-in; without file or line where there is
 * none. NULL when out of memory. To be freed by the caller. */
char *diag_format(const Diagnostic *d);

void diag_done(Diagnostics *d); /* frees the contents; d can be used again */
