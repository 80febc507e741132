/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepages-generator: turns the drop-ins of hugepages.d(5) into units, at boot and at every daemon-reload.
 * See systemd.generator(7). */

#include <fcntl.h>
#include <sys/stat.h>

#include "basic/fs.h"
#include "boot/switch.h"
#include "config/config.h"
#include "config/text.h"
#include "host/host.h"
#include "units/units.h"

/* The kernel takes lines below 1 KiB and refuses longer ones whole. */
#define KMSG_LINE_MAX 900

/* There is no journal yet when generators run at boot: the kernel's log is the way. */
static int log_open(const char *root) {
        int fd = root ? -1 : open("/dev/kmsg", O_WRONLY | O_NOCTTY | O_CLOEXEC);

        return fd >= 0 ? fd : STDERR_FILENO;
}

static void log_message(int fd, Severity severity, const char *message) {
        _cleanup_free_ char *text = text_escape(message); /* a newline would end the record */
        char line[KMSG_LINE_MAX];
        int l;

        if (!text)
                return;
        if (fd == STDERR_FILENO) {
                fprintf(stderr, "hugepages-generator: %s: %s\n", severity_to_string(severity), text);
                return;
        }
        l = snprintf(line, sizeof(line), "<%d>hugepages-generator[%ld]: %s",
                     severity == SEVERITY_ERROR ? 3 : 4, (long) getpid(), text);
        l = MIN(l, (int) sizeof(line) - 1);
        line[l++] = '\n'; /* the kernel holds back a record that may go on */
        (void) !write(fd, line, (size_t) l);
}

static void log_diagnostics(int fd, Diagnostics *d) {
        diag_sort(d);
        for (size_t i = 0; i < d->n; i++) {
                _cleanup_free_ char *message = diag_format(&d->items[i]);

                log_message(fd, d->items[i].severity, message ?: "out of memory");
        }
}

/* What is wrong with the drop-ins is not reported here: hugepages-setup.service does, with everything else
 * that it finds. */
static int load(const char *root, Config **ret_config, Host **ret_host) {
        Diagnostics unreported = {};
        int r;

        r = config_load(root, ret_config, &unreported);
        if (r >= 0 && (*ret_config)->n_mounts > 0) /* only mount options depend on the machine */
                r = host_load(root, HOST_SIZES | (units_need_nodes(*ret_config) ? HOST_NODES : 0), ret_host,
                              &unreported);
        diag_done(&unreported);
        return r;
}

static int generate(const char *root, const char *directory, Diagnostics *d) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(host_freep) Host *host = NULL;
        UnitsInput input;
        int r;

        if (!config_exists(root) || switched_off(root) != SWITCHED_ON)
                return 0;
        r = load(root, &config, &host);
        if (r < 0)
                return r;
        input = (UnitsInput){
                .root = root,
                .directory = directory,
                .config = config,
                .host = host,
        };
        return units_generate(&input, d);
}

/* The system manager of the real system alone: user managers have no pools, and in the initrd neither the
 * drop-ins nor the mount points are those of the system. */
static bool runs_for_system(void) {
        const char *scope = getenv("SYSTEMD_SCOPE"), *in_initrd = getenv("SYSTEMD_IN_INITRD");

        return !(scope && streq(scope, "user")) && !(in_initrd && streq(in_initrd, "1"));
}

int main(int argc, char *argv[]) {
        _cleanup_free_ char *root = NULL;
        Diagnostics d = {};
        bool lost;
        int fd, r;

        if (argc != 2 && argc != 4) {
                fprintf(stderr, "Usage: %s NORMAL-DIR [EARLY-DIR LATE-DIR]\n", argv[0]);
                return EXIT_FAILURE;
        }
        if (!runs_for_system())
                return EXIT_SUCCESS;

        umask(0022);
        r = root_from_environment(&root);
        if (r >= 0)
                r = generate(root, argv[1], &d);

        lost = r < 0 || d.n_errors > 0;
        if (r < 0 || d.n > 0) {
                fd = log_open(root);
                log_diagnostics(fd, &d);
                if (r < 0)
                        log_message(fd, SEVERITY_ERROR,
                                    r == -EINVAL ? "HUGEPAGES_ROOT is not an absolute path" : strerror(-r));
        }
        diag_done(&d);
        return lost ? EXIT_FAILURE : EXIT_SUCCESS;
}
