/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounts: a .mount unit for each [Mount], or a drop-in for systemd's own dev-hugepages.mount. */

#include "basic/format.h"
#include "config/text.h"
#include "plan/plan.h"
#include "units/internal.h"

#define DEV_HUGEPAGES "/dev/hugepages"
#define DEV_HUGEPAGES_DROPIN "dev-hugepages.mount.d/50-hugepages-setup.conf"

char *mount_unit_name(const Mount *m) {
        return unit_name_from_path(m->where, ".mount");
}

static int pci_node(void *userdata, const char *address) {
        return host_pci_node(userdata, address);
}

static int resolve_page_size(const Units *u, const Mount *m, const Pool *pool, uint64_t *ret) {
        const Host *host = u->input->host;
        const char *name = m->section.name;
        Source source = section_key_source(&m->section, m->page_size == 0 && pool ? "Pool" : "PageSize");

        *ret = m->page_size;
        if (*ret == 0 && pool)
                *ret = pool->page_size;
        if (*ret == 0)
                *ret = host->default_page_size;
        if (*ret > 0 && host_find_size(host, *ret) != SIZE_MAX)
                return 0;

        if (host->n_sizes == 0)
                diag_error(u->diagnostics, m->section.source, "%s; mount %s is dropped",
                           host_why_no_sizes(host), name);
        else if (*ret == 0)
                diag_error(u->diagnostics, source,
                           "this kernel has no default huge page size; mount %s needs PageSize=", name);
        else
                diag_error(u->diagnostics, source,
                           "PageSize=%s: this kernel has no huge pages of this size; mount %s is dropped",
                           FORMAT_SIZE_EXACT(*ret), name);
        return -EOPNOTSUPP;
}

/* The size of the mount's pool; UINT64_MAX where it becomes known only when pages are reserved. */
static int pool_bytes(const Units *u, const Mount *m, const Pool *pool, uint64_t page_size, uint64_t *ret) {
        int r = pool_requested_bytes(pool, u->input->host, pci_node, (void *) u->input->root, page_size,
                                     ret);

        if (r < 0 && r != -ENOMEM)
                diag_error(u->diagnostics, section_key_source(&m->section, "Pool"),
                           "Pool=%s: its size is a share of nodes that are not there; mount %s is dropped",
                           pool->section.name, m->section.name);
        return r;
}

static int resolve_limit(const Units *u, const Mount *m, const Pool *pool, MountNumbers *n) {
        uint64_t bytes;
        int r;

        switch (m->size.type) {
        case AMOUNT_BYTES:
                n->limit = m->size.value - m->size.value % n->page_size;
                if (n->limit > 0)
                        return 0;
                diag_error(u->diagnostics, section_key_source(&m->section, "Size"),
                           "Size=%s: below one page (expected at least %s); mount %s is dropped",
                           FORMAT_SIZE_EXACT(m->size.value), FORMAT_SIZE_EXACT(n->page_size),
                           m->section.name);
                return -ERANGE;
        case AMOUNT_UNSET:
                if (!pool)
                        return 0;
                r = pool_bytes(u, m, pool, n->page_size, &bytes);
                if (r < 0)
                        return r;
                n->limit = bytes == UINT64_MAX ? 0 : bytes;
                return 0;
        default: /* infinity */
                return 0;
        }
}

static int resolve_reserve(const Units *u, const Mount *m, const Pool *pool, MountNumbers *n) {
        Source source = section_key_source(&m->section, "Reserve");
        uint64_t bytes = 0;
        int r;

        if (m->reserve.type == AMOUNT_BYTES)
                bytes = m->reserve.value;
        else if (m->reserve.type == AMOUNT_WHOLE_POOL && pool) {
                r = pool_bytes(u, m, pool, n->page_size, &bytes);
                if (r < 0)
                        return r;
        }
        n->reserve = mul_sat(bytes / n->page_size + (bytes % n->page_size > 0), n->page_size);
        if (n->reserve == UINT64_MAX) {
                diag_error(u->diagnostics, source,
                           "Reserve=: more than any machine has; mount %s is dropped", m->section.name);
                return -ERANGE;
        }
        if (n->limit > 0 && n->reserve > n->limit) {
                diag_error(u->diagnostics, source,
                           "Reserve=: %s in whole pages, which is more than the limit of %s; mount %s is "
                           "dropped",
                           FORMAT_SIZE_EXACT(n->reserve), FORMAT_SIZE_EXACT(n->limit), m->section.name);
                return -ERANGE;
        }
        return 0;
}

static int resolve(const Units *u, const Mount *m, MountNumbers *ret) {
        const Pool *pool = m->pool ? config_find_pool(u->input->config, m->pool) : NULL;
        MountNumbers n = {};
        int r;

        r = resolve_page_size(u, m, pool, &n.page_size);
        if (r < 0)
                return r;
        r = resolve_limit(u, m, pool, &n);
        if (r < 0)
                return r;
        r = resolve_reserve(u, m, pool, &n);
        if (r < 0)
                return r;
        *ret = n;
        return 0;
}

int mount_numbers(const UnitsInput *input, const Mount *m, MountNumbers *ret, Diagnostics *d) {
        const Units u = { .input = input, .directory = -1, .diagnostics = d };

        return resolve(&u, m, ret);
}

/* Names stay names: mount(8) looks them up when mounting, after sysusers; there is no NSS here. */
static void write_owner(FILE *f, const char *option, const char *owner) {
        if (!streq(owner, "root") && !streq(owner, "0"))
                fprintf(f, ",%s=%s", option, owner);
}

static void write_options(FILE *f, const Mount *m, const MountNumbers *n) {
        fprintf(f, "Options=nosuid,nodev,pagesize=%s", FORMAT_SIZE_EXACT(n->page_size));
        if (n->limit > 0)
                fprintf(f, ",size=%s", FORMAT_SIZE_EXACT(n->limit));
        if (n->reserve > 0)
                fprintf(f, ",min_size=%s", FORMAT_SIZE_EXACT(n->reserve));
        if (m->max_files > 0)
                fprintf(f, ",nr_inodes=%llu", (unsigned long long) m->max_files);
        write_owner(f, "uid", m->user);
        write_owner(f, "gid", m->group);
        fprintf(f, ",mode=%04o\n", (unsigned) m->mode);
}

/* PID 1 has mounted /dev long before any local file system: there is nothing to wait for. */
static bool is_below_dev(const char *where) {
        return startswith(where, "/dev/");
}

/* source_path may be NULL. */
static void write_unit(FILE *f, const Mount *m, const MountNumbers *n, const char *where,
                       const char *source_path) {
        unit_file_header(f, &m->section);
        fprintf(f,
                "[Unit]\n"
                "Description=Huge Pages File System for %s\n"
                "Documentation=man:hugepages.d(5) man:hugepages-generator(8)\n",
                m->section.name);
        if (source_path)
                fprintf(f, "SourcePath=%s\n", source_path);
        fprintf(f,
                "DefaultDependencies=no\n"
                "Wants=hugepages-setup.service\n"
                "After=hugepages-setup.service systemd-sysusers.service%s\n"
                "Before=local-fs.target umount.target\n"
                "Conflicts=umount.target\n"
                "AssertDirectoryNotEmpty=!%s\n"
                "\n"
                "[Mount]\n"
                "What=hugetlbfs\n"
                "Where=%s\n"
                "Type=hugetlbfs\n",
                /* The mount point may have to be made, on a file system that is read-only until then. */
                is_below_dev(m->where) ? "" : " local-fs-pre.target", where, where);
        write_options(f, m, n);
}

/* Wanted, not required: a mount that fails must not end in an emergency shell. Without the link, services
 * that need the mount start it all the same. */
static int want_mount(Units *u, const Mount *m, const char *unit) {
        _cleanup_free_ char *target = NULL;
        int r;

        if (asprintf(&target, "../%s", unit) < 0) {
                target = NULL;
                return -ENOMEM;
        }
        r = unit_add_wants(u->directory, "local-fs.target", target);
        if (r < 0 && r != -ENOMEM) {
                unit_file_failed(u, m->section.source, "local-fs.target.wants", r);
                return 0;
        }
        return r;
}

static int write_mount_unit(Units *u, const Mount *m, const MountNumbers *n, const char *unit) {
        const char *source = m->section.source.file;
        _cleanup_free_ char *where = unit_escape_specifiers(m->where), *source_path = NULL;
        FILE *f;
        int r;

        if (!where)
                return -ENOMEM;
        if (source && text_is_printable(source)) { /* a file's name may be anything, and end this line */
                source_path = unit_escape_specifiers(source);
                if (!source_path)
                        return -ENOMEM;
        }
        r = unit_file_open(u->directory, unit, &f);
        if (r < 0)
                return r;
        write_unit(f, m, n, where, source_path);
        r = unit_file_finish(u->directory, unit, f);
        if (r < 0)
                return r;
        return want_mount(u, m, unit);
}

/* systemd mounts /dev/hugepages itself, from a unit that distributions and administrators may have changed:
 * it stays, and gets our options and our place in the order. */
static int write_dev_hugepages_dropin(Units *u, const Mount *m, const MountNumbers *n) {
        FILE *f;
        int r;

        r = unit_file_open(u->directory, DEV_HUGEPAGES_DROPIN, &f);
        if (r < 0)
                return r;
        unit_file_header(f, &m->section);
        fputs("[Unit]\n"
              "Wants=hugepages-setup.service\n"
              "After=hugepages-setup.service systemd-sysusers.service\n"
              "\n"
              "[Mount]\n",
              f);
        write_options(f, m, n);
        return unit_file_finish(u->directory, DEV_HUGEPAGES_DROPIN, f);
}

/* -ENOMEM, or any other negative errno after saying why the mount is lost. */
static int write_mount(Units *u, const Mount *m) {
        _cleanup_free_ char *unit = mount_unit_name(m);
        bool systems_own = streq(m->where, DEV_HUGEPAGES);
        MountNumbers n;
        int r;

        if (!unit)
                return -ENOMEM;
        r = resolve(u, m, &n);
        if (r < 0 || u->directory < 0) /* only to be judged */
                return r;

        if (systems_own)
                r = write_dev_hugepages_dropin(u, m, &n);
        else
                r = write_mount_unit(u, m, &n, unit);
        if (r < 0 && r != -ENOMEM)
                unit_file_failed(u, m->section.source, systems_own ? DEV_HUGEPAGES_DROPIN : unit, r);
        return r;
}

/* Generators run in parallel and must not overwrite each other's units. What fstab mounts is served all the
 * same to services that name the [Mount]: they depend on its path. */
static bool left_to_fstab(Units *u, const Fstab *fstab, const Mount *m) {
        unsigned line = fstab_find(fstab, m->where);

        if (line == 0)
                return false;
        diag_warning(u->diagnostics, section_key_source(&m->section, "Where"),
                     "Where=%s: /etc/fstab:%u mounts it already; mount %s is left to it", m->where, line,
                     m->section.name);
        return true;
}

unsigned mount_fstab_line(const char *root, const Mount *m) {
        Fstab fstab;
        unsigned line;

        if (fstab_load(root, &fstab) < 0)
                return 0;
        line = fstab_find(&fstab, m->where);
        fstab_done(&fstab);
        return line;
}

static int write_mounts(Units *u, const Fstab *fstab) {
        const Config *c = u->input->config;
        int r;

        for (size_t i = 0; i < c->n_mounts; i++) {
                Mount *m = c->mounts[i];

                if (m->section.dropped || left_to_fstab(u, fstab, m))
                        continue;
                r = write_mount(u, m);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        m->section.dropped = true;
        }
        return 0;
}

int units_write_mounts(Units *u) {
        Fstab fstab;
        int r;

        if (u->input->config->n_mounts == 0)
                return 0;
        r = fstab_load(u->input->root, &fstab);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                diag_warning(u->diagnostics, ((Source){ "/etc/fstab", 0 }), "cannot be read: %s",
                             strerror(-r));
        r = write_mounts(u, &fstab);
        fstab_done(&fstab);
        return r;
}
