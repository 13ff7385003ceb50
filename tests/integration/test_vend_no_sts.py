# SPDX-License-Identifier: Apache-2.0
"""A store that makes no session keys: signed requests and the gateway, for real."""
from __future__ import annotations

import pytest
from fixtures import served_lake
from lib import raw_s3
from lib.lakes import duck, private_stack
from lib.server import free_port
from test_vend_matrix import VENDED, Ground, keys_of


@pytest.fixture(scope="module")
def served():
    port = free_port()
    with private_stack(sts=False) as stack:
        yield from served_lake(
            stack, DUCKICELAKE_S3_GATEWAY_ENABLED="1", DUCKICELAKE_S3_GATEWAY_PORT=port,
            DUCKICELAKE_S3_GATEWAY_SECRET="a-secret-of-the-gateway-for-tests-only",
            DUCKICELAKE_S3_GATEWAY_URL=f"http://127.0.0.1:{port}")


@pytest.fixture(scope="module")
def ground(served):
    return Ground(served, "bare")


def test_a_missing_sts_is_found_out(served, ground):
    """Its endpoint is configured, as by default; the store answers that it knows no such thing."""
    config = served.get("/namespaces/bare/tables/orders", headers=VENDED).json()["config"]
    assert config["s3.endpoint"] != ground.place.endpoint
    calls = served.metrics()["duckicelake_sts_calls_total"]
    served.get("/namespaces/bare/tables/orders2", headers=VENDED)
    assert served.metrics()["duckicelake_sts_calls_total"] == calls == 1


def test_the_whole_matrix_by_signatures_and_through_the_gateway(served, ground):
    config = served.get("/namespaces/bare/tables/orders", headers=VENDED).json()["config"]
    gateway = raw_s3.Keyed(ground.place._replace(endpoint=config["s3.endpoint"]), keys_of(config))
    signing = served.get("/namespaces/bare/tables/orders", headers={
        "X-Iceberg-Access-Delegation": "remote-signing"}).json()["config"]
    signer = raw_s3.RemotelySigned(ground.place, f"{served.url}/{signing['s3.signer.endpoint']}")
    outcomes = []
    for name, way in (("gateway", gateway), ("signed", signer)):
        outcomes += raw_s3.try_all(name, way, "write", ground.folders, ground.targets, ground.own)
    ground.check(outcomes)


def test_duckdb_reads_and_writes_through_the_gateway(served, ground):
    connection = duck.connect("httpfs", "avro", "iceberg")
    try:
        connection.execute(f"ATTACH 'lake' AS ice (TYPE iceberg, ENDPOINT '{served.url}', "
                           "AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'vended_credentials')")
        assert connection.execute("SELECT count(*) FROM ice.bare.orders2").fetchone() == (3000,)
        connection.execute("INSERT INTO ice.bare.orders2 VALUES (-5, 'by duckdb')")
        connection.execute("CREATE TABLE ice.bare.made AS SELECT 5 AS id")
        assert connection.execute("SELECT id FROM ice.bare.made").fetchall() == [(5,)]
    finally:
        connection.close()
    session = ground.lake.session()
    assert session.execute("SELECT count(*) FROM lake.bare.orders2").fetchone() == (3001,)
