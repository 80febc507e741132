/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Verbs: the tables that option parsing, --help and completion follow from (ctl.c). */

#include "hugepagesctl/ctl.h"

enum { /* indexes into option_table: those that not every verb has come first */
       INDEX_JSON,
       INDEX_NO_HEADINGS,
       INDEX_OUTPUT,
       INDEX_RAW,
       INDEX_BYTES,
       INDEX_WATCH,
       INDEX_STRICT,
       INDEX_DRY_RUN,
       INDEX_YES,
       INDEX_RECORD,
       INDEX_UPDATE,
       INDEX_INITRD,
       INDEX_CHECK,
       INDEX_INSTALL,
       INDEX_REMOVE,
       INDEX_KERNEL,
       _INDEX_OF_VERBS,
};

enum { /* options without a short form */
       OPTION_STRICT = 256,
       OPTION_DRY_RUN,
       OPTION_RECORD,
       OPTION_UPDATE,
       OPTION_INITRD,
       OPTION_CHECK,
       OPTION_INSTALL,
       OPTION_REMOVE,
       OPTION_KERNEL,
       OPTION_NO_PAGER,
       OPTION_ROOT,
};

typedef struct OptionInfo {
        const char *name;
        int value; /* the short form, where it is a character */
        const char *argument;
        const char *help;
} OptionInfo;

extern const OptionInfo option_table[];
extern const size_t n_options;

typedef struct Verb {
        const char *name;
        int (*run)(const Options *o, char *const *arguments);
        const char *arguments; /* for the help; "" for none */
        Completion completes;  /* what its arguments are */
        unsigned options;      /* by index, of those that not every verb has */
        const char *help;
        const TableInfo *const *tables; /* those of -o; NULL for none */
        const char *notes;              /* what its help has below the options, in lines; NULL for nothing */
} Verb;

extern const Verb verbs[]; /* the first one is the default */
extern const size_t n_verbs;

/* help.c: of one verb, or NULL for all. */
void help(const Verb *verb);

/* The name of the only verb that has the option of this index; NULL where several have it. */
const char *only_verb(size_t i);

/* NULL where there is none. */
const Verb *find_verb(const char *name);

/* complete.c: prints what may stand for the last of n words; the exit status. */
int complete(int n, char *const *words);
