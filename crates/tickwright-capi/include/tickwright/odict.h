/* An ordered dictionary: structs in the order of their keys. No allocation.
 *
 * Structs with equal keys stand in the order in which they were inserted. Put a tw_odlink into your
 * own struct; a struct with two links is in two dictionaries at once:
 *
 *     struct area { uintptr_t base; size_t size; tw_odlink by_base; };
 *
 * It is a red-black tree with a list through it. A search and an insert cost O(log n) for n links;
 * the neighbors cost O(1).
 *
 * A HINT is a link in the same dictionary at which a search starts, or null. Any hint gives the
 * right result; a near one gives it sooner.
 *
 * YOUR FUNCTIONS run before anything is changed. Meanwhile every function refuses the dictionary
 * with -EBUSY. If the comparator contradicts itself, or a key is changed in secret, links stand
 * where its results led, and searches may miss them. Nothing is lost, everything can be removed,
 * and tw_odict_check reports neighbors that are out of order.
 *
 * To walk a range: tw_odict_find with TW_ODICT_GEQ, then tw_odict_next until your comparator says
 * that the range ends.
 */
#ifndef TICKWRIGHT_ODICT_H
#define TICKWRIGHT_ODICT_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A link in a struct of yours. It starts as zeros: by TW_ODLINK_INIT, tw_odlink_init or calloc.
 * While it is in a dictionary it must not move, and the key must not change except for
 * tw_odict_key_update. */
typedef struct tw_odlink {
    uint64_t opaque[8];
} tw_odlink;

#define TW_ODLINK_INIT { { 0 } }

/* Makes a link that is in no dictionary, whatever was in the memory. Do not call it for a link that
 * is in one: the dictionary would still point at it.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_odlink_init(tw_odlink *link);

/* Whether a link is in some dictionary.
 *
 * Returns:
 *   1  it is in one
 *   0  it is in none
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_odlink_is_linked(const tw_odlink *link);

/* A dictionary. It must not move. */
typedef struct tw_odict {
    uint64_t opaque[12];
} tw_odict;

/* Returns where the key is of the struct that `link` is in: TW_CONTAINER. The result is only passed
 * to the comparator. */
typedef const void *(*tw_key_fn)(const tw_odlink *link, void *user);

/* Returns less than 0 if the key `a` comes before `b`, more than 0 if it comes after, and 0 if they
 * are equal. Compare, do not subtract: a difference overflows. */
typedef int (*tw_key_compare_fn)(const void *a, const void *b, void *user);

/* Makes an empty dictionary, whatever was in the memory. Do not call it for one that has links.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_odict_init(tw_odict *odict, tw_key_fn key, tw_key_compare_fn compare, void *user);

/* Ends a dictionary. Its links are in none, and the memory is yours again.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_destroy(tw_odict *odict);

/* Inserts a link behind all equal ones.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EALREADY, -EOVERFLOW, -EBUSY; and
 *   -EXDEV   the link or the hint is in another dictionary
 *   -ENOENT  the hint is in none
 * Threads: serialized. */
TW_API int tw_odict_insert(tw_odict *odict, tw_odlink *link, const tw_odlink *hint);

/* Inserts a link behind the last one, without a search.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EALREADY, -EXDEV, -EOVERFLOW, -EBUSY; and
 *   -ERANGE  its key is less than the last one
 * Threads: serialized. */
TW_API int tw_odict_append(tw_odict *odict, tw_odlink *link);

/* Inserts a link in front of the first one, without a search.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EALREADY, -EXDEV, -EOVERFLOW, -EBUSY; and
 *   -ERANGE  its key is not less than the first one
 * Threads: serialized. */
TW_API int tw_odict_prepend(tw_odict *odict, tw_odlink *link);

/* Takes a link out. No key is looked at.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_remove(tw_odict *odict, tw_odlink *link);

/* Moves a link whose key has changed to where an insert would put it, behind its equals.
 *
 * Returns:
 *   1  it has moved
 *   0  it stays
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_key_update(tw_odict *odict, tw_odlink *link);

/* What tw_odict_find searches for. */
typedef enum tw_odict_how {
    TW_ODICT_EQ = 1,      /* the first with the key */
    TW_ODICT_EQ_LAST = 2, /* the last with the key */
    TW_ODICT_GEQ = 3,     /* the first with the key or a greater one */
    TW_ODICT_GT = 4,      /* the first with a greater key */
    TW_ODICT_LEQ = 5,     /* the last with the key or a lesser one */
    TW_ODICT_LT = 6       /* the last with a lesser key */
} tw_odict_how;

/* Searches. The comparator gets `key` as its first key; null is passed on like any other.
 *
 * Returns:
 *   1  `*found` is written
 *   0  there is none
 * Errors: -EINVAL, -EBUSY; and
 *   -ENOENT  the hint is in no dictionary
 *   -EXDEV   the hint is in another one
 * Threads: serialized. */
TW_API int tw_odict_find(const tw_odict *odict, tw_odict_how how, const void *key,
                         const tw_odlink *hint, tw_odlink **found);

/* The first link.
 *
 * Returns:
 *   1  `*found` is written
 *   0  the dictionary is empty
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_first(const tw_odict *odict, tw_odlink **found);

/* The last link.
 *
 * Returns:
 *   1  `*found` is written
 *   0  the dictionary is empty
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_last(const tw_odict *odict, tw_odlink **found);

/* The link behind one.
 *
 * Returns:
 *   1  `*found` is written
 *   0  `link` is the last one
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_next(const tw_odict *odict, const tw_odlink *link, tw_odlink **found);

/* The link in front of one.
 *
 * Returns:
 *   1  `*found` is written
 *   0  `link` is the first one
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_prev(const tw_odict *odict, const tw_odlink *link, tw_odlink **found);

/* The number of links, in O(1).
 *
 * Returns:
 *   number  of links
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API ptrdiff_t tw_odict_len(const tw_odict *odict);

/* Takes every link out.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_clear(tw_odict *odict);

/* Verifies the whole structure, in O(n). If it is broken and `text` is not null, the error message
 * is written there. It is cut off so that it fits into `bytes` bytes, with the zero at its end.
 *
 * Returns:
 *   0  the structure is whole
 * Errors: -EBADMSG, -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_check(const tw_odict *odict, char *text, size_t bytes);

/* TW_ODICT_FOREACH(odict, link) { ... }: the body runs for each link in order; `link` is a variable
 * of yours, of type tw_odlink *. The body must not take `link` out: TW_ODICT_FOREACH_SAFE may. */
#define TW_ODICT_FOREACH(odict, link) \
    for (int tw_more_ = tw_odict_first((odict), &(link)); tw_more_ == 1; \
         tw_more_ = tw_odict_next((odict), (link), &(link)))

/* TW_ODICT_FOREACH_SAFE(odict, link, behind) { ... }: the same, and the body may take `link` out
 * and free its struct. `behind`, another variable of yours, is the next link, or null. */
#define TW_ODICT_FOREACH_SAFE(odict, link, behind) \
    for (int tw_more_ = tw_odict_first((odict), &(link)); \
         tw_more_ == 1 \
         && (tw_odict_next((odict), (link), &(behind)) == 1 || ((behind) = NULL, 1)); \
         tw_more_ = (behind) != NULL, (link) = (behind))

#ifdef __cplusplus
}
#endif

#endif
