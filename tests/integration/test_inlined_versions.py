# SPDX-License-Identifier: Apache-2.0
"""Rows that DuckDB inlines into tables whose columns Iceberg clients change stay readable."""
import pytest
from lib.server import command
from lib.writes import Writer, path_of

COLUMNS = [(1, "id", "int"), (2, "word", "string"), (3, "f", "float"),
           (4, "s", {"type": "struct", "fields": [
               {"id": 5, "name": "a", "type": "int", "required": False}]})]


def schema(*columns, number: int = 0) -> dict:
    return {"type": "struct", "schema-id": number, "fields": [
        {"id": id, "name": name, "type": kind, "required": False} for id, name, kind in columns]}


class Table:
    """A table that is made and changed over REST and written by DuckDB's small inserts."""

    def __init__(self, server, space: str):
        self.lake, self.writer, self.space = server.lake, Writer(server), space
        assert self.writer.create_namespace(space).status_code == 200
        made = self.writer.post(path_of(space) + "/tables",
                                {"name": "t", "schema": schema(*COLUMNS)})
        assert made.status_code == 200, made.text
        self.id = self.lake.rows("SELECT table_id FROM ducklake_table WHERE table_uuid = %s",
                                 made.json()["metadata"]["table-uuid"])[0][0]
        self.changes = 0
        self.seen = {}

    def change(self, *columns) -> None:
        self.changes += 1
        done = self.writer.post(f"{path_of(self.space)}/tables/t", {"updates": [
            {"action": "add-schema", "schema": schema(*columns, number=self.changes)},
            {"action": "set-current-schema", "schema-id": -1}]})
        assert done.status_code == 200, done.text

    def insert(self, sql: str) -> None:
        self.lake.session().execute(f"INSERT INTO lake.{self.space}.t " + sql)
        self.seen[self.lake.head()] = self.rows()

    def rows(self, version: int | None = None) -> list:
        at = "" if version is None else f" AT (VERSION => {version})"
        with self.lake.duckdb() as duck:
            return duck.execute(f"SELECT * FROM lake.{self.space}.t{at} ORDER BY id").fetchall()

    def every_version_is_as_it_was(self) -> None:
        assert {version: self.rows(version) for version in self.seen} == self.seen


def test_columns_change_before_and_after_the_first_small_insert(server):
    table = Table(server, "iv1")
    table.change((1, "id", "long"), (2, "name", "string"), *COLUMNS[2:])
    table.change((6, "later", "string"), (1, "id", "long"), (2, "name", "string"), *COLUMNS[2:])
    table.insert("VALUES ('l', 1, 'one', 1.5, {'a': 10})")
    table.change((6, "later", "string"), (1, "id", "long"), (2, "name", "string"), COLUMNS[3])
    assert table.rows() == [("l", 1, "one", {"a": 10})]
    table.insert("VALUES (NULL, 2, 'two', NULL)")
    table.every_version_is_as_it_was()
    server.lake.session().execute("ALTER TABLE lake.iv1.t DROP COLUMN name")
    assert table.rows() == [("l", 1, {"a": 10}), (None, 2, None)]
    table.every_version_is_as_it_was()


def test_each_inlined_table_has_its_schema_version_once(server):
    table = Table(server, "iv2")
    table.change(*COLUMNS, (6, "more", "int"))
    table.insert("VALUES (1, 'one', 1, NULL, 7)")
    table.change(*COLUMNS)
    table.insert("VALUES (2, 'two', 2, NULL)")
    server.lake.session().execute("ALTER TABLE lake.iv2.t ADD COLUMN more INT; "
                                  "CREATE TABLE lake.iv2.by_duckdb (i INT)")
    found = server.lake.rows(
        "SELECT table_name, count(v.begin_snapshot) FROM ducklake_inlined_data_tables i "
        "LEFT JOIN ducklake_schema_versions v USING (table_id, schema_version) "
        "GROUP BY table_name HAVING count(v.begin_snapshot) <> 1")
    assert found == []
    table.every_version_is_as_it_was()


def test_init_repairs_tables_that_are_broken_already(fresh_server):
    lake = fresh_server.lake
    lake.postgres.execute("DROP TRIGGER duckicelake_inlined ON ducklake_inlined_data_tables")
    table = Table(fresh_server, "iv3")
    table.change((1, "id", "int"), (2, "name", "string"), *COLUMNS[2:])
    table.insert("VALUES (1, 'one', 1, NULL)")
    table.change((1, "id", "int"), (2, "name", "string"), COLUMNS[3])
    with pytest.raises(Exception, match="Attempted to access index 0"):
        table.rows()
    assert command(lake, "doctor").returncode != 0
    done = command(lake, "init")
    assert done.returncode == 0, done.stderr
    assert table.rows() == [(1, "one", None)]
    table.insert("VALUES (2, 'two', NULL)")
    table.every_version_is_as_it_was()
