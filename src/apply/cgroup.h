/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Cgroup: the hugetlb limits of a service, for which systemd has no setting
 * (Documentation/admin-guide/cgroup-v2.rst, HugeTLB). */

#include "config/config.h"

/* Sets hugetlb.SIZE.max and .rsvd.max of the caller's own cgroup, after the controller was made available
 * down to it. max UINT64_MAX: no limit. Negative errno, with a sentence in *ret_error that says what is in
 * the way (NULL when out of memory). */
int cgroup_limit_hugetlb(const char *root, const HugetlbLimit *limits, size_t n, char **ret_error);
