/* Threads: for null pointers, nonsense, values out of range and ended objects, each call returns an
 * error. */
#include <sys/wait.h>
#include <unistd.h>

#include "models.h"

static void *nothing(void *argument)
{
    return argument;
}

static void no_threads(tw_runtime *threads)
{
    tw_thread thread = 77;
    uint64_t now = 77;
    void *value = &now;
    EQUAL(tw_thread_create(threads, &thread, NULL, nothing, NULL), -EINVAL);
    EQUAL(tw_thread_join(threads, 1, &value), -EINVAL);
    EQUAL(tw_thread_tryjoin(threads, 1, &value), -EINVAL);
    EQUAL(tw_thread_timedjoin(threads, 1, &value, 0), -EINVAL);
    EQUAL(tw_thread_detach(threads, 1), -EINVAL);
    EQUAL(tw_thread_unpark(threads, 1), -EINVAL);
    EQUAL(tw_runtime_now(threads, &now), -EINVAL);
    EQUAL(tw_runtime_len(threads), -EINVAL);
    CHECK(thread == 77 && now == 77 && value == &now);
}

static void making(void)
{
    static const int NONE[] = { 0, -1, 4, INT32_MAX };
    static const size_t TOO[] = { 0, 256, 100000, TW_DEFAULT - 1 };
    tw_runtime *threads = (tw_runtime *)&threads;
    size_t i;
    EQUAL(create_runtime(NULL, TW_MODEL_ONE_TO_ONE, 1), -EINVAL);
    for (i = 0; i < sizeof NONE / sizeof *NONE; i++) {
        EQUAL(create_runtime(&threads, (tw_model)NONE[i], 1), -EINVAL);
        CHECK(threads == NULL);
    }
    for (i = 0; i < sizeof TOO / sizeof *TOO; i++) {
        EQUAL(create_runtime(&threads, TW_MODEL_MN, TOO[i]), -EINVAL);
        CHECK(threads == NULL);
    }
    EQUAL(tw_runtime_destroy(NULL), 0);
}

static void *stack_size(void *argument)
{
    void *lowest;
    return tw_thread_stack(&lowest, (size_t *)argument) ? argument : NULL;
}

/* A runtime's own sizes are those of threads that ask for no other. */
static void sizes(void)
{
    static const tw_model MODELS[] = { TW_MODEL_ONE_TO_ONE, TW_MODEL_MN };
    static const size_t SIZES[] = { 0, 16383, ((size_t)1 << 30) + 1, TW_DEFAULT - 1 };
    size_t i, k, models = stacks_may_switch() ? 2 : 1;
    tw_runtime_options attr;
    tw_runtime *threads = NULL;
    EQUAL(tw_runtime_options_init(NULL, sizeof(tw_runtime_options)), -EINVAL);
    EQUAL(tw_runtime_create(NULL, TW_MODEL_ONE_TO_ONE, NULL), -EINVAL);
    EQUAL(tw_runtime_create(&threads, (tw_model)0, NULL), -EINVAL);
    EQUAL(tw_runtime_create(&threads, TW_MODEL_MANAGER, NULL), -ENOTSUP);
    CHECK(strstr(tw_strerror(-ENOTSUP), "another model") != NULL);
    CHECK(threads == NULL);
    for (i = 0; i < models; i++) {
        tw_thread thread;
        size_t size = 0;
        for (k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
            EQUAL(tw_runtime_options_init(&attr, sizeof attr), 0);
            attr.stack_size = SIZES[k];
            threads = (tw_runtime *)&threads;
            EQUAL(tw_runtime_create(&threads, MODELS[i], &attr), -EINVAL);
            CHECK(threads == NULL);
        }
        EQUAL(tw_runtime_options_init(&attr, sizeof attr), 0);
        attr.guard_size = ((size_t)1 << 20) + 1;
        EQUAL(tw_runtime_create(&threads, MODELS[i], &attr), -EINVAL);
        EQUAL(tw_runtime_create(&threads, MODELS[i], (tw_runtime_options *)((char *)&attr + 1)), -EINVAL);
        EQUAL(tw_runtime_create(&threads, MODELS[i], NULL), 0);
        EQUAL(tw_runtime_destroy(threads), 0);
#ifdef __SANITIZE_THREAD__
        /* ThreadSanitizer needs larger stacks than these, and gives more than was asked for. */
        if (size == 0)
            continue;
#endif
        attr.workers = 1;
        attr.stack_size = 320 << 10;
        attr.guard_size = 128 << 10;
        attr.kept_stacks = 2;
        EQUAL(tw_runtime_create(&threads, MODELS[i], &attr), 0);
        EQUAL(tw_thread_create(threads, &thread, NULL, stack_size, &size), 0);
        EQUAL(tw_thread_join(threads, thread, NULL), 0);
        CHECK(size == 0 || (size >= 320 << 10 && size <= 640 << 10));
        EQUAL(tw_runtime_destroy(threads), 0);
    }
}

static void arguments(tw_runtime *threads, tw_model model)
{
    static const size_t STACKS[] = { 0, 1, 16383, ((size_t)1 << 30) + 1, TW_DEFAULT - 1 };
    static const uint64_t IDS[] = { 0, 1, UINT32_MAX, (uint64_t)1 << 32, ((uint64_t)1 << 32) + 5, UINT64_MAX };
    static const char BAD[] = { (char)0xff, (char)0xfe, 0 };
    char name[257];
    tw_thread thread = 77;
    tw_thread_options attr;
    size_t i;
    (void)model;
    EQUAL(tw_thread_options_init(NULL, sizeof(tw_thread_options)), -EINVAL);
    EQUAL(tw_thread_options_init(&attr, sizeof attr), 0);
    EQUAL(tw_thread_create(threads, &thread, &attr, NULL, NULL), -EINVAL);
    for (i = 0; i < sizeof STACKS / sizeof *STACKS; i++) {
        attr.stack_size = STACKS[i];
        EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), -EINVAL);
    }
    attr.stack_size = TW_DEFAULT;
    attr.guard_size = TW_DEFAULT - 1;
    EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), -EINVAL);
    attr.guard_size = ((size_t)1 << 20) + 1;
    EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), -EINVAL);
    attr.guard_size = TW_DEFAULT;
    memset(name, 'x', sizeof name);
    name[256] = 0;
    attr.name = name;
    EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), -EINVAL);
    attr.name = BAD;
    EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), -EINVAL);
    EQUAL(thread, 77);
    EQUAL(tw_runtime_len(threads), 0);
    name[255] = 0;
    attr.name = name;
    EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), 0);
    /* If a join cannot write the result, the thread stays joinable. */
    EQUAL(tw_thread_join(threads, thread, (void **)(void *)((char *)&thread + 1)), -EINVAL);
    EQUAL(tw_thread_create(threads, (tw_thread *)(void *)((char *)&thread + 1), &attr, nothing, NULL), -EINVAL);
    EQUAL(tw_thread_stack((void **)(void *)((char *)&thread + 1), NULL), -EINVAL);
    EQUAL(tw_thread_stack(NULL, (size_t *)(void *)((char *)&thread + 1)), -EINVAL);
    EQUAL(tw_thread_join(threads, thread, NULL), 0);
    EQUAL(tw_runtime_len(threads), 0);
    attr.flags = 1;
    EQUAL(tw_thread_create(threads, &thread, &attr, nothing, NULL), -E2BIG);
    attr.flags = 0;
    /* The caller wants no result. */
    attr.detached = -1;
    EQUAL(tw_thread_create(threads, NULL, &attr, nothing, NULL), 0);
    EQUAL(tw_runtime_now(threads, NULL), 0);
    for (i = 0; i < sizeof IDS / sizeof *IDS; i++) {
        /* The record of the first thread may be in use by the detached one; no other. */
        if (IDS[i] >> 32 == 1)
            continue;
        EQUAL(tw_thread_join(threads, IDS[i], NULL), -ESRCH);
        EQUAL(tw_thread_tryjoin(threads, IDS[i], NULL), -ESRCH);
        EQUAL(tw_thread_timedjoin(threads, IDS[i], NULL, UINT64_MAX), -ESRCH);
        EQUAL(tw_thread_detach(threads, IDS[i]), -ESRCH);
        EQUAL(tw_thread_unpark(threads, IDS[i]), -ESRCH);
    }
}

static int door;
static tw_runtime *runtime;

static void *waits(void *argument)
{
    while (!READ(door))
        tw_thread_yield();
    return argument;
}

static void *joins(void *argument)
{
    void *value = NULL;
    tw_thread thread = *(tw_thread *)argument;
    return tw_thread_join(READ(runtime), thread, &value) == 0 ? value : NULL;
}

/* Two threads cannot join the same thread. */
static void joined_twice(tw_runtime *threads, tw_model model)
{
    tw_thread thread, first;
    void *value = NULL;
    (void)model;
    WRITE(runtime, threads);
    WRITE(door, 0);
    EQUAL(tw_thread_create(threads, &thread, NULL, waits, &door), 0);
    EQUAL(tw_thread_create(threads, &first, NULL, joins, &thread), 0);
    while (tw_thread_tryjoin(threads, thread, NULL) == -EBUSY)
        tw_thread_yield();
    EQUAL(tw_thread_join(threads, thread, NULL), -EINVAL);
    EQUAL(tw_thread_timedjoin(threads, thread, NULL, 0), -EINVAL);
    EQUAL(tw_thread_detach(threads, thread), -EINVAL);
    WRITE(door, 1);
    EQUAL(tw_thread_join(threads, first, &value), 0);
    CHECK(value == &door);
    EQUAL(tw_thread_join(threads, thread, NULL), -ESRCH);
}

/* On a thread that no runtime has created, the functions use those of the platform. */
static void outside(void)
{
    uint64_t before = 0, after = 0;
    tw_runtime *threads = NULL;
    EQUAL(tw_thread_self(), 0);
    EQUAL(tw_thread_stack(NULL, NULL), 0);
    EQUAL(tw_thread_equal(1, 1), 1);
    EQUAL(tw_thread_equal(1, 2), 0);
    tw_thread_yield();
    EQUAL(create_runtime(&threads, TW_MODEL_ONE_TO_ONE, 0), 0);
    EQUAL(tw_runtime_now(threads, &before), 0);
    tw_thread_sleep(1000);
    EQUAL(tw_runtime_now(threads, &after), 0);
    CHECK(after - before >= 1000);
    EQUAL(tw_runtime_destroy(threads), 0);
}

static void forked(tw_runtime *threads, tw_model model)
{
    tw_thread thread;
    pid_t child;
    int status;
    (void)model;
    WRITE(door, 0);
    EQUAL(tw_thread_create(threads, &thread, NULL, waits, &door), 0);
    child = fork();
    if (child == 0) {
        int right = tw_thread_create(threads, NULL, NULL, nothing, NULL) == -ECANCELED
            && tw_thread_join(threads, thread, NULL) == -ESRCH && tw_runtime_len(threads) == 0;
        _exit(right && tw_runtime_destroy(threads) == 0 ? 7 : 1);
    }
    CHECK(child > 0);
    EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    EQUAL(WEXITSTATUS(status), 7);
    WRITE(door, 1);
    EQUAL(tw_thread_join(threads, thread, NULL), 0);
}

int main(void)
{
    /* Memory that is none: zeros, and what looks like something. */
    union { uint64_t words[64]; char bytes[512]; } memory;
    memset(&memory, 0, sizeof memory);
    no_threads(NULL);
    no_threads((tw_runtime *)(void *)&memory);
    no_threads((tw_runtime *)(void *)(memory.bytes + 1));
    memset(&memory, 0x5a, sizeof memory);
    no_threads((tw_runtime *)(void *)&memory);
    EQUAL(tw_runtime_destroy((tw_runtime *)(void *)&memory), -EINVAL);
    making();
    sizes();
    in_each_model("thread_misuse", arguments);
    in_each_model("thread_misuse", joined_twice);
    outside();
    /* Valgrind counts a child's copy of its parent's memory as lost. */
    if (!under_valgrind())
        in_each_model("thread_misuse", forked);
    return 0;
}
