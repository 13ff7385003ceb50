# SPDX-License-Identifier: Apache-2.0
"""What clients cannot do, and what the server hides on purpose: each with its reason.

Nothing is left out of a comparison unless it stands here.
"""
from __future__ import annotations

import dataclasses
import typing

from .canon import Rows

# DuckLake types that no common Iceberg reader reads rightly: the server hides such columns.
HIDDEN_TYPES = {
    "interval": "Parquet INTERVAL: Iceberg Java refuses the file's column",
    "uint64": "Iceberg Java cannot read UINT64, and no Iceberg integer holds it",
    "time_ns": "Iceberg has no such type",
}
UINT32_LIMIT = 2**31  # Iceberg Java reads an unsigned 32 bit value from here on as a negative one


@dataclasses.dataclass(frozen=True)
class Table:
    """What a limit is decided on."""
    history: str
    name: str
    types: dict[str, str]  # top-level columns at the snapshot
    nested: frozenset[str]  # types of all columns, nested ones included


@dataclasses.dataclass(frozen=True)
class Limit:
    client: str
    applies: typing.Callable[[Table], bool]
    reason: str
    # None: the client cannot read the table at all. Otherwise both sides pass through it.
    soften: typing.Callable[[Rows], Rows] | None = None


def _null_collections_as_empty(rows: Rows) -> Rows:
    """NULL lists and maps inside a struct as empty ones."""
    import collections

    def value(item, inside: bool, empty):
        if item is None and inside:
            return empty
        return item

    def struct(item):
        if not (isinstance(item, tuple) and item and isinstance(item[0], tuple)):
            return item
        return tuple((n, value(v, n in names, ("empty",)) if v not in EMPTY else ("empty",))
                     for n, v in item)
    EMPTY = (("list", ()), ("map", frozenset()))
    names = {"l", "m"}
    bag: collections.Counter = collections.Counter()
    for row, times in rows.bag.items():
        bag[tuple(struct(v) for v in row)] += times
    return Rows(rows.columns, bag)


def _null_lists_of_structs_as_empty(rows: Rows) -> Rows:
    """NULL top-level lists and maps of structs as empty ones."""
    import collections

    bag: collections.Counter = collections.Counter()
    for row, times in rows.bag.items():
        bag[tuple(OF_STRUCTS.get(column) if value is None else value
                  for column, value in zip(rows.columns, row))] += times
    return Rows(rows.columns, bag)


# The histories' names for lists and maps of structs.
OF_STRUCTS = {"ls": ("list", ()), "deep": ("map", frozenset())}

LIMITS = [
    Limit("pyiceberg", lambda t: "variant" in t.nested,
          "PyIceberg 0.12 has no variant and refuses the whole file"),
    Limit("pyiceberg", lambda t: "geometry" in t.nested,
          "PyIceberg 0.12 takes a file's geometry for binary and refuses to promote it"),
    Limit("pyiceberg", lambda t: t.history == "types_nested_nulls",
          "PyIceberg 0.12 shows a NULL list or map inside a struct as empty",
          _null_collections_as_empty),
    Limit("pyiceberg", lambda t: t.history == "add_missing_and_extra",
          "PyIceberg 0.12 fails on a file without field ids that has a column no mapping names"),
    Limit("pyiceberg", lambda t: t.history == "types_inside_nested",
          "PyIceberg 0.12 fails on a list of UUIDs (Arrow: extension types in lists)"),
    Limit("spark", lambda t: bool({"time", "timetz"} & t.nested),
          "Spark has no type for times of day and refuses the table"),
    Limit("duckdb", lambda t: t.history == "names_schema_dots",
          "DuckDB iceberg 1.5.5 takes the dots of a one-level namespace for levels"),
    Limit("pyiceberg", lambda t: t.history in ("inl_nested_types", "types_nested"),
          "PyIceberg 0.12 builds lists and maps of structs anew without their validity: NULL becomes empty",
          _null_lists_of_structs_as_empty),
]


def of(client: str, table: Table) -> list[Limit]:
    return [limit for limit in LIMITS if limit.client == client and limit.applies(table)]


def must_hide(types: dict[str, str], uint32_too_large: set[str]) -> set[str]:
    return {c for c, t in types.items() if t in HIDDEN_TYPES} | (
        uint32_too_large & {c for c, t in types.items() if t == "uint32"})


def too_large(rows: Rows) -> set[str]:
    """Columns with an unsigned 32 bit integer that Iceberg Java would show as a negative one."""
    return {column for place, column in enumerate(rows.columns)
            if any(isinstance(row[place], int) and row[place] >= UINT32_LIMIT for row in rows.bag)}


# DuckLake widens these in place, Iceberg does not: the column may be hidden or the load refused,
# as long as nothing is shown wrongly.
# Added files that Iceberg readers cannot be shown as they are (field ids that contradict the names,
# a column in the path only) make the server refuse the table, with the reason.
MAY_HIDE_HISTORIES = {"evo_types_without_promotion", "add_contradicting_field_ids",
                      "add_hive_partitions"}
