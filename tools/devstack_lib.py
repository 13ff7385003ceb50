# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL and a private object store in one folder, for development and tests.

    stack = Stack.open(folder)        # makes the settings on first use: random keys, free ports
    stack.up(); stack.env(); stack.pg.stop(); stack.s3.start(); stack.down()

Any number of stacks run side by side, each with its own folder and its own block of 16 ports:
base .. base+11 are the object store's (base+10 is S3 and STS), base+12 is PostgreSQL.
`tools/devstack` is the same on the command line.
"""
from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import pwd
import secrets
import shlex
import shutil
import string
import threading

import devstack_s3
import sigv4
from devstack_pg import SUPERUSER, Postgres
from devstack_process import StackError, port_is_free, runtime_folder, write_private
from devstack_s3 import ObjectStore

__all__ = ["Stack", "StackError"]

PORTS = 16
POSTGRES_OFFSET = 12
FIRST_BASE = 18400  # below the ports that the kernel hands out to clients (from 32768)
LAST_BASE = 30000
USED_OFFSETS = (0, 1, 2, 3, 4, 5, 10, 11, 12)
REGION = "us-east-1"


def project_root() -> pathlib.Path:
    return pathlib.Path(__file__).resolve().parent.parent


def default_state() -> pathlib.Path:
    return project_root() / ".state"


def _random_text(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


@contextlib.contextmanager
def _locked(path: pathlib.Path):
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _claim(base: int) -> pathlib.Path:
    return runtime_folder() / f"{base}.claim"


def _free_block(state: pathlib.Path) -> int:
    """Claims a block of free ports that no other stack of this user has; caller holds the lock."""
    for base in range(FIRST_BASE, LAST_BASE, PORTS):
        claim = _claim(base)
        try:
            owner = pathlib.Path(claim.read_text().strip())
            taken = owner != state and json.loads(
                (owner / "stack.json").read_text())["base_port"] == base
        except (OSError, ValueError, KeyError):
            taken = False
        if not taken and all(port_is_free(base + offset) for offset in USED_OFFSETS):
            claim.write_text(f"{state}\n")
            return base
    raise StackError("no free block of ports; stop some stacks (`tools/devstack down`)")


class Stack:
    """One stack, described by <state>/stack.json (secrets inside: mode 0600)."""

    def __init__(self, state: pathlib.Path, settings: dict):
        self.state = state
        self.settings = settings
        self.base_port = settings["base_port"]
        self.pg = Postgres(state, settings["pg"] | {"port": self.base_port + POSTGRES_OFFSET})
        self.s3 = ObjectStore(state, settings["s3"] | {"base_port": self.base_port})

    @staticmethod
    def exists(state: pathlib.Path | str) -> bool:
        return (pathlib.Path(state) / "stack.json").is_file()

    @classmethod
    def open(cls, state: pathlib.Path | str | None = None, base_port: int | None = None,
             fsync: bool | None = None, sts: bool | None = None,
             users: dict[str, list[str]] | None = None) -> Stack:
        """The stack of a folder; its settings are made if the folder has none.

        base_port: only for a new stack (default: a free block). fsync, sts (whether the store
        makes session keys): kept when None. users: more users of the store and what they may do
        in the bucket (Read, Write, List, Tagging) by themselves; those that it has are kept.
        """
        state = pathlib.Path(state or default_state()).resolve()
        try:
            state.mkdir(parents=True, exist_ok=True)
        except PermissionError:
            raise StackError(f"may not make {state}; give another --state") from None
        if state.stat().st_uid != os.geteuid():
            raise StackError(f"{state} belongs to {_user_name(state.stat().st_uid)}, and we are "
                             f"{_user_name(os.geteuid())}. Run as that user, remove the folder, or "
                             "give another --state")
        file = state / "stack.json"
        with _locked(runtime_folder() / "lock"):
            if file.is_file():
                settings = json.loads(file.read_text())
                if base_port not in (None, settings["base_port"]):
                    raise StackError(f"{state} has base port {settings['base_port']}, and its "
                                     "object store's data is bound to it; run "
                                     "`tools/devstack destroy` first or use another --state")
            else:
                settings = cls._new_settings(base_port or _free_block(state))
            if not _claim(settings["base_port"]).exists():  # the temporary folder was emptied
                _claim(settings["base_port"]).write_text(f"{state}\n")
            if fsync is not None:
                settings["pg"]["fsync"] = fsync
            if sts is not None:
                settings["s3"]["sts"] = sts
            for name, verbs in (users or {}).items():
                settings["s3"].setdefault("users", {}).setdefault(name, {
                    "key": "USER" + _random_text(16, string.ascii_uppercase),
                    "secret": _random_text(40), "verbs": verbs})
            text = json.dumps(settings, indent=1)
            if not file.is_file() or file.read_text() != text:
                write_private(file, text)
        return cls(state, settings)

    @staticmethod
    def _new_settings(base_port: int) -> dict:
        upper = string.ascii_uppercase + string.digits
        return {
            "base_port": base_port,
            "pg": {"superuser_password": _random_text(32), "role": "ducklake",
                   "password": _random_text(32), "database": "ducklake", "fsync": True},
            "s3": {"bucket": "lakehouse", "region": REGION,
                   "admin_key": "ADMIN" + _random_text(15, upper),
                   "admin_secret": _random_text(40),
                   "catalog_key": "CATLG" + _random_text(15, upper),
                   "catalog_secret": _random_text(40),
                   "sts_signing_key": base64.b64encode(secrets.token_bytes(36)).decode(),
                   "internal_keys": [_random_text(32) for _ in range(4)]}}

    def up(self, check: bool = True) -> None:
        """Starts what does not run yet; both services at the same time."""
        with _locked(self.state / "up.lock"):
            self._ports_are_ours()
            failures: list[BaseException] = []

            def guarded(action):
                try:
                    action()
                except BaseException as error:  # handed to the caller below
                    failures.append(error)

            other = threading.Thread(target=guarded, args=(self.pg.start,))
            other.start()
            guarded(self.s3.start)
            other.join()
            if failures:
                raise failures[0]
            if check and self.s3.has_sts:
                self.s3.check_sts()

    def _ports_are_ours(self) -> None:
        taken = []
        if not self.s3.is_running():
            taken += [self.base_port + o for o in USED_OFFSETS if o != POSTGRES_OFFSET]
        if not self.pg.is_running():
            taken.append(self.base_port + POSTGRES_OFFSET)
        taken = [port for port in taken if not port_is_free(port)]
        if taken:
            raise StackError(f"ports {taken} are in use by something else; stop it, or use "
                             "another --state (a new stack finds free ports by itself)")

    def down(self, pg_mode: str = "fast") -> None:
        with _locked(self.state / "up.lock"):
            self.s3.stop()
            self.pg.stop(pg_mode)

    def destroy(self) -> None:
        """Stops everything and removes the folder."""
        self.pg.destroy()
        self.s3.destroy()
        shutil.rmtree(self.state, ignore_errors=True)
        _claim(self.base_port).unlink(missing_ok=True)

    def env(self) -> dict[str, str]:
        """The server's settings for this stack."""
        pg, s3 = self.settings["pg"], self.settings["s3"]
        return {
            "DUCKICELAKE_PG_HOST": "127.0.0.1",
            "DUCKICELAKE_PG_PORT": str(self.base_port + POSTGRES_OFFSET),
            "DUCKICELAKE_PG_USER": pg["role"],
            "DUCKICELAKE_PG_DATABASE": pg["database"],
            "DUCKICELAKE_PG_PASSWORD": pg["password"],
            "DUCKICELAKE_S3_ENDPOINT": self.s3.endpoint,
            "DUCKICELAKE_S3_REGION": s3["region"],
            "DUCKICELAKE_S3_BUCKET": s3["bucket"],
            "DUCKICELAKE_S3_ROOT_KEY": s3["catalog_key"],
            "DUCKICELAKE_S3_ROOT_SECRET": s3["catalog_secret"],
            "DUCKICELAKE_S3_PATH_STYLE": "1",
            "DUCKICELAKE_S3_PREFIX": "data/",
            "DUCKICELAKE_STS_ENDPOINT": self.s3.endpoint,
            "DUCKICELAKE_STS_ROLE_ARN": devstack_s3.ROLE_ARN,
        }

    def process_environment(self) -> dict[str, str]:
        """Our own environment with `env` in it, for a server or a client to start.

        Without the variables that only the tools read: the server refuses settings it does not
        know.
        """
        return {name: value for name, value in os.environ.items()
                if not name.startswith(("DUCKICELAKE_DEPS_", "DUCKICELAKE_TEST_"))} | self.env()

    def env_lines(self) -> str:
        """`env` as lines that a shell and the server's .env file both read."""
        return "".join(f"export {name}={shlex.quote(value)}\n"
                       for name, value in self.env().items())

    def superuser_env(self) -> dict[str, str]:
        """libpq's variables for the cluster's superuser."""
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.base_port + POSTGRES_OFFSET),
                "PGUSER": SUPERUSER, "PGPASSWORD": self.settings["pg"]["superuser_password"],
                "PGDATABASE": self.settings["pg"]["database"]}

    def admin_keys(self) -> sigv4.Keys:
        """Keys that may do everything in the object store; the server never gets them."""
        return self.s3.admin

    def sts_signing_key(self) -> bytes:
        """Signs the store's session tokens: tests make an expired one with it."""
        return base64.b64decode(self.settings["s3"]["sts_signing_key"])

    def status(self) -> dict[str, str]:
        def word(service):
            if service.is_ready():
                return "ready"
            return "starting" if service.is_running() else "stopped"
        return {"postgresql": word(self.pg), "object store": word(self.s3)}
