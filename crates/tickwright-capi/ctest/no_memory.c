/* Memory runs out at each allocation in turn: each call succeeds or changes nothing. Queues never
 * allocate memory. */
#include "supply.h"

struct item {
    size_t position;
    int value;
};

static int by_value(const void *a, const void *b, void *user)
{
    const struct item *left = (const struct item *)a, *right = (const struct item *)b;
    (void)user;
    return (left->value > right->value) - (left->value < right->value);
}

static void fire(const tw_expired *fired, void *user)
{
    (void)fired;
    (void)user;
}

static void heaps(void)
{
    enum { COUNT = 200 };
    static struct item items[COUNT];
    int grants, refusals = 0;
    for (grants = 0; grants < 12; grants++) {
        tw_heap *heap = NULL;
        void *popped;
        int i, result, pushed = 0;
        grant_only(grants);
        result = tw_heap_create(&heap, 0, by_value, NULL, 0);
        if (result != 0) {
            EQUAL(result, -ENOMEM);
            CHECK(heap == NULL);
            refusals++;
            grant_all();
            continue;
        }
        for (i = 0; i < COUNT; i++) {
            items[i].value = i * 7919 % COUNT;
            items[i].position = 0;
            result = tw_heap_push(heap, &items[i]);
            pushed += result == 0;
            if (result != 0) {
                EQUAL(result, -ENOMEM);
                EQUAL(items[i].position, 0);
                refusals++;
                grant_all();
                EQUAL(tw_heap_len(heap), pushed);
                EQUAL(tw_heap_check(heap, NULL, 0), 0);
                grant_only(0);
            }
        }
        for (i = 0; i < pushed; i++)
            EQUAL(tw_heap_pop(heap, &popped), 1);
        EQUAL(tw_heap_destroy(heap), 0);
        grant_all();
    }
    CHECK(refusals > COUNT);
}

/* After the caller has given the memory, the library allocates nothing: no grant is needed. */
static void queues(tw_family family)
{
    enum { COUNT = 100 };
    static tw_timer timers[COUNT];
    size_t size = tw_queue_bytes(family, COUNT);
    void *memory = malloc(size);
    tw_queue *queue;
    tw_expired fired = TW_EXPIRED_INIT;
    int i, round;
    grant_only(0);
    EQUAL(tw_queue_init(&queue, memory, size, family, COUNT), 0);
    for (round = 0; round < 20; round++) {
        for (i = 0; i < COUNT; i++)
            CHECK(tw_queue_insert(queue, &timers[i], (uint64_t)(round * 1000 + i * 7919 % 1000)) >= 0);
        for (i = 0; i < COUNT; i += 3)
            CHECK(tw_queue_reschedule(queue, &timers[i], (uint64_t)(round * 1000 + i)) >= 0);
        for (i = 0; i < COUNT; i += 2)
            CHECK(tw_queue_remove(queue, &timers[i]) >= 0);
        EQUAL(tw_queue_pop_expired(queue, (uint64_t)(round * 1000 + 999), &fired) >= 0, 1);
        CHECK(tw_queue_advance(queue, (uint64_t)(round * 1000 + 1600), SIZE_MAX, fire, NULL, NULL) == 0);
        EQUAL(tw_queue_check(queue, NULL, 0), 0);
        EQUAL(tw_queue_clear(queue), 0);
    }
    EQUAL(tw_queue_destroy(queue), 0);
    grant_all();
    free(memory);
}

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
        result = create_sched(&sched, family, CLOCKS[grants % 4], 0, (size_t)(grants % 2) * 10);
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
        length = tw_sched_dump(sched, text, sizeof text);
        CHECK(length > 0 || length == -ENOMEM);
        length = tw_sched_report(sched, text, sizeof text);
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
        result = create_sched(&sched, TW_FAMILY_DEFAULT, clock, 0, 0);
        grant_all();
        if (result != 0) {
            EQUAL(result, -ENOMEM);
            CHECK(sched == NULL);
            refusals++;
            continue;
        }
        CHECK(tw_sched_add(sched, 0, once_more, &count) > 0);
        grant_only(grants);
        result = tw_sched_start_thread(sched, grants % 2 == 0 ? NULL : "a thread with a name of some length");
        grant_all();
        if (result == -ENOMEM) {
            refusals++;
            EQUAL(tw_sched_stop_thread(sched), -ENOENT);
        } else {
            EQUAL(result, 0);
            done++;
            grant_only(grants);
            result = tw_sched_advance(sched, 1000000);
            if (clock != TW_CLOCK_VIRTUAL)
                EQUAL(result, -ENOTSUP);
            else if (result != -ENOMEM)
                EQUAL(result, 0);
            else
                refusals++;
            grant_all();
            EQUAL(tw_sched_stop_thread(sched), 0);
        }
        grant_only(grants);
        result = tw_sched_fd(sched);
        grant_all();
        if (result == -ENOMEM) {
            refusals++;
            EQUAL(tw_sched_fd_ack(sched), -ENOENT);
            CHECK(tw_sched_fd(sched) >= 0);
        } else {
            CHECK(clock == TW_CLOCK_VIRTUAL ? result == -ENOTSUP : result >= 0);
        }
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
    heaps();
    for (i = 0; i < FAMILY_COUNT; i++) {
        schedulers(FAMILIES[i]);
        scheduler_with_room(FAMILIES[i]);
    }
    for (i = 0; i < FAMILY_COUNT; i++)
        queues(FAMILIES[i]);
    for (i = 0; i < 4; i++)
        drives(CLOCKS[i]);
    return 0;
}
