/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl cmdline: the kernel arguments that the drop-ins ask for, and the boot loader's. */

#include <inttypes.h>
#include <sys/utsname.h>

#include "apply/resolve.h"
#include "basic/format.h"
#include "basic/parse.h"
#include "boot/edit.h"
#include "config/text.h"
#include "host/foreign.h"
#include "hugepagesctl/cmdline.h"

#define OSRELEASE_PATH "/proc/sys/kernel/osrelease"
#define CMDLINE_PATH "/proc/cmdline"
#define ARCH_PATH "/proc/sys/kernel/arch" /* 6.1 and later */

static void cmdline_done(Cmdline *c) {
        for (size_t i = 0; i < c->n_contradictions; i++) {
                free(c->contradictions[i].wanted);
                free(c->contradictions[i].found);
                free(c->contradictions[i].where);
                free(c->contradictions[i].write);
        }
        free(c->contradictions);
        comparison_done(&c->running);
        comparison_done(&c->next);
        comparison_done(&c->ours);
        comparison_done(&c->others);
        loader_arguments_done(&c->configured);
        arguments_done(&c->arguments);
        free(c->line);
        free(c->release);
        free(c->for_root);
        if (c->host)
                host_free(c->host);
        if (c->config)
                config_free(c->config);
        diag_done(&c->diagnostics);
}

/* What is asked for. */

/* Warnings as well: a key or section that is not known may be what was to ask for pages. */
static void take_diagnostics(Cmdline *c, const Diagnostics *from) {
        for (size_t i = 0; i < from->n; i++)
                diag_add(&c->diagnostics, from->items[i].severity,
                         (Source){ from->items[i].file, from->items[i].line }, "%s", from->items[i].message);
}

static int read_machine(Cmdline *c, char **ret_architecture) {
        const Options *o = c->options;
        struct utsname u;

        if (!o->root && uname(&u) >= 0)
                *ret_architecture = format_text("%s", u.machine);
        else
                (void) root_read_line(o->root, ARCH_PATH, ret_architecture);
        if (o->kernel)
                c->release = format_text("%s", o->kernel);
        else if (root_read_line(o->root, OSRELEASE_PATH, &c->release) < 0 && !o->remove) {
                ctl_error("there is no " OSRELEASE_PATH
                          " to tell the kernel's version: bind-mount /proc and "
                          "/sys there, or name it with --kernel");
                return -ENOENT;
        }
        return 0;
}

static int run_tool(void *userdata, const char *const *argv, char **ret_output) {
        Cmdline *c = userdata;
        int r = command_run(NULL, argv, ret_output);

        if (r > 0 && !c->failed_tool) {
                c->failed_tool = argv[0];
                c->failed_status = r;
        }
        return r;
}

static int run_nothing(void *userdata, const char *const *argv, char **ret_output) {
        return -EPERM;
}

/* Which file the error that came last is about. */
static void find_file_for_root(Cmdline *c) {
        const Diagnostics *d = c->loader_context.diagnostics;

        if (d->n > 0 && d->items[d->n - 1].file)
                c->for_root = format_text("%s", d->items[d->n - 1].file);
}

/* Without the loader's own tools where it may be one of them that asks: what they alone could tell is not
 * known then. Where it fails otherwise, the error is among the diagnostics. */
static void read_loader(Cmdline *c, bool with_tools) {
        Diagnostics none = {};
        int r = 0;

        c->loader_context = (LoaderContext){
                .root = c->options->root,
                .run = with_tools ? run_tool : run_nothing,
                .userdata = c,
                .diagnostics = with_tools ? &c->diagnostics : &none,
        };
        loader_arguments_done(&c->configured);
        c->loader = loader_find(&c->loader_context);
        if (c->loader)
                r = c->loader->read(&c->loader_context, &c->configured);
        c->failed_tool = NULL; /* of a change alone */
        c->unreadable = with_tools && r < 0;
        if (c->unreadable && (r == -EACCES || r == -EPERM) && geteuid() != 0)
                find_file_for_root(c);
        c->loader_context.diagnostics = &c->diagnostics;
        diag_done(&none);
}

/* A container's /sys is the host's, and the command line is not its own, unless it is where an image is
 * made; while the service is masked, it is as if the package were not there. hugepages_setup=off is for one
 * boot, and leaves the next one its pages. */
static void find_switch(Cmdline *c) {
        SwitchedOff off = switched_off(c->options->root);

        if (unit_is_masked_for_good(c->options->root))
                c->off = SWITCHED_OFF_MASKED;
        else if (off == SWITCHED_OFF_CMDLINE ||
                 (off == SWITCHED_OFF_CONTAINER && !(c->loader && c->loader->for_images)))
                c->off = off;
}

static int make_arguments(Cmdline *c, const char *architecture) {
        ArgumentsInput input = {
                .config = c->config,
                .host = c->host,
                .others = c->configured.others,
                .architecture = architecture,
                .pci_node = resolve_pci_node,
                .userdata = c->options->root,
        };

        if (c->release && kernel_version_parse(c->release, &input.kernel) < 0) {
                ctl_error("%s: not the version of a kernel (expected one such as 6.12)", c->release);
                return -EINVAL;
        }
        if (!cmdline_asks_nothing(c) && c->release &&
            arguments_make(&input, &c->arguments, &c->diagnostics) < 0)
                out_of_memory();
        c->line = arguments_line(&c->arguments);
        if (!c->line)
                out_of_memory();
        return 0;
}

/* read_loader() comes first: what else is on the command line counts. */
static int load(Cmdline *c) {
        _cleanup_free_ char *architecture = NULL;
        size_t n_errors = c->diagnostics.n_errors;
        Diagnostics d = {};
        int r = read_machine(c, &architecture);

        if (r < 0)
                return r;
        find_switch(c);
        c->max_bytes = command_line_max(architecture);
        if (config_load(c->options->root, &c->config, &d) < 0 ||
            host_load(c->options->root, HOST_ALL, &c->host, &d) < 0)
                out_of_memory();
        if (!cmdline_asks_nothing(c))
                take_diagnostics(c, &d);
        diag_done(&d);
        r = make_arguments(c, architecture);
        c->faulty = c->diagnostics.n_errors > n_errors;
        diag_sort(&c->diagnostics);
        return r;
}

/* What is there. */

static void compare(const Cmdline *c, const char *line, Comparison *ret) {
        if (compare_arguments(c->line, line, c->host->default_page_size, ret) < 0)
                out_of_memory();
}

/* Takes its texts over. */
static void add_contradiction(Cmdline *c, Contradiction contradiction) {
        if (GROW_ARRAY(c->contradictions, c->n_contradictions) < 0)
                out_of_memory();
        c->contradictions[c->n_contradictions++] = contradiction;
}

static char *others_place(const Cmdline *c) {
        return format_text("%s", c->configured.others_path ?: c->loader->name);
}

/* The kernel takes the first hugepagesz= of a size, and the last word for most others: either way somebody
 * has decided something else, and we do not decide against him. */
static void find_contradictions(Cmdline *c) {
        for (size_t i = 0; i < c->others.n; i++)
                if (c->others.items[i].presence == PRESENCE_DIFFERENT)
                        add_contradiction(c, (Contradiction){
                                                     .wanted = format_text("%s", c->others.items[i].wanted),
                                                     .found = format_text("%s", c->others.items[i].found),
                                                     .where = others_place(c),
                                             });
}

/* The next boot's command line with arguments for ours. */
static char *next_line(const Cmdline *c, const char *arguments) {
        const char *others = c->configured.others;
        size_t before = strlen(others) - c->configured.behind;

        return format_text("%.*s %s %s", (int) before, others, arguments, others + before);
}

static const BootSetting *find_text(const BootSettings *s, const char *text) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->items[i].text, text))
                        return &s->items[i];
        return NULL;
}

/* A hugepages= without a hugepagesz= means the default size where it comes first, and nothing behind other
 * words of the kind, such as ours. */
static void find_lost(Cmdline *c) {
        _cleanup_(boot_settings_done) BootSettings alone = {}, together = {};
        _cleanup_free_ char *next = NULL;

        if (!cmdline_knows_loader(c) || !*c->line)
                return;
        next = next_line(c, c->line);
        if (boot_settings_parse(c->configured.others, c->host->default_page_size, &alone) < 0 ||
            boot_settings_parse(next, c->host->default_page_size, &together) < 0)
                out_of_memory();
        for (size_t i = 0; i < c->others.n; i++) {
                const ComparedArgument *a = &c->others.items[i];
                const BootSetting *s, *then;

                if (a->presence != PRESENCE_EXTRA || !(s = find_text(&alone, a->found)) || !s->bare)
                        continue;
                then = find_text(&together, a->found);
                if (then && then->ignored)
                        add_contradiction(
                                c, (Contradiction){
                                           .wanted = format_text("%s", c->line),
                                           .found = format_text("%s", a->found),
                                           .where = others_place(c),
                                           .write = format_text("hugepagesz=%s %s",
                                                                FORMAT_SIZE_EXACT(s->page_size), a->found),
                                   });
        }
}

/* vm.nr_hugepages means the default size, and would be that many larger pages after the next boot. */
static void find_sysctl_contradictions(Cmdline *c) {
        uint64_t declared = c->config->system.default_page_size, pages;
        Foreign f = {};

        if (cmdline_asks_nothing(c) || declared == 0 || declared == c->host->default_page_size)
                return;
        if (foreign_load(c->options->root, &f) < 0)
                out_of_memory();
        for (size_t i = 0; i < f.n; i++) {
                const ForeignSetting *s = &f.items[i];

                if (s->kind == FOREIGN_SYSCTL && startswith(s->key, "vm.nr_") &&
                    (parse_u64(s->value, &pages) < 0 || pages > 0))
                        add_contradiction(c, (Contradiction){
                                                     .wanted = format_text("default_hugepagesz=%s",
                                                                           FORMAT_SIZE_EXACT(declared)),
                                                     .found = format_text("%s=%s", s->key, s->value),
                                                     .where = format_text("%s:%u", s->file, s->line),
                                             });
        }
        foreign_done(&f);
}

static bool was_found(const Comparison *comparison, const char *text) {
        for (size_t i = 0; i < comparison->n; i++)
                if (streq_ptr(comparison->items[i].found, text))
                        return true;
        return false;
}

bool cmdline_is_stale(const Cmdline *c, const ComparedArgument *a) {
        return cmdline_knows_loader(c) && a->presence == PRESENCE_EXTRA && !was_found(&c->others, a->found);
}

static bool any_stale(const Cmdline *c) {
        for (size_t i = 0; i < c->running.n; i++)
                if (cmdline_is_stale(c, &c->running.items[i]))
                        return true;
        return false;
}

static CmdlineState decide(const Cmdline *c) {
        bool running = comparison_complete(&c->running);

        if (c->faulty || c->loses || c->unreadable)
                return CMDLINE_NOT_JUDGED;
        if (c->n_contradictions > 0)
                return CMDLINE_CONTRADICTED;
        if (!cmdline_knows_loader(c))
                return running ? CMDLINE_IN_PLACE : CMDLINE_NOT_INSTALLED;
        if (!comparison_complete(&c->next) || c->ours.n_different + c->ours.n_extra > 0)
                return *c->configured.ours ? CMDLINE_OUTDATED : CMDLINE_NOT_INSTALLED;
        return running && !any_stale(c) ? CMDLINE_IN_PLACE : CMDLINE_REBOOT_NEEDED;
}

static void compare_loader(Cmdline *c) {
        _cleanup_free_ char *next = NULL;

        if (!cmdline_knows_loader(c))
                return;
        next = next_line(c, c->configured.ours);
        compare(c, next, &c->next);
        compare(c, c->configured.ours, &c->ours);
        compare(c, c->configured.others, &c->others);
}

/* Where nothing is asked for, a name that is not known may have cost all of it. */
static void find_loss(Cmdline *c) {
        if (cmdline_asks_nothing(c) || c->config->unknown == 0)
                return;
        c->loses = !*c->line;
        if (!c->loses && cmdline_knows_loader(c) &&
            arguments_lose(c->configured.ours, c->line, c->host->default_page_size, &c->loses) < 0)
                out_of_memory();
}

bool cmdline_has_kernel(const Cmdline *c) {
        return !c->options->root || root_exists(c->options->root, CMDLINE_PATH);
}

static void look(Cmdline *c) {
        compare_loader(c);
        find_loss(c);
        if (cmdline_has_kernel(c))
                compare(c, c->host->cmdline, &c->running);
        find_contradictions(c);
        find_lost(c);
        find_sysctl_contradictions(c);
        c->state = decide(c);
}

/* After a change. */
static void look_again(Cmdline *c) {
        comparison_done(&c->next);
        comparison_done(&c->ours);
        comparison_done(&c->others);
        read_loader(c, /* with_tools= */ true);
        compare_loader(c);
        find_loss(c);
        c->state = decide(c);
}

/* Of the next boot's line with the arguments; 0 where that is not known, or there are none. */
static size_t next_bytes(const Cmdline *c) {
        return cmdline_knows_loader(c) && *c->line ? c->configured.other_bytes + 1 + strlen(c->line) : 0;
}

static bool is_too_long(const Cmdline *c) {
        return c->max_bytes > 0 && next_bytes(c) > c->max_bytes;
}

static void warn_too_long(Cmdline *c) {
        if (is_too_long(c))
                diag_warning(
                        &c->diagnostics, (Source){ .file = c->configured.others_path },
                        "with these arguments the next boot's kernel command line has %zu bytes, of which "
                        "the kernel takes %zu",
                        next_bytes(c), c->max_bytes);
}

/* What is done. */

static void print_refusal(const Contradiction *x) {
        if (x->write)
                ctl_error("nothing was changed: %s has %s without a hugepagesz=, which the kernel would "
                          "ignore after ours: write %s",
                          x->where, x->found, x->write);
        else
                ctl_error("nothing was changed: %s has %s, against %s", x->where, x->found, x->wanted);
}

/* What an administrator did by hand counts where it is as it should be. */
static bool may_change(const Cmdline *c) {
        _cleanup_free_ char *advice = NULL;

        if (!c->loader->by_hand || comparison_complete(&c->next))
                return true;
        advice = c->loader->by_hand(&c->loader_context, c->line);
        if (!advice)
                out_of_memory();
        ctl_error("nothing was changed: %s", advice);
        return false;
}

static void print_loss(const Cmdline *c) {
        if (isempty(c->configured.ours))
                ctl_error("nothing was installed: %s", c->config->unknown_first);
        else
                ctl_error(
                        "nothing was changed: %s; what is installed stays as it is until that is corrected "
                        "(--remove takes it away)",
                        c->config->unknown_first);
}

static bool may_install(const Cmdline *c) {
        if (c->off == SWITCHED_OFF_CONTAINER) {
                ctl_error("nothing was changed: what a machine boots is not installed from within a "
                          "container; run it on that machine, or from outside with --root");
                return false;
        }
        if (!c->loader && *c->line) {
                ctl_error("no boot loader is known here; add this to the kernel command line by hand: %s",
                          c->line);
                cmdline_print_sought(c, stderr);
                return false;
        }
        if (c->unreadable) {
                ctl_error("nothing was changed: what the boot loader has is not known");
                return false;
        }
        if (c->diagnostics.n_errors > 0) {
                ctl_error("nothing was changed, since an error may have cost something that is asked for");
                return false;
        }
        if (c->loses) {
                print_loss(c);
                return false;
        }
        for (size_t i = 0; i < c->n_contradictions; i++)
                print_refusal(&c->contradictions[i]);
        if (is_too_long(c))
                ctl_error("nothing was changed: with these arguments the next boot's kernel command line "
                          "would have %zu bytes, of which the kernel takes %zu: %s",
                          next_bytes(c), c->max_bytes, c->line);
        return c->n_contradictions == 0 && !is_too_long(c) && may_change(c);
}

static bool may_remove(const Cmdline *c) {
        if (!c->loader) {
                ctl_error("no boot loader is known here: nothing can have been installed");
                cmdline_print_sought(c, stderr);
        } else if (c->loader->by_hand)
                ctl_error("%s is changed by hand here: nothing can have been installed", c->loader->where);
        return c->loader && !c->loader->by_hand;
}

/* A second time they would do no harm, but hide from everybody which of the two counts. */
bool cmdline_is_by_others(const Cmdline *c) {
        return cmdline_knows_loader(c) && *c->line && isempty(c->configured.ours) &&
               comparison_complete(&c->others);
}

/* Whether the loader has something else than it should have. */
static bool differs(const Cmdline *c, const char *line) {
        return !streq_ptr(c->configured.ours, line);
}

/* 1: changed, 0: it was so already, or negative errno with the reason among the diagnostics. */
static int change(Cmdline *c, const char *line) {
        if (c->loader->by_hand || (*line && cmdline_is_by_others(c)))
                return 0;
        if (c->options->dry_run)
                return differs(c, line);
        return *line ? c->loader->install(&c->loader_context, line) : c->loader->remove(&c->loader_context);
}

/* What the loader has done on the way. */
static void print_notes(const Cmdline *c, char *notes) {
        for (char *line; (line = strsep(&notes, "\n"));)
                if (*line)
                        print_wrapped(c->options, line, 0, 4);
}

static void print_change(const Cmdline *c, const char *line, bool changed, char *notes) {
        _cleanup_free_ char *text = NULL;

        if (!changed && *line && !c->loader->by_hand && cmdline_is_by_others(c)) {
                _cleanup_free_ char *place = others_place(c);

                text = format_text("%s has them already, nothing is added: %s", place, line);
        } else if (!changed)
                text = format_text("%s: nothing to change%s%s", c->loader->where, *line ? ": " : "", line);
        else if (*line)
                text = format_text("%s: %s: %s", c->loader->where,
                                   c->options->dry_run ? "would be installed" : "installed", line);
        else
                text = format_text("%s: %s", c->loader->where,
                                   c->options->dry_run ? "would be removed" : "removed");
        print_wrapped(c->options, text, 0, 4);
        print_notes(c, notes);
        if (c->options->dry_run)
                puts("nothing was written (--dry-run)");
        else if (changed && c->options->root && c->loader->tool)
                printf("written; %s is not run below another root\n", c->loader->tool);
        else if (changed)
                puts(*line ? "the next boot has them" : "the next boot does not have them");
}

/* But for the failure of the tool, which the last line tells. */
static void print_diagnostic_lines(const Cmdline *c) {
        const char *tool = c->failed_tool;

        for (size_t i = 0; i < c->diagnostics.n; i++) {
                const Diagnostic *d = &c->diagnostics.items[i];

                if (tool && streq_ptr(d->file, tool))
                        tool = NULL;
                else
                        ctl_diagnostic(d);
        }
}

/* What cannot be put back becomes an error of its own, behind the first. */
static void print_failure(const Cmdline *c, int r, size_t n_errors) {
        const char *slash = c->failed_tool ? strrchr(c->failed_tool, '/') : NULL;
        bool restored = c->diagnostics.n_errors <= n_errors + 1;
        _cleanup_free_ char *reason =
                c->failed_tool                       ? format_text("%s failed (exit status %d)",
                                             slash ? slash + 1 : c->failed_tool, c->failed_status)
                : c->diagnostics.n_errors > n_errors ? format_text("%s", c->loader->where)
                                                     : format_text("%s: %s", c->loader->where, strerror(-r));

        ctl_error("%s: %s", reason,
                  restored ? "nothing was changed" : "not all could be put back as it was (above)");
}

/* To hugepagesctl, where GRUB's configuration asks it for the arguments meanwhile: its warnings would be
 * ours once more. */
#define WARNED_ENV "HUGEPAGESCTL_HAS_WARNED"

/* change(), with what has to be said about it. notes: of the loader. */
static int change_and_tell(Cmdline *c, const char *line, char **ret_notes) {
        size_t n_errors = c->diagnostics.n_errors, size;
        int r;

        c->loader_context.notes = open_memstream(ret_notes, &size);
        if (!c->loader_context.notes || setenv(WARNED_ENV, "1", 1) < 0)
                out_of_memory();
        r = change(c, line);
        if (r >= 0)
                c->failed_tool = NULL;
        (void) unsetenv(WARNED_ENV);
        if (fclose(c->loader_context.notes) != 0)
                out_of_memory();
        c->loader_context.notes = NULL;
        if (r > 0 && !c->options->dry_run)
                look_again(c);
        print_diagnostic_lines(c);
        if (r < 0)
                print_failure(c, r, n_errors);
        return r;
}

/* No boot loader, and nothing for it. */
static bool has_no_work(const Cmdline *c) {
        return !c->options->remove && c->off != SWITCHED_OFF_CONTAINER && !c->loader && !*c->line &&
               c->diagnostics.n_errors == 0 && !c->loses;
}

static void print_switch(const Cmdline *c, FILE *f) {
        const char *reason = switched_off_to_request(c->off);

        if (reason)
                fprintf(f, "%s\n", reason);
}

static int run_change(Cmdline *c) {
        const char *line = c->options->remove ? "" : c->line;
        _cleanup_free_ char *notes = NULL;
        int r;

        if (!c->options->dry_run && !ctl_is_root(c->options))
                return CTL_FAILURE;
        look(c);
        if (!c->options->remove && !c->options->json)
                print_switch(c, stdout);
        if (has_no_work(c)) {
                print_diagnostic_lines(c);
                if (c->options->json)
                        cmdline_print_json(c, TRISTATE_NO);
                else
                        puts("nothing is asked for, and no boot loader is known here");
                return CTL_OK;
        }
        if (!(c->options->remove ? may_remove(c) : may_install(c))) {
                print_diagnostic_lines(c);
                return CTL_FAILURE;
        }
        r = change_and_tell(c, line, &notes);
        if (r < 0)
                return CTL_FAILURE;
        if (c->options->json)
                cmdline_print_json(c, r > 0 ? TRISTATE_YES : TRISTATE_NO);
        else
                print_change(c, line, r > 0, notes);
        return CTL_OK;
}

/* What is printed. */

static int check_status(const Cmdline *c) {
        if (c->diagnostics.n_errors > 0)
                return CTL_FAILURE;
        switch (c->state) {
        case CMDLINE_REBOOT_NEEDED:
                return CTL_DEGRADED;
        case CMDLINE_NOT_INSTALLED:
        case CMDLINE_OUTDATED:
                return CTL_NOT_APPLIED;
        case CMDLINE_CONTRADICTED:
        case CMDLINE_NOT_JUDGED:
                return CTL_FAILURE;
        case CMDLINE_IN_PLACE:
        default:
                return CTL_OK;
        }
}

/* No word about the loader: its own tools may be what asks. With a failure they keep what they were given at
 * the installation, which a name that is not known must not cost, nor that a disk's system is upgraded from
 * within a container. */
static int run_print(Cmdline *c) {
        bool warned = !!getenv(WARNED_ENV);

        warn_too_long(c);
        if (c->options->json) {
                look(c);
                cmdline_print_json(c, TRISTATE_UNSET);
        } else {
                if (*c->line)
                        puts(c->line);
                if (!warned) {
                        print_switch(c, stderr);
                        print_diagnostic_lines(c);
                }
        }
        return c->diagnostics.n_errors > 0 || c->off == SWITCHED_OFF_CONTAINER ||
                               (!cmdline_asks_nothing(c) && c->config->unknown > 0)
                       ? CTL_FAILURE
                       : CTL_OK;
}

static int run_check(Cmdline *c) {
        look(c);
        warn_too_long(c);
        if (c->options->json)
                cmdline_print_json(c, TRISTATE_UNSET);
        else {
                print_diagnostic_lines(c);
                cmdline_print_check(c);
        }
        return check_status(c);
}

/* What check and apply say. */

/* False where nothing of ours is installed, or what is cannot be told. Quick where nothing is: the loaders
 * whose tools would have to be asked remember in a file what they installed. */
static bool survey(Cmdline *c) {
        const char *root = c->options->root;

        read_loader(c, root_exists(root, INSTALLED_PATH));
        if (isempty(c->configured.ours) || !root_exists(root, OSRELEASE_PATH) || load(c) < 0)
                return false;
        look(c);
        return cmdline_knows_loader(c);
}

/* A mistake may have cost what is asked for no more. */
static char *find_fault(const Cmdline *c) {
        if (c->diagnostics.n_errors > 0 || c->config->unknown > 0)
                return NULL;
        if (!*c->line)
                return format_text("the boot loader has arguments that nothing asks for any more; "
                                   "\"hugepagesctl cmdline --remove\" takes them away");
        if (comparison_complete(&c->next) && c->ours.n_different + c->ours.n_extra == 0)
                return NULL;
        return format_text(
                "the boot loader has arguments for other pools; \"hugepagesctl cmdline --install\" "
                "renews them");
}

char *cmdline_fault(const Options *o) {
        _cleanup_(cmdline_done) Cmdline c = { .options = o };

        return survey(&c) ? find_fault(&c) : NULL;
}

void cmdline_lint(const Options *o, Diagnostics *d) {
        _cleanup_(cmdline_done) Cmdline c = { .options = o };
        _cleanup_free_ char *fault = survey(&c) ? find_fault(&c) : NULL;

        if (fault)
                diag_warning(d, c.arguments.n > 0 ? c.arguments.items[0].source : (Source){}, "%s", fault);
}

char *cmdline_of_others(const Options *o) {
        _cleanup_(cmdline_done) Cmdline c = { .options = o };
        BootSettings running = {}, others = {};
        char *line;

        if (!survey(&c))
                return NULL;
        if (boot_settings_parse(c.host->cmdline, c.host->default_page_size, &running) < 0 ||
            boot_settings_parse(c.configured.others, c.host->default_page_size, &others) < 0)
                out_of_memory();
        line = format_text("%s", "");
        for (size_t i = 0; i < running.n; i++)
                if (!running.items[i].ignored && find_text(&others, running.items[i].text)) {
                        _cleanup_free_ char *before = line;

                        line = format_text("%s %s", before, running.items[i].text);
                }
        boot_settings_done(&running);
        boot_settings_done(&others);
        return line;
}

int verb_cmdline(const Options *o, char *const *arguments) {
        _cleanup_(cmdline_done) Cmdline c = { .options = o };

        if (o->check + o->install + o->remove > 1) {
                ctl_error("--check, --install and --remove exclude each other");
                return CTL_USAGE;
        }
        if (o->dry_run && !o->install && !o->remove) {
                ctl_error("--dry-run goes with --install or --remove");
                return CTL_USAGE;
        }
        if (o->kernel && o->install && !o->root) {
                ctl_error("--kernel goes with --install below --root alone: here, what is installed is for "
                          "the running kernel");
                return CTL_USAGE;
        }
        read_loader(&c, o->check || o->install || o->remove || o->json);
        switch (load(&c)) {
        case 0:
                break;
        case -EINVAL:
                return o->kernel ? CTL_USAGE : CTL_FAILURE;
        default:
                return CTL_FAILURE;
        }
        if (o->install || o->remove)
                return run_change(&c);
        return o->check ? run_check(&c) : run_print(&c);
}
