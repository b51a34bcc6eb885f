/* A callback that runs on another thread: cancelled from there, by two at once, and at the end
 * of everything. And drivers: the thread, the descriptor. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct call {
    tw_sched *sched;
    sem_t running, go;
    int again, cleaned, ended;
};

static void clean(void *data)
{
    struct call *call = (struct call *)data;
    COUNT_UP(call->cleaned);
}

static int64_t waits(void *data, const tw_firing *firing)
{
    struct call *call = (struct call *)data;
    (void)firing;
    sem_post(&call->running);
    while (sem_wait(&call->go) != 0)
        continue;
    COUNT_UP(call->ended);
    return call->again;
}

static uint64_t add_waiting(tw_sched *sched, struct call *call, int again)
{
    tw_job job = TW_JOB_INIT;
    uint64_t id = 0;
    memset(call, 0, sizeof *call);
    call->sched = sched;
    call->again = again;
    sem_init(&call->running, 0, 0);
    sem_init(&call->go, 0, 0);
    job.call = waits;
    job.data = call;
    job.cleanup = clean;
    job.token = call;
    CHECK(tw_sched_add_job(sched, &job, &id) > 0);
    return id;
}

static void *runs(void *sched)
{
    while (tw_sched_run((tw_sched *)sched, SIZE_MAX) == 0)
        continue;
    return NULL;
}

static pthread_t runner(tw_sched *sched, struct call *call)
{
    pthread_t thread;
    EQUAL(pthread_create(&thread, NULL, runs, sched), 0);
    while (sem_wait(&call->running) != 0)
        continue;
    return thread;
}

struct canceller {
    tw_sched *sched;
    uint64_t id;
    int answer;
};

static void *cancels(void *data)
{
    struct canceller *canceller = (struct canceller *)data;
    canceller->answer = tw_sched_cancel_sync(canceller->sched, canceller->id);
    return NULL;
}

/* Each form, of a callback that wants to run again and of one that does not. */
static void running_elsewhere(void)
{
    int again;
    for (again = 0; again < 2; again++) {
        tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
        struct call call;
        struct canceller cancellers[3];
        pthread_t threads[3], thread;
        uint64_t id = add_waiting(sched, &call, again);
        int i, suppressed = 0;
        thread = runner(sched, &call);
        EQUAL(tw_sched_cancel_try(sched, id), -EBUSY);
        EQUAL(tw_sched_run(sched, SIZE_MAX), -EBUSY);
        for (i = 0; i < 3; i++) {
            cancellers[i].sched = sched;
            cancellers[i].id = id;
            EQUAL(pthread_create(&threads[i], NULL, cancels, &cancellers[i]), 0);
        }
        EQUAL(READ(call.cleaned), 0);
        sem_post(&call.go);
        for (i = 0; i < 3; i++) {
            EQUAL(pthread_join(threads[i], NULL), 0);
            EQUAL(READ(call.cleaned), 1);
            suppressed += cancellers[i].answer == TW_CANCEL_SUPPRESSED;
            /* A cancel that came late found the timer running again, or gone. */
            CHECK(cancellers[i].answer == TW_CANCEL_FINISHED || cancellers[i].answer == TW_CANCEL_SUPPRESSED ||
                  cancellers[i].answer == TW_CANCEL_REMOVED || cancellers[i].answer == -ENOENT);
        }
        CHECK(suppressed <= again);
        EQUAL(pthread_join(thread, NULL), 0);
        EQUAL(READ(call.cleaned), 1);
        end_sched(sched);

        sched = new_sched(TW_FAMILY_DEFAULT);
        id = add_waiting(sched, &call, again);
        thread = runner(sched, &call);
        EQUAL(tw_sched_cancel_async(sched, id), TW_CANCEL_ENDING);
        EQUAL(tw_sched_cancel_async(sched, id), TW_CANCEL_ENDING);
        EQUAL(tw_sched_arm(sched, id, 0), -ENOENT);
        sem_post(&call.go);
        cancellers[0].answer = tw_sched_shutdown_sync(sched, id);
        CHECK(cancellers[0].answer == (again ? TW_CANCEL_SUPPRESSED : TW_CANCEL_FINISHED) ||
              cancellers[0].answer == -ENOENT);
        EQUAL(READ(call.cleaned), 1);
        EQUAL(pthread_join(thread, NULL), 0);
        EQUAL(READ(call.ended), 1);
        end_sched(sched);
    }
}

/* A destroy waits for the callback, and nothing is armed meanwhile. */
static void *destroys(void *sched)
{
    EQUAL(tw_sched_destroy((tw_sched *)sched), 0);
    return NULL;
}

static int refusals;

static int64_t adds_until_refused(void *data, const tw_firing *firing)
{
    struct call *call = (struct call *)data;
    sem_post(&call->running);
    for (;;) {
        int id = tw_sched_add(firing->sched, 1000, adds_until_refused, data);
        if (id == -ECANCELED)
            break;
        CHECK(id > 0);
        /* The destroy may have ended before this call. */
        CHECK(tw_sched_cancel_try(firing->sched, (uint64_t)id) <= 0);
    }
    EQUAL(tw_sched_destroy(firing->sched), -EDEADLK);
    EQUAL(tw_sched_start_thread(firing->sched, NULL), READ(call->again) ? -EALREADY : -ECANCELED);
    COUNT_UP(refusals);
    return 1;
}

static void destroyed_while_running(int by_thread)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    struct call call, never;
    pthread_t thread, ender;
    uint64_t id = add_waiting(sched, &call, by_thread);
    EQUAL(tw_sched_cancel_try(sched, id), 0);
    CHECK(tw_sched_add(sched, 0, adds_until_refused, &call) > 0);
    add_waiting(sched, &never, 0);
    WRITE(refusals, 0);
    if (by_thread) {
        EQUAL(tw_sched_start_thread(sched, "timers"), 0);
        while (sem_wait(&call.running) != 0)
            continue;
    } else {
        thread = runner(sched, &call);
    }
    EQUAL(pthread_create(&ender, NULL, destroys, sched), 0);
    EQUAL(pthread_join(ender, NULL), 0);
    if (!by_thread)
        EQUAL(pthread_join(thread, NULL), 0);
    EQUAL(READ(refusals), 1);
    EQUAL(READ(never.cleaned), 1);
    EQUAL(READ(never.ended), 0);
}

static int fired;

static int64_t counts(void *data, const tw_firing *firing)
{
    (void)data;
    CHECK(firing->now_ns >= firing->due_ns);
    COUNT_UP(fired);
    return 1;
}

static void thread_of_its_own(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_DEFAULT);
    struct call call;
    uint64_t id;
    int i;
    EQUAL(tw_sched_start_thread(sched, "timers"), 0);
    EQUAL(tw_sched_start_thread(sched, NULL), -EALREADY);
    EQUAL(tw_sched_fd(sched), -EALREADY);
    CHECK(tw_sched_add(sched, 10, counts, NULL) > 0);
    WRITE(fired, 0);
    for (i = 1; i <= 20; i++) {
        advance_ms(sched, 10);
        EQUAL(READ(fired), i); /* it has run when advance returns */
    }
    EQUAL(tw_sched_stop_thread(sched), 0);
    EQUAL(tw_sched_stop_thread(sched), -ENOENT);
    advance_ms(sched, 10);
    EQUAL(READ(fired), 20);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(tw_sched_start_thread(sched, NULL), 0);
    id = add_waiting(sched, &call, 0);
    while (sem_wait(&call.running) != 0)
        continue;
    sem_post(&call.go);
    i = tw_sched_cancel_sync(sched, id);
    CHECK(i == TW_CANCEL_FINISHED || i == -ENOENT);
    EQUAL(READ(call.cleaned), 1);
    EQUAL(tw_sched_destroy(sched), 0);
}

/* The real clock: a thread, and a descriptor in poll. */
static void real_time(void)
{
    tw_sched *sched = NULL;
    struct call call;
    struct pollfd watched;
    EQUAL(create_sched(&sched, TW_FAMILY_WHEEL, TW_CLOCK_REALTIME, 0, 0), 0);
    EQUAL(tw_sched_start_thread(sched, "timers"), 0);
    add_waiting(sched, &call, 0);
    while (sem_wait(&call.running) != 0)
        continue;
    sem_post(&call.go);
    EQUAL(tw_sched_stop_thread(sched), 0);
    EQUAL(READ(call.ended), 1);

    watched.fd = tw_sched_fd(sched);
    if (watched.fd == -ENOTSUP) {
        EQUAL(tw_sched_destroy(sched), 0);
        return;
    }
    CHECK(watched.fd >= 0);
    EQUAL(tw_sched_fd(sched), watched.fd);
    EQUAL(tw_sched_start_thread(sched, NULL), -EALREADY);
    watched.events = POLLIN;
    EQUAL(poll(&watched, 1, 0), 0);
    EQUAL(tw_sched_fd_ack(sched), 0);
    CHECK(tw_sched_add(sched, 3, counts, NULL) > 0);
    WRITE(fired, 0);
    while (READ(fired) < 3) {
        EQUAL(poll(&watched, 1, -1), 1);
        CHECK(tw_sched_fd_ack(sched) >= 0);
        CHECK(tw_sched_run(sched, SIZE_MAX) >= 0);
    }
    EQUAL(tw_sched_destroy(sched), 0);
    sched = new_sched(TW_FAMILY_DEFAULT);
    EQUAL(tw_sched_fd(sched), -ENOTSUP);
    EQUAL(tw_sched_fd_ack(sched), -ENOENT);
    end_sched(sched);
}

/* Everything at once: threads that add, cancel, replace and run; each timer is cleaned up once. */
enum { THREADS = 4, ROUNDS = 2000 };
static long added, cleaned;

static void count_clean(void *data)
{
    (void)data;
    COUNT_UP(cleaned);
}

static int64_t sometimes(void *data, const tw_firing *firing)
{
    (void)data;
    return (int64_t)(firing->id % 3);
}

static void *everything(void *argument)
{
    tw_sched *sched = ((struct canceller *)argument)->sched;
    uint64_t random = ((struct canceller *)argument)->id, ids[16] = { 0 };
    int round;
    for (round = 0; round < ROUNDS; round++) {
        uint64_t *id = &ids[next_random(&random) % 16];
        tw_job job = TW_JOB_INIT;
        int answer = 0;
        job.call = sometimes;
        job.cleanup = count_clean;
        job.timing.when_ns = (int64_t)(next_random(&random) % 50);
        switch (next_random(&random) % 8) {
        case 0:
        case 1:
            answer = tw_sched_add_job(sched, &job, id);
            COUNT_UP(added);
            CHECK(answer > 0);
            break;
        case 2:
            answer = tw_sched_replace_job(sched, *id, &job, NULL, id);
            COUNT_UP(added);
            CHECK(answer > 0);
            break;
        case 3:
            answer = tw_sched_cancel_sync(sched, *id);
            break;
        case 4:
            answer = tw_sched_cancel_async(sched, *id);
            break;
        case 5:
            answer = tw_sched_arm(sched, *id, 0);
            break;
        case 6:
            EQUAL(tw_sched_advance(sched, next_random(&random) % 20), 0);
            break;
        default:
            CHECK(tw_sched_run(sched, 10) >= -EBUSY);
        }
        CHECK(answer >= 0 || answer == -ENOENT);
    }
    return NULL;
}

static void all_at_once(tw_family family, int with_thread)
{
    pthread_t threads[THREADS];
    struct canceller arguments[THREADS];
    tw_sched *sched = new_sched(family);
    int i;
    added = cleaned = 0;
    if (with_thread)
        EQUAL(tw_sched_start_thread(sched, "timers"), 0);
    for (i = 0; i < THREADS; i++) {
        arguments[i].sched = sched;
        arguments[i].id = (uint64_t)i + 1;
        EQUAL(pthread_create(&threads[i], NULL, everything, &arguments[i]), 0);
    }
    for (i = 0; i < THREADS; i++)
        EQUAL(pthread_join(threads[i], NULL), 0);
    end_sched(sched);
    EQUAL(READ(cleaned), READ(added));
}

struct armer {
    tw_sched *sched;
    uint64_t id; /* of the timer to arm, or 0 to add one */
    int64_t delay_ms;
    int result;
};

static int64_t nothing(void *data, const tw_firing *firing)
{
    (void)data, (void)firing;
    return 0;
}

static void *arms(void *data)
{
    struct armer *armer = (struct armer *)data;
    armer->result = armer->id == 0 ? tw_sched_add(armer->sched, armer->delay_ms, nothing, NULL)
                                   : tw_sched_arm(armer->sched, armer->id, armer->delay_ms);
    return NULL;
}

static int arm_elsewhere(tw_sched *sched, uint64_t id, int64_t delay_ms)
{
    struct armer armer;
    pthread_t thread;
    armer.sched = sched;
    armer.id = id;
    armer.delay_ms = delay_ms;
    armer.result = 0;
    EQUAL(pthread_create(&thread, NULL, arms, &armer), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    return armer.result;
}

static void wakes(void *data)
{
    ++*(int *)data;
}

/* A loop sleeps for the time-out, and another thread arms a timer for an earlier time. */
static void loop_that_sleeps(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_HEAP4);
    uint64_t due = 0, slow;
    int woken = 0, added = tw_sched_add(sched, 2000, nothing, NULL);
    CHECK(added > 0);
    slow = (uint64_t)added;
    CHECK(arm_elsewhere(sched, 0, 5) > 0); /* nobody sleeps */
    EQUAL(tw_sched_timeout_ms(sched), 5);
    EQUAL(arm_elsewhere(sched, slow, 4), -ENOTCONN);
    EQUAL(arm_elsewhere(sched, 0, 4), -ENOTCONN);
    EQUAL(tw_sched_when(sched, slow, &due), 1);
    EQUAL(due, 2000 * 1000000); /* as it was */
    CHECK(strstr(tw_strerror(-ENOTCONN), "tw_sched_set_wake") != NULL);
    CHECK(arm_elsewhere(sched, 0, 6) > 0);
    EQUAL(tw_sched_set_wake(sched, wakes, &woken), 0);
    EQUAL(arm_elsewhere(sched, slow, 4), 0);
    EQUAL(woken, 1);
    EQUAL(arm_elsewhere(sched, slow, 3), 0);
    EQUAL(woken, 1); /* the loop is awake, and will look again */
    EQUAL(tw_sched_timeout_ms(sched), 3);
    EQUAL(tw_sched_arm(sched, slow, 2), 0);
    EQUAL(woken, 2); /* the loop's own arm too: the next poll returns at once */
    EQUAL(tw_sched_timeout_ms(sched), 2);
    EQUAL(tw_sched_set_wake(sched, NULL, NULL), 0);
    EQUAL(arm_elsewhere(sched, slow, 1), -ENOTCONN);
    EQUAL(tw_sched_advance(sched, 2000000), 0);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(tw_sched_timeout_ms(sched), 3);
    EQUAL(tw_sched_start_thread(sched, NULL), 0); /* from now on the thread is woken */
    CHECK(arm_elsewhere(sched, 0, 1) > 0);
    end_sched(sched);
}

static void *runs_once(void *sched)
{
    EQUAL(tw_sched_run((tw_sched *)sched, SIZE_MAX), 0);
    return NULL;
}

static void run_elsewhere(tw_sched *sched)
{
    pthread_t thread;
    EQUAL(pthread_create(&thread, NULL, runs_once, sched), 0);
    EQUAL(pthread_join(thread, NULL), 0);
}

/* While a loop sleeps, other threads run the queue. The loop still sleeps after that. */
static void loop_beside_runners(void)
{
    tw_sched *sched = new_sched(TW_FAMILY_HEAP4);
    int woken = 0;
    EQUAL(tw_sched_timeout_ms(sched), -1);
    run_elsewhere(sched);
    EQUAL(arm_elsewhere(sched, 0, 9), -ENOTCONN);
    EQUAL(tw_sched_timeout_ms(sched), -1); /* another thread was the last to run the queue */
    EQUAL(arm_elsewhere(sched, 0, 9), -ENOTCONN);
    EQUAL(tw_sched_start_thread(sched, NULL), 0);
    CHECK(tw_sched_add(sched, 1, nothing, NULL) > 0);
    advance_ms(sched, 1); /* the thread has run the queue */
    EQUAL(tw_sched_stop_thread(sched), 0);
    EQUAL(tw_sched_timeout_ms(sched), -1);
    EQUAL(arm_elsewhere(sched, 0, 9), -ENOTCONN);
    EQUAL(tw_sched_set_wake(sched, wakes, &woken), 0);
    run_elsewhere(sched);
    CHECK(arm_elsewhere(sched, 0, 9) > 0);
    EQUAL(woken, 1);
    EQUAL(tw_sched_timeout_ms(sched), 9);
    run_elsewhere(sched);
    CHECK(arm_elsewhere(sched, 0, 8) > 0);
    EQUAL(woken, 2);
    end_sched(sched);
}

/* A loop asks for its time-out while another thread runs a callback. The callback then asks to run
 * again. */
static void loop_beside_a_callback(int with_function)
{
    tw_sched *sched = new_sched(TW_FAMILY_HEAP4);
    struct call call;
    pthread_t thread;
    int woken = 0;
    add_waiting(sched, &call, 1);
    if (with_function)
        EQUAL(tw_sched_set_wake(sched, wakes, &woken), 0);
    thread = runner(sched, &call);
    EQUAL(tw_sched_timeout_ms(sched), with_function ? -1 : 1);
    sem_post(&call.go);
    EQUAL(pthread_join(thread, NULL), 0);
    EQUAL(woken, with_function);
    EQUAL(tw_sched_timeout_ms(sched), 0);
    end_sched(sched);
}

static void *adds(void *sched)
{
    CHECK(tw_sched_add((tw_sched *)sched, 5, waits, NULL) > 0);
    return NULL;
}

/* A call of a second thread, in a child. With debug assertions (PROFILE=dev) the library names the
 * function and aborts. The first thread may hand the scheduler over to be destroyed. */
static void one_thread(void)
{
    const char *profile = getenv("PROFILE");
    int ends[2], status;
    char said[256];
    ssize_t length;
    pid_t child;
    EQUAL(pipe(ends), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pthread_t thread;
        tw_sched *sched;
        CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
        sched_flags = TW_SCHED_ONE_THREAD;
        sched = new_sched(TW_FAMILY_DEFAULT);
        EQUAL(tw_sched_run(sched, SIZE_MAX), 0);
        EQUAL(pthread_create(&thread, NULL, adds, sched), 0);
        EQUAL(pthread_join(thread, NULL), 0);
        EQUAL(tw_sched_destroy(sched), 0);
        _exit(0);
    }
    close(ends[1]);
    length = read(ends[0], said, sizeof said - 1);
    CHECK(length >= 0);
    said[length] = 0;
    close(ends[0]);
    EQUAL(waitpid(child, &status, 0), child);
    if (profile != NULL && strcmp(profile, "dev") == 0) {
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        CHECK(strstr(said, "tw_sched_add") != NULL && strstr(said, "TW_SCHED_ONE_THREAD") != NULL);
    } else {
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(void)
{
    one_thread();
    loop_that_sleeps();
    loop_beside_runners();
    loop_beside_a_callback(0);
    loop_beside_a_callback(1);
    running_elsewhere();
    destroyed_while_running(0);
    destroyed_while_running(1);
    thread_of_its_own();
    real_time();
    all_at_once(TW_FAMILY_HEAP4, 0);
    all_at_once(TW_FAMILY_WHEEL, 1);
    return 0;
}
