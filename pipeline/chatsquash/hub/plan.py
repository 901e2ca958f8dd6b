"""What a push would send, as it is told to whoever is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import aligned, counted
from chatsquash.hub.hub import Hub, Remote, There
from chatsquash.hub.public import PublicFile
from chatsquash.hub.repository import Repository
from chatsquash.records.media import FOLDER as IMAGES
from chatsquash.storage.folder import Folder

_PIECE = 1 << 20


class Plan(NamedTuple):
    """What there is to do."""

    at: Repository
    out: Path
    there: There | None
    public: bool
    send: list[PublicFile]
    replaced: frozenset[str]
    """Those of them that are there with other bytes."""
    gone: list[str]
    """Files of a former push that are no part of the dataset any more."""
    same: int
    """Files that are there already."""

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(file.size for file in self.send)

    def lines(self) -> list[str]:
        """The plan in words."""
        wide = len(f"{self.size:,}")
        rows = [
            *(("send", f"{size:>{wide},}", name, how) for name, size, how in self._sent()),
            *(("delete", "", name, "of a former push") for name in self.gone),
        ]
        told = [line.rstrip() for line in aligned(rows)] if rows else []
        same = f"; {counted(self.same, 'file')} there already" if self.same else ""
        total = f"{counted(len(self.send), 'file')}, {counted(self.size, 'byte')} to send{same}"
        return [
            f"{self.at}: {self._where()}",
            *told,
            total,
            f"all else stays in {self.out}: reports, run.json, journals",
        ]

    def _sent(self) -> Iterator[tuple[str, int, str]]:
        """Each file by its name and size, images in one row."""
        for file in self.send:
            if not _is_image(file):
                yield file.name, file.size, "replaces what is there" if file.name in self.replaced else ""
        if images := [file.size for file in self.send if _is_image(file)]:
            yield f"{IMAGES}/", sum(images), counted(len(images), "image")

    def _where(self) -> str:
        kind = "public, for everybody to read" if self.public else "private"
        if self.there is None:
            return f"a new dataset, {kind}"
        return kind if self.there.has_branch else f"{kind}, a new branch"


def plan(at: Repository, out: Path, files: list[PublicFile], hub: Hub, *, public: bool) -> Plan:
    """Compare a dataset folder with what the Hub has; raises ``UsageError`` where that has another visibility."""
    there = hub.there()
    refuse_visibility(at, there, public=public)
    remote = {each.name: each for each in hub.files(there.commit)} if there else {}
    folder = Folder(out)
    try:
        send = [file for file in files if not _is_same(folder, file, remote.get(file.name))]
    finally:
        folder.close()
    left = sorted(remote.keys() - {file.name for file in files})
    return Plan(
        at,
        out,
        there,
        public,
        send,
        frozenset(file.name for file in send if file.name in remote),
        hub.pushed(left, there.commit) if left and there else [],
        len(files) - len(send),
    )


def refuse_visibility(at: Repository, there: There | None, *, public: bool) -> None:
    """Raise ``UsageError`` where a dataset is public and that was not asked for, or the other way round."""
    if there is None or there.private is not public:
        return
    if there.private:
        hint = "leave out --public, or make it public on its page"
        raise UsageError(f"{at}: is private, and push changes no dataset's visibility: {hint}")
    raise UsageError(f"{at}: is public, so everybody could read what is sent: add --public, or choose another")


def _is_same(folder: Folder, file: PublicFile, there: Remote | None) -> bool:
    """Whether the Hub has the bytes of a file under its name."""
    if there is None or there.size != file.size:
        return False
    return there.sha256 == file.sha256 if there.sha256 else there.blob == _blob(folder, file)


def _blob(folder: Folder, file: PublicFile) -> str:
    """What git calls the bytes of a file."""
    digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    with folder.reading(file.name) as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _is_image(file: PublicFile) -> bool:
    return file.name.startswith(f"{IMAGES}/")
