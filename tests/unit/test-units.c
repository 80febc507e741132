/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The units stage: escaping, fstab, and writing files that are complete, ours alone, or not there. What the
 * units say is in tests/generator/. */

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "temp-root.h"
#include "units/internal.h"

/* ---- escaping ---- */

static void mount_unit_is_named_as_systemd_escape_does(void **state) {
        static const char *const cases[][2] = {
                /* as printed by systemd-escape --path --suffix=mount */
                { "/dev/hugepages", "dev-hugepages.mount" },
                { "/dev/hugepages/my-app", "dev-hugepages-my\\x2dapp.mount" },
                { "/", "-.mount" },
                { "/.a/.b", "\\x2ea-.b.mount" },
                { "/a b", "a\\x20b.mount" },
                { "/100%", "100\\x25.mount" },
                { "/a\\b", "a\\x5cb.mount" },
                { "/a:b_c.d", "a:b_c.d.mount" },
                { "/a@b", "a\\x40b.mount" },
                { "/gr\xc3\xb6\xc3\x9f"
                  "e",
                  "gr\\xc3\\xb6\\xc3\\x9fe.mount" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Mount m = { .where = (char *) cases[i][0] };
                _cleanup_free_ char *name = mount_unit_name(&m);

                assert_string_equal(name, cases[i][1]);
        }
}

static void instance_of_a_pool_is_its_name(void **state) {
        static const char *const names[] = { "db", "a-b_c.d", "0", "_", "A123456789012345678901234567890z" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *escaped = unit_instance_escape(names[i]);

                assert_true(pool_name_is_valid(names[i]));
                assert_string_equal(escaped, names[i]);
        }
}

static void instance_of_anything_else_is_no_pool_name(void **state) {
        static const char *const cases[][2] = {
                { "", "-" },
                { ".a", "\\x2ea" },
                { "-a", "\\x2da" },
                { "-", "\\x2d" },
                { "a/b", "a\\x2fb" },
                { "a:b", "a\\x3ab" },
                { "%i", "\\x25i" },
                { "a\\x2fb", "a\\x5cx2fb" },
                { "A123456789012345678901234567890zz", "A123456789012345678901234567890zz" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *escaped = unit_instance_escape(cases[i][0]);

                assert_string_equal(escaped, cases[i][1]);
                assert_false(pool_name_is_valid(escaped));
        }
}

static void instance_fits_into_a_unit_name(void **state) {
        char plain[1024], odd[1024];

        memset(plain, 'a', sizeof(plain) - 1);
        memset(odd, '/', sizeof(odd) - 1);
        plain[sizeof(plain) - 1] = odd[sizeof(odd) - 1] = 0;

        _cleanup_free_ char *a = unit_instance_escape(plain), *b = unit_instance_escape(odd);
        assert_true(strlen("hugepages-pool@service:.service") + strlen(a) <= 255);
        assert_false(pool_name_is_valid(a));
        assert_int_equal(strlen(b), 200);
        assert_string_equal(b + 196, "\\x2f"); /* not cut within an escape */
}

static void specifiers_are_doubled(void **state) {
        _cleanup_free_ char *none = unit_escape_specifiers("a b"), *some = unit_escape_specifiers("%n 100%");

        assert_string_equal(none, "a b");
        assert_string_equal(some, "%%n 100%%");
}

static void paths_are_quoted_only_where_needed(void **state) {
        static const char *const cases[][2] = {
                { "/dev/hugepages/my-app", "/dev/hugepages/my-app" },
                { "/100%", "/100%%" },
                { "/two words", "\"/two words\"" },
                { "/a\tb", "\"/a\tb\"" },
                { "/a:b", "\"/a:b\"" },
                { "/a\"b'c", "\"/a\\\"b'c\"" },
                { "/a\\x41", "\"/a\\\\x41\"" },
                { "-/two words", "\"-/two words\"" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *quoted = unit_quote_path(cases[i][0]);

                assert_string_equal(quoted, cases[i][1]);
        }
}

/* ---- fstab ---- */

static void fstab_is_read_as_getmntent_does(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Fstab fstab;

        temp_root_write(root, "/etc/fstab",
                        "# what where type\n"
                        "\n"
                        "/dev/vda1 / ext4 defaults 0 1\n"
                        "  # x /comment y\n"
                        "/dev/vda2 none swap sw 0 0\n"
                        "/dev/vda3 swap swap sw 0 0\n"
                        "\tx\t/tabs\thugetlbfs\n"
                        "x /two\\040words\\011\\134\\\\ hugetlbfs\n"
                        "x //a/./b//c/ hugetlbfs\n"
                        "x /first y\n"
                        "x /first y\n"
                        "x\n"
                        "x /bad\\0escape\\99 y\n"
                        "x /last");
        assert_int_equal(fstab_load(root, &fstab), 0);
        assert_int_equal(fstab.n, 8);
        assert_int_equal(fstab_find(&fstab, "/"), 3);
        assert_int_equal(fstab_find(&fstab, "/comment"), 0);
        assert_int_equal(fstab_find(&fstab, "/tabs"), 7);
        assert_int_equal(fstab_find(&fstab, "/two words\t\\\\"), 8);
        assert_int_equal(fstab_find(&fstab, "/a/b/c"), 9);
        assert_int_equal(fstab_find(&fstab, "/a/b"), 0);
        assert_int_equal(fstab_find(&fstab, "/first"), 10);
        assert_int_equal(fstab_find(&fstab, "/bad\\0escape\\99"), 13);
        assert_int_equal(fstab_find(&fstab, "/last"), 14);
        fstab_done(&fstab);
}

static void no_fstab_names_nothing(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Fstab fstab;

        assert_int_equal(fstab_load(root, &fstab), 0);
        assert_int_equal(fstab.n, 0);
        assert_int_equal(fstab_find(&fstab, "/"), 0);
}

static void fstab_that_is_no_file_is_an_error(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Fstab fstab;

        temp_root_write(root, "/etc/fstab/x", "");
        assert_int_equal(fstab_load(root, &fstab), -EISDIR);
}

/* ---- files ---- */

static int open_directory(const char *root) {
        int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static void assert_file(const char *root, const char *path, const char *text) {
        _cleanup_free_ char *contents = NULL;

        assert_int_equal(root_read_file(root, path, 64 * 1024, &contents, NULL), 0);
        assert_string_equal(contents, text);
}

static void assert_link(const char *root, const char *path, const char *target) {
        _cleanup_free_ char *actual = NULL;

        assert_int_equal(root_readlink(root, path, &actual), 0);
        assert_string_equal(actual, target);
}

static void unit_file_is_made_with_its_directory(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_close_ int directory = open_directory(root);
        FILE *f;

        assert_int_equal(unit_file_open(directory, "a.service.d/50-b.conf", &f), 0);
        fputs("[Unit]\n", f);
        assert_int_equal(unit_file_finish(directory, "a.service.d/50-b.conf", f), 0);
        assert_file(root, "/a.service.d/50-b.conf", "[Unit]\n");
}

static void existing_file_is_left_alone(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_close_ int directory = open_directory(root);
        FILE *f;

        temp_root_write(root, "/a.mount", "of another generator\n");
        assert_int_equal(unit_file_open(directory, "a.mount", &f), -EEXIST);
        assert_file(root, "/a.mount", "of another generator\n");
}

static void links_are_not_followed(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_close_ int directory = open_directory(root);
        FILE *f;

        temp_root_write(root, "/elsewhere/keep", "");
        temp_root_link(root, "/a.mount", "elsewhere/new");
        temp_root_link(root, "/b.service.d", "elsewhere");
        temp_root_link(root, "/sysinit.target.wants", "elsewhere");
        temp_root_write(root, "/c.service.d", "a file");

        assert_int_equal(unit_file_open(directory, "a.mount", &f), -EEXIST);
        assert_int_equal(unit_file_open(directory, "b.service.d/x.conf", &f), -ENOTDIR);
        assert_int_equal(unit_file_open(directory, "c.service.d/x.conf", &f), -ENOTDIR);
        assert_int_equal(unit_add_wants(directory, "sysinit.target", "/x.service"), -ENOTDIR);
        assert_false(root_exists(root, "/elsewhere/new"));
        assert_false(root_exists(root, "/elsewhere/x.conf"));
        assert_false(root_exists(root, "/elsewhere/x.service"));
}

static void half_written_file_is_removed(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_close_ int directory = open_directory(root);
        struct rlimit limit, small;
        FILE *f;
        int r;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        small = limit;
        small.rlim_cur = 10;
        signal(SIGXFSZ, SIG_IGN);

        assert_int_equal(unit_file_open(directory, "a.mount", &f), 0);
        fputs("[Unit]\nDescription=more than the file system has room for\n", f);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        r = unit_file_finish(directory, "a.mount", f);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(r, -EFBIG);
        assert_false(root_exists(root, "/a.mount"));

        /* The failure may be an earlier one, when the buffer was full. */
        assert_int_equal(unit_file_open(directory, "b.mount", &f), 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        for (size_t i = 0; i < 20000; i++)
                fputc('#', f);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_true(unit_file_finish(directory, "b.mount", f) < 0);
        assert_false(root_exists(root, "/b.mount"));
}

static void wants_link_is_named_after_its_target(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_close_ int directory = open_directory(root);

        assert_int_equal(unit_add_wants(directory, "local-fs.target", "../a.mount"), 0);
        assert_int_equal(unit_add_wants(directory, "sysinit.target", "/lib/systemd/system/b.service"), 0);
        assert_link(root, "/local-fs.target.wants/a.mount", "../a.mount");
        assert_link(root, "/sysinit.target.wants/b.service", "/lib/systemd/system/b.service");
        assert_int_equal(unit_add_wants(directory, "local-fs.target", "../a.mount"), -EEXIST);
}

/* ---- everything ---- */

typedef struct Run {
        char *root, *output; /* drop-ins below root/etc; units in root/output */
        Diagnostics diagnostics;
} Run;

static void run_begin(Run *run, const char *dropin) {
        *run = (Run){ .root = temp_root_new() };
        assert_true(asprintf(&run->output, "%s/output", run->root) >= 0);
        assert_int_equal(chmod(run->root, 0755), 0);
        assert_int_equal(mkdir(run->output, 0755), 0);
        temp_root_write(run->root, "/etc/hugepages.d/50-db.conf", dropin);
}

static void run_units(Run *run) {
        _cleanup_(config_freep) Config *config = NULL;
        Diagnostics ignored = {};
        PageSize sizes[] = { { .bytes = 2 << 20 } };
        Host host = { .sizes = sizes, .n_sizes = 1, .default_page_size = 2 << 20 };

        assert_int_equal(config_load(run->root, &config, &ignored), 0);
        assert_int_equal(ignored.n, 0);
        assert_int_equal(units_generate(
                                 &(UnitsInput){
                                         .root = run->root,
                                         .directory = run->output,
                                         .config = config,
                                         .host = &host,
                                 },
                                 &run->diagnostics),
                         0);
        diag_done(&ignored);
}

static void assert_diagnostic(const Run *run, size_t i, const char *text) {
        _cleanup_free_ char *message = NULL;

        assert_true(i < run->diagnostics.n);
        message = diag_format(&run->diagnostics.items[i]);
        assert_string_equal(message, text);
}

static void run_end(Run *run) {
        diag_done(&run->diagnostics);
        temp_root_free(run->root);
        free(run->output);
}

#define TWO_MOUNTS                                                                                          \
        "[Mount a]\nWhere=/dev/hugepages/a\n"                                                               \
        "[Mount b]\nWhere=/dev/hugepages/b\n"                                                               \
        "[Service app]\nMount=a b\nRequire=yes\n"

static void collision_costs_one_mount_and_those_who_require_it(void **state) {
        Run run;

        run_begin(&run, TWO_MOUNTS);
        temp_root_write(run.root, "/output/dev-hugepages-a.mount", "of another generator\n");
        run_units(&run);
        assert_int_equal(run.diagnostics.n, 1);
        assert_int_equal(run.diagnostics.n_errors, 1);
        assert_diagnostic(&run, 0,
                          "/etc/hugepages.d/50-db.conf:1: dev-hugepages-a.mount: cannot be written: "
                          "another generator has written it");
        assert_file(run.root, "/output/dev-hugepages-a.mount", "of another generator\n");
        assert_false(root_exists(run.root, "/output/local-fs.target.wants/dev-hugepages-a.mount"));
        assert_link(run.root, "/output/local-fs.target.wants/dev-hugepages-b.mount",
                    "../dev-hugepages-b.mount");
        assert_file(
                run.root, "/output/app.service.d/50-hugepages-app.conf",
                "# Generated by hugepages-generator(8) from [Service app] of /etc/hugepages.d/50-db.conf; "
                "changes are lost.\n"
                "\n"
                "[Unit]\n"
                "After=hugepages-setup.service\n"
                "Requires=hugepages-pool@mount:a.service\n"
                "After=hugepages-pool@mount:a.service\n"
                "RequiresMountsFor=/dev/hugepages/b\n");
        run_end(&run);
}

static void junk_in_the_directory_costs_what_it_hits(void **state) {
        Run run;

        run_begin(&run, TWO_MOUNTS);
        temp_root_write(run.root, "/output/sysinit.target.wants", "a file\n");
        temp_root_write(run.root, "/output/dev-hugepages-a.mount/directory", "");
        temp_root_write(run.root, "/output/app.service.d/50-hugepages-app.conf/directory", "");
        temp_root_link(run.root, "/output/local-fs.target.wants", "/nowhere");
        run_units(&run);
        assert_int_equal(run.diagnostics.n_errors, 4);
        assert_diagnostic(
                &run, 0, "sysinit.target.wants/hugepages-setup.service: cannot be written: Not a directory");
        assert_diagnostic(&run, 2,
                          "/etc/hugepages.d/50-db.conf:3: local-fs.target.wants: cannot be written: "
                          "Not a directory");
        assert_true(root_exists(run.root, "/output/dev-hugepages-b.mount"));
        run_end(&run);
}

static void missing_directory_is_one_error(void **state) {
        Run run;

        run_begin(&run, TWO_MOUNTS);
        assert_int_equal(rmdir(run.output), 0);
        run_units(&run);
        assert_int_equal(run.diagnostics.n, 1);
        assert_non_null(endswith(run.diagnostics.items[0].message,
                                 "/output: cannot be written: No such file or directory"));
        run_end(&run);
}

static void unwritable_directory_is_an_error_a_unit(void **state) {
        bool root = geteuid() == 0;
        Run run;

        run_begin(&run, TWO_MOUNTS);
        assert_int_equal(chmod(run.output, 0555), 0);
        if (root)
                assert_int_equal(seteuid(65534), 0);
        run_units(&run);
        if (root)
                assert_int_equal(seteuid(0), 0);
        assert_int_equal(run.diagnostics.n_errors, 4); /* the service's link, two mounts, the drop-in */
        assert_diagnostic(&run, 1,
                          "/etc/hugepages.d/50-db.conf:1: dev-hugepages-a.mount: cannot be written: "
                          "Permission denied");
        assert_diagnostic(&run, 3,
                          "/etc/hugepages.d/50-db.conf:5: app.service.d/50-hugepages-app.conf: cannot be "
                          "written: Permission denied");
        run_end(&run);
}

static void without_a_directory_units_are_only_judged(void **state) {
        Run run;

        run_begin(&run, TWO_MOUNTS "[Mount c]\nWhere=/dev/hugepages/c\nPageSize=1G\n");
        free(run.output);
        run.output = NULL;
        run_units(&run);
        assert_int_equal(run.diagnostics.n, 1);
        assert_diagnostic(
                &run, 0,
                "/etc/hugepages.d/50-db.conf:10: PageSize=1G: this kernel has no huge pages of this "
                "size; mount c is dropped");
        assert_false(root_exists(run.root, "/output/dev-hugepages-a.mount"));
        run_end(&run);
}

static void unreadable_fstab_is_a_warning(void **state) {
        Run run;

        run_begin(&run, TWO_MOUNTS);
        temp_root_write(run.root, "/etc/fstab/x", "");
        run_units(&run);
        assert_int_equal(run.diagnostics.n, 1);
        assert_int_equal(run.diagnostics.n_warnings, 1);
        assert_diagnostic(&run, 0, "/etc/fstab: cannot be read: Is a directory");
        assert_true(root_exists(run.root, "/output/dev-hugepages-a.mount"));
        run_end(&run);
}

static void thousands_of_mounts_are_all_written(void **state) {
        const size_t n = 3000;
        _cleanup_free_ char *dropin = NULL, *fstab = NULL;
        size_t size;
        FILE *f;
        Run run;

        f = open_memstream(&dropin, &size);
        for (size_t i = 0; i < n; i++)
                fprintf(f,
                        "[Mount m%zu]\nWhere=/dev/hugepages/m%zu\n"
                        "[Service s%zu]\nMount=m%zu\nRequire=yes\n",
                        i, i, i, i);
        fclose(f);
        f = open_memstream(&fstab, &size);
        for (size_t i = 0; i < n; i++)
                fprintf(f, "hugetlbfs /dev/hugepages/f%zu hugetlbfs\n", i);
        fprintf(f, "hugetlbfs /dev/hugepages/m%zu hugetlbfs\n", n / 2);
        fclose(f);

        run_begin(&run, dropin);
        temp_root_write(run.root, "/etc/fstab", fstab);
        run_units(&run);
        assert_int_equal(run.diagnostics.n, 1);
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = NULL;

                assert_true(asprintf(&path, "/output/dev-hugepages-m%zu.mount", i) >= 0);
                assert_int_equal(root_exists(run.root, path), i != n / 2);
        }
        run_end(&run);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mount_unit_is_named_as_systemd_escape_does),
                cmocka_unit_test(instance_of_a_pool_is_its_name),
                cmocka_unit_test(instance_of_anything_else_is_no_pool_name),
                cmocka_unit_test(instance_fits_into_a_unit_name),
                cmocka_unit_test(specifiers_are_doubled),
                cmocka_unit_test(paths_are_quoted_only_where_needed),
                cmocka_unit_test(fstab_is_read_as_getmntent_does),
                cmocka_unit_test(no_fstab_names_nothing),
                cmocka_unit_test(fstab_that_is_no_file_is_an_error),
                cmocka_unit_test(unit_file_is_made_with_its_directory),
                cmocka_unit_test(existing_file_is_left_alone),
                cmocka_unit_test(links_are_not_followed),
                cmocka_unit_test(half_written_file_is_removed),
                cmocka_unit_test(wants_link_is_named_after_its_target),
                cmocka_unit_test(collision_costs_one_mount_and_those_who_require_it),
                cmocka_unit_test(junk_in_the_directory_costs_what_it_hits),
                cmocka_unit_test(missing_directory_is_one_error),
                cmocka_unit_test(unwritable_directory_is_an_error_a_unit),
                cmocka_unit_test(without_a_directory_units_are_only_judged),
                cmocka_unit_test(unreadable_fstab_is_a_warning),
                cmocka_unit_test(thousands_of_mounts_are_all_written),
        };

        umask(0022);
        return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
