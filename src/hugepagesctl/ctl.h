/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* hugepagesctl: one file a verb; what verbs share is declared here. The verbs end the program when memory is
 * not to be had, as util-linux's tools do: there is nothing they would have to undo. */

#include <inttypes.h>
#include <json.h>
#include <libsmartcols.h>

#include "apply/apply.h"
#include "basic/diag.h"
#include "basic/fs.h"
#include "boot/switch.h"
#include "config/config.h"
#include "host/host.h"
#include "plan/plan.h"

enum { /* exit statuses, all documented in hugepagesctl(8) */
       CTL_OK = 0,
       CTL_FAILURE = 1,     /* a drop-in has an error, or the verb could not do its work */
       CTL_USAGE = 2,       /* unknown verb, option, column, … */
       CTL_DEGRADED = 3,    /* status: something is not as declared; cmdline: a reboot is needed */
       CTL_NOT_APPLIED = 4, /* status: the service has not run in this boot; cmdline: not installed */
};

typedef struct Options {
        char *root; /* NULL: the real system */
        bool json, no_headings, raw, bytes, strict, dry_run, yes, help;
        bool record, update;         /* initrd */
        bool initrd;                 /* apply */
        bool check, install, remove; /* cmdline */
        const char *kernel;          /* cmdline: a version; NULL: the running one's */
        const char *output;          /* -o: the columns; NULL: the default ones */
        bool utf8;                   /* the locale's character set is UTF-8 */
        bool terminal;               /* stdout is one */
        bool color;
        size_t width;        /* columns to keep to; 0: as wide as it comes */
        uint64_t watch_usec; /* status: between two looks; 0: one look */
} Options;

/* -o, -n and -r are for scripts: of a verb's output only the one table is printed then. */
static inline bool options_table_only(const Options *o) {
        return o->output || o->no_headings || o->raw;
}

/* A verb gets the arguments that follow it; gives the exit status. */
/* command.c: runs somebody else's tool to its end, as LoaderContext.run. What it prints and nobody wants
 * goes to standard error. Its exit status, 128 and more for a signal, or negative errno. */
int command_run(void *userdata, const char *const *argv, char **ret_output);

int verb_apply(const Options *o, char *const *arguments);
int verb_cat_config(const Options *o, char *const *arguments);
int verb_check(const Options *o, char *const *arguments);
int verb_cmdline(const Options *o, char *const *arguments);
int verb_initrd(const Options *o, char *const *arguments);
int verb_plan(const Options *o, char *const *arguments);
int verb_status(const Options *o, char *const *arguments);
int verb_revert(const Options *o, char *const *arguments);
int verb_release(const Options *o, char *const *arguments);

/* One line on stderr, after "hugepagesctl: ". */
void ctl_error(const char *format, ...) _printf_(1, 2);
/* False, after an error message, where the kernel or /run would have to be written and may not be. */
bool ctl_is_root(const Options *o);
void out_of_memory(void) __attribute__((noreturn));
char *format_text(const char *format, ...) _printf_(1, 2); /* asprintf() that does not fail */

/* Context: what every verb looks at, loaded anew each time. */

typedef struct Context {
        Diagnostics diagnostics; /* sorted, each once */
        Config *config;
        Host *host;
        Plan *plan;
        SwitchedOff off;
} Context;

/* files as in config_load_with(), or NULL. */
void context_load(const Options *o, char *const *files, Context *ret);
void context_done(Context *c);

/* Table: a column is a row of a table; the rest follows from it. */

typedef struct Column {
        const char *name;
        double width_hint;
        int flags;     /* SCOLS_FL_* */
        bool optional; /* not shown unless -o names it */
        bool list;     /* cells are lists with commas; long ones are broken after a comma */
        const char *help;
} Column;

typedef struct Table Table;

/* The text of a row's cell, to be freed by the table. column is an index into the columns given. */
typedef char *(*TableCell)(const Options *o, const void *row, size_t column);

/* Which words a verb's arguments are, for the shells. */
typedef enum Completion {
        COMPLETE_NOTHING,
        COMPLETE_FILES,
        COMPLETE_POOLS,
} Completion;

/* One of the tables that -o can choose columns of. A verb's tables end with NULL; the first is the one that
 * -n and -r mean. */
typedef struct TableInfo {
        const char *name; /* "pools" */
        const Column *columns;
        size_t n_columns;
} TableInfo;

extern const TableInfo *const status_tables[], *const plan_tables[];

/* Whether the table has a column of this name, of length l, in any case. */
bool table_has_column(const TableInfo *t, const char *name, size_t l);

/* The index of the first table that has all columns of select; SIZE_MAX after an error message. */
size_t tables_choose(const TableInfo *const *tables, const char *select);

/* select: as in -o ("POOL,SIZE", "+FROM" for the default columns and one more), or NULL. NULL after an error
 * message about an unknown column. columns must outlive the table. */
Table *table_new(const Options *o, const Column *columns, size_t n_columns, const char *select);
/* color: a name as in terminal-colors.d(5), or NULL. */
void table_add(Table *t, TableCell cell, const void *row, const char *color);
void table_print(Table *t);
void table_free(Table *t);
DEFINE_CLEANUP(Table, table_free)

/* "0-1:2048,8:100", the form of Pages=; "-" where there are none. counts is by node index. */
char *format_node_counts(const Host *h, const uint64_t *counts);

/* As in a drop-in: "8G", "12.5%", "0:4G,1-3:12G"; "0,2-3", "pci:0000:3b:00.0". */
char *format_amount(const Amount *a);
char *format_nodes(const Nodes *n);

/* What a write of a plan replaces, to be freed by the caller; and all writes, as old → new (plan.c). */
char *plan_old_value(const Plan *p, const PlanWrite *w);
void plan_print_writes(const Options *o, const Plan *p);

/* "2M", or with --bytes "2097152". */
char *format_bytes(const Options *o, uint64_t bytes);
char *format_bytes_exact(const Options *o, uint64_t bytes);

/* Text. Symbols beyond ASCII become ASCII where the locale is not UTF-8. */

void print_text(const Options *o, const char *s);
/* Breaks lines at blanks to keep to the width; further lines are indented by that many blanks. column is
 * where the cursor stands. Ends with a newline. */
void print_wrapped(const Options *o, const char *s, size_t column, size_t indent);
/* A title of a part of the output, after an empty line. */
void print_title(const Options *o, const char *title);
/* "file:line: severity: message", to be freed by the caller. */
char *format_diagnostic(const Diagnostic *d);
/* The same as one line on stderr, whatever is in the file's name. */
void ctl_diagnostic(const Diagnostic *d);
/* A part of its own with all of them; nothing where there are none. */
void print_diagnostics(const Options *o, const Diagnostics *d);

/* JSON. Values are taken over; a NULL string is null. Strings that are no UTF-8 are made so. */

struct json_object *json_new_object(void);
struct json_object *json_new_array(void);
void json_add(struct json_object *o, const char *key, struct json_object *value);
void json_add_string(struct json_object *o, const char *key, const char *value);
void json_add_u64(struct json_object *o, const char *key, uint64_t value);
void json_add_bool(struct json_object *o, const char *key, bool value);
void json_add_source(struct json_object *o, const char *key, Source source); /* "file:line" */
void json_append(struct json_object *array, struct json_object *value);
void json_append_string(struct json_object *array, const char *value);
void json_add_diagnostics(struct json_object *o, const Diagnostics *d); /* "diagnostics" */
void json_print(struct json_object *o);                                 /* and frees it */
