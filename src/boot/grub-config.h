/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What GRUB's own configuration says about the kernel's arguments. */

#include "boot/loader.h"

#define GRUB_DEFAULTS "/etc/default/grub"
#define GRUB_DEFAULTS_DIR GRUB_DEFAULTS ".d"
#define GRUB_OUR_FILE                                                                                       \
        "zz-hugepages-setup.cfg" /* behind files that set the variable anew, such as cloud images' */
#define GRUB_OUR_PATH GRUB_DEFAULTS_DIR "/" GRUB_OUR_FILE
#define GRUB_OUR_FIRST_LINE "# Huge pages on the kernel command line, see hugepagesctl(8).\n"
#define GRUB_CONFIG_MAX ((size_t) 4 * 1024 * 1024)

/* Those that our file does, to be tried in a subshell first: where a variable is readonly, that ends the
 * shell. */
#define GRUB_OUR_ASSIGNMENTS                                                                                \
        "hugepages_arguments=x hugepages_answer=x hugepages_line=x GRUB_CMDLINE_LINUX_DEFAULT=x"

typedef struct GrubWords {
        char *linux_words;     /* GRUB_CMDLINE_LINUX, as it is, as all of these are */
        char *before, *behind; /* GRUB_CMDLINE_LINUX_DEFAULT, around the place where our file puts ours; all
                                * is behind it where they would be lost */
} GrubWords;

/* As grub-mkconfig would have it without our file: a shell evaluates the files where programs of this
 * machine may be run, else they are read as far as that goes, and a warning says what that cannot tell. The
 * directory counts where with_directory, as a distribution's grub-mkconfig decides. Negative errno. */
int grub_configured(const LoaderContext *c, bool with_directory, GrubWords *ret);

/* Who takes away what our file puts there, as a sentence without an end, to be freed by the caller; NULL
 * where that is not found. *ret_file is where that is, to be freed as well. */
char *grub_find_taker(const LoaderContext *c, char **ret_file);

void grub_words_done(GrubWords *w);
