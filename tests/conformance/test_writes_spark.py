# SPDX-License-Identifier: Apache-2.0
"""Spark as the writer: format versions 2 and 3, copy-on-write and merge-on-read."""
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
