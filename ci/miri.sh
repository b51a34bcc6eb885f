#!/usr/bin/env bash
# The core library's tests under Miri, which finds undefined behaviour: both aliasing models, strict
# provenance. Arguments are passed to the test binaries: `ci/miri.sh hook` runs what has "hook" in
# its name.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "miri: skipped: the component is not installed (rustup +nightly component add miri)"
    exit 77
fi
common="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"
common+=" -Zmiri-ignore-leaks" # forgotten queues are tested
for model in "" "-Zmiri-tree-borrows"; do
    echo "miri: ${model:-stacked borrows}"
    export MIRIFLAGS="$common $model"
    cargo +nightly miri test -p tickwright-nodes -p tickwright-collections -p tickwright-core --lib --tests -- "$@"
    cargo +nightly miri test -p tickwright --test shard --test shard_table -- "$@"
done
