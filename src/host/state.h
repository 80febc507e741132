/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* State: what this boot's runs of hugepages-setup remember in /run/hugepages-setup/state: how things were
 * before the first change, and which pool got which pages. Versioned lines of "key value…"; unknown ones are
 * ignored, so that a downgrade reads what an upgrade wrote. Apply writes it, everyone reads it. */

#include "basic/util.h"

#define STATE_DIRECTORY "/run/hugepages-setup"
#define STATE_PATH STATE_DIRECTORY "/state"
#define LOCK_PATH STATE_DIRECTORY "/lock"

/* Persistent pages (nr − surplus) of a size on a node, or a knob's word, before our first change. */
typedef struct StatePages {
        uint64_t page_size; /* bytes */
        unsigned node;
        uint64_t pages;
} StatePages;

typedef struct StateKnob {
        char *path;
        char *value; /* what must be written to get back: the current word, not the raw line */
} StateKnob;

typedef struct StatePool { /* what a pool held when the last run ended */
        char *name;
        uint64_t page_size; /* bytes */
        uint64_t requested; /* pages; for Size=rest what the first run found */
        uint64_t reserved;  /* pages, in all */
        StatePages *nodes;  /* page_size as above */
        size_t n_nodes;
        char *reason;  /* why reserved < requested, as that run saw it; NULL where it is full */
        bool released; /* given back on demand since that run: what pages there are belong to others first */
} StatePool;

typedef struct State {
        StatePages *before;
        size_t n_before;
        StateKnob *knobs;
        size_t n_knobs;
        StatePool *pools;
        size_t n_pools;
        char *status;    /* the status line of the last run */
        int exit_status; /* of the last run; -1 while it has not ended */
        bool reverted;   /* hugepagesctl has taken back what runs had done, and none has begun since */
} State;

/* -ENOENT where no run has left one; -EINVAL where it is damaged (it is then treated as absent). */
int state_read(const char *root, State **ret);

/* Writes the file's contents, and the lines of a pool alone (those of further ones may follow). */
void state_put(FILE *f, const State *s);
void state_put_pool(FILE *f, const StatePool *p);

/* The file's contents, to be freed by the caller; NULL when out of memory. */
char *state_format(const State *s);

void state_free(State *s);
DEFINE_CLEANUP(State, state_free)

/* NULL, or where there is no entry. */
const StatePool *state_find_pool(const State *s, const char *name) _pure_;

/* Persistent pages before our first change; fallback where there is no entry (we have not touched it). */
uint64_t state_pages_before(const State *s, uint64_t page_size, unsigned node, uint64_t fallback) _pure_;
