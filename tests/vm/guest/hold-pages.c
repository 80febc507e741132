/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes huge pages, touches them and holds them: the consumer in the checks of real boots.
 *
 *     hold-pages [-x] [-n NODE] [-s SIZE_KB] WHERE PAGES
 *
 * WHERE is a directory of a hugetlbfs, "anon" (MAP_HUGETLB) or "shm" (System V). With -x it ends at once,
 * else it tells systemd that it is ready and waits to be ended. Exit status: 0, 1 for no memory, 2 for a bad
 * call, 3 for SIGBUS, which the kernel sends where a page that was promised does not exist. */

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void on_sigbus(int sig) {
        static const char text[] = "SIGBUS: a promised page does not exist\n";

        (void) !write(STDERR_FILENO, text, sizeof(text) - 1);
        _exit(3);
}

static void notify_ready(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const char *path = getenv("NOTIFY_SOCKET");
        int fd;

        if (!path || strlen(path) >= sizeof(address.sun_path))
                return;
        strcpy(address.sun_path, path);
        if (address.sun_path[0] == '@')
                address.sun_path[0] = 0;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return;
        (void) sendto(fd, "READY=1", 7, 0, (struct sockaddr *) &address,
                      offsetof(struct sockaddr_un, sun_path) + strlen(path));
        close(fd);
}

static int bind_to_node(const char *node) {
        unsigned long mask = 1ul << strtoul(node, NULL, 10);

        return syscall(SYS_set_mempolicy, MPOL_BIND, &mask, sizeof(mask) * 8 + 1);
}

static void *map_file(const char *directory, size_t bytes) {
        char path[4096];
        void *p;
        int fd;

        snprintf(path, sizeof(path), "%s/held.%d", directory, (int) getpid());
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return MAP_FAILED;
        unlink(path);
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        return p;
}

static void *map_shm(size_t bytes, int size_shift) {
        int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | SHM_HUGETLB | size_shift << MAP_HUGE_SHIFT | 0600);
        void *p;

        if (id < 0)
                return MAP_FAILED;
        p = shmat(id, NULL, 0);
        shmctl(id, IPC_RMID, NULL);
        return p;
}

static void *map_pages(const char *where, size_t bytes, int size_shift) {
        if (strcmp(where, "anon") == 0)
                return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size_shift << MAP_HUGE_SHIFT, -1, 0);
        if (strcmp(where, "shm") == 0)
                return map_shm(bytes, size_shift);
        return map_file(where, bytes);
}

int main(int argc, char **argv) {
        size_t page_size = 2048 * 1024, pages;
        int exit_at_once = 0, c;
        char *p;

        while ((c = getopt(argc, argv, "xn:s:")) >= 0)
                switch (c) {
                case 'x':
                        exit_at_once = 1;
                        break;
                case 'n':
                        if (bind_to_node(optarg) < 0)
                                return perror("set_mempolicy"), 2;
                        break;
                case 's':
                        page_size = strtoul(optarg, NULL, 10) * 1024;
                        break;
                default:
                        return 2;
                }
        if (argc - optind != 2)
                return fprintf(stderr, "Usage: hold-pages [-x] [-n NODE] [-s SIZE_KB] WHERE PAGES\n"), 2;
        pages = strtoul(argv[optind + 1], NULL, 10);

        signal(SIGBUS, on_sigbus);
        p = map_pages(argv[optind], pages * page_size, __builtin_ctzl(page_size));
        if (p == MAP_FAILED)
                return fprintf(stderr, "%s, %zu pages of %zu kB: %s\n", argv[optind], pages,
                               page_size / 1024, strerror(errno)),
                       1;
        for (size_t i = 0; i < pages; i++)
                p[i * page_size] = 1;

        printf("holds %zu pages of %zu kB from %s\n", pages, page_size / 1024, argv[optind]);
        fflush(stdout);
        notify_ready();
        while (!exit_at_once)
                pause();
        return 0;
}
