/* A test framework in one page: a check that fails prints its place and its text, and ends the
 * program. The file is valid C11 and C++. */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tickwright.h>

/* SIGALRM ends a test that hangs. A forked child does not inherit the alarm, so it sets its own.
 * Under valgrind, on a busy machine, the longest test takes a minute or two. Windows has no alarm:
 * there the program that starts the test ends it. */
enum { SECONDS_TO_LIVE = 900 };

static inline void live_on(void)
{
#ifndef _WIN32
    alarm(SECONDS_TO_LIVE);
#endif
}

__attribute__((constructor)) static void live(void)
{
    live_on();
    pthread_atfork(NULL, NULL, live_on);
}

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            fail(__FILE__, __LINE__, #condition); \
    } while (0)

/* Checks that two integers are equal. */
#define EQUAL(left, right) equal(__FILE__, __LINE__, #left " == " #right, (intmax_t)(left), (intmax_t)(right))

static inline void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    exit(1);
}

static inline void equal(const char *file, int line, const char *what, intmax_t left, intmax_t right)
{
    if (left != right) {
        fprintf(stderr, "%s:%d: not so: %s: %jd, %jd\n", file, line, what, left, right);
        exit(1);
    }
}

/* Random numbers that are the same in each run: xorshift, after Marsaglia 2003. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static const tw_family FAMILIES[] = {
    TW_FAMILY_LIST, TW_FAMILY_HEAP2, TW_FAMILY_HEAP4, TW_FAMILY_RB,
    TW_FAMILY_RB_CACHED, TW_FAMILY_WHEEL, TW_FAMILY_COARSE,
};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };

/* Makes a queue in an allocated block of exactly its size, at an odd address. */
static inline tw_queue *new_queue(tw_family family, size_t capacity, void **memory)
{
    size_t size = tw_queue_bytes(family, capacity);
    tw_queue *queue;
    *memory = malloc(size + 1);
    CHECK(size > 0 && *memory != NULL);
    EQUAL(tw_queue_init(&queue, (char *)*memory + 1, size, family, capacity), 0);
    CHECK(queue != NULL);
    return queue;
}

static inline void end_queue(tw_queue *queue, void *memory)
{
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
    EQUAL(tw_queue_destroy(queue), 0);
    free(memory);
}

/* The flags of each scheduler that create_sched makes. */
static uint64_t sched_flags;

/* Makes a scheduler with all options. */
static inline int create_sched(tw_sched **sched, tw_family family, tw_clock clock, uint64_t tick_ns,
                               size_t capacity)
{
    tw_sched_options options = TW_SCHED_OPTIONS_INIT;
    options.family = family;
    options.clock = clock;
    options.tick_ns = tick_ns;
    options.capacity = capacity;
    options.flags = sched_flags;
    return tw_sched_create(sched, &options);
}

/* Makes a scheduler on a virtual clock. */
static inline tw_sched *new_sched(tw_family family)
{
    tw_sched *sched = NULL;
    EQUAL(create_sched(&sched, family, TW_CLOCK_VIRTUAL, 0, 0), 0);
    CHECK(sched != NULL);
    return sched;
}

static inline void end_sched(tw_sched *sched)
{
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    EQUAL(tw_sched_destroy(sched), 0);
}

static inline void advance_ms(tw_sched *sched, uint64_t ms)
{
    EQUAL(tw_sched_advance(sched, ms * 1000000), 0);
}

/* Access to data that threads share. It is atomic, since tools that look for races do not see the
 * library's locks. */
#define READ(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define WRITE(place, value) __atomic_store_n(&(place), value, __ATOMIC_SEQ_CST)
#define COUNT_UP(place) __atomic_add_fetch(&(place), 1, __ATOMIC_SEQ_CST)

#endif
