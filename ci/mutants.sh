#!/usr/bin/env bash
# Breaks the source in many small places, one at a time, and asks whether a test notices. By hand or
# nightly: it takes hours. Needs python3 and `cargo install cargo-mutants --locked`; ci/mutants.py
# says what the arguments mean.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in python3 cargo-mutants; do
    if ! command -v "$tool" >/dev/null; then
        echo "mutants: skipped: $tool is not installed"
        exit 0
    fi
done
exec python3 ci/mutants.py "$@"
