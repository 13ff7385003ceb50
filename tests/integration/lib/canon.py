# SPDX-License-Identifier: Apache-2.0
"""Rows of any client as multisets of plain, hashable values.

Two Arrow tables that mean the same rows give equal multisets, whatever the client's choice of
Arrow type: 32 or 64 bit integers, string or large_string, unit of a timestamp, uuid as text or as
16 bytes, struct order by position. What stays apart: NULL and empty, NaN and NULL, 0.0 and -0.0.
"""
from __future__ import annotations

import collections
import dataclasses
import decimal
import math
import uuid

import pyarrow as pa

NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclasses.dataclass(frozen=True)
class Rows:
    """A multiset of rows over named columns."""
    columns: tuple[str, ...]
    bag: collections.Counter

    @property
    def count(self) -> int:
        return sum(self.bag.values())

    def only(self, columns) -> "Rows":
        """The same rows over fewer columns."""
        places = [self.columns.index(c) for c in columns]
        bag: collections.Counter = collections.Counter()
        for row, times in self.bag.items():
            bag[tuple(row[p] for p in places)] += times
        return Rows(tuple(columns), bag)

    def difference(self, other: "Rows", limit: int = 4) -> str:
        """Says how `other` differs from this one; empty when it does not."""
        if self.columns != other.columns:
            return f"columns {list(self.columns)} became {list(other.columns)}"
        lost, more = self.bag - other.bag, other.bag - self.bag
        if not lost and not more:
            return ""

        def some(bag):
            shown = [f"{row} x{n}" for row, n in list(bag.items())[:limit]]
            return "\n    ".join(s if len(s) < 600 else s[:600] + "…" for s in shown)
        return (f"{self.count} rows became {other.count}; columns {list(self.columns)}"
                f"\n  lost {sum(lost.values())}:\n    {some(lost)}"
                f"\n  unexpected {sum(more.values())}:\n    {some(more)}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that `kind` is cast to before Python sees it: dates and times as integers."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_date64(kind) or pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_plain(f.type)) for f in _fields(kind)])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain(kind.value_type))
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


def _fields(kind) -> list[pa.Field]:
    return [kind.field(i) for i in range(kind.num_fields)]


def _float(value: float):
    if math.isnan(value):
        return ("float", "nan")
    return ("float", value.hex())


def canonical(value, kind: pa.DataType):
    """One value, already cast by `_plain`, as a hashable one."""
    if value is None:
        return None
    if isinstance(value, bool):  # also in DuckDB's 8-bit booleans, an extension type over integers
        return ("bool", value)
    if isinstance(kind, pa.UuidType):
        return ("uuid", uuid.UUID(str(value)).hex)
    if isinstance(kind, pa.BaseExtensionType):
        return canonical(value, kind.storage_type)
    if pa.types.is_floating(kind):
        return _float(value)
    if pa.types.is_decimal(kind):
        return ("decimal", str(_scaled(value)))
    if pa.types.is_timestamp(kind):
        return ("timestamptz" if kind.tz else "timestamp", value * NANOS[kind.unit])
    if pa.types.is_time(kind):
        return ("time", value * NANOS[kind.unit])
    if pa.types.is_date(kind):
        return ("date", value if pa.types.is_date32(kind) else value // 86_400_000)
    if pa.types.is_struct(kind):
        return tuple((f.name, canonical(value[f.name], f.type)) for f in _fields(kind))
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return ("map", frozenset((canonical(k, kind.key_type), canonical(v, kind.item_type))
                                 for k, v in pairs))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ("list", tuple(canonical(v, kind.value_type) for v in value))
    if pa.types.is_boolean(kind):
        return ("bool", value)
    return value


def _scaled(value: decimal.Decimal) -> decimal.Decimal:
    with decimal.localcontext(prec=80):
        return value.normalize() if value else decimal.Decimal(0)


# What DuckLake's own reader shows in a form of its own, against what its Parquet holds.
def _as_ducklake_type(value, ducklake_type: str | None):
    if value is None or ducklake_type is None:
        return value
    if ducklake_type in ("int128", "uint128"):  # DOUBLE in Parquet
        return value if isinstance(value, tuple) and value[0] == "float" else _float(float(
            decimal.Decimal(value[1]) if isinstance(value, tuple) else value))
    if ducklake_type == "uuid":
        if isinstance(value, tuple):
            return value
        return ("uuid", value.hex() if isinstance(value, bytes) else uuid.UUID(value).hex)
    if ducklake_type == "timestamptz" and value[0] == "timestamp":
        return ("timestamptz", value[1])
    return value


def rows_of(table: pa.Table, types: dict[str, str] | None = None) -> Rows:
    """The rows of an Arrow table; `types` maps a column to its DuckLake type where known."""
    types = types or {}
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, plain = column.type, _plain(column.type)
        values = (column.cast(plain) if plain != kind else column)
        python = values.to_pylist(maps_as_pydicts=None)
        columns.append([_as_ducklake_type(canonical(v, kind), types.get(name)) for v in python])
    bag = collections.Counter(zip(*columns)) if columns else collections.Counter()
    return Rows(tuple(table.column_names), bag)
