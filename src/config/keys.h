/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The drop-in language as a table: the only place that knows a section or a key. The parser, the
 * suggestions of `hugepagesctl check`, shell completion and the test of the man page read it. */

#include "config/config.h"

typedef struct KeyInfo KeyInfo;

/* Parses value into *field. 0, or a negative errno with *field as it was; *reason may be set to a constant
 * text that says more than the table's ("node 0 is named twice"). -ENOMEM is passed on. */
typedef int (*KeyParser)(const KeyInfo *key, const char *value, void *field, const char **reason);

/* Frees what the field holds and zeroes it. */
typedef void (*KeyReset)(void *field);

struct KeyInfo {
        const char *name;
        KeyParser parse;
        KeyReset reset;
        size_t offset, size;    /* of the field in the section's struct */
        const char *initial;    /* the default, in the language itself; NULL: the zeroed field */
        const char *const *words; /* the words allowed, NULL-terminated; NULL where the key takes no words */
        const char *expected;   /* "a size (bytes, K, M, G, T)": what the error message says was expected */
        const char *help;       /* one line, for completion and documentation */
};

typedef struct SectionInfo {
        const char *name; /* "Pool" */
        bool named;       /* takes a name: [Pool NAME] */
        bool bad_value_drops_section;
        const KeyInfo *keys;
        size_t n_keys;
        const char *help;
} SectionInfo;

extern const SectionInfo section_table[_SECTION_TYPE_MAX];

/* NULL where the section has no such key. Keys are case-sensitive, as in systemd. */
const KeyInfo *section_find_key(SectionType type, const char *name);

/* The known key or section that name was probably meant to be (at most 2 edits away, or another case, or a
 * key of another section), as a text to append to a message: " (did you mean PageSize=?)", or "". */
const char *suggest_key(SectionType type, const char *name, char *buffer, size_t size);
const char *suggest_section(const char *name, char *buffer, size_t size);
