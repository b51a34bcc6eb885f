/* Tickwright: timers on a data structure that is chosen by measurement.
 *
 * C11, and usable from C++. Link with `pkg-config --cflags --libs tickwright`.
 *
 *   tw_timer, tw_queue   timers inside your own structs, in a list, heap, tree or wheel of your choice; no allocation, ever
 *   tw_heap              a priority queue with your comparator
 *   tw_odlink, tw_odict  an ordered dictionary over links inside your own structs, with your key and comparator; no allocation, ever
 *   tw_sched             callbacks after a delay, with ids to cancel them by, for threads and event loops
 *   tw_threads           threads one-to-one, M:N and with a manager, in the shape of pthreads
 *
 * RESULTS. Functions that answer an int or a ptrdiff_t answer 0 or more for what was asked, and less than 0, a negated errno, when it could
 * not be done; then nothing was changed.
 *
 *   -EINVAL     a null pointer; a number that is no family; memory that is no queue, heap or dictionary, or a copy of one; a queue or dictionary that is destroyed, whose memory is
 *               there; a timer or link that was never initialised, or that is the copy of one that is in use; a thread that is
 *               detached, or that another one joins
 *   -ENOENT     the timer, element or link is in no queue, heap or dictionary: it was taken out before, or never put in. The id names no timer (any more)
 *   -EALREADY   it is in this one already. The scheduler has a thread or a descriptor, or is being destroyed
 *   -EXDEV      it is in another one; or the position of an element, for tw_heap_push, is not 0
 *   -ENOSPC     the queue is full, or the memory for it is too small
 *   -ESRCH      the id names no thread (any more)
 *   -ENOMEM     no memory (tw_heap, tw_sched and tw_threads alone)
 *   -EBUSY      a callback called what it may not call. Of a scheduler: the callback runs, or another thread runs the queue. The thread runs
 *   -ETIMEDOUT  the thread ran still when the time had come
 *   -EDEADLK    a callback of a scheduler, or a thread, asked for what would wait for its own end
 *   -ECANCELED  the scheduler is being destroyed. The process is a forked child without the runtime's threads, or the manager has ended
 *   -ENOTSUP    the scheduler's clock, or the system, does not offer that
 *   -EAGAIN     the system has no thread to give
 *   -EOVERFLOW  2^31 queues and dictionaries were made in this process: no identity is left for another
 *   -ERANGE     the key does not belong at that end of the dictionary
 *   -EBADMSG    a check found the structure broken
 *
 * Where a function answers through a pointer, that may be null for what you do not want to know, unless its text says otherwise. One that is
 * not aligned is -EINVAL for queues, heaps and dictionaries; schedulers and threads write nothing there.
 *
 * THREADS. Queues, heaps and dictionaries lock nothing, schedulers lock themselves. "Serialised" below means: two calls about one object (a queue and its timers; a heap and its elements; a
 * dictionary and its links) do not
 * overlap in time, those that only read included; keep a lock around them. Calls about different objects may overlap. "Any" means that nothing has to be kept.
 *
 * CALLBACKS return. A C++ exception that leaves one, a comparator, a clean-up function or the function of a thread ends the process (SIGABRT), whoever would catch it. A longjmp out
 * of one, over the library's frames, is undefined, and so is pthread_exit.
 *
 * NOT DETECTED, and undefined: a pointer to memory that is gone, a destroyed scheduler, heap or runtime of threads among that; a timer, element or link that is freed or overwritten while it is in a queue, heap or dictionary; memory
 * of a queue or dictionary that is freed before its destroy. `tw_queue_check`, `tw_heap_verify` and `tw_odict_check` find much of what these do, afterwards.
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
 * of the delay or one tick late. Costs: n pending timers; the README says which family to choose.
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

/* The tick for which to set an alarm. It is never later than the tick at which the first timer is due,
 * which tw_queue_next_expiry returns. In wheels it may be earlier. It may even be at or before the
 * queue's now although no timer is due. For example: timers are due at 100 and 120, tw_queue_remove
 * takes out the first, and tw_queue_advance to 110 has a budget of 0. Then a wheel may return 100.
 * When tw_queue_pop_expired, tw_queue_pop_and_reinsert or tw_queue_advance has returned 0, it is after
 * the queue's now, so that a loop does not spin.
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
 * With an `index_offset` of 0 or more each element has, at that offset, a size_t where the heap
 * writes the element's position. It must be 0 before the element's first push: zero the memory, or
 * call tw_heap_forget. With a negative offset elements cannot be removed or updated.
 * 0; -EINVAL; -ENOMEM; on an error `*heap` is null. Threads: any. */
TW_API int tw_heap_create(tw_heap **heap, size_t capacity, tw_compare_fn compare, void *user, ptrdiff_t index_offset);

/* Ends a heap, and frees its array. The elements are yours; their positions become 0. Null is fine.
 * 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_destroy(tw_heap *heap);

/* Takes an element in, in O(log n). It must not be null, and its rank must not change while it is in, but for tw_heap_update.
 * 0; -EINVAL: also when its position is not aligned; -EALREADY; -EXDEV: its position is not 0, and
 * another element is at that position here. Then it is in another heap, or its memory was not zeroed
 * before the first push: tw_heap_forget; -ENOMEM; -EBUSY. Where no positions are kept it is taken in as often as it is pushed. Threads: serialised. */
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

/* Whether the heap has an element. It reads the element's position, in O(1). Without positions it
 * looks at every element, in O(n).
 * 1; 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_contains(const tw_heap *heap, const void *element);

/* Sets the position of an element to 0, whatever was in the memory, so that it can be pushed. Do not
 * call it for an element that is in a heap: that heap could not remove it any more. Without positions
 * this does nothing.
 * 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_forget(tw_heap *heap, void *element);

/* How many elements it holds; -EINVAL; -EBUSY. Threads: serialised. */
TW_API ptrdiff_t tw_heap_size(const tw_heap *heap);

/* Verifies the whole structure, in O(n), as tw_queue_check.
 * 0; -EBADMSG; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_heap_verify(const tw_heap *heap, char *text, size_t size);

/* --------------------------------------------------------------------------------------------------- an ordered dictionary
 *
 * Structs in the order of their keys, equals in the order in which they came. Put a tw_odlink into your own struct; a struct with two is in two
 * dictionaries at once. It is a red-black tree with a list through it: a search and an insert cost O(log n), the neighbours O(1). Nothing is allocated.
 *
 *     struct area { uintptr_t base; size_t size; tw_odlink by_base; };
 *
 * A link starts as zeros: by TW_ODLINK_INIT, tw_odlink_init or calloc. While it is in a dictionary it must not move, and the key must not change but for
 * tw_odict_key_update.
 *
 * A HINT is a link in the same dictionary where a search starts, or null. Any gives the right answer; a near one gives it sooner.
 *
 * YOUR FUNCTIONS run before anything is changed; every function refuses the dictionary with -EBUSY meanwhile. If the comparator contradicts itself, or a key is changed
 * in secret, links stand where its answers led, and searches may miss them; nothing is lost, everything can be removed, and tw_odict_check tells where neighbours
 * are out of order.
 *
 * To walk a range: tw_odict_find with TW_ODICT_GEQ, then tw_odict_next until your comparator says that it ends.
 */
typedef struct tw_odlink {
    uint64_t opaque[8];
} tw_odlink;

#define TW_ODLINK_INIT { { 0 } }

/* Makes a link that is in no dictionary, whatever was in the memory. Do not call it for one that is in: the dictionary would still point at it.
 * 0; -EINVAL. Threads: serialised. */
TW_API int tw_odlink_init(tw_odlink *link);

/* 1 if the link is in some dictionary, 0 if not; -EINVAL. Threads: serialised. */
TW_API int tw_odlink_is_linked(const tw_odlink *link);

/* A dictionary. It must not move. */
typedef struct tw_odict {
    uint64_t opaque[12];
} tw_odict;

/* Where the key is of the struct that `link` is in: TW_CONTAINER. Whatever it answers is only passed to the comparator. */
typedef const void *(*tw_key_fn)(const tw_odlink *link, void *user);

/* Below 0 if the key `a` comes before `b`, above 0 if behind it, 0 if they are equal: by comparisons, as a difference overflows. */
typedef int (*tw_key_compare_fn)(const void *a, const void *b, void *user);

/* Makes an empty dictionary, whatever was in the memory. Do not call it for one that has links.
 * 0; -EINVAL. Threads: serialised. */
TW_API int tw_odict_init(tw_odict *odict, tw_key_fn key, tw_key_compare_fn compare, void *user);

/* Ends a dictionary. What was in it is in none, and the memory is yours again.
 * 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_odict_destroy(tw_odict *odict);

/* Inserts behind all equals.
 * 0; -EINVAL; -EALREADY; -EXDEV: the link or the hint is in another dictionary; -ENOENT: the hint is in none; -EOVERFLOW; -EBUSY. Threads: serialised. */
TW_API int tw_odict_insert(tw_odict *odict, tw_odlink *link, const tw_odlink *hint);

/* Inserts behind the last, without a search.
 * 0; -ERANGE: its key is less than the last; else as tw_odict_insert. Threads: serialised. */
TW_API int tw_odict_append(tw_odict *odict, tw_odlink *link);

/* Inserts in front of the first, without a search.
 * 0; -ERANGE: its key is not less than the first; else as tw_odict_insert. Threads: serialised. */
TW_API int tw_odict_prepend(tw_odict *odict, tw_odlink *link);

/* Takes a link out. No key is looked at.
 * 0; -EINVAL; -ENOENT; -EXDEV; -EBUSY. Threads: serialised. */
TW_API int tw_odict_remove(tw_odict *odict, tw_odlink *link);

/* To be called when the key of a link has changed: gives it the place of an insert now, behind its equals.
 * 1 if it moved, 0 if it stays; -EINVAL; -ENOENT; -EXDEV; -EBUSY. Threads: serialised. */
TW_API int tw_odict_key_update(tw_odict *odict, tw_odlink *link);

enum tw_odict_how {
    TW_ODICT_EQ = 1,      /* the first with the key */
    TW_ODICT_EQ_LAST = 2, /* the last with the key */
    TW_ODICT_GEQ = 3,     /* the first with the key or a greater one */
    TW_ODICT_GT = 4,      /* the first with a greater key */
    TW_ODICT_LEQ = 5,     /* the last with the key or a lesser one */
    TW_ODICT_LT = 6       /* the last with a lesser key */
};

/* Searches. `key` is what the comparator gets as its first key; null is passed on like any other.
 * 1; 0: there is none, nothing was written; -EINVAL; -ENOENT, -EXDEV: the hint; -EBUSY. Threads: serialised. */
TW_API int tw_odict_find(const tw_odict *odict, int how, const void *key, const tw_odlink *hint, tw_odlink **found);

/* The first link. 1; 0: there is none, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_odict_first(const tw_odict *odict, tw_odlink **found);

/* The last link. 1; 0: there is none, nothing was written; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_odict_last(const tw_odict *odict, tw_odlink **found);

/* The link behind one.
 * 1; 0: there is none, nothing was written; -EINVAL; -ENOENT; -EXDEV; -EBUSY. Threads: serialised. */
TW_API int tw_odict_next(const tw_odict *odict, const tw_odlink *link, tw_odlink **found);

/* The link in front of one. As tw_odict_next. Threads: serialised. */
TW_API int tw_odict_prev(const tw_odict *odict, const tw_odlink *link, tw_odlink **found);

/* How many links are in, in O(1); -EINVAL; -EBUSY. Threads: serialised. */
TW_API ptrdiff_t tw_odict_len(const tw_odict *odict);

/* Takes every link out. 0; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_odict_clear(tw_odict *odict);

/* Verifies the whole structure, in O(n), as tw_queue_check. 0; -EBADMSG; -EINVAL; -EBUSY. Threads: serialised. */
TW_API int tw_odict_check(const tw_odict *odict, char *text, size_t size);

/* -------------------------------------------------------------------------------------------------------- a scheduler
 *
 * Timers that call back, one at a time and without any lock held, on whatever thread runs the queue: a poll loop of yours (tw_sched_wait, tw_sched_run), an
 * event loop (tw_sched_fd), or a thread of the scheduler's own (tw_sched_start_thread). Equal due times run in the order in which they were armed, and
 * nothing runs before it is due. Any thread may call any function at any time, but for tw_sched_destroy.
 *
 * IDS. A timer has an id of 64 bits, never 0, which is stale for ever when the timer is gone; and an `int` above 0, for programs that keep ids in an
 * `int`: a live one is never issued twice, and one is issued again only after some 2^31 others. Both mean the same timer, and every function takes
 * either. Any other number, a negative one too, is the id of nothing: -ENOENT.
 *
 * TIME is that of the scheduler's clock: nanoseconds that never run back. Delays in ms are counted from now; less than 0 is -EINVAL, and one that goes
 * beyond the clock's end, in 584 years, is never due.
 *
 * CALLBACKS AND CLEAN-UP may call everything about their scheduler; what would wait for themselves answers -EDEADLK. Beside the callback, a job may have a
 * clean-up function, which is called once with the data when the scheduler lets go of the timer, however that comes (done, cancelled,
 * replaced, shut down, destroyed), but not when adding it was refused. It runs without a lock on the thread that let go, before a cancel that waits
 * returns. So whoever counts references takes one for the timer and gives it back in the clean-up function.
 *
 * FORKS. A forked child, also after daemon(), has a copy of each scheduler that is whole: timers are
 * pending for the same times, and every function may be called, tw_sched_destroy among them. It has no
 * thread: tw_sched_start_thread starts one in the child. Its descriptor keeps its number, and is its own:
 * what one process does with it, the other does not see. Add it to an epoll instance of the child's. A
 * timer whose callback ran on another thread at the fork is gone in the child, and is not cleaned up
 * there. The child of a callback goes on with that callback. Children that are made without fork()
 * (vfork, clone) call nothing of this library before they call exec.
 */
typedef struct tw_sched tw_sched;

enum tw_clock {
    TW_CLOCK_MONOTONIC = 0, /* stands still while the machine is suspended */
    TW_CLOCK_BOOTTIME = 1,  /* goes on meanwhile */
    TW_CLOCK_REALTIME = 2,  /* as monotonic, and timers may be due by the time of day (TW_BASE_WALL) */
    TW_CLOCK_VIRTUAL = 3    /* stands still but for tw_sched_advance; for tests. The day begins at 1970 */
};

/* Makes a scheduler, and answers it in `*sched`, which must not be null. `family` says what its timers are kept in (0: TW_FAMILY_HEAP4), `tick_ns` how long a tick
 * is (0: 1 ns, or 1 ms for wheels); there is room for `capacity` timers, and more is allocated when it is needed. Without memory for a virtual clock the process ends.
 * 0; -EINVAL; -ENOMEM; on an error `*sched` is null. Threads: any. */
TW_API int tw_sched_create(tw_sched **sched, int family, int clock, uint64_t tick_ns, size_t capacity);

/* Ends a scheduler: cleans up whatever is pending or idle, waits for the callback that runs and for the thread, and frees it; the descriptor is closed. From its beginning
 * nothing can be armed (-ECANCELED). Null is fine.
 * 0; -EINVAL; -EDEADLK: from a callback of this scheduler, or a clean-up after one; -EALREADY: from a clean-up function that a destroy called; -EBUSY: from one that
 * tw_sched_shutdown_token called. Threads: no other call may be under way or begin, but for a tw_sched_run whose callback runs, and what callbacks and clean-up functions call. */
TW_API int tw_sched_destroy(tw_sched *sched);

/* What a callback is told; valid until it returns. */
typedef struct tw_firing {
    tw_sched *sched;
    uint64_t id;
    uint64_t due;      /* when it was due, in ns of the clock; of a period with missed points, the last of them */
    uint64_t now;      /* the clock when it was called */
    uint64_t overruns; /* how many of its periods have passed beside the one that it is called for */
    const void *token; /* the job's */
} tw_firing;

/* A callback. 0: done, the timer is gone. Else it runs again: after its period, or the delay that it was armed with, counted from when it was due, but
 * never before now. Of a variable timer the answer is that delay, in ms; less than 0 is done. */
typedef int64_t (*tw_sched_fn)(void *data, const tw_firing *firing);

/* Ends the data of a timer. */
typedef void (*tw_cleanup_fn)(void *data);

/* Adding. Each of these is a macro that notes the callback's name and the call's file and line for tw_sched_dump and tw_sched_report. They answer the `int` id, above 0;
 * -EINVAL: also for a null callback and a negative delay; -ENOMEM; -ECANCELED. On an error nothing was added and nothing is cleaned up. */
#define tw_sched_add(sched, delay_ms, call, data) tw_sched_add_from(sched, delay_ms, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_variable(sched, delay_ms, call, data) \
    tw_sched_add_variable_from(sched, delay_ms, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_at(sched, at_ns, call, data) tw_sched_add_at_from(sched, at_ns, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_job(sched, job, id) tw_sched_add_job_from(sched, job, 0, NULL, id, "job", __FILE__, __LINE__)
#define tw_sched_replace_job(sched, old, job, became, id) \
    tw_sched_add_job_from(sched, job, old, became, id, "job", __FILE__, __LINE__)

#define tw_sched_add_since(sched, since_ns, delay_ms, call, data) \
    tw_sched_add_since_from(sched, since_ns, delay_ms, call, data, #call, __FILE__, __LINE__)

/* `name` and `file` below stay where they are for as long as the scheduler, as literals do; they are told apart by address. Null is fine. */

/* Calls back after a delay. An `int` id, or an error as above. Threads: any. */
TW_API int tw_sched_add_from(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data, const char *name, const char *file, int line);

/* The same for a variable timer: it runs again after what its callback answers, in ms. Threads: any. */
TW_API int tw_sched_add_variable_from(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data, const char *name, const char *file, int line);

/* Calls back when the clock shows `at_ns`; the past is due at once. Again means after the delay that this was. Threads: any. */
TW_API int tw_sched_add_at_from(tw_sched *sched, uint64_t at_ns, tw_sched_fn call, void *data, const char *name, const char *file, int line);

/* Calls back `delay_ms` after `since_ns`, a time that the clock has shown: see TW_BASE_SINCE. Threads: any. */
TW_API int tw_sched_add_since_from(tw_sched *sched, uint64_t since_ns, int64_t delay_ms, tw_sched_fn call, void *data, const char *name, const char *file, int line);

enum tw_base {
    TW_BASE_NOW = 0,   /* `when` is counted from now: each call reads the clock */
    TW_BASE_CLOCK = 1, /* `when` is what the clock shows (tw_sched_now) */
    TW_BASE_WALL = 2,  /* `when` is the time of day, from 1970-01-01 UTC; if that is set, the timer goes with it. TW_CLOCK_REALTIME and _VIRTUAL only, else -ENOTSUP */
    TW_BASE_SINCE = 3  /* `when` is counted from `since`, a time that the clock has shown */
};

/* TW_BASE_SINCE is for loops and callbacks that arm many timers at one time: they read the clock once (tw_sched_now, or tw_firing.now), as libuv and libev
 * do for each turn of their loop. A call then reads no clock, except on TW_FAMILY_COARSE and while timers by the time of day are pending. The callback
 * never runs before `since` + `when`. Seen from the call, that is earlier than TW_BASE_NOW by the age of `since`: for example, a delay of 100 ms from a
 * time that is 30 ms old ends 70 ms after the call. So read the clock again after each wait, as uv_update_time and ev_now_update do. */

/* What becomes of periods that passed without a run. */
enum tw_missed {
    TW_MISSED_COLLAPSE = 0, /* counted; the next is one period after the due time, but never before now */
    TW_MISSED_BURST = 1,    /* each is made up for */
    TW_MISSED_SKIP = 2,     /* counted and left out; the grid stays */
    TW_MISSED_DELAY = 3,    /* counted; the next period begins when the callback ends. So the timer drifts at
                               each firing, by its lateness and by the time that the callback takes */
    TW_MISSED_PERSIST = 4   /* counted; the grid stays unless a period was missed, then the next one is a period
                               after the late run: EV_PERSIST of libevent */
};

/* When a timer is due. All zeros: now, once. Numbers less than 0 are -EINVAL. */
typedef struct tw_timing {
    int base;       /* TW_BASE_... */
    int missed;     /* TW_MISSED_... */
    int64_t when;   /* ns */
    int64_t period; /* ns, on a grid that does not drift; 0: none */
    int64_t slack;  /* ns that it may be late, so that timers meet and one wake-up serves them;
                       rounded down to 1024 ns and to four significant bits; at most 4.5 hours */
    uint64_t since; /* ns of the clock, with TW_BASE_SINCE; the other bases ignore it */
} tw_timing;

enum tw_job_flags {
    TW_JOB_VARIABLE = 1, /* what the callback answers is the next delay, in ms */
    TW_JOB_KEEP = 2      /* not armed, and kept when it is done or cancelled: tw_sched_start arms it, tw_sched_shutdown_... ends it */
};

/* A timer with everything that it can have; the rest is zeros. */
typedef struct tw_job {
    tw_sched_fn call;
    void *data;
    tw_cleanup_fn cleanup; /* null: none */
    const void *token;     /* to be found by in tw_sched_shutdown_token */
    int flags;             /* TW_JOB_... */
    tw_timing timing;      /* checked, but not used, with TW_JOB_KEEP */
} tw_job;

/* Adds a job, and in the same step cancels `replaced` as tw_sched_cancel_async does (0: none; not with TW_JOB_KEEP). Answers the other id in `*id`, and in `*became` what
 * cancelling answered, -ENOENT for none. On an error the old one is as it was. A callback on another thread may run before `*id` is written: who has
 * to know the id in the callback takes it from there, or keeps the timer and starts it. An `int` id, or an error as above; -ENOTSUP. Threads: any. */
TW_API int tw_sched_add_job_from(tw_sched *sched, const tw_job *job, uint64_t replaced, int *became, uint64_t *id, const char *name, const char *file, int line);

/* Arms a kept timer that is idle, or gives one that is pending another time: its id stays. One that runs is armed when its callback has ended, whatever that answers.
 * 0; -EINVAL; -ENOENT; -ENOMEM; -ECANCELED. Threads: any. */
TW_API int tw_sched_start(tw_sched *sched, uint64_t id, int64_t delay_ms);

/* The same, and the delay is counted from `since_ns`, a time that the clock has shown: see TW_BASE_SINCE. Threads: any. */
TW_API int tw_sched_start_since(tw_sched *sched, uint64_t id, uint64_t since_ns, int64_t delay_ms);

/* The same with everything; -ENOTSUP too. Threads: any. */
TW_API int tw_sched_start_timing(tw_sched *sched, uint64_t id, const tw_timing *timing);

/* Cancelling: what is answered, and what holds when the call returns.
 *
 *   the timer is              | _cancel_try          | _cancel_async         | _cancel_sync               | _shutdown_async, _shutdown_sync
 *   pending                   | REMOVED              | REMOVED               | REMOVED                    | REMOVED
 *   pending, kept             | DISARMED             | DISARMED              | DISARMED                   | REMOVED
 *   idle (kept)               | IDLE                 | IDLE                  | IDLE                       | REMOVED
 *   running on another thread | -EBUSY, unchanged    | ENDING, returns now   | waits: FINISHED, SUPPRESSED | as async; _sync waits as sync
 *   running, and the caller   | -EBUSY, unchanged    | ENDING                | -EDEADLK, unchanged        | as async; _sync -EDEADLK
 *   done, cancelled, never was| -ENOENT              | -ENOENT               | -ENOENT                    | -ENOENT
 *
 * Several may cancel one running timer: all of them are right, and one who waits is told SUPPRESSED. */
enum tw_cancelled {
    TW_CANCEL_REMOVED = 0,    /* it is gone, and was cleaned up */
    TW_CANCEL_DISARMED = 1,   /* it was pending; it is kept, and idle */
    TW_CANCEL_IDLE = 2,       /* it is kept, and was idle already */
    TW_CANCEL_FINISHED = 3,   /* its callback ran on another thread and has ended, and had not asked to run again, or another caller was told so */
    TW_CANCEL_SUPPRESSED = 4, /* the same, and it had asked to run again, and does not */
    TW_CANCEL_ENDING = 5      /* its callback runs, and will not run again */
};

/* Cancels a timer unless it runs. As the table; -EINVAL. Threads: any. */
TW_API int tw_sched_cancel_try(tw_sched *sched, uint64_t id);

/* Cancels a timer, and never waits. As the table; -EINVAL. Threads: any. */
TW_API int tw_sched_cancel_async(tw_sched *sched, uint64_t id);

/* Cancels a timer; afterwards its callback does not run. Hold no lock that the callback wants. As the table; -EINVAL. Threads: any. */
TW_API int tw_sched_cancel_sync(tw_sched *sched, uint64_t id);

/* Ends a timer, a kept one too: the id is stale, and nothing can arm it again. As the table; -EINVAL. Threads: any. */
TW_API int tw_sched_shutdown_async(tw_sched *sched, uint64_t id);

/* The same, and waits as tw_sched_cancel_sync. As the table; -EINVAL. Threads: any. */
TW_API int tw_sched_shutdown_sync(tw_sched *sched, uint64_t id);

/* Ends every timer with this token, in O(timers), and answers how many were removed. One that runs will not run again; its id is answered in `*running`, else 0,
 * for who has to wait for it (tw_sched_shutdown_sync). What is added meanwhile may be met or not. -EINVAL. Threads: any. */
TW_API ptrdiff_t tw_sched_shutdown_token(tw_sched *sched, const void *token, uint64_t *running);

enum tw_state { TW_STATE_IDLE = 0, TW_STATE_PENDING = 1, TW_STATE_RUNNING = 2 };

/* What is known of a timer. */
typedef struct tw_sched_info {
    uint64_t id;
    int int_id;
    int state;         /* TW_STATE_... */
    uint64_t due;      /* when it is due (pending) or was (running), in ns of the clock */
    uint64_t interval; /* its period, or the delay that it was armed with, in ns */
    const void *token;
    void *data;        /* null while it runs: the callback has it */
} tw_sched_info;

/* What is known of a timer, its data among that. 0; -ENOENT; -EINVAL. Threads: any. */
TW_API int tw_sched_find(const tw_sched *sched, uint64_t id, tw_sched_info *info);

/* The `int` id of a timer. -ENOENT; -EINVAL. Threads: any. */
TW_API int tw_sched_int(const tw_sched *sched, uint64_t id);

/* When a timer is due, in ns of the clock. 1; 0: it is idle or runs, nothing was written; -ENOENT; -EINVAL. Threads: any. */
TW_API int tw_sched_when(const tw_sched *sched, uint64_t id, uint64_t *due_ns);

/* How long until a timer is due, in ms rounded up; 0 if it is overdue. 1; 0: it is idle or runs, nothing was written; -ENOENT; -EINVAL. Threads: any. */
TW_API int tw_sched_remaining(const tw_sched *sched, uint64_t id, int64_t *ms);

/* How long there is nothing to run, as a time-out for poll: in ms rounded up, 0 if something is due, at most INT_MAX. -1: nothing is pending; -EINVAL, for which poll
 * waits for ever too. Over TW_FAMILY_WHEEL and TW_FAMILY_COARSE it may be too short, once for each bucket: then
 * tw_sched_run finds nothing, and the next answer is right. Threads: any. */
TW_API int tw_sched_wait(tw_sched *sched);

/* Runs what is due now and was armed before, at most `budget` callbacks (SIZE_MAX: all), and answers how many ran.
 * Other threads' calls wait for a bounded time: no lock is held in a callback, nor while more than 256 timers are
 * moved inside the queue.
 * -EBUSY: another thread does; -EDEADLK: from a callback; -EINVAL. Threads: any. */
TW_API ptrdiff_t tw_sched_run(tw_sched *sched, size_t budget);

/* Starts a thread that sleeps until something is due, and runs it. Without memory for a thread the process ends. `name` may be null.
 * 0; -EALREADY: it has one, or a descriptor; -EAGAIN; -ECANCELED; -EINVAL. Threads: any. */
TW_API int tw_sched_start_thread(tw_sched *sched, const char *name);

/* Stops the thread, and waits until it has ended. What is pending stays. Hold no lock that a callback wants.
 * 0; -ENOENT: it has none, or the thread is that of the process which this was forked from; -EDEADLK: from a
 * callback; -EINVAL. Threads: any. */
TW_API int tw_sched_stop_thread(tw_sched *sched);

/* A descriptor for poll, epoll or another event loop, which becomes readable when the queue is to be run: then tw_sched_fd_ack, and tw_sched_run. The scheduler's,
 * which closes it; the same at each call. Linux. Without memory the process ends.
 * -ENOTSUP: another system, or a virtual clock; -EALREADY: it has a thread; -EMFILE and the like; -EINVAL. Threads: any. */
TW_API int tw_sched_fd(tw_sched *sched);

/* Takes note that the descriptor was readable. 1: run the queue; 0: it was not, or not any more; -ENOENT: there is no descriptor; -EINVAL. Threads: any. */
TW_API int tw_sched_fd_ack(tw_sched *sched);

/* What the clock shows, in ns. 0; -EINVAL. Threads: any. */
TW_API int tw_sched_now(const tw_sched *sched, uint64_t *ns);

/* Moves a virtual clock on; back it cannot go. If the scheduler has a thread, that has run what is due when this returns, unless a callback calls it.
 * 0; -ENOTSUP: the clock is not virtual; -EINVAL. Threads: any. */
TW_API int tw_sched_advance(tw_sched *sched, uint64_t ns);

/* Sets the time of day of a virtual clock forward, or back, as somebody sets the machine's; as tw_sched_advance. 0; -ENOTSUP; -EINVAL. Threads: any. */
TW_API int tw_sched_step_wall(tw_sched *sched, int64_t ns);

/* What was counted. Times are in ns; lateness is from when a timer was due to its callback. */
typedef struct tw_sched_counts {
    uint64_t timers;     /* that there are: idle, pending and running */
    uint64_t pending;
    uint64_t high_water; /* the most that there were at one time */
    uint64_t armed;      /* times that one was armed by its user */
    uint64_t fired;      /* callbacks run */
    uint64_t cancelled;  /* while they were pending */
    uint64_t overruns;   /* periods that passed without a run of their own */
    uint64_t passes;     /* runs of the queue */
    uint64_t steps;      /* of the time of day, that were seen */
    uint64_t heap_bytes; /* that it has allocated for its timers */
    uint64_t late_mean;
    uint64_t late_half;  /* half of the callbacks were not later */
    uint64_t late_most;  /* 99 % were not later */
    uint64_t late_max;
} tw_sched_counts;

/* What was counted. 0; -EINVAL. Threads: any. */
TW_API int tw_sched_count(const tw_sched *sched, tw_sched_counts *counts);

/* Every timer as a table: id, state, due, interval, token, callback, call site. `text` (if not null) gets it, cut off at `size` bytes with a zero.
 * Answers the length of the whole text, without the zero. -ENOMEM; -EINVAL. Threads: any. */
TW_API ptrdiff_t tw_sched_dump(const tw_sched *sched, char *text, size_t size);

/* What was counted as a text, also for each call site, and how late callbacks were. As tw_sched_dump. Threads: any. */
TW_API ptrdiff_t tw_sched_report(const tw_sched *sched, char *text, size_t size);

/* Verifies the whole scheduler, in O(timers), as tw_queue_check. 0; -EBADMSG; -EINVAL. Threads: any. */
TW_API int tw_sched_check(const tw_sched *sched, char *text, size_t size);

/* ------------------------------------------------------------------------------------------------------------- threads
 *
 * Threads in the shape of pthreads, of a runtime in one of three models, so that a program can try which one suits it. A thread runs a function,
 * ends when that returns, and is joined once or detached. Any thread may call any function at any time, but for tw_threads_destroy.
 *
 * IDS are never 0 and stale for ever when the thread is gone: joined, or detached and ended. To another runtime an id names no thread (-ESRCH).
 *
 * M:N threads share a few of the platform's, the workers. While one waits in this section's functions, others run on its worker; while it waits in anybody else's, or
 * computes without a tw_thread_yield, they do not. An M:N thread stays on the worker that has begun it.
 *
 * The M:N threads of one worker share what the platform keeps for a thread of its own: thread-local variables, the signal mask, the owner of a lock.
 * errno and C++ exceptions are a thread's own: a catch block may wait and then rethrow. The C++ runtime is found if the program is linked with one,
 * or has loaded one for all (RTLD_GLOBAL) before tw_threads_create.
 * Hold no pthread_mutex_t across a wait of this section. The next thread of the worker that locks it stops the worker for ever; a recursive
 * mutex lets that thread in, since to the platform both are one thread. For example:
 *
 *     pthread_mutex_lock(&lock);
 *     tw_thread_yield();            wrong: another thread of the worker may lock it now
 *     pthread_mutex_unlock(&lock);
 *
 * FAULTS. A thread that overflows its stack is named on standard error, and the process aborts. For that the first runtime sets handlers of SIGSEGV and SIGBUS;
 * other faults go to the handlers that were there before. The library stays loaded after a dlclose. Signal handlers run on the stack of the thread that
 * takes the signal, at least 64 KiB in the M:N model, or with SA_ONSTACK on 64 KiB of their own.
 *
 * FORKS. A forked child has none of the runtime's threads: nothing can be created there (-ECANCELED) or joined (-ESRCH), and destroying does not wait. In the
 * child a thread that has forked is one that no runtime has created, in every model: tw_thread_self returns 0. When its function returns, the child ends as a
 * process does whose last thread returns: handlers of exit() run, buffers are written, and its code is 0.
 *
 * THE LAST MOMENTS. All functions work in the destructors of a thread's variables and keys, and in handlers of exit(). There a thread of a runtime is one that no
 * runtime has created. A runtime may be destroyed in a handler of exit() if its threads end.
 */
typedef struct tw_threads tw_threads;
typedef uint64_t tw_thread;

enum tw_model {
    TW_MODEL_ONE_TO_ONE = 1, /* each is one of the platform's */
    TW_MODEL_MN = 2,         /* coroutines on workers */
    TW_MODEL_MANAGER = 3     /* as the first, each started and ended by a manager thread, as Linux had it until 2003: to be measured */
};

/* For a number that the library chooses. */
#define TW_DEFAULT SIZE_MAX

/* Starts a runtime, and answers it in `*threads`, which must not be null. `workers` is for TW_MODEL_MN: 1 to 255, or TW_DEFAULT: one for each core; other models ignore it.
 * 0; -EINVAL: also for no workers; -ENOMEM; -EAGAIN: the system has no thread to give; -EMFILE and the like; on an error `*threads` is null. Threads: any. */
TW_API int tw_threads_create(tw_threads **threads, int model, size_t workers);

/* What a runtime is created with. */
typedef struct tw_threads_attr {
    size_t workers;     /* for TW_MODEL_MN: 1 to 255, or TW_DEFAULT: one for each core */
    size_t stack_size;  /* of threads that ask for no other, in bytes without the guard: 16 KiB to 1 GiB, or TW_DEFAULT */
    size_t guard_size;  /* of threads that ask for no other, in bytes: up to 1 MiB; 0: none; or TW_DEFAULT */
    size_t kept_stacks; /* for TW_MODEL_MN: how many unused stacks a worker keeps for its next threads; or TW_DEFAULT: 1024 */
} tw_threads_attr;

/* Attributes that leave everything to the library; the same as null where they are asked for. 0; -EINVAL. Threads: any. */
TW_API int tw_threads_attr_init(tw_threads_attr *attr);

/* As tw_threads_create, with attributes. -EINVAL: also for a size out of range. Threads: any. */
TW_API int tw_threads_create_with(tw_threads **threads, int model, const tw_threads_attr *attr);

/* Waits until every thread has ended, those that nobody joined and those that they create meanwhile too, and ends the runtime. Null is fine.
 * 0; -EINVAL; -EDEADLK: from one of its threads; -EALREADY: it is being destroyed. Threads: no other call may be under way or begin, but for those of its threads. */
TW_API int tw_threads_destroy(tw_threads *threads);

/* How many threads there are whose function has not returned; -EINVAL. Threads: any. */
TW_API ptrdiff_t tw_threads_live(const tw_threads *threads);

/* What the runtime's clock shows, in ns: the machine's monotonic clock. 0; -EINVAL. Threads: any. */
TW_API int tw_threads_now(const tw_threads *threads, uint64_t *ns);

/* What a thread is created with. */
typedef struct tw_thread_attr {
    size_t stack_size; /* bytes without the guard: 16 KiB to 1 GiB, or TW_DEFAULT */
    size_t guard_size; /* bytes below the stack that nobody may touch: up to 1 MiB; 0: none; or TW_DEFAULT: 64 KiB for M:N threads, a page for others */
    const char *name;  /* up to 255 bytes of UTF-8, copied; null: none */
    int detached;      /* not 0: nobody joins it */
} tw_thread_attr;

/* Attributes that leave everything to the runtime; the same as null where attributes are asked for. 0; -EINVAL. Threads: any. */
TW_API int tw_thread_attr_init(tw_thread_attr *attr);

/* What a thread runs. What it returns is for the joiner. */
typedef void *(*tw_thread_fn)(void *argument);

/* Creates a thread, and answers its id in `*thread`. The thread may run, and even be gone, before this returns.
 * 0; -EINVAL: also for a null function, and for attributes out of range; -EAGAIN: the system has no stack or no thread to give, or the runtime as many as it may have; -ENOMEM;
 * -ECANCELED. On an error nothing was created. Threads: any. */
TW_API int tw_thread_create(tw_threads *threads, tw_thread *thread, const tw_thread_attr *attr, tw_thread_fn start, void *argument);

/* Waits for a thread to end, and answers what its function returned in `*value`. The id is stale from then on.
 * 0; -ESRCH; -EDEADLK: it is the caller, or waits for the caller, directly or through others; -EINVAL: also for one that is detached, or that another thread
 * joins. Threads: any. */
TW_API int tw_thread_join(tw_threads *threads, tw_thread thread, void **value);

/* The same without waiting. 0; -EBUSY: it runs, and may be joined later; errors as tw_thread_join. Threads: any. */
TW_API int tw_thread_tryjoin(tw_threads *threads, tw_thread thread, void **value);

/* The same until the runtime's clock shows `until_ns`. 0; -ETIMEDOUT: it runs still, and may be joined later; errors as tw_thread_join. Threads: any. */
TW_API int tw_thread_timedjoin(tw_threads *threads, tw_thread thread, void **value, uint64_t until_ns);

/* Nobody will join the thread: it is gone when it ends. 0; -ESRCH; -EINVAL: also for one that is detached already, or that another thread joins. Threads: any. */
TW_API int tw_thread_detach(tw_threads *threads, tw_thread thread);

/* The calling thread; 0 if no runtime has created it, in the destructors of its variables and keys, and in a child that it has forked. Threads: any. */
TW_API tw_thread tw_thread_self(void);

/* 1 if both ids are the same, else 0. Threads: any. */
TW_API int tw_thread_equal(tw_thread one, tw_thread other);

/* The lowest address of the calling thread's stack, above its guard, and its size. 1; 0: no runtime has created it, or the system does not say; nothing was
 * written. Threads: any. */
TW_API int tw_thread_stack(void **lowest, size_t *size);

/* Lets other threads run; the caller goes behind those that are ready. Threads: any. */
TW_API void tw_thread_yield(void);

/* Waits for so many ns at least. Threads: any. */
TW_API void tw_thread_sleep(uint64_t ns);

/* Waits until somebody unparks the calling thread; not at all if somebody has since the last time. It may return without cause: look again at what you wait for.
 * Threads: any. */
TW_API void tw_thread_park(void);

/* Ends a thread's park, or its next one; several are one. What was written before this is seen after the park. 0; -ESRCH; -EINVAL. Threads: any. */
TW_API int tw_thread_unpark(tw_threads *threads, tw_thread thread);

#ifdef __cplusplus
}
#endif

#endif
