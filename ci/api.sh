#!/usr/bin/env bash
# The public API of each library crate is what `api/CRATE.txt` lists: each public item on a line,
# and the traits that it implements. So a change of the API is a line of the commit that makes it.
# `ci/api.sh --save` writes the lists. cargo-public-api reads what rustdoc writes as JSON.
set -euo pipefail
cd "$(dirname "$0")/.."

export PATH="$PWD/target/tools/bin:$PATH"
if ! command -v cargo-public-api >/dev/null; then
    echo "api: skipped: no cargo-public-api (cargo install cargo-public-api --locked, or ci/tools.sh all)"
    exit 77
fi
crates=(nodes core collections mcu threads async testkit)
packages=(-p tickwright "${crates[@]/#/-ptickwright-}")
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# JSON is unstable, and rustdoc alone is told that this is known.
printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' >"$work/rustdoc"
chmod +x "$work/rustdoc"
RUSTDOC="$work/rustdoc" RUSTDOCFLAGS="-Z unstable-options --output-format json" cargo doc -q --no-deps "${packages[@]}" \
    --features tickwright-async/hyper,tickwright-async/quinn,tickwright-async/smithy,tickwright-async/tokio,tickwright-async/sites,tickwright-async/record,tickwright-async/metrics,tickwright/metrics-facade,tickwright-mcu/slack
# Without the items of traits at each type that implements one, and without the paths of types
# within a line.
shorten() {
    awk '/^(unsafe )?impl/ { of_trait = / for / }
        !/^(unsafe )?impl|^pub (const |unsafe )*(fn|type|const) / { of_trait = 0 }
        /^(unsafe )?impl/ || !of_trait' | sed -E ':a; s/(::.*[^a-zA-Z0-9_:])([a-z_0-9]+::)+/\1/; ta'
}
failed=0
for name in tickwright "${crates[@]/#/tickwright-}"; do
    cargo public-api -sss --rustdoc-json "${CARGO_TARGET_DIR:-target}/doc/${name//-/_}.json" | shorten >"$work/$name.txt"
    if [ "${1:-}" = --save ]; then
        cp "$work/$name.txt" api/
    else
        diff -U0 "api/$name.txt" "$work/$name.txt" || failed=1
    fi
done
if [ "$failed" = 1 ]; then
    echo "api: the public API has changed: say so in CHANGELOG.md, and run ci/api.sh --save"
    exit 1
fi
# A public type has a name of its own among the crates of the product, as the glossary promises. A
# shorter path within one crate is another way to the same type. `Key` and `Expired` of async's
# DelayQueue, and Embassy's `Queue`, have the names of what they replace.
twice="$(cat api/tickwright{,-nodes,-core,-collections,-threads,-async,-mcu}.txt |
    sed -nE 's/^pub (unsafe )?(struct|enum|union|trait) ([a-z_0-9:]+::)([A-Z][A-Za-z0-9]*).*/\3 \4/p' | sort -u | awk '
    { path[$2] = path[$2] " " $1 }
    END { for (name in path) { n = split(path[name], p, " "); own = ""
        for (i = 1; i <= n; i++) { longer = 0
            for (j = 1; j <= n; j++) if (i != j && index(p[j], p[i]) == 1) longer = 1
            if (!longer) own = own " " p[i] }
        if (split(own, q, " ") > 1) print name ":" own } }' |
    grep -vE '^(Key|Expired|Queue|WouldDeadlock):' || true)"
if [ -n "$twice" ]; then
    echo "api: a name with two meanings: $twice"
    exit 1
fi
echo "api: $((${#crates[@]} + 1)) crates are as api/ lists them"
