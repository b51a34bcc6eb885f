#!/usr/bin/env bash
# The models of the hook's owner word, of the shards, of the drivers and of the words of threads:
# the shipped code, compiled with loom's atomics and locks, in all schedules (three threads: in
# those with at most three preemptions). Well under a minute, after a build in a directory of its
# own. Arguments are passed to the test binaries.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=()
for file in crates/tickwright/tests/loom_*.rs; do
    tests+=(--test "$(basename "$file" .rs)")
done
# All that cargo builds is built anew under this flag, so not in the directory of everything else.
# Linked quickly: nothing is timed.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo test -q -p tickwright-core --release --test loom_hook -- "$@"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo test -q -p tickwright --features record --release "${tests[@]}" -- "$@"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo test -q -p tickwright --release --lib models -- "$@"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo test -q -p tickwright-threads --release --lib models -- "$@"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo test -q -p tickwright-async --release --test loom_timer -- "$@"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo test -q -p tickwright-async --release --lib models -- "$@"
