/* Threads in the shape of pthreads, of a runtime in one of three models.
 *
 * A program can try which model suits it: one number chooses. A thread runs a function, ends when
 * that returns, and is joined once or detached. Any thread may call any function at any time,
 * except tw_runtime_destroy. Link with `pkg-config --cflags --libs tickwright-threads`.
 *
 * IDS
 *
 * An id is never 0, and is stale for ever when the thread is gone: joined, or detached and ended.
 * In another runtime an id names no thread (-ESRCH).
 *
 * M:N
 *
 * M:N threads share a few of the platform's threads, the workers. While an M:N thread waits in the
 * functions of this header, others run on its worker. While it waits in any other function, or
 * computes without a tw_thread_yield, they do not. It stays on the worker that has begun it.
 *
 * The M:N threads of one worker share what the platform keeps for a thread: thread-local variables,
 * the signal mask, the owner of a lock. Each has errno and C++ exceptions of its own, so a catch
 * block may wait and then rethrow. The C++ runtime is found if the program is linked with one, or
 * has loaded one for all (RTLD_GLOBAL) before tw_runtime_create.
 *
 * Hold no pthread_mutex_t across a wait of this header. The next thread of the worker that locks it
 * stops the worker for ever. A recursive mutex lets that thread in, since to the platform both are
 * one thread. For example:
 *
 *     pthread_mutex_lock(&lock);
 *     tw_thread_yield();            wrong: another thread of the worker may lock it now
 *     pthread_mutex_unlock(&lock);
 *
 * FAULTS
 *
 * If a thread overflows its stack, standard error gets its name, and the process aborts. For that
 * the first runtime sets handlers of SIGSEGV and SIGBUS; other faults go to the handlers that were
 * there before. The library stays loaded after a dlclose. A signal handler runs on the stack of the
 * thread that takes the signal, which is at least 64 KiB in the M:N model. With SA_ONSTACK on it
 * runs on 64 KiB of its own.
 *
 * FORKS
 *
 * A forked child has none of the runtime's threads. Nothing can be created there (-ECANCELED) or
 * joined (-ESRCH), and destroying does not wait. In the child the thread that has forked is one
 * that no runtime has created, in every model: tw_thread_self returns 0. When its function returns,
 * the child ends as a process does whose last thread returns. Handlers of exit() run, buffers are
 * written, and the child's code is 0.
 *
 * THE LAST MOMENTS
 *
 * All functions work in the destructors of a thread's variables and keys, and in handlers of
 * exit(). There a thread of a runtime is one that no runtime has created. A runtime may be
 * destroyed in a handler of exit() if its threads end.
 */
#ifndef TICKWRIGHT_THREAD_H
#define TICKWRIGHT_THREAD_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A runtime, in memory of the library. */
typedef struct tw_runtime tw_runtime;

/* The id of a thread. */
typedef uint64_t tw_thread;

/* What a thread is. */
typedef enum tw_model {
    TW_MODEL_ONE_TO_ONE = 1, /* one of the platform's */
    TW_MODEL_MN = 2,         /* a coroutine on a worker */
    TW_MODEL_MANAGER = 3     /* one of the platform's, started and ended by a manager thread, as
                                Linux did until 2003: to be measured */
} tw_model;

/* For a number that the library chooses. */
#define TW_DEFAULT SIZE_MAX

/* What a runtime is created with. */
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

/* Starts a runtime, and returns it in `*runtime`, which must not be null. Null options are the
 * defaults. On an error `*runtime` is null, and no thread of it is left.
 *
 * Returns:
 *   0  done
 * Errors: -E2BIG, -ENOMEM, -EMFILE; and
 *   -EINVAL  also if an option is out of range
 *   -EAGAIN  the system has no thread to give for a worker or the manager
 * Threads: any. */
TW_API int tw_runtime_create(tw_runtime **runtime, tw_model model,
                             const tw_runtime_options *options);

/* Waits until every thread has ended, and ends the runtime. Threads that nobody joined count too,
 * and so do those that they create meanwhile. Null is fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EDEADLK   one of its threads calls
 *   -EALREADY  it is being destroyed
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

/* What a thread is created with. */
typedef struct tw_thread_options {
    size_t size;       /* of this struct, in bytes */
    size_t stack_size; /* without the guard: 16 KiB to 1 GiB, or TW_DEFAULT */
    size_t guard_size; /* bytes below the stack that nobody may touch: up to 1 MiB; 0: none; or
                          TW_DEFAULT: 64 KiB for M:N threads, a page for others */
    const char *name;  /* up to 255 bytes of UTF-8, copied; null: none */
    int detached;      /* not 0: nobody joins it */
    unsigned flags;    /* 0; others are -E2BIG */
} tw_thread_options;

#define TW_THREAD_OPTIONS_INIT { sizeof(tw_thread_options), TW_DEFAULT, TW_DEFAULT, NULL, 0, 0 }

/* Sets all options to their defaults. `size` is sizeof(tw_thread_options).
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_thread_options_init(tw_thread_options *options, size_t size);

/* What a thread runs. Its result is for the thread that joins. */
typedef void *(*tw_thread_fn)(void *argument);

/* Creates a thread, and returns its id in `*thread`. Null options are the defaults. The thread may
 * run, and even be gone, before this returns. On an error nothing was created. If there is no
 * memory when an M:N thread is to begin, it begins as soon as there is some.
 *
 * Returns:
 *   0  done
 * Errors: -E2BIG, -ENOMEM, -ECANCELED; and
 *   -EINVAL  also for a null function, and for options out of range
 *   -EAGAIN  the system has no stack or no thread to give, or the runtime has its most
 * Threads: any. */
TW_API int tw_thread_create(tw_runtime *runtime, tw_thread *thread,
                            const tw_thread_options *options, tw_thread_fn start, void *argument);

/* Waits for a thread to end, and returns what its function returned in `*value`. The id is stale
 * from then on.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH; and
 *   -EDEADLK  it is the caller, or waits for the caller, directly or through others
 *   -EINVAL   also if it is detached, or if another thread joins it
 * Threads: any. */
TW_API int tw_thread_join(tw_runtime *runtime, tw_thread thread, void **value);

/* Like tw_thread_join, without waiting.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH, -EDEADLK, -EINVAL; and
 *   -EBUSY  it runs, and may be joined later
 * Threads: any. */
TW_API int tw_thread_tryjoin(tw_runtime *runtime, tw_thread thread, void **value);

/* Like tw_thread_join, until the runtime's clock shows `until_ns`.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH, -EDEADLK, -EINVAL; and
 *   -ETIMEDOUT  it still runs, and may be joined later
 * Threads: any. */
TW_API int tw_thread_timedjoin(tw_runtime *runtime, tw_thread thread, void **value,
                               uint64_t until_ns);

/* Tells that nobody will join a thread: it is gone when it ends.
 *
 * Returns:
 *   0  done
 * Errors: -ESRCH; and
 *   -EINVAL  also if it is detached already, or if another thread joins it
 * Threads: any. */
TW_API int tw_thread_detach(tw_runtime *runtime, tw_thread thread);

/* The calling thread. It is 0 if no runtime has created the caller. It is also 0 in the destructors
 * of a thread's variables and keys, and in a child that the thread has forked.
 *
 * Returns:
 *   id  or 0
 * Threads: any. */
TW_API tw_thread tw_thread_self(void);

/* Whether two ids are the same.
 *
 * Returns:
 *   1  they are
 *   0  they are not
 * Threads: any. */
TW_API int tw_thread_equal(tw_thread one, tw_thread other);

/* The lowest address of the calling thread's stack, above its guard, and its size in bytes.
 *
 * Returns:
 *   1  `*lowest` and `*size` are written
 *   0  no runtime has created the caller, or the system does not say
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_thread_stack(void **lowest, size_t *size);

/* Lets other threads run; the caller goes behind those that are ready.
 *
 * Threads: any. */
TW_API void tw_thread_yield(void);

/* Waits for `ns` nanoseconds or more.
 *
 * Threads: any. */
TW_API void tw_thread_sleep(uint64_t ns);

/* Waits until another thread unparks the calling thread. If another thread has unparked it since
 * its last park, this returns at once. It may also return without cause, so check again what you
 * wait for.
 *
 * Threads: any. */
TW_API void tw_thread_park(void);

/* Ends a thread's park, or its next park. Several calls before a park count as one. What was
 * written before this call is seen after the park.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ESRCH.
 * Threads: any. */
TW_API int tw_thread_unpark(tw_runtime *runtime, tw_thread thread);

/* Waits until a descriptor can be read without waiting, or has failed or ended. Others run on the
 * worker of an M:N thread meanwhile. The descriptor stays open until this returns.
 *
 * Returns:
 *   0  a read does not wait
 * Errors: -ENOMEM; and
 *   -EBADF   also if it is less than 0
 *   -EMFILE  no descriptor is left for the first wait of an M:N worker
 * Threads: any. */
TW_API int tw_thread_wait_readable(int fd);

/* Waits until a descriptor can be written without waiting, or has failed; else as
 * tw_thread_wait_readable.
 *
 * Returns:
 *   0  a write does not wait
 * Errors: -ENOMEM; and
 *   -EBADF   also if it is less than 0
 *   -EMFILE  no descriptor is left for the first wait of an M:N worker
 * Threads: any. */
TW_API int tw_thread_wait_writable(int fd);

/* A lock, in memory of the library. An M:N thread that waits for it lets others run on its
 * worker. A thread may hold it across waits. It is not recursive. */
typedef struct tw_mutex tw_mutex;

/* Makes an open lock, and returns it in `*mutex`, which must not be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_mutex_create(tw_mutex **mutex);

/* Ends a lock. Null is fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL; and
 *   -EBUSY  a thread holds it
 * Threads: no other call about it is under way or begins. */
TW_API int tw_mutex_destroy(tw_mutex *mutex);

/* Locks, and waits for that as long as it takes. The thread that has waited longest is woken first.
 *
 * Returns:
 *   0  the calling thread holds the lock
 * Errors: -EINVAL; and
 *   -EDEADLK  it holds the lock already
 * Threads: any. */
TW_API int tw_mutex_lock(tw_mutex *mutex);

/* Locks if that needs no waiting.
 *
 * Returns:
 *   0  the calling thread holds the lock
 * Errors: -EINVAL; and
 *   -EBUSY  a thread holds the lock, or waits for it
 * Threads: any. */
TW_API int tw_mutex_trylock(tw_mutex *mutex);

/* Unlocks.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EPERM.
 * Threads: any. */
TW_API int tw_mutex_unlock(tw_mutex *mutex);

/* A condition, in memory of the library: a thread waits for what another one changes under a
 * lock. */
typedef struct tw_cond tw_cond;

/* Makes a condition, and returns it in `*cond`, which must not be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_cond_create(tw_cond **cond);

/* Ends a condition. Null is fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: no other call about it is under way or begins. */
TW_API int tw_cond_destroy(tw_cond *cond);

/* Unlocks, waits for a signal, and locks again. A signal after the unlocking is not lost. It may
 * return without cause: check again what you wait for.
 *
 * Returns:
 *   0  the calling thread holds the lock again
 * Errors: -EINVAL, -EPERM.
 * Threads: any. */
TW_API int tw_cond_wait(tw_cond *cond, tw_mutex *mutex);

/* Like tw_cond_wait, for `ns` nanoseconds or a little more.
 *
 * Returns:
 *   0  the calling thread holds the lock again
 * Errors: -EINVAL, -EPERM; and
 *   -ETIMEDOUT  the time is over; the calling thread holds the lock again
 * Threads: any. */
TW_API int tw_cond_timedwait(tw_cond *cond, tw_mutex *mutex, uint64_t ns);

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

/* A mailbox, in memory of the library: pointers go from thread to thread, in the order in which
 * they were sent. Many threads may send, and many may receive. */
typedef struct tw_mailbox tw_mailbox;

/* Makes a mailbox, and returns it in `*mailbox`, which must not be null. It holds at most
 * `capacity` letters, 1 or more; TW_DEFAULT is no bound.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_mailbox_create(tw_mailbox **mailbox, size_t capacity);

/* Ends a mailbox; letters that are left are yours. Null is fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: no other call about it is under way or begins. */
TW_API int tw_mailbox_destroy(tw_mailbox *mailbox);

/* Refuses all further letters, and wakes every thread that waits. Letters that are left are
 * received.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: any. */
TW_API int tw_mailbox_close(tw_mailbox *mailbox);

/* Sends a pointer, and waits for room. What was written before this is seen by the receiver.
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
 *   -EBUSY  there is no letter
 * Threads: any. */
TW_API int tw_mailbox_tryreceive(tw_mailbox *mailbox, void **letter);

/* Like tw_mailbox_receive, for `ns` nanoseconds or a little more.
 *
 * Returns:
 *   0  `*letter` is written
 * Errors: -EINVAL, -EPIPE; and
 *   -ETIMEDOUT  the time is over
 * Threads: any. */
TW_API int tw_mailbox_timedreceive(tw_mailbox *mailbox, void **letter, uint64_t ns);

/* The number of letters that wait.
 *
 * Returns:
 *   number  of letters
 * Errors: -EINVAL.
 * Threads: any. */
TW_API ptrdiff_t tw_mailbox_len(const tw_mailbox *mailbox);

/* A key, in memory of the library: a pointer that each thread has of its own, null at first. M:N
 * threads have each their own, where a thread-local variable would be their worker's. */
typedef struct tw_key tw_key;

/* Is called with a thread's value when the thread ends, unless the value is null. It runs on the
 * thread and may call every function. */
typedef void (*tw_destructor_fn)(void *value);

/* Makes a key, and returns it in `*key`, which must not be null. A null destructor is none.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_key_create(tw_key **key, tw_destructor_fn destructor);

/* Ends a key. Values that threads have set stay theirs: each is destructed when its thread ends.
 * Null is fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: no other call about it is under way or begins. */
TW_API int tw_key_destroy(tw_key *key);

/* Sets the calling thread's value. The value before it is not destructed.
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
