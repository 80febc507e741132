/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of basic/parse.h and basic/format.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those above first. */
#include <cmocka.h>

#include "basic/format.h"
#include "basic/parse.h"

#define UNTOUCHED UINT64_C(0xfeedfeed)

typedef struct NumberCase {
        const char *text;
        int r;
        uint64_t value;
} NumberCase;

static void check_numbers(const NumberCase *cases, size_t n, int (*parse)(const char *, uint64_t *)) {
        for (size_t i = 0; i < n; i++) {
                uint64_t v = UNTOUCHED;
                int r = parse(cases[i].text, &v);

                if (r != cases[i].r || v != (r < 0 ? UNTOUCHED : cases[i].value))
                        fail_msg("\"%s\": %d, %llu", cases[i].text, r, (unsigned long long) v);
        }
}

static void size_has_binary_suffixes(void **state) {
        static const NumberCase cases[] = {
                { "0", 0, 0 },
                { "512", 0, 512 },
                { "512B", 0, 512 },
                { "1K", 0, 1024 },
                { "8G", 0, UINT64_C(8) << 30 },
                { "8GiB", 0, UINT64_C(8) << 30 },
                { "64KiB", 0, 65536 },
                { "2M", 0, 2097152 },
                { "1T", 0, UINT64_C(1) << 40 },
                { "1.5G", 0, UINT64_C(1536) << 20 },
                { "0.5K", 0, 512 },
                { "0.1K", 0, 102 },
                { "1.000001T", 0, (UINT64_C(1) << 40) + 1099511 },
                { "18446744073709551615", 0, UINT64_MAX },
                { "16777215T", 0, UINT64_C(16777215) << 40 },
                { "18446744073709551616", -ERANGE, 0 },
                { "16777216T", -ERANGE, 0 },
                { "16777215.9999999T", -EINVAL, 0 },
                { "", -EINVAL, 0 },
                { "G", -EINVAL, 0 },
                { "8Q", -EINVAL, 0 },
                { "8g", -EINVAL, 0 },
                { "8P", -EINVAL, 0 },
                { "8GB", -EINVAL, 0 },
                { "8Gi", -EINVAL, 0 },
                { "8BiB", -EINVAL, 0 },
                { "8 G", -EINVAL, 0 },
                { " 8G", -EINVAL, 0 },
                { "8G ", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "+1", -EINVAL, 0 },
                { "1.5", -EINVAL, 0 },
                { "1.5B", -EINVAL, 0 },
                { "1.G", -EINVAL, 0 },
                { ".5G", -EINVAL, 0 },
                { "1.5.5G", -EINVAL, 0 },
                { "0x10", -EINVAL, 0 },
                { "25%", -EINVAL, 0 },
        };

        check_numbers(cases, ELEMENTSOF(cases), parse_size);
}

static void sizes_are_respelt(void **state) {
        static const struct {
                const char *text, *respelt; /* NULL: nothing to be spelt otherwise */
        } cases[] = {
                { "1GB", "1G" },
                { "8GB", "8G" },
                { "1gb", "1G" },
                { "1Gb", "1G" },
                { "1g", "1G" },
                { "2m", "2M" },
                { "2mib", "2M" },
                { "2Mi", "2M" },
                { "2048kB", "2048K" },
                { "1 G", "1G" },
                { "1 GiB", "1G" },
                { "1\tg", "1G" },
                { "1.5gb", "1.5G" },
                { "4096 bytes", "4096" },
                { "4096b", "4096" },
                { "25 %", "25%" },
                { "0:4GB,1:12 gb", "0:4G,1:12G" },
                { "0: 4G, 1-3: 12G", "0:4G,1-3:12G" },
                { "2MB:8GB 1gb:infinity", "2M:8G 1G:infinity" },
                { "2GB:infinity", "2G:infinity" },
                { "8GBit", NULL },
                { "8Q", NULL },
                { "1G", NULL },
                { "2M:8G 1G:infinity", NULL },
                { "a1gb", NULL },
                { "12ab1gb", NULL },
                { "infinity", NULL },
                { "", NULL },
        };
        char buffer[64];

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                bool respelt = respell_sizes(cases[i].text, buffer, sizeof(buffer));

                if (respelt != !!cases[i].respelt || !streq(buffer, cases[i].respelt ?: ""))
                        fail_msg("\"%s\": \"%s\"", cases[i].text, buffer);
        }
        assert_false(respell_sizes("1GB", buffer, 3)); /* not even as it is */
        assert_true(respell_sizes("1GB", buffer, 4));
}

static void percentage_has_two_decimals(void **state) {
        static const NumberCase cases[] = {
                { "25%", 0, 2500 },    { "12.5%", 0, 1250 },     { "0.01%", 0, 1 },
                { "140%", 0, 14000 },  { "12.50000%", 0, 1250 }, { "12.345%", -EINVAL, 0 },
                { "25", -EINVAL, 0 },  { "%", -EINVAL, 0 },      { "25%%", -EINVAL, 0 },
                { "-5%", -EINVAL, 0 }, { "25 %", -EINVAL, 0 },   { "18446744073709551615%", -ERANGE, 0 },
        };

        check_numbers(cases, ELEMENTSOF(cases), parse_percent);
}

static void number_is_digits_only(void **state) {
        static const NumberCase cases[] = {
                { "0", 0, 0 },
                { "4096", 0, 4096 },
                { "007", 0, 7 },
                { "18446744073709551615", 0, UINT64_MAX },
                { "18446744073709551616", -ERANGE, 0 },
                { "", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "1.0", -EINVAL, 0 },
                { "1K", -EINVAL, 0 },
                { " 1", -EINVAL, 0 },
        };

        check_numbers(cases, ELEMENTSOF(cases), parse_u64);
}

static void timespan_is_as_in_systemd_time(void **state) {
        static const NumberCase cases[] = {
                { "0", 0, 0 },
                { "30", 0, 30000000 },
                { "30s", 0, 30000000 },
                { "30 s", 0, 30000000 },
                { "500ms", 0, 500000 },
                { "7us", 0, 7 },
                { "1.5s", 0, 1500000 },
                { "1min 30s", 0, 90000000 },
                { "1min30s", 0, 90000000 },
                { "1min 30", 0, 90000000 },
                { "2h", 0, UINT64_C(7200000000) },
                { "1d", 0, UINT64_C(86400000000) },
                { "1week", 0, UINT64_C(604800000000) },
                { "", -EINVAL, 0 },
                { "s", -EINVAL, 0 },
                { "-1s", -EINVAL, 0 },
                { "30x", -EINVAL, 0 },
                { "30s ", -EINVAL, 0 },
                { " 30s", -EINVAL, 0 },
                { "30 ", -EINVAL, 0 },
                { "1..5s", -EINVAL, 0 },
                { "infinity", -EINVAL, 0 },
                { "99999999999999w", -ERANGE, 0 },
        };

        check_numbers(cases, ELEMENTSOF(cases), parse_timespan);
}

static void boolean_has_the_words_of_systemd(void **state) {
        static const char *const yes[] = { "1", "yes", "y", "true", "t", "on", "YES", "True" };
        static const char *const no[] = { "0", "no", "n", "false", "f", "off", "No", "OFF" };
        static const char *const neither[] = { "", "2", "yess", "enable", " yes", "yes ", "-1" };
        bool b;

        for (size_t i = 0; i < ELEMENTSOF(yes); i++) {
                b = false;
                assert_int_equal(parse_boolean(yes[i], &b), 0);
                assert_true(b);
        }
        for (size_t i = 0; i < ELEMENTSOF(no); i++) {
                b = true;
                assert_int_equal(parse_boolean(no[i], &b), 0);
                assert_false(b);
        }
        for (size_t i = 0; i < ELEMENTSOF(neither); i++)
                assert_int_equal(parse_boolean(neither[i], &b), -EINVAL);
}

static void node_range_ends_at_its_length(void **state) {
        static const struct {
                const char *text;
                size_t length;
                int r;
                unsigned first, last;
        } cases[] = {
                { "3", 1, 0, 3, 3 },
                { "0-63", 4, 0, 0, 63 },
                { "1023", 4, 0, 1023, 1023 },
                { "2-3:4G", 3, 0, 2, 3 },
                { "12", 1, 0, 1, 1 },
                { "5-5", 3, 0, 5, 5 },
                { "1024", 4, -ERANGE, 0, 0 },
                { "0-1024", 6, -ERANGE, 0, 0 },
                { "99999999999999999999", 20, -ERANGE, 0, 0 },
                { "", 0, -EINVAL, 0, 0 },
                { "3-2", 3, -EINVAL, 0, 0 },
                { "3-", 2, -EINVAL, 0, 0 },
                { "-3", 2, -EINVAL, 0, 0 },
                { "a", 1, -EINVAL, 0, 0 },
                { "1-2-3", 5, -EINVAL, 0, 0 },
                { "1 ", 2, -EINVAL, 0, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                unsigned first = 7777, last = 7777;
                int r = parse_node_range(cases[i].text, cases[i].length, &first, &last);

                if (r != cases[i].r || first != (r < 0 ? 7777 : cases[i].first) ||
                    last != (r < 0 ? 7777 : cases[i].last))
                        fail_msg("\"%s\": %d, %u-%u", cases[i].text, r, first, last);
        }
}

static void exact_size_is_read_back_as_it_was(void **state) {
        assert_string_equal(FORMAT_SIZE_EXACT(0), "0");
        assert_string_equal(FORMAT_SIZE_EXACT(1000), "1000");
        assert_string_equal(FORMAT_SIZE_EXACT(2097152), "2M");
        assert_string_equal(FORMAT_SIZE_EXACT(UINT64_C(1536) << 20), "1536M");
        assert_string_equal(FORMAT_SIZE_EXACT(UINT64_C(1) << 30), "1G");
        assert_string_equal(FORMAT_SIZE_EXACT(UINT64_C(1) << 50), "1P");
        assert_string_equal(FORMAT_SIZE_EXACT(UINT64_C(8) << 60), "8E");
        assert_string_equal(FORMAT_SIZE_EXACT(UINT64_MAX), "18446744073709551615");
}

static void size_for_reading_has_one_decimal(void **state) {
        assert_string_equal(FORMAT_SIZE(0), "0");
        assert_string_equal(FORMAT_SIZE(1023), "1023");
        assert_string_equal(FORMAT_SIZE(1024), "1K");
        assert_string_equal(FORMAT_SIZE(UINT64_C(512) << 20), "512M");
        assert_string_equal(FORMAT_SIZE(UINT64_C(7680) << 20), "7.5G");
        assert_string_equal(FORMAT_SIZE((UINT64_C(8) << 30) - 1), "8G");
        assert_string_equal(FORMAT_SIZE((UINT64_C(1) << 30) - 1), "1G");
        assert_string_equal(FORMAT_SIZE(UINT64_MAX), "16E");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(size_has_binary_suffixes),
                cmocka_unit_test(sizes_are_respelt),
                cmocka_unit_test(percentage_has_two_decimals),
                cmocka_unit_test(number_is_digits_only),
                cmocka_unit_test(timespan_is_as_in_systemd_time),
                cmocka_unit_test(boolean_has_the_words_of_systemd),
                cmocka_unit_test(node_range_ends_at_its_length),
                cmocka_unit_test(exact_size_is_read_back_as_it_was),
                cmocka_unit_test(size_for_reading_has_one_decimal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
