/* Memory runs out at each allocation in turn: each call of a heap succeeds or changes nothing.
 * Queues never allocate memory. */
#define REFUSALS \
    { "tw_heap_create", ENOMEM }, \
    { "tw_heap_push", ENOMEM }
#include "refusals.h"

struct item {
    size_t position;
    int value;
};

static int by_value(const void *a, const void *b, void *user)
{
    const struct item *left = (const struct item *)a, *right = (const struct item *)b;
    (void)user;
    return (left->value > right->value) - (left->value < right->value);
}

static void fire(const tw_expired *fired, void *user)
{
    (void)fired;
    (void)user;
}

static void heaps(void)
{
    enum { COUNT = 200 };
    static struct item items[COUNT];
    int grants, refusals = 0;
    for (grants = 0; grants < 12; grants++) {
        tw_heap *heap = NULL;
        void *popped;
        int i, result, pushed = 0;
        grant_only(grants);
        result = noted("tw_heap_create", tw_heap_create(&heap, 0, by_value, NULL, 0));
        if (result != 0) {
            EQUAL(result, -ENOMEM);
            CHECK(heap == NULL);
            refusals++;
            grant_all();
            continue;
        }
        for (i = 0; i < COUNT; i++) {
            items[i].value = i * 7919 % COUNT;
            items[i].position = 0;
            result = noted("tw_heap_push", tw_heap_push(heap, &items[i]));
            pushed += result == 0;
            if (result != 0) {
                EQUAL(result, -ENOMEM);
                EQUAL(items[i].position, 0);
                refusals++;
                grant_all();
                EQUAL(tw_heap_len(heap), pushed);
                EQUAL(tw_heap_check(heap, NULL, 0), 0);
                grant_only(0);
            }
        }
        for (i = 0; i < pushed; i++)
            EQUAL(tw_heap_pop(heap, &popped), 1);
        EQUAL(tw_heap_destroy(heap), 0);
        grant_all();
    }
    CHECK(refusals > COUNT);
}

/* After the caller has given the memory, the library allocates nothing: no grant is needed. */
static void queues(tw_family family)
{
    enum { COUNT = 100 };
    static tw_timer timers[COUNT];
    size_t size = tw_queue_bytes(family, COUNT);
    void *memory = malloc(size);
    tw_queue *queue;
    tw_expired fired = TW_EXPIRED_INIT;
    int i, round;
    grant_only(0);
    EQUAL(tw_queue_init(&queue, memory, size, family, COUNT), 0);
    for (round = 0; round < 20; round++) {
        for (i = 0; i < COUNT; i++)
            CHECK(tw_queue_insert(queue, &timers[i], (uint64_t)(round * 1000 + i * 7919 % 1000)) >= 0);
        for (i = 0; i < COUNT; i += 3)
            CHECK(tw_queue_reschedule(queue, &timers[i], (uint64_t)(round * 1000 + i)) >= 0);
        for (i = 0; i < COUNT; i += 2)
            CHECK(tw_queue_remove(queue, &timers[i]) >= 0);
        EQUAL(tw_queue_pop_expired(queue, (uint64_t)(round * 1000 + 999), &fired) >= 0, 1);
        CHECK(tw_queue_advance(queue, (uint64_t)(round * 1000 + 1600), SIZE_MAX, fire, NULL, NULL) == 0);
        EQUAL(tw_queue_check(queue, NULL, 0), 0);
        EQUAL(tw_queue_clear(queue), 0);
    }
    EQUAL(tw_queue_destroy(queue), 0);
    grant_all();
    free(memory);
}

int main(void)
{
    int i;
    heaps();
    for (i = 0; i < FAMILY_COUNT; i++)
        queues(FAMILIES[i]);
    each_refusal_came(NULL);
    return 0;
}
