"""Sends what a plan says: uploads first, a few files at a time, and one commit at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any, BinaryIO

from huggingface_hub import CommitOperationAdd

from chatsquash.core.errors import ChatsquashError
from chatsquash.hub.hub import Hub
from chatsquash.hub.plan import Plan, refuse_visibility
from chatsquash.hub.public import PublicFile
from chatsquash.storage.folder import Folder

_FILES = 64
"""Files that are open at a time."""
_BYTES = 1 << 30
"""Bytes after which no more files are opened."""


def send(plan: Plan, hub: Hub, observe: Callable[[int, int], None]) -> None:
    """Make the dataset and the branch where they are missing, upload, and commit.

    Whenever it is killed, the branch is as it was, and another push goes on.
    """
    commit = _ready(plan, hub)
    additions: list[Any] = []
    with closing(Folder(plan.out)) as folder:
        for files in _batches(plan.send):
            additions += _uploaded(folder, files, hub)
            observe(sum(file.size for file in files), plan.size)
    hub.commit(additions, plan.gone, commit)


def _ready(plan: Plan, hub: Hub) -> str | None:
    """The commit that is added to, of a dataset that is as it was asked for."""
    there = plan.there
    if there is None:
        hub.create(public=plan.public)
        there = hub.there()  # a Hub may have rules of its own on who sees what is new
        if there is None:
            raise ChatsquashError(f"{plan.at}: the Hub made it and does not show it yet: push again")
        refuse_visibility(plan.at, there, public=plan.public)
    if not there.has_branch:
        hub.branch(there.commit)
    return there.commit


def _batches(files: list[PublicFile]) -> Iterator[list[PublicFile]]:
    batch: list[PublicFile] = []
    for file in files:
        if batch and (len(batch) == _FILES or sum(each.size for each in batch) + file.size > _BYTES):
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


def _uploaded(folder: Folder, files: list[PublicFile], hub: Hub) -> list[Any]:
    """What adds these files to a commit: large ones are on the Hub by then, of small ones it has the bytes."""
    with ExitStack() as stack:
        opened = [stack.enter_context(folder.reading(file.name)) for file in files]
        additions = [_addition(file, each) for file, each in zip(files, opened, strict=True)]
        hub.upload(additions)
        for file, each, addition in zip(files, opened, additions, strict=True):
            if addition.path_or_fileobj is each:  # it stays where the Hub wants it in the commit itself
                addition.path_or_fileobj = _bytes(file, each)
    return additions


def _addition(file: PublicFile, opened: BinaryIO) -> Any:
    addition = CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=opened)  # which hashes it
    if addition.upload_info.sha256.hex() != file.sha256:
        raise _changed(file)
    return addition


def _bytes(file: PublicFile, opened: BinaryIO) -> bytes:
    opened.seek(0)
    data = opened.read(file.size + 1)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise _changed(file)
    return data


def _changed(file: PublicFile) -> ChatsquashError:
    return ChatsquashError(f"{file.name}: changed while it was sent, and no commit was made: convert again")
