/* Threads with a queue each, and threads that share one behind a lock: the library has no hidden
 * state that threads share. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 3000, TIMERS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tw_queue *shared;
static tw_timer timers[TIMERS];
static size_t delivered;

static void fire(const tw_expired *fired, void *user)
{
    CHECK(fired->expiry >= fired->deadline);
    ++*(size_t *)user;
}

static void *alone(void *argument)
{
    tw_family family = (tw_family)*(const int *)argument;
    int round;
    tw_timer mine = TW_TIMER_INIT;
    for (round = 0; round < ROUNDS / 30; round++) {
        void *memory;
        tw_queue *queue = new_queue(family, 1, &memory);
        size_t count = 0;
        EQUAL(tw_queue_insert(queue, &mine, 10), 1);
        EQUAL(tw_queue_advance(queue, 20, SIZE_MAX, fire, &count, NULL), 0);
        EQUAL(count, 1);
        end_queue(queue, memory);
    }
    return NULL;
}

static void *together(void *argument)
{
    uint64_t random = 1 + *(unsigned *)argument;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        tw_timer *timer = &timers[next_random(&random) % TIMERS];
        uint64_t deadline = next_random(&random) % 1000, now = 0;
        int result;
        pthread_mutex_lock(&lock);
        EQUAL(tw_queue_now(shared, &now), 0);
        result = tw_queue_insert(shared, timer, now + deadline);
        if (result == -EALREADY && round % 2)
            result = tw_queue_remove(shared, timer);
        else if (result == -EALREADY)
            result = tw_queue_reschedule(shared, timer, now + deadline);
        CHECK(result >= 0);
        CHECK(tw_queue_advance(shared, now + 5, 100, fire, &delivered, NULL) >= 0);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void in_threads(void *(*work)(void *), int arguments[THREADS])
{
    pthread_t threads[THREADS];
    int i;
    for (i = 0; i < THREADS; i++)
        EQUAL(pthread_create(&threads[i], NULL, work, &arguments[i]), 0);
    for (i = 0; i < THREADS; i++)
        EQUAL(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    int i, arguments[THREADS];
    for (i = 0; i < FAMILY_COUNT; i++) {
        void *memory;
        int k;
        shared = new_queue(FAMILIES[i], TIMERS, &memory);
        for (k = 0; k < THREADS; k++)
            arguments[k] = k;
        in_threads(together, arguments);
        end_queue(shared, memory);
        for (k = 0; k < THREADS; k++)
            arguments[k] = FAMILIES[(i + k) % FAMILY_COUNT];
        in_threads(alone, arguments);
    }
    CHECK(delivered > 0);
    return 0;
}
