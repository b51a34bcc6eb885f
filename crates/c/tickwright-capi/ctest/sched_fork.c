/* A scheduler in a forked child: whole, without a thread, and with a descriptor of its own. */
#ifndef _GNU_SOURCE /* C++ defines it */
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int ran;

static int64_t counts(void *data, const tw_firing *firing)
{
    (void)firing;
    COUNT_UP(*(int *)data);
    return 0;
}

static int64_t beats(void *data, const tw_firing *firing)
{
    counts(data, firing);
    return 1;
}

static void clean(void *data)
{
    COUNT_UP(*(int *)data);
}

/* Runs a function in a child, which is killed if it hangs. A child that is done reports so, and
 * kills itself. If it exited, valgrind would count its copy of the parent's memory as lost. */
static void in_a_child(const char *what, void (*act)(tw_sched *), tw_sched *sched)
{
    int status, done[2];
    char said;
    pid_t child;
    EQUAL(pipe(done), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        act(sched);
        CHECK(write(done[1], "", 1) == 1);
        raise(SIGKILL);
    }
    close(done[1]);
    while (waitpid(child, &status, 0) != child)
        CHECK(errno == EINTR);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL || read(done[0], &said, 1) != 1) {
        fprintf(stderr, "the child of %s: status %d\n", what, status);
        exit(1);
    }
    close(done[0]);
}

static void destroys(tw_sched *sched)
{
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    EQUAL(tw_sched_destroy(sched), 0);
}

static void stops(tw_sched *sched)
{
    EQUAL(tw_sched_stop_thread(sched), -ENOENT);
    EQUAL(tw_sched_destroy(sched), 0);
}

static void advances(tw_sched *sched)
{
    int before = READ(ran);
    EQUAL(tw_sched_advance(sched, 1000000000), 0);
    EQUAL(READ(ran), before);
    CHECK(tw_sched_run(sched, SIZE_MAX) > 0);
    CHECK(READ(ran) > before);
    EQUAL(tw_sched_destroy(sched), 0);
}

static inline void starts_another(tw_sched *sched)
{
    int before = READ(ran);
    EQUAL(tw_sched_start_thread(sched, "child"), 0);
    EQUAL(tw_sched_start_thread(sched, "child"), -EALREADY);
    EQUAL(tw_sched_advance(sched, 1000000000), 0);
    CHECK(READ(ran) > before);
    EQUAL(tw_sched_stop_thread(sched), 0);
    EQUAL(tw_sched_destroy(sched), 0);
}

static void takes_a_descriptor(tw_sched *sched)
{
    EQUAL(tw_sched_fd(sched), -ENOTSUP);
    EQUAL(tw_sched_destroy(sched), 0);
}

/* The parent's thread is not the child's, on either clock. */
static void with_a_thread(void)
{
    static const struct {
        const char *name;
        void (*act)(tw_sched *);
    } ACTS[] = {
        { "destroy", destroys }, { "stop_thread", stops }, { "advance", advances }, { "fd", takes_a_descriptor },
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer knows no new threads in the child of several */
        { "start_thread", starts_another },
#endif
    };
    for (size_t i = 0; i < sizeof ACTS / sizeof *ACTS; i++) {
        tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
        ran = 0;
        EQUAL(tw_sched_start_thread(sched, "parent"), 0);
        CHECK(tw_sched_add(sched, 1, beats, &ran) > 0);
        in_a_child(ACTS[i].name, ACTS[i].act, sched);
        advance_ms(sched, 1);
        EQUAL(READ(ran), 1);
        end_sched(sched);
    }
    for (int thread = 0; thread < 2; thread++) {
        tw_sched *sched;
        EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_MONOTONIC, 0, 0), 0);
        if (thread)
            EQUAL(tw_sched_start_thread(sched, "parent"), 0);
        CHECK(tw_sched_add(sched, 1, beats, &ran) > 0);
        in_a_child("destroy", destroys, sched);
        end_sched(sched);
    }
}

static struct {
    sem_t running, go;
    int cleaned;
} held;

static int64_t waits(void *data, const tw_firing *firing)
{
    (void)data;
    (void)firing;
    sem_post(&held.running);
    while (sem_wait(&held.go) != 0)
        continue;
    return 1;
}

static uint64_t running_id;

/* The timer whose callback runs on another thread is gone, and the others are there. */
static void finds_it_gone(tw_sched *sched)
{
    tw_sched_counts counts_now = TW_SCHED_COUNTS_INIT;
    int before = READ(ran);
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    EQUAL(tw_sched_find(sched, running_id, NULL), -ENOENT);
    EQUAL(tw_sched_cancel_sync(sched, running_id), -ENOENT);
    EQUAL(tw_sched_get_counts(sched, &counts_now), 0);
    EQUAL(counts_now.timers, 1);
    EQUAL(tw_sched_advance(sched, 1000000000), 0);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(READ(ran), before + 1);
    EQUAL(tw_sched_destroy(sched), 0);
    EQUAL(READ(held.cleaned), 0);
}

static void within_a_callback(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    tw_job job = TW_JOB_INIT;
    sem_init(&held.running, 0, 0);
    sem_init(&held.go, 0, 0);
    job.call = waits;
    job.cleanup = clean;
    job.data = &held.cleaned;
    EQUAL(tw_sched_start_thread(sched, "parent"), 0);
    CHECK(tw_sched_add_job(sched, &job, &running_id) > 0);
    while (sem_wait(&held.running) != 0)
        continue;
    CHECK(tw_sched_add(sched, 500, counts, &ran) > 0);
    in_a_child("a callback of another thread", finds_it_gone, sched);
    EQUAL(tw_sched_cancel_async(sched, running_id), TW_CANCEL_ENDING);
    sem_post(&held.go);
    end_sched(sched);
    EQUAL(READ(held.cleaned), 1);
}

/* A callback that forks: the pass goes on in the child, on the thread that forked. */
static void is_within(tw_sched *sched)
{
    EQUAL(tw_sched_destroy(sched), -EDEADLK);
    EQUAL(tw_sched_run(sched, 1), -EDEADLK);
    EQUAL(tw_sched_cancel_try(sched, running_id), -EBUSY);
    EQUAL(tw_sched_cancel_async(sched, running_id), TW_CANCEL_ENDING);
}

static int64_t forks(void *data, const tw_firing *firing)
{
    running_id = firing->id;
    in_a_child("a callback", is_within, firing->sched);
    return counts(data, firing);
}

static void from_a_callback(void)
{
    for (int thread = 0; thread < 2; thread++) {
        tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
        ran = 0;
        if (thread)
            EQUAL(tw_sched_start_thread(sched, "parent"), 0);
        CHECK(tw_sched_add(sched, 1, forks, &ran) > 0);
        advance_ms(sched, 1);
        if (!thread)
            EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
        EQUAL(READ(ran), 1);
        end_sched(sched);
    }
}

/* A clean-up function forks below a call that uses the scheduler afterwards. The child counts that
 * call, and not a call of another thread. */
static tw_sched *ending;
static sem_t in_cleanup, leave_cleanup;

static void ends_nothing(tw_sched *sched)
{
    EQUAL(tw_sched_destroy(sched), -EBUSY);
}

static void forks_in_cleanup(void *data)
{
    (void)data;
    in_a_child("a clean-up function", ends_nothing, ending);
}

static void stays_in_cleanup(void *data)
{
    (void)data;
    sem_post(&in_cleanup);
    while (sem_wait(&leave_cleanup) != 0)
        continue;
}

static void *shuts_down(void *token)
{
    EQUAL(tw_sched_shutdown_token(ending, token, NULL), 1);
    return NULL;
}

static void from_a_clean_up(void)
{
    pthread_t other;
    tw_job job = TW_JOB_INIT;
    uint64_t id;
    ending = new_sched(TW_FAMILY_DEFAULT);
    sem_init(&in_cleanup, 0, 0);
    sem_init(&leave_cleanup, 0, 0);
    job.call = counts;
    job.data = &ran;
    job.token = &in_cleanup;
    job.cleanup = stays_in_cleanup;
    job.timing.when_ns = 1000000000;
    CHECK(tw_sched_add_job(ending, &job, &id) > 0);
    EQUAL(pthread_create(&other, NULL, shuts_down, &in_cleanup), 0);
    while (sem_wait(&in_cleanup) != 0)
        continue;
    EQUAL(tw_sched_destroy(ending), -EBUSY);
    /* The other thread's call is not in the child. */
    in_a_child("a clean-up function of another thread", destroys, ending);
    job.token = &leave_cleanup;
    job.cleanup = forks_in_cleanup;
    CHECK(tw_sched_add_job(ending, &job, &id) > 0);
    EQUAL(tw_sched_shutdown_token(ending, &leave_cleanup, NULL), 1);
    sem_post(&leave_cleanup);
    EQUAL(pthread_join(other, NULL), 0);
    end_sched(ending);
}

/* Threads that take every lock of the library while this one forks. */
static int stop;

static void *busy(void *sched)
{
    while (!READ(stop)) {
        int id = tw_sched_add((tw_sched *)sched, 1000, beats, &ran);
        CHECK(id > 0);
        tw_sched_timeout_ms((tw_sched *)sched);
        EQUAL(tw_sched_advance((tw_sched *)sched, 1), 0);
        CHECK(tw_sched_cancel_sync((tw_sched *)sched, (uint64_t)id) >= 0);
    }
    return NULL;
}

static void uses(tw_sched *sched)
{
    EQUAL(tw_sched_check(sched, NULL, 0), 0);
    CHECK(tw_sched_add(sched, 1, beats, &ran) > 0);
    EQUAL(tw_sched_advance(sched, 10000000), 0);
    CHECK(tw_sched_run(sched, SIZE_MAX) > 0);
    EQUAL(tw_sched_destroy(sched), 0);
}

static void with_locks_held(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    pthread_t threads[2];
    stop = 0;
    EQUAL(tw_sched_start_thread(sched, "parent"), 0);
    for (size_t i = 0; i < 2; i++)
        EQUAL(pthread_create(&threads[i], NULL, busy, sched), 0);
    for (int round = 0; round < 50; round++)
        in_a_child("locks held by others", uses, sched);
    WRITE(stop, 1);
    for (size_t i = 0; i < 2; i++)
        EQUAL(pthread_join(threads[i], NULL), 0);
    end_sched(sched);
}

#ifdef __linux__
static int descriptor;

static int readable(int fd, int ms)
{
    struct pollfd asked = { fd, POLLIN, 0 };
    int found;
    while ((found = poll(&asked, 1, ms)) < 0)
        CHECK(errno == EINTR);
    return found;
}

static void does_nothing(tw_sched *sched)
{
    (void)sched;
}

static void cancels(tw_sched *sched)
{
    EQUAL(tw_sched_cancel_sync(sched, running_id), TW_CANCEL_REMOVED);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 0);
}

static void adds(tw_sched *sched)
{
    CHECK(tw_sched_add(sched, 0, counts, &ran) > 0);
    EQUAL(tw_sched_fd(sched), descriptor);
    EQUAL(readable(descriptor, -1), 1);
}

static void takes_note(tw_sched *sched)
{
    EQUAL(readable(descriptor, -1), 1);
    EQUAL(tw_sched_fd_ack(sched), 1);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(tw_sched_destroy(sched), 0);
}

/* Calls of the child on its descriptor do not affect that of the parent: after each call the
 * parent's timer runs. */
static void with_a_descriptor(void)
{
    static void (*const ACTS[])(tw_sched *) = { does_nothing, destroys, cancels, adds, takes_note };
    for (size_t i = 0; i < sizeof ACTS / sizeof *ACTS; i++) {
        tw_sched *sched;
        int id, before = READ(ran);
        EQUAL(create_sched(&sched, TW_FAMILY_DEFAULT, TW_CLOCK_MONOTONIC, 0, 0), 0);
        descriptor = tw_sched_fd(sched);
        CHECK(descriptor >= 0);
        id = tw_sched_add(sched, 200, counts, &ran);
        CHECK(id > 0);
        running_id = (uint64_t)id;
        in_a_child("a descriptor", ACTS[i], sched);
        EQUAL(readable(descriptor, 60000), 1);
        EQUAL(tw_sched_fd_ack(sched), 1);
        EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
        EQUAL(READ(ran), before + 1);
        end_sched(sched);
    }
}
#endif

int main(void)
{
    alarm(600);
    with_a_thread();
    within_a_callback();
    from_a_callback();
    from_a_clean_up();
    with_locks_held();
#ifdef __linux__
    with_a_descriptor();
#endif
    return 0;
}
