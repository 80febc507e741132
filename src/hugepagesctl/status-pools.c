/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools × nodes. The columns of the nodes stand between MEMORY and NODES, as many as the host has. */

#include "hugepagesctl/status.h"

enum {
        COL_POOL,
        COL_SIZE,
        COL_WANTED,
        COL_RESERVED,
        COL_MEMORY,
        COL_NODES,
        COL_STATE,
        COL_ESSENTIAL,
        COL_FROM,
        COL_REASON,
        _COL_MAX,
        COL_NODE, /* any of the nodes' */
};

#define NODE_COLUMNS_MAX 4u /* more nodes share the column NODES */

static const Column columns[] = {
        [COL_POOL] = { "POOL", 4, 0, .help = "name of the pool" },
        [COL_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [COL_WANTED] = { "WANTED", 6, SCOLS_FL_RIGHT, .help = "pages asked for, headroom included" },
        [COL_RESERVED] = { "RESERVED", 8, SCOLS_FL_RIGHT, .help = "pages it has" },
        [COL_MEMORY] = { "MEMORY", 6, SCOLS_FL_RIGHT, .help = "memory of these pages" },
        [COL_NODES] = { "NODES", 7, SCOLS_FL_WRAP, .list = true,
                        .help = "pages by node, NODE:PAGES (NODE0, NODE1, ...: of one)" },
        [COL_STATE] = { "STATE", 7, 0, .help = "full, short, or dropped for an error" },
        [COL_ESSENTIAL] = { "ESSENTIAL", 9, 0, .optional = true,
                            .help = "whether the service fails where the pool is short" },
        [COL_FROM] = { "FROM", 10, 0, .optional = true, .help = "file and line of the pool" },
        [COL_REASON] = { "REASON", 0.3, SCOLS_FL_WRAP, .optional = true,
                         .help = "why it has fewer pages than wanted" },
};
const TableInfo pools_table = { "pools", columns, ELEMENTSOF(columns) };

size_t nodes_with_memory(const Host *h) {
        size_t n = 0;

        for (size_t i = 0; i < h->n_nodes; i++)
                n += h->nodes[i].has_memory;
        return n;
}

static size_t n_node_columns(const TableInfo *t) {
        return t->n_columns - _COL_MAX;
}

void pool_columns_free(TableInfo *t) {
        Column *all = (Column *) t->columns;

        for (size_t i = 0; i < n_node_columns(t); i++)
                free((char *) all[COL_NODES + i].name);
        free(all);
        free(t);
}

TableInfo *pool_columns_make(const Host *h) {
        bool many = nodes_with_memory(h) > NODE_COLUMNS_MAX;
        size_t n_columns = _COL_MAX + h->n_nodes;
        Column *all = calloc(n_columns, sizeof(Column));
        TableInfo *t = malloc(sizeof(TableInfo));

        if (!all || !t)
                out_of_memory();
        memcpy(all, columns, COL_NODES * sizeof(Column));
        memcpy(all + COL_NODES + h->n_nodes, columns + COL_NODES, (_COL_MAX - COL_NODES) * sizeof(Column));
        for (size_t i = 0; i < h->n_nodes; i++)
                all[COL_NODES + i] = (Column){
                        .name = format_text("NODE%u", h->nodes[i].id),
                        .width_hint = 5,
                        .flags = SCOLS_FL_RIGHT,
                        .optional = many || !h->nodes[i].has_memory,
                };
        all[COL_NODES + h->n_nodes].optional = !many;
        *t = (TableInfo){ pools_table.name, all, n_columns };
        return t;
}

/* Which of the columns above it is; *ret_node is the node's index for COL_NODE. */
static size_t pool_column(size_t column, size_t n_nodes, size_t *ret_node) {
        if (column < COL_NODES)
                return column;
        *ret_node = column - COL_NODES;
        return *ret_node < n_nodes ? COL_NODE : column - n_nodes;
}

const char *pool_state(const OutcomePool *p) {
        return p->dropped ? "dropped" : p->reserved < p->requested ? "short" : "full";
}

typedef struct PoolRow {
        const Host *host;
        const OutcomePool *pool;
} PoolRow;

/* "2048", or where it has fewer than planned "1024/2048". */
static char *node_cell(const OutcomePool *p, size_t node) {
        if (p->node_reserved[node] < p->node_planned[node])
                return format_text("%" PRIu64 "/%" PRIu64, p->node_reserved[node], p->node_planned[node]);
        return format_text("%" PRIu64, p->node_reserved[node]);
}

static char *number_cell(const Options *o, const PoolRow *r, size_t column, size_t node) {
        const OutcomePool *p = r->pool;

        if (p->dropped)
                return format_text("-");
        switch (column) {
        case COL_SIZE:
                return format_bytes_exact(o, p->page_size);
        case COL_WANTED:
                return format_text("%" PRIu64, p->requested);
        case COL_RESERVED:
                return format_text("%" PRIu64, p->reserved);
        case COL_MEMORY:
                return format_bytes(o, mul_sat(p->reserved, p->page_size));
        case COL_NODE:
                return node_cell(p, node);
        default:
                return format_node_counts(r->host, p->node_reserved);
        }
}

static char *cell(const Options *o, const void *row, size_t column) {
        const PoolRow *r = row;
        const OutcomePool *p = r->pool;
        size_t node = 0;

        column = pool_column(column, r->host->n_nodes, &node);
        switch (column) {
        case COL_POOL:
                return format_text("%s", p->name);
        case COL_STATE:
                return format_text("%s", pool_state(p));
        case COL_ESSENTIAL:
                return format_text("%s", p->essential ? "yes" : "no");
        case COL_FROM:
                return format_text("%s:%u", p->source.file ?: "", p->source.line);
        case COL_REASON:
                return format_text("%s", p->reason ?: "-");
        default:
                return number_cell(o, r, column, node);
        }
}

void print_pools_table(const Status *s, const char *select) {
        const Host *h = s->context.host;
        _cleanup_(pool_columns_freep) TableInfo *info = pool_columns_make(h);
        _cleanup_(table_freep) Table *table = table_new(s->options, info->columns, info->n_columns, select);

        for (size_t i = 0; i < s->outcome->n_pools; i++) {
                const OutcomePool *p = &s->outcome->pools[i];
                PoolRow row = { h, p };
                bool bad = outcome_pool_is_short(p);

                table_add(table, cell, &row, bad ? "red" : NULL);
        }
        table_print(table);
}
