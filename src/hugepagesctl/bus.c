/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system manager over D-Bus: properties of units, and jobs that are waited for. */

#include "hugepagesctl/bus.h"
#include "hugepagesctl/ctl.h"

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER SYSTEMD_NAME ".Manager"
#define SYSTEMD_UNIT SYSTEMD_NAME ".Unit"
#define PRIVATE_SOCKET "unix:path=/run/systemd/private"

#define TIMEOUT_USEC (5 * 1000 * 1000ull) /* a system manager that is busy must not hold up a status */
#define RELOAD_TIMEOUT_USEC (180 * 1000 * 1000ull) /* generators and all units of the system */
#define TICK_USEC (200 * 1000ull)

static int open_private(sd_bus **ret) {
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        if (geteuid() != 0)
                return -EACCES;
        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, PRIVATE_SOCKET);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

int bus_open(sd_bus **ret) {
        sd_bus *bus = NULL;
        int r = open_private(&bus);

        if (r < 0)
                r = sd_bus_open_system(&bus);
        if (r < 0)
                return r;
        (void) sd_bus_set_method_call_timeout(bus, TIMEOUT_USEC);
        *ret = bus;
        return 0;
}

static char *unit_path(const char *unit) {
        char *path;

        if (sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path) < 0)
                out_of_memory();
        return path;
}

char *bus_unit_string(sd_bus *bus, const char *unit, const char *interface, const char *property) {
        _cleanup_free_ char *path = unit_path(unit), *name = format_text(SYSTEMD_NAME ".%s", interface);
        char *value;

        return sd_bus_get_property_string(bus, SYSTEMD_NAME, path, name, property, NULL, &value) < 0 ? NULL
                                                                                                     : value;
}

bool bus_unit_list_filled(sd_bus *bus, const char *unit, const char *property) {
        _cleanup_free_ char *path = unit_path(unit);
        char **list = NULL;
        bool filled;

        if (sd_bus_get_property_strv(bus, SYSTEMD_NAME, path, SYSTEMD_UNIT, property, NULL, &list) < 0)
                return false;
        filled = list && *list;
        for (char **s = list; s && *s; s++)
                free(*s);
        free(list);
        return filled;
}

bool bus_unit_passed(sd_bus *bus, const char *unit, const char *kind) {
        _cleanup_free_ char *path = unit_path(unit), *timestamp = format_text("%sTimestamp", kind);
        _cleanup_free_ char *result = format_text("%sResult", kind);
        uint64_t when = 0;
        int passed = true;

        if (sd_bus_get_property_trivial(bus, SYSTEMD_NAME, path, SYSTEMD_UNIT, timestamp, NULL, 't', &when) <
                    0 ||
            when == 0 ||
            sd_bus_get_property_trivial(bus, SYSTEMD_NAME, path, SYSTEMD_UNIT, result, NULL, 'b', &passed) <
                    0)
                return true;
        return passed;
}

void bus_units_free(BusUnit *units, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(units[i].name);
                free(units[i].active_state);
        }
        free(units);
}

/* Adds the units of a reply to ListUnitsByPatterns(). */
static int read_units(sd_bus_message *reply, BusUnit **units, size_t *n) {
        const char *name, *active;
        int r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");

        while (r >= 0 && (r = sd_bus_message_read(reply, "(ssssssouso)", &name, NULL, NULL, &active, NULL,
                                                  NULL, NULL, NULL, NULL, NULL)) > 0) {
                if (GROW_ARRAY(*units, *n) < 0)
                        out_of_memory();
                (*units)[(*n)++] = (BusUnit){ format_text("%s", name), format_text("%s", active) };
        }
        return r;
}

int bus_list_units(sd_bus *bus, const char *pattern, BusUnit **ret, size_t *ret_n) {
        sd_bus_message *reply = NULL;
        BusUnit *units = NULL;
        size_t n = 0;
        int r;

        r = sd_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "ListUnitsByPatterns", NULL,
                               &reply, "asas", 0, 1, pattern);
        if (r >= 0)
                r = read_units(reply, &units, &n);
        sd_bus_message_unref(reply);
        if (r < 0) {
                bus_units_free(units, n);
                return r;
        }
        *ret = units;
        *ret_n = n;
        return 0;
}

int bus_reload(sd_bus *bus, sd_bus_error *error) {
        sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                           "Reload");
        if (r >= 0)
                r = sd_bus_call(bus, call, RELOAD_TIMEOUT_USEC, error, NULL);
        sd_bus_message_unref(call);
        return r < 0 ? r : 0;
}

void bus_reset_failed(sd_bus *bus, const char *unit) {
        (void) sd_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "ResetFailedUnit", NULL,
                                  NULL, "s", unit);
}

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        BusJobs *jobs = userdata;
        const char *path, *result;
        int r = sd_bus_message_read(m, "uoss", NULL, &path, NULL, &result);

        for (size_t i = 0; r >= 0 && i < jobs->n; i++)
                if (!jobs->items[i].result && streq_ptr(jobs->items[i].path, path))
                        jobs->items[i].result = format_text("%s", result);
        return 0;
}

int bus_jobs_init(BusJobs *jobs, sd_bus *bus) {
        int r;

        *jobs = (BusJobs){ .bus = bus };
        r = sd_bus_match_signal(bus, &jobs->slot, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved",
                                on_job_removed, jobs);
        if (r < 0)
                return r;
        /* Without a subscriber the system manager sends no signals to the bus. */
        r = sd_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe", NULL, NULL,
                               NULL);
        return r < 0 ? r : 0;
}

void bus_jobs_done(BusJobs *jobs) {
        for (size_t i = 0; i < jobs->n; i++) {
                free(jobs->items[i].unit);
                free(jobs->items[i].path);
                free(jobs->items[i].result);
        }
        free(jobs->items);
        sd_bus_slot_unref(jobs->slot);
}

void bus_jobs_add(BusJobs *jobs, const char *method, const char *unit, const char *mode) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *path = NULL;
        BusJob *job;
        int r;

        if (GROW_ARRAY(jobs->items, jobs->n) < 0)
                out_of_memory();
        job = &jobs->items[jobs->n++];
        job->unit = format_text("%s", unit);
        r = sd_bus_call_method(jobs->bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, method, &error,
                               &reply, "ss", unit, mode);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                job->result = format_text("%s", error.message ?: strerror(-r));
        else
                job->path = format_text("%s", path);
        sd_bus_message_unref(reply);
        sd_bus_error_free(&error);
}

static bool any_running(const BusJobs *jobs) {
        for (size_t i = 0; i < jobs->n; i++)
                if (!jobs->items[i].result)
                        return true;
        return false;
}

int bus_jobs_wait(BusJobs *jobs, void (*tick)(void *userdata), void *userdata) {
        while (any_running(jobs)) {
                int r = sd_bus_process(jobs->bus, NULL);

                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                if (tick)
                        tick(userdata);
                r = sd_bus_wait(jobs->bus, tick ? TICK_USEC : UINT64_MAX);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        return 0;
}
