#!/usr/bin/env bash
# The tests of C, as programs meet an installed library: found by pkg-config, linked shared and
# static, compiled as C11 and as C++, called by a binding, and run plainly, under valgrind and under
# the compilers' sanitizers. ci/ctest.sh calls it for a prefix, ci/deb.sh for the packages.
#
#   ci/ctest_installed.sh [FOLDER]    FOLDER has the .pc files; without it pkg-config finds them
set -euo pipefail
if [ $# -gt 0 ]; then
    export PKG_CONFIG_PATH="$1" LD_LIBRARY_PATH="${1%/pkgconfig}"
fi
cd "$(dirname "$0")/../crates/tickwright-capi"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
trap 'echo "ctest: line $LINENO of ctest_installed.sh failed" >&2' ERR
for library in tickwright tickwright-threads; do
    if ! pkg-config --exists "$library"; then
        echo "ctest: pkg-config does not find $library: name the folder of its .pc file" >&2
        exit 1
    fi
done
soname="$(cat ../tickwright-boundary/SONAME)"
libdir="$(readlink -f "$(pkg-config --variable=libdir tickwright)")"
include="$(pkg-config --variable=includedir tickwright)"
man="$(pkg-config --variable=prefix tickwright)/share/man"
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
wraps=()
while read -r function; do
    wraps+=("-Wl,--wrap=$function")
done <ctest/wrapped

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
        # These answer for malloc, which sanitizers want for themselves, and a shared library has
        # its own. A static C library would be refused memory too, and glibc's pthread_create
        # asserts that it has some.
        case "$test:$name" in
            no_*:*whole*) ;;
            no_*:*static*) "${compiler[@]}" "${warnings[@]}" "${cflags[@]}" "ctest/$test.c" -o "$work/$name/$test" "${wraps[@]}" "$@" -pthread ;;
            no_*) ;;
            *) "${compiler[@]}" "${warnings[@]}" "${cflags[@]}" "ctest/$test.c" -o "$work/$name/$test" "$@" -pthread ;;
        esac
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
ldd "$work/c-static/states" >"$work/needs" || true # where it needs nothing at all
if grep -q libtickwright "$work/needs"; then
    echo "ctest: a program that was linked statically asks for the shared library" >&2
    exit 1
fi
# loads PROGRAM LIBRARY: it takes the installed one.
loads() {
    local found
    ldd "$1" >"$work/needs"
    found="$(sed -n "s/.*$2.so.$soname => \([^ ]*\) .*/\1/p" "$work/needs")"
    test "$(readlink -f "$found")" = "$(readlink -f "$libdir/$2.so.$soname")"
}
if [ "$(uname -s)" = Linux ]; then
    loads "$work/c-shared/thread_states" libtickwright-threads
    # A program with timers alone asks for no coroutines.
    cc -std=c11 "${warnings[@]}" "${cflags[@]}" ctest/sched_order.c -o "$work/timers" "${timers[@]}" -pthread
    "$work/timers"
    loads "$work/timers" libtickwright
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
    "$work/unload" "$libdir/libtickwright-threads.so"
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
    c++ -x c++ -std=c++11 "${warnings[@]}" "${cflags[@]}" examples/pthread.c -o "$work/pthread-cxx" -x none "${shared[@]}" -pthread
    "${limited[@]}" "$work/pthread-cxx" | grep -qx '600 threads'
fi
"${limited[@]}" "$work/threads" 3 7 1000 | grep -c ' ns a thread$' | grep -qx 3
"${limited[@]}" "$work/odict"
for model in one-to-one mn manager; do
    TICKWRIGHT_MODEL="$model" "${limited[@]}" "$work/pthread" | grep -qx '600 threads'
done
# A function of pthreads that the shim does not have is refused by the compiler, not by a crash.
without=(pthread_sigqueue PTHREAD_MUTEX_RECURSIVE PTHREAD_PROCESS_SHARED pthread_mutexattr_setrobust pthread_cancel pthread_exit pthread_setname_np pthread_timedjoin_np pthread_mutex_timedlock)
for function in pthread_self "${without[@]}"; do
    printf '#define _GNU_SOURCE\n#include "tickwright-pthread.h"\nvoid *at(void) { return (void *)%s; }\n' "$function" >"$work/without.c"
    if LC_ALL=C cc -std=gnu11 "${cflags[@]}" -Iexamples -c "$work/without.c" -o "$work/without.o" 2>"$work/refused"; then
        echo "$function" >>"$work/taken"
    elif ! grep "no member named .$function" "$work/refused" >/dev/null; then
        cat "$work/refused" >&2
        exit 1
    fi
done
test "$(cat "$work/taken")" = pthread_self
# The shim compiles in each language, and under feature macros that make pthread.h declare less.
shim=("${warnings[@]}" "${cflags[@]}" -Iexamples -c -o "$work/shim.o")
for macro in -DNONE -D_POSIX_C_SOURCE={199506L,200112L,200809L} -D_XOPEN_SOURCE={500,700} -D_GNU_SOURCE; do
    for language in c99 c11 c17 gnu99 gnu11 gnu17; do
        cc -std="$language" "$macro" "${shim[@]}" examples/pthread.c
    done
    if command -v c++ >/dev/null; then
        for language in c++11 c++17 c++20; do
            c++ -x c++ -std="$language" "$macro" "${shim[@]}" examples/pthread.c
        done
    fi
done
# A plug-in that an M:N thread loads knows the main thread of the program.
names=("${warnings[@]}" "${cflags[@]}" -Iexamples ctest/pthread/names.c)
cc -std=c11 -DPLUGIN -shared -fPIC "${names[@]}" -o "$work/plugin.so" "${shared[@]}"
cc -std=c11 "${names[@]}" -o "$work/names" "${shared[@]}" -pthread -ldl
for model in one-to-one mn manager; do
    TICKWRIGHT_MODEL="$model" "${limited[@]}" "$work/names" "$work/plugin.so"
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

# Both libraries stay loaded: they install handlers.
if command -v readelf >/dev/null; then
    for library in libtickwright.so libtickwright-threads.so; do
        readelf -dW "$libdir/$library" >"$work/dynamic"
        if ! grep 'FLAGS_1.*NODELETE' "$work/dynamic" >/dev/null; then
            echo "ctest: dlclose would unload $library" >&2
            exit 1
        fi
    done
fi

# What the library exports is what the header declares.
exported() { nm -D --defined-only "$@" | awk 'NF >= 3 { print $NF }' | sort; }
declared() { sed -n 's/^TW_API [^(]*[ *]\(tw_[a-z_]*\)(.*/\1/p' "$@" | sort; }
parts="$include/tickwright"
diff <(declared "$parts"/{base,queue,heap,odict,sched}.h) <(exported "$libdir/libtickwright.so")
diff <(declared "$parts/thread.h") <(exported "$libdir/libtickwright-threads.so")
echo "ctest: $(declared "$parts"/*.h | wc -l) functions, each exported, and nothing else"

# Each function, callback and struct has a page, which opens. The pages are sound. They may be
# compressed, or links.
pages="$work/man/man3"
mkdir -p "$pages"
if [ -e "$man/man3/tickwright-queue.3" ] || [ -e "$man/man3/tickwright-queue.3.gz" ]; then
    cp -L "$man"/man3/tw_* "$man"/man3/tickwright* "$pages/"
    find "$pages" -name '*.gz' -exec gunzip {} +
    types="$(sed -n 's/^} \(tw_[a-z_]*\);/\1/p; s/^typedef .*(\*\(tw_[a-z_]*\)).*/\1/p' "$parts"/*.h)"
    for name in $(declared "$parts"/*.h) $types; do
        test -s "$pages/$name.3"
        if command -v man >/dev/null; then
            MANPATH="$work/man" MANPAGER=cat man 3 "$name" 2>/dev/null | grep "$name" >/dev/null
        fi
    done
    for link in $(cd "$work/man" && sed -n 's/^\.so //p' man3/*.3); do
        test -s "$work/man/$link"
    done
    echo "ctest: $(find "$pages" -name '*.3' | wc -l) man pages$(command -v man >/dev/null || echo ', not opened: no man')"
    if command -v mandoc >/dev/null; then
        # Its status says something else in each version of grep.
        texts="$(cd "$work/man" && grep -L '^\.so ' man3/*.3 || true)"
        test -n "$texts"
        # mandoc looks for referenced pages where the machine has its own. Here they are looked for
        # beside one another. On its standard error it speaks of that alone.
        (cd "$work/man" && xargs mandoc -Tlint -Wstyle <<<"$texts") >"$work/lint" 2>/dev/null || true
        if grep -v 'STYLE: referenced manual not found' "$work/lint" >&2; then
            exit 1
        fi
        # The control: mandoc reports a page without a title.
        (mandoc -Tlint -Wstyle <<<'.Sh NAME' 2>/dev/null || true) | grep 'WARNING' >/dev/null
        for name in $(cd "$work/man" && sed -n 's/^\.Xr \([^ ]*\) 3.*/\1/p' man3/*.3 | sort -u); do
            test "$name" = errno || test -s "$pages/$name.3"
        done
        echo "ctest: man pages are sound"
    else
        echo "ctest: man pages are not checked: no mandoc"
    fi
else
    echo "ctest: man pages skipped: none are installed in $man (they need python3 when the library is built, and the file manager may leave them out)"
fi
# A binding, which sees no macro and has no compiler.
if command -v python3 >/dev/null && python3 -c 'import cffi' 2>/dev/null; then
    "${limited[@]}" python3 -B ctest/cffi/binding.py "$include" "$libdir"
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

# VALGRIND=no: its suppressions name functions, so it needs the symbols of the libraries.
if [ "${VALGRIND:-yes}" = yes ] && ! command -v valgrind >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -qq -y valgrind >/dev/null 2>&1 || true
fi
if [ "${VALGRIND:-yes}" = yes ] && command -v valgrind >/dev/null; then
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
    # Shared as C11, static as C++17: the source is the same.
    run c-shared memchecked
    if [ -d "$work/cxx-static" ]; then
        run cxx-static memchecked
        run switches memchecked
        echo "ctest: valgrind memcheck, C11 and C++17"
    else
        run c-static memchecked
        echo "ctest: valgrind memcheck, C11"
    fi
else
    echo "ctest: valgrind skipped: not installed, or VALGRIND=no"
fi

# sanitized NAME FLAG OPTIONS...: with the caller's side instrumented; the library's is not, but its
# calls of malloc are seen.
sanitized() {
    local name="$1" flag="$2"
    shift 2
    if echo 'int main(void) { return 0; }' | cc -x c "$flag" - -o "$work/probe" 2>/dev/null && "${limited[@]}" "$work/probe"; then
        build "$name" cc -std=c11 "$flag" -fno-sanitize-recover=all -- "${shared[@]}"
        run "$name" env "$@"
        # The shims are the caller's side too. The sanitizers do not know the stacks of M:N.
        # ThreadSanitizer does not see the library's locks, which are all that the threads of the
        # last one have.
        local shims=(asterisk odict)
        if [ "$flag" != -fsanitize=thread ]; then
            shims+=(pthread)
        fi
        mkdir "$work/$name-shims"
        for example in "${shims[@]}"; do
            cc -std=gnu11 "$flag" -fno-sanitize-recover=all "${warnings[@]}" -Wno-pedantic "${cflags[@]}" "examples/$example.c" \
                -o "$work/$name-shims/$example" "${shared[@]}" -pthread
        done
        for model in one-to-one manager; do
            run "$name-shims" env "$@" TICKWRIGHT_MODEL="$model" >"$work/said"
            if [ -e "$work/$name-shims/pthread" ]; then
                grep -qx '600 threads' "$work/said"
            fi
        done
        echo "ctest: $flag"
    else
        echo "ctest: $flag skipped: the compiler does not have it here"
    fi
}
# sanitized_cxx NAME FLAG OPTIONS...: the same as C++17, where NAME was built as C.
sanitized_cxx() {
    local name="$1" flag="$2"
    shift 2
    if [ -d "$work/$name" ] && command -v c++ >/dev/null; then
        build "cxx-$name" c++ -x c++ -std=c++17 "$flag" -fno-sanitize-recover=all -- -x none "${shared[@]}"
        run "cxx-$name" env "$@"
        echo "ctest: $flag, as C++17"
    fi
}
asan_options=ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
sanitized asan -fsanitize=address,undefined "$asan_options"
sanitized_cxx asan -fsanitize=address,undefined "$asan_options"
threads="suppressions=$PWD/ctest/tsan/suppressions:die_after_fork=0:halt_on_error=1:allocator_may_return_null=1"
sanitized tsan -fsanitize=thread TSAN_OPTIONS="$threads"
sanitized_cxx tsan -fsanitize=thread TSAN_OPTIONS="$threads"
if [ -d "$work/tsan" ]; then
    cc -std=c11 -fsanitize=thread "${warnings[@]}" "${cflags[@]}" ctest/tsan/racy.c -o "$work/racy" "${shared[@]}" -pthread
    if TSAN_OPTIONS="$threads" "${limited[@]}" "$work/racy" 2>"$work/race" || ! grep -q 'WARNING: ThreadSanitizer: data race' "$work/race"; then
        cat "$work/race" >&2
        echo "ctest: ThreadSanitizer does not see a race of two callbacks" >&2
        exit 1
    fi
    echo "ctest: and it sees a race of two callbacks"
fi
