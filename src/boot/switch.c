/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The off switches: the command line, a masked unit, a kdump kernel, a container. */

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#include "basic/cmdline.h"
#include "basic/fs.h"
#include "boot/switch.h"

#define UNIT "hugepages-setup.service"

static bool means_off(const char *value) {
        static const char *const words[] = { "off", "0", "no", "false" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcasecmp(value, words[i]) == 0)
                        return true;
        return false;
}

static SwitchedOff cmdline_switch(const char *root) {
        _cleanup_free_ char *cmdline = NULL;
        bool off = false, masked = false;
        const char *p;

        if (root_read_line(root, "/proc/cmdline", &cmdline) < 0)
                return SWITCHED_ON;
        p = cmdline;
        for (;;) {
                _cleanup_free_ char *word = NULL;
                const char *v;

                if (cmdline_next(&p, &word) <= 0)
                        break;
                v = cmdline_value(word, "hugepages_setup");
                if (v)
                        off = means_off(v);
                /* systemd-debug-generator(8) turns this into a link, but it runs beside our generator. */
                v = cmdline_value(word, "systemd.mask");
                if (v && (streq(v, UNIT) || streq(v, "hugepages-setup")))
                        masked = true;
        }
        if (off)
                return SWITCHED_OFF_CMDLINE;
        return masked ? SWITCHED_OFF_MASKED : SWITCHED_ON;
}

/* 1 where the unit file masks, 0 where it does not, -ENOENT where there is none. */
static int unit_file_masks(const char *root, const char *path) {
        _cleanup_free_ char *target = NULL;
        _cleanup_close_ int fd = -1;
        struct stat st;
        int r = root_readlink(root, path, &target);

        if (r == -ENOENT)
                return r;
        if (r >= 0 && streq(target, "/dev/null"))
                return 1;
        fd = root_open(root, path, O_PATH);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -ENOENT;
        return S_ISREG(st.st_mode) ? st.st_size == 0 : S_ISCHR(st.st_mode);
}

bool unit_is_masked_for_good(const char *root) {
        return unit_file_masks(root, "/etc/systemd/system/" UNIT) == 1;
}

/* As systemd sees it: the first directory of its search path that has the unit decides. */
static bool unit_is_masked(const char *root) {
        static const char *const paths[] = { "/etc/systemd/system/" UNIT, "/run/systemd/system/" UNIT };

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                int r = unit_file_masks(root, paths[i]);

                if (r >= 0)
                        return r > 0;
        }
        return false;
}

/* WSL2 counts as a container for systemd (detect_container() in src/basic/virt.c), but it has a kernel and
 * memory of its own, which are there to be set up. */
static bool is_container_id(const char *id) {
        return !isempty(id) && !streq(id, "wsl");
}

static bool in_container(const char *root) {
        _cleanup_free_ char *id = NULL, *environment = NULL;
        size_t size = 0;

        if (isempty(root)) { /* what systemd tells its generators, from version 251 on */
                const char *e = getenv("SYSTEMD_VIRTUALIZATION"),
                           *container = e ? startswith(e, "container:") : NULL;

                if (container)
                        return is_container_id(container);
        }
        if (root_read_line(root, "/run/systemd/container", &id) >= 0)
                return is_container_id(id);
        if (!isempty(root) || root_read_file(NULL, "/proc/1/environ", 256 * 1024, &environment, &size) < 0)
                return false;
        for (const char *p = environment; p < environment + size; p += strlen(p) + 1) {
                const char *v = startswith(p, "container=");

                if (v)
                        return is_container_id(v);
        }
        return false;
}

SwitchedOff switched_off(const char *root) {
        SwitchedOff s = cmdline_switch(root);

        if (s != SWITCHED_ON)
                return s;
        if (unit_is_masked(root))
                return SWITCHED_OFF_MASKED;
        if (root_exists(root, "/proc/vmcore"))
                return SWITCHED_OFF_KDUMP;
        return in_container(root) ? SWITCHED_OFF_CONTAINER : SWITCHED_ON;
}

const char *switched_off_to_request(SwitchedOff s) {
        switch (s) {
        case SWITCHED_OFF_CMDLINE:
                return "hugepages_setup= on the kernel command line switches this boot off: what is asked "
                       "for is for the next one";
        case SWITCHED_OFF_MASKED:
                return "hugepages-setup.service is masked: nothing is asked for";
        case SWITCHED_OFF_CONTAINER:
                return "this is a container: nothing is asked for";
        case SWITCHED_OFF_KDUMP:
        case SWITCHED_ON:
                break;
        }
        return NULL;
}

const char *switched_off_to_string(SwitchedOff s) {
        switch (s) {
        case SWITCHED_OFF_CMDLINE:
                return "switched off by hugepages_setup= on the kernel command line";
        case SWITCHED_OFF_MASKED:
                return "switched off: hugepages-setup.service is masked";
        case SWITCHED_OFF_KDUMP:
                return "switched off in a kdump kernel";
        case SWITCHED_OFF_CONTAINER:
                return "switched off in a container";
        case SWITCHED_ON:
                break;
        }
        return NULL;
}
