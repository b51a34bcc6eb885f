/* A priority queue over pointers to your elements. No clock, no ticks.
 *
 * The greatest element leaves first; equal ones leave in any order. The heap allocates its array.
 * Costs below are for n elements.
 */
#ifndef TICKWRIGHT_HEAP_H
#define TICKWRIGHT_HEAP_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap, in memory of the library. */
typedef struct tw_heap tw_heap;

/* Returns more than 0 if `a` ranks higher and so leaves earlier, less than 0 if `b` does, and 0 if
 * they are equal. Compare, do not subtract: a difference overflows. Meanwhile every function
 * refuses the heap with -EBUSY. */
typedef int (*tw_compare_fn)(const void *a, const void *b, void *user);

/* Makes an empty heap, and returns it in `*heap`, which must not be null. It has room for
 * `capacity` elements, and allocates more when it needs more. On an error `*heap` is null.
 *
 * With an `index_offset` of 0 or more each element has a size_t at that offset, where the heap
 * writes the element's position. It must be 0 before the element's first push: zero the memory, or
 * call tw_heap_forget. With a negative offset elements cannot be removed or updated.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_heap_create(tw_heap **heap, size_t capacity, tw_compare_fn compare, void *user,
                          ptrdiff_t index_offset);

/* Ends a heap, and frees its array. The elements are yours; their positions become 0. Null is fine.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_destroy(tw_heap *heap);

/* Takes an element in, in O(log n). It must not be null. Its rank must not change while it is in,
 * except for tw_heap_update. A heap without positions takes an element in as often as it is pushed.
 *
 * Returns:
 *   0  done
 * Errors: -EALREADY, -ENOMEM, -EBUSY; and
 *   -EINVAL  also if the element's position is not aligned
 *   -EXDEV   its position is not 0, and another element is at that position here. It is in another
 *            heap, or its memory was not zeroed before the first push: tw_heap_forget
 * Threads: serialized. */
TW_API int tw_heap_push(tw_heap *heap, void *element);

/* Takes the greatest element out, in O(log n), and returns it in `*element`, which must not be
 * null.
 *
 * Returns:
 *   1  `*element` is written
 *   0  the heap is empty
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_pop(tw_heap *heap, void **element);

/* The element at a position: 1 is the greatest; the others, up to the length, are in no particular
 * order. `element` must not be null.
 *
 * Returns:
 *   1  `*element` is written
 *   0  no such position
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_peek(const tw_heap *heap, size_t position, void **element);

/* Takes an element out, in O(log n). The position that the element notes is not believed, but
 * looked at.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY; and
 *   -ENOENT  it notes that it is in no heap, or the heap keeps no positions
 *   -EXDEV   another element is where it notes that it is
 * Threads: serialized. */
TW_API int tw_heap_remove(tw_heap *heap, void *element);

/* Moves an element to its right place after its rank has changed, in O(log n). Call no other
 * function of the heap between that change and this call.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY; and
 *   -ENOENT  it notes that it is in no heap, or the heap keeps no positions
 *   -EXDEV   another element is where it notes that it is
 * Threads: serialized. */
TW_API int tw_heap_update(tw_heap *heap, void *element);

/* Whether the heap has an element. It reads the element's position, in O(1). Without positions it
 * looks at every element, in O(n).
 *
 * Returns:
 *   1  it has the element
 *   0  it has not
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_contains(const tw_heap *heap, const void *element);

/* Sets the position of an element to 0, whatever was in the memory, so that it can be pushed. Do
 * not call it for an element that is in a heap: that heap could not remove it any more. Without
 * positions this does nothing.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_forget(tw_heap *heap, void *element);

/* The number of elements.
 *
 * Returns:
 *   number  of elements
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API ptrdiff_t tw_heap_len(const tw_heap *heap);

/* Verifies the whole structure, in O(n). If it is broken and `text` is not null, the error message
 * is written there. It is cut off so that it fits into `bytes` bytes, with the zero at its end.
 *
 * Returns:
 *   0  the structure is whole
 * Errors: -EBADMSG, -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_check(const tw_heap *heap, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
