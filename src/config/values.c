/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parsers of the values, one for each kind. */

#include "config/values.h"
#include "basic/format.h"
#include "basic/parse.h"
#include "config/text.h"
#include "config/where.h"

#define DEFINE_VALUE(kind)                                                                                  \
        int value_##kind(_unused_ const KeyInfo *key, const char *value, void *field, const char **reason)

#define UNIT_NAME_MAX 255u
#define USER_NAME_MAX 31u
#define ID_MAX 4294967294u /* (uid_t) -1 means "leave it" to the kernel */
#define BLANKS " \t"

typedef int (*NumberParser)(const char *s, uint64_t *ret);

void free_string(void *field) {
        free(*(char **) field);
}

void free_names(void *field) {
        char **names = *(char ***) field;

        for (char **n = names; n && *n; n++)
                free(*n);
        free(names);
}

void free_amount(void *field) {
        free(((Amount *) field)->nodes);
}

void free_nodes(void *field) {
        free(((Nodes *) field)->ranges);
        free(((Nodes *) field)->pci);
}

static int bad(const char **reason, const char *text) {
        *reason = text;
        return -EINVAL;
}

/* What is wrong with a number that a parse_*() refused. */
static int bad_number(const char **reason, const char *value, int error, const char *otherwise) {
        *reason = error == -ERANGE ? "too large" : *value == '-' ? "negative" : otherwise;
        return error;
}

static int take_string(void *field, const char *s) {
        char *copy = strdup(s);

        if (!copy)
                return -ENOMEM;
        *(char **) field = copy;
        return 0;
}

static bool is_alphanumeric(char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

DEFINE_VALUE(boolean) {
        return parse_boolean(value, field) < 0 ? bad(reason, "not a boolean") : 0;
}

DEFINE_VALUE(tristate) {
        bool b;

        if (parse_boolean(value, &b) < 0)
                return bad(reason, "not a boolean");
        *(Tristate *) field = b ? TRISTATE_YES : TRISTATE_NO;
        return 0;
}

int page_size_parse(const char *s, uint64_t *ret) {
        uint64_t v;
        int r = parse_size(s, &v);

        if (r < 0)
                return r;
        /* No architecture has pages below 4K; huge ones are at least two of them. */
        if (v < 8192 || (v & (v - 1)) != 0)
                return -EINVAL;
        *ret = v;
        return 0;
}

DEFINE_VALUE(page_size) {
        int r = page_size_parse(value, field);

        return r < 0 ? bad_number(reason, value, r, "not a page size") : 0;
}

static int add_node_amount(Amount *a, NodeAmount new, const char **reason) {
        for (size_t i = 0; i < a->n_nodes; i++)
                if (new.first <= a->nodes[i].last && a->nodes[i].first <= new.last)
                        return bad(reason, "names a node twice");
        if (GROW_ARRAY(a->nodes, a->n_nodes) < 0)
                return -ENOMEM;
        a->nodes[a->n_nodes++] = new;
        return 0;
}

/* "0:4G,1-3:12G" */
static int parse_node_amounts(Amount *a, const char *value, NumberParser parse, const char *number,
                              const char **reason) {
        for (const char *p = value;; p++) {
                size_t l = strcspn(p, ","), range = strcspn(p, ":,");
                _cleanup_free_ char *text = NULL;
                NodeAmount new = {};
                int r;

                if (range == l || parse_node_range(p, range, &new.first, &new.last) < 0)
                        return bad(reason, "not a list of NODE:AMOUNT with nodes up to 1023");
                text = strndup(p + range + 1, l - range - 1);
                if (!text)
                        return -ENOMEM;
                r = parse(text, &new.value);
                if (r < 0)
                        return bad_number(reason, text, r, number);
                r = add_node_amount(a, new, reason);
                if (r < 0)
                        return r;
                p += l;
                if (!*p)
                        return 0;
        }
}

static int node_amounts(Amount *ret, AmountType type, const char *value, NumberParser parse,
                        const char *number, const char **reason) {
        Amount a = { .type = type };
        int r = parse_node_amounts(&a, value, parse, number, reason);

        if (r < 0) {
                free_amount(&a);
                return r;
        }
        *ret = a;
        return 0;
}

static int plain_amount(Amount *ret, AmountType type, const char *value, NumberParser parse,
                        const char *number, const char **reason) {
        Amount a = { .type = type };
        int r = parse(value, &a.value);

        if (r < 0)
                return bad_number(reason, value, r, number);
        *ret = a;
        return 0;
}

DEFINE_VALUE(size) {
        return plain_amount(field, AMOUNT_BYTES, value, parse_size, "not a size", reason);
}

DEFINE_VALUE(size_or_percent) {
        if (endswith(value, "%"))
                return plain_amount(field, AMOUNT_PERCENT, value, parse_percent, "not a percentage", reason);
        return value_size(key, value, field, reason);
}

DEFINE_VALUE(pool_size) {
        if (streq(value, "rest")) {
                *(Amount *) field = (Amount){ .type = AMOUNT_REST };
                return 0;
        }
        if (strchr(value, ':'))
                return node_amounts(field, AMOUNT_NODES_BYTES, value, parse_size, "not a size", reason);
        return value_size_or_percent(key, value, field, reason);
}

DEFINE_VALUE(pages) {
        return plain_amount(field, AMOUNT_PAGES, value, parse_u64, "not a number of pages", reason);
}

DEFINE_VALUE(pool_pages) {
        if (strchr(value, ':'))
                return node_amounts(field, AMOUNT_NODES_PAGES, value, parse_u64, "not a number of pages",
                                    reason);
        return value_pages(key, value, field, reason);
}

DEFINE_VALUE(mount_size) {
        if (streq(value, "infinity")) {
                *(Amount *) field = (Amount){ .type = AMOUNT_INFINITY };
                return 0;
        }
        if (endswith(value, "%"))
                return bad(reason, "a percentage, which a mount cannot have");
        return value_size(key, value, field, reason);
}

DEFINE_VALUE(mount_reserve) {
        if (streq(value, "pool")) {
                *(Amount *) field = (Amount){ .type = AMOUNT_WHOLE_POOL };
                return 0;
        }
        if (endswith(value, "%"))
                return bad(reason, "a percentage, which a mount cannot have");
        return value_size(key, value, field, reason);
}

/* "0000:3b:00.0", to lower case; domains have four digits, or more behind an Intel VMD. */
static int parse_pci_address(const char *s, char **ret) {
        static const char hex[] = "0123456789abcdefABCDEF";
        size_t domain = strspn(s, hex);
        const char *p = s + domain;
        char *copy;

        if (domain < 4 || domain > 8 || *p != ':' || strspn(p + 1, hex) != 2 || p[3] != ':' ||
            strspn(p + 4, hex) != 2 || p[6] != '.' || p[7] < '0' || p[7] > '7' || p[8])
                return -EINVAL;
        copy = strdup(s);
        if (!copy)
                return -ENOMEM;
        for (char *c = copy; *c; c++)
                if (*c >= 'A' && *c <= 'F')
                        *c = (char) (*c - 'A' + 'a');
        *ret = copy;
        return 0;
}

/* "0,2-3" */
static int parse_node_list(Nodes *nodes, const char *value) {
        for (const char *p = value;; p++) {
                size_t l = strcspn(p, ",");
                NodeAmount new = {};

                if (parse_node_range(p, l, &new.first, &new.last) < 0)
                        return -EINVAL;
                if (GROW_ARRAY(nodes->ranges, nodes->n_ranges) < 0)
                        return -ENOMEM;
                nodes->ranges[nodes->n_ranges++] = new;
                p += l;
                if (!*p)
                        return 0;
        }
}

DEFINE_VALUE(nodes) {
        const char *pci = startswith(value, "pci:");
        Nodes nodes = { .type = NODES_LIST };
        int r = 0;

        if (pci) {
                nodes.type = NODES_PCI;
                r = parse_pci_address(pci, &nodes.pci);
                *reason = "not a PCI address";
        } else if (streq(value, "all"))
                nodes.type = NODES_ALL;
        else {
                r = parse_node_list(&nodes, value);
                *reason = "not a list of nodes up to 1023";
        }
        if (r < 0) {
                free_nodes(&nodes);
                return r;
        }
        *(Nodes *) field = nodes;
        return 0;
}

DEFINE_VALUE(where) {
        _cleanup_free_ char *path = strdup(value);
        const char *fault;
        size_t l;

        if (!path)
                return -ENOMEM;
        l = strlen(path);
        if (l > 1 && path[l - 1] == '/' && path[l - 2] != '/')
                path[l - 1] = 0;
        fault = where_fault(path);
        if (fault)
                return bad(reason, fault);
        *(char **) field = TAKE_PTR(path);
        return 0;
}

DEFINE_VALUE(name) {
        return pool_name_is_valid(value) ? take_string(field, value) : bad(reason, "not a name");
}

DEFINE_VALUE(max_files) {
        uint64_t v;
        int r = parse_u64(value, &v);

        if (r >= 0 && v > INT64_MAX)
                r = -ERANGE;
        if (r < 0)
                return bad_number(reason, value, r, "not a number");
        if (v == 0) /* would not even leave room for the root directory */
                return bad(reason, "no files at all");
        *(uint64_t *) field = v;
        return 0;
}

/* As strict as systemd: what useradd(8) takes, and nothing that could end a mount option. */
static bool user_name_is_valid(const char *s) {
        size_t l = strlen(s);

        if (l > 1 && s[l - 1] == '$') /* a machine account of Samba */
                l--;
        if (l < 1 || l > USER_NAME_MAX || (!is_alphanumeric(*s) && *s != '_') || (*s >= '0' && *s <= '9'))
                return false;
        for (size_t i = 1; i < l; i++)
                if (!is_alphanumeric(s[i]) && !strchr("_.-", s[i]))
                        return false;
        return true;
}

DEFINE_VALUE(user) {
        uint64_t id;
        int r = parse_u64(value, &id);

        if (r == -ERANGE || (r >= 0 && id > ID_MAX))
                return bad(reason, "too large");
        if (r < 0 && !user_name_is_valid(value))
                return bad(reason, "not a name");
        return take_string(field, value);
}

/* hugetlbfs drops the set-user-ID and set-group-ID bits without a word (hugetlbfs_parse_param()). */
#define MODE_MAX 01777

DEFINE_VALUE(mode) {
        size_t l = strlen(value);

        if (l > 5 || strspn(value, "01234567") != l || strtoul(value, NULL, 8) > MODE_MAX)
                return bad(reason, "not a mode");
        *(mode_t *) field = (mode_t) strtoul(value, NULL, 8);
        return 0;
}

bool unit_name_is_valid(const char *name) {
        size_t l = strlen(name);

        if (l == 0 || l > UNIT_NAME_MAX || *name == '@')
                return false;
        for (const char *p = name; *p; p++)
                if (!is_alphanumeric(*p) && !strchr(":-_.\\@", *p))
                        return false;
        return true;
}

int service_unit_name(const char *name, char **ret, const char **reason) {
        static const char *const others[] = { ".socket", ".mount", ".automount", ".swap", ".target",
                                              ".slice",  ".scope", ".timer",     ".path", ".device" };
        const char *suffix = endswith(name, ".service");
        _cleanup_free_ char *unit = NULL;

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (endswith(name, others[i]))
                        return bad(reason, "not a service");
        if (asprintf(&unit, "%s%s", name, suffix ? "" : ".service") < 0) {
                unit = NULL;
                return -ENOMEM;
        }
        if (!unit_name_is_valid(unit) || suffix == name)
                return bad(reason, "not a unit name");
        if (streq(unit, "hugepages-setup.service") || startswith(unit, "hugepages-pool@") ||
            startswith(unit, "systemd-"))
                return bad(reason, "a unit that the pages themselves are waiting for");
        *ret = TAKE_PTR(unit);
        return 0;
}

DEFINE_VALUE(unit) {
        return service_unit_name(value, field, reason);
}

/* Keeps the array NULL-terminated. */
static int add_name(char ***names, size_t n, const char *s, size_t length) {
        char *copy = strndup(s, length);

        if (!copy || GROW_ARRAY(*names, n) < 0) {
                free(copy);
                return -ENOMEM;
        }
        (*names)[n] = copy;
        if (GROW_ARRAY(*names, n + 1) < 0) {
                (*names)[n] = NULL;
                free(copy);
                return -ENOMEM;
        }
        return 0;
}

DEFINE_VALUE(names) {
        char **names = NULL;
        int r = 0;

        for (size_t n = 0; *value; value += strspn(value, BLANKS)) {
                size_t l = strcspn(value, BLANKS);

                if (add_name(&names, n, value, l) < 0) {
                        free_names(&names);
                        return -ENOMEM;
                }
                if (!pool_name_is_valid(names[n++]))
                        r = bad(reason, "not a list of names");
                value += l;
        }
        *(char ***) field = names;
        return r;
}

DEFINE_VALUE(require) {
        int r = value_boolean(key, value, field, reason);

        if (r < 0)
                *(bool *) field = true;
        return r;
}

/* To the form that systemd knows: it takes "8G", and not "8GiB". */
static int parse_limit(const char *s, uint64_t *ret, char *buffer) {
        if (streq(s, "infinity")) {
                *ret = UINT64_MAX;
                strcpy(buffer, s);
                return 0;
        }
        int r = parse_size(s, ret);
        if (r >= 0)
                format_size_exact(buffer, *ret);
        return r;
}

DEFINE_VALUE(limit_memlock) {
        _cleanup_free_ char *copy = strdup(value);
        char soft_text[FORMAT_SIZE_MAX], hard_text[FORMAT_SIZE_MAX], *colon, *text;
        uint64_t soft, hard;
        int r;

        if (!copy)
                return -ENOMEM;
        colon = strchr(copy, ':');
        if (colon)
                *colon = 0;
        r = parse_limit(copy, &soft, soft_text);
        if (r < 0)
                return bad_number(reason, copy, r, "not a limit");
        if (!colon)
                return take_string(field, soft_text);
        r = parse_limit(colon + 1, &hard, hard_text);
        if (r < 0)
                return bad_number(reason, colon + 1, r, "not a limit");
        if (soft > hard)
                return bad(reason, "a soft limit above the hard one");
        if (asprintf(&text, "%s:%s", soft_text, hard_text) < 0)
                return -ENOMEM;
        *(char **) field = text;
        return 0;
}

/* What HugetlbMax= fills: two neighbours in Service. */
typedef struct HugetlbLimits {
        HugetlbLimit *items;
        size_t n;
} HugetlbLimits;

_Static_assert(offsetof(Service, n_hugetlb_max) - offsetof(Service, hugetlb_max) ==
                       offsetof(HugetlbLimits, n),
               "hugetlb_max and n_hugetlb_max must be neighbours");

/* "2M:8G", of the given length */
static int parse_hugetlb_limit(const char *s, size_t length, HugetlbLimit *ret) {
        _cleanup_free_ char *copy = strndup(s, length);
        char *colon;
        int r;

        if (!copy)
                return -ENOMEM;
        colon = strchr(copy, ':');
        if (!colon)
                return -EINVAL;
        *colon = 0;
        r = page_size_parse(copy, &ret->page_size);
        if (r < 0)
                return r;
        if (!streq(colon + 1, "infinity"))
                return parse_size(colon + 1, &ret->max);
        ret->max = UINT64_MAX;
        return 0;
}

static int parse_hugetlb_limits(const char *value, HugetlbLimits *limits, const char **reason) {
        for (const char *p = value; *p; p += strspn(p, BLANKS)) {
                size_t l = strcspn(p, BLANKS);
                HugetlbLimit new = {};
                int r = parse_hugetlb_limit(p, l, &new);

                if (r < 0)
                        return bad_number(reason, p, r, "not a list of PAGESIZE:SIZE");
                for (size_t i = 0; i < limits->n; i++)
                        if (limits->items[i].page_size == new.page_size)
                                return bad(reason, "names a page size twice");
                if (GROW_ARRAY(limits->items, limits->n) < 0)
                        return -ENOMEM;
                limits->items[limits->n++] = new;
                p += l;
        }
        return 0;
}

DEFINE_VALUE(hugetlb_max) {
        HugetlbLimits limits = {};
        int r = parse_hugetlb_limits(value, &limits, reason);

        if (r < 0) {
                free(limits.items);
                return r;
        }
        *(HugetlbLimits *) field = limits;
        return 0;
}

/* The index of value in the key's words, or -EINVAL. */
static int find_word(const KeyInfo *key, const char *value, const char **reason) {
        for (int i = 0; key->words[i]; i++)
                if (streq(value, key->words[i]))
                        return i;
        return bad(reason, "not a known word");
}

DEFINE_VALUE(word) {
        int r = find_word(key, value, reason);

        return r < 0 ? r : take_string(field, value);
}

DEFINE_VALUE(kernel_command_line) {
        int r = find_word(key, value, reason);

        if (r < 0)
                return r;
        *(KernelCommandLine *) field = (KernelCommandLine) r; /* the words are in the order of the enum */
        return 0;
}

DEFINE_VALUE(timespan) {
        int r = parse_timespan(value, field);

        return r < 0 ? bad_number(reason, value, r, "not a time span") : 0;
}

DEFINE_VALUE(sleep) {
        uint64_t usec;
        int r = parse_timespan(value, &usec);

        if (r >= 0 && usec / 1000 > UINT32_MAX) /* unsigned int in mm/khugepaged.c, in milliseconds */
                r = -ERANGE;
        if (r < 0)
                return bad_number(reason, value, r, "not a time span");
        *(OptionalU64 *) field = (OptionalU64){ true, usec };
        return 0;
}

DEFINE_VALUE(count) {
        uint64_t v;
        int r = parse_u64(value, &v);

        if (r >= 0 && v > UINT32_MAX)
                r = -ERANGE;
        if (r < 0)
                return bad_number(reason, value, r, "not a number");
        *(OptionalU64 *) field = (OptionalU64){ true, v };
        return 0;
}

DEFINE_VALUE(positive_count) {
        return streq(value, "0") ? bad(reason, "too small") : value_count(key, value, field, reason);
}
