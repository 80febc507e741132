/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel command line, word by word. */

#include "basic/cmdline.h"

static bool is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts the quotes as the kernel does: only a first and a last one, of the word or of its value. */
static void unquote(char *word) {
        size_t l = strlen(word);
        bool quoted = *word == '"';
        char *value;

        if (quoted)
                memmove(word, word + 1, l--);
        value = strchr(word, '=');
        if (value && value[1] == '"') {
                memmove(value + 1, value + 2, strlen(value + 1));
                l--;
                quoted = true;
        }
        if (quoted && l > 0 && word[l - 1] == '"')
                word[l - 1] = 0;
}

int cmdline_next(const char **p, char **ret) {
        const char *start = *p, *end;
        bool in_quotes = false;

        while (is_blank(*start))
                start++;
        for (end = start; *end && (in_quotes || !is_blank(*end)); end++)
                if (*end == '"')
                        in_quotes = !in_quotes;
        *p = end;
        if (end == start)
                return 0;

        *ret = strndup(start, (size_t) (end - start));
        if (!*ret)
                return -ENOMEM;
        unquote(*ret);
        return 1;
}

const char *cmdline_value(const char *word, const char *key) {
        for (; *key; word++, key++)
                if ((*word == '-' ? '_' : *word) != (*key == '-' ? '_' : *key))
                        return NULL;
        return *word == '=' ? word + 1 : NULL;
}
