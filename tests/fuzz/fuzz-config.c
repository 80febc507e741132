/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds arbitrary bytes to the parser of drop-ins, as two files where they hold the line "-- next --". */

#include <sys/mman.h>

#include "config/config.h"
#include "config/keys.h"

#define SEPARATOR "-- next --\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that exists in memory only; its path goes to path. */
static int memory_file(const uint8_t *data, size_t size, char path[static 64]) {
        int fd = memfd_create("dropin", MFD_CLOEXEC);

        if (fd < 0 || write(fd, data, size) != (ssize_t) size)
                abort();
        snprintf(path, 64, "/proc/self/fd/%d", fd);
        return fd;
}

/* What must hold whatever the input was. */
static void check(const Config *c, const Diagnostics *d) {
        for (size_t i = 0; i < c->n_pools; i++) {
                const Pool *p = c->pools[i];

                if (!pool_name_is_valid(p->section.name) || !section_key_source(&p->section, "Size").file ||
                    config_find_pool(c, p->section.name) != p)
                        abort();
        }
        for (size_t i = 0; i < c->n_mounts; i++) {
                const Mount *m = c->mounts[i];

                if (!m->section.dropped && (!m->where || m->where[0] != '/' || strchr(m->where, '\n')))
                        abort();
        }
        for (size_t i = 0; i < c->n_services; i++) {
                const Service *s = c->services[i];

                if (!s->section.dropped && (!s->unit || !endswith(s->unit, ".service")))
                        abort();
        }
        for (size_t i = 0; i < d->n; i++)
                if (!d->items[i].file || d->items[i].line == 0 || strpbrk(d->items[i].message, "\n\033"))
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const uint8_t *next = memmem(data, size, SEPARATOR, strlen(SEPARATOR));
        size_t first = next ? (size_t) (next - data) : size, rest = next ? first + strlen(SEPARATOR) : size;
        char path[2][64];
        int fds[] = { memory_file(data, first, path[0]), memory_file(data + rest, size - rest, path[1]) };
        Diagnostics d = {};
        Config *c;

        if (config_load_with("/nonexistent", (char *[]){ path[0], path[1], NULL }, &c, &d) < 0)
                abort();
        check(c, &d);
        config_free(c);
        diag_done(&d);
        close(fds[0]);
        close(fds[1]);
        return 0;
}
