/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Apply: brings the kernel to what a Plan says, believes only what it reads back, and tells what came of
 * it. The only stage that writes to /sys and /proc. */

#include "apply/kernel.h"
#include "plan/plan.h"

typedef struct OutcomePool {
        char *name;
        Source source;
        uint64_t page_size; /* bytes; 0 where the pool was dropped before it was known */
        bool essential;
        bool dropped;            /* lost to an error in a drop-in */
        uint64_t requested;      /* pages */
        uint64_t planned;        /* pages, after cuts */
        uint64_t reserved;       /* pages it really has */
        uint64_t *node_reserved; /* by node index of the Host; NULL where dropped */
        uint64_t *node_planned;  /* as first planned; node_reserved itself where all is as planned */
        char *reason;            /* why reserved < requested, one sentence; NULL where it is full */
} OutcomePool;

typedef enum SettingResult {
        SETTING_UNCHANGED, /* it already was as declared */
        SETTING_CHANGED,   /* written and read back */
        SETTING_MISSING,   /* this kernel lacks the knob or the word: a warning, told by plan_make() */
        SETTING_REFUSED,   /* write failed, or another value was read back: a warning */
} SettingResult;

typedef struct OutcomeSetting {
        char *path;
        char *wanted, *actual; /* actual: what was read back; NULL where there is no such knob */
        Source source;
        SettingResult result;
        int error; /* REFUSED: negative errno of the write, 0 where it succeeded and changed nothing */
} OutcomeSetting;

typedef struct OutcomeSize {                      /* a page size, over all nodes, after everything */
        uint64_t page_size;                       /* bytes */
        uint64_t persistent, free, resv, surplus; /* pages */
        uint64_t beyond; /* persistent pages that belong to no pool; only for sizes that have a pool */
        bool has_pool;
        uint64_t requested, reserved; /* pages, over its pools */
} OutcomeSize;

typedef struct Outcome {
        OutcomePool *pools; /* in reading order, dropped ones too */
        size_t n_pools;
        OutcomeSetting *settings;
        size_t n_settings;
        OutcomeSize *sizes; /* by descending size, as in the Host */
        size_t n_sizes;
        uint64_t *reserved; /* what the pools' node_reserved point into */
        unsigned *node_ids;
        size_t n_nodes;
        size_t n_memory_nodes;       /* those of them that have memory */
        size_t n_writes;             /* writes that were made; 0: nothing had to change */
        size_t n_errors, n_warnings; /* of the drop-ins */
        bool timed_out;              /* TimeoutSec= was over before everything had been tried */
        uint64_t elapsed_usec;
} Outcome;

typedef struct ApplyInput {
        const PlanInput *plan; /* what to plan again with when a node has shown its limits */
        Host *host;            /* the Host of that PlanInput; counts in it are refreshed */
        Kernel *kernel;
        const char *root; /* for the state file */
        const Diagnostics
                *diagnostics; /* those of config_load() and the first plan_make(), for the counters */
        /* The status line for the state file: report_status_line(); may be NULL. */
        char *(*status_line)(const Outcome *o);
        /* Called while pages are being reserved, may be NULL. */
        void (*progress)(void *userdata, uint64_t page_size, uint64_t reserved, uint64_t requested);
        /* Called once before another run is waited for, may be NULL. */
        void (*waiting)(void *userdata);
        void *userdata;
} ApplyInput;

/* Runs the plan. 0 when it ran (the Outcome tells the rest), a negative errno when not even that was
 * possible: -ENOMEM, or the state before could not be kept in /run (then nothing was changed). */
int apply_run(const ApplyInput *input, const Plan *plan, Outcome **ret);

/* What is true now, without writing anything: what a run would report that found nothing to do. */
int outcome_observe(const Plan *plan, const Host *host, const Diagnostics *diagnostics, Outcome **ret);

/* The error that cost a section, as "FILE:LINE: message", and its place (the header's where none is found).
 * 0 or -ENOMEM. */
int reason_for_dropped(const Section *s, const Diagnostics *d, Source *ret_source, char **ret);

/* §3.7 of the contract: 0 everything is in place or only non-essential pools are short, 1 an essential pool
 * is short or a drop-in has an error. */
int outcome_exit_status(const Outcome *o) _pure_;

/* Dropped, or with fewer pages than it asks for. */
static inline bool outcome_pool_is_short(const OutcomePool *p) {
        return p->dropped || p->reserved < p->requested;
}

/* Something is not as declared: a pool is short or dropped, a setting was refused, a drop-in has an error.
 */
bool outcome_degraded(const Outcome *o) _pure_;

void outcome_free(Outcome *o);
DEFINE_CLEANUP(Outcome, outcome_free)

/* Giving back: revert (all that was done in this boot) and release (pages, on demand). */

typedef struct ReleasedPages { /* a page size on a node, in persistent pages */
        size_t size_index, node_index;
        char *path;
        uint64_t goal;   /* what there should be */
        uint64_t target; /* the same, but with the pages that stay for a MountClaim */
        uint64_t from;   /* what was found */
        uint64_t to;     /* what can be written: less far where pages must stay, or none come */
        uint64_t actual; /* what was read back; in a dry run as to */
        char *reason;    /* why actual is not the goal, a few words; NULL where it is */
} ReleasedPages;

typedef struct ReleasedKnob {
        char *path, *from, *to;
        char *actual; /* what was read back; NULL where nothing could be read. In a dry run as to */
        int error;    /* negative errno where the kernel refused it */
} ReleasedKnob;

typedef struct ReleasedPool { /* in pages; held is the sum of the four */
        const PlanPool *pool;
        uint64_t held;
        uint64_t released;
        uint64_t in_use, promised; /* by their number: the kernel does not say whose they are */
        uint64_t refused;          /* for an error that the page size and node have as their reason */
        uint64_t *node_held, *node_released;
        uint64_t *node_claimed; /* of node_held, what mounts have: the nodes are a guess */
} ReleasedPool;

typedef struct MountClaim { /* what the live mounts of a pool have, in pages */
        uint64_t used;      /* by files */
        uint64_t promised;  /* by min_size=, beyond used */
} MountClaim;

typedef struct Released {
        ReleasedPages *pages; /* largest size first, then by node; those that are as they should be, too */
        size_t n_pages;
        ReleasedKnob *knobs; /* revert only */
        size_t n_knobs;
        ReleasedPool *pools; /* release only: those that were named, in reading order */
        size_t n_pools;
        int state_error;   /* negative errno where what was done could not be recorded in /run; 0 */
        bool was_reverted; /* revert: the last one has left nothing to do, and no run has begun since */
} Released;

/* Brings back what the state of this boot remembers: knobs first, then pages, those to be lowered before
 * those to be raised, each as careful as a run is: no page goes that is in use or promised, KeepFree= holds.
 * What is back is forgotten, what is not stays remembered, and no run counts as being in effect. Killed at
 * any point, it can be called again and ends in the same state.
 *
 * dry_run: nothing is locked or written. -ENOENT where no run has left a state, -EINVAL where it is damaged;
 * else as apply_run(). */
int revert_run(const ApplyInput *input, const Plan *plan, bool dry_run, Released **ret);

/* Gives the pages of pools back, as plan_attribute() has them, node by node; never more than is free and
 * promised to nobody. named and claims are by index of the plan's pools. named NULL: all. claims, which may
 * be NULL: what a pool cannot give since its own mounts have it, and others must not give for it. dry_run
 * and errors as above, but for those of the state: where there is none, it begins with this. */
int release_run(const ApplyInput *input, const Plan *plan, const bool *named, const MountClaim *claims,
                bool dry_run, Released **ret);

/* All is as it should be. */
bool released_complete(const Released *r) _pure_;

void released_free(Released *r);
DEFINE_CLEANUP(Released, released_free)
