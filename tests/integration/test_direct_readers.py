# SPDX-License-Identifier: Apache-2.0
"""A DuckDB user reads the lake itself through a PostgreSQL role that sees what the gate shows him."""
from __future__ import annotations

import concurrent.futures
import json

import psycopg
import pytest
from fixtures import served_lake
from lib import auth, direct
from lib.auth import sign_in
from lib.server import Server, eventually
from test_vend_access import gateway_settings

CLIENTS = {"reader": "ns:open:r", "both": "ns:open:r ns:shut:r", "stranger": "ns:other:r",
           "broker": "*:r broker", "agent": "ns:open:rw"}
# What must not show: each is in a name, a path, a value, a comment or a word about hidden things.
HIDDEN = ("shut", "vault", "hush", "private", "topsecret")


@pytest.fixture(scope="module")
def guarded(stack):
    settings = auth.settings(**CLIENTS)
    for server in served_lake(stack, **settings):
        session = server.lake.session()
        for text in (
                "CREATE SCHEMA lake.open", "CREATE SCHEMA lake.shut",
                "CREATE TABLE lake.open.orders AS SELECT range AS id, 'o' || range AS s FROM range(1000)",
                "INSERT INTO lake.open.orders VALUES (-1, 'inlined')",
                "DELETE FROM lake.open.orders WHERE id = 7",
                "CREATE TABLE lake.open.private (topsecret_column INT)",
                "INSERT INTO lake.open.private VALUES (42)",
                "CREATE VIEW lake.open.seen AS SELECT id FROM lake.open.orders",
                "CREATE MACRO lake.open.plus(x) AS x + 1",
                "CREATE TABLE lake.shut.vault AS SELECT range AS topsecret, 'topsecret' || range AS s "
                "FROM range(500)",
                "INSERT INTO lake.shut.vault VALUES (1, 'topsecret inlined')",
                "DELETE FROM lake.shut.vault WHERE topsecret = 3",
                "ALTER TABLE lake.shut.vault SET PARTITIONED BY (topsecret)",
                "ALTER TABLE lake.shut.vault SET SORTED BY (topsecret)",
                "COMMENT ON TABLE lake.shut.vault IS 'hush'",
                "COMMENT ON COLUMN lake.shut.vault.s IS 'hush too'",
                "CREATE VIEW lake.shut.vault_view AS SELECT 'topsecret' AS x",
                "CREATE MACRO lake.shut.topsecret_macro(hush) AS hush + 1"):
            session.execute(text)
        admin = sign_in(server)
        for role in ("insiders",):
            assert admin.post("/governance/roles", {"name": role}).status_code < 300
        answer = admin.post("/governance/object-grants", {
            "object-kind": "table", "schema": "open", "object": "private", "privilege": "select",
            "role": "insiders"})
        assert answer.status_code < 300, answer.text
        yield server


@pytest.fixture(scope="module")
def reader(guarded):
    return direct.vend(sign_in(guarded, "reader"), "open")


def grant(server, principal, on=True):
    admin = sign_in(server)
    body = {"role": "insiders", "principal": principal}
    answer = (admin.post if on else admin.delete)("/governance/role-grants", body)
    assert answer.status_code < 300, answer.text


def test_the_answer_has_the_contract_s_members(guarded, reader):
    assert set(reader) == {
        "ducklake_dsn", "ducklake_data_path", "ducklake_attach_sql", "post_attach_sql", "masked_view",
        "mask_signature", "transparent", "file_layer", "pg_role", "pg_valid_until", "mask_projection",
        "row_filter", "scan_files", "s3"}
    assert reader["pg_role"].startswith("duckicelake_p_reader_")
    assert "READ_ONLY" in reader["ducklake_attach_sql"]
    assert guarded.lake.env["DUCKICELAKE_PG_PASSWORD"] not in json.dumps(reader)
    assert len(direct.words(reader)["password"]) == 64


def test_what_is_pasted_into_duckdb_reads(guarded, reader):
    with direct.duckdb(reader) as duckdb:
        assert duckdb.execute("SELECT count(*), min(id), max(id) FROM lake.open.orders").fetchone() == (
            1000, -1, 999)
        assert duckdb.execute("SELECT count(*) FROM lake.open.seen").fetchone() == (1000,)
        assert duckdb.execute("SELECT lake.open.plus(1)").fetchone() == (2,)
        tables = {(row[1], row[2]) for row in duckdb.execute("SHOW ALL TABLES").fetchall()}
        assert tables == {("open", "orders"), ("open", "seen")}
        old = duckdb.execute("SELECT snapshot_id FROM lake.snapshots() WHERE changes IS NOT NULL "
                             "AND changes::VARCHAR LIKE '%open.orders%'").fetchone()[0]
        assert duckdb.execute(f"SELECT count(*) FROM lake.open.orders AT (VERSION => {old})").fetchone() == (
            1000,)
        for text in ("FROM lake.snapshots()", "FROM ducklake_table_info('lake')", "FROM lake.options()",
                     "FROM ducklake_list_files('lake', 'orders', schema => 'open')",
                     "FROM duckdb_columns()", "FROM duckdb_views()"):
            shown = str(duckdb.execute(text).fetchall())
            # The file list of PostgreSQL's own catalog is another matter: docs/operations/direct.md.
            assert not [w for w in ("vault", "hush", "shut") if w in shown], text
        with pytest.raises(Exception, match="(?i)read.only"):
            duckdb.execute("INSERT INTO lake.open.orders VALUES (1, 'x')")


def leaks(found: dict) -> list:
    return [(name, word) for name, rows in found.items() if isinstance(rows, list)
            for word in HIDDEN if word in str(rows)]


def test_no_row_of_what_is_hidden_is_seen_in_any_table(guarded, reader):
    lake = guarded.lake
    hidden = [i for (i,) in lake.rows(
        "SELECT table_id FROM ducklake_table WHERE table_name IN ('vault', 'private')")]
    with direct.raw(reader) as session:
        found = direct.everything(session, lake)
    print("\n" + "\n".join(f"{name:45} {len(rows) if isinstance(rows, list) else 'closed'}"
                           for name, rows in found.items()))
    assert leaks(found) == []
    columns = dict(lake.rows(
        "SELECT c.relname, a.attnum FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE a.attname = 'table_id' AND c.relname LIKE 'ducklake%%' AND c.relkind = 'r'"))
    for name, at in columns.items():
        assert not [row for row in found[name] if row[at - 1] in hidden], name
    for table in hidden:
        for name in found:
            if name.startswith((f"ducklake_inlined_data_{table}_", f"ducklake_inlined_delete_{table}")):
                assert found[name] == [], name
    assert isinstance(found["ducklake_files_scheduled_for_deletion"], str)
    for name in ("ducklake_table", "ducklake_column", "ducklake_data_file", "ducklake_file_column_stats",
                 "ducklake_table_stats", "ducklake_view", "ducklake_macro", "ducklake_snapshot",
                 "ducklake_snapshot_changes", "ducklake_schema", "ducklake_metadata"):
        assert found[name], f"{name}: nothing is seen at all"


def test_the_same_look_finds_them_with_a_role_that_may_see(guarded):
    answer = direct.vend(sign_in(guarded), "open")
    with direct.raw(answer) as session:
        found = direct.everything(session, guarded.lake)
    assert {word for _, word in leaks(found)} == set(HIDDEN)
    assert {name for name, _ in leaks(found)} >= {
        "ducklake_table", "ducklake_column", "ducklake_schema", "ducklake_tag", "ducklake_column_tag",
        "ducklake_view", "ducklake_macro", "ducklake_snapshot_changes", "ducklake_file_column_stats"}
    for name in direct.lake_tables(guarded.lake):
        if name != "ducklake_files_scheduled_for_deletion":
            assert found[name] == guarded.lake.rows(f'SELECT * FROM "{name}"'), name


def test_grants_and_revocations_count_with_the_next_query(guarded, reader):
    count = "SELECT count(*) FROM ducklake_table WHERE table_name = 'private'"
    with direct.raw(reader) as session:
        assert session.execute(count).fetchone() == (0,)
        grant(guarded, "reader")
        assert session.execute(count).fetchone() == (1,)
        with direct.duckdb(reader) as duckdb:
            assert duckdb.execute("SELECT topsecret_column FROM lake.open.private").fetchall() == [(42,)]
        grant(guarded, "reader", on=False)
        assert session.execute(count).fetchone() == (0,)
        assert leaks(direct.everything(session, guarded.lake)) == []


def test_rows_that_are_inlined_after_the_role_was_made_are_read(guarded, reader):
    session = guarded.lake.session()
    with direct.duckdb(reader) as duckdb:
        session.execute("CREATE TABLE lake.open.later (x INT)")
        session.execute("INSERT INTO lake.open.later VALUES (1), (2)")
        assert duckdb.execute("SELECT sum(x) FROM lake.open.later").fetchone() == (3,)
        # A new inlined table for new columns, and deletes kept in PostgreSQL.
        session.execute("ALTER TABLE lake.open.later ADD COLUMN y INT")
        session.execute("INSERT INTO lake.open.later VALUES (4, 5)")
        assert duckdb.execute("SELECT sum(x), sum(y) FROM lake.open.later").fetchone() == (7, 5)
        session.execute("INSERT INTO lake.open.later SELECT range, range FROM range(100, 200)")
        session.execute("DELETE FROM lake.open.later WHERE x = 150")
        assert duckdb.execute("SELECT count(*) FROM lake.open.later").fetchone() == (102,)
        session.execute("ALTER TABLE lake.open.later RENAME TO renamed")
        assert duckdb.execute("SELECT count(*) FROM lake.open.renamed").fetchone() == (102,)
        session.execute("DROP TABLE lake.open.renamed")
        with direct.raw(reader) as raw:
            assert raw.execute("SELECT count(*) FROM ducklake_table WHERE table_name LIKE '%%renamed%%'"
                               ).fetchone() == (0,)
        assert duckdb.execute("SELECT count(*) FROM lake.open.orders").fetchone() == (1000,)


def test_a_table_that_nothing_armed_is_closed_and_then_armed(guarded, reader):
    lake = guarded.lake
    with direct.raw(reader) as session:
        lake.postgres.execute("CREATE TABLE ducklake_inlined_delete_999999 (file_id BIGINT)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT * FROM ducklake_inlined_delete_999999")
        lake.postgres.execute("CREATE TABLE ducklake_of_tomorrow (table_id BIGINT)")
        # The elected process arms what it knows with the next announcement; the rest stays closed.
        lake.session().execute("CREATE SCHEMA IF NOT EXISTS lake.announced")
        eventually("the new table is armed", lambda: lake.rows(
            "SELECT relrowsecurity FROM pg_class WHERE relname = 'ducklake_inlined_delete_999999'")[0][0], 3)
        assert session.execute("SELECT * FROM ducklake_inlined_delete_999999").fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT * FROM ducklake_of_tomorrow")
        # By hand: the next look, or role, closes it again.
        lake.postgres.execute("ALTER TABLE ducklake_data_file DISABLE ROW LEVEL SECURITY")
        direct.vend(sign_in(guarded, "both"), "open", duration_seconds=901)
        assert lake.rows("SELECT relrowsecurity FROM pg_class WHERE relname = 'ducklake_data_file'") == [(True,)]
        lake.postgres.execute("DROP TABLE ducklake_inlined_delete_999999, ducklake_of_tomorrow")


def test_hidden_ids_are_looked_up_once_for_a_scan(reader):
    with direct.raw(reader) as session:
        plan = session.execute("EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM ducklake_file_column_stats"
                               ).fetchone()[0][0]["Plan"]
    assert "hashed SubPlan" in plan["Filter"], plan
    for part in plan["Plans"]:
        assert part["Actual Loops"] <= 1, part


def test_scopes_and_names_decide_who_gets_a_role(guarded):
    stranger = sign_in(guarded, "stranger")
    assert stranger.get(direct.path("open")).status_code == 403
    assert sign_in(guarded, "reader").get(direct.path("shut")).status_code == 403
    assert sign_in(guarded, "reader").get(direct.path("open", table="nothing")).status_code == 404
    assert sign_in(guarded, "reader").get(direct.path("open", table="private")).status_code == 404
    assert sign_in(guarded).get(direct.path("nowhere")).status_code == 404
    assert sign_in(guarded, "reader").get(direct.path("open", write=1)).status_code == 403
    assert sign_in(guarded, "reader").get(direct.path("open", duration_seconds="long")).status_code == 400
    assert guarded.http.get(guarded.api + direct.path("open")).status_code == 401


def test_a_broker_gets_what_the_other_may_see(guarded):
    broker = sign_in(guarded, "broker")
    other = direct.vend(broker, "open", delegate=1, principal="reader", actor="agent", channel="mcp")
    with direct.raw(other) as session:
        assert leaks(direct.everything(session, guarded.lake)) == []
    refused = sign_in(guarded, "reader").get(direct.path("open", delegate=1, principal="both"))
    assert refused.status_code == 403


def test_keys_open_the_tables_of_the_answer_only(guarded):
    import sigv4
    from lib import raw_s3
    lake = guarded.lake
    place = raw_s3.place_of(lake.env)
    files = {t: lake.rows(
        "SELECT s.path || t.path || f.path FROM ducklake_data_file f JOIN ducklake_table t USING (table_id) "
        "JOIN ducklake_schema s USING (schema_id) WHERE t.table_name = %s AND f.path_is_relative "
        "AND t.end_snapshot IS NULL LIMIT 1", t)[0][0] for t in ("orders", "vault")}
    prefix = lake.data_path.split("/", 3)[3]
    for query in ({"table": "orders"}, {}):
        s3 = direct.vend(sign_in(guarded, "reader"), "open", **query)["s3"]
        assert s3["expiration"]
        keyed = raw_s3.Keyed(place, sigv4.Keys(s3["access-key-id"], s3["secret-access-key"],
                                               s3["session-token"]))
        assert keyed.request("GET", prefix + files["orders"]).status == 200
        assert keyed.request("GET", prefix + files["vault"]).status == 403
        assert keyed.request("PUT", prefix + files["orders"], body=b"x").status == 403
        assert keyed.request("GET", "", "list-type=2&prefix=" + prefix.replace("/", "%2F")).status == 403


def test_ten_at_once_for_one_principal_all_work(guarded):
    session = sign_in(guarded, "both")

    def one(number):
        answer = direct.vend(session, "shut", duration_seconds=2000 + number)
        with direct.duckdb(answer) as duckdb:
            return answer["pg_role"], duckdb.execute("SELECT count(*) FROM lake.shut.vault").fetchone()[0]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        done = list(pool.map(one, range(10)))
    assert len({role for role, _ in done}) == 10 and {count for _, count in done} == {500}


def test_who_asks_twice_gets_the_same_role_until_rules_change(guarded):
    session = sign_in(guarded, "both")
    first = direct.vend(session, "open")
    assert direct.vend(session, "open")["ducklake_dsn"] == first["ducklake_dsn"]
    assert direct.vend(session, "shut")["ducklake_dsn"] != first["ducklake_dsn"]
    grant(guarded, "both")
    try:
        assert direct.vend(session, "open")["ducklake_dsn"] != first["ducklake_dsn"]
    finally:
        grant(guarded, "both", on=False)


def test_other_roles_and_the_owner_are_not_bound(guarded):
    lake = guarded.lake
    lake.stack.pg.psql("DROP ROLE IF EXISTS analyst_of_tests; "
                       "CREATE ROLE analyst_of_tests LOGIN PASSWORD 'analyst'")
    lake.postgres.execute("GRANT SELECT ON ducklake_table TO analyst_of_tests")
    rows = lake.rows("SELECT count(*) FROM ducklake_table")
    with psycopg.connect(host=lake.env["DUCKICELAKE_PG_HOST"], port=lake.env["DUCKICELAKE_PG_PORT"],
                         user="analyst_of_tests", password="analyst", dbname=lake.name) as other:
        assert other.execute("SELECT count(*) FROM ducklake_table").fetchall() == rows
    lake.postgres.execute("REVOKE ALL ON ducklake_table FROM analyst_of_tests")
    plan = str(lake.rows("EXPLAIN SELECT * FROM ducklake_data_file"))
    assert "Filter" not in plan and "SubPlan" not in plan
    assert lake.rows("SELECT count(*) FROM pg_class WHERE relforcerowsecurity") == [(0,)]


def test_the_record_names_the_role_and_no_secret(guarded, reader):
    eventually("the grant is on record", lambda: guarded.lake.rows(
        "SELECT 1 FROM duckicelake.audit WHERE operation = 'ducklake_credentials' AND key_id = %s",
        reader["pg_role"]))
    everything = str(guarded.lake.rows("SELECT * FROM duckicelake.audit")) + str(
        guarded.lake.rows("SELECT * FROM duckicelake.pg_principal"))
    assert direct.words(reader)["password"] not in everything
    assert direct.words(reader)["password"] not in guarded.log_tail(100000)


def test_without_an_sts_keys_are_those_of_the_gateway(guarded):
    server = Server(guarded.lake, **auth.settings(**CLIENTS), **gateway_settings()).start()
    try:
        session = sign_in(server, "reader")
        answer = direct.vend(session, "open", table="orders")
        assert answer["s3"]["enforcement"] == "gateway" and answer["s3"]["session-token"] is None
        with direct.duckdb(answer) as duckdb:
            assert duckdb.execute("SELECT count(*) FROM lake.open.orders WHERE s LIKE 'o%'").fetchone() == (999,)
        sign_in(server).post("/governance/roles", {"name": "unused"})
        guarded.lake.session().execute("CREATE TABLE IF NOT EXISTS lake.open.second (x INT)")
        wide = direct.vend(session, "open")
        assert wide["s3"] is None and "one table" in wide["s3_note"]
        with direct.duckdb(wide) as duckdb:  # what lies in PostgreSQL is read all the same
            assert duckdb.execute("SELECT count(*) FROM lake.open.second").fetchone() == (0,)
    finally:
        server.stop()
