# SPDX-License-Identifier: Apache-2.0
"""Cases from public reports about other systems, by their number in the project's list."""
from lib.history import Expect, history

FLUSH = "CALL ducklake_flush_inlined_data('lake', schema_name => '$S', table_name => 't')"

# Files without statistics: added by name, and DuckLake keeps no counts for nested leaves.
A39 = history(
    "a39_missing_counts", "CREATE TABLE t (id INTEGER, v VARCHAR, s STRUCT(a INTEGER))",
    "COPY (SELECT i::INTEGER AS id, CASE WHEN i % 3 > 0 THEN 'v' || i END AS v, "
    "CASE WHEN i % 2 > 0 THEN {a: i::INTEGER} END AS s FROM range(30) r(i)) TO '$X/a39.parquet' "
    "(FORMAT parquet)",
    "CALL ducklake_add_data_files('lake', 't', '$X/a39.parquet', schema => '$S')",
    "INSERT INTO t SELECT i, NULL, NULL FROM range(30, 45) r(i)",
    "ALTER TABLE t ADD COLUMN later VARCHAR",
    "INSERT INTO t SELECT i, NULL, NULL, 'l' FROM range(45, 60) r(i)",
    Expect("SELECT count(*) FROM t WHERE v IS NULL", [(40,)]),
    Expect("SELECT count(*) FROM t WHERE later IS NOT NULL", [(15,)]), inline=0)

TEXTS = ["repeat('é', 40)", "repeat('😀', 40)", "repeat(chr(55295), 40)", "repeat(chr(1114111), 40)",
         "''", "repeat(chr(1114111), 16) || 'z'", "repeat('a', 15) || chr(55295) || 'b'",
         "repeat('a', 16) || chr(1114111)", "chr(0)", "repeat('a', 15) || chr(57344)",
         "repeat('z', 16)", "repeat('z', 17)", "chr(127) || repeat(chr(128), 20)"]
A40 = history(
    "a40_truncated_text_bounds", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    *[f"INSERT INTO t VALUES ({n}, {text})" for n, text in enumerate(TEXTS)],
    "INSERT INTO t VALUES " + ", ".join(f"({100 + n}, {text})" for n, text in enumerate(TEXTS)),
    inline=0)

A41 = history(
    "a41_decimal_bounds",
    "CREATE TABLE t (id INTEGER, a DECIMAL(4,2), b DECIMAL(9,0), c DECIMAL(18,3), d DECIMAL(38,10))",
    *[f"INSERT INTO t VALUES ({n}, {a}, {b}, {c}, {d})" for n, (a, b, c, d) in enumerate([
        ("-1.28", "-128", "-0.128", "-0.0000000128"), ("-1.29", "-32768", "-32.768", "-0.0000032768"),
        ("0", "0", "0", "0"), ("1.27", "127", "0.127", "0.0000000127"),
        ("1.28", "32768", "32.768", "0.0000032768"), ("-99.99", "-999999999", "-999999999999999.999",
         "-9999999999999999999999999999.9999999999"), ("99.99", "999999999", "999999999999999.999",
         "9999999999999999999999999999.9999999999"), ("NULL", "NULL", "NULL", "NULL")])],
    "INSERT INTO t SELECT id + 100, a, b, c, d FROM t", inline=0)

A42 = history(
    "a42_delete_manifests", "CREATE TABLE t (id INTEGER, k VARCHAR)", "ALTER TABLE t SET PARTITIONED BY (k)",
    "INSERT INTO t SELECT i, 'k' || i % 3 FROM range(60) r(i)", "DELETE FROM t WHERE id % 4 = 0",
    "DELETE FROM t WHERE id % 4 = 1 AND k = 'k1'", "DELETE FROM t WHERE k = 'k2'", inline=0)

A43 = history(
    "a43_flush_keeps_history", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')", "DELETE FROM t WHERE id = 2", FLUSH,
    Expect("SELECT id FROM t", [(1,), (3,)]), "INSERT INTO t VALUES (4, 'd')",
    "UPDATE t SET v = 'C' WHERE id = 3", FLUSH, Expect("SELECT id, v FROM t", [
        (1, "a"), (3, "C"), (4, "d")]))

A44 = history(
    "a44_flush_partitioned_deletes", "CREATE TABLE t (id INTEGER, k INTEGER)",
    "ALTER TABLE t SET PARTITIONED BY (k)", "INSERT INTO t SELECT i, i % 4 FROM range(400) r(i)",
    Expect("SELECT count(*), sum(id) FROM t", [(400, 79800)]),
    "DELETE FROM t WHERE id % 5 = 0",
    Expect("SELECT count(*), sum(id) FROM t", [(320, 64000)]), FLUSH,
    Expect("SELECT count(*), sum(id) FROM t", [(320, 64000)]),
    Expect("SELECT count(*) FROM t WHERE id % 5 = 0", [(0,)]), inline=1000)

HISTORIES = [A39, A40, A41, A42, A43, A44]
