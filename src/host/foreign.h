/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Foreign managers: who else sets our knobs, and where it is written. */

#include "basic/diag.h"
#include "basic/util.h"

typedef enum ForeignKind {
        FOREIGN_SYSCTL, /* vm.nr_hugepages and relatives in sysctl.d */
        FOREIGN_TUNED,  /* the active profile of tuned */
} ForeignKind;

typedef struct ForeignSetting {
        ForeignKind kind;
        char *file; /* "/etc/sysctl.d/50-db.conf" */
        unsigned line;
        char *key; /* as written, normalized to dots: "vm.nr_hugepages" */
        char *value;
} ForeignSetting;

typedef struct Foreign {
        ForeignSetting *items;
        size_t n;
} Foreign;

/* The knobs of sysctl.d that are ours too; NULL-terminated: vm.nr_hugepages, vm.nr_hugepages_mempolicy,
 * vm.nr_overcommit_hugepages, vm.hugetlb_shm_group, vm.hugetlb_optimize_vmemmap, vm.defrag_mode. */
extern const char *const foreign_sysctl_keys[];

/* Whether any effective file of sysctl.d(5) sets one of them (what the generator asks; stops at the first).
 */
bool foreign_sysctl_conflicts(const char *root);

/* All of them: sysctl.d in its order of precedence, then tuned. What the kernel command line says is
 * boot_settings_parse()'s. 0 or -ENOMEM. */
int foreign_load(const char *root, Foreign *ret);

void foreign_done(Foreign *f);
