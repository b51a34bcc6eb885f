#!/usr/bin/env bash
# The models of the hook's owner word, of the shards, of the drivers and of the words of threads:
# the shipped code, compiled with loom's atomics and locks, in all schedules (three threads: in
# those with at most three preemptions). Well under a minute, after a build in a directory of its
# own. Arguments are passed to the test binaries.
set -euo pipefail
cd "$(dirname "$0")/.."

# All that cargo builds is built anew under this flag, so not in the directory of everything else.
# Linked quickly: nothing is timed.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
cargo test -q --release -p tickwright-core --test 'loom_*' -- "$@"
cargo test -q --release -p tickwright --features record --test 'loom_*' -- "$@"
cargo test -q --release -p tickwright-async --test 'loom_*' -- "$@"
for crate in tickwright tickwright-threads tickwright-async; do
    cargo test -q --release -p "$crate" --lib models -- "$@"
done
