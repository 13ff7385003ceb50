#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures commits of Iceberg clients beside DuckDB's own, on one private stack in one run: `make bench`."""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "integration"), str(ROOT / "bench")]
import duck  # noqa: E402
import psycopg  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from devstack_lib import Stack  # noqa: E402
from lib.server import free_port  # noqa: E402
from run import BUILD, Process, metrics  # noqa: E402

CASES = ((1, 1), (8, 8), (32, 32), (8, 1), (32, 1))
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "id", "type": "long", "required": False},
    {"id": 2, "name": "name", "type": "string", "required": False}]}


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.loads(urllib.request.urlopen(request, timeout=60).read() or b"{}")


def make_tables(url: str, space: str, count: int) -> list[str]:
    post(f"{url}/v1/lake/namespaces", {"namespace": [space]})
    out = []
    for i in range(count):
        post(f"{url}/v1/lake/namespaces/{space}/tables", {"name": f"t{i}", "schema": SCHEMA})
        out.append(f"{url}/v1/lake/namespaces/{space}/tables/t{i}")
    return out


def data_file(path: pathlib.Path) -> pathlib.Path:
    """Ten rows of the tables' columns, from `x` on: shorter bounds than its own are cut ones."""
    fields = [pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
              pa.field("name", pa.string(), metadata={"PARQUET:field_id": "2"})]
    pq.write_table(pa.table([list(range(10)), [f"x{i}" * 20 for i in range(10)]], schema=pa.schema(fields)), path)
    return path


def calls(seen: dict) -> float:
    return sum(v for n, v in seen.items() if n.startswith("duckicelake_s3_calls_total"))


def commits(env: dict, url: str, space: str, clients: int, tables: int, seconds: int) -> dict:
    urls = make_tables(url, space, tables)
    before = metrics(url)
    out = subprocess.run([BUILD / "bench/commit_client", str(seconds), str(clients), *urls], env=env, check=True,
                         stdout=subprocess.PIPE, text=True)
    result = json.loads(out.stdout)
    after = metrics(url)
    done = after['duckicelake_commit_total{outcome="ok"}'] - before['duckicelake_commit_total{outcome="ok"}'] - 0
    shared = (after["duckicelake_commit_written_total"] - before["duckicelake_commit_written_total"]) / max(
        1, after["duckicelake_commit_transactions_total"] - before["duckicelake_commit_transactions_total"])
    result["commits_per_transaction"] = round(shared, 1)
    for name in ("pg_statements_total", "pg_round_trips_total", "s3_sent_bytes_total"):
        key = f"duckicelake_{name}"
        result[name.removesuffix("_total") + "_per_commit"] = round((after[key] - before[key]) / max(1, done), 1)
    result["s3_calls_per_commit"] = round((calls(after) - calls(before)) / max(1, done), 2)
    return result


def growth(env: dict, url: str, lake, files: int) -> None:
    """What a commit costs on a small and on a large table, and what answers weigh after many snapshots."""
    def commit(table: str, seconds: int) -> None:
        subprocess.run([BUILD / "bench/commit_client", str(seconds), "1", table], env=env, check=True,
                       stdout=subprocess.DEVNULL)

    def cost(table: str) -> str:
        commit(table, 0)  # its first projection is not the commit's cost
        before = metrics(url)
        commit(table, 0)
        after = metrics(url)
        def grown(name: str) -> float:
            return sum(after[n] - before.get(n, 0) for n in after if n.startswith(f"duckicelake_{name}"))
        return (f"{grown('pg_statements_total'):.0f} statements in {grown('pg_round_trips_total'):.0f} round trips, "
                f"{grown('pg_rows_read_total'):.0f} rows read, {grown('files_written_total'):.0f} files written")

    small = make_tables(url, "growth", 1)[0]
    for _ in range(10):
        commit(small, 0)
    weight = len(urllib.request.urlopen(small).read())
    print(f"A commit on 10 files: {cost(small)}", flush=True)
    lake.execute("CREATE TABLE lake.growth.large (id BIGINT, name VARCHAR)")
    lake.execute("ALTER TABLE lake.growth.large SET PARTITIONED BY (id)")
    for start in range(0, files, 1000):
        lake.execute(f"INSERT INTO lake.growth.large SELECT i, 'x' FROM range({start}, {start + 1000}) t(i)")
    print(f"A commit on {files} files: {cost(small.replace('/t0', '/large'))}", flush=True)
    while True:
        commit(small, 1)
        body = urllib.request.urlopen(small).read()
        count = len(json.loads(body)["metadata"]["snapshots"])
        if count >= 1000:
            break
    print(f"An answer weighs {weight} bytes at 10 snapshots, {len(body)} at {count}", flush=True)


def duckdb_commits(env: dict, seconds: int) -> float:
    """Single-row-group inserts of one session, each its own DuckLake snapshot with one Parquet file."""
    lake = duck.lake(env)
    lake.execute("CREATE SCHEMA IF NOT EXISTS lake.duck")
    lake.execute("CREATE TABLE lake.duck.own (id BIGINT, name VARCHAR)")
    count, start = 0, time.monotonic()
    while time.monotonic() - start < seconds:
        lake.execute("INSERT INTO lake.duck.own SELECT i, 'x' FROM range(20) t(i)")
        count += 1
    return count / (time.monotonic() - start)


def write_to_visible(env: dict, tries: int = 100, burst: int = 40) -> None:
    """From the end of a DuckDB INSERT to the moment when its Iceberg metadata is on S3 for everybody.

    The sidecar's row is written after all objects are, so it tells.
    """
    lake = duck.lake(env)
    lake.execute("CREATE SCHEMA IF NOT EXISTS lake.warm")
    for i in range(burst):
        lake.execute(f"CREATE TABLE lake.warm.t{i} (id BIGINT, name VARCHAR)")
    lake.execute("CREATE TABLE lake.warm.one (id BIGINT, name VARCHAR)")
    with psycopg.connect(**{key: env[f"DUCKICELAKE_PG_{name}"] for key, name in
                            (("host", "HOST"), ("port", "PORT"), ("user", "USER"), ("password", "PASSWORD"),
                             ("dbname", "DATABASE"))}, autocommit=True) as pg:
        def behind() -> int:
            return pg.execute("SELECT count(*) FROM (SELECT DISTINCT ON (f.table_id) f.table_id, f.begin_snapshot FROM "
                              "ducklake_data_file f ORDER BY f.table_id, f.begin_snapshot DESC) n LEFT JOIN "
                              "duckicelake.table_state s USING (table_id) "
                              "WHERE coalesce(s.through_snapshot, -1) < n.begin_snapshot OR s.is_dirty").fetchone()[0]

        def until_warm() -> float:
            start = time.monotonic()
            while behind():
                if time.monotonic() - start > 60:
                    sys.exit("a DuckDB commit did not become warm")
                time.sleep(0.002)
            return time.monotonic() - start
        until_warm()
        times = []
        for _ in range(tries):
            lake.execute("INSERT INTO lake.warm.one SELECT i, 'x' FROM range(20) t(i)")
            times.append(until_warm())
        times.sort()
        print(f"DuckDB INSERT to warm on S3, {tries} writes: p50 {times[tries // 2] * 1000:.0f} ms, "
              f"p95 {times[tries * 95 // 100] * 1000:.0f} ms")
        start = time.monotonic()
        for i in range(burst):
            lake.execute(f"INSERT INTO lake.warm.t{i} SELECT i, 'x' FROM range(20) t(i)")
        wrote = time.monotonic() - start
        print(f"A burst of {burst} writes to {burst} tables ({wrote:.2f} s) is warm {until_warm() * 1000:.0f} ms after its end",
              flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--files", type=int, default=10_000, help="of the large table")
    parser.add_argument("--only", help="one case, as clients x tables: 32x32")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duckicelake-bench-") as folder:
        os.chmod(folder, 0o755)
        stack = Stack.open(pathlib.Path(folder) / "stack", fsync=False)
        stack.up()
        try:
            port = free_port()
            url = f"http://127.0.0.1:{port}"
            env = stack.process_environment() | {"DUCKICELAKE_LISTEN_HOST": "127.0.0.1", "DUCKICELAKE_PORT": str(port),
                                                 "DUCKICELAKE_LOG_LEVEL": "WARNING"}
            binary = BUILD / "src/app/duckicelake"
            subprocess.run([binary, "init"], env=env, check=True, stdout=subprocess.DEVNULL)
            with Process([binary, "serve"], env, f"{url}/readyz"):
                own = duckdb_commits(stack.env(), given.seconds)
                print(f"DuckDB's own commits, one session: {own:.1f}/s", flush=True)
                if not given.only:
                    write_to_visible(stack.env())
                    growth(env, url, duck.lake(stack.env()), given.files)
                data = {"BENCH_DATA_FILE": str(data_file(pathlib.Path(folder) / "data.parquet"))}
                cases = [(c, t, "", {}) for c, t in CASES] + [(c, c, ", footers read", data) for c in (1, 32)]
                for number, (clients, tables, what, more) in enumerate(cases):
                    if given.only and given.only != f"{clients}x{tables}":
                        continue
                    result = commits(env | more, url, f"case{number}", clients, tables, given.seconds)
                    print(f"{clients} client(s), {tables} table(s){what}: {result['commits_per_second']:.1f} commits/s "
                          f"({result['commits_per_second'] / own:.2f} of DuckDB's own), "
                          f"{result['conflicts_per_second']:.1f} conflicts/s, p50 {result['p50_ms']:.1f} ms, "
                          f"p99 {result['p99_ms']:.1f} ms; per commit {result['pg_statements_per_commit']} statements in "
                          f"{result['pg_round_trips_per_commit']} round trips, {result['s3_calls_per_commit']} calls to S3, {result['commits_per_transaction']} commits a "
                          f"transaction, {result['s3_sent_bytes_per_commit']:.0f} bytes "
                          f"to S3, {result['bytes_per_answer']:.0f} bytes answered", flush=True)
        finally:
            stack.destroy()
    return 0


if __name__ == "__main__":
    sys.exit(main())
