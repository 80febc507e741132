/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of `hugepagesctl cmdline` share. */

#include "boot/arguments.h"
#include "boot/compare.h"
#include "boot/loader.h"
#include "hugepagesctl/ctl.h"

typedef enum CmdlineState {
        CMDLINE_IN_PLACE,
        CMDLINE_REBOOT_NEEDED, /* the next boot has them, or has them no more, and this one has not */
        CMDLINE_NOT_INSTALLED, /* nor will the next one have them */
        CMDLINE_CONTRADICTED,  /* somebody else's setting stands against them */
} CmdlineState;

typedef struct Contradiction {
        char *wanted, *found;
        char *where; /* the file to change, or the loader's name */
} Contradiction;

typedef struct Cmdline {
        const Options *options;
        Diagnostics diagnostics;
        Config *config;
        Host *host;
        char *release; /* of the kernel that the arguments are for */
        bool masked;   /* nothing is asked for, whatever the drop-ins say */
        Arguments arguments;
        char *line; /* all of them */

        LoaderContext loader_context;
        const Loader *loader;       /* NULL: none is known here */
        LoaderArguments configured; /* what its next boot has; all NULL where that could not be read */
        Comparison running;         /* with /proc/cmdline */
        Comparison next;            /* with what the loader has */
        Comparison ours;            /* with what of that is ours */
        Comparison others;          /* and with the rest */
        Contradiction *contradictions;
        size_t n_contradictions;
        CmdlineState state;
} Cmdline;

/* Whether the loader is there and its configuration was read. */
static inline bool cmdline_knows_loader(const Cmdline *c) {
        return c->loader && c->configured.others;
}

/* What is on the running kernel's command line, and neither wanted nor somebody else's: left from what was
 * installed before. */
bool cmdline_is_stale(const Cmdline *c, const ComparedArgument *a);

/* Runs a command for a loader, LoaderContext.run. What it prints and nobody wants goes to standard error. */
int command_run(void *userdata, const char *const *argv, char **ret_output);

void cmdline_print_json(const Cmdline *c, Tristate changed);
void cmdline_print_check(const Cmdline *c);
