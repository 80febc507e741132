/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bare-write: writes a value to a file and does nothing else: the least that a process can do, as what ours
 * do is measured against it.
 *
 *     bare-write PATH VALUE */

#include <fcntl.h>

#include "basic/util.h"

int main(int argc, char *argv[]) {
        int fd;

        if (argc != 3)
                return 2;
        fd = open(argv[1], O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return 1;
        return write(fd, argv[2], strlen(argv[2])) < 0;
}
