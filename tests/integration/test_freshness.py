# SPDX-License-Identifier: Apache-2.0
"""A commit by DuckDB between two requests is always seen by the second."""
import threading

import requests
from lib.soak import size


def current(answer: requests.Response) -> int:
    assert answer.status_code == 200, answer.text
    return answer.json()["metadata"]["current-snapshot-id"]


def start(server, schema: str):
    duck = server.lake.session()
    duck.execute(f"CREATE SCHEMA lake.{schema}; CREATE TABLE lake.{schema}.t (id INTEGER)")
    return duck


def test_each_commit_is_seen_by_the_next_load(server):
    duck = start(server, "fresh_one")
    for n in range(size(100, 1000)):
        duck.execute(f"INSERT INTO lake.fresh_one.t VALUES ({n})")
        assert current(server.get("/namespaces/fresh_one/tables/t")) == server.lake.head()


def test_a_load_under_load_never_goes_back(server):
    """Readers hammer the table; none may see an older state than a commit that was over before."""
    duck = start(server, "fresh_many")
    duck.execute("INSERT INTO lake.fresh_many.t VALUES (-1)")
    committed = [server.lake.head()]
    done, wrong = threading.Event(), []

    def read():
        http = requests.Session()
        while not done.is_set():
            least = committed[0]
            seen = current(http.get(f"{server.api}/namespaces/fresh_many/tables/t", timeout=60))
            if seen < least:
                wrong.append((least, seen))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    try:
        for n in range(size(60, 500)):
            duck.execute(f"INSERT INTO lake.fresh_many.t VALUES ({n})")
            committed[0] = server.lake.head()
            assert current(server.get("/namespaces/fresh_many/tables/t")) == committed[0]
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not wrong, f"{len(wrong)} stale answers, such as (committed, seen) {wrong[:5]}"


def test_changes_without_a_data_snapshot_are_seen(server):
    duck = start(server, "fresh_ddl")
    duck.execute("INSERT INTO lake.fresh_ddl.t VALUES (1)")

    def fields():
        metadata = server.load("fresh_ddl", "t")["metadata"]
        schema = next(s for s in metadata["schemas"]
                      if s["schema-id"] == metadata["current-schema-id"])
        return [f["name"] for f in schema["fields"]]
    assert fields() == ["id"]
    for n in range(20):
        duck.execute(f"ALTER TABLE lake.fresh_ddl.t ADD COLUMN c{n} INTEGER")
        assert fields()[-1] == f"c{n}"
        duck.execute(f"ALTER TABLE lake.fresh_ddl.t RENAME COLUMN c{n} TO d{n}")
        assert fields()[-1] == f"d{n}"
    duck.execute("ALTER TABLE lake.fresh_ddl.t RENAME TO u")
    assert server.get("/namespaces/fresh_ddl/tables/t").status_code == 404
    assert server.get("/namespaces/fresh_ddl/tables/u").status_code == 200
    duck.execute("DROP TABLE lake.fresh_ddl.u")
    assert server.get("/namespaces/fresh_ddl/tables/u").status_code == 404
    duck.execute("CREATE TABLE lake.fresh_ddl.u (x VARCHAR)")
    assert server.load("fresh_ddl", "u")["metadata"].get("current-snapshot-id", -1) == -1


def test_expire_and_cleanup_between_two_loads_are_noticed(fresh_server):
    """They take no DuckLake snapshot, so the head alone does not tell."""
    server = fresh_server
    duck = server.lake.duckdb(DATA_INLINING_ROW_LIMIT=0)
    duck.execute("CREATE SCHEMA lake.gone; CREATE TABLE lake.gone.t (id INTEGER)")
    for n in range(4):
        duck.execute(f"INSERT INTO lake.gone.t SELECT i FROM range({n * 20}, {n * 20 + 20}) r(i)")
    before = server.load("gone", "t")
    assert len(before["metadata"]["snapshots"]) == 4
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    merged = server.load("gone", "t")
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    after = server.load("gone", "t")
    assert after["metadata-location"] != merged["metadata-location"]
    store = server.lake.s3()
    from lib.validate import Objects, live_files
    objects = Objects(store)
    for snapshot in after["metadata"]["snapshots"]:
        for path in live_files(objects, snapshot["manifest-list"]):
            assert objects.exists(path), f"{path} is listed by {snapshot['snapshot-id']} and gone"
    duck.close()
