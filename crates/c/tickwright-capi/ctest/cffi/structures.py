"""Queues, heaps and dictionaries: elements in memory that Python owns."""
import errno

from checks import callback, equal, value


def test(ffi, tw):
    versions(ffi, tw)
    queues(ffi, tw)
    advances(ffi, tw)
    heaps(ffi, tw)
    dictionaries(ffi, tw)


def versions(ffi, tw):
    assert ffi.string(tw.tw_version()).count(b".") == 2
    assert ffi.string(tw.tw_strerror(-errno.EINVAL)).startswith(b"a null pointer")
    equal(ffi.string(tw.tw_strerror(0)), b"done")


def new_queue(ffi, tw, family, capacity):
    """A queue, and the memory in which it lies: keep both."""
    size = tw.tw_queue_bytes(family, capacity)
    memory = ffi.new("char[]", size)
    place = ffi.new("tw_queue **")
    equal(tw.tw_queue_init(place, memory, size - 1, family, capacity), -errno.ENOSPC)
    assert place[0] == ffi.NULL
    equal(tw.tw_queue_init(place, memory, size, family, capacity), 0)
    return place[0], memory


def queues(ffi, tw):
    queue, memory = new_queue(ffi, tw, tw.TW_FAMILY_HEAP4, 3)
    timers = ffi.new("tw_timer[4]")
    for at, deadline in enumerate((300, 100, 200)):
        equal(tw.tw_timer_init(timers + at), 0)
        assert tw.tw_queue_insert(queue, timers + at, deadline) >= 0
    equal(tw.tw_queue_insert(queue, timers + 3, 5), -errno.ENOSPC)
    equal(tw.tw_queue_insert(queue, timers, 5), -errno.EALREADY)
    equal(tw.tw_queue_remove(queue, timers + 3), -errno.ENOENT)
    equal(tw.tw_queue_insert(queue, ffi.NULL, 5), -errno.EINVAL)
    equal(tw.tw_timer_is_linked(timers), 1)
    equal(tw.tw_timer_is_linked(timers + 3), 0)
    equal(tw.tw_queue_len(queue), 3)
    equal(value(ffi, "uint64_t", tw.tw_queue_expiry, queue, timers), 300)
    equal(value(ffi, "uint64_t", tw.tw_queue_next_expiry, queue, result=1), 100)
    equal(value(ffi, "uint64_t", tw.tw_queue_next_wake, queue, result=1), 100)
    first, tick = ffi.new("tw_timer **"), ffi.new("uint64_t *")
    equal(tw.tw_queue_peek(queue, first, tick), 1)
    equal((first[0] - timers, tick[0]), (1, 100))
    equal(tw.tw_queue_second(queue, first, tick), 1)
    equal((first[0] - timers, tick[0]), (2, 200))

    other, kept = new_queue(ffi, tw, tw.TW_FAMILY_LIST, 0)
    equal(tw.tw_queue_remove(other, timers), -errno.EXDEV)
    equal(tw.tw_queue_destroy(other), 0)
    equal(tw.tw_queue_destroy(other), -errno.EINVAL)

    assert tw.tw_queue_reschedule(queue, timers + 2, 400) >= 0
    fired = ffi.new("tw_expired *")
    equal(tw.tw_queue_pop_expired(queue, 400, fired), -errno.EINVAL)  # its size is 0
    fired.size = ffi.sizeof("tw_expired")
    order = []
    while tw.tw_queue_pop_expired(queue, 400, fired) == 1:
        order.append((fired.timer - timers, fired.deadline, fired.expiry))
    equal(order, [(1, 100, 100), (0, 300, 300), (2, 400, 400)])
    equal(value(ffi, "uint64_t", tw.tw_queue_now, queue), 400)
    assert tw.tw_queue_insert(queue, timers, 500) >= 0
    assert tw.tw_queue_remove(queue, timers) >= 0
    assert tw.tw_queue_insert(queue, timers, 500) >= 0
    equal(tw.tw_queue_clear(queue), 0)
    equal(tw.tw_timer_is_linked(timers), 0)
    equal(tw.tw_queue_check(queue, ffi.NULL, 0), 0)
    equal(tw.tw_queue_destroy(queue), 0)
    del memory, kept


def advances(ffi, tw):
    """Callbacks of a queue: they insert again, and what they must not call is refused."""
    queue, memory = new_queue(ffi, tw, tw.TW_FAMILY_WHEEL, 0)
    timers = ffi.new("tw_timer[2]")
    seen = []

    @callback(ffi, "void(const tw_expired *, void *)")
    def fire(fired, user):
        seen.append((fired.timer - timers, ffi.from_handle(user)))
        equal(tw.tw_queue_destroy(queue), -errno.EBUSY)
        if fired.deadline == 10:
            assert tw.tw_queue_insert(queue, fired.timer, 20) >= 0

    @callback(ffi, "uint64_t(tw_timer *, uint64_t, void *)")
    def rearm(timer, expiry, user):
        equal(tw.tw_queue_len(queue), -errno.EBUSY)
        return expiry + 100

    @callback(ffi, "void(tw_timer *, uint64_t, void *)")
    def visit(timer, expiry, user):
        seen.append((timer - timers, expiry))
        equal(tw.tw_queue_len(queue), -errno.EBUSY)

    user = ffi.new_handle("user")
    for at, deadline in enumerate((10, 15)):
        assert tw.tw_queue_insert(queue, timers + at, deadline) >= 0
    equal(tw.tw_queue_each(queue, visit, user), 0)
    equal(sorted(seen), [(0, 10), (1, 15)])
    seen.clear()
    equal(tw.tw_queue_update_now(queue, 5), 0)
    done = ffi.new("tw_advance *", {"size": ffi.sizeof("tw_advance")})
    equal(tw.tw_queue_advance(queue, 30, 1, fire, user, done), 1)  # the budget ran out
    equal(tw.tw_queue_advance(queue, 30, 100, fire, user, done), 0)
    equal(seen, [(0, "user"), (1, "user"), (0, "user")])
    equal(done.delivered, 2)
    assert tw.tw_queue_insert(queue, timers, 50) >= 0
    fired = ffi.new("tw_expired *", {"size": ffi.sizeof("tw_expired")})
    equal(tw.tw_queue_pop_and_reinsert(queue, 40, rearm, user, fired), 0)
    equal(tw.tw_queue_pop_and_reinsert(queue, 60, rearm, user, fired), 1)
    equal(fired.expiry, 50)
    equal(value(ffi, "uint64_t", tw.tw_queue_expiry, queue, timers), 150)
    equal(tw.tw_queue_destroy(queue), 0)
    del memory


def heaps(ffi, tw):
    """An element is two words: its rank, and its position, which the heap writes."""
    word = ffi.sizeof("uint64_t")

    @callback(ffi, "int(const void *, const void *, void *)")
    def compare(a, b, user):
        a, b = (ffi.cast("const uint64_t *", element)[0] for element in (a, b))
        return (a > b) - (a < b)

    place = ffi.new("tw_heap **")
    equal(tw.tw_heap_create(place, 0, ffi.NULL, ffi.NULL, word), -errno.EINVAL)
    assert place[0] == ffi.NULL
    equal(tw.tw_heap_create(place, 4, compare, ffi.NULL, word), 0)
    heap = place[0]
    elements = [ffi.new("uint64_t[2]", [rank, 0]) for rank in (5, 9, 1, 7)]
    for element in elements:
        equal(tw.tw_heap_push(heap, element), 0)
    equal(tw.tw_heap_push(heap, elements[0]), -errno.EALREADY)
    stray = ffi.new("uint64_t[2]", [3, 77])
    equal(tw.tw_heap_push(heap, stray), -errno.EXDEV)
    equal(tw.tw_heap_forget(heap, stray), 0)
    equal(tw.tw_heap_remove(heap, stray), -errno.ENOENT)
    equal(tw.tw_heap_contains(heap, elements[2]), 1)
    equal(tw.tw_heap_contains(heap, stray), 0)
    equal(tw.tw_heap_len(heap), 4)
    equal(value(ffi, "void *", tw.tw_heap_peek, heap, 1, result=1), elements[1])
    equal(tw.tw_heap_peek(heap, 5, ffi.new("void **")), 0)
    elements[2][0] = 8
    equal(tw.tw_heap_update(heap, elements[2]), 0)
    equal(tw.tw_heap_remove(heap, elements[3]), 0)
    equal(elements[3][1], 0)
    equal(tw.tw_heap_check(heap, ffi.NULL, 0), 0)
    ranks, popped = [], ffi.new("void **")
    while tw.tw_heap_pop(heap, popped) == 1:
        ranks.append(ffi.cast("uint64_t *", popped[0])[0])
    equal(ranks, [9, 8, 5])
    equal(tw.tw_heap_destroy(heap), 0)


def dictionaries(ffi, tw):
    """The links lie in one array, and the keys beside them in a list of Python."""
    links, keys = ffi.new("tw_odlink[6]"), [30, 10, 20, 40, 5, 99]
    odict, other = ffi.new("tw_odict *"), ffi.new("tw_odict *")
    number = ffi.typeof("uintptr_t")

    @callback(ffi, "const void *(const tw_odlink *, void *)")
    def key(link, user):
        return ffi.cast("void *", keys[link - links])

    @callback(ffi, "int(const void *, const void *, void *)")
    def compare(a, b, user):
        a, b = int(ffi.cast(number, a)), int(ffi.cast(number, b))
        return (a > b) - (a < b)

    def find(how, wanted):
        place = ffi.new("tw_odlink **")
        found = tw.tw_odict_find(odict, how, ffi.cast("void *", wanted), ffi.NULL, place)
        return keys[place[0] - links] if found == 1 else found

    def order(first, next_):
        place, found = ffi.new("tw_odlink **"), []
        more = first(odict, place)
        while more == 1:
            found.append(keys[place[0] - links])
            more = next_(odict, place[0], place)
        equal(more, 0)
        return found

    for at in (odict, other):
        equal(tw.tw_odict_init(at, key, compare, ffi.NULL), 0)
    for at in range(6):
        equal(tw.tw_odlink_init(links + at), 0)
    for at in range(3):
        equal(tw.tw_odict_insert(odict, links + at, ffi.NULL), 0)
    equal(tw.tw_odict_insert(odict, links, ffi.NULL), -errno.EALREADY)
    equal(tw.tw_odict_remove(other, links), -errno.EXDEV)
    equal(tw.tw_odict_remove(odict, links + 3), -errno.ENOENT)
    equal(tw.tw_odict_append(odict, links + 4), -errno.ERANGE)
    equal(tw.tw_odict_append(odict, links + 3), 0)
    equal(tw.tw_odict_prepend(odict, links + 4), 0)
    equal(tw.tw_odlink_is_linked(links + 4), 1)
    equal(tw.tw_odict_len(odict), 5)
    equal(order(tw.tw_odict_first, tw.tw_odict_next), [5, 10, 20, 30, 40])
    equal(order(tw.tw_odict_last, tw.tw_odict_prev), [40, 30, 20, 10, 5])
    equal(find(tw.TW_ODICT_EQ, 20), 20)
    equal(find(tw.TW_ODICT_GEQ, 21), 30)
    equal(find(tw.TW_ODICT_LT, 10), 5)
    equal(find(tw.TW_ODICT_EQ, 21), 0)
    keys[4] = 25
    equal(tw.tw_odict_key_update(odict, links + 4), 1)
    equal(order(tw.tw_odict_first, tw.tw_odict_next), [10, 20, 25, 30, 40])
    equal(tw.tw_odict_remove(odict, links + 4), 0)
    equal(tw.tw_odict_check(odict, ffi.NULL, 0), 0)
    equal(tw.tw_odict_clear(odict), 0)
    equal(tw.tw_odlink_is_linked(links), 0)
    for at in (odict, other):
        equal(tw.tw_odict_destroy(at), 0)
