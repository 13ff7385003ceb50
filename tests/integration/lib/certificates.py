# SPDX-License-Identifier: Apache-2.0
"""Certificates of private authorities, and a TLS front before a service that speaks plainly."""
from __future__ import annotations

import contextlib
import pathlib
import socket
import ssl
import subprocess
import threading


def _openssl(*words) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """A private certificate authority in a folder; `ca` is the file that peers are to be given."""

    def __init__(self, folder: pathlib.Path, name: str):
        self.folder, self.name = folder, name
        self.ca, self.key = folder / f"{name}-ca.pem", folder / f"{name}-ca.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2,
                 "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.ca)

    def issue(self, host: str, days: int = 2) -> tuple[pathlib.Path, pathlib.Path]:
        """(certificate, key) for an address or a name; negative days: it has expired."""
        stem = self.folder / f"{self.name}-{host}-{days}".replace(":", "_")
        key, request, made = (stem.with_suffix(s) for s in (".key", ".csr", ".pem"))
        kind = "IP" if host[0].isdigit() else "DNS"
        extensions = stem.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={kind}:{host}\nextendedKeyUsage=serverAuth\n")
        _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={host}",
                 "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.key, "-CAcreateserial", "-days", days,
                 "-extfile", extensions, "-out", made)
        return made, key


class TlsFront:
    """TLS on a port of its own, whose bytes go to `target` as they are; `received` counts those of clients."""

    def __init__(self, target: tuple[str, int], certificate: pathlib.Path, key: pathlib.Path):
        self.target = target
        self.received = 0
        self.refused = 0
        self.use(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def use(self, certificate: pathlib.Path, key: pathlib.Path) -> None:
        """For connections from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.context = context

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            client.settimeout(20)
            wrapped = self.context.wrap_socket(client, server_side=True)
            first = wrapped.recv(65536)  # with TLS 1.3 a client says no to a certificate only now
        except (OSError, ssl.SSLError):
            self.refused += 1
            client.close()
            return
        with contextlib.suppress(OSError), wrapped, socket.create_connection(self.target) as server:
            self.received += len(first)
            server.sendall(first)
            threading.Thread(target=self._back, args=(server, wrapped), daemon=True).start()
            while data := wrapped.recv(65536):
                self.received += len(data)
                server.sendall(data)

    @staticmethod
    def _back(server: socket.socket, client) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
            client.close()
