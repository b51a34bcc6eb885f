#!/usr/bin/env bash
# The Debian packages: built with dpkg-buildpackage, judged by lintian, and tested as any installed
# library is (ci/ctest_installed.sh), unpacked into a folder. COMMAND=no leaves the command out,
# which takes most of the time. As root on a machine to spare, INSTALL=yes installs them and tests
# that. RESULT=FOLDER keeps the packages there.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in dpkg-buildpackage dh lintian pkg-config python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "deb: skipped: no $tool (Debian: apt-get install dpkg-dev debhelper lintian pkg-config python3)"
        exit 77
    fi
done

soname="$(cat crates/c/tickwright-boundary/SONAME)"
for library in libtickwright libtickwright-threads; do
    if ! grep -qx "Package: $library$soname" debian/control || ! [ -f "debian/$library$soname.symbols" ]; then
        echo "deb: SONAME is $soname, and debian/ does not name $library$soname" >&2
        exit 1
    fi
    # A new function needs a line of its own, with the version that has it.
    diff <(sed -n 's/^function [^(]*[ *]\(tw_[a-z_]*\)(.*/\1/p' "crates/c/tickwright-capi/abi/$library.so.$soname" | sort) \
        <(sed -n 's/^ \(tw_[a-z_]*\)@Base .*/\1/p' "debian/$library$soname.symbols" | sort)
done

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
trap 'echo "deb: line $LINENO failed" >&2' ERR
mkdir "$work/tickwright"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$work/tickwright"
profiles=
if [ "${COMMAND:-yes}" = no ]; then profiles=pkg.tickwright.nocommand; fi
# Rust may be another one than Debian's: `-d` does not look for its package.
(cd "$work/tickwright" && DEB_BUILD_PROFILES="$profiles" dpkg-buildpackage -d -us -uc -b) >"$work/log" 2>&1 || {
    tail -n 60 "$work/log" >&2
    exit 1
}
lintian --fail-on error --allow-root "$work"/*.changes
ls "$work"/*.deb
if [ -n "${RESULT:-}" ]; then cp "$work"/*.deb "$work"/*.changes "$RESULT/"; fi
echo "deb: packages are built, and lintian finds no error"

# used WHERE FOLDER: the command's files are whole.
used() {
    local program="$2/usr/bin/tickwright" share="$2/usr/share"
    if [ -n "$profiles" ]; then return; fi
    test "$("$program" --version)" = "tickwright ${version%-*}"
    for page in "$share"/man/man1/tickwright*.1.gz; do
        gunzip -c "$page" | grep '^\.SH NAME' >/dev/null
    done
    for completions in bash-completion/completions/tickwright zsh/vendor-completions/_tickwright \
        fish/vendor_completions.d/tickwright.fish; do
        grep recommend "$share/$completions" >/dev/null
    done
    bash -c 'source "$1" && complete -p tickwright' bash "$share/bash-completion/completions/tickwright" >/dev/null
    echo "deb: the command, its pages and completions, $1"
}
version="$(dpkg-parsechangelog -l debian/changelog -S Version)"

# Used without being installed: unpacked into one folder. valgrind looks for debug data beside the
# libraries.
for package in "$work"/*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
pkgconfig="$(dirname "$(find "$work/root" -name tickwright.pc)")"
find "$work/root/usr/lib/debug" -name '*.debug' -exec cp {} "${pkgconfig%/pkgconfig}/" \;
used "unpacked" "$work/root"
if [ "${INSTALL:-no}" = yes ]; then
    apt-get install -qq -y "$work"/*.deb >/dev/null
    used "installed" ""
    ci/ctest_installed.sh
else
    ci/ctest_installed.sh "$pkgconfig"
fi
echo "deb: the tests of C run against the packages"
