"""Schedulers: a virtual clock, an event loop, a thread, and what they refuse."""
import errno
import select
import threading

from checks import callback, equal, value

MS = 1000000
ALL = 1 << 30  # more callbacks than any run has


def test(ffi, tw):
    adding(ffi, tw)
    arming(ffi, tw)
    cancelling(ffi, tw)
    walls(ffi, tw)
    event_loop(ffi, tw)
    driver_thread(ffi, tw)
    misuse(ffi, tw)


def new_sched(ffi, tw, clock):
    options = ffi.new("tw_sched_options *")
    equal(tw.tw_sched_options_init(options, ffi.sizeof("tw_sched_options")), 0)
    options.clock = clock
    place = ffi.new("tw_sched **")
    equal(tw.tw_sched_create(place, options), 0)
    return place[0]


def end_sched(ffi, tw, sched):
    equal(tw.tw_sched_check(sched, ffi.NULL, 0), 0)
    equal(tw.tw_sched_destroy(sched), 0)


def new_job(ffi, tw, call, data, when_ns, period_ns=0):
    job = ffi.new("tw_job *")
    equal(tw.tw_job_init(job, ffi.sizeof("tw_job")), 0)
    job.call, job.data = call, data
    job.timing.when_ns, job.timing.period_ns = when_ns, period_ns
    return job


def adding(ffi, tw):
    """Each way to add a timer, in the order in which they run."""
    sched, ran = new_sched(ffi, tw, tw.TW_CLOCK_VIRTUAL), []

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def call(data, firing):
        name, times = ffi.from_handle(data)
        ran.append((name, firing.due_ns // MS))
        return sum(1 for seen in ran if seen[0] == name) < times

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def variable(data, firing):
        ran.append(("variable", firing.due_ns // MS))
        return 4 if firing.due_ns < 10 * MS else -1

    names = [("add", 2), ("at", 1), ("since", 1), ("job", 3), ("from", 1), ("replaced", 1), ("replacing", 1)]
    add, at, since, job, from_, old, new = handles = [ffi.new_handle(name) for name in names]
    text, file = ffi.new("char[]", b"call"), ffi.new("char[]", b"schedulers.py")
    place = (text, file, 1)
    assert tw.tw_sched_add(sched, 5, call, add) > 0
    assert tw.tw_sched_add_at(sched, 6 * MS, call, at) > 0
    assert tw.tw_sched_add_since(sched, 0, 7, call, since) > 0
    assert tw.tw_sched_add_variable(sched, 8, variable, ffi.NULL) > 0
    id_ = ffi.new("uint64_t *")
    assert tw.tw_sched_add_job(sched, new_job(ffi, tw, call, job, 9 * MS, 10 * MS), id_) > 0
    for call_from, when in ((tw.tw_sched_add_from, 21), (tw.tw_sched_add_at_from, 22 * MS)):
        assert call_from(sched, when, call, from_, *place) > 0
    assert tw.tw_sched_add_since_from(sched, 0, 23, call, from_, *place) > 0
    assert tw.tw_sched_add_variable_from(sched, 24, variable, ffi.NULL, *place) > 0
    became = ffi.new("int *")
    for replace, more in ((tw.tw_sched_replace_job, ()), (tw.tw_sched_replace_job_from, place)):
        int_id = tw.tw_sched_add(sched, 30, call, old)
        assert replace(sched, int_id, new_job(ffi, tw, call, new, 31 * MS), became, id_, *more) > 0
        equal(became[0], tw.TW_CANCEL_REMOVED)
        equal(tw.tw_sched_find(sched, int_id, ffi.NULL), -errno.ENOENT)
    wake = ffi.callback("void(void *)", lambda data: None)
    equal(tw.tw_sched_set_wake(sched, wake, ffi.NULL), 0)
    equal(tw.tw_sched_set_wake(sched, ffi.NULL, ffi.NULL), 0)
    equal(tw.tw_sched_timeout_ms(sched), 5)
    for _ in range(50):
        equal(tw.tw_sched_advance(sched, MS), 0)
        assert tw.tw_sched_run(sched, ALL) >= 0
    equal(ran, [("add", 5), ("at", 6), ("since", 7), ("variable", 8), ("job", 9), ("add", 10), ("variable", 12),
                ("job", 19), ("from", 21), ("from", 22), ("from", 23), ("variable", 24), ("job", 29),
                ("replacing", 31), ("replacing", 31)])
    equal(tw.tw_sched_timeout_ms(sched), -1)
    equal(value(ffi, "uint64_t", tw.tw_sched_now, sched), 50 * MS)
    counts = ffi.new("tw_sched_counts *", {"size": ffi.sizeof("tw_sched_counts")})
    equal(tw.tw_sched_get_counts(sched, counts), 0)
    equal((counts.fired, counts.pending, counts.canceled), (15, 0, 2))
    for show in (tw.tw_sched_dump, tw.tw_sched_report):
        length = show(sched, ffi.NULL, 0)
        text_of = ffi.new("char[]", length + 1)
        equal(show(sched, text_of, length + 1), length)
        equal(len(ffi.string(text_of)), length)
    assert b"schedulers.py" in ffi.string(text_of)  # the report has the place of the call
    end_sched(ffi, tw, sched)
    del handles


def arming(ffi, tw):
    """A kept timer, armed in each way, with its states and clean-up."""
    sched, ran, cleaned = new_sched(ffi, tw, tw.TW_CLOCK_VIRTUAL), [], []

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def call(data, firing):
        ran.append(firing.now_ns // MS)
        equal(state(firing.id), tw.TW_STATE_RUNNING)
        equal(tw.tw_sched_destroy(sched), -errno.EDEADLK)
        return 0

    @callback(ffi, "void(void *)")
    def cleanup(data):
        cleaned.append(ffi.from_handle(data))

    def state(id_):
        info = ffi.new("tw_sched_info *", {"size": ffi.sizeof("tw_sched_info")})
        equal(tw.tw_sched_find(sched, id_, info), 0)
        return info.state

    data = ffi.new_handle("data")
    job = new_job(ffi, tw, call, data, 0)
    job.cleanup, job.flags = cleanup, tw.TW_JOB_KEEP
    id_ = ffi.new("uint64_t *")
    int_id = tw.tw_sched_add_job(sched, job, id_)
    equal(tw.tw_sched_int(sched, id_[0]), int_id)
    equal(state(int_id), tw.TW_STATE_IDLE)
    equal(tw.tw_sched_when(sched, int_id, ffi.NULL), 0)
    timing = ffi.new("tw_timing *", {"base": tw.TW_BASE_CLOCK, "when_ns": 30 * MS})
    for at, arm in ((10, lambda: tw.tw_sched_arm(sched, int_id, 10)),
                    (20, lambda: tw.tw_sched_arm_since(sched, int_id, 5 * MS, 15)),
                    (30, lambda: tw.tw_sched_arm_timing(sched, int_id, timing))):
        equal(arm(), 0)
        equal(state(int_id), tw.TW_STATE_PENDING)
        equal(value(ffi, "uint64_t", tw.tw_sched_when, sched, int_id, result=1), at * MS)
        equal(value(ffi, "int64_t", tw.tw_sched_remaining, sched, int_id, result=1), 10)
        equal(tw.tw_sched_advance(sched, 10 * MS), 0)
        equal(tw.tw_sched_run(sched, ALL), 1)
    equal((ran, cleaned), ([10, 20, 30], []))
    equal(tw.tw_sched_shutdown_sync(sched, int_id), tw.TW_CANCEL_REMOVED)
    equal(cleaned, ["data"])
    equal(tw.tw_sched_arm(sched, int_id, 1), -errno.ENOENT)
    end_sched(ffi, tw, sched)


def cancelling(ffi, tw):
    sched = new_sched(ffi, tw, tw.TW_CLOCK_VIRTUAL)

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def never(data, firing):
        raise AssertionError("a cancelled timer ran")

    id_, running = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    job = new_job(ffi, tw, never, ffi.NULL, 5 * MS)
    job.token = job
    for cancel in (tw.tw_sched_cancel_try, tw.tw_sched_cancel_async, tw.tw_sched_cancel_sync,
                   tw.tw_sched_shutdown_async, tw.tw_sched_shutdown_sync):
        assert tw.tw_sched_add_job(sched, job, id_) > 0
        equal(cancel(sched, id_[0]), tw.TW_CANCEL_REMOVED)
        equal(cancel(sched, id_[0]), -errno.ENOENT)
    for _ in range(3):
        assert tw.tw_sched_add_job(sched, job, id_) > 0
    equal(tw.tw_sched_shutdown_token(sched, job, running), 3)
    equal(running[0], 0)
    equal(tw.tw_sched_advance(sched, 10 * MS), 0)
    equal(tw.tw_sched_run(sched, ALL), 0)
    end_sched(ffi, tw, sched)


def walls(ffi, tw):
    """A timer by the time of day follows when the time of day is set."""
    sched, ran = new_sched(ffi, tw, tw.TW_CLOCK_VIRTUAL), []

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def call(data, firing):
        ran.append(firing.now_ns // MS)
        return 0

    job = new_job(ffi, tw, call, ffi.NULL, 100 * MS)
    job.timing.base = tw.TW_BASE_WALL
    assert tw.tw_sched_add_job(sched, job, ffi.NULL) > 0
    equal(tw.tw_sched_step_wall(sched, 40 * MS), 0)
    for _ in range(10):
        equal(tw.tw_sched_advance(sched, 10 * MS), 0)
        assert tw.tw_sched_run(sched, ALL) >= 0
    equal(ran, [60])
    end_sched(ffi, tw, sched)


def event_loop(ffi, tw):
    """The descriptor in a loop of Python."""
    sched, ran = new_sched(ffi, tw, tw.TW_CLOCK_MONOTONIC), []

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def call(data, firing):
        assert firing.now_ns >= firing.due_ns
        ran.append(ffi.from_handle(data))
        return 0

    names = [ffi.new_handle(name) for name in ("late", "soon")]
    for delay_ms, name in zip((1000, 1), names):
        assert tw.tw_sched_add(sched, delay_ms, call, name) > 0
    fd = tw.tw_sched_fd(sched)
    if fd == -errno.ENOTSUP:
        print("ctest: cffi: no descriptors here")
        equal(tw.tw_sched_fd_ack(sched), -errno.ENOENT)
    else:
        assert fd >= 0, fd
        equal(tw.tw_sched_start_thread(sched, ffi.NULL), -errno.EALREADY)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while len(ran) < 2:
            assert poll.poll(10000)
            if tw.tw_sched_fd_ack(sched) == 1:
                assert tw.tw_sched_run(sched, ALL) >= 0
        equal(ran, ["soon", "late"])
    end_sched(ffi, tw, sched)


def driver_thread(ffi, tw):
    """Callbacks on the thread of the scheduler, which Python has not created."""
    sched, done, names = new_sched(ffi, tw, tw.TW_CLOCK_MONOTONIC), threading.Event(), set()

    @callback(ffi, "int64_t(void *, const tw_firing *)")
    def call(data, firing):
        names.add(threading.get_ident())
        equal(tw.tw_sched_stop_thread(sched), -errno.EDEADLK)
        done.set()
        return 0

    equal(tw.tw_sched_start_thread(sched, b"timers"), 0)
    equal(tw.tw_sched_fd(sched), -errno.EALREADY)
    assert tw.tw_sched_add(sched, 1, call, ffi.NULL) > 0
    assert done.wait(60)
    assert threading.get_ident() not in names
    equal(tw.tw_sched_stop_thread(sched), 0)
    equal(tw.tw_sched_stop_thread(sched), -errno.ENOENT)
    end_sched(ffi, tw, sched)


def misuse(ffi, tw):
    place, options = ffi.new("tw_sched **"), ffi.new("tw_sched_options *")
    equal(tw.tw_sched_create(ffi.NULL, ffi.NULL), -errno.EINVAL)
    equal(tw.tw_sched_create(place, options), -errno.EINVAL)  # its size is 0
    equal(tw.tw_sched_options_init(options, ffi.sizeof("tw_sched_options")), 0)
    options.clock = tw.TW_CLOCK_VIRTUAL
    options.family = 99
    equal(tw.tw_sched_create(place, options), -errno.EINVAL)
    assert place[0] == ffi.NULL
    larger = ffi.new("char[]", ffi.sizeof("tw_sched_options") + 8)  # of a later version
    larger_options = ffi.cast("tw_sched_options *", larger)
    larger_options.size = len(larger)
    larger[len(larger) - 1] = b"x"
    equal(tw.tw_sched_create(place, larger_options), -errno.E2BIG)
    sched = new_sched(ffi, tw, tw.TW_CLOCK_MONOTONIC)
    equal(tw.tw_sched_add(sched, 1, ffi.NULL, ffi.NULL), -errno.EINVAL)
    equal(tw.tw_sched_cancel_sync(sched, 2**64 - 1), -errno.ENOENT)
    equal(tw.tw_sched_advance(sched, 1), -errno.ENOTSUP)
    equal(tw.tw_sched_fd_ack(sched), -errno.ENOENT)
    job = new_job(ffi, tw, ffi.NULL, ffi.NULL, 0)
    equal(tw.tw_sched_add_job(sched, job, ffi.NULL), -errno.EINVAL)
    equal(tw.tw_sched_run(ffi.NULL, 1), -errno.EINVAL)
    end_sched(ffi, tw, sched)
