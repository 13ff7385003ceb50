# SPDX-License-Identifier: Apache-2.0
"""The connection to PostgreSQL is lost at a COMMIT: nobody is told that nothing happened."""
import itertools

import pytest
from lib.cutting import CuttingProxy
from lib.lakes import Lake
from lib.rest import error_of
from lib.server import Server, command
from lib.writes import Writer, uuid7

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def cut(stack):
    """A server whose way to PostgreSQL leads through a proxy."""
    lake = Lake(stack)
    assert command(lake, "init").returncode == 0
    proxy = CuttingProxy(lake.env["DUCKICELAKE_PG_HOST"], int(lake.env["DUCKICELAKE_PG_PORT"]))
    server = Server(lake, DUCKICELAKE_PG_HOST="127.0.0.1", DUCKICELAKE_PG_PORT=proxy.port).start()
    server.proxy = proxy
    try:
        yield server
    finally:
        server.stop()
        proxy.close()
        lake.close()


def exists(server, name) -> bool:
    return server.get(f"/namespaces/{name}").status_code == 200


@pytest.mark.parametrize("when", ["before", "after"])
def test_without_a_key_the_outcome_is_unknown(cut, when):
    name, cuts = f"n{next(_numbers)}", cut.proxy.cuts
    cut.proxy.cut(when)
    error_of(Writer(cut).create_namespace(name), 500, "CommitStateUnknownException")
    assert cut.proxy.cuts == cuts + 1
    assert exists(cut, name) == (when == "after")
    answer = Writer(cut).create_namespace(name)
    assert answer.status_code == (409 if when == "after" else 200)


@pytest.mark.parametrize("when", ["before", "after"])
def test_with_a_key_it_is_found_out(cut, when):
    name, cuts, head = f"n{next(_numbers)}", cut.proxy.cuts, cut.lake.head()
    key = uuid7()
    cut.proxy.cut(when)
    answer = Writer(cut).create_namespace(name, {"a": "b"}, key=key)
    assert answer.status_code == 200, answer.text
    assert cut.proxy.cuts == cuts + 1
    assert exists(cut, name) and cut.lake.head() == head + 1
    again = Writer(cut).create_namespace(name, {"a": "b"}, key=key)
    assert (again.status_code, again.json()) == (200, answer.json())
    assert cut.lake.head() == head + 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_view_survives_with_its_metadata_object(cut, when):
    space = f"n{next(_numbers)}"
    assert Writer(cut).create_namespace(space).status_code == 200
    body = {"name": "v", "schema": {"type": "struct", "schema-id": 0, "fields": []},
            "properties": {}, "view-version": {
                "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {},
                "default-namespace": [space],
                "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "duckdb"}]}}
    cut.proxy.cut(when)
    answer = Writer(cut).post(f"/namespaces/{space}/views", body, key=uuid7())
    assert answer.status_code == 200, answer.text
    loaded = cut.get(f"/namespaces/{space}/views/v").json()
    assert loaded == answer.json()
    bucket, key = loaded["metadata-location"].removeprefix("s3://").split("/", 1)
    cut.lake.s3().head_object(Bucket=bucket, Key=key)
    cut.proxy.cut(when)
    update = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    answer = Writer(cut).post(f"/namespaces/{space}/views/v", update, key=uuid7())
    assert answer.status_code == 200, answer.text
    loaded = cut.get(f"/namespaces/{space}/views/v").json()
    assert loaded == answer.json() and loaded["metadata"]["properties"] == {"a": "b"}
    bucket, key = loaded["metadata-location"].removeprefix("s3://").split("/", 1)
    cut.lake.s3().head_object(Bucket=bucket, Key=key)
