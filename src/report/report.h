/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Report: an Outcome in words, for `systemctl status`, the journal and hugepagesctl. */

#include "apply/apply.h"
#include "boot/arguments.h"

/* The status line (§3.8): "2M 4096/4096 (8G) · 1G 7/8 (7G) on 2 nodes · THP never · degraded: vm short by
 * 1 × 1G on node1". NULL when out of memory. */
char *report_status_line(const Outcome *o);

/* The same where no run has been in this boot, or none may: "not applied: 2M 0/4096 (0) on 2 nodes". That
 * pages are missing is no fault then. */
char *report_unapplied_line(const Outcome *o);

/* "pool db: 4096 × 2M (8G) reserved: node0 2048, node1 2048", or with "short by …: REASON". */
char *report_pool_line(const Outcome *o, const OutcomePool *p);

/* "pool vm is short: the kernel command line would have got its 1G pages …", for the first short pool of an
 * argument's page size; NULL with 0 where no pool is, or the command line asks for no more than there is. */
int report_cmdline_hint(const Outcome *o, const Argument *a, char **ret);

/* "vm short by 1 × 1G on node1", "db dropped for an error"; NULL with 0 where the pool is full. */
int report_pool_shortage(const Outcome *o, const OutcomePool *p, char **ret);
