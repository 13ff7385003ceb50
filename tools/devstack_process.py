# SPDX-License-Identifier: Apache-2.0
"""Processes and waiting, shared by the parts of the dev stack."""
from __future__ import annotations

import os
import pathlib
import signal
import socket
import tempfile
import time
import typing


class StackError(Exception):
    """Something did not work; the message says what to do about it."""


def wait_until(what: str, done: typing.Callable[[], bool], seconds: float,
               interval: float = 0.05) -> None:
    """Polls `done` until it is true; StackError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise StackError(f"{what}: not after {seconds:g} s")
        time.sleep(interval)


def start_time(pid: int) -> str | None:
    """Identifies a process beside its pid, which the kernel uses again; None if it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] in "ZX" else fields[19]


class PidFile:
    """Remembers one process so that only that one is ever signalled."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def write(self, pid: int) -> None:
        self.path.write_text(f"{pid} {start_time(pid)}\n")

    def pid(self) -> int | None:
        """The process's id while it runs."""
        try:
            number, started = self.path.read_text().split()
        except (OSError, ValueError):
            return None
        return int(number) if start_time(int(number)) == started else None

    def stop(self, signals: list[tuple[int, float]]) -> None:
        """Sends each signal in turn and waits its seconds for the process to end."""
        for number, seconds in signals:
            pid = self.pid()
            if pid is None:
                break
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                break
            try:
                wait_until(f"process {pid} ends", lambda: self._ended(pid), seconds, 0.02)
                break
            except StackError:
                if number == signals[-1][0]:
                    raise
        self.path.unlink(missing_ok=True)

    def _ended(self, pid: int) -> bool:
        try:
            os.waitpid(pid, os.WNOHANG)  # reaps it when it is our own child
        except ChildProcessError:
            pass
        return self.pid() is None


KILL = [(signal.SIGKILL, 10.0)]
TERMINATE_THEN_KILL = [(signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0)]


def runtime_folder() -> pathlib.Path:
    """This user's folder for port claims and sockets of all stacks."""
    folder = pathlib.Path(tempfile.gettempdir()) / f"duckicelake-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise StackError(f"{folder} belongs to another user; remove it")
    return folder


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def write_private(path: pathlib.Path, text: str) -> None:
    """Writes a file that only its owner may read, in one rename."""
    partial = path.with_name(path.name + ".part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.replace(partial, path)


def tail(path: pathlib.Path, lines: int = 15) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
