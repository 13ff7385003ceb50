# SPDX-License-Identifier: Apache-2.0
"""Forged tokens, by hand: none of them is anybody's, on any route, and none costs the server its feet."""
from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import pytest
from fixtures import served_lake
from lib import auth
from lib.auth import b64, forged, part
from lib.rest import error_of, raw


@pytest.fixture(scope="module")
def issuers(stack, tmp_path_factory):
    """A server that takes tokens of two other issuers: RS256 and ES256."""
    with auth.issuer() as rsa, auth.issuer() as curve:
        rsa.add_key("r1")
        curve.add_key("e1", "ES256")
        path = tmp_path_factory.mktemp("issuers") / "issuers.json"
        path.write_text(json.dumps([
            {"issuer": rsa.url, "audience": ["lake"], "scope": "*:r"},
            {"issuer": curve.url, "audience": "lake", "scope": "*:r"}]))
        for server in served_lake(stack, **auth.settings(reader="*:r") | {"DUCKICELAKE_OIDC_ISSUERS_FILE": path}):
            yield server, rsa, curve


def ask(server, token: str | bytes) -> int:
    """The status of a listing with these very bytes as token: no client library in between."""
    text = token if isinstance(token, bytes) else token.encode()
    answer = raw(server.port, b"GET /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                              b"Authorization: Bearer " + text + b"\r\n\r\n")
    status = int(answer.split(b" ", 2)[1])
    body = answer.partition(b"\r\n\r\n")[2]
    if status >= 400:
        error = json.loads(body)["error"]
        assert error["code"] == status, answer
        assert b"namespaces" not in body
    return status


def changed(token: str, header: dict | None = None, claims: dict | None = None,
            signature: bytes | None = None) -> str:
    """A token with other parts, and the signature that it had."""
    head, body, seal = token.split(".")
    read = lambda text: json.loads(base64.urlsafe_b64decode(text + "=="))
    if header is not None:
        head = part(read(head) | header)
    if claims is not None:
        body = part(read(body) | claims)
    return ".".join((head, body, seal if signature is None else b64(signature)))


def signed(head: bytes, body: bytes, secret: bytes = auth.SECRET.encode()) -> str:
    """Any bytes as header and claims, under the server's own secret."""
    text = f"{b64(head)}.{b64(body)}"
    return text + "." + b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())


def seal_of(token: str) -> bytes:
    return base64.urlsafe_b64decode(token.split(".")[2] + "==")


def claims(issuer, **more) -> dict:
    now = int(time.time())
    return {"iss": issuer.url, "aud": "lake", "sub": "eve", "iat": now, "exp": now + 300} | more


def public_forms(issuer, kid: str) -> dict[str, bytes]:
    """What an attacker knows of a public key, as the HMAC secret of algorithm confusion."""
    key = issuer.keys[kid][1]
    jwk = issuer.jwk(kid)
    pem = auth._openssl("pkey", "-pubout", key=key)
    return {"PEM": pem, "PEM, stripped": pem.strip(), "DER": auth._openssl("pkey", "-pubout", "-outform", "DER", key=key),
            "JWK": json.dumps(jwk).encode(), "JWK, packed": json.dumps(jwk, separators=(",", ":")).encode(),
            "key set": json.dumps({"keys": [jwk]}).encode(),
            "number": base64.urlsafe_b64decode((jwk.get("n") or jwk["x"]) + "=="), "kid": kid.encode(), "empty": b""}


def test_controls_are_taken(issuers):
    server, rsa, curve = issuers
    for token in (forged({}), rsa.token("r1"), curve.token("e1")):
        assert ask(server, token) == 200


def test_a_public_key_is_no_secret(issuers):
    """RS256 and ES256 taken for HS256, with everything that is known of the keys."""
    server, rsa, curve = issuers
    for issuer, kid in ((rsa, "r1"), (curve, "e1")):
        for what, secret in public_forms(issuer, kid).items():
            for header in ({"alg": "HS256", "kid": kid}, {"alg": "HS256"}, {"alg": "RS256", "kid": kid},
                           {"alg": "ES256", "kid": kid}):
                for body in (claims(issuer), claims(issuer, iss="duckicelake", aud="duckicelake", sub="admin")):
                    token = forged(body, header=header, secret=secret)
                    assert ask(server, token) == 401, (what, header, body["iss"])


def test_keys_in_headers_are_not_looked_at(issuers):
    """jwk, jku, x5u, x5c: a token does not bring its own key, and nobody is asked for one."""
    server, rsa, _ = issuers
    with auth.issuer() as evil:
        evil.add_key("r1")
        own = evil.jwk("r1")
        for header in ({"jwk": own}, {"jku": evil.url + "/keys"}, {"x5u": evil.url + "/keys"},
                       {"jwk": own, "kid": None}, {"x5c": [b64(b"certificate")]},
                       {"jku": evil.url + "/keys", "kid": "r1", "jwk": own}):
            head = {"alg": "RS256", "kid": "r1"} | header
            head = {k: v for k, v in head.items() if v is not None}
            text = part(head) + "." + part(claims(rsa))
            seal = auth._openssl("dgst", "-sha256", key=evil.keys["r1"][1], data=text.encode())
            assert ask(server, text + "." + b64(seal)) == 401, header
        assert evil.fetches == 0
        # The same claims under the other issuer's own key and name.
        assert ask(server, evil.token("r1")) == 401
        assert ask(server, evil.token("r1", iss=rsa.url)) == 401


def test_key_ids_name_keys_and_nothing_else(issuers):
    server, rsa, _ = issuers
    for kid in ("", "../../../../dev/null", "/dev/null", "r1\x00", "R1", "r1 ", "r2", "*", "' OR '1'='1",
                "http://127.0.0.1:1/keys", "e1", "r" * 3000):
        assert ask(server, changed(rsa.token("r1"), header={"kid": kid})) == 401, kid[:30]
        assert ask(server, forged({}, header={"alg": "HS256", "kid": kid}, secret="")) == 401, kid[:30]
    for kid in (1, None, ["r1"], {"a": 1}, True):
        assert ask(server, changed(rsa.token("r1"), header={"kid": kid})) == 401, kid
    assert ask(server, forged({}, header={"alg": "HS256", "kid": ["x"]})) == 401


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", "", " ", "HS256 ", "hs256", "HS384",
                                 "HS512", "RS512", "PS256", "ES384", "EdDSA", "dir", None, 1, ["HS256"], {}])
def test_only_three_algorithms_are_known(issuers, alg):
    server, rsa, curve = issuers
    for token in (forged({}), rsa.token("r1"), curve.token("e1")):
        for seal in (None, b""):
            assert ask(server, changed(token, header={"alg": alg}, signature=seal)) == 401
    assert ask(server, forged({}, header={"alg": alg})) == 401


def test_signatures_are_whole_and_in_one_form(issuers):
    server, rsa, curve = issuers
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    number = lambda n: n.to_bytes(32, "big")
    good = curve.token("e1")
    seal = seal_of(good)
    r, s = int.from_bytes(seal[:32], "big"), int.from_bytes(seal[32:], "big")
    integer = lambda n: b"\x02" + bytes([len(raw_n := n.to_bytes(33, "big").lstrip(b"\x00") or b"\x00")]) + raw_n
    der = integer(r) + integer(s)
    wrong = {
        "(0, 0)": bytes(64), "(0, s)": bytes(32) + seal[32:], "(r, 0)": seal[:32] + bytes(32),
        "(n, n)": number(order) * 2, "(r, n)": seal[:32] + number(order), "(1, 1)": number(1) * 2,
        "(n, 0)": number(order) + bytes(32), "all ones": b"\xff" * 64,
        "as DER": b"\x30" + bytes([len(der)]) + der, "halves swapped": seal[32:] + seal[:32],
        "nothing": b"", "short": seal[:63], "long": seal + b"\x00", "leading zero": b"\x00" + seal,
        "doubled": seal * 2, "half": seal[:32], "huge": seal * 100,
    }
    for what, bad in wrong.items():
        assert ask(server, changed(good, signature=bad)) == 401, what
    for token in (forged({}), rsa.token("r1")):
        seal = seal_of(token)
        for bad in (b"", seal[:-1], seal[1:], seal + b"\x00", b"\x00" + seal, seal[::-1], bytes(len(seal)),
                    b"\xff" * len(seal), seal[:-1] + bytes([seal[-1] ^ 1]), seal * 2, hashlib.sha256(seal).digest()):
            assert ask(server, changed(token, signature=bad)) == 401, bad[:8]


def test_texts_that_are_almost_tokens(issuers):
    server, _, _ = issuers
    good = forged({})
    head, body, seal = good.split(".")
    wrong = [f"{head}.{body}", f"{head}.{body}.{seal}.", f".{head}.{body}.{seal}", f"{head}..{seal}", "..", "...", ".",
             f"{head}.{body}.{seal}.{seal}", f"{head}. {body}.{seal}", f"{head}=.{body}.{seal}", f"{head}.{body}=.{seal}",
             f"{head}.{body}.{seal}=", f"{head}.{body}.{seal}==", good + ", " + good,
             good + ";" + good, f'"{good}"', good.replace("_", "/").replace("-", "+") + "+", f"{head}.{body}.{seal}A",
             f"{head}.{body}.{seal[:-1]}", f"{head}.{body}.{seal[:-1]}{'A' if seal[-1] != 'A' else 'Q'}",
             "%65" + good[1:], "eyJ" * 2000, "." * 9000]
    for text in wrong:
        assert ask(server, text) in (400, 401), text[:60]
    # Bits that base64url leaves over have one value: a token has one spelling.
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(seal[-1])
    for other in range(last & ~3, (last & ~3) + 4):
        expected = 200 if other == last else 401
        assert ask(server, f"{head}.{body}.{seal[:-1]}{alphabet[other]}") == expected
    for text in (b"\xff\xfe\x00", b"\xc3\x28." + b"a" * 20, "ünïcode.a.b".encode(), b"a\x00b.c.d", b"\x7f"):
        assert ask(server, text) in (400, 401), text
    assert ask(server, "a" * 40000) == 431
    assert ask(server, good) == 200


def test_claims_are_of_their_kind_and_given_once(issuers):
    """Under the right secret: only a token that says one thing says anything."""
    server, _, _ = issuers
    now = int(time.time())
    head = b'{"alg":"HS256"}'
    good = {"iss": "duckicelake", "sub": "admin", "iat": now, "exp": now + 60, "scope": "*"}
    assert ask(server, signed(head, json.dumps(good).encode())) == 200
    inside = json.dumps(good)[1:-1]
    twice = ['"sub":"reader"', '"sub":"admin"', f'"exp":{now + 90000}', '"iss":"other"', '"scope":"*"', '"iat":1']
    for more in twice:
        assert ask(server, signed(head, f"{{{more},{inside}}}".encode())) == 401, more
        assert ask(server, signed(head, f"{{{inside},{more}}}".encode())) == 401, more
    for double in (b'{"alg":"none","alg":"HS256"}', b'{"alg":"HS256","alg":"none"}', b'{"alg":"HS256","kid":"a","kid":"b"}'):
        assert ask(server, signed(double, json.dumps(good).encode())) == 401, double
    wrong = [{"iss": None}, {"iss": ["duckicelake"]}, {"iss": ""}, {"iss": "duckicelake\x00"}, {"iss": "Duckicelake"},
             {"aud": "lake"}, {"aud": []}, {"aud": ["x", 1]}, {"aud": {}}, {"sub": ""}, {"sub": 1}, {"sub": ["admin"]},
             {"sub": "nobody"}, {"sub": "Admin"}, {"sub": "admin "}, {"exp": None}, {"exp": str(now + 60)},
             {"exp": True}, {"exp": [now + 60]}, {"exp": -1}, {"iat": None}, {"iat": "now"}, {"iat": now + 3600},
             {"nbf": now + 3600}, {"nbf": "x"}, {"exp": 10**400}]
    for change in wrong:
        body = {k: v for k, v in (good | change).items() if v is not None}
        assert ask(server, signed(head, json.dumps(body).encode())) in (401, 419), change
    for body in (b"", b"null", b"[]", b'"x"', b"1", b"{", b"{}", b"{}{}", inside.encode(), b"\xff\xfe", b"[" * 6000,
                 b'{"a":' * 3000, json.dumps(good).encode()[:-1] + b',"x":"\xff"}', json.dumps(good).encode() + b"x",
                 json.dumps(good).encode("utf-16")):
        assert ask(server, signed(head, body)) == 401, body[:40]
    for bad_head in (b"", b"null", b"[]", b"{}", b"{", b"[" * 3000, b'{"alg":"HS256","crit":["exp"]}',
                     b'{"alg":"HS256","crit":[]}', b'{"alg":"HS256","b64":false,"crit":["b64"]}',
                     b'{"alg":"HS256","enc":"A128GCM"}x'):
        assert ask(server, signed(bad_head, json.dumps(good).encode())) == 401, bad_head[:40]


def test_times_of_other_issuers_are_judged(issuers):
    server, rsa, curve = issuers
    now = int(time.time())
    for issuer, kid in ((rsa, "r1"), (curve, "e1")):
        for change, status in (({"exp": now - 61}, 419), ({"exp": None}, 401), ({"iat": now + 600}, 401),
                               ({"nbf": now + 600}, 401), ({"aud": "other"}, 401), ({"aud": None}, 401),
                               ({"aud": ["other", "lake"]}, 200), ({"aud": [["lake"]]}, 401),
                               ({"iss": issuer.url + "/"}, 401), ({"iss": issuer.url.upper()}, 401),
                               ({"nbf": now + 30}, 200), ({"sub": None}, 401), ({"sub": "admin"}, 401)):
            assert ask(server, issuer.token(kid, **change)) == status, (kid, change)
        # Claims of somebody else under a signature that was good for others.
        assert ask(server, changed(issuer.token(kid), claims={"sub": "other"})) == 401


def test_one_header_one_token(issuers):
    server, _, _ = issuers
    good = forged({})
    line = f"Authorization: Bearer {good}\r\n"
    for lines in (line + line, line + "Authorization: Bearer x\r\n", "authorization: Basic YTpi\r\n" + line,
                  f"Authorization: Bearer {good},Bearer {good}\r\n", f"Authorization : Bearer {good}\r\n",
                  f"Authorization:\tBearer\t{good}\r\n", f"Authorization: Bearer\r\n {good}\r\n",
                  f"Proxy-Authorization: Bearer {good}\r\n", f"X-Authorization: Bearer {good}\r\n",
                  f"Cookie: access_token={good}\r\n"):
        answer = raw(server.port, b"GET /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                     + lines.encode() + b"\r\n")
        assert answer.split(b" ", 2)[1] in (b"400", b"401"), (lines[:40], answer[:80])
    # Nor from a query or a form.
    for query in (f"?access_token={good}", f"?token={good}"):
        answer = raw(server.port, f"GET /v1/lake/namespaces{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
        assert answer.split(b" ", 2)[1] == b"401"
    session = auth.As(server, good)
    assert session.get("/namespaces").status_code == 200


def test_the_log_holds_no_tokens(issuers):
    server, rsa, _ = issuers
    tokens = [forged({}), rsa.token("r1"), changed(rsa.token("r1"), claims={"sub": "z"})]
    for token in tokens:
        ask(server, token)
    error_of(auth.As(server, "x.y.z").get("/namespaces"), 401)
    text = server.log_path.read_text(errors="replace")
    for token in tokens:
        assert token.split(".")[2] not in text and auth.SECRET not in text
