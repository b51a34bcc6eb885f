/* What threads do, in every model: values, ids, joins of each kind, detaching, waiting,
 * attributes. */
#include "models.h"

static tw_runtime *runtime;

/* A pointer that is a number, and back. */
static void *boxed(uintptr_t number)
{
    return (void *)number;
}

static tw_thread create(const tw_thread_options *attr, tw_thread_fn start, void *argument)
{
    tw_thread thread = 0;
    EQUAL(tw_thread_create(READ(runtime), &thread, attr, start, argument), 0);
    CHECK(thread != 0);
    return thread;
}

static uintptr_t join(tw_thread thread)
{
    void *value = NULL;
    EQUAL(tw_thread_join(READ(runtime), thread, &value), 0);
    return (uintptr_t)value;
}

static void *next(void *argument)
{
    return boxed((uintptr_t)argument + 1);
}

static void *own_id(void *argument)
{
    tw_thread *id = (tw_thread *)argument;
    WRITE(*id, tw_thread_self());
    return NULL;
}

static void values(void)
{
    tw_thread threads[20], told;
    uintptr_t i;
    for (i = 0; i < 20; i++)
        threads[i] = create(NULL, next, boxed(i));
    for (i = 0; i < 20; i++) {
        CHECK(i == 0 || !tw_thread_equal(threads[i], threads[i - 1]));
        EQUAL(join(threads[i]), i + 1);
        EQUAL(tw_thread_join(READ(runtime), threads[i], NULL), -ESRCH);
        EQUAL(tw_thread_tryjoin(READ(runtime), threads[i], NULL), -ESRCH);
        EQUAL(tw_thread_detach(READ(runtime), threads[i]), -ESRCH);
        EQUAL(tw_thread_unpark(READ(runtime), threads[i]), -ESRCH);
    }
    WRITE(told, 0);
    threads[0] = create(NULL, own_id, &told);
    EQUAL(tw_thread_join(READ(runtime), threads[0], NULL), 0);
    CHECK(tw_thread_equal(READ(told), threads[0]));
    EQUAL(tw_thread_self(), 0);
    CHECK(tw_runtime_len(READ(runtime)) == 0);
}

static int open_door;

static void *behind_the_door(void *argument)
{
    while (!READ(open_door))
        tw_thread_yield();
    return argument;
}

static void joins(void)
{
    uint64_t now = 0;
    void *value = &now;
    tw_thread thread;
    WRITE(open_door, 0);
    thread = create(NULL, behind_the_door, boxed(42));
    EQUAL(tw_runtime_len(READ(runtime)), 1);
    EQUAL(tw_thread_tryjoin(READ(runtime), thread, &value), -EBUSY);
    EQUAL(tw_runtime_now(READ(runtime), &now), 0);
    EQUAL(tw_thread_timedjoin(READ(runtime), thread, &value, now + 50000), -ETIMEDOUT);
    EQUAL(tw_thread_timedjoin(READ(runtime), thread, &value, 0), -ETIMEDOUT);
    CHECK(value == &now);
    WRITE(open_door, 1);
    EQUAL(tw_thread_timedjoin(READ(runtime), thread, &value, UINT64_MAX), 0);
    EQUAL((uintptr_t)value, 42);
    thread = create(NULL, next, boxed(6));
    for (;;) {
        int result = tw_thread_tryjoin(READ(runtime), thread, &value);
        if (result == 0)
            break;
        EQUAL(result, -EBUSY);
        tw_thread_yield();
    }
    EQUAL((uintptr_t)value, 7);
}

static void until_stale(tw_thread thread)
{
    int result;
    while ((result = tw_thread_join(READ(runtime), thread, NULL)) == -EINVAL)
        tw_thread_yield();
    EQUAL(result, -ESRCH);
}

static void detaching(void)
{
    tw_thread_options attr;
    tw_thread thread;
    EQUAL(tw_thread_options_init(&attr, sizeof attr), 0);
    WRITE(open_door, 0);
    thread = create(NULL, behind_the_door, NULL);
    EQUAL(tw_thread_detach(READ(runtime), thread), 0);
    EQUAL(tw_thread_detach(READ(runtime), thread), -EINVAL);
    EQUAL(tw_thread_join(READ(runtime), thread, NULL), -EINVAL);
    EQUAL(tw_thread_tryjoin(READ(runtime), thread, NULL), -EINVAL);
    EQUAL(tw_thread_timedjoin(READ(runtime), thread, NULL, 0), -EINVAL);
    WRITE(open_door, 1);
    until_stale(thread);
    attr.detached = 1;
    WRITE(open_door, 0);
    thread = create(&attr, behind_the_door, NULL);
    EQUAL(tw_thread_join(READ(runtime), thread, NULL), -EINVAL);
    WRITE(open_door, 1);
    until_stale(thread);
    /* Detaches a thread that has ended, or is just ending. */
    thread = create(NULL, next, NULL);
    while (tw_runtime_len(READ(runtime)) > 0)
        tw_thread_yield();
    EQUAL(tw_thread_detach(READ(runtime), thread), 0);
    until_stale(thread);
}

static void *joins_itself(void *argument)
{
    (void)argument;
    return boxed((uintptr_t)-tw_thread_join(READ(runtime), tw_thread_self(), NULL));
}

static tw_thread pair[2];
static int paired;

static void *joins_the_other(void *argument)
{
    uintptr_t me = (uintptr_t)argument;
    while (!READ(paired))
        tw_thread_yield();
    return boxed((uintptr_t)-tw_thread_join(READ(runtime), READ(pair[1 - me]), NULL));
}

static void deadlocks(void)
{
    uintptr_t i;
    int told = 0;
    EQUAL(join(create(NULL, joins_itself, NULL)), EDEADLK);
    WRITE(paired, 0);
    for (i = 0; i < 2; i++)
        WRITE(pair[i], create(NULL, joins_the_other, boxed(i)));
    WRITE(paired, 1);
    while (tw_runtime_len(READ(runtime)) > 0)
        tw_thread_yield();
    /* One thread got -EDEADLK and was joined by the other, or both got -EDEADLK. */
    for (i = 0; i < 2; i++) {
        void *value = NULL;
        int result = tw_thread_join(READ(runtime), pair[i], &value);
        CHECK(result == 0 || result == -ESRCH);
        told += result == 0;
    }
    CHECK(told >= 1);
}

static void *factorial(void *argument)
{
    uintptr_t n = (uintptr_t)argument;
    return boxed(n <= 1 ? 1 : n * join(create(NULL, factorial, boxed(n - 1))));
}

static void *tree(void *argument)
{
    uintptr_t depth = (uintptr_t)argument, sum = 1;
    tw_thread children[4];
    int i;
    for (i = 0; depth > 0 && i < 4; i++)
        children[i] = create(NULL, tree, boxed(depth - 1));
    for (i = 0; depth > 0 && i < 4; i++)
        sum += join(children[i]);
    return boxed(sum);
}

static void nested(void)
{
    EQUAL(join(create(NULL, factorial, boxed(9))), 362880);
    EQUAL(join(create(NULL, tree, boxed(3))), 1 + 4 + 16 + 64);
}

static int rounds;

static void *parks(void *argument)
{
    uintptr_t parked = 0;
    (void)argument;
    while (READ(rounds) < 10) {
        tw_thread_park();
        parked++;
    }
    return boxed(parked);
}

static void *sleeps(void *argument)
{
    uint64_t before = 0, after = 0;
    (void)argument;
    tw_runtime_now(READ(runtime), &before);
    tw_thread_sleep(100000);
    tw_runtime_now(READ(runtime), &after);
    return boxed(after - before >= 100000);
}

static void *yields(void *argument)
{
    uintptr_t sum = (uintptr_t)argument;
    int i;
    for (i = 0; i < 100; i++) {
        sum += 10;
        tw_thread_yield();
    }
    return boxed(sum);
}

static void waiting(void)
{
    tw_thread thread;
    int i;
    WRITE(rounds, 0);
    thread = create(NULL, parks, NULL);
    for (i = 0; i < 10; i++) {
        COUNT_UP(rounds);
        EQUAL(tw_thread_unpark(READ(runtime), thread), 0);
    }
    CHECK(join(thread) <= 11);
    EQUAL(join(create(NULL, sleeps, NULL)), 1);
    EQUAL(join(create(NULL, yields, boxed(123))), 1123);
}

/* Whether the stack is as large as was asked for, and is what this runs on. */
static void *looks(void *argument)
{
    size_t least = (size_t)(uintptr_t)argument, size = 0;
    void *lowest = NULL;
    if (tw_thread_stack(&lowest, &size) == 0)
        return boxed(2);
    /* The address of a local variable may be elsewhere under AddressSanitizer. */
    return boxed(size + 4096 >= least && (uintptr_t)__builtin_frame_address(0) - (uintptr_t)lowest < size);
}

static void attributes(void)
{
    static const size_t SIZES[] = { 16384, 20000, 65536, 1 << 20 };
    tw_thread_options attr;
    size_t i, round, size;
    void *lowest;
    EQUAL(tw_thread_options_init(&attr, sizeof attr), 0);
    CHECK(attr.stack_size == TW_DEFAULT && attr.guard_size == TW_DEFAULT && attr.name == NULL && attr.detached == 0);
    for (i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        /* A sanitizer wants nearly a MiB for itself. */
        if (!stacks_may_switch() && SIZES[i] < 1 << 20)
            continue;
        attr.stack_size = SIZES[i];
        attr.guard_size = i * 4096;
        attr.name = i % 2 ? "reader" : NULL;
        for (round = 0; round < 8; round++)
            EQUAL(join(create(&attr, looks, boxed(SIZES[i]))), 1);
    }
    EQUAL(tw_thread_stack(&lowest, &size), 0);
}

static int ended;

static void *creates_more(void *argument)
{
    uintptr_t left = (uintptr_t)argument;
    if (left > 0)
        create(NULL, creates_more, boxed(left - 1));
    COUNT_UP(ended);
    return NULL;
}

static void all(tw_runtime *threads, tw_model model)
{
    (void)model;
    WRITE(runtime, threads);
    values();
    joins();
    detaching();
    deadlocks();
    nested();
    waiting();
    attributes();
    /* No thread joins these threads: the destroy that follows waits for them. */
    create(NULL, creates_more, boxed(5));
}

static void *destroys(void *argument)
{
    (void)argument;
    return boxed((uintptr_t)-tw_runtime_destroy(READ(runtime)));
}

static void from_within(tw_runtime *threads, tw_model model)
{
    (void)model;
    WRITE(runtime, threads);
    EQUAL(join(create(NULL, destroys, NULL)), EDEADLK);
}

int main(void)
{
    int models = stacks_may_switch() ? 2 : 1;
    in_each_model("thread_states", all);
    EQUAL(READ(ended), models * 6);
    in_each_model("thread_states", from_within);
    return 0;
}
