#!/usr/bin/env bash
# The C face as C programs meet it: installed into a prefix, found by pkg-config, linked shared and
# static, compiled as C11 and as C++, and run plainly, under valgrind and under the compilers'
# sanitizers. PROFILE=dev takes the library with debug assertions.
set -euo pipefail
cd "$(dirname "$0")/../crates/tickwright-capi"

for tool in cc make pkg-config; do
    if ! command -v "$tool" >/dev/null; then
        echo "ctest: skipped: no $tool (Debian: apt-get install build-essential pkg-config)"
        exit 0
    fi
done

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
trap 'echo "ctest: line $LINENO failed" >&2' ERR
prefix="$work/prefix"
soname="$(cat ../tickwright-boundary/SONAME)"
export BUILD="$work/build"
if make -s install PREFIX="$prefix" 2>/dev/null; then
    echo "ctest: something was installed before anything was built" >&2
    exit 1
fi
make -s PROFILE="${PROFILE:-release}"
# Installing compiles nothing: there is no compiler.
install() { make -s install CARGO=false RUSTC=false CC=false "$@"; }
# Two prefixes that differ, as packagers have them: built to be in one, put into another.
install PREFIX=/opt/elsewhere LIBDIR=/opt/elsewhere/lib/machine DESTDIR="$work/staged"
test -f "$work/staged/opt/elsewhere/include/tickwright.h"
# A prefix that was moved is found where it is.
moved="$work/staged/opt/elsewhere"
for library in tickwright tickwright-threads; do
    for folder in lib/machine include; do
        found="$(PKG_CONFIG_PATH="$moved/lib/machine/pkgconfig" pkg-config --variable="${folder%/*}dir" "$library")"
        test "$(readlink -f "$found")" = "$moved/$folder"
    done
done
# valgrind's suppressions name functions, so this one keeps its symbols.
install PREFIX="$prefix" STRIP=
if install PREFIX=relative 2>/dev/null; then
    echo "ctest: a relative prefix was taken" >&2
    exit 1
fi
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"

read -ra cflags < <(pkg-config --cflags tickwright-threads)
read -ra shared < <(pkg-config --libs tickwright-threads)
read -ra timers < <(pkg-config --libs tickwright)
# With both libraries in one place the linker takes the shared one, unless it is told the other's
# name.
static_libraries() {
    pkg-config --libs --static "$@" | sed 's/-ltickwright\(-threads\)\?/-l:libtickwright\1.a/g'
}
read -ra static < <(static_libraries tickwright-threads)
warnings=(-O1 -g -Wall -Wextra -Wpedantic -Werror)
wraps=(-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign)

# The test programs end themselves when they hang (check.h); others are ended here.
limited=()
if command -v timeout >/dev/null; then
    limited=(timeout 900)
fi

# build NAME COMPILER... -- LIBRARIES...: the test programs, in a folder of that name.
build() {
    local name="$1" test compiler=()
    shift
    while [ "$1" != -- ]; do
        compiler+=("$1")
        shift
    done
    shift
    mkdir "$work/$name"
    for test in ctest/*.c; do
        test="$(basename "$test" .c)"
        # This one answers for malloc, which sanitizers want for themselves, and a shared library
        # has its own. A static C library would be refused memory too, and glibc's pthread_create
        # asserts that it has some.
        if [ "$test" = no_memory ]; then
            case "$name" in
                *whole*) ;;
                *static*) "${compiler[@]}" "${warnings[@]}" "${cflags[@]}" "ctest/$test.c" -o "$work/$name/$test" "${wraps[@]}" "$@" -pthread ;;
            esac
        else
            "${compiler[@]}" "${warnings[@]}" "${cflags[@]}" "ctest/$test.c" -o "$work/$name/$test" "$@" -pthread
        fi
    done
}

# run NAME [WRAPPER...]: all of them.
run() {
    local name="$1" program
    shift
    for program in "$work/$name"/*; do
        "$@" "$program" || {
            echo "ctest: $name/$(basename "$program") failed" >&2
            exit 1
        }
    done
}

build c-shared cc -std=c11 -- "${shared[@]}"
build c-static cc -std=c11 -- "${static[@]}"
run c-shared
run c-static
# Statically with all that it needs: the compiler brings its own unwinder.
if echo 'int main(void) { return 0; }' | cc -static -x c - -o "$work/probe" -pthread 2>/dev/null; then
    read -ra whole < <(pkg-config --libs --static tickwright-threads)
    # The linker warns of functions of the C library that load others, such as the look-up of hosts.
    build c-whole-static cc -static -std=c11 -- "${whole[@]}" 2>"$work/warned" || {
        cat "$work/warned" >&2
        exit 1
    }
    run c-whole-static
    echo "ctest: C11, linked with -static"
else
    echo "ctest: -static skipped: no static C library"
fi
# What is installed by default has no debug data, exports the same, and runs.
staged="$work/staged/opt/elsewhere/lib/machine"
if command -v readelf >/dev/null && command -v strip >/dev/null; then
    for library in libtickwright.a libtickwright.so libtickwright-threads.a libtickwright-threads.so; do
        readelf -SW "$staged/$library" >"$work/sections"
        if grep -q '\.debug_' "$work/sections"; then
            echo "ctest: $library is installed with debug data" >&2
            exit 1
        fi
        readelf -SW "$prefix/lib/$library" >"$work/sections"
        grep -q '\.debug_' "$work/sections"
    done
fi
exported() { nm -D --defined-only "$@" | awk 'NF >= 3 { print $NF }' | sort; }
for library in libtickwright.so libtickwright-threads.so; do
    diff <(exported "$staged/$library") <(exported "$prefix/lib/$library")
done
LD_LIBRARY_PATH="$staged" "$work/c-shared/states"
cc -std=c11 "${warnings[@]}" "${cflags[@]}" ctest/states.c -o "$work/stripped" "$staged/libtickwright.a" "${static[@]}" -pthread
"$work/stripped"
echo "ctest: installed without debug data"
ldd "$work/c-static/states" >"$work/needs" || true # where it needs nothing at all
if grep -q libtickwright "$work/needs"; then
    echo "ctest: a program that was linked statically asks for the shared library" >&2
    exit 1
fi
if [ "$(uname -s)" = Linux ]; then
    ldd "$work/c-shared/thread_states" >"$work/needs"
    grep -q "libtickwright-threads.so.$soname => $prefix/lib/libtickwright-threads.so.$soname" "$work/needs"
    # A program with timers alone asks for no coroutines.
    cc -std=c11 "${warnings[@]}" "${cflags[@]}" ctest/sched_order.c -o "$work/timers" "${timers[@]}" -pthread
    "$work/timers"
    ldd "$work/timers" >"$work/needs"
    grep -q "libtickwright.so.$soname => $prefix/lib/libtickwright.so.$soname" "$work/needs"
    if grep -q threads "$work/needs"; then
        echo "ctest: a program with timers alone asks for the library of threads" >&2
        exit 1
    fi
fi
# Faults. The second one is linked with nothing of ours.
cc -std=gnu11 "${warnings[@]}" -fno-stack-clash-protection "${cflags[@]}" ctest/faults/leap.c -o "$work/leap" "${shared[@]}" -pthread
if (ulimit -c 0 && "$work/leap") >"$work/leapt" 2>&1 || ! grep -q 'has overflowed its stack' "$work/leapt"; then
    cat "$work/leapt" >&2
    echo "ctest: a frame of 12 KiB steps over the guard" >&2
    exit 1
fi
if [ "$(uname -s)" = Linux ] && ldd --version 2>&1 | grep -qiE 'glibc|gnu libc'; then
    cc -std=gnu11 "${warnings[@]}" -Wno-pedantic "${cflags[@]}" ctest/faults/unload.c -o "$work/unload" -pthread -ldl
    "$work/unload" "$prefix/lib/libtickwright-threads.so"
fi
# The programs of the book print what the book shows, as C and as C++. The second one races with the
# clock: its lines are compared without their order.
book=(../../docs/start/c.md ../../docs/c.md)
awk -v to="$work/book" '/^```c$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside { print >(to n ".c") }' "${book[@]}"
awk -v to="$work/shown" '/^```console$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside && !/^\$ / { print >(to n) }' "${book[@]}"
test -s "$work/book2.c"
for program in "$work"/book*.c; do
    n="$(basename "$program" .c)"
    n="${n#book}"
    compilers=("cc -std=c11")
    if command -v c++ >/dev/null; then
        compilers+=("c++ -x c++ -std=c++11")
    fi
    for compiler in "${compilers[@]}"; do
        read -ra compiler <<<"$compiler"
        "${compiler[@]}" "${warnings[@]}" "${cflags[@]}" -c "$program" -o "$work/book$n.o"
        cc "$work/book$n.o" -o "$work/book$n" "${timers[@]}"
        "${limited[@]}" "$work/book$n" >"$work/said$n"
        diff <(sort "$work/shown$n") <(sort "$work/said$n")
    done
done
diff "$work/shown1" "$work/said1"
echo "ctest: C11, shared and static"

# The comparison with event loops, and that it does without them. Nobody reads its times.
make -s peers OUT="$work/peers" STAGE="$work/stage" PROFILE="${PROFILE:-release}"
"${limited[@]}" "$work/peers" --n 1,1000 --rounds 1 >/dev/null
make -s peers OUT="$work/alone" STAGE="$work/stage" PROFILE="${PROFILE:-release}" PEER_FLAGS=
"${limited[@]}" "$work/alone" --n 10 --rounds 1 2>/dev/null | grep -c '"why": "not built' | grep -qx 4
echo "ctest: comparison with event loops: builds and answers rightly"

# The examples: a registrar with its load, programs with the names of Asterisk's scheduler, of
# HelenOS's odict and of pthreads, and threads in three models.
for example in registrar asterisk odict pthread threads; do
    cc -std=gnu11 "${warnings[@]}" -Wno-pedantic "${cflags[@]}" "examples/$example.c" -o "$work/$example" "${shared[@]}" -pthread
done
"${limited[@]}" "$work/registrar" --load 500 50 >/dev/null
"${limited[@]}" "$work/asterisk"
if command -v c++ >/dev/null; then
    c++ -x c++ -std=c++11 "${warnings[@]}" "${cflags[@]}" examples/asterisk.c -o "$work/asterisk-cxx" -x none "${shared[@]}" -pthread
    "${limited[@]}" "$work/asterisk-cxx"
    c++ -x c++ -std=c++11 "${warnings[@]}" "${cflags[@]}" examples/odict.c -o "$work/odict-cxx" -x none "${shared[@]}" -pthread
    "${limited[@]}" "$work/odict-cxx"
fi
"${limited[@]}" "$work/threads" 3 7 1000 | grep -c ' ns a thread$' | grep -qx 3
"${limited[@]}" "$work/odict"
for model in one-to-one mn manager; do
    TICKWRIGHT_MODEL="$model" "${limited[@]}" "$work/pthread" | grep -qx '600 threads'
done
cc -std=gnu11 "${warnings[@]}" -DPLAIN examples/pthread.c -o "$work/pthread-plain" -pthread
"${limited[@]}" "$work/pthread-plain" | grep -qx '600 threads'
# Glue for event loops, where these are installed: both timers run, in their order.
for loop in glib:glib-2.0 libevent:libevent libuv:libuv; do
    example="${loop%:*}"
    if pkg-config --exists "${loop#*:}"; then
        read -ra its < <(pkg-config --cflags --libs "${loop#*:}")
        cc -std=gnu11 "${warnings[@]}" -Wno-pedantic "${cflags[@]}" "examples/$example.c" -o "$work/$example" "${timers[@]}" "${its[@]}"
        diff <(printf 'egg\ntea\n') <("${limited[@]}" "$work/$example")
    else
        echo "ctest: the glue for $example skipped: not installed"
    fi
done
echo "ctest: examples"

# What the library exports is what the header declares.
declared() { sed -n 's/^TW_API [^(]*[ *]\(tw_[a-z_]*\)(.*/\1/p' "$@" | sort; }
parts="$prefix/include/tickwright"
diff <(declared "$parts"/{base,queue,heap,odict,sched}.h) <(exported "$prefix/lib/libtickwright.so")
diff <(declared "$parts/thread.h") <(exported "$prefix/lib/libtickwright-threads.so")
echo "ctest: $(declared "$parts"/*.h | wc -l) functions, each exported, and nothing else"

# Each function has a page, and the pages are sound. Each part of the header stands by itself.
if command -v python3 >/dev/null; then
    for function in $(declared "$parts"/*.h); do
        test -s "$prefix/share/man/man3/$function.3"
    done
    # A page of a type is the page of its header: every callback and every struct has one.
    links="$(cd "$prefix/share/man" && grep -l '^\.so ' man3/*.3)"
    for link in $links; do
        test -s "$prefix/share/man/$(sed 's/^\.so //' "$prefix/share/man/$link")"
    done
    for type in $(sed -n 's/^} \(tw_[a-z_]*\);/\1/p; s/^typedef .*(\*\(tw_[a-z_]*\)).*/\1/p' "$parts"/*.h); do
        grep -qx "man3/$type.3" <<<"$links"
    done
    if command -v mandoc >/dev/null; then
        (cd "$prefix/share/man" && grep -L '^\.so ' man3/*.3 | xargs mandoc -Tlint -Wwarning)
        echo "ctest: man pages"
    else
        echo "ctest: man pages are made, but not checked: no mandoc"
    fi
else
    echo "ctest: man pages skipped: no python3"
fi
# A binding, which sees no macro and has no compiler.
if command -v python3 >/dev/null && python3 -c 'import cffi' 2>/dev/null; then
    "${limited[@]}" python3 ctest/cffi/binding.py "$prefix/include" "$prefix/lib"
    echo "ctest: a binding by cffi"
else
    echo "ctest: a binding skipped: no python3 with cffi"
fi
for part in base queue heap odict sched thread; do
    echo "#include <tickwright/$part.h>" >"$work/part.c"
    cc -std=c11 "${warnings[@]}" -Wno-empty-translation-unit "${cflags[@]}" -c "$work/part.c" -o "$work/part.o"
done

if command -v c++ >/dev/null; then
    build cxx-shared c++ -x c++ -std=c++11 -- -x none "${shared[@]}"
    build cxx-static c++ -x c++ -std=c++17 -- -x none "${static[@]}"
    run cxx-shared
    run cxx-static
    # Callbacks that throw. Not under the tools below: these processes are meant to die.
    mkdir "$work/throws"
    c++ -std=c++11 "${warnings[@]}" "${cflags[@]}" ctest/exceptions.cc -o "$work/throws/shared" "${shared[@]}" -pthread
    c++ -std=c++17 "${warnings[@]}" "${cflags[@]}" ctest/exceptions.cc -o "$work/throws/static" "${static[@]}" -pthread
    run throws
    # Exceptions across waits; also where the C++ runtime is linked statically, and has no name for
    # the loader.
    mkdir "$work/switches"
    c++ -std=c++11 "${warnings[@]}" -Wno-deprecated-declarations "${cflags[@]}" ctest/switches.cc -o "$work/switches/shared" "${shared[@]}" -pthread
    c++ -std=c++11 "${warnings[@]}" -Wno-deprecated-declarations "${cflags[@]}" ctest/switches.cc -o "$work/switches/static" "${static[@]}" -pthread
    c++ -std=c++11 "${warnings[@]}" -Wno-deprecated-declarations "${cflags[@]}" -static-libstdc++ ctest/switches.cc -o "$work/switches/alone" \
        "${static[@]}" -pthread
    run switches
    echo "ctest: C++, shared and static, exceptions that leave callbacks, and exceptions across waits"
else
    echo "ctest: C++ skipped: no c++"
fi

if ! command -v valgrind >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -qq -y valgrind >/dev/null 2>&1 || true
fi
if command -v valgrind >/dev/null; then
    # What a forked child has of its parent counts as lost, thousands of lines of it: children are
    # silent. valgrind runs one thread at a time, and without "fair" one that never waits keeps the
    # others from running for minutes.
    memcheck=(valgrind -q --fair-sched=try --error-exitcode=99 --leak-check=full --child-silent-after-fork=yes --suppressions=ctest/valgrind/suppressions)
    # A thread that is still ending when its process does has its memory by a pointer into the
    # middle: "possibly lost". The children of this test end so, and none of the others.
    memchecked() {
        local kinds=definite,possible
        if [ "$(basename "$1")" = last_moments ]; then
            kinds=definite
        fi
        "${memcheck[@]}" --errors-for-leak-kinds="$kinds" "$1"
    }
    run c-shared memchecked
    run c-static memchecked
    if [ -d "$work/switches" ]; then
        run switches memchecked
    fi
    echo "ctest: valgrind memcheck"
else
    echo "ctest: valgrind skipped: not installed"
fi

# sanitized NAME FLAG OPTIONS...: with the caller's side instrumented; the library's is not, but its
# calls of malloc are seen.
sanitized() {
    local name="$1" flag="$2"
    shift 2
    if echo 'int main(void) { return 0; }' | cc -x c "$flag" - -o "$work/probe" 2>/dev/null && "${limited[@]}" "$work/probe"; then
        build "$name" cc -std=c11 "$flag" -fno-sanitize-recover=all -- "${shared[@]}"
        run "$name" env "$@"
        echo "ctest: $flag"
    else
        echo "ctest: $flag skipped: the compiler does not have it here"
    fi
}
sanitized asan -fsanitize=address,undefined ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
threads="suppressions=$PWD/ctest/tsan/suppressions:die_after_fork=0:halt_on_error=1:allocator_may_return_null=1"
sanitized tsan -fsanitize=thread TSAN_OPTIONS="$threads"
if [ -d "$work/tsan" ]; then
    cc -std=c11 -fsanitize=thread "${warnings[@]}" "${cflags[@]}" ctest/tsan/racy.c -o "$work/racy" "${shared[@]}" -pthread
    if TSAN_OPTIONS="$threads" "${limited[@]}" "$work/racy" 2>"$work/race" || ! grep -q 'WARNING: ThreadSanitizer: data race' "$work/race"; then
        cat "$work/race" >&2
        echo "ctest: ThreadSanitizer does not see a race of two callbacks" >&2
        exit 1
    fi
    echo "ctest: and it sees a race of two callbacks"
fi

# Of an older version.
touch "$prefix/lib/libtickwright.so.0.0.0" "$prefix/lib/libtickwright-threads.so.0.0.0"
make -s uninstall PREFIX="$prefix"
test -z "$(find "$prefix" ! -type d)"
