/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The snapshot of this machine: page sizes, nodes, counts and knobs, out of /sys and /proc. */

#include "host/host.h"
#include "basic/fs.h"
#include "basic/parse.h"

#define MM_DIRECTORY "/sys/kernel/mm" /* of every kernel */
#define HUGEPAGES_DIRECTORY MM_DIRECTORY "/hugepages"
#define NODE_DIRECTORY "/sys/devices/system/node"
#define MEMINFO_PATH "/proc/meminfo"

typedef struct Reader {
        const char *root;
        Host *host;
        Diagnostics *d;
        uint64_t mem_free; /* bytes, of /proc/meminfo */
} Reader;

/* What could not be read is only worth a word where it is there. */
static int missing(const Reader *reader, const char *path, int error, const char *expected) {
        if (error == -ENOMEM)
                return -ENOMEM;
        if (error == -EINVAL)
                diag_warning(reader->d, ((Source){ path, 0 }), "expected %s; ignored", expected);
        else if (error != -ENOENT)
                diag_warning(reader->d, ((Source){ path, 0 }), "cannot be read: %s; ignored",
                             strerror(-error));
        return 0;
}

/* 0 pages where there is no such counter: a size need not exist on every node. */
static int read_counter(const Reader *reader, const Node *node, uint64_t page_size, const char *counter,
                        uint64_t *ret, bool *ret_exists) {
        _cleanup_free_ char *path = host_counter_path(reader->host, node, page_size, counter);
        uint64_t value = 0;
        int r;

        if (!path)
                return -ENOMEM;
        r = root_read_u64(reader->root, path, &value);
        *ret = r < 0 ? 0 : value;
        if (ret_exists)
                *ret_exists = r >= 0;
        return r < 0 ? missing(reader, path, r, "a number") : 0;
}

int meminfo_get(const char *text, const char *name, uint64_t *ret) {
        size_t l = strlen(name);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                unsigned long long kb;
                const char *p;
                int n = 0;

                line += *line == '\n';
                p = startswith(line, "Node ");
                if (p) {
                        p += strspn(p, "0123456789");
                        p += *p == ' ';
                } else
                        p = line;
                if (strncmp(p, name, l) != 0 || p[l] != ':')
                        continue;
                p += l + 1;
                p += strspn(p, " ");
                if (*p < '0' || *p > '9' || sscanf(p, "%llu kB%n", &kb, &n) != 1 || n == 0)
                        return -EINVAL;
                *ret = mul_sat(kb, 1024);
                return 0;
        }
        return -ENOENT;
}

static int load_meminfo(Reader *reader) {
        _cleanup_free_ char *text = NULL;
        Host *h = reader->host;
        int r = root_read_file(reader->root, MEMINFO_PATH, 64 * 1024, &text, NULL);

        if (r < 0)
                return missing(reader, MEMINFO_PATH, r, "the kernel's memory statistics");
        if (meminfo_get(text, "MemTotal", &h->mem_total) < 0)
                diag_warning(reader->d, ((Source){ MEMINFO_PATH, 0 }), "has no MemTotal");
        (void) meminfo_get(text, "MemFree", &reader->mem_free);
        if (meminfo_get(text, "MemAvailable", &h->mem_available) < 0) /* before 3.14 */
                h->mem_available = reader->mem_free;
        (void) meminfo_get(text, "Hugepagesize", &h->default_page_size);
        h->has_cma = meminfo_get(text, "CmaTotal", &(uint64_t){ 0 }) >= 0;
        return 0;
}

/* "hugepages-2048kB" → 2097152, 0 for every other name. */
static uint64_t page_size_from_name(const char *name) {
        const char *number = startswith(name, "hugepages-"), *unit = number ? endswith(number, "kB") : NULL;
        unsigned long long kb = 0;

        if (!unit || *number == '0' || unit == number || unit - number > 16)
                return 0;
        for (const char *p = number; p < unit; p++) {
                if (*p < '0' || *p > '9')
                        return 0;
                kb = kb * 10 + (unsigned long long) (*p - '0');
        }
        return kb <= UINT64_MAX / 1024 ? kb * 1024 : 0;
}

static int compare_sizes(const void *a, const void *b) {
        const PageSize *x = a, *y = b;

        return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int load_sizes(const Reader *reader) {
        _cleanup_closedir_ DIR *dir = NULL;
        Host *h = reader->host;
        int r = root_opendir(reader->root, HUGEPAGES_DIRECTORY, &dir);

        if (r < 0) {
                h->default_page_size = 0;
                h->no_sysfs = !root_exists(reader->root, MM_DIRECTORY);
                return missing(reader, HUGEPAGES_DIRECTORY, r, "a directory");
        }
        for (struct dirent *de; (de = readdir(dir));) {
                uint64_t bytes = page_size_from_name(de->d_name);

                if (bytes == 0)
                        continue;
                if (GROW_ARRAY(h->sizes, h->n_sizes) < 0)
                        return -ENOMEM;
                h->sizes[h->n_sizes++].bytes = bytes;
        }
        if (h->n_sizes > 1)
                qsort(h->sizes, h->n_sizes, sizeof(PageSize), compare_sizes);
        if (host_find_size(h, h->default_page_size) == SIZE_MAX)
                h->default_page_size = 0;
        return 0;
}

typedef struct NodeSet {
        bool has[NODE_ID_MAX + 1];
} NodeSet;

/* Reads "0-1,8", or an empty line for the empty set. -ENOENT where there is no such file, or no sense in it.
 */
static int read_node_set(const Reader *reader, const char *path, NodeSet *ret) {
        _cleanup_free_ char *line = NULL;
        int r = root_read_line(reader->root, path, &line);

        for (const char *p = r < 0 ? "" : line; *p;) {
                size_t l = strcspn(p, ",");
                unsigned first, last;

                r = parse_node_range(p, l, &first, &last);
                if (r < 0) {
                        r = -EINVAL;
                        break;
                }
                for (unsigned id = first; id <= last; id++)
                        ret->has[id] = true;
                p += l;
                if (*p == ',' && *++p == 0)
                        r = -EINVAL;
        }
        if (r >= 0)
                return 0;
        *ret = (NodeSet){};
        r = missing(reader, path, r, "a list of nodes");
        return r < 0 ? r : -ENOENT;
}

static int load_node_memory(const Reader *reader, Node *n) {
        _cleanup_free_ char *text = NULL;
        char path[sizeof(NODE_DIRECTORY) + 32];
        int r;

        snprintf(path, sizeof(path), NODE_DIRECTORY "/node%u/meminfo", n->id);
        r = root_read_file(reader->root, path, 64 * 1024, &text, NULL);
        if (r >= 0 && (meminfo_get(text, "MemTotal", &n->mem_total) < 0 ||
                       meminfo_get(text, "MemFree", &n->mem_free) < 0))
                r = -EINVAL;
        return r < 0 ? missing(reader, path, r, "MemTotal and MemFree in kB") : 0;
}

/* One node for the whole machine. */
static int load_single_node(const Reader *reader) {
        Host *h = reader->host;

        h->nodes = calloc(1, sizeof(Node));
        if (!h->nodes)
                return -ENOMEM;
        h->n_nodes = 1;
        h->nodes[0] = (Node){
                .has_memory = true,
                .has_cpu = true,
                .mem_total = h->mem_total,
                .mem_free = reader->mem_free,
        };
        return 0;
}

static int load_nodes(const Reader *reader) {
        NodeSet online = {}, memory = {}, cpu = {};
        bool knows_memory, knows_cpu;
        Host *h = reader->host;
        int r = read_node_set(reader, NODE_DIRECTORY "/online", &online);

        if (r == -ENOMEM)
                return r;
        if (r < 0 || !memchr(online.has, true, sizeof(online.has)))
                return load_single_node(reader);
        h->numa = true;

        r = read_node_set(reader, NODE_DIRECTORY "/has_memory", &memory);
        if (r == -ENOENT) /* kernels without movable or high memory have only the other */
                r = read_node_set(reader, NODE_DIRECTORY "/has_normal_memory", &memory);
        if (r == -ENOMEM)
                return r;
        knows_memory = r >= 0;
        r = read_node_set(reader, NODE_DIRECTORY "/has_cpu", &cpu);
        if (r == -ENOMEM)
                return r;
        knows_cpu = r >= 0;

        for (unsigned id = 0; id <= NODE_ID_MAX; id++) {
                Node *n;

                if (!online.has[id])
                        continue;
                if (GROW_ARRAY(h->nodes, h->n_nodes) < 0)
                        return -ENOMEM;
                n = &h->nodes[h->n_nodes++];
                n->id = id;
                r = load_node_memory(reader, n);
                if (r < 0)
                        return r;
                n->has_memory = knows_memory ? memory.has[id] : n->mem_total > 0;
                n->has_cpu = knows_cpu ? cpu.has[id] : true;
        }
        return 0;
}

static int load_page_counts(const Reader *reader, const Node *node, uint64_t page_size, PageCounts *ret) {
        int r = read_counter(reader, node, page_size, "nr_hugepages", &ret->nr, NULL);

        if (r >= 0)
                r = read_counter(reader, node, page_size, "free_hugepages", &ret->free, NULL);
        if (r >= 0)
                r = read_counter(reader, node, page_size, "surplus_hugepages", &ret->surplus, NULL);
        return r;
}

static int load_counts(const Reader *reader) {
        Host *h = reader->host;

        for (size_t n = 0; n < h->n_nodes; n++) {
                h->nodes[n].pages = calloc(MAX(h->n_sizes, (size_t) 1), sizeof(PageCounts));
                if (!h->nodes[n].pages)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < h->n_sizes; i++) {
                PageSize *s = &h->sizes[i];
                int r = load_page_counts(reader, NULL, s->bytes, &s->total);

                if (r >= 0)
                        r = read_counter(reader, NULL, s->bytes, "resv_hugepages", &s->resv, NULL);
                if (r >= 0)
                        r = read_counter(reader, NULL, s->bytes, "nr_overcommit_hugepages", &s->overcommit,
                                         &s->has_overcommit);
                for (size_t n = 0; r >= 0 && n < h->n_nodes; n++)
                        if (h->numa)
                                r = load_page_counts(reader, &h->nodes[n], s->bytes, &h->nodes[n].pages[i]);
                        else
                                h->nodes[n].pages[i] = s->total;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_knob(const Reader *reader, const char *path) {
        _cleanup_free_ char *value = NULL;
        Host *h = reader->host;
        int r = root_read_line(reader->root, path, &value);
        Knob *k;

        if (r < 0)
                return missing(reader, path, r, "one line");
        if (GROW_ARRAY(h->knobs, h->n_knobs) < 0)
                return -ENOMEM;
        k = &h->knobs[h->n_knobs];
        k->path = strdup(path);
        if (!k->path)
                return -ENOMEM;
        k->value = TAKE_PTR(value);
        h->n_knobs++;
        return 0;
}

static int compare_knobs(const void *a, const void *b) {
        return strcmp(((const Knob *) a)->path, ((const Knob *) b)->path);
}

/* transparent_hugepage/hugepages-64kB and its sisters, from 6.8 on; the smallest has no "enabled". */
static int load_thp_sizes(const Reader *reader) {
        static const char *const names[] = { "enabled", "shmem_enabled" };
        _cleanup_closedir_ DIR *dir = NULL;
        int r = root_opendir(reader->root, THP_DIRECTORY, &dir);

        if (r < 0)
                return missing(reader, THP_DIRECTORY, r, "a directory");
        for (struct dirent *de; (de = readdir(dir));) {
                if (page_size_from_name(de->d_name) == 0)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                        char path[sizeof(THP_DIRECTORY) + 64];

                        snprintf(path, sizeof(path), THP_DIRECTORY "/%.40s/%s", de->d_name, names[i]);
                        r = load_knob(reader, path);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int load_knobs(const Reader *reader) {
        static const char *const paths[] = {
                "/proc/sys/vm/defrag_mode",
                "/proc/sys/vm/hugetlb_optimize_vmemmap",
                "/proc/sys/vm/hugetlb_shm_group",
                KHUGEPAGED_DIRECTORY "/alloc_sleep_millisecs",
                KHUGEPAGED_DIRECTORY "/defrag",
                KHUGEPAGED_DIRECTORY "/max_ptes_none",
                KHUGEPAGED_DIRECTORY "/max_ptes_shared",
                KHUGEPAGED_DIRECTORY "/max_ptes_swap",
                KHUGEPAGED_DIRECTORY "/pages_to_scan",
                KHUGEPAGED_DIRECTORY "/scan_sleep_millisecs",
                THP_DIRECTORY "/defrag",
                THP_DIRECTORY "/enabled",
                THP_DIRECTORY "/shmem_enabled",
                THP_DIRECTORY "/use_zero_page",
        };
        Host *h = reader->host;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                r = load_knob(reader, paths[i]);
                if (r < 0)
                        return r;
        }
        r = load_thp_sizes(reader);
        if (r < 0)
                return r;
        if (h->n_knobs > 1)
                qsort(h->knobs, h->n_knobs, sizeof(Knob), compare_knobs);
        return 0;
}

static int load_cmdline(const Reader *reader) {
        int r = root_read_line(reader->root, "/proc/cmdline", &reader->host->cmdline);

        return r < 0 ? missing(reader, "/proc/cmdline", r, "one line") : 0;
}

static int load_state(const Reader *reader) {
        int r = state_read(reader->root, &reader->host->state);

        reader->host->state_damaged = r < 0 && r != -ENOENT && r != -ENOMEM;
        return r < 0 ? missing(reader, STATE_PATH, r, "what an earlier run has written") : 0;
}

int host_load(const char *root, HostParts parts, Host **ret, Diagnostics *d) {
        _cleanup_(host_freep) Host *h = calloc(1, sizeof(Host));
        Reader reader = { .root = root, .host = h, .d = d };
        int r = 0;

        if (!h)
                return -ENOMEM;
        if (parts & HOST_COUNTS)
                parts |= HOST_SIZES | HOST_NODES;
        if (parts & (HOST_SIZES | HOST_NODES))
                r = load_meminfo(&reader);
        if (r >= 0 && parts & HOST_SIZES)
                r = load_sizes(&reader);
        if (r >= 0 && parts & HOST_NODES)
                r = load_nodes(&reader);
        if (r >= 0 && parts & HOST_COUNTS)
                r = load_counts(&reader);
        if (r >= 0 && parts & HOST_KNOBS)
                r = load_knobs(&reader);
        if (r >= 0 && parts & HOST_CMDLINE)
                r = load_cmdline(&reader);
        if (r >= 0 && parts & HOST_STATE)
                r = load_state(&reader);
        if (r >= 0 && !h->cmdline && !(h->cmdline = strdup("")))
                r = -ENOMEM;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(h);
        return 0;
}

void host_free(Host *h) {
        if (!h)
                return;
        for (size_t i = 0; i < h->n_nodes; i++)
                free(h->nodes[i].pages);
        for (size_t i = 0; i < h->n_knobs; i++) {
                free(h->knobs[i].path);
                free(h->knobs[i].value);
        }
        free(h->nodes);
        free(h->sizes);
        free(h->knobs);
        free(h->cmdline);
        state_free(h->state);
        free(h);
}

size_t host_find_size(const Host *h, uint64_t bytes) {
        for (size_t i = 0; i < h->n_sizes; i++)
                if (h->sizes[i].bytes == bytes)
                        return i;
        return SIZE_MAX;
}

const char *host_why_no_sizes(const Host *h) {
        return h->no_sysfs ? "there is no /sys here to tell the huge page sizes (bind-mount /proc and /sys)"
                           : "this kernel has no huge pages (hugetlb)";
}

size_t host_find_node(const Host *h, unsigned id) {
        for (size_t i = 0; i < h->n_nodes; i++)
                if (h->nodes[i].id == id)
                        return i;
        return SIZE_MAX;
}

const char *host_knob(const Host *h, const char *path) {
        const Knob key = { .path = (char *) path }, *k;

        if (h->n_knobs == 0)
                return NULL;
        k = bsearch(&key, h->knobs, h->n_knobs, sizeof(Knob), compare_knobs);
        return k ? k->value : NULL;
}

const char *knob_current_word(const char *line, char *buffer, size_t size) {
        const char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;

        if (close)
                snprintf(buffer, size, "%.*s", (int) (close - open - 1), open + 1);
        else
                snprintf(buffer, size, "%s", line);
        return buffer;
}

bool knob_offers(const char *line, const char *word) {
        size_t l = strlen(word);

        for (const char *p = line; l > 0 && *p;) {
                size_t n;

                p += strspn(p, " []\n");
                n = strcspn(p, " []\n");
                if (n == l && strncmp(p, word, l) == 0)
                        return true;
                p += n;
        }
        return false;
}

int host_pci_node(const char *root, const char *address) {
        _cleanup_free_ char *device = NULL, *path = NULL, *line = NULL;
        char *end;
        long node;
        int r;

        if (isempty(address) || *address == '.' || strchr(address, '/'))
                return -ENODEV;
        if (asprintf(&device, "/sys/bus/pci/devices/%s", address) < 0) {
                device = NULL;
                return -ENOMEM;
        }
        if (!root_exists(root, device))
                return -ENODEV;
        if (asprintf(&path, "%s/numa_node", device) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        r = root_read_line(root, path, &line);
        if (r < 0)
                return r == -ENOMEM ? r : -1; /* a kernel without NUMA has no such file */
        node = strtol(line, &end, 10);
        return end == line || *end || node < 0 || node > (long) NODE_ID_MAX ? -1 : (int) node;
}

char *host_counter_path(const Host *h, const Node *node, uint64_t page_size, const char *counter) {
        unsigned long long kb = page_size / 1024;
        char *path;
        int r;

        if (h->numa && node)
                r = asprintf(&path, NODE_DIRECTORY "/node%u/hugepages/hugepages-%llukB/%s", node->id, kb,
                             counter);
        else
                r = asprintf(&path, HUGEPAGES_DIRECTORY "/hugepages-%llukB/%s", kb, counter);
        return r < 0 ? NULL : path;
}
