/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Text: what was found in a drop-in, made fit for a message. */

#include "basic/util.h"

#define QUOTE_BYTES_MAX 64u
/* Each byte can become four, and the ellipsis takes three. */
#define QUOTE_BUFFER_SIZE (QUOTE_BYTES_MAX * 4 + 4)

/* At most 64 bytes of s, with "…" where it is cut and \xNN for what is not printable. Returns buffer, of
 * QUOTE_BUFFER_SIZE bytes. */
char *quote(char *buffer, const char *s);

#define QUOTE(s) quote((char[QUOTE_BUFFER_SIZE]){}, (s))

/* Bytes of the printable UTF-8 character at s (1 to 4); 0 where there is none: a control character, one
 * that turns the direction of the text around it, an invalid sequence, or the end. */
size_t utf8_printable(const char *s) _pure_;

bool text_is_printable(const char *s) _pure_;

/* A copy of s with \xNN for what is not printable, newlines included: names of files may hold any bytes.
 * NULL when out of memory. */
char *text_escape(const char *s);

/* NAME of [Pool NAME] and [Mount NAME], told where it cannot be one. */
#define NAME_EXPECTED "1 to 32 of A-Z a-z 0-9 _ . -, not starting with . or -"
