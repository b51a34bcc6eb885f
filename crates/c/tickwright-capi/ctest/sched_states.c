/* Every state x every cancel, from outside and from inside; clean-up once, however a timer ends;
 * what callbacks may do. */
#include "check.h"

typedef int (*cancel_fn)(tw_sched *sched, uint64_t id);

enum { CANCELS = 5, SYNC = 2, SHUT = 3, SHUT_SYNC = 4 };
static const cancel_fn CANCEL[CANCELS] = {
    tw_sched_cancel_try, tw_sched_cancel_async, tw_sched_cancel_sync, tw_sched_shutdown_async, tw_sched_shutdown_sync,
};

/* A timer's data. */
struct call {
    tw_sched *sched;
    cancel_fn cancel;
    uint64_t id, victim;
    int calls, cleaned, again, answer, keep;
};

static struct call FRESH; /* all zeros */

static void clean(void *data)
{
    ((struct call *)data)->cleaned++;
}

static int64_t cancels(void *data, const tw_firing *firing)
{
    struct call *call = (struct call *)data;
    CHECK(firing->sched == call->sched);
    EQUAL(firing->id, call->id);
    CHECK(firing->token == call);
    call->calls++;
    if (call->cancel != NULL)
        call->answer = call->cancel(firing->sched, call->victim != 0 ? call->victim : firing->id);
    return call->again;
}

static void add(tw_sched *sched, struct call *call, int keep, int64_t when)
{
    tw_job job = TW_JOB_INIT;
    job.call = cancels;
    job.data = call;
    job.cleanup = clean;
    job.token = call;
    job.flags = keep ? TW_JOB_KEEP : 0;
    job.timing.when_ns = when;
    call->sched = sched;
    call->keep = keep;
    CHECK(tw_sched_add_job(sched, &job, &call->id) > 0);
}

static int state_of(tw_sched *sched, const struct call *call)
{
    tw_sched_info info = TW_SCHED_INFO_INIT;
    int found = tw_sched_find(sched, call->id, &info);
    if (found < 0)
        return found;
    CHECK(info.token == call);
    CHECK(info.data == (info.state == TW_STATE_RUNNING ? NULL : (const void *)call));
    return info.state;
}

static void from_outside(tw_family family)
{
    int form;
    for (form = 0; form < CANCELS; form++) {
        int gone = form >= SHUT;
        tw_sched *sched = new_sched(family);
        struct call pending = FRESH, idle = FRESH, kept = FRESH, ran = FRESH;
        add(sched, &ran, 0, 0);
        add(sched, &pending, 0, 1000000000);
        add(sched, &idle, 1, 0);
        add(sched, &kept, 1, 0);
        EQUAL(tw_sched_arm(sched, kept.id, 1000), 0);
        advance_ms(sched, 2);
        EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
        EQUAL(ran.cleaned, 1);

        EQUAL(CANCEL[form](sched, ran.id), -ENOENT);
        EQUAL(CANCEL[form](sched, pending.id), TW_CANCEL_REMOVED);
        EQUAL(pending.cleaned, 1);
        EQUAL(CANCEL[form](sched, pending.id), -ENOENT);
        EQUAL(CANCEL[form](sched, kept.id), gone ? TW_CANCEL_REMOVED : TW_CANCEL_DISARMED);
        EQUAL(CANCEL[form](sched, kept.id), gone ? -ENOENT : TW_CANCEL_IDLE);
        EQUAL(CANCEL[form](sched, idle.id), gone ? TW_CANCEL_REMOVED : TW_CANCEL_IDLE);
        EQUAL(kept.cleaned, gone);
        EQUAL(idle.cleaned, gone);
        EQUAL(tw_sched_arm(sched, idle.id, 0), gone ? -ENOENT : 0);
        EQUAL(state_of(sched, &idle), gone ? -ENOENT : TW_STATE_PENDING);
        end_sched(sched);
        EQUAL(pending.cleaned + idle.cleaned + kept.cleaned + ran.cleaned, 4);
        EQUAL(pending.calls + idle.calls + kept.calls + ran.calls, 1);
    }
}

/* A callback that cancels itself, once for each form, kept or not, wanting to run again or not. */
static void from_inside(tw_family family)
{
    static const int ANSWERS[CANCELS] = { -EBUSY, TW_CANCEL_ENDING, -EDEADLK, TW_CANCEL_ENDING, -EDEADLK };
    int form, keep, again;
    for (form = 0; form < CANCELS; form++) {
        for (keep = 0; keep < 2; keep++) {
            for (again = 0; again < 2; again++) {
                tw_sched *sched = new_sched(family);
                struct call call = FRESH;
                int ends = ANSWERS[form] == TW_CANCEL_ENDING, left;
                call.cancel = CANCEL[form];
                call.again = again;
                add(sched, &call, keep, 0);
                if (keep)
                    EQUAL(tw_sched_arm(sched, call.id, 0), 0);
                advance_ms(sched, 2);
                EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
                EQUAL(call.answer, ANSWERS[form]);
                left = again && !ends ? TW_STATE_PENDING : keep && form != SHUT ? TW_STATE_IDLE : -ENOENT;
                EQUAL(state_of(sched, &call), left);
                EQUAL(call.cleaned, left == -ENOENT);
                end_sched(sched);
                EQUAL(call.cleaned, 1);
                EQUAL(call.calls, 1);
            }
        }
    }
}

/* Of two timers that are due together, the first cancels the second. */
static void neighbours(tw_family family)
{
    int form;
    for (form = 0; form < CANCELS; form++) {
        tw_sched *sched = new_sched(family);
        struct call first = FRESH, second = FRESH;
        first.cancel = CANCEL[form];
        add(sched, &first, 0, 0);
        add(sched, &second, 0, 0);
        first.victim = second.id;
        advance_ms(sched, 2);
        EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
        EQUAL(first.answer, TW_CANCEL_REMOVED);
        EQUAL(second.calls, 0);
        EQUAL(second.cleaned, 1);
        end_sched(sched);
        EQUAL(second.cleaned + first.cleaned, 2);
    }
}

static int64_t meddles(void *data, const tw_firing *firing)
{
    struct call *call = (struct call *)data;
    tw_sched *sched = firing->sched;
    uint64_t running = 0;
    char text[16];
    call->calls++;
    EQUAL(tw_sched_destroy(sched), -EDEADLK);
    EQUAL(tw_sched_run(sched, SIZE_MAX), -EDEADLK);
    EQUAL(tw_sched_stop_thread(sched), -EDEADLK);
    EQUAL(state_of(sched, call), TW_STATE_RUNNING);
    EQUAL(tw_sched_when(sched, firing->id, NULL), 0);
    EQUAL(tw_sched_remaining(sched, firing->id, NULL), 0);
    CHECK(tw_sched_int(sched, firing->id) > 0);
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    CHECK(tw_sched_dump(sched, text, sizeof text) > 0);
    CHECK(tw_sched_report(sched, text, sizeof text) > 0);
    EQUAL(tw_sched_advance(sched, 5), 0);
    EQUAL(tw_sched_timeout_ms(sched), -1);
    EQUAL(tw_sched_shutdown_token(sched, call, &running), 0);
    EQUAL(running, firing->id);
    EQUAL(tw_sched_arm(sched, firing->id, 1), -ENOENT); /* it is as good as gone */
    return 1;
}

/* A callback arms its own timer again, and returns that it is done. */
static int64_t starts(void *data, const tw_firing *firing)
{
    struct call *call = (struct call *)data;
    EQUAL(tw_sched_arm(firing->sched, firing->id, 500), 0);
    return ++call->calls == 2 ? tw_sched_cancel_async(firing->sched, firing->id) : 0;
}

static void inside(tw_family family)
{
    tw_sched *sched = new_sched(family);
    struct call call = FRESH, twice = FRESH;
    tw_job job = TW_JOB_INIT;
    job.call = meddles;
    job.data = &call;
    job.token = &call;
    job.cleanup = clean;
    call.sched = sched;
    CHECK(tw_sched_add_job(sched, &job, &call.id) > 0);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(call.calls, 1);
    EQUAL(call.cleaned, 1);

    job.call = starts;
    job.data = &twice;
    CHECK(tw_sched_add_job(sched, &job, &twice.id) > 0);
    advance_ms(sched, 2); /* of some families a tick is 1 ms */
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(tw_sched_when(sched, twice.id, NULL), 1);
    advance_ms(sched, 600);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(tw_sched_when(sched, twice.id, NULL), -ENOENT);
    EQUAL(twice.cleaned, 1);
    end_sched(sched);
}

static void replaces(tw_family family)
{
    tw_sched *sched = new_sched(family);
    struct call old = FRESH, fresh = FRESH;
    tw_job job = TW_JOB_INIT;
    uint64_t id = 0;
    int became = 99, int_id;
    add(sched, &old, 0, 1000000000);
    job.call = cancels;
    job.data = &fresh;
    job.token = &fresh;
    job.cleanup = clean;
    fresh.sched = sched;
    int_id = tw_sched_replace_job(sched, old.id, &job, &became, &id);
    CHECK(int_id > 0);
    EQUAL(became, TW_CANCEL_REMOVED);
    EQUAL(old.cleaned, 1);
    EQUAL(tw_sched_int(sched, id), int_id);
    /* If the old timer does not exist, the replace only adds the new one. */
    job.data = &old;
    CHECK(tw_sched_replace_job(sched, old.id, &job, &became, &old.id) > 0);
    EQUAL(became, -ENOENT);
    CHECK(tw_sched_replace_job(sched, (uint64_t)-1, &job, NULL, NULL) > 0);
    /* A refused replace leaves the old timer. */
    job.timing.when_ns = -1;
    EQUAL(tw_sched_replace_job(sched, id, &job, &became, NULL), -EINVAL);
    EQUAL(fresh.cleaned, 0);
    end_sched(sched);
    EQUAL(fresh.cleaned, 1);
    EQUAL(old.cleaned, 3);
}

/* Clean-up functions that use their scheduler. */
static tw_sched *used;
static int uses;

static void cleans_and_uses(void *data)
{
    int refused = *(int *)data, added;
    struct call none = FRESH;
    uses++;
    EQUAL(tw_sched_check(used, NULL, 0), 0);
    added = tw_sched_add(used, 5, cancels, &none);
    if (refused == -EALREADY)
        EQUAL(added, -ECANCELED);
    else
        EQUAL(tw_sched_cancel_sync(used, (uint64_t)added), TW_CANCEL_REMOVED);
    if (refused != 0)
        EQUAL(tw_sched_destroy(used), refused);
}

static int64_t nothing(void *data, const tw_firing *firing)
{
    (void)data;
    (void)firing;
    return 0;
}

static void cleaning(void)
{
    int while_destroyed = -EALREADY, after_a_run = -EDEADLK, by_token = -EBUSY, cancelled = 0;
    tw_job job = TW_JOB_INIT;
    uint64_t id = 0;
    job.call = nothing;
    job.cleanup = cleans_and_uses;
    uses = 0;
    used = new_sched(TW_FAMILY_DEFAULT);
    job.data = &after_a_run;
    CHECK(tw_sched_add_job(used, &job, NULL) > 0);
    EQUAL(tw_sched_run(used, SIZE_MAX), 1);
    job.data = &by_token;
    job.token = &by_token;
    CHECK(tw_sched_add_job(used, &job, NULL) > 0);
    CHECK(tw_sched_add_job(used, &job, NULL) > 0);
    EQUAL(tw_sched_shutdown_token(used, &by_token, &id), 2);
    EQUAL(id, 0);
    job.data = &cancelled;
    CHECK(tw_sched_add_job(used, &job, &id) > 0);
    EQUAL(tw_sched_cancel_async(used, id), TW_CANCEL_REMOVED);
    job.data = &while_destroyed;
    CHECK(tw_sched_add_job(used, &job, NULL) > 0);
    job.flags = TW_JOB_KEEP;
    CHECK(tw_sched_add_job(used, &job, NULL) > 0);
    end_sched(used);
    EQUAL(uses, 6);
}

/* `int` ids: above 0, of live timers never twice. */
static void int_ids(void)
{
    enum { LIVE = 300 };
    static int ids[LIVE];
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    uint64_t random = 5;
    int round, i, last = 0;
    memset(ids, 0, sizeof ids);
    for (round = 0; round < 20000; round++) {
        int slot = (int)(next_random(&random) % LIVE), id = tw_sched_add(sched, 5, nothing, NULL);
        CHECK(id > last); /* going up */
        last = id;
        if (ids[slot] != 0)
            EQUAL(tw_sched_cancel_try(sched, (uint64_t)ids[slot]), 0);
        ids[slot] = id;
    }
    for (i = 0; i < LIVE; i++)
        CHECK(ids[i] == 0 || tw_sched_cancel_try(sched, (uint64_t)ids[i]) == 0);
    EQUAL(tw_sched_timeout_ms(sched), -1);
    end_sched(sched);
}

int main(void)
{
    for (sched_flags = 0; sched_flags <= TW_SCHED_ONE_THREAD; sched_flags++) {
        int i;
        for (i = 0; i < FAMILY_COUNT; i++) {
            from_outside(FAMILIES[i]);
            from_inside(FAMILIES[i]);
            neighbours(FAMILIES[i]);
            inside(FAMILIES[i]);
            replaces(FAMILIES[i]);
        }
        cleaning();
        int_ids();
    }
    return 0;
}
