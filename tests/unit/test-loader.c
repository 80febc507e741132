/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The boot loaders, each with a fake of its tools (tests/boot/fakes); GRUB is in test-grub.c. */

#include "loader-bed.h"

/* Lines. */

static void assert_replaced(const char *text, TextKind kind, const char *installed, const char *arguments,
                            const char *expected) {
        _cleanup_free_ char *result = NULL;
        Installed i = {};

        assert_int_equal(installed_push(&i, installed), 0);
        assert_int_equal(edit_replace(text, kind, &i, arguments, &result), 0);
        assert_string_equal(result, expected);
        installed_done(&i);
}

static void test_arguments_go_behind_the_last_word(void **state) {
        assert_replaced("root=x quiet\n", TEXT_CMDLINE, "", OURS, "root=x quiet " OURS "\n");
        assert_replaced("root=x  quiet  \n\n", TEXT_CMDLINE, "", OURS, "root=x  quiet " OURS "  \n\n");
        assert_replaced("root=x\nquiet", TEXT_CMDLINE, "", OURS, "root=x\nquiet " OURS);
        assert_replaced("", TEXT_CMDLINE, "", OURS, OURS);
        assert_replaced("root=x\n# a comment\n", TEXT_CMDLINE, "", OURS, "root=x " OURS "\n# a comment\n");
        assert_replaced("dyndbg=\"file a +p\"\n", TEXT_CMDLINE, "", OURS, "dyndbg=\"file a +p\" " OURS "\n");
        assert_replaced("title x\noptions  root=x\nlinux /l\n", TEXT_ENTRY, "", OURS,
                        "title x\noptions  root=x " OURS "\nlinux /l\n");
        assert_replaced("linux /l\n", TEXT_ENTRY, "", OURS, "linux /l\noptions  " OURS "\n");
        assert_replaced("linux /l", TEXT_ENTRY, "", OURS, "linux /l\noptions  " OURS);
        assert_replaced("options\nlinux /l\n", TEXT_ENTRY, "", OURS, "options " OURS "\nlinux /l\n");
        assert_replaced("options a\noptions\tb\nlinux /l\n", TEXT_ENTRY, "", OURS,
                        "options a\noptions\tb " OURS "\nlinux /l\n");
        assert_replaced("options-x a\noptions b\n#options c\n", TEXT_ENTRY, "", OURS,
                        "options-x a\noptions b " OURS "\n#options c\n");
}

static void test_arguments_go_before_what_is_for_init(void **state) {
        assert_replaced("a -- b\n", TEXT_CMDLINE, "", OURS, "a " OURS " -- b\n");
        assert_replaced("-- b\n", TEXT_CMDLINE, "", OURS, OURS " -- b\n");
        assert_replaced("a\n-- b\nc\n", TEXT_CMDLINE, "", OURS, "a " OURS "\n-- b\nc\n");
        assert_replaced("a --b\n", TEXT_CMDLINE, "", OURS, "a --b " OURS "\n");
        assert_replaced("options -- b\n", TEXT_ENTRY, "", OURS, "options " OURS " -- b\n");
        assert_replaced("options a -- b\noptions c\n", TEXT_ENTRY, "", OURS,
                        "options a " OURS " -- b\noptions c\n");
        /* There they are no use, and not ours. */
        assert_replaced("a -- " OURS "\n", TEXT_CMDLINE, OURS, OURS, "a " OURS " -- " OURS "\n");
}

static void test_what_was_put_there_goes_without_a_trace(void **state) {
        static const char *const texts[] = { "root=x quiet\n",
                                             "root=x  quiet  \n\n",
                                             "root=x\nquiet",
                                             "",
                                             "\n",
                                             "root=x\n# hugepagesz=1G hugepages=0:1,1:2\n",
                                             "a\t\n",
                                             "hugepagesz=2M hugepages=8 quiet\r\n",
                                             "a -- b\n",
                                             "-- b\n" };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_free_ char *with = NULL;
                Installed none = {};

                assert_int_equal(edit_replace(texts[i], TEXT_CMDLINE, &none, OURS, &with), 0);
                assert_string_not_equal(with, texts[i]);
                assert_replaced(with, TEXT_CMDLINE, OURS, "", texts[i]);
        }
        assert_replaced("options " OURS "\n", TEXT_ENTRY, OURS, "", "options\n");
}

static void test_entry_without_options_has_none_again(void **state) {
        static const char *const texts[] = {
                "linux /l\n",
                "linux /l",
                "title x\nlinux /l\ninitrd /i\n",
                "linux /l\noptions\n",
                "options  \nlinux /l\n",
                "options \n",
                "linux /l\noptions",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_free_ char *with = NULL, *changed = NULL;
                Installed none = {}, ours = {};

                assert_int_equal(edit_replace(texts[i], TEXT_ENTRY, &none, OURS, &with), 0);
                assert_int_equal(installed_push(&ours, OURS), 0);
                assert_int_equal(edit_replace(with, TEXT_ENTRY, &ours, NEW, &changed), 0);
                assert_replaced(with, TEXT_ENTRY, OURS, "", texts[i]);
                assert_replaced(changed, TEXT_ENTRY, NEW, "", texts[i]);
                installed_done(&ours);
        }
        /* Somebody has put a word there, or a line behind. */
        assert_replaced("linux /l\noptions  " OURS " a\n", TEXT_ENTRY, OURS, "", "linux /l\noptions  a\n");
        assert_replaced("options  " OURS "\nlinux /l\n", TEXT_ENTRY, OURS, "", "linux /l\n");
        assert_replaced("options a\noptions  " OURS "\n", TEXT_ENTRY, OURS, NEW, "options a " NEW "\n");
}

static void test_only_what_is_ours_is_replaced(void **state) {
        assert_replaced("a " OURS " b\n", TEXT_CMDLINE, OURS, OURS, "a " OURS " b\n");
        assert_replaced("a " OURS " b\n", TEXT_CMDLINE, OURS, "", "a b\n");
        assert_replaced("a " OURS " b\n", TEXT_CMDLINE, OURS, NEW, "a b " NEW "\n");
        assert_replaced(OURS " b\n", TEXT_CMDLINE, OURS, "", "b\n");
        /* Of two equal ones the last is ours. */
        assert_replaced(OURS " b " OURS "\n", TEXT_CMDLINE, OURS, "", OURS " b\n");
        /* Somebody else's count, or nothing remembered. */
        assert_replaced("a hugepagesz=1G hugepages=4\n", TEXT_CMDLINE, OURS, "",
                        "a hugepagesz=1G hugepages=4\n");
        assert_replaced("a hugepagesz=1G b hugepages=0:1,1:2\n", TEXT_CMDLINE, OURS, "",
                        "a hugepagesz=1G b hugepages=0:1,1:2\n");
        assert_replaced("a " OURS "\n", TEXT_CMDLINE, "", "", "a " OURS "\n");
        assert_replaced("a " OURS "3\n", TEXT_CMDLINE, OURS, "", "a " OURS "3\n");
        /* Words in between, of a list of several. */
        assert_replaced("default_hugepagesz=1G x hugepagesz=1G hugepages=0:2,1:2 y\n", TEXT_CMDLINE, NEW, "",
                        "x y\n");
        /* The same count of two sizes. */
        assert_replaced("hugepagesz=2M hugepages=4 hugepagesz=1G hugepages=4 x", TEXT_CMDLINE,
                        "hugepagesz=1G hugepages=4", "", "hugepagesz=2M hugepages=4 x");
        assert_replaced("hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4 x", TEXT_CMDLINE,
                        "hugepagesz=1G hugepages=4", "", "hugepagesz=2M hugepages=4 x");
}

static void test_a_change_that_was_cut_short_is_known_either_way(void **state) {
        static const char *const lines[] = { "a " OURS "\n", "a " NEW "\n" };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *result = NULL, *gone = NULL;
                Installed in = {};

                assert_int_equal(installed_push(&in, OURS), 0);
                assert_int_equal(installed_push(&in, NEW), 0);
                assert_int_equal(edit_replace(lines[i], TEXT_CMDLINE, &in, NEW, &result), 0);
                assert_string_equal(result, "a " NEW "\n");
                assert_int_equal(edit_replace(lines[i], TEXT_CMDLINE, &in, "", &gone), 0);
                assert_string_equal(gone, "a\n");
                installed_done(&in);
        }
}

static void test_what_both_lists_have_is_taken_once(void **state) {
        _cleanup_free_ char *result = NULL;
        Installed in = {};

        assert_int_equal(installed_push(&in, "x=1 hugepagesz=1G hugepages=4"), 0);
        assert_int_equal(installed_push(&in, "hugepagesz=2M hugepages=4 hugepagesz=1G hugepages=4"), 0);
        assert_int_equal(edit_replace("hugepagesz=1G hugepages=4 x=1 hugepagesz=1G hugepages=4\n",
                                      TEXT_CMDLINE, &in, "", &result),
                         0);
        assert_string_equal(result, "hugepagesz=1G hugepages=4\n");
        installed_done(&in);
}

static void test_what_is_installed_is_remembered(void **state) {
        _cleanup_bed_ Bed *b = bed_new();
        Installed in = {};

        assert_int_equal(installed_load(b->root, &in), 0);
        assert_int_equal(in.n, 0);
        assert_int_equal(installed_push(&in, OURS), 0);
        assert_int_equal(installed_push(&in, NEW), 0);
        in.seeded = true;
        assert_int_equal(installed_save(b->root, &in), 0);
        installed_done(&in);
        assert_int_equal(installed_load(b->root, &in), 0);
        assert_int_equal(in.n, 2);
        assert_string_equal(in.arguments[0], NEW);
        assert_string_equal(in.arguments[1], OURS);
        assert_true(in.seeded);
        assert_int_equal(installed_set(&in, in.arguments[1]), 0);
        assert_int_equal(in.n, 1);
        assert_string_equal(in.arguments[0], OURS);
        in.seeded = false;
        assert_int_equal(installed_set(&in, ""), 0);
        assert_int_equal(installed_save(b->root, &in), 0);
        assert_file(b, INSTALLED_PATH, NULL);
        installed_done(&in);
}

/* What all of them share. */

/* None of what we make. */
static void assert_nothing_remains(const Bed *b) {
        assert_file(b, INSTALLED_PATH, NULL);
        assert_file(b, "/etc/kernel/cmdline", NULL);
        assert_false(root_exists(b->root, "/etc/kernel"));
}

static void assert_other_bytes(const Bed *b, size_t expected) {
        LoaderArguments a = {};

        assert_int_equal(loader_find(&b->context)->read(&b->context, &a), 0);
        assert_int_equal(a.other_bytes, expected);
        loader_arguments_done(&a);
}

/* kernel-install. */

#define CMDLINE "/etc/kernel/cmdline"
#define PROC_CMDLINE "BOOT_IMAGE=/vmlinuz initrd=\\x root=UUID=1 rw quiet\n"

static Bed *kernel_install_new(void) {
        Bed *b = bed_new();

        temp_root_write(b->root, "/usr/bin/kernel-install", "");
        temp_root_write(b->root, "/proc/cmdline", PROC_CMDLINE);
        temp_root_write(b->root, ENTRY,
                        "title      Fake\noptions    root=UUID=1 rw quiet  systemd.machine_id=" ID "\n"
                        "linux      /1/linux\n");
        temp_root_write(b->root, ENTRY2, "linux /2/linux\noptions root=UUID=1 own=1\n");
        temp_root_write(b->root, "/boot/loader/entries/" ID "-memtest.conf",
                        "efi /memtest.efi\noptions x\n");
        temp_root_write(b->root, "/boot/loader/entries/other-6.1.conf",
                        "linux /3/linux\noptions root=UUID=2\n");
        return b;
}

static void assert_entries(const Bed *b, const char *arguments) {
        _cleanup_free_ char *first = NULL, *second = NULL;

        assert_true(asprintf(&first,
                             "title      Fake\noptions    root=UUID=1 rw quiet  systemd.machine_id=" ID
                             "%s%s\n"
                             "linux      /1/linux\n",
                             *arguments ? " " : "", arguments) > 0);
        assert_true(asprintf(&second, "linux /2/linux\noptions root=UUID=1 own=1%s%s\n",
                             *arguments ? " " : "", arguments) > 0);
        assert_file(b, ENTRY, first);
        assert_file(b, ENTRY2, second);
        assert_file(b, "/boot/loader/entries/" ID "-memtest.conf", "efi /memtest.efi\noptions x\n");
        assert_file(b, "/boot/loader/entries/other-6.1.conf", "linux /3/linux\noptions root=UUID=2\n");
}

static void test_kernel_install_gets_a_seeded_file_and_loses_it(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();
        _cleanup_free_ char *notes = NULL;
        size_t size;

        assert_loader(b, "kernel-install");
        assert_int_equal(take_away(b), 0);
        b->context.notes = open_memstream(&notes, &size);
        assert_non_null(b->context.notes);
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(fclose(b->context.notes), 0);
        b->context.notes = NULL;
        assert_string_equal(notes, CMDLINE
                            ": made from the running kernel's command line: root=UUID=1 rw quiet\n" ENTRY
                            ": changed\n" ENTRY2 ": changed\n");
        assert_file(b, CMDLINE, "root=UUID=1 rw quiet " OURS "\n");
        assert_entries(b, OURS);
        assert_arguments(b, OURS, "root=UUID=1 rw quiet systemd.machine_id=" ID " own=1");
        assert_int_equal(install(b, OURS), 0);
        assert_int_equal(install(b, NEW), 1);
        assert_file(b, CMDLINE, "root=UUID=1 rw quiet " NEW "\n");
        assert_entries(b, NEW);
        /* Not booted with them: the file can go at once. */
        assert_int_equal(take_away(b), 1);
        assert_nothing_remains(b);
        assert_entries(b, "");
        assert_int_equal(take_away(b), 0);
        assert_nothing_remains(b);
        assert_runs(b, 0);
        assert_int_equal(b->diagnostics.n, 0);
}

/* A new kernel in between: what kernel-install gives it. */
static void assert_next_kernel(Bed *b, const char *line) {
        _cleanup_free_ char *expected = NULL;

        temp_root_write(b->root, "/boot/vmlinuz-6.1.0-3", "");
        assert_int_equal(run_fake(b,
                                  (const char *const[]){ "/usr/bin/kernel-install", "add", "6.1.0-3",
                                                         "/boot/vmlinuz-6.1.0-3", NULL },
                                  NULL),
                         0);
        assert_true(asprintf(&expected,
                             "title      Fake\nversion    6.1.0-3\noptions    %s\nlinux      /" ID
                             "/6.1.0-3/linux\n",
                             line) > 0);
        assert_file(b, "/boot/loader/entries/" ID "-6.1.0-3.conf", expected);
}

/* Where the directory was there, it stays. */
static void test_kernel_install_keeps_a_directory(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, "/etc/kernel/.keep", "");
        assert_int_equal(remove_below(b, "/etc/kernel/.keep"), 0);
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, NULL);
        assert_true(root_exists(b->root, "/etc/kernel"));
}

/* One that was killed may have left its half of a file, which has not got in yet. */
static void test_kernel_install_cleans_up(void **state) {
        static const char *const left[] = { "/boot/loader/entries/.#" ID "-6.1.0-1.conf.hugepages",
                                            "/etc/kernel/.#cmdline.hugepages" };
        _cleanup_bed_ Bed *b = kernel_install_new();

        assert_int_equal(install(b, OURS), 1);
        for (size_t i = 0; i < ELEMENTSOF(left); i++)
                temp_root_write(b->root, left[i], "half");
        assert_int_equal(install(b, OURS), 0);
        for (size_t i = 0; i < ELEMENTSOF(left); i++)
                assert_file(b, left[i], NULL);
        assert_entries(b, OURS);
}

/* Or the directory that it had just made for them. */
static void test_kernel_install_directory_of_one_killed_goes(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        for (unsigned i = 0; i < 2; i++) {
                temp_root_write(b->root, "/etc/kernel/.#cmdline.hugepages-setup.hugepages",
                                INSTALLED_FIRST_LINE "arguments " OURS "\ndirectory\n");
                if (i > 0)
                        assert_int_equal(install(b, OURS), 1);
                assert_int_equal(take_away(b), i);
                assert_nothing_remains(b);
        }
}

static void test_kernel_install_that_fails_leaves_no_directory(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, "/boot/loader/entries/.#" ID "-6.1.0-2+3-1.conf.hugepages/x", "");
        assert_true(install(b, OURS) < 0);
        assert_nothing_remains(b);
}

static void test_kernel_install_leaves_somebody_elses_memory_alone(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, INSTALLED_PATH, "arguments " OURS "\n");
        assert_int_equal(install(b, OURS), -EEXIST);
        assert_int_equal(take_away(b), -EEXIST);
        assert_file(b, INSTALLED_PATH, "arguments " OURS "\n");
        assert_entries(b, "");
        assert_message(b, INSTALLED_PATH ": was not written by hugepagesctl");
}

static void write_bytes(const Bed *b, const char *path, const char *text, size_t size) {
        temp_root_write_bytes(b->root, path, text, size);
}

static void assert_bytes(const Bed *b, const char *path, const char *text, size_t size) {
        _cleanup_free_ char *now = NULL;
        size_t n = 0;

        assert_int_equal(root_read_file(b->root, path, 65536, &now, &n), 0);
        assert_int_equal(n, size);
        assert_memory_equal(now, text, n);
}

/* Behind a NUL byte all would be lost. */
static void test_kernel_install_refuses_nul(void **state) {
        static const char entry[] = "linux /v\noptions root=UUID=1 ro\nX\0tail\ninitrd /i\n",
                          early[] = "X\0tail\nlinux /v\n", line[] = "root=UUID=1 ro\0 after\n";

        for (unsigned i = 0; i < 3; i++) {
                _cleanup_bed_ Bed *b = kernel_install_new();
                const char *text = i == 0 ? entry : i == 1 ? early : line;
                const char *path = i < 2 ? ENTRY2 : CMDLINE;
                size_t size = i == 0 ? sizeof(entry) : i == 1 ? sizeof(early) : sizeof(line);
                _cleanup_free_ char *message = NULL;

                assert_true(asprintf(&message, "%s: cannot be read: there is a NUL byte in it", path) > 0);
                write_bytes(b, path, text, size - 1);
                assert_int_equal(install(b, OURS), -EILSEQ);
                assert_message(b, message);
                assert_bytes(b, path, text, size - 1);
                assert_file(b, INSTALLED_PATH, NULL);
        }
}

static void test_kernel_install_refuses_a_link_to_nowhere(void **state) {
        static const char *const targets[] = { "../cmdline.real", "/dev/null" };

        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                _cleanup_bed_ Bed *b = kernel_install_new();
                _cleanup_free_ char *now = NULL;

                temp_root_link(b->root, CMDLINE, targets[i]);
                assert_int_equal(install(b, OURS), -ENOLINK);
                assert_message(b, CMDLINE ": cannot be written: it is a link that leads to no file");
                assert_int_equal(root_readlink(b->root, CMDLINE, &now), 0);
                assert_string_equal(now, targets[i]);
                assert_false(root_exists(b->root, "/etc/cmdline.real"));
                assert_false(root_exists(b->root, "/dev/null"));
                assert_entries(b, "");
                assert_file(b, INSTALLED_PATH, NULL);
        }
}

/* The file was ours, and the administrator has made it a link. */
static void test_kernel_install_leaves_a_link(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();
        _cleanup_free_ char *now = NULL;

        assert_int_equal(install(b, OURS), 1);
        temp_root_write(b->root, "/etc/cmdline.real", "root=UUID=1 rw quiet " OURS "\n");
        assert_int_equal(remove_below(b, CMDLINE), 0);
        temp_root_link(b->root, CMDLINE, "../cmdline.real");
        assert_int_equal(take_away(b), 1);
        assert_int_equal(root_readlink(b->root, CMDLINE, &now), 0);
        assert_file(b, "/etc/cmdline.real", "root=UUID=1 rw quiet\n");
        assert_file(b, INSTALLED_PATH, NULL);
}

static void test_kernel_install_refuses_an_open_quote(void **state) {
        static const char text[] = "linux /v\noptions \" root=UUID=1 ro\noptions quiet\n";
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, ENTRY2, text);
        assert_int_equal(install(b, OURS), -EBADMSG);
        assert_message(b, ENTRY2 ": cannot be edited: a quote is not closed on its line");
        assert_file(b, ENTRY2, text);
        assert_file(b, INSTALLED_PATH, NULL);
}

/* The longest entry counts, with the initrd that systemd-boot names to the kernel, and what is for init. */
static void test_kernel_install_line_is_measured(void **state) {
        static const char others[] = "root=UUID=1 initrd=/i/1 initrd=/i/2 -- single";
        _cleanup_bed_ Bed *b = kernel_install_new();

        assert_other_bytes(b, strlen("root=UUID=1 rw quiet systemd.machine_id=" ID));
        temp_root_write(b->root, ENTRY, "linux /l\noptions x\n");
        temp_root_write(b->root, ENTRY2,
                        "linux /l\ninitrd /i/1\ninitrd\t/i/2\noptions root=UUID=1 -- single\n");
        assert_other_bytes(b, strlen(others));
        assert_int_equal(install(b, OURS), 1);
        assert_other_bytes(b, strlen(others));
}

static void test_kernel_install_keeps_the_file_until_the_reboot(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        assert_int_equal(install(b, OURS), 1);
        assert_next_kernel(b, "root=UUID=1 rw quiet " OURS);
        temp_root_write(b->root, "/proc/cmdline", "initrd=\\x root=UUID=1 rw quiet " OURS "\n"); /* booted */
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, "root=UUID=1 rw quiet\n");
        assert_next_kernel(b, "root=UUID=1 rw quiet");
        assert_int_equal(take_away(b), 0);
        assert_file(b, CMDLINE, "root=UUID=1 rw quiet\n");
        temp_root_write(b->root, "/proc/cmdline",
                        "root=UUID=1 rw quiet systemd.machine_id=" ID "\n"); /* rebooted */
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, NULL);
        assert_file(b, INSTALLED_PATH, NULL);
        assert_next_kernel(b, "root=UUID=1 rw quiet systemd.machine_id=" ID);
}

static void test_kernel_install_file_of_the_administrator_stays_byte_for_byte(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, CMDLINE, "root=UUID=1\n  rw\t\n# hugepagesz=1G\n\n");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, CMDLINE, "root=UUID=1\n  rw " OURS "\t\n# hugepagesz=1G\n\n");
        temp_root_write(b->root, CMDLINE, "root=UUID=1 " OURS " nosmt\n"); /* edited */
        assert_int_equal(install(b, OURS), 0);
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, "root=UUID=1 nosmt\n");
        assert_entries(b, "");
}

static void test_kernel_install_arguments_changed_by_hand_are_left_alone(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        assert_int_equal(install(b, OURS), 1);
        temp_root_write(b->root, CMDLINE, "root=UUID=1 hugepagesz=1G hugepages=7\n");
        assert_arguments(b, "",
                         "root=UUID=1 hugepagesz=1G hugepages=7 rw quiet systemd.machine_id=" ID " own=1");
        assert_int_equal(take_away(b), 1); /* from the entries */
        assert_file(b, CMDLINE, "root=UUID=1 hugepagesz=1G hugepages=7\n");
        assert_entries(b, "");
        assert_message(b, CMDLINE ": hugepagesz=1G was installed and then changed by hand");
}

static void test_kernel_install_entry_that_lost_them_gets_them_back(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        assert_int_equal(install(b, OURS), 1);
        temp_root_write(b->root, ENTRY2, "linux /2/linux\noptions root=UUID=1 own=1\n");
        assert_arguments(b, "", "root=UUID=1 rw quiet systemd.machine_id=" ID " own=1");
        assert_int_equal(install(b, OURS), 1);
        assert_entries(b, OURS);
}

static void test_kernel_install_words_for_init_are_not_the_kernels(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, "/proc/cmdline", "root=UUID=1 -- " OURS " x\n");
        temp_root_write(b->root, ENTRY2, "linux /2/linux\noptions root=UUID=1 -- own=1\n");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, CMDLINE, "root=UUID=1 " OURS " -- " OURS " x\n");
        assert_file(b, ENTRY2, "linux /2/linux\noptions root=UUID=1 " OURS " -- own=1\n");
        assert_arguments(b, OURS, "root=UUID=1 rw quiet systemd.machine_id=" ID);
        assert_int_equal(install(b, OURS), 0);
}

static void test_kernel_install_vendor_file_is_the_seed(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, "/usr/lib/kernel/cmdline", "root=LABEL=vendor\n");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, CMDLINE, "root=LABEL=vendor " OURS "\n");
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, NULL);
}

static void test_kernel_install_token_names_the_entries(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();

        temp_root_write(b->root, "/etc/kernel/entry-token", "other\n");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, "/boot/loader/entries/other-6.1.conf",
                    "linux /3/linux\noptions root=UUID=2 " OURS "\n");
        assert_file(b, ENTRY2, "linux /2/linux\noptions root=UUID=1 own=1\n");
}

static void test_kernel_install_below_a_root_takes_the_entries_words(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();
        _cleanup_free_ char *path = NULL;

        b->context.tools_know_root = false;
        assert_true(asprintf(&path, "%s/proc/cmdline", b->root) > 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, CMDLINE, "root=UUID=1 rw quiet systemd.machine_id=" ID " " OURS "\n");
        assert_entries(b, OURS);
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, NULL);
        assert_entries(b, "");
}

static void test_kernel_install_that_cannot_write_keeps_the_old_state(void **state) {
        _cleanup_bed_ Bed *b = kernel_install_new();
        _cleanup_free_ char *path = NULL;

        /* The name of the file that the new entry is written to is taken. */
        assert_true(asprintf(&path, "%s/boot/loader/entries/.#" ID "-6.1.0-2+3-1.conf.hugepages", b->root) >
                    0);
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(install(b, OURS), -EEXIST);
        assert_entries(b, "");
        assert_file(b, CMDLINE, NULL);
        assert_file(b, INSTALLED_PATH, NULL);
        assert_message(b, ENTRY2 ": cannot be written: File exists");
}

#define IMAGE(version) "/efi/EFI/Linux/" ID "-" version ".efi"

static Bed *uki_new(void) {
        Bed *b = bed_new();

        temp_root_write(b->root, "/usr/bin/kernel-install", "");
        temp_root_write(b->root, "/etc/kernel/install.conf", "layout=uki\n");
        temp_root_write(b->root, CMDLINE, "root=UUID=1 rw\n");
        temp_root_write(b->root, IMAGE("6.1.0-1"), "root=UUID=1 rw\n");
        temp_root_write(b->root, IMAGE("6.1.0-2"), "root=UUID=1 rw\n");
        temp_root_write(b->root, "/boot/vmlinuz-6.1.0-1", "");
        temp_root_write(b->root, "/usr/lib/modules/6.1.0-2/vmlinuz", "");
        return b;
}

static void test_unified_images_are_built_anew(void **state) {
        _cleanup_bed_ Bed *b = uki_new();

        assert_loader(b, "kernel-install");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, "/kernel-install.log", "6.1.0-1\n6.1.0-2\n");
        assert_file(b, IMAGE("6.1.0-1"), "root=UUID=1 rw " OURS "\n");
        assert_file(b, IMAGE("6.1.0-2"), "root=UUID=1 rw " OURS "\n");
        assert_int_equal(install(b, OURS), 0);
        assert_runs(b, 2);
        assert_int_equal(take_away(b), 1);
        assert_file(b, IMAGE("6.1.0-2"), "root=UUID=1 rw\n");
        assert_file(b, CMDLINE, "root=UUID=1 rw\n");
}

static void test_unified_image_that_fails_takes_all_back(void **state) {
        _cleanup_bed_ Bed *b = uki_new();

        b->fail = "6.1.0-2";
        assert_int_equal(install(b, OURS), -EIO);
        assert_file(b, CMDLINE, "root=UUID=1 rw\n");
        assert_file(b, IMAGE("6.1.0-1"), "root=UUID=1 rw\n");
        assert_file(b, IMAGE("6.1.0-2"), "root=UUID=1 rw\n");
        assert_file(b, INSTALLED_PATH, NULL);
        assert_message(b, "/usr/bin/kernel-install: failed with exit status 1");
}

static void test_unified_images_of_others_are_named(void **state) {
        _cleanup_bed_ Bed *b = uki_new();

        temp_root_write(b->root, "/etc/kernel/install.conf", "layout=bls\n");
        assert_int_equal(install(b, OURS), 1);
        assert_runs(b, 0);
        assert_message(b, IMAGE("6.1.0-1") ": this image keeps its arguments");
}

/* grubby. */

static Bed *grubby_new(void) {
        Bed *b = bed_new();

        temp_root_write(b->root, "/usr/sbin/grubby", "");
        temp_root_write(b->root, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"rhgb\"\n");
        temp_root_write(b->root, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb\n");
        temp_root_write(b->root, ENTRY2, "title y\nlinux /vmlinuz-2\noptions root=UUID=1 ro own=1\n");
        return b;
}

static void test_grubby_is_told_once_and_forgets(void **state) {
        _cleanup_bed_ Bed *b = grubby_new();

        assert_loader(b, "grubby");
        assert_int_equal(take_away(b), 0);
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb " OURS "\n");
        assert_file(b, ENTRY2, "title y\nlinux /vmlinuz-2\noptions root=UUID=1 ro own=1 " OURS "\n");
        assert_file(b, CMDLINE, "root=UUID=1 ro rhgb " OURS "\n");
        assert_file(b, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"rhgb " OURS "\"\n");
        assert_arguments(b, OURS, "ro rhgb own=1 root=UUID=1");
        b->n_runs = 0;
        assert_int_equal(install(b, OURS), 0);
        assert_runs(b, 1); /* asked */
        assert_int_equal(install(b, NEW), 1);
        assert_file(b, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb " NEW "\n");
        assert_int_equal(take_away(b), 1);
        assert_file(b, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb\n");
        assert_file(b, ENTRY2, "title y\nlinux /vmlinuz-2\noptions root=UUID=1 ro own=1\n");
        assert_file(b, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"rhgb\"\n");
        assert_nothing_remains(b);
        assert_int_equal(b->diagnostics.n, 0);
}

static void test_grubby_file_goes_after_the_reboot(void **state) {
        _cleanup_bed_ Bed *b = grubby_new();

        temp_root_write(b->root, "/proc/cmdline",
                        "BOOT_IMAGE=(hd0)/vmlinuz-1 root=UUID=1 ro rhgb " OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, "root=UUID=1 ro rhgb\n");
        assert_int_equal(take_away(b), 0);
        temp_root_write(b->root, "/proc/cmdline", "BOOT_IMAGE=(hd0)/vmlinuz-1 root=UUID=1 ro rhgb\n");
        assert_int_equal(take_away(b), 1);
        assert_nothing_remains(b);
        /* What was there before stays. */
        temp_root_write(b->root, CMDLINE, "root=UUID=1 ro rhgb\n");
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, "root=UUID=1 ro rhgb\n");
}

static void test_grubby_line_is_measured(void **state) {
        static const char others[] = "BOOT_IMAGE=/vmlinuz-1 root=UUID=1 ro rhgb";
        _cleanup_bed_ Bed *b = grubby_new();

        assert_int_equal(remove_below(b, ENTRY2), 0);
        assert_other_bytes(b, strlen(others));
        assert_int_equal(install(b, OURS), 1);
        assert_other_bytes(b, strlen(others));
}

static void test_grubby_several_sizes_keep_their_order(void **state) {
        _cleanup_bed_ Bed *b = grubby_new();

        assert_int_equal(install(b, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4"), 1);
        assert_arguments(b, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4",
                         "ro rhgb own=1 root=UUID=1");
        assert_int_equal(install(b, "hugepagesz=2M hugepages=4"), 1);
        assert_arguments(b, "hugepagesz=2M hugepages=4", "ro rhgb own=1 root=UUID=1");
        assert_int_equal(take_away(b), 1);
        assert_arguments(b, "", "ro rhgb own=1");
}

static void test_grubby_would_take_others_arguments_of_the_same_name(void **state) {
        static const char other[] =
                "title y\nlinux /vmlinuz-2\noptions root=UUID=1 hugepagesz=2M hugepages=512\n";
        _cleanup_bed_ Bed *b = grubby_new();

        temp_root_write(b->root, ENTRY2, other);
        assert_int_equal(install(b, OURS), -EEXIST);
        assert_file(b, ENTRY2, other);
        assert_file(b, INSTALLED_PATH, NULL);
        assert_message(b, "/boot/loader/entries: hugepagesz=2M would be lost");
        temp_root_write(b->root, ENTRY2, "linux /vmlinuz-2\noptions root=UUID=1\n");
        temp_root_write(b->root, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"default_hugepagesz=2M\"\n");
        assert_int_equal(install(b, NEW), -EEXIST);
        assert_message(b, "/etc/default/grub: default_hugepagesz=2M would be lost");
        assert_int_equal(install(b, OURS), 1); /* another name */
}

static void test_grubby_that_fails_keeps_the_old_state(void **state) {
        _cleanup_bed_ Bed *b = grubby_new();

        b->fail = "1";
        assert_int_equal(install(b, OURS), -EIO);
        assert_file(b, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb\n");
        assert_file(b, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"rhgb\"\n");
        assert_file(b, CMDLINE, NULL);
        assert_file(b, INSTALLED_PATH, NULL);
}

static void test_grubby_is_not_believed(void **state) {
        _cleanup_bed_ Bed *b = grubby_new();

        b->fail = "quietly";
        assert_int_equal(install(b, OURS), -EIO);
        assert_file(b, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb\n");
        assert_file(b, INSTALLED_PATH, NULL);
        assert_message(b, "/boot/loader/entries: has not got the arguments after grubby");
}

static void test_old_grubby_leaves_the_next_kernel_to_us(void **state) {
        _cleanup_bed_ Bed *b = grubby_new();

        b->old = "1";
        temp_root_write(b->root, CMDLINE, "root=UUID=1  ro\n");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, CMDLINE, "root=UUID=1  ro " OURS "\n");
        assert_int_equal(take_away(b), 1);
        assert_file(b, CMDLINE, "root=UUID=1  ro\n");
}

static void test_grubby_below_a_root_is_not_run(void **state) {
        static const char image[128 * 1024];
        _cleanup_bed_ Bed *b = grubby_new();

        b->context.tools_know_root = false;
        temp_root_write_bytes(b->root, IMAGE("3"), image, sizeof(image)); /* its arguments are not text */
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, ENTRY, "title x\nlinux /vmlinuz-1\noptions root=UUID=1 ro rhgb " OURS "\n");
        assert_arguments(b, OURS, "root=UUID=1 ro rhgb own=1");
        assert_int_equal(take_away(b), 1);
        assert_file(b, ENTRY2, "title y\nlinux /vmlinuz-2\noptions root=UUID=1 ro own=1\n");
        assert_runs(b, 0);
}

/* rpm-ostree. */

static Bed *rpm_ostree_new(const char *kargs) {
        Bed *b = bed_new();

        temp_root_write(b->root, "/usr/bin/rpm-ostree", "");
        temp_root_write(b->root, "/usr/bin/bootc", "");
        temp_root_write(b->root, "/run/ostree-booted", "");
        temp_root_write(b->root, "/sysroot/ostree/x", "");
        temp_root_write(b->root, "/kargs", kargs);
        return b;
}

static void test_rpm_ostree_is_told_once_and_forgets(void **state) {
        _cleanup_bed_ Bed *b = rpm_ostree_new("root=UUID=1 rw hugepagesz=2M hugepages=4\n");

        assert_loader(b, "rpm-ostree");
        assert_int_equal(take_away(b), 0);
        assert_int_equal(install(b, "hugepagesz=1G hugepages=4"), 1);
        assert_file(b, "/kargs", "root=UUID=1 rw hugepagesz=2M hugepages=4 hugepagesz=1G hugepages=4\n");
        assert_arguments(b, "hugepagesz=1G hugepages=4", "root=UUID=1 rw hugepagesz=2M hugepages=4");
        b->n_runs = 0;
        assert_int_equal(install(b, "hugepagesz=1G hugepages=4"), 0);
        assert_runs(b, 1); /* asked */
        assert_int_equal(install(b, NEW), 1);
        assert_file(b, "/kargs", "root=UUID=1 rw hugepagesz=2M hugepages=4 " NEW "\n");
        assert_int_equal(take_away(b), 1);
        assert_file(b, "/kargs", "root=UUID=1 rw hugepagesz=2M hugepages=4\n");
        assert_nothing_remains(b);
        assert_int_equal(b->diagnostics.n, 0);
}

static void test_rpm_ostree_that_fails_keeps_the_old_state(void **state) {
        _cleanup_bed_ Bed *b = rpm_ostree_new("root=UUID=1 rw\n");

        assert_int_equal(install(b, OURS), 1);
        b->fail = "1";
        assert_int_equal(install(b, NEW), -EIO);
        assert_arguments(b, OURS, "root=UUID=1 rw");
        assert_int_equal(take_away(b), -EIO);
        assert_arguments(b, OURS, "root=UUID=1 rw");
        assert_file(b, "/kargs", "root=UUID=1 rw " OURS "\n");
}

static void test_rpm_ostree_that_changes_the_order_is_refused(void **state) {
        _cleanup_bed_ Bed *b = rpm_ostree_new("root=UUID=1 rw\n");

        b->old = "1";
        assert_int_equal(install(b, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=8"), -EIO);
        assert_file(b, "/kargs", "root=UUID=1 rw\n");
        assert_file(b, INSTALLED_PATH, NULL);
        assert_message(b, "rpm-ostree kargs: has not kept the order");
}

/* bootc. */

#define KARGS "/usr/lib/bootc/kargs.d/90-hugepages-setup.toml"

static void test_bootc_image_gets_a_file(void **state) {
        _cleanup_bed_ Bed *b = bed_new();

        b->context.tools_know_root = false;
        temp_root_write(b->root, "/sysroot/ostree/x", "");
        temp_root_write(b->root, "/usr/lib/bootc/kargs.d/10-x.toml",
                        "# kargs = [\"no\"]\nkargs = [ # \"no\"\n  \"nosmt\", 'console=\"x\"',\n]\n"
                        "match-architectures = [\"x86_64\"]\n");
        assert_loader(b, "bootc");
        assert_int_equal(take_away(b), 0);
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, KARGS,
                    "# Written by \"hugepagesctl cmdline --install\".\n"
                    "kargs = [\"hugepagesz=1G\", \"hugepages=0:1,1:2\"]\n");
        assert_arguments(b, OURS, "nosmt console=\"x\"");
        assert_int_equal(install(b, OURS), 0);
        assert_int_equal(install(b, NEW), 1);
        assert_arguments(b, NEW, "nosmt console=\"x\"");
        assert_int_equal(take_away(b), 1);
        assert_file(b, KARGS, NULL);
        assert_runs(b, 0);
}

static void test_bootc_directory_goes_where_it_came_with_the_file(void **state) {
        static const char own[] = "# the vendor's\nkargs = [\"nosmt\"]\n";
        _cleanup_bed_ Bed *b = bed_new();

        b->context.tools_know_root = false;
        temp_root_write(b->root, "/sysroot/ostree/x", "");
        temp_root_write(b->root, "/usr/lib/bootc/x", "");
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(install(b, NEW), 1);
        assert_file(b, KARGS,
                    "# Written by \"hugepagesctl cmdline --install\".\n"
                    "# Its directory was made for it, and goes with it.\n"
                    "kargs = [\"default_hugepagesz=1G\", \"hugepagesz=1G\", \"hugepages=0:2,1:2\"]\n");
        assert_int_equal(take_away(b), 1);
        assert_false(root_exists(b->root, "/usr/lib/bootc/kargs.d"));
        temp_root_write(b->root, KARGS, own);
        assert_arguments(b, "", "nosmt");
        assert_int_equal(install(b, OURS), -EEXIST);
        assert_int_equal(take_away(b), -EEXIST);
        assert_file(b, KARGS, own);
        assert_message(b, KARGS ": was not written by hugepagesctl");
}

static void test_bootc_system_that_runs_is_its_images(void **state) {
        _cleanup_bed_ Bed *b = bed_new();

        temp_root_write(b->root, "/usr/bin/bootc", "");
        temp_root_write(b->root, "/run/ostree-booted", "");
        temp_root_write(b->root, "/sysroot/ostree/x", "");
        assert_loader(b, "bootc");
        assert_int_equal(install(b, OURS), -EROFS);
        assert_file(b, KARGS, NULL);
        assert_message(b, KARGS ": belongs to the image");
}

/* Which one. */

static void test_systemd_boot_says_that_it_boots(void **state) {
        static const char info[] = "\6\0\0\0s\0y\0s\0t\0e\0m\0d\0-\0b\0o\0o\0t\0 \0002\0005\0002";
        static const char path[] =
                "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
        _cleanup_bed_ Bed *b = bed_new();

        temp_root_write(b->root, "/usr/sbin/grub-mkconfig", "default/grub ${sysconfdir}/default/grub.d/");
        temp_root_write(b->root, "/usr/bin/kernel-install", "");
        assert_loader(b, "GRUB");
        temp_root_write(b->root, ENTRY, "linux /l\noptions root=x\n");
        assert_loader(b, "GRUB"); /* no sign of the other one but a file */
        temp_root_write_bytes(b->root, path, info, sizeof(info));
        assert_loader(b, "kernel-install");
        temp_root_write_bytes(b->root, path, "\6\0\0\0G\0R\0U\0B\0", 12);
        assert_loader(b, "GRUB");
}

static void test_nothing_is_known_of_an_empty_machine(void **state) {
        _cleanup_bed_ Bed *b = bed_new();

        assert_loader(b, NULL);
        temp_root_write(b->root, "/usr/bin/kernel-install", "");
        assert_loader(b, NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_arguments_go_behind_the_last_word),
                cmocka_unit_test(test_arguments_go_before_what_is_for_init),
                cmocka_unit_test(test_what_was_put_there_goes_without_a_trace),
                cmocka_unit_test(test_entry_without_options_has_none_again),
                cmocka_unit_test(test_only_what_is_ours_is_replaced),
                cmocka_unit_test(test_a_change_that_was_cut_short_is_known_either_way),
                cmocka_unit_test(test_what_both_lists_have_is_taken_once),
                cmocka_unit_test(test_what_is_installed_is_remembered),
                cmocka_unit_test(test_kernel_install_gets_a_seeded_file_and_loses_it),
                cmocka_unit_test(test_kernel_install_keeps_a_directory),
                cmocka_unit_test(test_kernel_install_cleans_up),
                cmocka_unit_test(test_kernel_install_directory_of_one_killed_goes),
                cmocka_unit_test(test_kernel_install_that_fails_leaves_no_directory),
                cmocka_unit_test(test_kernel_install_leaves_somebody_elses_memory_alone),
                cmocka_unit_test(test_kernel_install_refuses_nul),
                cmocka_unit_test(test_kernel_install_refuses_an_open_quote),
                cmocka_unit_test(test_kernel_install_refuses_a_link_to_nowhere),
                cmocka_unit_test(test_kernel_install_leaves_a_link),
                cmocka_unit_test(test_kernel_install_line_is_measured),
                cmocka_unit_test(test_kernel_install_keeps_the_file_until_the_reboot),
                cmocka_unit_test(test_kernel_install_file_of_the_administrator_stays_byte_for_byte),
                cmocka_unit_test(test_kernel_install_arguments_changed_by_hand_are_left_alone),
                cmocka_unit_test(test_kernel_install_entry_that_lost_them_gets_them_back),
                cmocka_unit_test(test_kernel_install_words_for_init_are_not_the_kernels),
                cmocka_unit_test(test_kernel_install_vendor_file_is_the_seed),
                cmocka_unit_test(test_kernel_install_token_names_the_entries),
                cmocka_unit_test(test_kernel_install_below_a_root_takes_the_entries_words),
                cmocka_unit_test(test_kernel_install_that_cannot_write_keeps_the_old_state),
                cmocka_unit_test(test_unified_images_are_built_anew),
                cmocka_unit_test(test_unified_image_that_fails_takes_all_back),
                cmocka_unit_test(test_unified_images_of_others_are_named),
                cmocka_unit_test(test_grubby_is_told_once_and_forgets),
                cmocka_unit_test(test_grubby_file_goes_after_the_reboot),
                cmocka_unit_test(test_grubby_line_is_measured),
                cmocka_unit_test(test_grubby_several_sizes_keep_their_order),
                cmocka_unit_test(test_grubby_would_take_others_arguments_of_the_same_name),
                cmocka_unit_test(test_grubby_that_fails_keeps_the_old_state),
                cmocka_unit_test(test_grubby_is_not_believed),
                cmocka_unit_test(test_old_grubby_leaves_the_next_kernel_to_us),
                cmocka_unit_test(test_grubby_below_a_root_is_not_run),
                cmocka_unit_test(test_rpm_ostree_is_told_once_and_forgets),
                cmocka_unit_test(test_rpm_ostree_that_fails_keeps_the_old_state),
                cmocka_unit_test(test_rpm_ostree_that_changes_the_order_is_refused),
                cmocka_unit_test(test_bootc_image_gets_a_file),
                cmocka_unit_test(test_bootc_directory_goes_where_it_came_with_the_file),
                cmocka_unit_test(test_bootc_system_that_runs_is_its_images),
                cmocka_unit_test(test_systemd_boot_says_that_it_boots),
                cmocka_unit_test(test_nothing_is_known_of_an_empty_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
