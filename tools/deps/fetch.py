#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the pinned pieces that are no Debian packages into the deps folder.

    .deps/duckdb/{lib,include,extensions}   DuckDB's library, C header and extensions
    .deps/croaring                          CRoaring's single-file source
    .deps/venv                              Python packages of the dev stack and the tests
    .deps/venv-spark, .deps/{spark,kit}-jars   only with --spark: Spark, Iceberg's catalog tests

Each comes through its registry's ordinary client and every extracted file is compared with the
sha256 in pins.json. A stamp per step makes a second run a matter of milliseconds.

DUCKICELAKE_DEPS_DIR names another deps folder. DUCKICELAKE_DEPS_FROM names a folder with the same
layout (an earlier .deps, say): the files of duckdb/, croaring/, spark-jars/ and kit-jars/ are then
taken from there and nothing of them is downloaded.
"""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent
ROOT = TOOLS.parent
DEPS = pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or ROOT / ".deps").resolve()
FROM = os.environ.get("DUCKICELAKE_DEPS_FROM")
PINS = json.loads((HERE / "pins.json").read_text())
PACKAGES = PINS["packages"]
LOCKED_PLATFORM = (platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
                   and sys.version_info[:2] == (3, 11))


class Failure(Exception):
    """A step failed; the message says what to do."""


def say(text: str) -> None:
    print(f"deps: {text}", flush=True)


def run(command: list, what: str, **kwargs) -> str:
    """Runs a client; returns its standard output or raises Failure with the end of its errors."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **kwargs)
    if done.returncode:
        tail = "\n".join((done.stderr + done.stdout).strip().splitlines()[-15:])
        raise Failure(f"{what} failed ({command[0]} exited {done.returncode}):\n{tail}\n"
                      "Check the network and run the same command again, or name a folder that has "
                      "the files: DUCKICELAKE_DEPS_FROM=<folder>")
    return done.stdout


def client(program: str, package: str) -> str:
    """The path of a package client, installed from Debian when the machine has none."""
    found = shutil.which(program)
    if not found:
        say(f"{program} is missing; installing Debian's {package}")
        if subprocess.run([HERE / "apt", package]).returncode:
            raise Failure(f"{program} is needed to fetch a package; install it and run again")
        found = shutil.which(program)
    if not found:
        raise Failure(f"{program} is still not on the PATH after installing {package}")
    return found


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def place(source: pathlib.Path, relative: str) -> None:
    """Checks a fetched file against its pin and moves it to its place in one rename."""
    want, got = PINS["sha256"][relative], sha256(source)
    if want != got:
        raise Failure(f"{relative}: sha256 is {got}, pinned is {want}. The file is damaged or was "
                      "replaced upstream; it was not installed.")
    target = DEPS / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    shutil.copyfile(source, partial)
    os.replace(partial, target)


def files_under(prefix: str) -> list[str]:
    return [name for name in PINS["sha256"] if name.startswith(prefix)]


def from_folder(prefix: str) -> bool:
    """Takes the pinned files below `prefix` from the user's folder, if one is named."""
    if not FROM:
        return False
    for name in files_under(prefix):
        source = pathlib.Path(FROM) / name
        if not source.is_file():
            raise Failure(f"DUCKICELAKE_DEPS_FROM={FROM} has no {name}")
        place(source, name)
    return True


def scratch() -> tempfile.TemporaryDirectory:
    DEPS.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=DEPS, prefix="tmp-")


def need_platform() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise Failure(f"pins.json has files for {PINS['platform']} only; this is "
                      f"{platform.system()} {platform.machine()}. Add the pins of this platform.")


def duckdb_library() -> None:
    need_platform()
    if from_folder("duckdb/lib/"):
        return
    npm = client("npm", "npm")
    with scratch() as folder:
        name = run([npm, "pack", "--silent", PACKAGES["npm"]], "fetching DuckDB's library",
                   cwd=folder).strip().splitlines()[-1]
        with tarfile.open(pathlib.Path(folder) / name) as archive:
            member = archive.extractfile("package/libduckdb.so")
            library = pathlib.Path(folder) / "libduckdb.so"
            with open(library, "wb") as out:
                shutil.copyfileobj(member, out)
        place(library, "duckdb/lib/libduckdb.so")


def duckdb_header() -> None:
    if from_folder("duckdb/include/"):
        return
    go = client("go", "golang-go")
    with scratch() as folder:
        env = dict(os.environ, GOMODCACHE=folder, GOFLAGS="-modcacherw")
        answer = run([go, "mod", "download", "-json", PACKAGES["go"]], "fetching DuckDB's header",
                     cwd=folder, env=env)
        place(pathlib.Path(json.loads(answer)["Dir"]) / "include/duckdb.h",
              "duckdb/include/duckdb.h")


def duckdb_extensions() -> None:
    need_platform()
    if from_folder("duckdb/extensions/"):
        return
    version, where = f"v{PINS['duckdb_version']}", PINS["platform"]
    with scratch() as folder:
        run([python_in(DEPS / "venv"), "-m", "pip", "download", "--quiet", "--no-deps",
             "--only-binary=:all:", "--dest", folder, *PACKAGES["extensions"].values()],
            "fetching DuckDB's extensions")
        for wheel in pathlib.Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if not member.endswith(".duckdb_extension"):
                        continue
                    name = member.rsplit("/", 1)[1]
                    out = pathlib.Path(folder) / name
                    with archive.open(member) as source, open(out, "wb") as sink:
                        shutil.copyfileobj(source, sink)
                    place(out, f"duckdb/extensions/{version}/{where}/{name}")
    absent = [n for n in files_under("duckdb/extensions/") if not (DEPS / n).is_file()]
    if absent:
        raise Failure(f"the extension packages did not hold {', '.join(absent)}")


def croaring() -> None:
    if from_folder("croaring/"):
        return
    cargo = client("cargo", "cargo-web")
    name, version = PACKAGES["crate"]
    with scratch() as folder:
        project = pathlib.Path(folder)
        (project / "src").mkdir()
        (project / "src/lib.rs").touch()
        (project / "Cargo.toml").write_text(
            '[package]\nname = "fetch"\nversion = "0.0.0"\n\n[workspace]\n\n'
            f'[dependencies]\n{name} = "={version}"\n')
        run([cargo, "vendor", "--quiet", "vendored"], "fetching CRoaring", cwd=project)
        for relative in files_under("croaring/"):
            place(project / "vendored" / name / "CRoaring" / pathlib.Path(relative).name, relative)


def python_in(venv: pathlib.Path) -> pathlib.Path:
    return venv / "bin/python"


def make_venv(name: str, requirements: str) -> None:
    venv = DEPS / name
    if not python_in(venv).exists() or subprocess.run(
            [python_in(venv), "-c", "import pip, sys; sys.exit(sys.prefix == sys.base_prefix)"],
            stderr=subprocess.DEVNULL).returncode:
        run([sys.executable, "-m", "venv", "--clear", venv],
            f"making the Python environment {name} (is python3-venv installed?)")
    if LOCKED_PLATFORM:
        arguments = ["--require-hashes", "-r", TOOLS / f"{requirements}.txt"]
    else:
        arguments = ["-r", TOOLS / f"{requirements}.in"]
    run([python_in(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         *arguments], f"installing {requirements}")


def venv() -> None:
    make_venv("venv", "requirements")


def venv_spark() -> None:
    make_venv("venv-spark", "requirements-spark")


def jars(group: str, folder_name: str) -> None:
    """Fetches a group of pins.json in one run of Maven; what the jars ask for is not followed."""
    if from_folder(f"{folder_name}/"):
        return
    mvn = client("mvn", "maven")
    names = ("groupId", "artifactId", "version", "type", "classifier")
    with scratch() as folder:
        dependencies = "".join(
            "<dependency>"
            + "".join(f"<{n}>{v}</{n}>" for n, v in zip(names, artifact.split(":")))
            + "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
              "</exclusions></dependency>"
            for artifact in PACKAGES[group].values())
        (pathlib.Path(folder) / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>duckicelake</groupId><artifactId>fetch</artifactId><version>0</version>"
            f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>\n")
        run([mvn, "--batch-mode", "--quiet",
             "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
             f"-DoutputDirectory={folder}"], f"fetching {folder_name}", cwd=folder)
        for jar in PACKAGES[group]:
            place(pathlib.Path(folder) / jar, f"{folder_name}/{jar}")


def spark_jars() -> None:
    jars("spark_jars", "spark-jars")


def kit_jars() -> None:
    jars("kit_jars", "kit-jars")


def key(*parts) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def pins_key(prefix: str) -> str:
    return key({n: PINS["sha256"][n] for n in files_under(prefix)})


def lock_key(requirements: str) -> str:
    suffix = "txt" if LOCKED_PLATFORM else "in"
    return key((TOOLS / f"{requirements}.{suffix}").read_text(), list(sys.version_info[:2]),
               str(DEPS))


def steps(spark: bool) -> list[tuple]:
    """(name, what changes it, a file that must exist, what to do), in order."""
    all_steps = [
        ("venv", lock_key("requirements"), "venv/bin/weed", venv,
         "Python packages and the object store (about 250 MB)"),
        ("duckdb-library", pins_key("duckdb/lib/"), "duckdb/lib/libduckdb.so", duckdb_library,
         "DuckDB library (24 MB)"),
        ("duckdb-header", pins_key("duckdb/include/"), "duckdb/include/duckdb.h", duckdb_header,
         "DuckDB header"),
        ("duckdb-extensions", pins_key("duckdb/extensions/"), "duckdb/extensions",
         duckdb_extensions, "DuckDB extensions (57 MB)"),
        ("croaring", pins_key("croaring/"), "croaring/roaring.c", croaring, "CRoaring source"),
    ]
    if spark:
        all_steps += [
            ("venv-spark", lock_key("requirements-spark"), "venv-spark/bin/python", venv_spark,
             "PySpark (450 MB)"),
            ("spark-jars", pins_key("spark-jars/"), "spark-jars", spark_jars,
             "Iceberg's Spark runtime (117 MB)"),
            ("kit-jars", pins_key("kit-jars/"), "kit-jars", kit_jars,
             "Iceberg's catalog tests and what they need (27 MB)"),
        ]
    return all_steps


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--spark"]):
        print(__doc__, file=sys.stderr)
        return 2
    DEPS.mkdir(parents=True, exist_ok=True)
    lock = open(DEPS / ".lock", "w")  # two runs at once: the second waits, then finds the stamps
    fcntl.flock(lock, fcntl.LOCK_EX)
    for name, wanted, witness, action, title in steps("--spark" in arguments):
        stamp = DEPS / "stamps" / name
        if (DEPS / witness).exists() and stamp.is_file() and stamp.read_text() == wanted:
            continue
        say(title)
        try:
            action()
        except Failure as failure:
            print(f"deps: {failure}", file=sys.stderr)
            return 1
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
