#!/usr/bin/env bash
# The tests of quinn, with our timers in its runtime; then its examples and two of hyper-util, each
# with one changed line. Needs the registry. Some four minutes. Not a step of `.ci/run`.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/quinn"

# The sources of a crate, in the version that Cargo.lock names.
sources() {
    local version
    version=$(cargo metadata --all-features --format-version 1 | python3 -c '
import json, sys
name = sys.argv[1]
print(*[p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == name][-1:])' "$1")
    local from=("${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$version")
    [[ -d ${from[0]} ]] || { echo "quinn.sh: no sources of $1 $version: run cargo fetch" >&2; exit 2; }
    cp -r "${from[0]}" "$2"
    chmod -R u+w "$2"
    echo "==> $1 $version"
}

# Changes the only line that has a text. Fails if there is none.
change() {
    python3 - "$@" <<'PY'
import sys
path, before, after = sys.argv[1:]
text = open(path).read()
if text.count(before) != 1:
    sys.exit(f"quinn.sh: {path}: {text.count(before)} times: {before}")
open(path, "w").write(text.replace(before, after))
print(f"{path.rsplit('/', 1)[-1]}:\n  - {before}\n  + {after}")
PY
}

sources quinn "$work/quinn"
sources hyper-util "$work/hyper-util"

mkdir -p "$work/examples/src" "$work/examples/examples"
cp -r "$work"/quinn/examples/{common,connection.rs,single_socket.rs} "$work/examples/examples"
cp "$work/hyper-util/examples/client.rs" "$work/examples/examples/hyper_client.rs"
cp "$work/hyper-util/examples/server.rs" "$work/examples/examples/hyper_server.rs"
echo > "$work/examples/src/lib.rs"
cat > "$work/examples/Cargo.toml" <<TOML
[package]
name = "examples-of-others"
edition = "2024"
[workspace]
[features]
default = ["rustls-ring"]
rustls-ring = []
rustls-aws-lc-rs = []
[dependencies]
bytes = "1"
http = "1"
http-body-util = "0.1"
hyper = { version = "1", features = ["full"] }
hyper-util = { version = "0.1", features = ["full"] }
pretty_env_logger = "0.5"
quinn = { version = "0.11", features = ["rustls-ring", "runtime-tokio"] }
rcgen = "0.14"
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
tickwright-async = { path = "$root/crates/tickwright-async", features = ["hyper", "quinn"] }
tokio = { version = "1", features = ["full"] }
TOML
ours='tickwright_async::Timers::new()?'
runtime="Arc::new(tickwright_async::QuinnRuntime::new(quinn::TokioRuntime, $ours))"
bound='std::net::UdpSocket::bind(bind_addr)?'
examples=$work/examples/examples
change "$examples/common/mod.rs" 'Endpoint::client(bind_addr)?' \
    "Endpoint::new(Default::default(), None, $bound, $runtime)?"
change "$examples/common/mod.rs" 'Endpoint::server(server_config, bind_addr)?' \
    "Endpoint::new(Default::default(), Some(server_config), $bound, $runtime)?"
change "$examples/hyper_client.rs" '.build(HttpConnector::new())' \
    ".pool_timer($ours).build(HttpConnector::new())"
change "$examples/hyper_server.rs" 'Builder::new(TokioExecutor::new())' \
    'Builder::new(TokioExecutor::new()).http1().timer(tickwright_async::Timers::global().clone())'
(cd "$work/examples" && cargo build -q --examples)
built=$CARGO_TARGET_DIR/debug/examples
for example in connection single_socket; do
    timeout 30 "$built/$example" > "$work/$example.txt"
    grep -q connected "$work/$example.txt" || { echo "quinn.sh: $example did not connect" >&2; exit 1; }
    echo "$example: connected"
done
"$built/hyper_server" > "$work/server.txt" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
until grep -q listening "$work/server.txt"; do sleep 0.1; done
timeout 30 "$built/hyper_client" http://127.0.0.1:8000/ > "$work/client.txt" 2>&1
grep -q 'HTTP/1.1 200' "$work/client.txt" || { cat "$work/client.txt"; exit 1; }
echo "hyper_server and hyper_client: 200"
# The head of a request that does not end: hyper waits 30 s by default.
python3 - <<'PY'
import socket, time
stream = socket.create_connection(("127.0.0.1", 8000))
stream.sendall(b"GET / HTTP/1.1\r\n")
begun = time.monotonic()
end, waited = stream.recv(1), time.monotonic() - begun
print(f"hyper_server: gave a slow client up after {waited:.1f} s")
if end or not 29.9 < waited < 35:
    raise SystemExit("quinn.sh: the time-out of hyper did not come")
PY

# The tests use the timers of quinn's runtime for tokio, so these become ours.
change "$work/quinn/src/runtime/tokio.rs" 'Box::pin(sleep_until(t.into()))' \
    'Box::pin(Ours(tickwright_async::Timers::global().sleep_until(t)))'
change "$work/quinn/src/runtime/tokio.rs" 'time::{Sleep, sleep_until}' 'time::Sleep'
cat >> "$work/quinn/src/runtime/tokio.rs" <<'RS'

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
cat >> "$work/quinn/Cargo.toml" <<TOML

[dependencies.tickwright-async]
path = "$root/crates/tickwright-async"

[workspace]
TOML
rm -f "$work/quinn/Cargo.lock"
(cd "$work/quinn" && cargo test -q --lib --tests -- --include-ignored)
echo "quinn.sh: passed"
