/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our arguments among those of others. */

#include <fcntl.h>

#include "basic/fs.h"
#include "boot/edit.h"
#include "boot/snapshot.h"

#define INSTALLED_MAX ((size_t) 64 * 1024)
/* file_replace()'s */
#define INSTALLED_TEMPORARY INSTALLED_DIRECTORY "/.#cmdline.hugepages-setup.hugepages"
#define MADE_DIRECTORY "directory\n"
#define OWN_OPTIONS "options  "

typedef struct Span {
        const char *start;
        size_t length;
        bool ours;
} Span;

typedef struct Words {
        Span *spans;
        size_t n;
        size_t n_arguments;          /* those before a "--": the rest is for init, and the kernel skips it */
        size_t insert;               /* offset in the text where more words go */
        const char *prefix, *suffix; /* what must stand around them */
} Words;

size_t next_word(const char **p, const char **ret_start) {
        bool in_quotes = false;
        const char *s = *p + strspn(*p, " \t\r\n"), *end;

        /* As the kernel splits: blanks within double quotes do not count. A line's end always does: these
         * are files. */
        for (end = s; *end && *end != '\n' && (in_quotes || !strchr(" \t\r", *end)); end++)
                if (*end == '"')
                        in_quotes = !in_quotes;
        *ret_start = s;
        *p = end;
        return (size_t) (end - s);
}

int append_word(char **line, const char *word, size_t length) {
        size_t l = *line ? strlen(*line) : 0;
        char *p = realloc(*line, l + length + 2);

        if (!p)
                return -ENOMEM;
        *line = p;
        if (l > 0)
                p[l++] = ' ';
        memcpy(p + l, word, length);
        p[l + length] = 0;
        return 0;
}

void cut_init(char *line) {
        const char *p = line, *start;

        for (size_t l; (l = next_word(&p, &start)) > 0;)
                if (l == 2 && startswith(start, "--")) {
                        line[start - line] = 0;
                        strip(line);
                        return;
                }
}

bool has_word(const char *line, const char *word, size_t length) {
        const char *start;

        for (size_t l; (l = next_word(&line, &start)) > 0;)
                if (l == length && strncmp(start, word, length) == 0)
                        return true;
        return false;
}

/* What reads these files joins their lines: the quote would take what is on the next ones in, and ours with
 * it. */
static bool is_quote_open(const char *word, size_t length) {
        bool open = false;

        for (size_t i = 0; i < length; i++)
                open ^= word[i] == '"';
        return open;
}

static int add_words(Words *w, TextKind kind, const char *text, const char *from, const char *end) {
        while (from < end) {
                const char *start;
                size_t l = next_word(&from, &start);
                bool ended = w->n_arguments < w->n, ends = l == 2 && startswith(start, "--");

                if (l == 0 || start >= end)
                        break;
                if (GROW_ARRAY(w->spans, w->n) < 0)
                        return -ENOMEM;
                w->spans[w->n++] = (Span){ .start = start, .length = l };
                if (ended)
                        continue;
                if (is_quote_open(start, l))
                        return -EBADMSG;
                if (!ends) {
                        w->n_arguments++;
                        w->insert = (size_t) (start - text) + l;
                        w->prefix = " ";
                        w->suffix = "";
                } else if (w->n == 1 && kind == TEXT_CMDLINE) {
                        w->insert = (size_t) (start - text);
                        w->prefix = "";
                }
        }
        return 0;
}

/* The words of a line of an entry; key and value have blanks between them. */
static int add_options(Words *w, const char *text, const char *line, const char *end) {
        const char *value = startswith(line, "options");

        if (!value || !strchr(" \t\r\n", *value))
                return 0;
        if (w->n == w->n_arguments) {
                w->insert = (size_t) (value - text);
                w->prefix = " ";
                w->suffix = "";
        }
        return add_words(w, TEXT_ENTRY, text, value, end);
}

/* Where words go as long as none are there. */
static Words no_words(const char *text, TextKind kind) {
        const char *last = strrchr(text, '\n');
        Words w = { .insert = strlen(text), .prefix = " ", .suffix = "" };

        last = last ? last + 1 : text;
        if (kind == TEXT_ENTRY) {
                w.prefix = *last ? "\n" OWN_OPTIONS : OWN_OPTIONS;
                w.suffix = *last ? "" : "\n";
        } else if (last[strspn(last, " \t")] == '#')
                w.prefix = "\n";
        else if (!*last && *text)
                w.suffix = "\n"; /* a line of its own, which cut_own_line() takes away */
        return w;
}

static int find_words(const char *text, TextKind kind, Words *ret) {
        Words w = no_words(text, kind);
        int r = 0;

        for (const char *line = text, *end; *line && r >= 0; line = *end ? end + 1 : end) {
                end = line + strcspn(line, "\n");
                line += strspn(line, " \t");
                if (*line == '#')
                        continue;
                r = kind == TEXT_ENTRY ? add_options(&w, text, line, end)
                                       : add_words(&w, kind, text, line, end);
        }
        if (r < 0) {
                free(w.spans);
                return r;
        }
        *ret = w;
        return 0;
}

/* Looks from the end, as we append. */
static bool mark(Words *w, const Span *unit, size_t n_unit) {
        for (size_t i = w->n_arguments; i-- > 0;) {
                size_t k;

                if (w->n_arguments - i < n_unit)
                        continue;
                for (k = 0; k < n_unit; k++) {
                        const Span *s = w->spans + i + k;

                        if (s->ours || s->length != unit[k].length ||
                            strncmp(s->start, unit[k].start, s->length) != 0)
                                break;
                }
                if (k < n_unit)
                        continue;
                for (k = 0; k < n_unit; k++)
                        w->spans[i + k].ours = true;
                return true;
        }
        return false;
}

/* A count belongs to the size before it: the kernel reads them so. */
static bool is_pair(const Span *first, const Span *second) {
        return (startswith(first->start, "hugepagesz=") ||
                startswith(first->start, "default_hugepagesz=")) &&
               startswith(second->start, "hugepages=");
}

/* What an older line has in common with a newer one is looked for once. */
static bool in_newer(const Installed *in, size_t line, const Span *unit, size_t n_unit) {
        for (size_t i = 0; i < line; i++) {
                bool found;
                Words w;

                if (find_words(in->arguments[i], TEXT_CMDLINE, &w) < 0)
                        return true;
                found = mark(&w, unit, n_unit);
                free(w.spans);
                if (found)
                        return true;
        }
        return false;
}

static int mark_ours(Words *w, const Installed *in) {
        for (size_t line = 0; line < in->n; line++) {
                Words u;
                int r = find_words(in->arguments[line], TEXT_CMDLINE, &u);

                if (r < 0)
                        return r;
                for (size_t i = u.n; i > 0;) {
                        size_t n = i > 1 && is_pair(u.spans + i - 2, u.spans + i - 1) ? 2 : 1;

                        i -= n;
                        if (!in_newer(in, line, u.spans + i, n))
                                (void) mark(w, u.spans + i, n);
                }
                free(u.spans);
        }
        return 0;
}

static int find_ours(const char *text, TextKind kind, const Installed *i, Words *ret) {
        int r = find_words(text, kind, ret);

        return r < 0 ? r : mark_ours(ret, i);
}

static int join(const Words *w, bool ours, char **ret) {
        char *line = strdup("");

        if (!line)
                return -ENOMEM;
        for (size_t i = 0; i < w->n; i++)
                if (w->spans[i].ours == ours &&
                    append_word(&line, w->spans[i].start, w->spans[i].length) < 0) {
                        free(line);
                        return -ENOMEM;
                }
        *ret = line;
        return 0;
}

/* The words as well, to be freed by the caller also after an error. */
static int split(const char *text, TextKind kind, const Installed *i, Words *w, char **ret_ours,
                 char **ret_others) {
        _cleanup_free_ char *ours = NULL;
        int r = find_ours(text, kind, i, w);

        if (r < 0)
                return r;
        r = join(w, true, &ours);
        if (r >= 0)
                r = join(w, false, ret_others);
        if (r >= 0)
                *ret_ours = TAKE_PTR(ours);
        return r;
}

int edit_split(const char *text, TextKind kind, const Installed *i, char **ret_ours, char **ret_others) {
        Words w = {};
        int r = split(text, kind, i, &w, ret_ours, ret_others);

        free(w.spans);
        return r;
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

/* What is before end on its line. */
static bool only_blanks(const char *start, const char *end, bool otherwise) {
        for (; end > start; end--)
                if (!is_blank(end[-1]))
                        return end[-1] == '\n';
        return otherwise;
}

/* A word goes with the one blank that was put before it, or, at the start of a line, with the one behind.
 * at: what is before is gone already; first: and nothing but blanks is left of it on the line. */
static void widen(const char *text, size_t at, bool first, const Span *s, size_t *ret_from, size_t *ret_to) {
        size_t from = (size_t) (s->start - text), to = from + s->length;

        first = only_blanks(text + at, s->start, first);
        if (!first && from > at && is_blank(text[from - 1]))
                from--;
        else if (is_blank(text[to]))
                to++;
        *ret_from = from;
        *ret_to = to;
}

/* text without our words; the place for new ones moves along. */
static char *cut_ours(const char *text, Words *w) {
        char *result = malloc(strlen(text) + 1), *out = result;
        size_t at = 0, insert = w->insert;

        if (!result)
                return NULL;
        for (size_t i = 0; i < w->n; i++) {
                size_t from, to;

                if (!w->spans[i].ours)
                        continue;
                widen(text, at, only_blanks(result, out, true), w->spans + i, &from, &to);
                out = mempcpy(out, text + at, from - at);
                if (w->insert >= from)
                        insert -= MIN(w->insert, to) - from;
                at = to;
        }
        strcpy(out, text + at); /* fits: nothing was added */
        w->insert = insert;
        return result;
}

/* text without a line that is all ours, as insert() makes it where there are no words; NULL where there is
 * no such line. */
static char *cut_own_line(const char *text, TextKind kind, const Words *w) {
        const char *key = kind == TEXT_ENTRY ? OWN_OPTIONS : "";

        for (size_t i = 0; i < w->n; i++) {
                size_t at = (size_t) (w->spans[i].start - text), from, k;
                const char *line, *end;
                char *result;

                if (at < strlen(key) || !w->spans[i].ours)
                        continue;
                line = text + at - strlen(key);
                if (!startswith(line, key) || (line > text && line[-1] != '\n'))
                        continue;
                end = line + strcspn(line, "\n");
                for (k = i; k < w->n && w->spans[k].start < end && w->spans[k].ours; k++)
                        ;
                if ((k < w->n && w->spans[k].start < end) ||
                    w->spans[k - 1].start + w->spans[k - 1].length != end)
                        continue;
                from = (size_t) (line - text);
                if (*end)
                        end++;
                else if (from > 0)
                        from--;
                return asprintf(&result, "%.*s%s", (int) from, text, end) < 0 ? NULL : result;
        }
        return NULL;
}

/* Nothing else may have come of it: behind a quote that is not closed ours would belong to another word. */
static int verify(const char *result, TextKind kind, const char *arguments, const char *others) {
        _cleanup_free_ char *ours_now = NULL, *others_now = NULL;
        Installed new = {};
        int r = installed_set(&new, arguments);

        if (r >= 0)
                r = edit_split(result, kind, &new, &ours_now, &others_now);
        installed_done(&new);
        if (r < 0)
                return r;
        return streq(ours_now, arguments) && streq(others_now, others) ? 0 : -EBADMSG;
}

static int insert(const Words *w, const char *rest, const char *arguments, char **ret) {
        const char *after = rest + w->insert;
        /* At the start of a line nothing needs to be kept apart. */
        bool last = !*after || strchr(" \t\r\n", *after);
        bool first = streq(w->prefix, " ") && (w->insert == 0 || after[-1] == '\n' || is_blank(after[-1]));

        if (!*arguments)
                return (*ret = strdup(rest)) ? 0 : -ENOMEM;
        return asprintf(ret, "%.*s%s%s%s%s", (int) w->insert, rest, first ? "" : w->prefix, arguments,
                        last ? w->suffix : " ", after) < 0
                       ? -ENOMEM
                       : 0;
}

int edit_replace(const char *text, TextKind kind, const Installed *i, const char *arguments, char **ret) {
        _cleanup_free_ char *ours = NULL, *others = NULL, *without = NULL, *rest = NULL, *result = NULL;
        Words w = {};
        int r = split(text, kind, i, &w, &ours, &others);

        if (r >= 0 && !streq(ours, arguments))
                without = cut_own_line(text, kind, &w);
        if (without) {
                free(w.spans);
                text = without;
                r = find_ours(text, kind, i, &w);
        }

        if (r >= 0 && streq(ours, arguments)) {
                result = strdup(text);
                r = result ? 0 : -ENOMEM;
        } else if (r >= 0) {
                rest = cut_ours(text, &w);
                r = rest ? insert(&w, rest, arguments, &result) : -ENOMEM;
                if (r >= 0)
                        r = verify(result, kind, arguments, others);
        }
        free(w.spans);
        if (r >= 0)
                *ret = TAKE_PTR(result);
        return r;
}

int installed_push(Installed *i, const char *arguments) {
        char *copy;

        if (!*arguments || (i->n > 0 && streq(i->arguments[0], arguments)))
                return 0;
        copy = strdup(arguments);
        if (!copy || GROW_ARRAY(i->arguments, i->n) < 0) {
                free(copy);
                return -ENOMEM;
        }
        memmove(i->arguments + 1, i->arguments, i->n * sizeof(*i->arguments));
        i->arguments[0] = copy;
        i->n++;
        return 0;
}

int installed_set(Installed *i, const char *arguments) {
        _cleanup_free_ char *copy = strdup(arguments); /* it may be one of those that go */
        bool seeded = i->seeded;

        if (!copy)
                return -ENOMEM;
        installed_done(i);
        i->seeded = seeded;
        return installed_push(i, copy);
}

int installed_load(const char *root, Installed *ret) {
        _cleanup_free_ char *text = NULL;
        Installed in = {};
        char *save = NULL;
        int r;

        *ret = in;
        r = root_read_text(root, INSTALLED_PATH, INSTALLED_MAX, &text);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        if (!startswith(text, INSTALLED_FIRST_LINE))
                return -EEXIST;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *v = startswith(line, "arguments ");

                if (streq(line, "seeded"))
                        in.seeded = true;
                if (!v || !*v)
                        continue;
                if (GROW_ARRAY(in.arguments, in.n) < 0 || !(in.arguments[in.n] = strdup(v))) {
                        installed_done(&in);
                        return -ENOMEM;
                }
                in.n++;
        }
        *ret = in;
        return 0;
}

/* Whether the directory is there for the file alone; one of us that was killed may have got as far as the
 * file's temporary one. */
static bool made_installed_directory(const char *root) {
        _cleanup_free_ char *text = NULL;

        if (root_read_text(root, INSTALLED_PATH, INSTALLED_MAX, &text) >= 0 ||
            root_read_text(root, INSTALLED_TEMPORARY, INSTALLED_MAX, &text) >= 0)
                return strstr(text, "\n" MADE_DIRECTORY);
        return !root_exists(root, INSTALLED_DIRECTORY);
}

static int forget(const char *root) {
        bool made = root_exists(root, INSTALLED_DIRECTORY) && made_installed_directory(root);
        int r = file_remove(root, INSTALLED_PATH);

        if (r >= 0 && made)
                directory_remove(root, INSTALLED_DIRECTORY);
        return r;
}

int installed_save(const char *root, const Installed *i) {
        _cleanup_free_ char *text = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;

        if (i->n == 0 && !i->seeded)
                return forget(root);
        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        fputs(INSTALLED_FIRST_LINE, f);
        for (size_t k = 0; k < i->n; k++)
                fprintf(f, "arguments %s\n", i->arguments[k]);
        if (i->seeded)
                fputs("seeded\n", f);
        if (made_installed_directory(root))
                fputs(MADE_DIRECTORY, f);
        if (fflush(f) != 0)
                return -ENOMEM;
        return file_replace(root, INSTALLED_PATH, text, size);
}

void installed_done(Installed *i) {
        for (size_t k = 0; k < i->n; k++)
                free(i->arguments[k]);
        free(i->arguments);
        *i = (Installed){};
}
