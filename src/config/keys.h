/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The drop-in language as a table: the only place that knows a section or a key. The parser, the
 * suggestions of `hugepagesctl check`, shell completion and the test of the man page read it. */

#include "config/config.h"

typedef struct KeyInfo KeyInfo;

/* What a bad value costs: the least that is safe. */
typedef enum BadValue {
        BAD_VALUE_IGNORED,        /* the assignment: an earlier valid one stays */
        BAD_VALUE_DROPS_SECTION,  /* the merged section, unless a later assignment is valid */
        BAD_VALUE_BREAKS_SERVICE, /* likewise Service.broken; the parser leaves in *field what is to be used
                                   * all the same (the words of a list, yes for Require=) */
} BadValue;

/* Parses value, which is not empty, into *field, which is zeroed. 0, or a negative errno with *field as it
 * was (but see BAD_VALUE_BREAKS_SERVICE) and *reason set to a constant text that says what is wrong. -ENOMEM
 * is passed on. */
typedef int (*KeyParser)(const KeyInfo *key, const char *value, void *field, const char **reason);

/* Frees what the field holds. */
typedef void (*KeyFree)(void *field);

struct KeyInfo {
        const char *name;
        KeyParser parse;
        KeyFree free;        /* NULL for plain numbers */
        size_t offset, size; /* of the field in the section's struct */
        const char *initial; /* the default, in the language itself; NULL: the zeroed field */
        BadValue bad_value;
        const char *const *words; /* the words allowed, NULL-terminated; NULL where the key takes no words */
        const char *expected; /* "a size (bytes, K, M, G, T)": what the error message says was expected */
        const char *help;     /* one line, for completion and documentation */
};

typedef struct SectionInfo {
        const char *name; /* "Pool" */
        bool named;       /* takes a name: [Pool NAME] */
        size_t size;      /* of its struct */
        const KeyInfo *keys;
        size_t n_keys;
        const char *help;
} SectionInfo;

extern const SectionInfo section_table[_SECTION_TYPE_MAX];

/* No field of a section is larger. */
#define KEY_FIELD_SIZE_MAX 64u

/* NULL where the section has no such key. Keys are case-sensitive, as in systemd. */
const KeyInfo *section_find_key(SectionType type, const char *name);

/* The known key or section that name was probably meant to be (at most 2 edits away, or another case, or a
 * key of another section), as a text to append to a message: " (did you mean PageSize=?)", or "". */
const char *suggest_key(SectionType type, const char *name, char *buffer, size_t size);
const char *suggest_section(const char *name, char *buffer, size_t size);

/* What a value that the key refuses was probably meant to be, and which it takes: "; did you mean 1G?"; or
 * what the line should have been: "; did you mean Size=4G?", "; a comment needs a line of its own". Else "".
 */
const char *suggest_value(const KeyInfo *key, const char *value, char *buffer, size_t size);

/* The one of n words that name is nearest to; NULL where none is near, or two are as near as each other. */
const char *suggest_word(const char *const *words, size_t n, const char *name) _pure_;

/* The name of the pool that was probably meant; NULL where there is none. */
const char *suggest_pool(const Config *c, const char *name) _pure_;
