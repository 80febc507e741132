/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hugetlb limits of the own cgroup: the controller is handed down from the root, then the limits are set. */

#include <inttypes.h>
#include <stdarg.h>

#include "apply/cgroup.h"
#include "basic/fs.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_FILE_MAX (64u * 1024u)

static int fail(char **ret_error, int error, const char *format, ...) _printf_(3, 4);

static int fail(char **ret_error, int error, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        if (vasprintf(ret_error, format, ap) < 0)
                *ret_error = NULL;
        va_end(ap);
        return error;
}

/* "/system.slice/db.service" of the line "0::/system.slice/db.service". systemd runs the control processes
 * of units that it delegates in a subgroup of their own, which is not where the service will be. */
static int own_cgroup(const char *root, char **ret) {
        _cleanup_free_ char *text = NULL;
        char *p;
        int r = root_read_file(root, "/proc/self/cgroup", CGROUP_FILE_MAX, &text, NULL);

        if (r < 0)
                return r;
        p = text;
        for (char *line; (line = strsep(&p, "\n"));) {
                const char *path = startswith(line, "0::");
                const char *control = path ? endswith(path, "/.control") : NULL;

                if (!path)
                        continue;
                *ret = strndup(path, control ? (size_t) (control - path) : strlen(path));
                return *ret ? 0 : -ENOMEM;
        }
        return -ENODATA;
}

static bool contains_word(const char *list, const char *word) {
        size_t l = strlen(word);

        for (const char *p = list; *p; p += strspn(p, " \n")) {
                size_t n = strcspn(p, " \n");

                if (n == l && strncmp(p, word, l) == 0)
                        return true;
                p += n;
        }
        return false;
}

static int has_hugetlb(const char *root, const char *group, const char *file) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r;

        if (asprintf(&path, CGROUP_ROOT "%s/%s", group, file) < 0)
                return -ENOMEM;
        r = root_read_file(root, path, CGROUP_FILE_MAX, &text, NULL);
        return r < 0 ? r : contains_word(text, "hugetlb");
}

/* Makes the controller available in the children of group. */
static int hand_down(const char *root, const char *group, char **ret_error) {
        _cleanup_free_ char *path = NULL;
        int r = has_hugetlb(root, group, "cgroup.controllers");

        if (r == -ENOENT && !*group)
                return fail(ret_error, r, "cgroup v2 is not mounted on " CGROUP_ROOT);
        if (r < 0)
                return fail(ret_error, r, "cannot read the controllers of cgroup %s/: %s", group,
                            strerror(-r));
        if (r == 0)
                return fail(ret_error, -EOPNOTSUPP,
                            "there is no hugetlb controller in cgroup %s/: the kernel lacks it "
                            "(CONFIG_CGROUP_HUGETLB), "
                            "or cgroup_disable= or a cgroup v1 hierarchy keeps it away",
                            group);
        r = has_hugetlb(root, group, "cgroup.subtree_control");
        if (r > 0)
                return 0;
        if (asprintf(&path, CGROUP_ROOT "%s/cgroup.subtree_control", group) < 0)
                return -ENOMEM;
        r = root_write_knob(root, path, "+hugetlb");
        if (r < 0)
                return fail(ret_error, r, "cannot enable the hugetlb controller by %s: %s", path,
                            strerror(-r));
        return 0;
}

/* As the kernel names them (mem_fmt() in mm/hugetlb_cgroup.c): 64KB, 2MB, 1GB. */
static void format_page_size(char *buffer, size_t size, uint64_t bytes) {
        if (bytes >= 1ull << 30)
                snprintf(buffer, size, "%" PRIu64 "GB", bytes >> 30);
        else if (bytes >= 1ull << 20)
                snprintf(buffer, size, "%" PRIu64 "MB", bytes >> 20);
        else
                snprintf(buffer, size, "%" PRIu64 "KB", bytes >> 10);
}

static int set_limit(const char *root, const char *group, const HugetlbLimit *limit, char **ret_error) {
        /* Without the second, a process over the limit gets SIGBUS when it touches the page instead of
         * ENOMEM when it maps it. */
        static const char *const files[] = { "max", "rsvd.max" };
        char page_size[32], value[32] = "max";

        format_page_size(page_size, sizeof(page_size), limit->page_size);
        if (limit->max != UINT64_MAX)
                snprintf(value, sizeof(value), "%" PRIu64, limit->max);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *path = NULL;
                int r;

                if (asprintf(&path, CGROUP_ROOT "%s/hugetlb.%s.%s", group, page_size, files[i]) < 0)
                        return -ENOMEM;
                r = root_write_knob(root, path, value);
                if (r == -ENOENT)
                        return fail(ret_error, r,
                                    "there is no %s: this kernel has no huge pages of this size", path);
                if (r < 0)
                        return fail(ret_error, r, "cannot write %s to %s: %s", value, path, strerror(-r));
        }
        return 0;
}

int cgroup_limit_hugetlb(const char *root, const HugetlbLimit *limits, size_t n, char **ret_error) {
        _cleanup_free_ char *group = NULL;
        int r = own_cgroup(root, &group);

        *ret_error = NULL;
        if (r < 0)
                return fail(ret_error, r, "this process is in no cgroup v2 (/proc/self/cgroup): %s",
                            strerror(-r));
        if (streq(group, "/"))
                return fail(ret_error, -EINVAL,
                            "the root cgroup cannot be limited; this is meant for a service");
        for (char *p = group; (p = strchr(p, '/')); p++) {
                *p = 0;
                r = hand_down(root, group, ret_error);
                *p = '/';
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < n; i++) {
                r = set_limit(root, group, &limits[i], ret_error);
                if (r < 0)
                        return r;
        }
        return 0;
}
