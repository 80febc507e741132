/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl: options, the table of verbs, and the way to them. */

#include <getopt.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "build-config.h"
#include "hugepagesctl/ctl.h"

enum { /* in the order of long_options */
       INDEX_JSON,
       INDEX_NO_HEADINGS,
       INDEX_OUTPUT,
       INDEX_RAW,
       INDEX_BYTES,
       INDEX_STRICT,
};

enum { /* options without a short form */
       OPTION_STRICT = 256,
       OPTION_NO_PAGER,
       OPTION_ROOT,
};

static const struct option long_options[] = {
        [INDEX_JSON] = { "json", no_argument, NULL, 'J' },
        [INDEX_NO_HEADINGS] = { "noheadings", no_argument, NULL, 'n' },
        [INDEX_OUTPUT] = { "output", required_argument, NULL, 'o' },
        [INDEX_RAW] = { "raw", no_argument, NULL, 'r' },
        [INDEX_BYTES] = { "bytes", no_argument, NULL, 'b' },
        [INDEX_STRICT] = { "strict", no_argument, NULL, OPTION_STRICT },
        { "no-pager", no_argument, NULL, OPTION_NO_PAGER },
        { "root", required_argument, NULL, OPTION_ROOT },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        {},
};

#define TABLE_OPTIONS                                                                                       \
        (1u << INDEX_JSON | 1u << INDEX_NO_HEADINGS | 1u << INDEX_OUTPUT | 1u << INDEX_RAW |                \
         1u << INDEX_BYTES)

typedef struct Verb {
        const char *name;
        int (*run)(const Options *o, char *const *arguments);
        const char *arguments; /* for the help; "" for none */
        unsigned options;      /* by index, of those that not every verb has */
        const char *help;
} Verb;

static const Verb verbs[] = {
        { "status", verb_status, "", TABLE_OPTIONS,
          "what is there: pools, nodes, THP, mounts, units (default)" },
        { "plan", verb_plan, "", TABLE_OPTIONS, "what would be done, and why; writes nothing" },
        { "check", verb_check, "[FILE...]", 1u << INDEX_JSON | 1u << INDEX_STRICT,
          "validate the drop-ins, or FILEs as if they were there" },
};

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

static void help_columns(const char *verb, const Column *columns, size_t n) {
        printf("\nColumns of %s:\n", verb);
        for (size_t i = 0; i < n; i++)
                printf("  %-10s %s\n", columns[i].name, columns[i].help);
}

static void help(void) {
        puts("hugepagesctl [OPTIONS...] [VERB]\n\n"
             "Look at the huge pages that drop-ins in /etc/hugepages.d ask for.\n\n"
             "Verbs:");
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                printf("  %-6s %-9s  %s\n", verbs[i].name, verbs[i].arguments, verbs[i].help);
        puts("\nOptions:\n"
             "  -J, --json            print JSON\n"
             "  -n, --noheadings      the table only, without its headings\n"
             "  -o, --output COLUMNS  the table only, with these columns; +COLUMNS adds to the default\n"
             "  -r, --raw             the table only, in raw form\n"
             "  -b, --bytes           sizes in bytes\n"
             "      --no-pager        no effect: no pager is used\n"
             "      --root=DIR        take all files below DIR (default: $HUGEPAGES_ROOT)\n"
             "      --strict          check: fail for warnings too\n"
             "  -h, --help            print this help\n"
             "  -V, --version         print the version");
        help_columns("status", status_columns, n_status_columns);
        help_columns("plan", plan_columns, n_plan_columns);
        puts("\nSee hugepagesctl(8) and hugepages.d(5).");
}

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

/* By what getopt_long() gives for it; NULL for one that is not known. */
static const struct option *find_option(int c) {
        for (const struct option *l = long_options; l->name; l++)
                if (l->val == c)
                        return l;
        return NULL;
}

static void report_bad_option(int c, char *const *argv) {
        const struct option *known = optopt != 0 ? find_option(optopt) : NULL;

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

/* Returns -EAGAIN where the option was all there is to do. */
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
        case OPTION_STRICT:
                o->strict = true;
                break;
        case OPTION_NO_PAGER:
                break;
        case OPTION_ROOT:
                return set_root(o, optarg);
        case 'h':
                help();
                return -EAGAIN;
        case 'V':
                puts("hugepagesctl from hugepages-setup " PROJECT_VERSION);
                return -EAGAIN;
        default:
                report_bad_option(c, argv);
                return -EINVAL;
        }
        return 0;
}

static int parse_options(int argc, char *argv[], Options *o, unsigned *ret_used) {
        int c, r = root_from_environment(&o->root);

        if (r < 0) {
                ctl_error("$HUGEPAGES_ROOT is not an absolute path");
                return r;
        }
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":Jno:rbhV", long_options, NULL)) >= 0) {
                r = parse_option(c, argv, o);
                if (r < 0)
                        return r;
                *ret_used |= 1u << (find_option(c) - long_options);
        }
        if (streq_ptr(o->root, "/")) {
                free(o->root);
                o->root = NULL;
        }
        return 0;
}

static int check_verb_options(const Verb *verb, unsigned used) {
        for (unsigned i = 0; i <= INDEX_STRICT; i++)
                if ((used & 1u << i) && !(verb->options & 1u << i)) {
                        ctl_error("%s has no option --%s", verb->name, long_options[i].name);
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
                ctl_error("unknown verb '%s' (see hugepagesctl --help)", *argv);
                return CTL_USAGE;
        }
        argv += !!*argv;
        if (*argv && isempty(verb->arguments)) {
                ctl_error("%s takes no argument '%s'", verb->name, *argv);
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
        status = close_stdout(run(argc, argv, &options));
        free(options.root);
        return status;
}
