#!/usr/bin/env bash
# The tests of C, as programs meet an installed library: found by pkg-config, linked shared and
# static, compiled as C11 and as C++, called by a binding, and run plainly, under valgrind and under
# the compilers' sanitizers. ci/ctest.sh calls it for a prefix, ci/deb.sh for the packages.
#
#   ci/ctest_installed.sh [FOLDER]    FOLDER has the .pc files; without it pkg-config finds them
#
# WITH="valgrind sanitizers" is the default. valgrind needs the symbols of the libraries, since its
# suppressions name functions. WITH= runs the tests plainly.
set -euo pipefail
if [ $# -gt 0 ]; then
    export PKG_CONFIG_PATH="$1" LD_LIBRARY_PATH="${1%/pkgconfig}"
fi
cd "$(dirname "$0")/../crates/c/tickwright-capi"
with=" ${WITH-valgrind sanitizers} "

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
trap 'echo "ctest: line $LINENO of ctest_installed.sh failed" >&2' ERR
say() { echo "ctest: $*"; }
fail() {
    say "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null; }

for library in tickwright tickwright-threads; do
    pkg-config --exists "$library" || fail "pkg-config does not find $library: name the folder of its .pc file"
done
soname="$(cat ../tickwright-boundary/SONAME)"
libdir="$(readlink -f "$(pkg-config --variable=libdir tickwright)")"
include="$(pkg-config --variable=includedir tickwright)"
parts="$include/tickwright"
man="$(pkg-config --variable=prefix tickwright)/share/man/man3"
read -ra cflags < <(pkg-config --cflags tickwright-threads)
read -ra shared < <(pkg-config --libs tickwright-threads)
read -ra timers < <(pkg-config --libs tickwright)
read -ra whole < <(pkg-config --libs --static tickwright-threads)
# With both libraries in one place the linker takes the shared one, unless it is told the other's
# name.
static=("${whole[@]/#-ltickwright-threads/-l:libtickwright-threads.a}")
static=("${static[@]/%-ltickwright/-l:libtickwright.a}")
warnings=(-O1 -g -Wall -Wextra -Wpedantic -Werror)
mapfile -t wraps < <(sed 's/^/-Wl,--wrap=/' ctest/wrapped)

# The test programs end themselves when they hang (check.h); others are ended here.
limited=()
if have timeout; then limited=(timeout 900); fi

# compile LANGUAGE SOURCE PROGRAM LIBRARIES...: `more` has further flags.
more=()
compile() {
    local language="$1" source="$2" program="$3" compiler=(cc)
    shift 3
    case "$language" in c++*) compiler=(c++ -x c++) ;; esac
    "${compiler[@]}" -std="$language" "${warnings[@]}" "${more[@]}" "${cflags[@]}" "$source" -o "$work/$program" -x none "$@" -pthread
}

# build NAME LANGUAGE LIBRARIES...: the test programs, in a folder of that name.
build() {
    local name="$1" language="$2" test
    shift 2
    mkdir "$work/$name"
    for test in ctest/*.c; do
        # These answer for malloc, which sanitizers want for themselves, and a shared library has
        # its own. A static C library would be refused memory too, and glibc's pthread_create
        # asserts that it has some.
        case "$test:$name" in
            */no_*:*-static) compile "$language" "$test" "$name/$(basename "$test" .c)" "${wraps[@]}" "$@" || return 1 ;;
            */no_*) ;;
            *) compile "$language" "$test" "$name/$(basename "$test" .c)" "$@" || return 1 ;;
        esac
    done
}

# run NAME [WRAPPER...]: all of them.
run() {
    local name="$1" program
    shift
    for program in "$work/$name"/*; do
        "$@" "$program" || fail "$name/$(basename "$program") failed"
    done
}

build c c11 "${shared[@]}"
build c-static c11 "${static[@]}"
run c
run c-static
# Statically with all that it needs: the compiler brings its own unwinder.
if echo 'int main(void) { return 0; }' | cc -static -x c - -o "$work/probe" -pthread 2>/dev/null; then
    # The linker warns of functions of the C library that load others, such as the look-up of hosts.
    more=(-static)
    build whole c11 "${whole[@]}" 2>"$work/warned" || { cat "$work/warned" >&2; exit 1; }
    more=()
    run whole
else
    say "-static skipped: no static C library"
fi
# loads PROGRAM LIBRARY: it takes the installed one.
loads() {
    ldd "$work/$1" >"$work/needs"
    test "$(readlink -f "$(sed -n "s/.*$2.so.$soname => \([^ ]*\) .*/\1/p" "$work/needs")")" = "$(readlink -f "$libdir/$2.so.$soname")"
}
if [ "$(uname -s)" = Linux ]; then
    if ldd "$work/c-static/states" | grep libtickwright; then
        fail "a program that was linked statically asks for the shared library"
    fi
    loads c/thread_states libtickwright-threads
    compile c11 ctest/sched_order.c timers "${timers[@]}"
    "$work/timers"
    loads timers libtickwright
    if grep threads "$work/needs"; then
        fail "a program with timers alone asks for the library of threads"
    fi
fi
# Faults. The second one is linked with nothing of ours.
more=(-fno-stack-clash-protection)
compile gnu11 ctest/faults/leap.c leap "${shared[@]}"
if (ulimit -c 0 && "$work/leap") >"$work/leapt" 2>&1 || ! grep -q 'has overflowed its stack' "$work/leapt"; then
    cat "$work/leapt" >&2
    fail "a frame of 12 KiB steps over the guard"
fi
more=(-Wno-pedantic)
if ldd --version 2>&1 | grep -iE 'glibc|gnu libc' >/dev/null; then
    compile gnu11 ctest/faults/unload.c unload -ldl
    "$work/unload" "$libdir/libtickwright-threads.so"
fi
more=()
languages=(c11)
if have c++; then languages+=(c++11 c++20); fi
# The programs of the book print what the book shows. The second one races with the clock: its lines
# are compared without their order.
book=(../../../docs/start/c.md ../../../docs/c.md)
awk -v to="$work/book" '/^```c$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside { print >(to n ".c") }' "${book[@]}"
awk -v to="$work/shown" '/^```console$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside && !/^\$ / { print >(to n) }' "${book[@]}"
test -s "$work/book2.c"
for program in "$work"/book*.c; do
    n="$(basename "$program" .c)"
    n="${n#book}"
    for language in "${languages[@]}"; do
        compile "$language" "$program" "book$n" "${timers[@]}"
        "${limited[@]}" "$work/book$n" >"$work/said$n"
        diff <(sort "$work/shown$n") <(sort "$work/said$n")
    done
done
diff "$work/shown1" "$work/said1"
say "C11, shared and static, and the programs of the book"

# The examples: a registrar with its load, programs with the names of Asterisk's scheduler, of
# HelenOS's odict and of pthreads, and threads in two models.
more=(-Wno-pedantic)
for example in registrar asterisk odict pthread threads; do
    compile gnu11 "examples/$example.c" "$example" "${shared[@]}"
done
"${limited[@]}" "$work/registrar" --load 500 50 >/dev/null
"${limited[@]}" "$work/threads" 3 7 1000 | grep -c ' ns a thread$' | grep -qx 2
"${limited[@]}" "$work/asterisk"
"${limited[@]}" "$work/odict"
if have c++; then
    for example in asterisk odict pthread; do
        compile c++11 "examples/$example.c" "$example-cxx" "${shared[@]}"
    done
    "${limited[@]}" "$work/asterisk-cxx"
    "${limited[@]}" "$work/odict-cxx"
    "${limited[@]}" "$work/pthread-cxx" | grep -qx '600 threads'
fi
# A plug-in that an M:N thread loads knows the main thread of the program.
more=(-Iexamples -DPLUGIN -shared -fPIC)
compile c11 ctest/pthread/names.c plugin.so "${shared[@]}"
more=(-Iexamples)
compile c11 ctest/pthread/names.c names "${shared[@]}" -ldl
for model in one-to-one mn; do
    TICKWRIGHT_MODEL="$model" "${limited[@]}" "$work/pthread" | grep -qx '600 threads'
    TICKWRIGHT_MODEL="$model" "${limited[@]}" "$work/names" "$work/plugin.so"
done
more=(-DPLAIN)
compile gnu11 examples/pthread.c pthread-plain
"${limited[@]}" "$work/pthread-plain" | grep -qx '600 threads'
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
for macro in -DNONE -D_POSIX_C_SOURCE={199506L,200112L,200809L} -D_XOPEN_SOURCE={500,700} -D_GNU_SOURCE; do
    more=("$macro" -Iexamples -c)
    for language in c99 gnu99 gnu11 c17 "${languages[@]}"; do
        compile "$language" examples/pthread.c shim.o
    done
done
# Glue for event loops, where these are installed: both timers run, in their order.
more=(-Wno-pedantic)
for loop in glib:glib-2.0 libevent:libevent libuv:libuv; do
    example="${loop%:*}"
    if pkg-config --exists "${loop#*:}"; then
        read -ra its < <(pkg-config --cflags --libs "${loop#*:}")
        compile gnu11 "examples/$example.c" "$example" "${timers[@]}" "${its[@]}"
        diff <(printf 'egg\ntea\n') <("${limited[@]}" "$work/$example")
    else
        say "the glue for $example skipped: not installed"
    fi
done
more=()
say "examples"

# Both libraries stay loaded: they install handlers.
if have readelf; then
    for library in libtickwright.so libtickwright-threads.so; do
        readelf -dW "$libdir/$library" | grep 'FLAGS_1.*NODELETE' >/dev/null || fail "dlclose would unload $library"
    done
fi
# What the library exports is what the header declares. Each part compiles alone.
exported() { nm -D --defined-only "$@" | awk 'NF >= 3 { print $NF }' | sort; }
declared() { sed -n 's/^TW_API [^(]*[ *]\(tw_[a-z_]*\)(.*/\1/p' "$@" | sort; }
diff <(declared "$parts"/{base,queue,heap,odict,sched}.h) <(exported "$libdir/libtickwright.so")
diff <(declared "$parts/thread.h") <(exported "$libdir/libtickwright-threads.so")
more=(-Wno-empty-translation-unit -c)
for part in base queue heap odict sched thread; do
    echo "#include <tickwright/$part.h>" >"$work/part.c"
    compile c11 "$work/part.c" part.o
done
more=()
say "$(declared "$parts"/*.h | wc -l) functions, each exported, and nothing else"

# Each function, callback and struct has a page, and each page that another names is there. Pages
# may be compressed, or links.
if compgen -G "$man/tickwright-queue.3*" >/dev/null; then
    mkdir -p "$work/man3"
    cp -L "$man"/tw_* "$man"/tickwright* "$work/man3/"
    find "$work/man3" -name '*.gz' -exec gunzip {} +
    types="$(sed -n 's/^} \(tw_[a-z_]*\);/\1/p; s/^typedef .*(\*\(tw_[a-z_]*\)).*/\1/p' "$parts"/*.h)"
    named="$(sed -n 's/^\.so man3\/\(.*\)\.3$/\1/p; s/^\.Xr \([^ ]*\) 3.*/\1/p' "$work"/man3/*.3 | sort -u)"
    for name in $(declared "$parts"/*.h) $types $named; do
        test "$name" = errno || test -s "$work/man3/$name.3" || fail "no manual page of $name"
    done
    say "$(find "$work/man3" -name '*.3' | wc -l) manual pages"
    if have mandoc; then
        # It looks for pages that another names where the machine has its own: they were looked for
        # above. The control is a page without a title, which it must report.
        lint() { { mandoc -Tlint -Wstyle "$@" 2>/dev/null || true; } | grep -v 'referenced manual not found'; }
        mapfile -t texts < <(cd "$work" && grep -L '^\.so ' man3/*.3)
        if ! lint <<<'.Sh NAME' >/dev/null || (cd "$work" && lint "${texts[@]}") >&2; then
            fail "mandoc reports pages, or not the control"
        fi
    else
        say "the text of manual pages is not checked: no mandoc"
    fi
else
    say "manual pages skipped: none in $man (they need python3 when the library is built)"
fi
# A binding, which sees no macro and has no compiler.
if have python3 && python3 -c 'import cffi' 2>/dev/null; then
    "${limited[@]}" python3 -B ctest/cffi/binding.py "$include" "$libdir"
else
    say "a binding skipped: no python3 with cffi"
fi

if have c++; then
    build cxx c++11 "${shared[@]}"
    build cxx-static c++17 "${static[@]}"
    run cxx
    run cxx-static
    # Callbacks that throw: processes that are meant to die, so not under the tools below.
    # Exceptions across waits, also where the C++ runtime is linked statically, and has no name for
    # the loader.
    mkdir "$work/throws" "$work/switches"
    compile c++11 ctest/exceptions.cc throws/shared "${shared[@]}"
    compile c++17 ctest/exceptions.cc throws/static "${static[@]}"
    more=(-Wno-deprecated-declarations)
    compile c++11 ctest/switches.cc switches/shared "${shared[@]}"
    compile c++11 ctest/switches.cc switches/static "${static[@]}"
    compile c++11 ctest/switches.cc switches/alone -static-libstdc++ "${static[@]}"
    more=()
    run throws
    run switches
    say "C++, shared and static, exceptions that leave callbacks, and exceptions across waits"
else
    say "C++ skipped: no c++"
fi

if [[ $with = *' valgrind '* ]] && have valgrind; then
    # What a forked child has of its parent counts as lost, thousands of lines of it: children are
    # silent. valgrind runs one thread at a time, and without "fair" one that never waits keeps the
    # others from running for minutes.
    memcheck=(valgrind -q --fair-sched=try --error-exitcode=99 --leak-check=full --child-silent-after-fork=yes --suppressions=ctest/valgrind/suppressions)
    # A thread that is still ending when its process does has its memory by a pointer into the
    # middle: "possibly lost". The children of this test end so, and none of the others.
    memchecked() {
        local kinds=definite,possible
        case "$1" in */last_moments) kinds=definite ;; esac
        "${memcheck[@]}" --errors-for-leak-kinds="$kinds" "$1"
    }
    # Shared as C11, static as C++17: the source is the same.
    run c memchecked
    if have c++; then run cxx-static memchecked && run switches memchecked; else run c-static memchecked; fi
    say "valgrind memcheck, C11 and C++17"
elif [[ $with = *' valgrind '* ]]; then
    say "valgrind skipped: not installed (Debian: apt-get install valgrind)"
fi

# sanitized NAME FLAG OPTIONS: with the caller's side instrumented; the library's is not, but its
# calls of malloc are seen.
sanitized() {
    local name="$1" flag="$2" options="$3" shims=(asterisk odict pthread) model
    if ! (echo 'int main(void) { return 0; }' | cc -x c "$flag" - -o "$work/probe" 2>/dev/null && "${limited[@]}" "$work/probe"); then
        say "$flag skipped: the compiler does not have it here"
        return
    fi
    # The shims are the caller's side too. The sanitizers do not know the stacks of M:N.
    # ThreadSanitizer does not see the library's locks, which are all that the threads of the last
    # one have.
    if [ "$name" = tsan ]; then shims=(asterisk odict); fi
    mkdir "$work/$name-shims"
    more=("$flag" -fno-sanitize-recover=all -Wno-pedantic)
    for example in "${shims[@]}"; do
        compile gnu11 "examples/$example.c" "$name-shims/$example" "${shared[@]}"
    done
    more=("$flag" -fno-sanitize-recover=all)
    build "$name" c11 "${shared[@]}"
    if have c++; then build "$name-cxx" c++17 "${shared[@]}"; fi
    if [ "$name" = tsan ]; then compile c11 ctest/tsan/racy.c racy "${shared[@]}"; fi
    more=()
    run "$name" env "$options"
    if have c++; then run "$name-cxx" env "$options"; fi
    run "$name-shims" env "$options" TICKWRIGHT_MODEL=one-to-one >"$work/said"
    if [ "$name" != tsan ]; then grep -qx '600 threads' "$work/said"; fi
    if [ "$name" = tsan ] && { env "$options" "${limited[@]}" "$work/racy" 2>"$work/race" ||
        ! grep -q 'WARNING: ThreadSanitizer: data race' "$work/race"; }; then
        cat "$work/race" >&2
        fail "ThreadSanitizer does not see a race of two callbacks"
    fi
    say "$flag"
}
if [[ $with = *' sanitizers '* ]]; then
    sanitized asan -fsanitize=address,undefined ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
    sanitized tsan -fsanitize=thread "TSAN_OPTIONS=suppressions=$PWD/ctest/tsan/suppressions:die_after_fork=0:halt_on_error=1:allocator_may_return_null=1"
fi
