/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a hugetlbfs may be mounted: only where it hides nothing and systemd can name the unit. */

#include "config/where.h"
#include "config/text.h"

#define UNIT_NAME_MAX 255u /* bytes; UNIT_NAME_MAX of systemd counts the terminator */

/* A mount here or anywhere below would hide files of the system or of other services. */
static const char *const hidden_trees[] = {
        "/bin",
        "/boot",
        "/efi",
        "/etc",
        "/home",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/lost+found",
        "/proc",
        "/root",
        "/sbin",
        "/sys",
        "/usr",
        "/dev/block",
        "/dev/bus",
        "/dev/char",
        "/dev/cpu",
        "/dev/disk",
        "/dev/dri",
        "/dev/fd",
        "/dev/input",
        "/dev/mapper",
        "/dev/mqueue",
        "/dev/net",
        "/dev/pts",
        "/dev/shm",
        "/dev/snd",
        "/dev/vfio",
        "/run/credentials",
        "/run/dbus",
        "/run/host",
        "/run/hugepages-setup",
        "/run/hugepages.d",
        "/run/initramfs",
        "/run/lock",
        "/run/log",
        "/run/mount",
        "/run/netns",
        "/run/shm",
        "/run/systemd",
        "/run/tmpfiles.d",
        "/run/udev",
        "/run/user",
};

/* Only the directory itself is taken: below it there is room. */
static const char *const hidden_directories[] = {
        "/dev",     "/media",     "/mnt",       "/opt",       "/run",     "/srv",
        "/tmp",     "/var",       "/var/lib",   "/var/cache", "/var/log", "/var/mail",
        "/var/opt", "/var/local", "/var/spool", "/var/tmp",
};

/* Symbolic links on every distribution: systemd refuses to mount on a path that is not canonical. */
static const char *const aliases[] = { "/var/lock", "/var/run" };

static bool path_is_at_or_below(const char *path, const char *directory) {
        const char *rest = startswith(path, directory);

        return rest && (*rest == 0 || *rest == '/');
}

/* Each component is there, and is neither "." nor "..". */
static bool path_is_normalized(const char *path) {
        for (const char *p = path; *p;) {
                size_t l = strcspn(++p, "/"); /* behind the slash */

                if (l == 0 || (l == 1 && *p == '.') || (l == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                p += l;
        }
        return true;
}

/* As long as systemd-escape --path --suffix=mount makes it (systemd.unit(5)). */
static size_t mount_unit_length(const char *path) {
        size_t n = strlen(".mount");

        for (const char *p = path + 1; *p; p++) {
                bool alphanumeric =
                        (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z');
                bool plain = alphanumeric || strchr("/:_", *p) || (*p == '.' && p != path + 1);

                n += plain ? 1 : strlen("\\x2d");
        }
        return n;
}

const char *where_fault(const char *path) {
        if (*path != '/')
                return "not an absolute path";
        if (!text_is_printable(path))
                return "not a printable path";
        if (!path[1])
                return "would hide the whole system";
        if (!path_is_normalized(path))
                return "not a normalized path";
        if (endswith(path, "\\"))
                return "path ends in a backslash";
        for (size_t i = 0; i < ELEMENTSOF(aliases); i++)
                if (path_is_at_or_below(path, aliases[i]))
                        return "not a canonical path, as /var/run and /var/lock are symbolic links into "
                               "/run";
        for (size_t i = 0; i < ELEMENTSOF(hidden_trees); i++)
                if (path_is_at_or_below(path, hidden_trees[i]))
                        return "would hide what the system has there";
        for (size_t i = 0; i < ELEMENTSOF(hidden_directories); i++)
                if (streq(path, hidden_directories[i]))
                        return "would hide what others have there";
        if (mount_unit_length(path) > UNIT_NAME_MAX)
                return "path too long for the name of a mount unit";
        return NULL;
}
