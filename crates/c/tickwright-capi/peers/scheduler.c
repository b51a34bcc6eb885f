/* Our scheduler. Rows with a lock, where any thread may use it, and rows of one thread:
 *
 *   sched        an add makes a timer and a delete ends it; each call reads the clock
 *   sched-since  the same, and each loop reads the clock once (TW_BASE_SINCE), as the others do
 *                at each turn of theirs
 *   kept, kept-since  the timers are made before, and an add starts one: so do the others, whose
 *                     handles are made before
 *   own-since, own-kept-since  as sched-since and kept-since, with TW_SCHED_ONE_THREAD: no lock */
#include <poll.h>
#include <stdlib.h>
#include <tickwright.h>

#include "peer.h"

static tw_sched *sched;
static uint64_t *ids, now;
static peer_fired told;

static int64_t on_timer(void *data, const tw_firing *firing)
{
    (void)firing;
    told((size_t)(uintptr_t)data);
    return 0;
}

static uint64_t read_clock(void)
{
    uint64_t ns = 0;
    tw_sched_now(sched, &ns);
    return ns;
}

static inline void keep_one(size_t i)
{
    tw_job job = { .size = sizeof job, .call = on_timer, .data = (void *)(uintptr_t)i, .flags = TW_JOB_KEEP };
    tw_sched_add_job(sched, &job, &ids[i]);
}

static inline void add_one(size_t i, uint64_t delay)
{
    ids[i] = (uint64_t)tw_sched_add(sched, (int64_t)delay, on_timer, (void *)(uintptr_t)i);
}

static inline void add_one_since(size_t i, uint64_t delay)
{
    ids[i] = (uint64_t)tw_sched_add_since(sched, now, (int64_t)delay, on_timer, (void *)(uintptr_t)i);
}

static inline void start_one(size_t i, uint64_t delay)
{
    tw_sched_arm(sched, ids[i], (int64_t)delay);
}

static inline void start_one_since(size_t i, uint64_t delay)
{
    tw_sched_arm_since(sched, ids[i], now, (int64_t)delay);
}

static inline void del_one(size_t i)
{
    tw_sched_cancel_async(sched, ids[i]);
}

static void add(const uint64_t *delays, size_t n) ADD_LOOP(add_one)
static void start(const uint64_t *delays, size_t n) ADD_LOOP(start_one)
static void rearm(const uint32_t *order, const uint64_t *delays, size_t n) REARM_LOOP(start_one)
static void del(size_t n) DEL_LOOP(del_one)
static void add_in_loop(const uint64_t *delays, size_t n) ADD_LOOP(add_one_since)
static void start_in_loop(const uint64_t *delays, size_t n) ADD_LOOP(start_one_since)
static void rearm_in_loop(const uint32_t *order, const uint64_t *delays, size_t n) REARM_LOOP(start_one_since)

static void add_since(const uint64_t *delays, size_t n)
{
    now = read_clock();
    add_in_loop(delays, n);
}

static void start_since(const uint64_t *delays, size_t n)
{
    now = read_clock();
    start_in_loop(delays, n);
}

static void rearm_since(const uint32_t *order, const uint64_t *delays, size_t n)
{
    now = read_clock();
    rearm_in_loop(order, delays, n);
}

static int create(size_t n, uint64_t flags)
{
    ids = calloc(n, sizeof *ids);
    tw_sched_options options = { .size = sizeof options, .family = TW_FAMILY_WHEEL, .capacity = n, .flags = flags };
    return ids == NULL || tw_sched_create(&sched, &options) < 0 ? -1 : 0;
}

/* Touches the memory once, as the other libraries do when they make their handles. */
static int setup_with(size_t n, uint64_t flags)
{
    if (create(n, flags) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_one(i, 60000);
    del(n);
    return 0;
}

static int setup_kept_with(size_t n, uint64_t flags)
{
    if (create(n, flags) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        keep_one(i);
    return 0;
}

static int setup(size_t n)
{
    return setup_with(n, 0);
}

static int setup_own(size_t n)
{
    return setup_with(n, TW_SCHED_ONE_THREAD);
}

static int setup_kept(size_t n)
{
    return setup_kept_with(n, 0);
}

static int setup_own_kept(size_t n)
{
    return setup_kept_with(n, TW_SCHED_ONE_THREAD);
}

static size_t armed(size_t n)
{
    tw_sched_counts counts = TW_SCHED_COUNTS_INIT;
    (void)n;
    tw_sched_get_counts(sched, &counts);
    return counts.pending;
}

static void run(peer_fired fired)
{
    int wait;
    told = fired;
    while ((wait = tw_sched_timeout_ms(sched)) >= 0) {
        poll(NULL, 0, wait);
        tw_sched_run(sched, SIZE_MAX);
    }
}

static void teardown(void)
{
    tw_sched_destroy(sched);
    free(ids);
}

const struct peer tickwright_sched = {
    "tickwright/sched", NULL, setup, add, rearm, del, armed, run, teardown, NULL, 1, 1
};
const struct peer tickwright_sched_since = {
    "tickwright/sched-since", NULL, setup, add_since, rearm_since, del, armed, run, teardown, NULL, 0, 1
};
const struct peer tickwright_kept = {
    "tickwright/kept", NULL, setup_kept, start, rearm, del, armed, run, teardown, NULL, 1, 1
};
const struct peer tickwright_kept_since = {
    "tickwright/kept-since", NULL, setup_kept, start_since, rearm_since, del, armed, run, teardown, NULL, 0, 1
};
const struct peer tickwright_own_since = {
    "tickwright/own-since", NULL, setup_own, add_since, rearm_since, del, armed, run, teardown, NULL, 0, 0
};
const struct peer tickwright_own_kept_since = {
    "tickwright/own-kept-since", NULL, setup_own_kept, start_since, rearm_since, del, armed, run, teardown, NULL, 0, 0
};
