/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepagesctl release: gives the pages of pools back to the system, at once. */

#include <strings.h>
#include <sys/statvfs.h>

#include "basic/format.h"
#include "config/keys.h"
#include "hugepagesctl/mount-options.h"
#include "hugepagesctl/mounts.h"
#include "hugepagesctl/release.h"
#include "units/units.h"

typedef struct Keeper { /* a live hugetlbfs */
        char *where;
        char *unit; /* NULL for one that is not ours */
        dev_t device;
        size_t pool; /* in the plan; SIZE_MAX: of no pool */
        uint64_t page_size;
        MountClaim claim;
} Keeper;

typedef struct Release {
        const Options *options;
        Context context;
        bool *named; /* by index of the plan's pools; NULL: all */
        Released *released;
        Keeper *keepers;
        size_t n_keepers;
        MountClaim *claims; /* by index of the plan's pools */
} Release;

static void release_done(Release *r) {
        for (size_t i = 0; i < r->n_keepers; i++) {
                free(r->keepers[i].where);
                free(r->keepers[i].unit);
        }
        free(r->keepers);
        free(r->claims);
        free(r->named);
        if (r->released)
                released_free(r->released);
        context_done(&r->context);
}

/* Names. */

static void report_unknown_pool(const Config *c, const char *name) {
        const Pool *pool = config_find_pool(c, name);
        const char *meant = pool ? NULL : suggest_pool(c, name);

        if (pool)
                ctl_error("pool %s has no pages: it was lost to an error (see hugepagesctl check)", name);
        else if (meant)
                ctl_error("there is no pool '%s' (did you mean %s?)", name, meant);
        else
                ctl_error("there is no pool '%s'", name);
}

static size_t find_pool(const Plan *p, const char *name) {
        for (size_t i = 0; i < p->n_pools; i++)
                if (streq(p->pools[i].pool->section.name, name))
                        return i;
        return SIZE_MAX;
}

static int select_pools(Release *r, char *const *names) {
        const Plan *p = r->context.plan;

        if (!*names)
                return 0;
        r->named = calloc(p->n_pools ?: 1, sizeof(bool));
        if (!r->named)
                out_of_memory();
        for (; *names; names++) {
                size_t i = find_pool(p, *names);

                if (i == SIZE_MAX) {
                        report_unknown_pool(r->context.config, *names);
                        return -ENOENT;
                }
                r->named[i] = true;
        }
        return 0;
}

/* Doing it. */

static int release_do(Release *r, bool dry_run) {
        Kernel kernel = kernel_real(r->options->root);
        ApplyInput input = release_input(r->options, &r->context, &kernel);
        int q;

        if (r->released)
                released_free(TAKE_PTR(r->released));
        q = release_run(&input, r->context.plan, r->named, r->claims, dry_run, &r->released);
        if (q == -ENOMEM)
                out_of_memory();
        if (q < 0)
                ctl_error(STATE_DIRECTORY ": %s", strerror(-q));
        else if (r->released->state_error < 0)
                ctl_error("not recorded in " STATE_DIRECTORY ": %s", strerror(-r->released->state_error));
        return q;
}

static uint64_t pool_page_size(const Release *r, const ReleasedPool *p) {
        return r->context.host->sizes[p->pool->size_index].bytes;
}

static uint64_t total_held(const Released *released) {
        uint64_t sum = 0;

        for (size_t i = 0; i < released->n_pools; i++)
                sum += released->pools[i].held;
        return sum;
}

/* "2048 × 2M (4G) of pool db, 4 × 1G (4G) of pool vm" */
static char *describe_held(const Release *r) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        const char *between = "";

        if (!f)
                out_of_memory();
        for (size_t i = 0; i < r->released->n_pools; i++) {
                const ReleasedPool *p = &r->released->pools[i];
                uint64_t page_size = pool_page_size(r, p);

                if (p->held == 0)
                        continue;
                fprintf(f, "%s%" PRIu64 " %s %s (%s) of pool %s", between, p->held,
                        r->options->utf8 ? "×" : "x", FORMAT_SIZE_EXACT(page_size),
                        FORMAT_SIZE(mul_sat(p->held, page_size)), p->pool->pool->section.name);
                between = ", ";
        }
        if (fclose(f) != 0)
                out_of_memory();
        return text;
}

static bool confirm(const Release *r) {
        _cleanup_free_ char *held = describe_held(r), *line = NULL;
        size_t size = 0;

        if (r->options->yes)
                return true;
        if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
                ctl_error("release needs --yes where there is no terminal to ask on");
                return false;
        }
        fprintf(stderr, "Release %s? [y/N] ", held);
        if (getline(&line, &size, stdin) > 0) {
                line[strcspn(line, "\n")] = 0;
                if (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0)
                        return true;
        }
        ctl_error("nothing was released");
        return false;
}

/* What mounts have. */

/* Pages that files of the mount have, which includes those they were promised; the kernel counts them where
 * the mount has a limit (hugepage_subpool_get_pages() in mm/hugetlb.c). */
static uint64_t mount_used_pages(const Options *o, const char *where) {
        struct statvfs st;

        if (o->root || statvfs(where, &st) < 0)
                return 0;
        return st.f_blocks - st.f_bfree;
}

static const Mount *declared_mount(const Config *c, const char *where) {
        for (size_t i = 0; i < c->n_mounts; i++)
                if (!c->mounts[i]->section.dropped && streq_ptr(c->mounts[i]->where, where))
                        return c->mounts[i];
        return NULL;
}

static size_t pool_of_mount(const Release *r, const Mount *m, uint64_t page_size) {
        const Plan *p = r->context.plan;
        size_t i = m && m->pool ? find_pool(p, m->pool) : SIZE_MAX;

        return i != SIZE_MAX && r->context.host->sizes[p->pools[i].size_index].bytes == page_size ? i
                                                                                                  : SIZE_MAX;
}

/* One that is bound to another place is no other one. */
static bool is_known(const Release *r, dev_t device) {
        for (size_t i = 0; i < r->n_keepers; i++)
                if (r->keepers[i].device == device)
                        return true;
        return false;
}

static void add_keeper(Release *r, struct libmnt_fs *fs) {
        const char *where = mnt_fs_get_target(fs);
        const Mount *m = declared_mount(r->context.config, where);
        MountOptions options;
        Keeper *k;

        if (mount_options_parse(mnt_fs_get_fs_options(fs) ?: "", &options) < 0 || options.page_size == 0 ||
            is_known(r, mnt_fs_get_devno(fs)))
                return;
        if (GROW_ARRAY(r->keepers, r->n_keepers) < 0)
                out_of_memory();
        k = &r->keepers[r->n_keepers++];
        *k = (Keeper){
                .where = format_text("%s", where),
                .unit = m ? mount_unit_name(m) : NULL,
                .device = mnt_fs_get_devno(fs),
                .pool = pool_of_mount(r, m, options.page_size),
                .page_size = options.page_size,
                .claim.used = mount_used_pages(r->options, where),
        };
        k->claim.promised = sub_sat(options.min_size / options.page_size, k->claim.used);
        if (k->pool != SIZE_MAX) {
                r->claims[k->pool].used += k->claim.used;
                r->claims[k->pool].promised += k->claim.promised;
        }
}

static void find_keepers(Release *r) {
        struct libmnt_table *table = mount_table(r->options);
        struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;

        r->claims = calloc(r->context.plan->n_pools ?: 1, sizeof(MountClaim));
        if (!iterator || !r->claims)
                out_of_memory();
        while (table && mnt_table_next_fs(table, iterator, &fs) == 0)
                if (streq_ptr(mnt_fs_get_fstype(fs), "hugetlbfs"))
                        add_keeper(r, fs);
        mnt_free_iter(iterator);
        mnt_unref_table(table);
}

/* Whether the mount is a reason why pages stayed: that of a pool which keeps its pages has no part in it. */
static bool keeps(const Release *r, const Keeper *k) {
        if (k->claim.promised == 0)
                return false;
        for (size_t i = 0; i < r->released->n_pools; i++) {
                const ReleasedPool *p = &r->released->pools[i];

                if (p->promised > 0 && pool_page_size(r, p) == k->page_size &&
                    (k->pool == SIZE_MAX || p->pool == &r->context.plan->pools[k->pool]))
                        return true;
        }
        return false;
}

/* Telling it. */

/* ": node0 17, node1 16"; nothing where there is but one node. */
static void put_nodes(FILE *f, const Host *h, const uint64_t *counts) {
        const char *before = ": ";

        for (size_t n = 0; h->n_nodes > 1 && n < h->n_nodes; n++)
                if (counts[n] > 0) {
                        fprintf(f, "%snode%u %" PRIu64, before, h->nodes[n].id, counts[n]);
                        before = ", ";
                }
}

static void put_left(FILE *f, const ReleasedPool *p) {
        const struct {
                uint64_t pages;
                const char *what;
        } left[] = {
                { p->in_use, "in use" },
                { p->promised, "promised" },
                { p->refused, "refused by the kernel" },
        };
        const char *before = "; ";

        for (size_t i = 0; i < ELEMENTSOF(left); i++)
                if (left[i].pages > 0) {
                        fprintf(f, "%s%" PRIu64 " %s", before, left[i].pages, left[i].what);
                        before = ", ";
                }
}

/* "pool db: 23 of 33 × 2M (66M) released: node0 12, node1 11; 8 in use, 2 promised" */
static void print_pool(const Release *r, const ReleasedPool *p) {
        _cleanup_free_ char *text = NULL, *held = format_pages(p->held, pool_page_size(r, p));
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                out_of_memory();
        fprintf(f, "pool %s: ", p->pool->pool->section.name);
        if (p->held == 0)
                fputs("has no pages", f);
        else {
                if (p->released < p->held)
                        fprintf(f, "%" PRIu64 " of ", p->released);
                fprintf(f, "%s %s", held, r->options->dry_run ? "would be released" : "released");
                put_nodes(f, r->context.host, p->node_released);
                put_left(f, p);
        }
        if (fclose(f) != 0)
                out_of_memory();
        print_wrapped(r->options, text, 0, 4);
}

static void print_keepers(const Release *r) {
        for (size_t i = 0; i < r->n_keepers; i++) {
                const Keeper *k = &r->keepers[i];
                _cleanup_free_ char *pages = format_pages(k->claim.promised, k->page_size), *line = NULL;

                if (!keeps(r, k))
                        continue;
                line = format_text("%s keeps %s promised (Reserve=); to free them: %s %s", k->where, pages,
                                   k->unit ? "systemctl stop" : "umount", k->unit ?: k->where);
                print_wrapped(r->options, line, 0, 4);
        }
}

static void print_refusals(const Release *r) {
        bool refused = false;

        for (size_t i = 0; i < r->released->n_pools; i++)
                refused |= r->released->pools[i].refused > 0;
        if (refused)
                release_print_kept(r->options, &r->context, r->released);
}

static bool released_any(const Released *released) {
        for (size_t i = 0; i < released->n_pools; i++)
                if (released->pools[i].released > 0)
                        return true;
        return false;
}

static void release_print_text(const Release *r) {
        if (r->released->n_pools == 0)
                puts("there are no pools");
        for (size_t i = 0; i < r->released->n_pools; i++)
                print_pool(r, &r->released->pools[i]);
        print_keepers(r);
        print_refusals(r);
        if (r->options->dry_run)
                puts("nothing was written (--dry-run)");
        else if (released_any(r->released))
                puts("the next boot, or hugepagesctl apply, reserves them again");
}

static struct json_object *pool_json(const Release *r, const ReleasedPool *p) {
        struct json_object *pool = json_new_object(), *nodes = json_new_array();
        const Host *h = r->context.host;

        json_add_string(pool, "name", p->pool->pool->section.name);
        json_add_u64(pool, "page_size", pool_page_size(r, p));
        json_add_u64(pool, "held", p->held);
        json_add_u64(pool, "released", p->released);
        json_add_u64(pool, "in_use", p->in_use);
        json_add_u64(pool, "promised", p->promised);
        json_add_u64(pool, "refused", p->refused);
        for (size_t n = 0; n < h->n_nodes; n++) {
                struct json_object *node;

                if (p->node_held[n] == 0)
                        continue;
                node = json_new_object();
                json_add_u64(node, "node", h->nodes[n].id);
                json_add_u64(node, "held", p->node_held[n]);
                json_add_u64(node, "released", p->node_released[n]);
                json_append(nodes, node);
        }
        json_add(pool, "nodes", nodes);
        return pool;
}

static struct json_object *keepers_json(const Release *r) {
        struct json_object *mounts = json_new_array();

        for (size_t i = 0; i < r->n_keepers; i++) {
                const Keeper *k = &r->keepers[i];
                struct json_object *mount;

                if (!keeps(r, k))
                        continue;
                mount = json_new_object();
                json_add_string(mount, "where", k->where);
                json_add_string(mount, "unit", k->unit);
                json_add_u64(mount, "page_size", k->page_size);
                json_add_u64(mount, "pages", k->claim.promised);
                json_append(mounts, mount);
        }
        return mounts;
}

static void release_print_json(const Release *r) {
        struct json_object *document = json_new_object(), *pools = json_new_array();

        for (size_t i = 0; i < r->released->n_pools; i++)
                json_append(pools, pool_json(r, &r->released->pools[i]));
        json_add(document, "pools", pools);
        json_add(document, "mounts", keepers_json(r));
        release_add_json(document, &r->context, r->released, r->options->dry_run);
        json_print(document);
}

static int release_report(const Release *r) {
        if (r->options->json)
                release_print_json(r);
        else
                release_print_text(r);
        return r->options->dry_run || released_complete(r->released) ? CTL_OK : CTL_FAILURE;
}

int verb_release(const Options *o, char *const *arguments) {
        _cleanup_(release_done) Release release = { .options = o };

        if (!o->dry_run && !ctl_is_root(o))
                return CTL_FAILURE;
        context_load(o, NULL, &release.context);
        find_keepers(&release);
        if (select_pools(&release, arguments) < 0 || release_do(&release, /* dry_run= */ true) < 0)
                return CTL_FAILURE;
        if (!o->dry_run && total_held(release.released) > 0 &&
            (!confirm(&release) || release_do(&release, /* dry_run= */ false) < 0))
                return CTL_FAILURE;
        return release_report(&release);
}
