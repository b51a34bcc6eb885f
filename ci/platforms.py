#!/usr/bin/env python3
"""Tests and checks for other systems, and the table of PLATFORM.md.

Each cell of the table is a command of the list below. Without arguments all of them run; with
targets as arguments, theirs. `--table` compares the table with the list, `--save` writes it. A
missing tool is named, and its rows are skipped: exit code 77.
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
# page: a program that calls each part runs in node and in a browser.
ARM = ("aarch64-linux-gnu-gcc", "Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
QEMU = "qemu-aarch64 -L /usr/aarch64-linux-gnu"
# Tests that an emulator cannot run. Under qemu, a C program of ten lines shows each reason.
LEFT_OUT = {
    "qemu": [
        # Under qemu 7.2 a child that was forked beside other threads ends when it starts a thread.
        "the_driver_of_a_shard_is_the_parents",
        "the_thread_of_a_scheduler_is_the_parents",
        "a_child_starts_a_runtime_while_others_end",
        "a_forked_child_has_no_threads",
        # It ignores the limit of the address space (RLIMIT_AS) that these tests set.
        "what_the_host_does_not_give_is_refused",
        "the_platform_runs_out_in_the_middle",
        "a_body_that_is_dropped_instead_of_run_may_ask_and_panic",
        # Its /proc/self/maps lacks mappings while another thread unmaps memory.
        "a_guard_is_there_when_it_is_asked_for",
        # It keeps 280 KiB for each thread that has ended.
        "ten_thousand_threads_leave_nothing",
    ],
    # Under wine there is no C compiler, which these tests call.
    "wine": ["a_c_compiler_confirms_signatures_numbers_and_sizes", "mistakes_with_types_do_not_compile"],
}
# The C tests that need nothing of POSIX, and per runner the C compiler, what runs a program, and
# what a static library of Rust needs.
C_TESTS = "callbacks heap odict order sched_misuse sched_order sched_states states".split()
C_BUILDS = {
    "wine": ("x86_64-w64-mingw32-gcc", [WINE], "-lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp".split()),
    "qemu": (ARM[0], QEMU.split(), ["-pthread", "-ldl", "-lm"]),
}
ROWS = [
    ("Windows, x86-64", "x86_64-pc-windows-gnu",
     [("x86_64-w64-mingw32-gcc", "Debian: gcc-mingw-w64-x86-64-win32"), (WINE, "Debian: wine64")],
     "wine", ["test", "test", "test", "test", "test", "run"]),
    ("Linux, 64-bit Arm", "aarch64-unknown-linux-gnu", [ARM, ("qemu-aarch64", "Debian: qemu-user")],
     "qemu", ["test", "test", "test", "test", "test", "run"]),
    ("macOS, 64-bit Arm", "aarch64-apple-darwin", [], "",
     ["check", "check", "check", "check", "check", "check"]),
    ("FreeBSD, x86-64", "x86_64-unknown-freebsd", [], "",
     ["check", "check", "check", "check", "check", "check"]),
    ("WebAssembly with WASI", "wasm32-wasip1", [("node", "Debian: nodejs")], "node",
     ["test", "check", "check", None, None, None]),
    ("WebAssembly in a page", "wasm32-unknown-unknown",
     [("node", "Debian: nodejs"), ("chromium", "Debian: chromium"), ("wasm-bindgen", "ci/tools.sh all")],
     "node, Chromium", ["page", "page", "page", None, None, None]),
]
# 50 waits by a timerfd, each of which is moved once before it is due.
RECORDED = """#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
int main(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec far = { {0, 0}, {5, 0} }, near = { {0, 0}, {0, 2000000} };
    for (int n = 0; n < 50; n++) {
        uint64_t rung;
        timerfd_settime(fd, 0, &far, 0);
        timerfd_settime(fd, 0, &near, 0);
        struct pollfd asked = { fd, POLLIN, 0 };
        if (poll(&asked, 1, 10000) != 1 || read(fd, &rung, 8) != 8) return 1;
    }
    return close(fd);
}
"""
# What other steps of the gate prove.
OTHERS = [
    ["Linux, x86-64", *["tested"] * 6],
    ["Cortex-M0, M3, M4, RISC-V", "tested (qemu)", "-", "Embassy, RTIC: tested (qemu)", "-", "-", "-"],
]


def table():
    word = {"test": "tested ({})", "run": "tested ({})", "page": "tested ({})", "check": "compiles", None: "-"}
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
    env["PATH"] = f"{ROOT}/target/tools/bin:{env['PATH']}"
    if how == "qemu":
        env |= {f"CARGO_TARGET_{name}_RUNNER": QEMU, "TICKWRIGHT_EMULATOR": QEMU}
    elif how == "node, Chromium":
        env[f"CARGO_TARGET_{name}_RUNNER"] = f"node {ROOT}/ci/page.mjs"
    elif how == "node":
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


def commands(target, how, cells):
    """The commands of a row: one for each kind of cell."""
    packages = lambda kind: [f"-ptickwright{'-' if crate else ''}{crate}" for crates, cell in zip(PARTS.values(), cells) if cell == kind for crate in crates]
    cargo = lambda verb, *rest: ["cargo", verb, "-q", "--target", target, *rest]
    if tested := packages("test"):
        skipped = [word for name in LEFT_OUT.get(how, []) for word in ("--skip", name)]
        yield cargo("test", "--lib", "--tests", *tested, *(["--", *skipped] if skipped else []))
    if checked := packages("check") + packages("run") + packages("page"):
        yield cargo("clippy", *checked, "--", "-D", "warnings")
    if packages("page"):
        page = ["-p", "tickwright-async", "--test", "page"]
        yield cargo("clippy", "-p", "tickwright-async", "--features", "web", "--test", "page", "--example", "page", "--", "-D", "warnings")
        yield cargo("test", *page)
        yield cargo("test", *page, "--features", "web")
    if packages("run"):
        yield cargo("run", "-p", "tickwright-lab", "--", "check")


def kqueue():
    """The alarm of macOS and FreeBSD runs here over a model of a kqueue."""
    folder = f"{os.environ.get('CARGO_TARGET_DIR', ROOT / 'target')}/kqueue"
    env = dict(os.environ, RUSTFLAGS="--cfg tickwright_kqueue", CARGO_TARGET_DIR=folder)
    tests = ["timer_fd", "the_child_has_a_descriptor_of_its_own"]
    command = ["cargo", "test", "-q", "-p", "tickwright", "--lib", "--test", "fork", "--", *tests]
    print(f"platforms: kqueue: {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=ROOT, env=env, check=True)


def c_tests(target, how, env):
    """Builds tests of the C library with a compiler for the target, and runs them."""
    compiler, runner, libraries = C_BUILDS[how]
    capi, folder = ROOT / "crates/c/tickwright-capi", Path(env.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = folder / target / "debug"
    subprocess.run(["cargo", "build", "-q", "-p", "tickwright-capi", "--target", target], cwd=ROOT, env=env, check=True)
    for name in C_TESTS:
        print(f"platforms: {target}: ctest/{name}.c", flush=True)
        program = built / f"{name}.exe"
        source = [capi / f"ctest/{name}.c", f"-I{capi / 'include'}", f"-I{capi / 'ctest'}", f"-L{built}"]
        subprocess.run([compiler, "-std=c11", "-Wall", "-Werror", "-o", program, *source, "-l:libtickwright_c.a", *libraries], check=True)
        subprocess.run([*runner, program], env=env, check=True, timeout=120)


def record(target, env):
    """Records a program under the emulator: its loader loads the library, and nothing is lost."""
    folder = Path(env.get("CARGO_TARGET_DIR", ROOT / "target")) / target
    (folder / "recorded.c").write_text(RECORDED)
    subprocess.run([ARM[0], "-o", folder / "recorded", folder / "recorded.c"], check=True)
    emulator = [shutil.which(QEMU.split()[0]), *QEMU.split()[1:]]
    command = [*emulator, folder / "debug/tickwright", "record", "-o", folder / "recorded.twt", "--", *emulator, folder / "recorded"]
    print("platforms: record under qemu", flush=True)
    said = subprocess.run(command, env=env, capture_output=True, text=True).stderr
    if "timerfd 150, poll 100" not in said or "tickwright: 0 records lost" not in said:
        sys.exit(f"platforms: failed: 150 records of a timerfd and 100 of poll were expected:\n{said}")


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
    skipped, tools_path = 0, f"{ROOT}/target/tools/bin:{os.environ['PATH']}"
    for name, target, tools, how, cells in ROWS:
        if arguments and target not in arguments:
            continue
        missing = [f"{tool} ({where})" for tool, where in tools if not shutil.which(tool, path=tools_path)]
        missing += [] if target in installed else [f"the target (rustup target add {target})"]
        if missing:
            print(f"platforms: skipped: {name}: no {', no '.join(missing)}")
            skipped += 1
            continue
        env = environment(target, how)
        for command in commands(target, how, cells):
            print(f"platforms: {name}: {' '.join(command)}", flush=True)
            subprocess.run(command, cwd=ROOT, env=env, check=True)
        if how == "qemu":
            record(target, env)
        if how in C_BUILDS:
            c_tests(target, how, env)
        if target == "x86_64-unknown-freebsd":
            kqueue()
    sys.exit(77 if skipped else 0)


try:
    main(sys.argv[1:])
except subprocess.CalledProcessError as error:
    sys.exit(f"platforms: failed: {' '.join(map(str, error.cmd))}")
