/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The guard before inih: judges each raw line, and hands inih only what it reads the way it was meant.
 *
 * What inih (release 55, as distributions build it) does without a word: it cuts a line at 199 bytes and
 * parses the rest as a new one, cuts section names at 49, takes an indented line for more of the value
 * before, cuts a value at " ;", takes ":" for "=", drops text after "]", gives what follows a broken header
 * to the section before, and never reports a section without keys. */

#include <ini.h>

#include "config/reader.h"
#include "config/text.h"

#define LINE_BYTES_MAX 198u   /* INI_MAX_LINE less the newline and the terminator */
#define SECTION_BYTES_MAX 49u /* MAX_SECTION of ini.c less the terminator */
#define BLANKS " \t"

typedef enum ReaderState {
        STATE_OUTSIDE, /* before the first header */
        STATE_ACCEPTED,
        STATE_IGNORED,
        STATE_REFUSED,
} ReaderState;

typedef struct Reader {
        FILE *file;
        Source source; /* the line that inih has */
        const ReaderHandler *handler;
        Diagnostics *diagnostics;
        ReaderState state;
        unsigned header_line;
        char *buffer; /* getline()'s */
        size_t buffer_size;
        int error; /* -ENOMEM from a handler */
} Reader;

/* What is wrong with a line that inih would misread in one way or the other; NULL for nothing. */
static const char *line_fault(const char *line, size_t length) {
        if (memchr(line, 0, length))
                return "NUL byte in the line (expected text)";
        if (strchr(BLANKS, *line))
                return "indented line (expected it to begin in the first column)";
        for (size_t i = 0; i < length; i++)
                if (((unsigned char) line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
                        return "control character in the line (expected text)";
        if (length > LINE_BYTES_MAX)
                return "line too long (expected at most 198 bytes)";
        return NULL;
}

/* What is wrong with KEY=VALUE, beyond that. */
static const char *assignment_fault(const char *line, size_t length) {
        const char *equal = strchr(line, '='), *colon = strchr(line, ':');

        if (line[length - 1] == '\\')
                return "line ends in a backslash (expected the whole value in one line: there are no "
                       "continuation lines)";
        if (!equal || (colon && colon < equal))
                return "not an assignment (expected KEY=VALUE)";
        if (equal == line)
                return "no key (expected KEY=VALUE)";
        if (strstr(line, " ;") || strstr(line, "\t;"))
                return "\" ;\" within the line (expected a comment in a line of its own)";
        return NULL;
}

/* What is wrong with [TYPE] or [TYPE NAME]. Where nothing is, the line is taken apart. */
static const char *split_header(char *line, char **ret_type, char **ret_name) {
        char *end = strchr(line, ']'), *name;

        if (!end)
                return "header without \"]\" (expected [SECTION] or [SECTION NAME])";
        if (end[1])
                return "text after \"]\" (expected nothing behind a header, not even a comment)";
        if ((size_t) (end - line - 1) > SECTION_BYTES_MAX)
                return "section header too long (expected at most 49 bytes; a long unit name goes into "
                       "Unit=)";
        if (end == line + 1 || strchr(BLANKS, line[1]) || strchr(BLANKS, end[-1]))
                return "malformed header (expected [SECTION] or [SECTION NAME])";
        *end = 0;
        *ret_type = line + 1;
        name = line + 1 + strcspn(line + 1, BLANKS);
        *ret_name = NULL;
        if (*name) {
                *name++ = 0;
                *ret_name = name + strspn(name, BLANKS);
        }
        return NULL;
}

static void reader_error(Reader *r, const char *line, const char *fault) {
        diag_error(r->diagnostics, r->source, "%s%s%s", QUOTE(line), *line ? ": " : "", fault);
}

static void read_header(Reader *r, char *line, size_t length) {
        const char *fault = line_fault(line, length);
        char quoted[QUOTE_BUFFER_SIZE], *type, *name;
        int verdict;

        r->header_line = r->source.line;
        r->state = STATE_REFUSED;
        quote(quoted, line);
        if (!fault)
                fault = split_header(line, &type, &name);
        if (fault) {
                diag_error(r->diagnostics, r->source, "%s: %s", quoted, fault);
                return;
        }
        verdict = r->handler->header(r->handler->userdata, r->source, type, name);
        if (verdict < 0)
                r->error = verdict;
        else if (verdict != HEADER_REFUSED)
                r->state = verdict == HEADER_ACCEPTED ? STATE_ACCEPTED : STATE_IGNORED;
}

/* Reports what is wrong with a line of an accepted section. */
static void refuse_assignment(Reader *r, const char *line, const char *fault) {
        const char *word = line + strspn(line, BLANKS);
        char key[64];

        snprintf(key, sizeof(key), "%.*s", (int) MIN(strcspn(word, BLANKS "=:;\\"), sizeof(key)), word);
        reader_error(r, line, fault);
        r->error = r->handler->malformed(r->handler->userdata, r->source, key);
}

/* Whether inih may have the line. */
static bool read_assignment(Reader *r, const char *line, size_t length) {
        const char *fault;

        switch (r->state) {
        case STATE_IGNORED:
                return false;
        case STATE_REFUSED:
                diag_error(r->diagnostics, r->source,
                           "%s: refused (expected a valid header before it; the one in line %u is not)",
                           QUOTE(line), r->header_line);
                return false;
        case STATE_OUTSIDE:
                reader_error(r, line,
                             "text outside of a section (expected a header such as [Pool NAME] first)");
                return false;
        case STATE_ACCEPTED:
                break;
        }

        fault = line_fault(line, length);
        if (!fault)
                fault = assignment_fault(line, length);
        if (fault)
                refuse_assignment(r, line, fault);
        return !fault;
}

/* Judges a line without its newline; whether inih may have it. */
static bool read_line(Reader *r, char *line, size_t length) {
        const char *text = line + strspn(line, BLANKS);

        if (text == line + length || *text == '#' || *text == ';') {
                if (memchr(line, 0, length)) /* UTF-16, or a damaged file */
                        reader_error(r, line, "NUL byte in a comment (expected text)");
                return false;
        }
        if (*text == '[') {
                read_header(r, line, length);
                return false; /* headers are ours: inih would not tell of those without keys */
        }
        return read_assignment(r, line, length);
}

/* fgets() for inih: one line a call, empty where it must not see it. size is what inih has room for. */
static char *reader_next(char *buffer, int size, void *stream) {
        Reader *r = stream;
        char *line;
        ssize_t n;

        if (r->error < 0)
                return NULL;
        errno = 0;
        n = getline(&r->buffer, &r->buffer_size, r->file);
        if (n < 0) {
                if (errno == ENOMEM)
                        r->error = -ENOMEM;
                else if (ferror(r->file))
                        diag_error(r->diagnostics, r->source, "cannot be read any further: %m");
                return NULL;
        }
        line = r->buffer;
        r->source.line++;
        if (r->source.line == 1 && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
                line += 3;
                n -= 3;
        }
        if (n > 0 && line[n - 1] == '\n')
                n--;
        while (n > 0 && line[n - 1] && strchr(BLANKS "\r", line[n - 1]))
                n--;
        line[n] = 0;

        *buffer = 0;
        if (read_line(r, line, (size_t) n)) {
                if (n < size)
                        memcpy(buffer, line, (size_t) n + 1);
                else
                        refuse_assignment(r, line,
                                          "line too long for this build of inih (expected a shorter one)");
        }
        return buffer;
}

static int reader_assignment(void *userdata, const char *section, const char *key, const char *value) {
        Reader *r = userdata;

        if (r->error >= 0)
                r->error = r->handler->assignment(r->handler->userdata, r->source, key, value);
        return 1;
}

int reader_run(FILE *f, const char *path, const ReaderHandler *handler, Diagnostics *d) {
        Reader reader = {
                .file = f,
                .source.file = path,
                .handler = handler,
                .diagnostics = d,
        };
        int r = ini_parse_stream(reader_next, &reader, reader_assignment, &reader);

        free(reader.buffer);
        if (reader.error < 0)
                return reader.error;
        if (r == -2)
                return -ENOMEM;
        if (r > 0) /* a line that we took for good and inih did not */
                diag_error(d, ((Source){ path, (unsigned) r }), "not understood (expected KEY=VALUE)");
        return 0;
}
