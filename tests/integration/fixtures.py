# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a private stack for the test process, lakes and servers on it."""
from __future__ import annotations

import os

import pytest
from lib.differential import readers
from lib.lakes import Lake, private_stack
from lib.server import Server, command


@pytest.fixture(scope="session")
def stack():
    with private_stack() as running:
        yield running


@pytest.fixture(scope="module")
def own_stack():
    """A stack that a module may stop and start; never the one that others use."""
    given = os.environ.pop("DUCKICELAKE_TEST_STACK", None)
    try:
        with private_stack() as running:
            yield running
    finally:
        if given:
            os.environ["DUCKICELAKE_TEST_STACK"] = given


@pytest.fixture(scope="session")
def plain_lake(stack):
    """A lake without a server, shared by tests that keep to a schema of their own."""
    lake = Lake(stack)
    lake.duckdb().close()
    yield lake
    lake.close()


@pytest.fixture
def fresh_plain_lake(stack):
    """A lake without a server for one test: to expire, clean up and compact as a whole."""
    lake = Lake(stack)
    lake.duckdb().close()
    yield lake
    lake.close()


@pytest.fixture(scope="module")
def own_lake(stack):
    """A lake of this module's own, prepared by `duckicelake init`; its servers are the module's."""
    lake = Lake(stack)
    done = command(lake, "init")
    assert done.returncode == 0, f"init: {done.stdout}\n{done.stderr}"
    yield lake
    lake.close()


def served_lake(stack, **settings):
    """A new lake, prepared by `duckicelake init`, and a server on it; a generator for fixtures."""
    lake = Lake(stack)
    done = command(lake, "init")
    assert done.returncode == 0, f"init: {done.stdout}\n{done.stderr}"
    server = Server(lake, **settings).start()
    yield server
    try:
        assert server.stop() == 0
    finally:
        lake.close()


@pytest.fixture(scope="session")
def server(stack):
    """A server on a lake that tests share; each keeps to schemas of its own."""
    yield from served_lake(stack)


@pytest.fixture
def fresh_server(stack):
    """A server on a lake of this test alone."""
    yield from served_lake(stack)


@pytest.fixture(scope="session")
def clients(server):
    found = readers(server)
    yield found
    for client in found:
        client.close()


@pytest.fixture
def fresh_clients(fresh_server):
    found = readers(fresh_server)
    yield found
    for client in found:
        client.close()
