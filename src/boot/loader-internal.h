/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the backends share. */

#include "boot/edit.h"
#include "boot/entries.h"
#include "boot/loader.h"
#include "boot/snapshot.h"

#define KERNEL_CMDLINE "/etc/kernel/cmdline"
#define CMDLINE_MAX ((size_t) 64 * 1024)

extern const Loader loader_rpm_ostree, loader_bootc, loader_grubby, loader_grub, loader_kernel_install,
        loader_grub_by_hand;

/* Whether the tools that this machine has may be run: they would look at this machine, not below the root.
 */
bool loader_may_run(const LoaderContext *c) _pure_;

/* Runs a command that must succeed; where it does not, what happened becomes an error in c. */
int loader_run(const LoaderContext *c, const char *const *argv, char **ret_output);

/* A line for c->notes. */
void loader_note(const LoaderContext *c, const char *format, ...) _printf_(2, 3);

/* The first of paths that is there, NULL for none. */
const char *loader_tool(const LoaderContext *c, const char *const *paths);

/* Adds an error about file and gives r back. */
int loader_fail(const LoaderContext *c, int r, const char *file, const char *what);

/* Whether a file of ours may be written or removed: -EEXIST with an error where one is there that does not
 * begin with our first line, and so is somebody else's. */
int loader_check_ours(const LoaderContext *c, const char *path, const char *first_line);

/* The line of our files that says that their directory came with them, and goes with them. */
#define DIRECTORY_LINE "# Its directory was made for it, and goes with it.\n"

/* Whether a file of ours is to have it: as it is there, else where its directory is not. */
bool loader_makes_directory(const LoaderContext *c, const char *path);

/* file_remove() of a file of ours, with the directory. */
int loader_remove_ours(const LoaderContext *c, const char *path);

/* installed_load() and, as an error in c, why it did not. */
int loader_load_installed(const LoaderContext *c, Installed *ret);

/* Takes /etc/kernel/cmdline away where it was not there before us, as soon as those who would read it get
 * the same without it. Before the reboot they would find our arguments in /proc/cmdline, and bring them
 * back. 1 where it is gone. */
int loader_tidy_seeded(const LoaderContext *c, const Entries *e, Installed *installed);

/* What is left to do where all lines have arguments already, and nothing else of ours: the record is made to
 * say so, and what came with a change that was cut short goes. 1 where /etc/kernel/cmdline went. */
int loader_settle(const LoaderContext *c, const Entries *e, Installed *installed, const char *arguments);

/* What is taken where there is no /etc/kernel/cmdline, without what is ours in it: the vendor's file, else
 * the running kernel's words but for those that the boot loader added. Below a root, where no kernel runs,
 * the words of an entry. *ret_from tells whose these are, and points into e or to a constant. */
int loader_seed(const LoaderContext *c, const Entries *e, const Installed *installed, char **ret,
                const char **ret_from);

/* Keeps others who change the boot loader's configuration through us out, until the descriptor is closed. */
int loader_lock(const LoaderContext *c);

/* Several lines that the boot loader may take, each with what is ours on it. */
typedef struct Lines {
        LoaderArguments *items;
        size_t n;
} Lines;

int lines_add(Lines *l, const char *text, TextKind kind, const Installed *installed);

/* The line of /etc/kernel/cmdline, none where there is no such file; and those of the entries that are text.
 * What cannot be read becomes an error in c. */
int lines_add_cmdline(const LoaderContext *c, const Installed *installed, Lines *l);
int lines_add_entries(const LoaderContext *c, const Installed *installed, const Entries *e, Lines *l);

/* A loader's read(): what collect finds, merged. */
int loader_read_lines(const LoaderContext *c,
                      int (*collect)(const LoaderContext *c, const Installed *installed, const Entries *e,
                                     Lines *l),
                      const char *others_path, LoaderArguments *ret);

/* Whether ours is arguments on each. */
bool lines_are(const Lines *l, const char *arguments) _pure_;

/* One out of all: the others' arguments of each line, and as ours what is installed, or, where a line has
 * something else, that. */
int lines_merge(const Lines *l, const Installed *installed, LoaderArguments *ret);

void lines_done(Lines *l);

/* Changes the entries' files, those with arguments on a line of their own. 1 where one changed. The snapshot
 * gets what was. */
int loader_edit_entries(const LoaderContext *c, const Entries *e, const Installed *installed,
                        const char *arguments, Snapshot *s);

/* Takes away what one of us that was killed has left beside these files. */
void loader_clean(const LoaderContext *c, const Entries *e);

/* Changes one file of arguments, which must be there. */
int loader_edit_file(const LoaderContext *c, const char *path, TextKind kind, const Installed *installed,
                     const char *arguments, Snapshot *s);

/* Warns where what was installed is still there, but changed by hand and so no longer ours to remove. */
void loader_warn_changed(const LoaderContext *c, const Lines *l, const Installed *installed,
                         const char *file);
