# SPDX-License-Identifier: Apache-2.0
"""Namespaces over REST: made, described, dropped; what DuckDB sees of them; repeated requests."""
import threading

import pytest
from lib.rest import error_of
from lib.writes import Writer, path_of, uuid7


@pytest.fixture
def writer(server):
    return Writer(server)


@pytest.fixture
def fresh(fresh_server):
    return Writer(fresh_server)


def schemas(session) -> set[str]:
    return {row[0] for row in session.execute(
        "SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'lake'").fetchall()}


def changes(lake, count: int = 1) -> list[str]:
    return [row[0] for row in lake.rows(
        f"SELECT changes_made FROM ducklake_snapshot_changes ORDER BY snapshot_id DESC LIMIT {count}")]


class TestCreate:
    def test_one_is_one_snapshot_that_an_open_session_sees(self, server, writer):
        session = server.lake.session()
        assert "made_here" not in schemas(session)
        before = server.lake.head()
        answer = writer.create_namespace("made_here", {"owner": "me", "location": "s3://x/y"})
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"namespace": ["made_here"],
                                 "properties": {"owner": "me", "location": "s3://x/y"}}
        assert server.lake.head() == before + 1
        assert changes(server.lake) == ['created_schema:"made_here"']
        assert "made_here" in schemas(session)
        session.execute("CREATE TABLE lake.made_here.t AS SELECT 1 AS id")
        assert session.execute("SELECT id FROM lake.made_here.t").fetchall() == [(1,)]
        loaded = server.get("/namespaces/made_here").json()
        assert loaded == {"namespace": ["made_here"],
                          "properties": {"owner": "me", "location": "s3://x/y"}}
        assert server.http.head(f"{server.api}/namespaces/made_here").status_code == 204
        assert server.load("made_here", "t")["metadata"]["location"].endswith("/made_here/t")

    def test_a_taken_name_is_409_in_any_case(self, server, writer):
        server.lake.session().execute("CREATE SCHEMA lake.taken")
        for name in ("taken", "TAKEN", "main", "Main"):
            error_of(writer.create_namespace(name), 409, "AlreadyExistsException")
        head = server.lake.head()
        error_of(writer.create_namespace("taken"), 409)
        assert server.lake.head() == head

    def test_a08_odd_names_work_or_are_refused(self, server, writer):
        session = server.lake.session()
        for name in ("n/b", "n b", "nä", "n100%", "n+b", "n%2Fb", 'n"b', "n'b", "n\\b", "n\nb"):
            assert writer.create_namespace(name).status_code == 200, name
            answer = server.get(path_of(name))
            assert answer.status_code == 200 and answer.json()["namespace"] == [name]
            assert name in schemas(session)
            assert writer.delete(path_of(name)).status_code == 204, name
            assert name not in schemas(session)

    @pytest.mark.parametrize("name", ["", ".", "..", "a\x00b", "a\x1fb", "x" * 257, "__mask_x",
                                      "__masked_x"])
    def test_names_that_cannot_be_are_400(self, writer, name):
        error_of(writer.create_namespace(name), 400, "BadRequestException")
        error_of(writer.create_namespace(["fine", name]), 400, "BadRequestException")

    @pytest.mark.parametrize("body", [
        None, [], {}, {"namespace": []}, {"namespace": "a"}, {"namespace": [1]},
        {"namespace": None}, {"namespace": ["zz"], "properties": {"a": 1}},
        {"namespace": ["zz"], "properties": []}])
    def test_bad_bodies_are_400(self, writer, body):
        error_of(writer.post("/namespaces", body), 400, "BadRequestException")

    def test_a14_null_properties_are_no_properties(self, writer):
        answer = writer.post("/namespaces", {"namespace": ["nulls"], "properties": None})
        assert answer.status_code == 200 and answer.json()["properties"] == {}

    def test_the_servers_own_properties_are_403(self, writer):
        error_of(writer.create_namespace("own", {"duckicelake.x": "1"}), 403,
                 "ForbiddenException")

    def test_a_folder_is_not_used_again(self, server, writer):
        for _ in range(2):
            assert writer.create_namespace("again").status_code == 200
            assert writer.delete("/namespaces/again").status_code == 204
        paths = [row[0] for row in server.lake.rows(
            "SELECT path FROM ducklake_schema WHERE schema_name = 'again'")]
        assert len(set(paths)) == 2


class TestLevels:
    def test_a12_levels_and_dots_stay_distinct(self, fresh_server, fresh):
        session = fresh_server.lake.session()
        made = (["a"], ["a", "b"], ["a.b"], ["a", "b.c"], ["a.b", "c"], ["a", "b", "c"], ["a.b.c"])
        for levels in made:
            assert fresh.create_namespace(levels, {"is": "/".join(levels)}).status_code == 200
        for levels in made:
            loaded = fresh_server.get(path_of(levels)).json()
            assert loaded == {"namespace": levels, "properties": {"is": "/".join(levels)}}
            error_of(fresh.create_namespace(levels), 409, "AlreadyExistsException")
        names = {row[0]: row[1] for row in fresh_server.lake.rows(
            "SELECT n.levels::text, s.schema_name FROM duckicelake.namespace n JOIN "
            "ducklake_schema s USING (schema_id)")}
        assert names["{a,b}"] == "a.b"
        assert len(set(names.values())) == len(names)
        for name in names.values():
            session.execute(f'CREATE TABLE lake."{name}".t AS SELECT 1 AS id')
        places = {fresh_server.get(path_of(levels) + "/tables/t").json()["metadata"]["location"]
                  for levels in made if levels != ["a"]}
        assert len(places) == len(made) - 1
        below = fresh_server.get("/namespaces", params={"parent": "a"}).json()["namespaces"]
        assert sorted(below) == [["a", "b"], ["a", "b.c"]]

    def test_upper_levels_exist_as_far_as_they_are_needed(self, fresh_server, fresh):
        assert fresh.create_namespace(["x", "y", "z"]).status_code == 200
        assert fresh_server.get("/namespaces/x").json() == {"namespace": ["x"], "properties": {}}
        assert fresh_server.get("/namespaces/x/tables").json()["identifiers"] == []
        error_of(fresh.delete("/namespaces/x"), 409, "NamespaceNotEmptyException")
        error_of(fresh.delete(path_of(["x", "y"])), 409, "NamespaceNotEmptyException")
        assert fresh.create_namespace("x").status_code == 200
        assert fresh.delete(path_of(["x", "y", "z"])).status_code == 204
        error_of(fresh_server.get(path_of(["x", "y"])), 404, "NoSuchNamespaceException")
        assert fresh.delete("/namespaces/x").status_code == 204

    def test_levels_are_free_again_after_duckdb_dropped_the_schema(self, fresh_server, fresh):
        assert fresh.create_namespace(["p", "q"]).status_code == 200
        fresh_server.lake.session().execute('DROP SCHEMA lake."p.q"')
        error_of(fresh_server.get(path_of(["p", "q"])), 404)
        assert fresh.create_namespace(["p", "q"]).status_code == 200


class TestDrop:
    def test_an_empty_one_goes_for_everybody(self, server, writer):
        session = server.lake.session()
        assert writer.create_namespace("goes", {"k": "v"}).status_code == 200
        assert "goes" in schemas(session)
        assert writer.delete("/namespaces/goes").status_code == 204
        assert changes(server.lake)[0].startswith("dropped_schema:")
        assert "goes" not in schemas(session)
        error_of(server.get("/namespaces/goes"), 404, "NoSuchNamespaceException")
        error_of(writer.delete("/namespaces/goes"), 404, "NoSuchNamespaceException")
        assert writer.create_namespace("goes").status_code == 200
        assert server.get("/namespaces/goes").json()["properties"] == {}

    @pytest.mark.parametrize("statement", [
        "CREATE TABLE lake.full_one.t (id INTEGER)",
        "CREATE VIEW lake.full_one.v AS SELECT 1 AS id",
        "CREATE MACRO lake.full_one.m(x) AS x + 1",
        'CREATE VIEW lake.full_one."__mask_t__1" AS SELECT 1 AS id'])
    def test_a19_one_that_is_not_empty_stays(self, fresh_server, fresh, statement):
        session = fresh_server.lake.session()
        session.execute("CREATE SCHEMA lake.full_one")
        session.execute(statement)
        head = fresh_server.lake.head()
        error = error_of(fresh.delete("/namespaces/full_one"), 409, "NamespaceNotEmptyException")
        assert "mask" not in error["message"]
        assert fresh_server.lake.head() == head
        assert "full_one" in schemas(session)


class TestProperties:
    def test_a15_are_set_removed_and_missed(self, server, writer):
        assert writer.create_namespace("props", {"only": "one"}).status_code == 200
        answer = writer.post("/namespaces/props/properties",
                             {"removals": ["only", "absent"], "updates": {}})
        assert answer.status_code == 200
        assert answer.json() == {"updated": [], "removed": ["only"], "missing": ["absent"]}
        assert server.get("/namespaces/props").json()["properties"] == {}
        answer = writer.post("/namespaces/props/properties",
                             {"removals": None, "updates": {"a": "1", "b": "", "ü": "x" * 9000}})
        assert sorted(answer.json()["updated"]) == ["a", "b", "ü"]
        assert server.get("/namespaces/props").json()["properties"] == {
            "a": "1", "b": "", "ü": "x" * 9000}

    def test_take_no_snapshot(self, server, writer):
        assert writer.create_namespace("quiet").status_code == 200
        head = server.lake.head()
        assert writer.post("/namespaces/quiet/properties",
                           {"updates": {"a": "b"}}).status_code == 200
        assert server.lake.head() == head

    def test_contradictions_and_reserved_ones_change_nothing(self, server, writer):
        assert writer.create_namespace("kept", {"a": "1"}).status_code == 200
        path = "/namespaces/kept/properties"
        error_of(writer.post(path, {"removals": ["a"], "updates": {"a": "2"}}), 422,
                 "UnprocessableEntityException")
        error_of(writer.post(path, {"updates": {"duckicelake.a": "2"}}), 403)
        error_of(writer.post(path, {"removals": ["duckicelake.a"]}), 403)
        error_of(writer.post(path, {"updates": {"a": 2}}), 400)
        error_of(writer.post(path, {"updates": {"a": "x\x00"}}), 400)
        error_of(writer.post(path, {"removals": [None]}), 400)
        error_of(writer.post("/namespaces/absent/properties", {"updates": {}}), 404,
                 "NoSuchNamespaceException")
        assert server.get("/namespaces/kept").json()["properties"] == {"a": "1"}

    def test_of_a_schema_that_duckdb_made(self, server, writer):
        server.lake.session().execute("CREATE SCHEMA lake.ducks")
        assert writer.post("/namespaces/ducks/properties",
                           {"updates": {"a": "b"}}).status_code == 200
        assert server.get("/namespaces/ducks").json()["properties"] == {"a": "b"}


class TestPyIceberg:
    def test_walks_through_the_life_of_a_namespace(self, server):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import (NamespaceAlreadyExistsError, NamespaceNotEmptyError,
                                          NoSuchNamespaceError)
        catalog = load_catalog("lake", type="rest", uri=server.url, warehouse="lake")
        catalog.create_namespace("py", {"a": "1"})
        with pytest.raises(NamespaceAlreadyExistsError):
            catalog.create_namespace("py")
        catalog.create_namespace_if_not_exists("py")
        assert catalog.load_namespace_properties("py") == {"a": "1"}
        summary = catalog.update_namespace_properties("py", {"a", "z"}, {"b": "2"})
        assert (summary.removed, summary.updated, summary.missing) == (["a"], ["b"], ["z"])
        catalog.create_namespace(("py", "inner"))
        assert ("py", "inner") in catalog.list_namespaces("py")
        with pytest.raises(NamespaceNotEmptyError):
            catalog.drop_namespace("py")
        catalog.drop_namespace(("py", "inner"))
        catalog.drop_namespace("py")
        with pytest.raises(NoSuchNamespaceError):
            catalog.load_namespace_properties("py")
        assert not catalog.namespace_exists("py")


class TestIdempotency:
    """A-04, and what the specification says of Idempotency-Key."""

    def test_a04_a_repeated_request_gets_the_first_answer(self, server, writer):
        key = uuid7()
        first = writer.create_namespace("once", {"a": "1"}, key=key)
        head = server.lake.head()
        for spelled in (key, key.upper()):
            again = writer.create_namespace("once", {"a": "1"}, key=spelled)
            assert (again.status_code, again.json()) == (200, first.json())
        assert server.lake.head() == head
        drop = uuid7()
        for _ in range(2):
            assert writer.delete("/namespaces/once", key=drop).status_code == 204
        assert server.lake.head() == head + 1

    def test_a04_a_key_of_another_request_is_422(self, server, writer):
        key = uuid7()
        assert writer.create_namespace("first", key=key).status_code == 200
        error_of(writer.delete("/namespaces/first", key=key), 422, "UnprocessableEntityException")
        error_of(writer.create_namespace("second", key=key), 422)
        error_of(writer.create_namespace("first", {"a": "b"}, key=key), 422)
        assert server.get("/namespaces/first").status_code == 200
        error_of(server.get("/namespaces/second"), 404)

    def test_a04_of_another_principal_is_422(self, server, writer):
        key = uuid7()
        assert writer.create_namespace("theirs", key=key).status_code == 200
        server.lake.postgres.execute(
            "UPDATE duckicelake.idempotency SET principal = 'other' WHERE key = %s", (key,))
        error_of(writer.create_namespace("theirs", key=key), 422)

    @pytest.mark.parametrize("key", ["x", "", "4fb5c0a4-3a1e-4b6f-9c0e-2f4b7b5f0a11",
                                     "0190a2b4-7c3d-7a11-8c2e-0123456789a", "0190a2b4-7c3d-7a11-8c2e-0123456789abc"])
    def test_a_key_that_is_no_uuid_of_version_7_is_400(self, writer, key):
        answer = writer.send("POST", "/namespaces", {"namespace": ["nokey"]},
                             headers={"Idempotency-Key": key})
        error_of(answer, 400, "BadRequestException")

    def test_a_final_error_is_repeated_even_when_it_would_succeed_now(self, server, writer):
        key = uuid7()
        error = error_of(writer.delete("/namespaces/later", key=key), 404,
                         "NoSuchNamespaceException")
        assert writer.create_namespace("later").status_code == 200
        assert error_of(writer.delete("/namespaces/later", key=key), 404) == error
        assert server.get("/namespaces/later").status_code == 200

    def test_the_missing_properties_are_told_again(self, writer):
        assert writer.create_namespace("told", {"a": "1"}).status_code == 200
        key = uuid7()
        body = {"removals": ["a", "b"], "updates": {"c": "3"}}
        answers = [writer.post("/namespaces/told/properties", body, key=key).json()
                   for _ in range(2)]
        assert answers[0] == answers[1] == {"updated": ["c"], "removed": ["a"], "missing": ["b"]}

    def test_the_same_request_at_once_happens_once(self, server):
        key, head, answers = uuid7(), server.lake.head(), []

        def send():
            response = Writer(server).server.http.post(
                f"{server.api}/namespaces", json={"namespace": ["at_once"]},
                headers={"Idempotency-Key": key}, timeout=60)
            answers.append(response.status_code)
        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [200] * 8
        assert server.lake.head() == head + 1

    def test_the_lifetime_is_advertised_and_old_ones_are_collected(self, server, writer):
        body = server.http.get(f"{server.url}/v1/config").json()
        assert body["idempotency-key-lifetime"] == "PT30M"
        key = uuid7()
        assert writer.create_namespace("old_key", key=key).status_code == 200
        server.lake.postgres.execute(
            "UPDATE duckicelake.idempotency SET created_at = now() - interval '2 days' "
            "WHERE key = %s", (key,))
        assert writer.create_namespace("new_key", key=uuid7()).status_code == 200
        assert server.lake.rows("SELECT 1 FROM duckicelake.idempotency WHERE key = %s", key) == []


def test_many_writers_at_once_beside_duckdb(fresh_server, fresh):
    """Each made namespace is one snapshot, ids are unique, and nobody is turned away."""
    failures = []

    def over_rest(n):
        import requests
        for i in range(10):
            answer = requests.post(f"{fresh_server.api}/namespaces",
                                   json={"namespace": [f"rest_{n}_{i}"]}, timeout=60)
            if answer.status_code != 200:
                failures.append(answer.text)

    def over_duckdb(n):
        session = fresh_server.lake.session()
        for i in range(10):
            session.execute(f"CREATE SCHEMA lake.duck_{n}_{i}")
    fresh_server.lake.session()
    before = fresh_server.lake.rows("SELECT count(*) FROM ducklake_schema")[0][0]
    threads = [threading.Thread(target=over_rest, args=(n,)) for n in range(4)]
    threads += [threading.Thread(target=over_duckdb, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    ids = [row[0] for row in fresh_server.lake.rows("SELECT schema_id FROM ducklake_schema")]
    assert len(ids) == len(set(ids)) == before + 60
    names = [n[0] for n in fresh_server.get("/namespaces").json()["namespaces"]]
    assert sum(n.startswith(("rest_", "duck_")) for n in names) == 60
    snapshots = [row[0] for row in fresh_server.lake.rows(
        "SELECT snapshot_id FROM ducklake_snapshot ORDER BY 1")]
    assert snapshots == list(range(snapshots[0], snapshots[-1] + 1))
