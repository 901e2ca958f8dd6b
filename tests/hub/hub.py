"""As much of the Hugging Face Hub as its library asks for to make a dataset, and to write to it."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha1, sha256
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from tests.servers import Handler, Service

TOKEN = "hf_madeUpForTests"
_LARGE = ("data/", "images/")
"""Where files are that the Hub keeps beside git."""


class File(NamedTuple):
    data: bytes
    title: str
    """Of the last commit that wrote it."""

    def told(self, path: str) -> dict[str, Any]:
        told = {"type": "file", "path": path, "size": len(self.data), "oid": blob(self.data)}
        if path.startswith(_LARGE):
            told["lfs"] = {"oid": sha256(self.data).hexdigest(), "size": len(self.data), "pointerSize": 130}
        return told | {"lastCommit": {"id": "c" * 40, "title": self.title, "date": "2026-01-13T10:00:00.000Z"}}


def blob(data: bytes) -> str:
    return sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()


class Commit(NamedTuple):
    oid: str
    files: dict[str, File]


class Asked(NamedTuple):
    method: str
    path: str
    token: str | None
    body: bytes


class FakeHub(Service):
    def __init__(self):
        super().__init__(_Answering)
        self.private: dict[str, bool] = {}
        """The datasets, and whether they are private."""
        self.branches: dict[str, list[Commit]] = {}
        self.uploaded: dict[str, bytes] = {}
        self.asked: list[Asked] = []
        self.before: Callable[[Asked], tuple[int, bytes] | None] = lambda asked: None
        """What is answered in the place of an answer."""
        self.storage = self.verifying = self.url

    def files(self, branch: str = "main") -> dict[str, bytes]:
        return {path: file.data for path, file in self.branches[branch][-1].files.items()}

    def sent(self, kind: str) -> list[str]:
        """The paths that were asked for by a method, or ``commit`` and the like."""
        return [asked.path for asked in self.asked if asked.method == kind or f"/{kind}" in asked.path]

    def make(self, private: bool = True, files: dict[str, bytes] | None = None, title: str = "initial commit") -> None:
        self.private["me/chats"] = private
        self.branches["main"] = []
        self.add("main", {".gitattributes": File(b"", "initial commit")})
        for path, data in (files or {}).items():
            self.add("main", {path: File(data, title)})

    def add(self, branch: str, files: dict[str, File], gone: tuple[str, ...] = ()) -> str:
        before = self.branches[branch][-1].files if self.branches[branch] else {}
        after = {path: file for path, file in {**before, **files}.items() if path not in gone}
        oid = sha1(f"{branch}{len(self.branches[branch])}".encode()).hexdigest()
        self.branches[branch].append(Commit(oid, after))
        return oid

    def at(self, revision: str) -> Commit | None:
        if revision in self.branches:
            return self.branches[revision][-1]
        every = (commit for branch in self.branches.values() for commit in branch)
        return next((commit for commit in every if commit.oid == revision), None)


class _Answering(Handler):
    server: FakeHub

    def do_GET(self):
        self._take()

    do_POST = do_PUT = do_GET

    def _take(self):
        hub, parts = self.server, urlsplit(self.path)
        body = self._body()
        asked = Asked(self.command, unquote(parts.path), self.headers.get("Authorization"), body)
        hub.asked.append(asked)
        if said := hub.before(asked):
            return self._answer(*said)
        if asked.path.startswith("/storage/"):
            hub.uploaded[asked.path.removeprefix("/storage/")] = body
            return self._answer(200, b"")
        if asked.token != f"Bearer {TOKEN}":
            return self._answer(401, b"", {"X-Error-Message": "Invalid credentials in Authorization header"})
        for pattern, answer in _ANSWERS:
            if found := re.fullmatch(pattern, asked.path):
                return self._answer(*answer(hub, body, *found.groups()))
        return self._answer(404, b"")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status: int, said: Any, headers: dict[str, str] | None = None):
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.answer(status, body, headers)


def _info(hub: FakeHub, _: bytes, revision: str | None = None):
    if "me/chats" not in hub.private:
        return 404, b"", {"X-Error-Code": "RepoNotFound"}
    if (commit := hub.at(revision or "main")) is None:
        return 404, b"", {"X-Error-Code": "RevisionNotFound"}
    return 200, {"id": "me/chats", "sha": commit.oid, "private": hub.private["me/chats"], "tags": []}


def _create(hub: FakeHub, body: bytes):
    told = json.loads(body)
    assert (told["organization"], told["name"], told["type"]) == ("me", "chats", "dataset")
    hub.make(private=told.get("visibility") == "private" or told.get("private") is True)
    return 200, {"url": f"{hub.url}/datasets/me/chats", "name": "me/chats", "id": "1"}


def _branch(hub: FakeHub, body: bytes, name: str):
    hub.branches[name] = [hub.at(json.loads(body)["startingPoint"])]
    return 200, {}


def _tree(hub: FakeHub, _: bytes, revision: str):
    return 200, [file.told(path) for path, file in hub.at(revision).files.items()]


def _paths(hub: FakeHub, body: bytes, revision: str):
    files = hub.at(revision).files
    return 200, [files[path].told(path) for path in parse_qs(body.decode())["paths"] if path in files]


def _preupload(hub: FakeHub, body: bytes, branch: str):
    told = json.loads(body)
    files = hub.branches[branch][-1].files
    is_ignored = ".gitignore" in files and told.get("gitIgnore") is None
    modes = {each["path"]: "lfs" if each["path"].startswith(_LARGE) else "regular" for each in told["files"]}
    return 200, {
        "files": [{"path": path, "uploadMode": mode, "shouldIgnore": is_ignored} for path, mode in modes.items()]
    }


def _batch(hub: FakeHub, body: bytes):
    def told(each: dict[str, Any]) -> dict[str, Any]:
        if each["oid"] in hub.uploaded:
            return each
        upload, verify = {"href": f"{hub.storage}/storage/{each['oid']}"}, {"href": f"{hub.verifying}/verify"}
        return {**each, "actions": {"upload": upload, "verify": verify}}

    return 200, {"transfer": "basic", "objects": [told(each) for each in json.loads(body)["objects"]]}


def _verify(hub: FakeHub, body: bytes):
    told = json.loads(body)
    assert sha256(hub.uploaded[told["oid"]]).hexdigest() == told["oid"]
    return 200, {}


def _yaml(hub: FakeHub, body: bytes):
    return 200, {"errors": [], "warnings": [{"message": "a warning of the Hub"}]}


def _commit(hub: FakeHub, body: bytes, branch: str):
    lines = [json.loads(line) for line in body.splitlines()]
    header = lines[0]["value"]
    if header["parentCommit"] != hub.branches[branch][-1].oid:
        return 412, b"a secret of the Hub"
    files, gone = {}, []
    for line in lines[1:]:
        match line:
            case {"key": "file", "value": {"path": path, "content": content}}:
                files[path] = File(b64decode(content), header["summary"])
            case {"key": "lfsFile", "value": {"path": path, "oid": oid}}:
                files[path] = File(hub.uploaded[oid], header["summary"])
            case {"key": "deletedFile", "value": {"path": path}}:
                gone.append(path)
    oid = hub.add(branch, files, tuple(gone))
    return 200, {"commitUrl": f"{hub.url}/datasets/me/chats/commit/{oid}", "commitOid": oid}


_API = "/api/datasets/me/chats"
_ANSWERS = (
    (_API, _info),
    (f"{_API}/revision/(.+)", _info),
    ("/api/repos/create", _create),
    (f"{_API}/branch/(.+)", _branch),
    (f"{_API}/tree/(.+)", _tree),
    (f"{_API}/paths-info/(.+)", _paths),
    (f"{_API}/preupload/(.+)", _preupload),
    (r"/datasets/me/chats\.git/info/lfs/objects/batch", _batch),
    ("/verify", _verify),
    ("/api/validate-yaml", _yaml),
    (f"{_API}/commit/(.+)", _commit),
)
