/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Config: what the drop-ins of /etc/hugepages.d and its sister directories declare, merged. The language is
 * hugepages.d(5); its one truth is the table in config/keys.c. */

#include "basic/diag.h"
#include "basic/util.h"

typedef enum SectionType {
        SECTION_POOL,
        SECTION_MOUNT,
        SECTION_SERVICE,
        SECTION_THP,      /* [THP] */
        SECTION_THP_SIZE, /* [THP 64K] */
        SECTION_KHUGEPAGED,
        SECTION_SYSTEM,
        _SECTION_TYPE_MAX,
} SectionType;

typedef enum Tristate {
        TRISTATE_UNSET,
        TRISTATE_NO,
        TRISTATE_YES,
} Tristate;

typedef enum AmountType {
        AMOUNT_UNSET,
        AMOUNT_BYTES,       /* 8G */
        AMOUNT_PAGES,       /* Pages=4096 */
        AMOUNT_PERCENT,     /* 25%, in hundredths of a percent */
        AMOUNT_REST,        /* rest: what KeepFree= and the other pools leave */
        AMOUNT_NODES_BYTES, /* 0:4G,1-3:12G */
        AMOUNT_NODES_PAGES, /* Pages=0:1024,1-3:512 */
        AMOUNT_INFINITY,    /* infinity: no limit ([Mount] Size=) */
        AMOUNT_WHOLE_POOL,  /* pool: all of the pool ([Mount] Reserve=) */
} AmountType;

typedef struct NodeAmount {
        unsigned first, last; /* node numbers, inclusive; each node of the range gets value */
        uint64_t value;       /* bytes or pages */
} NodeAmount;

typedef struct Amount {
        AmountType type;
        uint64_t value;    /* bytes, pages or hundredths of a percent; unused for the per-node types */
        NodeAmount *nodes; /* the per-node types only, in the order written, without overlap */
        size_t n_nodes;
} Amount;

typedef enum NodesType {
        NODES_ALL, /* every node with memory and CPUs */
        NODES_LIST,
        NODES_PCI, /* the node of a PCI device */
} NodesType;

typedef struct Nodes {
        NodesType type;
        NodeAmount *ranges; /* NODES_LIST; value unused */
        size_t n_ranges;
        char *pci; /* NODES_PCI: "0000:3b:00.0" */
} Nodes;

typedef enum KeyState {
        KEY_STATE_UNSET,
        KEY_STATE_EMPTY, /* returned to its default */
        KEY_STATE_SET,
        KEY_STATE_BAD, /* the last value was bad */
} KeyState;

/* The last assignment to a key. Size= and Pages= are one slot, Overcommit= and OvercommitPages= another:
 * their records are the same, whichever of the two was assigned. */
typedef struct KeyRecord {
        Source source;   /* .file NULL where never assigned */
        const char *key; /* the name that was used; NULL where never assigned */
        KeyState state;
} KeyRecord;

/* What every section begins with. */
typedef struct Section {
        SectionType type;
        char *name;      /* as in the header; NULL for sections that have none */
        Source source;   /* the first header in reading order */
        bool dropped;    /* lost to an error, which is in the Diagnostics; values are not to be used */
        KeyRecord *keys; /* by index in the section's key table */
} Section;

typedef struct Pool {
        Section section;
        uint64_t page_size; /* bytes; 0: the kernel's default */
        Amount size;        /* Size= and Pages= are one slot */
        Amount headroom;    /* UNSET, BYTES or PERCENT */
        Nodes nodes;
        Amount overcommit; /* Overcommit= (BYTES) and OvercommitPages= (PAGES) are one slot */
        bool essential;
        uint64_t promised; /* bytes that its mounts reserve together, as far as the drop-ins tell */
} Pool;

typedef struct Mount {
        Section section;
        char *where;
        char *pool;         /* NULL where unset */
        uint64_t page_size; /* bytes; 0: the pool's, else the kernel's default */
        Amount size;        /* UNSET: the pool's size, else none. BYTES, INFINITY */
        Amount reserve;     /* UNSET, BYTES, WHOLE_POOL */
        uint64_t max_files; /* 0: no limit */
        char *user, *group; /* names or numbers; default "root" */
        mode_t mode;        /* default 0755 */
} Mount;

typedef struct HugetlbLimit {
        uint64_t page_size; /* bytes */
        uint64_t max;       /* bytes */
} HugetlbLimit;

typedef struct Service {
        Section section;
        char *unit;   /* always with ".service" after config_load() */
        char **pools; /* NULL-terminated; NULL for none. With Require=yes, also what could not be a pool name
                       */
        char **mounts; /* names of [Mount] sections, likewise */
        bool require;
        bool broken;         /* Pool=, Mount= or Require= had a bad value: with require, it must not start */
        char *limit_memlock; /* as in systemd.exec(5), checked; NULL where unset */
        HugetlbLimit *hugetlb_max;
        size_t n_hugetlb_max;
        bool bind_mounts;
} Service;

typedef struct Thp { /* words are NULL where unset */
        Section section;
        char *enabled, *defrag, *shmem_enabled;
        Tristate use_zero_page;
} Thp;

typedef struct ThpSize {
        Section section;
        uint64_t size; /* bytes */
        char *enabled, *shmem_enabled;
} ThpSize;

typedef struct OptionalU64 {
        bool set;
        uint64_t value;
} OptionalU64;

typedef struct Khugepaged {
        Section section;
        Tristate defrag;
        OptionalU64 pages_to_scan;
        OptionalU64 scan_sleep_usec, alloc_sleep_usec; /* microseconds; the kernel takes milliseconds */
        OptionalU64 max_ptes_none, max_ptes_swap, max_ptes_shared;
} Khugepaged;

typedef enum KernelCommandLine {
        KERNEL_COMMAND_LINE_GIGANTIC,
        KERNEL_COMMAND_LINE_ALL,
        KERNEL_COMMAND_LINE_NONE,
} KernelCommandLine;

typedef struct System {
        Section section;
        Amount keep_free;           /* BYTES or PERCENT (of MemTotal); UNSET: 5%, at least 512M */
        uint64_t default_page_size; /* bytes; 0: unset */
        char *shared_memory_group;  /* name or number; NULL: unset */
        Tristate optimize_vmemmap;
        Tristate defrag_mode;
        bool compact; /* default true */
        bool drop_caches;
        uint64_t timeout_usec; /* default 30 s */
        KernelCommandLine kernel_command_line;
        bool initrd; /* default true */
} System;

typedef enum ConfigFileState {
        CONFIG_FILE_READ,
        CONFIG_FILE_MASKED,   /* empty, or a link to /dev/null */
        CONFIG_FILE_REPLACED, /* one of the same name in a higher directory stands for it */
        CONFIG_FILE_FAILED,   /* could not be read: a diagnostic says why */
} ConfigFileState;

typedef struct ConfigFile {
        char *path; /* without the root prefix */
        ConfigFileState state;
        const char *replaced_by; /* REPLACED: the other file's path; else NULL */
} ConfigFile;

typedef struct Config {
        ConfigFile *files; /* in reading order; what is replaced stands before what replaces it. The Sources
                            * point to their paths */
        size_t n_files;
        bool faulty; /* a drop-in has an error: what is missing here may only be misspelt, and is not taken
                        away */
        size_t unknown;      /* sections and keys of no known name that may have cost a pool or a kernel
                                setting; those of [Mount] and [Service] are only warned about */
        char *unknown_first; /* "file:line: message" of the first; NULL for none */
        void *index; /* tsearch(3) tree of all named sections; NULL in a Config that was put together by hand
                      */

        /* In reading order of their first headers. Dropped sections stay in the lists. */
        Pool **pools;
        size_t n_pools;
        Mount **mounts;
        size_t n_mounts;
        Service **services;
        size_t n_services;
        ThpSize **thp_sizes;
        size_t n_thp_sizes;

        Thp thp;
        Khugepaged khugepaged;
        System system;
} Config;

/* The directories, highest priority first; NULL-terminated. */
extern const char *const config_directories[];

/* Reads and merges all drop-ins below root (NULL: the real system). What is wrong with them goes to d, never
 * to the return value: 0 with whatever could be used, or -ENOMEM. An unreadable directory or file is a
 * diagnostic as well. */
int config_load(const char *root, Config **ret, Diagnostics *d);

/* The same, as if each of the files (paths of the real file system, not below root) had been copied to
 * /etc/hugepages.d under its base name (".conf" is added where it is missing, as for a temporary file).
 * Their diagnostics name the paths given. */
int config_load_with(const char *root, char *const *files, Config **ret, Diagnostics *d);

/* Whether at least one unmasked, non-empty drop-in exists, without parsing any: what decides if the
 * generator pulls in the service. Unreadable ones count (they must be reported). */
bool config_exists(const char *root);

void config_free(Config *c);
DEFINE_CLEANUP(Config, config_free)

/* NULL where there is none of that name. May return dropped ones. */
Pool *config_find_pool(const Config *c, const char *name) _pure_;
Mount *config_find_mount(const Config *c, const char *name) _pure_;

/* Where key ("PageSize") of the section, or the other key of its slot, was last assigned; the section's
 * header where it never was. */
Source section_key_source(const Section *s, const char *key);

/* 1 to 32 of A-Za-z0-9_.- not starting with . or - */
bool pool_name_is_valid(const char *name) _pure_;
