/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folklore: advice on huge pages that is copied from guide to guide and does nothing. */

#include "basic/parse.h"
#include "hugepagesctl/lint.h"

typedef struct Myth {
        const char *text; /* a sysctl, a module, or a part of a path */
        const char *truth;
} Myth;

static const Myth sysctls[] = {
        { "vm.hugepages_treat_as_movable",
          "Linux 4.16 has removed it; movable nodes can hold huge pages anyway" },
        { "kernel.shm_use_hugepages", "no kernel has it; SharedMemoryGroup= says who may use SHM_HUGETLB" },
};

static const Myth modules[] = {
        { "hugetlbpage", "huge pages are no module; the kernel has them or not" },
        { "hugetlbfs", "hugetlbfs is no module; the kernel has it or not" },
};

static const Myth paths[] = {
        { "/transparent_hugepage/hugepage_size", "no kernel has it; [THP 64K] sets a size" },
        { "/transparent_hugepage/batch", "no kernel has it" },
};

typedef struct Finder {
        const char *root, *path;
        Diagnostics *d;
        /* Judges one line, without blanks around; may change it. */
        void (*judge)(const struct Finder *f, unsigned number, char *line);
} Finder;

static void report(const Finder *f, unsigned number, const char *text, const char *truth) {
        diag_warning(f->d, ((Source){ f->path, number }), "%s does nothing: %s", text, truth);
}

/* "vm.x = 1", "-vm/x=1" */
static void judge_sysctl(const Finder *f, unsigned number, char *line) {
        char *equals = strchr(line, '='), *key, *value;
        uint64_t pages;

        if (!equals)
                return;
        *equals = 0;
        key = strip(line + strspn(line, "- \t"));
        value = strip(equals + 1);
        for (char *p = key; *p; p++)
                if (*p == '/')
                        *p = '.';
        for (size_t i = 0; i < ELEMENTSOF(sysctls); i++)
                if (streq(key, sysctls[i].text))
                        report(f, number, key, sysctls[i].truth);
        if (streq(key, "vm.nr_hugepages_mempolicy") && parse_u64(value, &pages) < 0)
                report(f, number, "vm.nr_hugepages_mempolicy",
                       "it takes a number of pages, not the name of a policy");
}

static void judge_module(const Finder *f, unsigned number, char *line) {
        for (size_t i = 0; i < ELEMENTSOF(modules); i++)
                if (streq(line, modules[i].text))
                        report(f, number, line, modules[i].truth);
}

/* A line of tmpfiles.d or of a script. */
static void judge_write(const Finder *f, unsigned number, char *line) {
        const char *hugepages = strstr(line, "/sys/kernel/mm/hugepages/");

        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                if (strstr(line, paths[i].text))
                        report(f, number, paths[i].text + 1, paths[i].truth);
        if (hugepages && strstr(hugepages, "/defrag"))
                report(f, number, "/sys/kernel/mm/hugepages/.../defrag",
                       "no kernel has it; what is compacted is THP's, [THP] Defrag=");
}

static void read_file(const Finder *f) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (root_fopen(f->root, f->path, &file) < 0)
                return;
        for (unsigned n = 1; getline(&line, &size, file) >= 0; n++) {
                char *text = strip(line);

                if (*text && *text != '#' && *text != ';')
                        f->judge(f, n, text);
        }
}

static void read_directory(Finder f, const char *directory) {
        _cleanup_closedir_ DIR *dir = NULL;

        if (root_opendir(f.root, directory, &dir) < 0)
                return;
        for (const struct dirent *de; (de = readdir(dir));) {
                _cleanup_free_ char *path = NULL;

                if (!endswith(de->d_name, ".conf"))
                        continue;
                path = format_text("%s/%s", directory, de->d_name);
                f.path = path;
                read_file(&f);
        }
}

/* NAME is that of a folder such as sysctl.d. /lib is a link to /usr/lib but on the oldest systems. */
static void read_folders(Finder f, const char *name) {
        static const char *const directories[] = { "/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib" };
        _cleanup_free_ char *target = NULL;
        bool merged = root_readlink(f.root, "/lib", &target) >= 0;

        for (size_t i = 0; i < ELEMENTSOF(directories) - merged; i++) {
                _cleanup_free_ char *directory = format_text("%s/%s", directories[i], name);

                read_directory(f, directory);
        }
}

static void read_named(Finder f, const char *path) {
        f.path = path;
        read_file(&f);
}

void folklore_find(const char *root, Diagnostics *d) {
        Finder f = { .root = root, .d = d, .judge = judge_sysctl };

        read_named(f, "/etc/sysctl.conf");
        read_folders(f, "sysctl.d");
        f.judge = judge_module;
        read_named(f, "/etc/modules");
        read_folders(f, "modules-load.d");
        f.judge = judge_write;
        read_folders(f, "tmpfiles.d");
        read_named(f, "/etc/rc.local");
        read_named(f, "/etc/rc.d/rc.local");
}
