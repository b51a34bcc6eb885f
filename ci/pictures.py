#!/usr/bin/env python3
"""The pictures of the book, made from records.

    ci/pictures.py                    makes each picture again and compares it with docs/pictures;
                                      exit code 1 where they differ
    ci/pictures.py --save             writes them
    ci/pictures.py --tickwright BIN   uses this command [default: the release build]

Most are plots of `tickwright show RECORD --svg`, of which PLOTS names those that are kept. The one
of `xenomai` is drawn here: the record has a plot by time, and the page needs one by structure.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
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
]
PLOT = re.compile(r'^<g transform="translate\(0 \d+\)">\n.*?^</g>\n</g>\n', re.M | re.S)


def shown(tickwright, record, numbers):
    """The plots of a record with these numbers, one below the other."""
    command = [tickwright, "show", str(ROOT / "records" / f"{record}.json"), "--svg"]
    svg = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    height = 420
    if len(PLOT.findall(svg)) < 2:
        return svg
    head = svg[:PLOT.search(svg).start()]
    plots = [PLOT.findall(svg)[number] for number in numbers]
    plots = [re.sub(r"translate\(0 \d+\)", f"translate(0 {height * at})", plot, count=1)
             for at, plot in enumerate(plots)]
    head = re.sub(r'viewBox="0 0 920 \d+"', f'viewBox="0 0 920 {height * len(plots)}"', head)
    return head + "".join(plots) + "</svg>\n"


def xenomai():
    """The time of a kernel's tick with each structure: a dot at the median, on a scale by tens."""
    record = json.loads((ROOT / "records" / "xenomai.json").read_text(encoding="utf-8"))
    rows = sorted((statistics.median(series["samples"]), series["labels"]["structure"])
                  for series in record["series"] if series["name"] == "tick")
    height = 60 + 22 * len(rows) + 40
    place = {tens: 190 + 280 * (math.log10(tens) - 1) for tens in (10, 100, 1000)}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 {height}" font-family="sans-serif" '
        'font-size="12" role="img">',
        "<style>text{fill:currentColor}.grid{stroke:currentColor;stroke-opacity:.15}"
        "svg{color:#222;background:#fff}"
        "@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1b1b1b}}</style>",
        "<title>Time of a kernel's tick by structure</title>",
        '<text x="30" y="26" font-size="15">Time of a kernel\'s tick with some 500 timers, by structure</text>',
    ]
    for tens, x in place.items():
        lines.append(f'<path class="grid" d="M{x:.1f} 44V{height - 36}"/>')
        lines.append(f'<text x="{x:.1f}" y="{height - 18}" text-anchor="middle">{tens} ns</text>')
    for at, (median, name) in enumerate(rows):
        x, y = 190 + 280 * (math.log10(median) - 1), 60 + 22 * at
        ours = "/" in name
        lines.append(f'<path class="grid" d="M190 {y}H{x:.1f}"/>')
        lines.append(f'<text x="176" y="{y + 4}" text-anchor="end">{name}</text>')
        lines.append(f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{"#0072b2" if ours else "#d55e00"}"/>')
        lines.append(f'<text x="{x + 12:.1f}" y="{y + 4}">{median:.0f}</text>')
    lines.append('<circle cx="700" cy="22" r="5" fill="#0072b2"/><text x="712" y="26">ours</text>')
    lines.append('<circle cx="770" cy="22" r="5" fill="#d55e00"/><text x="782" y="26">of others</text>')
    return "\n".join(lines) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true")
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    parser.add_argument("--tickwright", default=str(target / "release" / "tickwright"))
    asked = parser.parse_args()
    if not pathlib.Path(asked.tickwright).exists():
        parser.error(f"there is no {asked.tickwright}: cargo build --release, or name one with --tickwright")
    made = {name: shown(asked.tickwright, record, numbers) for name, record, numbers in PLOTS}
    made["xenomai"] = xenomai()
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
