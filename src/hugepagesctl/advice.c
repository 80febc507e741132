/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What apply must not do by itself: restart what is in use, unmount, reboot. */

#include "basic/format.h"
#include "hugepagesctl/apply.h"
#include "hugepagesctl/cmdline.h"
#include "hugepagesctl/initrd.h"
#include "hugepagesctl/mounts.h"
#include "units/units.h"

#define GIGANTIC_MIN (1ull << 30) /* pages that a running system can seldom put together */

static bool is_advised(const Apply *a, const char *unit) {
        for (size_t i = 0; i < a->n_advice; i++)
                if (streq(a->advice[i].unit, unit))
                        return true;
        return false;
}

/* Takes the reason over. The first one for a unit is enough. */
static void advise(Apply *a, const char *action, const char *unit, char *reason) {
        if (is_advised(a, unit)) {
                free(reason);
                return;
        }
        if (GROW_ARRAY(a->advice, a->n_advice) < 0)
                out_of_memory();
        a->advice[a->n_advice++] =
                (Advice){ .unit = format_text("%s", unit), .action = action, .reason = reason };
}

char *advice_command(const Advice *a) {
        static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@:";
        bool plain = a->unit[strspn(a->unit, harmless)] == 0;

        return format_text("systemctl %s %s%s%s", a->action, plain ? "" : "'", a->unit, plain ? "" : "'");
}

/* Mounts. */

static char *unit_of(const Mount *m) {
        char *unit = mount_unit_name(m);

        if (!unit)
                out_of_memory();
        return unit;
}

/* A live mount keeps its options: a remount succeeds and changes nothing. */
static void advise_changed_mounts(Apply *a, struct libmnt_table *table) {
        const Context *c = apply_context(a);

        for (size_t i = 0; i < c->config->n_mounts; i++) {
                const Mount *m = c->config->mounts[i];
                struct libmnt_fs *fs = m->section.dropped ? NULL : mount_find(table, m->where);
                _cleanup_free_ char *difference = fs ? mount_difference(a->options, c, m, fs) : NULL,
                                    *unit = NULL;

                if (!difference)
                        continue;
                unit = unit_of(m);
                advise(a, "restart", unit,
                       format_text("%s takes effect when it is mounted anew", difference));
        }
}

static bool has_option(struct libmnt_fs *fs, const char *option) {
        const char *options = mnt_fs_get_vfs_options(fs);

        return options && mnt_optstr_get_option(options, option, NULL, NULL) == 0;
}

/* One that an earlier daemon-reload forgot, too: nobody else mounts hugetlbfs just so without a unit file.
 */
static bool was_ours(Apply *a, struct libmnt_fs *fs, const char *unit) {
        if (generated_find_mount(&a->units_before, unit))
                return true;
        return a->bus && streq_ptr(mnt_fs_get_source(fs), "hugetlbfs") && has_option(fs, "nosuid") &&
               has_option(fs, "nodev") && !has_option(fs, "noexec");
}

static void advise_vanished_mount(Apply *a, struct libmnt_fs *fs, const char *unit) {
        _cleanup_free_ char *fragment = NULL;

        if (!was_ours(a, fs, unit))
                return;
        if (streq(unit, "dev-hugepages.mount")) { /* systemd's own: ours was a drop-in */
                if (generated_find_mount(&a->units_before, unit))
                        advise(a, "restart", unit, format_text("no drop-in declares its options any more"));
                return;
        }
        if (a->bus)
                fragment = bus_unit_string(a->bus, unit, "Unit", "FragmentPath");
        if (isempty(fragment)) /* else fstab or a unit file declares it now */
                advise(a, "stop", unit, format_text("it is mounted, and no drop-in declares it any more"));
}

static void advise_vanished_mounts(Apply *a, struct libmnt_table *table) {
        struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;

        if (!iter)
                out_of_memory();
        while (mnt_table_next_fs(table, iter, &fs) == 0) {
                const char *where = mnt_fs_get_target(fs);
                _cleanup_free_ char *unit = NULL;

                if (!where || mount_find(table, where) != fs) /* no hugetlbfs, or below another mount */
                        continue;
                unit = unit_name_from_path(where, ".mount");
                if (!unit)
                        out_of_memory();
                if (!generated_find_mount(&a->units_after, unit))
                        advise_vanished_mount(a, fs, unit);
        }
        mnt_free_iter(iter);
}

static void advise_mounts(Apply *a) {
        struct libmnt_table *table = mount_table(a->options);

        if (!table)
                return;
        advise_changed_mounts(a, table);
        advise_vanished_mounts(a, table);
        mnt_unref_table(table);
}

/* Consumers. */

char *consumer_pool_unit(const char *pool) {
        _cleanup_free_ char *instance = unit_instance_escape(pool);

        if (!instance)
                out_of_memory();
        return format_text("hugepages-pool@%s.service", instance);
}

/* "a@.service" → "a@*.service", with what fnmatch(3) would not take literally escaped. */
static char *instance_pattern(const char *template) {
        char *pattern = malloc(strlen(template) * 2 + 2), *to = pattern;

        if (!pattern)
                out_of_memory();
        for (; *template; template ++) {
                if (strchr("\\*?[", *template))
                        *to++ = '\\';
                *to++ = *template;
                if (*template == '@' && template[1] == '.')
                        *to++ = '*';
        }
        *to = 0;
        return pattern;
}

/* The unit itself, or the instances of a template that are in memory. */
static void consumer_units(sd_bus *bus, const char *unit, BusUnit **ret, size_t *ret_n) {
        _cleanup_free_ char *pattern = NULL, *state = NULL;

        *ret = NULL;
        *ret_n = 0;
        if (strstr(unit, "@.")) {
                pattern = instance_pattern(unit);
                (void) bus_list_units(bus, pattern, ret, ret_n);
                return;
        }
        state = bus_unit_string(bus, unit, "Unit", "ActiveState");
        if (!state)
                return;
        if (GROW_ARRAY(*ret, *ret_n) < 0)
                out_of_memory();
        (*ret)[(*ret_n)++] = (BusUnit){ format_text("%s", unit), TAKE_PTR(state) };
}

static bool unit_runs(const BusUnit *u) {
        return streq(u->active_state, "active") || streq(u->active_state, "reloading") ||
               streq(u->active_state, "activating");
}

bool consumer_runs(sd_bus *bus, const char *unit) {
        BusUnit *units;
        size_t n;
        bool runs = false;

        consumer_units(bus, unit, &units, &n);
        for (size_t i = 0; i < n; i++)
                runs = runs || unit_runs(&units[i]);
        bus_units_free(units, n);
        return runs;
}

/* Whether somebody wants it: one that is down and that nobody wants is down on purpose. */
static bool is_missed(sd_bus *bus, const BusUnit *u) {
        return streq(u->active_state, "failed") || bus_unit_list_filled(bus, u->name, "WantedBy") ||
               bus_unit_list_filled(bus, u->name, "RequiredBy");
}

/* restart and start: why a running one is to be restarted, and one that is down to be started; NULL: it is
 * not. */
static void advise_consumer(Apply *a, const char *unit, const char *restart, const char *start) {
        BusUnit *units;
        size_t n;

        consumer_units(a->bus, unit, &units, &n);
        for (size_t i = 0; i < n; i++)
                if (unit_runs(&units[i])) {
                        if (restart)
                                advise(a, "restart", units[i].name, format_text("%s", restart));
                } else if (start && is_missed(a->bus, &units[i]))
                        advise(a, "start", units[i].name, format_text("%s", start));
        bus_units_free(units, n);
}

/* What a drop-in sets is in effect from the next start on. */
static void advise_drop_ins(Apply *a) {
        for (size_t i = 0; i < a->units_after.n; i++) {
                const GeneratedFile *f = &a->units_after.items[i];

                if (f->kind != GENERATED_SERVICE)
                        continue;
                switch (generated_compare(&a->units_before, &a->units_after, f->path)) {
                case GENERATED_NEW:
                        advise_consumer(a, f->unit, "its drop-in is new", NULL);
                        break;
                case GENERATED_CHANGED:
                        advise_consumer(a, f->unit, "its drop-in has changed",
                                        "it is down, and what it requires has changed");
                        break;
                default:
                        break;
                }
        }
        for (size_t i = 0; i < a->units_before.n; i++) {
                const GeneratedFile *f = &a->units_before.items[i];

                if (f->kind == GENERATED_SERVICE && !generated_find(&a->units_after, f->path))
                        advise_consumer(a, f->unit, "its drop-in is gone", NULL);
        }
}

static const Start *find_success(const Apply *a, const char *unit) {
        for (size_t i = 0; i < a->n_starts; i++)
                if (a->starts[i].succeeded && streq(a->starts[i].unit, unit))
                        return &a->starts[i];
        return NULL;
}

static void advise_late_pools(Apply *a, const Service *s) {
        for (char **pool = s->pools; pool && *pool; pool++) {
                _cleanup_free_ char *unit = consumer_pool_unit(*pool), *reason = NULL;
                const Start *start = find_success(a, unit);

                if (!start)
                        continue;
                reason = format_text("its pool %s is complete only now", *pool);
                advise_consumer(a, s->unit, start->had_failed ? reason : NULL, reason);
        }
}

static void advise_late_mounts(Apply *a, const Service *s) {
        for (char **name = s->mounts; name && *name; name++) {
                const Mount *m = config_find_mount(a->after.config, *name);
                _cleanup_free_ char *unit = NULL, *reason = NULL;

                if (!m || m->section.dropped)
                        continue;
                unit = unit_of(m);
                if (!find_success(a, unit))
                        continue;
                reason = format_text("%s is mounted only now", m->where);
                advise_consumer(a, s->unit, reason, reason);
        }
}

static void advise_consumers(Apply *a) {
        const Config *c = a->after.config;

        advise_drop_ins(a);
        for (size_t i = 0; i < c->n_services; i++) {
                if (c->services[i]->section.dropped)
                        continue;
                advise_late_pools(a, c->services[i]);
                advise_late_mounts(a, c->services[i]);
        }
}

/* Reboots. Takes name and reason over. */

static void add_reboot(Apply *a, char *name, char *reason) {
        if (GROW_ARRAY(a->reboots, a->n_reboots) < 0)
                out_of_memory();
        a->reboots[a->n_reboots++] = (Reboot){ .name = name, .reason = reason };
}

static void find_reboots(Apply *a) {
        const Context *c = apply_context(a);
        uint64_t declared = c->config->system.default_page_size;

        if (declared > 0 && declared != c->host->default_page_size)
                add_reboot(a, format_text("DefaultPageSize"),
                           format_text("the default page size is %s; %s takes default_hugepagesz=%s on the "
                                       "kernel command line",
                                       FORMAT_SIZE_EXACT(c->host->default_page_size),
                                       FORMAT_SIZE_EXACT(declared), FORMAT_SIZE_EXACT(declared)));
        for (size_t i = 0; a->outcome && i < a->outcome->n_pools; i++) {
                const OutcomePool *p = &a->outcome->pools[i];

                if (p->dropped || p->page_size < GIGANTIC_MIN || p->reserved >= p->planned)
                        continue;
                add_reboot(a, format_text("%s", p->name),
                           format_text("%" PRIu64 " of %" PRIu64 " × %s could not be put together; a fresh "
                                       "boot, or better the kernel command line, can",
                                       p->planned - p->reserved, p->planned,
                                       FORMAT_SIZE_EXACT(p->page_size)));
        }
}

/* Not done here: a system that does not boot any more is no consequence to expect of apply. */
static void advise_next_boot(Apply *a) {
        char *initrd = initrd_fault(a->options), *cmdline = cmdline_fault(a->options);

        if (initrd)
                add_reboot(a, format_text("initrd"), initrd);
        if (cmdline)
                add_reboot(a, format_text("cmdline"), cmdline);
}

void apply_advise(Apply *a) {
        advise_mounts(a);
        if (a->bus)
                advise_consumers(a);
        find_reboots(a);
        advise_next_boot(a);
}
