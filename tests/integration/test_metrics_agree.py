# SPDX-License-Identifier: Apache-2.0
"""What /metrics says of commits, projections, the object store, the pool and the cache is what was done."""
import re
import time

import pyarrow as pa
import pytest
from lib.clients import PyIceberg
from lib.forge import Draft, post
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

SPACE = "counted"


@pytest.fixture
def watched(fresh_server):
    """The samples that moved while a block ran, without their catalog label."""
    class Watched:
        def __enter__(self):
            self.before = settled(fresh_server)
            return self

        def __exit__(self, *_):
            after = settled(fresh_server)
            self.moved = {n: after[n] - self.before.get(n, 0) for n in after if after[n] != self.before.get(n, 0)}
            self.now = after

        def by(self, name: str, **labels) -> float:
            total = 0.0
            for full, value in self.moved.items():
                found = dict(re.findall(r'(\w+)="([^"]*)"', full))
                if full.split("{")[0] == name and all(found.get(k) == v for k, v in labels.items()):
                    total += value
            return total
    return Watched()


def settled(server) -> dict[str, float]:
    """Metrics when nothing is under way any more: the late version hints are written."""
    last = None
    while True:
        now = server.metrics()
        calls = sum(v for n, v in now.items() if n.startswith("duckicelake_s3_calls_total"))
        if calls == last:
            return now
        last = calls
        time.sleep(0.8)


def rows(start: int, stop: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, stop), pa.int64())})


def test_commits_and_what_they_cost_are_counted_as_they_were(fresh_server, watched):
    server = fresh_server
    server.lake.session().execute(f"CREATE SCHEMA lake.{SPACE}")
    client = PyIceberg(server).catalog
    table = client.create_table((SPACE, "t"), Schema(NestedField(1, "id", LongType())))
    table.append(rows(0, 5))

    first = Draft(server, SPACE, "t", lambda t: t.append(rows(5, 9)))
    stale = Draft(server, SPACE, "t", lambda t: t.append(rows(9, 12)))
    with watched as seen:
        assert first.post().status_code == 200
    commit = "duckicelake_commit_total"
    assert (seen.by(commit), seen.by(commit, outcome="ok")) == (1, 1)
    written = "duckicelake_files_written_total"
    assert {kind: seen.by(written, kind=kind) for kind in ("manifest", "manifest_list", "metadata", "delete", "inlined")} \
        == {"manifest": 1, "manifest_list": 1, "metadata": 1, "delete": 0, "inlined": 0}
    assert seen.by("duckicelake_projections_total") == 1
    # The three files and the version hint; the client's list and its manifest.
    calls = "duckicelake_s3_calls_total"
    assert (seen.by(calls, operation="put", outcome="ok"), seen.by(calls, operation="get", outcome="ok")) == (4, 2)
    assert seen.by(calls) == 6 and seen.by("duckicelake_s3_sent_bytes_total") > 1000
    assert seen.by("duckicelake_pg_statements_total") >= seen.by("duckicelake_pg_round_trips_total") > 5
    assert seen.by("duckicelake_requests_total", status="2xx", method="POST") == 1

    with watched as seen:
        assert first.post().status_code == 200
    assert {n: v for n, v in seen.moved.items() if n.startswith(commit)} and seen.by(commit) == 1
    assert seen.by(commit, outcome="repeated") == 1 and seen.by(written) == 0

    with watched as seen:
        assert stale.post().status_code == 409
        assert post(server, SPACE, "t", b'{"requirements":[],"updates":[{"action":"nonsense"}]}').status_code == 400
    assert seen.by(commit, outcome="conflict") == 1 and seen.by(commit, outcome="ok") == 0
    assert seen.by(written) == 0 and seen.by(calls, operation="put") == 0

    with watched as seen:
        for _ in range(7):
            server.load(SPACE, "t")
    assert seen.by("duckicelake_metadata_cache_hits_total") == 7
    assert seen.by("duckicelake_metadata_cache_misses_total") == 0 and seen.by(calls) == 0
    assert seen.by("duckicelake_head_questions_total") >= 7

    server.lake.session().execute(f"INSERT INTO lake.{SPACE}.t SELECT i FROM range(20) r(i)")
    with watched as seen:
        server.load(SPACE, "t")
        server.load(SPACE, "t")
    assert seen.by("duckicelake_metadata_cache_misses_total") == 1
    assert seen.by("duckicelake_metadata_cache_hits_total") == 1
    assert seen.by(written, kind="metadata") == 1

    # Nothing is under way: what was handed out came back, and the connections are those that were made.
    now = seen.now
    assert now["duckicelake_pg_pool_in_use"] + now["duckicelake_pg_pool_idle"] >= 1
    assert now["duckicelake_pg_pool_waiting"] == 0 and now["duckicelake_pg_pool_timeouts_total"] == 0
    made = now["duckicelake_pg_connects_total"] - now["duckicelake_pg_dropped_total"]
    assert now["duckicelake_pg_pool_in_use"] + now["duckicelake_pg_pool_idle"] <= made
    assert sum(v for n, v in now.items() if n.startswith("duckicelake_metadata_cache_size")) == 1
