# SPDX-License-Identifier: Apache-2.0
"""Holds what Iceberg clients see against what DuckLake showed when each snapshot was new."""
from __future__ import annotations

import collections

from . import limits
from .canon import Rows
from .clients import DuckDBIceberg, PyIceberg
from .history import Run, Table, changes
from .server import Server, encoded


class Checker:
    """Compares one run of a history with the answers of one server.

    `problems` collects what is wrong; `served` remembers each snapshot that a client has been
    given, because from then on its rows may not change.
    """

    def __init__(self, server: Server, run: Run, clients: list):
        self.server = server
        self.run = run
        self.clients = clients
        self.served: set[tuple[int, int]] = set()
        self.problems: list[str] = []
        self.compared: collections.Counter = collections.Counter()
        self._metadata: dict[int, str] = {}

    def now(self) -> None:
        """After a step: the newest snapshot of each table that changed shows DuckLake's head."""
        for table in self._live():
            metadata = self._load(table)
            if metadata is None or self._metadata.get(table.table_id) == metadata["location"]:
                continue
            self._metadata[table.table_id] = metadata["location"]
            body = metadata["metadata"]
            self._chain(table, body)
            self._head(table, body)
            current = body.get("current-snapshot-id")
            if current not in (None, -1):
                self._snapshot(table, current)

    def all(self) -> None:
        """At the end: every listed snapshot of every live table, and nothing of dropped ones."""
        for table in self._live():
            loaded = self._load(table)
            if loaded is None:
                continue
            body = loaded["metadata"]
            self._chain(table, body)
            self._head(table, body)
            for snapshot in body.get("snapshots", []):
                self._snapshot(table, snapshot["snapshot-id"])
        names = {t.live_name for t in self.run.truth.tables()} - {None}
        for table in self.run.truth.tables():
            for name, _ in table.names.values():
                if name not in names and self._get(name).status_code != 404:
                    self.problems.append(f"{name!r} is gone but still answers")

    def _live(self) -> list[Table]:
        return [t for t in self.run.truth.tables() if t.live_name is not None]

    def _get(self, name: str):
        return self.server.get(
            f"/namespaces/{encoded(self.run.schema)}/tables/{encoded(name)}")

    def _load(self, table: Table) -> dict | None:
        answer = self._get(table.live_name)
        if answer.status_code == 200:
            body = answer.json()
            return {"location": body["metadata-location"], "metadata": body["metadata"]}
        types = self.run.truth.columns(table.table_id, self.run.lake.head())
        hidden = limits.must_hide(types, limits.too_large(self.run.truth.rows(table)))
        if answer.status_code < 500 or answer.status_code == 501:
            if hidden or self.run.script.name in limits.MAY_HIDE_HISTORIES:
                return None  # refused as a whole instead of hidden: allowed, and says why
        self.problems.append(f"load of {table.live_name!r}: {answer.status_code} {answer.text[:400]}")
        return None

    def _chain(self, table: Table, body: dict) -> None:
        """The listed snapshots are exactly the living ones that touched the table's data."""
        listed = [s["snapshot-id"] for s in body.get("snapshots", [])]
        alive = [c.snapshot_id for c in changes(self.run.lake) if c.touches(table.table_id)]
        current = body.get("current-snapshot-id")
        current = None if current == -1 else current
        missing = sorted(set(alive) - set(listed))
        # An expired snapshot may stay while it is the table's state, or while it was served and
        # its files are still there (then its rows are held against the truth below).
        extra = sorted(s for s in set(listed) - set(alive)
                       if s != current and (table.table_id, s) not in self.served)
        if missing or extra:
            self.problems.append(f"{table.live_name!r}: snapshots {listed}, DuckLake has {alive}")
        if listed and current != max(listed):
            self.problems.append(f"{table.live_name!r}: current {current} of {listed}")
        for snapshot in body.get("snapshots", []):
            if snapshot.get("sequence-number") != snapshot["snapshot-id"]:
                self.problems.append(f"{table.live_name!r}: sequence number of {snapshot}")
        self.served |= {(table.table_id, s) for s in listed}

    def _head(self, table: Table, body: dict) -> None:
        """The table as a client sees it now has DuckLake's present rows and columns."""
        truth = self.run.truth.rows(table)
        types = self.run.truth.columns(table.table_id, self.run.lake.head())
        for client in self.clients:
            self._compare(client, table, None, truth, types)

    def _snapshot(self, table: Table, snapshot: int) -> None:
        truth = self.run.record.rows.get((table.table_id, snapshot))
        if truth is None:
            self.problems.append(f"{table.live_name!r}: snapshot {snapshot} is no version that "
                                 "touched the table")
            return
        types = self.run.truth.columns(table.table_id, snapshot)
        for client in self.clients:
            self._compare(client, table, snapshot, truth, types)

    def _compare(self, client, table: Table, snapshot: int | None, truth: Rows,
                 types: dict[str, str]) -> None:
        facts = limits.Table(self.run.script.name, table.live_name, types,
                             frozenset(self._all_types(table.table_id)))
        found_limits = limits.of(client.name, facts)
        if any(limit.soften is None for limit in found_limits):
            self.compared[client.name, "limit"] += 1
            return
        what = f"{client.name}: {table.live_name!r} at {snapshot or 'head'}"
        try:
            rows = self._read(client, table.live_name, snapshot, types)
        except Exception as error:  # whatever the client raises is the finding
            self.problems.append(f"{what}: {type(error).__name__}: {str(error)[:500]}")
            return
        hidden = limits.must_hide(types, limits.too_large(truth))
        # A column that must be hidden at the head may still be shown where its values are small.
        may_hide = {c for c, t in types.items() if t == "uint32"}
        if self.run.script.name in limits.MAY_HIDE_HISTORIES:
            may_hide = set(truth.columns)
        visible = [c for c in truth.columns
                   if c not in hidden and (c in rows.columns or c not in may_hide)]
        expected = truth.only(visible)
        for limit in found_limits:
            expected, rows = limit.soften(expected), limit.soften(rows)
        difference = expected.difference(rows)
        if difference:
            self.problems.append(f"{what}: {difference}")
        self.compared[client.name, "equal" if not difference else "different"] += 1

    def _read(self, client, name: str, snapshot: int | None, types: dict[str, str]) -> Rows:
        if isinstance(client, PyIceberg):
            return client.rows(client.load(self.run.schema, name), snapshot, types)
        return client.rows(self.run.schema, name, snapshot, types)

    def _all_types(self, table_id: int) -> set[str]:
        return {row[0].partition("(")[0] for row in self.run.lake.rows(
            "SELECT DISTINCT column_type FROM ducklake_column WHERE table_id = %s", table_id)}


def readers(server: Server) -> list:
    return [PyIceberg(server), DuckDBIceberg(server)]
