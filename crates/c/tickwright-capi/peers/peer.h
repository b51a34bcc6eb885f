/* The functions of a library under comparison. Each library has one file, and one or more rows in
 * peers.c.
 *
 * Timers are numbers from 0 to n - 1, and delays are milliseconds from a fixed time.
 * Every library caches the time of its loop, but two rows of our scheduler read the clock at each
 * call. `clock` of a sample says whether it does. `lock` says whether each call takes a lock. The
 * loops are the same text in each file (PEER_LOOPS), so that calls into a library are the only
 * difference. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

/* A library calls this function when a timer was due. */
typedef void (*peer_fired)(size_t timer);

struct peer {
    const char *name;
    /* Why the library cannot run here, or null. If it cannot, the other fields are null. */
    const char *missing;
    /* Makes n timers that are not armed. Returns 0, or -1 if no memory is left. */
    int (*setup)(size_t n);
    /* Arms all timers, one after another. */
    void (*add)(const uint64_t *delays, size_t n);
    /* Arms all timers again, in the order of `order`. */
    void (*rearm)(const uint32_t *order, const uint64_t *delays, size_t n);
    /* Disarms all timers, in the order in which they were armed. */
    void (*del)(size_t n);
    /* Returns the number of armed timers. */
    size_t (*armed)(size_t n);
    /* Waits until all armed timers have fired. */
    void (*run)(peer_fired fired);
    void (*teardown)(void);
    /* Calls `work` from where the library expects its calls; null: `work` may run anywhere. */
    void (*inside)(void (*work)(void *), void *argument);
    /* Whether each add reads the clock. Otherwise adds use a time that stands still between two
     * turns of a loop. */
    int clock_per_add;
    /* Whether each call takes a lock. */
    int locks;
};

#define ADD_LOOP(add_one) \
    { \
        for (size_t i = 0; i < n; i++) \
            add_one(i, delays[i]); \
    }
#define REARM_LOOP(rearm_one) \
    { \
        for (size_t i = 0; i < n; i++) \
            rearm_one(order[i], delays[i]); \
    }
#define DEL_LOOP(del_one) \
    { \
        for (size_t i = 0; i < n; i++) \
            del_one(i); \
    }
#define PEER_LOOPS(add_one, rearm_one, del_one) \
    static void add(const uint64_t *delays, size_t n) ADD_LOOP(add_one) \
    static void rearm(const uint32_t *order, const uint64_t *delays, size_t n) REARM_LOOP(rearm_one) \
    static void del(size_t n) DEL_LOOP(del_one)

extern const struct peer tickwright_wheel, tickwright_heap4, tickwright_sched, tickwright_sched_since, tickwright_kept,
    tickwright_kept_since, tickwright_own_since, tickwright_own_kept_since, libuv, libevent, libevent_locked, libev;

#endif
