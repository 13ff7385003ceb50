# SPDX-License-Identifier: Apache-2.0
"""Catalogs beside a server's own: how they are made and closed, and that equal names never meet."""
from __future__ import annotations

import concurrent.futures
import statistics
import time

import pytest
import requests
from lib import auth, raw_s3
from lib.clients import DuckDBIceberg, PyIceberg
from lib.lakes import duck
from lib.server import Server, command, eventually, free_port
from lib.tenants import LONG, Tenant, close, create, spec
from test_vend_matrix import VENDED, key_of, keys_of

SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}
SECRET = "a-secret-of-the-gateway-for-tests-only"


@pytest.fixture(scope="module")
def server(own_lake):
    running = Server(own_lake).start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def guarded(own_lake):
    """With authentication; the clients of two accounts."""
    clients = (f"{auth.ADMIN[0]}:{auth.ADMIN[1]},anna:anna-secret|*:*:*|analyst|north,"
               "nora:nora-secret|*:rw||north,sam:sam-secret|*:rw||south,free:free-secret|*:rw")
    clients = clients.replace("anna-secret|*:*:*", "anna-secret|*:rw broker")
    running = Server(own_lake, DUCKICELAKE_OAUTH_CLIENTS=clients,
                     DUCKICELAKE_OAUTH_JWT_SECRET=auth.SECRET).start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def admin(guarded):
    return auth.bearer(auth.token(guarded))


@pytest.fixture(scope="module")
def pair(server):
    """Two catalogs with the same names, and different rows."""
    made = [Tenant(server, "pair-a"), Tenant(server, "pair-b")]
    for number, tenant in enumerate(made):
        session = tenant.session()
        session.execute("CREATE SCHEMA lake.shop")
        session.execute(f"CREATE TABLE lake.shop.orders AS SELECT range + {number * 10000} AS id, "
                        f"'secret of {tenant.name}' AS s FROM range(3000)")
        session.execute(f"INSERT INTO lake.shop.orders VALUES ({number * 10000 - 1}, 'inlined')")
    yield made
    for tenant in made:
        tenant.close()


# --- making them


def test_a_catalog_is_made_once_and_its_values_stay(server):
    first = create(server, "once")
    assert first.status_code == 201, first.text
    body = first.json()
    assert body == {"catalog_id": "once", "metadata_schema": "once",
                    "data_prefix": f"{server.lake.name}/tenants/once/"}
    assert create(server, "once").json() == body
    hyphens = {k.replace("_", "-"): v for k, v in spec(server, "once").items()}
    again = requests.post(f"{server.url}/v1/catalogs", json=hyphens, timeout=60)
    assert (again.status_code, again.json()) == (201, body)
    for other in ({"metadata_schema": "another"}, {"data_prefix": f"{server.lake.name}/elsewhere"},
                  {"account_id": "north"}):
        answer = create(server, "once", **other)
        assert answer.status_code == 409, answer.text
        assert answer.json()["error"]["type"] == "AlreadyExistsException"
    found = requests.get(f"{server.url}/v1/catalogs/once", timeout=60).json()
    assert found == body | {"state": "open", "is_default": False, "is_shared": True}
    namespaces = requests.get(f"{server.url}/v1/once/namespaces", timeout=60).json()["namespaces"]
    assert ["default"] in namespaces
    assert create(server, "bare", create_default_namespace=False).status_code == 201
    namespaces = requests.get(f"{server.url}/v1/bare/namespaces", timeout=60).json()["namespaces"]
    assert ["default"] not in namespaces


def test_catalogs_are_listed_in_pages(server):
    for name in ("list-1", "list-2", "list-3"):
        assert create(server, name).status_code == 201
    whole = requests.get(f"{server.url}/v1/catalogs", timeout=60).json()
    ids = [c["catalog_id"] for c in whole["catalogs"]]
    assert ids == sorted(ids) and {"lake", "list-1", "list-2", "list-3"} <= set(ids)
    assert [c["catalog_id"] for c in whole["catalogs"] if c["is_default"]] == ["lake"]
    paged, token = [], ""
    while token is not None:
        page = requests.get(f"{server.url}/v1/catalogs", timeout=60,
                            params={"pageToken": token, "pageSize": 2}).json()
        assert len(page["catalogs"]) <= 2
        paged += page["catalogs"]
        token = page["next-page-token"]
    assert paged == whole["catalogs"]
    strange = requests.get(f"{server.url}/v1/catalogs", params={"pageToken": "x"}, timeout=60)
    assert strange.status_code == 400


HOSTILE = {
    "catalog_id": ["", ".", "..", "a/b", "a b", "-a", "a%2fb", "a'b", 'a"b', "a\nb", "a\u0000b", "ä",
                   "a;b", "a*", "catalogs", "config", "OAuth", "aws", "namespaces", "x" * 64, 7, None],
    "metadata_schema": ["", "public", "duckicelake", "pg_catalog", "pg_x", "information_schema",
                        "Upper", "a-b", "1a", 'a"; DROP SCHEMA public CASCADE; --', "a'b", "a b",
                        "a\u0000b", "ä", "x" * 64, 7, None],
    "data_prefix": ["", "/", "/a", "a//b", "..", "../a", "a/..", "a/../b", ".", "a/./b", "a*", "a?b",
                    "a/$x", "a%2e%2e", "a\\b", "a b", "a'b", 'a"b', "a\nb", "a\u0000b", "ä", "s3://b/a",
                    "x" * 513, 7, None],
    "account_id": ["", "a\nb", "a\u0000b", "x" * 129, 7],
    "create_default_namespace": ["yes", 1],
}


def test_hostile_names_make_nothing(server):
    before = server.lake.rows("SELECT count(*) FROM pg_namespace")
    wrong = []
    for member, values in HOSTILE.items():
        for value in values:
            answer = create(server, "hostile", **{member: value})
            if answer.status_code != 400 or "error" not in answer.json():
                wrong.append((member, value, answer.status_code, answer.text[:200]))
    for body in ("", "[]", "{", '{"catalog_id":"hostile"}', "null"):
        answer = requests.post(f"{server.url}/v1/catalogs", data=body, timeout=60)
        if answer.status_code != 400:
            wrong.append((body, answer.status_code, answer.text[:200]))
    assert not wrong, "\n".join(map(str, wrong))
    assert server.lake.rows("SELECT count(*) FROM pg_namespace") == before
    assert requests.get(f"{server.url}/v1/catalogs/hostile", timeout=60).status_code == 404
    print(sum(map(len, HOSTILE.values())), "hostile values")


def test_places_and_schemas_are_one_catalogs_alone(server):
    base = f"{server.lake.name}/apart"
    assert create(server, "apart", data_prefix=f"{base}/a").status_code == 201
    own = server.lake.env["DUCKICELAKE_S3_PREFIX"].rstrip("/")
    taken = [f"{base}/a", f"{base}/a/", f"{base}/a/b", base, f"{base}/a-iceberg", f"{base}/a-iceberg/x",
             f"{base}/a-doctor", server.lake.name, own, f"{own}/x", f"{own}-iceberg",
             f"{own}-iceberg/lake", f"{own}-doctor"]
    for prefix in taken:
        answer = create(server, "apart-2", data_prefix=prefix)
        assert answer.status_code == 409, (prefix, answer.text)
    assert create(server, "apart-2", metadata_schema="apart").status_code == 409
    assert create(server, "apart-2", data_prefix=f"{base}/a2").status_code == 201
    # Somebody's own tables are no place for a lake.
    server.lake.postgres.execute("CREATE SCHEMA foreign_ground; CREATE TABLE foreign_ground.t (a int)")
    answer = create(server, "apart-3", metadata_schema="foreign_ground")
    assert answer.status_code == 409 and "something else" in answer.text
    assert server.lake.rows("SELECT count(*) FROM duckicelake.catalog WHERE catalog_id = 'apart-3'") == [(0,)]


def test_a_lake_that_is_there_is_adopted_when_its_place_is_the_same(server):
    lake = server.lake
    place = f"{lake.name}/adopted"
    connection = duck.lake(lake.env, metadata_schema="adopted", create=True,
                           DATA_PATH=f"s3://{lake.env['DUCKICELAKE_S3_BUCKET']}/{place}/")
    connection.execute("CREATE SCHEMA lake.s; CREATE TABLE lake.s.t AS SELECT range AS id FROM range(1000)")
    connection.close()
    elsewhere = create(server, "adopted", data_prefix=f"{lake.name}/not-adopted")
    assert elsewhere.status_code == 409, elsewhere.text
    answer = create(server, "adopted", data_prefix=place)
    assert answer.status_code == 201, answer.text
    loaded = requests.get(f"{server.url}/v1/adopted/namespaces/s/tables/t", timeout=60)
    assert loaded.status_code == 200
    spaces = requests.get(f"{server.url}/v1/adopted/namespaces", timeout=60).json()["namespaces"]
    assert ["default"] not in spaces, "a lake that somebody used stays as it is"


def test_of_overlapping_creations_at_once_one_wins(server):
    for turn in range(4):
        base = f"{server.lake.name}/race-{turn}"
        bodies = [{"name": f"race-{turn}-{i}", "data_prefix": p}
                  for i, p in enumerate((f"{base}/x", f"{base}/x/y", base, f"{base}/x-iceberg/z"))]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda b: create(server, **b), bodies))
        codes = sorted(a.status_code for a in answers)
        # Those that lie in the winner's place lose; x/y and x-iceberg/z are apart from each other.
        won = [b["data_prefix"] for b, a in zip(bodies, answers) if a.status_code == 201]
        assert set(codes) == {201, 409}, [a.text for a in answers]
        assert len(won) == 1 or set(won) == {f"{base}/x/y", f"{base}/x-iceberg/z"}, won


def test_the_same_creation_at_once_is_one(server):
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: create(server, "same"), range(5)))
    assert [a.status_code for a in answers] == [201] * 5, [a.text for a in answers]
    assert server.lake.rows("SELECT count(*) FROM same.ducklake_schema WHERE schema_name = 'default'") == [(1,)]


# --- closing them


def test_a_closed_catalog_is_gone_and_comes_back_with_its_tables(server):
    tenant = Tenant(server, "closing")
    made = tenant("POST", "/namespaces/default/tables", {"name": "t", "schema": LONG})
    assert made.status_code == 200, made.text
    assert tenant("POST", "/governance/roles", {"name": "kept"}).status_code in (200, 201)
    assert close(server, "closing").status_code == 204
    for path in ("/namespaces", "/namespaces/default/tables/t", "/governance/roles"):
        answer = tenant.get(path)
        assert answer.status_code == 404 and answer.json()["error"]["type"] == "NoSuchWarehouseException"
    assert requests.get(f"{server.url}/v1/config?warehouse=closing", timeout=60).status_code == 404
    assert requests.get(f"{server.url}/v1/catalogs/closing", timeout=60).status_code == 404
    listed = requests.get(f"{server.url}/v1/catalogs", timeout=60).json()["catalogs"]
    assert "closing" not in [c["catalog_id"] for c in listed]
    assert close(server, "closing").status_code == 204, "closing again is no error"
    # What it was stays taken, for its rows and objects are still there.
    assert create(server, "closing", metadata_schema="closing_2").status_code == 409
    assert create(server, "heir", data_prefix=tenant.prefix).status_code == 409
    assert create(server, "heir", metadata_schema="closing").status_code == 409
    assert create(server, "closing", account_id="north").status_code == 201
    assert tenant.get("/namespaces/default/tables/t").status_code == 200
    assert "kept" in tenant.get("/governance/roles").text


def test_what_cannot_be_closed_says_why(server):
    assert close(server, "never-made").status_code == 404
    own = close(server, "lake")
    assert own.status_code == 400 and "own" in own.text
    assert server.get("/namespaces").status_code == 200


# --- who may


def test_only_superusers_make_and_see_catalogs(guarded, admin):
    for client in ("anna", "nora", "free"):
        headers = auth.bearer(auth.token(guarded, client))
        assert create(guarded, "stolen", headers).status_code == 403
        assert close(guarded, "lake", headers).status_code == 403
        for path in ("", "/lake", "/none"):
            assert requests.get(f"{guarded.url}/v1/catalogs{path}", headers=headers,
                                timeout=60).status_code == 403
    for call in (lambda: create(guarded, "stolen"), lambda: close(guarded, "lake")):
        assert call().status_code == 401
    assert guarded.lake.rows("SELECT count(*) FROM duckicelake.catalog WHERE catalog_id = 'stolen'") == [(0,)]
    made = create(guarded, "audited", admin)
    assert made.status_code == 201
    rows = guarded.lake.rows("SELECT principal, decision FROM duckicelake.audit WHERE operation = "
                             "'change_catalogs' AND object = 'audited'")
    assert rows == [("admin", "ok")]


PROBES = [("GET", "/namespaces", None), ("GET", "/namespaces/shop", None),
          ("HEAD", "/namespaces/shop", None), ("GET", "/namespaces/shop/tables", None),
          ("GET", "/namespaces/shop/tables/orders", None),
          ("GET", "/namespaces/shop/tables/orders?snapshots=nonsense", None),
          ("HEAD", "/namespaces/shop/tables/orders", None),
          ("GET", "/namespaces/%FF/tables", None), ("GET", "/namespaces?pageToken=%zz", None),
          ("GET", "/namespaces/shop/tables/orders/credentials", None),
          ("POST", "/namespaces", {"namespace": ["x"]}), ("POST", "/namespaces", "not an object"),
          ("DELETE", "/namespaces/shop/tables/orders", None),
          ("POST", "/namespaces/shop/tables/orders", {"requirements": [], "updates": []}),
          ("POST", "/tables/rename", {}), ("POST", "/transactions/commit", {}),
          ("POST", "/namespaces/shop/tables/orders/sign", {"method": "GET", "uri": "http://x/y",
                                                           "region": "r", "headers": {}}),
          ("POST", "/aws/s3/sign", {}), ("GET", "/governance/roles", None),
          ("GET", "/governance/audit", None), ("GET", "/admin/clients", None),
          ("POST", "/admin/maintenance", {}), ("GET", "/admin/storage-check", None),
          ("GET", "/namespaces/shop/tables/orders?delegate=1&principal=x", None),
          ("PATCH", "/namespaces", None), ("GET", "/none", None)]


def shown(answer: requests.Response, name: str) -> tuple:
    """Everything of an answer, but for its id and time; the name that the caller sent is taken out."""
    headers = sorted((k.lower(), v) for k, v in answer.headers.items()
                     if k.lower() not in ("date", "x-request-id"))
    body = answer.text.replace(name, "NAME")
    return answer.status_code, [(k, v if k != "content-length" else "") for k, v in headers], body


@pytest.mark.parametrize("state", ["open", "cold", "broken"])
def test_another_accounts_catalog_answers_like_an_unknown_one(guarded, admin, state):
    # Names of one length, so that even lengths are the same.
    name, unknown = {"open": ("north-open", "north-none"), "cold": ("north-cold", "north-none"),
                     "broken": ("north-brok", "north-none")}[state]
    tenant = Tenant(guarded, name, admin, account_id="north")
    session = tenant.session()
    session.execute("CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS SELECT range AS id FROM range(2000)")
    tenant.close()
    insider = auth.bearer(auth.token(guarded, "nora"))
    if state == "open":
        assert tenant.get("/namespaces/shop/tables/orders", headers=insider).status_code == 200
        assert tenant.get("/namespaces/shop/tables/orders").status_code == 200, "a superuser reaches it"
    if state == "broken":
        tenant.lake.postgres.execute(f"ALTER SCHEMA {tenant.schema} RENAME TO {tenant.schema}_away")
        assert tenant.get("/namespaces", headers=insider).status_code == 500
    wrong = []
    for client in ("sam", "free"):
        headers = auth.bearer(auth.token(guarded, client))
        for method, path, body in PROBES:
            answers = [requests.request(method, f"{guarded.url}/v1/{n}{path}", headers=headers, json=body,
                                        timeout=60) for n in (name, unknown)]
            if shown(answers[0], name) != shown(answers[1], unknown):
                wrong.append((client, method, path, [(a.status_code, a.text) for a in answers]))
            assert answers[0].headers.get("Content-Length") == answers[1].headers.get("Content-Length")
        for query in ("?warehouse=NAME", "?warehouse=NAME&x=1"):
            answers = [requests.get(f"{guarded.url}/v1/config" + query.replace("NAME", n), headers=headers,
                                    timeout=60) for n in (name, unknown)]
            if shown(answers[0], name) != shown(answers[1], unknown):
                wrong.append((client, query, [(a.status_code, a.text) for a in answers]))
            assert answers[0].status_code == 404
        # Without a token neither exists.
        answers = [requests.get(f"{guarded.url}/v1/config?warehouse={n}", timeout=60) for n in (name, unknown)]
        assert shown(answers[0], name) == shown(answers[1], unknown) and answers[0].status_code == 404
    assert not wrong, "\n".join(map(str, wrong))
    if state == "cold":
        opened = [k for k, v in guarded.metrics().items() if f'catalog="{name}"' in k]
        assert not opened, "nobody who may not reach it has it opened"
    for n in (name, unknown):
        times = []
        for _ in range(60):
            began = time.perf_counter()
            requests.get(f"{guarded.url}/v1/{n}/namespaces", headers=headers, timeout=60)
            times.append(time.perf_counter() - began)
        print(f"{state} {n}: median {statistics.median(times) * 1e3:.2f} ms")
    assert requests.get(f"{guarded.url}/v1/config?warehouse={name}", headers=insider,
                        timeout=60).json()["overrides"]["prefix"] == name
    hidden = tenant.rows("SELECT count(*) FROM duckicelake.audit WHERE catalog_id = %s AND operation = "
                         "'reach_catalog' AND decision = 'hidden'", name)
    assert eventually("it is on record", lambda: hidden[0][0] > 0 or tenant.rows(
        "SELECT count(*) FROM duckicelake.audit WHERE catalog_id = %s AND operation = 'reach_catalog'",
        name)[0][0] > 0)


def test_an_account_that_a_client_loses_closes_its_catalogs_at_once(guarded, admin):
    tenant = Tenant(guarded, "moving", admin, account_id="east")
    made = requests.post(f"{guarded.api}/admin/clients", headers=admin, timeout=60,
                         json={"client-id": "mover", "scope": "*:rw", "account": "east"})
    assert made.status_code in (200, 201), made.text
    headers = auth.bearer(auth.token(guarded, "mover", made.json()["client-secret"]))
    assert tenant.get("/namespaces", headers=headers).status_code == 200
    changed = requests.post(f"{guarded.api}/admin/clients/mover", headers=admin, json={"account": "west"},
                            timeout=60)
    assert changed.status_code == 200, changed.text
    assert tenant.get("/namespaces", headers=headers).status_code == 404
    gone = requests.delete(f"{guarded.api}/admin/clients/mover", headers=admin, timeout=60)
    assert gone.status_code == 200, gone.text  # one that PostgreSQL keeps turns authentication on elsewhere


# --- equal names never meet


def test_equal_names_are_two_tables(pair):
    a, b = pair
    first, second = (t.load("shop", "orders") for t in pair)
    assert first["metadata"]["table-uuid"] != second["metadata"]["table-uuid"]
    assert a.prefix in first["metadata"]["location"] and b.prefix in second["metadata"]["location"]
    for tenant in pair:
        catalog = PyIceberg(tenant.server, warehouse=tenant.name)
        table = catalog.load("shop", "orders")
        ids = sorted(table.scan().to_arrow()["id"].to_pylist())
        number = pair.index(tenant) * 10000
        assert ids == [number - 1, *range(number, number + 3000)]
        # What one writes the other does not see.
        import pyarrow
        table.append(pyarrow.table({"id": [-7 - number], "s": ["appended"]}))
    for tenant in pair:
        number = pair.index(tenant) * 10000
        ice = DuckDBIceberg(tenant.server, warehouse=tenant.name)
        found = ice.connection.execute("SELECT count(*), min(id) FROM ice.shop.orders").fetchone()
        assert found == (3002, min(-7 - number, number - 1))
        ice.connection.execute(f"CREATE TABLE ice.shop.of_duckdb AS SELECT {number} AS n")
        ice.close()
        assert tenant.session().execute("SELECT * FROM lake.shop.of_duckdb").fetchall() == [(number,)]
        assert tenant.session().execute("SELECT count(*) FROM lake.shop.orders").fetchall() == [(3002,)]
    places = [{row[0] for row in t.rows("SELECT metadata_location FROM duckicelake.table_state WHERE "
                                        "catalog_id = %s", t.name)} for t in pair]
    assert places[0] and places[1] and not places[0] & places[1]
    own = a.server.get("/namespaces/shop/tables/orders")
    assert own.status_code == 404, "the own catalog has no such table"


def test_page_tokens_and_repeated_requests_are_one_catalogs(pair):
    a, b = pair
    for tenant in pair:
        for name in ("p1", "p2", "p3"):
            made = tenant("POST", "/namespaces/default/tables", {"name": name, "schema": LONG})
            assert made.status_code in (200, 409), made.text
    page = a.get("/namespaces/default/tables", params={"pageToken": "", "pageSize": 1}).json()
    token = {"pageToken": page["next-page-token"], "pageSize": 1}
    assert a.get("/namespaces/default/tables", params=token).status_code == 200
    assert b.get("/namespaces/default/tables", params=token).status_code == 400
    key = {"Idempotency-Key": "0190a7b8-0000-7000-8000-0000000000aa"}
    for tenant in pair:
        made = tenant("POST", "/namespaces", {"namespace": ["keyed"]}, headers=key)
        assert made.status_code == 200, made.text
        assert tenant.get("/namespaces/keyed").status_code == 200


def test_roles_grants_and_records_are_one_catalogs(guarded, admin):
    pair = [Tenant(guarded, name, admin) for name in ("rules-a", "rules-b")]
    for tenant in pair:
        tenant.session().execute("CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS SELECT 1 AS id")
        tenant.close()
    a, b = pair
    free = auth.bearer(auth.token(guarded, "free"))
    path = "/namespaces/shop/tables/orders"
    # The same token, one after the other: what is decided for one catalog is not taken for the other.
    assert [t.get(path, headers=free).status_code for t in pair * 2] == [200] * 4
    assert a("POST", "/governance/roles", {"name": "keepers"}).status_code in (200, 201)
    granted = a("POST", "/governance/object-grants", {"object-kind": "table", "schema": "shop",
                                                      "object": "orders", "privilege": "select",
                                                      "role": "keepers"})
    assert granted.status_code in (200, 201), granted.text
    assert [t.get(path, headers=free).status_code for t in pair * 2] == [404, 200] * 2
    assert a("POST", "/governance/role-grants", {"role": "keepers", "principal": "free"}).status_code in (200, 201)
    assert [t.get(path, headers=free).status_code for t in pair * 2] == [200] * 4
    assert b("POST", "/governance/roles", {"name": "keepers"}).status_code in (200, 201)
    granted = b("POST", "/governance/object-grants", {"object-kind": "table", "schema": "shop",
                                                      "object": "orders", "privilege": "select",
                                                      "role": "keepers"})
    assert granted.status_code in (200, 201)
    assert [t.get(path, headers=free).status_code for t in pair * 2] == [200, 404] * 2, \
        "a role of one catalog is none of another"
    assert b.get("/governance/role-grants").json()["grants"] == []
    # Each has its own record.
    entries = [t.get("/governance/audit", params={"principal": "free", "limit": 1000}).json()["entries"]
               for t in pair]
    assert {e["decision"] for e in entries[0] if e["operation"] == "load_table"} >= {"ok", "hidden"}
    counts = dict(guarded.lake.rows("SELECT catalog_id, count(*) FROM duckicelake.audit WHERE principal = "
                                    "'free' AND catalog_id LIKE 'rules-%%' GROUP BY 1"))
    assert counts["rules-a"] == len(entries[0]) and counts["rules-b"] == len(entries[1])
    own = requests.get(f"{guarded.api}/governance/audit", headers=admin, timeout=60,
                       params={"operation": "load_table", "principal": "free"}).json()["entries"]
    assert own == []


# --- the bytes


def targets_of(tenant, root) -> dict:
    """Objects of a tenant's table and what is in them."""
    loaded = tenant.load("shop", "orders")
    folder = key_of(loaded["metadata"]["location"]) + "/"
    beside = f"{tenant.prefix.rstrip('/')}-iceberg/{tenant.name}/{loaded['metadata']['table-uuid']}/"
    out = {}
    for what, prefix in (("data", folder), ("beside", beside)):
        listed = root.request("GET", "", "list-type=2&prefix=" + prefix.replace("/", "%2F"))
        keys = [k.split(b"</Key>")[0].decode() for k in listed.body.split(b"<Key>")[1:]]
        key = next(k for k in keys if k.endswith(".parquet"))
        out[what] = (key, root.request("GET", key).body)
    key = key_of(loaded["metadata-location"])
    out["metadata"] = (key, root.request("GET", key).body)
    return out, [folder, beside]


@pytest.fixture(scope="module")
def objects(pair):
    import sigv4
    env = pair[0].lake.env
    place = raw_s3.place_of(env)
    root = raw_s3.Keyed(place, sigv4.Keys(env["DUCKICELAKE_S3_ROOT_KEY"], env["DUCKICELAKE_S3_ROOT_SECRET"]))
    found = [targets_of(t, root) for t in pair]
    return place, found


def cross(objects, number: int) -> tuple[dict, set, list]:
    """The objects of both, of which those of `number` are its own."""
    _, found = objects
    targets = {f"{'ab'[n]} {what}": target for n in (number, 1 - number) for what, target in found[n][0].items()}
    return targets, {t for t in targets if t.startswith("ab"[number])}, found[number][1]


def check(outcomes, may_write: bool = True):
    print("\n" + raw_s3.table_text(outcomes))
    wrong = [o for o in outcomes if not o.is_right]
    assert not wrong, wrong
    assert any(o.expected and o.status and o.status < 300 for o in outcomes), "a positive control"


def test_keys_for_one_tenants_table_open_nothing_of_the_other(pair, objects):
    outcomes = []
    for number, tenant in enumerate(pair):
        config = tenant.load("shop", "orders", **VENDED)["config"]
        targets, own, folders = cross(objects, number)
        way = raw_s3.Keyed(objects[0], keys_of(config))
        outcomes += raw_s3.try_all(f"keys of {'ab'[number]}", way, "write", folders, targets, own)
    check(outcomes)


@pytest.fixture(scope="module")
def keyless(own_lake, pair):
    port = free_port()
    running = Server(own_lake, DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_S3_GATEWAY_ENABLED="1",
                     DUCKICELAKE_S3_GATEWAY_SECRET=SECRET, DUCKICELAKE_S3_GATEWAY_PORT=port,
                     DUCKICELAKE_S3_GATEWAY_URL=f"http://127.0.0.1:{port}",
                     DUCKICELAKE_METRICS_CATALOG_LABELS="1").start()
    yield running
    assert running.stop() == 0


def test_the_signer_of_one_tenant_signs_nothing_of_the_other(pair, objects, keyless):
    outcomes = []
    for number, tenant in enumerate(pair):
        answer = requests.get(f"{keyless.url}/v1/{tenant.name}/namespaces/shop/tables/orders", headers=SIGNING,
                              timeout=60).json()
        path = answer["config"]["s3.signer.endpoint"]
        assert path.startswith(f"v1/{tenant.name}/")
        targets, own, folders = cross(objects, number)
        signer = raw_s3.RemotelySigned(objects[0], f"{keyless.url}/{path}")
        outcomes += raw_s3.try_all(f"signed for {'ab'[number]}", signer, "write", folders, targets, own)
        # The route of older clients.
        older = raw_s3.RemotelySigned(objects[0], f"{keyless.url}/v1/{tenant.name}/aws/s3/sign")
        for target, (key, content) in targets.items():
            answer = older.request("GET", key)
            assert (answer.status == 200) == (target in own), (tenant.name, target, answer.status)
        default = raw_s3.RemotelySigned(objects[0], f"{keyless.url}/v1/aws/s3/sign")
        assert default.request("GET", targets[f"{'ab'[number]} data"][0]).status == 403
    check(outcomes)


def test_gateway_keys_of_one_tenant_open_nothing_of_the_other(pair, objects, keyless):
    outcomes = []
    for number, tenant in enumerate(pair):
        config = requests.get(f"{keyless.url}/v1/{tenant.name}/namespaces/shop/tables/orders", headers=VENDED,
                              timeout=60).json()["config"]
        place = objects[0]._replace(endpoint=config["s3.endpoint"])
        targets, own, folders = cross(objects, number)
        way = raw_s3.Keyed(place, keys_of(config))
        outcomes += raw_s3.try_all(f"gateway keys of {'ab'[number]}", way, "write", folders, targets, own)
    check(outcomes)
    metrics = keyless.metrics()
    for tenant in pair:
        assert metrics[f'duckicelake_gateway_requests_total{{decision="granted",catalog="{tenant.name}"}}'] > 0
        assert metrics[f'duckicelake_vend_total{{kind="gateway",catalog="{tenant.name}"}}'] == 1


def test_gateway_keys_of_a_closed_catalog_open_nothing(server, keyless):
    tenant = Tenant(server, "gated")
    tenant.session().execute("CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS SELECT range AS id FROM range(2000)")
    tenant.close()
    url = f"{keyless.url}/v1/gated/namespaces/shop/tables/orders"
    loaded = requests.get(url, headers=VENDED, timeout=60).json()
    config = loaded["config"]
    place = raw_s3.place_of(server.lake.env)._replace(endpoint=config["s3.endpoint"])
    way = raw_s3.Keyed(place, keys_of(config))
    key = key_of(loaded["metadata-location"])
    assert way.request("GET", key).status == 200
    assert close(server, "gated").status_code == 204  # on the other process
    assert way.request("GET", key).status == 403
    assert requests.get(url, timeout=60).status_code == 404
    assert create(server, "gated").status_code == 201
    assert way.request("GET", key).status == 200, "the same catalog again"


# --- other people's places


def test_no_request_puts_a_table_into_another_catalogs_place(pair):
    a, b = pair
    bucket = a.lake.env["DUCKICELAKE_S3_BUCKET"]
    theirs = b.load("shop", "orders")
    location = theirs["metadata"]["location"]
    places = [location, f"s3://{bucket}/{b.prefix}x", f"s3://{bucket}/{b.prefix.rstrip('/')}-iceberg/x",
              f"s3://{bucket}/{b.lake.name}", f"s3://{bucket}/{a.prefix}../{b.name}/x", f"s3://{bucket}"]
    mine = a.load("shop", "orders")["metadata"]
    for place in places:
        for staged in (False, True):
            made = a("POST", "/namespaces/default/tables", {"name": "thief", "schema": LONG, "location": place,
                                                            "stage-create": staged}, headers=VENDED)
            assert made.status_code == 400, (place, made.text)
        moved = a("POST", "/namespaces/shop/tables/orders", {
            "requirements": [], "updates": [{"action": "set-location", "location": place}]})
        assert moved.status_code == 400, (place, moved.text)
    for metadata in (theirs["metadata-location"], f"s3://{bucket}/{b.prefix}none.metadata.json"):
        taken = a("POST", "/namespaces/default/register", {"name": "thief", "metadata-location": metadata})
        assert taken.status_code == 400, taken.text
        taken = a("POST", "/namespaces/default/register-view", {"name": "thief", "metadata-location": metadata})
        assert taken.status_code == 400, taken.text
    for name in ("write.data.path", "write.metadata.path", "write.object-storage.path"):
        a("POST", "/namespaces/shop/tables/orders", {"requirements": [], "updates": [
            {"action": "set-properties", "updates": {name: location}}]})
    assert a.load("shop", "orders")["metadata"]["location"] == mine["location"]
    assert a.get("/namespaces/default/tables/thief").status_code == 404


def test_a_row_that_names_anothers_object_opens_nothing(pair, objects, keyless):
    """Who writes to DuckLake by himself can put any path into a row."""
    a = pair[0]
    place, found = objects
    key, secret = found[1][0]["data"]
    bucket = a.lake.env["DUCKICELAKE_S3_BUCKET"]
    session = a.session()
    session.execute("CREATE TABLE IF NOT EXISTS lake.shop.thief (id BIGINT, s VARCHAR)")
    session.execute(f"CALL ducklake_add_data_files('lake', 'thief', 's3://{bucket}/{key}', schema => 'shop')")
    opened = []
    for number, (url, headers) in enumerate([(a.server.url, VENDED), (keyless.url, VENDED), (keyless.url, SIGNING)]):
        answer = requests.get(f"{url}/v1/{a.name}/namespaces/shop/tables/thief", headers=headers, timeout=60)
        if answer.status_code == 406:  # no keys for such a table; without them it loads
            assert a.get("/namespaces/shop/tables/thief").status_code == 200
            continue
        assert answer.status_code == 200, answer.text
        config = answer.json()["config"]
        if "s3.access-key-id" in config:
            at = place._replace(endpoint=config["s3.endpoint"])
            read = raw_s3.Keyed(at, keys_of(config)).request("GET", key)
        else:
            signer = f"{url}/v1/{a.name}/namespaces/shop/tables/thief/sign"
            read = raw_s3.RemotelySigned(place, signer).request("GET", key)
        if read.status == 200 or (secret and secret in read.body):
            opened.append((number, read.status))
        older = raw_s3.RemotelySigned(place, f"{url}/v1/{a.name}/aws/s3/sign").request("GET", key)
        assert older.status != 200
    assert not opened, opened
    # A control: an object of nobody is the table's when a row says so.
    outside = f"s3://{bucket}/{a.lake.name}/outside/{a.name}.parquet"
    session.execute(f"COPY (SELECT 1::BIGINT AS id, 'x' AS s) TO '{outside}'")
    session.execute("CREATE TABLE IF NOT EXISTS lake.shop.honest (id BIGINT, s VARCHAR)")
    session.execute(f"CALL ducklake_add_data_files('lake', 'honest', '{outside}', schema => 'shop')")
    config = a.load("shop", "honest", **VENDED)["config"]
    assert raw_s3.Keyed(place, keys_of(config)).request("GET", key_of(outside)).status == 200
    # Nor are its rows rewritten to where they could be read.
    compacted = a("POST", "/admin/namespaces/shop/tables/thief/compact", {})
    assert compacted.status_code == 406 and "another catalog" in compacted.text, compacted.text
    assert a("POST", "/admin/namespaces/shop/tables/honest/compact", {}).status_code == 200
    session.execute("DROP TABLE lake.shop.thief")


# --- clients sign in


def test_clients_sign_in_to_the_catalog_that_they_name(guarded, admin):
    """PyIceberg and DuckDB, with a client of the account: both say their token when they ask for the warehouse."""
    import pyarrow
    tenant = Tenant(guarded, "signed-in", admin, account_id="north")
    tenant("POST", "/namespaces/default/tables", {"name": "t", "schema": LONG})
    options = {"credential": "nora:nora-secret", "oauth2-server-uri": f"{guarded.url}/v1/oauth/tokens"}
    PyIceberg(guarded, warehouse="signed-in", **options).load("default", "t").append(pyarrow.table({"id": [1, 2]}))
    connection = duck.connect("httpfs", "avro", "iceberg")
    connection.execute(duck.s3_secret(guarded.lake.env))
    connection.execute(f"CREATE SECRET nora (TYPE iceberg, CLIENT_ID 'nora', CLIENT_SECRET 'nora-secret', "
                       f"OAUTH2_SERVER_URI '{guarded.url}/v1/oauth/tokens')")
    connection.execute(f"ATTACH 'signed-in' AS ice (TYPE iceberg, ENDPOINT '{guarded.url}', SECRET nora, "
                       "ACCESS_DELEGATION_MODE 'none')")
    assert connection.execute("SELECT sum(id) FROM ice.default.t").fetchall() == [(3,)]
    connection.execute("INSERT INTO ice.default.t VALUES (4)")
    connection.close()
    assert sorted(PyIceberg(guarded, warehouse="signed-in", **options).load("default", "t").scan().to_arrow()[
        "id"].to_pylist()) == [1, 2, 4]
    with pytest.raises(Exception, match="signed-in|Warehouse"):
        PyIceberg(guarded, warehouse="signed-in", **options | {"credential": "sam:sam-secret"})


# --- what is counted


def test_counters_are_summed_or_named(pair, keyless):
    server = pair[0].server

    def loads(metrics, label):
        return metrics.get(f"duckicelake_metadata_cache_hits_total{label}", 0) + \
            metrics.get(f"duckicelake_metadata_cache_misses_total{label}", 0)
    before, named_before = server.metrics(), keyless.metrics()
    for tenant in pair:
        for _ in range(3):
            tenant.load("shop", "orders")
            assert requests.get(f"{keyless.url}/v1/{tenant.name}/namespaces/shop/tables/orders",
                                timeout=60).status_code == 200
    after, named = server.metrics(), keyless.metrics()
    assert loads(after, "") - loads(before, "") == 6
    assert not [n for n in after if "catalog=" in n]
    for tenant in pair:
        label = f'{{catalog="{tenant.name}"}}'
        assert loads(named, label) - loads(named_before, label) == 3
    assert loads(named, '{catalog="lake"}') == 0


def test_maintenance_is_one_catalogs(pair):
    a, b = pair
    before = b.rows("SELECT max(snapshot_id) FROM {schema}.ducklake_snapshot")
    done = a("POST", "/admin/namespaces/shop/tables/orders/compact", {})
    assert done.status_code == 200, f"{done.text}\n{a.server.log_tail(5)}"
    assert a.session().execute("SELECT count(*) FROM lake.shop.orders").fetchone()[0] >= 3001
    swept = a("POST", "/admin/maintenance", {"dry-run": True})
    assert swept.status_code == 200, swept.text
    assert b.prefix not in swept.text
    assert b.rows("SELECT max(snapshot_id) FROM {schema}.ducklake_snapshot") == before


def test_views_are_bound_in_their_own_catalog(pair):
    for number, tenant in enumerate(pair):
        column = f"of_{'ab'[number]}"
        tenant.session().execute(f"CREATE OR REPLACE VIEW lake.shop.seen AS SELECT id AS {column} FROM lake.shop.orders")
    for number, tenant in enumerate(pair):
        answer = tenant.get("/namespaces/shop/views/seen")
        assert answer.status_code == 200, answer.text
        fields = [f["name"] for f in answer.json()["metadata"]["schemas"][0]["fields"]]
        assert fields == [f"of_{'ab'[number]}"], answer.text


def test_doctor_names_catalogs_that_are_broken(server):
    lake = server.lake
    assert create(server, "sound").status_code == 201
    assert create(server, "lost").status_code == 201
    assert "lost" not in command(lake, "doctor").stdout.replace("lost+found", "")
    lake.postgres.execute("DROP SCHEMA lost CASCADE")
    lake.postgres.execute("INSERT INTO duckicelake.catalog (catalog_id, metadata_schema, data_path, is_shared) "
                          "SELECT 'nested', 'sound_nested', data_path || 'x/', true FROM duckicelake.catalog "
                          "WHERE catalog_id = 'sound'")
    try:
        told = command(lake, "doctor")
        failed = [line for line in told.stdout.splitlines() if line.startswith("FAIL")]
        assert told.returncode == 1
        assert any("lost" in line and "schema" in line for line in failed), told.stdout
        assert any("nested" in line and "sound" in line for line in failed), told.stdout
        answer = requests.get(f"{server.url}/v1/lost/namespaces", timeout=60)
        assert answer.status_code == 500 and "doctor" in answer.text
        assert server.get("/namespaces").status_code == 200
    finally:
        lake.postgres.execute("DELETE FROM duckicelake.catalog WHERE catalog_id IN ('nested', 'lost')")
