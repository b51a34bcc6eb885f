/* Descriptors and kernel threads run out. A call that needs one returns its error, and leaves
 * nothing behind. It succeeds once there is one. */
#define REFUSALS \
    { "tw_sched_fd", EMFILE }, \
    { "tw_sched_fd_ack", EMFILE }, \
    { "tw_sched_start_thread", EAGAIN }, \
    { "tw_thread_create", EAGAIN }, \
    { "tw_thread_wait_readable", EMFILE }, \
    { "tw_thread_wait_writable", EMFILE }
#include "refusals.h"

#include <dirent.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "models.h"

static int64_t count_one(void *data, const tw_firing *firing)
{
    (void)firing;
    COUNT_UP(*(int *)data);
    return 0;
}

/* The number of open descriptors, beside the one that this opens. */
static int open_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int count = -3; /* ".", ".." and its own */
    CHECK(all != NULL);
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

/* Leaves `n` descriptors to open. Below 0 the bound is as it was at first. */
static void leave_descriptors(int n)
{
    static rlim_t first;
    struct rlimit bound;
    int lowest = dup(STDERR_FILENO);
    EQUAL(getrlimit(RLIMIT_NOFILE, &bound), 0);
    if (first == 0)
        first = bound.rlim_cur;
    if (lowest >= 0)
        close(lowest);
    CHECK(n < 0 || lowest > 0);
    bound.rlim_cur = n < 0 ? first : (rlim_t)(lowest + n);
    EQUAL(setrlimit(RLIMIT_NOFILE, &bound), 0);
}

/* Makes a call with no descriptor left, then with one, and so on until it succeeds. A refused call
 * leaves no descriptor open. */
static int with_each_descriptor(const char *name, int (*call)(void *), void *argument)
{
    int n, result = -1;
    for (n = 0; result < 0; n++) {
        int before = open_descriptors();
        CHECK(n < 20);
        leave_descriptors(n);
        result = noted(name, call(argument));
        leave_descriptors(-1);
        if (result < 0) {
            EQUAL(result, -EMFILE);
            EQUAL(open_descriptors(), before);
        }
    }
    return n - 1;
}

static int descriptor(void *sched)
{
    return tw_sched_fd((tw_sched *)sched);
}

static int is_readable(int fd)
{
    struct pollfd ask = { fd, POLLIN, 0 };
    return poll(&ask, 1, 10000);
}

/* The descriptor of a scheduler. */
static void event_loops(void)
{
    tw_sched *sched = NULL;
    int fd, ran = 0;
    EQUAL(tw_sched_create(&sched, NULL), 0);
    CHECK(tw_sched_add(sched, 1, count_one, &ran) > 0);
    leave_descriptors(0);
    EQUAL(tw_sched_fd(sched), -EMFILE);
    EQUAL(tw_sched_fd_ack(sched), -ENOENT);
    leave_descriptors(-1);
    EQUAL(with_each_descriptor("tw_sched_fd", descriptor, sched), 1);
    fd = tw_sched_fd(sched);
    EQUAL(is_readable(fd), 1);
    EQUAL(tw_sched_fd_ack(sched), 1);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(ran, 1);
    end_sched(sched);
}

static int acknowledge(void *argument)
{
    tw_sched *sched = (tw_sched *)argument;
    int result = tw_sched_fd_ack(sched);
    if (result == 1)
        CHECK(tw_sched_run(sched, SIZE_MAX) >= 0);
    return result;
}

/* A forked child makes the descriptor its own. Without a descriptor to spare it cannot, and says so
 * until it can. */
static void forked_loops(void)
{
    tw_sched *sched = NULL;
    int fd, status, ran = 0;
    pid_t child;
    EQUAL(tw_sched_create(&sched, NULL), 0);
    CHECK(tw_sched_add(sched, 1, count_one, &ran) > 0);
    fd = tw_sched_fd(sched);
    CHECK(fd >= 0);
    leave_descriptors(0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        EQUAL(tw_sched_fd(sched), fd);
        leave_descriptors(-1);
        EQUAL(with_each_descriptor("tw_sched_fd_ack", acknowledge, sched), 1);
        while (ran == 0) {
            EQUAL(is_readable(fd), 1);
            EQUAL(acknowledge(sched), 1);
        }
        EQUAL(ran, 1);
        end_sched(sched);
        _exit(0);
    }
    leave_descriptors(-1);
    CHECK(waitpid(child, &status, 0) == child);
    EQUAL(status, 0);
    /* The parent's descriptor is as it was. */
    EQUAL(is_readable(fd), 1);
    EQUAL(tw_sched_fd_ack(sched), 1);
    EQUAL(tw_sched_run(sched, SIZE_MAX), 1);
    EQUAL(ran, 1);
    end_sched(sched);
}

/* The thread of a scheduler. */
static void driver_threads(void)
{
    tw_sched *sched = NULL;
    int ran = 0;
    EQUAL(tw_sched_create(&sched, NULL), 0);
    CHECK(tw_sched_add(sched, 1, count_one, &ran) > 0);
    WRITE(kernel_threads.granted, 0L);
    EQUAL(noted("tw_sched_start_thread", tw_sched_start_thread(sched, "timers")), -EAGAIN);
    EQUAL(tw_sched_stop_thread(sched), -ENOENT);
    CHECK(tw_sched_timeout_ms(sched) >= 0); /* the program's own loop still works */
    WRITE(kernel_threads.granted, -1L);
    EQUAL(tw_sched_start_thread(sched, "timers"), 0);
    while (READ(ran) == 0)
        poll(NULL, 0, 1);
    EQUAL(tw_sched_stop_thread(sched), 0);
    end_sched(sched);
}

static void *same(void *argument)
{
    return argument;
}

/* A thread of each model. An M:N thread needs no kernel thread of its own. */
static void threads(tw_runtime *runtime, tw_model model)
{
    tw_thread thread = 0;
    void *value = NULL;
    int result;
    WRITE(kernel_threads.granted, 0L);
    result = noted("tw_thread_create", tw_thread_create(runtime, &thread, NULL, same, &thread));
    WRITE(kernel_threads.granted, -1L);
    EQUAL(result, model == TW_MODEL_MN ? 0 : -EAGAIN);
    EQUAL(thread == 0, result != 0);
    if (result != 0) {
        EQUAL(tw_runtime_len(runtime), 0);
        EQUAL(tw_thread_create(runtime, &thread, NULL, same, &thread), 0);
    }
    EQUAL(tw_thread_join(runtime, thread, &value), 0);
    CHECK(value == &thread);
}

struct making {
    tw_runtime *runtime;
    tw_model model;
};

static int make_runtime(void *argument)
{
    struct making *making = (struct making *)argument;
    int result = create_runtime(&making->runtime, making->model, making->model == TW_MODEL_MN ? 2 : TW_DEFAULT);
    EQUAL(making->runtime == NULL, result != 0);
    return result;
}

/* Runtimes start without a descriptor. */
static void runtimes(void)
{
    static const tw_model MODELS[] = { TW_MODEL_ONE_TO_ONE, TW_MODEL_MN };
    int i;
    for (i = 0; i < (stacks_may_switch() ? 2 : 1); i++) {
        struct making making = { NULL, MODELS[i] };
        EQUAL(with_each_descriptor("tw_runtime_create", make_runtime, &making), 0);
        EQUAL(tw_runtime_destroy(making.runtime), 0);
    }
}

static int ends[2];

static int wait_readable(void *argument)
{
    (void)argument;
    return tw_thread_wait_readable(ends[0]);
}

static int wait_writable(void *argument)
{
    (void)argument;
    return tw_thread_wait_writable(ends[1]);
}

static void *waits(void *writes)
{
    return (void *)(intptr_t)(writes != NULL ? with_each_descriptor("tw_thread_wait_writable", wait_writable, NULL)
                                             : with_each_descriptor("tw_thread_wait_readable", wait_readable, NULL));
}

/* The first wait of an M:N worker takes descriptors, in several steps. No other wait does. */
static void descriptor_waits(int writes)
{
    static const tw_model MODELS[] = { TW_MODEL_ONE_TO_ONE, TW_MODEL_MN };
    int i, again;
    EQUAL(pipe(ends), 0);
    CHECK(write(ends[1], "x", 1) == 1);
    for (i = 0; i < (stacks_may_switch() ? 2 : 1); i++) {
        tw_runtime *runtime = NULL;
        EQUAL(create_runtime(&runtime, MODELS[i], MODELS[i] == TW_MODEL_MN ? 1 : TW_DEFAULT), 0);
        for (again = 0; again < 2; again++) {
            tw_thread thread;
            void *refused = NULL;
            EQUAL(tw_thread_create(runtime, &thread, NULL, waits, writes ? &ends : NULL), 0);
            EQUAL(tw_thread_join(runtime, thread, &refused), 0);
            EQUAL((intptr_t)refused > 0, MODELS[i] == TW_MODEL_MN && !again);
        }
        EQUAL(tw_runtime_destroy(runtime), 0);
    }
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    int inherited;
    /* The limit leaves n free descriptors only if no higher one is open. */
    for (inherited = STDERR_FILENO + 1; inherited < 64; inherited++)
        close(inherited);
    driver_threads();
    in_each_model("no_descriptors", threads);
    if (under_valgrind())
        return 0; /* it keeps descriptors of its own, and refuses a bound below them */
    event_loops();
    forked_loops();
    runtimes();
    descriptor_waits(0);
    descriptor_waits(1);
    each_refusal_came(stacks_may_switch() ? NULL : "tw_thread_wait_");
    return 0;
}
