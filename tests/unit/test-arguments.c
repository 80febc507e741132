/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel arguments: what drop-ins ask for, and how that compares with a command line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "boot/arguments.h"
#include "boot/compare.h"
#include "report/report.h"

#define K (1ull << 10)
#define M (1ull << 20)
#define G (1ull << 30)

#define MAX_NODES 4
#define MAX_SIZES 4
#define MAX_POOLS 4
#define MAX_KNOBS 8

/* A machine and a configuration that live on the test's stack. */
typedef struct Case {
        Host host;
        Node nodes[MAX_NODES];
        PageSize sizes[MAX_SIZES];
        PageCounts counts[MAX_NODES][MAX_SIZES];
        Knob knobs[MAX_KNOBS];

        Config config;
        Pool pools[MAX_POOLS];
        Pool *pool_list[MAX_POOLS];
        NodeAmount amounts[MAX_POOLS][MAX_NODES];
        NodeAmount ranges[MAX_POOLS];
        ThpSize thp_sizes[MAX_POOLS];
        ThpSize *thp_list[MAX_POOLS];

        ArgumentsInput input;
        Arguments arguments;
        Diagnostics diagnostics;
} Case;

static void case_done(Case *c) {
        arguments_done(&c->arguments);
        diag_done(&c->diagnostics);
}

#define _cleanup_case_ _cleanup_(case_done)

static void machine(Case *c, size_t n_nodes, uint64_t bytes_each, unsigned version, unsigned patchlevel) {
        *c = (Case){};
        c->host = (Host){
                .numa = true,
                .nodes = c->nodes,
                .n_nodes = n_nodes,
                .sizes = c->sizes,
                .n_sizes = 2,
                .default_page_size = 2 * M,
                .mem_total = n_nodes * bytes_each,
                .mem_available = n_nodes * bytes_each,
                .cmdline = (char *) "root=/dev/vda1 quiet",
                .knobs = c->knobs,
        };
        for (size_t n = 0; n < n_nodes; n++)
                c->nodes[n] = (Node){
                        .id = (unsigned) n,
                        .has_memory = true,
                        .has_cpu = true,
                        .mem_total = bytes_each,
                        .mem_free = bytes_each,
                        .pages = c->counts[n],
                };
        c->sizes[0].bytes = G;
        c->sizes[1].bytes = 2 * M;
        c->config.pools = c->pool_list;
        c->config.thp_sizes = c->thp_list;
        c->config.system.keep_free = (Amount){ .type = AMOUNT_BYTES, .value = G };
        c->config.system.section.source = (Source){ "/etc/hugepages.d/10-system.conf", 1 };
        c->input = (ArgumentsInput){
                .config = &c->config,
                .host = &c->host,
                .kernel = { version, patchlevel },
                .architecture = "x86_64",
        };
}

static Pool *pool(Case *c, const char *name, uint64_t page_size, uint64_t pages) {
        size_t i = c->config.n_pools++;
        Pool *p = &c->pools[i];

        *p = (Pool){
                .section = { .type = SECTION_POOL,
                             .name = (char *) name,
                             .source = { "/etc/hugepages.d/50-test.conf", (unsigned) i * 10 + 1 } },
                .page_size = page_size,
                .size = { .type = AMOUNT_PAGES, .value = pages },
        };
        c->pool_list[i] = p;
        return p;
}

static void on_node(Case *c, Pool *p, unsigned node) {
        NodeAmount *range = &c->ranges[p - c->pools];

        *range = (NodeAmount){ .first = node, .last = node };
        p->nodes = (Nodes){ .type = NODES_LIST, .ranges = range, .n_ranges = 1 };
}

static void by_node(Case *c, Pool *p, unsigned node, uint64_t pages) {
        p->size.type = AMOUNT_NODES_PAGES;
        p->size.nodes = c->amounts[p - c->pools];
        p->size.nodes[p->size.n_nodes++] = (NodeAmount){ node, node, pages };
}

static void knob(Case *c, const char *path, const char *value) { /* by ascending path */
        c->knobs[c->host.n_knobs++] = (Knob){ (char *) path, (char *) value };
}

static void thp_size(Case *c, uint64_t size, const char *enabled, const char *shmem_enabled) {
        size_t i = c->config.n_thp_sizes++;

        c->thp_sizes[i] = (ThpSize){
                .section = { .type = SECTION_THP_SIZE, .source = { "/etc/hugepages.d/90-thp.conf", 1 } },
                .size = size,
                .enabled = (char *) enabled,
                .shmem_enabled = (char *) shmem_enabled,
        };
        c->thp_list[i] = &c->thp_sizes[i];
}

/* Makes them, and compares with what is expected: all in one line, and the diagnostics, one a line. */
static void check(Case *c, const char *line, const char *diagnostics) {
        _cleanup_free_ char *got = NULL, *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        arguments_done(&c->arguments);
        diag_done(&c->diagnostics);
        assert_int_equal(arguments_make(&c->input, &c->arguments, &c->diagnostics), 0);
        got = arguments_line(&c->arguments);
        assert_string_equal(got, line);
        for (size_t i = 0; i < c->diagnostics.n; i++) {
                _cleanup_free_ char *s = diag_format(&c->diagnostics.items[i]);

                fprintf(f, "%s%s: %s", i > 0 ? "\n" : "",
                        severity_to_string(c->diagnostics.items[i].severity), s);
        }
        fclose(f);
        assert_string_equal(text, diagnostics);
}

static void test_versions(void **state) {
        KernelVersion v = {};

        assert_int_equal(kernel_version_parse("6.1.0-37-amd64", &v), 0);
        assert_int_equal(v.version, 6);
        assert_int_equal(v.patchlevel, 1);
        assert_int_equal(kernel_version_parse("5.14.0-503.el9_5.x86_64", &v), 0);
        assert_int_equal(v.patchlevel, 14);
        assert_int_equal(kernel_version_parse("6.12", &v), 0);
        assert_int_equal(v.patchlevel, 12);
        assert_int_equal(kernel_version_parse("6.12-rc3", &v), 0);
        assert_int_equal(kernel_version_parse("6.12+", &v), 0);
        assert_int_equal(kernel_version_parse("6", &v), -EINVAL);
        assert_int_equal(kernel_version_parse("v6.12", &v), -EINVAL);
        assert_int_equal(kernel_version_parse("-6.12", &v), -EINVAL);
        assert_int_equal(kernel_version_parse("6.12 ", &v), -EINVAL);
        assert_int_equal(kernel_version_parse("6.x", &v), -EINVAL);
        assert_int_equal(kernel_version_parse("", &v), -EINVAL);
}

static void check_gigantic(const uint64_t *sizes, size_t n, uint64_t smallest_gigantic) {
        PageSize list[MAX_SIZES] = {};
        Host h = { .sizes = list, .n_sizes = n };

        for (size_t i = 0; i < n; i++)
                list[i].bytes = sizes[i];
        for (size_t i = 0; i < n; i++)
                assert_int_equal(page_size_is_gigantic(&h, sizes[i]), sizes[i] >= smallest_gigantic);
}

#define CHECK_GIGANTIC(smallest, ...)                                                                       \
        check_gigantic((const uint64_t[]){ __VA_ARGS__ }, ELEMENTSOF(((const uint64_t[]){ __VA_ARGS__ })),  \
                       (smallest))

static void test_gigantic(void **state) {
        CHECK_GIGANTIC(G, G, 2 * M);                      /* x86-64 */
        CHECK_GIGANTIC(32 * M, G, 32 * M, 2 * M, 64 * K); /* arm64, base pages of 4K */
        CHECK_GIGANTIC(G, G, 32 * M, 2 * M);              /* of 16K */
        CHECK_GIGANTIC(16 * G, 16 * G, 512 * M, 2 * M);   /* of 64K */
        CHECK_GIGANTIC(16 * G, 16 * G, 16 * M);           /* POWER with the hash MMU */
        CHECK_GIGANTIC(G, G, 2 * M);                      /* with radix */
        CHECK_GIGANTIC(2 * G, 2 * G, M);                  /* s390 */
}

static void test_one_node(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 16 * G, 4, 18);
        on_node(&c, pool(&c, "vm", G, 4), 0); /* there is no other */
        pool(&c, "db", 2 * M, 1024);
        check(&c, "hugepagesz=1G hugepages=4", "");
        assert_int_equal(c.arguments.items[0].pages, 4);
        assert_int_equal(c.arguments.items[0].page_size, G);
        assert_int_equal(c.arguments.items[0].source.line, 1);
}

static void test_nothing(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 2, 16 * G, 6, 1);
        check(&c, "", "");
        pool(&c, "db", 2 * M, 1024);
        check(&c, "", "");
        assert_int_equal(c.arguments.n, 0);
}

static void test_spread(void **state) {
        _cleanup_case_ Case c;

        /* The kernel spreads a mere number as we do, and finds another node where one has no room. */
        machine(&c, 2, 16 * G, 4, 18);
        pool(&c, "a", G, 3);
        pool(&c, "b", G, 4);
        check(&c, "hugepagesz=1G hugepages=7", "");
}

static void test_by_node(void **state) {
        _cleanup_case_ Case c;
        Pool *p;

        machine(&c, 2, 16 * G, 5, 16);
        p = pool(&c, "vm", G, 0);
        by_node(&c, p, 0, 2);
        by_node(&c, p, 1, 5);
        check(&c, "hugepagesz=1G hugepages=0:2,1:5", "");
        on_node(&c, pool(&c, "dpdk", G, 3), 1);
        check(&c, "hugepagesz=1G hugepages=0:2,1:8", "");
        pool(&c, "any", G, 2); /* what is bound decides the form, for all */
        check(&c, "hugepagesz=1G hugepages=0:3,1:9", "");
}

static void test_memory_without_cpus(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 2, 16 * G, 6, 1);
        c.nodes[1].has_cpu = false; /* Nodes=all leaves it alone, the kernel would not */
        pool(&c, "vm", G, 4);
        check(&c, "hugepagesz=1G hugepages=0:4", "");
        c.nodes[1].has_memory = false;
        check(&c, "hugepagesz=1G hugepages=4", "");
}

static void test_old_kernels(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 2, 16 * G, 5, 15);
        on_node(&c, pool(&c, "dpdk", G, 4), 1);
        check(&c, "hugepagesz=1G hugepages=4",
              "warning: /etc/hugepages.d/50-test.conf:1: pool dpdk names its nodes, and the command line of "
              "kernel 5.15 cannot (a count a node needs 5.16): the kernel spreads its 1G pages over all "
              "nodes");
        c.input.kernel.patchlevel = 16;
        check(&c, "hugepagesz=1G hugepages=1:4", "");
        c.nodes[1].id = 8;
        c.ranges[0] = (NodeAmount){ .first = 8, .last = 8 };
        check(&c, "hugepagesz=1G hugepages=4",
              "warning: /etc/hugepages.d/50-test.conf:1: pool dpdk names its nodes, and the command line of "
              "kernel 5.16 cannot (a count a node needs 5.18 where node numbers have gaps): the kernel "
              "spreads its 1G pages over all nodes");
        c.input.kernel.patchlevel = 18;
        check(&c, "hugepagesz=1G hugepages=8:4", "");
        c.input.architecture = NULL;
        check(&c, "hugepagesz=1G hugepages=8:4", "");
        c.input.architecture = "ppc64le";
        check(&c, "hugepagesz=1G hugepages=4",
              "warning: /etc/hugepages.d/50-test.conf:1: pool dpdk names its nodes, and the command line of "
              "kernel 5.18 cannot (this architecture's kernel takes none): the kernel spreads its 1G pages "
              "over all nodes");
}

static void test_which_pools(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 16 * G, 6, 1);
        pool(&c, "db", 2 * M, 1024);
        pool(&c, "vm", G, 4);
        check(&c, "hugepagesz=1G hugepages=4", "");
        c.config.system.kernel_command_line = KERNEL_COMMAND_LINE_ALL;
        check(&c, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=1024", "");
        c.config.system.kernel_command_line = KERNEL_COMMAND_LINE_NONE;
        check(&c, "", "");
}

static void test_keep_free(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 8 * G, 6, 1);
        pool(&c, "vm", G, 16);
        check(&c, "hugepagesz=1G hugepages=7",
              "warning: /etc/hugepages.d/50-test.conf:1: pool vm: KeepFree=1G of 8G memory leaves room for "
              "7 of "
              "16 pages");
        c.pools[0].size.value = 1000000;
        check(&c, "hugepagesz=1G hugepages=7",
              "warning: /etc/hugepages.d/50-test.conf:1: pool vm: KeepFree=1G of 8G memory leaves room for "
              "7 of "
              "1000000 pages");
        pool(&c, "db", 2 * M, 1024)->essential = true; /* not on the command line, but keeps its room */
        check(&c, "hugepagesz=1G hugepages=5",
              "warning: /etc/hugepages.d/50-test.conf:1: pool vm: KeepFree=1G of 8G memory leaves room for "
              "5 of "
              "1000000 pages");
}

static void test_rest(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 8 * G, 6, 1);
        pool(&c, "vm", G, 0)->size = (Amount){ .type = AMOUNT_REST };
        pool(&c, "db", 2 * M, 512);
        check(&c, "hugepagesz=1G hugepages=6", "");

        StatePages there = { .page_size = G, .pages = 2 };
        StatePool found = { .name = (char *) "vm", .page_size = G, .requested = 2, .reserved = 2 };
        State then = { .pools = &found, .n_pools = 1 };

        found.nodes = &there;
        found.n_nodes = 1;
        c.host.state = &then; /* what it came to in this boot */
        check(&c, "hugepagesz=1G hugepages=6", "");
}

/* What is there now has no say: the next boot begins anew. */
static void test_fresh(void **state) {
        _cleanup_case_ Case c;
        State before = {};

        machine(&c, 2, 8 * G, 6, 1);
        c.host.mem_available = G;
        c.host.state = &before;
        c.counts[0][0] = (PageCounts){ .nr = 5, .free = 1, .surplus = 1 };
        c.sizes[0].total = c.counts[0][0];
        c.sizes[0].resv = 1;
        pool(&c, "vm", G, 6);
        c.host.cmdline = (char *) "hugepagesz=1G hugepages=5"; /* that it once was ours */
        check(&c, "hugepagesz=1G hugepages=6", "");
        assert_int_equal(c.counts[0][0].nr, 5);

        /* Nor have those that an earlier configuration asked for. */
        c.config.system.kernel_command_line = KERNEL_COMMAND_LINE_ALL;
        c.pools[0].size.value = 2;
        pool(&c, "db", 2 * M, 6 * G / (2 * M));
        c.host.cmdline = (char *) "hugepagesz=1G hugepages=12";
        check(&c, "hugepagesz=1G hugepages=2 hugepagesz=2M hugepages=3072", "");
}

static void test_pages_of_others(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 2, 8 * G, 6, 1); /* 2 × 8G: 3G of others, 1G free, 12 pages at most */
        pool(&c, "vm", G, 16);
        c.host.cmdline = (char *) "hugepagesz=2M hugepages=0:1024,1:512";
        check(&c, "hugepagesz=1G hugepages=12",
              "warning: /etc/hugepages.d/50-test.conf:1: pool vm: KeepFree=1G of 16G memory leaves room for "
              "12 "
              "of 16 pages");
        pool(&c, "db", 2 * M, 1536); /* these are its pages: they do not count twice */
        check(&c, "hugepagesz=1G hugepages=12",
              "warning: /etc/hugepages.d/50-test.conf:1: pool vm: KeepFree=1G of 16G memory leaves room for "
              "12 "
              "of 16 pages");
        c.host.cmdline = (char *) "hugepages=1536";
        check(&c, "hugepagesz=1G hugepages=12",
              "warning: /etc/hugepages.d/50-test.conf:1: pool vm: KeepFree=1G of 16G memory leaves room for "
              "12 "
              "of 16 pages");
        c.config.system.kernel_command_line = KERNEL_COMMAND_LINE_ALL; /* now they are ours to decide */
        c.pools[0].size.value = 4;
        check(&c, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=1536", "");
}

static void test_pages_of_others_without_a_pool(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 2, 8 * G, 6, 1);
        c.config.system.kernel_command_line = KERNEL_COMMAND_LINE_ALL;
        pool(&c, "db", 2 * M, 14 * G / (2 * M));
        c.host.cmdline = (char *) "hugepagesz=1G hugepages=4";
        check(&c, "hugepagesz=2M hugepages=5632",
              "warning: /etc/hugepages.d/50-test.conf:1: pool db: KeepFree=1G of 16G memory leaves room for "
              "5632 of 7168 pages");
}

static void test_missing_sizes(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 16 * G, 6, 1);
        pool(&c, "vm", 16 * G, 1);
        pool(&c, "db", G, 2);
        c.config.system.default_page_size = 32 * M;
        check(&c, "hugepagesz=1G hugepages=2",
              "error: /etc/hugepages.d/50-test.conf:1: PageSize=16G: this kernel has no huge pages of this "
              "size "
              "(it has 1G, 2M); pool vm is dropped\n"
              "error: /etc/hugepages.d/10-system.conf:1: DefaultPageSize=32M: this kernel has no huge pages "
              "of "
              "this size");
        assert_true(c.pools[0].section.dropped);
}

static void test_s390(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 16 * G, 6, 1);
        c.host.n_sizes = 1; /* 2G are there once they have been asked for */
        c.sizes[0].bytes = M;
        c.host.default_page_size = M;
        c.input.architecture = "s390x";
        pool(&c, "vm", 2 * G, 3);
        check(&c, "hugepagesz=2G hugepages=3", "");
        c.pools[0].section.dropped = false;
        c.input.architecture = "x86_64";
        check(&c, "",
              "error: /etc/hugepages.d/50-test.conf:1: PageSize=2G: this kernel has no huge pages of this "
              "size "
              "(it has 1M); pool vm is dropped");
}

static void test_system(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 16 * G, 5, 14);
        pool(&c, "vm", G, 2);
        c.config.system.default_page_size = G;
        c.config.system.optimize_vmemmap = TRISTATE_YES;
        check(&c, "default_hugepagesz=1G hugetlb_free_vmemmap=on hugepagesz=1G hugepages=2", "");
        c.config.system.optimize_vmemmap = TRISTATE_NO;
        check(&c, "default_hugepagesz=1G hugetlb_free_vmemmap=off hugepagesz=1G hugepages=2", "");
        c.input.kernel.patchlevel = 13;
        check(&c, "default_hugepagesz=1G hugepagesz=1G hugepages=2", "");
}

static void test_cma(void **state) {
        static const char enough[] = "warning: /etc/hugepages.d/50-test.conf:1: hugetlb_cma=8G: the kernel "
                                     "ignores hugepages= for "
                                     "gigantic pages then, and has 8G for them when they are reserved";
        _cleanup_case_ Case c;

        machine(&c, 2, 16 * G, 6, 12);
        c.config.system.kernel_command_line = KERNEL_COMMAND_LINE_ALL;
        pool(&c, "vm", G, 8);
        pool(&c, "db", 2 * M, 512);
        c.host.cmdline = (char *) "quiet hugetlb_cma=8G";
        check(&c, "hugepagesz=1G hugepages=8 hugepagesz=2M hugepages=512", ""); /* CONFIG_CMA=n */
        c.host.has_cma = true;
        check(&c, "hugepagesz=2M hugepages=512", enough);
        c.host.cmdline = (char *) "hugetlb_cma=0:2G,1:4G";
        check(&c, "hugepagesz=2M hugepages=512",
              "warning: /etc/hugepages.d/50-test.conf:1: hugetlb_cma=0:2G,1:4G has less than the 8G that "
              "pools "
              "of gigantic pages ask for; with it, the kernel ignores hugepages= for them");
        c.host.cmdline = (char *) "hugetlb_cma=0";
        check(&c, "hugepagesz=1G hugepages=8 hugepagesz=2M hugepages=512", "");
        c.host.cmdline = (char *) "hugetlb_cma=8G hugetlb_cma_only=1"; /* 6.12 knows no such thing */
        check(&c, "hugepagesz=2M hugepages=512", enough);
        c.input.kernel.patchlevel = 15;
        check(&c, "hugepagesz=1G hugepages=8 hugepagesz=2M hugepages=512", "");
        c.host.cmdline = (char *) "hugetlb_cma=8G hugetlb_cma_only=0";
        check(&c, "hugepagesz=2M hugepages=512", enough);
}

static void test_thp(void **state) {
        _cleanup_case_ Case c;

        machine(&c, 1, 16 * G, 6, 1);
        c.config.thp.enabled = (char *) "never";
        c.config.thp.shmem_enabled = (char *) "advise";
        thp_size(&c, 64 * K, "always", "within_size");
        thp_size(&c, 16 * M, "always", NULL); /* a size that there is not */
        check(&c, "", "");                    /* a kernel without THP */
        knob(&c, THP_DIRECTORY "/enabled", "always [madvise] never");
        check(&c, "transparent_hugepage=never", "");
        c.input.kernel.patchlevel = 13;
        check(&c, "transparent_hugepage=never transparent_hugepage_shmem=advise", "");

        c.host.n_knobs = 0;
        knob(&c, THP_DIRECTORY "/enabled", "always [madvise] never");
        knob(&c, THP_DIRECTORY "/hugepages-2048kB/enabled", "always [inherit] madvise never");
        knob(&c, THP_DIRECTORY "/hugepages-2048kB/shmem_enabled",
             "always [inherit] within_size advise never");
        knob(&c, THP_DIRECTORY "/hugepages-64kB/enabled", "always inherit madvise [never]");
        knob(&c, THP_DIRECTORY "/hugepages-64kB/shmem_enabled", "always inherit within_size advise [never]");
        c.input.kernel.patchlevel = 11;
        check(&c, "transparent_hugepage=never", "");
        c.input.kernel.patchlevel = 12;
        check(&c, "transparent_hugepage=never thp_anon=64K:always thp_anon=2M:inherit", "");
        c.input.kernel.patchlevel = 13;
        check(&c,
              "transparent_hugepage=never transparent_hugepage_shmem=advise thp_anon=64K:always "
              "thp_anon=2M:inherit thp_shmem=64K:within_size thp_shmem=2M:inherit",
              "");
        thp_size(&c, 2 * M, "madvise", NULL);
        check(&c,
              "transparent_hugepage=never transparent_hugepage_shmem=advise thp_anon=64K:always "
              "thp_anon=2M:madvise thp_shmem=64K:within_size thp_shmem=2M:inherit",
              "");
        c.thp_sizes[0].section.dropped = true;
        check(&c, "transparent_hugepage=never transparent_hugepage_shmem=advise thp_anon=2M:madvise", "");
}

/* "=present !missing ~different +extra -ignored", in order. */
static void check_compared(const char *arguments, const char *line, const char *expected) {
        static const char signs[] = {
                [PRESENCE_PRESENT] = '=', [PRESENCE_MISSING] = '!', [PRESENCE_DIFFERENT] = '~',
                [PRESENCE_EXTRA] = '+',   [PRESENCE_IGNORED] = '-',
        };
        _cleanup_(comparison_done) Comparison c = {};
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_int_equal(compare_arguments(arguments, line, 2 * M, &c), 0);
        for (size_t i = 0; i < c.n; i++)
                fprintf(f, "%s%c%s", i > 0 ? " " : "", signs[c.items[i].presence],
                        c.items[i].found ?: c.items[i].wanted);
        fclose(f);
        assert_string_equal(text, expected);
        assert_int_equal(comparison_complete(&c), !strpbrk(expected, "!~"));
}

static void test_compare(void **state) {
        check_compared("", "", "");
        check_compared("", "root=/dev/sda1 quiet hugetlb_cma=4G hugetlb_cma_only=1", "");
        check_compared("hugepagesz=1G hugepages=4", "quiet hugepagesz=1G hugepages=4",
                       "=hugepagesz=1G hugepages=4");
        check_compared("hugepagesz=1G hugepages=4", "quiet", "!hugepagesz=1G hugepages=4");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1g quiet hugepages=5",
                       "~hugepagesz=1g hugepages=5");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1024M hugepages=4 hugepagesz=2M hugepages=9",
                       "=hugepagesz=1024M hugepages=4 +hugepagesz=2M hugepages=9");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=0x40000000 hugepages=4",
                       "=hugepagesz=0x40000000 hugepages=4");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1G", "~hugepagesz=1G");
        check_compared("hugepagesz=1G hugepages=4", "-- hugepagesz=1G hugepages=4",
                       "!hugepagesz=1G hugepages=4");
        check_compared("hugepagesz=1G hugepages=0:4,1:8", "hugepagesz=1G hugepages=1:8,0:4",
                       "=hugepagesz=1G hugepages=1:8,0:4");
        check_compared("hugepagesz=1G hugepages=0:4,1:8", "hugepagesz=1G hugepages=0:4",
                       "~hugepagesz=1G hugepages=0:4");
        check_compared("hugepagesz=1G hugepages=0:4", "hugepagesz=1G hugepages=0:4,1:8",
                       "~hugepagesz=1G hugepages=0:4,1:8");
}

static bool loses(const char *before, const char *after) {
        bool lose;

        assert_int_equal(arguments_lose(before, after, 2 * M, &lose), 0);
        return lose;
}

static void test_lose(void **state) {
        assert_false(loses("", ""));
        assert_false(loses("", "hugepagesz=1G hugepages=4"));
        assert_true(loses("hugepagesz=1G hugepages=4", ""));
        assert_true(loses("hugepagesz=1G hugepages=4", "hugepagesz=2M hugepages=4"));
        assert_true(loses("hugepagesz=1G hugepages=0:4,1:8", "hugepagesz=1G hugepages=11"));
        assert_false(loses("hugepagesz=1G hugepages=0:4,1:8", "hugepagesz=1G hugepages=12"));
        assert_false(loses("hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=0:4,1:1"));
        assert_true(loses("default_hugepagesz=1G hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=4"));
        assert_false(loses("default_hugepagesz=1G", "default_hugepagesz=2M"));
        assert_true(loses("thp_anon=64K:always thp_anon=2M:inherit", "thp_anon=2M:inherit"));
}

static void test_first_one_wins(void **state) {
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=2 hugepagesz=1G hugepages=4",
                       "~hugepagesz=1G hugepages=2 -hugepagesz=1G hugepages=4");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=4 hugepagesz=1G hugepages=2",
                       "=hugepagesz=1G hugepages=4 -hugepagesz=1G hugepages=2");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=4 hugepagesz=1G hugepages=4",
                       "=hugepagesz=1G hugepages=4"); /* twice is once */
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=2 hugepages=4",
                       "~hugepagesz=1G hugepages=2 -hugepages=4");
        check_compared("hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=4 hugepages=512",
                       "=hugepagesz=1G hugepages=4 -hugepages=512");
        check_compared("hugepagesz=1G hugepages=4", "hugepages=512 hugepagesz=1G hugepages=4",
                       "=hugepagesz=1G hugepages=4 +hugepages=512");
        check_compared("default_hugepagesz=1G", "default_hugepagesz=2M default_hugepagesz=1G",
                       "~default_hugepagesz=2M -default_hugepagesz=1G");
}

static void test_default_size(void **state) {
        /* A number alone is of the default size, which is in front or behind. */
        check_compared("hugepagesz=2M hugepages=8", "hugepages=8", "=hugepages=8");
        check_compared("hugepagesz=2M hugepages=8", "hugepages=9 hugepagesz=2M hugepages=8",
                       "~hugepages=9 -hugepagesz=2M hugepages=8");
        check_compared("hugepagesz=1G hugepages=8", "hugepages=8 default_hugepagesz=1G",
                       "=hugepages=8 +default_hugepagesz=1G");
        check_compared("default_hugepagesz=1G hugepagesz=1G hugepages=8",
                       "default_hugepagesz=1G hugepages=8", "=default_hugepagesz=1G =hugepages=8");
        check_compared("default_hugepagesz=1G hugepagesz=1G hugepages=8",
                       "default_hugepagesz=1G hugepagesz=1G hugepages=8",
                       "=default_hugepagesz=1G =hugepagesz=1G hugepages=8");
        /* 512 pages of 2M would become as many of 1G. */
        check_compared("default_hugepagesz=1G", "hugepages=512", "~hugepages=512 +hugepages=512");
        check_compared("default_hugepagesz=1G", "hugepagesz=2M hugepages=512",
                       "!default_hugepagesz=1G +hugepagesz=2M hugepages=512");
        check_compared("default_hugepagesz=1G", "default_hugepagesz=1024M", "=default_hugepagesz=1024M");
}

static void test_last_one_wins(void **state) {
        check_compared("transparent_hugepage=never",
                       "transparent_hugepage=always transparent_hugepage=never",
                       "=transparent_hugepage=never -transparent_hugepage=always");
        check_compared("transparent_hugepage=never", "transparent-hugepage=always",
                       "~transparent-hugepage=always");
        check_compared("hugetlb_free_vmemmap=on", "hugetlb_free_vmemmap=1", "=hugetlb_free_vmemmap=1");
        check_compared("hugetlb_free_vmemmap=off", "hugetlb_free_vmemmap=on", "~hugetlb_free_vmemmap=on");
        check_compared("", "transparent_hugepage_shmem=always", "+transparent_hugepage_shmem=always");
}

static void test_thp_sizes(void **state) {
        check_compared("thp_anon=64K:always thp_anon=2M:inherit", "thp_anon=64K:always;2M:inherit",
                       "=thp_anon=64K:always =thp_anon=2M:inherit");
        check_compared("thp_anon=64K:always", "thp_anon=16K-128K,1M:always thp_anon=512K:never",
                       "=thp_anon=16K-128K:always +thp_anon=1M:always +thp_anon=512K:never");
        check_compared("thp_anon=64K:always", "thp_anon=64K:always thp_anon=32K-64K:never",
                       "~thp_anon=32K-64K:never");
        check_compared("thp_shmem=64K:advise", "thp_anon=64K:advise",
                       "!thp_shmem=64K:advise "
                       "+thp_anon=64K:advise");
}

static void test_values(void **state) {
        assert_int_equal(boot_value_sum("12"), 12);
        assert_int_equal(boot_value_sum("0:2,1:3"), 5);
        assert_int_equal(boot_value_sum("0:2G,8:512M"), 2 * G + 512 * M);
        assert_int_equal(boot_value_sum(""), 0);
        assert_int_equal(boot_value_of_node("0:2,8:3", 8), 3);
        assert_int_equal(boot_value_of_node("0:2,8:3", 1), 0);
        assert_true(boot_value_of_node("5", 0) == UINT64_MAX);
}

static void check_hint(const Outcome *o, const Argument *a, const char *expected) {
        _cleanup_free_ char *hint = NULL;

        assert_int_equal(report_cmdline_hint(o, a, &hint), 0);
        if (expected)
                assert_string_equal(hint, expected);
        else
                assert_null(hint);
}

static void test_hint(void **state) {
        OutcomePool pools[] = {
                { .name = (char *) "db", .page_size = 2 * M, .requested = 512, .reserved = 511 },
                { .name = (char *) "full", .page_size = G, .requested = 1, .reserved = 1 },
                { .name = (char *) "vm", .page_size = G, .requested = 4, .reserved = 2 },
        };
        OutcomeSize sizes[] = { { .page_size = G, .persistent = 3 }, { .page_size = 2 * M } };
        Outcome o = { .pools = pools, .n_pools = 3, .sizes = sizes, .n_sizes = 2 };
        Argument a = { .text = (char *) "hugepagesz=1G hugepages=5", .page_size = G, .pages = 5 };
        Argument thp = { .text = (char *) "transparent_hugepage=never" };

        check_hint(&o, &a,
                   "pool vm is short: the kernel command line would have got its 1G pages (hugepagesz=1G "
                   "hugepages=5): run hugepagesctl cmdline --install, and reboot");
        check_hint(&o, &thp, NULL);
        a.pages = 3; /* cut by KeepFree=: no more could have been had */
        check_hint(&o, &a, NULL);
        a.pages = 5;
        pools[2].reserved = 4;
        check_hint(&o, &a, NULL);
        pools[2].dropped = true;
        pools[2].reserved = 0;
        check_hint(&o, &a, NULL);
}

static void assert_boot_setting(const BootSettings *s, size_t i, BootKey key, uint64_t page_size,
                                const char *value, const char *text) {
        assert_int_equal(s->items[i].key, key);
        assert_int_equal(s->items[i].page_size, page_size);
        assert_string_equal(s->items[i].value, value);
        assert_string_equal(s->items[i].text, text);
        assert_false(s->items[i].ignored);
}

static void test_command_line_settings(void **state) {
        _cleanup_(boot_settings_done) BootSettings s = {};

        assert_int_equal(boot_settings_parse("quiet hugepagesz=1G hugepages=0:2,1:2 default_hugepagesz=2M "
                                             "transparent_hugepage=never hugetlb_cma=4G nohugepages=1 "
                                             "hugepages thp_anon=64K:always -- hugepages=9",
                                             2 * M, &s),
                         0);
        assert_int_equal(s.n, 5);
        assert_boot_setting(&s, 0, BOOT_PAGES, G, "0:2,1:2", "hugepagesz=1G hugepages=0:2,1:2");
        assert_boot_setting(&s, 1, BOOT_DEFAULT_PAGE_SIZE, 0, "2M", "default_hugepagesz=2M");
        assert_boot_setting(&s, 2, BOOT_THP, 0, "never", "transparent_hugepage=never");
        assert_boot_setting(&s, 3, BOOT_CMA, 0, "4G", "hugetlb_cma=4G");
        assert_boot_setting(&s, 4, BOOT_THP_ANON_SIZE, 64 * K, "always", "thp_anon=64K:always");
}

static void test_length_of_a_command_line(void **state) {
        assert_int_equal(command_line_max("x86_64"), 2047);
        assert_int_equal(command_line_max("i686"), 2047);
        assert_int_equal(command_line_max("aarch64"), 2047);
        assert_int_equal(command_line_max("armv7l"), 1023);
        assert_int_equal(command_line_max("ppc64le"), 2047);
        assert_int_equal(command_line_max("s390x"), 4095);
        assert_int_equal(command_line_max("riscv64"), 1023);
        assert_int_equal(command_line_max("loongarch64"), 4095);
        assert_int_equal(command_line_max("vax"), 0);
        assert_int_equal(command_line_max(NULL), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_command_line_settings),
                cmocka_unit_test(test_versions),
                cmocka_unit_test(test_gigantic),
                cmocka_unit_test(test_one_node),
                cmocka_unit_test(test_nothing),
                cmocka_unit_test(test_spread),
                cmocka_unit_test(test_by_node),
                cmocka_unit_test(test_memory_without_cpus),
                cmocka_unit_test(test_old_kernels),
                cmocka_unit_test(test_which_pools),
                cmocka_unit_test(test_keep_free),
                cmocka_unit_test(test_rest),
                cmocka_unit_test(test_fresh),
                cmocka_unit_test(test_pages_of_others),
                cmocka_unit_test(test_pages_of_others_without_a_pool),
                cmocka_unit_test(test_missing_sizes),
                cmocka_unit_test(test_s390),
                cmocka_unit_test(test_system),
                cmocka_unit_test(test_cma),
                cmocka_unit_test(test_thp),
                cmocka_unit_test(test_compare),
                cmocka_unit_test(test_first_one_wins),
                cmocka_unit_test(test_lose),
                cmocka_unit_test(test_default_size),
                cmocka_unit_test(test_last_one_wins),
                cmocka_unit_test(test_thp_sizes),
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_hint),
                cmocka_unit_test(test_length_of_a_command_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
