/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The words of the kernel command line, split as the kernel does (lib/cmdline.c, next_arg()). */

#include "basic/util.h"

/* Takes the next word off *p. Blanks within double quotes do not split; quotes around the whole word or
 * around its value are removed. 1 with the word in *ret, to be freed by the caller; 0 at the end; -ENOMEM.
 */
int cmdline_next(const char **p, char **ret);

/* The value where word is "key=value", "" included; NULL where it is something else. As for the kernel, "-"
 * and "_" are the same in a key. */
const char *cmdline_value(const char *word, const char *key) _pure_;
