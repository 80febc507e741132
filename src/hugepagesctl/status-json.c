/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl status --json: all of it; sizes in bytes, counts in pages. */

#include "hugepagesctl/status.h"

static struct json_object *service_json(const Status *s) {
        const State *state = s->context.host->state;
        struct json_object *service = json_new_object();

        json_add_bool(service, "ran", s->ran);
        if (s->ran)
                json_add_u64(service, "exit_status", (uint64_t) state->exit_status);
        else
                json_add(service, "exit_status", NULL);
        json_add_string(service, "switched_off", switched_off_to_string(s->context.off));
        json_add_bool(service, "reverted", state && state->reverted);
        return service;
}

static struct json_object *pool_json(const Outcome *o, const OutcomePool *p) {
        struct json_object *pool = json_new_object(), *nodes = json_new_array();

        json_add_string(pool, "name", p->name);
        json_add_u64(pool, "page_size", p->page_size);
        json_add_bool(pool, "essential", p->essential);
        json_add_source(pool, "source", p->source);
        json_add_string(pool, "state", pool_state(p));
        json_add_u64(pool, "requested", p->requested);
        json_add_u64(pool, "reserved", p->reserved);
        for (size_t i = 0; p->node_reserved && i < o->n_nodes; i++) {
                struct json_object *node;

                if (p->node_planned[i] == 0 && p->node_reserved[i] == 0)
                        continue;
                node = json_new_object();
                json_add_u64(node, "node", o->node_ids[i]);
                json_add_u64(node, "planned", p->node_planned[i]);
                json_add_u64(node, "reserved", p->node_reserved[i]);
                json_append(nodes, node);
        }
        json_add(pool, "nodes", nodes);
        json_add_string(pool, "reason", p->reason);
        return pool;
}

static struct json_object *pools_json(const Outcome *o) {
        struct json_object *pools = json_new_array();

        for (size_t i = 0; i < o->n_pools; i++)
                json_append(pools, pool_json(o, &o->pools[i]));
        return pools;
}

static void add_counts(struct json_object *o, const PageCounts *c) {
        json_add_u64(o, "total", c->nr);
        json_add_u64(o, "free", c->free);
        json_add_u64(o, "in_use", sub_sat(c->nr, c->free));
        json_add_u64(o, "surplus", c->surplus);
}

static struct json_object *size_json(const Host *h, size_t index, const OutcomeSize *outcome) {
        const PageSize *p = &h->sizes[index];
        struct json_object *size = json_new_object(), *nodes = json_new_array();

        json_add_u64(size, "page_size", p->bytes);
        add_counts(size, &p->total);
        json_add_u64(size, "promised", p->resv);
        if (p->has_overcommit)
                json_add_u64(size, "overcommit", p->overcommit);
        else
                json_add(size, "overcommit", NULL);
        json_add_bool(size, "has_pool", outcome && outcome->has_pool);
        json_add_u64(size, "beyond_pools", outcome ? outcome->beyond : 0);
        for (size_t i = 0; i < h->n_nodes; i++) {
                struct json_object *node = json_new_object();

                json_add_u64(node, "node", h->nodes[i].id);
                add_counts(node, &h->nodes[i].pages[index]);
                json_append(nodes, node);
        }
        json_add(size, "nodes", nodes);
        return size;
}

static struct json_object *sizes_json(const Status *s) {
        const Host *h = s->context.host;
        struct json_object *sizes = json_new_array();

        for (size_t i = 0; i < h->n_sizes; i++)
                json_append(sizes, size_json(h, i, i < s->outcome->n_sizes ? &s->outcome->sizes[i] : NULL));
        return sizes;
}

static struct json_object *settings_json(const Status *s) {
        struct json_object *settings = json_new_array();

        for (size_t i = 0; i < s->n_settings; i++) {
                const OutcomeSetting *item = &s->settings[i];
                struct json_object *setting = json_new_object();

                json_add_string(setting, "path", item->path);
                json_add_string(setting, "declared", item->wanted);
                json_add_string(setting, "actual", item->actual);
                json_add_string(setting, "state", setting_state(item));
                json_add_source(setting, "source", item->source);
                json_append(settings, setting);
        }
        return settings;
}

static void add_usage(struct json_object *mount, const MountStatus *m) {
        if (m->has_usage && m->limit != UINT64_MAX)
                json_add_u64(mount, "limit", m->limit);
        else
                json_add(mount, "limit", NULL);
        if (m->has_usage)
                json_add_u64(mount, "used", m->used);
        else
                json_add(mount, "used", NULL);
}

static struct json_object *mounts_json(const Status *s) {
        struct json_object *mounts = json_new_array();

        for (size_t i = 0; i < s->n_mounts; i++) {
                const MountStatus *m = &s->mounts[i];
                struct json_object *mount = json_new_object();

                json_add_string(mount, "name", m->mount->section.name);
                json_add_string(mount, "where", m->mount->where);
                json_add_string(mount, "unit", m->unit);
                json_add_source(mount, "source", m->mount->section.source);
                json_add_string(mount, "state", mount_state(m));
                if (m->page_size > 0)
                        json_add_u64(mount, "page_size", m->page_size);
                else
                        json_add(mount, "page_size", NULL);
                json_add_bool(mount, "dropped", m->mount->section.dropped);
                if (m->mounted == TRISTATE_UNSET)
                        json_add(mount, "mounted", NULL);
                else
                        json_add_bool(mount, "mounted", m->mounted == TRISTATE_YES);
                json_add_string(mount, "difference", m->difference);
                add_usage(mount, m);
                json_append(mounts, mount);
        }
        return mounts;
}

static struct json_object *units_json(const Status *s) {
        struct json_object *units = json_new_array();

        for (size_t i = 0; i < s->n_units; i++) {
                struct json_object *unit = json_new_object();

                json_add_string(unit, "unit", s->units[i].name);
                json_add_string(unit, "kind", unit_kind(&s->units[i]));
                json_add_string(unit, "load_state", s->units[i].load_state);
                json_add_string(unit, "active_state", s->units[i].active_state);
                json_append(units, unit);
        }
        return units;
}

void status_print_json(const Status *s) {
        struct json_object *document = json_new_object();

        json_add_string(document, "state", status_state(s));
        json_add_string(document, "status", s->line);
        json_add(document, "service", service_json(s));
        json_add(document, "pools", pools_json(s->outcome));
        json_add(document, "page_sizes", sizes_json(s));
        json_add(document, "settings", settings_json(s));
        json_add(document, "mounts", mounts_json(s));
        json_add(document, "units", units_json(s));
        json_add_diagnostics(document, &s->context.diagnostics);
        json_print(document);
}
