/* Memory runs out at each allocation of each call that adds a timer. The timer is added, or nothing
 * has changed. Arming a timer that exists takes no memory. */
#define REFUSALS \
    { "tw_sched_add", ENOMEM }, \
    { "tw_sched_add_from", ENOMEM }, \
    { "tw_sched_add_variable", ENOMEM }, \
    { "tw_sched_add_variable_from", ENOMEM }, \
    { "tw_sched_add_at", ENOMEM }, \
    { "tw_sched_add_at_from", ENOMEM }, \
    { "tw_sched_add_since", ENOMEM }, \
    { "tw_sched_add_since_from", ENOMEM }, \
    { "tw_sched_add_job", ENOMEM }, \
    { "tw_sched_replace_job", ENOMEM }, \
    { "tw_sched_replace_job_from", ENOMEM }
#include "refusals.h"

static const int64_t SECOND = 1000000000;

static int ran, cleaned;

static int64_t note(void *data, const tw_firing *firing)
{
    (void)data;
    (void)firing;
    ran++;
    return 0;
}

static void clean(void *data)
{
    ++*(int *)data;
}

/* What a call is given: the timer to replace, and a line of its own, so that each call is a new
 * place for the scheduler's table of places. `*id` gets the timer's 64-bit id. */
struct call {
    uint64_t old, id;
    int line;
};

static tw_job a_job(void)
{
    tw_job job = TW_JOB_INIT;
    job.call = note;
    job.data = &cleaned;
    job.cleanup = clean;
    job.timing.when_ns = SECOND;
    return job;
}

/* Most names below are also macros. In parentheses they are the functions. */
static int add(tw_sched *sched, struct call *call)
{
    (void)call;
    return (tw_sched_add)(sched, 1000, note, NULL);
}

static int add_from(tw_sched *sched, struct call *call)
{
    return tw_sched_add_from(sched, 1000, note, NULL, "note", "file", call->line);
}

static int add_variable(tw_sched *sched, struct call *call)
{
    (void)call;
    return (tw_sched_add_variable)(sched, 1000, note, NULL);
}

static int add_variable_from(tw_sched *sched, struct call *call)
{
    return tw_sched_add_variable_from(sched, 1000, note, NULL, "note", "file", call->line);
}

static int add_at(tw_sched *sched, struct call *call)
{
    (void)call;
    return (tw_sched_add_at)(sched, (uint64_t)SECOND, note, NULL);
}

static int add_at_from(tw_sched *sched, struct call *call)
{
    return tw_sched_add_at_from(sched, (uint64_t)SECOND, note, NULL, "note", "file", call->line);
}

static int add_since(tw_sched *sched, struct call *call)
{
    (void)call;
    return (tw_sched_add_since)(sched, 0, 1000, note, NULL);
}

static int add_since_from(tw_sched *sched, struct call *call)
{
    return tw_sched_add_since_from(sched, 0, 1000, note, NULL, "note", "file", call->line);
}

static int add_job(tw_sched *sched, struct call *call)
{
    tw_job job = a_job();
    return (tw_sched_add_job)(sched, &job, &call->id);
}

/* `*became` is written only by a call that succeeds. */
static void check_became(int result, const struct call *call, int became)
{
    EQUAL(became, result < 0 ? 1234 : call->old == 0 ? -ENOENT : TW_CANCEL_REMOVED);
}

static int replace_job(tw_sched *sched, struct call *call)
{
    tw_job job = a_job();
    int became = 1234, result = (tw_sched_replace_job)(sched, call->old, &job, &became, &call->id);
    check_became(result, call, became);
    return result;
}

static int replace_job_from(tw_sched *sched, struct call *call)
{
    tw_job job = a_job();
    int became = 1234, result = tw_sched_replace_job_from(sched, call->old, &job, &became, &call->id, "note", "file", call->line);
    check_became(result, call, became);
    return result;
}

struct adder {
    const char *name;
    int (*add)(tw_sched *sched, struct call *call);
    int replaces, has_job; /* it can replace a timer; its timers have a clean-up function */
};

static const struct adder ADDERS[] = {
    { "tw_sched_add", add, 0, 0 },
    { "tw_sched_add_from", add_from, 0, 0 },
    { "tw_sched_add_variable", add_variable, 0, 0 },
    { "tw_sched_add_variable_from", add_variable_from, 0, 0 },
    { "tw_sched_add_at", add_at, 0, 0 },
    { "tw_sched_add_at_from", add_at_from, 0, 0 },
    { "tw_sched_add_since", add_since, 0, 0 },
    { "tw_sched_add_since_from", add_since_from, 0, 0 },
    { "tw_sched_add_job", add_job, 0, 1 },
    { "tw_sched_replace_job", replace_job, 1, 1 },
    { "tw_sched_replace_job_from", replace_job_from, 1, 1 },
};
enum { ADDER_COUNT = sizeof ADDERS / sizeof *ADDERS };

/* A call was refused: the counters and the timer to replace are as they were. */
static void nothing_changed(tw_sched *sched, const tw_sched_counts *before, const struct call *call)
{
    tw_sched_counts after = TW_SCHED_COUNTS_INIT;
    tw_sched_info info = TW_SCHED_INFO_INIT;
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    EQUAL(tw_sched_get_counts(sched, &after), 0);
    EQUAL(after.timers, before->timers);
    EQUAL(after.pending, before->pending);
    EQUAL(after.high_water, before->high_water);
    EQUAL(after.armed, before->armed);
    EQUAL(after.canceled, before->canceled);
    EQUAL(call->id, 0);
    if (call->old != 0) {
        EQUAL(tw_sched_find(sched, call->old, &info), 0);
        EQUAL(info.state, TW_STATE_PENDING);
    }
}

/* Adds timers until the scheduler has grown twice. Each call has memory for `grants` allocations.
 * The same call succeeds once there is memory. A call that can replace a timer does so every second
 * time. Returns the number of refusals. */
static int additions(tw_family family, const struct adder *adder, int grants)
{
    enum { COUNT = 280 };
    tw_sched *sched = new_sched(family);
    struct call call = { 0, 0, 0 };
    int i, result, refusals = 0, kept = 0;
    cleaned = ran = 0;
    for (i = 0; i < COUNT; i++) {
        tw_sched_counts before = TW_SCHED_COUNTS_INIT;
        call.old = adder->replaces && i % 2 == 1 ? call.id : 0;
        call.id = 0;
        call.line++;
        EQUAL(tw_sched_get_counts(sched, &before), 0);
        grant_only(grants);
        result = noted(adder->name, adder->add(sched, &call));
        grant_all();
        if (result < 0) {
            EQUAL(result, -ENOMEM);
            nothing_changed(sched, &before, &call);
            refusals++;
            result = adder->add(sched, &call);
        }
        CHECK(result > 0);
        EQUAL(call.id != 0, adder->has_job);
        kept += call.old == 0;
        EQUAL(cleaned, i + 1 - kept);
    }
    advance_ms(sched, 2000);
    EQUAL(tw_sched_run(sched, SIZE_MAX), kept);
    EQUAL(ran, kept);
    end_sched(sched);
    EQUAL(cleaned, adder->has_job ? COUNT : 0);
    return refusals;
}

/* Without memory every growth is refused. With enough of it no call is. */
static void each_addition(tw_family family, const struct adder *adder)
{
    int grants = 0;
    CHECK(additions(family, adder, grants) > 1);
    while (additions(family, adder, ++grants) > 0)
        CHECK(grants < 50);
}

/* A callback that arms its own timer. */
static int64_t arms_itself(void *data, const tw_firing *firing)
{
    ran++;
    EQUAL(tw_sched_arm(firing->sched, firing->id, *(int *)data), 0);
    return 0;
}

/* Kept and pending timers are armed in every way, while nothing can be allocated. */
static void arming(tw_family family)
{
    enum { COUNT = 200, ROUNDS = 6 };
    static uint64_t ids[COUNT];
    tw_sched *sched = new_sched(family);
    tw_timing timing = TW_TIMING_INIT;
    int i, round, delay_ms = 1;
    uint64_t now;
    tw_job job = a_job();
    job.data = &delay_ms;
    job.call = arms_itself;
    job.cleanup = NULL;
    for (i = 0; i < COUNT; i++) {
        job.flags = i % 2 == 0 ? TW_JOB_KEEP : 0;
        CHECK(tw_sched_add_job(sched, &job, &ids[i]) > 0);
    }
    ran = 0;
    grant_only(0);
    for (round = 0; round < ROUNDS; round++) {
        EQUAL(tw_sched_now(sched, &now), 0);
        for (i = 0; i < COUNT; i++) {
            timing.base = i % 8 < 4 ? TW_BASE_WALL : TW_BASE_CLOCK;
            timing.when_ns = (int64_t)now + (i * 7919 + round) % 1000 * 1000000;
            timing.slack_ns = i % 16 < 8 ? 0 : 20000000;
            timing.period_ns = i % 32 < 16 ? 0 : SECOND;
            switch ((i + round) % 3) {
            case 0:
                EQUAL(noted("tw_sched_arm", tw_sched_arm(sched, ids[i], i % 50)), 0);
                break;
            case 1:
                EQUAL(noted("tw_sched_arm_since", tw_sched_arm_since(sched, ids[i], now, i % 70)), 0);
                break;
            default:
                EQUAL(noted("tw_sched_arm_timing", tw_sched_arm_timing(sched, ids[i], &timing)), 0);
            }
        }
        grant_all();
        advance_ms(sched, 40);
        grant_only(0);
        CHECK(tw_sched_run(sched, SIZE_MAX) >= 0);
    }
    grant_all();
    CHECK(ran > COUNT);
    end_sched(sched);
}

int main(void)
{
    int i, family;
    for (family = 0; family < FAMILY_COUNT; family++) {
        for (i = 0; i < ADDER_COUNT; i++)
            each_addition(FAMILIES[family], &ADDERS[i]);
        arming(FAMILIES[family]);
    }
    each_refusal_came(NULL);
    return 0;
}
