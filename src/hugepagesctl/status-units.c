/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Units: the service, those of the pools and mounts, and who uses them. */

#include "hugepagesctl/status.h"

enum {
        COL_UNIT,
        COL_KIND,
        COL_STATE,
        COL_LOAD,
};

static const Column columns[] = {
        [COL_UNIT] = { "UNIT", 10, 0, .help = "name of the unit" },
        [COL_KIND] = { "KIND", 8, 0, .help = "setup, pool, mount, or consumer" },
        [COL_STATE] = { "STATE", 7, 0, .help = "its state, as systemctl(1) has it" },
        [COL_LOAD] = { "LOAD", 6, 0, .optional = true, .help = "whether systemd could load it" },
};
const TableInfo units_table = { "units", columns, ELEMENTSOF(columns) };

/* What a service does with its huge pages is its own business: that it failed makes nothing degraded. */
bool unit_is_bad(const UnitStatus *u) {
        return u->kind != UNIT_CONSUMER && u->active_state &&
               (streq(u->active_state, "failed") || (u->expected && !streq(u->active_state, "active")));
}

/* One that is not loaded can only be inactive: why it is not says more. */
const char *unit_state(const UnitStatus *u) {
        return u->load_state && !streq(u->load_state, "loaded") ? u->load_state : u->active_state;
}

const char *unit_kind(const UnitStatus *u) {
        static const char *const names[] = {
                [UNIT_SETUP] = "setup",
                [UNIT_POOL] = "pool",
                [UNIT_MOUNT] = "mount",
                [UNIT_CONSUMER] = "consumer",
        };

        return names[u->kind];
}

static char *cell(const Options *o, const void *row, size_t column) {
        const UnitStatus *u = row;

        switch (column) {
        case COL_UNIT:
                return format_text("%s", u->name);
        case COL_KIND:
                return format_text("%s", unit_kind(u));
        case COL_LOAD:
                return format_text("%s", u->load_state ?: "-");
        default:
                return format_text("%s", unit_state(u) ?: "-");
        }
}

/* On the one screen, mounts that are as they should be have been shown as mounts. */
static bool is_shown(const Status *s, const UnitStatus *u) {
        return options_table_only(s->options) || u->kind != UNIT_MOUNT || unit_is_bad(u);
}

void print_units_table(const Status *s, const char *select) {
        _cleanup_(table_freep) Table *table = table_new(s->options, columns, ELEMENTSOF(columns), select);

        for (size_t i = 0; i < s->n_units; i++) {
                const UnitStatus *u = &s->units[i];
                bool failed = u->active_state && streq(u->active_state, "failed");

                if (is_shown(s, u))
                        table_add(table, cell, u, failed || unit_is_bad(u) ? "red" : NULL);
        }
        table_print(table);
}
