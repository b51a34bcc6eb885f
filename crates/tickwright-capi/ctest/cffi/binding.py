#!/usr/bin/env python3
"""The C face as a binding meets it: declarations from the headers, calls through cffi, no compiler.

    binding.py INCLUDE LIBDIR    the installed headers and libraries

A binding sees no macro. So everything that a program needs is a function, a struct or an enum,
and the headers are C that a parser of declarations reads once comments and directives are gone.
"""
import errno
import pathlib
import re
import sys

import cffi


def declarations(text):
    """A header without comments, directives, and what is for C++ alone."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#(?:else|endif)[^\n]*\n", "", text, flags=re.S | re.M)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    return text.replace("TW_API ", "")


def load(include, libdir):
    ffi = cffi.FFI()
    names = set()
    for part in ("base", "queue", "heap", "odict", "sched", "thread"):
        text = declarations((include / f"{part}.h").read_text())
        ffi.cdef(text)
        names |= set(re.findall(r"\b(tw_\w+)\(", text)) - set(re.findall(r"\(\*(tw_\w+)\)", text))
    timers = ffi.dlopen(str(libdir / "libtickwright.so"))
    threads = ffi.dlopen(str(libdir / "libtickwright-threads.so"))
    for name in names:
        assert hasattr(timers, name) or hasattr(threads, name), f"{name} is declared, and no library has it"
    assert len(names) > 100, sorted(names)
    return ffi, timers, threads


def equal(left, right):
    assert left == right, f"{left} is not {right}"


def queues(ffi, tw):
    bytes_ = tw.tw_queue_bytes(tw.TW_FAMILY_HEAP4, 10)
    memory, place = ffi.new("char[]", bytes_), ffi.new("tw_queue **")
    equal(tw.tw_queue_init(place, memory, bytes_, tw.TW_FAMILY_HEAP4, 10), 0)
    timers = ffi.new("tw_timer[3]")
    for at, deadline in enumerate((300, 100, 200)):
        assert tw.tw_queue_insert(place[0], timers + at, deadline) >= 0
    fired = ffi.new("tw_expired *")
    equal(tw.tw_queue_pop_expired(place[0], 300, fired), -errno.EINVAL)  # its size is 0
    fired.size = ffi.sizeof("tw_expired")
    order = []
    while tw.tw_queue_pop_expired(place[0], 300, fired) == 1:
        order.append(fired.timer - timers)
    equal(order, [1, 2, 0])
    equal(tw.tw_queue_destroy(place[0]), 0)


def schedulers(ffi, tw):
    options = ffi.new("tw_sched_options *")
    equal(tw.tw_sched_options_init(options, ffi.sizeof("tw_sched_options")), 0)
    options.clock = tw.TW_CLOCK_VIRTUAL
    place, ran = ffi.new("tw_sched **"), []
    equal(tw.tw_sched_create(place, options), 0)
    sched = place[0]

    @ffi.callback("int64_t(void *, const tw_firing *)")
    def call(data, firing):
        ran.append((ffi.from_handle(data), firing.due_ns))
        return len(ran) < 3 and ffi.from_handle(data) == "again"

    once, again = ffi.new_handle("once"), ffi.new_handle("again")
    assert tw.tw_sched_add(sched, 5, call, once) > 0
    assert tw.tw_sched_add_variable(sched, 10, call, once) > 0
    job, number = ffi.new("tw_job *"), ffi.new("uint64_t *")
    equal(tw.tw_job_init(job, ffi.sizeof("tw_job")), 0)
    job.call, job.data, job.timing.when_ns, job.timing.period_ns = call, again, 1000000, 1000000
    assert tw.tw_sched_add_job(sched, job, number) > 0 and number[0] > 0
    equal(tw.tw_sched_timeout_ms(sched), 1)
    for _ in range(10):
        equal(tw.tw_sched_advance(sched, 1000000), 0)
        tw.tw_sched_run(sched, 2**64 - 1)
    equal(ran, [("again", 1000000), ("again", 2000000), ("again", 3000000), ("once", 5000000), ("once", 10000000)])
    counts = ffi.new("tw_sched_counts *", {"size": ffi.sizeof("tw_sched_counts")})
    equal(tw.tw_sched_get_counts(sched, counts), 0)
    equal((counts.fired, counts.pending), (5, 0))
    equal(tw.tw_sched_destroy(sched), 0)
    assert ffi.string(tw.tw_strerror(-22)).startswith(b"a null pointer")


def threads(ffi, tw):
    place, value = ffi.new("tw_runtime **"), ffi.new("void **")
    equal(tw.tw_runtime_create(place, tw.TW_MODEL_ONE_TO_ONE, ffi.NULL), 0)
    thread = ffi.new("tw_thread *")

    @ffi.callback("void *(void *)")
    def body(argument):
        return argument

    equal(tw.tw_thread_create(place[0], thread, ffi.NULL, body, ffi.cast("void *", 42)), 0)
    equal(tw.tw_thread_join(place[0], thread[0], value), 0)
    equal(int(ffi.cast("intptr_t", value[0])), 42)
    equal(tw.tw_runtime_destroy(place[0]), 0)


def main(include, libdir):
    ffi, timers, runtime = load(pathlib.Path(include) / "tickwright", pathlib.Path(libdir))
    queues(ffi, timers)
    schedulers(ffi, timers)
    threads(ffi, runtime)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
