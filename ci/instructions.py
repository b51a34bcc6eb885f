#!/usr/bin/env python3
"""Instructions of each operation of each structure, by valgrind's callgrind, beside a record.

    ci/instructions.py                    prints the counts of one call, a row a structure
    ci/instructions.py --save FILE        writes them as CSV
    ci/instructions.py --compare FILE     also prints the change beside each count; exit code 1 if
                                          one grew by more than 2 percent

Counts are the same on each run of one binary, so one run is enough, on a busy machine too.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile

CALLS = 1000
OPERATIONS = ["insert", "remove", "reschedule", "pop"]
ALLOWED = 1.02


def build(package, example):
    lines = {"CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only", "CARGO_PROFILE_RELEASE_STRIP": "none"}
    environment = os.environ | lines
    command = ["cargo", "build", "-q", "--release", "-p", package, "--example", example]
    subprocess.run(command, check=True, env=environment)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release", "examples", example)


def count(binary, arguments):
    """Instructions inside `measured`, per call."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=*measured*"]
        command += [f"--callgrind-out-file={folder}/out", binary, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"instructions: {' '.join(arguments)}: {done.stderr[-400:]}")
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / CALLS


def rows():
    queues = build("tickwright-core", "count_queue")
    names = subprocess.run([queues, "list"], capture_output=True, text=True, check=True).stdout.split()
    for storage in ["slab", "hook"]:
        for name in names:
            for operation in OPERATIONS:
                yield f"{name}/{storage}", operation, count(queues, [name, storage, operation])
    calls = build("tickwright", "count_scheduler")
    for name in ["heap4", "wheel"]:
        for operation in ["add", "start", "cancel", "run"]:
            yield f"scheduler/{name}", operation, count(calls, [name, operation])
    shard = build("tickwright", "count_shard")
    for operation in ["add", "rearm-unlocked", "rearm-clock", "rearm-at", "rearm-locked", "cancel", "pass"]:
        yield "shard", operation, count(shard, [operation])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--compare", metavar="FILE")
    options = parser.parse_args()
    before = {}
    if options.compare:
        with open(options.compare, newline="") as file:
            before = {(row["of"], row["operation"]): float(row["instructions"]) for row in csv.DictReader(file)}
    grown, counts = [], []
    for of, operation, instructions in rows():
        counts.append((of, operation, f"{instructions:.1f}"))
        line = f"{of:<18} {operation:<11} {instructions:>10.1f}"
        if (of, operation) in before:
            ratio = instructions / before[of, operation]
            line += f"   x {ratio:.3f} of {before[of, operation]:.1f}"
            if ratio > ALLOWED:
                grown.append(f"{of} {operation}: x {ratio:.3f}")
        print(line, flush=True)
    if options.save:
        with open(options.save, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["of", "operation", "instructions"])
            writer.writerows(counts)
    if grown:
        sys.exit("instructions: grew by more than 2 percent:\n  " + "\n  ".join(grown))


if __name__ == "__main__":
    main()
