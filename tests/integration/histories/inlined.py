# SPDX-License-Identifier: Apache-2.0
"""Rows and deletes that DuckLake keeps inside PostgreSQL (10 rows or fewer)."""
from lib.history import history

TABLE = "CREATE TABLE t (id INTEGER, v VARCHAR)"
FILE = "INSERT INTO t SELECT i, 'f' || i FROM range(100, 130) r(i)"
FLUSH = "CALL ducklake_flush_inlined_data('lake', schema_name => '$S', table_name => 't')"

INSERTS = history(
    "inl_inserts", TABLE, "INSERT INTO t VALUES (1, 'one')", "INSERT INTO t VALUES (2, NULL), (3, '')",
    "INSERT INTO t VALUES (4, 'ä €'), (5, 'x')", spark=True)

CHANGES = history(
    "inl_changes", TABLE, "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "UPDATE t SET v = 'B' WHERE id = 2", "DELETE FROM t WHERE id = 1",
    "UPDATE t SET v = 'BB' WHERE id = 2", "INSERT INTO t VALUES (1, 'again')",
    "DELETE FROM t", "INSERT INTO t VALUES (9, 'last')", spark=True)

MIXED = history(
    "inl_mixed_with_files", TABLE, FILE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "DELETE FROM t WHERE id IN (1, 105)", "DELETE FROM t WHERE id = 106",
    "UPDATE t SET v = 'up' WHERE id IN (2, 110)", "DELETE FROM t WHERE id BETWEEN 111 AND 125",
    "DELETE FROM t WHERE id = 126", "INSERT INTO t VALUES (3, 'c')", spark=True)

FLUSHED = history(
    "inl_flushed", TABLE, FILE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO t VALUES (3, 'c')", "DELETE FROM t WHERE id = 105", FLUSH,
    "INSERT INTO t VALUES (4, 'd')", "DELETE FROM t WHERE id IN (2, 106)", FLUSH, FLUSH,
    "DELETE FROM t WHERE id = 3", spark=True)

DELETES_FLUSHED = history(
    "inl_deletes_flushed", TABLE, FILE, "DELETE FROM t WHERE id = 101", "DELETE FROM t WHERE id = 102",
    FLUSH, "DELETE FROM t WHERE id = 103", FLUSH, "DELETE FROM t WHERE id BETWEEN 110 AND 125",
    "DELETE FROM t WHERE id = 104", FLUSH)

WITH_TYPES = history(
    "inl_all_types",
    """CREATE TABLE t (id INTEGER, b BOOLEAN, i8 TINYINT, u16 USMALLINT, i64 BIGINT, f FLOAT,
       d DOUBLE, dc DECIMAL(20,5), v VARCHAR, bl BLOB, u UUID, dt DATE, tm TIME, ts TIMESTAMP,
       s TIMESTAMP_S, ms TIMESTAMP_MS, tz TIMESTAMPTZ, j JSON)""",
    """INSERT INTO t VALUES (1, true, -5, 65535, -9223372036854775808, 1.1, 0.1, -12345.67891, 'x',
       '\\x00\\xFF'::BLOB, '123e4567-e89b-12d3-a456-426614174000', '2024-02-29', '12:34:56.789012',
       '2024-02-29 10:11:12.123456', '2024-02-29 10:11:12', '2024-02-29 10:11:12.123',
       '2024-02-29 10:11:12.123456+02', '{"a": 1}')""",
    "INSERT INTO t (id) VALUES (2)",
    """INSERT INTO t VALUES (3, false, 127, 0, 9223372036854775807, 'nan', 'inf', 0, '', ''::BLOB,
       'ffffffff-ffff-ffff-ffff-ffffffffffff', '1969-12-31', '00:00:00', '1969-12-31 23:59:59.999999',
       '1969-12-31 23:59:59', '1969-12-31 23:59:59.999', '0001-01-01 00:00:00+00', 'null'),
       (4, false, -128, 1, 0, '-inf', 'nan', -0.00001, ' "''\\\n	', 'plain'::BLOB,
       '00000000-0000-0000-0000-000000000000', '9999-12-31', '23:59:59.999999',
       '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999',
       '9999-12-31 23:59:59.999999+00', '[]')""",
    "UPDATE t SET v = 'changed' WHERE id = 1", "DELETE FROM t WHERE id = 2", FLUSH, spark=True)

WITH_NESTED = history(
    "inl_nested_types",
    """CREATE TABLE t (id INTEGER, l INTEGER[], s STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR,
       DOUBLE), ls STRUCT(x DATE, y BLOB)[])""",
    """INSERT INTO t VALUES (1, [1, NULL], {a: 1, b: 'it''s "q", [x]'}, MAP {'k': 1.5, '': NULL},
       [{x: DATE '2024-01-01', y: '\\x00\\x01'::BLOB}]), (2, [], {a: NULL, b: NULL}, MAP {}, [])""",
    "INSERT INTO t (id) VALUES (3)", "UPDATE t SET l = [7] WHERE id = 3", FLUSH,
    "INSERT INTO t VALUES (4, [4], {a: 4, b: 'four'}, MAP {}, [])")

HUGE_VALUES = history(
    "inl_hugeint_interval",
    "CREATE TABLE t (id INTEGER, h HUGEINT, u UBIGINT, i INTERVAL, z TIMETZ)",
    """INSERT INTO t VALUES (1, 123456789012345678901234567890123456789, 18446744073709551615,
       INTERVAL 1 MONTH, '12:30:00+02'), (2, NULL, NULL, NULL, NULL)""",
    "DELETE FROM t WHERE id = 2", FLUSH)

EVOLVED = history(
    "inl_schema_changes", TABLE, "INSERT INTO t VALUES (1, 'a')",
    "ALTER TABLE t ADD COLUMN n INTEGER", "INSERT INTO t VALUES (2, 'b', 20)",
    "ALTER TABLE t RENAME COLUMN v TO w", "INSERT INTO t VALUES (3, 'c', 30)",
    "UPDATE t SET n = 10 WHERE id = 1", "ALTER TABLE t ALTER COLUMN n TYPE BIGINT",
    "INSERT INTO t VALUES (4, 'd', 5000000000)", "ALTER TABLE t DROP COLUMN w",
    "INSERT INTO t VALUES (5, 50)", "DELETE FROM t WHERE id = 3", FLUSH,
    "INSERT INTO t VALUES (6, 60)")

DEFAULTS = history(
    "inl_defaults", "CREATE TABLE t (id INTEGER, v VARCHAR DEFAULT 'dflt')",
    "INSERT INTO t (id) VALUES (1)", "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7",
    "INSERT INTO t (id) VALUES (2)", "ALTER TABLE t ALTER COLUMN n SET DEFAULT 8",
    "INSERT INTO t (id) VALUES (3)", FLUSH)

TWO_TABLES = history(
    "inl_two_tables_one_snapshot", TABLE, "CREATE TABLE o (id INTEGER)",
    "BEGIN; INSERT INTO t VALUES (1, 'a'); INSERT INTO o VALUES (1); COMMIT",
    "BEGIN; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (2, 'b'); UPDATE o SET id = 2; COMMIT",
    "BEGIN; INSERT INTO t SELECT i, 'f' FROM range(20) r(i); INSERT INTO t VALUES (99, 'small'); "
    "DELETE FROM o; COMMIT",
    "CALL ducklake_flush_inlined_data('lake', schema_name => '$S')")

LIMIT_EDGE = history(
    "inl_limit_edge", TABLE, "INSERT INTO t SELECT i, 'ten' FROM range(10) r(i)",
    "INSERT INTO t SELECT i, 'eleven' FROM range(20, 31) r(i)",
    "DELETE FROM t WHERE id BETWEEN 20 AND 29", "DELETE FROM t WHERE id < 10",
    "INSERT INTO t SELECT i, 'more' FROM range(40, 70) r(i)",
    "DELETE FROM t WHERE id BETWEEN 40 AND 50", "DELETE FROM t WHERE id = 51", FLUSH)

# In format version 3: a deletion vector that shrinks (more rows of the flushed file show) beside one that stays.
VECTORS = history(
    "inl_vectors_shrink", "CREATE TABLE t (id INTEGER)", "INSERT INTO t SELECT * FROM range(50)",
    "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 3",
    "BEGIN; DELETE FROM t WHERE id = 7; INSERT INTO t VALUES (100, 1); COMMIT",
    "INSERT INTO t VALUES (101, 1)", "INSERT INTO t VALUES (102, 1)", FLUSH)

GEOMETRY = history(
    "inl_geometry", "CREATE TABLE t (id INTEGER, g GEOMETRY)",
    "INSERT INTO t VALUES (1, 'POINT (1 2)'), (2, NULL)", "INSERT INTO t VALUES (3, 'POINT (0.1 -1e300)')",
    "UPDATE t SET g = 'LINESTRING (0 0, 1 1)' WHERE id = 2", FLUSH, "DELETE FROM t WHERE id = 1")

HISTORIES = [VECTORS, GEOMETRY, INSERTS, CHANGES, MIXED, FLUSHED, DELETES_FLUSHED, WITH_TYPES, WITH_NESTED, HUGE_VALUES,
             EVOLVED, DEFAULTS, TWO_TABLES, LIMIT_EDGE]
