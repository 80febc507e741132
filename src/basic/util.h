/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The small vocabulary that every file uses: cleanup attributes, comparison and array helpers. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _const_ __attribute__((const))
#define _pure_ __attribute__((pure))
#define _unused_ __attribute__((unused))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))

/* Names made unique, so that MIN(a, MIN(b, c)) shadows nothing. */
#define _CONCATENATE(x, y) x##y
#define CONCATENATE(x, y) _CONCATENATE(x, y)
#define _MIN(id, a, b)                                                                                      \
        ({                                                                                                  \
                __typeof__(a) CONCATENATE(_a, id) = (a);                                                    \
                __typeof__(b) CONCATENATE(_b, id) = (b);                                                    \
                CONCATENATE(_a, id) < CONCATENATE(_b, id) ? CONCATENATE(_a, id) : CONCATENATE(_b, id);      \
        })
#define _MAX(id, a, b)                                                                                      \
        ({                                                                                                  \
                __typeof__(a) CONCATENATE(_a, id) = (a);                                                    \
                __typeof__(b) CONCATENATE(_b, id) = (b);                                                    \
                CONCATENATE(_a, id) > CONCATENATE(_b, id) ? CONCATENATE(_a, id) : CONCATENATE(_b, id);      \
        })
#define MIN(a, b) _MIN(__COUNTER__, a, b)
#define MAX(a, b) _MAX(__COUNTER__, a, b)

#define TAKE_PTR(p)                                                                                         \
        ({                                                                                                  \
                __typeof__(p) _take_p = (p);                                                                \
                (p) = NULL;                                                                                 \
                _take_p;                                                                                    \
        })

/* Makes TYPEp(), usable with _cleanup_(), out of a function that frees a pointer to TYPE. */
#define DEFINE_CLEANUP(type, func)                                                                          \
        static inline void func##p(type **p) {                                                              \
                if (*p)                                                                                     \
                        func(*p);                                                                           \
        }

static inline void freep(void *p) {
        free(*(void **) p);
}

static inline void fclosep(FILE **f) {
        if (*f)
                fclose(*f);
}

static inline void closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_close_ _cleanup_(closep)

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

static inline bool streq_ptr(const char *a, const char *b) {
        return a == b || (a && b && streq(a, b));
}

static inline bool isempty(const char *s) {
        return !s || !*s;
}

/* The rest of s after prefix, or NULL where s does not begin with it. */
static inline const char *startswith(const char *s, const char *prefix) {
        size_t l = strlen(prefix);

        return strncmp(s, prefix, l) == 0 ? s + l : NULL;
}

/* The place in s where suffix begins, or NULL where s does not end with it. */
static inline const char *endswith(const char *s, const char *suffix) {
        size_t l = strlen(s), n = strlen(suffix);

        return l >= n && streq(s + l - n, suffix) ? s + l - n : NULL;
}

/* Cuts blanks and line ends off both sides, in place. */
static inline char *strip(char *s) {
        char *end;

        s += strspn(s, " \t\r\n");
        end = s + strlen(s);
        while (end > s && strchr(" \t\r\n", end[-1]))
                end--;
        *end = 0;
        return s;
}

/* Makes room for one more element in *array, which holds n of them; capacity doubles and is derived from n.
 * 0, or -ENOMEM with the array as it was. The new element is zeroed. */
static inline int grow_array(void *array, size_t n, size_t element_size) {
        void *p = *(void **) array;

        if ((n & (n - 1)) == 0) { /* a power of two (or none yet): the capacity is used up */
                p = reallocarray(p, n ? n * 2 : 1, element_size);
                if (!p)
                        return -ENOMEM;
                *(void **) array = p;
        }
        memset((char *) p + n * element_size, 0, element_size);
        return 0;
}

#define GROW_ARRAY(array, n) grow_array(&(array), (n), sizeof(*(array)))

/* a + b and a * b, which stay at UINT64_MAX instead of wrapping: configured sizes can be absurd. */
static inline uint64_t add_sat(uint64_t a, uint64_t b) {
        uint64_t r;

        return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static inline uint64_t mul_sat(uint64_t a, uint64_t b) {
        uint64_t r;

        return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* a − b, but never below 0. */
static inline uint64_t sub_sat(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}
