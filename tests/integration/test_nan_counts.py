# SPDX-License-Identifier: Apache-2.0
"""NaN of files whose writers do not say whether they have any: counted by one process, then used by DuckDB."""
import io
import re

import fastavro
import pyarrow as pa
import pytest
from lib.clients import PyIceberg
from lib.lakes import Lake
from lib.server import Server, command, eventually
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, ListType, LongType, NestedField, StructType

NAN, INF = float("nan"), float("inf")
SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "x", DoubleType()),
                NestedField(3, "point", StructType(NestedField(5, "y", FloatType()))),
                NestedField(4, "all", ListType(6, DoubleType(), element_required=False)))
BATCHES = ([1.0, 2.0], [NAN, 7.0, NAN], [None, None], [-INF, INF, 0.0], [-0.0], [NAN])


def rows(values: list) -> pa.Table:
    return pa.table({
        "id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, pa.float64()),
        "point": pa.array([{"y": v} for v in values], pa.struct([("y", pa.float32())])),
        "all": pa.array([[v] for v in values], pa.list_(pa.float64()))})


@pytest.fixture
def lake(stack):
    made = Lake(stack)
    done = command(made, "init")
    assert done.returncode == 0, f"init: {done.stdout}\n{done.stderr}"
    made.session().execute("CREATE SCHEMA lake.s")
    yield made
    made.close()


def counting_server(lake) -> Server:
    return Server(lake, DUCKICELAKE_DISABLE_NAN_COUNTS="0").start()


@pytest.fixture
def server(lake):
    running = counting_server(lake)
    yield running
    assert running.stop() == 0


def create(server, name: str = "t", batches=BATCHES):
    table = PyIceberg(server).catalog.create_table(("s", name), SCHEMA)
    for values in batches:
        table.append(rows(values))
    return table


def flags(lake, column: str = "x") -> list:
    return [row[0] for row in lake.rows(
        "SELECT s.contains_nan FROM ducklake_file_column_stats s JOIN ducklake_column c USING (table_id, column_id) "
        "JOIN ducklake_data_file f USING (data_file_id) WHERE c.column_name = %s AND f.end_snapshot IS NULL "
        "AND c.end_snapshot IS NULL ORDER BY data_file_id", column)]


def counts(lake, column: int) -> list:
    return [row[0] for row in lake.rows(
        "SELECT nan_count FROM duckicelake.nan_count WHERE column_id = %s ORDER BY data_file_id", column)]


def is_done(lake) -> bool:
    found = lake.rows("SELECT max(data_file_id), (SELECT max(through_file) FROM duckicelake.nan_progress) "
                      "FROM ducklake_data_file")
    return found[0][0] == found[0][1]


def has_nan(values: list) -> bool:
    return any(v is not None and v != v for v in values)


def files_read(lake, condition: str) -> int:
    plan = lake.session().execute(f"EXPLAIN ANALYZE SELECT * FROM lake.s.t WHERE {condition}").fetchall()[0][1]
    found = re.search(r"Total Files Read:\s+(\d+)", plan)
    return int(found[1]) if found else 0


def metric(server, name: str) -> float:
    return sum(v for n, v in server.metrics().items() if n.startswith(f"duckicelake_nan_{name}"))


def test_files_are_counted_and_duckdb_prunes_by_it(lake, server):
    create(server)
    eventually("all files are counted", lambda: is_done(lake))
    truth = [has_nan(values) for values in BATCHES]
    assert flags(lake, "x") == flags(lake, "y") == truth
    # A file of nulls alone needs no counting.
    expected = [sum(1 for v in values if v is not None and v != v) for values in BATCHES if values != [None, None]]
    assert counts(lake, 2) == counts(lake, 5) == expected
    assert not counts(lake, 6) and not counts(lake, 1)
    assert metric(server, "files_counted_total") == len(expected) and metric(server, "files_passed_total") == 0
    assert metric(server, "leader") == 1
    # 7.0, NaN, infinity: NaN is above all numbers.
    assert files_read(lake, "x > 5") == 3
    found = lake.session().execute("SELECT count(*) FROM lake.s.t WHERE x > 5").fetchone()[0]
    assert found == sum(1 for values in BATCHES for v in values if v is not None and (v != v or v > 5))
    # What is added later is counted later.
    PyIceberg(server).catalog.load_table(("s", "t")).append(rows([NAN, 1.0]))
    eventually("the new file is counted", lambda: is_done(lake))
    assert flags(lake) == [*truth, True]


def test_what_was_missed_is_counted_after_the_start(lake):
    quiet = Server(lake).start()
    try:
        create(quiet)
        assert metric(quiet, "leader") == 0
    finally:
        assert quiet.stop() == 0
    assert flags(lake) == [None, None, False, None, None, None]
    server = counting_server(lake)
    try:
        eventually("all files are counted", lambda: is_done(lake))
        assert flags(lake) == [has_nan(values) for values in BATCHES]
    finally:
        assert server.stop() == 0


def test_one_of_two_processes_counts(lake):
    pair = [counting_server(lake) for _ in range(2)]
    try:
        create(pair[0])
        eventually("all files are counted", lambda: is_done(lake))
        assert sum(metric(s, "files_counted_total") for s in pair) == 5
        assert sum(metric(s, "leader") for s in pair) == 1
        first = next(s for s in pair if metric(s, "leader"))
        other = next(s for s in pair if s is not first)
        first.kill()
        PyIceberg(other).catalog.load_table(("s", "t")).append(rows([NAN]))
        eventually("the other goes on", lambda: is_done(lake), seconds=60)
        assert flags(lake)[-1] is True
    finally:
        for running in pair:
            if running.process is not None:
                running.stop()


def test_files_that_cannot_be_read_are_passed(lake, server):
    quiet = Server(lake).start()
    try:
        table = create(quiet, batches=())
        server.stop()
        for values in BATCHES[:4]:
            table.append(rows(values))
        paths = [row["file_path"] for row in table.refresh().inspect.files().to_pylist()]
        by_id = [p for p, in lake.rows("SELECT path FROM ducklake_data_file ORDER BY data_file_id")]
        paths.sort(key=lambda p: next(i for i, end in enumerate(by_id) if p.endswith(end)))
        store = lake.s3()

        def place(uri: str) -> dict:
            bucket, key = uri.removeprefix("s3://").split("/", 1)
            return {"Bucket": bucket, "Key": key}
        store.delete_object(**place(paths[0]))
        size = store.head_object(**place(paths[1]))["ContentLength"]
        store.put_object(**place(paths[1]), Body=b"x" * size)
        server.start()
        eventually("all files were looked at", lambda: is_done(lake))
        assert flags(lake) == [None, None, False, False]
        assert metric(server, "files_passed_total") == 2 and metric(server, "files_counted_total") == 1
    finally:
        assert quiet.stop() == 0


def test_rows_that_a_compaction_removes_meanwhile_are_no_fault(lake, server):
    table = create(server)
    session = lake.session(DATA_INLINING_ROW_LIMIT=0)
    for number in range(6):
        table.refresh()
        table.append(rows([float(number), INF, NAN]))
        session.execute("CALL ducklake_merge_adjacent_files('lake', 't', schema => 's')")
        session.execute("DELETE FROM lake.s.t WHERE id = 99")
    eventually("all files were looked at", lambda: is_done(lake))
    assert None not in flags(lake)
    assert metric(server, "failures_total") == 0
    found = session.execute("SELECT count(*) FROM lake.s.t WHERE x > 5").fetchone()[0]
    assert found == 5 + 12
    assert PyIceberg(server).catalog.load_table(("s", "t")).scan().to_arrow().num_rows == 12 + 18


def test_metadata_that_is_made_anew_has_the_counts(lake, server):
    create(server)
    eventually("all files are counted", lambda: is_done(lake))
    assert server.stop() == 0
    with lake.connect() as connection:
        connection.execute("UPDATE duckicelake.table_state SET through_snapshot = 1000000")
    server.start()
    table = PyIceberg(server).catalog.load_table(("s", "t"))
    manifests = table.inspect.manifests().to_pylist()
    found = {}
    for manifest in manifests:
        bucket, key = manifest["path"].removeprefix("s3://").split("/", 1)
        body = lake.s3().get_object(Bucket=bucket, Key=key)["Body"].read()
        for entry in fastavro.reader(io.BytesIO(body)):
            file = entry["data_file"]
            found[file["file_path"]] = {m["key"]: m["value"] for m in file["nan_value_counts"] or []}
    assert len(found) == len(BATCHES)
    assert sorted(c[2] for c in found.values() if 2 in c) == sorted(counts(lake, 2))
    assert table.scan().to_arrow().num_rows == sum(len(values) for values in BATCHES)
    assert table.scan(row_filter="x > 5").to_arrow().num_rows >= 2
