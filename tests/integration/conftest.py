# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a private stack for the test process, a shared lake, lakes of one's own."""
from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from lib.lakes import Lake, private_stack  # noqa: E402


@pytest.fixture(scope="session")
def stack():
    with private_stack() as running:
        yield running


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
