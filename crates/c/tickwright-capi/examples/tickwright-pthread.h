/* The names of pthreads on Tickwright's threads, for programs that create and join threads. Include
 * this file in place of pthread.h, after all other headers. It needs C99 or C++11, and no feature
 * macro such as _POSIX_C_SOURCE. The environment variable TICKWRIGHT_MODEL chooses the model:
 * one-to-one (the default) or mn.
 *
 * What is here: threads (create, join, tryjoin, detach, self, equal, yield, kill), their attributes
 * (stack, guard, detach state), mutexes and conditions with their attributes, and keys with one
 * destructor. sleep, usleep and nanosleep wait without their worker.
 *
 * What is different:
 *
 *   pthread_exit, cancellation, signal masks, scheduling, names, barriers, rwlocks, spin locks,
 *   once, other attributes of threads, and static initializers of other mutexes are not here. The C
 *   library's would take a pthread_t for one of its own. So each use is a compile error ("has no
 *   member named 'pthread_cancel'").
 *   an id              is a number of 64 bits. It is stale for ever when its thread is gone. It is
 *                      0 for the main thread, and for others that pthread_create has not made.
 *   pthread_kill       sends signals to the main thread alone, whose id is 0. For other threads it
 *                      takes 0, which asks whether the thread exists, and refuses signals
 *                      (ENOTSUP): an M:N thread has no signals of its own.
 *   a mutex            is allocated by its first use, and checks for errors. Locking it twice gives
 *                      EDEADLK, and an unlock by another thread gives EPERM, also for default
 *                      mutexes. PTHREAD_MUTEX_INITIALIZER works. An adaptive mutex, which differs
 *                      from others in speed alone, is a default mutex.
 *   attributes         of mutexes and conditions that would change more are compile errors:
 *                      PTHREAD_MUTEX_RECURSIVE, PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_ROBUST,
 *                      PTHREAD_PRIO_INHERIT and PTHREAD_PRIO_PROTECT, and the functions that need
 *                      them. If such a number is passed anyway, the result is ENOTSUP.
 *   a condition        is destroyed only when its waiters have returned; EBUSY before.
 *   timed waits        are not here, and are compile errors too: their clocks are the caller's.
 *   a wait in another function than these stops the worker of an M:N thread. Signals do not end
 *                      sleep, usleep and nanosleep, and do not end waits.
 *   the end of main    ends the process at once, as with pthreads.
 *   no memory          for a mutex or condition that is used the first time gives ENOMEM.
 */
#ifndef TICKWRIGHT_PTHREAD_H
#define TICKWRIGHT_PTHREAD_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>
#include <tickwright/thread.h>

/* The runtime of the process, which the first use makes. All files share it. A plug-in shares it if
 * the program was linked with -rdynamic. */
__attribute__((weak)) tw_runtime *tw_pt_runtime;
__attribute__((weak)) pthread_once_t tw_pt_once = PTHREAD_ONCE_INIT;

static inline void tw_pt_start(void)
{
    const char *name = getenv("TICKWRIGHT_MODEL");
    tw_model model = TW_MODEL_ONE_TO_ONE;
    if (name != NULL && strcmp(name, "mn") == 0)
        model = TW_MODEL_MN;
    else if (name != NULL && strcmp(name, "one-to-one") != 0)
        fprintf(stderr, "TICKWRIGHT_MODEL=%s is no model: one-to-one or mn\n", name);
    tw_runtime_create(&tw_pt_runtime, model, NULL);
}

static inline tw_runtime *tw_pt(void)
{
    pthread_once(&tw_pt_once, tw_pt_start);
    return tw_pt_runtime;
}

/* Threads and their attributes. */
typedef tw_thread tw_pt_thread;
typedef tw_thread_options tw_pt_attr;

static inline int tw_pt_attr_init(tw_pt_attr *attr)
{
    return -tw_thread_options_init(attr, sizeof *attr);
}

static inline int tw_pt_attr_destroy(tw_pt_attr *attr)
{
    (void)attr;
    return 0;
}

static inline int tw_pt_attr_setstacksize(tw_pt_attr *attr, size_t bytes)
{
    attr->stack_size = bytes;
    return 0;
}

static inline int tw_pt_attr_setguardsize(tw_pt_attr *attr, size_t bytes)
{
    attr->guard_size = bytes;
    return 0;
}

static inline int tw_pt_attr_setdetachstate(tw_pt_attr *attr, int state)
{
    attr->detached = state == PTHREAD_CREATE_DETACHED;
    return 0;
}

static inline int tw_pt_create(tw_pt_thread *thread, const tw_pt_attr *attr, void *(*start)(void *),
                               void *argument)
{
    tw_runtime *runtime = tw_pt();
    return runtime == NULL ? EAGAIN : -tw_thread_create(runtime, thread, attr, start, argument);
}

static inline int tw_pt_join(tw_pt_thread thread, void **value)
{
    return -tw_thread_join(tw_pt(), thread, value);
}

static inline int tw_pt_tryjoin(tw_pt_thread thread, void **value)
{
    return -tw_thread_tryjoin(tw_pt(), thread, value);
}

static inline int tw_pt_detach(tw_pt_thread thread)
{
    return -tw_thread_detach(tw_pt(), thread);
}

static inline int tw_pt_yield(void)
{
    tw_thread_yield();
    return 0;
}

#ifdef __linux__
#ifndef __cplusplus /* C++ has it; with strict C, unistd.h leaves it out. */
extern long syscall(long number, ...);
#endif

/* The kernel gives the main thread the number of the process. */
static inline int tw_pt_kill_main(int signal)
{
    int before = errno, result = 0;
    if (signal == 32 || signal == 33)
        return EINVAL; /* the C library needs these two itself */
    if (syscall(SYS_tgkill, (long)getpid(), (long)getpid(), (long)signal) != 0)
        result = errno;
    errno = before;
    return result;
}
#else
/* The main thread, as the C library knows it. A constructor of the program runs on it. That of a
 * plug-in may run on another thread. */
__attribute__((weak)) pthread_t tw_pt_main;

__attribute__((constructor)) static void tw_pt_is_main(void)
{
#ifdef __APPLE__
    if (!pthread_main_np())
        return;
#endif
    tw_pt_main = pthread_self();
}

static inline int tw_pt_kill_main(int signal)
{
    return pthread_kill(tw_pt_main, signal);
}
#endif

static inline int tw_pt_kill(tw_pt_thread thread, int signal)
{
    if (thread == 0)
        return tw_pt_kill_main(signal);
    if (signal != 0)
        return ENOTSUP;
    /* Nothing here parks, so this only looks for the thread. */
    return -tw_thread_unpark(tw_pt(), thread);
}

static inline int tw_pt_nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest; /* Nothing interrupts the sleep. */
    if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec > 999999999) {
        errno = EINVAL;
        return -1;
    }
    if ((uint64_t)time->tv_sec >= UINT64_MAX / 1000000000)
        tw_thread_sleep(UINT64_MAX);
    else
        tw_thread_sleep((uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec);
    return 0;
}

static inline unsigned tw_pt_sleep(unsigned seconds)
{
    tw_thread_sleep((uint64_t)seconds * 1000000000);
    return 0;
}

static inline int tw_pt_usleep(unsigned long microseconds)
{
    tw_thread_sleep((uint64_t)microseconds * 1000);
    return 0;
}

/* Attributes of mutexes and conditions. An attribute that would have no effect is refused here, and
 * refused again when an object is made with it. */
typedef struct tw_pt_mutexattr {
    int refused;
} tw_pt_mutexattr;

typedef struct tw_pt_condattr {
    int refused;
} tw_pt_condattr;

#define TW_PT_ATTR(kind) \
    static inline int tw_pt_##kind##attr_init(tw_pt_##kind##attr *attr) \
    { \
        attr->refused = 0; \
        return 0; \
    } \
\
    static inline int tw_pt_##kind##attr_destroy(tw_pt_##kind##attr *attr) \
    { \
        (void)attr; \
        return 0; \
    } \
\
    static inline int tw_pt_##kind##attr_setpshared(tw_pt_##kind##attr *attr, int shared) \
    { \
        attr->refused |= shared != PTHREAD_PROCESS_PRIVATE; \
        return shared == PTHREAD_PROCESS_PRIVATE ? 0 : ENOTSUP; \
    }

TW_PT_ATTR(mutex)
TW_PT_ATTR(cond)

/* The types of mutexes, with the numbers that Linux has: pthread.h names some of them only under
 * certain feature macros. */
enum { TW_PT_NORMAL = 0, TW_PT_ERRORCHECK = 2, TW_PT_ADAPTIVE = 3 };

static inline int tw_pt_mutexattr_settype(tw_pt_mutexattr *attr, int type)
{
    int is_here = type == TW_PT_NORMAL || type == TW_PT_ERRORCHECK || type == TW_PT_ADAPTIVE;
    attr->refused |= !is_here;
    return is_here ? 0 : ENOTSUP;
}

/* An object that its first use makes. If several threads make one at once, the first one wins. */
typedef struct tw_pt_mutex {
    tw_mutex *made;
} tw_pt_mutex;

typedef struct tw_pt_cond {
    tw_cond *made;
} tw_pt_cond;

#define TW_PT_MADE(kind) \
    static inline int tw_pt_##kind##_made(tw_pt_##kind *here, tw_##kind **made) \
    { \
        tw_##kind *fresh, *none = NULL; \
        int result; \
        *made = __atomic_load_n(&here->made, __ATOMIC_ACQUIRE); \
        if (*made != NULL) \
            return 0; \
        if ((result = tw_##kind##_create(&fresh)) < 0) \
            return -result; \
        *made = fresh; \
        if (!__atomic_compare_exchange_n(&here->made, &none, fresh, 0, __ATOMIC_ACQ_REL, \
                                         __ATOMIC_ACQUIRE)) { \
            tw_##kind##_destroy(fresh); \
            *made = none; \
        } \
        return 0; \
    } \
\
    static inline int tw_pt_##kind##_init(tw_pt_##kind *here, const tw_pt_##kind##attr *attr) \
    { \
        if (attr != NULL && attr->refused) \
            return ENOTSUP; \
        here->made = NULL; \
        return 0; \
    } \
\
    static inline int tw_pt_##kind##_destroy(tw_pt_##kind *here) \
    { \
        int result = -tw_##kind##_destroy(here->made); \
        if (result == 0) \
            here->made = NULL; \
        return result; \
    }

TW_PT_MADE(mutex)
TW_PT_MADE(cond)

static inline int tw_pt_mutex_lock(tw_pt_mutex *mutex)
{
    tw_mutex *made;
    int result = tw_pt_mutex_made(mutex, &made);
    return result != 0 ? result : -tw_mutex_lock(made);
}

static inline int tw_pt_mutex_trylock(tw_pt_mutex *mutex)
{
    tw_mutex *made;
    int result = tw_pt_mutex_made(mutex, &made);
    return result != 0 ? result : -tw_mutex_trylock(made);
}

static inline int tw_pt_mutex_unlock(tw_pt_mutex *mutex)
{
    tw_mutex *made;
    int result = tw_pt_mutex_made(mutex, &made);
    return result != 0 ? result : -tw_mutex_unlock(made);
}

static inline int tw_pt_cond_wait(tw_pt_cond *cond, tw_pt_mutex *mutex)
{
    tw_cond *made;
    tw_mutex *held;
    int result = tw_pt_cond_made(cond, &made);
    if (result == 0)
        result = tw_pt_mutex_made(mutex, &held);
    return result != 0 ? result : -tw_cond_wait(made, held);
}

static inline int tw_pt_cond_signal(tw_pt_cond *cond)
{
    tw_cond *made;
    int result = tw_pt_cond_made(cond, &made);
    return result != 0 ? result : -tw_cond_signal(made);
}

static inline int tw_pt_cond_broadcast(tw_pt_cond *cond)
{
    tw_cond *made;
    int result = tw_pt_cond_made(cond, &made);
    return result != 0 ? result : -tw_cond_broadcast(made);
}

/* Keys. */
static inline int tw_pt_key_create(tw_key **key, void (*destructor)(void *))
{
    return -tw_key_create(key, destructor);
}

static inline int tw_pt_key_delete(tw_key *key)
{
    return -tw_key_destroy(key);
}

static inline int tw_pt_setspecific(tw_key *key, const void *value)
{
    return -tw_key_set(key, (void *)value);
}

static inline void *tw_pt_getspecific(tw_key *key)
{
    void *value = NULL;
    tw_key_get(key, &value);
    return value;
}

#undef PTHREAD_MUTEX_INITIALIZER
#undef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#undef PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#undef PTHREAD_COND_INITIALIZER
#undef PTHREAD_MUTEX_DEFAULT
#undef PTHREAD_MUTEX_NORMAL
#undef PTHREAD_MUTEX_FAST_NP
#undef PTHREAD_MUTEX_TIMED_NP
#undef PTHREAD_MUTEX_ERRORCHECK
#undef PTHREAD_MUTEX_ERRORCHECK_NP
#undef PTHREAD_MUTEX_ADAPTIVE_NP
#define PTHREAD_MUTEX_INITIALIZER { NULL }
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP { NULL }
#define PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP { NULL }
#define PTHREAD_COND_INITIALIZER { NULL }
#define PTHREAD_MUTEX_DEFAULT TW_PT_NORMAL
#define PTHREAD_MUTEX_NORMAL TW_PT_NORMAL
#define PTHREAD_MUTEX_FAST_NP TW_PT_NORMAL
#define PTHREAD_MUTEX_TIMED_NP TW_PT_NORMAL
#define PTHREAD_MUTEX_ERRORCHECK TW_PT_ERRORCHECK
#define PTHREAD_MUTEX_ERRORCHECK_NP TW_PT_ERRORCHECK
#define PTHREAD_MUTEX_ADAPTIVE_NP TW_PT_ADAPTIVE
#define pthread_t tw_pt_thread
#define pthread_attr_t tw_pt_attr
#define pthread_mutex_t tw_pt_mutex
#define pthread_cond_t tw_pt_cond
#define pthread_key_t tw_key *
#define pthread_attr_init tw_pt_attr_init
#define pthread_attr_destroy tw_pt_attr_destroy
#define pthread_attr_setstacksize tw_pt_attr_setstacksize
#define pthread_attr_setguardsize tw_pt_attr_setguardsize
#define pthread_attr_setdetachstate tw_pt_attr_setdetachstate
#define pthread_create tw_pt_create
#define pthread_kill tw_pt_kill
#define sleep(...) tw_pt_sleep(__VA_ARGS__)
#define usleep(...) tw_pt_usleep(__VA_ARGS__)
#define nanosleep(...) tw_pt_nanosleep(__VA_ARGS__)
#define pthread_join tw_pt_join
#define pthread_tryjoin_np tw_pt_tryjoin
#define pthread_detach tw_pt_detach
#define pthread_self tw_thread_self
#define pthread_equal tw_thread_equal
#define pthread_yield tw_pt_yield
#define sched_yield tw_pt_yield
#define pthread_mutexattr_t tw_pt_mutexattr
#define pthread_condattr_t tw_pt_condattr
#define pthread_mutexattr_init tw_pt_mutexattr_init
#define pthread_mutexattr_destroy tw_pt_mutexattr_destroy
#define pthread_mutexattr_settype tw_pt_mutexattr_settype
#define pthread_mutexattr_setpshared tw_pt_mutexattr_setpshared
#define pthread_condattr_init tw_pt_condattr_init
#define pthread_condattr_destroy tw_pt_condattr_destroy
#define pthread_condattr_setpshared tw_pt_condattr_setpshared
#define pthread_mutex_init tw_pt_mutex_init
#define pthread_mutex_destroy tw_pt_mutex_destroy
#define pthread_mutex_lock tw_pt_mutex_lock
#define pthread_mutex_trylock tw_pt_mutex_trylock
#define pthread_mutex_unlock tw_pt_mutex_unlock
#define pthread_cond_init tw_pt_cond_init
#define pthread_cond_destroy tw_pt_cond_destroy
#define pthread_cond_wait tw_pt_cond_wait
#define pthread_cond_signal tw_pt_cond_signal
#define pthread_cond_broadcast tw_pt_cond_broadcast
#define pthread_key_create tw_pt_key_create
#define pthread_key_delete tw_pt_key_delete
#define pthread_setspecific tw_pt_setspecific
#define pthread_getspecific tw_pt_getspecific

/* What is not here. Any use of such a name, also of its address, is a compile error. */
struct tickwright_pthread {
    char is_empty;
};
#define TW_PT_NO ((struct tickwright_pthread *)0)
#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#undef pthread_cleanup_push_defer_np
#undef pthread_cleanup_pop_restore_np
#undef PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
#undef PTHREAD_MUTEX_RECURSIVE
#undef PTHREAD_MUTEX_RECURSIVE_NP
#undef PTHREAD_MUTEX_ROBUST
#undef PTHREAD_MUTEX_ROBUST_NP
#undef PTHREAD_PROCESS_SHARED
#undef PTHREAD_PRIO_INHERIT
#undef PTHREAD_PRIO_PROTECT
#define PTHREAD_MUTEX_RECURSIVE TW_PT_NO->PTHREAD_MUTEX_RECURSIVE
#define PTHREAD_MUTEX_RECURSIVE_NP TW_PT_NO->PTHREAD_MUTEX_RECURSIVE_NP
#define PTHREAD_MUTEX_ROBUST TW_PT_NO->PTHREAD_MUTEX_ROBUST
#define PTHREAD_MUTEX_ROBUST_NP TW_PT_NO->PTHREAD_MUTEX_ROBUST_NP
#define PTHREAD_PROCESS_SHARED TW_PT_NO->PTHREAD_PROCESS_SHARED
#define PTHREAD_PRIO_INHERIT TW_PT_NO->PTHREAD_PRIO_INHERIT
#define PTHREAD_PRIO_PROTECT TW_PT_NO->PTHREAD_PRIO_PROTECT
#define pthread_mutexattr_gettype TW_PT_NO->pthread_mutexattr_gettype
#define pthread_mutexattr_getpshared TW_PT_NO->pthread_mutexattr_getpshared
#define pthread_mutexattr_setrobust TW_PT_NO->pthread_mutexattr_setrobust
#define pthread_mutexattr_getrobust TW_PT_NO->pthread_mutexattr_getrobust
#define pthread_mutexattr_setprotocol TW_PT_NO->pthread_mutexattr_setprotocol
#define pthread_mutexattr_getprotocol TW_PT_NO->pthread_mutexattr_getprotocol
#define pthread_mutexattr_setprioceiling TW_PT_NO->pthread_mutexattr_setprioceiling
#define pthread_mutexattr_getprioceiling TW_PT_NO->pthread_mutexattr_getprioceiling
#define pthread_condattr_getpshared TW_PT_NO->pthread_condattr_getpshared
#define pthread_condattr_setclock TW_PT_NO->pthread_condattr_setclock
#define pthread_condattr_getclock TW_PT_NO->pthread_condattr_getclock
#define pthread_exit TW_PT_NO->pthread_exit
#define pthread_cancel TW_PT_NO->pthread_cancel
#define pthread_testcancel TW_PT_NO->pthread_testcancel
#define pthread_setcancelstate TW_PT_NO->pthread_setcancelstate
#define pthread_setcanceltype TW_PT_NO->pthread_setcanceltype
#define pthread_cleanup_push TW_PT_NO->pthread_cleanup_push
#define pthread_cleanup_pop TW_PT_NO->pthread_cleanup_pop
#define pthread_cleanup_push_defer_np TW_PT_NO->pthread_cleanup_push_defer_np
#define pthread_cleanup_pop_restore_np TW_PT_NO->pthread_cleanup_pop_restore_np
#define pthread_sigqueue TW_PT_NO->pthread_sigqueue
#define pthread_sigmask TW_PT_NO->pthread_sigmask
#define pthread_timedjoin_np TW_PT_NO->pthread_timedjoin_np
#define pthread_clockjoin_np TW_PT_NO->pthread_clockjoin_np
#define pthread_setname_np TW_PT_NO->pthread_setname_np
#define pthread_getname_np TW_PT_NO->pthread_getname_np
#define pthread_gettid_np TW_PT_NO->pthread_gettid_np
#define pthread_getcpuclockid TW_PT_NO->pthread_getcpuclockid
#define pthread_getattr_np TW_PT_NO->pthread_getattr_np
#define pthread_getattr_default_np TW_PT_NO->pthread_getattr_default_np
#define pthread_setattr_default_np TW_PT_NO->pthread_setattr_default_np
#define pthread_setaffinity_np TW_PT_NO->pthread_setaffinity_np
#define pthread_getaffinity_np TW_PT_NO->pthread_getaffinity_np
#define pthread_setschedparam TW_PT_NO->pthread_setschedparam
#define pthread_getschedparam TW_PT_NO->pthread_getschedparam
#define pthread_setschedprio TW_PT_NO->pthread_setschedprio
#define pthread_setconcurrency TW_PT_NO->pthread_setconcurrency
#define pthread_getconcurrency TW_PT_NO->pthread_getconcurrency
#define pthread_attr_getdetachstate TW_PT_NO->pthread_attr_getdetachstate
#define pthread_attr_getguardsize TW_PT_NO->pthread_attr_getguardsize
#define pthread_attr_getstacksize TW_PT_NO->pthread_attr_getstacksize
#define pthread_attr_getstack TW_PT_NO->pthread_attr_getstack
#define pthread_attr_setstack TW_PT_NO->pthread_attr_setstack
#define pthread_attr_getstackaddr TW_PT_NO->pthread_attr_getstackaddr
#define pthread_attr_setstackaddr TW_PT_NO->pthread_attr_setstackaddr
#define pthread_attr_getinheritsched TW_PT_NO->pthread_attr_getinheritsched
#define pthread_attr_setinheritsched TW_PT_NO->pthread_attr_setinheritsched
#define pthread_attr_getschedparam TW_PT_NO->pthread_attr_getschedparam
#define pthread_attr_setschedparam TW_PT_NO->pthread_attr_setschedparam
#define pthread_attr_getschedpolicy TW_PT_NO->pthread_attr_getschedpolicy
#define pthread_attr_setschedpolicy TW_PT_NO->pthread_attr_setschedpolicy
#define pthread_attr_getscope TW_PT_NO->pthread_attr_getscope
#define pthread_attr_setscope TW_PT_NO->pthread_attr_setscope
#define pthread_attr_getaffinity_np TW_PT_NO->pthread_attr_getaffinity_np
#define pthread_attr_setaffinity_np TW_PT_NO->pthread_attr_setaffinity_np
#define pthread_attr_getsigmask_np TW_PT_NO->pthread_attr_getsigmask_np
#define pthread_attr_setsigmask_np TW_PT_NO->pthread_attr_setsigmask_np
#define pthread_mutex_timedlock TW_PT_NO->pthread_mutex_timedlock
#define pthread_mutex_clocklock TW_PT_NO->pthread_mutex_clocklock
#define pthread_mutex_consistent TW_PT_NO->pthread_mutex_consistent
#define pthread_mutex_getprioceiling TW_PT_NO->pthread_mutex_getprioceiling
#define pthread_mutex_setprioceiling TW_PT_NO->pthread_mutex_setprioceiling
#define pthread_cond_timedwait TW_PT_NO->pthread_cond_timedwait
#define pthread_cond_clockwait TW_PT_NO->pthread_cond_clockwait
#define pthread_once TW_PT_NO->pthread_once
#define pthread_barrier_init TW_PT_NO->pthread_barrier_init
#define pthread_barrier_destroy TW_PT_NO->pthread_barrier_destroy
#define pthread_barrier_wait TW_PT_NO->pthread_barrier_wait
#define pthread_spin_init TW_PT_NO->pthread_spin_init
#define pthread_spin_destroy TW_PT_NO->pthread_spin_destroy
#define pthread_spin_lock TW_PT_NO->pthread_spin_lock
#define pthread_spin_trylock TW_PT_NO->pthread_spin_trylock
#define pthread_spin_unlock TW_PT_NO->pthread_spin_unlock
#define pthread_rwlock_init TW_PT_NO->pthread_rwlock_init
#define pthread_rwlock_destroy TW_PT_NO->pthread_rwlock_destroy
#define pthread_rwlock_rdlock TW_PT_NO->pthread_rwlock_rdlock
#define pthread_rwlock_tryrdlock TW_PT_NO->pthread_rwlock_tryrdlock
#define pthread_rwlock_timedrdlock TW_PT_NO->pthread_rwlock_timedrdlock
#define pthread_rwlock_clockrdlock TW_PT_NO->pthread_rwlock_clockrdlock
#define pthread_rwlock_wrlock TW_PT_NO->pthread_rwlock_wrlock
#define pthread_rwlock_trywrlock TW_PT_NO->pthread_rwlock_trywrlock
#define pthread_rwlock_timedwrlock TW_PT_NO->pthread_rwlock_timedwrlock
#define pthread_rwlock_clockwrlock TW_PT_NO->pthread_rwlock_clockwrlock
#define pthread_rwlock_unlock TW_PT_NO->pthread_rwlock_unlock

#endif
