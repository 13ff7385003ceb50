# SPDX-License-Identifier: Apache-2.0
"""Statistics of what Iceberg clients add: DuckDB uses them, and never answers wrongly because of them."""
import datetime
import decimal
import io
import itertools
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lib.forge import Draft
from lib.spark import Spark
from lib.watch import Watch
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

_numbers = itertools.count(1)

# More than 16 code points that all rows share, of one byte, of several, and the last of all.
PREFIXES = {"ascii": "https://example.org/a/long/path/", "several bytes": "äöü€𝄞" * 5, "last": "\U0010ffff" * 20}
WORDS = Schema(NestedField(1, "id", LongType()), NestedField(2, "word", StringType()))


@pytest.fixture
def space(server):
    name = f"st{next(_numbers)}"
    server.lake.session().execute(f"CREATE SCHEMA lake.{name}")
    return name


@pytest.fixture
def catalog(clients):
    return clients[0].catalog


@pytest.fixture
def watch(server, clients, space):
    with Watch(server, clients, space, "t") as watching:
        yield watching


@pytest.fixture(scope="module")
def spark(server):
    client = Spark(server)
    yield client
    client.close()


def words(start: int, stop: int, prefix: str) -> pa.Table:
    return pa.table({"id": pa.array(range(start, stop), pa.int64()),
                     "word": pa.array([f"{prefix}{i:06}" for i in range(start, stop)], pa.string())})


def table_row(watch, column: str) -> tuple | None:
    """contains_null, contains_nan, min_value, max_value that DuckLake has for the whole table."""
    found = watch.lake.rows(
        "SELECT s.contains_null, s.contains_nan, s.min_value, s.max_value FROM ducklake_table_column_stats s "
        "JOIN ducklake_column c USING (table_id, column_id) JOIN ducklake_table t USING (table_id) "
        "JOIN ducklake_schema h USING (schema_id) WHERE schema_name = %s AND table_name = %s AND column_name = %s "
        "AND c.end_snapshot IS NULL AND t.end_snapshot IS NULL", watch.schema, watch.table, column)
    return found[0] if found else None


def file_rows(watch, column: str) -> list[tuple]:
    """value_count, null_count, min_value, max_value, contains_nan by file."""
    return watch.lake.rows(
        "SELECT s.value_count, s.null_count, s.min_value, s.max_value, s.contains_nan FROM "
        "ducklake_file_column_stats s JOIN ducklake_column c USING (table_id, column_id) "
        "JOIN ducklake_table t USING (table_id) JOIN ducklake_schema h USING (schema_id) WHERE schema_name = %s AND "
        "table_name = %s AND column_name = %s AND c.end_snapshot IS NULL AND t.end_snapshot IS NULL "
        "ORDER BY data_file_id", watch.schema, watch.table, column)


def files_read(watch, condition: str) -> int:
    """How many files DuckDB opens for a filter; 0 where statistics alone answer."""
    plan = watch.lake.session().execute(
        f"EXPLAIN ANALYZE SELECT * FROM {watch.name} WHERE {condition}").fetchall()[0][1]
    found = re.search(r"Total Files Read:\s+(\d+)", plan)
    if found:
        return int(found[1])
    assert "EMPTY_RESULT" in plan, plan
    return 0


def gets(server) -> float:
    return sum(v for n, v in server.metrics().items()
               if n.startswith('duckicelake_s3_calls_total{operation="get"'))


@pytest.mark.parametrize("prefix", PREFIXES)
def test_long_strings_of_pyiceberg_are_known_whole(catalog, watch, space, prefix):
    text = PREFIXES[prefix]
    table = catalog.create_table((space, "t"), WORDS)
    for start in (0, 100, 200):
        table.append(words(start, start + 10, text))
        watch.check(f"appended at {start}")
    assert table_row(watch, "word") == (False, None, f"{text}000000", f"{text}000209")
    assert [row[2:4] for row in file_rows(watch, "word")] == [
        (f"{text}{n:06}", f"{text}{n + 9:06}") for n in (0, 100, 200)]
    assert files_read(watch, f"word = '{text}000105'") == 1
    assert files_read(watch, f"word > '{text}000150'") == 1
    assert files_read(watch, f"word < '{text}'") == 0
    assert files_read(watch, "true") == 3
    watch.everything()


def test_long_strings_of_spark_prune_files(spark, watch, space):
    """The footers of its library do not say that bounds are whole: they prune, and answer nothing else."""
    text = PREFIXES["ascii"]
    spark.sql(f"CREATE TABLE ice.{space}.t (id BIGINT, word STRING, price DOUBLE, raw BINARY)")
    for start in (0, 100, 200):
        spark.sql(f"INSERT INTO ice.{space}.t SELECT /*+ COALESCE(1) */ id, concat('{text}', lpad(id, 6, '0')), "
                  f"CASE id % 3 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN -0.0D ELSE id END, "
                  f"CAST(concat('{text}', id) AS BINARY) FROM range({start}, {start + 10})")
        watch.check(f"inserted at {start}")
    assert [row[2:4] for row in file_rows(watch, "word")] == [
        (f"{text}{n:06}", f"{text}{n + 9:06}") for n in (0, 100, 200)]
    assert table_row(watch, "word") is None
    assert files_read(watch, f"word = '{text}000105'") == 1
    # Nobody's word is needed where all values are one.
    spark.sql(f"CREATE TABLE ice.{space}.same AS SELECT id, '{text}' AS word FROM range(4)")
    watch.table = "same"
    assert table_row(watch, "word") == (False, None, text, text)


ALL = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "raw", BinaryType()), NestedField(3, "price", DecimalType(30, 6)),
    NestedField(4, "single", FloatType()), NestedField(5, "double", DoubleType()), NestedField(6, "nothing", StringType()),
    NestedField(7, "at", TimestampType()), NestedField(8, "point", StructType(
        NestedField(9, "name", StringType()), NestedField(10, "x", DoubleType()))))


def every_kind(start: int, floats: list) -> pa.Table:
    count, text = len(floats), PREFIXES["several bytes"]
    return pa.table({
        "id": pa.array(range(start, start + count), pa.int64()),
        "raw": pa.array([bytes([255] * (15 + i)) for i in range(count)], pa.binary()),
        "price": pa.array([decimal.Decimal(start - i) / 8 for i in range(count)], pa.decimal128(30, 6)),
        "single": pa.array(floats, pa.float32()), "double": pa.array(floats, pa.float64()),
        "nothing": pa.nulls(count, pa.string()),
        "at": pa.array([datetime.datetime(1969, 12, 31) + datetime.timedelta(days=start + i) for i in range(count)],
                       pa.timestamp("us")),
        "point": pa.array([{"name": f"{text}{start + i}", "x": floats[i]} if i else None for i in range(count)],
                          pa.struct([("name", pa.string()), ("x", pa.float64())]))})


def test_every_kind_of_value_answers_as_a_full_scan(catalog, watch, space):
    # Where a file has NaN it has infinity too: see docs/formats/clients.md.
    inf, nan = float("inf"), float("nan")
    table = catalog.create_table((space, "t"), ALL)
    watch.check("created")
    for number, floats in enumerate(([0.0, -0.0, 1.5], [nan, nan], [-inf, None, 3.25, -inf, -inf], [None, None],
                                     [inf, -1e300, nan], [-0.0], [0.0])):
        table.append(every_kind(100 * number, floats))
        watch.check(f"appended {floats}")
    watch.lake.session(DATA_INLINING_ROW_LIMIT=0).execute(
        f"INSERT INTO {watch.name} SELECT * FROM {watch.name} WHERE id < 102")
    watch.check("DuckDB")
    table.refresh()
    table.append(every_kind(2000, [5.5, inf, nan]))
    watch.everything()
    text = PREFIXES["several bytes"]
    assert file_rows(watch, "name")[2][2:4] == (f"{text}201", f"{text}204")
    assert table_row(watch, "name") == (True, None, f"{text}1", f"{text}402")
    assert table_row(watch, "at")[2].startswith("1969-12-31")
    assert table_row(watch, "nothing") == (True, None, None, None)
    # Whether NaN is among them the client does not say.
    assert table_row(watch, "double") is None


def test_empty_files_and_empty_row_groups(catalog, watch, space):
    table = catalog.create_table((space, "t"), WORDS)
    table.append(words(0, 0, "x"))
    watch.check("no rows")
    table.append(words(5, 9, PREFIXES["ascii"]))
    watch.check("some rows")
    assert table_row(watch, "word")[2:] == (PREFIXES["ascii"] + "000005", PREFIXES["ascii"] + "000008")


def test_a_column_that_is_added_later(catalog, watch, space):
    table = catalog.create_table((space, "t"), WORDS)
    table.append(words(0, 5, PREFIXES["ascii"]))
    with table.update_schema() as update:
        update.add_column("more", StringType())
    watch.check("column added")
    table.append(words(5, 9, PREFIXES["ascii"]).append_column("more", pa.array(["m" * 30] * 4)))
    watch.check("written")
    assert [row[:4] for row in file_rows(watch, "more")] == [(4, 0, "m" * 30, "m" * 30)]
    assert table_row(watch, "word")[3] == PREFIXES["ascii"] + "000008"


def test_strings_that_ducklake_cannot_write_down_hide_no_others(catalog, watch, space):
    """DuckLake has no bounds for a string with NUL, and its row of the table then looks as if there were none."""
    watch.lake.session().execute(f"CREATE TABLE {watch.name} (id BIGINT, word VARCHAR)")
    watch.lake.session(DATA_INLINING_ROW_LIMIT=0).execute(f"INSERT INTO {watch.name} SELECT 1, 'zz' || chr(0)")
    watch.check("DuckDB")
    catalog.load_table((space, "t")).append(words(3, 5, "m"))
    watch.check("appended")
    assert table_row(watch, "word") is None


def test_what_reading_footers_costs(server, catalog, watch, space):
    """A call for each file whose statistics leave something open, and none where they are exact."""
    table = catalog.create_table((space, "t"), WORDS)
    table.append(pa.table({"id": pa.array([1, 2], pa.int64()), "word": ["same", "same"]}))

    def cost(*texts: str) -> float:
        rows = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "word": list(texts)})
        draft = Draft(server, space, "t", lambda t: t.append(rows))
        before = gets(server)
        assert draft.post().status_code == 200
        return gets(server) - before
    exact = cost("same", "same")
    assert cost("a", "b") == exact + 1
    assert cost("a" * 40, "b" * 40) == exact + 1
    assert cost("x" * 10, "x" * 10) == exact
    watch.check("at the end")


# -- clients that are wrong -----------------------------------------------------------------------

@pytest.fixture
def draft(server, catalog, watch, space):
    """A commit of ten long words that was not sent."""
    table = catalog.create_table((space, "t"), WORDS)
    table.append(words(0, 5, "first "))
    return Draft(server, space, "t", lambda t: t.append(words(1000, 1010, PREFIXES["ascii"])))


def change_file(draft: Draft, change) -> None:
    def edit(records, _header):
        for record in records:
            change(record["data_file"])
    draft.edit_manifests(edit)


def data_file(draft: Draft) -> str:
    _, records, _ = draft.avro(draft.new_manifests()[0]["manifest_path"])
    return records[0]["data_file"]["file_path"]


def overwrite(draft: Draft, change) -> None:
    """Changes the bytes of the commit's data file, and its size in the manifest."""
    uri = data_file(draft)
    content = change(draft.bytes(uri))
    bucket, key = uri.removeprefix("s3://").split("/", 1)
    draft._s3.put_object(Bucket=bucket, Key=key, Body=content)
    change_file(draft, lambda f: f.update(file_size_in_bytes=len(content)))


def metrics(file: dict, name: str, values: dict) -> None:
    for item in file[name]:
        if item["key"] in values:
            item["value"] = values[item["key"]]


def test_bounds_that_leave_values_out_are_not_believed(draft, watch):
    def lie(file):
        metrics(file, "lower_bounds", {2: b"m"})
        metrics(file, "upper_bounds", {2: b"n"})
        metrics(file, "null_value_counts", {2: 3})
    change_file(draft, lie)
    assert draft.post().status_code == 200
    watch.check("committed")
    text = PREFIXES["ascii"]
    assert table_row(watch, "word")[2:] == ("first 000000", f"{text}001009")
    # Nor are they handed on to other readers.
    for reader in watch.readers:
        found = reader.load(watch.schema, "t") if hasattr(reader, "load") else None
        if found is not None:
            assert len(found.scan(row_filter=f"word = '{text}001004'").to_arrow()) == 1
            assert len(found.scan(row_filter="word is null").to_arrow()) == 0


@pytest.mark.parametrize("rows", (9, 11, 0, 10_000_000))
def test_another_number_of_rows_is_refused(draft, watch, rows):
    def lie(records, _header):
        for record in records:
            record["data_file"]["record_count"] = rows
    draft.edit_manifests(lie)
    draft.edit_list(lambda records, _h: [r.update(added_rows_count=rows) for r in records
                                         if r["added_snapshot_id"] == draft.snapshot["snapshot-id"]] and None)
    answer = draft.post()
    assert answer.status_code == 400 and "10 rows" in answer.json()["error"]["message"], answer.text
    watch.check("refused")


@pytest.mark.parametrize("by", (-1, 1, -8, 100_000))
def test_another_size_is_refused(draft, watch, by):
    change_file(draft, lambda f: f.update(file_size_in_bytes=f["file_size_in_bytes"] + by))
    answer = draft.post()
    assert answer.status_code == 400 and "file_size_in_bytes" in answer.json()["error"]["message"], answer.text
    watch.check("refused")


def garbage(file: bytes) -> bytes:
    length = int.from_bytes(file[-8:-4], "little")
    return file[:-8 - length] + b"\xff" * length + file[-8:]


HOSTILE = {
    "no footer": lambda file: file[:-8] + b"\0" * 8,
    "encrypted": lambda file: file[:-1] + b"E",
    "a length beyond the file": lambda file: file[:-8] + b"\xff\xff\xff\x7f" + file[-4:],
    "a length into the data": lambda file: file[:-8] + (len(file) - 20).to_bytes(4, "little") + file[-4:],
    "garbage": garbage,
    "only the magic": lambda _: b"PAR1",
    "empty": lambda _: b"",
    "text": lambda _: b"t" * 100_000,
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_footer_that_cannot_be_read_is_the_readers_matter(server, draft, watch, how):
    """The commit stands as without it, its client's bounds are bounds of the file alone, and a scan fails loudly."""
    overwrite(draft, HOSTILE[how])
    assert draft.post().status_code == 200
    assert table_row(watch, "word") is None
    assert file_rows(watch, "word")[-1][2] == PREFIXES["ascii"][:16]
    with pytest.raises(Exception):
        watch.lake.session().execute(f"SELECT * FROM {watch.name}").fetchall()
    assert server.load(watch.schema, "t")["metadata"]["current-snapshot-id"]


def test_a_missing_file_is_the_readers_matter(draft, watch):
    bucket, key = data_file(draft).removeprefix("s3://").split("/", 1)
    draft._s3.delete_object(Bucket=bucket, Key=key)
    assert draft.post().status_code == 200
    assert table_row(watch, "word") is None


def test_the_footer_of_another_file_is_believed(draft, watch):
    """What its pages hold is what readers get, so is what its footer says."""
    out = io.BytesIO()
    other = words(5000, 5010, "other ")
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
                        pa.field("word", pa.string(), metadata={"PARQUET:field_id": "2"})])
    pq.write_table(other.cast(schema), out)
    overwrite(draft, lambda _: out.getvalue())
    assert draft.post().status_code == 200
    watch.check("committed")
    assert table_row(watch, "word")[2:] == ("first 000000", "other 005009")


def test_a_file_without_the_column_has_nulls(draft, watch):
    out = io.BytesIO()
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    pq.write_table(words(1000, 1010, "").select(["id"]).cast(schema), out)
    overwrite(draft, lambda _: out.getvalue())
    assert draft.post().status_code == 200
    watch.check("committed")
    assert table_row(watch, "word") == (True, None, "first 000000", "first 000004")
    assert file_rows(watch, "word")[-1][:2] == (0, 10)


def test_more_files_than_are_looked_at(server, catalog, watch, space):
    """Beyond the limit a commit costs what it did, and what is not known is not used."""
    table = catalog.create_table((space, "t"), WORDS)
    table.append(words(0, 5, "first "))
    draft = Draft(server, space, "t", lambda t: t.append(words(7, 9, PREFIXES["ascii"])))
    source = draft.bytes(data_file(draft))

    def many(records, _header):
        first = json.dumps(records[0], default=lambda b: {"bytes": list(b)})
        records.clear()
        for number in range(300):
            record = json.loads(first, object_hook=lambda d: bytes(d["bytes"]) if set(d) == {"bytes"} else d)
            path = record["data_file"]["file_path"].replace(".parquet", f"-{number}.parquet")
            bucket, key = path.removeprefix("s3://").split("/", 1)
            draft._s3.put_object(Bucket=bucket, Key=key, Body=source)
            record["data_file"]["file_path"] = path
            records.append(record)
    draft.edit_manifests(many)
    before = gets(server)
    assert draft.post().status_code == 200
    assert gets(server) - before < 20
    assert table_row(watch, "word") is None
    watch.check("committed")
