/* A few threads start others one after another until a given number has run. The started threads
 * meet at a lock. With -DPLAIN the program compiles with pthread.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef PLAIN
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#else
#include "tickwright-pthread.h"
#endif

enum { TOPS = 3, STARTS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int ran, tops, destructed;
static pthread_t first;
static volatile sig_atomic_t signals;

static void signaled(int number)
{
    (void)number;
    signals = signals + 1;
}

static void must(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s: error %d\n", what, result);
        exit(1);
    }
}

static void destruct(void *value)
{
    must(pthread_mutex_lock(&lock), "lock");
    destructed += *(int *)value;
    must(pthread_mutex_unlock(&lock), "unlock");
}

static void *work(void *argument)
{
    static int one = 1;
    must(pthread_setspecific(key, &one), "setspecific");
    must(pthread_mutex_lock(&lock), "lock");
    ran++;
    must(pthread_mutex_unlock(&lock), "unlock");
    return pthread_getspecific(key) == &one ? argument : NULL;
}

static void *top(void *argument)
{
    struct timespec nap = { 0, 1000 };
    pthread_attr_t attr;
    int i;
    must(pthread_attr_init(&attr), "attr_init");
    must(pthread_attr_setstacksize(&attr, 256 << 10), "attr_setstacksize");
    must(pthread_attr_setguardsize(&attr, 16 << 10), "attr_setguardsize");
    for (i = 0; i < STARTS; i++) {
        pthread_t thread;
        void *value;
        must(pthread_create(&thread, &attr, work, &i), "create");
        must(pthread_join(thread, &value), "join");
        must(value != (void *)&i, "the value of a thread");
    }
    must(pthread_attr_destroy(&attr), "attr_destroy");
    must(pthread_mutex_lock(&lock), "lock");
    tops++;
    must(pthread_cond_signal(&ended), "signal");
    must(pthread_mutex_unlock(&lock), "unlock");
    usleep(1);
    must(nanosleep(&nap, NULL), "nanosleep");
    must(pthread_kill(first, 0), "kill");
    return argument;
}

int main(void)
{
    pthread_attr_t attr;
    pthread_mutexattr_t checks;
    int i;
    first = pthread_self();
    signal(SIGUSR1, signaled);
    must(pthread_kill(first, SIGUSR1), "kill");
    must(signals != 1, "the signal of the main thread");
    must(pthread_mutexattr_init(&checks), "mutexattr_init");
    must(pthread_mutexattr_settype(&checks, PTHREAD_MUTEX_ERRORCHECK), "mutexattr_settype");
    must(pthread_mutex_init(&lock, &checks), "mutex_init");
    must(pthread_mutexattr_destroy(&checks), "mutexattr_destroy");
    must(pthread_key_create(&key, destruct), "key_create");
    must(pthread_attr_init(&attr), "attr_init");
    must(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), "attr_setdetachstate");
    for (i = 0; i < TOPS; i++) {
        pthread_t thread;
        must(pthread_create(&thread, &attr, top, NULL), "create");
    }
    must(pthread_mutex_lock(&lock), "lock");
    while (tops < TOPS)
        must(pthread_cond_wait(&ended, &lock), "wait");
    must(ran != TOPS * STARTS || destructed != ran, "the threads that ran");
    must(pthread_mutex_unlock(&lock), "unlock");
    printf("%d threads\n", ran);
    return 0;
}
