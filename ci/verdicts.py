#!/usr/bin/env python3
"""ci/verdicts.py [TICKWRIGHT]: is `recommend` right where the answer is known?

For each profile in profiles it asks `recommend` for a structure, and reads the verdict: the
structure to change to, or the one to keep. Then it measures that structure and all of ours apart,
on other events of the same profile (`replay --seed 2`). It sets the recommended one beside the
fastest exact one of ours. Exit code 1 if a recommended structure is more than 5 % slower, or one
that is kept for lack of a difference more than 20 %. The same if a verdict names no structure, or
if there is no profile. Needs a release build, and a quiet machine: it times.
"""

import glob
import json
import os
import re
import statistics
import subprocess
import sys

LIMIT = 1.05
# `recommend` keeps a current structure that it cannot tell from the best: the margin of a tie.
TIE = 1.20
LATE = "coarse"
# The sentences of a verdict that names a structure: traces/recommend/verdict.rs writes them.
VERDICTS = [
    r"\S+ -> (\S+) saves ",
    r"Keep (\S+): ",
    r"\S+ does not fulfil the conditions: .* Of those that do, (\S+) is the fastest",
    r"(\S+): .* of a CPU\. The current structure, ",
]


def report(program, *words):
    done = subprocess.run([program, *words, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def times(found):
    """The samples of each structure, in ns an operation."""
    series = [one for one in found["series"] if one["name"] == "replay"]
    return {one["labels"]["structure"]: one["samples"] for one in series}


def recommended(found):
    """The structure that a report of `recommend` names in its verdict, and how slow it may be."""
    said = [one["here"] for one in found["findings"] if one["about"] == "the verdict"]
    for sentence in said:
        for pattern in VERDICTS:
            if match := re.match(pattern, sentence):
                return match[1], TIE if "no difference shown" in sentence else LIMIT
    sys.exit(f"the verdict names no structure: {said}")


def self_test():
    def read(words):
        return recommended({"findings": [{"about": "the verdict", "here": words}]})

    for words, structure in [
        ("binary-heap -> wheel/slab saves 6.0 % of a CPU: from 9.0 % to 3.0 %.", "wheel/slab"),
        ("Keep binary-heap: it takes 9.0 % of a CPU. wheel/slab is slower: 9.9 %.", "binary-heap"),
        ("binary-heap does not fulfil the conditions: it allocates. Of those that do, rb/hook is the fastest", "rb/hook"),
        ("wheel/hook: 3.0 % of a CPU. The current structure, list/slab, was left out", "wheel/hook"),
    ]:
        assert read(words) == (structure, LIMIT), words
    assert read("Keep rb/hook: it takes 3.1 % of a CPU; rb/slab takes 3.0 %, no difference shown.")[1] == TIE
    try:
        sys.exit(f"a verdict that names nothing was read: {read('Too short to judge: 3 events in 1 ms.')}")
    except SystemExit as error:
        assert "names no structure" in str(error), error


def main():
    self_test()
    program = sys.argv[1] if len(sys.argv) > 1 else "target/release/tickwright"
    folder = os.path.join(os.path.dirname(__file__), "..", "profiles")
    print("| profile | recommended | fastest when measured apart | ratio, round by round |")
    print("|---|---|---|---|")
    wrong = []
    paths = sorted(glob.glob(os.path.join(folder, "*.toml"))) or sys.exit(f"{folder} has no profile")
    for path in paths:
        name = os.path.basename(path).removesuffix(".toml")
        asked = report(program, "recommend", path, "--negligible", "0", "--within", "5s")
        chosen, limit = recommended(asked)
        apart = times(report(program, "replay", path, "--seed", "2", "--structures", f"*/slab,*/hook,{chosen}"))
        exact = {id: samples for id, samples in apart.items() if "/" in id and not id.startswith(LATE)}
        best = min(exact, key=lambda id: statistics.median(exact[id]))
        ratio = statistics.median(a / b for a, b in zip(apart[chosen], exact[best]))
        print(f"| {name} | {chosen} | {best} | {ratio:.2f} |", flush=True)
        if ratio > limit:
            wrong.append(name)
    if wrong:
        sys.exit(f"slower than the fastest by more than its limit: {', '.join(wrong)}")


main()
