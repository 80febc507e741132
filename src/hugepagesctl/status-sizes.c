/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Page sizes × nodes, as the kernel counts them, and a bar a node. */

#include "hugepagesctl/status.h"

enum {
        COL_SIZE,
        COL_NODE,
        COL_TOTAL,
        COL_MEMORY,
        COL_FREE,
        COL_PROMISED,
        COL_IN_USE,
        COL_SURPLUS,
        COL_OVERCOMMIT,
        COL_BEYOND,
};

static const Column columns[] = {
        [COL_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [COL_NODE] = { "NODE", 4, SCOLS_FL_RIGHT, .help = "node, or all" },
        [COL_TOTAL] = { "TOTAL", 5, SCOLS_FL_RIGHT, .help = "pages there are, surplus included" },
        [COL_MEMORY] = { "MEMORY", 6, SCOLS_FL_RIGHT, .help = "memory of these pages" },
        [COL_FREE] = { "FREE", 4, SCOLS_FL_RIGHT, .help = "pages that nobody has touched" },
        [COL_PROMISED] = { "PROMISED", 8, SCOLS_FL_RIGHT,
                           .help = "of the free ones: reserved for somebody" },
        [COL_IN_USE] = { "IN-USE", 6, SCOLS_FL_RIGHT, .help = "pages in use" },
        [COL_SURPLUS] = { "SURPLUS", 7, SCOLS_FL_RIGHT,
                          .help = "pages beyond the pools, allowed by overcommit" },
        [COL_OVERCOMMIT] = { "OVERCOMMIT", 10, SCOLS_FL_RIGHT, .optional = true,
                             .help = "pages that the kernel may add on demand" },
        [COL_BEYOND] = { "BEYOND", 6, SCOLS_FL_RIGHT, .optional = true,
                         .help = "pages that belong to no pool" },
};
const TableInfo sizes_table = { "page sizes", columns, ELEMENTSOF(columns) };

typedef struct SizeRow {
        const PageSize *size;
        const Node *node; /* NULL: all of them */
        const PageCounts *counts;
        uint64_t beyond;
} SizeRow;

/* What the kernel knows over all nodes only. */
static char *global_cell(const SizeRow *r, size_t column) {
        if (r->node || (column == COL_OVERCOMMIT && !r->size->has_overcommit))
                return format_text("-");
        return format_text("%" PRIu64, column == COL_PROMISED     ? r->size->resv
                                       : column == COL_OVERCOMMIT ? r->size->overcommit
                                                                  : r->beyond);
}

static char *cell(const Options *o, const void *row, size_t column) {
        const SizeRow *r = row;

        switch (column) {
        case COL_SIZE:
                return format_bytes_exact(o, r->size->bytes);
        case COL_NODE:
                return r->node ? format_text("%u", r->node->id) : format_text("all");
        case COL_TOTAL:
                return format_text("%" PRIu64, r->counts->nr);
        case COL_MEMORY:
                return format_bytes(o, mul_sat(r->counts->nr, r->size->bytes));
        case COL_FREE:
                return format_text("%" PRIu64, r->counts->free);
        case COL_IN_USE:
                return format_text("%" PRIu64, sub_sat(r->counts->nr, r->counts->free));
        case COL_SURPLUS:
                return format_text("%" PRIu64, r->counts->surplus);
        default:
                return global_cell(r, column);
        }
}

static uint64_t pages_without_pool(const OutcomeSize *size) {
        return size->has_pool ? size->beyond : size->persistent;
}

/* Sizes that the kernel offers and nobody has asked for would say nothing. */
void print_sizes_table(const Status *s, const char *select) {
        const Host *h = s->context.host;
        _cleanup_(table_freep) Table *table = table_new(s->options, columns, ELEMENTSOF(columns), select);

        for (size_t i = 0; i < h->n_sizes; i++) {
                const OutcomeSize *outcome = i < s->outcome->n_sizes ? &s->outcome->sizes[i] : NULL;
                SizeRow row = { &h->sizes[i], NULL, &h->sizes[i].total,
                                outcome ? pages_without_pool(outcome) : 0 };

                if (h->sizes[i].total.nr == 0 && !(outcome && outcome->has_pool))
                        continue;
                table_add(table, cell, &row, NULL);
                for (size_t k = 0; h->numa && nodes_with_memory(h) > 1 && k < h->n_nodes; k++) {
                        row.node = &h->nodes[k];
                        row.counts = &h->nodes[k].pages[i];
                        if (h->nodes[k].has_memory)
                                table_add(table, cell, &row, NULL);
                }
        }
        table_print(table);
}

/* A bar a node: huge pages in use, promised, free and missing, and ordinary memory. */

#define BAR_WIDTH_MIN 20u
#define BAR_WIDTH_MAX 80u
#define BAR_TEXT_WIDTH 42u /* beside the bar: the node, and the numbers */

typedef enum Part {
        PART_USED,
        PART_PROMISED,
        PART_FREE,
        PART_MISSING,
        _PART_MAX,
} Part;

static const struct {
        const char *utf8, *ascii, *color, *name;
} bar_parts[_PART_MAX] = {
        [PART_USED] = { "█", "#", "\033[34m", "in use" },
        [PART_PROMISED] = { "▓", "=", "\033[33m", "promised" },
        [PART_FREE] = { "▒", "+", "\033[32m", "free" },
        [PART_MISSING] = { "░", "!", "\033[31m", "missing" },
};

typedef struct Bar {
        uint64_t bytes[_PART_MAX], total;
} Bar;

static uint64_t bar_huge(const Bar *b) {
        return add_sat(add_sat(b->bytes[PART_USED], b->bytes[PART_PROMISED]), b->bytes[PART_FREE]);
}

static Bar node_bar(const Status *s, size_t node) {
        const Host *h = s->context.host;
        Bar b = { .total = h->nodes[node].mem_total };

        for (size_t i = 0; i < h->n_sizes; i++) {
                const PageCounts *c = &h->nodes[node].pages[i];

                b.bytes[PART_USED] =
                        add_sat(b.bytes[PART_USED], mul_sat(sub_sat(c->nr, c->free), h->sizes[i].bytes));
                b.bytes[PART_FREE] = add_sat(b.bytes[PART_FREE], mul_sat(c->free, h->sizes[i].bytes));
        }
        for (size_t i = 0; i < s->outcome->n_pools; i++) {
                const OutcomePool *p = &s->outcome->pools[i];

                if (p->dropped)
                        continue;
                b.bytes[PART_MISSING] = add_sat(
                        b.bytes[PART_MISSING],
                        mul_sat(sub_sat(p->node_planned[node], p->node_reserved[node]), p->page_size));
        }
        return b;
}

/* The kernel knows over all nodes only which of the free pages are promised. */
static void bar_split_promised(Bar *b, const Host *h) {
        uint64_t promised = 0;

        for (size_t i = 0; i < h->n_sizes; i++)
                promised = add_sat(promised, mul_sat(h->sizes[i].resv, h->sizes[i].bytes));
        b->bytes[PART_PROMISED] = MIN(promised, b->bytes[PART_FREE]);
        b->bytes[PART_FREE] -= b->bytes[PART_PROMISED];
}

/* Cells of the bar, rounded up: a little is not nothing. */
static unsigned bar_cells(uint64_t bytes, uint64_t total, unsigned width) {
        uint64_t unit = MAX(total / 1024, UINT64_C(1));

        return (unsigned) MIN((mul_sat(bytes / 1024, width) + unit - 1) / unit, (uint64_t) width);
}

static void print_cells(const Options *o, Part part, unsigned n) {
        if (n == 0)
                return;
        if (o->color)
                fputs(bar_parts[part].color, stdout);
        while (n-- > 0)
                fputs(o->utf8 ? bar_parts[part].utf8 : bar_parts[part].ascii, stdout);
        if (o->color)
                fputs("\033[0m", stdout);
}

static void print_bar(const Options *o, const char *name, const Bar *b) {
        unsigned room = (unsigned) sub_sat(o->width, BAR_TEXT_WIDTH);
        unsigned width = MAX(MIN(room, BAR_WIDTH_MAX), BAR_WIDTH_MIN), done = 0;
        _cleanup_free_ char *huge = format_bytes(o, bar_huge(b)), *total = format_bytes(o, b->total);
        uint64_t sum = 0;

        printf("%-8s", name);
        for (Part part = 0; part < _PART_MAX; part++) {
                unsigned end;

                sum = add_sat(sum, b->bytes[part]);
                end = b->bytes[part] > 0 ? MAX(bar_cells(sum, b->total, width), done) : done;
                print_cells(o, part, end - done);
                done = end;
        }
        for (; done < width; done++)
                fputs(o->utf8 ? "·" : ".", stdout);
        printf(" %s of %s", huge, total);
        if (b->bytes[PART_MISSING] > 0) {
                _cleanup_free_ char *missing = format_bytes(o, b->bytes[PART_MISSING]);

                printf(", %s missing", missing);
        }
        putchar('\n');
}

/* Only the parts that were drawn. */
static void print_legend(const Options *o, const Bar *all) {
        printf("%-8s", "");
        for (Part part = 0; part < _PART_MAX; part++)
                if (all->bytes[part] > 0) {
                        print_cells(o, part, 1);
                        printf(" %s  ", bar_parts[part].name);
                }
        puts(o->utf8 ? "· other memory" : ". other memory");
}

void print_bars(const Status *s) {
        const Host *h = s->context.host;
        size_t n = 0;
        Bar all = {};

        if (!s->options->terminal || h->n_sizes == 0)
                return;
        putchar('\n');
        for (size_t i = 0; i < h->n_nodes; i++) {
                Bar b = node_bar(s, i);

                for (Part part = 0; part < _PART_MAX; part++)
                        all.bytes[part] = add_sat(all.bytes[part], b.bytes[part]);
                all.total = add_sat(all.total, b.total);
                n += b.total > 0;
        }
        for (size_t i = 0; n > 1 && i < h->n_nodes; i++) {
                _cleanup_free_ char *name = format_text("node%u", h->nodes[i].id);
                Bar b = node_bar(s, i);

                if (b.total > 0)
                        print_bar(s->options, name, &b);
        }
        bar_split_promised(&all, h);
        print_bar(s->options, n > 1 ? "all" : "memory", &all);
        print_legend(s->options, &all);
}
