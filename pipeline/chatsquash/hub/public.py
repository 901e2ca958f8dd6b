"""The source and the destination of a push: the public files of an output folder, and the dataset in a URL."""

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
"""A part of the path of an output file."""


class PublicFile(NamedTuple):
    """A file of the dataset that may be uploaded."""

    name: str
    size: int
    sha256: str


def public_files(out: Path) -> list[PublicFile]:
    """Return the public files of a dataset folder, after comparing each with ``run.json``.

    Links are not followed. Raises ``UsageError`` if the folder is not a dataset, or if a file has changed.
    """
    place = open_output(out)
    with closing(place.folder):
        try:
            entries = list(_public_entries(place))
            changed = [problem for entry in entries for problem in differences(place, entry)]
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise UsageError(
                f"{out / RUN}: not a run.json of chatsquash ({type(problem).__name__}: {shorten(str(problem))})"
            ) from None
    if changed:
        raise UsageError(f"{changed[0]}; convert again (`chatsquash verify {out}` lists all changes)")
    files = {entry["path"]: PublicFile(entry["path"], entry["size"], entry["sha256"]) for entry in entries}
    if not any(name.startswith(f"{FOLDER}/") for name in files):
        raise UsageError(f"{out}: no records in {FOLDER}/, which is all that push uploads; convert with --format")
    if CARD not in files:
        raise UsageError(f"{out}: no dataset card; convert again")
    return [files[name] for name in sorted(files)]


def _public_entries(place: OutputSource) -> Iterator[dict[str, Json]]:
    """Yield the entries of public files in ``run.json``; raise ``ValueError`` for an unexpected name."""
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
    """A dataset on the Hub and its branch."""

    id: str
    """``OWNER/NAME``."""
    revision: str | None
    """A branch or pull request; ``None`` means ``main``."""

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return self.revision or "main"

    def __str__(self) -> str:
        return f"hf://datasets/{self.id}" + (f"@{self.revision}" if self.revision else "")


def parse_url(url: str) -> Repository:
    """Parse the URL of a dataset; raise ``UsageError`` for any other URL."""
    match = _URL.fullmatch(url)
    if not match:  # the message does not repeat the URL, which could contain a token
        raise UsageError("the destination must be a dataset on the Hub: hf://datasets/OWNER/NAME, or .../NAME@BRANCH")
    if match["revision"] and _COMMIT.fullmatch(match["revision"]):
        raise UsageError("the revision after @ is a commit, which cannot be pushed to; use a branch")
    return Repository(f"{match['owner']}/{match['name']}", match["revision"])
