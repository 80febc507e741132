/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Live mounts: the mount table, and what a hugetlbfs mount has otherwise than its drop-in declares. A
 * mounted hugetlbfs does not change any more: a remount with other options succeeds and does nothing. */

#include "hugepagesctl/mounts.h"
#include "hugepagesctl/accounts.h"
#include "hugepagesctl/mount-options.h"
#include "units/units.h"

struct libmnt_table *mount_table(const Options *o) {
        _cleanup_free_ char *path = format_text("%s/proc/self/mountinfo", o->root ?: "");

        return mnt_new_table_from_file(path);
}

struct libmnt_fs *mount_find(struct libmnt_table *table, const char *where) {
        struct libmnt_fs *fs = mnt_table_find_target(table, where, MNT_ITER_BACKWARD);

        return fs && streq_ptr(mnt_fs_get_fstype(fs), "hugetlbfs") ? fs : NULL;
}

/* What is declared, as a live mount would have it. false where that cannot be said. */
static bool declared_options(const Options *o, const Context *context, const Mount *m, MountOptions *ret) {
        const UnitsInput input = { .root = o->root, .config = context->config, .host = context->host };
        Diagnostics told = {}; /* by those who load the drop-ins */
        MountNumbers numbers;
        uint32_t uid, gid;
        int r = mount_numbers(&input, m, &numbers, &told);

        diag_done(&told);
        if (r < 0 || account_find(o->root, ACCOUNT_USER, m->user, &uid) < 0 ||
            account_find(o->root, ACCOUNT_GROUP, m->group, &gid) < 0)
                return false;
        *ret = (MountOptions){
                .page_size = numbers.page_size,
                .size = numbers.limit ?: UINT64_MAX,
                .min_size = numbers.reserve,
                .nr_inodes = m->max_files ?: UINT64_MAX,
                .uid = uid,
                .gid = gid,
                .mode = m->mode,
        };
        return true;
}

char *mount_difference(const Options *o, const Context *context, const Mount *m, struct libmnt_fs *fs) {
        MountOptions declared, live;

        if (mount_fstab_line(o->root, m) > 0 || !declared_options(o, context, m, &declared) ||
            mount_options_parse(mnt_fs_get_fs_options(fs) ?: "", &live) < 0)
                return NULL;
        return mount_options_difference(&declared, &live);
}
