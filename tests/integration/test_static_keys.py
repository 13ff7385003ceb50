# SPDX-License-Identifier: Apache-2.0
"""Static keys of a store without STS: the bucket's policy confines them, byte by byte, and the server
gives out only those of which it knows that they are confined to what the caller may see."""
from __future__ import annotations

import json
import re

import pytest
from fixtures import served_lake
from lib import auth, direct, raw_s3
from lib.auth import sign_in
from lib.lakes import private_stack
from lib.server import Server, command, encoded, eventually
from lib.tenants import Tenant, close
from test_vend_access import Guarded
from test_vend_matrix import VENDED, key_of

# By themselves these may do everything in the bucket, the others nothing.
WIDE = dict.fromkeys(("wide", "gone", "far"), ["Read", "Write", "List", "Tagging"])
USERS = {"reader": [], "writer": [], "tina": [], "big": [], "huge": [], **WIDE}
CLIENTS = {"reader": "ns:keys:r", "writer": "ns:keys:rw", "wide": "ns:keys:r", "tina": "ns:shop:rw",
           "big": "ns:big:r", "huge": "ns:huge:r", "gone": "ns:shop:r", "far": "ns:keys:r",
           "broker": "ns:keys:r broker"}
KEYS = "/governance/static-s3-keys"


@pytest.fixture(scope="module")
def served():
    with private_stack(sts=False, users=USERS) as stack:
        yield from served_lake(stack, **auth.settings(**CLIENTS))


class Keyed(Guarded):
    """The ground with static keys of principals, and the operator who applies the bucket's policy."""

    def __init__(self, server):
        super().__init__(server, "keys")
        self.store = server.lake.stack.s3
        admin = self.store.admin
        self.operator = auth.settings(**CLIENTS) | {
            "DUCKICELAKE_S3_ROOT_KEY": admin.access_key, "DUCKICELAKE_S3_ROOT_SECRET": admin.secret_key,
            "DUCKICELAKE_S3_POLICY_PRINCIPAL": "arn:aws:iam::000000000000:user/{principal}"}
        assert self.admin.post("/governance/roles", {"name": "insiders"}).status_code < 300
        for table in ("orders2", "orders_x"):
            self.grant(table)
        self.tenant = Tenant(server, "acme", auth.bearer(self.admin.token))
        session = self.tenant.session()
        session.execute("CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS "
                        "SELECT range AS id, 'secret of acme' AS s FROM range(3000)")
        self.tenant_folder = key_of(
            self.tenant.load("shop", "orders")["metadata"]["location"]) + "/"
        self.targets["other tenant"] = self.target(self.first_file(self.tenant_folder))
        for name in ("reader", "writer", "wide"):
            self.set_key(name)
        made = self.tenant("POST", KEYS, self.key_body("tina"))
        assert made.status_code < 300, made.text

    def first_file(self, folder: str) -> str:
        listed = self.root.request("GET", "", "list-type=2&prefix=" + folder.replace("/", "%2F"))
        keys = [k.split(b"</Key>")[0].decode() for k in listed.body.split(b"<Key>")[1:]]
        return next(k for k in keys if k.endswith(".parquet"))

    def key_body(self, name: str, **more) -> dict:
        keys = self.store.user(name)
        return {"principal": name, "access-key-id": keys.access_key,
                "secret-access-key": keys.secret_key, **more}

    def set_key(self, name: str, **more) -> None:
        answer = self.admin.post(KEYS, self.key_body(name, **more))
        assert answer.status_code < 300, answer.text

    def grant(self, table: str, on: bool = True, schema: str = "keys") -> None:
        body = {"object-kind": "table", "schema": schema, "object": table, "privilege": "select",
                "role": "insiders"}
        answer = (self.admin.post if on else self.admin.delete)("/governance/object-grants", body)
        assert answer.status_code < 300, answer.text

    def policy(self, *words: str, **env):
        return command(self.lake, "bucket-policy", *words, env=self.operator | env)

    def sql(self, text: str, arguments: tuple | None = None) -> None:
        self.lake.postgres.execute(text, arguments)

    def policy_init(self, env: dict):
        return command(self.lake, "init", env=self.operator | env)

    def apply(self) -> str:
        done = self.policy("--apply")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def in_force(self) -> dict | None:
        way = raw_s3.Keyed(self.place, self.store.admin)
        answer = way.request("GET", "", "policy=")
        return json.loads(answer.body) if answer.status == 200 else None

    def way(self, name: str) -> raw_s3.Keyed:
        return raw_s3.Keyed(self.place, self.store.user(name))

    def vend(self, who: str, table: str | None = "orders", session=None, **query) -> dict:
        if table:
            query["table"] = table
        return direct.vend(session or sign_in(self.server, who), "keys", **query)


@pytest.fixture(scope="module")
def ground(served):
    made = Keyed(served)
    yield made
    made.tenant.close()


@pytest.fixture(scope="module")
def applied(ground):
    ground.apply()
    return ground


def test_no_key_is_given_out_before_its_policy_is_in_force(ground):
    answer = ground.vend("reader")
    assert answer["s3"] is None and "bucket-policy --apply" in answer["s3_note"]
    # Who has none is told what he always was.
    assert sign_in(ground.server).get(direct.path("keys", table="orders")).json()["s3_note"] == (
        "the store makes no keys for clients")


def test_the_policy_is_printed_and_nothing_is_changed(ground):
    shown = ground.policy()
    assert shown.returncode == 0, shown.stderr
    policy = json.loads(shown.stdout)
    assert policy["Version"] == "2012-10-17"
    by_effect = {s["Sid"]: s for s in policy["Statement"]}
    assert all(re.match("^Duckicelake[0-9a-f]{12}[A-Za-z0-9]*$", sid) for sid in by_effect)
    bucket = ground.place.bucket
    for statement in policy["Statement"]:
        if statement["Effect"] == "Allow":
            assert not any("*" in action or "Delete" in action for action in statement["Action"])
            for resource in statement["Resource"]:
                assert resource.endswith("/*") or resource == f"arn:aws:s3:::{bucket}"
    allowed = {(who, resource) for s in policy["Statement"] if s["Effect"] == "Allow"
               for who in s["Principal"]["AWS"] for resource in s["Resource"]}
    user = "arn:aws:iam::000000000000:user/"
    for folder in ground.folders:
        assert (user + "reader", f"arn:aws:s3:::{bucket}/{folder}*") in allowed
    assert not [r for who, r in allowed if who == user + "reader" and (
        "orders2" in r or "orders_x" in r or "acme" in r)]
    assert [r for who, r in allowed if who == user + "tina" and ground.tenant_folder in r]
    text = shown.stdout + shown.stderr
    assert not [n for n in USERS if ground.store.user(n).secret_key in text]
    assert ground.in_force() is None


def test_each_key_opens_its_tables_and_nothing_else(applied):
    """The whole matrix; `wide` would be allowed everything by the store's own means."""
    outcomes = []
    for who, right in (("reader", "read"), ("writer", "write"), ("wide", "read")):
        outcomes += raw_s3.try_all(who, applied.way(who), right, applied.folders, applied.targets,
                                   applied.own)
    outcomes += raw_s3.try_all("tina, of acme", applied.way("tina"), "write", [applied.tenant_folder],
                               applied.targets, {"other tenant"})
    applied.check(outcomes)


def test_no_key_reads_or_changes_the_policy(applied):
    before = applied.in_force()
    document = json.dumps(before).encode()
    for who in ("reader", "writer", "wide", "tina"):
        way = applied.way(who)
        assert way.request("GET", "", "policy=").status == 403
        assert way.request("PUT", "", "policy=", body=document).status == 403
        assert way.request("DELETE", "", "policy=").status == 403
    assert applied.in_force() == before


def test_it_is_put_once_and_proved_each_time(applied):
    before = applied.in_force()
    again = applied.apply()
    assert "has it already" in again and applied.in_force() == before
    for who in ("reader in lake", "writer in lake", "wide in lake", "tina in acme"):
        assert re.search(f"^ok .*key of {who}: opens 1 tables.* and nothing else", again, re.M), again
    # Nothing of the proof is left.
    listed = applied.root.request("GET", "", "list-type=2&max-keys=1000").body
    assert b"duckicelake-proof" not in listed


def test_the_answer_has_the_key_and_the_word_for_what_holds_it(applied):
    reader, writer = applied.vend("reader"), applied.vend("writer", write=1)
    for who, answer, word in (("reader", reader, "bucket-policy"),
                              ("writer", writer, "bucket-policy-write")):
        keys = applied.store.user(who)
        assert answer["s3"] == {
            "endpoint": applied.place.endpoint, "region": applied.place.region,
            "path-style-access": "true", "access-key-id": keys.access_key,
            "secret-access-key": keys.secret_key, "session-token": None, "expiration": None,
            "enforcement": word, "static-key": True}
        assert "s3_note" not in answer

    def recorded():
        return {d for (d,) in applied.lake.rows(
            "SELECT decision FROM duckicelake.audit WHERE operation = 'ducklake_credentials' AND "
            "principal = 'reader'")}
    eventually("the grant is on record", lambda: "static_key_bucket_policy" in recorded())
    everything = str(applied.lake.rows("SELECT * FROM duckicelake.audit")) + applied.server.log_tail(5000)
    assert applied.store.user("reader").secret_key not in everything
    assert applied.server.metrics()['duckicelake_vend_total{kind="static"}'] >= 2


def test_duckdb_reads_and_writes_with_it(applied):
    with direct.duckdb(applied.vend("writer", write=1)) as session:
        session.execute("INSERT INTO lake.keys.orders VALUES (-77, 'by a static key')")
    with direct.duckdb(applied.vend("reader")) as session:
        assert session.execute("SELECT count(*) FROM lake.keys.orders WHERE id = -77").fetchone() == (1,)
        assert session.execute("SELECT count(*) FROM lake.keys.orders").fetchone()[0] >= 3001
    applied.lake.session().execute("DELETE FROM lake.keys.orders WHERE id = -77")


def test_a_namespace_is_answered_with_what_the_key_does_not_open(applied):
    answer = applied.vend("reader", table=None)
    assert answer["s3"]["static-key"] is True and "s3_note" not in answer


def test_a_table_s_load_never_has_it(applied):
    """It is as wide as the principal; a load's keys are the table's."""
    for headers in (VENDED, {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}):
        answer = sign_in(applied.server, "reader").get("/namespaces/keys/tables/orders", headers=headers)
        assert answer.json()["config"]["s3.remote-signing-enabled"] == "true"
        assert applied.store.user("reader").access_key not in answer.text


def test_what_was_taken_back_is_said_until_the_policy_follows(applied):
    """Once `orders` is granted to others, the reader does not see it; his key still opens it."""
    session = sign_in(applied.server, "writer")
    applied.grant("orders")
    try:
        # Another table that he sees, so that there is an answer.
        applied.lake.session().execute("CREATE TABLE lake.keys.open_to_all AS SELECT 1 AS id")
        answer = applied.vend("writer", table="open_to_all", session=session)
        assert answer["s3"] is None and "opens more to it" in answer["s3_note"]
        assert "orders" not in answer["s3_note"]
        assert applied.way("writer").request("GET", applied.targets["own data"][0]).status == 200
        applied.apply()
        assert applied.way("writer").request("GET", applied.targets["own data"][0]).status == 403
        assert applied.way("writer").request("PUT", applied.folder + "x", body=b"x").status == 403
        answer = applied.vend("writer", table="open_to_all", session=session, write=1)
        assert answer["s3"]["enforcement"] == "bucket-policy-write"
    finally:
        applied.grant("orders", on=False)
    # Seen again, and not opened yet.
    answer = applied.vend("writer", session=session)
    assert answer["s3"] is None and "opens none of the tables" in answer["s3_note"]
    answer = applied.vend("writer", table=None, session=session)
    assert answer["s3"] is not None and answer["s3_note"].endswith("does not open (all of): orders")
    # A dropped table's folder may be another's later.
    applied.lake.session().execute("DROP TABLE lake.keys.open_to_all")
    answer = applied.vend("writer", table=None, session=session)
    assert answer["s3"] is None and "opens more to it" in answer["s3_note"]
    applied.apply()
    assert applied.vend("writer", session=session)["s3"]["static-key"] is True


def test_a_table_made_again_under_a_name_is_not_opened_by_the_old_statements(applied):
    session = applied.lake.session()
    session.execute("CREATE TABLE lake.keys.twice AS SELECT range AS id FROM range(2000)")
    applied.apply()
    assert applied.vend("reader", table="twice")["s3"] is not None
    session.execute("DROP TABLE lake.keys.twice; "
                    "CREATE TABLE lake.keys.twice AS SELECT range AS id FROM range(2000)")
    applied.grant("twice")
    assert applied.vend("reader")["s3"] is None
    applied.apply()
    new = applied.first_file(applied.location("keys", "twice") + "/")
    assert applied.way("reader").request("GET", new).status == 403
    assert applied.vend("reader")["s3"] is not None
    session.execute("DROP TABLE lake.keys.twice")


def test_who_may_do_less_than_the_key_opens_does_not_get_it(applied):
    applied.apply()
    narrow = auth.As(applied.server, auth.token(applied.server, "writer", scope="ns:keys:r"))
    answer = applied.vend("writer", session=narrow)
    assert answer["s3"] is None and "opens more to it" in answer["s3_note"]
    # A broker that may only read, for one whose key also writes.
    broker = sign_in(applied.server, "broker")
    answer = applied.vend("", session=broker, delegate=1, principal="writer")
    assert answer["s3"] is None and "opens more to it" in answer["s3_note"]
    answer = applied.vend("", session=broker, delegate=1, principal="reader")
    assert answer["s3"]["access-key-id"] == applied.store.user("reader").access_key


def test_another_key_of_the_principal_is_not_the_one_that_was_tried(applied):
    applied.set_key("reader")
    assert applied.vend("reader")["s3"] is not None
    keys = applied.key_body("reader") | {"access-key-id": "SOMEOTHERKEY"}
    assert applied.admin.post(KEYS, keys).status_code < 300
    answer = applied.vend("reader")
    assert answer["s3"] is None and "no bucket policy is known" in answer["s3_note"]
    applied.set_key("reader")
    # Its policy was forgotten with it.
    assert applied.admin.delete(f"{KEYS}/reader").status_code < 300
    applied.set_key("reader")
    assert applied.vend("reader")["s3"] is None
    applied.apply()
    # The server cannot give out what it does not know, and says so.
    body = applied.key_body("reader")
    del body["secret-access-key"]
    assert applied.admin.post(KEYS, body).status_code < 300
    assert "does not know its secret" in applied.vend("reader")["s3_note"]
    shown = applied.apply()
    assert re.search(r"^warn +key of reader in lake: .*not tried", shown, re.M), shown
    applied.set_key("reader")
    assert "not proved" in applied.vend("reader")["s3_note"]
    applied.apply()
    assert applied.vend("reader")["s3"] is not None


def test_one_key_has_one_owner(applied):
    stolen = applied.key_body("reader") | {"principal": "big"}
    assert applied.admin.post(KEYS, stolen).status_code < 300
    try:
        answer = applied.vend("reader")
        assert answer["s3"] is None and "others have the same" in answer["s3_note"]
        done = applied.policy("--apply")
        assert done.returncode == 0 and "has the same access key" in done.stderr, done.stderr
        assert applied.way("reader").request("GET", applied.targets["own data"][0]).status == 403
    finally:
        assert applied.admin.delete(f"{KEYS}/big").status_code < 300
    # The same user of the store, in another catalog.
    body = {"principal": "reader", "access-key-id": "X1", "secret-access-key": "x"}
    assert applied.tenant("POST", KEYS, body).status_code < 300
    try:
        shown = applied.policy()
        assert "2 static keys are its own" in shown.stderr
        assert not [s for s in json.loads(shown.stdout)["Statement"] if s["Effect"] == "Allow"
                    and "arn:aws:iam::000000000000:user/reader" in s["Principal"]["AWS"]]
    finally:
        assert applied.tenant("DELETE", f"{KEYS}/reader").status_code < 300
    applied.apply()
    assert applied.vend("reader")["s3"] is not None


@pytest.mark.parametrize("principal, key", [("*", "K1"), ("a/../root", "K2"), ("${aws:username}", "K3"),
                                            ("?", "K4")])
def test_a_name_that_could_mean_others_stops_it(applied, principal, key):
    before = applied.in_force()
    assert applied.admin.post(KEYS, {"principal": principal, "access-key-id": key}).status_code < 300
    try:
        for words in ((), ("--apply",)):
            done = applied.policy(*words)
            assert done.returncode == 1 and "cannot stand for a user" in done.stderr, done.stderr
            assert done.stdout == ""
        assert applied.in_force() == before
    finally:
        assert applied.admin.delete(f"{KEYS}/{encoded(principal)}").status_code < 300


def test_the_server_s_own_key_is_nobody_s(applied):
    before = applied.in_force()
    root = applied.root.keys
    body = {"principal": "reader", "access-key-id": root.access_key, "secret-access-key": root.secret_key}
    assert applied.admin.post(KEYS, body).status_code < 300
    try:
        done = applied.policy("--apply", DUCKICELAKE_S3_ROOT_KEY=root.access_key,
                              DUCKICELAKE_S3_ROOT_SECRET=root.secret_key)
        assert done.returncode == 1 and "the server's own key" in done.stderr
        assert applied.vend("reader")["s3"] is None
        assert applied.in_force() == before
    finally:
        applied.set_key("reader")
        applied.apply()


def test_statements_of_others_stay(applied):
    way = raw_s3.Keyed(applied.place, applied.store.admin)
    theirs = {"Sid": "Theirs", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
              "Resource": f"arn:aws:s3:::{applied.place.bucket}/frozen/*"}
    policy = applied.in_force()
    ours = {s["Sid"] for s in policy["Statement"]}
    policy["Statement"] = [theirs] + [s for s in policy["Statement"] if not s["Sid"].endswith("Never")]
    assert way.request("PUT", "", "policy=", body=json.dumps(policy).encode()).status == 204
    assert "read back" in applied.apply()
    assert {s["Sid"] for s in applied.in_force()["Statement"]} == ours | {"Theirs"}
    # Ours go when there are no keys; theirs stay.
    for name in ("reader", "writer", "wide"):
        assert applied.admin.delete(f"{KEYS}/{name}").status_code < 300
    assert applied.tenant("DELETE", f"{KEYS}/tina").status_code < 300
    applied.apply()
    assert [s["Sid"] for s in applied.in_force()["Statement"]] == ["Theirs"]
    way.request("DELETE", "", "policy=")
    applied.apply()
    assert applied.in_force() is None
    for name in ("reader", "writer", "wide"):
        applied.set_key(name)
    assert applied.tenant("POST", KEYS, applied.key_body("tina")).status_code < 300
    applied.apply()


def test_a_policy_that_does_not_hold_is_no_success(applied):
    """A user with rights of his own, and a policy that denies actions only."""
    done = applied.policy("--apply", DUCKICELAKE_S3_POLICY_DENY="actions")
    assert done.returncode == 1, done.stdout
    assert re.search(r"^FAIL +key of wide in lake: read in .* 200 where 403 is right", done.stdout, re.M)
    assert re.search(r"^ok +key of reader in lake", done.stdout, re.M)
    assert applied.vend("wide")["s3"] is None and applied.vend("reader")["s3"] is not None
    applied.apply()
    assert applied.vend("wide")["s3"] is not None


def test_what_cannot_be_done_is_said(applied):
    before = applied.in_force()
    done = applied.policy("--apply", DUCKICELAKE_S3_POLICY_PRINCIPAL="")
    assert done.returncode == 1 and "DUCKICELAKE_S3_POLICY_PRINCIPAL" in done.stderr
    done = applied.policy(DUCKICELAKE_S3_POLICY_PRINCIPAL="arn:aws:iam::1:user/all")
    assert done.returncode == 2 and "tells no user from another" in done.stderr
    root = applied.root.keys
    applied.lake.session().execute("CREATE TABLE lake.keys.more AS SELECT 1 AS id")
    done = applied.policy("--apply", DUCKICELAKE_S3_ROOT_KEY=root.access_key,
                          DUCKICELAKE_S3_ROOT_SECRET=root.secret_key)
    assert done.returncode == 1 and "may not change the bucket's policy" in done.stderr
    # It is not known what holds, so nothing is given out.
    assert applied.in_force() == before and applied.vend("reader")["s3"] is None
    applied.lake.session().execute("DROP TABLE lake.keys.more")
    applied.apply()


def tables(session, schema: str, count: int) -> None:
    session.execute(f"CREATE SCHEMA lake.{schema}; BEGIN; " + "; ".join(
        f"CREATE TABLE lake.{schema}.table_with_a_long_name_{i} AS SELECT 1 AS id"
        for i in range(count)) + "; COMMIT")


def denied_all(policy: dict) -> set[str]:
    return {who.rsplit("/", 1)[1] for s in policy["Statement"] for who in s["Principal"]["AWS"]
            if s["Effect"] == "Deny" and s["Action"] in ("s3:*", ["s3:*"]) and "Resource" in s}


@pytest.mark.parametrize("who, count, why", [("big", 80, "20480 is all that a store takes"),
                                             ("huge", 301, "it may read 301 tables")])
def test_a_key_that_opens_too_much_opens_nothing_and_no_other_waits_for_it(applied, who, count, why):
    """Whoever makes tables does not keep the keys of others as wide as they are."""
    tables(applied.lake.session(), who, count)
    applied.set_key(who)
    applied.grant("orders")
    try:
        done = applied.policy("--apply")
        assert done.returncode == 1, f"{done.stdout}\n{done.stderr}"
        assert re.search(f"^FAIL +key of {who} in lake: opens nothing: .*{why}", done.stdout, re.M), done.stdout
        assert len(re.findall("^FAIL", done.stdout, re.M)) == 1, done.stdout
        assert who in denied_all(applied.in_force())
        assert applied.way("reader").request("GET", applied.targets["own data"][0]).status == 403
        applied.grant("orders", on=False)
        assert applied.policy("--apply").returncode == 1
        assert applied.way("reader").request("GET", applied.targets["own data"][0]).status == 200
        assert applied.vend("reader")["s3"] is not None
    finally:
        applied.grant("orders", on=False)
        assert applied.admin.delete(f"{KEYS}/{who}").status_code < 300
    applied.apply()


def opens_nothing(ground, who: str, *keys: str) -> bool:
    way = ground.way(who)
    found = {way.request("GET", key).status for key in (ground.targets["own data"][0], *keys)}
    found |= {way.request("GET", "", "list-type=2").status,
              way.request("PUT", ground.folder + "x", body=b"x").status,
              way.request("DELETE", ground.folder + "x").status}
    return found == {403}


def test_a_key_of_a_catalog_that_was_closed_opens_nothing(applied):
    """`gone` would be allowed everything by the store's own means."""
    admin = auth.bearer(applied.admin.token)

    def vend():
        return tenant.get(direct.path("shop", table="orders"),
                          headers=auth.bearer(auth.token(applied.server, "gone"))).json()
    tenant = Tenant(applied.server, "closing", admin)
    tenant.session().execute("CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS "
                             "SELECT range AS id FROM range(3000)")
    own = applied.first_file(key_of(tenant.load("shop", "orders")["metadata"]["location"]) + "/")
    tenant.close()
    assert tenant("POST", KEYS, applied.key_body("gone")).status_code < 300
    applied.apply()
    assert vend()["s3"] is not None and applied.way("gone").request("GET", own).status == 200
    assert close(applied.server, "closing", admin).status_code == 204
    shown = applied.apply()
    assert re.search("^ok .*key of gone in closing: opens 0 tables", shown, re.M), shown
    assert opens_nothing(applied, "gone", own) and "gone" in denied_all(applied.in_force())
    # Opened again, it is what was put last that counts.
    tenant = Tenant(applied.server, "closing", admin)
    assert vend()["s3"] is None
    applied.apply()
    assert vend()["s3"] is not None and applied.way("gone").request("GET", own).status == 200
    # Its lake is gone, or its row: no reason to let the key go, nor those of others.
    applied.sql(f"DROP SCHEMA {tenant.schema} CASCADE")
    applied.grant("orders")
    done = applied.policy("--apply")
    applied.grant("orders", on=False)
    assert done.returncode == 1 and "FAIL  catalog closing" in done.stdout, done.stdout
    assert opens_nothing(applied, "gone", own)
    assert applied.way("reader").request("GET", applied.targets["own data"][0]).status == 403
    applied.sql("DELETE FROM duckicelake.catalog WHERE catalog_id = 'closing'")
    shown = applied.apply()
    assert re.search("^ok .*key of gone in closing: opens 0 tables", shown, re.M), shown
    assert opens_nothing(applied, "gone", own)
    applied.sql("DELETE FROM duckicelake.static_s3_key WHERE principal = 'gone'")
    applied.apply()


def test_a_record_that_is_not_made_anew_is_gone_when_the_policy_changes(applied):
    """No way of the store's own leads here; it is what a run that died would leave."""
    applied.lake.session().execute("CREATE TABLE lake.keys.more AS SELECT 1 AS id")
    root = applied.root.keys
    applied.sql("INSERT INTO duckicelake.static_s3_key (catalog_id, principal, access_key_id) "
                "VALUES ('nowhere', 'nobody', 'NOBODY')")
    applied.sql("INSERT INTO duckicelake.static_key_policy (catalog_id, principal, "
                "access_key_id, opens, is_proved) VALUES ('nowhere', 'nobody', 'NOBODY', '{}', "
                "true)")
    done = applied.policy("--apply", DUCKICELAKE_S3_ROOT_KEY=root.access_key,
                          DUCKICELAKE_S3_ROOT_SECRET=root.secret_key)
    assert done.returncode == 1
    assert applied.lake.rows("SELECT principal FROM duckicelake.static_key_policy") == []
    applied.sql("DELETE FROM duckicelake.static_s3_key WHERE principal = 'nobody'")
    applied.lake.session().execute("DROP TABLE lake.keys.more")
    applied.apply()


def test_a_key_of_a_catalog_in_another_bucket_opens_nothing_in_this_one(applied):
    other = applied.place._replace(bucket="elsewhere")
    admin = raw_s3.Keyed(other, applied.store.admin)
    assert admin.request("PUT", "").status == 200
    there = {"DUCKICELAKE_S3_BUCKET": other.bucket, "DUCKICELAKE_CATALOG": "faraway",
             "DUCKICELAKE_PG_SCHEMA": "faraway", "DUCKICELAKE_S3_PREFIX": "faraway/data/"}
    done = applied.policy_init(there)
    assert done.returncode == 0, done.stdout + done.stderr
    keys = applied.store.user("far")
    applied.sql("INSERT INTO duckicelake.static_s3_key (catalog_id, principal, access_key_id, "
                "secret_access_key) VALUES ('faraway', 'far', %s, %s)",
                (keys.access_key, keys.secret_key))

    def is_proved():
        return applied.lake.rows("SELECT is_proved FROM duckicelake.static_key_policy WHERE "
                                 "principal = 'far' AND opens LIKE '%%\"elsewhere\"%%'") == [(True,)]
    try:
        assert applied.way("far").request("GET", applied.targets["own data"][0]).status == 200
        # There it is confined, and here it is not yet.
        done = applied.policy("--apply", **there)
        assert done.returncode == 1 and re.search(
            f"^FAIL +key of far in faraway: list bucket {applied.place.bucket}: 200", done.stdout, re.M), done.stdout
        assert not is_proved()
        shown = applied.apply()
        assert re.search("^ok .*key of far in faraway: opens 0 tables", shown, re.M), shown
        assert opens_nothing(applied, "far")
        done = applied.policy("--apply", **there)
        assert done.returncode == 0 and is_proved(), done.stdout
        assert applied.vend("reader")["s3"] is not None
        # A change here leaves what is known of it there.
        applied.lake.session().execute("CREATE TABLE lake.keys.more AS SELECT 1 AS id")
        assert "read back" in applied.apply() and is_proved()
    finally:
        applied.sql("DELETE FROM duckicelake.static_s3_key WHERE principal = 'far'")
        applied.lake.session().execute("DROP TABLE IF EXISTS lake.keys.more")
        applied.sql("DELETE FROM duckicelake.catalog WHERE catalog_id = 'faraway'")
        admin.request("DELETE", "", "policy=")
    applied.apply()
