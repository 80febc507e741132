/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings: THP, khugepaged and the like, declared and actual. */

#include "hugepagesctl/status.h"

enum {
        COL_SETTING,
        COL_DECLARED,
        COL_ACTUAL,
        COL_STATE,
        COL_FROM,
        COL_PATH,
};

static const Column columns[] = {
        [COL_SETTING] = { "SETTING", 10, 0, .help = "the kernel's file, in short" },
        [COL_DECLARED] = { "DECLARED", 8, 0, .help = "value of the drop-ins" },
        [COL_ACTUAL] = { "ACTUAL", 6, 0, .help = "value of the kernel" },
        [COL_STATE] = { "STATE", 7, 0, .help = "ok, differs, or missing in this kernel" },
        [COL_FROM] = { "FROM", 10, 0, .optional = true, .help = "file and line that declare it" },
        [COL_PATH] = { "PATH", 10, 0, .optional = true, .help = "the kernel's file" },
};
const TableInfo settings_table = { "settings", columns, ELEMENTSOF(columns) };

const char *setting_state(const OutcomeSetting *s) {
        if (!s->wanted)
                return "undeclared";
        switch (s->result) {
        case SETTING_UNCHANGED:
        case SETTING_CHANGED:
                return "ok";
        case SETTING_MISSING:
                return "missing";
        default:
                return "differs";
        }
}

char *setting_name(const char *path) {
        const char *name;

        if ((name = startswith(path, THP_DIRECTORY "/")))
                return format_text("THP %s", name);
        if ((name = startswith(path, "/proc/sys/vm/")))
                return format_text("vm.%s", name);
        return format_text("%s", startswith(path, "/sys/kernel/mm/hugepages/") ?: path);
}

static char *cell(const Options *o, const void *row, size_t column) {
        const OutcomeSetting *s = row;

        switch (column) {
        case COL_SETTING:
                return setting_name(s->path);
        case COL_DECLARED:
                return format_text("%s", s->wanted ?: "-");
        case COL_ACTUAL:
                return format_text("%s", s->actual ?: "-");
        case COL_FROM:
                return s->source.file ? format_text("%s:%u", s->source.file, s->source.line)
                                      : format_text("-");
        case COL_PATH:
                return format_text("%s", s->path);
        default:
                return format_text("%s", s->wanted ? setting_state(s) : "-");
        }
}

void print_settings_table(const Status *s, const char *select) {
        _cleanup_(table_freep) Table *table = table_new(s->options, columns, ELEMENTSOF(columns), select);

        for (size_t i = 0; i < s->n_settings; i++) {
                const OutcomeSetting *setting = &s->settings[i];
                bool bad = setting->wanted &&
                           (setting->result == SETTING_REFUSED || setting->result == SETTING_MISSING);

                table_add(table, cell, setting, bad ? "yellow" : NULL);
        }
        table_print(table);
}

static bool is_declared(const Outcome *o, const char *path) {
        for (size_t i = 0; i < o->n_settings; i++)
                if (streq(o->settings[i].path, path))
                        return true;
        return false;
}

static OutcomeSetting *add_setting(Status *s) {
        if (GROW_ARRAY(s->settings, s->n_settings) < 0)
                out_of_memory();
        return &s->settings[s->n_settings++];
}

static void add_undeclared(Status *s, const char *path, const char *value) {
        char word[64];

        if (!value || is_declared(s->outcome, path))
                return;
        *add_setting(s) = (OutcomeSetting){
                .path = (char *) path,
                .actual = format_text("%s", knob_current_word(value, word, sizeof(word))),
        };
}

/* What is worth knowing where no drop-in declares it: the mode of THP, page sizes that do not just follow
 * it, and how hard khugepaged works. */
void status_make_settings(Status *s) {
        static const char *const thp[] = { THP_DIRECTORY "/enabled", THP_DIRECTORY "/defrag",
                                           THP_DIRECTORY "/shmem_enabled" };
        static const char *const khugepaged[] = { KHUGEPAGED_DIRECTORY "/defrag",
                                                  KHUGEPAGED_DIRECTORY "/pages_to_scan",
                                                  KHUGEPAGED_DIRECTORY "/scan_sleep_millisecs" };
        const Host *h = s->context.host;

        for (size_t i = 0; i < s->outcome->n_settings; i++)
                *add_setting(s) = s->outcome->settings[i];
        for (size_t i = 0; i < ELEMENTSOF(thp); i++)
                add_undeclared(s, thp[i], host_knob(h, thp[i]));
        for (size_t i = 0; i < h->n_knobs; i++) {
                char word[64];

                knob_current_word(h->knobs[i].value, word, sizeof(word));
                if (startswith(h->knobs[i].path, THP_DIRECTORY "/hugepages-") && !streq(word, "never") &&
                    !streq(word, "inherit"))
                        add_undeclared(s, h->knobs[i].path, h->knobs[i].value);
        }
        for (size_t i = 0; i < ELEMENTSOF(khugepaged); i++)
                add_undeclared(s, khugepaged[i], host_knob(h, khugepaged[i]));
}

void status_free_settings(Status *s) {
        for (size_t i = 0; i < s->n_settings; i++)
                if (!s->settings[i].wanted)
                        free(s->settings[i].actual);
        free(s->settings);
}
