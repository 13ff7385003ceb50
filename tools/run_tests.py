#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites in order, with progress, time limits and one count at the end.

    tools/run_tests.py              everything, as `make test` and CI do
    tools/run_tests.py unit asan    only these suites (see SUITES below; "kit" runs only when named)
    tools/run_tests.py --soak ...   long: whole sizes (DIL_SOAK=1 for the tests), fuzzing for minutes

Every suite's output goes to build/test-logs/<suite>.log; a failure shows the end of it here. The
last line is `N passed, N failed`, counted from the results that gtest and pytest write as XML; a
build, a check or a fuzz target counts as one.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from devstack_lib import Stack, StackError  # noqa: E402

BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
DEPS = pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or ROOT / ".deps").resolve()
JOBS = os.cpu_count() or 1
SOAK = False
RUNNING: set[subprocess.Popen] = set()
# Lets a clone in another folder find what this one compiled.
COMPILER_CACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


def one(ok: bool, name: str, why: str = "failed") -> Count:
    return Count(passed=1) if ok else Count(failed=1, failures=[f"{name}: {why}"])


class Run:
    """Runs the commands of one suite; all output goes to its log."""

    def __init__(self, suite: str, limit_seconds: float):
        self.suite = suite
        self.deadline = time.monotonic() + limit_seconds
        self.log = LOGS / f"{suite}.log"
        self.log.write_bytes(b"")

    def command(self, words: list, environment: dict | None = None,
                log: pathlib.Path | None = None) -> int:
        """The exit code; 124 when the suite's time was up and the command was ended."""
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("DUCKICELAKE_") or k == "DUCKICELAKE_DEPS_DIR"
                       } | COMPILER_CACHE | (environment or {})
        with open(log or self.log, "ab") as out:
            out.write(("$ " + " ".join(map(str, words)) + "\n").encode())
            out.flush()
            try:
                process = subprocess.Popen([str(w) for w in words], cwd=ROOT, env=environment,
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           start_new_session=True)
            except OSError as error:
                out.write(f"-- cannot run {words[0]} ({error.strerror}); try `make deps`\n".encode())
                return 127
            RUNNING.add(process)
            try:
                return process.wait(max(1.0, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                out.write(b"\n-- time limit of the suite reached --\n")
                end_group(process)
                return 124
            finally:
                RUNNING.discard(process)


def end_group(process: subprocess.Popen) -> None:
    """Ends a command and what it started; SIGTERM first so that it can tidy up."""
    for number, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, number)
            process.wait(seconds)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def interrupted(_number, _frame) -> None:
    """SIGINT and SIGTERM: the commands first, also those that other threads wait for."""
    for process in list(RUNNING):
        end_group(process)
    raise KeyboardInterrupt


def adopt_orphans() -> None:
    """Makes us the parent of everything that our commands leave behind (daemons included)."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def end_orphans() -> None:
    """Ends whatever still runs below us, so that no server outlives its suite."""
    for _ in range(50):
        children = [int(pid) for task in pathlib.Path("/proc/self/task").iterdir()
                    for pid in (task / "children").read_text().split()]
        if not children:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def read_xml(path: pathlib.Path, name: str, code: int) -> Count:
    """Counts a gtest or JUnit result file; a run without one, or with a bad exit, has failed."""
    count = Count()
    why = "time limit reached" if code == 124 else f"exited {code}"
    try:
        cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return one(False, name, f"no results ({why})")
    for case in cases:
        title = f"{name}: {case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed += 1
            count.failures.append(title)
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            count.skipped += 1
        else:
            count.passed += 1
    if code and not count.failed:
        count.add(one(False, name, why))
    return count


def build(run: Run, preset: str, targets: typing.Sequence[str] = ()) -> Count:
    code = run.command(["cmake", "--preset", preset])
    if code == 0:
        wanted = ["--target", *targets] if targets else []
        code = run.command(["cmake", "--build", "--preset", preset, f"-j{JOBS}", *wanted])
    return one(code == 0, f"build {preset}", "time limit reached" if code == 124 else "failed")


@contextlib.contextmanager
def stack_settings() -> typing.Iterator[dict[str, str]]:
    """Settings of a throw-away stack, for test programs that need a real service."""
    with tempfile.TemporaryDirectory(prefix="duckicelake-live-", ignore_cleanup_errors=True) as at:
        os.chmod(at, 0o711)  # PostgreSQL's own user passes through when we are root
        stack = Stack.open(pathlib.Path(at) / "stack", fsync=False)
        try:
            stack.up()
            env = stack.env()
            dsn = " ".join(f"{key}={env['DUCKICELAKE_PG_' + name]}" for key, name in (
                ("host", "HOST"), ("port", "PORT"), ("user", "USER"), ("password", "PASSWORD"),
                ("dbname", "DATABASE")))
            yield env | {"DUCKICELAKE_TEST_PG": dsn}
        finally:
            stack.destroy()


def test_programs(run: Run, preset: str, pattern: str, environment: dict[str, str]) -> Count:
    """Every matching program of a build, each its own process and result file."""
    programs = sorted(p for p in (BUILD / preset / "src").glob(pattern)
                      if p.is_file() and os.access(p, os.X_OK))
    if not programs:
        return one(False, f"{preset}/src/{pattern}", "no such test program was built")
    environment = environment | {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}

    def one_program(program: pathlib.Path) -> Count:
        name = f"{preset}-{program.name}"
        result, log = LOGS / f"{name}.xml", LOGS / f"{name}.log"
        result.unlink(missing_ok=True)
        log.write_bytes(b"")
        code = run.command([program, f"--gtest_output=xml:{result}", "--gtest_brief=1"],
                           environment, log)
        count = read_xml(result, name, code)
        if count.failed:
            with open(run.log, "ab") as out:
                out.write(log.read_bytes()[-6000:])
        return count

    total = Count()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for count in pool.map(one_program, programs):
            total.add(count)
    return total


def unit_tests(run: Run, preset: str) -> Count:
    return test_programs(run, preset, "*/*_test", {})


def live_tests(run: Run, preset: str) -> Count:
    """The *_live_test programs: C++ tests against a real PostgreSQL and object store."""
    try:
        with stack_settings() as settings:
            return test_programs(run, preset, "*/live/*_test", settings)
    except StackError as error:
        return one(False, "live tests", str(error))


def suite_modules(run: Run) -> Count:
    return one(run.command([sys.executable, "tools/check_modules.py", "--headers"]) == 0,
               "module rule")


def suite_format(run: Run) -> Count:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.h", "*.cc"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    files = [f for f in listed if f and (ROOT / f).is_file()]
    if not files:
        return one(False, "format", "no files found")
    return one(run.command(["clang-format-19", "--dry-run", "--Werror", *files]) == 0, "format",
               "run `make format`")


def golden_checks(run: Run, preset: str) -> Count:
    """Other implementations read what we write, and we what they write."""
    python, total = DEPS / "venv/bin/python", Count()
    for script, arguments in (("check_metadata_json.py", []),
                              ("check_avro.py", [BUILD / preset / "src/puffin/avro_files"])):
        code = run.command([python, ROOT / "tests/golden" / script, *arguments],
                           {"PYTHONDONTWRITEBYTECODE": "1"})
        total.add(one(code == 0, f"golden {script}"))
    return total


def suite_unit(run: Run) -> Count:
    total = unit_tests(run, "release")
    total.add(golden_checks(run, "release"))
    return total


def suite_live(run: Run) -> Count:
    return live_tests(run, "release")


def suite_asan(run: Run) -> Count:
    count = build(run, "asan")
    if not count.failed:
        count.add(unit_tests(run, "asan"))
        count.add(live_tests(run, "asan"))
    return count


def suite_fuzz(run: Run) -> Count:
    folder = BUILD / "asan/tests/fuzz"
    total = build(run, "asan", ["tests/fuzz/all"])
    if total.failed:
        return total
    programs = sorted(p for p in folder.glob("*") if p.is_file() and os.access(p, os.X_OK)
                      and p.suffix == "")
    if not programs:
        return one(False, "fuzz", "no targets were built")
    seconds = 300 if SOAK else 15

    def one_target(program: pathlib.Path) -> Count:
        name = program.name
        corpus, artifacts = BUILD / "asan/fuzz/corpus" / name, BUILD / "asan/fuzz/artifacts" / name
        corpus.mkdir(parents=True, exist_ok=True)
        artifacts.mkdir(parents=True, exist_ok=True)
        seeds = [p for p in (ROOT / "tests/fuzz/corpus" / name,
                             ROOT / "tests/fuzz/corpus" / name.removesuffix("_fuzz"))
                 if p.is_dir()]
        log = LOGS / f"fuzz-{name}.log"
        log.write_bytes(b"")
        code = run.command([program, f"-max_total_time={seconds}", "-timeout=10",
                            "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1",
                            f"-artifact_prefix={artifacts}/", corpus, *seeds], None, log)
        if code:
            with open(run.log, "ab") as out:
                out.write(log.read_bytes()[-6000:])
        return one(code == 0, f"fuzz {name}", f"the input is in {artifacts.relative_to(ROOT)}")

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for count in pool.map(one_target, programs):
            total.add(count)
    return total


def suite_integration(run: Run) -> Count:
    result = LOGS / "integration.xml"
    result.unlink(missing_ok=True)
    code = run.command(
        [DEPS / "venv/bin/python", "-m", "pytest", "tests/integration", "tests/conformance",
         "-n", min(JOBS, 4), "--dist=loadfile", f"--timeout={7200 if SOAK else 900}",
         "-p", "no:cacheprovider", "-ra", "--tb=short", "--durations=15", f"--junitxml={result}"],
        {"PYTHONPATH": str(ROOT / "tools"), "SPARK_LOCAL_IP": "127.0.0.1", "DIL_SOAK": "1" if SOAK else "0",
         "PYTHONDONTWRITEBYTECODE": "1"})
    return read_xml(result, "integration", code)


def suite_kit(run: Run) -> Count:
    result = LOGS / "kit.xml"
    result.unlink(missing_ok=True)
    code = run.command(
        [DEPS / "venv/bin/python", "-m", "pytest", "tests/kit", "--timeout=1500",
         "-p", "no:cacheprovider", "-ra", "--tb=short", f"--junitxml={result}"],
        {"PYTHONPATH": str(ROOT / "tools"), "PYTHONDONTWRITEBYTECODE": "1"})
    return read_xml(result, "kit", code)


class Suite(typing.NamedTuple):
    run: typing.Callable[[Run], Count]
    limit_seconds: int
    title: str
    needs: str | None = None  # a suite without whose success this one makes no sense
    by_default: bool = True


SUITES = {
    "modules": Suite(suite_modules, 600, "module rule, headers compile alone"),
    "format": Suite(suite_format, 120, "clang-format"),
    "build": Suite(lambda run: build(run, "release"), 1500, "build with clang 19, release"),
    "unit": Suite(suite_unit, 300, "unit tests, formats beside other implementations", "build"),
    "live": Suite(suite_live, 300, "C++ tests against PostgreSQL and the object store", "build"),
    "integration": Suite(suite_integration, 3000,
                         "integration tests: PostgreSQL, object store, real clients", "build"),
    "kit": Suite(suite_kit, 1800, "Iceberg's own catalog tests", "build"),
    "asan": Suite(suite_asan, 1500, "the same C++ tests under address and undefined-behaviour sanitizers"),
    "gcc": Suite(lambda run: build(run, "gcc"), 1500, "second compile with g++"),
    "fuzz": Suite(suite_fuzz, 1500, "parsers under libFuzzer, bounded"),
}


def show_end(log: pathlib.Path) -> None:
    lines = log.read_text(errors="replace").splitlines()[-60:]
    print("\n".join(f"    | {line}" for line in lines), flush=True)


def main(arguments: list[str]) -> int:
    global SOAK
    SOAK = "--soak" in arguments
    names = [a for a in arguments if a != "--soak"] or [
        name for name, suite in SUITES.items() if suite.by_default]
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"unknown suite {', '.join(unknown)}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    total, broken, began = Count(), set(), time.monotonic()
    for number, name in enumerate(names, 1):
        suite = SUITES[name]
        print(f"[{number}/{len(names)}] {suite.title} ...", flush=True)
        if suite.needs in broken:
            print(f"      not run: {suite.needs} failed", flush=True)
            total.add(one(False, name, f"not run, {suite.needs} failed"))
            broken.add(name)
            continue
        started = time.monotonic()
        run = Run(name, suite.limit_seconds * (8 if SOAK else 1))
        try:
            count = suite.run(run)
        finally:
            end_orphans()
        total.add(count)
        words = f"{count.passed} passed, {count.failed} failed"
        words += f", {count.skipped} skipped" if count.skipped else ""
        print(f"      {words}  ({time.monotonic() - started:.0f} s)", flush=True)
        if count.failed:
            broken.add(name)
            show_end(run.log)
            print(f"      whole log: {run.log.relative_to(ROOT)}; again: "
                  f"tools/run_tests.py {name}", flush=True)
    print(f"\nfinished in {(time.monotonic() - began) / 60:.1f} minutes")
    for failure in total.failures:
        print(f"FAILED {failure}")
    if total.passed + total.failed == 0:
        total.add(one(False, "all", "no test ran"))
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    shutil.which("cmake") or sys.exit("cmake is missing; run `make deps`")
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted")
