"""Retention: whether and when an agent deletes its own sessions."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts.
import sys
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core.model import Json

_LONGEST = 1e6
"""The number of days from which a period counts as unlimited."""


class Setting(NamedTuple):
    """The value of a setting."""

    value: Json
    path: str
    """The file that contains it."""


Settings = Callable[..., Setting | None]
"""Return the setting with the names of its members, from the outside in; the first file that contains it is used."""


class Period(Struct, frozen=True):
    """How long an agent keeps sessions. Without a limit, it keeps them."""

    days: float | None = None
    """The number of days after the last change of a session."""
    most: int | None = None
    """The number of sessions that are kept in a folder."""
    size: str = ""
    """The size of all sessions from which the oldest ones are deleted, as in the settings."""
    source: str = ""
    """The settings file, or an empty string for the default."""
    problem: str = ""
    """Why the settings do not apply."""

    @property
    def has_limit(self) -> bool:
        """Whether sessions are deleted at some time."""
        return bool(self.days is not None or self.most is not None or self.size)


class Retention(Struct, frozen=True):
    """How an agent deletes sessions automatically. Without a ``period``, it never does."""

    program: str
    """The name of the program."""
    evidence: str
    """The version, package or repository in which this was established."""
    is_known: bool = True
    remark: str = ""
    """Exceptions, in one sentence."""
    setting: str = ""
    """The name of the setting with the period."""
    period: Callable[[Settings], Period] | None = None
    """Return the period for an agent's settings."""
    settings: tuple[str, ...] = ()
    """Globs for the settings files, as in ``LOCATIONS``, the strongest first; ``<project>/`` is a project folder."""
    allows_comments: bool = False
    """Whether the agent reads JSON files with comments."""
    projects: str = ""
    """The file with the agent's known projects, whose member ``projects`` has their folders as names."""
    folder: str = ""
    """The folder with the sessions that are deleted; by default, all of ``LOCATIONS``."""
    project_folder: str = ""
    """The folder with the sessions of a project, in which ``*`` is the project's value in ``projects``. If empty, the
    settings of a project apply to all sessions when the agent starts there."""


UNKNOWN = Retention("", "", is_known=False)


def never(program: str, evidence: str, remark: str = "") -> Retention:
    """Return the retention of a program that never deletes sessions automatically."""
    return Retention(program, evidence, remark=remark)


def unknown(program: str, remark: str) -> Retention:
    """Return the retention of a program whose source is not available."""
    return Retention(program, "", is_known=False, remark=remark)


def on_platform(*, linux: str, darwin: str, win32: str) -> str:
    """Return the folder for this operating system."""
    return {"darwin": darwin, "win32": win32}.get(sys.platform, linux)


def limit_days(days: float) -> float | None:
    """Return a number of days, or ``None`` if it is so large that nothing is ever deleted."""
    return float(max(0, days)) if days < _LONGEST else None


def is_number(value: Json) -> bool:
    """Return whether a value is a number, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)
