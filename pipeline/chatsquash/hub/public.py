"""What is pushed where: the dataset that a URL names, and the files of an output folder that are meant for upload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.text import shorten
from chatsquash.dataset.card import CARD
from chatsquash.dataset.dataset import is_public
from chatsquash.dataset.shards import FOLDER
from chatsquash.results.output import OutputSource, manifest, open_output
from chatsquash.results.verify import differences
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import validate_name

_NAME_PART = re.compile("[A-Za-z0-9_-][A-Za-z0-9_.-]*")
"""Parts of names as we write them."""


class PublicFile(NamedTuple):
    """A file that may leave."""

    name: str
    size: int
    sha256: str


def public_files(out: Path) -> list[PublicFile]:
    """The files of a dataset folder that are meant for upload, each read and compared with ``run.json``.

    No link is followed.  Raises ``UsageError`` for a folder that is none, and for a file that changed.
    """
    place = open_output(out)
    with closing(place.folder):
        try:
            entries = list(_public_entries(place))
            changed = [problem for entry in entries for problem in differences(place, entry)]
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise UsageError(
                f"{out / RUN}: is not one of chatsquash ({type(problem).__name__}: {shorten(str(problem))})"
            ) from None
    if changed:
        raise UsageError(f"{changed[0]}: see what changed by chatsquash verify {out}, and convert again")
    files = {entry["path"]: PublicFile(entry["path"], entry["size"], entry["sha256"]) for entry in entries}
    if not any(name.startswith(f"{FOLDER}/") for name in files):
        raise UsageError(f"{out}: has no records in {FOLDER}/, and push sends no others: convert with --format")
    if CARD not in files:
        raise UsageError(f"{out}: has no dataset card: convert again")
    return [files[name] for name in sorted(files)]


def _public_entries(place: OutputSource) -> Iterator[dict[str, Json]]:
    """What ``run.json`` says of files that are meant for upload; raises ``ValueError`` for a name that is not ours."""
    for entry in manifest(place)["outputs"]:
        name = validate_name(entry["path"])
        if is_public(name):
            if not all(map(_NAME_PART.fullmatch, name.split("/"))):
                raise ValueError(name)
            yield entry


_KINDS = "datasets|models|spaces|buckets|kernels"
_NAME = r"(?!-|\.)(?!\S*(?:--|\.\.))[A-Za-z0-9._-]{1,96}(?<![.-])"
_URL = re.compile(
    rf"hf://(?:datasets/)?(?!(?:{_KINDS})/)(?P<owner>{_NAME})/(?P<name>{_NAME})(?:@(?P<revision>[A-Za-z0-9][\w./-]*))?",
    re.ASCII,
)
_COMMIT = re.compile("[0-9a-f]{40}")


class Repository(NamedTuple):
    """A dataset on the Hub, and the branch to write to."""

    id: str
    """``OWNER/NAME``."""
    revision: str | None
    """``None`` is ``main``."""

    @property
    def branch(self) -> str:
        """The branch by its name."""
        return self.revision or "main"

    def __str__(self) -> str:
        return f"hf://datasets/{self.id}" + (f"@{self.revision}" if self.revision else "")


def repository(url: str) -> Repository:
    """The dataset of a URL; raises ``UsageError`` for another, whose text it does not repeat: it may hold a token."""
    match = _URL.fullmatch(url)
    if not match:
        raise UsageError("push writes to a dataset of the Hub: write hf://datasets/OWNER/NAME, or .../NAME@BRANCH")
    if match["revision"] and _COMMIT.fullmatch(match["revision"]):
        raise UsageError("what stands behind the @ is a commit, which nothing can be added to: name a branch")
    return Repository(f"{match['owner']}/{match['name']}", match["revision"])
