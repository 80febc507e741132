/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl initrd: the drop-in that goes into the initrd, and the way to build one with it. */

#include <fcntl.h>

#include "apply/resolve.h"
#include "basic/format.h"
#include "boot/arguments.h"
#include "boot/compare.h"
#include "config/dropins.h"
#include "config/origins.h"
#include "config/text.h"
#include "hugepagesctl/initrd-built.h"
#include "hugepagesctl/initrd.h"

#define UPDATE_INITRAMFS "/usr/sbin/update-initramfs"
#define DRACUT "/usr/bin/dracut"
#define OSTREE_BOOTED "/run/ostree-booted"
#define UPDATE_HINT "\"hugepagesctl initrd --update\" builds it anew"
#define OR_LEAVE_HINT UPDATE_HINT ", Initrd=no in [System] leaves it out"

/* The drop-in. All pools are in it, not only gigantic ones: what KeepFree= allows is one sum, and essential
 * pools come first whatever their page size. Values are written in one form however they were spelt, so that
 * two texts differ only where something differs. */

static bool reserves(const Pool *p) {
        return !p->section.dropped && p->size.type != AMOUNT_UNSET;
}

static bool is_gigantic(const Pool *p, const Host *h) {
        return reserves(p) &&
               page_size_is_gigantic(h, p->page_size > 0 ? p->page_size : h->default_page_size);
}

/* NULL where there is none. */
static const Pool *first_gigantic(const Config *c, const Host *h) {
        for (size_t i = 0; i < c->n_pools; i++)
                if (is_gigantic(c->pools[i], h))
                        return c->pools[i];
        return NULL;
}

/* What origins_restore() reads. */
static void put_origin(FILE *f, Source source) {
        _cleanup_free_ char *path = source.file ? text_escape(source.file) : NULL;

        if (path)
                fprintf(f, "# %s:%u\n", path, source.line);
}

/* Takes the value over. */
static void put_key(FILE *f, const Section *s, const char *key, char *value) {
        put_origin(f, section_key_source(s, key));
        fprintf(f, "%s=%s\n", key, value);
        free(value);
}

static char *format_yes_no(bool b) {
        return format_text("%s", b ? "yes" : "no");
}

static void put_system(FILE *f, const System *system) {
        const Section *s = &system->section;
        uint64_t usec = system->timeout_usec;

        putc('\n', f);
        put_origin(f, s->source);
        fputs("[System]\n", f);
        if (system->keep_free.type != AMOUNT_UNSET)
                put_key(f, s, "KeepFree", format_amount(&system->keep_free));
        put_key(f, s, "TimeoutSec",
                usec % 1000000 == 0 ? format_text("%" PRIu64 "s", usec / 1000000)
                                    : format_text("%" PRIu64 "us", usec));
        put_key(f, s, "Compact", format_yes_no(system->compact));
        put_key(f, s, "DropCaches", format_yes_no(system->drop_caches));
        if (system->optimize_vmemmap != TRISTATE_UNSET)
                put_key(f, s, "OptimizeVmemmap", format_yes_no(system->optimize_vmemmap == TRISTATE_YES));
}

static void put_pool(FILE *f, const Pool *p) {
        const Section *s = &p->section;
        bool pages = p->size.type == AMOUNT_PAGES || p->size.type == AMOUNT_NODES_PAGES;

        putc('\n', f);
        put_origin(f, s->source);
        fprintf(f, "[Pool %s]\n", s->name);
        if (p->page_size > 0)
                put_key(f, s, "PageSize", format_text("%s", FORMAT_SIZE_EXACT(p->page_size)));
        put_key(f, s, pages ? "Pages" : "Size", format_amount(&p->size));
        if (p->headroom.value > 0)
                put_key(f, s, "Headroom", format_amount(&p->headroom));
        if (p->nodes.type != NODES_ALL)
                put_key(f, s, "Nodes", format_nodes(&p->nodes));
        if (p->essential)
                put_key(f, s, "Essential", format_yes_no(true));
}

static char *format_dropin(const Config *c) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                out_of_memory();
        fputs("# For the initrd, written by hugepagesctl initrd. Above each line: where it is from.\n", f);
        put_system(f, &c->system);
        for (size_t i = 0; i < c->n_pools; i++)
                if (reserves(c->pools[i]))
                        put_pool(f, c->pools[i]);
        if (fclose(f) != 0)
                out_of_memory();
        return text;
}

/* From the drop-ins alone: initrds are also built where this kernel is not the one that they are for. Who
 * judges the initrd of this machine adds what this machine says of them. */
typedef struct Wanted {
        Diagnostics diagnostics; /* of the drop-ins; in wanted_judge(), the errors of the plan too */
        Config *config;
        Host *host;
        bool declined;    /* nothing is wanted, whatever the pools are */
        const Pool *pool; /* the first gigantic one; NULL for none */
        char *text;       /* "" where there is nothing to do for the initrd */
        bool on_cmdline;  /* the running kernel's command line has all gigantic pages */
} Wanted;

static void wanted_done(Wanted *w) {
        host_free(w->host);
        config_free(w->config);
        diag_done(&w->diagnostics);
        free(w->text);
}

static void wanted_rewrite(Wanted *w) {
        w->pool = first_gigantic(w->config, w->host);
        free(w->text);
        w->text = w->pool && !w->declined ? format_dropin(w->config) : format_text("%s", "");
}

static void wanted_load(const Options *o, Wanted *w) {
        Diagnostics of_host = {}; /* of the machine that builds: no matter */

        if (config_load(o->root, &w->config, &w->diagnostics) < 0 ||
            host_load(o->root, HOST_SIZES, &w->host, &of_host) < 0)
                out_of_memory();
        diag_done(&of_host);
        w->declined = !w->config->system.initrd || unit_is_masked_for_good(o->root);
        wanted_rewrite(w);
}

/* What of a page size the plan's pools ask for, in pages. */
static uint64_t requested_pages(const Plan *p, size_t size_index) {
        uint64_t pages = 0;

        for (size_t i = 0; i < p->n_pools; i++)
                if (p->pools[i].size_index == size_index)
                        pages = add_sat(pages, p->pools[i].requested);
        return pages;
}

/* Of every gigantic page size that is asked for, hugepages= has as many. */
static bool is_on_cmdline(const Plan *p) {
        BootSettings settings;
        bool all = true;

        if (!p->host->cmdline ||
            boot_settings_parse(p->host->cmdline, p->host->default_page_size, &settings) < 0)
                return false;
        for (size_t i = 0; i < p->host->n_sizes && all; i++) {
                uint64_t bytes = p->host->sizes[i].bytes, pages = requested_pages(p, i);
                const BootSetting *s = boot_settings_find(&settings, BOOT_PAGES, bytes);

                if (pages > 0 && page_size_is_gigantic(p->host, bytes))
                        all = s && s->value && boot_value_sum(s->value) >= pages;
        }
        boot_settings_done(&settings);
        return all;
}

/* In a container, and where no /sys tells the page sizes, an image is made for another machine. */
static bool is_this_machine(const Options *o, const Host *h) {
        return h->n_sizes > 0 && switched_off(o->root) != SWITCHED_OFF_CONTAINER;
}

/* A pool that this machine cannot have is lost as by a misspelling: what is wrong with it joins the
 * mistakes, and it leaves the text. */
static void wanted_judge(const Options *o, Wanted *w) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        Diagnostics of_host = {}, of_plan = {};
        PlanInput input = { .config = w->config, .pci_node = resolve_pci_node, .userdata = o->root };

        if (w->declined || !is_this_machine(o, w->host))
                return;
        host_free(TAKE_PTR(w->host));
        if (host_load(o->root, HOST_ALL, &w->host, &of_host) < 0)
                out_of_memory();
        diag_done(&of_host);
        input.host = w->host;
        if (plan_make(&input, &plan, &of_plan) < 0)
                out_of_memory();
        for (size_t i = 0; i < of_plan.n; i++)
                if (of_plan.items[i].severity == SEVERITY_ERROR)
                        diag_error(&w->diagnostics,
                                   ((Source){ of_plan.items[i].file, of_plan.items[i].line }), "%s",
                                   of_plan.items[i].message);
        diag_done(&of_plan);
        w->on_cmdline = is_on_cmdline(plan);
        wanted_rewrite(w);
}

static bool is_first_unknown(const Config *c, const Diagnostic *d) {
        _cleanup_free_ char *text = diag_format(d);

        return streq_ptr(c->unknown_first, text);
}

/* What may have cost a pool here: an error, or else a name that nobody knows. NULL for nothing. */
static const Diagnostic *find_mistake(const Wanted *w) {
        const Diagnostics *d = &w->diagnostics;

        for (size_t i = 0; i < d->n && !w->declined; i++)
                if (d->items[i].severity == SEVERITY_ERROR)
                        return &d->items[i];
        for (size_t i = 0; i < d->n && !w->declined && w->config->unknown > 0; i++)
                if (is_first_unknown(w->config, &d->items[i]))
                        return &d->items[i];
        return NULL;
}

/* What the initrd has. */

/* Its text and time. "" and 0 where there is none. */
static char *read_copy(const Options *o, const char *path, struct timespec *ret_time) {
        _cleanup_close_ int fd = root_open(o->root, path, O_RDONLY);
        struct stat st;
        char *text;

        *ret_time = (struct timespec){};
        if (fd < 0 || fstat(fd, &st) < 0 || root_read_file(o->root, path, DROPIN_SIZE_MAX, &text, NULL) < 0)
                return format_text("%s", "");
        *ret_time = st.st_mtim;
        return text;
}

static bool is_later(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static const char *initrd_tool(const Options *o) {
        static const char *const tools[] = { UPDATE_INITRAMFS, DRACUT };

        for (size_t i = 0; i < ELEMENTSOF(tools); i++)
                if (root_exists(o->root, tools[i]))
                        return tools[i];
        return NULL;
}

/* What the newest initrd that is known of reserves. NULL where none has ever had a part of ours. Two
 * witnesses: what was in the one that this system has booted with, and what was put into the one that was
 * built here last. An image that was built elsewhere leaves only the first, one that has not booted yet only
 * the second. */
static char *initrd_contents(const Options *o) {
        struct timespec booted_at, built_at;
        _cleanup_free_ char *booted = read_copy(o, INITRD_BOOTED_PATH, &booted_at),
                            *built = read_copy(o, INITRD_BUILT_PATH, &built_at);

        if (booted_at.tv_sec == 0 && built_at.tv_sec == 0)
                return NULL;
        return is_later(&booted_at, &built_at) ? TAKE_PTR(booted) : TAKE_PTR(built);
}

/* The next line that says something; NULL at the end. */
static const char *next_line(const char **p, size_t *ret_length) {
        while (**p) {
                const char *line = *p;

                *ret_length = strcspn(line, "\n");
                *p += *ret_length + (line[*ret_length] == '\n');
                if (*ret_length > 0 && *line != '#')
                        return line;
        }
        return NULL;
}

/* But for comments: lines may have moved. */
static bool same_dropin(const char *a, const char *b) {
        const char *x, *y;
        size_t n = 0, m = 0;

        do {
                x = next_line(&a, &n);
                y = next_line(&b, &m);
        } while (x && y && n == m && memcmp(x, y, n) == 0);
        return !x && !y;
}

static bool has_line(const char *text, const char *line, size_t length) {
        const char *other;
        size_t n;

        while ((other = next_line(&text, &n)))
                if (n == length && memcmp(other, line, n) == 0)
                        return true;
        return false;
}

/* The name of the first pool that the initrd has, and that is none of those wanted; NULL where there is
 * none.
 */
static char *find_lost_pool(const Options *o, const Wanted *w) {
        _cleanup_free_ char *contents = initrd_contents(o);
        const char *p = contents ?: "", *line;
        size_t n;

        while ((line = next_line(&p, &n))) {
                const char *name = startswith(line, "[Pool ");

                if (name && !has_line(w->text, line, n))
                        return format_text("%.*s", (int) (line + n - name) - 1, name);
        }
        return NULL;
}

/* What the initrd lacks, one sentence; NULL for nothing. asked: an initrd was asked for. Otherwise it is
 * only judged where one has had the pools before: nobody is to be talked into it who has chosen another way.
 */
static char *find_fault(const Options *o, const Wanted *w, bool asked) {
        _cleanup_free_ char *contents = initrd_contents(o);

        if (!contents && !asked)
                return NULL;
        if (same_dropin(w->text, contents ?: ""))
                return NULL;
        /* It may be better than what would be built anew. */
        if (find_mistake(w))
                return NULL;
        if (isempty(w->text))
                return format_text(
                        "the initrd is stale, it reserves gigantic pages that it should not; " UPDATE_HINT);
        if (isempty(contents))
                return w->on_cmdline && !asked ? NULL
                                               : format_text("the initrd does not reserve the pages of pool "
                                                             "%s; " OR_LEAVE_HINT,
                                                             w->pool->section.name);
        return format_text(
                "the initrd is stale, it was built for other pools than there are now; " OR_LEAVE_HINT);
}

static char *load_fault(const Options *o, bool asked) {
        _cleanup_(wanted_done) Wanted w = {};

        wanted_load(o, &w);
        wanted_judge(o, &w);
        return find_fault(o, &w, asked);
}

char *initrd_fault(const Options *o) {
        return load_fault(o, o->initrd);
}

/* Behind the mistake itself. */
static void lint_lost_pool(const Options *o, const Wanted *w, const Diagnostic *mistake, Diagnostics *d) {
        _cleanup_free_ char *pool = find_lost_pool(o, w);

        if (pool)
                diag_warning(d, ((Source){ mistake->file, mistake->line }),
                             "the initrd still has pool %s, which %s may have cost here; correct that first",
                             pool, mistake->severity == SEVERITY_ERROR ? "an error" : "an unknown name");
}

void initrd_lint(const Options *o, Diagnostics *d) {
        _cleanup_(wanted_done) Wanted w = {};
        _cleanup_free_ char *fault = NULL;
        const Diagnostic *mistake;

        wanted_load(o, &w);
        wanted_judge(o, &w);
        mistake = find_mistake(&w);
        if (mistake)
                lint_lost_pool(o, &w, mistake, d);
        fault = find_fault(o, &w, /* asked= */ false);
        if (fault)
                diag_warning(d, w.pool ? w.pool->section.source : (Source){}, "%s", fault);
}

/* Building. */

/* NULL after an error message where there is no initrd that could be built here. */
static const char *const *update_command(const Options *o) {
        static const char *const initramfs_tools[] = { UPDATE_INITRAMFS, "-u", NULL };
        static const char *const dracut[] = { DRACUT, "--force", "--regenerate-all", NULL };
        const char *tool = initrd_tool(o);

        if (root_exists(o->root, OSTREE_BOOTED)) {
                ctl_error("the initrd is part of this system's image: build the image anew with the "
                          "drop-ins in it, or see rpm-ostree initramfs --help");
                return NULL;
        }
        if (!tool) {
                ctl_error("neither update-initramfs nor dracut is installed");
                return NULL;
        }
        return streq(tool, UPDATE_INITRAMFS) ? initramfs_tools : dracut;
}

static void print_command(const char *const *command) {
        for (; *command; command++)
                printf("%s%c", *command, command[1] ? ' ' : '\n');
}

/* The initrd that is there may be the last thing that still has the pool. */
static bool may_build(const Options *o) {
        _cleanup_(wanted_done) Wanted w = {};
        _cleanup_free_ char *text = NULL;
        const Diagnostic *mistake;

        wanted_load(o, &w);
        wanted_judge(o, &w);
        mistake = find_mistake(&w);
        if (!mistake)
                return true;
        text = diag_format(mistake);
        ctl_error("not built, correct that first: %s may have cost a pool: %s",
                  mistake->severity == SEVERITY_ERROR ? "an error" : "an unknown name", text ?: "");
        return false;
}

/* "vm" or "vm, dpdk"; NULL for none. */
static char *list_gigantic(const Wanted *w) {
        char *list = NULL;

        for (size_t i = 0; i < w->config->n_pools && !isempty(w->text); i++) {
                _cleanup_free_ char *before = list;

                if (is_gigantic(w->config->pools[i], w->host))
                        list = format_text("%s%s%s", before ?: "", before ? ", " : "",
                                           w->config->pools[i]->section.name);
                else
                        TAKE_PTR(before);
        }
        return list;
}

static void print_built(const Options *o, const Built *built) {
        _cleanup_(wanted_done) Wanted w = {};
        _cleanup_free_ char *pools = NULL;
        const char *with = built->n > 1 ? "them" : "it";

        wanted_load(o, &w);
        pools = list_gigantic(&w);
        for (size_t i = 0; i < built->n; i++)
                printf("built: %s\n", built->paths[i]);
        if (built->n == 0)
                puts("the initrd was built");
        if (pools)
                printf("the next boot with %s has the pages of pool %s from the initrd\n", with, pools);
        else
                printf("the next boot with %s reserves nothing in the initrd\n", with);
}

/* The tool itself may have done well, and yet the boot loader does not get it. */
static int report_built(const Options *o, time_t since) {
        _cleanup_(built_done) Built built = {};
        Diagnostics d = {};
        int r = built_find(o->root, since, &built, &d);
        bool all;

        if (r < 0)
                ctl_error("what the boot loader has cannot be told: %s", strerror(-r));
        for (size_t i = 0; i < d.n; i++)
                ctl_diagnostic(&d.items[i]);
        all = r >= 0 && d.n_warnings == 0;
        diag_done(&d);
        if (all && !o->json)
                print_built(o, &built);
        return all ? CTL_OK : CTL_FAILURE;
}

static int build(const Options *o, const char *const *command) {
        _cleanup_free_ char *fault = NULL;
        time_t since = time(NULL);
        int r = command_run(NULL, command, NULL);

        if (r != 0) {
                ctl_error("%s has failed%s%s", command[0], r > 0 ? "" : ": ", r > 0 ? "" : strerror(-r));
                return CTL_FAILURE;
        }
        fault = load_fault(o, /* asked= */ true);
        if (!fault)
                return report_built(o, since);
        ctl_error("%s has not put the pools into the initrd: is hugepages-setup left out in its "
                  "configuration?",
                  command[0]);
        return CTL_FAILURE;
}

static int update(const Options *o) {
        const char *const *command = update_command(o);

        if (!command || (!o->dry_run && !ctl_is_root(o)))
                return CTL_FAILURE;
        if (o->root && !o->dry_run) {
                ctl_error("--update builds no initrd below another root");
                return CTL_FAILURE;
        }
        if (!may_build(o))
                return CTL_FAILURE;
        print_command(command);
        return o->dry_run ? CTL_OK : build(o, command);
}

int initrd_renew(const Options *o) {
        _cleanup_free_ char *fault = load_fault(o, /* asked= */ true);
        const char *const *command = fault ? update_command(o) : NULL;

        if (!fault)
                return CTL_OK;
        return command ? build(o, command) : CTL_FAILURE;
}

/* For the hooks of those who build initrds: what they were given. */
static int record(const Options *o, const char *text) {
        int r;

        if (isempty(text) && !root_exists(o->root, INITRD_BUILT_PATH))
                return CTL_OK;
        r = root_mkdir_p(o->root, "/var/lib/hugepages-setup", 0755);
        if (r >= 0)
                r = root_write_file_atomic(o->root, INITRD_BUILT_PATH, text);
        if (r >= 0)
                return CTL_OK;
        ctl_error("%s: %s", INITRD_BUILT_PATH, strerror(-r));
        return CTL_FAILURE;
}

/* For who watches it being built. Where nothing is wanted, nothing can be lost. */
static void print_mistakes(const Wanted *w) {
        for (size_t i = 0; i < w->diagnostics.n && !w->declined; i++)
                ctl_diagnostic(&w->diagnostics.items[i]);
}

/* An error in a drop-in is no failure here: the hooks would leave out all pools. A record that cannot be
 * written is one, which is asked for apart, when the pools are in. */
int verb_initrd(const Options *o, char *const *arguments) {
        _cleanup_(wanted_done) Wanted w = {};

        if (o->record && o->update) {
                ctl_error("--record and --update exclude each other");
                return CTL_USAGE;
        }
        if (o->update)
                return update(o);
        wanted_load(o, &w);
        print_mistakes(&w);
        if (w.pool && unit_is_masked_for_good(o->root))
                fprintf(stderr, "%s\n", switched_off_to_request(SWITCHED_OFF_MASKED));
        fputs(w.text, stdout);
        return o->record ? record(o, w.text) : CTL_OK;
}
