/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings: knobs of one word or number, written where they differ and read back. */

#include "apply/run.h"

#define KNOB_WORD_MAX 64

bool setting_holds(const char *line, const char *wanted) {
        char buffer[KNOB_WORD_MAX];

        return line && streq(knob_current_word(line, buffer, sizeof(buffer)), wanted);
}

void outcome_setting_done(OutcomeSetting *s) {
        free(s->path);
        free(s->wanted);
        free(s->actual);
        *s = (OutcomeSetting){};
}

/* A word that is not among those that the kernel lists would be refused: this kernel lacks it. */
static bool is_offered(const char *line, const char *wanted) {
        return line && (!strchr(line, '[') || knob_offers(line, wanted));
}

int setting_observe(const PlanWrite *w, const char *line, OutcomeSetting *ret) {
        char buffer[KNOB_WORD_MAX];

        *ret = (OutcomeSetting){
                .path = strdup(w->path),
                .wanted = strdup(w->value),
                .actual = line ? strdup(knob_current_word(line, buffer, sizeof(buffer))) : NULL,
                .source = w->source,
        };
        if (!ret->path || !ret->wanted || (line && !ret->actual)) {
                outcome_setting_done(ret);
                return -ENOMEM;
        }
        if (!is_offered(line, w->value))
                ret->result = SETTING_MISSING;
        else
                ret->result = setting_holds(line, w->value) ? SETTING_UNCHANGED : SETTING_REFUSED;
        return 0;
}

static int apply_one(Run *run, const PlanWrite *w, OutcomeSetting *ret) {
        _cleanup_free_ char *line = NULL, *after = NULL;
        int r, error;

        r = run->kernel->read(run->kernel, w->path, &line);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || setting_holds(line, w->value) || !is_offered(line, w->value))
                return setting_observe(w, line, ret);

        run->n_writes++;
        error = run->kernel->write(run->kernel, w->path, w->value);
        r = run->kernel->read(run->kernel, w->path, &after);
        if (r == -ENOMEM)
                return r;
        r = setting_observe(w, after ?: line, ret);
        if (r < 0)
                return r;
        if (ret->result == SETTING_UNCHANGED)
                ret->result = SETTING_CHANGED;
        else
                ret->error = error;
        return 0;
}

int settings_apply(Run *run, const Plan *plan, bool before_pools) {
        for (size_t i = 0; i < plan->n_settings; i++) {
                int r;

                if (plan->settings[i].before_pools != before_pools)
                        continue;
                r = apply_one(run, &plan->settings[i], &run->settings[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
