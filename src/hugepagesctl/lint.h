/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lint: what is well-formed and still will not do what it is meant to. Only warnings: each may be right for
 * a machine that is not there yet. */

#include "hugepagesctl/ctl.h"

/* What the drop-ins say, held against the machine: owners of mounts, the files of consumers, other managers
 * (sysctl.d, tuned, the command line). */
void lint(const Options *o, const Context *c, Diagnostics *d);

/* Settings of this machine that many guides recommend and no kernel has, outside hugepages.d. */
void folklore_find(const char *root, Diagnostics *d);
