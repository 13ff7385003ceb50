# SPDX-License-Identifier: Apache-2.0
"""What answers say about ways to a table's bytes: which keys, for how long, and when none."""
from __future__ import annotations

import base64
import concurrent.futures
import json

import pytest
import sigv4
from lib import raw_s3
from lib.server import Server, encoded
from lib.writes import Writer, path_of
from test_vend_matrix import VENDED, key_of, keys_of, load

SCHEMA = {"type": "struct", "schema-id": 0,
          "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}


@pytest.fixture(scope="module")
def way(server):
    return raw_s3.place_of(server.lake.env)


@pytest.fixture(scope="module")
def root(server, way):
    env = server.lake.env
    return raw_s3.Keyed(way, sigv4.Keys(env["DUCKICELAKE_S3_ROOT_KEY"],
                                        env["DUCKICELAKE_S3_ROOT_SECRET"]))


@pytest.fixture(scope="module")
def table(server):
    server.lake.session().execute(
        "CREATE SCHEMA lake.vend; CREATE TABLE lake.vend.t AS SELECT range AS id FROM range(2000)")
    return "vend", "t"


def get(server, schema, name, query="", **headers):
    return server.get(f"/namespaces/{encoded(schema)}/tables/{encoded(name)}{query}", headers=headers)


def policy_of(keys: sigv4.Keys) -> dict:
    claims = json.loads(base64.urlsafe_b64decode(keys.session_token.split(".")[1] + "=="))
    return json.loads(claims["spol"])


# --- caching, ETags

def test_a01_a_304_means_that_the_keys_at_hand_are_the_current_ones(server, table):
    first = get(server, *table, **VENDED)
    tag = first.headers["ETag"]
    assert get(server, *table, **VENDED, **{"If-None-Match": tag}).status_code == 304
    # Keys are never kept by caches on the way.
    assert "no-store" in first.headers["Cache-Control"]
    # Other keys, another tag: a server that has forgotten the old ones.
    other = Server(server.lake).start()
    try:
        again = get(other, *table, **VENDED, **{"If-None-Match": tag})
        assert again.status_code == 200
        assert keys_of(again.json()["config"]) != keys_of(first.json()["config"])
        assert get(other, *table, **VENDED, **{"If-None-Match": "*"}).status_code == 200
    finally:
        other.stop()


def test_a02_answers_that_differ_have_tags_that_differ(server, table):
    tags = [get(server, *table, query, **headers).headers["ETag"]
            for query in ("", "?snapshots=refs")
            for headers in ({}, VENDED, {"X-Iceberg-Access-Delegation": "remote-signing"})]
    assert len(set(tags)) == len(tags), tags
    for have in tags:
        same = [get(server, *table, query, **headers, **{"If-None-Match": have}).status_code
                for query in ("", "?snapshots=refs")
                for headers in ({}, VENDED, {"X-Iceberg-Access-Delegation": "remote-signing"})]
        assert same.count(304) == 1, same


def test_keys_are_handed_out_again_without_a_call_to_the_store(server, table):
    first = keys_of(load(server, *table)["config"])
    before = server.metrics()
    for _ in range(20):
        assert keys_of(load(server, *table)["config"]) == first
    after = server.metrics()
    assert after["duckicelake_sts_calls_total"] == before["duckicelake_sts_calls_total"]
    assert after['duckicelake_vend_total{kind="sts"}'] == before['duckicelake_vend_total{kind="sts"}'] + 20
    # The table changed, its place did not: the same keys.
    server.lake.session().execute("INSERT INTO lake.vend.t SELECT range FROM range(1000)")
    assert keys_of(load(server, *table)["config"]) == first


def test_many_that_ask_at_once_share_one_call(server):
    server.lake.session().execute("CREATE TABLE lake.vend.burst AS SELECT 1 AS id")
    server.load("vend", "burst")
    before = server.metrics()["duckicelake_sts_calls_total"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: keys_of(load(server, "vend", "burst")["config"]), range(16)))
    assert len(set(found)) == 1
    assert server.metrics()["duckicelake_sts_calls_total"] == before + 1


def test_without_the_header_there_are_no_keys(server, table):
    for headers in ({}, {"X-Iceberg-Access-Delegation": ""},
                    {"X-Iceberg-Access-Delegation": "something-else"}):
        answer = get(server, *table, **headers).json()
        assert "storage-credentials" not in answer
        assert not any("key" in name or "sign" in name for name in answer["config"]), answer["config"]


def test_credentials_can_be_had_anew(server, table):
    answer = server.get("/namespaces/vend/tables/t/credentials")
    assert answer.status_code == 200 and "no-store" in answer.headers["Cache-Control"]
    entries = answer.json()["storage-credentials"]
    # Java's clients take one entry, whose prefix holds all.
    assert len(entries) == 1
    loaded = load(server, *table)
    assert all(c["prefix"].startswith(entries[0]["prefix"]) for c in loaded["storage-credentials"])
    assert entries[0]["config"]["s3.access-key-id"] == loaded["config"]["s3.access-key-id"]
    assert loaded["config"]["client.refresh-credentials-endpoint"] == \
        "v1/lake/namespaces/vend/tables/t/credentials"
    assert server.get("/namespaces/vend/tables/none/credentials").status_code == 404


def test_secrets_are_in_no_log(server, table):
    config = load(server, *table)["config"]
    text = server.log_path.read_text(errors="replace")
    for secret in (config["s3.secret-access-key"], config["s3.session-token"],
                   server.lake.env["DUCKICELAKE_S3_ROOT_SECRET"]):
        assert secret not in text


# --- where keys must not reach

def test_a28_wildcards_in_names_open_nothing(server, root):
    """Such folders come by location; names alone do not make them."""
    writer = Writer(server)
    server.lake.session().execute("CREATE TABLE lake.vend.victim AS SELECT range AS id FROM range(2000)")
    base = server.load("vend", "victim")["metadata"]["location"].rsplit("/", 1)[0]
    for n, name in enumerate(("*", "vict*", "v?ctim", "${aws:username}", 'a"b', "$")):
        answer = writer.post(path_of("vend") + "/tables",
                             {"name": f"wild{n}", "schema": SCHEMA, "location": f"{base}/{name}"},
                             headers=VENDED)
        assert answer.status_code == 200, answer.text
        for found in (answer.json(), load(server, "vend", f"wild{n}")):
            config = found["config"]
            if "s3.session-token" not in config:
                # No keys that narrow: requests are signed one by one, or there is nothing.
                assert config.get("s3.remote-signing-enabled") == "true"
                continue
            for statement in policy_of(keys_of(config))["Statement"]:
                for resource in statement["Resource"]:
                    assert "*" not in resource[:-1] and "?" not in resource and "$" not in resource
            victim = raw_s3.Keyed(root.place, keys_of(config)).request(
                "GET", "", "list-type=2&prefix=" + encoded(key_of(base) + "/victim/"))
            assert victim.status == 403


def test_a29_nothing_is_vended_for_a_place_that_is_not_the_callers(server):
    server.lake.session().execute("CREATE TABLE lake.vend.taken AS SELECT range AS id FROM range(2000)")
    taken = server.load("vend", "taken")["metadata"]["location"]
    writer = Writer(server)
    bucket = server.lake.env["DUCKICELAKE_S3_BUCKET"]
    before = server.metrics()["duckicelake_sts_calls_total"]
    for location in (taken, taken + "/", taken + "/sub", taken.rsplit("/", 1)[0], f"s3://{bucket}",
                     f"s3://{bucket}/", server.lake.data_path, "s3://elsewhere/x",
                     taken + "/../taken", taken + "//x", "file:///etc", f"s3://{bucket}/other/x",
                     server.lake.data_path.rstrip("/") + "-iceberg/lake/x"):
        for staged in (True, False):
            answer = writer.post(path_of("vend") + "/tables",
                                 {"name": "evil", "schema": SCHEMA, "location": location,
                                  "stage-create": staged}, headers=VENDED)
            assert answer.status_code in (400, 403), (location, answer.status_code, answer.text)
            assert "access-key" not in answer.text
    assert server.metrics()["duckicelake_sts_calls_total"] == before


def test_staged_tables_get_keys_for_their_own_new_folder(server, root):
    answer = Writer(server).post(path_of("vend") + "/tables",
                                 {"name": "staged", "schema": SCHEMA, "stage-create": True},
                                 headers=VENDED)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    folder = key_of(body["metadata"]["location"]) + "/"
    way = raw_s3.Keyed(root.place, keys_of(body["config"]))
    assert way.request("PUT", folder + "data/f", body=b"x").status == 200
    assert way.request("GET", folder + "data/f").status == 200
    assert way.request("DELETE", folder + "data/f").status == 403
    assert way.request("PUT", folder[:-1] + "2/f", body=b"x").status == 403
    assert way.request("GET", "", "list-type=2&prefix=" + encoded(folder[:-1])).status == 403
    # A second one of the name is staged elsewhere or not at all once the first is there.
    server.lake.session().execute("CREATE TABLE lake.vend.staged AS SELECT 1 AS id")
    again = Writer(server).post(path_of("vend") + "/tables",
                                {"name": "staged", "schema": SCHEMA, "stage-create": True},
                                headers=VENDED)
    assert again.status_code == 409 and "access-key" not in again.text


def test_a30_files_elsewhere_are_opened_one_by_one(server, root):
    session = server.lake.session()
    place = server.lake.external("a30")
    session.execute(f"COPY (SELECT range AS id FROM range(10)) TO '{place}/mine.parquet'")
    session.execute(f"COPY (SELECT range AS id FROM range(10)) TO '{place}/other.parquet'")
    session.execute("CREATE TABLE lake.vend.added (id BIGINT)")
    session.execute(f"CALL ducklake_add_data_files('lake', 'added', '{place}/mine.parquet', "
                    "schema => 'vend')")
    answer = load(server, "vend", "added")
    way = raw_s3.Keyed(root.place, keys_of(answer["config"]))
    assert way.request("GET", key_of(place) + "/mine.parquet").status == 200
    assert way.request("GET", key_of(place) + "/other.parquet").status == 403
    assert way.request("GET", "", "list-type=2&prefix=" + encoded(key_of(place) + "/")).status == 403
    assert any((key_of(place) + "/") in c["prefix"] for c in answer["storage-credentials"])


def test_a31_more_files_elsewhere_than_a_policy_holds_are_signed_one_by_one(server, root):
    session = server.lake.session()
    place = server.lake.external("a31")
    session.execute("CREATE TABLE lake.vend.scattered (id BIGINT)")
    for n in range(40):
        session.execute(f"COPY (SELECT {n} AS id) TO '{place}/day-{n}/f.parquet'")
    session.execute(f"CALL ducklake_add_data_files('lake', 'scattered', '{place}/**/*.parquet', "
                    "schema => 'vend')")
    config = load(server, "vend", "scattered")["config"]
    assert "s3.access-key-id" not in config
    assert config["s3.remote-signing-enabled"] == "true"
    signer = raw_s3.RemotelySigned(root.place, f"{server.url}/{config['s3.signer.endpoint']}")
    files = server.lake.rows("SELECT path FROM ducklake_data_file WHERE NOT path_is_relative AND "
                             "path LIKE %s", f"%{place}%")
    assert len(files) == 40
    for (path,) in files[:3]:
        assert signer.request("GET", key_of(path)).status == 200
    session.execute(f"COPY (SELECT 1 AS id) TO '{place}/day-1/stranger.parquet'")
    assert signer.request("GET", key_of(place) + "/day-1/stranger.parquet").status == 403


def test_a33_data_path_properties_lead_keys_nowhere(server, root, table):
    victim = server.load(*table)["metadata"]["location"]
    writer = Writer(server)
    for name in ("write.data.path", "write.metadata.path", "write.object-storage.path"):
        made = writer.post(path_of("vend") + "/tables",
                           {"name": "path_" + name.replace(".", "_").replace("-", "_"),
                            "schema": SCHEMA, "properties": {name: victim}}, headers=VENDED)
        if made.status_code == 400:
            continue
        assert made.status_code == 200, made.text
        way = raw_s3.Keyed(root.place, keys_of(made.json()["config"]))
        assert way.request("PUT", key_of(victim) + "/evil", body=b"x").status == 403
        assert way.request("GET", "", "list-type=2&prefix=" + encoded(key_of(victim) + "/")).status == 403
        commit = writer.post(path_of("vend") + "/tables/" + made.json()["metadata"]["location"]
                             .rsplit("/", 1)[1],
                             {"requirements": [], "updates": [
                                 {"action": "set-properties", "updates": {name: victim}}]})
        assert commit.status_code in (200, 400, 404)


def test_a_folder_that_is_shared_is_opened_file_by_file(server, root):
    """A table that was dropped leaves its files; the next one of its name has the same folder."""
    session = server.lake.session()
    session.execute("CREATE TABLE lake.vend.again AS SELECT range AS id, 'first' AS s FROM range(2000)")
    first = server.load("vend", "again")
    old = server.lake.rows("SELECT path FROM ducklake_data_file ORDER BY data_file_id DESC LIMIT 1")[0][0]
    session.execute("DROP TABLE lake.vend.again")
    session.execute("CREATE TABLE lake.vend.again AS SELECT range AS id, 'second' AS s FROM range(2000)")
    second = load(server, "vend", "again")
    folder = key_of(second["metadata"]["location"]) + "/"
    if second["metadata"]["location"] != first["metadata"]["location"]:
        pytest.skip("this DuckDB gave the second table a folder of its own")
    new = server.lake.rows("SELECT path FROM ducklake_data_file ORDER BY data_file_id DESC LIMIT 1")[0][0]
    assert root.request("GET", folder + old).status == 200
    way = raw_s3.Keyed(root.place, keys_of(second["config"]))
    assert way.request("GET", folder + new).status == 200
    assert way.request("GET", key_of(second["metadata-location"])).status == 200
    assert way.request("GET", folder + old).status == 403
    assert way.request("GET", "", "list-type=2&prefix=" + encoded(folder)).status == 403
    assert way.request("PUT", folder + "x", body=b"x").status == 403
    # One by one, the signer lets a writer add what is not there yet.
    signing = get(server, "vend", "again", **{
        "X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}).json()["config"]
    signer = raw_s3.RemotelySigned(root.place, f"{server.url}/{signing['s3.signer.endpoint']}")
    assert signer.request("GET", folder + new).status == 200
    assert signer.request("GET", folder + old).status == 403
    assert signer.request("PUT", folder + "fresh", body=b"x").status == 200
    assert signer.request("PUT", folder + old, body=b"x").status == 403


# --- without STS

@pytest.fixture(scope="module")
def keyless(server):
    other = Server(server.lake, DUCKICELAKE_STS_ENDPOINT="none").start()
    yield other
    other.stop()


def test_a24_a32_without_sts_there_are_settings_and_no_keys(keyless, table, way):
    for asked in ("vended-credentials", "remote-signing", "vended-credentials,remote-signing"):
        answer = get(keyless, *table, **{"X-Iceberg-Access-Delegation": asked}).json()
        assert "storage-credentials" not in answer
        config = answer["config"]
        assert config["s3.endpoint"] == way.endpoint and config["s3.region"] == way.region
        assert config["s3.path-style-access"] == "true"
        assert not any("access-key" in name or "token" in name for name in config)
        assert config["s3.remote-signing-enabled"] == "true"
        assert config["s3.signer.uri"] == keyless.url
        assert config["s3.signer.endpoint"] == "v1/lake/namespaces/vend/tables/t/sign"
    refused = keyless.get("/namespaces/vend/tables/t/credentials")
    assert refused.status_code == 406, refused.text


def test_a_role_that_is_refused_is_a_failure_and_no_open_door(server, table):
    other = Server(server.lake, DUCKICELAKE_STS_ROLE_ARN="arn:aws:iam::000000000000:role/none").start()
    try:
        answer = get(other, *table, **VENDED)
        assert answer.status_code >= 500 and "access-key" not in answer.text
        assert get(other, *table).status_code == 200
        assert other.metrics()["duckicelake_sts_failures_total"] >= 1
    finally:
        other.stop()
