# SPDX-License-Identifier: Apache-2.0
"""The histories on DuckLake alone: each runs, and each fault of DuckLake's own is a known one."""
import histories
import pytest
from lib.history import Run

SHARED = [h for h in histories.ALL.values() if not h.own_lake]
OWN = [h for h in histories.ALL.values() if h.own_lake]


def hold(run: Run) -> None:
    try:
        run.finish()
        assert run.record.rows, "the history touched no table"
        changed = rewritten_history(run)
        known = run.script.faults
        assert bool(run.record.surprises) == ("head" in known), "\n".join(run.record.surprises)
        assert bool(changed) == ("history-rewritten" in known), "\n".join(changed)
    finally:
        run.close()


def rewritten_history(run: Run) -> list[str]:
    """Versions that DuckLake still has and now shows with other rows than when they were new."""
    alive = {row[0] for row in run.lake.rows("SELECT snapshot_id FROM ducklake_snapshot")}
    tables = {t.table_id: t for t in run.truth.tables()}
    found = []
    for (table_id, snapshot), rows in run.record.rows.items():
        if snapshot in alive and table_id in tables:
            try:
                difference = rows.difference(run.truth.rows(tables[table_id], snapshot))
            except Exception as error:  # the point is that DuckLake cannot read its own version
                difference = f"unreadable: {error}"
            if difference:
                found.append(f"table {table_id} AT (VERSION => {snapshot}): {difference}")
    return found


@pytest.mark.parametrize("script", SHARED, ids=lambda h: h.name)
def test_history_runs_on_ducklake(plain_lake, script):
    hold(Run(plain_lake, script))


@pytest.mark.parametrize("script", OWN, ids=lambda h: h.name)
def test_history_with_a_lake_of_its_own_runs_on_ducklake(fresh_plain_lake, script):
    hold(Run(fresh_plain_lake, script))
