/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the running system says: the mount table, and the states of our units. */

#include <libmount.h>
#include <sys/statvfs.h>
#include <systemd/sd-bus.h>

#include "hugepagesctl/status.h"
#include "units/units.h"

#define BUS_TIMEOUT_USEC (5 * 1000 * 1000ull) /* a system manager that is busy must not hold up a status */

static uint64_t mount_page_size(const Context *c, const Mount *m) {
        const Pool *p = m->pool ? config_find_pool(c->config, m->pool) : NULL;

        if (m->section.dropped)
                return 0;
        if (m->page_size > 0)
                return m->page_size;
        return p && p->page_size > 0 ? p->page_size : c->host->default_page_size;
}

/* hugetlbfs counts blocks, of one page each, only for a mount with size= or min_size= (hugetlbfs_statfs() in
 * fs/hugetlbfs/inode.c); without size= the total is −1. */
static void mount_read_usage(MountStatus *m) {
        struct statvfs st;

        if (statvfs(m->mount->where, &st) < 0 || st.f_blocks == 0)
                return;
        m->has_usage = true;
        m->limit = st.f_blocks == (fsblkcnt_t) -1 ? UINT64_MAX : mul_sat(st.f_blocks, st.f_frsize);
        m->used = mul_sat(st.f_blocks - st.f_bfree, st.f_frsize);
}

/* Below a root too: an image's or a test's own mount table. NULL where there is none. */
static struct libmnt_table *mount_table(const Options *o) {
        _cleanup_free_ char *path = format_text("%s/proc/self/mountinfo", o->root ?: "");

        return mnt_new_table_from_file(path);
}

void status_read_mounts(Status *s) {
        const Config *c = s->context.config;
        struct libmnt_table *table = mount_table(s->options);

        s->mounts = calloc(c->n_mounts ?: 1, sizeof(MountStatus));
        if (!s->mounts)
                out_of_memory();
        s->n_mounts = c->n_mounts;
        for (size_t i = 0; i < c->n_mounts; i++) {
                MountStatus *m = &s->mounts[i];
                struct libmnt_fs *fs;

                m->mount = c->mounts[i];
                m->page_size = mount_page_size(&s->context, m->mount);
                if (!table || !m->mount->where)
                        continue;
                fs = mnt_table_find_target(table, m->mount->where, MNT_ITER_BACKWARD);
                m->mounted =
                        fs && streq_ptr(mnt_fs_get_fstype(fs), "hugetlbfs") ? TRISTATE_YES : TRISTATE_NO;
                if (m->mounted == TRISTATE_YES && !s->options->root)
                        mount_read_usage(m);
        }
        mnt_unref_table(table);
}

/* NULL where the system manager does not answer. */
static char *unit_property(sd_bus *bus, const char *path, const char *property) {
        char *value;

        return sd_bus_get_property_string(bus, "org.freedesktop.systemd1", path,
                                          "org.freedesktop.systemd1.Unit", property, NULL, &value) < 0
                       ? NULL
                       : value;
}

/* Takes the name over. */
static void add_unit(Status *s, sd_bus *bus, char *name, bool expected) {
        _cleanup_free_ char *path = NULL;

        if (!name || GROW_ARRAY(s->units, s->n_units) < 0 ||
            sd_bus_path_encode("/org/freedesktop/systemd1/unit", name, &path) < 0)
                out_of_memory();
        s->units[s->n_units++] = (UnitStatus){
                .name = name,
                .load_state = unit_property(bus, path, "LoadState"),
                .active_state = unit_property(bus, path, "ActiveState"),
                .expected = expected,
        };
}

void status_read_units(Status *s) {
        const Config *c = s->context.config;
        bool on = s->configured && s->context.off == SWITCHED_ON;
        sd_bus *bus = NULL;

        if (s->options->root || sd_bus_open_system(&bus) < 0)
                return;
        (void) sd_bus_set_method_call_timeout(bus, BUS_TIMEOUT_USEC);
        add_unit(s, bus, format_text("hugepages-setup.service"), on);
        for (size_t i = 0; i < c->n_pools; i++)
                add_unit(s, bus, format_text("hugepages-pool@%s.service", c->pools[i]->section.name), false);
        for (size_t i = 0; i < c->n_mounts; i++)
                if (!c->mounts[i]->section.dropped)
                        add_unit(s, bus, mount_unit_name(c->mounts[i]), on);
        sd_bus_flush_close_unref(bus);
}
