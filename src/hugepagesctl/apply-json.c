/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl apply --json. */

#include "hugepagesctl/apply.h"

static struct json_object *pages_json(const Changes *c) {
        struct json_object *pages = json_new_array();

        for (size_t i = 0; i < c->n_pages; i++) {
                struct json_object *item = json_new_object();

                json_add_u64(item, "page_size", c->pages[i].page_size);
                json_add_u64(item, "node", c->pages[i].node);
                json_add_u64(item, "before", c->pages[i].before);
                json_add_u64(item, "after", c->pages[i].after);
                json_append(pages, item);
        }
        return pages;
}

static struct json_object *pools_json(const Changes *c) {
        struct json_object *pools = json_new_array();

        for (size_t i = 0; i < c->n_pools; i++) {
                const PoolChange *p = &c->pools[i];
                struct json_object *item = json_new_object();

                json_add_string(item, "name", p->name);
                json_add_u64(item, "page_size", p->page_size);
                if (p->before)
                        json_add_u64(item, "before", p->before->reserved);
                else
                        json_add(item, "before", NULL);
                if (p->after)
                        json_add_u64(item, "after", p->after->reserved);
                else
                        json_add(item, "after", NULL);
                json_append(pools, item);
        }
        return pools;
}

static struct json_object *settings_json(const Changes *c) {
        struct json_object *settings = json_new_array();

        for (size_t i = 0; i < c->n_settings; i++) {
                struct json_object *item = json_new_object();

                json_add_string(item, "path", c->settings[i].path);
                json_add_string(item, "before", c->settings[i].before);
                json_add_string(item, "after", c->settings[i].after);
                json_append(settings, item);
        }
        return settings;
}

static struct json_object *changed_json(const Apply *a) {
        _cleanup_(changes_done) Changes changes = {};
        struct json_object *changed = json_new_object();

        changes_find(a, &changes);
        json_add(changed, "pages", pages_json(&changes));
        json_add(changed, "pools", pools_json(&changes));
        json_add(changed, "settings", settings_json(&changes));
        return changed;
}

static struct json_object *writes_json(const Apply *a) {
        struct json_object *writes = json_new_array();
        const Plan *p = a->before.plan;

        for (size_t i = 0; a->options->dry_run && i < p->n_writes; i++) {
                struct json_object *item = json_new_object();
                _cleanup_free_ char *from = plan_old_value(p, &p->writes[i]);

                json_add_string(item, "path", p->writes[i].path);
                json_add_string(item, "from", from);
                json_add_string(item, "to", p->writes[i].value);
                json_append(writes, item);
        }
        return writes;
}

static struct json_object *named_units_json(const Apply *a, GeneratedChange change) {
        const Generated *g = change == GENERATED_VANISHED ? &a->units_before : &a->units_after;
        struct json_object *paths = json_new_array();

        for (size_t i = 0; i < g->n; i++)
                if (generated_compare(&a->units_before, &a->units_after, g->items[i].path) == change)
                        json_append_string(paths, g->items[i].path);
        return paths;
}

static struct json_object *units_json(const Apply *a) {
        struct json_object *units = json_new_object();

        for (GeneratedChange change = GENERATED_NEW; change <= GENERATED_VANISHED; change++)
                json_add(units, generated_change_names[change], named_units_json(a, change));
        return units;
}

static struct json_object *started_json(const Apply *a) {
        struct json_object *started = json_new_array();

        for (size_t i = 0; i < a->n_starts; i++)
                if (a->starts[i].succeeded)
                        json_append_string(started, a->starts[i].unit);
        return started;
}

static void append_failure(struct json_object *failed, const char *unit, const char *reason) {
        struct json_object *item = json_new_object();

        json_add_string(item, "unit", unit);
        json_add_string(item, "reason", reason);
        json_append(failed, item);
}

static struct json_object *failed_json(const Apply *a) {
        struct json_object *failed = json_new_array();

        if (a->service_error)
                append_failure(failed, SETUP_UNIT, a->service_error);
        for (size_t i = 0; i < a->n_starts; i++)
                if (!a->starts[i].succeeded)
                        append_failure(failed, a->starts[i].unit, a->starts[i].reason);
        return failed;
}

static struct json_object *short_json(const Apply *a) {
        struct json_object *list = json_new_array();

        for (size_t i = 0; a->outcome && i < a->outcome->n_pools; i++) {
                const OutcomePool *p = &a->outcome->pools[i];
                struct json_object *item;

                if (!outcome_pool_is_short(p))
                        continue;
                item = json_new_object();
                json_add_string(item, "pool", p->name);
                json_add_u64(item, "page_size", p->page_size);
                json_add_u64(item, "requested", p->requested);
                json_add_u64(item, "reserved", p->reserved);
                json_add_string(item, "reason", p->reason);
                json_append(list, item);
        }
        return list;
}

static struct json_object *advice_json(const Apply *a) {
        struct json_object *list = json_new_array();

        for (size_t i = 0; i < a->n_advice; i++) {
                struct json_object *item = json_new_object();
                _cleanup_free_ char *line = advice_command(&a->advice[i]);

                json_add_string(item, "unit", a->advice[i].unit);
                json_add_string(item, "action", a->advice[i].action);
                json_add_string(item, "command", line);
                json_add_string(item, "reason", a->advice[i].reason);
                json_append(list, item);
        }
        return list;
}

static struct json_object *reboots_json(const Apply *a) {
        struct json_object *list = json_new_array();

        for (size_t i = 0; i < a->n_reboots; i++) {
                struct json_object *item = json_new_object();

                json_add_string(item, "name", a->reboots[i].name);
                json_add_string(item, "reason", a->reboots[i].reason);
                json_append(list, item);
        }
        return list;
}

/* Other programs read this: fields are added, never changed. */
void apply_print_json(const Apply *a) {
        struct json_object *document = json_new_object();

        json_add_bool(document, "dry_run", a->options->dry_run);
        json_add(document, "changed", changed_json(a));
        json_add(document, "writes", writes_json(a));
        json_add(document, "units", units_json(a));
        json_add(document, "started", started_json(a));
        json_add(document, "failed", failed_json(a));
        json_add(document, "short", short_json(a));
        json_add(document, "restart_needed", advice_json(a));
        json_add(document, "reboot_needed", reboots_json(a));
        json_add_diagnostics(document, &apply_context(a)->diagnostics);
        json_print(document);
}
