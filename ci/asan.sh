#!/usr/bin/env bash
# The libraries' tests under AddressSanitizer (use after free, overrun), on stock stable Rust; where valgrind is installed,
# the hook tests run under it as well (uninitialised reads).
set -euo pipefail
cd "$(dirname "$0")/.."

host="$(rustc -vV | sed -n 's/^host: //p')"
case "$host" in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
    *)
        echo "asan: skipped: no sanitizer for $host"
        exit 0
        ;;
esac
target="${CARGO_TARGET_DIR:-target}"
# Its own directory: everything is built anew with the sanitizer. Leaks are not looked for: forgotten queues are tested.
ASAN_OPTIONS=detect_leaks=0 RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR="$target/asan" \
    cargo test -q -p tickwright-core -p tickwright --target "$host" --lib --tests -- "$@"
if command -v valgrind >/dev/null; then
    binary="$(cargo test -q -p tickwright-core --test hook --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1)"
    valgrind -q --error-exitcode=99 "$binary" --test-threads=1
else
    echo "asan: valgrind skipped: not installed"
fi
