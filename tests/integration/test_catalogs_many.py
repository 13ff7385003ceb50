# SPDX-License-Identifier: Apache-2.0
"""Many catalogs: what they cost, how they make room, what other processes and dying ones do."""
from __future__ import annotations

import collections
import concurrent.futures
import statistics
import threading
import time

import pyarrow
import pytest
import requests
from lib.clients import PyIceberg
from lib.lakes import Lake
from lib.server import Server, command, eventually, free_port
from lib.tenants import LONG, Tenant, close, create, spec


@pytest.fixture(scope="module")
def server(own_lake):
    running = Server(own_lake).start()
    yield running
    assert running.stop() == 0


def median_ms(call, times: int = 200) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        assert call().status_code == 200
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e3


def sessions(lake) -> int:
    return lake.rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                     "AND pid <> pg_backend_pid()")[0][0]


def threads(server) -> int:
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))


def test_registered_catalogs_cost_a_row_until_they_are_used(own_lake):
    lake = own_lake
    duckdb = lake.session()
    duckdb.execute("CREATE SCHEMA lake.cost; CREATE TABLE lake.cost.t AS SELECT range AS id FROM range(2000)")
    found = {}
    for count in (0, 2000):
        lake.postgres.execute(
            "INSERT INTO duckicelake.catalog (catalog_id, metadata_schema, data_path, is_shared) SELECT "
            "'idle-' || i, 'idle_' || i, 's3://nowhere/idle-' || i || '/', true FROM generate_series(1, %s) i",
            (count,))
        began = time.perf_counter()
        server = Server(lake).start()
        started = time.perf_counter() - began
        try:
            path = "/namespaces/cost/tables/t"
            assert server.get(path).status_code == 200
            latency = median_ms(lambda: server.get(path))
            idle_sessions, idle_threads, before = sessions(lake), threads(server), server.rss_bytes()
            # The registry is read, and nobody is found.
            unknown = [requests.get(f"{server.url}/v1/nobody-{i}/namespaces", timeout=60).status_code
                       for i in range(50)]
            assert set(unknown) == {404}
            statements = server.metrics()["duckicelake_pg_statements_total"]
            probes = server.metrics()["duckicelake_head_probes_total"]
            for i in range(200):
                assert requests.get(f"{server.url}/v1/nobody-{i}/namespaces", timeout=60).status_code == 404
            metrics = server.metrics()
            asked = metrics["duckicelake_pg_statements_total"] - statements
            heads = metrics["duckicelake_head_probes_total"] - probes
            # Head reads are the I/O threads' own session; the record of decisions writes now and then.
            assert asked <= heads + 20, (asked, heads)
            assert metrics["duckicelake_catalogs_registered"] == count
            assert metrics["duckicelake_catalogs_open"] == 0
            found[count] = (started, server.rss_bytes(), latency)
            print(f"{count} registered: ready in {started:.2f} s, RSS {before / 2**20:.1f} MiB, with the registry "
                  f"{server.rss_bytes() / 2**20:.1f} MiB; cached load {latency:.3f} ms; {idle_sessions} sessions, "
                  f"{idle_threads} threads; 200 unknown names: {asked:.0f} statements, {heads:.0f} heads")
            found[count] += (idle_sessions, idle_threads)
        finally:
            assert server.stop() == 0
    lake.postgres.execute("DELETE FROM duckicelake.catalog WHERE catalog_id LIKE 'idle-%'")
    assert found[2000][3] <= found[0][3] + 2 and found[2000][4] <= found[0][4] + 2
    assert found[2000][1] - found[0][1] < 2000 * 4096
    assert found[2000][0] < found[0][0] + 2


@pytest.fixture(scope="module")
def eight(server):
    made = [Tenant(server, f"many-{i}") for i in range(8)]
    for number, tenant in enumerate(made):
        answer = tenant("POST", "/namespaces/default/tables", {"name": "t", "schema": LONG})
        assert answer.status_code == 200, answer.text
        table = PyIceberg(server, warehouse=tenant.name).load("default", "t")
        table.append(pyarrow.table({"id": list(range(number * 100, number * 100 + 10))}))
    yield made
    for tenant in made:
        tenant.close()


def test_fewer_open_than_are_in_use_under_load(own_lake, eight):
    """Two may be open, eight are in use at once: loads, commits and namespaces, and no error."""
    small = Server(own_lake, DUCKICELAKE_MAX_ACTIVE_CATALOGS="2").start()
    try:
        wrong, done = [], [0]
        stop = time.monotonic() + 12

        def work(number: int, turn: int):
            http = requests.Session()
            base = f"{small.url}/v1/{eight[number].name}"
            expected = eight[number].load("default", "t")["metadata"]["table-uuid"]
            while time.monotonic() < stop:
                kind = done[0] % 7
                if kind == 0:
                    answer = http.post(f"{base}/namespaces/default/properties", timeout=60,
                                       json={"updates": {f"k{turn}": str(done[0])}, "removals": []})
                elif kind == 1:
                    answer = http.get(f"{base}/namespaces", timeout=60)
                else:
                    answer = http.get(f"{base}/namespaces/default/tables/t", timeout=60)
                    if answer.status_code == 200 and answer.json()["metadata"]["table-uuid"] != expected:
                        wrong.append((number, "another table"))
                if answer.status_code != 200:
                    wrong.append((number, answer.status_code, answer.text[:200]))
                done[0] += 1

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for job in [pool.submit(work, n, turn) for n in range(8) for turn in range(2)]:
                job.result()
        assert not wrong, wrong[:10]
        metrics = small.metrics()
        assert metrics["duckicelake_catalogs_open"] <= 2
        assert metrics["duckicelake_catalogs_evicted_total"] > 10
        first = small.rss_bytes()
        before = {n: v for n, v in metrics.items() if n.endswith("_total")}
        # Going round and round leaves nothing behind: no memory, no session.
        for _ in range(40):
            for tenant in eight:
                assert requests.get(f"{small.url}/v1/{tenant.name}/namespaces/default/tables/t",
                                    timeout=60).status_code == 200
        after = small.metrics()
        assert not {n: (v, after.get(n)) for n, v in before.items() if after.get(n, 0) < v}, \
            "totals never go back"
        grown = small.rss_bytes() - first
        opened = after["duckicelake_catalogs_opened_total"]
        # Two open ones, the own one, the pool; those that end at this moment.
        assert eventually("sessions end with their catalogs", lambda: sessions(own_lake) < 40)
        print(f"{done[0]} requests, {opened:.0f} openings, RSS {first / 2**20:.0f} MiB, {grown / 2**20:+.1f} MiB "
              f"after 320 more; {sessions(own_lake)} sessions")
        assert grown < 24 << 20
    finally:
        assert small.stop() == 0


def test_a_catalog_that_is_closed_in_use_ends_for_all_at_once(server, eight):
    """Two processes: each request is answered whole, or the catalog is not there any more."""
    other = Server(server.lake).start()
    try:
        tenant = Tenant(server, "in-use")
        tenant("POST", "/namespaces/default/tables", {"name": "t", "schema": LONG})
        stop, served, wrong = threading.Event(), collections.Counter(), []

        def load(url: str):
            http = requests.Session()
            while not stop.is_set():
                answer = http.get(f"{url}/v1/in-use/namespaces/default/tables/t", timeout=60)
                served[answer.status_code] += 1
                if answer.status_code == 404 and "Warehouse" not in answer.text:
                    wrong.append(answer.text)
                if answer.status_code not in (200, 404):
                    wrong.append((answer.status_code, answer.text))

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            jobs = [pool.submit(load, s.url) for s in (server, other) * 3]
            for turn in range(6):
                before = served[200]
                eventually("it is in use", lambda: served[200] >= before + 6)
                assert close((server, other)[turn % 2], "in-use").status_code == 204
                # From the answer on, nobody is served, in neither process.
                for s in (server, other) * 3:
                    answer = requests.get(f"{s.url}/v1/in-use/namespaces/default/tables/t", timeout=60)
                    assert answer.status_code == 404, answer.text
                assert create((other, server)[turn % 2], "in-use").status_code == 201
                for s in (server, other):
                    answer = requests.get(f"{s.url}/v1/in-use/namespaces/default/tables/t", timeout=60)
                    assert answer.status_code == 200, answer.text
            stop.set()
            for job in jobs:
                job.result()
        assert not wrong, wrong[:5]
        assert set(served) == {200, 404}
        # Made by one, used by the other at once, by an Iceberg client and by DuckDB.
        fresh = Tenant(server, "fresh")
        fresh.server = other
        assert fresh("POST", "/namespaces/default/tables", {"name": "t", "schema": LONG}).status_code == 200
        PyIceberg(other, warehouse="fresh").load("default", "t").append(pyarrow.table({"id": [1, 2]}))
        assert fresh.session().execute("SELECT sum(id) FROM lake.default.t").fetchall() == [(3,)]
        fresh.session().execute("INSERT INTO lake.default.t VALUES (40)")
        for s in (server, other):
            rows = PyIceberg(s, warehouse="fresh").load("default", "t").scan().to_arrow()
            assert sorted(rows["id"].to_pylist()) == [1, 2, 40]
        fresh.close()
    finally:
        assert other.stop() == 0


def test_a_creation_that_was_killed_is_completed_by_the_same_request(own_lake, server):
    seen = []
    for turn in range(8):
        name = f"killed-{turn}"
        dying = Server(own_lake, port=free_port()).start()
        job = threading.Thread(target=lambda: _quietly(create, dying, name))
        job.start()
        # Killed at different moments: as soon as the names are taken, and later.
        eventually("the names are taken", lambda: own_lake.rows(
            "SELECT count(*) FROM duckicelake.catalog WHERE catalog_id = %s", name) == [(1,)], interval=0.002)
        if turn < 3:
            time.sleep(0.1 * turn)
        else:  # the lake is there, what is added to it perhaps not
            eventually("the schema is made", lambda: own_lake.rows(
                "SELECT count(*) FROM pg_namespace WHERE nspname = %s", name.replace("-", "_")) == [(1,)],
                interval=0.002)
            time.sleep(0.02 * (turn - 3))
        dying.kill()
        job.join()
        state = own_lake.rows("SELECT state FROM duckicelake.catalog WHERE catalog_id = %s", name)[0][0]
        has_schema = own_lake.rows("SELECT count(*) FROM pg_namespace WHERE nspname = %s", name.replace("-", "_"))
        seen.append((state, has_schema[0][0]))
        if state == "making":
            assert requests.get(f"{server.url}/v1/{name}/namespaces", timeout=60).status_code == 404
            assert requests.get(f"{server.url}/v1/catalogs/{name}", timeout=60).json()["state"] == "making"
            assert create(server, name, account_id="x").status_code == 409
            assert create(server, f"{name}-heir", data_prefix=spec(server, name)["data_prefix"]).status_code == 409
        done = create(server, name)
        assert done.status_code == 201, done.text
        made = requests.post(f"{server.url}/v1/{name}/namespaces/default/tables", timeout=60,
                             json={"name": "t", "schema": LONG})
        assert made.status_code == 200, made.text
        missing = [row for row in own_lake.rows(
            "SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = "
            "c.relnamespace WHERE n.nspname = %s AND tgname LIKE 'duckicelake%%'", name.replace("-", "_"))]
        assert len(missing) >= 5
    print("killed in state:", seen)
    assert ("making", 0) in seen and ("making", 1) in seen
    # One that nobody completes can be closed.
    assert close(server, "killed-0").status_code == 204


def _quietly(call, *arguments):
    try:
        call(*arguments)
    except requests.RequestException:
        pass


def is_warm(tenant) -> bool:
    behind = tenant.rows(
        "SELECT count(*) FROM (SELECT table_id, max(begin_snapshot) AS newest FROM {schema}.ducklake_data_file "
        "GROUP BY table_id) n JOIN {schema}.ducklake_table t USING (table_id) LEFT JOIN duckicelake.table_state s "
        "ON s.table_id = t.table_id AND s.catalog_id = %s WHERE t.end_snapshot IS NULL "
        "AND coalesce(s.through_snapshot, -1) < n.newest", tenant.name)
    return behind[0][0] == 0


def test_what_duckdb_commits_to_a_tenant_is_published_without_a_load(stack):
    lake = Lake(stack)
    assert command(lake, "init").returncode == 0
    pair = [Server(lake, DUCKICELAKE_DISABLE_NOTIFY="0").start() for _ in range(2)]
    try:
        leaders = eventually("one is elected", lambda: [
            s for s in pair if s.metrics()["duckicelake_shared_eager_leader"] == 1])
        assert len(leaders) == 1
        tenants = [Tenant(pair[0], f"eager-{i}") for i in range(3)]
        for tenant in tenants:
            tenant.session().execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t (id BIGINT)")
        for _ in range(3):
            for tenant in tenants:
                tenant.session().execute("INSERT INTO lake.s.t SELECT i FROM range(2000) r(i)")
        for tenant in tenants:
            eventually(f"{tenant.name} is warm", lambda t=tenant: is_warm(t))
        metrics = leaders[0].metrics()
        assert metrics["duckicelake_shared_eager_published_total"] >= 3
        assert metrics["duckicelake_shared_eager_failures_total"] == 0
        print(f"lag {metrics['duckicelake_shared_eager_lag_seconds']:.3f} s")
        loaded = tenants[0].load("s", "t")
        assert len(loaded["metadata"]["snapshots"]) == 3
        # A closed one is left alone.
        assert close(pair[0], "eager-2").status_code == 204
        tenants[2].session().execute("INSERT INTO lake.s.t SELECT i FROM range(2000) r(i)")
        # The elected one dies: the other takes over.
        leaders[0].kill()
        heir = next(s for s in pair if s is not leaders[0])
        eventually("the other takes over", lambda: heir.metrics()["duckicelake_shared_eager_leader"] == 1)
        tenants[1].session().execute("INSERT INTO lake.s.t SELECT i FROM range(2000) r(i)")
        eventually("the heir publishes", lambda: is_warm(tenants[1]))
        assert not is_warm(tenants[2])
    finally:
        for tenant in tenants:
            tenant.close()
        for s in pair:
            s.stop()
        lake.close()


def test_no_process_has_a_shared_catalog_as_its_own(server):
    assert create(server, "shared").status_code == 201
    for words in (("init",), ("serve",)):
        done = command(server.lake, *words, env={"DUCKICELAKE_CATALOG": "shared", "DUCKICELAKE_PG_SCHEMA": "shared"})
        assert done.returncode == 1 and "shared" in done.stderr, done.stderr
    # Nor a place inside of another's.
    inside = spec(server, "shared")["data_prefix"] + "/inside/"
    done = command(server.lake, "init", env={"DUCKICELAKE_CATALOG": "second", "DUCKICELAKE_PG_SCHEMA": "second",
                                             "DUCKICELAKE_S3_PREFIX": inside})
    assert done.returncode == 1 and "not apart" in done.stderr, done.stderr


def test_two_own_catalogs_of_one_database_share_the_others(server):
    """Two processes with lakes of their own: neither serves the other's, both serve what is shared."""
    env = {"DUCKICELAKE_CATALOG": "mate", "DUCKICELAKE_PG_SCHEMA": "mate",
           "DUCKICELAKE_S3_PREFIX": f"{server.lake.name}/mate/"}
    assert command(server.lake, "init", env=env).returncode == 0
    mate = Server(server.lake, **env)
    mate.api = f"{mate.url}/v1/mate"
    mate.start()
    try:
        assert mate.get("/namespaces").status_code == 200
        assert requests.get(f"{mate.url}/v1/lake/namespaces", timeout=60).status_code == 404
        assert requests.get(f"{server.url}/v1/mate/namespaces", timeout=60).status_code == 404
        assert create(mate, "ours").status_code == 201
        for s in (server, mate):
            assert requests.get(f"{s.url}/v1/ours/namespaces", timeout=60).status_code == 200
            listed = {c["catalog_id"]: c for c in requests.get(f"{s.url}/v1/catalogs", timeout=60).json()["catalogs"]}
            assert not listed["mate"]["is_shared"] and listed["ours"]["is_shared"]
        assert create(server, "mate", metadata_schema="mate_2").status_code == 409
        assert close(server, "mate").status_code == 400
    finally:
        assert mate.stop() == 0
