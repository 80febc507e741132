/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an unknown key or section, or a bad value, was probably meant to be. */

#include <strings.h>

#include "basic/parse.h"
#include "config/keys.h"
#include "config/values.h"

#define SUGGESTION_LENGTH_MAX 32u

static char to_lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* Insertions, deletions, replacements and swaps of neighbours (Damerau-Levenshtein, each place edited once)
 * that make b of a, whatever their case; UINT_MAX where either is too long to be of interest. */
static unsigned edit_distance(const char *a, const char *b) {
        size_t n = strlen(a), m = strlen(b);
        unsigned d[SUGGESTION_LENGTH_MAX + 1][SUGGESTION_LENGTH_MAX + 1];

        if (n > SUGGESTION_LENGTH_MAX || m > SUGGESTION_LENGTH_MAX)
                return UINT32_MAX;
        for (size_t i = 0; i <= n; i++)
                for (size_t j = 0; j <= m; j++) {
                        unsigned same;

                        if (i == 0 || j == 0) {
                                d[i][j] = (unsigned) (i + j);
                                continue;
                        }
                        same = to_lower(a[i - 1]) == to_lower(b[j - 1]) ? 0 : 1;
                        d[i][j] = MIN(MIN(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + same);
                        if (i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                            to_lower(a[i - 2]) == to_lower(b[j - 1]))
                                d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
                }
        return d[n][m];
}

/* Short names are near to everything: of three letters, one may be wrong, of five two. */
static unsigned max_distance(const char *name) {
        return (unsigned) MIN((strlen(name) - 1) / 2, (size_t) 2);
}

const char *suggest_key(SectionType type, const char *name, char *buffer, size_t size) {
        const SectionInfo *info = &section_table[type];
        unsigned best = isempty(name) ? 0 : max_distance(name) + 1;
        const char *meant = NULL;

        *buffer = 0;
        for (size_t i = 0; i < info->n_keys; i++) {
                unsigned distance = edit_distance(name, info->keys[i].name);

                if (distance < best) {
                        best = distance;
                        meant = info->keys[i].name;
                }
        }
        for (size_t t = 0; best > 0 && t < _SECTION_TYPE_MAX; t++)
                if (section_find_key((SectionType) t, name)) {
                        snprintf(buffer, size, " (a key of [%s])", section_table[t].name);
                        return buffer;
                }
        if (meant)
                snprintf(buffer, size, " (did you mean %s=?)", meant);
        return buffer;
}

const char *suggest_section(const char *name, char *buffer, size_t size) {
        unsigned best = isempty(name) ? 0 : max_distance(name) + 1;
        const char *meant = NULL;

        *buffer = 0;
        for (size_t t = 0; t < _SECTION_TYPE_MAX; t++) {
                unsigned distance = edit_distance(name, section_table[t].name);

                if (distance < best) {
                        best = distance;
                        meant = section_table[t].name;
                }
        }
        if (meant)
                snprintf(buffer, size, " (did you mean [%s]?)", meant);
        return buffer;
}

const char *suggest_pool(const Config *c, const char *name) {
        unsigned best = isempty(name) ? 0 : max_distance(name) + 1;
        const char *meant = NULL;

        for (size_t i = 0; i < c->n_pools; i++) {
                unsigned distance = edit_distance(name, c->pools[i]->section.name);

                if (distance < best) {
                        best = distance;
                        meant = c->pools[i]->section.name;
                }
        }
        return meant;
}

const char *suggest_word(const char *const *words, size_t n, const char *name) {
        size_t l = strlen(name);
        unsigned best = l < 2 ? 0 : l < 6 ? 2 : 3; /* "never" is not "defer" */
        const char *meant = NULL;

        for (size_t i = 0; i < n; i++) {
                unsigned distance = edit_distance(name, words[i]);

                if (distance < best) {
                        best = distance;
                        meant = words[i];
                } else if (distance == best)
                        meant = NULL;
        }
        return meant;
}

static bool key_takes(const KeyInfo *key, const char *value) {
        union {
                max_align_t align;
                char bytes[KEY_FIELD_SIZE_MAX];
        } field = {};
        const char *reason;
        int r = key->parse(key, value, &field, &reason);

        if (key->free)
                key->free(&field);
        return r >= 0;
}

/* A name may be anything: no word is what it was meant to be. */
static bool takes_names(const KeyInfo *key) {
        return !key->words && (key->free == free_string || key->free == free_names);
}

static const char *find_word(const KeyInfo *key, const char *value) {
        static const char *const booleans[] = { "yes", "no", "true", "false", "on", "off" },
                                 *const others[] = { "rest", "infinity", "pool", "all" };
        const char *word = NULL;
        size_t n = 0;

        if (takes_names(key))
                return NULL;
        while (key->words && key->words[n])
                n++;
        if (key->words)
                return suggest_word(key->words, n, value);
        if (key_takes(key, "yes"))
                return suggest_word(booleans, ELEMENTSOF(booleans), value);
        word = suggest_word(others, ELEMENTSOF(others), value);
        return word && key_takes(key, word) ? word : NULL;
}

const char *suggest_value(const KeyInfo *key, const char *value, char *buffer, size_t size) {
        const char *word = find_word(key, value);
        char respelt[64];

        *buffer = 0;
        if (!word && respell_sizes(value, respelt, sizeof(respelt)) && key_takes(key, respelt))
                word = respelt;
        if (word)
                snprintf(buffer, size, "; did you mean %s?", word);
        return buffer;
}
