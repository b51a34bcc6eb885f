/* A scheduler: timers that call back, one at a time. The scheduler holds no lock during a callback.
 *
 * You choose where the callbacks run. Poll tw_sched_fd and call tw_sched_run in a loop of your own.
 * Or start a thread with tw_sched_start_thread. Timers with equal due times run in the order in
 * which they were armed. No timer runs before it is due. Any thread may call any function at any
 * time, except tw_sched_destroy. A program of one thread saves the lock by TW_SCHED_ONE_THREAD.
 *
 * A poll loop, whichever threads arm timers:
 *
 *     tw_sched *sched;
 *     tw_sched_create(&sched, NULL);
 *     descriptors[0].fd = tw_sched_fd(sched);  // less than 0 is an error
 *     descriptors[0].events = POLLIN;
 *     tw_sched_add(sched, 100, callback, data);
 *     for (;;) {
 *         poll(descriptors, count, -1);
 *         if (tw_sched_fd_ack(sched) == 1)
 *             tw_sched_run(sched, SIZE_MAX);
 *         ...                                  // the other descriptors
 *     }
 *
 * tw_sched_fd needs a timerfd or a kqueue. Elsewhere the loop sleeps for tw_sched_timeout_ms: see
 * there what this needs if other threads arm timers.
 *
 * IDS
 *
 * A timer has a 64-bit id, which is never 0. When the timer is gone, its id is stale for ever. The
 * timer also has an `int` id above 0, for programs that keep ids in an `int`. Two live timers never
 * have the same `int` id. The scheduler issues an `int` id again only after some 2^31 others. Every
 * function takes either id. Any other number, also a negative one, is the id of no timer: -ENOENT.
 *
 * Every tw_sched_add... and tw_sched_replace_job return the `int` id. A tw_firing has the 64-bit
 * id, and tw_sched_add_job writes it to `*id`. The two ids of a timer are never equal numbers, so
 * compare ids of one kind. For a 64-bit id, tw_sched_int returns the `int` id, and tw_sched_find
 * writes both ids.
 *
 * TIME
 *
 * All times are those of the scheduler's clock, which counts nanoseconds and never runs back. A
 * delay in ms counts from now. A delay less than 0 gives -EINVAL. A timer with a delay beyond the
 * clock's end, in 584 years, is never due.
 *
 * CALLBACKS AND CLEAN-UP
 *
 * A callback and a clean-up function may call every function about their scheduler. A call that
 * would wait for its own caller returns -EDEADLK. A job may have a clean-up function beside its
 * callback. It is called once with the data when the scheduler lets go of the timer. The timer is
 * then done, cancelled, replaced or shut down, or the scheduler is destroyed. The clean-up function
 * is not called if adding the timer was refused. It runs without a lock on the thread that let go,
 * before a cancel that waits returns. A program that counts references takes one for the timer, and
 * gives it back in the clean-up function.
 *
 * FORKS
 *
 * A forked child, also after daemon(), has a whole copy of each scheduler. Timers are pending for
 * the same times, and the child may call every function, even tw_sched_destroy. A scheduler has no
 * thread in the child: tw_sched_start_thread starts one. Its descriptor has the same number there,
 * but is a descriptor of the child's own: add it to an epoll instance of the child. If a callback
 * ran on another thread at the fork, its timer is gone in the child, and its clean-up function does
 * not run there. If a callback forks, the child goes on with that callback. A child that was made
 * without fork() (vfork, clone) must call exec before it calls the library.
 */
#ifndef TICKWRIGHT_SCHED_H
#define TICKWRIGHT_SCHED_H

#include <tickwright/base.h>
#include <tickwright/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scheduler. The library owns its memory. */
typedef struct tw_sched tw_sched;

/* The clock of a scheduler. No number of a clock is also the number of a family. */
typedef enum tw_clock {
    TW_CLOCK_DEFAULT = 0,     /* TW_CLOCK_MONOTONIC */
    TW_CLOCK_MONOTONIC = 257, /* stands still while the machine is suspended */
    TW_CLOCK_BOOTTIME = 258,  /* runs on while the machine is suspended */
    TW_CLOCK_REALTIME = 259,  /* like monotonic, and timers may be due by the time of day */
    TW_CLOCK_VIRTUAL = 260    /* only tw_sched_advance moves it; its time of day begins in 1970 */
} tw_clock;

/* Flags of a scheduler. */
typedef enum tw_sched_flags {
    TW_SCHED_ONE_THREAD = 1 /* one thread has the scheduler, and no call takes a lock: see below */
} tw_sched_flags;

/* With TW_SCHED_ONE_THREAD the scheduler belongs to the thread that makes the first call after
 * tw_sched_create. A call from another thread is undefined, also while the first thread makes no
 * call. In a library with debug assertions (make PROFILE=dev) such a call writes its name to
 * standard error and aborts. tw_sched_destroy alone may come from any thread, after the last call
 * of the first one. tw_sched_start_thread returns -ENOTSUP. Everything else is as without the flag:
 * a loop polls tw_sched_fd or sleeps for tw_sched_timeout_ms, and calls tw_sched_run. A forked
 * child may use the scheduler if the thread that has it forked. */

/* The options of a new scheduler. A field that is 0 stands for its default. */
typedef struct tw_sched_options {
    size_t size;      /* of this struct, in bytes */
    tw_family family; /* the structure that holds the timers */
    tw_clock clock;   /* the clock that measures the time */
    uint64_t tick_ns; /* how long a tick is; 0: 1 ns, or 1 ms for the wheels */
    size_t capacity;  /* number of timers that need no later allocation */
    uint64_t flags;   /* TW_SCHED_... */
} tw_sched_options;

#define TW_SCHED_OPTIONS_INIT \
    { sizeof(tw_sched_options), TW_FAMILY_DEFAULT, TW_CLOCK_DEFAULT, 0, 0, 0 }

/* Sets all options to their defaults. `size` is sizeof(tw_sched_options).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_options_init(tw_sched_options *options, size_t size);

/* Makes a scheduler, and returns it in `*sched`; `sched` must not be null. If `options` is null,
 * the defaults apply. On an error `*sched` is null.
 *
 * Returns:
 *   0  done
 * Errors: -E2BIG, -ENOMEM; and
 *   -EINVAL  also if `family` is no tw_family, `clock` is no tw_clock, or `flags` has another bit
 * Threads: any. */
TW_API int tw_sched_create(tw_sched **sched, const tw_sched_options *options);

/* Ends a scheduler: cleans up every timer, waits for the callback that runs and for the thread,
 * closes the descriptor, and frees the memory. From the beginning of the call no timer can be
 * armed. `sched` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EDEADLK   the caller is a callback of this scheduler, or a clean-up function after one
 *   -EALREADY  the caller is a clean-up function that tw_sched_destroy called
 *   -EBUSY     the caller is a clean-up function that tw_sched_shutdown_token called
 * Threads: no other call is under way or begins, except a tw_sched_run whose callback runs, and the
 * calls of callbacks and clean-up functions. */
TW_API int tw_sched_destroy(tw_sched *sched);

/* What the scheduler tells a callback. The struct is valid until the callback returns. */
typedef struct tw_firing {
    size_t size;       /* of this struct in this library, in bytes */
    tw_sched *sched;
    uint64_t id;       /* the 64-bit id; tw_sched_int returns the id that tw_sched_add returned */
    uint64_t due_ns;   /* when the timer was due, by the clock. After missed periods it is when the
                          first of them was due, or with TW_MISSED_SKIP the last */
    uint64_t now_ns;   /* the time when this callback was called */
    uint64_t overruns; /* periods that have passed without a call of their own */
    const void *token; /* the token of the job */
} tw_firing;

/* A callback. If it returns 0, the timer is done and gone. Otherwise the timer runs again, after
 * its period or after the delay that it was armed with. Both count from when the timer was due, but
 * the next due time is never before now. The callback of a variable timer returns the next delay in
 * ms. If that is less than 0, the timer is done. */
typedef int64_t (*tw_sched_fn)(void *data, const tw_firing *firing);

/* Cleans up the data of a timer. */
typedef void (*tw_cleanup_fn)(void *data);

/* Calls back after a delay. When the timer is due, the callback runs in tw_sched_run, or on the
 * thread that tw_sched_start_thread has started. Your loop calls tw_sched_run. Between two calls
 * the loop watches tw_sched_fd, or sleeps for tw_sched_timeout_ms. Without a loop or a thread no
 * callback runs.
 *
 * The callback gets `data` and a tw_firing. If it returns 0, the timer is gone. If it returns any
 * other number, it runs again after `delay_ms`, counted from when the timer was due.
 *
 * Pass the returned id to functions about this timer. For example, tw_sched_arm gives the timer
 * another time, and tw_sched_cancel_sync cancels the timer. The returned id is the `int` id:
 * tw_firing.id is another number.
 *
 * In C and C++ tw_sched_add is also a macro. The macro records the name of the callback and the
 * place of the call for tw_sched_dump and tw_sched_report. A binding for another language calls the
 * function. A comma in braces ends an argument of a macro. So put an argument such as
 * `&(struct pair){ 1, 2 }` into parentheses, or call (tw_sched_add)(...).
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -ENOMEM, -ECANCELED, -ENOTCONN; and
 *   -EINVAL  also for a null callback and for a delay less than 0
 * Threads: any. */
TW_API int tw_sched_add(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data);

/* Calls back after a delay, and then after each delay that the callback returns, in ms. This
 * function is also a macro, like tw_sched_add.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -ENOMEM, -ECANCELED, -ENOTCONN; and
 *   -EINVAL  also for a null callback and for a delay less than 0
 * Threads: any. */
TW_API int tw_sched_add_variable(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data);

/* Calls back when the clock shows `at_ns`. If that time has passed, the timer is due at once. If
 * the callback does not return 0, it runs again after the delay from this call to `at_ns`. This
 * function is also a macro, like tw_sched_add.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -ENOMEM, -ECANCELED, -ENOTCONN; and
 *   -EINVAL  also for a null callback
 * Threads: any. */
TW_API int tw_sched_add_at(tw_sched *sched, uint64_t at_ns, tw_sched_fn call, void *data);

/* Calls back `delay_ms` after `since_ns`, a time that the clock has shown: see TW_BASE_SINCE. This
 * function is also a macro, like tw_sched_add.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -ENOMEM, -ECANCELED, -ENOTCONN; and
 *   -EINVAL  also for a null callback and for a delay less than 0
 * Threads: any. */
TW_API int tw_sched_add_since(tw_sched *sched, uint64_t since_ns, int64_t delay_ms,
                              tw_sched_fn call, void *data);

/* The time from which the delay of a timer counts. */
typedef enum tw_base {
    TW_BASE_NOW = 0,   /* `when_ns` counts from now: each call reads the clock */
    TW_BASE_CLOCK = 1, /* `when_ns` is a time of the clock (tw_sched_now) */
    TW_BASE_WALL = 2,  /* `when_ns` is a time of day, since 1970-01-01 UTC. If the time of day is
                          set, the timer follows. With other clocks than TW_CLOCK_REALTIME and
                          TW_CLOCK_VIRTUAL, functions return -ENOTSUP */
    TW_BASE_SINCE = 3  /* `when_ns` counts from `since_ns`, a time that the clock has shown */
} tw_base;

/* TW_BASE_SINCE is for loops and callbacks that arm many timers at one time. They read the clock
 * once (tw_sched_now, or tw_firing.now_ns), as libuv and libev do for each turn of their loop. A
 * call with this base reads no clock. Exceptions are a scheduler of TW_FAMILY_COARSE, and one with
 * pending timers by the time of day. The callback never runs before since_ns + when_ns. Compared
 * with TW_BASE_NOW, the callback is due earlier, by the age of `since_ns`. For example, a delay of
 * 100 ms from a time that is 30 ms old ends 70 ms after the call. So read the clock again after
 * each wait, as uv_update_time and ev_now_update do. */

/* What the scheduler does with missed periods, which passed without a run. No number but 0 is also
 * the number of a tw_base. */
typedef enum tw_missed {
    TW_MISSED_COLLAPSE = 0, /* counted; the next is a period after the due time, not before now */
    TW_MISSED_BURST = 513,  /* the callback runs once for each missed period */
    TW_MISSED_SKIP = 514,   /* counted and skipped; later runs stay on the grid of periods */
    TW_MISSED_DELAY = 515,  /* counted; the next period begins when the callback ends. So the timer
                               drifts by its lateness and by the time of the callback */
    TW_MISSED_PERSIST = 516 /* counted; runs stay on the grid until one is missed. Then the next
                               is a period after the late run, like libevent's EV_PERSIST */
} tw_missed;

/* When a timer is due. If all fields are 0, the timer is due now, once. A field less than 0 gives
 * -EINVAL. A reserved field that is not 0 gives -E2BIG. The size of this struct never changes. */
typedef struct tw_timing {
    tw_base base;
    tw_missed missed;
    int64_t when_ns;
    int64_t period_ns;    /* on a grid that does not drift; 0: none */
    int64_t slack_ns;     /* how late the timer may be, so that one wake-up serves several;
                             rounded down to 1024 ns and to four significant bits; at most 4.5 h */
    uint64_t since_ns;    /* a time of the clock, for TW_BASE_SINCE; other bases ignore it */
    uint64_t reserved[3]; /* must be 0 */
} tw_timing;

#define TW_TIMING_INIT { TW_BASE_NOW, TW_MISSED_COLLAPSE, 0, 0, 0, 0, { 0, 0, 0 } }

/* Flags of a job. */
typedef enum tw_job_flags {
    TW_JOB_VARIABLE = 1, /* the callback returns the next delay, in ms */
    TW_JOB_KEEP = 2      /* the timer is not armed, and stays when it is done or cancelled:
                            tw_sched_arm arms it. tw_sched_shutdown_sync and
                            tw_sched_shutdown_async end it */
} tw_job_flags;

/* All settings of a timer. */
typedef struct tw_job {
    size_t size;           /* of this struct, in bytes */
    tw_sched_fn call;
    void *data;
    tw_cleanup_fn cleanup; /* null: none */
    const void *token;     /* tw_sched_shutdown_token finds the timer by it */
    unsigned flags;        /* TW_JOB_... */
    tw_timing timing;      /* with TW_JOB_KEEP checked, but not used */
} tw_job;

#define TW_JOB_INIT { sizeof(tw_job), NULL, NULL, NULL, NULL, 0, TW_TIMING_INIT }

/* Sets all fields of a job to 0, and sets its `size`. `size` is sizeof(tw_job).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_job_init(tw_job *job, size_t size);

/* Adds a job, and returns its 64-bit id in `*id`. A callback on another thread may run before `*id`
 * is written: a callback that needs the id takes it from its tw_firing. This function is also a
 * macro, like tw_sched_add.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -E2BIG, -ENOMEM, -ECANCELED, -ENOTCONN; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_add_job(tw_sched *sched, const tw_job *job, uint64_t *id);

/* Adds a job, and in the same step cancels the timer `old` as tw_sched_cancel_async does. If `old`
 * is 0, there is no timer to cancel. `*became` gets what that cancel returned, or -ENOENT if `old`
 * is 0. On an error the old timer is as it was. A job with TW_JOB_KEEP is refused unless `old` is
 * 0. This is also a macro, as tw_sched_add is.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -E2BIG, -ENOMEM, -ECANCELED, -ENOTCONN; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_replace_job(tw_sched *sched, uint64_t old, const tw_job *job, int *became,
                                uint64_t *id);

/* Like tw_sched_add, but takes the place of the call: callback, file and line. The texts `name` and
 * `file` must stay in place for as long as the scheduler lives, as literals do. The scheduler tells
 * texts apart by address. `name` and `file` may be null.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -ENOMEM, -ECANCELED, -ENOTCONN.
 * Threads: any. */
TW_API int tw_sched_add_from(tw_sched *sched, int64_t delay_ms, tw_sched_fn call, void *data,
                             const char *name, const char *file, int line);

/* Like tw_sched_add_variable, but takes the place of the call, as tw_sched_add_from does.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -ENOMEM, -ECANCELED, -ENOTCONN.
 * Threads: any. */
TW_API int tw_sched_add_variable_from(tw_sched *sched, int64_t delay_ms, tw_sched_fn call,
                                      void *data, const char *name, const char *file, int line);

/* Like tw_sched_add_at, but takes the place of the call, as tw_sched_add_from does.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -ENOMEM, -ECANCELED, -ENOTCONN.
 * Threads: any. */
TW_API int tw_sched_add_at_from(tw_sched *sched, uint64_t at_ns, tw_sched_fn call, void *data,
                                const char *name, const char *file, int line);

/* Like tw_sched_add_since, but takes the place of the call, as tw_sched_add_from does.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -ENOMEM, -ECANCELED, -ENOTCONN.
 * Threads: any. */
TW_API int tw_sched_add_since_from(tw_sched *sched, uint64_t since_ns, int64_t delay_ms,
                                   tw_sched_fn call, void *data, const char *name,
                                   const char *file, int line);

/* Like tw_sched_replace_job, but takes the place of the call, as tw_sched_add_from does.
 *
 * Returns:
 *   id  above 0. On an error no timer is added, and no clean-up function runs
 * Errors: -EINVAL, -E2BIG, -ENOMEM, -ECANCELED, -ENOTCONN; and
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

/* Arms a kept timer that is idle, or gives a pending timer another time: its id stays. A running
 * timer is armed when its callback has ended. The value that the callback returns does not matter.
 * Arming takes no memory: the call that added the timer reserved all of it.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -ECANCELED, -ENOTCONN.
 * Threads: any. */
TW_API int tw_sched_arm(tw_sched *sched, uint64_t id, int64_t delay_ms);

/* Like tw_sched_arm, but the delay counts from `since_ns`, a time that the clock has shown: see
 * TW_BASE_SINCE.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -ECANCELED, -ENOTCONN.
 * Threads: any. */
TW_API int tw_sched_arm_since(tw_sched *sched, uint64_t id, uint64_t since_ns, int64_t delay_ms);

/* Like tw_sched_arm, with all fields of a timing.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -E2BIG, -ECANCELED, -ENOTCONN; and
 *   -ENOTSUP  the clock knows no time of day
 * Threads: any. */
TW_API int tw_sched_arm_timing(tw_sched *sched, uint64_t id, const tw_timing *timing);

/* What a cancel returns, for each state of the timer:
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
 * -EBUSY and -EDEADLK leave the timer as it was. Several threads may cancel one running timer. If
 * its callback asks to run again, at most one of the calls that wait returns SUPPRESSED. */
typedef enum tw_cancel {
    TW_CANCEL_REMOVED = 0,    /* the timer is gone, and was cleaned up */
    TW_CANCEL_DISARMED = 1,   /* the timer was pending; it is kept, and now idle */
    TW_CANCEL_IDLE = 2,       /* the timer is kept, and was idle already */
    TW_CANCEL_FINISHED = 3,   /* the callback ran on another thread and has ended. It had not asked
                                 to run again, or another caller got SUPPRESSED */
    TW_CANCEL_SUPPRESSED = 4, /* the callback ran on another thread and has ended. It had asked to
                                 run again, and will not run */
    TW_CANCEL_ENDING = 5      /* the callback still runs, and will not run again */
} tw_cancel;

/* Cancels a timer unless its callback runs.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT; and
 *   -EBUSY  the timer runs, and stays as it was
 * Threads: any. */
TW_API int tw_sched_cancel_try(tw_sched *sched, uint64_t id);

/* Cancels a timer, and never waits.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_cancel_async(tw_sched *sched, uint64_t id);

/* Cancels a timer, and waits for its callback if that runs. When the call has returned, the
 * callback does not run. Hold no lock that the callback takes.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT; and
 *   -EDEADLK  the caller is the callback of this timer
 * Threads: any. */
TW_API int tw_sched_cancel_sync(tw_sched *sched, uint64_t id);

/* Ends a timer, even a kept one, and never waits. The id is then stale, and no call can arm the
 * timer again.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_shutdown_async(tw_sched *sched, uint64_t id);

/* Ends a timer, even a kept one, and waits as tw_sched_cancel_sync does.
 *
 * Returns:
 *   tw_cancel  see there
 * Errors: -EINVAL, -ENOENT; and
 *   -EDEADLK  the caller is the callback of this timer
 * Threads: any. */
TW_API int tw_sched_shutdown_sync(tw_sched *sched, uint64_t id);

/* Ends every timer with this token, in O(timers). A timer that runs will not run again. `*running`
 * gets the id of that timer, or 0 if there is none. To wait for that timer, pass its id to
 * tw_sched_shutdown_sync. If another thread adds a timer during this call, the call may end that
 * timer or not.
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

/* What the scheduler knows of a timer. */
typedef struct tw_sched_info {
    size_t size;          /* of this struct, in bytes */
    uint64_t id;
    int int_id;
    tw_state state;
    uint64_t due_ns;      /* when it is due (pending) or was (running), by the clock */
    uint64_t interval_ns; /* its period, or the delay that it was armed with */
    const void *token;
    void *data;           /* null while the timer runs: the callback has it */
} tw_sched_info;

#define TW_SCHED_INFO_INIT { sizeof(tw_sched_info), 0, 0, TW_STATE_IDLE, 0, 0, NULL, NULL }

/* Writes what the scheduler knows of a timer to `*info`, which you initialize with
 * TW_SCHED_INFO_INIT; null only asks whether the timer exists.
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
 *   0  the timer is idle or runs
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_when(const tw_sched *sched, uint64_t id, uint64_t *due_ns);

/* How long until a timer is due, in ms rounded up; 0 if the timer is overdue.
 *
 * Returns:
 *   1  `*ms` is written
 *   0  the timer is idle or runs
 * Errors: -EINVAL, -ENOENT.
 * Threads: any. */
TW_API int tw_sched_remaining(const tw_sched *sched, uint64_t id, int64_t *ms);

/* How long a poll loop may sleep, in ms rounded up, at most INT_MAX: the last argument of poll.
 * This function does not wait. With TW_FAMILY_WHEEL and TW_FAMILY_COARSE the time may be too short,
 * once for each bucket. Then tw_sched_run finds no due timer, and the next time is right.
 *
 * This is for a loop on the only thread that arms timers:
 *
 *     int wait;
 *     while ((wait = tw_sched_timeout_ms(sched)) >= -1) {  // less: an error
 *         poll(descriptors, count, wait);
 *         tw_sched_run(sched, SIZE_MAX);
 *     }
 *
 * A loop that sleeps does not notice a timer that another thread arms meanwhile. For example, the
 * loop sleeps for 2 s, and another thread arms a timer of 5 ms. If several threads arm timers, set
 * a function that wakes the loop (tw_sched_set_wake), or use a descriptor (tw_sched_fd) or a thread
 * of the scheduler's own (tw_sched_start_thread).
 *
 * With none of the three, the thread that called this function last is the loop: until it arms a
 * timer, calls tw_sched_run or this function, or its time is over, an arm by any other thread for
 * an earlier time returns -ENOTCONN, and changes nothing. A thread that takes over the loop becomes
 * the loop by its own call of this function. A callback that calls it does not. All M:N threads of
 * a worker count as one thread here, so a loop among them needs one of the three. While another
 * thread runs the queue, the time is at most 1 ms, because a callback may arm its own timer when it
 * returns.
 *
 * Returns:
 *   ms  0 if a timer is due
 *   -1  no timer is pending: poll waits for ever. This -1 is a result, no error
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_timeout_ms(tw_sched *sched);

/* Wakes a loop that sleeps for tw_sched_timeout_ms. */
typedef void (*tw_wake_fn)(void *data);

/* Sets the function that wakes your loop, for systems and loops without tw_sched_fd. When a thread
 * has armed a timer that is due before the time of the last tw_sched_timeout_ms is over, it calls
 * `wake` with `data`, at most once for each tw_sched_timeout_ms. It holds no lock of the scheduler
 * then. The thread may be the loop's own. The function makes the loop call tw_sched_timeout_ms
 * again. For example, it writes a byte to a pipe that the loop polls, or calls
 * g_main_context_wakeup. If tw_sched_run armed such a timer, because a callback asked to run again,
 * it calls the function before it returns.
 *
 * A program that already wakes its loop after each arm and each tw_sched_run of another thread, for
 * example by a pipe of its own, sets a function that does nothing. Otherwise its arms return
 * -ENOTCONN.
 *
 * Set the function before other threads arm timers. If `wake` is null, the scheduler has no such
 * function any more. Keep each function and its `data` until tw_sched_destroy returns, because a
 * thread whose arm came before this call may call the former function after this call.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_sched_set_wake(tw_sched *sched, tw_wake_fn wake, void *data);

/* Runs the callbacks of due timers, at most `budget`; SIZE_MAX is no limit. Only timers that were
 * armed before this call run. Calls of other threads wait for a bounded time. The scheduler holds
 * no lock during a callback. Under one hold of its lock, it moves at most 256 timers inside the
 * queue.
 *
 * Returns:
 *   number  of callbacks that ran
 * Errors: -EINVAL; and
 *   -EBUSY    another thread runs the queue
 *   -EDEADLK  the caller is a callback
 * Threads: any. */
TW_API ptrdiff_t tw_sched_run(tw_sched *sched, size_t budget);

/* Starts a thread that sleeps until a timer is due, and then runs the callback. `name` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM, -EAGAIN, -ECANCELED; and
 *   -EALREADY  the scheduler has a thread or a descriptor
 *   -ENOTSUP   the scheduler has TW_SCHED_ONE_THREAD
 * Threads: any. */
TW_API int tw_sched_start_thread(tw_sched *sched, const char *name);

/* Stops the scheduler's thread, and waits until the thread has ended. Timers stay pending. Hold no
 * lock that a callback takes.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -ENOENT   the scheduler has no thread, or had one only in the process that forked this one
 *   -EDEADLK  the caller is a callback
 * Threads: any. */
TW_API int tw_sched_stop_thread(tw_sched *sched);

/* A descriptor for poll, epoll or another event loop. It becomes readable when a timer is due: then
 * call tw_sched_fd_ack, and tw_sched_run. Each call returns the same descriptor. The scheduler owns
 * and closes it. Only where a timerfd or a kqueue exists.
 *
 * Returns:
 *   descriptor  0 or more
 * Errors: -EINVAL, -ENOMEM, -EMFILE; and
 *   -ENOTSUP   the system is none of these, or the clock is virtual
 *   -EALREADY  the scheduler has a thread
 * Threads: any. */
TW_API int tw_sched_fd(tw_sched *sched);

/* Acknowledges that the descriptor was readable.
 *
 * Returns:
 *   1  call tw_sched_run
 *   0  the descriptor was not readable, is no longer, or became readable only so that the alarm
 *      could look at the clock (with a kqueue)
 * Errors: -EINVAL; and
 *   -ENOENT  there is no descriptor
 *   -EMFILE  in a forked child: none is left to make the descriptor the child's own. The next call
 *            tries again
 * Threads: any. */
TW_API int tw_sched_fd_ack(tw_sched *sched);

/* What the clock shows, in ns.
 *
 * Returns:
 *   0  `*ns` is written
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_now(const tw_sched *sched, uint64_t *ns);

/* Moves a virtual clock forward. If the scheduler has a thread, the call waits until the thread has
 * run all due timers. A call from a callback does not wait.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM; and
 *   -ENOTSUP  the clock is not virtual
 * Threads: any. */
TW_API int tw_sched_advance(tw_sched *sched, uint64_t ns);

/* Sets the time of day of a virtual clock forward by `ns`, or back if `ns` is negative. Otherwise
 * this function is like tw_sched_advance.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM; and
 *   -ENOTSUP  the clock is not virtual
 * Threads: any. */
TW_API int tw_sched_step_wall(tw_sched *sched, int64_t ns);

/* Counters of a scheduler. Lateness is the time from when a timer was due to its callback. */
typedef struct tw_sched_counts {
    size_t size;           /* of this struct, in bytes */
    uint64_t timers;       /* idle, pending and running */
    uint64_t pending;
    uint64_t high_water;   /* the greatest number of timers at one time */
    uint64_t armed;        /* how often the program armed a timer */
    uint64_t fired;        /* callbacks that ran */
    uint64_t canceled;     /* timers that were cancelled while they were pending */
    uint64_t overruns;     /* periods that passed without a run of their own */
    uint64_t passes;       /* runs of the queue */
    uint64_t steps;        /* steps of the time of day that the scheduler noticed */
    uint64_t heap_bytes;   /* allocated for timers */
    uint64_t late_mean_ns;
    uint64_t late_half_ns; /* half of the callbacks were no later than this */
    uint64_t late_most_ns; /* 99 % of the callbacks were no later than this */
    uint64_t late_max_ns;
} tw_sched_counts;

#define TW_SCHED_COUNTS_INIT \
    { sizeof(tw_sched_counts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Writes the counters to `*counts`, which you initialize with TW_SCHED_COUNTS_INIT.
 *
 * Returns:
 *   0  `*counts` is written
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_sched_get_counts(const tw_sched *sched, tw_sched_counts *counts);

/* Every timer as a table: id, state, due time, interval, token, callback, call site. The function
 * writes the table to `text`, unless `text` is null. The text ends with a zero, and is cut off to
 * fit into `bytes` bytes.
 *
 * Returns:
 *   length  of the whole text, without the zero
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API ptrdiff_t tw_sched_dump(const tw_sched *sched, char *text, size_t bytes);

/* The counters as a text, in total and for each call site, and how late callbacks were. The
 * function writes this to `text`, unless `text` is null. The text ends with a zero, and is cut off
 * to fit into `bytes` bytes.
 *
 * Returns:
 *   length  of the whole text, without the zero
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API ptrdiff_t tw_sched_report(const tw_sched *sched, char *text, size_t bytes);

/* Verifies the whole scheduler, in O(timers). If the scheduler is broken, the function writes what
 * is wrong to `text`, unless `text` is null. The text ends with a zero, and is cut off to fit into
 * `bytes` bytes.
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
