# SPDX-License-Identifier: Apache-2.0
"""DuckDB's iceberg extension as the writer, format versions 2 and 3."""
import itertools

import pytest
from lib.watch import Watch

_numbers = itertools.count(1)


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def version(request):
    return request.param


@pytest.fixture
def space(server):
    name = f"wd{next(_numbers)}"
    server.lake.session().execute(f"CREATE SCHEMA lake.{name}")
    return name


@pytest.fixture
def watch(server, clients, space):
    with Watch(server, clients, space, "t") as watching:
        yield watching


@pytest.fixture
def ice(clients, space):
    """Runs SQL on the catalog through the iceberg extension; $T is the table."""
    connection = clients[1].connection.cursor()
    connection.execute("SET TimeZone='UTC'")

    def run(sql: str):
        return connection.execute(sql.replace("$T", f"ice.{space}.t").replace("$S", space)).fetchall()
    yield run
    connection.close()


def duck(watch, sql: str, **options) -> None:
    watch.lake.session(**options).execute(sql.replace("$T", watch.name).replace("$S", watch.schema))


def ids(truth) -> list:
    return sorted(row[0] for row in truth.bag.elements())


LONG = "'a text that is longer than sixteen characters ' || (i % 5)"


def create(ice, version: int, more: str = "") -> None:
    ice(f"CREATE TABLE $T (id BIGINT, word VARCHAR, d DATE){more} "
        f"WITH ('format-version' = '{version}')")


def test_rows_come_and_go(ice, watch, version):
    create(ice, version)
    watch.check("created")
    ice(f"INSERT INTO $T SELECT i, {LONG}, DATE '2024-01-01' + i::INT FROM range(100) r(i)")
    assert ids(watch.check("insert")) == list(range(100))
    ice("DELETE FROM $T WHERE id % 10 = 1")
    assert len(ids(watch.check("delete"))) == 90
    ice("DELETE FROM $T WHERE id % 10 = 2")
    assert len(ids(watch.check("delete again on the same file"))) == 80
    duck(watch, "DELETE FROM $T WHERE id % 10 = 3", DATA_INLINING_ROW_LIMIT=0)
    assert len(ids(watch.check("delete by DuckLake"))) == 70
    duck(watch, "DELETE FROM $T WHERE id = 4")
    assert len(ids(watch.check("inlined delete by DuckLake"))) == 69
    ice("DELETE FROM $T WHERE id = 5")
    assert len(ids(watch.check("delete on top"))) == 68
    ice("UPDATE $T SET word = 'changed' WHERE id BETWEEN 20 AND 30")
    watch.check("update")
    duck(watch, "INSERT INTO $T VALUES (1000, 'small', NULL), (1001, NULL, NULL)")
    watch.check("inlined insert")
    ice("DELETE FROM $T WHERE id = 1000")
    assert 1000 not in ids(watch.check("delete of an inlined row"))
    ice("UPDATE $T SET word = 'it was inlined' WHERE id = 1001")
    watch.check("update of an inlined row")
    duck(watch, "CALL ducklake_flush_inlined_data('lake', schema_name => '$S', table_name => 't')")
    watch.check("flush")
    ice("INSERT INTO $T VALUES (2000, 'x', DATE '1999-12-31')")
    duck(watch, "CALL ducklake_merge_adjacent_files('lake', 't', schema => '$S')")
    watch.check("merge")
    duck(watch, "CALL ducklake_rewrite_data_files('lake', 't', schema => '$S', delete_threshold => 0)")
    watch.check("rewrite")
    ice("DELETE FROM $T WHERE id < 50")
    assert min(ids(watch.check("delete after a rewrite"))) == 50
    ice("DELETE FROM $T")
    assert ids(watch.check("all rows deleted")) == []
    ice("INSERT INTO $T VALUES (1, 'again', NULL)")
    watch.everything()


def test_create_table_as(ice, watch, version):
    ice(f"CREATE TABLE $T WITH ('format-version' = '{version}') AS SELECT i AS id, {LONG} AS word, "
        "DATE '2024-01-01' AS d FROM range(30) r(i)")
    assert ids(watch.check("create as")) == list(range(30))
    duck(watch, "UPDATE $T SET word = 'duck' WHERE id < 3")
    watch.everything()


def test_merge_into(ice, watch, version):
    create(ice, version)
    ice("INSERT INTO $T SELECT i, 'old', NULL FROM range(10) r(i)")
    ice("MERGE INTO $T t USING (SELECT i AS id FROM range(5, 15) r(i)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET word = 'new' "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'inserted', NULL)")
    assert ids(watch.check("merge")) == list(range(15))
    ice("MERGE INTO $T t USING (SELECT i AS id FROM range(9, 11) r(i)) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE")
    assert ids(watch.check("merge that deletes")) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14]
    watch.everything()


def test_a_transaction(ice, watch, version):
    create(ice, version)
    ice("INSERT INTO $T SELECT i, 'old', NULL FROM range(10) r(i)")
    ice("BEGIN")
    ice("INSERT INTO $T VALUES (100, 'one', NULL)")
    ice("DELETE FROM $T WHERE id = 3")
    ice("INSERT INTO $T VALUES (101, 'two', NULL)")
    watch.check("not yet committed")
    ice("COMMIT")
    assert ids(watch.check("committed")) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 100, 101]
    ice("BEGIN")
    ice("DELETE FROM $T")
    ice("ROLLBACK")
    assert len(ids(watch.check("rolled back"))) == 11
    watch.everything()


def test_columns_change(ice, watch, version):
    create(ice, version)
    ice("INSERT INTO $T SELECT i, 'old', NULL FROM range(5) r(i)")
    for sql, insert in (
            ("ALTER TABLE $T ADD COLUMN more INTEGER", "(10, 'a', NULL, 7)"),
            ("ALTER TABLE $T RENAME COLUMN word TO text", "(11, 'b', NULL, 8)")):
        ice(sql)
        watch.check(sql)
        ice(f"INSERT INTO $T VALUES {insert}")
        watch.check(f"insert after {sql}")
    duck(watch, "ALTER TABLE $T DROP COLUMN more; INSERT INTO $T VALUES (20, 'duck', NULL)")
    watch.everything()


@pytest.mark.parametrize("by", ["id", "word", "bucket(4, id)", "truncate(3, word)", "year(d)",
                                "month(d)", "day(d)", "bucket(3, word)"])
def test_partitioned(ice, watch, version, by):
    create(ice, version, f" PARTITIONED BY ({by})")
    ice("INSERT INTO $T SELECT i, 'word' || (i % 3), DATE '2024-01-30' + (i % 4)::INT "
        "FROM range(12) r(i)")
    assert ids(watch.check("insert")) == list(range(12))
    duck(watch, "INSERT INTO $T SELECT i, 'duck', DATE '2024-03-01' FROM range(20, 32) r(i)",
         DATA_INLINING_ROW_LIMIT=0)
    watch.check("DuckLake's insert")
    ice("DELETE FROM $T WHERE id IN (2, 21)")
    watch.check("delete")
    ice("INSERT INTO $T VALUES (50, NULL, NULL)")
    watch.check("nulls")
    watch.everything()


def test_every_type(ice, watch, version):
    ice("CREATE TABLE $T (flag BOOLEAN, i INTEGER, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(18, 3), "
        "day DATE, clock TIME, moment TIMESTAMP, moment_utc TIMESTAMPTZ, text VARCHAR, raw BLOB, id UUID, "
        "point STRUCT(x INTEGER, y VARCHAR), list BIGINT[], map MAP(VARCHAR, INTEGER)) "
        f"WITH ('format-version' = '{version}')")
    ice("INSERT INTO $T SELECT i % 2 = 0, i, i * 1000000007, i / 3, -i / 7, i / 8, "
        "DATE '1960-01-01' + 999 * i::INT, TIME '00:00:01' + INTERVAL (i) MINUTE, "
        "TIMESTAMP '1969-12-31 23:59:59.999999' + INTERVAL (i) HOUR, "
        "TIMESTAMPTZ '1969-12-31 23:59:59.999999+00' + INTERVAL (i) DAY, "
        "repeat(chr(230 + i::INT), 20), repeat('\\xFF', i::INT)::BLOB, "
        "('00000000-0000-0000-0000-0000000000' || (10 + i))::UUID, "
        "{'x': i, 'y': 'y' || i}, [i, NULL], MAP {'k': i} FROM range(9) r(i)")
    watch.check("insert")
    ice("INSERT INTO $T (i) VALUES (NULL)")
    watch.check("nulls")
    duck(watch, "INSERT INTO $T SELECT * FROM $T LIMIT 4")
    watch.everything()


def test_version_3_types(ice, server, clients, space):
    with Watch(server, clients, space, "t", skip=("pyiceberg",)) as watch:  # it has no VARIANT
        ice("CREATE TABLE $T (id BIGINT, v VARIANT, ns TIMESTAMP_NS) WITH ('format-version' = '3')")
        ice("INSERT INTO $T SELECT i, {'a': i}::VARIANT, "
            "TIMESTAMP_NS '2024-01-01 00:00:00.123456789' FROM range(12) r(i)")
        assert ids(watch.check("insert")) == list(range(12))
        ice("DELETE FROM $T WHERE id = 3")
        watch.check("delete")
        duck(watch, "INSERT INTO $T SELECT 100 + id, v, ns FROM $T WHERE id < 3")
        watch.check("by DuckLake", depth=10, aggregates=True)


def test_row_lineage_stays(ice, watch):
    """A row keeps its id through an update by the client; DuckLake's rowid is the same number."""
    create(ice, 3)
    ice("INSERT INTO $T SELECT i, 'old', NULL FROM range(5) r(i)")
    before = dict(ice("SELECT id, _row_id FROM $T"))
    assert sorted(before.values()) == [0, 1, 2, 3, 4]
    ice("INSERT INTO $T VALUES (100, 'new', NULL)")
    ice("DELETE FROM $T WHERE id = 2")
    after = dict(ice("SELECT id, _row_id FROM $T"))
    assert {k: v for k, v in after.items() if k != 100} == {
        k: v for k, v in before.items() if k != 2}
    assert len(set(after.values())) == 5
    rowids = dict(watch.lake.session().execute(f"SELECT id, rowid FROM {watch.name}").fetchall())
    assert rowids == after
    watch.everything()
