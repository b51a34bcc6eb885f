/* The pthread functions, implemented with Tickwright's threads, for programs like glibc's
 * nptl/perf.c. Include this file in place of pthread.h, after all other headers. C11 or C++11.
 * TICKWRIGHT_MODEL in the environment chooses the model: one-to-one (the default), mn or manager.
 *
 * What is here: threads (create, join, tryjoin, detach, self, equal, yield), their attributes
 * (stack, guard, detach state), mutexes, conditions, and keys with one destructor.
 *
 * What is different:
 *
 *   pthread_exit, cancellation, signals, scheduling, barriers, rwlocks, once: not here.
 *   an id              is a number of 64 bits, and stale for ever when its thread is gone.
 *   a mutex            is allocated by its first use, and is never recursive. Locking it twice
 *                      gives EDEADLK. PTHREAD_MUTEX_INITIALIZER works; attributes are ignored.
 *   timed waits        are not here: their clocks are the caller's.
 *   a wait in another function than these stops the worker of an M:N thread.
 *   the end of main    ends the process at once, as with pthreads.
 *   no memory          for a mutex or condition that is used the first time gives ENOMEM.
 */
#ifndef TICKWRIGHT_PTHREAD_H
#define TICKWRIGHT_PTHREAD_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwright/thread.h>

/* The runtime of the process, made by the first use; one for all files. */
__attribute__((weak)) tw_runtime *tw_pt_runtime;
__attribute__((weak)) pthread_once_t tw_pt_once = PTHREAD_ONCE_INIT;

static inline void tw_pt_start(void)
{
    const char *name = getenv("TICKWRIGHT_MODEL");
    tw_model model = TW_MODEL_ONE_TO_ONE;
    if (name != NULL && strcmp(name, "mn") == 0)
        model = TW_MODEL_MN;
    else if (name != NULL && strcmp(name, "manager") == 0)
        model = TW_MODEL_MANAGER;
    else if (name != NULL && strcmp(name, "one-to-one") != 0)
        fprintf(stderr, "TICKWRIGHT_MODEL=%s is no model: one-to-one, mn or manager\n", name);
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

/* What is made by its first use: of several threads that make one, the first wins. */
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
    static inline int tw_pt_##kind##_init(tw_pt_##kind *here, const void *attr) \
    { \
        (void)attr; \
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
#undef PTHREAD_COND_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER { NULL }
#define PTHREAD_COND_INITIALIZER { NULL }
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
#define pthread_join tw_pt_join
#define pthread_tryjoin_np tw_pt_tryjoin
#define pthread_detach tw_pt_detach
#define pthread_self tw_thread_self
#define pthread_equal tw_thread_equal
#define pthread_yield tw_pt_yield
#define sched_yield tw_pt_yield
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

#endif
