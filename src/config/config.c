/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the drop-ins and merges them into one Config. */

#include <search.h>

#include "basic/parse.h"
#include "config/config.h"
#include "config/dropins.h"
#include "config/keys.h"
#include "config/reader.h"
#include "config/text.h"
#include "config/values.h"
#include "config/verify.h"

#define POOL_NAME_MAX 32u

typedef struct Loader {
        Config *config;
        Diagnostics *diagnostics;
        Section *section; /* that the reader is in */
} Loader;

bool pool_name_is_valid(const char *name) {
        size_t l = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

        return l >= 1 && l <= POOL_NAME_MAX && !name[l] && *name != '.' && *name != '-';
}

/* [Service db] and [Service db.service] are one. */
static int service_name_compare(const char *a, const char *b) {
        const char *x = endswith(a, ".service"), *y = endswith(b, ".service");
        size_t n = x ? (size_t) (x - a) : strlen(a), m = y ? (size_t) (y - b) : strlen(b);
        int r = memcmp(a, b, MIN(n, m));

        return r != 0 ? r : (n > m) - (n < m);
}

/* Orders the named sections by what makes them one. */
static int section_compare(const void *a, const void *b) {
        const Section *x = a, *y = b;

        if (x->type != y->type)
                return x->type < y->type ? -1 : 1;
        if (x->type == SECTION_SERVICE)
                return service_name_compare(x->name, y->name);
        if (x->type == SECTION_THP_SIZE) { /* [THP 1M] and [THP 1024K] as well */
                uint64_t m = ((const ThpSize *) a)->size, n = ((const ThpSize *) b)->size;

                return (m > n) - (m < n);
        }
        return strcmp(x->name, y->name);
}

static void *key_field(Section *s, const KeyInfo *key) {
        return (char *) s + key->offset;
}

static void free_field(Section *s, const KeyInfo *key) {
        void *field = key_field(s, key);

        if (key->free)
                key->free(field);
        memset(field, 0, key->size);
}

static int set_default(Section *s, const KeyInfo *key) {
        const char *reason;

        free_field(s, key);
        return key->initial ? key->parse(key, key->initial, key_field(s, key), &reason) : 0;
}

static int section_init(Section *s, SectionType type, const char *name) {
        const SectionInfo *info = &section_table[type];

        s->type = type;
        s->keys = calloc(info->n_keys, sizeof(KeyRecord));
        if (!s->keys || (name && !(s->name = strdup(name))))
                return -ENOMEM;
        for (size_t i = 0; i < info->n_keys; i++) {
                int r = set_default(s, &info->keys[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static void section_done(Section *s) {
        const SectionInfo *info = &section_table[s->type];

        for (size_t i = 0; i < info->n_keys; i++)
                free_field(s, &info->keys[i]);
        free(s->keys);
        free(s->name);
}

static void section_free(Section *s) {
        section_done(s);
        free(s);
}

DEFINE_CLEANUP(Section, section_free)

/* name has been found valid. */
static int section_new(SectionType type, const char *name, Section **ret) {
        _cleanup_(section_freep) Section *s = calloc(1, section_table[type].size);
        int r;

        if (!s)
                return -ENOMEM;
        r = section_init(s, type, name);
        if (r >= 0 && type == SECTION_THP_SIZE)
                r = page_size_parse(name, &((ThpSize *) s)->size);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(s);
        return 0;
}

/* At the end of the list of its type. */
static int config_append(Config *c, Section *s) {
        switch (s->type) {
        case SECTION_POOL:
                if (GROW_ARRAY(c->pools, c->n_pools) < 0)
                        return -ENOMEM;
                c->pools[c->n_pools++] = (Pool *) s;
                return 0;
        case SECTION_MOUNT:
                if (GROW_ARRAY(c->mounts, c->n_mounts) < 0)
                        return -ENOMEM;
                c->mounts[c->n_mounts++] = (Mount *) s;
                return 0;
        case SECTION_SERVICE:
                if (GROW_ARRAY(c->services, c->n_services) < 0)
                        return -ENOMEM;
                c->services[c->n_services++] = (Service *) s;
                return 0;
        case SECTION_THP_SIZE:
                if (GROW_ARRAY(c->thp_sizes, c->n_thp_sizes) < 0)
                        return -ENOMEM;
                c->thp_sizes[c->n_thp_sizes++] = (ThpSize *) s;
                return 0;
        default:
                return -EINVAL;
        }
}

/* The named section, which is made where it is not there yet. */
static int config_get_section(Config *c, SectionType type, const char *name, Source source, Section **ret) {
        _cleanup_(section_freep) Section *new = NULL;
        Section **found;
        int r = section_new(type, name, &new);

        if (r < 0)
                return r;
        new->source = source;
        found = tsearch(new, &c->index, section_compare);
        if (!found)
                return -ENOMEM;
        if (*found == new) {
                r = config_append(c, new);
                if (r < 0) {
                        tdelete(new, &c->index, section_compare);
                        return r;
                }
                TAKE_PTR(new);
        }
        *ret = *found;
        return 0;
}

static const SectionType unnamed_sections[] = { SECTION_THP, SECTION_KHUGEPAGED, SECTION_SYSTEM };

static Section *config_unnamed_section(Config *c, SectionType type) {
        switch (type) {
        case SECTION_THP:
                return &c->thp.section;
        case SECTION_KHUGEPAGED:
                return &c->khugepaged.section;
        default:
                return &c->system.section;
        }
}

static int config_new(Config **ret) {
        _cleanup_(config_freep) Config *c = calloc(1, sizeof(Config));

        if (!c)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(unnamed_sections); i++) {
                int r = section_init(config_unnamed_section(c, unnamed_sections[i]), unnamed_sections[i],
                                     NULL);

                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(c);
        return 0;
}

static void do_not_free(_unused_ void *node) {
}

void config_free(Config *c) {
        if (!c)
                return;
        for (size_t i = 0; i < c->n_pools; i++)
                section_free(&c->pools[i]->section);
        for (size_t i = 0; i < c->n_mounts; i++)
                section_free(&c->mounts[i]->section);
        for (size_t i = 0; i < c->n_services; i++)
                section_free(&c->services[i]->section);
        for (size_t i = 0; i < c->n_thp_sizes; i++)
                section_free(&c->thp_sizes[i]->section);
        for (size_t i = 0; i < ELEMENTSOF(unnamed_sections); i++) {
                Section *s = config_unnamed_section(c, unnamed_sections[i]);

                s->type = unnamed_sections[i]; /* not there yet where config_new() failed early */
                section_done(s);
        }
        tdestroy(c->index, do_not_free);
        for (size_t i = 0; i < c->n_files; i++)
                free(c->files[i].path);
        free(c->files);
        free(c->unknown_first);
        free(c->pools);
        free(c->mounts);
        free(c->services);
        free(c->thp_sizes);
        free(c);
}

/* The type of [TYPE] or [TYPE NAME]; _SECTION_TYPE_MAX where the word is unknown. With the wrong number of
 * words, the type that it comes nearest to. */
static SectionType find_section_type(const char *word, bool named) {
        SectionType nearest = _SECTION_TYPE_MAX;

        for (size_t t = 0; t < _SECTION_TYPE_MAX; t++)
                if (streq(word, section_table[t].name)) {
                        nearest = (SectionType) t;
                        if (section_table[t].named == named)
                                break;
                }
        return nearest;
}

/* What is wrong with the NAME of [TYPE NAME], and what it was probably meant to be; NULL for nothing. */
static const char *section_name_fault(SectionType type, const char *name, char *buffer, size_t buffer_size) {
        char respelt[32];
        uint64_t size;

        *buffer = 0;
        if (!section_table[type].named)
                return name ? "a name where none is taken (expected the section's word alone)" : NULL;
        if (!name)
                return "no name (expected [SECTION NAME])";
        switch (type) {
        case SECTION_SERVICE:
                return unit_name_is_valid(name)
                               ? NULL
                               : "not a unit name (expected letters, digits, or : - _ . \\ @)";
        case SECTION_THP_SIZE:
                if (page_size_parse(name, &size) >= 0)
                        return NULL;
                if (respell_sizes(name, respelt, sizeof(respelt)) && page_size_parse(respelt, &size) >= 0)
                        snprintf(buffer, buffer_size, " (did you mean [THP %s]?)", respelt);
                return "not a page size (expected one such as 64K or 2M)";
        default:
                return pool_name_is_valid(name) ? NULL : "not a valid name (expected " NAME_EXPECTED ")";
        }
}

/* The warning that was just added is about a name that may be a misspelt one, with all that stands for. */
static int count_unknown(Loader *l) {
        const Diagnostics *d = l->diagnostics;

        if (l->config->unknown++ > 0 || d->n == 0)
                return 0;
        l->config->unknown_first = diag_format(&d->items[d->n - 1]);
        return l->config->unknown_first ? 0 : -ENOMEM;
}

static int load_header(void *userdata, Source source, const char *word, const char *name) {
        Loader *l = userdata;
        SectionType type = find_section_type(word, name);
        char suggestion[64], header[128];
        const char *fault;
        int r;

        if (startswith(word, "X-"))
                return HEADER_IGNORED;
        snprintf(header, sizeof(header), "[%s%s%s]", word, name ? " " : "", name ? name : "");
        if (type == _SECTION_TYPE_MAX) {
                diag_warning(l->diagnostics, source, "%s: unknown section, ignored%s", QUOTE(header),
                             suggest_section(word, suggestion, sizeof(suggestion)));
                r = count_unknown(l);
                return r < 0 ? r : HEADER_IGNORED;
        }
        fault = section_name_fault(type, name, suggestion, sizeof(suggestion));
        if (fault) {
                diag_error(l->diagnostics, source, "%s: %s%s", QUOTE(header), fault, suggestion);
                return HEADER_REFUSED;
        }

        if (name) {
                r = config_get_section(l->config, type, name, source, &l->section);
                if (r < 0)
                        return r;
        } else {
                l->section = config_unnamed_section(l->config, type);
                if (!l->section->source.file)
                        l->section->source = source;
        }
        return HEADER_ACCEPTED;
}

/* For a key and the other one of its slot. */
static void record_assignment(Section *s, const KeyInfo *key, KeyState state, Source source) {
        const SectionInfo *info = &section_table[s->type];

        for (size_t i = 0; i < info->n_keys; i++)
                if (info->keys[i].offset == key->offset)
                        s->keys[i] = (KeyRecord){ .source = source, .key = key->name, .state = state };
}

/* The line in which this file already gave a value to the other key of the slot; NULL for none. */
static const KeyRecord *find_conflict(const Section *s, const KeyInfo *key, Source source) {
        const KeyRecord *record = &s->keys[key - section_table[s->type].keys];

        if (!record->key || record->key == key->name || record->state == KEY_STATE_EMPTY ||
            record->source.file != source.file)
                return NULL;
        return record;
}

/* Parses value into the field, with what the table says for bad ones. reported: why value is bad was told.
 */
static int assign_value(Section *s, const KeyInfo *key, const char *value, Source source, bool reported,
                        Diagnostics *d) {
        union {
                max_align_t align;
                char bytes[KEY_FIELD_SIZE_MAX];
        } new = {};
        const char *reason = "not valid";
        char suggestion[128];
        int r = key->parse(key, value, &new, &reason);

        if (r == -ENOMEM)
                return r;
        if (r < 0 && !reported)
                diag_error(d, source, "%s=%s: %s (expected %s%s)", key->name, QUOTE(value), reason,
                           key->expected, suggest_value(key, value, suggestion, sizeof(suggestion)));
        if (r < 0 && key->bad_value == BAD_VALUE_IGNORED)
                return 0;
        if (r >= 0 || key->bad_value == BAD_VALUE_BREAKS_SERVICE) {
                free_field(s, key);
                memcpy(key_field(s, key), &new, key->size);
        }
        record_assignment(s, key, r < 0 ? KEY_STATE_BAD : KEY_STATE_SET, source);
        return 0;
}

static int load_assignment(void *userdata, Source source, const char *name, const char *value) {
        Loader *l = userdata;
        const KeyInfo *key = section_find_key(l->section->type, name);
        const KeyRecord *conflict;

        if (!key) {
                SectionType type = l->section->type;
                char suggestion[64];

                if (startswith(name, "X-"))
                        return 0;
                diag_warning(l->diagnostics, source, "%s=%s: unknown key of [%s], ignored%s", QUOTE(name),
                             QUOTE(value), section_table[type].name,
                             suggest_key(type, name, suggestion, sizeof(suggestion)));
                return type == SECTION_MOUNT || type == SECTION_SERVICE ? 0 : count_unknown(l);
        }
        if (isempty(value)) {
                record_assignment(l->section, key, KEY_STATE_EMPTY, source);
                return set_default(l->section, key);
        }
        conflict = find_conflict(l->section, key, source);
        if (conflict) {
                diag_error(l->diagnostics, source,
                           "%s=%s: a second value beside %s= in line %u (expected one of the two)", name,
                           QUOTE(value), conflict->key, conflict->source.line);
                record_assignment(l->section, key, KEY_STATE_BAD, source);
                return 0;
        }
        return assign_value(l->section, key, value, source, false, l->diagnostics);
}

/* A line that cannot be read, but tells which key it is about, is a bad value of that key. */
static int load_malformed(void *userdata, Source source, const char *name) {
        Loader *l = userdata;
        const KeyInfo *key = section_find_key(l->section->type, name);

        /* No key takes "?". */
        return key ? assign_value(l->section, key, "?", source, true, l->diagnostics) : 0;
}

static int load_file(Loader *l, const Dropin *dropin, ConfigFile *file) {
        const ReaderHandler handler = {
                .header = load_header,
                .assignment = load_assignment,
                .malformed = load_malformed,
                .userdata = l,
        };
        _cleanup_fclose_ FILE *f = NULL;
        int r = dropin_open(dropin, &f);

        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                file->state = CONFIG_FILE_FAILED;
                diag_error(l->diagnostics, ((Source){ .file = file->path }), "%s", dropin_open_error(r));
                return 0;
        }
        file->state = r == 0 ? CONFIG_FILE_MASKED : CONFIG_FILE_READ;
        return f ? reader_run(f, file->path, &handler, l->diagnostics) : 0;
}

static int load_files(Loader *l, const Dropin *dropins, size_t n) {
        Config *c = l->config;

        c->files = calloc(n, sizeof(ConfigFile));
        if (n > 0 && !c->files)
                return -ENOMEM;
        for (; c->n_files < n; c->n_files++) {
                c->files[c->n_files].path = strdup(dropins[c->n_files].path);
                if (!c->files[c->n_files].path)
                        return -ENOMEM;
        }
        for (size_t i = n; i-- > 0;)
                if (dropin_replaced(&dropins[i], dropins + n)) {
                        c->files[i].state = CONFIG_FILE_REPLACED;
                        c->files[i].replaced_by = c->files[i + 1].replaced_by ? c->files[i + 1].replaced_by
                                                                              : c->files[i + 1].path;
                }
        for (size_t i = 0; i < n; i++)
                if (!c->files[i].replaced_by) {
                        int r = load_file(l, &dropins[i], &c->files[i]);

                        if (r < 0)
                                return r;
                }
        return 0;
}

int config_load_with(const char *root, char *const *files, Config **ret, Diagnostics *d) {
        _cleanup_(config_freep) Config *c = NULL;
        Dropin *dropins;
        size_t n, errors_before = d->n_errors;
        int r = config_new(&c);

        if (r < 0)
                return r;
        r = dropins_find(root, files, &dropins, &n, d);
        if (r < 0)
                return r;
        r = load_files(&(Loader){ .config = c, .diagnostics = d }, dropins, n);
        dropins_free(dropins, n);
        if (r >= 0)
                r = config_verify(c, d);
        if (r < 0)
                return r;
        c->faulty = d->n_errors > errors_before;
        *ret = TAKE_PTR(c);
        return 0;
}

int config_load(const char *root, Config **ret, Diagnostics *d) {
        return config_load_with(root, NULL, ret, d);
}

static Section *find_in_index(const Config *c, SectionType type, const char *name) {
        const Section probe = { .type = type, .name = (char *) name };
        Section *const *found = tfind(&probe, &c->index, section_compare);

        return found ? *found : NULL;
}

Pool *config_find_pool(const Config *c, const char *name) {
        if (c->index)
                return (Pool *) find_in_index(c, SECTION_POOL, name);
        for (size_t i = 0; i < c->n_pools; i++)
                if (streq(c->pools[i]->section.name, name))
                        return c->pools[i];
        return NULL;
}

Mount *config_find_mount(const Config *c, const char *name) {
        if (c->index)
                return (Mount *) find_in_index(c, SECTION_MOUNT, name);
        for (size_t i = 0; i < c->n_mounts; i++)
                if (streq(c->mounts[i]->section.name, name))
                        return c->mounts[i];
        return NULL;
}

Source section_key_source(const Section *s, const char *key) {
        const KeyInfo *info = section_find_key(s->type, key);
        const KeyRecord *record = info && s->keys ? &s->keys[info - section_table[s->type].keys] : NULL;

        return record && record->source.file ? record->source : s->source;
}
