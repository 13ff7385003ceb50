# SPDX-License-Identifier: Apache-2.0
"""What every answer of the REST catalog must look like."""
from __future__ import annotations

import json
import socket

import requests

ERROR_KEYS = {"message", "type", "code"}


def error_of(answer: requests.Response, status: int, kind: str | None = None) -> dict:
    """The Iceberg error body of an answer that must have this status (and error type)."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text[:400]}"
    assert answer.headers["Content-Type"].startswith("application/json"), answer.headers
    body = answer.json()
    assert set(body) == {"error"}, body
    error = body["error"]
    assert ERROR_KEYS <= set(error) <= ERROR_KEYS | {"stack"}, error
    assert error["code"] == status, error
    assert isinstance(error["message"], str) and error["message"], error
    if kind is not None:
        assert error["type"] == kind, error
    return error


def nulls(value, path: str = "") -> list[str]:
    """Where a JSON value holds a null; absent members are to be left out instead."""
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in nulls(v, f"{path}.{k}")]
    if isinstance(value, list):
        return [p for n, v in enumerate(value) for p in nulls(v, f"{path}[{n}]")]
    return []


def raw(port: int, request: bytes, seconds: float = 10) -> bytes:
    """Sends bytes as they are and reads until the server closes or is silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as wire:
        wire.sendall(request)
        wire.settimeout(seconds)
        chunks = []
        try:
            while chunk := wire.recv(65536):
                chunks.append(chunk)
                head, _, body = b"".join(chunks).partition(b"\r\n\r\n")
                if _complete(head, body):
                    break
        except TimeoutError:
            pass
    return b"".join(chunks)


def _complete(head: bytes, body: bytes) -> bool:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return len(body) >= int(value)
    return False


def raw_error(answer: bytes, statuses: set[int]) -> None:
    """A raw answer is one of these statuses with the Iceberg error body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    assert status in statuses, answer[:300]
    error = json.loads(body)["error"]
    assert ERROR_KEYS <= set(error) and error["code"] == status, error


def pages(get, size: int, **query) -> list[list]:
    """Walks a listing with `get(params) -> body`; each page's items (identifiers or namespaces)."""
    found, token = [], ""
    while token is not None:
        body = get({"pageToken": token, "pageSize": size, **query})
        found.append(body.get("identifiers", body.get("namespaces")))
        token = body.get("next-page-token")
        assert len(found) < 10_000, "the pages do not end"
    return found
