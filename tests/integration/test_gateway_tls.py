# SPDX-License-Identifier: Apache-2.0
"""The gateway with a certificate of its own: S3 clients reach their tables over HTTPS."""
from __future__ import annotations

import signal
import socket
import ssl
import threading
import time

import pytest
import sigv4
from lib import raw_s3
from lib.certificates import Authority
from lib.lakes import duck
from lib.server import Server, command, eventually, free_port
from test_vend_gateway import SECRET
from test_vend_matrix import VENDED, key_of, keys_of


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("gateway"), "gateway")


def settings(certificate, key, port) -> dict:
    return {"DUCKICELAKE_STS_ENDPOINT": "none", "DUCKICELAKE_S3_GATEWAY_ENABLED": "1", "DUCKICELAKE_S3_GATEWAY_SECRET": SECRET,
            "DUCKICELAKE_S3_GATEWAY_PORT": port, "DUCKICELAKE_S3_GATEWAY_URL": f"https://127.0.0.1:{port}",
            "DUCKICELAKE_S3_GATEWAY_TLS_CERT_FILE": certificate, "DUCKICELAKE_S3_GATEWAY_TLS_KEY_FILE": key}


@pytest.fixture(scope="module")
def gated(server, authority, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    for source, name in zip(authority.issue("127.0.0.1"), ("cert.pem", "key.pem")):
        (folder / name).write_bytes(source.read_bytes())
    other = Server(server.lake, **settings(folder / "cert.pem", folder / "key.pem", free_port())).start()
    other.folder = folder
    server.lake.session().execute("CREATE SCHEMA lake.tls; CREATE TABLE lake.tls.t AS SELECT range AS id FROM range(3000)")
    yield other
    other.stop()


@pytest.fixture(scope="module")
def config(gated):
    answer = gated.load("tls", "t", headers=VENDED)
    assert answer["config"]["s3.endpoint"].startswith("https://")
    return answer["config"] | {"key": key_of(answer["metadata-location"])}


def connect(gated, ca, **options) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(ca))
    for name, value in options.items():
        setattr(context, name, value)
    plain = socket.create_connection(("127.0.0.1", int(gated.settings["DUCKICELAKE_S3_GATEWAY_PORT"])), timeout=10)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def signed(config, gated, method: str, key: str, body: bytes = b"") -> bytes:
    env = gated.lake.env
    path = f"/{env['DUCKICELAKE_S3_BUCKET']}/{key}"
    headers = sigv4.signed_headers(method, config["s3.endpoint"] + path, body, keys_of(config), env["DUCKICELAKE_S3_REGION"], "s3")
    if body:
        headers["content-length"] = str(len(body))
    return (f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode() + body


def answer_of(wire) -> tuple[int, bytes]:
    import http.client
    response = http.client.HTTPResponse(wire)
    response.begin()
    return response.status, response.read()


def test_many_requests_on_one_connection(gated, authority, config):
    root = raw_s3.Keyed(raw_s3.place_of(gated.lake.env), sigv4.Keys(gated.lake.env["DUCKICELAKE_S3_ROOT_KEY"],
                                                                   gated.lake.env["DUCKICELAKE_S3_ROOT_SECRET"]))
    content = root.request("GET", config["key"]).body
    with connect(gated, authority.ca) as wire:
        assert wire.version() in ("TLSv1.3", "TLSv1.2")
        for _ in range(3):
            wire.sendall(signed(config, gated, "GET", config["key"]))
            assert answer_of(wire) == (200, content)
        body = bytes(range(256)) * 40_000
        folder = config["key"].split("/metadata/")[0]
        wire.sendall(signed(config, gated, "PUT", folder + "/data/large", body))
        assert answer_of(wire)[0] == 200
        wire.sendall(signed(config, gated, "GET", folder + "/data/large"))
        assert answer_of(wire) == (200, body)
        wire.sendall(signed(config, gated, "GET", "elsewhere"))
        assert answer_of(wire)[0] == 403


def test_duckdb_reads_and_writes_over_it(gated, authority, config):
    connection = duck.connect("httpfs")
    try:
        connection.execute(f"SET ca_cert_file = '{authority.ca}'; SET enable_server_cert_verification = true")
        connection.execute(
            "CREATE SECRET g (TYPE s3, KEY_ID '{}', SECRET '{}', SESSION_TOKEN '{}', ENDPOINT '{}', URL_STYLE 'path', "
            "REGION '{}')".format(config["s3.access-key-id"], config["s3.secret-access-key"], config["s3.session-token"],
                                  config["s3.endpoint"].removeprefix("https://"), config["s3.region"]))
        base = f"s3://{gated.lake.env['DUCKICELAKE_S3_BUCKET']}/{config['key'].split('/metadata/')[0]}"
        connection.execute(f"COPY (SELECT range AS id FROM range(200000)) TO '{base}/data/over-tls.parquet'")
        assert connection.execute(f"SELECT count(*) FROM '{base}/data/over-tls.parquet'").fetchone() == (200000,)
    finally:
        connection.close()


def test_what_is_no_tls_gets_no_answer(gated, authority):
    port = int(gated.settings["DUCKICELAKE_S3_GATEWAY_PORT"])
    for sent in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"a" * 70000, b"\x00" * 100, b""):
        with socket.create_connection(("127.0.0.1", port), timeout=15) as wire:
            got = b""
            try:
                wire.sendall(sent)
                wire.shutdown(socket.SHUT_WR)
                while chunk := wire.recv(65536):
                    got += chunk
            except OSError:
                pass  # it had closed by then
            assert b"HTTP" not in got
    with pytest.raises((ssl.SSLError, OSError)):
        connect(gated, authority.ca, maximum_version=ssl.TLSVersion.TLSv1_1)
    with pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(
            socket.create_connection(("127.0.0.1", port), timeout=10), server_hostname="127.0.0.1")


def test_a_handshake_that_does_not_go_on_holds_up_nobody(gated, authority, config):
    port = int(gated.settings["DUCKICELAKE_S3_GATEWAY_PORT"])
    silent = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(20)]
    try:
        with connect(gated, authority.ca) as wire:
            wire.sendall(signed(config, gated, "HEAD", config["key"]))
            assert wire.recv(65536).startswith(b"HTTP/1.1 200")
    finally:
        for one in silent:
            one.close()


def test_a_new_certificate_is_taken_while_it_runs(gated, authority, config, tmp_path):
    with connect(gated, authority.ca) as old:
        serial = old.getpeercert()["serialNumber"]
        for source, name in zip(authority.issue("127.0.0.1", days=1), ("cert.pem", "key.pem")):
            (gated.folder / name).write_bytes(source.read_bytes())
        gated.process.send_signal(signal.SIGHUP)

        def is_new():
            with connect(gated, authority.ca) as wire:
                return wire.getpeercert()["serialNumber"] != serial
        eventually("the new one is shown", is_new, 10)
        old.sendall(signed(config, gated, "HEAD", config["key"]))
        assert old.recv(65536).startswith(b"HTTP/1.1 200")
    # One that cannot be used: the last one stays.
    (gated.folder / "cert.pem").write_text("nothing")
    gated.process.send_signal(signal.SIGHUP)
    eventually("the log says so", lambda: "stays as it was" in gated.log_tail(20))
    with connect(gated, authority.ca) as wire:
        wire.sendall(signed(config, gated, "HEAD", config["key"]))
        assert wire.recv(65536).startswith(b"HTTP/1.1 200")


def test_settings_that_cannot_be_meant_are_refused(server, authority, tmp_path):
    certificate, key = authority.issue("127.0.0.1")
    port = free_port()
    good = settings(certificate, key, port)
    for change, word in (({"DUCKICELAKE_S3_GATEWAY_TLS_KEY_FILE": ""}, "together"),
                         ({"DUCKICELAKE_S3_GATEWAY_URL": f"http://127.0.0.1:{port}"}, "certificate")):
        done = command(server.lake, "doctor", env={k: str(v) for k, v in (good | change).items()})
        assert done.returncode == 2 and word in done.stderr, done.stderr
    wrong = Server(server.lake, **good | {"DUCKICELAKE_S3_GATEWAY_TLS_CERT_FILE": tmp_path / "none.pem"}).start(wait=False)
    assert wrong.process.wait(30) != 0 and "none.pem" in wrong.log_tail(5)


def test_it_ends_in_order_with_connections_open(server, authority, config):
    other = Server(server.lake, **settings(*authority.issue("127.0.0.1"), free_port())).start()
    idle = connect(other, authority.ca)
    begin = time.monotonic()
    stopped = threading.Thread(target=other.stop)
    stopped.start()
    stopped.join(15)
    assert not stopped.is_alive() and time.monotonic() - begin < 10
    assert idle.recv(100) == b""
