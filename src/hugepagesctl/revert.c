/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl revert: back to the state before the first change of this boot. */

#include "basic/format.h"
#include "hugepagesctl/release.h"
#include "report/report.h"

static void tell_waiting(void *userdata) {
        fprintf(stderr, "%s: waiting for another run to end\n", program_invocation_short_name);
}

ApplyInput release_input(const Options *o, const Context *c, Kernel *kernel) {
        return (ApplyInput){
                .host = c->host,
                .kernel = kernel,
                .root = o->root,
                .diagnostics = &c->diagnostics,
                .status_line = report_status_line,
                .waiting = tell_waiting,
        };
}

char *format_pages(uint64_t pages, uint64_t page_size) {
        return format_text("%" PRIu64 " × %s (%s)", pages, FORMAT_SIZE_EXACT(page_size),
                           FORMAT_SIZE(mul_sat(pages, page_size)));
}

static void add_write(struct json_object *writes, const char *path, const char *from, const char *to,
                      const char *actual, const char *error) {
        struct json_object *write = json_new_object();

        json_add_string(write, "path", path);
        json_add_string(write, "from", from);
        json_add_string(write, "to", to);
        json_add_string(write, "actual", actual);
        json_add_string(write, "error", error);
        json_append(writes, write);
}

static void add_pages_write(struct json_object *writes, const ReleasedPages *p, bool dry_run) {
        _cleanup_free_ char *from = format_text("%" PRIu64, p->from), *to = format_text("%" PRIu64, p->to);
        _cleanup_free_ char *actual = dry_run ? NULL : format_text("%" PRIu64, p->actual);

        add_write(writes, p->path, from, to, actual, NULL);
}

static bool pages_written(const ReleasedPages *p) {
        return p->from != p->to || p->from != p->actual;
}

static bool knob_written(const ReleasedKnob *k) {
        return !streq_ptr(k->from, k->to);
}

static struct json_object *writes_json(const Released *r, bool dry_run) {
        struct json_object *writes = json_new_array();

        for (size_t i = 0; i < r->n_knobs; i++) {
                const ReleasedKnob *k = &r->knobs[i];

                if (knob_written(k))
                        add_write(writes, k->path, k->from, k->to, dry_run ? NULL : k->actual,
                                  k->error < 0 ? strerror(-k->error) : NULL);
        }
        for (int raises = 0; raises < 2; raises++)
                for (size_t i = 0; i < r->n_pages; i++)
                        if (pages_written(&r->pages[i]) && (r->pages[i].goal > r->pages[i].from) == raises)
                                add_pages_write(writes, &r->pages[i], dry_run);
        return writes;
}

/* Pages beyond the goal, or with missing those that it lacks. */
static struct json_object *kept_json(const Context *c, const Released *r, bool missing) {
        struct json_object *kept = json_new_array();

        for (size_t i = 0; i < r->n_pages; i++) {
                const ReleasedPages *p = &r->pages[i];
                uint64_t pages = missing ? sub_sat(p->goal, p->actual) : sub_sat(p->actual, p->goal);
                struct json_object *item;

                if (pages == 0)
                        continue;
                item = json_new_object();
                json_add_u64(item, "page_size", c->host->sizes[p->size_index].bytes);
                json_add_u64(item, "node", c->host->nodes[p->node_index].id);
                json_add_u64(item, "pages", pages);
                json_add_string(item, "reason", p->reason);
                json_append(kept, item);
        }
        return kept;
}

void release_add_json(struct json_object *document, const Context *c, const Released *r, bool dry_run) {
        json_add(document, "writes", writes_json(r, dry_run));
        json_add(document, "kept", kept_json(c, r, /* missing= */ false));
        json_add(document, "missing", kept_json(c, r, /* missing= */ true));
}

void release_print_kept(const Options *o, const Context *c, const Released *r) {
        for (size_t i = 0; i < r->n_pages; i++) {
                const ReleasedPages *p = &r->pages[i];
                bool more = p->actual > p->goal;
                uint64_t n = more ? p->actual - p->goal : p->goal - p->actual;
                _cleanup_free_ char *pages = NULL, *line = NULL;

                if (n == 0)
                        continue;
                pages = format_pages(n, c->host->sizes[p->size_index].bytes);
                line = format_text("node%u: %s %s: %s", c->host->nodes[p->node_index].id, pages,
                                   more ? "stay" : "are missing", p->reason);
                print_wrapped(o, line, 0, 4);
        }
}

static void print_knobs(const Options *o, const Released *r) {
        for (size_t i = 0; i < r->n_knobs; i++) {
                const ReleasedKnob *k = &r->knobs[i];
                _cleanup_free_ char *line = NULL;

                if (!knob_written(k))
                        continue;
                if (streq_ptr(k->actual, k->to))
                        line = format_text("%s: %s → %s", k->path, k->from ?: "?", k->to);
                else
                        line = format_text("%s: is %s, not %s%s%s", k->path, k->actual ?: "not readable",
                                           k->to, k->error < 0 ? ": " : "",
                                           k->error < 0 ? strerror(-k->error) : "");
                print_wrapped(o, line, 0, 4);
        }
}

static void print_pages(const Options *o, const Released *r) {
        for (int raises = 0; raises < 2; raises++)
                for (size_t i = 0; i < r->n_pages; i++) {
                        const ReleasedPages *p = &r->pages[i];
                        _cleanup_free_ char *line = NULL;

                        if (!pages_written(p) || (p->goal > p->from) != raises)
                                continue;
                        line = format_text("%s: %" PRIu64 " → %" PRIu64, p->path, p->from, p->actual);
                        print_wrapped(o, line, 0, 4);
                }
}

static void print_text_report(const Options *o, const Context *c, const Released *r) {
        if (r->n_pages + r->n_knobs == 0) {
                puts(r->was_reverted ? "what was changed in this boot has been reverted"
                                     : "nothing was changed in this boot");
                return;
        }
        print_knobs(o, r);
        print_pages(o, r);
        release_print_kept(o, c, r);
        if (o->dry_run)
                puts("nothing was written (--dry-run)");
        else {
                puts(released_complete(r) ? "all is as it was before the first change of this boot"
                                          : "not all is as it was before the first change of this boot; "
                                            "revert again to go on");
                if (config_exists(o->root))
                        puts("the next boot, or hugepagesctl apply, sets up what the drop-ins declare");
        }
}

static void print_report(const Options *o, const Context *c, const Released *r) {
        struct json_object *document;

        if (!o->json) {
                print_text_report(o, c, r);
                return;
        }
        document = json_new_object();
        release_add_json(document, c, r, o->dry_run);
        json_print(document);
}

int verb_revert(const Options *o, char *const *arguments) {
        _cleanup_(context_done) Context context = {};
        _cleanup_(released_freep) Released *released = NULL;
        Kernel kernel = kernel_real(o->root);
        static const Released nothing;
        ApplyInput input;
        int r;

        if (!o->dry_run && !ctl_is_root(o))
                return CTL_FAILURE;
        context_load(o, NULL, &context);
        input = release_input(o, &context, &kernel);
        r = revert_run(&input, context.plan, o->dry_run, &released);
        if (r == -ENOMEM)
                out_of_memory();
        if (r == -EINVAL)
                ctl_error(STATE_PATH " is damaged: what was changed in this boot is not known");
        else if (r < 0 && r != -ENOENT)
                ctl_error(STATE_DIRECTORY ": %s", strerror(-r));
        if (r < 0 && r != -ENOENT)
                return CTL_FAILURE;
        if (released && released->state_error < 0)
                ctl_error("not recorded in " STATE_DIRECTORY ": %s", strerror(-released->state_error));
        print_report(o, &context, released ?: &nothing);
        return !released || o->dry_run || released_complete(released) ? CTL_OK : CTL_FAILURE;
}
