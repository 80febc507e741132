/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Bus: what hugepagesctl asks of the system manager (org.freedesktop.systemd1(5)). Functions return 0 or a
 * negative errno. */

#include <systemd/sd-bus.h>

#include "basic/util.h"

static inline void sd_bus_closep(sd_bus **bus) {
        sd_bus_flush_close_unref(*bus);
}

#define _cleanup_bus_ _cleanup_(sd_bus_closep)

/* PID 1 by its own socket where the caller is root, which works without a message bus too; else, and where
 * there is no such socket, by the system bus. */
int bus_open(sd_bus **ret);

/* A string, to be freed by the caller; NULL where the system manager does not say. interface is what follows
 * "org.freedesktop.systemd1.": "Unit", "Service", "Mount", … */
char *bus_unit_string(sd_bus *bus, const char *unit, const char *interface, const char *property);

/* Whether a list of strings such as "RequiredBy" has an entry. */
bool bus_unit_list_filled(sd_bus *bus, const char *unit, const char *property);

/* Whether the unit's conditions or assertions (kind "Condition" or "Assert") held when it was last started.
 * True where it never was, or the system manager does not say. */
bool bus_unit_passed(sd_bus *bus, const char *unit, const char *kind);

typedef struct BusUnit {
        char *name;
        char *active_state;
} BusUnit;

/* The units in memory whose names match the pattern, as fnmatch(3) has it; to be freed with
 * bus_units_free(). */
int bus_list_units(sd_bus *bus, const char *pattern, BusUnit **ret, size_t *ret_n);
void bus_units_free(BusUnit *units, size_t n);

/* daemon-reload; returns when it is done. */
int bus_reload(sd_bus *bus, sd_bus_error *error);

/* Forgets that a unit has failed, and how often it was started lately. One that is not in memory has nothing
 * to forget. */
void bus_reset_failed(sd_bus *bus, const char *unit);

/* Jobs: what the system manager was told to do, and what came of it. */

typedef struct BusJob {
        char *unit;
        char *path;   /* of the job; NULL where none was made */
        char *result; /* "done", "failed", "dependency", "timeout", … or why there is no job; NULL: running
                       */
} BusJob;

typedef struct BusJobs {
        sd_bus *bus;
        sd_bus_slot *slot;
        BusJob *items;
        size_t n;
} BusJobs;

/* To be called before the first job is made. */
int bus_jobs_init(BusJobs *jobs, sd_bus *bus);
void bus_jobs_done(BusJobs *jobs);

/* method is "StartUnit" or "RestartUnit", mode as in systemctl(1), --job-mode=. A refusal is the job's
 * result. */
void bus_jobs_add(BusJobs *jobs, const char *method, const char *unit, const char *mode);

/* Returns when all jobs have ended. tick, where not NULL, is called five times a second meanwhile. */
int bus_jobs_wait(BusJobs *jobs, void (*tick)(void *userdata), void *userdata);

static inline bool bus_job_succeeded(const BusJob *job) {
        return streq_ptr(job->result, "done");
}
