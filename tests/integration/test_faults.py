# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL away, object store away, killed at any moment, two processes at once."""
import json
import random
import threading
import time

import pytest
import requests
import urllib3
from fixtures import served_lake
from lib.differential import readers
from lib.lakes import Lake
from lib.rest import error_of
from lib.server import Server, command, eventually, free_port
from lib.soak import size
from lib.validate import Objects, live_files


@pytest.fixture
def faulty(own_stack):
    """A server with a small table, whose services the test takes away."""
    lake = Lake(own_stack)
    assert command(lake, "init").returncode == 0
    with lake.duckdb(DATA_INLINING_ROW_LIMIT=0) as duck:
        duck.execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t (id INTEGER)")
        duck.execute("INSERT INTO lake.s.t SELECT i FROM range(20) r(i)")
    server = Server(lake).start()
    yield server
    own_stack.pg.start()
    own_stack.s3.start()
    server.kill()
    lake.close()


def insert(lake: Lake, start: int, rows: int = 20) -> int:
    with lake.duckdb(DATA_INLINING_ROW_LIMIT=0) as duck:
        duck.execute(f"INSERT INTO lake.s.t SELECT i FROM range({start}, {start + rows}) r(i)")
    return lake.head()


def right(server: Server, rows: int) -> None:
    """The table's newest snapshot is DuckLake's, every listed file is there, all rows are read."""
    body = server.load("s", "t")
    assert body["metadata"]["current-snapshot-id"] == server.lake.head()
    objects = Objects(server.lake.s3())
    for snapshot in body["metadata"]["snapshots"]:
        for path in live_files(objects, snapshot["manifest-list"]):
            assert objects.exists(path)
    client = readers(server)[0]
    assert client.rows(client.load("s", "t")).count == rows


class Load:
    """Requests without pause from some threads; every answer's status is kept."""

    def __init__(self, server: Server, threads: int = 4):
        self.answers: list[tuple[float, int, str | None]] = []
        self.broken: list[str] = []
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(server,)) for _ in range(threads)]

    def _run(self, server: Server) -> None:
        http = requests.Session()
        while not self._done.is_set():
            try:
                answer = http.get(f"{server.api}/namespaces/s/tables/t", timeout=120)
            except requests.RequestException as error:
                self.broken.append(str(error))
                continue
            self.answers.append((time.monotonic(), answer.status_code,
                                 answer.headers.get("Retry-After")))
            if answer.status_code != 200:
                error_of(answer, answer.status_code)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        for thread in self._threads:
            thread.join()

    def seen(self, status: int) -> int:
        return sum(s == status for _, s, _ in self.answers)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgresql_goes_away_under_load_and_comes_back(own_stack, faulty, mode):
    with Load(faulty) as load:
        eventually("loads are answered", lambda: load.seen(200) > 20)
        own_stack.pg.stop(mode)
        eventually("503 while PostgreSQL is away", lambda: load.seen(503) > 3, 90)
        assert faulty.http.get(f"{faulty.url}/healthz").status_code == 200
        eventually("not ready", lambda: faulty.http.get(
            f"{faulty.url}/readyz").status_code == 503)
        own_stack.pg.start()
        back = time.monotonic()
        eventually("recovery without a restart",
                   lambda: any(t > back and s == 200 for t, s, _ in load.answers), 60)
    assert not load.broken, load.broken[:3]
    assert {s for _, s, _ in load.answers} == {200, 503}
    assert all(retry and int(retry) >= 1 for _, s, retry in load.answers if s == 503)
    eventually("ready again", lambda: faulty.http.get(f"{faulty.url}/readyz").status_code == 200)
    insert(faulty.lake, 20)
    right(faulty, 40)


def test_the_object_store_goes_away_and_comes_back(own_stack, faulty):
    cached = faulty.load("s", "t")
    own_stack.s3.stop()
    assert faulty.load("s", "t") == cached
    # A change that the server cannot write out: 503, or the old state would be stale.
    with faulty.lake.duckdb(DATA_INLINING_ROW_LIMIT=10) as duck:
        duck.execute("INSERT INTO lake.s.t VALUES (1000)")
    answer = faulty.get("/namespaces/s/tables/t", timeout=120)
    error_of(answer, 503)
    assert int(answer.headers["Retry-After"]) >= 1
    own_stack.s3.start()
    eventually("recovery without a restart",
               lambda: faulty.get("/namespaces/s/tables/t", timeout=120).status_code == 200, 60)
    right(faulty, 21)


def test_killed_at_random_moments_the_next_load_is_right(faulty):
    rows, dice = 20, random.Random(7)
    faulty.stop()
    for turn in range(size(8, 50)):
        rows += 20
        insert(faulty.lake, rows)
        if turn % 3 == 0:
            with faulty.lake.duckdb() as duck:
                duck.execute(f"DELETE FROM lake.s.t WHERE id = {rows + 1}")
            rows -= 1
        faulty.start()
        killer = threading.Timer(dice.uniform(0, 0.25), faulty.process.kill)
        killer.start()
        try:
            requests.get(f"{faulty.api}/namespaces/s/tables/t", timeout=30)
        except requests.RequestException:
            pass  # killed meanwhile
        killer.join()
        faulty.kill()
    faulty.start()
    right(faulty, rows)


def test_two_processes_start_at_once_and_are_both_right(own_stack):
    lake = Lake(own_stack)
    lake.duckdb().close()  # a lake that no server has seen: `serve` finds nothing of its own
    first, second = (Server(lake, port=free_port()) for _ in range(2))
    try:
        assert command(lake, "init").returncode == 0
        for server in (first, second):
            server.start(wait=False)
        for server in (first, second):
            server.wait_ready()
        with lake.duckdb() as duck:
            duck.execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t (id INTEGER)")
            for n in range(size(30, 300)):
                duck.execute(f"INSERT INTO lake.s.t VALUES ({n})")
                bodies, threads = {}, []
                for server in (first, second):
                    thread = threading.Thread(
                        target=lambda s=server: bodies.update({s.port: s.load("s", "t")}))
                    thread.start()
                    threads.append(thread)
                for thread in threads:
                    thread.join()
                heads = {b["metadata"]["current-snapshot-id"] for b in bodies.values()}
                assert heads == {lake.head()}, heads
                chains = [[(s["snapshot-id"], s["manifest-list"], s["timestamp-ms"])
                           for s in b["metadata"]["snapshots"]] for b in bodies.values()]
                assert len(chains) == 2 and chains[0] == chains[1]
        for server in (first, second):
            right(server, size(30, 300))
    finally:
        first.kill()
        second.kill()
        lake.close()


def test_two_inits_at_once(own_stack):
    lake = Lake(own_stack)
    results: list = []
    threads = [threading.Thread(target=lambda: results.append(command(lake, "init")))
               for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.returncode for r in results] == [0, 0], [r.stderr for r in results]
    assert command(lake, "init").returncode == 0
    lake.close()


def test_the_server_ends_in_peace_on_sigterm(faulty):
    with Load(faulty, threads=2) as load:
        eventually("loads are answered", lambda: load.seen(200) > 10)
        assert faulty.stop() == 0
    assert {s for _, s, _ in load.answers} <= {200, 503}


def test_a22_overload_is_told_with_a_time_and_clients_that_wait_finish(stack):
    """Refusals have a body and Retry-After whatever refuses: no worker free, or too many connections."""
    for server in served_lake(stack, DUCKICELAKE_WORKER_THREADS=1, DUCKICELAKE_WORKER_QUEUE=1,
                              DUCKICELAKE_MAX_CONNECTIONS=24):
        server.lake.session().execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t (id INTEGER)")
        refused, done = [], []

        class Counted(urllib3.Retry):
            def increment(self, method=None, url=None, response=None, **more):
                if response is not None:
                    refused.append((response.status, dict(response.headers), response.data))
                return super().increment(method, url, response, **more)

        def client():
            # What polite clients do: wait as they are told, then try again.
            polite = Counted(total=200, connect=200, read=200, status_forcelist=[429, 503],
                             respect_retry_after_header=True, backoff_factor=0.1, backoff_max=1)
            with urllib3.PoolManager(retries=polite, timeout=60) as http:
                for path in ("/namespaces", "/namespaces/s/tables", "/namespaces/s/tables/t") * 3:
                    answer = http.request("GET", server.api + path)
                    done.append(answer.status)
        threads = [threading.Thread(target=client) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert done == [200] * (40 * 9)
        assert refused, "nothing was refused: nothing is shown"
        for status, headers, body in refused:
            assert status == 503
            assert int(headers["retry-after"]) >= 1
            error = json.loads(body)["error"]
            assert error["code"] == 503 and error["type"] and error["message"]
        print(f"\n{len(refused)} refusals, {len(done)} answers")
