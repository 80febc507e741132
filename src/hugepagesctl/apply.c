/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl apply: reload, run the service again, start what is new. What is active stays as it is. */

#include <systemd/sd-daemon.h>

#include "basic/format.h"
#include "hugepagesctl/apply.h"
#include "hugepagesctl/initrd.h"
#include "units/units.h"

#define PROGRESS_WIDTH 79u

/* Progress. */

/* "2M 512/4096, 1G 2/8": pages there are and pages that pools ask for, by page size. */
static void put_counts(const Context *c, FILE *f) {
        for (size_t i = 0, any = 0; i < c->host->n_sizes; i++) {
                const PageSize *size = &c->host->sizes[i];
                _cleanup_free_ char *path = NULL;
                uint64_t requested = 0, pages;

                for (size_t p = 0; p < c->plan->n_pools; p++)
                        if (c->plan->pools[p].size_index == i)
                                requested = add_sat(requested, c->plan->pools[p].requested);
                path = host_counter_path(c->host, NULL, size->bytes, "nr_hugepages");
                if (requested == 0 || !path || root_read_u64(NULL, path, &pages) < 0)
                        continue;
                fprintf(f, "%s%s %" PRIu64 "/%" PRIu64, any++ ? ", " : "", FORMAT_SIZE_EXACT(size->bytes),
                        pages, requested);
        }
}

/* On a terminal alone, and on stderr, where it is in nobody's way. */
static void show_progress(void *userdata) {
        const Apply *a = userdata;
        _cleanup_free_ char *status = bus_unit_string(a->bus, SETUP_UNIT, "Service", "StatusText"),
                            *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                out_of_memory();
        if (status && startswith(status, "Reserving"))
                fprintf(f, "%s  ", status);
        put_counts(&a->before, f);
        if (fclose(f) != 0)
                out_of_memory();
        fprintf(stderr, "\r%.*s\033[K", (int) PROGRESS_WIDTH, text);
}

static void wait_with_progress(Apply *a) {
        bool show = isatty(STDERR_FILENO) && !streq_ptr(getenv("TERM"), "dumb");
        int r = bus_jobs_wait(&a->jobs, show ? show_progress : NULL, a);

        if (show)
                fputs("\r\033[K", stderr);
        if (r < 0) {
                ctl_error("lost the connection to systemd: %s", strerror(-r));
                exit(CTL_FAILURE);
        }
}

/* The service. */

/* What the result of a job means; NULL where it is what was wanted. */
static char *explain_job(const Apply *a, const BusJob *job) {
        _cleanup_free_ char *status = NULL;

        if (bus_job_succeeded(job))
                return NULL;
        if (!job->path) /* the system manager's own words */
                return format_text("%s", job->result);
        if (streq(job->result, "assert") || !bus_unit_passed(a->bus, job->unit, "Assert"))
                return format_text("refused: the directory has content that the mount would hide");
        if (streq(job->result, "dependency"))
                return format_text("something it requires failed");
        status = startswith(job->unit, "hugepages-pool@")
                         ? bus_unit_string(a->bus, job->unit, "Service", "StatusText")
                         : NULL;
        if (!isempty(status)) /* why the pool is not complete */
                return format_text("%s: %s", job->result, status);
        return format_text("%s (journalctl -u %s)", job->result, job->unit);
}

static void run_service(Apply *a) {
        _cleanup_free_ char *state = NULL;

        /* An administrator who tries again and again is no service that fails in a loop. */
        bus_reset_failed(a->bus, SETUP_UNIT);
        bus_jobs_add(&a->jobs, "RestartUnit", SETUP_UNIT, "replace");
        wait_with_progress(a);
        a->service_error = explain_job(a, &a->jobs.items[0]);
        if (a->service_error)
                return;
        state = bus_unit_string(a->bus, SETUP_UNIT, "Unit", "ActiveState");
        if (!streq_ptr(state, "active"))
                a->service_error = format_text("a condition of the unit is not met");
}

/* Units that are not there yet. */

static bool is_starting(const Apply *a, const char *unit) {
        for (size_t i = 0; i < a->n_starts; i++)
                if (streq(a->starts[i].unit, unit))
                        return true;
        return false;
}

/* state is its ActiveState: only what is down is started. */
static void start(Apply *a, const char *unit, const char *state) {
        bool failed = streq_ptr(state, "failed");

        if ((!failed && !streq_ptr(state, "inactive")) || is_starting(a, unit))
                return;
        if (failed)
                bus_reset_failed(a->bus, unit);
        if (GROW_ARRAY(a->starts, a->n_starts) < 0)
                out_of_memory();
        a->starts[a->n_starts++] = (Start){ .unit = format_text("%s", unit), .had_failed = failed };
        /* These units want the service: one that has just failed would run again for each of them. */
        bus_jobs_add(&a->jobs, "StartUnit", unit, a->service_error ? "ignore-requirements" : "replace");
}

/* Those that the administrator has masked stay away. */
static void start_mounts(Apply *a) {
        for (size_t i = 0; i < a->units_after.n; i++) {
                const GeneratedFile *f = &a->units_after.items[i];
                _cleanup_free_ char *load = NULL, *state = NULL;

                if (f->kind != GENERATED_MOUNT)
                        continue;
                load = bus_unit_string(a->bus, f->unit, "Unit", "LoadState");
                state = bus_unit_string(a->bus, f->unit, "Unit", "ActiveState");
                if (streq_ptr(load, "loaded"))
                        start(a, f->unit, state);
        }
}

static bool is_declared_pool(const Config *c, const char *unit) {
        for (size_t i = 0; i < c->n_pools; i++) {
                _cleanup_free_ char *name =
                        format_text("hugepages-pool@%s.service", c->pools[i]->section.name);

                if (streq(name, unit))
                        return true;
        }
        return false;
}

/* One that nobody asks for any more is only forgotten. */
static void start_failed_pools(Apply *a) {
        BusUnit *units = NULL;
        size_t n = 0;

        if (bus_list_units(a->bus, "hugepages-pool@*.service", &units, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++) {
                if (!streq(units[i].active_state, "failed"))
                        continue;
                if (is_declared_pool(a->after.config, units[i].name) ||
                    bus_unit_list_filled(a->bus, units[i].name, "RequiredBy") ||
                    bus_unit_list_filled(a->bus, units[i].name, "WantedBy"))
                        start(a, units[i].name, units[i].active_state);
                else
                        bus_reset_failed(a->bus, units[i].name);
        }
        bus_units_free(units, n);
}

/* A consumer that has been running since before its pool was declared never started the pool's unit. */
static void start_pools_of(Apply *a, const Service *s) {
        for (char **pool = s->pools; pool && *pool; pool++) {
                _cleanup_free_ char *unit = consumer_pool_unit(*pool), *state = NULL;

                if (!config_find_pool(a->after.config, *pool))
                        continue;
                state = bus_unit_string(a->bus, unit, "Unit", "ActiveState");
                start(a, unit, state);
        }
}

static void start_pools(Apply *a) {
        const Config *c = a->after.config;

        start_failed_pools(a);
        for (size_t i = 0; i < c->n_services; i++)
                if (!c->services[i]->section.dropped && consumer_runs(a->bus, c->services[i]->unit))
                        start_pools_of(a, c->services[i]);
}

/* Jobs were made in the order of starts, after the service's. */
static void start_units(Apply *a) {
        start_mounts(a);
        start_pools(a);
        wait_with_progress(a);
        for (size_t i = 0; i < a->n_starts; i++) {
                a->starts[i].reason = explain_job(a, &a->jobs.items[i + 1]);
                a->starts[i].succeeded = !a->starts[i].reason;
        }
}

/* The verb. */

static int refuse(const Options *o) {
        SwitchedOff off = switched_off(o->root);

        if (o->root && !o->dry_run) {
                ctl_error("apply changes the running system: with --root there is only --dry-run");
                return CTL_USAGE;
        }
        if (!o->dry_run && geteuid() != 0) {
                ctl_error("apply must be run as root (--dry-run need not)");
                return CTL_FAILURE;
        }
        if (off != SWITCHED_ON) {
                ctl_error("nothing is done: %s", switched_off_to_string(off));
                return CTL_FAILURE;
        }
        if (!o->dry_run && sd_booted() <= 0) {
                ctl_error("apply needs systemd, which does not run here");
                return CTL_FAILURE;
        }
        return CTL_OK;
}

static void read_before(Apply *a) {
        context_load(a->options, NULL, &a->before);
        generated_read(a->options->root, GENERATOR_DIRECTORY, &a->units_before);
}

static int connect_bus(Apply *a) {
        int r = bus_open(&a->bus);

        if (r >= 0)
                r = bus_jobs_init(&a->jobs, a->bus);
        if (r < 0)
                ctl_error("cannot reach systemd: %s", strerror(-r));
        return r;
}

static int reload(Apply *a) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = bus_reload(a->bus, &error);

        if (r < 0)
                ctl_error("systemd cannot reload its units: %s", error.message ?: strerror(-r));
        sd_bus_error_free(&error);
        return r;
}

static int apply(Apply *a) {
        if (connect_bus(a) < 0)
                return CTL_FAILURE;
        read_before(a);
        if (reload(a) < 0)
                return CTL_FAILURE;
        generated_read(NULL, GENERATOR_DIRECTORY, &a->units_after);
        run_service(a);
        context_load(a->options, NULL, &a->after);
        start_units(a);
        if (outcome_observe(a->after.plan, a->after.host, &a->after.diagnostics, &a->outcome) < 0)
                out_of_memory();
        return CTL_OK;
}

static int apply_dry(Apply *a) {
        read_before(a);
        return generated_preview(a->options, &a->units_after) < 0 ? CTL_FAILURE : CTL_OK;
}

/* A pool that is short and not essential is no failure, and neither is its unit's. */
static int judge(const Apply *a) {
        if (a->service_error || apply_context(a)->diagnostics.n_errors > 0)
                return CTL_FAILURE;
        for (size_t i = 0; i < a->n_starts; i++)
                if (!a->starts[i].succeeded && endswith(a->starts[i].unit, ".mount"))
                        return CTL_FAILURE;
        return CTL_OK;
}

static void apply_done(Apply *a) {
        for (size_t i = 0; i < a->n_starts; i++) {
                free(a->starts[i].unit);
                free(a->starts[i].reason);
        }
        for (size_t i = 0; i < a->n_advice; i++) {
                free(a->advice[i].unit);
                free(a->advice[i].reason);
        }
        for (size_t i = 0; i < a->n_reboots; i++) {
                free(a->reboots[i].name);
                free(a->reboots[i].reason);
        }
        free(a->starts);
        free(a->advice);
        free(a->reboots);
        free(a->service_error);
        if (a->outcome)
                outcome_free(a->outcome);
        generated_done(&a->units_before);
        generated_done(&a->units_after);
        context_done(&a->before);
        context_done(&a->after);
        bus_jobs_done(&a->jobs);
        sd_bus_flush_close_unref(a->bus);
}

int verb_apply(const Options *o, char *const *arguments) {
        _cleanup_(apply_done) Apply a = { .options = o };
        int r = refuse(o), initrd = CTL_OK;

        if (r == CTL_OK)
                r = o->dry_run ? apply_dry(&a) : apply(&a);
        if (r != CTL_OK)
                return r;
        if (o->initrd && !o->dry_run) /* before it would be said to be stale */
                initrd = initrd_renew(o);
        apply_advise(&a);
        if (o->json)
                apply_print_json(&a);
        else
                apply_print_text(&a);
        r = judge(&a);
        return r == CTL_OK ? initrd : r;
}
