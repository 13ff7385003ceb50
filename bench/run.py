#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the server on a private stack and prints ratios of one run: `make bench`.

LoadTable on a hit, beside a static responder that sends the same bytes with the same HTTP server and the same
number of I/O threads; rounds alternate, so that a busy machine disturbs both alike. Then the first projection of a
table of many files and snapshots, and what one further append costs.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "integration")]
import duck  # noqa: E402
from devstack_lib import Stack  # noqa: E402
from lib.server import free_port  # noqa: E402


class Process:
    """A program in the background, ended with the block."""

    def __init__(self, words, env, url):
        self.words, self.env, self.url = words, env, url

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(w) for w in self.words], env=self.env, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=2).read()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.log.seek(0)
                    sys.exit(f"{self.words[0]} does not answer:\n{self.log.read().decode(errors='replace')[-2000:]}")
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def rss_mb(self, field="VmRSS"):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1024


def milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]


def wrk(url: str, connections: int, seconds: int, *options: str) -> tuple[float, float]:
    """Requests per second and the 99th percentile in milliseconds."""
    out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *options, url], text=True,
                         capture_output=True, check=True).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        sys.exit(f"wrk met errors on {url}:\n{out}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), milliseconds(re.search(r"^ +99%\s+(\S+)", out, re.M)[1])


def metrics(url: str) -> dict[str, float]:
    text = urllib.request.urlopen(f"{url}/metrics").read().decode()
    return {m[1]: float(m[2]) for m in re.finditer(r"^(\w+(?:\{[^}]*\})?) ([-+.\deE]+)$", text, re.M)}


def hot_path(server: Process, url: str, env: dict, given: argparse.Namespace, lake) -> None:
    io_threads = given.io_threads
    lake.execute("CREATE SCHEMA IF NOT EXISTS lake.bench")
    lake.execute("CREATE TABLE lake.bench.hot (id BIGINT, name VARCHAR, made TIMESTAMP, amount DECIMAL(10,2))")
    table = f"{url}/v1/lake/namespaces/bench/tables/hot"
    while True:
        lake.execute("INSERT INTO lake.bench.hot SELECT i, 'n' || i, now()::TIMESTAMP, i FROM range(20) t(i)")
        body = urllib.request.urlopen(table).read()
        if len(body) >= 20_000:
            break
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(body)
        file.flush()
        port = free_port()
        static_url = f"http://127.0.0.1:{port}/"
        with Process([given.build / "bench/static_responder", file.name, port, io_threads], env, static_url):
            idle = server.rss_mb()
            ours, static, p99, p99_static = [], [], [], []
            before = metrics(url)
            for _ in range(given.rounds):
                a, b = wrk(static_url, 32, given.seconds)
                static.append(a)
                p99_static.append(b)
                a, b = wrk(table, 32, given.seconds)
                ours.append(a)
                p99.append(b)
            after = metrics(url)
    reads, asked = (sum(after[n] - before.get(n, 0) for n in after if n.startswith(f"duckicelake_head_{kind}_total"))
                    for kind in ("probes", "questions"))
    ratio = statistics.median(o / s for o, s in zip(ours, static))
    print(f"LoadTable on a hit, {len(body)} bytes, 32 connections, {io_threads} I/O thread(s), freshness proved:")
    print(f"  ours   {statistics.median(ours):9.0f} requests/s, p99 {statistics.median(p99):.2f} ms")
    print(f"  static {statistics.median(static):9.0f} requests/s, p99 {statistics.median(p99_static):.2f} ms")
    print(f"  ratio  {ratio:.2f} (rounds: {', '.join(f'{o / s:.2f}' for o, s in zip(ours, static))})")
    print(f"  {asked / max(1, reads):.1f} requests proved by one read of the head")
    print(f"  RSS idle {idle:.0f} MB, under load {server.rss_mb():.0f} MB")


def big_table(server: Process, url: str, files: int, snapshots: int, lake) -> None:
    lake.execute("CREATE TABLE lake.bench.big (id BIGINT, part INTEGER, name VARCHAR)")
    lake.execute("ALTER TABLE lake.bench.big SET PARTITIONED BY (part)")
    each = max(1, files // snapshots)
    for s in range(snapshots):
        lake.execute(f"INSERT INTO lake.bench.big SELECT {s}, i, 'x' FROM range({max(each, 11)}) t(i)")
    table = f"{url}/v1/lake/namespaces/bench/tables/big"
    before, start = metrics(url), time.monotonic()
    size = len(urllib.request.urlopen(table, timeout=600).read())
    took = time.monotonic() - start
    print(f"First projection of {snapshots} snapshots and {snapshots * max(each, 11)} files: {took:.1f} s, "
          f"{size} bytes of metadata, peak RSS {server.rss_mb('VmHWM'):.0f} MB")
    lake.execute("INSERT INTO lake.bench.big SELECT 0, 0, 'x' FROM range(20)")
    before, start = metrics(url), time.monotonic()
    urllib.request.urlopen(table, timeout=600).read()
    took, after = time.monotonic() - start, metrics(url)
    print(f"One further append: {took * 1000:.0f} ms;", ", ".join(
        f"{name.removeprefix('duckicelake_')} +{after[name] - before.get(name, 0):g}" for name in sorted(after)
        if after[name] != before.get(name, 0) and re.search("written|rows_read|round_trips", name)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help="build folder")
    parser.add_argument("--io-threads", type=int, default=1)
    parser.add_argument("--files", type=int, default=10_000, help="of the big table; 0: no big table")
    parser.add_argument("--snapshots", type=int, default=1_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duckicelake-bench-") as folder:
        os.chmod(folder, 0o755)
        stack = Stack.open(pathlib.Path(folder) / "stack", fsync=False)
        stack.up()
        try:
            port = free_port()
            url = f"http://127.0.0.1:{port}"
            env = stack.process_environment() | {"DUCKICELAKE_LISTEN_HOST": "127.0.0.1", "DUCKICELAKE_PORT": str(port),
                                                 "DUCKICELAKE_IO_THREADS": str(given.io_threads),
                                                 # First projections are measured here, not anticipated.
                                                 "DUCKICELAKE_DISABLE_NOTIFY": "1", "DUCKICELAKE_LOG_LEVEL": "WARNING"}
            binary = given.build / "src/app/duckicelake"
            subprocess.run([binary, "init"], env=env, check=True, stdout=subprocess.DEVNULL)
            lake = duck.lake(stack.env())
            with Process([binary, "serve"], env, f"{url}/readyz") as server:
                hot_path(server, url, env, given, lake)
                if given.files:
                    big_table(server, url, given.files, given.snapshots, lake)
        finally:
            stack.destroy()
    return 0


if __name__ == "__main__":
    sys.exit(main())
