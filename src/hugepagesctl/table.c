/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables: a column is a row in a table of columns; libsmartcols draws what follows from it. */

#include "basic/format.h"
#include "hugepagesctl/ctl.h"

struct Table {
        const Options *options;
        const Column *columns;
        size_t n_columns;
        size_t *shown; /* indexes into columns, in the order of the output */
        size_t n_shown;
        struct libscols_table *scols;
};

void table_free(Table *t) {
        scols_unref_table(t->scols);
        free(t->shown);
        free(t);
}

static void table_show(Table *t, size_t column) {
        if (GROW_ARRAY(t->shown, t->n_shown) < 0)
                out_of_memory();
        t->shown[t->n_shown++] = column;
}

/* One name of -o, of length l, in any case as util-linux has it. */
static int table_select(Table *t, const char *name, size_t l) {
        for (size_t i = 0; i < t->n_columns; i++)
                if (strlen(t->columns[i].name) == l && strncasecmp(t->columns[i].name, name, l) == 0) {
                        table_show(t, i);
                        return 0;
                }
        ctl_error("unknown column: %.*s", (int) l, name);
        return -EINVAL;
}

static int table_select_all(Table *t, const char *select) {
        if (!select || *select == '+')
                for (size_t i = 0; i < t->n_columns; i++)
                        if (!t->columns[i].optional)
                                table_show(t, i);
        if (!select)
                return 0;
        select += *select == '+';
        for (;;) {
                size_t l = strcspn(select, ",");

                if (table_select(t, select, l) < 0)
                        return -EINVAL;
                if (!select[l])
                        return 0;
                select += l + 1;
        }
}

static struct libscols_table *table_draw(const Options *o) {
        struct libscols_table *scols = scols_new_table();

        if (!scols)
                out_of_memory();
        scols_table_enable_raw(scols, o->raw);
        scols_table_enable_noheadings(scols, o->no_headings);
        scols_table_enable_colors(scols, o->color);
        scols_table_enable_ascii(scols, !o->utf8);
        scols_table_set_termforce(scols, o->width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
        if (o->width > 0)
                scols_table_set_termwidth(scols, o->width);
        return scols;
}

static void table_add_column(Table *t, const Column *c) {
        struct libscols_column *column = scols_table_new_column(t->scols, c->name, c->width_hint, c->flags);

        if (!column)
                out_of_memory();
        if (c->list && t->options->width > 0) {
                scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
                scols_column_set_safechars(column, "\n");
        }
}

Table *table_new(const Options *o, const Column *columns, size_t n_columns, const char *select) {
        _cleanup_(table_freep) Table *t = calloc(1, sizeof(Table));

        if (!t)
                out_of_memory();
        *t = (Table){ .options = o, .columns = columns, .n_columns = n_columns, .scols = table_draw(o) };
        if (table_select_all(t, select) < 0)
                return NULL;
        for (size_t i = 0; i < t->n_shown; i++)
                table_add_column(t, &columns[t->shown[i]]);
        return TAKE_PTR(t);
}

/* Lines of up to LIST_WIDTH, in place of the comma that would go beyond. */
#define LIST_WIDTH 20u

static char *break_list(char *s) {
        char *line = s;

        for (char *comma = s; (comma = strchr(comma, ',')); comma++) {
                size_t next = strcspn(comma + 1, ",");

                if ((size_t) (comma + 1 - line) + next > LIST_WIDTH) {
                        *comma = '\n';
                        line = comma + 1;
                }
        }
        return s;
}

static char *table_cell(const Table *t, TableCell cell, const void *row, size_t column) {
        char *s = cell(t->options, row, column);

        return t->columns[column].list && t->options->width > 0 ? break_list(s) : s;
}

void table_add(Table *t, TableCell cell, const void *row, const char *color) {
        struct libscols_line *line = scols_table_new_line(t->scols, NULL);

        if (!line)
                out_of_memory();
        for (size_t i = 0; i < t->n_shown; i++)
                if (scols_line_refer_data(line, i, table_cell(t, cell, row, t->shown[i])) < 0)
                        out_of_memory();
        if (color && t->options->color)
                scols_line_set_color(line, color);
}

void table_print(Table *t) {
        if (scols_table_get_nlines(t->scols) > 0 && scols_print_table(t->scols) < 0)
                out_of_memory();
}

/* The last node of those from first on that have as many pages, without a gap in their numbers. */
static size_t equal_run(const Host *h, const uint64_t *counts, size_t first) {
        size_t last = first;

        while (last + 1 < h->n_nodes && counts[last + 1] == counts[first] &&
               h->nodes[last + 1].id == h->nodes[last].id + 1)
                last++;
        return last;
}

char *format_node_counts(const Host *h, const uint64_t *counts) {
        char *s = NULL;
        size_t size;
        FILE *f = open_memstream(&s, &size);
        bool any = false;

        if (!f)
                out_of_memory();
        for (size_t i = 0, last; i < h->n_nodes; i = last + 1) {
                last = equal_run(h, counts, i);
                if (counts[i] == 0)
                        continue;
                fprintf(f, any ? ",%u" : "%u", h->nodes[i].id);
                if (last > i)
                        fprintf(f, "-%u", h->nodes[last].id);
                fprintf(f, ":%" PRIu64, counts[i]);
                any = true;
        }
        if (!any)
                fputc('-', f);
        if (fclose(f) != 0)
                out_of_memory();
        return s;
}

char *format_bytes(const Options *o, uint64_t bytes) {
        return o->bytes ? format_text("%" PRIu64, bytes) : format_text("%s", FORMAT_SIZE(bytes));
}

char *format_bytes_exact(const Options *o, uint64_t bytes) {
        return o->bytes ? format_text("%" PRIu64, bytes) : format_text("%s", FORMAT_SIZE_EXACT(bytes));
}
