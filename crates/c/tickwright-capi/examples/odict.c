/* A program written against the names of HelenOS's ordered dictionary, with tickwright-odict.h in
 * place of its header. It keeps areas of an address space by their first address. */
#include <stdio.h>

#include "tickwright-odict.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

typedef struct {
    uintptr_t base;
    size_t size;
    odlink_t by_base;
} area_t;

static void *base_of(odlink_t *odlink)
{
    return &odict_get_instance(odlink, area_t, by_base)->base;
}

static int by_address(void *a, void *b)
{
    uintptr_t left = *(uintptr_t *)a, right = *(uintptr_t *)b;
    return (left > right) - (left < right);
}

/* Returns the area that contains an address. */
static area_t *area_at(odict_t *areas, uintptr_t address)
{
    odlink_t *odlink = odict_find_leq(areas, &address, NULL);
    area_t *area = odlink == NULL ? NULL : odict_get_instance(odlink, area_t, by_base);
    return area != NULL && address - area->base < area->size ? area : NULL;
}

int main(void)
{
    enum { COUNT = 20 };
    static area_t own[COUNT];
    odict_t areas;
    odlink_t *odlink;
    uintptr_t last = 0, key;
    int i, seen = 0;
    odict_initialize(&areas, base_of, by_address);
    CHECK(odict_empty(&areas) && odict_first(&areas) == NULL);
    for (i = 0; i < COUNT; i++) {
        own[i].base = (uintptr_t)(1 + i * 7 % COUNT) * 0x10000;
        own[i].size = 0x8000;
        odlink_initialize(&own[i].by_base);
        CHECK(!odlink_used(&own[i].by_base));
        odict_insert(&own[i].by_base, &areas, i == 0 ? NULL : &own[i - 1].by_base);
        CHECK(odlink_used(&own[i].by_base));
    }
    CHECK(odict_count(&areas) == COUNT && odict_validate(&areas) == EOK);
    for (odlink = odict_first(&areas); odlink != NULL; odlink = odict_next(odlink, &areas)) {
        uintptr_t base = odict_get_instance(odlink, area_t, by_base)->base;
        CHECK(base > last);
        last = base;
        seen++;
    }
    CHECK(seen == COUNT);
    CHECK(area_at(&areas, 0x17fff)->base == 0x10000);
    CHECK(area_at(&areas, 0x18000) == NULL && area_at(&areas, 5) == NULL);
    key = 0x20000;
    odlink = odict_find_eq(&areas, &key, NULL);
    CHECK(odlink != NULL && odict_find_eq_last(&areas, &key, odict_last(&areas)) == odlink);
    CHECK(odict_find_geq(&areas, &key, NULL) == odlink);
    CHECK(odict_find_lt(&areas, &key, NULL) == odict_first(&areas));
    CHECK(odict_find_gt(&areas, &key, NULL) == odict_next(odlink, &areas));
    odlink = odict_first(&areas);
    odict_get_instance(odlink, area_t, by_base)->base = (COUNT + 5) * (uintptr_t)0x10000;
    odict_key_update(odlink, &areas);
    CHECK(odict_last(&areas) == odlink && odict_prev(odlink, &areas) != NULL);
    odict_remove(odlink);
    CHECK(!odlink_used(odlink) && odict_count(&areas) == COUNT - 1);
    while ((odlink = odict_first(&areas)) != NULL)
        odict_remove(odlink);
    odict_finalize(&areas);
    return 0;
}
