# SPDX-License-Identifier: Apache-2.0
"""Names and paths that look like others: on REST, for the signer, and through the gateway."""
from __future__ import annotations

import re
import unicodedata
import urllib.parse

import pytest
import sigv4
from fixtures import served_lake
from lib import auth, raw_s3
from lib.auth import sign_in
from lib.rest import raw
from lib.server import Server, encoded, free_port
from test_vend_matrix import VENDED, Ground, key_of, keys_of

NFC = unicodedata.normalize("NFC", "Zoë-café")
NFD = unicodedata.normalize("NFD", NFC)
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}


def gateway_settings() -> dict:
    port = free_port()
    return {"DUCKICELAKE_S3_GATEWAY_ENABLED": "1", "DUCKICELAKE_S3_GATEWAY_PORT": port,
            "DUCKICELAKE_S3_GATEWAY_SECRET": "a-secret-of-the-gateway-for-tests-only",
            "DUCKICELAKE_S3_GATEWAY_URL": f"http://127.0.0.1:{port}"}


def scope_word(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() or c in "-_" else
                   "".join(f"%{b:02X}" for b in c.encode()) for c in name)


@pytest.fixture(scope="module")
def walled(stack):
    """Schemas whose names are one to the eye, each with a table; clients of one schema each."""
    clients = {"nfc": f"ns:{scope_word(NFC)}:rw", "nfd": f"ns:{scope_word(NFD)}:rw", "paths": "ns:paths:rw"}
    yield from served_lake(stack, **auth.settings(**clients))


@pytest.fixture(scope="module")
def ground(walled):
    walled.http.headers.update(auth.bearer(sign_in(walled).token))
    return Ground(walled, "paths")


@pytest.fixture(scope="module")
def gated(walled):
    """The same lake without STS: its bytes go through the gateway, or are signed for."""
    server = Server(walled.lake, **walled.settings | {"DUCKICELAKE_PORT": free_port(), "DUCKICELAKE_STS_ENDPOINT": "none"}
                    | gateway_settings())
    server.port = int(server.settings["DUCKICELAKE_PORT"])
    server.url, server.api = f"http://127.0.0.1:{server.port}", f"http://127.0.0.1:{server.port}/v1/lake"
    server.start()
    yield server
    server.stop()


PATHS = [  # {t}: /namespaces/paths/tables/orders, of a client that may read it
    "//v1/lake{t}", "/v1//lake{t}", "/v1/lake/{t}", "/v1/lake{t}/", "/v1/lake{t}//", "/v1/./lake{t}",
    "/v1/lake/../lake{t}", "/v1/lake/%2e%2e/lake{t}", "/v1/lake/.%2e/lake{t}", "/v1/lake/%2E/..%2Flake{t}",
    "/v1/lake%2F{t}", "/v1/lake/namespaces/paths%2Ftables%2Forders", "/v1/lake/namespaces/paths/tables%2Forders",
    "/v1/lake{t};x=y", "/v1;x=y/lake{t}", "/v1/lake{t}%00", "/v1/lake{t}%00.json", "/v1/lake{t}%20",
    "/v1/lake/namespaces/%00paths/tables/orders", "/v1/lake/namespaces/paths/tables/orders%0a",
    "/v1/lake/namespaces/paths/tables/%6Frders%2F..%2Forders", "/v1/lake/namespaces/other/../paths/tables/orders",
    "/v1/lake/namespaces/paths/tables/..%5Corders", "/v1\\lake{t}", "/v1/lake{t}\\..", "\\v1\\lake{t}",
    "/v1/lake/namespaces/%c0%aepaths/tables/orders", "/v1/lake/namespaces/paths%c0%afx/tables/orders",
    "/v1/lake/namespaces/%e0%80%afpaths/tables/orders", "/v1/lake/namespaces/%f0%80%80%afpaths/tables/orders",
    "/v1/lake/namespaces/%ed%a0%80paths/tables/orders", "/v1/lake/namespaces/%f4%90%80%80/tables/orders",
    "/v1/lake/namespaces/%u0070aths/tables/orders", "/v1/lake/namespaces/%zz/tables/orders",
    "/v1/lake/namespaces/paths%/tables/orders", "/v1/lake/namespaces/paths%2/tables/orders",
    "/v1/lake/namespaces/paths%252Fx/tables/orders", "/v1/LAKE{t}", "/V1/lake{t}", "/v1/lake/Namespaces/paths/tables/orders",
    "/v1/lake/namespaces/PATHS/tables/orders", "/v1/lake/namespaces/paths/tables/ORDERS",
    "/v1/lake/namespaces/paths%1F/tables/orders", "/v1/lake/namespaces/%1Fpaths/tables/orders",
    "/v1/lake/namespaces/paths/tables/orders%1Fx", "/v1/lake/namespaces/paths%1Ftables/tables/orders",
    "/v1/lake/namespaces/p%C2%ADaths/tables/orders", "/v1/lake/namespaces/paths%E2%80%8B/tables/orders",
    "/v1/lake/namespaces/%EF%BC%90aths/tables/orders", "http://h/v1/lake/../lake{t}", "*", "v1/lake{t}",
    "?/v1/lake{t}", "/?/v1/lake{t}", "#/v1/lake{t}", "/healthz/../v1/lake{t}", "/healthz%2F..%2Fv1%2Flake{t}",
    "/v1/config/../lake{t}", "/v1/oauth/tokens/../../lake{t}",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_other_spelling_opens_a_table(walled, ground, path):
    target = path.replace("{t}", "/namespaces/paths/tables/orders")
    for token in (sign_in(walled).token, sign_in(walled, "nfc").token, None):
        line = f"Authorization: Bearer {token}\r\n" if token else ""
        answer = raw(walled.port, f"GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{line}\r\n".encode("latin-1"), 3)
        status = int(answer.split(b" ", 2)[1])
        assert 400 <= status < 500, answer[:300]
        assert b"metadata-location" not in answer and b"Traceback" not in answer


def test_controls_open_the_table(walled, ground):
    token = sign_in(walled, "paths").token
    for target in ("/v1/lake/namespaces/paths/tables/orders", "/v1/l%61ke/namespaces/p%61ths/tables/%6Frders",
                   "http://other.example/v1/lake/namespaces/paths/tables/orders", "/v1/lake/namespaces/paths/tables/orders?",
                   "/v1/lake/namespaces/paths/tables/orders?x=/../y"):
        answer = raw(walled.port, f"GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                     f"Authorization: Bearer {token}\r\n\r\n".encode(), 3)
        assert answer.startswith(b"HTTP/1.1 200 ") and b"metadata-location" in answer, target


# --- twins

@pytest.fixture(scope="module")
def twins(walled, ground):
    session = walled.lake.session()
    folders = {}
    for name in (NFC, NFD):
        session.execute(f'CREATE SCHEMA lake."{name}"')
        for table in (NFC, NFD):
            session.execute(f'CREATE TABLE lake."{name}"."{table}" AS SELECT range AS id, '
                            f"'secret {len(name)} {len(table)}' AS s FROM range(3000)")
            folders[name, table] = walled.load(name, table)["metadata"]["location"]
    return folders


def test_twins_are_two(walled, twins):
    assert len(NFC) != len(NFD) and len(set(twins.values())) == 4
    uuids = {walled.load(*names)["metadata"]["table-uuid"] for names in twins}
    assert len(uuids) == 4
    for who, own, other in (("nfc", NFC, NFD), ("nfd", NFD, NFC)):
        session = sign_in(walled, who)
        assert session.get(f"/namespaces/{encoded(own)}/tables/{encoded(own)}").status_code == 200
        assert session.get(f"/namespaces/{encoded(other)}/tables/{encoded(own)}").status_code == 403
        assert session.get("/namespaces").json()["namespaces"] == [[own]]


def test_a_grant_is_one_twin_s(walled, twins):
    admin, reader = sign_in(walled), sign_in(walled, "nfc")
    assert admin.post("/governance/roles", {"name": "twins"}).status_code in (200, 409)
    body = {"object-kind": "table", "schema": NFC, "object": NFC, "privilege": "select", "role": "twins"}
    assert admin.post("/governance/object-grants", body).status_code == 200
    try:
        assert reader.get(f"/namespaces/{encoded(NFC)}/tables/{encoded(NFC)}").status_code == 404
        assert reader.get(f"/namespaces/{encoded(NFC)}/tables/{encoded(NFD)}").status_code == 200
    finally:
        assert admin.delete("/governance/object-grants", body).status_code == 200


def data_file(root, location: str) -> tuple[str, bytes]:
    prefix = key_of(location) + "/"
    listed = root.request("GET", "", "list-type=2&prefix=" + urllib.parse.quote(prefix, safe=""))
    import html
    keys = [html.unescape(k.decode()) for k in re.findall(rb"<Key>(.*?)</Key>", listed.body)]
    key = next(k for k in keys if k.endswith(".parquet") and "metadata" not in k)
    return key, root.request("GET", key).body


def ways_of(server, place, who: str, schema: str, table: str) -> dict[str, raw_s3.Way]:
    session = sign_in(server, who)
    path = f"/namespaces/{encoded(schema)}/tables/{encoded(table)}"
    vended = session.get(path, headers=VENDED).json()["config"]
    signing = session.get(path, headers={"X-Iceberg-Access-Delegation": "remote-signing"}).json()["config"]
    found: dict[str, raw_s3.Way] = {}
    if "s3.access-key-id" in vended:
        found["keys"] = raw_s3.Keyed(place._replace(endpoint=vended["s3.endpoint"]), keys_of(vended))
    found["signer"] = raw_s3.RemotelySigned(place, f"{server.url}/{signing['s3.signer.endpoint']}", auth.bearer(session.token))
    return found


def test_no_key_of_one_twin_opens_another(walled, gated, ground, twins):
    files = {names: data_file(ground.root, location) for names, location in twins.items()}
    opened = 0
    for server in (walled, gated):
        for who, name in (("nfc", NFC), ("nfd", NFD)):
            for table in (NFC, NFD):
                for kind, way in ways_of(server, ground.place, who, name, table).items():
                    for names, (key, content) in files.items():
                        answer = way.request("GET", key)
                        if names == (name, table):
                            assert answer.status == 200 and answer.body == content, (kind, names)
                            opened += 1
                        else:
                            assert answer.status == 403 and content not in answer.body, (kind, names)
    assert opened >= 12


# --- the paths of S3

TRICKS = [  # {f}: the own folder, {o}: a sibling's object, {n}: the sibling's name, {k}: an own object's rest
    "{f}../{o}", "{f}%2e%2e/{o}", "{f}.%2e/{o}", "{f}%2E%2E%2F{o}", "{f}..%2f{o}", "{f}..%5c{o}", "{f}..\\{o}", "{f}./{k}",
    "{f}/{k}", "/{f}{k}", "./{f}{k}", "../{b}/{f}{k}", "{f}{k}/", "{f}{k}/.", "{f}{k}/..", "{f}{k}%00", "{f}{k}%00.x",
    "{f}%00/../{o}", "{f}..%00/{o}", "{f}{k}%0d%0ax-amz-acl:public-read", "{f}%c0%ae%c0%ae/{o}",
    "{f}%e0%80%ae%e0%80%ae/{o}", "{f}%u002e%u002e/{o}", "{f}%zz", "{f}%",
    "{f}%ff%fe", "{F}{k}", "{s}", "{s}%2F", "{s}2%2F..%2F", "{f}x/../../{o}", "{f}x/%2e%2e/%2e%2e/{o}",
]

NAMES = ["{f}..;/x", "{f}%252e%252e/x", "{f}%252e%252e%252fx", "{f}{k}%20", "{f}...", "{f}.../x", "{f}p=a%252Fb/x"]


def spelled(ground, trick: str) -> str:
    own, sibling = ground.targets["own data"][0], ground.targets["sibling 2"][0]
    parent = ground.folder.rsplit("/", 2)[0] + "/"
    return (trick.replace("{f}", ground.folder).replace("{F}", ground.folder.upper())
            .replace("{s}", ground.folder[:-1]).replace("{o}", sibling.removeprefix(parent))
            .replace("{k}", own.removeprefix(ground.folder)).replace("{b}", ground.place.bucket))


@pytest.mark.parametrize("trick", TRICKS)
def test_no_path_leads_out_of_a_folder(gated, ground, trick):
    """Signed as it is sent, and as S3 would read it: the gateway and the signer refuse both."""
    ways = ways_of(gated, ground.place, "paths", "paths", "orders")
    path = f"/{ground.place.bucket}/{spelled(ground, trick)}"
    secrets = [content for name, (_, content) in ground.targets.items() if name not in ground.own]
    gateway = ways["keys"]
    forms = {path, urllib.parse.quote(urllib.parse.unquote(path, errors="replace"), safe="/-_.~")}
    for method, body in (("GET", b""), ("HEAD", b""), ("PUT", b"evil")):
        for form in forms:
            headers = sigv4.signed_headers(method, gateway.place.endpoint + form, body, gateway.keys, ground.place.region, "s3")
            answer = send_raw(gateway.place.endpoint, method, path, headers, body)
            assert answer.status in (400, 403, 404), (method, form, answer)
            assert not any(content in answer.body for content in secrets)
        signed = ways["signer"].sign(method, ground.place.endpoint + path)
        assert signed.status_code == 403, (trick, signed.text)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_only_look_like_ways_out_are_names(gated, ground, name):
    """Decoded once, and once only: an object below the folder, by the name that was sent."""
    ways = ways_of(gated, ground.place, "paths", "paths", "orders")
    key = urllib.parse.unquote(spelled(ground, name))
    for way in ways.values():
        content = str(way).encode()
        assert way.request("PUT", key, body=content).status == 200
        assert way.request("GET", key).body == content == ground.root.request("GET", key).body


def send_raw(endpoint: str, method: str, path: str, headers: dict, body: bytes) -> sigv4.Answer:
    """A path as it stands: no library that tidies it up."""
    import http.client
    host = urllib.parse.urlsplit(endpoint)
    lines = [f"{method} {path} HTTP/1.1"] + [f"{k}: {v}" for k, v in headers.items()] + ["connection: close"]
    if body:
        lines.append(f"content-length: {len(body)}")
    import socket
    with socket.create_connection((host.hostname, host.port), timeout=10) as wire:
        wire.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)
        response = http.client.HTTPResponse(wire, method=method)
        response.begin()
        return sigv4.Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def test_nothing_of_all_that_was_changed(ground):
    for key, content in ground.targets.values():
        assert ground.root.request("GET", key).body == content
    listed = ground.root.request("GET", "", "list-type=2&prefix=" + urllib.parse.quote(key_of(ground.lake.data_path), safe=""))
    assert b"evil" not in listed.body


def test_the_gateway_opens_the_same_folder_by_its_one_path(gated, ground):
    """The control of all refusals above."""
    way = ways_of(gated, ground.place, "paths", "paths", "orders")["keys"]
    key, content = ground.targets["own data"]
    path = f"/{ground.place.bucket}/{key}"
    headers = sigv4.signed_headers("GET", way.place.endpoint + path, b"", way.keys, ground.place.region, "s3")
    assert send_raw(way.place.endpoint, "GET", path, headers, b"").body == content
    odd = ground.folder + "data/a b+c%é(1)'*!.parquet"
    assert way.request("PUT", odd, body=b"odd").status == 200
    assert way.request("GET", odd).body == b"odd" == ground.root.request("GET", odd).body
