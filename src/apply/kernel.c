/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real kernel behind the Kernel door: files below /sys and /proc. */

#include <time.h>

#include "apply/kernel.h"
#include "basic/fs.h"
#include "basic/parse.h"
#include "host/host.h"

#define KERNEL_FILE_MAX (1024u * 1024u) /* /proc/buddyinfo of a host of 1,024 nodes */

static int real_read(Kernel *k, const char *path, char **ret) {
        size_t size;
        int r = root_read_file(k->userdata, path, KERNEL_FILE_MAX, ret, &size);

        if (r >= 0 && size > 0 && (*ret)[size - 1] == '\n')
                (*ret)[size - 1] = 0;
        return r;
}

static int real_write(Kernel *k, const char *path, const char *value) {
        return root_write_knob(k->userdata, path, value);
}

static uint64_t real_now(Kernel *k) {
        struct timespec ts;

        if (clock_gettime(CLOCK_MONOTONIC, &ts) < 0)
                return 0;
        return (uint64_t) ts.tv_sec * 1000000u + (uint64_t) ts.tv_nsec / 1000u;
}

Kernel kernel_real(const char *root) {
        return (Kernel){
                .read = real_read,
                .write = real_write,
                .compact = compact_nodes,
                .now = real_now,
                .userdata = (void *) root,
        };
}

int kernel_read_u64(Kernel *k, const char *path, uint64_t *ret) {
        _cleanup_free_ char *line = NULL;
        int r = k->read(k, path, &line);

        return r < 0 ? r : parse_u64(line, ret);
}

uint64_t kernel_block_size(Kernel *k) {
        uint64_t bytes;

        return kernel_read_u64(k, THP_DIRECTORY "/hpage_pmd_size", &bytes) >= 0 ? bytes : 0;
}

int kernel_read_memory(Kernel *k, uint64_t *ret_total, uint64_t *ret_available) {
        _cleanup_free_ char *text = NULL;
        int r = k->read(k, "/proc/meminfo", &text);

        if (r < 0)
                return r;
        r = meminfo_get(text, "MemTotal", ret_total);
        return r < 0 ? r : meminfo_get(text, "MemAvailable", ret_available);
}
