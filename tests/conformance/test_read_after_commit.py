# SPDX-License-Identifier: Apache-2.0
"""DuckDB's iceberg extension picks a snapshot by the start of its own transaction.

So a read that begins right after a commit must find a snapshot, and a metadata-log entry, that is
no newer than its clock, also when that clock is half a second behind.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest
from lib.lakes import ROOT
from lib.soak import size

FAKETIME = pathlib.Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")

CHILD = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from lib.clients import DuckDBIceberg

class Lake: env = json.loads(sys.argv[2])
class Server: lake, url = Lake, sys.argv[3]
client = DuckDBIceberg(Server)
print("ready", flush=True)
for line in sys.stdin:
    try:
        found = client.connection.execute(line).fetchall()[0][0]
    except Exception as error:
        found = f"{type(error).__name__}: {error}"[:500]
    print(json.dumps(found), flush=True)
"""


class Reader:
    """DuckDB iceberg in a process of its own, with a clock that is off by so many seconds."""

    def __init__(self, server, offset: float):
        env = dict(os.environ)
        if offset:
            assert FAKETIME.exists(), "libfaketime is missing: run `make deps`"
            env |= {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"{offset:+.1f}s",
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        paths = [str(ROOT / "tests/integration"), str(ROOT / "tools")]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, json.dumps(paths), json.dumps(server.lake.env),
             server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, sql: str):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


@pytest.mark.parametrize("offset", [0, -0.5], ids=["same clock", "clock 500 ms behind"])
def test_a_read_right_after_a_commit_sees_it(server, offset):
    schema = "commit_" + ("late" if offset else "now")
    duck = server.lake.session()
    duck.execute(f"CREATE SCHEMA lake.{schema}; CREATE TABLE lake.{schema}.t (id INTEGER)")
    reader, wrong = Reader(server, offset), []
    try:
        for n in range(size(60, 1000)):
            duck.execute(f"INSERT INTO lake.{schema}.t VALUES ({n})")
            seen = reader.ask(f"SELECT count(*) FROM ice.{schema}.t")
            if seen != n + 1:
                wrong.append((n + 1, seen))
            if len(wrong) > 5:
                break
    finally:
        reader.close()
    assert not wrong, f"(rows committed, rows seen): {wrong}"


def test_the_first_read_of_a_new_table_right_after_its_commit(server):
    """A new table's only metadata may not be newer than the reader's transaction either."""
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.commit_first")
    reader = Reader(server, -0.5)
    try:
        for n in range(size(15, 200)):
            duck.execute(f"CREATE TABLE lake.commit_first.t{n} AS SELECT 7 AS id")
            assert reader.ask(f"SELECT sum(id) FROM ice.commit_first.t{n}") == 7
    finally:
        reader.close()


def test_time_travel_by_timestamp_is_right(server, clients):
    """At each snapshot's own published time, and between two of them, both clients see its rows."""
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.travel; CREATE TABLE lake.travel.t (id INTEGER)")
    for n in range(6):
        duck.execute(f"INSERT INTO lake.travel.t VALUES ({n})")
        began = time.time()
        # Published times have a resolution of their own; snapshots of this test are further apart.
        while time.time() - began < 1.2:
            server.load("travel", "t")
    snapshots = server.load("travel", "t")["metadata"]["snapshots"]
    assert len(snapshots) == 6
    ducklake = dict(server.lake.rows(
        "SELECT snapshot_id, (extract(epoch FROM snapshot_time) * 1000)::bigint FROM ducklake_snapshot"))
    for place, snapshot in enumerate(snapshots):
        published = snapshot["timestamp-ms"]
        assert abs(published - ducklake[snapshot["snapshot-id"]]) <= 1000
        stamp = f"make_timestamp({(published + 5) * 1000})"
        count = clients[1].connection.execute(
            f"SELECT count(*) FROM ice.travel.t AT (TIMESTAMP => {stamp})").fetchall()[0][0]
        assert count == place + 1, (snapshot, count)
        table = clients[0].load("travel", "t")
        found = table.snapshot_as_of_timestamp(published + 5)
        assert found.snapshot_id == snapshot["snapshot-id"]
