# SPDX-License-Identifier: Apache-2.0
"""Views over REST: made, replaced, renamed, dropped, registered; what DuckDB sees of them."""
import itertools
import json
import threading
import uuid

import pytest
from lib.rest import error_of, nulls
from lib.writes import Writer, path_of, uuid7

_numbers = itertools.count(1)

SCHEMA = {"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "id", "type": "int", "required": False}]}
WIDER = {"type": "struct", "schema-id": 1, "fields": [
    {"id": 1, "name": "id", "type": "int", "required": False},
    {"id": 2, "name": "more", "type": "string", "required": False}]}


def sql(dialect: str, text: str) -> dict:
    return {"type": "sql", "sql": text, "dialect": dialect}


def version(space: str, *queries: dict, number: int = 1, schema: int = 0) -> dict:
    return {"version-id": number, "timestamp-ms": 1700000000000, "schema-id": schema,
            "summary": {"engine-name": "test"}, "default-namespace": [space],
            "representations": list(queries)}


@pytest.fixture
def writer(server):
    return Writer(server)


@pytest.fixture
def space(server):
    """A schema of this test's own with a table `t` of ten rows."""
    name, session = f"views_{next(_numbers)}", server.lake.session()
    session.execute(f"CREATE SCHEMA lake.{name}")
    session.execute(f"CREATE TABLE lake.{name}.t AS SELECT i AS id FROM range(10) r(i)")
    return name


def create(writer, space, name="v", *queries, **more):
    body = {"name": name, "schema": SCHEMA, "properties": more.pop("properties", {}),
            "view-version": version(space, *(queries or (sql("duckdb", "SELECT id FROM t"),)))}
    key = more.pop("key", None)
    return writer.post(path_of(space) + "/views", body | more, key=key)


def replace(writer, space, name, view_uuid, *updates, **options):
    return writer.post(path_of(space) + f"/views/{name}", {
        "identifier": {"namespace": [space], "name": name},
        "requirements": [{"type": "assert-view-uuid", "uuid": view_uuid}],
        "updates": list(updates)}, **options)


def rows(session, space, name):
    return session.execute(f'SELECT count(*) FROM lake.{space}."{name}"').fetchone()[0]


def listed(server, space) -> set[str]:
    return {i["name"] for i in server.get(path_of(space) + "/views").json()["identifiers"]}


def duckdb_views(session, space) -> set[str]:
    return {row[0] for row in session.execute(
        "SELECT view_name FROM duckdb_views() WHERE database_name = 'lake' AND schema_name = ?",
        [space]).fetchall()}


def words(lake) -> str:
    return lake.rows("SELECT changes_made FROM ducklake_snapshot_changes "
                     "ORDER BY snapshot_id DESC LIMIT 1")[0][0]


class TestCreate:
    def test_is_one_snapshot_that_open_duckdb_sessions_ask(self, server, writer, space):
        session = server.lake.session()
        assert duckdb_views(session, space) == set()
        before = server.lake.head()
        answer = create(writer, space, "v", sql("spark", "SELECT `id` FROM t"),
                        sql("duckdb", "SELECT id FROM t WHERE id > 3"), properties={"a": "b"})
        assert answer.status_code == 200, answer.text
        assert server.lake.head() == before + 1
        assert words(server.lake) == f'created_view:"{space}"."v"'
        assert duckdb_views(session, space) == {"v"} and rows(session, space, "v") == 6
        metadata = answer.json()["metadata"]
        assert metadata["current-version-id"] == 1 and metadata["properties"] == {"a": "b"}
        assert metadata["versions"][0]["default-namespace"] == [space]
        assert [q["dialect"] for q in metadata["versions"][0]["representations"]] == [
            "spark", "duckdb"]
        loaded = server.get(path_of(space) + "/views/v").json()
        assert loaded == answer.json() and not nulls(loaded)
        assert listed(server, space) == {"v"}
        assert server.http.head(f"{server.api}{path_of(space)}/views/v").status_code == 204
        bucket, key = loaded["metadata-location"].removeprefix("s3://").split("/", 1)
        stored = server.lake.s3().get_object(Bucket=bucket, Key=key)["Body"].read()
        assert json.loads(stored) == metadata

    def test_a18_foreign_dialects_leave_the_catalog_whole(self, server, writer, space):
        text = "select `id` from t lateral view explode(x) foo where \"unbalanced"
        assert create(writer, space, "foreign_one", sql("spark", text),
                      sql("trino", "SELECT 1")).status_code == 200
        assert create(writer, space, "fine").status_code == 200
        for session in (server.lake.session(), server.lake.duckdb()):
            assert duckdb_views(session, space) == {"foreign_one", "fine"}
            assert rows(session, space, "t") == 10 and rows(session, space, "fine") == 10
            session.execute("SHOW ALL TABLES").fetchall()
            session.execute("SELECT * FROM information_schema.columns").fetchall()
            with pytest.raises(Exception, match="(?i)parser"):
                rows(session, space, "foreign_one")
        loaded = server.get(path_of(space) + "/views/foreign_one").json()["metadata"]
        assert loaded["versions"][0]["representations"] == [sql("spark", text),
                                                             sql("trino", "SELECT 1")]
        server.lake.session().execute(f"DROP VIEW lake.{space}.foreign_one")
        error_of(server.get(path_of(space) + "/views/foreign_one"), 404, "NoSuchViewException")

    def test_names_are_shared_with_tables(self, server, writer, space):
        assert create(writer, space, "v").status_code == 200
        head = server.lake.head()
        for name, start in (("v", f"View already exists: {space}.v"), ("V", "View already"),
                            ("t", f"Table with same name already exists: {space}.t"),
                            ("T", "Table with same name already exists")):
            error = error_of(create(writer, space, name), 409, "AlreadyExistsException")
            assert error["message"].startswith(start), error
        assert server.lake.head() == head
        with pytest.raises(Exception, match="(?i)exists"):
            server.lake.session().execute(f"CREATE TABLE lake.{space}.v (id INTEGER)")
        error_of(server.get(path_of(space) + "/tables/v"), 404, "NoSuchTableException")

    def test_a11_in_a_missing_namespace_is_404(self, writer):
        error_of(create(writer, "absent"), 404, "NoSuchNamespaceException")

    def test_what_cannot_be_is_400_and_leaves_nothing(self, server, writer, space):
        head = server.lake.head()
        for name in ("", ".", "__mask_x", "a\x00", "a\x1f", "x" * 257):
            error_of(create(writer, space, name), 400)
        error_of(create(writer, space, "v", sql("duckdb", "a"), sql("DuckDB", "b")), 400)
        error_of(create(writer, space, "v", sql("duckdb", "a\x00")), 400)
        error_of(create(writer, space, "v", properties={"duckicelake.x": "1"}), 403)
        for place in ("s3://elsewhere/x", "/tmp/x", server.lake.data_path, "file:///x",
                      server.lake.data_path.rstrip("/") + "-other/x"):
            error_of(create(writer, space, "v", location=place), 400)
            error_of(create(writer, space, "v", properties={"write.metadata.path": place}), 400)
        assert server.lake.head() == head and listed(server, space) == set()

    def test_at_a_place_of_the_clients_choice(self, server, writer, space):
        place = f"{server.lake.data_path}custom/{space}"
        answer = create(writer, space, "v", location=place)
        assert answer.json()["metadata"]["location"] == place
        assert answer.json()["metadata-location"].startswith(place + "/metadata/")
        answer = create(writer, space, "w", location=place,
                        properties={"write.metadata.path": place + "/elsewhere"})
        assert answer.json()["metadata-location"].startswith(place + "/elsewhere/")

    def test_a04_once_under_a_key(self, server, writer, space):
        key = uuid7()
        first = create(writer, space, key=key)
        head = server.lake.head()
        assert create(writer, space, key=key).json() == first.json()
        assert server.lake.head() == head
        error_of(create(writer, space, "w", key=key), 422)

    def test_duckdb_resolves_names_in_the_views_schema(self, server, writer, space):
        assert create(writer, space).status_code == 200
        session = server.lake.duckdb()
        session.execute("USE lake.main; CREATE OR REPLACE TABLE t AS SELECT 1 AS id")
        assert rows(session, space, "v") == 10


class TestReplace:
    def test_keeps_id_and_uuid_and_adds_a_version(self, server, writer, space):
        session = server.lake.session()
        made = create(writer, space).json()["metadata"]
        (number,), = server.lake.rows("SELECT view_id FROM ducklake_view WHERE view_uuid = %s",
                                      made["view-uuid"])
        answer = replace(
            writer, space, "v", made["view-uuid"], {"action": "add-schema", "schema": WIDER},
            {"action": "add-view-version", "view-version": version(
                space, sql("duckdb", "SELECT id, 'x' AS more FROM t WHERE id < 5"),
                sql("trino", "SELECT 1"), number=2, schema=-1)},
            {"action": "set-current-view-version", "view-version-id": -1})
        assert answer.status_code == 200, answer.text
        metadata = answer.json()["metadata"]
        assert metadata["view-uuid"] == made["view-uuid"]
        assert metadata["current-version-id"] == 2 and len(metadata["versions"]) == 2
        assert len(metadata["schemas"]) == 2 and len(metadata["version-log"]) == 2
        assert words(server.lake) == f"altered_view:{number}"
        assert server.lake.rows("SELECT count(*), count(DISTINCT view_uuid) FROM ducklake_view "
                                "WHERE view_id = %s", number) == [(2, 1)]
        assert rows(session, space, "v") == 5
        assert session.execute(f"SELECT more FROM lake.{space}.v LIMIT 1").fetchone() == ("x",)
        assert server.get(path_of(space) + "/views/v").json() == answer.json()

    def test_of_a_view_that_duckdb_made_goes_on_from_it(self, server, writer, space):
        session = server.lake.session()
        session.execute(f"CREATE VIEW lake.{space}.v AS SELECT id FROM lake.{space}.t")
        session.execute(f"COMMENT ON VIEW lake.{space}.v IS 'by a duck'")
        made = server.get(path_of(space) + "/views/v").json()["metadata"]
        assert made["properties"] == {"comment": "by a duck"}
        answer = replace(
            writer, space, "v", made["view-uuid"],
            {"action": "add-view-version", "view-version": version(
                space, sql("duckdb", "SELECT id FROM t WHERE id = 1"), number=2)},
            {"action": "set-current-view-version", "view-version-id": -1})
        assert answer.status_code == 200, answer.text
        metadata = answer.json()["metadata"]
        assert len(metadata["versions"]) == 2 and metadata["view-uuid"] == made["view-uuid"]
        assert metadata["properties"] == {"comment": "by a duck"}
        assert rows(session, space, "v") == 1
        session.execute(f"CREATE OR REPLACE VIEW lake.{space}.v AS SELECT 7 AS seven")
        again = server.get(path_of(space) + "/views/v").json()["metadata"]
        assert again["view-uuid"] != made["view-uuid"] and len(again["versions"]) == 1

    def test_comments_go_both_ways(self, server, writer, space):
        session = server.lake.session()
        made = create(writer, space, properties={"comment": "first"}).json()["metadata"]

        def comment():
            return session.execute("SELECT comment FROM duckdb_views() WHERE view_name = 'v' AND "
                                   "schema_name = ?", [space]).fetchone()[0]
        assert comment() == "first"
        session.execute(f"COMMENT ON VIEW lake.{space}.v IS 'second'")
        loaded = server.get(path_of(space) + "/views/v").json()["metadata"]
        assert loaded["properties"] == {"comment": "second"}
        answer = replace(writer, space, "v", made["view-uuid"],
                         {"action": "set-properties", "updates": {"other": "x"}})
        assert answer.json()["metadata"]["properties"] == {"comment": "second", "other": "x"}
        answer = replace(writer, space, "v", made["view-uuid"],
                         {"action": "remove-properties", "removals": ["comment"]})
        assert answer.json()["metadata"]["properties"] == {"other": "x"}
        assert comment() is None

    def test_a15_the_last_property_can_go(self, server, writer, space):
        made = create(writer, space, properties={"only": "one"}).json()["metadata"]
        answer = replace(writer, space, "v", made["view-uuid"],
                         {"action": "remove-properties", "removals": ["only", "absent"]})
        assert answer.json()["metadata"].get("properties", {}) == {}
        loaded = server.get(path_of(space) + "/views/v").json()["metadata"]
        assert loaded.get("properties", {}) == {}

    def test_refuses_what_does_not_hold(self, server, writer, space):
        made = create(writer, space).json()["metadata"]
        head = server.lake.head()
        nothing = {"action": "set-properties", "updates": {"a": "b"}}
        error_of(replace(writer, space, "v", str(uuid.uuid4()), nothing), 409,
                 "CommitFailedException")
        error_of(replace(writer, space, "absent", made["view-uuid"], nothing), 404,
                 "NoSuchViewException")
        error_of(replace(writer, space, "t", made["view-uuid"], nothing), 404,
                 "NoSuchViewException")
        error_of(replace(writer, space, "v", made["view-uuid"], {"action": "add-spec"}), 400)
        error_of(replace(writer, space, "v", made["view-uuid"],
                         {"action": "set-location", "location": "s3://elsewhere/x"}), 400)
        error_of(replace(writer, space, "v", made["view-uuid"],
                         {"action": "set-properties", "updates": {"duckicelake.a": "b"}}), 403)
        error = error_of(replace(
            writer, space, "v", made["view-uuid"],
            {"action": "add-view-version",
             "view-version": version(space, sql("trino", "SELECT 1"), number=2)},
            {"action": "set-current-view-version", "view-version-id": -1}), 400)
        assert "dialect" in error["message"]
        assert server.lake.head() == head

    def test_at_once_all_of_them_happen_in_turn(self, server, writer, space):
        made = create(writer, space).json()["metadata"]
        answers = []

        def change(n):
            import requests
            answers.append(requests.post(
                f"{server.api}{path_of(space)}/views/v", timeout=60, json={
                    "requirements": [], "updates": [
                        {"action": "set-properties", "updates": {f"p{n}": str(n)}}]}).status_code)
        threads = [threading.Thread(target=change, args=(n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        loaded = server.get(path_of(space) + "/views/v").json()["metadata"]
        assert loaded["view-uuid"] == made["view-uuid"]
        assert set(answers) <= {200, 409} and 200 in answers
        assert len(loaded["properties"]) == answers.count(200)

    def test_a04_once_under_a_key(self, server, writer, space):
        made = create(writer, space).json()["metadata"]
        key = uuid7()
        update = {"action": "set-properties", "updates": {"a": "b"}}
        first = replace(writer, space, "v", made["view-uuid"], update, key=key)
        head = server.lake.head()
        again = replace(writer, space, "v", made["view-uuid"], update, key=key)
        assert first.status_code == 200 and again.json() == first.json()
        assert server.lake.head() == head


class TestRename:
    def test_a07_keeps_the_view(self, server, writer, space):
        session = server.lake.session()
        made = create(writer, space).json()["metadata"]
        answer = writer.rename("views", (space, "v"), (space, "w"))
        assert answer.status_code == 204 and answer.content == b""
        assert words(server.lake) == f'created_view:"{space}"."w"'
        assert duckdb_views(session, space) == {"w"} and rows(session, space, "w") == 10
        assert server.get(path_of(space) + "/views/w").json()["metadata"] == made
        error_of(server.get(path_of(space) + "/views/v"), 404, "NoSuchViewException")

    def test_into_another_namespace(self, server, writer, space):
        session = server.lake.session()
        other = space + "_other"
        session.execute(f"CREATE SCHEMA lake.{other}")
        made = create(writer, space, "v",
                      sql("duckdb", f"SELECT id FROM {space}.t")).json()["metadata"]
        assert writer.rename("views", (space, "v"), (other, "w")).status_code == 204
        assert rows(session, other, "w") == 10
        assert server.get(path_of(other) + "/views/w").json()["metadata"] == made

    def test_by_duckdb_keeps_the_view(self, server, writer, space):
        made = create(writer, space).json()["metadata"]
        server.lake.session().execute(f"ALTER VIEW lake.{space}.v RENAME TO w")
        assert server.get(path_of(space) + "/views/w").json()["metadata"] == made

    def test_a03_a_taken_destination_is_409(self, server, writer, space):
        for name in ("v", "taken"):
            assert create(writer, space, name).status_code == 200
        head = server.lake.head()
        for name, kind in (("taken", "View"), ("TAKEN", "View"), ("t", "Table")):
            error = error_of(writer.rename("views", (space, "v"), (space, name)), 409,
                             "AlreadyExistsException")
            assert f"Cannot rename {space}.v to {space}.{name}. {kind} already exists" in \
                error["message"]
        error_of(writer.rename("views", (space, "absent"), (space, "x")), 404,
                 "NoSuchViewException")
        error_of(writer.rename("views", (space, "t"), (space, "x")), 404, "NoSuchViewException")
        error_of(writer.rename("views", (space, "v"), ("absent", "x")), 404,
                 "NoSuchNamespaceException")
        error_of(writer.rename("tables", (space, "t"), (space, "v")), 409,
                 "AlreadyExistsException")
        error_of(writer.rename("views", (space, "v"), (space, "__mask_v")), 400)
        assert server.lake.head() == head


class TestDropAndRegister:
    def test_drop_ends_it_for_everybody(self, server, writer, space):
        session = server.lake.session()
        assert create(writer, space, properties={"comment": "x"}).status_code == 200
        assert duckdb_views(session, space) == {"v"}
        before = server.lake.head()
        assert writer.delete(path_of(space) + "/views/v").status_code == 204
        assert words(server.lake).startswith("dropped_view:")
        assert duckdb_views(session, space) == set() and listed(server, space) == set()
        error_of(writer.delete(path_of(space) + "/views/v"), 404, "NoSuchViewException")
        error_of(writer.delete(path_of(space) + "/views/t"), 404, "NoSuchViewException")
        assert session.execute(
            f"SELECT count(*) FROM lake.{space}.v AT (VERSION => {before})").fetchone()[0] == 10

    def test_register_brings_it_back(self, server, writer, space):
        session = server.lake.session()
        made = create(writer, space).json()
        assert writer.delete(path_of(space) + "/views/v").status_code == 204
        body = {"name": "v", "metadata-location": made["metadata-location"]}
        answer = writer.post(path_of(space) + "/register-view", body)
        assert answer.status_code == 200, answer.text
        assert answer.json() == made
        assert server.get(path_of(space) + "/views/v").json() == made
        assert rows(session, space, "v") == 10
        error_of(writer.post(path_of(space) + "/register-view", body), 409,
                 "AlreadyExistsException")
        error_of(writer.post(path_of(space) + "/register-view", body | {"name": "t"}), 409)

    def test_register_reads_only_the_lakes_own_objects(self, server, writer, space):
        path = path_of(space) + "/register-view"
        client = server.lake.s3()
        bucket = server.lake.env["DUCKICELAKE_S3_BUCKET"]
        prefix = server.lake.data_path.removeprefix(f"s3://{bucket}/")
        for name, text in (("bad.json", b"{"), ("none.json", b"{}"), ("bin.json", b"\xff\x00")):
            client.put_object(Bucket=bucket, Key=prefix + name, Body=text)
        client.put_object(Bucket=bucket, Key=f"{server.lake.name}/outside.json", Body=b"{}")
        for place in ("absent.json", "bad.json", "none.json", "bin.json"):
            error_of(writer.post(path, {"name": "x", "metadata-location":
                                        server.lake.data_path + place}), 400)
        for place in (f"s3://{bucket}/{server.lake.name}/outside.json", "/etc/passwd",
                      "file:///etc/passwd", "http://127.0.0.1/x", ""):
            error_of(writer.post(path, {"name": "x", "metadata-location": place}), 400)

    def test_a11_register_in_a_missing_namespace_is_404(self, writer, space):
        made = create(writer, space).json()
        error_of(writer.post(path_of("absent") + "/register-view", {
            "name": "x", "metadata-location": made["metadata-location"]}), 404,
                 "NoSuchNamespaceException")

    def test_a19_a_view_keeps_its_namespace(self, server, writer, space):
        assert create(writer, space).status_code == 200
        server.lake.session().execute(f"DROP TABLE lake.{space}.t")
        error_of(writer.delete(path_of(space)), 409, "NamespaceNotEmptyException")
        assert writer.delete(path_of(space) + "/views/v").status_code == 204
        assert writer.delete(path_of(space)).status_code == 204


def test_a_view_with_many_dialects_and_odd_names(server, writer, space):
    for name in ("v w", "v/w", "ü", "v%2F", 'v"w'):
        queries = [sql(f"dialect{n}", f"SELECT {n}") for n in range(20)]
        assert create(writer, space, name, *queries).status_code == 200, name
        loaded = server.get(path_of(space) + "/views/" + path_of(name).split("/", 2)[2])
        assert loaded.status_code == 200
        assert len(loaded.json()["metadata"]["versions"][0]["representations"]) == 20
    assert listed(server, space) == {"v w", "v/w", "ü", "v%2F", 'v"w'}
    assert duckdb_views(server.lake.session(), space) == listed(server, space)
