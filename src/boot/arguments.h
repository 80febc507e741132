/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Arguments: what a configuration asks for on the kernel command line. Pure: no I/O, no clock.
 * Kernel documents: Documentation/admin-guide/kernel-parameters.txt, admin-guide/mm/hugetlbpage.rst. */

#include "config/config.h"
#include "host/host.h"

typedef struct KernelVersion {
        unsigned version, patchlevel; /* 6, 12 */
} KernelVersion;

/* "6.12", "6.1.0-37-amd64". -EINVAL. */
int kernel_version_parse(const char *s, KernelVersion *ret);

/* How long a kernel's command line may be, in bytes without a terminator: COMMAND_LINE_SIZE of
 * arch/ARCHITECTURE/include/(uapi/)asm/setup.h. What is behind is cut off without a word. architecture: as
 * uname(2) has it. 0 where it is not known. */
size_t command_line_max(const char *architecture) _pure_;

/* Pages larger than the largest block of the buddy allocator (MAX_PAGE_ORDER, hstate_is_gigantic() in
 * include/linux/hugetlb.h): a running kernel has to find unbroken memory for them, and the command line is
 * the surest way to them. */
bool page_size_is_gigantic(const Host *h, uint64_t page_size) _pure_;

typedef struct Argument {
        char *text;         /* one word, or two that belong together: "hugepagesz=1G hugepages=0:4,1:4" */
        uint64_t page_size; /* bytes; 0 but for huge pages */
        uint64_t pages;     /* over all nodes */
        Source source;      /* the key, or the first pool's header */
} Argument;

typedef struct Arguments {
        Argument *items; /* in the order that the kernel needs */
        size_t n;
} Arguments;

typedef struct ArgumentsInput {
        Config *config;
        const Host *host;
        const char *others; /* what is not ours of the command line to come: hugetlb_cma=, and pages that
                             * count against KeepFree=. NULL: the running kernel's */
        KernelVersion kernel;
        const char *architecture; /* as uname(2) has it; NULL where it is not known */
        int (*pci_node)(void *userdata, const char *address); /* as in PlanInput */
        void *userdata;
} ArgumentsInput;

/* How many pages on which node is what a plan says for this machine when it has just booted and has no huge
 * pages yet; what it cuts is a warning. What this kernel lacks is an error that costs the pool (which is
 * marked dropped in the Config) or the key. 0 or -ENOMEM. */
int arguments_make(const ArgumentsInput *input, Arguments *ret, Diagnostics *d);

/* All in one line, "" for none; to be freed by the caller, NULL when out of memory. */
char *arguments_line(const Arguments *a);

void arguments_done(Arguments *a);
