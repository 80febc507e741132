/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments: from drop-ins to default_hugepagesz=, hugepagesz=, hugepages= and those of transparent huge
 * pages.
 */

#include <inttypes.h>

#include "basic/format.h"
#include "basic/parse.h"
#include "boot/arguments.h"
#include "boot/compare.h"
#include "plan/plan.h"

#define K (1ull << 10)
#define M (1ull << 20)
#define G (1ull << 30)

int kernel_version_parse(const char *s, KernelVersion *ret) {
        unsigned version, patchlevel;
        int end = 0;

        if (*s < '0' || *s > '9' || sscanf(s, "%3u.%4u%n", &version, &patchlevel, &end) != 2 ||
            !strchr(".-+~_", s[end]))
                return -EINVAL;
        *ret = (KernelVersion){ version, patchlevel };
        return 0;
}

static bool kernel_has(KernelVersion k, unsigned version, unsigned patchlevel) {
        return k.version > version || (k.version == version && k.patchlevel >= patchlevel);
}

/* By ARCH_FORCE_MAX_ORDER in the architectures' Kconfig files: 4M where base pages are of 4K, 32M with 16K
 * and 512M with arm64's 64K. POWER's 16M and s390's 1M are less, which makes no difference between the sizes
 * that they have. Which base pages these are the huge page sizes tell: 64K are 16 pages of 4K (arm64,
 * riscv), 32M without 64K a page table of 16K, and 512M or 16G are of kernels with 64K. */
static uint64_t largest_block(const Host *h) {
        if (host_find_size(h, 64 * K) != SIZE_MAX)
                return 4 * M;
        if (host_find_size(h, 512 * M) != SIZE_MAX || host_find_size(h, 16 * G) != SIZE_MAX)
                return 512 * M;
        return host_find_size(h, 32 * M) != SIZE_MAX ? 32 * M : 4 * M;
}

size_t command_line_max(const char *architecture) {
        static const struct {
                const char *prefix;
                size_t bytes;
        } sizes[] = {
                { "x86_64", 2048 }, { "i386", 2048 },      { "i486", 2048 }, { "i586", 2048 },
                { "i686", 2048 },   { "aarch64", 2048 },   { "arm", 1024 },  { "ppc", 2048 },
                { "s390", 4096 },   { "riscv", 1024 },     { "mips", 4096 }, { "sparc64", 2048 },
                { "parisc", 1024 }, { "loongarch", 4096 },
        };

        for (size_t i = 0; architecture && i < ELEMENTSOF(sizes); i++)
                if (startswith(architecture, sizes[i].prefix))
                        return sizes[i].bytes - 1;
        return 0;
}

bool page_size_is_gigantic(const Host *h, uint64_t page_size) {
        return page_size > largest_block(h);
}

typedef struct Making {
        const ArgumentsInput *input;
        Arguments *arguments;
        Diagnostics *d;
        Host fresh; /* this machine as it will be at boot: no huge pages but those that others ask for */
        BootSettings others;
        Plan *plan;
} Making;

static void making_done(Making *m) {
        if (m->plan)
                plan_free(m->plan);
        for (size_t n = 0; m->fresh.nodes && n < m->fresh.n_nodes; n++)
                free(m->fresh.nodes[n].pages);
        free(m->fresh.nodes);
        free(m->fresh.sizes);
        boot_settings_done(&m->others);
}

/* Takes text over. */
static int add(Making *m, char *text, Source source, uint64_t page_size, uint64_t pages) {
        Arguments *a = m->arguments;

        if (!text)
                return -ENOMEM;
        if (GROW_ARRAY(a->items, a->n) < 0) {
                free(text);
                return -ENOMEM;
        }
        a->items[a->n++] =
                (Argument){ .text = text, .page_size = page_size, .pages = pages, .source = source };
        return 0;
}

static int add_word(Making *m, const char *name, const char *value, Source source) {
        char *text;

        return add(m, asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text, source, 0, 0);
}

/* s390 has pages of 2G, but lists them only after a hugepagesz= has asked for them
 * (arch_hugetlb_valid_size() in arch/s390/mm/hugetlbpage.c). */
static bool is_of_command_line(const ArgumentsInput *input, uint64_t page_size) {
        return input->architecture && startswith(input->architecture, "s390") && page_size == 2 * G;
}

static bool size_is_known(const Making *m, uint64_t page_size) {
        return host_find_size(&m->fresh, page_size) != SIZE_MAX;
}

static bool covers(const Making *m, uint64_t page_size) {
        switch (m->input->config->system.kernel_command_line) {
        case KERNEL_COMMAND_LINE_ALL:
                return true;
        case KERNEL_COMMAND_LINE_NONE:
                return false;
        case KERNEL_COMMAND_LINE_GIGANTIC:
        default:
                return page_size_is_gigantic(&m->fresh, page_size);
        }
}

/* The machine at boot. */

static int copy_sizes(Making *m) {
        const Host *h = m->input->host;
        Host *fresh = &m->fresh;
        size_t n = 0;

        fresh->sizes = calloc(h->n_sizes + 1, sizeof(PageSize));
        if (!fresh->sizes)
                return -ENOMEM;
        if (is_of_command_line(m->input, 2 * G) && h->n_sizes > 0 &&
            host_find_size(h, 2 * G) == SIZE_MAX) /* the largest there */
                fresh->sizes[n++].bytes = 2 * G;
        for (size_t i = 0; i < h->n_sizes; i++)
                fresh->sizes[n++].bytes = h->sizes[i].bytes;
        fresh->n_sizes = n;
        return 0;
}

static int copy_nodes(Making *m) {
        const Host *h = m->input->host;

        m->fresh.nodes = calloc(h->n_nodes + 1, sizeof(Node));
        if (!m->fresh.nodes)
                return -ENOMEM;
        for (size_t n = 0; n < h->n_nodes; n++) {
                m->fresh.nodes[n] = h->nodes[n];
                m->fresh.nodes[n].pages = NULL;
        }
        for (size_t n = 0; n < h->n_nodes; n++) {
                m->fresh.nodes[n].pages = calloc(m->fresh.n_sizes + 1, sizeof(PageCounts));
                if (!m->fresh.nodes[n].pages)
                        return -ENOMEM;
        }
        return 0;
}

static size_t n_memory_nodes(const Host *h) {
        size_t count = 0;

        for (size_t n = 0; n < h->n_nodes; n++)
                count += h->nodes[n].has_memory;
        return count;
}

/* Pages that somebody else has on the command line are there at the next boot as well. */
static void add_pages_of_others(Making *m, size_t s, const char *value) {
        Host *h = &m->fresh;
        uint64_t sum = boot_value_sum(value), n_nodes = n_memory_nodes(h), k = 0, there = 0;

        for (size_t n = 0; n < h->n_nodes; n++) {
                uint64_t pages;

                if (!h->nodes[n].has_memory)
                        continue;
                pages = boot_value_of_node(value, h->nodes[n].id);
                if (pages == UINT64_MAX) /* spread evenly, the remainder to the first */
                        pages = sum / n_nodes + (k++ < sum % n_nodes);
                pages = MIN(pages, h->nodes[n].mem_total / h->sizes[s].bytes);
                h->nodes[n].pages[s].nr = h->nodes[n].pages[s].free = pages;
                there += pages;
        }
        h->sizes[s].total.nr = h->sizes[s].total.free = there;
        h->mem_available = sub_sat(h->mem_available, mul_sat(there, h->sizes[s].bytes));
}

/* Where a pool asks for this size, how many there are at boot is for us to say. */
static bool decides(const Making *m, uint64_t page_size) {
        const Config *c = m->input->config;

        for (size_t i = 0; i < c->n_pools; i++) {
                const Pool *p = c->pools[i];

                if (!p->section.dropped && p->size.type != AMOUNT_UNSET &&
                    (p->page_size ?: m->fresh.default_page_size) == page_size)
                        return covers(m, page_size);
        }
        return false;
}

static int make_fresh(Making *m) {
        const Host *h = m->input->host;
        int r;

        m->fresh = *h;
        m->fresh.nodes = NULL;
        m->fresh.sizes = NULL;
        m->fresh.state = NULL;
        m->fresh.mem_available = h->mem_total; /* who will use memory then is not known */
        if ((r = copy_sizes(m)) < 0 || (r = copy_nodes(m)) < 0)
                return r;
        for (size_t s = 0; s < m->fresh.n_sizes; s++) {
                uint64_t page_size = m->fresh.sizes[s].bytes;
                const BootSetting *b = boot_settings_find(&m->others, BOOT_PAGES, page_size);

                if (b && b->value && !decides(m, page_size))
                        add_pages_of_others(m, s, b->value);
        }
        return 0;
}

/* The plan's errors are ours. Its warnings are about this moment, or are told by others. */
static void take_errors(const Making *m, const Diagnostics *from) {
        for (size_t i = 0; i < from->n; i++)
                if (from->items[i].severity == SEVERITY_ERROR)
                        diag_error(m->d, ((Source){ from->items[i].file, from->items[i].line }), "%s",
                                   from->items[i].message);
}

static int make_plan(Making *m) {
        const PlanInput input = {
                .config = m->input->config,
                .host = &m->fresh,
                .pci_node = m->input->pci_node,
                .userdata = m->input->userdata,
        };
        Diagnostics d = {};
        int r = plan_make(&input, &m->plan, &d);

        if (r >= 0)
                take_errors(m, &d);
        diag_done(&d);
        return r;
}

/* Pages of huge page sizes. */

/* Not on all nodes with memory alike, which is what the kernel does with a mere number. */
static bool is_bound(const Host *h, const PlanPool *pp) {
        if (pp->explicit_nodes)
                return true;
        for (size_t n = 0; n < h->n_nodes; n++)
                if (h->nodes[n].has_memory && !pp->allowed[n])
                        return true;
        return false;
}

/* hugepages=0:4,1:4 came with 5.16, and ignored node numbers beyond the number of nodes until 5.18
 * ("hugetlb: fix wrong use of nr_online_nodes"). POWER ignores all of it: hugetlb_node_alloc_supported() in
 * arch/powerpc/mm/hugetlbpage.c. Gives a reason, or NULL. */
static const char *why_not_by_node(const Making *m, size_t s) {
        const Host *h = &m->fresh;
        const ArgumentsInput *input = m->input;

        if (input->architecture && startswith(input->architecture, "ppc"))
                return "this architecture's kernel takes none";
        if (!kernel_has(input->kernel, 5, 16))
                return "a count a node needs 5.16";
        for (size_t n = 0; n < h->n_nodes; n++)
                if (plan_node(m->plan, s, n)->wanted > 0 && h->nodes[n].id >= n_memory_nodes(h) &&
                    !kernel_has(input->kernel, 5, 18))
                        return "a count a node needs 5.18 where node numbers have gaps";
        return NULL;
}

typedef struct SizePages { /* what all pools of a page size come to */
        Source source;     /* the first one's header */
        const char *name;  /* of the first pool that is bound to nodes; NULL: none is */
        Source bound_source;
        uint64_t pages;
} SizePages;

static SizePages sum_pools(const Making *m, size_t s) {
        SizePages sum = {};

        for (size_t i = 0; i < m->plan->n_pools; i++) {
                const PlanPool *pp = &m->plan->pools[i];
                const Section *section = &pp->pool->section;

                if (pp->size_index != s)
                        continue;
                if (!sum.source.file)
                        sum.source = section->source;
                if (!sum.name && pp->planned > 0 && is_bound(&m->fresh, pp)) {
                        sum.name = section->name;
                        sum.bound_source = section->source;
                }
                sum.pages = add_sat(sum.pages, pp->planned);
        }
        return sum;
}

static void warn_cuts(const Making *m, size_t s) {
        for (size_t i = 0; i < m->plan->n_pools; i++) {
                const PlanPool *pp = &m->plan->pools[i];

                if (pp->size_index == s && pp->cut)
                        diag_warning(m->d, pp->pool->section.source, "pool %s: %s", pp->pool->section.name,
                                     pp->cut);
        }
}

/* With hugetlb_cma= the kernel allocates no gigantic page at boot, and takes them from that memory at run
 * time; only hugetlb_cma_only= (6.15) lets hugepages= have them from there (hugetlb_hstate_alloc_pages() and
 * hugetlb_early_cma() in mm/hugetlb.c). */
static bool left_to_cma(const Making *m) {
        const BootSetting *cma = boot_settings_find(&m->others, BOOT_CMA, 0),
                          *only = boot_settings_find(&m->others, BOOT_CMA_ONLY, 0);
        bool yes;

        if (!m->fresh.has_cma || !cma || boot_value_sum(cma->value) == 0)
                return false;
        return !kernel_has(m->input->kernel, 6, 15) || !only || parse_boolean(only->value, &yes) < 0 || !yes;
}

static void warn_cma(const Making *m, uint64_t bytes, Source source) {
        const BootSetting *cma = boot_settings_find(&m->others, BOOT_CMA, 0);
        uint64_t there = boot_value_sum(cma->value);

        if (there < bytes)
                diag_warning(m->d, source,
                             "%s has less than the %s that pools of gigantic pages ask for; with it, the "
                             "kernel ignores hugepages= for them",
                             cma->text, FORMAT_SIZE(bytes));
        else
                diag_warning(
                        m->d, source,
                        "%s: the kernel ignores hugepages= for gigantic pages then, and has %s for them "
                        "when they are reserved",
                        cma->text, FORMAT_SIZE(there));
}

static void put_by_node(FILE *f, const Making *m, size_t s) {
        const char *before = "";

        for (size_t n = 0; n < m->fresh.n_nodes; n++) {
                uint64_t pages = plan_node(m->plan, s, n)->wanted;

                if (pages == 0)
                        continue;
                fprintf(f, "%s%u:%" PRIu64, before, m->fresh.nodes[n].id, pages);
                before = ",";
        }
}

static int add_pages(Making *m, size_t s, const SizePages *sum) {
        const char *why_not = sum->name ? why_not_by_node(m, s) : NULL;
        _cleanup_free_ char *text = NULL;
        uint64_t page_size = m->fresh.sizes[s].bytes;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        fprintf(f, "hugepagesz=%s hugepages=", FORMAT_SIZE_EXACT(page_size));
        if (sum->name && !why_not)
                put_by_node(f, m, s);
        else
                fprintf(f, "%" PRIu64, sum->pages);
        if (fclose(f) != 0)
                return -ENOMEM;
        if (why_not)
                diag_warning(m->d, sum->bound_source,
                             "pool %s names its nodes, and the command line of kernel %u.%u cannot (%s): "
                             "the kernel spreads its %s pages over all nodes",
                             sum->name, m->input->kernel.version, m->input->kernel.patchlevel, why_not,
                             FORMAT_SIZE_EXACT(page_size));
        return add(m, TAKE_PTR(text), sum->source, page_size, sum->pages);
}

static int add_sizes(Making *m) {
        uint64_t cma_bytes = 0;
        Source cma_source = {};
        int r = 0;

        for (size_t s = 0; s < m->fresh.n_sizes && r >= 0; s++) {
                uint64_t page_size = m->fresh.sizes[s].bytes;
                SizePages sum = sum_pools(m, s);

                if (!covers(m, page_size))
                        continue;
                warn_cuts(m, s);
                if (sum.pages == 0)
                        continue;
                if (page_size_is_gigantic(&m->fresh, page_size) && left_to_cma(m)) {
                        cma_bytes = add_sat(cma_bytes, mul_sat(sum.pages, page_size));
                        cma_source = sum.source;
                } else
                        r = add_pages(m, s, &sum);
        }
        if (cma_bytes > 0)
                warn_cma(m, cma_bytes, cma_source);
        return r;
}

static int add_default_size(Making *m) {
        const System *system = &m->input->config->system;
        uint64_t page_size = system->default_page_size;
        Source source = section_key_source(&system->section, "DefaultPageSize");

        if (page_size == 0)
                return 0;
        if (!size_is_known(m, page_size)) {
                diag_error(m->d, source, "DefaultPageSize=%s: this kernel has no huge pages of this size",
                           FORMAT_SIZE_EXACT(page_size));
                return 0;
        }
        return add_word(m, "default_hugepagesz", FORMAT_SIZE_EXACT(page_size), source);
}

/* 5.14 (Documentation/admin-guide/kernel-parameters.txt). */
static int add_vmemmap(Making *m) {
        const System *system = &m->input->config->system;

        if (system->optimize_vmemmap == TRISTATE_UNSET || !kernel_has(m->input->kernel, 5, 14))
                return 0;
        return add_word(m, "hugetlb_free_vmemmap", system->optimize_vmemmap == TRISTATE_YES ? "on" : "off",
                        section_key_source(&system->section, "OptimizeVmemmap"));
}

/* Transparent huge pages. */

/* "…/hugepages-64kB/enabled" → 65536; 0 for another knob. */
static uint64_t thp_size_of_knob(const char *path, const char *name) {
        const char *rest = startswith(path, THP_DIRECTORY "/hugepages-");
        char *end;
        uint64_t kb = rest ? strtoull(rest, &end, 10) : 0;

        return kb > 0 && startswith(end, "kB/") && streq(end + strlen("kB/"), name) ? kb * 1024 : 0;
}

/* The largest is a PMD's (THP_ORDERS_ALL_ANON in include/linux/huge_mm.h). 0 where there are none. */
static uint64_t largest_thp_size(const Host *h, const char *name) {
        uint64_t largest = 0;

        for (size_t i = 0; i < h->n_knobs; i++)
                largest = MAX(largest, thp_size_of_knob(h->knobs[i].path, name));
        return largest;
}

typedef struct ThpSizes { /* thp_anon= or thp_shmem= */
        const char *argument;
        const char *knob; /* the file in the directory of a size */
        const char *key;
        const char *(*word)(const ThpSize *s); /* NULL: not set */
} ThpSizes;

static const char *thp_enabled(const ThpSize *s) {
        return s->enabled;
}

static const char *thp_shmem_enabled(const ThpSize *s) {
        return s->shmem_enabled;
}

static bool thp_is_asked(const ThpSizes *t, const ThpSize *size) {
        return !size->section.dropped && t->word(size);
}

static int add_thp_size(Making *m, const ThpSizes *t, uint64_t size, const char *word, Source source) {
        char value[64];

        snprintf(value, sizeof(value), "%s:%.24s", FORMAT_SIZE_EXACT(size), word);
        return add_word(m, t->argument, value, source);
}

/* A word for each size: one that the kernel lacks would cost it the others, and ";" is the end of a command
 * in GRUB's configuration. The first one switches off the size of a PMD, which inherits by default, unless
 * it is named. */
static int add_thp_sizes(Making *m, const ThpSizes *t) {
        const Config *c = m->input->config;
        uint64_t pmd_size = largest_thp_size(m->input->host, t->knob);
        const ThpSize *first = NULL;
        bool pmd_asked = false;
        int r = 0;

        for (size_t i = 0; i < c->n_thp_sizes && r >= 0; i++) {
                const ThpSize *size = c->thp_sizes[i];
                char path[128];

                snprintf(path, sizeof(path), THP_DIRECTORY "/hugepages-%" PRIu64 "kB/%s", size->size / 1024,
                         t->knob);
                if (!thp_is_asked(t, size) || !host_knob(m->input->host, path))
                        continue; /* a size that the kernel lacks is told by others */
                r = add_thp_size(m, t, size->size, t->word(size),
                                 section_key_source(&size->section, t->key));
                first = first ?: size;
                pmd_asked = pmd_asked || size->size == pmd_size;
        }
        if (r < 0 || !first || pmd_asked)
                return r;
        return add_thp_size(m, t, pmd_size, "inherit", section_key_source(&first->section, t->key));
}

/* thp_anon= came with 6.12, the other two with 6.13. */
static int add_thp(Making *m) {
        static const ThpSizes anon = { "thp_anon", "enabled", "Enabled", thp_enabled },
                              shmem = { "thp_shmem", "shmem_enabled", "ShmemEnabled", thp_shmem_enabled };
        const Thp *thp = &m->input->config->thp;
        KernelVersion kernel = m->input->kernel;
        int r = 0;

        if (!host_knob(m->input->host, THP_DIRECTORY "/enabled"))
                return 0;
        if (thp->enabled)
                r = add_word(m, "transparent_hugepage", thp->enabled,
                             section_key_source(&thp->section, "Enabled"));
        if (r >= 0 && thp->shmem_enabled && kernel_has(kernel, 6, 13))
                r = add_word(m, "transparent_hugepage_shmem", thp->shmem_enabled,
                             section_key_source(&thp->section, "ShmemEnabled"));
        if (r >= 0 && kernel_has(kernel, 6, 12))
                r = add_thp_sizes(m, &anon);
        if (r >= 0 && kernel_has(kernel, 6, 13))
                r = add_thp_sizes(m, &shmem);
        return r;
}

/* The default size must be known before a number of pages may mean it, and the pages must not be there
 * before their struct pages are to be freed. */
static int make(Making *m) {
        const Host *h = m->input->host;
        int r = boot_settings_parse(m->input->others ?: h->cmdline, h->default_page_size, &m->others);

        if (r < 0 || (r = make_fresh(m)) < 0 || (r = make_plan(m)) < 0 || (r = add_default_size(m)) < 0 ||
            (r = add_vmemmap(m)) < 0 || (r = add_sizes(m)) < 0)
                return r;
        return add_thp(m);
}

int arguments_make(const ArgumentsInput *input, Arguments *ret, Diagnostics *d) {
        _cleanup_(arguments_done) Arguments arguments = {};
        _cleanup_(making_done) Making m = { .input = input, .arguments = &arguments, .d = d };
        int r = make(&m);

        if (r < 0)
                return r;
        *ret = arguments;
        arguments = (Arguments){};
        return 0;
}

char *arguments_line(const Arguments *a) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        for (size_t i = 0; i < a->n; i++)
                fprintf(f, "%s%s", i > 0 ? " " : "", a->items[i].text);
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

void arguments_done(Arguments *a) {
        for (size_t i = 0; i < a->n; i++)
                free(a->items[i].text);
        free(a->items);
        *a = (Arguments){};
}
