#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enforces the direction of dependencies between the modules of src/, on the #include lines.

    tools/check_modules.py             includes, file sizes, licence lines
    tools/check_modules.py --headers   also compiles every header alone

A module may include its own headers and those of the modules that its row of USES names, and of
what those use in turn. Heavy or dangerous libraries are fenced in by LIBRARIES. What differs from
a plain layering, on purpose:

- `catalog`, the use cases, stands on the adapters `store` (with `pg`), `objstore` and `net` (for
  the head probe, which lives on an I/O thread) themselves: each has one implementation, and a port
  that hides one implementation is a room too many.
- `engine` is reached by a port, because it loads DuckDB on first need and tests replace it: the
  header of PORTS is all that it sees of `catalog`.
- `catalog` may use every pure module. Tests follow the same rows, plus EXTRA_FOR_TESTS.
- Coroutines and sockets (Boost.Asio, Beast) exist in `net` alone: use cases and the adapters are
  plain synchronous code.
"""
from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

# The pure core first: no sockets, files, clocks, randomness, environment or globals.
PURE = {
    "base": [],
    "json": ["base"],
    "avro": ["base", "json"],
    "iceberg": ["base", "json"],
    "manifest": ["iceberg", "avro"],
    "puffin": ["base", "json"],
    "parquet": ["base"],
    "ducklake": ["base"],
    "translate": ["iceberg", "manifest", "puffin", "parquet", "ducklake"],
    "governance": ["base", "json", "ducklake"],
    "auth": ["base", "json"],
    "sign": ["base", "json"],
}
# pg to net are adapters; net knows no routes, and no adapter knows the use cases.
USES = PURE | {
    "pg": ["base"],
    "store": ["ducklake", "pg"],
    "objstore": ["base", "sign"],
    "engine": ["base"],
    "net": ["base"],
    "catalog": [*PURE, "pg", "store", "objstore", "net"],
    "rest": ["catalog", "net"],
}
USES["app"] = list(USES)

# Single headers that a module implements although the module above it owns them.
PORTS = {"engine": {"catalog/data_engine.h"}}

# The live tests of store have DuckDB as the other writer.
EXTRA_FOR_TESTS: dict[str, list[str]] = {"store": ["engine"]}

# Where a library's headers may be included (a prefix of the path between < and >).
LIBRARIES = {
    "boost/asio": ["net"],
    "boost/beast": ["net"],
    "libpq-fe.h": ["pg"],
    "duckdb.h": ["engine"],
    "curl/": ["net", "objstore"],
    "pugixml.hpp": ["objstore"],
    "CLI/": ["app"],
    "toml++/": ["app"],
    "roaring": ["puffin"],
}

MAX_LINES = 1000
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def allowed(module: str) -> set[str]:
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += USES[name]
    return seen


def check_file(path: pathlib.Path) -> list[str]:
    text = path.read_text(errors="replace")
    where = path.relative_to(ROOT)
    problems = []
    if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
        problems.append(f"{where}:1: the first line must be the SPDX licence line")
    lines = text.count("\n")
    if lines > MAX_LINES and path.suffix in (".h", ".cc"):
        problems.append(f"{where}: {lines} lines; {MAX_LINES} is the limit, split it by concept")
    if path.suffix not in (".h", ".cc"):
        return problems
    module = path.relative_to(SOURCE).parts[0]
    if module not in USES:
        return problems + [f"{where}: module {module} has no row in tools/check_modules.py"]
    may = allowed(module)
    if path.name.endswith("_test.cc"):
        may |= set(EXTRA_FOR_TESTS.get(module, []))
    for match in INCLUDE.finditer(text):
        bracket, name = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        first = name.split("/")[0]
        if bracket == '"':
            if first not in USES or not (SOURCE / name).is_file():
                problems.append(f'{where}:{line}: "{name}" is no header below src/ (library '
                                "headers are included with < >)")
            elif first not in may and name not in PORTS.get(module, set()):
                problems.append(f"{where}:{line}: {module} may not use {first} (it may use "
                                f"{', '.join(sorted(may - {module})) or 'no module'})")
            continue
        for prefix, modules in LIBRARIES.items():
            if name.startswith(prefix) and module not in modules:
                problems.append(f"{where}:{line}: <{name}> belongs into {', '.join(modules)} only")
    return problems


def compiles_alone(header: pathlib.Path) -> str | None:
    compiler = shutil.which("clang++-19") or shutil.which("g++") or "c++"
    deps = pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or ROOT / ".deps")
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wno-pragma-once-outside-header",
               f"-I{SOURCE}", "-isystem", f"{deps}/duckdb/include", "-isystem",
               f"{deps}/croaring", "-isystem", "/usr/include/postgresql", "-x", "c++", str(header)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    first = next((l for l in done.stderr.splitlines() if "error" in l), done.stderr[:300])
    return f"{header.relative_to(ROOT)}: does not compile alone: {first}"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--headers"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = sorted(p for p in SOURCE.rglob("*") if p.suffix in (".h", ".cc"))
    problems = [problem for path in files for problem in check_file(path)]
    headers = [p for p in files if p.suffix == ".h"] if arguments else []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problems += [p for p in pool.map(compiles_alone, headers) if p]
    for problem in problems:
        print(problem)
    print(f"{len(files)} files, {len(headers)} headers compiled alone, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
