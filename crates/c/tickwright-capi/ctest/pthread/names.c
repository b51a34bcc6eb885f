/* The names of pthreads in a program, and (with -DPLUGIN) in a plug-in that a thread loads: both
 * send signals to the same main thread. The argument is the plug-in's file. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The platform's own name, before ours replaces it. */
#include <pthread.h>
static inline pthread_t platforms_self(void)
{
    return pthread_self();
}
static pthread_t platforms_main;
static volatile sig_atomic_t signals, on_main;

#include "tickwright-pthread.h"

int signal_main(int number);

#ifdef PLUGIN
int signal_main(int number)
{
    (void)platforms_self;
    (void)platforms_main;
    (void)signals;
    (void)on_main;
    return pthread_kill(0, number);
}
#else
static void must(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "names: not so: %s\n", what);
        exit(1);
    }
}

static void signaled(int number)
{
    (void)number;
    on_main = platforms_self() == platforms_main;
    signals = signals + 1;
}

static void *loads(void *file)
{
    int (*from_there)(int);
    void *plugin = dlopen((const char *)file, RTLD_NOW);
    must(plugin != NULL, "the plug-in is loaded");
    *(void **)&from_there = dlsym(plugin, "signal_main");
    must(from_there != NULL, "the plug-in has the function");
    must(pthread_kill(pthread_self(), SIGUSR1) == ENOTSUP, "no other thread gets a signal");
    must(from_there(SIGUSR1) == 0, "the plug-in sends a signal");
    must(from_there(33) == EINVAL && from_there(1000) == EINVAL, "these are no signals");
    return NULL;
}

/* The types that are no more than a mutex that checks for errors. */
static void types(void)
{
    static const int HERE[] = { PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP };
    static pthread_mutex_t made[] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
                                      PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP };
    pthread_mutexattr_t attr;
    pthread_mutex_t mutex;
    size_t i;
    for (i = 0; i < sizeof HERE / sizeof *HERE; i++) {
        must(pthread_mutexattr_init(&attr) == 0, "mutexattr_init");
        must(pthread_mutexattr_settype(&attr, HERE[i]) == 0, "the type is here");
        must(pthread_mutex_init(&mutex, &attr) == 0, "mutex_init");
        must(pthread_mutex_lock(&mutex) == 0, "lock");
        must(pthread_mutex_lock(&mutex) == EDEADLK, "it checks for errors");
        must(pthread_mutex_unlock(&mutex) == 0, "unlock");
        must(pthread_mutex_destroy(&mutex) == 0, "destroy");
    }
    must(pthread_mutexattr_settype(&attr, 1) == ENOTSUP, "recursive mutexes are not here");
    must(pthread_mutex_init(&mutex, &attr) == ENOTSUP, "nor made");
    for (i = 0; i < sizeof made / sizeof *made; i++) {
        must(pthread_mutex_lock(&made[i]) == 0, "lock");
        must(pthread_mutex_unlock(&made[i]) == 0, "unlock");
        must(pthread_mutex_destroy(&made[i]) == 0, "destroy");
    }
}

int main(int arguments, char **argument)
{
    pthread_t loader;
    must(arguments == 2, "the argument is the plug-in's file");
    alarm(600);
    types();
    platforms_main = platforms_self();
    signal(SIGUSR1, signaled);
    must(pthread_create(&loader, NULL, loads, argument[1]) == 0, "create");
    must(pthread_join(loader, NULL) == 0, "join");
    while (signals == 0)
        sched_yield();
    must(on_main, "the signal came to the main thread");
    return 0;
}
#endif
