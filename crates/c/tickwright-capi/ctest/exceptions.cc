// Callbacks and threads throw an exception that their caller would catch. The process must end, so
// that no code uses a queue, heap or scheduler in the middle of a change. Each case runs in a
// process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include "models.h"

struct item {
    int value;
    size_t position;
};

static bool armed;

static int compare(const void *a, const void *b, void *)
{
    if (armed)
        throw 7;
    return static_cast<const item *>(a)->value - static_cast<const item *>(b)->value;
}

static void fire(const tw_expired *, void *)
{
    throw 7;
}

static uint64_t rearm(tw_timer *, uint64_t, void *)
{
    throw 7;
}

static int64_t run(void *, const tw_firing *)
{
    throw 7;
}

static int64_t ends(void *, const tw_firing *)
{
    return 0;
}

static void cleanup(void *)
{
    throw 7;
}

static void of_a_queue(int which, tw_family family)
{
    static char memory[TW_WHEEL_BYTES];
    tw_queue *queue;
    tw_timer timer = TW_TIMER_INIT;
    EQUAL(tw_queue_init(&queue, memory, sizeof memory, family, 3), 0);
    EQUAL(tw_queue_insert(queue, &timer, 1), 1);
    if (which == 0)
        tw_queue_advance(queue, 5, 9, fire, nullptr, nullptr);
    else
        tw_queue_pop_and_reinsert(queue, 5, rearm, nullptr, nullptr);
}

static void of_a_heap(int which, tw_family)
{
    tw_heap *heap;
    item items[] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 } };
    void *popped;
    EQUAL(tw_heap_create(&heap, 4, compare, nullptr, offsetof(item, position)), 0);
    for (int i = 0; i < 3; i++)
        EQUAL(tw_heap_push(heap, &items[i]), 0);
    armed = true;
    switch (which) {
    case 0: tw_heap_push(heap, &items[3]); break;
    case 1: tw_heap_pop(heap, &popped); break;
    case 2: tw_heap_check(heap, nullptr, 0); break;
    case 3: tw_heap_remove(heap, &items[2]); break;
    case 4: tw_heap_update(heap, &items[2]); break;
    }
}

static void of_a_scheduler(int which, tw_family family)
{
    tw_sched *sched = nullptr;
    tw_job job = TW_JOB_INIT;
    uint64_t id;
    EQUAL(create_sched(&sched, family, TW_CLOCK_VIRTUAL, 0, 0), 0);
    job.call = which < 2 ? run : ends;
    job.cleanup = which < 2 ? nullptr : cleanup;
    job.token = &job;
    CHECK(tw_sched_add_job(sched, &job, &id) > 0);
    EQUAL(tw_sched_advance(sched, 2000000), 0);
    switch (which) {
    case 0: tw_sched_run(sched, SIZE_MAX); break;
    case 1: /* on the scheduler's thread, where no function of this test is above it */
        EQUAL(tw_sched_start_thread(sched, nullptr), 0);
        tw_sched_advance(sched, 1);
        tw_sched_destroy(sched);
        break;
    case 2: tw_sched_run(sched, SIZE_MAX); break;
    case 3: tw_sched_cancel_sync(sched, id); break;
    case 4: tw_sched_shutdown_token(sched, &job, nullptr); break;
    case 5: tw_sched_replace_job(sched, id, &job, nullptr, nullptr); break;
    case 6: tw_sched_destroy(sched); break;
    case 7: /* the same on the scheduler's thread */
        EQUAL(tw_sched_start_thread(sched, nullptr), 0);
        tw_sched_advance(sched, 1);
        tw_sched_destroy(sched);
        break;
    }
}

static void *body(void *)
{
    throw 7;
}

// The function of a thread may run on a stack of the library; the case is the model.
static void of_a_thread(int which, tw_family)
{
    tw_runtime *threads = nullptr;
    tw_thread thread;
    EQUAL(create_runtime(&threads, static_cast<tw_model>(TW_MODEL_ONE_TO_ONE + which), TW_DEFAULT), 0);
    EQUAL(tw_thread_create(threads, &thread, nullptr, body, nullptr), 0);
    tw_thread_join(threads, thread, nullptr);
}

static bool all_end(const char *name, void (*leave)(int, tw_family), int cases, int families)
{
    bool fine = true;
    for (int which = 0; which < cases; which++) {
        for (int i = 0; i < families; i++) {
            int status = 0;
            pid_t child = fork();
            CHECK(child >= 0);
            if (child == 0) {
                if (freopen("/dev/null", "w", stderr) == nullptr)
                    _exit(3);
                try {
                    leave(which, FAMILIES[i]);
                } catch (int) {
                    _exit(1);
                }
                _exit(2);
            }
            CHECK(waitpid(child, &status, 0) == child);
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
                const char *what = WEXITSTATUS(status) == 1 ? "came through" : "was swallowed";
                fprintf(stderr, "%s, case %d, family %d: the exception %s (%d)\n", name, which, FAMILIES[i], what, status);
                fine = false;
            }
        }
    }
    return fine;
}

int main()
{
    bool queues = all_end("queue", of_a_queue, 2, FAMILY_COUNT);
    bool heaps = all_end("heap", of_a_heap, 5, 1);
    bool schedulers = all_end("scheduler", of_a_scheduler, 8, FAMILY_COUNT);
    bool threads = all_end("thread", of_a_thread, 2, 1);
    return queues && heaps && schedulers && threads ? 0 : 1;
}
