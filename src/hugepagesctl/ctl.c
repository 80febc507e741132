/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl: options, the table of verbs, and the way to them. */

#include <getopt.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "basic/parse.h"
#include "build-config.h"
#include "config/keys.h"
#include "hugepagesctl/verbs.h"

const OptionInfo option_table[] = {
        [INDEX_JSON] = { "json", 'J', NULL, "print JSON" },
        [INDEX_NO_HEADINGS] = { "noheadings", 'n', NULL, "the table only, without its headings" },
        [INDEX_OUTPUT] = { "output", 'o', "COLUMNS",
                           "the table only, with these columns; +COLUMNS adds to the default ones" },
        [INDEX_RAW] = { "raw", 'r', NULL, "the table only, in raw form" },
        [INDEX_BYTES] = { "bytes", 'b', NULL, "sizes in bytes" },
        [INDEX_WATCH] = { "watch", 'w', "SECONDS", "print it again and again" },
        [INDEX_STRICT] = { "strict", OPTION_STRICT, NULL, "fail for warnings too" },
        [INDEX_DRY_RUN] = { "dry-run", OPTION_DRY_RUN, NULL, "change nothing, show what would be done" },
        [INDEX_YES] = { "yes", 'y', NULL, "do not ask" },
        [INDEX_RECORD] = { "record", OPTION_RECORD, NULL, "remember what was printed, for check" },
        [INDEX_UPDATE] = { "update", OPTION_UPDATE, NULL, "have it built anew" },
        [INDEX_INITRD] = { "initrd", OPTION_INITRD, NULL, "build the initrd anew where it is stale" },
        [INDEX_CHECK] = { "check", OPTION_CHECK, NULL, "compare with the boot loader and this kernel" },
        [INDEX_INSTALL] = { "install", OPTION_INSTALL, NULL, "give them to the boot loader" },
        [INDEX_REMOVE] = { "remove", OPTION_REMOVE, NULL, "take them away from it" },
        [INDEX_KERNEL] = { "kernel", OPTION_KERNEL, "VERSION", "for this kernel, not the running one" },
        { "no-pager", OPTION_NO_PAGER, NULL, "no effect: no pager is used" },
        { "root", OPTION_ROOT, "DIR", "take all files below DIR (default: $HUGEPAGES_ROOT)" },
        { "help", 'h', NULL, "print this help; of one verb where it is named" },
        { "version", 'V', NULL, "print the version" },
};
const size_t n_options = ELEMENTSOF(option_table);

#define TABLE_OPTIONS                                                                                       \
        (1u << INDEX_JSON | 1u << INDEX_NO_HEADINGS | 1u << INDEX_OUTPUT | 1u << INDEX_RAW |                \
         1u << INDEX_BYTES)

const Verb verbs[] = {
        { "status", verb_status, "", COMPLETE_NOTHING, TABLE_OPTIONS | 1u << INDEX_WATCH,
          "what is there: pools, nodes, THP, mounts, units (default)", status_tables },
        { "plan", verb_plan, "", COMPLETE_NOTHING, TABLE_OPTIONS,
          "what would be done, and why; writes nothing", plan_tables },
        { "check", verb_check, "[FILE...]", COMPLETE_FILES, 1u << INDEX_JSON | 1u << INDEX_STRICT,
          "validate the drop-ins, or FILEs as if they were there" },
        { "cat-config", verb_cat_config, "", COMPLETE_NOTHING, 1u << INDEX_JSON,
          "the drop-ins in reading order, and those masked or replaced" },
        { "cmdline", verb_cmdline, "", COMPLETE_NOTHING,
          1u << INDEX_JSON | 1u << INDEX_DRY_RUN | 1u << INDEX_CHECK | 1u << INDEX_INSTALL |
                  1u << INDEX_REMOVE | 1u << INDEX_KERNEL,
          "the kernel arguments that the drop-ins ask for",
          .notes = "--install and --remove need root, and so does --check where a file of the boot\n"
                   "loader is for root alone.\n\n"
                   "Exit status of --check:\n"
                   "  0  all is in place\n"
                   "  1  a drop-in or another argument stands in the way, or a file cannot be read\n"
                   "  3  a reboot is needed\n"
                   "  4  not installed, or installed for other pools" },
        { "initrd", verb_initrd, "", COMPLETE_NOTHING,
          1u << INDEX_DRY_RUN | 1u << INDEX_RECORD | 1u << INDEX_UPDATE,
          "the drop-in that the initrd is to have" },
        { "apply", verb_apply, "", COMPLETE_NOTHING,
          1u << INDEX_JSON | 1u << INDEX_DRY_RUN | 1u << INDEX_INITRD,
          "bring the running system to what the drop-ins declare" },
        { "revert", verb_revert, "", COMPLETE_NOTHING, 1u << INDEX_JSON | 1u << INDEX_DRY_RUN,
          "back to the state before the first change of this boot" },
        { "release", verb_release, "[POOL...]", COMPLETE_POOLS,
          1u << INDEX_JSON | 1u << INDEX_DRY_RUN | 1u << INDEX_YES,
          "give the pages of pools back to the system, now" },
};
const size_t n_verbs = ELEMENTSOF(verbs);

void ctl_error(const char *format, ...) {
        va_list ap;

        fputs("hugepagesctl: ", stderr);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fputc('\n', stderr);
}

void out_of_memory(void) {
        ctl_error("out of memory");
        exit(CTL_FAILURE);
}

bool ctl_is_root(const Options *o) {
        if (o->root || geteuid() == 0)
                return true;
        ctl_error("must be run as root");
        return false;
}

char *format_text(const char *format, ...) {
        va_list ap;
        char *s;
        int r;

        va_start(ap, format);
        r = vasprintf(&s, format, ap);
        va_end(ap);
        if (r < 0)
                out_of_memory();
        return s;
}

const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

/* By what getopt_long() gives for it; NULL for one that is not known. */
static const OptionInfo *find_option(int c) {
        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                if (option_table[i].value == c)
                        return &option_table[i];
        return NULL;
}

/* Index in option_table, or SIZE_MAX. */
static size_t find_option_by_name(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                if (streq(option_table[i].name, name))
                        return i;
        return SIZE_MAX;
}

static void report_bad_option(int c, char *const *argv) {
        const OptionInfo *known = optopt != 0 ? find_option(optopt) : NULL;

        if (known)
                ctl_error("option --%s %s", known->name,
                          c == ':' ? "needs an argument" : "takes no argument");
        else if (optopt != 0)
                ctl_error("unknown option -%c (see hugepagesctl --help)", optopt);
        else
                ctl_error("unknown option %s (see hugepagesctl --help)", argv[optind - 1]);
}

static int set_root(Options *o, const char *directory) {
        char *root = realpath(directory, NULL);

        if (!root) {
                ctl_error("%s: %m", directory);
                return -errno;
        }
        free(o->root);
        o->root = root;
        return 0;
}

/* More often, looking would be what the machine is busy with. */
#define WATCH_USEC_MIN 100000u

static int set_watch(Options *o, const char *interval) {
        if (parse_timespan(interval, &o->watch_usec) < 0 || o->watch_usec < WATCH_USEC_MIN) {
                ctl_error("--watch %s: not a time span of at least 100ms (expected seconds, or one such as "
                          "500ms)",
                          interval);
                return -EINVAL;
        }
        return 0;
}

/* Returns -EAGAIN where the option was all there is to do. Help waits for the verb. */
static int parse_option(int c, char *const *argv, Options *o) {
        switch (c) {
        case 'J':
                o->json = true;
                break;
        case 'n':
                o->no_headings = true;
                break;
        case 'o':
                o->output = optarg;
                break;
        case 'r':
                o->raw = true;
                break;
        case 'b':
                o->bytes = true;
                break;
        case 'w':
                return set_watch(o, optarg);
        case OPTION_STRICT:
                o->strict = true;
                break;
        case OPTION_DRY_RUN:
                o->dry_run = true;
                break;
        case 'y':
                o->yes = true;
                break;
        case OPTION_RECORD:
                o->record = true;
                break;
        case OPTION_UPDATE:
                o->update = true;
                break;
        case OPTION_INITRD:
                o->initrd = true;
                break;
        case OPTION_CHECK:
                o->check = true;
                break;
        case OPTION_INSTALL:
                o->install = true;
                break;
        case OPTION_REMOVE:
                o->remove = true;
                break;
        case OPTION_KERNEL:
                o->kernel = optarg;
                break;
        case OPTION_NO_PAGER:
                break;
        case OPTION_ROOT:
                return set_root(o, optarg);
        case 'h':
                o->help = true;
                break;
        case 'V':
                puts("hugepagesctl from hugepages-setup " PROJECT_VERSION);
                return -EAGAIN;
        default:
                report_bad_option(c, argv);
                return -EINVAL;
        }
        return 0;
}

/* What getopt_long() wants to know, from the table. */
static void make_getopt_tables(struct option *long_options, char *short_options) {
        *short_options++ = ':';
        for (size_t i = 0; i < ELEMENTSOF(option_table); i++) {
                const OptionInfo *info = &option_table[i];

                long_options[i] =
                        (struct option){ info->name, info->argument ? required_argument : no_argument, NULL,
                                         info->value };
                if (info->value >= OPTION_STRICT)
                        continue;
                *short_options++ = (char) info->value;
                if (info->argument)
                        *short_options++ = ':';
        }
}

static int parse_options(int argc, char *argv[], Options *o, unsigned *ret_used) {
        struct option long_options[ELEMENTSOF(option_table) + 1] = {};
        char short_options[2 * ELEMENTSOF(option_table) + 2] = {};
        int c, r = root_from_environment(&o->root);

        if (r < 0) {
                ctl_error("$HUGEPAGES_ROOT is not an absolute path");
                return r;
        }
        make_getopt_tables(long_options, short_options);
        opterr = 0;
        while ((c = getopt_long(argc, argv, short_options, long_options, NULL)) >= 0) {
                r = parse_option(c, argv, o);
                if (r < 0)
                        return r;
                *ret_used |= 1u << (find_option(c) - option_table);
        }
        if (!o->help && o->root && (r = set_root(o, o->root)) < 0) /* of the environment, or once more */
                return r;
        if (streq_ptr(o->root, "/")) {
                free(o->root);
                o->root = NULL;
        }
        return 0;
}

static int check_verb_options(const Verb *verb, unsigned used) {
        for (unsigned i = 0; i < _INDEX_OF_VERBS; i++)
                if ((used & 1u << i) && !(verb->options & 1u << i)) {
                        ctl_error("%s has no option --%s", verb->name, option_table[i].name);
                        return -EINVAL;
                }
        return 0;
}

/* COLUMNS= counts without a terminal too, so that output can be kept narrow in a pipe. */
static size_t output_width(bool terminal) {
        const char *e = getenv("COLUMNS");
        struct winsize size = {};
        unsigned long columns = isempty(e) ? 0 : strtoul(e, NULL, 10);

        if (columns > 0 && columns <= USHRT_MAX)
                return columns;
        if (!terminal)
                return 0;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
                return 80;
        return size.ws_col;
}

static void set_output(Options *o) {
        const char *term = getenv("TERM");

        o->utf8 = streq(nl_langinfo(CODESET), "UTF-8");
        o->terminal = isatty(STDOUT_FILENO);
        o->color = o->terminal && isempty(getenv("NO_COLOR")) && !streq_ptr(term, "dumb");
        o->width = o->raw ? 0 : output_width(o->terminal);
}

/* A full disk must not look like success; a reader that went away is none of our business. */
static int close_stdout(int status) {
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        if (errno == EPIPE)
                return status;
        ctl_error("write error: %m");
        return CTL_FAILURE;
}

static void report_argument(const Verb *verb, const char *argument) {
        size_t option = find_option_by_name(argument);

        if (option < ELEMENTSOF(option_table) &&
            (option >= _INDEX_OF_VERBS || (verb->options & 1u << option)))
                ctl_error("%s takes no argument '%s' (did you mean --%s?)", verb->name, argument, argument);
        else
                ctl_error("%s takes no argument '%s'", verb->name, argument);
}

static void report_unknown_verb(const char *name) {
        const char *names[ELEMENTSOF(verbs)], *meant;
        size_t option;

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                names[i] = verbs[i].name;
        meant = suggest_word(names, ELEMENTSOF(verbs), name);
        option = find_option_by_name(name);
        if (option < _INDEX_OF_VERBS && only_verb(option))
                ctl_error("unknown verb '%s' (did you mean '%s --%s'?)", name, only_verb(option), name);
        else if (meant)
                ctl_error("unknown verb '%s' (did you mean %s?)", name, meant);
        else
                ctl_error("unknown verb '%s' (see hugepagesctl --help)", name);
}

static int run(int argc, char *argv[], Options *o) {
        unsigned used = 0;
        const Verb *verb;
        int r;

        r = parse_options(argc, argv, o, &used);
        if (r == -EAGAIN)
                return CTL_OK;
        if (r < 0)
                return CTL_USAGE;
        argv += optind;
        verb = find_verb(*argv ? *argv : "status");
        if (!verb) {
                report_unknown_verb(*argv);
                return CTL_USAGE;
        }
        if (o->help) {
                help(*argv ? verb : NULL);
                return CTL_OK;
        }
        argv += !!*argv;
        if (*argv && isempty(verb->arguments)) {
                report_argument(verb, *argv);
                return CTL_USAGE;
        }
        if (check_verb_options(verb, used) < 0)
                return CTL_USAGE;
        set_output(o);
        return verb->run(o, argv);
}

int main(int argc, char *argv[]) {
        Options options = {};
        int status;

        /* Characters only: numbers are written as the drop-ins have them, in every language. */
        (void) setlocale(LC_CTYPE, "");
        if (argc > 1 && streq(argv[1], "--complete"))
                return close_stdout(complete(argc - 2, argv + 2));
        status = close_stdout(run(argc, argv, &options));
        free(options.root);
        return status;
}
