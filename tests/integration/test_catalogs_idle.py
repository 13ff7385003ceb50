# SPDX-License-Identifier: Apache-2.0
"""Catalogs that nobody uses are closed, and serve at once when somebody comes back, also just then."""
from __future__ import annotations

import concurrent.futures
import random
import time

import pytest
from lib.server import Server, eventually
from lib.tenants import LONG, Tenant


@pytest.fixture(scope="module")
def server(own_lake):
    running = Server(own_lake, DUCKICELAKE_CATALOG_IDLE_SECONDS="1").start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def tenant(server):
    made = Tenant(server, "seldom")
    made.session().execute("CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS SELECT range AS id FROM range(100)")
    yield made
    made.close()


def open_catalogs(server) -> float:
    return server.metrics()["duckicelake_catalogs_open"]


def sessions(server) -> int:
    """Those that read heads. The pool's are everybody's: it keeps what it opened when two asked at once."""
    return server.lake.rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                            "AND application_name LIKE 'duckicelake%%' "
                            "AND query LIKE 'SELECT (SELECT snapshot_id FROM %%'")[0][0]


def test_it_is_closed_when_its_time_is_over_and_opens_again(server, tenant):
    eventually("nobody uses it", lambda: open_catalogs(server) == 0, 15)
    idle = sessions(server)
    first = tenant.load("shop", "orders")
    assert open_catalogs(server) == 1
    before = server.metrics()["duckicelake_catalogs_evicted_total"]
    for _ in range(6):  # in use: it stays
        time.sleep(0.4)
        assert tenant.load("shop", "orders") == first and open_catalogs(server) == 1
    eventually("its time is over", lambda: open_catalogs(server) == 0, 15)
    eventually("its session is given back", lambda: sessions(server) <= idle, 15)
    # The very next request, of each kind.
    assert tenant.load("shop", "orders") == first
    eventually("closed again", lambda: open_catalogs(server) == 0, 15)
    made = tenant("POST", "/namespaces/shop/tables", {"name": "made", "schema": LONG})
    assert made.status_code == 200, made.text
    eventually("and again", lambda: open_catalogs(server) == 0, 15)
    tenant.session().execute("INSERT INTO lake.shop.orders SELECT range FROM range(50)")
    assert tenant.load("shop", "orders")["metadata"]["current-snapshot-id"] != first["metadata"]["current-snapshot-id"]
    assert server.metrics()["duckicelake_catalogs_evicted_total"] >= before


def test_use_at_the_moment_of_closing_is_served(server, tenant):
    """Requests one to two seconds apart, when it is closed, so that some come just then; no error, and each
    change is there."""
    begin, end = open_opened(server), time.monotonic() + 15
    pause = random.Random(7)

    def loads(worker: int) -> int:
        done = 0
        while time.monotonic() < end:
            time.sleep(pause.uniform(1.0, 2.2))
            if worker:
                tenant.load("shop", "orders")
            else:
                answer = tenant("POST", "/namespaces/shop/tables", {"name": f"t{done}", "schema": LONG})
                assert answer.status_code == 200, answer.text
            done += 1
        return done
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # One at a time: with more, somebody always keeps it open.
        made = pool.submit(loads, 0).result()
        end = time.monotonic() + 10
        loaded = pool.submit(loads, 1).result()
    names = {t["name"] for t in tenant.get("/namespaces/shop/tables").json()["identifiers"]}
    assert {f"t{n}" for n in range(made)} <= names
    opened = open_opened(server) - begin
    print(f"{made} commits and {loaded} loads, {opened:.0f} openings")
    assert opened >= 3


def open_opened(server) -> float:
    return server.metrics()["duckicelake_catalogs_opened_total"]
