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

/* The index of a column, or SIZE_MAX. In any case, as util-linux has it. */
static size_t find_column(const Column *columns, size_t n, const char *name, size_t l) {
        for (size_t i = 0; i < n; i++)
                if (strlen(columns[i].name) == l && strncasecmp(columns[i].name, name, l) == 0)
                        return i;
        return SIZE_MAX;
}

bool table_has_column(const TableInfo *t, const char *name, size_t l) {
        return find_column(t->columns, t->n_columns, name, l) != SIZE_MAX;
}

/* Cuts the next name off a list with commas. false at the end. */
static bool next_name(const char **list, const char **ret, size_t *ret_length) {
        if (!*list)
                return false;
        *ret = *list;
        *ret_length = strcspn(*list, ",");
        *list = (*list)[*ret_length] ? *list + *ret_length + 1 : NULL;
        return true;
}

static bool has_all_columns(const TableInfo *t, const char *select) {
        const char *name;
        size_t l;

        while (next_name(&select, &name, &l))
                if (!table_has_column(t, name, l))
                        return false;
        return true;
}

/* Names the first column that no table has; where there is none, they are of different tables. */
static void report_columns(const TableInfo *const *tables, const char *select) {
        const char *list = select, *name;
        size_t l;

        while (next_name(&list, &name, &l)) {
                bool known = false;

                for (const TableInfo *const *t = tables; *t; t++)
                        known |= table_has_column(*t, name, l);
                if (!known) {
                        ctl_error("unknown column: %.*s", (int) l, name);
                        return;
                }
        }
        ctl_error("no table has all of the columns %s (see hugepagesctl --help)", select);
}

size_t tables_choose(const TableInfo *const *tables, const char *select) {
        if (!select)
                return 0;
        select += *select == '+';
        for (size_t i = 0; tables[i]; i++)
                if (has_all_columns(tables[i], select))
                        return i;
        report_columns(tables, select);
        return SIZE_MAX;
}

/* One name of -o, of length l. */
static int table_select(Table *t, const char *name, size_t l) {
        size_t i = find_column(t->columns, t->n_columns, name, l);

        if (i == SIZE_MAX) {
                ctl_error("unknown column: %.*s", (int) l, name);
                return -EINVAL;
        }
        table_show(t, i);
        return 0;
}

static int table_select_all(Table *t, const char *select) {
        const char *name;
        size_t l;

        if (!select || *select == '+')
                for (size_t i = 0; i < t->n_columns; i++)
                        if (!t->columns[i].optional)
                                table_show(t, i);
        if (!select)
                return 0;
        select += *select == '+';
        while (next_name(&select, &name, &l))
                if (table_select(t, name, l) < 0)
                        return -EINVAL;
        return 0;
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

static void put_ranges(FILE *f, const NodeAmount *ranges, size_t n, AmountType type) {
        for (size_t i = 0; i < n; i++) {
                fprintf(f, i > 0 ? ",%u" : "%u", ranges[i].first);
                if (ranges[i].last > ranges[i].first)
                        fprintf(f, "-%u", ranges[i].last);
                if (type == AMOUNT_NODES_BYTES)
                        fprintf(f, ":%s", FORMAT_SIZE_EXACT(ranges[i].value));
                else if (type == AMOUNT_NODES_PAGES)
                        fprintf(f, ":%" PRIu64, ranges[i].value);
        }
}

static char *format_ranges(const NodeAmount *ranges, size_t n, AmountType type) {
        char *s = NULL;
        size_t size;
        FILE *f = open_memstream(&s, &size);

        if (!f)
                out_of_memory();
        put_ranges(f, ranges, n, type);
        if (fclose(f) != 0)
                out_of_memory();
        return s;
}

/* Kept in hundredths of a percent. */
static char *format_percent(uint64_t value) {
        if (value % 100 == 0)
                return format_text("%" PRIu64 "%%", value / 100);
        return format_text(value % 10 == 0 ? "%" PRIu64 ".%" PRIu64 "%%" : "%" PRIu64 ".%02" PRIu64 "%%",
                           value / 100, value % 10 == 0 ? value % 100 / 10 : value % 100);
}

char *format_amount(const Amount *a) {
        switch (a->type) {
        case AMOUNT_BYTES:
                return format_text("%s", FORMAT_SIZE_EXACT(a->value));
        case AMOUNT_PAGES:
                return format_text("%" PRIu64, a->value);
        case AMOUNT_PERCENT:
                return format_percent(a->value);
        case AMOUNT_REST:
                return format_text("rest");
        case AMOUNT_INFINITY:
                return format_text("infinity");
        case AMOUNT_WHOLE_POOL:
                return format_text("pool");
        case AMOUNT_NODES_BYTES:
        case AMOUNT_NODES_PAGES:
                return format_ranges(a->nodes, a->n_nodes, a->type);
        case AMOUNT_UNSET:
                break;
        }
        return format_text("0");
}

char *format_nodes(const Nodes *n) {
        switch (n->type) {
        case NODES_LIST:
                return format_ranges(n->ranges, n->n_ranges, AMOUNT_UNSET);
        case NODES_PCI:
                return format_text("pci:%s", n->pci);
        case NODES_ALL:
                break;
        }
        return format_text("all");
}

char *format_bytes(const Options *o, uint64_t bytes) {
        return o->bytes ? format_text("%" PRIu64, bytes) : format_text("%s", FORMAT_SIZE(bytes));
}

char *format_bytes_exact(const Options *o, uint64_t bytes) {
        return o->bytes ? format_text("%" PRIu64, bytes) : format_text("%s", FORMAT_SIZE_EXACT(bytes));
}
