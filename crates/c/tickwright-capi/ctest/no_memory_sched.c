/* Memory runs out at each allocation of a scheduler in turn: each call succeeds or changes nothing.
 * Calls that add and arm timers are in no_memory_add.c. */
#define REFUSALS \
    { "tw_sched_create", ENOMEM }, \
    { "tw_sched_start_thread", ENOMEM }, \
    { "tw_sched_fd", ENOMEM }, \
    { "tw_sched_set_wake", ENOMEM }, \
    { "tw_sched_advance", ENOMEM }, \
    { "tw_sched_step_wall", ENOMEM }, \
    { "tw_sched_dump", ENOMEM }, \
    { "tw_sched_report", ENOMEM }
#include "refusals.h"

static const tw_clock CLOCKS[] = { TW_CLOCK_MONOTONIC, TW_CLOCK_BOOTTIME, TW_CLOCK_REALTIME, TW_CLOCK_VIRTUAL };
static int cleaned;

static void clean(void *data)
{
    (void)data;
    cleaned++;
}

static int64_t once_more(void *data, const tw_firing *firing)
{
    (void)firing;
    return --*(int *)data > 0;
}

/* Each call of a scheduler is refused or succeeds. A refused timer is not cleaned up, and an added
 * one is cleaned up once. */
static void schedulers(tw_family family)
{
    enum { COUNT = 150 };
    static int runs[COUNT];
    static uint64_t ids[COUNT];
    int grants, refusals = 0;
    for (grants = 0; grants < 24; grants++) {
        tw_sched *sched = NULL;
        int i, result, added = 0, became;
        char text[64];
        ptrdiff_t length;
        tw_job job = TW_JOB_INIT;
        job.call = once_more;
        job.cleanup = clean;
        cleaned = 0;
        grant_only(grants);
        result = noted("tw_sched_create", create_sched(&sched, family, CLOCKS[grants % 4], 0, (size_t)(grants % 2) * 10));
        if (result != 0) {
            grant_all();
            EQUAL(result, -ENOMEM);
            CHECK(sched == NULL);
            refusals++;
            continue;
        }
        for (i = 0; i < COUNT; i++) {
            ids[i] = 0;
            runs[i] = i % 3;
            job.data = &runs[i];
            job.timing.when_ns = i % 4 == 0 ? 0 : 1000000000;
            job.flags = i % 7 == 0 ? TW_JOB_KEEP : 0;
            job.token = i % 5 == 0 ? &runs[0] : NULL;
            result = i % 11 == 10 && job.flags == 0
                         ? tw_sched_replace_job(sched, ids[i - 1], &job, &became, &ids[i])
                         : tw_sched_add_job(sched, &job, &ids[i]);
            if (result < 0) {
                EQUAL(result, -ENOMEM);
                EQUAL(ids[i], 0);
                refusals++;
                grant_all();
                EQUAL(tw_sched_check(sched, NULL, 0), 0);
                grant_only(0);
            }
            added += result > 0;
        }
        grant_only(0); /* all the rest asks for nothing, or says so */
        for (i = 0; i < COUNT; i += 7) {
            result = tw_sched_arm(sched, ids[i], 0);
            EQUAL(result, ids[i] == 0 ? -ENOENT : 0);
        }
        CHECK(tw_sched_timeout_ms(sched) >= -1);
        for (i = 0; i < 5; i++)
            CHECK(tw_sched_run(sched, SIZE_MAX) >= 0);
        for (i = 0; i < COUNT; i += 3) {
            result = i % 2 == 0 ? tw_sched_cancel_sync(sched, ids[i]) : tw_sched_cancel_try(sched, ids[i]);
            CHECK(result >= 0 || result == -ENOENT);
        }
        length = noted("tw_sched_dump", tw_sched_dump(sched, text, sizeof text));
        CHECK(length > 0 || length == -ENOMEM);
        length = noted("tw_sched_report", tw_sched_report(sched, text, sizeof text));
        CHECK(length > 0 || length == -ENOMEM);
        EQUAL(tw_sched_get_counts(sched, NULL), 0);
        CHECK(tw_sched_shutdown_token(sched, &runs[0], NULL) >= 0);
        EQUAL(tw_sched_check(sched, NULL, 0), 0);
        EQUAL(tw_sched_destroy(sched), 0);
        EQUAL(cleaned, added);
        grant_all();
    }
    CHECK(refusals > COUNT);
}

/* When a timer is due at a time of day, by the scheduler's clock. */
static uint64_t due_of(tw_sched *sched, uint64_t id)
{
    uint64_t due = 0;
    EQUAL(tw_sched_when(sched, id, &due), 1);
    return due;
}

/* Moves the clock of a scheduler that has a thread, and then its time of day. A refused call leaves
 * them as they were. Returns the number of refusals. */
static int moves(tw_sched *sched, tw_clock clock)
{
    static const int64_t STEP = 1000000, HOUR = INT64_C(3600000000000);
    int grants, result, refusals = 0, count = 0, is_virtual = clock == TW_CLOCK_VIRTUAL;
    tw_job job = TW_JOB_INIT;
    uint64_t id = 0, before, after, due;
    job.call = once_more;
    job.data = &count;
    job.timing.base = is_virtual ? TW_BASE_WALL : TW_BASE_NOW;
    job.timing.when_ns = HOUR;
    CHECK(tw_sched_add_job(sched, &job, &id) > 0);
    for (grants = 0; grants < 5; grants++) {
        EQUAL(tw_sched_now(sched, &before), 0);
        grant_only(grants);
        result = noted("tw_sched_advance", tw_sched_advance(sched, (uint64_t)STEP));
        grant_all();
        EQUAL(tw_sched_now(sched, &after), 0);
        if (is_virtual)
            EQUAL(after - before, result == 0 ? STEP : 0);
        refusals += result == -ENOMEM;
        if (result != -ENOMEM)
            EQUAL(result, is_virtual ? 0 : -ENOTSUP);
        due = due_of(sched, id);
        grant_only(grants);
        result = noted("tw_sched_step_wall", tw_sched_step_wall(sched, STEP));
        grant_all();
        EQUAL(due - due_of(sched, id), result == 0 ? STEP : 0);
        refusals += result == -ENOMEM;
        if (result != -ENOMEM)
            EQUAL(result, is_virtual ? 0 : -ENOTSUP);
    }
    CHECK(is_virtual ? refusals > 0 && refusals < 2 * grants : refusals == 0);
    EQUAL(tw_sched_cancel_sync(sched, id), TW_CANCEL_REMOVED);
    return refusals;
}

/* Makes the descriptor of a scheduler, with ever more memory. Returns the number of refusals. */
static int makes_a_descriptor(tw_sched *sched, tw_clock clock)
{
    int grants = 0, result;
    for (;;) {
        grant_only(grants);
        result = noted("tw_sched_fd", tw_sched_fd(sched));
        grant_all();
        if (result != -ENOMEM)
            break;
        EQUAL(tw_sched_fd_ack(sched), -ENOENT);
        CHECK(++grants < 50);
    }
    CHECK(clock == TW_CLOCK_VIRTUAL ? result == -ENOTSUP : result >= 0 && grants > 0);
    return grants;
}

static void wakes(void *data)
{
    ++*(int *)data;
}

static void *adds(void *sched)
{
    static int runs = 1;
    CHECK(tw_sched_add((tw_sched *)sched, 1, once_more, &runs) > 0);
    return NULL;
}

/* Sets the function that wakes a loop. A refused call leaves the one before. */
static void sets_a_wake(void)
{
    tw_sched *sched = NULL;
    pthread_t thread;
    int first = 0, second = 0, result;
    EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_VIRTUAL, 0, 0), 0);
    EQUAL(tw_sched_set_wake(sched, wakes, &first), 0);
    grant_only(0);
    result = noted("tw_sched_set_wake", tw_sched_set_wake(sched, wakes, &second));
    grant_all();
    EQUAL(result, -ENOMEM);
    EQUAL(tw_sched_timeout_ms(sched), -1);
    EQUAL(pthread_create(&thread, NULL, adds, sched), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    EQUAL(first, 1);
    EQUAL(second, 0);
    EQUAL(tw_sched_destroy(sched), 0);
}

/* Makes a scheduler with each clock, a thread and a descriptor, and moves its clock. With each
 * further grant more of the calls succeed. A refused call returns an error, and leaves the
 * scheduler as it was. */
static void drives(tw_clock clock)
{
    int grants, refusals = 0, done = 0;
    for (grants = 0; done < 3; grants++) {
        tw_sched *sched = NULL;
        int result, count = 1;
        CHECK(grants < 200);
        grant_only(grants);
        result = noted("tw_sched_create", create_sched(&sched, TW_FAMILY_DEFAULT, clock, 0, 0));
        grant_all();
        if (result != 0) {
            EQUAL(result, -ENOMEM);
            CHECK(sched == NULL);
            refusals++;
            continue;
        }
        CHECK(tw_sched_add(sched, 0, once_more, &count) > 0);
        grant_only(grants);
        result = noted("tw_sched_start_thread",
                       tw_sched_start_thread(sched, grants % 2 == 0 ? NULL : "a thread with a name of some length"));
        grant_all();
        if (result == -ENOMEM) {
            refusals++;
            EQUAL(tw_sched_stop_thread(sched), -ENOENT);
        } else {
            EQUAL(result, 0);
            done++;
            refusals += moves(sched, clock);
            EQUAL(tw_sched_stop_thread(sched), 0);
        }
        refusals += makes_a_descriptor(sched, clock);
        EQUAL(tw_sched_check(sched, NULL, 0), 0);
        EQUAL(tw_sched_destroy(sched), 0);
    }
    CHECK(refusals > 5);
}

/* Up to the capacity, the scheduler allocates nothing. */
static void scheduler_with_room(tw_family family)
{
    enum { COUNT = 100 };
    tw_sched *sched = NULL;
    int i, round, runs = 0, ids[COUNT];
    EQUAL(create_sched(&sched, family, TW_CLOCK_MONOTONIC, 0, COUNT), 0);
    for (round = 0; round < 20; round++) {
        grant_only(0);
        for (i = 0; i < COUNT; i++)
            CHECK((ids[i] = tw_sched_add(sched, i % 2 * 1000000, once_more, &runs)) > 0);
        CHECK(tw_sched_run(sched, SIZE_MAX) >= 0);
        for (i = 0; i < COUNT; i++) {
            int answer = tw_sched_cancel_sync(sched, (uint64_t)ids[i]);
            CHECK(answer == 0 || answer == -ENOENT);
        }
        grant_all();
    }
    EQUAL(tw_sched_destroy(sched), 0);
}

int main(void)
{
    int i;
    for (i = 0; i < FAMILY_COUNT; i++) {
        schedulers(FAMILIES[i]);
        scheduler_with_room(FAMILIES[i]);
    }
    for (i = 0; i < 4; i++)
        drives(CLOCKS[i]);
    sets_a_wake();
    each_refusal_came(NULL);
    return 0;
}
