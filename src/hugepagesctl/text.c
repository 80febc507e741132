/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text output: ASCII where the locale is not UTF-8, lines broken to the width of the terminal. */

#include "config/text.h"
#include "hugepagesctl/ctl.h"

static const struct {
        const char *symbol, *ascii;
} ascii_symbols[] = {
        { "·", "-" }, { "×", "x" }, { "→", "->" }, { "…", "..." }, { "−", "-" },
};

/* The ASCII form of the symbol that s begins with, and its length; NULL where there is none. */
static const char *ascii_symbol(const char *s, size_t *ret_length) {
        for (size_t i = 0; i < ELEMENTSOF(ascii_symbols); i++)
                if (startswith(s, ascii_symbols[i].symbol)) {
                        *ret_length = strlen(ascii_symbols[i].symbol);
                        return ascii_symbols[i].ascii;
                }
        return NULL;
}

/* As the locale can show it and no terminal obeys it, to be freed by the caller. No replacement is longer
 * than its symbol. */
static char *text_for_locale(const Options *o, const char *s) {
        char *text = text_escape(s), *to = text;

        if (!text)
                out_of_memory();
        if (o->utf8)
                return text;
        s = text;
        while (*s) {
                size_t l = 1;
                const char *ascii = ascii_symbol(s, &l);

                if (ascii)
                        to = stpcpy(to, ascii);
                else
                        *to++ = *s;
                s += l;
        }
        *to = 0;
        return text;
}

void print_text(const Options *o, const char *s) {
        _cleanup_free_ char *text = text_for_locale(o, s);

        fputs(text, stdout);
}

/* Columns that l bytes of UTF-8 take: what is written here holds no wide or combining characters. */
static size_t text_width(const char *s, size_t l) {
        size_t width = 0;

        for (size_t i = 0; i < l; i++)
                width += (s[i] & 0xc0) != 0x80;
        return width;
}

void print_wrapped(const Options *o, const char *s, size_t column, size_t indent) {
        _cleanup_free_ char *text = text_for_locale(o, s);
        bool first = true;

        for (const char *word = text; *word; first = false) {
                size_t blanks = strspn(word, " "), l = strcspn(word + blanks, " ");
                size_t width = text_width(word + blanks, l);

                if (!first && o->width > 0 && column + blanks + width > o->width) {
                        printf("\n%*s", (int) indent, "");
                        column = indent;
                } else {
                        printf("%*s", (int) blanks, "");
                        column += blanks;
                }
                fwrite(word + blanks, 1, l, stdout);
                column += width;
                word += blanks + l;
        }
        putchar('\n');
}

void print_title(const Options *o, const char *title) {
        printf(o->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

char *format_diagnostic(const Diagnostic *d) {
        const char *severity = severity_to_string(d->severity);

        if (!d->file)
                return format_text("%s: %s", severity, d->message);
        if (d->line == 0)
                return format_text("%s: %s: %s", d->file, severity, d->message);
        return format_text("%s:%u: %s: %s", d->file, d->line, severity, d->message);
}

void ctl_diagnostic(const Diagnostic *d) {
        _cleanup_free_ char *line = format_diagnostic(d), *text = text_escape(line);

        if (!text)
                out_of_memory();
        fprintf(stderr, "%s\n", text);
}

void print_diagnostics(const Options *o, const Diagnostics *d) {
        if (d->n > 0)
                print_title(o, "Diagnostics:");
        for (size_t i = 0; i < d->n; i++) {
                _cleanup_free_ char *line = format_diagnostic(&d->items[i]);

                fputs("  ", stdout);
                print_wrapped(o, line, 2, 6);
        }
}
