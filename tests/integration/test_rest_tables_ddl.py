# SPDX-License-Identifier: Apache-2.0
"""Tables as wholes over REST: dropped, purged, renamed, unregistered, reported on."""
import itertools
import json
import threading

import pytest
from lib.rest import error_of
from lib.writes import Writer, path_of, uuid7

_numbers = itertools.count(1)


@pytest.fixture
def writer(server):
    return Writer(server)


@pytest.fixture
def space(server):
    """A schema of this test's own."""
    name = f"ddl_{next(_numbers)}"
    server.lake.session().execute(f"CREATE SCHEMA lake.{name}")
    return name


@pytest.fixture
def table(server, space):
    """A table with data files, a delete file, inlined rows, comments, partitions, a sort order."""
    session = server.lake.session()
    session.execute(f"USE lake.{space}")
    session.execute("CREATE TABLE t (id INTEGER, word VARCHAR, deep STRUCT(x INTEGER))")
    session.execute("COMMENT ON TABLE t IS 'a table'; COMMENT ON COLUMN t.id IS 'a column'")
    session.execute("ALTER TABLE t SET SORTED BY (id)")
    session.execute("INSERT INTO t SELECT i, 'w', {'x': i} FROM range(100) r(i)")
    session.execute("DELETE FROM t WHERE id < 30")
    session.execute("ALTER TABLE t SET PARTITIONED BY (word)")
    session.execute("INSERT INTO t VALUES (1000, 'small', {'x': 1})")
    session.execute("USE memory")
    return "t"


def count(session, space: str, name: str) -> int:
    return session.execute(f'SELECT count(*) FROM lake.{space}."{name}"').fetchone()[0]


def tables(session, space: str) -> set[str]:
    return {row[0] for row in session.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = ?",
        [space]).fetchall()}


def words(lake) -> str:
    return lake.rows("SELECT changes_made FROM ducklake_snapshot_changes "
                     "ORDER BY snapshot_id DESC LIMIT 1")[0][0]


def unhinted(keys: list[str]) -> list[str]:
    """Without version-hint.text, which is written soon after a version, not with it."""
    return sorted(key for key in keys if not key.endswith("version-hint.text"))


def objects(lake, part: str) -> list[str]:
    """Keys of the lake's objects, beside DATA_PATH as well, that hold `part`."""
    client, found = lake.s3(), []
    pages = client.get_paginator("list_objects_v2").paginate(
        Bucket=lake.env["DUCKICELAKE_S3_BUCKET"], Prefix=f"{lake.name}/")
    for page in pages:
        found += [item["Key"] for item in page.get("Contents", []) if part in item["Key"]]
    return found


def ended_rows(lake, table_id: int, snapshot: int) -> dict[str, int]:
    """How many rows of each of DuckLake's tables ended with the table, and how many did not."""
    out = {}
    for name, key in (("table", "table_id"), ("column", "table_id"), ("column_tag", "table_id"),
                      ("data_file", "table_id"), ("delete_file", "table_id"),
                      ("partition_info", "table_id"), ("sort_info", "table_id"),
                      ("tag", "object_id")):
        out[name], live = lake.rows(
            f"SELECT count(*) FILTER (WHERE end_snapshot = {snapshot}), count(*) FILTER "
            f"(WHERE end_snapshot IS NULL) FROM ducklake_{name} WHERE {key} = {table_id}")[0]
        assert live == 0, name
    return out


def id_of(lake, space: str, name: str) -> int:
    return lake.rows("SELECT table_id FROM ducklake_table t JOIN ducklake_schema s USING "
                     "(schema_id) WHERE t.end_snapshot IS NULL AND schema_name = %s AND "
                     "table_name = %s", space, name)[0][0]


class TestDrop:
    def test_ends_the_rows_that_duckdb_ends_and_open_sessions_see_it(self, server, writer, space,
                                                                     table):
        session = server.lake.session()
        session.execute(f"CREATE TABLE lake.{space}.twin AS FROM lake.{space}.t LIMIT 0")
        assert tables(session, space) == {"t", "twin"}
        server.load(space, table)
        number, before = id_of(server.lake, space, "t"), server.lake.head()
        assert writer.delete(path_of(space) + "/tables/t").status_code == 204
        assert server.lake.head() == before + 1
        assert words(server.lake) == f"dropped_table:{number}"
        assert ended_rows(server.lake, number, before + 1) == {
            "table": 1, "column": 4, "column_tag": 1, "data_file": 1, "delete_file": 1,
            "partition_info": 1, "sort_info": 1, "tag": 1}
        assert tables(session, space) == {"twin"}
        error_of(server.get(path_of(space) + "/tables/t"), 404, "NoSuchTableException")
        error_of(writer.delete(path_of(space) + "/tables/t"), 404, "NoSuchTableException")
        # The past stays.
        rows = session.execute(
            f"SELECT count(*) FROM lake.{space}.t AT (VERSION => {before})").fetchone()[0]
        assert rows == 71
        assert len(objects(server.lake, f"/{space}/t/")) > 3

    def test_a_new_table_of_the_name_knows_nothing_of_the_old_one(self, server, writer, space,
                                                                  table):
        old = server.load(space, table)["metadata"]
        assert writer.delete(path_of(space) + "/tables/t").status_code == 204
        server.lake.session().execute(f"CREATE TABLE lake.{space}.t AS SELECT 7 AS other")
        new = server.load(space, table)["metadata"]
        assert new["table-uuid"] != old["table-uuid"]
        assert len(new["snapshots"]) == 1
        assert [field["name"] for field in new["schemas"][-1]["fields"]] == ["other"]

    def test_of_what_is_not_there_is_404(self, server, writer, space):
        error_of(writer.delete(path_of(space) + "/tables/absent"), 404, "NoSuchTableException")
        error_of(writer.delete(path_of("absent") + "/tables/t"), 404, "NoSuchTableException")
        server.lake.session().execute(f"CREATE VIEW lake.{space}.v AS SELECT 1 AS one")
        error_of(writer.delete(path_of(space) + "/tables/v"), 404, "NoSuchTableException")

    def test_beside_a_duckdb_writer_one_of_them_wins(self, server, writer, space, table):
        session = server.lake.session()
        session.execute("BEGIN")
        session.execute(f"INSERT INTO lake.{space}.t SELECT i, 'x', NULL FROM range(50) r(i)")
        assert writer.delete(path_of(space) + "/tables/t").status_code == 204
        with pytest.raises(Exception, match="(?i)conflict|drop"):
            session.execute("COMMIT")
        assert tables(server.lake.session(), space) == set()

    def test_a04_dropped_once_under_a_key(self, server, writer, space, table):
        key, session = uuid7(), server.lake.session()
        for _ in range(2):
            assert writer.delete(path_of(space) + "/tables/t", key=key).status_code == 204
        session.execute(f"CREATE TABLE lake.{space}.t AS SELECT 1 AS id")
        assert writer.delete(path_of(space) + "/tables/t", key=key).status_code == 204
        assert tables(session, space) == {"t"}
        error_of(writer.delete(path_of(space) + "/tables/t?purgeRequested=true", key=key), 422)


class TestPurge:
    def purge(self, writer, space, name="t"):
        return writer.delete(path_of(space) + f"/tables/{name}?purgeRequested=true")

    def test_removes_the_tables_objects_and_no_other(self, server, writer, space, table):
        session = server.lake.session()
        session.execute(f"CREATE TABLE lake.{space}.t2 AS SELECT i AS id FROM range(20) r(i)")
        for name in ("t", "t2"):
            server.load(space, name)
        uuid = server.load(space, "t")["metadata"]["table-uuid"]
        beside = objects(server.lake, uuid)
        assert beside, "the inlined rows and deletes lie beside DATA_PATH"
        others = unhinted(objects(server.lake, f"/{space}/t2/"))
        assert self.purge(writer, space).status_code == 204
        assert objects(server.lake, f"/{space}/t/") == []
        assert objects(server.lake, uuid) == []
        assert unhinted(objects(server.lake, f"/{space}/t2/")) == others
        assert count(session, space, "t2") == 20

    def test_duckdb_expires_and_cleans_up_afterwards(self, fresh_server):
        lake = fresh_server.lake
        session = lake.session()
        session.execute("CREATE TABLE lake.main.t AS SELECT i AS id FROM range(100) r(i)")
        session.execute("DELETE FROM lake.main.t WHERE id < 50")
        session.execute("CREATE TABLE lake.main.kept AS SELECT i AS id FROM range(10) r(i)")
        fresh_server.load("main", "t")
        assert self.purge(Writer(fresh_server), "main").status_code == 204
        session.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        session.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        assert lake.rows("SELECT count(*) FROM ducklake_files_scheduled_for_deletion") == [(0,)]
        assert count(session, "main", "kept") == 10
        assert len(fresh_server.load("main", "kept")["metadata"]["snapshots"]) == 1

    def test_leaves_a_folder_that_another_table_has(self, server, writer, space, table):
        """DuckDB puts a table of a dropped one's name into its folder."""
        session = server.lake.session()
        before = server.lake.head()
        old = {row[0] for row in server.lake.rows(
            "SELECT path FROM ducklake_data_file WHERE table_id = %s",
            id_of(server.lake, space, "t"))}
        session.execute(f"DROP TABLE lake.{space}.t")
        session.execute(f"CREATE TABLE lake.{space}.t AS SELECT i AS id FROM range(40) r(i)")
        server.load(space, "t")
        own = {row[0] for row in server.lake.rows(
            "SELECT path FROM ducklake_data_file WHERE table_id = %s",
            id_of(server.lake, space, "t"))}
        assert self.purge(writer, space).status_code == 204
        left = objects(server.lake, f"/{space}/t/")
        for path in old:
            assert any(key.endswith(path) for key in left)
        for path in own:
            assert not any(key.endswith(path) for key in left)
        rows = session.execute(f"SELECT count(*) FROM lake.{space}.t AT (VERSION => {before})")
        assert rows.fetchone()[0] == 71

    def test_leaves_files_added_from_elsewhere(self, server, writer, space):
        lake, session = server.lake, server.lake.session()
        place = lake.external(f"{space}/x.parquet")
        session.execute(f"COPY (SELECT 1 AS id) TO '{place}' (FORMAT parquet)")
        session.execute(f"CREATE TABLE lake.{space}.t (id INTEGER)")
        session.execute(f"CALL ducklake_add_data_files('lake', 't', '{place}', schema => '{space}')")
        server.load(space, "t")
        assert self.purge(writer, space).status_code == 204
        assert objects(lake, f"external/{space}/x.parquet")

    def test_leaves_files_that_another_table_names(self, server, writer, space, table):
        lake, session = server.lake, server.lake.session()
        (path,), = lake.rows("SELECT path FROM ducklake_data_file WHERE table_id = %s",
                             id_of(lake, space, "t"))
        whole = f"{lake.data_path}{space}/t/{path}"
        session.execute(f"CREATE TABLE lake.{space}.other (id INTEGER, word VARCHAR, "
                        "deep STRUCT(x INTEGER))")
        session.execute(
            f"CALL ducklake_add_data_files('lake', 'other', '{whole}', schema => '{space}')")
        assert self.purge(writer, space).status_code == 204
        assert count(session, space, "other") == 100
        assert session.execute(f"SELECT max(id) FROM lake.{space}.other").fetchone()[0] == 99

    def test_purges_nothing_of_a_table_that_stays(self, server, writer, space, table):
        before = objects(server.lake, f"/{space}/t/")
        error_of(self.purge(writer, space, "absent"), 404)
        error_of(writer.delete(path_of(space) + "/tables/t?purgeRequested=perhaps"), 400)
        assert objects(server.lake, f"/{space}/t/") == before


class TestRename:
    def test_a07_is_204_and_one_snapshot(self, server, writer, space, table):
        session = server.lake.session()
        assert tables(session, space) == {"t"}
        old = server.load(space, "t")["metadata"]
        number, before = id_of(server.lake, space, "t"), server.lake.head()
        answer = writer.rename("tables", (space, "t"), (space, "u"))
        assert answer.status_code == 204 and answer.content == b""
        assert server.lake.head() == before + 1
        assert words(server.lake) == f'created_table:"{space}"."u"'
        assert id_of(server.lake, space, "u") == number
        assert tables(session, space) == {"u"} and count(session, space, "u") == 71
        new = server.load(space, "u")["metadata"]
        for key in ("table-uuid", "location", "snapshots", "current-snapshot-id"):
            assert new[key] == old[key], key
        error_of(server.get(path_of(space) + "/tables/t"), 404, "NoSuchTableException")
        assert session.execute(
            f"SELECT count(*) FROM lake.{space}.t AT (VERSION => {before})").fetchone()[0] == 71

    def test_duckdb_goes_on_writing_to_it(self, server, writer, space, table):
        session = server.lake.session()
        assert writer.rename("tables", (space, "t"), (space, "u")).status_code == 204
        for step in range(3):  # small inserts and deletes are kept inside PostgreSQL
            session.execute(f"INSERT INTO lake.{space}.u VALUES ({2000 + step}, 'x', NULL)")
            session.execute(f"DELETE FROM lake.{space}.u WHERE id = {40 + step}")
        session.execute(f"INSERT INTO lake.{space}.u SELECT i, 'y', NULL FROM range(50) r(i)")
        session.execute(f"UPDATE lake.{space}.u SET word = 'z' WHERE id = 1000")
        session.execute(f"ALTER TABLE lake.{space}.u ADD COLUMN more INTEGER")
        session.execute(f"INSERT INTO lake.{space}.u VALUES (3000, 'x', NULL, 5)")
        assert count(session, space, "u") == 71 + 3 - 3 + 50 + 1
        metadata = server.load(space, "u")["metadata"]
        assert metadata["snapshots"][-1]["summary"]["total-records"]

    def test_into_another_namespace_keeps_files_and_history(self, server, writer, space, table):
        session = server.lake.session()
        other = f"{space}_other"
        session.execute(f"CREATE SCHEMA lake.{other}")
        old = server.load(space, "t")["metadata"]
        before = server.lake.head()
        assert writer.rename("tables", (space, "t"), (other, "moved")).status_code == 204
        assert tables(session, space) == set() and tables(session, other) == {"moved"}
        assert count(session, other, "moved") == 71
        new = server.load(other, "moved")["metadata"]
        for key in ("table-uuid", "location", "snapshots"):
            assert new[key] == old[key], key
        session.execute(f"INSERT INTO lake.{other}.moved SELECT i, 'y', NULL FROM range(50) r(i)")
        session.execute(f"INSERT INTO lake.{other}.moved VALUES (5, 'y', NULL)")
        session.execute(f"DELETE FROM lake.{other}.moved WHERE id > 90 AND word = 'w'")
        assert count(session, other, "moved") == 71 + 51 - 9
        assert session.execute(
            f"SELECT count(*) FROM lake.{space}.t AT (VERSION => {before})").fetchone()[0] == 71
        # The old namespace can go, the table stays.
        assert writer.delete(path_of(space)).status_code == 204
        assert count(session, other, "moved") == 113
        server.load(other, "moved")
        from pyiceberg.catalog import load_catalog
        catalog = load_catalog("lake", type="rest", uri=server.url, warehouse="lake", **{
            "s3.access-key-id": server.lake.env["DUCKICELAKE_S3_ROOT_KEY"],
            "s3.secret-access-key": server.lake.env["DUCKICELAKE_S3_ROOT_SECRET"]})
        assert catalog.load_table((other, "moved")).scan().to_arrow().num_rows == 113
        session.execute(f"CALL ducklake_merge_adjacent_files('lake', 'moved', schema => '{other}')")
        assert count(session, other, "moved") == 113

    def test_into_a_namespace_of_several_levels(self, server, writer, space, table):
        assert writer.create_namespace([space, "inner"]).status_code == 200
        assert writer.rename("tables", (space, "t"), ([space, "inner"], "t")).status_code == 204
        assert server.get(path_of([space, "inner"]) + "/tables/t").status_code == 200
        assert count(server.lake.session(), f'"{space}.inner"', "t") == 71

    def test_a03_a_taken_destination_is_409(self, server, writer, space, table):
        session = server.lake.session()
        session.execute(f"CREATE TABLE lake.{space}.taken (id INTEGER)")
        session.execute(f"CREATE VIEW lake.{space}.seen AS SELECT 1 AS id")
        head = server.lake.head()
        for name in ("taken", "TAKEN", "seen", "Seen"):
            error_of(writer.rename("tables", (space, "t"), (space, name)), 409,
                     "AlreadyExistsException")
        error_of(writer.rename("tables", (space, "absent"), (space, "x")), 404,
                 "NoSuchTableException")
        error_of(writer.rename("tables", (space, "t"), ("absent", "x")), 404,
                 "NoSuchNamespaceException")
        error_of(writer.rename("tables", ("absent", "t"), (space, "x")), 404,
                 "NoSuchTableException")
        error_of(writer.rename("tables", (space, "seen"), (space, "x")), 404,
                 "NoSuchTableException")
        for name in ("", "__mask_x", "__masked_x", "a\x00", "a\x1f", "..", "x" * 257):
            error_of(writer.rename("tables", (space, "t"), (space, name)), 400)
        assert server.lake.head() == head

    def test_to_itself_does_nothing_and_to_another_case_does(self, server, writer, space, table):
        head = server.lake.head()
        assert writer.rename("tables", (space, "t"), (space, "t")).status_code == 204
        assert server.lake.head() == head
        assert writer.rename("tables", (space, "t"), (space, "T")).status_code == 204
        assert tables(server.lake.session(), space) == {"T"}

    def test_two_at_once_to_one_name_have_one_winner(self, server, writer, space):
        session = server.lake.session()
        for n in range(6):
            session.execute(f"CREATE TABLE lake.{space}.t{n} (id INTEGER)")
        answers = []

        def rename(n):
            import requests
            body = {"source": {"namespace": [space], "name": f"t{n}"},
                    "destination": {"namespace": [space], "name": "winner"}}
            answers.append(requests.post(f"{server.api}/tables/rename", json=body,
                                         timeout=60).status_code)
        threads = [threading.Thread(target=rename, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [204] + [409] * 5
        assert len(tables(session, space)) == 6


class TestUnregister:
    def test_answers_the_last_metadata_and_leaves_the_files(self, server, writer, space, table):
        last = server.load(space, "t")
        before = objects(server.lake, f"/{space}/t/")
        key = uuid7()
        answer = writer.post(path_of(space) + "/tables/t/unregister", key=key)
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"metadata-location": last["metadata-location"],
                                 "metadata": last["metadata"]}
        error_of(server.get(path_of(space) + "/tables/t"), 404, "NoSuchTableException")
        assert tables(server.lake.session(), space) == set()
        assert unhinted(objects(server.lake, f"/{space}/t/")) == unhinted(before)
        bucket, name = last["metadata-location"].removeprefix("s3://").split("/", 1)
        stored = server.lake.s3().get_object(Bucket=bucket, Key=name)["Body"].read()
        assert json.loads(stored)["snapshots"] == last["metadata"]["snapshots"]
        again = writer.post(path_of(space) + "/tables/t/unregister", key=key)
        assert again.json() == answer.json()
        error_of(writer.post(path_of(space) + "/tables/t/unregister"), 404, "NoSuchTableException")

    def test_holds_all_that_was_committed_before(self, server, writer, space):
        session = server.lake.session()
        session.execute(f"CREATE TABLE lake.{space}.t (id INTEGER)")
        stop, rows = threading.Event(), [0]

        def insert():
            own = server.lake.session()
            try:
                while not stop.is_set():
                    own.execute(f"INSERT INTO lake.{space}.t SELECT i FROM range(20) r(i)")
                    rows[0] += 20
            except Exception:  # noqa: BLE001 the table is gone
                pass
        thread = threading.Thread(target=insert)
        thread.start()
        try:
            answer = writer.post(path_of(space) + "/tables/t/unregister")
        finally:
            stop.set()
            thread.join()
        if answer.status_code == 409:  # the inserts came all the time
            error_of(answer, 409, "CommitFailedException")
            answer = writer.post(path_of(space) + "/tables/t/unregister")
        assert answer.status_code == 200, answer.text
        metadata = answer.json()["metadata"]
        total = int(metadata["snapshots"][-1]["summary"]["total-records"]) if rows[0] else 0
        assert total == rows[0]


class TestMetrics:
    scan = {"report-type": "scan-report", "table-name": "t", "snapshot-id": 1, "filter": True,
            "schema-id": 0, "projected-field-ids": [1], "projected-field-names": ["id"],
            "metrics": {"result-data-files": {"unit": "count", "value": 1}}}
    commit = {"report-type": "commit-report", "table-name": "t", "snapshot-id": 1,
              "sequence-number": 1, "operation": "append", "metadata": {"a": "b"},
              "metrics": {"total-duration": {"time-unit": "nanoseconds", "count": 1,
                                             "total-duration": 9}}}

    def test_are_kept_with_the_table_up_to_a_bound(self, server, writer, space, table):
        path = path_of(space) + "/tables/t/metrics"
        for report in (self.scan, self.commit):
            assert writer.post(path, report).status_code == 204
        number = id_of(server.lake, space, "t")
        kept = server.lake.rows("SELECT report, principal FROM duckicelake.metrics_report "
                                "WHERE table_id = %s ORDER BY serial", number)
        assert [json.loads(row[0]) for row in kept] == [self.scan, self.commit]
        assert {row[1] for row in kept} == {"anonymous"}
        server.lake.postgres.execute(
            "INSERT INTO duckicelake.metrics_report (catalog_id, table_id, principal, report) "
            "SELECT 'lake', %s, 'x', '{}' FROM generate_series(1, 1500)", (number,))
        assert writer.post(path, self.scan).status_code == 204
        assert server.lake.rows("SELECT count(*) FROM duckicelake.metrics_report WHERE "
                                "table_id = %s", number) == [(1000,)]

    def test_of_another_shape_or_table_are_refused(self, writer, space, table):
        path = path_of(space) + "/tables/t/metrics"
        for broken in ({}, self.scan | {"report-type": "x"}, self.scan | {"metrics": []},
                       self.scan | {"snapshot-id": "1"}, self.commit | {"operation": None},
                       self.scan | {"metrics": {"x": {"unit": "count"}}}):
            error_of(writer.post(path, broken), 400, "BadRequestException")
        error_of(writer.post(path, self.scan | {"metadata": {"x": "y" * 300_000}}), 413)
        error_of(writer.post(path_of(space) + "/tables/absent/metrics", self.scan), 404,
                 "NoSuchTableException")


class TestFunctions:
    def test_there_are_none(self, server, space):
        server.lake.session().execute(f"CREATE MACRO lake.{space}.twice(x) AS 2 * x")
        assert server.get(path_of(space) + "/functions").json() == {"identifiers": []}
        error_of(server.get(path_of(space) + "/functions/twice"), 404, "NoSuchFunctionException")
        error_of(server.get(path_of("absent") + "/functions"), 404, "NoSuchNamespaceException")


def test_pyiceberg_renames_drops_and_purges(server, writer, space, table):
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
    catalog = load_catalog("lake", type="rest", uri=server.url, warehouse="lake")
    server.lake.session().execute(f"CREATE TABLE lake.{space}.taken (id INTEGER)")
    renamed = catalog.rename_table((space, "t"), (space, "u"))
    assert renamed.name() == (space, "u")
    with pytest.raises(TableAlreadyExistsError):
        catalog.rename_table((space, "u"), (space, "taken"))
    with pytest.raises(NoSuchTableError):
        catalog.rename_table((space, "t"), (space, "v"))
    catalog.drop_table((space, "taken"))
    catalog.purge_table((space, "u"))
    assert catalog.list_tables(space) == []
    with pytest.raises(NoSuchTableError):
        catalog.drop_table((space, "u"))
    assert objects(server.lake, f"/{space}/t/") == []
