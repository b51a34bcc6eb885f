#!/usr/bin/env python3
"""Flash, RAM and instructions of each structure without an allocator, on emulated boards.

    ci/mcu.py                 prints the CSV, of which `benches mcu --file CSV` makes tables and a
                              plot
    ci/mcu.py --save          writes records/microcontroller.csv
    ci/mcu.py --compare FILE  exit code 1 if a mean or worst count grew by more than 2 percent over
                              that CSV

The emulator lets 128 ns pass for each instruction (`-icount shift=7`), and the program reads a
counter of the board around each call. So a count is one of instructions: it is the same on each
run and on each machine with the same compiler, and it is not one of cycles. The emulator knows no
wait states, no pipeline and no bus.
Needs what `ci/mcu.sh` needs.
"""

import argparse
import csv
import os
import pathlib
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRMWARE = ROOT / "firmware"
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "mcu"
# Name, target, machine. Code for the M0 runs on the M3: the M0 board has no RAM for 64 timers of
# each structure.
PROCESSORS = [
    ("Cortex-M3", "thumbv7m-none-eabi", "mps2-an385"),
    ("Cortex-M0 code", "thumbv6m-none-eabi", "mps2-an385"),
    ("RV32IMC", "riscv32imc-unknown-none-elf", "virt"),
]
LEVELS = ["3", "s"]
# The program of Embassy's tasks over its own queue and over ours: folder, name in the record. They
# run on the first processor.
EMBASSY = [("theirs", "embassy"), ("ours", "tickwright-embassy")]
WAKES = ["wake-up", "schedule wake", "next expiration"]
TASKS = [1, 8, 16, 32]
FAMILIES = ["list", "flat-bounded", "heap2-bounded", "heap4-bounded", "rb", "rb-cached", "wheel-tiny",
            "wheel-small", "wheel", "coarse"]
ALLOWED = 1.02


def build(target, level, program, family=None, folder="."):
    environment = dict(os.environ, CARGO_TARGET_DIR=str(BUILT), CARGO_INCREMENTAL="0",
                       CARGO_PROFILE_RELEASE_OPT_LEVEL=level)
    for flag in ["RUSTFLAGS", "TICKWRIGHT_BOARD", "TICKWRIGHT_PART", "TICKWRIGHT_FAMILY"]:
        environment.pop(flag, None)
    if family:
        environment["TICKWRIGHT_FAMILY"] = family
    command = ["cargo", "build", "-q", "--release", "--locked", "--target", target, "--bin", program]
    subprocess.run(command, check=True, cwd=FIRMWARE / folder, env=environment)
    return BUILT / target / "release" / program


def emulate(machine, program):
    qemu = ["qemu-system-riscv32", "-bios", "none"] if machine == "virt" else ["qemu-system-arm"]
    command = [*qemu, "-machine", machine, "-nographic", "-monitor", "none", "-serial", "none", "-icount",
               "shift=7,sleep=off", "-semihosting-config", "enable=on,target=native", "-kernel", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=1200)
    if done.returncode != 0 or not done.stdout.rstrip().endswith("right,true"):
        sys.exit(f"mcu: {machine} {program}: exit code {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}")
    return [line.split(",") for line in done.stdout.splitlines()]


def sections(program):
    """Bytes of flash and of RAM, from the section headers of an ELF file of 32 bits."""
    data = program.read_bytes()
    if data[:5] != b"\x7fELF\x01":
        sys.exit(f"mcu: {program} is no ELF file of 32 bits")
    table, = struct.unpack_from("<I", data, 32)
    size, count = struct.unpack_from("<HH", data, 46)
    flash = ram = 0
    for at in range(count):
        _, kind, flags, _, _, length = struct.unpack_from("<6I", data, table + at * size)
        allocated, writable, zeros = flags & 2, flags & 1, kind == 8
        if allocated and not zeros:
            flash += length
        if allocated and writable:
            ram += length
    return flash, ram


def measure():
    """Rows of one CSV: what, processor, level, structure, n, operation, mean or bytes, worst."""
    rows = []
    for name, target, machine in PROCESSORS:
        for level in LEVELS:
            for kind, *fields in emulate(machine, build(target, level, "measure")):
                if kind == "cost":
                    structure, n, operation, mean, worst = fields
                    rows.append(["instructions", name, level, structure, n, operation, mean, worst])
                elif kind == "bytes" and level == "s":
                    structure, queue, timer = fields
                    rows.append(["bytes", name, level, structure, "64", "queue", queue, ""])
                    rows.append(["bytes", name, level, structure, "64", "timer", timer, ""])
    name, target, _ = PROCESSORS[0]
    for level in LEVELS:
        none = sections(build(target, level, "size", "none"))
        for family in FAMILIES:
            flash, ram = sections(build(target, level, "size", family))
            rows.append(["bytes", name, level, family, "20", "flash", str(flash - none[0]), ""])
            rows.append(["bytes", name, level, family, "20", "RAM", str(ram - none[1]), ""])
    name, target, machine = PROCESSORS[0]
    for level in LEVELS:
        for folder, structure in EMBASSY:
            program = build(target, level, "embassy", folder=f"embassy/{folder}")
            costs = [fields for kind, *fields in emulate(machine, program) if kind == "cost"]
            if [(n, what) for n, what, *_ in costs] != [(str(n), what) for n in TASKS for what in WAKES]:
                sys.exit(f"mcu: {program}: not the costs of {TASKS} tasks: {costs}")
            rows += [["instructions", name, level, structure, *cost] for cost in costs]
    return rows


HEADER = ["what", "processor", "level", "structure", "n", "of", "mean", "worst"]


def compare(rows, path):
    """Whether a figure grew, or the file has other rows: the exit code."""
    with open(path, newline="") as file:
        before = {tuple(row[:6]): row[6:] for row in list(csv.reader(file))[1:]}
    after = {tuple(row[:6]): row[6:] for row in rows}
    wrong = [f"{' '.join(key)}: in one of both alone" for key in before.keys() ^ after.keys()]
    for key in before.keys() & after.keys():
        # The mean, and the worst call where there is one.
        pairs = [(int(old), int(new)) for old, new in zip(before[key], after[key]) if old and new]
        wrong += [f"{' '.join(key)}: {old} -> {new}" for old, new in pairs if new > old * ALLOWED + 1]
    print("\n".join(sorted(wrong)) or f"mcu: none of {len(before)} rows grew by more than 2 percent")
    return bool(wrong) or not before


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the records")
    parser.add_argument("--compare", metavar="FILE", help="a CSV that --save wrote")
    arguments = parser.parse_args()
    for tool in ["qemu-system-arm", "qemu-system-riscv32"]:
        if not shutil.which(tool):
            sys.exit(f"mcu: no {tool} (Debian: apt-get install qemu-system-arm qemu-system-misc)")
    rows = measure()
    if arguments.compare:
        sys.exit(compare(rows, arguments.compare))
    with open(ROOT / "records" / "microcontroller.csv", "w", newline="") if arguments.save else sys.stdout as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


main()
