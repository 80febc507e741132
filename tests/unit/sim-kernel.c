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
        s->sizes[0] = 2ull << 20;
        s->n_sizes = 1;
        s->compact_percent = 100;
        s->usec_per_operation = 10;
        s->usec_per_compaction = 1000000;
        return s;
}

void sim_free(SimKernel *s) {
        munmap(s, sizeof(SimKernel));
}

SimNode *sim_add_node(SimKernel *s, unsigned id, uint64_t bytes) {
        SimNode *node = &s->nodes[s->n_nodes++];

        *node = (SimNode){ .id = id, .has_cpu = true, .mem_total = bytes, .mem_free = bytes };
        for (size_t i = 0; i < SIM_SIZES_MAX; i++)
                node->pages[i].unbroken = bytes;
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

uint64_t sim_mem_available(const SimKernel *s) {
        uint64_t sum = s->overstated;

        for (size_t n = 0; n < s->n_nodes; n++)
                sum += s->nodes[n].mem_free;
        return sum;
}

static uint64_t mem_total(const SimKernel *s) {
        uint64_t sum = 0;

        for (size_t n = 0; n < s->n_nodes; n++)
                sum += s->nodes[n].mem_total;
        return sum;
}

static uint64_t huge_bytes(const SimKernel *s) {
        uint64_t sum = 0;

        for (size_t i = 0; i < s->n_sizes; i++)
                sum += sim_total(s, i, count_nr) * s->sizes[i];
        return sum;
}

/* Memory leaves a node: what is broken already goes first, then the smallest blocks. */
static void take_memory(SimKernel *s, SimNode *node, uint64_t bytes) {
        bytes = MIN(bytes, node->mem_free);
        node->mem_free -= bytes;
        for (size_t i = 0; i < s->n_sizes; i++)
                node->pages[i].unbroken =
                        MIN(node->pages[i].unbroken, node->mem_free) / s->sizes[i] * s->sizes[i];
}

static bool allocate(SimKernel *s, size_t size_index, size_t n) {
        SimNode *node = &s->nodes[n];
        uint64_t bytes = s->sizes[size_index];

        if (node->mem_free < bytes || node->pages[size_index].unbroken < bytes)
                return false;
        node->mem_free -= bytes;
        for (size_t i = size_index; i < s->n_sizes; i++)
                node->pages[i].unbroken -= MIN(bytes, node->pages[i].unbroken);
        /* Small pages come out of large blocks only where there is nothing else. */
        for (size_t i = 0; i < size_index; i++)
                node->pages[i].unbroken = MIN(node->pages[i].unbroken, node->pages[size_index].unbroken) /
                                          s->sizes[i] * s->sizes[i];
        return true;
}

static void release(SimKernel *s, size_t size_index, size_t n) {
        SimNode *node = &s->nodes[n];

        node->mem_free += s->sizes[size_index];
        for (size_t i = size_index; i < s->n_sizes; i++)
                node->pages[i].unbroken += s->sizes[size_index];
}

void sim_place(SimKernel *s, size_t size_index, size_t node, uint64_t pages) {
        SimPages *p = &s->nodes[node].pages[size_index];

        while (pages-- > 0 && allocate(s, size_index, node)) {
                p->nr++;
                p->free++;
        }
}

void sim_use(SimKernel *s, size_t size_index, size_t node, uint64_t pages) {
        s->nodes[node].pages[size_index].free -= MIN(pages, s->nodes[node].pages[size_index].free);
}

void sim_add_surplus(SimKernel *s, size_t size_index, size_t node, uint64_t pages) {
        SimPages *p = &s->nodes[node].pages[size_index];

        while (pages-- > 0 && allocate(s, size_index, node)) {
                p->nr++;
                p->surplus++;
        }
}

/* set_max_huge_pages() for one node. */
static void set_node_pages(SimKernel *s, size_t size_index, size_t n, uint64_t count) {
        SimPages *p = &s->nodes[n].pages[size_index];
        uint64_t persistent = sim_total(s, size_index, sim_persistent),
                 surplus = sim_total(s, size_index, count_surplus);
        uint64_t elsewhere =
                s->surplus_bug ? sim_total(s, size_index, count_nr) - p->nr : persistent - sim_persistent(p);
        uint64_t min_count, surplus_before = p->surplus;

        count = add_sat(count, elsewhere);
        while (surplus > 0 && p->surplus > 0 && count > persistent) {
                p->surplus--;
                surplus--;
                persistent++;
        }
        while (count > persistent && allocate(s, size_index, n)) {
                p->nr++;
                p->free++;
                persistent++;
        }
        min_count = s->resv[size_index] + sim_total(s, size_index, count_nr) -
                    sim_total(s, size_index, count_free);
        min_count = MAX(count, min_count);
        while (min_count < persistent && p->free > 0) {
                p->nr--;
                p->free--;
                persistent--;
                release(s, size_index, n);
        }
        while (count < persistent && p->surplus < p->nr) {
                p->surplus++;
                persistent--;
        }
        if (p->surplus > surplus_before)
                s->dropped_promised = true;
}

/* Whether so many pages on the node fit above keep_free. */
static void judge(SimKernel *s, size_t size_index, size_t n, uint64_t count) {
        const SimPages *p = &s->nodes[n].pages[size_index];
        uint64_t elsewhere = sim_total(s, size_index, count_surplus) - p->surplus;
        uint64_t new_pages = sub_sat(add_sat(count, s->surplus_bug ? elsewhere : 0), p->nr);
        uint64_t bytes = mul_sat(new_pages, s->sizes[size_index]);

        if (new_pages > 0 && (add_sat(huge_bytes(s) + s->keep_free, bytes) > mem_total(s) ||
                              add_sat(s->keep_free, bytes) > sim_mem_available(s)))
                s->asked_too_much = true;
}

static void compact(SimKernel *s, SimNode *node) {
        s->n_compactions++;
        s->now += s->usec_per_compaction;
        for (size_t i = 0; i < s->n_sizes; i++) {
                uint64_t most = sub_sat(node->mem_free, node->pinned) / s->sizes[i] * s->sizes[i];
                uint64_t gap = sub_sat(most, node->pages[i].unbroken);

                node->pages[i].unbroken += gap / 100 * s->compact_percent / s->sizes[i] * s->sizes[i];
        }
        for (size_t i = s->n_sizes; i-- > 1;) /* a large block is also one of small ones */
                node->pages[i].unbroken = MAX(node->pages[i].unbroken, node->pages[i - 1].unbroken);
}

/* The counter that a path means: false where it is none. node SIZE_MAX: the global one. */
static bool parse_counter_path(const SimKernel *s, const char *path, size_t *size_index, size_t *node,
                               const char **counter) {
        const char *rest = startswith(path, HUGEPAGES_DIRECTORY);
        char text[128];

        *node = SIZE_MAX;
        for (size_t n = 0; !rest && s->numa && n < s->n_nodes; n++) {
                snprintf(text, sizeof(text), NODE_DIRECTORY "%u/hugepages/hugepages-", s->nodes[n].id);
                rest = startswith(path, text);
                if (rest)
                        *node = n;
        }
        for (size_t i = 0; rest && i < s->n_sizes; i++) {
                snprintf(text, sizeof(text), "%" PRIu64 "kB/", s->sizes[i] / 1024);
                *counter = startswith(rest, text);
                if (*counter) {
                        *size_index = i;
                        return true;
                }
        }
        return false;
}

static int counter_value(const SimKernel *s, size_t i, size_t node, const char *counter, uint64_t *ret) {
        static const struct {
                const char *name;
                uint64_t (*count)(const SimPages *p);
        } table[] = {
                { "nr_hugepages", count_nr },
                { "free_hugepages", count_free },
                { "surplus_hugepages", count_surplus },
        };

        for (size_t k = 0; k < ELEMENTSOF(table); k++)
                if (streq(counter, table[k].name)) {
                        *ret = node == SIZE_MAX ? sim_total(s, i, table[k].count)
                                                : table[k].count(&s->nodes[node].pages[i]);
                        return 0;
                }
        if (node != SIZE_MAX)
                return -ENOENT;
        if (streq(counter, "resv_hugepages"))
                *ret = s->resv[i];
        else if (streq(counter, "nr_overcommit_hugepages"))
                *ret = s->overcommit[i];
        else
                return -ENOENT;
        return 0;
}

/* Memory is taken just before somebody looks: what happens between the look and the write is nobody's fault.
 */
static void run_events(SimKernel *s, const char *path) {
        for (size_t i = 0; i < s->n_events; i++) {
                SimEvent *e = &s->events[i];

                if (e->done || s->n_operations < e->operation ||
                    (e->take_bytes + e->add_pages > 0 && !streq(path, "/proc/meminfo")))
                        continue;
                e->done = true;
                take_memory(s, &s->nodes[e->node], e->take_bytes);
                sim_place(s, e->size_index, e->node, e->add_pages);
                s->resv[e->size_index] +=
                        MIN(e->reserve_pages,
                            sub_sat(sim_total(s, e->size_index, count_free), s->resv[e->size_index]));
        }
}

static int begin_operation(SimKernel *s, const char *path, bool writes) {
        s->n_operations++;
        if (s->n_operations == s->kill_at)
                _exit(SIM_KILLED);
        s->now += s->usec_per_operation;
        run_events(s, path);
        for (size_t i = 0; i < s->n_refusals; i++)
                if (strstr(path, s->refusals[i].path) && (writes || s->refusals[i].read_too))
                        return s->refusals[i].error;
        return 0;
}

static SimKnob *find_knob(SimKernel *s, const char *path) {
        for (size_t i = 0; i < s->n_knobs; i++)
                if (streq(s->knobs[i].path, path))
                        return &s->knobs[i];
        return NULL;
}

static int sim_read(Kernel *k, const char *path, char **ret) {
        SimKernel *s = k->userdata;
        const char *counter;
        size_t i, node;
        uint64_t value;
        const SimKnob *knob;
        int r = begin_operation(s, path, /* writes= */ false);

        if (r < 0)
                return r;
        knob = find_knob(s, path);
        if (knob)
                r = asprintf(ret, "%s", knob->value);
        else if (streq(path, "/proc/meminfo"))
                r = asprintf(ret,
                             "MemTotal:       %" PRIu64 " kB\nMemFree: 1 kB\nMemAvailable:   %" PRIu64 " kB",
                             mem_total(s) / 1024, sim_mem_available(s) / 1024);
        else if (!parse_counter_path(s, path, &i, &node, &counter))
                return -ENOENT;
        else {
                r = counter_value(s, i, node, counter, &value);
                if (r < 0)
                        return r;
                r = asprintf(ret, "%" PRIu64, value);
        }
        return r < 0 ? -ENOMEM : 0;
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

static int write_counter(SimKernel *s, size_t i, size_t node, const char *counter, const char *value) {
        uint64_t count;

        if (parse_u64(value, &count) < 0)
                return -EINVAL;
        if (streq(counter, "nr_overcommit_hugepages") && node == SIZE_MAX) {
                s->overcommit[i] = count;
                return 0;
        }
        if (!streq(counter, "nr_hugepages"))
                return -EACCES;
        if (node == SIZE_MAX) {
                if (s->n_nodes != 1)
                        return -EINVAL; /* nobody here should */
                node = 0;
        }
        judge(s, i, node, count);
        set_node_pages(s, i, node, count);
        return 0;
}

static int sim_write(Kernel *k, const char *path, const char *value) {
        SimKernel *s = k->userdata;
        const char *counter;
        size_t i, node;
        SimKnob *knob;
        int r = begin_operation(s, path, /* writes= */ true);
        char text[64];

        if (r < 0)
                return r;
        for (size_t n = 0; n < s->n_nodes; n++) {
                snprintf(text, sizeof(text), NODE_DIRECTORY "%u/compact", s->nodes[n].id);
                if ((s->numa && streq(path, text)) || streq(path, "/proc/sys/vm/compact_memory"))
                        compact(s, &s->nodes[n]);
        }
        if (streq(path, "/proc/sys/vm/drop_caches")) {
                for (size_t n = 0; n < s->n_nodes; n++) {
                        s->nodes[n].pinned -= s->nodes[n].cache;
                        s->nodes[n].cache = 0;
                }
                s->n_drops++;
                return 0;
        }
        if (endswith(path, "/compact") || endswith(path, "/compact_memory"))
                return 0;
        s->n_writes++;
        knob = find_knob(s, path);
        if (knob)
                return write_knob(knob, value);
        if (!parse_counter_path(s, path, &i, &node, &counter))
                return -ENOENT;
        return write_counter(s, i, node, counter, value);
}

/* One after the other, but in the time of one. */
static int sim_compact(Kernel *k, const unsigned *node_ids, size_t n) {
        SimKernel *s = k->userdata;
        uint64_t start = s->now;
        char path[64];
        int r = n == 0 ? sim_write(k, "/proc/sys/vm/compact_memory", "1") : -ENOENT;

        for (size_t i = 0; i < n; i++) {
                int q;

                snprintf(path, sizeof(path), NODE_DIRECTORY "%u/compact", node_ids[i]);
                q = sim_write(k, path, "1");
                r = r >= 0 || q >= 0 ? 0 : q;
        }
        s->now = start + (r >= 0 ? s->usec_per_compaction : 0);
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

static void host_nodes(const SimKernel *s, Host *h) {
        h->nodes = calloc(s->n_nodes + 1, sizeof(Node));
        if (!h->nodes)
                abort();
        h->n_nodes = s->n_nodes;
        for (size_t n = 0; n < s->n_nodes; n++) {
                const SimNode *node = &s->nodes[n];

                h->nodes[n] = (Node){
                        .id = node->id,
                        .has_memory = node->mem_total > 0,
                        .has_cpu = node->has_cpu,
                        .mem_total = node->mem_total,
                        .mem_free = node->mem_free,
                        .pages = calloc(s->n_sizes + 1, sizeof(PageCounts)),
                };
                if (!h->nodes[n].pages)
                        abort();
                for (size_t i = 0; i < s->n_sizes; i++)
                        h->nodes[n].pages[i] = page_counts(&node->pages[i]);
        }
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
