/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Status: what `hugepagesctl status` has found, to be printed as text, a file a table, or as JSON. */

#include "hugepagesctl/ctl.h"

typedef struct MountStatus {
        const Mount *mount;
        char *unit;           /* NULL where it was dropped */
        uint64_t page_size;   /* bytes; 0 where it cannot be said */
        Tristate mounted;     /* UNSET: the mount table could not be read */
        bool refused;         /* not mounted, as the directory has content (AssertDirectoryNotEmpty=) */
        char *difference;     /* mounted otherwise than declared, in words; NULL where not */
        bool has_usage;       /* limit and used are known: it is mounted, and has a limit or a reserve */
        uint64_t limit, used; /* bytes; limit UINT64_MAX: none */
} MountStatus;

typedef enum UnitKind {
        UNIT_SETUP,    /* hugepages-setup.service */
        UNIT_POOL,     /* hugepages-pool@NAME.service */
        UNIT_MOUNT,    /* of a [Mount] */
        UNIT_CONSUMER, /* of a [Service] */
} UnitKind;

typedef struct UnitStatus {
        char *name;
        UnitKind kind;
        char *load_state;   /* "loaded", "not-found", "masked", … */
        char *active_state; /* "active", "failed", …; both NULL where no system manager answers */
        bool expected; /* it should be active by now: a pool's unit runs only where somebody asks for it */
} UnitStatus;

typedef struct Status {
        const Options *options;
        Context context;
        Outcome *outcome;
        char *line;          /* the status line */
        MountStatus *mounts; /* as in the Config */
        size_t n_mounts;
        UnitStatus *units; /* the service, pools, mounts, consumers; of the real system only */
        size_t n_units;
        OutcomeSetting *settings; /* the declared ones, then those that are worth knowing; all borrowed */
        size_t n_settings;
        bool configured; /* there are drop-ins */
        bool ran;        /* the service has ended a run in this boot */
        int exit_status; /* of hugepagesctl */
} Status;

/* system.c: what the system says that Host does not hold. */
void status_read_mounts(Status *s);
void status_read_units(Status *s);
void status_free_system(Status *s);

/* "applied", "degraded", "not-applied", "unconfigured": the exit status as a word. */
const char *status_state(const Status *s);

/* The words of the columns STATE, and of JSON. */
const char *pool_state(const OutcomePool *p);       /* full, short, dropped */
const char *setting_state(const OutcomeSetting *s); /* ok, differs, missing, undeclared */
const char *mount_state(const MountStatus *m); /* mounted, changed, refused, missing, dropped, unknown */
const char *unit_state(const UnitStatus *u);
const char *unit_kind(const UnitStatus *u);

bool mount_is_bad(const MountStatus *m);
bool unit_is_bad(const UnitStatus *u);

/* One file a table. select is as in -o, of columns that the table is known to have; NULL: the default ones.
 */
extern const TableInfo pools_table, sizes_table, settings_table, mounts_table, units_table;
void print_pools_table(const Status *s, const char *select);
void print_sizes_table(const Status *s, const char *select);
void print_settings_table(const Status *s, const char *select);
void print_mounts_table(const Status *s, const char *select);
void print_units_table(const Status *s, const char *select);

/* The pools' columns with one a node, which depend on the machine. To be freed with pool_columns_free(). */
TableInfo *pool_columns_make(const Host *h);
void pool_columns_free(TableInfo *t);
DEFINE_CLEANUP(TableInfo, pool_columns_free)

size_t nodes_with_memory(const Host *h);
void print_bars(const Status *s);

/* "THP khugepaged/defrag", "vm.hugetlb_shm_group", "hugepages-2048kB/nr_overcommit_hugepages" */
char *setting_name(const char *path);

/* The settings of Status, in Status.settings. */
void status_make_settings(Status *s);
void status_free_settings(Status *s);

void status_print_json(const Status *s);
