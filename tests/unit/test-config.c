/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of the drop-in language: what is wrong is told exactly, and what can be used survives. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those above first. */
#include <cmocka.h>

#include <inttypes.h>
#include <time.h>

#include "basic/format.h"
#include "config/config.h"
#include "config/keys.h"
#include "config/text.h"
#include "temp-root.h"

typedef struct Text {
        char *data;
        size_t size;
        FILE *stream;
} Text;

static FILE *text_open(Text *t) {
        t->stream = open_memstream(&t->data, &t->size);
        assert_non_null(t->stream);
        return t->stream;
}

static void dump_amount(FILE *f, const char *key, const Amount *a) {
        static const char *const words[] = {
                [AMOUNT_REST] = "rest",
                [AMOUNT_INFINITY] = "infinity",
                [AMOUNT_WHOLE_POOL] = "pool",
        };

        if (a->type == AMOUNT_UNSET)
                return;
        fprintf(f, " %s=", key);
        if (a->type == AMOUNT_BYTES)
                fputs(FORMAT_SIZE_EXACT(a->value), f);
        else if (a->type == AMOUNT_PAGES)
                fprintf(f, "%" PRIu64 "p", a->value);
        else if (a->type == AMOUNT_PERCENT)
                fprintf(f, "%" PRIu64 "/10000", a->value);
        else if (a->n_nodes == 0)
                fputs(words[a->type], f);
        for (size_t i = 0; i < a->n_nodes; i++)
                fprintf(f, "%s%u-%u:%s%s", i > 0 ? "," : "", a->nodes[i].first, a->nodes[i].last,
                        a->type == AMOUNT_NODES_PAGES ? "p" : "", FORMAT_SIZE_EXACT(a->nodes[i].value));
}

static void dump_nodes(FILE *f, const Nodes *n) {
        if (n->type == NODES_PCI)
                fprintf(f, " Nodes=pci:%s", n->pci);
        for (size_t i = 0; i < n->n_ranges; i++)
                fprintf(f, "%s%u-%u", i > 0 ? "," : " Nodes=", n->ranges[i].first, n->ranges[i].last);
}

static void dump_bytes(FILE *f, const char *key, uint64_t bytes) {
        if (bytes > 0)
                fprintf(f, " %s=%s", key, FORMAT_SIZE_EXACT(bytes));
}

static void dump_string(FILE *f, const char *key, const char *s, const char *usual) {
        if (s && !streq_ptr(s, usual))
                fprintf(f, " %s=%s", key, s);
}

static void dump_tristate(FILE *f, const char *key, Tristate t) {
        if (t != TRISTATE_UNSET)
                fprintf(f, " %s=%s", key, t == TRISTATE_YES ? "yes" : "no");
}

static void dump_optional(FILE *f, const char *key, OptionalU64 v) {
        if (v.set)
                fprintf(f, " %s=%" PRIu64, key, v.value);
}

/* False where its values are not to be used. */
static bool dump_header(FILE *f, const Section *s) {
        fprintf(f, "[%s %s]%s", section_table[s->type].name, s->name, s->dropped ? " dropped\n" : "");
        return !s->dropped;
}

static void dump_pool(FILE *f, const Pool *p) {
        if (!dump_header(f, &p->section))
                return;
        dump_bytes(f, "PageSize", p->page_size);
        dump_amount(f, "Size", &p->size);
        dump_amount(f, "Headroom", &p->headroom);
        dump_nodes(f, &p->nodes);
        dump_amount(f, "Overcommit", &p->overcommit);
        fprintf(f, "%s\n", p->essential ? " Essential" : "");
}

static void dump_mount(FILE *f, const Mount *m) {
        if (!dump_header(f, &m->section))
                return;
        dump_string(f, "Where", m->where, NULL);
        dump_string(f, "Pool", m->pool, NULL);
        dump_bytes(f, "PageSize", m->page_size);
        dump_amount(f, "Size", &m->size);
        dump_amount(f, "Reserve", &m->reserve);
        if (m->max_files > 0)
                fprintf(f, " MaxFiles=%" PRIu64, m->max_files);
        dump_string(f, "User", m->user, "root");
        dump_string(f, "Group", m->group, "root");
        if (m->mode != 0755)
                fprintf(f, " Mode=%04o", m->mode);
        fputc('\n', f);
}

static void dump_service(FILE *f, const Service *s) {
        if (!dump_header(f, &s->section))
                return;
        fprintf(f, " %s", s->unit);
        for (char **word = s->pools; word && *word; word++)
                fprintf(f, "%s%s", word == s->pools ? " Pool=" : ",", *word);
        for (char **word = s->mounts; word && *word; word++)
                fprintf(f, "%s%s", word == s->mounts ? " Mount=" : ",", *word);
        dump_string(f, "LimitMEMLOCK", s->limit_memlock, NULL);
        for (size_t i = 0; i < s->n_hugetlb_max; i++)
                fprintf(f, "%s%s:%s",
                        i > 0 ? "," : " HugetlbMax=", FORMAT_SIZE_EXACT(s->hugetlb_max[i].page_size),
                        s->hugetlb_max[i].max == UINT64_MAX ? "max"
                                                            : FORMAT_SIZE_EXACT(s->hugetlb_max[i].max));
        fprintf(f, "%s%s%s\n", s->require ? " Require" : "", s->broken ? " broken" : "",
                s->bind_mounts ? " BindMounts" : "");
}

static void dump_khugepaged(FILE *f, const Khugepaged *k) {
        if (!k->section.source.file)
                return;
        fputs("[Khugepaged]", f);
        dump_tristate(f, "Defrag", k->defrag);
        dump_optional(f, "PagesToScan", k->pages_to_scan);
        dump_optional(f, "ScanSleep", k->scan_sleep_usec);
        dump_optional(f, "AllocSleep", k->alloc_sleep_usec);
        dump_optional(f, "MaxPtesNone", k->max_ptes_none);
        dump_optional(f, "MaxPtesSwap", k->max_ptes_swap);
        dump_optional(f, "MaxPtesShared", k->max_ptes_shared);
        fputc('\n', f);
}

static void dump_system(FILE *f, const System *s) {
        if (!s->section.source.file)
                return;
        fputs("[System]", f);
        dump_amount(f, "KeepFree", &s->keep_free);
        dump_bytes(f, "DefaultPageSize", s->default_page_size);
        dump_string(f, "SharedMemoryGroup", s->shared_memory_group, NULL);
        dump_tristate(f, "OptimizeVmemmap", s->optimize_vmemmap);
        dump_tristate(f, "DefragMode", s->defrag_mode);
        fprintf(f, "%s%s", s->compact ? "" : " Compact=no", s->drop_caches ? " DropCaches" : "");
        if (s->timeout_usec != 30000000)
                fprintf(f, " Timeout=%" PRIu64, s->timeout_usec);
        fprintf(f, "%s\n",
                s->kernel_command_line == KERNEL_COMMAND_LINE_ALL    ? " KernelCommandLine=all"
                : s->kernel_command_line == KERNEL_COMMAND_LINE_NONE ? " KernelCommandLine=none"
                                                                     : "");
}

/* A line for each section, with what is not at its default. */
static void dump_config(FILE *f, const Config *c) {
        for (size_t i = 0; i < c->n_pools; i++)
                dump_pool(f, c->pools[i]);
        for (size_t i = 0; i < c->n_mounts; i++)
                dump_mount(f, c->mounts[i]);
        for (size_t i = 0; i < c->n_services; i++)
                dump_service(f, c->services[i]);
        if (c->thp.section.source.file) {
                fputs("[THP]", f);
                dump_string(f, "Enabled", c->thp.enabled, NULL);
                dump_string(f, "Defrag", c->thp.defrag, NULL);
                dump_string(f, "ShmemEnabled", c->thp.shmem_enabled, NULL);
                dump_tristate(f, "UseZeroPage", c->thp.use_zero_page);
                fputc('\n', f);
        }
        for (size_t i = 0; i < c->n_thp_sizes; i++)
                if (dump_header(f, &c->thp_sizes[i]->section)) {
                        fprintf(f, " %s", FORMAT_SIZE_EXACT(c->thp_sizes[i]->size));
                        dump_string(f, "Enabled", c->thp_sizes[i]->enabled, NULL);
                        dump_string(f, "ShmemEnabled", c->thp_sizes[i]->shmem_enabled, NULL);
                        fputc('\n', f);
                }
        dump_khugepaged(f, &c->khugepaged);
        dump_system(f, &c->system);
}

/* "50-a:3 error: message", without the directory and the suffix that all of them share. */
static void dump_diagnostics(FILE *f, Diagnostics *d) {
        diag_sort(d);
        assert_int_equal(d->n, d->n_errors + d->n_warnings);
        for (size_t i = 0; i < d->n; i++) {
                const char *file = strrchr(d->items[i].file, '/') + 1, *suffix = endswith(file, ".conf");

                fprintf(f, "%.*s:%u %s: %s\n", (int) (suffix ? suffix - file : (ptrdiff_t) strlen(file)),
                        file, d->items[i].line, severity_to_string(d->items[i].severity),
                        d->items[i].message);
        }
}

static void check_root(const char *name, const char *root, const char *diagnostics, const char *sections) {
        Diagnostics d = {};
        Text told = {}, kept = {};
        Config *c;

        assert_int_equal(config_load(root, &c, &d), 0);
        dump_diagnostics(text_open(&told), &d);
        fclose(told.stream);
        dump_config(text_open(&kept), c);
        fclose(kept.stream);
        if (!streq(told.data, diagnostics) || !streq(kept.data, sections))
                fail_msg("%s:\n--- told\n%s--- expected\n%s--- kept\n%s--- expected\n%s", name, told.data,
                         diagnostics, kept.data, sections);
        free(told.data);
        free(kept.data);
        config_free(c);
        diag_done(&d);
}

/* One drop-in, /etc/hugepages.d/a.conf. */
static void check_bytes(const char *text, size_t size, const char *diagnostics, const char *sections) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write_bytes(root, "/etc/hugepages.d/a.conf", text, size);
        check_root(text, root, diagnostics, sections);
}

static void check(const char *text, const char *diagnostics, const char *sections) {
        check_bytes(text, strlen(text), diagnostics, sections);
}

typedef struct Case {
        const char *text, *diagnostics, *sections;
} Case;

static void check_cases(const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++)
                check(cases[i].text, cases[i].diagnostics, cases[i].sections);
}

#define CHECK_CASES(cases) check_cases(cases, ELEMENTSOF(cases))

static void every_key_is_read(void **state) {
        check("[Pool db]\nPageSize = "
              "2M\nSize=8G\nHeadroom=12.5%\nNodes=0,2-3\nOvercommit=1G\nEssential=yes\n"
              "[Pool nic]\nPageSize=1GiB\nPages=0:1,2-3:4\nOvercommitPages=7\n"
              "[Pool dev]\nSize=25%\nNodes=pci:0000:3B:00.0\n"
              "[Pool node]\nSize=0:4G,1-63:2M\n"
              "[Pool rest]\nSize=rest\nNodes=all\n"
              "[Mount db]\nWhere=/dev/hugepages/db/\nPool=db\nSize=9G\nReserve=pool\nMaxFiles=12\n"
              "User=postgres\nGroup=123\nMode=1770\n"
              "[Mount x]\nWhere=/mnt/x y\nPageSize=1G\nSize=infinity\nReserve=2G\n"
              "[Service postgresql@]\nPool=db nic\nMount=db\tx\nRequire=on\nLimitMEMLOCK=1GiB:infinity\n"
              "HugetlbMax=2M:8G 1G:infinity\nBindMounts=yes\n"
              "[Service long]\nUnit=a-very-long-name.service\nLimitMEMLOCK=1.5G\n"
              "[THP]\nEnabled=madvise\nDefrag=defer+madvise\nShmemEnabled=within_size\nUseZeroPage=no\n"
              "[THP 64K]\nEnabled=inherit\nShmemEnabled=advise\n"
              "[Khugepaged]\nDefrag=no\nPagesToScan=4096\nScanSleepSec=10\nAllocSleepSec=500ms\nMaxPtesNone="
              "0\n"
              "MaxPtesSwap=64\nMaxPtesShared=256\n"
              "[System]\nKeepFree=10%\nSharedMemoryGroup=oracle\nOptimizeVmemmap=yes\nDefragMode=no\n"
              "Compact=no\nDropCaches=yes\n"
              "TimeoutSec=1min\nKernelCommandLine=all\n",
              "",
              "[Pool db] PageSize=2M Size=8G Headroom=1250/10000 Nodes=0-0,2-3 Overcommit=1G Essential\n"
              "[Pool nic] PageSize=1G Size=0-0:p1,2-3:p4 Overcommit=7p\n"
              "[Pool dev] Size=2500/10000 Nodes=pci:0000:3b:00.0\n"
              "[Pool node] Size=0-0:4G,1-63:2M\n"
              "[Pool rest] Size=rest\n"
              "[Mount db] Where=/dev/hugepages/db Pool=db Size=9G Reserve=pool MaxFiles=12 User=postgres "
              "Group=123 "
              "Mode=1770\n"
              "[Mount x] Where=/mnt/x y PageSize=1G Size=infinity Reserve=2G\n"
              "[Service postgresql@] postgresql@.service Pool=db,nic Mount=db,x LimitMEMLOCK=1G:infinity "
              "HugetlbMax=2M:8G,1G:max Require BindMounts\n"
              "[Service long] a-very-long-name.service LimitMEMLOCK=1536M\n"
              "[THP] Enabled=madvise Defrag=defer+madvise ShmemEnabled=within_size UseZeroPage=no\n"
              "[THP 64K] 64K Enabled=inherit ShmemEnabled=advise\n"
              "[Khugepaged] Defrag=no PagesToScan=4096 ScanSleep=10000000 AllocSleep=500000 MaxPtesNone=0 "
              "MaxPtesSwap=64 MaxPtesShared=256\n"
              "[System] KeepFree=1000/10000 SharedMemoryGroup=oracle OptimizeVmemmap=yes DefragMode=no "
              "Compact=no DropCaches "
              "Timeout=60000000 KernelCommandLine=all\n");
}

static void syntax_that_is_fine(void **state) {
        static const Case cases[] = {
                { "# comment\n; comment\n  # indented comment\n\n \t\n[Pool a]\n#Size=1G\nSize=2G # no "
                  "comment\n",
                  "a:8 error: Size=2G # no comment: not a size (expected bytes, K, M, G, T, or a "
                  "percentage; a comment needs a line of its own)\n",
                  "[Pool a] dropped\n" },
                { "\xef\xbb\xbf[Pool a]\r\nSize = 2G\r\n", "", "[Pool a] Size=2G\n" },
                { "[Pool a]\nSize=2G", "", "[Pool a] Size=2G\n" },
                { "[Pool a] \t\n  \nSize=2G \t\n", "", "[Pool a] Size=2G\n" },
                { "[Pool \t a]\nSize=2G\n", "", "[Pool a] Size=2G\n" },
                { "[THP]\n", "", "[THP]\n" },
                { "[X-Any]\nthis is = ours : not yours\n[Pool a]\nX-Note=free\nSize=1G\n", "",
                  "[Pool a] Size=1G\n" },
                { "[Mount a]\nWhere=/mnt/a;b\n", "", "[Mount a] Where=/mnt/a;b\n" },
        };

        CHECK_CASES(cases);
}

static void long_comment_is_no_setting(void **state) {
        Text t = {};
        FILE *f = text_open(&t);

        /* inih would read what is behind its first 199 bytes as a line. */
        fprintf(f, "[Pool a]\nSize=1G\n#%0198dSize=8T\n", 0);
        fclose(f);
        check(t.data, "", "[Pool a] Size=1G\n");
        free(t.data);
}

static void line_is_limited_to_what_inih_takes(void **state) {
        Text fits = {}, exceeds = {}, told = {};
        FILE *f = text_open(&fits);

        fprintf(f, "[Pool a]\nSize=%0192dG\nPageSize=2M\n", 3); /* 198 bytes */
        fclose(f);
        check(fits.data, "", "[Pool a] PageSize=2M Size=3G\n");

        f = text_open(&exceeds);
        fprintf(f, "[Pool a]\nSize=%0193dG\nPageSize=2M\n", 3);
        fclose(f);
        f = text_open(&told);
        fprintf(f, "a:2 error: Size=%059d…: line too long (expected at most 198 bytes)\n", 0);
        fclose(f);
        check(exceeds.data, told.data, "[Pool a] dropped\n");
        free(fits.data);
        free(exceeds.data);
        free(told.data);
}

static void what_inih_would_misread_is_refused(void **state) {
        static const Case cases[] = {
                { "[Pool a]\nSize=1G\n PageSize=2M\n",
                  "a:3 error:  PageSize=2M: indented line (expected it to begin in the first column)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G\n\tPageSize=2M\n",
                  "a:3 error: \\x09PageSize=2M: indented line (expected it to begin in the first column)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G ;x\n",
                  "a:2 error: Size=1G ;x: \" ;\" within the line (expected a comment in a line of its "
                  "own)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G\t;x\n",
                  "a:2 error: Size=1G\\x09;x: \" ;\" within the line (expected a comment in a line of its "
                  "own)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize:1G\n", "a:2 error: Size:1G: not an assignment (expected KEY=VALUE)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize:x=1G\n", "a:2 error: Size:x=1G: not an assignment (expected KEY=VALUE)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize\n", "a:2 error: Size: not an assignment (expected KEY=VALUE)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G\n=1G\n", "a:3 error: =1G: no key (expected KEY=VALUE)\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\nSize=1G\\\n",
                  "a:2 error: Size=1G\\: line ends in a backslash (expected the whole value in one line: "
                  "there are no "
                  "continuation lines)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G\x01\n",
                  "a:2 error: Size=1G\\x01: control character in the line (expected text)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1\rG\n",
                  "a:2 error: Size=1\\x0dG: control character in the line (expected text)\n",
                  "[Pool a] dropped\n" },
                { "Size=1G\n[Pool a]\nSize=2G\n",
                  "a:1 error: Size=1G: text outside of a section (expected a header such as [Pool NAME] "
                  "first)\n",
                  "[Pool a] Size=2G\n" },
        };

        CHECK_CASES(cases);
}

static void nul_bytes_are_refused(void **state) {
        static const char line[] = "[Pool a]\nSize=1G\0\nPageSize=2M\n", header[] = "[Pool a\0]\nSize=1G\n",
                          comment[] = "#\0\n[Pool a]\nSize=1G\n", start[] = "[Pool a]\nSize=1G\n\0Size=2G\n";

        check_bytes(line, sizeof(line) - 1, "a:2 error: Size=1G: NUL byte in the line (expected text)\n",
                    "[Pool a] dropped\n");
        check_bytes(header, sizeof(header) - 1,
                    "a:1 error: [Pool a: NUL byte in the line (expected text)\n"
                    "a:2 error: Size=1G: refused (expected a valid header before it; the one in line 1 is "
                    "not)\n",
                    "");
        check_bytes(comment, sizeof(comment) - 1, "a:1 error: #: NUL byte in a comment (expected text)\n",
                    "[Pool a] Size=1G\n");
        check_bytes(start, sizeof(start) - 1, "a:3 error: NUL byte in the line (expected text)\n",
                    "[Pool a] Size=1G\n");
}

static void after_a_bad_header_all_is_refused_up_to_the_next(void **state) {
        static const struct {
                const char *header, *fault;
        } cases[] = {
                { "[Pool b", "header without \"]\" (expected [SECTION] or [SECTION NAME])" },
                { "[Pool b] x", "text after \"]\" (expected nothing behind a header, not even a comment)" },
                { "[Pool b] ;x", "text after \"]\" (expected nothing behind a header, not even a comment)" },
                { "[Pool b]]", "text after \"]\" (expected nothing behind a header, not even a comment)" },
                { "[]", "malformed header (expected [SECTION] or [SECTION NAME])" },
                { "[ Pool b]", "malformed header (expected [SECTION] or [SECTION NAME])" },
                { "[Pool b ]", "malformed header (expected [SECTION] or [SECTION NAME])" },
                { " [Pool b]", "indented line (expected it to begin in the first column)" },
                { "[Service a123456789b123456789c123456789d123456789e1]",
                  "section header too long (expected at most 49 bytes; a long unit name goes into Unit=)" },
                { "[Pool]", "no name (expected [SECTION NAME])" },
                { "[Mount]", "no name (expected [SECTION NAME])" },
                { "[Service]", "no name (expected [SECTION NAME])" },
                { "[Pool b c]",
                  "not a valid name (expected 1 to 32 of A-Z a-z 0-9 _ . -, not starting with . or -)" },
                { "[Pool .b]",
                  "not a valid name (expected 1 to 32 of A-Z a-z 0-9 _ . -, not starting with . or -)" },
                { "[Mount -b]",
                  "not a valid name (expected 1 to 32 of A-Z a-z 0-9 _ . -, not starting with . or -)" },
                { "[Pool a123456789b123456789c123456789d12]",
                  "not a valid name (expected 1 to 32 of A-Z a-z 0-9 _ . -, not starting with . or -)" },
                { "[Service a/b]", "not a unit name (expected letters, digits, or : - _ . \\ @)" },
                { "[THP 3M]", "not a page size (expected one such as 64K or 2M)" },
                { "[THP 64k]",
                  "not a page size (expected one such as 64K or 2M) (did you mean [THP 64K]?)" },
                { "[THP 64kB]",
                  "not a page size (expected one such as 64K or 2M) (did you mean [THP 64K]?)" },
                { "[THP 3MB]", "not a page size (expected one such as 64K or 2M)" },
                { "[System x]", "a name where none is taken (expected the section's word alone)" },
                { "[Khugepaged x]", "a name where none is taken (expected the section's word alone)" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text = NULL, *told = NULL;

                assert_true(
                        asprintf(&text,
                                 "[Pool a]\nSize=1G\n%s\n# comment\nSize=2G\nany text\n[Pool c]\nSize=3G\n",
                                 cases[i].header) > 0);
                assert_true(asprintf(&told,
                                     "a:3 error: %s: %s\n"
                                     "a:5 error: Size=2G: refused (expected a valid header before it; the "
                                     "one in line "
                                     "3 is not)\n"
                                     "a:6 error: any text: refused (expected a valid header before it; the "
                                     "one in line "
                                     "3 is not)\n",
                                     cases[i].header, cases[i].fault) > 0);
                check(text, told, "[Pool a] Size=1G\n[Pool c] Size=3G\n");
        }
}

static void unknown_is_a_warning_with_a_suggestion(void **state) {
        static const Case cases[] = {
                { "[Pol a]\nSize=1G\nany text\n[System]\n",
                  "a:1 warning: [Pol a]: unknown section, ignored (did you mean [Pool]?)\n", "[System]\n" },
                { "[pool a]\nSize=1G\n",
                  "a:1 warning: [pool a]: unknown section, ignored (did you mean [Pool]?)\n", "" },
                { "[Install]\nWantedBy=x\n", "a:1 warning: [Install]: unknown section, ignored\n", "" },
                { "[Pool a]\nSize=1G\nPagesize=2M\n",
                  "a:3 warning: Pagesize=2M: unknown key of [Pool], ignored (did you mean PageSize=?)\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\nSize=1G\nHeadrom=2M\n",
                  "a:3 warning: Headrom=2M: unknown key of [Pool], ignored (did you mean Headroom=?)\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\nSize=1G\nUser=x\n",
                  "a:3 warning: User=x: unknown key of [Pool], ignored (a key of [Mount])\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\nSize=1G\nPage Size=\xff\n",
                  "a:3 warning: Page Size=\\xff: unknown key of [Pool], ignored (did you mean PageSize=?)\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\nSize=1G\nColour=blue\n",
                  "a:3 warning: Colour=blue: unknown key of [Pool], ignored\n", "[Pool a] Size=1G\n" },
        };
        static const struct {
                const char *name, *meant;
        } aliases[] = {
                { "Node", "Nodes" },      { "NumaNode", "Nodes" }, { "NUMANodes", "Nodes" },
                { "NrPages", "Pages" },   { "Count", "Pages" },    { "nr_hugepages", "Pages" },
                { "HugePages", "Pages" },
        };
        char buffer[64];

        CHECK_CASES(cases);
        assert_string_equal(suggest_key(SECTION_MOUNT, "Nodes", buffer, sizeof(buffer)),
                            " (a key of [Pool])");
        assert_string_equal(suggest_key(SECTION_POOL, "Pgaes", buffer, sizeof(buffer)),
                            " (did you mean Pages=?)");
        for (size_t i = 0; i < ELEMENTSOF(aliases); i++) {
                char expected[64];

                snprintf(expected, sizeof(expected), " (did you mean %s=?)", aliases[i].meant);
                assert_string_equal(suggest_key(SECTION_POOL, aliases[i].name, buffer, sizeof(buffer)),
                                    expected);
        }
        assert_string_equal(suggest_key(SECTION_MOUNT, "Count", buffer, sizeof(buffer)), "");
        assert_string_equal(suggest_key(SECTION_POOL, "Ab", buffer, sizeof(buffer)), "");
        assert_string_equal(suggest_key(SECTION_POOL, "", buffer, sizeof(buffer)), "");
        assert_string_equal(suggest_section("thp", buffer, sizeof(buffer)), " (did you mean [THP]?)");
}

static void bad_value_has_a_suggestion(void **state) {
        static const struct {
                SectionType type;
                const char *key, *value, *meant; /* NULL: nothing */
        } cases[] = {
                { SECTION_POOL, "PageSize", "1GB", "1G" },
                { SECTION_POOL, "PageSize", "2mb", "2M" },
                { SECTION_POOL, "PageSize", "1 G", "1G" },
                { SECTION_POOL, "PageSize", "2048kB", "2048K" },
                { SECTION_POOL, "PageSize", "3GB", NULL },
                { SECTION_POOL, "PageSize", "huge", NULL },
                { SECTION_POOL, "Size", "8GB", "8G" },
                { SECTION_POOL, "Size", "8 GiB", "8G" },
                { SECTION_POOL, "Size", "25 %", "25%" },
                { SECTION_POOL, "Size", "0:4GB, 1:12gb", "0:4G,1:12G" },
                { SECTION_POOL, "Size", "Rest", "rest" },
                { SECTION_POOL, "Size", "rset", "rest" },
                { SECTION_POOL, "Size", "infinity", NULL },
                { SECTION_POOL, "Size", "8Q", NULL },
                { SECTION_POOL, "Pages", "1K", NULL },
                { SECTION_POOL, "Nodes", "All", "all" },
                { SECTION_POOL, "Nodes", "0, 1", "0,1" },
                { SECTION_POOL, "Essential", "ye", "yes" },
                { SECTION_POOL, "Essential", "ture", "true" },
                { SECTION_POOL, "Essential", "flase", "false" },
                { SECTION_POOL, "Essential", "n0", "no" },
                { SECTION_POOL, "Essential", "o", NULL },
                { SECTION_POOL, "Essential", "of", NULL },
                { SECTION_POOL, "Essential", "2", NULL },
                { SECTION_POOL, "Essential", "maybe", NULL },
                { SECTION_MOUNT, "Size", "infinty", "infinity" },
                { SECTION_MOUNT, "Size", "rest", NULL },
                { SECTION_MOUNT, "Size", "5%", NULL },
                { SECTION_MOUNT, "Reserve", "pol", "pool" },
                { SECTION_MOUNT, "Reserve", "1gb", "1G" },
                { SECTION_MOUNT, "Pool", "po ol", NULL },
                { SECTION_MOUNT, "User", "on!", NULL },
                { SECTION_SERVICE, "Require", "yse", "yes" },
                { SECTION_SERVICE, "HugetlbMax", "2MB:8GB 1gb:infinity", "2M:8G 1G:infinity" },
                { SECTION_SERVICE, "LimitMEMLOCK", "8GB", "8G" },
                { SECTION_SERVICE, "Pool", "a/b", NULL },
                { SECTION_THP, "Enabled", "madvice", "madvise" },
                { SECTION_THP, "Enabled", "Always", "always" },
                { SECTION_THP, "Enabled", "yes", NULL },
                { SECTION_THP, "Enabled", "defer", NULL },
                { SECTION_THP, "Defrag", "defer-madvise", "defer+madvise" },
                { SECTION_THP, "Defrag", "defered", "defer" },
                { SECTION_THP, "ShmemEnabled", "within-size", "within_size" },
                { SECTION_THP, "ShmemEnabled", "madvise", "advise" },
                { SECTION_THP, "UseZeroPage", "yess", "yes" },
                { SECTION_THP_SIZE, "Enabled", "inherited", "inherit" },
                { SECTION_KHUGEPAGED, "Defrag", "onn", "on" },
                { SECTION_KHUGEPAGED, "PagesToScan", "0", NULL },
                { SECTION_SYSTEM, "KeepFree", "2GB", "2G" },
                { SECTION_SYSTEM, "DefaultPageSize", "1gib", "1G" },
                { SECTION_SYSTEM, "KernelCommandLine", "gigantc", "gigantic" },
                { SECTION_SYSTEM, "TimeoutSec", "soon", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const KeyInfo *key = section_find_key(cases[i].type, cases[i].key);
                char buffer[96], expected[96] = "";

                assert_non_null(key);
                if (cases[i].meant)
                        snprintf(expected, sizeof(expected), "; did you mean %s?", cases[i].meant);
                if (!streq(suggest_value(key, cases[i].value, buffer, sizeof(buffer)), expected))
                        fail_msg("%s=%s: \"%s\"", cases[i].key, cases[i].value, buffer);
        }
}

static void bad_value_tells_what_the_line_should_be(void **state) {
        static const struct {
                SectionType type;
                const char *key, *value, *told;
        } cases[] = {
                { SECTION_POOL, "Pages", "4 Nodes=0",
                  "; one key a line: did you mean Nodes=0 in a line of its own?" },
                { SECTION_POOL, "PageSize", "1G\tPages=0:4,1:4",
                  "; one key a line: did you mean Pages=0:4,1:4 in a line of its own?" },
                { SECTION_POOL, "Pages", "4 Colour=0", "" },
                { SECTION_POOL, "Pages", "4 Nodes=\xff", "" },
                { SECTION_POOL, "Pages", "4 Nodes=012345678901234567890123456789", "" },
                { SECTION_POOL, "Pages", "4 # four", "; a comment needs a line of its own" },
                { SECTION_POOL, "Essential", "yes\t #it is", "; a comment needs a line of its own" },
                { SECTION_POOL, "Pages", "four # 4", "" },
                { SECTION_POOL, "Pages", " # four", "" },
                { SECTION_POOL, "Pages", "4G", "; did you mean Size=4G?" },
                { SECTION_POOL, "Pages", "4GB", "; did you mean Size=4G?" },
                { SECTION_POOL, "Pages", "0:4G,1:12G", "; did you mean Size=0:4G,1:12G?" },
                { SECTION_POOL, "Pages", "25%", "; did you mean Size=25%?" },
                { SECTION_POOL, "Pages", "4K", "" },
                { SECTION_POOL, "OvercommitPages", "1G", "; did you mean Overcommit=1G?" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char buffer[128];

                assert_string_equal(suggest_value(section_find_key(cases[i].type, cases[i].key),
                                                  cases[i].value, buffer, sizeof(buffer)),
                                    cases[i].told);
        }
}

static void assert_unknown(const char *text, size_t n, const char *first) {
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_(config_freep) Config *c = NULL;
        Diagnostics d = {};

        temp_root_write(root, "/etc/hugepages.d/a.conf", text);
        assert_int_equal(config_load(root, &c, &d), 0);
        assert_int_equal(c->unknown, n);
        if (first)
                assert_string_equal(c->unknown_first, first);
        else
                assert_null(c->unknown_first);
        diag_done(&d);
}

static void unknown_that_may_cost_a_pool_is_counted(void **state) {
        assert_unknown("[Pool a]\nX-Size=1G\nSize=1GQ\n[X-Any]\nSize=1G\n", 0, NULL);
        assert_unknown("[Mount m]\nColour=blue\n[Service s]\nColour=blue\n", 0, NULL);
        assert_unknown(
                "[System]\nKeepFee=1G\n[Pol a]\nPages=1\n[THP]\nEnabeld=never\n", 3,
                "/etc/hugepages.d/a.conf:2: KeepFee=1G: unknown key of [System], ignored (did you mean "
                "KeepFree=?)");
        assert_unknown(
                "[Pol a]\nPages=1\n", 1,
                "/etc/hugepages.d/a.conf:1: [Pol a]: unknown section, ignored (did you mean [Pool]?)");
}

/* The value of KEY in [SECTION x], with what goes before it. */
typedef struct ValueCase {
        const char *section, *assignment, *fault;
} ValueCase;

#define SIZE_OR_PERCENT " (expected bytes, K, M, G, T, or a percentage)"
#define PAGE_SIZE " (expected a power of two such as 2M or 1G)"
#define PAGES " (expected a number, or numbers per node such as 0:1024,1:512)"
#define NODES " (expected all, a list such as 0,2-3, or a device such as pci:0000:3b:00.0)"
#define WHERE                                                                                               \
        " (expected an absolute, normalized path of a directory of its own, such as /dev/hugepages/NAME)"
#define UNIT " (expected the name of a service that is not part of the early boot)"

static const ValueCase bad_values[] = {
        { "Pool a", "Size=8Q", "not a size" SIZE_OR_PERCENT },
        { "Pool a", "Size=8GB",
          "not a size (expected bytes, K, M, G, T, or a percentage; did you mean 8G?)" },
        { "Pool a", "Size=-1G", "negative" SIZE_OR_PERCENT },
        { "Pool a", "Size=99999999999999T", "too large" SIZE_OR_PERCENT },
        { "Pool a", "Size=12.345%", "not a percentage" SIZE_OR_PERCENT },
        { "Pool a", "Size=infinity", "not a size" SIZE_OR_PERCENT },
        { "Pool a", "Size=\"8G\"", "not a size" SIZE_OR_PERCENT },
        { "Pool a", "Size=0:4G,0:1G", "names a node twice" SIZE_OR_PERCENT },
        { "Pool a", "Size=0-3:4G,2:1G", "names a node twice" SIZE_OR_PERCENT },
        { "Pool a", "Size=0:4G,", "not a list of NODE:AMOUNT with nodes up to 1023" SIZE_OR_PERCENT },
        { "Pool a", "Size=0:4G,1", "not a list of NODE:AMOUNT with nodes up to 1023" SIZE_OR_PERCENT },
        { "Pool a", "Size=1024:4G", "not a list of NODE:AMOUNT with nodes up to 1023" SIZE_OR_PERCENT },
        { "Pool a", "Size=0:25%", "not a size" SIZE_OR_PERCENT },
        { "Pool a", "Size=0:-1", "negative" SIZE_OR_PERCENT },
        { "Pool a", "Size=0:", "not a size" SIZE_OR_PERCENT },
        { "Pool a", "Pages=1K", "not a number of pages" PAGES },
        { "Pool a", "Pages=-5", "negative" PAGES },
        { "Pool a", "Pages=0:1,0:2", "names a node twice" PAGES },
        { "Pool a", "Pages=0:x", "not a number of pages" PAGES },
        { "Pool a", "PageSize=3M", "not a page size" PAGE_SIZE },
        { "Pool a", "PageSize=2", "not a page size" PAGE_SIZE },
        { "Pool a", "PageSize=huge", "not a page size" PAGE_SIZE },
        { "Pool a", "Headroom=x", "not a size" SIZE_OR_PERCENT },
        { "Pool a", "Nodes=eth0", "not a list of nodes up to 1023" NODES },
        { "Pool a", "Nodes=3-2", "not a list of nodes up to 1023" NODES },
        { "Pool a", "Nodes=0,", "not a list of nodes up to 1023" NODES },
        { "Pool a", "Nodes=1024", "not a list of nodes up to 1023" NODES },
        { "Pool a", "Nodes=pci:3b:00.0", "not a PCI address" NODES },
        { "Pool a", "Nodes=pci:0000:3b:00.8", "not a PCI address" NODES },
        { "Pool a", "Nodes=pci:0000:3b:00.0x", "not a PCI address" NODES },
        { "Pool a", "Overcommit=5%", "not a size (expected bytes, K, M, G, T)" },
        { "Pool a", "OvercommitPages=5G",
          "not a number of pages (expected a number; did you mean Overcommit=5G?)" },
        { "Pool a", "Essential=maybe", "not a boolean (expected yes or no)" },
        { "Mount a", "Where=dev/x", "not an absolute path" WHERE },
        { "Mount a", "Where=\"/mnt/x\"", "not an absolute path" WHERE },
        { "Mount a", "Where=/mnt/\xff", NULL },
        { "Mount a", "Pool=a b", "not a name (expected the name of a [Pool] section)" },
        { "Mount a", "Size=5%",
          "a percentage, which a mount cannot have (expected bytes, K, M, G, T, or infinity)" },
        { "Mount a", "Reserve=5%",
          "a percentage, which a mount cannot have (expected bytes, K, M, G, T, or pool)" },
        { "Mount a", "Reserve=infinity", "not a size (expected bytes, K, M, G, T, or pool)" },
        { "Mount a", "MaxFiles=0", "no files at all (expected a number from 1 on)" },
        { "Mount a", "MaxFiles=9223372036854775808", "too large (expected a number from 1 on)" },
        { "Mount a", "User=a,b", "not a name (expected the name or number of a user)" },
        { "Mount a", "User=uid=0", "not a name (expected the name or number of a user)" },
        { "Mount a", "User=4294967295", "too large (expected the name or number of a user)" },
        { "Mount a", "User=a123456789b123456789c123456789d1",
          "not a name (expected the name or number of a user)" },
        { "Mount a", "Group=-1", "not a name (expected the name or number of a group)" },
        { "Mount a", "Mode=0888", "not a mode (expected an octal number up to 1777)" },
        { "Mount a", "Mode=2750", "not a mode (expected an octal number up to 1777)" },
        { "Mount a", "Mode=u+x", "not a mode (expected an octal number up to 1777)" },
        { "Service a", "Unit=a.socket", "not a service" UNIT },
        { "Service a", "Unit=a b.service", "not a unit name" UNIT },
        { "Service a", "Unit=.service", "not a unit name" UNIT },
        { "Service a", "Unit=@.service", "not a unit name" UNIT },
        { "Service a", "Unit=hugepages-setup", "a unit that the pages themselves are waiting for" UNIT },
        { "Service a", "Unit=hugepages-pool@x", "a unit that the pages themselves are waiting for" UNIT },
        { "Service a", "Unit=systemd-udevd", "a unit that the pages themselves are waiting for" UNIT },
        { "Service a", "LimitMEMLOCK=8Q",
          "not a limit (expected bytes, K, M, G, T, infinity, or SOFT:HARD)" },
        { "Service a", "LimitMEMLOCK=2G:1G",
          "a soft limit above the hard one (expected bytes, K, M, G, T, infinity, or SOFT:HARD)" },
        { "Service a",
          "LimitMEMLOCK=1G:", "not a limit (expected bytes, K, M, G, T, infinity, or SOFT:HARD)" },
        { "Service a", "HugetlbMax=8G",
          "not a list of PAGESIZE:SIZE (expected limits such as 2M:8G 1G:infinity)" },
        { "Service a", "HugetlbMax=2M:8G 2M:1G",
          "names a page size twice (expected limits such as 2M:8G 1G:infinity)" },
        { "Service a", "HugetlbMax=3M:8G",
          "not a list of PAGESIZE:SIZE (expected limits such as 2M:8G 1G:infinity)" },
        { "Service a", "BindMounts=x", "not a boolean (expected yes or no)" },
        { "THP", "Enabled=defer", "not a known word (expected always, madvise, or never)" },
        { "THP", "Defrag=defer,madvise",
          "not a known word (expected always, defer, defer+madvise, madvise, or never; did you mean "
          "defer+madvise?)" },
        { "THP", "ShmemEnabled=batch",
          "not a known word (expected always, within_size, advise, never, deny, or force)" },
        { "THP", "UseZeroPage=2", "not a boolean (expected yes or no)" },
        { "THP 2M", "Enabled=defer", "not a known word (expected always, inherit, madvise, or never)" },
        { "THP 2M", "ShmemEnabled=force",
          "not a known word (expected always, inherit, within_size, advise, or never)" },
        { "Khugepaged", "PagesToScan=0", "too small (expected a number from 1 on)" },
        { "Khugepaged", "PagesToScan=4294967296", "too large (expected a number from 1 on)" },
        { "Khugepaged", "ScanSleepSec=soon", "not a time span (expected a time span such as 10s or 500ms)" },
        { "Khugepaged", "ScanSleepSec=4294968s", "too large (expected a time span such as 10s or 500ms)" },
        { "Khugepaged", "MaxPtesNone=-1", "negative (expected a number)" },
        { "System", "KeepFree=rest", "not a size" SIZE_OR_PERCENT },
        { "System", "DefaultPageSize=1", "not a page size" PAGE_SIZE },
        { "System", "SharedMemoryGroup=a:b", "not a name (expected the name or number of a group)" },
        { "System", "Compact=x", "not a boolean (expected yes or no)" },
        { "System", "TimeoutSec=-1", "negative (expected a time span such as 30s or 1min)" },
        { "System", "TimeoutSec=infinity", "not a time span (expected a time span such as 30s or 1min)" },
        { "System", "KernelCommandLine=gigantic all", "not a known word (expected gigantic, all, or none)" },
};

static void every_bad_value_is_told_with_what_was_expected(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(bad_values); i++) {
                const ValueCase *c = &bad_values[i];
                _cleanup_temp_root_ char *root = temp_root_new();
                _cleanup_free_ char *text = NULL, *message = NULL;
                Diagnostics d = {};
                Config *config;

                assert_true(asprintf(&text, "[%s]\n%s\n", c->section, c->assignment) > 0);
                if (c->fault)
                        assert_true(asprintf(&message, "%s: %s", c->assignment, c->fault) > 0);
                else
                        message = strdup("Where=/mnt/\\xff: not a printable path" WHERE);
                temp_root_write(root, "/etc/hugepages.d/a.conf", text);
                assert_int_equal(config_load(root, &config, &d), 0);
                diag_sort(&d);
                assert_true(d.n >= 1);
                if (d.n_errors != 1 || d.items[d.n - 1].line != 2)
                        fail_msg("%s: %zu errors, line %u: %s", c->assignment, d.n_errors,
                                 d.items[d.n - 1].line, d.items[d.n - 1].message);
                assert_int_equal(d.items[d.n - 1].severity, SEVERITY_ERROR);
                assert_string_equal(d.items[d.n - 1].message, message);
                assert_string_equal(d.items[d.n - 1].file, "/etc/hugepages.d/a.conf");
                config_free(config);
                diag_done(&d);
        }
}

static void bad_value_costs_the_least_that_is_safe(void **state) {
        static const Case cases[] = {
                { "[Pool a]\nSize=1G\nNodes=x\n[Pool b]\nSize=2G\n[Mount a]\nWhere=/mnt/a\nMode=9\n"
                  "[Mount b]\nWhere=/mnt/b\n[THP 64K]\nEnabled=x\n[THP 2M]\nEnabled=never\n",
                  "a:3 error: Nodes=x: not a list of nodes up to 1023" NODES "\n"
                  "a:8 error: Mode=9: not a mode (expected an octal number up to 1777)\n"
                  "a:12 error: Enabled=x: not a known word (expected always, inherit, madvise, or never)\n",
                  "[Pool a] dropped\n[Pool b] Size=2G\n[Mount a] dropped\n[Mount b] Where=/mnt/b\n"
                  "[THP 64K] dropped\n[THP 2M] 2M Enabled=never\n" },
                /* a later valid value of the same slot makes it good */
                { "[Pool a]\nSize=1Q\nSize=1G\n", "a:2 error: Size=1Q: not a size" SIZE_OR_PERCENT "\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\nSize=1G\nSize=1Q\n", "a:3 error: Size=1Q: not a size" SIZE_OR_PERCENT "\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G\nNodes=x\nNodes=\n",
                  "a:3 error: Nodes=x: not a list of nodes up to 1023" NODES "\n", "[Pool a] Size=1G\n" },
                /* an earlier valid one stays where only the assignment is lost */
                { "[System]\nKeepFree=1G\nKeepFree=1Q\nTimeoutSec=x\n[THP]\nEnabled=never\nEnabled=x\n"
                  "[Khugepaged]\nPagesToScan=5\nPagesToScan=x\nDefrag=yes\n",
                  "a:3 error: KeepFree=1Q: not a size" SIZE_OR_PERCENT "\n"
                  "a:4 error: TimeoutSec=x: not a time span (expected a time span such as 30s or 1min)\n"
                  "a:7 error: Enabled=x: not a known word (expected always, madvise, or never)\n"
                  "a:10 error: PagesToScan=x: not a number (expected a number from 1 on)\n",
                  "[THP] Enabled=never\n[Khugepaged] Defrag=yes PagesToScan=5\n[System] KeepFree=1G\n" },
                /* a line that inih would misread is a bad value of the key it begins with */
                { "[System]\nKeepFree=1G ;x\nTimeoutSec=1s\n",
                  "a:2 error: KeepFree=1G ;x: \" ;\" within the line (expected a comment in a line of its "
                  "own)\n",
                  "[System] Timeout=1000000\n" },
                { "[Pool a]\nSize=1G\nColour: blue\n",
                  "a:3 error: Colour: blue: not an assignment (expected KEY=VALUE)\n",
                  "[Pool a] Size=1G\n" },
                { "[Pool a]\n Size=1G\nSize=2G\n",
                  "a:2 error:  Size=1G: indented line (expected it to begin in the first column)\n",
                  "[Pool a] Size=2G\n" },
        };

        CHECK_CASES(cases);
}

static void service_fails_closed(void **state) {
        static const Case cases[] = {
                { "[Pool db]\nSize=1G\n[Service a]\nPool=db x/y\nRequire=yes\n",
                  "a:4 error: Pool=db x/y: not a list of names (expected names of [Pool] sections, "
                  "separated by "
                  "blanks)\n",
                  "[Pool db] Size=1G\n[Service a] a.service Pool=db,x/y Require broken\n" },
                { "[Service a]\nRequire=ja\n", "a:2 error: Require=ja: not a boolean (expected yes or no)\n",
                  "[Service a] a.service Require broken\n" },
                { "[Service a]\nRequire:yes\n",
                  "a:2 error: Require:yes: not an assignment (expected KEY=VALUE)\n",
                  "[Service a] a.service Require broken\n" },
                { "[Service a]\nRequire=ja\nRequire=no\n",
                  "a:2 error: Require=ja: not a boolean (expected yes or no)\n", "[Service a] a.service\n" },
                { "[Service a]\nMount=-x\nMount=\n",
                  "a:2 error: Mount=-x: not a list of names (expected names of [Mount] sections, separated "
                  "by "
                  "blanks)\n",
                  "[Service a] a.service\n" },
                { "[Service a]\nHugetlbMax=2M:1G\nHugetlbMax=x\nBindMounts=x\nRequire=yes\n",
                  "a:3 error: HugetlbMax=x: not a list of PAGESIZE:SIZE (expected limits such as 2M:8G "
                  "1G:infinity)\n"
                  "a:4 error: BindMounts=x: not a boolean (expected yes or no)\n"
                  "a:5 warning: [Service a]: Require=yes has no effect (expected Pool= or Mount= beside "
                  "it)\n",
                  "[Service a] a.service HugetlbMax=2M:1G Require\n" },
                { "[Pool db]\nSize=1Q\n[Mount db]\nWhere=/etc\n[Service a]\nPool=db none\nMount=db "
                  "none\nRequire=yes\n",
                  "a:2 error: Size=1Q: not a size" SIZE_OR_PERCENT "\n"
                  "a:4 error: Where=/etc: would hide what the system has there" WHERE "\n"
                  "a:6 error: [Service a]: Pool=db: it was dropped for an error (expected the name of a "
                  "valid [Pool] "
                  "section; the unit will not start, as Require=yes)\n"
                  "a:6 error: [Service a]: Pool=none: there is no such section (expected the name of a "
                  "valid [Pool] "
                  "section; the unit will not start, as Require=yes)\n"
                  "a:7 error: [Service a]: Mount=db: it was dropped for an error (expected the name of a "
                  "valid [Mount] "
                  "section; the unit will not start, as Require=yes)\n"
                  "a:7 error: [Service a]: Mount=none: there is no such section (expected the name of a "
                  "valid [Mount] "
                  "section; the unit will not start, as Require=yes)\n",
                  "[Pool db] dropped\n[Mount db] dropped\n"
                  "[Service a] a.service Pool=db,none Mount=db,none Require\n" },
                { "[Service a]\nPool=none\n",
                  "a:2 warning: [Service a]: Pool=none: there is no such section (expected the name of a "
                  "valid [Pool] "
                  "section)\n",
                  "[Service a] a.service Pool=none\n" },
        };

        CHECK_CASES(cases);
}

static void service_names_a_service(void **state) {
        static const Case cases[] = {
                { "[Service a]\n[Service b@.service]\n[Service c.d]\n[Service e]\nUnit=f@1\n[Service "
                  "a.service]\n"
                  "BindMounts=yes\n",
                  "",
                  "[Service a] a.service BindMounts\n[Service b@.service] b@.service\n[Service c.d] "
                  "c.d.service\n"
                  "[Service e] f@1.service\n" },
                { "[Service a.timer]\n", "a:1 error: [Service a.timer]: not a service" UNIT "\n",
                  "[Service a.timer] dropped\n" },
                { "[Service systemd-journald]\n",
                  "a:1 error: [Service systemd-journald]: a unit that the pages themselves are waiting "
                  "for" UNIT "\n",
                  "[Service systemd-journald] dropped\n" },
                { "[Service a.timer]\nUnit=b\n", "", "[Service a.timer] b.service\n" },
                { "[Service a]\nUnit=b.mount\n", "a:2 error: Unit=b.mount: not a service" UNIT "\n",
                  "[Service a] dropped\n" },
        };

        CHECK_CASES(cases);
}

static void size_and_pages_are_one_slot(void **state) {
        static const Case cases[] = {
                { "[Pool a]\nSize=1G\nPages=4\n",
                  "a:3 error: Pages=4: a second value beside Size= in line 2 (expected one of the two)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nOvercommitPages=4\n[Pool a]\nOvercommit=1G\n",
                  "a:4 error: Overcommit=1G: a second value beside OvercommitPages= in line 2 (expected one "
                  "of the "
                  "two)\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=1G\nPages=\n",
                  "a:1 warning: [Pool a]: nothing to reserve (expected Size=, Pages=, or Overcommit=)\n",
                  "[Pool a]\n" },
                { "[Pool a]\nSize=\nPages=4\n", "", "[Pool a] Size=4p\n" },
                { "[Pool a]\nSize=1G\nPages=\nPages=4\n", "", "[Pool a] Size=4p\n" },
                { "[Pool a]\nSize=1G\nSize=2G\n", "", "[Pool a] Size=2G\n" },
        };
        _cleanup_temp_root_ char *root = temp_root_new();

        CHECK_CASES(cases);
        temp_root_write(root, "/etc/hugepages.d/a.conf",
                        "[Pool a]\nSize=0:1G,1:2G\n[Pool b]\nPages=8\n[Pool c]\nSize=x\n");
        temp_root_write(root, "/etc/hugepages.d/b.conf",
                        "[Pool a]\nPages=4\n[Pool b]\nSize=1G\n[Pool c]\nPages=9\n");
        check_root("across files", root, "a:6 error: Size=x: not a size" SIZE_OR_PERCENT "\n",
                   "[Pool a] Size=4p\n[Pool b] Size=1G\n[Pool c] Size=9p\n");
}

static void empty_assignment_returns_to_the_default(void **state) {
        check("[Pool a]\nSize=1G\nPageSize=2M\nPageSize=\nNodes=1\nNodes=\nEssential=yes\nEssential=\n"
              "Headroom=1M\nHeadroom = \n"
              "[Mount a]\nWhere=/mnt/a\nUser=x\nUser=\nMode=0700\nMode=\nReserve=1G\nReserve=\n"
              "[Service a]\nPool=a "
              "b\nPool=\nHugetlbMax=2M:1G\nHugetlbMax=\nRequire=yes\nRequire=\nUnit=b\nUnit=\n"
              "[System]\nTimeoutSec=1s\nTimeoutSec=\nCompact=no\nCompact=\nKernelCommandLine="
              "all\nKernelCommandLine=\n"
              "[THP]\nEnabled=never\nEnabled=\nUseZeroPage=yes\nUseZeroPage=\n"
              "[Khugepaged]\nPagesToScan=1\nPagesToScan=\n",
              "",
              "[Pool a] Size=1G\n[Mount a] Where=/mnt/a\n[Service a] "
              "a.service\n[THP]\n[Khugepaged]\n[System]\n");
}

static void pools_are_verified_after_merging(void **state) {
        static const Case cases[] = {
                { "[Pool a]\nSize=1G\n[Pool b]\nPageSize=2M\nPages=7\n[System]\nDefaultPageSize=1G\n",
                  "a:1 error: [Pool a]: PageSize= is missing (expected one, as DefaultPageSize= is set and "
                  "would change "
                  "the pool)\n",
                  "[Pool a] dropped\n[Pool b] PageSize=2M Size=7p\n[System] DefaultPageSize=1G\n" },
                { "[Pool a]\n",
                  "a:1 warning: [Pool a]: nothing to reserve (expected Size=, Pages=, or Overcommit=)\n",
                  "[Pool a]\n" },
                { "[Pool a]\nOvercommit=1G\n", "", "[Pool a] Overcommit=1G\n" },
                { "[Pool a]\nSize=rest\nNodes=x\n[Pool b]\nSize=rest\n[Pool c]\nSize=rest\n",
                  "a:3 error: Nodes=x: not a list of nodes up to 1023" NODES "\n"
                  "a:7 error: [Pool c]: Size=rest a second time (expected it in one pool only; [Pool b] has "
                  "it)\n",
                  "[Pool a] dropped\n[Pool b] Size=rest\n[Pool c] dropped\n" },
                { "[Pool a]\nSize=rest\nHeadroom=1G\n[Pool b]\nSize=rest\nHeadroom=0\n",
                  "a:3 error: [Pool a]: Headroom= beside Size=rest (expected one of them)\n",
                  "[Pool a] dropped\n[Pool b] Size=rest Headroom=0\n" },
                { "[Pool a]\nPages=0:1\nNodes=0\n",
                  "a:3 warning: [Pool a]: Nodes= has no effect, as the amounts per node name their nodes "
                  "themselves\n",
                  "[Pool a] Size=0-0:p1 Nodes=0-0\n" },
        };

        CHECK_CASES(cases);
}

static void mounts_are_verified_after_merging(void **state) {
        static const Case cases[] = {
                { "[Mount a]\nPageSize=2M\n",
                  "a:1 error: [Mount a]: Where= is missing (expected the directory to mount on)\n",
                  "[Mount a] dropped\n" },
                { "[Mount a]\nWhere=/mnt/a\n[Mount b]\nWhere=/mnt/a/\n[Mount c]\nWhere=/mnt/a/c\n",
                  "a:4 error: [Mount b]: Where=/mnt/a a second time (expected another directory; "
                  "/etc/hugepages.d/a.conf:2 has it)\n",
                  "[Mount a] Where=/mnt/a\n[Mount b] dropped\n[Mount c] Where=/mnt/a/c\n" },
                { "[Mount a]\nWhere=/mnt/a\nPool=x\n[Pool b]\nSize=x\n[Mount b]\nWhere=/mnt/b\nPool=b\n",
                  "a:3 error: [Mount a]: Pool=x: there is no such pool (expected the name of a valid [Pool] "
                  "section)\n"
                  "a:5 error: Size=x: not a size" SIZE_OR_PERCENT "\n"
                  "a:8 error: [Mount b]: Pool=b: that pool was dropped for an error (expected the name of a "
                  "valid "
                  "[Pool] section)\n",
                  "[Pool b] dropped\n[Mount a] dropped\n[Mount b] dropped\n" },
                { "[Pool a]\nPageSize=2M\nSize=1G\n[Mount a]\nWhere=/mnt/a\nPool=a\nPageSize=1G\n"
                  "[Mount b]\nWhere=/mnt/b\nPool=a\nPageSize=2M\n",
                  "a:7 error: [Mount a]: PageSize=1G: not the page size of [Pool a] (expected 2M, or no "
                  "PageSize= "
                  "beside Pool=)\n",
                  "[Pool a] PageSize=2M Size=1G\n[Mount a] dropped\n[Mount b] Where=/mnt/b Pool=a "
                  "PageSize=2M\n" },
                { "[Mount a]\nWhere=/mnt/a\nPageSize=2M\nSize=1M\n[Mount b]\nWhere=/mnt/b\nSize=0\n"
                  "[Mount c]\nWhere=/mnt/c\nSize=1\n",
                  "a:4 error: [Mount a]: Size=1M: below one page (expected at least 2M)\n"
                  "a:7 error: [Mount b]: Size=0: below one page (expected at least a page)\n",
                  "[Mount a] dropped\n[Mount b] dropped\n[Mount c] Where=/mnt/c Size=1\n" },
                { "[Mount a]\nWhere=/mnt/a\nSize=1G\nReserve=2G\n",
                  "a:3 error: [Mount a]: Size=1G: below Reserve= (expected at least 2G)\n",
                  "[Mount a] dropped\n" },
                { "[Pool a]\nPageSize=2M\nSize=1G\nHeadroom=50%\n"
                  "[Mount a]\nWhere=/mnt/a\nPool=a\nReserve=1538M\n[Mount "
                  "b]\nWhere=/mnt/b\nPool=a\nReserve=1536M\n"
                  "[Mount c]\nWhere=/mnt/c\nPool=a\nReserve=pool\nSize=1G\n"
                  "[Mount d]\nWhere=/mnt/d\nPool=a\nReserve=1538M\nSize=infinity\n",
                  "a:8 error: [Mount a]: Reserve=1538M: more than [Pool a] has (expected at most 1536M)\n"
                  "a:17 error: [Mount c]: Size=1G: below Reserve= (expected at least 1536M)\n",
                  "[Pool a] PageSize=2M Size=1G Headroom=5000/10000\n[Mount a] dropped\n"
                  "[Mount b] Where=/mnt/b Pool=a Reserve=1536M\n[Mount c] dropped\n"
                  "[Mount d] Where=/mnt/d Pool=a Size=infinity Reserve=1538M\n" },
                { "[Pool a]\nPageSize=2M\nSize=1G\n[Mount a]\nWhere=/mnt/a\nPool=a\nReserve=pool\n"
                  "[Mount b]\nWhere=/mnt/b\nPool=a\nReserve=2M\n[Mount c]\nWhere=/mnt/c\nPool=a\n",
                  "a:11 error: [Mount b]: Reserve=: more than other mounts have left of [Pool a] (expected "
                  "them "
                  "to share it)\n",
                  "[Pool a] PageSize=2M Size=1G\n[Mount a] Where=/mnt/a Pool=a Reserve=pool\n"
                  "[Mount b] dropped\n[Mount c] Where=/mnt/c Pool=a\n" },
                { "[Pool a]\nSize=25%\n[Mount a]\nWhere=/mnt/a\nPool=a\nReserve=1G\n"
                  "[Mount b]\nWhere=/mnt/b\nPool=a\nReserve=pool\n",
                  "a:10 error: [Mount b]: Reserve=: more than other mounts have left of [Pool a] (expected "
                  "them "
                  "to share it)\n",
                  "[Pool a] Size=2500/10000\n[Mount a] Where=/mnt/a Pool=a Reserve=1G\n[Mount b] "
                  "dropped\n" },
                { "[Service a]\nRequire=yes\n",
                  "a:2 warning: [Service a]: Require=yes has no effect (expected Pool= or Mount= beside "
                  "it)\n",
                  "[Service a] a.service Require\n" },
                { "[Mount a]\nWhere=/mnt/a\nReserve=pool\n",
                  "a:3 error: [Mount a]: Reserve=pool without a pool (expected Pool=)\n",
                  "[Mount a] dropped\n" },
                { "[Pool a]\nSize=rest\n[Mount a]\nWhere=/mnt/a\nPool=a\nReserve=pool\n",
                  "a:6 error: [Mount a]: Reserve=pool of [Pool a], whose Size=rest is not known beforehand "
                  "(expected a "
                  "size)\n",
                  "[Pool a] Size=rest\n[Mount a] dropped\n" },
        };

        CHECK_CASES(cases);
}

static void mount_hides_nothing(void **state) {
        static const char
                system_tree[] = "would hide what the system has there",
                others[] = "would hide what others have there", dots[] = "not a normalized path",
                alias[] = "not a canonical path, as /var/run and /var/lock are symbolic links into /run";
        static const struct {
                const char *where, *fault;
        } cases[] = {
                { "/", "would hide the whole system" },
                { "//", dots },
                { "/mnt//x", dots },
                { "/mnt/./x", dots },
                { "/mnt/../etc", dots },
                { "/mnt/x//", dots },
                { "/.", dots },
                { "/bin", system_tree },
                { "/boot/x", system_tree },
                { "/efi", system_tree },
                { "/etc/x/y", system_tree },
                { "/home/db", system_tree },
                { "/lib64/x", system_tree },
                { "/lib", system_tree },
                { "/proc/1", system_tree },
                { "/root/", system_tree },
                { "/sbin", system_tree },
                { "/sys/fs", system_tree },
                { "/usr/local/x", system_tree },
                { "/dev/shm", system_tree },
                { "/dev/shm/x", system_tree },
                { "/dev/pts", system_tree },
                { "/dev/mqueue", system_tree },
                { "/run/systemd/x", system_tree },
                { "/run/lock", system_tree },
                { "/run/user/1000", system_tree },
                { "/run/hugepages-setup", system_tree },
                { "/dev", others },
                { "/run/", others },
                { "/var", others },
                { "/tmp", others },
                { "/mnt", others },
                { "/srv", others },
                { "/opt", others },
                { "/media", others },
                { "/var/lib", others },
                { "/var/run/x", alias },
                { "/var/lock", alias },
                { "/dev/hugepages", NULL },
                { "/dev/hugepages/db", NULL },
                { "/dev/hugepages-1G", NULL },
                { "/dev/shmem", NULL },
                { "/run/hugepages/kvm", NULL },
                { "/run/users", NULL },
                { "/bin2", NULL },
                { "/library", NULL },
                { "/homes/x", NULL },
                { "/var/lib/hugetlbfs", NULL },
                { "/var/runner", NULL },
                { "/mnt/...", NULL },
                { "/mnt/100%", NULL },
                { "/mnt/\xc3\xa4", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text = NULL, *told = NULL, *kept = NULL;

                assert_true(asprintf(&text, "[Mount a]\nWhere=%s\n", cases[i].where) > 0);
                if (cases[i].fault)
                        assert_true(asprintf(&told, "a:2 error: Where=%s: %s" WHERE "\n", cases[i].where,
                                             cases[i].fault) > 0);
                assert_true(asprintf(&kept, "[Mount a] Where=%s\n", cases[i].where) > 0);
                check(text, told ? told : "", told ? "[Mount a] dropped\n" : kept);
        }
}

static void mount_unit_name_must_fit(void **state) {
        /* Each "-" becomes \x2d: "mnt-" and ".mount" leave room for 245 bytes, 61 times four and one. */
        Text fits = {}, exceeds = {};
        FILE *f = text_open(&fits);
        Diagnostics d = {};
        Config *c;

        fputs("[Mount a]\nWhere=/mnt/a", f);
        for (int i = 0; i < 61; i++)
                fputc('-', f);
        fclose(f);
        f = text_open(&exceeds);
        fprintf(f, "%s-\n", fits.data);
        fclose(f);

        _cleanup_temp_root_ char *root = temp_root_new();
        temp_root_write(root, "/etc/hugepages.d/a.conf", fits.data);
        assert_int_equal(config_load(root, &c, &d), 0);
        assert_int_equal(d.n, 0);
        config_free(c);
        temp_root_write(root, "/etc/hugepages.d/a.conf", exceeds.data);
        assert_int_equal(config_load(root, &c, &d), 0);
        assert_int_equal(d.n_errors, 1);
        assert_non_null(strstr(d.items[0].message, "path too long for the name of a mount unit"));
        assert_true(c->mounts[0]->section.dropped);
        config_free(c);
        diag_done(&d);
        free(fits.data);
        free(exceeds.data);
}

static void later_files_override_keys_whatever_their_directory(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/usr/lib/hugepages.d/50-db.conf",
                        "[Pool db]\nPageSize=2M\nSize=8G\nEssential=yes\n");
        temp_root_write(root, "/etc/hugepages.d/40-early.conf",
                        "[Pool db]\nSize=1G\nNodes=0\n[Pool first]\nSize=1M\n");
        temp_root_write(root, "/etc/hugepages.d/90-local.conf", "[Pool db]\nSize=4G\n");
        temp_root_write(root, "/run/hugepages.d/95-run.conf", "[Pool db]\nEssential=\n");
        check_root("merged", root, "", "[Pool db] PageSize=2M Size=4G Nodes=0-0\n[Pool first] Size=1M\n");
}

static void higher_directories_replace_and_mask_by_name(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Diagnostics d = {};
        Config *c;
        static const struct {
                const char *path;
                ConfigFileState state;
                const char *replaced_by;
        } files[] = {
                { "/usr/lib/hugepages.d/a.conf", CONFIG_FILE_REPLACED, "/etc/hugepages.d/a.conf" },
                { "/usr/local/lib/hugepages.d/a.conf", CONFIG_FILE_REPLACED, "/etc/hugepages.d/a.conf" },
                { "/run/hugepages.d/a.conf", CONFIG_FILE_REPLACED, "/etc/hugepages.d/a.conf" },
                { "/etc/hugepages.d/a.conf", CONFIG_FILE_READ, NULL },
                { "/usr/lib/hugepages.d/b.conf", CONFIG_FILE_REPLACED, "/etc/hugepages.d/b.conf" },
                { "/etc/hugepages.d/b.conf", CONFIG_FILE_MASKED, NULL },
                { "/usr/lib/hugepages.d/c.conf", CONFIG_FILE_REPLACED, "/run/hugepages.d/c.conf" },
                { "/run/hugepages.d/c.conf", CONFIG_FILE_MASKED, NULL },
                { "/usr/local/lib/hugepages.d/d.conf", CONFIG_FILE_READ, NULL },
        };

        temp_root_write(root, "/usr/lib/hugepages.d/a.conf", "[Pool lib]\nSize=1G\n");
        temp_root_write(root, "/usr/local/lib/hugepages.d/a.conf", "[Pool local]\nSize=1G\n");
        temp_root_write(root, "/run/hugepages.d/a.conf", "[Pool run]\nSize=1G\n");
        temp_root_write(root, "/etc/hugepages.d/a.conf", "[Pool etc]\nSize=1G\n");
        temp_root_write(root, "/usr/lib/hugepages.d/b.conf", "[Pool b]\nSize=1G\n");
        temp_root_link(root, "/etc/hugepages.d/b.conf", "/dev/null");
        temp_root_write(root, "/usr/lib/hugepages.d/c.conf", "[Pool c]\nSize=1G\n");
        temp_root_write(root, "/run/hugepages.d/c.conf", "");
        temp_root_write(root, "/usr/local/lib/hugepages.d/d.conf", "[Pool d]\nSize=1G\n");
        temp_root_write(root, "/etc/hugepages.d/.hidden.conf", "[Pool hidden]\nSize=1G\n");
        temp_root_write(root, "/etc/hugepages.d/e.conf~", "[Pool backup]\nSize=1G\n");
        temp_root_write(root, "/etc/hugepages.d/README", "read me\n");
        check_root("replaced", root, "", "[Pool etc] Size=1G\n[Pool d] Size=1G\n");

        assert_int_equal(config_load(root, &c, &d), 0);
        assert_int_equal(c->n_files, ELEMENTSOF(files));
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                assert_string_equal(c->files[i].path, files[i].path);
                assert_int_equal(c->files[i].state, files[i].state);
                assert_true(streq_ptr(c->files[i].replaced_by, files[i].replaced_by));
        }
        config_free(c);
        diag_done(&d);
}

static void what_cannot_be_read_is_told_and_still_replaces(void **state) {
        static const char *const lower[] = { "b", "c", "d", "e", "f" };
        _cleanup_temp_root_ char *root = temp_root_new();
        _cleanup_free_ char *fifo = NULL, *large = calloc(1, 1024 * 1024 + 1);

        for (size_t i = 0; i < ELEMENTSOF(lower); i++) {
                _cleanup_free_ char *path = NULL;

                assert_true(asprintf(&path, "/usr/lib/hugepages.d/%s.conf", lower[i]) > 0);
                temp_root_write(root, path, "[Pool lower]\nSize=1G\n");
        }
        temp_root_write(root, "/etc/hugepages.d/a.conf", "[Pool a]\nSize=1G\n");
        assert_int_equal(root_mkdir_p(root, "/etc/hugepages.d/b.conf", 0755), 0);
        temp_root_link(root, "/etc/hugepages.d/c.conf", "nowhere");
        assert_true(asprintf(&fifo, "%s/etc/hugepages.d/d.conf", root) > 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        memset(large, '#', 1024 * 1024 + 1);
        temp_root_write_bytes(root, "/etc/hugepages.d/e.conf", large, 1024 * 1024 + 1);
        temp_root_link(root, "/etc/hugepages.d/f.conf", "f.conf");
        temp_root_write_bytes(root, "/etc/hugepages.d/g.conf", large, 1024 * 1024);
        temp_root_write(root, "/etc/hugepages.d/h.conf", "[Pool h]\nSize=1G\n");
        check_root("unreadable", root,
                   "b:0 error: is a directory (expected a regular file)\n"
                   "c:0 error: does not exist (expected a file, or a symbolic link that leads to one)\n"
                   "d:0 error: is not a regular file (expected a regular file)\n"
                   "e:0 error: is too large (expected at most 1 MiB)\n"
                   "f:0 error: cannot be read: too many symbolic links (expected a regular file)\n",
                   "[Pool a] Size=1G\n[Pool h] Size=1G\n");
        assert_true(config_exists(root));
}

static void unreadable_directory_is_told(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        temp_root_write(root, "/run/hugepages.d", "a file");
        temp_root_write(root, "/etc/hugepages.d/a.conf", "[Pool a]\nSize=1G\n");
        check_root("a file for a directory", root, "hugepages.d:0 error: cannot be read: Not a directory\n",
                   "[Pool a] Size=1G\n");
}

static void drop_in_exists_unless_masked_or_empty(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();

        assert_false(config_exists(root));
        temp_root_write(root, "/etc/hugepages.d/README", "x");
        temp_root_write(root, "/etc/hugepages.d/empty.conf", "");
        temp_root_link(root, "/etc/hugepages.d/a.conf", "/dev/null");
        assert_false(config_exists(root));
        temp_root_write(root, "/usr/lib/hugepages.d/a.conf", "[Pool a]\nSize=1G\n");
        assert_false(config_exists(root));
        temp_root_write(root, "/usr/lib/hugepages.d/b.conf", "all of it is broken");
        assert_true(config_exists(root));
}

static void order_is_by_name_and_not_by_directory_entry(void **state) {
        static const char *const names[] = { "10-a", "20-b", "30-c", "40-d", "9-z" };
        _cleanup_temp_root_ char *one = temp_root_new(), *other = temp_root_new();
        const char *expected = "[Pool p10-a] Size=1M\n[Pool p20-b] Size=1M\n[Pool p30-c] Size=1M\n"
                               "[Pool p40-d] Size=1M\n[Pool p9-z] Size=1M\n[System] KeepFree=9G\n";

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                for (int reverse = 0; reverse < 2; reverse++) {
                        const char *name = names[reverse ? ELEMENTSOF(names) - 1 - i : i];
                        _cleanup_free_ char *path = NULL, *text = NULL;

                        assert_true(asprintf(&path, "/etc/hugepages.d/%s.conf", name) > 0);
                        assert_true(asprintf(&text, "[Pool p%s]\nSize=1M\n[System]\nKeepFree=%dG\n", name,
                                             atoi(name)) > 0);
                        temp_root_write(reverse ? other : one, path, text);
                }
        }
        check_root("written in order", one, "", expected);
        check_root("written in reverse order", other, "", expected);
}

static void given_files_count_as_if_in_etc(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new(), *outside = temp_root_new();
        _cleanup_free_ char *a = NULL, *temporary = NULL, *missing = NULL;
        Diagnostics d = {};
        Text kept = {};
        Config *c;

        temp_root_write(root, "/etc/hugepages.d/a.conf", "[Pool old]\nSize=1G\n");
        temp_root_write(root, "/etc/hugepages.d/z.conf", "[Pool db]\nSize=2G\n");
        temp_root_write(outside, "/a.conf", "[Pool db]\nSize=1G\nEssential=yes\n");
        temp_root_write(outside, "/tmp1234", "[Pool db]\nNodes=q\n");
        assert_true(asprintf(&a, "%s/a.conf", outside) > 0);
        assert_true(asprintf(&temporary, "%s/tmp1234", outside) > 0);
        assert_true(asprintf(&missing, "%s/missing.conf", outside) > 0);

        assert_int_equal(config_load_with(root, (char *[]){ a, temporary, missing, NULL }, &c, &d), 0);
        dump_config(text_open(&kept), c);
        fclose(kept.stream);
        assert_string_equal(kept.data, "[Pool db] dropped\n");
        assert_int_equal(c->n_files, 5);
        assert_string_equal(c->files[0].path, "/etc/hugepages.d/a.conf");
        assert_int_equal(c->files[0].state, CONFIG_FILE_REPLACED);
        assert_string_equal(c->files[0].replaced_by, a);
        assert_string_equal(c->files[1].path, a);
        assert_string_equal(c->files[3].path, temporary);
        assert_int_equal(d.n_errors, 2);
        diag_sort(&d);
        assert_string_equal(d.items[0].file, missing);
        assert_int_equal(d.items[0].line, 0);
        assert_string_equal(d.items[1].file, temporary);
        assert_int_equal(d.items[1].line, 2);
        free(kept.data);
        config_free(c);
        diag_done(&d);
}

static void source_is_where_a_key_was_last_assigned(void **state) {
        _cleanup_temp_root_ char *root = temp_root_new();
        Diagnostics d = {};
        const Section *s;
        Config *c;

        temp_root_write(root, "/etc/hugepages.d/a.conf",
                        "\n[Pool a]\nSize=1G\nNodes=all\n[Pool b]\nSize=1G\n");
        temp_root_write(root, "/etc/hugepages.d/b.conf",
                        "[Pool a]\n\nPages=4\n[System]\nKeepFree=1G\nKeepFree=x\n");
        assert_int_equal(config_load(root, &c, &d), 0);
        s = &config_find_pool(c, "a")->section;
        assert_string_equal(s->source.file, "/etc/hugepages.d/a.conf");
        assert_int_equal(s->source.line, 2);
        assert_string_equal(section_key_source(s, "Size").file, "/etc/hugepages.d/b.conf");
        assert_int_equal(section_key_source(s, "Size").line, 3);
        assert_int_equal(section_key_source(s, "Pages").line, 3);
        assert_string_equal(section_key_source(s, "Nodes").file, "/etc/hugepages.d/a.conf");
        assert_int_equal(section_key_source(s, "Nodes").line, 4);
        assert_int_equal(section_key_source(s, "Headroom").line, 2);
        assert_int_equal(section_key_source(s, "NoSuchKey").line, 2);
        assert_int_equal(section_key_source(&c->system.section, "KeepFree").line, 5);
        assert_null(section_key_source(&c->thp.section, "Enabled").file);
        assert_ptr_equal(config_find_pool(c, "b"), c->pools[1]);
        assert_null(config_find_pool(c, "c"));
        assert_null(config_find_mount(c, "a"));
        config_free(c);
        diag_done(&d);
}

static void thousands_of_sections_take_no_time(void **state) {
        enum { N = 2000 };
        _cleanup_temp_root_ char *root = temp_root_new();
        struct timespec start, end;
        Diagnostics d = {};
        Config *c;

        for (int i = 0; i < N; i++) {
                _cleanup_free_ char *path = NULL, *text = NULL;

                assert_true(asprintf(&path, "/etc/hugepages.d/%04d.conf", i) > 0);
                assert_true(
                        asprintf(&text,
                                 "[Pool p%d]\nPageSize=2M\nSize=8M\n[Mount m%d]\nWhere=/mnt/%d\nPool=p%d\n"
                                 "[Service s%d]\nPool=p%d\nMount=m%d\n",
                                 i, i, i, N - 1 - i, i, N - 1 - i, i) > 0);
                temp_root_write(root, path, text);
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        assert_int_equal(config_load(root, &c, &d), 0);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        /* A tenth of a second is usual; a quadratic search takes several. */
        assert_true((end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000 < 2000);

        /* The first half refers to pools that are declared later: the order of declaration is free. */
        assert_int_equal(d.n, 0);
        assert_int_equal(c->n_pools, N);
        assert_int_equal(c->n_mounts, N);
        assert_int_equal(c->n_services, N);
        for (int i = 0; i < N; i++)
                assert_ptr_equal(config_find_pool(c, c->pools[i]->section.name), c->pools[i]);
        config_free(c);
        diag_done(&d);
}

static void escaped_text_is_printable(void **state) {
        static const struct {
                const char *text, *escaped;
        } cases[] = {
                { "", "" },
                { "größe 2M × 3", "größe 2M × 3" },
                { "\x1b]0;x\a\n\t\x7f", "\\x1b]0;x\\x07\\x0a\\x09\\x7f" },
                { "\xff\xc3", "\\xff\\xc3" },
                { "\xc2\x9b", "\\xc2\\x9b" },        /* a control character beyond ASCII */
                { "a\u202eb", "a\\xe2\\x80\\xaeb" }, /* right to left from here on */
                { "\u2066", "\\xe2\\x81\\xa6" },
                { "\u2029", "\\xe2\\x80\\xa9" },
                { "\u202f\u2065…", "\u202f\u2065…" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *escaped = text_escape(cases[i].text);

                assert_non_null(escaped);
                assert_string_equal(escaped, cases[i].escaped);
                assert_true(text_is_printable(escaped));
        }
}

static void messages_are_cut_and_printable(void **state) {
        static const Case cases[] = {
                { "[Pool a]\nSize=123456789a123456789b123456789c123456789d123456789e123456789f1234\n",
                  "a:2 error: Size=123456789a123456789b123456789c123456789d123456789e123456789f1234: not a "
                  "size" SIZE_OR_PERCENT "\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=123456789a123456789b123456789c123456789d123456789e123456789f12345\n",
                  "a:2 error: Size=123456789a123456789b123456789c123456789d123456789e123456789f1234…: not a "
                  "size" SIZE_OR_PERCENT "\n",
                  "[Pool a] dropped\n" },
                { "[Pool a]\nSize=8\xc3\x84\xff\xc2\x9b\n",
                  "a:2 error: Size=8\xc3\x84\\xff\\xc2\\x9b: not a size" SIZE_OR_PERCENT "\n",
                  "[Pool a] dropped\n" },
                /* a character of two bytes is not cut in half */
                { "[Pool a]\nSize=123456789a123456789b123456789c123456789d123456789e123456789f123\xc3\x84\n",
                  "a:2 error: Size=123456789a123456789b123456789c123456789d123456789e123456789f123…: not a "
                  "size" SIZE_OR_PERCENT "\n",
                  "[Pool a] dropped\n" },
        };

        CHECK_CASES(cases);
}

static void table_says_everything_about_every_key(void **state) {
        for (size_t t = 0; t < _SECTION_TYPE_MAX; t++) {
                const SectionInfo *info = &section_table[t];

                assert_non_null(info->name);
                assert_non_null(info->help);
                for (size_t i = 0; i < info->n_keys; i++) {
                        const KeyInfo *key = &info->keys[i];

                        assert_non_null(key->parse);
                        assert_true(!isempty(key->help) && !isempty(key->expected));
                        assert_null(strchr(key->help, '\n'));
                        assert_null(endswith(key->help, "."));
                        assert_true(key->size > 0 && key->size <= KEY_FIELD_SIZE_MAX);
                        assert_true(key->offset >= sizeof(Section) && key->offset + key->size <= info->size);
                        assert_ptr_equal(section_find_key((SectionType) t, key->name), key);
                        for (size_t w = 0; key->words && key->words[w]; w++)
                                assert_non_null(strstr(key->expected, key->words[w]));
                }
        }
        assert_null(section_find_key(SECTION_POOL, "size"));
}

static void pool_names_are_safe_everywhere(void **state) {
        static const char *const good[] = { "a", "0", "_", "db.1-x_Y", "a123456789b123456789c123456789d1" };
        static const char *const wrong[] = { "",
                                             ".a",
                                             "-a",
                                             "a b",
                                             "a/b",
                                             "a@b",
                                             "a\\b",
                                             "a%b",
                                             "a\n",
                                             "\xc3\x84",
                                             "a123456789b123456789c123456789d12" };

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                assert_true(pool_name_is_valid(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                assert_false(pool_name_is_valid(wrong[i]));
}

/* A directory that cannot be read may declare anything: it is told, and the service runs to tell it. */
static void directory_that_cannot_be_read_is_no_empty_one(void **state) {
        for (int dangling = 0; dangling < 2; dangling++) {
                _cleanup_temp_root_ char *root = temp_root_new();
                Diagnostics d = {};
                Config *c;

                if (dangling)
                        temp_root_link(root, "/etc/hugepages.d", "nowhere");
                else
                        temp_root_write(root, "/etc/hugepages.d", "");
                assert_true(config_exists(root));
                assert_int_equal(config_load(root, &c, &d), 0);
                assert_true(c->faulty);
                assert_int_equal(d.n_errors, 1);
                assert_string_equal(d.items[0].file, "/etc/hugepages.d");
                config_free(c);
                diag_done(&d);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(directory_that_cannot_be_read_is_no_empty_one),
                cmocka_unit_test(every_key_is_read),
                cmocka_unit_test(syntax_that_is_fine),
                cmocka_unit_test(long_comment_is_no_setting),
                cmocka_unit_test(line_is_limited_to_what_inih_takes),
                cmocka_unit_test(what_inih_would_misread_is_refused),
                cmocka_unit_test(nul_bytes_are_refused),
                cmocka_unit_test(after_a_bad_header_all_is_refused_up_to_the_next),
                cmocka_unit_test(unknown_is_a_warning_with_a_suggestion),
                cmocka_unit_test(bad_value_has_a_suggestion),
                cmocka_unit_test(bad_value_tells_what_the_line_should_be),
                cmocka_unit_test(unknown_that_may_cost_a_pool_is_counted),
                cmocka_unit_test(every_bad_value_is_told_with_what_was_expected),
                cmocka_unit_test(bad_value_costs_the_least_that_is_safe),
                cmocka_unit_test(service_fails_closed),
                cmocka_unit_test(service_names_a_service),
                cmocka_unit_test(size_and_pages_are_one_slot),
                cmocka_unit_test(empty_assignment_returns_to_the_default),
                cmocka_unit_test(pools_are_verified_after_merging),
                cmocka_unit_test(mounts_are_verified_after_merging),
                cmocka_unit_test(mount_hides_nothing),
                cmocka_unit_test(mount_unit_name_must_fit),
                cmocka_unit_test(later_files_override_keys_whatever_their_directory),
                cmocka_unit_test(higher_directories_replace_and_mask_by_name),
                cmocka_unit_test(what_cannot_be_read_is_told_and_still_replaces),
                cmocka_unit_test(unreadable_directory_is_told),
                cmocka_unit_test(drop_in_exists_unless_masked_or_empty),
                cmocka_unit_test(order_is_by_name_and_not_by_directory_entry),
                cmocka_unit_test(given_files_count_as_if_in_etc),
                cmocka_unit_test(source_is_where_a_key_was_last_assigned),
                cmocka_unit_test(thousands_of_sections_take_no_time),
                cmocka_unit_test(escaped_text_is_printable),
                cmocka_unit_test(messages_are_cut_and_printable),
                cmocka_unit_test(table_says_everything_about_every_key),
                cmocka_unit_test(pool_names_are_safe_everywhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
