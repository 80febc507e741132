/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The value syntaxes of hugepages.d(5) that are no business of one key alone. All are pure; all return 0 or
 * -EINVAL (-ERANGE where the number does not fit) and leave *ret alone on error. Nothing but the whole
 * string is accepted: no blanks around, no trailing text. */

#include "basic/util.h"

/* "8G", "8GiB", "8GB" is refused, "512", "1.5G" (a fraction needs a suffix): base 1024, to bytes. */
int parse_size(const char *s, uint64_t *ret);

/* For suggestions: s with the sizes in it spelt as parse_size() takes them, "0:4 GB,1:12gb" as "0:4G,1:12G".
 * What is no size is copied; only a parser can tell whether the whole is valid. False, with an empty buffer,
 * where the result is s or too long. */
bool respell_sizes(const char *s, char *buffer, size_t size);

/* "25%", "12.5%" to hundredths of a percent (2500, 1250). More than 100% is accepted: it is cut later. */
int parse_percent(const char *s, uint64_t *ret);

/* Decimal digits only. */
int parse_u64(const char *s, uint64_t *ret);

/* 1 yes true on y t / 0 no false off n f, case-insensitive, as systemd does. 1 or 0 through *ret. */
int parse_boolean(const char *s, bool *ret);

/* "30s", "500ms", "1min 30s", "2h", a bare number is seconds; to microseconds. */
int parse_timespan(const char *s, uint64_t *ret);

/* "3" or "0-63": first ≤ last, both at most NODE_ID_MAX. */
#define NODE_ID_MAX                                                                                         \
        1023u /* MAX_NUMNODES − 1 of the largest NODES_SHIFT (10) in the kernel's Kconfig files */
int parse_node_range(const char *s, size_t length, unsigned *ret_first, unsigned *ret_last);
