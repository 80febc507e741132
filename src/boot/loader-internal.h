/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the backends share. */

#include "boot/edit.h"
#include "boot/entries.h"
#include "boot/loader.h"
#include "boot/snapshot.h"

#define KERNEL_CMDLINE "/etc/kernel/cmdline"
#define CMDLINE_MAX ((size_t) 64 * 1024)
#define GRUB_DEFAULTS "/etc/default/grub"

extern const Loader loader_rpm_ostree, loader_bootc, loader_grubby, loader_grub, loader_kernel_install;

/* Whether the tools that this machine has may be run: they would look at this machine, not below the root.
 */
bool loader_may_run(const LoaderContext *c) _pure_;

/* Runs a command that must succeed; where it does not, what happened becomes an error in c. */
int loader_run(const LoaderContext *c, const char *const *argv, char **ret_output);

/* The first of paths that is there, NULL for none. */
const char *loader_tool(const LoaderContext *c, const char *const *paths);

/* Adds an error about file and gives r back. */
int loader_fail(const LoaderContext *c, int r, const char *file, const char *what);

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

/* Changes one file of arguments, which must be there. */
int loader_edit_file(const LoaderContext *c, const char *path, TextKind kind, const Installed *installed,
                     const char *arguments, Snapshot *s);

/* Warns where what was installed is still there, but changed by hand and so no longer ours to remove. */
void loader_warn_changed(const LoaderContext *c, const Lines *l, const Installed *installed,
                         const char *file);

/* What a shell that sourced GRUB's own configuration would have in GRUB_CMDLINE_LINUX and, behind it, in
 * GRUB_CMDLINE_LINUX_DEFAULT; the former alone where only_linux. Our file is left out. */
int grub_configured(const char *root, bool only_linux, char **ret);
