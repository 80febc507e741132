/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where: the rules for [Mount] Where=. */

#include "basic/util.h"

/* NULL where a hugetlbfs may be mounted on path, which has no trailing slash; else a constant text that says
 * why not. */
const char *where_fault(const char *path) _pure_;
