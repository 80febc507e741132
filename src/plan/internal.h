/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the plan stage share. */

#include "plan/plan.h"
#include "plan/request.h"

/* Pools that may be placed, with their requests; drops those that cannot be (plan/plan.c). */
int plan_collect_pools(const PlanInput *input, Plan *p, Diagnostics *d);

/* Decides granted, planned and node_planned of every pool, and wanted and target of every node
 * (plan/allot.c). */
int plan_allot(Plan *p, const PlanLimits *limits);

/* Fills writes with what differs from now: settings that must come first, lower counts, then raises with the
 * largest size first, then all other settings (plan/writes.c). */
int plan_add_writes(Plan *p);

/* Everything that is set by a word or a number: THP, khugepaged, vm.hugetlb_*, overcommit (plan/settings.c).
 */
int plan_add_settings(const PlanInput *input, Plan *p, Diagnostics *d);

/* Appends a copy to a list of writes; takes over path and value (freed on error, either may be NULL:
 * -ENOMEM). */
int plan_append_write(PlanWrite **list, size_t *n, const PlanWrite *write);
