# SPDX-License-Identifier: Apache-2.0
"""Clients and tokens for tests: those of the server, and forged ones."""
from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import subprocess
import tempfile
import time

import requests

SECRET = "the secret of the tests that signs tokens"
ADMIN = ("admin", "admin-secret")


def settings(**clients: str) -> dict:
    """Settings of a server whose clients have these scopes; the secret of `a` is `a-secret`."""
    listed = [f"{ADMIN[0]}:{ADMIN[1]}"]
    listed += [f"{name}:{name}-secret|{scope}" for name, scope in clients.items()]
    return {"DUCKICELAKE_OAUTH_CLIENTS": ",".join(listed), "DUCKICELAKE_OAUTH_JWT_SECRET": SECRET}


def ask_token(server, **form) -> requests.Response:
    headers = form.pop("headers", {})
    return requests.post(f"{server.url}/v1/oauth/tokens", data=form, headers=headers, timeout=30)


def token(server, client: str = ADMIN[0], secret: str | None = None, scope: str = "catalog") -> str:
    answer = ask_token(server, grant_type="client_credentials", client_id=client,
                       client_secret=secret or f"{client}-secret", scope=scope)
    assert answer.status_code == 200, answer.text
    return answer.json()["access_token"]


def bearer(text: str) -> dict:
    return {"Authorization": f"Bearer {text}"}


class As:
    """A session of somebody: requests below /v1/<prefix> with a token."""

    def __init__(self, server, text: str):
        self.server = server
        self.token = text
        self.http = requests.Session()
        self.http.headers.update(bearer(text))

    def __call__(self, method: str, path: str, **options) -> requests.Response:
        return self.http.request(method, self.server.api + path, timeout=60, **options)

    def get(self, path: str, **options):
        return self("GET", path, **options)

    def post(self, path: str, body=None, **options):
        return self("POST", path, json=body, **options)

    def delete(self, path: str, body=None, **options):
        return self("DELETE", path, json=body, **options)


def sign_in(server, client: str = ADMIN[0], **options) -> As:
    return As(server, token(server, client, **options))


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value: dict) -> str:
    return b64(json.dumps(value).encode())


def forged(claims: dict, header: dict | None = None, secret: str | bytes = SECRET) -> str:
    """A token in the server's own form; by default one that it would take."""
    now = int(time.time())
    body = {"iss": "duckicelake", "sub": ADMIN[0], "iat": now, "exp": now + 60, "scope": "*:*:*"} | claims
    body = {k: v for k, v in body.items() if v is not None}
    text = part(header or {"alg": "HS256", "typ": "JWT"}) + "." + part(body)
    key = secret.encode() if isinstance(secret, str) else secret
    return text + "." + b64(hmac.new(key, text.encode(), hashlib.sha256).digest())


class Issuer:
    """Another issuer: keys, a discovery document and a key set on a port of its own."""

    def __init__(self):
        import http.server
        import threading
        self.keys: dict[str, tuple[str, bytes]] = {}
        self.fetches = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.fetches += 1
                if self.path == "/.well-known/openid-configuration":
                    body = {"issuer": outer.url, "jwks_uri": outer.url + "/keys"}
                else:
                    body = {"keys": [outer.jwk(kid) for kid in outer.keys]}
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *ignored):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def add_key(self, kid: str, kind: str = "RS256"):
        options = (["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ES256"
                   else ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        self.keys[kid] = (kind, _openssl("genpkey", *options))

    def jwk(self, kid: str) -> dict:
        kind, key = self.keys[kid]
        if kind == "ES256":
            point = _openssl("pkey", "-pubout", "-outform", "DER", key=key)[-64:]
            return {"kty": "EC", "crv": "P-256", "use": "sig", "kid": kid, "x": b64(point[:32]),
                    "y": b64(point[32:])}
        modulus = _openssl("rsa", "-modulus", "-noout", key=key).decode().strip().split("=")[1]
        return {"kty": "RSA", "use": "sig", "kid": kid, "alg": "RS256", "n": b64(bytes.fromhex(modulus)),
                "e": b64((65537).to_bytes(3, "big"))}

    def token(self, kid: str, **claims) -> str:
        now = int(time.time())
        kind, key = self.keys[kid]
        body = {"iss": self.url, "aud": "lake", "sub": "eve", "iat": now, "exp": now + 300} | claims
        body = {k: v for k, v in body.items() if v is not None}
        text = part({"alg": kind, "kid": kid}) + "." + part(body)
        signature = _openssl("dgst", "-sha256", key=key, data=text.encode())
        return text + "." + b64(_flat(signature) if kind == "ES256" else signature)


def _openssl(*words: str, key: bytes | None = None, data: bytes | None = None) -> bytes:
    """Runs openssl; `key` is the private key (PEM) that it works with."""
    if key is None:
        return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout
    with tempfile.NamedTemporaryFile() as file:
        file.write(key)
        file.flush()
        use = ["-sign", file.name] if words[0] == "dgst" else ["-in", file.name]
        return subprocess.run(["openssl", *words, *use], input=data, check=True, capture_output=True).stdout


def _flat(der: bytes) -> bytes:
    """An ECDSA signature as JWS has it: both numbers of 32 bytes, side by side."""
    numbers, at = [], 2
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big"))
        at += 2 + length
    return b"".join(number.to_bytes(32, "big") for number in numbers)


@contextlib.contextmanager
def issuer():
    made = Issuer()
    try:
        yield made
    finally:
        made.close()
