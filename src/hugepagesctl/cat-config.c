/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl cat-config: the drop-ins as they are read, one after another. */

#include "config/dropins.h"
#include "config/text.h"
#include "hugepagesctl/ctl.h"

static const char *const state_names[] = {
        [CONFIG_FILE_READ] = "read",
        [CONFIG_FILE_MASKED] = "masked",
        [CONFIG_FILE_REPLACED] = "replaced",
        [CONFIG_FILE_FAILED] = "failed",
};

/* Bytes of the character at s that may go to a terminal as they are; 0 where it must not see it. */
static size_t harmless(const Options *o, const char *s) {
        size_t l;

        if (*s == '\n' || *s == '\t')
                return 1;
        l = utf8_printable(s);
        return l > 1 && !o->utf8 ? 0 : l;
}

/* With what a terminal would obey shown as \xNN. */
static void print_escaped(const Options *o, const char *s, size_t length) {
        for (const char *end = s + length; s < end;) {
                size_t l = harmless(o, s);

                if (l > 0)
                        fwrite(s, 1, l, stdout);
                else
                        printf("\\x%02x", (unsigned char) *s);
                s += MAX(l, (size_t) 1);
        }
}

static void print_contents(const Options *o, const char *contents, size_t size) {
        if (o->terminal)
                print_escaped(o, contents, size);
        else
                fwrite(contents, 1, size, stdout);
        if (size > 0 && contents[size - 1] != '\n')
                putchar('\n');
}

/* A name may hold anything, also what would end the comment. */
static char *printable_path(const char *path) {
        char *text = text_escape(path);

        if (!text)
                out_of_memory();
        return text;
}

static void print_comment(const Options *o, const char *path, const char *what) {
        _cleanup_free_ char *printable = printable_path(path), *line = NULL;

        line = format_text("# %s%s%s", printable, what ? " " : "", what ?: "");
        if (o->color)
                fputs("\033[1m", stdout);
        print_text(o, line);
        puts(o->color ? "\033[0m" : "");
}

/* Why a file or directory could not be read, from the diagnostic about it as a whole. */
static const char *why_failed(const Diagnostics *d, const char *path) {
        for (size_t i = 0; i < d->n; i++)
                if (d->items[i].line == 0 && streq_ptr(d->items[i].file, path))
                        return d->items[i].message;
        return "cannot be read";
}

/* -ENOENT and the like where it has changed since it was found. */
static int read_contents(const Options *o, const char *path, char **ret, size_t *ret_size) {
        int r = root_read_file(o->root, path, DROPIN_SIZE_MAX, ret, ret_size);

        if (r == -ENOMEM)
                out_of_memory();
        return r;
}

static void print_file(const Options *o, const ConfigFile *f, const Diagnostics *d) {
        _cleanup_free_ char *contents = NULL, *by = NULL, *what = NULL;
        size_t size;
        int r;

        switch (f->state) {
        case CONFIG_FILE_READ:
                r = read_contents(o, f->path, &contents, &size);
                print_comment(o, f->path, r < 0 ? dropin_open_error(r) : NULL);
                if (r >= 0)
                        print_contents(o, contents, size);
                break;
        case CONFIG_FILE_MASKED:
                print_comment(o, f->path, "is masked");
                break;
        case CONFIG_FILE_REPLACED:
                by = printable_path(f->replaced_by);
                what = format_text("is replaced by %s", by);
                print_comment(o, f->path, what);
                break;
        default:
                print_comment(o, f->path, why_failed(d, f->path));
        }
}

/* Directories that could not be read: there may be more than is shown. */
static size_t print_failed_directories(const Options *o, const Diagnostics *d) {
        size_t n = 0;

        for (const char *const *path = config_directories; *path; path++)
                for (size_t i = 0; i < d->n; i++)
                        if (d->items[i].line == 0 && streq_ptr(d->items[i].file, *path)) {
                                print_comment(o, *path, d->items[i].message);
                                n++;
                        }
        return n;
}

static void print_files(const Options *o, const Config *c, const Diagnostics *d) {
        size_t n = print_failed_directories(o, d);

        for (size_t i = 0; i < c->n_files; i++) {
                bool paragraph = i > 0 && (c->files[i].state == CONFIG_FILE_READ ||
                                           c->files[i - 1].state == CONFIG_FILE_READ);

                if (paragraph)
                        putchar('\n');
                print_file(o, &c->files[i], d);
        }
        if (n + c->n_files == 0)
                puts("# There are no drop-ins.");
}

static void json_add_contents(const Options *o, struct json_object *file, const ConfigFile *f) {
        _cleanup_free_ char *contents = NULL;
        size_t size;

        if (f->state != CONFIG_FILE_READ || read_contents(o, f->path, &contents, &size) < 0) {
                json_add(file, "contents", NULL);
                return;
        }
        for (size_t i = 0; i < size; i++)
                if (!contents[i]) /* would end the string: as a byte that is no UTF-8 it is replaced */
                        contents[i] = '\xff';
        json_add_string(file, "contents", contents);
}

static void print_json(const Options *o, const Config *c, const Diagnostics *d) {
        struct json_object *document = json_new_object(), *files = json_new_array();

        for (size_t i = 0; i < c->n_files; i++) {
                const ConfigFile *f = &c->files[i];
                struct json_object *file = json_new_object();

                json_add_string(file, "path", f->path);
                json_add_string(file, "state", state_names[f->state]);
                json_add_string(file, "replaced_by", f->replaced_by);
                json_add_string(file, "error",
                                f->state == CONFIG_FILE_FAILED ? why_failed(d, f->path) : NULL);
                json_add_contents(o, file, f);
                json_append(files, file);
        }
        json_add(document, "files", files);
        json_print(document);
}

static bool any_failed(const Config *c, const Diagnostics *d) {
        for (const char *const *path = config_directories; *path; path++)
                for (size_t i = 0; i < d->n; i++)
                        if (d->items[i].line == 0 && streq_ptr(d->items[i].file, *path))
                                return true;
        for (size_t i = 0; i < c->n_files; i++)
                if (c->files[i].state == CONFIG_FILE_FAILED)
                        return true;
        return false;
}

int verb_cat_config(const Options *o, char *const *arguments) {
        _cleanup_(config_freep) Config *config = NULL;
        Diagnostics d = {};
        bool failed;

        if (config_load(o->root, &config, &d) < 0)
                out_of_memory();
        if (o->json)
                print_json(o, config, &d);
        else
                print_files(o, config, &d);
        failed = any_failed(config, &d);
        diag_done(&d);
        return failed ? CTL_FAILURE : CTL_OK;
}
