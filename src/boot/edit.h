/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Our arguments among those of others, on lines that everybody edits: which are ours, and how they are
 * replaced while every other byte stays. Pure but for the file that remembers what was installed.
 *
 * An argument says nothing about who put it there, so what was installed is remembered. A remembered
 * argument is ours where it stands on the line as it was written; "hugepagesz=1G hugepages=4" is one: where
 * somebody has changed the count, or put a word between, the pair has become that somebody's. Of two equal
 * ones the last is ours, as we append. */

#include "basic/util.h"

/* In /etc, so that it goes back in time with what it describes when a snapshot of the system is restored. */
#define INSTALLED_DIRECTORY "/etc/kernel"
#define INSTALLED_PATH INSTALLED_DIRECTORY "/cmdline.hugepages-setup"
#define INSTALLED_FIRST_LINE                                                                                \
        "# What hugepagesctl(8) has put on the kernel command line, so that it can take it away again.\n"

typedef struct Installed {
        char **arguments; /* the newest first; more than one only while a change is under way or was cut
                             short */
        size_t n;
        bool seeded; /* /etc/kernel/cmdline was made by us */
} Installed;

/* Nothing remembered is no error. -ENOMEM, -EEXIST where the file is somebody else's, or what reading gave.
 */
int installed_load(const char *root, Installed *ret);

/* Removes the file where nothing is left to remember, with its directory where that came with it. */
int installed_save(const char *root, const Installed *i);

/* Makes arguments the newest. "" is not kept. */
int installed_push(Installed *i, const char *arguments);

/* Forgets all but arguments; "" to forget these too. */
int installed_set(Installed *i, const char *arguments);

void installed_done(Installed *i);

typedef enum TextKind {
        TEXT_CMDLINE, /* /etc/kernel/cmdline: words on any number of lines, "#" comments out a whole one */
        TEXT_ENTRY,   /* a boot loader entry: the words behind each "options" */
} TextKind;

/* The words of text that are ours, and the others, with single blanks between them, as they are written. */
int edit_split(const char *text, TextKind kind, const Installed *i, char **ret_ours, char **ret_others);

/* text with arguments in place of what is ours, behind the last word, and before a "--". An entry without
 * "options" gets them, and loses them again: with two blanks behind, by which they are known. Where exactly
 * these are ours already, or there is nothing to take away, nothing changes. -EBADMSG where that cannot be,
 * as behind a quote that is not closed. */
int edit_replace(const char *text, TextKind kind, const Installed *i, const char *arguments, char **ret);

/* The next word of *p as it is written, quotes and all; *p moves behind it. Its length; 0 at the end. */
size_t next_word(const char **p, const char **ret_start);

/* Appends a word of length bytes to *line, with a blank between. */
int append_word(char **line, const char *word, size_t length);

/* Cuts what is behind a "--", and that: it is for init. */
void cut_init(char *line);

/* Whether line has this very word. */
bool has_word(const char *line, const char *word, size_t length) _pure_;
