# SPDX-License-Identifier: Apache-2.0
"""Whom the server believes: PostgreSQL and the object store have to show a certificate of the right authority."""
from __future__ import annotations

import json
import os
import shutil
import urllib.parse

import pytest
import requests
from lib import auth, raw_s3
from lib.certificates import Authority, TlsFront
from lib.lakes import Lake
from lib.rest import error_of
from lib.server import Server, command, eventually, free_port
from test_vend_matrix import VENDED, key_of, keys_of


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authorities")
    return Authority(folder, "ours"), Authority(folder, "theirs")


@pytest.fixture(scope="module")
def lake(own_stack):
    made = Lake(own_stack)
    assert command(made, "init").returncode == 0
    session = made.session()
    session.execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t AS SELECT range AS id FROM range(3000)")
    session.execute("INSERT INTO lake.s.t VALUES (-1)")
    yield made
    made.close()


# --- PostgreSQL

def serve_tls(stack, certificate, key) -> None:
    """PostgreSQL with this certificate, for connections from now on."""
    pg = stack.pg
    for source, name in ((certificate, "server.crt"), (key, "server.key")):
        target = pg.data / name
        shutil.copy(source, target)
        target.chmod(0o600)
        if pg.account:
            os.chown(target, pg.account.pw_uid, pg.account.pw_gid)
    pg.psql("ALTER SYSTEM SET ssl = on")
    pg.psql("SELECT pg_reload_conf()")


def test_postgres_without_tls_is_refused_where_tls_is_asked_for(lake):
    for mode in ("require", "verify-ca", "verify-full"):
        done = command(lake, "doctor", env={"DUCKICELAKE_PG_SSLMODE": mode})
        assert done.returncode == 1 and "SSL" in done.stdout + done.stderr, done.stdout
    assert command(lake, "doctor", env={"DUCKICELAKE_PG_SSLMODE": "prefer"}).returncode == 0


def test_postgres_is_believed_with_a_certificate_of_the_right_authority_only(own_stack, lake, authorities):
    ours, theirs = authorities
    serve_tls(own_stack, *ours.issue("127.0.0.1"))

    def ends_with(mode: str, ca, code: int, word: str = "certificate"):
        env = {"DUCKICELAKE_PG_SSLMODE": mode, "DUCKICELAKE_START_WAIT_SECONDS": "0"}
        env |= {"DUCKICELAKE_PG_SSLROOTCERT": str(ca)} if ca else {}
        done = command(lake, "doctor", env=env)
        text = done.stdout + done.stderr
        assert done.returncode == code and (code == 0 or word in text), (mode, ca, text[-800:])
        assert lake.env["DUCKICELAKE_PG_PASSWORD"] not in text
        return text
    eventually("PostgreSQL has read its certificate", lambda: "t" in own_stack.pg.psql("SHOW ssl").replace("on", "t"))
    for mode in ("verify-ca", "verify-full"):
        ends_with(mode, ours.ca, 0)
        ends_with(mode, theirs.ca, 1)
        ends_with(mode, ours.folder / "none.pem", 1, "root certificate")
        ends_with(mode, None, 1, "root certificate")
    # `serve` does not start either, and says why.
    refused = Server(lake, DUCKICELAKE_PG_SSLMODE="verify-full", DUCKICELAKE_PG_SSLROOTCERT=theirs.ca,
                     DUCKICELAKE_START_WAIT_SECONDS="1").start(wait=False)
    assert refused.process.wait(30) == 1 and "certificate" in refused.log_tail(5)
    # Of another host: of the authority, but not PostgreSQL.
    serve_tls(own_stack, *ours.issue("db.example"))
    ends_with("verify-ca", ours.ca, 0)
    ends_with("verify-full", ours.ca, 1, "does not match host name")
    serve_tls(own_stack, *ours.issue("127.0.0.1", days=-1))
    ends_with("verify-full", ours.ca, 1)
    serve_tls(own_stack, *ours.issue("127.0.0.1"))
    ends_with("verify-full", ours.ca, 0)


def test_all_sessions_of_a_server_are_under_tls(own_stack, lake, authorities):
    """The pool's, the probe's, the listener's, and those of the embedded DuckDB."""
    ours, theirs = authorities
    serve_tls(own_stack, *ours.issue("127.0.0.1"))
    server = Server(lake, DUCKICELAKE_PG_SSLMODE="verify-full", DUCKICELAKE_PG_SSLROOTCERT=ours.ca,
                    DUCKICELAKE_DISABLE_NOTIFY="0").start()
    try:
        assert server.load("s", "t")["metadata"]["current-snapshot-id"] == lake.head()
        compacted = server.http.post(f"{server.api}/admin/namespaces/s/tables/t/compact", timeout=60)
        assert compacted.status_code == 200, compacted.text
        sessions = lake.rows("SELECT a.application_name, s.ssl FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) "
                             "WHERE a.datname = current_database() AND a.application_name LIKE 'duckicelake%%'")
        assert len(sessions) >= 3 and all(ssl for _, ssl in sessions), sessions
        # Somebody else in PostgreSQL's place, who has no such certificate: nothing goes on with him.
        serve_tls(own_stack, *theirs.issue("127.0.0.1"))
        lake.rows("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() "
                  "AND application_name LIKE 'duckicelake%%'")
        eventually("it is refused", lambda: server.get("/namespaces/s/tables/t").status_code == 503, 30)
        serve_tls(own_stack, *ours.issue("127.0.0.1"))
        eventually("the right one is found again", lambda: server.get("/namespaces/s/tables/t").status_code == 200, 60)
    finally:
        assert server.stop() == 0


# --- the object store

@pytest.fixture
def front(lake, authorities):
    host = urllib.parse.urlsplit(lake.env["DUCKICELAKE_S3_ENDPOINT"])
    made = TlsFront((host.hostname, host.port), *authorities[0].issue("127.0.0.1"))
    yield made
    made.close()


def behind(front, ca) -> dict:
    out = {"DUCKICELAKE_S3_ENDPOINT": front.url}
    return out | ({"DUCKICELAKE_S3_CA_FILE": str(ca)} if ca else {})


def test_a_store_of_an_unknown_authority_hears_nothing(lake, front, authorities):
    ours, theirs = authorities
    for case, ca in (("system's", None), ("other", theirs.ca), ("none", ours.folder / "none.pem")):
        before = front.received
        done = command(lake, "doctor", env=behind(front, ca))
        assert done.returncode == 1, (case, done.stdout)
        assert lake.env["DUCKICELAKE_S3_ROOT_SECRET"] not in done.stdout + done.stderr
        assert front.received == before, f"{case}: {front.received - before} bytes were sent"
    assert front.refused >= 2
    for certificate in (ours.issue("store.example"), ours.issue("127.0.0.1", days=-1), theirs.issue("127.0.0.1")):
        front.use(*certificate)
        before = front.received
        assert command(lake, "doctor", env=behind(front, ours.ca)).returncode == 1, certificate
        assert front.received == before, certificate
    front.use(*ours.issue("127.0.0.1"))
    done = command(lake, "doctor", env=behind(front, ours.ca))
    assert done.returncode == 0, done.stdout
    assert front.received > 1000


def test_a_store_of_the_configured_authority_serves_everything(lake, front, authorities):
    """Metadata, keys of the STS, the gateway, DuckDB; and none of it with somebody else in its place."""
    ours, theirs = authorities
    port, gateway = free_port(), free_port()
    server = Server(lake, port=port, **behind(front, ours.ca)).start()
    relay = Server(lake, **behind(front, ours.ca), DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_S3_GATEWAY_ENABLED="1",
                   DUCKICELAKE_S3_GATEWAY_SECRET="a-secret-of-the-gateway-for-tests-only",
                   DUCKICELAKE_S3_GATEWAY_PORT=gateway, DUCKICELAKE_S3_GATEWAY_URL=f"http://127.0.0.1:{gateway}").start()
    try:
        lake.session().execute("CREATE TABLE lake.s.u AS SELECT range AS id FROM range(3000)")
        body = server.load("s", "u", headers=VENDED)
        assert body["config"]["s3.endpoint"] == front.url and "s3.session-token" in body["config"]
        root = raw_s3.place_of(lake.env)
        way = raw_s3.Keyed(root, keys_of(body["config"]))
        assert way.request("GET", key_of(body["metadata-location"])).status == 200
        gated = relay.load("s", "u", headers=VENDED)
        through = raw_s3.Keyed(root._replace(endpoint=gated["config"]["s3.endpoint"]), keys_of(gated["config"]))
        assert through.request("GET", key_of(body["metadata-location"])).status == 200
        for n in range(3):
            lake.session(DATA_INLINING_ROW_LIMIT=0).execute(f"INSERT INTO lake.s.u VALUES ({n})")
        compact = lambda: server.http.post(f"{server.api}/admin/namespaces/s/tables/u/compact", timeout=120)
        done = compact()
        assert done.status_code == 200, f"{done.text}\n{server.log_tail(3)}"
        assert server.load("s", "u")["metadata"]["current-snapshot-id"] == lake.head()

        front.use(*theirs.issue("127.0.0.1"))
        # What is open stays open; new connections are what a certificate is shown on.
        for n in range(3):
            lake.session(DATA_INLINING_ROW_LIMIT=0).execute(f"INSERT INTO lake.s.u VALUES ({n})")
        lake.session().execute("CREATE TABLE lake.s.v AS SELECT range AS id FROM range(3000)")
        other = Server(lake, **behind(front, ours.ca), DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_S3_GATEWAY_ENABLED="1",
                       DUCKICELAKE_S3_GATEWAY_SECRET="a-secret-of-the-gateway-for-tests-only", DUCKICELAKE_S3_GATEWAY_PORT=free_port(),
                       DUCKICELAKE_S3_GATEWAY_URL="http://127.0.0.1:1").start()
        try:
            before = front.received
            error = error_of(other.get("/namespaces/s/tables/v"), 503)
            assert "certificate" not in error["message"]
            reached = raw_s3.Keyed(root._replace(endpoint=f"http://127.0.0.1:{other.settings['DUCKICELAKE_S3_GATEWAY_PORT']}"),
                                   keys_of(gated["config"]))
            assert reached.request("GET", key_of(body["metadata-location"])).status in (502, 503)
            made = other.http.post(f"{other.api}/admin/namespaces/s/tables/u/compact", timeout=120)
            assert made.status_code >= 500, made.text
            assert front.received == before, "bytes went to a store that nobody vouches for"
            eventually("the log says why", lambda: "certificate" in other.log_tail(40).lower())
        finally:
            other.stop()
    finally:
        server.stop()
        relay.stop()


def test_keys_are_not_asked_for_at_an_sts_that_nobody_vouches_for(lake, front, authorities):
    """The store is plain here, its STS is not."""
    ours, theirs = authorities
    for ca, works in ((ours.ca, True), (theirs.ca, False)):
        before = front.received
        server = Server(lake, DUCKICELAKE_STS_ENDPOINT=front.url, DUCKICELAKE_S3_CA_FILE=ca).start()
        try:
            answer = server.get("/namespaces/s/tables/t", headers=VENDED)
            assert ("s3.session-token" in answer.text) == works, answer.text[:300]
            if not works:
                error_of(answer, 503)
                assert front.received == before
        finally:
            server.stop()
    assert requests.get(lake.env["DUCKICELAKE_S3_ENDPOINT"] + "/healthz", timeout=10).status_code == 200


# --- other issuers

def test_keys_of_an_issuer_are_taken_from_who_proves_to_be_it(own_stack, authorities, tmp_path):
    """A token is proved by keys over TLS; somebody else in the issuer's place proves nothing."""
    ours, theirs = authorities
    with auth.issuer() as idp:
        idp.add_key("r1")
        host = urllib.parse.urlsplit(idp.url)
        front = TlsFront((host.hostname, host.port), *ours.issue("127.0.0.1"))
        path = tmp_path / "issuers.json"
        path.write_text(json.dumps([{"issuer": "https://idp.example", "audience": ["lake"], "scope": "*:r",
                                     "jwks-url": front.url + "/keys"}]))
        token = idp.token("r1", iss="https://idp.example")
        made = Lake(own_stack)
        assert command(made, "init").returncode == 0
        settings = auth.settings() | {"DUCKICELAKE_OIDC_ISSUERS_FILE": path}
        try:
            for ca, certificate, works in ((ours.ca, ours.issue("127.0.0.1"), True), (theirs.ca, ours.issue("127.0.0.1"), False),
                                           (None, ours.issue("127.0.0.1"), False), (ours.ca, ours.issue("idp.example"), False),
                                           (ours.ca, theirs.issue("127.0.0.1"), False)):
                front.use(*certificate)
                before, fetches = front.received, idp.fetches
                server = Server(made, **settings | ({"DUCKICELAKE_OIDC_CA_FILE": ca} if ca else {})).start()
                try:
                    answer = auth.As(server, token).get("/namespaces")
                    assert answer.status_code == (200 if works else 503), answer.text
                    assert (idp.fetches > fetches) == works and (front.received > before) == works
                    if not works:
                        error_of(answer, 503)
                        assert "certificate" not in answer.text
                    # This server's own tokens need no issuer.
                    assert auth.sign_in(server).get("/namespaces").status_code == 200
                finally:
                    server.stop()
        finally:
            front.close()
            made.close()
