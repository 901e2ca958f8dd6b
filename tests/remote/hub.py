"""As much of the Hugging Face Hub as its library asks for to list a folder and to read files of it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from hashlib import sha1
from urllib.parse import unquote, urlsplit

from tests.servers import Handler, Service, serving

REPOSITORY = "datasets/me/logs"
_API, _RESOLVE = f"/api/{REPOSITORY}", f"/{REPOSITORY}/resolve/main/"


class _Giving(Handler):
    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        if self.headers.get("Authorization") != "Bearer hf_secret":
            self.answer(401, b"")
        elif path == _API:
            self.answer(200, json.dumps({"id": "me/logs", "sha": "b" * 40, "private": True, "tags": []}).encode())
        elif path.startswith(f"{_API}/tree/main"):
            folder = path.removeprefix(f"{_API}/tree/main").strip("/")
            is_deep = "recursive=true" in self.path.lower()
            self.answer(200, json.dumps(list(self._inside(folder, is_deep))).encode())
        elif (data := self.server.files.get(path.removeprefix(_RESOLVE))) is not None:
            start, stop = (int(each) for each in self.headers["Range"].removeprefix("bytes=").split("-"))
            piece = data[start : stop + 1]
            said = {"Content-Range": f"bytes {start}-{start + len(piece) - 1}/{len(data)}"}
            self.answer(206, piece, said)
        else:
            self.answer(404, b"")

    def _inside(self, folder, is_deep):
        seen = set()
        for path, data in self.server.files.items():
            below = path.removeprefix(f"{folder}/") if folder else path
            if folder and below == path:
                continue
            parts = below.split("/")
            for count in range(1, len(parts) if is_deep else min(2, len(parts))):
                inner = "/".join([*([folder] if folder else []), *parts[:count]])
                if inner not in seen:
                    seen.add(inner)
                    yield {"type": "directory", "path": inner, "oid": "a" * 40, "size": 0}
            if is_deep or len(parts) == 1:
                yield {"type": "file", "path": path, "size": len(data), "oid": sha1(data).hexdigest()}


@contextmanager
def hub(files):
    """The URL of a Hub with a private dataset of these files."""
    server = Service(_Giving)
    server.files = files
    with serving(server):
        yield server.url
