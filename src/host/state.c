/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state file of this boot: one line a fact, a keyword first.
 *
 *     hugepages-setup-state 1
 *     before PAGE_SIZE NODE PAGES
 *     knob PATH VALUE…
 *     pool NAME PAGE_SIZE REQUESTED RESERVED [NODE:PAGES]…
 *     reason NAME TEXT…
 *     released NAME
 *     status TEXT…
 *     exit STATUS
 *     reverted
 */

#include "host/state.h"
#include "basic/fs.h"
#include "basic/parse.h"

#define STATE_HEADER "hugepages-setup-state 1"
#define STATE_SIZE_MAX (1024u * 1024u)

static void state_pool_done(StatePool *p) {
        free(p->name);
        free(p->nodes);
        free(p->reason);
}

void state_free(State *s) {
        if (!s)
                return;
        for (size_t i = 0; i < s->n_knobs; i++) {
                free(s->knobs[i].path);
                free(s->knobs[i].value);
        }
        for (size_t i = 0; i < s->n_pools; i++)
                state_pool_done(&s->pools[i]);
        free(s->before);
        free(s->knobs);
        free(s->pools);
        free(s->status);
        free(s);
}

/* Cuts the next word off *p; NULL where there is none. Words are separated by one blank. */
static char *next_word(char **p) {
        char *word = strsep(p, " ");

        return isempty(word) ? NULL : word;
}

static int next_number(char **p, uint64_t max, uint64_t *ret) {
        const char *word = next_word(p);
        uint64_t u;

        if (!word || parse_u64(word, &u) < 0 || u > max)
                return -EINVAL;
        *ret = u;
        return 0;
}

static int next_page_size(char **p, uint64_t *ret) {
        return next_number(p, UINT64_MAX, ret) < 0 || *ret == 0 ? -EINVAL : 0;
}

static int parse_before(State *s, char *p) {
        uint64_t page_size, node, pages;

        if (next_page_size(&p, &page_size) < 0 || next_number(&p, NODE_ID_MAX, &node) < 0 ||
            next_number(&p, UINT64_MAX, &pages) < 0 || p)
                return -EINVAL;
        if (GROW_ARRAY(s->before, s->n_before) < 0)
                return -ENOMEM;
        s->before[s->n_before++] = (StatePages){ page_size, (unsigned) node, pages };
        return 0;
}

static int parse_knob(State *s, char *p) {
        const char *path = next_word(&p);
        StateKnob *k;

        if (!path || *path != '/' || !p)
                return -EINVAL;
        if (GROW_ARRAY(s->knobs, s->n_knobs) < 0)
                return -ENOMEM;
        k = &s->knobs[s->n_knobs++];
        k->path = strdup(path);
        k->value = strdup(p);
        return k->path && k->value ? 0 : -ENOMEM;
}

static int parse_pool_node(StatePool *pool, char *word) {
        char *pages = word;
        const char *id = strsep(&pages, ":");
        uint64_t node, n;

        if (!pages || parse_u64(id, &node) < 0 || node > NODE_ID_MAX || parse_u64(pages, &n) < 0)
                return -EINVAL;
        if (GROW_ARRAY(pool->nodes, pool->n_nodes) < 0)
                return -ENOMEM;
        pool->nodes[pool->n_nodes++] = (StatePages){ pool->page_size, (unsigned) node, n };
        return 0;
}

static int parse_pool(State *s, char *p) {
        const char *name = next_word(&p);
        StatePool *pool;
        int r;

        if (!name)
                return -EINVAL;
        if (GROW_ARRAY(s->pools, s->n_pools) < 0)
                return -ENOMEM;
        pool = &s->pools[s->n_pools++];
        pool->name = strdup(name);
        if (!pool->name)
                return -ENOMEM;
        if (next_page_size(&p, &pool->page_size) < 0 || next_number(&p, UINT64_MAX, &pool->requested) < 0 ||
            next_number(&p, UINT64_MAX, &pool->reserved) < 0)
                return -EINVAL;
        while (p) {
                char *word = next_word(&p);

                r = word ? parse_pool_node(pool, word) : -EINVAL;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Of a pool that came before; NULL where there is none. */
static StatePool *next_pool(State *s, char **p) {
        const char *name = next_word(p);

        return name ? (StatePool *) state_find_pool(s, name) : NULL;
}

static int parse_reason(State *s, char *p) {
        StatePool *pool = next_pool(s, &p);

        if (!pool || !p)
                return -EINVAL;
        free(pool->reason);
        pool->reason = strdup(p);
        return pool->reason ? 0 : -ENOMEM;
}

static int parse_released(State *s, char *p) {
        StatePool *pool = next_pool(s, &p);

        if (!pool || p)
                return -EINVAL;
        pool->released = true;
        return 0;
}

static int parse_status(State *s, char *p) {
        if (!p)
                return -EINVAL;
        free(s->status);
        s->status = strdup(p);
        return s->status ? 0 : -ENOMEM;
}

static int parse_exit(State *s, char *p) {
        uint64_t u;

        if (next_number(&p, 255, &u) < 0 || p)
                return -EINVAL;
        s->exit_status = (int) u;
        return 0;
}

static int parse_reverted(State *s, char *p) {
        if (p)
                return -EINVAL;
        s->reverted = true;
        return 0;
}

static int parse_line(State *s, char *line) {
        static const struct {
                const char *keyword;
                int (*parse)(State *s, char *rest);
        } table[] = {
                { "before", parse_before }, { "knob", parse_knob },         { "pool", parse_pool },
                { "reason", parse_reason }, { "released", parse_released }, { "status", parse_status },
                { "exit", parse_exit },     { "reverted", parse_reverted },
        };
        const char *keyword = strsep(&line, " ");

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(keyword, table[i].keyword))
                        return table[i].parse(s, line);
        return 0; /* written by a later version */
}

int state_read(const char *root, State **ret) {
        _cleanup_(state_freep) State *s = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;
        char *p;
        int r = root_read_file(root, STATE_PATH, STATE_SIZE_MAX, &text, &size);

        if (r == -EFBIG)
                return -EINVAL;
        if (r < 0)
                return r;
        /* Without the last newline something is missing, and a number may have lost its end. */
        if (size == 0 || text[size - 1] != '\n' || strlen(text) != size)
                return -EINVAL;
        text[size - 1] = 0;

        s = calloc(1, sizeof(State));
        if (!s)
                return -ENOMEM;
        s->exit_status = -1;
        p = text;
        if (!streq(strsep(&p, "\n"), STATE_HEADER))
                return -EINVAL;
        while (p) {
                r = parse_line(s, strsep(&p, "\n"));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(s);
        return 0;
}

/* The rest of a line, with the blank before it: a newline within it would begin another. */
static void put_text(FILE *f, const char *text) {
        fputc(' ', f);
        for (const char *p = text; *p; p++)
                fputc(*p == '\n' ? ' ' : *p, f);
        fputc('\n', f);
}

void state_put_pool(FILE *f, const StatePool *p) {
        fprintf(f, "pool %s %llu %llu %llu", p->name, (unsigned long long) p->page_size,
                (unsigned long long) p->requested, (unsigned long long) p->reserved);
        for (size_t i = 0; i < p->n_nodes; i++)
                fprintf(f, " %u:%llu", p->nodes[i].node, (unsigned long long) p->nodes[i].pages);
        fputc('\n', f);
        if (p->reason) {
                fprintf(f, "reason %s", p->name);
                put_text(f, p->reason);
        }
        if (p->released)
                fprintf(f, "released %s\n", p->name);
}

void state_put(FILE *f, const State *s) {
        fputs(STATE_HEADER "\n", f);
        for (size_t i = 0; i < s->n_before; i++)
                fprintf(f, "before %llu %u %llu\n", (unsigned long long) s->before[i].page_size,
                        s->before[i].node, (unsigned long long) s->before[i].pages);
        for (size_t i = 0; i < s->n_knobs; i++) {
                fprintf(f, "knob %s", s->knobs[i].path);
                put_text(f, s->knobs[i].value);
        }
        for (size_t i = 0; i < s->n_pools; i++)
                state_put_pool(f, &s->pools[i]);
        if (s->status) {
                fputs("status", f);
                put_text(f, s->status);
        }
        if (s->exit_status >= 0)
                fprintf(f, "exit %d\n", s->exit_status);
        if (s->reverted)
                fputs("reverted\n", f);
}

char *state_format(const State *s) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        bool failed;

        if (!f)
                return NULL;
        state_put(f, s);
        failed = ferror(f);
        if (fclose(f) != 0 || failed) {
                free(text);
                return NULL;
        }
        return text;
}

const StatePool *state_find_pool(const State *s, const char *name) {
        for (size_t i = 0; s && i < s->n_pools; i++)
                if (streq(s->pools[i].name, name))
                        return &s->pools[i];
        return NULL;
}

uint64_t state_pages_before(const State *s, uint64_t page_size, unsigned node, uint64_t fallback) {
        for (size_t i = 0; s && i < s->n_before; i++)
                if (s->before[i].page_size == page_size && s->before[i].node == node)
                        return s->before[i].pages;
        return fallback;
}
