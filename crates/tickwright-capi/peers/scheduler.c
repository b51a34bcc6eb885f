/* Ours, locked: the scheduler, which any thread may use; it reads the clock itself, at each call. */
#include <poll.h>
#include <stdlib.h>
#include <tickwright.h>

#include "peer.h"

static tw_sched *sched;
static uint64_t *ids;
static peer_fired told;

static int64_t on_timer(void *data, const tw_firing *firing)
{
    (void)firing;
    told((size_t)(uintptr_t)data);
    return 0;
}

static inline void add_one(size_t i, uint64_t delay)
{
    tw_job job = { .call = on_timer, .data = (void *)(uintptr_t)i, .timing.when = (int64_t)delay * 1000000 };
    tw_sched_add_job(sched, &job, &ids[i]);
}

static inline void rearm_one(size_t i, uint64_t delay)
{
    tw_sched_start(sched, ids[i], (int64_t)delay);
}

static inline void del_one(size_t i)
{
    tw_sched_cancel_async(sched, ids[i]);
}

PEER_LOOPS(add_one, rearm_one, del_one)

/* The memory is touched once, as the others do when they make their handles. */
static int setup(size_t n)
{
    ids = calloc(n, sizeof *ids);
    if (ids == NULL || tw_sched_create(&sched, TW_FAMILY_WHEEL, TW_CLOCK_MONOTONIC, 0, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_one(i, 60000);
    del(n);
    return 0;
}

static size_t armed(size_t n)
{
    tw_sched_counts counts = { 0 };
    (void)n;
    tw_sched_count(sched, &counts);
    return counts.pending;
}

static void run(peer_fired fired)
{
    int wait;
    told = fired;
    while ((wait = tw_sched_wait(sched)) >= 0) {
        poll(NULL, 0, wait);
        tw_sched_run(sched, SIZE_MAX);
    }
}

static void teardown(void)
{
    tw_sched_destroy(sched);
    free(ids);
}

const struct peer tickwright_sched = { "tickwright/sched", NULL, setup, add, rearm, del, armed, run, teardown, NULL, 1 };
