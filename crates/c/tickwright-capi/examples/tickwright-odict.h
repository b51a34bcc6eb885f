/* The names of HelenOS's ordered dictionary (its header adt/odict.h) on Tickwright's. Include this
 * file in place of adt/odict.h. It needs C11 or C++11.
 *
 * What is here: all types of that header, and all its functions as static inline functions.
 *
 * What is different:
 *
 *   a struct      odlink_t and odict_t have other members. Programs that read members do not
 *                 compile.
 *   odict_insert  aborts if the link is in a dictionary already, or the hint is in another one.
 *   odict_remove  aborts if the link is in no dictionary.
 *   a search      walks a red-black tree with a list through it, as HelenOS's does. A neighbor
 *                 costs O(1).
 *   odict_finalize  removes the links that are left. HelenOS's asserts that no link is left.
 *   odict_validate  returns EOK or EINVAL, and asserts nothing.
 *   a key function or comparator that calls a function about its dictionary aborts.
 */
#ifndef TICKWRIGHT_ODICT_NAMES_H
#define TICKWRIGHT_ODICT_NAMES_H

#include <stdbool.h>
#include <stdlib.h>
#include <tickwright/odict.h>

#ifndef EOK
#define EOK 0
#endif

typedef struct odict odict_t;

typedef struct odlink {
    tw_odlink link;
    odict_t *odict;
} odlink_t;

typedef void *(*odgetkey_t)(odlink_t *);
typedef int (*odcmp_t)(void *, void *);

struct odict {
    tw_odict odict;
    odgetkey_t getkey;
    odcmp_t cmp;
};

#define odict_get_instance(odlink, type, member) \
    ((type *)((char *)(odlink) - offsetof(type, member)))

/* Aborts for what the original asserts or leaves undefined. */
static inline int tw_od_must(int result)
{
    if (result < 0)
        abort();
    return result;
}

static inline odlink_t *tw_od_of(const tw_odlink *link)
{
    return (odlink_t *)TW_CONTAINER((tw_odlink *)link, odlink_t, link);
}

static inline const void *tw_od_key(const tw_odlink *link, void *user)
{
    return ((odict_t *)user)->getkey(tw_od_of(link));
}

static inline int tw_od_compare(const void *a, const void *b, void *user)
{
    return ((odict_t *)user)->cmp((void *)a, (void *)b);
}

static inline void odict_initialize(odict_t *odict, odgetkey_t getkey, odcmp_t cmp)
{
    odict->getkey = getkey;
    odict->cmp = cmp;
    tw_od_must(tw_odict_init(&odict->odict, tw_od_key, tw_od_compare, odict));
}

static inline void odict_finalize(odict_t *odict)
{
    tw_od_must(tw_odict_destroy(&odict->odict));
}

static inline void odlink_initialize(odlink_t *odlink)
{
    odlink->odict = NULL;
    tw_od_must(tw_odlink_init(&odlink->link));
}

static inline void odict_insert(odlink_t *odlink, odict_t *odict, odlink_t *hint)
{
    tw_od_must(tw_odict_insert(&odict->odict, &odlink->link, hint == NULL ? NULL : &hint->link));
    odlink->odict = odict;
}

static inline void odict_remove(odlink_t *odlink)
{
    if (odlink->odict == NULL)
        abort();
    tw_od_must(tw_odict_remove(&odlink->odict->odict, &odlink->link));
    odlink->odict = NULL;
}

static inline void odict_key_update(odlink_t *odlink, odict_t *odict)
{
    tw_od_must(tw_odict_key_update(&odict->odict, &odlink->link));
}

static inline bool odlink_used(odlink_t *odlink)
{
    return tw_od_must(tw_odlink_is_linked(&odlink->link)) == 1;
}

static inline unsigned long odict_count(odict_t *odict)
{
    ptrdiff_t count = tw_odict_len(&odict->odict);
    if (count < 0)
        abort();
    return (unsigned long)count;
}

static inline bool odict_empty(odict_t *odict)
{
    return odict_count(odict) == 0;
}

static inline odlink_t *odict_first(odict_t *odict)
{
    tw_odlink *found;
    return tw_od_must(tw_odict_first(&odict->odict, &found)) == 1 ? tw_od_of(found) : NULL;
}

static inline odlink_t *odict_last(odict_t *odict)
{
    tw_odlink *found;
    return tw_od_must(tw_odict_last(&odict->odict, &found)) == 1 ? tw_od_of(found) : NULL;
}

static inline odlink_t *odict_next(odlink_t *odlink, odict_t *odict)
{
    tw_odlink *found;
    int result = tw_odict_next(&odict->odict, &odlink->link, &found);
    return tw_od_must(result) == 1 ? tw_od_of(found) : NULL;
}

static inline odlink_t *odict_prev(odlink_t *odlink, odict_t *odict)
{
    tw_odlink *found;
    int result = tw_odict_prev(&odict->odict, &odlink->link, &found);
    return tw_od_must(result) == 1 ? tw_od_of(found) : NULL;
}

static inline odlink_t *tw_od_find(odict_t *odict, tw_odict_how how, void *key, odlink_t *hint)
{
    tw_odlink *found, *near = hint == NULL ? NULL : &hint->link;
    int result = tw_odict_find(&odict->odict, how, key, near, &found);
    return tw_od_must(result) == 1 ? tw_od_of(found) : NULL;
}

static inline odlink_t *odict_find_eq(odict_t *odict, void *key, odlink_t *hint)
{
    return tw_od_find(odict, TW_ODICT_EQ, key, hint);
}

static inline odlink_t *odict_find_eq_last(odict_t *odict, void *key, odlink_t *hint)
{
    return tw_od_find(odict, TW_ODICT_EQ_LAST, key, hint);
}

static inline odlink_t *odict_find_geq(odict_t *odict, void *key, odlink_t *hint)
{
    return tw_od_find(odict, TW_ODICT_GEQ, key, hint);
}

static inline odlink_t *odict_find_gt(odict_t *odict, void *key, odlink_t *hint)
{
    return tw_od_find(odict, TW_ODICT_GT, key, hint);
}

static inline odlink_t *odict_find_leq(odict_t *odict, void *key, odlink_t *hint)
{
    return tw_od_find(odict, TW_ODICT_LEQ, key, hint);
}

static inline odlink_t *odict_find_lt(odict_t *odict, void *key, odlink_t *hint)
{
    return tw_od_find(odict, TW_ODICT_LT, key, hint);
}

static inline int odict_validate(odict_t *odict)
{
    return tw_odict_check(&odict->odict, NULL, 0) == 0 ? EOK : EINVAL;
}

#endif
