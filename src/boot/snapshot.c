/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that a machine needs to boot. */

#include <fcntl.h>
#include <limits.h>

#include "basic/fs.h"
#include "boot/snapshot.h"

#define FILE_MAX ((size_t) 4 * 1024 * 1024)
#define LINKS_MAX 8

/* The directory of path, opened; *ret_name is what is left of path. */
static int open_parent(const char *root, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *parent = strndup(path, slash == path ? 1 : (size_t) (slash - path));

        if (!parent)
                return -ENOMEM;
        *ret_name = slash + 1;
        return root_open(root, parent, O_RDONLY | O_DIRECTORY);
}

/* Where the links that path may be end; -ENOLINK where nothing is there. */
static int follow(const char *root, const char *path, char **ret) {
        char *p = strdup(path);

        for (unsigned i = 0; p && i < LINKS_MAX; i++) {
                _cleanup_free_ char *target = NULL;
                char *next = NULL;

                if (root_readlink(root, p, &target) < 0) {
                        if (i > 0 && !root_exists(root, p)) {
                                free(p);
                                return -ENOLINK;
                        }
                        *ret = p;
                        return 0;
                }
                if (*target == '/')
                        next = TAKE_PTR(target);
                else if (asprintf(&next, "%.*s/%s", (int) (strrchr(p, '/') - p), p, target) < 0)
                        next = NULL;
                free(p);
                p = next;
        }
        if (!p)
                return -ENOMEM;
        free(p);
        return -ELOOP;
}

static int write_all(int fd, const char *data, size_t size) {
        while (size > 0) {
                ssize_t n = write(fd, data, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                data += n;
                size -= (size_t) n;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

static char *temporary_name(const char *name) {
        char *temporary;

        return asprintf(&temporary, ".#%s.hugepages", name) < 0 ? NULL : temporary;
}

static int replace_at(int dir, const char *name, const void *data, size_t size) {
        _cleanup_free_ char *temporary = temporary_name(name);
        _cleanup_close_ int fd = -1;
        struct stat st;
        bool there;
        int r;

        if (!temporary)
                return -ENOMEM;
        there = fstatat(dir, name, &st, 0) >= 0;
        if (there && !S_ISREG(st.st_mode)) /* where a link to /dev/null has led us */
                return -ENOLINK;
        (void) unlinkat(dir, temporary, 0); /* of a writer that was killed */
        fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;
        if (there) { /* vfat has neither: what cannot be kept is not there */
                (void) !fchown(fd, st.st_uid, st.st_gid);
                (void) fchmod(fd, st.st_mode & 07777);
        }
        r = write_all(fd, data, size);
        if (r >= 0 && renameat(dir, temporary, dir, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir, temporary, 0);
        else
                (void) fsync(dir);
        return r;
}

int file_replace(const char *root, const char *path, const void *data, size_t size) {
        _cleanup_free_ char *target = NULL, *parent = NULL;
        _cleanup_close_ int dir = -1;
        const char *name;
        int r = follow(root, path, &target);

        if (r < 0)
                return r;
        parent = strndup(target, (size_t) (strrchr(target, '/') - target));
        if (!parent)
                return -ENOMEM;
        r = root_mkdir_p(root, parent, 0755);
        if (r < 0)
                return r;
        dir = open_parent(root, target, &name);
        return dir < 0 ? dir : replace_at(dir, name, data, size);
}

int file_remove(const char *root, const char *path) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_close_ int dir = -1;
        const char *name;

        dir = open_parent(root, path, &name);
        if (dir < 0)
                return dir == -ENOENT ? 0 : dir;
        temporary = temporary_name(name);
        if (temporary)
                (void) unlinkat(dir, temporary, 0);
        return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

void file_clean(const char *root, const char *path) {
        _cleanup_free_ char *target = NULL, *temporary = NULL;
        _cleanup_close_ int dir = -1;
        const char *name;

        if (follow(root, path, &target) < 0 || (dir = open_parent(root, target, &name)) < 0)
                return;
        temporary = temporary_name(name);
        if (temporary)
                (void) unlinkat(dir, temporary, 0);
}

void directory_remove(const char *root, const char *path) {
        const char *name;
        _cleanup_close_ int dir = open_parent(root, path, &name);

        if (dir >= 0)
                (void) unlinkat(dir, name, AT_REMOVEDIR);
}

static char *parent_of(const char *path) {
        return strndup(path, (size_t) (strrchr(path, '/') - path));
}

int snapshot_add(Snapshot *s, const char *path) {
        _cleanup_free_ char *parent = parent_of(path);
        SavedFile f = { .path = strdup(path) };
        int r;

        if (!f.path || !parent || GROW_ARRAY(s->files, s->n) < 0) {
                free(f.path);
                return -ENOMEM;
        }
        r = root_read_file(s->root, path, FILE_MAX, &f.data, &f.size);
        if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
                free(f.path);
                return r;
        }
        f.no_directory = *parent && !root_exists(s->root, parent);
        s->files[s->n++] = f;
        return 0;
}

static int restore_none(const char *root, const SavedFile *f) {
        _cleanup_free_ char *parent = parent_of(f->path);
        int r = root_exists(root, f->path) ? file_remove(root, f->path) : 0;

        if (r >= 0 && f->no_directory && parent)
                directory_remove(root, parent);
        return r;
}

static int restore(const char *root, const SavedFile *f) {
        _cleanup_free_ char *now = NULL;
        size_t size = 0;

        if (!f->data)
                return restore_none(root, f);
        if (root_read_file(root, f->path, FILE_MAX, &now, &size) >= 0 && size == f->size &&
            memcmp(now, f->data, size) == 0)
                return 0;
        return file_replace(root, f->path, f->data, f->size);
}

void snapshot_restore(const Snapshot *s, Diagnostics *d) {
        for (size_t i = s->n; i-- > 0;) {
                int r = restore(s->root, s->files + i);

                if (r < 0)
                        diag_error(d, (Source){ .file = s->files[i].path },
                                   "cannot be put back as it was: %s", strerror(-r));
        }
}

void snapshot_done(Snapshot *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->files[i].path);
                free(s->files[i].data);
        }
        free(s->files);
        *s = (Snapshot){};
}
