#!/usr/bin/env python3
"""ci/overhead.py [TICKWRIGHT] [PAIRS]: what does recording cost a server under load?

unbound, with one thread and on one CPU, forwards names that it has never seen to a server that
answers at once. It arms and cancels a timer for each. dnsperf on the other CPUs asks as fast as
unbound answers. Runs with and without `tickwright record` take turns. The table shows queries a
second and CPU time a query. Needs unbound, dnsperf, two CPUs and a quiet machine.
"""

import math
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/tickwright")
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
if PAIRS < 6:
    sys.exit("at least 6 pairs: fewer have no interval that holds in 95 of 100 cases")
SECONDS = 6
PORT, UPSTREAM = 25353, 25399

CONFIG = f"""server:
  interface: 127.0.0.1
  port: {PORT}
  num-threads: 1
  username: ""
  chroot: ""
  directory: "."
  pidfile: "unbound.pid"
  use-syslog: no
  verbosity: 0
  do-daemonize: no
  do-not-query-localhost: no
  module-config: "iterator"
  outgoing-range: 4096
  num-queries-per-thread: 2048
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@{UPSTREAM}
"""


def answer():
    """Answers each name with one address."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    server.bind(("127.0.0.1", UPSTREAM))
    record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x01\x02\x03\x04"
    while True:
        query, client = server.recvfrom(4096)
        end = 12 + query[12:].index(b"\0") + 5
        head = query[:2] + b"\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00"
        server.sendto(head + query[12:end] + record, client)


def names(path, seed):
    draw = random.Random(seed)
    with open(path, "w") as out:
        for i in range(400_000):
            out.write(f"{draw.getrandbits(40):x}{i:x}.com A\n")


def server_of(process):
    """The process id of unbound: itself, or the child of the recorder."""
    for _ in range(500):
        with open(f"/proc/{process.pid}/comm") as name:
            if name.read().strip() == "unbound":
                return process.pid
        children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
        for child in children:
            if open(f"/proc/{child}/comm").read().strip() == "unbound":
                return int(child)
        time.sleep(0.01)
    sys.exit("unbound did not start")


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(folder, recorded, seed):
    """Queries a second, and microseconds of CPU a query."""
    others = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    asked = os.path.join(folder, "names")
    names(asked, seed)
    words = ["taskset", "-c", "0", "unbound", "-d", "-c", "unbound.conf"]
    if recorded:
        words = [PROGRAM, "record", "--out", "run.twt", "--", *words]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pid = server_of(process)
        time.sleep(1)
        before = cpu_seconds(pid)
        told = subprocess.run(
            ["taskset", "-c", others, "dnsperf", "-s", "127.0.0.1", "-p", str(PORT), "-d", asked,
             "-l", str(SECONDS), "-q", "200", "-c", "4"],
            capture_output=True, check=True, text=True).stdout
        used = cpu_seconds(pid) - before
        done = int(re.search(r"Queries completed:\s+(\d+)", told)[1])
        rate = float(re.search(r"Queries per second:\s+([\d.]+)", told)[1])
    finally:
        os.kill(pid, signal.SIGTERM)
        process.wait(timeout=30)
    return rate, used / done * 1e6


def middle(ratios):
    """The median, and an interval that contains the true one in 95 of 100 cases."""
    ratios, count = sorted(ratios), len(ratios)
    # The ranks of the interval: as many of n coins show heads in the middle 95 % of all cases.
    chance = [math.comb(count, heads) / 2**count for heads in range(count + 1)]
    below = next(rank for rank in range(count + 1) if sum(chance[:rank + 1]) > 0.025)
    below = max(below - 1, 0)
    return statistics.median(ratios), f"{ratios[below]:.3f} to {ratios[count - 1 - below]:.3f}"


def main():
    # unbound has CPU 0 for itself. A thread has the CPUs of the thread that starts it.
    # So this comes before the server that answers.
    others = os.sched_getaffinity(0) - {0}
    if not others or 0 not in os.sched_getaffinity(0):
        sys.exit("unbound needs CPU 0 for itself, and dnsperf another: this machine offers one CPU")
    os.sched_setaffinity(0, others)
    threading.Thread(target=answer, daemon=True).start()
    found = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "unbound.conf"), "w") as out:
            out.write(CONFIG)
        for pair in range(PAIRS):
            for recorded in random.sample([False, True], 2):
                found[recorded].append(run(folder, recorded, pair * 2 + recorded))
    plain, with_record = found[False], found[True]
    print("| pair | plain, queries/s | recorded | ratio | plain, CPU us a query | recorded | ratio |")
    print("|---|---|---|---|---|---|---|")
    for pair, (a, b) in enumerate(zip(plain, with_record)):
        print(f"| {pair + 1} | {a[0]:.0f} | {b[0]:.0f} | {b[0] / a[0]:.3f} | {a[1]:.1f} | {b[1]:.1f} | {b[1] / a[1]:.3f} |")
    speed, speeds = middle([b[0] / a[0] for a, b in zip(plain, with_record)])
    cost, costs = middle([b[1] / a[1] for a, b in zip(plain, with_record)])
    print(f"\nMedian of the ratios: {speed:.3f} ({speeds}) of the queries a second, "
          f"{cost:.3f} ({costs}) of the CPU time a query.")
    if speed < 0.97:
        sys.exit("recording costs more than 3 % of the throughput")


main()
