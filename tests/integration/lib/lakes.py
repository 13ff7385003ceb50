# SPDX-License-Identifier: Apache-2.0
"""DuckLakes for tests: a private stack, and in it one PostgreSQL database per lake."""
from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import re
import shutil
import sys
import tempfile

import psycopg

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import duck  # noqa: E402
from devstack_lib import Stack  # noqa: E402

_numbers = itertools.count(1)


@contextlib.contextmanager
def private_stack(sts: bool = True, users: dict[str, list[str]] | None = None):
    """A stack of this test process, gone afterwards; DUCKICELAKE_TEST_STACK names one to use.

    Without `sts`: one whose object store makes no session keys. `users`: more users of the store
    and what they may do in the bucket by themselves.
    """
    given = os.environ.get("DUCKICELAKE_TEST_STACK")
    if given and sts and not users:
        stack = Stack.open(given)
        stack.up()
        yield stack
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="duckicelake-test-"))
    stack = Stack.open(folder / "stack", fsync=False, sts=sts, users=users)
    try:
        stack.up()
        yield stack
    finally:
        stack.destroy()
        shutil.rmtree(folder, ignore_errors=True)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Lake:
    """One DuckLake: its own PostgreSQL database and its own S3 prefix.

    `duckdb()` hands out a new DuckDB with the lake attached as `lake`; the caller closes it.
    `postgres` is one autocommit connection for looking into DuckLake's tables.
    """

    def __init__(self, stack: Stack, name: str | None = None):
        self.stack = stack
        self.name = name or f"lake_{os.getpid()}_{next(_numbers)}"
        if not re.fullmatch(r"[a-z0-9_]+", self.name):
            raise ValueError(self.name)
        role = stack.env()["DUCKICELAKE_PG_USER"]
        stack.pg.psql(f"CREATE DATABASE {self.name} OWNER {role};")
        self.env = stack.env() | {"DUCKICELAKE_PG_DATABASE": self.name,
                                  "DUCKICELAKE_S3_PREFIX": f"{self.name}/data/"}
        self._postgres: psycopg.Connection | None = None
        self._instances: dict[tuple, object] = {}

    def duckdb(self, **options):
        return duck.lake(self.env, create=not options.get("READ_ONLY"), **options)

    def session(self, **options):
        """A session of a long-lived DuckDB with the lake attached; one DuckDB per set of options.

        Loading the extensions is most of the cost of a new DuckDB, so tests share it.
        """
        key = tuple(sorted(options.items()))
        if key not in self._instances:
            self._instances[key] = self.duckdb(**options)
        return self._instances[key].cursor()

    def forget_session(self, **options) -> None:
        instance = self._instances.pop(tuple(sorted(options.items())), None)
        if instance is not None:
            instance.close()

    def forget_sessions(self) -> None:
        for instance in self._instances.values():
            instance.close()
        self._instances.clear()

    @property
    def postgres(self) -> psycopg.Connection:
        if self._postgres is None or self._postgres.broken:
            self._postgres = self.connect()
        return self._postgres

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host=self.env["DUCKICELAKE_PG_HOST"], port=self.env["DUCKICELAKE_PG_PORT"],
            user=self.env["DUCKICELAKE_PG_USER"], password=self.env["DUCKICELAKE_PG_PASSWORD"],
            dbname=self.name, autocommit=True)

    def rows(self, sql: str, *arguments) -> list[tuple]:
        return self.postgres.execute(sql, arguments or None).fetchall()

    def head(self) -> int:
        return self.rows("SELECT max(snapshot_id) FROM ducklake_snapshot")[0][0]

    @property
    def data_path(self) -> str:
        return duck.data_path(self.env)

    def external(self, folder: str) -> str:
        """A place for files that are no part of DATA_PATH (added to the lake by name)."""
        return f"s3://{self.env['DUCKICELAKE_S3_BUCKET']}/{self.name}/external/{folder}"

    def s3(self):
        import boto3
        from botocore.config import Config
        return boto3.client(
            "s3", endpoint_url=self.env["DUCKICELAKE_S3_ENDPOINT"],
            region_name=self.env["DUCKICELAKE_S3_REGION"],
            aws_access_key_id=self.env["DUCKICELAKE_S3_ROOT_KEY"],
            aws_secret_access_key=self.env["DUCKICELAKE_S3_ROOT_SECRET"],
            config=Config(s3={"addressing_style": "path"}))

    def close(self) -> None:
        self.forget_sessions()
        if self._postgres is not None:
            self._postgres.close()
        self.stack.pg.psql(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE);")
