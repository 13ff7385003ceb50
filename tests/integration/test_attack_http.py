# SPDX-License-Identifier: Apache-2.0
"""Requests that two servers could read in two ways, and values that try to become headers or lines of the log."""
from __future__ import annotations

import json
import re
import socket
import time

import pytest
import requests
from fixtures import served_lake
from lib import auth
from lib.auth import bearer, forged, sign_in
from lib.rest import error_of
from lib.server import Server, eventually, free_port
from lib.tenants import Tenant

GATEWAY_SECRET = "a-secret-of-the-gateway-for-tests-only"
NEVER = "smuggled-and-never-served"


@pytest.fixture(scope="module")
def guarded(stack):
    port = free_port()
    yield from served_lake(
        stack, **auth.settings(reader="*:r"), DUCKICELAKE_ACCESS_LOG="INFO", DUCKICELAKE_S3_GATEWAY_ENABLED="1",
        DUCKICELAKE_S3_GATEWAY_SECRET=GATEWAY_SECRET, DUCKICELAKE_S3_GATEWAY_PORT=port,
        DUCKICELAKE_S3_GATEWAY_URL=f"http://127.0.0.1:{port}")


def ports(server) -> dict[str, int]:
    return {"catalog": server.port, "gateway": int(server.settings["DUCKICELAKE_S3_GATEWAY_PORT"])}


def statuses(answer: bytes) -> list[int]:
    """Of all answers that came, one behind the other; bodies hold no status lines."""
    return [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def talk(port: int, request: bytes, seconds: float = 3) -> bytes:
    """All that comes until the server closes, or is silent for `seconds`."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as wire:
        wire.sendall(request)
        try:
            while chunk := wire.recv(65536):
                got += chunk
        except (TimeoutError, ConnectionResetError):
            pass
    return got


INNER = f"GET /v1/lake/namespaces/{NEVER} HTTP/1.1\r\nHost: h\r\nX-Request-Id: {NEVER}\r\n\r\n".encode()
POST = b"POST /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\n"
# name: (request, statuses that are right); the inner request must never be answered.
AMBIGUOUS = {
    "CL.TE": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "TE.CL": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + INNER,
    "CL.CL": POST + b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "CL list": POST + b"Content-Length: 0, 5\r\n\r\n" + INNER,
    "CL same twice": POST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + INNER,
    "CL +": POST + b"Content-Length: +0\r\n\r\n" + INNER,
    "CL hex": POST + b"Content-Length: 0x0\r\n\r\n" + INNER,
    "CL blank": POST + b"Content-Length: 1 0\r\n\r\n" + INNER,
    "CL empty": POST + b"Content-Length:\r\n\r\n" + INNER,
    "CL huge": POST + b"Content-Length: 18446744073709551616\r\n\r\n" + INNER,
    "CL negative": POST + b"Content-Length: -0\r\n\r\n" + INNER,
    "CL with a blank before the colon": POST + b"Content-Length : 0\r\n\r\n" + INNER,
    "TE identity": POST + b"Transfer-Encoding: identity\r\n\r\n" + INNER,
    "TE chunked twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "TE list": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + INNER,
    "TE xchunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER,
    "TE with a tab": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + INNER,
    "TE folded": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + INNER,
    "TE of HTTP/1.0": POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "folded": POST + b"X: a\r\n b\r\n\r\n" + INNER,
    "bare LF": POST + b"X: a\nContent-Length: 0\r\n\r\n" + INNER,
    "bare LF line end": b"GET /healthz HTTP/1.1\nHost: h\n\n" + INNER,
    "bare CR": POST + b"X: a\rContent-Length: 0\r\n\r\n" + INNER,
    "NUL in a value": POST + b"X: a\x00b\r\n\r\n" + INNER,
    "NUL in a name": POST + b"X\x00: a\r\n\r\n" + INNER,
    "no colon": POST + b"Content-Length\r\n\r\n" + INNER,
    "no name": POST + b": x\r\n\r\n" + INNER,
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + INNER,
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n" + INNER,
    "host with a path": b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n" + INNER,
    "host list": b"GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n" + INNER,
    "blanks in the line": b"GET  /healthz HTTP/1.1\r\nHost: h\r\n\r\n" + INNER,
    "blank behind the line": b"GET /healthz HTTP/1.1 \r\nHost: h\r\n\r\n" + INNER,
    "tab in the line": b"GET\t/healthz HTTP/1.1\r\nHost: h\r\n\r\n" + INNER,
    "two versions": b"GET /healthz HTTP/1.1 HTTP/1.1\r\nHost: h\r\n\r\n" + INNER,
    "HTTP/1.10": b"GET /healthz HTTP/1.10\r\nHost: h\r\n\r\n" + INNER,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + INNER,
    "no version": b"GET /healthz\r\n" + INNER,
    "chunk size +": POST + b"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n" + INNER,
    "chunk size 0x": POST + b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + INNER,
    "chunk size huge": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 17 + b"\r\n\r\n" + INNER,
    "chunk size overflow": POST + b"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + INNER,
    "chunk with LF": POST + b"Transfer-Encoding: chunked\r\n\r\n0\n\n" + INNER,
    "chunk data without CRLF": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\naXX0\r\n\r\n" + INNER,
    "chunk extension with LF": POST + b"Transfer-Encoding: chunked\r\n\r\n0;a\nb\r\n\r\n" + INNER,
    "trailer with a bare LF": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\n\r\n\r\n" + INNER,
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused_and_ends_the_connection(guarded, name):
    """To nobody, and to somebody who is let in, who would have had the body read."""
    token = f"Authorization: Bearer {forged({})}\r\n".encode()
    request = AMBIGUOUS[name]
    first_line, _, rest = request.partition(b"\r\n")
    for port_name, port in ports(guarded).items():
        for sent in (request, first_line + b"\r\n" + token + rest):
            answer = talk(port, sent)
            found = statuses(answer)
            assert len(found) == 1, (port_name, name, answer)
            assert found[0] in (400, 401, 403, 405, 408, 413, 417, 431, 501, 505), (port_name, answer[:200])
            assert NEVER.encode() not in answer
    assert NEVER not in guarded.log_path.read_text(errors="replace")


def test_controls_are_served(guarded):
    """The same requests in their one right form, several on a connection."""
    token = f"Authorization: Bearer {forged({})}\r\n".encode()
    body = json.dumps({"namespace": ["control"]}).encode()
    last = b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    whole = POST + token + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    assert statuses(talk(guarded.port, whole + last)) == [200, 200]
    pieces = POST + token + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + \
        b"".join(b"1;x=y\r\n" + bytes([c]) + b"\r\n" for c in body) + b"0\r\nTrailer: x\r\n\r\n"
    assert statuses(talk(guarded.port, pieces + last)) == [409, 200]


HUGE = 60_000_000


def until_answered(port: int, head: bytes, megabytes: float = 0) -> tuple[bytes, int]:
    """Sends a head, and a body until an answer comes: the answer, and how much of the body was taken."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(head)
        sent = 0
        wire.settimeout(5)
        if megabytes:
            block = b"x" * 65536
            try:
                while sent < megabytes * 1e6:
                    sent += wire.send(block)
            except OSError:
                pass
        try:
            return wire.recv(65536), sent
        except ConnectionResetError:
            return b"", sent


LENGTHS = ["Content-Length: %d\r\n" % HUGE, "Content-Length: %d\r\nExpect: 100-continue\r\n" % HUGE]
CHUNKED = "Transfer-Encoding: chunked\r\n"
TO_A_HEAD = [
    ("", "/v1/lake/namespaces", 401),
    ("Authorization: Bearer x.y.z\r\n", "/v1/lake/namespaces", 401),
    ("Authorization: Bearer EXPIRED\r\n", "/v1/lake/namespaces", 419),
    ("Authorization: Bearer VOID\r\n", "/v1/lake/namespaces", 401),
    ("Authorization: Bearer READER\r\n", "/v1/lake/namespaces", 403),
    ("Authorization: Bearer GOOD\r\n", "/v1/lake/none", 404),
    ("", "/v1/lake/none", 404),
    ("Authorization: Bearer GOOD\r\n", "/v1/none/namespaces", 404),
    ("Authorization: Bearer GOOD\r\n", "/v1/config", 405),
    ("", "/v1/oauth/tokens", 413),
    ("", "/v1/aws/s3/sign", 401),
]


# The token endpoint is open to all, up to a length, which a chunked body does not tell.
@pytest.mark.parametrize("headers,path,status,framing", [
    (*case, framing) for case in TO_A_HEAD for framing in [*LENGTHS, CHUNKED]
    if (case[1], framing) != ("/v1/oauth/tokens", CHUNKED)])
def test_nobody_sends_a_body_before_he_is_let_in(guarded, headers, path, status, framing):
    """The answer comes to the head alone: not one byte of the body was asked for."""
    now = int(time.time())
    for word, token in {"EXPIRED": forged({"iat": now - 90, "exp": now - 30}), "GOOD": forged({}),
                        "READER": forged({"sub": "reader"}), "VOID": forged({"sub": "gone"})}.items():
        headers = headers.replace(word, token)
    answer, _ = until_answered(guarded.port, f"POST {path} HTTP/1.1\r\nHost: h\r\n{headers}{framing}\r\n".encode())
    assert statuses(answer) == [status], answer
    assert b"100 Continue" not in answer and b"connection: close" in answer.lower()


def test_bodies_of_strangers_cost_no_memory(guarded):
    before = guarded.rss_bytes()
    wires = []
    try:
        for _ in range(20):
            wire = socket.create_connection(("127.0.0.1", guarded.port), timeout=10)
            wires.append(wire)
            wire.sendall(b"POST /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % HUGE)
            wire.setblocking(False)
        block = b"x" * 1_000_000
        for _ in range(30):
            for wire in wires:
                try:
                    wire.send(block)
                except OSError:
                    pass
        assert guarded.rss_bytes() - before < 20_000_000
    finally:
        for wire in wires:
            wire.close()
    assert requests.get(f"{guarded.url}/healthz", timeout=10).status_code == 200


def test_who_is_let_in_is_asked_for_the_body(guarded):
    """Expect: 100-continue is honoured, with a large body and a small one."""
    admin = sign_in(guarded)
    for size in (100, 5_000_000):
        body = json.dumps({"namespace": [f"expect{size}"], "properties": {"a": "x" * size}}).encode()
        with socket.create_connection(("127.0.0.1", guarded.port), timeout=10) as wire:
            wire.sendall(f"POST /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\n"
                         f"Authorization: Bearer {admin.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            assert wire.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
            wire.sendall(body)
            got = b""
            while chunk := wire.recv(65536):
                got += chunk
        assert statuses(got)[0] in (200, 400), got[:300]
        assert (statuses(got)[0] == 200) == (size == 100) or b"properties" in got


def test_rules_that_change_while_a_body_comes_count(guarded):
    """The gate is asked again when the body is there."""
    admin = sign_in(guarded)
    made = admin.post("/admin/clients", {"client-id": "slow", "scope": "*"})
    token = auth.token(guarded, "slow", made.json()["client-secret"])
    body = json.dumps({"namespace": ["too_late"], "properties": {"a": "x" * 200_000}}).encode()
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=10) as wire:
        wire.sendall(f"POST /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n"
                     f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert wire.recv(65536).startswith(b"HTTP/1.1 100 ")
        wire.sendall(body[:1000])
        assert admin.post("/admin/clients/slow", {"scope": "*:r"}).status_code == 200
        wire.sendall(body[1000:])
        answer = wire.recv(65536)
        assert statuses(answer) == [403], answer
    assert ["too_late"] not in admin.get("/namespaces").json()["namespaces"]
    assert admin.delete("/admin/clients/slow").status_code == 200


def test_a_body_for_a_catalog_out_of_reach_is_not_asked_for(guarded):
    """Nor is one for a catalog that does not exist: both answers are the same, and one that may be reached asks."""
    admin = sign_in(guarded)
    Tenant(guarded, "theirs", auth.bearer(admin.token), account_id="them").close()
    made = admin.post("/admin/clients", {"client-id": "ours", "scope": "*:rw", "account": "us"})
    token = auth.token(guarded, "ours", made.json()["client-secret"])

    def ask(catalog: str, text: str, size: int) -> bytes:
        answer, _ = until_answered(guarded.port, f"POST /v1/{catalog}/namespaces HTTP/1.1\r\nHost: h\r\nX-Request-Id: same\r\n"
                                   f"Authorization: Bearer {text}\r\nContent-Length: {size}\r\nExpect: 100-continue\r\n\r\n".encode())
        return re.sub(rb"date: [^\r]*", b"", answer, flags=re.I)
    for size in (HUGE, 100):
        there, not_there = ask("theirs", token, size), ask("nobody", token, size)
        assert there.replace(b"theirs", b"nobody") == not_there
        assert b"100 Continue" in there or statuses(there) == [404]
        assert (b"100 Continue" in there) == (size == 100), there
        assert ask("theirs", admin.token, size).startswith(b"HTTP/1.1 100 ")
    assert admin.delete("/admin/clients/ours").status_code == 200


SPLITS = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\r\n\r\n<html>", "a\rX-Evil: 1", "a\x00b", "é\r\nX-Evil: 1",
          "a\u2028X-Evil", "a\x85X-Evil: 1", '{"level":"ERROR"}', 'a","level":"CRITICAL","x":"']


@pytest.mark.parametrize("value", SPLITS)
def test_values_become_no_headers_and_no_lines(guarded, value):
    """Through every door of a text: path, query, body, id of the request; into answers and the log."""
    admin = sign_in(guarded)
    quoted = requests.utils.quote(value, safe="")
    attempts = [
        lambda: admin.get(f"/namespaces/{quoted}"), lambda: admin.get(f"/namespaces/{quoted}/tables/{quoted}"),
        lambda: admin.get("/namespaces", params={"parent": value}),
        lambda: admin.get("/namespaces", params={"pageToken": value}),
        lambda: requests.get(f"{guarded.url}/v1/config", params={"warehouse": value}, timeout=30),
        lambda: admin.get("/governance/audit", params={"principal": value}),
        lambda: admin.post("/namespaces", {"namespace": [value]}),
        lambda: admin.post("/tables/rename", {"source": {"namespace": [value], "name": value},
                                              "destination": {"namespace": [value], "name": value}}),
        lambda: admin.post("/governance/roles", {"name": value}),
        lambda: admin.post("/admin/clients", {"client-id": value, "scope": value}),
        lambda: admin.post("/admin/clients", {"client-id": "x", "scope": value}),
        lambda: auth.ask_token(guarded, grant_type=value, client_id=value, client_secret=value, scope=value),
        lambda: requests.get(f"{guarded.url}/v1/{quoted}/namespaces", headers=bearer(admin.token), timeout=30),
        lambda: requests.get(f"{guarded.url}/{quoted}", timeout=30),
    ]
    for attempt in attempts:
        answer = attempt()
        assert answer.status_code < 500, answer.text
        assert not any("evil" in name.lower() for name in answer.headers)
        assert answer.headers["Content-Type"].startswith("application/json")
        answer.json()
        assert all("\r" not in v and "\n" not in v for v in answer.headers.values())
        if answer.ok and answer.request.method == "POST" and "/namespaces" in answer.url:
            assert admin.delete(f"/namespaces/{quoted}").status_code == 204
        if answer.ok and "/governance/roles" in answer.url:
            assert admin.delete(f"/governance/roles/{quoted}").status_code == 200
    eventually("the log has come", lambda: "duckicelake.access" in guarded.log_path.read_text(errors="replace"))
    for line in guarded.log_path.read_text(errors="replace").split("\n")[:-1]:
        entry = json.loads(line)
        assert entry["level"] in ("DEBUG", "INFO", "WARNING", "ERROR"), line
        assert not line.startswith("X-Evil")


def test_ids_of_requests_are_plain(guarded):
    for value in ("a\tb", "a b", "ä", "a;b", "x" * 129, '"', "<script>", "${jndi:x}", "%0d%0a"):
        answer = requests.get(f"{guarded.url}/healthz", headers={"X-Request-Id": value.encode()}, timeout=30)
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", answer.headers["X-Request-Id"]), value
        assert answer.headers["X-Request-Id"] != value


def test_there_is_no_cors(guarded):
    """Other origins' pages read nothing: no header says that they may, whatever they ask."""
    admin = sign_in(guarded)
    origin = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
              "Access-Control-Request-Headers": "authorization"}
    for url in (f"{guarded.url}/v1/config", f"{guarded.api}/namespaces", f"{guarded.url}/v1/oauth/tokens"):
        for method in ("OPTIONS", "GET", "POST"):
            for headers in (origin, origin | bearer(admin.token)):
                answer = requests.request(method, url, headers=headers, timeout=30)
                assert not [h for h in answer.headers if h.lower().startswith("access-control-")], (method, url)
                assert "evil.example" not in answer.text
        answer = requests.options(url, headers=origin, timeout=30)
        error_of(answer, 405)
        assert "OPTIONS" not in answer.headers["Allow"]
    star = talk(guarded.port, b"OPTIONS * HTTP/1.1\r\nHost: h\r\nOrigin: https://evil.example\r\nConnection: close\r\n\r\n")
    assert statuses(star) == [204] and b"access-control" not in star.lower()
    gateway = talk(ports(guarded)["gateway"], b"OPTIONS /b/k HTTP/1.1\r\nHost: h\r\nOrigin: https://evil.example\r\n"
                   b"Access-Control-Request-Method: GET\r\nConnection: close\r\n\r\n")
    assert statuses(gateway)[0] in (400, 403) and b"access-control" not in gateway.lower()


def test_answers_are_no_web_pages(guarded):
    """What a browser would do with an answer that quotes its request: show text."""
    for path in ("/v1/%3Cscript%3E/namespaces", "/%3Cscript%3Ealert(1)%3C/script%3E", "/v1/config?warehouse=%3Cscript%3E"):
        answer = requests.get(guarded.url + path, timeout=30)
        assert answer.headers["Content-Type"].startswith("application/json"), path


def test_a_slow_head_ends(guarded):
    """One byte a second is not a request."""
    other = Server(guarded.lake, **guarded.settings | {
        "DUCKICELAKE_PORT": free_port(), "DUCKICELAKE_S3_GATEWAY_ENABLED": "0", "DUCKICELAKE_HEADER_TIMEOUT_SECONDS": "1",
        "DUCKICELAKE_BODY_TIMEOUT_SECONDS": "1"})
    other.port = int(other.settings["DUCKICELAKE_PORT"])
    other.url = f"http://127.0.0.1:{other.port}"
    other.start()
    try:
        begin = time.monotonic()
        with socket.create_connection(("127.0.0.1", other.port), timeout=10) as wire:
            got = b""
            for byte in b"GET /healthz HTTP/1.1\r\n":
                try:
                    wire.sendall(bytes([byte]))
                    wire.settimeout(0.3)
                    got = wire.recv(1000)
                    break
                except TimeoutError:
                    continue
                except OSError:
                    break
            assert time.monotonic() - begin < 5
            assert got == b"" or statuses(got) == [408]
        token = forged({})
        with socket.create_connection(("127.0.0.1", other.port), timeout=10) as wire:
            wire.sendall(f"POST /v1/lake/namespaces HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n"
                         "Content-Length: 100\r\n\r\n{".encode())
            assert statuses(wire.recv(65536)) == [408]
    finally:
        assert other.stop() == 0
