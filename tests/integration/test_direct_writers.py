# SPDX-License-Identifier: Apache-2.0
"""A vended role that may write changes rows of the tables that the caller may change, and no others."""
from __future__ import annotations

import concurrent.futures

import psycopg
import pytest
from fixtures import served_lake
from lib import auth, direct
from lib.auth import sign_in

CLIENTS = {"writer": "ns:open:rw ns:look:r", "reader": "ns:open:r", "broker": "*:rw broker"}


@pytest.fixture(scope="module")
def guarded(stack):
    for server in served_lake(stack, **auth.settings(**CLIENTS)):
        session = server.lake.session()
        for text in ("CREATE SCHEMA lake.open", "CREATE SCHEMA lake.look", "CREATE SCHEMA lake.shut",
                     "CREATE TABLE lake.open.t AS SELECT range AS id, 'v' || range AS v FROM range(100)",
                     "INSERT INTO lake.open.t VALUES (1000, 'inlined')",
                     "CREATE TABLE lake.open.g (x BIGINT)",
                     "CREATE TABLE lake.look.only AS SELECT range AS id FROM range(50)",
                     "CREATE TABLE lake.shut.vault AS SELECT range AS topsecret FROM range(50)",
                     # Its folder lies inside that of a table that can be written.
                     "CREATE TABLE lake.open.kept AS SELECT range AS id FROM range(50)"):
            session.execute(text)
        admin = sign_in(server)
        admin.post("/governance/roles", {"name": "keepers"})
        answer = admin.post("/governance/object-grants", {
            "object-kind": "table", "schema": "open", "object": "kept", "privilege": "modify", "role": "keepers"})
        assert answer.status_code < 300, answer.text
        yield server


@pytest.fixture(scope="module")
def writer(guarded):
    return direct.vend(sign_in(guarded, "writer"), "open", write=1)


def test_the_answer_is_for_writing(guarded, writer):
    assert set(writer) == {"ducklake_dsn", "ducklake_data_path", "ducklake_attach_sql", "pg_role",
                           "pg_valid_until", "write", "s3"}
    assert writer["write"] is True and "DATA_INLINING_ROW_LIMIT 0" in writer["ducklake_attach_sql"]
    assert sign_in(guarded, "reader").get(direct.path("open", write=1)).status_code == 403
    refused = sign_in(guarded, "broker").get(direct.path("open", write=1, delegate=1, principal="x",
                                                         actor="agent"))
    assert refused.status_code == 403 and "agents" in refused.text


def test_statements_on_tables_that_are_there_work(guarded, writer):
    owner = guarded.lake.session()
    with direct.duckdb(writer) as duckdb:
        for text in ("INSERT INTO lake.open.t VALUES (2000, 'w')",
                     "INSERT INTO lake.open.g SELECT range FROM range(20)",
                     "DELETE FROM lake.open.t WHERE id = 5",
                     "DELETE FROM lake.open.t WHERE id = 6",  # replaces the delete file
                     "DELETE FROM lake.open.t WHERE id = 1000",  # an inlined row
                     "UPDATE lake.open.t SET v = 'u' WHERE id IN (7, 2000)",
                     "MERGE INTO lake.open.g USING (SELECT 5 AS x) q ON (g.x = q.x) WHEN MATCHED THEN DELETE",
                     "BEGIN", "INSERT INTO lake.open.t VALUES (3000, 'a')",
                     "INSERT INTO lake.open.g VALUES (300)", "COMMIT"):
            duckdb.execute(text)
        seen = duckdb.execute("SELECT count(*), sum(id) FROM lake.open.t").fetchone()
        assert seen == (100, 4950 - 5 - 6 + 2000 + 3000)
        assert duckdb.execute("SELECT count(*) FROM lake.look.only").fetchone() == (50,)
        assert owner.execute("SELECT count(*), sum(id) FROM lake.open.t").fetchone() == seen
        assert owner.execute("SELECT count(*), sum(x) FROM lake.open.g").fetchone() == (20, 190 - 5 + 300)
        duckdb.execute("DELETE FROM lake.open.g")
        assert owner.execute("SELECT count(*) FROM lake.open.g").fetchone() == (0,)
    # Iceberg clients read the same.
    loaded = sign_in(guarded).get("/namespaces/open/tables/t")
    assert loaded.status_code == 200, loaded.text


@pytest.mark.parametrize("text", [
    "INSERT INTO lake.look.only VALUES (1)", "DELETE FROM lake.look.only", "DELETE FROM lake.look.only WHERE id = 1",
    "INSERT INTO lake.open.kept VALUES (1)", "UPDATE lake.open.kept SET id = 2",
    "CREATE TABLE lake.open.c (i INT)", "ALTER TABLE lake.open.t ADD COLUMN z INT", "DROP TABLE lake.open.t",
    "ALTER TABLE lake.open.t RENAME TO other", "CREATE SCHEMA lake.more", "CREATE VIEW lake.open.z AS SELECT 1",
    "COMMENT ON TABLE lake.open.t IS 'x'", "ALTER TABLE lake.open.t SET PARTITIONED BY (id)",
    "CALL ducklake_expire_snapshots('lake', older_than => now())",
    "INSERT INTO lake.shut.vault VALUES (1)"])
def test_all_else_is_refused_and_changes_nothing(guarded, writer, text):
    lake = guarded.lake
    before = lake.head(), lake.rows("SELECT count(*) FROM ducklake_data_file")
    with direct.duckdb(writer) as duckdb, pytest.raises(Exception):
        duckdb.execute(text)
    assert (lake.head(), lake.rows("SELECT count(*) FROM ducklake_data_file")) == before


class Forger:
    """A session that writes rows by hand, each time in a transaction that is rolled back at the end."""

    def __init__(self, guarded, answer):
        self.lake = guarded.lake
        self.session = direct.raw(answer)
        self.snapshot, self.version, self.catalog, self.file = self.lake.rows(
            "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot "
            "ORDER BY 1 DESC LIMIT 1")[0]

    def id_of(self, table):
        return self.lake.rows("SELECT table_id FROM ducklake_table WHERE table_name = %s AND end_snapshot "
                              "IS NULL", table)[0][0]

    def head(self, snapshot=1, time="now()", version=0, catalog=0, file=10):
        return (f"INSERT INTO ducklake_snapshot VALUES ({self.snapshot + snapshot}, {time}, "
                f"{self.version + version}, {self.catalog + catalog}, {self.file + file})")

    def data(self, table, path="x.parquet", relative="true", file=0, begin=1, end="NULL", mapping="NULL"):
        return (f"INSERT INTO ducklake_data_file VALUES ({self.file + file}, {self.id_of(table)}, "
                f"{self.snapshot + begin}, {end}, NULL, '{path}', {relative}, 'parquet', 1, 1, 1, 0, NULL, "
                f"NULL, {mapping}, NULL)")

    def deletes(self, table, of, path="x-delete.parquet", file=1):
        return (f"INSERT INTO ducklake_delete_file VALUES ({self.file + file}, {self.id_of(table)}, "
                f"{self.snapshot + 1}, NULL, {of}, '{path}', true, 'parquet', 1, 1, 1, NULL, NULL)")

    def say(self, words, snapshot=1):
        return f"INSERT INTO ducklake_snapshot_changes VALUES ({self.snapshot + snapshot}, '{words}', NULL, NULL, NULL)"

    def schedule(self, path, relative="true"):
        return f"INSERT INTO ducklake_files_scheduled_for_deletion VALUES (1, '{path}', {relative}, now())"

    def try_all(self, *statements) -> int:
        """How many rows the last one touched; everything is taken back."""
        try:
            with self.session.transaction(force_rollback=True):
                for text in statements:
                    touched = self.session.execute(text).rowcount
            return touched
        finally:
            self.session.execute("ROLLBACK")


@pytest.fixture
def forger(guarded, writer):
    made = Forger(guarded, writer)
    yield made
    made.session.close()


def test_the_rows_of_a_commit_can_be_written(forger):
    table = forger.id_of("t")
    assert forger.try_all(forger.head(), forger.data("t"), forger.say(f"inserted_into_table:{table}")) == 1
    assert forger.try_all(forger.head(), forger.schedule("open/t/gone-delete.parquet")) == 1
    assert forger.try_all(
        forger.head(), f"UPDATE ducklake_data_file SET end_snapshot = {forger.snapshot + 1} "
        f"WHERE table_id = {table} AND end_snapshot IS NULL") >= 1


FORGERIES = {
    "a snapshot far ahead": lambda f: [f.head(snapshot=9)],
    "a snapshot that is there": lambda f: [f.head(snapshot=0)],
    "a snapshot of tomorrow": lambda f: [f.head(time="now() + interval '1 day'")],
    "a new schema version": lambda f: [f.head(version=1)],
    "ids of tables": lambda f: [f.head(catalog=1)],
    "ids of files taken back": lambda f: [f.head(file=-1)],
    "all ids of files": lambda f: [f.head(file=2**40)],
    "a file of a table that is only read": lambda f: [f.head(), f.data("only")],
    "a file of a hidden table": lambda f: [f.head(), f.data("vault")],
    "a file of a table that others modify": lambda f: [f.head(), f.data("kept")],
    "an object anywhere": lambda f: [f.head(), f.data("t", "s3://bucket/x.parquet", "false")],
    "a folder above": lambda f: [f.head(), f.data("t", "../vault/x.parquet")],
    "a folder above, later": lambda f: [f.head(), f.data("t", "y/../../vault/x.parquet")],
    "a path from the root": lambda f: [f.head(), f.data("t", "/x.parquet")],
    "a path with two readings": lambda f: [f.head(), f.data("t", "y//x.parquet")],
    "a file of an older snapshot": lambda f: [f.head(), f.data("t", begin=0)],
    "a file that has ended": lambda f: [f.head(), f.data("t", end=1)],
    "a file with a mapping": lambda f: [f.head(), f.data("t", mapping="1")],
    "an id that is not reserved": lambda f: [f.head(), f.data("t", file=50)],
    "an id of before": lambda f: [f.head(), f.data("t", file=-1)],
    "a file without a snapshot": lambda f: [f.data("t")],
    "words about a hidden table": lambda f: [f.head(), f.say(f"inserted_into_table:{f.id_of('vault')}")],
    "a word of DDL": lambda f: [f.head(), f.say(f"dropped_table:{f.id_of('t')}")],
    "no word at all": lambda f: [f.head(), f.say("nonsense")],
    "words for an older snapshot": lambda f: [f.head(), f.say(f"inserted_into_table:{f.id_of('t')}", 0)],
    "deletes of another table's file": lambda f: [f.head(), f.deletes("t", f.lake.rows(
        "SELECT data_file_id FROM ducklake_data_file WHERE table_id = %s LIMIT 1", f.id_of("vault"))[0][0])],
    "the end of a hidden table's file": lambda f: [
        f.head(), f"UPDATE ducklake_data_file SET end_snapshot = {f.snapshot + 1} WHERE data_file_id = 0 "
        f"AND table_id = {f.id_of('vault')} RETURNING 1 / 0"],
    "another path for a file": lambda f: [f"UPDATE ducklake_data_file SET path = 'x' WHERE table_id = {f.id_of('t')}"],
    "a file's revival": lambda f: [f"UPDATE ducklake_data_file SET end_snapshot = 0 WHERE table_id = {f.id_of('t')}"],
    "statistics of another table": lambda f: [
        f"UPDATE ducklake_table_stats SET table_id = {f.id_of('vault')} WHERE table_id = {f.id_of('t')}"],
    "cleanup of a hidden table's file": lambda f: [f.head(), f.schedule("shut/vault/x.parquet")],
    "cleanup of anything": lambda f: [f.head(), f.schedule("s3://bucket/x.parquet", "false")],
    "cleanup of the folder above": lambda f: [f.head(), f.schedule("open/t/../../shut/vault/x.parquet")],
    "the removal of a file": lambda f: [f"DELETE FROM ducklake_data_file WHERE table_id = {f.id_of('t')}"],
    "the removal of snapshots": lambda f: ["DELETE FROM ducklake_snapshot"],
    "a new table": lambda f: [f.head(), "INSERT INTO ducklake_table SELECT * FROM ducklake_table LIMIT 1"],
    "inlined rows": lambda f: [f.head(), "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'x', 1)"],
    "the schedule read": lambda f: ["SELECT * FROM ducklake_files_scheduled_for_deletion"],
    "options": lambda f: ["UPDATE ducklake_metadata SET value = 's3://mine/' WHERE key = 'data_path'"],
}


@pytest.mark.parametrize("what", FORGERIES)
def test_no_other_row_can(forger, what):
    before = forger.lake.head()
    try:
        touched = forger.try_all(*FORGERIES[what](forger))
    except psycopg.Error:
        touched = 0
    assert touched == 0 and forger.lake.head() == before


def test_a_file_in_a_folder_inside_that_of_another_table_is_refused(guarded, forger):
    lake = guarded.lake
    prefix = lake.rows("SELECT value FROM ducklake_metadata WHERE key = 'data_path'")[0][0]
    vault = forger.id_of("vault")
    lake.postgres.execute("UPDATE ducklake_table SET path = %s, path_is_relative = false WHERE table_id = %s",
                          (prefix + "open/t/inner/", vault))
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            forger.try_all(forger.head(), forger.data("t", "inner/x.parquet"))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            forger.try_all(forger.head(), forger.schedule("open/t/inner/x.parquet"))
        assert forger.try_all(forger.head(), forger.data("t", "outer/x.parquet")) == 1
    finally:
        lake.postgres.execute("UPDATE ducklake_table SET path = 'vault/', path_is_relative = true "
                              "WHERE table_id = %s", (vault,))


def test_writers_and_the_owner_commit_side_by_side(guarded, writer):
    owner = guarded.lake.session()
    owner.execute("CREATE TABLE lake.open.busy (x BIGINT)")
    # Keys are for the tables of the moment; the role sees the new one all the same.
    with direct.duckdb(writer) as duckdb:
        assert duckdb.execute("SELECT count(*) FROM lake.open.busy").fetchone() == (0,)
        with pytest.raises(Exception, match="403|AccessDenied"):
            duckdb.execute("INSERT INTO lake.open.busy VALUES (1)")
    answer = direct.vend(sign_in(guarded, "writer"), "open", write=1, duration_seconds=1701)

    def work(number):
        with direct.duckdb(answer) as duckdb:
            for turn in range(5):
                duckdb.execute(f"INSERT INTO lake.open.busy VALUES ({number * 10 + turn})")
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        done = [pool.submit(work, number) for number in range(3)]
        for turn in range(5):
            owner.execute(f"INSERT INTO lake.shut.vault SELECT {turn} FROM range(20)")
        for one in done:
            one.result()
    assert owner.execute("SELECT count(DISTINCT x), count(*) FROM lake.open.busy").fetchone() == (15, 15)


def conflicts(guarded, mine, table: str, statement: str) -> bool:
    """Whether `mine` fails to delete from a table that the owner changed meanwhile, with a hidden one."""
    owner = guarded.lake.session()
    mine.execute("BEGIN")
    mine.execute(f"DELETE FROM lake.open.{table} WHERE id < 10")
    owner.execute("BEGIN")
    owner.execute(statement)
    owner.execute("INSERT INTO lake.shut.vault SELECT 9 FROM range(20)")
    owner.execute("COMMIT")
    try:
        mine.execute("COMMIT")
        return False
    except Exception as failure:
        # DuckDB cannot remove what it wrote: keys never delete. The sweep does.
        assert any(word in str(failure) for word in ("onflict", "concurrent", "Could not remove")), failure
        return True


def test_a_conflict_with_a_change_of_a_visible_and_a_hidden_table_is_not_overlooked(guarded):
    owner = guarded.lake.session()
    found = {}
    for turn, statement in enumerate((
            "INSERT INTO lake.open.{} SELECT range FROM range(100, 130)",
            "DELETE FROM lake.open.{} WHERE id < 30", "ALTER TABLE lake.open.{} ADD COLUMN more INT")):
        for who in ("vended", "owner"):
            table = f"shared_{turn}_{who}"
            owner.execute(f"CREATE TABLE lake.open.{table} AS SELECT range AS id FROM range(100)")
            answer = direct.vend(sign_in(guarded, "writer"), "open", write=1, duration_seconds=1702 + turn)
            with (direct.duckdb(answer) if who == "vended"
                  else guarded.lake.duckdb(DATA_INLINING_ROW_LIMIT=0)) as duckdb:
                found[statement, who] = conflicts(guarded, duckdb, table, statement.format(table))
    print(found)
    for statement, who in found:
        assert found[statement, who] == found[statement, "owner"], (statement, who)
    assert any(found.values())


def test_a_change_that_names_something_hidden_stops_commits(guarded):
    owner = guarded.lake.session()
    answer = direct.vend(sign_in(guarded, "writer"), "open", write=1, duration_seconds=1800)
    with direct.duckdb(answer) as duckdb:
        duckdb.execute("INSERT INTO lake.open.g VALUES (1)")
        owner.execute("BEGIN")
        owner.execute("INSERT INTO lake.open.g SELECT range FROM range(30)")
        owner.execute("CREATE TABLE lake.shut.fresh_secret (x INT)")
        owner.execute("COMMIT")
        with direct.raw(answer) as session:
            assert "fresh_secret" not in str(session.execute("SELECT * FROM ducklake_snapshot_changes").fetchall())
        with pytest.raises(Exception):
            duckdb.execute("INSERT INTO lake.open.g VALUES (2)")
    guarded.lake.postgres.execute("UPDATE ducklake_snapshot SET snapshot_time = snapshot_time - interval '2 hours' "
                                  "WHERE snapshot_id = (SELECT max(snapshot_id) FROM ducklake_snapshot)")
    with direct.duckdb(answer) as duckdb:
        duckdb.execute("INSERT INTO lake.open.g VALUES (2)")


def test_keys_of_writers_put_and_never_delete(guarded, writer):
    import sigv4
    from lib import raw_s3
    s3 = writer["s3"]
    assert s3, writer
    lake = guarded.lake
    keyed = raw_s3.Keyed(raw_s3.place_of(lake.env), sigv4.Keys(
        s3["access-key-id"], s3["secret-access-key"], s3["session-token"]))
    prefix = lake.data_path.split("/", 3)[3]
    assert keyed.request("PUT", prefix + "open/t/put.parquet", body=b"x").status == 200
    assert keyed.request("DELETE", prefix + "open/t/put.parquet").status == 403
    kept = lake.rows("SELECT f.path FROM ducklake_data_file f JOIN ducklake_table t USING (table_id) "
                     "WHERE t.table_name = 'kept' LIMIT 1")[0][0]
    assert keyed.request("GET", prefix + "open/kept/" + kept).status == 200
    for place in ("look/only/put.parquet", "shut/vault/put.parquet", "open/kept/put.parquet", "put.parquet"):
        assert keyed.request("PUT", prefix + place, body=b"x").status == 403, place


def test_a_table_that_was_dropped_and_made_again_is_read_and_not_written(guarded):
    owner = guarded.lake.session()
    for _ in range(2):
        owner.execute("CREATE TABLE lake.open.again AS SELECT range AS id FROM range(40)")
        owner.execute("DROP TABLE lake.open.again")
    owner.execute("CREATE TABLE lake.open.again AS SELECT range AS id FROM range(40)")
    answer = direct.vend(sign_in(guarded, "writer"), "open", write=1, table="again")
    assert answer["s3"] is None and answer["s3_note"], answer
    whole = direct.vend(sign_in(guarded, "writer"), "open", write=1, duration_seconds=1900)
    assert whole["s3"] and "again" in whole["s3_note"]
