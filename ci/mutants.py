#!/usr/bin/env python3
"""Runs a sample of mutants against the tests: does a test notice? By hand or nightly: takes hours.

    ci/mutants.py [AREA...] [--seed N] [--list] [--part I/N] [--dir FOLDER]

A mutant is the source with one small mistake. cargo-mutants (`cargo install cargo-mutants`) lists
those that it can make; ORDERED, FENCE and STATEMENT are what it cannot: a weaker memory ordering, a
missing fence, a missing statement. The sample is random with a seed for each area, and has at most
one mutant per place. Each mutant is written into a copy of HEAD, where the area's suites run until
one fails. A verdict is appended to a CSV file at once, and a second start goes on from there.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The models of loom; the lab's models are workloads.
SKIP = re.compile(r"/(tests|testing|mutants|ghost|faulty)(\.rs|/)|(?<!-lab/src)/models(\.rs|/)")
ORDERED = r"(?<!fence\()Ordering::(Acquire|Release|AcqRel|SeqCst)\b"
FENCE = r"^ +fence\(.*\);$"
# One line: an assignment, or a call whose result is not used.
STATEMENT = (r"^ +(?!\.|let |return|use |pub|const|debug_assert|assert|break|continue|fence)"
             r"[\w.*:\[\]]+( [-+|&^*]?= .*|\(.*\));$")
OWN = [(1, ORDERED, "Ordering::Relaxed"), (1, FENCE, ""), (2, STATEMENT, "")]

CORE = ["-p tickwright-nodes -p tickwright-core --lib --tests", "-p tickwright-testkit --tests"]
CALLS = ["-p tickwright --lib --tests"]
LOOM = ["-p tickwright --features record --release --test loom_*", "-p tickwright --release --lib -- models"]
# tests/limits.rs is left out: some of its tests fail now and then beside other work.
THREADS = ("conformance sync host hostile locks stacks descriptors unwinding forks faults clocks turns idle across"
           " last_moments payloads no_memory scheduler").split()
# area: package, files, mutants of cargo-mutants, orderings and fences, statements; arguments of
# `cargo test`, from quick to slow. Release builds are those of loom.
AREAS = {
    "nodes": ("tickwright-nodes", "(arena|hook|chain|tree)", (30, 2, 8), CORE),
    "core": ("tickwright-core", "(family|storage)/", (90, 0, 20), CORE),
    "shard": ("tickwright", "shard/", (35, 8, 8), [*CALLS, *LOOM]),
    "calls": ("tickwright", "(scheduler|time/parker)", (40, 8, 8), [*CALLS, *LOOM]),
    "threads": ("tickwright-threads", "(many|join_word|park_word|wake_flags|wait|record|roster|here)", (40, 16, 10),
                [f"-p tickwright-threads --lib --test {' --test '.join(THREADS)}",
                 "-p tickwright-threads --release --lib -- models"]),
    # What a verdict on a program rests on: replay, judge, recommendation and the tour's advice.
    # Other tests of the lab time experiments.
    "verdicts": ("tickwright-lab", "(traces/(recommend|replay|decode|steps)|models/verify|tour/advice)", (82, 0, 16),
                 ["-p tickwright-lab --lib -- traces:: models::verify tour::"]),
    # What people read as figures: statistics and comparisons, and the traces that they rest on.
    "measure": ("tickwright-measure", "(stats|rounds|result/compare)", (24, 0, 4), ["-p tickwright-measure --lib"]),
    "trace": ("tickwright-trace", "(import|profile|reader|writer|columns|text)", (30, 0, 6),
              ["-p tickwright-trace --lib --tests"]),
}
Mutant = collections.namedtuple("Mutant", "area file line column what end replacement text")


def row(mutant):
    return [mutant.area, mutant.file, f"{mutant.line}:{mutant.column}", mutant.what, mutant.text]


def pools(area):
    """Three lists: by cargo-mutants, orderings and fences, statements."""
    package, files, *_ = AREAS[area]
    inside = re.compile(rf"crates/\w+/{package}/src/{files}")
    command = ["cargo", "mutants", "--list", "--json", "-p", package]
    listed = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.glob(f"crates/*/{package}/src/**/*.rs"))}
    texts = {name: text for name, text in texts.items() if inside.match(name) and not SKIP.search(name)}
    found = ([], [], [])
    for one in listed:
        if one["file"] in texts:
            start, end = one["span"]["start"], one["span"]["end"]
            what = one["name"].split(": ", 1)[1]
            text = texts[one["file"]].splitlines()[start["line"] - 1].strip()
            found[0].append(Mutant(area, one["file"], start["line"], start["column"], what, (end["line"], end["column"]),
                                   one["replacement"], text))
    for name, text in texts.items():
        # Tests that stand in the file itself are its last part.
        for number, line in enumerate(text.split("\nmod tests {")[0].splitlines(), 1):
            for pool, pattern, new in OWN:
                for hit in re.finditer(pattern, line):
                    what = f"replace {hit[0].strip()} with {new or 'nothing'}"
                    found[pool].append(Mutant(area, name, number, hit.start() + 1, what, (number, hit.end() + 1), new, line.strip()))
    return found


def sample(area, seed):
    draw = random.Random(f"{seed} {area}")
    for wanted, pool in zip(AREAS[area][2], pools(area)):
        places = collections.defaultdict(list)
        for mutant in pool:
            places[mutant[1:4]].append(mutant)
        for place in draw.sample(sorted(places), min(wanted, len(places))):
            yield draw.choice(places[place])


def broken(text, mutant):
    """The text of a file with the mistake."""
    lines = text.splitlines(keepends=True)
    first, past = (sum(map(len, lines[:line - 1])) + column - 1 for line, column in ((mutant.line, mutant.column), mutant.end))
    return text[:first] + mutant.replacement + text[past:]


def tests(tree, arguments):
    """The verdict of one suite: None, or what happened, and the test that failed."""
    loom = "--release" in arguments
    more = {"CARGO_TARGET_DIR": str(tree.parent / ("loom" if loom else "plain")), "CARGO_PROFILE_DEV_DEBUG": "0"}
    if loom:
        more["RUSTFLAGS"] = "--cfg loom"
    build, _, only = arguments.partition(" -- ")

    def cargo(*last, **how):
        return subprocess.run(["cargo", "test", "-q", "--no-fail-fast", *build.split(), *last], cwd=tree, env={**os.environ, **more},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **how)

    if cargo("--no-run").returncode:
        return "unbuildable", ""
    # A loop without end runs out of processor time, whatever the load.
    done = cargo("--", *only.split(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (300, 300)))
    if done.returncode == 0:
        return None
    failed = re.search(r"^    ([\w:]+)$", done.stdout, re.M)
    return ("killed", failed[1]) if failed else ("timeout", "") if "SIGXCPU" in done.stdout else ("killed", done.stdout[-80:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", metavar="AREA", default=list(AREAS), help=" ".join(AREAS))
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--list", action="store_true", help="print the sample")
    parser.add_argument("--part", metavar="I/N", default="0/1", help="every Nth mutant, for N runs at once")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "target/mutants", help="for the copy and its builds")
    asked = parser.parse_args()
    if not shutil.which("cargo-mutants"):
        print("mutants: skipped: no cargo-mutants (cargo install cargo-mutants --locked)")
        return 77
    chosen = [mutant for area in asked.areas for mutant in sample(area, asked.seed)]
    if asked.list:
        print("\n".join(" | ".join(row(mutant)) for mutant in chosen))
        return 0
    tree, out = asked.dir / "tree", asked.dir / "verdicts.csv"
    tree.mkdir(parents=True, exist_ok=True)
    subprocess.run(f"git archive HEAD | tar -x -C '{tree}'", cwd=ROOT, shell=True, check=True)
    known = [old[:5] for old in csv.reader(open(out))] if out.exists() else []
    part, parts = map(int, asked.part.split("/"))
    for suite in dict.fromkeys(suite for area in asked.areas for suite in AREAS[area][3]):
        if wrong := tests(tree, suite):
            return f"mutants: without a mutant: cargo test {suite}: {' '.join(wrong)}"
    for mutant in chosen[part::parts]:
        if row(mutant) in known:
            continue
        whole = (tree / mutant.file).read_text()
        (tree / mutant.file).write_text(broken(whole, mutant))
        verdict = next(filter(None, (tests(tree, suite) for suite in AREAS[mutant.area][3])), ("survived", ""))
        (tree / mutant.file).write_text(whole)
        with open(out, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([*row(mutant), *verdict])
        print(*verdict, *row(mutant), sep=" | ", flush=True)
    return 0


sys.exit(main())
