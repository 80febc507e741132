/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Placement: even spreading, per-node amounts, pages that are there already, and who gives way to whom. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/placement.h"

#define N 4
static const bool all[N] = { true, true, true, true };

static PlacementPool spread(uint64_t want, const bool *allowed, uint64_t *placed) {
        return (PlacementPool){ .want = want, .allowed = allowed, .placed = placed };
}

static void assert_placed(const uint64_t *placed, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
        assert_int_equal(placed[0], a);
        assert_int_equal(placed[1], b);
        assert_int_equal(placed[2], c);
        assert_int_equal(placed[3], d);
}

static void test_even_with_the_remainder_to_the_lowest_nodes(void **state) {
        PlacementNode nodes[N] = { { 100, 0 }, { 100, 0 }, { 100, 0 }, { 100, 0 } };
        uint64_t placed[N];
        PlacementPool pool = spread(42, all, placed);

        assert_int_equal(placement_fill(&pool, 1, nodes, N, UINT64_MAX), 0);
        assert_placed(placed, 11, 11, 10, 10);
}

static void test_what_a_node_cannot_hold_goes_to_the_others(void **state) {
        PlacementNode nodes[N] = { { 100, 0 }, { 4, 0 }, { 100, 0 }, { 0, 0 } };
        uint64_t placed[N];
        PlacementPool pool = spread(25, all, placed);

        assert_int_equal(placement_fill(&pool, 1, nodes, N, UINT64_MAX), 0);
        assert_placed(placed, 11, 4, 10, 0);
}

static void test_present_pages_are_used_before_new_ones(void **state) {
        PlacementNode nodes[N] = { { 100, 30 }, { 100, 0 }, { 100, 0 }, { 100, 0 } };
        uint64_t placed[N];
        PlacementPool pool = spread(40, all, placed);

        assert_int_equal(placement_fill(&pool, 1, nodes, N, UINT64_MAX), 0);
        assert_placed(placed, 30, 4, 3, 3);
}

static void test_per_node_amounts_stay_on_their_nodes(void **state) {
        PlacementNode nodes[N] = { { 10, 0 }, { 100, 0 }, { 100, 0 }, { 100, 0 } };
        const bool allowed[N] = { true, true };
        const uint64_t want[N] = { 20, 5 };
        uint64_t placed[N];
        PlacementPool pool = { .want = 25, .allowed = allowed, .node_want = want, .placed = placed };

        assert_int_equal(placement_fill(&pool, 1, nodes, N, UINT64_MAX), 0);
        assert_placed(placed, 10, 5, 0, 0);
        assert_int_equal(pool.total, 15);
}

static void test_a_spread_pool_makes_way_for_a_bound_one(void **state) {
        PlacementNode nodes[N] = { { 10, 0 }, { 20, 0 }, { 0, 0 }, { 0, 0 } };
        const uint64_t want[N] = { 8 };
        uint64_t a[N], b[N];
        PlacementPool pools[] = {
                spread(10, all, a),
                { .want = 8, .allowed = (bool[N]){ true }, .node_want = want, .placed = b },
        };

        assert_int_equal(placement_fill(pools, 2, nodes, N, UINT64_MAX), 0);
        assert_placed(a, 2, 8, 0, 0);
        assert_placed(b, 8, 0, 0, 0);
}

static void test_a_chain_of_moves_is_found(void **state) {
        /* c needs node 0, which a holds; a may go to node 1, which b holds; b may go to node 2. */
        PlacementNode nodes[N] = { { 5, 0 }, { 5, 0 }, { 5, 0 }, { 0, 0 } };
        const bool on01[N] = { true, true }, on12[N] = { false, true, true }, on0[N] = { true };
        const uint64_t prefer_a[N] = { 5 }, prefer_b[N] = { 0, 5 };
        uint64_t a[N], b[N], c[N];
        PlacementPool pools[] = { spread(5, on01, a), spread(5, on12, b), spread(5, on0, c) };

        nodes[0].present = nodes[1].present = 5;
        pools[0].preferred = prefer_a;
        pools[1].preferred = prefer_b;
        assert_int_equal(placement_fill(pools, 3, nodes, N, UINT64_MAX), 0);
        assert_placed(c, 5, 0, 0, 0);
        assert_placed(a, 0, 5, 0, 0);
        assert_placed(b, 0, 0, 5, 0);
}

static void test_preferred_pages_are_kept(void **state) {
        PlacementNode nodes[N] = { { 100, 80 }, { 100, 70 }, { 100, 50 }, { 0, 0 } };
        const bool on01[N] = { true, true }, on12[N] = { false, true, true };
        const uint64_t prefer_a[N] = { 80, 20 }, prefer_b[N] = { 0, 50, 50 };
        uint64_t a[N], b[N];
        PlacementPool pools[] = { spread(100, on01, a), spread(100, on12, b) };

        pools[0].preferred = prefer_a;
        pools[1].preferred = prefer_b;
        assert_int_equal(placement_fill(pools, 2, nodes, N, UINT64_MAX), 0);
        assert_placed(a, 80, 20, 0, 0);
        assert_placed(b, 0, 50, 50, 0);
}

static void test_the_shortage_falls_on_the_last_pool(void **state) {
        PlacementNode nodes[N] = { { 120, 120 }, { 60, 60 }, { 0, 0 }, { 0, 0 } };
        const uint64_t prefer_a[N] = { 0, 100 }, prefer_b[N] = { 100 };
        uint64_t a[N], b[N];
        PlacementPool pools[] = { spread(100, all, a), spread(100, all, b) };

        pools[0].preferred = prefer_a;
        pools[1].preferred = prefer_b;
        assert_int_equal(placement_fill(pools, 2, nodes, N, 0), 0);
        assert_int_equal(pools[0].total, 100);
        assert_int_equal(pools[1].total, 80);
}

static void test_new_pages_are_bounded(void **state) {
        PlacementNode nodes[N] = { { 100, 10 }, { 100, 0 }, { 100, 0 }, { 100, 0 } };
        uint64_t a[N], b[N];
        PlacementPool pools[] = { spread(30, all, a), spread(30, all, b) };

        assert_int_equal(placement_fill(pools, 2, nodes, N, 25), 0);
        assert_int_equal(pools[0].total, 30);
        assert_int_equal(pools[1].total, 5);
}

/* Random cases against what must hold for every placement. */
static uint64_t random_below(uint64_t *seed, uint64_t n) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        return n ? (*seed >> 33) % n : 0;
}

static void check_random(uint64_t seed) {
        PlacementNode nodes[N];
        bool allowed[5][N];
        uint64_t want[5][N], preferred[5][N], placed[5][N], used[N] = {};
        PlacementPool pools[5];
        size_t n_pools = 1 + random_below(&seed, 5);
        uint64_t max_new = random_below(&seed, 3) ? UINT64_MAX : random_below(&seed, 60), new = 0;

        for (size_t n = 0; n < N; n++) {
                nodes[n].capacity = random_below(&seed, 40);
                nodes[n].present = random_below(&seed, nodes[n].capacity + 1);
        }
        for (size_t i = 0; i < n_pools; i++) {
                bool bound = random_below(&seed, 3) == 0;
                uint64_t sum = 0;

                for (size_t n = 0; n < N; n++) {
                        want[i][n] = random_below(&seed, 2) ? random_below(&seed, 20) : 0;
                        sum += want[i][n];
                        allowed[i][n] = bound ? want[i][n] > 0 : random_below(&seed, 2);
                        preferred[i][n] = random_below(&seed, 10);
                }
                pools[i] = (PlacementPool){
                        .want = bound ? sum : random_below(&seed, 50),
                        .allowed = allowed[i],
                        .node_want = bound ? want[i] : NULL,
                        .preferred = random_below(&seed, 2) ? preferred[i] : NULL,
                        .placed = placed[i],
                };
        }
        assert_int_equal(placement_fill(pools, n_pools, nodes, N, max_new), 0);

        for (size_t i = 0; i < n_pools; i++) {
                uint64_t sum = 0;

                for (size_t n = 0; n < N; n++) {
                        sum += placed[i][n];
                        used[n] += placed[i][n];
                        assert_true(placed[i][n] == 0 || allowed[i][n]);
                        if (pools[i].node_want)
                                assert_true(placed[i][n] <= want[i][n]);
                }
                assert_int_equal(sum, pools[i].total);
                assert_true(sum <= pools[i].want);
        }
        for (size_t n = 0; n < N; n++) {
                assert_true(used[n] <= nodes[n].capacity);
                new += sub_sat(used[n], nodes[n].present);
        }
        assert_true(new <= max_new);

        /* Nobody goes short while a node that he may use has pages. */
        for (size_t i = 0; i < n_pools; i++)
                for (size_t n = 0; n < N; n++) {
                        bool wants = pools[i].node_want ? placed[i][n] < want[i][n] : allowed[i][n];

                        if (pools[i].total == pools[i].want || !wants)
                                continue;
                        assert_true(used[n] == nodes[n].capacity ||
                                    (used[n] >= nodes[n].present && new == max_new));
                        /* … nor while a less important one holds what he could have. */
                        for (size_t j = i + 1; j < n_pools; j++)
                                assert_int_equal(placed[j][n], 0);
                }
}

static void test_random_placements_keep_the_rules(void **state) {
        for (uint64_t seed = 1; seed <= 200000; seed++)
                check_random(seed);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_even_with_the_remainder_to_the_lowest_nodes),
                cmocka_unit_test(test_what_a_node_cannot_hold_goes_to_the_others),
                cmocka_unit_test(test_present_pages_are_used_before_new_ones),
                cmocka_unit_test(test_per_node_amounts_stay_on_their_nodes),
                cmocka_unit_test(test_a_spread_pool_makes_way_for_a_bound_one),
                cmocka_unit_test(test_a_chain_of_moves_is_found),
                cmocka_unit_test(test_preferred_pages_are_kept),
                cmocka_unit_test(test_the_shortage_falls_on_the_last_pool),
                cmocka_unit_test(test_new_pages_are_bounded),
                cmocka_unit_test(test_random_placements_keep_the_rules),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
