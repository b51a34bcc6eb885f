#!/usr/bin/env bash
# The libraries' tests under AddressSanitizer (use after free, overrun), on stock stable Rust.
# Threads of the M:N model are kernel threads here (`--cfg tickwright_portable`), so that the
# sanitizer knows their stacks. Where valgrind is installed, the hook tests, and locks and mailboxes
# over such threads, run under it as well (uninitialised reads).
set -euo pipefail
cd "$(dirname "$0")/.."

host="$(rustc -vV | sed -n 's/^host: //p')"
runtime="$(rustc --print sysroot)/lib/rustlib/$host/lib"
if ! compgen -G "$runtime/librustc*_rt.asan.a" >/dev/null; then
    echo "asan: skipped: this toolchain has no sanitizer for $host"
    exit 77
fi
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
export RUSTC_BOOTSTRAP=1
# Its own directory: everything is built anew with the sanitizer. Lines are enough to name a place.
export CARGO_TARGET_DIR="$target/asan" CARGO_PROFILE_DEV_DEBUG=line-tables-only
export RUSTFLAGS="-Zsanitizer=address --cfg tickwright_portable"
# Leaks are not looked for: forgotten queues are tested. Stacks are not copied, because threads ask
# where theirs is. Faults stay with the library's own handler, which tests provoke. Requests beyond
# all memory are refused, as the platform does.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0:handle_segv=0:handle_sigbus=0

# The control: an error that must be found, by the same compiler with the same flags.
control="$CARGO_TARGET_DIR/broken"
mkdir -p "$CARGO_TARGET_DIR"
read -ra flags <<<"$RUSTFLAGS"
rustc "${flags[@]}" --edition 2024 --target "$host" ci/asan/broken.rs -o "$control"
status=0
"$control" >"$control.said" 2>&1 || status=$?
if [ "$status" = 0 ] || ! grep -q 'AddressSanitizer: heap-use-after-free' "$control.said"; then
    echo "asan: the control was not found: exit code $status" >&2
    cat "$control.said" >&2
    exit 1
fi

# Tests that cannot run so, each with the reason. All others run.
skipped=(
    # They bound the address space, of which the sanitizer's shadow takes terabytes.
    the_platform_runs_out_in_the_middle
    what_the_host_does_not_give_is_refused_and_all_else_goes_on
    # It counts bytes in use, and the sanitizer keeps freed memory back.
    ten_thousand_threads_leave_nothing
    # A child has the forking kernel thread alone; here its worker is another one.
    a_thread_forks
    a_thread_that_forks
    # A thread that ends takes locks of the sanitizer (its statistics, its quarantine). A fork
    # leaves them held in the child for ever: seen in one run of ten, never without the sanitizer.
    a_child_starts_a_runtime_while_others_end
    # Stacks are the platform's here: no report of an overflow, and other sizes and guards than
    # asked for.
    an_overflow_names_the_thread
    a_stack_of_another_size_is_kept_for_nobody
    {one_worker,two_workers,three_workers,as_ngpt}::a_guard_is_there_when_it_is_asked_for
    {one_worker,two_workers,three_workers,as_ngpt}::sizes_are_those_asked_for
)
skips=()
for each in "${skipped[@]}"; do
    skips+=(--skip "$each")
done
cargo test -q -p tickwright-nodes -p tickwright-collections -p tickwright-core -p tickwright -p tickwright-threads --target "$host" --lib --tests -- "${skips[@]}" "$@"

if ! command -v valgrind >/dev/null; then
    echo "asan: passed, but valgrind skipped: not installed"
    exit 77
fi
# test_binary CRATE TEST: as `cargo test` builds it.
unset RUSTFLAGS RUSTC_BOOTSTRAP CARGO_PROFILE_DEV_DEBUG
export CARGO_TARGET_DIR="$target"
test_binary() {
    cargo test -q -p "$1" --test "$2" --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1
}
valgrind -q --error-exitcode=99 "$(test_binary tickwright-core hook)" -q --test-threads=1
for test in locks sync; do
    valgrind -q --error-exitcode=99 "$(test_binary tickwright-threads "$test")" -q --test-threads=1 portable::
done
