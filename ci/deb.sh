#!/usr/bin/env bash
# The Debian packages: built with dpkg-buildpackage, judged by lintian, and used as a program meets
# them that was compiled against the installed files. COMMAND=no leaves the command out, which takes
# most of the time. As root on a machine to spare, INSTALL=yes installs them and runs the tests of C
# against that.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in dpkg-buildpackage dh lintian pkg-config python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "deb: skipped: no $tool (Debian: apt-get install dpkg-dev debhelper lintian pkg-config python3)"
        exit 0
    fi
done

soname="$(cat crates/tickwright-boundary/SONAME)"
for library in libtickwright libtickwright-threads; do
    if ! grep -qx "Package: $library$soname" debian/control || ! [ -f "debian/$library$soname.symbols" ]; then
        echo "deb: SONAME is $soname, and debian/ does not name $library$soname" >&2
        exit 1
    fi
    # A new function needs a line of its own, with the version that has it.
    diff <(sed -n 's/^function [^(]*[ *]\(tw_[a-z_]*\)(.*/\1/p' "crates/tickwright-capi/abi/$library.so.$soname" | sort) \
        <(sed -n 's/^ \(tw_[a-z_]*\)@Base .*/\1/p' "debian/$library$soname.symbols" | sort)
done

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/tickwright"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$work/tickwright"
profiles=
if [ "${COMMAND:-yes}" = no ]; then
    profiles=pkg.tickwright.nocommand
fi
# Rust may be another one than Debian's: `-d` does not look for its package.
(cd "$work/tickwright" && DEB_BUILD_PROFILES="$profiles" dpkg-buildpackage -d -us -uc -b) >"$work/log" 2>&1 || {
    tail -n 60 "$work/log" >&2
    exit 1
}
lintian --fail-on error --allow-root "$work"/*.changes
ls "$work"/*.deb
echo "deb: packages are built, and lintian finds no error"

# Used without being installed: unpacked into one folder.
for package in "$work"/*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
pkgconfig="$(dirname "$(find "$work/root" -name tickwright.pc)")"
export PKG_CONFIG_PATH="$pkgconfig" LD_LIBRARY_PATH="${pkgconfig%/pkgconfig}"
read -ra flags < <(pkg-config --cflags --libs tickwright-threads)
for test in crates/tickwright-capi/ctest/*.c; do
    name="$(basename "$test" .c)"
    if [ "$name" != no_memory ]; then
        cc -std=c11 -O1 "$test" -o "$work/test" "${flags[@]}" -pthread
        "$work/test"
    fi
done
echo "deb: the tests of C run against the packages"

if [ "${INSTALL:-no}" = yes ]; then
    apt-get install -qq -y "$work"/*.deb >/dev/null
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    read -ra flags < <(pkg-config --cflags --libs tickwright-threads)
    cc -std=c11 crates/tickwright-capi/ctest/thread_states.c -o "$work/test" "${flags[@]}" -pthread
    "$work/test"
    man -w 3 tw_sched_create >/dev/null
    echo "deb: and with the packages installed"
fi
