/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares what sysctl.d, tuned and the kernel command line say with what is declared. */

#include <inttypes.h>

#include "basic/format.h"
#include "basic/parse.h"
#include "boot/compare.h"
#include "report/conflicts.h"

typedef struct Other { /* somebody else's setting */
        const Plan *plan;
        Source source;
        const char *key, *value;
        bool on_command_line;
        Diagnostics *d;
} Other;

static void report(const Other *o, const char *declared) {
        /* Pages of the command line are there first, and count: no reason to do without them. */
        diag_warning(o->d, o->source, "%s=%s contradicts %s in hugepages.d; %s", o->key, o->value, declared,
                     o->on_command_line && streq(o->key, "hugepages") ? "its pages count towards them"
                                                                      : "remove one of the two");
}

/* What hugepagesctl cmdline has put on the command line is what KeepFree= left of the pools. */
static void compare_pages(const Other *o, uint64_t page_size, bool known, uint64_t pages) {
        uint64_t declared = 0, planned = 0;
        bool any = false;
        char text[128];

        for (size_t i = 0; i < o->plan->n_pools; i++) {
                const PlanPool *pp = &o->plan->pools[i];

                if (o->plan->host->sizes[pp->size_index].bytes != page_size)
                        continue;
                any = true;
                declared = add_sat(declared, pp->requested);
                planned = add_sat(planned, pp->planned);
        }
        if (!any || (known && pages == declared) || (known && pages == planned && o->on_command_line))
                return;
        snprintf(text, sizeof(text), "the pools of %" PRIu64 " × %s", declared,
                 FORMAT_SIZE_EXACT(page_size));
        report(o, text);
}

static const PlanWrite *find_setting(const Plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_settings; i++)
                if (streq(plan->settings[i].path, path))
                        return &plan->settings[i];
        return NULL;
}

static void compare_setting(const Other *o, const char *path) {
        const PlanWrite *w = find_setting(o->plan, path);
        char text[128];

        if (!w || streq(w->value, o->value))
                return;
        if (w->source.file)
                snprintf(text, sizeof(text), "%.32s (%.60s:%u)", w->value, w->source.file, w->source.line);
        else
                snprintf(text, sizeof(text), "%.32s", w->value);
        report(o, text);
}

static void compare_overcommit(const Other *o) {
        const Host *host = o->plan->host;
        size_t s = host_find_size(host, host->default_page_size);
        _cleanup_free_ char *path = NULL;

        if (s == SIZE_MAX)
                return;
        path = host_counter_path(host, NULL, host->sizes[s].bytes, "nr_overcommit_hugepages");
        if (path)
                compare_setting(o, path);
}

/* The old names are those of the default page size (Documentation/admin-guide/sysctl/vm.rst). */
static void compare_sysctl(const Other *o) {
        const char *key = o->key;
        char path[256];
        uint64_t pages = 0;
        bool known;

        if (startswith(key, "vm.nr_hugepages")) {
                known = parse_u64(o->value, &pages) >= 0;
                compare_pages(o, o->plan->host->default_page_size, known, pages);
        } else if (streq(key, "vm.nr_overcommit_hugepages"))
                compare_overcommit(o);
        else {
                snprintf(path, sizeof(path), "/proc/sys/%.200s", key);
                for (char *p = path + strlen("/proc/sys/"); *p; p++)
                        if (*p == '.')
                                *p = '/';
                compare_setting(o, path);
        }
}

static void compare_tuned(const Other *o) {
        const char *key = o->key;

        if (startswith(key, "transparent_hugepage"))
                compare_setting(o, THP_DIRECTORY "/enabled");
        else if (startswith(key, "/sys/"))
                compare_setting(o, key);
        else if (startswith(key, "vm."))
                compare_sysctl(o);
        /* What it adds to the kernel command line shows there. */
}

static void compare_boot_setting(const Other *o, const BootSetting *s) {
        if (s->key == BOOT_PAGES)
                compare_pages(o, s->page_size, true, boot_value_sum(s->value));
        else
                compare_setting(o, THP_DIRECTORY "/enabled");
}

static int compare_cmdline(const Plan *plan, const char *cmdline, Diagnostics *d) {
        _cleanup_(boot_settings_done) BootSettings settings = {};
        int r = boot_settings_parse(cmdline, plan->host->default_page_size, &settings);

        for (size_t i = 0; r >= 0 && i < settings.n; i++) {
                const BootSetting *s = &settings.items[i];
                const Other o = {
                        .plan = plan,
                        .source = { "/proc/cmdline", 0 }, /* it has no lines */
                        .key = s->key == BOOT_PAGES ? "hugepages" : "transparent_hugepage",
                        .value = s->value,
                        .on_command_line = true,
                        .d = d,
                };

                if (!s->ignored && s->value && (s->key == BOOT_PAGES || s->key == BOOT_THP))
                        compare_boot_setting(&o, s);
        }
        return r;
}

/* Of several assignments to one key, only the last has an effect. */
static bool is_overridden(const Foreign *f, size_t i) {
        for (size_t j = i + 1; j < f->n; j++)
                if (f->items[j].kind == f->items[i].kind && streq(f->items[j].key, f->items[i].key))
                        return true;
        return false;
}

int conflicts_find(const Plan *plan, const Foreign *f, const char *cmdline, Diagnostics *d) {
        for (size_t i = 0; i < f->n; i++) {
                const ForeignSetting *s = &f->items[i];
                const Other o = {
                        .plan = plan,
                        .source = { s->file, s->line },
                        .key = s->key,
                        .value = s->value,
                        .d = d,
                };

                if (is_overridden(f, i))
                        continue;
                if (s->kind == FOREIGN_TUNED)
                        compare_tuned(&o);
                else
                        compare_sysctl(&o);
        }
        return compare_cmdline(plan, cmdline, d);
}
