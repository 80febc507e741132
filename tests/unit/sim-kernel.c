/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated kernel. */

#include <inttypes.h>
#include <sys/mman.h>

#include "basic/parse.h"
#include "sim-kernel.h"

#define NODE_DIRECTORY "/sys/devices/system/node/node"
#define HUGEPAGES_DIRECTORY "/sys/kernel/mm/hugepages/hugepages-"

SimKernel *sim_new(void) {
        SimKernel *s =
                mmap(NULL, sizeof(SimKernel), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (s == MAP_FAILED)
                abort();
        s->numa = true;
        s->sizes[0] = SIM_BLOCK;
        s->n_sizes = 1;
        s->compact_percent = 100;
        s->effort = (SimEffort){ .contig_moves = true, .random = 1 };
        s->usec_per_operation = 10;
        s->usec_per_compaction = 1000000;
        return s;
}

void sim_free(SimKernel *s) {
        munmap(s, sizeof(SimKernel));
}

SimNode *sim_add_node(SimKernel *s, unsigned id, uint64_t bytes) {
        SimNode *node = &s->nodes[s->n_nodes++];

        node->id = id;
        node->has_cpu = true;
        sim_memory_grow(&node->memory, bytes / SIM_BLOCK);
        return node;
}

void sim_add_knob(SimKernel *s, const char *path, const char *value) {
        SimKnob *k = &s->knobs[s->n_knobs++];

        snprintf(k->path, sizeof(k->path), "%s", path);
        snprintf(k->value, sizeof(k->value), "%s", value);
}

void sim_refuse(SimKernel *s, const char *path, int error, bool read_too) {
        SimRefusal *r = &s->refusals[s->n_refusals++];

        snprintf(r->path, sizeof(r->path), "%s", path);
        r->error = error;
        r->read_too = read_too;
}

void sim_break(SimKernel *s, size_t node, SimKind kind, uint64_t unbroken) {
        sim_memory_break(&s->nodes[node].memory, kind, unbroken / SIM_BLOCK);
}

void sim_leave_free(SimKernel *s, size_t node, SimKind kind, uint64_t bytes) {
        SimMemory *m = &s->nodes[node].memory;

        sim_memory_fill(m, kind, sub_sat(sim_memory_free(m), bytes / SIM_PAGE));
}

void sim_clear(SimKernel *s, size_t node, SimKind kind) {
        sim_memory_clear(&s->nodes[node].memory, kind);
}

void sim_begin_run(SimKernel *s) {
        s->n_writes = s->n_operations = s->smallest_raised = 0;
}

/* Counts. */

uint64_t sim_persistent(const SimPages *p) {
        return p->nr - p->surplus;
}

static uint64_t count_nr(const SimPages *p) {
        return p->nr;
}

static uint64_t count_free(const SimPages *p) {
        return p->free;
}

static uint64_t count_surplus(const SimPages *p) {
        return p->surplus;
}

uint64_t sim_total(const SimKernel *s, size_t size_index, uint64_t (*count)(const SimPages *p)) {
        uint64_t sum = 0;

        for (size_t n = 0; n < s->n_nodes; n++)
                sum += count(&s->nodes[n].pages[size_index]);
        return sum;
}

uint64_t sim_mem_free(const SimKernel *s) {
        uint64_t sum = 0;

        for (size_t n = 0; n < s->n_nodes; n++)
                sum += sim_memory_free(&s->nodes[n].memory) * SIM_PAGE;
        return sum;
}

uint64_t sim_mem_available(const SimKernel *s) {
        uint64_t sum = s->overstated + sim_mem_free(s);

        for (size_t n = 0; n < s->n_nodes; n++)
                sum += (s->nodes[n].memory.pages[SIM_CACHE] + s->nodes[n].memory.pages[SIM_STUCK]) *
                       SIM_PAGE;
        return sum;
}

static uint64_t mem_total(const SimKernel *s) {
        uint64_t sum = 0;

        for (size_t n = 0; n < s->n_nodes; n++)
                sum += sim_memory_total(&s->nodes[n].memory) * SIM_PAGE;
        return sum;
}

static uint64_t huge_bytes(const SimKernel *s) {
        uint64_t sum = 0;

        for (size_t i = 0; i < s->n_sizes; i++)
                sum += sim_total(s, i, count_nr) * s->sizes[i];
        return sum;
}

uint64_t sim_room(const SimKernel *s) {
        return MIN(sub_sat(mem_total(s), huge_bytes(s) + s->keep_free),
                   sub_sat(sim_mem_available(s), s->keep_free));
}

/* Pages. */

static size_t run_of(const SimKernel *s, size_t size_index) {
        return s->sizes[size_index] / SIM_BLOCK;
}

static uint8_t mark_of(size_t size_index) {
        return (uint8_t) (size_index + 1);
}

static bool allocate(SimKernel *s, size_t i, size_t n, SimEffort *effort) {
        if (!sim_memory_allocate(&s->nodes[n].memory, mark_of(i), run_of(s, i), effort))
                return false;
        s->now += effort ? s->usec_per_page : 0;
        return true;
}

static void release(SimKernel *s, size_t i, size_t n, uint64_t pages) {
        s->nodes[n].pages[i].nr -= pages;
        s->nodes[n].pages[i].free -= pages;
        sim_memory_remark(&s->nodes[n].memory, mark_of(i), run_of(s, i), pages, 0);
}

void sim_place(SimKernel *s, size_t size_index, size_t node, uint64_t pages) {
        SimPages *p = &s->nodes[node].pages[size_index];

        while (pages-- > 0 && allocate(s, size_index, node, NULL)) {
                p->nr++;
                p->free++;
        }
}

void sim_use(SimKernel *s, size_t size_index, size_t node, uint64_t pages) {
        s->nodes[node].pages[size_index].free -= MIN(pages, s->nodes[node].pages[size_index].free);
}

void sim_add_surplus(SimKernel *s, size_t size_index, size_t node, uint64_t pages) {
        SimPages *p = &s->nodes[node].pages[size_index];

        while (pages-- > 0 && allocate(s, size_index, node, NULL)) {
                p->nr++;
                p->surplus++;
        }
}

uint64_t sim_could_give(const SimKernel *s, size_t size_index, size_t node, SimMeans means) {
        SimEffort effort = s->effort;
        SimMemory *copy = malloc(sizeof(SimMemory));
        uint64_t pages = 0;

        if (!copy)
                abort();
        *copy = s->nodes[node].memory;
        if (means & SIM_DROPS_CACHES) {
                sim_memory_clear(copy, SIM_CACHE);
                sim_memory_clear(copy, SIM_STUCK);
        }
        if (run_of(s, size_index) == 1)
                pages = means & SIM_COMPACTS ? sim_memory_could_free(copy) : sim_memory_free_blocks(copy);
        else
                while (sim_memory_allocate(copy, mark_of(size_index), run_of(s, size_index), &effort))
                        pages++;
        free(copy);
        return pages;
}

/* set_max_huge_pages() for one node. */
static void set_node_pages(SimKernel *s, size_t size_index, size_t n, uint64_t count) {
        SimPages *p = &s->nodes[n].pages[size_index];
        uint64_t persistent = sim_total(s, size_index, sim_persistent),
                 surplus = sim_total(s, size_index, count_surplus);
        uint64_t elsewhere =
                s->surplus_bug ? sim_total(s, size_index, count_nr) - p->nr : persistent - sim_persistent(p);
        uint64_t least, goes;

        count = add_sat(count, elsewhere);
        while (surplus > 0 && p->surplus > 0 && count > persistent) {
                p->surplus--;
                surplus--;
                persistent++;
        }
        while (count > persistent && allocate(s, size_index, n, &s->effort)) {
                p->nr++;
                p->free++;
                persistent++;
        }
        least = s->resv[size_index] + sim_total(s, size_index, count_nr) -
                sim_total(s, size_index, count_free);
        goes = MIN(sub_sat(persistent, MAX(count, least)), p->free);
        release(s, size_index, n, goes);
        persistent -= goes;
        while (count < persistent && p->surplus < p->nr) {
                p->surplus++;
                persistent--;
        }
}

static size_t demote_target(const SimKernel *s, size_t i) {
        return s->demote_to[i] > 0 ? s->demote_to[i] : i + 1;
}

static void split_pages(SimKernel *s, size_t i, size_t n, uint64_t pages) {
        size_t to = demote_target(s, i);
        SimPages *p = &s->nodes[n].pages[i], *smaller = &s->nodes[n].pages[to];
        uint64_t parts = s->sizes[i] / s->sizes[to];

        sim_memory_remark(&s->nodes[n].memory, mark_of(i), run_of(s, i), pages, mark_of(to));
        p->nr -= pages;
        p->free -= pages;
        smaller->nr += pages * parts;
        smaller->free += pages * parts;
        if (sim_total(s, i, count_free) < s->resv[i])
                s->dropped_promised = true;
}

/* demote_store(): what is promised over all nodes is taken from what is free on this one, without a sign:
 * fewer free pages than promises are no obstacle. And one round takes as many pages as it was asked for. */
static int demote_on_node(SimKernel *s, size_t i, size_t n, uint64_t count) {
        const SimPages *p = &s->nodes[n].pages[i];

        if (count == 0 || p->free == s->resv[i])
                return 0;
        if (p->free == 0)
                return -EBUSY;
        split_pages(s, i, n, MIN(count, p->free));
        return 0;
}

static int demote_anywhere(SimKernel *s, size_t i, uint64_t count) {
        count = MIN(count, sub_sat(sim_total(s, i, count_free), s->resv[i]));
        for (size_t n = 0; n < s->n_nodes; n++) {
                uint64_t pages = MIN(count, s->nodes[n].pages[i].free);

                split_pages(s, i, n, pages);
                count -= pages;
        }
        return 0;
}

/* Judging writes. */

/* Whether so many pages on the node fit above keep_free. */
static void judge_raise(SimKernel *s, size_t size_index, size_t n, uint64_t count) {
        const SimPages *p = &s->nodes[n].pages[size_index];
        uint64_t elsewhere = sim_total(s, size_index, count_surplus) - p->surplus;
        uint64_t new_pages = sub_sat(add_sat(count, s->surplus_bug ? elsewhere : 0), p->nr);

        if (new_pages > 0 && mul_sat(new_pages, s->sizes[size_index]) > sim_room(s))
                s->asked_too_much = true;
        if (count <= sim_persistent(p))
                return;
        if (size_index < s->smallest_raised)
                s->wrong_order = true;
        s->smallest_raised = MAX(s->smallest_raised, size_index);
}

static void judge_result(SimKernel *s, size_t i, size_t n, uint64_t count, const SimPages *before) {
        const SimPages *p = &s->nodes[n].pages[i];

        if (p->surplus > before->surplus)
                s->dropped_promised = true;
        if (sim_persistent(p) < MIN(s->floor[i][n], sim_persistent(before)))
                s->took_foreign = true;
        if (sim_persistent(p) < count)
                s->smallest_raised = 0; /* what these do not get, larger ones may have */
}

/* Compaction. */

static void compact(SimKernel *s, SimNode *node) {
        s->n_compactions++;
        s->now += s->usec_per_compaction;
        sim_memory_compact(&node->memory, s->compact_percent);
}

static void drop_caches(SimKernel *s) {
        for (size_t n = 0; n < s->n_nodes; n++) {
                sim_clear(s, n, SIM_CACHE);
                sim_clear(s, n, SIM_STUCK);
        }
        s->n_drops++;
        s->smallest_raised = 0; /* a new start */
}

/* Others on the machine. */

static bool waits_for_look(const SimEvent *e) {
        return e->take_bytes + e->add_pages + e->grow_bytes + e->shrink_bytes > 0 || e->sets_pages ||
               e->unplug;
}

static void unplug(SimKernel *s, size_t n) {
        SimNode *node = &s->nodes[n];

        for (size_t i = 0; i < s->n_sizes; i++)
                if (node->pages[i].free < node->pages[i].nr ||
                    sim_total(s, i, count_free) - node->pages[i].free < s->resv[i])
                        return;
        memset(node->pages, 0, sizeof(node->pages));
        memset(&node->memory, 0, sizeof(node->memory));
        node->gone = true;
}

static void change_promises(SimKernel *s, const SimEvent *e) {
        uint64_t *resv = &s->resv[e->size_index], spare;
        SimPages *p = &s->nodes[e->node].pages[e->size_index];
        uint64_t used = MIN(e->use_pages, p->free);

        p->free -= used;
        *resv = sub_sat(sub_sat(*resv, used), e->end_promises);
        spare = sub_sat(sim_total(s, e->size_index, count_free), *resv);
        *resv += MIN(e->reserve_pages, spare);
}

static void happen(SimKernel *s, const SimEvent *e) {
        SimMemory *m = &s->nodes[e->node].memory;

        sim_memory_fill(m, SIM_MOVABLE, e->take_bytes / SIM_PAGE);
        sim_memory_grow(m, s->nodes[e->node].gone ? 0 : e->grow_bytes / SIM_BLOCK);
        sim_memory_shrink(m, e->shrink_bytes / SIM_BLOCK);
        sim_place(s, e->size_index, e->node, e->add_pages);
        if (e->sets_pages)
                set_node_pages(s, e->size_index, e->node, e->set_pages);
        change_promises(s, e);
        if (e->unplug)
                unplug(s, e->node);
}

/* Memory is taken just before somebody looks: what happens between the look and the write is nobody's fault.
 */
static void run_events(SimKernel *s, const char *path) {
        for (size_t i = 0; i < s->n_events; i++) {
                SimEvent *e = &s->events[i];

                if (e->done || s->n_operations < e->operation ||
                    (waits_for_look(e) && !streq(path, "/proc/meminfo")))
                        continue;
                e->done = true;
                happen(s, e);
        }
}

/* Files. */

typedef enum Scope { SCOPE_NONE, SCOPE_NODE, SCOPE_SIZE } Scope;

/* What a path means. */
typedef struct File {
        Scope scope;
        size_t node;       /* SIZE_MAX: over all */
        size_t size_index; /* SCOPE_SIZE only */
        const char *name;  /* what is left of the path */
} File;

static File parse_path(const SimKernel *s, const char *path) {
        File f = { .node = SIZE_MAX };
        const char *rest = startswith(path, HUGEPAGES_DIRECTORY);
        char text[128];

        for (size_t n = 0; !rest && s->numa && n < s->n_nodes; n++) {
                snprintf(text, sizeof(text), NODE_DIRECTORY "%u/", s->nodes[n].id);
                f.name = startswith(path, text);
                if (!f.name || s->nodes[n].gone)
                        continue;
                f.scope = SCOPE_NODE;
                f.node = n;
                rest = startswith(f.name, "hugepages/hugepages-");
                if (!rest)
                        return f;
        }
        for (size_t i = 0; rest && i < s->n_sizes; i++) {
                const char *name;

                snprintf(text, sizeof(text), "%" PRIu64 "kB/", s->sizes[i] / 1024);
                name = startswith(rest, text);
                if (name)
                        return (File){ SCOPE_SIZE, f.node, i, name };
        }
        return (File){};
}

static int counter_value(const SimKernel *s, const File *f, uint64_t *ret) {
        static const struct {
                const char *name;
                uint64_t (*count)(const SimPages *p);
        } table[] = {
                { "nr_hugepages", count_nr },
                { "free_hugepages", count_free },
                { "surplus_hugepages", count_surplus },
        };
        size_t i = f->size_index;

        for (size_t k = 0; k < ELEMENTSOF(table); k++)
                if (streq(f->name, table[k].name)) {
                        *ret = f->node == SIZE_MAX ? sim_total(s, i, table[k].count)
                                                   : table[k].count(&s->nodes[f->node].pages[i]);
                        return 0;
                }
        if (f->node != SIZE_MAX)
                return -ENOENT;
        if (streq(f->name, "resv_hugepages"))
                *ret = s->resv[i];
        else if (streq(f->name, "nr_overcommit_hugepages"))
                *ret = s->overcommit[i];
        else
                return -ENOENT;
        return 0;
}

static bool can_demote(const SimKernel *s, const File *f) {
        return f->size_index + 1 < s->n_sizes;
}

static int read_size_file(const SimKernel *s, const File *f, char **ret) {
        uint64_t value;
        int r;

        if (streq(f->name, "demote_size") && can_demote(s, f))
                return asprintf(ret, "%" PRIu64 "kB", s->sizes[demote_target(s, f->size_index)] / 1024);
        r = counter_value(s, f, &value);
        return r < 0 ? r : asprintf(ret, "%" PRIu64, value);
}

typedef struct Usage { /* in small pages */
        uint64_t total, unused, cache, programs, kernel;
} Usage;

static void add_usage(Usage *u, const SimMemory *m) {
        u->total += sim_memory_total(m);
        u->unused += sim_memory_free(m);
        u->cache += m->pages[SIM_CACHE] + m->pages[SIM_STUCK];
        u->programs += m->pages[SIM_MOVABLE];
        u->kernel += m->pages[SIM_UNMOVABLE];
}

/* As drivers/base/node.c and fs/proc/meminfo.c (node NULL) show it; of what the kernel has, some is for its
 * bookkeeping. */
static int read_meminfo(const SimKernel *s, const SimNode *node, const Usage *u, char **ret) {
        uint64_t tables = u->kernel / 8, stacks = u->kernel / 16;
        const struct {
                const char *name;
                uint64_t kb;
        } table[] = {
                { "MemTotal:", u->total * 4 },
                { "MemFree:", u->unused * 4 },
                { node ? "MemUsed:" : "MemAvailable:",
                  node ? (u->total - u->unused) * 4 : sim_mem_available(s) / 1024 },
                { "Unevictable:", 0 },
                { node ? "FilePages:" : "Cached:", u->cache * 4 },
                { "AnonPages:", u->programs * 4 },
                { "KernelStack:", stacks * 4 },
                { "PageTables:", tables * 4 },
                { "SUnreclaim:", (u->kernel - tables - stacks) * 4 },
        };
        char prefix[32] = "";
        size_t size;
        FILE *f = open_memstream(ret, &size);

        if (!f)
                return -ENOMEM;
        if (node)
                snprintf(prefix, sizeof(prefix), "Node %u ", node->id);
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                fprintf(f, "%s%s%-15s %8" PRIu64 " kB", i > 0 ? "\n" : "", prefix, table[i].name,
                        table[i].kb);
        return fclose(f) == 0 ? 0 : -ENOMEM;
}

static int read_machine_meminfo(const SimKernel *s, char **ret) {
        Usage u = {};

        for (size_t n = 0; n < s->n_nodes; n++)
                add_usage(&u, &s->nodes[n].memory);
        return read_meminfo(s, NULL, &u, ret);
}

static int read_node_meminfo(const SimKernel *s, const SimNode *node, char **ret) {
        Usage u = {};

        add_usage(&u, &node->memory);
        return read_meminfo(s, node, &u, ret);
}

/* Two CPUs a node. */
static int read_cpulist(const SimKernel *s, size_t n, char **ret) {
        if (!s->nodes[n].has_cpu)
                return asprintf(ret, "%s", "");
        return asprintf(ret, "%zu-%zu", 2 * n, 2 * n + 1);
}

static int read_node_file(const SimKernel *s, const File *f, char **ret) {
        if (streq(f->name, "meminfo"))
                return read_node_meminfo(s, &s->nodes[f->node], ret);
        if (streq(f->name, "cpulist"))
                return read_cpulist(s, f->node, ret);
        return -ENOENT;
}

static int read_buddyinfo(const SimKernel *s, char **ret) {
        size_t size;
        bool first = true;
        FILE *f = open_memstream(ret, &size);

        if (!f)
                return -ENOMEM;
        for (size_t n = 0; n < s->n_nodes; n++) {
                uint64_t counts[SIM_ORDERS];

                if (s->nodes[n].memory.n_blocks == 0)
                        continue;
                sim_memory_orders(&s->nodes[n].memory, counts);
                fprintf(f, "%sNode %u, zone %8s ", first ? "" : "\n", s->nodes[n].id, "Normal");
                for (size_t k = 0; k < SIM_ORDERS; k++)
                        fprintf(f, "%6" PRIu64 " ", counts[k]);
                first = false;
        }
        return fclose(f) == 0 ? 0 : -ENOMEM;
}

static SimKnob *find_knob(SimKernel *s, const char *path) {
        for (size_t i = 0; i < s->n_knobs; i++)
                if (streq(s->knobs[i].path, path))
                        return &s->knobs[i];
        return NULL;
}

static int read_file(SimKernel *s, const char *path, char **ret) {
        const SimKnob *knob = find_knob(s, path);
        File f;

        if (knob)
                return asprintf(ret, "%s", knob->value);
        if (s->has_thp && streq(path, THP_DIRECTORY "/hpage_pmd_size"))
                return asprintf(ret, "%llu", SIM_BLOCK);
        if (streq(path, "/proc/meminfo"))
                return read_machine_meminfo(s, ret);
        if (streq(path, "/proc/buddyinfo"))
                return read_buddyinfo(s, ret);
        f = parse_path(s, path);
        switch (f.scope) {
        case SCOPE_NODE:
                return read_node_file(s, &f, ret);
        case SCOPE_SIZE:
                return read_size_file(s, &f, ret);
        default:
                return -ENOENT;
        }
}

/* "always [madvise] never" with another word in the brackets; numbers are replaced. */
static int write_knob(SimKnob *k, const char *value) {
        char next[sizeof(k->value)] = "", *p = k->value;

        if (!strchr(k->value, '[')) {
                snprintf(k->value, sizeof(k->value), "%s", value);
                return 0;
        }
        if (!knob_offers(k->value, value))
                return -EINVAL;
        for (char *word; (word = strsep(&p, " "));) {
                size_t l = strlen(next);

                word += *word == '[';
                word[strcspn(word, "]")] = 0;
                snprintf(next + l, sizeof(next) - l, streq(word, value) ? "%s[%s]" : "%s%s",
                         l > 0 ? " " : "", word);
        }
        memcpy(k->value, next, sizeof(next));
        return 0;
}

static int write_pages(SimKernel *s, size_t i, size_t n, uint64_t count) {
        SimPages before;

        if (n == SIZE_MAX && s->n_nodes != 1)
                return -EINVAL; /* nobody here should */
        n = n == SIZE_MAX ? 0 : n;
        before = s->nodes[n].pages[i];
        judge_raise(s, i, n, count);
        set_node_pages(s, i, n, count);
        judge_result(s, i, n, count, &before);
        return 0;
}

static int write_overcommit(SimKernel *s, size_t i, uint64_t count) {
        if (run_of(s, i) > 1 && !s->overcommit_gigantic)
                return -EINVAL;
        s->overcommit[i] = count;
        return 0;
}

static int write_demote_size(SimKernel *s, size_t i, const char *value) {
        char text[32];

        for (size_t to = i + 1; to < s->n_sizes; to++) {
                snprintf(text, sizeof(text), "%" PRIu64 "kB", s->sizes[to] / 1024);
                if (streq(value, text)) {
                        s->demote_to[i] = to;
                        return 0;
                }
        }
        return -EINVAL;
}

static int write_size_file(SimKernel *s, const File *f, const char *value) {
        size_t i = f->size_index;
        uint64_t count;

        if (streq(f->name, "demote_size") && can_demote(s, f))
                return write_demote_size(s, i, value);
        if (parse_u64(value, &count) < 0)
                return -EINVAL;
        if (streq(f->name, "nr_hugepages"))
                return write_pages(s, i, f->node, count);
        if (streq(f->name, "nr_overcommit_hugepages") && f->node == SIZE_MAX)
                return write_overcommit(s, i, count);
        if (streq(f->name, "demote") && can_demote(s, f))
                return f->node == SIZE_MAX ? demote_anywhere(s, i, count)
                                           : demote_on_node(s, i, f->node, count);
        return -EACCES;
}

static int write_file(SimKernel *s, const char *path, const char *value) {
        SimKnob *knob = find_knob(s, path);
        File f;

        if (streq(path, "/proc/sys/vm/compact_memory")) {
                for (size_t n = 0; n < s->n_nodes; n++)
                        compact(s, &s->nodes[n]);
                return 0;
        }
        if (streq(path, "/proc/sys/vm/drop_caches")) {
                drop_caches(s);
                return 0;
        }
        f = parse_path(s, path);
        if (f.scope == SCOPE_NODE && streq(f.name, "compact")) {
                compact(s, &s->nodes[f.node]);
                return 0;
        }
        if (f.scope == SCOPE_NODE && streq(f.name, "reclaim") && s->has_reclaim) {
                s->n_reclaimed +=
                        sim_memory_reclaim(&s->nodes[f.node].memory, strtoull(value, NULL, 10) / SIM_PAGE);
                return endswith(value, " swappiness=0") ? 0 : -EINVAL;
        }
        s->n_writes++;
        if (knob)
                return write_knob(knob, value);
        return f.scope == SCOPE_SIZE ? write_size_file(s, &f, value) : -ENOENT;
}

/* The door. */

static void trace(SimKernel *s, const char *text) {
        for (s->trace += 1; text && *text; text++)
                s->trace = (s->trace ^ (uint8_t) *text) * 0x100000001b3ull;
}

static int begin_operation(SimKernel *s, const char *path, bool writes) {
        pid_t process = getpid();

        s->n_operations++;
        if (s->n_operations == s->kill_at)
                _exit(SIM_KILLED);
        if (s->n_operations == s->call_at)
                s->call(s);
        s->n_processes += s->process != process;
        s->process = process;
        s->now += s->usec_per_operation;
        run_events(s, path);
        trace(s, path);
        for (size_t i = 0; i < s->n_refusals; i++)
                if (strstr(path, s->refusals[i].path) && (writes || s->refusals[i].read_too))
                        return s->refusals[i].error;
        return 0;
}

static int sim_read(Kernel *k, const char *path, char **ret) {
        SimKernel *s = k->userdata;
        int r = begin_operation(s, path, /* writes= */ false);

        if (r >= 0)
                r = read_file(s, path, ret);
        if (r < 0)
                return r;
        trace(s, *ret);
        return 0;
}

static int sim_write(Kernel *k, const char *path, const char *value) {
        SimKernel *s = k->userdata;
        int r = begin_operation(s, path, /* writes= */ true);

        trace(s, value);
        return r < 0 ? r : write_file(s, path, value);
}

static int compact_one(Kernel *k, const CompactNode *node) {
        SimKernel *s = k->userdata;
        SimMemory *m = NULL;
        char path[64] = "/proc/sys/vm/compact_memory";
        bool blind;
        int r;

        if (node->id != WHOLE_MACHINE)
                snprintf(path, sizeof(path), NODE_DIRECTORY "%u/compact", node->id);
        for (size_t n = 0; n < s->n_nodes; n++)
                if (s->nodes[n].id == node->id || s->n_nodes == 1)
                        m = &s->nodes[n].memory;
        if (!m || node->targets == 0)
                return sim_write(k, path, "1");
        s->broke_too_many |= !s->has_thp || node->targets > sim_memory_free_blocks(m);
        s->most_targets = MAX(s->most_targets, node->targets);
        blind = m->blind;
        m->blind = false;
        r = sim_write(k, path, "1");
        m->blind = blind;
        return r;
}

/* One after the other, but in the time of the longest. */
static int sim_compact(Kernel *k, const CompactNode *nodes, size_t n) {
        SimKernel *s = k->userdata;
        uint64_t start = s->now, longest = 0;
        int r = -ENOENT;

        for (size_t i = 0; i < n; i++) {
                int q;

                s->now = start;
                q = compact_one(k, &nodes[i]);
                r = r >= 0 || q >= 0 ? 0 : q;
                longest = MAX(longest, s->now - start);
        }
        s->now = start + longest;
        s->n_rounds += r >= 0;
        return r;
}

static uint64_t sim_now(Kernel *k) {
        return ((SimKernel *) k->userdata)->now;
}

Kernel sim_kernel(SimKernel *s) {
        return (Kernel){
                .read = sim_read, .write = sim_write, .compact = sim_compact, .now = sim_now, .userdata = s
        };
}

/* The Host. */

static int compare_knobs(const void *a, const void *b) {
        return strcmp(((const Knob *) a)->path, ((const Knob *) b)->path);
}

static PageCounts page_counts(const SimPages *p) {
        return (PageCounts){ .nr = p->nr, .free = p->free, .surplus = p->surplus };
}

static void host_sizes(const SimKernel *s, Host *h) {
        h->sizes = calloc(s->n_sizes + 1, sizeof(PageSize));
        if (!h->sizes)
                abort();
        h->n_sizes = s->n_sizes;
        for (size_t i = 0; i < s->n_sizes; i++)
                h->sizes[i] = (PageSize){
                        .bytes = s->sizes[i],
                        .total = { .nr = sim_total(s, i, count_nr),
                                   .free = sim_total(s, i, count_free),
                                   .surplus = sim_total(s, i, count_surplus) },
                        .resv = s->resv[i],
                        .overcommit = s->overcommit[i],
                        .has_overcommit = true,
                };
}

static void host_node(const SimKernel *s, const SimNode *node, Node *ret) {
        *ret = (Node){
                .id = node->id,
                .has_memory = node->memory.n_blocks > 0,
                .has_cpu = node->has_cpu,
                .mem_total = sim_memory_total(&node->memory) * SIM_PAGE,
                .mem_free = sim_memory_free(&node->memory) * SIM_PAGE,
                .pages = calloc(s->n_sizes + 1, sizeof(PageCounts)),
        };
        if (!ret->pages)
                abort();
        for (size_t i = 0; i < s->n_sizes; i++)
                ret->pages[i] = page_counts(&node->pages[i]);
}

static void host_nodes(const SimKernel *s, Host *h) {
        h->nodes = calloc(s->n_nodes + 1, sizeof(Node));
        if (!h->nodes)
                abort();
        for (size_t n = 0; n < s->n_nodes; n++)
                if (!s->nodes[n].gone)
                        host_node(s, &s->nodes[n], &h->nodes[h->n_nodes++]);
}

Host *sim_host(const SimKernel *s, const char *root) {
        Host *h = calloc(1, sizeof(Host));

        if (!h)
                abort();
        h->numa = s->numa;
        h->default_page_size = 2ull << 20;
        h->mem_total = mem_total(s);
        h->mem_available = sim_mem_available(s);
        h->cmdline = strdup("");
        h->knobs = calloc(s->n_knobs + 1, sizeof(Knob));
        if (!h->cmdline || !h->knobs)
                abort();
        for (size_t i = 0; i < s->n_knobs; i++)
                h->knobs[h->n_knobs++] = (Knob){ strdup(s->knobs[i].path), strdup(s->knobs[i].value) };
        qsort(h->knobs, h->n_knobs, sizeof(Knob), compare_knobs);
        host_sizes(s, h);
        host_nodes(s, h);
        (void) state_read(root, &h->state);
        return h;
}
