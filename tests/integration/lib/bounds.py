# SPDX-License-Identifier: Apache-2.0
"""Counts, bounds and partition values of a data file against the rows that it holds."""
from __future__ import annotations

import decimal
import math
import struct
import uuid

import pyarrow as pa
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform

from .canon import NANOS


def decode(kind: str, raw: bytes):
    """Iceberg's single-value binary form (specification, Appendix D) as an ordered Python value."""
    if kind == "boolean":
        return raw != b"\x00"
    if kind in ("int", "date"):
        return struct.unpack("<i", raw)[0]
    if kind in ("long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"):
        return struct.unpack("<q" if len(raw) == 8 else "<i", raw)[0]
    if kind == "float":
        return struct.unpack("<f", raw)[0]
    if kind == "double":
        return struct.unpack("<d" if len(raw) == 8 else "<f", raw)[0]
    if kind == "string":
        return raw.decode("utf-8").encode("utf-8")
    if kind == "uuid":
        return uuid.UUID(bytes=raw).bytes
    if kind.startswith("decimal"):
        value = int.from_bytes(raw, "big", signed=True)
        shortest = max(1, (value if value >= 0 else ~value).bit_length() // 8 + 1)
        if len(raw) != shortest:
            raise ValueError(f"{len(raw)} bytes for the unscaled value {value}")
        return value
    return bytes(raw)


def ordered(kind: str, column: pa.ChunkedArray) -> list:
    """The column's values, NULL as None, in the form that `decode` gives for the Iceberg type."""
    source = column.type
    if isinstance(source, pa.BaseExtensionType):
        column = pa.chunked_array([c.storage for c in column.chunks], source.storage_type)
        source = source.storage_type
    if pa.types.is_timestamp(source):
        unit, target = NANOS[source.unit], 1 if kind.endswith("_ns") else 1000
        return [None if v is None else v * unit // target
                for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(source):
        unit = NANOS[source.unit]
        return [None if v is None else v * unit // 1000
                for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(source):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_decimal(source):
        with decimal.localcontext(prec=80):
            return [None if v is None else int(v.scaleb(source.scale)) for v in column.to_pylist()]
    values = column.to_pylist()
    if kind == "string":
        return [None if v is None else v.encode("utf-8", "surrogatepass") for v in values]
    if kind == "uuid":
        return [None if v is None else (v if isinstance(v, bytes) else uuid.UUID(str(v)).bytes)
                for v in values]
    return values


def leaves(schema: dict, table: pa.Table):
    """(field id, name, Iceberg type, column) of top-level primitive columns that the file holds."""
    by_id = {}
    for place, field in enumerate(table.schema):
        number = (field.metadata or {}).get(b"PARQUET:field_id")
        if number is not None:
            by_id[int(number)] = table.column(place)
    named = {f.name: table.column(n) for n, f in enumerate(table.schema)} if not by_id else {}
    for field in schema["fields"]:
        if isinstance(field["type"], str):
            column = by_id.get(field["id"], named.get(field["name"]))
            if column is not None:
                yield field["id"], field["name"], field["type"], column


def _map(pairs) -> dict:
    return {} if pairs is None else {p["key"]: p["value"] for p in pairs} \
        if isinstance(pairs, list) else dict(pairs)


def check_data_file(metadata: dict, spec_id: int, file: dict, table: pa.Table) -> list[str]:
    problems = []
    schema = next(s for s in metadata["schemas"] if s["schema-id"] == metadata["current-schema-id"])
    values, nulls, nans = (_map(file.get(k)) for k in (
        "value_counts", "null_value_counts", "nan_value_counts"))
    lowers, uppers = _map(file.get("lower_bounds")), _map(file.get("upper_bounds"))
    columns = {}
    for number, name, kind, column in leaves(schema, table):
        found = ordered(kind, column)
        columns[number] = (kind, found)
        empty = sum(v is None for v in found)
        if number in values and values[number] != len(found):
            problems.append(f"{name}: value count {values[number]} of {len(found)}")
        if number in nulls and nulls[number] != empty:
            problems.append(f"{name}: null count {nulls[number]} of {empty}")
        if (number in values) != (number in nulls):
            problems.append(f"{name}: only one of value and null count is given")
        not_numbers = sum(isinstance(v, float) and math.isnan(v) for v in found)
        if number in nans and nans[number] != not_numbers:
            problems.append(f"{name}: NaN count {nans[number]} of {not_numbers}")
        real = [v for v in found if v is not None and not (isinstance(v, float) and math.isnan(v))]
        try:
            if number in lowers and real and not decode(kind, lowers[number]) <= min(real):
                problems.append(f"{name}: lower bound {lowers[number]!r} above {min(real)!r}")
            if number in uppers and real and not decode(kind, uppers[number]) >= max(real):
                problems.append(f"{name}: upper bound {uppers[number]!r} below {max(real)!r}")
        except (ValueError, struct.error) as error:
            problems.append(f"{name} ({kind}): a bound is malformed: {error}")
    problems += partition_problems(metadata, spec_id, file, columns, table.num_rows)
    return problems


def partition_problems(metadata, spec_id, file, columns, rows: int) -> list[str]:
    """Every row of the file has the partition value that the file is listed with."""
    spec = next(s for s in metadata["partition-specs"] if s["spec-id"] == spec_id)
    problems = []
    if not spec["fields"]:
        return ["partition values under a spec without fields"] if file["partition"] else []
    schemas = [Schema.model_validate(s) for s in metadata["schemas"]]
    tuple_values = list(file["partition"].values())
    for place, raw in enumerate(spec["fields"]):
        field = PartitionField.model_validate(raw)
        if str(field.transform) == "void":
            if tuple_values[place] is not None:
                problems.append(f"void partition value {tuple_values[place]!r}")
            continue
        if field.source_id not in columns:
            continue  # not in the file (hive partitions) or nested
        schema = next((s for s in reversed(schemas) if field.source_id in s._lazy_id_to_field), None)
        kind = schema.find_type(field.source_id)
        transform = parse_transform(str(field.transform)).transform(kind)
        expected = {_partition_form(transform(_transform_input(kind, v)))
                    for v in columns[field.source_id][1]}
        if rows and expected != {_partition_form(_as_number(tuple_values[place]))}:
            problems.append(f"partition field {field.name}: listed {tuple_values[place]!r}, rows have "
                            f"{sorted(expected, key=repr)[:5]}")
    return problems


def _as_number(value):
    import datetime
    if isinstance(value, datetime.datetime):
        zero = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return (value - zero) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, decimal.Decimal):
        return ("decimal", value.normalize() if value else 0)
    return value


def _transform_input(kind, value):
    """The value as PyIceberg's transforms take it."""
    if value is None:
        return None
    name = str(kind)
    if name == "string":
        return value.decode("utf-8")
    if name.startswith("decimal"):
        return decimal.Decimal(value).scaleb(-kind.scale)
    if name == "uuid":
        return uuid.UUID(bytes=value)
    return value


def _partition_form(value):
    value = _as_number(value)
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value
