#!/usr/bin/env bash
# Each crate can be packaged, and the library crates build from their packages alone.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=(-p tickwright)
for name in trace nodes core mcu collections threads boundary capi threads-capi testkit async durable; do
    libraries+=(-p "tickwright-$name")
done
# cargo holds that a package of one version never changes: it would take what an earlier run
# unpacked and built.
# Packages of no host (`-*`) are those of local runs.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/packages"
rm -rf "$CARGO_TARGET_DIR" "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/tickwright*
# The gate may run before a commit: so `--allow-dirty`.
cargo package -q --locked --allow-dirty "${libraries[@]}"
cargo package -q --locked --allow-dirty --no-verify --workspace
packed="$CARGO_TARGET_DIR/package"
for crate in crates/*/*/; do
    name="$(basename "$crate")"
    files="$(tar tzf "$packed/$name-$(cargo pkgid -p "$name" | sed 's/.*[#@]//').crate")"
    [ "$(grep -cE '/LICENSE-(MIT|APACHE)$' <<<"$files")" = 2 ] ||
        { echo "package: $name lacks a license: link it from the root" >&2 && exit 1; }
done
echo "package: $(find "$packed" -maxdepth 1 -name '*.crate' | wc -l) crates"
