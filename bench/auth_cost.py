#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What authorization adds to LoadTable on a hit: a server that lets everybody in beside one that asks for tokens.

Both serve one lake in one run; rounds alternate. Tokens: one of the server itself (HS256) and one of another issuer
(RS256), each proved once and kept, as all but the first request of a client find them.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types
import urllib.request

from run import BUILD, ROOT, Process, wrk

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "integration")]
import duck  # noqa: E402
from devstack_lib import Stack  # noqa: E402
from lib import auth  # noqa: E402
from lib.server import free_port  # noqa: E402


def serve(stack, given, settings: dict) -> tuple[Process, str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    env = stack.process_environment() | {
        "DUCKICELAKE_LISTEN_HOST": "127.0.0.1", "DUCKICELAKE_PORT": str(port), "DUCKICELAKE_IO_THREADS": "1",
        "DUCKICELAKE_DISABLE_NOTIFY": "1", "DUCKICELAKE_LOG_LEVEL": "WARNING"} | settings
    return Process([given.build / "src/app/duckicelake", "serve"], env, f"{url}/readyz"), url


def get(url: str, token: str | None) -> bytes:
    request = urllib.request.Request(url, headers=auth.bearer(token) if token else {})
    return urllib.request.urlopen(request, timeout=60).read()


def measure(stack, given, folder: pathlib.Path) -> None:
    with contextlib.ExitStack() as opened:
        issuer = opened.enter_context(auth.issuer())
        issuer.add_key("k")
        issuers = folder / "issuers.json"
        issuers.write_text(json.dumps([{"issuer": issuer.url, "audience": ["lake"], "scope": "*:r"}]))
        anyone, open_url = serve(stack, given, {})
        opened.enter_context(anyone)
        guarded, guarded_url = serve(stack, given, auth.settings(reader="*:r") | {
            "DUCKICELAKE_OIDC_ISSUERS_FILE": str(issuers)})
        opened.enter_context(guarded)
        lake = duck.lake(stack.env())
        lake.execute("CREATE SCHEMA lake.bench")
        lake.execute("CREATE TABLE lake.bench.hot (id BIGINT, name VARCHAR, made TIMESTAMP, amount DECIMAL(10,2))")
        path = "/v1/lake/namespaces/bench/tables/hot"
        while len(get(open_url + path, None)) < 20_000:
            lake.execute("INSERT INTO lake.bench.hot SELECT i, 'n' || i, now()::TIMESTAMP, i FROM range(20) t(i)")
        server = types.SimpleNamespace(url=guarded_url)
        ways = {"nobody asked": (open_url, None), "HS256": (guarded_url, auth.token(server, "reader")),
                "RS256": (guarded_url, issuer.token("k", exp=int(time.time()) + 3600))}
        rates: dict[str, list[float]] = {name: [] for name in ways}
        latest: dict[str, list[float]] = {name: [] for name in ways}
        for url, token in ways.values():
            get(url + path, token)
        for _ in range(given.rounds):
            for name, (url, token) in ways.items():
                headers = ["-H", f"Authorization: Bearer {token}"] if token else []
                rate, p99 = wrk(url + path, 32, given.seconds, *headers)
                rates[name].append(rate)
                latest[name].append(p99)
    print("LoadTable on a hit, 20 KB, 32 connections, by what proves the caller:")
    base = rates["nobody asked"]
    for name, each in rates.items():
        ratio = statistics.median(a / b for a, b in zip(each, base))
        print(f"  {name:13}{statistics.median(each):9.0f} requests/s, p99 {statistics.median(latest[name]):.2f} ms, "
              f"ratio {ratio:.2f} (rounds: {', '.join(f'{a / b:.2f}' for a, b in zip(each, base))})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help="build folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duckicelake-bench-") as name:
        os.chmod(name, 0o755)
        folder = pathlib.Path(name)
        stack = Stack.open(folder / "stack", fsync=False)
        stack.up()
        try:
            subprocess.run([given.build / "src/app/duckicelake", "init"], env=stack.process_environment(), check=True,
                           stdout=subprocess.DEVNULL)
            measure(stack, given, folder)
        finally:
            stack.destroy()
    return 0


if __name__ == "__main__":
    sys.exit(main())
