#!/usr/bin/env python3
"""Flash, RAM and instructions of each structure without an allocator, on emulated boards.

    ci/mcu.py                 prints the table
    ci/mcu.py --save          writes records/microcontroller.csv, .txt and .svg
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
import re
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
FAMILIES = ["list", "flat-bounded", "heap2-bounded", "heap4-bounded", "rb", "rb-cached", "avl", "wheel-tiny",
            "wheel-small", "wheel", "coarse"]
OPERATIONS = ["insert", "re-arm", "abort", "fire", "next wake", "look"]
SIZES = [1, 4, 16, 64]
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
    return rows + measure_embassy()


def measure_embassy():
    """Rows of Embassy's tasks: instructions of a wake-up, and of each function of the queue."""
    name, target, machine = PROCESSORS[0]
    rows = []
    for level in LEVELS:
        for folder, structure in EMBASSY:
            program = build(target, level, "embassy", folder=f"embassy/{folder}")
            costs = [fields for kind, *fields in emulate(machine, program) if kind == "cost"]
            if [(n, what) for n, what, *_ in costs] != [(str(n), what) for n in TASKS for what in WAKES]:
                sys.exit(f"mcu: {program}: not the costs of {TASKS} tasks: {costs}")
            for n, what, mean, worst in costs:
                rows.append(["instructions", name, level, structure, n, what, mean, worst])
    return rows


def tables(rows):
    value = {tuple(row[:6]): row[6:] for row in rows}
    lines = ["Structures without an allocator on emulated microcontrollers: instructions, not cycles.",
             compilers(), ""]
    for name, _, _ in PROCESSORS:
        for level in LEVELS:
            lines.append(f"{name}, opt-level {level}: instructions of a call, mean / worst, at n = 1, 4, 16, 64 timers")
            lines.append(f"  {'':13}" + "".join(f"{operation:>44}" for operation in OPERATIONS[:4]).rstrip())
            for family in FAMILIES:
                cells = []
                for operation in OPERATIONS[:4]:
                    for n in SIZES:
                        cell = value.get(("instructions", name, level, family, str(n), operation), ["-"])
                        cells.append(f"{'/'.join(cell):>11}")
                lines.append(f"  {family:13}" + "".join(cells))
            lines.append("")
    name = PROCESSORS[0][0]
    lines.append(f"{name}: bytes beyond the program without a queue, with twenty timers; and of one timer")
    lines.append(f"  {'':13}{'flash, s':>10}{'flash, 3':>10}{'RAM':>10}{'timer':>10}")
    for family in FAMILIES:
        cells = [value["bytes", name, "s", family, "20", "flash"], value["bytes", name, "3", family, "20", "flash"],
                 value["bytes", name, "s", family, "20", "RAM"], value["bytes", name, "s", family, "64", "timer"]]
        lines.append(f"  {family:13}" + "".join(f"{cell[0]:>10}" for cell in cells))
    name = PROCESSORS[0][0]
    for level in LEVELS:
        lines += ["", f"{name}, opt-level {level}: Embassy's tasks, over its own queue and over ours: instructions, "
                  f"mean / worst, at {', '.join(map(str, TASKS))} tasks"]
        lines.append(f"  {'':20}" + "".join(f"{what:>44}" for what in WAKES))
        for _, structure in EMBASSY:
            cells = [value["instructions", name, level, structure, str(n), what] for what in WAKES for n in TASKS]
            lines.append(f"  {structure:20}" + "".join(f"{'/'.join(cell):>11}" for cell in cells))
    lines += ["", "The worst critical section of a queue is the worst of its calls."]
    lines.append(f"{name}, opt-level s: the worst call of each structure, in instructions")
    lines.append(f"  {'n':13}" + "".join(f"{n:>10}" for n in SIZES))
    for family in FAMILIES:
        lines.append(f"  {family:13}" + "".join(f"{worst(value, name, 's', family, n):>10}" for n in SIZES))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def worst(value, name, level, family, n):
    """The most instructions that one call takes with interrupts masked."""
    found = [value.get(("instructions", name, level, family, str(n), operation)) for operation in OPERATIONS]
    return max(int(cell[1]) for cell in found if cell)


def compilers():
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    qemu = subprocess.run(["qemu-system-arm", "--version"], capture_output=True, text=True, check=True).stdout
    return f"rustc {rustc}, LTO, one codegen unit; QEMU {re.search(r'version ([0-9.]+)', qemu).group(1)}."


COLORS = ["#1b6ca8", "#b5541c", "#2e7d32", "#8e2f8e", "#5d4037", "#c2185b"]
SHOWN = ["list", "flat-bounded", "heap4-bounded", "rb-cached", "wheel-tiny", "wheel"]


def picture(rows):
    """Four panels, one an operation: mean instructions over n, axes doubling; Cortex-M3 at "s"."""
    value = {tuple(row[:6]): row[6:] for row in rows}
    name, level, width, height = PROCESSORS[0][0], "s", 230, 190
    low, high = 4, 11

    def x(at):
        return 40 + at * (width - 70) / (len(SIZES) - 1)

    def y(count):
        return 30 + (high - min(max(count.bit_length() - 1 + count / (1 << (count.bit_length() - 1)) - 1, low), high)) \
            * (height - 60) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * 4} {height + 50}" font-family="sans-serif"'
             ' font-size="11">',
             f'<rect width="{width * 4}" height="{height + 50}" fill="white"/>']
    for column, operation in enumerate(OPERATIONS[:4]):
        parts.append(f'<g transform="translate({column * width} 0)"><text x="40" y="18" font-size="13">{operation}: '
                     'instructions</text>')
        for power in range(low, high + 1):
            level_y = y(1 << power)
            parts.append(f'<line x1="40" x2="{width - 30}" y1="{level_y:.1f}" y2="{level_y:.1f}" stroke="#ddd"/>'
                         f'<text x="35" y="{level_y + 4:.1f}" text-anchor="end">{1 << power}</text>')
        for at, n in enumerate(SIZES):
            parts.append(f'<text x="{x(at):.1f}" y="{height - 12}" text-anchor="middle">{n}</text>')
        for color, family in zip(COLORS, SHOWN):
            points = []
            for at, n in enumerate(SIZES):
                cell = value.get(("instructions", name, level, family, str(n), operation))
                if cell:
                    points.append(f"{x(at):.1f},{y(int(cell[0])):.1f}")
            parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append("</g>")
    for at, (color, family) in enumerate(zip(COLORS, SHOWN)):
        left = 40 + at * 140
        parts.append(f'<line x1="{left}" x2="{left + 18}" y1="{height + 12}" y2="{height + 12}" stroke="{color}" '
                     f'stroke-width="3"/><text x="{left + 24}" y="{height + 16}">{family}</text>')
    parts.append(f'<text x="40" y="{height + 40}">n timers are pending; {name}, opt-level "{level}", mean of a call. '
                 'Emulated: instructions, not cycles.</text></svg>')
    return "\n".join(parts) + "\n"


HEADER = ["what", "processor", "level", "structure", "n", "of", "mean", "worst"]


def compare(rows, path):
    with open(path, newline="") as file:
        before = {tuple(row[:6]): row[6:] for row in list(csv.reader(file))[1:]}
    if not before:
        sys.exit(f"mcu: {path} has no rows: write it with --save")
    grown = compared = 0
    for row in rows:
        # The mean, and the worst call where there is one.
        for what, old, new in zip(HEADER[6:], before.get(tuple(row[:6]), []), row[6:]):
            if not old or not new:
                continue
            compared += 1
            if int(new) > int(old) * ALLOWED + 1:
                grown += 1
                print(f"mcu: {' '.join(row[:6])}, {what}: {old} -> {new}")
    measured = {tuple(row[:6]) for row in rows}
    missing, unknown = set(before) - measured, measured - set(before)
    if missing:
        print(f"mcu: {len(missing)} rows of {path} were not measured")
    if unknown:
        print(f"mcu: {path} lacks {len(unknown)} rows that were measured: write it with --save")
    print(f"mcu: {grown} of {compared} figures grew by more than 2 percent")
    return 1 if grown or missing or unknown else 0


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
    text = tables(rows)
    print(text, end="")
    if arguments.save:
        with open(ROOT / "records" / "microcontroller.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
        (ROOT / "records" / "microcontroller.txt").write_text(text)
        (ROOT / "records" / "microcontroller.svg").write_text(picture(rows))


main()
