"""What all parts of the binding share."""
import traceback

# Exceptions of callbacks, which cannot pass through C.
failed = []


def equal(left, right):
    assert left == right, f"{left!r} is not {right!r}"


def value(ffi, type_, call, *arguments, result=0):
    """What a function returns through its last pointer, to a place of this type."""
    place = ffi.new(type_ + " *")
    equal(call(*arguments, place), result)
    return place[0]


def callback(ffi, type_):
    """A decorator: a function of Python as a callback of C. Its exceptions are kept in `failed`."""
    def note(kind, error, trace):
        failed.append(error)
        traceback.print_exception(kind, error, trace)

    return ffi.callback(type_, onerror=note)
