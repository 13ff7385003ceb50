# SPDX-License-Identifier: Apache-2.0
"""A-13: the URLs that clients are given are those that they can reach, and only proxies that are known say which."""
from __future__ import annotations

import http.client
import json

import pyarrow as pa
import pytest
from lib.proxy import Proxy
from lib.server import Server, command
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io import fsspec

SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}
PROXY = "127.0.0.2"  # an address of its own on this machine: who comes from there is the proxy


@pytest.fixture(scope="module")
def trusting(server):
    server.lake.session().execute("CREATE SCHEMA lake.public; CREATE TABLE lake.public.t AS SELECT range AS id FROM range(3000)")
    other = Server(server.lake, DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_TRUSTED_PROXIES=f"{PROXY}/32, 10.0.0.0/8").start()
    yield other
    other.stop()


@pytest.fixture(scope="module")
def trusting_none(trusting):
    other = Server(trusting.lake, DUCKICELAKE_STS_ENDPOINT="none").start()
    yield other
    other.stop()


def load(server, source: str = PROXY, path: str = "/v1/lake/namespaces/public/tables/t", **headers) -> dict:
    wire = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(source, 0))
    try:
        wire.request("GET", path, headers=SIGNING | {k.replace("_", "-"): v for k, v in headers.items()})
        answer = wire.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)
    finally:
        wire.close()


def urls(server, **headers) -> set[str]:
    """All that an answer says about where this server is."""
    config = load(server, **headers)["config"]
    document = load(server, path="/openapi.json", **headers)
    return {config["s3.signer.uri"], *(s["url"] for s in document["servers"])}


HEADERS = [  # (headers, what clients see)
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example"}, "https://lake.example"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example", "X_Forwarded_Prefix": "/lake"}, "https://lake.example/lake"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example", "X_Forwarded_Prefix": "/lake/"}, "https://lake.example/lake"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example:8443"}, "https://lake.example:8443"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example:8443", "X_Forwarded_Port": "8443"}, "https://lake.example:8443"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example", "X_Forwarded_Port": "8443"}, "https://lake.example:8443"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "lake.example", "X_Forwarded_Port": "443"}, "https://lake.example"),
    ({"X_Forwarded_Proto": "http", "X_Forwarded_Host": "lake.example", "X_Forwarded_Port": "80"}, "http://lake.example"),
    ({"X_Forwarded_Proto": "https, http", "X_Forwarded_Host": "outer.example, inner.example"}, "https://outer.example"),
    ({"X_Forwarded_Proto": "https", "X_Forwarded_Host": "[2001:db8::1]:8443"}, "https://[2001:db8::1]:8443"),
    ({"Host": "direct.example"}, "http://direct.example"),
    ({"Host": "direct.example", "X_Forwarded_Proto": "https"}, "https://direct.example"),
]


@pytest.mark.parametrize("headers,seen", HEADERS, ids=[s for _, s in HEADERS])
def test_a13_a_known_proxy_says_where_clients_are(trusting, headers, seen):
    assert urls(trusting, **headers) == {seen}


@pytest.mark.parametrize("headers", [h for h, _ in HEADERS[:-2]] + [{"Forwarded": "proto=https;host=evil.example"},
                                                                   {"X_Forwarded_For": PROXY}, {"X_Real_IP": PROXY}])
def test_a13_nobody_else_does(trusting, trusting_none, headers):
    plain = load(trusting, source="127.0.0.1")["config"]["s3.signer.uri"]
    assert plain == trusting.url
    assert urls(trusting, source="127.0.0.1", **headers) == {plain}
    assert urls(trusting, source="127.0.0.3", **headers) == {plain}
    # Where no proxy is known, nobody is one.
    assert urls(trusting_none, **headers) == {trusting_none.url}


@pytest.mark.parametrize("headers", [
    {"X_Forwarded_Proto": "javascript", "X_Forwarded_Host": "lake.example"}, {"X_Forwarded_Host": "a b"},
    {"X_Forwarded_Host": "evil/x"}, {"X_Forwarded_Host": "user@evil"}, {"X_Forwarded_Host": "evil?x"}, {"X_Forwarded_Host": "evil#x"},
    {"X_Forwarded_Host": 'evil"'}, {"X_Forwarded_Port": "0"}, {"X_Forwarded_Port": "99999"}, {"X_Forwarded_Port": "80x"},
    {"X_Forwarded_Prefix": "//evil.example"}, {"X_Forwarded_Prefix": "/a/../b"}, {"X_Forwarded_Prefix": "/a?b"},
    {"X_Forwarded_Prefix": "x"}, {"X_Forwarded_Prefix": "/a\\b"}])
def test_a13_what_is_no_url_does_not_become_one(trusting, headers):
    for url in urls(trusting, Host="direct.example", **headers):
        assert url.startswith(("http://direct.example", "http://lake.example")), url
        assert not any(c in url[8:] for c in ' "\'<>\\?#@') and "//" not in url[8:] and "evil" not in url, url


def test_a13_the_setting_wins(trusting):
    fixed = Server(trusting.lake, DUCKICELAKE_STS_ENDPOINT="none", DUCKICELAKE_TRUSTED_PROXIES=PROXY,
                   DUCKICELAKE_PUBLIC_URL="https://lake.example/outer/").start()
    try:
        for headers, _ in HEADERS:
            assert urls(fixed, **headers) == {"https://lake.example/outer"}
        config = load(fixed)["config"]
        assert config["s3.signer.endpoint"] == "v1/lake/namespaces/public/tables/t/sign"
    finally:
        fixed.stop()


def test_proxies_that_are_none_are_refused(server):
    for bad in ("x", "127.0.0.1/33", "127.0.0.1/", "::1/129", "127.0.0.256", "*"):
        done = command(server.lake, "doctor", env={"DUCKICELAKE_TRUSTED_PROXIES": bad})
        assert done.returncode == 2 and "DUCKICELAKE_TRUSTED_PROXIES" in done.stderr, bad


def test_a13_pyiceberg_reads_and_writes_through_a_proxy_with_a_path(trusting, monkeypatch):
    """Everything that it is told leads back to the proxy: the catalog, and the signer of its requests to the store."""
    ready = {}

    def one_client(properties, make=fsspec.SCHEME_TO_FS["s3"]):  # see test_vend_clients.py
        if "s3" not in ready:
            ready["s3"] = make(properties)
        return ready["s3"]
    monkeypatch.setitem(fsspec.SCHEME_TO_FS, "s3", one_client)
    proxy = Proxy(trusting.port, prefix="/outer", source=PROXY)
    try:
        catalog = RestCatalog("outer", uri=proxy.url, warehouse="lake")
        table = catalog.load_table(("public", "t"))
        assert table.io.properties["s3.signer.uri"] == proxy.url
        assert table.scan().to_arrow().num_rows == 3000
        table.append(pa.table({"id": pa.array([10_000], pa.int64())}))
        assert table.scan(row_filter="id >= 10000").to_arrow()["id"].to_pylist() == [10_000]
        assert sum("/sign" in path for path in proxy.seen) > 5
        assert all(path.startswith("/outer/v1/") for path in proxy.seen)
    finally:
        proxy.close()
