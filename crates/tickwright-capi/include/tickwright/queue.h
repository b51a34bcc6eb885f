/* Queues of timers that lie in your own structs, over a structure of your choice. No allocation.
 *
 * Put a tw_timer into your own struct, as its first member or any other:
 *
 *     struct connection { int fd; tw_timer idle; };
 *
 * Ticks are uint64_t, of a length and from an origin of your choice; every value is an ordinary
 * one. The now of a queue is the greatest tick that it was ever told. A lesser one is taken for
 * that. A timer whose deadline is past is due at once.
 *
 * An exact family delivers a timer at its deadline. Timers with equal deadlines leave in the order
 * in which they were inserted or rescheduled. The coarse wheel delivers at the end of a bucket:
 * never early, and late by at most 8/63 of the delay, or by one tick.
 *
 * Costs below are for n pending timers.
 */
#ifndef TICKWRIGHT_QUEUE_H
#define TICKWRIGHT_QUEUE_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A timer of yours. It has one size for all families, and may go from a queue of one family to a
 * queue of another. It starts as zeros: by TW_TIMER_INIT, tw_timer_init or calloc. While it is
 * pending it must not move. A struct whose timer is not pending may be moved and copied. */
typedef struct tw_timer {
    uint64_t opaque[7];
} tw_timer;

#define TW_TIMER_INIT { { 0 } }

/* Makes a timer that is pending nowhere, whatever was in the memory. Do not call it for a timer
 * that is pending: its queue would still point at it.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_timer_init(tw_timer *timer);

/* Whether a timer is pending in some queue.
 *
 * Returns:
 *   1  it is pending
 *   0  it is not
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_timer_is_linked(const tw_timer *timer);

/* The structure that holds the timers. */
typedef enum tw_family {
    TW_FAMILY_DEFAULT = 0,   /* schedulers only: TW_FAMILY_HEAP4 */
    TW_FAMILY_LIST = 1,      /* sorted list, for few timers or one delay: insert O(n), else O(1) */
    TW_FAMILY_HEAP2 = 2,     /* binary heap of at most `capacity` timers: O(log n), head O(1) */
    TW_FAMILY_HEAP4 = 3,     /* heap with four children a node, likewise: O(log n), head O(1) */
    TW_FAMILY_RB = 4,        /* red-black tree: O(log n), the head too */
    TW_FAMILY_RB_CACHED = 5, /* red-black tree that knows its head: O(log n), head O(1) */
    TW_FAMILY_AVL = 6,       /* AVL tree that knows its head: O(log n), head O(1) */
    TW_FAMILY_WHEEL = 7,     /* timing wheel, exact: O(1) */
    TW_FAMILY_COARSE = 8     /* timing wheel whose timers may be late by a bucket: O(1) */
} tw_family;

/* A queue, somewhere in memory that you gave. */
typedef struct tw_queue tw_queue;

/* Bytes that are enough for a queue, for memory that is static or part of a struct. They are part
 * of the ABI. In this order: for lists and trees; for the wheel; for the coarse wheel; for a heap
 * of `capacity` timers. */
#define TW_QUEUE_BYTES 128
#define TW_WHEEL_BYTES 17408
#define TW_COARSE_BYTES 10752
#define TW_HEAP_BYTES(capacity) (512 + 32 * (size_t)(capacity))

/* The bytes that a queue takes, whatever the alignment of its memory. `capacity` is the bound of a
 * heap; the other families have none and ignore it.
 *
 * Returns:
 *   bytes  for tw_queue_init
 *   0      the number is no family, or that many timers cannot be
 * Threads: any. */
TW_API size_t tw_queue_bytes(tw_family family, size_t capacity);

/* Makes an empty queue in `bytes` bytes at `memory`, of any alignment and content, and returns it
 * in `*queue`, which must not be null. The memory is the queue's until tw_queue_destroy, and must
 * not move. On an error `*queue` is null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -ENOSPC  `bytes` is less than tw_queue_bytes
 * Threads: any. */
TW_API int tw_queue_init(tw_queue **queue, void *memory, size_t bytes, tw_family family,
                         size_t capacity);

/* Ends a queue. Its timers are pending no more, and the memory is yours again.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EBUSY  a callback of this queue calls
 * Threads: serialized. */
TW_API int tw_queue_destroy(tw_queue *queue);

/* Makes a timer pending until `deadline`.
 *
 * Returns:
 *   1  the next wake-up may have changed: set your alarm again
 *   0  it has not changed
 * Errors: -EINVAL, -EALREADY, -EXDEV, -EOVERFLOW, -EBUSY; and
 *   -ENOSPC  a heap is full
 * Threads: serialized. */
TW_API int tw_queue_insert(tw_queue *queue, tw_timer *timer, uint64_t deadline);

/* Takes a pending timer out.
 *
 * Returns:
 *   1  the next wake-up may have changed
 *   0  it has not changed
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_remove(tw_queue *queue, tw_timer *timer);

/* Gives a pending timer another deadline. That equals a remove and an insert: the timer goes behind
 * timers with an equal deadline.
 *
 * Returns:
 *   1  the next wake-up may have changed
 *   0  it has not changed
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_reschedule(tw_queue *queue, tw_timer *timer, uint64_t deadline);

/* When a pending timer is due: at its deadline, or in the coarse wheel at the end of its bucket.
 *
 * Returns:
 *   0  `*tick` is written
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_expiry(const tw_queue *queue, const tw_timer *timer, uint64_t *tick);

/* The timer that leaves first, and when it is due. A wheel searches for it; tw_queue_next_wake does
 * not.
 *
 * Returns:
 *   1  `*timer` and `*tick` are written
 *   0  no timer is pending
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_peek(const tw_queue *queue, tw_timer **timer, uint64_t *tick);

/* The timer that leaves after the first, and when it is due.
 *
 * Returns:
 *   1  `*timer` and `*tick` are written
 *   0  fewer than two timers are pending
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_second(const tw_queue *queue, tw_timer **timer, uint64_t *tick);

/* When the first timer is due, exactly.
 *
 * Returns:
 *   1  `*tick` is written
 *   0  no timer is pending
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_next_expiry(const tw_queue *queue, uint64_t *tick);

/* The tick for which to set an alarm. It is never later than the tick that tw_queue_next_expiry
 * returns. In wheels it may be earlier. It may even be at or before the queue's now although no
 * timer is due. For example: timers are due at 100 and 120, tw_queue_remove takes out the first,
 * and tw_queue_advance to 110 has a budget of 0. Then a wheel may return 100.
 *
 * When tw_queue_pop_expired, tw_queue_pop_and_reinsert or tw_queue_advance has returned 0, the tick
 * is after the queue's now, so that a loop does not spin.
 *
 * Returns:
 *   1  `*tick` is written
 *   0  no timer is pending
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_next_wake(const tw_queue *queue, uint64_t *tick);

/* A timer that has left because it was due. */
typedef struct tw_expired {
    size_t size;       /* of this struct, in bytes */
    tw_timer *timer;
    uint64_t deadline; /* as asked for, or the queue's now at that time if that was later */
    uint64_t expiry;   /* when it was due in this structure, never before the deadline */
} tw_expired;

#define TW_EXPIRED_INIT { sizeof(tw_expired), NULL, 0, 0 }

/* Moves the queue's now forward, and takes the first timer out if it is due. The timer may be freed
 * or inserted again at once.
 *
 * Returns:
 *   1  a timer has left; `*fired` is written
 *   0  no timer is due
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_pop_expired(tw_queue *queue, uint64_t now, tw_expired *fired);

/* Returns the next deadline of a timer that is due. The timer is still pending meanwhile, and every
 * function refuses the queue with -EBUSY. */
typedef uint64_t (*tw_rearm_fn)(tw_timer *timer, uint64_t expiry, void *user);

/* Moves the queue's now forward. If the first timer is due, gives it the deadline that `rearm`
 * returns, in one step. A period without drift is expiry + period. `*fired` describes the timer as
 * it was due.
 *
 * Returns:
 *   1  a timer has a new deadline; `*fired` is written
 *   0  no timer is due, and `rearm` was not called
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_pop_and_reinsert(tw_queue *queue, uint64_t now, tw_rearm_fn rearm, void *user,
                                     tw_expired *fired);

/* Is called with each timer that is due, after the timer has left. It may free the timer, insert it
 * again, and call every function about the queue except tw_queue_destroy. `fired` is valid until it
 * returns. */
typedef void (*tw_fire_fn)(const tw_expired *fired, void *user);

/* What an advance did. */
typedef struct tw_advance {
    size_t size;      /* of this struct, in bytes */
    size_t delivered; /* timers that `fire` was called with */
    size_t moved;     /* timers that a wheel moved from one bucket to another */
} tw_advance;

#define TW_ADVANCE_INIT { sizeof(tw_advance), 0, 0 }

/* Moves the queue's now forward, and calls `fire` with each timer that is due, in order. It stops
 * when `budget` timers were delivered or moved; a budget of 0 only moves now. A timer that `fire`
 * inserts again at or before now is due once more, in this call if the budget lasts. Do not pass
 * SIZE_MAX if `fire` always inserts such timers: the call would never return.
 *
 * Returns:
 *   0  no timer that is due is left
 *   1  the budget ran out: timers may be left, so call again
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_advance(tw_queue *queue, uint64_t now, size_t budget, tw_fire_fn fire,
                            void *user, tw_advance *done);

/* The greatest now that the queue was told; 0 at first.
 *
 * Returns:
 *   0  `*tick` is written
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_now(const tw_queue *queue, uint64_t *tick);

/* The number of pending timers.
 *
 * Returns:
 *   number  of timers
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API ptrdiff_t tw_queue_len(const tw_queue *queue);

/* Takes every timer out; now stays.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_clear(tw_queue *queue);

/* Verifies the whole structure, in O(n). If it is broken and `text` is not null, the error message
 * is written there. It is cut off so that it fits into `bytes` bytes, with the zero at its end.
 *
 * Returns:
 *   0  the structure is whole
 * Errors: -EBADMSG, -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_check(const tw_queue *queue, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
