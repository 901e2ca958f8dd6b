"""What a push would send, in words for the user, and sending it: uploads first, one commit at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.text import align_columns, pluralize
from chatsquash.dataset.dataset import is_image
from chatsquash.hub.public import PublicFile, Repository
from chatsquash.results.output import OutputSource, open_output

if TYPE_CHECKING:  # a dry run lists the files without the library, which these need
    from chatsquash.hub.hub import Hub, RemoteFile, RemoteDataset

_PIECE = 1 << 20


class Plan(NamedTuple):
    """What there is to do."""

    at: Repository
    out: Path
    existing: RemoteDataset | None
    public: bool
    send: list[PublicFile]
    replaced: frozenset[str]
    """Those of them that are there with other bytes."""
    stale: list[str]
    """Files of a former push that are no part of the dataset any more."""
    unchanged: int
    """Files that are there already."""
    not_compared: str = ""
    """Why the Hub was not asked what it has."""

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(file.size for file in self.send)

    def lines(self) -> list[str]:
        """The plan in words."""
        wide = len(f"{self.size:,}")
        rows = [
            *(("send", f"{size:>{wide},}", name, how) for name, size, how in self._rows_to_send()),
            *(("delete", "", name, "of a former push") for name in self.stale),
        ]
        lines = [line.rstrip() for line in align_columns(rows)] if rows else []
        unchanged = f"; {pluralize(self.unchanged, 'file')} there already" if self.unchanged else ""
        total = f"{pluralize(len(self.send), 'file')}, {pluralize(self.size, 'byte')} to send{unchanged}"
        return [
            f"{self.at}: {self._where()}",
            *lines,
            total,
            f"all else stays in {self.out}: reports, run.json, journals",
        ]

    def _rows_to_send(self) -> Iterator[tuple[str, int, str]]:
        """Each file by its name and size, images in one row."""
        for file in self.send:
            if not is_image(file.name):
                yield file.name, file.size, "replaces what is there" if file.name in self.replaced else ""
        if images := [file for file in self.send if is_image(file.name)]:
            folder = images[0].name.partition("/")[0]
            yield f"{folder}/", sum(file.size for file in images), pluralize(len(images), "image")

    def _where(self) -> str:
        if self.not_compared:
            return f"every file is listed, since {self.not_compared}"
        kind = "public, for everybody to read" if self.public else "private"
        if self.existing is None:
            return f"a new dataset, {kind}"
        return kind if self.existing.has_branch else f"{kind}, a new branch"


def plan(at: Repository, out: Path, files: list[PublicFile], hub: Hub, *, public: bool) -> Plan:
    """Compare a dataset folder with what the Hub has; raises ``UsageError`` where that has another visibility."""
    existing = hub.find_dataset()
    refuse_visibility(at, existing, public=public)
    remote = {each.name: each for each in hub.files(existing.commit)} if existing else {}
    output = open_output(out)
    with closing(output.folder):
        send = [file for file in files if not _is_same(output, file, remote.get(file.name))]
    other_names = sorted(remote.keys() - {file.name for file in files})
    return Plan(
        at,
        out,
        existing,
        public,
        send,
        frozenset(file.name for file in send if file.name in remote),
        hub.last_pushed(other_names, existing.commit) if other_names and existing else [],
        len(files) - len(send),
    )


def list_all(at: Repository, out: Path, files: list[PublicFile], why: str, *, public: bool) -> Plan:
    """The plan of a dry run that could not ask the Hub what it has."""
    return Plan(at, out, None, public, files, frozenset(), [], 0, why)


def refuse_visibility(at: Repository, existing: RemoteDataset | None, *, public: bool) -> None:
    """Raise ``UsageError`` where a dataset is public and that was not asked for, or the other way round."""
    if existing is None or existing.private is not public:
        return
    if existing.private:
        hint = "leave out --public, or make it public on its page"
        raise UsageError(f"{at}: is private, and push changes no dataset's visibility: {hint}")
    raise UsageError(f"{at}: is public, so everybody could read what is sent: add --public, or choose another")


def _is_same(output: OutputSource, file: PublicFile, remote: RemoteFile | None) -> bool:
    """Whether the Hub has the bytes of a file under its name."""
    if remote is None or remote.size != file.size:
        return False
    return remote.sha256 == file.sha256 if remote.sha256 else remote.blob == _blob(output, file)


def _blob(output: OutputSource, file: PublicFile) -> str:
    """What git calls the bytes of a file."""
    digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    with output.folder.open_file(file.name) as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


_FILES = 64
"""Files that are open at a time."""
_BYTES = 1 << 30
"""Bytes after which no more files are opened."""


def send(plan: Plan, hub: Hub, observe: Callable[[int, int], None]) -> None:
    """Make the dataset and the branch where they are missing, upload, and commit.

    Whenever it is killed, the branch is as it was, and another push goes on.
    """
    commit = _prepare_branch(plan, hub)
    additions: list[Any] = []
    output = open_output(plan.out)
    with closing(output.folder):
        for files in _batches(plan.send):
            additions += _uploaded(output, files, hub)
            observe(sum(file.size for file in files), plan.size)
    hub.commit(additions, plan.stale, commit)


def _prepare_branch(plan: Plan, hub: Hub) -> str | None:
    """The commit that is added to, of a dataset that is as it was asked for."""
    existing = plan.existing
    if existing is None:
        hub.create(public=plan.public)
        existing = hub.find_dataset()  # a Hub may have rules of its own on who sees what is new
        if existing is None:
            raise ChatsquashError(f"{plan.at}: the Hub made it and does not show it yet: push again")
        refuse_visibility(plan.at, existing, public=plan.public)
    if not existing.has_branch:
        hub.create_branch(existing.commit)
    return existing.commit


def _batches(files: list[PublicFile]) -> Iterator[list[PublicFile]]:
    batch: list[PublicFile] = []
    for file in files:
        if batch and (len(batch) == _FILES or sum(each.size for each in batch) + file.size > _BYTES):
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


def _uploaded(output: OutputSource, files: list[PublicFile], hub: Hub) -> list[Any]:
    """What adds these files to a commit: large ones are on the Hub by then, of small ones it has the bytes."""
    with ExitStack() as stack:
        streams = [stack.enter_context(output.folder.open_file(file.name)) for file in files]
        additions = [_addition(file, each) for file, each in zip(files, streams, strict=True)]
        hub.upload(additions)
        for file, each, addition in zip(files, streams, additions, strict=True):
            if addition.path_or_fileobj is each:  # it stays where the Hub wants it in the commit itself
                addition.path_or_fileobj = _bytes(file, each)
    return additions


def _addition(file: PublicFile, stream: BinaryIO) -> Any:
    from huggingface_hub import CommitOperationAdd

    addition = CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=stream)  # which hashes it
    if addition.upload_info.sha256.hex() != file.sha256:
        raise _change_error(file)
    return addition


def _bytes(file: PublicFile, stream: BinaryIO) -> bytes:
    stream.seek(0)
    data = stream.read(file.size + 1)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise _change_error(file)
    return data


def _change_error(file: PublicFile) -> ChatsquashError:
    return ChatsquashError(f"{file.name}: changed while it was sent, and no commit was made: convert again")
