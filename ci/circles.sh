#!/usr/bin/env bash
# No files, folders or crates of this workspace import one another. The finder of circles finds one
# in a made-up tree.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 ci/circles.py --self-test >/dev/null
python3 ci/circles.py tickwright-nodes tickwright-collections tickwright-core tickwright-embassy \
    tickwright-threads tickwright tickwright-async tickwright-boundary tickwright-capi \
    tickwright-threads-capi tickwright-testkit tickwright-measure tickwright-trace \
    tickwright-preload tickwright-lab tickwright-benches
echo "circles: none among the files of all crates"
