/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Generate: all units of a Config, and what hugepages-setup.service itself needs. */

#include <fcntl.h>

#include "build-config.h"
#include "host/foreign.h"
#include "units/internal.h"

#define SETUP_UNIT "hugepages-setup.service"
#define AFTER_SYSCTL SETUP_UNIT ".d/50-hugepages-after-sysctl.conf"
#define AFTER_SYSUSERS SETUP_UNIT ".d/50-hugepages-after-sysusers.conf"

bool units_need_nodes(const Config *c) {
        for (size_t i = 0; i < c->n_mounts; i++) {
                const Mount *m = c->mounts[i];
                const Pool *pool = m->pool && !m->section.dropped ? config_find_pool(c, m->pool) : NULL;

                if (!pool)
                        continue;
                switch (pool->size.type) {
                case AMOUNT_PERCENT:
                case AMOUNT_NODES_BYTES:
                case AMOUNT_NODES_PAGES:
                        return true;
                default:
                        break;
                }
        }
        return false;
}

static bool is_number(const char *s) {
        return s[strspn(s, "0123456789")] == 0;
}

/* Only where it is needed: every unit that hugepages-setup.service waits for delays what waits for it. */
static int write_order(Units *u, const char *path, const char *after, const char *why) {
        FILE *f;
        int r;

        r = unit_file_open(u->directory, path, &f);
        if (r < 0)
                return r;
        unit_file_header(f, NULL);
        fprintf(f,
                "# %s\n"
                "[Unit]\n"
                "After=%s\n",
                why, after);
        return unit_file_finish(u->directory, path, f);
}

static void write_setup(Units *u) {
        const Config *c = u->input->config;
        int r;

        r = unit_add_wants(u->directory, "sysinit.target", UNIT_DIRECTORY "/" SETUP_UNIT);
        if (r < 0)
                unit_file_failed(u, (Source){}, "sysinit.target.wants/" SETUP_UNIT, r);

        if (foreign_sysctl_conflicts(u->input->root)) {
                r = write_order(u, AFTER_SYSCTL, "systemd-sysctl.service",
                                "sysctl.d sets huge pages too: what hugepages.d declares is applied last.");
                if (r < 0)
                        unit_file_failed(u, (Source){}, AFTER_SYSCTL, r);
        }
        if (c->system.shared_memory_group && !is_number(c->system.shared_memory_group)) {
                r = write_order(u, AFTER_SYSUSERS, "systemd-sysusers.service",
                                "SharedMemoryGroup= is a name, which may come from sysusers.d.");
                if (r < 0)
                        unit_file_failed(u, section_key_source(&c->system.section, "SharedMemoryGroup"),
                                         AFTER_SYSUSERS, r);
        }
}

int units_generate(const UnitsInput *input, Diagnostics *d) {
        _cleanup_close_ int directory = -1;
        Units u = { .input = input, .directory = -1, .diagnostics = d };
        int r;

        if (!input->directory)
                return units_write_mounts(&u);

        directory = u.directory = open(input->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) {
                unit_file_failed(&u, (Source){}, input->directory, -errno);
                return 0;
        }
        write_setup(&u);
        r = units_write_mounts(&u);
        if (r < 0)
                return r;
        return units_write_services(&u);
}
