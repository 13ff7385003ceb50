# SPDX-License-Identifier: Apache-2.0
"""Requests that are almost right: good bodies with a few nodes changed. No 5xx, and DuckDB reads the lake afterwards.

Seeded: the same requests each time; `--soak` makes forty times as many.
"""
from __future__ import annotations

import copy
import json
import random

import pytest
import requests
from fixtures import served_lake
from lib import auth
from lib.auth import bearer, token
from lib.lakes import quoted
from lib.soak import size

COUNT = size(60, 2500)
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "id", "required": False, "type": "long"}, {"id": 2, "name": "word", "required": False, "type": "string", "doc": "d"},
    {"id": 3, "name": "at", "required": False, "type": "timestamptz"}, {"id": 4, "name": "price", "required": False, "type": "decimal(9, 2)"},
    {"id": 5, "name": "deep", "required": False, "type": {"type": "struct", "fields": [
        {"id": 6, "name": "x", "required": False, "type": "int"},
        {"id": 7, "name": "l", "required": False, "type": {"type": "list", "element-id": 8, "element": "string", "element-required": False}},
        {"id": 9, "name": "m", "required": False, "type": {
            "type": "map", "key-id": 10, "key": "string", "value-id": 11, "value": "double", "value-required": False}}]}}]}
SPEC = {"spec-id": 0, "fields": [{"source-id": 3, "field-id": 1000, "name": "day", "transform": "day"},
                                 {"source-id": 2, "field-id": 1001, "name": "b", "transform": "bucket[4]"}]}
ORDER = {"order-id": 1, "fields": [{"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}]}
VIEW = {"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {"a": "b"}, "default-namespace": ["m"],
        "representations": [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "duckdb"}]}
T = "/namespaces/m/tables/t"
UPDATES = [
    {"action": "set-properties", "updates": {"a": "b", "comment": "c"}}, {"action": "remove-properties", "removals": ["a"]},
    {"action": "add-schema", "schema": SCHEMA | {"schema-id": 1, "fields": [*SCHEMA["fields"], {
        "id": 12, "name": "new", "required": False, "type": "int", "initial-default": 5, "write-default": 6}]}, "last-column-id": 12},
    {"action": "set-current-schema", "schema-id": -1}, {"action": "add-spec", "spec": SPEC | {"spec-id": 1}},
    {"action": "set-default-spec", "spec-id": -1}, {"action": "add-sort-order", "sort-order": ORDER},
    {"action": "set-default-sort-order", "sort-order-id": -1}, {"action": "assign-uuid", "uuid": "01920000-0000-7000-8000-000000000001"},
    {"action": "upgrade-format-version", "format-version": 2}, {"action": "remove-snapshots", "snapshot-ids": [1]},
    {"action": "set-snapshot-ref", "ref-name": "r", "type": "tag", "snapshot-id": 1, "max-ref-age-ms": 5},
    {"action": "remove-snapshot-ref", "ref-name": "r"}, {"action": "set-location", "location": "s3://b/x"},
    {"action": "add-snapshot", "snapshot": {"snapshot-id": 5, "sequence-number": 1, "timestamp-ms": 1, "manifest-list": "s3://b/x.avro",
                                            "summary": {"operation": "append"}, "schema-id": 0}},
    {"action": "set-statistics", "snapshot-id": 1, "statistics": {"snapshot-id": 1, "statistics-path": "s3://b/x", "file-size-in-bytes": 1,
     "file-footer-size-in-bytes": 1, "blob-metadata": [{"type": "t", "snapshot-id": 1, "sequence-number": 1, "fields": [1], "properties": {}}]}},
    {"action": "remove-partition-specs", "spec-ids": [5]}, {"action": "remove-schemas", "schema-ids": [5]},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "AA=="}}]
REQUIREMENTS = [{"type": "assert-table-uuid", "uuid": "01920000-0000-7000-8000-000000000001"}, {"type": "assert-create"},
                {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1}, {"type": "assert-last-assigned-field-id",
                 "last-assigned-field-id": 11}, {"type": "assert-current-schema-id", "current-schema-id": 0},
                {"type": "assert-default-spec-id", "default-spec-id": 0}]
SIGN = {"method": "GET", "region": "us-east-1", "uri": "http://127.0.0.1/lakehouse/x", "headers": {"a": ["b"]}, "properties": {}}
REPORT = {"report-type": "scan-report", "table-name": "t", "snapshot-id": 1, "filter": {"type": "eq", "term": "id", "value": 1},
          "schema-id": 0, "projected-field-ids": [1], "projected-field-names": ["id"], "metrics": {
              "total-planning-duration": {"count": 1, "time-unit": "nanoseconds", "total-duration": 5}, "r": {"unit": "count", "value": 1}}}
GOOD = {  # name: (method, path, bodies)
    "createTable": ("POST", "/namespaces/m/tables", [
        {"name": "n", "schema": SCHEMA, "partition-spec": SPEC, "write-order": ORDER, "stage-create": False, "properties": {"a": "b"}},
        {"name": "n", "schema": SCHEMA, "stage-create": True}]),
    "updateTable": ("POST", T, [{"requirements": [r], "updates": [u]} for u in UPDATES for r in REQUIREMENTS[:3]]
                    + [{"requirements": [], "updates": UPDATES[2:8]}, {"requirements": REQUIREMENTS, "updates": UPDATES[:2]}]),
    "commitTransaction": ("POST", "/transactions/commit", [{"table-changes": [
        {"identifier": {"namespace": ["m"], "name": "t"}, "requirements": [], "updates": [u]},
        {"identifier": {"namespace": ["m"], "name": "u"}, "requirements": [], "updates": UPDATES[:1]}]} for u in UPDATES[:8]]),
    "registerTable": ("POST", "/namespaces/m/register", [{"name": "r", "metadata-location": "s3://b/x.metadata.json", "overwrite": False}]),
    "renameTable": ("POST", "/tables/rename", [{"source": {"namespace": ["m"], "name": "none"}, "destination": {"namespace": ["m"], "name": "z"}}]),
    "createNamespace": ("POST", "/namespaces", [{"namespace": ["a", "b"], "properties": {"a": "b"}}]),
    "updateProperties": ("POST", "/namespaces/m/properties", [{"removals": ["x"], "updates": {"a": "b"}}]),
    "createView": ("POST", "/namespaces/m/views", [{"name": "w", "schema": SCHEMA, "view-version": VIEW, "properties": {"a": "b"}}]),
    "replaceView": ("POST", "/namespaces/m/views/v", [{"requirements": [], "updates": [
        {"action": "add-view-version", "view-version": VIEW | {"version-id": 2}}, {"action": "set-current-view-version", "view-version-id": -1},
        {"action": "set-properties", "updates": {"a": "b"}}, {"action": "add-schema", "schema": SCHEMA}]}]),
    "reportMetrics": ("POST", T + "/metrics", [REPORT]),
    "signRequest": ("POST", T + "/sign", [SIGN]), "signAny": ("POST", "/aws/s3/sign", [SIGN]),
    "compactTable": ("POST", "/admin" + T + "/compact", [{"dry-run": True}]),
    "expireTable": ("POST", "/admin" + T + "/expire", [{"dry-run": True}]),
    "createRole": ("POST", "/governance/roles", [{"name": "role"}]),
    "grantRole": ("POST", "/governance/role-grants", [{"role": "role", "principal": "p"}]),
    "grantObject": ("POST", "/governance/object-grants", [{"object-kind": "view", "schema": "m", "object": "v", "privilege": "select", "role": "role"}]),
    "setStaticS3Key": ("POST", "/governance/static-s3-keys", [{"principal": "p", "access-key-id": "A", "secret-access-key": "s", "note": "n",
                                                              "confined": True}]),
    "createClient": ("POST", "/admin/clients", [{"client-id": "c", "scope": "ns:m:r", "roles": ["role"], "account": "x"}]),
    "updateClient": ("POST", "/admin/clients/c", [{"scope": "ns:m:rw", "roles": [], "disabled": False, "void-tokens": True}]),
    "rotateClient": ("POST", "/admin/clients/c/rotate", [{"overlap-seconds": 5}]),
}
ODD = [None, True, False, 0, 1, -1, 2**31 - 1, 2**31, -2**31 - 1, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 10**40, 0.5, -0.0, 1e308, "", " ", "\x00", "a\x00b",
       "\ud800", "é", "😀" * 50, "x" * 3000, "..", "/", "%00", "'", '"', "null", "-1", "main", "struct", "long", "decimal(38, 38)", "decimal(99,99)",
       "fixed[99999999999]", "fixed[-1]", "bucket[0]", "bucket[99999999999]", "truncate[-1]", "void", "unknown", "variant", "geometry", [], {},
       [[]], [None], [{}], {"": ""}, {"a": None}, [1] * 500, {"type": "struct"}, {"type": "list"}, "01920000-0000-7000-8000-000000000001"]


def nodes(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, below in value.items():
            yield from nodes(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from nodes(below, (*path, index))


def changed(rng: random.Random, body):
    """A copy with one to three nodes replaced, removed, doubled, renamed or nested."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice([p for p in nodes(body) if p] or [()])
        if not path:
            return rng.choice(ODD)
        parent = body
        for step in path[:-1]:
            parent = parent[step]
        key, how = path[-1], rng.random()
        if how < 0.6:
            alike = [odd for odd in ODD if type(odd) is type(parent[key])]  # half of them pass the first look
            parent[key] = copy.deepcopy(rng.choice(alike if alike and rng.random() < 0.6 else ODD))
        elif how < 0.72:
            del parent[key]
        elif how < 0.8 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        elif how < 0.9 and isinstance(parent, dict):
            parent[rng.choice(["", "x", key + "x", key.upper()])] = parent.pop(key)
        elif how < 0.95:
            parent[key] = [parent[key]]
        else:
            parent[key] = copy.deepcopy(rng.choice(list(GOOD.values()))[2][0])
    return body


def text_of(rng: random.Random, body) -> bytes:
    text = json.dumps(body)
    how = rng.random()
    if how < 0.03:
        text = text[:rng.randrange(len(text) + 1)]
    elif how < 0.05:
        text = text.replace(":", ":" + "[" * 600, 1)
    elif how < 0.07:
        text = text[:-1] + "," + text[1:] if text.startswith("{") and len(text) > 2 else text
    elif how < 0.08:
        return b"\xff\xfe" + text.encode("utf-16-le", "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def fuzzed(stack):
    for server in served_lake(stack, **auth.settings()):
        server.http.headers.update(bearer(token(server)))
        post = lambda path, body: server.http.post(server.api + path, json=body, timeout=60)
        assert post("/namespaces", {"namespace": ["m"]}).status_code == 200
        for name in ("t", "u"):
            assert post("/namespaces/m/tables", {"name": name, "schema": SCHEMA, "properties": {"format-version": "2"}}).status_code == 200
        assert post("/namespaces/m/views", GOOD["createView"][2][0] | {"name": "v"}).status_code == 200
        server.lake.session().execute(f"INSERT INTO lake.m.{quoted('u')} (id) SELECT range FROM range(100)")
        yield server


@pytest.mark.parametrize("name", GOOD)
def test_almost_good_requests_are_answered(fuzzed, name):
    method, path, bodies = GOOD[name]
    rng = random.Random(f"20261130 {name}")
    seen: dict[int, int] = {}
    for number in range(COUNT):
        body = text_of(rng, changed(rng, rng.choice(bodies)))
        answer = fuzzed.http.request(method, fuzzed.api + path, data=body, timeout=60, headers={"Content-Type": "application/json"})
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, f"{number}: {answer.text}\n{body[:2000]!r}\n{fuzzed.log_tail(1)}"
        if answer.status_code >= 400:
            assert answer.headers["Content-Type"].startswith("application/json") and set(answer.json()) == {"error"}, body[:500]
        if name in ("updateTable", "commitTransaction") and number % 20 == 0:
            loaded = fuzzed.http.get(fuzzed.api + T, timeout=60)
            assert loaded.status_code == 200, f"{number}: {loaded.text}\n{body[:2000]!r}"
    print(f"{name}: {dict(sorted(seen.items()))}")


def test_the_lake_is_whole_afterwards(fuzzed):
    with fuzzed.lake.duckdb() as session:
        tables = session.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'").fetchall()
        for space, table in tables:
            session.execute(f"SELECT count(*) FROM (SELECT * FROM lake.{quoted(space)}.{quoted(table)})")
        assert session.execute("SELECT count(*) FROM lake.m.u").fetchone() == (100,)
    listed = fuzzed.get("/namespaces/m/tables").json()["identifiers"]
    assert {"namespace": ["m"], "name": "u"} in listed
    for identifier in listed:
        loaded = fuzzed.get(f"/namespaces/m/tables/{requests.utils.quote(identifier['name'], safe='')}")
        assert loaded.status_code == 200, (identifier, loaded.text)

