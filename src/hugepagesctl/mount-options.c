/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of hugetlbfs mounts, read and compared. */

#include "hugepagesctl/mount-options.h"
#include "basic/format.h"
#include "basic/parse.h"
#include "hugepagesctl/ctl.h"

static int parse_id(const char *value, uint32_t *ret) {
        uint64_t id;

        if (parse_u64(value, &id) < 0 || id > UINT32_MAX)
                return -EINVAL;
        *ret = (uint32_t) id;
        return 0;
}

static int parse_mode(const char *value, mode_t *ret) {
        char *end;
        unsigned long mode = strtoul(value, &end, 8);

        if (end == value || *end || mode > 07777)
                return -EINVAL;
        *ret = (mode_t) mode;
        return 0;
}

static int parse_option(const char *option, MountOptions *o) {
        const char *value;

        if ((value = startswith(option, "pagesize=")))
                return parse_size(value, &o->page_size);
        if ((value = startswith(option, "size=")))
                return parse_size(value, &o->size);
        if ((value = startswith(option, "min_size=")))
                return parse_size(value, &o->min_size);
        if ((value = startswith(option, "nr_inodes=")))
                return parse_u64(value, &o->nr_inodes);
        if ((value = startswith(option, "uid=")))
                return parse_id(value, &o->uid);
        if ((value = startswith(option, "gid=")))
                return parse_id(value, &o->gid);
        if ((value = startswith(option, "mode=")))
                return parse_mode(value, &o->mode);
        return 0;
}

int mount_options_parse(const char *options, MountOptions *ret) {
        _cleanup_free_ char *copy = format_text("%s", options);
        MountOptions o = { .size = UINT64_MAX, .nr_inodes = UINT64_MAX, .mode = 0755 };
        char *next = copy;

        while (next) {
                int r = parse_option(strsep(&next, ","), &o);

                if (r < 0)
                        return r;
        }
        if (o.page_size > 0) { /* as hugetlbfs_size_to_hpages() in fs/hugetlbfs/inode.c does */
                o.size -= o.size == UINT64_MAX ? 0 : o.size % o.page_size;
                o.min_size -= o.min_size % o.page_size;
        }
        *ret = o;
        return 0;
}

static char *format_limit(uint64_t limit, bool bytes) {
        if (limit == UINT64_MAX)
                return format_text("none");
        return bytes ? format_text("%s", FORMAT_SIZE_EXACT(limit)) : format_text("%" PRIu64, limit);
}

/* Takes the two values over. */
static void add_difference(char **text, const char *option, char *declared, char *live) {
        char *longer =
                format_text("%s%s%s=%s (now %s)", *text ?: "", *text ? ", " : "", option, declared, live);

        free(declared);
        free(live);
        free(*text);
        *text = longer;
}

char *mount_options_difference(const MountOptions *declared, const MountOptions *live) {
        char *text = NULL;

        if (declared->page_size != live->page_size)
                add_difference(&text, "pagesize", format_limit(declared->page_size, true),
                               format_limit(live->page_size, true));
        if (declared->size != live->size)
                add_difference(&text, "size", format_limit(declared->size, true),
                               format_limit(live->size, true));
        if (declared->min_size != live->min_size)
                add_difference(&text, "min_size", format_limit(declared->min_size, true),
                               format_limit(live->min_size, true));
        if (declared->nr_inodes != live->nr_inodes)
                add_difference(&text, "nr_inodes", format_limit(declared->nr_inodes, false),
                               format_limit(live->nr_inodes, false));
        if (declared->uid != live->uid)
                add_difference(&text, "uid", format_limit(declared->uid, false),
                               format_limit(live->uid, false));
        if (declared->gid != live->gid)
                add_difference(&text, "gid", format_limit(declared->gid, false),
                               format_limit(live->gid, false));
        if (declared->mode != live->mode)
                add_difference(&text, "mode", format_text("%04o", (unsigned) declared->mode),
                               format_text("%04o", (unsigned) live->mode));
        return text;
}
