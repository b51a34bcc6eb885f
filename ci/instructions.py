#!/usr/bin/env python3
"""Instructions of each operation of each structure, by valgrind's callgrind, as CSV.

    ci/instructions.py > FILE             counts
    ci/instructions.py FILE [> OTHER]     exit code 1 if one grew by more than 2 percent over FILE

Counts are the same on each run of one binary, so one run is enough, on a busy machine too.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile

CALLS = 1000
ALLOWED = 1.02


def build(package, example, *more):
    lines = {"CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only", "CARGO_PROFILE_RELEASE_STRIP": "none"}
    # The gate builds without optimization across crates.
    env = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_PROFILE_")}
    command = ["cargo", "build", "-q", "--release", "-p", package, "--example", example, *more]
    subprocess.run(command, check=True, env=env | lines)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release", "examples", example)


def count(*command):
    """Instructions inside `measured`, per call."""
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", "--toggle-collect=*measured*", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run([*tool, *command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"instructions: {' '.join(command)}: {done.stderr[-400:]}")
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / CALLS


def rows():
    queues = build("tickwright-core", "count_queue")
    names = subprocess.run([queues, "list"], capture_output=True, text=True, check=True).stdout.split()
    # The ladder works only in slabs.
    for name, storage in [("ladder", "slab"), *((name, storage) for storage in ["slab", "hook"] for name in names)]:
        for operation in ["insert", "remove", "reschedule", "pop"]:
            yield f"{name}/{storage}", operation, count(queues, name, storage, operation)
    calls = build("tickwright", "count_scheduler")
    for name in ["heap4", "wheel"]:
        for operation in ["add", "start", "cancel", "run"]:
            yield f"scheduler/{name}", operation, count(calls, name, operation)
            yield f"scheduler/{name}/local", operation, count(calls, name, operation, "local")
    counted = build("tickwright", "count_counted", "--features", "metrics")
    for queue in ["alone", "counted"]:
        for operation in ["insert", "reschedule", "remove", "pop"]:
            yield f"queue/{queue}", operation, count(counted, queue, operation)
    shard = build("tickwright", "count_shard")
    for operation in ["add", "rearm-unlocked", "rearm-clock", "rearm-at", "rearm-locked", "cancel", "pass"]:
        yield "shard", operation, count(shard, operation)


before, grown = {}, []
if len(sys.argv) > 1:
    with open(sys.argv[1], newline="") as file:
        before = {(row["of"], row["operation"]): float(row["instructions"]) for row in csv.DictReader(file)}
print("of,operation,instructions")
for of, operation, instructions in rows():
    print(f"{of},{operation},{instructions:.1f}", flush=True)
    old = before.get((of, operation), instructions)
    if instructions > old * ALLOWED:
        grown.append(f"{of} {operation}: {old:.1f} -> {instructions:.1f}")
if grown:
    sys.exit("instructions: grew by more than 2 percent:\n  " + "\n  ".join(grown))
