/* Results, versions, and how structs grow: what all headers of Tickwright share.
 *
 * RESULTS
 *
 * A function that returns int or ptrdiff_t returns 0 or more on success, and a negated errno on
 * failure. A function that fails has changed nothing. The comment of each function lists its codes.
 * Unless that comment gives a meaning of its own, a code means:
 *
 *   -EINVAL     a pointer is null or not aligned; a number has no meaning; the memory holds no
 *               object of that kind, a destroyed one, or a copy of one; the size of a struct is
 *               too small
 *   -E2BIG      a struct has fields that this library does not know, and one of them is not 0
 *   -ENOENT     the timer, element or link is in no queue, heap or dictionary; no timer has the id;
 *               the scheduler has no thread or no descriptor
 *   -EALREADY   the timer, element or link is in this queue, heap or dictionary already
 *   -EXDEV      the timer, element or link is in another queue, heap or dictionary
 *   -ENOSPC     the queue is full, or its memory is too small
 *   -ENOMEM     no memory is left
 *   -EBUSY      a callback calls a function that it must not call, or the object is in use
 *   -EDEADLK    the caller would wait for its own end
 *   -ECANCELED  the object is being destroyed, or this process is a fork without its threads
 *   -ESRCH      no thread has the id
 *   -ETIMEDOUT  the time is over
 *   -ENOTSUP    the clock, the system or the model of threads does not offer this
 *   -EAGAIN     the system cannot create a thread
 *   -EMFILE     the process has no descriptor left
 *   -EPERM      the calling thread does not hold the lock
 *   -EPIPE      the mailbox is closed, and no letter is left
 *   -EBADF      the descriptor is not open
 *   -EOVERFLOW  this process has made 2^31 queues and dictionaries already
 *   -ERANGE     the key does not belong at that end of the dictionary
 *   -ENOTCONN   a loop on another thread sleeps beyond that time (see tw_sched_set_wake)
 *   -EBADMSG    a check found the structure broken
 *
 * One exception: tw_sched_timeout_ms returns -1 when no timer is pending, since -1 makes poll wait
 * for ever. This -1 is a result, no error.
 *
 * A pointer through which a function returns a value may be null if you do not want the value,
 * unless the function's comment says otherwise.
 *
 * NAMES
 *
 * A name that ends in `_len` counts elements. A name that ends in `_bytes` or `size` counts bytes.
 * A name that ends in `_ns` is a time in nanoseconds; one in `_ms`, in milliseconds.
 *
 * STRUCTS THAT GROW
 *
 * Later versions may add fields at the end of a struct whose first field is `size`, without a new
 * SONAME. The caller sets `size` to the sizeof of the struct: TW_..._INIT does, and so does
 * tw_..._init of the structs that have such a function. The library reads and writes at most `size`
 * bytes. When it fills a struct, it sets `size` to the number of bytes that it has filled. A size
 * that no version of the struct can have gives -EINVAL, such as 0 or 33. The library cannot detect
 * every struct that was not initialized, because the size of such a struct is random. The default
 * of an added field is 0. An older library, which does not know the field, accepts 0 and refuses
 * other values with -E2BIG.
 *
 * All other sizes, and all numbers in macros and enums, are part of the ABI: they change only
 * together with the SONAME.
 *
 * THREADS
 *
 * Queues, heaps and dictionaries have no lock; schedulers and runtimes lock themselves. After
 * "Threads:" the comment of each function says one of these:
 *
 *   serialized  Two calls about one object must not overlap in time, even if they only read.
 *               A queue and its timers count as one object. So do a heap and its elements, and a
 *               dictionary and its links. Calls about different objects may overlap.
 *   any         Any thread may call it at any time.
 *
 * A signal handler may call no function of these libraries, because schedulers, runtimes and memory
 * have locks.
 *
 * CALLBACKS
 *
 * A callback must return. If a C++ exception leaves a callback, a comparator, a clean-up function
 * or the function of a thread, the process ends by SIGABRT. A longjmp over frames of the library is
 * undefined behavior, and so is pthread_exit in a callback.
 *
 * WHAT IS NOT DETECTED
 *
 * The following is undefined behavior. A call gets a pointer to freed memory, such as a destroyed
 * scheduler, heap or runtime. A timer, element or link is freed or overwritten while it is in a
 * queue, heap or dictionary. The memory of a queue or dictionary is freed before the queue or
 * dictionary is destroyed. Afterwards the functions tw_..._check find much of the damage.
 */
#ifndef TICKWRIGHT_BASE_H
#define TICKWRIGHT_BASE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stands before the declaration of each function. You may define it before you include a header. */
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

/* Returns the meaning of a result in English. The text is static. Any int has a text: that of 0 and
 * above is "done".
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

/* TW_CONTAINER(pointer, type, member): the struct of type `type` that contains the member.
 * `pointer` points to the member `member` of that struct. If `pointer` has another type than the
 * member, the compiler reports an error or a warning. A pointer to const gives a pointer to
 * const. In C++ `type` should have standard layout. For a class with virtual functions compilers
 * warn (-Winvalid-offsetof), although GCC and clang compute the right address. Without the warning:
 * put the timer into a plain struct that also points to the object, as a member of the class. */
#ifdef __cplusplus
#define TW_CONTAINER(pointer, type, member) \
    (tw_detail::container<type, decltype(static_cast<type *>(0)->member)>( \
        (pointer), offsetof(type, member)))
#else
/* A `const T *` and a `void *` in one conditional expression give a `const void *`. So _Generic
 * detects const without a name for T. The operand of sizeof is not evaluated: it only makes the
 * compiler compare the two pointer types. */
#define TW_CONTAINER(pointer, type, member) \
    _Generic((1 ? (pointer) : (void *)(pointer)), \
        const void *: (const type *)TW_CONTAINER_(const char, pointer, type, member), \
        default: (type *)TW_CONTAINER_(char, pointer, type, member))
#define TW_CONTAINER_(bytes, pointer, type, member) \
    ((void *)((bytes *)(pointer) - offsetof(type, member) \
              - 0 * sizeof(1 ? (pointer) : &((type *)0)->member)))
#endif

#endif
