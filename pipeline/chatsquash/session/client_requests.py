"""The replies to requests that cleaning dropped, and the options that keep replies which no record holds."""

from __future__ import annotations

from bisect import bisect
from collections import Counter

from chatsquash.checks.coverage import NEVER
from chatsquash.core.logged import Coverage, LoggedReply
from chatsquash.core.options import Options
from chatsquash.trees.kinds import Path
from chatsquash.trees.selection import name_of_line


def with_asides(
    rows: list[LoggedReply], lines: list[int], session: str, found: list[Path], ids: dict[int, str]
) -> list[LoggedReply]:
    """The rows of a session's replies with those to requests that cleaning dropped, in the order of the lines.

    Such a request is about the person's conversation that began last before it, or about the first one; ``ids`` are the
    names of the conversations that were found, by their ``id()``.
    """
    if not lines:
        return rows
    begun = sorted((path.own[0].line, ids[id(path)]) for path in found if path.kind == "main")
    asides: list[LoggedReply] = []
    for line in lines:
        place = bisect(begun, (line, "")) - 1
        about = begun[max(place, 0)][1] if begun else None
        asides.append(LoggedReply(line, "side", "lost", "side-request", name_of_line(session, line), about))
    return sorted([*rows, *asides], key=lambda row: row.line)


def ways(covered: Coverage, asides: int, options: Options) -> dict[str, int]:
    """The options that keep replies which no record holds, with how many; ``asides``: those that cleaning dropped."""
    lost = Counter({why: count for why, count in covered.lost.items() if why not in NEVER})
    lost["side-request"] -= asides
    is_all = options.conversations == "all"
    if is_all:
        found = {"without --no-side": lost["side-request"], "without --no-subagents": lost["subagent"]}
    else:
        found = {"--conversations all": lost.total()}
    given = ["--conversations all"] * (not is_all) + ["--no-cleanup-goose"] * options.cleanup_goose
    taken = ["--cleanup"] * bool(options.cleanup) + ["--no-side"] * (not options.side)
    dropped = " ".join([*given, *(f"without {' and '.join(taken)}" for _ in taken[:1])])
    found[dropped] = found.get(dropped, 0) + asides
    return {how: count for how, count in found.items() if count}
