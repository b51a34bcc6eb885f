#!/usr/bin/env bash
# Queues on emulated microcontrollers: every structure that needs no allocator beside an oracle, a
# queue that an interrupt drives, and controls that must fail. CONTRIBUTING says what it needs; it
# installs nothing.
set -euo pipefail
cd "$(dirname "$0")/../firmware"

begun=$SECONDS
target_dir="${CARGO_TARGET_DIR:-$PWD/../target}/mcu"
log="$target_dir/log"
mkdir -p "$target_dir"
# Flags for the host are not for these targets.
unset RUSTFLAGS
export CARGO_TARGET_DIR="$target_dir" CARGO_INCREMENTAL=0
ran=0

# have TARGET QEMU: whether both are here; says what is missing.
have() {
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; then
        echo "mcu: skipped $1: its library is not installed (rustup target add $1)"
        return 1
    fi
    if ! command -v "$2" >/dev/null; then
        echo "mcu: skipped $1: no $2 (Debian: apt-get install ${3:-$2})"
        return 1
    fi
}

# build TARGET BOARD OPT ARGUMENT...: programs of this folder.
build() {
    local target="$1" board="$2" opt="$3"
    shift 3
    TICKWRIGHT_BOARD="$board" CARGO_PROFILE_RELEASE_OPT_LEVEL="$opt" \
        cargo build -q --locked --release --target "$target" "$@"
}

# emulate MACHINE PROGRAM TARGET [ARGUMENT]: runs it; its exit code is the program's. Sleep costs no
# real time. A program that hangs has used up its minute of processor time; on a busy machine that
# minute is many.
emulate() {
    local machine="$1" elf="$target_dir/$3/release/$2" qemu=qemu-system-arm argument="${4:+,arg=$4}"
    local more=()
    if [ "$machine" = virt ]; then
        qemu=qemu-system-riscv32
        more=(-bios none)
    fi
    (
        ulimit -t 60
        exec timeout 1200 "$qemu" -machine "$machine" "${more[@]}" -nographic -monitor none -serial none \
            -icount shift=7,sleep=off -semihosting-config "enable=on,target=native$argument" -kernel "$elf" </dev/null
    )
}

# conforms NAME MACHINE TARGET BOARD [LEVEL]: at opt-level s and 3, or at one LEVEL, all structures
# agree with the oracle, and no exact structure agrees with one that breaks ties backwards (the
# control).
conforms() {
    local opt agree exact control
    for opt in ${5:-s 3}; do
        build "$3" "$4" "$opt" --bin conformance
        if ! emulate "$2" conformance "$3" >"$log"; then
            cat "$log" >&2
            echo "mcu: FAILED: a structure on $1 at opt-level $opt" >&2
            exit 1
        fi
        agree="$(grep -c 'agree$' "$log" || true)"
        exact="$(grep 'agree$' "$log" | grep -cv '^coarse' || true)"
        if [ "$exact" -lt 1 ]; then
            cat "$log" >&2
            echo "mcu: FAILED: no structure on $1 at opt-level $opt says that it agrees" >&2
            exit 1
        fi
        # The control takes as long as the run, so each board has it at one level.
        control=""
        if [ "$opt" = 3 ]; then
            if emulate "$2" conformance "$3" control >"$log"; then
                echo "mcu: FAILED: an oracle that breaks ties backwards is not noticed on $1 at opt-level $opt" >&2
                exit 1
            fi
            if [ "$(grep -v '^coarse' "$log" | grep -c 'FAILED')" != "$exact" ]; then
                cat "$log" >&2
                echo "mcu: FAILED: on $1 at opt-level $opt an exact structure agrees with an oracle that breaks ties" \
                    "backwards" >&2
                exit 1
            fi
            control="; control: $exact of $exact exact ones differ from an oracle that breaks ties backwards"
        fi
        ran=$((ran + agree))
        echo "mcu: $1, $3, opt-level $opt: $agree structures agree with the oracle$control"
    done
}

if have thumbv7m-none-eabi qemu-system-arm; then
    conforms "Cortex-M3" mps2-an385 thumbv7m-none-eabi mps2

    build thumbv7m-none-eabi mps2 3 --bin systick --bin tickless
    for program in systick tickless; do
        if ! emulate mps2-an385 "$program" thumbv7m-none-eabi >"$log"; then
            cat "$log" >&2
            echo "mcu: FAILED: $program: a timer off its tick" >&2
            exit 1
        fi
        echo "mcu: Cortex-M3, $(tail -1 "$log")"
    done
    build thumbv7m-none-eabi mps2 3 --bin tickless --features counter32
    if ! emulate mps2-an385 tickless thumbv7m-none-eabi >"$log"; then
        cat "$log" >&2
        echo "mcu: FAILED: tickless, counter of 32 bits: a timer off its tick" >&2
        exit 1
    fi
    echo "mcu: Cortex-M3, $(tail -1 "$log")"

    # The project to copy, by its own runner.
    if ! (cd template && cargo build -q --locked --release && timeout 1200 cargo run -q --locked --release) \
        </dev/null >"$log" || ! diff template/output.txt "$log"; then
        echo "mcu: FAILED: firmware/template does not run, or prints another output" >&2
        exit 1
    fi
    echo "mcu: Cortex-M3, the template prints its $(wc -l <"$log") lines"
fi

# rtic OPT ARGUMENT...: builds the program of RTIC's tasks and runs it; its lines are in the log.
rtic() {
    local opt="$1"
    shift
    # Where it is asked as a condition, only this chain notices a build that fails.
    (cd rtic && build thumbv7m-none-eabi mps2 "$opt" "$@") && emulate mps2-an385 rtic thumbv7m-none-eabi >"$log"
}

if have thumbv7m-none-eabi qemu-system-arm; then
    for opt in s 3; do
        if ! rtic "$opt"; then
            tail -3 "$log" >&2
            echo "mcu: FAILED: a task of RTIC was woken early, late or never, at opt-level $opt" >&2
            exit 1
        fi
    done
    echo "mcu: Cortex-M3, $(tail -1 "$log")"
    if rtic s --features control || ! grep -q FAILED "$log"; then
        echo "mcu: FAILED: an alarm of RTIC that misses a deadline is not noticed" >&2
        exit 1
    fi
    echo "mcu: control: an alarm that misses a deadline fails RTIC's tasks"
fi

# sleepers WHOSE TARGET: the program of Embassy's executor over that queue; its lines are in
# LOG-WHOSE.
sleepers() {
    local whose="$1" target="$2"
    (cd "embassy/$whose" && build "$target" mps2 s)
    if ! emulate mps2-an385 embassy "$target" >"$log-$whose"; then
        tail -3 "$log-$whose" >&2
        echo "mcu: FAILED: a task of Embassy over $whose on $target was woken early, late or never" >&2
        exit 1
    fi
}

# mean WHOSE TASKS: instructions of the queue a wake-up. Fails if the log has no such number.
mean() {
    local found
    found="$(sed -n "s/^cost,$2,wake-up,\([0-9][0-9]*\),.*/\1/p" "$log-$1")"
    if ! [[ "$found" =~ ^[1-9][0-9]*$ ]]; then
        echo "mcu: FAILED: Embassy over $1 prints no cost of $2 tasks" >&2
        return 1
    fi
    echo "$found"
}

# wakes WHOSE: the number of wake-ups in the log. Fails if there is none.
wakes() {
    local found
    found="$(grep -c '^wake' "$log-$1" || true)"
    if [ "$found" -lt 1 ]; then
        echo "mcu: FAILED: Embassy over $1 prints no wake-up" >&2
        return 1
    fi
    echo "$found"
}

if have thumbv7m-none-eabi qemu-system-arm; then
    sleepers theirs thumbv7m-none-eabi
    sleepers ours thumbv7m-none-eabi
    # A failed assignment ends the script. A substitution among arguments would not.
    wakes theirs >/dev/null
    count="$(wakes ours)"
    if ! diff <(grep '^wake' "$log-theirs") <(grep '^wake' "$log-ours") >&2; then
        echo "mcu: FAILED: tasks wake in another order than over Embassy's own queue" >&2
        exit 1
    fi
    means_of_ours="" means_of_theirs=""
    for tasks in 1 8 16 32; do
        ours="$(mean ours "$tasks")"
        theirs="$(mean theirs "$tasks")"
        if [ "$tasks" != 1 ] && [ "$ours" -ge "$theirs" ]; then
            echo "mcu: FAILED: $tasks tasks: $ours instructions a wake-up, Embassy's own queue $theirs" >&2
            exit 1
        fi
        means_of_ours+=" $ours" means_of_theirs+=" $theirs"
    done
    echo "mcu: Embassy: $count wake-ups in the same order as over its own queue; instructions a wake-up" \
        "at 1, 8, 16, 32 tasks:$means_of_ours, its own$means_of_theirs"
fi

if have thumbv6m-none-eabi qemu-system-arm; then
    # Code for the M0, which the M3 runs: the board with an M0 has too little memory.
    sleepers ours thumbv6m-none-eabi
    count="$(wakes ours)"
    echo "mcu: Embassy, thumbv6m-none-eabi: $count wake-ups on their tick"
    # 16 KiB do not hold all statics at once.
    conforms "Cortex-M0" microbit thumbv6m-none-eabi microbit
    TICKWRIGHT_PART=wheels conforms "Cortex-M0, wheels" microbit thumbv6m-none-eabi microbit
fi

if have thumbv7em-none-eabi qemu-system-arm; then
    # At s its code is nearly that of the M3, and the script takes a minute and a half at most.
    conforms "Cortex-M4" mps2-an386 thumbv7em-none-eabi mps2 3
fi

if have riscv32imc-unknown-none-elf qemu-system-riscv32 qemu-system-misc; then
    conforms "RISC-V without atomics" virt riscv32imc-unknown-none-elf virt
fi

if [ "$ran" = 0 ]; then
    echo "mcu: skipped: nothing that it needs is here"
else
    echo "mcu: passed in $((SECONDS - begun)) s: $ran structures on a board agree"
fi
