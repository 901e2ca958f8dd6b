"""What a record has that rules look at, told by its columns; nearly all records have nearly none of it."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

from chatsquash import jsonio
from chatsquash.checks.exchanges import bad_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatsquash.checks._columns import Calls
    from chatsquash.checks.registry import Feature, Kind, View

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
CONTENTS = frozenset({str, list, NoneType})

_decode = jsonio.decoder(dict).decode


def _of_record(view: View) -> list[Feature]:
    columns = view.columns
    found: list[Feature] = []
    if not view.messages:
        found.append("no messages")
    if not view.tools:
        found.append("no tools")
    if not ROLES.issuperset(columns.roles):
        found.append("unknown roles")
    if not CONTENTS.issuperset(map(type, columns.contents)):
        found.append("odd content")
    if not _ends_with_text(view):
        found.append("odd end")
    return found


def _of_native(view: View) -> list[Feature]:
    calls = view.columns.calls
    found: list[Feature] = []
    if "function_call" in view.columns.keys:
        found.append("legacy calls")
    if calls is None:
        found.append("odd calls")
    if calls is None or not view.tool_names.issuperset(calls.names):
        found.append("undeclared calls")
    if calls is None or not _are_objects(calls):
        found.append("odd arguments")
    if view.once(bad_results):
        found.append("bad results")
    if not view.columns.matched:
        found.append("unmatched")
    if view.messages and view.messages[-1].get("tool_calls"):
        found.append("open calls")
    return found


FEATURES: dict[Kind, Callable[[View], list[Feature]]] = {"record": _of_record, "native": _of_native}
"""The features of a record that rules of a kind look at."""


def _ends_with_text(view: View) -> bool:
    """Whether the very last message is a text or a call of the assistant."""
    if not view.messages or view.columns.roles[-1] != "assistant":
        return False
    content: Any = view.columns.contents[-1]
    return bool(view.messages[-1].get("tool_calls") or (isinstance(content, str) and content and not content.isspace()))


def _are_objects(calls: Calls) -> bool:
    """Whether all arguments parse to objects."""
    try:
        list(map(_decode, calls.arguments))
    except (ValueError, RecursionError):
        return False
    return True
