/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Making unbroken memory out of broken memory, on several nodes at the same time. */

#include <pthread.h>
#include <sched.h>

#include "apply/kernel.h"
#include "apply/targets.h"
#include "basic/parse.h"

/* What a thread needs to write one file, and no more: a host may have hundreds of nodes. */
#define STACK_SIZE (64u * 1024u)

typedef struct Compaction {
        Kernel *kernel;
        const CompactNode *node;
        bool bound; /* to the node's CPUs: moving pages is copying, and remote copies are slow */
        cpu_set_t cpus;
        pthread_t thread;
        bool started;
        int result;
} Compaction;

/* An explicit request is not deferred, unlike the compaction that an allocation starts by itself
 * (mm/compaction.c, defer_compaction()). */
static int ask_for_compaction(const Compaction *c) {
        char path[64] = "/proc/sys/vm/compact_memory";

        if (c->node->id != WHOLE_MACHINE)
                snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/compact", c->node->id);
        return c->kernel->write(c->kernel, path, "1");
}

static int compact_node(const Compaction *c) {
        _cleanup_(targets_done) Targets targets = {};

        if (c->node->targets > 0)
                targets_make(c->node->id, c->node->targets, kernel_block_size(c->kernel), &targets);
        return ask_for_compaction(c);
}

static void *compaction_thread(void *userdata) {
        Compaction *c = userdata;

        if (c->bound)
                (void) sched_setaffinity(0, sizeof(c->cpus), &c->cpus); /* slower without */
        c->result = compact_node(c);
        return NULL;
}

/* A node without CPUs has an empty list, and CPUs that a cpu_set_t has no room for are left out. */
static void find_cpus(Compaction *c) {
        _cleanup_free_ char *list = NULL;
        char path[64], *p;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", c->node->id);
        if (c->kernel->read(c->kernel, path, &list) < 0)
                return;
        p = list;
        for (char *range; (range = strsep(&p, ","));) {
                unsigned first, last;

                if (parse_node_range(range, strlen(range), &first, &last) < 0)
                        continue;
                for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) {
                        CPU_SET(cpu, &c->cpus);
                        c->bound = true;
                }
        }
}

static void start_thread(Compaction *c) {
        pthread_attr_t attributes;

        if (pthread_attr_init(&attributes) != 0)
                return;
        (void) pthread_attr_setstacksize(&attributes, MAX(STACK_SIZE, (size_t) PTHREAD_STACK_MIN));
        c->started = pthread_create(&c->thread, &attributes, compaction_thread, c) == 0;
        (void) pthread_attr_destroy(&attributes);
}

/* One node needs no thread; nor does what no thread could be had for. */
static void compact_all(Compaction *list, size_t n) {
        for (size_t i = 0; i < n && n > 1; i++) {
                find_cpus(&list[i]);
                start_thread(&list[i]);
        }
        for (size_t i = 0; i < n; i++)
                if (!list[i].started)
                        list[i].result = compact_node(&list[i]);
        for (size_t i = 0; i < n; i++)
                if (list[i].started)
                        (void) pthread_join(list[i].thread, NULL);
}

int compact_nodes(Kernel *k, const CompactNode *nodes, size_t n) {
        _cleanup_free_ Compaction *list = NULL;
        int r = -ENOENT;

        list = calloc(n + 1, sizeof(Compaction));
        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                list[i] = (Compaction){ .kernel = k, .node = &nodes[i] };
        compact_all(list, n);
        for (size_t i = 0; i < n; i++)
                if (list[i].result >= 0)
                        return 0;
                else
                        r = list[i].result;
        if (n > 0 && nodes[0].id == WHOLE_MACHINE)
                return r;
        /* A kernel that keeps the nodes' files from us. */
        return compact_nodes(k, &(CompactNode){ .id = WHOLE_MACHINE }, 1) >= 0 ? 0 : r;
}
