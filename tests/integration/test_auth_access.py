# SPDX-License-Identifier: Apache-2.0
"""Who may do what: scopes over all routes, grants that hide, revocation, clients, the record."""
import json
import time

import pytest
import requests
from fixtures import served_lake
from lib import auth
from lib.auth import As, bearer, sign_in, token
from lib.rest import error_of
from lib.server import Server, encoded, eventually

OPEN = {"getConfig", "getHealth", "getReadiness", "getMetrics", "getOpenApi", "getToken"}
SCHEMA = {"type": "struct", "schema-id": 0,
          "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}


@pytest.fixture(scope="module")
def guarded(stack):
    settings = auth.settings(reader="*:r", writer="*:rw", sales="ns:sales:rw", looker="ns:sales:r",
                             pen="ns:sales:w", odd="ns:a%3Ab%20c%25:rw", nobody="catalog",
                             broker="broker *:rw", deep="ns:top%1Finner:r")
    for server in served_lake(stack, **settings):
        admin = sign_in(server)
        for levels in (["sales"], ["hr"], ["a:b c%"], ["top", "inner"]):
            assert admin.post("/namespaces", {"namespace": levels}).status_code == 200
            path = f"/namespaces/{encoded(chr(31).join(levels))}/tables"
            for name in ("t", "u"):
                made = admin.post(path, {"name": name, "schema": SCHEMA})
                assert made.status_code == 200, made.text
        yield server


@pytest.fixture(scope="module")
def admin(guarded):
    return sign_in(guarded)


def routes(server):
    document = requests.get(f"{server.url}/openapi.json", timeout=30).json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def filled(path: str, namespace: str) -> str:
    for name, value in {"prefix": "lake", "namespace": namespace, "table": "t", "view": "v",
                        "function": "f", "role": "no_such_role", "principal": "nobody",
                        "client": "no_such_client", "catalog": "no_such_catalog"}.items():
        path = path.replace("{%s}" % name, value)
    assert "{" not in path, path
    return path


BODIES = {
    "renameTable": {"source": {"namespace": ["NS"], "name": "none"},
                    "destination": {"namespace": ["NS"], "name": "none2"}},
    "renameView": {"source": {"namespace": ["NS"], "name": "none"},
                   "destination": {"namespace": ["NS"], "name": "none2"}},
    "commitTransaction": {"table-changes": [{"identifier": {"namespace": ["NS"], "name": "none"},
                                             "requirements": [], "updates": []}]},
}
# What each operation asks for: r or w in the namespace, R or W in all, A of the administrator, and
# - for nothing that a scope could decide at the route alone.
READS = {"loadTable", "tableExists", "loadCredentials", "ducklakeCredentials", "signRequest", "listTables",
         "loadNamespaceMetadata", "namespaceExists", "listViews", "loadView", "viewExists",
         "reportMetrics", "listFunctions", "loadFunction"}
EVERYWHERE = {"createNamespace", "maintainCatalog"}


def need_of(operation: dict, path: str) -> str:
    name = operation["operationId"]
    if name in OPEN:
        return "open"
    if path.startswith("/v1/catalogs") or "/governance/" in path or "/admin/clients" in path or "/admin/storage-check" in path:
        return "A"
    if name == "listNamespaces":
        return "some"
    if name in EVERYWHERE:
        return "W"
    if name.startswith("signAny"):
        return "body"
    return "r" if name in READS else "w"


ALLOWED = {  # by client: which needs are met in "sales", and in "hr"
    "admin": ({"r", "w", "W", "A", "some"}, {"r", "w", "W", "A", "some"}),
    "reader": ({"r", "some"}, {"r", "some"}),
    "writer": ({"r", "w", "W", "some"}, {"r", "w", "W", "some"}),
    "sales": ({"r", "w", "some"}, {"some"}),
    "looker": ({"r", "some"}, {"some"}),
    "pen": ({"w"}, set()),
    "nobody": (set(), set()),
}


def test_every_route_has_a_decision(guarded):
    """The scope matrix over all routes: a denial is a 403 (a 401 without a token), whatever exists."""
    sessions = {client: sign_in(guarded, client) for client in ALLOWED}
    wrong, counted = [], 0
    for method, path, operation in routes(guarded):
        need = need_of(operation, path)
        for index, namespace in enumerate(("sales", "hr", "no_such")):
            url = guarded.url + filled(path, namespace)
            body = json.loads(json.dumps(BODIES.get(operation["operationId"], {})).replace("NS", namespace))
            bare = requests.request(method, url, json=body, timeout=60)
            if need == "open":
                if bare.status_code in (401, 403):
                    wrong.append((method, path, "open", bare.status_code))
                continue
            if bare.status_code != 401:
                wrong.append((method, path, "no token", bare.status_code))
            if need == "body":
                continue
            # Requests that could do something are only sent where they are denied, or find nothing.
            for client, allowed in ALLOWED.items():
                may = need in allowed[min(index, 1)]
                harmless = method in ("GET", "HEAD") or namespace == "no_such" or not may
                if not harmless or (may and need in ("W", "A") and method != "GET"):
                    continue
                answer = sessions[client].http.request(method, url, json=body, timeout=60)
                counted += 1
                if (answer.status_code != 403) != may:
                    wrong.append((method, path, namespace, client, need, answer.status_code, answer.text[:200]))
    assert not wrong, "\n".join(map(str, wrong))
    print(f"{counted} requests of {len(ALLOWED)} clients")
    assert counted > 300


def test_names_are_looked_at_decoded(guarded):
    """A scope is about the namespace, however a URL spells it."""
    sales = sign_in(guarded, "sales")
    assert sales.get("/namespaces/sales/tables").status_code == 200
    assert sales.get("/namespaces/%73%61les/tables").status_code == 200
    assert sales.get("/%6Eamespaces/sales/tables").status_code == 200
    for spelled in ("SALES", "sales%20", "sales%00", "hr", "%68r", "sales%1Fhr", "hr%1Fsales",
                    "sales%2F..%2Fhr", "..%2Fhr", "sales.hr", "s%C3%A4les"):
        answer = sales.get(f"/namespaces/{spelled}/tables")
        assert answer.status_code in (400, 403, 404), (spelled, answer.status_code)
        assert answer.status_code != 404 or "route" in answer.text, (spelled, answer.text)
    odd = sign_in(guarded, "odd")
    assert odd.get(f"/namespaces/{encoded('a:b c%')}/tables/t").status_code == 200
    error_of(odd.get("/namespaces/a/tables"), 403)
    deep = sign_in(guarded, "deep")
    assert deep.get("/namespaces/top%1Finner/tables/t").status_code == 200
    error_of(deep.get("/namespaces/top/tables"), 403)
    error_of(deep.get("/namespaces/top.inner/tables"), 403)


def test_listings_show_what_may_be_read(guarded):
    def listed(client: str, **query):
        answer = sign_in(guarded, client).get("/namespaces", params=query)
        assert answer.status_code == 200, answer.text
        return {tuple(n) for n in answer.json()["namespaces"]}
    assert {("sales",), ("hr",)} <= listed("reader")
    assert listed("sales") == listed("looker") == {("sales",)}
    assert listed("deep") == {("top",)}
    assert listed("deep", parent="top") == {("top", "inner")}
    error_of(sign_in(guarded, "nobody").get("/namespaces"), 403)
    error_of(sign_in(guarded, "sales").get("/namespaces", params={"parent": "hr"}), 403)


def test_both_ends_of_a_rename_and_each_table_of_a_transaction(guarded, admin):
    sales = sign_in(guarded, "sales")

    def rename(who, source, destination):
        return who.post("/tables/rename", {
            "source": {"namespace": [source[0]], "name": source[1]},
            "destination": {"namespace": [destination[0]], "name": destination[1]}})
    error_of(rename(sales, ("sales", "u"), ("hr", "u2")), 403, "ForbiddenException")
    error_of(rename(sales, ("hr", "u"), ("sales", "u2")), 403, "ForbiddenException")
    error_of(rename(sign_in(guarded, "looker"), ("sales", "u"), ("sales", "u2")), 403)
    assert rename(sales, ("sales", "u"), ("sales", "u2")).status_code == 204
    assert rename(sales, ("sales", "u2"), ("sales", "u")).status_code == 204

    def change(namespace, key):
        return {"identifier": {"namespace": [namespace], "name": "t"}, "requirements": [],
                "updates": [{"action": "set-properties", "updates": {key: "1"}}]}
    both = {"table-changes": [change("sales", "x"), change("hr", "x")]}
    error_of(sales.post("/transactions/commit", both), 403, "ForbiddenException")
    for namespace in ("sales", "hr"):
        properties = admin.get(f"/namespaces/{namespace}/tables/t").json()["metadata"]["properties"]
        assert "x" not in properties
    assert sales.post("/transactions/commit", {"table-changes": [change("sales", "x")]}).status_code == 204


def test_a03_a_rename_onto_a_taken_name_is_a_conflict(guarded, admin):
    def rename(source, destination):
        return admin.post("/tables/rename", {
            "source": {"namespace": ["sales"], "name": source},
            "destination": {"namespace": destination[0], "name": destination[1]}})
    error_of(rename("t", (["sales"], "u")), 409, "AlreadyExistsException")
    error_of(rename("none", (["sales"], "w")), 404, "NoSuchTableException")
    error_of(rename("t", (["nowhere"], "w")), 404, "NoSuchNamespaceException")


def test_a04_an_idempotency_key_is_one_request_of_one_principal(guarded, admin):
    key = {"Idempotency-Key": "01920000-0000-7000-8000-00000000a004"}
    made = admin.post("/namespaces/sales/tables", {"name": "once", "schema": SCHEMA}, headers=key)
    assert made.status_code == 200, made.text
    again = admin.post("/namespaces/sales/tables", {"name": "once", "schema": SCHEMA}, headers=key)
    assert again.status_code == 200
    error_of(admin.delete("/namespaces/sales/tables/once", headers=key), 422)
    error_of(admin.post("/namespaces/sales/tables", {"name": "twice", "schema": SCHEMA}, headers=key), 422)
    writer = sign_in(guarded, "writer")
    error_of(writer.post("/namespaces/sales/tables", {"name": "once", "schema": SCHEMA}, headers=key), 422)
    error_of(sign_in(guarded, "looker").post(
        "/namespaces/sales/tables", {"name": "once", "schema": SCHEMA}, headers=key), 403)
    assert admin.get("/namespaces/sales/tables/once").status_code == 200


def grant(admin, role: str, schema: str, table: str | None = None, privilege: str = "select",
          method: str = "POST"):
    answer = admin(method, "/governance/object-grants", json={
        "object-kind": "table" if table else "schema", "schema": schema, "object": table or "",
        "privilege": privilege, "role": role})
    assert answer.status_code == 200, answer.text


def make_role(admin, role: str, *principals: str):
    assert admin.post("/governance/roles", {"name": role}).json() == {"status": "created", "role": role}
    for principal in principals:
        answer = admin.post("/governance/role-grants", {"role": role, "principal": principal})
        assert answer.json() == {"status": "granted", "role": role, "principal": principal}


def test_object_grants_hide_what_is_not_granted(guarded, admin):
    assert admin.post("/namespaces", {"namespace": ["vault"]}).status_code == 200
    for name in ("secret", "public"):
        assert admin.post("/namespaces/vault/tables", {"name": name, "schema": SCHEMA}).status_code == 200
    make_role(admin, "keepers", "writer")
    reader, writer = sign_in(guarded, "reader"), sign_in(guarded, "writer")
    path = "/namespaces/vault/tables/"
    assert reader.get(path + "secret").status_code == 200
    grant(admin, "keepers", "vault", "secret")
    try:
        assert writer.get(path + "secret").status_code == 200
        assert admin.get(path + "secret").status_code == 200, "the superuser is not bound"
        hidden = reader.get(path + "secret")
        none = reader.get(path + "secreu")
        error_of(hidden, 404, "NoSuchTableException")
        assert hidden.text == none.text.replace("secreu", "secret"), "no oracle"
        assert reader("HEAD", path + "secret").status_code == 404
        names = lambda who: {i["name"] for i in who.get("/namespaces/vault/tables").json()["identifiers"]}
        assert names(reader) == {"public"} and names(writer) == names(admin) == {"public", "secret"}
        paged = reader.get("/namespaces/vault/tables", params={"pageSize": 1, "pageToken": ""}).json()
        assert [i["name"] for i in paged["identifiers"]] == ["public"]
        assert paged.get("next-page-token") is None
        # Identity is never a name: not by the API, not by DuckDB.
        guarded.lake.session().execute("ALTER TABLE lake.vault.secret RENAME TO moved")
        error_of(reader.get(path + "moved"), 404, "NoSuchTableException")
        assert names(reader) == {"public"}
        guarded.lake.session().execute("ALTER TABLE lake.vault.moved RENAME TO secret")
        # A later table of the name is another one.
        listed = admin.get("/governance/object-grants").json()["grants"]
        assert {"object-kind": "table", "schema": ["vault"], "object": "secret", "privilege": "select",
                "role": "keepers"} in listed
    finally:
        grant(admin, "keepers", "vault", "secret", method="DELETE")
    assert reader.get(path + "secret").status_code == 200


def test_schema_grants_hide_the_namespace(guarded, admin):
    assert admin.post("/namespaces", {"namespace": ["closed"]}).status_code == 200
    assert admin.post("/namespaces/closed/tables", {"name": "t", "schema": SCHEMA}).status_code == 200
    make_role(admin, "insiders", "writer")
    grant(admin, "insiders", "closed")
    try:
        reader, writer = sign_in(guarded, "reader"), sign_in(guarded, "writer")
        error_of(reader.get("/namespaces/closed"), 404, "NoSuchNamespaceException")
        error_of(reader.get("/namespaces/closed/tables"), 404, "NoSuchNamespaceException")
        error_of(reader.get("/namespaces/closed/views"), 404, "NoSuchNamespaceException")
        error_of(reader.get("/namespaces/closed/tables/t"), 404, "NoSuchTableException")
        assert ["closed"] not in reader.get("/namespaces").json()["namespaces"]
        assert ["closed"] in writer.get("/namespaces").json()["namespaces"]
        assert writer.get("/namespaces/closed/tables/t").status_code == 200
    finally:
        grant(admin, "insiders", "closed", method="DELETE")


def test_modify_grants_bind_writers(guarded, admin):
    make_role(admin, "editors", "sales")
    grant(admin, "editors", "sales", "t", privilege="modify")
    body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    try:
        writer, sales = sign_in(guarded, "writer"), sign_in(guarded, "sales")
        assert writer.get("/namespaces/sales/tables/t").status_code == 200
        error_of(writer.post("/namespaces/sales/tables/t", body), 403, "ForbiddenException")
        error_of(writer.delete("/namespaces/sales/tables/t"), 403)
        error_of(writer.post("/tables/rename", {
            "source": {"namespace": ["sales"], "name": "t"},
            "destination": {"namespace": ["sales"], "name": "tt"}}), 403)
        assert sales.post("/namespaces/sales/tables/t", body).status_code == 200
    finally:
        grant(admin, "editors", "sales", "t", privilege="modify", method="DELETE")


def test_roles_are_authored_by_the_contract(guarded, admin):
    make_role(admin, "analyst", "ann")
    assert admin.post("/governance/roles", {"name": "analyst"}).status_code == 200, "idempotent"
    assert "analyst" in admin.get("/governance/roles").json()["roles"]
    assert {"role": "analyst", "principal": "ann"} in admin.get("/governance/role-grants").json()["grants"]
    error_of(admin.delete("/governance/roles/analyst"), 409)
    assert admin.delete("/governance/role-grants", {"role": "analyst", "principal": "ann"}).json() == {
        "status": "revoked", "role": "analyst", "principal": "ann"}
    assert admin.delete("/governance/roles/analyst").json() == {"status": "deleted", "role": "analyst"}
    error_of(admin.delete("/governance/roles/analyst"), 404)
    error_of(admin.post("/governance/role-grants", {"role": "none", "principal": "x"}), 404)
    for body in ({"name": ""}, {"name": "a b"}, {"name": "actor:agent"}, {}, [], {"name": 7}):
        error_of(admin.post("/governance/roles", body), 400)
    for wrong in ({"object-kind": "column"}, {"privilege": "own"}, {"object": "none"}, {"schema": "none"},
                  {"role": "none"}):
        body = {"object_kind": "table", "schema": "sales", "object": "t", "privilege": "select",
                "role": "editors"} | wrong
        if "object-kind" in wrong:
            body.pop("object_kind")
        assert admin.post("/governance/object-grants", body).status_code in (400, 404), wrong


def test_static_keys_never_show_their_secret(guarded, admin):
    key = {"principal": "bot", "access-key-id": "AKID", "secret-access-key": "sssh-sssh", "note": "n"}
    assert admin.post("/governance/static-s3-keys", key).json() == {
        "status": "set", "principal": "bot", "access-key-id": "AKID", "has-secret": True, "confined": False}
    listed = admin.get("/governance/static-s3-keys")
    assert {"principal": "bot", "access-key-id": "AKID", "has-secret": True, "note": "n",
            "confined": False} in listed.json()["keys"]
    assert "sssh" not in listed.text + guarded.log_path.read_text()
    assert admin.delete("/governance/static-s3-keys/bot").json() == {"status": "deleted", "principal": "bot"}
    error_of(admin.delete("/governance/static-s3-keys/bot"), 404)


def make_client(admin, client: str, scope: str, **more) -> str:
    answer = admin.post("/admin/clients", {"client-id": client, "scope": scope} | more)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    secret = answer.json()["client-secret"]
    assert len(secret) >= 43
    return secret


def test_clients_are_kept_hashed_rotated_and_disabled(guarded, admin):
    secret = make_client(admin, "etl", "ns:sales:r", roles=["loaders"])
    assert not guarded.lake.rows("SELECT 1 FROM duckicelake.client_secret WHERE hash LIKE %s", f"%{secret}%")
    assert secret not in guarded.log_path.read_text()
    assert secret not in admin.get("/admin/clients/etl").text
    error_of(admin.post("/admin/clients", {"client-id": "etl", "scope": "*"}), 409)
    etl = As(guarded, token(guarded, "etl", secret))
    assert etl.get("/namespaces/sales/tables/t").status_code == 200
    # Rotation with overlap: both serve; without: the old one ends.
    second = admin.post("/admin/clients/etl/rotate", {"overlap-seconds": 60}).json()["client-secret"]
    assert token(guarded, "etl", secret) and token(guarded, "etl", second)
    third = admin.post("/admin/clients/etl/rotate").json()["client-secret"]
    for old in (secret, second):
        answer = auth.ask_token(guarded, grant_type="client_credentials", client_id="etl", client_secret=old)
        assert answer.status_code == 401, answer.text
    assert etl.get("/namespaces/sales/tables/t").status_code == 200, "tokens outlive the secret"
    # Less for the client is less for its tokens, at once.
    assert admin.post("/admin/clients/etl", {"scope": "ns:hr:r"}).json()["scope"] == "ns:hr:r"
    error_of(etl.get("/namespaces/sales/tables/t"), 403)
    assert admin.post("/admin/clients/etl", {"scope": "ns:sales:rw"}).status_code == 200
    assert etl.get("/namespaces/sales/tables/t").status_code == 200
    error_of(etl.post("/namespaces/sales/properties", {"updates": {"a": "b"}}), 403)
    assert admin.post("/admin/clients/etl", {"disabled": True}).json()["disabled"] is True
    error_of(etl.get("/namespaces/sales/tables/t"), 401)
    answer = auth.ask_token(guarded, grant_type="client_credentials", client_id="etl", client_secret=third)
    assert answer.status_code == 401
    assert admin.post("/admin/clients/etl", {"disabled": False}).status_code == 200
    assert etl.get("/namespaces/sales/tables/t").status_code == 200
    assert admin.post("/admin/clients/etl", {"void-tokens": True}).status_code == 200
    error_of(etl.get("/namespaces/sales/tables/t"), 401)
    assert admin.delete("/admin/clients/etl").json() == {"status": "deleted", "client-id": "etl"}
    error_of(admin.get("/admin/clients/etl"), 404)
    for body in ({"client-id": "x"}, {"client-id": "a b", "scope": "*"}, {"client-id": "x", "scope": "all"},
                 {"client-id": "x", "scope": "*", "roles": ["actor:agent"]}):
        error_of(admin.post("/admin/clients", body), 400)


def test_revocation_holds_in_all_processes_at_once(guarded, admin):
    """After the change is answered, no later request is served by what it took, in any process."""
    other = Server(guarded.lake, **guarded.settings | {"DUCKICELAKE_PORT": 0 or _port()})
    other.port = int(other.settings["DUCKICELAKE_PORT"])
    other.url, other.api = f"http://127.0.0.1:{other.port}", f"http://127.0.0.1:{other.port}/v1/lake"
    other.start()
    try:
        make_role(admin, "rotating")
        grant(admin, "rotating", "hr", "t")
        path = "/namespaces/hr/tables/t"
        secret = make_client(admin, "temp", "*:r")
        text = token(guarded, "temp", secret)
        here, there = As(guarded, text), As(other, text)
        for _ in range(10):
            assert admin.post("/governance/role-grants", {"role": "rotating", "principal": "temp"}).status_code == 200
            assert (here.get(path).status_code, there.get(path).status_code) == (200, 200)
            assert admin.delete("/governance/role-grants", {"role": "rotating", "principal": "temp"}).status_code == 200
            assert (there.get(path).status_code, here.get(path).status_code) == (404, 404)
            assert admin.post("/admin/clients/temp", {"disabled": True}).status_code == 200
            assert (there.get("/namespaces").status_code, here.get("/namespaces").status_code) == (401, 401)
            assert admin.post("/admin/clients/temp", {"disabled": False}).status_code == 200
            assert (there.get("/namespaces").status_code, here.get("/namespaces").status_code) == (200, 200)
        # Whoever makes the change: by hand in PostgreSQL as well.
        guarded.lake.rows("UPDATE duckicelake.client SET is_disabled = true WHERE client_id = 'temp' RETURNING 1")
        assert (there.get("/namespaces").status_code, here.get("/namespaces").status_code) == (401, 401)
    finally:
        grant(admin, "rotating", "hr", "t", method="DELETE")
        admin.delete("/admin/clients/temp")
        assert other.stop() == 0


def _port() -> int:
    from lib.server import free_port
    return free_port()


def test_a_broker_acts_for_others(guarded, admin):
    make_role(admin, "patients", "pat")
    grant(admin, "patients", "hr", "u")
    path = "/namespaces/hr/tables/u"
    try:
        broker, writer = sign_in(guarded, "broker"), sign_in(guarded, "writer")
        assert broker.get(path, params={"delegate": "1", "principal": "pat"}).status_code == 200
        error_of(broker.get(path, params={"delegate": "1", "principal": "sam"}), 404)
        error_of(broker.get(path), 404)
        # Not asked to act for others, or not allowed to.
        error_of(broker.get(path, params={"principal": "pat"}), 404)
        error_of(writer.get(path, params={"delegate": "1", "principal": "pat"}), 403)
        # A superuser who names somebody is bound like him.
        assert admin.get(path).status_code == 200
        error_of(admin.get(path, params={"delegate": "1", "principal": "sam"}), 404)
        # For a client it acts within what the client may.
        error_of(broker.get("/namespaces/hr/tables/t", params={"delegate": "1", "principal": "sales"}), 403)
        assert broker.get("/namespaces/sales/tables/t",
                          params={"delegate": "1", "principal": "sales", "actor": "agent",
                                  "channel": "mcp"}).status_code == 200
        entry = admin.get("/governance/audit", params={"principal": "sales", "operation": "load_table"}).json()["entries"][0]
        assert (entry["subject"], entry["actor"], entry["channel"]) == ("broker", "agent", "mcp"), entry
        for bad in ("", "a\x01", "x" * 300):
            assert broker.get(path, params={"delegate": "1", "principal": bad}).status_code == 400, bad
    finally:
        grant(admin, "patients", "hr", "u", method="DELETE")


def test_every_decision_is_recorded(guarded, admin):
    def entries(**query):
        answer = admin.get("/governance/audit", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["entries"]
    assert admin.post("/namespaces", {"namespace": ["recorded"]}, headers={"X-Request-Id": "audit-1"}).status_code == 200
    made = entries(**{"request-id": "audit-1"})
    assert [(e["operation"], e["object"], e["decision"], e["principal"]) for e in made] == [
        ("create_namespace", "recorded", "ok", "admin")]
    looker = sign_in(guarded, "looker")
    for i in range(5):
        assert looker.get("/namespaces/sales/tables/t", headers={"X-Request-Id": f"audit-r{i}"}).status_code == 200
    reads = [e for e in entries(principal="looker", operation="load_table") if e["object"] == "sales.t"]
    assert sum(e["repeats"] for e in reads) >= 5
    assert reads[0]["last-request-id"] == "audit-r4" and reads[0]["object-id"] > 0
    error_of(looker.post("/namespaces/sales/tables", {"name": "x", "schema": SCHEMA},
                         headers={"X-Request-Id": "audit-2"}), 403)
    denied = entries(**{"request-id": "audit-2"})
    assert [(e["operation"], e["decision"]) for e in denied] == [("create_table", "denied")]
    assert "scope" in denied[0]["reason"]
    # What was allowed and failed.
    error_of(admin.delete("/namespaces/sales/tables/none", headers={"X-Request-Id": "audit-3"}), 404)
    error_of(admin.post("/namespaces/sales/tables", {"name": "t", "schema": SCHEMA},
                        headers={"X-Request-Id": "audit-4"}), 409)
    failed = entries(**{"request-id": "audit-4"})
    assert [(e["operation"], e["decision"]) for e in failed] == [("create_table", "failed")], failed
    # Commits, grants and refusals at the door.
    body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"p": "q"}}]}
    assert admin.post("/namespaces/sales/tables/t", body, headers={"X-Request-Id": "audit-5"}).status_code == 200
    assert [e["operation"] for e in entries(**{"request-id": "audit-5"})] == ["commit_table"]
    make_role(admin, "auditors")
    assert entries(operation="create_role")[0]["object"] == "role:auditors"
    requests.get(f"{guarded.api}/namespaces", headers=bearer("x.y.z") | {"X-Request-Id": "audit-6"}, timeout=30)
    assert entries(operation="authenticate", decision="denied")[0]["principal"] == "anonymous"
    # Pages.
    first = admin.get("/governance/audit", params={"limit": 3}).json()
    second = admin.get("/governance/audit", params={"limit": 3, "pageToken": first["next-page-token"]}).json()
    ids = [e["id"] for e in first["entries"] + second["entries"]]
    assert ids == sorted(ids, reverse=True) and len(set(ids)) == 6
    error_of(admin.get("/governance/audit", params={"pageToken": "x"}), 400)
    error_of(admin.get("/governance/audit", params={"limit": "0"}), 400)
    log = guarded.log_path.read_text()
    assert '"logger":"duckicelake.audit"' in log and '"request_id":"audit-2"' in log


def test_the_record_is_append_only(guarded):
    import psycopg
    for statement in ("UPDATE duckicelake.audit SET principal = 'x'", "DELETE FROM duckicelake.audit",
                      "TRUNCATE duckicelake.audit"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            guarded.lake.postgres.execute(statement)


def test_a_change_and_its_record_are_one(guarded, admin):
    """No change of names without its row: the row's transaction is that of the change."""
    for i in range(3):
        assert admin.post("/namespaces", {"namespace": [f"one{i}"]}).status_code == 200
    rows = guarded.lake.rows("""
        SELECT a.object, a.xmin = s.xmin FROM duckicelake.audit a
        JOIN ducklake_schema s ON s.schema_name = a.object
        WHERE a.operation = 'create_namespace' AND a.object LIKE 'one%'""")
    assert len(rows) == 3 and all(same for _, same in rows), rows


def test_old_records_go(stack):
    for server in served_lake(stack, **auth.settings() | {"DUCKICELAKE_AUDIT_RETENTION_DAYS": "2"}):
        who = sign_in(server)
        assert who.get("/governance/audit").status_code == 200
        server.lake.rows("""INSERT INTO duckicelake.audit (catalog_id, at, last_at, principal, subject,
            operation, object, decision, reason, request_id, last_request_id)
            SELECT 'lake', now() - make_interval(days => d), now(), 'old', 'old', 'x', 'x', 'ok', '', '', ''
            FROM generate_series(1, 4) d RETURNING 1""")
        assert server.stop() == 0
        server.start()
        eventually("old rows are gone", lambda: server.lake.rows(
            "SELECT count(*) FROM duckicelake.audit WHERE principal = 'old'")[0][0] == 1)


def test_tokens_of_other_issuers(stack, tmp_path):
    with auth.issuer() as idp, auth.issuer() as second:
        idp.add_key("r1")
        second.add_key("e1", "ES256")
        path = tmp_path / "issuers.json"
        path.write_text(json.dumps([
            {"issuer": idp.url, "audience": ["lake"], "roles-claim": "realm.roles", "scope": "*:r",
             "role-scopes": {"writers": "ns:sales:w"}},
            {"issuer": second.url, "audience": "lake", "jwks-url": second.url + "/keys",
             "principal-claim": "email", "principal-prefix": "idp2:", "scope": "*"}]))
        for server in served_lake(stack, **auth.settings() | {"DUCKICELAKE_OIDC_ISSUERS_FILE": path}):
            admin = sign_in(server)
            for name in ("sales", "hr"):
                assert admin.post("/namespaces", {"namespace": [name]}).status_code == 200
            who = As(server, idp.token("r1", realm={"roles": ["writers"]}))
            assert who.get("/namespaces").status_code == 200
            make = {"name": "t", "schema": SCHEMA}
            assert who.post("/namespaces/sales/tables", make).status_code == 200
            error_of(who.post("/namespaces/hr/tables", make), 403)
            error_of(As(server, idp.token("r1")).post("/namespaces/sales/tables", make), 403)
            assert As(server, second.token("e1", email="x@y")).post("/namespaces/hr/tables", make).status_code == 200
            entry = admin.get("/governance/audit", params={"principal": "idp2:x@y"}).json()["entries"][0]
            assert entry["operation"] == "create_table"
            # Keys are fetched once, and again for a key that is not known.
            before = idp.fetches
            for _ in range(5):
                assert As(server, idp.token("r1", sub=f"eve{_}")).get("/namespaces").status_code == 200
            assert idp.fetches == before
            now = int(time.time())
            bad = {
                "other audience": idp.token("r1", aud="x"), "no audience": idp.token("r1", aud=None),
                "other issuer's key": second.token("e1", iss=idp.url),
                "unknown issuer": idp.token("r1", iss="https://nobody.example"),
                "server's own issuer": idp.token("r1", iss="duckicelake", sub="admin"),
                "future": idp.token("r1", iat=now + 600, exp=now + 900),
                "no subject": second.token("e1"), "name of a client": idp.token("r1", sub="admin"),
                "HS256 of the public key": auth.forged({"iss": idp.url, "aud": "lake", "sub": "eve"},
                    header={"alg": "HS256", "kid": "r1"}, secret=json.dumps(idp.jwk("r1"))),
            }
            for what, text in bad.items():
                assert As(server, text).get("/namespaces").status_code == 401, what
            error_of(As(server, idp.token("r1", exp=now - 61)).get("/namespaces"), 419)
            assert As(server, idp.token("r1", exp=now - 30)).get("/namespaces").status_code == 200, "skew"
            assert As(server, idp.token("r1", iat=now + 30)).get("/namespaces").status_code == 200, "skew"
            # An exchange makes a token of ours that lives no longer than the first.
            outer = idp.token("r1", exp=now + 120)
            swapped = auth.ask_token(
                server, grant_type="urn:ietf:params:oauth:grant-type:token-exchange", subject_token=outer,
                subject_token_type="urn:ietf:params:oauth:token-type:id_token", headers=bearer(outer))
            assert swapped.status_code == 200 and swapped.json()["expires_in"] <= 120, swapped.text
            assert As(server, swapped.json()["access_token"]).get("/namespaces").status_code == 200
            # Rotation: the new key serves as soon as a token names it.
            idp.add_key("r2")
            del idp.keys["r1"]
            eventually("the new key is known",
                       lambda: As(server, idp.token("r2")).get("/namespaces").status_code == 200, 20, 0.5)
