"""Findings about archives of logs and their members."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape


@rule("error")
def unreadable_archive(why: str) -> Fact:
    """Reported when an archive cannot be opened."""
    return Fact(f"not read: {escape(why)}; extract it yourself, or skip it with --exclude")


@rule("error")
def truncated_archive(why: str) -> Fact:
    """Reported when an archive is damaged or exceeds a limit; only the members before that point are read."""
    return Fact(f"only the beginning was read: {escape(why)}")


@rule("error")
def archive_member(problem: str) -> Fact:
    """Reported when a member of an archive, such as a link or an encrypted file, is skipped."""
    return Fact(f"not read because it {escape(problem)}: extract it yourself if it is a log")
