# SPDX-License-Identifier: Apache-2.0
"""What DuckDB commits is on S3 before anybody asks; when the process that does it dies, another takes over."""
import pytest
from lib.lakes import Lake
from lib.server import Server, command, eventually


@pytest.fixture
def lake(stack):
    made = Lake(stack)
    done = command(made, "init")
    assert done.returncode == 0, f"init: {done.stdout}\n{done.stderr}"
    yield made
    made.close()


def eager_server(lake) -> Server:
    return Server(lake, DUCKICELAKE_DISABLE_NOTIFY="0").start()


def is_warm(lake) -> bool:
    """Every live table is published up to its newest snapshot."""
    behind = lake.rows(
        "SELECT count(*) FROM (SELECT table_id, max(begin_snapshot) AS newest FROM ducklake_data_file GROUP BY table_id) n "
        "JOIN ducklake_table t USING (table_id) LEFT JOIN duckicelake.table_state s USING (table_id) "
        "WHERE t.end_snapshot IS NULL AND coalesce(s.through_snapshot, -1) < n.newest")
    return behind[0][0] == 0


def insert(lake, table: str) -> None:
    lake.session().execute(f"INSERT INTO lake.s.{table} SELECT i FROM range(20) r(i)")


def is_leader(server) -> bool:
    return any(name.startswith("duckicelake_eager_leader") and value == 1
               for name, value in server.metrics().items())


def test_commits_of_duckdb_are_published_without_a_load(lake):
    session = lake.session()
    session.execute("CREATE SCHEMA lake.s")
    for i in range(5):
        session.execute(f"CREATE TABLE lake.s.t{i} (id BIGINT)")
    insert(lake, "t0")  # before the server: it catches up
    server = eager_server(lake)
    try:
        eventually("a table from before the start is warm", lambda: is_warm(lake))
        for i in range(5):
            insert(lake, f"t{i}")
        eventually("a burst is warm", lambda: is_warm(lake))
        before = server.metrics()
        body = server.load("s", "t3")
        assert len(body["metadata"]["snapshots"]) == 1
        after = server.metrics()
        written = [n for n in after if n.startswith("duckicelake_files_written_total")]
        assert written and all(after[n] == before[n] for n in written), "the load found everything written"
        assert any(n.startswith("duckicelake_eager_published_total") and after[n] >= 5 for n in after)
    finally:
        assert server.stop() == 0


def test_another_process_takes_over_from_one_that_is_killed(lake):
    session = lake.session()
    session.execute("CREATE SCHEMA lake.s")
    session.execute("CREATE TABLE lake.s.t0 (id BIGINT)")
    first, second = eager_server(lake), eager_server(lake)
    try:
        eventually("one of two leads", lambda: is_leader(first) or is_leader(second))
        assert is_leader(first) != is_leader(second)
        leader, other = (first, second) if is_leader(first) else (second, first)
        leader.kill()
        insert(lake, "t0")
        assert len(other.load("s", "t0")["metadata"]["snapshots"]) == 1, "a load is right meanwhile"
        eventually("the other one leads", lambda: is_leader(other))
        insert(lake, "t0")
        eventually("its table is warm", lambda: is_warm(lake))
    finally:
        for server in (first, second):
            if server.process and server.process.poll() is None:
                server.stop()
