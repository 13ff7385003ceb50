# SPDX-License-Identifier: Apache-2.0
"""Files that others wrote, added with ducklake_add_data_files: read by name, not by field id."""
from lib.history import Fails, history


def write(file: str, select: str, options: str = "") -> str:
    return f"COPY ({select}) TO '$X/{file}' (FORMAT parquet{options})"


def add(table: str, file: str, options: str = "") -> str:
    return f"CALL ducklake_add_data_files('lake', '{table}', '$X/{file}', schema => '$S'{options})"


BY_NAME = history(
    "add_by_name", "CREATE TABLE t (id INTEGER, v VARCHAR, n BIGINT)",
    "INSERT INTO t SELECT i, 'own', i FROM range(15) r(i)",
    write("a.parquet", "SELECT i::INTEGER AS id, 'a' || i AS v, i::BIGINT AS n FROM range(20, 40) r(i)"),
    add("t", "a.parquet"),
    write("b.parquet", "SELECT 'b' || i AS v, i::BIGINT AS n, i::INTEGER AS id FROM range(40, 60) r(i)"),
    add("t", "b.parquet"), "DELETE FROM t WHERE id % 10 = 3", "UPDATE t SET v = 'u' WHERE id = 45",
    inline=0, spark=True)

MISSING_AND_EXTRA = history(
    "add_missing_and_extra", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    write("m.parquet", "SELECT i::INTEGER AS id FROM range(20) r(i)"),
    Fails(add("t", "m.parquet"), "(?i)missing|not found|v"), add("t", "m.parquet", ", allow_missing => true"),
    write("x.parquet", "SELECT i::INTEGER AS id, 'x' AS v, 1 AS extra FROM range(20, 40) r(i)"),
    add("t", "x.parquet", ", ignore_extra_columns => true"), "DELETE FROM t WHERE id = 25", inline=0)

RENAMED = history(
    "add_then_rename", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    write("r.parquet", "SELECT i::INTEGER AS id, 'r' || i AS v FROM range(20) r(i)"), add("t", "r.parquet"),
    "ALTER TABLE t RENAME COLUMN v TO w", "ALTER TABLE t ADD COLUMN v INTEGER",
    "INSERT INTO t SELECT i, 'w', i FROM range(20, 40) r(i)", "DELETE FROM t WHERE w = 'r3'", inline=0)

CONTRADICTING_IDS = history(
    "add_contradicting_field_ids", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    write("c.parquet", "SELECT i::INTEGER AS id, 'c' || i AS v FROM range(20) r(i)",
          ", FIELD_IDS {id: 2, v: 1}"), add("t", "c.parquet"),
    "INSERT INTO t SELECT i, 'own' FROM range(20, 40) r(i)", inline=0)

NESTED = history(
    "add_nested", "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b VARCHAR), l INTEGER[], "
    "m MAP(VARCHAR, INTEGER))",
    write("n.parquet", "SELECT i::INTEGER AS id, {a: i::INTEGER, b: 'b'} AS s, [i::INTEGER, NULL] AS l, "
          "MAP {'k': i::INTEGER} AS m FROM range(20) r(i)"), add("t", "n.parquet"),
    "INSERT INTO t SELECT i, {a: i, b: 'own'}, [i], MAP {} FROM range(20, 40) r(i)",
    "DELETE FROM t WHERE id = 7", inline=0)

HIVE = history(
    "add_hive_partitions", "CREATE TABLE t (id INTEGER, part INTEGER)",
    "ALTER TABLE t SET PARTITIONED BY (part)",
    write("hive", "SELECT i::INTEGER AS id, (i % 2)::INTEGER AS part FROM range(20) r(i)",
          ", PARTITION_BY (part)"),
    "CALL ducklake_add_data_files('lake', 't', '$X/hive/*/*.parquet', schema => '$S', "
    "hive_partitioning => true)",
    "INSERT INTO t SELECT i, 7 FROM range(20, 40) r(i)", "DELETE FROM t WHERE id = 4", inline=0)

HISTORIES = [BY_NAME, MISSING_AND_EXTRA, RENAMED, CONTRADICTING_IDS, NESTED, HIVE]
