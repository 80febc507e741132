/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What `hugepagesctl revert` and `hugepagesctl release` share. */

#include "hugepagesctl/ctl.h"

/* The parts of an ApplyInput that both need; kernel must outlive it. */
ApplyInput release_input(const Options *o, const Context *c, Kernel *kernel);

/* "writes", "kept" and "missing" of the JSON document. */
void release_add_json(struct json_object *document, const Context *c, const Released *r, bool dry_run);

/* What could not go, or did not come, line by line. */
void release_print_kept(const Options *o, const Context *c, const Released *r);

/* "2048 × 2M (4G)", to be freed by the caller. */
char *format_pages(uint64_t pages, uint64_t page_size);
