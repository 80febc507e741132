/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where one write was not enough: making unbroken memory and asking again. */

#include "apply/run.h"

/* An explicit request is not deferred, unlike the compaction that an allocation starts by itself
 * (mm/compaction.c, defer_compaction()). The node's own file first: the rest of the machine has no part. */
static int compact(const NodePages *p) {
        const Host *h = p->run->host;
        Kernel *k = p->run->kernel;
        char path[64];

        if (h->numa) {
                snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/compact",
                         h->nodes[p->node_index].id);
                if (k->write(k, path, "1") >= 0)
                        return 0;
        }
        return k->write(k, "/proc/sys/vm/compact_memory", "1");
}

int make_room(NodePages *p, uint64_t target) {
        Run *run = p->run;

        while (pages_persistent(&p->counts) < target) {
                uint64_t before = pages_persistent(&p->counts);
                int r;

                if (run->kernel->now(run->kernel) >= run->deadline) {
                        run->timed_out = true;
                        return 0;
                }
                if (run->config->system.compact)
                        (void) compact(p); /* a kernel without compaction: asking again may still help */
                r = pages_raise_once(p, target);
                if (r < 0)
                        return r;
                if (pages_persistent(&p->counts) <= before)
                        return 0;
        }
        return 0;
}

bool drop_caches(Run *run) {
        Kernel *k = run->kernel;

        if (!run->config->system.drop_caches || run->dropped_caches || k->now(k) >= run->deadline)
                return false;
        run->dropped_caches = true;
        /* 1: the page cache alone; dentries and inodes (2) are dear to read again and small. */
        return k->write(k, "/proc/sys/vm/drop_caches", "1") >= 0;
}
