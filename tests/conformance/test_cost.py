# SPDX-License-Identifier: Apache-2.0
"""What one more append costs on a large table, counted; and that a small table's load does not
depend on the size of others."""
import re
import time

import pytest
from lib.server import eventually
from lib.soak import SOAK, size

FILES, SNAPSHOTS = size(1500, 10_000), size(150, 1000)
STATS_FILES, STATS_COLUMNS, OLD_SNAPSHOTS = size(20_000, 1_000_000), size(5, 50), size(2000, 100_000)


def objects(server, prefix: str) -> dict[str, str]:
    """Keys below a prefix of the bucket, with their ETags."""
    found, store, bucket = {}, server.lake.s3(), server.lake.env["DUCKICELAKE_S3_BUCKET"]
    for page in store.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        found |= {o["Key"]: o["ETag"] for o in page.get("Contents", [])}
    return found


def rows_read(server) -> float:
    found = [v for n, v in server.metrics().items() if re.match(r"duckicelake_\w*rows_read", n)]
    assert found, "the server does not count the PostgreSQL rows that it reads"
    return sum(found)


def grow(server, table_id: int, files: int, snapshots: int) -> None:
    """Adds `snapshots` snapshots with `files` data files in all, as DuckLake rows.

    The files are copies of one row of ducklake_data_file: nobody opens them here.
    """
    each = files // snapshots
    with server.lake.connect() as connection, connection.transaction():
        head, version, catalog, next_file = connection.execute(
            "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot "
            "ORDER BY 1 DESC LIMIT 1").fetchone()
        connection.execute(
            "INSERT INTO ducklake_snapshot SELECT %s + n, now(), %s, %s, %s + n * %s "
            "FROM generate_series(1, %s) n", (head, version, catalog, next_file, each, snapshots))
        connection.execute(
            "INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made) SELECT %s + n, %s "
            "FROM generate_series(1, %s) n", (head, f"inserted_into_table:{table_id}", snapshots))
        connection.execute(
            "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
            "path_is_relative, file_format, record_count, file_size_bytes, row_id_start) "
            "SELECT %s + n, %s, %s + 1 + n / %s, 'grown-' || n || '.parquet', true, 'parquet', 20, "
            "500, 1000 + n * 20 FROM generate_series(0, %s) n",
            (next_file, table_id, head, each, files - 1))
        connection.execute(
            "INSERT INTO ducklake_file_column_stats (data_file_id, table_id, column_id, value_count, "
            "null_count, min_value, max_value) SELECT %s + n, %s, 1, 20, 0, n::text, (n + 20)::text "
            "FROM generate_series(0, %s) n", (next_file, table_id, files - 1))
        connection.execute(
            "UPDATE ducklake_table_stats SET record_count = record_count + %s, next_row_id = "
            "next_row_id + %s WHERE table_id = %s", (files * 20, 1000 + files * 20, table_id))


def test_one_more_append_costs_what_it_changes(fresh_server):
    server = fresh_server
    duck = server.lake.duckdb(DATA_INLINING_ROW_LIMIT=0)
    duck.execute("CREATE SCHEMA lake.big; CREATE TABLE lake.big.t (id INTEGER)")
    duck.execute("INSERT INTO lake.big.t SELECT i FROM range(20) r(i)")
    table_id = server.lake.rows("SELECT table_id FROM ducklake_table WHERE table_name = 't'")[0][0]
    grow(server, table_id, FILES, SNAPSHOTS)

    began = time.monotonic()
    first = server.load("big", "t", timeout=600)
    print(f"\nfirst projection of {FILES} files in {SNAPSHOTS} snapshots: "
          f"{time.monotonic() - began:.1f} s, resident {server.rss_bytes() >> 20} MiB")
    assert len(first["metadata"]["snapshots"]) == SNAPSHOTS + 1

    location = first["metadata"]["location"].removeprefix("s3://").split("/", 1)[1]
    for turn in range(3):
        before, read = objects(server, location + "/metadata/"), rows_read(server)
        duck.execute(f"INSERT INTO lake.big.t SELECT i FROM range({turn * 20}, {turn * 20 + 20}) r(i)")
        loaded = server.load("big", "t")
        assert len(loaded["metadata"]["snapshots"]) == SNAPSHOTS + 2 + turn
        after = objects(server, location + "/metadata/")
        new = [key.rsplit("/", 1)[-1] for key in after.keys() - before.keys()]
        new = [n for n in new if n != "version-hint.text"]  # one for a table, a moment late
        assert sum(n.endswith(".metadata.json") for n in new) == 1, new
        assert sum(n.startswith("snap-") for n in new) == 1, new
        assert len(new) <= 3, new
        changed = {k.rsplit("/", 1)[-1] for k in before if before[k] != after.get(k)}
        assert changed <= {"version-hint.text"}, changed
        cost = rows_read(server) - read
        print(f"append {turn}: {len(new)} new objects, {cost:.0f} PostgreSQL rows read")
        assert cost <= 60, f"{cost} rows for one changed file"
    duck.close()


@pytest.fixture
def crowded(fresh_server):
    """A lake with a small table beside the statistics of very many files of another."""
    server = fresh_server
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.small (id INTEGER, v VARCHAR)")
    duck.execute("INSERT INTO lake.s.small SELECT i, 'v' FROM range(30) r(i)")
    with server.lake.connect() as connection:
        connection.execute("SET synchronous_commit = off")
        with connection.transaction():
            connection.execute(
                "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
                "path_is_relative, file_format, record_count, file_size_bytes, row_id_start) SELECT "
                "1000000 + n, 999999, 3, n || '.parquet', true, 'parquet', 20, 500, n * 20 FROM "
                "generate_series(1, %s) n", (STATS_FILES,))
            connection.execute(
                "INSERT INTO ducklake_file_column_stats (data_file_id, table_id, column_id, "
                "value_count, null_count, min_value, max_value) SELECT 1000000 + n, 999999, c, 20, 0, "
                "'0', '9' FROM generate_series(1, %s) n, generate_series(1, %s) c",
                (STATS_FILES, STATS_COLUMNS))
            connection.execute(
                "INSERT INTO ducklake_snapshot SELECT 3 + n, now(), 9, 50, 2000000 + n FROM "
                "generate_series(1, %s) n ON CONFLICT DO NOTHING", (OLD_SNAPSHOTS,))
            connection.execute(
                "INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made) SELECT 3 + n, "
                "'inserted_into_table:999999' FROM generate_series(1, %s) n ON CONFLICT DO NOTHING",
                (OLD_SNAPSHOTS,))
        connection.execute("ANALYZE")
    return server


def scanned(server) -> dict[str, int]:
    """Rows that sequential scans have read, by table."""
    server.lake.rows("SELECT pg_stat_clear_snapshot()")
    return dict(server.lake.rows("SELECT relname, seq_tup_read FROM pg_stat_user_tables"))


def test_a46_a_small_tables_load_does_not_read_the_others(crowded):
    server = crowded
    server.load("s", "small")  # takes in the snapshots that it has not seen
    duck = server.lake.session()
    eventually("statistics are still", lambda: scanned(server) == scanned(server))
    before = scanned(server)
    for n in range(3):
        duck.execute(f"INSERT INTO lake.s.small SELECT i, 'w' FROM range({n * 20}, {n * 20 + 20}) r(i)")
        server.load("s", "small")
    server.stop()  # a session's statistics are flushed when it ends, at the latest
    after = scanned(server)
    server.start()
    duck_reads = {"ducklake_snapshot"}  # DuckDB's own look for the newest one
    heavy = {name: after[name] - before.get(name, 0) for name in (
        "ducklake_file_column_stats", "ducklake_data_file") if name not in duck_reads}
    limit = STATS_FILES  # less than one scan of either table
    assert all(rows < limit for rows in heavy.values()), heavy


@pytest.mark.skipif(not SOAK, reason="a figure about time: only the long run has the sizes for it")
def test_a46_latency_does_not_follow_the_catalogs_size(crowded):
    server = crowded
    server.load("s", "small")
    times = []
    for n in range(20):
        server.lake.session().execute(f"INSERT INTO lake.s.small VALUES ({n}, 'x')")
        began = time.monotonic()
        server.load("s", "small")
        times.append(time.monotonic() - began)
    assert sorted(times)[10] < 1.0, times
