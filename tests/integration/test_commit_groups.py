# SPDX-License-Identifier: Apache-2.0
"""Commits that are ready at the same time share one transaction: each is a snapshot of its own all the same.

The slot, which every writer of a lake waits for, is held by hand as a DuckDB transaction would, until all
commits but the first have gathered behind it.
"""
import concurrent.futures
import contextlib
import time

import pyarrow as pa
import pytest
from lib.clients import PyIceberg
from lib.forge import Draft, capture, post
from lib.server import Server, eventually
from lib.writes import uuid7
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

TABLES = [f"t{i}" for i in range(9)]
SPACE = "groups"
SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "word", StringType()))


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "word": [f"w{i}" for i in ids]})


@pytest.fixture
def server(fresh_server):
    fresh_server.lake.session().execute(f"CREATE SCHEMA lake.{SPACE}")
    catalog = PyIceberg(fresh_server).catalog
    for table in TABLES:
        catalog.create_table((SPACE, table), SCHEMA).append(rows(1, 2))
    return fresh_server


class Slot:
    """The next snapshot of the lake, taken and kept open."""

    def __init__(self, lake):
        self.lake = lake
        self.session = lake.connect()
        self.session.autocommit = False
        self.snapshot = self.session.execute(
            "INSERT INTO ducklake_snapshot SELECT snapshot_id + 1, clock_timestamp(), schema_version, next_catalog_id, "
            "next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1 RETURNING snapshot_id").fetchone()[0]

    def take_with(self, words: str) -> None:
        self.session.execute("INSERT INTO ducklake_snapshot_changes VALUES (%s, %s, NULL, NULL, NULL)",
                             (self.snapshot, words))
        self.session.commit()

    def give_up(self) -> None:
        self.session.rollback()


@contextlib.contextmanager
def slot_of(lake):
    slot = Slot(lake)
    try:
        yield slot
    finally:
        slot.session.close()


def busy_calls(server) -> float:
    return sum(v for n, v in server.metrics().items() if n.startswith("duckicelake_s3_calls_total"))


def gathered(server, pool, jobs) -> list[concurrent.futures.Future]:
    """Starts the jobs in their order: each has come to the slot before the next one starts."""
    running = []
    for job in jobs:
        before = busy_calls(server)
        running.append(pool.submit(job))
        eventually("the commit's files are read", lambda: busy_calls(server) > before)
        last = None
        while busy_calls(server) != last:
            last = busy_calls(server)
            time.sleep(0.15)
        assert not running[-1].done(), running[-1].result().text
    return running


def groups_since(server, before) -> tuple[float, float]:
    now = server.metrics()
    return tuple(now[f"duckicelake_commit_{name}_total"] - before[f"duckicelake_commit_{name}_total"]
                 for name in ("transactions", "written"))


def check_lake(server) -> None:
    """What holds of the lake's own tables however its snapshots came about."""
    lake = server.lake
    snapshots = lake.rows("SELECT snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id "
                          "FROM ducklake_snapshot ORDER BY snapshot_id")
    for old, new in zip(snapshots, snapshots[1:], strict=False):
        assert new[0] == old[0] + 1 and new[1] > old[1] and new[2] - old[2] in (0, 1), (old, new)
        assert new[3] >= old[3] and new[4] >= old[4], (old, new)
    files = lake.rows("SELECT f.data_file_id, f.begin_snapshot, s.next_file_id, p.next_file_id FROM ducklake_data_file f "
                      "JOIN ducklake_snapshot s ON s.snapshot_id = f.begin_snapshot "
                      "JOIN ducklake_snapshot p ON p.snapshot_id = f.begin_snapshot - 1")
    assert len({f[0] for f in files}) == len(files)
    for file, begin, end, start in files:
        assert start <= file < end, (file, begin)
    assert lake.rows("SELECT snapshot_id FROM ducklake_snapshot EXCEPT SELECT snapshot_id FROM ducklake_snapshot_changes") \
        == []


def everywhere(server, table: str) -> list[int]:
    """The ids of a table, the same through DuckDB and PyIceberg."""
    duck = server.lake.duckdb()
    try:
        by_duck = [r[0] for r in duck.execute(f"SELECT id FROM lake.{SPACE}.{table} ORDER BY id").fetchall()]
        count = duck.execute(f"SELECT count(*), max(id) FROM lake.{SPACE}.{table}").fetchone()
    finally:
        duck.close()
    by_iceberg = sorted(PyIceberg(server).load(SPACE, table).scan().to_arrow()["id"].to_pylist())
    assert by_duck == by_iceberg and count == (len(by_duck), max(by_duck))
    return by_duck


def append_draft(server, table: str, first: int) -> Draft:
    return Draft(server, SPACE, table, lambda t: t.append(rows(first, first + 1)))


def test_commits_that_wait_for_the_slot_become_durable_together(server):
    drafts = [append_draft(server, table, 10) for table in TABLES]
    before = server.metrics()
    with concurrent.futures.ThreadPoolExecutor(len(TABLES)) as pool, slot_of(server.lake) as slot:
        running = gathered(server, pool, [d.post for d in drafts])
        slot.give_up()
        answers = [r.result() for r in running]
    assert [a.status_code for a in answers] == [200] * len(TABLES)
    assert groups_since(server, before) == (2, len(TABLES))
    ids = [a.json()["metadata"]["current-snapshot-id"] for a in answers]
    assert len(set(ids)) == len(TABLES) and max(ids) - min(ids) == len(TABLES) - 1
    for table, snapshot in zip(TABLES, ids, strict=True):
        assert everywhere(server, table) == [1, 2, 10, 11]
        words = server.lake.rows("SELECT changes_made FROM ducklake_snapshot_changes WHERE snapshot_id = %s", snapshot)
        assert words == [(f"inserted_into_table:{table_id(server, table)}",)]
    check_lake(server)


def table_id(server, table: str) -> int:
    return server.lake.rows("SELECT table_id FROM ducklake_table WHERE table_name = %s AND end_snapshot IS NULL", table)[0][0]


def test_one_that_was_overtaken_leaves_the_others_their_snapshots(server):
    late = {"t0", "t1", "t4", "t8"}  # the first of both transactions, one in between, and the last
    drafts = [append_draft(server, table, 10) for table in TABLES]
    with concurrent.futures.ThreadPoolExecutor(len(TABLES)) as pool, slot_of(server.lake) as slot:
        running = gathered(server, pool, [d.post for d in drafts])
        slot.take_with(",".join(f"inserted_into_table:{table_id(server, t)}" for t in sorted(late)))
        answers = {t: r.result() for t, r in zip(TABLES, running, strict=True)}
    for table, answer in answers.items():
        assert answer.status_code == (409 if table in late else 200), (table, answer.text)
        assert everywhere(server, table) == ([1, 2] if table in late else [1, 2, 10, 11])
    check_lake(server)
    # And what was refused succeeds when it is made anew.
    for table in sorted(late):
        assert append_draft(server, table, 20).post().status_code == 200
        assert everywhere(server, table) == [1, 2, 20, 21]
    check_lake(server)


def test_what_fails_one_of_them_is_not_the_others_fault(server):
    # One key for two requests is found out only when both outcomes are written down.
    key = uuid7()
    drafts = [append_draft(server, table, 10) for table in TABLES]
    jobs = [lambda d=d, k=key if t in ("t3", "t6") else uuid7(): d.post(key=k)
            for t, d in zip(TABLES, drafts, strict=True)]
    with concurrent.futures.ThreadPoolExecutor(len(TABLES)) as pool, slot_of(server.lake) as slot:
        running = gathered(server, pool, jobs)
        slot.give_up()
        answers = {t: r.result() for t, r in zip(TABLES, running, strict=True)}
    failed = [t for t, a in answers.items() if a.status_code != 200]
    assert len(failed) == 1 and failed[0] in ("t3", "t6"), {t: a.text for t, a in answers.items()}
    assert answers[failed[0]].status_code == 422
    for table in TABLES:
        assert everywhere(server, table) == ([1, 2] if table in failed else [1, 2, 10, 11])
    check_lake(server)


def test_a_repeated_request_among_them_is_answered_with_its_first_outcome(server):
    key = uuid7()
    first = append_draft(server, "t1", 10)
    with concurrent.futures.ThreadPoolExecutor(3) as pool, slot_of(server.lake) as slot:
        running = gathered(server, pool, [append_draft(server, "t0", 10).post, lambda: first.post(key=key)])
        again = pool.submit(lambda: first.post(key=key))  # waits for the table
        slot.give_up()
        answers = [r.result() for r in (*running, again)]
    assert [a.status_code for a in answers] == [200] * 3
    assert answers[1].json()["metadata"]["current-snapshot-id"] == answers[2].json()["metadata"]["current-snapshot-id"]
    assert everywhere(server, "t1") == [1, 2, 10, 11]
    check_lake(server)


def test_changes_of_rows_definitions_and_several_tables_may_share_a_transaction(server):
    open_session = server.lake.duckdb()
    open_session.execute(f"SELECT * FROM lake.{SPACE}.t2").fetchall()

    def add_column(table):
        with table.update_schema() as update:
            update.add_column("extra", LongType())

    def delete(table):
        table.delete("id = 1")

    body = {"table-changes": [
        {"identifier": {"namespace": [SPACE], "name": t}, **append_draft(server, t, 10).body} for t in ("t5", "t6")]}
    jobs = [append_draft(server, "t0", 10).post, append_draft(server, "t1", 10).post,
            lambda b=capture(server, SPACE, "t2", add_column): post(server, SPACE, "t2", b),
            append_draft(server, "t3", 10).post,
            lambda b=capture(server, SPACE, "t4", delete): post(server, SPACE, "t4", b),
            lambda: server.http.post(f"{server.api}/transactions/commit", json=body, timeout=60)]
    versions = dict(server.lake.rows("SELECT snapshot_id, schema_version FROM ducklake_snapshot"))
    before = server.metrics()
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool, slot_of(server.lake) as slot:
        running = [pool.submit(jobs[0])]
        eventually("the first waits for the slot", lambda: server.lake.rows(
            "SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] > 0)
        for job in jobs[1:]:
            running.append(pool.submit(job))
        last = None
        while busy_calls(server) != last:
            last = busy_calls(server)
            time.sleep(0.5)
        slot.give_up()
        answers = [r.result() for r in running]
    assert [a.status_code for a in answers] == [200] * 5 + [204], [a.text[:300] for a in answers]
    transactions, written = groups_since(server, before)
    assert (transactions, written) == (2, len(jobs))
    check_lake(server)
    assert server.lake.rows("SELECT max(schema_version) FROM ducklake_snapshot")[0][0] == max(versions.values()) + 1
    for table in ("t0", "t1", "t3", "t5", "t6"):
        assert everywhere(server, table) == [1, 2, 10, 11]
    assert everywhere(server, "t4") == [2]
    try:
        assert open_session.execute(f"SELECT id, extra FROM lake.{SPACE}.t2 ORDER BY id").fetchall() == [(1, None), (2, None)]
        open_session.execute(f"INSERT INTO lake.{SPACE}.t2 VALUES (3, 'w3', 33)")
    finally:
        open_session.close()
    assert everywhere(server, "t2") == [1, 2, 3]
    check_lake(server)


def set_and_append(table) -> None:
    with table.transaction() as change:
        change.set_properties({"from-the-group": "yes"})
        change.append(rows(10, 11))


def test_a_session_that_ended_while_its_commit_waited_leaves_nobodys_change_out(server):
    """The lock of a table goes with the session that holds it; the group writes on another one."""
    other = Server(server.lake).start()
    main = server.load(SPACE, "t2")["metadata"]["current-snapshot-id"]
    jobs = [append_draft(server, "t0", 10).post, append_draft(server, "t1", 10).post,
            lambda b=capture(server, SPACE, "t2", set_and_append): post(server, SPACE, "t2", b),
            append_draft(server, "t3", 10).post]
    try:
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool, slot_of(server.lake) as slot:
            running = gathered(server, pool, jobs)
            held = server.lake.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity a WHERE datname = current_database() AND state = 'idle' "
                "AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND locktype = 'advisory' AND granted)")
            assert len(held) >= 3
            # Takes no snapshot, so nothing but the lock kept it apart from the commit that waits.
            body = {"requirements": [], "updates": [{"action": "set-snapshot-ref", "ref-name": "of-the-other", "type": "tag",
                                                     "snapshot-id": main}]}
            assert post(other, SPACE, "t2", body).status_code == 200
            slot.give_up()
            answers = [r.result() for r in running]
    finally:
        other.stop()
    # Whoever cannot be told how it ended may look.
    assert {a.status_code for a in answers} <= {200, 500}, [a.text for a in answers]
    for table, answer in zip(("t0", "t1", "t2", "t3"), answers, strict=True):
        if answer.status_code != 200:
            assert "CommitStateUnknown" in answer.text
        assert everywhere(server, table) == [1, 2, 10, 11]
    metadata = server.load(SPACE, "t2")["metadata"]
    assert metadata["properties"]["from-the-group"] == "yes"
    assert metadata["refs"]["of-the-other"]["snapshot-id"] == main
    check_lake(server)


def test_rows_that_duckdb_flushes_right_after_a_commit_do_not_hide_its_outcome(server):
    lake = server.lake
    session = lake.session()
    session.execute(f"CREATE TABLE lake.{SPACE}.mixed (id BIGINT)")
    session.execute(f"INSERT INTO lake.{SPACE}.mixed VALUES (1)")
    session.execute(f"DELETE FROM lake.{SPACE}.mixed")
    session.execute(f"ALTER TABLE lake.{SPACE}.mixed ADD COLUMN word VARCHAR")
    session.execute(f"INSERT INTO lake.{SPACE}.mixed VALUES (2, 'w2')")
    number = table_id(server, "mixed")
    inlined = lake.rows("SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = %s ORDER BY schema_version", number)
    assert len(inlined) == 2
    draft = Draft(server, SPACE, "mixed", lambda t: t.append(rows(10, 11)))
    # As a flush of DuckDB's would, and as close after the commit as can be: with it.
    lake.postgres.execute(
        "CREATE FUNCTION public.flush_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF to_regclass('public.\"{inlined[0][0]}\"') IS NOT NULL AND new.changes_made = 'inserted_into_table:{number}' THEN "
        f"DROP TABLE public.\"{inlined[0][0]}\"; "
        f"DELETE FROM public.ducklake_inlined_data_tables WHERE table_name = '{inlined[0][0]}'; END IF; RETURN NULL; END $$; "
        "CREATE TRIGGER flush_one AFTER INSERT ON public.ducklake_snapshot_changes FOR EACH ROW EXECUTE FUNCTION public.flush_one()")
    answer = draft.post()
    assert answer.status_code == 200, answer.text
    assert lake.rows("SELECT count(*) FROM ducklake_inlined_data_tables WHERE table_id = %s", number) == [(1,)]
    assert everywhere(server, "mixed") == [2, 10, 11]
