/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text of others in our messages: cut, and with nothing in it that a terminal or a log could choke on. */

#include "config/text.h"

/* What turns the order of the characters around it (Unicode's Bidi_Control) or breaks a line. */
static bool reorders_text(uint32_t v) {
        return v == 0x61c || v == 0x200e || v == 0x200f || (v >= 0x2028 && v <= 0x202e) ||
               (v >= 0x2066 && v <= 0x2069);
}

size_t utf8_printable(const char *s) {
        static const uint32_t smallest[] = { 0, 0, 0x80, 0x800,
                                             0x10000 }; /* by length: no longer than needed */
        unsigned char c = (unsigned char) *s;
        size_t length = c < 0x80             ? 1
                        : (c & 0xe0) == 0xc0 ? 2
                        : (c & 0xf0) == 0xe0 ? 3
                        : (c & 0xf8) == 0xf0 ? 4
                                             : 0;
        uint32_t v;

        if (length < 2)
                return length == 1 && c >= 0x20 && c != 0x7f;
        v = c & (0x7fu >> length);
        for (size_t i = 1; i < length; i++) {
                if (((unsigned char) s[i] & 0xc0) != 0x80)
                        return 0;
                v = v << 6 | ((unsigned char) s[i] & 0x3f);
        }
        if (v < smallest[length] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
                return 0;
        return v < 0xa0 || reorders_text(v) ? 0 : length; /* U+0080 to U+009F are control characters */
}

bool text_is_printable(const char *s) {
        while (*s) {
                size_t l = utf8_printable(s);

                if (l == 0)
                        return false;
                s += l;
        }
        return true;
}

/* Appends one character, of l printable bytes or (0) of one that is not printable. */
static char *append_character(char *p, const char *s, size_t l) {
        return l > 0 ? mempcpy(p, s, l) : p + sprintf(p, "\\x%02x", (unsigned char) *s);
}

char *quote(char *buffer, const char *s) {
        const char *start = s;
        char *p = buffer;

        while (*s) {
                size_t l = utf8_printable(s);

                if ((size_t) (s - start) + MAX(l, (size_t) 1) > QUOTE_BYTES_MAX) {
                        p = stpcpy(p, "…");
                        break;
                }
                p = append_character(p, s, l);
                s += MAX(l, (size_t) 1);
        }
        *p = 0;
        return buffer;
}

char *text_escape(const char *s) {
        char *escaped = malloc(strlen(s) * strlen("\\x00") + 1), *p = escaped;

        if (!escaped)
                return NULL;
        for (size_t l; *s; s += MAX(l, (size_t) 1)) {
                l = utf8_printable(s);
                p = append_character(p, s, l);
        }
        *p = 0;
        return escaped;
}
