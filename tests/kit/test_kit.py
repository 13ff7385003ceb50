# SPDX-License-Identifier: Apache-2.0
"""Iceberg's own catalog tests, one test here for each of theirs."""
import kit
import pytest
from fixtures import served_lake

EXPECTED = kit.expected_failures()


@pytest.fixture(scope="module")
def outcomes(stack):
    for server in served_lake(stack, **kit.SERVER_SETTINGS):
        yield kit.run(kit.client_properties(server.url, server.lake.env))


def test_the_suites_are_those_of_the_list(outcomes):
    assert set(outcomes) == set(kit.known_tests()), "write the list again: tests/kit/run --list"


def test_only_tests_that_exist_are_expected_to_fail():
    assert set(EXPECTED) <= set(kit.known_tests())
    assert all(reason.strip() for reason in EXPECTED.values())


@pytest.mark.parametrize("name", kit.known_tests())
def test_of_iceberg(outcomes, name):
    outcome = outcomes[name]
    if outcome.status == "skipped":
        pytest.skip(outcome.first_line())
    if name in EXPECTED:
        assert outcome.status == "failed", f"it passes; take it out of expected.toml: {name}"
        pytest.skip(f"expected: {EXPECTED[name]}")
    assert outcome.status == "passed", outcome.message
