# SPDX-License-Identifier: Apache-2.0
"""The dev stack's private PostgreSQL cluster: loopback TCP only, scram-sha-256, own port.

PostgreSQL refuses to run as root. When we are root, the cluster belongs to the system user
`duckicelake-dev` (made on first use), and lives outside the state folder if that user cannot
reach it (a clone below a home folder closed to others).
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import pwd
import re
import shutil
import subprocess

from devstack_process import StackError, start_time, tail, wait_until, write_private

SUPERUSER = "duckicelake_admin"
SERVICE_USER = "duckicelake-dev"


def binaries() -> pathlib.Path:
    """The folder of the newest installed server's programs (14 or later)."""
    found = sorted((p for p in pathlib.Path("/usr/lib/postgresql").glob("*/bin")
                    if (p / "initdb").exists() and p.parent.name.isdigit()),
                   key=lambda p: int(p.parent.name))
    if found and int(found[-1].parent.name) >= 14:
        return found[-1]
    on_path = shutil.which("initdb")
    if on_path:
        return pathlib.Path(on_path).resolve().parent
    raise StackError("no PostgreSQL server programs found; run `make deps` (Debian package "
                     "postgresql-15)")


def service_account() -> pwd.struct_passwd | None:
    """Who the cluster runs as: None = ourselves, because we are not root."""
    if os.geteuid() != 0:
        return None
    for _ in range(2):
        try:
            return pwd.getpwnam(SERVICE_USER)
        except KeyError:
            done = subprocess.run(["useradd", "--system", "--no-create-home", "--shell",
                                   "/usr/sbin/nologin", "--user-group", SERVICE_USER],
                                  capture_output=True, text=True)
    raise StackError(f"could not make the system user {SERVICE_USER}, which runs PostgreSQL "
                     f"because it refuses root: {done.stderr.strip()}")


class Postgres:
    """One cluster. `settings` holds port, superuser_password, role, password, database, fsync."""

    def __init__(self, state: pathlib.Path, settings: dict):
        self.state = state
        self.settings = settings
        self.account = service_account()
        self.home = self._home()
        self.data = self.home / "data"
        self.log = self.home / "postgresql.log"

    def _home(self) -> pathlib.Path:
        inside = self.state / "pg"
        if not self.account or self._as_account(["test", "-x", str(self.state)]).returncode == 0:
            return inside
        name = hashlib.sha256(str(self.state).encode()).hexdigest()[:16]
        return pathlib.Path("/var/lib") / SERVICE_USER / name

    def _as_account(self, command: list, **kwargs) -> subprocess.CompletedProcess:
        if self.account:
            kwargs |= {"user": self.account.pw_uid, "group": self.account.pw_gid,
                       "extra_groups": []}
        kwargs.setdefault("stdin", None if "input" in kwargs else subprocess.DEVNULL)
        if kwargs["stdin"] is None:
            del kwargs["stdin"]
        return subprocess.run([str(c) for c in command], cwd="/", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)

    def _must(self, command: list, what: str, **kwargs) -> str:
        done = self._as_account(command, **kwargs)
        if done.returncode:
            raise StackError(f"{what} failed:\n{done.stdout.strip()}\n{tail(self.log)}")
        return done.stdout

    def is_running(self) -> bool:
        """True while the postmaster of this data folder lives (it may still be starting)."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return False
        return start_time(pid) is not None and "postgres" in _command(pid)

    def is_ready(self) -> bool:
        return self.is_running() and self._as_account(
            [binaries() / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
             self.settings["port"], "-t", "3"]).returncode == 0

    def start(self) -> None:
        """Makes the cluster if it is new, starts it and makes the role and the database."""
        if not self.is_running():
            if not (self.data / "PG_VERSION").exists():
                self._initdb()
            fsync = "on" if self.settings["fsync"] else "off"
            options = f"-p {self.settings['port']} -c fsync={fsync}"
            self._must([binaries() / "pg_ctl", "-D", self.data, "-l", self.log, "-w", "-t", "60",
                        "-o", options, "start"], "starting PostgreSQL")
        wait_until("PostgreSQL accepts connections", self.is_ready, 60)
        if not (self.home / "provisioned").exists():
            self._provision()

    def stop(self, mode: str = "fast") -> None:
        """`fast` ends sessions and checkpoints; `immediate` is a crash."""
        if self.is_running():
            self._must([binaries() / "pg_ctl", "-D", self.data, "-w", "-t", "60", "-m", mode,
                        "stop"], "stopping PostgreSQL")

    def destroy(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.home, ignore_errors=True)

    def _initdb(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self.home.mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o700)
        if self.account:
            self.home.parent.chmod(self.home.parent.stat().st_mode | 0o011)
            os.chown(self.home, self.account.pw_uid, self.account.pw_gid)
        password_file = self.home / "initial-password"
        write_private(password_file, self.settings["superuser_password"] + "\n")
        if self.account:
            os.chown(password_file, self.account.pw_uid, self.account.pw_gid)
        self._must([binaries() / "initdb", "-D", self.data, "-U", SUPERUSER, "-E", "UTF8",
                    "--locale=C.UTF-8", "--no-sync", "-A", "scram-sha-256",
                    f"--pwfile={password_file}"], "initdb")
        password_file.unlink()
        config = self.data / "postgresql.conf"
        with open(config, "a") as file:
            file.write("\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                       "password_encryption = 'scram-sha-256'\nmax_connections = 200\n"
                       "shared_buffers = '128MB'\nssl = off\n")

    def _provision(self) -> None:
        role, database = self.settings["role"], self.settings["database"]
        password = self.settings["password"]
        if not all(re.fullmatch(r"[A-Za-z0-9_]+", text) for text in (role, database, password)):
            raise StackError("role, database and password may hold letters, digits and _ only")
        # CREATEROLE: the catalog makes a short-lived, read-only role for each client that it
        # hands a PostgreSQL login. It is no superuser and may not make databases.
        self.psql(f"""
            SELECT 'CREATE ROLE {role}' WHERE NOT EXISTS
              (SELECT FROM pg_roles WHERE rolname = '{role}') \\gexec
            ALTER ROLE {role} LOGIN NOSUPERUSER NOCREATEDB CREATEROLE PASSWORD '{password}';
            SELECT 'CREATE DATABASE {database} OWNER {role}' WHERE NOT EXISTS
              (SELECT FROM pg_database WHERE datname = '{database}') \\gexec
            """)
        (self.home / "provisioned").touch()

    def psql(self, sql: str, database: str = "postgres") -> str:
        """Runs SQL as the superuser; rows come as text, unaligned, without headers."""
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
               "PGPASSWORD": self.settings["superuser_password"]}
        return self._must(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                           "127.0.0.1", "-p", self.settings["port"], "-U", SUPERUSER, "-d",
                           database], "psql", input=sql, env=env)


def _command(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""
