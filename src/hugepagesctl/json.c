/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON documents: thin helpers over json-c that do not fail. */

#include "hugepagesctl/ctl.h"

static struct json_object *json_check(struct json_object *o) {
        if (!o)
                out_of_memory();
        return o;
}

struct json_object *json_new_object(void) {
        return json_check(json_object_new_object());
}

struct json_object *json_new_array(void) {
        return json_check(json_object_new_array());
}

void json_add(struct json_object *o, const char *key, struct json_object *value) {
        if (json_object_object_add(o, key, value) < 0)
                out_of_memory();
}

/* The length of the well-formed UTF-8 character that s begins with (RFC 3629), or 0. */
static size_t utf8_character(const char *s) {
        const unsigned char *u = (const unsigned char *) s;
        unsigned char low = 0x80, high = 0xbf;
        size_t l;

        if (u[0] < 0x80)
                return 1;
        if (u[0] < 0xc2 || u[0] > 0xf4)
                return 0;
        l = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
        if (u[0] == 0xe0) /* no overlong forms, no surrogates, nothing beyond U+10FFFF */
                low = 0xa0;
        else if (u[0] == 0xed)
                high = 0x9f;
        else if (u[0] == 0xf0)
                low = 0x90;
        else if (u[0] == 0xf4)
                high = 0x8f;
        for (size_t i = 1; i < l; i++, low = 0x80, high = 0xbf)
                if (u[i] < low || u[i] > high)
                        return 0;
        return l;
}

/* File names may hold any bytes, a JSON document may not: json-c would pass them through. */
static char *utf8_make_valid(const char *s) {
        static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
        char *valid = malloc(strlen(s) * (sizeof(replacement) - 1) + 1), *p = valid;

        if (!valid)
                out_of_memory();
        while (*s) {
                size_t l = utf8_character(s);

                p = mempcpy(p, l > 0 ? s : replacement, l > 0 ? l : sizeof(replacement) - 1);
                s += l > 0 ? l : 1;
        }
        *p = 0;
        return valid;
}

void json_add_string(struct json_object *o, const char *key, const char *value) {
        _cleanup_free_ char *valid = value ? utf8_make_valid(value) : NULL;

        json_add(o, key, valid ? json_check(json_object_new_string(valid)) : NULL);
}

void json_add_u64(struct json_object *o, const char *key, uint64_t value) {
        json_add(o, key, json_check(json_object_new_uint64(value)));
}

void json_add_bool(struct json_object *o, const char *key, bool value) {
        json_add(o, key, json_check(json_object_new_boolean(value)));
}

void json_add_source(struct json_object *o, const char *key, Source source) {
        _cleanup_free_ char *s = source.file ? format_text("%s:%u", source.file, source.line) : NULL;

        json_add_string(o, key, s);
}

void json_append(struct json_object *array, struct json_object *value) {
        if (json_object_array_add(array, value) < 0)
                out_of_memory();
}

void json_append_string(struct json_object *array, const char *value) {
        _cleanup_free_ char *valid = utf8_make_valid(value);

        json_append(array, json_check(json_object_new_string(valid)));
}

void json_add_diagnostics(struct json_object *o, const Diagnostics *d) {
        struct json_object *array = json_new_array();

        for (size_t i = 0; i < d->n; i++) {
                struct json_object *item = json_new_object();

                json_add_string(item, "file", d->items[i].file);
                if (d->items[i].line > 0)
                        json_add_u64(item, "line", d->items[i].line);
                else
                        json_add(item, "line", NULL);
                json_add_string(item, "severity", severity_to_string(d->items[i].severity));
                json_add_string(item, "message", d->items[i].message);
                json_append(array, item);
        }
        json_add(o, "diagnostics", array);
}

/* The bracket that closes the array that s begins with, where it has no elements. */
static const char *empty_array_end(const char *s) {
        if (*s != '[')
                return NULL;
        s++;
        s += strspn(s, " \n");
        return *s == ']' ? s : NULL;
}

/* json-c escapes the control characters of ASCII; a terminal obeys DEL and those of Latin-1 (U+0080 to
 * U+009F) too. Returns the last byte of the character. */
static const char *put_character(const char *s) {
        if (*s == 0x7f)
                fputs("\\u007f", stdout);
        else if (*s == '\xc2' && (s[1] & 0xe0) == 0x80)
                printf("\\u00%02x", (unsigned char) *++s);
        else
                putchar(*s);
        return s;
}

/* The same bytes whatever json-c's version: before 0.17 it breaks the line within an empty array. */
static void put_document(const char *s) {
        for (bool quoted = false; *s; s++) {
                const char *end = quoted ? NULL : empty_array_end(s);

                if (end) {
                        fputs("[]", stdout);
                        s = end;
                        continue;
                }
                if (*s == '"')
                        quoted = !quoted;
                else if (*s == '\\') /* what it escapes ends no string */
                        putchar(*s++);
                s = put_character(s);
        }
        putchar('\n');
}

void json_print(struct json_object *o) {
        put_document(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                                               JSON_C_TO_STRING_NOSLASHESCAPE));
        json_object_put(o);
}
