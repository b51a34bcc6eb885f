#!/usr/bin/env bash
# The library crates build with the oldest Rust that their manifests name (`rust-version`).
set -euo pipefail
cd "$(dirname "$0")/.."

oldest="$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)"
if ! rustup run "$oldest" rustc --version >/dev/null 2>&1; then
    echo "msrv: skipped: no Rust $oldest (rustup toolchain install $oldest --profile minimal)"
    exit 77
fi
packages=(-p tickwright)
for crate in nodes core embassy collections threads boundary capi threads-capi testkit trace preload async; do
    packages+=(-p "tickwright-$crate")
done
RUSTFLAGS="-D warnings" rustup run "$oldest" cargo check -q --locked --target-dir "${CARGO_TARGET_DIR:-target}/msrv" "${packages[@]}"
echo "msrv: the library crates build with Rust $oldest"
