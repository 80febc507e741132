/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run: what must come first, the pools node by node, and then everything else. */

#include <fcntl.h>
#include <sys/file.h>

#include "apply/run.h"
#include "basic/fs.h"

int run_lock(const ApplyInput *input, int *ret) {
        const char *root = input->root;
        _cleanup_close_ int directory = -1, fd = -1;
        int waited = 0, r;

        r = root_mkdir_p(root, STATE_DIRECTORY, 0755);
        if (r < 0)
                return r;
        directory = root_open(root, STATE_DIRECTORY, O_RDONLY | O_DIRECTORY);
        if (directory < 0)
                return directory;
        fd = openat(directory, strrchr(LOCK_PATH, '/') + 1, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EROFS)
                fd = openat(directory, strrchr(LOCK_PATH, '/') + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                waited = 1;
                if (input->waiting)
                        input->waiting(input->userdata);
                while (flock(fd, LOCK_EX) < 0)
                        if (errno != EINTR)
                                return -errno;
        }
        *ret = fd;
        fd = -1;
        return waited;
}

/* By their text; 1 or 0, -ENOMEM. */
static int states_differ(const State *a, const State *b) {
        _cleanup_free_ char *x = a ? state_format(a) : strdup(""), *y = b ? state_format(b) : strdup("");

        return x && y ? !streq(x, y) : -ENOMEM;
}

int run_reload_state(Run *run) {
        _cleanup_(state_freep) State *s = NULL, *old = NULL;
        int r = state_read(run->input->root, &s);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        old = run->host->state;
        run->host->state = s;
        r = states_differ(old, s);
        s = NULL;
        return r;
}

static void forget_limits(Run *run) {
        for (size_t i = 0; i < run->host->n_sizes * run->host->n_nodes; i++)
                run->limits.pages[i] = UINT64_MAX;
}

int run_init(Run *run, const ApplyInput *input, const Plan *plan) {
        size_t n_cells = input->host->n_sizes * input->host->n_nodes;

        *run = (Run){
                .input = input,
                .kernel = input->kernel,
                .host = input->host,
                .config = plan->config,
                .keep_free = plan->keep_free,
                .records = calloc(n_cells + 1, sizeof(NodeRecord)),
                .limits.pages = calloc(n_cells + 1, sizeof(uint64_t)),
        };
        if (!run->records || !run->limits.pages)
                return -ENOMEM;
        forget_limits(run);
        return 0;
}

void run_done(Run *run) {
        free(run->records);
        free(run->limits.pages);
        for (size_t i = 0; i < run->n_settings; i++)
                outcome_setting_done(&run->settings[i]);
        free(run->settings);
}

/* The same question with what has been learnt since. What is wrong with the drop-ins was said before. */
static int plan_again(Run *run, Plan **ret) {
        Diagnostics d = {};
        PlanInput input = *run->input->plan;
        int r;

        input.limits = &run->limits;
        r = plan_make(&input, ret, &d);
        diag_done(&d);
        return r;
}

void run_progress(const Run *run, size_t size_index) {
        const Plan *plan = run->plan;
        uint64_t reserved = 0, requested = 0;

        if (!plan || !run->input->progress)
                return;
        for (size_t n = 0; n < run->host->n_nodes; n++)
                reserved += pages_persistent(&run->host->nodes[n].pages[size_index]);
        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].size_index == size_index)
                        requested = add_sat(requested, plan->pools[i].requested);
        run->input->progress(run->input->userdata, run->host->sizes[size_index].bytes,
                             MIN(reserved, requested), requested);
}

/* Makes the plan's pool writes. 1 where a node came up short, 0 where all is as planned. What a node lacks
 * is asked of the others before smaller pages break up what they have. */
static int write_pools(Run *run, const Plan *plan) {
        int any_short = 0, r;

        r = remember_before(run, plan);
        if (r < 0)
                return r;
        run->plan = plan;
        for (size_t i = 0, n; i < plan->n_writes && !any_short; i += MAX(n, 1u)) {
                n = pages_group(&plan->writes[i], plan->n_writes - i);
                any_short = n > 0 ? pages_write(run, &plan->writes[i], n) : 0;
                if (any_short < 0)
                        return any_short;
        }
        r = counts_refresh(run->kernel, run->host);
        return r < 0 ? r : any_short;
}

static int renew_plan(Run *run, Plan **plan) {
        Plan *next;
        int r = plan_again(run, &next);

        if (r < 0)
                return r;
        plan_free(*plan);
        *plan = next;
        return 0;
}

static bool adds_pages(const Plan *p) {
        for (size_t i = 0; i < p->n_writes; i++)
                if (p->writes[i].kind == WRITE_POOL && !p->writes[i].lowers)
                        return true;
        return false;
}

static bool is_cut(const Plan *p) {
        for (size_t i = 0; i < p->n_pools; i++)
                if (p->pools[i].planned < p->pools[i].requested)
                        return true;
        return false;
}

static uint64_t planned_bytes(const Plan *p) {
        uint64_t sum = 0;

        for (size_t i = 0; i < p->n_pools; i++)
                sum = add_sat(sum,
                              mul_sat(p->pools[i].planned, p->host->sizes[p->pools[i].size_index].bytes));
        return sum;
}

/* Pages that a node does not give are asked of the other nodes, until all are there or no node has more:
 * each round has learnt the limit of one node more, so their number is bounded. Where all came but a pool
 * was cut, there may be room by now: surplus pages that became persistent took none, and memory comes and
 * goes. *ret is the last new plan, NULL where the first one was enough. */
static int reserve_rounds(Run *run, const Plan *plan, Plan **ret) {
        size_t rounds = run->host->n_sizes * run->host->n_nodes + 1;

        while (rounds > 0) {
                const Plan *now = *ret ?: plan;
                int q = write_pools(run, now), r;

                run->most_planned = MAX(run->most_planned, planned_bytes(now));
                if (q < 0 || (q == 0 && (!is_cut(now) || !adds_pages(now))))
                        return q;
                rounds -= (size_t) q;
                if (q == 0 && run->kernel->now(run->kernel) >= run->deadline) {
                        run->timed_out = true;
                        return 0;
                }
                r = renew_plan(run, ret);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What is not there after all nodes have been asked, in the order of what it costs others. */
static int reserve(Run *run, const Plan *plan, Plan **ret) {
        int r = reserve_rounds(run, plan, ret);

        while (r >= 0 && *ret && planned_bytes(*ret) < run->most_planned) {
                r = split_larger(run, plan, *ret);
                if (r < 0)
                        return r;
                if (r == 0) {
                        if (!drop_caches(run))
                                return 0;
                        forget_limits(run);
                }
                r = renew_plan(run, ret);
                if (r >= 0)
                        r = reserve_rounds(run, plan, ret);
        }
        return r;
}

static int run_locked(Run *run, const Plan *plan, Outcome **ret) {
        _cleanup_(plan_freep) Plan *last = NULL;
        _cleanup_(outcome_freep) Outcome *o = NULL;
        uint64_t start = run->kernel->now(run->kernel);
        int r;

        run->deadline = add_sat(start, run->config->system.timeout_usec);
        run->first_for_rest = !run->host->state || run->host->state->exit_status < 0;
        run->settings = calloc(plan->n_settings + 1, sizeof(OutcomeSetting));
        if (!run->settings)
                return -ENOMEM;
        run->n_settings = plan->n_settings;
        if ((r = remember_before(run, plan)) < 0 ||
            (r = settings_apply(run, plan, /* before_pools= */ true)) < 0 ||
            (r = reserve(run, plan, &last)) < 0 ||
            (r = settings_apply(run, plan, /* before_pools= */ false)) < 0 ||
            (r = counts_refresh(run->kernel, run->host)) < 0 ||
            (r = outcome_build(plan, last ?: plan, run->host, run->input->diagnostics, run, &o)) < 0)
                return r;
        o->elapsed_usec = sub_sat(run->kernel->now(run->kernel), start);
        r = remember_outcome(run, o);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

int apply_run(const ApplyInput *input, const Plan *plan, Outcome **ret) {
        _cleanup_(plan_freep) Plan *renewed = NULL;
        _cleanup_close_ int lock = -1;
        Run run;
        int r, waited;

        r = waited = run_lock(input, &lock);
        if (r < 0)
                return r;
        r = run_init(&run, input, plan);
        if (r >= 0)
                r = run_reload_state(&run);
        if (r >= 0 && split_put_back(&run) < 0)
                r = -ENOMEM;
        /* Counts that belong to a state of the past must not be remembered as those before our changes. */
        if (r >= 0 && (waited || r > 0) && (r = counts_refresh(input->kernel, input->host)) >= 0 &&
            (r = plan_again(&run, &renewed)) >= 0)
                plan = renewed;
        if (r >= 0)
                r = run_locked(&run, plan, ret);
        run_done(&run);
        return r;
}
