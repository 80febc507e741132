/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Log entries with fields. */

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>

#include "config/text.h"
#include "report/event.h"

/* The kernel takes lines below 1 KiB and refuses longer ones whole. */
#define KMSG_LINE_MAX 900

static bool use_kernel_log;

/* $JOURNAL_STREAM names what systemd has connected with the journal; it is inherited, and stderr may have
 * been redirected since (systemd.exec(5)). */
static bool stderr_is_journal(void) {
        const char *e = getenv("JOURNAL_STREAM");
        unsigned long long device, inode;
        struct stat st;

        if (!e || sscanf(e, "%llu:%llu", &device, &inode) != 2 || fstat(STDERR_FILENO, &st) < 0)
                return false;
        return st.st_dev == (dev_t) device && st.st_ino == (ino_t) inode;
}

void event_add(Event *e, const char *format, ...) {
        va_list ap;
        char *text;
        int r;

        if (e->n >= EVENT_FIELDS_MAX)
                return;
        va_start(ap, format);
        r = vasprintf(&text, format, ap);
        va_end(ap);
        if (r >= 0)
                e->fields[e->n++] = (struct iovec){ text, (size_t) r };
}

/* journald looks up a sender's unit when it gets to the message, and finds none when the sender has exited
 * by then, as a oneshot at boot may have. "journalctl -u" and "systemctl status" also show what root says
 * about a unit in OBJECT_SYSTEMD_UNIT= (systemd.journal-fields(7)). */
static void add_own_unit(Event *e) {
        _cleanup_free_ char *unit = NULL;

        if (sd_pid_get_unit(0, &unit) >= 0)
                event_add(e, "OBJECT_SYSTEMD_UNIT=%s", unit);
}

static int send_to_journal(const Event *e, int priority, const char *message_id, const char *message) {
        Event all = {};
        int r;

        event_add(&all, "MESSAGE=%s", message);
        event_add(&all, "PRIORITY=%i", priority);
        event_add(&all, "SYSLOG_IDENTIFIER=%s", program_invocation_short_name);
        if (message_id)
                event_add(&all, "MESSAGE_ID=%s", message_id);
        add_own_unit(&all);

        size_t n_own = all.n;
        for (size_t i = 0; i < e->n && all.n < EVENT_FIELDS_MAX; i++)
                all.fields[all.n++] = e->fields[i];
        r = sd_journal_sendv(all.fields, (int) all.n);
        for (size_t i = 0; i < n_own; i++)
                free(all.fields[i].iov_base);
        return r;
}

void event_use_kernel_log(void) {
        use_kernel_log = true;
}

static int send_to_kernel(int priority, const char *message) {
        _cleanup_close_ int fd = open("/dev/kmsg", O_WRONLY | O_NOCTTY | O_CLOEXEC);
        char line[KMSG_LINE_MAX];
        int l;

        if (fd < 0)
                return -errno;
        /* LOG_DAEMON: whoever looks for the kernel's own messages does not mean these. */
        l = snprintf(line, sizeof(line), "<%d>%s[%ld]: %s", LOG_DAEMON | priority,
                     program_invocation_short_name, (long) getpid(), message);
        l = MIN(l, (int) sizeof(line) - 1);
        line[l++] = '\n'; /* the kernel holds back a record that may go on */
        return write(fd, line, (size_t) l) < 0 ? -errno : 0;
}

static int send(const Event *e, int priority, const char *message_id, const char *message) {
        if (stderr_is_journal())
                return send_to_journal(e, priority, message_id, message);
        return use_kernel_log ? send_to_kernel(priority, message) : -ENOTSUP;
}

void event_send(Event *e, int priority, const char *message_id, const char *message) {
        _cleanup_free_ char *text = text_escape(message);

        if (text && send(e, priority, message_id, text) < 0)
                fprintf(stderr, "%s\n", text);
        for (size_t i = 0; i < e->n; i++)
                free(e->fields[i].iov_base);
        *e = (Event){};
}

void event_log(int priority, const char *message_id, const char *format, ...) {
        _cleanup_free_ char *message = NULL;
        Event e = {};
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&message, format, ap);
        va_end(ap);
        if (r < 0) {
                message = NULL;
                return;
        }
        event_send(&e, priority, message_id, message);
}

void event_log_diagnostic(const Diagnostic *d, const char *message_id) {
        _cleanup_free_ char *message = diag_format(d);
        Event e = {};

        if (!message)
                return;
        if (d->file)
                event_add(&e, "HUGEPAGES_FILE=%s", d->file);
        if (d->line > 0)
                event_add(&e, "HUGEPAGES_LINE=%u", d->line);
        event_send(&e, d->severity == SEVERITY_ERROR ? LOG_ERR : LOG_WARNING, message_id, message);
}
