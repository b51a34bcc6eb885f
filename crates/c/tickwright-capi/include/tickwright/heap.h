/* A priority queue over pointers to your elements. It has no clock and no ticks.
 *
 * The greatest element leaves first; equal elements leave in any order. The heap allocates its
 * array. Costs below are for n elements.
 */
#ifndef TICKWRIGHT_HEAP_H
#define TICKWRIGHT_HEAP_H

#include <tickwright/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap. The library owns its memory. */
typedef struct tw_heap tw_heap;

/* Returns more than 0 if `a` ranks higher and so leaves earlier, less than 0 if `b` does, and 0 if
 * their ranks are equal. Compare the ranks, do not subtract them: a difference can overflow. While
 * this function runs, every function of the library refuses the heap with -EBUSY. */
typedef int (*tw_compare_fn)(const void *a, const void *b, void *user);

/* Makes an empty heap, and returns it in `*heap`; `heap` must not be null. The heap has room for
 * `capacity` elements, and allocates memory when it needs more room. On an error `*heap` is null.
 *
 * If `index_offset` is 0 or more, each element has a size_t at that offset. There the heap writes
 * the element's position. The position must be 0 before the element's first push: zero the memory,
 * or call tw_heap_forget. If `index_offset` is negative, the heap keeps no positions, and elements
 * cannot be removed or updated.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -ENOMEM.
 * Threads: any. */
TW_API int tw_heap_create(tw_heap **heap, size_t capacity, tw_compare_fn compare, void *user,
                          ptrdiff_t index_offset);

/* Ends a heap, and frees its array. The elements stay yours, and their positions become 0. `heap`
 * may be null.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_destroy(tw_heap *heap);

/* Pushes an element, in O(log n). `element` must not be null. While an element is in the heap, its
 * rank may change only just before tw_heap_update. A heap without positions holds an element as
 * often as you have pushed it.
 *
 * Returns:
 *   0  done
 * Errors: -EALREADY, -ENOMEM, -EBUSY; and
 *   -EINVAL  also if the element's position is not aligned
 *   -EXDEV   the element's position is not 0, and is not that of the element in this heap. The
 *            element is in another heap, or its position was not 0 before its first push: see
 *            tw_heap_forget
 * Threads: serialized. */
TW_API int tw_heap_push(tw_heap *heap, void *element);

/* Pops the greatest element, in O(log n), and returns it in `*element`. `element` must not be null.
 *
 * Returns:
 *   1  `*element` is written
 *   0  the heap is empty
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_pop(tw_heap *heap, void **element);

/* The element at a position. Position 1 has the greatest element. The elements at positions from 2
 * to the length are in no particular order. `element` must not be null.
 *
 * Returns:
 *   1  `*element` is written
 *   0  the heap has no such position
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_peek(const tw_heap *heap, size_t position, void **element);

/* Removes an element, in O(log n). The heap verifies that the element is at the position that is
 * noted in the element.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY; and
 *   -ENOENT  the element's position is 0, or the heap keeps no positions
 *   -EXDEV   the element is not at its position in this heap
 * Threads: serialized. */
TW_API int tw_heap_remove(tw_heap *heap, void *element);

/* Moves an element whose rank has changed to its new position, in O(log n). Between the change of
 * the rank and this call, call no other function about the heap.
 *
 * Returns:
 *   0  done
 * Errors: -EINVAL, -EBUSY; and
 *   -ENOENT  the element's position is 0, or the heap keeps no positions
 *   -EXDEV   the element is not at its position in this heap
 * Threads: serialized. */
TW_API int tw_heap_update(tw_heap *heap, void *element);

/* Whether the heap has an element. The function reads the element's position, in O(1). If the heap
 * keeps no positions, the function looks at every element, in O(n).
 *
 * Returns:
 *   1  the heap has the element
 *   0  the heap does not have it
 * Errors: -EINVAL, -EBUSY.
 * Threads: serialized. */
TW_API int tw_heap_contains(const tw_heap *heap, const void *element);

/* Sets the position of an element to 0, whatever the memory held before, so that the element can be
 * pushed. Do not call it for an element that is in a heap: that heap could no longer remove the
 * element. If the heap keeps no positions, the function does nothing.
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

/* Verifies the whole structure, in O(n). If the structure is broken, the function writes what is
 * wrong to `text`, unless `text` is null. The text ends with a zero, and is cut off to fit into
 * `bytes` bytes.
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
