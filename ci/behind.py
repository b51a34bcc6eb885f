#!/usr/bin/env python3
"""What an operation costs in the cells of `bench matrix`, counted by valgrind's callgrind.

    ci/behind.py RECORD                   prints a table: for each cell of the record, our best
                                          structure, the best of others and the adaptive queue
    ci/behind.py RECORD --save FILE       writes the counts as CSV, and prints the table
    ci/behind.py RECORD --read FILE       prints the table from such a file, without counting
    ci/behind.py --tickwright BIN         uses this command [default: the release build]

One sample and the round before it are counted, without the harness. The same on each run of one
build. The simulated caches have 48 KiB (L1) and 1 MiB (L2), as those of the record's host.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHES = ["--cache-sim=yes", "--branch-sim=yes", "--D1=49152,12,64", "--LL=1048576,16,64"]
# A sample is measured in this function, and in no other.
MEASURED = "*Trial*turn*"
COUNTS = ["instructions", "mispredicted", "l1", "l2"]
# For each measure of a record: the command, and the measure's name in a scenario.
WORKS = {"pop and insert": ("hold", "hold"), "exchange": ("network", "exchange"),
         "turnover": ("one-shot", "turnover")}


def cells(record):
    """The findings of a record, of which each cell has one or two, as cells with our best
    structure, the best of others, and whether each bound is held."""
    found = {}
    for finding in record["findings"]:
        labels = finding["labels"]
        if labels["measure"] not in WORKS:
            continue
        cell = found.setdefault((labels["scenario"], labels["measure"], labels["n"]), {})
        ours, other = re.search(r": (\S+) to (\S+)$", finding["about"]).groups()
        cell["adaptive" if ours == "adaptive" else "best"] = (ours, other, finding)
    return found


def median_ns(record, key, structure):
    scenario, measure, n = key
    wanted = {"scenario": scenario, "n": n, "structure": structure}
    for series in record["series"]:
        if series["name"] == measure and series["labels"] == wanted:
            samples = sorted(series["samples"])
            return samples[len(samples) // 2]
    return None


def figure(value):
    return f"{value:.0f}" if value >= 99.5 else f"{value:.2g}" if value >= 0.005 else "0"


def table(record, rows):
    """A row for each structure of each cell."""
    yield "| work | n | structure | ns | instructions | mispredicted | L1 misses | L2 misses |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for (scenario, measure, n, structure), counts in rows.items():
        ns = median_ns(record, (scenario, measure, n), structure)
        cells = [scenario, f"{n:,}", structure, figure(ns), *map(figure, counts)]
        yield "| " + " | ".join(cells) + " |"


def count(tickwright, scenario, measure, n, structure):
    """Counts of one operation: instructions, mispredicted branches, misses of L1 and of L2."""
    subcommand, name = WORKS[measure]
    with tempfile.TemporaryDirectory() as folder:
        # A scenario may have other measures, too: the template of its file, with one of them.
        listed = [tickwright, "list", "--scenario", scenario]
        text = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
        text = re.sub(r"(?m)^measures = .*$", f'measures = ["{name}"]', text)
        file = pathlib.Path(folder, f"{scenario}.toml")
        file.write_text(text, encoding="utf-8")
        result = pathlib.Path(folder, "result.json")
        command = ["valgrind", "--tool=callgrind", *CACHES, f"--toggle-collect={MEASURED}"]
        command += [f"--callgrind-out-file={folder}/out", tickwright, "bench", subcommand]
        command += ["--scenario", str(file), "--n", str(n), "--structures", structure]
        command += ["--rounds", "1", f"--json={result}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"behind: {scenario} n={n} {structure}: {done.stderr[-400:]}")
        parameters = json.loads(result.read_text(encoding="utf-8"))["parameters"]
    operations = next(int(re.search(r"of (\d+) operations", str(value)).group(1))
                      for value in parameters.values() if "operations" in str(value))

    def total(what):
        return int(re.search(what + r":\s+([\d,]+)", done.stderr).group(1).replace(",", ""))

    # The round that only verifies, and one sample.
    counted = 2 * operations
    return [total(what) / counted for what in ["I   refs", "Mispredicts", "D1  misses", "LLd misses"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record")
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--read", metavar="FILE")
    parser.add_argument("--tickwright", metavar="BIN")
    options = parser.parse_args()
    record = json.loads(pathlib.Path(options.record).read_text(encoding="utf-8"))
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    tickwright = options.tickwright or os.path.join(target, "release", "tickwright")
    wanted = []
    for (scenario, measure, n), cell in cells(record).items():
        names = {cell["best"][0]: None, cell["best"][1]: None}
        if "adaptive" in cell:
            names["adaptive/slab"] = None
        wanted += [(scenario, measure, n, name) for name in names]
    if options.read:
        with open(options.read, newline="", encoding="utf-8") as file:
            rows = {(r["work"], r["measure"], int(r["n"]), r["structure"]): [float(r[c]) for c in COUNTS]
                    for r in csv.DictReader(file)}
    else:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            counted = pool.map(lambda want: count(tickwright, *want), wanted)
            rows = {}
            for want, counts in zip(wanted, counted):
                rows[want] = counts
                print(*want, *(f"{c:.2f}" for c in counts), file=sys.stderr, flush=True)
    if options.save:
        with open(options.save, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["work", "measure", "n", "structure", *COUNTS])
            for want in wanted:
                writer.writerow([*want, *(f"{c:.3f}" for c in rows[want])])
    print("\n".join(table(record, rows)))


if __name__ == "__main__":
    main()
