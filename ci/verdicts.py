#!/usr/bin/env python3
"""ci/verdicts.py [TICKWRIGHT]: is `recommend` right where the answer is known?

For each profile in profiles it asks `recommend` for a structure. Then it measures all
structures of ours apart, on other events of the same profile (`replay --seed 2`), and sets the
recommended one beside the fastest exact one there. Exit code 1 if a recommended structure is more
than 5 % slower. Needs a release build, and a quiet machine: it times.
"""

import glob
import json
import os
import statistics
import subprocess
import sys

LIMIT = 1.05
LATE = "coarse"


def report(program, *words):
    done = subprocess.run([program, *words, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def times(found):
    """The samples of each structure, in ns an operation."""
    series = [one for one in found["series"] if one["name"] == "replay"]
    return {one["labels"]["structure"]: one["samples"] for one in series}


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "target/release/tickwright"
    folder = os.path.join(os.path.dirname(__file__), "..", "profiles")
    print("| profile | recommended | fastest when measured apart | ratio, round by round |")
    print("|---|---|---|---|")
    wrong = []
    for path in sorted(glob.glob(os.path.join(folder, "*.toml"))):
        name = os.path.basename(path).removesuffix(".toml")
        asked = report(program, "recommend", path, "--negligible", "0", "--within", "5s")
        ours = {id: s for id, s in times(asked).items() if "/" in id and not id.startswith(LATE)}
        chosen = min(ours, key=lambda id: statistics.median(ours[id]))
        apart = times(report(program, "replay", path, "--seed", "2", "--structures", "*/slab,*/hook"))
        exact = {id: samples for id, samples in apart.items() if not id.startswith(LATE)}
        best = min(exact, key=lambda id: statistics.median(exact[id]))
        ratio = statistics.median(a / b for a, b in zip(exact[chosen], exact[best]))
        print(f"| {name} | {chosen} | {best} | {ratio:.2f} |", flush=True)
        if ratio > LIMIT:
            wrong.append(name)
    if wrong:
        sys.exit(f"more than 5 % slower than the fastest: {', '.join(wrong)}")


main()
