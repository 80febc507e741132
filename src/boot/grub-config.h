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

typedef struct GrubWords {
        char *linux_words;     /* GRUB_CMDLINE_LINUX, as it is, as all of these are */
        char *before, *behind; /* GRUB_CMDLINE_LINUX_DEFAULT, around the place where our file puts ours; all
                                * is behind it where they would be lost */
} GrubWords;

/* As grub-mkconfig would have it without our file: a shell evaluates the files where programs of this
 * machine may be run, else they are read as far as that goes, and a warning says what that cannot tell. The
 * directory counts where with_directory, as a distribution's grub-mkconfig decides. Negative errno. */
int grub_configured(const LoaderContext *c, bool with_directory, GrubWords *ret);

void grub_words_done(GrubWords *w);
