/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GRUB: what its configuration, a script, says, and our file in it. */

#include "loader-bed.h"

#define GRUB_FILE "/etc/default/grub.d/zz-hugepages-setup.cfg"
#define GRUB_CFG "/boot/grub/grub.cfg"
#define GRUB_CFG_WITH(arguments)                                                                            \
        "\tlinux\t/vmlinuz root=UUID=1 ro nosmt console=ttyS0 " arguments " quiet splash\n"                 \
        "\tlinux\t/vmlinuz root=UUID=1 ro single nosmt console=ttyS0\n"
#define GRUB_CFG_PLAIN                                                                                      \
        "\tlinux\t/vmlinuz root=UUID=1 ro nosmt console=ttyS0 quiet splash\n"                               \
        "\tlinux\t/vmlinuz root=UUID=1 ro single nosmt console=ttyS0\n"

static Bed *grub_new(void) {
        Bed *b = bed_new();

        temp_root_write(b->root, "/usr/sbin/grub-mkconfig",
                        "for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n");
        temp_root_write(b->root, "/usr/sbin/update-grub", "");
        temp_root_write(b->root, "/etc/default/grub",
                        "# GRUB_CMDLINE_LINUX=\"comment\"\nGRUB_TIMEOUT=5\n"
                        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=nosmt\n");
        temp_root_write(
                b->root, "/etc/default/grub.d/50-cloud.cfg",
                "export GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX:+$GRUB_CMDLINE_LINUX }console=ttyS0\"\n"
                "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT\"' splash'\n");
        temp_root_write(b->root, "/etc/default/grub.d/README", "GRUB_CMDLINE_LINUX=wrong\n");
        temp_root_write(b->root, GRUB_CFG, GRUB_CFG_PLAIN);
        return b;
}

static void answer(const Bed *b, const char *arguments) {
        temp_root_write(b->root, "/answer", arguments);
}

static void test_grub_is_told_once_and_forgets(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        assert_loader(b, "GRUB");
        answer(b, OURS "\n");
        assert_arguments(b, "", "nosmt console=ttyS0 quiet splash");
        assert_int_equal(install(b, OURS), 1);
        assert_runs(b, 1);
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(OURS));
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet splash");
        assert_int_equal(install(b, OURS), 0);
        assert_runs(b, 0);
        answer(b, NEW "\n");
        assert_int_equal(install(b, NEW), 1);
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(NEW));
        assert_int_equal(take_away(b), 1);
        assert_runs(b, 2);
        assert_file(b, GRUB_FILE, NULL);
        assert_file(b, GRUB_CFG,
                    "\tlinux\t/vmlinuz root=UUID=1 ro nosmt console=ttyS0 quiet splash\n"
                    "\tlinux\t/vmlinuz root=UUID=1 ro single nosmt console=ttyS0\n");
        assert_int_equal(take_away(b), 0);
        assert_runs(b, 0);
        assert_int_equal(b->diagnostics.n, 0);
}

static int update_grub(Bed *b) {
        return run_fake(b, (const char *const[]){ "/usr/sbin/update-grub", NULL }, NULL);
}

static void test_grub_asks_at_each_update(void **state) {
        _cleanup_bed_ Bed *b = grub_new();
        _cleanup_free_ char *path = NULL;

        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        answer(b, NEW "\n"); /* the drop-ins were changed */
        assert_int_equal(update_grub(b), 0);
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(NEW));
        answer(b, ""); /* they ask for nothing any more */
        assert_int_equal(update_grub(b), 0);
        assert_file(b, GRUB_CFG, GRUB_CFG_PLAIN);
        assert_true(asprintf(&path, "%s/answer", b->root) > 0);
        assert_int_equal(unlink(path), 0); /* hugepagesctl fails: what it said before */
        assert_int_equal(update_grub(b), 0);
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(OURS));
}

static void test_grub_that_fails_keeps_the_old_state(void **state) {
        _cleanup_bed_ Bed *b = grub_new();
        _cleanup_free_ char *before = NULL;

        b->fail = "1";
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), -EIO);
        assert_file(b, GRUB_FILE, NULL);
        assert_file(b, GRUB_CFG, GRUB_CFG_PLAIN);
        assert_message(b, "/usr/sbin/update-grub: failed with exit status 1");
        b->fail = NULL;
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(root_read_file(b->root, GRUB_FILE, 65536, &before, NULL), 0);
        b->fail = "1";
        assert_int_equal(install(b, NEW), -EIO);
        assert_file(b, GRUB_FILE, before);
        assert_int_equal(take_away(b), -EIO);
        assert_file(b, GRUB_FILE, before);
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(OURS));
}

static void test_grub_words_of_the_administrator_are_his(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(
                b->root, "/etc/default/grub.d/60-own.cfg",
                "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT hugepagesz=2M hugepages=4\"\n");
        answer(b, "hugepagesz=1G hugepages=4\n");
        assert_int_equal(install(b, "hugepagesz=1G hugepages=4"), 1);
        assert_arguments(b, "hugepagesz=1G hugepages=4",
                         "nosmt console=ttyS0 quiet splash hugepagesz=2M hugepages=4");
}

/* Nothing is left of it, and it is told who takes them away. */
static void assert_lost(const char *file, const char *text, const char *message) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, file, text);
        assert_int_equal(update_grub(b), 0);
        assert_int_equal(remove_below(b, GRUB_CFG), 0);
        temp_root_write(b->root, GRUB_CFG, GRUB_CFG_PLAIN);
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), -EIO);
        assert_message(b, message);
        assert_file(b, GRUB_FILE, NULL);
        assert_file(b, GRUB_CFG, GRUB_CFG_PLAIN);
}

static void test_grub_that_loses_them_is_told(void **state) {
        assert_lost("/etc/default/grub.d/zzz.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=lost\n",
                    "/etc/default/grub.d/zzz.cfg: sets GRUB_CMDLINE_LINUX_DEFAULT anew");
        assert_lost("/etc/default/grub.d/60-own.cfg", "GRUB_CMDLINE_LINUX='quiet -- single'\n",
                    "/etc/default/grub: the arguments would stand behind a \"--\"");
        assert_lost("/etc/default/grub.d/60-own.cfg", "readonly GRUB_CMDLINE_LINUX_DEFAULT\n",
                    GRUB_FILE ": GRUB_CMDLINE_LINUX_DEFAULT or another variable of it is readonly");
        assert_lost("/etc/default/grub.d/60-own.cfg", "readonly hugepages_arguments=x\n",
                    GRUB_FILE ": GRUB_CMDLINE_LINUX_DEFAULT or another variable of it is readonly");
}

/* In an image that has no kernel yet, grub-mkconfig makes no entry. */
static void test_grub_without_a_kernel_gets_them_later(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        b->no_kernel = "1";
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        assert_message(b, GRUB_CFG ": has no kernel to boot yet");
        assert_int_equal(b->diagnostics.n_errors, 0);
        b->no_kernel = NULL;
        assert_int_equal(update_grub(b), 0);
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet splash");
}

static void test_grub_that_has_them_twice_has_them(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, "/etc/default/grub.d/zzz.cfg",
                        "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT\"\n");
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet splash quiet splash");
        assert_int_equal(install(b, OURS), 0);
        assert_int_equal(b->diagnostics.n, 0);
}

static void test_grub_words_for_init_do_not_hide_ours(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, "/etc/default/grub.d/60-own.cfg",
                        "GRUB_CMDLINE_LINUX_DEFAULT='quiet -- x'\n");
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet");
        assert_int_equal(install(b, OURS), 0);
}

/* How a semicolon has to be written for GRUB: in double quotes the shell keeps the backslash. */
static void test_grub_keeps_a_backslash_apart(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, "/etc/default/grub.d/60-own.cfg",
                        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet thp_anon=16K:always\\;1M:never\"\n");
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet thp_anon=16K:always\\;1M:never");
        assert_int_equal(install(b, OURS), 0);
        assert_int_equal(take_away(b), 1);
        assert_int_equal(take_away(b), 0);
}

static void test_grub_takes_no_shell(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        assert_int_equal(install(b, "a=';reboot'"), -EINVAL);
        assert_int_equal(install(b, "thp_anon=64K:always;128K:inherit"), -EINVAL);
        assert_file(b, GRUB_FILE, NULL);
}

static void test_below_a_root_no_tool_is_run(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        b->context.tools_know_root = false;
        assert_int_equal(install(b, OURS), 1);
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet splash");
        assert_int_equal(install(b, OURS), 0);
        assert_int_equal(take_away(b), 1);
        assert_file(b, GRUB_FILE, NULL);
        assert_file(b, GRUB_CFG, GRUB_CFG_PLAIN);
        assert_runs(b, 0);
}

/* What a shell makes of it. */

#define CONFIG "/etc/default/grub"
#define OTHER_CONFIG "/etc/default/other"

/* A file of the root, its path in place of the only %s. */
static void write_config(const Bed *b, const char *path, const char *before, const char *named,
                         const char *after) {
        _cleanup_free_ char *text = NULL;

        assert_true(asprintf(&text, "%s%s%s%s", before, b->root, named, after) > 0);
        temp_root_write(b->root, path, text);
}

static void assert_behind(const Bed *b, const char *behind) {
        LoaderArguments a = {};

        assert_int_equal(loader_find(&b->context)->read(&b->context, &a), 0);
        assert_true(a.behind <= strlen(a.others));
        assert_string_equal(a.others + strlen(a.others) - a.behind, behind);
        loader_arguments_done(&a);
}

static void assert_other_bytes(const Bed *b, size_t expected) {
        LoaderArguments a = {};

        assert_int_equal(loader_find(&b->context)->read(&b->context, &a), 0);
        assert_int_equal(a.other_bytes, expected);
        loader_arguments_done(&a);
}

static void test_grub_files_of_files_are_followed(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, OTHER_CONFIG,
                        "OTHER='hugepagesz=1G hugepages=4'\nif true; then GRUB_CMDLINE_LINUX=nosmt; fi\n");
        write_config(b, CONFIG, ". ", OTHER_CONFIG,
                     "\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX $OTHER\"\n"
                     "GRUB_CMDLINE_LINUX_DEFAULT=\"$(echo a   b | tr ab qr) `echo c` ${MISSING:-d} "
                     "$GRUB_DISABLE_OS_PROBER\"\n");
        assert_arguments(b, "", "nosmt hugepagesz=1G hugepages=4 console=ttyS0 q r c d true splash");
        answer(b, "hugepagesz=2M hugepages=4\n");
        assert_int_equal(install(b, "hugepagesz=2M hugepages=4"), 1);
        assert_arguments(b, "hugepagesz=2M hugepages=4",
                         "nosmt hugepagesz=1G hugepages=4 console=ttyS0 q r c d true splash");
        assert_int_equal(b->diagnostics.n, 0);
}

/* In the caller's environment, grub-mkconfig would not be started by us either. */
static void test_grub_environment_is_clean(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, CONFIG,
                        "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX $HUGEPAGES_ROOT$FOREIGN\"\n");
        assert_int_equal(setenv("GRUB_CMDLINE_LINUX", "wrong", 1), 0);
        assert_int_equal(setenv("FOREIGN", "wrong", 1), 0);
        assert_arguments(b, "", "console=ttyS0 splash");
        assert_int_equal(unsetenv("GRUB_CMDLINE_LINUX"), 0);
        assert_int_equal(unsetenv("FOREIGN"), 0);
        assert_int_equal(b->diagnostics.n, 0);
}

static void test_grub_place_of_ours_is_known(void **state) {
        static const char ours[] = "hugepagesz=1G hugepages=4 thp_anon=64K:always";
        _cleanup_bed_ Bed *b = grub_new();

        assert_behind(b, " quiet splash");
        temp_root_write(b->root, "/etc/default/grub.d/zzz.cfg",
                        "GRUB_CMDLINE_LINUX_DEFAULT=\"hugepagesz=2M hugepages=4 "
                        "$GRUB_CMDLINE_LINUX_DEFAULT hugepagesz=64K hugepages=4\"\n");
        assert_behind(b, " quiet splash hugepagesz=64K hugepages=4");
        answer(b, ours);
        assert_int_equal(install(b, ours), 1);
        assert_arguments(b, ours,
                         "nosmt console=ttyS0 hugepagesz=2M hugepages=4 quiet splash hugepagesz=64K "
                         "hugepages=4");
        assert_behind(b, " quiet splash hugepagesz=64K hugepages=4");
        assert_int_equal(install(b, ours), 0);
        assert_int_equal(b->diagnostics.n, 0);
}

static void test_grub_place_of_ours_is_no_word(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, "/etc/default/grub.d/zzz.cfg",
                        "GRUB_CMDLINE_LINUX=\"a $GRUB_CMDLINE_LINUX_DEFAULT\"\n"
                        "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
                        "$GRUB_CMDLINE_LINUX_DEFAULT\"\n");
        assert_arguments(b, "", "a quiet splash quiet splash quiet splash");
}

static void assert_only_read(Bed *b, const char *why) {
        temp_root_write(b->root, "/etc/default/grub.d/50-cloud.cfg", "");
        assert_arguments(b, "", "nosmt quiet");
        assert_arguments(b, "", "nosmt quiet");
        assert_int_equal(b->diagnostics.n, 1);
        assert_int_equal(b->diagnostics.n_errors, 0);
        assert_message(b, CONFIG ": was only read, not run as grub-mkconfig does, since ");
        assert_message(b, why);
}

#define ASSIGNMENTS "GRUB_CMDLINE_LINUX=nosmt\nGRUB_CMDLINE_LINUX_DEFAULT=quiet\n"

static void test_grub_script_that_cannot_be_run_is_read(void **state) {
        static const struct {
                const char *text, *why;
        } cases[] = {
                { "false\n" ASSIGNMENTS, "since it fails" },
                { ASSIGNMENTS "exit 0\n", "since it fails" },
                { ASSIGNMENTS "GRUB_DISTRIBUTOR=$(no-such-program)\n", "since it fails" },
                { ASSIGNMENTS "sleep 600\n", "since it does not come to an end" },
                { ASSIGNMENTS "sleep 600 &\nwait\n", "since it does not come to an end" },
                { ASSIGNMENTS
                  "X=xxxxxxxxxxxxxxxx; X=$X$X$X$X; X=$X$X$X$X; X=$X$X$X$X$X$X$X$X$X$X$X$X$X$X$X$X\n"
                  "X=$X$X$X$X$X$X$X$X$X$X$X$X$X$X$X$X$X; test -z \"$X\" || GRUB_CMDLINE_LINUX=$X\n",
                  "since it sets more than a kernel takes" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_bed_ Bed *b = grub_new();

                b->context.shell_msec = strstr(cases[i].text, "sleep") ? 300 : 60000;
                temp_root_write(b->root, CONFIG, cases[i].text);
                assert_only_read(b, cases[i].why);
        }
}

/* The output of what it runs is not its answer, nor does it get input. */
static void test_grub_script_is_alone(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, CONFIG,
                        "echo wrong; echo wrong >&2; read x || :; cat; echo wrong >&3 || :\n"
                        "GRUB_CMDLINE_LINUX=right\nset -- wrong\n");
        b->context.shell_msec = 20000;
        assert_arguments(b, "", "right console=ttyS0 splash");
        assert_int_equal(b->diagnostics.n, 0);
}

static void test_grub_below_a_root_is_read(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        b->context.tools_know_root = false;
        temp_root_write(b->root, CONFIG,
                        "GRUB_CMDLINE_LINUX=a\n"
                        "GRUB_CMDLINE_LINUX+=\" b\"\n"
                        "GRUB_DISTRIBUTOR=`lsb_release`\n"
                        "GRUB_CMDLINE_LINUX_DEFAULT='$OTHER `x`'\n");
        assert_arguments(b, "", "a b console=ttyS0 $OTHER `x` splash");
        assert_int_equal(b->diagnostics.n, 0); /* all of it was understood */
        temp_root_write(b->root, CONFIG,
                        "GRUB_CMDLINE_LINUX=\"a\\\n b\"\n. " OTHER_CONFIG "\n\n"
                        "  GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX $OTHER\"\n");
        assert_arguments(b, "", "a b $OTHER console=ttyS0 splash");
        assert_arguments(b, "", "a b $OTHER console=ttyS0 splash");
        assert_int_equal(b->diagnostics.n, 2);
        assert_message(b, CONFIG ":3: was only read");
        assert_message(b, CONFIG ":5: was only read");
}

/* Our file. */

static const char older_snippet[] =
        "# Huge pages on the kernel command line, see hugepagesctl(8).\n"
        "# \"hugepagesctl cmdline --remove\" takes this file away.\n"
        "if command -v hugepagesctl >/dev/null 2>&1; then\n"
        "        hugepages_arguments='" OURS "'\n"
        "        if hugepages_answer=$(hugepagesctl cmdline 2>/dev/null); then\n"
        "                hugepages_arguments=$hugepages_answer\n"
        "        fi\n"
        "        if [ -n \"$hugepages_arguments\" ]; then\n"
        "                GRUB_CMDLINE_LINUX_DEFAULT=\"$hugepages_arguments $GRUB_CMDLINE_LINUX_DEFAULT\"\n"
        "        fi\n"
        "        unset hugepages_arguments hugepages_answer\n"
        "fi\n";

static const char now_snippet[] =
        "# Huge pages on the kernel command line, see hugepagesctl(8).\n"
        "# \"hugepagesctl cmdline --remove\" takes this file away.\n"
        "#\n"
        "# grub-mkconfig reads this. What hugepagesctl says then counts; should it\n"
        "# fail, what it said when this file was written. Once hugepagesctl is no\n"
        "# longer installed, nothing is added.\n"
        "if ! command -v hugepagesctl >/dev/null 2>&1; then\n"
        "        :\n"
        "elif ! (hugepages_arguments=x hugepages_answer=x hugepages_line=x GRUB_CMDLINE_LINUX_DEFAULT=x) "
        "2>/dev/null; then\n"
        "        printf '%s\\n' \"" GRUB_FILE ": a variable is readonly: nothing is added\" >&2 || :\n"
        "else\n"
        "        hugepages_arguments='" OURS "'\n"
        "        hugepages_answer=$({\n"
        "                { hugepagesctl cmdline </dev/null 2>&1 >&3 3>&- && echo . >&3; } |\n"
        "                        while IFS= read -r hugepages_line; do\n"
        "                                printf '%s\\n' \"" GRUB_FILE ": $hugepages_line\" >&2\n"
        "                        done\n"
        "        } 3>&1) || :\n"
        "        case $hugepages_answer in\n"
        "        *.)\n"
        "                hugepages_arguments=$(printf '%s' \"${hugepages_answer%.}\") || :\n"
        "                ;;\n"
        "        *)\n"
        "                printf '%s %s\\n' \"" GRUB_FILE ": hugepagesctl cmdline failed:\" \\\n"
        "                        'the arguments of the last installation stay' >&2 || :\n"
        "                ;;\n"
        "        esac\n"
        "        if [ -n \"$hugepages_arguments\" ]; then\n"
        "                GRUB_CMDLINE_LINUX_DEFAULT=\"$hugepages_arguments $GRUB_CMDLINE_LINUX_DEFAULT\"\n"
        "        fi\n"
        "        unset hugepages_arguments hugepages_answer\n"
        "fi\n";

static void test_grub_older_file_is_renewed(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        answer(b, OURS "\n");
        temp_root_write(b->root, GRUB_FILE, older_snippet);
        assert_int_equal(update_grub(b), 0);
        b->n_runs = 0;
        assert_arguments(b, OURS, "nosmt console=ttyS0 quiet splash");
        assert_int_equal(install(b, OURS), 1);
        assert_file(b, GRUB_FILE, now_snippet);
        assert_int_equal(install(b, OURS), 0);
        assert_runs(b, 1);
        temp_root_write(b->root, GRUB_FILE, older_snippet);
        assert_int_equal(take_away(b), 1);
        assert_file(b, GRUB_FILE, NULL);
        assert_int_equal(b->diagnostics.n, 0);
}

/* What update-grub prints. */
static char *update_output(Bed *b, int expected) {
        char *output;

        assert_int_equal(run_fake(b, (const char *const[]){ "/usr/sbin/update-grub", NULL }, &output),
                         expected);
        return output;
}

static void test_grub_update_shows_what_hugepagesctl_says(void **state) {
        _cleanup_bed_ Bed *b = grub_new();
        _cleanup_free_ char *warned = NULL, *failed = NULL, *silent = NULL;

        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        silent = update_output(b, 0);
        assert_string_equal(silent, "");
        temp_root_write(b->root, "/warning", "a\\n: 100% $x\n  b\n");
        answer(b, NEW "\n");
        warned = update_output(b, 0);
        assert_string_equal(warned, GRUB_FILE ": a\\n: 100% $x\n" GRUB_FILE ":   b\n");
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(NEW));
        assert_int_equal(remove_below(b, "/answer"), 0);
        failed = update_output(b, 0);
        assert_string_equal(failed, GRUB_FILE ": a\\n: 100% $x\n" GRUB_FILE ":   b\n" GRUB_FILE
                                              ": hugepagesctl cmdline failed: the arguments of the last "
                                              "installation stay\n");
        assert_file(b, GRUB_CFG, GRUB_CFG_WITH(OURS));
}

static void test_grub_file_of_somebody_else_is_refused(void **state) {
        static const char own[] = "# mine\nGRUB_CMDLINE_LINUX_DEFAULT=\"hugepagesz=1G hugepages=0:1,1:2\"\n";
        _cleanup_bed_ Bed *b = grub_new();

        temp_root_write(b->root, GRUB_FILE, own);
        assert_int_equal(update_grub(b), 0);
        b->n_runs = 0;
        assert_arguments(b, "", "nosmt console=ttyS0 " OURS);
        assert_int_equal(install(b, OURS), -EEXIST);
        assert_file(b, GRUB_FILE, own);
        assert_message(b, GRUB_FILE ": was not written by hugepagesctl");
        assert_int_equal(take_away(b), -EEXIST);
        assert_file(b, GRUB_FILE, own);
        b->context.tools_know_root = false;
        assert_arguments(b, "", "nosmt console=ttyS0 " OURS);
        assert_int_equal(install(b, OURS), -EEXIST);
        assert_int_equal(take_away(b), -EEXIST);
        assert_runs(b, 0);
}

static void test_grub_directory_goes_where_it_came_with_the_file(void **state) {
        _cleanup_bed_ Bed *b = grub_new();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(remove_below(b, "/etc/default/grub.d/50-cloud.cfg"), 0);
        assert_int_equal(remove_below(b, "/etc/default/grub.d/README"), 0);
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(take_away(b), 1);
        assert_true(root_exists(b->root, "/etc/default/grub.d"));
        assert_int_equal(remove_below(b, "/etc/default/grub.d"), 0);
        answer(b, OURS "\n");
        b->fail = "1";
        assert_int_equal(install(b, OURS), -EIO);
        assert_false(root_exists(b->root, "/etc/default/grub.d"));
        b->fail = NULL;
        assert_int_equal(install(b, OURS), 1);
        assert_int_equal(install(b, OURS), 0);
        answer(b, NEW "\n");
        assert_int_equal(install(b, NEW), 1);
        assert_int_equal(root_read_file(b->root, GRUB_FILE, 65536, &text, NULL), 0);
        assert_non_null(strstr(text, "\n# Its directory was made for it, and goes with it.\n"));
        assert_int_equal(take_away(b), 1);
        assert_false(root_exists(b->root, "/etc/default/grub.d"));
        assert_false(root_exists(b->root, "/etc/kernel"));
}

/* With BOOT_IMAGE=, the root, and what is for init. */
static void test_grub_line_is_measured(void **state) {
        _cleanup_bed_ Bed *b = grub_new();

        assert_other_bytes(b, strlen("BOOT_IMAGE=/vmlinuz root=UUID=1 ro nosmt console=ttyS0 quiet splash"));
        temp_root_write(b->root, "/etc/default/grub.d/60-own.cfg",
                        "GRUB_CMDLINE_LINUX_DEFAULT='quiet -- x'\n");
        answer(b, OURS "\n");
        assert_int_equal(install(b, OURS), 1);
        assert_other_bytes(b, strlen("BOOT_IMAGE=/vmlinuz root=UUID=1 ro nosmt console=ttyS0 quiet -- x"));
        assert_int_equal(remove_below(b, GRUB_CFG), 0);
        assert_other_bytes(b, strlen("nosmt console=ttyS0 quiet"));
}

/* GRUB without the directory. */

static void assert_advice(const Bed *b, const char *command) {
        const Loader *l = loader_find(&b->context);
        _cleanup_free_ char *text = l->by_hand(&b->context, OURS), *expected = NULL;

        assert_true(asprintf(&expected,
                             "GRUB reads /etc/default/grub alone here: add the line "
                             "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT " OURS
                             "\" at the end of that file, and run %s",
                             command) > 0);
        assert_string_equal(text, expected);
}

static void test_grub_without_the_directory_is_changed_by_hand(void **state) {
        _cleanup_bed_ Bed *b = bed_new();

        temp_root_write(b->root, "/usr/bin/grub-mkconfig", ". ${sysconfdir}/default/grub\n");
        assert_loader(b, NULL);
        temp_root_write(b->root, CONFIG, "GRUB_CMDLINE_LINUX=a\nGRUB_CMDLINE_LINUX_DEFAULT=b\n");
        temp_root_write(b->root, "/etc/default/grub.d/x.cfg", "GRUB_CMDLINE_LINUX=wrong\n");
        assert_loader(b, "GRUB");
        assert_null(loader_find(&b->context)->install);
        assert_arguments(b, "", "a b");
        assert_advice(b, "grub-mkconfig -o /boot/grub/grub.cfg");
        temp_root_write(b->root, GRUB_CFG, GRUB_CFG_PLAIN);
        assert_arguments(b, "", "root=UUID=1 ro nosmt console=ttyS0 quiet splash");
        assert_other_bytes(b, strlen("BOOT_IMAGE=/vmlinuz root=UUID=1 ro nosmt console=ttyS0 quiet splash"));
        temp_root_write(b->root, "/usr/sbin/update-grub", "");
        assert_advice(b, "update-grub");
        assert_int_equal(remove_below(b, "/usr/sbin/update-grub"), 0);
        assert_int_equal(remove_below(b, "/usr/bin/grub-mkconfig"), 0);
        temp_root_write(b->root, "/usr/sbin/grub2-mkconfig", "");
        temp_root_write(b->root, "/boot/grub2/grub.cfg", "linuxefi /vmlinuz x\n");
        assert_arguments(b, "", "x");
        assert_advice(b, "grub2-mkconfig -o /boot/grub2/grub.cfg");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_grub_is_told_once_and_forgets),
                cmocka_unit_test(test_grub_asks_at_each_update),
                cmocka_unit_test(test_grub_that_fails_keeps_the_old_state),
                cmocka_unit_test(test_grub_words_of_the_administrator_are_his),
                cmocka_unit_test(test_grub_that_loses_them_is_told),
                cmocka_unit_test(test_grub_without_a_kernel_gets_them_later),
                cmocka_unit_test(test_grub_that_has_them_twice_has_them),
                cmocka_unit_test(test_grub_words_for_init_do_not_hide_ours),
                cmocka_unit_test(test_grub_keeps_a_backslash_apart),
                cmocka_unit_test(test_grub_takes_no_shell),
                cmocka_unit_test(test_below_a_root_no_tool_is_run),
                cmocka_unit_test(test_grub_files_of_files_are_followed),
                cmocka_unit_test(test_grub_environment_is_clean),
                cmocka_unit_test(test_grub_place_of_ours_is_known),
                cmocka_unit_test(test_grub_place_of_ours_is_no_word),
                cmocka_unit_test(test_grub_script_that_cannot_be_run_is_read),
                cmocka_unit_test(test_grub_script_is_alone),
                cmocka_unit_test(test_grub_below_a_root_is_read),
                cmocka_unit_test(test_grub_older_file_is_renewed),
                cmocka_unit_test(test_grub_update_shows_what_hugepagesctl_says),
                cmocka_unit_test(test_grub_file_of_somebody_else_is_refused),
                cmocka_unit_test(test_grub_directory_goes_where_it_came_with_the_file),
                cmocka_unit_test(test_grub_line_is_measured),
                cmocka_unit_test(test_grub_without_the_directory_is_changed_by_hand),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
