/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan must be told from outside: the gid of a group and the node of a PCI device. */

#include <grp.h>

#include "apply/resolve.h"
#include "basic/fs.h"
#include "host/host.h"

int resolve_pci_node(void *root, const char *address) {
        return host_pci_node(root, address);
}

/* One look into the database, or the next entry of a file; buffer is what the entry points into. */
static int find_group(FILE *f, const char *name, struct group *entry, char *buffer, size_t size,
                      gid_t *ret) {
        struct group *found = NULL;
        int r;

        if (!f) {
                r = getgrnam_r(name, entry, buffer, size, &found);
                if (r == ERANGE)
                        return -ERANGE;
                if (!found)
                        return -ESRCH;
                *ret = found->gr_gid;
                return 0;
        }
        rewind(f);
        while ((r = fgetgrent_r(f, entry, buffer, size, &found)) == 0)
                if (streq(found->gr_name, name)) {
                        *ret = found->gr_gid;
                        return 0;
                }
        return r == ERANGE ? -ERANGE : -ESRCH;
}

int resolve_group(void *root, const char *group, gid_t *ret) {
        _cleanup_fclose_ FILE *f = NULL;

        if (!isempty(root) && root_fopen(root, "/etc/group", &f) < 0)
                return -ESRCH;
        for (size_t size = 1024; size <= 1024 * 1024; size *= 2) {
                _cleanup_free_ char *buffer = malloc(size);
                struct group entry;
                int r;

                if (!buffer)
                        return -ENOMEM;
                r = find_group(f, group, &entry, buffer, size, ret);
                if (r != -ERANGE)
                        return r;
        }
        return -ESRCH;
}
