/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reader: one drop-in, line by line. Between the file and inih, which would lose data silently. */

#include "basic/diag.h"

typedef enum HeaderVerdict {
        HEADER_ACCEPTED, /* its keys are wanted */
        HEADER_IGNORED,  /* its keys are passed over without a word */
        HEADER_REFUSED,  /* an error was reported; each line up to the next header is one as well */
} HeaderVerdict;

typedef struct ReaderHandler {
        /* A well-formed header [TYPE NAME]; name is NULL for [TYPE]. A HeaderVerdict or -ENOMEM. */
        int (*header)(void *userdata, Source source, const char *type, const char *name);
        /* KEY=VALUE in an accepted section; value may be empty. 0 or -ENOMEM. */
        int (*assignment)(void *userdata, Source source, const char *key, const char *value);
        /* A line of an accepted section that an error was reported for; key is the word it begins with,
         * which may be no key at all. 0 or -ENOMEM. */
        int (*malformed)(void *userdata, Source source, const char *key);
        void *userdata;
} ReaderHandler;

/* Reads everything. path (which must outlive the Sources) is what diagnostics name. 0 with what is wrong in
 * d, or -ENOMEM. */
int reader_run(FILE *f, const char *path, const ReaderHandler *handler, Diagnostics *d);
