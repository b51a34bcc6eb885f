/* Locks, conditions, mailboxes, keys and descriptors, in each model of threads. */
#include "models.h"

enum { THREADS = 4, ROUNDS = 200, MS = 1000000 };

static tw_mutex *mutex;
static tw_cond *cond;
static tw_mailbox *mailbox;
static tw_key *key;
static int count, turn, destructed;
static int ends[2];

static void *adds(void *argument)
{
    int i, before;
    for (i = 0; i < ROUNDS; i++) {
        EQUAL(tw_mutex_lock(mutex), 0);
        EQUAL(tw_mutex_lock(mutex), -EDEADLK);
        EQUAL(tw_mutex_trylock(mutex), -EBUSY);
        before = READ(count);
        if (i % 20 == 0)
            tw_thread_yield(); /* with the lock held, which no lock of pthreads bears */
        WRITE(count, before + 1);
        EQUAL(tw_mutex_unlock(mutex), 0);
        EQUAL(tw_mutex_unlock(mutex), -EPERM);
    }
    return argument;
}

/* Threads take turns, each waiting for its number. */
static void *takes_turns(void *argument)
{
    int own = (int)(intptr_t)argument, i;
    for (i = 0; i < 5; i++) {
        EQUAL(tw_mutex_lock(mutex), 0);
        while (READ(turn) % THREADS != own)
            EQUAL(tw_cond_wait(cond, mutex), 0);
        COUNT_UP(turn);
        EQUAL(tw_cond_broadcast(cond), 0);
        EQUAL(tw_mutex_unlock(mutex), 0);
    }
    return NULL;
}

static void *sends(void *argument)
{
    int i;
    for (i = 1; i <= ROUNDS; i++)
        EQUAL(tw_mailbox_send(mailbox, (void *)((intptr_t)argument * 1000 + i)), 0);
    return NULL;
}

static void *receives(void *argument)
{
    intptr_t last[THREADS] = { 0 }, sum = 0;
    void *letter = NULL;
    int result;
    (void)argument;
    while ((result = tw_mailbox_receive(mailbox, &letter)) == 0) {
        intptr_t from = (intptr_t)letter / 1000, number = (intptr_t)letter % 1000;
        CHECK(from >= 0 && from < THREADS && number > last[from]); /* in the order of the sender */
        last[from] = number;
        sum++;
    }
    EQUAL(result, -EPIPE);
    return (void *)sum;
}

static void destructs(void *value)
{
    COUNT_UP(destructed);
    CHECK((intptr_t)value > 0);
    tw_thread_yield();
}

static void *has_its_own(void *argument)
{
    void *value = &value;
    int i;
    EQUAL(tw_key_get(key, &value), 0);
    CHECK(value == NULL);
    for (i = 0; i < 5; i++) {
        EQUAL(tw_key_set(key, (char *)argument + i), 0);
        tw_thread_yield();
        EQUAL(tw_key_get(key, &value), 0);
        CHECK(value == (char *)argument + i);
    }
    return NULL;
}

static void *reads(void *argument)
{
    int fd = (int)(intptr_t)argument;
    char byte = 0;
    EQUAL(tw_thread_wait_readable(0x3fffffff), -EBADF); /* not open */
    EQUAL(tw_thread_wait_writable(0x3fffffff), -EBADF);
    EQUAL(tw_thread_wait_readable(fd), 0);
    EQUAL(read(fd, &byte, 1), 1);
    return (void *)(intptr_t)byte;
}

static void all_run(tw_runtime *runtime, void *(*body)(void *), intptr_t first)
{
    tw_thread ids[THREADS];
    intptr_t i;
    for (i = 0; i < THREADS; i++)
        EQUAL(tw_thread_create(runtime, &ids[i], NULL, body, (void *)(first + i)), 0);
    for (i = 0; i < THREADS; i++)
        EQUAL(tw_thread_join(runtime, ids[i], NULL), 0);
}

/* Waits for a turn below 0. `turn` is 100 as soon as this thread waits or has the lock. */
static void *waits(void *argument)
{
    (void)argument;
    EQUAL(tw_mutex_lock(mutex), 0);
    WRITE(turn, 100);
    while (READ(turn) >= 0)
        EQUAL(tw_cond_wait(cond, mutex), 0);
    EQUAL(tw_mutex_unlock(mutex), 0);
    return NULL;
}

/* A lock and a condition in which a call waits are not destroyed. */
static void in_use(tw_runtime *runtime)
{
    tw_thread waiter;
    WRITE(turn, 0);
    EQUAL(tw_thread_create(runtime, &waiter, NULL, waits, NULL), 0);
    EQUAL(tw_mutex_lock(mutex), 0);
    while (READ(turn) == 0) {
        EQUAL(tw_mutex_unlock(mutex), 0);
        tw_thread_yield();
        EQUAL(tw_mutex_lock(mutex), 0);
    }
    /* We have the lock, so the other thread waits. */
    EQUAL(tw_mutex_unlock(mutex), 0);
    EQUAL(tw_mutex_destroy(mutex), -EBUSY);
    EQUAL(tw_cond_destroy(cond), -EBUSY);
    EQUAL(tw_mutex_lock(mutex), 0);
    WRITE(turn, -1);
    EQUAL(tw_cond_signal(cond), 0);
    EQUAL(tw_cond_destroy(cond), -EBUSY); /* it cannot have returned */
    EQUAL(tw_mutex_unlock(mutex), 0);
    EQUAL(tw_thread_join(runtime, waiter, NULL), 0);
    EQUAL(tw_cond_destroy(cond), 0);
    EQUAL(tw_mutex_destroy(mutex), 0);
    EQUAL(tw_cond_create(&cond), 0);
    EQUAL(tw_mutex_create(&mutex), 0);
}

static void *tries_the_lock(void *argument)
{
    EQUAL(tw_mutex_lock_for(mutex, 0), -ETIMEDOUT);
    EQUAL(tw_mutex_lock_for(mutex, MS), -ETIMEDOUT);
    return argument;
}

/* Waits that end with their time. */
static void limits(tw_runtime *runtime)
{
    EQUAL(tw_mutex_lock_for(mutex, 0), 0);
    EQUAL(tw_mutex_lock_for(mutex, 0), -EDEADLK);
    all_run(runtime, tries_the_lock, 0);
    EQUAL(tw_mutex_unlock(mutex), 0);
    EQUAL(tw_mutex_lock_for(mutex, MS), 0);
    EQUAL(tw_mutex_unlock(mutex), 0);
    tw_thread_park_for(MS);
}

static void *receives_one(void *argument)
{
    WRITE(turn, 1);
    EQUAL(tw_mailbox_receive(mailbox, NULL), 0);
    return argument;
}

/* On the only worker: the other thread goes on until it waits. */
static void *ends_a_mailbox(void *argument)
{
    tw_runtime *runtime = (tw_runtime *)argument;
    tw_thread receiver;
    WRITE(turn, 0);
    EQUAL(tw_mailbox_create(&mailbox, 1), 0);
    EQUAL(tw_thread_create(runtime, &receiver, NULL, receives_one, NULL), 0);
    while (READ(turn) == 0)
        tw_thread_yield();
    EQUAL(tw_mailbox_destroy(mailbox), -EBUSY);
    EQUAL(tw_mailbox_send(mailbox, NULL), 0);
    EQUAL(tw_mailbox_destroy(mailbox), -EBUSY); /* it is woken, and has not returned */
    EQUAL(tw_thread_join(runtime, receiver, NULL), 0);
    EQUAL(tw_mailbox_destroy(mailbox), 0);
    return NULL;
}

static void *naps(void *argument)
{
    tw_thread_sleep(MS);
    WRITE(turn, 1);
    return argument;
}

/* None of these calls has to wait; the thread that naps on the same worker ends its nap. */
static void *never_waits(void *argument)
{
    tw_runtime *runtime = (tw_runtime *)argument;
    tw_thread other;
    int kind;
    EQUAL(tw_mailbox_create(&mailbox, 1), 0);
    for (kind = 0; kind < 4; kind++) {
        WRITE(turn, 0);
        EQUAL(tw_thread_create(runtime, &other, NULL, naps, NULL), 0);
        while (READ(turn) == 0) {
            if (kind == 0) {
                EQUAL(tw_mutex_lock(mutex), 0);
                EQUAL(tw_cond_broadcast(cond), 0);
                EQUAL(tw_mutex_unlock(mutex), 0);
            } else if (kind == 1) {
                EQUAL(tw_mailbox_send(mailbox, NULL), 0);
                EQUAL(tw_mailbox_receive(mailbox, NULL), 0);
            } else if (kind == 2) {
                EQUAL(tw_thread_unpark(runtime, tw_thread_self()), 0);
            } else {
                tw_thread_sleep(0);
            }
        }
        EQUAL(tw_thread_join(runtime, other, NULL), 0);
    }
    EQUAL(tw_mailbox_destroy(mailbox), 0);
    return NULL;
}

static pthread_mutex_t of_platform = PTHREAD_MUTEX_INITIALIZER;

static void *wants(void *argument)
{
    int result = pthread_mutex_trylock(&of_platform);
    (void)argument;
    if (result == 0)
        EQUAL(pthread_mutex_unlock(&of_platform), 0);
    return (void *)(intptr_t)result;
}

/* In a section without yields a thread keeps a lock of the platform, which another thread of the
 * worker wants. */
static void *forbids_yields(void *argument)
{
    tw_runtime *runtime = (tw_runtime *)argument;
    tw_thread other, napper;
    void *result;
    int i;
    EQUAL(tw_thread_create(runtime, &other, NULL, wants, NULL), 0);
    tw_thread_forbid_yields();
    EQUAL(pthread_mutex_lock(&of_platform), 0);
    for (i = 0; i < 500; i++) {
        tw_thread_forbid_yields();
        EQUAL(tw_thread_unpark(runtime, tw_thread_self()), 0);
        EQUAL(tw_cond_signal(cond), 0);
        EQUAL(tw_cond_broadcast(cond), 0);
        tw_thread_allow_yields();
    }
    EQUAL(pthread_mutex_unlock(&of_platform), 0);
    tw_thread_allow_yields();
    EQUAL(tw_thread_join(runtime, other, &result), 0);
    EQUAL((intptr_t)result, 0);
    /* A loop of sections lets the other thread end its nap. */
    WRITE(turn, 0);
    EQUAL(tw_thread_create(runtime, &napper, NULL, naps, NULL), 0);
    while (READ(turn) == 0) {
        tw_thread_forbid_yields();
        EQUAL(tw_cond_signal(cond), 0);
        tw_thread_allow_yields();
    }
    EQUAL(tw_thread_join(runtime, napper, NULL), 0);
    tw_thread_allow_yields(); /* outside of a section */
    return NULL;
}

static void on_one_worker(void)
{
    tw_runtime *runtime;
    tw_thread thread;
    EQUAL(create_runtime(&runtime, TW_MODEL_MN, 1), 0);
    EQUAL(tw_thread_create(runtime, &thread, NULL, ends_a_mailbox, runtime), 0);
    EQUAL(tw_thread_join(runtime, thread, NULL), 0);
    EQUAL(tw_thread_create(runtime, &thread, NULL, never_waits, runtime), 0);
    EQUAL(tw_thread_join(runtime, thread, NULL), 0);
    EQUAL(tw_thread_create(runtime, &thread, NULL, forbids_yields, runtime), 0);
    EQUAL(tw_thread_join(runtime, thread, NULL), 0);
    EQUAL(tw_runtime_destroy(runtime), 0);
}

static void in_a_model(tw_runtime *runtime, tw_model model)
{
    tw_thread receivers[2], reader;
    void *value;
    intptr_t sum = 0;
    int i;
    (void)model;
    WRITE(count, 0);
    WRITE(turn, 0);
    WRITE(destructed, 0);
    all_run(runtime, adds, 0);
    EQUAL(READ(count), THREADS * ROUNDS);
    all_run(runtime, takes_turns, 0);
    EQUAL(READ(turn), 5 * THREADS);
    in_use(runtime);
    limits(runtime);

    EQUAL(tw_mailbox_create(&mailbox, 3), 0);
    for (i = 0; i < 2; i++)
        EQUAL(tw_thread_create(runtime, &receivers[i], NULL, receives, NULL), 0);
    all_run(runtime, sends, 0);
    EQUAL(tw_mailbox_close(mailbox), 0);
    for (i = 0; i < 2; i++) {
        EQUAL(tw_thread_join(runtime, receivers[i], &value), 0);
        sum += (intptr_t)value;
    }
    EQUAL(sum, THREADS * ROUNDS);
    EQUAL(tw_mailbox_destroy(mailbox), 0);

    EQUAL(tw_key_create(&key, destructs), 0);
    all_run(runtime, has_its_own, 1000);
    EQUAL(READ(destructed), THREADS);
    EQUAL(tw_key_destroy(key), 0);

    EQUAL(tw_thread_create(runtime, &reader, NULL, reads, (void *)(intptr_t)ends[0]), 0);
    EQUAL(tw_thread_wait_writable(ends[1]), 0);
    EQUAL(write(ends[1], "x", 1), 1);
    EQUAL(tw_thread_join(runtime, reader, &value), 0);
    EQUAL((intptr_t)value, 'x');
}

/* Every misuse that can be detected, on a thread that no runtime has created. */
static void misuse(void)
{
    uint64_t nonsense[8] = { 0x5a5a5a5a };
    tw_mutex *no_mutex = (tw_mutex *)nonsense, *other;
    tw_cond *no_cond = (tw_cond *)nonsense;
    tw_mailbox *no_mailbox = (tw_mailbox *)nonsense;
    tw_key *no_key = (tw_key *)nonsense;
    void *value = &value;
    int i;
    for (i = 0; i < 2; i++) {
        EQUAL(tw_mutex_lock(no_mutex), -EINVAL);
        EQUAL(tw_mutex_lock_for(no_mutex, 0), -EINVAL);
        EQUAL(tw_mutex_trylock(no_mutex), -EINVAL);
        EQUAL(tw_mutex_unlock(no_mutex), -EINVAL);
        EQUAL(tw_cond_wait(no_cond, mutex), -EINVAL);
        EQUAL(tw_cond_wait(cond, no_mutex), -EINVAL);
        EQUAL(tw_cond_wait_for(no_cond, mutex, 1), -EINVAL);
        EQUAL(tw_cond_signal(no_cond), -EINVAL);
        EQUAL(tw_cond_broadcast(no_cond), -EINVAL);
        EQUAL(tw_mailbox_send(no_mailbox, NULL), -EINVAL);
        EQUAL(tw_mailbox_trysend(no_mailbox, NULL), -EINVAL);
        EQUAL(tw_mailbox_receive(no_mailbox, &value), -EINVAL);
        EQUAL(tw_mailbox_tryreceive(no_mailbox, &value), -EINVAL);
        EQUAL(tw_mailbox_receive_for(no_mailbox, &value, 1), -EINVAL);
        EQUAL(tw_mailbox_close(no_mailbox), -EINVAL);
        EQUAL(tw_mailbox_len(no_mailbox), -EINVAL);
        EQUAL(tw_key_set(no_key, NULL), -EINVAL);
        EQUAL(tw_key_get(no_key, &value), -EINVAL);
        EQUAL(tw_mutex_destroy(no_mutex), i == 0 ? -EINVAL : 0);
        EQUAL(tw_cond_destroy(no_cond), i == 0 ? -EINVAL : 0);
        EQUAL(tw_mailbox_destroy(no_mailbox), i == 0 ? -EINVAL : 0);
        EQUAL(tw_key_destroy(no_key), i == 0 ? -EINVAL : 0);
        no_mutex = NULL;
        no_cond = NULL;
        no_mailbox = NULL;
        no_key = NULL;
    }
    EQUAL(tw_mutex_create(NULL), -EINVAL);
    EQUAL(tw_cond_create(NULL), -EINVAL);
    EQUAL(tw_mailbox_create(NULL, 1), -EINVAL);
    EQUAL(tw_mailbox_create(&mailbox, 0), -EINVAL);
    CHECK(mailbox == NULL);
    EQUAL(tw_key_create(NULL, NULL), -EINVAL);
    EQUAL(tw_thread_wait_readable(-1), -EBADF);
    EQUAL(tw_thread_wait_writable(-1), -EBADF);
    EQUAL(tw_thread_wait_readable(0x3fffffff), -EBADF);
    EQUAL(tw_thread_wait_writable(0x3fffffff), -EBADF);

    tw_thread_forbid_yields();
    EQUAL(tw_mutex_unlock(mutex), -EPERM);
    EQUAL(tw_cond_wait(cond, mutex), -EPERM);
    tw_thread_allow_yields();
    EQUAL(tw_mutex_lock(mutex), 0);
    EQUAL(tw_mutex_destroy(mutex), -EBUSY);
    EQUAL(tw_cond_wait_for(cond, mutex, MS), -ETIMEDOUT);
    EQUAL(tw_mutex_unlock(mutex), 0); /* it was held again */
    EQUAL(tw_mutex_create(&other), 0);
    EQUAL(tw_mutex_lock(other), 0);
    EQUAL(tw_cond_wait(cond, mutex), -EPERM);
    EQUAL(tw_mutex_unlock(other), 0);
    EQUAL(tw_mutex_destroy(other), 0);

    EQUAL(tw_mailbox_create(&mailbox, 2), 0);
    EQUAL(tw_mailbox_tryreceive(mailbox, &value), -EBUSY);
    EQUAL(tw_mailbox_receive_for(mailbox, &value, MS), -ETIMEDOUT);
    CHECK(value == &value);
    EQUAL(tw_mailbox_trysend(mailbox, NULL), 0);
    EQUAL(tw_mailbox_trysend(mailbox, &count), 0);
    EQUAL(tw_mailbox_trysend(mailbox, &turn), -EBUSY);
    EQUAL(tw_mailbox_len(mailbox), 2);
    EQUAL(tw_mailbox_close(mailbox), 0);
    EQUAL(tw_mailbox_trysend(mailbox, &turn), -EPIPE);
    EQUAL(tw_mailbox_send(mailbox, &turn), -EPIPE);
    EQUAL(tw_mailbox_receive(mailbox, &value), 0);
    CHECK(value == NULL);
    EQUAL(tw_mailbox_tryreceive(mailbox, &value), 0);
    CHECK(value == &count);
    EQUAL(tw_mailbox_receive(mailbox, &value), -EPIPE);
    EQUAL(tw_mailbox_destroy(mailbox), 0);
    EQUAL(tw_mailbox_create(&mailbox, TW_DEFAULT), 0);
    for (i = 0; i < 1000; i++)
        EQUAL(tw_mailbox_send(mailbox, NULL), 0);
    EQUAL(tw_mailbox_len(mailbox), 1000);
    EQUAL(tw_mailbox_destroy(mailbox), 0);

    EQUAL(tw_key_create(&key, NULL), 0);
    EQUAL(tw_key_set(key, &count), 0);
    EQUAL(tw_key_get(key, &value), 0);
    CHECK(value == &count);
    EQUAL(tw_key_destroy(key), 0);
}

int main(void)
{
    EQUAL(tw_mutex_create(&mutex), 0);
    EQUAL(tw_cond_create(&cond), 0);
    EQUAL(pipe(ends), 0);
    misuse();
    in_each_model("thread_sync", in_a_model);
    if (stacks_may_switch())
        on_one_worker();
    close(ends[0]);
    close(ends[1]);
    EQUAL(tw_cond_destroy(cond), 0);
    EQUAL(tw_mutex_destroy(mutex), 0);
    return 0;
}
