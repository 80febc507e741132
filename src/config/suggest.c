/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an unknown key or section, or a bad value, was probably meant to be. */

#include <strings.h>

#include "basic/parse.h"
#include "config/keys.h"
#include "config/text.h"
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

/* What other programs, and the kernel, call it: no misspelling. */
static const char *find_alias(SectionType type, const char *name) {
        static const struct {
                const char *alias, *key;
        } aliases[] = {
                { "Node", "Nodes" },         { "NumaNode", "Nodes" }, { "NumaNodes", "Nodes" },
                { "nr_hugepages", "Pages" }, { "NrPages", "Pages" },  { "NrHugePages", "Pages" },
                { "HugePages", "Pages" },    { "Count", "Pages" },
        };

        for (size_t i = 0; i < ELEMENTSOF(aliases); i++)
                if (strcasecmp(name, aliases[i].alias) == 0 && section_find_key(type, aliases[i].key))
                        return aliases[i].key;
        return NULL;
}

const char *suggest_key(SectionType type, const char *name, char *buffer, size_t size) {
        const SectionInfo *info = &section_table[type];
        const char *alias = find_alias(type, name), *meant = alias;
        unsigned best = isempty(name) ? 0 : max_distance(name) + 1;

        *buffer = 0;
        for (size_t i = 0; !alias && i < info->n_keys; i++) {
                unsigned distance = edit_distance(name, info->keys[i].name);

                if (distance < best) {
                        best = distance;
                        meant = info->keys[i].name;
                }
        }
        for (size_t t = 0; !alias && best > 0 && t < _SECTION_TYPE_MAX; t++)
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

/* The section that a key of the table is one of. */
static const SectionInfo *section_of(const KeyInfo *key) {
        for (size_t t = 0; t < _SECTION_TYPE_MAX; t++)
                if (key >= section_table[t].keys && key < section_table[t].keys + section_table[t].n_keys)
                        return &section_table[t];
        return NULL;
}

/* The other key of its slot: Size= for Pages=. */
static const KeyInfo *find_sibling(const KeyInfo *key) {
        const SectionInfo *section = section_of(key);

        for (size_t i = 0; section && i < section->n_keys; i++)
                if (&section->keys[i] != key && section->keys[i].offset == key->offset)
                        return &section->keys[i];
        return NULL;
}

/* Where a count was asked for, "4G" is a size; "4K" may be four thousand. */
static bool suggest_sibling(const KeyInfo *key, const char *value, char *buffer, size_t size) {
        const KeyInfo *sibling = find_sibling(key);

        if (!sibling || strpbrk(value, "kK") || !key_takes(sibling, value))
                return false;
        snprintf(buffer, size, "; did you mean %s=%s?", sibling->name, value);
        return true;
}

/* "Nodes=0" of "4 Nodes=0": another key on the same line. */
static bool suggest_line(const KeyInfo *key, const char *value, char *buffer, size_t size) {
        const SectionInfo *section = section_of(key);
        size_t l = strcspn(value, " \t");
        const char *rest = value + l + strspn(value + l, " \t");
        size_t n = strcspn(rest, "= \t");

        if (!section || rest[n] != '=' || strlen(rest) > SUGGESTION_LENGTH_MAX || !text_is_printable(rest))
                return false;
        for (size_t i = 0; i < section->n_keys; i++)
                if (strlen(section->keys[i].name) == n && strncmp(rest, section->keys[i].name, n) == 0) {
                        snprintf(buffer, size, "; one key a line: did you mean %s in a line of its own?",
                                 rest);
                        return true;
                }
        return false;
}

/* "4 # four", with a value that would be taken without it. */
static bool has_comment(const KeyInfo *key, const char *value) {
        const char *comment = strstr(value, " #") ?: strstr(value, "\t#");
        _cleanup_free_ char *before = NULL;
        size_t n;

        if (!comment)
                return false;
        n = (size_t) (comment - value);
        while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
                n--;
        before = strndup(value, n);
        return before && *before && key_takes(key, before);
}

const char *suggest_value(const KeyInfo *key, const char *value, char *buffer, size_t size) {
        const char *word = find_word(key, value);
        char respelt[64];
        bool is_respelt;

        *buffer = 0;
        if (has_comment(key, value)) {
                snprintf(buffer, size, "; a comment needs a line of its own");
                return buffer;
        }
        if (suggest_line(key, value, buffer, size))
                return buffer;
        is_respelt = respell_sizes(value, respelt, sizeof(respelt));
        if (!word && is_respelt && key_takes(key, respelt))
                word = respelt;
        if (word)
                snprintf(buffer, size, "; did you mean %s?", word);
        else if (!suggest_sibling(key, value, buffer, size) && is_respelt)
                (void) suggest_sibling(key, respelt, buffer, size);
        return buffer;
}
