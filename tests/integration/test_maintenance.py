# SPDX-License-Identifier: Apache-2.0
"""Upkeep over REST: compaction, expiry by policy, the sweep of what nothing names any more."""
import io
import itertools
import random
import threading
import time

import fastavro
import pyarrow as pa
import pytest
import requests
from fixtures import served_lake
from lib.clients import PyIceberg
from lib.differential import readers
from lib.rest import error_of
from lib.server import eventually
from lib.validate import Objects, live_files
from lib.writes import Writer, path_of

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def keeper(stack):
    """A server that sweeps without a grace time, on a lake of this module's own."""
    yield from served_lake(stack, DUCKICELAKE_SWEEP_GRACE_SECONDS=0)


@pytest.fixture
def fresh_keeper(stack):
    yield from served_lake(stack, DUCKICELAKE_SWEEP_GRACE_SECONDS=0)


@pytest.fixture(scope="module")
def catalog(keeper):
    return PyIceberg(keeper).catalog


@pytest.fixture
def space(keeper):
    name = f"keep{next(_numbers)}"
    keeper.lake.session().execute(f"CREATE SCHEMA lake.{name}")
    return name


def numbers(start: int, stop: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, stop), pa.int64())})


def post(server, path: str, body=None, timeout: float = 300) -> requests.Response:
    # The session is not shared between threads.
    return requests.post(server.api + path, json=body, timeout=timeout)


def done(answer: requests.Response) -> dict:
    assert answer.status_code == 200, f"{answer.status_code}: {answer.text}"
    return answer.json()


def compact(server, space: str, name: str, **options) -> dict:
    return done(post(server, f"/admin{path_of(space)}/tables/{name}/compact", options or None))


def expire(server, space: str, name: str, **options) -> dict:
    return done(post(server, f"/admin{path_of(space)}/tables/{name}/expire", options))["expire"]


def maintain(server, **options) -> dict:
    return done(post(server, "/admin/maintenance", options))


def sweep(server, **options) -> dict:
    return maintain(server, expire=False, **options)["sweep"]


def removed(report: dict) -> int:
    return report["metadata-files"] + report["iceberg-files"] + report["data-files"]


def snapshots(server, space: str, name: str) -> list[int]:
    return [s["snapshot-id"] for s in server.load(space, name)["metadata"].get("snapshots", [])]


def rows(server, space: str, name: str, where: str = "", at: int | None = None) -> list:
    version = f" AT (VERSION => {at})" if at is not None else ""
    return sorted(server.lake.session().execute(
        f"SELECT * FROM lake.{space}.{name}{version} {where}").fetchall())


def objects(lake) -> set[str]:
    bucket, found = lake.env["DUCKICELAKE_S3_BUCKET"], set()
    for page in lake.s3().get_paginator("list_objects_v2").paginate(Bucket=bucket,
                                                                  Prefix=f"{lake.name}/data"):
        found |= {f"s3://{bucket}/{item['Key']}" for item in page.get("Contents", [])}
    return found


def named(server) -> set[str]:
    """All that published metadata, DuckLake's rows and its schedule name, and what the next manifest
    list starts from; found without the server's code."""
    lake, store, found = server.lake, Objects(server.lake.s3()), set()
    folder = ("CASE WHEN t.path_is_relative THEN (SELECT value FROM ducklake_metadata WHERE key = "
              "'data_path') || s.path || t.path ELSE t.path END")
    for kind in ("data", "delete"):
        found |= {row[0] for row in lake.rows(
            f"SELECT CASE WHEN f.path_is_relative THEN {folder} || f.path ELSE f.path END FROM "
            f"ducklake_{kind}_file f JOIN ducklake_table t USING (table_id) JOIN ducklake_schema s "
            "USING (schema_id)")}
    found |= {lake.data_path + path if relative else path for path, relative in lake.rows(
        "SELECT path, path_is_relative FROM ducklake_files_scheduled_for_deletion")}
    for schema, name in lake.rows(
            "SELECT schema_name, table_name FROM ducklake_table t JOIN ducklake_schema s USING "
            "(schema_id) WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL"):
        body = server.load(schema, name)
        metadata = body["metadata"]
        found |= {body["metadata-location"],
                  body["metadata-location"].rpartition("/")[0] + "/version-hint.text"}
        found |= {entry["metadata-file"] for entry in metadata.get("metadata-log", [])}
        for snapshot in metadata.get("snapshots", []):
            found.add(snapshot["manifest-list"])
            found |= {m["manifest_path"] for m in store.avro(snapshot["manifest-list"])[1]}
            found |= set(live_files(store, snapshot["manifest-list"]))
    for (head,) in lake.rows("SELECT manifests FROM duckicelake.table_state"):
        if head:
            found |= {m["manifest_path"] for m in fastavro.reader(io.BytesIO(head))}
    return found


def all_there(server, space: str, name: str) -> None:
    store = Objects(server.lake.s3())
    for snapshot in server.load(space, name)["metadata"].get("snapshots", []):
        for path in live_files(store, snapshot["manifest-list"]):
            assert store.exists(path), (snapshot["snapshot-id"], path)


def duckdb_cleans(lake) -> None:
    """All that DuckLake's own upkeep may do to objects."""
    with lake.duckdb() as duck:
        duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")


class TestCompact:
    def test_merges_applies_deletes_flushes_and_readers_see_the_same_rows(self, keeper, space):
        duck = keeper.lake.session()
        duck.execute(f"CREATE TABLE lake.{space}.t (id BIGINT)")
        for i in range(5):
            duck.execute(f"INSERT INTO lake.{space}.t SELECT range FROM range({i * 100}, {i * 100 + 100})")
        duck.execute(f"DELETE FROM lake.{space}.t WHERE id % 3 = 0")
        duck.execute(f"INSERT INTO lake.{space}.t VALUES (9001), (9002)")
        before, history = rows(keeper, space, "t"), snapshots(keeper, space, "t")
        head = keeper.lake.head()
        planned = compact(keeper, space, "t", **{"dry-run": True})
        assert planned["dry-run"] and planned["inlined-rows"] == 2 and keeper.lake.head() == head
        report = compact(keeper, space, "t")
        assert report["after"]["data-files"] < report["before"]["data-files"] == 5
        assert report["after"]["delete-files"] == 0 and report["files-rewritten"] == 5
        assert rows(keeper, space, "t") == before
        table = PyIceberg(keeper).load(space, "t")
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [row[0] for row in before]
        # What was published before is there still, and reads as DuckDB reads it.
        assert set(history) <= set(snapshots(keeper, space, "t"))
        for snapshot in history:
            read = sorted(table.scan(snapshot_id=snapshot).to_arrow()["id"].to_pylist())
            assert read == [row[0] for row in rows(keeper, space, "t", at=snapshot)]
        again = compact(keeper, space, "t")
        assert again["files-merged"] == again["files-rewritten"] == again["inlined-rows"] == 0
        assert rows(keeper, space, "t") == before
        compact(keeper, space, "t", **{"cleanup-older-than-seconds": 0})
        all_there(keeper, space, "t")

    def test_one_at_a_time_and_refuses_nonsense(self, keeper, space):
        duck = keeper.lake.session()
        duck.execute(f"CREATE TABLE lake.{space}.t AS SELECT range AS id FROM range(10)")
        path = f"/admin{path_of(space)}/tables/t/compact"
        for body in ({"delete-threshold": 2}, {"delete-threshold": "x"}, {"dry-run": "yes"},
                     {"cleanup-older-than-seconds": -1}, []):
            error_of(post(keeper, path, body), 400, "BadRequestException")
        error_of(post(keeper, f"/admin{path_of(space)}/tables/none/compact"), 404,
                 "NoSuchTableException")
        error_of(post(keeper, f"/admin{path_of('none')}/tables/t/expire"), 404)
        with keeper.lake.connect() as other:
            other.execute("SELECT pg_advisory_lock(hashtextextended('public:maintenance', 0))")
            busy = post(keeper, path)
            error_of(busy, 503, "ServiceUnavailableException")
            assert int(busy.headers["Retry-After"]) > 0
            other.execute("SELECT pg_advisory_unlock_all()")  # a session may take its time to end
        compact(keeper, space, "t")

    def test_beside_writers(self, keeper, catalog, space):
        catalog.create_table((space, "t"), numbers(0, 0).schema).append(numbers(0, 10))
        faults, stop = [], threading.Event()

        def write(start: int, add) -> None:
            try:
                for i in range(start, start + 8):
                    add(i)
            except Exception as fault:  # noqa: BLE001
                faults.append(fault)

        def by_duckdb(i: int) -> None:
            with keeper.lake.duckdb(DATA_INLINING_ROW_LIMIT=0) as duck:
                duck.execute(f"INSERT INTO lake.{space}.t VALUES ({i})")

        def by_iceberg(i: int) -> None:
            for _ in range(20):
                try:
                    return PyIceberg(keeper).load(space, "t").append(numbers(i, i + 1))
                except Exception as fault:  # noqa: BLE001
                    if "CommitFailed" not in type(fault).__name__:
                        raise
            raise AssertionError("no commit came through")

        def upkeep() -> None:
            while not stop.is_set():
                answer = post(keeper, f"/admin{path_of(space)}/tables/t/compact")
                if answer.status_code not in (200, 409):
                    faults.append(answer.text)
                # Objects that are on their way are younger than this.
                answer = post(keeper, "/admin/maintenance", {"grace-seconds": 60})
                if answer.status_code != 200:
                    faults.append(answer.text)

        threads = [threading.Thread(target=write, args=(1000, by_duckdb)),
                   threading.Thread(target=write, args=(2000, by_iceberg))]
        caretaker = threading.Thread(target=upkeep)
        for thread in [caretaker, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        caretaker.join()
        assert not faults, faults
        wanted = [*range(10), *range(1000, 1008), *range(2000, 2008)]
        assert [row[0] for row in rows(keeper, space, "t")] == wanted
        table = PyIceberg(keeper).load(space, "t")
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == wanted
        all_there(keeper, space, "t")


class TestExpire:
    def test_hides_by_number_and_expires_in_ducklake_what_all_let_go(self, fresh_keeper):
        keeper, duck = fresh_keeper, fresh_keeper.lake.session()
        catalog = PyIceberg(keeper).catalog
        duck.execute("CREATE SCHEMA lake.s")
        catalog.create_table(("s", "t"), numbers(0, 0).schema)
        catalog.create_table(("s", "other"), numbers(0, 0).schema)
        for i in range(6):
            catalog.load_table(("s", "t")).append(numbers(i, i + 1))
        both = keeper.lake.head() + 1
        duck.execute("BEGIN; INSERT INTO lake.s.t SELECT 6; INSERT INTO lake.s.other SELECT 1; COMMIT")
        assert keeper.lake.head() == both
        for i in range(7, 10):
            catalog.load_table(("s", "t")).append(numbers(i, i + 1))
        keeper.load("s", "other")
        history = snapshots(keeper, "s", "t")
        assert len(history) == 10 and both in history
        # No policy, no loss.
        assert expire(keeper, "s", "t") == {"tables": [], "ducklake-snapshots": [], "failures": {}}
        table = catalog.load_table(("s", "t"))
        table.manage_snapshots().create_tag(history[1], "kept").commit()
        with catalog.load_table(("s", "t")).transaction() as change:
            change.set_properties({"history.expire.max-snapshot-age-ms": "1",
                                   "history.expire.min-snapshots-to-keep": "2"})
        planned = expire(keeper, "s", "t", **{"dry-run": True})
        assert snapshots(keeper, "s", "t") == history
        report = expire(keeper, "s", "t")
        kept = [history[1], *history[-2:]]
        assert snapshots(keeper, "s", "t") == kept
        assert report["tables"][0]["snapshots"] == 7 == planned["tables"][0]["snapshots"]
        # The other table's policy lets nothing go.
        gone = [s for s in history if s not in kept and s != both]
        assert report["ducklake-snapshots"] == gone == planned["ducklake-snapshots"]
        left = {row[0] for row in keeper.lake.rows("SELECT snapshot_id FROM ducklake_snapshot")}
        assert not left & set(gone) and both in left and set(kept) <= left
        assert rows(keeper, "s", "t", at=history[1]) == [(0,), (1,)]
        assert rows(keeper, "s", "t") == [(i,) for i in range(10)]
        again = expire(keeper, "s", "t")
        assert again == {"tables": [], "ducklake-snapshots": [], "failures": {}}
        with catalog.load_table(("s", "other")).transaction() as change:
            change.set_properties({"history.expire.min-snapshots-to-keep": "1",
                                   "history.expire.max-snapshot-age-ms": "1"})
        catalog.load_table(("s", "other")).append(numbers(5, 6))
        assert maintain(keeper, sweep=False)["expire"]["ducklake-snapshots"] == [both]
        duckdb_cleans(keeper.lake)
        all_there(keeper, "s", "t")
        assert rows(keeper, "s", "t") == [(i,) for i in range(10)]
        assert sorted(PyIceberg(keeper).load("s", "t").scan().to_arrow()["id"].to_pylist()) == \
            list(range(10))

    def test_refs_go_by_their_age_but_main_never(self, keeper, catalog, space):
        table = catalog.create_table((space, "t"), numbers(0, 0).schema)
        table.append(numbers(0, 3))
        first = table.current_snapshot().snapshot_id
        manage = catalog.load_table((space, "t")).manage_snapshots()
        manage.create_tag(first, "short", max_ref_age_ms=1).create_tag(
            first, "long", max_ref_age_ms=86_400_000).create_branch(first, "work").commit()
        catalog.load_table((space, "t")).append(numbers(3, 4))
        report = expire(keeper, space, "t")
        assert report["tables"] == [{"namespace": [space], "name": "t", "snapshots": 0,
                                     "refs": ["short"]}]
        assert set(catalog.load_table((space, "t")).refs()) == {"main", "long", "work"}
        with catalog.load_table((space, "t")).transaction() as change:
            change.set_properties({"history.expire.max-ref-age-ms": "1"})
        assert expire(keeper, space, "t")["tables"][0]["refs"] == ["work"]
        assert set(catalog.load_table((space, "t")).refs()) == {"main", "long"}
        assert len(snapshots(keeper, space, "t")) == 2  # snapshots have no policy

    def test_a_policy_that_is_no_number_is_named(self, keeper, catalog, space):
        catalog.create_table((space, "t"), numbers(0, 0).schema).append(numbers(0, 3))
        with catalog.load_table((space, "t")).transaction() as change:
            change.set_properties({"history.expire.max-snapshot-age-ms": "soon"})
        answer = post(keeper, f"/admin{path_of(space)}/tables/t/expire")
        assert "soon" in error_of(answer, 400)["message"]
        failures = maintain(keeper, sweep=False)["expire"]["failures"]
        assert list(failures) == [f"{space}.t"]
        with catalog.load_table((space, "t")).transaction() as change:
            change.remove_properties("history.expire.max-snapshot-age-ms")


def crowd(server, catalog, space: str) -> None:
    """A table with everything: files of both sides, deletes, inlined rows, a branch, a tag."""
    duck = server.lake.session()
    catalog.create_table((space, "t"), numbers(0, 0).schema).append(numbers(0, 50))
    duck.execute(f"INSERT INTO lake.{space}.t SELECT range FROM range(50, 100)")
    duck.execute(f"DELETE FROM lake.{space}.t WHERE id % 10 = 0")
    duck.execute(f"INSERT INTO lake.{space}.t VALUES (1000), (1001)")
    table = catalog.load_table((space, "t"))
    head = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(head, "work").create_tag(head, "kept").commit()
    catalog.load_table((space, "t")).append(numbers(5000, 5010), branch="work")
    catalog.load_table((space, "t")).append(numbers(100, 110))


def branch(server, space: str, name: str = "work") -> list[int]:
    table = PyIceberg(server).load(space, "t")
    return sorted(table.scan().use_ref(name).to_arrow()["id"].to_pylist())


class TestSweep:
    def test_no_orphan_is_left_and_nothing_named_goes(self, keeper, catalog, space):
        crowd(keeper, catalog, space)
        lake, s3 = keeper.lake, keeper.lake.s3()
        location = keeper.load(space, "t")["metadata"]["location"]
        beside = keeper.load(space, "t")["metadata"]["table-uuid"]
        base = f"{lake.data_path.rstrip('/')}-iceberg/lake/{beside}"
        litter = [f"{location}/metadata/abandoned-m0.avro", f"{location}/metadata/v999.metadata.json",
                  f"{location}/data/abandoned.parquet", f"{location}/abandoned.parquet",
                  f"{base}/deletes/abandoned.parquet", f"{base}/inlined/abandoned.parquet"]
        foreign = [f"{location}/notes.txt", f"{lake.data_path}elsewhere/theirs.parquet"]
        for uri in litter + foreign:
            s3.put_object(**Objects.place(uri), Body=b"x")
        expected, work = rows(keeper, space, "t"), branch(keeper, space)
        before = objects(lake)
        assert set(litter) <= before
        planned = sweep(keeper, **{"dry-run": True, "max-names": 10_000})
        assert objects(lake) == before and set(litter) <= set(planned["names"])
        young = sweep(keeper, **{"grace-seconds": 3600})
        assert objects(lake) == before and removed(young) == 0
        assert young["young-files"] >= len(litter)
        report = sweep(keeper, **{"max-names": 10_000})
        assert removed(report) == removed(planned) == len(report["names"])
        after = objects(lake)
        assert before - after == set(report["names"])
        assert set(foreign) <= after
        listed = named(keeper)
        assert after - listed == set(foreign), "orphans are left"
        assert listed & before <= after
        all_there(keeper, space, "t")
        assert rows(keeper, space, "t") == expected and branch(keeper, space) == work
        again = sweep(keeper)
        assert removed(again) == 0 and objects(lake) == after
        for client in readers(keeper):
            client.close()
        for uri in foreign:
            s3.delete_object(**Objects.place(uri))

    def test_files_of_other_tables_in_a_shared_folder_stay(self, keeper, space):
        """DuckDB puts a table of a dropped one's name into its folder."""
        duck = keeper.lake.session()
        duck.execute(f"CREATE TABLE lake.{space}.t AS SELECT range AS id FROM range(20)")
        old = keeper.load(space, "t")
        duck.execute(f"DROP TABLE lake.{space}.t")
        duck.execute(f"CREATE TABLE lake.{space}.t AS SELECT range AS id FROM range(7)")
        keeper.load(space, "t")
        before = objects(keeper.lake)
        sweep(keeper)
        assert old["metadata-location"] in objects(keeper.lake)  # it can be registered again
        assert len(rows(keeper, space, "t")) == 7
        data = {u for u in before if f"/{space}/" in u and u.endswith(".parquet")}
        assert data <= objects(keeper.lake)

    def test_dropped_tables_go_with_their_last_row(self, fresh_keeper):
        keeper, duck = fresh_keeper, fresh_keeper.lake.session()
        catalog = PyIceberg(keeper).catalog
        duck.execute("CREATE SCHEMA lake.s")
        crowd(keeper, catalog, "s")
        last = keeper.load("s", "t")
        location, store = last["metadata"]["location"], Objects(keeper.lake.s3())
        assert Writer(keeper).delete(path_of("s") + "/tables/t").status_code == 204
        sweep(keeper)
        # It can be registered again.
        assert store.exists(last["metadata-location"])
        for snapshot in last["metadata"]["snapshots"]:
            assert all(map(store.exists, live_files(store, snapshot["manifest-list"])))
        duck.execute("CREATE TABLE lake.s.last AS SELECT 1 AS i")
        with keeper.lake.duckdb() as other:
            other.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
            other.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        keeper.load("s", "last")
        eventually("time passes", lambda: sweep(keeper)["rows"]["dropped-tables"] or True)
        sweep(keeper)
        assert not [u for u in objects(keeper.lake) if u.startswith(location + "/")]
        assert objects(keeper.lake) <= named(keeper)
        for name in ("snapshot", "client_snapshot", "committed_file", "table_state", "side_file",
                     "inlined_file"):
            count = keeper.lake.rows(f"SELECT count(*) FROM duckicelake.{name}")[0][0]
            assert count == keeper.lake.rows(
                f"SELECT count(*) FROM duckicelake.{name} d WHERE EXISTS (SELECT FROM "
                "ducklake_table t WHERE t.table_id = d.table_id)")[0][0], name
        assert keeper.lake.rows("SELECT count(*) FROM duckicelake.committed_manifest m WHERE NOT "
                                "EXISTS (SELECT FROM duckicelake.committed_file f WHERE "
                                "f.manifest_serial = m.serial)")[0][0] == 0

    def test_killed_at_any_moment_and_run_again(self, fresh_keeper):
        keeper, lake = fresh_keeper, fresh_keeper.lake
        catalog = PyIceberg(keeper).catalog
        lake.session().execute("CREATE SCHEMA lake.s")
        crowd(keeper, catalog, "s")
        with catalog.load_table(("s", "t")).transaction() as change:
            change.set_properties({"history.expire.max-snapshot-age-ms": "1",
                                   "history.expire.min-snapshots-to-keep": "2"})
        location = keeper.load("s", "t")["metadata"]["location"]
        expected, work = rows(keeper, "s", "t"), branch(keeper, "s")
        s3, chance = lake.s3(), random.Random(7)
        for round in range(4):
            for i in range(40):
                s3.put_object(**Objects.place(f"{location}/data/litter-{round}-{i}.parquet"), Body=b"x")

            def send():
                try:
                    post(keeper, "/admin/maintenance")
                    post(keeper, f"/admin{path_of('s')}/tables/t/compact")
                except requests.RequestException:
                    pass
            sender = threading.Thread(target=send)
            sender.start()
            time.sleep(chance.uniform(0.0, 1.5))
            keeper.kill()
            sender.join()
            keeper.start()
            assert rows(keeper, "s", "t") == expected
            assert branch(keeper, "s") == work
            all_there(keeper, "s", "t")
        # The killed process's session ends a moment after it.
        eventually("the lake is free", lambda: post(keeper, "/admin/maintenance").status_code == 200)
        sweep(keeper)
        assert objects(lake) <= named(keeper)
        assert rows(keeper, "s", "t") == expected and branch(keeper, "s") == work
        all_there(keeper, "s", "t")

    def test_a_dropped_views_metadata_goes_with_its_last_row(self, fresh_keeper):
        keeper, lake = fresh_keeper, fresh_keeper.lake
        lake.session().execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t (id BIGINT)")
        writer, place = Writer(keeper), path_of("s") + "/views"
        made = {}
        for name in ("stays", "goes"):
            answer = writer.post(place, {
                "name": name, "schema": {"type": "struct", "schema-id": 0, "fields": [
                    {"id": 1, "name": "id", "type": "long", "required": False}]},
                "properties": {}, "view-version": {
                    "version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {},
                    "default-namespace": ["s"], "representations": [
                        {"type": "sql", "sql": "SELECT id FROM t", "dialect": "duckdb"}]}})
            assert answer.status_code == 200, answer.text
            made[name] = answer.json()["metadata-location"]
        assert writer.delete(place + "/goes").status_code == 204
        sweep(keeper)
        # DuckLake's rows still show it at older snapshots, and it can be registered again.
        assert set(made.values()) <= objects(lake)
        lake.session().execute("INSERT INTO lake.s.t SELECT range FROM range(20)")
        with lake.duckdb() as other:
            other.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
            other.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        for _ in range(2):
            sweep(keeper)
        assert made["goes"] not in objects(lake)
        assert made["stays"] in objects(lake)
        assert keeper.get(place + "/stays").status_code == 200

    def test_files_that_came_back_with_register_outlive_the_dropped_table(self, fresh_keeper):
        """A dropped table's rows are forgotten one day, and its files scheduled; not those of the
        table that took them over. After that nothing of the take-over is kept in mind."""
        keeper, lake = fresh_keeper, fresh_keeper.lake
        lake.session().execute("CREATE SCHEMA lake.s")
        catalog = PyIceberg(keeper).catalog
        catalog.create_table(("s", "t"), numbers(0, 0).schema).append(numbers(0, 50))
        last = keeper.load("s", "t")["metadata-location"]
        assert Writer(keeper).delete(path_of("s") + "/tables/t").status_code == 204
        catalog.register_table(("s", "back"), last)
        expected = rows(keeper, "s", "back")
        assert len(expected) == 50
        kept = "SELECT count(*) FROM duckicelake.revived_path"
        assert lake.rows(kept)[0][0] > 0
        sweep(keeper)
        assert lake.rows(kept)[0][0] > 0, "forgotten while the dropped table's rows are there"
        with lake.duckdb() as other:
            other.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        duckdb_cleans(lake)
        assert rows(keeper, "s", "back") == expected
        report = sweep(keeper)
        assert report["rows"]["revived-paths"] > 0, report
        assert lake.rows(kept)[0][0] == 0
        duckdb_cleans(lake)
        assert rows(keeper, "s", "back") == expected
        all_there(keeper, "s", "back")
        # Its own rows decide now: what it gives up goes.
        catalog.load_table(("s", "back")).delete("id >= 0")
        with lake.duckdb() as other:
            other.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        duckdb_cleans(lake)
        sweep(keeper)
        assert not [u for u in objects(lake) if u.endswith(".parquet")]

    def test_without_the_store_it_is_refused_and_does_its_work_later(self, own_stack):
        for keeper in served_lake(own_stack, DUCKICELAKE_SWEEP_GRACE_SECONDS=0,
                                  DUCKICELAKE_REQUEST_TIMEOUT_SECONDS=20):
            lake, s3 = keeper.lake, keeper.lake.s3()
            catalog = PyIceberg(keeper).catalog
            lake.session().execute("CREATE SCHEMA lake.s")
            crowd(keeper, catalog, "s")
            location = keeper.load("s", "t")["metadata"]["location"]
            for i in range(300):
                s3.put_object(**Objects.place(f"{location}/data/litter-{i}.parquet"), Body=b"x")
            expected, work = rows(keeper, "s", "t"), branch(keeper, "s")
            own_stack.s3.stop()
            answer = post(keeper, "/admin/maintenance", {"expire": False})
            own_stack.s3.start()
            error_of(answer, 503, "ServiceUnavailableException")
            # It goes away while objects are being removed.
            for wait in (0.05, 0.2, 0.6):
                answers = []
                sender = threading.Thread(
                    target=lambda: answers.append(post(keeper, "/admin/maintenance", {"expire": False})))
                sender.start()
                time.sleep(wait)
                own_stack.s3.stop()
                sender.join()
                own_stack.s3.start()
                assert answers[0].status_code in (200, 503), answers[0].text
            eventually("the store is back", lambda: post(
                keeper, "/admin/maintenance", {"expire": False}).status_code == 200)
            assert objects(lake) <= named(keeper)
            assert rows(keeper, "s", "t") == expected and branch(keeper, "s") == work
            all_there(keeper, "s", "t")


class TestFilesBesideMain:
    def test_ducklakes_own_upkeep_leaves_them_alone(self, fresh_keeper):
        keeper, lake = fresh_keeper, fresh_keeper.lake
        catalog = PyIceberg(keeper).catalog
        lake.session().execute("CREATE SCHEMA lake.s")
        crowd(keeper, catalog, "s")
        catalog.load_table(("s", "t")).delete("id = 3", branch="work")
        expected, work, head = rows(keeper, "s", "t"), branch(keeper, "s"), lake.head()
        hidden = lake.rows("SELECT count(*) FROM ducklake_data_file WHERE begin_snapshot = -1 AND "
                           "end_snapshot = -1")[0][0]
        assert hidden > 0
        past = {v: rows(keeper, "s", "t", at=v) for v in snapshots(keeper, "s", "t") if v <= head}
        with lake.duckdb() as duck:
            changes = duck.execute(
                f"SELECT change_type, count(*) FROM ducklake_table_changes('lake', 's', 't', 0, {head}) "
                "GROUP BY 1").fetchall()
            inserted = dict(changes)["insert"]
            assert inserted == 50 + 50 + 2 + 10, changes  # none of the branch's
            assert duck.execute("SELECT count(*) FROM lake.s.t").fetchone()[0] == len(expected)
            duckdb_cleans(lake)
            assert branch(keeper, "s") == work
            assert {v: rows(keeper, "s", "t", at=v) for v in past} == past
            duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.0)")
            duck.execute("CALL ducklake_merge_adjacent_files('lake')")
            duck.execute("CALL ducklake_flush_inlined_data('lake')")
            duckdb_cleans(lake)
            assert branch(keeper, "s") == work
            # The branch's base leaves main, and DuckLake forgets it.
            duck.execute("DELETE FROM lake.s.t WHERE id < 5000")
            duck.execute("INSERT INTO lake.s.t SELECT 7")
            duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        duckdb_cleans(lake)
        assert rows(keeper, "s", "t") == [(7,)]
        assert branch(keeper, "s") == work
        all_there(keeper, "s", "t")
        sweep(keeper)
        duckdb_cleans(lake)
        assert branch(keeper, "s") == work

    def test_they_go_with_their_branch(self, keeper, catalog, space):
        crowd(keeper, catalog, space)
        files = {t.file.file_path for t in PyIceberg(keeper).load(space, "t").scan().use_ref(
            "work").plan_files()} - {t.file.file_path for t in PyIceberg(keeper).load(
                space, "t").scan().plan_files()}
        assert files
        sweep(keeper)
        assert files <= objects(keeper.lake)
        head = catalog.load_table((space, "t")).refs()["work"].snapshot_id
        catalog.load_table((space, "t")).manage_snapshots().remove_branch("work").commit()
        catalog.load_table((space, "t")).maintenance.expire_snapshots().by_id(head).commit()
        assert head not in snapshots(keeper, space, "t")
        report = sweep(keeper)
        assert report["rows"]["side-files"] >= 1
        assert not files & objects(keeper.lake)
        assert keeper.lake.rows(
            "SELECT count(*) FROM ducklake_data_file f JOIN ducklake_table t USING (table_id) JOIN "
            "ducklake_schema s USING (schema_id) WHERE schema_name = %s AND f.begin_snapshot = -1",
            space)[0][0] == 0

    def test_main_takes_them_over(self, keeper, catalog, space):
        table = catalog.create_table((space, "t"), numbers(0, 0).schema)
        table.append(numbers(0, 10))
        first = table.current_snapshot().snapshot_id
        table.manage_snapshots().create_branch(first, "work").commit()
        catalog.load_table((space, "t")).append(numbers(10, 13), branch="work")
        duckdb_cleans(keeper.lake)
        table = catalog.load_table((space, "t"))
        table.manage_snapshots().set_current_snapshot(table.refs()["work"].snapshot_id).commit()
        assert rows(keeper, space, "t") == [(i,) for i in range(13)]
        assert keeper.lake.rows(
            "SELECT count(*) FROM ducklake_data_file f JOIN ducklake_table t USING (table_id) JOIN "
            "ducklake_schema s USING (schema_id) WHERE schema_name = %s AND f.begin_snapshot = -1",
            space)[0][0] == 0
        sweep(keeper)
        duckdb_cleans(keeper.lake)
        assert branch(keeper, space) == list(range(13))
        assert rows(keeper, space, "t") == [(i,) for i in range(13)]
