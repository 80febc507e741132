/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Status: what `hugepagesctl status` has found, to be printed as text (status.c) or JSON (status-json.c). */

#include "hugepagesctl/ctl.h"

typedef struct MountStatus {
        const Mount *mount;
        uint64_t page_size;   /* bytes; 0 where it cannot be said */
        Tristate mounted;     /* UNSET: the mount table could not be read */
        bool has_usage;       /* limit and used are known: it is mounted, and has a limit or a reserve */
        uint64_t limit, used; /* bytes; limit UINT64_MAX: none */
} MountStatus;

typedef struct UnitStatus {
        char *name;
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
        UnitStatus *units; /* the service, pools, mounts; of the real system only */
        size_t n_units;
        bool configured; /* there are drop-ins */
        bool ran;        /* the service has ended a run in this boot */
        int exit_status; /* of hugepagesctl */
} Status;

/* system.c: what the system says that Host does not hold. */
void status_read_mounts(Status *s);
void status_read_units(Status *s);

/* "applied", "degraded", "not-applied", "unconfigured": the exit status as a word. */
const char *status_state(const Status *s);

/* "full", "short", "dropped" */
const char *pool_state(const OutcomePool *p);
/* "unchanged" → "as declared" and so on, for both outputs. */
const char *setting_state(const OutcomeSetting *s);

void status_print_json(const Status *s);
