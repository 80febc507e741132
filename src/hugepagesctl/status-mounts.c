/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounts: declared, and what is mounted. */

#include "hugepagesctl/status.h"

enum {
        COL_MOUNT,
        COL_SIZE,
        COL_LIMIT,
        COL_USED,
        COL_STATE,
        COL_UNIT,
        COL_FROM,
        COL_DIFFERENCE,
};

static const Column columns[] = {
        [COL_MOUNT] = { "MOUNT", 10, 0, .help = "where" },
        [COL_SIZE] = { "SIZE", 4, SCOLS_FL_RIGHT, .help = "page size" },
        [COL_LIMIT] = { "LIMIT", 5, SCOLS_FL_RIGHT, .help = "most that its files may take" },
        [COL_USED] = { "USED", 5, SCOLS_FL_RIGHT, .help = "what its files take" },
        [COL_STATE] = { "STATE", 7, 0,
                        .help = "mounted, changed since, refused, missing, or dropped for an error" },
        [COL_UNIT] = { "UNIT", 10, 0, .optional = true, .help = "its unit" },
        [COL_FROM] = { "FROM", 10, 0, .optional = true, .help = "file and line of the mount" },
        [COL_DIFFERENCE] = { "DIFFERENCE", 0.3, SCOLS_FL_WRAP, .optional = true,
                             .help = "what it has otherwise than declared" },
};
const TableInfo mounts_table = { "mounts", columns, ELEMENTSOF(columns) };

const char *mount_state(const MountStatus *m) {
        if (m->mount->section.dropped)
                return "dropped";
        if (m->mounted == TRISTATE_UNSET)
                return "unknown";
        if (m->mounted == TRISTATE_YES)
                return m->difference ? "changed" : "mounted";
        return m->refused ? "refused" : "missing";
}

bool mount_is_bad(const MountStatus *m) {
        return m->mount->section.dropped || m->mounted == TRISTATE_NO || m->difference;
}

static char *cell(const Options *o, const void *row, size_t column) {
        const MountStatus *m = row;
        Source source = m->mount->section.source;

        switch (column) {
        case COL_MOUNT:
                return format_text("%s", m->mount->where ?: m->mount->section.name);
        case COL_SIZE:
                return m->page_size > 0 ? format_bytes_exact(o, m->page_size) : format_text("-");
        case COL_LIMIT:
                return m->has_usage && m->limit != UINT64_MAX ? format_bytes(o, m->limit) : format_text("-");
        case COL_USED:
                return m->has_usage ? format_bytes(o, m->used) : format_text("-");
        case COL_UNIT:
                return format_text("%s", m->unit ?: "-");
        case COL_FROM:
                return format_text("%s:%u", source.file ?: "", source.line);
        case COL_DIFFERENCE:
                return format_text("%s", m->difference ?: "-");
        default:
                return format_text("%s", mount_state(m));
        }
}

/* Where a sentence has room: what the state does not say, and what to do. */
static char *remark(const MountStatus *m) {
        if (m->mount->section.dropped || m->mounted == TRISTATE_UNSET)
                return NULL;
        if (m->difference)
                return format_text("  %s: %s; takes effect after %s is restarted", m->mount->where,
                                   m->difference, m->unit);
        if (m->mounted == TRISTATE_NO && m->refused)
                return format_text(
                        "  %s: not mounted, as the directory is not empty and the mount would hide "
                        "what is there; empty it, then start %s",
                        m->mount->where, m->unit);
        return NULL;
}

static void print_remarks(const Status *s) {
        for (size_t i = 0; i < s->n_mounts; i++) {
                _cleanup_free_ char *text = remark(&s->mounts[i]);

                if (text)
                        print_wrapped(s->options, text, 0, 6);
        }
}

void print_mounts_table(const Status *s, const char *select) {
        _cleanup_(table_freep) Table *table = table_new(s->options, columns, ELEMENTSOF(columns), select);

        for (size_t i = 0; i < s->n_mounts; i++)
                table_add(table, cell, &s->mounts[i], mount_is_bad(&s->mounts[i]) ? "red" : NULL);
        table_print(table);
        if (!options_table_only(s->options))
                print_remarks(s);
}
