/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Targets: places that compaction finds to move pages to. Its free scanner (isolate_freepages() in
 * mm/compaction.c, Linux 5.1 and later) has two blind spots: blocks that are wholly free are none of its
 * business, and once it has met a few blocks that give nothing it looks at every 32nd page alone, until it
 * meets a free one. Where those are in use, it passes all memory without a find, and compaction ends within
 * milliseconds with nothing done. A block of which all pages but the first are free is met in any case, and
 * from there on every page is looked at again. */

#include "basic/util.h"

typedef struct Targets {
        char *area; /* NULL: none */
        size_t size;
} Targets;

/* Breaks up n free blocks of a node (WHOLE_MACHINE: of any), block_size bytes each, or as many as can be
 * had; a page of each is held. Where the kernel has no transparent huge pages, or they are switched off,
 * there are none: that is no error. */
void targets_make(unsigned node_id, size_t n, size_t block_size, Targets *ret);
void targets_done(Targets *t);
