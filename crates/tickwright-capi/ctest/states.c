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

/* A timer that was never pending, or was taken out, or has left, or was cleared: all the same. */
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

static void life(int family, tw_queue *others[], int count)
{
    void *memory;
    tw_queue *queue = new_queue(family, 3, &memory);
    struct call first = { 1, TW_TIMER_INIT }, second = { 2, TW_TIMER_INIT };
    tw_expired fired;
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

    /* Where the caller wants no answer. */
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

    /* What is pending when the queue ends goes free. */
    EQUAL(tw_queue_insert(queue, &second.timer, 0), 1);
    end_queue(queue, memory);
    EQUAL(tw_timer_is_linked(&second.timer), 0);
}

/* A struct that is not pending may move; the copy of a pending one is no timer. */
static void moves(int family)
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

/* A heap that is full says so, and goes on. */
static void full(int family)
{
    enum { MOST = 9 };
    int capacity, i;
    for (capacity = 0; capacity < MOST; capacity++) {
        tw_timer timers[MOST] = { TW_TIMER_INIT };
        void *memory;
        tw_queue *queue = new_queue(family, (size_t)capacity, &memory);
        tw_expired fired;
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
    }
    for (i = 0; i < FAMILY_COUNT; i++)
        end_queue(others[i], memories[i]);
    wanders();
    full(TW_FAMILY_HEAP2);
    full(TW_FAMILY_HEAP4);
    return 0;
}
