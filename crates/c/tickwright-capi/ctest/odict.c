/* Compares two ordered dictionaries over the same objects with sorted arrays. Then tests misuse,
 * and comparators that contradict themselves. */
#include "check.h"

enum { OBJECTS = 40, KEYS = 12, STEPS = 20000 };

struct object {
    int number;
    uint64_t key;
    tw_odlink link, other;
};

static const tw_odict_how SEARCHES[] = { TW_ODICT_EQ, TW_ODICT_EQ_LAST, TW_ODICT_GEQ, TW_ODICT_GT, TW_ODICT_LEQ, TW_ODICT_LT };

/* The argument of the caller's functions. */
struct order {
    tw_odict *probe; /* if not null, is called about while they run, and must refuse */
    uint64_t lies;   /* if not 0, answers are random */
};

static void provoke(const struct order *order)
{
    tw_odlink *found;
    if (order->probe == NULL)
        return;
    EQUAL(tw_odict_len(order->probe), -EBUSY);
    EQUAL(tw_odict_clear(order->probe), -EBUSY);
    EQUAL(tw_odict_destroy(order->probe), -EBUSY);
    EQUAL(tw_odict_first(order->probe, &found), -EBUSY);
}

static const void *key_of(const tw_odlink *link, void *user)
{
    provoke((const struct order *)user);
    return &TW_CONTAINER(link, struct object, link)->key;
}

static const void *key_of_other(const tw_odlink *link, void *user)
{
    provoke((const struct order *)user);
    return &TW_CONTAINER(link, struct object, other)->key;
}

static int compare(const void *a, const void *b, void *user)
{
    struct order *order = (struct order *)user;
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    provoke(order);
    if (order->lies)
        return (int)(next_random(&order->lies) % 3) - 1;
    return (left > right) - (left < right);
}

/* The model: numbers of objects, sorted by key, equals in the order of arrival. */
static struct object objects[OBJECTS];
static int model[OBJECTS], count;

static int lower(uint64_t key)
{
    int at = 0;
    while (at < count && objects[model[at]].key < key)
        at++;
    return at;
}

static int upper(uint64_t key)
{
    int at = 0;
    while (at < count && objects[model[at]].key <= key)
        at++;
    return at;
}

static int place_of(int number)
{
    int at;
    for (at = 0; at < count; at++)
        if (model[at] == number)
            return at;
    return -1;
}

static void put_in(int number)
{
    int at = upper(objects[number].key);
    memmove(model + at + 1, model + at, (size_t)(count - at) * sizeof *model);
    model[at] = number;
    count++;
}

static void take_out(int at)
{
    count--;
    memmove(model + at, model + at + 1, (size_t)(count - at) * sizeof *model);
}

static int expected(int how, uint64_t key)
{
    int low = lower(key), high = upper(key);
    switch (how) {
    case TW_ODICT_EQ: return low < high ? low : -1;
    case TW_ODICT_EQ_LAST: return low < high ? high - 1 : -1;
    case TW_ODICT_GEQ: return low < count ? low : -1;
    case TW_ODICT_GT: return high < count ? high : -1;
    case TW_ODICT_LEQ: return high - 1;
    default: return low - 1;
    }
}

/* Checks `found` after the call that has returned `code`. */
static void is(int code, tw_odlink *const *found, int at)
{
    EQUAL(code, at >= 0 && at < count);
    if (code == 1)
        EQUAL(TW_CONTAINER(*found, struct object, link)->number, model[at]);
}

static void compare_all(const tw_odict *odict)
{
    char text[80];
    tw_odlink *found = NULL;
    int at;
    EQUAL(tw_odict_check(odict, text, sizeof text), 0);
    EQUAL(tw_odict_len(odict), count);
    is(tw_odict_first(odict, &found), &found, 0);
    is(tw_odict_last(odict, &found), &found, count - 1);
    for (at = 0; at < count; at++) {
        tw_odlink *link = &objects[model[at]].link;
        is(tw_odict_next(odict, link, &found), &found, at + 1);
        is(tw_odict_prev(odict, link, &found), &found, at - 1);
        EQUAL(tw_odlink_is_linked(link), 1);
    }
}

static void conformance(uint64_t random)
{
    struct order order = { NULL, 0 }, others = { NULL, 0 };
    tw_odict odict, other;
    tw_odlink *found = NULL;
    int step, i;
    memset(objects, 0, sizeof objects);
    memset(&odict, 0xa5, sizeof odict);
    count = 0;
    EQUAL(tw_odict_init(&odict, key_of, compare, &order), 0);
    EQUAL(tw_odict_init(&other, key_of_other, compare, &others), 0);
    for (i = 0; i < OBJECTS; i++)
        objects[i].number = i;
    order.probe = &odict;
    others.probe = &other;
    for (step = 0; step < STEPS; step++) {
        int number = (int)(next_random(&random) % OBJECTS), what = (int)(next_random(&random) % 12);
        int at = place_of(number), hint_number = (int)(next_random(&random) % OBJECTS);
        uint64_t key = next_random(&random) % 8 ? next_random(&random) % KEYS : UINT64_MAX - next_random(&random) % 2;
        tw_odlink *link = &objects[number].link, *hint = what % 2 ? &objects[hint_number].link : NULL;
        int bad = hint != NULL && place_of(hint_number) < 0;
        if (what < 5 && at < 0) {
            objects[number].key = key;
            EQUAL(tw_odict_insert(&odict, link, hint), bad ? -ENOENT : 0);
            if (!bad)
                put_in(number);
        } else if (what < 5) {
            EQUAL(tw_odict_insert(&odict, link, NULL), -EALREADY);
            EQUAL(tw_odict_append(&odict, link), place_of(number) < 0 || upper(objects[number].key) == count ? -EALREADY : -ERANGE);
        } else if (what == 5 && at < 0) {
            objects[number].key = key;
            i = count == 0 || upper(key) == count;
            EQUAL(tw_odict_append(&odict, link), i ? 0 : -ERANGE);
            if (i)
                put_in(number);
        } else if (what == 6 && at < 0) {
            objects[number].key = key;
            i = upper(key) == 0;
            EQUAL(tw_odict_prepend(&odict, link), i ? 0 : -ERANGE);
            if (i)
                put_in(number);
        } else if (what < 9) {
            EQUAL(tw_odict_remove(&odict, link), at < 0 ? -ENOENT : 0);
            if (at >= 0)
                take_out(at);
        } else if (what == 9 && at >= 0) {
            take_out(at);
            objects[number].key = key;
            put_in(number);
            EQUAL(tw_odict_key_update(&odict, link), place_of(number) != at);
        } else if (what == 10) {
            for (i = 0; i < 6; i++) {
                int code = tw_odict_find(&odict, SEARCHES[i], &key, bad ? NULL : hint, &found);
                is(code, &found, expected(SEARCHES[i], key));
                if (bad)
                    EQUAL(tw_odict_find(&odict, SEARCHES[i], &key, hint, &found), -ENOENT);
            }
        } else if (what == 11 && step % 97 == 0) {
            EQUAL(tw_odict_clear(&odict), 0);
            count = 0;
        }
        /* The second membership goes its own way. */
        i = tw_odlink_is_linked(&objects[hint_number].other);
        if (place_of(hint_number) < 0) {
            if (i)
                EQUAL(tw_odict_remove(&other, &objects[hint_number].other), 0);
        } else if (!i)
            EQUAL(tw_odict_insert(&other, &objects[hint_number].other, NULL), 0);
        compare_all(&odict);
    }
    EQUAL(tw_odict_destroy(&odict), 0);
    for (i = 0; i < OBJECTS; i++)
        EQUAL(tw_odlink_is_linked(&objects[i].link), 0);
    EQUAL(tw_odict_destroy(&other), 0);
}

/* The sequences of HelenOS's own test: ascending, descending, scattered with the one before as a
 * hint. */
static void sequences(void)
{
    enum { COUNT = 100 };
    struct order order = { NULL, 0 };
    struct object *all = (struct object *)calloc(COUNT, sizeof *all);
    tw_odict odict;
    tw_odlink *found, *last = NULL;
    uint64_t x = 1;
    int which, i;
    CHECK(all != NULL);
    EQUAL(tw_odict_init(&odict, key_of, compare, &order), 0);
    for (which = 0; which < 3; which++) {
        for (i = 0; i < COUNT; i++) {
            all[i].key = which == 0 ? (uint64_t)i : which == 1 ? (uint64_t)(COUNT - 1 - i) : x;
            x = x * 1951 % 1000000;
            EQUAL(tw_odict_insert(&odict, &all[i].link, last), 0);
            EQUAL(tw_odict_check(&odict, NULL, 0), 0);
            last = &all[i].link;
        }
        i = 0;
        EQUAL(tw_odict_first(&odict, &last), 1);
        while (tw_odict_next(&odict, last, &found) == 1) {
            CHECK(TW_CONTAINER(last, struct object, link)->key < TW_CONTAINER(found, struct object, link)->key);
            last = found;
            i++;
        }
        EQUAL(i, COUNT - 1);
        for (i = 0; i < COUNT; i++) {
            EQUAL(tw_odict_find(&odict, TW_ODICT_EQ, &all[i].key, NULL, &found), 1);
            CHECK(found == &all[i].link);
            EQUAL(tw_odict_find(&odict, TW_ODICT_EQ_LAST, &all[i].key, &all[COUNT - 1].link, &found), 1);
            CHECK(found == &all[i].link);
            if (which < 2) {
                EQUAL(tw_odict_first(&odict, &found), 1);
                continue;
            }
            if (i < COUNT - 1)
                EQUAL(tw_odict_remove(&odict, &all[i].link), 0);
            EQUAL(tw_odict_check(&odict, NULL, 0), 0);
        }
        EQUAL(tw_odict_clear(&odict), 0);
        last = NULL;
    }
    EQUAL(tw_odict_destroy(&odict), 0);
    free(all);
}

/* Every function that takes a dictionary returns that this is no dictionary. */
static void no_odict(tw_odict *odict)
{
    struct object object;
    tw_odlink *found = NULL;
    uint64_t key = 1;
    char text[4] = "abc";
    memset(&object, 0, sizeof object);
    EQUAL(tw_odict_insert(odict, &object.link, NULL), -EINVAL);
    EQUAL(tw_odict_append(odict, &object.link), -EINVAL);
    EQUAL(tw_odict_prepend(odict, &object.link), -EINVAL);
    EQUAL(tw_odict_remove(odict, &object.link), -EINVAL);
    EQUAL(tw_odict_key_update(odict, &object.link), -EINVAL);
    EQUAL(tw_odict_find(odict, TW_ODICT_EQ, &key, NULL, &found), -EINVAL);
    EQUAL(tw_odict_first(odict, &found), -EINVAL);
    EQUAL(tw_odict_last(odict, &found), -EINVAL);
    EQUAL(tw_odict_next(odict, &object.link, &found), -EINVAL);
    EQUAL(tw_odict_prev(odict, &object.link, &found), -EINVAL);
    EQUAL(tw_odict_len(odict), -EINVAL);
    EQUAL(tw_odict_clear(odict), -EINVAL);
    EQUAL(tw_odict_check(odict, text, sizeof text), -EINVAL);
    EQUAL(tw_odict_destroy(odict), -EINVAL);
    EQUAL(strcmp(text, "abc"), 0);
    CHECK(found == NULL);
    EQUAL(tw_odlink_is_linked(&object.link), 0);
}

static void no_link(tw_odict *odict, tw_odlink *link)
{
    tw_odlink *found = NULL;
    EQUAL(tw_odlink_is_linked(link), -EINVAL);
    EQUAL(tw_odict_insert(odict, link, NULL), -EINVAL);
    EQUAL(tw_odict_append(odict, link), -EINVAL);
    EQUAL(tw_odict_prepend(odict, link), -EINVAL);
    EQUAL(tw_odict_remove(odict, link), -EINVAL);
    EQUAL(tw_odict_key_update(odict, link), -EINVAL);
    EQUAL(tw_odict_next(odict, link, &found), -EINVAL);
    EQUAL(tw_odict_prev(odict, link, &found), -EINVAL);
    CHECK(found == NULL);
}

/* Memory with whatever bytes becomes a link by its init, and no other way. */
static void rubbish(tw_odict *odict)
{
    struct object object;
    tw_odlink *found = NULL;
    memset(&object, 0xff, sizeof object);
    no_link(odict, &object.link);
    EQUAL(tw_odlink_init(&object.link), 0);
    EQUAL(tw_odlink_is_linked(&object.link), 0);
    EQUAL(tw_odict_insert(odict, &object.link, NULL), 0);
    EQUAL(tw_odict_first(odict, &found), 1);
    CHECK(found == &object.link);
    EQUAL(tw_odict_remove(odict, found), 0);
}

/* Zeros that would be a link, were they not at an odd address. */
static void unaligned(tw_odict *odict)
{
    uint64_t room[sizeof(tw_odict) / 8 + 2];
    char *odd = (char *)room + 1;
    memset(room, 0, sizeof room);
    no_link(odict, (tw_odlink *)(void *)odd);
    EQUAL(tw_odlink_init((tw_odlink *)(void *)odd), -EINVAL);
    no_odict((tw_odict *)(void *)odd);
}

static void misuse(void)
{
    struct order order = { NULL, 0 };
    struct object three[3], copy;
    tw_odict one, two, copied;
    tw_odlink *found = NULL;
    char odd[sizeof(tw_odict) + 8];
    tw_odlink **askew = (tw_odlink **)(void *)(odd + 1 + (((uintptr_t)odd) & 1));
    uint64_t key = 1;
    int i;
    memset(three, 0, sizeof three);
    EQUAL(tw_odict_init(NULL, key_of, compare, &order), -EINVAL);
    EQUAL(tw_odict_init((tw_odict *)(void *)(odd + 1 + (((uintptr_t)odd) & 1)), key_of, compare, &order), -EINVAL);
    EQUAL(tw_odict_init(&one, NULL, compare, &order), -EINVAL);
    EQUAL(tw_odict_init(&one, key_of, NULL, &order), -EINVAL);
    EQUAL(tw_odlink_init(NULL), -EINVAL);
    EQUAL(tw_odict_init(&one, key_of, compare, &order), 0);
    EQUAL(tw_odict_init(&two, key_of, compare, &order), 0);
    rubbish(&one);
    unaligned(&one);

    EQUAL(tw_odict_insert(&one, &three[0].link, NULL), 0);
    EQUAL(tw_odict_insert(&two, &three[1].link, NULL), 0);
    EQUAL(tw_odict_insert(&one, &three[0].link, NULL), -EALREADY);
    EQUAL(tw_odict_append(&one, &three[1].link), -EXDEV);
    EQUAL(tw_odict_insert(&one, &three[1].link, NULL), -EXDEV);
    for (i = 1; i < 3; i++) {
        tw_odlink *wrong = &three[i].link; /* in the other, and in none */
        int code = i == 1 ? -EXDEV : -ENOENT;
        EQUAL(tw_odict_remove(&one, wrong), code);
        EQUAL(tw_odict_key_update(&one, wrong), code);
        EQUAL(tw_odict_next(&one, wrong, &found), code);
        EQUAL(tw_odict_prev(&one, wrong, &found), code);
        EQUAL(tw_odict_find(&one, TW_ODICT_LEQ, &key, wrong, &found), code);
        EQUAL(tw_odict_insert(&one, &three[2].link, wrong), code);
        EQUAL(tw_odlink_is_linked(&three[2].link), 0);
    }
    for (i = 0; i < 9; i++) {
        if (i < 1 || i > 6)
            EQUAL(tw_odict_find(&one, (tw_odict_how)i, &key, NULL, &found), -EINVAL);
    }
    CHECK(found == NULL);
    EQUAL(tw_odict_find(&one, TW_ODICT_EQ, &key, NULL, askew), -EINVAL);
    EQUAL(tw_odict_first(&one, askew), -EINVAL);
    EQUAL(tw_odict_last(&one, askew), -EINVAL);
    EQUAL(tw_odict_next(&one, &three[0].link, askew), -EINVAL);
    EQUAL(tw_odict_prev(&one, &three[0].link, askew), -EINVAL);
    EQUAL(tw_odict_find(&one, TW_ODICT_EQ, &three[0].key, NULL, NULL), 1);
    EQUAL(tw_odict_first(&one, NULL), 1);
    EQUAL(tw_odict_next(&one, &three[0].link, NULL), 0);

    /* A copy of a link in a dictionary is no link. A copy of a removed link is a new link. */
    copy = three[0];
    no_link(&one, &copy.link);
    no_link(&one, NULL);
    EQUAL(tw_odict_remove(&one, &three[0].link), 0);
    EQUAL(tw_odict_remove(&one, &three[0].link), -ENOENT);
    copy = three[0];
    EQUAL(tw_odlink_is_linked(&copy.link), 0);
    EQUAL(tw_odict_insert(&one, &copy.link, NULL), 0);
    EQUAL(tw_odict_check(&one, NULL, 0), 0);

    no_odict(NULL);
    copied = one;
    no_odict(&copied);
    memset(&copied, 0, sizeof copied);
    no_odict(&copied);
    EQUAL(tw_odict_destroy(&one), 0);
    no_odict(&one);
    EQUAL(tw_odlink_is_linked(&copy.link), 0);
    EQUAL(tw_odict_destroy(&two), 0);
}

/* The check finds a key that was changed without an update, and an update repairs the order. */
static void secret(void)
{
    struct order order = { NULL, 0 };
    struct object ten[10];
    tw_odict odict;
    tw_odlink *found;
    char text[80] = "";
    int i;
    memset(ten, 0, sizeof ten);
    EQUAL(tw_odict_init(&odict, key_of, compare, &order), 0);
    for (i = 0; i < 10; i++) {
        ten[i].key = (uint64_t)i;
        EQUAL(tw_odict_append(&odict, &ten[i].link), 0);
    }
    ten[4].key = 77;
    EQUAL(tw_odict_check(&odict, text, sizeof text), -EBADMSG);
    CHECK(strlen(text) > 0);
    EQUAL(tw_odict_key_update(&odict, &ten[4].link), 1);
    EQUAL(tw_odict_check(&odict, text, sizeof text), 0);
    EQUAL(tw_odict_last(&odict, &found), 1);
    CHECK(found == &ten[4].link);
    EQUAL(tw_odict_key_update(&odict, &ten[4].link), 0);
    EQUAL(tw_odict_destroy(&odict), 0);
}

/* With an order that contradicts itself, no link is lost, and all links can be removed. */
static void liar(void)
{
    struct order order = { NULL, 4711 };
    uint64_t random = 99;
    tw_odict odict;
    int step, i, in = 0;
    memset(objects, 0, sizeof objects);
    EQUAL(tw_odict_init(&odict, key_of, compare, &order), 0);
    for (step = 0; step < STEPS; step++) {
        struct object *object = &objects[next_random(&random) % OBJECTS];
        int linked = tw_odlink_is_linked(&object->link), code;
        tw_odlink *found = NULL, *at;
        switch (next_random(&random) % 5) {
        case 0: code = tw_odict_remove(&odict, &object->link); in -= code == 0; break;
        case 1: code = linked ? tw_odict_key_update(&odict, &object->link) : 0; break;
        case 2: code = tw_odict_find(&odict, SEARCHES[step % 6], &object->key, linked ? &object->link : NULL, &found); break;
        default: code = tw_odict_insert(&odict, &object->link, NULL); in += code == 0; break;
        }
        CHECK(code >= 0 || code == -ENOENT || code == -EALREADY);
        EQUAL(tw_odict_len(&odict), in);
        i = 0;
        for (code = tw_odict_first(&odict, &at); code == 1; code = tw_odict_next(&odict, at, &at))
            i++;
        EQUAL(code, 0);
        EQUAL(i, in);
    }
    for (i = 0; i < OBJECTS; i++)
        if (tw_odlink_is_linked(&objects[i].link))
            EQUAL(tw_odict_remove(&odict, &objects[i].link), 0);
    EQUAL(tw_odict_len(&odict), 0);
    EQUAL(tw_odict_destroy(&odict), 0);
}

int main(void)
{
    uint64_t seed;
    for (seed = 1; seed < 4; seed++)
        conformance(seed * 88172645);
    sequences();
    misuse();
    secret();
    liar();
    return 0;
}
