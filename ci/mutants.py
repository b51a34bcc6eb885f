"""Runs a sample of mutants against the tests: `ci/mutants.sh --help` lists the arguments.

A mutant is the source with one small mistake. cargo-mutants lists the mistakes that it can make;
`pools` adds what it cannot: a weaker memory ordering, a missing fence, a missing statement.
The sample is random with a fixed seed and takes at most one mutant per place.

All mutants are compiled together. Each function that has mutants gets one arm per mutant:
`match crate::mutation::number() { 17 => { the broken body } _ => { the body } }`.
The environment variable MUTANT chooses the arm when a test binary starts. A mutant that the
compiler rejects is found by the line of the error. Mutants in a `const fn` are not sampled,
because a constant function cannot read the number.

The script works on a copy of HEAD. It appends each verdict to a CSV file at once, and a second
start goes on where the first ended. The order of the suites is from quick to slow.
"""
import argparse
import collections
import csv
import functools
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import time

SEED = 20261121
ROOT = pathlib.Path.cwd()
# The models of loom; the lab's models are workloads.
SKIP = re.compile(r"/(tests|testing|mutants|ghost|faulty)(\.rs|/)|(?<!-lab/src)/models(\.rs|/)")
ORDERED = r"(?<!fence\()Ordering::(Acquire|Release|AcqRel|SeqCst)\b"
FENCE = r"^ +fence\(.*\);$"
# One line: an assignment, or a call whose result is not used.
STATEMENT = (
    r"^ +(?!\.|let |return|use |pub|const|debug_assert|assert|break|continue|fence)"
    r"[\w.*:\[\]]+( [-+|&^*]?= .*|\(.*\));$"
)
MUTATION = """//! Which mutant runs: the environment variable MUTANT, read before `main`.
#![allow(unsafe_code)]
extern crate std;
static NUMBER: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;
extern "C" fn init() {
    let chosen = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
    NUMBER.store(chosen.unwrap_or(0), core::sync::atomic::Ordering::Relaxed);
}
#[inline]
pub(crate) fn number() -> u32 {
    NUMBER.load(core::sync::atomic::Ordering::Relaxed)
}
"""
NODES, CORE = "tickwright-nodes", "tickwright-core"
TICK, THREADS = "tickwright", "tickwright-threads"
LAB, MEASURE, TRACE = "tickwright-lab", "tickwright-measure", "tickwright-trace"
# name: package, test targets, loom or not. A name is what the table of verdicts shows.
SUITES = {
    "nodes lib": (NODES, "lib", False),
    "core lib": (CORE, "lib", False),
    "core tests": (CORE, "slab hook hook_abort alloc_failure", False),
    "conformance": (
        "tickwright-testkit",
        "no_allocation corpus panic_safety in_order bounded dictionary properties agreement"
        " boundaries renumbering exhaustive conformance coarse geometries",
        False,
    ),
    "lib": (TICK, "lib", False),
    "shard tests": (TICK, "shard shard_alarm shard_driven shard_table shard_stress", False),
    "call tests": (
        TICK,
        "scheduler scheduler_hour scheduler_threads service service_alarm service_edges"
        " service_host service_model service_pass service_counts service_work driver_ends"
        " timer_fd fork",
        False,
    ),
    "loom": (
        TICK,
        "loom_alarm loom_driver loom_migrate loom_rearm loom_scheduler loom_specimens",
        True,
    ),
    "loom lib": (TICK, "lib", True),
    "threads lib": (THREADS, "lib", False),
    # tests/limits.rs is left out: some of its tests fail now and then beside other work.
    "threads tests": (
        THREADS,
        "conformance sync host hostile locks stacks descriptors unwinding forks faults clocks"
        " turns idle across last_moments payloads no_memory scheduler",
        False,
    ),
    "threads loom": (THREADS, "lib", True),
    "lab lib": (LAB, "lib", False),
    "measure lib": (MEASURE, "lib", False),
    "trace lib": (TRACE, "lib", False),
    "trace tests": (TRACE, "profile files sources kernel strace chrome corpus", False),
}
# area: package, files, mutants by cargo-mutants, orderings and fences, statements, suites.
AREAS = {
    "nodes": (
        NODES,
        "(arena|hook|chain|tree)",
        30,
        2,
        8,
        ["nodes lib", "core lib", "core tests", "conformance"],
    ),
    "core": (CORE, "(family|storage)/", 90, 0, 20, ["core lib", "core tests", "conformance"]),
    "shard": (TICK, "shard/", 35, 8, 8, ["lib", "shard tests", "loom", "loom lib", "call tests"]),
    "calls": (
        TICK,
        "(scheduler|service|driver/parker)",
        40,
        8,
        8,
        ["lib", "call tests", "shard tests", "loom"],
    ),
    "threads": (
        THREADS,
        "(many|join_word|park_word|wake_flags|wait|record|roster|here)",
        40,
        16,
        10,
        ["threads lib", "threads tests", "threads loom"],
    ),
    # What a verdict on a program rests on: replay, judge, recommendation and the tour's advice.
    "verdicts": (
        LAB,
        "(traces/(recommend|replay|decode|steps)|models/verify|tour/advice)",
        82,
        0,
        16,
        ["lab lib"],
    ),
    # What people read as figures: statistics and comparisons, and the traces that they rest on.
    "measure": (MEASURE, "(stats|rounds|result/compare)", 24, 0, 4, ["measure lib"]),
    "trace": (
        TRACE,
        "(import|profile|reader|writer|columns|text)",
        30,
        0,
        6,
        ["trace lib", "trace tests"],
    ),
}
# Programs that say something about one file only.
ABOUT = {"coarse": "coarse_wheel", "geometries": "wheel/", "renumbering": "dary_heap"}
# Suites that take longer: they judge what the others let pass, at the end.
SLOW = {"conformance", "loom", "threads loom"}
MODELS_ONLY = {"loom lib": ["models"], "threads loom": ["models"]}
# The tests of the lab that judge these areas; the others time experiments.
MODELS_ONLY["lab lib"] = ["traces::", "models::verify", "tour::"]
FIELDS = "area file line column function what end replacement text"
Mutant = collections.namedtuple("Mutant", FIELDS)


@functools.cache
def bodies(path):
    """The functions of a file: name, offset of `{`, offset after `}`, whether not constant."""
    text = path.read_text()
    literal = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'"
    bare = re.sub(literal, lambda hit: re.sub(r"[^\n]", " ", hit[0]), text, flags=re.S)
    found = []
    for head in re.finditer(r"(\bconst (?:unsafe )?)?\bfn (\w+)", bare):
        at = head.end()
        # A `{` after `<` or `,` inside `<>` is an argument of a type; a `;` ends a declaration.
        while at < len(bare) and bare[at] != ";":
            if bare[at] == "[":
                at = bare.index("]", at)
            if bare[at] == "{" and bare[:at].rstrip()[-1] != "<":
                depth, end = 1, at + 1
                while depth:
                    depth += {"{": 1, "}": -1}.get(bare[end], 0)
                    end += 1
                found.append((head[2], at, end, head[1] is None))
                break
            at += 1
    return found


def offset(text, line, column):
    return sum(len(x) for x in text.splitlines(keepends=True)[: line - 1]) + column - 1


def function_at(file, text, line, column, end):
    at, past = offset(text, line, column), offset(text, *end)
    inside = [f for f in bodies(ROOT / file) if f[1] < at and past < f[2]]
    return inside[-1] if inside and inside[-1][3] else None


def pools(area):
    """Three lists: by cargo-mutants, orderings and fences, statements."""
    package, files, *_ = AREAS[area]
    inside = re.compile(f"crates/{package}/src/{files}")
    command = ["cargo", "mutants", "--list", "--json", "-p", package]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    drawn = ([], [], [])
    for m in listed:
        if inside.match(m["file"]) and not SKIP.search(m["file"]):
            start, end = m["span"]["start"], m["span"]["end"]
            what = m["name"].split(": ", 1)[1]
            place = (start["line"], start["column"], what, (end["line"], end["column"]))
            drawn[0].append((m["file"], *place, m["replacement"]))
    for path in sorted(ROOT.glob(f"crates/{package}/src/**/*.rs")):
        name = str(path.relative_to(ROOT))
        if not inside.match(name) or SKIP.search(name):
            continue
        # Tests that stand in the file itself are its last part.
        own, *_ = path.read_text().split("\nmod tests {")
        for number, line in enumerate(own.splitlines(), 1):
            for pool, pattern, what, new in (
                (1, ORDERED, "replace {} with Ordering::Relaxed", "Ordering::Relaxed"),
                (1, FENCE, "delete {}", ""),
                (2, STATEMENT, "delete {}", ""),
            ):
                for hit in re.finditer(pattern, line):
                    span = (number, hit.start() + 1, what.format(hit[0].strip()))
                    drawn[pool].append((name, *span, (number, hit.end() + 1), new))
    for pool in drawn:
        known = []
        for file, line, column, what, end, new in pool:
            text = (ROOT / file).read_text()
            function = function_at(file, text, line, column, end)
            head = text[: function[1]].rsplit("\n\n", 1)[-1] if function else "#[cfg(test)]"
            if "#[cfg(test)]" not in head:
                source = text.splitlines()[line - 1].strip()
                known.append(Mutant(area, file, line, column, function[0], what, end, new, source))
        yield known


def sample(area):
    rng = random.Random(f"{SEED} {area}")
    for wanted, pool in zip(AREAS[area][2:5], pools(area)):
        places = collections.defaultdict(list)
        for m in pool:
            places[m[1:4]].append(m)
        print(f"{area}: {len(pool)} mutants at {len(places)} places, {wanted} wanted", flush=True)
        for place in rng.sample(sorted(places), min(wanted, len(places))):
            yield rng.choice(places[place])


def plant(tree, mutants, dropped):
    """Writes all mutants into the copy; returns which lines of it belong to which mutant."""
    lines = {}
    for file in sorted({m.file for m in mutants.values()}):
        text = (ROOT / file).read_text()
        by_function = collections.defaultdict(list)
        for number, m in mutants.items():
            if m.file == file and number not in dropped:
                at = function_at(file, text, m.line, m.column, m.end)
                by_function[at[1:3]].append((number, m))
        new, marks = text, []
        for (begin, end), here in sorted(by_function.items(), reverse=True):
            arms = ""
            for number, m in here:
                first, past = (offset(text, *x) for x in ((m.line, m.column), m.end))
                broken = text[begin:first] + m.replacement + text[past:end]
                arms += f"\n/*{number}*/ {number} => {broken}"
            arms += f"\n/*0*/ _ => {text[begin:end]}"
            body = f"{{ match crate::mutation::number() {{{arms} }} }}"
            new = new[:begin] + body + new[end:]
        owner = 0
        for index, line in enumerate(new.splitlines(), 1):
            mark = re.match(r"/\*(\d+)\*/", line)
            owner = int(mark[1]) if mark else owner
            lines[file, index] = owner
        if (tree / file).read_text() != new:
            (tree / file).write_text(new)
    for package in {AREAS[m.area][0] for m in mutants.values()}:
        source = tree / "crates" / package / "src"
        root = (ROOT / "crates" / package / "src/lib.rs").read_text()
        # The module that reads the number may have unsafe code.
        root = root.replace("#![forbid(unsafe_code)]", "#![deny(unsafe_code)]")
        for path, text in (("mutation.rs", MUTATION), ("lib.rs", root + "\nmod mutation;\n")):
            if not (source / path).exists() or (source / path).read_text() != text:
                (source / path).write_text(text)
    return lines


def environment(tree, loom, **more):
    target = str(tree.parent / ("loom" if loom else "plain"))
    env = {**os.environ, "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_TARGET_DIR": target, **more}
    if loom:
        release = {"LTO": "off", "CODEGEN_UNITS": "16", "DEBUG": "0", "OPT_LEVEL": "2"}
        env |= {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in release.items()}
        env["RUSTFLAGS"] = "--cfg loom"
    return env


def cargo(tree, verb, package, loom, *targets):
    """Runs cargo; returns its status, its messages and what it printed."""
    command = ["cargo", *verb, "-p", package, *targets, "--message-format=json"]
    command += ["--release"] if loom else []
    env = environment(tree, loom)
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, messages, done.stderr


def rejected(tree, mutants, dropped):
    """Plants the mutants and returns those that the compiler rejects."""
    lines = plant(tree, mutants, dropped)
    areas = {m.area for m in mutants.values()}
    for package, _, loom in sorted({SUITES[name] for area in areas for name in AREAS[area][5]}):
        if package != "tickwright-testkit":
            status, messages, stderr = cargo(tree, ["check"], package, loom, "--lib")
            bad = set()
            for message in messages:
                said = message.get("message") or {}
                if message["reason"] == "compiler-message" and said.get("level") == "error":
                    at = [(span["file_name"], span["line_start"]) for span in said["spans"]]
                    bad |= {lines.get(place, 0) for place in at}
            if status and not bad - {0}:
                raise SystemExit(f"{package} does not compile:\n{stderr[-3000:]}")
            if bad - {0}:
                return bad - {0}
    return set()


@functools.cache
def built(tree, name):
    """Builds the test binaries of a suite, and runs them without a mutant."""
    package, tests, loom = SUITES[name]
    targets = ["--lib" if test == "lib" else f"--test={test}" for test in tests.split()]
    status, messages, stderr = cargo(tree, ["test", "--no-run"], package, loom, *targets)
    if status:
        raise SystemExit(f"{name} does not compile:\n{stderr[-3000:]}")
    programs = [
        (m["executable"], os.path.dirname(m["manifest_path"]), m["target"]["name"])
        for m in messages
        if m["reason"] == "compiler-artifact" and m.get("executable")
    ]
    print("built", name, time.strftime("%T"), flush=True)
    for program in programs:
        if wrong := run(tree, program, SUITES[name], 0, MODELS_ONLY.get(name, [])):
            print("fails without a mutant:", name, *wrong, flush=True)
    print("passed unmutated", name, time.strftime("%T"), flush=True)
    return programs


def run(tree, program, suite, number, only=()):
    """Runs one test binary. A loop without end runs out of processor time, whatever the load."""
    path, folder, target = program
    package, _, loom = suite
    slow = loom or package == "tickwright-testkit"
    seconds, wall = (300, 1200) if slow else (20, 60)

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))

    child = subprocess.Popen(
        [path, *only],
        cwd=folder,
        env=environment(tree, loom, MUTANT=str(number), CARGO_MANIFEST_DIR=folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=limits,
    )
    try:
        output, _ = child.communicate(timeout=wall)
        status = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, status = child.communicate()[0], -signal.SIGXCPU
    if status == 0:
        return None
    failed = re.search(r"^test (\S+)[^\n]* \.\.\. (?:\S+ )?FAILED|^    ([\w:]+)$", output, re.M)
    failed = (failed[1] or failed[2]) if failed else output.strip().rsplit("\n", 1)[-1][:80]
    late = status in (-signal.SIGXCPU, -signal.SIGKILL)
    return "timeout" if late else "killed", f"{target}{' (loom)' if loom else ''}", failed


def judge(tree, m, number, slow):
    """The tests of the mutant's own module first: they are quick and notice most."""
    suites = AREAS[m.area][5]
    own = "::".join(pathlib.Path(m.file).with_suffix("").parts[3:]) + "::"
    plan = [] if slow else [(suites[0], [own])]
    plan += [(name, MODELS_ONLY.get(name, [])) for name in suites if (name in SLOW) == slow]
    for name, only in plan:
        order = SUITES[name][1].split()
        place = lambda program: order.index(program[2]) if program[2] in order else 0
        for program in sorted(built(tree, name), key=place):
            about = ABOUT.get(program[2], "") in m.file
            if about and (verdict := run(tree, program, SUITES[name], number, only)):
                return verdict
    return "survived", "", ""


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--areas", default=",".join(AREAS))
    args.add_argument("--again", metavar="CSV", help="only the survivors of an earlier run")
    args.add_argument("--out", default="target/mutants/verdicts.csv")
    args.add_argument("--dir", default="target/mutants", help="for the copy and its builds")
    args.add_argument("--part", default="0/1", help="i/n: every nth mutant, for n runs at once")
    args.add_argument("--list", action="store_true")
    args = args.parse_args()
    tree = ROOT / args.dir / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    revision = subprocess.getoutput("git rev-parse --short HEAD")
    stamp = tree.parent / "revision"
    if not stamp.exists() or stamp.read_text() != revision:
        subprocess.run(f"git archive HEAD | tar -x -C {tree}", shell=True, check=True)
        stamp.write_text(revision)
    print("revision", revision, "seed", SEED, flush=True)
    areas = args.areas.split(",")
    chosen = []
    for area in areas:
        if not args.again:
            chosen += sample(area)
            continue
        pool = [m for part in pools(area) for m in part]
        for old in csv.reader(open(args.again)):
            if old[0] == area and old[6] == "survived":
                line = int(old[2].split(":")[0])
                sought = [old[1], *old[3:6]]
                same = [m for m in pool if [m.file, m.function, m.what, m.text] == sought]
                if not same:
                    print("gone:", *old, sep=" | ")
                chosen += sorted(same, key=lambda m: abs(m.line - line))[:1]
    mutants = dict(enumerate(chosen, 1))
    row = lambda m: [m.area, m.file, f"{m.line}:{m.column}", m.function, m.what, m.text]
    if args.list:
        for m in mutants.values():
            print(*row(m), sep=" | ")
        return
    part, parts = map(int, args.part.split("/"))
    out, dropped = pathlib.Path(args.out), set()
    known = {tuple(r[:6]) for r in csv.reader(open(out))} if out.exists() else set()
    while bad := rejected(tree, mutants, dropped):
        dropped |= bad
        print("unbuildable:", sorted(bad), flush=True)
    for slow in (False, True):
        for number, m in mutants.items():
            if tuple(row(m)) in known or number % parts != part:
                continue
            begun, verdict = time.time(), ("unbuildable", "", "")
            if number not in dropped:
                verdict = judge(tree, m, number, slow)
            if slow or verdict[0] != "survived":
                known.add(tuple(row(m)))
                with open(out, "a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow([*row(m), *verdict])
            else:
                verdict = ("not yet killed", "", "")
            print(f"{time.time() - begun:4.0f} s", *verdict, *row(m), sep=" | ", flush=True)


main()
