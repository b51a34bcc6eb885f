/* When callbacks run, and in which order. Also the test of Asterisk's scheduler, rewritten. */
#include "check.h"

enum { MOST = 64 };

static int ran[MOST], ran_count;

static int64_t note(void *data, const tw_firing *firing)
{
    CHECK(firing->due_ns <= firing->now_ns);
    CHECK(ran_count < MOST);
    ran[ran_count++] = (int)(intptr_t)data;
    return 0;
}

static int add(tw_sched *sched, int64_t delay_ms, int number)
{
    int id = tw_sched_add(sched, delay_ms, note, (void *)(intptr_t)number);
    CHECK(id > 0);
    return id;
}

static ptrdiff_t run(tw_sched *sched)
{
    ran_count = 0;
    return tw_sched_run(sched, SIZE_MAX);
}

/* Of a granular family, a timer may be late by an eighth of its delay. */
static void as_asterisk(tw_family family)
{
    tw_sched *sched = new_sched(family);
    int last, middle, first, i;
    EQUAL(tw_sched_timeout_ms(sched), -1);
    last = add(sched, 100000, 0);
    CHECK(tw_sched_timeout_ms(sched) >= 100000 && tw_sched_timeout_ms(sched) <= 114000);
    middle = add(sched, 10000, 0);
    CHECK(tw_sched_timeout_ms(sched) >= 10000 && tw_sched_timeout_ms(sched) <= 11400);
    first = add(sched, 1000, 0);
    CHECK(tw_sched_timeout_ms(sched) >= 1000 && tw_sched_timeout_ms(sched) <= 1140);
    EQUAL(tw_sched_cancel_try(sched, (uint64_t)first), TW_CANCEL_REMOVED);
    CHECK(tw_sched_timeout_ms(sched) > 1140);
    EQUAL(tw_sched_cancel_async(sched, (uint64_t)middle), TW_CANCEL_REMOVED);
    CHECK(tw_sched_timeout_ms(sched) > 11400);
    EQUAL(tw_sched_cancel_sync(sched, (uint64_t)last), TW_CANCEL_REMOVED);
    EQUAL(tw_sched_timeout_ms(sched), -1);

    for (i = 0; i < 15; i++)
        add(sched, i % 2 == 0 ? 300 : 0, i);
    advance_ms(sched, 50);
    EQUAL(run(sched), 7);
    for (i = 0; i < 7; i++)
        EQUAL(ran[i], 2 * i + 1);
    advance_ms(sched, 300);
    EQUAL(run(sched), 8);
    for (i = 0; i < 8; i++)
        EQUAL(ran[i], 2 * i);
    EQUAL(tw_sched_timeout_ms(sched), -1);
    EQUAL(run(sched), 0);
    end_sched(sched);
}

/* Random delays in ms, in every structure: due order, ties as they were added. */
static void sorted(tw_family family)
{
    uint64_t random = 99;
    int64_t due[MOST];
    tw_sched *sched = new_sched(family);
    int i;
    for (i = 0; i < MOST; i++) {
        due[i] = (int64_t)(next_random(&random) % 20);
        add(sched, due[i], i);
    }
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    advance_ms(sched, 30);
    EQUAL(run(sched), MOST);
    for (i = 1; i < MOST; i++)
        CHECK(due[ran[i - 1]] < due[ran[i]] || (due[ran[i - 1]] == due[ran[i]] && ran[i - 1] < ran[i]));
    end_sched(sched);
}

static int answers;

static int64_t three_times(void *data, const tw_firing *firing)
{
    (void)firing;
    ran[ran_count++] = (int)(intptr_t)data;
    return ++answers < 3 ? 7 : 0;
}

static int64_t always(void *data, const tw_firing *firing)
{
    (void)firing;
    ++*(int *)data;
    return -1;
}

/* A timer runs again after its delay, or after the delay that the callback returns. Both count from
 * the previous due time, and never end before now. */
static void again(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_RB);
    uint64_t due = 0;
    int64_t left = 0;
    int id, count = 0;
    answers = 0;
    id = tw_sched_add(sched, 100, three_times, NULL);
    advance_ms(sched, 130);
    EQUAL(run(sched), 1);
    EQUAL(tw_sched_when(sched, (uint64_t)id, &due), 1);
    EQUAL(due, 200000000);
    EQUAL(tw_sched_remaining(sched, (uint64_t)id, &left), 1);
    EQUAL(left, 70);
    advance_ms(sched, 1000);
    EQUAL(run(sched), 1);
    EQUAL(tw_sched_when(sched, (uint64_t)id, &due), 1);
    EQUAL(due, 1130000000);
    EQUAL(run(sched), 1);
    EQUAL(tw_sched_when(sched, (uint64_t)id, &due), -ENOENT);

    answers = 0;
    id = tw_sched_add_variable(sched, 100, three_times, NULL);
    advance_ms(sched, 102);
    EQUAL(run(sched), 1);
    EQUAL(tw_sched_remaining(sched, (uint64_t)id, &left), 1);
    EQUAL(left, 5);
    EQUAL(tw_sched_cancel_try(sched, (uint64_t)id), TW_CANCEL_REMOVED);

    /* After any result but 0 the timer runs again, except after a result below 0 of a variable
     * timer. */
    id = tw_sched_add(sched, 0, always, &count);
    EQUAL(run(sched), 1);
    EQUAL(run(sched), 1);
    EQUAL(tw_sched_cancel_try(sched, (uint64_t)id), TW_CANCEL_REMOVED);
    CHECK(tw_sched_add_variable(sched, 0, always, &count) > 0);
    EQUAL(run(sched), 1);
    EQUAL(run(sched), 0);
    EQUAL(count, 3);

    /* A run with a budget leaves the other timers in order. */
    for (id = 0; id < 5; id++)
        add(sched, 0, id);
    ran_count = 0;
    EQUAL(tw_sched_run(sched, 2), 2);
    EQUAL(tw_sched_timeout_ms(sched), 0);
    EQUAL(tw_sched_run(sched, 0), 0);
    EQUAL(tw_sched_run(sched, 3), 3);
    for (id = 0; id < 5; id++)
        EQUAL(ran[id], id);
    end_sched(sched);
}

static uint64_t overruns, due_at;
static int64_t period(void *data, const tw_firing *firing)
{
    (void)data;
    overruns = firing->overruns;
    due_at = firing->due_ns;
    return 1;
}

static void periods(void)
{
    static const struct { tw_missed missed; uint64_t overruns, due, next; } ROWS[] = {
        { TW_MISSED_COLLAPSE, 2, 20, 47 }, { TW_MISSED_BURST, 0, 20, 30 },
        { TW_MISSED_SKIP, 2, 40, 50 },     { TW_MISSED_DELAY, 2, 20, 57 },
        { TW_MISSED_PERSIST, 2, 20, 57 },
    };
    size_t row;
    for (row = 0; row < sizeof ROWS / sizeof *ROWS; row++) {
        tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
        uint64_t id = 0, due = 0;
        tw_job job = TW_JOB_INIT;
        job.call = period;
        job.timing.missed = ROWS[row].missed;
        job.timing.base = TW_BASE_CLOCK;
        job.timing.when_ns = 20;
        job.timing.period_ns = 10;
        CHECK(tw_sched_add_job(sched, &job, &id) > 0);
        EQUAL(tw_sched_advance(sched, 47), 0);
        EQUAL(run(sched), 1);
        EQUAL(overruns, ROWS[row].overruns);
        EQUAL(due_at, ROWS[row].due);
        EQUAL(tw_sched_when(sched, id, &due), 1);
        EQUAL(due, ROWS[row].next);
        end_sched(sched);
    }
}

/* The time of day is set forward and back. Timers with delays are not affected. */
static void wall(void)
{
    const int64_t HOUR = INT64_C(3600000000000);
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    tw_sched_counts counts = TW_SCHED_COUNTS_INIT;
    uint64_t wall_id = 0;
    int64_t left = 0;
    tw_job job = TW_JOB_INIT;
    int steady = add(sched, 1000, 1);
    job.call = note;
    job.timing.base = TW_BASE_WALL;
    job.timing.when_ns = HOUR;
    CHECK(tw_sched_add_job(sched, &job, &wall_id) > 0);
    EQUAL(tw_sched_step_wall(sched, -HOUR), 0);
    CHECK(tw_sched_timeout_ms(sched) == 1000);
    EQUAL(tw_sched_remaining(sched, wall_id, &left), 1);
    EQUAL(left, 7200000);
    EQUAL(tw_sched_step_wall(sched, 2 * HOUR), 0);
    EQUAL(tw_sched_timeout_ms(sched), 0);
    EQUAL(run(sched), 1);
    EQUAL(tw_sched_remaining(sched, (uint64_t)steady, &left), 1);
    EQUAL(left, 1000);
    EQUAL(tw_sched_get_counts(sched, &counts), 0);
    EQUAL(counts.steps, 2);
    end_sched(sched);
}

/* Timers with slack meet. */
static void slack(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    tw_timing timing = TW_TIMING_INIT;
    tw_job job = TW_JOB_INIT;
    int i;
    timing.slack_ns = 4000000;
    job.call = note;
    for (i = 0; i < 10; i++) {
        timing.when_ns = 20000000 + i * 100000;
        job.timing = timing;
        CHECK(tw_sched_add_job(sched, &job, NULL) > 0);
    }
    advance_ms(sched, 19);
    EQUAL(run(sched), 0);
    advance_ms(sched, (uint64_t)tw_sched_timeout_ms(sched));
    EQUAL(run(sched), 10);
    end_sched(sched);
}

/* Delays that count from a time that the caller has read, 30 ms ago. */
static void since(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    tw_job job = TW_JOB_INIT;
    uint64_t now, id;
    int64_t left;
    int first;
    job.call = note;
    EQUAL(tw_sched_now(sched, &now), 0);
    advance_ms(sched, 30);
    first = tw_sched_add_since(sched, now, 100, note, NULL);
    CHECK(first > 0);
    EQUAL(tw_sched_remaining(sched, (uint64_t)first, &left), 1);
    EQUAL(left, 70);
    job.timing.base = TW_BASE_SINCE;
    job.timing.since_ns = now;
    job.timing.when_ns = 40 * 1000000;
    CHECK(tw_sched_add_job(sched, &job, &id) > 0);
    EQUAL(tw_sched_remaining(sched, id, &left), 1);
    EQUAL(left, 10);
    EQUAL(tw_sched_arm_since(sched, id, now, 50), 0);
    EQUAL(tw_sched_remaining(sched, id, &left), 1);
    EQUAL(left, 20);
    EQUAL(tw_sched_arm_since(sched, id, now, 10), 0);
    EQUAL(tw_sched_timeout_ms(sched), 0);
    EQUAL(run(sched), 1);
    /* The base is the only one that reads the field. */
    job.timing.base = TW_BASE_NOW;
    CHECK(tw_sched_add_job(sched, &job, &id) > 0);
    EQUAL(tw_sched_remaining(sched, id, &left), 1);
    EQUAL(left, 40);
    EQUAL(tw_sched_arm_since(sched, id, now, -1), -EINVAL);
    EQUAL(tw_sched_arm_since(NULL, id, now, 1), -EINVAL);
    EQUAL(tw_sched_arm_since(sched, UINT64_MAX, now, 1), -ENOENT);
    EQUAL(tw_sched_add_since(sched, now, -1, note, NULL), -EINVAL);
    EQUAL(tw_sched_add_since(sched, now, 1, NULL, NULL), -EINVAL);
    /* Beyond the end of the clock it is never due. */
    EQUAL(tw_sched_arm_since(sched, id, UINT64_MAX, INT64_MAX), 0);
    advance_ms(sched, 70);
    EQUAL(run(sched), 1);
    EQUAL(run(sched), 0);
    end_sched(sched);
}

int main(void)
{
    for (sched_flags = 0; sched_flags <= TW_SCHED_ONE_THREAD; sched_flags++) {
        int i;
        for (i = 0; i < FAMILY_COUNT; i++) {
            as_asterisk(FAMILIES[i]);
            if (FAMILIES[i] != TW_FAMILY_COARSE)
                sorted(FAMILIES[i]);
        }
        again();
        periods();
        wall();
        slack();
        since();
    }
    return 0;
}
