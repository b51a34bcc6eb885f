#!/usr/bin/env bash
# Proves that the core library needs neither std nor alloc: builds it with plain rustc, links a
# program without them and runs it. Then proves that the proof can fail: the same program must not
# build over a core that pulls either of them in.
set -euo pipefail
cd "$(dirname "$0")/.."

out="${CARGO_TARGET_DIR:-target}/no_std"
core_src=crates/tickwright-core/src
nodes_src=crates/tickwright-nodes/src
flags=(--edition 2024 -C panic=abort -C opt-level=2 --cap-lints allow)
rm -rf "$out"
mkdir -p "$out"

# core_lib DIR SOURCE [FLAG...]: the core library and the nodes below it as rlibs in DIR.
core_lib() {
    local dir="$1" src="$2"
    shift 2
    mkdir -p "$dir"
    rustc "${flags[@]}" --crate-name tickwright_nodes --crate-type rlib --out-dir "$dir" "$@" "$nodes_src/lib.rs"
    rustc "${flags[@]}" --crate-name tickwright_core --crate-type rlib --out-dir "$dir" -L "$dir" \
        --extern "tickwright_nodes=$dir/libtickwright_nodes.rlib" "$@" "$src/lib.rs"
}

# program DIR [FLAG...]: the freestanding program over the core library in DIR.
program() {
    local dir="$1"
    shift
    rustc "${flags[@]}" -L "$dir" --extern "tickwright_core=$dir/libtickwright_core.rlib" -o "$dir/freestanding" "$@" \
        ci/no_std/freestanding.rs
}

start=()
case "$(rustc -vV | sed -n 's/^host: //p')" in
    x86_64-*-linux-gnu) start=(--cfg freestanding_start -C link-arg=-nostdlib -C link-arg=-nostartfiles
        -C link-arg=-static -C relocation-model=static -C target-feature=+crt-static) ;;
    *) echo "no_std: no start code for this host: the program is linked with the C library's" ;;
esac

echo "no_std: core without std and alloc, linked and run"
core_lib "$out/plain" "$core_src"
program "$out/plain" "${start[@]}"
"$out/plain/freestanding"

if command -v nm >/dev/null; then
    echo "no_std: queues and nodes in statics are zeros, so they take no room in the program's image"
    # lies_in SECTION NAME...: each of these statics lies in .bss (b) or .data (d).
    lies_in() {
        local section="$1" name found
        shift
        for name in "$@"; do
            found="$(nm "$out/plain/freestanding" | grep -E "[0-9]${name}(17h|E$|$)" || true)"
            if [ -z "$found" ] || grep -qvi " $section " <<<"$found"; then
                echo "no_std: FAILED: $name is not in section '$section': ${found:-not found}" >&2
                exit 1
            fi
        done
    }
    lies_in b HEAP_NODES HEAP LIST_NODES LIST LENT_NODES LENT_GROUPS \
        FLAT BINARY TREE CACHED AVL WHEEL SMALL TINY COARSE
    echo "no_std: a queue with an identity that the program chose is not zeros, as its page says"
    lies_in d CHOSEN
else
    echo "no_std: skipped where statics are: no nm (Debian: apt-get install binutils)"
fi

echo "no_std: the same without compare-exchange: nodes are claimed, and identities drawn, in critical sections"
RUSTFLAGS="${RUSTFLAGS:-} --cfg tickwright_no_cas" CARGO_TARGET_DIR="$out/tests" \
    cargo test -q -p tickwright-core -p tickwright-nodes -p tickwright-collections --features critical-section --lib -- hook
echo "no_std: control: without the critical section the program must not build, and the error names the remedy"
core_lib "$out/no_cas" "$core_src" --cfg tickwright_no_cas
if program "$out/no_cas" "${start[@]}" 2>"$out/no_cas.log"; then
    echo "no_std: FAILED: timers in statics build without compare-exchange and without a critical section" >&2
    exit 1
fi
grep -q 'enable the feature `critical-section`' "$out/no_cas.log" || { cat "$out/no_cas.log" >&2; exit 1; }
if rustc "${flags[@]}" -L "$out/no_cas" --extern "tickwright_core=$out/no_cas/libtickwright_core.rlib" \
    --crate-type lib --emit obj -o "$out/no_cas/queue_alone.o" ci/no_std/queue_alone.rs 2>"$out/no_cas.log"; then
    echo "no_std: FAILED: a queue builds that could draw no identity" >&2
    exit 1
fi
grep -q 'HookQueue::with_identity' "$out/no_cas.log" || { cat "$out/no_cas.log" >&2; exit 1; }

echo "no_std: control: over a core with alloc the program must not link (it has no allocator)"
core_lib "$out/alloc" "$core_src" --cfg 'feature="alloc"'
if program "$out/alloc" "${start[@]}" 2>"$out/alloc.log"; then
    echo "no_std: FAILED: the proof does not notice alloc" >&2
    exit 1
fi
grep -q 'no global memory allocator' "$out/alloc.log" || { cat "$out/alloc.log" >&2; exit 1; }

echo "no_std: control: over a core with std the program must not build (two panic handlers)"
cp -r "$core_src" "$out/std_src"
echo 'extern crate std;' >>"$out/std_src/lib.rs"
core_lib "$out/std" "$out/std_src"
if program "$out/std" "${start[@]}" 2>"$out/std.log"; then
    echo "no_std: FAILED: the proof does not notice std" >&2
    exit 1
fi
grep -q 'panic_impl' "$out/std.log" || { cat "$out/std.log" >&2; exit 1; }

for target in thumbv6m-none-eabi thumbv7m-none-eabi; do
    if [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
        echo "no_std: core for $target"
        core_lib "$out/$target" "$core_src" --target "$target"
        core_lib "$out/$target-alloc" "$core_src" --target "$target" --cfg 'feature="alloc"'
        echo "no_std: structures with an allocator have the sizes that their pages state for 32 bits"
        rustc "${flags[@]}" -L "$out/$target-alloc" --extern "tickwright_core=$out/$target-alloc/libtickwright_core.rlib" \
            --target "$target" --crate-type lib --emit metadata --out-dir "$out/$target-alloc" ci/no_std/sizes.rs
    else
        echo "no_std: skipped $target: its library is not installed (rustup target add $target)"
    fi
done
echo "no_std: passed"
