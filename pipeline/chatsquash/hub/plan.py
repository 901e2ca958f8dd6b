"""The plan of a push: compare a dataset folder with the Hub, list the differences, and upload them in one commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.text import align_columns, pluralize
from chatsquash.dataset.dataset import is_image, is_trace
from chatsquash.hub.public import PublicFile, Repository
from chatsquash.results.output import OutputSource, open_output

if TYPE_CHECKING:  # these need the library, and a dry run works without it
    from chatsquash.hub.hub import Hub, RemoteDataset, RemoteFile

_PIECE = 1 << 20


class Plan(NamedTuple):
    """The files to upload and to delete."""

    at: Repository
    out: Path
    existing: RemoteDataset | None
    public: bool
    send: list[PublicFile]
    replaced: frozenset[str]
    """Names of files in ``send`` that exist on the Hub with different content."""
    stale: list[str]
    """Files of an earlier push that are no longer part of the dataset."""
    unchanged: int
    """Number of files that the Hub already has."""
    not_compared: str = ""
    """Why the folder could not be compared with the Hub; empty if it was."""

    @property
    def size(self) -> int:
        """The number of bytes to upload."""
        return sum(file.size for file in self.send)

    def lines(self) -> list[str]:
        """Return the plan as lines of text."""
        wide = len(f"{self.size:,}")
        rows = [
            *(("send", f"{size:>{wide},}", name, how) for name, size, how in self._rows_to_send()),
            *(("delete", "", name, "from an earlier push") for name in self.stale),
        ]
        lines = [line.rstrip() for line in align_columns(rows)] if rows else []
        unchanged = f"; {pluralize(self.unchanged, 'file')} already there" if self.unchanged else ""
        total = f"{pluralize(len(self.send), 'file')}, {pluralize(self.size, 'byte')} to send{unchanged}"
        return [
            f"{self.at}: {self._where()}",
            *lines,
            total,
            f"not uploaded from {self.out}: reports, run.json, journals",
        ]

    def _rows_to_send(self) -> Iterator[tuple[str, int, str]]:
        """Yield the name, size and note of each file; images share one row, and so do traces."""
        for file in self.send:
            if not (is_image(file.name) or is_trace(file.name)):
                yield file.name, file.size, "replaces the existing file" if file.name in self.replaced else ""
        for is_one, what in ((is_image, "image"), (is_trace, "trace")):
            if files := [file for file in self.send if is_one(file.name)]:
                folder = files[0].name.partition("/")[0]
                yield f"{folder}/", sum(file.size for file in files), pluralize(len(files), what)

    def _where(self) -> str:
        if self.not_compared:
            return f"all files are listed because {self.not_compared}"
        kind = "public, readable by everyone" if self.public else "private"
        if self.existing is None:
            return f"a new dataset, {kind}"
        return kind if self.existing.has_branch else f"{kind}, a new branch"


def plan(at: Repository, out: Path, files: list[PublicFile], hub: Hub, *, public: bool) -> Plan:
    """Compare a dataset folder with the dataset on the Hub.

    Raises ``UsageError`` if the existing dataset has a different visibility.
    """
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
    """Return the plan of a dry run that could not reach the Hub: upload every file."""
    return Plan(at, out, None, public, files, frozenset(), [], 0, why)


def refuse_visibility(at: Repository, existing: RemoteDataset | None, *, public: bool) -> None:
    """Raise ``UsageError`` if the visibility of an existing dataset differs from the requested one."""
    if existing is None or existing.private is not public:
        return
    if existing.private:
        hint = "remove --public, or make the dataset public on its page"
        raise UsageError(f"{at}: the dataset is private, and push never changes the visibility; {hint}")
    raise UsageError(
        f"{at}: the dataset is public, so everyone could read the uploaded files; add --public or choose another"
    )


def _is_same(output: OutputSource, file: PublicFile, remote: RemoteFile | None) -> bool:
    """Return whether the file on the Hub has the same content."""
    if remote is None or remote.size != file.size:
        return False
    return remote.sha256 == file.sha256 if remote.sha256 else remote.blob == _blob(output, file)


def _blob(output: OutputSource, file: PublicFile) -> str:
    """Return the git object id of a file."""
    digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    with output.folder.open_file(file.name) as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


_FILES = 64
"""The maximum number of files that are open at a time."""
_BYTES = 1 << 30
"""The maximum size of the files of one batch, in bytes; a larger file has its own batch."""


def send(plan: Plan, hub: Hub, observe: Callable[[int, int], None]) -> None:
    """Create the dataset and the branch if they are missing, upload the files, and commit.

    If the process is killed, the branch is unchanged, and another push continues the upload.
    """
    commit = _prepare_branch(plan, hub)
    additions: list[Any] = []
    output = open_output(plan.out)
    with closing(output.folder):
        for files in _batches(plan.send):
            additions += _upload(output, files, hub)
            observe(sum(file.size for file in files), plan.size)
    hub.commit(additions, plan.stale, commit)


def _prepare_branch(plan: Plan, hub: Hub) -> str | None:
    """Create the dataset and the branch if needed, and return the parent commit."""
    existing = plan.existing
    if existing is None:
        hub.create(public=plan.public)
        existing = hub.find_dataset()  # a Hub can enforce its own visibility of new datasets
        if existing is None:
            raise ChatsquashError(f"{plan.at}: the dataset was created but is not visible on the Hub yet; push again")
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


def _upload(output: OutputSource, files: list[PublicFile], hub: Hub) -> list[Any]:
    """Upload the large files, and return the operations that add all files to a commit."""
    with ExitStack() as stack:
        streams = [stack.enter_context(output.folder.open_file(file.name)) for file in files]
        additions = [_addition(file, each) for file, each in zip(files, streams, strict=True)]
        hub.upload(additions)
        for file, each, addition in zip(files, streams, additions, strict=True):
            # A small file is sent with the commit, after its stream is closed.
            if addition.path_or_fileobj is each:
                addition.path_or_fileobj = _bytes(file, each)
    return additions


def _addition(file: PublicFile, stream: BinaryIO) -> Any:
    from huggingface_hub import CommitOperationAdd

    addition = CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=stream)  # computes the hash
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
    return ChatsquashError(f"{file.name}: changed during the upload; nothing was committed: convert again")
