/* Our queue, without a lock, over timers in the caller's structs. */
#include <stdlib.h>
#include <tickwright.h>
#include <time.h>

#include "peer.h"

/* The struct is small, since a timer is usually a part of another struct, such as a connection. The
 * other libraries define the size of their handles. */
static tw_timer *timers;
static void *memory;
static tw_queue *queue;
/* The cached time, which is fixed while timers are armed. */
static const uint64_t NOW = 1000000;

static int setup(size_t n, tw_family family)
{
    size_t size = tw_queue_bytes(family, n);
    timers = calloc(n, sizeof *timers);
    memory = malloc(size);
    if (timers == NULL || memory == NULL || tw_queue_init(&queue, memory, size, family, n) < 0)
        return -1;
    return tw_queue_pop_expired(queue, NOW, NULL) == 0 ? 0 : -1;
}

static int setup_wheel(size_t n)
{
    return setup(n, TW_FAMILY_WHEEL);
}

static int setup_heap4(size_t n)
{
    return setup(n, TW_FAMILY_HEAP4);
}

static inline void add_one(size_t i, uint64_t delay)
{
    tw_queue_insert(queue, &timers[i], NOW + delay);
}

static inline void rearm_one(size_t i, uint64_t delay)
{
    tw_queue_reschedule(queue, &timers[i], NOW + delay);
}

static inline void del_one(size_t i)
{
    tw_queue_remove(queue, &timers[i]);
}

PEER_LOOPS(add_one, rearm_one, del_one)

static size_t armed(size_t n)
{
    (void)n;
    return (size_t)tw_queue_len(queue);
}

static void fire(const tw_expired *fired, void *user)
{
    (*(peer_fired *)user)((size_t)(fired->timer - timers));
}

/* The loop of a program: it sleeps until the next wake-up, and advances the queue to what the clock
 * shows. */
static void run(peer_fired fired)
{
    struct timespec begun, time;
    uint64_t wake;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (tw_queue_next_wake(queue, &wake) == 1) {
        uint64_t now = 0;
        while (now < wake) {
            clock_gettime(CLOCK_MONOTONIC, &time);
            now = NOW + (uint64_t)((time.tv_sec - begun.tv_sec) * 1000 + (time.tv_nsec - begun.tv_nsec) / 1000000);
            if (now < wake)
                nanosleep(&(struct timespec) { 0, 500000 }, NULL);
        }
        tw_queue_advance(queue, now, SIZE_MAX, fire, &fired, NULL);
    }
}

static void teardown(void)
{
    tw_queue_destroy(queue);
    free(memory);
    free(timers);
}

const struct peer tickwright_wheel = { "tickwright/wheel", NULL, setup_wheel, add, rearm, del, armed, run, teardown, NULL, 0, 0 };
const struct peer tickwright_heap4 = { "tickwright/heap4", NULL, setup_heap4, add, rearm, del, armed, run, teardown, NULL, 0, 0 };
