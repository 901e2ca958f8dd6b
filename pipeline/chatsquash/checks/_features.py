"""What a record has that rules look at, told by its columns; nearly all records have nearly none of it."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

from chatsquash.checks.exchanges import bad_results
from chatsquash.core import jsonio

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatsquash.checks.registry import Feature, Kind, View

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
CONTENTS = frozenset({str, list, NoneType})

_decode = jsonio.decoder(dict).decode


def _ends_oddly(view: View) -> bool:
    """Whether the very last message is neither a text nor a call of the assistant."""
    last = view.columns.last
    if last is None or last.get("role") != "assistant":
        return True
    content = last.get("content")
    says_nothing = not isinstance(content, str) or not content or content.isspace()
    return says_nothing and not last.get("tool_calls")


def _has_undeclared(view: View) -> bool:
    calls = view.columns.calls
    return calls is None or not view.tool_names.issuperset(calls.names)


def _has_odd_arguments(view: View) -> bool:
    """Whether some arguments may be no text that parses to an object."""
    calls = view.columns.calls
    try:
        for arguments in calls.arguments if calls else ():
            _decode(arguments)
    except (ValueError, RecursionError):
        return True
    return calls is None


FEATURES: dict[Kind, dict[Feature, Callable[[View], bool]]] = {
    "record": {
        "no messages": lambda view: view.columns.last is None,
        "no tools": lambda view: not view.tools,
        "unknown roles": lambda view: not ROLES.issuperset(view.columns.roles),
        "odd content": lambda view: not CONTENTS.issuperset(view.columns.kinds),
        "odd end": _ends_oddly,
    },
    "native": {
        "legacy calls": lambda view: "function_call" in view.columns.keys,
        "odd calls": lambda view: view.columns.calls is None,
        "undeclared calls": _has_undeclared,
        "odd arguments": _has_odd_arguments,
        "open calls": lambda view: bool(view.columns.last and view.columns.last.get("tool_calls")),
        "bad results": lambda view: bool(view.once(bad_results)),
        "unmatched results": lambda view: not view.columns.matched,
    },
}
"""The features that rules of a kind look at, and whether a record has them."""
