# SPDX-License-Identifier: Apache-2.0
"""Keys that somebody would like to have wider: by properties, places, names of things and of himself."""
from __future__ import annotations

import json
import uuid

import pytest
import sigv4
from fixtures import served_lake
from lib import auth, raw_s3
from lib.auth import As, sign_in
from lib.lakes import quoted
from lib.server import encoded
from test_vend_answers import policy_of
from test_vend_matrix import VENDED, key_of, keys_of

SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}


@pytest.fixture(scope="module")
def walled(stack, tmp_path_factory):
    """A server with an issuer whose principals call themselves what they like."""
    with auth.issuer() as idp:
        idp.add_key("r1")
        path = tmp_path_factory.mktemp("issuers") / "issuers.json"
        path.write_text(json.dumps([{"issuer": idp.url, "audience": ["lake"], "scope": "ns:mine:rw"}]))
        for server in served_lake(stack, **auth.settings(me="ns:mine:rw") | {"DUCKICELAKE_OIDC_ISSUERS_FILE": path}):
            server.idp = idp
            session = server.lake.session()
            session.execute("CREATE SCHEMA lake.vacant")
            for schema in ("mine", "theirs"):
                session.execute(f"CREATE SCHEMA lake.{schema}; CREATE TABLE lake.{schema}.victim AS SELECT range AS id, 's' AS s "
                                "FROM range(3000)")
            server.http.headers.update(auth.bearer(sign_in(server).token))
            yield server


@pytest.fixture(scope="module")
def root(walled):
    env = walled.lake.env
    return raw_s3.Keyed(raw_s3.place_of(env), sigv4.Keys(env["DUCKICELAKE_S3_ROOT_KEY"], env["DUCKICELAKE_S3_ROOT_SECRET"]))


@pytest.fixture
def me(walled):
    return sign_in(walled, "me")


def victims(walled) -> list[str]:
    return [key_of(walled.load(s, "victim")["metadata-location"]) for s in ("theirs", "mine")]


def resources(config: dict) -> set[str]:
    return {r for s in policy_of(keys_of(config))["Statement"] for r in s["Resource"]}


def opens_nothing_else(walled, root, answer: dict) -> None:
    """Whatever keys or signatures came: the two victims stay closed, and so does everything above."""
    config = answer["config"]
    own = key_of(answer["metadata"]["location"]) + "/"
    assert len(own) > 10 and not any(v.startswith(own) for v in victims(walled))
    if "s3.session-token" in config:
        bucket = f"arn:aws:s3:::{root.place.bucket}"
        uuid_folder = f"-iceberg/lake/{answer['metadata']['table-uuid']}/"
        for resource in resources(config):
            assert resource == bucket or resource.startswith(f"{bucket}/{own}") or uuid_folder in resource, resource
            assert "*" not in resource.removesuffix("/*") and "?" not in resource and "$" not in resource
        way = raw_s3.Keyed(root.place, keys_of(config))
    elif "s3.signer.uri" in config:
        way = raw_s3.RemotelySigned(root.place, f"{walled.url}/{config['s3.signer.endpoint']}",
                                    {"Authorization": walled.http.headers["Authorization"]})
    else:
        return
    for victim in victims(walled):
        folder = victim.split("metadata/")[0]
        content = root.request("GET", victim).body
        for denied in (way.request("GET", victim), way.request("HEAD", victim),
                       way.request("PUT", folder + "evil", body=b"x"), way.request("DELETE", victim),
                       way.request("GET", "", "list-type=2&prefix=" + encoded(folder)),
                       way.request("PUT", own + "copy", headers={"x-amz-copy-source": f"/{root.place.bucket}/{victim}"})):
            assert denied.status in (400, 403), denied
            assert content not in denied.body
    for prefix in ("", own[:-1], own.rsplit("/", 2)[0] + "/", own.split("/")[0] + "/"):
        assert way.request("GET", "", "list-type=2&prefix=" + encoded(prefix)).status == 403, prefix
    assert root.request("GET", folder + "evil").status == 404


PATHS = ["write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path", "location",
         "write.location-provider.impl", "s3.endpoint", "s3.access-key-id", "s3.signer.uri", "client.factory",
         "io-impl", "py-io-impl", "credentials.uri", "s3.remote-signing-enabled"]


def set_properties(me, table: str, updates: dict):
    return me.post(f"/namespaces/mine/tables/{table}", {"requirements": [], "updates": [
        {"action": "set-properties", "updates": updates}]})


@pytest.mark.parametrize("place", ["victim", "sibling", "bucket", "root", "other bucket", "up"])
def test_no_property_leads_a_key_elsewhere(walled, root, me, place):
    """CVE-2026-42809 and its kin: paths by set-properties, then keys, by every caller."""
    name = f"p_{uuid.uuid4().hex[:8]}"
    made = me.post("/namespaces/mine/tables", {"name": name, "schema": SCHEMA}, headers=VENDED)
    assert made.status_code == 200, made.text
    opens_nothing_else(walled, root, made.json())
    before = resources(me.get(f"/namespaces/mine/tables/{name}", headers=VENDED).json()["config"])
    location = made.json()["metadata"]["location"]
    value = {"victim": walled.load("theirs", "victim")["metadata"]["location"],
             "sibling": walled.load("mine", "victim")["metadata"]["location"], "bucket": f"s3://{root.place.bucket}",
             "root": walled.lake.data_path, "other bucket": "s3://elsewhere/x", "up": location + "/../victim"}[place]
    for key in PATHS:
        answer = set_properties(me, name, {key: value})
        assert answer.status_code in (200, 400, 403), (key, answer.text)
        for who in (me, sign_in(walled)):
            loaded = who.get(f"/namespaces/mine/tables/{name}", headers=VENDED)
            assert loaded.status_code == 200, loaded.text
            body = loaded.json()
            assert body["metadata"]["location"] == location and body["config"]["s3.endpoint"] == root.place.endpoint
            assert resources(body["config"]) == before, key
            assert not any(c["prefix"].startswith(value) and value.count("/") > 3 for c in body["storage-credentials"]
                           if place in ("victim", "sibling"))
            again = who.get(f"/namespaces/mine/tables/{name}/credentials")
            assert again.status_code == 200 and value not in again.text or place in ("bucket", "root"), key
    opens_nothing_else(walled, root, body)


@pytest.mark.parametrize("place", ["victim", "below", "above", "bucket", "root", "elsewhere", "up", "beside", "empty",
                                   "vacant namespace", "in a vacant namespace", "in their namespace", "own namespace"])
def test_no_location_leads_a_key_elsewhere(walled, root, me, place):
    """By set-location, by stage-create and by its commit: refused before a key is made."""
    name = f"l_{uuid.uuid4().hex[:8]}"
    assert me.post("/namespaces/mine/tables", {"name": name, "schema": SCHEMA}).status_code == 200
    victim = walled.load("theirs", "victim")["metadata"]["location"]
    value = {"victim": victim, "below": victim + "/data", "above": victim.rsplit("/", 1)[0], "bucket": f"s3://{root.place.bucket}/",
             "root": walled.lake.data_path, "elsewhere": "s3://elsewhere/x", "up": victim + "x/../victim",
             "beside": walled.lake.data_path.rstrip("/") + "-iceberg/lake/x", "empty": "",
             # Where tables come that are not there yet.
             "vacant namespace": walled.lake.data_path + "vacant", "in a vacant namespace": walled.lake.data_path + "vacant/next/",
             "in their namespace": victim.rsplit("/", 1)[0] + "/next", "own namespace": walled.lake.data_path + "mine"}[place]
    calls = walled.metrics()["duckicelake_sts_calls_total"]
    moved = me.post(f"/namespaces/mine/tables/{name}", {"requirements": [], "updates": [
        {"action": "set-location", "location": value}]}, headers=VENDED)
    assert moved.status_code in (400, 403), moved.text
    for staged in (True, False):
        made = me.post("/namespaces/mine/tables", {"name": name + "2", "schema": SCHEMA, "location": value, "stage-create": staged},
                       headers=VENDED)
        if place == "empty" and made.status_code == 200:
            opens_nothing_else(walled, root, made.json())
            continue
        assert made.status_code in (400, 403) and "access-key" not in made.text, made.text
    registered = me.post("/namespaces/mine/register", {"name": name + "3", "metadata-location": victim + "/metadata/v1.metadata.json"},
                         headers=VENDED)
    assert registered.status_code in (400, 403, 404, 409) and "access-key" not in registered.text, registered.text
    if place != "empty":
        assert walled.metrics()["duckicelake_sts_calls_total"] == calls
    opens_nothing_else(walled, root, me.get(f"/namespaces/mine/tables/{name}", headers=VENDED).json())


def test_a_namespace_made_over_rest_is_in_no_table_s_folder(walled, root, me):
    """A place outside of all namespaces is free; who took it has no keys for the namespace of that name."""
    for location in ("soon", "soon_too/deep/t"):
        made = me.post("/namespaces/mine/tables", {"name": f"early_{location[:6]}_{len(location)}", "schema": SCHEMA,
                                                   "location": walled.lake.data_path + location}, headers=VENDED)
        assert made.status_code == 200, made.text
    admin = sign_in(walled)
    for name in ("soon", "soon_too"):
        assert admin.post("/namespaces", {"namespace": [name]}).status_code == 200
        made = admin.post(f"/namespaces/{name}/tables", {"name": "t", "schema": SCHEMA})
        assert not made.json()["metadata"]["location"].startswith(walled.lake.data_path + name), made.text
    own = me.post("/namespaces/mine/tables", {"name": "deep", "schema": SCHEMA,
                                              "location": walled.lake.data_path + "mine/some/where"}, headers=VENDED)
    assert own.status_code == 200, own.text
    opens_nothing_else(walled, root, own.json())


NAMES = ["*", "?", "v*", "victi?", "${aws:username}", "${*}", "$", 'a"b', "a\\b", 'a","Resource":"*', '"],"Action":["s3:*', "a\nb", "a b",
         "..", ".", "a/../victim", "a/b", "%2e%2e", "é", "{}", "[]", "<>", "&", "'", "x" * 200]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_name_becomes_an_expression(walled, root, name):
    """CVE-2026-42810 and its kin: names of tables and namespaces, made over REST and by DuckDB, in session policies."""
    admin = sign_in(walled)
    session = walled.lake.session()
    over_rest = admin.post("/namespaces/mine/tables", {"name": name, "schema": SCHEMA}, headers=VENDED)
    assert over_rest.status_code in (200, 400), over_rest.text
    if over_rest.status_code == 200:
        opens_nothing_else(walled, root, over_rest.json())
        me = sign_in(walled, "me")
        opens_nothing_else(walled, root, me.get(f"/namespaces/mine/tables/{encoded(name)}", headers=VENDED).json())
    space = name + "_"
    if admin.post("/namespaces", {"namespace": [space]}).status_code == 200:
        answer = admin.post(f"/namespaces/{encoded(space)}/tables", {"name": "victim", "schema": SCHEMA}, headers=VENDED)
        assert answer.status_code == 200, answer.text
        opens_nothing_else(walled, root, answer.json())
    duck = "duck " + name
    try:
        session.execute(f"CREATE SCHEMA lake.{quoted(duck)}; CREATE TABLE lake.{quoted(duck)}.{quoted(name)} AS SELECT range AS id FROM range(3000)")
    except Exception as error:  # what DuckDB itself does not take
        print(f"DuckDB: {error}")
        return
    loaded = admin.get(f"/namespaces/{encoded(duck)}/tables/{encoded(name)}", headers=VENDED)
    assert loaded.status_code in (200, 400, 404, 406), loaded.text
    if loaded.status_code == 200:
        opens_nothing_else(walled, root, loaded.json())
    session.execute(f"DROP SCHEMA lake.{quoted(duck)} CASCADE")


@pytest.mark.parametrize("subject", ["eve", "a b", "ä", "*", "a/b", "a@b.c", "arn:aws:iam::1:root", "x" * 200, "a", "=,.@-",
                                     '","Policy":"', "a&Action=GetFederationToken&Policy=", "a%26Policy%3D", "../..", "${aws:username}"])
def test_no_name_of_a_principal_becomes_an_expression(walled, root, subject):
    """It names the session at the STS, and is of the issuer's choosing."""
    who = As(walled, walled.idp.token("r1", sub=subject))
    answer = who.get("/namespaces/mine/tables/victim", headers=VENDED)
    assert answer.status_code == 200, f"{answer.text}\n{walled.log_tail(2)}"
    config = answer.json()["config"]
    assert "s3.session-token" in config
    other = sign_in(walled, "me").get("/namespaces/mine/tables/victim", headers=VENDED).json()["config"]
    assert resources(config) == resources(other)
    assert config["s3.access-key-id"] != other["s3.access-key-id"]
    way = raw_s3.Keyed(root.place, keys_of(config))
    theirs, mine = victims(walled)
    assert way.request("GET", mine).status == 200
    assert way.request("GET", theirs).status == 403
    assert who.get("/namespaces/theirs/tables/victim", headers=VENDED).status_code == 403
