#!/usr/bin/env bash
# Each crate can be packaged, and the library crates build from their packages alone.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=(-p tickwright-nodes -p tickwright-core -p tickwright-collections -p tickwright -p tickwright-threads -p tickwright-capi
    -p tickwright-testkit)
# The gate may run before a commit: so `--allow-dirty`.
cargo package -q --locked --allow-dirty "${libraries[@]}"
cargo package -q --locked --allow-dirty --no-verify --workspace
echo "package: $(find "${CARGO_TARGET_DIR:-target}/package" -maxdepth 1 -name '*.crate' | wc -l) crates"
