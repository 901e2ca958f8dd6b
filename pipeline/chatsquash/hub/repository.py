"""The dataset on the Hub that a URL names."""

from __future__ import annotations

import re
from typing import NamedTuple

from chatsquash.core.errors import UsageError

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
    found = _URL.fullmatch(url)
    if not found:
        raise UsageError("push writes to a dataset of the Hub: write hf://datasets/OWNER/NAME, or .../NAME@BRANCH")
    if found["revision"] and _COMMIT.fullmatch(found["revision"]):
        raise UsageError("what stands behind the @ is a commit, which nothing can be added to: name a branch")
    return Repository(f"{found['owner']}/{found['name']}", found["revision"])
