"""What is found of archives of logs, and of their members."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape


@rule("error")
def unreadable_archive(why: str) -> Fact:
    """Reported when chatsquash cannot read an archive, and so none of its members."""
    return Fact(f"not read: {escape(why)}; expand it yourself, or leave it out with --exclude")


@rule("error")
def truncated_archive(why: str) -> Fact:
    """Reported when an archive has damage or holds more than it may. chatsquash reads the members before that place."""
    return Fact(f"read up to a place only: {escape(why)}")


@rule("error")
def archive_member(problem: str) -> Fact:
    """Reported when chatsquash does not read a member of an archive.

    It is a link or encrypted, stands there twice or where another one does, has a name that leads out of the archive,
    or expands beyond the bounds.
    """
    return Fact(f"not read, since it {escape(problem)}: expand it yourself if it is a log")
