/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a node's memory looks like at this moment. */

#include "apply/memory.h"
#include "basic/parse.h"

static void add_block_counts(char *counts, uint64_t page_size, NodeMemory *m) {
        uint64_t block = (uint64_t) sysconf(_SC_PAGESIZE);

        for (char *word; (word = strsep(&counts, " "));) {
                uint64_t n, bytes;

                if (*word == 0)
                        continue;
                if (parse_u64(word, &n) < 0)
                        return;
                bytes = mul_sat(n, block);
                m->free = add_sat(m->free, bytes);
                if (block >= page_size)
                        m->unbroken = add_sat(m->unbroken, bytes);
                if (n > 0)
                        m->largest_block = MAX(m->largest_block, block);
                m->block_max = MAX(m->block_max, block);
                block = mul_sat(block, 2);
        }
}

static bool is_marked(const Host *h, const bool *marked, unsigned id) {
        size_t n = h->numa ? host_find_node(h, id) : 0;

        return n != SIZE_MAX && (!marked || marked[n]);
}

/* "Node 0, zone   Normal   1046    527 …": how many blocks of 1, 2, 4, … pages are free. */
int memory_look_at_blocks(Kernel *k, const Host *h, const bool *marked, uint64_t page_size, NodeMemory *m) {
        _cleanup_free_ char *text = NULL;
        char *p;
        int r = k->read(k, "/proc/buddyinfo", &text), found = -ENODATA;

        if (r < 0)
                return r == -ENOMEM ? r : -ENODATA;
        p = text;
        for (char *line; (line = strsep(&p, "\n"));) {
                unsigned id;
                int end = 0;

                if (sscanf(line, "Node %u, zone %*s %n", &id, &end) < 1 || end == 0 ||
                    !is_marked(h, marked, id))
                        continue;
                add_block_counts(line + end, page_size, m);
                found = 0;
        }
        return found;
}

static void look_at_holders(Kernel *k, const char *path, NodeMemory *m) {
        _cleanup_free_ char *text = NULL;
        const struct {
                const char *name;
                uint64_t *field;
        } table[] = {
                { "AnonPages", &m->programs }, { "FilePages", &m->cache },   { "Cached", &m->cache },
                { "Buffers", &m->cache },      { "SUnreclaim", &m->kernel }, { "PageTables", &m->kernel },
                { "KernelStack", &m->kernel },
        };
        uint64_t bytes;

        if (k->read(k, path, &text) < 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (meminfo_get(text, table[i].name, &bytes) >= 0)
                        *table[i].field = add_sat(*table[i].field, bytes);
}

int memory_look(Kernel *k, const Host *h, const bool *marked, uint64_t page_size, NodeMemory *ret) {
        NodeMemory m = {};
        char path[64];
        int r = memory_look_at_blocks(k, h, marked, page_size, &m);

        if (r < 0)
                return r;
        for (size_t n = 0; n < h->n_nodes; n++) {
                if (!is_marked(h, marked, h->nodes[n].id))
                        continue;
                if (h->numa)
                        snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo",
                                 h->nodes[n].id);
                look_at_holders(k, h->numa ? path : "/proc/meminfo", &m);
        }
        *ret = m;
        return 0;
}
