# SPDX-License-Identifier: Apache-2.0
"""Requests made from our own OpenAPI document, good and bad ones, by schemathesis: the server holds to what it says.

Seeded: the same requests each time. Each operation is asked as the superuser, as somebody narrow, and as nobody.
"""
from __future__ import annotations

import json
import os
import time

import pytest
import requests
import schemathesis
from fixtures import served_lake
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from lib import auth
from lib.auth import bearer, token
from lib.server import command
from lib.soak import size
from schemathesis import GenerationMode
from schemathesis import checks as _checks  # noqa: F401: makes the checks known
from schemathesis.specs.openapi.checks import (content_type_conformance, response_headers_conformance,
                                               response_schema_conformance, status_code_conformance)

CHECKS = [content_type_conformance, response_headers_conformance, response_schema_conformance, status_code_conformance]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}
# What costs seconds for each request, on a store and a lake that are there.
SLOW = {"checkStorage", "maintainCatalog", "compactTable", "expireTable"}
OPEN = {"getConfig", "getHealth", "getReadiness", "getMetrics", "getOpenApi", "getToken"}


@pytest.fixture(scope="module")
def guarded(stack):
    yield from served_lake(stack, **auth.settings(narrow="ns:s:r"), DUCKICELAKE_MAINTENANCE_TIMEOUT_SECONDS="20")


@pytest.fixture(scope="module")
def open_server(stack):
    yield from served_lake(stack)


def document(server):
    schema = schemathesis.openapi.from_dict(requests.get(f"{server.url}/openapi.json", timeout=30).json())
    schema.config.update(base_url=server.url)
    return schema


def operations(server) -> dict:
    found = {}
    for result in document(server).get_all_operations():
        operation = result.ok()
        found[operation.definition.raw["operationId"]] = operation
    return found


class Ground:
    """A namespace, a table, a view, a role and a client that are there again before each operation."""

    def __init__(self, server, headers: dict):
        self.server, self.http = server, requests.Session()
        self.http.headers.update(headers)

    def make(self) -> None:
        post = lambda path, body: self.http.post(self.server.api + path, json=body, timeout=60)
        answers = [post("/namespaces", {"namespace": ["s"]}),
                   post("/namespaces/s/tables", {"name": "t", "schema": SCHEMA}),
                   post("/namespaces/s/views", {"name": "v", "schema": SCHEMA, "properties": {}, "view-version": {
                       "version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": ["s"],
                       "representations": [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "duckdb"}]}}),
                   post("/governance/roles", {"name": "r"})]
        assert all(a.status_code in (200, 409) for a in answers), [a.text for a in answers]
        post("/admin/clients", {"client-id": "c", "scope": "*:r"})


THERE = {"namespace": "s", "table": "t", "view": "v", "role": "r", "client": "c", "principal": "p", "function": "f"}


def run(server, operation, name: str, callers: list[dict], examples: int, modes) -> dict[int, int]:
    """Statuses of all answers, after the checks; AssertionError with the request that broke one."""
    seen: dict[int, int] = {}
    session = requests.Session()

    @seed(20261130)
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate, Phase.explicit],
              suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
    @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes]),
           known=st.one_of(st.just(sorted(THERE)), st.lists(st.sampled_from(sorted(THERE)), unique=True)), prefix=st.sampled_from(["lake"] * 9 + [None]))
    def ask(case, known, prefix):
        for where in known:
            if where in (case.path_parameters or {}):
                case.path_parameters[where] = THERE[where]
        if prefix and "prefix" in (case.path_parameters or {}):
            case.path_parameters["prefix"] = prefix
        for headers in callers:
            case.headers = {k: v for k, v in (case.headers or {}).items() if k.lower() != "authorization"} | headers
            begin = time.monotonic()
            try:
                response = case.call(session=session, timeout=60)
            except (requests.exceptions.InvalidHeader, UnicodeError, ValueError):
                return  # no HTTP library sends it
            took = time.monotonic() - begin
            status = response.status_code
            seen[status] = seen.get(status, 0) + 1
            no_tokens = name == "getToken" and "DUCKICELAKE_OAUTH_CLIENTS" not in server.settings
            is_501 = status == 501 and (case.method not in KNOWN or no_tokens)
            assert status < 500 or is_501, f"{status}: {response.text[:500]}"
            assert took < 30, f"{took:.1f} s"
            if not headers and name not in OPEN and "DUCKICELAKE_OAUTH_CLIENTS" in server.settings:
                assert status in (400, 401, 404, 405, 413, 414, 415, 431, 501), f"without a token: {status}: {response.text[:300]}"
                assert case.method.upper() == "HEAD" or set(response.json()) == {"error"}
            if case.method in KNOWN:
                case.validate_response(response, checks=CHECKS)
    ask()
    return seen


KNOWN = {"GET", "HEAD", "POST", "DELETE", "PUT", "get", "head", "post", "delete", "put"}
EXAMPLES = size(24, 400)


def check_all(server, callers: list[dict], admin: dict, examples: int) -> None:
    ground = Ground(server, admin)
    totals: dict[int, int] = {}
    only = os.environ.get("DUCKICELAKE_TEST_OPERATION")
    wrong = []
    for name, operation in operations(server).items():
        if only and name != only:
            continue
        ground.make()
        few = max(2, examples // 8) if name in SLOW else examples
        try:
            found = run(server, operation, name, callers, few, [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
        except Exception as error:  # all operations are heard before the verdict
            wrong.append(f"{name}: {type(error).__name__}: {getattr(error, 'exceptions', error)}")
            continue
        print(f"{name:<34}" + " ".join(f"{status}×{count}" for status, count in sorted(found.items())))
        for status, count in found.items():
            totals[status] = totals.get(status, 0) + count
    assert not wrong, f"{len(wrong)} operations:\n" + "\n\n".join(wrong)
    print(f"{sum(totals.values())} requests: {dict(sorted(totals.items()))}")
    assert requests.get(f"{server.url}/readyz", timeout=10).status_code == 200
    for line in server.log_path.read_text(errors="replace").splitlines():
        assert '"level":"ERROR"' not in line, line


def test_the_server_holds_to_its_document(guarded):
    admin = bearer(token(guarded))
    check_all(guarded, [admin, bearer(token(guarded, "narrow")), {}], admin, EXAMPLES)


def test_the_server_holds_to_its_document_where_nobody_is_asked_for_a_token(open_server):
    check_all(open_server, [{}], {}, EXAMPLES)


def test_the_document_names_all_routes_and_is_whole(guarded):
    text = requests.get(f"{guarded.url}/openapi.json", timeout=30).text
    assert "$ref" in text and "TODO" not in text
    found = operations(guarded)
    assert len(found) > 50 and OPEN <= set(found) and SLOW <= set(found)
    assert json.loads(text)["openapi"] == "3.1.0"
    assert command(guarded.lake, "--version").returncode == 0
