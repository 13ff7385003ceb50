# SPDX-License-Identifier: Apache-2.0
"""The server, PostgreSQL or the object store dies at a random moment of a commit.

What was acknowledged is there; what was not is there wholly or not at all; and the client, that
sends the very same commit again, ends with the rows exactly once.
"""
import random
import threading
import time

import pyarrow as pa
import pytest
import requests
from lib.differential import readers
from lib.forge import Draft
from lib.lakes import Lake
from lib.rest import error_of
from lib.server import Server, command, eventually
from lib.soak import size
from lib.validate import Objects, live_files
from lib.watch import main_ids
from lib.writes import uuid7

ROWS = 5
HARM = ["server", "server", "server", "postgresql", "server", "server", "store", "server", "server",
        "postgresql"]


@pytest.fixture
def faulty(own_stack):
    lake = Lake(own_stack)
    assert command(lake, "init").returncode == 0
    with lake.duckdb() as duck:
        duck.execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t (id BIGINT)")
    server = Server(lake).start()
    yield server
    own_stack.pg.start()
    own_stack.s3.start()
    server.kill()
    lake.close()


class Killer:
    """Harms after a while, then repairs."""

    def __init__(self, stack, server, kind: str, seconds: float):
        self.stack, self.server, self.kind = stack, server, kind
        self._timer = threading.Timer(seconds, self._harm)
        self._timer.start()

    def _harm(self) -> None:
        if self.kind == "server":
            self.server.process.kill()
        elif self.kind == "postgresql":
            self.stack.pg.stop("immediate")
        else:
            self.stack.s3.stop()

    def repair(self) -> None:
        self._timer.join()
        if self.kind == "server":
            self.server.kill()
            self.server.start()
        elif self.kind == "postgresql":
            self.stack.pg.start()
        else:
            self.stack.s3.start()
        self.server.http.close()
        self.server.wait_ready()


def append(server, start: int) -> Draft:
    return Draft(server, "s", "t", lambda t: t.append(
        pa.table({"id": pa.array(range(start, start + ROWS), pa.int64())})))


def ids(server) -> list[int]:
    with server.lake.duckdb() as duck:
        return [row[0] for row in duck.execute("SELECT id FROM lake.s.t ORDER BY id").fetchall()]


def posted(draft: Draft, key: str | None) -> requests.Response | None:
    try:
        return draft.post(key=key)
    except requests.RequestException:
        return None  # the connection broke: the client knows nothing


def test_killed_at_random_moments_of_commits(own_stack, faulty):
    dice, expected, outcomes = random.Random(3), [], []
    began = time.monotonic()
    assert append(faulty, 0).post().status_code == 200
    usual = time.monotonic() - began
    expected += range(ROWS)
    for turn in range(1, size(20, 200) + 1):
        if turn % 4 == 0:  # DuckDB writes in between
            with faulty.lake.duckdb() as duck:
                duck.execute(f"INSERT INTO lake.s.t VALUES ({10**6 + turn})")
            expected = sorted([*expected, 10**6 + turn])
        own = list(range(turn * 100, turn * 100 + ROWS))
        draft = append(faulty, own[0])
        key = uuid7() if turn % 2 else None
        kind = HARM[turn % len(HARM)]
        killer = Killer(own_stack, faulty, kind, dice.uniform(0, min(usual, 0.3)))
        answer = posted(draft, key)
        killer.repair()
        now = eventually("DuckLake answers", lambda: ids(faulty))
        more = sorted(set(now) - set(expected))
        assert sorted(now) == sorted([*expected, *more]), "rows were lost or doubled"
        assert more in ([], own), f"turn {turn}: a part of a commit: {more}"
        if answer is not None and answer.status_code == 200:
            assert more == own, f"turn {turn}, {kind}: acknowledged and gone"
        elif answer is not None:
            error_of(answer, answer.status_code)
            assert answer.status_code in (500, 502, 503, 504), answer.text
            if answer.status_code == 503:
                assert more == [], f"turn {turn}, {kind}: answered 503, yet committed"
        outcomes.append((kind, getattr(answer, "status_code", None), bool(more)))
        again = eventually("the same commit again is answered", lambda: (
            lambda a: a if a is not None and a.status_code < 500 else None)(posted(draft, key)), 60)
        assert again.status_code == 200, f"turn {turn}, {kind}: {again.text}"
        expected = sorted([*expected, *own])
        assert ids(faulty) == expected, f"turn {turn}, {kind}"
    print("\n", {o: outcomes.count(o) for o in sorted(set(outcomes), key=str)})
    body = faulty.load("s", "t")["metadata"]
    assert main_ids(body) == [s["snapshot-id"] for s in body["snapshots"]]
    objects = Objects(faulty.lake.s3())
    for snapshot in body["snapshots"]:
        for path in live_files(objects, snapshot["manifest-list"]):
            assert objects.exists(path)
    for client in readers(faulty):
        rows = client.rows(client.load("s", "t")) if client.name == "pyiceberg" else (
            client.rows("s", "t"))
        assert sorted(row[0] for row in rows.bag.elements()) == expected
