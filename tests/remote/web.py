"""A web server that gives files, with tags and ranges as it is told."""

from __future__ import annotations

import re
from hashlib import sha256

from tests.servers import Handler, Service


class Web(Service):
    def __init__(self):
        super().__init__(_Giving)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.has_ranges = self.has_tags = True
        self.broken: list[int | str] = []
        """What is answered in the place of the next files: a status, or ``cut``."""


class _Giving(Handler):
    server: Web

    def do_GET(self):
        web = self.server
        web.asked.append((self.path, self.headers.get("Range", "")))
        broken = web.broken.pop(0) if web.broken else None
        data = web.files.get(self.path)
        if isinstance(broken, int) or data is None:
            self._answer(broken or 404, b"")
            return
        tag = f'"{sha256(data).hexdigest()}"'
        if self.headers.get("If-Match", tag) != tag:
            self._answer(412, b"")
            return
        start, stop, status = 0, len(data), 200
        if web.has_ranges and (found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))):
            start, stop, status = int(found[1]), min(int(found[2]) + 1, len(data)), 206
        if start >= len(data) and status == 206:
            self._answer(416, b"")
            return
        headers = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"} if status == 206 else {}
        self._answer(status, data[start:stop], {**headers, **({"ETag": tag} if web.has_tags else {})}, broken)

    def _answer(self, status, body, headers=None, broken=None):
        size = {"Content-Length": str(len(body))}
        self.answer(status, body[: len(body) // 2] if broken == "cut" else body, {**size, **(headers or {})})
        self.close_connection = self.close_connection or broken == "cut"
