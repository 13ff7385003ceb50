# SPDX-License-Identifier: Apache-2.0
"""Holds a table that clients write to one truth, after every step and for every reader.

The readers: a DuckDB made for the question, a DuckDB that was open before the first commit, PyIceberg
and DuckDB's iceberg extension. What each snapshot showed when it was new is kept and asked again.
"""
from __future__ import annotations

import contextlib

import duckdb
import pyarrow as pa

from .canon import Rows, rows_of
from .lakes import quoted
from .server import Server
from .validate import Objects, Validator


class Watch:
    """One table by name; `readers` are [PyIceberg, DuckDBIceberg] of the server.

    skip: readers by name ("pyiceberg", "duckdb") that cannot read the table, with a reason at the
    caller.
    """

    def __init__(self, server: Server, readers: list, schema: str, table: str, skip=()):
        self.server = server
        self.lake = server.lake
        self.readers = [r for r in readers if r.name not in skip]
        self.schema = schema
        self.table = table
        self.history: dict[int, Rows] = {}
        self.hidden: set[int] = set()  # snapshots that were removed on purpose
        self._open = self._duckdb()

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def name(self) -> str:
        return f"lake.{quoted(self.schema)}.{quoted(self.table)}"

    def _duckdb(self):
        connection = self.lake.duckdb()
        connection.execute("SET TimeZone='UTC'; SET arrow_lossless_conversion=true")
        return connection

    def types(self, snapshot: int | None = None) -> dict[str, str]:
        at = self.lake.head() if snapshot is None else snapshot
        return dict(self.lake.rows(
            "SELECT column_name, column_type FROM ducklake_column c JOIN ducklake_table t "
            "USING (table_id) JOIN ducklake_schema s USING (schema_id) "
            "WHERE schema_name = %s AND table_name = %s AND t.end_snapshot IS NULL AND "
            "parent_column IS NULL AND c.begin_snapshot <= %s AND "
            "(c.end_snapshot IS NULL OR c.end_snapshot > %s) ORDER BY column_order, column_id",
            self.schema, self.table, at, at))

    def _columns(self, snapshot: int) -> list[tuple]:
        """All columns at a snapshot, nested ones included."""
        return self.lake.rows(
            "SELECT c.* FROM ducklake_column c JOIN ducklake_table t USING (table_id) "
            "JOIN ducklake_schema s USING (schema_id) WHERE schema_name = %s AND table_name = %s "
            "AND t.end_snapshot IS NULL AND c.begin_snapshot <= %s AND "
            "(c.end_snapshot IS NULL OR c.end_snapshot > %s) ORDER BY column_id",
            self.schema, self.table, snapshot, snapshot)

    def truth(self, connection, snapshot: int | None = None) -> Rows:
        at = "" if snapshot is None else f" AT (VERSION => {snapshot})"
        types = self.types(snapshot)
        chosen = ", ".join(f"{quoted(c)}::JSON::VARCHAR AS {quoted(c)}" if t == "variant"
                           else quoted(c) for c, t in types.items())
        return rows_of(connection.execute(f"SELECT {chosen} FROM {self.name}{at}").to_arrow_table(),
                       types)

    def seen_by(self, reader, snapshot: int | None = None) -> Rows:
        types = self.types(snapshot)
        if reader.name == "pyiceberg":
            return reader.rows(reader.load(self.schema, self.table), snapshot, types)
        return reader.rows(self.schema, self.table, snapshot, types)

    def check(self, step: str, expected: pa.Table | None = None, depth: int = 1,
              aggregates: bool = False) -> Rows:
        """All readers agree now, and on the newest `depth` of the earlier snapshots.

        expected: the rows that the writer meant.
        """
        fresh = self._duckdb()
        try:
            truth = self.truth(fresh)
            if expected is not None:
                meant = rows_of(expected, self.types())
                assert not meant.difference(truth), f"{step}: DuckLake: {meant.difference(truth)}"
            self._same(step, "DuckDB that was open before", truth, self._seen_before(step))
            for reader in self.readers:
                self._same(step, reader.name, truth, self.seen_by(reader))
            self._snapshots(step, fresh, truth, depth)
            if aggregates:
                self.aggregates(step, fresh)
        finally:
            fresh.close()
        return truth

    def _seen_before(self, step: str) -> Rows:
        try:
            return self.truth(self._open)
        except duckdb.Error:
            # A flush that drops an inlined table kills every other DuckDB 1.5.5 that has read it,
            # without any server, too.
            if "flush" not in step:
                raise
            with contextlib.suppress(duckdb.Error):
                self._open.close()
            self._open = self._duckdb()
            return self.truth(self._open)

    def everything(self, step: str = "at the end") -> None:
        """All snapshots again, and what was written against the specification."""
        self.check(step, depth=10**6, aggregates=True)
        self.aggregates(step + ", open before", self._open)
        validator = Validator(Objects(self.lake.s3()))
        metadata = self.server.load(self.schema, self.table)["metadata"]
        # What is beside main is the client's own writing. A removed snapshot breaks the chain of
        # parents, not the log.
        main = {entry["snapshot-id"] for entry in metadata.get("snapshot-log", [])}
        metadata["snapshots"] = [s for s in metadata.get("snapshots", [])
                                 if s["snapshot-id"] in main]
        validator.table(metadata)
        # DuckDB's iceberg extension writes one of the two; both are optional.
        problems = [p for p in validator.problems if "only one of value and null count" not in p]
        assert not problems, f"{step}:\n" + "\n".join(problems[:15])

    def _snapshots(self, step: str, fresh, truth: Rows, depth: int) -> None:
        metadata = self.server.load(self.schema, self.table)["metadata"]
        main = main_ids(metadata)
        listed = {s["snapshot-id"] for s in metadata.get("snapshots", [])}
        gone = set(self.history) - listed - self.hidden
        assert not gone, f"{step}: snapshots {gone} are listed no more"
        for snapshot in main:
            if snapshot not in self.history:
                self.history[snapshot] = self.truth(fresh, snapshot)
        if main:
            if self._columns(main[-1]) == self._columns(self.lake.head()):
                self._same(step, f"DuckLake at {main[-1]}", truth, self.history[main[-1]])
        else:
            assert truth.count == 0, f"{step}: rows without a snapshot"
        # DuckLake's own word about the past is held to what it was, too.
        for snapshot in [s for s in main[:-1] if s in self.history][-depth:]:
            for reader in self.readers:
                self._same(step, f"{reader.name} at {snapshot}", self.history[snapshot],
                           self.seen_by(reader, snapshot))

    @staticmethod
    def _same(step: str, who: str, truth: Rows, found: Rows) -> None:
        difference = truth.difference(found)
        assert not difference, f"{step}: {who}: {difference}"

    def aggregates(self, step: str, connection) -> None:
        """min, max, count, order, filters and a join answer as on a full copy of the rows."""
        columns = [c for c, t in self.types().items() if _is_ordered(t)]
        connection.execute(f"CREATE OR REPLACE TEMP TABLE full_copy AS SELECT * FROM {self.name}")
        for question in questions(connection, columns):
            found = connection.execute(question.replace("$T", self.name)).fetchall()
            right = connection.execute(question.replace("$T", "full_copy")).fetchall()
            assert repr(found) == repr(right), f"{step}: {question}\n{found[:5]}\nnot {right[:5]}"


UNORDERED = ("struct", "list", "map", "variant", "geometry", "json")


def _is_ordered(kind: str) -> bool:
    return not kind.startswith(UNORDERED) and not kind.endswith("[]")


def questions(connection, columns: list[str]) -> list[str]:
    out = ["SELECT count(*) FROM $T"]
    for column in columns:
        c = quoted(column)
        low, high, kind, null = connection.execute(
            f"SELECT min({c})::VARCHAR, max({c})::VARCHAR, "
            f"(SELECT typeof({c}) FROM full_copy LIMIT 1), count(*) - count({c}) "
            "FROM full_copy").fetchone()
        out.append(f"SELECT min({c}), max({c}), count({c}) FROM $T")
        out.append(f"SELECT max({c}) FROM $T")
        out.append(f"SELECT {c} FROM $T ORDER BY {c} DESC NULLS LAST LIMIT 3")
        out.append(f"SELECT {c} FROM $T ORDER BY {c} NULLS LAST LIMIT 3")
        conditions = [f"{c} IS NULL", f"{c} IS NOT NULL"] if null else [f"{c} IS NULL"]
        for edge in {low, high} - {None} if kind not in (None, "BLOB") else ():
            value = "'" + edge.replace("'", "''") + f"'::{kind}"
            conditions += [f"{c} {op} {value}" for op in ("=", "<", "<=", ">", ">=", "<>")]
            conditions.append(f"{c} IN ({value})")
        out.append("SELECT " + ", ".join(f"(SELECT count(*) FROM $T WHERE {condition})"
                                         for condition in conditions))
        out.append(f"SELECT count(*) FROM $T a JOIN full_copy b ON a.{c} = b.{c}")
    return out


def main_ids(metadata: dict) -> list[int]:
    """The snapshots of main that are listed, oldest first."""
    by_id = {s["snapshot-id"]: s for s in metadata.get("snapshots", [])}
    at, found = metadata.get("current-snapshot-id"), []
    while at in by_id:
        found.insert(0, at)
        at = by_id[at].get("parent-snapshot-id")
    return found
