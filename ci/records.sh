#!/usr/bin/env bash
# ci/records.sh [PATTERN...]: makes the records of records/commands.txt again, on a quiet machine.
#
# Each line there is a name and its command. Its JSON and its text go to records/NAME.json and
# records/NAME.txt, and a picture to records/NAME.svg where the command names one. With patterns,
# only the names that match one of them. A command that fails
# stops nothing: the names are listed at the end, and the exit code is 1.
# A NAME that ends in `-v3` is made by a build for x86-64-v3 (AVX2).
# `--show` prints each record again instead, and fails if a text differs from its file.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
show=""
[ "${1:-}" = --show ] && { show=1; shift; }
target="${CARGO_TARGET_DIR:-target}"
build=(cargo build --release --quiet -p tickwright-lab -p tickwright-benches --features rivals
    --config profile.release.package.tickwright-lab.codegen-units=1)
"${build[@]}" || exit 1
rows="$(grep -v '^#' records/commands.txt)"
failed=""
while read -r name program arguments; do
    if [ $# -gt 0 ]; then
        wanted=""
        # shellcheck disable=SC2254 # a pattern
        for pattern in "$@"; do case "$name" in $pattern) wanted=1 ;; esac; done
        [ -n "$wanted" ] || continue
    fi
    built="$target/release"
    if [ -z "$show" ] && [[ "$name" = *-v3 ]]; then
        RUSTFLAGS="-C target-cpu=x86-64-v3" "${build[@]}" --target-dir "$target/v3" || exit 1
        built="$target/v3/release"
    fi
    if [ -n "$show" ]; then
        # The commands give the text no width of a terminal, and no colours. `latency run` prints
        # lines while it runs, before the report.
        shown="$("$built/tickwright" show "records/$name.json")"
        if [ "$shown" = "$(tail -n "$(wc -l <<<"$shown")" "records/$name.txt")" ]; then
            echo "$name: the same"
        else
            failed="$failed $name"
        fi
        continue
    fi
    begin=$SECONDS
    # shellcheck disable=SC2086 # words of a command line; the file has quotes around patterns
    if eval "\"$built/$program\" $arguments --json=records/$name.json" >"records/$name.txt" </dev/null; then
        echo "$name: $((SECONDS - begin)) s"
    else
        echo "$name: exit code $?"
        failed="$failed $name"
    fi
done <<<"$rows"
[ -z "$failed" ] || { echo "not as they should be:$failed" >&2; exit 1; }
