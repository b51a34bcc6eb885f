#!/usr/bin/env python3
"""The queries of docs/fleet.sql over a made-up fleet, beside `tickwright describe --json`.

    ci/fleet.py                   makes the traces of 100 hosts, exports them as Parquet, runs the
                                  queries, prints a table; exit code 1 if a figure differs
    ci/fleet.py --hosts N         makes N hosts
    ci/fleet.py --tickwright BIN  uses this command [default: the release build]
    ci/fleet.py --keep FOLDER     keeps the traces and the Parquet files there

It needs the Python package `duckdb`. Counts, largest values and commonest delays are compared
exactly. `describe` states a percentile to three digits, as the least number that its histogram
cannot tell apart: the exact percentile of the query is rounded down to that number before it is
compared, also exactly.
"""

import argparse
import concurrent.futures
import heapq
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

MS = 1_000_000
SECOND = 1000 * MS
NEVER = 2**63 - 1
FILE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "fleet.sql"


class Host:
    """A made-up program: connections, requests, sleeps and periodic timers, by a seed."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.number = number
        self.due = []
        self.rows = []
        self.made = 0
        # The clock of the source: its resolution, its first time, and whether processors disagree.
        self.grain = self.random.choice([1, 1, 1000, MS])
        self.start = self.random.choice([0, 0, 0, 123_456_789_012, -3 * SECOND - 7])
        self.skew = self.random.choice([0, 0, 3000])
        # Some sources cannot tell an arm from a re-arm.
        self.says_rearm = self.random.random() < 0.7

    def at(self, time, act):
        self.made += 1
        heapq.heappush(self.due, (time, self.made, act))

    def write(self, now, kind, timer, delay=None, period=0):
        now -= self.random.randrange(self.skew + 1)
        now = self.start + now // self.grain * self.grain
        deadline = "" if delay is None else min(now + delay, NEVER)
        kind = kind if self.says_rearm or kind != "rearm" else "arm"
        thread = f"worker/{timer % 3}" if timer % 5 else ""
        site = f"server.c:{timer % 11}" if delay is not None else ""
        self.rows.append(f"{now},{kind},{timer},{deadline},{'' if delay is None else period},{thread},{timer % 2},,{site}")

    def late(self):
        return int(self.random.lognormvariate(11, 1))

    def connection(self, timer, idle):
        """A time-out that each packet moves, and that a close cancels."""
        gap = self.random.uniform(20, 400) * MS

        def packet(now, is_open):
            if is_open and self.random.random() < 0.03:
                self.write(now, "cancel", timer)
                is_open = False
            else:
                self.write(now, "rearm" if is_open else "arm", timer, idle)
                is_open = True
            self.at(now + int(self.random.expovariate(1 / gap)) + 1, lambda now: packet(now, is_open))

        self.at(int(self.random.random() * SECOND), lambda now: packet(now, False))

    def request(self, timer, limit):
        """A time-out that is cancelled when the answer comes, and seldom expires."""
        wait = limit * self.random.uniform(0.002, 0.1)

        def begin(now):
            self.write(now, "arm", timer, limit)
            answer = int(self.random.expovariate(1 / wait))
            if self.random.random() < 0.02:
                answer = limit + self.late()
            self.at(now + answer, lambda now: end(now, "fire" if answer > limit else "cancel"))

        def end(now, kind):
            self.write(now, kind, timer)
            self.at(now + int(self.random.expovariate(1 / (50 * MS))), begin)

        self.at(int(self.random.random() * SECOND), begin)

    def sleep(self, timer):
        """Waits of any length, each of which expires."""

        def begin(now):
            delay = int(self.random.lognormvariate(17, 2))
            self.write(now, "arm", timer, delay)
            self.at(now + delay + self.late(), end)

        def end(now):
            self.write(now, "fire", timer)
            self.at(now + int(self.random.expovariate(1 / (20 * MS))), begin)

        self.at(int(self.random.random() * SECOND), begin)

    def periodic(self, timer, period):
        """A timer with a period. It is stopped and started now and then."""

        def begin(now):
            self.write(now, "arm", timer, period, period)
            turns = self.random.randrange(3, 200)
            for turn in range(1, turns):
                self.at(now + turn * period + self.late() % period, lambda now: self.write(now, "fire", timer))
            self.at(now + turns * period, stop)

        def stop(now):
            if self.random.random() < 0.5:
                self.write(now, "cancel", timer)
                # Too late: the timer is not pending any more.
                if self.random.random() < 0.2:
                    self.write(now, self.random.choice(["fire", "cancel"]), timer)
                now += int(self.random.random() * period)
            self.at(now, begin)

        self.at(int(self.random.random() * SECOND), begin)

    def ticker(self, timer, period):
        """A one-shot timer that is armed again with the same delay whenever it expires."""

        def begin(now):
            delay = period + self.random.choice([0, 0, period // 200, -(period // 150)])
            self.write(now, "arm", timer, delay)
            if self.random.random() < 0.02:
                self.at(now + delay // 2, cancel)
            else:
                self.at(now + delay + self.late() % (period // 5), fire)

        def fire(now):
            self.write(now, "fire", timer)
            self.at(now + self.random.choice([0, 900, period // 50]), begin)

        def cancel(now):
            self.write(now, "cancel", timer)
            self.at(now, begin)

        self.at(int(self.random.random() * SECOND), begin)

    def stray(self, timer):
        """Ends of timers that were armed before the trace."""
        for _ in range(self.random.randrange(8)):
            kind = self.random.choice(["fire", "cancel"])
            self.at(int(self.random.random() * SECOND), lambda now, kind=kind: self.write(now, kind, timer))

    def csv(self):
        pick = self.random
        idle = [pick.choice([5, 15, 30, 60, 75, 300]) * SECOND for _ in range(2)]
        limits = [pick.choice([250, 500, 1000, 2500, 10_000]) * MS for _ in range(3)]
        timers = iter(pick.sample(range(1, 1 << 48), 4000))
        for _ in range(pick.choice([0, 20, 100, 2500])):
            self.connection(next(timers), pick.choice(idle))
        for _ in range(pick.randrange(5, 80)):
            self.request(next(timers), pick.choice(limits))
        for _ in range(pick.randrange(20)):
            self.sleep(next(timers))
        for _ in range(pick.randrange(10)):
            self.periodic(next(timers), pick.choice([1, 10, 40, 100, 1000]) * MS)
        for _ in range(pick.randrange(10)):
            self.ticker(next(timers), pick.choice([4, 25, 50, 200, 1000]) * MS)
        self.stray(next(timers))
        if pick.random() < 0.2:
            self.at(pick.randrange(SECOND), lambda now: self.write(now, "arm", 1 << 60, NEVER))
        most = pick.randrange(2_000, 30_000)
        while self.due and len(self.rows) < most:
            now, _, act = heapq.heappop(self.due)
            act(now)
        head = "time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site"
        return "\n".join([head, *self.rows]) + "\n"


def run(command, allowed=(0,)):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"fleet: {' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def make(tickwright, folder, number):
    """Makes the trace of a host and its Parquet file. Returns its page of `describe`, two sizes."""
    name = f"{['ams', 'fra', 'iad', 'nrt'][number % 4]}-{number:03}"
    home = folder / "fleet" / f"host={name}"
    home.mkdir(parents=True)
    text, trace, table = folder / f"{name}.csv", folder / f"{name}.twt", home / "mine.parquet"
    text.write_text(Host(number).csv())
    run([tickwright, "import", text, "--out", trace])
    text.unlink()
    is_cut = number % 40 == 17
    if is_cut:
        trace.write_bytes(trace.read_bytes()[: trace.stat().st_size * 2 // 3])
    run([tickwright, "export", trace, "--out", table], allowed=(3,) if is_cut else (0,))
    page = json.loads(run([tickwright, "describe", trace, "--json"]))
    return name, page, trace.stat().st_size, table.stat().st_size, is_cut


def queries():
    """The queries of the file, by name."""
    found = re.findall(r"^-- query: (\w+)\n(.*?)(?=^-- query: |\Z)", FILE.read_text(), re.S | re.M)
    if {"damage", "trace", "page"} - {name for name, _ in found}:
        sys.exit(f"fleet: {FILE.name} lacks a query")
    return dict(found)


def figures(page):
    """The figures of `describe --json`, under the names of the query."""
    said = {}
    for series in page["series"]:
        at = series["labels"].get("at")
        said[series["name"].replace("-", "").replace(" ", "_") + (f"_{at}" if at else "")] = series["samples"][0]
    blocks = [block for section in page["sections"] for block in section["blocks"]]
    texts = " ".join(block["text"] for block in blocks if "text" in block)
    tables = {
        block["table"]["columns"][0]["name"]: block["table"]["rows"] for block in blocks if "table" in block
    }
    said["population_mean"], said["pending_at_end"] = (
        float(re.search(pattern, texts).group(1))
        for pattern in [r"Pending timers: mean ([\d.]+)", r"; (\d+) at the end"]
    )
    said["top_delays"] = [(row[0], row[1]) for row in tables["commonest delays"]]
    for row in tables["at the end of a wait"]:
        if row[0].startswith("cancel: part"):
            said["cancel_left_p50"], said["cancel_left_p99"] = (float(cell.split()[0]) for cell in row[2:4])
    return said


def lowest_equivalent(number, least, largest):
    """The least number that a histogram with three digits does not tell from this one."""
    unit = 1 << max(0, int(number).bit_length() - 11)
    return min(max(number // unit * unit, least), largest)


def computed(row):
    """The figures of the query, as `describe` rounds them."""
    same = [
        "events", "arms", "rearms", "cancels", "fires", "periodic_fires", "distinct_delays", "unseen_arms",
        "pending_at_end", "delay_max", "population_max",
    ]
    mine = {name: float(row[name]) for name in same}
    mine["span"] = float(row["span_ns"])
    for name in ["late_max", "cancel_age_max"]:
        mine[name] = float(row[name] or 0)
    for at, (name, place) in {"p50": ("p50", 0), "p99": ("p99", 1)}.items():
        population = row[f"population_{name}"]
        mine[f"population_{at}"] = float(lowest_equivalent(population, 0, row["population_max"]))
        delay = lowest_equivalent(row["delay"][place], row["delay_min"], row["delay_max"])
        mine[f"delay_{at}"] = float(delay)
        for spread in ["late", "cancel_age"]:
            exact, least, most = row[spread], row[f"{spread}_min"], row[f"{spread}_max"]
            mine[f"{spread}_{at}"] = float(lowest_equivalent(exact[place], least, most)) if exact else 0.0
        if row["cancel_left"]:
            mine[f"cancel_left_{at}"] = float(row["cancel_left"][place])
    mine["top_delays"] = [(float(top["ns"]), float(top["timers"])) for top in row["top_delays"]]
    mine["population_mean"] = float(row["population_mean"])
    return mine


def differences(said, mine):
    for name in sorted(said.keys() | mine.keys()):
        one, other = said.get(name), mine.get(name)
        if name == "population_mean" and None not in (one, other) and abs(one - other) <= 0.0501 + 1e-9 * one:
            continue
        if one != other:
            yield name, one, other


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    release = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"), "release", "tickwright")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--tickwright", type=pathlib.Path, default=release)
    parser.add_argument("--keep", type=pathlib.Path)
    asked = parser.parse_args()
    try:
        import duckdb
    except ImportError:
        sys.exit("fleet: this needs DuckDB: pip install duckdb")
    binary = asked.tickwright.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (asked.keep or pathlib.Path(temporary)).resolve()
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            hosts = list(pool.map(make, *zip(*[(binary, folder, number) for number in range(asked.hosts)])))
        os.chdir(folder)
        sql, lines = duckdb.connect(), []
        text = queries()
        sql.execute("SET threads = 2")
        sql.execute(text.pop("trace"))
        damaged = [row[0] for row in sql.execute(text.pop("damage")).fetchall()]
        sql.execute(text.pop("page"))
        rows = sql.execute("SELECT * FROM page").fetchall()
        columns = [column[0] for column in sql.description]
        pages = {row["host"]: row for row in (dict(zip(columns, values)) for values in rows)}
        shown = {name: sql.sql(query) for name, query in text.items()}
        wrong = compared = 0
        if damaged != sorted(name for name, *_, is_cut in hosts if is_cut):
            print(f"damaged hosts differ: {damaged}")
            wrong += 1
        for name, page, *_ in hosts:
            said, mine = figures(page), computed(pages[name])
            compared += len(said)
            for figure, one, other in differences(said, mine):
                print(f"{name}: {figure}: describe says {one}, the query {other}")
                wrong += 1
        events = sum(row["events"] for row in pages.values())
        traces, tables = (sum(host[at] for host in hosts) for at in (2, 3))
        for query in shown.values():
            print(query)
        print(f"{len(hosts)} hosts, {len(damaged)} of them with a damaged trace; {events} events; bytes per event:")
        print(f"{traces / events:.1f} in .twt, {tables / events:.1f} in .parquet")
        print(f"{compared} figures compared with describe, {wrong} differ")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
