# SPDX-License-Identifier: Apache-2.0
"""PyIceberg, DuckDB and Spark read and write with no key but what an answer gave them."""
from __future__ import annotations

import pyarrow as pa
import pytest
from lib.lakes import duck
from lib.server import Server
from lib.spark import Spark
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io import fsspec


@pytest.fixture(scope="module")
def made(server):
    session = server.lake.session()
    session.execute("CREATE SCHEMA lake.keyless")
    for name in ("py", "duck", "spark", "py_signed", "spark_signed"):
        session.execute(f"CREATE TABLE lake.keyless.{name} AS SELECT range AS id, 'x' || range AS s "
                        "FROM range(3000)")
        session.execute(f"INSERT INTO lake.keyless.{name} VALUES (-1, 'inlined')")
        session.execute(f"DELETE FROM lake.keyless.{name} WHERE id = 7")
    return session


TRUTH = (3000, sum(range(3000)) - 7 - 1)


def truth(session, table: str, more: int, total: int) -> None:
    found = session.execute(f"SELECT count(*), sum(id) FROM lake.keyless.{table}").fetchone()
    assert found == (TRUTH[0] + more, TRUTH[1] + total)


def pyiceberg_round(catalog, session, table: str) -> None:
    loaded = catalog.load_table(("keyless", table))
    rows = loaded.scan().to_arrow()
    assert (rows.num_rows, sum(rows["id"].to_pylist())) == TRUTH
    loaded.append(pa.table({"id": pa.array([10_000, 10_001], pa.int64()), "s": ["a", "b"]}))
    loaded.delete("id = 10001")
    assert loaded.scan(row_filter="id >= 10000").to_arrow()["id"].to_pylist() == [10_000]
    truth(session, table, 1, 10_000)


def test_pyiceberg_with_vended_keys(server, made):
    catalog = RestCatalog("keyless", uri=server.url, warehouse="lake")
    pyiceberg_round(catalog, made, "py")
    new = catalog.create_table(("keyless", "py_new"), pa.schema([("id", pa.int64())]))
    new.append(pa.table({"id": [1, 2, 3]}))
    assert made.execute("SELECT sum(id) FROM lake.keyless.py_new").fetchone() == (6,)


def test_pyiceberg_with_signed_requests(server, made, monkeypatch):
    # PyIceberg 0.12 takes the signer off a client that threads share, and puts it on again, with every
    # thread that begins: requests of the others go out unsigned meanwhile. One client, set up once.
    ready = {}

    def one_client(properties, make=fsspec.SCHEME_TO_FS["s3"]):
        if "s3" not in ready:
            ready["s3"] = make(properties)
        return ready["s3"]
    monkeypatch.setitem(fsspec.SCHEME_TO_FS, "s3", one_client)
    keyless = Server(server.lake, DUCKICELAKE_STS_ENDPOINT="none").start()
    try:
        catalog = RestCatalog("keyless", uri=keyless.url, warehouse="lake")
        pyiceberg_round(catalog, made, "py_signed")
        assert keyless.metrics()['duckicelake_s3_sign_total{decision="granted"}'] > 10
    finally:
        keyless.stop()


def test_duckdb_with_vended_keys(server, made):
    connection = duck.connect("httpfs", "avro", "iceberg")
    try:
        connection.execute(f"ATTACH 'lake' AS ice (TYPE iceberg, ENDPOINT '{server.url}', "
                           "AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'vended_credentials')")
        # Two tables in one query: each with its own keys.
        found = connection.execute("SELECT count(*), sum(a.id) FROM ice.keyless.duck a "
                                   "JOIN ice.keyless.spark b USING (id)").fetchone()
        assert found == TRUTH
        connection.execute("INSERT INTO ice.keyless.duck VALUES (10000, 'a')")
        connection.execute("CREATE TABLE ice.keyless.duck_new AS SELECT 5 AS id")
        assert connection.execute("SELECT id FROM ice.keyless.duck_new").fetchall() == [(5,)]
    finally:
        connection.close()
    truth(made, "duck", 1, 10_000)
    assert made.execute("SELECT id FROM lake.keyless.duck_new").fetchall() == [(5,)]


def spark_round(spark, session, table: str) -> None:
    found = spark.sql(f"SELECT count(*), sum(id) FROM ice.keyless.{table}")
    assert found == [[str(TRUTH[0]), str(TRUTH[1])]]
    spark.sql(f"INSERT INTO ice.keyless.{table} VALUES (10000, 'a')")
    truth(session, table, 1, 10_000)


KEYLESS = {"s3.endpoint": None, "s3.path-style-access": None, "s3.access-key-id": None,
           "s3.secret-access-key": None, "client.region": None}


def test_spark_with_vended_keys(server, made):
    spark = Spark(server, **KEYLESS, **{"header.X-Iceberg-Access-Delegation": "vended-credentials"})
    try:
        spark_round(spark, made, "spark")
        spark.sql("CREATE TABLE ice.keyless.spark_new USING iceberg AS SELECT 7L AS id")
        assert made.execute("SELECT id FROM lake.keyless.spark_new").fetchall() == [(7,)]
    finally:
        spark.close()


def test_spark_with_signed_requests(server, made):
    keyless = Server(server.lake, DUCKICELAKE_STS_ENDPOINT="none").start()
    spark = Spark(keyless, **KEYLESS, **{"header.X-Iceberg-Access-Delegation": "remote-signing"})
    try:
        spark_round(spark, made, "spark_signed")
        spark.sql("CREATE TABLE ice.keyless.signed_new USING iceberg AS SELECT 7L AS id")
        assert made.execute("SELECT id FROM lake.keyless.signed_new").fetchall() == [(7,)]
        assert keyless.metrics()['duckicelake_s3_sign_total{decision="granted"}'] > 5
    finally:
        spark.close()
        keyless.stop()
