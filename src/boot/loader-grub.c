/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GRUB as Debian and its relatives have it: grub-mkconfig reads /etc/default/grub.d/, where a file of ours
 * asks hugepagesctl each time. Through GRUB_CMDLINE_LINUX_DEFAULT, which the recovery entries do not get. */

#include "basic/fs.h"
#include "boot/loader-internal.h"

#define OUR_FILE                                                                                            \
        "zz-hugepages-setup.cfg" /* behind files that set the variable anew, such as cloud images' */
#define DEFAULTS_DIR "/etc/default/grub.d"
#define OUR_PATH DEFAULTS_DIR "/" OUR_FILE
#define GRUB_CFG "/boot/grub/grub.cfg"
#define CONFIG_MAX ((size_t) 4 * 1024 * 1024)

/* Sourced by a shell under "set -e": commands that may fail are conditions. Ours come first, as the kernel
 * skips what is behind a "--". */
static const char snippet[] =
        "# Huge pages on the kernel command line, see hugepagesctl(8).\n"
        "# \"hugepagesctl cmdline --remove\" takes this file away.\n"
        "#\n"
        "# grub-mkconfig reads this. What hugepagesctl says then counts; should it\n"
        "# fail, what it said when this file was written. Once hugepagesctl is no\n"
        "# longer installed, nothing is added.\n"
        "if command -v hugepagesctl >/dev/null 2>&1; then\n"
        "        hugepages_arguments='%s'\n"
        "        if hugepages_answer=$(hugepagesctl cmdline 2>/dev/null); then\n"
        "                hugepages_arguments=$hugepages_answer\n"
        "        fi\n"
        "        if [ -n \"$hugepages_arguments\" ]; then\n"
        "                GRUB_CMDLINE_LINUX_DEFAULT=\"$hugepages_arguments $GRUB_CMDLINE_LINUX_DEFAULT\"\n"
        "        fi\n"
        "        unset hugepages_arguments hugepages_answer\n"
        "fi\n";

static bool grub_detect(const LoaderContext *c) {
        static const char *const paths[] = { "/usr/sbin/grub-mkconfig", "/usr/bin/grub-mkconfig", NULL };
        const char *path = loader_tool(c, paths);
        _cleanup_free_ char *script = NULL;

        if (!path || booted_by_systemd_boot(c->root))
                return false;
        /* The directory is a distribution's addition. */
        return root_read_file(c->root, path, CONFIG_MAX, &script, NULL) >= 0 &&
               strstr(script, "/default/grub.d/");
}

/* The value of $NAME or ${NAME…} where it is one of ours; *p moves behind it. */
static const char *expand(const char **p, const char *linux_words, const char *default_words) {
        bool braces = (*p)[1] == '{';
        const char *name = *p + 1 + braces;
        size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        const char *value;

        if (n == strlen("GRUB_CMDLINE_LINUX") && startswith(name, "GRUB_CMDLINE_LINUX"))
                value = linux_words;
        else if (n == strlen("GRUB_CMDLINE_LINUX_DEFAULT") && startswith(name, "GRUB_CMDLINE_LINUX_DEFAULT"))
                value = default_words;
        else
                return NULL;
        *p = name + n;
        if (braces) {
                *p += strcspn(*p, "}\n");
                *p += **p == '}';
        }
        return value;
}

/* Reads a word of shell as far as an assignment needs it. */
static int shell_value(const char **p, const char *linux_words, const char *default_words, char **ret) {
        _cleanup_fclose_ FILE *f = NULL;
        size_t size;
        char quote = 0;

        f = open_memstream(ret, &size);
        if (!f)
                return -ENOMEM;
        for (; **p; (*p)++) {
                const char *value, *start = *p;

                if (quote ? **p == quote : **p == '"' || **p == '\'')
                        quote = quote ? 0 : **p;
                else if (!quote && strchr(" \t\n;&|", **p))
                        break;
                else if (quote != '\'' && **p == '$' && (value = expand(p, linux_words, default_words))) {
                        fprintf(f, "%s ", value); /* the blank stands for one in ${NAME:+$NAME } */
                        (*p)--;
                } else if (quote != '\'' && *start == '\\' && start[1] &&
                           (!quote || strchr("$`\"\\\n", start[1]))) {
                        (*p)++;
                        if (**p != '\n')
                                fputc(**p, f);
                } else
                        fputc(**p, f);
        }
        return 0;
}

static int read_assignments(const char *text, char **linux_words, char **default_words) {
        for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
                const char *v;
                char **to, *value;

                p += strspn(p, " \t");
                v = startswith(p, "export ");
                if (v)
                        p = v;
                if ((v = startswith(p, "GRUB_CMDLINE_LINUX=")))
                        to = linux_words;
                else if ((v = startswith(p, "GRUB_CMDLINE_LINUX_DEFAULT=")))
                        to = default_words;
                else
                        continue;
                p = v;
                if (shell_value(&p, *linux_words, *default_words, &value) < 0)
                        return -ENOMEM;
                free(*to);
                *to = value;
        }
        return 0;
}

static int is_configuration(const struct dirent *de) {
        return *de->d_name != '.' && endswith(de->d_name, ".cfg") && !streq(de->d_name, OUR_FILE);
}

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The names in the order in which a shell expands them. */
static int list_configuration(const char *root, char ***ret, size_t *ret_n) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        char **names = NULL;
        size_t n = 0;

        if (root_opendir(root, DEFAULTS_DIR, &d) >= 0)
                while ((de = readdir(d)))
                        if (is_configuration(de) && GROW_ARRAY(names, n) >= 0 &&
                            (names[n] = strdup(de->d_name)))
                                n++;
        if (n > 0)
                qsort(names, n, sizeof(*names), by_name);
        *ret = names;
        *ret_n = n;
        return 0;
}

static int read_configuration(const char *root, const char *path, char **linux_words, char **default_words) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_file(root, path, CONFIG_MAX, &text, NULL);

        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR ? 0 : r;
        return read_assignments(text, linux_words, default_words);
}

int grub_configured(const char *root, bool only_linux, char **ret) {
        _cleanup_free_ char *linux_words = strdup(""), *default_words = strdup("");
        char **names;
        size_t n;
        int r;

        if (!linux_words || !default_words)
                return -ENOMEM;
        r = read_configuration(root, GRUB_DEFAULTS, &linux_words, &default_words);
        (void) list_configuration(root, &names, &n);
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = NULL;

                if (r >= 0)
                        r = asprintf(&path, DEFAULTS_DIR "/%s", names[i]) < 0
                                    ? -ENOMEM
                                    : read_configuration(root, path, &linux_words, &default_words);
                free(names[i]);
        }
        free(names);
        if (r < 0)
                return r;
        return asprintf(ret, "%s%s%s", linux_words, only_linux ? "" : " ", only_linux ? "" : default_words) <
                               0
                       ? -ENOMEM
                       : 0;
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

/* The words of the first "linux" command of grub.cfg, which is the entry that is booted by default. */
static int generated_line(const char *root, char **ret) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_file(root, GRUB_CFG, CONFIG_MAX, &text, NULL);

        if (r < 0 && r != -ENOENT)
                return r;
        for (char *line = text; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
                line += strspn(line, " \t");
                if (!startswith(line, "linux\t") && !startswith(line, "linux ") &&
                    !startswith(line, "linuxefi"))
                        continue;
                line[strcspn(line, "\n")] = 0;
                cut_init(line);
                return (*ret = strdup(line)) ? 0 : -ENOMEM;
        }
        *ret = strdup("");
        return *ret ? 0 : -ENOMEM;
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
        *ret = TAKE_PTR(ours);
        return 0;
}

/* What our file says should hugepagesctl say nothing; below a root that is what is known. */
static int cached(const char *root, char **ret) {
        _cleanup_free_ char *text = NULL;
        const char *v;
        int r = root_read_file(root, OUR_PATH, CONFIG_MAX, &text, NULL);

        if (r < 0 && r != -ENOENT && r != -ENOTDIR)
                return r;
        v = text ? strstr(text, "hugepages_arguments='") : NULL;
        v = v ? strchr(v, '\'') + 1 : "";
        *ret = strndup(v, strcspn(v, "'"));
        return *ret ? 0 : -ENOMEM;
}

/* Ours are before those of GRUB_CMDLINE_LINUX_DEFAULT, which come last. */
static int words_behind(const char *root, const char *others, size_t *ret) {
        _cleanup_free_ char *configured = NULL, *words = NULL;
        const char *behind;
        int r = grub_configured(root, true, &configured);

        if (r >= 0)
                r = normalize(configured, &words);
        if (r < 0)
                return r;
        behind = startswith(others, words);
        *ret = behind ? strlen(behind) : 0;
        return 0;
}

static int grub_read(const LoaderContext *c, LoaderArguments *ret) {
        _cleanup_free_ char *configured = NULL, *line = NULL;
        LoaderArguments a = {};
        int r = grub_configured(c->root, false, &configured);

        if (r < 0)
                return loader_fail(c, r, GRUB_DEFAULTS, "cannot be read");
        cut_init(configured);
        r = normalize(configured, &a.others);
        if (r >= 0)
                r = words_behind(c->root, a.others, &a.behind);
        if (r >= 0 && !loader_may_run(c))
                r = cached(c->root, &a.ours);
        else if (r >= 0) {
                r = generated_line(c->root, &line);
                if (r < 0)
                        r = loader_fail(c, r, GRUB_CFG, "cannot be read");
                else
                        r = added(line, a.others, &a.ours);
        }
        a.others_path = strdup(GRUB_DEFAULTS);
        if (r < 0)
                loader_arguments_done(&a);
        *ret = a;
        return r;
}

static int format_snippet(const char *arguments, char **ret) {
        /* What would end the single quotes, or what GRUB reads as more than a word. */
        if (strpbrk(arguments, "'\"\\$;&|<>{}\n"))
                return -EINVAL;
        return asprintf(ret, snippet, arguments) < 0 ? -ENOMEM : 0;
}

static int regenerate(const LoaderContext *c) {
        static const char *const update_paths[] = { "/usr/sbin/update-grub", NULL },
                                 *const mkconfig_paths[] = { "/usr/sbin/grub-mkconfig",
                                                             "/usr/bin/grub-mkconfig", NULL };
        const char *update = loader_tool(c, update_paths), *mkconfig = loader_tool(c, mkconfig_paths);

        if (!loader_may_run(c))
                return 0;
        if (update)
                return loader_run(c, (const char *const[]){ update, NULL }, NULL);
        if (mkconfig)
                return loader_run(c, (const char *const[]){ mkconfig, "-o", GRUB_CFG, NULL }, NULL);
        return loader_fail(c, -ENOENT, "grub-mkconfig", "cannot be run");
}

/* new is NULL to take our file away. */
static int change(const LoaderContext *c, const char *new) {
        Snapshot s = { .root = c->root };
        int r = snapshot_add(&s, OUR_PATH);

        if (r >= 0)
                r = snapshot_add(&s, GRUB_CFG);
        if (r >= 0) {
                r = new ? file_replace(c->root, OUR_PATH, new, strlen(new)) : file_remove(c->root, OUR_PATH);
                if (r < 0)
                        (void) loader_fail(c, r, OUR_PATH, "cannot be changed");
                else
                        r = regenerate(c);
                if (r < 0)
                        snapshot_restore(&s, c->diagnostics);
        }
        snapshot_done(&s);
        return r < 0 ? r : 1;
}

/* Whether our file is as it should be, and what GRUB will boot too. */
static int is_so(const LoaderContext *c, const char *file, const char *arguments) {
        _cleanup_free_ char *text = NULL;
        LoaderArguments now = {};
        bool so;
        int r = root_read_file(c->root, OUR_PATH, CONFIG_MAX, &text, NULL);

        if (r < 0 && r != -ENOENT && r != -ENOTDIR)
                return loader_fail(c, r, OUR_PATH, "cannot be read");
        r = grub_read(c, &now);
        if (r < 0)
                return r;
        so = streq_ptr(text, file) && streq(now.ours, arguments);
        loader_arguments_done(&now);
        return so;
}

static int grub_install(const LoaderContext *c, const char *arguments) {
        _cleanup_close_ int lock = loader_lock(c);
        _cleanup_free_ char *new = NULL;
        int r = lock < 0 ? lock : format_snippet(arguments, &new);

        if (r < 0)
                return r;
        r = is_so(c, new, arguments);
        if (r != 0)
                return r < 0 ? r : 0;
        r = change(c, new);
        if (r > 0 && is_so(c, new, arguments) == 0)
                diag_warning(c->diagnostics, (Source){ .file = GRUB_CFG },
                             "has not got the arguments: what else is there that sets "
                             "GRUB_CMDLINE_LINUX_DEFAULT?");
        return r;
}

static int grub_remove(const LoaderContext *c) {
        _cleanup_close_ int lock = loader_lock(c);
        int r = lock < 0 ? lock : is_so(c, NULL, "");

        return r < 0 ? r : r > 0 ? 0 : change(c, NULL);
}

const Loader loader_grub = {
        .name = "GRUB",
        .where = OUR_PATH,
        .tool = "update-grub",
        .detect = grub_detect,
        .read = grub_read,
        .install = grub_install,
        .remove = grub_remove,
};
