# SPDX-License-Identifier: Apache-2.0
"""The differential test as pytest functions, made once for each topic of histories."""
from __future__ import annotations

import pytest

from .differential import Checker
from .history import Run
from .soak import SOAK

# Where a server that looks only when all is over has other work to do than one that followed:
# DuckLake rewrote something in between.
REWRITTEN = ("inl_", "del_", "mnt_", "a4", "part_inlined")


def follow(server, run: Run, clients) -> Checker:
    """Loads after each step, and in the end once more everything that is listed."""
    checker = Checker(server, run, clients)
    for _ in run.steps():
        checker.now()
    checker.all()
    return checker


def look_late(server, run: Run, clients) -> Checker:
    """Loads for the first time when the script is over."""
    run.finish()
    checker = Checker(server, run, clients)
    checker.all()
    return checker


def hold(run: Run, check, server, clients) -> None:
    try:
        checker = check(server, run, clients)
        problems = list(checker.problems)
        if bool(run.record.surprises) != ("head" in run.script.faults):
            problems = run.record.surprises + problems
        assert not problems, f"{len(problems)} problems:\n" + "\n".join(problems[:12])
        assert checker.compared, "nothing was compared"
    finally:
        run.close()


def cases_for(histories) -> dict:
    """The test functions of a topic: `globals().update(cases_for(...))` in a test file."""
    shared = [h for h in histories if not h.own_lake]
    own = [h for h in histories if h.own_lake]
    late = shared if SOAK else [h for h in shared if h.name.startswith(REWRITTEN)]
    found = {}
    if shared:
        @pytest.mark.parametrize("script", shared, ids=lambda h: h.name)
        def test_clients_follow_each_step(server, clients, script):
            hold(Run(server.lake, script), follow, server, clients)
        found["test_clients_follow_each_step"] = test_clients_follow_each_step
    if late:
        @pytest.mark.parametrize("script", late, ids=lambda h: h.name)
        def test_clients_look_late(server, clients, script):
            schema = (script.schema or f"h_{script.name}") + "_late"
            hold(Run(server.lake, script, schema=schema), look_late, server, clients)
        found["test_clients_look_late"] = test_clients_look_late
    if own:
        @pytest.mark.parametrize("check", [follow, look_late], ids=lambda f: f.__name__)
        @pytest.mark.parametrize("script", own, ids=lambda h: h.name)
        def test_clients_on_a_lake_of_its_own(fresh_server, fresh_clients, script, check):
            hold(Run(fresh_server.lake, script), check, fresh_server, fresh_clients)
        found["test_clients_on_a_lake_of_its_own"] = test_clients_on_a_lake_of_its_own
    return found
