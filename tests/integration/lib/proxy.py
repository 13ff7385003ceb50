# SPDX-License-Identifier: Apache-2.0
"""A reverse proxy under a path of its own, as an ingress puts one before the server."""
from __future__ import annotations

import http.client
import http.server
import threading


class Proxy:
    """http://127.0.0.1:<port><prefix>/… → the server's /…; says so in X-Forwarded headers, from `source`.

    `seen` are the paths that clients asked for. `says` replaces or adds headers of a request.
    """

    def __init__(self, target_port: int, prefix: str = "", source: str = "127.0.0.1", says: dict | None = None):
        self.prefix, self.seen, self.says = prefix, [], says
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                outer.seen.append(self.path)
                if not self.path.startswith(outer.prefix + "/"):
                    self.send_error(404)
                    return
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                headers = {k: v for k, v in self.headers.items()
                           if not k.lower().startswith("x-forwarded") and k.lower() not in ("connection", "host")}
                headers |= {"Host": f"127.0.0.1:{target_port}", "X-Forwarded-Proto": "http", "X-Forwarded-For": self.client_address[0],
                            "X-Forwarded-Host": self.headers["Host"]} | (
                    {"X-Forwarded-Prefix": outer.prefix} if outer.prefix else {})
                headers = {k: v for k, v in (headers | (outer.says or {})).items() if v is not None}
                wire = http.client.HTTPConnection("127.0.0.1", target_port, timeout=60, source_address=(source, 0))
                wire.request(self.command, self.path[len(outer.prefix):], body=body, headers=headers)
                answer = wire.getresponse()
                content = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "content-length", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                if answer.status not in (204, 304):
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)
                wire.close()

            do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = pass_on

            def log_message(self, *ignored):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}{prefix}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
