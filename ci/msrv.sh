#!/usr/bin/env bash
# The library crates build with the oldest Rust that their manifests name (`rust-version`).
set -euo pipefail
cd "$(dirname "$0")/.."

oldest="$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)"
if ! command -v rustup >/dev/null; then
    echo "msrv: skipped, no rustup to take Rust $oldest from"
    exit 0
fi
if ! rustup run "$oldest" rustc --version >/dev/null 2>&1 &&
    ! timeout 300 rustup toolchain install "$oldest" --profile minimal >/dev/null 2>&1; then
    echo "msrv: skipped, Rust $oldest cannot be installed here"
    exit 0
fi
crates=(nodes core embassy collections threads boundary capi threads-capi testkit trace preload async)
packages=(-p tickwright)
for crate in "${crates[@]}"; do
    packages+=(-p "tickwright-$crate")
done
RUSTFLAGS="-D warnings" rustup run "$oldest" cargo check -q --locked --target-dir "${CARGO_TARGET_DIR:-target}/msrv" "${packages[@]}"
echo "msrv: the library crates build with Rust $oldest"
