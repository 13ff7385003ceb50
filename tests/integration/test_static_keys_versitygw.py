# SPDX-License-Identifier: Apache-2.0
"""Static keys on a second store, versitygw, that names users by their access keys and knows no
NotResource. Only where VERSITYGW_BIN names its program; test_static_keys.py is the proof."""
from __future__ import annotations

import json
import os
import subprocess

import pytest
import sigv4
from fixtures import served_lake
from lib import auth, direct, lakes, raw_s3
from lib.auth import sign_in
from lib.server import Server, command, eventually, free_port
from test_vend_access import Guarded

pytestmark = pytest.mark.skipif(not os.environ.get("VERSITYGW_BIN"), reason="VERSITYGW_BIN is not set")

ROOT = sigv4.Keys("ROOTKEY00000000001", "rootsecret-for-tests-only-0001")
USERS = {"reader": sigv4.Keys("READERKEY000000001", "readersecret-for-tests-only-001"),
         "writer": sigv4.Keys("WRITERKEY000000001", "writersecret-for-tests-only-001")}
CLIENTS = {"reader": "ns:keys:r", "writer": "ns:keys:rw"}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    home = tmp_path_factory.mktemp("versitygw")
    for name in ("iam", "data"):
        (home / name).mkdir()
    (home / "iam/users.json").write_text(json.dumps({"accessAccounts": {
        k.access_key: {"access": k.access_key, "secret": k.secret_key, "role": "user", "userID": 0,
                       "groupID": 0, "projectID": 0} for k in USERS.values()}}))
    port = free_port()
    process = subprocess.Popen(
        [os.environ["VERSITYGW_BIN"], "-p", f"127.0.0.1:{port}", "--iam-dir", str(home / "iam"),
         "--health", "/healthz", "--quiet", "posix", str(home / "data")],
        env={"ROOT_ACCESS_KEY_ID": ROOT.access_key, "ROOT_SECRET_ACCESS_KEY": ROOT.secret_key})
    url = f"http://127.0.0.1:{port}"

    def is_up():
        try:
            return sigv4.request("PUT", f"{url}/lakehouse", ROOT).status in (200, 409)
        except OSError:
            return False
    try:
        eventually("versitygw makes the bucket", is_up)
        yield url
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def ground(endpoint):
    with lakes.private_stack(sts=False) as stack:
        lake = lakes.Lake(stack)
        lake.env |= {"DUCKICELAKE_S3_ENDPOINT": endpoint, "DUCKICELAKE_S3_BUCKET": "lakehouse",
                     "DUCKICELAKE_S3_ROOT_KEY": ROOT.access_key,
                     "DUCKICELAKE_S3_ROOT_SECRET": ROOT.secret_key}
        assert command(lake, "init").returncode == 0
        server = Server(lake, **auth.settings(**CLIENTS)).start()
        made = Guarded(server, "keys")
        for body in [{"object-kind": "table", "schema": "keys", "object": table, "privilege": "select",
                      "role": "insiders"} for table in ("orders2", "orders_x")]:
            made.admin.post("/governance/roles", {"name": "insiders"})
            assert made.admin.post("/governance/object-grants", body).status_code < 300
        for name, keys in USERS.items():
            assert made.admin.post("/governance/static-s3-keys", {
                "principal": name, "access-key-id": keys.access_key,
                "secret-access-key": keys.secret_key}).status_code < 300
        yield made
        assert server.stop() == 0
        lake.close()


def policy(ground, *words, **env):
    return command(ground.lake, "bucket-policy", *words, env=auth.settings(**CLIENTS) | {
        "DUCKICELAKE_S3_POLICY_PRINCIPAL": "{access-key-id}", "DUCKICELAKE_S3_POLICY_DENY": "actions"} | env)


def test_it_refuses_what_it_does_not_know(ground):
    done = policy(ground, "--apply", DUCKICELAKE_S3_POLICY_DENY="others")
    print(done.stdout, done.stderr)
    assert done.returncode == 1 and "does not take the bucket's policy" in done.stderr


def test_the_whole_matrix(ground):
    done = policy(ground, "--apply")
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    outcomes = []
    for who, right in (("reader", "read"), ("writer", "write")):
        outcomes += raw_s3.try_all(who, raw_s3.Keyed(ground.place, USERS[who]), right, ground.folders,
                                   ground.targets, ground.own)
    ground.check(outcomes)
    assert "has it already" in policy(ground, "--apply").stdout


def test_duckdb_reads_and_writes_with_what_is_given_out(ground):
    answer = direct.vend(sign_in(ground.server, "writer"), "keys", table="orders", write=1)
    assert answer["s3"]["enforcement"] == "bucket-policy-write"
    with direct.duckdb(answer) as session:
        session.execute("INSERT INTO lake.keys.orders VALUES (-77, 'by a static key')")
    with direct.duckdb(direct.vend(sign_in(ground.server, "reader"), "keys", table="orders")) as session:
        assert session.execute("SELECT count(*) FROM lake.keys.orders WHERE id = -77").fetchone() == (1,)
