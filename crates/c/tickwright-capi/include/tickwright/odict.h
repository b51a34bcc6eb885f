/* An ordered dictionary: structs in the order of their keys. No function allocates memory.
 *
 * Structs with equal keys stand in the order in which they were inserted. A struct with two links
 * can be in two dictionaries at once. Put a tw_odlink into your own struct:
 *
 *     struct area { uintptr_t base; size_t size; tw_odlink by_base; };
 *
 * A dictionary is a red-black tree whose links also form a list. A search and an insert cost
 * O(log n) for n links; the next and the previous link cost O(1).
 *
 * A HINT is null, or a link of the same dictionary at which a search starts. Any hint gives the
 * right result; a hint near the result gives it sooner.
 *
 * YOUR FUNCTIONS run before the library changes the dictionary. While they run, every function of
 * the library refuses the dictionary with -EBUSY. If the comparator contradicts itself, or a key
 * changes without tw_odict_key_update, links may be out of order. Then searches may miss links. But
 * no link is lost, every link can be removed, and tw_odict_check reports neighbors that are out of
 * order.
 *
 * To walk a range, call tw_odict_find with TW_ODICT_GEQ. Then call tw_odict_next until your
 * comparator says that the range ends.
 */
#ifndef TICKWRIGHT_ODICT_H
#define TICKWRIGHT_ODICT_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A link in a struct of yours. It starts as zeros: use TW_ODLINK_INIT, tw_odlink_init or calloc.
 * While it is in a dictionary, it must not move. Meanwhile the key of its struct may change only
 * just before tw_odict_key_update. */
typedef struct tw_odlink {
    uint64_t opaque[8];
} tw_odlink;

#define TW_ODLINK_INIT { { 0 } }

/* Makes a link that is in no dictionary, whatever the memory held before. Do not call it for a link
 * that is in a dictionary: the dictionary would still point at the link.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_odlink_init(tw_odlink *link);

/* Whether a link is in some dictionary.
 *
 * Returns:
 *   1  the link is in a dictionary
 *   0  the link is in no dictionary
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_odlink_is_linked(const tw_odlink *link);

/* A dictionary. It must not move. */
typedef struct tw_odict {
    uint64_t opaque[12];
} tw_odict;

/* Returns a pointer to the key of the struct that `link` is in: see TW_CONTAINER. The dictionary
 * only passes this pointer to the comparator. */
typedef const void *(*tw_key_fn)(const tw_odlink *link, void *user);

/* Returns less than 0 if the key `a` comes before `b`, more than 0 if `a` comes after `b`, and 0 if
 * they are equal. Compare the keys, do not subtract them: a difference can overflow. */
typedef int (*tw_key_compare_fn)(const void *a, const void *b, void *user);

/* Makes an empty dictionary, whatever the memory held before. Do not call it for a dictionary that
 * has links.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL.
 * Threads: serialized. */
TW_API int tw_odict_init(tw_odict *odict, tw_key_fn key, tw_key_compare_fn compare, void *user);

/* Ends a dictionary. Its links are then in no dictionary, and the memory is yours again.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_destroy(tw_odict *odict);

/* Inserts a link behind all links with an equal key.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EALREADY, -EOVERFLOW, -EBUSY; and
 *   -EXDEV   the link or the hint is in another dictionary
 *   -ENOENT  the hint is in no dictionary
 * Threads: serialized. */
TW_API int tw_odict_insert(tw_odict *odict, tw_odlink *link, const tw_odlink *hint);

/* Inserts a link behind the last one, without a search.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EALREADY, -EXDEV, -EOVERFLOW, -EBUSY; and
 *   -ERANGE  the link's key is less than that of the last link
 * Threads: serialized. */
TW_API int tw_odict_append(tw_odict *odict, tw_odlink *link);

/* Inserts a link in front of the first one, without a search.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EALREADY, -EXDEV, -EOVERFLOW, -EBUSY; and
 *   -ERANGE  the link's key is not less than that of the first link
 * Threads: serialized. */
TW_API int tw_odict_prepend(tw_odict *odict, tw_odlink *link);

/* Removes a link from its dictionary. This function does not look at keys.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_remove(tw_odict *odict, tw_odlink *link);

/* Moves a link whose key has changed to where an insert would put it: behind all links with an
 * equal key.
 *
 * Returns:
 *   1  the link has moved
 *   0  the link stays where it is
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_key_update(tw_odict *odict, tw_odlink *link);

/* What tw_odict_find searches for. */
typedef enum tw_odict_how {
    TW_ODICT_EQ = 1,      /* the first link with the key */
    TW_ODICT_EQ_LAST = 2, /* the last link with the key */
    TW_ODICT_GEQ = 3,     /* the first link with the key or a greater one */
    TW_ODICT_GT = 4,      /* the first link with a greater key */
    TW_ODICT_LEQ = 5,     /* the last link with the key or a lesser one */
    TW_ODICT_LT = 6       /* the last link with a lesser key */
} tw_odict_how;

/* Searches for a link by its key. The comparator gets `key` as its first argument, even if `key` is
 * null.
 *
 * Returns:
 *   1  `*found` is written
 *   0  no such link is there
 * Errors: -EINVAL, -EBUSY; and
 *   -ENOENT  the hint is in no dictionary
 *   -EXDEV   the hint is in another dictionary
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

/* The link behind `link`.
 *
 * Returns:
 *   1  `*found` is written
 *   0  `link` is the last one
 * Errors: -EINVAL, -ENOENT, -EXDEV, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_next(const tw_odict *odict, const tw_odlink *link, tw_odlink **found);

/* The link in front of `link`.
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

/* Removes every link.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_clear(tw_odict *odict);

/* Verifies the whole structure, in O(n). If the structure is broken, the function writes what is
 * wrong to `text`, unless `text` is null. The text ends with a zero, and is cut off to fit into
 * `bytes` bytes.
 *
 * Returns:
 *   0  the structure is whole
 * Errors: -EBADMSG, -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_odict_check(const tw_odict *odict, char *text, size_t bytes);

/* TW_ODICT_FOREACH(odict, link) { ... }: the body runs for each link in order; `link` is a variable
 * of yours, of type tw_odlink *. To remove `link` in the body, use TW_ODICT_FOREACH_SAFE. */
#define TW_ODICT_FOREACH(odict, link) \
    for (int tw_more_ = tw_odict_first((odict), &(link)); tw_more_ == 1; \
         tw_more_ = tw_odict_next((odict), (link), &(link)))

/* TW_ODICT_FOREACH_SAFE(odict, link, behind) { ... }: like TW_ODICT_FOREACH, but the body may
 * remove `link` and free its struct. `behind`, another variable of yours, is the next link, or
 * null. */
#define TW_ODICT_FOREACH_SAFE(odict, link, behind) \
    for (int tw_more_ = tw_odict_first((odict), &(link)); \
         tw_more_ == 1 \
         && (tw_odict_next((odict), (link), &(behind)) == 1 || ((behind) = NULL, 1)); \
         tw_more_ = (behind) != NULL, (link) = (behind))

#ifdef __cplusplus
}
#endif

#endif
