"""Threads in each model, and what they meet at.

Python keeps its state of a thread in a thread-local variable, and the M:N threads of one worker
share those. So one M:N thread at a time runs functions of Python, while a thread of Python is what
it meets. Threads of the other models are threads of the platform, and any number of them may run.
"""
import errno
import os

from checks import callback, equal, value

SECOND = 1000000000
STACK = 1 << 20  # bytes; functions of Python take more than the default of an M:N thread


def test(ffi, tw):
    misuse(ffi, tw)
    for model, at_once in ((tw.TW_MODEL_ONE_TO_ONE, 3), (tw.TW_MODEL_MN, 1)):
        options = ffi.new("tw_runtime_options *")
        equal(tw.tw_runtime_options_init(options, ffi.sizeof("tw_runtime_options")), 0)
        options.stack_size = STACK
        options.workers = 2 if model == tw.TW_MODEL_MN else options.workers
        runtime = value(ffi, "tw_runtime *", lambda place: tw.tw_runtime_create(place, model, options))
        lives(ffi, tw, runtime)
        locks(ffi, tw, runtime, at_once)
        mailboxes(ffi, tw, runtime, at_once)
        keys(ffi, tw, runtime)
        descriptors(ffi, tw, runtime)
        equal(tw.tw_runtime_len(runtime), 0)
        equal(tw.tw_runtime_destroy(runtime), 0)


def default(ffi):
    """The macro TW_DEFAULT."""
    return 2 ** (8 * ffi.sizeof("size_t")) - 1


def body(ffi, function):
    """A function of Python as that of a thread: numbers in and out."""
    @callback(ffi, "void *(void *)")
    def run(argument):
        return ffi.cast("void *", function(int(ffi.cast("intptr_t", argument))))

    return run


def spawn(ffi, tw, runtime, run, argument=0):
    create = tw.tw_thread_create
    return value(ffi, "tw_thread", lambda place: create(runtime, place, ffi.NULL, run, ffi.cast("void *", argument)))


def join(ffi, tw, runtime, thread):
    return int(ffi.cast("intptr_t", value(ffi, "void *", tw.tw_thread_join, runtime, thread)))


def made(ffi, kind, create, *arguments):
    """A lock, a condition variable, a mailbox or a key."""
    return value(ffi, kind + " *", lambda place: create(place, *arguments))


def lives(ffi, tw, runtime):
    """A thread's id, stack and options, its park, and each way to wait for its end."""
    def looks(number):
        lowest, size = ffi.new("void **"), ffi.new("size_t *")
        equal(tw.tw_thread_stack(lowest, size), 1)
        assert size[0] >= 256 * 1024, size[0]
        assert tw.tw_thread_self() != 0
        equal(tw.tw_runtime_destroy(runtime), -errno.EDEADLK)
        tw.tw_thread_yield()
        tw.tw_thread_forbid_yields()
        tw.tw_thread_allow_yields()
        tw.tw_thread_sleep(1000)
        return number + 1

    def parks(number):
        tw.tw_thread_park()
        return number

    looks, parks = body(ffi, looks), body(ffi, parks)
    equal(tw.tw_thread_self(), 0)
    equal(join(ffi, tw, runtime, spawn(ffi, tw, runtime, looks, 41)), 42)

    thread = spawn(ffi, tw, runtime, parks, 7)
    equal(tw.tw_thread_equal(thread, thread), 1)
    equal(tw.tw_thread_equal(thread, 0), 0)
    equal(tw.tw_runtime_len(runtime), 1)
    equal(tw.tw_thread_tryjoin(runtime, thread, ffi.NULL), -errno.EBUSY)
    now = value(ffi, "uint64_t", tw.tw_runtime_now, runtime)
    equal(tw.tw_thread_timedjoin(runtime, thread, ffi.NULL, now), -errno.ETIMEDOUT)
    equal(tw.tw_thread_unpark(runtime, thread), 0)
    equal(tw.tw_thread_timedjoin(runtime, thread, ffi.NULL, now + 60 * SECOND), 0)
    equal(tw.tw_thread_join(runtime, thread, ffi.NULL), -errno.ESRCH)
    equal(tw.tw_thread_unpark(runtime, thread), -errno.ESRCH)

    options = ffi.new("tw_thread_options *")
    equal(tw.tw_thread_options_init(options, ffi.sizeof("tw_thread_options")), 0)
    name = ffi.new("char[]", b"from Python")
    options.stack_size, options.name = 2 * STACK, name
    place = ffi.new("tw_thread *")
    equal(tw.tw_thread_create(runtime, place, options, parks, ffi.NULL), 0)
    equal(tw.tw_thread_detach(runtime, place[0]), 0)
    equal(tw.tw_thread_detach(runtime, place[0]), -errno.EINVAL)
    equal(tw.tw_thread_join(runtime, place[0], ffi.NULL), -errno.EINVAL)
    equal(tw.tw_thread_unpark(runtime, place[0]), 0)
    while tw.tw_runtime_len(runtime) > 0:
        tw.tw_thread_yield()
    options.stack_size = 1
    equal(tw.tw_thread_create(runtime, place, options, parks, ffi.NULL), -errno.EINVAL)
    del name


def locks(ffi, tw, runtime, at_once):
    """Threads add under a lock, and this one waits for the sum."""
    mutex, cond = made(ffi, "tw_mutex", tw.tw_mutex_create), made(ffi, "tw_cond", tw.tw_cond_create)
    total, waiting, opened = [0], [0], [False]

    def adds(number):
        equal(tw.tw_mutex_lock(mutex), 0)
        equal(tw.tw_mutex_lock(mutex), -errno.EDEADLK)
        waiting[0] += 1
        while not opened[0]:
            equal(tw.tw_cond_wait(cond, mutex), 0)
        total[0] += number
        equal(tw.tw_cond_signal(cond), 0)
        equal(tw.tw_mutex_unlock(mutex), 0)
        return 0

    adds = body(ffi, adds)
    threads = [spawn(ffi, tw, runtime, adds, number) for number in range(1, at_once + 1)]
    equal(tw.tw_mutex_lock(mutex), 0)
    while waiting[0] < at_once:
        assert tw.tw_cond_wait_for(cond, mutex, 100000) in (0, -errno.ETIMEDOUT)
    equal(tw.tw_mutex_destroy(mutex), -errno.EBUSY)
    opened[0] = True
    equal(tw.tw_cond_broadcast(cond), 0)
    while total[0] < sum(range(1, at_once + 1)):
        equal(tw.tw_cond_wait_for(cond, mutex, 60 * SECOND), 0)
    equal(tw.tw_mutex_unlock(mutex), 0)
    for thread in threads:
        equal(join(ffi, tw, runtime, thread), 0)
    equal(tw.tw_mutex_trylock(mutex), 0)
    equal(tw.tw_mutex_trylock(mutex), -errno.EBUSY)
    equal(tw.tw_mutex_lock_for(mutex, 0), -errno.EDEADLK)
    tw.tw_thread_park_for(0)
    equal(tw.tw_mutex_unlock(mutex), 0)
    equal(tw.tw_cond_destroy(cond), 0)
    equal(tw.tw_mutex_destroy(mutex), 0)


def mailboxes(ffi, tw, runtime, at_once):
    """Letters to threads, and their answers."""
    there, back = (made(ffi, "tw_mailbox", tw.tw_mailbox_create, room) for room in (2, default(ffi)))

    def doubles(_):
        letter, answered = ffi.new("void **"), 0
        while tw.tw_mailbox_receive(there, letter) == 0:
            equal(tw.tw_mailbox_send(back, ffi.cast("void *", 2 * int(ffi.cast("intptr_t", letter[0])))), 0)
            answered += 1
        return answered

    doubles = body(ffi, doubles)
    threads = [spawn(ffi, tw, runtime, doubles) for _ in range(at_once)]
    for number in range(20):
        equal(tw.tw_mailbox_send(there, ffi.cast("void *", number)), 0)
    answers = [value(ffi, "void *", lambda place: tw.tw_mailbox_receive_for(back, place, 60 * SECOND))
               for _ in range(20)]
    equal(sorted(int(ffi.cast("intptr_t", answer)) for answer in answers), list(range(0, 40, 2)))
    equal(tw.tw_mailbox_close(there), 0)
    equal(sum(join(ffi, tw, runtime, thread) for thread in threads), 20)
    equal(tw.tw_mailbox_trysend(there, ffi.NULL), -errno.EPIPE)
    equal(tw.tw_mailbox_tryreceive(there, ffi.new("void **")), -errno.EPIPE)
    for mailbox in (there, back):
        equal(tw.tw_mailbox_destroy(mailbox), 0)


def keys(ffi, tw, runtime):
    """A thread's own value, and its destructor."""
    seen = []

    @callback(ffi, "void(void *)")
    def destructor(of):
        seen.append(int(ffi.cast("intptr_t", of)))

    key = made(ffi, "tw_key", tw.tw_key_create, destructor)

    def sets(number):
        equal(value(ffi, "void *", tw.tw_key_get, key), ffi.NULL)
        equal(tw.tw_key_set(key, ffi.cast("void *", number)), 0)
        tw.tw_thread_yield()
        return int(ffi.cast("intptr_t", value(ffi, "void *", tw.tw_key_get, key)))

    sets = body(ffi, sets)
    for number in (5, 6):
        equal(join(ffi, tw, runtime, spawn(ffi, tw, runtime, sets, number)), number)
    equal(sorted(seen), [5, 6])
    equal(value(ffi, "void *", tw.tw_key_get, key), ffi.NULL)
    equal(tw.tw_key_destroy(key), 0)


def descriptors(ffi, tw, runtime):
    """A thread waits for a pipe that this thread writes to."""
    read, write = os.pipe()

    def reads(_):
        equal(tw.tw_thread_wait_readable(read), 0)
        equal(tw.tw_thread_wait_readable(-1), -errno.EBADF)
        return os.read(read, 1)[0]

    reads = body(ffi, reads)
    thread = spawn(ffi, tw, runtime, reads)
    equal(tw.tw_thread_wait_writable(write), 0)
    os.write(write, b"x")
    equal(join(ffi, tw, runtime, thread), ord("x"))
    os.close(read)
    os.close(write)


def misuse(ffi, tw):
    """What is no object, on a thread that no runtime has created."""
    nonsense = ffi.new("uint64_t[16]", [1] * 16)
    place, letter = ffi.new("tw_runtime **"), ffi.new("void **")
    equal(tw.tw_runtime_create(place, 99, ffi.NULL), -errno.EINVAL)
    assert place[0] == ffi.NULL
    equal(tw.tw_runtime_len(ffi.NULL), -errno.EINVAL)
    equal(tw.tw_thread_stack(letter, ffi.new("size_t *")), 0)
    equal(tw.tw_mutex_lock(ffi.cast("tw_mutex *", nonsense)), -errno.EINVAL)
    equal(tw.tw_mailbox_create(ffi.new("tw_mailbox **"), 0), -errno.EINVAL)
    mailbox = made(ffi, "tw_mailbox", tw.tw_mailbox_create, 1)
    equal(tw.tw_mailbox_tryreceive(mailbox, letter), -errno.EBUSY)
    equal(tw.tw_mailbox_receive_for(mailbox, letter, 1000), -errno.ETIMEDOUT)
    equal(tw.tw_mailbox_trysend(mailbox, nonsense), 0)
    equal(tw.tw_mailbox_trysend(mailbox, nonsense), -errno.EBUSY)
    equal(tw.tw_mailbox_len(mailbox), 1)
    equal(tw.tw_mailbox_destroy(mailbox), 0)
    mutex = made(ffi, "tw_mutex", tw.tw_mutex_create)
    equal(tw.tw_mutex_unlock(mutex), -errno.EPERM)
    equal(tw.tw_mutex_destroy(mutex), 0)
    equal(tw.tw_mutex_destroy(ffi.NULL), 0)
    equal(tw.tw_thread_wait_writable(0x3fffffff), -errno.EBADF)
