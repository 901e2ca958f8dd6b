"""Members of archives that are not read, and why."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.core.options import Options

if TYPE_CHECKING:
    from chatsquash.sources.archives import Entry


def judged(entries: list[Entry]) -> list[Entry]:
    """Members, of which those have a problem that stand nowhere below, or twice, or in another member's bytes."""
    met, within = set[str](), _overlapping(entries)
    judged_ones: list[Entry] = []
    for at, each in enumerate(entries):
        name = str(PurePosixPath(each.name))
        problem = each.problem or _of_name(each.name)
        problem = problem or ("has the name of an earlier member" if name in met else "")
        problem = problem or ("stands where another member does" if at in within else "")
        met.add(name)
        judged_ones.append(replace(each, problem=problem))
    return judged_ones


def _of_name(name: str) -> str:
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return "has an absolute name"
    if ".." in name.split("/") or "\0" in name or "\\" in name:
        return "has a name that leads elsewhere"
    return ""


def _overlapping(entries: list[Entry]) -> set[int]:
    """The numbers of members that begin before one that stands before them ends: few bytes could be very many so."""
    end, within = 0, set[int]()
    for at in sorted(range(len(entries)), key=lambda at: entries[at].offset):
        if entries[at].packed and entries[at].offset < end:
            within.add(at)
        end = max(end, entries[at].offset + entries[at].packed)
    return within


def too_large(member: Entry, options: Options) -> str:
    """Why a member that is compressed goes beyond what it may expand to; empty where it does not."""
    if member.size > member.packed * options.max_expansion:
        return f"expands to more than {options.max_expansion:,} times its size (--max-expansion allows more)"
    if member.size > max(member.packed, options.max_expanded):
        return f"expands to more than {options.max_expanded:,} bytes (--max-expanded allows more)"
    return ""
