/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The off switches: where nothing may be reserved or generated at all. */

#include "basic/util.h"

typedef enum SwitchedOff {
        SWITCHED_ON,
        SWITCHED_OFF_CMDLINE,   /* hugepages_setup=off (0, no, false) on the kernel command line */
        SWITCHED_OFF_MASKED,    /* hugepages-setup.service is masked */
        SWITCHED_OFF_KDUMP,     /* /proc/vmcore exists */
        SWITCHED_OFF_CONTAINER, /* as PID 1 found out: $SYSTEMD_VIRTUALIZATION, /run/systemd/container */
} SwitchedOff;

/* The first reason that holds. The last hugepages_setup= on the command line wins. */
SwitchedOff switched_off(const char *root);

/* Whether hugepages-setup.service is masked in /etc, and not for this boot alone. */
bool unit_is_masked_for_good(const char *root);

/* Why a boot loader or an initrd is asked for nothing, or, by hugepages_setup=, only this boot is; NULL for
 * what makes no difference to them. */
const char *switched_off_to_request(SwitchedOff s) _const_;

/* "switched off by hugepages_setup= on the kernel command line"; NULL for SWITCHED_ON. */
const char *switched_off_to_string(SwitchedOff s) _const_;
