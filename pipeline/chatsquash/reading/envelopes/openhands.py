"""Completions logged by OpenHands, which writes calls into the text for models without tool support."""

from __future__ import annotations

from chatsquash.reading.envelopes.litellm import TIMES
from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members, first_present, join_members, object_members, present

NAME = "OpenHands completions"
WHAT = "`{messages, response, args, kwargs, timestamp}`"
NEEDS = frozenset(("messages", "response", "kwargs")), frozenset(("fncall_messages", "response"))
MIXES = False


def fits(line: Members) -> bool:
    """Return whether a line has the marker of this envelope."""
    return "response" in line


def unwrap(line: Members) -> Members:
    """Return the messages and the response, in the versions with calls if both are logged."""
    kwargs = object_members(line.get("kwargs"))
    request = {"messages": line.get("fncall_messages") or line["messages"]}
    request |= {name: kwargs[name] for name in ("tools",) if name in kwargs}
    return present(
        request=join_members(request),
        response=line.get("fncall_response") or line["response"],
        timestamp=first_present(line, TIMES),
        session_id=first_present(line, SESSION),
    )
