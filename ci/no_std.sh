#!/usr/bin/env bash
# Proves that the core library needs neither std nor alloc: builds it with plain rustc, links a
# program without them and runs it. Then proves that the proof can fail: the same program must not
# build over a core that pulls either of them in.
set -euo pipefail
cd "$(dirname "$0")/.."

out="${CARGO_TARGET_DIR:-target}/no_std"
flags=(--edition 2024 -C panic=abort -C opt-level=2 --cap-lints allow)
rm -rf "$out"
mkdir -p "$out"

# core_lib NAME SOURCE [FLAG...]: the core library and the nodes below it as rlibs in a folder.
core_lib() {
    local dir="$out/$1" src="$2"
    shift 2
    rustc "${flags[@]}" --crate-name tickwright_nodes --crate-type rlib --out-dir "$dir" "$@" crates/timers/tickwright-nodes/src/lib.rs
    rustc "${flags[@]}" --crate-name tickwright_core --crate-type rlib --out-dir "$dir" -L "$dir" \
        --extern "tickwright_nodes=$dir/libtickwright_nodes.rlib" "$@" "$src/lib.rs"
}

# over NAME SOURCE [FLAG...]: a program over the core library of that folder.
over() {
    local dir="$out/$1" src="$2"
    shift 2
    rustc "${flags[@]}" -L "$dir" --extern "tickwright_core=$dir/libtickwright_core.rlib" -o "$dir/program" "$@" "ci/no_std/$src.rs"
}

# refused WHAT WORDS NAME SOURCE [FLAG...]: such a program must not build, and the error has the
# words.
refused() {
    local what="$1" words="$2"
    shift 2
    echo "no_std: control: $what must not build"
    if over "$@" 2>"$out/log" || ! grep -qF "$words" "$out/log"; then
        cat "$out/log" >&2
        echo "no_std: FAILED: $what builds, or the error does not say: $words" >&2
        exit 1
    fi
}

start=()
case "$(rustc -vV | sed -n 's/^host: //p')" in
    x86_64-*-linux-gnu) start=(--cfg freestanding_start -C link-arg=-nostdlib -C link-arg=-nostartfiles
        -C link-arg=-static -C relocation-model=static -C target-feature=+crt-static) ;;
    *) echo "no_std: no start code for this host: the program is linked with the C library" ;;
esac

echo "no_std: core without std and alloc, linked and run"
core_lib plain crates/timers/tickwright-core/src
over plain freestanding "${start[@]}"
"$out/plain/program"

echo "no_std: queues and nodes in statics are zeros, so they take no room in the program's image; a queue with an identity that the program chose is not"
# lies_in SECTION NAME...: each of these statics lies in .bss (b) or .data (d).
lies_in() {
    local section="$1" name found
    shift
    for name in "$@"; do
        found="$(nm "$out/plain/program" | grep -E "[0-9]${name}(17h|E$|$)" || true)"
        if [ -z "$found" ] || grep -qvi " $section " <<<"$found"; then
            echo "no_std: FAILED: $name is not in section '$section': ${found:-not found}" >&2
            exit 1
        fi
    done
}
lies_in b HEAP_NODES HEAP LIST_NODES LIST LENT_NODES LENT_GROUPS FLAT BINARY TREE CACHED WHEEL SMALL TINY COARSE
lies_in d CHOSEN

core_lib no_cas crates/timers/tickwright-core/src --cfg tickwright_no_cas
refused "timers in statics without compare-exchange and without a critical section" \
    'enable the feature' no_cas freestanding "${start[@]}"
refused "a queue that could draw no identity" 'HookQueue::with_identity' no_cas queue_alone --crate-type lib --emit obj
core_lib alloc crates/timers/tickwright-core/src --cfg 'feature="alloc"'
refused "the program over a core with alloc" 'no global memory allocator' alloc freestanding "${start[@]}"
cp -r crates/timers/tickwright-core/src "$out/std_src"
echo 'extern crate std;' >>"$out/std_src/lib.rs"
core_lib std "$out/std_src"
refused "the program over a core with std" panic_impl std freestanding "${start[@]}"

for target in thumbv6m-none-eabi thumbv7m-none-eabi; do
    if [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
        echo "no_std: core for $target, and sizes that the pages of structures with an allocator state"
        core_lib "$target" crates/timers/tickwright-core/src --target "$target"
        core_lib "$target-alloc" crates/timers/tickwright-core/src --target "$target" --cfg 'feature="alloc"'
        over "$target-alloc" sizes --target "$target" --crate-type lib --emit metadata
    else
        echo "no_std: skipped $target: its library is not installed (rustup target add $target)"
    fi
done
# The tests of hooks, where nodes are claimed and identities drawn in critical sections.
if [ "${1:-}" = all ]; then
    echo "no_std: the same without compare-exchange"
    RUSTFLAGS="${RUSTFLAGS:-} --cfg tickwright_no_cas" CARGO_TARGET_DIR="$out/tests" \
        cargo test -q -p tickwright-core -p tickwright-nodes -p tickwright-collections --features critical-section --lib -- hook
fi
echo "no_std: passed"
