#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our Avro and Puffin files with independent implementations, both ways.

    check_avro.py <avro_files>     the program built from avro_files.cc

fastavro and PyIceberg decode the manifests, manifest lists and deletion vectors that we write; values must
be equal. What fastavro (with every codec) and PyIceberg (versions 1 and 2) write, we decode; values must be
equal. Deletion vectors must be byte for byte those of pyroaring. Needs pyiceberg[pyarrow], fastavro and
pyroaring; for all codecs of fastavro also cramjam and backports.zstd.
"""
from __future__ import annotations

import ctypes
import datetime
import decimal
import json
import re
import struct
import subprocess
import sys
import tempfile
import uuid
import zlib
from pathlib import Path

import fastavro
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list, write_manifest, write_manifest_list
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType
from pyroaring import BitMap

CODECS = ("null", "deflate", "zstandard", "snappy")
MAPS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
EPOCH = datetime.datetime(1970, 1, 1)
checks = 0


def equal(what: str, ours, theirs) -> None:
    global checks
    checks += 1
    if ours != theirs:
        raise SystemExit(f"{what}: expected {ours!r}, found {theirs!r}")


def micros(value: datetime.datetime) -> int:
    return (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)


def single_value(type_text: str, value) -> str | None:
    """Iceberg's binary form of a value as fastavro or PyIceberg gives it, in hexadecimal."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        value = micros(value)
    elif isinstance(value, datetime.date):
        value = (value - EPOCH.date()).days
    elif isinstance(value, datetime.time):
        value = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if type_text == "boolean":
        return b"\x01".hex() if value else b"\x00".hex()
    if type_text in ("int", "date"):
        return struct.pack("<i", value).hex()
    if type_text in ("long", "time") or type_text.startswith("timestamp"):
        return struct.pack("<q", value).hex()
    if type_text == "float":
        return struct.pack("<f", value).hex()
    if type_text == "double":
        return struct.pack("<d", value).hex()
    if type_text.startswith("decimal"):
        with decimal.localcontext(decimal.Context(prec=60)):
            scale = int(type_text.rstrip(")").split(",")[1])
            unscaled = int(value.scaleb(scale))
        size = max(1, (unscaled + (unscaled < 0)).bit_length() // 8 + 1)
        return unscaled.to_bytes(size, "big", signed=True).hex()
    if type_text == "uuid":
        return (value.bytes if isinstance(value, uuid.UUID) else bytes(value)).hex()
    if type_text == "string":
        return value.encode().hex()
    return bytes(value).hex()


def hexed(value) -> str | None:
    return None if value is None else bytes(value).hex()


def plain_map(value, is_binary: bool) -> dict:
    """A metrics map as {id text: number or hexadecimal}."""
    pairs = value.items() if hasattr(value, "items") else [(i["key"], i["value"]) for i in value or []]
    return {str(k): bytes(v).hex() if is_binary else v for k, v in pairs}


def entry_of(get, file, partition: list, columns: list) -> dict:
    """One manifest entry in the form of expected.json; `get` reads the entry, `file` its data file."""
    result = {name: get(name) for name in ("status", "snapshot_id", "sequence_number", "file_sequence_number")}
    for name in ("content", "file_path", "file_format", "record_count", "file_size_in_bytes", "sort_order_id",
                 "first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes"):
        result[name] = file(name)
    result["partition"] = [single_value(c["type"], v) for c, v in zip(columns, partition, strict=True)]
    for name in MAPS:
        result[name] = plain_map(file(name), name.endswith("bounds"))
    result["key_metadata"] = hexed(file("key_metadata"))
    for name in ("split_offsets", "equality_ids"):
        result[name] = list(file(name) or [])
    return result


def avro_name(name: str) -> str:
    units = lambda c: [f"_x{u:X}" for u in struct.unpack(f"<{len(c.encode('utf-16-le')) // 2}H", c.encode("utf-16-le"))]
    out = "".join(c if re.match(r"[A-Za-z0-9_]", c) else "".join(units(c)) for c in name)
    return "_" + out if out[0].isdigit() else out


def check_field_ids(schema: dict, columns: list) -> None:
    file_schema = next(f for f in schema["fields"] if f["field-id"] == 2)["type"]
    partition = next(f for f in file_schema["fields"] if f["field-id"] == 102)["type"]
    equal("partition record", "r102", partition["name"])
    equal("partition ids", [c["id"] for c in columns], [f["field-id"] for f in partition["fields"]])
    equal("partition names", [avro_name(c["name"]) for c in columns], [f["name"] for f in partition["fields"]])


def check_with_fastavro(folder: Path, expected: dict) -> None:
    with (folder / expected["file"]).open("rb") as stream:
        reader = fastavro.reader(stream)
        records = list(reader)
    if expected["kind"] == "list":
        found = []
        for record in records:
            record = dict(record, key_metadata=hexed(record["key_metadata"]))
            record.setdefault("first_row_id", None)
            record["partitions"] = [dict(p, lower_bound=hexed(p["lower_bound"]), upper_bound=hexed(p["upper_bound"]))
                                    for p in record["partitions"]]
            found.append(record)
        equal(f"fastavro {expected['file']}", expected["manifests"], found)
        return
    columns = expected["columns"]
    metadata = reader.metadata
    equal("content", ("data", "deletes")[expected["content"]], metadata["content"])
    equal("format-version", str(expected["format_version"]), metadata["format-version"])
    equal("partition-spec-id", str(expected["spec_id"]), metadata["partition-spec-id"])
    equal("schema-id", str(expected["schema_id"]), metadata["schema-id"])
    fields = json.loads(metadata["partition-spec"])
    equal("partition-spec", [(c["id"], c["name"]) for c in columns], [(f["field-id"], f["name"]) for f in fields])
    equal("schema", expected["schema_id"], json.loads(metadata["schema"])["schema-id"])
    check_field_ids(json.loads(metadata["avro.schema"]), columns)
    found = []
    for record in records:
        file = record["data_file"]
        found.append(entry_of(record.get, file.get, list(file["partition"].values()), columns))
    equal(f"fastavro {expected['file']}", expected["entries"], found)


def inherited(entry: dict, manifest: dict) -> dict:
    """What a reader makes of an entry that leaves its snapshot and sequence numbers out."""
    entry = dict(entry)
    if entry["snapshot_id"] is None:
        entry["snapshot_id"] = manifest["added_snapshot_id"]
    for name in ("sequence_number", "file_sequence_number"):
        if entry[name] is None:
            entry[name] = manifest["sequence_number"]
    return entry


def as_pyiceberg_reads(value: str | None) -> str | None:
    """PyIceberg 0.12's compiled decoder passes doubles through a C float."""
    if value is None:
        return None
    number = struct.unpack("<d", bytes.fromhex(value))[0]
    return struct.pack("<d", ctypes.c_float(number).value).hex()


def check_with_pyiceberg(folder: Path, expected_list: dict, manifests: dict) -> None:
    io = PyArrowFileIO()
    listed = list(read_manifest_list(io.new_input(str(folder / expected_list["file"]))))
    equal("manifests", len(expected_list["manifests"]), len(listed))
    for ours, theirs in zip(expected_list["manifests"], listed, strict=True):
        for name in ("manifest_path", "manifest_length", "partition_spec_id", "content", "sequence_number",
                     "min_sequence_number", "added_snapshot_id", "added_files_count", "existing_files_count",
                     "deleted_files_count", "added_rows_count", "existing_rows_count", "deleted_rows_count"):
            equal(f"PyIceberg {name}", ours[name], getattr(theirs, name))
        for mine, summary in zip(ours["partitions"], theirs.partitions or [], strict=True):
            equal("summary", mine, {"contains_null": summary.contains_null, "contains_nan": summary.contains_nan,
                                    "lower_bound": hexed(summary.lower_bound), "upper_bound": hexed(summary.upper_bound)})
        expected = manifests[Path(ours["manifest_path"]).name]
        try:
            entries = theirs.fetch_manifest_entry(io, discard_deleted=False)
        except ValueError as error:
            # PyIceberg 0.12 does not know the nanosecond types in Avro; fastavro has checked these files.
            if "timestamp-nanos" in str(error) and any("_ns" in c["type"] for c in expected["columns"]):
                continue
            raise
        found = []
        for entry in entries:
            file = entry.data_file
            get = lambda name, file=file: getattr(file, name, None)
            record = entry_of(lambda name, entry=entry: getattr(entry, name), get, list(file.partition), expected["columns"])
            # PyIceberg reads manifests by the schema of version 2.
            for name in ("first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes"):
                record.pop(name)
            found.append(record)
        wanted = [inherited(e, ours) for e in expected["entries"]]
        for entry in wanted:
            entry["partition"] = [as_pyiceberg_reads(v) if c["type"] == "double" else v
                                  for c, v in zip(expected["columns"], entry["partition"], strict=True)]
            for name in ("first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes"):
                entry.pop(name)
        equal(f"PyIceberg {expected['file']}", wanted, found)


def check_vectors(folder: Path, expected: dict) -> None:
    content = (folder / expected["file"]).read_bytes()
    puffin = PuffinFile(content)
    equal("created-by", "duckicelake", puffin.footer.properties["created-by"])
    equal("blobs", len(expected["vectors"]), len(puffin.footer.blobs))
    vectors = {v.referenced_data_file: v for v in deletion_vectors_from_puffin_file(puffin)}
    for ours, blob in zip(expected["vectors"], puffin.footer.blobs, strict=True):
        equal("place", (ours["offset"], ours["length"]), (blob.offset, blob.length))
        equal("blob", ("deletion-vector-v1", [], -1, -1, None),
              (blob.type, blob.fields, blob.snapshot_id, blob.sequence_number, blob.compression_codec))
        equal("properties", {"referenced-data-file": ours["path"], "cardinality": str(ours["cardinality"])},
              blob.properties)
        if ours["positions"]:  # PyIceberg 0.12 cannot list the positions of an empty vector
            equal(f"PyIceberg positions of {ours['path']}", ours["positions"],
                  vectors[ours["path"]].to_vector().to_pylist())
        by_key: dict[int, BitMap] = {}
        for position in ours["positions"]:
            by_key.setdefault(position >> 32, BitMap()).add(position & 0xFFFFFFFF)
        body = b"\xd1\xd3\x39\x64" + struct.pack("<Q", len(by_key))
        for key, bitmap in sorted(by_key.items()):
            bitmap.run_optimize()
            body += struct.pack("<I", key) + bitmap.serialize()
        framed = struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
        equal(f"bytes of {ours['path']}", framed.hex(), content[blob.offset : blob.offset + blob.length].hex())


def dump(program: str, paths: list[Path]) -> list[dict]:
    result = subprocess.run([program, "dump", *map(str, paths)], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def without_place(document: dict) -> dict:
    return {k: v for k, v in document.items() if k != "file"}


def check_reading_fastavro(program: str, folder: Path, documents: list[dict]) -> None:
    """Writes our files again with fastavro and every codec, and reads them with our decoder."""
    paths, wanted = [], []
    absent: set[str] = set()
    for document in documents:
        with (folder / document["file"]).open("rb") as stream:
            reader = fastavro.reader(stream)
            schema, metadata, records = reader.writer_schema, dict(reader.metadata), list(reader)
        metadata = {k: v for k, v in metadata.items() if not k.startswith("avro.")}
        for codec in CODECS:
            path = folder / f"{codec}-{document['file']}"
            try:
                with path.open("wb") as stream:
                    fastavro.writer(stream, schema, records, codec=codec, metadata=metadata, sync_interval=700)
            except ValueError as error:
                if "need to install" not in str(error):
                    raise
                absent.add(codec)
                continue
            paths.append(path)
            wanted.append(document)
    for path, ours, found in zip(paths, wanted, dump(program, paths), strict=True):
        equal(f"our reading of {path.name}", without_place(ours), without_place(found))
    if absent:
        print(f"not compared, for want of their Python packages: fastavro with {', '.join(sorted(absent))}")


def check_reading_pyiceberg(program: str, folder: Path) -> None:
    io = PyArrowFileIO()
    schema = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "part", StringType()),
                    NestedField(3, "n", IntegerType()), schema_id=4)
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"),
                         PartitionField(3, 1001, IdentityTransform(), "n"), spec_id=6)
    for version in (1, 2):
        for codec in ("null", "deflate", "zstandard"):
            path = str(folder / f"pyiceberg-{version}-{codec}.avro")
            with write_manifest(version, spec, schema, io.new_output(path), 42, codec) as writer:
                for part, n in (("a", 1), (None, None), ("ü", -5)):
                    writer.add(ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED, snapshot_id=42, sequence_number=None,
                        file_sequence_number=None,
                        data_file=DataFile.from_args(
                            content=DataFileContent.DATA, file_path=f"s3://b/{part}.parquet",
                            file_format=FileFormat.PARQUET, partition=Record(part, n), record_count=10,
                            file_size_in_bytes=100, column_sizes={1: 10}, value_counts={1: 10, 2: 10},
                            null_value_counts={2: 1}, nan_value_counts={}, lower_bounds={1: to_bytes(LongType(), -1)},
                            upper_bounds={1: to_bytes(LongType(), 9)}, split_offsets=[4], sort_order_id=None)))
            manifest = writer.to_manifest_file()
            list_path = str(folder / f"pyiceberg-list-{version}-{codec}.avro")
            with write_manifest_list(version, io.new_output(list_path), 42, None, 3, codec) as writer:
                writer.add_manifests([manifest])
            found, listed = dump(program, [Path(path), Path(list_path)])
            equal("version", (version, 6, 4), (found["format_version"], found["spec_id"], found["schema_id"]))
            equal("partitions", [[b"a".hex(), "01000000"], [None, None], ["c3bc", "fbffffff"]],
                  [e["partition"] for e in found["entries"]])
            entry = found["entries"][0]
            equal("entry", (1, 42, "s3://b/a.parquet", 10, 100), (
                entry["status"], entry["snapshot_id"], entry["file_path"], entry["record_count"],
                entry["file_size_in_bytes"]))
            equal("maps", ({"1": 10}, {"1": 10, "2": 10}, {"2": 1}, {"1": "ff" * 8}), (
                entry["column_sizes"], entry["value_counts"], entry["null_value_counts"], entry["lower_bounds"]))
            item = listed["manifests"][0]
            equal("list", (path, 6, 42, 3, 30), (item["manifest_path"], item["partition_spec_id"],
                                                 item["added_snapshot_id"], item["added_files_count"],
                                                 item["added_rows_count"]))
            equal("list sequence number", 3 if version == 2 else 0, item["sequence_number"])
            bounds = item["partitions"][1]
            equal("list bounds", (-5, 1), tuple(from_bytes(IntegerType(), bytes.fromhex(bounds[b]))
                                                for b in ("lower_bound", "upper_bound")))


def main() -> None:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([program, "write", name], check=True)
        documents = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        avro = [d for d in documents if d["kind"] != "puffin"]
        manifests = {d["file"]: d for d in documents if d["kind"] == "manifest"}
        for document in avro:
            check_with_fastavro(folder, document)
        for document in documents:
            if document["kind"] == "list":
                check_with_pyiceberg(folder, document, manifests)
            elif document["kind"] == "puffin":
                check_vectors(folder, document)
        check_reading_fastavro(program, folder, avro)
        check_reading_pyiceberg(program, folder)
    print(f"{checks} comparisons with fastavro, PyIceberg and pyroaring: all equal")


if __name__ == "__main__":
    main()
