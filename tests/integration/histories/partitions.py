# SPDX-License-Identifier: Apache-2.0
"""Tables partitioned by each transform, on each type that it takes."""
from lib.history import history

# column type -> SQL of a value made from the integer `i` (0..39); every seventh is NULL.
IDENTITY = {
    "BOOLEAN": "i % 2 = 0", "TINYINT": "i % 3 - 1", "SMALLINT": "i % 3 - 1", "INTEGER": "i % 3 - 1",
    "BIGINT": "(i % 3 - 1) * 5000000000", "UTINYINT": "i % 3 + 200", "USMALLINT": "i % 3 + 65000",
    "FLOAT": "(i % 3) * 0.1", "DOUBLE": "(i % 3) * 0.1 - 0.1", "DECIMAL(10,3)": "(i % 3) * -1.125",
    "DATE": "DATE '1969-12-30' + (i % 4)::INTEGER", "TIME": "TIME '00:00:00.5' + to_hours(i % 3)",
    "TIMESTAMP": "TIMESTAMP '1969-12-31 23:59:59.25' + to_hours(i % 3)",
    "TIMESTAMP_S": "TIMESTAMP_S '2024-01-15 12:30:00' + to_days((i % 3)::INTEGER)",
    "TIMESTAMP_MS": "TIMESTAMP_MS '2024-01-15 12:30:00.125' + to_days((i % 3)::INTEGER)",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2024-01-15 23:30:00-05' + to_hours(i % 3)",
    "VARCHAR": "['', 'a b/c', 'ä%20=', '__HIVE'][(i % 4 + 1)::INTEGER]",
    # Bytes that are no UTF-8 are refused by DuckLake 1.5.5 as an identity partition value.
    "BLOB": "[''::BLOB, '\\x00\\x7F'::BLOB, 'ab'::BLOB][(i % 3 + 1)::INTEGER]",
    "UUID": "('00000000-0000-0000-0000-00000000000' || (i % 3))::UUID",
    "HUGEINT": "(i % 3 - 1)::HUGEINT",
}
TEMPORAL = {
    "DATE": "DATE '1969-11-20' + (i * 11)::INTEGER",
    "TIMESTAMP": "TIMESTAMP '1969-12-31 20:30:00' + to_hours(i * 7)",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2023-12-31 20:30:00+00' + to_hours(i * 7)",
    "TIMESTAMP_S": "TIMESTAMP_S '2023-12-31 20:30:00' + to_hours(i * 7)",
    "TIMESTAMP_MS": "TIMESTAMP_MS '2023-12-31 20:30:00.5' + to_hours(i * 7)",
}
BUCKET = {
    "TINYINT": "i", "SMALLINT": "i", "INTEGER": "i * 37 - 500", "BIGINT": "i * 5000000000 - 7",
    "UINTEGER": "i * 37", "VARCHAR": "'v' || i", "BLOB": "('b' || i)::BLOB",
    "DATE": "DATE '1969-12-20' + i::INTEGER", "TIME": "TIME '00:00:00' + to_minutes(i)",
    "TIMESTAMP": "TIMESTAMP '1969-12-31 20:30:00' + to_hours(i)",
    "TIMESTAMP_S": "TIMESTAMP_S '2024-12-31 20:30:00' + to_hours(i)",
    "TIMESTAMP_MS": "TIMESTAMP_MS '2024-12-31 20:30:00' + to_hours(i)",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2024-12-31 20:30:00+00' + to_hours(i)",
    "DECIMAL(9,2)": "i * 1.25 - 14.20", "DECIMAL(38,2)": "i * 1.25", "UUID":
    "('00000000-0000-0000-0000-0000000000' || lpad(i::VARCHAR, 2, '0'))::UUID",
}


def word(kind: str) -> str:
    return kind.lower().translate(str.maketrans("(,", "__", ")"))


def filled(kind: str, value: str, spec: str, low: int = 0, high: int = 40) -> list[str]:
    """The steps that make one partitioned table p_<type> and change it a little."""
    table = f"p_{word(kind)}"
    rows = (f"SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE ({value})::{kind} END "
            f"FROM range({low}, {high}) r(i)")
    return [f"CREATE TABLE {table} (id INTEGER, k {kind})",
            f"ALTER TABLE {table} SET PARTITIONED BY ({spec})",
            f"INSERT INTO {table} {rows}",
            f"DELETE FROM {table} WHERE id % 5 = 1"]


def each(types: dict, spec: str, names=None) -> list[str]:
    return [step for kind, value in types.items() if names is None or kind in names
            for step in filled(kind, value, spec)]


NUMERIC = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "FLOAT",
           "DOUBLE", "DECIMAL(10,3)", "HUGEINT")
OTHERS = tuple(k for k in IDENTITY if k not in NUMERIC)
SMALL_BUCKETS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UINTEGER", "VARCHAR", "BLOB", "DATE")

IDENTITY_SPECIAL = history(
    "part_identity_special",
    "CREATE TABLE f (id INTEGER, k DOUBLE)", "ALTER TABLE f SET PARTITIONED BY (k)",
    """INSERT INTO f VALUES (1, 'nan'), (2, 'inf'), (3, '-inf'), (4, -0.0), (5, 0.0), (6, NULL),
       (7, 1e300), (8, 'nan')""",
    "CREATE TABLE v (id INTEGER, k VARCHAR)", "ALTER TABLE v SET PARTITIONED BY (k)",
    """INSERT INTO v VALUES (1, ''), (2, NULL), (3, '__HIVE_DEFAULT_PARTITION__'), (4, '..'),
       (5, 'a/b'), (6, '%2F'), (7, '100%'), (8, 'a=b&c+d'), (9, '😀'), (10, ' '), (11, 'NULL')""",
    "DELETE FROM v WHERE k = '%2F'", "UPDATE v SET id = 100 WHERE k = 'a/b'", inline=0)

TWO_KEYS = history(
    "part_two_keys",
    "CREATE TABLE t (id INTEGER, region VARCHAR, ts TIMESTAMP)",
    "ALTER TABLE t SET PARTITIONED BY (region, year(ts), month(ts))",
    """INSERT INTO t SELECT i, ['eu', 'us', NULL][(i % 3 + 1)::INTEGER],
       TIMESTAMP '2023-11-01' + to_days((i * 9)::INTEGER) FROM range(40) r(i)""",
    "INSERT INTO t SELECT i, 'eu', TIMESTAMP '1969-12-31 23:00:00' FROM range(50, 60) r(i)",
    "DELETE FROM t WHERE region = 'us'", "UPDATE t SET region = 'ap' WHERE id < 9",
    inline=0, spark=True)

# DuckLake's `day` is the day of the month: one file may hold 15 January and 15 February.
MIXED_MONTHS = history(
    "part_mixed_calendar",
    "CREATE TABLE d (id INTEGER, k DATE)", "ALTER TABLE d SET PARTITIONED BY (day(k))",
    "INSERT INTO d VALUES (1, '2024-01-15'), (2, '2024-02-15'), (3, '2025-02-15'), (4, NULL)",
    "INSERT INTO d VALUES (5, '1969-12-15'), (6, '1970-01-15'), (7, '2024-01-16')",
    "CREATE TABLE h (id INTEGER, k TIMESTAMP)", "ALTER TABLE h SET PARTITIONED BY (hour(k))",
    "INSERT INTO h VALUES (1, '2024-01-15 10:00'), (2, '2024-01-16 10:59'), (3, '1969-12-31 10:00')",
    "CREATE TABLE m (id INTEGER, k TIMESTAMPTZ)", "ALTER TABLE m SET PARTITIONED BY (month(k))",
    """INSERT INTO m VALUES (1, '2024-01-31 23:30:00-05'), (2, '2024-02-01 00:30:00+00'),
       (3, '2023-02-01 00:00:00+00')""",
    "DELETE FROM d WHERE k = '2024-02-15'", "DELETE FROM h WHERE id = 3", inline=0, spark=True)

SESSION_ZONE = history(
    "part_session_time_zone",
    "CREATE TABLE t (id INTEGER, k TIMESTAMPTZ)", "ALTER TABLE t SET PARTITIONED BY (day(k))",
    "SET TimeZone='America/New_York'",
    """INSERT INTO t SELECT i, TIMESTAMPTZ '2024-03-10 00:00:00+00' + to_hours(i)
       FROM range(60) r(i)""",
    "SET TimeZone='UTC'",
    "INSERT INTO t SELECT i, TIMESTAMPTZ '2024-03-10 00:00:00+00' FROM range(60, 80) r(i)",
    inline=0)

SPEC_CHANGES = history(
    "part_spec_changes",
    "CREATE TABLE t (id INTEGER, k VARCHAR, d DATE)",
    "INSERT INTO t SELECT i, 'k' || i % 3, DATE '2024-01-01' + i::INTEGER FROM range(20) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (k)",
    "INSERT INTO t SELECT i, 'k' || i % 3, DATE '2024-01-01' + i::INTEGER FROM range(20, 40) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (year(d), month(d))",
    "INSERT INTO t SELECT i, 'k' || i % 3, DATE '2024-01-01' + i::INTEGER FROM range(40, 60) r(i)",
    "ALTER TABLE t RESET PARTITIONED BY",
    "INSERT INTO t SELECT i, NULL, NULL FROM range(60, 75) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (k)",
    "INSERT INTO t SELECT i, 'again', NULL FROM range(75, 90) r(i)",
    "DELETE FROM t WHERE id % 4 = 0", "UPDATE t SET d = '1950-05-05' WHERE k = 'k1'",
    "ALTER TABLE t RENAME COLUMN k TO key",
    "INSERT INTO t SELECT i, 'renamed', NULL FROM range(90, 105) r(i)", inline=0, spark=True)

BUCKET_AFTERWARDS = history(
    "part_bucket_after_files",
    "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t SELECT i, 'v' || i FROM range(30) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (bucket(8, id))",
    "INSERT INTO t SELECT i, 'v' || i FROM range(30, 60) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (bucket(4, id))",
    "INSERT INTO t SELECT i, 'v' || i FROM range(60, 90) r(i)", inline=0)

INLINED_PARTITIONS = history(
    "part_inlined",
    "CREATE TABLE t (id INTEGER, k VARCHAR, d DATE)",
    "ALTER TABLE t SET PARTITIONED BY (k, month(d))",
    "INSERT INTO t VALUES (1, 'a', '2024-01-01'), (2, 'b', '2024-02-01'), (3, NULL, NULL)",
    "INSERT INTO t SELECT i, 'a', '2024-01-05' FROM range(10, 30) r(i)",
    "DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 15",
    "CALL ducklake_flush_inlined_data('lake', schema_name => '$S', table_name => 't')",
    "INSERT INTO t VALUES (4, 'c', '2024-01-31'), (5, 'c', '2024-01-01')")

HISTORIES = [
    history("part_identity_numbers", *each(IDENTITY, "k", NUMERIC), inline=0),
    history("part_identity_others", *each(IDENTITY, "k", OTHERS), inline=0, spark=True),
    history("part_year", *each(TEMPORAL, "year(k)"), inline=0),
    history("part_month", *each(TEMPORAL, "month(k)"), inline=0),
    history("part_day", *each({k: v for k, v in TEMPORAL.items() if k != "TIMESTAMP_MS"},
                              "year(k), month(k), day(k)"), inline=0),
    history("part_hour", *each({k: v for k, v in TEMPORAL.items() if k != "DATE"}, "hour(k)"),
            inline=0),
    history("part_bucket_small", *each(BUCKET, "bucket(4, k)", SMALL_BUCKETS), inline=0),
    history("part_bucket_others", *each(
        {k: v for k, v in BUCKET.items() if k not in SMALL_BUCKETS}, "bucket(16, k)"), inline=0),
    IDENTITY_SPECIAL, TWO_KEYS, MIXED_MONTHS, SESSION_ZONE, SPEC_CHANGES, BUCKET_AFTERWARDS,
    INLINED_PARTITIONS]
