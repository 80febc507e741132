/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the running system says: the mount table, and the states of our units. */

#include <sys/statvfs.h>

#include "hugepagesctl/bus.h"
#include "hugepagesctl/mounts.h"
#include "hugepagesctl/status.h"
#include "units/units.h"

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

/* A mount on it would hide something: its unit's AssertDirectoryNotEmpty=! refuses that. */
static bool has_content(const char *root, const char *where) {
        _cleanup_closedir_ DIR *dir = NULL;

        if (root_opendir(root, where, &dir) < 0)
                return false;
        for (const struct dirent *de; (de = readdir(dir));)
                if (!streq(de->d_name, ".") && !streq(de->d_name, ".."))
                        return true;
        return false;
}

static void read_mount(Status *s, MountStatus *m, struct libmnt_table *table) {
        const Mount *mount = m->mount;
        struct libmnt_fs *fs;

        m->page_size = mount_page_size(&s->context, mount);
        if (!mount->section.dropped) {
                m->unit = mount_unit_name(mount);
                if (!m->unit)
                        out_of_memory();
        }
        if (!table || !mount->where)
                return;
        fs = mount_find(table, mount->where);
        m->mounted = fs ? TRISTATE_YES : TRISTATE_NO;
        if (mount->section.dropped)
                return;
        if (!fs)
                m->refused = has_content(s->options->root, mount->where);
        else {
                m->difference = mount_difference(s->options, &s->context, mount, fs);
                if (!s->options->root)
                        mount_read_usage(m);
        }
}

void status_read_mounts(Status *s) {
        const Config *c = s->context.config;
        struct libmnt_table *table = mount_table(s->options);

        s->mounts = calloc(c->n_mounts ?: 1, sizeof(MountStatus));
        if (!s->mounts)
                out_of_memory();
        s->n_mounts = c->n_mounts;
        for (size_t i = 0; i < c->n_mounts; i++) {
                s->mounts[i].mount = c->mounts[i];
                read_mount(s, &s->mounts[i], table);
        }
        mnt_unref_table(table);
}

/* Takes the name over. Several sections may name one unit. */
static void add_unit(Status *s, sd_bus *bus, char *name, UnitKind kind, bool expected) {
        if (!name)
                out_of_memory();
        for (size_t i = 0; i < s->n_units; i++)
                if (streq(s->units[i].name, name)) {
                        free(name);
                        return;
                }
        if (GROW_ARRAY(s->units, s->n_units) < 0)
                out_of_memory();
        s->units[s->n_units++] = (UnitStatus){
                .name = name,
                .kind = kind,
                .load_state = bus_unit_string(bus, name, "Unit", "LoadState"),
                .active_state = bus_unit_string(bus, name, "Unit", "ActiveState"),
                .expected = expected,
        };
}

/* Of a template, what runs are its instances. */
static void add_consumer(Status *s, sd_bus *bus, const char *unit) {
        const char *suffix = endswith(unit, "@.service");
        _cleanup_free_ char *pattern = NULL;
        BusUnit *instances;
        size_t n;

        if (!suffix) {
                add_unit(s, bus, format_text("%s", unit), UNIT_CONSUMER, false);
                return;
        }
        pattern = format_text("%.*s@*.service", (int) (suffix - unit), unit);
        if (bus_list_units(bus, pattern, &instances, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++)
                add_unit(s, bus, format_text("%s", instances[i].name), UNIT_CONSUMER, false);
        bus_units_free(instances, n);
}

static void add_mount(Status *s, sd_bus *bus, MountStatus *m, bool expected) {
        if (!m->unit)
                return;
        add_unit(s, bus, format_text("%s", m->unit), UNIT_MOUNT, expected);
        /* Who may not look into the directory learns it from systemd, which shows the unit as inactive. */
        if (m->mounted == TRISTATE_NO && !bus_unit_passed(bus, m->unit, "Assert"))
                m->refused = true;
}

void status_read_units(Status *s) {
        const Config *c = s->context.config;
        bool on = s->configured && s->context.off == SWITCHED_ON;
        _cleanup_bus_ sd_bus *bus = NULL;

        if (s->options->root || bus_open(&bus) < 0)
                return;
        add_unit(s, bus, format_text("hugepages-setup.service"), UNIT_SETUP, on);
        for (size_t i = 0; i < c->n_pools; i++)
                add_unit(s, bus, format_text("hugepages-pool@%s.service", c->pools[i]->section.name),
                         UNIT_POOL, false);
        for (size_t i = 0; i < s->n_mounts; i++)
                add_mount(s, bus, &s->mounts[i], on);
        for (size_t i = 0; i < c->n_services; i++)
                if (!c->services[i]->section.dropped && c->services[i]->unit)
                        add_consumer(s, bus, c->services[i]->unit);
}

void status_free_system(Status *s) {
        for (size_t i = 0; i < s->n_units; i++) {
                free(s->units[i].name);
                free(s->units[i].load_state);
                free(s->units[i].active_state);
        }
        free(s->units);
        for (size_t i = 0; i < s->n_mounts; i++) {
                free(s->mounts[i].unit);
                free(s->mounts[i].difference);
        }
        free(s->mounts);
}
