# SPDX-License-Identifier: Apache-2.0
"""An independent reader of what the server writes: manifests by fastavro, Parquet by pyarrow.

Everything is recomputed from the data files and the Iceberg specification; nothing is taken from
the server or from DuckLake.
"""
from __future__ import annotations

import dataclasses
import functools
import io
import zlib

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table.puffin import PuffinFile

EXISTING, ADDED, DELETED = 0, 1, 2


class Objects:
    """Objects of the store by URI, kept once read."""

    def __init__(self, client):
        self.client = client
        self.bytes = functools.lru_cache(maxsize=512)(self._bytes)

    @staticmethod
    def place(uri: str) -> dict:
        bucket, key = uri.removeprefix("s3://").split("/", 1)
        return {"Bucket": bucket, "Key": key}

    def _bytes(self, uri: str) -> bytes:
        return self.client.get_object(**self.place(uri))["Body"].read()

    def size(self, uri: str) -> int | None:
        from botocore.exceptions import ClientError
        try:
            return self.client.head_object(**self.place(uri))["ContentLength"]
        except ClientError:
            return None

    def exists(self, uri: str) -> bool:
        return self.size(uri) is not None

    def avro(self, uri: str) -> tuple[dict, list[dict]]:
        """(file metadata as text, records)"""
        with io.BytesIO(self.bytes(uri)) as file:
            reader = fastavro.reader(file)
            records = list(reader)
            return dict(reader.metadata), records

    def parquet(self, uri: str) -> pa.Table:
        return pq.read_table(pa.BufferReader(self.bytes(uri)))


@dataclasses.dataclass
class Entry:
    """A live manifest entry with what it inherits from its manifest."""
    data_file: dict
    snapshot_id: int
    sequence: int
    file_sequence: int
    spec_id: int
    status: int
    first_row_id: int | None


def entries(manifest: dict, records: list[dict]) -> list[Entry]:
    """All entries of a manifest; null ids and sequence numbers inherited ("Sequence Number Inheritance")."""
    found, next_row = [], manifest.get("first_row_id")
    for record in records:
        status = record["status"]
        inherited = manifest["sequence_number"] if status == ADDED or manifest["sequence_number"] == 0 \
            else None
        sequence = record.get("sequence_number")
        file_sequence = record.get("file_sequence_number")
        file = record["data_file"]
        row = file.get("first_row_id")
        if row is None and next_row is not None and file["content"] == 0 and status != DELETED:
            row, next_row = next_row, next_row + file["record_count"]
        found.append(Entry(
            file, manifest["added_snapshot_id"] if record.get("snapshot_id") is None
            else record["snapshot_id"], inherited if sequence is None else sequence,
            inherited if file_sequence is None else file_sequence, manifest["partition_spec_id"],
            status, row))
    return found


def live_files(objects: Objects, manifest_list: str) -> list[str]:
    _, manifests = objects.avro(manifest_list)
    return [e.data_file["file_path"] for m in manifests
            for e in entries(m, objects.avro(m["manifest_path"])[1]) if e.status != DELETED]


class Validator:
    """Checks one table's metadata JSON and everything below it; `problems` says what is wrong."""

    def __init__(self, objects: Objects):
        self.objects = objects
        self.problems: list[str] = []
        self._checked_files: set = set()

    def table(self, metadata: dict) -> list[str]:
        start = len(self.problems)
        self._document(metadata)
        previous: dict | None = None
        for snapshot in metadata.get("snapshots", []):
            previous = self._snapshot(metadata, snapshot, previous)
        return self.problems[start:]

    def say(self, text: str) -> None:
        self.problems.append(text)

    def _document(self, m: dict) -> None:
        ids = [s["snapshot-id"] for s in m.get("snapshots", [])]
        if len(ids) != len(set(ids)) or ids != sorted(ids):
            self.say(f"snapshots out of order or twice: {ids}")
        if m["last-sequence-number"] < max([s["sequence-number"] for s in m.get("snapshots", [])] or [0]):
            self.say("last-sequence-number is too small")
        times = [s["timestamp-ms"] for s in m.get("snapshots", [])]
        if times != sorted(times):
            self.say(f"timestamps go back: {times}")
        log = [e["timestamp-ms"] for e in m.get("snapshot-log", [])]
        if log != sorted(log) or (log and m["last-updated-ms"] < log[-1]):
            self.say("snapshot-log goes back, or beyond last-updated-ms")
        if m.get("snapshot-log") and m["snapshot-log"][-1]["snapshot-id"] != m["current-snapshot-id"]:
            self.say("snapshot-log does not end with the current snapshot")
        if {e["snapshot-id"] for e in m.get("snapshot-log", [])} - set(ids):
            self.say("snapshot-log names snapshots that are not listed: "
                     f"{m['snapshot-log']} of {ids}, main at {m.get('current-snapshot-id')}")
        schema_ids = [s["schema-id"] for s in m["schemas"]]
        if len(schema_ids) != len(set(schema_ids)) or m["current-schema-id"] not in schema_ids:
            self.say(f"schema ids {schema_ids}, current {m['current-schema-id']}")
        if {s.get("schema-id") for s in m.get("snapshots", [])} - set(schema_ids) - {None}:
            self.say("a snapshot names a schema that is not listed")
        spec_ids = [s["spec-id"] for s in m["partition-specs"]]
        if m["default-spec-id"] not in spec_ids:
            self.say("default-spec-id is not listed")
        fields = [f for s in m["partition-specs"] for f in s["fields"]]
        if fields and m["last-partition-id"] < max(f["field-id"] for f in fields):
            self.say("last-partition-id is too small")
        field_ids = [i for s in m["schemas"] for i in _field_ids(s)]
        if field_ids and m["last-column-id"] < max(field_ids):
            self.say("last-column-id is too small")
        if m["format-version"] >= 3 and not isinstance(m.get("next-row-id"), int):
            self.say("next-row-id is missing")

    def _snapshot(self, m: dict, snapshot: dict, previous: dict | None) -> dict:
        where = f"snapshot {snapshot['snapshot-id']}"
        file_metadata, manifests = self.objects.avro(snapshot["manifest-list"])
        self._list_header(where, m, snapshot, file_metadata)
        live_data: dict[str, Entry] = {}
        live_deletes: dict[tuple, Entry] = {}
        added, removed = [], []
        for manifest in manifests:
            path = manifest["manifest_path"]
            header, records = self.objects.avro(path)
            self._manifest(f"{where}, {path.rsplit('/', 1)[-1]}", m, manifest, header, records)
            for entry in entries(manifest, records):
                mine = manifest["added_snapshot_id"] == snapshot["snapshot-id"]
                if mine and entry.status == ADDED:
                    added.append(entry)
                if mine and entry.status == DELETED:
                    removed.append(entry)
                if entry.status == DELETED:
                    continue
                file = entry.data_file
                key = (file["file_path"], file.get("content_offset"), file.get("referenced_data_file"))
                target = live_data if file["content"] == 0 else live_deletes
                if (key[0] if file["content"] == 0 else key) in target:
                    self.say(f"{where}: {key} is live twice")
                target[key[0] if file["content"] == 0 else key] = entry
                self._file(where, m, entry)
        self._deletes(where, live_data, live_deletes)
        version = int(file_metadata.get("format-version", 2))
        if version < 3 and previous and previous["version"] >= 3:
            self.say(f"{where}: a manifest list of version {version} after one of version 3")
        if version >= 3:  # a snapshot from before the table's upgrade has no row ids
            self._lineage(where, m, snapshot, live_data)
        self._totals(where, snapshot, live_data, live_deletes, added, removed)
        return {"data": live_data, "deletes": live_deletes, "version": version}

    def _list_header(self, where: str, m: dict, snapshot: dict, header: dict) -> None:
        wanted = {"snapshot-id": str(snapshot["snapshot-id"]),
                  "sequence-number": str(snapshot["sequence-number"])}
        for key, value in wanted.items():
            if key in header and header[key] != value:
                self.say(f"{where}: manifest list says {key}={header[key]}")
        if header.get("format-version") not in ("2", "3"):
            self.say(f"{where}: manifest list format-version {header.get('format-version')}")

    def _manifest(self, where: str, m: dict, manifest: dict, header: dict, records: list) -> None:
        """A-42: the header and every count agree with the entries."""
        content = {0: "data", 1: "deletes"}[manifest["content"]]
        if header.get("content") != content:
            self.say(f"{where}: header content {header.get('content')}, listed as {content}")
        if header.get("partition-spec-id") != str(manifest["partition_spec_id"]):
            self.say(f"{where}: header partition-spec-id {header.get('partition-spec-id')}")
        if "schema" not in header or header.get("format-version") not in ("2", "3"):
            self.say(f"{where}: header lacks schema or format-version")
        if self.objects.size(manifest["manifest_path"]) != manifest["manifest_length"]:
            self.say(f"{where}: manifest_length is wrong")
        for status, word in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
            mine = [r for r in records if r["status"] == status]
            rows = sum(r["data_file"]["record_count"] for r in mine)
            if (manifest[f"{word}_files_count"], manifest[f"{word}_rows_count"]) != (len(mine), rows):
                self.say(f"{where}: {word} counts {manifest[f'{word}_files_count']}/"
                         f"{manifest[f'{word}_rows_count']}, entries say {len(mine)}/{rows}")
        found = entries(manifest, records)
        for entry in found:
            if entry.sequence is None or entry.file_sequence is None:
                self.say(f"{where}: an entry has no sequence number to inherit")
            if (entry.data_file["content"] != 0) != (content == "deletes"):
                self.say(f"{where}: content of an entry differs from its manifest's")
            if entry.status == ADDED and entry.snapshot_id != manifest["added_snapshot_id"]:
                self.say(f"{where}: ADDED by {entry.snapshot_id} in a manifest of "
                         f"{manifest['added_snapshot_id']}")
        live = [e.sequence for e in found if e.status != DELETED and e.sequence is not None]
        if live and manifest["min_sequence_number"] > min(live):
            self.say(f"{where}: min_sequence_number {manifest['min_sequence_number']} > {min(live)}")
        self._partition_summaries(where, m, manifest, found)

    def _partition_summaries(self, where, m, manifest, found) -> None:
        spec = next(s for s in m["partition-specs"] if s["spec-id"] == manifest["partition_spec_id"])
        summaries = manifest.get("partitions") or []
        if len(summaries) != len(spec["fields"]):
            self.say(f"{where}: {len(summaries)} partition summaries for {len(spec['fields'])} fields")
            return
        for place, field in enumerate(spec["fields"]):
            values = [e.data_file["partition"].get(_avro_name(field["name"]),
                      list(e.data_file["partition"].values())[place]) for e in found]
            if any(v is None for v in values) and not summaries[place]["contains_null"]:
                self.say(f"{where}: summary of {field['name']} denies a NULL")

    def _file(self, where: str, m: dict, entry: Entry) -> None:
        file = entry.data_file
        key = (file["file_path"], file.get("content_offset"), entry.spec_id)
        if key in self._checked_files:
            return
        self._checked_files.add(key)
        size = self.objects.size(file["file_path"])
        if size != file["file_size_in_bytes"]:
            self.say(f"{where}: {file['file_path']} has {size} bytes, listed with "
                     f"{file['file_size_in_bytes']}")
        if size is None:
            return
        if file["file_format"].upper() == "PUFFIN":
            self._deletion_vector(where, file)
            return
        table = self.objects.parquet(file["file_path"])
        if table.num_rows != file["record_count"]:
            self.say(f"{where}: {file['file_path']} has {table.num_rows} rows, listed with "
                     f"{file['record_count']}")
        if file["content"] == 0:
            from .bounds import check_data_file
            for problem in check_data_file(m, entry.spec_id, file, table):
                self.say(f"{where}: {file['file_path'].rsplit('/', 1)[-1]}: {problem}")
        else:
            self._position_deletes(where, file, table)

    def _deletion_vector(self, where: str, file: dict) -> None:
        """The blob that the entry points at, and the same one as PyIceberg finds it by the footer."""
        raw = self.objects.bytes(file["file_path"])
        start, size = file["content_offset"], file["content_size_in_bytes"]
        blob = raw[start:start + size]
        length = int.from_bytes(blob[:4], "big")
        if len(blob) != size or length != size - 8 or blob[4:8] != bytes.fromhex("d1d33964"):
            self.say(f"{where}: no deletion vector of {size} bytes at {start}")
            return
        if zlib.crc32(blob[4:-4]) != int.from_bytes(blob[-4:], "big"):
            self.say(f"{where}: checksum of the deletion vector at {start}")
        vectors = PuffinFile(raw).to_vector()
        positions = vectors.get(file["referenced_data_file"])
        if positions is None or len(positions) != file["record_count"]:
            self.say(f"{where}: {file['record_count']} positions listed for "
                     f"{file['referenced_data_file']}, the vectors are "
                     f"{ {k: len(v) for k, v in vectors.items()} }")

    def _position_deletes(self, where: str, file: dict, table: pa.Table) -> None:
        ids = {f.name: (f.metadata or {}).get(b"PARQUET:field_id") for f in table.schema}
        if ids.get("file_path") != b"2147483546" or ids.get("pos") != b"2147483545":
            self.say(f"{where}: field ids of a position delete file are {ids}")
        pairs = list(zip(table.column("file_path").to_pylist(), table.column("pos").to_pylist()))
        if pairs != sorted(set(pairs)):
            self.say(f"{where}: positions are not sorted or not unique")
        if {p for p, _ in pairs} != {file["referenced_data_file"]}:
            self.say(f"{where}: a delete file names other data files than it references")

    def _deletes(self, where: str, data: dict, deletes: dict) -> None:
        referenced = [e.data_file.get("referenced_data_file") for e in deletes.values()]
        if len(referenced) != len(set(referenced)):
            self.say(f"{where}: a data file has two live delete files")
        for entry in deletes.values():
            target = data.get(entry.data_file.get("referenced_data_file"))
            if target is None:
                self.say(f"{where}: deletes of {entry.data_file.get('referenced_data_file')}, "
                         "which is not live")
                continue
            if entry.sequence < target.sequence:
                self.say(f"{where}: deletes are older than their data file")
            if (entry.spec_id, entry.data_file["partition"]) != (
                    target.spec_id, target.data_file["partition"]):
                self.say(f"{where}: deletes lie in another partition than their data file")
            if entry.data_file["record_count"] > target.data_file["record_count"]:
                self.say(f"{where}: more deletes than rows")

    def _lineage(self, where: str, m: dict, snapshot: dict, data: dict) -> None:
        """Row ids (specification, "Row Lineage"): every file has its first one, below next-row-id."""
        if "first-row-id" not in snapshot or "added-rows" not in snapshot:
            self.say(f"{where}: first-row-id or added-rows is missing")
            return
        if snapshot["first-row-id"] + snapshot["added-rows"] > m["next-row-id"]:
            self.say(f"{where}: first-row-id + added-rows beyond next-row-id {m['next-row-id']}")
        for path, entry in data.items():
            if entry.first_row_id is None:
                self.say(f"{where}: {path} has no first_row_id")
            elif entry.first_row_id + entry.data_file["record_count"] > m["next-row-id"]:
                self.say(f"{where}: rows of {path} from {entry.first_row_id} go beyond next-row-id")

    def _totals(self, where, snapshot, data, deletes, added, removed) -> None:
        def rows(found):
            return sum(e.data_file["record_count"] for e in found)

        def of(found, content):
            return [e for e in found if (e.data_file["content"] == 0) == (content == 0)]
        both = [*data.values(), *deletes.values()]
        wanted = {
            "total-data-files": len(data), "total-delete-files": len(deletes),
            "total-records": rows(data.values()), "total-position-deletes": rows(deletes.values()),
            "total-equality-deletes": 0,
            "total-files-size": sum(_size(e.data_file) for e in both),
            "added-data-files": len(of(added, 0)), "added-records": rows(of(added, 0)),
            "deleted-data-files": len(of(removed, 0)), "deleted-records": rows(of(removed, 0)),
            "added-delete-files": len(of(added, 1)), "removed-delete-files": len(of(removed, 1)),
            "added-position-deletes": rows(of(added, 1)),
            "removed-position-deletes": rows(of(removed, 1))}
        summary = snapshot["summary"]
        for key, value in wanted.items():
            if key.startswith("total-") and key not in summary:
                self.say(f"{where}: summary lacks {key}")
            if summary.get(key, "0" if value == 0 else None) != str(value):
                self.say(f"{where}: summary {key}={summary.get(key)}, recomputed {value}")
        if summary["operation"] not in ("append", "delete", "overwrite", "replace"):
            self.say(f"{where}: operation {summary['operation']}")
        if summary["operation"] == "append" and (removed or of(added, 1)):
            self.say(f"{where}: an append removes or deletes")


def _size(file: dict) -> int:
    return file["content_size_in_bytes"] if file.get("content_size_in_bytes") else \
        file["file_size_in_bytes"]


def _field_ids(schema: dict) -> list[int]:
    found = []

    def walk(kind):
        if not isinstance(kind, dict):
            return
        for field in kind.get("fields", []):
            found.append(field["id"])
            walk(field["type"])
        for key in ("element", "key", "value"):
            if f"{key}-id" in kind:
                found.append(kind[f"{key}-id"])
                walk(kind[key])
    walk(schema)
    return found


def _avro_name(name: str) -> str:
    """Iceberg's escape of names that Avro does not take."""
    kept = "".join(c if c.isalnum() and c.isascii() or c == "_" else f"_x{ord(c):X}" for c in name)
    return "_" + kept if kept[:1].isdigit() else kept
