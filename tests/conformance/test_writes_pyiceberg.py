# SPDX-License-Identifier: Apache-2.0
"""PyIceberg writes; DuckDB sees each commit at once and writes in between."""
import datetime
import decimal
import itertools
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lib.watch import Watch
from pyiceberg.exceptions import BadRequestError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

_numbers = itertools.count(1)
UTC = datetime.timezone.utc


@pytest.fixture
def space(server):
    name = f"wp{next(_numbers)}"
    server.lake.session().execute(f"CREATE SCHEMA lake.{name}")
    return name


@pytest.fixture
def catalog(clients):
    return clients[0].catalog


@pytest.fixture
def watch(server, clients, space):
    with Watch(server, clients, space, "t") as watching:
        yield watching


SMALL = Schema(NestedField(1, "id", LongType(), required=False),
               NestedField(2, "word", StringType(), required=False),
               NestedField(3, "day", DateType(), required=False),
               NestedField(4, "price", DoubleType(), required=False))
LONG = "a text that is much longer than sixteen characters, number "


def rows(start: int, stop: int, word=None) -> pa.Table:
    ids = range(start, stop)
    return pa.table({
        "id": pa.array(ids, pa.int64()),
        "word": pa.array([word or f"{LONG}{i % 7}" for i in ids], pa.string()),
        "day": pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 90) for i in ids]),
        "price": pa.array([i / 4 if i % 5 else None for i in ids], pa.float64())})


def duck(watch, sql: str, **options) -> None:
    session = watch.lake.session(**options)
    session.execute(sql.replace("$T", watch.name).replace("$S", watch.schema))


# -- creating -------------------------------------------------------------------------------------

ALL_TYPES = Schema(
    NestedField(1, "flag", BooleanType()), NestedField(2, "i", IntegerType()),
    NestedField(3, "l", LongType()), NestedField(4, "f", FloatType()),
    NestedField(5, "d", DoubleType()), NestedField(6, "d9", DecimalType(9, 2)),
    NestedField(7, "d18", DecimalType(18, 4)), NestedField(8, "d38", DecimalType(38, 10)),
    NestedField(9, "day", DateType()), NestedField(10, "clock", TimeType()),
    NestedField(11, "at", TimestampType()), NestedField(12, "at_utc", TimestamptzType()),
    NestedField(13, "text", StringType()), NestedField(14, "raw", BinaryType()),
    NestedField(15, "fixed", FixedType(4)), NestedField(16, "id", UUIDType()),
    NestedField(17, "point", StructType(NestedField(18, "x", IntegerType()),
                                        NestedField(19, "name", StringType()))),
    NestedField(20, "numbers", ListType(21, LongType(), element_required=False)),
    NestedField(22, "tags", MapType(23, StringType(), 24, IntegerType(), value_required=False)))


def all_types(count: int) -> pa.Table:
    def column(make, kind):
        return pa.array([None if i % 6 == 5 else make(i) for i in range(count)], kind)
    two = decimal.Decimal(1).scaleb
    return pa.table({
        "flag": column(lambda i: i % 2 == 0, pa.bool_()),
        "i": column(lambda i: -2**31 + i, pa.int32()),
        "l": column(lambda i: 2**63 - 1 - i, pa.int64()),
        "f": column(lambda i: [0.0, -0.0, float("inf"), float("nan"), 1.5][i % 5], pa.float32()),
        "d": column(lambda i: [float("-inf"), 1e300, -0.0, 0.1, float("nan")][i % 5], pa.float64()),
        "d9": column(lambda i: two(-2) * (i - 3), pa.decimal128(9, 2)),
        "d18": column(lambda i: two(-4) * (10**17 + i), pa.decimal128(18, 4)),
        "d38": column(lambda i: -two(-10) * (10**15 + i), pa.decimal128(38, 10)),
        "day": column(lambda i: datetime.date(1, 1, 1) + datetime.timedelta(days=200_000 * i),
                      pa.date32()),
        "clock": column(lambda i: datetime.time(23 - i, 59, 59, 999_999 - i), pa.time64("us")),
        "at": column(lambda i: datetime.datetime(1969, 12, 31, 23, 59, 59, i), pa.timestamp("us")),
        "at_utc": column(lambda i: datetime.datetime(2024, 2, 29, i, tzinfo=UTC),
                         pa.timestamp("us", "UTC")),
        "text": column(lambda i: ["", "ä" * 40, "\U0001f600" * 17, "a'b\"c", "z"][i % 5],
                       pa.string()),
        "raw": column(lambda i: bytes(range(i % 3, 40 + i)), pa.binary()),
        "fixed": column(lambda i: bytes([i, 0, 255, 7]), pa.binary(4)),
        "id": column(lambda i: uuid.UUID(int=i << 100 | 5).bytes, pa.uuid()),
        "point": column(lambda i: {"x": i, "name": None if i % 2 else f"n{i}"}, pa.struct(
            [("x", pa.int32()), ("name", pa.string())])),
        "numbers": column(lambda i: [None, i] * (i % 3), pa.list_(pa.int64())),
        "tags": column(lambda i: [(f"k{n}", n) for n in range(i % 3)],
                       pa.map_(pa.string(), pa.int32()))})


def test_every_type_of_version_2(catalog, watch, space):
    table = catalog.create_table((space, "t"), ALL_TYPES)
    watch.check("created")
    table.append(all_types(9))
    watch.check("appended", all_types(9))
    table.append(pa.table({n: pa.nulls(2, f.type) for n, f in zip(
        all_types(1).column_names, all_types(1).schema)}, schema=all_types(1).schema))
    watch.check("only nulls")
    # DuckDB has no type of fixed length and writes BINARY, which PyIceberg refuses to read as one.
    with table.update_schema() as update:
        update.delete_column("fixed")
    duck(watch, "INSERT INTO $T SELECT * FROM $T LIMIT 3")
    watch.check("inlined by DuckDB")
    duck(watch, "INSERT INTO $T SELECT * FROM $T", DATA_INLINING_ROW_LIMIT=0)
    watch.check("inserted by DuckDB")
    table.refresh()
    table.append(all_types(7).drop_columns("fixed"))
    watch.everything()


TRANSFORMS = {
    "identity": (2, IdentityTransform()), "bucket": (1, BucketTransform(4)),
    "truncate": (2, TruncateTransform(3)), "truncate_long": (1, TruncateTransform(10)),
    "year": (3, YearTransform()), "month": (3, MonthTransform()), "day": (3, DayTransform()),
    "void": (2, VoidTransform()), "bucket_text": (2, BucketTransform(3)),
    "identity_day": (3, IdentityTransform()), "identity_long": (1, IdentityTransform())}


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_every_transform(catalog, watch, space, kind):
    source, transform = TRANSFORMS[kind]
    table = catalog.create_table((space, "t"), SMALL, partition_spec=PartitionSpec(
        PartitionField(source, 1000, transform, "p")))
    watch.check("created")
    table.append(rows(0, 12))
    watch.check("appended", rows(0, 12))
    duck(watch, "INSERT INTO $T SELECT i, 'duck', DATE '1969-06-01' + i::INT, i FROM range(20) r(i)")
    watch.check("DuckDB")
    table.refresh()
    table.append(pa.table({"id": [None, 3], "word": ["x", None], "day": pa.array(
        [None, datetime.date(1969, 12, 31)]), "price": [1.0, None]}, schema=rows(0, 1).schema))
    watch.check("nulls")
    table.delete("id = 3")
    watch.check("deleted")
    duck(watch, "DELETE FROM $T WHERE id IN (5, 6)")
    watch.check("deleted by DuckDB")
    watch.everything()


def test_hours_and_zones(catalog, watch, space):
    schema = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "at", TimestampType()),
                    NestedField(3, "at_utc", TimestamptzType()))
    table = catalog.create_table((space, "t"), schema, partition_spec=PartitionSpec(
        PartitionField(2, 1000, HourTransform(), "h"), PartitionField(3, 1001, DayTransform(), "d")))
    at = [datetime.datetime(1970, 1, 1) + datetime.timedelta(hours=7 * i) for i in range(6)]
    data = pa.table({"id": pa.array(range(6), pa.int32()), "at": pa.array(at, pa.timestamp("us")),
                     "at_utc": pa.array([a.replace(tzinfo=UTC) for a in at],
                                        pa.timestamp("us", "UTC"))})
    table.append(data)
    watch.check("appended", data)
    duck(watch, "INSERT INTO $T SELECT i, TIMESTAMP '2024-01-31 23:30:00' + INTERVAL (i) HOUR, "
                "TIMESTAMPTZ '2024-01-31 23:30:00+00' + INTERVAL (i) HOUR FROM range(30) r(i)")
    watch.check("DuckDB")
    table.refresh()
    table.overwrite(data.slice(0, 2), overwrite_filter="id >= 4")
    watch.everything()


def test_sort_order_and_properties(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL, sort_order=SortOrder(
        SortField(1, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST),
        SortField(2, TruncateTransform(4), SortDirection.ASC, NullOrder.NULLS_FIRST)),
        properties={"owner": "me", "comment": "a table of words"})
    watch.check("created")
    assert table.properties["owner"] == "me"
    assert [f.source_id for f in table.sort_order().fields] == [1, 2]
    table.append(rows(0, 3))
    with table.transaction() as tx:
        tx.set_properties({"a": "b", "commit.retry.num-retries": "2"})
        tx.remove_properties("owner")
    loaded = catalog.load_table((space, "t"))
    assert loaded.properties["a"] == "b" and "owner" not in loaded.properties
    assert loaded.properties["comment"] == "a table of words"
    comment = watch.lake.session().execute(
        "SELECT comment FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = ?",
        [space]).fetchone()
    assert comment == ("a table of words",)
    watch.everything()


# -- rows -----------------------------------------------------------------------------------------

def test_rows_come_and_go(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    watch.check("created")
    table.append(rows(0, 40))
    watch.check("append", rows(0, 40))
    table.append(rows(40, 60, word=LONG + "zz"))
    watch.check("append of long texts")
    before = len(table.metadata.snapshots)
    table.overwrite(rows(100, 130))
    watch.check("overwrite", rows(100, 130))
    assert len(catalog.load_table((space, "t")).metadata.snapshots) == before + 2
    table.delete("id >= 110 and id < 115")
    watch.check("delete by rewriting")
    table.delete("id >= 115")
    watch.check("delete")
    changed = pa.concat_tables([rows(100, 103, word="changed"), rows(500, 503)])
    found = table.upsert(changed, join_cols=["id"])
    assert (found.rows_updated, found.rows_inserted) == (3, 3)
    watch.check("upsert")
    table.overwrite(rows(500, 510, word="over"), overwrite_filter="id >= 500")
    watch.check("overwrite by a filter")
    table.delete("id >= 0")
    watch.check("all rows deleted", rows(0, 0))
    table.append(rows(0, 5))
    watch.everything()


def test_dynamic_overwrite(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL, partition_spec=PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "word")))
    data = pa.concat_tables([rows(0, 5, word="a"), rows(5, 10, word="b"), rows(10, 15, word="c")])
    table.append(data)
    watch.check("append", data)
    table.dynamic_partition_overwrite(rows(100, 103, word="b"))
    watch.check("dynamic overwrite", pa.concat_tables(
        [rows(0, 5, word="a"), rows(100, 103, word="b"), rows(10, 15, word="c")]))
    watch.everything()


def test_duckdb_writes_in_between(catalog, watch, space):
    """After each kind of DuckDB write and maintenance PyIceberg goes on where DuckDB stopped."""
    table = catalog.create_table((space, "t"), SMALL)
    table.append(rows(0, 50))
    watch.check("append")
    steps = [
        ("INSERT INTO $T VALUES (1000, 'small', DATE '2020-02-02', 1.5)", {}),
        ("INSERT INTO $T SELECT i, 'large', DATE '2020-02-02', i FROM range(2000, 2050) r(i)",
         {"DATA_INLINING_ROW_LIMIT": 0}),
        ("UPDATE $T SET word = 'updated' WHERE id % 10 = 0", {"DATA_INLINING_ROW_LIMIT": 0}),
        ("DELETE FROM $T WHERE id % 10 = 3", {}),
        ("DELETE FROM $T WHERE id % 10 = 4", {"DATA_INLINING_ROW_LIMIT": 0}),
        ("INSERT INTO $T VALUES (1001, NULL, NULL, NULL), (1002, '', NULL, -1)", {}),
        ("ALTER TABLE $T ADD COLUMN more INTEGER", {}),
        ("INSERT INTO $T VALUES (1003, 'more', NULL, NULL, 7)", {}),
        ("ALTER TABLE $T SET PARTITIONED BY (day)", {}),
        ("INSERT INTO $T SELECT i, 'filed', DATE '2021-01-01' + (i % 3)::INT, i, i FROM "
         "range(3000, 3020) r(i)", {"DATA_INLINING_ROW_LIMIT": 0}),
        ("CALL ducklake_flush_inlined_data('lake', schema_name => '$S', table_name => 't')", {}),
        ("CALL ducklake_merge_adjacent_files('lake', 't', schema => '$S')", {}),
        ("CALL ducklake_rewrite_data_files('lake', 't', schema => '$S', delete_threshold => 0)", {}),
        ("ALTER TABLE $T RENAME COLUMN more TO less", {}),
        ("ALTER TABLE $T RESET PARTITIONED BY", {}),
        ("ALTER TABLE $T DROP COLUMN less", {})]
    for number, (sql, options) in enumerate(steps):
        duck(watch, sql, **options)
        watch.check(sql)
        table = catalog.load_table((space, "t"))
        fields = table.schema().fields
        data = rows(10_000 + 20 * number, 10_010 + 20 * number)
        for field in fields[4:]:
            data = data.append_column(field.name, pa.nulls(len(data), pa.int32()))
        table.append(data)
        watch.check(f"append after: {sql}")
        table.delete(f"id = {10_000 + 20 * number} or id = {number}")
        watch.check(f"delete after: {sql}")
    watch.everything()


# -- definition -----------------------------------------------------------------------------------

def test_schema_changes_of_every_kind(catalog, watch, space):
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=True), NestedField(2, "f", FloatType()),
        NestedField(3, "price", DecimalType(9, 2)), NestedField(4, "word", StringType()),
        NestedField(5, "point", StructType(NestedField(6, "x", IntegerType()),
                                           NestedField(7, "y", IntegerType()))),
        NestedField(8, "list", ListType(9, StructType(NestedField(10, "a", IntegerType())),
                                        element_required=False)),
        NestedField(11, "map", MapType(12, StringType(), 13, StructType(
            NestedField(14, "b", IntegerType())), value_required=False)))
    table = catalog.create_table((space, "t"), schema)
    watch.check("created")
    number = itertools.count()

    def write(step: str) -> None:
        nonlocal table
        table = catalog.load_table((space, "t"))
        arrow = table.schema().as_arrow()
        value = next(number)
        table.append(pa.Table.from_pylist([
            {"id": value, "word": f"w{value}", "point": {"x": value, "y": None},
             "list": [{"a": value}], "map": [("k", {"b": value})]},
            {"id": value + 1000, "point": {"x": 1}}], arrow))
        watch.check(step)

    write("first rows")
    changes = {
        "add": lambda u: u.add_column("added", LongType(), doc="a new one"),
        "add a struct": lambda u: u.add_column("deep", StructType(
            NestedField(100, "p", StringType()), NestedField(101, "q", ListType(
                102, IntegerType(), element_required=False)))),
        "add inside a struct": lambda u: u.add_column(("point", "z"), StringType()),
        "add inside a list": lambda u: u.add_column(("list", "element", "a2"), StringType()),
        "add inside a map": lambda u: u.add_column(("map", "value", "b2"), StringType()),
        "rename": lambda u: u.rename_column("word", "Wort"),
        "rename inside a struct": lambda u: u.rename_column("point.y", "why"),
        "promote int to long": lambda u: u.update_column("id", LongType()),
        "promote inside": lambda u: u.update_column(("point", "x"), LongType()),
        "promote float to double": lambda u: u.update_column("f", DoubleType()),
        "widen a decimal": lambda u: u.update_column("price", DecimalType(18, 2)),
        "make optional": lambda u: u.make_column_optional("id"),
        "doc": lambda u: u.update_column("f", doc="a number"),
        "move first": lambda u: u.move_first("added"),
        "move after": lambda u: u.move_after("f", "point"),
        "move before, inside": lambda u: u.move_before("point.why", "point.x"),
        "drop": lambda u: u.delete_column("price"),
        "drop inside": lambda u: u.delete_column("point.why"),
        "add and drop at once": lambda u: (u.delete_column("added"), u.add_column(
            "again", StringType()), u.rename_column("Wort", "word"))}
    for step, change in changes.items():
        with table.update_schema() as update:
            change(update)
        watch.check(step)
        write(f"rows after: {step}")
    duck(watch, "INSERT INTO $T (id, word, list, map) VALUES (77, 'by DuckDB', [], MAP {})")
    watch.check("DuckDB")
    assert table.schema().find_field("f").doc == "a number"
    watch.everything()


def test_identifier_fields(catalog, watch, space):
    schema = Schema(NestedField(1, "id", LongType(), required=True),
                    NestedField(2, "word", StringType()), identifier_field_ids=[1])
    table = catalog.create_table((space, "t"), schema)
    data = pa.table({"id": [1, 2], "word": ["a", "b"]}, schema=schema.as_arrow())
    table.append(data)
    assert catalog.load_table((space, "t")).schema().identifier_field_ids == [1]
    found = table.upsert(pa.table({"id": [2, 3], "word": ["B", "C"]}, schema=schema.as_arrow()))
    assert (found.rows_updated, found.rows_inserted) == (1, 1)
    watch.check("upsert by the identifier")
    with pytest.raises(Exception):
        duck(watch, "INSERT INTO $T VALUES (NULL, 'no')")
    duck(watch, "ALTER TABLE $T ADD COLUMN more INTEGER")
    assert catalog.load_table((space, "t")).schema().identifier_field_ids == [1]
    with catalog.load_table((space, "t")).update_schema() as update:
        update.set_identifier_fields()
    assert catalog.load_table((space, "t")).schema().identifier_field_ids == []
    watch.everything()


def test_union_by_name_and_a_name_mapping(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL, properties={
        "schema.name-mapping.default":
            '[{"field-id": 1, "names": ["id", "key"]}, {"field-id": 2, "names": ["word"]}]'})
    table.append(rows(0, 3))
    with table.update_schema() as update:
        update.union_by_name(pa.schema([("id", pa.int64()), ("colour", pa.string())]))
    watch.check("union by name")
    loaded = catalog.load_table((space, "t"))
    mapping = {f.field_id: set(f.names) for f in loaded.name_mapping().root}
    assert mapping[1] == {"id", "key"}
    assert [f.name for f in loaded.schema().fields][-1] == "colour"
    watch.everything()


def test_partition_specs_change(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    table.append(rows(0, 20))
    changes = {
        "day of month": lambda u: u.add_field("day", MonthTransform(), "month"),
        "and a bucket": lambda u: u.add_field("id", BucketTransform(4), "bucket"),
        "renamed": lambda u: u.rename_field("month", "calendar"),
        "no month": lambda u: u.remove_field("calendar"),
        "identity": lambda u: u.add_identity("word"),
        "truncate": lambda u: u.remove_field("bucket").remove_field("word"),
        "truncate a text": lambda u: u.add_field("word", TruncateTransform(2), "tr"),
        "none": lambda u: u.remove_field("tr")}
    for number, (step, change) in enumerate(changes.items()):
        with table.update_spec() as update:
            change(update)
        watch.check(step)
        table = catalog.load_table((space, "t"))
        table.append(rows(100 * number, 100 * number + 8))
        watch.check(f"rows after: {step}")
        duck(watch, f"INSERT INTO $T SELECT i, 'd', DATE '2024-05-01', 1 FROM range({10 * number}, "
                    f"{10 * number + 5}) r(i)", DATA_INLINING_ROW_LIMIT=0)
        watch.check(f"DuckDB after: {step}")
        table = catalog.load_table((space, "t"))
        table.delete(f"id = {100 * number + 1} or id = {10 * number + 1}")
        watch.check(f"delete after: {step}")
        duck(watch, f"DELETE FROM $T WHERE id = {100 * number + 2}")
        table = catalog.load_table((space, "t"))
    watch.everything()


# -- refs, history, transactions ------------------------------------------------------------------

def branch_rows(catalog, space, ref: str):
    return catalog.load_table((space, "t")).scan().use_ref(ref).to_arrow().sort_by("id")


def test_tags_and_branches(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    table.append(rows(0, 10))
    first = catalog.load_table((space, "t")).current_snapshot().snapshot_id
    table = catalog.load_table((space, "t"))
    table.manage_snapshots().create_tag(first, "v1", max_ref_age_ms=86_400_000).commit()
    table.manage_snapshots().create_branch(first, "work", min_snapshots_to_keep=2).commit()
    watch.check("refs")
    table = catalog.load_table((space, "t"))
    assert table.refs()["v1"].max_ref_age_ms == 86_400_000
    assert table.refs()["work"].min_snapshots_to_keep == 2
    table.append(rows(10, 20))
    watch.check("main goes on", rows(0, 20))
    table.append(rows(500, 505), branch="work")
    watch.check("a commit to a branch", rows(0, 20))
    duck(watch, "INSERT INTO $T VALUES (900, 'duck', NULL, NULL)")
    watch.check("DuckDB on main")
    table = catalog.load_table((space, "t"))
    table.append(rows(505, 507), branch="work")
    table.delete("id = 3", branch="work")
    watch.check("more on the branch")
    assert branch_rows(catalog, space, "v1")["id"].to_pylist() == list(range(10))
    assert branch_rows(catalog, space, "work")["id"].to_pylist() == [
        0, 1, 2, 4, 5, 6, 7, 8, 9, *range(500, 507)]
    table = catalog.load_table((space, "t"))
    assert table.refs()["v1"].max_ref_age_ms == 86_400_000
    table.manage_snapshots().remove_tag("v1").commit()
    table.append(rows(20, 22))
    watch.check("tag gone")
    table = catalog.load_table((space, "t"))
    assert set(table.refs()) == {"main", "work"}
    table.manage_snapshots().remove_branch("work").commit()
    assert set(catalog.load_table((space, "t")).refs()) == {"main"}
    watch.everything()


def test_a_branch_that_main_follows(catalog, watch, space):
    """main is set to the head of a branch that continues it: its commits become DuckLake's."""
    table = catalog.create_table((space, "t"), SMALL)
    table.append(rows(0, 10))
    first = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(first, "work").commit()
    table.append(rows(10, 13), branch="work")
    table.delete("id = 2", branch="work")
    watch.check("beside main", rows(0, 10))
    table = catalog.load_table((space, "t"))
    head = table.refs()["work"].snapshot_id
    table.manage_snapshots().set_current_snapshot(head).commit()
    kept = [i for i in range(13) if i != 2]
    truth = watch.check("main follows")
    assert sorted(row[0] for row in truth.bag) == kept
    table = catalog.load_table((space, "t"))
    assert table.refs()["work"].snapshot_id == table.current_snapshot().snapshot_id
    table.append(rows(20, 21))
    duck(watch, "DELETE FROM $T WHERE id = 11")
    watch.everything()


def test_rollback(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    table.append(rows(0, 10))
    first = table.current_snapshot().snapshot_id
    table.append(rows(10, 20))
    table.delete("id = 4")
    duck(watch, "INSERT INTO $T VALUES (900, 'duck', NULL, NULL); DELETE FROM $T WHERE id = 12")
    watch.check("before")
    table = catalog.load_table((space, "t"))
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    watch.check("rolled back", rows(0, 10))
    table = catalog.load_table((space, "t"))
    table.append(rows(30, 33))
    watch.check("goes on", pa.concat_tables([rows(0, 10), rows(30, 33)]))
    duck(watch, "UPDATE $T SET word = 'again' WHERE id < 5", DATA_INLINING_ROW_LIMIT=0)
    watch.everything()


def test_snapshots_are_removed(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    for start in range(0, 50, 10):
        table.append(rows(start, start + 10))
        watch.check(f"append {start}")
    table = catalog.load_table((space, "t"))
    ids = [s.snapshot_id for s in table.metadata.snapshots]
    table.maintenance.expire_snapshots().by_ids(ids[1:3]).commit()
    watch.hidden |= set(ids[1:3])
    left = [s.snapshot_id for s in catalog.load_table((space, "t")).metadata.snapshots]
    assert left == [ids[0], *ids[3:]]
    watch.check("expired", rows(0, 50))
    with pytest.raises(Exception):
        table.maintenance.expire_snapshots().by_id(ids[-1]).commit()
    catalog.load_table((space, "t")).append(rows(50, 60))
    watch.everything()


def test_transactions(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    with table.transaction() as tx:
        with tx.update_schema() as update:
            update.add_column("extra", IntegerType())
        tx.append(rows(0, 5))
        tx.set_properties({"step": "one"})
        tx.append(rows(5, 8))
    watch.check("several changes at once")
    assert catalog.load_table((space, "t")).properties["step"] == "one"
    table = catalog.load_table((space, "t"))
    with table.transaction() as tx:
        tx.delete("id < 2")
        tx.append(rows(50, 52))
        tx.overwrite(rows(60, 61), overwrite_filter="id = 50")
    truth = watch.check("delete, append and overwrite at once")
    assert sorted(row[0] for row in truth.bag) == [2, 3, 4, 5, 6, 7, 51, 60]
    watch.everything()


def test_create_and_replace_in_a_transaction(catalog, watch, space):
    with catalog.create_table_transaction((space, "t"), SMALL) as tx:
        tx.set_properties({"made": "staged"})
        tx.append(rows(0, 9))
    watch.check("staged create", rows(0, 9))
    assert catalog.load_table((space, "t")).properties["made"] == "staged"
    watch.everything()


def test_files_are_added_by_name(server, catalog, watch, space):
    """PyIceberg's add_files: Parquet without field ids, read by a name mapping."""
    table = catalog.create_table((space, "t"), SMALL)

    def add(name: str, content: pa.Table) -> None:
        path = f"{table.location()}/data/{name}.parquet"
        with table.io.new_output(path).create() as out:
            pq.write_table(content, out)
        table.add_files([path])

    add("added", rows(0, 30))
    watch.check("added", rows(0, 30))
    table.append(rows(30, 40))
    table.delete("id = 5")
    duck(watch, "DELETE FROM $T WHERE id = 6")
    # The name mapping keeps the old name and takes in the new one.
    with table.update_schema() as update:
        update.rename_column("word", "title")
    add("later", rows(40, 50, "by its new name").rename_columns(["id", "title", "day", "price"]))
    seen = watch.check("added after a rename")
    assert sum("by its new name" in row for row in seen.bag.elements()) == 10
    watch.everything()


NESTED = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "s", StructType(NestedField(3, "a", IntegerType(), required=False),
                                   NestedField(4, "b", StringType(), required=False)),
                required=False),
    NestedField(5, "l", ListType(6, StructType(NestedField(7, "x", IntegerType(), required=False),
                                               NestedField(8, "y", StringType(), required=False)),
                                 element_required=False), required=False),
    NestedField(9, "m", MapType(10, StringType(), 11, LongType(), value_required=False),
                required=False),
    NestedField(12, "late", StringType(), required=False))


def test_added_files_have_their_columns_in_any_order_and_depth(catalog, watch, space):
    table = catalog.create_table((space, "t"), NESTED)
    kinds = pa.schema([
        ("m", pa.map_(pa.string(), pa.int64())),
        ("l", pa.list_(pa.struct([("y", pa.string()), ("x", pa.int32())]))),
        ("s", pa.struct([("b", pa.string()), ("a", pa.int32())])), ("id", pa.int64())])
    given = [{"id": 1, "s": {"b": "bee", "a": 10}, "l": [{"y": "why", "x": 5}, None],
              "m": [("k", 7), ("n", None)]}, {"id": 2, "s": None, "l": [], "m": []}]
    path = table.location() + "/data/added.parquet"
    with table.io.new_output(path).create() as out:
        pq.write_table(pa.Table.from_pylist(given, kinds), out)
    table.add_files([path])
    watch.check("added", pa.Table.from_pylist(given, table.schema().as_arrow()))
    with table.update_schema() as update:
        update.rename_column("s.a", "renamed").rename_column("id", "number")
    # PyIceberg 0.12 reads a null list of structs as an empty one.
    table.append(pa.Table.from_pylist([{"number": 3, "late": "now", "l": [], "m": []}],
                                      table.schema().as_arrow()))
    watch.check("renamed")
    duck(watch, "UPDATE $T SET late = 'by DuckDB' WHERE number = 1")
    watch.everything()


def test_an_added_file_that_lacks_its_partition_is_refused(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL, partition_spec=PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "word")))
    for name, columns in (("whole", {"id": [1], "word": ["a"]}), ("lacks", {"id": [2]})):
        with table.io.new_output(f"{table.location()}/data/{name}.parquet").create() as out:
            pq.write_table(pa.table(columns), out)
    table.add_files([f"{table.location()}/data/whole.parquet"])
    watch.check("the column is in the file")
    with pytest.raises(BadRequestError, match="lacks.parquet lacks column word"):
        table.add_files([f"{table.location()}/data/lacks.parquet"])
    watch.everything()


def test_a_dropped_table_and_a_new_one_of_its_name(catalog, watch, space):
    table = catalog.create_table((space, "t"), SMALL)
    table.append(rows(0, 5))
    first = table.location()
    catalog.drop_table((space, "t"))
    table = catalog.create_table((space, "t"), SMALL)
    assert table.location() != first
    watch.check("new", rows(0, 0))
    table.append(rows(5, 7))
    watch.check("rows of the new one", rows(5, 7))
    table.append(rows(7, 8))
    watch.everything()
