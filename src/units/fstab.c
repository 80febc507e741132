/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fstab: which mount points /etc/fstab names, since those are not ours. */

#include "basic/fs.h"
#include "units/internal.h"

#define BLANKS " \t"

static bool is_octal(char c) {
        return c >= '0' && c <= '7';
}

/* "\040" → " " and "\\" → "\", in place, as getmntent(3) does. */
static void decode(char *s) {
        char *out = s;

        while (*s)
                if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && is_octal(s[2]) && is_octal(s[3])) {
                        *out++ = (char) ((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
                        s += 4;
                } else {
                        if (s[0] == '\\' && s[1] == '\\')
                                s++;
                        *out++ = *s++;
                }
        *out = 0;
}

/* "//a/./b/" → "/a/b", in place. ".." stays: what it leads to depends on links. */
static void normalize(char *path) {
        const char *s = path;
        char *out = path;

        while (*s) {
                size_t length;

                s += strspn(s, "/");
                length = strcspn(s, "/");
                if (length > 0 && !(length == 1 && *s == '.')) {
                        *out++ = '/';
                        memmove(out, s, length);
                        out += length;
                }
                s += length;
        }
        if (out == path)
                *out++ = '/';
        *out = 0;
}

/* The mount point of a line, or NULL where it is a comment, blank, or mounts nothing ("none", "swap"). */
static char *line_where(char *line) {
        char *what = line + strspn(line, BLANKS), *where;

        if (*what == '#')
                return NULL;
        where = what + strcspn(what, BLANKS "\n");
        where += strspn(where, BLANKS);
        where[strcspn(where, BLANKS "\n")] = 0;
        if (*where != '/')
                return NULL;
        decode(where);
        normalize(where);
        return where;
}

static int compare_entries(const void *a, const void *b) {
        const FstabEntry *x = a, *y = b;
        int r = strcmp(x->where, y->where);

        return r != 0 ? r : (x->line > y->line) - (x->line < y->line);
}

static int read_entries(FILE *f, Fstab *fstab) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        errno = 0;
        for (unsigned number = 1; getline(&line, &size, f) >= 0; number++) {
                const char *where = line_where(line);

                if (!where)
                        continue;
                if (GROW_ARRAY(fstab->entries, fstab->n) < 0)
                        return -ENOMEM;
                fstab->entries[fstab->n].where = strdup(where);
                if (!fstab->entries[fstab->n].where)
                        return -ENOMEM;
                fstab->entries[fstab->n++].line = number;
        }
        if (ferror(f) || !feof(f))
                return errno > 0 ? -errno : -EIO;
        return 0;
}

int fstab_load(const char *root, Fstab *ret) {
        _cleanup_fclose_ FILE *f = NULL;
        Fstab fstab = {};
        int r;

        *ret = fstab;
        r = root_fopen(root, "/etc/fstab", &f);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        r = read_entries(f, &fstab);
        if (r < 0) {
                fstab_done(&fstab);
                return r;
        }
        if (fstab.n > 1)
                qsort(fstab.entries, fstab.n, sizeof(FstabEntry), compare_entries);
        *ret = fstab;
        return 0;
}

unsigned fstab_find(const Fstab *fstab, const char *where) {
        size_t low = 0, high = fstab->n;

        while (low < high) { /* the first that is not below where */
                size_t middle = low + (high - low) / 2;

                if (strcmp(fstab->entries[middle].where, where) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < fstab->n && streq(fstab->entries[low].where, where) ? fstab->entries[low].line : 0;
}

void fstab_done(Fstab *fstab) {
        for (size_t i = 0; i < fstab->n; i++)
                free(fstab->entries[i].where);
        free(fstab->entries);
        *fstab = (Fstab){};
}
