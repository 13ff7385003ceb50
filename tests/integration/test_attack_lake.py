# SPDX-License-Identifier: Apache-2.0
"""No request, however odd, leaves a lake that DuckDB cannot attach any more: what is taken, DuckDB reads."""
from __future__ import annotations

import itertools
import json

import pytest
import requests
from fixtures import served_lake
from lib.lakes import quoted
from lib.rest import error_of
from lib.server import encoded

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def odd(stack):
    for server in served_lake(stack):
        assert server.http.post(f"{server.api}/namespaces", json={"namespace": ["odd"]}).status_code == 200
        yield server


def attach(server) -> dict[str, int]:
    """A new DuckDB reads all tables of the lake: rows by table."""
    with server.lake.duckdb() as session:
        names = session.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'").fetchall()
        return {f"{s}.{t}": session.execute(f"SELECT count(*) FROM (SELECT * FROM lake.{quoted(s)}.{quoted(t)})").fetchone()[0]
                for s, t in names}


def field(number: int, name, kind, **more) -> dict:
    return {"id": number, "name": name, "required": False, "type": kind} | more


def struct(*fields) -> dict:
    return {"type": "struct", "fields": list(fields)}


EMPTY = struct()
SCHEMAS = {  # name: (fields, whether it may be taken)
    "one column": ([field(1, "id", "long")], True),
    "no column": ([], False),
    "an empty struct": ([field(1, "s", EMPTY)], False),
    "an empty struct beside a column": ([field(1, "id", "long"), field(2, "s", EMPTY)], False),
    "an empty struct in a struct": ([field(1, "s", struct(field(2, "t", EMPTY)))], False),
    "an empty struct in a list": ([field(1, "l", {"type": "list", "element-id": 2, "element": EMPTY, "element-required": False})], False),
    "an empty struct in a map": ([field(1, "m", {"type": "map", "key-id": 2, "key": "string", "value-id": 3, "value": EMPTY,
                                                "value-required": False})], False),
    "an empty name": ([field(1, "", "long")], False),
    "an empty name below": ([field(1, "s", struct(field(2, "", "long")))], False),
    "a NUL in a name": ([field(1, "a\x00b", "long")], False),
    "names that differ in case": ([field(1, "a", "long"), field(2, "A", "long")], False),
    "a name twice": ([field(1, "a", "long"), field(2, "a", "long")], False),
    "an id twice": ([field(1, "a", "long"), field(1, "b", "long")], False),
    "ids that are none": ([field(0, "a", "long"), field(-1, "b", "long"), field(2**31 - 1, "c", "long")], None),
    "types that are none": ([field(1, "a", "nothing")], False),
    "a decimal too wide": ([field(1, "a", "decimal(39, 2)")], False),
    "a decimal inside out": ([field(1, "a", "decimal(2, 9)")], False),
    "a fixed of nothing": ([field(1, "a", "fixed[0]")], None),
    "deep": ([field(1, "s0", struct(field(2, "s1", struct(field(3, "s2", struct(field(4, "s3", struct(field(5, "x", "long")))))))))], True),
    "a name of the row's": ([field(1, "_metadata", "long"), field(2, "_file", "string")], None),
}
SCHEMAS |= {f"named {ascii(name)[:20]}": ([field(1, name, "long")], None) for name in (
    " ", "a b", 'a"b', "a'b", "a;b", "a.b", "a%b", "--", "/*", "\\", "\n", "\t", "é", "é", "😀", "x" * 300, "select", "rowid",
    "_row_id", "file_row_number", "snapshot_id", "NULL", "true", "*", "?", "$1", "\u202e", "\ufeff")}


def schema_of(fields) -> dict:
    return {"type": "struct", "schema-id": 0, "fields": fields}


@pytest.mark.parametrize("way", ["create", "staged", "change", "replace"])
def test_schemas_that_are_taken_are_read_by_duckdb(odd, way):
    taken = [name for name in SCHEMAS if try_schema(odd, name, way)]
    print(f"{way}: taken are {taken}")
    assert "one column" in taken or way == "replace"
    rows = attach(odd)
    assert len(rows) >= len(taken), (taken, rows)


def try_schema(odd, name: str, way: str) -> bool:
    fields, expected = SCHEMAS[name]
    table, path = f"t{next(_numbers)}", f"{odd.api}/namespaces/odd/tables"
    schema = schema_of(fields)
    post = lambda where, body: odd.http.post(where, json=body, timeout=60)
    add = [{"action": "add-schema", "schema": schema, "last-column-id": 2**31 - 1 if name.startswith("ids") else 100},
           {"action": "set-current-schema", "schema-id": -1}]
    if way == "create":
        answer = post(path, {"name": table, "schema": schema})
    elif way == "staged":
        answer = post(path, {"name": table, "schema": schema, "stage-create": True})
        if answer.status_code == 200:
            made = answer.json()["metadata"]
            answer = post(f"{path}/{table}", {"requirements": [{"type": "assert-create"}], "updates": [
                {"action": "assign-uuid", "uuid": made["table-uuid"]}, {"action": "upgrade-format-version", "format-version": 2},
                *add, {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}}, {"action": "set-default-spec", "spec-id": -1},
                {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
                {"action": "set-default-sort-order", "sort-order-id": -1},
                {"action": "set-location", "location": made["location"]}]})
    else:
        first = schema_of([field(1, "id", "long")] if way == "change" else [field(50, "old", "string")])
        assert post(path, {"name": table, "schema": first}).status_code == 200
        answer = post(f"{path}/{table}", {"requirements": [], "updates": add})
    assert answer.status_code < 500, f"{answer.text}\n{odd.log_tail(2)}"
    if answer.status_code >= 400:
        error_of(answer, answer.status_code)
        assert expected is not True or way in ("change", "replace"), answer.text
        return False
    assert expected is not False, f"{name} was taken"
    assert odd.http.get(f"{path}/{table}").status_code == 200
    return True


NAMES = ["", " ", "a b", 'a"b', "a'b", "a;b--", "a/b", "a\\b", "..", ".", "*", "?", "%", "$", "{}", "\n", "é", "é", "😀", "x" * 255,
         "x" * 5000, "select", "main", "temp", "information_schema", "pg_catalog", "duckdb_tables", "__mask_x", "__masked_x",
         "${aws:username}", "\u202ex", "a\x00b", "NUL", "con", "\x7f", "ﬁ", "İ", "ı", "ß"]


def test_names_that_are_taken_are_read_by_duckdb(odd):
    schema = schema_of([field(1, "id", "long")])
    view = {"schema": schema, "properties": {}, "view-version": {
        "version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": ["odd"],
        "representations": [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "duckdb"}]}}
    made = []
    for name in NAMES:
        for path, body in ((f"/namespaces/{encoded(name)}", ("/namespaces", {"namespace": [name]})),
                           (f"/namespaces/odd/tables/{encoded(name)}", ("/namespaces/odd/tables", {"name": name, "schema": schema})),
                           (f"/namespaces/odd/views/{encoded(name)}_v", ("/namespaces/odd/views", view | {"name": name + "_v"}))):
            answer = odd.http.post(odd.api + body[0], json=body[1], timeout=60)
            assert answer.status_code in (200, 400, 409), (ascii(name), path, answer.text, odd.log_tail(2))
            if answer.status_code == 200:
                made.append((name, path))
                assert odd.http.get(odd.api + path).status_code == 200, path
    rows = attach(odd)
    tables = {name for name, path in made if "/tables/" in path}
    assert len(tables) > 15 and {f"odd.{name}" for name in tables} <= set(rows)
    for name, path in made:
        assert odd.http.delete(odd.api + path).status_code == 204, path
    assert not {f"odd.{name}" for name in tables} & set(attach(odd))


VALUES = ["x" * 100_000, "\x00", "'; DROP SCHEMA public CASCADE; --", "{{7*7}}", "\ud800", "\r\n"]


def test_properties_and_comments_that_are_taken_are_read(odd):
    for value in VALUES:
        try_properties(odd, value)
    assert attach(odd)


def try_properties(odd, value: str) -> None:
    table = f"p{next(_numbers)}"
    body = json.dumps({"name": table, "schema": schema_of([field(1, "id", "long", doc=value)]),
                       "properties": {"comment": value, "k": value, value[:50]: "v"}})
    answer = requests.post(f"{odd.api}/namespaces/odd/tables", data=body, headers={"Content-Type": "application/json"}, timeout=60)
    assert answer.status_code in (200, 400, 413), f"{answer.text[:300]}\n{odd.log_tail(2)}"
    if answer.status_code == 200:
        properties = odd.load("odd", table)["metadata"]["properties"]
        assert properties["k"] == value
