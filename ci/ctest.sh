#!/usr/bin/env bash
# The C face, built and installed into a prefix, and there used as C programs meet it
# (ci/ctest_installed.sh, whose WITH it passes on). PROFILE=dev takes the library with debug
# assertions.
set -euo pipefail
cd "$(dirname "$0")/../crates/c/tickwright-capi"

for tool in cc make pkg-config; do
    if ! command -v "$tool" >/dev/null; then
        echo "ctest: skipped: no $tool (Debian: apt-get install build-essential pkg-config)"
        exit 77
    fi
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
trap 'echo "ctest: line $LINENO failed" >&2' ERR
fail() {
    echo "ctest: $*" >&2
    exit 1
}
prefix="$work/prefix"
export BUILD="$work/build" PROFILE="${PROFILE:-release}"
if make -s install PREFIX="$prefix" 2>/dev/null; then
    fail "something was installed before anything was built"
fi
make -s
# Installing compiles nothing: there is no compiler.
install() { make -s install CARGO=false RUSTC=false CC=false "$@"; }
# Two prefixes that differ, as packagers have them: built to be in one, put into another. A prefix
# that was moved is found where it is.
install PREFIX=/opt/elsewhere LIBDIR=/opt/elsewhere/lib/machine DESTDIR="$work/staged"
moved="$work/staged/opt/elsewhere" staged="$work/staged/opt/elsewhere/lib/machine"
test -f "$moved/include/tickwright.h"
for library in tickwright tickwright-threads; do
    for folder in lib/machine include; do
        found="$(PKG_CONFIG_PATH="$staged/pkgconfig" pkg-config --variable="${folder%/*}dir" "$library")"
        test "$(readlink -f "$found")" = "$moved/$folder"
    done
done
# THREADS=no installs no file of the library of threads. tickwright.h compiles without thread.h.
install PREFIX=/usr DESTDIR="$work/timers" THREADS=no
if find "$work/timers" -regex '.*/\(thread.h\|.*tickwright-thread.*\|tw_\(thread\|mutex\|runtime\).*\)' | grep . >&2; then
    fail "make THREADS=no install has installed this"
fi
test -f "$work/timers/usr/lib/libtickwright.so"
echo '#include <tickwright.h>' >"$work/umbrella.c"
cc -std=c11 -Wall -Werror -I"$work/timers/usr/include" -c "$work/umbrella.c" -o "$work/umbrella.o"
# valgrind's suppressions name functions, so this one keeps its symbols.
install PREFIX="$prefix" STRIP=
if install PREFIX=relative 2>/dev/null; then
    fail "a relative prefix was taken"
fi
../../../ci/ctest_installed.sh "$prefix/lib/pkgconfig"

# What is installed by default has no debug data, exports the same, and runs.
if command -v readelf >/dev/null && command -v strip >/dev/null; then
    for library in libtickwright.a libtickwright.so libtickwright-threads.a libtickwright-threads.so; do
        if readelf -SW "$staged/$library" | grep '\.debug_' >&2; then
            fail "$library is installed with debug data"
        fi
        readelf -SW "$prefix/lib/$library" | grep '\.debug_' >/dev/null
    done
fi
exported() { nm -D --defined-only "$1" | awk 'NF >= 3 { print $NF }' | sort; }
for library in libtickwright.so libtickwright-threads.so; do
    diff <(exported "$staged/$library") <(exported "$prefix/lib/$library")
done
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
read -ra shared < <(pkg-config --cflags --libs tickwright-threads)
read -ra private < <(pkg-config --libs-only-l --libs-only-other --static tickwright | sed 's/-ltickwright//')
cc -std=c11 -Wall -Werror ctest/states.c -o "$work/states" "${shared[@]}" -pthread
LD_LIBRARY_PATH="$staged" "$work/states"
cc -std=c11 -Wall -Werror -I"$prefix/include" ctest/states.c -o "$work/stripped" "$staged/libtickwright.a" "${private[@]}" -pthread
"$work/stripped"
echo "ctest: installed without debug data"

# The comparison with event loops, and that it does without them. Nobody reads its times.
compared() {
    make -s peers OUT="$work/peers" STAGE="$work/stage" "${@:2}"
    LD_LIBRARY_PATH="$prefix/lib" timeout 900 "$work/peers" --n "$1" --rounds 1 2>/dev/null
}
compared 1,1000 >/dev/null
compared 10 PEER_FLAGS= | grep -c '"why": "not built' | grep -qx 4
echo "ctest: comparison with event loops: builds and answers rightly"

# Of an older version.
touch "$prefix/lib/libtickwright.so.0.0.0" "$prefix/lib/libtickwright-threads.so.0.0.0"
make -s uninstall PREFIX="$prefix"
test -z "$(find "$prefix" ! -type d)"
