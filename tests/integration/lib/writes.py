# SPDX-License-Identifier: Apache-2.0
"""Requests that change a catalog, over plain HTTP."""
from __future__ import annotations

import os
import time

import requests

from .server import Server, encoded


def path_of(levels: tuple[str, ...] | list[str] | str) -> str:
    levels = [levels] if isinstance(levels, str) else levels
    return "/namespaces/" + "%1F".join(encoded(level) for level in levels)


class Writer:
    """One caller of a server. Methods answer the response as it is, unless they say otherwise."""

    def __init__(self, server: Server):
        self.server = server

    def send(self, method: str, path: str, body=None, key: str | None = None,
             **options) -> requests.Response:
        headers = {"Idempotency-Key": key} if key else {}
        return self.server.http.request(method, self.server.api + path, json=body, timeout=60,
                                        headers=headers | options.pop("headers", {}), **options)

    def post(self, path: str, body=None, **options) -> requests.Response:
        return self.send("POST", path, body, **options)

    def delete(self, path: str, **options) -> requests.Response:
        return self.send("DELETE", path, **options)

    def create_namespace(self, levels, properties: dict | None = None, **options):
        levels = [levels] if isinstance(levels, str) else list(levels)
        body = {"namespace": levels}
        if properties is not None:
            body["properties"] = properties
        return self.post("/namespaces", body, **options)

    def rename(self, kind: str, source: tuple, destination: tuple, **options):
        """`source` and `destination`: (namespace, name)."""
        def identifier(pair):
            levels = [pair[0]] if isinstance(pair[0], str) else list(pair[0])
            return {"namespace": levels, "name": pair[1]}
        return self.post(f"/{kind}/rename", {"source": identifier(source),
                                             "destination": identifier(destination)}, **options)


def uuid7() -> str:
    """A new UUID of version 7, as an Idempotency-Key must be."""
    value = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
