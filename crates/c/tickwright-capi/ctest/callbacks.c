/* Which calls callbacks may make, and which calls are refused. */
#include "check.h"

struct party {
    tw_queue *queue;
    tw_timer timer, neighbour;
    int calls, family;
    tw_heap *heap;
};

static struct party *party_of(const tw_expired *fired)
{
    return TW_CONTAINER(fired->timer, struct party, timer);
}

/* The fired timer is free, the queue is whole, and only the destroy of the queue is refused. */
static void everything(const tw_expired *fired, void *user)
{
    struct party *party = party_of(fired);
    tw_queue *queue = party->queue;
    uint64_t tick;
    CHECK(user == &party->calls);
    party->calls++;
    EQUAL(tw_timer_is_linked(fired->timer), 0);
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
    EQUAL(tw_queue_destroy(queue), -EBUSY);
    EQUAL(tw_queue_now(queue, &tick), 0);
    EQUAL(tw_queue_update_now(queue, tick), 0); /* in a pass too */
    EQUAL(tick, 100);
    EQUAL(tw_queue_remove(queue, fired->timer), -ENOENT); /* itself */
    /* Removes the neighboring timer, which is due as well. */
    CHECK(tw_queue_remove(queue, &party->neighbour) >= 0);
    CHECK(tw_queue_insert(queue, &party->neighbour, 300) >= 0);
    CHECK(tw_queue_insert(queue, fired->timer, 200) >= 0);
}

static void nested(const tw_expired *fired, void *user)
{
    struct party *party = party_of(fired);
    int *depth = (int *)user;
    if (++*depth == 1) {
        EQUAL(tw_queue_advance(party->queue, 100, SIZE_MAX, nested, user, NULL), 0);
        EQUAL(tw_queue_destroy(party->queue), -EBUSY);
    }
}

static void again_now(const tw_expired *fired, void *user)
{
    ++*(int *)user;
    CHECK(tw_queue_insert(party_of(fired)->queue, fired->timer, 0) >= 0);
}

static void frees(const tw_expired *fired, void *user)
{
    ++*(int *)user;
    memset(party_of(fired), 0x5a, sizeof(struct party));
    free(party_of(fired));
}

static uint64_t grid(tw_timer *timer, uint64_t expiry, void *user)
{
    struct party *party = TW_CONTAINER(timer, struct party, timer);
    tw_queue *queue = party->queue;
    uint64_t tick;
    size_t size = 0;
    char text[8];
    party->calls++;
    CHECK(user == party);
    EQUAL(tw_queue_insert(queue, &party->neighbour, 1), -EBUSY);
    EQUAL(tw_queue_remove(queue, timer), -EBUSY);
    EQUAL(tw_queue_reschedule(queue, timer, 1), -EBUSY);
    EQUAL(tw_queue_expiry(queue, timer, &tick), -EBUSY);
    EQUAL(tw_queue_peek(queue, NULL, &tick), -EBUSY);
    EQUAL(tw_queue_second(queue, NULL, &tick), -EBUSY);
    EQUAL(tw_queue_next_expiry(queue, &tick), -EBUSY);
    EQUAL(tw_queue_next_wake(queue, &tick), -EBUSY);
    EQUAL(tw_queue_pop_expired(queue, 1, NULL), -EBUSY);
    EQUAL(tw_queue_pop_and_reinsert(queue, 1, grid, party, NULL), -EBUSY);
    EQUAL(tw_queue_advance(queue, 1, 1, frees, NULL, NULL), -EBUSY);
    EQUAL(tw_queue_update_now(queue, 1), -EBUSY);
    EQUAL(tw_queue_now(queue, &tick), -EBUSY);
    EQUAL(tw_queue_len(queue), -EBUSY);
    EQUAL(tw_queue_clear(queue), -EBUSY);
    EQUAL(tw_queue_check(queue, text, size), -EBUSY);
    EQUAL(tw_queue_destroy(queue), -EBUSY);
    EQUAL(tw_timer_is_linked(timer), 1);
    return expiry + 1000;
}

static void visits_none(tw_timer *timer, uint64_t expiry, void *user)
{
    (void)timer, (void)expiry, (void)user;
    CHECK(0);
}

struct visits {
    struct party *parties;
    unsigned seen;
};

static void visits(tw_timer *timer, uint64_t expiry, void *user)
{
    struct visits *visits = (struct visits *)user;
    struct party *party = TW_CONTAINER(timer, struct party, timer);
    unsigned bit = 1u << (party - visits->parties);
    uint64_t tick;
    CHECK((visits->seen & bit) == 0);
    visits->seen |= bit;
    CHECK(expiry >= 1000);
    EQUAL(tw_timer_is_linked(timer), 1);
    EQUAL(tw_queue_remove(party->queue, timer), -EBUSY);
    EQUAL(tw_queue_peek(party->queue, NULL, &tick), -EBUSY);
    EQUAL(tw_queue_each(party->queue, visits_none, NULL), -EBUSY);
    EQUAL(tw_queue_destroy(party->queue), -EBUSY);
}

/* A walk comes to each pending timer once, in every family. */
static void walk(tw_queue *queue)
{
    struct party parties[9];
    struct visits all = { parties, 0 };
    unsigned i;
    memset(parties, 0, sizeof parties);
    EQUAL(tw_queue_each(queue, NULL, NULL), -EINVAL);
    EQUAL(tw_queue_each(NULL, visits, &all), -EINVAL);
    EQUAL(tw_queue_each(queue, visits, &all), 0);
    EQUAL(all.seen, 0);
    for (i = 0; i < 9; i++) {
        parties[i].queue = queue;
        CHECK(tw_queue_insert(queue, &parties[i].timer, 1000 + i * i * i * 100) >= 0);
    }
    CHECK(tw_queue_remove(queue, &parties[4].timer) >= 0);
    EQUAL(tw_queue_each(queue, visits, &all), 0);
    EQUAL(all.seen, 0x1ef);
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
    EQUAL(tw_queue_clear(queue), 0);
}

static void of_a_queue(tw_family family)
{
    struct party party = { NULL, TW_TIMER_INIT, TW_TIMER_INIT, 0, 0, NULL }, other = party;
    void *memory;
    tw_queue *queue = party.queue = other.queue = new_queue(family, 30, &memory);
    tw_advance done = { sizeof done, 9, 9 };
    tw_expired fired = TW_EXPIRED_INIT;
    uint64_t tick;
    int count = 0, i;

    walk(queue);
    CHECK(tw_queue_insert(queue, &party.timer, 50) >= 0);
    CHECK(tw_queue_insert(queue, &party.neighbour, 51) >= 0);
    EQUAL(tw_queue_advance(queue, 100, SIZE_MAX, everything, &party.calls, &done), 0);
    EQUAL(party.calls, 1);
    EQUAL(done.delivered, 1);
    EQUAL(tw_queue_len(queue), 2);
    EQUAL(tw_queue_clear(queue), 0);

    CHECK(tw_queue_insert(queue, &party.timer, 50) >= 0);
    CHECK(tw_queue_insert(queue, &other.timer, 50) >= 0);
    EQUAL(tw_queue_advance(queue, 100, SIZE_MAX, nested, &count, &done), 0);
    EQUAL(count, 2);
    EQUAL(done.delivered, 1); /* the inner one delivered the other */

    /* The budget bounds the runs of a timer that is always due. */
    count = 0;
    CHECK(tw_queue_insert(queue, &party.timer, 0) >= 0);
    EQUAL(tw_queue_advance(queue, 100, 10, again_now, &count, &done), 1);
    EQUAL(count, 10);
    EQUAL(done.delivered, 10);
    EQUAL(tw_queue_advance(queue, 100, 0, again_now, &count, &done), 1);
    EQUAL(count, 10);
    EQUAL(tw_queue_clear(queue), 0);

    count = 0;
    for (i = 0; i < 20; i++) {
        struct party *guest = (struct party *)calloc(1, sizeof *guest);
        guest->queue = queue;
        CHECK(tw_queue_insert(queue, &guest->timer, 200) >= 0);
    }
    tick = 0;
    EQUAL(tw_queue_next_expiry(queue, &tick), 1);
    while (tw_queue_advance(queue, tick, 7, frees, &count, NULL) != 0)
        continue;
    EQUAL(count, 20);

    EQUAL(tw_queue_pop_and_reinsert(queue, 500, grid, &party, &fired), 0);
    CHECK(tw_queue_insert(queue, &party.timer, 600) >= 0);
    party.calls = 0;
    EQUAL(tw_queue_pop_and_reinsert(queue, 599, grid, &party, &fired), 0);
    EQUAL(tw_queue_pop_and_reinsert(queue, 700, grid, &party, &fired), 1);
    EQUAL(party.calls, 1);
    CHECK(fired.timer == &party.timer && fired.deadline == 600 && fired.expiry >= 600);
    EQUAL(tw_queue_expiry(queue, &party.timer, &tick), 0);
    CHECK(tick >= fired.expiry + 1000);
    EQUAL(tw_queue_remove(queue, &party.timer) >= 0, 1);
    end_queue(queue, memory);
}

struct ranked {
    int rank;
    size_t position;
};

/* A comparator that calls functions about its own heap. */
static int meddles(const void *a, const void *b, void *user)
{
    const struct ranked *left = (const struct ranked *)a, *right = (const struct ranked *)b;
    struct party *party = (struct party *)user;
    tw_heap *heap = party->heap;
    void *element;
    party->calls++;
    EQUAL(tw_heap_push(heap, party), -EBUSY);
    EQUAL(tw_heap_pop(heap, &element), -EBUSY);
    EQUAL(tw_heap_peek(heap, 1, &element), -EBUSY);
    EQUAL(tw_heap_remove(heap, party), -EBUSY);
    EQUAL(tw_heap_update(heap, party), -EBUSY);
    EQUAL(tw_heap_contains(heap, party), -EBUSY);
    EQUAL(tw_heap_forget(heap, party), -EBUSY);
    EQUAL(tw_heap_len(heap), -EBUSY);
    EQUAL(tw_heap_check(heap, NULL, 0), -EBUSY);
    EQUAL(tw_heap_destroy(heap), -EBUSY);
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static void of_a_heap(void)
{
    struct party party;
    struct ranked low = { 1, 0 }, high = { 2, 0 };
    void *element = NULL;
    memset(&party, 0, sizeof party);
    EQUAL(tw_heap_create(&party.heap, 2, meddles, &party, offsetof(struct ranked, position)), 0);
    EQUAL(tw_heap_push(party.heap, &low), 0);
    EQUAL(tw_heap_push(party.heap, &high), 0);
    CHECK(party.calls > 0);
    EQUAL(tw_heap_pop(party.heap, &element), 1);
    CHECK(element == &high);
    EQUAL(tw_heap_destroy(party.heap), 0);
}

int main(void)
{
    int i;
    for (i = 0; i < FAMILY_COUNT; i++)
        of_a_queue(FAMILIES[i]);
    of_a_heap();
    return 0;
}
