/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The snapshot of the machines in tests/fixtures, number by number, and of machines whose files make no
 * sense. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/host.h"
#include "temp-root.h"

#define K 1024ull
#define M (1024 * K)
#define G (1024 * M)

#define THP "/sys/kernel/mm/transparent_hugepage"
#define POOLS "/sys/kernel/mm/hugepages"
#define NODES "/sys/devices/system/node"

static char *fixture_root(const char *name) {
        char *root;

        assert_true(asprintf(&root, "%s/%s/root", getenv("FIXTURES"), name) >= 0);
        return root;
}

static Host *load(const char *root, HostParts parts) {
        Diagnostics d = {};
        Host *h = NULL;

        assert_int_equal(host_load(root, parts, &h, &d), 0);
        assert_int_equal(d.n, 0);
        return h;
}

static Host *load_fixture(const char *name) {
        _cleanup_free_ char *root = fixture_root(name);

        return load(root, HOST_ALL);
}

static void assert_sizes(const Host *h, uint64_t default_size, const uint64_t *sizes, size_t n) {
        assert_int_equal(h->n_sizes, n);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(h->sizes[i].bytes, sizes[i]);
        assert_int_equal(h->default_page_size, default_size);
}

#define assert_sizes(h, default_size, ...)                                                                  \
        assert_sizes(h, default_size, (const uint64_t[]){ __VA_ARGS__ },                                    \
                     ELEMENTSOF(((const uint64_t[]){ __VA_ARGS__ })))

static void assert_memory(const Host *h, uint64_t total_kb, uint64_t available_kb) {
        assert_int_equal(h->mem_total, total_kb * 1024);
        assert_int_equal(h->mem_available, available_kb * 1024);
}

static void assert_node(const Host *h, size_t i, unsigned id, bool has_memory, bool has_cpu,
                        uint64_t total_kb, uint64_t free_kb) {
        assert_true(i < h->n_nodes);
        assert_int_equal(h->nodes[i].id, id);
        assert_int_equal(h->nodes[i].has_memory, has_memory);
        assert_int_equal(h->nodes[i].has_cpu, has_cpu);
        assert_int_equal(h->nodes[i].mem_total, total_kb * 1024);
        assert_int_equal(h->nodes[i].mem_free, free_kb * 1024);
}

static void assert_counts(const PageCounts *c, uint64_t nr, uint64_t free_pages, uint64_t surplus) {
        assert_int_equal(c->nr, nr);
        assert_int_equal(c->free, free_pages);
        assert_int_equal(c->surplus, surplus);
}

static void assert_knob(const Host *h, const char *path, const char *expected) {
        const char *value = host_knob(h, path);

        if (!expected) {
                assert_null(value);
                return;
        }
        assert_non_null(value);
        assert_string_equal(value, expected);
}

static void assert_knobs_sorted(const Host *h) {
        for (size_t i = 1; i < h->n_knobs; i++)
                assert_true(strcmp(h->knobs[i - 1].path, h->knobs[i].path) < 0);
}

static void test_laptop(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("laptop");

        assert_sizes(h, 2 * M, G, 2 * M);
        assert_memory(h, 16087312, 13182940);
        assert_true(h->numa);
        assert_int_equal(h->n_nodes, 1);
        assert_node(h, 0, 0, true, true, 16087312, 11264508);
        for (size_t i = 0; i < 2; i++) {
                assert_counts(&h->sizes[i].total, 0, 0, 0);
                assert_counts(&h->nodes[0].pages[i], 0, 0, 0);
                assert_true(h->sizes[i].has_overcommit);
        }
        assert_string_equal(h->cmdline,
                            "BOOT_IMAGE=/boot/vmlinuz-6.1.0-37-amd64 root=/dev/mapper/vg-root ro quiet");
        assert_null(h->state);
}

static void test_laptop_has_every_knob_but_those_by_size(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("laptop");

        assert_int_equal(h->n_knobs, 13);
        assert_knobs_sorted(h);
        assert_knob(h, THP "/enabled", "[always] madvise never");
        assert_knob(h, THP "/defrag", "always defer defer+madvise [madvise] never");
        assert_knob(h, THP "/shmem_enabled", "always within_size advise [never] deny force");
        assert_knob(h, THP "/use_zero_page", "1");
        assert_knob(h, THP "/khugepaged/defrag", "1");
        assert_knob(h, THP "/khugepaged/pages_to_scan", "4096");
        assert_knob(h, THP "/khugepaged/scan_sleep_millisecs", "10000");
        assert_knob(h, THP "/khugepaged/alloc_sleep_millisecs", "60000");
        assert_knob(h, THP "/khugepaged/max_ptes_none", "511");
        assert_knob(h, THP "/khugepaged/max_ptes_swap", "64");
        assert_knob(h, THP "/khugepaged/max_ptes_shared", "256");
        assert_knob(h, "/proc/sys/vm/hugetlb_shm_group", "0");
        assert_knob(h, "/proc/sys/vm/hugetlb_optimize_vmemmap", "0");
        assert_knob(h, THP "/hugepages-64kB/enabled", NULL);
        assert_knob(h, "/proc/sys/vm/drop_caches", NULL);
}

static void test_two_socket(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("two-socket");

        assert_sizes(h, 2 * M, G, 2 * M);
        assert_memory(h, 131899352, 123211776);
        assert_int_equal(h->n_nodes, 2);
        assert_node(h, 0, 0, true, true, 65843180, 61126120);
        assert_node(h, 1, 1, true, true, 66056172, 61823452);
        assert_counts(&h->sizes[0].total, 4, 4, 0);
        assert_counts(&h->sizes[1].total, 1024, 1024, 0);
        for (size_t n = 0; n < 2; n++) {
                assert_counts(&h->nodes[n].pages[0], 2, 2, 0);
                assert_counts(&h->nodes[n].pages[1], 512, 512, 0);
        }
}

static void test_power9_has_gaps_and_a_node_without_anything(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("power9");

        assert_sizes(h, 2 * M, G, 2 * M);
        assert_int_equal(h->n_nodes, 3);
        assert_node(h, 0, 0, true, true, 267905344, 259112448);
        assert_node(h, 1, 8, true, true, 268363648, 262480512);
        assert_node(h, 2, 252, false, false, 0, 0);
        assert_counts(&h->nodes[2].pages[1], 0, 0, 0);
        assert_int_equal(host_find_node(h, 8), 1);
        assert_int_equal(host_find_node(h, 252), 2);
        assert_int_equal(host_find_node(h, 1), SIZE_MAX);
        assert_knob(h, THP "/khugepaged/max_ptes_shared", NULL);
        assert_knob(h, "/proc/sys/vm/hugetlb_optimize_vmemmap", NULL);
        assert_knob(h, THP "/khugepaged/max_ptes_none", "31");
}

static void test_arm64_with_64k_base_pages(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("arm64-64k");

        assert_sizes(h, 512 * M, 16 * G, 512 * M, 2 * M);
        assert_memory(h, 133681216, 128188416);
        assert_int_equal(h->n_nodes, 1);
        assert_int_equal(host_find_size(h, G), SIZE_MAX);
        assert_int_equal(host_find_size(h, 2 * M), 2);
        assert_knob(h, THP "/hugepages-2048kB/enabled", "always inherit madvise [never]");
        assert_knob(h, THP "/hugepages-524288kB/enabled", "always [inherit] madvise never");
        assert_knob(h, THP "/hugepages-128kB/enabled", NULL);
        assert_knob(h, THP "/hugepages-2048kB/shmem_enabled", NULL);
        assert_knob(h, THP "/khugepaged/max_ptes_none", "8191");
}

static void test_arm64_with_4k_base_pages(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("arm64-4k");

        assert_sizes(h, 2 * M, G, 32 * M, 2 * M, 64 * K);
        assert_int_equal(h->n_nodes, 1);
        assert_node(h, 0, 0, true, true, 16207384, 14952256);
}

static void test_without_numa_there_is_one_node_with_the_global_counts(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("no-numa");

        assert_false(h->numa);
        assert_sizes(h, 2 * M, 2 * M);
        assert_memory(h, 3921408, 3342336);
        assert_int_equal(h->n_nodes, 1);
        assert_node(h, 0, 0, true, true, 3921408, 2917512);
}

static void test_wsl2_lacks_what_its_kernel_lacks(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("wsl2");

        assert_sizes(h, 2 * M, G, 2 * M);
        assert_int_equal(h->n_nodes, 1);
        assert_int_equal(h->n_knobs, 12);
        assert_knob(h, "/proc/sys/vm/hugetlb_optimize_vmemmap", NULL);
        assert_knob(h, THP "/khugepaged/max_ptes_shared", "256");
        assert_knob(h, THP "/hugepages-64kB/enabled", NULL);
}

static void test_container_shows_the_hosts_pages(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("container");

        assert_counts(&h->sizes[1].total, 2048, 1024, 0);
        assert_counts(&h->nodes[0].pages[1], 2048, 1024, 0);
}

static void test_memoryless_and_cpuless_nodes(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("memoryless");

        assert_int_equal(h->n_nodes, 3);
        assert_node(h, 0, 0, true, true, 65843180, 60293120);
        assert_node(h, 1, 1, false, true, 0, 0);
        assert_node(h, 2, 2, true, false, 134217728, 134086656);
}

static void test_without_hugetlb_there_are_no_sizes_but_knobs(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("no-hugetlb");

        assert_int_equal(h->n_sizes, 0);
        assert_int_equal(h->default_page_size, 0);
        assert_memory(h, 2031616, 1812480);
        assert_int_equal(h->n_nodes, 1);
        assert_knob(h, THP "/enabled", "always [madvise] never");
        assert_knob(h, "/proc/sys/vm/hugetlb_shm_group", NULL);
}

static void test_thp_by_size(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("mthp");

        assert_knobs_sorted(h);
        assert_int_equal(h->n_knobs, 13 + 8 + 9);
        assert_knob(h, THP "/hugepages-64kB/enabled", "always inherit madvise [never]");
        assert_knob(h, THP "/hugepages-64kB/shmem_enabled", "always inherit within_size advise [never]");
        assert_knob(h, THP "/hugepages-2048kB/enabled", "always [inherit] madvise never");
        assert_knob(h, THP "/hugepages-8kB/enabled", NULL);
        assert_knob(h, "/proc/sys/vm/defrag_mode", NULL);
        assert_knob(h, THP "/hugepages-8kB/shmem_enabled", "always inherit within_size advise [never]");
}

static void test_forky_has_every_knob(void **state) {
        _cleanup_(host_freep) Host *h = load_fixture("forky");

        assert_knobs_sorted(h);
        assert_int_equal(h->n_knobs, 14 + 8 + 9);
        assert_knob(h, "/proc/sys/vm/defrag_mode", "0");
        assert_knob(h, THP "/hugepages-64kB/enabled", "always inherit madvise [never]");
}

static void test_an_empty_root_is_no_error(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = load(root, HOST_ALL);

        assert_false(h->numa);
        assert_int_equal(h->n_nodes, 1);
        assert_node(h, 0, 0, true, true, 0, 0);
        assert_int_equal(h->n_sizes, 0);
        assert_int_equal(h->n_knobs, 0);
        assert_null(host_knob(h, THP "/enabled"));
        assert_string_equal(h->cmdline, "");
        assert_null(h->state);
}

static void test_parts_that_were_not_asked_for_are_not_read(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *sizes = NULL, *nodes = NULL, *cmdline = NULL;

        /* Whatever reads these adds a diagnostic. */
        temp_root_write(root, POOLS "/hugepages-2048kB/nr_hugepages", "garbage");
        temp_root_write(root, STATE_PATH, "garbage");
        temp_root_write(root, NODES "/online", "garbage");
        temp_root_write(root, "/proc/meminfo", "MemTotal: 8 kB\nMemFree: 4 kB\nHugepagesize: 2048 kB\n");
        temp_root_write(root, "/proc/cmdline", "quiet\n");
        sizes = load(root, HOST_SIZES);
        assert_int_equal(sizes->n_sizes, 1);
        assert_int_equal(sizes->default_page_size, 2 * M);
        assert_int_equal(sizes->n_nodes, 0);
        assert_string_equal(sizes->cmdline, "");

        temp_root_write(root, NODES "/online", "0\n");
        nodes = load(root, HOST_NODES);
        assert_int_equal(nodes->n_nodes, 1);
        assert_int_equal(nodes->n_sizes, 0);
        assert_null(nodes->nodes[0].pages);

        temp_root_write(root, "/proc/meminfo", "garbage");
        cmdline = load(root, HOST_CMDLINE);
        assert_string_equal(cmdline->cmdline, "quiet");
}

static void test_counts_imply_sizes_and_nodes(void **state) {
        _cleanup_free_ char *root = fixture_root("two-socket");
        _cleanup_(host_freep) Host *h = load(root, HOST_COUNTS);

        assert_int_equal(h->n_sizes, 2);
        assert_int_equal(h->n_nodes, 2);
        assert_int_equal(h->nodes[1].pages[1].nr, 512);
        assert_int_equal(h->n_knobs, 0);
}

static void test_surplus_resv_and_overcommit_are_told_apart(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        temp_root_write(root, POOLS "/hugepages-2048kB/nr_hugepages", "12\n");
        temp_root_write(root, POOLS "/hugepages-2048kB/free_hugepages", "11\n");
        temp_root_write(root, POOLS "/hugepages-2048kB/surplus_hugepages", "5\n");
        temp_root_write(root, POOLS "/hugepages-2048kB/resv_hugepages", "3\n");
        temp_root_write(root, POOLS "/hugepages-2048kB/nr_overcommit_hugepages", "7\n");
        temp_root_write(root, POOLS "/hugepages-1048576kB/nr_hugepages", "1\n");
        h = load(root, HOST_COUNTS);
        assert_int_equal(h->n_sizes, 2);
        assert_counts(&h->sizes[1].total, 12, 11, 5);
        assert_counts(&h->nodes[0].pages[1], 12, 11, 5);
        assert_int_equal(h->sizes[1].resv, 3);
        assert_int_equal(h->sizes[1].overcommit, 7);
        assert_true(h->sizes[1].has_overcommit);
        assert_counts(&h->sizes[0].total, 1, 0, 0);
        assert_false(h->sizes[0].has_overcommit);
}

static void test_a_size_that_a_node_lacks_counts_zero_there(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        temp_root_write(root, NODES "/online", "0,3\n");
        temp_root_write(root, NODES "/node0/hugepages/hugepages-2048kB/nr_hugepages", "9\n");
        temp_root_write(root, POOLS "/hugepages-2048kB/nr_hugepages", "9\n");
        h = load(root, HOST_COUNTS);
        assert_int_equal(h->n_nodes, 2);
        assert_counts(&h->nodes[0].pages[0], 9, 0, 0);
        assert_int_equal(h->nodes[1].id, 3);
        assert_counts(&h->nodes[1].pages[0], 0, 0, 0);
}

static void test_names_that_are_no_page_size_are_skipped(void **state) {
        static const char *const names[] = { "hugepages-",
                                             "hugepages-kB",
                                             "hugepages-2048",
                                             "hugepages-0kB",
                                             "hugepages-02048kB",
                                             "hugepages-2048MB",
                                             "hugepages--1kB",
                                             "hugepages-+1kB",
                                             "hugepages- 1kB",
                                             "hugepages-1kB ",
                                             "hugepages-2x48kB",
                                             "other",
                                             "hugepages-99999999999999999kB" };
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = NULL;

                assert_true(asprintf(&path, POOLS "/%s", names[i]) >= 0);
                assert_int_equal(root_mkdir_p(root, path, 0755), 0);
        }
        assert_int_equal(root_mkdir_p(root, POOLS "/hugepages-16777216kB", 0755), 0);
        assert_int_equal(root_mkdir_p(root, POOLS "/hugepages-64kB", 0755), 0);
        h = load(root, HOST_SIZES);
        assert_sizes(h, 0, 16 * G, 64 * K);
}

static void test_old_kernels_have_memfree_and_has_normal_memory(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        temp_root_write(root, "/proc/meminfo", "MemTotal: 800 kB\nMemFree:      400 kB\n");
        temp_root_write(root, NODES "/online", "0-2\n");
        temp_root_write(root, NODES "/has_normal_memory", "0,2\n");
        temp_root_write(root, NODES "/has_cpu", "\n");
        h = load(root, HOST_NODES);
        assert_memory(h, 800, 400);
        assert_int_equal(h->n_nodes, 3);
        assert_node(h, 0, 0, true, false, 0, 0);
        assert_node(h, 1, 1, false, false, 0, 0);
        assert_node(h, 2, 2, true, false, 0, 0);
}

static void test_node_sets_that_are_not_known_are_guessed(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        temp_root_write(root, NODES "/online", "0-1\n");
        temp_root_write(root, NODES "/node0/meminfo", "Node 0 MemTotal: 5 kB\nNode 0 MemFree: 4 kB\n");
        h = load(root, HOST_NODES);
        assert_node(h, 0, 0, true, true, 5, 4);
        assert_node(h, 1, 1, false, true, 0, 0);
}

/* Each broken file is one warning that names it, and counts as missing. */
static void test_broken_files_are_warnings_and_missing(void **state) {
        static const struct {
                const char *path, *text, *message;
        } table[] = {
                { POOLS "/hugepages-2048kB/nr_hugepages", "12x\n", "expected a number; ignored" },
                { POOLS "/hugepages-2048kB/free_hugepages", "-1\n", "expected a number; ignored" },
                { POOLS "/hugepages-2048kB/resv_hugepages", "", "expected a number; ignored" },
                { POOLS "/hugepages-2048kB/surplus_hugepages", "99999999999999999999999\n",
                  "expected a number; ignored" },
                { POOLS "/hugepages-2048kB/nr_overcommit_hugepages", "\n", "expected a number; ignored" },
                { NODES "/node1/hugepages/hugepages-2048kB/nr_hugepages", "one\n",
                  "expected a number; ignored" },
                { NODES "/node1/meminfo", "Node 1 MemTotal: lots kB\n",
                  "expected MemTotal and MemFree in kB; ignored" },
                { NODES "/node1/meminfo", "Node", "expected MemTotal and MemFree in kB; ignored" },
                { NODES "/has_memory", "0-\n", "expected a list of nodes; ignored" },
                { NODES "/has_cpu", "0-99999\n", "expected a list of nodes; ignored" },
                { "/proc/meminfo", "\n\nMemTotal:\n", "has no MemTotal" },
                { STATE_PATH, "garbage\n", "expected what an earlier run has written; ignored" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_temp_root_ char *root = temp_root_new();
                _cleanup_(host_freep) Host *h = NULL;
                _cleanup_(diag_done) Diagnostics d = {};

                temp_root_write(root, NODES "/online", "0-1\n");
                temp_root_write(root, POOLS "/hugepages-2048kB/nr_hugepages", "0\n");
                temp_root_write(root, table[i].path, table[i].text);
                assert_int_equal(host_load(root, HOST_ALL, &h, &d), 0);
                assert_int_equal(d.n_errors, 0);
                assert_int_equal(d.n_warnings, 1);
                assert_string_equal(d.items[0].file, table[i].path);
                assert_string_equal(d.items[0].message, table[i].message);
                assert_int_equal(h->n_nodes, 2);
                assert_counts(&h->sizes[0].total, 0, 0, 0);
                assert_int_equal(h->sizes[0].resv, 0);
                assert_false(h->sizes[0].has_overcommit);
                assert_counts(&h->nodes[1].pages[0], 0, 0, 0);
                assert_int_equal(h->mem_total, 0);
                assert_null(h->state);
        }
}

static void test_a_broken_list_of_nodes_leaves_the_global_counts(void **state) {
        static const char *const lists[] = { "x\n", "0,\n", ",0\n", "0-1024\n", "1-0\n", "0 1\n", "-1\n" };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                _cleanup_temp_root_ char *root = temp_root_new();
                _cleanup_(host_freep) Host *h = NULL;
                _cleanup_(diag_done) Diagnostics d = {};

                temp_root_write(root, NODES "/online", lists[i]);
                temp_root_write(root, POOLS "/hugepages-2048kB/nr_hugepages", "3\n");
                assert_int_equal(host_load(root, HOST_ALL, &h, &d), 0);
                assert_int_equal(d.n_warnings, 1);
                assert_string_equal(d.items[0].file, NODES "/online");
                assert_false(h->numa);
                assert_counts(&h->nodes[0].pages[0], 3, 0, 0);
        }
}

static void test_no_nodes_online_is_no_numa(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        temp_root_write(root, NODES "/online", "\n");
        h = load(root, HOST_ALL);
        assert_false(h->numa);
        assert_int_equal(h->n_nodes, 1);
}

static void test_the_state_of_an_earlier_run_is_part_of_the_host(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(host_freep) Host *h = NULL;

        temp_root_write(root, STATE_PATH, "hugepages-setup-state 1\nbefore 2097152 0 5\nexit 0\n");
        h = load(root, HOST_STATE);
        assert_non_null(h->state);
        assert_int_equal(state_pages_before(h->state, 2 * M, 0, 9), 5);
}

static void test_current_word_is_the_one_in_brackets(void **state) {
        char buffer[16], tiny[4];

        assert_string_equal(knob_current_word("always [madvise] never", buffer, sizeof(buffer)), "madvise");
        assert_string_equal(knob_current_word("[always]", buffer, sizeof(buffer)), "always");
        assert_string_equal(knob_current_word("4096", buffer, sizeof(buffer)), "4096");
        assert_string_equal(knob_current_word("", buffer, sizeof(buffer)), "");
        assert_string_equal(knob_current_word("a [b", buffer, sizeof(buffer)), "a [b");
        assert_string_equal(knob_current_word("a] [b]", buffer, sizeof(buffer)), "b");
        assert_string_equal(knob_current_word("[always]", tiny, sizeof(tiny)), "alw");
}

static void test_offers_whole_words_only(void **state) {
        const char *line = "always defer defer+madvise [madvise] never";

        assert_true(knob_offers(line, "always"));
        assert_true(knob_offers(line, "madvise"));
        assert_true(knob_offers(line, "defer"));
        assert_true(knob_offers(line, "defer+madvise"));
        assert_true(knob_offers(line, "never"));
        assert_false(knob_offers(line, "nev"));
        assert_false(knob_offers(line, "inherit"));
        assert_false(knob_offers(line, ""));
        assert_false(knob_offers("", "always"));
}

static void test_pci_node(void **state) {
        _cleanup_free_ char *root = fixture_root("two-socket");

        assert_int_equal(host_pci_node(root, "0000:3b:00.0"), 1);
        assert_int_equal(host_pci_node(root, "0000:00:1c.0"), -1);
        assert_int_equal(host_pci_node(root, "0000:3b:00.1"), -ENODEV);
        assert_int_equal(host_pci_node(root, ""), -ENODEV);
        assert_int_equal(host_pci_node(root, ".."), -ENODEV);
        assert_int_equal(host_pci_node(root, "0000:3b:00.0/../0000:3b:00.0"), -ENODEV);
}

static void test_pci_node_that_makes_no_sense_is_unknown(void **state) {
        static const char *const values[] = {
                "", "x\n", "1x\n", "-2\n", "1024\n", "99999999999999999999\n"
        };

        for (size_t i = 0; i < ELEMENTSOF(values); i++) {
                _cleanup_temp_root_ char *root = temp_root_new();

                temp_root_write(root, "/sys/bus/pci/devices/0000:00:01.0/numa_node", values[i]);
                assert_int_equal(host_pci_node(root, "0000:00:01.0"), -1);
        }
}

static void test_pci_device_without_numa_node_is_unknown(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/sys/bus/pci/devices/0000:00:01.0/vendor", "0x8086\n");
        assert_int_equal(host_pci_node(root, "0000:00:01.0"), -1);
}

static void assert_counter_path(const Host *h, const Node *n, uint64_t size, const char *expected) {
        _cleanup_free_ char *path = host_counter_path(h, n, size, "nr_hugepages");

        assert_string_equal(path, expected);
}

static void test_counter_paths(void **state) {
        _cleanup_(host_freep) Host *numa = load_fixture("power9"), *single = load_fixture("no-numa");

        assert_counter_path(numa, NULL, 2 * M, POOLS "/hugepages-2048kB/nr_hugepages");
        assert_counter_path(numa, &numa->nodes[1], G,
                            NODES "/node8/hugepages/hugepages-1048576kB/nr_hugepages");
        assert_counter_path(single, &single->nodes[0], 2 * M, POOLS "/hugepages-2048kB/nr_hugepages");
}

static void test_this_machine_can_be_read(void **state) {
        _cleanup_(diag_done) Diagnostics d = {};
        _cleanup_(host_freep) Host *h = NULL;

        assert_int_equal(host_load(NULL, HOST_ALL, &h, &d), 0);
        assert_true(h->n_nodes > 0);
        assert_true(h->mem_total >= h->nodes[0].mem_total && h->nodes[0].mem_total > 0);
        assert_true(h->mem_available > 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_laptop),
                cmocka_unit_test(test_laptop_has_every_knob_but_those_by_size),
                cmocka_unit_test(test_two_socket),
                cmocka_unit_test(test_power9_has_gaps_and_a_node_without_anything),
                cmocka_unit_test(test_arm64_with_64k_base_pages),
                cmocka_unit_test(test_arm64_with_4k_base_pages),
                cmocka_unit_test(test_without_numa_there_is_one_node_with_the_global_counts),
                cmocka_unit_test(test_wsl2_lacks_what_its_kernel_lacks),
                cmocka_unit_test(test_container_shows_the_hosts_pages),
                cmocka_unit_test(test_memoryless_and_cpuless_nodes),
                cmocka_unit_test(test_without_hugetlb_there_are_no_sizes_but_knobs),
                cmocka_unit_test(test_thp_by_size),
                cmocka_unit_test(test_forky_has_every_knob),
                cmocka_unit_test(test_an_empty_root_is_no_error),
                cmocka_unit_test(test_parts_that_were_not_asked_for_are_not_read),
                cmocka_unit_test(test_counts_imply_sizes_and_nodes),
                cmocka_unit_test(test_surplus_resv_and_overcommit_are_told_apart),
                cmocka_unit_test(test_a_size_that_a_node_lacks_counts_zero_there),
                cmocka_unit_test(test_names_that_are_no_page_size_are_skipped),
                cmocka_unit_test(test_old_kernels_have_memfree_and_has_normal_memory),
                cmocka_unit_test(test_node_sets_that_are_not_known_are_guessed),
                cmocka_unit_test(test_broken_files_are_warnings_and_missing),
                cmocka_unit_test(test_a_broken_list_of_nodes_leaves_the_global_counts),
                cmocka_unit_test(test_no_nodes_online_is_no_numa),
                cmocka_unit_test(test_the_state_of_an_earlier_run_is_part_of_the_host),
                cmocka_unit_test(test_current_word_is_the_one_in_brackets),
                cmocka_unit_test(test_offers_whole_words_only),
                cmocka_unit_test(test_pci_node),
                cmocka_unit_test(test_pci_node_that_makes_no_sense_is_unknown),
                cmocka_unit_test(test_pci_device_without_numa_node_is_unknown),
                cmocka_unit_test(test_counter_paths),
                cmocka_unit_test(test_this_machine_can_be_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
