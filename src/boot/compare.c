/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a kernel command line says about huge pages, and how that differs from what is wanted. */

#include "boot/compare.h"
#include "basic/cmdline.h"
#include "basic/parse.h"

/* memparse() of lib/cmdline.c: digits of any base and one suffix; what follows is left to the caller. */
static uint64_t parse_memory(const char *s, const char **ret_end) {
        static const char suffixes[] = "KMGTPE";
        char *end;
        uint64_t value = strtoull(s, &end, 0);
        char upper = (char) (*end & ~('a' - 'A'));
        const char *suffix = upper ? strchr(suffixes, upper) : NULL;

        for (const char *p = suffixes; suffix && p <= suffix; p++)
                value = mul_sat(value, 1024);
        if (ret_end)
                *ret_end = end + !!suffix;
        return value;
}

static int setting_add(BootSettings *s, BootKey key, const char *value, const char *text,
                       BootSetting **ret) {
        BootSetting *setting;

        if (GROW_ARRAY(s->items, s->n) < 0)
                return -ENOMEM;
        setting = &s->items[s->n++];
        setting->key = key;
        setting->text = strdup(text);
        setting->value = value ? strdup(value) : NULL;
        if (!setting->text || (value && !setting->value))
                return -ENOMEM;
        if (ret)
                *ret = setting;
        return 0;
}

static const BootSetting *find_first(const BootSettings *s, BootKey key, uint64_t page_size) {
        for (size_t i = 0; i < s->n; i++)
                if (s->items[i].key == key && s->items[i].page_size == page_size && !s->items[i].ignored)
                        return &s->items[i];
        return NULL;
}

typedef struct Reading {
        BootSettings *settings;
        uint64_t default_page_size; /* bytes */
        bool default_chosen;        /* by default_hugepagesz= on the line */
        bool default_open;          /* the word before was default_hugepagesz=: hugepages= means that size */
        size_t open;                /* the hugepagesz= that waits for its hugepages=; SIZE_MAX: none */
        bool any;                   /* there was a word for hugetlb: a hugepages= is no bare one any more */
} Reading;

/* Only the first one counts. */
static int read_default_size(Reading *r, const char *word, const char *value) {
        uint64_t size = parse_memory(value, NULL);
        BootSetting *setting;

        if (setting_add(r->settings, BOOT_DEFAULT_PAGE_SIZE, value, word, &setting) < 0)
                return -ENOMEM;
        setting->ignored = r->default_chosen;
        r->open = SIZE_MAX;
        r->default_open = !r->default_chosen;
        r->any = true;
        if (r->default_chosen)
                return 0;
        r->default_chosen = true;
        r->default_page_size = size;
        for (size_t i = 0; i + 1 < r->settings->n; i++) /* it is for this size after all */
                if (r->settings->items[i].bare)
                        r->settings->items[i].page_size = r->settings->items[i].last_page_size = size;
        return 0;
}

/* A size that there was before is ignored with the hugepages= behind it. */
static int read_size(Reading *r, const char *word, const char *value) {
        uint64_t size = parse_memory(value, NULL);
        bool known = find_first(r->settings, BOOT_PAGES, size);
        BootSetting *setting;

        if (setting_add(r->settings, BOOT_PAGES, NULL, word, &setting) < 0)
                return -ENOMEM;
        setting->page_size = setting->last_page_size = size;
        setting->ignored = known;
        r->open = r->settings->n - 1;
        r->default_open = false;
        r->any = true;
        return 0;
}

static int read_pages(Reading *r, const char *word, const char *value) {
        BootSetting *setting;

        if (r->open != SIZE_MAX) {
                char *text;

                setting = &r->settings->items[r->open];
                r->open = SIZE_MAX;
                if (asprintf(&text, "%s %s", setting->text, word) < 0)
                        return -ENOMEM;
                free(setting->text);
                setting->text = text;
                setting->value = strdup(value);
                return setting->value ? 0 : -ENOMEM;
        }
        if (setting_add(r->settings, BOOT_PAGES, value, word, &setting) < 0)
                return -ENOMEM;
        setting->page_size = setting->last_page_size = r->default_page_size;
        setting->bare = !r->any;
        setting->ignored = r->any && !r->default_open; /* "specified twice without interleaving" */
        r->default_open = false;
        r->any = true;
        return 0;
}

/* "16K-64K" or "64K". */
static void parse_size_range(const char *s, uint64_t *ret_first, uint64_t *ret_last) {
        const char *end;

        *ret_first = *ret_last = parse_memory(s, &end);
        if (*end == '-')
                *ret_last = parse_memory(end + 1, NULL);
}

/* One policy of "16K-64K,256K:always": a setting for each range. */
static int read_thp_policy(BootSettings *s, BootKey key, const char *name, char *sizes) {
        char *policy = strchr(sizes, ':');

        if (!policy)
                return 0;
        *policy++ = 0;
        for (char *range; (range = strsep(&sizes, ","));) {
                _cleanup_free_ char *text = NULL;
                BootSetting *setting;

                if (asprintf(&text, "%s=%s:%s", name, range, policy) < 0) {
                        text = NULL;
                        return -ENOMEM;
                }
                if (setting_add(s, key, policy, text, &setting) < 0)
                        return -ENOMEM;
                parse_size_range(range, &setting->page_size, &setting->last_page_size);
        }
        return 0;
}

static int read_thp_sizes(BootSettings *s, BootKey key, const char *name, const char *value) {
        _cleanup_free_ char *copy = strdup(value);
        char *p = copy;

        if (!copy)
                return -ENOMEM;
        for (char *item; (item = strsep(&p, ";"));) {
                int r = read_thp_policy(s, key, name, item);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Of these the last one counts. */
static int read_word(BootSettings *s, BootKey key, const char *word, const char *value) {
        for (size_t i = 0; i < s->n; i++)
                if (s->items[i].key == key)
                        s->items[i].ignored = true;
        return setting_add(s, key, value, word, NULL);
}

static int read_one(Reading *r, const char *word) {
        static const struct {
                const char *name;
                BootKey key;
        } keys[] = {
                { "default_hugepagesz", BOOT_DEFAULT_PAGE_SIZE },
                { "hugepagesz", BOOT_PAGES },
                { "hugepages", BOOT_PAGES },
                { "hugetlb_cma", BOOT_CMA },
                { "hugetlb_cma_only", BOOT_CMA_ONLY },
                { "hugetlb_free_vmemmap", BOOT_FREE_VMEMMAP },
                { "transparent_hugepage", BOOT_THP },
                { "transparent_hugepage_shmem", BOOT_THP_SHMEM },
                { "thp_anon", BOOT_THP_ANON_SIZE },
                { "thp_shmem", BOOT_THP_SHMEM_SIZE },
        };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                const char *value = cmdline_value(word, keys[i].name);

                if (!value)
                        continue;
                switch (keys[i].key) {
                case BOOT_DEFAULT_PAGE_SIZE:
                        return read_default_size(r, word, value);
                case BOOT_PAGES:
                        return streq(keys[i].name, "hugepages") ? read_pages(r, word, value)
                                                                : read_size(r, word, value);
                case BOOT_THP_ANON_SIZE:
                case BOOT_THP_SHMEM_SIZE:
                        return read_thp_sizes(r->settings, keys[i].key, keys[i].name, value);
                default:
                        return read_word(r->settings, keys[i].key, word, value);
                }
        }
        return 0;
}

int boot_settings_parse(const char *line, uint64_t default_page_size, BootSettings *ret) {
        _cleanup_(boot_settings_done) BootSettings settings = {};
        Reading reading = { .settings = &settings,
                            .default_page_size = default_page_size,
                            .open = SIZE_MAX };
        const char *p = line ?: "";

        for (;;) {
                _cleanup_free_ char *word = NULL;
                int r = cmdline_next(&p, &word);

                if (r == 0 || (r > 0 && streq(word, "--"))) /* the rest is init's */
                        break;
                if (r >= 0)
                        r = read_one(&reading, word);
                if (r < 0)
                        return r;
        }
        *ret = settings;
        settings = (BootSettings){};
        return 0;
}

void boot_settings_done(BootSettings *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].value);
                free(s->items[i].text);
        }
        free(s->items);
        *s = (BootSettings){};
}

const BootSetting *boot_settings_find(const BootSettings *s, BootKey key, uint64_t page_size) {
        const BootSetting *found = NULL;

        switch (key) {
        case BOOT_PAGES:
                return find_first(s, key, page_size);
        case BOOT_THP_ANON_SIZE:
        case BOOT_THP_SHMEM_SIZE: /* later ones win, size by size */
                for (size_t i = 0; i < s->n; i++)
                        if (s->items[i].key == key && s->items[i].page_size <= page_size &&
                            page_size <= s->items[i].last_page_size)
                                found = &s->items[i];
                return found;
        default:
                return find_first(s, key, 0);
        }
}

uint64_t boot_value_sum(const char *value) {
        uint64_t sum = 0;

        for (const char *p = value; *p;) {
                size_t l = strcspn(p, ",");
                const char *colon = memchr(p, ':', l);

                sum = add_sat(sum, parse_memory(colon ? colon + 1 : p, NULL));
                p += l + (p[l] == ',');
        }
        return sum;
}

uint64_t boot_value_of_node(const char *value, unsigned node) {
        if (!strchr(value, ':'))
                return UINT64_MAX;
        for (const char *p = value; *p;) {
                size_t l = strcspn(p, ",");
                char *end;

                if (strtoul(p, &end, 10) == node && *end == ':')
                        return parse_memory(end + 1, NULL);
                p += l + (p[l] == ',');
        }
        return 0;
}

static uint64_t n_pages(const BootSetting *s) {
        return s && s->value ? boot_value_sum(s->value) : 0;
}

int arguments_lose(const char *before, const char *after, uint64_t default_page_size, bool *ret) {
        _cleanup_(boot_settings_done) BootSettings a = {}, b = {};
        bool lose = false;
        int r = boot_settings_parse(before, default_page_size, &a);

        if (r >= 0)
                r = boot_settings_parse(after, default_page_size, &b);
        if (r < 0)
                return r;
        for (size_t i = 0; i < a.n; i++) {
                const BootSetting *s = &a.items[i], *kept = boot_settings_find(&b, s->key, s->page_size);

                if (!s->ignored)
                        lose = lose || !kept || (s->key == BOOT_PAGES && n_pages(kept) < n_pages(s));
        }
        *ret = lose;
        return 0;
}

/* Every item of the one list is in the other: "0:4,1:8" is "1:8,0:4". */
static bool list_within(const char *a, const char *b) {
        for (const char *p = a; *p;) {
                size_t l = strcspn(p, ","), m;
                const char *q = b;

                for (; *q; q += m + (q[m] == ',')) {
                        m = strcspn(q, ",");
                        if (l == m && strncmp(p, q, l) == 0)
                                break;
                }
                if (!*q)
                        return false;
                p += l + (p[l] == ',');
        }
        return true;
}

static bool same_value(const BootSetting *a, const BootSetting *b) {
        bool x, y;

        if (!a->value || !b->value)
                return !a->value && !b->value;
        if (a->key == BOOT_PAGES)
                return list_within(a->value, b->value) && list_within(b->value, a->value);
        if (a->key == BOOT_DEFAULT_PAGE_SIZE)
                return parse_memory(a->value, NULL) == parse_memory(b->value, NULL);
        if (a->key == BOOT_FREE_VMEMMAP && parse_boolean(a->value, &x) >= 0 &&
            parse_boolean(b->value, &y) >= 0)
                return x == y;
        return streq(a->value, b->value);
}

static int compared_add(Comparison *c, Presence presence, const char *wanted, const char *found) {
        ComparedArgument *a;

        if (GROW_ARRAY(c->items, c->n) < 0)
                return -ENOMEM;
        a = &c->items[c->n++];
        *a = (ComparedArgument){
                .presence = presence,
                .wanted = wanted ? strdup(wanted) : NULL,
                .found = found ? strdup(found) : NULL,
        };
        c->n_missing += presence == PRESENCE_MISSING;
        c->n_different += presence == PRESENCE_DIFFERENT;
        c->n_extra += presence == PRESENCE_EXTRA;
        return (wanted && !a->wanted) || (found && !a->found) ? -ENOMEM : 0;
}

static const BootSetting *find_bare(const BootSettings *s) {
        for (size_t i = 0; i < s->n; i++)
                if (s->items[i].bare)
                        return &s->items[i];
        return NULL;
}

static int compare_wanted(Comparison *c, const BootSetting *wanted, const BootSettings *line) {
        const BootSetting *found = boot_settings_find(line, wanted->key, wanted->page_size);

        if (!found && wanted->key == BOOT_DEFAULT_PAGE_SIZE)
                found = find_bare(line);
        if (!found)
                return compared_add(c, PRESENCE_MISSING, wanted->text, NULL);
        return compared_add(c,
                            found->key == wanted->key && same_value(wanted, found) ? PRESENCE_PRESENT
                                                                                   : PRESENCE_DIFFERENT,
                            wanted->text, found->text);
}

/* How much memory there is to take huge pages from is no matter of ours. */
static bool may_be_extra(const BootSetting *s) {
        return s->key != BOOT_CMA && s->key != BOOT_CMA_ONLY;
}

static bool is_wanted(const BootSetting *s, const BootSettings *wanted) {
        for (size_t i = 0; i < wanted->n; i++)
                if (wanted->items[i].key == s->key && s->page_size <= wanted->items[i].page_size &&
                    wanted->items[i].page_size <= s->last_page_size)
                        return true;
        return false;
}

static int compare_found(Comparison *c, const BootSetting *found, const BootSettings *line,
                         const BootSettings *wanted) {
        const BootSetting *obeyed = boot_settings_find(line, found->key, found->page_size);

        if (found->ignored)
                return streq_ptr(obeyed ? obeyed->text : NULL, found->text)
                               ? 0
                               : compared_add(c, PRESENCE_IGNORED, obeyed ? obeyed->text : NULL,
                                              found->text);
        if (!may_be_extra(found) || is_wanted(found, wanted))
                return 0;
        return compared_add(c, PRESENCE_EXTRA, NULL, found->text);
}

int compare_arguments(const char *arguments, const char *line, uint64_t default_page_size, Comparison *ret) {
        _cleanup_(boot_settings_done) BootSettings wanted = {}, found = {};
        _cleanup_(comparison_done) Comparison c = {};
        int r = boot_settings_parse(arguments, default_page_size, &wanted);

        if (r >= 0)
                r = boot_settings_parse(line, default_page_size, &found);
        for (size_t i = 0; r >= 0 && i < wanted.n; i++)
                r = compare_wanted(&c, &wanted.items[i], &found);
        for (size_t i = 0; r >= 0 && i < found.n; i++)
                r = compare_found(&c, &found.items[i], &found, &wanted);
        if (r < 0)
                return r;
        *ret = c;
        c = (Comparison){};
        return 0;
}

void comparison_done(Comparison *c) {
        for (size_t i = 0; i < c->n; i++) {
                free(c->items[i].wanted);
                free(c->items[i].found);
        }
        free(c->items);
        *c = (Comparison){};
}
