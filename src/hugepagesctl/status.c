/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl status: on one screen, what there is of what the drop-ins ask for. */

#include "hugepagesctl/status.h"
#include "basic/format.h"
#include "report/report.h"

/* Pools × nodes. The columns of the nodes stand between MEMORY and NODES, as many as the host has. */

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

const Column status_columns[] = {
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
const size_t n_status_columns = ELEMENTSOF(status_columns);

typedef struct PoolColumns {
        Column *columns;
        size_t n_columns;
        char **names; /* of the nodes' columns */
        size_t n_nodes;
} PoolColumns;

static void pool_columns_done(PoolColumns *c) {
        for (size_t i = 0; i < c->n_nodes; i++)
                free(c->names[i]);
        free(c->names);
        free(c->columns);
}

static size_t nodes_with_memory(const Host *h) {
        size_t n = 0;

        for (size_t i = 0; i < h->n_nodes; i++)
                n += h->nodes[i].has_memory;
        return n;
}

static void pool_columns_make(const Host *h, PoolColumns *c) {
        bool many = nodes_with_memory(h) > NODE_COLUMNS_MAX;

        *c = (PoolColumns){ .n_columns = _COL_MAX + h->n_nodes, .n_nodes = h->n_nodes };
        c->columns = calloc(c->n_columns, sizeof(Column));
        c->names = calloc(c->n_nodes ?: 1, sizeof(char *));
        if (!c->columns || !c->names)
                out_of_memory();
        memcpy(c->columns, status_columns, COL_NODES * sizeof(Column));
        memcpy(c->columns + COL_NODES + c->n_nodes, status_columns + COL_NODES,
               (_COL_MAX - COL_NODES) * sizeof(Column));
        for (size_t i = 0; i < c->n_nodes; i++) {
                c->names[i] = format_text("NODE%u", h->nodes[i].id);
                c->columns[COL_NODES + i] = (Column){
                        .name = c->names[i],
                        .width_hint = 5,
                        .flags = SCOLS_FL_RIGHT,
                        .optional = many || !h->nodes[i].has_memory,
                };
        }
        c->columns[COL_NODES + c->n_nodes].optional = !many;
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
static char *pool_node_cell(const OutcomePool *p, size_t node) {
        if (p->node_reserved[node] < p->node_planned[node])
                return format_text("%" PRIu64 "/%" PRIu64, p->node_reserved[node], p->node_planned[node]);
        return format_text("%" PRIu64, p->node_reserved[node]);
}

static char *pool_number_cell(const Options *o, const PoolRow *r, size_t column, size_t node) {
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
                return pool_node_cell(p, node);
        default:
                return format_node_counts(r->host, p->node_reserved);
        }
}

static char *pool_cell(const Options *o, const void *row, size_t column) {
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
                return pool_number_cell(o, r, column, node);
        }
}

static int print_pools(const Status *s) {
        const Host *h = s->context.host;
        const Options *o = s->options;
        _cleanup_(pool_columns_done) PoolColumns columns = {};
        _cleanup_(table_freep) Table *table = NULL;

        pool_columns_make(h, &columns);
        table = table_new(o, columns.columns, columns.n_columns, o->output);
        if (!table)
                return -EINVAL;
        if (s->outcome->n_pools > 0 && !options_table_only(o))
                putchar('\n');
        for (size_t i = 0; i < s->outcome->n_pools; i++) {
                const OutcomePool *p = &s->outcome->pools[i];
                PoolRow row = { h, p };
                bool bad = p->dropped || p->reserved < p->requested;

                table_add(table, pool_cell, &row, bad ? "red" : NULL);
        }
        table_print(table);
        return 0;
}

/* Where a sentence has room. Before the service has run every pool is short, for no reason of its own; what
 * a dropped one lacks is among the diagnostics. */
static void print_shortages(const Status *s) {
        bool any = false;

        for (size_t i = 0; s->ran && i < s->outcome->n_pools; i++) {
                const OutcomePool *p = &s->outcome->pools[i];
                _cleanup_free_ char *shortage = NULL, *line = NULL;

                if (report_pool_shortage(s->outcome, p, &shortage) < 0)
                        out_of_memory();
                if (!shortage)
                        continue;
                line = p->reason && !p->dropped ? format_text("  %s: %s", shortage, p->reason)
                                                : format_text("  %s", shortage);
                if (!any)
                        print_title(s->options, "Short:");
                any = true;
                print_wrapped(s->options, line, 0, 6);
        }
}

/* Page sizes × nodes. */

enum {
        SIZE_SIZE,
        SIZE_NODE,
        SIZE_TOTAL,
        SIZE_MEMORY,
        SIZE_FREE,
        SIZE_PROMISED,
        SIZE_IN_USE,
        SIZE_SURPLUS,
};

static const Column size_columns[] = {
        [SIZE_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [SIZE_NODE] = { "NODE", 4, SCOLS_FL_RIGHT, .help = "node, or all" },
        [SIZE_TOTAL] = { "TOTAL", 5, SCOLS_FL_RIGHT, .help = "pages there are, surplus included" },
        [SIZE_MEMORY] = { "MEMORY", 6, SCOLS_FL_RIGHT, .help = "memory of these pages" },
        [SIZE_FREE] = { "FREE", 4, SCOLS_FL_RIGHT, .help = "pages that nobody has touched" },
        [SIZE_PROMISED] = { "PROMISED", 8, SCOLS_FL_RIGHT,
                            .help = "of the free ones: reserved for somebody" },
        [SIZE_IN_USE] = { "IN USE", 6, SCOLS_FL_RIGHT, .help = "pages in use" },
        [SIZE_SURPLUS] = { "SURPLUS", 7, SCOLS_FL_RIGHT,
                           .help = "pages beyond the pools, allowed by overcommit" },
};

typedef struct SizeRow {
        const PageSize *size;
        const Node *node; /* NULL: all of them */
        const PageCounts *counts;
} SizeRow;

static char *size_cell(const Options *o, const void *row, size_t column) {
        const SizeRow *r = row;

        switch (column) {
        case SIZE_SIZE:
                return format_bytes_exact(o, r->size->bytes);
        case SIZE_NODE:
                return r->node ? format_text("%u", r->node->id) : format_text("all");
        case SIZE_TOTAL:
                return format_text("%" PRIu64, r->counts->nr);
        case SIZE_MEMORY:
                return format_bytes(o, mul_sat(r->counts->nr, r->size->bytes));
        case SIZE_FREE:
                return format_text("%" PRIu64, r->counts->free);
        case SIZE_PROMISED: /* the kernel knows it over all nodes only */
                return r->node ? format_text("-") : format_text("%" PRIu64, r->size->resv);
        case SIZE_IN_USE:
                return format_text("%" PRIu64, sub_sat(r->counts->nr, r->counts->free));
        default:
                return format_text("%" PRIu64, r->counts->surplus);
        }
}

static void print_sizes(const Status *s) {
        const Host *h = s->context.host;
        _cleanup_(table_freep) Table *table =
                table_new(s->options, size_columns, ELEMENTSOF(size_columns), NULL);
        size_t n = 0;

        for (size_t i = 0; i < h->n_sizes; i++) {
                SizeRow row = { &h->sizes[i], NULL, &h->sizes[i].total };
                bool has_pool = i < s->outcome->n_sizes && s->outcome->sizes[i].has_pool;

                if (h->sizes[i].total.nr == 0 && !has_pool)
                        continue;
                table_add(table, size_cell, &row, NULL);
                n++;
                for (size_t k = 0; h->numa && nodes_with_memory(h) > 1 && k < h->n_nodes; k++) {
                        row.node = &h->nodes[k];
                        row.counts = &h->nodes[k].pages[i];
                        if (h->nodes[k].has_memory)
                                table_add(table, size_cell, &row, NULL);
                }
        }
        if (h->n_sizes == 0)
                puts("\nThis kernel has no huge pages (hugetlb).");
        else if (n == 0)
                puts("\nThe kernel holds no huge pages.");
        else
                putchar('\n');
        table_print(table);
}

/* Pages that no pool accounts for are left alone, but not passed over in silence. */
static void print_strangers(const Status *s) {
        for (size_t i = 0; i < s->outcome->n_sizes; i++) {
                const OutcomeSize *size = &s->outcome->sizes[i];
                uint64_t pages = size->has_pool ? size->beyond : size->persistent;
                _cleanup_free_ char *page = format_bytes_exact(s->options, size->page_size), *memory = NULL;
                _cleanup_free_ char *line = NULL;

                if (pages == 0)
                        continue;
                memory = format_bytes(s->options, mul_sat(pages, size->page_size));
                line = format_text("%" PRIu64 " × %s (%s) %s, left alone", pages, page, memory,
                                   size->has_pool ? "beyond the pools" : "without a pool");
                print_wrapped(s->options, line, 0, 4);
        }
}

/* A bar a node: in use, reserved and free, ordinary memory. */

#define BAR_WIDTH 40u

static void node_huge_bytes(const Host *h, size_t node, uint64_t *ret_used, uint64_t *ret_free) {
        *ret_used = *ret_free = 0;
        for (size_t i = 0; i < h->n_sizes; i++) {
                const PageCounts *c = &h->nodes[node].pages[i];

                *ret_used = add_sat(*ret_used, mul_sat(sub_sat(c->nr, c->free), h->sizes[i].bytes));
                *ret_free = add_sat(*ret_free, mul_sat(c->free, h->sizes[i].bytes));
        }
}

/* Cells of the bar, rounded up: a little is not nothing. */
static unsigned bar_cells(uint64_t bytes, uint64_t total) {
        return (unsigned) MIN((bytes / 1024 * BAR_WIDTH + total / 1024 - 1) / (total / 1024), BAR_WIDTH);
}

static void print_bar(const Options *o, uint64_t used, uint64_t free_bytes, uint64_t total) {
        static const char *const utf8[] = { "█", "▒", "░" }, *const ascii[] = { "#", "+", "." };
        const char *const *cells = o->utf8 ? utf8 : ascii;
        unsigned n_used = bar_cells(used, total), n_huge = bar_cells(add_sat(used, free_bytes), total);

        for (unsigned i = 0; i < BAR_WIDTH; i++)
                fputs(cells[i < n_used ? 0 : i < n_huge ? 1 : 2], stdout);
}

static void print_bars(const Status *s) {
        const Host *h = s->context.host;

        if (!s->options->terminal || h->n_sizes == 0)
                return;
        putchar('\n');
        for (size_t i = 0; i < h->n_nodes; i++) {
                _cleanup_free_ char *huge = NULL, *total = NULL;
                uint64_t used, free_bytes;

                if (h->nodes[i].mem_total < 1024)
                        continue;
                node_huge_bytes(h, i, &used, &free_bytes);
                huge = format_bytes(s->options, add_sat(used, free_bytes));
                total = format_bytes(s->options, h->nodes[i].mem_total);
                printf("node%-3u ", h->nodes[i].id);
                print_bar(s->options, used, free_bytes, h->nodes[i].mem_total);
                printf(" %s of %s\n", huge, total);
        }
}

/* Settings: THP, khugepaged and the like, declared and actual. */

enum {
        SETTING_NAME,
        SETTING_DECLARED,
        SETTING_ACTUAL,
        SETTING_STATE,
};

static const Column setting_columns[] = {
        [SETTING_NAME] = { "SETTING", 10, 0, .help = "the kernel's file" },
        [SETTING_DECLARED] = { "DECLARED", 8, 0, .help = "value of the drop-ins" },
        [SETTING_ACTUAL] = { "ACTUAL", 6, 0, .help = "value of the kernel" },
        [SETTING_STATE] = { "STATE", 7, 0, .help = "whether they agree" },
};

const char *setting_state(const OutcomeSetting *s) {
        switch (s->result) {
        case SETTING_UNCHANGED:
        case SETTING_CHANGED:
                return "ok";
        case SETTING_MISSING:
                return "missing";
        default:
                return "differs";
        }
}

/* "THP khugepaged/defrag", "vm.hugetlb_shm_group", "hugepages-2048kB/nr_overcommit_hugepages" */
static char *setting_name(const char *path) {
        const char *name;

        if ((name = startswith(path, THP_DIRECTORY "/")))
                return format_text("THP %s", name);
        if ((name = startswith(path, "/proc/sys/vm/")))
                return format_text("vm.%s", name);
        return format_text("%s", startswith(path, "/sys/kernel/mm/hugepages/") ?: path);
}

static char *setting_cell(const Options *o, const void *row, size_t column) {
        const OutcomeSetting *s = row;

        switch (column) {
        case SETTING_NAME:
                return setting_name(s->path);
        case SETTING_DECLARED:
                return format_text("%s", s->wanted ?: "-");
        case SETTING_ACTUAL:
                return format_text("%s", s->actual ?: "-");
        default:
                return format_text("%s", s->wanted ? setting_state(s) : "-");
        }
}

static bool is_declared(const Outcome *o, const char *path) {
        for (size_t i = 0; i < o->n_settings; i++)
                if (streq(o->settings[i].path, path))
                        return true;
        return false;
}

/* The mode of THP is worth knowing where no drop-in declares it, too. */
static void add_undeclared(const Status *s, Table *table, const char *path) {
        const char *line = host_knob(s->context.host, path);
        char word[64];
        OutcomeSetting setting = { .path = (char *) path };

        if (!line || is_declared(s->outcome, path))
                return;
        setting.actual = (char *) knob_current_word(line, word, sizeof(word));
        table_add(table, setting_cell, &setting, NULL);
}

static void print_settings(const Status *s) {
        _cleanup_(table_freep) Table *table =
                table_new(s->options, setting_columns, ELEMENTSOF(setting_columns), NULL);

        putchar('\n');
        for (size_t i = 0; i < s->outcome->n_settings; i++) {
                const OutcomeSetting *setting = &s->outcome->settings[i];

                table_add(table, setting_cell, setting,
                          setting->result == SETTING_REFUSED || setting->result == SETTING_MISSING ? "yellow"
                                                                                                   : NULL);
        }
        add_undeclared(s, table, THP_DIRECTORY "/enabled");
        add_undeclared(s, table, THP_DIRECTORY "/defrag");
        table_print(table);
}

/* Mounts. */

enum {
        MOUNT_WHERE,
        MOUNT_SIZE,
        MOUNT_LIMIT,
        MOUNT_USED,
        MOUNT_STATE,
};

static const Column mount_columns[] = {
        [MOUNT_WHERE] = { "MOUNT", 10, 0, .help = "where" },
        [MOUNT_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [MOUNT_LIMIT] = { "LIMIT", 5, SCOLS_FL_RIGHT, .help = "most that its files may take" },
        [MOUNT_USED] = { "USED", 5, SCOLS_FL_RIGHT, .help = "what its files take" },
        [MOUNT_STATE] = { "STATE", 7, 0, .help = "mounted, missing, or dropped for an error" },
};

static const char *mount_state(const MountStatus *m) {
        if (m->mount->section.dropped)
                return "dropped";
        return m->mounted == TRISTATE_YES ? "mounted" : m->mounted == TRISTATE_NO ? "missing" : "unknown";
}

static char *mount_cell(const Options *o, const void *row, size_t column) {
        const MountStatus *m = row;

        switch (column) {
        case MOUNT_WHERE:
                return format_text("%s", m->mount->where ?: m->mount->section.name);
        case MOUNT_SIZE:
                return m->page_size > 0 ? format_bytes_exact(o, m->page_size) : format_text("-");
        case MOUNT_LIMIT:
                return m->has_usage && m->limit != UINT64_MAX ? format_bytes(o, m->limit) : format_text("-");
        case MOUNT_USED:
                return m->has_usage ? format_bytes(o, m->used) : format_text("-");
        default:
                return format_text("%s", mount_state(m));
        }
}

static void print_mounts(const Status *s) {
        _cleanup_(table_freep) Table *table =
                table_new(s->options, mount_columns, ELEMENTSOF(mount_columns), NULL);

        if (s->n_mounts == 0)
                return;
        putchar('\n');
        for (size_t i = 0; i < s->n_mounts; i++) {
                const MountStatus *m = &s->mounts[i];
                bool bad = m->mount->section.dropped || m->mounted == TRISTATE_NO;

                table_add(table, mount_cell, m, bad ? "red" : NULL);
        }
        table_print(table);
}

/* Units. */

static bool unit_is_bad(const UnitStatus *u) {
        return u->active_state &&
               (streq(u->active_state, "failed") || (u->expected && !streq(u->active_state, "active")));
}

/* One that is not loaded can only be inactive: why it is not says more. */
static const char *unit_state(const UnitStatus *u) {
        return u->load_state && !streq(u->load_state, "loaded") ? u->load_state : u->active_state;
}

/* Only those that need a look: the rest would push them off the screen. */
static void print_units(const Status *s) {
        bool any = false;

        for (size_t i = 0; i < s->n_units; i++) {
                if (!unit_is_bad(&s->units[i]))
                        continue;
                if (!any)
                        print_title(s->options, "Units:");
                any = true;
                printf("  %s: %s\n", s->units[i].name, unit_state(&s->units[i]));
        }
}

static char *service_line(const Status *s) {
        const State *state = s->context.host->state;
        const char *active = s->n_units > 0 ? unit_state(&s->units[0]) : NULL;

        if (s->context.off != SWITCHED_ON)
                return format_text("%s", switched_off_to_string(s->context.off));
        if (s->ran)
                return format_text("ran in this boot, exit status %d%s%s", state->exit_status,
                                   active ? ", " : "", active ?: "");
        if (state)
                return format_text("running, or interrupted");
        return format_text("has not run in this boot");
}

static void print_header(const Status *s) {
        _cleanup_free_ char *service = service_line(s);

        fputs(" Status: ", stdout);
        print_wrapped(s->options, s->configured ? s->line : "no drop-ins: nothing is configured", 9, 9);
        fputs("Service: ", stdout);
        print_wrapped(s->options, service, 9, 9);
}

static int status_print_text(const Status *s) {
        if (options_table_only(s->options))
                return print_pools(s);

        print_header(s);
        if (print_pools(s) < 0)
                return -EINVAL;
        print_shortages(s);
        print_sizes(s);
        print_strangers(s);
        print_bars(s);
        print_settings(s);
        print_mounts(s);
        print_units(s);
        print_diagnostics(s->options, &s->context.diagnostics);
        return 0;
}

static bool status_degraded(const Status *s) {
        if (outcome_degraded(s->outcome) || s->context.host->state->exit_status > 0)
                return true;
        for (size_t i = 0; i < s->n_mounts; i++)
                if (s->mounts[i].mounted == TRISTATE_NO)
                        return true;
        for (size_t i = 0; i < s->n_units; i++)
                if (unit_is_bad(&s->units[i]))
                        return true;
        return false;
}

static int status_judge(const Status *s) {
        if (!s->configured)
                return CTL_OK;
        if (!s->ran)
                return CTL_NOT_APPLIED;
        return status_degraded(s) ? CTL_DEGRADED : CTL_OK;
}

const char *status_state(const Status *s) {
        if (!s->configured)
                return "unconfigured";
        return s->exit_status == CTL_OK         ? "applied"
               : s->exit_status == CTL_DEGRADED ? "degraded"
                                                : "not-applied";
}

static void status_load(const Options *o, Status *s) {
        const State *state;

        s->options = o;
        context_load(o, NULL, &s->context);
        if (outcome_observe(s->context.plan, s->context.host, &s->context.diagnostics, &s->outcome) < 0)
                out_of_memory();
        s->line = report_status_line(s->outcome);
        if (!s->line)
                out_of_memory();
        state = s->context.host->state;
        s->configured = config_exists(o->root);
        s->ran = state && state->exit_status >= 0;
        status_read_mounts(s);
        status_read_units(s);
        s->exit_status = status_judge(s);
}

static void status_done(Status *s) {
        for (size_t i = 0; i < s->n_units; i++) {
                free(s->units[i].name);
                free(s->units[i].load_state);
                free(s->units[i].active_state);
        }
        free(s->units);
        free(s->mounts);
        free(s->line);
        if (s->outcome)
                outcome_free(s->outcome);
        context_done(&s->context);
}

int verb_status(const Options *o, char *const *arguments) {
        _cleanup_(status_done) Status status = {};

        status_load(o, &status);
        if (o->json)
                status_print_json(&status);
        else if (status_print_text(&status) < 0)
                return CTL_USAGE;
        return status.exit_status;
}
