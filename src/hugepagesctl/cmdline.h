/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of `hugepagesctl cmdline` share, and what others ask it. */

#include "boot/arguments.h"
#include "boot/compare.h"
#include "boot/loader.h"
#include "boot/switch.h"
#include "hugepagesctl/ctl.h"

typedef enum CmdlineState {
        CMDLINE_IN_PLACE,
        CMDLINE_REBOOT_NEEDED, /* the next boot has them, or has them no more, and this one has not */
        CMDLINE_NOT_INSTALLED, /* nor will the next one have them */
        CMDLINE_OUTDATED,      /* others were installed, or they were, and are no longer asked for */
        CMDLINE_CONTRADICTED,  /* somebody else's setting stands against them */
        CMDLINE_NOT_JUDGED,    /* what is asked for is not known, for what is wrong with the drop-ins */
} CmdlineState;

typedef struct Contradiction {
        char *wanted, *found;
        char *where; /* the file to change, or the loader's name */
        char *write; /* what can stay there in place of found; NULL: one of the two has to go */
} Contradiction;

typedef struct Cmdline {
        const Options *options;
        Diagnostics diagnostics;
        Config *config;
        Host *host;
        char *release;   /* of the kernel that the arguments are for */
        SwitchedOff off; /* as far as it matters here: see switched_off_to_request() */
        Arguments arguments;
        char *line;       /* all of them */
        size_t max_bytes; /* of a kernel's command line; 0: not known */
        bool faulty;      /* an error may have cost some of them */
        bool loses;       /* a name that is not known may have cost some: they are less than what is
                             installed, or none at all */

        LoaderContext loader_context;
        const Loader *loader;    /* NULL: none is known here */
        bool unreadable;         /* it is there, and its configuration could not be read */
        char *for_root;          /* the file of it that only root may read; else NULL */
        const char *failed_tool; /* of its tools the first that failed, with this exit status */
        int failed_status;
        LoaderArguments configured; /* what its next boot has; all NULL where that could not be read */
        Comparison running;         /* with /proc/cmdline */
        Comparison next;            /* with what the loader has */
        Comparison ours;            /* with what of that is ours */
        Comparison others;          /* and with the rest */
        Contradiction *contradictions;
        size_t n_contradictions;
        CmdlineState state;
} Cmdline;

/* Whether nothing is asked for, whatever the drop-ins say. */
static inline bool cmdline_asks_nothing(const Cmdline *c) {
        return c->off == SWITCHED_OFF_MASKED || c->off == SWITCHED_OFF_CONTAINER;
}

/* Whether the loader is there and its configuration was read. */
static inline bool cmdline_knows_loader(const Cmdline *c) {
        return c->loader && c->configured.others;
}

/* What is on the running kernel's command line, and neither wanted nor somebody else's: left from what was
 * installed before. */
bool cmdline_is_stale(const Cmdline *c, const ComparedArgument *a);

/* What is wrong with the arguments that are installed, one sentence, to be freed by the caller; NULL where
 * they are what is asked for, there are none, or a mistake in a drop-in leaves it open. */
char *cmdline_fault(const Options *o);

/* The same as a warning. */
void cmdline_lint(const Options *o, Diagnostics *d);

/* What the running kernel's command line says about huge pages, without what is ours, of the next boot or
 * left from an earlier one, and without what the kernel ignores. To be freed by the caller; NULL where
 * nothing of ours is installed, and so all is somebody else's. */
char *cmdline_of_others(const Options *o);

/* Whether the others' arguments have all that is asked for, so that nothing of ours is to be added. */
bool cmdline_is_by_others(const Cmdline *c);

/* Whether there is a running kernel to compare with: below a root that is an image there is none. */
bool cmdline_has_kernel(const Cmdline *c);

/* What would tell each boot loader, a line each, and what is missing of one that is nearly there. */
void cmdline_print_sought(const Cmdline *c, FILE *f);

void cmdline_print_json(const Cmdline *c, Tristate changed);
void cmdline_print_check(const Cmdline *c);
