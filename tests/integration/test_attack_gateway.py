# SPDX-License-Identifier: Apache-2.0
"""The gateway's keys and signatures, changed by hand: each claim, each part of a request, each chunk of a body."""
from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import time
import urllib.parse

import pytest
import sigv4
from lib import raw_s3
from test_vend_gateway import SECRET, gateway_server
from test_vend_matrix import VENDED, Ground, keys_of


@pytest.fixture(scope="module")
def gated(server):
    other = gateway_server(server.lake).start()
    yield other
    other.stop()


@pytest.fixture(scope="module")
def ground(server):
    return Ground(server, "tampering")


@pytest.fixture(scope="module")
def way(gated, ground):
    config = gated.load("tampering", "orders", headers=VENDED)["config"]
    return raw_s3.Keyed(ground.place._replace(endpoint=config["s3.endpoint"]), keys_of(config))


@pytest.fixture(scope="module")
def own(ground):
    return ground.targets["own data"]


def claims_of(key: str) -> tuple[str, dict]:
    head, _, body = key.partition(".")
    return head, json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def key_with(head: str, claims) -> str:
    text = claims if isinstance(claims, bytes) else json.dumps(claims, separators=(",", ":")).encode()
    return head + "." + base64.urlsafe_b64encode(text).decode().rstrip("=")


def sealed(key: str, secret: str = SECRET) -> sigv4.Keys:
    seal = hmac.new(secret.encode(), key.encode(), hashlib.sha256).digest()
    return sigv4.Keys(key, base64.urlsafe_b64encode(seal).decode().rstrip("="), "gateway")


def closed(way, keys: sigv4.Keys, key: str) -> None:
    other = raw_s3.Keyed(way.place, keys)
    for answer in (other.request("GET", key), other.request("PUT", key + ".new", body=b"x"), other.presigned("GET", key)):
        assert answer.status in (400, 403), (keys.access_key[:80], answer)


def test_controls_are_served(way, own):
    key, content = own
    assert way.request("GET", key).body == content and way.presigned("GET", key).body == content
    head, claims = claims_of(way.keys.access_key)
    assert sealed(way.keys.access_key).secret_key == way.keys.secret_key
    assert raw_s3.Keyed(way.place, sealed(key_with(head, claims))).request("GET", key).status == 200, "the forger's own control"


def test_no_claim_can_be_changed(way, own, ground):
    """Under the secret that came with the key, as its holder would."""
    head, claims = claims_of(way.keys.access_key)
    for name, value in claims.items():
        others = {int: lambda v: [v + 1, -1, 0, 2**62], str: lambda v: ["", v + "x", v.upper(), "*", "admin"],
                  list: lambda v: [["*"], v + v, [1]], bool: lambda v: [not v]}.get(type(value), lambda v: ["x"])(value)
        for other in [*others, None, {}, [value]]:
            if other == value:
                continue
            closed(way, way.keys._replace(access_key=key_with(head, claims | {name: other})), own[0])
        closed(way, way.keys._replace(access_key=key_with(head, {k: v for k, v in claims.items() if k != name})), own[0])
    for more in ({"x": 1}, {"rgt": "w", "adm": True}):
        closed(way, way.keys._replace(access_key=key_with(head, claims | more)), own[0])


def test_claims_that_make_no_sense_are_refused_under_the_right_secret(way, own):
    """As if the gateway's secret were another program's, too."""
    head, claims = claims_of(way.keys.access_key)
    assert "exp" in claims and "tab" in claims, claims
    now = int(time.time())
    for change in ({"exp": now - 1}, {"exp": str(now + 60)}, {"exp": None}, {"exp": -1},
                   {"tab": "1"}, {"tab": None}, {"tab": 10**12}, {"rgt": "x"}, {"rgt": ""}, {"rgt": None}, {"cat": "other"},
                   {"cat": ""}, {"cat": None}):
        closed(way, sealed(key_with(head, claims | change)), own[0])
    for text in (b"", b"null", b"[]", b"{", b"{}", b'"x"', json.dumps(claims).encode()[:-1], b"\xff\xfe", b"[" * 3000,
                 json.dumps(claims).encode() + b"x", b'{"exp":1,' + json.dumps(claims).encode()[1:]):
        closed(way, sealed(key_with(head, text)), own[0])
    for other_head in ("DLGW0", "DLGW2", "dlgw1", "", "AKIA", head + "."):
        closed(way, sealed(key_with(other_head, claims)), own[0])
    for secret in ("", "x", SECRET + "x", SECRET[:-1], SECRET.upper()):
        closed(way, sealed(way.keys.access_key, secret), own[0])


def changed_query(url: str, **changes) -> str:
    parts = urllib.parse.urlsplit(url)
    pairs = [(k, changes.get(k.replace("-", "_"), v)) for k, v in urllib.parse.parse_qsl(parts.query)]
    text = "&".join(f"{k}={urllib.parse.quote(v, safe='-_.~')}" for k, v in pairs if v is not None)
    return urllib.parse.urlunsplit(parts._replace(query=text))


def test_presigned_urls_are_good_for_what_was_signed(way, own, ground):
    key, content = own
    url = way.presigned_url("GET", key, 300)
    now = datetime.datetime.now(datetime.timezone.utc)
    stamp = (now + datetime.timedelta(seconds=60)).strftime("%Y%m%dT%H%M%SZ")
    credential = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["X-Amz-Credential"][0]
    tampered = {
        "longer": changed_query(url, X_Amz_Expires="600"), "for ever": changed_query(url, X_Amz_Expires="604801"),
        "no end": changed_query(url, X_Amz_Expires=None), "another end": changed_query(url, X_Amz_Expires="300.0"),
        "a negative end": changed_query(url, X_Amz_Expires="-1"), "later": changed_query(url, X_Amz_Date=stamp),
        "no date": changed_query(url, X_Amz_Date=None), "no signature": changed_query(url, X_Amz_Signature=None),
        "no algorithm": changed_query(url, X_Amz_Algorithm=None), "other algorithm": changed_query(url, X_Amz_Algorithm="AWS4-HMAC-SHA1"),
        "sigv2": changed_query(url, X_Amz_Algorithm="AWS"), "other region": changed_query(url, X_Amz_Credential=credential.replace(
            f"/{way.place.region}/", "/mars-1/")), "other service": changed_query(url, X_Amz_Credential=credential.replace("/s3/", "/sts/")),
        "no signed headers": changed_query(url, X_Amz_SignedHeaders=""), "more signed headers": changed_query(url, X_Amz_SignedHeaders="host;range"),
        "other token": changed_query(url, X_Amz_Security_Token="x"), "signature in capitals": changed_query(
            url, X_Amz_Signature=urllib.parse.parse_qs(url)["X-Amz-Signature"][0].upper()),
        "twice": url + "&X-Amz-Expires=300", "two signatures": url + "&X-Amz-Signature=" + "0" * 64,
        "versionId": url + "&versionId=null", "acl": url + "&acl", "tagging": url + "&tagging=", "partNumber": url + "&partNumber=1",
        "response header": url + "&response-content-type=text%2Fhtml", "x-id": url + "&x-id=GetObject", "unknown": url + "&a=b",
        "other object": url.replace(key.rsplit("/", 1)[1], "other"), "other table": url.replace("/orders/", "/orders2/"),
        "listing": url.replace(urllib.parse.quote(key), ""), "encoded name": url.replace("/orders/", "/order%73/../orders/"),
    }
    for what, changed in tampered.items():
        answer = raw_s3.send("GET", changed, {})
        assert answer.status in (400, 403) and content not in answer.body, (what, answer)
    for method in ("HEAD", "PUT", "DELETE", "POST"):
        assert raw_s3.send(method, url, {}, b"x" if method in ("PUT", "POST") else b"").status in (400, 403), method
    for headers in ({"x-amz-acl": "public-read"}, {"x-amz-copy-source": f"/{way.place.bucket}/{key}"}, {"host": "evil"},
                    {"authorization": "AWS4-HMAC-SHA256 x"}, {"x-amz-security-token": "x"}):
        assert raw_s3.send("GET", url, headers).status in (400, 403), headers
    assert raw_s3.send("GET", url, {}).body == content


def signed(way, method: str, key: str, body: bytes = b"", query: str = "", **options) -> tuple[str, dict]:
    url = way.url(key, query)
    return url, sigv4.signed_headers(method, url, body, way.keys, way.place.region, "s3", **options)


def test_requests_are_good_for_what_was_signed(way, own, ground):
    key, content = own
    url, good = signed(way, "GET", key, headers={"range": "bytes=0-3"})
    authorization = good["authorization"]
    day = authorization.split("/")[1]
    swapped = lambda a, b: good | {"authorization": authorization.replace(a, b)}
    tampered = {
        "no authorization": {k: v for k, v in good.items() if k != "authorization"}, "other signature": swapped(authorization[-4:], "0000"),
        "short signature": good | {"authorization": authorization[:-1]}, "long signature": good | {"authorization": authorization + "0"},
        "other region": swapped(f"/{way.place.region}/", "/mars-1/"), "other service": swapped("/s3/", "/sts/"),
        "other day": swapped(day, "20200101"), "other terminator": swapped("aws4_request", "aws4_requesT"),
        "other algorithm": swapped("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"), "asymmetric": swapped("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"),
        "sigv2": good | {"authorization": f"AWS {way.keys.access_key}:AAAA"}, "bearer": good | {"authorization": "Bearer x"},
        "host unsigned": swapped("host;", ""), "date unsigned": swapped("x-amz-date;", ""), "date unsigned, last": swapped(";x-amz-date", ""),
        "twice signed": swapped("host;", "host;host;"), "unsorted": swapped("host;range", "range;host"),
        "other range": good | {"range": "bytes=0-99999"}, "other date": good | {"x-amz-date": "20200101T000000Z"},
        "no date": {k: v for k, v in good.items() if k != "x-amz-date"}, "a date that is none": good | {"x-amz-date": "now"},
        "other hash": good | {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, "no hash": {k: v for k, v in good.items() if k != "x-amz-content-sha256"},
        "other host": good | {"host": "evil"}, "unsigned acl": good | {"x-amz-acl": "public-read"},
        "unsigned copy": good | {"x-amz-copy-source": f"/{way.place.bucket}/{key}"}, "unsigned meta": good | {"x-amz-meta-a": "b"},
        "two ways at once": good,
    }
    for what, headers in tampered.items():
        where = url + "?X-Amz-Signature=" + "0" * 64 if what == "two ways at once" else url
        answer = raw_s3.send("GET", where, headers)
        assert answer.status in (400, 403) and content not in answer.body, (what, answer)
    assert raw_s3.send("GET", url + "?versionId=null", good).status in (400, 403)
    assert raw_s3.send("HEAD", url, good).status in (400, 403)
    assert raw_s3.send("GET", way.url(ground.targets["own metadata"][0]), good).status == 403
    assert raw_s3.send("GET", url, good).body == content[:4]
    # Blanks that RFC 4231's canonical form folds are the same header; nothing else of it is.
    assert raw_s3.send("GET", url, good | {"range": "bytes=0-3 "}).status in (206, 400, 403)


@pytest.mark.parametrize("minutes,status", [(-60 * 24, 403), (-15.5, 403), (-14.5, 200), (14.5, 200), (15.5, 403), (60 * 24 * 365, 403)])
def test_a_request_that_is_sent_again_is_served_in_its_window_only(way, own, minutes, status):
    """Replay: the very bytes, later. The window is S3's own."""
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
    url, headers = signed(way, "GET", own[0], now=now)
    for _ in range(2):
        assert raw_s3.send("GET", url, headers).status == status
    late = way.presigned_url("GET", own[0], 60, now)
    in_time = -1 < minutes <= 15
    assert (raw_s3.send("GET", late, {}).status == 200) == in_time


def stream(way, key: str, chunks: list[bytes], change=lambda number, size, signature, data: None, ending: bytes = b"",
           length: int | None = None, decoded: str | None = None) -> sigv4.Answer:
    """A PUT with a signature for each chunk; `change` may give other bytes for a chunk, (line, data)."""
    url, now = way.url(key), datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    word = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    parts = urllib.parse.urlsplit(url)
    sent = {"host": parts.netloc, "x-amz-date": stamp, "x-amz-content-sha256": word, "content-encoding": "aws-chunked",
            "x-amz-decoded-content-length": decoded or str(sum(map(len, chunks)))}
    if way.keys.session_token:
        sent["x-amz-security-token"] = way.keys.session_token
    names = ";".join(sorted(sent))
    canonical = "\n".join(["PUT", parts.path, "", *(f"{n}:{sent[n]}" for n in sorted(sent)), "", names, word])
    scope = f"{day}/{way.place.region}/s3/aws4_request"
    signing = sigv4._hmac(("AWS4" + way.keys.secret_key).encode(), day)
    for part in (way.place.region, "s3", "aws4_request"):
        signing = sigv4._hmac(signing, part)
    previous = sigv4._hmac(signing, "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])).hex()
    sent["authorization"] = (f"AWS4-HMAC-SHA256 Credential={way.keys.access_key}/{scope}, SignedHeaders={names}, Signature={previous}")
    body = b""
    for number, chunk in enumerate([*chunks, b""]):
        text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, scope, previous, hashlib.sha256(b"").hexdigest(), hashlib.sha256(chunk).hexdigest()])
        previous = sigv4._hmac(signing, text).hex()
        line, data = change(number, len(chunk), previous, chunk) or (f"{len(chunk):x};chunk-signature={previous}".encode(), chunk)
        body += b"" if line is None else line + b"\r\n" + data + b"\r\n"
    body += ending
    return raw_s3.send("PUT", url, sent, body if length is None else body[:length])


CHUNKS = [b"a" * 65536, b"b" * 65536, b"c" * 100]


def only(number, function):
    return lambda n, size, signature, data: function(size, signature, data) if n == number else None


TAMPERED = {
    "data of the first": only(0, lambda s, g, d: (f"{s:x};chunk-signature={g}".encode(), b"x" + d[1:])),
    "data of the last": only(2, lambda s, g, d: (f"{s:x};chunk-signature={g}".encode(), d[:-1] + b"x")),
    "signature of the first": only(0, lambda s, g, d: (f"{s:x};chunk-signature={'0' * 64}".encode(), d)),
    "signature of the end": only(3, lambda s, g, d: (f"0;chunk-signature={'0' * 64}".encode(), b"")),
    "no signature": only(1, lambda s, g, d: (f"{s:x}".encode(), d)),
    "empty signature": only(1, lambda s, g, d: (f"{s:x};chunk-signature=".encode(), d)),
    "short signature": only(1, lambda s, g, d: (f"{s:x};chunk-signature={g[:63]}".encode(), d)),
    "capitals": only(1, lambda s, g, d: (f"{s:x};chunk-signature={g.upper()}".encode(), d)),
    "another extension": only(1, lambda s, g, d: (f"{s:x};x=y;chunk-signature={g}".encode(), d)),
    "two signatures": only(1, lambda s, g, d: (f"{s:x};chunk-signature={g};chunk-signature={g}".encode(), d)),
    "a chunk left out": only(1, lambda s, g, d: (None, b"")),
    "the end left out": only(3, lambda s, g, d: (None, b"")),
    "a chunk cut": only(1, lambda s, g, d: (f"{s - 1:x};chunk-signature={g}".encode(), d[:-1])),
    "a size too large": only(1, lambda s, g, d: (f"{s + 1:x};chunk-signature={g}".encode(), d)),
    "a size of many digits": only(1, lambda s, g, d: (f"{s:020x};chunk-signature={g}".encode(), d)),
    "a negative size": only(1, lambda s, g, d: (f"-{s:x};chunk-signature={g}".encode(), d)),
    "a bare line feed": only(1, lambda s, g, d: (f"{s:x};chunk-signature={g}\n".encode(), d)),
    "no blank line": only(2, lambda s, g, d: (f"{s:x};chunk-signature={g}".encode(), d + b"x")),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_no_chunk_can_be_changed(way, ground, name):
    key = f"{ground.folder}data/chunk {name}"
    try:
        answer = stream(way, key, CHUNKS, TAMPERED[name])
        assert answer.status in (400, 403, 500), answer
    except OSError:
        pass  # it was cut off in the middle of the body
    assert ground.root.request("GET", key).status == 404, "an object was made"


def test_bodies_end_where_they_say(way, ground):
    good = ground.folder + "data/chunks"
    assert stream(way, good, CHUNKS).status == 200
    assert ground.root.request("GET", good).body == b"".join(CHUNKS)
    for what, options in {"more behind": {"ending": b"extra"}, "longer than said": {"decoded": "10"}, "shorter than said": {"decoded": "999999"},
                          "no number": {"decoded": "many"}, "negative": {"decoded": "-1"}}.items():
        key = f"{ground.folder}data/{what}"
        try:
            assert stream(way, key, CHUNKS, **options).status in (400, 403, 500), what
        except OSError:
            pass
        assert ground.root.request("GET", key).status == 404, what


def test_nothing_of_all_that_was_changed(ground):
    for key, content in ground.targets.values():
        assert ground.root.request("GET", key).body == content
