/* A loop on an M:N thread sleeps for the time-out of a scheduler, and another thread of the same
 * worker runs the queue and arms a timer. To the scheduler both are one thread. */
#include <errno.h>

#include "check.h"
#include "models.h"

struct loop {
    tw_runtime *threads;
    tw_thread thread;
    tw_sched *sched;
    int asleep, woken, armed, ended;
};

static struct loop *the_loop;

static int64_t nothing(void *data, const tw_firing *firing)
{
    (void)data, (void)firing;
    return 0;
}

static void wakes(void *data)
{
    struct loop *loop = (struct loop *)data;
    int result;
    COUNT_UP(loop->woken);
    result = tw_thread_unpark(loop->threads, loop->thread);
    CHECK(result == 0 || result == -ESRCH); /* it may have ended already */
}

static void *sleeps(void *unused)
{
    struct loop *loop = READ(the_loop);
    (void)unused;
    EQUAL(tw_sched_timeout_ms(loop->sched), -1);
    WRITE(loop->asleep, 1);
    while (READ(loop->woken) == 0)
        tw_thread_park();
    EQUAL(tw_sched_timeout_ms(loop->sched), 5);
    WRITE(loop->ended, 1);
    return NULL;
}

static void *arms(void *unused)
{
    struct loop *loop = READ(the_loop);
    (void)unused;
    while (!READ(loop->asleep))
        tw_thread_yield();
    EQUAL(tw_sched_run(loop->sched, SIZE_MAX), 0);
    CHECK(tw_sched_add(loop->sched, 5, nothing, NULL) > 0);
    EQUAL(READ(loop->woken), 1);
    WRITE(loop->armed, 1);
    return NULL;
}

static void loop_is_woken(tw_runtime *threads, tw_model model)
{
    struct loop loop = { threads, 0, new_sched(TW_FAMILY_DEFAULT), 0, 0, 0, 0 };
    tw_thread armer;
    (void)model;
    WRITE(the_loop, &loop);
    EQUAL(tw_sched_set_wake(loop.sched, wakes, &loop), 0);
    EQUAL(tw_thread_create(threads, &loop.thread, NULL, sleeps, NULL), 0);
    EQUAL(tw_thread_create(threads, &armer, NULL, arms, NULL), 0);
    EQUAL(tw_thread_join(threads, armer, NULL), 0);
    EQUAL(tw_thread_join(threads, loop.thread, NULL), 0);
    EQUAL(READ(loop.armed), 1);
    EQUAL(READ(loop.ended), 1);
    end_sched(loop.sched);
}

static void *asks(void *sched)
{
    EQUAL(tw_sched_timeout_ms((tw_sched *)sched), -1);
    return NULL;
}

static void *adds(void *sched)
{
    return (void *)(intptr_t)tw_sched_add((tw_sched *)sched, 5, nothing, NULL);
}

/* Without a function, the arm counts as one of the loop itself: it is not refused. */
static void loop_without_a_function(tw_runtime *threads)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    void *(*const bodies[])(void *) = { asks, adds };
    void *result = NULL;
    int i;
    for (i = 0; i < 2; i++) {
        tw_thread thread;
        EQUAL(tw_thread_create(threads, &thread, NULL, bodies[i], sched), 0);
        EQUAL(tw_thread_join(threads, thread, &result), 0);
    }
    CHECK((intptr_t)result > 0);
    end_sched(sched);
}

int main(void)
{
    tw_runtime *threads = NULL;
    in_each_model("thread_loop", loop_is_woken);
    if (!stacks_may_switch())
        return 0;
    EQUAL(create_runtime(&threads, TW_MODEL_MN, 1), 0);
    loop_is_woken(threads, TW_MODEL_MN);
    loop_without_a_function(threads);
    EQUAL(tw_runtime_destroy(threads), 0);
    return 0;
}
