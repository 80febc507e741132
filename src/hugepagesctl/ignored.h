/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Ignored: files among the drop-ins that their names keep from being read. */

#include "hugepagesctl/ctl.h"

/* A warning for each that somebody may take for a drop-in. */
void ignored_find(const Options *o, Diagnostics *d);

/* Whether file, a path of the real file system, is such a file in one of the directories. */
bool ignored_file(const Options *o, const char *file);
