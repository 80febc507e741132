/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the parts of one run of apply share; no business of anybody outside src/apply. */

#include "apply/apply.h"

/* What a page size met on a node during the run. */
typedef struct NodeRecord {
        int error;         /* negative errno of a counter that could not be read or written; 0: none */
        bool kept_free;    /* KeepFree= left less room at the time of the write than the plan had seen */
        bool unsplittable; /* larger pages could not be taken apart for it */
} NodeRecord;

typedef struct Run {
        const ApplyInput *input;
        Kernel *kernel;
        Host *host;
        const Config *config;
        const Plan *plan;    /* that is being written; NULL while pages are given back */
        uint64_t keep_free;  /* bytes, as in the plan */
        uint64_t deadline;   /* of the kernel's clock */
        NodeRecord *records; /* [size_index * n_nodes + node_index] */
        PlanLimits limits;
        OutcomeSetting *settings; /* by index in Plan.settings */
        size_t n_settings;
        size_t n_writes;
        uint64_t most_planned; /* bytes of pages, of the plan of this run that had room for the most */
        bool timed_out;
        bool dropped_caches; /* once a run is enough */
        bool first_for_rest; /* what Size=rest comes to is being found out by this run */
        bool counts_right;   /* this kernel has no bug with surplus pages on other nodes, see pages.c */
} Run;

/* A page size on a node while it is being written. */
typedef struct NodePages {
        Run *run;
        size_t size_index, node_index;
        const char *path;  /* its nr_hugepages */
        uint64_t target;   /* persistent pages */
        bool exhausted;    /* there is no use in another, or the last one ended in an error */
        PageCounts counts; /* as last read */
} NodePages;

/* apply.c: what every run begins and ends with. run_lock() takes the lock that keeps two runs from mixing
 * and waits for it: 1 where another run had it, 0 where it was free. run_reload_state(): what another run
 * has left since the Host was loaded, as its record of the state before must not be lost. All: negative
 * errno. */
int run_lock(const ApplyInput *input, int *ret);
int run_init(Run *run, const ApplyInput *input, const Plan *plan);
int run_reload_state(Run *run); /* 1 where it is another one */
void run_done(Run *run);
void run_progress(const Run *run, size_t size_index); /* tells how far the pools of a page size are */

static inline NodeRecord *run_record(const Run *run, size_t size_index, size_t node_index) {
        return &run->records[size_index * run->host->n_nodes + node_index];
}

/* counts.c: reading anew. A counter that cannot be read keeps its value in the Host; -ENOMEM is all that can
 * come of counts_refresh(). node_index SIZE_MAX: over all nodes. */
int counts_refresh(Kernel *k, Host *h);
int counts_read(Kernel *k, const Host *h, size_t size_index, size_t node_index, PageCounts *ret);
/* One of them over all nodes, by the name of its file. Errors of counts_read(). */
int counts_read_total(Kernel *k, const Host *h, size_t size_index, const char *counter, uint64_t *ret);
uint64_t counts_room(
        Run *run); /* bytes that new pages may take at this moment; updates the Host's memory and total.nr */
uint64_t counts_spare(const NodePages *p); /* pages that are free and promised to nobody, as counts has it */

static inline uint64_t pages_persistent(const PageCounts *c) {
        return sub_sat(c->nr, c->surplus);
}

/* pages.c: brings one node nearer to what a write of the plan says, and reads back what came of it. Failures
 * go to the NodeRecord. */
void pages_init(NodePages *p, Run *run, const PlanWrite *w);
void pages_raise(NodePages *p);
void pages_lower(NodePages *p);
bool pages_can_grow(const NodePages *p); /* short, and neither KeepFree= nor an error stands in the way */

/* retry.c: makes the writes of a group (so many of the first ones are of one page size and direction; 0
 * where they are no pages), and goes on where one attempt was not enough. What a node could not give is its
 * limit from then on. 1 where a node is short, 0 where none is, -ENOMEM. */
size_t pages_group(const PlanWrite *writes, size_t n);
int pages_write(Run *run, const PlanWrite *writes, size_t n);
/* The last resort, where DropCaches=yes allows it: true once a run, when all nodes should be asked anew. */
bool drop_caches(Run *run);

/* split.c: takes larger pages apart that no pool claims, where pools of plan lack smaller ones that they had
 * in the first plan: at one place at a time. 1 where there is more now and it is worth planning again, 0
 * where there is nothing to be had.
 */
int split_larger(Run *run, const Plan *first, const Plan *plan);
/* What a run that was killed meanwhile has left changed of the kernel's settings. 0 or -ENOMEM. */
int split_put_back(Run *run);

/* settings.c: the knobs of plan->settings, those with before_pools or the others. */
int settings_apply(Run *run, const Plan *plan, bool before_pools);
bool setting_holds(const char *line, const char *wanted);
int setting_observe(const PlanWrite *w, const char *line, OutcomeSetting *ret);
void outcome_setting_done(OutcomeSetting *s);

/* Why a pool is short whose pages were given back on demand. */
#define RELEASED_REASON "given back with hugepagesctl release"

/* remember.c: the state file. remember_before() keeps what the plan's writes are about to change. */
int remember_before(Run *run, const Plan *plan);
int remember_outcome(Run *run,
                     const Outcome *o); /* the pools go to the file alone, not to the Host's state */
int remember_pages(Run *run, size_t size_index, size_t node_index); /* without saving; 1 where it is new */
int remember_splitting(Run *run, size_t from, size_t to, size_t node_index);
int remember_knob_value(Run *run, const char *path, const char *value); /* before it is changed */
int remember_no_knob(Run *run, const char *path);
int remember_releasing(Run *run, const Released *r);
int remember_released(Run *run, const Plan *plan);
int remember_reverted(Run *run, const Released *r);

/* outcome.c: first is the plan as it was made; last the one that pages were last written by (they are the
 * same where nothing had to be planned again). run NULL: nothing was run, records and settings are those
 * that host shows. */
int outcome_build(const Plan *first, const Plan *last, const Host *host, const Diagnostics *diagnostics,
                  Run *run, Outcome **ret);

/* reason.c: why a pool has fewer pages than planned or asked for; plan is the first one, run NULL where
 * nothing was run. */
int reason_for_short(const Plan *plan, const PlanPool *pp, const Host *host, const Run *run,
                     const uint64_t *node_reserved, char **ret);
