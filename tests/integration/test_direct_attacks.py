# SPDX-License-Identifier: Apache-2.0
"""What a vended PostgreSQL role must not be able to do, by any statement; and how its life ends."""
from __future__ import annotations

import time

import psycopg
import pytest
from fixtures import served_lake
from lib import auth, direct
from lib.auth import sign_in
from lib.server import Server, command, eventually
from lib.soak import size

CLIENTS = {"reader": "ns:open:r", "writer": "ns:open:rw"}


@pytest.fixture(scope="module")
def guarded(stack):
    for server in served_lake(stack, **auth.settings(**CLIENTS)):
        session = server.lake.session()
        session.execute("CREATE SCHEMA lake.open; CREATE SCHEMA lake.shut; "
                        "CREATE TABLE lake.open.t AS SELECT range AS id FROM range(100); "
                        "CREATE TABLE lake.shut.vault AS SELECT range AS topsecret FROM range(50)")
        yield server


@pytest.fixture(scope="module")
def reader(guarded):
    return direct.vend(sign_in(guarded, "reader"), "open")


@pytest.fixture
def session(reader):
    with direct.raw(reader) as made:
        yield made


REFUSED = {
    "become the owner": "SET ROLE ducklake",
    "become the owner for the session": "SET SESSION AUTHORIZATION ducklake",
    "become a superuser": "ALTER ROLE CURRENT_USER SUPERUSER",
    "live longer": "ALTER ROLE CURRENT_USER VALID UNTIL 'infinity'",
    "more connections": "ALTER ROLE CURRENT_USER CONNECTION LIMIT -1",
    "read the sidecar": "SELECT * FROM duckicelake.pg_principal",
    "read the record": "SELECT * FROM duckicelake.audit",
    "read clients": "SELECT * FROM duckicelake.client",
    "call our functions": "SELECT duckicelake.direct_tables('public')",
    "call them by way of a trigger": "CREATE TRIGGER x AFTER INSERT ON ducklake_table "
                                     "EXECUTE FUNCTION duckicelake.announce_snapshot()",
    "write": "INSERT INTO ducklake_table_stats VALUES (1, 1, 1, 1)",
    "delete": "DELETE FROM ducklake_table",
    "change": "UPDATE ducklake_table SET table_name = 'x'",
    "empty": "TRUNCATE ducklake_table",
    "drop a policy": "DROP POLICY duckicelake_reader_v1 ON ducklake_table",
    "switch it off": "ALTER TABLE ducklake_table DISABLE ROW LEVEL SECURITY",
    "make a table": "CREATE TABLE public.x (i INT)",
    "make a schema": "CREATE SCHEMA x",
    "make a function": "CREATE FUNCTION public.session_user() RETURNS TEXT LANGUAGE sql AS 'SELECT ''x'''",
    "make an extension": "CREATE EXTENSION dblink",
    "make a role": "CREATE ROLE x",
    "read a file": "SELECT pg_read_file('/etc/passwd')",
    "run a program": "COPY (SELECT 1) TO PROGRAM 'true'",
    "write a file": "COPY ducklake_table TO '/tmp/x'",
    "read statistics": "SELECT * FROM pg_catalog.pg_statistic",
    "read passwords": "SELECT * FROM pg_catalog.pg_authid",
    "lock a table": "LOCK TABLE ducklake_table IN ACCESS EXCLUSIVE MODE",
    "end our sessions": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ducklake'",
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_reader_cannot(session, what):
    with pytest.raises(psycopg.Error):
        session.execute(REFUSED[what])


def names(session) -> set:
    return {name for (name,) in session.execute("SELECT table_name FROM ducklake_table").fetchall()}


@pytest.mark.parametrize("trick", [
    "SET ROLE duckicelake_reader",
    "SET search_path = pg_temp, public",
    "SET application_name = 'duckicelake'",
    "SET duckicelake.principal = 'admin'",
    "SELECT set_config('role', 'duckicelake_reader', false)",
    "CREATE TEMP TABLE pg_principal AS SELECT 1 AS x; CREATE TEMP TABLE ducklake_schema (x INT)",
    "CREATE TYPE pg_temp.text AS (x INT)",
    "CREATE FUNCTION pg_temp.now() RETURNS TIMESTAMPTZ LANGUAGE sql AS 'SELECT NULL::TIMESTAMPTZ'",
    "CREATE FUNCTION pg_temp.coalesced(INT) RETURNS INT LANGUAGE sql AS 'SELECT 1'",
    "SET plan_cache_mode = force_generic_plan; SET enable_hashagg = off; SET jit = off",
    "SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET bytea_output = 'escape'",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
])
def test_no_trick_widens_or_breaks_what_is_seen(session, trick):
    session.execute(trick)
    seen = session.execute("SELECT table_name FROM public.ducklake_table").fetchall()
    assert seen == [("t",)]


def test_row_security_off_is_an_error_and_no_way_around(session):
    session.execute("SET row_security = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SELECT * FROM ducklake_table")


def test_copy_follows_the_policies(session):
    with session.cursor().copy("COPY ducklake_table TO STDOUT") as copy:
        text = b"".join(copy).decode()
    assert "vault" not in text and "\tt\t" in text


def test_statistics_of_postgresql_show_no_values(guarded, session):
    guarded.lake.postgres.execute("ANALYZE")
    assert guarded.lake.rows("SELECT count(*) FROM pg_stats WHERE tablename = 'ducklake_table'")[0][0] > 0
    assert session.execute("SELECT * FROM pg_stats WHERE tablename LIKE 'ducklake%'").fetchall() == []
    assert session.execute("SELECT * FROM pg_stats_ext").fetchall() == []


def test_a_function_in_a_condition_sees_no_hidden_row(session):
    # A condition that is not leakproof runs after the policy.
    notices = []
    session.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    session.execute("CREATE FUNCTION pg_temp.tell(TEXT) RETURNS BOOLEAN COST 0.0000001 LANGUAGE plpgsql AS "
                    "$$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$")
    session.execute("SELECT * FROM ducklake_table WHERE pg_temp.tell(table_name)")
    assert notices == ["t"]
    with pytest.raises(psycopg.Error) as failure:
        session.execute("SELECT 1 / (length(table_name) - 5) FROM ducklake_table WHERE table_name::INT = 1")
    assert "vault" not in str(failure.value)


def test_large_objects_and_temporary_tables_end_with_the_role(guarded, session):
    session.execute("SELECT lo_from_bytea(0, 'left behind')")
    session.execute("CREATE TEMP TABLE mine (i INT)")
    role = session.execute("SELECT session_user::TEXT").fetchone()[0]
    assert role.startswith("duckicelake_p_reader")


def fresh(guarded, who="reader", **query):
    fresh.count = getattr(fresh, "count", 0) + 1
    return direct.vend(sign_in(guarded, who), "open", duration_seconds=1000 + fresh.count, **query)


def age(guarded, answer) -> None:
    """As if the role's time were over."""
    guarded.lake.postgres.execute(
        "UPDATE duckicelake.pg_principal SET expires_at = now() - interval '1 minute' WHERE pg_role = %s",
        (answer["pg_role"],))
    guarded.lake.postgres.execute(
        f"ALTER ROLE {answer['pg_role']} VALID UNTIL '{time.strftime('%Y-%m-%d', time.gmtime(time.time() - 86400))}'")


def is_role(guarded, name) -> bool:
    return guarded.lake.rows("SELECT count(*) FROM pg_roles WHERE rolname = %s", name)[0][0] == 1


def test_an_expired_role_sees_nothing_cannot_log_in_and_is_gone(guarded):
    answer = fresh(guarded)
    with direct.raw(answer) as session:
        session.execute("SELECT lo_from_bytea(0, 'left behind')")
        assert names(session) == {"t"}
        age(guarded, answer)
        try:
            assert names(session) == set()
        except psycopg.OperationalError:
            pass  # ended already
        with pytest.raises(psycopg.OperationalError):
            direct.raw(answer)

        def ended():
            try:
                session.execute("SELECT 1")
            except psycopg.OperationalError:
                return True
            return False
        eventually("the running session ends", ended, 10)
    eventually("the role is dropped", lambda: not is_role(guarded, answer["pg_role"]), 40)
    assert guarded.lake.rows("SELECT count(*) FROM duckicelake.pg_principal WHERE pg_role = %s",
                             answer["pg_role"]) == [(0,)]


def test_many_old_roles_go_in_batches_while_vends_go_on(guarded):
    lake, count = guarded.lake, size(1000, 10_000)
    # In one transaction, so that none goes before all are there.
    lake.postgres.execute(f"""DO $$ BEGIN FOR i IN 1..{count} LOOP
        EXECUTE format('CREATE ROLE duckicelake_p_old_%s_%s', current_database(), i);
        INSERT INTO duckicelake.pg_principal SELECT 'duckicelake_p_old_' || current_database() || '_' || i, 'lake', 1,
          false, 'x', 'x', NULL, 0, '{{}}', '{{}}', false, false, '[]', false, '[]', now() - interval '1 day';
        END LOOP; END $$""")
    # Of the same form, and not on record: nobody's to drop.
    foreign = f"duckicelake_p_foreign_{lake.name}"
    lake.postgres.execute(f"CREATE ROLE {foreign}")
    # On record, and no name of ours.
    lake.postgres.execute(f"CREATE ROLE other_{lake.name}")
    lake.postgres.execute("INSERT INTO duckicelake.pg_principal SELECT %s, 'lake', 1, false, 'x', 'x', NULL, 0, "
                          "'{}', '{}', false, false, '[]', false, '[]', now() - interval '1 day'",
                          (f"other_{lake.name}",))
    start = time.monotonic()
    slowest, left = 0.0, [count]

    def gone():
        nonlocal slowest
        begin = time.monotonic()
        fresh(guarded)
        slowest = max(slowest, time.monotonic() - begin)
        left.append(lake.rows("SELECT count(*) FROM pg_roles WHERE rolname LIKE %s",
                              f"duckicelake_p_old_{lake.name}_%")[0][0])
        return left[-1] == 0
    eventually("the old roles are dropped", gone, size(60, 900))
    print(f"{count} roles in {time.monotonic() - start:.1f} s; the slowest vend meanwhile {slowest:.3f} s")
    # Whole batches, each in its own transaction.
    assert not [n for n in left if n % 200], left
    assert is_role(guarded, foreign) and is_role(guarded, f"other_{lake.name}")
    assert slowest < 5
    lake.postgres.execute(f"DROP ROLE {foreign}, other_{lake.name}")
    lake.postgres.execute("DELETE FROM duckicelake.pg_principal WHERE pg_role = %s", (f"other_{lake.name}",))


def test_a_role_that_others_gave_something_stands_in_nobody_s_way(guarded):
    lake = guarded.lake
    one, two = fresh(guarded), fresh(guarded)
    lake.stack.pg.psql(f"GRANT CREATE ON DATABASE postgres TO {one['pg_role']};")
    lake.stack.pg.psql(f"CREATE TABLE public.left_behind (i INT); ALTER TABLE public.left_behind OWNER TO "
                       f"{two['pg_role']};", database=lake.name)
    age(guarded, one)
    age(guarded, two)
    eventually("what can be dropped is", lambda: not is_role(guarded, two["pg_role"]), 40)
    eventually("the other cannot log in", lambda: lake.rows(
        "SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", one["pg_role"]) == [(False,)], 40)
    lake.stack.pg.psql(f"REVOKE CREATE ON DATABASE postgres FROM {one['pg_role']}; DROP ROLE {one['pg_role']};")


def test_a_client_that_is_disabled_or_changed_sees_nothing_at_once(guarded):
    admin = sign_in(guarded)
    for change in ({"disabled": True}, {"scope": "ns:other:r"}, {"void-tokens": True}, None):
        name = f"pg_{time.monotonic_ns()}"
        made = admin.post("/admin/clients", {"client-id": name, "scope": "ns:open:r"})
        assert made.status_code < 300, made.text
        # Tokens count in whole seconds.
        token = auth.token(guarded, name, made.json()["client-secret"])
        answer = direct.vend(auth.As(guarded, token), "open")
        with direct.raw(answer) as session:
            assert names(session) == {"t"}
            done = (admin.post(f"/admin/clients/{name}", change) if change
                    else admin.delete(f"/admin/clients/{name}"))
            assert done.status_code < 300, done.text
            assert names(session) == set(), change
            assert session.execute("SELECT count(*) FROM ducklake_snapshot").fetchone() == (0,)


def test_advisory_locks_of_a_vended_role_do_not_last(guarded):
    lake = guarded.lake
    kept = fresh(guarded)
    with direct.raw(fresh(guarded)) as thief:
        thief.execute("SELECT pg_advisory_lock(hashtextextended('duckicelake direct', 1))")

        def ended():
            try:
                thief.execute("SELECT 1")
            except psycopg.OperationalError:
                return True
            return False
        eventually("the session is ended", ended, 15)
    # The lock of the election itself, while nobody is elected.
    assert guarded.stop() == 0
    with direct.raw(kept) as thief:
        assert thief.execute("SELECT pg_try_advisory_lock(hashtextextended('duckicelake direct', 0))"
                             ).fetchone() == (True,)
        guarded.start()
        eventually("somebody is elected all the same", lambda: lake.rows(
            "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
            "WHERE l.locktype = 'advisory' AND a.usename = 'ducklake'")[0][0] >= 1
            and not lake.rows("SELECT pid FROM pg_stat_activity WHERE usename = %s",
                              kept["pg_role"]), 30)


def test_announcements_that_anybody_sends_do_no_harm(guarded, session):
    for number in range(200):
        session.execute("SELECT pg_notify('duckicelake_snapshot', %s)", ("x" * (number * 30 + 1),))
    guarded.lake.session().execute("CREATE TABLE lake.open.heard (x INT); INSERT INTO lake.open.heard VALUES (1)")
    assert "heard" in names(session)
    assert guarded.get("/namespaces/open/tables", headers=auth.bearer(auth.token(guarded))).status_code == 200


def test_without_row_security_nobody_gets_a_role(guarded):
    server = Server(guarded.lake, DUCKICELAKE_RLS="0", **auth.settings(**CLIENTS)).start()
    try:
        answer = sign_in(server, "reader").get(direct.path("open"))
        assert answer.status_code == 403 and "DUCKICELAKE_RLS" in answer.text
        assert guarded.lake.env["DUCKICELAKE_PG_PASSWORD"] not in answer.text
        assert sign_in(server).get(direct.path("open")).status_code == 403
    finally:
        server.stop()


def test_an_owner_that_may_not_make_roles_serves_and_says_so(guarded):
    lake = guarded.lake
    lake.stack.pg.psql("ALTER ROLE ducklake NOCREATEROLE")
    try:
        assert command(lake, "init").returncode == 0
        refused = sign_in(guarded, "reader").get(direct.path("open", duration_seconds=1234))
        assert refused.status_code == 503 and "Retry-After" in refused.headers
        assert "password" not in refused.text.lower()
    finally:
        lake.stack.pg.psql("ALTER ROLE ducklake CREATEROLE")
    fresh(guarded)


def test_doctor_says_what_is_armed(guarded):
    told = command(guarded.lake, "doctor", env=auth.settings(**CLIENTS)).stdout
    assert "row security" in told and "armed for duckicelake_reader" in told, told
    guarded.lake.postgres.execute("ALTER TABLE ducklake_table DISABLE ROW LEVEL SECURITY")
    told = command(guarded.lake, "doctor", env=auth.settings(**CLIENTS)).stdout
    assert "ducklake_table is granted to vended roles and not bound" in told
    fresh(guarded)


def test_metrics_count_roles(guarded):
    def count(kind):
        text = guarded.http.get(guarded.url + "/metrics").text
        return float(next(line.split()[-1] for line in text.splitlines()
                          if line.startswith(f'duckicelake_direct_total{{outcome="{kind}"')))
    before = count("reader")
    fresh(guarded)
    assert count("reader") == before + 1


def test_two_lakes_of_a_database_share_no_role(guarded, reader):
    lake = guarded.lake
    second = {"DUCKICELAKE_PG_SCHEMA": "second", "DUCKICELAKE_CATALOG": "second",
              "DUCKICELAKE_S3_PREFIX": f"{lake.name}/second/"}
    done = command(lake, "init", env=second)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "armed for duckicelake_reader_" in done.stdout
    server = Server(lake, **auth.settings(**CLIENTS), **second)
    server.api = f"{server.url}/v1/second"
    server.start()
    try:
        made = sign_in(server).post("/namespaces", {"namespace": ["open"]})
        assert made.status_code == 200, made.text
        answer = direct.vend(sign_in(server, "reader"), "open")
        assert "METADATA_SCHEMA 'second'" in answer["ducklake_attach_sql"] and " AS second " in answer[
            "ducklake_attach_sql"]
        with direct.duckdb(answer) as duckdb:
            assert duckdb.execute("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'second' "
                                  "AND schema_name = 'open'").fetchall() == [("open",)]
        with direct.raw(answer) as session:
            assert session.execute("SELECT count(*) FROM second.ducklake_snapshot").fetchone()[0] > 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute("SELECT * FROM public.ducklake_table")
        with direct.raw(reader) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT * FROM second.ducklake_table")
    finally:
        server.stop()


def test_roles_of_a_shared_catalog_are_its_own_and_end_with_it(guarded):
    lake, headers = guarded.lake, auth.bearer(auth.token(guarded))
    body = {"catalog_id": "tenant", "metadata_schema": "tenant_lake", "data_prefix": f"{lake.name}-tenant/"}
    made = guarded.http.post(f"{guarded.url}/v1/catalogs", json=body, headers=headers)
    assert made.status_code == 201, made.text
    base = f"{guarded.url}/v1/tenant"
    assert guarded.http.post(base + "/namespaces", json={"namespace": ["open"]}, headers=headers).status_code == 200
    asked = guarded.http.get(base + direct.path("open"), headers=auth.bearer(auth.token(guarded, "reader")))
    assert asked.status_code == 200, asked.text
    count = "SELECT count(*) FROM tenant_lake.ducklake_schema WHERE schema_name = 'open'"
    with direct.raw(asked.json()) as session:
        assert session.execute(count).fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT * FROM public.ducklake_table")
        assert guarded.http.delete(f"{guarded.url}/v1/catalogs/tenant", headers=headers).status_code == 204
        assert session.execute(count).fetchone() == (0,)
        # The same catalog again is another registration: its old roles stay blind.
        assert guarded.http.post(f"{guarded.url}/v1/catalogs", json=body, headers=headers).status_code == 201
        assert session.execute(count).fetchone() == (0,)
