"""Completions that OpenHands logs, with the calls that it wrote into the text where a model knows none."""

from __future__ import annotations

from chatsquash.reading.envelopes.litellm import TIMES
from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members, first_present, join_members, present, within

NAME = "OpenHands completions"
WHAT = "`{messages, response, args, kwargs, timestamp}`"
NEEDS = frozenset(("messages", "response", "kwargs")), frozenset(("fncall_messages", "response"))
MIXES = False


def fits(line: Members) -> bool:
    """All that have the members."""
    return "response" in line


def unwrap(line: Members) -> Members:
    """The messages and the response as they are with calls, where both are logged."""
    given = within(line.get("kwargs"))
    request = {"messages": line.get("fncall_messages") or line["messages"]}
    request |= {name: given[name] for name in ("tools",) if name in given}
    return present(
        request=join_members(request),
        response=line.get("fncall_response") or line["response"],
        timestamp=first_present(line, TIMES),
        session_id=first_present(line, SESSION),
    )
