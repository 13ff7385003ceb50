# SPDX-License-Identifier: Apache-2.0
"""The record is full: nothing is answered that could not be recorded, and nothing that was answered is lost."""
from __future__ import annotations

import concurrent.futures
import time

import pytest
import requests
from fixtures import served_lake
from lib import auth
from lib.auth import As, sign_in, token
from lib.rest import error_of
from lib.server import eventually

MOST = 8192  # different decisions that wait (docs/operations/access.md)
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}


@pytest.fixture
def guarded(stack):
    yield from served_lake(stack, **auth.settings(narrow="ns:s:r", writer="*:rw"))


class Held:
    """The record cannot be written while this is open; everything else of PostgreSQL goes on."""

    def __init__(self, lake):
        self.connection = lake.connect()
        self.connection.autocommit = False

    def __enter__(self):
        self.connection.execute("LOCK TABLE duckicelake.audit IN ACCESS EXCLUSIVE MODE")
        return self

    def __exit__(self, *ignored):
        self.connection.rollback()
        self.connection.close()


def ask_many(server, text: str, numbers) -> dict[int, int]:
    """Denied loads of tables with different names: status by number."""
    def some(part):
        session = As(server, text)
        return {n: session.get(f"/namespaces/other/tables/t{n}").status_code for n in part}
    parts = [range(numbers.start + i, numbers.stop, 8) for i in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return {n: status for found in pool.map(some, parts) for n, status in found.items()}


def test_when_nothing_can_be_recorded_nothing_is_answered(guarded):
    admin, narrow = sign_in(guarded), token(guarded, "narrow")
    assert admin.post("/namespaces", {"namespace": ["s"]}).status_code == 200
    assert admin.post("/namespaces/s/tables", {"name": "t", "schema": SCHEMA}).status_code == 200
    with Held(guarded.lake):
        answers = ask_many(guarded, narrow, range(MOST + 1200))
        refused = [n for n, status in answers.items() if status == 503]
        answered = [n for n, status in answers.items() if status == 403]
        assert len(refused) + len(answered) == len(answers), set(answers.values())
        assert len(refused) > 100 and len(answered) >= MOST - 100
        # To everybody, whatever he asks for: also what is in memory and allowed.
        full = As(guarded, narrow).get("/namespaces/other/tables/another")
        error = error_of(full, 503)
        assert "Retry-After" in full.headers and "audit" not in error["message"].lower()
        assert As(guarded, narrow).get("/namespaces/s/tables/t").status_code == 503
        assert admin.get("/namespaces/s/tables/t").status_code == 503
        # What asks nobody goes on, and so does what lets nobody in.
        assert requests.get(f"{guarded.url}/healthz", timeout=10).status_code == 200
        assert requests.get(f"{guarded.url}/v1/config", timeout=10).status_code == 200
        error_of(requests.get(f"{guarded.api}/namespaces", timeout=10), 401)
        assert guarded.metrics()["duckicelake_audit_refused_total"] >= len(refused)
    begin = time.monotonic()
    eventually("it answers again", lambda: admin.get("/namespaces/s/tables/t").status_code == 200, 60)
    print(f"full at {len(answered)} of {len(answers)}; answers {time.monotonic() - begin:.1f} s after the record could be written")
    eventually("all is recorded", lambda: guarded.metrics()["duckicelake_audit_waiting"] == 0, 60)
    recorded = {name for (name,) in guarded.lake.rows(
        "SELECT object FROM duckicelake.audit WHERE principal = 'narrow' AND decision = 'denied'")}
    lost = [n for n in answered if f"other.t{n}" not in recorded]
    assert not lost, f"{len(lost)} answered decisions are not on record, for example {lost[:5]}"
    # Each once: what failed to be written was written once when it could be.
    twice = guarded.lake.rows("SELECT object, sum(repeats) FROM duckicelake.audit WHERE principal = 'narrow' AND "
                              "object LIKE 'other.t%%' GROUP BY object HAVING sum(repeats) > 1 LIMIT 5")
    assert not twice, twice


def test_decisions_that_are_alike_fill_nothing(guarded):
    narrow = As(guarded, token(guarded, "narrow"))
    with Held(guarded.lake):
        for _ in range(2000):
            assert narrow.get("/namespaces/other/tables/t").status_code == 403
        assert guarded.metrics()["duckicelake_audit_waiting"] < 10
    eventually("all is recorded", lambda: guarded.lake.rows(
        "SELECT coalesce(sum(repeats), 0) FROM duckicelake.audit WHERE object = 'other.t'")[0][0] == 2000, 30)


def test_a_change_that_cannot_be_recorded_is_not_made(guarded):
    """Its row is in its transaction: both or neither."""
    writer = sign_in(guarded, "writer")
    with Held(guarded.lake):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(writer.post, "/namespaces", {"namespace": ["waits"]})
            eventually("it waits for the record", lambda: guarded.lake.rows(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%audit%%' "
                "AND datname = current_database()"))
            assert not asked.done()
            assert not guarded.lake.rows("SELECT 1 FROM ducklake_schema WHERE schema_name = 'waits'")
            guarded.lake.rows("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                              "AND query LIKE '%%audit%%' AND datname = current_database()")
            status = asked.result(60).status_code
    made = guarded.lake.rows("SELECT 1 FROM ducklake_schema WHERE schema_name = 'waits'")
    recorded = guarded.lake.rows("SELECT decision FROM duckicelake.audit WHERE operation = 'create_namespace' AND object = 'waits'")
    eventually("its end is on record", lambda: guarded.lake.rows(
        "SELECT 1 FROM duckicelake.audit WHERE operation = 'create_namespace' AND object = 'waits'"), 30)
    assert bool(made) == (status == 200) == any(d == "ok" for (d,) in recorded), (status, made, recorded)


def test_an_orderly_end_waits_for_the_record(guarded):
    narrow = As(guarded, token(guarded, "narrow"))
    for n in range(50):
        assert narrow.get(f"/namespaces/other/tables/last{n}").status_code == 403
    assert guarded.stop() == 0
    assert guarded.lake.rows("SELECT count(DISTINCT object) FROM duckicelake.audit WHERE object LIKE 'other.last%%'")[0][0] == 50
    guarded.start()
