# SPDX-License-Identifier: Apache-2.0
"""A sample of the histories through Spark: every snapshot shows DuckLake's rows."""
import histories
import pytest
from lib.history import Run
from lib.history_tests import hold, look_late
from lib.soak import SOAK
from lib.spark import Spark

SAMPLE = [h for h in histories.ALL.values() if not h.own_lake and (h.spark or SOAK)]


@pytest.fixture(scope="module")
def spark(server):
    client = Spark(server)
    yield client
    client.close()


def test_the_sample_is_large_enough():
    assert len(SAMPLE) >= 10


@pytest.mark.parametrize("script", SAMPLE, ids=lambda h: h.name)
def test_spark_shows_every_snapshot(server, spark, script):
    schema = (script.schema or f"h_{script.name}") + "_spark"
    hold(Run(server.lake, script, schema=schema), look_late, server, [spark])
