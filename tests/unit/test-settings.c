/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each key that stands for a knob of the kernel comes out as a setting of a knob that the host knows: a new
 * one cannot be parsed and then forgotten. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/keys.h"
#include "plan/plan.h"
#include "temp-root.h"

/* Something that the key takes. */
static const char *value_for(const KeyInfo *key) {
        if (key->words)
                return key->words[0];
        if (strstr(key->expected, "yes"))
                return "yes";
        if (strstr(key->expected, "time span"))
                return "10s";
        if (strstr(key->expected, "group"))
                return "7";
        return "10";
}

static void check_key(const char *section, const KeyInfo *key, const char *prefix) {
        char *root = temp_root_new();
        char drop_in[256], fixture[512];
        Diagnostics d = {};
        Config *config;
        Host *host;
        Plan *plan;

        snprintf(fixture, sizeof(fixture), "%s/forky/root", getenv("FIXTURES"));
        snprintf(drop_in, sizeof(drop_in), "[%s]\n%s=%s\n", section, key->name, value_for(key));
        temp_root_write(root, "/etc/hugepages.d/50-test.conf", drop_in);
        assert_int_equal(config_load(root, &config, &d), 0);
        assert_int_equal(host_load(fixture, HOST_ALL, &host, &d), 0);
        assert_int_equal(plan_make(&(PlanInput){ .config = config, .host = host }, &plan, &d), 0);

        if (plan->n_settings != 1 || !startswith(plan->settings[0].path, prefix) ||
            !host_knob(host, plan->settings[0].path) || d.n > 0)
                fail_msg("[%s] %s= sets %zu knobs (%s), with %zu diagnostics", section, key->name,
                         plan->n_settings, plan->n_settings > 0 ? plan->settings[0].path : "none", d.n);
        plan_free(plan);
        host_free(host);
        config_free(config);
        diag_done(&d);
        temp_root_free(root);
}

static void check_section(SectionType type, const char *header, const char *prefix) {
        for (size_t i = 0; i < section_table[type].n_keys; i++)
                check_key(header, &section_table[type].keys[i], prefix);
}

static void test_every_thp_key_sets_a_knob(void **state) {
        check_section(SECTION_THP, "THP", THP_DIRECTORY "/");
}

static void test_every_key_of_a_thp_size_sets_a_knob(void **state) {
        check_section(SECTION_THP_SIZE, "THP 64K", THP_DIRECTORY "/hugepages-64kB/");
}

static void test_every_khugepaged_key_sets_a_knob(void **state) {
        check_section(SECTION_KHUGEPAGED, "Khugepaged", KHUGEPAGED_DIRECTORY "/");
}

static void test_system_keys_that_are_knobs_set_them(void **state) {
        check_key("System", section_find_key(SECTION_SYSTEM, "SharedMemoryGroup"), "/proc/sys/vm/");
        check_key("System", section_find_key(SECTION_SYSTEM, "OptimizeVmemmap"), "/proc/sys/vm/");
        check_key("System", section_find_key(SECTION_SYSTEM, "DefragMode"), "/proc/sys/vm/");
}

/* The plan's only setting for the drop-in on the machine, as "path=value" and with the diagnostics behind
 * it. */
static char *setting_of(const char *machine, const char *drop_in) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(host_freep) Host *host = NULL;
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *fixture = NULL;
        Diagnostics d = {};
        char *text;

        assert_true(asprintf(&fixture, "%s/%s/root", getenv("FIXTURES"), machine) >= 0);
        temp_root_write(root, "/etc/hugepages.d/a.conf", drop_in);
        assert_int_equal(config_load(root, &config, &d), 0);
        assert_int_equal(host_load(fixture, HOST_ALL, &host, &d), 0);
        assert_int_equal(plan_make(&(PlanInput){ .config = config, .host = host }, &plan, &d), 0);
        assert_int_equal(plan->n_settings, 1);
        assert_true(plan->settings[0].before_pools);
        assert_true(asprintf(&text, "%s=%s, %zu writes", plan->settings[0].path, plan->settings[0].value,
                             plan->n_writes) >= 0);
        for (size_t i = 0; i < d.n; i++) {
                _cleanup_free_ char *before = text, *diagnostic = diag_format(&d.items[i]);

                assert_true(asprintf(&text, "%s; %s", before, diagnostic) >= 0);
        }
        diag_done(&d);
        return text;
}

static void test_defrag_mode_before_and_after_it_came(void **state) {
        static const struct {
                const char *machine, *value, *expected;
        } table[] = {
                { "forky", "yes", "/proc/sys/vm/defrag_mode=1, 1 writes" },
                { "forky", "no", "/proc/sys/vm/defrag_mode=0, 0 writes" },
                { "mthp", "yes",
                  "/proc/sys/vm/defrag_mode=1, 0 writes; /etc/hugepages.d/a.conf:2: DefragMode=1: this "
                  "kernel "
                  "lacks /proc/sys/vm/defrag_mode" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *drop_in = NULL, *text = NULL;

                assert_true(asprintf(&drop_in, "[System]\nDefragMode=%s\n", table[i].value) >= 0);
                text = setting_of(table[i].machine, drop_in);
                assert_string_equal(text, table[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_thp_key_sets_a_knob),
                cmocka_unit_test(test_every_key_of_a_thp_size_sets_a_knob),
                cmocka_unit_test(test_every_khugepaged_key_sets_a_knob),
                cmocka_unit_test(test_system_keys_that_are_knobs_set_them),
                cmocka_unit_test(test_defrag_mode_before_and_after_it_came),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
