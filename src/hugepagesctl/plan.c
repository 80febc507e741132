/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl plan: what would be done and why, each number with the line it came from. */

#include "hugepagesctl/ctl.h"
#include "units/units.h"

enum {
        COL_POOL,
        COL_SIZE,
        COL_REQUESTED,
        COL_PLANNED,
        COL_NODES,
        COL_FROM,
        COL_MEMORY,
        COL_ESSENTIAL,
        COL_CUT,
};

const Column plan_columns[] = {
        [COL_POOL] = { "POOL", 4, 0, .help = "name of the pool" },
        [COL_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [COL_REQUESTED] = { "REQUESTED", 9, SCOLS_FL_RIGHT, .help = "pages asked for, headroom included" },
        [COL_PLANNED] = { "PLANNED", 7, SCOLS_FL_RIGHT, .help = "pages after cuts" },
        [COL_NODES] = { "NODES", 7, SCOLS_FL_WRAP, .list = true,
                        .help = "pages planned by node, NODE:PAGES" },
        [COL_FROM] = { "FROM", 10, 0, .help = "file and line that ask for them" },
        [COL_MEMORY] = { "MEMORY", 6, SCOLS_FL_RIGHT, .optional = true,
                         .help = "memory of the planned pages" },
        [COL_ESSENTIAL] = { "ESSENTIAL", 9, 0, .optional = true,
                            .help = "whether the service fails where the pool is short" },
        [COL_CUT] = { "CUT", 0.3, SCOLS_FL_WRAP, .optional = true,
                      .help = "why it is planned with fewer pages than requested" },
};
const size_t n_plan_columns = ELEMENTSOF(plan_columns);

static uint64_t pool_page_size(const Plan *p, const PlanPool *pool) {
        return p->host->sizes[pool->size_index].bytes;
}

typedef struct PlanRow {
        const Plan *plan;
        const PlanPool *pool;
} PlanRow;

static char *plan_cell(const Options *o, const void *row, size_t column) {
        const PlanRow *r = row;
        const PlanPool *p = r->pool;
        Source source;

        switch (column) {
        case COL_POOL:
                return format_text("%s", p->pool->section.name);
        case COL_SIZE:
                return format_bytes_exact(o, pool_page_size(r->plan, p));
        case COL_REQUESTED:
                return format_text("%" PRIu64, p->requested);
        case COL_PLANNED:
                return format_text("%" PRIu64, p->planned);
        case COL_NODES:
                return format_node_counts(r->plan->host, p->node_planned);
        case COL_FROM:
                source = section_key_source(&p->pool->section, "Size");
                return format_text("%s:%u", source.file ?: "", source.line);
        case COL_MEMORY:
                return format_bytes(o, mul_sat(p->planned, pool_page_size(r->plan, p)));
        case COL_ESSENTIAL:
                return format_text("%s", p->pool->essential ? "yes" : "no");
        default:
                return format_text("%s", p->cut ?: "-");
        }
}

static int plan_print_table(const Options *o, const Plan *p) {
        _cleanup_(table_freep) Table *table = table_new(o, plan_columns, n_plan_columns, o->output);

        if (!table)
                return -EINVAL;
        for (size_t i = 0; i < p->n_pools; i++) {
                PlanRow row = { p, &p->pools[i] };

                table_add(table, plan_cell, &row, p->pools[i].cut ? "yellow" : NULL);
        }
        table_print(table);
        return 0;
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
static char *write_old_value(const Plan *p, const PlanWrite *w) {
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

static void print_writes(const Options *o, const Plan *p) {
        print_title(o, p->n_writes > 0 ? "Writes, in this order:" : "Nothing to write.");
        for (size_t i = 0; i < p->n_writes; i++) {
                const PlanWrite *w = &p->writes[i];
                _cleanup_free_ char *old = write_old_value(p, w), *line = NULL;

                line = w->source.file ? format_text("%s → %s (%s:%u)", old, w->value, w->source.file,
                                                    w->source.line)
                                      : format_text("%s → %s", old, w->value);
                printf("  %s\n      ", w->path);
                print_wrapped(o, line, 6, 8);
        }
}

static void print_mounts(const Options *o, const Config *c) {
        bool any = false;

        for (size_t i = 0; i < c->n_mounts; i++) {
                const Mount *m = c->mounts[i];
                _cleanup_free_ char *unit = NULL, *line = NULL;

                if (m->section.dropped)
                        continue;
                if (!any)
                        print_title(o, "Mounts:");
                any = true;
                unit = mount_unit_name(m);
                if (!unit)
                        out_of_memory();
                line = format_text("%s by %s (%s:%u)", m->where, unit, m->section.source.file,
                                   m->section.source.line);
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
        print_cuts(o, c->plan);
        if (c->off == SWITCHED_ON) {
                print_writes(o, c->plan);
                print_mounts(o, c->config);
        }
        print_diagnostics(o, &c->diagnostics);
        return 0;
}

static struct json_object *pool_json(const Plan *p, const PlanPool *pool) {
        struct json_object *object = json_new_object(), *nodes = json_new_array();

        json_add_string(object, "name", pool->pool->section.name);
        json_add_u64(object, "page_size", pool_page_size(p, pool));
        json_add_bool(object, "essential", pool->pool->essential);
        json_add_source(object, "source", pool->pool->section.source);
        json_add_u64(object, "requested", pool->requested);
        json_add_u64(object, "planned", pool->planned);
        for (size_t i = 0; i < p->host->n_nodes; i++) {
                struct json_object *node;

                if (!pool->allowed[i])
                        continue;
                node = json_new_object();
                json_add_u64(node, "node", p->host->nodes[i].id);
                json_add_u64(node, "planned", pool->node_planned[i]);
                json_append(nodes, node);
        }
        json_add(object, "nodes", nodes);
        json_add_string(object, "cut", pool->cut);
        return object;
}

static struct json_object *writes_json(const Plan *p) {
        struct json_object *writes = json_new_array();

        for (size_t i = 0; i < p->n_writes; i++) {
                struct json_object *object = json_new_object();

                json_add_string(object, "path", p->writes[i].path);
                json_add_string(object, "value", p->writes[i].value);
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
        bool on = c->off == SWITCHED_ON; /* else nothing would be written or mounted */

        for (size_t i = 0; i < c->plan->n_pools; i++)
                json_append(pools, pool_json(c->plan, &c->plan->pools[i]));
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
