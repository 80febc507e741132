/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completion: `hugepagesctl --complete WORD…` is what the shells' functions call. The words are those behind
 * the program's name, the last one that which the cursor stands in. Prints candidates, "WORD\tHELP", which
 * the shells hold against what has been typed; ":files" and ":directories" leave the work to the shell. */

#include "hugepagesctl/verbs.h"

static void candidate(const char *prefix, const char *word, const char *text) {
        printf("%s%s\t%s\n", prefix, word, text);
}

static void complete_verbs(void) {
        for (size_t i = 0; i < n_verbs; i++)
                candidate("", verbs[i].name, verbs[i].help);
}

static void complete_options(const Verb *verb) {
        for (size_t i = 0; i < n_options; i++) {
                const OptionInfo *info = &option_table[i];
                const char short_form[] = { (char) info->value, 0 };

                if (i < _INDEX_OF_VERBS && verb && !(verb->options & 1u << i))
                        continue;
                candidate("--", info->name, info->help);
                if (info->value < OPTION_STRICT)
                        candidate("-", short_form, info->help);
        }
}

/* Whether a table before t has the column as well. */
static bool column_is_known(const TableInfo *const *tables, const TableInfo *const *t, const char *name) {
        while (tables < t)
                if (table_has_column(*tables++, name, strlen(name)))
                        return true;
        return false;
}

/* What may come behind "POOL,", "+" or "--output=", with what stands before it. */
static void complete_columns(const Verb *verb, const char *word) {
        const char *comma = strrchr(word, ','), *name = comma ?: strchr(word, '=');
        _cleanup_free_ char *before = NULL;

        name = name ? name + 1 : word;
        name += *name == '+';
        before = strndup(word, (size_t) (name - word));
        if (!before)
                out_of_memory();
        puts(":nospace");
        for (const TableInfo *const *t = verb->tables; t && *t; t++)
                for (size_t i = 0; i < (*t)->n_columns; i++) {
                        const Column *column = &(*t)->columns[i];

                        if (!column_is_known(verb->tables, t, column->name))
                                candidate(before, column->name, column->help);
                }
}

/* root: that of --root, NULL where there is none. */
static void complete_pools(const char *root) {
        _cleanup_(config_freep) Config *c = NULL;
        _cleanup_free_ char *environment = NULL;
        Diagnostics d = {};

        if (!root && root_from_environment(&environment) < 0)
                return;
        if (config_load(root ?: environment, &c, &d) >= 0)
                for (size_t i = 0; i < c->n_pools; i++)
                        candidate("", c->pools[i]->section.name, "pool");
        diag_done(&d);
}

static void complete_arguments(const Verb *verb, const char *root) {
        switch (verb->completes) {
        case COMPLETE_FILES:
                puts(":files");
                break;
        case COMPLETE_POOLS:
                complete_pools(root);
                break;
        case COMPLETE_NOTHING:
                break;
        }
}

/* The option whose argument is to come after word: "-o", "--output", "-nro". NULL where there is none. */
static const OptionInfo *awaits_argument(const char *word) {
        for (size_t i = 0; i < n_options; i++) {
                const OptionInfo *info = &option_table[i];
                const char *name = startswith(word, "--");

                if (!info->argument)
                        continue;
                if (name ? streq(name, info->name) : *word == '-' && word[strlen(word) - 1] == info->value)
                        return info;
        }
        return NULL;
}

/* The option of "--output=…". */
static const OptionInfo *with_argument(const char *word) {
        const char *name = startswith(word, "--"), *equals = name ? strchr(name, '=') : NULL;

        for (size_t i = 0; equals && i < n_options; i++)
                if (option_table[i].argument && strlen(option_table[i].name) == (size_t) (equals - name) &&
                    startswith(name, option_table[i].name))
                        return &option_table[i];
        return NULL;
}

static void complete_option_argument(const OptionInfo *option, const Verb *verb, const char *word) {
        if (option->value == OPTION_ROOT)
                puts(":directories");
        else if (option->value == 'o')
                complete_columns(verb ?: &verbs[0], word);
}

int complete(int n, char *const *words) {
        const OptionInfo *option = NULL;
        const Verb *verb = NULL;
        const char *word = n > 0 ? words[n - 1] : "", *root = NULL;

        for (int i = 0; i < n - 1; i++) {
                if (option) { /* this word is its argument */
                        if (option->value == OPTION_ROOT)
                                root = words[i];
                        option = NULL;
                        continue;
                }
                option = awaits_argument(words[i]);
                root = startswith(words[i], "--root=") ?: root;
                if (*words[i] != '-' && !verb)
                        verb = find_verb(words[i]);
        }
        option = option ?: with_argument(word);
        if (option)
                complete_option_argument(option, verb, word);
        else if (*word == '-')
                complete_options(verb);
        else if (verb)
                complete_arguments(verb, root);
        else
                complete_verbs();
        return CTL_OK;
}
