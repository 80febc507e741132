/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Initrd: whether the initrd reserves what it is to reserve. */

#include "hugepagesctl/ctl.h"

/* What the initrd of the next boot lacks, one sentence, to be freed by the caller. NULL where it is as
 * declared, where no initrd has ever had a pool, and while a drop-in has an error. */
char *initrd_fault(const Options *o);

/* The same as a warning. */
void initrd_lint(const Options *o, Diagnostics *d);

/* Builds the initrd anew where it lacks something. An exit status; what went wrong is on stderr. */
int initrd_renew(const Options *o);
