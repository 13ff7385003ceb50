# SPDX-License-Identifier: Apache-2.0
"""Spark (Iceberg's Java client) as a tenant's user: catalogs by their warehouse, tokens that it refreshes
by itself while it works, and no key but what answers give."""
from __future__ import annotations

import http.server
import threading
import time
import urllib.parse

import pytest
import requests
from lib import auth
from lib.server import Server
from lib.spark import Spark
from lib.tenants import Tenant
from test_vend_clients import KEYLESS

TTL = 10
VENDED = {"header.X-Iceberg-Access-Delegation": "vended-credentials"}


@pytest.fixture(scope="module")
def server(own_lake):
    clients = (f"{auth.ADMIN[0]}:{auth.ADMIN[1]},anna:anna-secret|ns:shop:rw||north,"
               "sam:sam-secret|ns:shop:rw||south")
    running = Server(own_lake, DUCKICELAKE_OAUTH_CLIENTS=clients, DUCKICELAKE_OAUTH_JWT_SECRET=auth.SECRET,
                     DUCKICELAKE_OAUTH_TTL_SECONDS=str(TTL)).start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def pair(server):
    """Two catalogs of two accounts, with the same names and other rows."""
    made = []
    for number, name in enumerate(("north", "south")):
        tenant = Tenant(server, name, auth.bearer(auth.token(server)), account_id=name)
        tenant.session().execute(
            f"CREATE SCHEMA lake.shop; CREATE TABLE lake.shop.orders AS SELECT range + {number * 10_000} AS id "
            "FROM range(3000)")
        tenant.session().execute(f"INSERT INTO lake.shop.orders VALUES ({number * 10_000 - 1})")
        made.append(tenant)
    yield made
    for tenant in made:
        tenant.close()


class TokenEndpoint:
    """Passes requests for tokens on, and keeps their forms."""

    def __init__(self, url: str):
        self.forms: list[dict] = []
        self.answers: list[int] = []
        self.seen: list[tuple] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.forms.append(dict(urllib.parse.parse_qsl(body.decode())) | {
                    "authorization": (self.headers["Authorization"] or "").split(" ")[0]})
                headers = {k: v for k, v in self.headers.items() if k in ("Content-Type", "Authorization")}
                answer = requests.post(url, data=body, headers=headers, timeout=30)
                outer.answers.append(answer.status_code)
                outer.seen.append((time.time(), {k: v[:60] for k, v in outer.forms[-1].items()}, answer.status_code, answer.text[-200:]))
                self.send_response(answer.status_code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *ignored):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/oauth/tokens"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_spark_in_a_tenant_s_catalog_works_on_while_its_tokens_end(server, pair):
    north, south = pair
    tokens = TokenEndpoint(f"{server.url}/v1/oauth/tokens")
    spark = Spark(server, **KEYLESS, **VENDED, warehouse="north", credential="anna:anna-secret",
                  **{"oauth2-server-uri": tokens.url, "scope": "ns:shop:rw"})
    before = server.metrics()
    try:
        assert spark.sql("SELECT count(*), min(id) FROM ice.shop.orders") == [["3001", "-1"]]
        rounds = 0
        # Until several tokens have ended; each statement needs one.
        while len(tokens.forms) < 4 or rounds < 3:
            spark.sql(f"INSERT INTO ice.shop.orders VALUES ({100_000 + rounds})")
            rounds += 1
            assert rounds < 500, tokens.forms
        spark.sql("CREATE TABLE ice.shop.made USING iceberg AS SELECT id FROM ice.shop.orders WHERE id >= 100000")
        spark.sql("DELETE FROM ice.shop.orders WHERE id = 100000")
        with pytest.raises(RuntimeError, match="(?i)forbidden|not allowed"):
            spark.sql("CREATE NAMESPACE ice.other")
    except RuntimeError:
        print(tokens.seen)
        raise
    finally:
        spark.close()
        tokens.close()
    print(f"{rounds} inserts, {len(tokens.forms)} tokens: "
          f"{[f['grant_type'].rsplit(':', 1)[-1] for f in tokens.forms]}")
    assert set(tokens.answers) == {200}, (tokens.answers, tokens.forms)
    kinds = [form["grant_type"] for form in tokens.forms]
    assert kinds[0] == "client_credentials"
    assert "urn:ietf:params:oauth:grant-type:token-exchange" in kinds
    # No request came with a token that was not good.
    after = server.metrics()
    refused = 'duckicelake_bearer_tokens_total{outcome="refused"}'
    assert after[refused] == before[refused]
    # All of it is in this tenant's catalog, and below its prefix.
    found = north.session().execute("SELECT count(*), max(id) FROM lake.shop.orders").fetchone()
    assert found == (3001 + rounds - 1, 100_000 + rounds - 1)
    assert north.session().execute("SELECT count(*) FROM lake.shop.made").fetchone() == (rounds,)
    assert south.session().execute("SELECT count(*), max(id) FROM lake.shop.orders").fetchone() == (3001, 12_999)
    places = north.rows("SELECT metadata_location FROM duckicelake.table_state WHERE catalog_id = 'north'")
    assert places and all(f"/{north.prefix}" in place for (place,) in places)
