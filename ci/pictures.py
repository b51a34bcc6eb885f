#!/usr/bin/env python3
"""The pictures of the book, made from records.

    ci/pictures.py                    makes each picture again and compares it with docs/pictures;
                                      exit code 1 where they differ
    ci/pictures.py --save             writes them
    ci/pictures.py --tickwright BIN   uses this command [default: the release build]

They are plots of `tickwright show RECORD --svg`, of which PLOTS names those that are kept.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
# A picture, its record, and the numbers of the plots that it shows.
PLOTS = [
    ("asterisk", "asterisk", [0]),
    ("helenos", "helenos", [0]),
    ("latency", "latency", [0]),
    ("linux", "linux", [0]),
    ("matrix", "matrix-v3", [0]),
    ("nptl", "nptl-table", [0]),
    ("scaling", "hold-scaling", [0]),
    ("xenomai", "xenomai", [0]),
]
PLOT = re.compile(r'^<g transform="translate\(0 (\d+)\)">\n.*?^</g>\n</g>\n', re.M | re.S)
VIEW = re.compile(r'viewBox="0 0 920 (\d+)"')


def shown(tickwright, record, numbers):
    """The plots of a record with these numbers, one below the other."""
    command = [tickwright, "show", str(ROOT / "records" / f"{record}.json"), "--svg"]
    svg = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = list(PLOT.finditer(svg))
    # Each plot begins where the one above it ends.
    tops = [int(plot[1]) for plot in found] + [int(VIEW.search(svg)[1])]
    plots, top = [], 0
    for number in numbers:
        plots.append(found[number][0].replace(f"translate(0 {tops[number]})", f"translate(0 {top})", 1))
        top += tops[number + 1] - tops[number]
    head = VIEW.sub(f'viewBox="0 0 920 {top}"', svg[:found[0].start()], count=1)
    return head + "".join(plots) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true")
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    parser.add_argument("--tickwright", default=str(target / "release" / "tickwright"))
    asked = parser.parse_args()
    if not pathlib.Path(asked.tickwright).exists():
        parser.error(f"there is no {asked.tickwright}: cargo build --release, or name one with --tickwright")
    made = {name: shown(asked.tickwright, record, numbers) for name, record, numbers in PLOTS}
    differ = []
    for name, svg in sorted(made.items()):
        path = FOLDER / f"{name}.svg"
        if asked.save:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(svg, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != svg:
            differ.append(path.name)
    if differ:
        print(f"pictures: {', '.join(differ)} differ from their records: run ci/pictures.py --save", file=sys.stderr)
        return 1
    print(f"pictures: {len(made)} are what their records show")
    return 0


if __name__ == "__main__":
    sys.exit(main())
