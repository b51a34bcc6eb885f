#!/usr/bin/env python3
"""The C face as a binding meets it: declarations from the headers, calls through cffi, no compiler.

    binding.py INCLUDE LIBDIR    the installed headers and libraries

A binding sees no macro. So everything that a program needs is a function, a struct or an enum,
and the headers are C that a parser of declarations reads once comments and directives are gone.
The parts are in structures.py, schedulers.py and threads.py. Together they call every function.
"""
import pathlib
import re
import sys

import cffi

import checks
import schedulers
import structures
import threads

PARTS = ("base", "queue", "heap", "odict", "sched", "thread")


def declarations(text):
    """A header without comments, directives, and what is for C++ alone."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#(?:else|endif)[^\n]*\n", "", text, flags=re.S | re.M)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    return text.replace("TW_API ", "")


class Libraries:
    """Functions and enum constants of both libraries, and the names of the functions in use."""

    def __init__(self, ffi, libdir):
        self._timers = ffi.dlopen(str(libdir / "libtickwright.so"))
        self._threads = ffi.dlopen(str(libdir / "libtickwright-threads.so"))
        self.used = set()

    def __getattr__(self, name):
        self.used.add(name)
        try:
            return getattr(self._timers, name)
        except AttributeError:
            return getattr(self._threads, name)


def load(include, libdir):
    """The libraries, and the names of all functions that the headers declare."""
    ffi, names = cffi.FFI(), set()
    for part in PARTS:
        text = declarations((include / f"{part}.h").read_text())
        ffi.cdef(text)
        names |= set(re.findall(r"\b(tw_\w+)\(", text)) - set(re.findall(r"\(\*(tw_\w+)\)", text))
    assert len(names) > 100, sorted(names)
    return ffi, Libraries(ffi, libdir), names


def main(include, libdir):
    ffi, tw, names = load(pathlib.Path(include) / "tickwright", pathlib.Path(libdir))
    structures.test(ffi, tw)
    schedulers.test(ffi, tw)
    threads.test(ffi, tw)
    assert not checks.failed, checks.failed
    missing = sorted(names - tw.used)
    assert not missing, f"not called: {missing}"
    print(f"ctest: {len(names)} functions called through cffi")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
