/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Request: from "Size=25%, Headroom=10%, Nodes=0,2-3" to a number of pages. */

#include "plan/request.h"
#include "plan/plan.h"

static uint64_t percent_of(uint64_t bytes, uint64_t hundredths) {
        /* In two parts, so that neither terabytes nor absurd percentages wrap. */
        return add_sat(mul_sat(bytes / 10000, hundredths), mul_sat(bytes % 10000, hundredths) / 10000);
}

static uint64_t pages_up(uint64_t bytes, uint64_t page_size) {
        return bytes / page_size + (bytes % page_size > 0);
}

static size_t allow_matching(const Host *host, bool *allowed, bool need_cpu) {
        size_t n_allowed = 0;

        for (size_t n = 0; n < host->n_nodes; n++) {
                allowed[n] = host->nodes[n].has_memory && (!need_cpu || host->nodes[n].has_cpu);
                n_allowed += allowed[n];
        }
        return n_allowed;
}

static void allow_all(const Host *host, bool *allowed) {
        /* Memory without CPUs (CXL, HBM) is slower or scarcer: only an explicit list takes it. */
        if (allow_matching(host, allowed, /* need_cpu= */ true) == 0)
                (void) allow_matching(host, allowed, /* need_cpu= */ false);
}

static bool node_usable(const Host *host, unsigned id, size_t *ret) {
        *ret = host_find_node(host, id);
        return *ret != SIZE_MAX && host->nodes[*ret].has_memory;
}

/* A range means "those of these numbers that there are": node numbers have gaps. A single number means that
 * node. */
static int allow_list(const Pool *pool, const Host *host, bool *allowed, Diagnostics *d) {
        Source source = section_key_source(&pool->section, "Nodes");
        size_t n, n_allowed = 0;

        for (size_t i = 0; i < pool->nodes.n_ranges; i++) {
                const NodeAmount *range = &pool->nodes.ranges[i];

                for (unsigned id = range->first; id <= range->last; id++)
                        if (node_usable(host, id, &n)) {
                                n_allowed += !allowed[n];
                                allowed[n] = true;
                        } else if (range->first == range->last && d)
                                diag_warning(d, source, "Nodes=: node%u %s", id,
                                             n == SIZE_MAX ? "does not exist" : "has no memory");
        }
        if (n_allowed > 0)
                return 0;
        if (d)
                diag_error(d, source,
                           "Nodes=: none of the nodes has memory on this machine; pool %s is dropped",
                           pool->section.name);
        return -ENODEV;
}

static int allow_pci(const Pool *pool, const Host *host, PciNode pci_node, void *userdata, bool *allowed,
                     Diagnostics *d) {
        Source source = section_key_source(&pool->section, "Nodes");
        const char *address = pool->nodes.pci;
        int id = pci_node ? pci_node(userdata, address) : -1;
        size_t n;

        if (id < -1) {
                if (d)
                        diag_error(d, source, "Nodes=pci:%s: no such PCI device; pool %s is dropped",
                                   address, pool->section.name);
                return -ENODEV;
        }
        if (id >= 0 && node_usable(host, (unsigned) id, &n)) {
                allowed[n] = true;
                return 0;
        }
        if (d) {
                if (id < 0)
                        diag_warning(d, source,
                                     "Nodes=pci:%s: the kernel knows no node of this device; "
                                     "all nodes are used",
                                     address);
                else
                        diag_warning(d, source, "Nodes=pci:%s: node%d has no memory; all nodes are used",
                                     address, id);
        }
        allow_all(host, allowed);
        return 0;
}

int request_nodes(const Pool *pool, const Host *host, PciNode pci_node, void *userdata, bool *allowed,
                  Diagnostics *d) {
        memset(allowed, 0, host->n_nodes * sizeof(bool));
        switch (pool->nodes.type) {
        case NODES_LIST:
                return allow_list(pool, host, allowed, d);
        case NODES_PCI:
                return allow_pci(pool, host, pci_node, userdata, allowed, d);
        case NODES_ALL:
        default:
                allow_all(host, allowed);
                return 0;
        }
}

/* Headroom in bytes for so many bytes of a pool. */
static uint64_t headroom_bytes(const Pool *pool, uint64_t bytes) {
        switch (pool->headroom.type) {
        case AMOUNT_BYTES:
                return pool->headroom.value;
        case AMOUNT_PERCENT:
                return percent_of(bytes, pool->headroom.value);
        default:
                return 0;
        }
}

static uint64_t pages_with_headroom(const Pool *pool, uint64_t bytes, uint64_t page_size) {
        return pages_up(add_sat(bytes, headroom_bytes(pool, bytes)), page_size);
}

/* A headroom in bytes belongs to the whole pool: each node named gets its share. */
static uint64_t node_amount_pages(const Pool *pool, uint64_t value, uint64_t n_named, uint64_t page_size) {
        uint64_t bytes = pool->size.type == AMOUNT_NODES_PAGES ? mul_sat(value, page_size) : value;

        if (pool->headroom.type == AMOUNT_BYTES)
                return pages_up(add_sat(bytes, pages_up(pool->headroom.value, n_named)), page_size);
        return pages_with_headroom(pool, bytes, page_size);
}

static uint64_t count_named_nodes(const Pool *pool, const Host *host) {
        uint64_t count = 0;
        size_t n;

        for (size_t i = 0; i < pool->size.n_nodes; i++) {
                const NodeAmount *a = &pool->size.nodes[i];

                for (unsigned id = a->first; id <= a->last; id++)
                        count += a->first == a->last || node_usable(host, id, &n);
        }
        return MAX(count, (uint64_t) 1);
}

static void request_explicit(const Pool *pool, const Host *host, uint64_t page_size, Request *ret,
                             uint64_t *node_pages) {
        uint64_t n_named = count_named_nodes(pool, host);
        size_t n;

        ret->explicit_nodes = true;
        for (size_t i = 0; i < pool->size.n_nodes; i++) {
                const NodeAmount *a = &pool->size.nodes[i];
                uint64_t pages = node_amount_pages(pool, a->value, n_named, page_size);

                for (unsigned id = a->first; id <= a->last; id++) {
                        bool usable = node_usable(host, id, &n);

                        if (!usable && a->first != a->last)
                                continue; /* a gap in a range */
                        ret->pages = add_sat(ret->pages, pages);
                        if (usable) {
                                if (node_pages)
                                        node_pages[n] = pages;
                        } else {
                                if (ret->missing == 0)
                                        ret->missing_node = id;
                                ret->missing = add_sat(ret->missing, pages);
                        }
                }
        }
}

static uint64_t memory_of(const Host *host, const bool *allowed) {
        uint64_t sum = 0;

        for (size_t n = 0; n < host->n_nodes; n++)
                if (allowed[n])
                        sum = add_sat(sum, host->nodes[n].mem_total);
        return sum;
}

void request_pages(const Pool *pool, const Host *host, const bool *allowed, uint64_t page_size, Request *ret,
                   uint64_t *node_pages) {
        const Amount *size = &pool->size;

        *ret = (Request){};
        if (node_pages)
                memset(node_pages, 0, host->n_nodes * sizeof(uint64_t));

        switch (size->type) {
        case AMOUNT_BYTES:
                ret->pages = pages_with_headroom(pool, size->value, page_size);
                break;
        case AMOUNT_PAGES:
                ret->pages = pages_with_headroom(pool, mul_sat(size->value, page_size), page_size);
                break;
        case AMOUNT_PERCENT:
                ret->pages = pages_with_headroom(pool, percent_of(memory_of(host, allowed), size->value),
                                                 page_size);
                break;
        case AMOUNT_NODES_BYTES:
        case AMOUNT_NODES_PAGES:
                request_explicit(pool, host, page_size, ret, node_pages);
                break;
        case AMOUNT_REST:
                ret->rest = true;
                break;
        default:
                break; /* nothing but an overcommit limit */
        }
}

int pool_requested_bytes(const Pool *pool, const Host *host, PciNode pci_node, void *userdata,
                         uint64_t page_size, uint64_t *ret) {
        _cleanup_free_ bool *allowed = calloc(host->n_nodes + 1, sizeof(bool));
        Request request;
        int r;

        if (!allowed)
                return -ENOMEM;
        if (pool->size.type == AMOUNT_PERCENT) { /* the only type whose number depends on which nodes */
                r = request_nodes(pool, host, pci_node, userdata, allowed, NULL);
                if (r < 0)
                        return r == -ENODEV ? -EINVAL : r;
        }
        request_pages(pool, host, allowed, page_size, &request, NULL);
        *ret = request.rest ? UINT64_MAX : mul_sat(request.pages, page_size);
        return 0;
}
