/* Every operation on a timer in every state, in every family. */
#include "check.h"

struct call {
    int number;
    tw_timer timer; /* not the first member */
};

static struct call *call_of(tw_timer *timer)
{
    return TW_CONTAINER(timer, struct call, timer);
}

/* A timer that was never pending, was removed, has left or was cleared: the results are the
 * same. */
static void idle(tw_queue *queue, tw_timer *timer)
{
    uint64_t tick = 77;
    EQUAL(tw_timer_is_linked(timer), 0);
    EQUAL(tw_queue_remove(queue, timer), -ENOENT);
    EQUAL(tw_queue_reschedule(queue, timer, 5), -ENOENT);
    EQUAL(tw_queue_expiry(queue, timer, &tick), -ENOENT);
    EQUAL(tick, 77);
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
}

static void pending(tw_queue *queue, tw_queue *others[], int count, tw_timer *timer)
{
    uint64_t tick = 0;
    int i;
    ptrdiff_t length = tw_queue_len(queue);
    EQUAL(tw_timer_is_linked(timer), 1);
    EQUAL(tw_queue_insert(queue, timer, 3), -EALREADY);
    EQUAL(tw_queue_expiry(queue, timer, &tick), 0);
    CHECK(tick >= 100);
    for (i = 0; i < count; i++) {
        EQUAL(tw_queue_insert(others[i], timer, 3), -EXDEV);
        EQUAL(tw_queue_remove(others[i], timer), -EXDEV);
        EQUAL(tw_queue_reschedule(others[i], timer, 3), -EXDEV);
        EQUAL(tw_queue_expiry(others[i], timer, &tick), -EXDEV);
        EQUAL(tw_queue_len(others[i]), 0);
        EQUAL(tw_queue_check(others[i], NULL, 0), 0);
    }
    EQUAL(tw_queue_len(queue), length);
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
}

static void life(tw_family family, tw_queue *others[], int count)
{
    void *memory;
    tw_queue *queue = new_queue(family, 3, &memory);
    struct call first = { 1, TW_TIMER_INIT }, second = { 2, TW_TIMER_INIT };
    tw_expired fired = TW_EXPIRED_INIT;
    tw_timer *shown = NULL;
    uint64_t tick;

    EQUAL(tw_queue_peek(queue, &shown, &tick), 0);
    EQUAL(tw_queue_second(queue, &shown, &tick), 0);
    EQUAL(tw_queue_next_expiry(queue, &tick), 0);
    EQUAL(tw_queue_next_wake(queue, &tick), 0);
    EQUAL(tw_queue_pop_expired(queue, 0, &fired), 0);
    CHECK(shown == NULL);

    idle(queue, &first.timer);
    EQUAL(tw_queue_insert(queue, &first.timer, 100), 1);
    pending(queue, others, count, &first.timer);
    CHECK(tw_queue_insert(queue, &second.timer, 200) >= 0);
    EQUAL(tw_queue_len(queue), 2);
    EQUAL(tw_queue_peek(queue, &shown, &tick), 1);
    CHECK(shown == &first.timer && call_of(shown)->number == 1 && tick >= 100);
    EQUAL(tw_queue_second(queue, &shown, &tick), 1);
    CHECK(shown == &second.timer && call_of(shown)->number == 2 && tick >= 200);
    EQUAL(tw_queue_next_wake(queue, &tick), 1);
    CHECK(tick > 0 && tick <= 100 + 100 * 8 / 63 + 1);

    EQUAL(tw_queue_remove(queue, &first.timer) >= 0, 1);
    idle(queue, &first.timer);

    /* What has left may be freed at once: ends of blocks of the heap show it to the sanitizer. */
    struct call *heaped = (struct call *)calloc(1, sizeof *heaped);
    EQUAL(tw_queue_insert(queue, &heaped->timer, 150), 1);
    EQUAL(tw_queue_pop_expired(queue, 149, &fired), 0);
    EQUAL(tw_queue_pop_expired(queue, 190, &fired), 1);
    CHECK(fired.timer == &heaped->timer);
    EQUAL(fired.deadline, 150);
    CHECK(fired.expiry >= 150 && fired.expiry <= 190);
    idle(queue, &heaped->timer);
    memset(heaped, 0xa5, sizeof *heaped);
    free(heaped);

    /* Output pointers may be null. */
    EQUAL(tw_queue_peek(queue, NULL, NULL), 1);
    EQUAL(tw_queue_second(queue, NULL, NULL), 0);
    EQUAL(tw_queue_next_expiry(queue, NULL), 1);
    EQUAL(tw_queue_next_wake(queue, NULL), 1);
    EQUAL(tw_queue_expiry(queue, &second.timer, NULL), 0);

    EQUAL(tw_queue_reschedule(queue, &second.timer, 1000) >= 0, 1);
    EQUAL(tw_queue_pop_expired(queue, 999, &fired), 0);
    EQUAL(tw_queue_clear(queue), 0);
    EQUAL(tw_queue_len(queue), 0);
    EQUAL(tw_queue_now(queue, &tick), 0);
    EQUAL(tick, 999);
    idle(queue, &second.timer);

    /* A timer that is pending when its queue is destroyed becomes free. */
    EQUAL(tw_queue_insert(queue, &second.timer, 0), 1);
    end_queue(queue, memory);
    EQUAL(tw_timer_is_linked(&second.timer), 0);
}

/* A struct that is not pending may move; the copy of a pending one is no timer. */
static void moves(tw_family family)
{
    void *memory;
    tw_queue *queue = new_queue(family, 3, &memory);
    struct call first = { 1, TW_TIMER_INIT }, copy;
    EQUAL(tw_queue_insert(queue, &first.timer, 100), 1);
    copy = first;
    EQUAL(tw_timer_is_linked(&copy.timer), -EINVAL);
    EQUAL(tw_queue_insert(queue, &copy.timer, 1), -EINVAL);
    EQUAL(tw_queue_remove(queue, &copy.timer), -EINVAL);
    EQUAL(tw_queue_reschedule(queue, &copy.timer, 1), -EINVAL);
    EQUAL(tw_queue_expiry(queue, &copy.timer, NULL), -EINVAL);
    EQUAL(tw_timer_init(&copy.timer), 0);
    EQUAL(tw_queue_insert(queue, &copy.timer, 50), 1);
    EQUAL(tw_queue_remove(queue, &copy.timer), 1);
    CHECK(tw_queue_remove(queue, &first.timer) >= 0);
    memset(&copy, 0, sizeof copy);
    copy = first;
    idle(queue, &copy.timer);
    EQUAL(tw_queue_insert(queue, &copy.timer, 100), 1);
    EQUAL(tw_queue_len(queue), 1);
    end_queue(queue, memory);
}

/* One timer in queues of all families in turn. */
static void wanders(void)
{
    tw_timer timer;
    int i, round;
    memset(&timer, 0xff, sizeof timer);
    EQUAL(tw_timer_init(&timer), 0);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < FAMILY_COUNT; i++) {
            void *memory;
            tw_queue *queue = new_queue(FAMILIES[i], 1, &memory);
            EQUAL(tw_queue_insert(queue, &timer, 10), 1);
            if (round == 0)
                EQUAL(tw_queue_remove(queue, &timer), 1);
            else if (round == 1)
                EQUAL(tw_queue_pop_expired(queue, UINT64_MAX, NULL), 1);
            end_queue(queue, memory);
        }
    }
}

/* A full heap refuses an insert, and still works. */
static void full(tw_family family)
{
    enum { MOST = 9 };
    int capacity, i;
    for (capacity = 0; capacity < MOST; capacity++) {
        tw_timer timers[MOST] = { TW_TIMER_INIT };
        void *memory;
        tw_queue *queue = new_queue(family, (size_t)capacity, &memory);
        tw_expired fired = TW_EXPIRED_INIT;
        for (i = 0; i < capacity; i++)
            CHECK(tw_queue_insert(queue, &timers[i], (uint64_t)(MOST - i)) >= 0);
        EQUAL(tw_queue_insert(queue, &timers[capacity], 0), -ENOSPC);
        idle(queue, &timers[capacity]);
        EQUAL(tw_queue_len(queue), capacity);
        if (capacity > 0) {
            EQUAL(tw_queue_insert(queue, &timers[0], 0), -EALREADY);
            EQUAL(tw_queue_pop_expired(queue, MOST, &fired), 1);
            CHECK(fired.timer == &timers[capacity - 1]);
            EQUAL(tw_queue_insert(queue, &timers[capacity], 0) >= 0, 1);
            EQUAL(tw_queue_insert(queue, &timers[capacity - 1], 0), -ENOSPC);
        }
        end_queue(queue, memory);
    }
}

static void count(const tw_expired *fired, void *user)
{
    (void)fired;
    ++*(size_t *)user;
}

static uint64_t a_little_later(tw_timer *timer, uint64_t expiry, void *user)
{
    (void)timer;
    (void)user;
    return expiry + 1000;
}

/* A wake-up comes in time, and after now once a call has returned that nothing is due. */
static void no_later(tw_queue *queue, int done)
{
    uint64_t now = 0, wake = 0, due = 0;
    int pending = tw_queue_next_expiry(queue, &due);
    EQUAL(tw_queue_now(queue, &now), 0);
    EQUAL(tw_queue_next_wake(queue, &wake), pending);
    if (pending == 1) {
        CHECK(wake <= due);
        CHECK(!done || wake > now);
    }
}

static void wakes(tw_family family)
{
    enum { TIMERS = 40, ROUNDS = 4000 };
    static tw_timer timers[TIMERS];
    uint64_t random = 815, now = 0, at;
    void *memory;
    tw_queue *queue = new_queue(family, TIMERS, &memory);
    size_t delivered = 0, budget;
    int round, result;
    for (round = 0; round < TIMERS; round++)
        EQUAL(tw_timer_init(&timers[round]), 0);
    EQUAL(tw_queue_insert(queue, &timers[0], 100), 1);
    CHECK(tw_queue_insert(queue, &timers[1], 120) >= 0);
    CHECK(tw_queue_remove(queue, &timers[0]) >= 0);
    result = tw_queue_advance(queue, 110, 0, count, &delivered, NULL);
    CHECK(result == 0 || result == 1);
    no_later(queue, result == 0);
    EQUAL(tw_queue_pop_expired(queue, 110, NULL), 0);
    no_later(queue, 1);
    for (round = 0; round < ROUNDS; round++) {
        tw_timer *timer = &timers[next_random(&random) % TIMERS];
        at = now + (next_random(&random) & (((uint64_t)1 << next_random(&random) % 20) - 1));
        switch (next_random(&random) % 8) {
        case 0:
            now = at;
            no_later(queue, tw_queue_pop_expired(queue, now, NULL) == 0);
            break;
        case 1:
            now = at;
            no_later(queue, tw_queue_pop_and_reinsert(queue, now, a_little_later, NULL, NULL) == 0);
            break;
        case 2:
        case 3:
            now = at;
            budget = (size_t)(next_random(&random) % 4);
            result = tw_queue_advance(queue, now, budget, count, &delivered, NULL);
            no_later(queue, result == 0);
            break;
        case 4:
            CHECK(tw_queue_remove(queue, timer) >= -ENOENT);
            no_later(queue, 0);
            break;
        case 5:
            CHECK(tw_queue_reschedule(queue, timer, at) >= -ENOENT);
            no_later(queue, 0);
            break;
        default:
            result = tw_queue_insert(queue, timer, at);
            CHECK(result >= 0 || result == -EALREADY);
            no_later(queue, 0);
        }
    }
    CHECK(delivered > 0);
    EQUAL(tw_queue_clear(queue), 0);
    end_queue(queue, memory);
}

int main(void)
{
    void *memories[FAMILY_COUNT];
    tw_queue *others[FAMILY_COUNT];
    int i;
    for (i = 0; i < FAMILY_COUNT; i++)
        others[i] = new_queue(FAMILIES[i], 2, &memories[i]);
    for (i = 0; i < FAMILY_COUNT; i++) {
        life(FAMILIES[i], others, FAMILY_COUNT);
        moves(FAMILIES[i]);
        wakes(FAMILIES[i]);
    }
    for (i = 0; i < FAMILY_COUNT; i++)
        end_queue(others[i], memories[i]);
    wanders();
    full(TW_FAMILY_HEAP2);
    full(TW_FAMILY_HEAP4);
    return 0;
}
