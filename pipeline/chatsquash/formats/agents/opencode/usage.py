"""The tokens of a reply, as opencode counts them."""

from __future__ import annotations

from chatsquash.core.model import Json, Tokens
from chatsquash.formats.values import at, count

BROKEN_OFF = "incomplete"
"""Why a reply ended that was stopped or failed, and does not say itself why."""


def tokens(used: Json, *, is_split: bool = False) -> Tokens:
    """Those that were sent, with those from the cache, and those that came back; none where all are zero.

    Reasoning stands beside the output (``is_split``), or within it as in older versions, which their sum may tell.
    """
    sent = [count(at(used, *path)) for path in (("input",), ("cache", "read"), ("cache", "write"))]
    output, reasoning, total = (count(at(used, name)) for name in ("output", "reasoning", "total"))
    prompt = sum(each or 0 for each in sent) if sent[0] is not None else None
    is_split = is_split or (total is not None and total != (prompt or 0) + (output or 0))
    completion = output + (reasoning or 0) if is_split and output is not None else output
    return Tokens(prompt, completion) if prompt or completion else Tokens()
