/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sizes as people write them: exact for the kernel and for unit files, short for reading. */

#include <inttypes.h>

#include "basic/format.h"

static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };

char *format_size_exact(char *buffer, uint64_t bytes) {
        size_t unit = 0;

        while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < ELEMENTSOF(units)) {
                bytes /= 1024;
                unit++;
        }
        snprintf(buffer, FORMAT_SIZE_MAX, "%" PRIu64 "%s", bytes, units[unit]);
        return buffer;
}

char *format_size(char *buffer, uint64_t bytes) {
        uint64_t whole, tenths, one = 1;
        size_t unit = 0;

        while (unit + 1 < ELEMENTSOF(units) && bytes / one >= 1024) {
                one *= 1024;
                unit++;
        }
        whole = bytes / one;
        tenths = (bytes % one * 10 + one / 2) / one;
        if (tenths == 10) { /* 7.96G is 8G */
                whole++;
                tenths = 0;
        }
        if (whole == 1024 && unit + 1 < ELEMENTSOF(units)) { /* 1023.96M is 1G */
                whole = 1;
                unit++;
        }
        if (tenths > 0)
                snprintf(buffer, FORMAT_SIZE_MAX, "%" PRIu64 ".%" PRIu64 "%s", whole, tenths, units[unit]);
        else
                snprintf(buffer, FORMAT_SIZE_MAX, "%" PRIu64 "%s", whole, units[unit]);
        return buffer;
}
