# SPDX-License-Identifier: Apache-2.0
"""Spark as the writer: format versions 2 and 3, copy-on-write and merge-on-read; DDL, refs, procedures."""
import itertools

import pytest
from lib.spark import Spark
from lib.watch import Watch

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def spark(server):
    client = Spark(server)
    yield client
    client.close()


@pytest.fixture(params=[(2, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")],
                ids=lambda p: f"v{p[0]}-{p[1]}")
def mode(request):
    return request.param


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
def run(spark, watch, space):
    """A step of Spark's; afterwards Spark shows what DuckLake shows, and so do all other readers."""
    def step(sql: str, check: bool = True, **more):
        out = spark.sql(sql.replace("$T", f"ice.{space}.t").replace("$S", space))
        if check:
            truth = watch.check(sql[:60], **more)
            found = spark.rows(space, "t", types=watch.types())
            difference = truth.difference(found)
            assert not difference, f"{sql}: spark: {difference}"
        return out
    return step


def duck(watch, sql: str, **options) -> None:
    watch.lake.session(**options).execute(sql.replace("$T", watch.name).replace("$S", watch.schema))


def create(run, mode, columns="id BIGINT, word STRING, d DATE", more="") -> None:
    version, how = mode
    run(f"CREATE TABLE $T ({columns}) USING iceberg {more} TBLPROPERTIES ('format-version'='{version}', "
        f"'write.delete.mode'='{how}', 'write.update.mode'='{how}', 'write.merge.mode'='{how}')")


LONG = "concat('a text that is longer than sixteen characters ', id % 5)"


def test_rows_come_and_go(run, watch, mode):
    create(run, mode)
    run(f"INSERT INTO $T SELECT id, {LONG}, date_add(DATE '2024-01-01', int(id)) FROM range(60)")
    run("DELETE FROM $T WHERE id % 10 = 1")
    run("UPDATE $T SET word = 'changed' WHERE id % 10 = 2")
    run("MERGE INTO $T t USING (SELECT id FROM range(50, 70)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 55 THEN DELETE WHEN MATCHED THEN UPDATE SET word = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, word, d) VALUES (s.id, 'inserted', NULL)")
    duck(watch, "DELETE FROM $T WHERE id = 4")
    duck(watch, "INSERT INTO $T VALUES (1000, 'small', NULL)")
    duck(watch, "UPDATE $T SET word = 'duck' WHERE id < 3")
    run("DELETE FROM $T WHERE id IN (5, 1000)")
    run("UPDATE $T SET word = 'spark again' WHERE id < 10")
    run("INSERT OVERWRITE $T SELECT id, 'over', NULL FROM range(5)")
    run("DELETE FROM $T")
    run("INSERT INTO $T VALUES (1, 'again', NULL)")
    watch.everything()


def test_create_as_and_replace(run, watch, mode):
    version, _ = mode
    run(f"CREATE TABLE $T USING iceberg TBLPROPERTIES ('format-version'='{version}') AS "
        f"SELECT id, {LONG} AS word FROM range(20)")
    run(f"REPLACE TABLE $T USING iceberg TBLPROPERTIES ('format-version'='{version}') AS "
        "SELECT id AS number, id * 2 AS twice FROM range(7)")
    run("CREATE OR REPLACE TABLE $T USING iceberg PARTITIONED BY (part) AS "
        "SELECT id, id % 3 AS part FROM range(9)")
    duck(watch, "INSERT INTO $T SELECT i, i % 3 FROM range(100, 130) r(i)", DATA_INLINING_ROW_LIMIT=0)
    run("INSERT INTO $T VALUES (500, 1)")
    watch.everything()


def test_the_definition_changes(run, watch, mode):
    create(run, mode, "id INT, word STRING, s STRUCT<a: INT, b: STRING>, f FLOAT, m DECIMAL(5,2)")
    run("INSERT INTO $T SELECT int(id), 'x', named_struct('a', int(id), 'b', 'y'), float(id), 1.25 FROM range(20)")
    run("ALTER TABLE $T ADD COLUMN later STRING")
    run("ALTER TABLE $T ADD COLUMN s.c BIGINT")
    run("ALTER TABLE $T ALTER COLUMN id TYPE BIGINT")
    run("ALTER TABLE $T ALTER COLUMN f TYPE DOUBLE")
    run("ALTER TABLE $T ALTER COLUMN m TYPE DECIMAL(9,2)")
    run("ALTER TABLE $T RENAME COLUMN word TO name")
    run("ALTER TABLE $T RENAME COLUMN s.b TO bb")
    run("ALTER TABLE $T ALTER COLUMN later COMMENT 'came later'")
    run("ALTER TABLE $T ALTER COLUMN later FIRST")
    run("INSERT INTO $T (id, name, later) VALUES (100, 'new', 'now')")
    duck(watch, "INSERT INTO $T (id, name) VALUES (200, 'by DuckDB')")
    run("ALTER TABLE $T DROP COLUMN f")
    run("ALTER TABLE $T DROP COLUMN s.a")
    run("INSERT INTO $T (id, name) VALUES (300, 'last')")
    run("ALTER TABLE $T SET TBLPROPERTIES ('note' = 'kept')")
    run("ALTER TABLE $T UNSET TBLPROPERTIES ('note')")
    watch.everything()


def test_partitions_evolve(run, watch, mode):
    create(run, mode, "id BIGINT, word STRING, ts TIMESTAMP", "PARTITIONED BY (bucket(4, id))")
    rows = "SELECT id, concat('w', id), timestamp_seconds(1700000000 + id * 3600) FROM range({}, {})"
    run("INSERT INTO $T " + rows.format(0, 40))
    run("ALTER TABLE $T ADD PARTITION FIELD days(ts)")
    run("INSERT INTO $T " + rows.format(40, 80))
    run("ALTER TABLE $T DROP PARTITION FIELD bucket(4, id)")
    run("INSERT INTO $T " + rows.format(80, 120))
    run("ALTER TABLE $T ADD PARTITION FIELD truncate(1, word)")
    run("INSERT INTO $T " + rows.format(120, 160))
    duck(watch, "INSERT INTO $T SELECT i, 'duck', TIMESTAMPTZ '2024-05-05 00:00:00+00' FROM range(500, 530) r(i)",
         DATA_INLINING_ROW_LIMIT=0)
    run("DELETE FROM $T WHERE id % 7 = 0")
    run("ALTER TABLE $T WRITE ORDERED BY id DESC")
    run("INSERT INTO $T " + rows.format(160, 170))
    watch.everything()


def test_branches_and_tags(run, watch, space, spark, mode):
    create(run, mode)
    run("INSERT INTO $T SELECT id, 'main', NULL FROM range(10)")
    run("ALTER TABLE $T CREATE TAG first")
    run("ALTER TABLE $T CREATE BRANCH side RETAIN 7 DAYS")
    run("INSERT INTO ice.$S.t.branch_side SELECT id, 'side', NULL FROM range(100, 105)")
    run("DELETE FROM ice.$S.t.branch_side WHERE id < 3")
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t VERSION AS OF 'side'") == [["12"]]
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t") == [["10"]]
    run(f"CALL ice.system.fast_forward('{space}.t', 'main', 'side')")
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t") == [["12"]]
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t VERSION AS OF 'first'") == [["10"]]
    duck(watch, "DELETE FROM $T WHERE id = 100")
    run("ALTER TABLE $T DROP BRANCH side")
    run("ALTER TABLE $T DROP TAG first")
    watch.everything()


def test_rollback_and_publish(run, watch, space, spark, mode):
    create(run, mode)
    run("INSERT INTO $T SELECT id, 'one', NULL FROM range(20)")
    first = spark.sql(f"SELECT snapshot_id FROM ice.{space}.t.snapshots ORDER BY committed_at DESC")[0][0]
    run("DELETE FROM $T WHERE id < 5")
    run("INSERT INTO $T SELECT id, 'two', NULL FROM range(50, 60)")
    run(f"CALL ice.system.rollback_to_snapshot('{space}.t', {first})")
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t") == [["20"]]
    duck(watch, "DELETE FROM $T WHERE id = 7")
    run("INSERT INTO $T VALUES (900, 'after', NULL)")
    run("ALTER TABLE $T SET TBLPROPERTIES ('write.wap.enabled'='true')")
    spark.sql("SET spark.wap.id = staged1")
    run("INSERT INTO $T VALUES (901, 'staged', NULL)")
    spark.sql("RESET spark.wap.id")
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t WHERE id = 901") == [["0"]]
    run(f"CALL ice.system.publish_changes('{space}.t', 'staged1')")
    assert spark.sql(f"SELECT count(*) FROM ice.{space}.t WHERE id = 901") == [["1"]]
    watch.everything()


def test_procedures_rewrite_and_clean_nothing_away(run, watch, space, spark, mode):
    create(run, mode)
    for i in range(4):
        run(f"INSERT INTO $T SELECT id, 'x', NULL FROM range({i * 10}, {i * 10 + 10})")
    run("DELETE FROM $T WHERE id % 10 = 3")
    run(f"CALL ice.system.rewrite_data_files(table => '{space}.t', options => map('min-input-files','2'))")
    run(f"CALL ice.system.rewrite_manifests('{space}.t')")
    for call in (f"CALL ice.system.expire_snapshots(table => '{space}.t', older_than => TIMESTAMP '2100-01-01 00:00:00')",
                 f"CALL ice.system.remove_orphan_files(table => '{space}.t')"):
        with pytest.raises(RuntimeError, match="GC is disabled|gc.enabled"):
            spark.sql(call)
    watch.everything()


def test_defaults_of_version_3(run, watch, spark, space):
    run("CREATE TABLE $T (id BIGINT) USING iceberg TBLPROPERTIES ('format-version'='3')")
    run("INSERT INTO $T SELECT id FROM range(5)")
    run("INSERT INTO $T SELECT id FROM range(5, 10)")
    rows = spark.sql(f"SELECT id, _row_id, _last_updated_sequence_number FROM ice.{space}.t ORDER BY id")
    assert len({row[1] for row in rows}) == 10
    run("UPDATE $T SET id = id + 100 WHERE id = 3")
    after = {row[0]: row[1] for row in spark.sql(f"SELECT id, _row_id FROM ice.{space}.t")}
    before = {row[0]: row[1] for row in rows}
    assert after["103"] == before["3"]
    watch.everything()


def test_a_table_is_upgraded_over_old_deletes(run, watch):
    create(run, (2, "merge-on-read"))
    run("INSERT INTO $T SELECT id, 'x', NULL FROM range(30)")
    run("DELETE FROM $T WHERE id % 3 = 0")
    run("ALTER TABLE $T SET TBLPROPERTIES ('format-version'='3')")
    run("DELETE FROM $T WHERE id % 3 = 1")
    run("INSERT INTO $T VALUES (100, 'y', NULL)")
    duck(watch, "DELETE FROM $T WHERE id = 2")
    run("UPDATE $T SET word = 'z' WHERE id > 20")
    watch.everything()
