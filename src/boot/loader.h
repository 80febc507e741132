/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Loaders: the boot loaders whose configuration holds the kernel's arguments, each behind the same door. The
 * only code that writes to a boot loader's configuration. */

#include "basic/diag.h"
#include "basic/util.h"

typedef struct LoaderContext {
        const char *root; /* NULL: the real system. Below a root, no command is run that would look at this
                             one */
        /* Runs a command to its end and hands over what it printed on standard output (NULL: not wanted), to
         * be freed by the caller. Exit status, or negative errno where it could not be run. Tests have their
         * own. */
        int (*run)(void *userdata, const char *const *argv, char **ret_output);
        void *userdata;
        Diagnostics *diagnostics; /* what went wrong, with the file or the command it is about */
        bool tools_know_root;     /* run() shows its commands nothing but what is below root (tests) */
        FILE *notes; /* what was done on the way and is good to know, a line each; NULL: not wanted */
        unsigned shell_msec; /* how long a shell may take for GRUB's configuration; 0: long enough */
} LoaderContext;

/* The arguments that are ours in what the next boot will get, and those of others. Both are words with
 * blanks between them as the kernel will see them, "" for none. */
typedef struct LoaderArguments {
        char *ours;
        char *others;
        size_t behind;      /* how much of others, from its end, stands behind ours */
        char *others_path;  /* where an administrator changes the latter, for messages; NULL where unknown */
        size_t other_bytes; /* of the line that the kernel will get, all that is not ours: with what the
                               loader adds by itself, as far as that is known */
} LoaderArguments;

typedef struct Loader {
        const char *name;   /* "GRUB", for messages */
        const char *sought; /* what it is recognized by, for messages; NULL where that is another's row */
        const char *where;  /* the file or command that install() changes, for messages */
        const char *tool; /* what the boot loader needs before it has what was changed there, and what is not
                             run below a root; NULL: nothing */
        bool for_images;  /* configured where an image is made: in a container as well */
        /* Whether this is the one that boots this system. Reads files only. */
        bool (*detect)(const LoaderContext *c);
        /* Negative errno. */
        int (*read)(const LoaderContext *c, LoaderArguments *ret);
        /* Makes arguments ours, in place of what was, and renews what the loader reads at boot. Everything
         * else on the line stays byte for byte; the same again changes nothing. 1 where something changed, 0
         * where it was so already; negative errno with the state as it was before. */
        int (*install)(const LoaderContext *c, const char *arguments);
        /* Takes our arguments away. 1, 0 or negative errno, as above. */
        int (*remove)(const LoaderContext *c);
        /* In place of these two, where only an administrator can: what he is to do so that the next boot has
         * arguments, one sentence without an end. To be freed by the caller; NULL when out of memory. */
        char *(*by_hand)(const LoaderContext *c, const char *arguments);
        /* Where detect() says no for one thing that can be mended: what that is, one sentence without an
         * end; else NULL. NULL for a loader that has nothing of the kind. */
        const char *(*nearly)(const LoaderContext *c);
} Loader;

/* In the order in which they are looked for: what manages the others comes first (rpm-ostree, bootc, grubby,
 * GRUB's own generator, kernel-install), and GRUB that only an administrator can change last. */
extern const Loader *const loaders[];
extern const size_t n_loaders;

/* NULL where none is known here: arguments can then only be shown. */
const Loader *loader_find(const LoaderContext *c);

void loader_arguments_done(LoaderArguments *a);
