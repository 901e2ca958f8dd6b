"""What is found of archives of logs, and of their members."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.text import escaped


@rule("error")
def unreadable_archive(why: str) -> Fact:
    """Reported when an archive cannot be read, so that none of its members is."""
    return Fact(f"not read: {escaped(why)}; expand it yourself, or leave it out with --exclude")


@rule("error")
def cut_archive(why: str) -> Fact:
    """Reported when an archive is damaged or holds more than it may: members that stand before that place are read."""
    return Fact(f"read up to a place only: {escaped(why)}")


@rule("error")
def archive_member(problem: str) -> Fact:
    """Reported when a member of an archive is not read.

    It is a link, is encrypted, stands there twice, has a name that leads out of the archive, stands where
    another one does, or expands beyond the bounds.
    """
    return Fact(f"not read, since it {escaped(problem)}: expand it yourself if it is a log")
