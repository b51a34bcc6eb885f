#!/usr/bin/env bash
# ci/records.sh [PATTERN...]: makes the records of records/README.md again, on a quiet machine.
#
# Each row `NAME` | `tickwright ...` of the table there is a command. Its JSON and its text go to
# records/NAME.json and records/NAME.txt, and a picture to records/NAME.svg where the command names
# one. With patterns, only the names that match one of them. A command that fails stops nothing:
# the names are listed at the end, and the exit code is 1.
# A NAME that ends in `-v3` is made by a build for x86-64-v3 (AVX2).
# `--show` prints each record again instead, and fails if a text differs from its file.
set -uo pipefail
cd "$(dirname "$0")/.."
show=""
[ "${1:-}" = --show ] && { show=1; shift; }
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --quiet || exit 1
rows="$(sed -n 's/^| `\([a-z0-9-]*\)` | `tickwright \([^`]*\)`.*/\1 \2/p' records/README.md)"
failed=""
while read -r name arguments; do
    if [ $# -gt 0 ]; then
        wanted=""
        # shellcheck disable=SC2254 # a pattern
        for pattern in "$@"; do case "$name" in $pattern) wanted=1 ;; esac; done
        [ -n "$wanted" ] || continue
    fi
    tickwright="$target/release/tickwright"
    if [ -z "$show" ] && [[ "$name" = *-v3 ]]; then
        RUSTFLAGS="-C target-cpu=x86-64-v3" CARGO_TARGET_DIR="$target/v3" cargo build --release --quiet || exit 1
        tickwright="$target/v3/release/tickwright"
    fi
    if [ -n "$show" ]; then
        # The commands give the text no width of a terminal, and no colours. `latency run` prints
        # lines while it runs, before the report.
        shown="$("$tickwright" show "records/$name.json")"
        if [ "$shown" = "$(tail -n "$(wc -l <<<"$shown")" "records/$name.txt")" ]; then
            echo "$name: the same"
        else
            failed="$failed $name"
        fi
        continue
    fi
    begin=$SECONDS
    # shellcheck disable=SC2086 # words of a command line; the table has quotes around patterns
    if eval "\"$tickwright\" $arguments --json=records/$name.json" >"records/$name.txt" </dev/null; then
        echo "$name: $((SECONDS - begin)) s"
    else
        echo "$name: exit code $?"
        failed="$failed $name"
    fi
done <<<"$rows"
[ -z "$failed" ] || { echo "not as they should be:$failed" >&2; exit 1; }
