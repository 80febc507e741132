/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The drop-in language: each section and key, with its parser, its place, its default and its help. */

#include "config/keys.h"
#include "config/values.h"

/* An Enabled= of [THP] and the like: what the kernel offers (Documentation/admin-guide/mm/transhuge.rst). */
#define WORDS(...)                                                                                          \
        (const char *const[]) {                                                                             \
                __VA_ARGS__, NULL                                                                           \
        }

#define FIELD(type, member) .offset = offsetof(type, member), .size = sizeof(((type *) 0)->member)

#define SIZE_EXPECTED "bytes, K, M, G, T"
#define SIZE_OR_PERCENT_EXPECTED "bytes, K, M, G, T, or a percentage"
#define PAGE_SIZE_EXPECTED "a power of two such as 2M or 1G"
#define BOOLEAN_EXPECTED "yes or no"

#define KEY(key, struct_type, member, parser, ...)                                                          \
        { .name = (key), .parse = value_##parser, FIELD(struct_type, member), __VA_ARGS__ }
#define DROPS .bad_value = BAD_VALUE_DROPS_SECTION
#define BREAKS .bad_value = BAD_VALUE_BREAKS_SERVICE

static const KeyInfo pool_keys[] = {
        KEY("PageSize", Pool, page_size, page_size, DROPS, .expected = PAGE_SIZE_EXPECTED,
            .help = "Huge page size of the pool, one that the kernel has"),
        KEY("Size", Pool, size, pool_size, DROPS, .free = free_amount, .expected = SIZE_OR_PERCENT_EXPECTED,
            .help = "Memory to reserve: in all, per node (0:4G,1:12G), or rest"),
        KEY("Pages", Pool, size, pool_pages, DROPS, .free = free_amount,
            .expected = "a number, or numbers per node such as 0:1024,1:512",
            .help = "Pages to reserve: in all, or per node (0:1024,1:512)"),
        KEY("Headroom", Pool, headroom, size_or_percent, DROPS, .free = free_amount,
            .expected = SIZE_OR_PERCENT_EXPECTED, .help = "Memory to reserve on top of the size"),
        KEY("Nodes", Pool, nodes, nodes, DROPS, .free = free_nodes, .initial = "all",
            .expected = "all, a list such as 0,2-3, or a device such as pci:0000:3b:00.0",
            .help = "NUMA nodes that the pool may use"),
        KEY("Overcommit", Pool, overcommit, size, DROPS, .free = free_amount, .expected = SIZE_EXPECTED,
            .help = "Memory that the kernel may add to the pool on demand"),
        KEY("OvercommitPages", Pool, overcommit, pages, DROPS, .free = free_amount, .expected = "a number",
            .help = "Pages that the kernel may add to the pool on demand"),
        KEY("Essential", Pool, essential, boolean, DROPS, .initial = "no", .expected = BOOLEAN_EXPECTED,
            .help = "Whether hugepages-setup.service fails when the pool is short"),
};

static const KeyInfo mount_keys[] = {
        KEY("Where", Mount, where, where, DROPS, .free = free_string,
            .expected =
                    "an absolute, normalized path of a directory of its own, such as /dev/hugepages/NAME",
            .help = "Directory to mount on"),
        KEY("Pool", Mount, pool, name, DROPS, .free = free_string,
            .expected = "the name of a [Pool] section", .help = "Pool that gives page size and limit"),
        KEY("PageSize", Mount, page_size, page_size, DROPS, .expected = PAGE_SIZE_EXPECTED,
            .help = "Huge page size, where there is no Pool="),
        KEY("Size", Mount, size, mount_size, DROPS, .free = free_amount,
            .expected = "bytes, K, M, G, T, or infinity", .help = "Upper limit of the mount"),
        KEY("Reserve", Mount, reserve, mount_reserve, DROPS, .free = free_amount,
            .expected = "bytes, K, M, G, T, or pool", .help = "Memory set aside for this mount alone"),
        KEY("MaxFiles", Mount, max_files, max_files, DROPS, .expected = "a number from 1 on",
            .help = "Upper limit of the number of files"),
        KEY("User", Mount, user, user, DROPS, .free = free_string, .initial = "root",
            .expected = "the name or number of a user", .help = "Owner of the mount's root directory"),
        KEY("Group", Mount, group, user, DROPS, .free = free_string, .initial = "root",
            .expected = "the name or number of a group", .help = "Group of the mount's root directory"),
        KEY("Mode", Mount, mode, mode, DROPS, .initial = "0755", .expected = "an octal number up to 1777",
            .help = "Access mode of the mount's root directory"),
};

static const KeyInfo service_keys[] = {
        KEY("Unit", Service, unit, unit, DROPS, .free = free_string,
            .expected = "the name of a service that is not part of the early boot",
            .help = "The unit, where its name is too long for a section header"),
        KEY("Pool", Service, pools, names, BREAKS, .free = free_names,
            .expected = "names of [Pool] sections, separated by blanks",
            .help = "Pools that the service waits for"),
        KEY("Mount", Service, mounts, names, BREAKS, .free = free_names,
            .expected = "names of [Mount] sections, separated by blanks",
            .help = "Mounts that the service waits for"),
        KEY("Require", Service, require, require, BREAKS, .initial = "no", .expected = BOOLEAN_EXPECTED,
            .help = "Whether the service must not start when a pool is short or a mount failed"),
        KEY("LimitMEMLOCK", Service, limit_memlock, limit_memlock, .free = free_string,
            .expected = "bytes, K, M, G, T, infinity, or SOFT:HARD", .help = "LimitMEMLOCK= of the service"),
        { .name = "HugetlbMax",
          .parse = value_hugetlb_max,
          .free = free_string,
          .offset = offsetof(Service, hugetlb_max),
          .size = sizeof(((Service *) 0)->hugetlb_max) + sizeof(((Service *) 0)->n_hugetlb_max),
          .expected = "limits such as 2M:8G 1G:infinity",
          .help = "Limits of the service's control group by page size" },
        KEY("BindMounts", Service, bind_mounts, boolean, .initial = "no", .expected = BOOLEAN_EXPECTED,
            .help = "Whether the mounts are bound into the service's file system namespace"),
};

static const KeyInfo thp_keys[] = {
        KEY("Enabled", Thp, enabled, word, .free = free_string, .words = WORDS("always", "madvise", "never"),
            .expected = "always, madvise, or never", .help = "Who gets transparent huge pages"),
        KEY("Defrag", Thp, defrag, word, .free = free_string,
            .words = WORDS("always", "defer", "defer+madvise", "madvise", "never"),
            .expected = "always, defer, defer+madvise, madvise, or never",
            .help = "Who waits for memory to be compacted"),
        KEY("ShmemEnabled", Thp, shmem_enabled, word, .free = free_string,
            .words = WORDS("always", "within_size", "advise", "never", "deny", "force"),
            .expected = "always, within_size, advise, never, deny, or force",
            .help = "Transparent huge pages for shared memory"),
        KEY("UseZeroPage", Thp, use_zero_page, tristate, .expected = BOOLEAN_EXPECTED,
            .help = "Whether reading untouched memory maps the huge zero page"),
};

static const KeyInfo thp_size_keys[] = {
        KEY("Enabled", ThpSize, enabled, word, DROPS, .free = free_string,
            .words = WORDS("always", "inherit", "madvise", "never"),
            .expected = "always, inherit, madvise, or never",
            .help = "Who gets transparent huge pages of this size"),
        KEY("ShmemEnabled", ThpSize, shmem_enabled, word, DROPS, .free = free_string,
            .words = WORDS("always", "inherit", "within_size", "advise", "never"),
            .expected = "always, inherit, within_size, advise, or never",
            .help = "Transparent huge pages of this size for shared memory"),
};

static const KeyInfo khugepaged_keys[] = {
        KEY("Defrag", Khugepaged, defrag, tristate, .expected = BOOLEAN_EXPECTED,
            .help = "Whether khugepaged compacts memory"),
        KEY("PagesToScan", Khugepaged, pages_to_scan, positive_count, .expected = "a number from 1 on",
            .help = "Pages that khugepaged scans at a time"),
        KEY("ScanSleepSec", Khugepaged, scan_sleep_usec, sleep,
            .expected = "a time span such as 10s or 500ms", .help = "Time between two scans"),
        KEY("AllocSleepSec", Khugepaged, alloc_sleep_usec, sleep,
            .expected = "a time span such as 60s or 500ms",
            .help = "Time to wait after a huge page could not be had"),
        KEY("MaxPtesNone", Khugepaged, max_ptes_none, count, .expected = "a number",
            .help = "Untouched small pages that a new huge page may have"),
        KEY("MaxPtesSwap", Khugepaged, max_ptes_swap, count, .expected = "a number",
            .help = "Small pages that may be swapped in for a new huge page"),
        KEY("MaxPtesShared", Khugepaged, max_ptes_shared, count, .expected = "a number",
            .help = "Small pages of a new huge page that may be shared"),
};

static const KeyInfo system_keys[] = {
        KEY("KeepFree", System, keep_free, size_or_percent, .free = free_amount,
            .expected = SIZE_OR_PERCENT_EXPECTED, .help = "Memory that huge pages leave to everything else"),
        KEY("DefaultPageSize", System, default_page_size, page_size, .expected = PAGE_SIZE_EXPECTED,
            .help = "The kernel's default huge page size, for its command line"),
        KEY("SharedMemoryGroup", System, shared_memory_group, user, .free = free_string,
            .expected = "the name or number of a group",
            .help = "Group that may use huge pages for SysV shared memory"),
        KEY("OptimizeVmemmap", System, optimize_vmemmap, tristate, .expected = BOOLEAN_EXPECTED,
            .help = "Whether the kernel saves memory that describes huge pages"),
        KEY("DefragMode", System, defrag_mode, tristate, .expected = BOOLEAN_EXPECTED,
            .help = "Whether the kernel keeps what it cannot move out of movable memory"),
        KEY("Compact", System, compact, boolean, .initial = "yes", .expected = BOOLEAN_EXPECTED,
            .help = "Whether memory is compacted when pages do not come"),
        KEY("DropCaches", System, drop_caches, boolean, .initial = "no", .expected = BOOLEAN_EXPECTED,
            .help = "Whether the page cache is dropped as a last resort"),
        KEY("TimeoutSec", System, timeout_usec, timespan, .initial = "30s",
            .expected = "a time span such as 30s or 1min", .help = "How long to keep trying"),
        KEY("KernelCommandLine", System, kernel_command_line, kernel_command_line, .initial = "gigantic",
            .words = WORDS("gigantic", "all", "none"), .expected = "gigantic, all, or none",
            .help = "Pools that the kernel command line is to cover"),
        KEY("Initrd", System, initrd, boolean, .initial = "yes", .expected = BOOLEAN_EXPECTED,
            .help = "Whether the initrd reserves gigantic pages"),
};

#define SECTION(section, struct_type, table)                                                                \
        .name = (section), .size = sizeof(struct_type), .keys = (table), .n_keys = ELEMENTSOF(table)

const SectionInfo section_table[_SECTION_TYPE_MAX] = {
        [SECTION_POOL] = { SECTION("Pool", Pool, pool_keys), .named = true,
                           .help = "An amount of huge pages of one size" },
        [SECTION_MOUNT] = { SECTION("Mount", Mount, mount_keys), .named = true,
                            .help = "A hugetlbfs mount" },
        [SECTION_SERVICE] = { SECTION("Service", Service, service_keys), .named = true,
                              .help = "A service that uses huge pages" },
        [SECTION_THP] = { SECTION("THP", Thp, thp_keys), .help = "Transparent huge pages" },
        [SECTION_THP_SIZE] = { SECTION("THP", ThpSize, thp_size_keys), .named = true,
                               .help = "Transparent huge pages of one size" },
        [SECTION_KHUGEPAGED] = { SECTION("Khugepaged", Khugepaged, khugepaged_keys),
                                 .help = "The thread that makes huge pages of small ones" },
        [SECTION_SYSTEM] = { SECTION("System", System, system_keys),
                             .help = "What concerns the whole machine" },
};

const KeyInfo *section_find_key(SectionType type, const char *name) {
        const SectionInfo *info = &section_table[type];

        for (size_t i = 0; i < info->n_keys; i++)
                if (streq(name, info->keys[i].name))
                        return &info->keys[i];
        return NULL;
}
