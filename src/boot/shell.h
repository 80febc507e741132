/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Configuration that is a script of /bin/sh, evaluated so that it can neither hang nor change anything. */

#include "basic/util.h"

/* Where a script writes what it has to say. Its standard output and error go nowhere, its standard input is
 * empty. */
#define SHELL_OUTPUT_FD 3

/* Runs script with arguments as $1 and so on. *ret is what it wrote, NUL-terminated, to be freed by the
 * caller; *ret_size counts without the terminator. It has a session of its own, an environment without
 * anything of ours, and, where we may have namespaces, no file systems that can be written to but an empty
 * /tmp and /var/tmp (those that no argument is below; in a chroot from Linux 6.15 on), and a PID namespace;
 * what it leaves running is killed. Error: -ENOENT no shell, -EPERM its file systems cannot be made
 * read-only (before Linux 5.12), -ETIMEDOUT after msec, -EFBIG max bytes or more, -EIO exit status other
 * than 0, -EDEADLK asked for by a script that runs here already. */
int shell_evaluate(const char *script, const char *const *arguments, unsigned msec, size_t max, char **ret,
                   size_t *ret_size);
