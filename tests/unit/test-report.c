/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of status lines, pool lines and conflicts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/conflicts.h"
#include "report/event.h"
#include "report/report.h"

#define M (1ull << 20)
#define G (1ull << 30)

/* Two nodes, two sizes and up to five pools that live on the test's stack. */
typedef struct Case {
        Outcome o;
        OutcomePool pools[5];
        OutcomeSetting settings[3];
        OutcomeSize sizes[2];
        unsigned ids[2];
        uint64_t planned[5][2], reserved[5][2];
} Case;

static void case_init(Case *c) {
        *c = (Case){ .ids = { 0, 1 }, .sizes = { { .page_size = G }, { .page_size = 2 * M } } };
        c->o = (Outcome){
                .pools = c->pools,
                .settings = c->settings,
                .sizes = c->sizes,
                .n_sizes = 2,
                .node_ids = c->ids,
                .n_nodes = 2,
                .n_memory_nodes = 2,
        };
}

static OutcomePool *add_pool(Case *c, const char *name, uint64_t page_size, uint64_t node0, uint64_t node1) {
        size_t i = c->o.n_pools++;
        OutcomePool *p = &c->pools[i];
        OutcomeSize *s = &c->sizes[page_size == G ? 0 : 1];

        c->planned[i][0] = c->reserved[i][0] = node0;
        c->planned[i][1] = c->reserved[i][1] = node1;
        *p = (OutcomePool){
                .name = (char *) name,
                .source = { "/etc/hugepages.d/50-db.conf", 1 },
                .page_size = page_size,
                .requested = node0 + node1,
                .planned = node0 + node1,
                .reserved = node0 + node1,
                .node_planned = c->planned[i],
                .node_reserved = c->reserved[i],
        };
        s->has_pool = true;
        s->requested += p->requested;
        s->reserved += p->reserved;
        return p;
}

static void lose(Case *c, OutcomePool *p, size_t node, uint64_t pages, const char *reason) {
        p->node_reserved[node] -= pages;
        p->reserved -= pages;
        p->reason = (char *) reason;
        c->sizes[p->page_size == G ? 0 : 1].reserved -= pages;
}

static void drop(Case *c, const char *name, unsigned line) {
        c->pools[c->o.n_pools++] = (OutcomePool){
                .name = (char *) name,
                .source = { "/etc/hugepages.d/50-db.conf", line },
                .dropped = true,
                .reason = (char *) "/etc/hugepages.d/50-db.conf:7: Size=8Q: not a size",
        };
        c->o.n_errors++;
}

static void add_setting(Case *c, const char *path, const char *wanted, const char *actual,
                        SettingResult result) {
        c->settings[c->o.n_settings++] = (OutcomeSetting){
                .path = (char *) path, .wanted = (char *) wanted, .actual = (char *) actual, .result = result
        };
}

static void assert_status(const Case *c, const char *expected) {
        _cleanup_free_ char *line = report_status_line(&c->o);

        assert_string_equal(line, expected);
}

static void assert_line(const Case *c, size_t pool, const char *expected) {
        _cleanup_free_ char *line = report_pool_line(&c->o, &c->pools[pool]);

        assert_string_equal(line, expected);
}

static void test_status_is_that_of_the_contract(void **state) {
        Case c;
        OutcomePool *vm;

        case_init(&c);
        add_pool(&c, "db", 2 * M, 2048, 2048);
        vm = add_pool(&c, "vm", G, 4, 4);
        lose(&c, vm, 1, 1, "too little unbroken memory on node1");
        add_setting(&c, THP_DIRECTORY "/enabled", "never", "never", SETTING_CHANGED);
        assert_status(&c, "2M 4096/4096 (8G) · 1G 7/8 (7G) on 2 nodes · THP never"
                          " · degraded: vm short by 1 × 1G on node1");
}

static void test_status_without_pools(void **state) {
        Case c;

        case_init(&c);
        assert_status(&c, "no pools configured");
        drop(&c, "db", 7);
        assert_status(&c, "no usable pools · degraded: db dropped (error in /etc/hugepages.d/50-db.conf:7)");
}

static void test_status_names_no_nodes_where_there_is_one(void **state) {
        Case c;
        OutcomePool *p;

        case_init(&c);
        c.o.n_nodes = c.o.n_memory_nodes = 1;
        p = add_pool(&c, "db", 2 * M, 100, 0);
        lose(&c, p, 0, 40, "too little unbroken memory on this machine");
        assert_status(&c, "2M 60/100 (120M) · degraded: db short by 40 × 2M");
        assert_line(&c, 0,
                    "pool db: 60 of 100 × 2M (120M) reserved; short by 40 × 2M: "
                    "too little unbroken memory on this machine");
}

static void test_thp_is_named_only_where_declared_and_as_it_is(void **state) {
        Case c;

        case_init(&c);
        add_pool(&c, "db", 2 * M, 1, 1);
        add_setting(&c, THP_DIRECTORY "/defrag", "never", "never", SETTING_CHANGED);
        assert_status(&c, "2M 2/2 (4M) on 2 nodes");
        add_setting(&c, THP_DIRECTORY "/enabled", "never", "always", SETTING_REFUSED);
        assert_status(&c, "2M 2/2 (4M) on 2 nodes · THP always · degraded: 1 setting not as declared");
}

static void test_status_counts_errors_that_cost_no_pool(void **state) {
        Case c;

        case_init(&c);
        add_pool(&c, "db", 2 * M, 1, 1);
        c.o.n_errors = 2;
        assert_status(&c, "2M 2/2 (4M) on 2 nodes · degraded: 2 errors in drop-ins");
        drop(&c, "mq", 7);
        c.o.n_errors = 2;
        assert_status(
                &c,
                "2M 2/2 (4M) on 2 nodes · degraded: mq dropped (error in /etc/hugepages.d/50-db.conf:7), "
                "1 more error in drop-ins");
}

static void test_status_names_three_faults_and_counts_the_rest(void **state) {
        static const char *const names[] = { "a", "b", "c", "d", "e" };
        Case c;

        case_init(&c);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                lose(&c, add_pool(&c, names[i], 2 * M, 4, 4), 0, 1, "because");
        assert_status(&c, "2M 35/40 (70M) on 2 nodes · degraded: a short by 1 × 2M on node0, "
                          "b short by 1 × 2M on node0, c short by 1 × 2M on node0 and 2 more faults");
}

static void test_pool_line_names_the_nodes(void **state) {
        Case c;
        OutcomePool *p;

        case_init(&c);
        add_pool(&c, "db", 2 * M, 2048, 2048);
        assert_line(&c, 0, "pool db: 4096 × 2M (8G) reserved: node0 2048, node1 2048");
        p = add_pool(&c, "vm", G, 4, 4);
        lose(&c, p, 0, 1, "because");
        lose(&c, p, 1, 2, "because");
        assert_line(&c, 1,
                    "pool vm: 5 of 8 × 1G (5G) reserved: node0 3, node1 2; "
                    "short by 3 × 1G on node0 and node1: because");
}

static void test_pool_that_was_cut_names_no_node(void **state) {
        Case c;
        OutcomePool *p;

        case_init(&c);
        p = add_pool(&c, "db", 2 * M, 10, 10);
        p->requested = 100;
        p->reason = (char *) "KeepFree=1G of 2G memory leaves room for 20 of 100 pages";
        assert_line(&c, 0,
                    "pool db: 20 of 100 × 2M (40M) reserved: node0 10, node1 10; short by 80 × 2M: "
                    "KeepFree=1G of 2G memory leaves room for 20 of 100 pages");
}

static void test_dropped_pool_tells_its_error(void **state) {
        _cleanup_free_ char *text = NULL;
        Case c;

        case_init(&c);
        drop(&c, "db", 7);
        assert_line(&c, 0, "pool db dropped: /etc/hugepages.d/50-db.conf:7: Size=8Q: not a size");
        assert_int_equal(report_pool_shortage(&c.o, &c.pools[0], &text), 0);
        assert_string_equal(text, "db dropped (error in /etc/hugepages.d/50-db.conf:7)");
}

static void test_full_pool_has_no_shortage(void **state) {
        char *text = (char *) "untouched";
        Case c;

        case_init(&c);
        add_pool(&c, "db", 2 * M, 1, 0);
        assert_int_equal(report_pool_shortage(&c.o, &c.pools[0], &text), 0);
        assert_null(text);
}

/* --- conflicts --- */

/* A plan of 100 × 2M and 2 × 1G, THP never; and what somebody else says. */
static void assert_conflicts(const ForeignSetting *items, size_t n, const char *cmdline,
                             const char *const *expected, size_t n_expected) {
        Pool pools[2] = { { .section.name = (char *) "db" }, { .section.name = (char *) "vm" } };
        PageSize sizes[2] = { { .bytes = G }, { .bytes = 2 * M } };
        Host host = { .sizes = sizes, .n_sizes = 2, .default_page_size = 2 * M };
        PlanPool plan_pools[2] = { { .pool = &pools[0], .size_index = 1, .requested = 100, .planned = 60 },
                                   { .pool = &pools[1], .size_index = 0, .requested = 2, .planned = 2 } };
        PlanWrite settings[3] = {
                { .path = (char *) THP_DIRECTORY "/enabled",
                  .value = (char *) "never",
                  .source = { "/etc/hugepages.d/10-thp.conf", 2 } },
                { .path = (char *) "/proc/sys/vm/hugetlb_shm_group", .value = (char *) "7" },
                { .path = (char *) "/proc/sys/vm/defrag_mode", .value = (char *) "1" },
        };
        Plan plan = {
                .host = &host, .pools = plan_pools, .n_pools = 2, .settings = settings, .n_settings = 3
        };
        Foreign f = { .items = (ForeignSetting *) items, .n = n };
        Diagnostics d = {};

        assert_int_equal(conflicts_find(&plan, &f, cmdline, &d), 0);
        assert_int_equal(d.n, n_expected);
        for (size_t i = 0; i < n_expected; i++) {
                _cleanup_free_ char *text = diag_format(&d.items[i]);

                assert_string_equal(text, expected[i]);
        }
        diag_done(&d);
}

static ForeignSetting foreign(ForeignKind kind, const char *file, unsigned line, const char *key,
                              const char *value) {
        return (ForeignSetting){ kind, (char *) file, line, (char *) key, (char *) value };
}

static void test_sysctl_that_says_otherwise_is_named(void **state) {
        const ForeignSetting items[] = {
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/a.conf", 3, "vm.nr_hugepages", "50"),
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/b.conf", 4, "vm.nr_hugepages", "64"),
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/b.conf", 5, "vm.hugetlb_shm_group", "8"),
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/b.conf", 6, "vm.defrag_mode", "0"),
        };
        const char *const expected[] = {
                "/etc/sysctl.d/b.conf:4: vm.nr_hugepages=64 contradicts the pools of 100 × 2M in "
                "hugepages.d; "
                "remove one of the two",
                "/etc/sysctl.d/b.conf:5: vm.hugetlb_shm_group=8 contradicts 7 in hugepages.d; remove one of "
                "the two",
                "/etc/sysctl.d/b.conf:6: vm.defrag_mode=0 contradicts 1 in hugepages.d; remove one of the "
                "two",
        };

        assert_conflicts(items, ELEMENTSOF(items), "", expected, ELEMENTSOF(expected));
}

static void test_who_says_the_same_is_not_named(void **state) {
        const ForeignSetting items[] = {
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/a.conf", 3, "vm.nr_hugepages", "100"),
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/a.conf", 4, "vm.hugetlb_optimize_vmemmap", "1"),
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/a.conf", 5, "vm.defrag_mode", "1"),
        };

        assert_conflicts(items, ELEMENTSOF(items),
                         "transparent_hugepage=never hugepages=100 hugepagesz=1G hugepages=0:1,1:1", NULL,
                         0);
}

static void test_command_line_and_tuned_are_named(void **state) {
        const ForeignSetting items[] = {
                foreign(FOREIGN_TUNED, "/usr/lib/tuned/latency/tuned.conf", 9, "transparent_hugepages",
                        "always"),
        };
        const char *const expected[] = {
                "/usr/lib/tuned/latency/tuned.conf:9: transparent_hugepages=always contradicts "
                "never (/etc/hugepages.d/10-thp.conf:2) in hugepages.d; remove one of the two",
                "/proc/cmdline: hugepages=3 contradicts the pools of 2 × 1G in hugepages.d; its pages "
                "count towards them",
        };

        assert_conflicts(items, ELEMENTSOF(items), "hugepagesz=1G hugepages=3", expected,
                         ELEMENTSOF(expected));
}

/* Of the 100 × 2M, KeepFree= leaves 60. */
static void test_what_keep_free_leaves_may_be_on_the_command_line(void **state) {
        const ForeignSetting items[] = {
                foreign(FOREIGN_SYSCTL, "/etc/sysctl.d/a.conf", 3, "vm.nr_hugepages", "60"),
        };
        const char *const expected[] = {
                "/etc/sysctl.d/a.conf:3: vm.nr_hugepages=60 contradicts the pools of 100 × 2M in "
                "hugepages.d; remove one of the two",
        };

        assert_conflicts(items, ELEMENTSOF(items), "hugepages=60", expected, ELEMENTSOF(expected));
}

static void test_hugepages_that_the_kernel_ignores_count_for_nothing(void **state) {
        const char *const expected[] = {
                "/proc/cmdline: hugepages=800 contradicts the pools of 100 × 2M in hugepages.d; its pages "
                "count towards them",
        };

        assert_conflicts(NULL, 0, "hugepagesz=1G hugepages=2 hugepages=800", NULL, 0);
        assert_conflicts(NULL, 0, "hugepagesz=1G hugepages=2 hugepagesz=1G hugepages=9", NULL, 0);
        assert_conflicts(NULL, 0, "transparent_hugepage=always transparent_hugepage=never", NULL, 0);
        assert_conflicts(NULL, 0, "quiet nohugepages=1 -- hugepages=9", NULL, 0);
        assert_conflicts(NULL, 0, "hugepagesz=1G hugepages=2 default_hugepagesz=2M hugepages=800", expected,
                         ELEMENTSOF(expected));
}

/* A drop-in's name may be anything, and a terminal obey it. */
static void test_a_log_line_is_one_printable_line(void **state) {
        char file[] = "/etc/hugepages.d/\x1b]0;x\a\ny.conf", message[] = "bad", line[128] = "";
        const Diagnostic d = { .severity = SEVERITY_ERROR, .file = file, .line = 2, .message = message };
        FILE *f = tmpfile();
        int saved = dup(STDERR_FILENO);

        assert_non_null(f);
        unsetenv("JOURNAL_STREAM");
        assert_true(saved >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
        event_log_diagnostic(&d, NULL);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);
        close(saved);

        rewind(f);
        assert_true(fread(line, 1, sizeof(line) - 1, f) > 0);
        assert_string_equal(line, "/etc/hugepages.d/\\x1b]0;x\\x07\\x0ay.conf:2: bad\n");
        fclose(f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_status_is_that_of_the_contract),
                cmocka_unit_test(test_status_without_pools),
                cmocka_unit_test(test_status_names_no_nodes_where_there_is_one),
                cmocka_unit_test(test_thp_is_named_only_where_declared_and_as_it_is),
                cmocka_unit_test(test_status_counts_errors_that_cost_no_pool),
                cmocka_unit_test(test_status_names_three_faults_and_counts_the_rest),
                cmocka_unit_test(test_pool_line_names_the_nodes),
                cmocka_unit_test(test_pool_that_was_cut_names_no_node),
                cmocka_unit_test(test_dropped_pool_tells_its_error),
                cmocka_unit_test(test_full_pool_has_no_shortage),
                cmocka_unit_test(test_sysctl_that_says_otherwise_is_named),
                cmocka_unit_test(test_who_says_the_same_is_not_named),
                cmocka_unit_test(test_command_line_and_tuned_are_named),
                cmocka_unit_test(test_what_keep_free_leaves_may_be_on_the_command_line),
                cmocka_unit_test(test_hugepages_that_the_kernel_ignores_count_for_nothing),
                cmocka_unit_test(test_a_log_line_is_one_printable_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
