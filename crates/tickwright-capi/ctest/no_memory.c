/* Memory runs out at each allocation in turn: nothing half-done. Queues never ask for any.
 * Linked statically, with --wrap for each function of malloc's, so that the library's calls come here. */
#include "check.h"

static long granted = -1; /* without limit */

static int grant(void)
{
    if (granted < 0)
        return 1;
    return granted > 0 && granted--;
}

#ifdef __cplusplus
extern "C" {
#endif
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **result, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **result, size_t alignment, size_t size);

void *__wrap_malloc(size_t size) { return grant() ? __real_malloc(size) : NULL; }
void *__wrap_calloc(size_t count, size_t size) { return grant() ? __real_calloc(count, size) : NULL; }
void *__wrap_realloc(void *old, size_t size) { return grant() ? __real_realloc(old, size) : NULL; }
int __wrap_posix_memalign(void **result, size_t alignment, size_t size)
{
    return grant() ? __real_posix_memalign(result, alignment, size) : ENOMEM;
}
#ifdef __cplusplus
}
#endif

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
        granted = grants;
        result = tw_heap_create(&heap, 0, by_value, NULL, 0);
        if (result != 0) {
            EQUAL(result, -ENOMEM);
            CHECK(heap == NULL);
            refusals++;
            granted = -1;
            continue;
        }
        for (i = 0; i < COUNT; i++) {
            items[i].value = i * 7919 % COUNT;
            items[i].position = 0;
            result = tw_heap_push(heap, &items[i]);
            pushed += result == 0;
            if (result != 0) {
                EQUAL(result, -ENOMEM);
                EQUAL(items[i].position, 0);
                refusals++;
                granted = -1;
                EQUAL(tw_heap_size(heap), pushed);
                EQUAL(tw_heap_verify(heap, NULL, 0), 0);
                granted = 0;
            }
        }
        for (i = 0; i < pushed; i++)
            EQUAL(tw_heap_pop(heap, &popped), 1);
        EQUAL(tw_heap_destroy(heap), 0);
        granted = -1;
    }
    CHECK(refusals > COUNT);
}

/* After the memory was given, nothing is allocated: not one grant is needed. */
static void queues(int family)
{
    enum { COUNT = 100 };
    static tw_timer timers[COUNT];
    size_t size = tw_queue_size(family, COUNT);
    void *memory = malloc(size);
    tw_queue *queue;
    tw_expired fired;
    int i, round;
    granted = 0;
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
    granted = -1;
    free(memory);
}

int main(void)
{
    int i;
    heaps();
    for (i = 0; i < FAMILY_COUNT; i++)
        queues(FAMILIES[i]);
    return 0;
}
