/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl cmdline: what is in place and what is not, as text and as JSON. */

#include "hugepagesctl/cmdline.h"

/* Text. Takes the line over. */
static void print_line(const Cmdline *c, char *line) {
        print_wrapped(c->options, line, 0, 4);
        free(line);
}

static void print_item(const Cmdline *c, const char *where, const ComparedArgument *a) {
        switch (a->presence) {
        case PRESENCE_MISSING:
                print_line(c, format_text("%s: lacks %s", where, a->wanted));
                break;
        case PRESENCE_DIFFERENT:
                print_line(c, format_text("%s: has %s, not %s", where, a->found, a->wanted));
                break;
        case PRESENCE_EXTRA:
                print_line(c, format_text("%s: also has %s", where, a->found));
                break;
        case PRESENCE_IGNORED:
                print_line(c, format_text("%s: the kernel ignores %s%s%s", where, a->found,
                                          a->wanted ? " for " : "", a->wanted ?: ""));
                break;
        case PRESENCE_PRESENT:
                break;
        }
}

static void print_comparison(const Cmdline *c, const char *where, const Comparison *comparison) {
        if (comparison->n == 0)
                print_line(c, format_text("%s: has none", where));
        else if (comparison_complete(comparison) && comparison->items[0].presence == PRESENCE_PRESENT)
                print_line(c, format_text("%s: has them", where));
        for (size_t i = 0; i < comparison->n; i++)
                print_item(c, where, &comparison->items[i]);
}

static void print_contradictions(const Cmdline *c) {
        for (size_t i = 0; i < c->n_contradictions; i++) {
                const Contradiction *x = &c->contradictions[i];

                if (x->write)
                        print_line(c,
                                   format_text("%s: %s has no hugepagesz=, and the kernel ignores it after "
                                               "ours: write %s",
                                               x->where, x->found, x->write));
                else
                        print_line(c, format_text("%s: %s contradicts %s", x->where, x->found, x->wanted));
        }
}

/* Where all can stay, it is only to be written in another way. */
static bool one_has_to_go(const Cmdline *c) {
        for (size_t i = 0; i < c->n_contradictions; i++)
                if (!c->contradictions[i].write)
                        return true;
        return false;
}

void cmdline_print_sought(const Cmdline *c, FILE *f) {
        for (size_t i = 0; i < n_loaders; i++)
                if (loaders[i]->sought)
                        fprintf(f, "looked for %s: %s\n", loaders[i]->name, loaders[i]->sought);
        for (size_t i = 0; i < n_loaders; i++) {
                const char *nearly = loaders[i]->nearly ? loaders[i]->nearly(&c->loader_context) : NULL;

                if (nearly)
                        fprintf(f, "%s\n", nearly);
        }
}

static void print_not_installed(const Cmdline *c) {
        _cleanup_free_ char *advice = NULL;

        if (!c->loader) {
                cmdline_print_sought(c, stdout);
                print_line(c,
                           format_text("not installed: no boot loader is known here, add them to the kernel "
                                       "command line by hand"));
        } else if (c->loader->by_hand) {
                advice = c->loader->by_hand(&c->loader_context, c->line);
                if (!advice)
                        out_of_memory();
                print_line(c, format_text("not installed: %s", advice));
        } else
                print_line(c,
                           format_text("not installed: run hugepagesctl cmdline --install, and reboot; or "
                                       "KernelCommandLine=none in [System], where none are wanted"));
}

static void print_state(const Cmdline *c) {
        switch (c->state) {
        case CMDLINE_IN_PLACE:
                puts("all is in place");
                break;
        case CMDLINE_REBOOT_NEEDED:
                puts("a reboot is needed");
                break;
        case CMDLINE_NOT_INSTALLED:
                print_not_installed(c);
                break;
        case CMDLINE_OUTDATED:
                puts(*c->line ? "installed, but for other pools: run hugepagesctl cmdline --install, and "
                                "reboot"
                              : "installed, but no longer asked for: run hugepagesctl cmdline --remove, and "
                                "reboot");
                break;
        case CMDLINE_CONTRADICTED:
                puts(one_has_to_go(c) ? "contradicted: one of the two has to go"
                                      : "contradicted: one of the two has to be written in another way");
                break;
        case CMDLINE_NOT_JUDGED:
                puts(c->unreadable ? "not judged: what the boot loader has is not known (above)"
                     : c->faulty   ? "not judged: a drop-in has an error (above); correct it first"
                                 : "not judged: a drop-in has an unknown key or section (above); correct it "
                                   "first");
                break;
        }
}

void cmdline_print_check(const Cmdline *c) {
        const char *reason = switched_off_to_request(c->off);

        if (reason)
                print_line(c, format_text("%s", reason));
        if (cmdline_asks_nothing(c))
                ;
        else if (!*c->line)
                puts("the drop-ins ask for no kernel arguments");
        else
                print_line(c, format_text("the drop-ins ask for: %s", c->line));
        if (cmdline_has_kernel(c))
                print_comparison(c, "running kernel", &c->running);
        if (c->for_root)
                print_line(c, format_text("%s: %s cannot be read: run it as root", c->loader->name,
                                          c->for_root));
        if (cmdline_knows_loader(c))
                print_comparison(c, c->loader->name, &c->next);
        print_contradictions(c);
        print_state(c);
}

/* JSON. */

static const char *presence_to_string(Presence p) {
        static const char *const names[] = {
                [PRESENCE_PRESENT] = "present",     [PRESENCE_MISSING] = "missing",
                [PRESENCE_DIFFERENT] = "different", [PRESENCE_EXTRA] = "extra",
                [PRESENCE_IGNORED] = "ignored",
        };

        return names[p];
}

static const char *state_to_string(CmdlineState s) {
        static const char *const names[] = {
                [CMDLINE_IN_PLACE] = "in-place",           [CMDLINE_REBOOT_NEEDED] = "reboot-needed",
                [CMDLINE_NOT_INSTALLED] = "not-installed", [CMDLINE_OUTDATED] = "outdated",
                [CMDLINE_CONTRADICTED] = "contradicted",   [CMDLINE_NOT_JUDGED] = "not-judged",
        };

        return names[s];
}

static struct json_object *comparison_json(const Comparison *comparison) {
        struct json_object *list = json_new_array();

        for (size_t i = 0; i < comparison->n; i++) {
                const ComparedArgument *a = &comparison->items[i];
                struct json_object *item = json_new_object();

                json_add_string(item, "state", presence_to_string(a->presence));
                json_add_string(item, "wanted", a->wanted);
                json_add_string(item, "found", a->found);
                json_append(list, item);
        }
        return list;
}

static struct json_object *arguments_json(const Cmdline *c) {
        struct json_object *list = json_new_array();

        for (size_t i = 0; i < c->arguments.n; i++) {
                const Argument *a = &c->arguments.items[i];
                struct json_object *item = json_new_object();

                json_add_string(item, "text", a->text);
                json_add_source(item, "source", a->source);
                json_append(list, item);
        }
        return list;
}

static struct json_object *loader_json(const Cmdline *c) {
        struct json_object *loader;

        if (!c->loader)
                return NULL;
        loader = json_new_object();
        json_add_string(loader, "name", c->loader->name);
        json_add_string(loader, "where", c->loader->where);
        json_add_string(loader, "ours", c->configured.ours);
        return loader;
}

static struct json_object *contradictions_json(const Cmdline *c) {
        struct json_object *list = json_new_array();

        for (size_t i = 0; i < c->n_contradictions; i++) {
                struct json_object *item = json_new_object();

                json_add_string(item, "wanted", c->contradictions[i].wanted);
                json_add_string(item, "found", c->contradictions[i].found);
                json_add_string(item, "where", c->contradictions[i].where);
                json_append(list, item);
        }
        return list;
}

void cmdline_print_json(const Cmdline *c, Tristate changed) {
        struct json_object *document = json_new_object();

        json_add_string(document, "kernel", c->release);
        json_add_string(document, "line", c->line);
        json_add(document, "arguments", arguments_json(c));
        json_add(document, "loader", loader_json(c));
        json_add(document, "running", comparison_json(&c->running));
        json_add(document, "next_boot", cmdline_knows_loader(c) ? comparison_json(&c->next) : NULL);
        json_add(document, "contradictions", contradictions_json(c));
        json_add_string(document, "state", state_to_string(c->state));
        if (changed == TRISTATE_UNSET)
                json_add(document, "changed", NULL);
        else
                json_add_bool(document, "changed", changed == TRISTATE_YES);
        json_add_diagnostics(document, &c->diagnostics);
        json_print(document);
}
