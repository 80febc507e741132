/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan's arithmetic: examples for each rule, and properties on thousands of random machines. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"

#define K (1ull << 10)
#define M (1ull << 20)
#define G (1ull << 30)

#define MAX_NODES 4
#define MAX_SIZES 3
#define MAX_POOLS 6

/* A machine and a configuration that live on the test's stack. */
typedef struct Case {
        Host host;
        Node nodes[MAX_NODES];
        PageSize sizes[MAX_SIZES];
        PageCounts counts[MAX_NODES][MAX_SIZES];
        State state;
        StatePages before[MAX_NODES * MAX_SIZES];
        StatePool state_pools[MAX_POOLS];
        StatePages state_nodes[MAX_POOLS][MAX_NODES];

        Config config;
        Pool pools[MAX_POOLS];
        Pool *pool_list[MAX_POOLS];
        char names[MAX_POOLS][8];
        NodeAmount amounts[MAX_POOLS][MAX_NODES];
        NodeAmount ranges[MAX_POOLS][MAX_NODES];
} Case;

static void machine(Case *c, size_t n_nodes, uint64_t bytes_each) {
        static const uint64_t sizes[] = { G, 2 * M };

        memset(c, 0, sizeof(*c));
        c->host = (Host){
                .numa = true,
                .nodes = c->nodes,
                .n_nodes = n_nodes,
                .sizes = c->sizes,
                .n_sizes = 2,
                .default_page_size = 2 * M,
                .mem_total = n_nodes * bytes_each,
                .mem_available = n_nodes * bytes_each,
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
        for (size_t s = 0; s < 2; s++)
                c->sizes[s] = (PageSize){ .bytes = sizes[s], .has_overcommit = true };
        c->config.pools = c->pool_list;
        c->config.system.keep_free = (Amount){ .type = AMOUNT_BYTES, .value = 512 * M };
}

static Pool *pool(Case *c, uint64_t page_size, AmountType type, uint64_t value) {
        size_t i = c->config.n_pools++;
        Pool *p = &c->pools[i];

        snprintf(c->names[i], sizeof(c->names[i]), "p%zu", i);
        *p = (Pool){
                .section = { .type = SECTION_POOL,
                             .name = c->names[i],
                             .source = { "/etc/hugepages.d/50-test.conf", (unsigned) i * 10 + 1 } },
                .page_size = page_size,
                .size = { .type = type, .value = value },
        };
        c->pool_list[i] = p;
        return p;
}

static void per_node(Case *c, Pool *p, unsigned first, unsigned last, uint64_t value) {
        size_t i = (size_t) (p - c->pools);

        c->amounts[i][p->size.n_nodes++] = (NodeAmount){ first, last, value };
        p->size.nodes = c->amounts[i];
}

static void only_nodes(Case *c, Pool *p, unsigned first, unsigned last) {
        size_t i = (size_t) (p - c->pools);

        p->nodes.type = NODES_LIST;
        c->ranges[i][p->nodes.n_ranges++] = (NodeAmount){ .first = first, .last = last };
        p->nodes.ranges = c->ranges[i];
}

static void present(Case *c, size_t size_index, size_t node, uint64_t pages) {
        c->counts[node][size_index] = (PageCounts){ .nr = pages, .free = pages };
        c->sizes[size_index].total.nr += pages;
        c->sizes[size_index].total.free += pages;
        c->host.mem_available -= pages * c->sizes[size_index].bytes;
}

static Plan *plan_with(Case *c, const PlanLimits *limits, size_t n_errors, size_t n_warnings) {
        Diagnostics d = {};
        Plan *p = NULL;

        assert_int_equal(
                plan_make(&(PlanInput){ .config = &c->config, .host = &c->host, .limits = limits }, &p, &d),
                0);
        if (d.n_errors != n_errors || d.n_warnings != n_warnings)
                for (size_t i = 0; i < d.n; i++)
                        print_message("%s\n", d.items[i].message);
        assert_int_equal(d.n_errors, n_errors);
        assert_int_equal(d.n_warnings, n_warnings);
        diag_done(&d);
        return p;
}

static Plan *plan(Case *c) {
        return plan_with(c, NULL, 0, 0);
}

static void assert_write(const Plan *p, size_t i, const char *path, const char *value) {
        assert_true(i < p->n_writes);
        assert_string_equal(p->writes[i].path, path);
        assert_string_equal(p->writes[i].value, value);
}

#define NODE_2M(n) "/sys/devices/system/node/node" n "/hugepages/hugepages-2048kB/nr_hugepages"
#define NODE_1G(n) "/sys/devices/system/node/node" n "/hugepages/hugepages-1048576kB/nr_hugepages"

static void test_a_size_is_spread_evenly(void **state) {
        Case c;

        machine(&c, 2, 16 * G);
        pool(&c, 0, AMOUNT_BYTES, 8 * G);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].requested, 4096);
        assert_int_equal(p->pools[0].planned, 4096);
        assert_null(p->pools[0].cut);
        assert_int_equal(p->n_writes, 2);
        assert_write(p, 0, NODE_2M("0"), "2048");
        assert_write(p, 1, NODE_2M("1"), "2048");
}

static void test_sizes_are_rounded_up_to_whole_pages(void **state) {
        Case c;

        machine(&c, 1, 16 * G);
        pool(&c, 2 * M, AMOUNT_BYTES, 3 * M + 1);
        pool(&c, G, AMOUNT_BYTES, G + 1);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].requested, 2);
        assert_int_equal(p->pools[1].requested, 2);
}

static void test_headroom_is_added_before_rounding(void **state) {
        Case c;

        machine(&c, 1, 32 * G);
        pool(&c, 2 * M, AMOUNT_PAGES, 100)->headroom = (Amount){ .type = AMOUNT_PERCENT, .value = 1000 };
        pool(&c, 2 * M, AMOUNT_BYTES, 100 * M)->headroom = (Amount){ .type = AMOUNT_BYTES, .value = 1 };
        pool(&c, 2 * M, AMOUNT_BYTES, 3 * M)->headroom = (Amount){ .type = AMOUNT_BYTES, .value = M };
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].requested, 110);
        assert_int_equal(p->pools[1].requested, 51);
        assert_int_equal(p->pools[2].requested, 2);
}

static void test_less_than_a_page_is_suspicious(void **state) {
        Case c;

        machine(&c, 1, 16 * G);
        pool(&c, 2 * M, AMOUNT_BYTES, 4096);
        _cleanup_(plan_freep) Plan *p = plan_with(&c, NULL, 0, 1);
        assert_int_equal(p->pools[0].requested, 1);
}

static void test_keep_free_above_all_memory_is_named(void **state) {
        Case c;

        machine(&c, 1, 16 * G);
        c.config.system.keep_free.value = 16 * G;
        pool(&c, 2 * M, AMOUNT_BYTES, G);
        _cleanup_(plan_freep) Plan *p = plan_with(&c, NULL, 0, 1);
        assert_int_equal(p->pools[0].planned, 0);
}

static void test_a_percentage_is_of_the_allowed_nodes(void **state) {
        Case c;

        machine(&c, 4, 8 * G);
        pool(&c, 2 * M, AMOUNT_PERCENT, 2500);
        only_nodes(&c, pool(&c, 2 * M, AMOUNT_PERCENT, 2500), 2, 3);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].requested, 4096);
        assert_int_equal(p->pools[1].requested, 2048);
        assert_int_equal(p->pools[1].node_planned[2], 1024);
        assert_int_equal(p->pools[1].node_planned[0], 0);
}

static void test_per_node_amounts_and_ranges(void **state) {
        Case c;
        Pool *x;

        machine(&c, 2, 16 * G);
        x = pool(&c, 2 * M, AMOUNT_NODES_BYTES, 0);
        per_node(&c, x, 0, 0, 4 * G);
        per_node(&c, x, 1, 1, 6 * G);
        x = pool(&c, 2 * M, AMOUNT_NODES_PAGES, 0);
        per_node(&c, x, 0, 63, 10);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].requested, 5120);
        assert_int_equal(p->pools[1].requested, 20);
        assert_write(p, 0, NODE_2M("0"), "2058");
        assert_write(p, 1, NODE_2M("1"), "3082");
        assert_int_equal(p->n_writes, 2);
}

static void test_a_named_node_that_does_not_exist_is_short(void **state) {
        Case c;
        Pool *x;

        machine(&c, 2, 16 * G);
        x = pool(&c, 2 * M, AMOUNT_NODES_PAGES, 0);
        per_node(&c, x, 0, 0, 10);
        per_node(&c, x, 7, 7, 5);
        _cleanup_(plan_freep) Plan *p = plan_with(&c, NULL, 0, 1);
        assert_int_equal(p->pools[0].requested, 15);
        assert_int_equal(p->pools[0].planned, 10);
        assert_string_equal(p->pools[0].cut, "node7 does not exist: 5 pages cannot be had there");
}

static void test_nodes_without_memory_or_cpus_get_nothing(void **state) {
        Case c;

        machine(&c, 3, 16 * G);
        c.nodes[1].has_memory = false;
        c.nodes[1].mem_total = 0;
        c.nodes[2].has_cpu = false;
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->n_writes, 1);
        assert_write(p, 0, NODE_2M("0"), "100");
}

static void test_the_largest_size_is_written_first(void **state) {
        Case c;

        machine(&c, 2, 16 * G);
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        pool(&c, G, AMOUNT_PAGES, 3);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->n_writes, 4);
        assert_write(p, 0, NODE_1G("0"), "2");
        assert_write(p, 1, NODE_1G("1"), "1");
        assert_write(p, 2, NODE_2M("0"), "50");
        assert_write(p, 3, NODE_2M("1"), "50");
}

static void test_8T_on_a_small_machine_leaves_keep_free(void **state) {
        Case c;

        machine(&c, 2, 2 * G);
        c.host.mem_available = 3900 * M;
        pool(&c, 2 * M, AMOUNT_BYTES, 8192 * G);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].requested, 4194304);
        assert_int_equal(p->pools[0].planned, (3900 - 512) / 2);
        assert_string_equal(p->pools[0].cut,
                            "KeepFree=512M of 4G memory leaves room for 1694 of 4194304 pages");
}

static void test_a_full_node_is_not_put_down_to_keep_free(void **state) {
        Case c;

        machine(&c, 2, 2 * G);
        per_node(&c, pool(&c, 2 * M, AMOUNT_NODES_PAGES, 0), 1, 1, 1200);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].planned, 1024);
        assert_string_equal(p->pools[0].cut, "the allowed nodes have memory for 1024 of 1200 pages");
}

static void test_keep_free_defaults_to_5_percent_and_at_least_512M(void **state) {
        Case c;

        machine(&c, 2, 2 * G);
        c.config.system.keep_free = (Amount){};
        _cleanup_(plan_freep) Plan *small = plan(&c);
        assert_int_equal(small->keep_free, 512 * M);
        machine(&c, 2, 500 * G);
        c.config.system.keep_free = (Amount){};
        _cleanup_(plan_freep) Plan *large = plan(&c);
        assert_true(large->keep_free > 49 * G && large->keep_free <= 50 * G);
}

static void test_essential_pools_keep_theirs_then_reading_order(void **state) {
        Case c;

        machine(&c, 2, 4 * G); /* 7.5 G above KeepFree */
        pool(&c, 2 * M, AMOUNT_BYTES, 4 * G);
        pool(&c, 2 * M, AMOUNT_BYTES, 4 * G);
        pool(&c, 2 * M, AMOUNT_BYTES, 3 * G)->essential = true;
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[2].planned, 1536);
        assert_int_equal(p->pools[0].planned, 2048);
        assert_int_equal(p->pools[1].planned, 256);
        assert_null(p->pools[0].cut);
        assert_non_null(p->pools[1].cut);
}

static void test_an_essential_small_page_pool_beats_a_gigantic_one(void **state) {
        Case c;

        machine(&c, 2, 4 * G);
        pool(&c, G, AMOUNT_PAGES, 6);
        pool(&c, 2 * M, AMOUNT_BYTES, 4 * G)->essential = true;
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[1].planned, 2048);
        assert_int_equal(p->pools[0].planned, 3);
}

static void test_pages_that_are_there_count(void **state) {
        Case c;

        machine(&c, 2, 16 * G);
        present(&c, 1, 0, 300);
        pool(&c, 2 * M, AMOUNT_PAGES, 400);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->n_writes, 1);
        assert_write(p, 0, NODE_2M("1"), "100");
        assert_int_equal(p->pools[0].node_planned[0], 300);
}

static void test_pages_beyond_the_pools_are_not_released(void **state) {
        Case c;

        machine(&c, 2, 16 * G);
        present(&c, 1, 0, 300);
        present(&c, 1, 1, 300);
        present(&c, 0, 0, 2); /* a size without a pool */
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->n_writes, 0);
        assert_int_equal(plan_node(p, 1, 0)->wanted, 50);
        assert_int_equal(plan_node(p, 1, 0)->target, 300);
}

/* A state in which all pages of a size beyond `before` are ours. */
static void remember_before(Case *c, size_t size_index, size_t node, uint64_t pages) {
        c->before[c->state.n_before++] = (StatePages){ c->sizes[size_index].bytes, (unsigned) node, pages };
        c->state.before = c->before;
        c->host.state = &c->state;
}

static void test_only_what_we_added_is_lowered_and_nothing_promised(void **state) {
        Case c;

        machine(&c, 2, 16 * G);
        present(&c, 1, 0, 300);
        present(&c, 1, 1, 300);
        c.counts[1][1].free = 250;
        c.sizes[1].total.free = 550;
        c.sizes[1].resv = 400; /* 150 can be spared, wherever they are */
        remember_before(&c, 1, 0, 0);
        remember_before(&c, 1, 1, 200);
        pool(&c, 2 * M, AMOUNT_NODES_PAGES, 0);
        per_node(&c, &c.pools[0], 0, 0, 200);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->n_writes, 2);
        assert_write(p, 0, NODE_2M("0"), "200");
        assert_write(p, 1, NODE_2M("1"), "250");
        assert_true(p->writes[0].lowers && p->writes[1].lowers);
}

static void test_nothing_is_given_back_while_a_drop_in_has_an_error(void **state) {
        for (int fault = 0; fault < 3; fault++) {
                Case c;

                machine(&c, 1, 16 * G);
                present(&c, 1, 0, 300);
                remember_before(&c, 1, 0, 0);
                pool(&c, 2 * M, AMOUNT_PAGES, 100);
                pool(&c, 2 * M, AMOUNT_PAGES, 50)->section.dropped = fault == 1;
                c.config.faulty = fault == 2;
                _cleanup_(plan_freep) Plan *p = plan(&c);
                assert_int_equal(plan_node(p, 1, 0)->target, fault ? 300 : 150);
        }
}

static void test_what_is_given_back_makes_room(void **state) {
        Case c;

        machine(&c, 1, 8 * G);
        present(&c, 1, 0, 3584); /* 7 G, all ours */
        remember_before(&c, 1, 0, 0);
        pool(&c, G, AMOUNT_PAGES, 6);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].planned, 6);
        assert_write(p, 0, NODE_2M("0"), "0");
        assert_write(p, 1, NODE_1G("0"), "6");
}

static void test_rest_takes_what_the_others_leave(void **state) {
        Case c;

        machine(&c, 2, 8 * G);
        pool(&c, 2 * M, AMOUNT_REST, 0);
        pool(&c, G, AMOUNT_PAGES, 4);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[1].planned, 4);
        assert_int_equal(p->pools[0].planned, (16 * G - 512 * M - 4 * G) / (2 * M));
        assert_int_equal(p->pools[0].requested, p->pools[0].planned);
}

static void test_an_unknown_page_size_drops_the_pool_alone(void **state) {
        Case c;

        machine(&c, 1, 8 * G);
        pool(&c, 64 * K, AMOUNT_PAGES, 10);
        pool(&c, 2 * M, AMOUNT_PAGES, 10);
        _cleanup_(plan_freep) Plan *p = plan_with(&c, NULL, 1, 0);
        assert_true(c.pools[0].section.dropped);
        assert_int_equal(p->n_pools, 1);
        assert_write(p, 0, NODE_2M("0"), "10");
}

static void test_limits_move_spread_pages_and_leave_explicit_ones(void **state) {
        Case c;
        uint64_t pages[4] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, 30 };

        machine(&c, 2, 8 * G);
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        pool(&c, 2 * M, AMOUNT_NODES_PAGES, 0);
        per_node(&c, &c.pools[1], 1, 1, 20);
        _cleanup_(plan_freep) Plan *p = plan_with(&c, &(PlanLimits){ pages }, 0, 0);
        assert_int_equal(p->pools[0].planned, 100);
        assert_int_equal(p->pools[1].planned, 20);
        assert_write(p, 0, NODE_2M("0"), "90");
        assert_write(p, 1, NODE_2M("1"), "30");
}

static void test_pages_are_attributed_in_the_order_of_cuts(void **state) {
        Case c;
        uint64_t reserved[3 * 2];

        machine(&c, 2, 8 * G);
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        pool(&c, 2 * M, AMOUNT_NODES_PAGES, 0);
        per_node(&c, &c.pools[1], 1, 1, 50);
        pool(&c, 2 * M, AMOUNT_PAGES, 20)->essential = true;
        _cleanup_(plan_freep) Plan *p = plan(&c);
        present(&c, 1, 0, 60);
        present(&c, 1, 1, 80);
        assert_int_equal(plan_attribute(p, &c.host, reserved), 0);
        assert_int_equal(reserved[4] + reserved[5], 20);
        assert_int_equal(reserved[0] + reserved[1], 100);
        assert_int_equal(reserved[2], 0);
        assert_int_equal(reserved[3], 20);
}

static void test_keep_free_counts_huge_pages_against_all_memory(void **state) {
        Case c;

        machine(&c, 1, 8 * G);
        present(&c, 0, 0, 6);
        c.host.mem_available = 8 * G; /* as if nothing were taken */
        pool(&c, 2 * M, AMOUNT_BYTES, 4 * G);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[0].planned, (2 * G - 512 * M) / (2 * M));
}

static void test_larger_pages_leave_an_essential_pool_its_node(void **state) {
        Case c;
        Pool *x;

        machine(&c, 2, 4 * G);
        pool(&c, G, AMOUNT_PAGES, 4);
        x = pool(&c, 2 * M, AMOUNT_NODES_BYTES, 0);
        per_node(&c, x, 0, 0, 3 * G);
        x->essential = true;
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[1].planned, 1536);
        assert_int_equal(p->pools[0].node_planned[0], 1);
        assert_int_equal(p->pools[0].node_planned[1], 3);
}

static void test_a_pool_stays_where_the_last_run_put_it(void **state) {
        Case c;

        machine(&c, 2, 8 * G);
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        pool(&c, 2 * M, AMOUNT_PAGES, 100);
        present(&c, 1, 0, 100);
        present(&c, 1, 1, 100);
        c.host.state = &c.state;
        c.state.pools = c.state_pools;
        c.state.n_pools = 2;
        for (size_t i = 0; i < 2; i++) {
                c.state_nodes[i][0] = (StatePages){ 2 * M, 1 - (unsigned) i, 100 };
                c.state_pools[i] = (StatePool){ c.names[i], 2 * M, 100, 100, c.state_nodes[i], 1 };
        }
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->n_writes, 0);
        assert_int_equal(p->pools[0].node_planned[1], 100);
        assert_int_equal(p->pools[1].node_planned[0], 100);
}

static void test_pages_are_attributed_where_they_were_planned(void **state) {
        Case c;
        uint64_t reserved[2 * 2];

        machine(&c, 2, 8 * G);
        only_nodes(&c, pool(&c, 2 * M, AMOUNT_PAGES, 40), 0, 1);
        pool(&c, 2 * M, AMOUNT_PAGES, 40);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        p->pools[0].node_planned[0] = 40;
        p->pools[0].node_planned[1] = 0;
        p->pools[1].node_planned[0] = 0;
        p->pools[1].node_planned[1] = 40;
        present(&c, 1, 0, 40);
        present(&c, 1, 1, 40);
        assert_int_equal(plan_attribute(p, &c.host, reserved), 0);
        assert_int_equal(reserved[0], 40);
        assert_int_equal(reserved[3], 40);
}

static void test_without_numa_the_global_counter_is_written(void **state) {
        Case c;

        machine(&c, 1, 8 * G);
        c.host.numa = false;
        pool(&c, 0, AMOUNT_PAGES, 10);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_write(p, 0, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "10");
}

/* ---- properties ---- */

static uint64_t seed_state;

static uint64_t random_below(uint64_t n) {
        seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
        return n ? (seed_state >> 33) % n : 0;
}

static void random_pool(Case *c) {
        static const AmountType types[] = { AMOUNT_BYTES, AMOUNT_PAGES, AMOUNT_PERCENT, AMOUNT_NODES_BYTES };
        AmountType type = types[random_below(4)];
        Pool *p = pool(c, c->sizes[random_below(2)].bytes, type, 0);

        if (type == AMOUNT_PERCENT)
                p->size.value = random_below(6000);
        else if (type == AMOUNT_PAGES)
                p->size.value = random_below(p->page_size == G ? 6 : 3000);
        else if (type == AMOUNT_BYTES)
                p->size.value = p->page_size + random_below(6000) * M;
        else
                for (unsigned n = 0; n < c->host.n_nodes; n++)
                        if (random_below(2))
                                per_node(c, p, n, n, random_below(3000) * M);
        if (type != AMOUNT_NODES_BYTES && random_below(3) == 0) {
                unsigned first = (unsigned) random_below(c->host.n_nodes);

                only_nodes(c, p, first, first + (unsigned) random_below(c->host.n_nodes - first));
        }
        p->essential = random_below(3) == 0;
        if (random_below(4) == 0)
                p->headroom = (Amount){ .type = AMOUNT_PERCENT, .value = random_below(2000) };
}

static void random_case(Case *c) {
        machine(c, 1 + random_below(MAX_NODES), (1 + random_below(8)) * G);
        for (size_t n = 0; n < c->host.n_nodes; n++)
                for (size_t s = 0; s < 2; s++)
                        if (random_below(4) == 0) {
                                uint64_t pages = random_below(s == 0 ? 2 : 200);

                                present(c, s, n, pages);
                                if (random_below(2))
                                        remember_before(c, s, n, random_below(pages + 1));
                        }
        c->host.mem_available = sub_sat(c->host.mem_available, random_below(1024) * M);
        for (uint64_t n = random_below(MAX_POOLS + 1); n > 0; n--)
                random_pool(c);
        if (c->config.n_pools > 0 && random_below(6) == 0)
                c->pools[random_below(c->config.n_pools)].size = (Amount){ .type = AMOUNT_REST };
}

static uint64_t huge_after(const Case *c, const Plan *p) {
        uint64_t sum = 0;

        for (size_t s = 0; s < 2; s++)
                for (size_t n = 0; n < c->host.n_nodes; n++)
                        sum += plan_node(p, s, n)->target * c->sizes[s].bytes;
        return sum;
}

static uint64_t huge_now(const Case *c) {
        uint64_t sum = 0;

        for (size_t s = 0; s < 2; s++)
                for (size_t n = 0; n < c->host.n_nodes; n++)
                        sum += c->counts[n][s].nr * c->sizes[s].bytes;
        return sum;
}

/* Never above KeepFree=, whatever is configured: neither by MemTotal nor by MemAvailable. */
static void check_keeps_free(const Case *c, const Plan *p) {
        uint64_t now = huge_now(c), after = huge_after(c, p);

        if (after <= now)
                return;
        assert_true(c->host.mem_total - after >= p->keep_free);
        assert_true(c->host.mem_available - (after - now) >= p->keep_free);
}

static void check_sums(const Case *c, const Plan *p) {
        uint64_t wanted[MAX_SIZES][MAX_NODES] = {};

        for (size_t i = 0; i < p->n_pools; i++) {
                const PlanPool *pp = &p->pools[i];
                uint64_t sum = 0;

                for (size_t n = 0; n < c->host.n_nodes; n++) {
                        sum += pp->node_planned[n];
                        wanted[pp->size_index][n] += pp->node_planned[n];
                        assert_true(pp->node_planned[n] == 0 || pp->allowed[n]);
                        if (pp->explicit_nodes)
                                assert_true(pp->node_planned[n] <= pp->node_requested[n]);
                }
                assert_int_equal(sum, pp->planned);
                assert_true(pp->planned <= pp->requested);
                assert_true((pp->planned < pp->requested) == (pp->cut != NULL));
        }
        for (size_t s = 0; s < 2; s++)
                for (size_t n = 0; n < c->host.n_nodes; n++) {
                        const PlanNode *node = plan_node(p, s, n);

                        assert_int_equal(node->wanted, wanted[s][n]);
                        assert_true(node->target >= node->wanted);
                        assert_true(node->target >= MIN(node->before, node->now));
                        assert_true(sub_sat(node->now, node->target) <= c->counts[n][s].free);
                }
}

/* A pool is short only where there is no room: none above KeepFree= for one more page, or none on its nodes.
 */
static void check_no_needless_cut(const Case *c, const Plan *p) {
        uint64_t now = huge_now(c), after = huge_after(c, p), room;

        room = after > now ? sub_sat(p->room, after - now) : add_sat(p->room, now - after);
        for (size_t i = 0; i < p->n_pools; i++) {
                const PlanPool *pp = &p->pools[i];
                uint64_t page_size = c->sizes[pp->size_index].bytes;

                if (pp->planned == pp->requested || room < page_size)
                        continue;
                for (size_t n = 0; n < c->host.n_nodes; n++) {
                        uint64_t taken = 0;

                        if (!pp->allowed[n] ||
                            (pp->explicit_nodes && pp->node_planned[n] == pp->node_requested[n]))
                                continue;
                        for (size_t s = 0; s < 2;
                             s++) /* what is there of smaller sizes stays until written */
                                taken += MAX(plan_node(p, s, n)->target, plan_node(p, s, n)->wanted) *
                                         c->sizes[s].bytes;
                        if (c->nodes[n].mem_total >= taken + page_size)
                                print_error(
                                        "pool %zu: %llu of %llu (granted %llu) while node %zu has room\n", i,
                                        (unsigned long long) pp->planned, (unsigned long long) pp->requested,
                                        (unsigned long long) pp->granted, n);
                        assert_true(c->nodes[n].mem_total < taken + page_size);
                }
        }
}

static void check_write_order(const Case *c, const Plan *p) {
        bool raised = false;
        size_t size = 0;

        for (size_t i = 0; i < p->n_writes; i++) {
                const PlanWrite *w = &p->writes[i];

                assert_int_equal(w->kind, WRITE_POOL);
                assert_int_equal(w->pages, plan_node(p, w->size_index, w->node_index)->target);
                assert_true(w->pages != plan_node(p, w->size_index, w->node_index)->now);
                if (!w->lowers && !raised) {
                        raised = true;
                        size = w->size_index;
                }
                assert_true(w->lowers != raised);
                if (raised) {
                        assert_true(w->size_index >= size);
                        size = w->size_index;
                }
        }
}

/* Does what the plan says, as a kernel that gives everything would, and remembers it as a run does. */
static void carry_out(Case *c, const Plan *p) {
        uint64_t now = huge_now(c), after = huge_after(c, p);

        for (size_t s = 0; s < 2; s++)
                for (size_t n = 0; n < c->host.n_nodes; n++) {
                        const PlanNode *node = plan_node(p, s, n);
                        uint64_t in_use = c->counts[n][s].nr - c->counts[n][s].free;
                        bool known = false;

                        for (size_t i = 0; i < c->state.n_before; i++)
                                known |= c->before[i].page_size == c->sizes[s].bytes &&
                                         c->before[i].node == n;
                        if (!known && node->target != node->now)
                                remember_before(c, s, n, node->now);
                        c->sizes[s].total.nr += node->target - node->now;
                        c->sizes[s].total.free += node->target - node->now;
                        c->counts[n][s].nr = node->target;
                        c->counts[n][s].free = node->target - in_use;
                }
        c->host.mem_available -= after - now;

        c->host.state = &c->state;
        c->state.pools = c->state_pools;
        c->state.n_pools = p->n_pools;
        for (size_t i = 0; i < p->n_pools; i++) {
                c->state_pools[i] = (StatePool){
                        .name = p->pools[i].pool->section.name,
                        .page_size = c->sizes[p->pools[i].size_index].bytes,
                        .requested = p->pools[i].requested,
                        .reserved = p->pools[i].planned,
                        .nodes = c->state_nodes[i],
                        .n_nodes = c->host.n_nodes,
                };
                for (size_t n = 0; n < c->host.n_nodes; n++)
                        c->state_nodes[i][n] = (StatePages){ c->state_pools[i].page_size, (unsigned) n,
                                                             p->pools[i].node_planned[n] };
        }
}

static void check_random_case(uint64_t seed) {
        Case c;

        seed_state = seed;
        random_case(&c);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        check_keeps_free(&c, p);
        check_sums(&c, p);
        check_no_needless_cut(&c, p);
        check_write_order(&c, p);

        /* A second run changes nothing, also when memory has become scarcer meanwhile. */
        carry_out(&c, p);
        if (random_below(2))
                c.host.mem_available = random_below(c.host.mem_available + 1);
        _cleanup_(plan_freep) Plan *again = plan(&c);
        for (size_t i = 0; i < again->n_writes; i++)
                print_error("seed %llu: %s %s → %s\n", (unsigned long long) seed, again->writes[i].path,
                            again->writes[i].lowers ? "lowered" : "raised", again->writes[i].value);
        assert_int_equal(again->n_writes, 0);
}

static void test_random_machines_keep_the_rules(void **state) {
        for (uint64_t seed = 1; seed <= 50000; seed++)
                check_random_case(seed);
}

/* Two pools that may use node 0 alone, the one of small pages essential; the other node is there so that
 * KeepFree= has room to spare. Surplus pages become those that a pool wants: they take no memory beside
 * them. */
static void check_surplus_is_counted_once(uint64_t seed) {
        uint64_t small, large, surplus, now, bytes, room_for_small, small_after;
        Case c;

        seed_state = seed;
        bytes = (2 + random_below(6)) * G + random_below(512) * 2 * M;
        small = random_below(4000);
        large = random_below(9);
        surplus = random_below(500);
        now = random_below(400);
        machine(&c, 2, bytes);
        c.config.system.keep_free.value = 0;
        present(&c, 1, 0, now);
        c.counts[0][1].nr += surplus;
        c.counts[0][1].surplus = surplus;
        c.sizes[1].total.nr += surplus;
        c.sizes[1].total.surplus = surplus;
        only_nodes(&c, pool(&c, G, AMOUNT_PAGES, large), 0, 0);
        only_nodes(&c, pool(&c, 2 * M, AMOUNT_PAGES, small), 0, 0);
        c.pools[1].essential = true;

        room_for_small = bytes / (2 * M);
        small_after = MAX(MIN(small, room_for_small), now + surplus);
        _cleanup_(plan_freep) Plan *p = plan(&c);
        assert_int_equal(p->pools[1].planned, MIN(small, room_for_small));
        assert_int_equal(p->pools[0].planned, MIN(large, (bytes - small_after * 2 * M) / G));
}

static void test_surplus_is_counted_once(void **state) {
        for (uint64_t seed = 1; seed <= 5000; seed++)
                check_surplus_is_counted_once(seed);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_size_is_spread_evenly),
                cmocka_unit_test(test_sizes_are_rounded_up_to_whole_pages),
                cmocka_unit_test(test_headroom_is_added_before_rounding),
                cmocka_unit_test(test_less_than_a_page_is_suspicious),
                cmocka_unit_test(test_keep_free_above_all_memory_is_named),
                cmocka_unit_test(test_a_percentage_is_of_the_allowed_nodes),
                cmocka_unit_test(test_per_node_amounts_and_ranges),
                cmocka_unit_test(test_a_named_node_that_does_not_exist_is_short),
                cmocka_unit_test(test_nodes_without_memory_or_cpus_get_nothing),
                cmocka_unit_test(test_the_largest_size_is_written_first),
                cmocka_unit_test(test_8T_on_a_small_machine_leaves_keep_free),
                cmocka_unit_test(test_a_full_node_is_not_put_down_to_keep_free),
                cmocka_unit_test(test_keep_free_defaults_to_5_percent_and_at_least_512M),
                cmocka_unit_test(test_essential_pools_keep_theirs_then_reading_order),
                cmocka_unit_test(test_an_essential_small_page_pool_beats_a_gigantic_one),
                cmocka_unit_test(test_pages_that_are_there_count),
                cmocka_unit_test(test_pages_beyond_the_pools_are_not_released),
                cmocka_unit_test(test_only_what_we_added_is_lowered_and_nothing_promised),
                cmocka_unit_test(test_nothing_is_given_back_while_a_drop_in_has_an_error),
                cmocka_unit_test(test_what_is_given_back_makes_room),
                cmocka_unit_test(test_rest_takes_what_the_others_leave),
                cmocka_unit_test(test_an_unknown_page_size_drops_the_pool_alone),
                cmocka_unit_test(test_limits_move_spread_pages_and_leave_explicit_ones),
                cmocka_unit_test(test_pages_are_attributed_in_the_order_of_cuts),
                cmocka_unit_test(test_keep_free_counts_huge_pages_against_all_memory),
                cmocka_unit_test(test_larger_pages_leave_an_essential_pool_its_node),
                cmocka_unit_test(test_a_pool_stays_where_the_last_run_put_it),
                cmocka_unit_test(test_pages_are_attributed_where_they_were_planned),
                cmocka_unit_test(test_without_numa_the_global_counter_is_written),
                cmocka_unit_test(test_random_machines_keep_the_rules),
                cmocka_unit_test(test_surplus_is_counted_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
