# SPDX-License-Identifier: Apache-2.0
"""The server under test as a process: `duckicelake init` and `duckicelake serve` on a lake."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import requests

from .lakes import ROOT, Lake

START_SECONDS = 60


def binary() -> pathlib.Path:
    given = os.environ.get("DUCKICELAKE_BIN")
    found = pathlib.Path(given) if given else ROOT / "build/release/src/app/duckicelake"
    if not found.is_file():
        raise FileNotFoundError(f"{found}: build the server first, or name it in DUCKICELAKE_BIN")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what: str, check, seconds: float = 30, interval: float = 0.05):
    """The first true value of `check()`; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:g} s (last: {value!r})")
        time.sleep(interval)


def command(lake: Lake, *words: str, env: dict | None = None) -> subprocess.CompletedProcess:
    """Runs a subcommand to its end."""
    return subprocess.run([str(binary()), *words], env=_environment(lake, env or {}), text=True,
                          capture_output=True, timeout=120, cwd=tempfile.gettempdir())


def _environment(lake: Lake, more: dict) -> dict:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DUCKICELAKE_")}
    return kept | lake.env | {k: str(v) for k, v in more.items()}


class Server:
    """One process on one lake. `url` is the root that clients are given, `api` its default prefix."""

    def __init__(self, lake: Lake, port: int | None = None, **settings):
        self.lake = lake
        self.port = port or free_port()
        # Nothing is published but by loads and nothing read ahead, so that tests can count; test_eager.py and
        # test_nan_counts.py turn it on.
        self.settings = {"DUCKICELAKE_LISTEN_HOST": "127.0.0.1", "DUCKICELAKE_PORT": self.port,
                         "DUCKICELAKE_DISABLE_NOTIFY": "1", "DUCKICELAKE_DISABLE_NAN_COUNTS": "1",
                         **settings}
        self.url = f"http://127.0.0.1:{self.port}"
        self.api = f"{self.url}/v1/lake"
        self.log_path = pathlib.Path(tempfile.gettempdir()) / f"duckicelake-{self.port}.log"
        self.process: subprocess.Popen | None = None
        self.http = requests.Session()

    def start(self, wait: bool = True) -> "Server":
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(
                [str(binary()), "serve"], env=_environment(self.lake, self.settings), stdout=log,
                stderr=subprocess.STDOUT, cwd=tempfile.gettempdir())
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n"
                                     + self.log_tail())
            try:
                return requests.get(f"{self.url}/readyz", timeout=5).status_code == 200
            except requests.RequestException:
                return False
        eventually(f"{self.url}/readyz answers 200", ready, seconds)

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, seconds: float = 20) -> int:
        """SIGTERM, then wait: the exit code. SIGKILL after `seconds` is a failure."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end within {seconds} s of SIGTERM") from None
        finally:
            self.process = None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def get(self, path: str, **options) -> requests.Response:
        """GET below /v1/<prefix>."""
        return self.http.get(self.api + path, timeout=options.pop("timeout", 60), **options)

    def load(self, namespace: str, table: str, **options) -> dict:
        answer = self.get(f"/namespaces/{encoded(namespace)}/tables/{encoded(table)}", **options)
        assert answer.status_code == 200, f"{answer.status_code}: {answer.text}\n{self.log_tail(8)}"
        return answer.json()

    def metrics(self) -> dict[str, float]:
        """All samples of /metrics; a series with labels is keyed by its full text."""
        answer = self.http.get(f"{self.url}/metrics", timeout=30)
        answer.raise_for_status()
        pairs = re.findall(r'^([a-zA-Z_:][^\s{]*(?:\{(?:[^"}]|"[^"]*")*\})?)\s+(\S+)', answer.text, re.M)
        return {name: float(value) for name, value in pairs}

    def rss_bytes(self) -> int:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def encoded(name: str) -> str:
    from urllib.parse import quote
    return quote(name, safe="")
