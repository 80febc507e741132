/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GRUB's own configuration: files of shell that grub-mkconfig sources. */

#include "boot/grub-config.h"
#include "basic/fs.h"
#include "boot/loader-internal.h"
#include "boot/shell.h"

#define LIBRARY "/usr/share/grub/grub-mkconfig_lib"
#define VALUES_MAX ((size_t) 64 * 1024)
#define SHELL_MSEC 5000

/* Stands where our file would put our arguments. */
#define MARK "hugepages_setup.arguments"
#define MARK_FILE "-"

/* What grub-mkconfig sets before it sources the files, as far as they could use it without a device being
 * looked at; then the files, and what came of it. All that is needed to the end are the positional
 * parameters, as the files may set any variable. */
static const char script[] =
        "set -e\n"
        "prefix=/usr exec_prefix=/usr datarootdir=/usr/share datadir=/usr/share\n"
        "sbindir=/usr/sbin bindir=/usr/bin sysconfdir=/etc host_os=linux-gnu\n"
        "PACKAGE_NAME=GRUB self=grub-mkconfig grub_cfg='' grub_mkconfig_dir=/etc/grub.d\n"
        "pkgdatadir=/usr/share/grub TEXTDOMAIN=grub TEXTDOMAINDIR=/usr/share/locale\n"
        "grub_probe=/usr/sbin/grub-probe grub_file=/usr/bin/grub-file\n"
        "grub_editenv=/usr/bin/grub-editenv grub_script_check=/usr/bin/grub-script-check\n"
        "GRUB_DISABLE_OS_PROBER=true\n"
        "export pkgdatadir TEXTDOMAIN TEXTDOMAINDIR\n"
        "for x do\n"
        "        case $x in\n"
        "        " MARK_FILE ")\n"
        "                if (" GRUB_OUR_ASSIGNMENTS ") 2>/dev/null; then\n"
        "                        GRUB_CMDLINE_LINUX_DEFAULT=\"" MARK " $GRUB_CMDLINE_LINUX_DEFAULT\"\n"
        "                fi ;;\n"
        "        *) if [ -e \"$x\" ]; then . \"$x\" 3>&-; fi ;;\n"
        "        esac\n"
        "done\n"
        "printf '%s\\000%s\\000' \"$GRUB_CMDLINE_LINUX\" \"$GRUB_CMDLINE_LINUX_DEFAULT\" >&3\n";

/* Names of files, NULL at the end. */
typedef struct Files {
        char **paths;
        size_t n;
} Files;

static void files_done(Files *f) {
        for (size_t i = 0; i < f->n; i++)
                free(f->paths[i]);
        free(f->paths);
}

static int files_add(Files *f, const char *directory, const char *name) {
        if (GROW_ARRAY(f->paths, f->n) < 0 || asprintf(f->paths + f->n, "%s%s", directory, name) < 0)
                return -ENOMEM;
        f->n++;
        return 0;
}

void grub_words_done(GrubWords *w) {
        free(w->linux_words);
        free(w->before);
        free(w->behind);
        *w = (GrubWords){};
}

/* What is read without a shell. */

typedef struct Reader {
        const LoaderContext *c;
        const char *path;
        unsigned line;
        char *linux_words, *default_words;
} Reader;

/* Once, as it is read again after a change. */
static void note(const LoaderContext *c, Source source, const char *what) {
        for (size_t i = 0; i < c->diagnostics->n; i++) {
                const Diagnostic *d = c->diagnostics->items + i;

                if (d->line == source.line && streq_ptr(d->file, source.file) && streq(d->message, what))
                        return;
        }
        diag_warning(c->diagnostics, source, "%s", what);
}

static void note_not_followed(const Reader *r) {
        note(r->c, (Source){ r->path, r->line },
             "was only read, not run as grub-mkconfig does: kernel arguments that this line makes are not "
             "known");
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

/* Reads a word of shell as far as an assignment needs it. *ret_known: nothing was met that is not. */
static int shell_value(const char **p, const Reader *r, char **ret, bool *ret_known) {
        _cleanup_fclose_ FILE *f = NULL;
        size_t size;
        char quote = 0;

        *ret_known = true;
        f = open_memstream(ret, &size);
        if (!f)
                return -ENOMEM;
        for (; **p; (*p)++) {
                const char *value, *start = *p;

                if (quote ? **p == quote : **p == '"' || **p == '\'')
                        quote = quote ? 0 : **p;
                else if (!quote && strchr(" \t\n;&|", **p))
                        break;
                else if (quote != '\'' && **p == '$' &&
                         (value = expand(p, r->linux_words, r->default_words))) {
                        fprintf(f, "%s ", value); /* the blank stands for one in ${NAME:+$NAME } */
                        (*p)--;
                } else if (quote != '\'' && *start == '\\' && start[1] &&
                           (!quote || strchr("$`\"\\\n", start[1]))) {
                        (*p)++;
                        if (**p != '\n')
                                fputc(**p, f);
                } else {
                        if (quote != '\'' && strchr("$`", **p))
                                *ret_known = false;
                        fputc(**p, f);
                }
        }
        return 0;
}

/* What may set the variables in another way than an assignment at the start of a line. */
static bool is_beyond_reading(const char *line) {
        static const char *const words[] = { ".",     "source", "eval", "if",    "case",     "for",
                                             "while", "until",  "set",  "unset", "readonly", "[" };
        size_t n = strcspn(line, " \t\n");

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strlen(words[i]) == n && startswith(line, words[i]))
                        return true;
        return false;
}

/* The variable that the line assigns to, with *p behind the operator; NULL for none of ours. */
static char **assigned(Reader *r, const char **p, bool *ret_append) {
        static const char linux_name[] = "GRUB_CMDLINE_LINUX", default_name[] = "GRUB_CMDLINE_LINUX_DEFAULT";
        size_t n = strspn(*p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        const char *name = *p, *operator= name + n;

        *ret_append = startswith(operator, "+=");
        if (!*ret_append && *operator!= '=')
                return NULL;
        *p = operator+ 1 + * ret_append;
        if (n == strlen(linux_name) && startswith(name, linux_name))
                return &r->linux_words;
        return n == strlen(default_name) && startswith(name, default_name) ? &r->default_words : NULL;
}

static int read_assignment(Reader *r, const char **p) {
        const char *v = startswith(*p, "export ") ?: *p;
        bool append, known;
        char **to = assigned(r, &v, &append), *value;

        if (!to)
                return 0;
        *p = v;
        if (shell_value(p, r, &value, &known) < 0)
                return -ENOMEM;
        if (!known)
                note_not_followed(r);
        if (append) {
                _cleanup_free_ char *added = value;

                if (asprintf(&value, "%s%s", *to, added) < 0)
                        return -ENOMEM;
        }
        free(*to);
        *to = value;
        return 0;
}

static unsigned count_lines(const char *from, const char *to) {
        unsigned n = 0;

        for (; from < to; from++)
                n += *from == '\n';
        return n;
}

static int read_file(Reader *r, const char *path) {
        _cleanup_free_ char *text = NULL;
        const char *counted;
        int q = root_read_text(r->c->root, path, GRUB_CONFIG_MAX, &text);

        if (q == -EILSEQ)
                note(r->c, (Source){ .file = path },
                     "was not read, as there is a NUL byte in it: what it says is not known");
        if (q < 0)
                return q == -ENOENT || q == -ENOTDIR || q == -EILSEQ ? 0 : q;
        r->path = path;
        r->line = 1;
        counted = text;
        for (const char *p = text; *p && q >= 0; p += strcspn(p, "\n"), p += *p == '\n') {
                r->line += count_lines(counted, p);
                counted = p;
                p += strspn(p, " \t");
                if (is_beyond_reading(p))
                        note_not_followed(r);
                q = read_assignment(r, &p);
        }
        return q;
}

/* Takes default_words over. */
static int put_mark(char **default_words) {
        _cleanup_free_ char *words = *default_words;

        if (asprintf(default_words, MARK " %s", words) >= 0)
                return 0;
        *default_words = NULL;
        return -ENOMEM;
}

static int read_files(const LoaderContext *c, const Files *files, char **ret_linux, char **ret_default) {
        Reader r = { .c = c, .linux_words = strdup(""), .default_words = strdup("") };
        int q = r.linux_words && r.default_words ? 0 : -ENOMEM;

        for (size_t i = 0; i < files->n && q >= 0; i++)
                q = streq(files->paths[i], MARK_FILE) ? put_mark(&r.default_words)
                                                      : read_file(&r, files->paths[i]);
        if (q < 0) {
                free(r.linux_words);
                free(r.default_words);
                return q;
        }
        *ret_linux = r.linux_words;
        *ret_default = r.default_words;
        return 0;
}

/* What a shell says. */

static int run_shell(const LoaderContext *c, const Files *files, char **ret, size_t *ret_size) {
        Files arguments = {};
        const char *root = c->root ?: "";
        int r = files_add(&arguments, root, LIBRARY);

        for (size_t i = 0; i < files->n && r >= 0; i++)
                r = streq(files->paths[i], MARK_FILE) ? files_add(&arguments, "", MARK_FILE)
                                                      : files_add(&arguments, root, files->paths[i]);
        if (r >= 0)
                r = GROW_ARRAY(arguments.paths, arguments.n);
        if (r >= 0)
                r = shell_evaluate(script, (const char *const *) arguments.paths,
                                   c->shell_msec > 0 ? c->shell_msec : SHELL_MSEC, VALUES_MAX, ret,
                                   ret_size);
        files_done(&arguments);
        return r;
}

static int evaluate_files(const LoaderContext *c, const Files *files, char **ret_linux, char **ret_default) {
        _cleanup_free_ char *output = NULL, *linux_words = NULL, *default_words = NULL;
        size_t size, n;
        int r = run_shell(c, files, &output, &size);

        if (r < 0)
                return r;
        /* Two values, both to the end: a file may have ended the shell. */
        n = strlen(output) + 1;
        if (n >= size || n + strlen(output + n) + 1 != size)
                return -EIO;
        linux_words = strdup(output);
        default_words = strdup(output + n);
        if (!linux_words || !default_words)
                return -ENOMEM;
        *ret_linux = TAKE_PTR(linux_words);
        *ret_default = TAKE_PTR(default_words);
        return 0;
}

static void note_not_run(const LoaderContext *c, int r) {
        _cleanup_free_ char *what = NULL;
        const char *why = r == -ETIMEDOUT ? "it does not come to an end"
                          : r == -EIO     ? "it fails"
                          : r == -EFBIG   ? "it sets more than a kernel takes"
                          : r == -ENOENT  ? "there is no /bin/sh"
                          : r == -EDEADLK ? "it is what asks"
                          : r == -EPERM   ? "no file system can be kept from it"
                                          : strerror(-r);

        if (asprintf(&what,
                     "was only read, not run as grub-mkconfig does, since %s: kernel arguments that come "
                     "from commands, other files and variables are not known",
                     why) < 0)
                what = NULL;
        if (what)
                note(c, (Source){ .file = GRUB_DEFAULTS }, what);
}

/* Which files, in which order. */

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The names in the order in which a shell expands them, with our own whether it is there or not. */
static int list_names(const char *root, Files *ret) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r = files_add(ret, "", GRUB_OUR_FILE);

        if (r >= 0 && root_opendir(root, GRUB_DEFAULTS_DIR, &d) >= 0)
                while (r >= 0 && (de = readdir(d)))
                        if (*de->d_name != '.' && endswith(de->d_name, ".cfg") &&
                            !streq(de->d_name, GRUB_OUR_FILE))
                                r = files_add(ret, "", de->d_name);
        qsort(ret->paths, ret->n, sizeof(*ret->paths), by_name);
        return r;
}

/* Under our name, and not by us. */
static bool is_somebody_elses(const char *root) {
        _cleanup_free_ char *text = NULL;

        int r = root_read_text(root, GRUB_OUR_PATH, GRUB_CONFIG_MAX, &text);

        return r == -EILSEQ || (r >= 0 && !startswith(text, GRUB_OUR_FIRST_LINE));
}

static int list_directory(const char *root, Files *ret) {
        Files names = {};
        int r = list_names(root, &names);

        for (size_t i = 0; i < names.n && r >= 0; i++) {
                bool ours = streq(names.paths[i], GRUB_OUR_FILE);

                if (!ours || is_somebody_elses(root))
                        r = files_add(ret, GRUB_DEFAULTS_DIR "/", names.paths[i]);
                if (r >= 0 && ours)
                        r = files_add(ret, "", MARK_FILE);
        }
        files_done(&names);
        return r;
}

/* Where our mark stands in words; strlen(words) where it does not. */
static size_t find_mark(const char *words) {
        const char *p = words, *start;

        for (size_t n; (n = next_word(&p, &start)) > 0;)
                if (n == strlen(MARK) && startswith(start, MARK))
                        return (size_t) (start - words);
        return strlen(words);
}

static void cut_mark(char *words) {
        for (size_t at; words[at = find_mark(words)];)
                memmove(words + at, words + at + strlen(MARK), strlen(words + at + strlen(MARK)) + 1);
}

/* Takes linux_words over. */
static int split(char *linux_words, const char *default_words, GrubWords *ret) {
        size_t at = find_mark(default_words);
        bool lost = !default_words[at];
        GrubWords w = {
                .linux_words = linux_words,
                .before = strndup(default_words, lost ? 0 : at),
                .behind = strdup(lost ? default_words : default_words + at + strlen(MARK)),
        };

        if (!w.before || !w.behind) {
                grub_words_done(&w);
                return -ENOMEM;
        }
        cut_mark(w.linux_words);
        cut_mark(w.behind);
        *ret = w;
        return 0;
}

/* All files, with our place among them. */
static int list_files(const LoaderContext *c, bool with_directory, Files *ret) {
        int r = files_add(ret, "", GRUB_DEFAULTS);

        if (r < 0)
                return r;
        return with_directory ? list_directory(c->root, ret) : files_add(ret, "", MARK_FILE);
}

static int words_of_files(const LoaderContext *c, const Files *files, char **ret_linux, char **ret_default) {
        int r = -EAGAIN;

        if (loader_may_run(c)) {
                r = evaluate_files(c, files, ret_linux, ret_default);
                if (r < 0)
                        note_not_run(c, r);
        }
        return r < 0 ? read_files(c, files, ret_linux, ret_default) : 0;
}

int grub_configured(const LoaderContext *c, bool with_directory, GrubWords *ret) {
        _cleanup_free_ char *default_words = NULL;
        char *linux_words = NULL;
        Files files = {};
        int r = list_files(c, with_directory, &files);

        if (r >= 0)
                r = words_of_files(c, &files, &linux_words, &default_words);
        files_done(&files);
        return r < 0 ? r : split(linux_words, default_words, ret);
}

/* Whether what our file sets is still there after the first n files. */
static bool is_kept(const LoaderContext *c, const Files *files, size_t n) {
        _cleanup_free_ char *linux_words = NULL, *default_words = NULL;
        Files first = { .paths = files->paths, .n = n };

        if (words_of_files(c, &first, &linux_words, &default_words) < 0)
                return true;
        return linux_words[find_mark(linux_words)] || default_words[find_mark(default_words)];
}

/* Whether a "--" ends the kernel's words before ours. */
static bool are_for_init(const LoaderContext *c, const Files *files) {
        _cleanup_free_ char *linux_words = NULL, *default_words = NULL;

        if (words_of_files(c, files, &linux_words, &default_words) < 0)
                return false;
        if (has_word(linux_words, "--", 2))
                return true;
        default_words[find_mark(default_words)] = 0;
        return has_word(default_words, "--", 2);
}

static char *find_taker(const LoaderContext *c, const Files *files, char **ret_file) {
        bool seen = false;

        for (size_t i = 0; i < files->n; i++) {
                bool ours = streq(files->paths[i], MARK_FILE);

                seen |= ours;
                if (!seen || is_kept(c, files, i + 1))
                        continue;
                *ret_file = strdup(ours ? GRUB_OUR_PATH : files->paths[i]);
                return strdup(ours ? "GRUB_CMDLINE_LINUX_DEFAULT or another variable of it is readonly"
                                   : "sets GRUB_CMDLINE_LINUX_DEFAULT anew, which takes the arguments away");
        }
        if (!are_for_init(c, files))
                return NULL;
        *ret_file = strdup(GRUB_DEFAULTS);
        return strdup("the arguments would stand behind a \"--\", where they are for init");
}

char *grub_find_taker(const LoaderContext *c, char **ret_file) {
        Files files = {};
        char *taker = NULL;

        if (list_files(c, true, &files) >= 0)
                taker = find_taker(c, &files, ret_file);
        files_done(&files);
        return taker;
}
