/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings: the knobs beside the pools: THP, khugepaged, those of vm, overcommit limits. */

#include <inttypes.h>

#include "basic/format.h"
#include "basic/parse.h"
#include "plan/internal.h"

typedef struct Settings {
        const PlanInput *input;
        Plan *plan;
        Diagnostics *d;
} Settings;

/* What the kernel lacks, or does not offer, is a warning and never a failure: the same drop-in serves many
 * kernels. It is kept as a setting, so that the outcome can tell. */
static void check_knob(const Settings *s, const char *path, const char *key, const char *value,
                       Source source) {
        const char *line = host_knob(s->plan->host, path);

        if (!line)
                diag_warning(s->d, source, "%s=%s: this kernel lacks %s", key, value, path);
        else if (strchr(line, '[') && !knob_offers(line, value))
                diag_warning(s->d, source, "%s=%s: this kernel does not offer it (%s: %s)", key, value, path,
                             line);
}

static int add_knob(const Settings *s, const char *path, const Section *section, const char *key,
                    const char *value, bool before_pools) {
        PlanWrite w = {
                .kind = WRITE_KNOB,
                .path = strdup(path),
                .value = strdup(value),
                .source = section_key_source(section, key),
                .before_pools = before_pools,
        };

        check_knob(s, path, key, value, w.source);
        return plan_append_write(&s->plan->settings, &s->plan->n_settings, &w);
}

static int add_word(const Settings *s, const char *path, const Section *section, const char *key,
                    const char *word) {
        return word ? add_knob(s, path, section, key, word, /* before_pools= */ false) : 0;
}

static int add_tristate(const Settings *s, const char *path, const Section *section, const char *key,
                        Tristate t) {
        return add_word(s, path, section, key, t == TRISTATE_UNSET ? NULL : t == TRISTATE_YES ? "1" : "0");
}

/* unit divides: the kernel takes milliseconds where the drop-in's times are kept in microseconds. */
static int add_number(const Settings *s, const char *path, const Section *section, const char *key,
                      OptionalU64 number, uint64_t unit) {
        char value[32];

        if (!number.set)
                return 0;
        snprintf(value, sizeof(value), "%" PRIu64, number.value / unit);
        return add_word(s, path, section, key, value);
}

static int add_thp(const Settings *s, const Thp *thp) {
        int r;

        if ((r = add_word(s, THP_DIRECTORY "/enabled", &thp->section, "Enabled", thp->enabled)) < 0 ||
            (r = add_word(s, THP_DIRECTORY "/defrag", &thp->section, "Defrag", thp->defrag)) < 0 ||
            (r = add_word(s, THP_DIRECTORY "/shmem_enabled", &thp->section, "ShmemEnabled",
                          thp->shmem_enabled)) < 0)
                return r;
        return add_tristate(s, THP_DIRECTORY "/use_zero_page", &thp->section, "UseZeroPage",
                            thp->use_zero_page);
}

static int add_thp_size(const Settings *s, const ThpSize *size) {
        char path[128];
        int r;

        snprintf(path, sizeof(path), THP_DIRECTORY "/hugepages-%" PRIu64 "kB/enabled", size->size / 1024);
        r = add_word(s, path, &size->section, "Enabled", size->enabled);
        if (r < 0)
                return r;
        snprintf(path, sizeof(path), THP_DIRECTORY "/hugepages-%" PRIu64 "kB/shmem_enabled",
                 size->size / 1024);
        return add_word(s, path, &size->section, "ShmemEnabled", size->shmem_enabled);
}

static int add_khugepaged(const Settings *s, const Khugepaged *k) {
        const struct {
                const char *path, *key;
                OptionalU64 number;
                uint64_t unit;
        } numbers[] = {
                { KHUGEPAGED_DIRECTORY "/pages_to_scan", "PagesToScan", k->pages_to_scan, 1 },
                { KHUGEPAGED_DIRECTORY "/scan_sleep_millisecs", "ScanSleepSec", k->scan_sleep_usec, 1000 },
                { KHUGEPAGED_DIRECTORY "/alloc_sleep_millisecs", "AllocSleepSec", k->alloc_sleep_usec,
                  1000 },
                { KHUGEPAGED_DIRECTORY "/max_ptes_none", "MaxPtesNone", k->max_ptes_none, 1 },
                { KHUGEPAGED_DIRECTORY "/max_ptes_swap", "MaxPtesSwap", k->max_ptes_swap, 1 },
                { KHUGEPAGED_DIRECTORY "/max_ptes_shared", "MaxPtesShared", k->max_ptes_shared, 1 },
        };
        int r = add_tristate(s, KHUGEPAGED_DIRECTORY "/defrag", &k->section, "Defrag", k->defrag);

        for (size_t i = 0; i < ELEMENTSOF(numbers) && r >= 0; i++)
                r = add_number(s, numbers[i].path, &k->section, numbers[i].key, numbers[i].number,
                               numbers[i].unit);
        return r;
}

/* 0 and no value where the group is not known here. */
static int resolve_group(const Settings *s, const System *system, char *buffer, size_t size) {
        uint64_t number;
        gid_t gid;

        *buffer = 0;
        if (parse_u64(system->shared_memory_group, &number) >= 0)
                snprintf(buffer, size, "%" PRIu64, number);
        else if (s->input->group_to_gid) {
                if (s->input->group_to_gid(s->input->userdata, system->shared_memory_group, &gid) < 0)
                        diag_warning(s->d, section_key_source(&system->section, "SharedMemoryGroup"),
                                     "SharedMemoryGroup=%s: no such group", system->shared_memory_group);
                else
                        snprintf(buffer, size, "%u", (unsigned) gid);
        }
        return 0;
}

/* Only pages reserved after hugetlb_optimize_vmemmap is set give back their struct pages, and defrag_mode
 * (Linux 6.15) keeps memory together only from the moment it is set. */
static int add_early_settings(const Settings *s, const System *system) {
        const struct {
                const char *path, *key;
                Tristate value;
        } knobs[] = {
                { "/proc/sys/vm/hugetlb_optimize_vmemmap", "OptimizeVmemmap", system->optimize_vmemmap },
                { "/proc/sys/vm/defrag_mode", "DefragMode", system->defrag_mode },
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(knobs) && r >= 0; i++)
                if (knobs[i].value != TRISTATE_UNSET)
                        r = add_knob(s, knobs[i].path, &system->section, knobs[i].key,
                                     knobs[i].value == TRISTATE_YES ? "1" : "0", /* before_pools= */ true);
        return r;
}

static int add_system(const Settings *s, const System *system) {
        char gid[32];
        int r;

        r = add_early_settings(s, system);
        if (r < 0)
                return r;
        if (!system->shared_memory_group)
                return 0;
        r = resolve_group(s, system, gid, sizeof(gid));
        if (r < 0 || !*gid)
                return r;
        return add_word(s, "/proc/sys/vm/hugetlb_shm_group", &system->section, "SharedMemoryGroup", gid);
}

static uint64_t overcommit_pages(const Pool *pool, uint64_t page_size) {
        return pool->overcommit.type == AMOUNT_BYTES
                       ? pool->overcommit.value / page_size + (pool->overcommit.value % page_size > 0)
                       : pool->overcommit.value;
}

/* The limit is the kernel's, one a page size: what several pools ask for adds up. */
static int add_overcommit(const Settings *s, size_t size_index) {
        const Host *host = s->plan->host;
        const Section *first = NULL;
        uint64_t pages = 0;
        PlanWrite w = { .kind = WRITE_OVERCOMMIT, .size_index = size_index };

        for (size_t i = 0; i < s->plan->n_pools; i++) {
                const PlanPool *pp = &s->plan->pools[i];

                if (pp->size_index != size_index || pp->pool->overcommit.type == AMOUNT_UNSET)
                        continue;
                pages = add_sat(pages, overcommit_pages(pp->pool, host->sizes[size_index].bytes));
                first = first ?: &pp->pool->section;
        }
        if (!first)
                return 0;
        w.path = host_counter_path(host, NULL, host->sizes[size_index].bytes, "nr_overcommit_hugepages");
        w.source = section_key_source(first, "Overcommit");
        if (asprintf(&w.value, "%" PRIu64, pages) < 0)
                w.value = NULL;
        return plan_append_write(&s->plan->settings, &s->plan->n_settings, &w);
}

int plan_add_settings(const PlanInput *input, Plan *p, Diagnostics *d) {
        const Settings s = { .input = input, .plan = p, .d = d };
        const Config *c = input->config;
        int r = add_system(&s, &c->system);

        for (size_t i = 0; i < p->host->n_sizes && r >= 0; i++)
                r = add_overcommit(&s, i);
        if (r >= 0)
                r = add_thp(&s, &c->thp);
        for (size_t i = 0; i < c->n_thp_sizes && r >= 0; i++)
                if (!c->thp_sizes[i]->section.dropped)
                        r = add_thp_size(&s, c->thp_sizes[i]);
        if (r >= 0)
                r = add_khugepaged(&s, &c->khugepaged);
        return r;
}
