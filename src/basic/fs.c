/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files below the root prefix, with symbolic links kept inside it. */

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "basic/fs.h"

int root_from_environment(char **ret) {
        const char *e = getenv("HUGEPAGES_ROOT");
        char *root;
        size_t l;

        *ret = NULL;
        if (isempty(e))
                return 0;
        if (*e != '/')
                return -EINVAL;
        root = strdup(e);
        if (!root)
                return -ENOMEM;
        for (l = strlen(root); l > 0 && root[l - 1] == '/'; l--)
                root[l - 1] = 0;
        if (l == 0) {
                free(root);
                return 0;
        }
        *ret = root;
        return 0;
}

int root_open(const char *root, const char *path, int flags) {
        _cleanup_close_ int dir = -1;
        struct open_how how = {
                .flags = (uint64_t) (unsigned) flags | O_CLOEXEC,
                .resolve = RESOLVE_IN_ROOT,
        };
        unsigned attempts = 1000;
        int fd;

        if (isempty(root)) {
                fd = open(path, flags | O_CLOEXEC);
                return fd < 0 ? -errno : fd;
        }

        dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        do /* EAGAIN: somewhere something was renamed or mounted while ".." was followed (openat2(2)) */
                fd = (int) syscall(SYS_openat2, dir, path, &how, sizeof(how));
        while (fd < 0 && errno == EAGAIN && --attempts > 0);
        if (fd < 0 && errno == ENOSYS) { /* before 5.6: links may lead out of the root */
                path += strspn(path, "/");
                fd = openat(dir, *path ? path : ".", flags | O_CLOEXEC);
        }
        return fd < 0 ? -errno : fd;
}

int root_fopen(const char *root, const char *path, FILE **ret) {
        /* O_NONBLOCK: a FIFO in the directory must not hold up the boot. No effect on regular files. */
        _cleanup_close_ int fd = root_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        *ret = fdopen(fd, "re");
        if (!*ret)
                return -errno;
        fd = -1;
        return 0;
}

int root_opendir(const char *root, const char *path, DIR **ret) {
        _cleanup_close_ int fd = root_open(root, path, O_RDONLY | O_DIRECTORY);

        if (fd < 0)
                return fd;
        *ret = fdopendir(fd);
        if (!*ret)
                return -errno;
        fd = -1;
        return 0;
}

int root_read_file(const char *root, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = root_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        _cleanup_free_ char *buffer = NULL;
        size_t size = 0, capacity = 512;

        if (fd < 0)
                return fd;
        for (;;) {
                char *p = realloc(buffer, capacity);
                ssize_t n;

                if (!p)
                        return -ENOMEM;
                buffer = p;
                n = read(fd, buffer + size, capacity - 1 - size);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                size += (size_t) n;
                if (size > max)
                        return -EFBIG;
                if (n == 0)
                        break;
                if (size == capacity - 1)
                        capacity *= 2;
        }
        buffer[size] = 0;
        *ret = TAKE_PTR(buffer);
        if (ret_size)
                *ret_size = size;
        return 0;
}

int root_read_text(const char *root, const char *path, size_t max, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r = root_read_file(root, path, max, &text, &size);

        if (r < 0)
                return r;
        if (strlen(text) != size)
                return -EILSEQ;
        *ret = TAKE_PTR(text);
        return 0;
}

int root_read_line(const char *root, const char *path, char **ret) {
        int r = root_read_file(root, path, 64 * 1024, ret, NULL);

        if (r >= 0)
                (*ret)[strcspn(*ret, "\n")] = 0;
        return r;
}

int root_read_u64(const char *root, const char *path, uint64_t *ret) {
        _cleanup_free_ char *line = NULL;
        char *end;
        int r = root_read_line(root, path, &line);

        if (r < 0)
                return r;
        if (*line < '0' || *line > '9')
                return -EINVAL;
        errno = 0;
        *ret = strtoull(line, &end, 10);
        return errno != 0 || *end ? -EINVAL : 0;
}

bool root_exists(const char *root, const char *path) {
        _cleanup_close_ int fd = root_open(root, path, O_PATH);

        return fd >= 0;
}

int root_readlink(const char *root, const char *path, char **ret) {
        _cleanup_close_ int fd = root_open(root, path, O_PATH | O_NOFOLLOW);
        char buffer[PATH_MAX];
        ssize_t n;

        if (fd < 0)
                return fd;
        n = readlinkat(fd, "", buffer, sizeof(buffer));
        if (n < 0)
                return errno == ENOENT ? -EINVAL
                                       : -errno; /* an O_PATH descriptor of what is no link: ENOENT */
        if ((size_t) n >= sizeof(buffer))
                return -ENAMETOOLONG;
        *ret = strndup(buffer, (size_t) n);
        return *ret ? 0 : -ENOMEM;
}

int root_write_knob(const char *root, const char *path, const char *value) {
        _cleanup_close_ int fd = root_open(root, path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
        size_t l = strlen(value);
        ssize_t n;

        if (fd < 0)
                return fd;
        if (!isempty(root) && ftruncate(fd, 0) < 0) /* an ordinary file in a test's root */
                return -errno;
        n = write(fd, value, l);
        if (n < 0)
                return -errno;
        return (size_t) n == l ? 0 : -EIO;
}

static void put_contents(FILE *f, const void *userdata) {
        fputs(userdata, f);
}

int root_write_file_atomic(const char *root, const char *path, const char *contents) {
        return root_write_file_atomic_by(root, path, put_contents, contents);
}

/* Takes the file descriptor over. */
static int write_by(int fd, void (*put)(FILE *f, const void *userdata), const void *userdata) {
        FILE *f = fdopen(fd, "w");
        int r = 0;

        if (!f) {
                r = -errno;
                close(fd);
                return r;
        }
        errno = 0;
        put(f, userdata);
        if (fflush(f) != 0 || ferror(f))
                r = errno > 0 ? -errno : -EIO;
        fclose(f);
        return r;
}

int root_write_file_atomic_by(const char *root, const char *path, void (*put)(FILE *f, const void *userdata),
                              const void *userdata) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *parent = strndup(path, slash == path ? 1 : (size_t) (slash - path));
        _cleanup_close_ int dir = -1, fd = -1;
        _cleanup_free_ char *temporary = NULL;
        int r = 0;

        if (!parent)
                return -ENOMEM;
        dir = root_open(root, parent, O_RDONLY | O_DIRECTORY);
        if (dir < 0)
                return dir;
        if (asprintf(&temporary, ".#%s", slash + 1) < 0) {
                temporary = NULL;
                return -ENOMEM;
        }
        (void) unlinkat(dir, temporary, 0); /* of a writer that was killed */
        fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;
        r = write_by(fd, put, userdata);
        fd = -1;
        if (r >= 0 && renameat(dir, temporary, dir, slash + 1) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir, temporary, 0);
        return r;
}

int root_mkdir_p(const char *root, const char *path, mode_t mode) {
        _cleanup_free_ char *copy = strdup(path);

        if (!copy)
                return -ENOMEM;
        for (char *p = copy; *p;) {
                _cleanup_close_ int dir = -1;
                char *name = p + strspn(p, "/"), *end = name + strcspn(name, "/");
                char saved = *end;

                if (name == end)
                        break;
                *p = 0;
                dir = root_open(root, p == copy ? "/" : copy, O_RDONLY | O_DIRECTORY);
                *p = '/';
                if (dir < 0)
                        return dir;
                *end = 0;
                if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
                        return -errno;
                *end = saved;
                p = end;
        }
        return 0;
}
