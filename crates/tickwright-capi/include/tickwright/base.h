/* Results, versions, and how structs grow: what all headers of Tickwright share.
 *
 * RESULTS
 *
 * A function that returns int or ptrdiff_t returns 0 or more on success, and a negated errno on
 * failure. A function that fails has changed nothing. The comment of each function lists its codes;
 * where it says no more, a code means:
 *
 *   -EINVAL     a pointer is null or not aligned; a number has no meaning; the memory holds no
 *               object of that kind, a destroyed one, or a copy of one; the size of a struct is
 *               too small
 *   -E2BIG      a struct has fields that this library does not know, and one of them is not 0
 *   -ENOENT     the timer, element or link is in no queue, heap or dictionary; no timer has the id;
 *               the scheduler has no thread or no descriptor
 *   -EALREADY   it is in this queue, heap or dictionary already
 *   -EXDEV      it is in another queue, heap or dictionary
 *   -ENOSPC     the queue is full, or its memory is too small
 *   -ENOMEM     no memory
 *   -EBUSY      a callback calls what it may not call, or the object is in use
 *   -EDEADLK    the caller would wait for its own end
 *   -ECANCELED  the object is being destroyed, or this process is a fork without its threads
 *   -ESRCH      no thread has the id
 *   -ETIMEDOUT  the time is over
 *   -ENOTSUP    the clock or the system does not offer that
 *   -EAGAIN     the system has no thread to give
 *   -EMFILE     the process has no descriptor left
 *   -EPERM      the calling thread does not hold the lock
 *   -EPIPE      the mailbox is closed, and no letter is left
 *   -EBADF      that is no open descriptor
 *   -EOVERFLOW  2^31 queues and dictionaries were made in this process
 *   -ERANGE     the key does not belong at that end of the dictionary
 *   -EBADMSG    a check found the structure broken
 *
 * One exception: tw_sched_timeout_ms returns -1 when no timer is pending, as poll wants it. That is
 * no error, although EPERM is 1.
 *
 * A pointer through which a function returns something may be null if you do not want that, unless
 * the function's comment says otherwise.
 *
 * NAMES
 *
 * A name that ends in `_len` counts elements. One that ends in `_bytes` or `size` counts bytes, and
 * one in `_ns` or `_ms` is a time.
 *
 * STRUCTS THAT GROW
 *
 * A struct whose first field is `size` may get more fields at its end in later versions, under one
 * SONAME. The caller sets `size` to the sizeof of the struct: TW_..._INIT does, and so does the
 * function tw_..._init. The library reads and writes that many bytes at most. In a struct that it
 * fills it sets `size` to the bytes that it has filled. A size of 0 is -EINVAL. The default of a
 * field that is added is 0, which an older library takes; it refuses others with -E2BIG.
 *
 * All other sizes, and all numbers in macros and enums, are part of the ABI: they change with the
 * SONAME alone.
 *
 * THREADS
 *
 * Queues, heaps and dictionaries have no lock; schedulers and runtimes lock themselves. After
 * "Threads:" each function says one of these:
 *
 *   serialized  Two calls about one object never overlap in time, calls that only read included.
 *               A timer belongs to its queue, an element to its heap, a link to its dictionary.
 *               Calls about different objects may overlap.
 *   any         Any thread may call it at any time.
 *
 * CALLBACKS
 *
 * A callback returns. If a C++ exception leaves a callback, a comparator, a clean-up function or
 * the function of a thread, the process ends by SIGABRT. A longjmp over frames of the library is
 * undefined, and so is pthread_exit.
 *
 * WHAT IS NOT DETECTED
 *
 * These are undefined: a pointer to memory that is gone, such as a destroyed scheduler, heap or
 * runtime. Also a timer, element or link that is freed or overwritten while it is in a queue, heap
 * or dictionary. Also a queue or dictionary whose memory is freed before its destroy. The functions
 * tw_..._check find much of what these do, afterwards.
 */
#ifndef TICKWRIGHT_BASE_H
#define TICKWRIGHT_BASE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before each function of the library. */
#ifndef TW_API
#define TW_API
#endif

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0
#define TW_VERSION "0.1.0"

/* Returns the version of the linked library as text; compare it with TW_VERSION.
 *
 * Threads: any. */
TW_API const char *tw_version(void);

/* Returns the meaning of a result, as static text in English. Any int is allowed; 0 and more mean
 * "done".
 *
 * Threads: any. */
TW_API const char *tw_strerror(int code);

#ifdef __cplusplus
}

namespace tw_detail {
template <class Type, class Member> inline Type *container(Member *pointer, size_t offset)
{
    return reinterpret_cast<Type *>(reinterpret_cast<char *>(pointer) - offset);
}
template <class Type, class Member>
inline const Type *container(const Member *pointer, size_t offset)
{
    return reinterpret_cast<const Type *>(reinterpret_cast<const char *>(pointer) - offset);
}
}
#endif

/* TW_CONTAINER(pointer, type, member): the struct of `type` whose member `member` `pointer` points
 * to. A pointer of another type than the member's does not compile, or is a warning. A pointer to
 * const gives a pointer to const. */
#ifdef __cplusplus
#define TW_CONTAINER(pointer, type, member) \
    (tw_detail::container<type, decltype(static_cast<type *>(0)->member)>( \
        (pointer), offsetof(type, member)))
#else
/* `const T *` beside `void *` is `const void *`, so the constness is seen without naming T. The
 * operand of sizeof is not evaluated: it compares the types. */
#define TW_CONTAINER(pointer, type, member) \
    _Generic((1 ? (pointer) : (void *)(pointer)), \
        const void *: (const type *)TW_CONTAINER_(const char, pointer, type, member), \
        default: (type *)TW_CONTAINER_(char, pointer, type, member))
#define TW_CONTAINER_(bytes, pointer, type, member) \
    ((void *)((bytes *)(pointer) - offsetof(type, member) \
              - 0 * sizeof(1 ? (pointer) : &((type *)0)->member)))
#endif

#endif
