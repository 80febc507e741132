/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The boot entries of this system. */

#include <fcntl.h>

#include "basic/fs.h"
#include "boot/edit.h"
#include "boot/entries.h"

#define ENTRY_MAX ((size_t) 256 * 1024)
#define LOADER_INFO "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

typedef struct Tokens {
        char *names[4];
        size_t n;
} Tokens;

static void tokens_done(Tokens *t) {
        for (size_t i = 0; i < t->n; i++)
                free(t->names[i]);
}

static void add_token(Tokens *t, const char *name) {
        if (!isempty(name) && t->n < ELEMENTSOF(t->names) && (t->names[t->n] = strdup(name)))
                t->n++;
}

/* The value of a line KEY=VALUE of os-release, which is shell: quotes may be around it. */
static void add_token_of_os_release(Tokens *t, char *os_release, const char *key) {
        for (char *line = os_release; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
                const char *v = startswith(line, key);
                _cleanup_free_ char *name = NULL;

                if (!v)
                        continue;
                v += strspn(v, "\"'");
                name = strndup(v, strcspn(v, "\"'\n"));
                add_token(t, name);
                return;
        }
}

static void find_tokens(const char *root, Tokens *t) {
        _cleanup_free_ char *configured = NULL, *id = NULL, *os_release = NULL;

        if (root_read_line(root, "/etc/kernel/entry-token", &configured) >= 0 && *configured) {
                add_token(t, configured);
                return;
        }
        if (root_read_line(root, "/etc/machine-id", &id) >= 0 && !streq(id, "uninitialized"))
                add_token(t, id);
        if (root_read_text(root, "/etc/os-release", ENTRY_MAX, &os_release) >= 0 ||
            root_read_text(root, "/usr/lib/os-release", ENTRY_MAX, &os_release) >= 0) {
                add_token_of_os_release(t, os_release, "IMAGE_ID=");
                add_token_of_os_release(t, os_release, "ID=");
        }
        add_token(t, "Default");
}

/* "TOKEN-6.1.0-13+2-1.conf" to "6.1.0-13": behind "+" tries are counted. NULL where it is not of TOKEN. */
static char *version_of(const char *file, const char *token, const char *suffix) {
        const char *v = startswith(file, token), *end = endswith(file, suffix), *plus;

        if (!v || *v != '-' || !end || end <= v + 1)
                return NULL;
        v++;
        plus = memrchr(v, '+', (size_t) (end - v));
        if (plus && plus > v && plus + 1 + strspn(plus + 1, "0123456789-") == end)
                end = plus;
        return strndup(v, (size_t) (end - v));
}

static bool boots_linux(const char *root, const char *path) {
        _cleanup_free_ char *text = NULL;
        int r = root_read_text(root, path, ENTRY_MAX, &text);

        if (r < 0) /* what cannot be understood is refused by name when it is read */
                return r == -EILSEQ;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *v = startswith(line, "linux");

                if (v && (*v == ' ' || *v == '\t'))
                        return true;
        }
        return false;
}

static int add_entry(const char *root, Entries *e, const char *directory, const char *file,
                     const char *token, bool is_image) {
        Entry new = { .version = version_of(file, token, is_image ? ".efi" : ".conf"),
                      .is_image = is_image };
        int r = 1;

        if (!new.version)
                return 0;
        if (asprintf(&new.path, "%s/%s", directory, file) < 0) {
                free(new.version);
                return -ENOMEM;
        }
        if (!is_image && !boots_linux(root, new.path))
                r = 0;
        else if (GROW_ARRAY(e->items, e->n) < 0)
                r = -ENOMEM;
        if (r <= 0) {
                free(new.path);
                free(new.version);
                return r;
        }
        e->items[e->n++] = new;
        return 0;
}

static int add_directory(const char *root, Entries *e, const char *directory, const char *token,
                         bool is_image) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r = root_opendir(root, directory, &d);

        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR ? 0 : r;
        while ((de = readdir(d))) {
                r = *de->d_name == '.' ? 0 : add_entry(root, e, directory, de->d_name, token, is_image);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compare(const void *a, const void *b) {
        const Entry *x = a, *y = b;

        return x->is_image != y->is_image ? x->is_image - y->is_image : strverscmp(x->path, y->path);
}

/* One partition may be seen in two places: /efi and /boot/efi. */
static bool seen_before(const char *root, const char *const *places, size_t n) {
        _cleanup_close_ int fd = root_open(root, places[n], O_PATH);
        struct stat st, other;

        if (fd < 0 || fstat(fd, &st) < 0)
                return true;
        for (size_t i = 0; i < n; i++) {
                _cleanup_close_ int o = root_open(root, places[i], O_PATH);

                if (o >= 0 && fstat(o, &other) >= 0 && other.st_dev == st.st_dev &&
                    other.st_ino == st.st_ino)
                        return true;
        }
        return false;
}

static int add_token_entries(const char *root, Entries *e, const char *token) {
        static const char *const places[] = { "/efi", "/boot", "/boot/efi" };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(places) && r >= 0; i++) {
                _cleanup_free_ char *entries = NULL, *images = NULL;

                if (seen_before(root, places, i))
                        continue;
                if (asprintf(&entries, "%s/loader/entries", places[i]) < 0 ||
                    asprintf(&images, "%s/EFI/Linux", places[i]) < 0)
                        return -ENOMEM;
                r = add_directory(root, e, entries, token, false);
                if (r >= 0)
                        r = add_directory(root, e, images, token, true);
                if (r < 0)
                        e->unread = places[i];
        }
        return r;
}

int entries_find(const char *root, Entries *ret) {
        Tokens t = {};
        Entries e = {};
        int r = 0;

        find_tokens(root, &t);
        for (size_t i = 0; i < t.n && e.n == 0 && r >= 0; i++)
                r = add_token_entries(root, &e, t.names[i]);
        tokens_done(&t);
        if (r < 0) {
                const char *unread = e.unread;

                entries_done(&e);
                *ret = (Entries){ .unread = unread };
                return r;
        }
        if (e.n > 0)
                qsort(e.items, e.n, sizeof(*e.items), compare);
        *ret = e;
        return 0;
}

void entries_done(Entries *e) {
        for (size_t i = 0; i < e->n; i++) {
                free(e->items[i].path);
                free(e->items[i].version);
        }
        free(e->items);
        *e = (Entries){};
}

bool booted_by_systemd_boot(const char *root) {
        static const char name[] = "systemd-boot";
        _cleanup_free_ char *data = NULL;
        size_t size = 0;

        /* Four bytes of attributes, then UTF-16. */
        if (root_read_file(root, LOADER_INFO, 4096, &data, &size) < 0 || size < 4 + 2 * (sizeof(name) - 1))
                return false;
        for (size_t i = 0; i < sizeof(name) - 1; i++)
                if (data[4 + 2 * i] != name[i])
                        return false;
        return true;
}
