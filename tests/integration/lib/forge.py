# SPDX-License-Identifier: Apache-2.0
"""Commits that PyIceberg made and did not send, to be changed into wrong ones and posted by hand."""
from __future__ import annotations

import copy
import io
import json
import typing
import uuid

import fastavro
import requests

from .clients import PyIceberg
from .server import encoded


class _Taken(Exception):
    pass


def capture(server, space: str, table: str, act: typing.Callable) -> dict:
    """The request body of the commit that `act(pyiceberg_table)` would send."""
    client = PyIceberg(server)
    taken: list[dict] = []

    def keep(_table, requirements, updates):
        taken.append({"requirements": [json.loads(r.model_dump_json(by_alias=True))
                                       for r in requirements],
                      "updates": [json.loads(u.model_dump_json(by_alias=True, exclude_none=True))
                                  for u in updates]})
        raise _Taken

    loaded = client.load(space, table)
    client.catalog.commit_table = keep
    try:
        act(loaded)
    except _Taken:
        pass
    assert len(taken) == 1, "nothing was to be committed"
    return taken[0]


class Draft:
    """One commit with one add-snapshot; the objects that it names are in the store.

    `edit_list` and `edit_manifest` write changed copies beside the originals and point to them.
    """

    def __init__(self, server, space: str, table: str, act: typing.Callable):
        self.server = server
        self.space = space
        self.table = table
        self.body = capture(server, space, table, act)
        self.location = self.snapshot["manifest-list"].rsplit("/metadata/", 1)[0]
        self._s3 = server.lake.s3()

    def copy(self) -> "Draft":
        other = copy.copy(self)
        other.body = copy.deepcopy(self.body)
        return other

    def update(self, action: str) -> dict:
        return next(u for u in self.body["updates"] if u["action"] == action)

    @property
    def snapshot(self) -> dict:
        return self.update("add-snapshot")["snapshot"]

    def renumber(self) -> "Draft":
        """The same commit under another snapshot id, in the list and the manifests as well."""
        old = self.snapshot["snapshot-id"]
        new = uuid.uuid4().int >> 66
        text = json.dumps(self.body).replace(str(old), str(new))
        self.body = json.loads(text)

        def entries(records, _header):
            for record in records:
                if record["snapshot_id"] == old:
                    record["snapshot_id"] = new
        self.edit_manifests(entries, added_by=old)

        def files(records, _header):
            for record in records:
                if record["added_snapshot_id"] == old:
                    record["added_snapshot_id"] = new
        self.edit_list(files)
        return self

    def bytes(self, uri: str) -> bytes:
        bucket, key = uri.removeprefix("s3://").split("/", 1)
        return self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()

    def put(self, content: bytes, name: str = "x.avro", folder: str | None = None) -> str:
        uri = f"{folder or self.location + '/metadata'}/{uuid.uuid4()}-{name}"
        bucket, key = uri.removeprefix("s3://").split("/", 1)
        self._s3.put_object(Bucket=bucket, Key=key, Body=content)
        return uri

    def avro(self, uri: str) -> tuple[dict, list[dict], dict]:
        reader = fastavro.reader(io.BytesIO(self.bytes(uri)))
        header = dict(reader.metadata)
        return json.loads(header["avro.schema"]), list(reader), header

    @staticmethod
    def encode(schema: dict, records: list[dict], header: dict, codec: str = "deflate") -> bytes:
        out = io.BytesIO()
        fastavro.writer(out, schema, records, codec=codec, metadata={
            k: v for k, v in header.items() if not k.startswith("avro.")})
        return out.getvalue()

    def set_list(self, content: bytes) -> None:
        self.snapshot["manifest-list"] = self.put(content)

    def edit_list(self, change: typing.Callable) -> None:
        """change(records, header) works in place; it may return another schema."""
        schema, records, header = self.avro(self.snapshot["manifest-list"])
        schema = change(records, header) or schema
        self.set_list(self.encode(schema, records, header))

    def new_manifests(self) -> list[dict]:
        _, records, _ = self.avro(self.snapshot["manifest-list"])
        return [r for r in records if r["added_snapshot_id"] == self.snapshot["snapshot-id"]]

    def set_manifest(self, content: bytes, **members) -> None:
        """The first new manifest is these bytes; members of its list record may change."""
        own = self.snapshot["snapshot-id"]

        def change(records, _header):
            record = next(r for r in records if r["added_snapshot_id"] == own)
            record |= {"manifest_path": self.put(content), "manifest_length": len(content), **members}
        self.edit_list(change)

    def edit_manifests(self, change: typing.Callable, added_by: int | None = None,
                       counts: bool = True) -> None:
        """change(records, header) on each new manifest; the list's counts follow unless told not."""
        added_by = added_by or self.snapshot["snapshot-id"]

        def in_list(listed, _header):
            for file in listed:
                if file["added_snapshot_id"] != added_by:
                    continue
                schema, records, header = self.avro(file["manifest_path"])
                schema = change(records, header) or schema
                content = self.encode(schema, records, header)
                file |= {"manifest_path": self.put(content), "manifest_length": len(content)}
                if counts:
                    for status, word in ((1, "added"), (0, "existing"), (2, "deleted")):
                        of = [r for r in records if r["status"] == status]
                        file[f"{word}_files_count"] = len(of)
                        file[f"{word}_rows_count"] = sum(
                            r["data_file"]["record_count"] for r in of)
        self.edit_list(in_list)

    def post(self, **options) -> requests.Response:
        return post(self.server, self.space, self.table, self.body, **options)


def post(server, space: str, table: str, body, key: str | None = None) -> requests.Response:
    """Posts a commit; `body` may be bytes, to be sent as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    return server.http.post(f"{server.api}/namespaces/{encoded(space)}/tables/{encoded(table)}",
                            data=content, headers=headers, timeout=120)
