/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl plan: what would be done and why, each number with the line it came from. */

#include "basic/format.h"
#include "hugepagesctl/ctl.h"
#include "units/units.h"

enum {
        COL_POOL,
        COL_SIZE,
        COL_NOW,
        COL_CHANGE,
        COL_PLANNED,
        COL_REQUESTED,
        COL_NODES,
        COL_FROM,
        COL_MEMORY,
        COL_ESSENTIAL,
        COL_CUT,
};

static const Column columns[] = {
        [COL_POOL] = { "POOL", 4, 0, .help = "name of the pool" },
        [COL_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [COL_NOW] = { "NOW", 3, SCOLS_FL_RIGHT, .help = "pages it has at this moment" },
        [COL_CHANGE] = { "CHANGE", 6, SCOLS_FL_RIGHT, .help = "pages that it would gain or lose" },
        [COL_PLANNED] = { "PLANNED", 7, SCOLS_FL_RIGHT, .help = "pages after cuts" },
        [COL_REQUESTED] = { "REQUESTED", 9, SCOLS_FL_RIGHT, .help = "pages asked for, headroom included" },
        [COL_NODES] = { "NODES", 7, SCOLS_FL_WRAP, .list = true,
                        .help = "pages planned by node, NODE:PAGES" },
        [COL_FROM] = { "FROM", 10, 0, .optional = true, .help = "file and line that ask for them" },
        [COL_MEMORY] = { "MEMORY", 6, SCOLS_FL_RIGHT, .optional = true,
                         .help = "memory of the planned pages" },
        [COL_ESSENTIAL] = { "ESSENTIAL", 9, 0, .optional = true,
                            .help = "whether the service fails where the pool is short" },
        [COL_CUT] = { "CUT", 0.3, SCOLS_FL_WRAP, .optional = true,
                      .help = "why it is planned with fewer pages than requested" },
};

static const TableInfo pools_table = { "pools", columns, ELEMENTSOF(columns) };
const TableInfo *const plan_tables[] = { &pools_table, NULL };

static uint64_t pool_page_size(const Plan *p, const PlanPool *pool) {
        return p->host->sizes[pool->size_index].bytes;
}

typedef struct PlanRow {
        const Plan *plan;
        const PlanPool *pool;
        const uint64_t *now; /* what it has, by node index */
} PlanRow;

/* Who has what now, by pool and node, to be freed by the caller. */
static uint64_t *pages_now(const Plan *p) {
        uint64_t *now = calloc(p->n_pools * p->host->n_nodes + 1, sizeof(uint64_t));

        if (!now || plan_attribute(p, p->host, now) < 0)
                out_of_memory();
        return now;
}

static PlanRow plan_row(const Plan *p, size_t i, const uint64_t *now) {
        return (PlanRow){ p, &p->pools[i], now + i * p->host->n_nodes };
}

static uint64_t row_now(const PlanRow *r) {
        uint64_t sum = 0;

        for (size_t n = 0; n < r->plan->host->n_nodes; n++)
                sum += r->now[n];
        return sum;
}

/* "+512", "-3", "0" */
static char *change_cell(uint64_t now, uint64_t planned) {
        if (planned >= now)
                return format_text(planned > now ? "+%" PRIu64 : "%" PRIu64, planned - now);
        return format_text("-%" PRIu64, now - planned);
}

static char *number_cell(const Options *o, const PlanRow *r, size_t column) {
        const PlanPool *p = r->pool;

        switch (column) {
        case COL_NOW:
                return format_text("%" PRIu64, row_now(r));
        case COL_CHANGE:
                return change_cell(row_now(r), p->planned);
        case COL_PLANNED:
                return format_text("%" PRIu64, p->planned);
        case COL_REQUESTED:
                return format_text("%" PRIu64, p->requested);
        case COL_SIZE:
                return format_bytes_exact(o, pool_page_size(r->plan, p));
        default:
                return format_bytes(o, mul_sat(p->planned, pool_page_size(r->plan, p)));
        }
}

static char *plan_cell(const Options *o, const void *row, size_t column) {
        const PlanRow *r = row;
        const PlanPool *p = r->pool;
        Source source;

        switch (column) {
        case COL_POOL:
                return format_text("%s", p->pool->section.name);
        case COL_NODES:
                return format_node_counts(r->plan->host, p->node_planned);
        case COL_FROM:
                source = section_key_source(&p->pool->section, "Size");
                return format_text("%s:%u", source.file ?: "", source.line);
        case COL_ESSENTIAL:
                return format_text("%s", p->pool->essential ? "yes" : "no");
        case COL_CUT:
                return format_text("%s", p->cut ?: "-");
        default:
                return number_cell(o, r, column);
        }
}

static int plan_print_table(const Options *o, const Plan *p) {
        _cleanup_(table_freep) Table *table = table_new(o, columns, ELEMENTSOF(columns), o->output);
        _cleanup_free_ uint64_t *now = pages_now(p);

        if (!table)
                return -EINVAL;
        for (size_t i = 0; i < p->n_pools; i++) {
                PlanRow row = plan_row(p, i, now);

                table_add(table, plan_cell, &row, p->pools[i].cut ? "yellow" : NULL);
        }
        table_print(table);
        return 0;
}

/* The keys of a pool that its pages come from, in the order in which they matter. */
#define POOL_KEYS_MAX 5u

typedef struct PoolKey {
        const char *key;
        char *value;
        Source source;
} PoolKey;

static void pool_key_add(PoolKey *keys, size_t *n, const Pool *p, const char *key, char *value) {
        keys[(*n)++] = (PoolKey){ key, value, section_key_source(&p->section, key) };
}

static size_t pool_keys(const Pool *p, PoolKey *keys) {
        size_t n = 0;

        if (p->size.type == AMOUNT_PAGES || p->size.type == AMOUNT_NODES_PAGES)
                pool_key_add(keys, &n, p, "Pages", format_amount(&p->size));
        else if (p->size.type != AMOUNT_UNSET)
                pool_key_add(keys, &n, p, "Size", format_amount(&p->size));
        if (p->headroom.value > 0)
                pool_key_add(keys, &n, p, "Headroom", format_amount(&p->headroom));
        if (p->page_size > 0)
                pool_key_add(keys, &n, p, "PageSize", format_text("%s", FORMAT_SIZE_EXACT(p->page_size)));
        if (p->nodes.type != NODES_ALL)
                pool_key_add(keys, &n, p, "Nodes", format_nodes(&p->nodes));
        if (p->essential)
                pool_key_add(keys, &n, p, "Essential", format_text("yes"));
        return n;
}

static void pool_keys_done(PoolKey *keys, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(keys[i].value);
}

/* "(FILE:3)", and "(:4)" where the file is that of the one before. */
static void put_source(FILE *f, Source source, const char **file) {
        if (streq_ptr(source.file, *file))
                fprintf(f, " (:%u)", source.line);
        else
                fprintf(f, " (%s:%u)", source.file ?: "", source.line);
        *file = source.file;
}

/* "db: 4301 × 2M (8.4G) from Size=8G (FILE:3), Headroom=5% (:4)" */
static void print_amount(const Options *o, const Plan *p, const PlanPool *pool) {
        uint64_t page_size = pool_page_size(p, pool);
        _cleanup_free_ char *page = format_bytes_exact(o, page_size), *line = NULL;
        _cleanup_free_ char *memory = format_bytes(o, mul_sat(pool->requested, page_size));
        const char *file = NULL;
        PoolKey keys[POOL_KEYS_MAX];
        size_t n = pool_keys(pool->pool, keys), size;
        FILE *f = open_memstream(&line, &size);

        if (!f)
                out_of_memory();
        fprintf(f, "  %s: %" PRIu64 " × %s (%s)", pool->pool->section.name, pool->requested, page, memory);
        for (size_t i = 0; i < n; i++) {
                fprintf(f, "%s%s=%s", i > 0 ? ", " : " from ", keys[i].key, keys[i].value);
                put_source(f, keys[i].source, &file);
        }
        if (fclose(f) != 0)
                out_of_memory();
        print_wrapped(o, line, 0, 6);
        pool_keys_done(keys, n);
}

static void print_amounts(const Options *o, const Plan *p) {
        if (p->n_pools > 0)
                print_title(o, "Asked for:");
        for (size_t i = 0; i < p->n_pools; i++)
                print_amount(o, p, &p->pools[i]);
}

static void print_cuts(const Options *o, const Plan *p) {
        bool any = false;

        for (size_t i = 0; i < p->n_pools; i++) {
                _cleanup_free_ char *line = NULL;

                if (!p->pools[i].cut)
                        continue;
                if (!any)
                        print_title(o, "Cut:");
                any = true;
                line = format_text("%s: %s", p->pools[i].pool->section.name, p->pools[i].cut);
                fputs("  ", stdout);
                print_wrapped(o, line, 2, 6);
        }
}

/* What the file holds now, to be freed by the caller. */
char *plan_old_value(const Plan *p, const PlanWrite *w) {
        char word[128];
        const char *line;

        switch (w->kind) {
        case WRITE_POOL:
                return format_text("%" PRIu64, plan_node(p, w->size_index, w->node_index)->now);
        case WRITE_OVERCOMMIT:
                return format_text("%" PRIu64, p->host->sizes[w->size_index].overcommit);
        default:
                line = host_knob(p->host, w->path);
                return format_text("%s", line ? knob_current_word(line, word, sizeof(word)) : "?");
        }
}

void plan_print_writes(const Options *o, const Plan *p) {
        print_title(o, p->n_writes > 0 ? "Writes, in this order:" : "Nothing to write.");
        for (size_t i = 0; i < p->n_writes; i++) {
                const PlanWrite *w = &p->writes[i];
                _cleanup_free_ char *old = plan_old_value(p, w), *line = NULL;

                line = w->source.file ? format_text("%s → %s (%s:%u)", old, w->value, w->source.file,
                                                    w->source.line)
                                      : format_text("%s → %s", old, w->value);
                printf("  %s\n      ", w->path);
                print_wrapped(o, line, 6, 8);
        }
}

/* ": limit 4G, 4G set aside" */
static char *mount_amounts(const Options *o, const Context *c, const Mount *m) {
        const UnitsInput input = { .root = o->root, .config = c->config, .host = c->host };
        _cleanup_free_ char *limit = NULL, *reserve = NULL;
        Diagnostics told = {};
        MountNumbers n;
        int r = mount_numbers(&input, m, &n, &told);

        diag_done(&told);
        if (r < 0)
                return format_text("%s", "");
        limit = n.limit > 0 ? format_bytes(o, n.limit) : format_text("none");
        if (n.reserve == 0)
                return format_text(": limit %s", limit);
        reserve = format_bytes(o, n.reserve);
        return format_text(": limit %s, %s set aside", limit, reserve);
}

static void print_mounts(const Options *o, const Context *c) {
        bool any = false;

        for (size_t i = 0; i < c->config->n_mounts; i++) {
                const Mount *m = c->config->mounts[i];
                _cleanup_free_ char *unit = NULL, *amounts = NULL, *line = NULL;

                if (m->section.dropped)
                        continue;
                if (!any)
                        print_title(o, "Mounts:");
                any = true;
                unit = mount_unit_name(m);
                if (!unit)
                        out_of_memory();
                amounts = mount_amounts(o, c, m);
                line = format_text("%s by %s (%s:%u)%s", m->where, unit, m->section.source.file,
                                   m->section.source.line, amounts);
                fputs("  ", stdout);
                print_wrapped(o, line, 2, 6);
        }
}

/* The limits that every number above has been held to. */
static void print_limits(const Options *o, const Context *c) {
        const System *system = &c->config->system;
        Source source = section_key_source(&system->section, "KeepFree");
        _cleanup_free_ char *keep = format_bytes(o, c->plan->keep_free),
                            *room = format_bytes(o, c->plan->room);
        _cleanup_free_ char *total = format_bytes(o, c->host->mem_total), *from = NULL, *line = NULL;

        from = system->keep_free.type == AMOUNT_UNSET ? format_text("default")
                                                      : format_text("%s:%u", source.file, source.line);
        line = format_text("KeepFree: %s of %s (%s); new pages may take %s now", keep, total, from, room);
        putchar('\n');
        print_wrapped(o, line, 0, 4);
}

static int plan_print_text(const Options *o, const Context *c) {
        if (options_table_only(o))
                return plan_print_table(o, c->plan);

        if (c->off != SWITCHED_ON)
                printf("Nothing would be done: %s.\n\n", switched_off_to_string(c->off));
        if (c->plan->n_pools == 0)
                puts("No pools.");
        if (plan_print_table(o, c->plan) < 0)
                return -EINVAL;
        print_limits(o, c);
        print_amounts(o, c->plan);
        print_cuts(o, c->plan);
        if (c->off == SWITCHED_ON) {
                plan_print_writes(o, c->plan);
                print_mounts(o, c);
        }
        print_diagnostics(o, &c->diagnostics);
        return 0;
}

static struct json_object *pool_keys_json(const Pool *pool) {
        struct json_object *array = json_new_array();
        PoolKey keys[POOL_KEYS_MAX];
        size_t n = pool_keys(pool, keys);

        for (size_t i = 0; i < n; i++) {
                struct json_object *key = json_new_object();

                json_add_string(key, "key", keys[i].key);
                json_add_string(key, "value", keys[i].value);
                json_add_source(key, "source", keys[i].source);
                json_append(array, key);
        }
        pool_keys_done(keys, n);
        return array;
}

static struct json_object *pool_json(const PlanRow *r) {
        struct json_object *object = json_new_object(), *nodes = json_new_array();
        const Host *host = r->plan->host;
        const PlanPool *pool = r->pool;

        json_add_string(object, "name", pool->pool->section.name);
        json_add_u64(object, "page_size", pool_page_size(r->plan, pool));
        json_add_bool(object, "essential", pool->pool->essential);
        json_add_source(object, "source", pool->pool->section.source);
        json_add_u64(object, "requested", pool->requested);
        json_add_u64(object, "planned", pool->planned);
        json_add_u64(object, "now", row_now(r));
        for (size_t i = 0; i < host->n_nodes; i++) {
                struct json_object *node;

                if (!pool->allowed[i] && r->now[i] == 0)
                        continue;
                node = json_new_object();
                json_add_u64(node, "node", host->nodes[i].id);
                json_add_u64(node, "planned", pool->node_planned[i]);
                json_add_u64(node, "now", r->now[i]);
                json_append(nodes, node);
        }
        json_add(object, "nodes", nodes);
        json_add_string(object, "cut", pool->cut);
        json_add(object, "keys", pool_keys_json(pool->pool));
        return object;
}

static struct json_object *writes_json(const Plan *p) {
        struct json_object *writes = json_new_array();

        for (size_t i = 0; i < p->n_writes; i++) {
                const PlanWrite *w = &p->writes[i];
                _cleanup_free_ char *now = plan_old_value(p, w);
                struct json_object *object = json_new_object();

                json_add_string(object, "path", w->path);
                json_add_string(object, "value", w->value);
                json_add_string(object, "now", now);
                json_add_source(object, "source", w->source);
                json_append(writes, object);
        }
        return writes;
}

static struct json_object *mounts_json(const Config *c) {
        struct json_object *mounts = json_new_array();

        for (size_t i = 0; i < c->n_mounts; i++) {
                const Mount *m = c->mounts[i];
                _cleanup_free_ char *unit = NULL;
                struct json_object *object;

                if (m->section.dropped)
                        continue;
                unit = mount_unit_name(m);
                if (!unit)
                        out_of_memory();
                object = json_new_object();
                json_add_string(object, "name", m->section.name);
                json_add_string(object, "where", m->where);
                json_add_string(object, "unit", unit);
                json_append(mounts, object);
        }
        return mounts;
}

/* Other programs read this: fields are added, never changed. */
static void plan_print_json(const Context *c) {
        struct json_object *document = json_new_object(), *pools = json_new_array();
        _cleanup_free_ uint64_t *now = pages_now(c->plan);
        bool on = c->off == SWITCHED_ON; /* else nothing would be written or mounted */

        for (size_t i = 0; i < c->plan->n_pools; i++) {
                PlanRow row = plan_row(c->plan, i, now);

                json_append(pools, pool_json(&row));
        }
        json_add(document, "pools", pools);
        json_add(document, "writes", on ? writes_json(c->plan) : json_new_array());
        json_add(document, "mounts", on ? mounts_json(c->config) : json_new_array());
        json_add_diagnostics(document, &c->diagnostics);
        json_print(document);
}

int verb_plan(const Options *o, char *const *arguments) {
        _cleanup_(context_done) Context context = {};

        context_load(o, NULL, &context);
        if (o->json)
                plan_print_json(&context);
        else if (plan_print_text(o, &context) < 0)
                return CTL_USAGE;
        return context.diagnostics.n_errors > 0 ? CTL_FAILURE : CTL_OK;
}
