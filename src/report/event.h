/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Event: one log entry with structured fields, to the journal where stderr is the journal's, else as a plain
 * line to stderr. */

#include <sys/uio.h>
#include <syslog.h>

#include "basic/diag.h"

#define EVENT_FIELDS_MAX 32u

typedef struct Event {
        struct iovec fields[EVENT_FIELDS_MAX];
        size_t n;
} Event;

/* Adds "NAME=value"; lost when out of memory or beyond the maximum: the message is what counts. */
void event_add(Event *e, const char *format, ...) _printf_(2, 3);

/* Logs message with the fields, a MESSAGE_ID= (see report/message-ids.h; may be NULL) and a priority of
 * syslog(3). Frees the fields; e can be used again. */
void event_send(Event *e, int priority, const char *message_id, const char *message);

/* From here on, what cannot go to the journal goes to the kernel's log: in an initrd without systemd nobody
 * reads stderr. */
void event_use_kernel_log(void);

/* A message without more fields, in printf style. */
void event_log(int priority, const char *message_id, const char *format, ...) _printf_(3, 4);

/* A diagnostic as "FILE:LINE: message", with HUGEPAGES_FILE= and HUGEPAGES_LINE=. */
void event_log_diagnostic(const Diagnostic *d, const char *message_id);
