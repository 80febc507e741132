/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The unit files of services, their drop-ins, and what they assign. */

#include "hugepagesctl/unit-files.h"
#include "hugepagesctl/ctl.h"

/* Of systemd.unit(5), by falling precedence. */
static const char *const directories[] = {
        "/etc/systemd/system",     "/run/systemd/system", "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system", "/lib/systemd/system",
};

/* Where units come from generators and programs. Drop-ins there are not looked at: ours would be among them.
 */
static const char *const made_directories[] = {
        "/etc/systemd/system.control",  "/run/systemd/system.control",  "/run/systemd/transient",
        "/run/systemd/generator.early", "/etc/systemd/system.attached", "/run/systemd/system.attached",
        "/run/systemd/generator",       "/run/systemd/generator.late",
};

bool unit_path_exists(const char *root) {
        for (size_t i = 0; i < ELEMENTSOF(directories); i++)
                if (root_exists(root, directories[i]))
                        return true;
        return false;
}

/* Links count, wherever they lead: an alias, or a mask. */
static bool file_exists(const char *root, const char *path) {
        _cleanup_free_ char *target = NULL;

        return root_exists(root, path) || root_readlink(root, path, &target) >= 0;
}

/* "app@x.service" → "app@.service"; NULL for what is no instance. */
static char *template_name(const char *unit) {
        const char *at = strchr(unit, '@'), *suffix = strrchr(unit, '.');

        if (!at || !suffix || suffix == at + 1)
                return NULL;
        return format_text("%.*s%s", (int) (at + 1 - unit), unit, suffix);
}

static char *find_in(const char *root, const char *const *list, size_t n, const char *unit) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = format_text("%s/%s", list[i], unit);

                if (file_exists(root, path))
                        return TAKE_PTR(path);
        }
        return NULL;
}

static char *find_in_unit_path(const char *root, const char *unit) {
        return find_in(root, directories, ELEMENTSOF(directories), unit)
                       ?: find_in(root, made_directories, ELEMENTSOF(made_directories), unit);
}

char *unit_file_find(const char *root, const char *unit) {
        _cleanup_free_ char *template = template_name(unit), *script = NULL;
        const char *suffix = endswith(unit, ".service");
        char *path = find_in_unit_path(root, unit);

        if (!path && template)
                path = find_in_unit_path(root, template);
        if (path || !suffix)
                return path;
        script =
                format_text("/etc/init.d/%.*s", (int) (suffix - unit), unit); /* systemd-sysv-generator(8) */
        return root_exists(root, script) ? TAKE_PTR(script) : NULL;
}

void unit_setting_done(UnitSetting *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].file);
                free(s->items[i].value);
        }
        free(s->items);
        *s = (UnitSetting){};
}

static void setting_add(UnitSetting *s, const char *file, unsigned line, const char *value) {
        if (!*value) {
                unit_setting_done(s);
                return;
        }
        if (GROW_ARRAY(s->items, s->n) < 0)
                out_of_memory();
        s->items[s->n++] = (UnitAssignment){ format_text("%s", file), line, format_text("%s", value) };
}

static bool is_comment(const char *line) {
        line += strspn(line, " \t");
        return *line == '#' || *line == ';';
}

typedef struct UnitReader {
        FILE *f;
        char *line, *joined;
        size_t size;
        unsigned number; /* of the line read last */
} UnitReader;

static void unit_reader_done(UnitReader *r) {
        if (r->f)
                fclose(r->f);
        free(r->line);
        free(r->joined);
}

/* The next line, with those that continue it (systemd.syntax(7)); *ret_number is that of its first. NULL at
 * the end. */
static char *next_line(UnitReader *r, unsigned *ret_number) {
        free(r->joined);
        r->joined = NULL;
        while (getline(&r->line, &r->size, r->f) >= 0) {
                char *text, *before = r->joined;
                size_t l;

                r->number++;
                if (is_comment(r->line))
                        continue;
                text = strip(r->line);
                if (!before)
                        *ret_number = r->number;
                l = strlen(text);
                r->joined = format_text("%s%s%.*s", before ?: "", before ? " " : "",
                                        (int) (l > 0 && text[l - 1] == '\\' ? l - 1 : l), text);
                free(before);
                if (l == 0 || text[l - 1] != '\\')
                        return r->joined;
        }
        return r->joined;
}

static void read_unit_file(const char *root, const char *path, const char *key, UnitSetting *ret) {
        _cleanup_(unit_reader_done) UnitReader r = {};
        bool in_service = false;
        unsigned number = 0;

        if (root_fopen(root, path, &r.f) < 0)
                return;
        for (char *line; (line = next_line(&r, &number));) {
                char *equals = strchr(line, '=');

                if (*line == '[') {
                        in_service = streq(line, "[Service]");
                        continue;
                }
                if (!in_service || !equals)
                        continue;
                *equals = 0;
                if (streq(strip(line), key))
                        setting_add(ret, path, number, strip(equals + 1));
        }
}

typedef struct Dropins {
        char **paths;
        size_t n;
} Dropins;

static void dropins_done(Dropins *d) {
        for (size_t i = 0; i < d->n; i++)
                free(d->paths[i]);
        free(d->paths);
}

static const char *base_name(const char *path) {
        return strrchr(path, '/') + 1;
}

static int compare_base_names(const void *a, const void *b) {
        return strcmp(base_name(*(char *const *) a), base_name(*(char *const *) b));
}

/* Of one name, the first that is found counts. */
static void list_dropins(const char *root, const char *directory, Dropins *d) {
        _cleanup_closedir_ DIR *dir = NULL;

        if (root_opendir(root, directory, &dir) < 0)
                return;
        for (const struct dirent *de; (de = readdir(dir));) {
                bool known = false;

                if (!endswith(de->d_name, ".conf"))
                        continue;
                for (size_t i = 0; i < d->n && !known; i++)
                        known = streq(base_name(d->paths[i]), de->d_name);
                if (known)
                        continue;
                if (GROW_ARRAY(d->paths, d->n) < 0)
                        out_of_memory();
                d->paths[d->n++] = format_text("%s/%s", directory, de->d_name);
        }
}

static void list_dropins_of(const char *root, const char *unit, Dropins *d) {
        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_free_ char *directory = format_text("%s/%s.d", directories[i], unit);

                list_dropins(root, directory, d);
        }
}

/* The unit's own, its template's, those of names it begins with ("app-.service.d"), and all services'. */
static void list_all_dropins(const char *root, const char *unit, Dropins *d) {
        _cleanup_free_ char *template = template_name(unit);
        const char *suffix = strrchr(unit, '.');

        list_dropins_of(root, unit, d);
        if (template)
                list_dropins_of(root, template, d);
        for (const char *dash = suffix; suffix && dash > unit; dash--)
                if (dash[-1] == '-' && dash < suffix) {
                        _cleanup_free_ char *prefix =
                                format_text("%.*s%s", (int) (dash - unit), unit, suffix);

                        list_dropins_of(root, prefix, d);
                }
        list_dropins_of(root, "service", d);
        if (d->n > 1)
                qsort(d->paths, d->n, sizeof(char *), compare_base_names);
}

void unit_setting_read(const char *root, const char *unit, const char *key, UnitSetting *ret) {
        _cleanup_free_ char *path = unit_file_find(root, unit);
        _cleanup_(dropins_done) Dropins dropins = {};

        *ret = (UnitSetting){};
        if (!path || startswith(path, "/etc/init.d/"))
                return;
        read_unit_file(root, path, key, ret);
        list_all_dropins(root, unit, &dropins);
        for (size_t i = 0; i < dropins.n; i++)
                read_unit_file(root, dropins.paths[i], key, ret);
}
