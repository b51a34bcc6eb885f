/* Tickwright: timers on a data structure that is chosen by measurement.
 *
 * C11, and usable from C++. Link with `pkg-config --cflags --libs tickwright`.
 *
 *   tw_timer, tw_queue   timers inside your own structs, in a list, heap, tree or wheel of your choice; no allocation, ever
 *   tw_heap              a priority queue with your comparator
 *
 * RESULTS. Functions that answer an int or a ptrdiff_t answer 0 or more for what was asked, and less than 0, a negated errno, when it could
 * not be done; then nothing was changed.
 *
 *   -EINVAL     a null pointer; a number that is no family; memory that is no queue or heap, or was one that is destroyed, or a copy of one;
 *               a timer that was never initialised, or that is the copy of a pending one
 *   -ENOENT     the timer or element is in no queue or heap: it was taken out before, or never put in
 *   -EALREADY   it is in this one already
 *   -EXDEV      it is in another one
 *   -ENOSPC     the queue is full, or the memory for it is too small
 *   -ENOMEM     no memory (tw_heap alone)
 *   -EBUSY      a callback called what it may not call
 *   -EOVERFLOW  2^31 queues were made in this process: no identity is left for another
 *   -EBADMSG    a check found the structure broken
 *
 * Where a function answers through a pointer, that may be null for what you do not want to know, unless its text says otherwise.
 *
 * THREADS. Nothing is locked. "Serialised" below means: two calls about one object (a queue and its timers; a heap and its elements) do not
 * overlap in time, those that only read included; keep a lock around them. Calls about different objects may overlap. "Any" means that nothing has to be kept.
 *
 * CALLBACKS return. They must not leave by longjmp or by a C++ exception: the process ends.
 *
 * NOT DETECTED, and undefined: a pointer to memory that is gone; a timer or element that is freed or overwritten while it is in a queue or heap; memory
 * of a queue that is freed before tw_queue_destroy. `tw_queue_check` and `tw_heap_verify` find much of what these do, afterwards.
 */
#ifndef TICKWRIGHT_H
#define TICKWRIGHT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before each function of the library. */
#ifndef TW_API
#define TW_API
#endif

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0
#define TW_VERSION "0.1.0"

/* The version of the library that is linked, as text; compare it with TW_VERSION. Threads: any. */
TW_API const char *tw_version(void);

/* What a result means, in English: static text, for any int; 0 and above are "done". Threads: any. */
TW_API const char *tw_strerror(int code);

/* The struct of `type` whose member `member` `pointer` points to. */
#define TW_CONTAINER(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

/* ---------------------------------------------------------------------------------------------------------------- timers
 *
 * Put a tw_timer into your own struct, as its first member or any other:
 *
 *     struct connection { int fd; tw_timer idle; };
 *
 * It is one size for all families, and may go from a queue of one to a queue of another. It starts as zeros: by TW_TIMER_INIT, tw_timer_init or
 * calloc. While it is pending it must not move; a struct that is not pending may be moved and copied (realloc, assignment).
 */
typedef struct tw_timer {
    uint64_t opaque[7];
} tw_timer;

#define TW_TIMER_INIT { { 0 } }

/* Makes a timer that is pending nowhere, whatever was in the memory. Do not call it for one that is pending: its queue would still point at it.
 * 0; -EINVAL. Threads: serialised. */
TW_API int tw_timer_init(tw_timer *timer);

/* 1 if the timer is pending in some queue, 0 if not; -EINVAL. Threads: serialised. */
TW_API int tw_timer_is_linked(const tw_timer *timer);

/* ---------------------------------------------------------------------------------------------------------------- queues
 *
 * Ticks are uint64_t, of a length and from an origin of your choice; every value is an ordinary one. A queue's now is the greatest that it was ever
 * told; a lesser one is taken for that. A timer whose deadline is past is due at once. Exact families deliver at the
 * deadline, equal deadlines in the order in which they were inserted or rescheduled; the coarse wheel delivers at the end of a bucket, never early, and at most 8/63
 * of the delay late. Costs: n pending timers; the README says which family to choose.
 */
enum tw_family {
    TW_FAMILY_LIST = 1,      /* sorted list: few timers, or all with the same delay. insert O(n), all else O(1) */
    TW_FAMILY_HEAP2 = 2,     /* binary heap of at most `capacity` timers. O(log n), head O(1) */
    TW_FAMILY_HEAP4 = 3,     /* heap with four children a level, of at most `capacity` timers. O(log n), head O(1) */
    TW_FAMILY_RB = 4,        /* red-black tree. O(log n), the head too */
    TW_FAMILY_RB_CACHED = 5, /* red-black tree that knows its head. O(log n), head O(1) */
    TW_FAMILY_AVL = 6,       /* AVL tree that knows its head. O(log n), head O(1) */
    TW_FAMILY_WHEEL = 7,     /* timing wheel, exact. O(1) */
    TW_FAMILY_COARSE = 8     /* timing wheel whose timers may be late by a bucket. O(1) */
};

/* A queue, somewhere in memory that you gave. */
typedef struct tw_queue tw_queue;

/* Bytes that are enough for a queue, as constants, for memory that is static or part of a struct:
 * lists and trees; wheels; the coarse wheel; heaps of `capacity` timers. */
#define TW_QUEUE_BYTES 128
#define TW_WHEEL_BYTES 17408
#define TW_COARSE_BYTES 10752
#define TW_HEAP_BYTES(capacity) (512 + 32 * (size_t)(capacity))

/* The bytes that a queue takes, whatever the alignment of its memory; 0 for what is no family or cannot be. `capacity` is the bound of a heap; the other
 * families have none and ignore it. Threads: any. */
TW_API size_t tw_queue_size(int family, size_t capacity);

/* Makes an empty queue in `size` bytes at `memory`, of any alignment and content, and answers it in `*queue`, which must not be null. The memory is the queue's
 * until tw_queue_destroy, and must not move.
 * 0; -EINVAL; -ENOSPC: `size` is less than tw_queue_size; on an error `*queue` is null. Threads: any. */
TW_API int tw_queue_init(tw_queue **queue, void *memory, size_t size, int family, size_t capacity);

/* Ends a queue. What was pending is pending no more, and the memory is yours again.
 * 0; -EINVAL; -EBUSY: from a callback of this queue. Threads: serialised. */
TW_API int tw_queue_destroy(tw_queue *queue);

/* Makes a timer pending until `deadline`.
 * 1 if the next wake-up may have changed, so that an alarm must be set anew, else 0; -EINVAL; -EALREADY; -EXDEV; -ENOSPC: a heap is
 * full; -EOVERFLOW; -EBUSY. Threads: serialised. */
TW_API int tw_queue_insert(tw_queue *queue, tw_timer *timer, uint64_t deadline);

/* Takes a pending timer out.
 * 1 or 0 as tw_queue_insert; -EINVAL; -ENOENT; -EXDEV; -EBUSY. Threads: serialised. */
TW_API int tw_queue_remove(tw_queue *queue, tw_timer *timer);

/* Gives a pending timer another deadline: as to remove and insert it, so it goes behind its equals.
 * 1 or 0 as tw_queue_insert; -EINVAL; -ENOENT; -EXDEV; -EBUSY. Threads: serialised. */
TW_API int tw_queue_reschedule(tw_queue *queue, tw_timer *timer, uint64_t deadline);

/* When a pending timer is due: its deadline, or in the coarse wheel the end of its bucket.
 * 0; -EINVAL; -ENOENT; -EXDEV; -EBUSY. Threads: serialised. */
TW_API int tw_queue_expiry(const tw_queue *queue, const tw_timer *timer, uint64_t *tick);

/* The timer that leaves first, and when it is due. In wheels this looks for it; tw_queue_next_wake does not.
 * 1; 0: none is pending, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_peek(const tw_queue *queue, tw_timer **timer, uint64_t *tick);

/* The timer that leaves after the first, and when it is due.
 * 1; 0: fewer than two are pending, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_second(const tw_queue *queue, tw_timer **timer, uint64_t *tick);

/* When the first timer is due, exactly.
 * 1; 0: none is pending, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_next_expiry(const tw_queue *queue, uint64_t *tick);

/* When to wake up: not later than the first timer is due, perhaps earlier in wheels, and after the queue's now once all that is due was delivered.
 * 1; 0: none is pending, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_next_wake(const tw_queue *queue, uint64_t *tick);

/* A timer that has left because it was due. */
typedef struct tw_expired {
    tw_timer *timer;
    uint64_t deadline; /* that was asked for, or the queue's now when it was asked, if that was later */
    uint64_t expiry;   /* when it was due in this structure, never before the deadline */
} tw_expired;

/* Moves the queue's now forward and takes the first timer out if it is due. It may be freed or inserted again at once.
 * 1; 0: none is due, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_pop_expired(tw_queue *queue, uint64_t now, tw_expired *fired);

/* Answers the next deadline of a timer that is due. The timer is still pending while it runs: every function refuses the queue with -EBUSY. */
typedef uint64_t (*tw_rearm_fn)(tw_timer *timer, uint64_t expiry, void *user);

/* Moves the queue's now forward and, if the first timer is due, gives it the deadline that `rearm` answers, in one step. A period without drift is
 * expiry + period. `fired` tells of the timer as it was due.
 * 1; 0: none is due, `rearm` was not called; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_pop_and_reinsert(tw_queue *queue, uint64_t now, tw_rearm_fn rearm, void *user, tw_expired *fired);

/* Is called with each timer that is due, when it has been taken out. It may free it, insert it again, and call anything about the queue but
 * tw_queue_destroy. `fired` is valid until it returns. */
typedef void (*tw_fire_fn)(const tw_expired *fired, void *user);

/* What an advance did. */
typedef struct tw_advance {
    size_t delivered; /* timers that `fire` was called with */
    size_t moved;     /* timers that a wheel moved from one bucket to another */
} tw_advance;

/* Moves the queue's now forward and calls `fire` with each timer that is due, in order, until `budget` timers were delivered or moved; a budget of 0 only moves now.
 * A timer that `fire` inserts again at or before now is due once more, in this same call if the budget lasts: SIZE_MAX is
 * for programs that do not do this.
 * 0: nothing that is due is left; 1: something may be, as the budget ran out: call again; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_advance(tw_queue *queue, uint64_t now, size_t budget, tw_fire_fn fire, void *user, tw_advance *done);

/* The greatest now that the queue was told; 0 at first. 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_now(const tw_queue *queue, uint64_t *tick);

/* How many timers are pending; -EINVAL; -EBUSY. Threads: serialised. */
TW_API ptrdiff_t tw_queue_len(const tw_queue *queue);

/* Takes every timer out; now stays. 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_clear(tw_queue *queue);

/* Verifies the whole structure, in O(n). When it is broken, `text` (if not null) gets what is wrong, cut off at `size` bytes with a zero.
 * 0; -EBADMSG; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_queue_check(const tw_queue *queue, char *text, size_t size);

/* ------------------------------------------------------------------------------------------------------ a heap by itself
 *
 * A priority queue over pointers to your elements: the greatest leaves first; equals in any order. It allocates its array. No clock, no ticks.
 */
typedef struct tw_heap tw_heap;

/* Above 0 if `a` ranks higher and so leaves earlier, below 0 if `b` does, 0 if they are equal: by comparisons, as a difference overflows. While it
 * runs every function refuses the heap with -EBUSY. */
typedef int (*tw_compare_fn)(const void *a, const void *b, void *user);

/* Makes an empty heap, and answers it in `*heap`, which must not be null. There is room for `capacity` elements, and more is allocated when it is needed.
 * With an `index_offset` of 0 or more each element has, at that offset, a size_t for the heap to note where it is; it is 0 before the element's first push. With a
 * negative one elements cannot be removed or updated.
 * 0; -EINVAL; -ENOMEM; on an error `*heap` is null. Threads: any. */
TW_API int tw_heap_create(tw_heap **heap, size_t capacity, tw_compare_fn compare, void *user, ptrdiff_t index_offset);

/* Ends a heap, and frees its array. The elements are yours; their positions become 0. Null is fine.
 * 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_destroy(tw_heap *heap);

/* Takes an element in, in O(log n). It must not be null, and its rank must not change while it is in, but for tw_heap_update.
 * 0; -EINVAL: also when its position is not aligned; -EALREADY; -ENOMEM; -EBUSY. Threads: serialised. */
TW_API int tw_heap_push(tw_heap *heap, void *element);

/* Takes the greatest element out, in O(log n), and answers it in `*element`, which must not be null.
 * 1; 0: there is none, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_pop(tw_heap *heap, void **element);

/* The element at a position: 1 is the greatest, the others up to the size are in no particular order. `element` must not be null.
 * 1; 0: no such position, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_peek(const tw_heap *heap, size_t position, void **element);

/* Takes an element out, in O(log n). The position that it notes is not believed, but looked at.
 * 0; -ENOENT: it notes that it is in no heap, or the heap keeps no positions; -EXDEV: something else is where it notes that it is; -EINVAL;
 * -EBUSY. Threads: serialised. */
TW_API int tw_heap_remove(tw_heap *heap, void *element);

/* Puts an element whose rank has changed where it belongs, in O(log n). Call nothing else about the heap between the change and this.
 * 0; errors as tw_heap_remove. Threads: serialised. */
TW_API int tw_heap_update(tw_heap *heap, void *element);

/* How many elements it holds; -EINVAL; -EBUSY. Threads: serialised. */
TW_API ptrdiff_t tw_heap_size(const tw_heap *heap);

/* Verifies the whole structure, in O(n), as tw_queue_check.
 * 0; -EBADMSG; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_verify(const tw_heap *heap, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
