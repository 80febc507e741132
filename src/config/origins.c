/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the lines of a drop-in came from that was put together from others. */

#include "config/origins.h"
#include "basic/fs.h"
#include "basic/parse.h"
#include "config/dropins.h"
#include "config/keys.h"

void origins_done(Origins *o) {
        for (size_t i = 0; i < o->n; i++)
                free((char *) o->lines[i].file);
        free(o->lines);
        *o = (Origins){};
}

/* "# /etc/hugepages.d/50-db.conf:7". 1, 0 where the line is something else, -ENOMEM. */
static int parse_origin(const char *line, Source *ret) {
        const char *path = startswith(line, "# "), *colon = strrchr(line, ':');
        uint64_t number;

        if (!path || *path != '/' || !colon || parse_u64(colon + 1, &number) < 0 || number == 0 ||
            number > UINT32_MAX)
                return 0;
        ret->file = strndup(path, (size_t) (colon - path));
        ret->line = (unsigned) number;
        return ret->file ? 1 : -ENOMEM;
}

/* A comment tells the origin of the line below it. */
static int read_origins(char *text, Origins *o) {
        Source next = {};

        while (text) {
                char *line = strsep(&text, "\n");
                int r;

                if (GROW_ARRAY(o->lines, o->n) < 0) {
                        free((char *) next.file);
                        return -ENOMEM;
                }
                o->lines[o->n++] = next;
                next = (Source){};
                r = parse_origin(line, &next);
                if (r < 0)
                        return r;
        }
        free((char *) next.file);
        return 0;
}

static Source origin_of(const Origins *o, const char *file, Source source) {
        if (!streq_ptr(source.file, file) || source.line == 0 || source.line > o->n ||
            !o->lines[source.line - 1].file)
                return source;
        return o->lines[source.line - 1];
}

static void restore_section(const Origins *o, const char *file, Section *s) {
        s->source = origin_of(o, file, s->source);
        for (size_t i = 0; i < section_table[s->type].n_keys; i++)
                s->keys[i].source = origin_of(o, file, s->keys[i].source);
}

static int restore_diagnostic(const Origins *o, const char *file, Diagnostic *d) {
        Source origin = origin_of(o, file, (Source){ d->file, d->line });
        char *copy;

        if (origin.file == d->file)
                return 0;
        copy = strdup(origin.file);
        if (!copy)
                return -ENOMEM;
        free(d->file);
        d->file = copy;
        d->line = origin.line;
        return 0;
}

int origins_restore(const char *root, const char *file, Config *c, Diagnostics *d, Origins *ret) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_file(root, file, DROPIN_SIZE_MAX, &text, NULL);

        *ret = (Origins){};
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = read_origins(text, ret);
        if (r < 0)
                return r;
        restore_section(ret, file, &c->system.section);
        for (size_t i = 0; i < c->n_pools; i++)
                restore_section(ret, file, &c->pools[i]->section);
        for (size_t i = 0; i < d->n && r >= 0; i++)
                r = restore_diagnostic(ret, file, &d->items[i]);
        return r;
}
