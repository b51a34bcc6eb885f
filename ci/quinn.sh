#!/usr/bin/env bash
# The tests of quinn, with our timers in its runtime. Needs the registry, and some minutes. By hand.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/quinn"

# The sources of the version that Cargo.lock names.
manifest="$(cargo metadata --all-features --format-version 1 --locked |
    grep -o '"manifest_path":"[^"]*/quinn-[0-9][^"]*/Cargo.toml"' | cut -d'"' -f4)"
cp -r "$(dirname "$manifest")" "$work/quinn"
chmod -R u+w "$work/quinn"
echo "==> $(basename "$(dirname "$manifest")")"

# The tests use the timers of quinn's runtime for tokio, so these become ours. `change BEFORE AFTER`
# changes the only line that has a text.
runtime="$work/quinn/src/runtime/tokio.rs"
change() {
    [ "$(grep -cF "$1" "$runtime")" = 1 ] || { echo "quinn: not once in $runtime: $1" >&2; exit 1; }
    BEFORE="$1" AFTER="$2" perl -pi -e 's/\Q$ENV{BEFORE}\E/$ENV{AFTER}/' "$runtime"
}
change 'Box::pin(sleep_until(t.into()))' 'Box::pin(Ours(tickwright_async::Timers::global().sleep_until(t)))'
change 'time::{Sleep, sleep_until}' 'time::Sleep'
cat >>"$runtime" <<'RS'

#[derive(Debug)]
struct Ours(tickwright_async::Sleep);

impl AsyncTimer for Ours {
    fn reset(mut self: Pin<&mut Self>, t: Instant) {
        self.0.reset(t)
    }
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}
RS
printf '\n[dependencies.tickwright-async]\npath = "%s/crates/timers/tickwright-async"\n\n[workspace]\n' "$root" >>"$work/quinn/Cargo.toml"
rm -f "$work/quinn/Cargo.lock"
(cd "$work/quinn" && cargo test -q --lib --tests -- --include-ignored)
echo "quinn: passed"
