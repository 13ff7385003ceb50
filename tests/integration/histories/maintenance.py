# SPDX-License-Identifier: Apache-2.0
"""Flush, merge, rewrite, expire and cleanup: rows stay, history moves."""
from lib.history import history

TABLE = "CREATE TABLE t (id INTEGER, v VARCHAR)"
FLUSH = "CALL ducklake_flush_inlined_data('lake', schema_name => '$S', table_name => 't')"
MERGE = "CALL ducklake_merge_adjacent_files('lake', 't', schema => '$S')"
REWRITE = "CALL ducklake_rewrite_data_files('lake', 't', schema => '$S', delete_threshold => 0.1)"
EXPIRE = "CALL ducklake_expire_snapshots('lake', older_than => now())"
CLEANUP = "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)"
ORPHANS = "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)"


def insert(start: int, count: int = 15, word: str = "v") -> str:
    return f"INSERT INTO t SELECT i, '{word}' || i FROM range({start}, {start + count}) r(i)"


MERGED = history(
    "mnt_merge", TABLE, insert(0), insert(20), insert(40), MERGE, insert(60), insert(80), MERGE,
    "DELETE FROM t WHERE id % 10 = 1", inline=0, spark=True)

MERGED_DELETES = history(
    "mnt_merge_with_deletes", TABLE, insert(0), insert(20), "DELETE FROM t WHERE id = 3", insert(40),
    MERGE, "DELETE FROM t WHERE id = 25", insert(60), MERGE, "UPDATE t SET v = 'u' WHERE id = 41",
    MERGE, inline=0)

REWRITTEN = history(
    "mnt_rewrite", TABLE, insert(0, 40), "DELETE FROM t WHERE id % 2 = 0", REWRITE, insert(50),
    "DELETE FROM t WHERE id % 3 = 0", REWRITE, "DELETE FROM t WHERE id = 1", MERGE,
    inline=0, spark=True)

REPEATED_THEN_REWRITTEN = history(
    "mnt_rewrite_after_repeated_deletes", TABLE, insert(0, 60),
    *[f"DELETE FROM t WHERE id % 7 = {n}" for n in range(4)], REWRITE,
    "DELETE FROM t WHERE id % 7 = 4", "DELETE FROM t WHERE id % 7 = 5", REWRITE, inline=0)

FLUSH_THEN_MERGE = history(
    "mnt_flush_merge_rewrite", TABLE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO t VALUES (3, 'c')", FLUSH, "INSERT INTO t VALUES (4, 'd')", insert(20), FLUSH, MERGE,
    "DELETE FROM t WHERE id = 3", "UPDATE t SET v = 'x' WHERE id = 2", FLUSH, REWRITE, MERGE)

PARTITIONED = history(
    "mnt_partitioned", "CREATE TABLE t (id INTEGER, v VARCHAR)", "ALTER TABLE t SET PARTITIONED BY (v)",
    *[f"INSERT INTO t SELECT i, 'p' || i % 3 FROM range({n}, {n + 20}) r(i)" for n in (0, 20, 40)],
    MERGE, "DELETE FROM t WHERE id % 4 = 0", REWRITE, MERGE,
    "INSERT INTO t SELECT i, 'p1' FROM range(90, 105) r(i)", inline=0)

EVOLVED = history(
    "mnt_merge_across_schemas", TABLE, insert(0), insert(15), "ALTER TABLE t ADD COLUMN n INTEGER",
    "INSERT INTO t SELECT i, 'n', i FROM range(40, 55) r(i)",
    "INSERT INTO t SELECT i, 'n', i FROM range(55, 70) r(i)", MERGE, "DELETE FROM t WHERE id % 5 = 0",
    "ALTER TABLE t RENAME COLUMN v TO w", REWRITE, MERGE, inline=0)

EXPIRED = history(
    "mnt_expire", TABLE, insert(0), insert(20), "DELETE FROM t WHERE id < 5", EXPIRE, insert(40),
    "DELETE FROM t WHERE id BETWEEN 20 AND 25", EXPIRE, CLEANUP, insert(60),
    own_lake=True, inline=0)

EXPIRED_MERGED = history(
    "mnt_merge_expire_cleanup", TABLE, insert(0), insert(20), insert(40), MERGE, CLEANUP, insert(60),
    "DELETE FROM t WHERE id % 2 = 0", REWRITE, EXPIRE, CLEANUP, ORPHANS, insert(80), MERGE, CLEANUP,
    own_lake=True, inline=0)

EXPIRED_INLINED = history(
    "mnt_expire_inlined", TABLE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "DELETE FROM t WHERE id = 1",
    insert(20), "DELETE FROM t WHERE id = 21", "UPDATE t SET v = 'u' WHERE id = 2", EXPIRE, FLUSH,
    EXPIRE, CLEANUP, ORPHANS, "INSERT INTO t VALUES (3, 'c')", own_lake=True)

# The table's own last change is older than every snapshot that is left.
EXPIRED_BY_OTHERS = history(
    "mnt_expire_under_quiet_table", TABLE, insert(0), "DELETE FROM t WHERE id = 3",
    "CREATE TABLE other (id INTEGER)", "INSERT INTO other SELECT i FROM range(20) r(i)",
    "INSERT INTO other SELECT i FROM range(20) r(i)", EXPIRE, CLEANUP, ORPHANS,
    "INSERT INTO other SELECT i FROM range(20) r(i)", insert(50), own_lake=True, inline=0)

DROPPED = history(
    "mnt_expire_dropped_table", TABLE, insert(0), "DROP TABLE t", "CREATE TABLE t (id INTEGER, v VARCHAR)",
    insert(100), EXPIRE, CLEANUP, insert(120), "DELETE FROM t WHERE id = 100", EXPIRE, CLEANUP,
    own_lake=True, inline=0)

CHECKPOINT = history(
    "mnt_checkpoint", TABLE, insert(0), "INSERT INTO t VALUES (90, 'small')",
    "DELETE FROM t WHERE id < 12", "CHECKPOINT lake", insert(20), "DELETE FROM t WHERE id = 20",
    "CHECKPOINT lake", "INSERT INTO t VALUES (91, 'small')", own_lake=True)

HISTORIES = [MERGED, MERGED_DELETES, REWRITTEN, REPEATED_THEN_REWRITTEN, FLUSH_THEN_MERGE, PARTITIONED,
             EVOLVED, EXPIRED, EXPIRED_MERGED, EXPIRED_INLINED, EXPIRED_BY_OTHERS, DROPPED, CHECKPOINT]
