/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Foreign managers: sysctl.d(5), tuned and the kernel command line, searched for what is ours as well. */

#include <fnmatch.h>

#include "basic/cmdline.h"
#include "basic/fs.h"
#include "host/foreign.h"

#define TUNED_PROFILES_MAX 32u

const char *const foreign_sysctl_keys[] = {
        "vm.nr_hugepages",
        "vm.nr_hugepages_mempolicy",
        "vm.nr_overcommit_hugepages",
        "vm.hugetlb_shm_group",
        "vm.hugetlb_optimize_vmemmap",
        "vm.defrag_mode",
        NULL,
};

static int foreign_add(Foreign *f, ForeignKind kind, const char *file, unsigned line, const char *key,
                       const char *value) {
        ForeignSetting *s;

        if (GROW_ARRAY(f->items, f->n) < 0)
                return -ENOMEM;
        s = &f->items[f->n++];
        *s = (ForeignSetting){
                .kind = kind,
                .file = strdup(file),
                .line = line,
                .key = strdup(key),
                .value = strdup(value),
        };
        return s->file && s->key && s->value ? 0 : -ENOMEM;
}

void foreign_done(Foreign *f) {
        for (size_t i = 0; i < f->n; i++) {
                free(f->items[i].file);
                free(f->items[i].key);
                free(f->items[i].value);
        }
        free(f->items);
        *f = (Foreign){};
}

/* Cuts "key = value" in two, both stripped. false for an empty line, a comment or a line without "=". */
static bool split_assignment(char *line, char **ret_key, char **ret_value) {
        char *key = strip(line), *equals;

        if (!*key || *key == '#' || *key == ';')
                return false;
        equals = strchr(key, '=');
        if (!equals)
                return false;
        *equals = 0;
        *ret_key = strip(key);
        *ret_value = strip(equals + 1);
        return true;
}

/* sysctl.d(5): whichever of "/" and "." comes first separates, and the other then stands for itself. */
static void normalize_sysctl_key(char *key) {
        if (key[strcspn(key, "/.")] != '/')
                return;
        for (; *key; key++)
                if (*key == '/')
                        *key = '.';
                else if (*key == '.')
                        *key = '/';
}

/* pattern may be a glob, whose wildcards stay within one component. */
static bool is_our_sysctl(const char *pattern) {
        for (const char *const *key = foreign_sysctl_keys; *key; key++) {
                const char *name = startswith(*key, "vm."), *dot = strchr(pattern, '.');

                if (streq(pattern, *key))
                        return true;
                if (!dot || !pattern[strcspn(pattern, "*?[")])
                        continue;

                _cleanup_free_ char *directory = strndup(pattern, (size_t) (dot - pattern));
                if (directory && fnmatch(directory, "vm", 0) == 0 && fnmatch(dot + 1, name, 0) == 0)
                        return true;
        }
        return false;
}

typedef struct SysctlFile {
        char *name;
        const char *directory;
} SysctlFile;

typedef struct SysctlFiles {
        SysctlFile *items;
        size_t n;
} SysctlFiles;

static void sysctl_files_done(SysctlFiles *files) {
        for (size_t i = 0; i < files->n; i++)
                free(files->items[i].name);
        free(files->items);
}

static char *sysctl_path(const char *directory, const char *name) {
        char *path;

        return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* A link that leads nowhere hides nothing, but for one to /dev/null, which may not exist below a root. */
static bool is_usable_link(const char *root, const char *path) {
        _cleanup_free_ char *target = NULL;

        return root_exists(root, path) ||
               (root_readlink(root, path, &target) >= 0 && streq(target, "/dev/null"));
}

static bool sysctl_files_contain(const SysctlFiles *files, const char *name) {
        for (size_t i = 0; i < files->n; i++)
                if (streq(files->items[i].name, name))
                        return true;
        return false;
}

static int list_sysctl_directory(const char *root, const char *directory, SysctlFiles *files) {
        _cleanup_closedir_ DIR *dir = NULL;

        if (root_opendir(root, directory, &dir) < 0)
                return 0;
        for (struct dirent *de; (de = readdir(dir));) {
                SysctlFile *f;

                if (de->d_name[0] == '.' || !endswith(de->d_name, ".conf") ||
                    sysctl_files_contain(files, de->d_name))
                        continue;
                if (de->d_type == DT_LNK || de->d_type == DT_UNKNOWN) {
                        _cleanup_free_ char *path = sysctl_path(directory, de->d_name);

                        if (!path)
                                return -ENOMEM;
                        if (!is_usable_link(root, path))
                                continue;
                } else if (de->d_type != DT_REG)
                        continue;

                if (GROW_ARRAY(files->items, files->n) < 0)
                        return -ENOMEM;
                f = &files->items[files->n];
                f->directory = directory;
                f->name = strdup(de->d_name);
                if (!f->name)
                        return -ENOMEM;
                files->n++;
        }
        return 0;
}

static int compare_sysctl_files(const void *a, const void *b) {
        return strcmp(((const SysctlFile *) a)->name, ((const SysctlFile *) b)->name);
}

/* By base name; a file in an earlier directory stands for those of its name in later ones. A masked file has
 * no lines and so needs no care. */
static int list_sysctl_files(const char *root, SysctlFiles *files) {
        static const char *const directories[] = {
                "/etc/sysctl.d",     "/run/sysctl.d", "/usr/local/lib/sysctl.d",
                "/usr/lib/sysctl.d", "/lib/sysctl.d", /* all replaced where /lib is a link to /usr/lib */
        };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++)
                if (list_sysctl_directory(root, directories[i], files) < 0)
                        return -ENOMEM;
        if (files->n > 1)
                qsort(files->items, files->n, sizeof(SysctlFile), compare_sysctl_files);
        return 0;
}

/* Adds what a file sets of ours. With first_only the first one will do. */
static int read_sysctl_file(const char *root, const char *path, bool first_only, Foreign *ret) {
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (root_fopen(root, path, &f) < 0)
                return 0;
        for (unsigned n = 1; getline(&line, &size, f) >= 0; n++) {
                char *key, *value;

                if (!split_assignment(line, &key, &value))
                        continue;
                if (*key == '-') /* failures do not matter */
                        key = strip(key + 1);
                normalize_sysctl_key(key);
                if (!is_our_sysctl(key))
                        continue;
                if (foreign_add(ret, FOREIGN_SYSCTL, path, n, key, value) < 0)
                        return -ENOMEM;
                if (first_only)
                        break;
        }
        return 0;
}

static int load_sysctl(const char *root, bool first_only, Foreign *ret) {
        _cleanup_(sysctl_files_done) SysctlFiles files = {};
        int r = list_sysctl_files(root, &files);

        for (size_t i = 0; r >= 0 && i < files.n && !(first_only && ret->n > 0); i++) {
                _cleanup_free_ char *path = sysctl_path(files.items[i].directory, files.items[i].name);

                r = path ? read_sysctl_file(root, path, first_only, ret) : -ENOMEM;
        }
        return r;
}

bool foreign_sysctl_conflicts(const char *root) {
        _cleanup_(foreign_done) Foreign f = {};

        /* Out of memory: an ordering too many does no harm. */
        return load_sysctl(root, true, &f) < 0 || f.n > 0;
}

typedef struct Tuned {
        const char *root;
        Foreign *ret;
        char *seen[TUNED_PROFILES_MAX]; /* profiles that were read: an include may lead back */
        size_t n_seen;
} Tuned;

static void tuned_done(Tuned *t) {
        for (size_t i = 0; i < t->n_seen; i++)
                free(t->seen[i]);
}

static bool is_our_tuned_setting(const char *section, char *key, const char *value) {
        if (streq(section, "sysctl")) {
                normalize_sysctl_key(key);
                return is_our_sysctl(key);
        }
        if (streq(section, "vm"))
                return startswith(key, "transparent_hugepage") != NULL;
        if (streq(section, "sysfs"))
                return strstr(key, "hugepage") != NULL;
        if (streq(section, "bootloader"))
                return startswith(key, "cmdline") && (strstr(value, "hugepage") || strstr(value, "hugetlb"));
        return false;
}

static int tuned_load_profile(Tuned *t, const char *name);

static int tuned_load_names(Tuned *t, char *names) {
        for (char *name; (name = strsep(&names, " \t,;\n"));) {
                int r = *name ? tuned_load_profile(t, name) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int tuned_read_profile(Tuned *t, const char *path, FILE *f) {
        _cleanup_free_ char *line = NULL, *section = NULL;
        size_t size = 0;

        for (unsigned n = 1; getline(&line, &size, f) >= 0; n++) {
                char *key, *value, *text = strip(line);
                int r = 0;

                if (*text == '[') {
                        free(section);
                        section = strndup(text + 1, strcspn(text + 1, "]"));
                        if (!section)
                                return -ENOMEM;
                        continue;
                }
                if (!section || !split_assignment(text, &key, &value))
                        continue;
                if (streq(section, "main") && streq(key, "include"))
                        r = tuned_load_names(t, value);
                else if (is_our_tuned_setting(section, key, value))
                        r = foreign_add(t->ret, FOREIGN_TUNED, path, n, key, value);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Reads a profile and, first, those that it includes: its own settings come later and win. */
static int tuned_load_profile(Tuned *t, const char *name) {
        static const char *const directories[] = {
                "/etc/tuned/profiles",
                "/etc/tuned",
                "/usr/lib/tuned/profiles",
                "/usr/lib/tuned",
        };

        if (*name == '.' || strchr(name, '/') || t->n_seen == TUNED_PROFILES_MAX)
                return 0;
        for (size_t i = 0; i < t->n_seen; i++)
                if (streq(t->seen[i], name))
                        return 0;
        t->seen[t->n_seen] = strdup(name);
        if (!t->seen[t->n_seen])
                return -ENOMEM;
        t->n_seen++;

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_free_ char *path = NULL;
                _cleanup_fclose_ FILE *f = NULL;

                if (asprintf(&path, "%s/%s/tuned.conf", directories[i], name) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                if (root_fopen(t->root, path, &f) >= 0)
                        return tuned_read_profile(t, path, f);
        }
        return 0;
}

static int load_tuned(const char *root, Foreign *ret) {
        _cleanup_(tuned_done) Tuned t = { .root = root, .ret = ret };
        _cleanup_free_ char *names = NULL;
        int r = root_read_line(root, "/etc/tuned/active_profile", &names);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return tuned_load_names(&t, names);
}

int foreign_load(const char *root, Foreign *ret) {
        Foreign f = {};
        int r = load_sysctl(root, false, &f);

        if (r >= 0)
                r = load_tuned(root, &f);
        if (r < 0) {
                foreign_done(&f);
                return r;
        }
        *ret = f;
        return 0;
}
