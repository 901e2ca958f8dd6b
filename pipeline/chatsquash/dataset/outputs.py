"""The output that a path or a URL names."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from chatsquash.core.urls import is_remote, refuse_unknown
from chatsquash.dataset.store import Output


def place_of(output: str | PathLike[str]) -> Path | str:
    """A folder, or the URL of one in a store."""
    named = fspath(output)
    if is_remote(named):
        return named
    refuse_unknown(named)
    return Path(named)


def output_in(place: Path | str, *, force: bool) -> Output:
    """The output there; raises as ``Output``."""
    if isinstance(place, Path):
        return Output(place, force=force)
    from chatsquash.dataset.remote import StoredOutput  # which a folder does not need

    return StoredOutput(place, force=force)
