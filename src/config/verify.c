/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at the merged sections as a whole: what is missing, contradicts itself, or refers to nothing. */

#include <search.h>

#include "basic/format.h"
#include "config/keys.h"
#include "config/text.h"
#include "config/values.h"
#include "config/verify.h"

#define drop(section, d, source, format, ...)                                                               \
        ({                                                                                                  \
                Section *_s = (section);                                                                    \
                _s->dropped = true;                                                                         \
                diag_error(d, source, "[%s %s]: " format, section_table[_s->type].name,                     \
                           _s->name __VA_OPT__(, ) __VA_ARGS__);                                            \
        })

/* What a bad value costs that no later one has made good. It has been reported at its line. */
static void settle_bad_values(Section *s) {
        const SectionInfo *info = &section_table[s->type];

        for (size_t i = 0; i < info->n_keys; i++) {
                if (s->keys[i].state != KEY_STATE_BAD)
                        continue;
                if (info->keys[i].bad_value == BAD_VALUE_DROPS_SECTION)
                        s->dropped = true;
                else if (info->keys[i].bad_value == BAD_VALUE_BREAKS_SERVICE)
                        ((Service *) s)->broken = true;
        }
}

static void verify_pool(const Config *c, Pool *p, const Pool **rest, Diagnostics *d) {
        Section *s = &p->section;

        if (c->system.default_page_size != 0 && p->page_size == 0) {
                drop(s, d, section_key_source(s, "PageSize"),
                     "PageSize= is missing (expected one, as DefaultPageSize= is set and would change the "
                     "pool)");
                return;
        }
        if (p->size.type == AMOUNT_REST) {
                if (p->headroom.value > 0) {
                        drop(s, d, section_key_source(s, "Headroom"),
                             "Headroom= beside Size=rest (expected one of them)");
                        return;
                }
                if (*rest) {
                        drop(s, d, section_key_source(s, "Size"),
                             "Size=rest a second time (expected it in one pool only; [Pool %s] has it)",
                             (*rest)->section.name);
                        return;
                }
                *rest = p;
        }
        if (p->size.type == AMOUNT_UNSET && p->overcommit.type == AMOUNT_UNSET)
                diag_warning(d, s->source,
                             "[Pool %s]: nothing to reserve (expected Size=, Pages=, or Overcommit=)",
                             s->name);
        if (p->size.n_nodes > 0 && p->nodes.type != NODES_ALL)
                diag_warning(d, section_key_source(s, "Nodes"),
                             "[Pool %s]: Nodes= has no effect, as the amounts per node name their nodes "
                             "themselves",
                             s->name);
}

/* What a pool will have, headroom included, where that needs no look at the machine; else 0. */
static uint64_t pool_known_bytes(const Pool *p) {
        uint64_t bytes;

        if (p->page_size == 0)
                return 0;
        if (p->size.type == AMOUNT_BYTES)
                bytes = p->size.value;
        else if (p->size.type == AMOUNT_PAGES)
                bytes = mul_sat(p->size.value, p->page_size);
        else
                return 0;
        if (p->headroom.type == AMOUNT_BYTES)
                bytes = add_sat(bytes, p->headroom.value);
        else if (p->headroom.type == AMOUNT_PERCENT)
                bytes = add_sat(bytes, add_sat(mul_sat(bytes / 10000, p->headroom.value),
                                               mul_sat(bytes % 10000, p->headroom.value) / 10000));
        return add_sat(bytes, p->page_size - 1) / p->page_size * p->page_size;
}

/* The pool of a mount, which must be there and fit. False where the mount was dropped. */
static bool verify_mount_pool(Mount *m, const Pool *pool, Diagnostics *d) {
        Section *s = &m->section;

        if (!pool || pool->section.dropped) {
                drop(s, d, section_key_source(s, "Pool"),
                     "Pool=%s: %s (expected the name of a valid [Pool] section)", m->pool,
                     pool ? "that pool was dropped for an error" : "there is no such pool");
                return false;
        }
        if (m->page_size != 0 && pool->page_size != 0 && m->page_size != pool->page_size) {
                drop(s, d, section_key_source(s, "PageSize"),
                     "PageSize=%s: not the page size of [Pool %s] (expected %s, or no PageSize= beside "
                     "Pool=)",
                     FORMAT_SIZE_EXACT(m->page_size), m->pool, FORMAT_SIZE_EXACT(pool->page_size));
                return false;
        }
        return true;
}

/* Size= and Reserve=, with each other and with the page size. */
static void verify_mount_amounts(Mount *m, const Pool *pool, Diagnostics *d) {
        uint64_t page_size = m->page_size != 0 ? m->page_size : pool ? pool->page_size : 0;
        uint64_t pool_bytes = pool ? pool_known_bytes(pool) : 0, reserve = m->reserve.value;
        Section *s = &m->section;

        if (m->size.type == AMOUNT_BYTES && m->size.value < MAX(page_size, UINT64_C(1))) {
                drop(s, d, section_key_source(s, "Size"), "Size=%s: below one page (expected at least %s)",
                     FORMAT_SIZE_EXACT(m->size.value),
                     page_size > 0 ? FORMAT_SIZE_EXACT(page_size) : "a page");
                return;
        }
        if (m->reserve.type == AMOUNT_WHOLE_POOL) {
                if (!pool) {
                        drop(s, d, section_key_source(s, "Reserve"),
                             "Reserve=pool without a pool (expected Pool=)");
                        return;
                }
                if (pool->size.type == AMOUNT_REST) {
                        drop(s, d, section_key_source(s, "Reserve"),
                             "Reserve=pool of [Pool %s], whose Size=rest is not known beforehand (expected "
                             "a size)",
                             m->pool);
                        return;
                }
                reserve = pool_bytes;
        }
        if (m->size.type == AMOUNT_BYTES && reserve > m->size.value)
                drop(s, d, section_key_source(s, "Size"), "Size=%s: below Reserve= (expected at least %s)",
                     FORMAT_SIZE_EXACT(m->size.value), FORMAT_SIZE_EXACT(reserve));
        else if (m->size.type != AMOUNT_INFINITY && pool_bytes > 0 && reserve > pool_bytes)
                drop(s, d, section_key_source(s, "Reserve"),
                     "Reserve=%s: more than [Pool %s] has (expected at most %s)", FORMAT_SIZE_EXACT(reserve),
                     m->pool, FORMAT_SIZE_EXACT(pool_bytes));
}

/* What one mount has set aside cannot be set aside for another: the kernel would take it from other pools of
 * the size, or refuse the mount. */
static void verify_promise(Mount *m, Pool *pool, Diagnostics *d) {
        uint64_t pool_bytes = pool_known_bytes(pool), bytes = m->reserve.value;
        Section *s = &m->section;

        if (m->reserve.type == AMOUNT_WHOLE_POOL)
                bytes = pool_bytes > 0 ? pool_bytes : UINT64_MAX;
        if (bytes > 0 && m->size.type != AMOUNT_INFINITY && pool->promised > 0 &&
            (bytes == UINT64_MAX || (pool_bytes > 0 && add_sat(pool->promised, bytes) > pool_bytes)))
                drop(s, d, section_key_source(s, "Reserve"),
                     "Reserve=: more than other mounts have left of [Pool %s] (expected them to share it)",
                     m->pool);
        else
                pool->promised = add_sat(pool->promised, bytes);
}

static int mount_compare(const void *a, const void *b) {
        return strcmp(((const Mount *) a)->where, ((const Mount *) b)->where);
}

/* by_where: tsearch(3) tree of the mounts that were accepted. */
static int verify_mount(const Config *c, Mount *m, void **by_where, Diagnostics *d) {
        Pool *pool = m->pool ? config_find_pool(c, m->pool) : NULL;
        Section *s = &m->section;
        Mount **other;

        if (!m->where) {
                drop(s, d, section_key_source(s, "Where"),
                     "Where= is missing (expected the directory to mount on)");
                return 0;
        }
        if (m->pool && !verify_mount_pool(m, pool, d))
                return 0;
        verify_mount_amounts(m, pool, d);
        if (s->dropped)
                return 0;

        other = tsearch(m, by_where, mount_compare);
        if (!other)
                return -ENOMEM;
        if (*other != m) {
                Source first = section_key_source(&(*other)->section, "Where");

                drop(s, d, section_key_source(s, "Where"),
                     "Where=%s a second time (expected another directory; %s:%u has it)", QUOTE(m->where),
                     first.file, first.line);
        } else if (pool)
                verify_promise(m, pool, d);
        return 0;
}

static void do_not_free(_unused_ void *node) {
}

static int verify_mounts(Config *c, Diagnostics *d) {
        void *by_where = NULL;
        int r = 0;

        for (size_t i = 0; i < c->n_mounts && r >= 0; i++)
                if (!c->mounts[i]->section.dropped)
                        r = verify_mount(c, c->mounts[i], &by_where, d);
        tdestroy(by_where, do_not_free);
        return r;
}

/* One word of Pool= or Mount=; found is what it names. A word that cannot be a name was reported already. */
static void verify_reference(const Service *s, const char *key, const char *word, const Section *found,
                             Diagnostics *d) {
        if (!pool_name_is_valid(word) || (found && !found->dropped))
                return;
        diag_add(d, s->require ? SEVERITY_ERROR : SEVERITY_WARNING, section_key_source(&s->section, key),
                 "[Service %s]: %s=%s: %s (expected the name of a valid [%s] section%s)", s->section.name,
                 key, word, found ? "it was dropped for an error" : "there is no such section", key,
                 s->require ? "; the unit will not start, as Require=yes" : "");
}

static void verify_use(const Service *s, Diagnostics *d) {
        if (s->require && !s->broken && !s->pools && !s->mounts)
                diag_warning(d, section_key_source(&s->section, "Require"),
                             "[Service %s]: Require=yes has no effect (expected Pool= or Mount= beside it)",
                             s->section.name);
}

static int verify_service(const Config *c, Service *s, Diagnostics *d) {
        const char *reason;

        if (!s->unit) {
                int r = service_unit_name(s->section.name, &s->unit, &reason);

                if (r == -ENOMEM)
                        return r;
                if (r < 0) {
                        drop(&s->section, d, s->section.source, "%s (expected %s)", reason,
                             section_find_key(SECTION_SERVICE, "Unit")->expected);
                        return 0;
                }
        }
        for (char **word = s->pools; word && *word; word++) {
                const Pool *p = config_find_pool(c, *word);

                verify_reference(s, "Pool", *word, p ? &p->section : NULL, d);
        }
        for (char **word = s->mounts; word && *word; word++) {
                const Mount *m = config_find_mount(c, *word);

                verify_reference(s, "Mount", *word, m ? &m->section : NULL, d);
        }
        verify_use(s, d);
        return 0;
}

int config_verify(Config *c, Diagnostics *d) {
        const Pool *rest = NULL;
        int r;

        for (size_t i = 0; i < c->n_thp_sizes; i++)
                settle_bad_values(&c->thp_sizes[i]->section);
        for (size_t i = 0; i < c->n_pools; i++) {
                settle_bad_values(&c->pools[i]->section);
                if (!c->pools[i]->section.dropped)
                        verify_pool(c, c->pools[i], &rest, d);
        }
        for (size_t i = 0; i < c->n_mounts; i++)
                settle_bad_values(&c->mounts[i]->section);
        r = verify_mounts(c, d);
        for (size_t i = 0; i < c->n_services && r >= 0; i++) {
                settle_bad_values(&c->services[i]->section);
                if (!c->services[i]->section.dropped)
                        r = verify_service(c, c->services[i], d);
        }
        return r;
}
