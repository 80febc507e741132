/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which initrds were built, and which boot entries have none of them. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hugepagesctl/initrd-built.h"
#include "temp-root.h"

#define ID "0123456789abcdef0123456789abcdef"
#define SINCE ((time_t) 1700000000)
#define ENTRY "/loader/entries/" ID "-6.1.0-37-amd64.conf"
#define COPY "/" ID "/6.1.0-37-amd64/initrd"

static void put(const char *root, const char *path, const char *text, time_t at) {
        const struct timespec times[] = { { .tv_sec = at }, { .tv_sec = at } };
        char full[512];

        temp_root_write(root, path, text);
        snprintf(full, sizeof(full), "%s%s", root, path);
        assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static char *machine(void) {
        char *root = temp_root_new();

        temp_root_write(root, "/etc/machine-id", ID "\n");
        temp_root_write(root, "/lib/modules/6.1.0-37-amd64/modules.dep", "");
        temp_root_write(root, "/lib/modules/6.1.0-36-amd64/modules.dep", "");
        return root;
}

static void put_entry(const char *root, const char *path, const char *lines) {
        char text[512];

        snprintf(text, sizeof(text), "title Debian\nlinux /x/linux\n%s", lines);
        temp_root_write(root, path, text);
}

/* What was built, a word each, and what is warned of. */
static void assert_built(const char *root, const char *paths, const char *file, const char *old) {
        Built b = {};
        Diagnostics d = {};
        char list[512] = "";

        assert_int_equal(built_find(root, SINCE, &b, &d), 0);
        for (size_t i = 0; i < b.n; i++)
                snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i > 0 ? " " : "",
                         b.paths[i]);
        assert_string_equal(list, paths);
        if (!file)
                assert_int_equal(d.n, 0);
        else {
                char message[512];

                assert_int_equal(d.n, 1);
                assert_int_equal(d.n_warnings, 1);
                assert_string_equal(d.items[0].file, file);
                snprintf(
                        message, sizeof(message),
                        "%s is older than this update, and this entry boots with it: what copies the initrd "
                        "there has not run (is the EFI system partition mounted?)",
                        old);
                assert_string_equal(d.items[0].message, message);
        }
        diag_done(&d);
        built_done(&b);
}

static void test_without_entries(void **state) {
        _cleanup_temp_root_ char *root = machine();

        assert_built(root, "", NULL, NULL);
        put(root, "/boot/initrd.img-6.1.0-37-amd64", "new", SINCE + 9);
        put(root, "/boot/initrd.img-6.1.0-37-amd64.bak", "new", SINCE + 9);
        put(root, "/boot/initrd.img-6.1.0-36-amd64", "old", SINCE - 9);
        put(root, "/boot/vmlinuz-6.1.0-37-amd64", "new", SINCE + 9);
        temp_root_link(root, "/boot/initrd.img", "initrd.img-6.1.0-37-amd64");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", NULL, NULL);
}

static void test_a_copy_that_was_not_made(void **state) {
        _cleanup_temp_root_ char *root = machine();

        put(root, "/boot/initrd.img-6.1.0-37-amd64", "new", SINCE + 9);
        put(root, "/boot/initrd.img-6.1.0-36-amd64", "old", SINCE - 9);
        put(root, "/boot" COPY, "old", SINCE - 9);
        put(root, "/boot/" ID "/6.1.0-36-amd64/initrd", "old", SINCE - 9);
        put_entry(root, "/boot" ENTRY, "initrd\t" COPY "\n");
        put_entry(root, "/boot/loader/entries/" ID "-6.1.0-36-amd64.conf",
                  "initrd /" ID "/6.1.0-36-amd64/initrd\n");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", "/boot" ENTRY, "/boot" COPY);
        put(root, "/boot" COPY, "new", SINCE + 9);
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64 /boot" COPY, NULL, NULL);
}

static void test_an_entry_of_the_esp(void **state) {
        _cleanup_temp_root_ char *root = machine();

        put(root, "/boot/initrd.img-6.1.0-37-amd64", "new", SINCE + 9);
        put(root, "/efi" COPY, "old", SINCE - 9);
        put_entry(root, "/efi" ENTRY, "initrd " COPY "\n");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", "/efi" ENTRY, "/efi" COPY);
}

/* FAT rounds down to two seconds. */
static void test_the_clock_of_fat(void **state) {
        _cleanup_temp_root_ char *root = machine();

        put(root, "/boot" COPY, "new", SINCE - 1);
        put_entry(root, "/boot" ENTRY, "initrd " COPY "\n");
        assert_built(root, "/boot" COPY, NULL, NULL);
        put(root, "/boot" COPY, "old", SINCE - 2);
        assert_built(root, "", "/boot" ENTRY, "/boot" COPY);
}

/* One that is new is enough: microcode, and what the loader's variables name, are none of ours. */
static void test_several_initrds(void **state) {
        _cleanup_temp_root_ char *root = machine();

        put(root, "/boot/initrd.img-6.1.0-37-amd64", "new", SINCE + 9);
        put(root, "/boot/ucode.img", "old", SINCE - 9);
        put_entry(root, "/boot" ENTRY,
                  "initrd /ucode.img\ninitrd /initrd.img-6.1.0-37-amd64 $tuned_initrd\n");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", NULL, NULL);
        put_entry(root, "/boot" ENTRY, "initrd /boot/ucode.img $tuned_initrd /missing\n");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", "/boot" ENTRY, "/boot/ucode.img");
        put_entry(root, "/boot" ENTRY, "initrd /missing\n");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", NULL, NULL);
        put_entry(root, "/boot" ENTRY, "# initrd " COPY "\n");
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", NULL, NULL);
}

static void test_nothing_was_built(void **state) {
        _cleanup_temp_root_ char *root = machine();

        put(root, "/boot" COPY, "old", SINCE - 9);
        put_entry(root, "/boot" ENTRY, "initrd " COPY "\n");
        put(root, "/boot/rescue", "old", SINCE - 9);
        put_entry(root, "/boot/loader/entries/" ID "-0-rescue.conf", "initrd /rescue\n");
        assert_built(root, "", "/boot" ENTRY, "/boot" COPY);
}

static void test_a_unified_image(void **state) {
        _cleanup_temp_root_ char *root = machine();
        const char *image = "/efi/EFI/Linux/" ID "-6.1.0-37-amd64.efi";

        put(root, "/boot/initrd.img-6.1.0-37-amd64", "new", SINCE + 9);
        put(root, image, "old", SINCE - 9);
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64", image, image);
        put(root, image, "new", SINCE + 9);
        assert_built(root, "/boot/initrd.img-6.1.0-37-amd64 /efi/EFI/Linux/" ID "-6.1.0-37-amd64.efi", NULL,
                     NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_without_entries),     cmocka_unit_test(test_a_copy_that_was_not_made),
                cmocka_unit_test(test_an_entry_of_the_esp), cmocka_unit_test(test_the_clock_of_fat),
                cmocka_unit_test(test_several_initrds),     cmocka_unit_test(test_nothing_was_built),
                cmocka_unit_test(test_a_unified_image),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
