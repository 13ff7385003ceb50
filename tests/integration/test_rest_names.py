# SPDX-License-Identifier: Apache-2.0
"""Names that need encoding, namespaces of several levels, listings in pages."""
import psycopg
import pytest
from histories.names import ODD
from lib.lakes import quoted
from lib.rest import error_of, pages
from lib.server import encoded
from lib.soak import size

A08 = ["a/b", "a b", "ä", "100%", "a+b", "a.b", "a%2Fb"]


@pytest.fixture(scope="module")
def odd(server):
    """A schema whose tables have the odd names, and schemas of the odd names with a table each."""
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.odd_names")
    for name in dict.fromkeys(A08 + ODD):
        duck.execute(f"CREATE TABLE lake.odd_names.{quoted(name)} (id INTEGER)")
        duck.execute(f"CREATE SCHEMA lake.{quoted('s ' + name)}")
        duck.execute(f"CREATE TABLE lake.{quoted('s ' + name)}.inner_table AS SELECT 1 AS id")
    return "odd_names"


def test_a08_table_names_round_trip(server, odd):
    listed = {i["name"] for i in server.get(f"/namespaces/{odd}/tables").json()["identifiers"]}
    assert listed == set(A08 + ODD)
    for name in listed:
        path = f"/namespaces/{odd}/tables/{encoded(name)}"
        answer = server.get(path)
        assert answer.status_code == 200, (name, answer.text)
        assert server.http.head(server.api + path).status_code == 204, name


def test_a08_namespace_names_round_trip(server, odd):
    listed = {tuple(n) for n in server.get("/namespaces").json()["namespaces"]}
    for name in dict.fromkeys(A08 + ODD):
        schema = "s " + name
        assert (schema,) in listed
        path = f"/namespaces/{encoded(schema)}"
        assert server.get(path).json()["namespace"] == [schema]
        tables = server.get(f"{path}/tables").json()["identifiers"]
        assert tables == [{"namespace": [schema], "name": "inner_table"}]
        assert server.load(schema, "inner_table")["metadata"]["current-snapshot-id"] > 0


def test_a08_a_path_is_decoded_once(server, odd):
    assert server.get(f"/namespaces/{odd}/tables/a%252Fb").status_code == 200  # the name a%2Fb
    assert server.get(f"/namespaces/{odd}/tables/a%2Fb").status_code == 200  # the name a/b
    assert server.get(f"/namespaces/{odd}/tables/a+b").status_code == 200  # a literal plus
    assert server.get(f"/namespaces/{odd}/tables/a%20b").status_code == 200
    error_of(server.get(f"/namespaces/{odd}/tables/a/b"), 404)  # a slash is another segment
    error_of(server.get(f"/namespaces/{odd}/tables/A.B"), 404)  # names are case-sensitive here


def levels(server, schema: str, *parts: str) -> None:
    """Makes a DuckLake schema the namespace of these levels, as a creation over REST does."""
    duck = server.lake.session()
    duck.execute(f"CREATE SCHEMA lake.{quoted(schema)}")
    duck.execute(f"CREATE TABLE lake.{quoted(schema)}.t AS SELECT '{schema}' AS word")
    server.lake.postgres.execute(
        "INSERT INTO duckicelake.namespace (catalog_id, schema_id, levels) SELECT 'lake', "
        "schema_id, %s FROM ducklake_schema WHERE schema_name = %s AND end_snapshot IS NULL",
        (list(parts), schema))


def test_a12_levels_and_dots_stay_distinct(fresh_server):
    server = fresh_server
    duck = server.lake.session()
    duck.execute('CREATE SCHEMA lake.a; CREATE SCHEMA lake."a.b"')
    for schema in ("a", "a.b"):
        duck.execute(f"CREATE TABLE lake.{quoted(schema)}.t AS SELECT '{schema}' AS word")
    levels(server, "a.b_1", "a", "b")
    levels(server, "a.b.c", "a", "b.c")
    levels(server, "deep", "x", "y", "z")

    top = server.get("/namespaces").json()["namespaces"]
    assert ["a"] in top and ["a.b"] in top and ["x"] in top
    assert ["a", "b"] not in top and ["deep"] not in top
    assert sorted(server.get("/namespaces", params={"parent": "a"}).json()["namespaces"]) == [
        ["a", "b"], ["a", "b.c"]]
    assert server.get("/namespaces", params={"parent": "x"}).json()["namespaces"] == [["x", "y"]]
    assert server.get("/namespaces", params={"parent": "x\x1fy"}).json()["namespaces"] == [
        ["x", "y", "z"]]

    def word(path: str) -> str:
        answer = server.get(f"/namespaces/{path}/tables/t")
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()["metadata"]["location"]
    places = [word(p) for p in ("a", "a.b", "a%1Fb", "a%1Fb.c", "x%1Fy%1Fz")]
    assert len(set(places)) == 5
    assert server.get("/namespaces/a%1Fb").json()["namespace"] == ["a", "b"]
    assert server.get("/namespaces/a%1Fb/tables").json()["identifiers"] == [
        {"namespace": ["a", "b"], "name": "t"}]
    error_of(server.get("/namespaces/a%1Fzzz"), 404, "NoSuchNamespaceException")
    error_of(server.get("/namespaces/a%1F"), 404)

    separator = server.http.get(f"{server.url}/v1/config").json()["overrides"].get(
        "namespace-separator")
    if separator:
        assert server.get(f"/namespaces/a{separator}b").json()["namespace"] == ["a", "b"]


@pytest.fixture(scope="module")
def many(server):
    """250 tables made in one transaction, of which clients walk pages."""
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.many; BEGIN")
    for n in range(250):
        duck.execute(f"CREATE TABLE lake.many.t{n:03} (id INTEGER)")
    duck.execute("COMMIT")
    return "many"


class TestPages:
    """A-10: no repetition, no gap, no silent end."""

    def listing(self, server, schema):
        def get(query):
            answer = server.get(f"/namespaces/{schema}/tables", params=query)
            assert answer.status_code == 200, answer.text
            return answer.json()
        return get

    def test_a10_without_a_token_everything_is_in_one_answer(self, server, many):
        for query in ({}, {"pageSize": 100}):
            body = server.get(f"/namespaces/{many}/tables", params=query).json()
            assert len(body["identifiers"]) == 250
            assert not body.get("next-page-token")

    def test_a10_pages_hold_each_name_once(self, server, many):
        found = pages(self.listing(server, many), 100)
        assert [len(page) for page in found] == [100, 100, 50]
        names = [i["name"] for page in found for i in page]
        assert sorted(names) == sorted(set(names)) == [f"t{n:03}" for n in range(250)]

    def test_a10_names_that_come_and_go_meanwhile_disturb_no_other(self, server, many):
        duck = server.lake.session()
        get, found, token = self.listing(server, many), [], ""
        step = 0
        while token is not None:
            body = get({"pageToken": token, "pageSize": 60})
            found += [i["name"] for i in body["identifiers"]]
            token = body.get("next-page-token")
            duck.execute(f"CREATE TABLE lake.many.a_new_{step} (id INTEGER)")
            duck.execute(f"DROP TABLE lake.many.a_new_{step}")
            step += 1
        assert len(found) == len(set(found))
        assert {f"t{n:03}" for n in range(250)} <= set(found)

    def test_a10_a_page_token_that_we_did_not_make_is_400(self, server, many):
        for token in ("forged", "AAAA", "%00", "x" * 5000):
            error_of(server.get(f"/namespaces/{many}/tables",
                                params={"pageToken": token, "pageSize": 10}), 400)

    def test_a10_a_token_of_another_listing_is_400(self, server, many):
        token = self.listing(server, many)({"pageToken": "", "pageSize": 10})["next-page-token"]
        error_of(server.get("/namespaces", params={"pageToken": token, "pageSize": 10}), 400)


def test_a21_more_than_a_thousand_of_each_are_listed(fresh_server):
    server, count = fresh_server, size(1100, 5000)
    with server.lake.connect() as connection:
        insert_many(connection, count)
    names = server.get("/namespaces").json()["namespaces"]
    assert sum(n[0].startswith("ns_") for n in names) == count
    tables = server.get("/namespaces/ns_1/tables").json()["identifiers"]
    assert len(tables) == count

    def get(query):
        return server.get("/namespaces", params=query).json()
    walked = [tuple(n) for page in pages(get, 300) for n in page]
    assert len(walked) == len(set(walked)) and sum(n[0].startswith("ns_") for n in walked) == count


def insert_many(connection: psycopg.Connection, count: int) -> None:
    """One DuckLake snapshot that makes `count` schemas, and as many tables in the first."""
    with connection.transaction():
        head, version, catalog, file = connection.execute(
            "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM "
            "ducklake_snapshot ORDER BY 1 DESC LIMIT 1").fetchone()
        new = head + 1
        connection.execute("INSERT INTO ducklake_snapshot VALUES (%s, now(), %s, %s, %s)",
                           (new, version + 1, catalog + 2 * count + 2, file))
        connection.execute(
            "INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made) SELECT %s, "
            "string_agg(format('created_schema:\"ns_%%s\"', n), ',') FROM generate_series(1, %s) n",
            (new, count))
        connection.execute(
            "INSERT INTO ducklake_schema SELECT %s + n, gen_random_uuid(), %s, NULL, 'ns_' || n, "
            "'ns_' || n || '/', true FROM generate_series(1, %s) n", (catalog, new, count))
        connection.execute(
            "INSERT INTO ducklake_table SELECT %s + n, gen_random_uuid(), %s, NULL, %s, 't_' || n, "
            "'t_' || n || '/', true FROM generate_series(1, %s) n",
            (catalog + count, new, catalog + 1, count))
        connection.execute(
            "INSERT INTO ducklake_column (column_id, begin_snapshot, table_id, column_order, "
            "column_name, column_type, default_value, nulls_allowed) SELECT 1, %s, %s + n, 1, "
            "'id', 'int32', 'NULL', true FROM generate_series(1, %s) n",
            (new, catalog + count, count))
