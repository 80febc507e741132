/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sizes as people write them. */

#include "basic/util.h"

#define FORMAT_SIZE_MAX 32

/* Exact, in the largest unit that divides it: 2097152 → "2M", 1536M → "1536M", 1000 → "1000". Also what
 * the kernel's memparse() reads. Returns buffer, of FORMAT_SIZE_MAX bytes. */
char *format_size_exact(char *buffer, uint64_t bytes);

/* For reading: at most one decimal, "7.5G", "512M", "0". */
char *format_size(char *buffer, uint64_t bytes);

#define FORMAT_SIZE_EXACT(bytes) format_size_exact((char[FORMAT_SIZE_MAX]){}, (bytes))
#define FORMAT_SIZE(bytes) format_size((char[FORMAT_SIZE_MAX]){}, (bytes))
