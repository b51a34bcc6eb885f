#!/usr/bin/env bash
# Every family's module says the same things under the same headings, in one order; a missing one
# fails.
set -euo pipefail
cd "$(dirname "$0")/.."

headings=("Invariants" "Layout" "Costs" "Choose when" "Avoid when" "References")
failed=0
for file in crates/tickwright-core/src/family/*.rs; do
    [ "$(basename "$file")" = mod.rs ] && continue
    # A helper that several families share holds no family of its own.
    grep -q '^impl.* Family for ' "$file" || continue
    last=0
    for heading in "${headings[@]}"; do
        line="$(grep -n -m1 -x "//! # $heading" "$file" | cut -d: -f1 || true)"
        if [ -z "$line" ]; then
            echo "docs: $file: the heading \"//! # $heading\" is missing" >&2
            failed=1
        elif [ "$line" -lt "$last" ]; then
            echo "docs: $file:$line: \"$heading\" is out of order (${headings[*]})" >&2
            failed=1
        else
            last="$line"
        fi
    done
done
# Each invariant names what check() reports when it is broken.
for file in crates/tickwright-core/src/family/*.rs; do
    [ "$(basename "$file")" = mod.rs ] && continue
    grep -q '^impl.* Family for ' "$file" || continue
    if ! sed -n '/^\/\/! # Invariants/,/^\/\/! # Layout/p' "$file" | grep -q 'Violation::'; then
        echo "docs: $file: its invariants name no Violation" >&2
        failed=1
    fi
done
# The page for firmware authors shows lines of a program that runs.
source="$(sed 's/^ *//' firmware/src/bin/tickless.rs)"
block="" inside=0 shown=0
while IFS= read -r line; do
    case "$line" in
    '```rust') inside=1 block="" ;;
    '```')
        if [ "$inside" = 1 ]; then
            shown=$((shown + 1))
            if [[ "$source" != *"${block%$'\n'}"* ]]; then
                printf 'docs: docs/firmware.md: these lines are not in firmware/src/bin/tickless.rs:\n%s' "$block" >&2
                failed=1
            fi
        fi
        inside=0
        ;;
    *) [ "$inside" = 0 ] || block+="$line"$'\n' ;;
    esac
done < <(sed 's/^ *//' docs/firmware.md)
if [ "$shown" -lt 4 ]; then
    echo "docs: docs/firmware.md shows $shown parts of the program" >&2
    failed=1
fi
# The project to copy has the same clock.
if ! cmp firmware/src/widen.rs firmware/template/src/widen.rs >&2; then
    echo "docs: firmware/template/src/widen.rs is to be a copy of firmware/src/widen.rs" >&2
    failed=1
fi
[ "$failed" = 0 ] && echo "docs: every family states its invariants, layout, costs, choice and references"
exit "$failed"
