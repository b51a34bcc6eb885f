/* Null pointers, nonsense and ended timers: each call returns an error. */
#include <limits.h>

#include "check.h"

static int64_t done(void *data, const tw_firing *firing)
{
    (void)firing;
    if (data != NULL)
        ++*(int *)data;
    return 0;
}

static int cleaned;

static void clean(void *data)
{
    (void)data;
    cleaned++;
}

static void no_sched(tw_sched *sched)
{
    tw_job job = TW_JOB_INIT;
    tw_timing timing = TW_TIMING_INIT;
    tw_sched_info info = TW_SCHED_INFO_INIT;
    tw_sched_counts counts = TW_SCHED_COUNTS_INIT;
    uint64_t number;
    int64_t ms;
    int became;
    char text[4] = "abc";
    job.call = done;
    job.cleanup = clean;
    cleaned = 0;
    EQUAL(tw_sched_add(sched, 1, done, NULL), -EINVAL);
    EQUAL(tw_sched_add_variable(sched, 1, done, NULL), -EINVAL);
    EQUAL(tw_sched_add_at(sched, 1, done, NULL), -EINVAL);
    EQUAL(tw_sched_add_job(sched, &job, &number), -EINVAL);
    EQUAL(tw_sched_replace_job(sched, 1, &job, &became, &number), -EINVAL);
    EQUAL(tw_sched_arm(sched, 1, 1), -EINVAL);
    EQUAL(tw_sched_arm_timing(sched, 1, &timing), -EINVAL);
    EQUAL(tw_sched_cancel_try(sched, 1), -EINVAL);
    EQUAL(tw_sched_cancel_async(sched, 1), -EINVAL);
    EQUAL(tw_sched_cancel_sync(sched, 1), -EINVAL);
    EQUAL(tw_sched_shutdown_async(sched, 1), -EINVAL);
    EQUAL(tw_sched_shutdown_sync(sched, 1), -EINVAL);
    EQUAL(tw_sched_shutdown_token(sched, NULL, &number), -EINVAL);
    EQUAL(tw_sched_find(sched, 1, &info), -EINVAL);
    EQUAL(tw_sched_int(sched, 1), -EINVAL);
    EQUAL(tw_sched_when(sched, 1, &number), -EINVAL);
    EQUAL(tw_sched_remaining(sched, 1, &ms), -EINVAL);
    EQUAL(tw_sched_timeout_ms(sched), -EINVAL);
    EQUAL(tw_sched_set_wake(sched, NULL, NULL), -EINVAL);
    EQUAL(tw_sched_run(sched, 1), -EINVAL);
    EQUAL(tw_sched_start_thread(sched, "x"), -EINVAL);
    EQUAL(tw_sched_stop_thread(sched), -EINVAL);
    EQUAL(tw_sched_fd(sched), -EINVAL);
    EQUAL(tw_sched_fd_ack(sched), -EINVAL);
    EQUAL(tw_sched_now(sched, &number), -EINVAL);
    EQUAL(tw_sched_advance(sched, 1), -EINVAL);
    EQUAL(tw_sched_step_wall(sched, 1), -EINVAL);
    EQUAL(tw_sched_get_counts(sched, &counts), -EINVAL);
    EQUAL(tw_sched_dump(sched, text, sizeof text), -EINVAL);
    EQUAL(tw_sched_report(sched, text, sizeof text), -EINVAL);
    EQUAL(tw_sched_check(sched, text, sizeof text), -EINVAL);
    EQUAL(strcmp(text, "abc"), 0);
    EQUAL(cleaned, 0);
}

static void making(void)
{
    tw_sched *sched = (tw_sched *)&cleaned;
    static const int NO_CLOCK[] = { -1, 1, 3, 256, 261, TW_FAMILY_HEAP4 };
    static const int NO_FAMILY[] = { -1, 9, 99, TW_CLOCK_MONOTONIC, TW_CLOCK_VIRTUAL };
    size_t i;
    EQUAL(create_sched(NULL, TW_FAMILY_DEFAULT, TW_CLOCK_DEFAULT, 0, 0), -EINVAL);
    for (i = 0; i < sizeof NO_FAMILY / sizeof *NO_FAMILY; i++) {
        sched = (tw_sched *)&cleaned;
        EQUAL(create_sched(&sched, (tw_family)NO_FAMILY[i], TW_CLOCK_DEFAULT, 0, 0), -EINVAL);
        CHECK(sched == NULL);
    }
    for (i = 0; i < sizeof NO_CLOCK / sizeof *NO_CLOCK; i++)
        EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, (tw_clock)NO_CLOCK[i], 0, 0), -EINVAL);
    EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_DEFAULT, 0, SIZE_MAX), -ENOMEM);
    CHECK(sched == NULL);
    EQUAL(tw_sched_create(&sched, NULL), 0);
    EQUAL(tw_sched_destroy(sched), 0);
    EQUAL(tw_sched_destroy(NULL), 0);
    EQUAL(create_sched(&sched, TW_FAMILY_AVL, TW_CLOCK_DEFAULT, 0, 0), 0);
    EQUAL(tw_sched_destroy(sched), 0);
    EQUAL(create_sched(&sched, TW_FAMILY_WHEEL, TW_CLOCK_BOOTTIME, UINT64_MAX, 10), 0);
    EQUAL(tw_sched_destroy(sched), 0);
}

static void bad_ids(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT), *other = new_sched(TW_FAMILY_DEFAULT);
    int stale = tw_sched_add(sched, 1, done, NULL), live = tw_sched_add(sched, 1, done, NULL), i;
    tw_job job = TW_JOB_INIT;
    uint64_t foreign = 0, mine = 0, bad[12];
    tw_sched_info info = TW_SCHED_INFO_INIT;
    job.call = done;
    CHECK(tw_sched_add_job(other, &job, &foreign) > 0);
    EQUAL(tw_sched_cancel_try(sched, (uint64_t)stale), 0);
    EQUAL(tw_sched_find(sched, (uint64_t)live, &info), 0);
    mine = info.id;
    EQUAL(tw_sched_int(sched, mine), live);
    EQUAL(tw_sched_int(sched, (uint64_t)live), live);
    bad[0] = 0;
    bad[1] = (uint64_t)-1;
    bad[2] = (uint64_t)-EINVAL;
    bad[3] = (uint64_t)INT_MIN;
    bad[4] = INT_MAX;
    bad[5] = (uint64_t)stale;
    bad[6] = foreign;
    bad[7] = mine + 1;
    bad[8] = mine + (UINT64_C(1) << 32);
    bad[9] = UINT32_MAX;
    bad[10] = UINT64_C(1) << 32;
    bad[11] = (uint64_t)INT64_MIN;
    for (i = 0; i < 12; i++) {
        tw_timing timing = TW_TIMING_INIT;
        uint64_t ns;
        int64_t ms;
        EQUAL(tw_sched_arm(sched, bad[i], 1), -ENOENT);
        EQUAL(tw_sched_arm_timing(sched, bad[i], &timing), -ENOENT);
        EQUAL(tw_sched_cancel_try(sched, bad[i]), -ENOENT);
        EQUAL(tw_sched_cancel_async(sched, bad[i]), -ENOENT);
        EQUAL(tw_sched_cancel_sync(sched, bad[i]), -ENOENT);
        EQUAL(tw_sched_shutdown_async(sched, bad[i]), -ENOENT);
        EQUAL(tw_sched_shutdown_sync(sched, bad[i]), -ENOENT);
        EQUAL(tw_sched_find(sched, bad[i], &info), -ENOENT);
        EQUAL(tw_sched_int(sched, bad[i]), -ENOENT);
        EQUAL(tw_sched_when(sched, bad[i], &ns), -ENOENT);
        EQUAL(tw_sched_remaining(sched, bad[i], &ms), -ENOENT);
    }
    EQUAL(tw_sched_arm(sched, (uint64_t)live, -1), -EINVAL);
    EQUAL(tw_sched_arm_timing(sched, (uint64_t)live, NULL), -EINVAL);
    /* Output pointers that are null. */
    EQUAL(tw_sched_find(sched, mine, NULL), 0);
    EQUAL(tw_sched_when(sched, mine, NULL), 1);
    EQUAL(tw_sched_remaining(sched, mine, NULL), 1);
    EQUAL(tw_sched_now(sched, NULL), 0);
    EQUAL(tw_sched_get_counts(sched, NULL), 0);
    EQUAL(tw_sched_shutdown_token(sched, &mine, NULL), 0);
    EQUAL(tw_sched_cancel_try(sched, mine), TW_CANCEL_REMOVED);
    EQUAL(tw_sched_cancel_try(sched, (uint64_t)live), -ENOENT);
    end_sched(sched);
    end_sched(other);
}

static void delays(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    static const int64_t NEGATIVE[] = { -1, -300, INT64_MIN };
    static const int BASES[] = { TW_BASE_CLOCK, TW_BASE_WALL, TW_BASE_SINCE };
    static const int MISSED[] = { TW_MISSED_BURST, TW_MISSED_SKIP, TW_MISSED_DELAY, TW_MISSED_PERSIST };
    tw_timing base = TW_TIMING_INIT, timing;
    tw_job job = TW_JOB_INIT;
    int count = 0, i;
    job.call = done;
    job.cleanup = clean;
    cleaned = 0;
    for (i = 0; i < 3; i++) {
        EQUAL(tw_sched_add(sched, NEGATIVE[i], done, NULL), -EINVAL);
        EQUAL(tw_sched_add_variable(sched, NEGATIVE[i], done, NULL), -EINVAL);
        job.timing = base;
        job.timing.when_ns = NEGATIVE[i];
        EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
        job.timing = base;
        job.timing.period_ns = NEGATIVE[i];
        EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
        job.timing = base;
        job.timing.slack_ns = NEGATIVE[i];
        EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    }
    timing = base;
    timing.base = (tw_base)4;
    job.timing = timing;
    EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    timing = base;
    timing.missed = (tw_missed)517;
    job.timing = timing;
    EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    /* The number of one enum in the field of the other. */
    for (i = 0; i < 3; i++) {
        job.timing = base;
        job.timing.missed = (tw_missed)BASES[i];
        EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    }
    for (i = 0; i < 4; i++) {
        job.timing = base;
        job.timing.base = (tw_base)MISSED[i];
        EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    }
    for (i = 0; i < 3; i++) {
        timing = base;
        timing.reserved[i] = 1;
        job.timing = timing;
        EQUAL(tw_sched_add_job(sched, &job, NULL), -E2BIG);
    }
    job.timing = base;
    job.flags = 4;
    EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    job.flags = TW_JOB_KEEP;
    EQUAL(tw_sched_replace_job(sched, 1, &job, NULL, NULL), -EINVAL);
    job.flags = 0;
    job.call = NULL;
    EQUAL(tw_sched_add_job(sched, &job, NULL), -EINVAL);
    EQUAL(tw_sched_add_job(sched, NULL, NULL), -EINVAL);
    EQUAL(tw_sched_add(sched, 1, NULL, NULL), -EINVAL);
    EQUAL(tw_sched_add_variable(sched, 1, NULL, NULL), -EINVAL);
    EQUAL(tw_sched_add_at(sched, 1, NULL, NULL), -EINVAL);
    EQUAL(cleaned, 0);
    EQUAL(tw_sched_timeout_ms(sched), -1);

    CHECK(tw_sched_add(sched, INT64_MAX, done, &count) > 0); /* never */
    EQUAL(tw_sched_timeout_ms(sched), INT_MAX);
    CHECK(tw_sched_add(sched, 0, done, &count) > 0);
    CHECK(tw_sched_add_from(sched, 0, done, &count, NULL, NULL, -1) > 0);
    CHECK(tw_sched_add_at(sched, 0, done, &count) > 0); /* the past */
    EQUAL(tw_sched_timeout_ms(sched), 0);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 3);
    EQUAL(tw_sched_advance(sched, UINT64_C(1) << 60), 0);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 0);
    EQUAL(count, 3);
    end_sched(sched);

    /* A clock without a time of day; one that is not virtual. */
    EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_MONOTONIC, 0, 0), 0);
    job.call = done;
    job.timing.base = TW_BASE_WALL;
    EQUAL(tw_sched_add_job(sched, &job, NULL), -ENOTSUP);
    EQUAL(cleaned, 0);
    EQUAL(tw_sched_advance(sched, 1), -ENOTSUP);
    EQUAL(tw_sched_step_wall(sched, 1), -ENOTSUP);
    EQUAL(tw_sched_stop_thread(sched), -ENOENT);
    int fd = tw_sched_fd(sched);
    EQUAL(tw_sched_fd_ack(sched), fd >= 0 ? 0 : -ENOTSUP);
    end_sched(sched);
}

/* A scheduler of one thread has no thread of its own, but may have a descriptor. A loop that sleeps
 * for its time-out may arm an earlier timer. */
static void one_thread(void)
{
    tw_sched *sched = NULL;
    int ran = 0;
    sched_flags = TW_SCHED_ONE_THREAD << 1;
    EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_VIRTUAL, 0, 0), -EINVAL);
    CHECK(sched == NULL);
    sched_flags = TW_SCHED_ONE_THREAD;
    sched = new_sched(TW_FAMILY_DEFAULT);
    EQUAL(tw_sched_start_thread(sched, "x"), -ENOTSUP);
    EQUAL(tw_sched_stop_thread(sched), -ENOENT);
    CHECK(tw_sched_add(sched, 50, done, &ran) > 0);
    EQUAL(tw_sched_timeout_ms(sched), 50);
    CHECK(tw_sched_add(sched, 20, done, &ran) > 0);
    EQUAL(tw_sched_timeout_ms(sched), 20);
    advance_ms(sched, 50);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 2);
    EQUAL(ran, 2);
    end_sched(sched);
    EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_DEFAULT, 0, 0), 0);
    int fd = tw_sched_fd(sched);
    EQUAL(tw_sched_fd_ack(sched), fd >= 0 ? 0 : -ENOTSUP);
    end_sched(sched);
    sched_flags = 0;
}

static void texts(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    char text[4096], small[10];
    ptrdiff_t length;
    CHECK(tw_sched_add(sched, 1234, done, NULL) > 0);
    CHECK(tw_sched_add_from(sched, 0, done, NULL, "\xff", "file", 7) > 0);
    length = tw_sched_dump(sched, text, sizeof text);
    CHECK(length > 0 && (size_t)length == strlen(text));
    CHECK(strstr(text, "1.234 s") != NULL && strstr(text, "done (") != NULL && strstr(text, "not UTF-8") != NULL);
    EQUAL(tw_sched_dump(sched, small, sizeof small), length);
    CHECK(strlen(small) == 9 && strncmp(small, text, 9) == 0);
    EQUAL(tw_sched_dump(sched, NULL, 0), length);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    length = tw_sched_report(sched, text, sizeof text);
    CHECK(length > 0 && (size_t)length == strlen(text));
    CHECK(strstr(text, "fired 1") != NULL && strstr(text, "lateness") != NULL && strstr(text, __FILE__) != NULL);
    EQUAL(tw_sched_report(sched, small, 1), length);
    EQUAL(small[0], 0);
    end_sched(sched);
}

int main(void)
{
    uint64_t nonsense[40];
    no_sched(NULL);
    memset(nonsense, 0x5a, sizeof nonsense);
    no_sched((tw_sched *)nonsense);
    no_sched((tw_sched *)((char *)nonsense + 1));
    memset(nonsense, 0, sizeof nonsense);
    no_sched((tw_sched *)nonsense);
    EQUAL(tw_sched_destroy((tw_sched *)nonsense), -EINVAL);
    making();
    bad_ids();
    delays();
    texts();
    one_thread();
    CHECK(strcmp(tw_strerror(-EDEADLK), tw_strerror(-1)) != 0);
    CHECK(strcmp(tw_strerror(-ECANCELED), tw_strerror(-1)) != 0);
    CHECK(strcmp(tw_strerror(-ENOTSUP), tw_strerror(-1)) != 0);
    CHECK(strcmp(tw_strerror(-EAGAIN), tw_strerror(-1)) != 0);
    return 0;
}
