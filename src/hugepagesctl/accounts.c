/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Users and groups: those of the system, or of the files below a root; and those that sysusers.d(5) will
 * make.
 */

#include <grp.h>
#include <pwd.h>

#include "basic/parse.h"
#include "hugepagesctl/accounts.h"

static const char *account_file(AccountKind kind) {
        return kind == ACCOUNT_USER ? "/etc/passwd" : "/etc/group";
}

/* "NAME:PASSWORD:NUMBER:…", as both files have it. */
static bool parse_entry(char *line, const char *name, uint32_t *ret) {
        char *p = line, *entry = strsep(&p, ":"), *number;
        uint64_t n;

        strsep(&p, ":");
        number = strsep(&p, ":\n");
        if (!number || !streq(entry, name) || parse_u64(number, &n) < 0 || n >= UINT32_MAX)
                return false;
        *ret = (uint32_t) n;
        return true;
}

static int find_in_file(const char *root, AccountKind kind, const char *name, uint32_t *ret) {
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (root_fopen(root, account_file(kind), &f) < 0)
                return -ENOENT;
        while (getline(&line, &size, f) >= 0)
                if (parse_entry(line, name, ret))
                        return 0;
        return -ESRCH;
}

static int find_in_system(AccountKind kind, const char *name, uint32_t *ret) {
        if (kind == ACCOUNT_USER) {
                const struct passwd *user = getpwnam(name);

                if (!user)
                        return -ESRCH;
                *ret = user->pw_uid;
        } else {
                const struct group *group = getgrnam(name);

                if (!group)
                        return -ESRCH;
                *ret = group->gr_gid;
        }
        return 0;
}

int account_find(const char *root, AccountKind kind, const char *name, uint32_t *ret) {
        uint64_t number;

        if (parse_u64(name, &number) >= 0 && number < UINT32_MAX) {
                *ret = (uint32_t) number;
                return 0;
        }
        if (streq(name, "root")) {
                *ret = 0;
                return 0;
        }
        return isempty(root) ? find_in_system(kind, name, ret) : find_in_file(root, kind, name, ret);
}

/* "u NAME ID …", "u! NAME …", "g NAME ID", "m USER GROUP" (which makes both). A user has a group of its
 * name, unless the ID names another. */
static bool line_makes(char *line, AccountKind kind, const char *name) {
        char *p = line + strspn(line, " \t");
        const char *type = strsep(&p, " \t\n"), *first, *second;

        if (!p)
                return false;
        p += strspn(p, " \t\"");
        first = strsep(&p, " \t\n\"");
        p += p ? strspn(p, " \t\"") : 0;
        second = p ? strsep(&p, " \t\n\"") : NULL;
        switch (*type) {
        case 'u':
                return streq(first, name) && (kind == ACCOUNT_USER || !second || !strchr(second, ':'));
        case 'g':
                return kind == ACCOUNT_GROUP && streq(first, name);
        case 'm':
                return kind == ACCOUNT_USER ? streq(first, name) : streq_ptr(second, name);
        default:
                return false;
        }
}

static bool file_makes(const char *root, const char *path, AccountKind kind, const char *name) {
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (root_fopen(root, path, &f) < 0)
                return false;
        while (getline(&line, &size, f) >= 0)
                if (line_makes(line, kind, name))
                        return true;
        return false;
}

bool account_from_sysusers(const char *root, AccountKind kind, const char *name) {
        static const char *const directories[] = { "/etc/sysusers.d", "/run/sysusers.d",
                                                   "/usr/local/lib/sysusers.d", "/usr/lib/sysusers.d" };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_closedir_ DIR *dir = NULL;

                if (root_opendir(root, directories[i], &dir) < 0)
                        continue;
                for (const struct dirent *de; (de = readdir(dir));) {
                        _cleanup_free_ char *path = NULL;

                        if (!endswith(de->d_name, ".conf"))
                                continue;
                        path = format_text("%s/%s", directories[i], de->d_name);
                        if (file_makes(root, path, kind, name))
                                return true;
                }
        }
        return false;
}
