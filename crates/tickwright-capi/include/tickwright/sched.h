/* A scheduler: timers that call back, one at a time and without a lock held.
 *
 * The callbacks run where you choose: in your poll loop (tw_sched_timeout_ms, tw_sched_run), in an
 * event loop (tw_sched_fd), or on a thread that the scheduler starts (tw_sched_start_thread).
 * Timers with equal due times run in the order in which they were armed. No timer runs before it is
 * due. Any thread may call any function at any time, except tw_sched_destroy.
 *
 * A poll loop:
 *
 *     tw_sched *sched;
 *     tw_sched_create(&sched, NULL);
 *     tw_sched_add(sched, 100, callback, data);
 *     for (;;) {
 *         int wait = tw_sched_timeout_ms(sched);
 *         if (wait < -1)
 *             return wait;                 // an error, with a text by tw_strerror
 *         poll(descriptors, count, wait);  // -1: no timer is pending, so wait for descriptors
 *         tw_sched_run(sched, SIZE_MAX);
 *     }
 *
 * IDS
 *
 * A timer has an id of 64 bits, never 0, which is stale for ever when the timer is gone. It also
 * has an `int` id above 0, for programs that keep ids in an `int`. A live `int` id is never issued
 * twice, and it is issued again only after some 2^31 others. Every function takes either. Any other
 * number, a negative one too, is the id of nothing: -ENOENT.
 *
 * Every tw_sched_add... and tw_sched_replace_job return the `int` id. A tw_firing has the 64-bit
 * id, and tw_sched_add_job writes it to `*id`. The two ids of a timer are never equal numbers, so
 * compare ids of one kind. For a 64-bit id tw_sched_int returns the `int` id; tw_sched_find writes
 * both.
 *
 * TIME
 *
 * Time is that of the scheduler's clock: nanoseconds that never run back. A delay in ms is counted
 * from now. A delay less than 0 is -EINVAL; one beyond the clock's end, in 584 years, is never due.
 *
 * CALLBACKS AND CLEAN-UP
 *
 * A callback and a clean-up function may call every function about their scheduler. A call that
 * would wait for its own caller returns -EDEADLK. A job may have a clean-up function beside its
 * callback. It is called once with the data when the scheduler lets go of the timer: when that is
 * done, cancelled, replaced, shut down or destroyed. It is not called if adding the timer was
 * refused. It runs without a lock on the thread that let go, before a cancel that waits returns. A
 * program that counts references takes one for the timer, and gives it back in the clean-up
 * function.
 *
 * FORKS
 *
 * A forked child, also after daemon(), has a whole copy of each scheduler. Timers are pending for
 * the same times, and every function may be called, tw_sched_destroy included. The child has no
 * thread: tw_sched_start_thread starts one. Its descriptor keeps its number, and is its own: add it
 * to an epoll instance of the child's. A timer whose callback ran on another thread at the fork is
 * gone in the child, and is not cleaned up there. The child of a callback goes on with that
 * callback. A child that is made without fork() (vfork, clone) calls exec before it calls the
 * library.
 */
#ifndef TICKWRIGHT_SCHED_H
#define TICKWRIGHT_SCHED_H

#include <tickwright/base.h>
#include <tickwright/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scheduler, in memory of the library. */
typedef struct tw_sched tw_sched;

/* The clock of a scheduler. Its numbers are none of tw_family's. */
typedef enum tw_clock {
    TW_CLOCK_DEFAULT = 0,     /* TW_CLOCK_MONOTONIC */
    TW_CLOCK_MONOTONIC = 257, /* stands still while the machine is suspended */
    TW_CLOCK_BOOTTIME = 258,  /* goes on meanwhile */
    TW_CLOCK_REALTIME = 259,  /* as monotonic, and timers may be due by the time of day */
    TW_CLOCK_VIRTUAL = 260    /* stands still except for tw_sched_advance; its day begins at 1970 */
} tw_clock;

/* What a scheduler is created with. Zeros are defaults. */
typedef struct tw_sched_options {
    size_t size;      /* of this struct, in bytes */
    tw_family family; /* what the timers are kept in */
    tw_clock clock;   /* what the time is measured with */
    uint64_t tick_ns; /* how long a tick is; 0: 1 ns, or 1 ms for the wheels */
    size_t capacity;  /* timers that need no allocation later */
} tw_sched_options;

#define TW_SCHED_OPTIONS_INIT \
    { sizeof(tw_sched_options), TW_FAMILY_DEFAULT, TW_CLOCK_DEFAULT, 0, 0 }

/* Sets all options to their defaults. `size` is sizeof(tw_sched_options).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_options_init(tw_sched_options *options, size_t size);

/* Makes a scheduler, and returns it in `*sched`, which must not be null. Null options are the
 * defaults. On an error `*sched` is null.
 *
 * Returns:
 *   0  done
 * Errors: -E2BIG, -ENOMEM; and
 *   -EINVAL  also if `family` or `clock` is no such number
 * Threads: any. */
TW_API int tw_sched_create(tw_sched **sched, const tw_sched_options *options);

/* Ends a scheduler: cleans up every timer, waits for the callback that runs and for the thread,
 * closes the descriptor, and frees the memory. From its beginning no timer can be armed. Null is
 * fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EDEADLK   a callback of this scheduler calls, or a clean-up after one
 *   -EALREADY  a clean-up function calls that a destroy called
 *   -EBUSY     a clean-up function calls that tw_sched_shutdown_token called
 * Threads: no other call is under way or begins, except a tw_sched_run whose callback runs, and the
 * calls of callbacks and clean-up functions. */
TW_API int tw_sched_destroy(tw_sched *sched);

/* What a callback is told; valid until it returns. */
typedef struct tw_firing {
    size_t size;       /* of this struct in this library, in bytes */
    tw_sched *sched;
    uint64_t id;       /* the 64-bit one; tw_sched_int returns the one that tw_sched_add returned */
    uint64_t due_ns;   /* when it was due, by the clock; after missed periods when the first of them
                          was due, with TW_MISSED_SKIP the last */
    uint64_t now_ns;   /* the clock when it was called */
    uint64_t overruns; /* periods that have passed beside the one that it is called for */
    const void *token; /* the job's */
} tw_firing;

/* A callback. If it returns 0, the timer is done and gone. Else the timer runs again: after its
 * period, or after the delay that it was armed with. Both count from when it was due, but it is
 * never due before now. The callback of a variable timer returns that delay in ms; if it returns
 * less than 0, the timer is done. */
typedef int64_t (*tw_sched_fn)(void *data, const tw_firing *firing);

/* Ends the data of a timer. */
typedef void (*tw_cleanup_fn)(void *data);

/* Calls back after a delay. When the timer is due, the callback runs in tw_sched_run, or on the
 * thread that tw_sched_start_thread has started. Your loop calls tw_sched_run. It sleeps for
 * tw_sched_timeout_ms, or watches tw_sched_fd. Without a loop or a thread nothing runs.
 *
 * The callback gets `data` and a tw_firing. If it returns 0, the timer is gone. Any other number
 * runs it again after `delay_ms`, counted from when it was due.
 *
 * The id is for functions about this timer. For example, tw_sched_arm gives it another time, and
 * tw_sched_cancel_sync cancels it. It is the `int` id: tw_firing.id is another number.
 *
 * In C and C++ this is a macro too. The macro notes the name of the callback and the place of the
 * call for tw_sched_dump and tw_sched_report. A binding calls the function. A comma in braces ends
 * an argument of a macro. So put an argument such as `&(struct pair){ 1, 2 }` into parentheses, or
 * call (tw_sched_add)(...).
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -ENOMEM, -ECANCELED; and
 *   -EINVAL  also for a null callback and for a delay less than 0
 * Threads: any. */
TW_API int tw_sched_add(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data);

/* Calls back after a delay, and then after each delay that the callback returns, in ms. Also a
 * macro, as tw_sched_add.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -ENOMEM, -ECANCELED; and
 *   -EINVAL  also for a null callback and for a delay less than 0
 * Threads: any. */
TW_API int tw_sched_add_variable(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data);

/* Calls back when the clock shows `at_ns`; the past is due at once. If the callback returns more
 * than 0, it runs again after the delay that this was. Also a macro, as tw_sched_add.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -ENOMEM, -ECANCELED; and
 *   -EINVAL  also for a null callback
 * Threads: any. */
TW_API int tw_sched_add_at(tw_sched *sched, uint64_t at_ns, tw_sched_fn call, void *data);

/* Calls back `delay_ms` after `since_ns`, a time that the clock has shown: see TW_BASE_SINCE. Also
 * a macro, as tw_sched_add.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -ENOMEM, -ECANCELED; and
 *   -EINVAL  also for a null callback and for a delay less than 0
 * Threads: any. */
TW_API int tw_sched_add_since(tw_sched *sched, uint64_t since_ns, int64_t delay_ms,
                              tw_sched_fn call, void *data);

/* The time from which the delay of a timer counts. */
typedef enum tw_base {
    TW_BASE_NOW = 0,   /* `when_ns` is counted from now: each call reads the clock */
    TW_BASE_CLOCK = 1, /* `when_ns` is a time of the clock (tw_sched_now) */
    TW_BASE_WALL = 2,  /* `when_ns` is the time of day, from 1970-01-01 UTC; the timer follows
                          when that is set. Other clocks than TW_CLOCK_REALTIME and
                          TW_CLOCK_VIRTUAL return -ENOTSUP */
    TW_BASE_SINCE = 3  /* `when_ns` is counted from `since_ns`, a time that the clock has shown */
} tw_base;

/* TW_BASE_SINCE is for loops and callbacks that arm many timers at one time. They read the clock
 * once (tw_sched_now, or tw_firing.now_ns), as libuv and libev do for each turn of their loop. A
 * call then reads no clock, except on TW_FAMILY_COARSE and while timers by the time of day are
 * pending. The callback never runs before since_ns + when_ns. Seen from the call, that is earlier
 * than TW_BASE_NOW by the age of `since_ns`. For example, a delay of 100 ms from a time that is
 * 30 ms old ends 70 ms after the call. So read the clock again after each wait, as uv_update_time
 * and ev_now_update do. */

/* What becomes of periods that passed without a run. */
typedef enum tw_missed {
    TW_MISSED_COLLAPSE = 0, /* counted; the next is a period after the due time, not before now */
    TW_MISSED_BURST = 1,    /* each is made up for */
    TW_MISSED_SKIP = 2,     /* counted and left out; the grid stays */
    TW_MISSED_DELAY = 3,    /* counted; the next period begins when the callback ends, so the timer
                               drifts by its lateness and by the time of the callback */
    TW_MISSED_PERSIST = 4   /* counted; the grid stays until a period is missed. Then the next is a
                               period after the late run: EV_PERSIST of libevent */
} tw_missed;

/* When a timer is due. All zeros: now, once. A number less than 0 is -EINVAL, and so is a reserved
 * one that is not 0 -E2BIG. This struct keeps its size. */
typedef struct tw_timing {
    tw_base base;
    tw_missed missed;
    int64_t when_ns;
    int64_t period_ns;    /* on a grid that does not drift; 0: none */
    int64_t slack_ns;     /* by which it may be late, so that one wake-up serves several timers;
                             rounded down to 1024 ns and to four significant bits; at most 4.5 h */
    uint64_t since_ns;    /* of the clock, with TW_BASE_SINCE; the other bases ignore it */
    uint64_t reserved[3]; /* 0 */
} tw_timing;

#define TW_TIMING_INIT { TW_BASE_NOW, TW_MISSED_COLLAPSE, 0, 0, 0, 0, { 0, 0, 0 } }

/* Flags of a job. */
typedef enum tw_job_flags {
    TW_JOB_VARIABLE = 1, /* the callback returns the next delay, in ms */
    TW_JOB_KEEP = 2      /* not armed, and kept when it is done or cancelled: tw_sched_arm arms it,
                            and tw_sched_shutdown_sync or tw_sched_shutdown_async ends it */
} tw_job_flags;

/* A timer with everything that it can have. */
typedef struct tw_job {
    size_t size;           /* of this struct, in bytes */
    tw_sched_fn call;
    void *data;
    tw_cleanup_fn cleanup; /* null: none */
    const void *token;     /* to be found by in tw_sched_shutdown_token */
    unsigned flags;        /* TW_JOB_... */
    tw_timing timing;      /* checked, but not used, with TW_JOB_KEEP */
} tw_job;

#define TW_JOB_INIT { sizeof(tw_job), NULL, NULL, NULL, NULL, 0, TW_TIMING_INIT }

/* Sets all fields of a job to 0, and its size. `size` is sizeof(tw_job).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_job_init(tw_job *job, size_t size);

/* Adds a job, and returns its 64-bit id in `*id`. A callback on another thread may run before `*id`
 * is written: a callback that needs the id takes it from its tw_firing. Also a macro, as
 * tw_sched_add.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -E2BIG, -ENOMEM, -ECANCELED; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_add_job(tw_sched *sched, const tw_job *job, uint64_t *id);

/* Adds a job, and in the same step cancels the timer `old` as tw_sched_cancel_async does; 0 is
 * none. Returns in `*became` what that cancel returned, -ENOENT for none. On an error the old timer
 * is as it was. Not with TW_JOB_KEEP, unless `old` is 0. Also a macro, as tw_sched_add.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -E2BIG, -ENOMEM, -ECANCELED; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_replace_job(tw_sched *sched, uint64_t old, const tw_job *job, int *became,
                                uint64_t *id);

/* Like tw_sched_add, with the place of the call. `name` and `file` stay where they are for as long
 * as the scheduler, as literals do; they are told apart by address. Null is fine.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -ENOMEM, -ECANCELED.
 * Threads: any. */
TW_API int tw_sched_add_from(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data,
                             const char *name, const char *file, int line);

/* Like tw_sched_add_variable, with the place of the call, as tw_sched_add_from.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -ENOMEM, -ECANCELED.
 * Threads: any. */
TW_API int tw_sched_add_variable_from(tw_sched *sched, int64_t delay_ms, tw_sched_fn call,
                                      void *data, const char *name, const char *file, int line);

/* Like tw_sched_add_at, with the place of the call, as tw_sched_add_from.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -ENOMEM, -ECANCELED.
 * Threads: any. */
TW_API int tw_sched_add_at_from(tw_sched *sched, uint64_t at_ns, tw_sched_fn call, void *data,
                                const char *name, const char *file, int line);

/* Like tw_sched_add_since, with the place of the call, as tw_sched_add_from.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -ENOMEM, -ECANCELED.
 * Threads: any. */
TW_API int tw_sched_add_since_from(tw_sched *sched, uint64_t since_ns, int64_t delay_ms,
                                   tw_sched_fn call, void *data, const char *name,
                                   const char *file, int line);

/* Like tw_sched_replace_job, with the place of the call, as tw_sched_add_from.
 *
 * Returns:
 *   id  above 0; an error adds nothing, and cleans nothing up
 * Errors: -EINVAL, -E2BIG, -ENOMEM, -ECANCELED; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_replace_job_from(tw_sched *sched, uint64_t old, const tw_job *job, int *became,
                                     uint64_t *id, const char *name, const char *file, int line);

#define tw_sched_add(sched, delay_ms, call, data) \
    tw_sched_add_from(sched, delay_ms, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_variable(sched, delay_ms, call, data) \
    tw_sched_add_variable_from(sched, delay_ms, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_at(sched, at_ns, call, data) \
    tw_sched_add_at_from(sched, at_ns, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_since(sched, since_ns, delay_ms, call, data) \
    tw_sched_add_since_from(sched, since_ns, delay_ms, call, data, #call, __FILE__, __LINE__)
#define tw_sched_add_job(sched, job, id) \
    tw_sched_replace_job_from(sched, 0, job, NULL, id, "job", __FILE__, __LINE__)
#define tw_sched_replace_job(sched, old, job, became, id) \
    tw_sched_replace_job_from(sched, old, job, became, id, "job", __FILE__, __LINE__)

/* Arms a kept timer that is idle, or gives a pending timer another time: its id stays. A timer that
 * runs is armed when its callback has ended, whatever that returns.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -ENOMEM, -ECANCELED.
 * Threads: any. */
TW_API int tw_sched_arm(tw_sched *sched, uint64_t id, int64_t delay_ms);

/* Like tw_sched_arm; the delay is counted from `since_ns`, a time that the clock has shown: see
 * TW_BASE_SINCE.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -ENOMEM, -ECANCELED.
 * Threads: any. */
TW_API int tw_sched_arm_since(tw_sched *sched, uint64_t id, uint64_t since_ns, int64_t delay_ms);

/* Like tw_sched_arm, with everything that a timing can have.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -ENOMEM, -E2BIG, -ECANCELED; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_arm_timing(tw_sched *sched, uint64_t id, const tw_timing *timing);

/* What a cancel returns, and what holds then:
 *
 *   the timer               cancel_try   cancel_async  cancel_sync        shutdown_async, _sync
 *   is pending              REMOVED      REMOVED       REMOVED            REMOVED
 *   is pending, kept        DISARMED     DISARMED      DISARMED           REMOVED
 *   is idle (kept)          IDLE         IDLE          IDLE               REMOVED
 *   runs, another thread    -EBUSY       ENDING        waits: FINISHED    ENDING; _sync waits:
 *                                                      or SUPPRESSED      FINISHED, SUPPRESSED
 *   runs, and is the caller -EBUSY       ENDING        -EDEADLK           ENDING; _sync -EDEADLK
 *   is gone, never was      -ENOENT      -ENOENT       -ENOENT            -ENOENT
 *
 * -EBUSY and -EDEADLK leave the timer as it was. Several threads may cancel one running timer: each
 * call is right, and one that waits returns SUPPRESSED. */
typedef enum tw_cancel {
    TW_CANCEL_REMOVED = 0,    /* it is gone, and was cleaned up */
    TW_CANCEL_DISARMED = 1,   /* it was pending; it is kept, and idle */
    TW_CANCEL_IDLE = 2,       /* it is kept, and was idle already */
    TW_CANCEL_FINISHED = 3,   /* its callback ran on another thread and has ended; it had not asked
                                 to run again, or another caller was told so */
    TW_CANCEL_SUPPRESSED = 4, /* its callback ran on another thread and has ended; it had asked to
                                 run again, and does not */
    TW_CANCEL_ENDING = 5      /* its callback runs, and will not run again */
} tw_cancel;

/* Cancels a timer unless it runs.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT; and
 *   -EBUSY  it runs, and stays as it was
 * Threads: any. */
TW_API int tw_sched_cancel_try(tw_sched *sched, uint64_t id);

/* Cancels a timer, and never waits.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_cancel_async(tw_sched *sched, uint64_t id);

/* Cancels a timer; afterwards its callback does not run. Hold no lock that the callback takes.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT; and
 *   -EDEADLK  the caller is its callback
 * Threads: any. */
TW_API int tw_sched_cancel_sync(tw_sched *sched, uint64_t id);

/* Ends a timer, a kept one too, and never waits: the id is stale, and nothing can arm it again.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_shutdown_async(tw_sched *sched, uint64_t id);

/* Ends a timer, a kept one too, and waits as tw_sched_cancel_sync does.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT; and
 *   -EDEADLK  the caller is its callback
 * Threads: any. */
TW_API int tw_sched_shutdown_sync(tw_sched *sched, uint64_t id);

/* Ends every timer with this token, in O(timers). A timer that runs will not run again. Its id is
 * returned in `*running`, else 0, for a caller that has to wait for it (tw_sched_shutdown_sync). A
 * timer that is added meanwhile may be ended or not.
 *
 * Returns:
 *   number  of removed timers
 * Errors: -EINVAL.
 * Threads: any. */
TW_API ptrdiff_t tw_sched_shutdown_token(tw_sched *sched, const void *token, uint64_t *running);

/* The state of a timer. */
typedef enum tw_state {
    TW_STATE_IDLE = 0,
    TW_STATE_PENDING = 1,
    TW_STATE_RUNNING = 2
} tw_state;

/* What is known of a timer. */
typedef struct tw_sched_info {
    size_t size;          /* of this struct, in bytes */
    uint64_t id;
    int int_id;
    tw_state state;
    uint64_t due_ns;      /* when it is due (pending) or was (running), by the clock */
    uint64_t interval_ns; /* its period, or the delay that it was armed with */
    const void *token;
    void *data;           /* null while it runs: the callback has it */
} tw_sched_info;

#define TW_SCHED_INFO_INIT { sizeof(tw_sched_info), 0, 0, TW_STATE_IDLE, 0, 0, NULL, NULL }

/* Writes what is known of a timer to `*info`.
 *
 * Returns:
 *   0  `*info` is written
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_find(const tw_sched *sched, uint64_t id, tw_sched_info *info);

/* The `int` id of a timer.
 *
 * Returns:
 *   id  above 0
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_int(const tw_sched *sched, uint64_t id);

/* When a timer is due, in ns of the clock.
 *
 * Returns:
 *   1  `*due_ns` is written
 *   0  it is idle or runs
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_when(const tw_sched *sched, uint64_t id, uint64_t *due_ns);

/* How long until a timer is due, in ms rounded up; 0 if it is overdue.
 *
 * Returns:
 *   1  `*ms` is written
 *   0  it is idle or runs
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_remaining(const tw_sched *sched, uint64_t id, int64_t *ms);

/* How long a poll loop may sleep, in ms rounded up, at most INT_MAX: the last argument of poll.
 * This function does not wait. Over TW_FAMILY_WHEEL and TW_FAMILY_COARSE the time may be too short,
 * once for each bucket: then tw_sched_run finds nothing, and the next time is right.
 *
 * Returns:
 *   ms  0 if a timer is due
 *   -1  no timer is pending: poll waits for ever. It is no error, although EPERM is 1
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_timeout_ms(tw_sched *sched);

/* Runs what is due now and was armed before, at most `budget` callbacks; SIZE_MAX is all. Calls of
 * other threads wait for a bounded time. No lock is held in a callback, nor while more than 256
 * timers are moved inside the queue.
 *
 * Returns:
 *   number  of callbacks that ran
 * Errors: -EINVAL; and
 *   -EBUSY    another thread runs the queue
 *   -EDEADLK  a callback calls
 * Threads: any. */
TW_API ptrdiff_t tw_sched_run(tw_sched *sched, size_t budget);

/* Starts a thread that sleeps until a timer is due, and runs it. `name` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM, -EAGAIN, -ECANCELED; and
 *   -EALREADY  the scheduler has a thread or a descriptor
 * Threads: any. */
TW_API int tw_sched_start_thread(tw_sched *sched, const char *name);

/* Stops the thread, and waits until it has ended. Timers stay pending. Hold no lock that a callback
 * takes.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -ENOENT   there is none, or it is a thread of the process that this one was forked from
 *   -EDEADLK  a callback calls
 * Threads: any. */
TW_API int tw_sched_stop_thread(tw_sched *sched);

/* A descriptor for poll, epoll or another event loop. It becomes readable when a timer is due: then
 * call tw_sched_fd_ack, and tw_sched_run. The scheduler owns and closes it; each call returns the
 * same one. Linux.
 *
 * Returns:
 *   descriptor  0 or more
 * Errors: -EINVAL, -ENOMEM, -EMFILE; and
 *   -ENOTSUP   another system, or a virtual clock
 *   -EALREADY  the scheduler has a thread
 * Threads: any. */
TW_API int tw_sched_fd(tw_sched *sched);

/* Acknowledges that the descriptor was readable.
 *
 * Returns:
 *   1  run the queue
 *   0  it was not readable, or is not any more
 * Errors: -EINVAL; and
 *   -ENOENT  there is no descriptor
 * Threads: any. */
TW_API int tw_sched_fd_ack(tw_sched *sched);

/* What the clock shows, in ns.
 *
 * Returns:
 *   0  `*ns` is written
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_now(const tw_sched *sched, uint64_t *ns);

/* Moves a virtual clock forward. If the scheduler has a thread, that thread has run all due timers
 * when this returns. A call from a callback does not wait for that.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM; and
 *   -ENOTSUP  the clock is not virtual
 * Threads: any. */
TW_API int tw_sched_advance(tw_sched *sched, uint64_t ns);

/* Sets the time of day of a virtual clock forward by `ns`, or back; otherwise it is like
 * tw_sched_advance.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM; and
 *   -ENOTSUP  the clock is not virtual
 * Threads: any. */
TW_API int tw_sched_step_wall(tw_sched *sched, int64_t ns);

/* Counters of a scheduler. Lateness is from when a timer was due to its callback. */
typedef struct tw_sched_counts {
    size_t size;           /* of this struct, in bytes */
    uint64_t timers;       /* idle, pending and running */
    uint64_t pending;
    uint64_t high_water;   /* the greatest number of timers at one time */
    uint64_t armed;        /* times that a timer was armed by its user */
    uint64_t fired;        /* callbacks that ran */
    uint64_t canceled;     /* timers that were cancelled while they were pending */
    uint64_t overruns;     /* periods that passed without a run of their own */
    uint64_t passes;       /* runs of the queue */
    uint64_t steps;        /* steps of the time of day that were seen */
    uint64_t heap_bytes;   /* allocated for timers */
    uint64_t late_mean_ns;
    uint64_t late_half_ns; /* half of the callbacks were not later */
    uint64_t late_most_ns; /* 99 % were not later */
    uint64_t late_max_ns;
} tw_sched_counts;

#define TW_SCHED_COUNTS_INIT \
    { sizeof(tw_sched_counts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Writes the counters to `*counts`.
 *
 * Returns:
 *   0  `*counts` is written
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_get_counts(const tw_sched *sched, tw_sched_counts *counts);

/* Every timer as a table: id, state, due time, interval, token, callback, call site. If `text` is
 * not null, the table is written there. It is cut off so that it fits into `bytes` bytes, with the
 * zero at its end.
 *
 * Returns:
 *   length  of the whole text, without the zero
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API ptrdiff_t tw_sched_dump(const tw_sched *sched, char *text, size_t bytes);

/* The counters as a text, also for each call site, and how late callbacks were. If `text` is not
 * null, the counters are written there. They are cut off so that they fit into `bytes` bytes, with
 * the zero at the end.
 *
 * Returns:
 *   length  of the whole text, without the zero
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API ptrdiff_t tw_sched_report(const tw_sched *sched, char *text, size_t bytes);

/* Verifies the whole scheduler, in O(timers). If it is broken and `text` is not null, the error
 * message is written there. It is cut off so that it fits into `bytes` bytes, with the zero at its
 * end.
 *
 * Returns:
 *   0  the scheduler is whole
 * Errors: -EBADMSG, -EINVAL.
 * Threads: any. */
TW_API int tw_sched_check(const tw_sched *sched, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
