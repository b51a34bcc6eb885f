#!/usr/bin/env python3
"""Tests and checks for other systems, and the table of PLATFORM.md.

Each cell of the table is a command of the list below. Without arguments all of them run; with targets
as arguments, theirs. `--table` compares the table with the list, `--save` writes it. A missing tool is
named, and its rows are skipped: exit code 77.
"""
import os, shutil, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WINE = "/usr/lib/wine/wine64"
# The columns, and the crates of each.
PARTS = {
    "queues, dictionaries": ["nodes", "core", "collections"],
    "clocks, scheduler, shards": [""],
    "futures": ["async"],
    "threads": ["threads"],
    "C library": ["capi"],
    "the command": ["lab"],
}
# System, target, tools that it needs, what runs its programs, and what is done for each column.
# test: all tests of the crates run. run: the command checks every structure. check: it compiles,
# without a warning of clippy. A cell that is absent is a dash.
ARM = ("aarch64-linux-gnu-gcc", "Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
ROWS = [
    ("Windows, x86-64", "x86_64-pc-windows-gnu",
     [("x86_64-w64-mingw32-gcc", "Debian: gcc-mingw-w64-x86-64-win32"), (WINE, "Debian: wine64")],
     "wine", ["test", "test", "test", None, "check", "run"]),
    ("Linux, 64-bit Arm", "aarch64-unknown-linux-gnu", [ARM], "", ["check", "check", "check", "check", "check", "check"]),
    ("macOS, 64-bit Arm", "aarch64-apple-darwin", [], "",
     ["check", "check", "check", None, "check", "check"]),
    ("FreeBSD, x86-64", "x86_64-unknown-freebsd", [], "",
     ["check", "check", "check", None, "check", "check"]),
    ("WebAssembly with WASI", "wasm32-wasip1", [("node", "Debian: nodejs")], "node",
     ["test", "check", "check", None, None, None]),
    ("WebAssembly in a page", "wasm32-unknown-unknown", [], "",
     ["check", "check", "check", None, None, None]),
]
# What other steps of the gate prove.
OTHERS = [
    ["Linux, x86-64", *["tested"] * 6],
    ["Cortex-M0, M3, M4, RISC-V", "tested (qemu)", "-", "Embassy, RTIC: tested (qemu)", "-", "-", "-"],
]


def table():
    word = {"test": "tested ({})", "run": "tested ({})", "check": "compiles", None: "-"}
    rows = [["system", *PARTS], ["---"] * (len(PARTS) + 1), OTHERS[0]]
    rows += [[name, *(word[cell].format(how) for cell in cells)] for name, _, _, how, cells in ROWS]
    rows.append(OTHERS[1])
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def environment(target, how):
    """What Cargo links with, and what runs a program of the target."""
    name = target.upper().replace("-", "_")
    env = dict(os.environ, CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=ARM[0], RUSTC_LINKER=ARM[0])
    if target != "aarch64-unknown-linux-gnu":
        del env["RUSTC_LINKER"]
    if how == "node":
        env[f"CARGO_TARGET_{name}_RUNNER"] = f"node --no-warnings {ROOT}/ci/wasi.mjs"
    elif how == "wine":
        folder = Path(env.get("CARGO_TARGET_DIR", ROOT / "target")) / "wine"
        folder.mkdir(parents=True, exist_ok=True)
        # Wine 8 lacks a library of Windows 10 that the standard library draws random numbers from.
        shim = folder / "bcryptprimitives.c"
        shim.write_text("#include <windows.h>\nBOOLEAN NTAPI SystemFunction036(PVOID, ULONG);\n"
                        "__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T length)\n"
                        "{ return SystemFunction036(to, (ULONG)length); }\n")
        subprocess.run(["x86_64-w64-mingw32-gcc", "-shared", "-o", folder / "bcryptprimitives.dll", shim, "-ladvapi32"], check=True)
        env |= {f"CARGO_TARGET_{name}_RUNNER": WINE, "WINEDEBUG": "-all", "WINEPREFIX": str(folder / "prefix"), "WINEPATH": str(folder)}
    return env


def commands(target, cells):
    """The commands of a row: one for each kind of cell."""
    packages = lambda kind: [f"-ptickwright{'-' if crate else ''}{crate}" for crates, cell in zip(PARTS.values(), cells) if cell == kind for crate in crates]
    cargo = lambda verb, *rest: ["cargo", verb, "-q", "--target", target, *rest]
    if tested := packages("test"):
        yield cargo("test", "--lib", "--tests", *tested)
    if checked := packages("check") + packages("run"):
        yield cargo("clippy", *checked, "--", "-D", "warnings")
    if packages("run"):
        yield cargo("run", "-p", "tickwright-lab", "--", "check")


def main(arguments):
    page = ROOT / "PLATFORM.md"
    before, _, rest = page.read_text().partition("| system |")
    after = rest[rest.index("\n\n"):]
    if "--save" in arguments:
        page.write_text(before + table().rstrip("\n") + after)
    elif before + table().rstrip("\n") + after != page.read_text():
        sys.exit("platforms: the table of PLATFORM.md is not that of the list (ci/platforms.py --save)")
    if arguments in (["--save"], ["--table"]):
        return
    installed = subprocess.run(["rustup", "target", "list", "--installed"], capture_output=True, text=True).stdout.split()
    skipped = 0
    for name, target, tools, how, cells in ROWS:
        if arguments and target not in arguments:
            continue
        missing = [f"{tool} ({where})" for tool, where in tools if not shutil.which(tool)]
        missing += [] if target in installed else [f"the target (rustup target add {target})"]
        if missing:
            print(f"platforms: skipped: {name}: no {', no '.join(missing)}")
            skipped += 1
            continue
        env = environment(target, how)
        for command in commands(target, cells):
            print(f"platforms: {name}: {' '.join(command)}", flush=True)
            subprocess.run(command, cwd=ROOT, env=env, check=True)
    sys.exit(77 if skipped else 0)


try:
    main(sys.argv[1:])
except subprocess.CalledProcessError as error:
    sys.exit(f"platforms: failed: {' '.join(map(str, error.cmd))}")
