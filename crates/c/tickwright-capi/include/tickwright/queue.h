/* Queues of timers that lie in your own structs, over a data structure of your choice. No function
 * allocates memory.
 *
 * Put a tw_timer into your own struct, as its first member or any other:
 *
 *     struct connection { int fd; tw_timer idle; };
 *
 * A tick is a uint64_t. You choose the length and the origin of ticks, and every value is valid.
 * The now of a queue is the greatest tick that the queue was ever told. If a call passes a lesser
 * tick, the queue uses its now instead. A timer whose deadline is past is due at once.
 *
 * An exact family delivers a timer at its deadline. Timers with equal deadlines leave in the order
 * in which they were inserted or rescheduled. The coarse wheel delivers at the end of a bucket:
 * never early, and late by at most 8/63 of the delay, or by one tick. The delay counts from the
 * queue's now, so pass the time to tw_queue_update_now before you insert or reschedule a timer. No
 * error tells that you did not, because the queue knows no other clock than its now.
 *
 * Costs below are for n pending timers.
 */
#ifndef TICKWRIGHT_QUEUE_H
#define TICKWRIGHT_QUEUE_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A timer in a struct of yours. Its size is the same for all families. When it has left a queue of
 * one family, you may insert it into a queue of another. A timer starts as zeros: use
 * TW_TIMER_INIT, tw_timer_init or calloc. A pending timer must not move. You may move and copy a
 * struct whose timer is not pending. */
typedef struct tw_timer {
    uint64_t opaque[7];
} tw_timer;

#define TW_TIMER_INIT { { 0 } }

/* Makes a timer that is pending in no queue, whatever the memory held before. Do not call it for a
 * timer that is pending: its queue would still point at it.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_timer_init(tw_timer *timer);

/* Whether a timer is pending in some queue.
 *
 * Returns:
 *   1  the timer is pending
 *   0  the timer is not pending
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_timer_is_linked(const tw_timer *timer);

/* The structure that holds the timers. */
typedef enum tw_family {
    TW_FAMILY_DEFAULT = 0,   /* schedulers only: TW_FAMILY_HEAP4 */
    TW_FAMILY_LIST = 1,      /* sorted list, for few timers or one delay: insert O(n), rest O(1) */
    TW_FAMILY_HEAP2 = 2,     /* binary heap of at most `capacity` timers: O(log n), head O(1) */
    TW_FAMILY_HEAP4 = 3,     /* 4-ary heap of at most `capacity` timers: O(log n), head O(1) */
    TW_FAMILY_RB = 4,        /* red-black tree: O(log n), the head too */
    TW_FAMILY_RB_CACHED = 5, /* red-black tree that knows its head: O(log n), head O(1) */
    TW_FAMILY_AVL = 6,       /* deprecated: another number of TW_FAMILY_RB_CACHED */
    TW_FAMILY_WHEEL = 7,     /* timing wheel, exact: O(1) */
    TW_FAMILY_COARSE = 8     /* timing wheel whose timers may be late by a bucket: O(1) */
} tw_family;

/* A queue, in memory that you have given to tw_queue_init. */
typedef struct tw_queue tw_queue;

/* Numbers of bytes that are enough for a queue, for memory that is static or part of a struct. They
 * are part of the ABI. TW_QUEUE_BYTES is enough for lists and trees, TW_WHEEL_BYTES for the wheel,
 * and TW_COARSE_BYTES for the coarse wheel. TW_HEAP_BYTES(capacity) is enough for a heap of
 * `capacity` timers. */
#define TW_QUEUE_BYTES 128
#define TW_WHEEL_BYTES 17408
#define TW_COARSE_BYTES 10752
#define TW_HEAP_BYTES(capacity) (512 + 32 * (size_t)(capacity))

/* The number of bytes that a queue needs, whatever the alignment of its memory. `capacity` is the
 * greatest number of timers in a heap. The other families have no such bound, and ignore
 * `capacity`.
 *
 * Returns:
 *   bytes  for tw_queue_init
 *   0      `family` is no family, or no memory can hold `capacity` timers
 * Threads: any. */
TW_API size_t tw_queue_bytes(tw_family family, size_t capacity);

/* Makes an empty queue in the `bytes` bytes at `memory`, and returns it in `*queue`. The memory may
 * have any alignment and content; `queue` must not be null. The memory is the queue's until
 * tw_queue_destroy, and must not move. On an error `*queue` is null.
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
 *   -EBUSY  the caller is a callback of this queue
 * Threads: serialized. */
TW_API int tw_queue_destroy(tw_queue *queue);

/* Makes a timer pending until `deadline`. In the coarse wheel, tell the queue the time first, by
 * tw_queue_update_now: otherwise the timer may be late by hours.
 *
 * Returns:
 *   1  the next wake-up may have changed: set your alarm again
 *   0  it has not changed
 * Errors: -EINVAL, -EALREADY, -EXDEV, -EOVERFLOW, -EBUSY; and
 *   -ENOSPC  a heap is full
 * Threads: serialized. */
TW_API int tw_queue_insert(tw_queue *queue, tw_timer *timer, uint64_t deadline);

/* Removes a pending timer from its queue.
 *
 * Returns:
 *   1  the next wake-up may have changed
 *   0  it has not changed
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_remove(tw_queue *queue, tw_timer *timer);

/* Gives a pending timer another deadline. The effect is that of a remove and an insert: the timer
 * goes behind timers with an equal deadline. In the coarse wheel, tell the queue the time first, by
 * tw_queue_update_now: otherwise the timer may be late by hours.
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

/* The timer that leaves first, and when it is due. In a wheel this function searches for the timer;
 * tw_queue_next_wake does not search.
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
    uint64_t deadline; /* of the insert; if it had passed by then, the queue's now at the insert */
    uint64_t expiry;   /* when it was due in this structure, never before the deadline */
} tw_expired;

#define TW_EXPIRED_INIT { sizeof(tw_expired), NULL, 0, 0 }

/* Moves the queue's now forward, and takes the first timer out if it is due. The timer may be freed
 * or inserted again at once. Initialize `*fired` with TW_EXPIRED_INIT; `fired` may be null.
 *
 * Returns:
 *   1  a timer has left; `*fired` is written
 *   0  no timer is due
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_pop_expired(tw_queue *queue, uint64_t now, tw_expired *fired);

/* Returns the next deadline of a timer that is due. While this function runs, the timer is still
 * pending, and every other function refuses the queue with -EBUSY. */
typedef uint64_t (*tw_rearm_fn)(tw_timer *timer, uint64_t expiry, void *user);

/* Moves the queue's now forward. If the first timer is due, the call gives it the deadline that
 * `rearm` returns, in one step. For a period without drift, `rearm` returns expiry + period.
 * `*fired` gets the deadline and the expiry that the timer had before. Initialize `*fired` with
 * TW_EXPIRED_INIT; `fired` may be null.
 *
 * Returns:
 *   1  a timer has a new deadline; `*fired` is written
 *   0  no timer is due, and `rearm` was not called
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_pop_and_reinsert(tw_queue *queue, uint64_t now, tw_rearm_fn rearm, void *user,
                                     tw_expired *fired);

/* tw_queue_advance calls this function with each timer that is due, after the timer has left. The
 * function may free the timer, insert it again, and call every function about the queue except
 * tw_queue_destroy. `fired` is valid until the function returns. */
typedef void (*tw_fire_fn)(const tw_expired *fired, void *user);

/* What an advance did. */
typedef struct tw_advance {
    size_t size;      /* of this struct, in bytes */
    size_t delivered; /* timers that `fire` was called with */
    size_t moved;     /* timers that a wheel moved from one bucket to another */
} tw_advance;

#define TW_ADVANCE_INIT { sizeof(tw_advance), 0, 0 }

/* Moves the queue's now forward, and calls `fire` with each timer that is due, in order. The call
 * stops when it has delivered or moved `budget` timers. With a budget of 0 it only moves now. If
 * `fire` inserts a timer at or before now, the timer is due again: in this call, if the budget
 * lasts. So pass SIZE_MAX only if `fire` inserts no such timer. Initialize `*done` with
 * TW_ADVANCE_INIT; `done` may be null.
 *
 * Returns:
 *   0  no timer that is due is left
 *   1  the budget ran out: timers may be left, so call again
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_advance(tw_queue *queue, uint64_t now, size_t budget, tw_fire_fn fire,
                            void *user, tw_advance *done);

/* Moves the queue's now forward, and does nothing else: no timer leaves. Timers that are due by
 * then stay pending, and leave in order at the next tw_queue_pop_expired or tw_queue_advance. The
 * next wake-up does not change.
 *
 * Call it before tw_queue_insert and tw_queue_reschedule if time has passed since the queue last
 * got a now, for example after each wait of an event loop. The coarse wheel chooses a bucket by the
 * delay from the queue's now. Example: ticks are milliseconds, and the queue was last popped an
 * hour ago. Without this call, a time-out of 1 s counts as an hour and 1 s, and may be late by
 * 262 s. With this call it is late by at most 64 ms. Exact families are never late, with or without
 * this call.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_update_now(tw_queue *queue, uint64_t now);

/* The greatest tick that the queue was told; 0 at first.
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

/* tw_queue_each calls this function with each pending timer, and when the timer is due. Meanwhile
 * every other function refuses the queue with -EBUSY. */
typedef void (*tw_visit_fn)(tw_timer *timer, uint64_t expiry, void *user);

/* Calls `visit` with each pending timer once, in any order, in O(n); in a wheel also its slots. To
 * remove some of the timers, remember them, and remove them afterwards.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_each(tw_queue *queue, tw_visit_fn visit, void *user);

/* Removes every timer. The queue's now stays as it is.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_queue_clear(tw_queue *queue);

/* Verifies the whole structure, in O(n). If the structure is broken, the function writes what is
 * wrong to `text`, unless `text` is null. The text ends with a zero, and is cut off to fit into
 * `bytes` bytes.
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
