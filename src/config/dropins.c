/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the drop-ins of the four directories, with replacement by name and masking as in systemd. */

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "basic/fs.h"
#include "config/config.h"
#include "config/dropins.h"

const char *const config_directories[] = {
        "/etc/hugepages.d", "/run/hugepages.d", "/usr/local/lib/hugepages.d", "/usr/lib/hugepages.d", NULL,
};

typedef struct DropinList {
        Dropin *items;
        size_t n;
} DropinList;

static void dropin_list_done(DropinList *l) {
        dropins_free(l->items, l->n);
}

/* Takes path and name over, also where it fails. */
static int dropin_list_add(DropinList *l, const char *root, char *path, char *name, unsigned rank) {
        if (!path || !name || GROW_ARRAY(l->items, l->n) < 0) {
                free(path);
                free(name);
                return -ENOMEM;
        }
        l->items[l->n++] = (Dropin){ .path = path, .name = name, .root = root, .rank = rank };
        return 0;
}

static int find_in_directory(DropinList *l, const char *root, const char *directory, unsigned rank,
                             Diagnostics *d) {
        _cleanup_closedir_ DIR *dir = NULL;
        int r = root_opendir(root, directory, &dir);

        if (r == -ENOENT) {
                _cleanup_free_ char *target = NULL;

                if (root_readlink(root, directory, &target) < 0) /* a link that leads nowhere is a fault */
                        return 0;
        }
        while (r >= 0) {
                const struct dirent *entry;
                char *path;

                errno = 0;
                entry = readdir(dir);
                if (!entry) {
                        r = -errno;
                        break;
                }
                if (*entry->d_name == '.' || !endswith(entry->d_name, ".conf"))
                        continue;
                if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0)
                        return -ENOMEM;
                if (dropin_list_add(l, root, path, strdup(entry->d_name), rank) < 0)
                        return -ENOMEM;
        }
        if (r < 0 && d)
                diag_error(d, ((Source){ .file = directory }), "cannot be read: %s", strerror(-r));
        return 0;
}

/* A file that is taken for one of /etc. */
static int add_extra(DropinList *l, const char *path, unsigned rank) {
        const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        char *name;

        if (asprintf(&name, "%s%s", base, endswith(base, ".conf") ? "" : ".conf") < 0)
                return -ENOMEM;
        return dropin_list_add(l, NULL, strdup(path), name, rank);
}

static int dropin_compare(const void *a, const void *b) {
        const Dropin *x = a, *y = b;
        int r = strcmp(x->name, y->name);

        return r != 0 ? r : (x->rank > y->rank) - (x->rank < y->rank);
}

int dropins_find(const char *root, char *const *extra, Dropin **ret, size_t *ret_n, Diagnostics *d) {
        const unsigned n_directories = ELEMENTSOF(config_directories) - 1;
        _cleanup_(dropin_list_done) DropinList l = {};
        int r;

        for (unsigned i = 0; i < n_directories; i++) {
                r = find_in_directory(&l, root, config_directories[i], n_directories - 1 - i, d);
                if (r < 0)
                        return r;
        }
        for (unsigned i = 0; extra && extra[i]; i++) {
                r = add_extra(&l, extra[i], n_directories + i);
                if (r < 0)
                        return r;
        }
        if (l.n > 0)
                qsort(l.items, l.n, sizeof(Dropin), dropin_compare);
        *ret = TAKE_PTR(l.items);
        *ret_n = l.n;
        l.n = 0;
        return 0;
}

void dropins_free(Dropin *dropins, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(dropins[i].path);
                free(dropins[i].name);
        }
        free(dropins);
}

bool dropin_replaced(const Dropin *dropin, const Dropin *end) {
        return dropin + 1 < end && streq(dropin->name, dropin[1].name);
}

/* Of a link to /dev/null, also in a root that has no such device. */
static bool is_dev_null(const Dropin *dropin) {
        _cleanup_free_ char *target = NULL;
        _cleanup_close_ int fd = -1;
        struct stat st;

        if (root_readlink(dropin->root, dropin->path, &target) >= 0 && streq(target, "/dev/null"))
                return true;
        fd = root_open(dropin->root, dropin->path, O_PATH);
        return fd >= 0 && fstat(fd, &st) >= 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int dropin_open(const Dropin *dropin, FILE **ret) {
        _cleanup_fclose_ FILE *f = NULL;
        struct stat st;
        int r = root_fopen(dropin->root, dropin->path, &f);

        if (r < 0)
                return is_dev_null(dropin) ? 0 : r;
        if (fstat(fileno(f), &st) < 0)
                return -errno;
        if (st.st_size == 0)
                return 0;
        if (st.st_size > DROPIN_SIZE_MAX)
                return -EFBIG;
        *ret = TAKE_PTR(f);
        return 1;
}

const char *dropin_open_error(int error) {
        switch (error) {
        case -EISDIR:
                return "is a directory (expected a regular file)";
        case -EINVAL:
        case -ENXIO: /* a socket */
                return "is not a regular file (expected a regular file)";
        case -EFBIG:
                return "is too large (expected at most 1 MiB)";
        case -ENOENT:
                return "does not exist (expected a file, or a symbolic link that leads to one)";
        case -EACCES:
        case -EPERM:
                return "cannot be read: permission denied (expected a readable file)";
        case -ELOOP:
                return "cannot be read: too many symbolic links (expected a regular file)";
        default:
                return "cannot be read (expected a readable file)";
        }
}

bool config_exists(const char *root) {
        Diagnostics d = {};
        Dropin *dropins;
        size_t n;
        bool found;

        if (dropins_find(root, NULL, &dropins, &n, &d) < 0)
                return true;    /* out of memory: let those who can report it do so */
        found = d.n_errors > 0; /* a directory that cannot be read is no empty one */
        diag_done(&d);
        for (size_t i = 0; i < n && !found; i++) {
                _cleanup_fclose_ FILE *f = NULL;

                if (!dropin_replaced(&dropins[i], dropins + n))
                        found = dropin_open(&dropins[i], &f) != 0;
        }
        dropins_free(dropins, n);
        return found;
}
