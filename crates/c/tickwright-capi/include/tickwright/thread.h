/* Threads with an interface like that of pthreads, in a runtime of one of two models.
 *
 * A program can try which model suits it: one argument of tw_runtime_create chooses the model. A
 * thread runs a function, ends when the function returns, and is joined once or detached. Any
 * thread may call any function at any time, except tw_runtime_destroy. Link with
 * `pkg-config --cflags --libs tickwright-threads`.
 *
 * IDS
 *
 * The id of a thread is never 0. When a thread is gone (joined, or detached and ended), its id is
 * stale for ever. In another runtime an id names no thread (-ESRCH).
 *
 * M:N
 *
 * M:N threads share a few of the platform's threads, the workers. While an M:N thread waits in the
 * functions of this header, other threads run on its worker. While it waits in any other function,
 * or computes without a call of this header, no other thread runs there, and no sleep of the worker
 * ends. An M:N thread stays on the worker that has started it.
 *
 * A thread that never has to wait does not keep its worker for ever, because calls are counted.
 * When a thread has made 64 to 128 counted calls without a wait, the next counted call yields. A
 * thread may hold a tw_mutex meanwhile. Counted are tw_thread_create, join, tryjoin, timedjoin and
 * unpark, a park that returns at once, tw_mutex_lock, lock_for and trylock, tw_cond_wait, wait_for,
 * signal and broadcast, and all calls about a mailbox except create and destroy. A
 * tw_thread_create that fails, and a sleep of 0, always yield. All other functions never yield. For
 * example, these loops need a tw_thread_yield, or they starve the worker:
 *
 *     while (!done) { }                          computes, calls nothing
 *     while (tw_runtime_len(runtime) > 1) { }    only asks
 *
 * The M:N threads of one worker share what the platform keeps for a thread: thread-local variables,
 * the signal mask, the owner of a lock. Each has errno and C++ exceptions of its own, so a catch
 * block may wait and then rethrow. The library finds the C++ runtime if the program is linked with
 * it. It also finds one that the program has loaded with RTLD_GLOBAL before tw_runtime_create.
 *
 * Hold no pthread_mutex_t while you wait in a function of this header, or make a counted call. If
 * another thread of the same worker then locks that mutex, the worker stops for ever. A recursive
 * mutex lets the other thread in, since the platform takes both for one thread. For example:
 *
 *     pthread_mutex_lock(&lock);
 *     tw_thread_yield();            wrong: another thread of the worker may lock it now
 *     pthread_mutex_unlock(&lock);
 *
 * Between tw_thread_forbid_yields and tw_thread_allow_yields a counted call yields only if it has
 * to wait. There a pthread_mutex_t may be held across calls that never have to wait:
 *
 *     tw_thread_forbid_yields();
 *     pthread_mutex_lock(&lock);
 *     result = tw_thread_create(runtime, &thread, NULL, start, argument);
 *     pthread_mutex_unlock(&lock);
 *     tw_thread_allow_yields();     yields now if a call in between would have yielded
 *
 * FAULTS
 *
 * If a thread overflows its stack, the library writes the thread's name to standard error, and
 * aborts the process. To detect this, the first runtime sets handlers of SIGSEGV and SIGBUS. They
 * pass other faults on to the handlers that were set before. The library stays loaded after a
 * dlclose. A signal handler runs on the stack of the thread that takes the signal. In the M:N model
 * that stack has at least 64 KiB. A handler with SA_ONSTACK runs on a separate stack of 64 KiB.
 *
 * FORKS
 *
 * A forked child has none of the runtime's threads. There no thread can be created (-ECANCELED) or
 * joined (-ESRCH), and tw_runtime_destroy does not wait. In every model, the thread that has forked
 * counts in the child as one that no runtime has created: tw_thread_self returns 0. When the
 * function of that thread returns, the child ends like a process whose last thread returns.
 * Handlers of exit() run, buffers are written, and the exit status is 0. A lock that another thread
 * holds at the fork stays locked in the child. Calls that wait in the parent do not wait in the
 * child, and keep no lock, condition or mailbox from its destruction there.
 *
 * THE LAST MOMENTS
 *
 * All functions work in the destructors of thread-local variables and keys, and in handlers of
 * exit(). There a thread of a runtime counts as one that no runtime has created. A handler of
 * exit() may destroy a runtime if all threads of that runtime end.
 */
#ifndef TICKWRIGHT_THREAD_H
#define TICKWRIGHT_THREAD_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A runtime. The library owns its memory. */
typedef struct tw_runtime tw_runtime;

/* The id of a thread. */
typedef uint64_t tw_thread;

/* What a thread is. */
typedef enum tw_model {
    TW_MODEL_ONE_TO_ONE = 1, /* a thread of the platform */
    TW_MODEL_MN = 2,         /* a coroutine on a worker */
    TW_MODEL_MANAGER = 3     /* was in version 0.1, for measurements: tw_runtime_create returns
                                -ENOTSUP. Take TW_MODEL_ONE_TO_ONE */
} tw_model;

/* The value of an option that the library is to choose. */
#define TW_DEFAULT SIZE_MAX

/* The options of a new runtime. */
typedef struct tw_runtime_options {
    size_t size;        /* of this struct, in bytes */
    size_t workers;     /* M:N: 1 to 255, or TW_DEFAULT: one for each core */
    size_t stack_size;  /* of threads that ask for no other, without the guard: 16 KiB to 1 GiB, or
                           TW_DEFAULT */
    size_t guard_size;  /* of threads that ask for no other: up to 1 MiB; 0: none; or TW_DEFAULT */
    size_t kept_stacks; /* M:N: unused stacks that a worker keeps for its next threads; or
                           TW_DEFAULT: 1024 */
} tw_runtime_options;

#define TW_RUNTIME_OPTIONS_INIT \
    { sizeof(tw_runtime_options), TW_DEFAULT, TW_DEFAULT, TW_DEFAULT, TW_DEFAULT }

/* Sets all options to their defaults. `size` is sizeof(tw_runtime_options).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_runtime_options_init(tw_runtime_options *options, size_t size);

/* Starts a runtime, and returns it in `*runtime`; `runtime` must not be null. If `options` is null,
 * the defaults apply. On an error `*runtime` is null, and no thread of the runtime is left.
 *
 * Returns:
 *   0  done
 * Errors: -E2BIG, -ENOMEM; and
 *   -EINVAL   also if an option is out of range
 *   -EAGAIN   the system cannot create a thread for a worker
 *   -ENOTSUP  the model is TW_MODEL_MANAGER
 * Threads: any. */
TW_API int tw_runtime_create(tw_runtime **runtime, tw_model model,
                             const tw_runtime_options *options);

/* Waits until every thread has ended, and ends the runtime. The call also waits for threads that no
 * thread has joined, and for threads that are created meanwhile. `runtime` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EDEADLK   the caller is a thread of this runtime
 *   -EALREADY  another call is destroying the runtime
 * Threads: no other call is under way or begins, except those of its threads. */
TW_API int tw_runtime_destroy(tw_runtime *runtime);

/* The number of threads whose function has not returned.
 *
 * Returns:
 *   number  of threads
 * Errors: -EINVAL.
 * Threads: any. */
TW_API ptrdiff_t tw_runtime_len(const tw_runtime *runtime);

/* What the runtime's clock shows, in ns: the machine's monotonic clock.
 *
 * Returns:
 *   0  `*ns` is written
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_runtime_now(const tw_runtime *runtime, uint64_t *ns);

/* The options of a new thread. */
typedef struct tw_thread_options {
    size_t size;       /* of this struct, in bytes */
    size_t stack_size; /* without the guard: 16 KiB to 1 GiB, or TW_DEFAULT */
    size_t guard_size; /* bytes below the stack that must not be touched: up to 1 MiB; 0: none; or
                          TW_DEFAULT: 64 KiB for M:N threads, a page for others */
    const char *name;  /* up to 255 bytes of UTF-8, copied; null: none */
    int detached;      /* not 0: no thread joins it */
    unsigned flags;    /* must be 0; other values give -E2BIG */
} tw_thread_options;

#define TW_THREAD_OPTIONS_INIT { sizeof(tw_thread_options), TW_DEFAULT, TW_DEFAULT, NULL, 0, 0 }

/* Sets all options to their defaults. `size` is sizeof(tw_thread_options).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_thread_options_init(tw_thread_options *options, size_t size);

/* The function that a thread runs. The thread that joins gets its result. */
typedef void *(*tw_thread_fn)(void *argument);

/* Creates a thread, and returns its id in `*thread`. If `options` is null, the defaults apply. The
 * thread may run, and even be gone, before this function returns. On an error no thread was
 * created. If no memory is left when an M:N thread is to start, the thread starts as soon as there
 * is memory.
 *
 * Returns:
 *   0  done
 * Errors: -E2BIG, -ENOMEM, -ECANCELED; and
 *   -EINVAL  also for a null function, and for options out of range
 *   -EAGAIN  the system has no stack or no thread left, or the runtime has the greatest number of
 *            threads that it can have: try again when threads have ended
 * Threads: any. */
TW_API int tw_thread_create(tw_runtime *runtime, tw_thread *thread,
                            const tw_thread_options *options, tw_thread_fn start, void *argument);

/* Waits for a thread to end, and returns what its function returned in `*value`. The id is stale
 * from then on.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH; and
 *   -EDEADLK  the thread is the caller, or waits for the caller, directly or through others
 *   -EINVAL   also if the thread is detached, or if another thread joins it
 * Threads: any. */
TW_API int tw_thread_join(tw_runtime *runtime, tw_thread thread, void **value);

/* Like tw_thread_join, without waiting.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH, -EDEADLK, -EINVAL; and
 *   -EBUSY  the thread still runs, and may be joined later
 * Threads: any. */
TW_API int tw_thread_tryjoin(tw_runtime *runtime, tw_thread thread, void **value);

/* Like tw_thread_join, but waits only until the runtime's clock (tw_runtime_now) shows `until_ns`.
 * This time is absolute, as that of pthread_timedjoin_np is.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH, -EDEADLK, -EINVAL; and
 *   -ETIMEDOUT  the thread still runs, and may be joined later
 * Threads: any. */
TW_API int tw_thread_timedjoin(tw_runtime *runtime, tw_thread thread, void **value,
                               uint64_t until_ns);

/* Detaches a thread: no thread can join it, and it is gone when it ends.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH; and
 *   -EINVAL  also if the thread is detached already, or if another thread joins it
 * Threads: any. */
TW_API int tw_thread_detach(tw_runtime *runtime, tw_thread thread);

/* The id of the calling thread. The id is 0 if no runtime has created the caller. It is also 0 in
 * the destructors of thread-local variables and keys, and in a child that the thread has forked.
 *
 * Returns:
 *   id  or 0
 * Threads: any. */
TW_API tw_thread tw_thread_self(void);

/* Whether two ids are the same.
 *
 * Returns:
 *   1  the ids are the same
 *   0  the ids differ
 * Threads: any. */
TW_API int tw_thread_equal(tw_thread one, tw_thread other);

/* The lowest address of the calling thread's stack, above its guard, and its size in bytes.
 *
 * Returns:
 *   1  `*lowest` and `*size` are written
 *   0  no runtime has created the caller, or the system does not tell the stack
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_thread_stack(void **lowest, size_t *size);

/* Lets other threads run. The caller goes behind the threads that are ready.
 *
 * Threads: any. */
TW_API void tw_thread_yield(void);

/* Begins a section in which no counted call of the calling thread yields unless it has to wait, so
 * that the thread may hold a pthread_mutex_t across such calls. Calls that never have to wait are
 * tw_thread_create in an M:N runtime, tw_thread_unpark, tw_cond_signal and tw_cond_broadcast. All
 * other counted calls may have to, and tw_thread_yield always yields. Lock and unlock the mutex
 * inside of the section. Sections may be nested. A section belongs to its thread: if the thread
 * waits, the other threads of the worker are in no section. While the thread does not wait, no
 * other thread of the worker goes on and no sleep there ends, so keep the section short. On a
 * thread of another model, or of no runtime, this does nothing.
 *
 * Threads: any. */
TW_API void tw_thread_forbid_yields(void);

/* Ends the section that the last tw_thread_forbid_yields of the calling thread has begun. At the
 * end of the outermost section, the thread yields if a call in the section would have yielded. A
 * loop of sections therefore does not keep its worker for ever. Outside of a section this does
 * nothing.
 *
 * Threads: any. */
TW_API void tw_thread_allow_yields(void);

/* Waits for `ns` nanoseconds or more. With 0 an M:N thread yields.
 *
 * Threads: any. */
TW_API void tw_thread_sleep(uint64_t ns);

/* Waits until another thread unparks the calling thread. If another thread has unparked it since
 * its last park, this returns at once. It may also return without cause, so check again what you
 * wait for.
 *
 * Threads: any. */
TW_API void tw_thread_park(void);

/* Like tw_thread_park, but waits for at most `ns` nanoseconds or a little longer.
 *
 * Threads: any. */
TW_API void tw_thread_park_for(uint64_t ns);

/* Ends a thread's park, or its next park. Several calls before a park count as one. What was
 * written before this call is seen after the park.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ESRCH.
 * Threads: any. */
TW_API int tw_thread_unpark(tw_runtime *runtime, tw_thread thread);

/* Waits until a descriptor can be read without waiting, or has failed or ended. If the caller is an
 * M:N thread, other threads run on its worker meanwhile. Keep the descriptor open until this
 * function returns.
 *
 * Returns:
 *   0  a read does not wait
 * Errors: -ENOMEM; and
 *   -EBADF   also if `fd` is less than 0
 *   -EMFILE  no descriptor is left for the first wait of an M:N worker
 *   -ENOTSUP  the system is Windows
 * Threads: any. */
TW_API int tw_thread_wait_readable(int fd);

/* Waits until a descriptor can be written without waiting, or has failed. Otherwise this function
 * is like tw_thread_wait_readable.
 *
 * Returns:
 *   0  a write does not wait
 * Errors: -ENOMEM; and
 *   -EBADF   also if `fd` is less than 0
 *   -EMFILE  no descriptor is left for the first wait of an M:N worker
 *   -ENOTSUP  the system is Windows
 * Threads: any. */
TW_API int tw_thread_wait_writable(int fd);

/* A lock. The library owns its memory. While an M:N thread waits for a lock, other threads run on
 * its worker. A thread may hold a lock while it waits in other functions of this header. The lock
 * is not recursive. */
typedef struct tw_mutex tw_mutex;

/* Makes a lock that no thread holds, and returns it in `*mutex`; `mutex` must not be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_mutex_create(tw_mutex **mutex);

/* Ends a lock. `mutex` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EBUSY  a thread holds the lock, waits for it, or will take it again in tw_cond_wait
 * Threads: no other call about it begins, or is under way without waiting. */
TW_API int tw_mutex_destroy(tw_mutex *mutex);

/* Acquires the lock, and waits for it without a time limit. An unlock wakes the thread that has
 * waited longest first.
 *
 * Returns:
 *   0  the calling thread holds the lock
 * Errors: -EINVAL; and
 *   -EDEADLK  the calling thread holds the lock already
 * Threads: any. */
TW_API int tw_mutex_lock(tw_mutex *mutex);

/* Like tw_mutex_lock, but gives up after `ns` nanoseconds or a little later. This time is relative,
 * unlike that of pthread_mutex_timedlock.
 *
 * Returns:
 *   0  the calling thread holds the lock
 * Errors: -EINVAL; and
 *   -EDEADLK    the calling thread holds the lock already
 *   -ETIMEDOUT  the time is over
 * Threads: any. */
TW_API int tw_mutex_lock_for(tw_mutex *mutex, uint64_t ns);

/* Acquires the lock if no thread holds it or waits for it.
 *
 * Returns:
 *   0  the calling thread holds the lock
 * Errors: -EINVAL; and
 *   -EBUSY  a thread holds the lock, or waits for it
 * Threads: any. */
TW_API int tw_mutex_trylock(tw_mutex *mutex);

/* Releases the lock.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EPERM.
 * Threads: any. */
TW_API int tw_mutex_unlock(tw_mutex *mutex);

/* A condition variable: a thread waits for a change that another thread makes under a lock. The
 * library owns its memory. */
typedef struct tw_cond tw_cond;

/* Makes a condition variable, and returns it in `*cond`; `cond` must not be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_cond_create(tw_cond **cond);

/* Ends a condition variable. `cond` may be null. After a broadcast, join the threads that waited,
 * or call this again until it succeeds: pthread_cond_destroy would wait for them.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EBUSY  a thread waits, or has been woken and has not returned yet
 * Threads: no other call about it begins, or is under way without waiting. */
TW_API int tw_cond_destroy(tw_cond *cond);

/* Releases the lock, waits for a signal, and acquires the lock again. A signal after the release is
 * not lost. The call may also return without cause: check your condition again.
 *
 * Returns:
 *   0  the calling thread holds the lock again
 * Errors: -EINVAL, -EPERM.
 * Threads: any. */
TW_API int tw_cond_wait(tw_cond *cond, tw_mutex *mutex);

/* Like tw_cond_wait, but gives up after `ns` nanoseconds or a little later. This time is relative,
 * unlike that of pthread_cond_timedwait.
 *
 * Returns:
 *   0  the calling thread holds the lock again
 * Errors: -EINVAL, -EPERM; and
 *   -ETIMEDOUT  the time is over; the calling thread holds the lock again
 * Threads: any. */
TW_API int tw_cond_wait_for(tw_cond *cond, tw_mutex *mutex, uint64_t ns);

/* Wakes the thread that has waited longest.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_cond_signal(tw_cond *cond);

/* Wakes all threads that wait.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_cond_broadcast(tw_cond *cond);

/* A mailbox: it carries pointers, called letters, from thread to thread in the order in which they
 * were sent. Many threads may send, and many may receive. The library owns its memory. */
typedef struct tw_mailbox tw_mailbox;

/* Makes a mailbox, and returns it in `*mailbox`; `mailbox` must not be null. The mailbox holds at
 * most `capacity` letters. `capacity` is 1 or more; TW_DEFAULT is no bound.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_mailbox_create(tw_mailbox **mailbox, size_t capacity);

/* Ends a mailbox. Letters that are left are yours. `mailbox` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EBUSY  a thread waits to send or receive, or has been woken and has not returned yet
 * Threads: no other call about it begins, or is under way without waiting. */
TW_API int tw_mailbox_destroy(tw_mailbox *mailbox);

/* Closes a mailbox: it refuses all further letters, and wakes every thread that waits. Threads can
 * still receive the letters that are left.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_mailbox_close(tw_mailbox *mailbox);

/* Sends a pointer, and waits for room. The receiver sees all that the sender wrote before this
 * call.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM; and
 *   -EPIPE  the mailbox is closed
 * Threads: any. */
TW_API int tw_mailbox_send(tw_mailbox *mailbox, void *letter);

/* Like tw_mailbox_send, without waiting.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM; and
 *   -EPIPE  the mailbox is closed
 *   -EBUSY  the mailbox is full
 * Threads: any. */
TW_API int tw_mailbox_trysend(tw_mailbox *mailbox, void *letter);

/* Receives a letter, a pointer, into `*letter`. Waits until there is a letter.
 *
 * Returns:
 *   0  `*letter` is written
 * Errors: -EINVAL, -EPIPE.
 * Threads: any. */
TW_API int tw_mailbox_receive(tw_mailbox *mailbox, void **letter);

/* Like tw_mailbox_receive, without waiting.
 *
 * Returns:
 *   0  `*letter` is written
 * Errors: -EINVAL, -EPIPE; and
 *   -EBUSY  the mailbox has no letter
 * Threads: any. */
TW_API int tw_mailbox_tryreceive(tw_mailbox *mailbox, void **letter);

/* Like tw_mailbox_receive, but gives up after `ns` nanoseconds or a little later. This time is
 * relative, unlike that of mq_timedreceive.
 *
 * Returns:
 *   0  `*letter` is written
 * Errors: -EINVAL, -EPIPE; and
 *   -ETIMEDOUT  the time is over
 * Threads: any. */
TW_API int tw_mailbox_receive_for(tw_mailbox *mailbox, void **letter, uint64_t ns);

/* The number of letters in the mailbox.
 *
 * Returns:
 *   number  of letters
 * Errors: -EINVAL.
 * Threads: any. */
TW_API ptrdiff_t tw_mailbox_len(const tw_mailbox *mailbox);

/* A key: each thread has its own pointer under it, null at first. Each M:N thread has its own
 * pointer too, although the threads of a worker share thread-local variables. The library owns the
 * memory of a key. */
typedef struct tw_key tw_key;

/* Is called with a thread's value when the thread ends, unless the value is null. It runs on the
 * thread and may call every function. If it sets a value, that value is destroyed too. This is
 * repeated for at least 4 rounds and at most 8. Values that are left then are lost: no destructor
 * runs for them. */
typedef void (*tw_destructor_fn)(void *value);

/* Makes a key, and returns it in `*key`; `key` must not be null. If `destructor` is null, the key
 * has no destructor.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_key_create(tw_key **key, tw_destructor_fn destructor);

/* Ends a key. Threads keep the values that they have set: when a thread ends, the destructor runs
 * for its value. `key` may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: no other call about it is under way or begins. */
TW_API int tw_key_destroy(tw_key *key);

/* Sets the calling thread's value. The destructor does not run for the value before it.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_key_set(tw_key *key, void *value);

/* Returns the calling thread's value in `*value`.
 *
 * Returns:
 *   0  `*value` is written
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_key_get(const tw_key *key, void **value);

#ifdef __cplusplus
}
#endif

#endif
