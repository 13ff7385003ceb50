# SPDX-License-Identifier: Apache-2.0
"""Scripted DuckLake histories and the truth about them.

A history is a list of SQL steps that DuckDB runs on DuckLake in a schema of its own. After each
step the runner records, for every new DuckLake snapshot that touched data of one of the schema's
tables, the rows that DuckLake itself shows at that version *at that moment*. What DuckLake shows
later may differ (it rewrites history on flush and compaction); what Iceberg clients see may not.

In a step `$S` stands for the schema's name inside a string literal, `$Q` for the quoted schema
name and `$X` for a folder on the object store outside the lake's DATA_PATH.
"""
from __future__ import annotations

import dataclasses
import re

import duckdb

from .canon import Rows, rows_of
from .lakes import Lake, quoted

# Words of ducklake_snapshot_changes.changes_made that say "data files or rows of table N changed".
LOGICAL_WORDS = {"inserted_into_table", "deleted_from_table", "inlined_insert", "inlined_delete"}
MAINTENANCE_WORDS = {"inline_flush", "flushed_inlined", "merge_adjacent", "rewrite_delete",
                     "compacted_table"}
WORD = re.compile(r'([a-z_]+):((?:"(?:[^"]|"")*"|[^,"])*)')


@dataclasses.dataclass(frozen=True)
class Fails:
    """A step that DuckDB refuses with a message that matches `pattern`."""
    sql: str
    pattern: str


@dataclasses.dataclass(frozen=True)
class Expect:
    """An independent truth: `query` on DuckLake gives exactly these rows at this point.

    `ducklake_wrong`: DuckLake 1.5.5 is known to give something else here (the fault, in words).
    Iceberg clients are held to the truth, not to DuckLake.
    """
    query: str
    rows: list[tuple]
    ducklake_wrong: str = ""


@dataclasses.dataclass(frozen=True)
class History:
    """One script. `own_lake`: it expires or cleans up, which works on the whole lake.

    `faults`: what DuckLake 1.5.5 itself does wrong in this script, in words, keyed by
    "history-rewritten" (AT VERSION of an old snapshot changes its rows) or "head" (maintenance
    changes the current rows).
    """
    name: str
    steps: tuple
    own_lake: bool = False
    spark: bool = False
    inline: int | None = None  # DATA_INLINING_ROW_LIMIT of the writing session
    settings: tuple[str, ...] = ()
    schema: str | None = None
    faults: dict = dataclasses.field(default_factory=dict)


def history(name: str, *steps, **options) -> History:
    return History(name, tuple(steps), **options)


@dataclasses.dataclass(frozen=True)
class Change:
    """What one DuckLake snapshot did, by its own words."""
    snapshot_id: int
    words: tuple[tuple[str, str], ...]

    def touches(self, table_id: int) -> bool:
        return any(v == str(table_id) and w in LOGICAL_WORDS | MAINTENANCE_WORDS
                   for w, v in self.words)

    def table_ids(self) -> set[int]:
        return {int(v) for w, v in self.words if w in LOGICAL_WORDS | MAINTENANCE_WORDS}

    def is_maintenance_only(self, table_id: int) -> bool:
        mine = {w for w, v in self.words if v == str(table_id)}
        return bool(mine & MAINTENANCE_WORDS) and not mine & (
            LOGICAL_WORDS - {"deleted_from_table"})


def parse_words(changes_made: str | None) -> tuple[tuple[str, str], ...]:
    return tuple(WORD.findall(changes_made or ""))


def changes(lake: Lake, after: int = -1) -> list[Change]:
    return [Change(s, parse_words(w)) for s, w in lake.rows(
        "SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes "
        "JOIN ducklake_snapshot USING (snapshot_id) WHERE snapshot_id > %s ORDER BY 1", after)]


@dataclasses.dataclass
class Table:
    """A live or once live table of the history."""
    table_id: int
    names: dict[int, tuple[str, int | None]]  # begin_snapshot -> (name, end_snapshot)

    def name_at(self, snapshot: int) -> str | None:
        for begin, (name, end) in self.names.items():
            if begin <= snapshot and (end is None or snapshot < end):
                return name
        return None

    @property
    def live_name(self) -> str | None:
        return next((n for n, end in self.names.values() if end is None), None)


class Truth:
    """Reads what DuckLake shows, with a read-only DuckDB that the history does not disturb."""

    def __init__(self, lake: Lake, schema: str):
        self.lake = lake
        self.schema = schema
        self._connection = None

    def connection(self):
        if self._connection is None:
            self._connection = self.lake.session(READ_ONLY=True)
            self._connection.execute("SET TimeZone='UTC'; SET arrow_lossless_conversion=true")
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def tables(self) -> list[Table]:
        found: dict[int, Table] = {}
        for table_id, name, begin, end in self.lake.rows(
                "SELECT t.table_id, t.table_name, t.begin_snapshot, t.end_snapshot "
                "FROM ducklake_table t JOIN ducklake_schema s USING (schema_id) "
                "WHERE s.schema_name = %s ORDER BY t.table_id, t.begin_snapshot", self.schema):
            found.setdefault(table_id, Table(table_id, {})).names[begin] = (name, end)
        return list(found.values())

    def columns(self, table_id: int, snapshot: int) -> dict[str, str]:
        """Top-level columns at a snapshot in their order: name -> DuckLake type."""
        return dict(self.lake.rows(
            "SELECT column_name, column_type FROM ducklake_column WHERE table_id = %s AND "
            "parent_column IS NULL AND begin_snapshot <= %s AND "
            "(end_snapshot IS NULL OR end_snapshot > %s) ORDER BY column_order, column_id",
            table_id, snapshot, snapshot))

    def rows(self, table: Table, snapshot: int | None = None) -> Rows:
        """DuckLake's rows of the table at a snapshot; at the head without one."""
        at = self.lake.head() if snapshot is None else snapshot
        name = table.name_at(at)
        types = self.columns(table.table_id, at)
        chosen = ", ".join(_expression(quoted(c), t) for c, t in types.items())
        source = f"lake.{quoted(self.schema)}.{quoted(name)}"
        clause = "" if snapshot is None else f" AT (VERSION => {snapshot})"
        sql = f"SELECT {chosen} FROM {source}{clause}"
        try:
            return rows_of(self.connection().execute(sql).to_arrow_table(), types)
        except duckdb.Error:
            # A flush that drops an inlined table kills every other DuckDB 1.5.5 that has read it
            # ("Attempted to access index 0 within vector of size 0", and the whole instance is
            # invalid from then on), so only a new instance's word counts.
            self.close()
            self.lake.forget_session(READ_ONLY=True)
            return rows_of(self.connection().execute(sql).to_arrow_table(), types)


def _expression(column: str, ducklake_type: str) -> str:
    """A column as its Parquet form holds it, where DuckDB's own form has no Iceberg equal."""
    if ducklake_type in ("int128", "uint128"):
        return f"{column}::DOUBLE AS {column}"
    if ducklake_type in ("timetz", "time_tz"):
        return f"({column} AT TIME ZONE 'UTC')::TIME AS {column}"
    if ducklake_type == "variant":
        return f"{column}::JSON::VARCHAR AS {column}"
    return column


@dataclasses.dataclass
class Record:
    """What DuckLake showed when each snapshot was its newest."""
    rows: dict[tuple[int, int], Rows] = dataclasses.field(default_factory=dict)  # (table, snapshot)
    surprises: list[str] = dataclasses.field(default_factory=list)

    def of(self, table_id: int) -> dict[int, Rows]:
        return {s: r for (t, s), r in self.rows.items() if t == table_id}


class Run:
    """A history being run. `steps()` yields after each step, with the truth recorded."""

    def __init__(self, lake: Lake, script: History, schema: str | None = None):
        self.lake = lake
        self.script = script
        self.schema = schema or script.schema or f"h_{script.name}"
        self.truth = Truth(lake, self.schema)
        self.record = Record()
        options = {} if script.inline is None else {"DATA_INLINING_ROW_LIMIT": script.inline}
        self.writer = lake.session(**options)
        self.writer.execute("SET TimeZone='UTC'")
        self.writer.execute(f"CREATE SCHEMA lake.{quoted(self.schema)}")
        self.writer.execute(f"USE lake.{quoted(self.schema)}")
        for setting in script.settings:
            self.writer.execute(setting)
        self._seen = lake.head()

    def steps(self):
        for number, step in enumerate(self.script.steps):
            self._one(number, step)
            yield number, step

    def finish(self) -> "Run":
        for _ in self.steps():
            pass
        return self

    def close(self) -> None:
        self.truth.close()
        self.writer.close()

    def _text(self, sql: str) -> str:
        return (sql.replace("$Q", quoted(self.schema)).replace("$S", self.schema.replace("'", "''"))
                .replace("$X", self.lake.external(self.schema)))

    def _one(self, number: int, step) -> None:
        if isinstance(step, Expect):
            found = sorted(self.writer.execute(self._text(step.query)).fetchall(), key=repr)
            right = found == sorted(step.rows, key=repr)
            if right == bool(step.ducklake_wrong):
                self.record.surprises.append(
                    f"step {number}: {step.query} gives {found}; expected {step.rows}; "
                    f"known fault: {step.ducklake_wrong or 'none'}")
            return
        if isinstance(step, Fails):
            try:
                self.writer.execute(self._text(step.sql))
            except Exception as error:  # DuckDB's classes differ by cause; the text is the point
                if not re.search(step.pattern, str(error)):
                    self.record.surprises.append(f"step {number}: {step.sql}: {error}")
                self._abort()
                return
            self.record.surprises.append(f"step {number} did not fail: {step.sql}")
            return
        before = self.heads()
        try:
            self.writer.execute(self._text(step))
        except Exception as error:
            raise AssertionError(f"{self.script.name}, step {number}: {step}\n{error}") from error
        self._record(number, before)

    def _abort(self) -> None:
        try:
            self.writer.execute("ROLLBACK")
        except Exception:  # there was no transaction to end
            pass

    def heads(self) -> dict[int, Rows]:
        """The rows last recorded for each table."""
        newest: dict[int, tuple[int, Rows]] = {}
        for (table_id, snapshot), rows in self.record.rows.items():
            if table_id not in newest or snapshot > newest[table_id][0]:
                newest[table_id] = (snapshot, rows)
        return {t: rows for t, (_, rows) in newest.items()}

    def _record(self, number: int, before: dict[int, Rows]) -> None:
        news = changes(self.lake, self._seen)
        if not news:
            return
        self._seen = news[-1].snapshot_id
        tables = {t.table_id: t for t in self.truth.tables()}
        for change in news:
            for table_id in sorted(change.table_ids() & tables.keys()):
                table = tables[table_id]
                if table.name_at(change.snapshot_id) is None:
                    continue
                rows = self.truth.rows(table, change.snapshot_id)
                if change.is_maintenance_only(table_id) and table_id in before:
                    difference = before[table_id].difference(rows)
                    if difference and before[table_id].columns == rows.columns:
                        self.record.surprises.append(
                            f"step {number}: maintenance changed the rows: {difference}")
                self.record.rows[table_id, change.snapshot_id] = rows
        head = self.lake.head()
        touched = set().union(*(change.table_ids() for change in news))
        for table in tables.values():
            if table.live_name is None or table.table_id not in touched:
                continue
            at, now = self.truth.rows(table, head), self.truth.rows(table)
            difference = at.difference(now)
            if difference:
                self.record.surprises.append(
                    f"step {number}: AT (VERSION => {head}) and no version differ: {difference}")
