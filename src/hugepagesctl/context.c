/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Context: the drop-ins, the host and the plan, loaded anew for each call of hugepagesctl. */

#include "apply/resolve.h"
#include "hugepagesctl/ctl.h"
#include "units/units.h"

static bool diagnostic_equal(const Diagnostic *a, const Diagnostic *b) {
        return a->severity == b->severity && a->line == b->line && streq_ptr(a->file, b->file) &&
               streq(a->message, b->message);
}

/* Stages that look at the same thing say the same: once is enough. */
static void diagnostics_unique(Diagnostics *d) {
        size_t n = 0;

        diag_sort(d);
        for (size_t i = 0; i < d->n; i++) {
                bool known = false;

                for (size_t k = n; k > 0 && !known && d->items[k - 1].line == d->items[i].line; k--)
                        known = diagnostic_equal(&d->items[k - 1], &d->items[i]);
                if (!known) {
                        d->items[n++] = d->items[i];
                        continue;
                }
                if (d->items[i].severity == SEVERITY_ERROR)
                        d->n_errors--;
                else
                        d->n_warnings--;
                free(d->items[i].file);
                free(d->items[i].message);
        }
        d->n = n;
}

/* In the order of a boot: the generator, which finds faults of its own, comes before the service. */
static int context_load_stages(const Options *o, char *const *files, Context *c) {
        UnitsInput units;
        PlanInput input;
        int r;

        r = files ? config_load_with(o->root, files, &c->config, &c->diagnostics)
                  : config_load(o->root, &c->config, &c->diagnostics);
        if (r < 0)
                return r;
        r = host_load(o->root, HOST_ALL, &c->host, &c->diagnostics);
        if (r < 0)
                return r;
        units = (UnitsInput){ .root = o->root, .config = c->config, .host = c->host };
        r = units_generate(&units, &c->diagnostics);
        if (r < 0)
                return r;
        input = (PlanInput){
                .config = c->config,
                .host = c->host,
                .pci_node = resolve_pci_node,
                .group_to_gid = resolve_group,
                .userdata = o->root,
        };
        return plan_make(&input, &c->plan, &c->diagnostics);
}

void context_load(const Options *o, char *const *files, Context *ret) {
        *ret = (Context){ .off = switched_off(o->root) };
        if (context_load_stages(o, files, ret) < 0) /* -ENOMEM: the rest is a diagnostic */
                out_of_memory();
        diagnostics_unique(&ret->diagnostics);
}

void context_done(Context *c) {
        if (c->plan)
                plan_free(c->plan);
        if (c->host)
                host_free(c->host);
        if (c->config)
                config_free(c->config);
        diag_done(&c->diagnostics);
}
