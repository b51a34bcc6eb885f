#!/usr/bin/env bash
# Queues on emulated microcontrollers: every structure that needs no allocator beside an oracle, a
# queue that an interrupt drives, and controls that must fail. It installs nothing and says what it
# lacks.
set -euo pipefail
cd "$(dirname "$0")/../firmware"

target_dir="${CARGO_TARGET_DIR:-$PWD/../target}/mcu"
log="$target_dir/log"
mkdir -p "$target_dir"
# Flags for the host are not for these targets.
unset RUSTFLAGS
export CARGO_TARGET_DIR="$target_dir" CARGO_INCREMENTAL=0
m3=thumbv7m-none-eabi m0=thumbv6m-none-eabi m4=thumbv7em-none-eabi riscv=riscv32imc-unknown-none-elf
ran=0

fail() {
    tail -n 30 "$log" >&2
    echo "mcu: FAILED: $*" >&2
    exit 1
}

# have TARGET QEMU: whether both are here; says what is missing.
have() {
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; then
        echo "mcu: skipped $1: its library is not installed (rustup target add $1)"
        return 1
    fi
    if ! command -v "$2" >/dev/null; then
        echo "mcu: skipped $1: no $2 (Debian: apt-get install qemu-system-arm qemu-system-misc)"
        return 1
    fi
}

# build FOLDER TARGET BOARD OPT ARGUMENT...: programs of that folder.
build() {
    (
        cd "$1"
        TICKWRIGHT_BOARD="$3" CARGO_PROFILE_RELEASE_OPT_LEVEL="$4" \
            cargo build -q --locked --release --target "$2" "${@:5}"
    )
}

# emulate MACHINE PROGRAM TARGET [ARGUMENT]: runs it; its exit code is the program's, and the log
# has its lines. Sleep costs no real time. A program that hangs has used up its minute of processor
# time; on a busy machine that minute is many.
emulate() {
    local qemu=(qemu-system-arm)
    if [ "$1" = virt ]; then qemu=(qemu-system-riscv32 -bios none); fi
    (
        ulimit -t 60
        exec timeout 1200 "${qemu[@]}" -machine "$1" -nographic -monitor none -serial none \
            -icount shift=7,sleep=off -semihosting-config "enable=on,target=native${4:+,arg=$4}" \
            -kernel "$target_dir/$3/release/$2" </dev/null >"$log"
    )
}

# conforms NAME MACHINE TARGET BOARD [LEVEL]: at opt-level s and 3, or at one LEVEL, all structures
# agree with the oracle, and no exact structure agrees with one that breaks ties backwards (the
# control).
conforms() {
    local opt agree exact control
    for opt in ${5:-s 3}; do
        build . "$3" "$4" "$opt" --bin conformance
        emulate "$2" conformance "$3" || fail "a structure on $1 at opt-level $opt"
        agree="$(grep -c 'agree$' "$log" || true)"
        exact="$(grep 'agree$' "$log" | grep -cv '^coarse' || true)"
        [ "$exact" -ge 1 ] || fail "no structure on $1 at opt-level $opt says that it agrees"
        # The control takes as long as the run, so each board has it at one level.
        control=""
        if [ "$opt" = 3 ]; then
            if emulate "$2" conformance "$3" control ||
                [ "$(grep -v '^coarse' "$log" | grep -c 'FAILED')" != "$exact" ]; then
                fail "on $1 at opt-level $opt an exact structure agrees with an oracle that breaks ties backwards"
            fi
            control="; control: $exact of $exact exact ones differ from an oracle that breaks ties backwards"
        fi
        ran=$((ran + agree))
        echo "mcu: $1, $3, opt-level $opt: $agree structures agree with the oracle$control"
    done
}

# on_time PROGRAM: its last line says how many timers were on their tick.
on_time() {
    emulate mps2-an385 "$1" "$m3" || fail "$1: a timer off its tick, or a task woken early, late or never"
    echo "mcu: Cortex-M3, $(tail -1 "$log")"
}

# sleepers WHOSE TARGET: the program of Embassy's executor over that queue; its lines are in
# LOG-WHOSE. Fails unless it prints wake-ups.
sleepers() {
    build "embassy/$1" "$2" mps2 s
    emulate mps2-an385 embassy "$2" || fail "a task of Embassy over $1 on $2 was woken early, late or never"
    grep -q '^wake' "$log" || fail "Embassy over $1 prints no wake-up"
    mv "$log" "$log-$1"
}

# mean WHOSE TASKS: instructions of the queue a wake-up.
mean() {
    sed -n "s/^cost,$2,wake-up,\([1-9][0-9]*\),.*/\1/p" "$log-$1" | grep .
}

if have "$m3" qemu-system-arm; then
    conforms "Cortex-M3" mps2-an385 "$m3" mps2
    build . "$m3" mps2 3 --bin systick --bin tickless
    on_time systick
    on_time tickless
    build . "$m3" mps2 3 --bin tickless --features counter32
    on_time tickless

    # The project to copy, by its own runner.
    if ! (cd template && cargo build -q --locked --release && timeout 1200 cargo run -q --locked --release </dev/null) \
        >"$log" || ! diff template/output.txt "$log"; then
        fail "firmware/template does not run, or prints another output"
    fi
    echo "mcu: Cortex-M3, the template prints its $(wc -l <"$log") lines"

    for opt in s 3; do
        build rtic "$m3" mps2 "$opt"
        on_time rtic
    done
    build rtic "$m3" mps2 s --features control
    if emulate mps2-an385 rtic "$m3" || ! grep -q FAILED "$log"; then
        fail "an alarm of RTIC that misses a deadline is not noticed"
    fi
    echo "mcu: control: an alarm that misses a deadline fails RTIC's tasks"

    sleepers theirs "$m3"
    sleepers ours "$m3"
    diff <(grep '^wake' "$log-theirs") <(grep '^wake' "$log-ours") >&2 ||
        fail "tasks wake in another order than over Embassy's own queue"
    means=""
    for tasks in 1 8 16 32; do
        ours="$(mean ours "$tasks")" || fail "Embassy over ours prints no cost of $tasks tasks"
        theirs="$(mean theirs "$tasks")" || fail "Embassy over theirs prints no cost of $tasks tasks"
        if [ "$tasks" != 1 ] && [ "$ours" -ge "$theirs" ]; then
            fail "$tasks tasks: $ours instructions a wake-up, Embassy's own queue $theirs"
        fi
        means+=" $tasks: $ours, its own $theirs;"
    done
    echo "mcu: Embassy: $(grep -c '^wake' "$log-ours") wake-ups in the same order as over its own queue;" \
        "instructions a wake-up by tasks:${means%;}"
fi

if have "$m0" qemu-system-arm; then
    # Code for the M0, which the M3 runs: the board with an M0 has too little memory.
    sleepers ours "$m0"
    echo "mcu: Embassy, $m0: $(grep -c '^wake' "$log-ours") wake-ups on their tick"
    # 16 KiB do not hold all statics at once.
    conforms "Cortex-M0" microbit "$m0" microbit
    TICKWRIGHT_PART=wheels conforms "Cortex-M0, wheels" microbit "$m0" microbit
fi

if have "$m4" qemu-system-arm; then
    # At s its code is nearly that of the M3, and the script takes a minute and a half at most.
    conforms "Cortex-M4" mps2-an386 "$m4" mps2 3
fi

if have "$riscv" qemu-system-riscv32; then
    conforms "RISC-V without atomics" virt "$riscv" virt
fi

if [ "$ran" = 0 ]; then
    exit 77
fi
echo "mcu: passed: $ran structures on a board agree"
