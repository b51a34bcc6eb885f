/* Memory and threads that run out at a chosen request. The tests are linked statically, with --wrap
 * for each function of ctest/wrapped. So the library's calls of these functions come here. */
#ifndef SUPPLY_H
#define SUPPLY_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

/* A supply of memory or of threads. The library's own threads take from it too. */
struct supply {
    long granted;  /* requests that succeed before one fails; below 0: without limit */
    int once;      /* not 0: one request fails, and later ones succeed */
    int refused;   /* requests that failed */
    int elsewhere; /* of the refused requests, those of other threads than the main one */
};

static struct supply memory = { -1, 0, 0, 0 }, kernel_threads = { -1, 0, 0, 0 };
static pthread_t main_thread;

static int grant(struct supply *from)
{
    long left = READ(from->granted), next;
    do {
        if (left < 0)
            return 1;
        next = left > 0 ? left - 1 : from->once ? -1 : 0;
    } while (!__atomic_compare_exchange_n(&from->granted, &left, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (left > 0)
        return 1;
    COUNT_UP(from->refused);
    if (!pthread_equal(main_thread, pthread_self()))
        COUNT_UP(from->elsewhere);
    return 0;
}

static inline void grant_only(long n)
{
    WRITE(memory.granted, n);
}

static inline void grant_all(void)
{
    WRITE(memory.granted, -1L);
}

#ifdef __cplusplus
extern "C" {
#endif
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **result, size_t alignment, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **result, size_t alignment, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);

void *__wrap_malloc(size_t size) { return grant(&memory) ? __real_malloc(size) : NULL; }
void *__wrap_calloc(size_t count, size_t size) { return grant(&memory) ? __real_calloc(count, size) : NULL; }
void *__wrap_realloc(void *old, size_t size) { return grant(&memory) ? __real_realloc(old, size) : NULL; }
int __wrap_posix_memalign(void **result, size_t alignment, size_t size)
{
    return grant(&memory) ? __real_posix_memalign(result, alignment, size) : ENOMEM;
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    return grant(&kernel_threads) ? __real_pthread_create(thread, attr, start, argument) : EAGAIN;
}
#ifdef __cplusplus
}
#endif

#endif
