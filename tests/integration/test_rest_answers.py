# SPDX-License-Identifier: Apache-2.0
"""The REST routes for readers: shapes, errors, conditional loads, refs, views, odd requests."""
import json

import pytest
import requests
from lib.rest import error_of, nulls, raw, raw_error
from lib.server import encoded, eventually

READER_ROUTES = {
    "GET /v1/{prefix}/namespaces", "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}", "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "GET /v1/{prefix}/namespaces/{namespace}/views",
    "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}"}


@pytest.fixture(scope="module")
def shop(server):
    """A schema with a table of three data snapshots and a view."""
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.shop; USE lake.shop")
    duck.execute("CREATE TABLE t (id INTEGER NOT NULL, v VARCHAR)")
    for start in range(3):
        duck.execute(f"INSERT INTO t SELECT i, 'v' FROM range({start * 20}, {start * 20 + 20}) r(i)")
    duck.execute("CREATE VIEW seen AS SELECT id, v AS word FROM t WHERE id > 3")
    duck.execute("COMMENT ON TABLE t IS 'a table'")
    return "shop"


class TestConfig:
    def test_names_prefix_and_served_routes(self, server):
        body = server.http.get(f"{server.url}/v1/config", params={"warehouse": "lake"}).json()
        assert body["overrides"]["prefix"] == "lake"
        assert READER_ROUTES <= set(body["endpoints"])
        assert isinstance(body["defaults"], dict)
        assert not nulls(body)

    def test_without_a_warehouse_is_the_default(self, server):
        body = server.http.get(f"{server.url}/v1/config").json()
        assert body["overrides"]["prefix"] == "lake"

    def test_a20_unknown_warehouse_is_404(self, server):
        error_of(server.http.get(f"{server.url}/v1/config", params={"warehouse": "other"}), 404)

    def test_a20_config_lives_in_one_place_only(self, server):
        error_of(server.http.get(f"{server.url}/v1/lake/config"), 404)

    def test_every_listed_route_is_served_and_no_other(self, server):
        listed = server.http.get(f"{server.url}/v1/config").json()["endpoints"]
        paths = server.http.get(f"{server.url}/openapi.json").json()["paths"]
        described = {f"{verb.upper()} {path}" for path, verbs in paths.items() for verb in verbs
                     if verb in ("get", "head", "post", "put", "delete")}
        missing = {e for e in listed if e not in described}
        assert not missing

    def test_unknown_prefix_is_404(self, server):
        error_of(server.http.get(f"{server.url}/v1/nope/namespaces"), 404)


class TestNamespaces:
    def test_lists_loads_and_heads(self, server, shop):
        listed = server.get("/namespaces").json()["namespaces"]
        assert [shop] in listed and len(listed) == len({tuple(n) for n in listed})
        loaded = server.get(f"/namespaces/{shop}").json()
        assert loaded["namespace"] == [shop] and isinstance(loaded["properties"], dict)
        head = server.http.head(f"{server.api}/namespaces/{shop}")
        assert head.status_code == 204 and head.content == b""

    def test_unknown_ones_are_404(self, server):
        error_of(server.get("/namespaces/absent"), 404, "NoSuchNamespaceException")
        error_of(server.get("/namespaces/absent/tables"), 404, "NoSuchNamespaceException")
        error_of(server.get("/namespaces/absent/views"), 404, "NoSuchNamespaceException")
        error_of(server.get("/namespaces", params={"parent": "absent"}), 404,
                 "NoSuchNamespaceException")
        head = server.http.head(f"{server.api}/namespaces/absent")
        assert head.status_code == 404 and head.content == b""

    def test_a_namespace_without_children_lists_none(self, server, shop):
        assert server.get("/namespaces", params={"parent": shop}).json()["namespaces"] == []


class TestTables:
    def test_lists_heads_and_loads(self, server, shop):
        listed = server.get(f"/namespaces/{shop}/tables").json()["identifiers"]
        assert {"namespace": [shop], "name": "t"} in listed
        assert all(i["name"] != "seen" for i in listed)
        head = server.http.head(f"{server.api}/namespaces/{shop}/tables/t")
        assert head.status_code == 204 and head.content == b""
        body = server.load(shop, "t")
        assert set(body) <= {"metadata-location", "metadata", "config", "storage-credentials"}
        metadata = body["metadata"]
        assert metadata["format-version"] in (2, 3)
        assert len(metadata["snapshots"]) == 3
        assert metadata["current-snapshot-id"] == metadata["snapshots"][-1]["snapshot-id"]
        assert metadata["refs"]["main"] == {"snapshot-id": metadata["current-snapshot-id"],
                                            "type": "branch"}
        assert metadata["properties"]["gc.enabled"] == "false"
        assert metadata["schemas"][-1]["fields"][0]["required"] is True
        assert all(isinstance(v, str) for v in body.get("config", {}).values())

    def test_a14_absent_members_are_left_out(self, server, shop):
        assert not nulls(server.load(shop, "t"))
        assert not nulls(server.get(f"/namespaces/{shop}/views/seen").json())
        assert not nulls(server.get(f"/namespaces/{shop}").json())

    def test_unknown_ones_are_404(self, server, shop):
        error_of(server.get(f"/namespaces/{shop}/tables/absent"), 404, "NoSuchTableException")
        error_of(server.get("/namespaces/absent/tables/t"), 404)
        error_of(server.get(f"/namespaces/{shop}/tables/seen"), 404, "NoSuchTableException")
        error_of(server.get(f"/namespaces/{shop}/views/t"), 404, "NoSuchViewException")
        assert server.http.head(f"{server.api}/namespaces/{shop}/tables/absent").status_code == 404

    @pytest.mark.parametrize("name", ["snapshot-id", "snapshot_id"])
    def test_a_load_can_be_pinned(self, server, shop, name):
        first = server.load(shop, "t")["metadata"]["snapshots"][0]["snapshot-id"]
        pinned = server.load(shop, "t", params={name: first})["metadata"]
        assert pinned["current-snapshot-id"] == first
        assert pinned["refs"]["main"]["snapshot-id"] == first

    @pytest.mark.parametrize("value", ["999999999", "0", "-1", "x", "", "99999999999999999999999"])
    def test_an_unknown_pin_is_refused(self, server, shop, value):
        answer = server.get(f"/namespaces/{shop}/tables/t", params={"snapshot-id": value})
        assert answer.status_code in (400, 404), answer.text
        error_of(answer, answer.status_code)

    def test_the_metadata_location_is_durable_and_is_what_was_answered(self, server, shop):
        body = server.load(shop, "t")
        bucket, key = body["metadata-location"].removeprefix("s3://").split("/", 1)
        stored = json.loads(server.lake.s3().get_object(Bucket=bucket, Key=key)["Body"].read())
        assert stored["snapshots"] == body["metadata"]["snapshots"]
        assert stored["schemas"] == body["metadata"]["schemas"]
        assert stored["table-uuid"] == body["metadata"]["table-uuid"]
        folder = key.rsplit("/", 1)[0]
        assert body["metadata"]["location"] in f"s3://{bucket}/{folder}"

        def is_hinted():  # soon, not with every version
            try:
                hint = server.lake.s3().get_object(
                    Bucket=bucket, Key=f"{folder}/version-hint.text")["Body"].read().decode()
            except server.lake.s3().exceptions.NoSuchKey:
                return False
            return key.endswith(f"/v{int(hint)}.metadata.json")
        eventually("the hint names the newest version", is_hinted)

    def test_the_metadata_log_names_older_files_only(self, server, shop):
        body = server.load(shop, "t")
        log = [e["metadata-file"] for e in body["metadata"].get("metadata-log", [])]
        assert body["metadata-location"] not in log


class TestConditionalLoads:
    def test_an_unchanged_table_is_304(self, server, shop):
        first = server.get(f"/namespaces/{shop}/tables/t")
        tag = first.headers["ETag"]
        again = server.get(f"/namespaces/{shop}/tables/t", headers={"If-None-Match": tag})
        assert again.status_code == 304 and again.content == b""
        other = server.get(f"/namespaces/{shop}/tables/t", headers={"If-None-Match": '"x"'})
        assert other.status_code == 200
        listed = server.get(f"/namespaces/{shop}/tables/t",
                            headers={"If-None-Match": f'"x", {tag}'})
        assert listed.status_code == 304

    def test_the_tag_covers_what_shapes_the_body(self, server, shop):
        path = f"/namespaces/{shop}/tables/t"
        first = server.load(shop, "t")["metadata"]["snapshots"][0]["snapshot-id"]
        tags = {server.get(path, params=query).headers["ETag"] for query in (
            {}, {"snapshots": "refs"}, {"snapshot-id": first})}
        assert len(tags) == 3
        refs = server.get(path, params={"snapshots": "refs"}, headers={
            "If-None-Match": server.get(path).headers["ETag"]})
        assert refs.status_code == 200

    def test_a_change_by_duckdb_changes_the_tag(self, server, shop):
        duck = server.lake.session()
        duck.execute("CREATE TABLE lake.shop.tagged (id INTEGER); INSERT INTO lake.shop.tagged VALUES (1)")
        path = f"/namespaces/{shop}/tables/tagged"
        seen = [server.get(path).headers["ETag"]]
        for change in ("INSERT INTO lake.shop.tagged VALUES (2)", "DELETE FROM lake.shop.tagged",
                       "ALTER TABLE lake.shop.tagged ADD COLUMN n INTEGER",
                       "COMMENT ON TABLE lake.shop.tagged IS 'c'"):
            duck.execute(change)
            answer = server.get(path, headers={"If-None-Match": seen[-1]})
            assert answer.status_code == 200, change
            seen.append(answer.headers["ETag"])
        assert len(set(seen)) == len(seen)

    def test_another_tables_change_does_not(self, server, shop):
        tag = server.get(f"/namespaces/{shop}/tables/t").headers["ETag"]
        server.lake.session().execute("CREATE TABLE lake.shop.other AS SELECT 1 AS x")
        assert server.get(f"/namespaces/{shop}/tables/t",
                          headers={"If-None-Match": tag}).status_code == 304


def test_a06_refs_keep_location_and_log(server):
    """100 snapshots, of which `snapshots=refs` names one; nothing else differs."""
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.a06; CREATE TABLE lake.a06.t (id INTEGER)")
    for n in range(100):
        duck.execute(f"INSERT INTO lake.a06.t VALUES ({n})")
    every = server.load("a06", "t", params={"snapshots": "all"})
    refs = server.load("a06", "t", params={"snapshots": "refs"})
    assert refs["metadata-location"] == every["metadata-location"]
    assert len(every["metadata"]["snapshots"]) == 100
    named = {ref["snapshot-id"] for ref in refs["metadata"]["refs"].values()}
    assert {s["snapshot-id"] for s in refs["metadata"]["snapshots"]} == named
    assert refs["metadata"]["refs"] == every["metadata"]["refs"]
    rest = {k: v for k, v in every["metadata"].items() if k not in ("snapshots", "snapshot-log")}
    assert {k: v for k, v in refs["metadata"].items() if k in rest} == rest
    listed = {e["snapshot-id"] for e in refs["metadata"].get("snapshot-log", [])}
    assert named <= listed or not listed
    error_of(server.get("/namespaces/a06/tables/t", params={"snapshots": "some"}), 400)


def test_views_of_ducklake_are_listed_and_loaded(server, shop):
    listed = server.get(f"/namespaces/{shop}/views").json()["identifiers"]
    assert {"namespace": [shop], "name": "seen"} in listed
    assert server.http.head(f"{server.api}/namespaces/{shop}/views/seen").status_code == 204
    body = server.get(f"/namespaces/{shop}/views/seen").json()
    metadata = body["metadata"]
    version = next(v for v in metadata["versions"]
                   if v["version-id"] == metadata["current-version-id"])
    sql = version["representations"][0]
    assert sql["type"] == "sql" and sql["dialect"] == "duckdb"
    assert "DUCKLAKE_CATALOG" not in sql["sql"]
    schema = next(s for s in metadata["schemas"] if s["schema-id"] == version["schema-id"])
    assert [f["name"] for f in schema["fields"]] == ["id", "word"]
    error_of(server.get(f"/namespaces/{shop}/views/absent"), 404, "NoSuchViewException")


def test_the_log_says_why_a_view_has_no_columns(server):
    duck = server.lake.session()
    duck.execute("CREATE SCHEMA lake.torn; USE lake.torn; CREATE TABLE gone (id INTEGER)")
    duck.execute("CREATE VIEW broken AS SELECT id FROM gone; DROP TABLE gone")
    metadata = server.get("/namespaces/torn/views/broken").json()["metadata"]
    assert metadata["schemas"][0]["fields"] == []
    # The whole log: others use the server too, and each decision is a line.
    lines = [line for line in server.log_path.read_text(errors="replace").splitlines()
             if "without columns" in line]
    assert any("broken" in line and "gone" in line for line in lines), server.log_tail()


class TestOddRequests:
    """A-09: whatever is wrong, an Iceberg error body with the right status."""

    def test_a09_unknown_routes_and_methods(self, server, shop):
        for path in ("/v1/lake/unknown", "/v1/", "/v1/lake/namespaces/shop/tables/t/x/y",
                     f"/v1/lake/namespaces/{shop}/tables/"):
            error_of(server.http.get(server.url + path), 404)
        for method, path in (("DELETE", "/v1/config"), ("PUT", f"/v1/lake/namespaces/{shop}/tables/t"),
                             ("PATCH", "/v1/lake/namespaces")):
            answer = server.http.request(method, server.url + path)
            error_of(answer, 405)
            assert answer.headers.get("Allow")

    def test_a09_methods_that_no_resource_has(self, server, shop):
        table = f"{server.url}/v1/lake/namespaces/{shop}/tables/t"
        for method in ("BREW", "PROPFIND"):
            error_of(server.http.send(requests.Request(method, table).prepare()), 501)
        traced = server.http.request("TRACE", table)
        error_of(traced, 405)
        assert traced.headers["Allow"]
        tunnel = raw(server.port, b"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n")
        raw_error(tunnel, {405})
        assert b"\r\nallow:" in tunnel.lower()
        asked = raw(server.port, b"OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert asked.startswith(b"HTTP/1.1 204 ") and b"GET, HEAD" in asked

    @pytest.mark.parametrize("request_bytes,statuses", [
        (b"GARBAGE\r\n\r\n", {400}),
        (b"GET /v1/config HTTP/9.9\r\nHost: x\r\n\r\n", {400, 505}),
        (b"GET /v1/config HTTP/1.1\r\n\r\n", {400}),
        (b"GET /v1/config HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n", {400}),
        (b"GET /v1/config HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 200_000 + b"\r\n\r\n", {400, 431}),
        (b"GET /v1/" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", {400, 414, 431}),
        (b"GET /v1/config HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", {400}),
        (b"GET /v1/config HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
         {400}),
        (b"POST /v1/config HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
        (b"GET /v1/lake/namespaces/%zz HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
        (b"GET /v1/lake/namespaces/%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n", {400, 404}),
        (b"GET /v1/lake/namespaces/a%00b HTTP/1.1\r\nHost: x\r\n\r\n", {400, 404}),
        (b"GET /v1/lake/namespaces?pageSize=x&pageToken= HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
        (b"GET /v1/lake/namespaces?pageSize=-1&pageToken= HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
        (b"GET /v1/../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", {400, 404}),
    ], ids=lambda v: v[:50] if isinstance(v, bytes) else "")
    def test_a09_malformed_requests(self, server, request_bytes, statuses):
        raw_error(raw(server.port, request_bytes), statuses)

    def test_a_body_that_is_too_large_is_413(self, server):
        head = (b"POST /v1/config HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 99999999999\r\n\r\n{")
        raw_error(raw(server.port, head), {413, 405})

    def test_pipelined_requests_are_answered_in_order(self, server, shop):
        one = b"GET /v1/lake/namespaces/shop HTTP/1.1\r\nHost: x\r\n\r\n"
        two = b"GET /v1/lake/namespaces/absent HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = raw(server.port, one + two, 5)
        answer = answer if answer.count(b"HTTP/1.1 ") == 2 else raw(server.port, one + two, 5)
        first = answer.find(b"HTTP/1.1 200")
        assert first == 0, answer[:200]

    def test_gzip_for_those_who_ask(self, server, shop):
        plain = requests.get(f"{server.api}/namespaces/{shop}/tables/t",
                             headers={"Accept-Encoding": "identity"}, timeout=30)
        packed = requests.get(f"{server.api}/namespaces/{shop}/tables/t",
                              headers={"Accept-Encoding": "gzip"}, timeout=30)
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.json() == plain.json()
        assert plain.headers["ETag"] != "" and packed.headers["ETag"] != ""

    def test_a13_forwarded_headers_of_strangers_change_nothing(self, server, shop):
        path = f"/namespaces/{shop}/tables/t"
        plain = server.get(path)
        for headers in ({"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example:8443"},
                        {"X-Forwarded-Prefix": "/lake", "X-Forwarded-Port": "443"},
                        {"Forwarded": "proto=https;host=evil.example"}, {"Host": "evil.example"}):
            answer = server.get(path, headers=headers)
            assert answer.status_code == 200 and answer.json() == plain.json()
            config = server.http.get(f"{server.url}/v1/config", headers=headers)
            assert "evil.example" not in config.text


def test_unknown_query_parameters_are_ignored(server, shop):
    assert server.load(shop, "t", params={"whatever": "x"})["metadata"]["location"]


def test_health_and_metrics(server):
    assert server.http.get(f"{server.url}/healthz").json()["status"] == "ok"
    assert server.http.get(f"{server.url}/readyz").json()["status"] == "ready"
    samples = server.metrics()
    assert any(name.startswith("duckicelake_requests_total") for name in samples)
    assert any(name.startswith("duckicelake_request_seconds_bucket") for name in samples)
    text = server.http.get(f"{server.url}/metrics").text
    assert 'catalog="' not in text  # names of catalogs are no open knowledge


def test_request_ids_are_given_and_kept(server, shop):
    answer = server.get("/namespaces")
    assert answer.headers.get("X-Request-Id")
    mine = server.get("/namespaces", headers={"X-Request-Id": "abc-123"})
    assert mine.headers["X-Request-Id"] == "abc-123"
    assert encoded("a/b") == "a%2Fb"
