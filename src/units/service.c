/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Services: a drop-in for the unit of each [Service], which makes it wait for its pools and mounts. */

#include "basic/format.h"
#include "build-config.h"
#include "units/internal.h"

/* With require, unit has to succeed first; without, it is only started first. */
static void write_dependency(FILE *f, bool require, const char *unit) {
        fprintf(f, "%s=%s\nAfter=%s\n", require ? "Requires" : "Wants", unit, unit);
}

/* An instance of hugepages-pool@ for a word. With a prefix ("mount:", "service:") it is one that can never
 * succeed, because no pool has such a name; `hugepages-setup --check-pool` says why. */
static int write_pool_dependency(FILE *f, bool require, const char *prefix, const char *word) {
        _cleanup_free_ char *instance = unit_instance_escape(word), *unit = NULL;

        if (!instance)
                return -ENOMEM;
        if (asprintf(&unit, "hugepages-pool@%s%s.service", prefix, instance) < 0) {
                unit = NULL;
                return -ENOMEM;
        }
        write_dependency(f, require, unit);
        return 0;
}

/* What does not exist is left out, unless it is required: then its hugepages-pool@ fails. */
static int write_pools(FILE *f, const Config *c, const Service *s, bool *ret_fails) {
        int r;

        for (char **pool = s->pools; pool && *pool; pool++) {
                bool exists = config_find_pool(c, *pool);

                if (!exists && !s->require)
                        continue;
                r = write_pool_dependency(f, s->require, "", *pool);
                if (r < 0)
                        return r;
                *ret_fails |= !exists;
        }
        return 0;
}

static const Mount *find_usable_mount(const Config *c, const char *name) {
        const Mount *m = config_find_mount(c, name);

        return m && !m->section.dropped ? m : NULL;
}

static int write_mount_dependency(FILE *f, const Service *s, const Mount *m) {
        _cleanup_free_ char *word = s->require ? unit_quote_path(m->where) : mount_unit_name(m);

        if (!word)
                return -ENOMEM;
        if (s->require) /* implies After=, and reaches the mounts above it */
                fprintf(f, "RequiresMountsFor=%s\n", word);
        else
                write_dependency(f, /* require= */ false, word);
        return 0;
}

static int write_mounts(FILE *f, const Config *c, const Service *s, bool *ret_fails) {
        int r;

        for (char **name = s->mounts; name && *name; name++) {
                const Mount *m = find_usable_mount(c, *name);

                if (m)
                        r = write_mount_dependency(f, s, m);
                else if (s->require) {
                        r = write_pool_dependency(f, /* require= */ true, "mount:", *name);
                        *ret_fails = true;
                } else
                        continue;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int write_unit_section(FILE *f, const Config *c, const Service *s) {
        bool fails = false;
        int r;

        fputs("[Unit]\n"
              "After=hugepages-setup.service\n",
              f);
        r = write_pools(f, c, s, &fails);
        if (r < 0)
                return r;
        r = write_mounts(f, c, s, &fails);
        if (r < 0)
                return r;
        /* A bad value may have left no word behind that would keep the service from starting. */
        if (s->broken && s->require && !fails)
                return write_pool_dependency(f, /* require= */ true, "service:", s->section.name);
        return 0;
}

/* A service with a /dev of its own, or a read-only view of the system, would see what is below the mount. */
static int write_bind_paths(FILE *f, const Config *c, const Service *s) {
        for (char **name = s->mounts; name && *name; name++) {
                const Mount *m = find_usable_mount(c, *name);
                _cleanup_free_ char *path = NULL, *word = NULL;

                if (!m)
                        continue;
                if (asprintf(&path, "%s%s", s->require ? "" : "-", m->where) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                word = unit_quote_path(path);
                if (!word)
                        return -ENOMEM;
                fprintf(f, "BindPaths=%s\n", word);
        }
        return 0;
}

/* systemd has no setting for the hugetlb controller: hugepages-setup writes the limits of the service's
 * cgroup, with full privileges, whatever the service's User= is. */
static void write_hugetlb_max(FILE *f, const Service *s) {
        fprintf(f, "ExecStartPre=+%s%s --hugetlb-max", s->require ? "" : "-", SETUP_PATH);
        for (size_t i = 0; i < s->n_hugetlb_max; i++) {
                const HugetlbLimit *limit = &s->hugetlb_max[i];

                fprintf(f, " %s:%s", FORMAT_SIZE_EXACT(limit->page_size),
                        limit->max == UINT64_MAX ? "infinity" : FORMAT_SIZE_EXACT(limit->max));
        }
        fputc('\n', f);
}

static bool has_usable_mount(const Config *c, const Service *s) {
        for (char **name = s->mounts; name && *name; name++)
                if (find_usable_mount(c, *name))
                        return true;
        return false;
}

static int write_service_section(FILE *f, const Config *c, const Service *s) {
        bool bind = s->bind_mounts && has_usable_mount(c, s);

        if (!s->limit_memlock && !bind && s->n_hugetlb_max == 0)
                return 0;
        fputs("\n[Service]\n", f);
        if (s->limit_memlock)
                fprintf(f, "LimitMEMLOCK=%s\n", s->limit_memlock);
        if (s->n_hugetlb_max > 0)
                write_hugetlb_max(f, s);
        return bind ? write_bind_paths(f, c, s) : 0;
}

/* Several sections may name one unit: the section's name keeps their drop-ins apart. */
static int dropin_path(const Service *s, char **ret) {
        _cleanup_free_ char *name = unit_instance_escape(s->section.name);

        if (!name)
                return -ENOMEM;
        if (asprintf(ret, "%s.d/50-hugepages-%s.conf", s->unit, name) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int write_service(Units *u, const Service *s) {
        const Config *c = u->input->config;
        _cleanup_free_ char *path = NULL;
        FILE *f;
        int r, q;

        r = dropin_path(s, &path);
        if (r < 0)
                return r;
        r = unit_file_open(u->directory, path, &f);
        if (r < 0) {
                if (r != -ENOMEM)
                        unit_file_failed(u, s->section.source, path, r);
                return r;
        }
        unit_file_header(f, &s->section);
        r = write_unit_section(f, c, s);
        if (r >= 0)
                r = write_service_section(f, c, s);
        q = unit_file_finish(u->directory, path, f);
        if (r < 0)
                return r;
        if (q < 0)
                unit_file_failed(u, s->section.source, path, q);
        return q;
}

int units_write_services(Units *u) {
        const Config *c = u->input->config;

        for (size_t i = 0; i < c->n_services; i++)
                if (!c->services[i]->section.dropped && write_service(u, c->services[i]) == -ENOMEM)
                        return -ENOMEM;
        return 0;
}
