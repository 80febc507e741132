/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The value syntaxes of hugepages.d(5): sizes, percentages, numbers, booleans, time spans, node ranges. */

#include <strings.h>

#include "basic/parse.h"

#define MILLION 1000000u

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Reads decimal digits at *p and moves it behind them. */
static int read_digits(const char **p, uint64_t *ret) {
        uint64_t v = 0;
        bool overflow = false;

        if (!is_digit(**p))
                return -EINVAL;
        for (; is_digit(**p); (*p)++)
                if (__builtin_mul_overflow(v, (uint64_t) 10, &v) ||
                    __builtin_add_overflow(v, (uint64_t) (**p - '0'), &v))
                        overflow = true;
        *ret = v;
        return overflow ? -ERANGE : 0;
}

/* Reads "12" or "12.5"; the fraction, of at most six digits, is given in millionths. */
static int read_decimal(const char **p, uint64_t *ret_whole, uint64_t *ret_millionths, bool *ret_fraction) {
        uint64_t millionths = 0;
        int r = read_digits(p, ret_whole);

        if (r < 0)
                return r;
        *ret_fraction = **p == '.';
        if (*ret_fraction) {
                uint64_t scale = MILLION;

                (*p)++;
                if (!is_digit(**p))
                        return -EINVAL;
                for (; is_digit(**p); (*p)++) {
                        if (scale == 1)
                                return -EINVAL;
                        scale /= 10;
                        millionths += (uint64_t) (**p - '0') * scale;
                }
        }
        *ret_millionths = millionths;
        return 0;
}

/* whole.millionths × unit; the fraction is rounded down. unit × a million must fit into 64 bits. */
static int scale_decimal(uint64_t whole, uint64_t millionths, uint64_t unit, uint64_t *ret) {
        uint64_t v;

        if (__builtin_mul_overflow(whole, unit, &v) ||
            __builtin_add_overflow(v, millionths * unit / MILLION, &v))
                return -ERANGE;
        *ret = v;
        return 0;
}

/* "", "B", "K", "KiB", … to a number of bytes; 0 for anything else. */
static uint64_t size_unit(const char *suffix) {
        static const char letters[] = "KMGT";
        const char *l;

        if (!*suffix || streq(suffix, "B"))
                return 1;
        l = strchr(letters, *suffix);
        if (!l || (suffix[1] && !streq(suffix + 1, "iB")))
                return 0;
        return UINT64_C(1) << 10 * (l - letters + 1);
}

int parse_size(const char *s, uint64_t *ret) {
        uint64_t whole, millionths, unit;
        bool fraction;
        int r = read_decimal(&s, &whole, &millionths, &fraction);

        if (r < 0)
                return r;
        unit = size_unit(s);
        if (unit == 0 || (fraction && unit == 1))
                return -EINVAL;
        return scale_decimal(whole, millionths, unit, ret);
}

static char to_upper(char c) {
        return c >= 'a' && c <= 'z' ? (char) (c - 'a' + 'A') : c;
}

static bool is_letter(char c) {
        return to_upper(c) >= 'A' && to_upper(c) <= 'Z';
}

/* "kB", "gib", "Mb", "bytes" of length l to the letter of the unit, 0 for bytes; false for other words. */
static bool guess_unit(const char *word, size_t l, char *ret) {
        static const char *const endings[] = { "", "i", "b", "ib" }, *const bytes[] = { "b", "byte",
                                                                                        "bytes" };

        for (size_t i = 0; i < ELEMENTSOF(bytes); i++)
                if (strlen(bytes[i]) == l && strncasecmp(word, bytes[i], l) == 0) {
                        *ret = 0;
                        return true;
                }
        *ret = to_upper(*word);
        if (l == 0 || !strchr("KMGT", *ret))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(endings); i++)
                if (strlen(endings[i]) == l - 1 && strncasecmp(word + 1, endings[i], l - 1) == 0)
                        return true;
        return false;
}

/* Copies the number at *p, with its unit where one is near, to buffer, which has room for both. */
static char *respell_size(const char **p, char *buffer) {
        size_t digits = strspn(*p, "0123456789."), l = 0;
        const char *word = *p + digits + strspn(*p + digits, " \t");
        char unit;

        buffer = mempcpy(buffer, *p, digits);
        *p += digits;
        while (is_letter(word[l]))
                l++;
        if (*word == '%')
                *p = word;
        else if (guess_unit(word, l, &unit)) {
                if (unit)
                        *buffer++ = unit;
                *p = word + l;
        }
        return buffer;
}

bool respell_sizes(const char *s, char *buffer, size_t size) {
        static const char separators[] = ",: \t";
        char before = ' ', *b = buffer;

        *buffer = 0;
        if (strlen(s) >= size)
                return false;
        for (const char *p = s; *p; before = p[-1])
                if (is_digit(*p) && strchr(separators, before))
                        b = respell_size(&p, b);
                else if (strchr(" \t", *p) && strchr(separators, before))
                        p++;
                else
                        *b++ = *p++;
        *b = 0;
        if (!streq(buffer, s))
                return true;
        *buffer = 0;
        return false;
}

int parse_percent(const char *s, uint64_t *ret) {
        uint64_t whole, millionths;
        bool fraction;
        int r = read_decimal(&s, &whole, &millionths, &fraction);

        if (r < 0)
                return r;
        if (!streq(s, "%") || millionths % (MILLION / 100) != 0)
                return -EINVAL;
        return scale_decimal(whole, millionths, 100, ret);
}

int parse_u64(const char *s, uint64_t *ret) {
        uint64_t v;
        int r = read_digits(&s, &v);

        if (r < 0)
                return r;
        if (*s)
                return -EINVAL;
        *ret = v;
        return 0;
}

int parse_boolean(const char *s, bool *ret) {
        static const char *const words[][6] = {
                { "0", "no", "n", "false", "f", "off" },
                { "1", "yes", "y", "true", "t", "on" },
        };

        for (size_t v = 0; v < ELEMENTSOF(words); v++)
                for (size_t i = 0; i < ELEMENTSOF(words[v]); i++)
                        if (strcasecmp(s, words[v][i]) == 0) {
                                *ret = v;
                                return 0;
                        }
        return -EINVAL;
}

/* The units of systemd.time(7) up to the week. */
static const struct TimeUnit {
        const char *name;
        uint64_t usec;
} time_units[] = {
        { "us", 1 },
        { "usec", 1 },
        { "µs", 1 },
        { "ms", 1000 },
        { "msec", 1000 },
        { "", MILLION },
        { "s", MILLION },
        { "sec", MILLION },
        { "second", MILLION },
        { "seconds", MILLION },
        { "m", UINT64_C(60) * MILLION },
        { "min", UINT64_C(60) * MILLION },
        { "minute", UINT64_C(60) * MILLION },
        { "minutes", UINT64_C(60) * MILLION },
        { "h", UINT64_C(3600) * MILLION },
        { "hr", UINT64_C(3600) * MILLION },
        { "hour", UINT64_C(3600) * MILLION },
        { "hours", UINT64_C(3600) * MILLION },
        { "d", UINT64_C(86400) * MILLION },
        { "day", UINT64_C(86400) * MILLION },
        { "days", UINT64_C(86400) * MILLION },
        { "w", UINT64_C(604800) * MILLION },
        { "week", UINT64_C(604800) * MILLION },
        { "weeks", UINT64_C(604800) * MILLION },
};

/* The unit that the text up to the next blank, digit or the end names, in microseconds; 0 for none. */
static uint64_t read_time_unit(const char **p) {
        size_t l = strcspn(*p, " \t.0123456789");

        for (size_t i = 0; i < ELEMENTSOF(time_units); i++)
                if (strlen(time_units[i].name) == l && strncmp(*p, time_units[i].name, l) == 0) {
                        *p += l;
                        return time_units[i].usec;
                }
        return 0;
}

int parse_timespan(const char *s, uint64_t *ret) {
        uint64_t sum = 0;

        do {
                uint64_t whole, millionths, part, unit;
                size_t blanks;
                bool fraction;
                int r = read_decimal(&s, &whole, &millionths, &fraction);

                if (r < 0)
                        return r;
                blanks = strspn(s, " \t");
                if (!is_digit(s[blanks])) /* "30 s": the unit belongs to the number before */
                        s += blanks;
                if (blanks > 0 && !*s)
                        return -EINVAL;
                unit = read_time_unit(&s);
                if (unit == 0)
                        return -EINVAL;
                r = scale_decimal(whole, millionths, unit, &part);
                if (r < 0)
                        return r;
                if (__builtin_add_overflow(sum, part, &sum))
                        return -ERANGE;
                blanks = strspn(s, " \t");
                if (blanks > 0 && !s[blanks])
                        return -EINVAL;
                s += blanks;
        } while (*s);

        *ret = sum;
        return 0;
}

/* Digits up to end, as a node number. */
static int read_node(const char **p, const char *end, unsigned *ret) {
        unsigned v = 0;
        bool overflow = false;

        if (*p == end || !is_digit(**p))
                return -EINVAL;
        for (; *p < end && is_digit(**p); (*p)++) {
                v = v * 10 + (unsigned) (**p - '0');
                if (v > NODE_ID_MAX) {
                        overflow = true;
                        v = 0;
                }
        }
        *ret = v;
        return overflow ? -ERANGE : 0;
}

int parse_node_range(const char *s, size_t length, unsigned *ret_first, unsigned *ret_last) {
        const char *end = s + length;
        unsigned first, last;
        int r = read_node(&s, end, &first);

        if (r < 0)
                return r;
        last = first;
        if (s < end && *s == '-') {
                s++;
                r = read_node(&s, end, &last);
                if (r < 0)
                        return r;
        }
        if (s != end || last < first)
                return -EINVAL;
        *ret_first = first;
        *ret_last = last;
        return 0;
}
