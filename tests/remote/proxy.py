"""A proxy before a store that breaks some of what passes, as a seed says: the same requests break in the same ways."""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
import time
from collections import Counter

from tests.servers import Handler, Service

FAULTS = ("503", "slow", "cut", "reset", "lost")
_TIMES = 3
"""How often the same request may break."""


class Proxy(Service):
    """Passes requests on to a port of this machine."""

    def __init__(self, port: int, seed: int | None = None, share: float = 0.5) -> None:
        super().__init__(_Passing)
        self.port, self.seed, self.share = port, seed, share
        self.done: Counter[str] = Counter()
        """How often each fault was done."""
        self.requests: list[tuple[str, str, str]] = []
        """Method, path with query, and range of each."""
        self.before: list = []
        """Called with each request before it is passed on; what gives a status answers with that and a body."""
        self._met: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def fault(self, method: str, path: str, span: str) -> str | None:
        key = method, path, span
        named = method, path.partition("/")[2].partition("/")[2], span  # without the bucket
        with self._lock:
            self.requests.append(key)
            self._met[named] += 1
            chance = random.Random(f"{self.seed} {named} {self._met[named]}")
            if self.seed is None or self._met[named] > _TIMES or chance.random() > self.share:
                return None
            fault = chance.choice(FAULTS)
            self.done[fault] += 1
            return fault

    def handle_error(self, request, client_address):
        """Connections that were cut are no news."""


class _Passing(Handler):
    server: Proxy

    def _pass(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else None
        told = (each(self.command, self.path, self.headers) for each in self.server.before)
        fault = self.server.fault(self.command, self.path, self.headers.get("Range", ""))
        if answer := next(filter(None, told), None):
            self.answer(*answer)
        elif fault == "503":
            self.answer(503, b"<Error><Code>SlowDown</Code></Error>")
        elif fault == "reset":
            self._reset()
        else:
            self._passed(body, fault)

    def _passed(self, body, fault):
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        data = answer.read()
        if fault == "lost":
            self._reset()
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                self.send_header(name, value)
        told = answer.getheader("Content-Length") if self.command == "HEAD" else len(data)
        self.send_header("Content-Length", str(told or 0))
        self.end_headers()
        if fault == "cut" and data:
            self.wfile.write(data[: len(data) // 2])
            self._reset()
            return
        step = max(1, len(data) // 3) if fault == "slow" else len(data) or 1
        for at in range(0, len(data), step):
            time.sleep(0.03 if fault == "slow" else 0)
            self.wfile.write(data[at : at + step])

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

    def _reset(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
