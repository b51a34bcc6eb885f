/* Null pointers, nonsense and ended objects: each call returns an error. */
#include "check.h"

static void fire(const tw_expired *fired, void *user)
{
    (void)fired;
    (void)user;
}

static uint64_t rearm(tw_timer *timer, uint64_t expiry, void *user)
{
    (void)timer;
    (void)user;
    return expiry + 1;
}

static int compare(const void *a, const void *b, void *user)
{
    (void)user;
    return (a > b) - (a < b);
}

/* Every function that takes a queue returns that this is no queue. */
static void no_queue(tw_queue *queue)
{
    tw_timer timer = TW_TIMER_INIT, *shown;
    tw_expired fired = TW_EXPIRED_INIT;
    tw_advance done = TW_ADVANCE_INIT;
    uint64_t tick;
    char text[4] = "abc";
    EQUAL(tw_queue_insert(queue, &timer, 1), -EINVAL);
    EQUAL(tw_queue_remove(queue, &timer), -EINVAL);
    EQUAL(tw_queue_reschedule(queue, &timer, 1), -EINVAL);
    EQUAL(tw_queue_expiry(queue, &timer, &tick), -EINVAL);
    EQUAL(tw_queue_peek(queue, &shown, &tick), -EINVAL);
    EQUAL(tw_queue_second(queue, &shown, &tick), -EINVAL);
    EQUAL(tw_queue_next_expiry(queue, &tick), -EINVAL);
    EQUAL(tw_queue_next_wake(queue, &tick), -EINVAL);
    EQUAL(tw_queue_pop_expired(queue, 1, &fired), -EINVAL);
    EQUAL(tw_queue_pop_and_reinsert(queue, 1, rearm, NULL, &fired), -EINVAL);
    EQUAL(tw_queue_advance(queue, 1, 1, fire, NULL, &done), -EINVAL);
    EQUAL(tw_queue_update_now(queue, 1), -EINVAL);
    EQUAL(tw_queue_now(queue, &tick), -EINVAL);
    EQUAL(tw_queue_len(queue), -EINVAL);
    EQUAL(tw_queue_clear(queue), -EINVAL);
    EQUAL(tw_queue_check(queue, text, sizeof text), -EINVAL);
    EQUAL(tw_queue_destroy(queue), -EINVAL);
    EQUAL(strcmp(text, "abc"), 0);
    EQUAL(tw_timer_is_linked(&timer), 0);
}

static void no_heap(tw_heap *heap)
{
    void *element;
    EQUAL(tw_heap_push(heap, &element), -EINVAL);
    EQUAL(tw_heap_pop(heap, &element), -EINVAL);
    EQUAL(tw_heap_peek(heap, 1, &element), -EINVAL);
    EQUAL(tw_heap_remove(heap, &element), -EINVAL);
    EQUAL(tw_heap_update(heap, &element), -EINVAL);
    EQUAL(tw_heap_contains(heap, &element), -EINVAL);
    EQUAL(tw_heap_forget(heap, &element), -EINVAL);
    EQUAL(tw_heap_len(heap), -EINVAL);
    EQUAL(tw_heap_check(heap, NULL, 0), -EINVAL);
}

static void no_timer(tw_queue *queue, tw_timer *timer)
{
    EQUAL(tw_timer_is_linked(timer), -EINVAL);
    EQUAL(tw_queue_insert(queue, timer, 1), -EINVAL);
    EQUAL(tw_queue_remove(queue, timer), -EINVAL);
    EQUAL(tw_queue_reschedule(queue, timer, 1), -EINVAL);
    EQUAL(tw_queue_expiry(queue, timer, NULL), -EINVAL);
    EQUAL(tw_queue_len(queue), 0);
}

/* Eight bytes that are no object: the library reads no byte behind them. */
static void small_memory(void)
{
    uint64_t *few = (uint64_t *)malloc(sizeof *few);
    tw_sched_info info = TW_SCHED_INFO_INIT;
    CHECK(few != NULL);
    for (*few = 0; *few < 3; ++*few) {
        no_queue((tw_queue *)few);
        no_heap((tw_heap *)few);
        EQUAL(tw_heap_destroy((tw_heap *)few), -EINVAL);
        EQUAL(tw_sched_run((tw_sched *)few, 1), -EINVAL);
        EQUAL(tw_sched_find((tw_sched *)few, 1, &info), -EINVAL);
        EQUAL(tw_sched_destroy((tw_sched *)few), -EINVAL);
        EQUAL(tw_runtime_len((tw_runtime *)few), -EINVAL);
        EQUAL(tw_runtime_destroy((tw_runtime *)few), -EINVAL);
        EQUAL(tw_odict_len((tw_odict *)few), -EINVAL);
        EQUAL(tw_odict_destroy((tw_odict *)few), -EINVAL);
    }
    free(few);
}

static uint64_t never(tw_timer *timer, uint64_t expiry, void *user)
{
    (void)timer;
    (void)user;
    CHECK(!"called");
    return expiry;
}

/* Output pointers that are not aligned: the call changes nothing. */
static void no_place(tw_queue *queue, tw_timer *timer, void *odd)
{
    tw_timer *head;
    uint64_t tick;
    EQUAL(tw_queue_insert(queue, timer, 1), 1);
    EQUAL(tw_queue_expiry(queue, timer, (uint64_t *)odd), -EINVAL);
    EQUAL(tw_queue_peek(queue, (tw_timer **)odd, &tick), -EINVAL);
    EQUAL(tw_queue_peek(queue, &head, (uint64_t *)odd), -EINVAL);
    EQUAL(tw_queue_second(queue, (tw_timer **)odd, &tick), -EINVAL);
    EQUAL(tw_queue_second(queue, &head, (uint64_t *)odd), -EINVAL);
    EQUAL(tw_queue_next_expiry(queue, (uint64_t *)odd), -EINVAL);
    EQUAL(tw_queue_next_wake(queue, (uint64_t *)odd), -EINVAL);
    EQUAL(tw_queue_pop_expired(queue, 9, (tw_expired *)odd), -EINVAL);
    EQUAL(tw_queue_pop_and_reinsert(queue, 9, never, NULL, (tw_expired *)odd), -EINVAL);
    EQUAL(tw_queue_advance(queue, 9, 9, fire, NULL, (tw_advance *)odd), -EINVAL);
    EQUAL(tw_queue_now(queue, (uint64_t *)odd), -EINVAL);
    EQUAL(tw_queue_now(queue, &tick), 0);
    EQUAL(tick, 0);
    EQUAL(tw_queue_remove(queue, timer), 1);
}

static void queues(tw_family family)
{
    uint64_t nonsense[64];
    char odd[200];
    size_t size = tw_queue_bytes(family, 2), less;
    char *memory = (char *)malloc(size), *copy = (char *)malloc(size);
    tw_queue *queue, *other = (tw_queue *)nonsense;
    tw_timer timer;

    EQUAL(tw_queue_init(NULL, memory, size, family, 2), -EINVAL);
    EQUAL(tw_queue_init(&other, NULL, size, family, 2), -EINVAL);
    for (less = 0; less < size; less += less < 100 ? 1 : size - less > 100 ? 97 : 1) {
        EQUAL(tw_queue_init(&other, memory, less, family, 2), -ENOSPC);
        CHECK(other == NULL);
    }
    EQUAL(tw_queue_init(&queue, memory, size, family, 2), 0);
    EQUAL(tw_queue_advance(queue, 1, 1, NULL, NULL, NULL), -EINVAL);
    EQUAL(tw_queue_pop_and_reinsert(queue, 1, NULL, NULL, NULL), -EINVAL);
    EQUAL(tw_queue_now(queue, NULL), 0);

    no_timer(queue, NULL);
    memset(&timer, 0xff, sizeof timer);
    no_timer(queue, &timer);
    memset(nonsense, 0xa5, sizeof nonsense);
    no_timer(queue, (tw_timer *)nonsense);
    no_timer(queue, (tw_timer *)(void *)(odd + 1 + ((uintptr_t)odd & 1)));

    EQUAL(tw_timer_init(&timer), 0);
    no_place(queue, &timer, odd + 1 + ((uintptr_t)odd & 1));

    /* A copy of a queue is no queue, and neither is a destroyed queue. */
    CHECK(tw_timer_init(&timer) == 0 && tw_queue_insert(queue, &timer, 5) == 1);
    memcpy(copy, memory, size);
    other = (tw_queue *)(void *)(copy + ((char *)queue - memory));
    if (((uintptr_t)other & 7) == 0)
        no_queue(other);
    EQUAL(tw_queue_destroy(queue), 0);
    no_queue(queue);
    free(memory);
    free(copy);
}

/* The check names a structure that other code has overwritten. */
static void overwritten(void)
{
    void *memory;
    tw_queue *queue = new_queue(TW_FAMILY_LIST, 0, &memory);
    tw_timer first = TW_TIMER_INIT, second = TW_TIMER_INIT, kept;
    char text[80], brief[5];
    CHECK(tw_queue_insert(queue, &first, 1) == 1 && tw_queue_insert(queue, &second, 2) == 0);
    EQUAL(tw_queue_check(queue, text, sizeof text), 0);
    kept = second;
    EQUAL(tw_timer_init(&second), 0); /* as the header forbids */
    EQUAL(tw_queue_check(queue, text, sizeof text), -EBADMSG);
    CHECK(strlen(text) > 10);
    EQUAL(tw_queue_check(queue, brief, sizeof brief), -EBADMSG);
    EQUAL(strncmp(text, brief, 4), 0);
    EQUAL(strlen(brief), 4);
    EQUAL(tw_queue_check(queue, brief, 1), -EBADMSG);
    EQUAL(strlen(brief), 0);
    EQUAL(tw_queue_check(queue, NULL, 0), -EBADMSG);
    second = kept;
    end_queue(queue, memory);
}

static void sizes(void)
{
    static const int none[] = { 0, -1, 9, 1000, TW_CLOCK_VIRTUAL, -2147483647 - 1, 2147483647 };
    char memory[64];
    tw_queue *queue;
    size_t i;
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        EQUAL(tw_queue_bytes((tw_family)none[i], 1), 0);
        EQUAL(tw_queue_init(&queue, memory, sizeof memory, (tw_family)none[i], 1), -EINVAL);
        CHECK(queue == NULL);
    }
    EQUAL(tw_queue_bytes(TW_FAMILY_HEAP4, SIZE_MAX), 0);
    EQUAL(tw_queue_bytes(TW_FAMILY_HEAP4, SIZE_MAX / 32), 0);
    EQUAL(tw_queue_bytes(TW_FAMILY_HEAP2, UINT32_MAX), 0); /* cells are numbered in 32 bits */
    EQUAL(tw_queue_init(&queue, memory, sizeof memory, TW_FAMILY_HEAP4, SIZE_MAX), -ENOSPC);
    EQUAL(tw_queue_init(&queue, memory, sizeof memory, TW_FAMILY_HEAP4, SIZE_MAX / 128), -ENOSPC);
}

/* The constants of the header, for static memory. */
static unsigned char lists[TW_QUEUE_BYTES], wheels[TW_WHEEL_BYTES], coarses[TW_COARSE_BYTES], heaps[TW_HEAP_BYTES(100)];

static void in_statics(void)
{
    tw_queue *queue;
    EQUAL(tw_queue_init(&queue, lists, sizeof lists, TW_FAMILY_RB_CACHED, 0), 0);
    EQUAL(tw_queue_destroy(queue), 0);
    EQUAL(tw_queue_init(&queue, wheels, sizeof wheels, TW_FAMILY_WHEEL, 0), 0);
    EQUAL(tw_queue_destroy(queue), 0);
    EQUAL(tw_queue_init(&queue, coarses, sizeof coarses, TW_FAMILY_COARSE, 0), 0);
    EQUAL(tw_queue_destroy(queue), 0);
    EQUAL(tw_queue_init(&queue, heaps, sizeof heaps, TW_FAMILY_HEAP2, 100), 0);
    EQUAL(tw_queue_destroy(queue), 0);
}

/* A number whose family is gone chooses the one that has taken its place. */
static void an_old_number(void)
{
    void *memory, *other;
    tw_queue *queue = new_queue(TW_FAMILY_AVL, 0, &memory), *today = new_queue(TW_FAMILY_RB_CACHED, 0, &other);
    tw_timer first = TW_TIMER_INIT, second = TW_TIMER_INIT;
    CHECK(tw_queue_insert(queue, &second, 2) == 1 && tw_queue_insert(queue, &first, 1) == 1);
    EQUAL(tw_queue_remove(queue, &first), 1);
    EQUAL(tw_queue_insert(today, &first, 1), 1);
    EQUAL(tw_queue_check(queue, NULL, 0), 0);
    end_queue(queue, memory);
    end_queue(today, other);
}

static void heap_misuse(void)
{
    struct { char pad; size_t position; } element = { 0, 0 };
    uint64_t nonsense[16];
    tw_heap *heap;
    void *popped;
    EQUAL(tw_heap_create(NULL, 1, compare, NULL, -1), -EINVAL);
    heap = (tw_heap *)nonsense;
    EQUAL(tw_heap_create(&heap, 1, NULL, NULL, -1), -EINVAL);
    CHECK(heap == NULL);
    EQUAL(tw_heap_create(&heap, SIZE_MAX, compare, NULL, -1), -ENOMEM);
    CHECK(heap == NULL);
    no_heap(NULL);
    EQUAL(tw_heap_destroy(NULL), 0);
    memset(nonsense, 0xa5, sizeof nonsense);
    no_heap((tw_heap *)nonsense);
    EQUAL(tw_heap_destroy((tw_heap *)nonsense), -EINVAL);

    EQUAL(tw_heap_create(&heap, 1, compare, NULL, 1), 0);
    EQUAL(tw_heap_push(heap, &element), -EINVAL); /* its position would not be aligned */
    EQUAL(tw_heap_push(heap, NULL), -EINVAL);
    EQUAL(tw_heap_remove(heap, NULL), -EINVAL);
    EQUAL(tw_heap_update(heap, NULL), -EINVAL);
    EQUAL(tw_heap_contains(heap, NULL), -EINVAL);
    EQUAL(tw_heap_contains(heap, &element), -EINVAL);
    EQUAL(tw_heap_forget(heap, NULL), -EINVAL);
    EQUAL(tw_heap_forget(heap, &element), -EINVAL);
    EQUAL(tw_heap_pop(heap, NULL), -EINVAL);
    EQUAL(tw_heap_peek(heap, 1, NULL), -EINVAL);
    EQUAL(tw_heap_pop(heap, &popped), 0);
    EQUAL(tw_heap_len(heap), 0);
    EQUAL(tw_heap_destroy(heap), 0);
}

int main(void)
{
    static const int codes[] = { EINVAL, E2BIG, ENOENT, EALREADY, EXDEV, ENOSPC, ENOMEM, EBUSY, EOVERFLOW, ENOTCONN, EBADMSG };
    size_t i, k;
    no_queue(NULL);
    EQUAL(tw_timer_init(NULL), -EINVAL);
    EQUAL(tw_timer_is_linked(NULL), -EINVAL);
    for (i = 0; i < FAMILY_COUNT; i++)
        queues(FAMILIES[i]);
    overwritten();
    sizes();
    in_statics();
    an_old_number();
    heap_misuse();
    small_memory();

    EQUAL(strcmp(tw_version(), TW_VERSION), 0);
    EQUAL(strcmp(tw_strerror(0), tw_strerror(7)), 0);
    for (i = 0; i < sizeof codes / sizeof *codes; i++) {
        CHECK(strcmp(tw_strerror(-codes[i]), tw_strerror(-9999)) != 0);
        for (k = 0; k < i; k++)
            CHECK(strcmp(tw_strerror(-codes[i]), tw_strerror(-codes[k])) != 0);
    }
    CHECK(tw_strerror(-2147483647 - 1) != NULL && tw_strerror(2147483647) != NULL);
    return 0;
}
