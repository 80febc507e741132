/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Unit files: what the files of a service say (systemd.unit(5)), so that a drop-in can be held against them
 * before anything runs, below a root too. */

#include "basic/fs.h"

/* Whether there is a unit path at all: an image in the making may have none. */
bool unit_path_exists(const char *root);

/* The file of a unit, of the template for an instance, or the init script that systemd makes a unit of; to
 * be freed by the caller. NULL where there is none. */
char *unit_file_find(const char *root, const char *unit);

typedef struct UnitAssignment {
        char *file;
        unsigned line;
        char *value;
} UnitAssignment;

typedef struct UnitSetting {
        UnitAssignment *items;
        size_t n;
} UnitSetting;

/* All assignments to a key of [Service] in the unit's file and its drop-ins, in the order in which systemd
 * reads them, without those that an empty one has undone. To be freed with unit_setting_done(). */
void unit_setting_read(const char *root, const char *unit, const char *key, UnitSetting *ret);
void unit_setting_done(UnitSetting *s);

/* The one that counts where it is no list; NULL where there is none. */
static inline const UnitAssignment *unit_setting_last(const UnitSetting *s) {
        return s->n > 0 ? &s->items[s->n - 1] : NULL;
}
