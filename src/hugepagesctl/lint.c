/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The drop-ins against the machine they are for: users, consumers, and who else sets huge pages. */

#include "hugepagesctl/lint.h"
#include "basic/format.h"
#include "basic/parse.h"
#include "hugepagesctl/accounts.h"
#include "hugepagesctl/cmdline.h"
#include "hugepagesctl/mounts.h"
#include "hugepagesctl/unit-files.h"
#include "report/conflicts.h"

typedef struct Lint {
        const Options *options;
        const Context *context;
        Diagnostics *d;
        bool hugetlb_accounting; /* huge pages count towards MemoryMax= */
} Lint;

/* Who is not known yet may come from sysusers.d. */
static void lint_account(const Lint *l, const Mount *m, AccountKind kind, const char *name) {
        const char *key = kind == ACCOUNT_USER ? "User" : "Group", *root = l->options->root;
        uint32_t id;

        if (account_find(root, kind, name, &id) != -ESRCH || account_from_sysusers(root, kind, name))
                return;
        diag_warning(
                l->d, section_key_source(&m->section, key),
                "%s=%s: there is no such %s, and sysusers.d makes none; without it %s cannot be mounted",
                key, name, kind == ACCOUNT_USER ? "user" : "group", m->where);
}

static void lint_mounts(const Lint *l) {
        const Config *c = l->context->config;

        for (size_t i = 0; i < c->n_mounts; i++) {
                const Mount *m = c->mounts[i];

                if (m->section.dropped)
                        continue;
                lint_account(l, m, ACCOUNT_USER, m->user);
                lint_account(l, m, ACCOUNT_GROUP, m->group);
        }
}

/* "app.service" → "app@.service" */
static char *as_template(const char *unit) {
        const char *suffix = endswith(unit, ".service");

        return suffix && !strchr(unit, '@') ? format_text("%.*s@.service", (int) (suffix - unit), unit)
                                            : NULL;
}

static void lint_unknown_unit(const Lint *l, const Service *s) {
        _cleanup_free_ char *template = as_template(s->unit), *path = NULL;

        if (template)
                path = unit_file_find(l->options->root, template);
        diag_warning(l->d, section_key_source(&s->section, "Unit"),
                     "[Service %s]: no unit file of %s is installed%s%s%s", s->section.name, s->unit,
                     path ? " (did you mean " : "", path ? template : "", path ? "?)" : "");
}

/* Debian's postgresql.service starts nothing but its instances' common target: what waits for it has long
 * been started. */
static void lint_umbrella(const Lint *l, const Service *s) {
        static const char *const dummies[] = { "/bin/true", "/usr/bin/true", "/bin/echo", "/usr/bin/echo" };
        _cleanup_free_ char *template = as_template(s->unit), *path = NULL;
        _cleanup_(unit_setting_done) UnitSetting start = {};
        const UnitAssignment *a;

        if (!template || !(path = unit_file_find(l->options->root, template)))
                return;
        unit_setting_read(l->options->root, s->unit, "ExecStart", &start);
        a = unit_setting_last(&start);
        for (size_t i = 0; a && i < ELEMENTSOF(dummies); i++)
                if (strcspn(a->value, " \t") == strlen(dummies[i]) && startswith(a->value, dummies[i])) {
                        diag_warning(l->d, section_key_source(&s->section, "Unit"),
                                     "[Service %s]: %s runs only %s (%s:%u); the service itself is %s "
                                     "(expected [Service %s])",
                                     s->section.name, s->unit, a->value, a->file, a->line, template,
                                     template);
                        return;
                }
}

static bool is_below(const char *path, const char *directory) {
        const char *rest = startswith(path, directory);

        return rest && (!*rest || *rest == '/' || endswith(directory, "/"));
}

/* A list of paths in unit files: "-/a +/b", source and destination with a colon. */
static bool setting_names_path(const UnitSetting *s, const char *path) {
        for (size_t i = 0; i < s->n; i++) {
                _cleanup_free_ char *copy = format_text("%s", s->items[i].value);
                char *rest = copy;

                for (char *word; (word = strsep(&rest, " \t\""));) {
                        word += strspn(word, "-+");
                        word[strcspn(word, ":")] = 0;
                        if (*word == '/' && is_below(path, word))
                                return true;
                }
        }
        return false;
}

/* Whether a directive that counts makes the service see the mount after all. */
static bool is_opened(const Lint *l, const Service *s, const char *where) {
        static const char *const keys[] = { "BindPaths", "ReadWritePaths" };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                _cleanup_(unit_setting_done) UnitSetting setting = {};

                unit_setting_read(l->options->root, s->unit, keys[i], &setting);
                if (setting_names_path(&setting, where))
                        return true;
        }
        return false;
}

/* What hides or write-protects the mount; NULL where nothing does. PrivateDevices= makes a /dev of its own;
 * ProtectSystem=strict leaves only /dev, /proc and /sys as they are (systemd.exec(5)). */
static const UnitAssignment *hiding_assignment(const char *where, const UnitSetting *devices,
                                               const UnitSetting *system) {
        const UnitAssignment *a = unit_setting_last(devices);
        bool on;

        if (a && parse_boolean(a->value, &on) >= 0 && on && is_below(where, "/dev"))
                return a;
        a = unit_setting_last(system);
        return a && streq(a->value, "strict") && !is_below(where, "/dev") ? a : NULL;
}

static void lint_sandbox(const Lint *l, const Service *s) {
        _cleanup_(unit_setting_done) UnitSetting devices = {}, system = {};

        if (s->bind_mounts || !s->mounts)
                return;
        unit_setting_read(l->options->root, s->unit, "PrivateDevices", &devices);
        unit_setting_read(l->options->root, s->unit, "ProtectSystem", &system);
        for (char **name = s->mounts; *name; name++) {
                const Mount *m = config_find_mount(l->context->config, *name);
                const UnitAssignment *a;

                if (!m || m->section.dropped)
                        continue;
                a = hiding_assignment(m->where, &devices, &system);
                if (!a || is_opened(l, s, m->where))
                        continue;
                diag_warning(l->d, section_key_source(&s->section, "Mount"),
                             "[Service %s]: %s does not see mount %s as it is, for %s=%s (%s:%u) (expected "
                             "BindMounts=yes)",
                             s->section.name, s->unit, *name,
                             is_below(m->where, "/dev") ? "PrivateDevices" : "ProtectSystem", a->value,
                             a->file, a->line);
        }
}

static uint64_t pools_bytes(const Lint *l, const Service *s) {
        const Plan *p = l->context->plan;
        uint64_t bytes = 0;

        for (char **name = s->pools; name && *name; name++)
                for (size_t i = 0; i < p->n_pools; i++)
                        if (streq(p->pools[i].pool->section.name, *name))
                                bytes = add_sat(bytes,
                                                mul_sat(p->pools[i].requested,
                                                        p->host->sizes[p->pools[i].size_index].bytes));
        return bytes;
}

static bool parse_memory_max(const Lint *l, const char *value, uint64_t *ret) {
        uint64_t percent;

        if (parse_size(value, ret) >= 0)
                return true;
        if (parse_percent(value, &percent) < 0)
                return false; /* infinity */
        *ret = l->context->host->mem_total / 10000 * percent;
        return true;
}

/* Where cgroup2 counts huge pages, a unit that touches more than its MemoryMax= hangs in the page fault. */
static void lint_memory_max(const Lint *l, const Service *s) {
        _cleanup_(unit_setting_done) UnitSetting setting = {};
        uint64_t max, bytes = pools_bytes(l, s);
        const UnitAssignment *a;

        if (!l->hugetlb_accounting || bytes == 0)
                return;
        unit_setting_read(l->options->root, s->unit, "MemoryMax", &setting);
        a = unit_setting_last(&setting);
        if (!a || !parse_memory_max(l, a->value, &max) || max >= bytes)
                return;
        diag_warning(l->d, section_key_source(&s->section, "Pool"),
                     "[Service %s]: %s has MemoryMax=%s (%s:%u), in which huge pages count on this machine, "
                     "and its pools have %s",
                     s->section.name, s->unit, a->value, a->file, a->line, FORMAT_SIZE(bytes));
}

static bool has_hugetlb_accounting(const Options *o) {
        struct libmnt_table *table = mount_table(o);
        struct libmnt_iter *iter = table ? mnt_new_iter(MNT_ITER_FORWARD) : NULL;
        struct libmnt_fs *fs;
        bool found = false;

        while (iter && !found && mnt_table_next_fs(table, iter, &fs) == 0)
                found = streq_ptr(mnt_fs_get_fstype(fs), "cgroup2") && mnt_fs_get_fs_options(fs) &&
                        mnt_optstr_get_option(mnt_fs_get_fs_options(fs), "memory_hugetlb_accounting", NULL,
                                              NULL) == 0;
        mnt_free_iter(iter);
        mnt_unref_table(table);
        return found;
}

static void lint_services(const Lint *l) {
        const Config *c = l->context->config;

        if (!unit_path_exists(l->options->root))
                return;
        for (size_t i = 0; i < c->n_services; i++) {
                const Service *s = c->services[i];
                _cleanup_free_ char *path = NULL;

                if (s->section.dropped || !s->unit)
                        continue;
                path = unit_file_find(l->options->root, s->unit);
                if (!path) {
                        lint_unknown_unit(l, s);
                        continue;
                }
                lint_umbrella(l, s);
                lint_sandbox(l, s);
                lint_memory_max(l, s);
        }
}

static void lint_conflicts(const Lint *l) {
        const Context *c = l->context;
        _cleanup_free_ char *others = cmdline_of_others(l->options);
        Foreign f = {};

        if (foreign_load(l->options->root, &f) < 0)
                out_of_memory();
        if (conflicts_find(c->plan, &f, others ?: c->host->cmdline, l->d) < 0)
                out_of_memory();
        foreign_done(&f);
}

void lint(const Options *o, const Context *c, Diagnostics *d) {
        const Lint l = { o, c, d, has_hugetlb_accounting(o) };

        lint_mounts(&l);
        lint_services(&l);
        lint_conflicts(&l);
}
