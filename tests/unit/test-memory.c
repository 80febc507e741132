/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is read of a node's memory, and which files ask for a compaction. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "apply/memory.h"
#include "apply/targets.h"
#include "temp-root.h"

#define K 1024ull
#define M (1024 * K)
#define G (1024 * M)

/* Nodes 0 and 8, as POWER numbers them; node 0 in two zones. */
#define BUDDYINFO                                                                                           \
        "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      " \
        "3\n"                                                                                               \
        "Node 0, zone   Normal  18782   7005   9294      0      0      0      0      2      0      0      " \
        "0\n"                                                                                               \
        "Node 8, zone   Normal      1      2      4      8      0      0      0      0      0      0      " \
        "0\n"

#define MEMINFO(id, anon, file)                                                                             \
        "Node " id " MemTotal:       12378112 kB\nNode " id " AnonPages:      " anon " kB\n"                \
        "Node " id " FilePages:      " file " kB\nNode " id " SUnreclaim:     1024 kB\n"                    \
        "Node " id " PageTables:     2048 kB\nNode " id " KernelStack:    1024 kB\nNode " id                \
        " Unevictable: 7 kB\n"

static Host two_nodes(void) {
        static Node nodes[] = { { .id = 0, .has_memory = true }, { .id = 8, .has_memory = true } };

        return (Host){ .numa = true, .nodes = nodes, .n_nodes = 2 };
}

static uint64_t page(void) {
        return (uint64_t) sysconf(_SC_PAGESIZE);
}

static void look_at_two_nodes(const bool *marked, NodeMemory *ret) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Kernel k = kernel_real(root);
        Host h = two_nodes();

        temp_root_write(root, "/proc/buddyinfo", BUDDYINFO);
        temp_root_write(root, "/sys/devices/system/node/node0/meminfo", MEMINFO("0", "4096", "1048576"));
        temp_root_write(root, "/sys/devices/system/node/node8/meminfo", MEMINFO("8", "8192", "12"));
        assert_int_equal(memory_look(&k, &h, marked, 512 * page(), ret), 0);
}

static void test_one_node(void **state) {
        NodeMemory m = {};

        look_at_two_nodes((bool[]){ false, true }, &m);
        assert_int_equal(m.free, (1 + 2 * 2 + 4 * 4 + 8 * 8) * page());
        assert_int_equal(m.unbroken, 0);
        assert_int_equal(m.largest_block, 8 * page());
        assert_int_equal(m.block_max, 1024 * page());
        assert_int_equal(m.programs, 8 * M);
        assert_int_equal(m.cache, 12 * K);
        assert_int_equal(m.kernel, 4 * M);
}

static void test_several_zones_and_nodes_add_up(void **state) {
        NodeMemory m = {};

        look_at_two_nodes(NULL, &m);
        assert_int_equal(m.unbroken, (512 + 3 * 1024) * page());
        assert_int_equal(m.free,
                         (256 + 512 + 3 * 1024 + 18782 + 2 * 7005 + 4 * 9294 + 2 * 128 + 85) * page());
        assert_int_equal(m.largest_block, 1024 * page());
        assert_int_equal(m.programs, 12 * M);
        assert_int_equal(m.cache, 1 * G + 12 * K);
        assert_int_equal(m.kernel, 8 * M);
}

static void test_a_kernel_without_nodes(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Kernel k = kernel_real(root);
        Host h = two_nodes();
        NodeMemory m;

        h.numa = false;
        h.n_nodes = 1;
        temp_root_write(root, "/proc/buddyinfo",
                        "Node 0, zone   Normal      3      0      0      0      0      0      0\n");
        temp_root_write(root, "/proc/meminfo",
                        "MemTotal:  100 kB\nBuffers:  1 kB\nCached:  2 kB\nSwapCached: 9 kB\n"
                        "AnonPages: 3 kB\nSUnreclaim: 4 kB\nKernelStack: 5 kB\nPageTables: 6 kB\n");
        assert_int_equal(memory_look(&k, &h, NULL, 512 * page(), &m), 0);
        assert_int_equal(m.free, 3 * page());
        assert_int_equal(m.block_max, 64 * page());
        assert_int_equal(m.programs, 3 * K);
        assert_int_equal(m.cache, 3 * K);
        assert_int_equal(m.kernel, 15 * K);
}

static void test_what_is_not_there_is_no_guess(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Kernel k = kernel_real(root);
        Host h = two_nodes();
        NodeMemory m;

        assert_int_equal(memory_look(&k, &h, NULL, 2 * M, &m), -ENODATA);
        temp_root_write(root, "/proc/buddyinfo", "nonsense\nNode x, zone\nNode 3, zone Normal 1 2\n");
        assert_int_equal(memory_look(&k, &h, NULL, 2 * M, &m), -ENODATA);
        temp_root_write(root, "/proc/buddyinfo", BUDDYINFO);
        assert_int_equal(memory_look(&k, &h, NULL, 2 * M, &m), 0);
        assert_int_equal(m.programs + m.cache + m.kernel, 0);
}

static void assert_file(const char *root, const char *path, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(root_read_file(root, path, 4096, &text, NULL), 0);
        assert_string_equal(text, expected);
}

static void test_only_the_nodes_asked_for_are_compacted(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Kernel k = kernel_real(root);

        for (unsigned id = 0; id < 4; id++) {
                char path[64];

                snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/compact", id);
                temp_root_write(root, path, "");
                snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", id);
                temp_root_write(root, path, id == 3 ? "\n" : "0-1,4096\n"); /* node 3 has no CPUs */
        }
        temp_root_write(root, "/proc/sys/vm/compact_memory", "");
        assert_int_equal(k.compact(&k, (CompactNode[]){ { .id = 1 }, { .id = 2 }, { .id = 3 } }, 3), 0);
        assert_file(root, "/sys/devices/system/node/node0/compact", "");
        assert_file(root, "/sys/devices/system/node/node1/compact", "1");
        assert_file(root, "/sys/devices/system/node/node2/compact", "1");
        assert_file(root, "/sys/devices/system/node/node3/compact", "1");
        assert_file(root, "/proc/sys/vm/compact_memory", "");
        assert_int_equal(k.compact(&k, &(CompactNode){ .id = 0 }, 1), 0);
        assert_file(root, "/sys/devices/system/node/node0/compact", "1");
}

static void test_the_whole_machine_where_nodes_have_no_files(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Kernel k = kernel_real(root);

        assert_int_equal(k.compact(&k, (CompactNode[]){ { .id = 0 }, { .id = 1 } }, 2), -ENOENT);
        temp_root_write(root, "/proc/sys/vm/compact_memory", "");
        assert_int_equal(k.compact(&k, (CompactNode[]){ { .id = 0 }, { .id = 1 } }, 2), 0);
        assert_file(root, "/proc/sys/vm/compact_memory", "1");
        temp_root_write(root, "/proc/sys/vm/compact_memory", "");
        assert_int_equal(k.compact(&k, &(CompactNode){ .id = WHOLE_MACHINE }, 1), 0);
        assert_file(root, "/proc/sys/vm/compact_memory", "1");
}

/* The real kernel: at most a page of each block stays, whether or not it has huge pages for us. */
static void test_targets_are_free_but_for_a_page(void **state) {
        Kernel k = kernel_real(NULL);
        uint64_t block_size = kernel_block_size(&k);
        size_t page_size = (size_t) sysconf(_SC_PAGESIZE), n_present = 0;
        _cleanup_free_ unsigned char *present = NULL;
        Targets t = {};

        targets_make(0, 3, block_size > 0 ? block_size : 2 * M, &t);
        if (access("/proc/self/pagemap", R_OK) < 0) { /* then it does not know what it gets */
                assert_null(t.area);
                return;
        }
        assert_non_null(t.area);
        present = calloc(1, t.size / page_size);
        assert_non_null(present);
        assert_int_equal(mincore(t.area, t.size, present), 0);
        for (size_t i = 0; i < t.size / page_size; i++)
                n_present += present[i] & 1;
        assert_true(n_present <= 3);
        targets_done(&t);
        assert_null(t.area);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_node),
                cmocka_unit_test(test_several_zones_and_nodes_add_up),
                cmocka_unit_test(test_a_kernel_without_nodes),
                cmocka_unit_test(test_what_is_not_there_is_no_guess),
                cmocka_unit_test(test_only_the_nodes_asked_for_are_compacted),
                cmocka_unit_test(test_targets_are_free_but_for_a_page),
                cmocka_unit_test(test_the_whole_machine_where_nodes_have_no_files),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
