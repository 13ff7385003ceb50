# SPDX-License-Identifier: Apache-2.0
"""Ways to a table's bytes follow from what the caller may do, now."""
from __future__ import annotations

import pytest
from fixtures import served_lake
from lib import auth, raw_s3
from lib.auth import sign_in
from lib.server import Server, command, eventually, free_port
from test_vend_matrix import VENDED, Ground, key_of, keys_of, read_policy

CLIENTS = {"reader": "ns:walled:r", "writer": "ns:walled:rw", "stranger": "ns:other:rw",
           "second": "ns:walled:r"}
SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}


def gateway_settings() -> dict:
    port = free_port()
    return {"DUCKICELAKE_STS_ENDPOINT": "none", "DUCKICELAKE_S3_GATEWAY_ENABLED": "1",
            "DUCKICELAKE_S3_GATEWAY_SECRET": "a-secret-of-the-gateway-for-tests-only",
            "DUCKICELAKE_S3_GATEWAY_PORT": port,
            "DUCKICELAKE_S3_GATEWAY_URL": f"http://127.0.0.1:{port}"}


class Guarded(Ground):
    """The same ground, made by somebody who is signed in."""

    def __init__(self, server, schema):
        self.admin = sign_in(server)
        server.http.headers.update(auth.bearer(self.admin.token))
        super().__init__(server, schema)


@pytest.fixture(scope="module")
def walled(stack):
    yield from served_lake(stack, **auth.settings(**CLIENTS))


@pytest.fixture(scope="module")
def ground(walled):
    return Guarded(walled, "walled")


@pytest.fixture(scope="module")
def gated(walled, ground):
    server = Server(walled.lake, **auth.settings(**CLIENTS), **gateway_settings()).start()
    yield server
    server.stop()


PATH = "/namespaces/walled/tables/orders"


def test_readers_get_keys_to_read_and_writers_keys_to_write(walled, ground):
    outcomes = []
    for who, right in (("reader", "read"), ("writer", "write")):
        answer = sign_in(walled, who).get(PATH, headers=VENDED)
        assert answer.status_code == 200, answer.text
        way = raw_s3.Keyed(ground.place, keys_of(answer.json()["config"]))
        outcomes += raw_s3.try_all(who, way, right, ground.folders, ground.targets, ground.own)
    ground.check(outcomes)


def test_strangers_get_none(walled):
    answer = sign_in(walled, "stranger").get(PATH, headers=VENDED)
    assert answer.status_code == 403 and "access-key" not in answer.text
    assert sign_in(walled, "stranger").get(PATH + "/credentials").status_code == 403
    assert walled.http.get(walled.api + PATH, headers=VENDED | {"Authorization": ""}).status_code == 401


def test_no_two_principals_share_keys_or_tags(walled):
    answers = {who: sign_in(walled, who).get(PATH, headers=VENDED)
               for who in ("reader", "writer", "second", auth.ADMIN[0])}
    keys = {keys_of(a.json()["config"]) for a in answers.values()}
    assert len(keys) == len(answers)
    for who, answer in answers.items():
        for other in answers:
            again = sign_in(walled, other).get(
                PATH, headers=VENDED | {"If-None-Match": answer.headers["ETag"]})
            assert again.status_code == (304 if who == other else 200), (who, other)


def test_the_record_names_keys_and_no_secret(walled, ground):
    config = sign_in(walled, "second").get(PATH, headers=VENDED).json()["config"]

    def recorded():
        return ground.lake.rows("SELECT decision, key_id, detail::text, reason FROM duckicelake.audit "
                                "WHERE operation = 'vend_keys' AND key_id = %s",
                                config["s3.access-key-id"])
    found = eventually("the grant is on record", recorded)
    assert found[0][0] == "ok" and found[0][3] == "keys to read"
    everything = str(ground.lake.rows("SELECT * FROM duckicelake.audit"))
    assert config["s3.secret-access-key"] not in everything
    assert config["s3.session-token"] not in everything


def test_only_writers_stage_tables(walled):
    body = {"name": "staged", "stage-create": True, "schema": {
        "type": "struct", "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}}
    path = "/namespaces/walled/tables"
    assert sign_in(walled, "reader").post(path, body, headers=VENDED).status_code == 403
    made = sign_in(walled, "writer").post(path, body, headers=VENDED)
    assert made.status_code == 200 and "s3.access-key-id" in made.json()["config"]


@pytest.fixture
def ways(gated, ground):
    """Ways to the table: signed, and through the gateway, for a client."""
    def make(who):
        session = sign_in(gated, who)
        signing = session.get(PATH, headers=SIGNING).json()["config"]
        vended = session.get(PATH, headers=VENDED).json()["config"]
        signer = raw_s3.RemotelySigned(ground.place, f"{gated.url}/{signing['s3.signer.endpoint']}",
                                       auth.bearer(session.token))
        gateway = raw_s3.Keyed(ground.place._replace(endpoint=vended["s3.endpoint"]), keys_of(vended))
        return {"signed": signer, "gateway": gateway}
    return make


def test_signer_and_gateway_keep_to_the_caller_s_right(ground, ways):
    outcomes = []
    for who, right in (("reader", "read"), ("writer", "write")):
        for name, way in ways(who).items():
            outcomes += raw_s3.try_all(f"{who}, {name}", way, right, ground.folders, ground.targets,
                                       ground.own)
    ground.check(outcomes)


def test_the_signer_is_nobody_s_without_a_token(gated, ground):
    key = ground.targets["own data"][0]
    for path in (PATH + "/sign", "/aws/s3/sign"):
        assert raw_s3.RemotelySigned(ground.place, gated.api + path).request("GET", key).status == 401
        stranger = raw_s3.RemotelySigned(ground.place, gated.api + path,
                                         auth.bearer(sign_in(gated, "stranger").token))
        answer = stranger.request("GET", key)
        # Whether there is such a table is none of a stranger's business.
        assert answer.status == 403 and b"exist" not in answer.body


def test_older_signing_routes_keep_to_scopes(gated, ground):
    reader = raw_s3.RemotelySigned(ground.place, gated.api + "/aws/s3/sign",
                                   auth.bearer(sign_in(gated, "reader").token))
    key = ground.targets["own data"][0]
    assert reader.request("GET", key).status == 200
    assert reader.request("PUT", ground.folder + "x", body=b"x").status == 403
    assert reader.request("GET", ground.targets["other schema"][0]).status == 403


def test_what_is_revoked_is_closed_from_the_next_request(gated, ground):
    """A client of the database: its keys for the gateway and its signatures end with it."""
    admin = sign_in(gated)
    made = admin.post("/admin/clients", {"client-id": "temp", "scope": "ns:walled:rw"})
    assert made.status_code in (200, 201), made.text
    secret = made.json()["client-secret"]
    session = auth.As(gated, auth.token(gated, "temp", secret))
    vended = session.get(PATH, headers=VENDED).json()["config"]
    gateway = raw_s3.Keyed(ground.place._replace(endpoint=vended["s3.endpoint"]), keys_of(vended))
    signer = raw_s3.RemotelySigned(ground.place, gated.api + PATH + "/sign", auth.bearer(session.token))
    key = ground.targets["own data"][0]
    for way in (gateway, signer):
        assert way.request("GET", key).status == 200
        assert way.request("PUT", ground.folder + "by-temp", body=b"x").status == 200
    narrowed = admin.post("/admin/clients/temp", {"scope": "ns:walled:r"})
    assert narrowed.status_code == 200, narrowed.text
    for way in (gateway, signer):
        assert way.request("GET", key).status == 200
        assert way.request("PUT", ground.folder + "by-temp", body=b"x").status == 403
    assert admin.post("/admin/clients/temp", {"disabled": True}).status_code == 200
    assert gateway.request("GET", key).status == 403
    assert admin.post("/admin/clients/temp", {"disabled": False}).status_code == 200
    assert gateway.request("GET", key).status == 200
    assert admin.delete("/admin/clients/temp").status_code in (200, 204)
    assert gateway.request("GET", key).status == 403
    assert signer.request("GET", key).status in (401, 403)


def test_object_grants_hide_a_table_s_bytes(gated, ground, ways):
    admin = sign_in(gated)
    way = ways("reader")
    key = ground.targets["own data"][0]
    assert all(w.request("GET", key).status == 200 for w in way.values())
    assert admin.post("/governance/roles", {"name": "insiders"}).status_code in (200, 201)
    granted = admin.post("/governance/object-grants", {
        "object-kind": "table", "schema": "walled", "object": "orders", "privilege": "select",
        "role": "insiders"})
    assert granted.status_code in (200, 201), granted.text
    try:
        for name, one in way.items():
            answer = one.request("GET", key)
            assert answer.status in (403, 404), name
        assert sign_in(gated, "reader").get(PATH, headers=VENDED).status_code == 404
    finally:
        gone = admin.delete("/governance/object-grants", {
            "object-kind": "table", "schema": "walled", "object": "orders", "privilege": "select",
            "role": "insiders"})
        assert gone.status_code in (200, 204), gone.text
    assert all(w.request("GET", key).status == 200 for w in way.values())


def test_the_check_of_the_storage_is_the_administrators(walled):
    assert sign_in(walled, "writer").post("/admin/storage-check").status_code == 403
    answer = sign_in(walled).post("/admin/storage-check")
    assert answer.status_code == 200, answer.text
    proof = answer.json()
    assert proof["ok"] and len(proof["checks"]) >= 20
    assert {c["expected"] for c in proof["checks"]} == {200, 403}


def test_policies_of_readers_say_nothing_of_writing(walled, ground):
    config = sign_in(walled, "reader").get(PATH, headers=VENDED).json()["config"]
    actions = {a for s in read_policy(ground, keys_of(config))["Statement"] for a in s["Action"]}
    assert actions == {"s3:GetObject", "s3:ListBucket"}
    assert key_of(f"s3://b/{ground.folder}") == ground.folder


def test_doctor_proves_it_in_words(walled):
    done = command(walled.lake, "doctor", "--storage")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "closed: keys to read one folder read an object in it as a version" in done.stdout
    assert "open what they name and nothing else" in done.stdout and "FAIL" not in done.stdout
    # A role whose sessions the store does not narrow would be found out: here one that may not read.
    wrong = command(walled.lake, "doctor", "--storage",
                    env={"DUCKICELAKE_STS_ROLE_ARN": "arn:aws:iam::000000000000:role/none"})
    assert wrong.returncode == 1 and "FAIL" in wrong.stdout
    none = command(walled.lake, "doctor", "--storage", env={"DUCKICELAKE_STS_ENDPOINT": "none"})
    assert none.returncode == 0 and "signed requests" in none.stdout
