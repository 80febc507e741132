/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A test bed for apply: a simulated machine with its drop-ins, in a root directory of its own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "apply/apply.h"
#include "sim-kernel.h"
#include "temp-root.h"

#define M (1ull << 20)
#define G (1ull << 30)

/* A machine with its drop-ins, and what came of the last run. */
typedef struct Bed {
        char *root;
        SimKernel *sim;
        Diagnostics diagnostics;
        Config *config;
        Host *host;
        Plan *plan;
        Outcome *outcome;
} Bed;

/* In memory: the state file is replaced very often here, which a disk would have to follow. */
static inline char *bed_root_new(void) {
        char *root = strdup("/dev/shm/hugepages-test-XXXXXX");

        if (root && mkdtemp(root))
                return root;
        free(root);
        return temp_root_new();
}

static inline void bed_forget(Bed *b) {
        outcome_free(b->outcome);
        plan_free(b->plan);
        host_free(b->host);
        config_free(b->config);
        diag_done(&b->diagnostics);
        b->outcome = NULL;
        b->plan = NULL;
        b->host = NULL;
        b->config = NULL;
}

static inline void bed_done(Bed *b) {
        bed_forget(b);
        sim_free(b->sim);
        temp_root_free(b->root);
}

#define _cleanup_bed_ _cleanup_(bed_done)

static inline void bed_declare(Bed *b, const char *drop_in) {
        temp_root_write(b->root, "/etc/hugepages.d/50-test.conf", drop_in);
}

static inline Bed bed_new(size_t n_nodes, uint64_t bytes_each, const char *drop_in) {
        Bed b = { .root = bed_root_new(), .sim = sim_new() };

        for (size_t n = 0; n < n_nodes; n++)
                sim_add_node(b.sim, (unsigned) n, bytes_each);
        bed_declare(&b, drop_in);
        return b;
}

static inline void bed_add_gigantic(Bed *b) {
        b->sim->sizes[0] = G;
        b->sim->sizes[1] = 2 * M;
        b->sim->n_sizes = 2;
}

static inline char *bed_status_line(const Outcome *o) {
        return strdup("as reported");
}

static inline int bed_load(Bed *b, PlanInput *input) {
        bed_forget(b);
        assert_int_equal(config_load(b->root, &b->config, &b->diagnostics), 0);
        b->host = sim_host(b->sim, b->root);
        *input = (PlanInput){ .config = b->config, .host = b->host };
        return plan_make(input, &b->plan, &b->diagnostics);
}

/* least_page_size: as in the PlanInput. */
static inline int bed_try_part(Bed *b, uint64_t least_page_size) {
        PlanInput plan;
        Kernel kernel = sim_kernel(b->sim);
        ApplyInput input;

        assert_int_equal(bed_load(b, &plan), 0);
        if (least_page_size > 0) {
                plan_free(b->plan);
                plan.least_page_size = least_page_size;
                assert_int_equal(plan_make(&plan, &b->plan, &b->diagnostics), 0);
        }
        b->sim->keep_free = b->plan->keep_free;
        input = (ApplyInput){
                .plan = &plan,
                .host = b->host,
                .kernel = &kernel,
                .root = b->root,
                .diagnostics = &b->diagnostics,
                .status_line = bed_status_line,
        };
        return apply_run(&input, b->plan, &b->outcome);
}

static inline int bed_try(Bed *b) {
        return bed_try_part(b, 0);
}

static inline void bed_run(Bed *b) {
        sim_begin_run(b->sim);
        assert_int_equal(bed_try(b), 0);
        assert_false(b->sim->asked_too_much);
}

static inline uint64_t on_node(const Bed *b, size_t size_index, size_t node) {
        return sim_persistent(&b->sim->nodes[node].pages[size_index]);
}

static inline State *read_state(const Bed *b) {
        State *s = NULL;

        assert_int_equal(state_read(b->root, &s), 0);
        return s;
}

static inline char *state_text(const Bed *b) {
        State *s = read_state(b);
        char *text = state_format(s);

        state_free(s);
        assert_non_null(text);
        return text;
}

static uint64_t random_state;

static inline uint64_t random_below(uint64_t n) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % n;
}

/* Blocks of all kinds, in no order. Each random number is asked for in a statement of its own: in what order
 * arguments are evaluated is the compiler's business, and all should see the same machines. */
static inline void random_memory(SimMemory *m) {
        unsigned pattern = (unsigned) random_below(4),
                 fullness = 1 + (unsigned) random_below(SIM_BLOCK_PAGES);
        bool has_stuck = !random_below(4);

        for (size_t i = 0; i < m->n_blocks && pattern > 0; i++) {
                if (m->blocks[i].huge || random_below(4) >= pattern)
                        continue;
                m->blocks[i].order = (uint8_t) random_below(9);
                sim_memory_put(m, i, SIM_MOVABLE, random_below(fullness));
                if (!random_below(3))
                        sim_memory_put(m, i, SIM_CACHE, random_below(fullness));
                if (!random_below(8))
                        sim_memory_put(m, i, SIM_UNMOVABLE, random_below(60));
                if (has_stuck && !random_below(8))
                        sim_memory_put(m, i, SIM_STUCK, random_below(60));
        }
}

static inline void random_node(SimKernel *s, size_t n) {
        unsigned id = (unsigned) (n * (1 + random_below(2)) + 10 * n);
        SimNode *node = sim_add_node(s, id, 0);

        if (random_below(6))
                sim_memory_grow(&node->memory, (1 + random_below(6)) * G / SIM_BLOCK);
        node->has_cpu = random_below(8) > 0;
        if (!random_below(3))
                sim_place(s, s->n_sizes - 1, n, random_below(200));
        if (!random_below(5))
                sim_place(s, 0, n, random_below(s->n_sizes > 1 ? 3 : 100));
        sim_use(s, s->n_sizes - 1, n, random_below(100));
        if (!random_below(4))
                sim_add_surplus(s, s->n_sizes - 1, n, random_below(60));
        random_memory(&node->memory);
}

/* Where one compaction is all that a run gets the blocks for, it must be a good one. */
static inline void make_blind(SimKernel *s) {
        s->compact_percent = 100;
        for (size_t n = 0; n < s->n_nodes; n++)
                s->nodes[n].memory.blind = true;
}

static inline void random_machine(SimKernel *s) {
        size_t n_nodes = 1 + random_below(SIM_NODES_MAX);

        s->sizes[0] = random_below(2) ? G : 2 * M;
        s->sizes[1] = 2 * M;
        s->n_sizes = s->sizes[0] == G ? 2 : 1;
        s->numa = n_nodes > 1 || random_below(2);
        s->surplus_bug = random_below(2);
        s->compact_percent = (unsigned) random_below(101);
        s->usec_per_page = random_below(200);
        s->overstated = random_below(4) ? 0 : random_below(4 * G);
        s->effort.direct_percent = random_below(3) ? (unsigned) random_below(101) : 0;
        s->effort.reclaim_blocks = random_below(2) ? random_below(40) : 0;
        s->effort.contig_moves = random_below(4) > 0;
        s->effort.random = 1 + random_below(1u << 30);
        for (size_t n = 0; n < n_nodes; n++)
                random_node(s, n);
        s->has_thp = random_below(2);
        if (random_below(3) == 0)
                make_blind(s);
}

static inline void put_random_node_pages(FILE *f, const SimKernel *s, bool gigantic) {
        unsigned id = s->nodes[random_below(s->n_nodes)].id;

        fprintf(f, "Pages=%u:%u\n", id, (unsigned) random_below(gigantic ? 4 : 900));
}

static inline void put_random_pool(FILE *f, const SimKernel *s, unsigned i) {
        bool gigantic = s->n_sizes > 1 && random_below(3) == 0;

        fprintf(f, "[Pool p%u]\nPageSize=%s\n", i, gigantic ? "1G" : "2M");
        if (!random_below(4))
                put_random_node_pages(f, s, gigantic);
        else if (!random_below(8))
                fputs("Size=30%\n", f);
        else
                fprintf(f, "Pages=%u\n", (unsigned) random_below(gigantic ? 6 : 2500));
        if (!random_below(3))
                fputs("Essential=yes\n", f);
}

static inline void random_drop_in(Bed *b) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        unsigned n = 1 + (unsigned) random_below(4);

        assert_non_null(f);
        for (unsigned i = 0; i < n; i++)
                put_random_pool(f, b->sim, i);
        fprintf(f, "[System]\nKeepFree=%uM\n", 128 + (unsigned) random_below(1024));
        if (!random_below(4))
                fputs("DropCaches=yes\n", f);
        if (!random_below(8))
                fputs("Compact=no\n", f);
        fputs(random_below(8) ? "TimeoutSec=1h\n" : "TimeoutSec=3\n", f);
        assert_int_equal(fclose(f), 0);
        bed_declare(b, text);
        free(text);
}

/* They share a root directory: making and removing thousands is what would take time. */
static inline void bed_leave_root(Bed *b) {
        assert_int_equal(root_write_file_atomic(b->root, STATE_PATH, ""), 0);
        bed_forget(b);
        sim_free(b->sim);
}

/* Something that ends instead of its operation n. False where it has fewer. */
static inline bool bed_killed(Bed *b, size_t n, int (*act)(Bed *b)) {
        pid_t pid;
        int status;

        b->sim->kill_at = n;
        b->sim->n_operations = 0;
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(act(b) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        b->sim->kill_at = 0;
        assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SIM_KILLED);
        return WEXITSTATUS(status) == SIM_KILLED;
}
