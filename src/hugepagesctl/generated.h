/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Generated: the unit files that hugepages-generator has written, as one snapshot, so that two can be
 * compared. */

#include "hugepagesctl/ctl.h"

#define GENERATOR_DIRECTORY "/run/systemd/generator"

typedef enum GeneratedKind {
        GENERATED_MOUNT,   /* a .mount unit, or the drop-in of dev-hugepages.mount */
        GENERATED_SERVICE, /* a drop-in of a consumer */
        GENERATED_ORDER,   /* a drop-in of hugepages-setup.service */
} GeneratedKind;

typedef struct GeneratedFile {
        GeneratedKind kind;
        char *path;     /* below the directory: "app.service.d/50-hugepages-app.conf" */
        char *unit;     /* the unit that it is, or is a drop-in of: "app.service" */
        char *contents; /* without comments and descriptions: what matters to systemd */
} GeneratedFile;

typedef struct Generated {
        GeneratedFile *items; /* by path */
        size_t n;
} Generated;

/* Reads what is ours below directory, which is below root. Nothing where there is none. */
void generated_read(const char *root, const char *directory, Generated *ret);
/* What a daemon-reload would write at this moment: the generator's work, done in a temporary directory. */
int generated_preview(const Options *o, Generated *ret);
void generated_done(Generated *g);

/* NULL where there is none. */
const GeneratedFile *generated_find(const Generated *g, const char *path) _pure_;
/* The mount of that unit, or NULL. */
const GeneratedFile *generated_find_mount(const Generated *g, const char *unit) _pure_;

typedef enum GeneratedChange {
        GENERATED_SAME,
        GENERATED_NEW,
        GENERATED_CHANGED,
        GENERATED_VANISHED,
} GeneratedChange;

extern const char *const generated_change_names[]; /* NULL for GENERATED_SAME */

/* What has become of a path between two snapshots. */
GeneratedChange generated_compare(const Generated *before, const Generated *after, const char *path);
