/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepages-setup: reserves the huge pages that the drop-ins declare, at boot; run by
 * hugepages-setup.service. See hugepages-setup.service(8). */

#include <getopt.h>
#include <inttypes.h>
#include <sys/utsname.h>
#include <systemd/sd-daemon.h>

#include "apply/apply.h"
#include "apply/cgroup.h"
#include "apply/resolve.h"
#include "basic/format.h"
#include "basic/fs.h"
#include "basic/parse.h"
#include "boot/arguments.h"
#include "boot/compare.h"
#include "boot/switch.h"
#include "build-config.h"
#include "config/dropins.h"
#include "config/origins.h"
#include "config/text.h"
#include "host/foreign.h"
#include "report/conflicts.h"
#include "report/event.h"
#include "report/message-ids.h"
#include "report/report.h"

#define EXIT_USAGE 2

typedef struct Setup {
        char *root;
        bool initrd; /* the first part of a boot: gigantic pages only, see config/origins.h */
        Origins origins;
        Diagnostics diagnostics;
        Config *config;
        Host *host;
        PlanInput input;
        Plan *plan;
} Setup;

static void setup_done(Setup *s) {
        plan_free(s->plan);
        host_free(s->host);
        config_free(s->config);
        origins_done(&s->origins);
        diag_done(&s->diagnostics);
        free(s->root);
}

static uint64_t least_gigantic(const Host *h) {
        uint64_t least = UINT64_MAX;

        for (size_t i = 0; i < h->n_sizes; i++)
                if (page_size_is_gigantic(h, h->sizes[i].bytes))
                        least = MIN(least, h->sizes[i].bytes);
        return least;
}

/* Everything that a run is decided by. */
static int setup_load(Setup *s) {
        int r;

        r = config_load(s->root, &s->config, &s->diagnostics);
        if (r >= 0 && s->initrd)
                r = origins_restore(s->root, INITRD_DROPIN_PATH, s->config, &s->diagnostics, &s->origins);
        if (r < 0)
                return r;
        r = host_load(s->root, HOST_ALL, &s->host, &s->diagnostics);
        if (r < 0)
                return r;
        s->input = (PlanInput){
                .config = s->config,
                .host = s->host,
                .least_page_size = s->initrd ? least_gigantic(s->host) : 0,
                .pci_node = resolve_pci_node,
                .group_to_gid = resolve_group,
                .userdata = s->root,
        };
        r = plan_make(&s->input, &s->plan, &s->diagnostics);
        if (r < 0)
                return r;
        diag_sort(&s->diagnostics);
        return 0;
}

/* A newline, as of a file's name, would begin another assignment. */
static void notify_status(const char *status) {
        _cleanup_free_ char *text = text_escape(status);

        if (text)
                (void) sd_notifyf(0, "STATUS=%s", text);
}

static void notify_progress(void *userdata, uint64_t page_size, uint64_t reserved, uint64_t requested) {
        (void) sd_notifyf(0, "STATUS=Reserving %s pages: %" PRIu64 " of %" PRIu64,
                          FORMAT_SIZE_EXACT(page_size), reserved, requested);
}

static void notify_waiting(void *userdata) {
        notify_status("Waiting for another run to end");
}

static void log_diagnostics(const Diagnostics *d, const char *message_id) {
        for (size_t i = 0; i < d->n; i++)
                event_log_diagnostic(&d->items[i], message_id);
}

static const char *pool_message_id(const OutcomePool *p) {
        if (p->dropped)
                return MESSAGE_ID_POOL_DROPPED;
        if (p->reserved >= p->requested)
                return MESSAGE_ID_POOL_FULL;
        return p->reserved < p->planned ? MESSAGE_ID_POOL_SHORT : MESSAGE_ID_POOL_CUT;
}

static int pool_priority(const OutcomePool *p) {
        if (p->dropped)
                return LOG_ERR;
        if (p->reserved >= p->requested)
                return LOG_INFO;
        return p->essential ? LOG_ERR : LOG_WARNING;
}

static void add_pool_fields(Event *e, const Outcome *o, const OutcomePool *p) {
        event_add(e, "HUGEPAGES_POOL=%s", p->name);
        if (p->source.file) {
                event_add(e, "HUGEPAGES_FILE=%s", p->source.file);
                event_add(e, "HUGEPAGES_LINE=%u", p->source.line);
        }
        if (p->dropped)
                return;
        event_add(e, "HUGEPAGES_PAGE_SIZE=%s", FORMAT_SIZE_EXACT(p->page_size));
        event_add(e, "HUGEPAGES_REQUESTED=%" PRIu64, p->requested);
        event_add(e, "HUGEPAGES_RESERVED=%" PRIu64, p->reserved);
        for (size_t n = 0; p->reserved < p->requested && n < o->n_nodes; n++)
                if (p->node_reserved[n] < p->node_planned[n])
                        event_add(e, "HUGEPAGES_NODE=%u", o->node_ids[n]);
}

/* The error that cost a pool has been logged with the diagnostics. */
static char *dropped_line(const Outcome *o, const OutcomePool *p) {
        _cleanup_free_ char *text = NULL;
        char *line;

        if (report_pool_shortage(o, p, &text) < 0 || !text)
                return NULL;
        return asprintf(&line, "pool %s", text) < 0 ? NULL : line;
}

static void log_pool(const Outcome *o, const OutcomePool *p) {
        _cleanup_free_ char *line = p->dropped ? dropped_line(o, p) : report_pool_line(o, p);
        Event e = {};

        if (!line)
                return;
        add_pool_fields(&e, o, p);
        event_send(&e, pool_priority(p), pool_message_id(p), line);
}

/* What a kernel lacks is among the diagnostics. */
static void log_setting(const OutcomeSetting *s) {
        _cleanup_free_ char *message = NULL;
        Diagnostic d = { .severity = SEVERITY_WARNING,
                         .file = (char *) s->source.file,
                         .line = s->source.line };

        if (s->result != SETTING_REFUSED)
                return;
        if (asprintf(&message, "%s is %s, not %s%s%s", s->path, s->actual, s->wanted,
                     s->error < 0 ? ": " : "", s->error < 0 ? strerror(-s->error) : "") < 0) {
                message = NULL;
                return;
        }
        d.message = message;
        event_log_diagnostic(&d, MESSAGE_ID_SETTING_REFUSED);
}

static void log_beyond(const OutcomeSize *s) {
        Event e = {};
        char message[160];

        if (s->beyond == 0)
                return;
        snprintf(message, sizeof(message),
                 "%" PRIu64 " × %s (%s) belong to no pool; they are left as they are", s->beyond,
                 FORMAT_SIZE_EXACT(s->page_size), FORMAT_SIZE(mul_sat(s->beyond, s->page_size)));
        event_add(&e, "HUGEPAGES_PAGE_SIZE=%s", FORMAT_SIZE_EXACT(s->page_size));
        event_send(&e, LOG_NOTICE, MESSAGE_ID_PAGES_BEYOND, message);
}

static void log_conflicts(const Setup *s) {
        Diagnostics d = {};
        Foreign f = {};

        if (foreign_load(s->root, &f) < 0)
                return;
        (void) conflicts_find(s->plan, &f, s->host->cmdline, &d);
        log_diagnostics(&d, MESSAGE_ID_FOREIGN_MANAGER);
        diag_done(&d);
        foreign_done(&f);
}

/* Where it has been tried, the pages were not to be had there either. */
static bool is_on_command_line(const Setup *s, const Argument *a) {
        _cleanup_(comparison_done) Comparison c = {};

        return compare_arguments(a->text, s->host->cmdline, s->host->default_page_size, &c) < 0 ||
               comparison_complete(&c);
}

static bool any_pool_is_short(const Outcome *o) {
        for (size_t i = 0; i < o->n_pools; i++)
                if (outcome_pool_is_short(&o->pools[i]))
                        return true;
        return false;
}

/* What could have been had before all else. */
static void log_command_line(const Setup *s, const Outcome *o) {
        _cleanup_(arguments_done) Arguments arguments = {};
        struct utsname u = {};
        ArgumentsInput input = {
                .config = s->config,
                .host = s->host,
                .architecture = u.machine,
                .pci_node = resolve_pci_node,
                .userdata = s->root,
        };
        Diagnostics d = {}; /* hugepagesctl tells them */

        if (!any_pool_is_short(o) || uname(&u) < 0 || kernel_version_parse(u.release, &input.kernel) < 0)
                return;
        (void) arguments_make(&input, &arguments, &d);
        for (size_t i = 0; i < arguments.n; i++) {
                _cleanup_free_ char *hint = NULL;

                if (is_on_command_line(s, &arguments.items[i]) ||
                    report_cmdline_hint(o, &arguments.items[i], &hint) < 0 || !hint)
                        continue;
                event_log(LOG_NOTICE, MESSAGE_ID_COMMAND_LINE, "%s", hint);
        }
        diag_done(&d);
}

static void log_outcome(const Setup *s, const Outcome *o, const char *status) {
        int priority = outcome_degraded(o) ? LOG_WARNING : LOG_INFO;
        const char *where = s->initrd ? "in the initrd: " : "";

        for (size_t i = 0; i < o->n_pools; i++)
                log_pool(o, &o->pools[i]);
        for (size_t i = 0; i < o->n_settings; i++)
                log_setting(&o->settings[i]);
        for (size_t i = 0; i < o->n_sizes; i++)
                log_beyond(&o->sizes[i]);
        if (!s->initrd) { /* what else is configured on the system cannot be seen from there */
                log_command_line(s, o);
                log_conflicts(s);
        }
        if (o->n_writes == 0)
                event_log(priority, MESSAGE_ID_SUMMARY, "%s%s (nothing to change)", where, status);
        else
                event_log(priority, MESSAGE_ID_SUMMARY, "%s%s (%zu write%s in %" PRIu64 ".%" PRIu64 " s)",
                          where, status, o->n_writes, o->n_writes == 1 ? "" : "s", o->elapsed_usec / 1000000,
                          o->elapsed_usec / 100000 % 10);
}

static int fail(int error, const char *what) {
        event_log(LOG_ERR, NULL, "%s: %s", what, strerror(-error));
        (void) sd_notifyf(0, "STATUS=%s: %s", what, strerror(-error));
        return EXIT_FAILURE;
}

/* True where nothing is to be done at all, which is said. */
static bool is_switched_off(const char *root) {
        const char *why = switched_off_to_string(switched_off(root));

        if (!why)
                return false;
        event_log(LOG_NOTICE, MESSAGE_ID_SWITCHED_OFF, "%s", why);
        notify_status(why);
        return true;
}

/* hugepagesctl check compares it with what the drop-ins say by then. */
static void keep_initrd_dropin(const Setup *s) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_file(s->root, INITRD_DROPIN_PATH, DROPIN_SIZE_MAX, &text, NULL);

        if (r >= 0)
                r = root_mkdir_p(s->root, STATE_DIRECTORY, 0755);
        if (r >= 0)
                r = root_write_file_atomic(s->root, INITRD_BOOTED_PATH, text);
        if (r < 0)
                event_log(LOG_WARNING, NULL, "Cannot copy %s to %s: %s", INITRD_DROPIN_PATH,
                          INITRD_BOOTED_PATH, strerror(-r));
}

static int verb_run(Setup *s) {
        _cleanup_(outcome_freep) Outcome *o = NULL;
        _cleanup_free_ char *status = NULL;
        Kernel kernel = kernel_real(s->root);
        ApplyInput input = {
                .plan = &s->input,
                .kernel = &kernel,
                .root = s->root,
                .diagnostics = &s->diagnostics,
                .status_line = report_status_line,
                .progress = notify_progress,
                .waiting = notify_waiting,
        };
        int r;

        if (is_switched_off(s->root))
                return EXIT_SUCCESS;
        notify_status("Reading drop-ins");
        if (s->initrd)
                keep_initrd_dropin(s);
        r = setup_load(s);
        log_diagnostics(&s->diagnostics, MESSAGE_ID_CONFIG_DIAGNOSTIC);
        if (r < 0)
                return fail(r, "Cannot read the drop-ins or this machine");

        input.host = s->host;
        r = apply_run(&input, s->plan, &o);
        if (r < 0)
                return fail(r, "Cannot keep the state before in " STATE_DIRECTORY);
        status = report_status_line(o);
        if (!status)
                return fail(-ENOMEM, "Cannot report");
        log_outcome(s, o, status);
        notify_status(status);
        /* The service tries again, and its status is what counts. */
        return s->initrd ? EXIT_SUCCESS : outcome_exit_status(o);
}

/* "a\x2fb" → "a/b", for messages: how systemd.unit(5) escapes what is no valid part of a unit's name. */
static char *unescape_instance(const char *instance) {
        char *name = strdup(instance), *to = name;
        unsigned c;

        for (const char *p = instance; name && *p;)
                if (sscanf(p, "\\x%2x", &c) == 1 && c != 0 && strspn(p + 2, "0123456789abcdef") >= 2) {
                        *to++ = (char) c;
                        p += strlen("\\x00");
                } else
                        *to++ = *p++;
        if (name)
                *to = 0;
        return name;
}

static char *explain_section(const Setup *s, const char *kind, const char *name, const Section *section,
                             const char *what) {
        _cleanup_free_ char *reason = NULL;
        Source source;
        char *text;

        if (!section)
                return asprintf(&text, "there is no [%s %s] in any drop-in", kind, name) < 0 ? NULL : text;
        if (reason_for_dropped(section, &s->diagnostics, &source, &reason) < 0)
                return NULL;
        return asprintf(&text, "[%s %s] %s: %s", kind, name, what, reason) < 0 ? NULL : text;
}

/* Its own error, or that of its pool; what else could keep the generator from writing a unit is in the
 * kernel log. */
static char *explain_mount(const Setup *s, const char *name) {
        const Mount *m = config_find_mount(s->config, name);
        const Pool *pool = m && m->pool ? config_find_pool(s->config, m->pool) : NULL;
        char *text;

        if (!m || m->section.dropped)
                return explain_section(s, "Mount", name, m ? &m->section : NULL, "was dropped");
        if (pool && pool->section.dropped)
                return explain_section(s, "Mount", name, &pool->section, "was dropped with its pool");
        return asprintf(&text, "[Mount %s] has no unit: see journalctl -t hugepages-generator", name) < 0
                       ? NULL
                       : text;
}

static char *explain_service(const Setup *s, const char *name) {
        const Section *section = NULL;

        for (size_t i = 0; i < s->config->n_services && !section; i++)
                if (streq_ptr(s->config->services[i]->section.name, name) ||
                    streq_ptr(s->config->services[i]->unit, name))
                        section = &s->config->services[i]->section;
        return explain_section(s, "Service", name, section, "requires what cannot be understood");
}

/* Why the pool is not complete, with its fields. 0 with NULL where it is. */
static int explain_pool(const Setup *s, const char *name, Event *e, const char **ret_message_id,
                        char **ret) {
        _cleanup_(outcome_freep) Outcome *o = NULL;
        int r = outcome_observe(s->plan, s->host, &s->diagnostics, &o);

        if (r < 0)
                return r;
        for (size_t i = 0; i < o->n_pools; i++) {
                const OutcomePool *p = &o->pools[i];

                if (!streq(p->name, name))
                        continue;
                if (!p->dropped && p->reserved >= p->requested)
                        return 0;
                add_pool_fields(e, o, p);
                *ret_message_id = pool_message_id(p);
                *ret = report_pool_line(o, p);
                return *ret ? 0 : -ENOMEM;
        }
        return asprintf(ret, "there is no [Pool %s] in any drop-in", name) < 0 ? -ENOMEM : 0;
}

/* Succeeds when the pool is complete: what a service orders itself after. Instances that are no pool's name
 * stand for what was lost, and fail those who require it. */
static int verb_check_pool(Setup *s, const char *instance) {
        _cleanup_free_ char *name = unescape_instance(instance), *why = NULL;
        const char *mount, *service, *message_id = NULL;
        Event e = {};
        int r;

        if (!name)
                return fail(-ENOMEM, "Cannot check");
        if (is_switched_off(s->root))
                return EXIT_SUCCESS;
        r = setup_load(s);
        if (r < 0)
                return fail(r, "Cannot read the drop-ins or this machine");

        mount = startswith(name, "mount:");
        service = startswith(name, "service:");
        if (mount)
                r = (why = explain_mount(s, mount)) ? 0 : -ENOMEM;
        else if (service)
                r = (why = explain_service(s, service)) ? 0 : -ENOMEM;
        else
                r = explain_pool(s, name, &e, &message_id, &why);
        if (r < 0)
                return fail(r, "Cannot check");
        if (!why) {
                (void) sd_notifyf(0, "STATUS=Pool %s is complete", name);
                return EXIT_SUCCESS;
        }
        event_send(&e, LOG_ERR, message_id, why);
        notify_status(why);
        return EXIT_FAILURE;
}

/* "2M:8G", or "2M:infinity". */
static int parse_limit(const char *argument, HugetlbLimit *ret) {
        _cleanup_free_ char *size = strdup(argument);
        char *max = size ? strchr(size, ':') : NULL;

        if (!size)
                return -ENOMEM;
        if (!max)
                return -EINVAL;
        *max++ = 0;
        if (parse_size(size, &ret->page_size) < 0 || ret->page_size == 0)
                return -EINVAL;
        if (streq(max, "infinity") || streq(max, "max")) {
                ret->max = UINT64_MAX;
                return 0;
        }
        return parse_size(max, &ret->max);
}

static int verb_hugetlb_max(const Setup *s, char **arguments, size_t n) {
        _cleanup_free_ HugetlbLimit *limits = calloc(n, sizeof(HugetlbLimit));
        _cleanup_free_ char *error = NULL;
        int r;

        if (!limits)
                return fail(-ENOMEM, "Cannot set hugetlb limits");
        for (size_t i = 0; i < n; i++) {
                r = parse_limit(arguments[i], &limits[i]);
                if (r < 0) {
                        event_log(LOG_ERR, NULL, "--hugetlb-max: %s is not PAGESIZE:BYTES, such as 2M:8G",
                                  arguments[i]);
                        return EXIT_USAGE;
                }
        }
        r = cgroup_limit_hugetlb(s->root, limits, n, &error);
        if (r < 0) {
                event_log(LOG_ERR, NULL, "Cannot set hugetlb limits: %s", error ?: strerror(-r));
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}

static void help(void) {
        printf("Usage: %1$s [--initrd]\n"
               "       %1$s --check-pool POOL\n"
               "       %1$s --hugetlb-max PAGESIZE:BYTES...\n"
               "\n"
               "Reserves the huge pages that the drop-ins of /etc/hugepages.d declare and sets THP.\n"
               "\n"
               "      --initrd            in an initrd: reserve gigantic pages only, and leave the rest of\n"
               "                          the run to the one on the real system\n"
               "      --check-pool POOL   change nothing; fail unless all pages of POOL are reserved\n"
               "      --hugetlb-max PAGESIZE:BYTES...\n"
               "                          limit the huge pages of the caller's own cgroup\n"
               "  -h, --help              show this text\n"
               "      --version           show the version\n"
               "\n"
               "See hugepages-setup.service(8) and hugepages.d(5).\n",
               program_invocation_short_name);
}

static int usage(const char *problem) {
        fprintf(stderr, "%s: %s (see --help)\n", program_invocation_short_name, problem);
        return EXIT_USAGE;
}

enum {
        ARG_VERSION = 0x100,
        ARG_CHECK_POOL,
        ARG_HUGETLB_MAX,
        ARG_INITRD,
};

int main(int argc, char *argv[]) {
        static const struct option options[] = {
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, ARG_VERSION },
                { "check-pool", required_argument, NULL, ARG_CHECK_POOL },
                { "hugetlb-max", no_argument, NULL, ARG_HUGETLB_MAX },
                { "initrd", no_argument, NULL, ARG_INITRD },
                {},
        };
        _cleanup_(setup_done) Setup s = {};
        const char *pool = NULL;
        bool limit = false;

        for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) >= 0;)
                switch (c) {
                case 'h':
                        help();
                        return EXIT_SUCCESS;
                case ARG_VERSION:
                        puts("hugepages-setup " PROJECT_VERSION);
                        return EXIT_SUCCESS;
                case ARG_CHECK_POOL:
                        pool = optarg;
                        break;
                case ARG_HUGETLB_MAX:
                        limit = true;
                        break;
                case ARG_INITRD:
                        s.initrd = true;
                        break;
                default:
                        return EXIT_USAGE; /* getopt_long() has said what is wrong */
                }

        if (root_from_environment(&s.root) < 0)
                return usage("HUGEPAGES_ROOT= must be an absolute path");
        if (!!pool + limit + s.initrd > 1)
                return usage("--check-pool, --hugetlb-max and --initrd exclude each other");
        if (limit)
                return optind < argc ? verb_hugetlb_max(&s, &argv[optind], (size_t) (argc - optind))
                                     : usage("--hugetlb-max needs a limit, such as 2M:8G");
        if (optind < argc)
                return usage("no arguments are expected");
        if (s.initrd && !s.root)
                event_use_kernel_log();
        return pool ? verb_check_pool(&s, pool) : verb_run(&s);
}
