# SPDX-License-Identifier: Apache-2.0
"""Spark as the writer: rows in each mode, definitions, partitions, branches, tags, procedures.

Format versions 2 and 3, copy-on-write and merge-on-read. After every step all readers agree.
"""
import concurrent.futures
import io
import itertools
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lib.spark import Spark
from lib.watch import Watch

_numbers = itertools.count(1)

COW2, MOR2, COW3, MOR3 = MODES = [(version, how) for version in (2, 3)
                                  for how in ("copy-on-write", "merge-on-read")]


@pytest.fixture(scope="module")
def spark(server):
    client = Spark(server)
    yield client
    client.close()


def modes(*chosen):
    return pytest.mark.parametrize("mode", chosen, ids=lambda m: f"v{m[0]}-{m[1]}")


@pytest.fixture
def space(server):
    name = f"ws{next(_numbers)}"
    server.lake.session().execute(f"CREATE SCHEMA lake.{name}")
    return name


@pytest.fixture
def watch(server, clients, space):
    with Watch(server, clients, space, "t") as watching:
        yield watching


@pytest.fixture
def ask(spark, space):
    """What Spark answers; nothing is checked."""
    return lambda sql: spark.sql(sql.replace("$T", f"ice.{space}.t").replace("$S", space))


@pytest.fixture
def run(spark, watch, space, ask):
    """A step of Spark's; afterwards Spark shows what DuckLake shows, and so do all other readers."""
    def step(sql: str):
        out = ask(sql)
        found = beside.submit(spark.rows, space, "t", types=watch.types())
        truth = watch.check(sql[:60])
        difference = truth.difference(found.result())
        assert not difference, f"{sql}: spark: {difference}"
        return out
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        yield step


@pytest.fixture
def call(run, watch):
    """A procedure: a step after which DuckDB shows every version as before."""
    def step(sql: str):
        out = run(sql)
        assert watch.history
        with watch.lake.duckdb() as duck:
            duck.execute("SET TimeZone='UTC'; SET arrow_lossless_conversion=true")
            for version, rows in watch.history.items():
                difference = rows.difference(watch.truth(duck, version))
                assert not difference, f"{sql}: DuckLake at {version}: {difference}"
        return out
    return step


def duck(watch, sql: str, **options) -> None:
    watch.lake.session(**options).execute(sql.replace("$T", watch.name).replace("$S", watch.schema))


def create(run, mode, columns="id BIGINT, word STRING, d DATE", more="") -> None:
    version, how = mode
    run(f"CREATE TABLE $T ({columns}) USING iceberg {more} TBLPROPERTIES ('format-version'='{version}', "
        f"'write.delete.mode'='{how}', 'write.update.mode'='{how}', 'write.merge.mode'='{how}')")


def live(watch, kind: str) -> int:
    """Live files of the table by DuckLake: kind is "data" or "delete"."""
    return watch.lake.rows(
        f"SELECT count(*) FROM ducklake_{kind}_file f JOIN ducklake_table t USING (table_id) "
        "JOIN ducklake_schema s USING (schema_id) WHERE schema_name = %s AND table_name = %s "
        "AND f.end_snapshot IS NULL AND t.end_snapshot IS NULL", watch.schema, watch.table)[0][0]


LONG = "concat('a text that is longer than sixteen characters ', id % 5)"


@modes(*MODES)
def test_rows_come_and_go(run, watch, mode):
    create(run, mode)
    run(f"INSERT INTO $T SELECT id, {LONG}, date_add(DATE '2024-01-01', int(id)) FROM range(60)")
    run("DELETE FROM $T WHERE id % 10 = 1")
    run("UPDATE $T SET word = 'changed' WHERE id % 10 = 2")
    assert (live(watch, "delete") > 0) == (mode[1] == "merge-on-read")
    run("MERGE INTO $T t USING (SELECT id FROM range(50, 70)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 55 THEN DELETE WHEN MATCHED THEN UPDATE SET word = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, word, d) VALUES (s.id, 'inserted', NULL) "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 40 THEN DELETE")
    duck(watch, "DELETE FROM $T WHERE id = 4")
    duck(watch, "INSERT INTO $T VALUES (1000, 'small', NULL)")
    duck(watch, "UPDATE $T SET word = 'duck' WHERE id < 3")
    run("DELETE FROM $T WHERE id IN (5, 1000)")
    run("UPDATE $T SET word = 'spark again' WHERE id < 10")
    run("INSERT OVERWRITE $T SELECT id, 'over', NULL FROM range(5)")
    run("TRUNCATE TABLE $T")
    run("INSERT INTO $T VALUES (1, 'again', NULL)")
    watch.everything()


@modes(COW2, MOR3)
def test_create_as_replace_and_overwrite(run, ask, watch, mode):
    properties = f"USING iceberg TBLPROPERTIES ('format-version'='{mode[0]}')"
    run(f"CREATE TABLE $T {properties} AS SELECT id, {LONG} AS word FROM range(20)")
    run(f"REPLACE TABLE $T {properties} AS SELECT id AS number, id * 2 AS twice FROM range(7)")
    run("CREATE OR REPLACE TABLE $T USING iceberg PARTITIONED BY (part) AS "
        "SELECT id, id % 3 AS part FROM range(9)")
    duck(watch, "INSERT INTO $T SELECT i, i % 3 FROM range(100, 130) r(i)", DATA_INLINING_ROW_LIMIT=0)
    run("INSERT INTO $T VALUES (500, 1)")
    run("INSERT OVERWRITE $T PARTITION (part = 2) SELECT 600")
    assert ask("SELECT id FROM $T WHERE part = 2") == [["600"]]
    ask("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    try:
        run("INSERT OVERWRITE $T SELECT id, 1 FROM range(700, 703)")
    finally:
        ask("RESET spark.sql.sources.partitionOverwriteMode")
    assert ask("SELECT part, count(*) FROM $T GROUP BY part ORDER BY part") == [
        ["0", "13"], ["1", "3"], ["2", "1"]]
    run("INSERT OVERWRITE $T SELECT id, id FROM range(3)")
    watch.everything()


@modes(MOR2, COW3)
def test_the_definition_changes(run, ask, watch, mode):
    create(run, mode, "id INT NOT NULL, word STRING, s STRUCT<a: INT, b: STRING>, f FLOAT, m DECIMAL(5,2), "
                      "l ARRAY<STRUCT<x: INT>>, k MAP<STRING, STRUCT<y: INT>>")
    run("INSERT INTO $T SELECT int(id), 'x', named_struct('a', int(id), 'b', 'y'), float(id), 1.25, "
        "array(named_struct('x', 1)), map('key', named_struct('y', 2)) FROM range(20)")
    run("ALTER TABLE $T ADD COLUMN later STRING")
    run("ALTER TABLE $T ADD COLUMNS (s.c BIGINT AFTER a, l.element.z STRING, k.value.z STRING, "
        "second INT COMMENT 'after the first' AFTER id)")
    run("ALTER TABLE $T ALTER COLUMN id TYPE BIGINT")
    run("ALTER TABLE $T ALTER COLUMN id DROP NOT NULL")
    run("ALTER TABLE $T ALTER COLUMN f TYPE DOUBLE")
    run("ALTER TABLE $T ALTER COLUMN m TYPE DECIMAL(9,2)")
    run("ALTER TABLE $T RENAME COLUMN word TO name")
    run("ALTER TABLE $T RENAME COLUMN s.b TO bb")
    run("ALTER TABLE $T ALTER COLUMN later COMMENT 'came later'")
    run("ALTER TABLE $T ALTER COLUMN later FIRST")
    run("ALTER TABLE $T ALTER COLUMN s.bb FIRST")
    # PyIceberg 0.12 takes a null list or map of changed structs for an empty one.
    run("INSERT INTO $T (id, name, later, l, k) VALUES (100, 'new', 'now', array(named_struct('x', 3, 'z', 'zz')), "
        "map('k', named_struct('y', 1, 'z', 'z')))")
    duck(watch, "INSERT INTO $T (id, name, l, k) VALUES (200, 'by DuckDB', [], MAP {})")
    run("ALTER TABLE $T DROP COLUMN f")
    run("ALTER TABLE $T DROP COLUMNS (s.a, second)")
    run("INSERT INTO $T (id, name, l, k) VALUES (300, 'last', array(), map())")
    duck(watch, "INSERT INTO $T (id, name, l, k) VALUES (400, 'by DuckDB again', [], MAP {})")
    with pytest.raises(RuntimeError, match="(?i)cannot|incompatible|not supported"):
        ask("ALTER TABLE $T ALTER COLUMN id TYPE INT")
    run("ALTER TABLE $T SET TBLPROPERTIES ('note' = 'kept', 'comment' = 'of the table')")
    run("ALTER TABLE $T UNSET TBLPROPERTIES ('note')")
    assert watch.lake.session().execute(
        "SELECT comment FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = ?",
        [watch.schema]).fetchall() == [("of the table",)]
    assert not [row for row in ask("SHOW TBLPROPERTIES $T") if row[0] == "note"]
    assert ["later", "string", "came later"] in ask("DESCRIBE $T")
    watch.everything()


def test_keys_orders_and_names_change(run, ask, watch, space, mode=MOR2):
    create(run, mode, "id BIGINT NOT NULL, word STRING")
    run("ALTER TABLE $T SET IDENTIFIER FIELDS id")
    run("INSERT INTO $T SELECT id, concat('w', id) FROM range(20)")
    assert watch.server.load(space, "t")["metadata"]["schemas"][-1]["identifier-field-ids"] == [1]
    run("ALTER TABLE $T DROP IDENTIFIER FIELDS id")
    for order in ("WRITE ORDERED BY word DESC NULLS LAST, id", "WRITE LOCALLY ORDERED BY id",
                  "WRITE DISTRIBUTED BY PARTITION", "WRITE UNORDERED"):
        run(f"ALTER TABLE $T {order}")
        run("INSERT INTO $T SELECT id, 'more' FROM range(3)")
    place = watch.server.load(space, "t")["metadata"]["location"]
    run(f"ALTER TABLE $T SET LOCATION '{place}/moved'")
    run("INSERT INTO $T VALUES (77, 'elsewhere')")
    ask("ALTER TABLE $T RENAME TO $S.other")
    with pytest.raises(RuntimeError, match="TABLE_OR_VIEW_NOT_FOUND"):
        ask("SELECT * FROM $T")
    assert ask("SELECT count(*) FROM ice.$S.other WHERE id = 77") == [["1"]]
    ask("ALTER TABLE ice.$S.other RENAME TO $S.t")
    run("DELETE FROM $T WHERE id = 77")
    watch.everything()


@modes(MOR2, MOR3)
def test_partitions_evolve(run, watch, mode):
    create(run, mode, "id BIGINT, word STRING, ts TIMESTAMP", "PARTITIONED BY (bucket(4, id))")
    rows = "SELECT id, concat('w', id), timestamp_seconds(1700000000 + id * 3600) FROM range({}, {})"
    run("INSERT INTO $T " + rows.format(0, 40))
    run("ALTER TABLE $T ADD PARTITION FIELD days(ts) AS day")
    run("INSERT INTO $T " + rows.format(40, 80))
    run("ALTER TABLE $T DROP PARTITION FIELD bucket(4, id)")
    run("INSERT INTO $T " + rows.format(80, 120))
    run("ALTER TABLE $T ADD PARTITION FIELD truncate(1, word)")
    run("INSERT INTO $T " + rows.format(120, 160))
    run("ALTER TABLE $T REPLACE PARTITION FIELD day WITH months(ts)")
    duck(watch, "INSERT INTO $T SELECT i, 'duck', TIMESTAMPTZ '2024-05-05 00:00:00+00' FROM range(500, 530) r(i)",
         DATA_INLINING_ROW_LIMIT=0)
    run("DELETE FROM $T WHERE id % 7 = 0")
    run("UPDATE $T SET word = 'new' WHERE ts < TIMESTAMP '2023-11-16 00:00:00'")
    run("DELETE FROM $T WHERE ts >= TIMESTAMP '2024-05-01 00:00:00'")
    watch.everything()


@modes(MOR2, COW3)
def test_branches_and_tags(run, ask, call, watch, mode):
    create(run, mode)
    run("INSERT INTO $T SELECT id, 'main', NULL FROM range(10)")
    run("ALTER TABLE $T CREATE TAG first RETAIN 365 DAYS")
    run("ALTER TABLE $T CREATE BRANCH side RETAIN 7 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS")
    run("INSERT INTO ice.$S.t.branch_side SELECT id, 'side', NULL FROM range(100, 105)")
    run("DELETE FROM ice.$S.t.branch_side WHERE id < 3")
    run("UPDATE ice.$S.t.branch_side SET word = 'updated' WHERE id = 104")
    run("MERGE INTO ice.$S.t.branch_side t USING (SELECT 5 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    side = "SELECT count(*), count_if(word = 'updated') FROM $T VERSION AS OF '{}'"
    assert ask(side.format("side")) == [["11", "1"]]
    assert ask("SELECT count(*) FROM $T") == [["10"]]
    run("ALTER TABLE $T CREATE OR REPLACE TAG newest AS OF VERSION "
        + ask("SELECT snapshot_id FROM $T.refs WHERE name = 'side'")[0][0])
    call("CALL ice.system.fast_forward('$S.t', 'main', 'side')")
    assert ask("SELECT count(*) FROM $T") == [["11"]]
    assert ask(side.format("first")) == [["10", "0"]]
    assert ask(side.format("newest")) == [["11", "1"]]
    duck(watch, "DELETE FROM $T WHERE id = 100")
    run("ALTER TABLE $T SET TBLPROPERTIES ('write.wap.enabled'='true')")
    ask("SET spark.wap.branch = audit")
    try:
        ask("INSERT INTO $T VALUES (800, 'audited', NULL)")
    finally:
        ask("RESET spark.wap.branch")
    run("ALTER TABLE $T UNSET TBLPROPERTIES ('write.wap.enabled')")
    assert ask("SELECT count(*) FROM $T VERSION AS OF 'audit'") == [["11"]]
    call("CALL ice.system.fast_forward('$S.t', 'main', 'audit')")
    run("ALTER TABLE $T REPLACE BRANCH side AS OF VERSION "
        + ask("SELECT snapshot_id FROM $T.refs WHERE name = 'main'")[0][0])
    for name in ("BRANCH side", "BRANCH audit", "TAG first", "TAG newest"):
        ask(f"ALTER TABLE $T DROP {name}")
    assert ask("SELECT name FROM $T.refs") == [["main"]]
    run("INSERT INTO $T VALUES (900, 'last', NULL)")
    watch.everything()


@modes(COW2, MOR3)
def test_rollback_cherrypick_and_publish(run, ask, call, watch, mode):
    newest = "SELECT snapshot_id, committed_at FROM $T.snapshots ORDER BY committed_at DESC LIMIT 1"
    create(run, mode)
    run("INSERT INTO $T SELECT id, 'one', NULL FROM range(20)")
    first = ask(newest)[0][0]
    run("DELETE FROM $T WHERE id < 5")
    second = ask(newest)[0]
    run("INSERT INTO $T SELECT id, 'two', NULL FROM range(50, 60)")
    call(f"CALL ice.system.rollback_to_timestamp('$S.t', TIMESTAMP '{second[1]}' + INTERVAL 1 MILLISECOND)")
    assert ask("SELECT count(*) FROM $T") == [["15"]]
    call(f"CALL ice.system.rollback_to_snapshot('$S.t', {first})")
    assert ask("SELECT count(*) FROM $T") == [["20"]]
    duck(watch, "DELETE FROM $T WHERE id = 7")
    run("INSERT INTO $T VALUES (900, 'after', NULL)")
    run("ALTER TABLE $T SET TBLPROPERTIES ('write.wap.enabled'='true')")
    for number in (1, 2, 3):
        ask(f"SET spark.wap.id = staged{number}")
        run(f"INSERT INTO $T VALUES ({900 + number}, 'staged', NULL)")
        ask("RESET spark.wap.id")
    assert ask("SELECT count(*) FROM $T WHERE word = 'staged'") == [["0"]]
    call("CALL ice.system.publish_changes('$S.t', 'staged1')")
    staged = dict(ask("SELECT summary['wap.id'], snapshot_id FROM $T.snapshots "
                      "WHERE summary['wap.id'] LIKE 'staged%'"))
    call(f"CALL ice.system.cherrypick_snapshot('$S.t', {staged['staged3']})")
    assert ask("SELECT id FROM $T WHERE word = 'staged' ORDER BY id") == [["901"], ["903"]]
    with pytest.raises(RuntimeError, match="(?i)duplicate|already|ancestor"):
        ask("CALL ice.system.publish_changes('$S.t', 'staged1')")
    call(f"CALL ice.system.set_current_snapshot('$S.t', {second[0]})")
    assert ask("SELECT count(*) FROM $T") == [["15"]]
    watch.everything()


@modes(MOR2, MOR3)
def test_procedures_rewrite_and_clean_nothing_away(run, ask, call, watch, mode):
    create(run, mode, more="PARTITIONED BY (d)")
    for i in range(3):
        run(f"INSERT INTO $T SELECT id, {LONG}, DATE '2024-01-01' FROM range({i * 10}, {i * 10 + 10})")
    run("DELETE FROM $T WHERE id % 10 = 3")
    duck(watch, "INSERT INTO $T VALUES (100, 'small', DATE '2024-01-01')")
    run("DELETE FROM $T WHERE id = 14")
    call("CALL ice.system.rewrite_position_delete_files(table => '$S.t', options => map('rewrite-all','true'))")
    call("CALL ice.system.rewrite_data_files(table => '$S.t', options => map('rewrite-all','true'))")
    # One of the partition and one of the small row, which came in a file without a partition.
    assert (live(watch, "data"), live(watch, "delete")) == (2, 0)
    run("INSERT INTO $T SELECT id, 'y', DATE '2024-01-02' FROM range(200, 210)")
    call("CALL ice.system.rewrite_manifests('$S.t')")
    call("CALL ice.system.rewrite_data_files(table => '$S.t', strategy => 'sort', sort_order => 'id DESC', "
         "options => map('rewrite-all','true'))")
    call("CALL ice.system.compute_table_stats('$S.t')")
    for refused in ("expire_snapshots(table => '$S.t', older_than => TIMESTAMP '2100-01-01 00:00:00')",
                    "remove_orphan_files(table => '$S.t')"):
        with pytest.raises(RuntimeError, match="GC is disabled|gc.enabled"):
            ask("CALL ice.system." + refused)
    call("CALL ice.system.ancestors_of('$S.t')")
    run("UPDATE $T SET word = 'end' WHERE id > 100")
    watch.everything()


@modes(COW2, MOR3)
def test_files_are_added(run, ask, call, watch, space, mode):
    create(run, mode, more="PARTITIONED BY (d)")
    run("INSERT INTO $T VALUES (1, 'one', DATE '2024-01-01')")
    bucket, place = re.fullmatch("s3://([^/]+)/(.+)", watch.server.load(space, "t")["metadata"]["location"]).groups()
    store = watch.lake.s3()

    def put(key: str, *rows) -> None:
        out = io.BytesIO()
        pq.write_table(pa.table({"word": [word for _, word in rows],
                                 "id": pa.array([i for i, _ in rows], pa.int64())}), out)
        store.put_object(Bucket=bucket, Key=key, Body=out.getvalue())

    put(f"{place}/added/d=2024-01-02/a.parquet", (2, "two"), (3, None))
    put(f"{place}/added/d=2024-01-03/b.parquet", *((i, f"w{i}") for i in range(10, 40)))
    added = call(f"CALL ice.system.add_files(table => '$S.t', source_table => 'parquet.`s3://{bucket}/{place}/added`')")
    assert added[0][:2] == ["2", "2"]
    whole = ask("SELECT snapshot_id FROM $T.refs WHERE name = 'main'")[0][0]
    assert ask("SELECT count(*), count(word), min(id), max(id) FROM $T") == [["33", "32", "1", "39"]]
    with pytest.raises(RuntimeError, match="(?i)already|duplicate"):
        ask(f"CALL ice.system.add_files(table => '$S.t', source_table => 'parquet.`s3://{bucket}/{place}/added`')")
    put("elsewhere/d=2024-01-04/c.parquet", (50, "not of this table"))
    with pytest.raises(RuntimeError, match="elsewhere/d=2024-01-04/c.parquet"):
        ask(f"CALL ice.system.add_files(table => '$S.t', source_table => 'parquet.`s3://{bucket}/elsewhere`')")
    run("ALTER TABLE $T RENAME COLUMN word TO name")
    run("DELETE FROM $T WHERE id IN (2, 11)")
    duck(watch, "UPDATE $T SET name = 'duck' WHERE id = 12")
    run("UPDATE $T SET name = 'spark' WHERE id BETWEEN 13 AND 15")
    call(f"CALL ice.system.rollback_to_snapshot('$S.t', {whole})")
    call("CALL ice.system.rewrite_data_files(table => '$S.t', options => map('rewrite-all','true'))")
    watch.everything()


def test_rows_of_version_3_keep_their_ids(run, ask, watch):
    create(run, MOR3, "id BIGINT")
    run("INSERT INTO $T SELECT id FROM range(5)")
    run("INSERT INTO $T SELECT id FROM range(5, 10)")
    rows = ask("SELECT id, _row_id, _last_updated_sequence_number FROM $T ORDER BY id")
    assert len({row[1] for row in rows}) == 10
    run("UPDATE $T SET id = id + 100 WHERE id = 3")
    after = {row[0]: row[1] for row in ask("SELECT id, _row_id FROM $T")}
    before = {row[0]: row[1] for row in rows}
    assert after["103"] == before["3"]
    assert {k: v for k, v in after.items() if k in before} == {k: v for k, v in before.items() if k != "3"}
    watch.everything()


def test_a_table_is_upgraded_over_old_deletes(run, watch):
    create(run, MOR2)
    run("INSERT INTO $T SELECT id, 'x', NULL FROM range(30)")
    run("DELETE FROM $T WHERE id % 3 = 0")
    run("ALTER TABLE $T SET TBLPROPERTIES ('format-version'='3')")
    run("DELETE FROM $T WHERE id % 3 = 1")
    run("INSERT INTO $T VALUES (100, 'y', NULL)")
    duck(watch, "DELETE FROM $T WHERE id = 2")
    run("UPDATE $T SET word = 'z' WHERE id > 20")
    watch.everything()
