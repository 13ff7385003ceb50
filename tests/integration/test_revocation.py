# SPDX-License-Identifier: Apache-2.0
"""What was taken from somebody serves him no more: from the answer to the change on, in all processes, by every way.

Two processes of one lake, one with an STS and one with the gateway; the change is made over REST on either of
them, or with SQL. The stated bound (docs/operations/access.md) is none: not one later request.
"""
from __future__ import annotations

import threading
import time

import pytest
from fixtures import served_lake
from lib import auth, raw_s3
from lib.auth import As, sign_in
from lib.server import Server, eventually, free_port
from test_vend_matrix import VENDED, Ground, keys_of

TABLE = "/namespaces/gone/tables/orders"
SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}
REFUSED = (401, 403, 404)


@pytest.fixture(scope="module")
def first(stack):
    yield from served_lake(stack, **auth.settings(reader="ns:gone:rw"))


@pytest.fixture(scope="module")
def ground(first):
    first.http.headers.update(auth.bearer(sign_in(first).token))
    return Ground(first, "gone")


@pytest.fixture(scope="module")
def second(first, ground):
    port, gateway = free_port(), free_port()
    server = Server(first.lake, **first.settings | {
        "DUCKICELAKE_PORT": port, "DUCKICELAKE_STS_ENDPOINT": "none", "DUCKICELAKE_S3_GATEWAY_ENABLED": "1",
        "DUCKICELAKE_S3_GATEWAY_SECRET": "a-secret-of-the-gateway-for-tests-only",
        "DUCKICELAKE_S3_GATEWAY_PORT": gateway, "DUCKICELAKE_S3_GATEWAY_URL": f"http://127.0.0.1:{gateway}"})
    server.port, server.url, server.api = port, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/v1/lake"
    server.start()
    yield server
    server.stop()


class Holder:
    """Somebody with a token, answers, keys and signers that he got while he might."""

    def __init__(self, ground, servers, token: str):
        self.ground, self.token = ground, token
        self.sessions = {s.port: As(s, token) for s in servers}
        self.key = ground.targets["own data"][0]
        self.tags, self.signers, self.gateways = {}, {}, {}
        for session in self.sessions.values():
            answer = session.get(TABLE)
            assert answer.status_code == 200, answer.text
            self.tags[session] = answer.headers["ETag"]
            signing = session.get(TABLE, headers=SIGNING).json()["config"]
            signing.setdefault("s3.signer.endpoint", "v1/lake" + TABLE + "/sign")
            for name, path in (("table", signing["s3.signer.endpoint"]), ("older", "v1/lake/aws/s3/sign"),
                               ("oldest", "v1/aws/s3/sign")):
                self.signers[session, name] = raw_s3.RemotelySigned(
                    ground.place, f"{session.server.url}/{path}", auth.bearer(token))
            vended = session.get(TABLE, headers=VENDED).json()["config"]
            if vended["s3.endpoint"] != ground.place.endpoint:
                self.gateways[session] = raw_s3.Keyed(
                    ground.place._replace(endpoint=vended["s3.endpoint"]), keys_of(vended))

    def statuses(self) -> dict[str, int]:
        """Each thing he could do, on each process, and what comes of it now."""
        found = {}
        for session in self.sessions.values():
            at = f" on {session.server.port}"
            found["load" + at] = session.get(TABLE).status_code
            found["load if changed" + at] = session.get(TABLE, headers={"If-None-Match": self.tags[session]}).status_code
            found["refs" + at] = session.get(TABLE, params={"snapshots": "refs"}).status_code
            found["exists" + at] = session("HEAD", TABLE).status_code
            found["vend" + at] = session.get(TABLE, headers=VENDED).status_code
            found["vend if changed" + at] = session.get(
                TABLE, headers=VENDED | {"If-None-Match": self.tags[session]}).status_code
            found["credentials" + at] = session.get(TABLE + "/credentials").status_code
            found["commit" + at] = session.post(TABLE, {"requirements": [], "updates": [
                {"action": "set-properties", "updates": {"k": str(time.time())}}]}).status_code
            listed = session.get("/namespaces/gone/tables")
            is_listed = listed.ok and any(i["name"] == "orders" for i in listed.json()["identifiers"])
            found["listed" + at] = 200 if is_listed else 404
            if session in self.gateways:
                way = self.gateways[session]
                found["gateway get" + at] = way.request("GET", self.key).status
                found["gateway presigned" + at] = way.presigned("GET", self.key).status
                found["gateway put" + at] = way.request("PUT", self.ground.folder + "data/new", body=b"x").status
                found["gateway list" + at] = way.request(
                    "GET", "", "list-type=2&prefix=" + self.ground.folder.replace("/", "%2F")).status
        for (session, name), signer in self.signers.items():
            found[f"sign, {name}, on {session.server.port}"] = signer.sign("GET", signer.url(self.key)).status_code
        return found

    def may(self) -> None:
        wrong = {k: v for k, v in self.statuses().items() if v not in (200, 204, 304)}
        assert not wrong, wrong

    def may_not(self, *but: str) -> None:
        wrong = {k: v for k, v in self.statuses().items() if v not in REFUSED and not k.startswith(but or ("?",))}
        assert not wrong, wrong


def sql(ground, *statements: str):
    for statement in statements:
        ground.lake.postgres.execute(statement)


ROLE, GRANT = {"name": "keepers"}, {"object-kind": "table", "schema": "gone", "object": "orders", "privilege": "select",
                                    "role": "keepers"}
MEMBER = {"role": "keepers", "principal": "temp"}


def ok(answer):
    assert answer.status_code in (200, 204), answer.text


# name: (before, take, give back); before and give back are as often as needed.
def changes(ground):
    return {
        "client disabled": (lambda a: None, lambda a: ok(a.post("/admin/clients/temp", {"disabled": True})),
                            lambda a: ok(a.post("/admin/clients/temp", {"disabled": False}))),
        "client disabled by hand": (
            lambda a: None, lambda a: sql(ground, "UPDATE duckicelake.client SET is_disabled = true WHERE client_id = 'temp'"),
            lambda a: sql(ground, "UPDATE duckicelake.client SET is_disabled = false WHERE client_id = 'temp'")),
        "scope gone": (lambda a: None, lambda a: ok(a.post("/admin/clients/temp", {"scope": "ns:other:rw"})),
                       lambda a: ok(a.post("/admin/clients/temp", {"scope": "ns:gone:rw"}))),
        "scope gone by hand": (
            lambda a: None, lambda a: sql(ground, "UPDATE duckicelake.client SET scope = 'catalog' WHERE client_id = 'temp'"),
            lambda a: sql(ground, "UPDATE duckicelake.client SET scope = 'ns:gone:rw' WHERE client_id = 'temp'")),
        "role grant gone": (granted, lambda a: ok(a.delete("/governance/role-grants", MEMBER)), ungranted),
        "role grant gone by hand": (
            granted, lambda a: sql(ground, "DELETE FROM duckicelake.role_grant WHERE principal = 'temp'"), ungranted),
        "role gone": (granted_twice, role_gone, ungranted),
        "role gone by hand": (
            granted_twice, lambda a: sql(ground, "BEGIN", "DELETE FROM duckicelake.role_grant WHERE role_name = 'keepers'",
                                         "DELETE FROM duckicelake.object_grant WHERE role_name = 'keepers'",
                                         "DELETE FROM duckicelake.role WHERE role_name = 'keepers'", "COMMIT"), ungranted),
        "grant to others": (lambda a: None, lambda a: granted_to_others(a), ungranted),
        "schema granted to others": (lambda a: None, lambda a: granted_to_others(a, "schema"), ungranted),
        "grant moved to others": (granted_twice, lambda a: ok(a.delete("/governance/object-grants", GRANT)), ungranted),
        "grant moved to others by hand": (
            granted_twice, lambda a: sql(ground, "DELETE FROM duckicelake.object_grant WHERE role_name = 'keepers'"), ungranted),
        "everybody's role grants gone by hand": (
            granted, lambda a: sql(ground, "TRUNCATE duckicelake.role_grant"), ungranted),
    }


def granted(admin) -> None:
    assert admin.post("/governance/roles", ROLE).status_code in (200, 409)
    ok(admin.post("/governance/role-grants", MEMBER))
    ok(admin.post("/governance/object-grants", GRANT))


def granted_to_others(admin, kind: str = "table") -> None:
    assert admin.post("/governance/roles", {"name": "others"}).status_code in (200, 409)
    ok(admin.post("/governance/object-grants", GRANT | {"role": "others"} if kind == "table" else {
        "object-kind": "schema", "schema": "gone", "object": "", "privilege": "select", "role": "others"}))


def granted_twice(admin) -> None:
    granted(admin)
    granted_to_others(admin)


def role_gone(admin) -> None:
    assert admin.delete("/governance/roles/keepers").status_code == 409, "not while it is held"
    ok(admin.delete("/governance/object-grants", GRANT))
    ok(admin.delete("/governance/role-grants", MEMBER))
    ok(admin.delete("/governance/roles/keepers"))


def ungranted(admin) -> None:
    for table in ("role_grant", "object_grant", "role"):
        admin.server.lake.postgres.execute(f"DELETE FROM duckicelake.{table}")
    assert admin.get("/governance/object-grants").json()["grants"] == []


@pytest.fixture(scope="module")
def holder(first, second, ground):
    admin = sign_in(first)
    made = admin.post("/admin/clients", {"client-id": "temp", "scope": "ns:gone:rw"})
    assert made.status_code == 200, made.text
    token = auth.token(first, "temp", made.json()["client-secret"])
    yield Holder(ground, (first, second), token)
    admin.delete("/admin/clients/temp")


NAMES = list(changes(None))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_served_after_it_was_taken(first, second, ground, holder, name):
    before, take, give_back = changes(ground)[name]
    for maker in (first, second):
        admin = sign_in(maker)
        try:
            before(admin)
            holder.may()
            take(admin)
            holder.may_not()
        finally:
            give_back(admin)
        holder.may()


def test_only_writing_is_taken_from_who_may_read_still(first, second, ground, holder):
    writing = ("commit", "gateway put")
    admin = sign_in(second)
    for take, give in ((lambda: ok(admin.post("/admin/clients/temp", {"scope": "ns:gone:r"})),
                        lambda: ok(admin.post("/admin/clients/temp", {"scope": "ns:gone:rw"}))),
                       (lambda: (admin.post("/governance/roles", ROLE), ok(admin.post(
                           "/governance/object-grants", GRANT | {"privilege": "modify"}))),
                        lambda: ungranted(admin))):
        take()
        found = holder.statuses()
        assert all(v in REFUSED for k, v in found.items() if k.startswith(writing)), found
        assert all(v in (200, 204, 304) for k, v in found.items() if not k.startswith(writing)), found
        give()
        holder.may()


def test_other_clients_lose_nothing(first, second, ground, holder):
    """The control of all of the above: somebody else goes on all the time."""
    other = Holder(ground, (first, second), auth.token(first, "reader"))
    admin = sign_in(first)
    ok(admin.post("/admin/clients/temp", {"disabled": True}))
    holder.may_not()
    other.may()
    ok(admin.post("/admin/clients/temp", {"disabled": False}))
    holder.may()


def test_under_load_no_request_after_the_answer_is_served(first, second, ground, holder):
    """Threads that ask without pause: what they asked after the change was answered is refused."""
    admin = sign_in(first)
    for _ in range(5):
        answers: list[tuple[float, int]] = []
        over = threading.Event()

        def ask(server):
            session = As(server, holder.token)
            while not over.is_set():
                begin = time.monotonic()
                answers.append((begin, session.get(TABLE).status_code))
        threads = [threading.Thread(target=ask, args=(s,)) for s in (first, second) for _ in range(2)]
        for thread in threads:
            thread.start()
        eventually("they are served", lambda: sum(status == 200 for _, status in answers) >= 8)
        ok(admin.post("/admin/clients/temp", {"disabled": True}))
        changed = time.monotonic()
        eventually("they ask again", lambda: sum(begin > changed for begin, _ in answers) >= 8)
        over.set()
        for thread in threads:
            thread.join()
        ok(admin.post("/admin/clients/temp", {"disabled": False}))
        late = [status for begin, status in answers if begin > changed]
        assert late and set(late) == {401}, set(late)
        assert any(status == 200 for begin, status in answers if begin < changed)


def test_tokens_that_were_made_void_are_not_exchanged_either(first, second, ground, holder):
    exchange = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": holder.token,
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token"}
    for server in (first, second):
        answer = auth.ask_token(server, headers=auth.bearer(holder.token), **exchange)
        assert answer.status_code == 200, answer.text
    child = answer.json()["access_token"]
    admin = sign_in(first)
    ok(admin.post("/admin/clients/temp", {"disabled": True}))
    for server in (first, second):
        assert auth.ask_token(server, headers=auth.bearer(holder.token), **exchange).status_code in (400, 401)
        assert As(server, child).get(TABLE).status_code == 401
    ok(admin.post("/admin/clients/temp", {"disabled": False}))
    ok(admin.post("/admin/clients/temp", {"void-tokens": True}))
    for server in (first, second):
        assert auth.ask_token(server, headers=auth.bearer(holder.token), **exchange).status_code in (400, 401)
        assert As(server, child).get(TABLE).status_code == 401
    holder.may_not("gateway")


def test_keys_for_the_gateway_end_with_the_tokens(first, second, ground, holder):
    """Made void, a token takes the keys with it that were got by it."""
    for way in holder.gateways.values():
        assert way.request("GET", holder.key).status == 403


def test_a_client_that_is_made_anew_does_not_bring_old_tokens_back(first, second, ground):
    admin = sign_in(second)
    made = admin.post("/admin/clients", {"client-id": "again", "scope": "ns:gone:rw"})
    old = Holder(ground, (first, second), auth.token(first, "again", made.json()["client-secret"]))
    old.may()
    ok(admin.delete("/admin/clients/again"))
    old.may_not()
    assert admin.post("/admin/clients", {"client-id": "again", "scope": "*"}).status_code == 200
    old.may_not()
    assert admin.delete("/admin/clients/again").status_code == 200
