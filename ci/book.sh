#!/usr/bin/env bash
# Builds the book of docs/ into target/book and follows every link of it. Needs mdbook 0.5 and
# python3.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v python3 >/dev/null; then
    echo "book: skipped, no python3"
    exit 0
fi
ci/book.py --self-test
if ! command -v mdbook >/dev/null; then
    echo "book: skipped, mdbook is not installed (cargo install mdbook --locked)"
    exit 0
fi
to="$(realpath -m "${CARGO_TARGET_DIR:-target}")/book"
rm -rf "$to"
said="$(mktemp)"
trap 'rm -f "$said"' EXIT
if ! mdbook build docs --dest-dir "$to" 2>"$said" || grep -qiE 'warn|error' "$said"; then
    cat "$said" >&2
    exit 1
fi
ci/book.py --check "$to"
echo "book: $(find "$to" -name '*.html' | wc -l) pages, every link leads to one: $to/index.html"
