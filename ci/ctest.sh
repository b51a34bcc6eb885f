#!/usr/bin/env bash
# The C face, built and installed into a prefix, and there used as C programs meet it
# (ci/ctest_installed.sh). PROFILE=dev takes the library with debug assertions.
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
# THREADS=no installs no file of the library of threads. tickwright.h compiles without thread.h.
install PREFIX=/usr DESTDIR="$work/timers" THREADS=no
if find "$work/timers" \( -name 'thread.h' -o -name '*tickwright-thread*' -o -name 'tw_thread*' -o -name 'tw_mutex*' -o -name 'tw_runtime*' \) | grep . >&2; then
    echo "ctest: make THREADS=no install has installed this" >&2
    exit 1
fi
test -f "$work/timers/usr/lib/libtickwright.so"
echo '#include <tickwright.h>' >"$work/umbrella.c"
cc -std=c11 -Wall -Werror -Wno-empty-translation-unit -I"$work/timers/usr/include" -c "$work/umbrella.c" -o "$work/umbrella.o"
# valgrind's suppressions name functions, so this one keeps its symbols.
install PREFIX="$prefix" STRIP=
if install PREFIX=relative 2>/dev/null; then
    echo "ctest: a relative prefix was taken" >&2
    exit 1
fi
../../ci/ctest_installed.sh "$prefix/lib/pkgconfig"

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
read -ra cflags < <(pkg-config --cflags tickwright-threads)
read -ra shared < <(pkg-config --libs tickwright-threads)
limited=()
if command -v timeout >/dev/null; then
    limited=(timeout 900)
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
cc -std=c11 -Wall -Werror "${cflags[@]}" ctest/states.c -o "$work/states" "${shared[@]}" -pthread
LD_LIBRARY_PATH="$staged" "$work/states"
read -ra private < <(pkg-config --libs-only-l --libs-only-other --static tickwright | sed 's/-ltickwright//')
cc -std=c11 -Wall -Werror "${cflags[@]}" ctest/states.c -o "$work/stripped" "$staged/libtickwright.a" "${private[@]}" -pthread
"$work/stripped"
echo "ctest: installed without debug data"

# The comparison with event loops, and that it does without them. Nobody reads its times.
make -s peers OUT="$work/peers" STAGE="$work/stage" PROFILE="${PROFILE:-release}"
"${limited[@]}" "$work/peers" --n 1,1000 --rounds 1 >/dev/null
make -s peers OUT="$work/alone" STAGE="$work/stage" PROFILE="${PROFILE:-release}" PEER_FLAGS=
"${limited[@]}" "$work/alone" --n 10 --rounds 1 2>/dev/null | grep -c '"why": "not built' | grep -qx 4
echo "ctest: comparison with event loops: builds and answers rightly"

# Of an older version.
touch "$prefix/lib/libtickwright.so.0.0.0" "$prefix/lib/libtickwright-threads.so.0.0.0"
make -s uninstall PREFIX="$prefix"
test -z "$(find "$prefix" ! -type d)"
