# SPDX-License-Identifier: Apache-2.0
"""Columns and tables that come, go, change their name, type, place and default."""
from lib.history import Fails, history

TABLE = "CREATE TABLE t (id INTEGER, v VARCHAR)"
TWENTY = "INSERT INTO t SELECT i, 'v' || i FROM range(20) r(i)"


def more(start: int, *values: str) -> str:
    chosen = "".join(f", {v}" for v in values)
    return f"INSERT INTO t SELECT i{chosen} FROM range({start}, {start + 15}) r(i)"


ADD_DROP = history(
    "evo_add_drop", TABLE, TWENTY, "ALTER TABLE t ADD COLUMN n INTEGER", more(20, "'w'", "i"),
    "ALTER TABLE t DROP COLUMN v", more(40, "i"), "ALTER TABLE t ADD COLUMN v VARCHAR",
    more(60, "i", "'new v'"), "DELETE FROM t WHERE id % 10 = 0",
    "UPDATE t SET v = 'filled' WHERE v IS NULL AND id < 30", inline=0, spark=True)

RENAMES = history(
    "evo_renames", "CREATE TABLE t (id INTEGER, a VARCHAR, b VARCHAR)",
    "INSERT INTO t SELECT i, 'a' || i, 'b' || i FROM range(20) r(i)",
    "ALTER TABLE t RENAME COLUMN a TO c", "ALTER TABLE t RENAME COLUMN b TO a",
    "ALTER TABLE t RENAME COLUMN c TO b", more(20, "'new b'", "'new a'"),
    "DELETE FROM t WHERE b = 'a3'", 'ALTER TABLE t RENAME COLUMN a TO "Ünï côde 100%"',
    more(40, "NULL", "NULL"), inline=0, spark=True)

WIDENED = history(
    "evo_widened_types",
    "CREATE TABLE t (id INTEGER, i8 TINYINT, i INTEGER, f FLOAT, d DECIMAL(5,2))",
    "INSERT INTO t SELECT i, i, i * 100, i * 0.5, i * 1.25 FROM range(20) r(i)",
    "ALTER TABLE t ALTER COLUMN i8 TYPE SMALLINT", "ALTER TABLE t ALTER COLUMN i TYPE BIGINT",
    "INSERT INTO t SELECT i, 300, 5000000000, i * 0.5, 999.99 FROM range(20, 40) r(i)",
    "ALTER TABLE t ALTER COLUMN f TYPE DOUBLE", "ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(12,2)",
    "ALTER TABLE t ALTER COLUMN i8 TYPE INTEGER",
    "INSERT INTO t SELECT i, 70000, 0, 1e300, 1234567890.25 FROM range(40, 60) r(i)",
    "DELETE FROM t WHERE id % 10 = 5", inline=0, spark=True)

# Allowed by DuckLake, without a promotion in Iceberg: two physical types under one field id.
FOREIGN_TYPES = history(
    "evo_types_without_promotion",
    "CREATE TABLE a (id INTEGER, k INTEGER)", "INSERT INTO a SELECT i, i FROM range(20) r(i)",
    "ALTER TABLE a ALTER COLUMN k TYPE DOUBLE",
    "INSERT INTO a SELECT i, i + 0.5 FROM range(20, 40) r(i)",
    "CREATE TABLE b (id INTEGER, k DATE)", "INSERT INTO b SELECT i, '2024-01-01' FROM range(20) r(i)",
    "ALTER TABLE b ALTER COLUMN k TYPE TIMESTAMP",
    "INSERT INTO b SELECT i, '2024-01-01 12:00:00' FROM range(20, 40) r(i)",
    "CREATE TABLE c (id INTEGER, k UINTEGER)",
    "INSERT INTO c SELECT i, 3000000000 FROM range(20) r(i)", "ALTER TABLE c ALTER COLUMN k TYPE BIGINT",
    "INSERT INTO c SELECT i, -1 FROM range(20, 40) r(i)", inline=0)

NARROWING = history(
    "evo_refused_by_ducklake", TABLE, TWENTY,
    Fails("ALTER TABLE t ALTER COLUMN id TYPE SMALLINT", "(?i)type"),
    Fails("ALTER TABLE t ALTER COLUMN id TYPE VARCHAR", "(?i)type"),
    Fails("ALTER TABLE t DROP COLUMN absent", "(?i)absent"),
    Fails("CREATE TABLE t (id INTEGER)", "(?i)exists"), more(20, "'after'"), inline=0)

NESTED = history(
    "evo_nested_fields", "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b VARCHAR))",
    "INSERT INTO t SELECT i, {a: i, b: 'b' || i} FROM range(20) r(i)",
    "ALTER TABLE t ADD COLUMN s.c DOUBLE",
    "INSERT INTO t SELECT i, {a: i, b: 'b', c: 0.5} FROM range(20, 40) r(i)",
    "ALTER TABLE t RENAME COLUMN s.a TO x",
    "INSERT INTO t SELECT i, {x: i, b: 'b', c: 0.5} FROM range(40, 60) r(i)",
    "ALTER TABLE t DROP COLUMN s.b", "INSERT INTO t SELECT i, {x: i, c: 1.5} FROM range(60, 80) r(i)",
    "ALTER TABLE t ALTER COLUMN s SET DATA TYPE STRUCT(x BIGINT, c DOUBLE)",
    "INSERT INTO t SELECT i, {x: 5000000000, c: 1.5} FROM range(80, 100) r(i)",
    "DELETE FROM t WHERE id % 20 = 1", inline=0, spark=True)

NESTED_DEEP = history(
    "evo_nested_in_lists",
    "CREATE TABLE t (id INTEGER, l STRUCT(a INTEGER)[], m MAP(VARCHAR, STRUCT(p INTEGER)))",
    "INSERT INTO t SELECT i, [{a: i}], MAP {'k': {p: i}} FROM range(20) r(i)",
    "ALTER TABLE t ADD COLUMN l.element.b VARCHAR",
    "INSERT INTO t SELECT i, [{a: i, b: 'b'}], MAP {'k': {p: i}} FROM range(20, 40) r(i)",
    "ALTER TABLE t ADD COLUMN m.value.q INTEGER",
    "INSERT INTO t SELECT i, [{a: i, b: 'b'}], MAP {'k': {p: i, q: 1}} FROM range(40, 60) r(i)",
    "DELETE FROM t WHERE id = 3", inline=0)

DEFAULTS = history(
    "evo_defaults", TABLE, TWENTY, "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 42",
    "INSERT INTO t (id, v) SELECT i, 'd' FROM range(20, 40) r(i)",
    "ALTER TABLE t ADD COLUMN s VARCHAR DEFAULT 'it''s'",
    "ALTER TABLE t ADD COLUMN d DATE DEFAULT DATE '2024-02-29'",
    "ALTER TABLE t ADD COLUMN q DECIMAL(8,3) DEFAULT -1.5",
    "ALTER TABLE t ADD COLUMN b BOOLEAN DEFAULT true",
    "INSERT INTO t (id) SELECT i FROM range(40, 60) r(i)",
    "ALTER TABLE t ALTER COLUMN n SET DEFAULT 43", "INSERT INTO t (id) SELECT i FROM range(60, 80) r(i)",
    "ALTER TABLE t ALTER COLUMN n DROP DEFAULT", "INSERT INTO t (id) SELECT i FROM range(80, 95) r(i)",
    "UPDATE t SET n = 0 WHERE id < 3", "DELETE FROM t WHERE id = 25", inline=0, spark=True)

NOT_NULL = history(
    "evo_not_null", "CREATE TABLE t (id INTEGER NOT NULL, v VARCHAR NOT NULL)", TWENTY,
    Fails("INSERT INTO t VALUES (1, NULL)", "(?i)null"), "ALTER TABLE t ALTER COLUMN v DROP NOT NULL",
    more(20, "NULL"), Fails("ALTER TABLE t ALTER COLUMN v SET NOT NULL", "(?i)null"),
    "DELETE FROM t WHERE v IS NULL", inline=0)

TABLE_RENAMES = history(
    "evo_table_renames", TABLE, TWENTY, "ALTER TABLE t RENAME TO u",
    "INSERT INTO u SELECT i, 'u' FROM range(20, 40) r(i)", TABLE,
    "INSERT INTO t SELECT i, 'second' FROM range(15) r(i)", "DROP TABLE u",
    "ALTER TABLE t RENAME TO u", "DELETE FROM u WHERE id < 3", inline=0)

RECREATED = history(
    "evo_recreated_tables", TABLE, TWENTY, "DROP TABLE t", "CREATE TABLE t (v DOUBLE, id VARCHAR)",
    "INSERT INTO t SELECT i * 0.5, 'id' || i FROM range(20) r(i)", "DELETE FROM t WHERE v > 5",
    "BEGIN; DROP TABLE t; CREATE TABLE t (only_one BIGINT); INSERT INTO t SELECT i FROM range(12) r(i); "
    "COMMIT", "CREATE OR REPLACE TABLE t AS SELECT i AS n FROM range(14) r(i)", inline=0)

SAME_TRANSACTION = history(
    "evo_alter_with_data", TABLE,
    "BEGIN; ALTER TABLE t ADD COLUMN n INTEGER; " + more(0, "'x'", "i") + "; COMMIT",
    "BEGIN; ALTER TABLE t DROP COLUMN v; DELETE FROM t WHERE id < 3; COMMIT",
    "BEGIN; ALTER TABLE t RENAME TO u; COMMIT",
    "BEGIN; ALTER TABLE u ADD COLUMN a INTEGER; ALTER TABLE u RENAME COLUMN a TO b; INSERT INTO u "
    "SELECT i, i, i FROM range(50, 70) r(i); COMMIT", inline=0)

SORTED = history(
    "evo_sort_orders", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "ALTER TABLE t SET SORTED BY (id DESC NULLS FIRST, v ASC)", TWENTY,
    "ALTER TABLE t SET SORTED BY (v)", more(20, "'z'"), "ALTER TABLE t RESET SORTED BY",
    more(40, "'a'"), "COMMENT ON TABLE t IS 'a comment'", "COMMENT ON COLUMN t.v IS 'of a column'",
    more(60, "NULL"), inline=0)

HISTORIES = [ADD_DROP, RENAMES, WIDENED, FOREIGN_TYPES, NARROWING, NESTED, NESTED_DEEP, DEFAULTS,
             NOT_NULL, TABLE_RENAMES, RECREATED, SAME_TRANSACTION, SORTED]
