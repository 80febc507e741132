/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Conflicts: what other managers of huge pages say otherwise than the drop-ins. */

#include "host/foreign.h"
#include "plan/plan.h"

/* Adds a warning with file and line for each setting of theirs, and each word of cmdline that the kernel
 * obeys, that contradicts the plan. Those that say the same, or are about what no drop-in declares, are
 * nobody's business. 0 or -ENOMEM. */
int conflicts_find(const Plan *plan, const Foreign *f, const char *cmdline, Diagnostics *d);
