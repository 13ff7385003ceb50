# SPDX-License-Identifier: Apache-2.0
"""Iceberg's own catalog tests (JUnit classes of its released tests jar) run against a server.

The Java files beside this one subclass them: they say where the server is, ask for locations on
its object store and remove everything between two tests. They are compiled into build/kit when
they or the jars changed.
"""
from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))
DEPS = pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or ROOT / ".deps").resolve()
BUILD = ROOT / "build/kit"
SECONDS = 1200  # for the whole run
TEST_SECONDS = 60  # for one test

# What the server of the kit is started with, beside a stack's settings: the tests commit files
# without a scheme ("/path/to/data-a.parquet") that exist nowhere.
SERVER_SETTINGS = {"DUCKICELAKE_ALLOW_BARE_PATHS": "1"}


class KitError(Exception):
    """The tests could not be run; the message says why."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    status: str  # passed, failed, skipped
    message: str = ""  # what a failed test says, whole
    seconds: float = 0.0

    def first_line(self, length: int = 300) -> str:
        """What it says before any stack trace, on one line."""
        words = self.message.split("\n\tat ")[0].split()
        return " ".join(words)[:length]


def known_tests() -> list[str]:
    """Every test of the suites, as `Class.method` or `Class.method[n]`; `run --list` writes it."""
    return [line for line in (HERE / "tests.txt").read_text().splitlines()
            if line and not line.startswith("#")]


def expected_failures() -> dict[str, str]:
    """Test → why it cannot pass."""
    return tomllib.loads((HERE / "expected.toml").read_text())


def class_path() -> list[pathlib.Path]:
    """Our own jars first: the bundle holds parts of other versions."""
    jars = sorted((DEPS / "kit-jars").glob("*.jar"))
    bundle = sorted((DEPS / "spark-jars").glob("iceberg-aws-bundle-*.jar"))
    if not jars or not bundle or not shutil.which("javac"):
        raise KitError("the jars or the JDK of the kit are missing: tools/deps/install --spark")
    return jars + bundle


def compiled() -> pathlib.Path:
    """The folder of the compiled classes; compiles when it is out of date."""
    jars, sources = class_path(), sorted(HERE.glob("*.java"))
    digest = hashlib.sha256()
    for file in sources:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    for jar in jars:
        digest.update(f"{jar.name} {jar.stat().st_size}\n".encode())
    classes, stamp = BUILD / "classes", BUILD / "stamp"
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:  # two runs at once: the second waits
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.is_file() and stamp.read_text() == digest.hexdigest():
            return classes
        shutil.rmtree(classes, ignore_errors=True)
        done = subprocess.run(
            ["javac", "--release", "17", "-nowarn", "-proc:none", "-d", classes,
             "-cp", ":".join(map(str, jars)), *sources], capture_output=True, text=True)
        if done.returncode:
            raise KitError(f"javac failed:\n{done.stderr[-4000:]}")
        stamp.write_text(digest.hexdigest())
    return classes


def client_properties(uri: str, env: dict[str, str]) -> dict[str, str]:
    """What a client of the lake described by the server's settings `env` is given."""
    bucket, prefix = env["DUCKICELAKE_S3_BUCKET"], env.get("DUCKICELAKE_S3_PREFIX", "data/")
    return {
        "uri": uri,
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": env["DUCKICELAKE_S3_ENDPOINT"],
        "s3.path-style-access": "true",
        "s3.access-key-id": env["DUCKICELAKE_S3_ROOT_KEY"],
        "s3.secret-access-key": env["DUCKICELAKE_S3_ROOT_SECRET"],
        "client.region": env["DUCKICELAKE_S3_REGION"],
        "header.X-Iceberg-Access-Delegation": "",
        "kit.location": f"s3://{bucket}/{prefix}".rstrip("/"),
    }


def run(properties: dict[str, str], pattern: str = ".*") -> dict[str, Outcome]:
    """Runs the tests whose `Class.method` the pattern finds; test → outcome, in their order."""
    _reachable(properties["uri"])
    classes = compiled()
    with tempfile.TemporaryDirectory(prefix="duckicelake-kit-") as folder:
        settings, reports = pathlib.Path(folder) / "properties", pathlib.Path(folder) / "reports"
        settings.touch(0o600)
        settings.write_text("".join(f"{_escaped(k)}={_escaped(v)}\n"
                                    for k, v in properties.items()))
        path = ":".join(map(str, [classes, *class_path()]))
        command = [
            "java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            f"-Dkit.properties={settings}", "-cp", path,
            "org.junit.platform.console.ConsoleLauncher", "execute",
            "--select-class=duckicelake.kit.CatalogKit",
            "--select-class=duckicelake.kit.ViewCatalogKit",
            "--include-classname=.*", f"--include-methodname=.*(?:{pattern}).*",
            f"--config=junit.jupiter.execution.timeout.default={TEST_SECONDS} s",
            f"--reports-dir={reports}", "--disable-banner", "--details=none"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                                  cwd=folder)
        except subprocess.TimeoutExpired:
            raise KitError(f"the tests did not end within {SECONDS} s") from None
        sys.stderr.write("".join(f"{line}\n" for line in done.stderr.splitlines()
                                 if line.startswith("kit: ")))
        report = reports / "TEST-junit-jupiter.xml"
        if not report.is_file():
            raise KitError(f"java exited {done.returncode} without a report:\n"
                           + (done.stderr + done.stdout)[-4000:])
        return dict(sorted(_outcomes(report).items(), key=_order))


def _reachable(uri: str) -> None:
    try:
        urllib.request.urlopen(f"{uri}/v1/config", timeout=30).close()
    except (OSError, urllib.error.URLError) as error:
        raise KitError(f"{uri}/v1/config: {error}") from None


def _escaped(text: str) -> str:
    """As java.util.Properties reads it."""
    for char in "\\:=#! ":
        text = text.replace(char, "\\" + char)
    return text


def _outcomes(report: pathlib.Path) -> dict[str, Outcome]:
    found = {}
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        name = case.get("name").split("(")[0] + ("[" + case.get("name").split("[")[1]
                                                 if "[" in case.get("name") else "")
        status, message = "passed", ""
        for kind in ("failure", "error"):
            if (node := case.find(kind)) is not None:
                status, message = "failed", node.get("message") or node.text or node.get("type")
        if (node := case.find("skipped")) is not None:
            status, message = "skipped", node.text or node.get("message") or ""
        found[f"{case.get('classname').rsplit('.', 1)[1]}.{name}"] = Outcome(
            status, message, float(case.get("time", 0)))
    return found


def _order(item: tuple[str, Outcome]) -> tuple[int, str]:
    order = {name: number for number, name in enumerate(known_tests())}
    return order.get(item[0], len(order)), item[0]
