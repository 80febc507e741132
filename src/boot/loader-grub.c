/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GRUB as Debian and its relatives have it: grub-mkconfig reads /etc/default/grub.d/, where a file of ours
 * asks hugepagesctl each time. Through GRUB_CMDLINE_LINUX_DEFAULT, which the recovery entries do not get. */

#include "basic/fs.h"
#include "boot/grub-config.h"
#include "boot/loader-internal.h"

#define GRUB_CFG "/boot/grub/grub.cfg"
#define GRUB2_CFG "/boot/grub2/grub.cfg"

/* Sourced by a shell under "set -e": commands that may fail are conditions. Ours come first, as the kernel
 * skips what is behind a "--". What hugepagesctl has to say goes on to the terminal; the answer ends with a
 * dot where it did not fail. */
static const char snippet[] = GRUB_OUR_FIRST_LINE
        "# \"hugepagesctl cmdline --remove\" takes this file away.\n"
        "#\n"
        "# grub-mkconfig reads this. What hugepagesctl says then counts; should it\n"
        "# fail, what it said when this file was written. Once hugepagesctl is no\n"
        "# longer installed, nothing is added.\n"
        "%s"
        "if ! command -v hugepagesctl >/dev/null 2>&1; then\n"
        "        :\n"
        "elif ! (" GRUB_OUR_ASSIGNMENTS ") 2>/dev/null; then\n"
        "        printf '%%s\\n' \"" GRUB_OUR_PATH ": a variable is readonly: nothing is added\" >&2 || :\n"
        "else\n"
        "        hugepages_arguments='%s'\n"
        "        hugepages_answer=$({\n"
        "                { hugepagesctl cmdline </dev/null 2>&1 >&3 3>&- && echo . >&3; } |\n"
        "                        while IFS= read -r hugepages_line; do\n"
        "                                printf '%%s\\n' \"" GRUB_OUR_PATH ": $hugepages_line\" >&2\n"
        "                        done\n"
        "        } 3>&1) || :\n"
        "        case $hugepages_answer in\n"
        "        *.)\n"
        "                hugepages_arguments=$(printf '%%s' \"${hugepages_answer%%.}\") || :\n"
        "                ;;\n"
        "        *)\n"
        "                printf '%%s %%s\\n' \"" GRUB_OUR_PATH ": hugepagesctl cmdline failed:\" \\\n"
        "                        'the arguments of the last installation stay' >&2 || :\n"
        "                ;;\n"
        "        esac\n"
        "        if [ -n \"$hugepages_arguments\" ]; then\n"
        "                GRUB_CMDLINE_LINUX_DEFAULT=\"$hugepages_arguments $GRUB_CMDLINE_LINUX_DEFAULT\"\n"
        "        fi\n"
        "        unset hugepages_arguments hugepages_answer\n"
        "fi\n";

static const char *const mkconfig_paths[] = { "/usr/sbin/grub-mkconfig", "/usr/bin/grub-mkconfig", NULL };
static const char *const mkconfig2_paths[] = { "/usr/sbin/grub2-mkconfig", "/usr/bin/grub2-mkconfig", NULL };

static bool grub_detect(const LoaderContext *c) {
        const char *path = loader_tool(c, mkconfig_paths);
        _cleanup_free_ char *text = NULL;

        if (!path || booted_by_systemd_boot(c->root))
                return false;
        /* The directory is a distribution's addition. */
        return root_read_text(c->root, path, GRUB_CONFIG_MAX, &text) >= 0 &&
               strstr(text, "/default/grub.d/");
}

/* Single blanks, no blanks around. */
static int normalize(const char *words, char **ret) {
        char *line = strdup("");
        const char *start;

        if (!line)
                return -ENOMEM;
        for (size_t n; (n = next_word(&words, &start)) > 0;)
                if (append_word(&line, start, n) < 0) {
                        free(line);
                        return -ENOMEM;
                }
        *ret = line;
        return 0;
}

/* The words of the first "linux" command of grub.cfg, which is the entry that is booted by default: the
 * kernel, and what it gets. "" where there is none. */
static int generated_line(const char *root, const char *path, char **ret) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_text(root, path, GRUB_CONFIG_MAX, &text);

        if (r < 0 && r != -ENOENT)
                return r;
        for (char *line = text; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *words;

                line += strspn(line, " \t");
                words = startswith(line, "linuxefi") ?: startswith(line, "linux");
                if (!words || !strchr(" \t", *words))
                        continue;
                line[strcspn(line, "\n")] = 0;
                return normalize(words, ret);
        }
        return normalize("", ret);
}

static bool is_our_kind(const char *word, size_t length) {
        static const char *const keys[] = {
                "default_hugepagesz",
                "hugepagesz",
                "hugepages",
                "hugetlb_cma",
                "hugetlb_cma_only",
                "hugetlb_free_vmemmap",
                "thp_anon",
                "thp_shmem",
                "transparent_hugepage",
                "transparent_hugepage_shmem",
                "transparent_hugepage_tmpfs",
        };
        const char *equals = memchr(word, '=', length);

        for (size_t i = 0; equals && i < ELEMENTSOF(keys); i++)
                if (strlen(keys[i]) == (size_t) (equals - word) && startswith(word, keys[i]))
                        return true;
        return false;
}

/* A configuration that has GRUB_CMDLINE_LINUX_DEFAULT in GRUB_CMDLINE_LINUX too has all twice. */
static void take_once(char *words) {
        size_t half = strlen(words) / 2;

        if (words[half] == ' ' && strncmp(words, words + half + 1, half) == 0 &&
            strlen(words + half + 1) == half)
                words[half] = 0;
}

/* What our file has added to the entries: nothing else that is configured has. */
static int added(const char *line, const char *others, char **ret) {
        _cleanup_free_ char *left = strdup(others), *ours = strdup("");
        const char *start;

        if (!left || !ours)
                return -ENOMEM;
        for (size_t n; (n = next_word(&line, &start)) > 0;) {
                const char *p = left, *other;
                bool theirs = false;

                if (!is_our_kind(start, n))
                        continue;
                for (size_t m; !theirs && (m = next_word(&p, &other)) > 0;)
                        if (m == n && strncmp(other, start, n) == 0) {
                                memset(left + (other - left), ' ', m);
                                theirs = true;
                        }
                if (!theirs && append_word(&ours, start, n) < 0)
                        return -ENOMEM;
        }
        take_once(ours);
        *ret = TAKE_PTR(ours);
        return 0;
}

/* What our file says should hugepagesctl say nothing; below a root that is what is known. */
static int cached(const LoaderContext *c, char **ret) {
        _cleanup_free_ char *text = NULL;
        const char *v;
        int r = root_read_text(c->root, GRUB_OUR_PATH, GRUB_CONFIG_MAX, &text);

        if (r < 0 && r != -ENOENT && r != -ENOTDIR)
                return loader_fail(c, r, GRUB_OUR_PATH, "cannot be read");
        v = text && startswith(text, GRUB_OUR_FIRST_LINE) ? strstr(text, "hugepages_arguments='") : NULL;
        v = v ? strchr(v, '\'') + 1 : "";
        *ret = strndup(v, strcspn(v, "'"));
        return *ret ? 0 : -ENOMEM;
}

/* As far as they are the kernel's. */
static int kernel_words(const char *words, char **ret) {
        int r = normalize(words, ret);

        if (r >= 0)
                cut_init(*ret);
        return r;
}

/* What is before ours and what is behind them, in one line, *ret_before bytes of which are the former. */
static int join(const GrubWords *w, char **ret, size_t *ret_before) {
        _cleanup_free_ char *front = NULL, *before = NULL, *behind = NULL;
        char *line = NULL;
        int r;

        if (asprintf(&front, "%s %s", w->linux_words, w->before) < 0) {
                front = NULL;
                return -ENOMEM;
        }
        r = kernel_words(front, &before);
        if (r >= 0)
                r = kernel_words(has_word(front, "--", 2) ? "" : w->behind, &behind);
        if (r >= 0 && asprintf(&line, "%s%s%s", before, *before && *behind ? " " : "", behind) < 0)
                r = -ENOMEM;
        if (r < 0)
                return r;
        *ret = line;
        *ret_before = strlen(before);
        return 0;
}

/* Ours on the line of an entry: not what is behind them, nor, before them, what is others'. */
static int ours_of_entry(const char *entry, const LoaderArguments *a, char **ret) {
        size_t before = strlen(a->others) - a->behind;
        _cleanup_free_ char *line = NULL, *front = strndup(a->others, before);
        const char *behind = a->others + before, *end;
        int r = front ? kernel_words(entry, &line) : -ENOMEM;

        if (r < 0)
                return r;
        end = *behind == ' ' ? endswith(line, behind) : NULL;
        if (end)
                line[end - line] = 0;
        return added(line, end ? front : a->others, ret);
}

/* GRUB tells the kernel its name as well, in BOOT_IMAGE=. */
static size_t bytes_without(const char *entry, const char *ours) {
        size_t n = *entry ? strlen("BOOT_IMAGE=") + strlen(entry) : 0;

        return *ours ? n - strlen(ours) - 1 : n;
}

static int read_configured(const LoaderContext *c, bool with_directory, LoaderArguments *a) {
        GrubWords w = {};
        size_t before = 0;
        int r = grub_configured(c, with_directory, &w);

        if (r < 0)
                return loader_fail(c, r, GRUB_DEFAULTS, "cannot be read");
        r = join(&w, &a->others, &before);
        grub_words_done(&w);
        if (r < 0)
                return r;
        a->behind = strlen(a->others) - before;
        a->others_path = strdup(GRUB_DEFAULTS);
        return a->others_path ? 0 : -ENOMEM;
}

static int read_entry(const LoaderContext *c, LoaderArguments *a) {
        _cleanup_free_ char *entry = NULL, *ours = NULL;
        int r = generated_line(c->root, GRUB_CFG, &entry);

        if (r < 0)
                return loader_fail(c, r, GRUB_CFG, "cannot be read");
        r = ours_of_entry(entry, a, &ours);
        if (r < 0)
                return r;
        a->other_bytes = MAX(bytes_without(entry, ours), strlen(a->others));
        if (!loader_may_run(c))
                return cached(c, &a->ours);
        a->ours = TAKE_PTR(ours);
        return 0;
}

static int grub_read(const LoaderContext *c, LoaderArguments *ret) {
        LoaderArguments a = {};
        int r = read_configured(c, true, &a);

        if (r >= 0)
                r = read_entry(c, &a);
        if (r < 0)
                loader_arguments_done(&a);
        *ret = a;
        return r;
}

static int format_snippet(const LoaderContext *c, const char *arguments, char **ret) {
        const char *directory = loader_makes_directory(c, GRUB_OUR_PATH) ? DIRECTORY_LINE : "";

        /* What would end the single quotes, or what GRUB reads as more than a word. */
        if (strpbrk(arguments, "'\"\\$;&|<>{}\n"))
                return -EINVAL;
        return asprintf(ret, snippet, directory, arguments) < 0 ? -ENOMEM : 0;
}

static const char *const update_paths[] = { "/usr/sbin/update-grub", NULL };

static int regenerate(const LoaderContext *c) {
        const char *update = loader_tool(c, update_paths), *mkconfig = loader_tool(c, mkconfig_paths);

        if (!loader_may_run(c))
                return 0;
        if (update)
                return loader_run(c, (const char *const[]){ update, NULL }, NULL);
        if (mkconfig)
                return loader_run(c, (const char *const[]){ mkconfig, "-o", GRUB_CFG, NULL }, NULL);
        return loader_fail(c, -ENOENT, "grub-mkconfig", "cannot be run");
}

/* Whether our file is as it should be, and what GRUB will boot too. */
static int is_so(const LoaderContext *c, const char *file, const char *arguments) {
        _cleanup_free_ char *text = NULL;
        LoaderArguments now = {};
        bool so;
        int r = root_read_text(c->root, GRUB_OUR_PATH, GRUB_CONFIG_MAX, &text);

        if (r < 0 && r != -ENOENT && r != -ENOTDIR)
                return loader_fail(c, r, GRUB_OUR_PATH, "cannot be read");
        r = grub_read(c, &now);
        if (r < 0)
                return r;
        so = streq_ptr(text, file) && streq(now.ours, arguments);
        loader_arguments_done(&now);
        return so;
}

/* What was done is believed only when it is read back: other files may take it away. */
static int verify(const LoaderContext *c, const char *file, const char *arguments) {
        _cleanup_free_ char *entry = NULL, *taker = NULL, *taker_file = NULL;
        int r = is_so(c, file, arguments);

        if (r != 0)
                return r < 0 ? r : 0;
        if (generated_line(c->root, GRUB_CFG, &entry) >= 0 && !*entry) {
                diag_warning(c->diagnostics, (Source){ .file = GRUB_CFG },
                             "has no kernel to boot yet: the arguments come with the first one");
                return 0;
        }
        taker = grub_find_taker(c, &taker_file);
        if (taker)
                diag_error(c->diagnostics, (Source){ .file = taker_file }, "%s", taker);
        else
                diag_error(c->diagnostics, (Source){ .file = GRUB_CFG },
                           "has not got the arguments: what else is there that sets "
                           "GRUB_CMDLINE_LINUX_DEFAULT?");
        return -EIO;
}

/* new is NULL to take our file away; arguments: what the entries have then. */
static int change(const LoaderContext *c, const char *new, const char *arguments) {
        Snapshot s = { .root = c->root };
        int r = loader_check_ours(c, GRUB_OUR_PATH, GRUB_OUR_FIRST_LINE);

        if (r >= 0)
                r = snapshot_add(&s, GRUB_OUR_PATH);
        if (r >= 0)
                r = snapshot_add(&s, GRUB_CFG);
        if (r >= 0) {
                r = new ? file_replace(c->root, GRUB_OUR_PATH, new, strlen(new))
                        : loader_remove_ours(c, GRUB_OUR_PATH);
                if (r < 0)
                        (void) loader_fail(c, r, GRUB_OUR_PATH, "cannot be changed");
                else
                        r = regenerate(c);
                if (r >= 0 && new)
                        r = verify(c, new, arguments);
                if (r < 0)
                        snapshot_restore(&s, c->diagnostics);
        }
        snapshot_done(&s);
        return r < 0 ? r : 1;
}

static int grub_install(const LoaderContext *c, const char *arguments) {
        _cleanup_close_ int lock = loader_lock(c);
        _cleanup_free_ char *new = NULL;
        int r = lock < 0 ? lock : format_snippet(c, arguments, &new);

        if (r < 0)
                return r;
        r = is_so(c, new, arguments);
        if (r != 0)
                return r < 0 ? r : 0;
        return change(c, new, arguments);
}

static int grub_remove(const LoaderContext *c) {
        _cleanup_close_ int lock = loader_lock(c);
        int r = lock < 0 ? lock : is_so(c, NULL, "");

        return r < 0 ? r : r > 0 ? 0 : change(c, NULL, "");
}

/* GRUB without the directory: /etc/default/grub is the administrator's, and he changes it himself. */

static bool by_hand_detect(const LoaderContext *c) {
        return root_exists(c->root, GRUB_DEFAULTS) &&
               (loader_tool(c, mkconfig_paths) || loader_tool(c, mkconfig2_paths));
}

static bool is_grub2(const LoaderContext *c) {
        return !loader_tool(c, mkconfig_paths);
}

/* What the next boot gets: what is configured as soon as grub.cfg was made from it. */
static int by_hand_read(const LoaderContext *c, LoaderArguments *ret) {
        const char *path = is_grub2(c) ? GRUB2_CFG : GRUB_CFG, *arguments;
        LoaderArguments a = { .ours = strdup("") };
        _cleanup_free_ char *entry = NULL;
        int r = a.ours ? read_configured(c, false, &a) : -ENOMEM;

        if (r >= 0)
                r = generated_line(c->root, path, &entry);
        if (r >= 0 && *entry) {
                arguments = entry + strcspn(entry, " ");
                free(a.others);
                a.others = NULL;
                r = kernel_words(arguments, &a.others);
        }
        a.behind = 0;
        if (r >= 0)
                a.other_bytes = MAX(bytes_without(entry, ""), strlen(a.others));
        else
                loader_arguments_done(&a);
        *ret = a;
        return r;
}

static char *by_hand_advice(const LoaderContext *c, const char *arguments) {
        char *text;
        int r = asprintf(&text,
                         "GRUB reads " GRUB_DEFAULTS " alone here: add the line "
                         "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT %s\" at the end of that "
                         "file, and run %s",
                         arguments,
                         loader_tool(c, update_paths) ? "update-grub"
                         : is_grub2(c)                ? "grub2-mkconfig -o " GRUB2_CFG
                                                      : "grub-mkconfig -o " GRUB_CFG);

        return r < 0 ? NULL : text;
}

const Loader loader_grub_by_hand = {
        .name = "GRUB",
        .sought = "grub-mkconfig or grub2-mkconfig, with " GRUB_DEFAULTS,
        .where = GRUB_DEFAULTS,
        .detect = by_hand_detect,
        .read = by_hand_read,
        .by_hand = by_hand_advice,
};

const Loader loader_grub = {
        .name = "GRUB",
        .sought = "a grub-mkconfig that reads " GRUB_DEFAULTS_DIR,
        .where = GRUB_OUR_PATH,
        .tool = "update-grub",
        .detect = grub_detect,
        .read = grub_read,
        .install = grub_install,
        .remove = grub_remove,
};
