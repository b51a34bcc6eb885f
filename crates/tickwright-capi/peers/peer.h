/* What every library under comparison does: one file each, one row in peers.c.
 *
 * Timers are numbers from 0 to n - 1, and delays are milliseconds from a now that stands still.
 * Every library has the time of its loop in a cache, but two rows of our scheduler read the clock
 * at each call. `clock` of a sample says which. Each row has its lock or has none; `lock` says
 * which. The loops are the same text in each file (PEER_LOOPS), so that calls into a library are
 * the only difference. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

/* Says that a timer was due. */
typedef void (*peer_fired)(size_t timer);

struct peer {
    const char *name;
    /* Why it cannot run here; the rest is null then. */
    const char *missing;
    /* n timers that are not armed. 0, or -1 without memory. */
    int (*setup)(size_t n);
    /* Arms all of them, one after another. */
    void (*add)(const uint64_t *delays, size_t n);
    /* Arms all of them again, in that order. */
    void (*rearm)(const uint32_t *order, const uint64_t *delays, size_t n);
    /* Disarms all of them, in the order in which they were armed. */
    void (*del)(size_t n);
    /* How many are armed. */
    size_t (*armed)(size_t n);
    /* Waits until all that are armed have fired. */
    void (*run)(peer_fired fired);
    void (*teardown)(void);
    /* Calls `work` where the library wants to be called from; null: anywhere. */
    void (*inside)(void (*work)(void *), void *argument);
    /* Whether each add reads the clock; the others take a time that stands still between two
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
    tickwright_kept_since, libuv, libevent, libevent_locked, libev;

#endif
