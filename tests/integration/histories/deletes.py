# SPDX-License-Identifier: Apache-2.0
"""Deletes, updates and merges that end in delete files and replaced data files."""
from lib.history import history

TABLE = "CREATE TABLE t (id INTEGER, v VARCHAR)"
THIRTY = "INSERT INTO t SELECT i, 'v' || i FROM range(30) r(i)"

PLAIN = history(
    "del_plain", TABLE, THIRTY, "DELETE FROM t WHERE id % 2 = 0",
    "INSERT INTO t SELECT i, 'w' || i FROM range(30, 60) r(i)",
    "DELETE FROM t WHERE id >= 25 AND id < 40", inline=0, spark=True)

REPEATED = history(
    "del_repeated_one_file", TABLE, "INSERT INTO t SELECT i, 'v' || i FROM range(200) r(i)",
    *[f"DELETE FROM t WHERE id % 17 = {n}" for n in range(6)],
    "INSERT INTO t SELECT i, 'w' || i FROM range(200, 220) r(i)",
    "DELETE FROM t WHERE id % 17 = 6", inline=0, spark=True)

WHOLE_FILES = history(
    "del_whole_files", TABLE, THIRTY, "INSERT INTO t SELECT i, 'w' FROM range(30, 60) r(i)",
    "DELETE FROM t WHERE id < 30", "DELETE FROM t WHERE id = 31", "DELETE FROM t WHERE id >= 30",
    THIRTY, "DELETE FROM t WHERE id < 15", "DELETE FROM t WHERE id >= 15", inline=0)

TRUNCATE = history(
    "del_truncate", TABLE, THIRTY, "TRUNCATE t", THIRTY, "DELETE FROM t WHERE id = 3", "TRUNCATE t",
    "INSERT INTO t SELECT i, NULL FROM range(12) r(i)", inline=0)

UPDATES = history(
    "del_updates", "CREATE TABLE t (id INTEGER, v VARCHAR, n BIGINT)",
    "INSERT INTO t SELECT i, 'v' || i, i FROM range(50) r(i)",
    "UPDATE t SET v = 'changed' WHERE id < 10", "UPDATE t SET n = n + 1000 WHERE id BETWEEN 5 AND 20",
    "UPDATE t SET v = NULL", "UPDATE t SET v = 'x' WHERE id = 49",
    "UPDATE t SET v = 'y' WHERE id = 49", inline=0, spark=True)

MERGES = history(
    "del_merges", "CREATE TABLE t (id INTEGER, v VARCHAR)", THIRTY,
    """MERGE INTO t USING (SELECT i AS id, 'merged' || i AS v FROM range(20, 45) r(i)) s
       ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT""",
    """MERGE INTO t USING (SELECT i AS id FROM range(0, 10) r(i)) s ON t.id = s.id
       WHEN MATCHED THEN DELETE""",
    """MERGE INTO t USING (SELECT 44 AS id UNION ALL SELECT 99) s ON t.id = s.id
       WHEN MATCHED THEN UPDATE SET v = 'last' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new')""",
    inline=0)

TRANSACTIONS = history(
    "del_in_transactions", TABLE, "CREATE TABLE other (id INTEGER)",
    "BEGIN; " + THIRTY + "; INSERT INTO other SELECT i FROM range(20) r(i); COMMIT",
    "BEGIN; DELETE FROM t WHERE id < 5; INSERT INTO t SELECT i, 'n' FROM range(40, 55) r(i); COMMIT",
    "BEGIN; INSERT INTO t SELECT i, 'gone' FROM range(60, 80) r(i); DELETE FROM t WHERE v = 'gone'; "
    "DELETE FROM other WHERE id = 1; COMMIT",
    "BEGIN; DELETE FROM t WHERE id < 10; DELETE FROM t WHERE id < 15; UPDATE t SET v = 'u' WHERE "
    "id = 20; COMMIT",
    "BEGIN; DELETE FROM t; ROLLBACK", "DELETE FROM t WHERE false",
    "BEGIN; CREATE TABLE made AS SELECT * FROM t; DELETE FROM made WHERE id > 20; COMMIT", inline=0)

MANY_FILES = history(
    "del_across_files", TABLE,
    *[f"INSERT INTO t SELECT i, 'f{n}' FROM range({n * 20}, {n * 20 + 20}) r(i)" for n in range(5)],
    "DELETE FROM t WHERE id % 20 = 7", "DELETE FROM t WHERE id % 20 IN (7, 8, 9)",
    "UPDATE t SET v = 'u' WHERE id % 20 = 0", "DELETE FROM t WHERE v = 'u' AND id > 30", inline=0)

DUPLICATES = history(
    "del_duplicate_rows", TABLE, "INSERT INTO t SELECT 1, 'same' FROM range(15) r(i)",
    "INSERT INTO t SELECT 1, 'same' FROM range(15) r(i)",
    "DELETE FROM t WHERE rowid IN (0, 3, 20)", "UPDATE t SET v = 'one' WHERE rowid = 5",
    "DELETE FROM t WHERE v = 'same'", inline=0)

LARGER = history(
    "del_larger_files", "CREATE TABLE t (id BIGINT, v VARCHAR)",
    "INSERT INTO t SELECT i, 'v' || i % 100 FROM range(20000) r(i)",
    "DELETE FROM t WHERE id % 3 = 0", "DELETE FROM t WHERE id % 3 = 1 AND id > 10000",
    "UPDATE t SET v = 'u' WHERE id % 1000 = 2", inline=0)

HISTORIES = [PLAIN, REPEATED, WHOLE_FILES, TRUNCATE, UPDATES, MERGES, TRANSACTIONS, MANY_FILES,
             DUPLICATES, LARGER]
