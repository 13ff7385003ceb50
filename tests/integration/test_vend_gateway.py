# SPDX-License-Identifier: Apache-2.0
"""The S3 gateway: keys of its own making open one table, through it and only through it."""
from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import socket
import time

import pytest
import sigv4
from lib import raw_s3
from lib.lakes import duck
from lib.server import Server, free_port
from test_vend_matrix import VENDED, Ground, keys_of

SECRET = "a-secret-of-the-gateway-for-tests-only"


def gateway_server(lake, **settings) -> Server:
    port = free_port()
    return Server(lake, DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_S3_GATEWAY_ENABLED="1",
                  DUCKICELAKE_S3_GATEWAY_SECRET=SECRET, DUCKICELAKE_S3_GATEWAY_PORT=port,
                  DUCKICELAKE_S3_GATEWAY_URL=f"http://127.0.0.1:{port}", **settings)


@pytest.fixture(scope="module")
def gated(server):
    other = gateway_server(server.lake).start()
    yield other
    other.stop()


@pytest.fixture(scope="module")
def ground(server):
    return Ground(server, "gateway")


@pytest.fixture(scope="module")
def config(gated, ground):
    answer = gated.get("/namespaces/gateway/tables/orders", headers=VENDED)
    assert answer.status_code == 200, answer.text
    return answer.json()["config"]


@pytest.fixture(scope="module")
def place(ground, config):
    return ground.place._replace(endpoint=config["s3.endpoint"])


@pytest.fixture(scope="module")
def way(place, config):
    return raw_s3.Keyed(place, keys_of(config))


def test_the_gateway_opens_its_table_only(gated, ground, way):
    before = gated.metrics()
    outcomes = raw_s3.try_all("gateway, orders", way, "write", ground.folders, ground.targets, ground.own)
    ground.check(outcomes)
    after = gated.metrics()
    passed = sum(1 for o in outcomes if o.status and o.status < 300)
    granted = 'duckicelake_gateway_requests_total{decision="granted"}'
    assert after[granted] - before[granted] >= passed
    assert after['duckicelake_gateway_bytes_total{direction="out"}'] > \
        before['duckicelake_gateway_bytes_total{direction="out"}']


def test_its_keys_are_nothing_to_the_store(ground, config):
    way = raw_s3.Keyed(ground.place, keys_of(config)._replace(session_token=None))
    assert way.request("GET", ground.targets["own data"][0]).status == 403


def test_the_root_keys_are_nothing_to_the_gateway(ground, place):
    way = raw_s3.Keyed(place, ground.root.keys)
    assert way.request("GET", ground.targets["own data"][0]).status == 403
    assert raw_s3.send("GET", way.url(ground.targets["own data"][0]), {}).status == 403


def changed(keys: sigv4.Keys, **claims) -> str:
    text = json.loads(base64.urlsafe_b64decode(keys.access_key.split(".")[1] + "==="))
    body = base64.urlsafe_b64encode(json.dumps(text | claims).encode()).decode().rstrip("=")
    return keys.access_key.split(".")[0] + "." + body


def test_keys_that_were_tampered_with_open_nothing(ground, place, config):
    keys = keys_of(config)
    key = ground.targets["own data"][0]
    other = ground.server.lake.rows("SELECT table_id FROM ducklake_table WHERE table_name = 'orders2' "
                                    "AND end_snapshot IS NULL")[0][0]
    for access_key in (changed(keys, tab=other), changed(keys, exp=2**40), changed(keys, rgt="w"),
                       changed(keys, cat="other"), keys.access_key + "A", keys.access_key[:-2],
                       "DLGW1.", "DLGW1.e30", "AKIAIOSFODNN7EXAMPLE"):
        way = raw_s3.Keyed(place, keys._replace(access_key=access_key))
        assert way.request("GET", key).status == 403, access_key
    # Claims that are the server's own, under another secret.
    forged = changed(keys, tab=other)
    seal = base64.urlsafe_b64encode(hmac.new(b"guess", forged.encode(), hashlib.sha256).digest())
    way = raw_s3.Keyed(place, sigv4.Keys(forged, seal.decode().rstrip("="), "gateway"))
    assert way.request("GET", key).status == 403
    assert raw_s3.Keyed(place, keys._replace(session_token="other")).request("GET", key).status == 403
    assert raw_s3.Keyed(place, keys._replace(session_token=None)).request("GET", key).status == 200


def test_expired_keys_open_nothing(ground, place, config):
    keys = keys_of(config)
    late = changed(keys, exp=int(time.time()) - 1)
    seal = base64.urlsafe_b64encode(hmac.new(SECRET.encode(), late.encode(), hashlib.sha256).digest())
    way = raw_s3.Keyed(place, sigv4.Keys(late, seal.decode().rstrip("="), "gateway"))
    answer = way.request("GET", ground.targets["own data"][0])
    assert answer.status == 403 and b"expired" in answer.body


@pytest.mark.parametrize("minutes,status", [(-16, 403), (-14, 200), (14, 200), (16, 403)])
def test_requests_are_fresh_or_refused(ground, way, minutes, status):
    key = ground.targets["own data"][0]
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
    headers = sigv4.signed_headers("GET", way.url(key), b"", way.keys, way.place.region, "s3", now=now)
    assert raw_s3.send("GET", way.url(key), headers).status == status


def test_presigned_urls_end(ground, way):
    key, content = ground.targets["own data"]
    assert raw_s3.send("GET", way.presigned_url("GET", key), {}).body == content
    past = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=120)
    assert raw_s3.send("GET", way.presigned_url("GET", key, 60, past), {}).status == 403
    url = way.presigned_url("GET", key)
    assert raw_s3.send("GET", url.replace("orders/", "orders2/"), {}).status == 403
    assert raw_s3.send("GET", url + "&versionId=null", {}).status == 403
    assert raw_s3.send("HEAD", url, {}).status == 403


def stream(way, key, chunks: list[bytes], tamper: int | None = None) -> sigv4.Answer:
    """A PUT with a signature for each chunk."""
    url, size = way.url(key), sum(map(len, chunks))
    now = datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    real = hashlib.sha256
    try:  # the helper hashes the body; here its place is taken by a word
        class Word:
            def __init__(self, data=b""):
                self.data = data

            def hexdigest(self):
                return "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" if self.data == b"@" else \
                    real(self.data).hexdigest()
        sigv4.hashlib.sha256 = lambda data=b"": Word(data) if data == b"@" else real(data)
        headers = sigv4.signed_headers("PUT", url, b"@", way.keys, way.place.region, "s3",
                                       {"content-encoding": "aws-chunked",
                                        "x-amz-decoded-content-length": str(size)}, now)
    finally:
        sigv4.hashlib.sha256 = real
    scope = f"{day}/{way.place.region}/s3/aws4_request"
    signing = sigv4._hmac(("AWS4" + way.keys.secret_key).encode(), day)
    for part in (way.place.region, "s3", "aws4_request"):
        signing = sigv4._hmac(signing, part)
    previous = headers["authorization"].rpartition("=")[2]
    body = b""
    for number, chunk in enumerate([*chunks, b""]):
        text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, scope, previous,
                          real(b"").hexdigest(), real(chunk).hexdigest()])
        previous = sigv4._hmac(signing, text).hex()
        sent = chunk if number != tamper else bytes([chunk[0] ^ 1]) + chunk[1:]
        body += f"{len(chunk):x};chunk-signature={previous}\r\n".encode() + sent + b"\r\n"
    return raw_s3.send("PUT", url, headers, body)


def test_streamed_chunks_are_checked_one_by_one(ground, way):
    key = ground.folder + "data/streamed"
    chunks = [b"a" * 65536, b"b" * 65536, b"c" * 100]
    assert stream(way, key, chunks).status == 200
    assert way.request("GET", key).body == b"".join(chunks)
    for n in range(3):
        assert stream(way, f"{key}-{n}", chunks, tamper=n).status == 403
        assert ground.root.request("GET", f"{key}-{n}").status == 404


def test_a_body_that_is_not_the_signed_one_makes_no_object(ground, way):
    key = ground.folder + "data/forged"
    headers = sigv4.signed_headers("PUT", way.url(key), b"a" * 1000, way.keys, way.place.region, "s3")
    assert raw_s3.send("PUT", way.url(key), headers, b"a" * 999 + b"b").status == 403
    assert raw_s3.send("PUT", way.url(key), headers, b"b" + b"a" * 999).status == 403
    assert ground.root.request("GET", key).status == 404
    assert raw_s3.send("PUT", way.url(key), headers, b"a" * 1000).status == 200


def test_large_bodies_pass_through_without_being_kept(gated, ground, way):
    key, size = ground.folder + "data/large", 96 << 20
    block = bytes(range(256)) * 4096
    before = gated.rss_bytes()
    body = block * (size // len(block))
    assert way.request("PUT", key, body=body).status == 200
    assert way.request("GET", key).body == body
    assert gated.rss_bytes() - before < 48 << 20
    part = way.request("GET", key, headers={"range": "bytes=1048576-1048835"})
    assert part.status == 206 and part.body == body[1048576:1048836]
    assert part.headers["content-range"] == f"bytes 1048576-1048835/{size}"


def test_conditions_and_errors_come_through(ground, way):
    key = ground.folder + "data/once"
    assert way.request("PUT", key, headers={"if-none-match": "*"}, body=b"1").status == 200
    again = way.request("PUT", key, headers={"if-none-match": "*"}, body=b"2")
    assert again.status == 412, again.body
    tag = way.request("HEAD", key).headers["etag"]
    assert way.request("GET", key, headers={"if-none-match": tag}).status == 304
    missing = way.request("GET", ground.folder + "data/none")
    assert missing.status == 404 and b"NoSuchKey" in missing.body
    head = way.request("HEAD", key)
    assert head.status == 200 and head.headers["content-length"] == "1" and head.body == b""


def test_one_connection_serves_many_requests_and_hostile_bytes_end_it(gated, ground, way, place):
    host, port = place.endpoint.removeprefix("http://").split(":")
    key = ground.targets["own data"][0]
    headers = sigv4.signed_headers("HEAD", way.url(key), b"", way.keys, place.region, "s3")
    request = f"HEAD /{place.bucket}/{key} HTTP/1.1\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        for _ in range(3):
            wire.sendall(request.encode())
            assert wire.recv(65536).startswith(b"HTTP/1.1 200")
        wire.sendall(request.encode() * 3)
        seen = b""
        while seen.count(b"HTTP/1.1 200") < 3:
            seen += wire.recv(65536)
    for bad in (b"GET / HTTP/1.1\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n",
                b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a" * 70000,
                b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                request.replace("HTTP/1.1\r\n", "HTTP/1.1\r\nx-amz-acl: public-read\r\n", 1).encode(),
                request.replace("HTTP/1.1\r\n", "HTTP/1.1\r\nhost: evil\r\n", 1).encode()):
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            wire.sendall(bad)
            answer = wire.recv(65536)
            assert answer[9:12] in (b"400", b"403", b"431", b"505"), (bad[:60], answer[:200])


def test_dropped_tables_are_closed_at_once_and_renamed_ones_stay_open(gated, server, ground):
    session = server.lake.session()
    session.execute("CREATE TABLE lake.gateway.moving AS SELECT range AS id FROM range(2000)")
    answer = gated.get("/namespaces/gateway/tables/moving", headers=VENDED).json()
    way = raw_s3.Keyed(ground.place._replace(endpoint=answer["config"]["s3.endpoint"]),
                       keys_of(answer["config"]))
    key = answer["metadata-location"].split("/", 3)[3]
    assert way.request("GET", key).status == 200
    session.execute("ALTER TABLE lake.gateway.moving RENAME TO moved")
    assert way.request("GET", key).status == 200
    session.execute("DROP TABLE lake.gateway.moved")
    assert way.request("GET", key).status == 403


def test_keys_are_the_same_for_a_while_and_the_tag_with_them(gated):
    answers = [gated.get("/namespaces/gateway/tables/orders", headers=VENDED) for _ in range(3)]
    assert len({a.headers["ETag"] for a in answers}) <= 2
    config = answers[0].json()["config"]
    left = int(config["s3.session-token-expires-at-ms"]) / 1000 - time.time()
    assert 440 < left <= 901
    again = gated.get("/namespaces/gateway/tables/orders", headers=VENDED | {
        "If-None-Match": answers[-1].headers["ETag"]})
    assert again.status_code in (200, 304)


def test_another_process_takes_the_keys_of_the_first(server, ground, config):
    second = gateway_server(server.lake).start()
    try:
        place = ground.place._replace(
            endpoint=f"http://127.0.0.1:{second.settings['DUCKICELAKE_S3_GATEWAY_PORT']}")
        key, content = ground.targets["own data"]
        assert raw_s3.Keyed(place, keys_of(config)).request("GET", key).body == content
    finally:
        second.stop()


def test_duckdb_reads_and_writes_with_nothing_but_the_gateway(gated, server):
    """Its iceberg extension, with vended keys only: httpfs speaks to the gateway."""
    server.lake.session().execute(
        "CREATE TABLE lake.gateway.duck AS SELECT range AS id, 'x' || range AS s FROM range(3000)")
    connection = duck.connect("httpfs", "avro", "iceberg")
    try:
        connection.execute(f"ATTACH 'lake' AS ice (TYPE iceberg, ENDPOINT '{gated.url}', "
                           "AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'vended_credentials')")
        assert connection.execute("SELECT count(*), sum(id) FROM ice.gateway.duck").fetchall() == \
            [(3000, 3000 * 2999 // 2)]
        connection.execute("INSERT INTO ice.gateway.duck SELECT range, 'y' FROM range(3000, 3500)")
        assert connection.execute("SELECT count(*) FROM ice.gateway.duck").fetchone() == (3500,)
    finally:
        connection.close()
    assert server.lake.session().execute("SELECT count(*) FROM lake.gateway.duck").fetchone() == (3500,)


def test_httpfs_itself_speaks_to_the_gateway(config, ground):
    connection = duck.connect("httpfs")
    try:
        connection.execute(
            "CREATE SECRET g (TYPE s3, KEY_ID '{}', SECRET '{}', SESSION_TOKEN '{}', ENDPOINT '{}', "
            "URL_STYLE 'path', USE_SSL false, REGION '{}')".format(
                config["s3.access-key-id"], config["s3.secret-access-key"],
                config["s3.session-token"], config["s3.endpoint"].removeprefix("http://"),
                config["s3.region"]))
        base = f"s3://{ground.place.bucket}/"
        own = base + ground.targets["own data"][0]
        assert connection.execute(f"SELECT count(*) FROM '{own}'").fetchone() == (3000,)
        connection.execute(f"COPY (SELECT range AS id FROM range(300000)) TO "
                           f"'{base}{ground.folder}data/by-httpfs.parquet'")
        assert connection.execute(
            f"SELECT count(*) FROM '{base}{ground.folder}data/by-httpfs.parquet'").fetchone() == (300000,)
        assert connection.execute(f"SELECT count(*) FROM glob('{base}{ground.folder}data/*')").fetchone()[0] > 0
        with pytest.raises(Exception, match="403|Forbidden|denied"):
            connection.execute(f"SELECT * FROM '{base}{ground.targets['sibling 2'][0]}'")
    finally:
        connection.close()
