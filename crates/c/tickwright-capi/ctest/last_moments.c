/* Every function about threads works in the destructors of keys, which run last in a thread, and in
 * handlers of exit. After a fork, the thread is the only one of the child, which ends like a
 * process whose last thread returns. Each case runs in a child, so that the test reports a case
 * that aborts or hangs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models.h"

enum { MS = 1000000, NS = 1, PATIENCE = 120 };

/* In place of a model: a thread of pthreads. */
static const tw_model FOREIGN = (tw_model)0;

static pthread_key_t key;
static tw_runtime *threads;
static tw_sched *sched;
static tw_thread left;
static int done, go;

static void *one(void *argument)
{
    return argument;
}

static void *slow(void *argument)
{
    tw_thread_sleep(MS);
    return argument;
}

static void *waits(void *argument)
{
    while (!READ(go))
        tw_thread_yield();
    return argument;
}

static int64_t fire(void *data, const tw_firing *firing)
{
    (void)firing;
    COUNT_UP(*(int *)data);
    return 0;
}

static void looks(void)
{
    uint64_t now = 0;
    void *lowest;
    size_t size;
    CHECK(tw_runtime_len(threads) >= 0);
    EQUAL(tw_runtime_now(threads, &now), 0);
    CHECK(now > 0);
    CHECK(tw_thread_equal(tw_thread_self(), tw_thread_self()));
    tw_thread_stack(&lowest, &size);
    tw_thread_yield();
}

static void sleeps(void)
{
    tw_thread_sleep(MS);
}

static void parks(void)
{
    tw_thread self = tw_thread_self();
    if (self != 0) {
        EQUAL(tw_thread_unpark(threads, self), 0);
        tw_thread_park();
    }
}

static void creates(void)
{
    tw_thread thread;
    EQUAL(tw_thread_create(threads, &thread, NULL, one, NULL), 0);
    EQUAL(tw_thread_detach(threads, thread), 0);
}

static void joins(void)
{
    tw_thread thread;
    void *value = NULL;
    WRITE(go, 0);
    EQUAL(tw_thread_create(threads, &thread, NULL, waits, &key), 0);
    EQUAL(tw_thread_timedjoin(threads, thread, NULL, 0), -ETIMEDOUT);
    WRITE(go, 1);
    EQUAL(tw_thread_join(threads, thread, &value), 0);
    CHECK(value == &key);
}

static void schedules(void)
{
    int fired = 0;
    int64_t id = tw_sched_add(sched, 0, fire, &fired);
    CHECK(id > 0);
    CHECK(tw_sched_run(sched, SIZE_MAX) >= 0);
    id = tw_sched_add(sched, 1000, fire, &fired);
    CHECK(id > 0);
    CHECK(tw_sched_cancel_sync(sched, (uint64_t)id) >= 0);
}

static void (*const DEEDS[])(void) = { looks, sleeps, parks, creates, joins, schedules };
enum { DEED_COUNT = sizeof DEEDS / sizeof *DEEDS };
static void (*deed)(void);

/* Runs three times: a destructor may set its key again, and by then other destructors are over. */
static void key_ends(void *round)
{
    deed();
    COUNT_UP(done);
    if ((uintptr_t)round < 3)
        EQUAL(pthread_setspecific(key, (void *)((uintptr_t)round + 1)), 0);
}

static void *sets_key(void *argument)
{
    EQUAL(pthread_setspecific(key, (void *)1), 0);
    tw_thread_sleep(NS);
    return argument;
}

static void start(tw_model model)
{
    alarm(PATIENCE);
    if (model != FOREIGN)
        EQUAL(create_runtime(&threads, model, 1), 0);
    else
        EQUAL(create_runtime(&threads, TW_MODEL_ONE_TO_ONE, 1), 0);
    EQUAL(create_sched(&sched, TW_FAMILY_HEAP4, TW_CLOCK_MONOTONIC, 0, 0), 0);
}

/* Runs in the destructor of a key of a platform thread. In the M:N model that is a key of the
 * worker, which ends when no thread can be created any more. */
static int in_a_destructor(tw_model model)
{
    tw_thread thread;
    pthread_t foreign;
    start(model);
    EQUAL(pthread_key_create(&key, key_ends), 0);
    if (model == FOREIGN) {
        EQUAL(pthread_create(&foreign, NULL, sets_key, NULL), 0);
        EQUAL(pthread_join(foreign, NULL), 0);
    } else {
        EQUAL(tw_thread_create(threads, &thread, NULL, sets_key, NULL), 0);
        EQUAL(tw_thread_join(threads, thread, NULL), 0);
        if (model == TW_MODEL_MN)
            EQUAL(tw_runtime_destroy(threads), 0);
    }
    while (READ(done) < 3)
        usleep(100);
    if (model != TW_MODEL_MN)
        EQUAL(tw_runtime_destroy(threads), 0);
    EQUAL(tw_sched_destroy(sched), 0);
    return 0;
}

static void exit_handler(void)
{
    deed();
    EQUAL(tw_thread_join(threads, left, NULL), 0);
    EQUAL(tw_runtime_destroy(threads), 0);
    EQUAL(tw_sched_destroy(sched), 0);
    _exit(0);
}

static int in_a_handler(tw_model model)
{
    tw_thread thread;
    start(model);
    EQUAL(atexit(exit_handler), 0);
    EQUAL(tw_thread_create(threads, &thread, NULL, one, NULL), 0);
    EQUAL(tw_thread_join(threads, thread, NULL), 0);
    EQUAL(tw_thread_create(threads, &left, NULL, slow, NULL), 0);
    exit(1); /* The handler ends the process before that. */
}

/* How a child ends whose handler does that. */
static int child(int (*inside)(tw_model), tw_model model)
{
    int status = 0;
    pid_t pid;
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(inside(model));
    EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int ends[2];

static void tell(void)
{
    CHECK(write(ends[1], "h", 1) == 1);
}

static FILE *buffered;

static void *forks(void *argument)
{
    pid_t pid = fork();
    int status = 0;
    CHECK(pid >= 0);
    if (pid == 0) {
        EQUAL(atexit(tell), 0);
        CHECK(tw_thread_self() == 0);
        CHECK(fputs("b", buffered) >= 0);
        return argument;
    }
    EQUAL(waitpid(pid, &status, 0), pid);
    EQUAL(status, 0);
    return argument;
}

/* The child of a thread that forks writes its buffers and runs handlers of exit. */
static int a_thread_forks(tw_model model)
{
    tw_thread thread;
    char told[3] = { 0 };
    start(model);
    EQUAL(pipe(ends), 0);
    buffered = fdopen(dup(ends[1]), "w");
    CHECK(buffered != NULL);
    EQUAL(tw_thread_create(threads, &thread, NULL, forks, NULL), 0);
    EQUAL(tw_thread_join(threads, thread, NULL), 0);
    EQUAL(read(ends[0], told, 2), 2);
    CHECK(strchr(told, 'b') != NULL && strchr(told, 'h') != NULL);
    EQUAL(tw_runtime_destroy(threads), 0);
    return 0;
}

int main(void)
{
    const tw_model MODELS[] = { FOREIGN, TW_MODEL_ONE_TO_ONE, TW_MODEL_MN };
    int models = stacks_may_switch() ? 3 : 2, model, i;
    for (model = 0; model < models; model++) {
        for (i = 0; i < DEED_COUNT; i++) {
            deed = DEEDS[i];
            if (MODELS[model] != TW_MODEL_MN || (deed != looks && deed != creates && deed != joins))
                EQUAL(child(in_a_destructor, MODELS[model]), 0);
            if (MODELS[model] != FOREIGN)
                EQUAL(child(in_a_handler, MODELS[model]), 0);
        }
        /* The child has a copy of the memory of the parent's threads. Tools count that memory as
         * lost in the child. */
        if (MODELS[model] != FOREIGN && stacks_may_switch())
            EQUAL(child(a_thread_forks, MODELS[model]), 0);
    }
    return 0;
}
