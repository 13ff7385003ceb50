# SPDX-License-Identifier: Apache-2.0
"""Vended keys open the objects of their table and nothing else: every kind of request, tried."""
from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import pytest
import sigv4
from lib import raw_s3
from lib.server import encoded

VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}


def key_of(uri: str) -> str:
    return uri.split("/", 3)[3]


def load(server, schema: str, table: str, **headers) -> dict:
    answer = server.get(f"/namespaces/{encoded(schema)}/tables/{encoded(table)}",
                        headers=VENDED | headers)
    assert answer.status_code == 200, f"{answer.text}\n{server.log_tail(5)}"
    return answer.json()


def keys_of(config: dict) -> sigv4.Keys:
    return sigv4.Keys(config["s3.access-key-id"], config["s3.secret-access-key"],
                      config.get("s3.session-token"))


class Ground:
    """Tables with look-alike names, and objects beside them, with what their bytes are."""

    def __init__(self, server, schema: str):
        self.server, self.schema, self.lake = server, schema, server.lake
        self.place = raw_s3.place_of(self.lake.env)
        self.root = raw_s3.Keyed(self.place, sigv4.Keys(
            self.lake.env["DUCKICELAKE_S3_ROOT_KEY"], self.lake.env["DUCKICELAKE_S3_ROOT_SECRET"]))
        session = self.lake.session()
        session.execute(f"CREATE SCHEMA IF NOT EXISTS lake.{schema}; "
                        f"CREATE SCHEMA IF NOT EXISTS lake.{schema}_other")
        for name in ("orders", "orders2", "orders_x"):
            session.execute(f"CREATE TABLE lake.{schema}.{name} AS SELECT range AS id, "
                            f"'secret of {name}' AS s FROM range(3000)")
        session.execute(f"CREATE TABLE lake.{schema}_other.orders AS SELECT range AS id FROM range(3000)")
        # Inlined rows: their file lies beside DATA_PATH.
        session.execute(f"INSERT INTO lake.{schema}.orders VALUES (-1, 'inlined')")
        self.folder = self.location(schema, "orders") + "/"
        self.targets = {
            "own data": self.target(self.data_file(schema, "orders")),
            "own metadata": self.target(key_of(server.load(schema, "orders")["metadata-location"])),
            "own beside": self.target(self.beside()),
            "sibling 2": self.target(self.data_file(schema, "orders2")),
            "sibling _x": self.target(self.data_file(schema, "orders_x")),
            "parent": self.put(self.folder.rsplit("/", 2)[0] + "/stray.txt"),
            "root": self.put(key_of(self.lake.data_path) + "stray.txt"),
            "other schema": self.target(self.data_file(f"{schema}_other", "orders")),
        }
        self.own = {"own data", "own metadata", "own beside"}

    def location(self, schema: str, table: str) -> str:
        return key_of(self.server.load(schema, table)["metadata"]["location"])

    def data_file(self, schema: str, table: str) -> str:
        prefix = self.location(schema, table) + "/"
        listed = self.root.request("GET", "", "list-type=2&prefix=" + prefix.replace("/", "%2F"))
        keys = [k.split(b"</Key>")[0].decode() for k in listed.body.split(b"<Key>")[1:]]
        return next(k for k in keys if k.endswith(".parquet") and "metadata" not in k)

    def beside(self) -> str:
        uuid = self.server.load(self.schema, "orders")["metadata"]["table-uuid"]
        prefix = key_of(self.lake.data_path).rstrip("/") + f"-iceberg/lake/{uuid}/"
        # Where the table's writers write, and where only the server does.
        self.folders = [self.folder, prefix]
        listed = self.root.request("GET", "", "list-type=2&prefix=" + prefix.replace("/", "%2F"))
        return listed.body.split(b"<Key>")[1].split(b"</Key>")[0].decode()

    def target(self, key: str) -> tuple[str, bytes]:
        answer = self.root.request("GET", key)
        assert answer.status == 200 and answer.body, key
        return key, answer.body

    def put(self, key: str) -> tuple[str, bytes]:
        content = b"a secret that is no table's " + key.encode()
        assert self.root.request("PUT", key, body=content).status == 200
        return key, content

    def check(self, outcomes: list[raw_s3.Outcome]) -> None:
        print("\n" + raw_s3.table_text(outcomes))
        wrong = [o for o in outcomes if not o.is_right]
        assert not wrong, wrong
        # Nothing of all that was changed: the same bytes are there for the root keys.
        for key, content in self.targets.values():
            assert self.root.request("GET", key).body == content, key


@pytest.fixture(scope="module")
def ground(server):
    return Ground(server, "matrix")


def read_policy(ground, keys: sigv4.Keys) -> dict:
    """The session policy that the store was given; it is in the token."""
    claims = json.loads(base64.urlsafe_b64decode(keys.session_token.split(".")[1] + "=="))
    return json.loads(claims["spol"])


def reader_keys(ground) -> sigv4.Keys:
    """Keys as a caller gets them who may only read: the writer's policy without its writing half."""
    keys = keys_of(load(ground.server, ground.schema, "orders")["config"])
    policy = read_policy(ground, keys)
    policy["Statement"] = [s for s in policy["Statement"] if "s3:PutObject" not in s["Action"]]
    env = ground.lake.env
    return sigv4.assume_role(env["DUCKICELAKE_S3_ENDPOINT"], ground.root.keys,
                             env["DUCKICELAKE_STS_ROLE_ARN"], "matrix-reader", json.dumps(policy),
                             region=ground.place.region)


def test_the_answer_has_keys_settings_and_their_end(ground):
    answer = load(ground.server, ground.schema, "orders")
    config = answer["config"]
    assert config["s3.endpoint"] == ground.place.endpoint
    assert config["client.region"] == config["s3.region"] == ground.place.region
    assert config["s3.path-style-access"] == "true"
    assert config["s3.remote-signing-enabled"] == "false"
    left = int(config["s3.session-token-expires-at-ms"]) / 1000 - time.time()
    assert 1700 < left <= 3601
    prefixes = [c["prefix"] for c in answer["storage-credentials"]]
    assert f"s3://{ground.place.bucket}/{ground.folder}" in prefixes and len(prefixes) == 2
    for credential in answer["storage-credentials"]:
        assert credential["config"]["s3.access-key-id"] == config["s3.access-key-id"]
    assert ground.root.keys.secret_key not in json.dumps(answer)
    # The policy names actions one by one, and this table's folders.
    policy = read_policy(ground, keys_of(config))
    for statement in policy["Statement"]:
        assert statement["Effect"] == "Allow"
        assert not any("*" in action or "Delete" in action for action in statement["Action"])
        for resource in statement["Resource"]:
            assert resource.endswith("/*") or resource.endswith(ground.place.bucket)


def test_writers_keys_open_their_table_only(ground):
    keys = keys_of(load(ground.server, ground.schema, "orders")["config"])
    ground.check(raw_s3.try_all("writer, orders", raw_s3.Keyed(ground.place, keys), "write",
                                ground.folders, ground.targets, ground.own))


def test_readers_keys_open_their_table_only(ground):
    way = raw_s3.Keyed(ground.place, reader_keys(ground))
    ground.check(raw_s3.try_all("reader, orders", way, "read", ground.folders, ground.targets,
                                ground.own))


def test_root_and_strangers_are_what_they_seem(ground):
    """Positive controls beside each denial, and nobody's keys."""
    for key, content in ground.targets.values():
        assert ground.root.request("GET", key).body == content
        assert raw_s3.send("GET", ground.root.url(key), {}).status == 403
    forged = sigv4.Keys(*keys_of(load(ground.server, ground.schema, "orders")["config"])[:2], None)
    outcomes = raw_s3.try_all("keys without token", raw_s3.Keyed(ground.place, forged), "none",
                              ground.folders, {"own data": ground.targets["own data"]}, set())
    ground.check(outcomes)


def test_keys_of_one_table_do_not_open_the_other(ground):
    keys = keys_of(load(ground.server, ground.schema, "orders2")["config"])
    folder = ground.location(ground.schema, "orders2") + "/"
    outcomes = raw_s3.try_all("writer, orders2", raw_s3.Keyed(ground.place, keys), "write", [folder],
                              ground.targets, {"sibling 2"})
    ground.check(outcomes)


def test_keys_end(ground):
    keys = keys_of(load(ground.server, ground.schema, "orders")["config"])
    head, body, _ = keys.session_token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims["exp"] = int(time.time()) + 2
    signed = head + "." + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    seal = hmac.new(ground.lake.stack.sts_signing_key(), signed.encode(), hashlib.sha256).digest()
    short = keys._replace(session_token=signed + "." +
                          base64.urlsafe_b64encode(seal).decode().rstrip("="))
    way = raw_s3.Keyed(ground.place, short)
    key, content = ground.targets["own data"]
    assert way.request("GET", key).body == content
    time.sleep(max(0, claims["exp"] - time.time()) + 1.1)
    assert way.request("GET", key).status == 403
