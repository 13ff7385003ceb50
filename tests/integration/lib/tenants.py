# SPDX-License-Identifier: Apache-2.0
"""Catalogs beside a server's own: made over REST, reached by their prefix and by DuckDB."""
from __future__ import annotations

import requests

from .lakes import duck
from .server import Server, encoded

LONG = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}


def spec(server: Server, name: str, **more) -> dict:
    """The body that makes a catalog of this name, in a place that only this test's lake has."""
    return {"catalog_id": name, "metadata_schema": name.replace("-", "_"),
            "data_prefix": f"{server.lake.name}/tenants/{name}", **more}


def create(server: Server, name: str, headers: dict | None = None, **more) -> requests.Response:
    return requests.post(f"{server.url}/v1/catalogs", json=spec(server, name, **more),
                         headers=headers, timeout=180)


def close(server: Server, name: str, headers: dict | None = None) -> requests.Response:
    return requests.delete(f"{server.url}/v1/catalogs/{name}", headers=headers, timeout=60)


class Tenant:
    """One such catalog of a server; `headers` go with each request."""

    def __init__(self, server: Server, name: str, headers: dict | None = None, **more):
        self.server, self.name, self.lake = server, name, server.lake
        self.http = requests.Session()
        self.http.headers.update(headers or {})
        made = create(server, name, headers, **more)
        assert made.status_code == 201, f"{made.text}\n{server.log_tail(8)}"
        self.schema = made.json()["metadata_schema"]
        self.prefix = made.json()["data_prefix"]
        self._duckdb = None

    def __call__(self, method: str, path: str, body=None, **options) -> requests.Response:
        return self.http.request(method, f"{self.server.url}/v1/{self.name}{path}", json=body,
                                 timeout=60, **options)

    def get(self, path: str, **options) -> requests.Response:
        return self("GET", path, **options)

    def load(self, namespace: str, table: str, **headers) -> dict:
        answer = self.get(f"/namespaces/{encoded(namespace)}/tables/{encoded(table)}", headers=headers)
        assert answer.status_code == 200, f"{answer.text}\n{self.server.log_tail(8)}"
        return answer.json()

    def session(self):
        """A session of DuckDB with the tenant's DuckLake attached as `lake`."""
        if self._duckdb is None:
            self._duckdb = duck.lake(self.lake.env, metadata_schema=self.schema)
        return self._duckdb.cursor()

    def rows(self, sql: str, *arguments) -> list[tuple]:
        return self.lake.rows(sql.replace("{schema}", self.schema), *arguments)

    def close(self) -> None:
        if self._duckdb is not None:
            self._duckdb.close()
            self._duckdb = None
