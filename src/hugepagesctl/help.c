/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Help: of all verbs with the names of their options, or of one with what its options mean. */

#include "hugepagesctl/verbs.h"

#define OPTION_COLUMN 24 /* where the texts of options and columns begin */
#define VERB_COLUMN 21

static const Options layout = { .width = 80 };

static bool verb_has_option(const Verb *verb, size_t i) {
        return i >= _INDEX_OF_VERBS || verb->options & 1u << i;
}

const char *only_verb(size_t i) {
        const char *name = NULL;

        for (size_t v = 0; v < n_verbs; v++) {
                if (!verb_has_option(&verbs[v], i))
                        continue;
                if (name)
                        return NULL;
                name = verbs[v].name;
        }
        return name;
}

/* verb: that the text is said to be about; or NULL. */
static void help_option(const OptionInfo *option, const char *verb) {
        char text[64], about[160];

        snprintf(text, sizeof(text), "--%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ?: "");
        if (option->value < OPTION_STRICT)
                printf("  -%c, %-17s ", option->value, text);
        else
                printf("      %-17s ", text);
        snprintf(about, sizeof(about), "%s%s%s", verb ?: "", verb ? ": " : "", option->help);
        print_wrapped(&layout, about, OPTION_COLUMN, OPTION_COLUMN);
}

static void help_options_of(const Verb *verb) {
        for (size_t i = 0; i < n_options; i++)
                if (verb_has_option(verb, i))
                        help_option(&option_table[i], NULL);
}

static void help_columns(const Verb *verb) {
        for (const TableInfo *const *t = verb->tables; t && *t; t++) {
                printf("\nColumns of %s, %s:\n", verb->name, (*t)->name);
                for (size_t i = 0; i < (*t)->n_columns; i++) {
                        printf("  %-*s ", OPTION_COLUMN - 3, (*t)->columns[i].name);
                        print_wrapped(&layout, (*t)->columns[i].help, OPTION_COLUMN, OPTION_COLUMN);
                }
        }
}

static void help_verb(const Verb *verb) {
        printf("hugepagesctl %s [OPTIONS...]%s%s\n\n", verb->name, isempty(verb->arguments) ? "" : " ",
               verb->arguments);
        print_wrapped(&layout, verb->help, 0, 0);
        puts("\nOptions:");
        help_options_of(verb);
        if (verb->notes)
                printf("\n%s\n", verb->notes);
        help_columns(verb);
}

/* The verb in one line, and below it the names of the options that not every verb has. */
static void help_verb_of_all(const Verb *verb) {
        char words[32];
        size_t column = VERB_COLUMN;

        snprintf(words, sizeof(words), "%s %s", verb->name, verb->arguments);
        printf("  %-*s ", VERB_COLUMN - 3, words);
        print_wrapped(&layout, verb->help, VERB_COLUMN, VERB_COLUMN);
        printf("%*s", VERB_COLUMN - 1, "");
        for (size_t i = 0; i < _INDEX_OF_VERBS; i++) {
                size_t l = strlen(option_table[i].name) + strlen(" --");

                if (!verb_has_option(verb, i))
                        continue;
                if (column + l > layout.width) {
                        printf("\n%*s", VERB_COLUMN - 1, "");
                        column = VERB_COLUMN;
                }
                printf(" --%s", option_table[i].name);
                column += l;
        }
        putchar('\n');
}

static void help_all(void) {
        puts("hugepagesctl [OPTIONS...] [VERB]\n\n"
             "Look at and change the huge pages that drop-ins in /etc/hugepages.d ask for.\n\n"
             "Verbs:");
        for (size_t i = 0; i < n_verbs; i++)
                help_verb_of_all(&verbs[i]);
        puts("\nOptions of verbs:");
        for (size_t i = 0; i < _INDEX_OF_VERBS; i++)
                help_option(&option_table[i], only_verb(i));
        puts("\nOptions of every verb:");
        for (size_t i = _INDEX_OF_VERBS; i < n_options; i++)
                help_option(&option_table[i], NULL);
}

void help(const Verb *verb) {
        if (verb)
                help_verb(verb);
        else
                help_all();
        puts("\nSee hugepagesctl(8) and hugepages.d(5).");
}
