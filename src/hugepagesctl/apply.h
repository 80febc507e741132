/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Apply: what `hugepagesctl apply` has done (apply.c), what it leaves to the administrator (advice.c), and
 * how both are told (apply-text.c, apply-json.c). */

#include "hugepagesctl/bus.h"
#include "hugepagesctl/ctl.h"
#include "hugepagesctl/generated.h"

#define SETUP_UNIT "hugepages-setup.service"

/* A unit that was started, since something needs it that was not there before. */
typedef struct Start {
        char *unit;
        bool had_failed; /* before: whoever runs without it runs with less than it asked for */
        bool succeeded;
        char *reason; /* why not; NULL where it did */
} Start;

/* What only the administrator may do. */
typedef struct Advice {
        char *unit;
        const char *action; /* of systemctl: "restart", "start", "stop" */
        char *reason;
} Advice;

/* What only a reboot brings. */
typedef struct Reboot {
        char *name; /* a key or a pool */
        char *reason;
} Reboot;

typedef struct Apply {
        const Options *options;
        sd_bus *bus; /* NULL for a dry run */
        BusJobs jobs;
        Context before; /* with the new drop-ins, but the pages of before */
        Context after;  /* for a dry run all that is not before's is empty */
        Generated units_before, units_after;
        Outcome *outcome;
        char *service_error; /* why the service did not succeed; NULL where it did */
        Start *starts;
        size_t n_starts;
        Advice *advice;
        size_t n_advice;
        Reboot *reboots;
        size_t n_reboots;
} Apply;

/* The Context that tells how things are now. */
static inline const Context *apply_context(const Apply *a) {
        return a->options->dry_run ? &a->before : &a->after;
}

/* advice.c: fills advice and reboots. */
void apply_advise(Apply *a);

/* The hugepages-pool@ unit of a pool, or of what a [Service] names as one. */
char *consumer_pool_unit(const char *pool);
/* Whether a service, or an instance of it where it is a template, runs. */
bool consumer_runs(sd_bus *bus, const char *unit);

/* "systemctl restart 'dev-hugepages-my\\x2dapp.mount'", as a shell takes it; to be freed by the caller. */
char *advice_command(const Advice *a);

/* apply-changes.c: what has changed. Strings are borrowed unless it says otherwise. Nothing for a dry run.
 */

typedef struct PagesChange { /* of a page size on a node, in pages that are there to stay */
        uint64_t page_size;
        unsigned node;
        uint64_t before, after;
} PagesChange;

typedef struct PoolChange {
        const char *name;
        uint64_t page_size;
        const StatePool *before;  /* NULL: there was none */
        const OutcomePool *after; /* NULL: there is none any more */
} PoolChange;

typedef struct SettingChange {
        const char *path;
        char *before, *after; /* owned */
} SettingChange;

typedef struct Changes {
        PagesChange *pages; /* by page size, then node */
        size_t n_pages;
        PoolChange *pools;
        size_t n_pools;
        SettingChange *settings;
        size_t n_settings;
} Changes;

void changes_find(const Apply *a, Changes *c);
void changes_done(Changes *c);

void apply_print_text(const Apply *a);
void apply_print_json(const Apply *a);
