#!/usr/bin/env python3
"""ci/scaling.py TIMES BYTES: fits the cost model of docs/scaling.md to a record of `bench hold`,
and checks it on populations that the fit has not seen. BYTES is a record with bytes per timer, of
`bench matrix`.

The model of a structure, in ns an operation at n timers:

    t(n) = base + level * log2(n) + sum over caches c of miss[c] * max(0, 1 - size[c] / bytes(n))

`bytes(n)` is the footprint: bytes per timer of the record, plus the caller's key of 8 bytes. A
cache that holds the footprint costs nothing; of a larger one, the part that does not fit misses.
All coefficients are at least 0 (non-negative least squares of relative errors). Every second
population is for the fit, the others for the check. Prints the table of the page.
"""

import json
import math
import sys

# The caches of the host of the record (lscpu), in bytes for one core. 4 KiB pages: the second-level
# TLB of this processor has 3,072 entries.
CACHES = [("L1", 48 << 10), ("L2", 1 << 20), ("TLB", 3072 * 4096), ("L3", 32 << 20)]
KEY = 8
CARRIED = [10_000_000, 100_000_000]


def median(samples):
    found = sorted(s for s in samples if s is not None)
    half = len(found) // 2
    return found[half] if len(found) % 2 else (found[half - 1] + found[half]) / 2


def read(path):
    """Times and bytes by structure and population."""
    report = json.load(open(path))
    times, held = {}, {}
    for series in report["series"]:
        labels = series["labels"]
        if "structure" not in labels or labels.get("scenario") != "hold-exp-sparse":
            continue
        where = times if series["name"] == "pop and insert" else held if series["name"] == "memory" else None
        if where is not None and series["samples"]:
            where.setdefault(labels["structure"], {})[labels["n"]] = median(series["samples"])
    return report, times, held


def features(n, per_timer):
    footprint = n * (per_timer + KEY)
    return [1.0, math.log2(n)] + [max(0.0, 1.0 - size / footprint) for _, size in CACHES]


def fit(rows, values):
    """Non-negative least squares of relative errors, by coordinate descent."""
    rows = [[x / value for x in row] for row, value in zip(rows, values)]
    weights = [0.0] * len(rows[0])
    for _ in range(20_000):
        for at in range(len(weights)):
            square = sum(row[at] ** 2 for row in rows)
            if square == 0.0:
                continue
            rest = sum(
                row[at] * (1.0 - sum(w * x for w, x in zip(weights, row)) + weights[at] * row[at])
                for row in rows
            )
            weights[at] = max(0.0, rest / square)
    return weights


def main():
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    report, times, _ = read(arguments[0])
    _, _, held = read(arguments[1])
    print(f"{report['command']} at {report['host']['revision']}\n")
    names = ["base", "log2 n"] + [name for name, _ in CACHES]
    carried = [f"{n:,}" for n in CARRIED]
    head = ["structure", "bytes"] + names + ["fit error", "unseen error", "worst"] + carried
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for structure in sorted(times):
        points = sorted(times[structure].items())
        if len(points) < 8 or structure.startswith("("):
            continue
        largest = max(held.get(structure, {0: 0}))
        per_timer = held.get(structure, {}).get(largest, 0.0)
        seen, unseen = points[::2], points[1::2]
        weights = fit([features(n, per_timer) for n, _ in seen], [ns for _, ns in seen])
        said = lambda n: sum(w * x for w, x in zip(weights, features(n, per_timer)))
        errors = lambda some: [abs(said(n) / ns - 1.0) for n, ns in some]
        cells = [structure, f"{per_timer:.0f}"] + [f"{w:.1f}" for w in weights]
        mean = lambda some: 100.0 * sum(some) / len(some)
        cells += [f"{mean(errors(seen)):.0f} %", f"{mean(errors(unseen)):.0f} %"]
        cells += [f"{100.0 * max(errors(unseen)):.0f} %"]
        cells += [f"{said(n):.0f}" for n in CARRIED]
        print("| " + " | ".join(cells) + " |")


main()
