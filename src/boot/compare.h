/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Compare: arguments against a kernel command line, as the kernel reads it (hugepages_setup() and its
 * neighbours in mm/hugetlb.c, setup_thp_anon() in mm/huge_memory.c). Pure. */

#include "basic/util.h"

typedef enum BootKey {
        BOOT_DEFAULT_PAGE_SIZE, /* default_hugepagesz= */
        BOOT_PAGES,             /* hugepagesz= with the hugepages= behind it, or a bare hugepages= */
        BOOT_CMA,               /* hugetlb_cma= */
        BOOT_CMA_ONLY,          /* hugetlb_cma_only= */
        BOOT_FREE_VMEMMAP,      /* hugetlb_free_vmemmap= */
        BOOT_THP,               /* transparent_hugepage= */
        BOOT_THP_SHMEM,         /* transparent_hugepage_shmem= */
        BOOT_THP_ANON_SIZE,     /* thp_anon=, one for each size or range of sizes */
        BOOT_THP_SHMEM_SIZE,    /* thp_shmem=, likewise */
} BootKey;

typedef struct BootSetting { /* one thing that is said on a command line */
        BootKey key;
        uint64_t page_size, last_page_size; /* bytes; the same but for ranges of thp_anon= and thp_shmem= */
        char *value;                        /* NULL for a hugepagesz= without pages */
        char *text;                         /* as it stands there, "hugepagesz=1G hugepages=4" */
        bool bare;                          /* hugepages= that means whatever the default size is */
        bool ignored;                       /* the kernel takes another one of the kind */
} BootSetting;

typedef struct BootSettings {
        BootSetting *items; /* in the order of the line */
        size_t n;
} BootSettings;

/* What line says about huge pages. default_page_size: the kernel's where the line does not choose it, bytes.
 * 0 or -ENOMEM. */
int boot_settings_parse(const char *line, uint64_t default_page_size, BootSettings *ret);

void boot_settings_done(BootSettings *s);

/* The one of the kind that the kernel obeys; NULL where there is none. */
const BootSetting *boot_settings_find(const BootSettings *s, BootKey key, uint64_t page_size);

/* The sum of "4", "0:2,1:2" (hugepages=) or "4G", "0:2G,1:2G" (hugetlb_cma=). */
uint64_t boot_value_sum(const char *value);

/* The number for one node in "0:2,1:2"; UINT64_MAX where value is not by node. */
uint64_t boot_value_of_node(const char *value, unsigned node);

/* Whether after says nothing about a thing that before says something about, or has fewer huge pages of a
 * size. 0 or -ENOMEM. */
int arguments_lose(const char *before, const char *after, uint64_t default_page_size, bool *ret);

typedef enum Presence {
        PRESENCE_PRESENT,
        PRESENCE_MISSING,
        PRESENCE_DIFFERENT, /* the line says something else: found */
        PRESENCE_EXTRA,     /* on the line, and not among the arguments */
        PRESENCE_IGNORED,   /* on the line, where the kernel ignores it, for another one of the kind: wanted;
                               NULL: for where it stands */
} Presence;

typedef struct ComparedArgument {
        Presence presence;
        char *wanted; /* NULL: EXTRA, IGNORED */
        char *found;  /* NULL: MISSING */
} ComparedArgument;

typedef struct Comparison {
        ComparedArgument *items; /* what is wanted, in its order; then what is extra or ignored */
        size_t n;
        size_t n_missing, n_different, n_extra; /* of items; what is ignored counts nowhere */
} Comparison;

/* Compares arguments (as arguments_line() gives them) with line. A bare hugepages= on the line is different
 * from a default_hugepagesz= that is wanted: the same number of pages would be of that size. 0 or -ENOMEM.
 */
int compare_arguments(const char *arguments, const char *line, uint64_t default_page_size, Comparison *ret);

/* Whether all that is wanted is there. */
static inline bool comparison_complete(const Comparison *c) {
        return c->n_missing + c->n_different == 0;
}

void comparison_done(Comparison *c);
