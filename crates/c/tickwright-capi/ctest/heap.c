/* The heap by itself: the tests of Asterisk's heap, and cases that those do not cover. */
#include "check.h"

enum { COUNT = 20000 };

struct item {
    int value, popped;
    size_t position;
};

static int by_value(const void *a, const void *b, void *user)
{
    const struct item *left = (const struct item *)a, *right = (const struct item *)b;
    ++*(size_t *)user;
    return (left->value > right->value) - (left->value < right->value);
}

static size_t comparisons;
static struct item items[COUNT];

static tw_heap *new_heap(size_t capacity, ptrdiff_t offset)
{
    tw_heap *heap = NULL;
    EQUAL(tw_heap_create(&heap, capacity, by_value, &comparisons, offset), 0);
    CHECK(heap != NULL);
    return heap;
}

static const ptrdiff_t POSITION = offsetof(struct item, position);

static struct item *pop(tw_heap *heap)
{
    void *popped = NULL;
    EQUAL(tw_heap_pop(heap, &popped), 1);
    return (struct item *)popped;
}

static void few(void)
{
    struct item three[3] = { { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } };
    tw_heap *heap = new_heap(0, POSITION), *other = new_heap(0, POSITION);
    void *popped = &popped;
    int i;
    for (i = 0; i < 3; i++)
        EQUAL(tw_heap_push(heap, &three[i]), 0);
    EQUAL(tw_heap_push(heap, &three[1]), -EALREADY);
    for (i = 3; i > 0; i--)
        EQUAL(pop(heap)->value, i);
    EQUAL(tw_heap_pop(heap, &popped), 0);
    CHECK(popped == &popped);
    EQUAL(tw_heap_peek(heap, 1, &popped), 0);

    EQUAL(tw_heap_push(heap, &three[0]), 0);
    EQUAL(tw_heap_push(other, &three[1]), 0);
    /* Its position is that of the other heap's head, and so is the position of three[0] here. */
    EQUAL(tw_heap_push(heap, &three[1]), -EXDEV);
    EQUAL(tw_heap_push(other, &three[0]), -EXDEV);
    EQUAL(tw_heap_check(heap, NULL, 0), 0);
    EQUAL(tw_heap_check(other, NULL, 0), 0);
    EQUAL(tw_heap_remove(heap, &three[1]), -EXDEV);
    EQUAL(tw_heap_update(heap, &three[1]), -EXDEV);
    EQUAL(tw_heap_remove(heap, &three[2]), -ENOENT);
    EQUAL(tw_heap_update(heap, &three[2]), -ENOENT);
    three[2].position = SIZE_MAX;
    EQUAL(tw_heap_remove(heap, &three[2]), -EXDEV);
    EQUAL(tw_heap_push(heap, &three[2]), -EXDEV);
    EQUAL(three[2].position == SIZE_MAX, 1);
    EQUAL(tw_heap_len(heap), 1);
    EQUAL(tw_heap_remove(heap, &three[0]), 0);
    EQUAL(tw_heap_remove(heap, &three[0]), -ENOENT);
    EQUAL(tw_heap_destroy(other), 0);
    EQUAL(three[1].position, 0);
    EQUAL(tw_heap_destroy(heap), 0);
}

static void without_positions(void)
{
    struct item item = { 1, 0, 77 };
    tw_heap *heap = new_heap(0, -1);
    EQUAL(tw_heap_push(heap, &item), 0);
    EQUAL(tw_heap_remove(heap, &item), -ENOENT);
    EQUAL(tw_heap_update(heap, &item), -ENOENT);
    EQUAL(item.position, 77);
    CHECK(pop(heap) == &item);
    EQUAL(tw_heap_destroy(heap), 0);
}

/* Which heap has an element, and an element whose memory held something else before. */
static void contained(void)
{
    struct item items_of_two[3] = { { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } }, *fresh;
    tw_heap *heap = new_heap(0, POSITION), *other = new_heap(0, POSITION);
    tw_heap *without = new_heap(0, -1);
    size_t position;
    for (position = 0; position < 3; position++)
        EQUAL(tw_heap_contains(heap, &items_of_two[position]), 0);
    EQUAL(tw_heap_push(heap, &items_of_two[0]), 0);
    EQUAL(tw_heap_push(heap, &items_of_two[1]), 0);
    EQUAL(tw_heap_push(other, &items_of_two[2]), 0);
    EQUAL(tw_heap_contains(heap, &items_of_two[0]), 1);
    EQUAL(tw_heap_contains(heap, &items_of_two[1]), 1);
    EQUAL(tw_heap_contains(heap, &items_of_two[2]), 0); /* its position is that of another here */
    EQUAL(tw_heap_contains(other, &items_of_two[2]), 1);
    EQUAL(tw_heap_contains(other, &items_of_two[1]), 0);
    EQUAL(tw_heap_remove(heap, &items_of_two[1]), 0);
    EQUAL(tw_heap_contains(heap, &items_of_two[1]), 0);

    /* Memory of any content: a push refuses each position but 0, until tw_heap_forget sets it to
     * 0. */
    fresh = (struct item *)malloc(sizeof *fresh);
    CHECK(fresh != NULL);
    for (position = 0; position < 5; position++) {
        memset(fresh, 0xa5, sizeof *fresh);
        fresh->value = 7;
        fresh->position = position == 4 ? SIZE_MAX : position;
        EQUAL(tw_heap_contains(heap, fresh), 0);
        EQUAL(tw_heap_push(heap, fresh), position == 0 ? 0 : -EXDEV);
        EQUAL(tw_heap_contains(heap, fresh), position == 0);
        if (position > 0) {
            EQUAL(tw_heap_forget(heap, fresh), 0);
            EQUAL(fresh->position, 0);
            EQUAL(fresh->value, 7);
            EQUAL(tw_heap_push(heap, fresh), 0);
        }
        EQUAL(tw_heap_contains(heap, fresh), 1);
        EQUAL(tw_heap_remove(heap, fresh), 0);
    }
    free(fresh);
    fresh = (struct item *)malloc(sizeof *fresh); /* never written: valgrind would see a read */
    CHECK(fresh != NULL);
    EQUAL(tw_heap_forget(heap, fresh), 0);
    fresh->value = 7;
    EQUAL(tw_heap_push(heap, fresh), 0);
    CHECK(pop(heap) == fresh);
    free(fresh);
    CHECK(strstr(tw_strerror(-EXDEV), "tw_heap_forget") != NULL);

    /* Without positions a heap looks at each element. */
    for (position = 0; position < 3; position++)
        EQUAL(tw_heap_push(without, &items_of_two[position]), 0);
    for (position = 0; position < 3; position++)
        EQUAL(tw_heap_contains(without, &items_of_two[position]), 1);
    EQUAL(tw_heap_contains(without, heap), 0);
    EQUAL(tw_heap_forget(without, &items_of_two[0]), 0);
    EQUAL(items_of_two[0].position, 1);
    EQUAL(tw_heap_destroy(without), 0);
    EQUAL(tw_heap_check(heap, NULL, 0), 0);
    EQUAL(tw_heap_destroy(heap), 0);
    EQUAL(tw_heap_destroy(other), 0);
}

/* Random calls on two heaps, right ones and wrong ones. `where` is the heap that an item is in. */
static void anyhow(void)
{
    enum { ITEMS = 60, ROUNDS = 50000 };
    static struct item all[ITEMS];
    static int where[ITEMS];
    tw_heap *heaps[2];
    ptrdiff_t sizes[2] = { 0, 0 };
    uint64_t random = 2002;
    int round, i;
    heaps[0] = new_heap(0, POSITION);
    heaps[1] = new_heap(7, POSITION);
    memset(all, 0, sizeof all);
    for (i = 0; i < ITEMS; i++)
        where[i] = -1;
    for (round = 0; round < ROUNDS; round++) {
        int h = (int)(next_random(&random) % 2), is_in;
        i = (int)(next_random(&random) % ITEMS);
        is_in = where[i] == h;
        switch (next_random(&random) % 7) {
        case 0:
        case 1:
            if (where[i] < 0)
                all[i].value = (int)(next_random(&random) % 1000);
            EQUAL(tw_heap_push(heaps[h], &all[i]), is_in ? -EALREADY : where[i] >= 0 ? -EXDEV : 0);
            if (where[i] < 0) {
                where[i] = h;
                sizes[h]++;
            }
            break;
        case 2:
            EQUAL(tw_heap_remove(heaps[h], &all[i]), is_in ? 0 : where[i] >= 0 ? -EXDEV : -ENOENT);
            if (is_in) {
                where[i] = -1;
                sizes[h]--;
            }
            break;
        case 3:
            if (is_in)
                all[i].value = (int)(next_random(&random) % 1000);
            EQUAL(tw_heap_update(heaps[h], &all[i]), is_in ? 0 : where[i] >= 0 ? -EXDEV : -ENOENT);
            break;
        case 4:
            if (sizes[h] > 0) {
                struct item *item = pop(heaps[h]);
                EQUAL(where[item - all], h);
                where[item - all] = -1;
                sizes[h]--;
            }
            break;
        case 5:
            if (where[i] < 0) {
                all[i].position = (size_t)next_random(&random) % 100;
                EQUAL(tw_heap_contains(heaps[h], &all[i]), 0);
                EQUAL(tw_heap_forget(heaps[h], &all[i]), 0);
            }
            break;
        default:
            EQUAL(tw_heap_contains(heaps[h], &all[i]), is_in);
        }
        EQUAL(tw_heap_len(heaps[h]), sizes[h]);
        if (round % 64 == 0)
            EQUAL(tw_heap_check(heaps[h], NULL, 0), 0);
    }
    EQUAL(tw_heap_destroy(heaps[0]), 0);
    EQUAL(tw_heap_destroy(heaps[1]), 0);
}

static void pop_all(tw_heap *heap)
{
    int i, last = 0;
    for (i = 0; i < COUNT; i++) {
        struct item *item = pop(heap);
        CHECK(i == 0 || item->value <= last);
        EQUAL(item->popped++, 0);
        EQUAL(item->position, 0);
        last = item->value;
    }
    EQUAL(tw_heap_len(heap), 0);
}

static void many(int removals)
{
    uint64_t random = 4711;
    tw_heap *heap = new_heap(COUNT / 2, POSITION);
    char text[80];
    int i;
    for (i = 0; i < COUNT; i++) {
        items[i].value = (int)(next_random(&random) % 1000000);
        items[i].popped = 0;
        items[i].position = 0;
        EQUAL(tw_heap_push(heap, &items[i]), 0);
    }
    EQUAL(tw_heap_len(heap), COUNT);
    EQUAL(tw_heap_check(heap, text, sizeof text), 0);
    for (i = 0; i < removals; i++) {
        size_t position = 1 + (size_t)(next_random(&random) % COUNT);
        void *found = NULL;
        struct item *item;
        EQUAL(tw_heap_peek(heap, position, &found), 1);
        item = (struct item *)found;
        EQUAL(item->position, position);
        if (i % 2) {
            EQUAL(tw_heap_remove(heap, item), 0);
            EQUAL(tw_heap_push(heap, item), 0);
        } else {
            item->value = (int)(next_random(&random) % 1000000);
            EQUAL(tw_heap_update(heap, item), 0);
        }
    }
    EQUAL(tw_heap_check(heap, text, sizeof text), 0);

    items[7].position++;
    EQUAL(tw_heap_check(heap, text, sizeof text), -EBADMSG);
    CHECK(strstr(text, "position") != NULL);
    items[7].position--;
    items[7].value = -1;
    items[7].value = 2000000;
    EQUAL(tw_heap_update(heap, &items[7]), 0);
    pop_all(heap);
    EQUAL(tw_heap_destroy(heap), 0);
}

int main(void)
{
    few();
    without_positions();
    contained();
    anyhow();
    many(0);
    many(COUNT / 10);
    CHECK(comparisons > 0);
    return 0;
}
