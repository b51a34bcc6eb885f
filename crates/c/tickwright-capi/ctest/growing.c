/* Structs whose first field is their size, in programs with older and newer headers. Also the
 * macros of the headers, and the functions beside the macros. */
#include "models.h"

/* A struct of a later version, with one more field. */
#define LATER(type) \
    union { \
        type now; \
        struct { \
            char known[sizeof(type)]; \
            uint64_t more; \
        } later; \
    }

static const size_t NO_SIZES[] = { 0, 1, sizeof(size_t), 4097, SIZE_MAX };
enum { NO_SIZE_COUNT = sizeof NO_SIZES / sizeof *NO_SIZES };

static int calls;

static int64_t call(void *data, const tw_firing *firing)
{
    (void)data;
    EQUAL(firing->size, sizeof *firing);
    calls++;
    return 0;
}

/* Structs that the library reads. */
static void options(void)
{
    LATER(tw_sched_options) sched_options;
    tw_sched_options *now = &sched_options.now;
    tw_sched *sched;
    size_t i;
    EQUAL(tw_sched_options_init(NULL, sizeof *now), -EINVAL);
    for (i = 0; i < NO_SIZE_COUNT; i++) {
        EQUAL(tw_sched_options_init(now, NO_SIZES[i]), -EINVAL);
        EQUAL(tw_sched_options_init(now, sizeof *now), 0);
        now->size = NO_SIZES[i];
        EQUAL(tw_sched_create(&sched, now), -EINVAL);
        CHECK(sched == NULL);
    }
    memset(&sched_options, 0x5a, sizeof sched_options);
    EQUAL(tw_sched_options_init(now, sizeof sched_options), 0);
    EQUAL(now->size, sizeof sched_options);
    EQUAL(sched_options.later.more, 0);
    EQUAL(tw_sched_create(&sched, now), 0);
    EQUAL(tw_sched_destroy(sched), 0);
    sched_options.later.more = UINT64_C(1) << 56;
    EQUAL(tw_sched_create(&sched, now), -E2BIG);
    CHECK(sched == NULL);
    EQUAL(tw_sched_create(&sched, (tw_sched_options *)((char *)now + 1)), -EINVAL);
}

static void jobs(void)
{
    LATER(tw_job) job;
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    size_t i;
    memset(&job, 0x5a, sizeof job);
    EQUAL(tw_job_init(&job.now, sizeof job), 0);
    job.now.call = call;
    CHECK(tw_sched_add_job(sched, &job.now, NULL) > 0);
    job.later.more = 1;
    EQUAL(tw_sched_add_job(sched, &job.now, NULL), -E2BIG);
    for (i = 0; i < NO_SIZE_COUNT; i++) {
        job.now.size = NO_SIZES[i];
        EQUAL(tw_sched_add_job(sched, &job.now, NULL), -EINVAL);
    }
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    end_sched(sched);
}

static uint64_t later(tw_timer *timer, uint64_t expiry, void *user)
{
    (void)timer;
    (void)user;
    return expiry + 10;
}

static void fire(const tw_expired *fired, void *user)
{
    EQUAL(fired->size, sizeof *fired);
    ++*(int *)user;
}

/* Structs that the library fills. It writes no byte behind the fields that it knows. If the size is
 * invalid, it does nothing. */
static void filled(void)
{
    LATER(tw_expired) expired;
    LATER(tw_advance) advance;
    LATER(tw_sched_info) info;
    LATER(tw_sched_counts) counts;
    tw_timer timer = TW_TIMER_INIT;
    void *memory;
    tw_queue *queue = new_queue(TW_FAMILY_HEAP4, 4, &memory);
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    uint64_t id, now;
    int fired = 0;
    size_t i;
    tw_job job = TW_JOB_INIT;
    job.call = call;
    CHECK(tw_sched_add_job(sched, &job, &id) > 0);
    CHECK(tw_queue_insert(queue, &timer, 5) >= 0);
    for (i = 0; i < NO_SIZE_COUNT; i++) {
        expired.now.size = advance.now.size = info.now.size = counts.now.size = NO_SIZES[i];
        EQUAL(tw_queue_pop_expired(queue, 9, &expired.now), -EINVAL);
        EQUAL(tw_queue_pop_and_reinsert(queue, 9, later, NULL, &expired.now), -EINVAL);
        EQUAL(tw_queue_advance(queue, 9, 9, fire, &fired, &advance.now), -EINVAL);
        EQUAL(tw_sched_find(sched, id, &info.now), -EINVAL);
        EQUAL(tw_sched_get_counts(sched, &counts.now), -EINVAL);
        EQUAL(tw_queue_len(queue), 1);
        EQUAL(tw_queue_now(queue, &now), 0);
        EQUAL(now, 0);
    }
    expired.now.size = sizeof expired;
    advance.now.size = sizeof advance;
    info.now.size = sizeof info;
    counts.now.size = sizeof counts;
    expired.later.more = advance.later.more = info.later.more = counts.later.more = 77;
    EQUAL(tw_queue_pop_and_reinsert(queue, 5, later, NULL, &expired.now), 1);
    EQUAL(tw_queue_advance(queue, 15, 9, fire, &fired, &advance.now), 0);
    EQUAL(tw_sched_find(sched, id, &info.now), 0);
    EQUAL(tw_sched_get_counts(sched, &counts.now), 0);
    EQUAL(expired.now.size, sizeof(tw_expired));
    EQUAL(advance.now.size, sizeof(tw_advance));
    EQUAL(info.now.size, sizeof(tw_sched_info));
    EQUAL(counts.now.size, sizeof(tw_sched_counts));
    EQUAL(expired.now.expiry, 5);
    EQUAL(advance.now.delivered, 1);
    EQUAL(info.now.id, id);
    EQUAL(counts.now.timers, 1);
    EQUAL(expired.later.more + advance.later.more + info.later.more + counts.later.more, 4 * 77);
    EQUAL(fired, 1);
    end_queue(queue, memory);
    end_sched(sched);
}

static void *same(void *argument)
{
    return argument;
}

static void threads(void)
{
    LATER(tw_runtime_options) options;
    LATER(tw_thread_options) own;
    tw_runtime *runtime;
    tw_thread thread;
    size_t i;
    for (i = 0; i < NO_SIZE_COUNT; i++) {
        EQUAL(tw_runtime_options_init(&options.now, NO_SIZES[i]), -EINVAL);
        EQUAL(tw_thread_options_init(&own.now, NO_SIZES[i]), -EINVAL);
        EQUAL(tw_runtime_options_init(&options.now, sizeof options.now), 0);
        options.now.size = NO_SIZES[i];
        EQUAL(tw_runtime_create(&runtime, TW_MODEL_ONE_TO_ONE, &options.now), -EINVAL);
        CHECK(runtime == NULL);
    }
    EQUAL(tw_runtime_options_init(&options.now, sizeof options), 0);
    EQUAL(tw_thread_options_init(&own.now, sizeof own), 0);
    options.later.more = 1;
    EQUAL(tw_runtime_create(&runtime, TW_MODEL_ONE_TO_ONE, &options.now), -E2BIG);
    options.later.more = 0;
    EQUAL(tw_runtime_create(&runtime, TW_MODEL_ONE_TO_ONE, &options.now), 0);
    own.later.more = 1;
    EQUAL(tw_thread_create(runtime, &thread, &own.now, same, NULL), -E2BIG);
    for (i = 0; i < NO_SIZE_COUNT; i++) {
        own.now.size = NO_SIZES[i];
        EQUAL(tw_thread_create(runtime, &thread, &own.now, same, NULL), -EINVAL);
    }
    EQUAL(tw_runtime_len(runtime), 0);
    EQUAL(tw_runtime_destroy(runtime), 0);
}

/* The functions beside the macros, as a binding calls them. */
static void plain(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    uint64_t id = 0;
    int became = 7, old;
    char text[1000];
    tw_job job = TW_JOB_INIT;
    job.call = call;
    calls = 0;
    CHECK((tw_sched_add)(sched, 1, call, NULL) > 0);
    CHECK((tw_sched_add_variable)(sched, 1, call, NULL) > 0);
    CHECK((tw_sched_add_at)(sched, 1000, call, NULL) > 0);
    CHECK((tw_sched_add_since)(sched, 0, 1, call, NULL) > 0);
    CHECK((old = (tw_sched_add_job)(sched, &job, &id)) > 0 && id != 0);
    CHECK((tw_sched_replace_job)(sched, (uint64_t)old, &job, &became, NULL) > 0);
    EQUAL(became, TW_CANCEL_REMOVED);
    CHECK(tw_sched_dump(sched, text, sizeof text) > 0);
    EQUAL((tw_sched_add)(sched, 1, NULL, NULL), -EINVAL);
    EQUAL((tw_sched_add_job)(sched, NULL, NULL), -EINVAL);
    advance_ms(sched, 1);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 5);
    EQUAL(calls, 5);
    end_sched(sched);
}

struct area {
    int base;
    tw_odlink by_base;
};

static const void *base_of(const tw_odlink *link, void *user)
{
    const struct area *area = TW_CONTAINER(link, struct area, by_base);
    (void)user;
    return &area->base;
}

static int by_number(const void *a, const void *b, void *user)
{
    int left = *(const int *)a, right = *(const int *)b;
    (void)user;
    return (left > right) - (left < right);
}

static void walks(void)
{
    enum { COUNT = 9 };
    struct area areas[COUNT];
    tw_odict odict;
    tw_odlink *link = NULL, *behind = NULL;
    int i, seen = 0, last = -1;
    EQUAL(tw_odict_init(&odict, base_of, by_number, NULL), 0);
    TW_ODICT_FOREACH(&odict, link)
        CHECK(!"an empty dictionary has no links");
    for (i = 0; i < COUNT; i++) {
        areas[i].base = i * 7 % COUNT;
        EQUAL(tw_odlink_init(&areas[i].by_base), 0);
        EQUAL(tw_odict_insert(&odict, &areas[i].by_base, NULL), 0);
    }
    TW_ODICT_FOREACH(&odict, link) {
        int base = TW_CONTAINER(link, struct area, by_base)->base;
        EQUAL(base, last + 1);
        last = base;
        seen++;
    }
    EQUAL(seen, COUNT);
    TW_ODICT_FOREACH_SAFE(&odict, link, behind) {
        struct area *area = TW_CONTAINER(link, struct area, by_base);
        EQUAL(behind == NULL, area->base == COUNT - 1);
        if (area->base % 2 == 0) {
            EQUAL(tw_odict_remove(&odict, link), 0);
            memset(area, 0x5a, sizeof *area); /* as if it were freed */
            seen--;
        }
    }
    EQUAL(seen, COUNT / 2);
    EQUAL(tw_odict_len(&odict), COUNT / 2);
    EQUAL(tw_odict_destroy(&odict), 0);
}

int main(void)
{
    options();
    jobs();
    filled();
    threads();
    plain();
    walks();
    return 0;
}
