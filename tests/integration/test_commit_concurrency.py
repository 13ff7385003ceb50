# SPDX-License-Identifier: Apache-2.0
"""Many writers at once, half of them DuckDB, half PyIceberg: nothing lost, doubled or resurrected.

Case A-45. Every writer keeps a book of what was acknowledged to it; the table must equal the books.
"""
import collections
import random
import re
import threading
import time

import pyarrow as pa
import pytest
from lib.clients import PyIceberg
from lib.differential import readers
from lib.server import Server
from lib.soak import SOAK, size
from lib.watch import main_ids
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

SECONDS = size(15, 60)
WRITERS = size(8, 32)
SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "word", StringType()))
# What DuckLake tells a transaction that met another one's change of the same rows: its rules refuse
# it, alone among DuckDB writers as well (it names the count of retries then, too). All else that ends
# with no retry left is starvation.
CONFLICT = re.compile(r"Transaction conflict - attempting to \w+")


class Book:
    """One writer. Ids are its own, each is inserted once and deleted at most once."""

    # Nobody owes a writer success whose every try rests on a snapshot that others have moved on from
    # before it is sent; whoever waits for the lock on the next snapshot has a right to its turn.
    may_give_up = False

    def __init__(self, server, number: int, space: str, tables: list[str], until: float):
        self.server = server
        self.space = space
        self.tables = tables
        self.until = until
        self.dice = random.Random(number)
        self.next_id = number * 1_000_000
        self.live: dict[str, set[int]] = {t: set() for t in tables}
        self.done: collections.Counter = collections.Counter()
        self.refusals: collections.Counter = collections.Counter()
        self.faults: list[str] = []
        self.has_given_up = False
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.open()
            # On a busy machine a writer may not come far: a few changes are made in any case.
            while not self.faults and not self.has_given_up and (
                    time.monotonic() < self.until or self.done.total() < 3):
                self._step()
        except Exception as error:  # a fault of the test itself is one of the run, too
            self.faults.append(f"{type(error).__name__}: {error}")
        finally:
            self.close()

    def _step(self) -> None:
        table = self.dice.choice(self.tables)
        if self.done.total() % 3 == 1:
            table = next((t for t in self.tables if self.live[t]), table)
        mine = self.live[table]
        deletes = bool(mine) and (self.done.total() % 3 == 1 or self.dice.random() < 0.1)
        if deletes:
            ids = self.dice.sample(sorted(mine), min(len(mine), self.dice.randint(1, 3)))
        else:
            count = self.dice.choice([1, 3, 20])
            ids = list(range(self.next_id, self.next_id + count))
            self.next_id += count
        while True:
            try:
                self.delete(table, ids) if deletes else self.insert(table, ids)
            except Exception as error:
                if not self.may_try_again(error):
                    text = str(error)
                    self.faults.append(f"{type(error).__name__}: {text[:200]} … {text[-500:]}")
                    return
                self.refusals[type(error).__name__] += 1
                if time.monotonic() > self.until + 120:
                    # Each try was refused: nothing of the change may be found.
                    self.has_given_up = True
                    if not self.may_give_up:
                        self.faults.append(f"no success within two minutes: {str(error)[:400]}")
                    return
                continue
            break
        mine.difference_update(ids) if deletes else mine.update(ids)
        self.done["delete" if deletes else "insert"] += 1

    def close(self) -> None:
        pass


class ByDuckDB(Book):
    def open(self) -> None:
        self.connection = self.server.lake.duckdb()

    def close(self) -> None:
        self.connection.close()

    def insert(self, table, ids) -> None:
        rows = ", ".join(f"({i}, 'duck')" for i in ids)
        self.connection.execute(f"INSERT INTO lake.{self.space}.{table} VALUES {rows}")

    def delete(self, table, ids) -> None:
        self.connection.execute(f"DELETE FROM lake.{self.space}.{table} WHERE id IN "
                                f"({', '.join(map(str, ids))})")

    def may_try_again(self, error) -> bool:
        return bool(CONFLICT.search(str(error)))


class ByPyIceberg(Book):
    may_give_up = True

    def open(self) -> None:
        self.catalog = PyIceberg(self.server).catalog

    def insert(self, table, ids) -> None:
        self.catalog.load_table((self.space, table)).append(pa.table(
            {"id": pa.array(ids, pa.int64()), "word": ["ice"] * len(ids)}))

    def delete(self, table, ids) -> None:
        self.catalog.load_table((self.space, table)).delete(
            " or ".join(f"id = {i}" for i in ids))

    def may_try_again(self, error) -> bool:
        # The latter is PyIceberg's own: before it sends a delete again it looks what was changed.
        return isinstance(error, CommitFailedException | ValidationException)


def run(servers: list, space: str, tables: list[str], kinds: tuple, seconds: float) -> list[Book]:
    """Half of the whole number of writers for each of one or two kinds, on the servers in turn."""
    until = time.monotonic() + seconds
    books = [kinds[n % len(kinds)](servers[n // 2 % len(servers)], n + 1, space, tables, until)
             for n in range(WRITERS // 2 * len(kinds))]
    for book in books:
        book.thread.start()
    for book in books:
        book.thread.join()
    return books


@pytest.fixture
def servers(fresh_server, request):
    """So many processes on one lake."""
    others = [Server(fresh_server.lake).start() for _ in range(request.param - 1)]
    yield [fresh_server, *others]
    for other in others:
        assert other.stop() == 0


@pytest.mark.parametrize(("count", "servers"), [(1, 1), (8, 1), (2, 2)], indirect=["servers"],
                         ids=["one table", "eight tables", "two processes"])
def test_no_row_is_lost_doubled_or_resurrected(servers, count):
    server, space = servers[0], f"load{count}"
    server.lake.session().execute(f"CREATE SCHEMA lake.{space}")
    tables = [f"t{n}" for n in range(count)]
    catalog = PyIceberg(server).catalog
    for table in tables:
        catalog.create_table((space, table), SCHEMA)
    books = run(servers, space, tables, (ByPyIceberg, ByDuckDB), SECONDS)
    faults = [f"{type(b).__name__}: {f}" for b in books for f in b.faults]
    done = {k.__name__: sum((b.done for b in books if isinstance(b, k)), collections.Counter())
            for k in (ByDuckDB, ByPyIceberg)}
    refused = sum((b.refusals for b in books), collections.Counter())
    print(f"\n{count} tables: {done}; refused and made again: {dict(refused)}; "
          f"{sum(b.has_given_up for b in books)} writers gave a change up")
    assert not faults, f"{len(faults)}:\n" + "\n".join(faults[:5])
    assert all(kind["insert"] and kind["delete"] for kind in done.values()), done
    for table in tables:
        for each in servers:
            whole(each, space, table, sorted(i for b in books for i in b.live[table]))
    ids = [row[0] for row in server.lake.rows("SELECT snapshot_id FROM ducklake_snapshot ORDER BY 1")]
    assert ids == list(range(len(ids))), "a snapshot is missing"


@pytest.mark.skipif(not SOAK, reason="a figure about time: only the long run has the sizes for it")
def test_the_share_of_duckdb_beside_iceberg_writers(fresh_server):
    server = fresh_server
    catalog = PyIceberg(server).catalog
    server.lake.session().execute("CREATE SCHEMA lake.share")
    for table in ("alone", "beside"):
        catalog.create_table(("share", table), SCHEMA)
    alone = run([server], "share", ["alone"], (ByDuckDB,), SECONDS / 2)
    beside = run([server], "share", ["beside"], (ByPyIceberg, ByDuckDB), SECONDS)
    faults = [f for b in alone + beside for f in b.faults]
    assert not faults, faults[:5]
    rates = [sum(b.done.total() for b in books if isinstance(b, ByDuckDB)) / seconds
             for books, seconds in ((alone, SECONDS / 2), (beside, SECONDS))]
    print(f"\nDuckDB alone {rates[0]:.1f} changes/s, beside as many Iceberg writers {rates[1]:.1f} ({rates[1] / rates[0]:.2f})")


def whole(server, space: str, table: str, expected: list[int]) -> None:
    """The table holds exactly these ids, for all readers, with ids and a chain that are sound."""
    lake = server.lake
    duck = lake.duckdb()
    try:
        found = duck.execute(f"SELECT id, rowid FROM lake.{space}.{table} ORDER BY id").fetchall()
        assert [row[0] for row in found] == expected, difference(expected, found)
        assert len({row[1] for row in found}) == len(found), "a row id is given twice"
        assert duck.execute(f"SELECT count(*) FROM lake.{space}.{table}").fetchone()[0] == len(expected)
        metadata = server.load(space, table)["metadata"]
        main = main_ids(metadata)
        listed = [s["snapshot-id"] for s in metadata["snapshots"]]
        assert main == sorted(listed), "the chain of parents does not reach every snapshot"
        chosen = random.Random(1).sample(main, min(len(main), 6))
        clients = readers(server)
        for client in clients:
            rows = client.rows(client.load(space, table)) if isinstance(client, PyIceberg) else (
                client.rows(space, table))
            ids = sorted(row[0] for row in rows.bag.elements())
            assert ids == expected, f"{client.name}: {difference(expected, [(i,) for i in ids])}"
        for snapshot in chosen:
            then = duck.execute(f"SELECT id FROM lake.{space}.{table} AT (VERSION => {snapshot}) "
                                "ORDER BY id").fetchall()
            for client in clients:
                rows = client.rows(client.load(space, table), snapshot) if isinstance(
                    client, PyIceberg) else client.rows(space, table, snapshot)
                ids = sorted((row[0],) for row in rows.bag.elements())
                assert ids == then, f"{client.name} at {snapshot}"
    finally:
        duck.close()
    twice = lake.rows(
        "SELECT d.data_file_id, count(*) FROM ducklake_delete_file d JOIN ducklake_data_file f "
        "USING (data_file_id) WHERE d.end_snapshot IS NULL AND f.end_snapshot IS NULL "
        "GROUP BY 1 HAVING count(*) > 1")
    assert not twice, f"two live delete files of one data file: {twice}"


def difference(expected, found) -> str:
    found = [row[0] for row in found]
    twice = [i for i, n in collections.Counter(found).items() if n > 1]
    return (f"lost {sorted(set(expected) - set(found))[:10]}, resurrected or unknown "
            f"{sorted(set(found) - set(expected))[:10]}, doubled {twice[:10]}")
