# SPDX-License-Identifier: Apache-2.0
"""A proxy to PostgreSQL that loses a connection just before or just after a COMMIT arrives."""
from __future__ import annotations

import contextlib
import select
import socket
import threading


class CuttingProxy:
    """Forwards to (host, port); `cut(when)` arms it for the next COMMIT that a client sends.

    `when`: "before" drops the COMMIT, "after" delivers it and drops its answer.
    """

    def __init__(self, host: str, port: int):
        self.target = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cuts = 0
        self._when: str | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, when: str) -> None:
        with self._lock:
            self._when = when

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _take(self, data: bytes) -> str | None:
        if b"COMMIT\0" not in data:  # not the one of READ COMMITTED
            return None
        with self._lock:
            when, self._when = self._when, None
            self.cuts += when is not None
        return when

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.target) as server, \
                contextlib.suppress(OSError):
            while True:
                ready, _, _ = select.select([client, server], [], [])
                if server in ready:
                    data = server.recv(65536)
                    if not data:
                        return
                    client.sendall(data)
                if client in ready:
                    data = client.recv(65536)
                    if not data:
                        return
                    when = self._take(data)
                    if when != "before":
                        server.sendall(data)
                    if when == "after":
                        server.recv(65536)  # it has committed
                    if when is not None:
                        return
