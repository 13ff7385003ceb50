# SPDX-License-Identifier: Apache-2.0
"""Requests that are signed one by one: what is the table's, and nothing that is not understood."""
from __future__ import annotations

import datetime
import uuid

import pytest
from lib import raw_s3
from lib.server import Server, encoded
from test_vend_matrix import Ground

SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}


@pytest.fixture(scope="module")
def keyless(server):
    """A server whose store has no STS, as far as it knows."""
    other = Server(server.lake, DUCKICELAKE_STS_ENDPOINT="none").start()
    yield other
    other.stop()


@pytest.fixture(scope="module")
def ground(server):
    return Ground(server, "signing")


@pytest.fixture(scope="module")
def signer(keyless, ground):
    answer = keyless.get("/namespaces/signing/tables/orders", headers=SIGNING).json()
    return raw_s3.RemotelySigned(
        ground.place, f"{answer['config']['s3.signer.uri']}/{answer['config']['s3.signer.endpoint']}")


def test_the_signer_opens_its_table_only(keyless, ground, signer):
    before = keyless.metrics()
    outcomes = raw_s3.try_all("signed, orders", signer, "write", ground.folders, ground.targets,
                              ground.own)
    ground.check(outcomes)
    after = keyless.metrics()
    granted = 'duckicelake_s3_sign_total{decision="granted"}'
    denied = 'duckicelake_s3_sign_total{decision="denied"}'
    assert after[granted] > before[granted] and after[denied] > before[denied]


def test_older_clients_are_signed_for_by_the_object(keyless, ground):
    for path in ("/v1/lake/aws/s3/sign", "/v1/aws/s3/sign"):
        way = raw_s3.RemotelySigned(ground.place, keyless.url + path)
        for target, (key, content) in ground.targets.items():
            answer = way.request("GET", key)
            is_a_tables = target not in ("parent", "root")
            assert (answer.status == 200) == is_a_tables, target
            assert (answer.body == content) == is_a_tables, target
        assert way.request("GET", "", "list-type=2").status == 403
        assert way.request("DELETE", ground.targets["own data"][0]).status == 403
        # Copies stay inside one table.
        assert way.request("PUT", ground.folder + "stolen", headers={
            "x-amz-copy-source": f"/{ground.place.bucket}/{ground.targets['sibling 2'][0]}"}
        ).status == 403


def test_both_addressing_styles_are_signed(ground, signer):
    key, content = ground.targets["own data"]
    port = ground.place.endpoint.rsplit(":", 1)[1]
    host = f"{ground.place.bucket}.127.0.0.1:{port}"
    signed = signer.sign("GET", f"http://{host}/{key}")
    assert signed.status_code == 200, signed.text
    assert signed.json()["uri"] == f"http://{host}/{key}"
    assert signer.sign("GET", f"http://other.127.0.0.1:{port}/{key}").status_code == 403
    # The store of the tests knows the bucket in the host under another name; the path style works.
    assert signer.request("GET", key).body == content


@pytest.mark.parametrize("change", [
    "{scheme}://{host}/{bucket}/{folder}../orders2/{rest}",
    "{scheme}://{host}/{bucket}/{folder}%2e%2e/orders2/{rest}",
    "{scheme}://{host}/{bucket}/{folder}%2E%2E%2Forders2/{rest}",
    "{scheme}://{host}/{bucket}/{folder}./{rest}",
    "{scheme}://{host}/{bucket}/{folder}/{rest}",
    "{scheme}://{host}//{bucket}/{folder}{rest}",
    "{scheme}://{host}/{bucket}/{folder}{rest}%00",
    "{scheme}://{host}/{bucket}/{folder}{rest}%0a",
    "{scheme}://{host}/{bucket}/{folder}x%5C..%5Corders2",
    "{scheme}://{host}/{bucket}/{folder}{rest}#x",
    "{scheme}://user@{host}/{bucket}/{folder}{rest}",
    "{scheme}://{host}@evil/{bucket}/{folder}{rest}",
    "{scheme}://evil/{bucket}/{folder}{rest}",
    "{scheme}://evil/?{host}/{bucket}/{folder}{rest}",
    "https://{host}/{bucket}/{folder}{rest}",
    "ftp://{host}/{bucket}/{folder}{rest}",
    "{host}/{bucket}/{folder}{rest}",
    "/{bucket}/{folder}{rest}",
    "{scheme}://{host}/{bucket}2/{folder}{rest}",
    "{scheme}://{host}/{BUCKET}/{folder}{rest}",
    "{scheme}://{host}/{bucket}/{FOLDER}{rest}",
    "{scheme}://{host}/{bucket}/{folder}{rest}?versionId=null",
    "{scheme}://{host}/{bucket}/{folder}{rest}?acl",
    "{scheme}://{host}/{bucket}/{folder}{rest}?policy",
    "{scheme}://{host}/{bucket}/{folder}{rest}?X-Amz-Signature=0",
    "{scheme}://{host}/{bucket}/{folder}{rest}?x-id=GetObject&x-id=GetObject",
    "{scheme}://{host}/{bucket}/{folder}{rest} ",
    "{scheme}://{host}/{bucket}/{folder}{rest}\r\nx: y",
    "{scheme}://{host}/{bucket}/{folder}%zz",
    "{scheme}://{host}/{bucket}/{folder}caf\u00e9",
    "",
])
def test_what_is_not_surely_the_table_s_is_not_signed(ground, signer, change):
    key = ground.targets["own data"][0]
    folder, rest = ground.folder, key.removeprefix(ground.folder)
    scheme, _, host = ground.place.endpoint.partition("://")
    uri = change.format(scheme=scheme, host=host, bucket=ground.place.bucket,
                        BUCKET=ground.place.bucket.upper(), folder=folder, FOLDER=folder.upper(),
                        rest=rest)
    answer = signer.sign("GET", uri)
    assert answer.status_code == 403, (uri, answer.text)
    assert answer.json()["error"]["type"] == "ForbiddenException"


def test_the_key_that_was_checked_is_the_key_that_is_signed(ground, signer):
    """However it came encoded, what comes back names the object in one way."""
    key = ground.targets["own data"][0]
    spelled = f"{ground.place.endpoint}/{ground.place.bucket}/" + "".join(
        c if c == "/" else f"%{ord(c):02x}" for c in key)
    signed = signer.sign("GET", spelled).json()
    assert signed["uri"] == signer.url(key)
    assert raw_s3.send("GET", signed["uri"], {k: v[0] for k, v in signed["headers"].items()}
                       ).body == ground.targets["own data"][1]


@pytest.mark.parametrize("headers", [
    {"x-amz-copy-source": "/{bucket}/{other}"}, {"X-Amz-Copy-Source": "{bucket}/{other}"},
    {"x-amz-copy-source": "/{bucket}/{own}?versionId=null"}, {"x-amz-acl": "public-read"},
    {"x-amz-grant-read": "uri=x"}, {"x-amz-tagging": "a=b"},
    {"x-amz-website-redirect-location": "/x"}, {"x-amz-security-token": "x"},
    {"x-amz-object-lock-mode": "GOVERNANCE"}, {"x-amz-date": "20200101T000000Z"},
    {"x-amz-date": "now"}, {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"},
    {"Host": "evil"}, {"x-amz-meta-a": "x\r\nx-amz-acl: public-read"}, {"x-amz-unheard-of": "x"}])
def test_headers_that_could_change_the_object_are_not_signed(ground, signer, headers):
    made = {k: v.format(bucket=ground.place.bucket, other=ground.targets["sibling 2"][0],
                        own=ground.targets["own data"][0]) for k, v in headers.items()}
    answer = signer.sign("PUT", signer.url(ground.folder + "new"), made)
    assert answer.status_code in (400, 403), answer.text


def test_a25_listings_of_folders_of_the_table_are_signed(ground, signer):
    def listing(query):
        return signer.request("GET", "", query)
    folder = encoded(ground.folder)
    for query in (f"list-type=2&prefix={folder}", f"prefix={folder}metadata%2F&delimiter=%2F",
                  f"list-type=2&prefix={folder}&max-keys=1"):
        answer = listing(query)
        assert answer.status == 200, query
        assert b"orders2" not in answer.body
    more = listing(f"list-type=2&prefix={folder}&max-keys=1").body
    token = more.split(b"<NextContinuationToken>")[1].split(b"<")[0].decode()
    assert listing(f"list-type=2&prefix={folder}&continuation-token={encoded(token)}").status == 200
    parent = encoded(ground.folder.rsplit("/", 2)[0] + "/")
    for query in (f"list-type=2&prefix={folder[:-3]}", f"list-type=2&prefix={parent}",
                  "list-type=2&prefix=", "list-type=2", f"list-type=2&prefix={folder}&prefix={parent}",
                  f"versions&prefix={folder}", f"uploads&prefix={folder}"):
        assert listing(query).status == 403, query


def test_a26_batch_deletes_are_read_and_refused(ground, signer):
    own, other = ground.targets["own data"][0], ground.targets["sibling 2"][0]
    url = signer.url("", "delete")
    for body in (f"<Delete><Object><Key>{own}</Key></Object></Delete>",
                 "<Delete>" + f"<Object><Key>{own}</Key></Object>" * 999 +
                 f"<Object><Key>{other}</Key></Object></Delete>",
                 '<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Object><Key>'
                 f"{other}</Key></Object></Delete>", "<Delete>", "", None):
        assert signer.sign("POST", url, {"Content-MD5": "x"}, body).status_code == 403
    assert ground.root.request("GET", own).status == 200


def test_signatures_are_for_now(ground, signer):
    key = ground.targets["own data"][0]
    stamp = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=5))
    signed = signer.sign("GET", signer.url(key), {"x-amz-date": stamp.strftime("%Y%m%dT%H%M%SZ")})
    assert signed.status_code == 200
    assert "x-amz-date" not in signed.json()["headers"]


def test_a_staged_table_s_folder_is_signed_for_with_its_token_only(keyless, ground, signer):
    name = f"staged_{uuid.uuid4().hex[:8]}"  # a name used before gets another folder
    body = {"name": name, "stage-create": True, "schema": {
        "type": "struct", "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}}
    answer = keyless.http.post(f"{keyless.api}/namespaces/signing/tables", json=body, headers=SIGNING)
    assert answer.status_code == 200, answer.text
    folder = answer.json()["metadata"]["location"].split("/", 3)[3] + "/"
    url = f"{keyless.url}/{answer.json()['config']['s3.signer.endpoint']}"
    staged = raw_s3.RemotelySigned(ground.place, url)
    assert staged.request("PUT", folder + "data/f", body=b"x").status == 200
    assert staged.request("GET", folder + "data/f").body == b"x"
    assert staged.request("DELETE", folder + "data/f").status == 403
    assert staged.request("PUT", folder[:-1] + "2/f", body=b"x").status == 403
    assert staged.request("GET", ground.targets["own data"][0]).status == 403
    plain = url.split("?")[0]
    for bad in (plain, plain + "?staged=", url[:-1] + ("A" if url[-1] != "A" else "B"),
                url.replace(f"tables/{name}/", "tables/other/"), url + "x"):
        way = raw_s3.RemotelySigned(ground.place, bad)
        assert way.request("PUT", folder + "data/g", body=b"x").status in (403, 404), bad
    # Once somebody else has the place, it is nobody's to stage.
    ground.lake.session().execute(f"CREATE TABLE lake.signing.{name} AS SELECT range AS id FROM range(9)")
    ground.lake.session().execute(f"ALTER TABLE lake.signing.{name} RENAME TO {name}_moved")
    assert staged.request("PUT", folder + "data/h", body=b"x").status == 403


def test_requests_that_are_none_are_400(keyless, ground, signer):
    for body in ({}, {"method": "GET"}, {"method": "GET", "uri": 1, "region": "r", "headers": {}},
                 {"method": "GET", "uri": "u", "region": "r", "headers": {"a": "b"}},
                 {"method": "GET", "uri": "u", "region": "r", "headers": {}, "provider": "gcs"}):
        assert signer.http.post(signer.sign_url, json=body).status_code == 400, body
    missing = keyless.http.post(f"{keyless.api}/namespaces/signing/tables/none/sign", json={
        "method": "GET", "uri": signer.url("x"), "region": "r", "headers": {}})
    assert missing.status_code == 404
    off = Server(keyless.lake, DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_REMOTE_SIGNING="0").start()
    try:
        answer = off.get("/namespaces/signing/tables/orders", headers=SIGNING).json()
        assert not any("sign" in name for name in answer["config"])
        assert off.http.post(f"{off.api}/aws/s3/sign", json={}).status_code == 406
    finally:
        off.stop()
