/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Escaping: names and paths as unit names, and values as systemd reads them back. */

#include "config/config.h"
#include "units/internal.h"

/* An instance of hugepages-pool@, so that the whole name, with "service:" before it, stays below systemd's
 * limit of 255. No name of a section comes near it (its header is one short line). */
#define INSTANCE_MAX 200u

static bool is_letter_or_digit(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static char *append_hex(char *p, char c) {
        static const char digits[] = "0123456789abcdef";

        *p++ = '\\';
        *p++ = 'x';
        *p++ = digits[(unsigned char) c >> 4];
        *p++ = digits[(unsigned char) c & 0xf];
        return p;
}

char *unit_name_from_path(const char *path, const char *suffix) {
        const char *relative = path + strspn(path, "/");
        char *name = malloc(4 * strlen(relative) + strlen(suffix) + 2);
        char *p = name;

        if (!name)
                return NULL;
        if (!*relative)
                *p++ = '-';
        for (const char *s = relative; *s; s++)
                if (*s == '/')
                        *p++ = '-';
                else if (is_letter_or_digit(*s) || *s == ':' || *s == '_' || (*s == '.' && s != relative))
                        *p++ = *s;
                else
                        p = append_hex(p, *s);
        strcpy(p, suffix);
        return name;
}

/* What needs escaping leaves a backslash, which no pool name has; what is too long stays longer than one. */
char *unit_instance_escape(const char *name) {
        char *escaped, *p;

        if (!*name) /* an empty instance would be the template itself */
                return strdup("-");
        p = escaped = malloc(INSTANCE_MAX + 1);
        if (!escaped)
                return NULL;
        for (const char *s = name; *s && p + 4 <= escaped + INSTANCE_MAX; s++)
                if (is_letter_or_digit(*s) || *s == '_' || ((*s == '.' || *s == '-') && s != name))
                        *p++ = *s;
                else
                        p = append_hex(p, *s);
        *p = 0;
        return escaped;
}

char *unit_escape_specifiers(const char *value) {
        char *escaped = malloc(2 * strlen(value) + 1), *p = escaped;

        if (!escaped)
                return NULL;
        for (const char *s = value; *s; s++) {
                if (*s == '%')
                        *p++ = '%';
                *p++ = *s;
        }
        *p = 0;
        return escaped;
}

/* RequiresMountsFor= knows no \x20, only a backslash before the character itself. BindPaths= splits at ":",
 * but not in quotes. */
char *unit_quote_path(const char *path) {
        bool quote = path[strcspn(path, " \t\n\r\"'\\:")];
        char *quoted = malloc(2 * strlen(path) + 3), *p = quoted;

        if (!quoted)
                return NULL;
        if (quote)
                *p++ = '"';
        for (const char *s = path; *s; s++) {
                if (*s == '%')
                        *p++ = '%';
                else if (*s == '"' || *s == '\\')
                        *p++ = '\\';
                *p++ = *s;
        }
        if (quote)
                *p++ = '"';
        *p = 0;
        return quoted;
}
