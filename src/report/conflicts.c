/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares what sysctl.d, tuned and the kernel command line say with what is declared. */

#include <inttypes.h>

#include "basic/format.h"
#include "basic/parse.h"
#include "report/conflicts.h"

typedef struct Comparison {
        const Plan *plan;
        const ForeignSetting *setting;
        Diagnostics *d;
} Comparison;

static void report(const Comparison *c, const char *declared) {
        const ForeignSetting *s = c->setting;
        /* The command line has no lines. */
        Source source = { s->file, s->kind == FOREIGN_CMDLINE ? 0 : s->line };

        /* Pages of the command line are there first, and count: no reason to do without them. */
        diag_warning(c->d, source, "%s=%s contradicts %s in hugepages.d; %s", s->key, s->value, declared,
                     s->kind == FOREIGN_CMDLINE && streq(s->key, "hugepages")
                             ? "its pages count towards them"
                             : "remove one of the two");
}

/* What hugepagesctl cmdline has put on the command line is what KeepFree= left of the pools. */
static void compare_pages(const Comparison *c, uint64_t page_size, bool known, uint64_t pages) {
        uint64_t declared = 0, planned = 0;
        bool any = false;
        char text[128];

        for (size_t i = 0; i < c->plan->n_pools; i++) {
                const PlanPool *pp = &c->plan->pools[i];

                if (c->plan->host->sizes[pp->size_index].bytes != page_size)
                        continue;
                any = true;
                declared = add_sat(declared, pp->requested);
                planned = add_sat(planned, pp->planned);
        }
        if (!any || (known && pages == declared) ||
            (known && pages == planned && c->setting->kind == FOREIGN_CMDLINE))
                return;
        snprintf(text, sizeof(text), "the pools of %" PRIu64 " × %s", declared,
                 FORMAT_SIZE_EXACT(page_size));
        report(c, text);
}

static const PlanWrite *find_setting(const Plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_settings; i++)
                if (streq(plan->settings[i].path, path))
                        return &plan->settings[i];
        return NULL;
}

static void compare_setting(const Comparison *c, const char *path) {
        const PlanWrite *w = find_setting(c->plan, path);
        char text[128];

        if (!w || streq(w->value, c->setting->value))
                return;
        if (w->source.file)
                snprintf(text, sizeof(text), "%.32s (%.60s:%u)", w->value, w->source.file, w->source.line);
        else
                snprintf(text, sizeof(text), "%.32s", w->value);
        report(c, text);
}

static void compare_overcommit(const Comparison *c) {
        const Host *host = c->plan->host;
        size_t s = host_find_size(host, host->default_page_size);
        _cleanup_free_ char *path = NULL;

        if (s == SIZE_MAX)
                return;
        path = host_counter_path(host, NULL, host->sizes[s].bytes, "nr_overcommit_hugepages");
        if (path)
                compare_setting(c, path);
}

/* The old names are those of the default page size (Documentation/admin-guide/sysctl/vm.rst). */
static void compare_sysctl(const Comparison *c) {
        const char *key = c->setting->key;
        char path[256];
        uint64_t pages = 0;
        bool known;

        if (startswith(key, "vm.nr_hugepages")) {
                known = parse_u64(c->setting->value, &pages) >= 0;
                compare_pages(c, c->plan->host->default_page_size, known, pages);
        } else if (streq(key, "vm.nr_overcommit_hugepages"))
                compare_overcommit(c);
        else {
                snprintf(path, sizeof(path), "/proc/sys/%.200s", key);
                for (char *p = path + strlen("/proc/sys/"); *p; p++)
                        if (*p == '.')
                                *p = '/';
                compare_setting(c, path);
        }
}

static void compare_tuned(const Comparison *c) {
        const char *key = c->setting->key;

        if (startswith(key, "transparent_hugepage"))
                compare_setting(c, THP_DIRECTORY "/enabled");
        else if (startswith(key, "/sys/"))
                compare_setting(c, key);
        else if (startswith(key, "vm."))
                compare_sysctl(c);
        /* What it adds to the kernel command line shows there. */
}

/* "512", or by node "0:256,1:256" (kernel-parameters.txt, hugepages=). */
static int parse_hugepages(const char *value, uint64_t *ret) {
        _cleanup_free_ char *copy = strdup(value);
        char *p = copy;
        uint64_t sum = 0;

        if (!copy)
                return -ENOMEM;
        for (char *item; (item = strsep(&p, ","));) {
                char *colon = strchr(item, ':');
                uint64_t pages;
                int r = parse_u64(colon ? colon + 1 : item, &pages);

                if (r < 0)
                        return r;
                sum = add_sat(sum, pages);
        }
        *ret = sum;
        return 0;
}

/* hugepages= means the hugepagesz= right before it, or the default size where it is the first such word or
 * behind default_hugepagesz=. Any other one the kernel ignores (hugepages_setup() in mm/hugetlb.c). */
static void compare_cmdline(const Comparison *c, uint64_t *page_size) {
        const ForeignSetting *s = c->setting;
        uint64_t pages = 0;
        bool known;

        if (streq(s->key, "hugepagesz")) {
                if (parse_size(s->value, page_size) < 0)
                        *page_size = 0;
        } else if (streq(s->key, "hugepages")) {
                known = parse_hugepages(s->value, &pages) >= 0;
                if (*page_size > 0)
                        compare_pages(c, *page_size, known, pages);
                *page_size = 0;
        } else if (streq(s->key, "default_hugepagesz"))
                *page_size = c->plan->host->default_page_size;
        else if (streq(s->key, "transparent_hugepage"))
                compare_setting(c, THP_DIRECTORY "/enabled");
}

/* Of several assignments to one key, only the last has an effect. */
static bool is_overridden(const Foreign *f, size_t i) {
        for (size_t j = i + 1; j < f->n; j++)
                if (f->items[j].kind == f->items[i].kind && streq(f->items[j].key, f->items[i].key))
                        return true;
        return false;
}

void conflicts_find(const Plan *plan, const Foreign *f, Diagnostics *d) {
        uint64_t page_size = plan->host->default_page_size;

        for (size_t i = 0; i < f->n; i++) {
                const Comparison c = { .plan = plan, .setting = &f->items[i], .d = d };

                if (c.setting->kind == FOREIGN_CMDLINE)
                        compare_cmdline(&c, &page_size);
                else if (is_overridden(f, i))
                        continue;
                else if (c.setting->kind == FOREIGN_TUNED)
                        compare_tuned(&c);
                else
                        compare_sysctl(&c);
        }
}
