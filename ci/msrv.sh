#!/usr/bin/env bash
# The library crates build with the oldest Rust that their manifests name (`rust-version`), with
# each feature alone and with none. Foreign queues and the QUIC example need a newer one.
set -euo pipefail
cd "$(dirname "$0")/.."

export PATH="$PWD/target/tools/bin:$PATH"
oldest="$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)"
if ! cargo hack --version >/dev/null 2>&1 || ! rustup run "$oldest" rustc --version >/dev/null 2>&1; then
    echo "msrv: skipped: no cargo-hack (ci/tools.sh all), or no Rust $oldest (rustup toolchain install $oldest)"
    exit 77
fi
packages=(-p tickwright)
for crate in nodes core mcu collections threads boundary capi threads-capi testkit trace preload async durable; do
    packages+=(-p "tickwright-$crate")
done
RUSTFLAGS="-D warnings" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/msrv" cargo hack check -q --locked --rust-version \
    --each-feature --exclude-all-features --exclude-features foreign,example-quic "${packages[@]}"
echo "msrv: the library crates build with Rust $oldest"
