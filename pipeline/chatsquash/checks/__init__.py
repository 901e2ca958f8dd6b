"""Rules that report findings; the name of a rule is its code, and its docstring is its documentation.

Rules over records are generators marked ``@check``. Rules that the reader or a stage applies are functions marked
``@rule``, which return the finding. Both are discovered in this folder. A rule over records is called only if the
record has one of the features that the rule declares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType, NoneType
from typing import TYPE_CHECKING

from chatsquash.checks.exchanges import bad_results
from chatsquash.checks.registry import RULES, Feature, Kind, Rule, View
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Violation
from chatsquash.core.registry import Room
from chatsquash.core.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatsquash.checks.registry import Feature, Kind, View


@cache
def rules() -> dict[str, Rule]:
    """Return all rules by code, in the order of modules and of functions within them."""
    Room(ModuleType, sys.modules[__name__]).all()  # importing the modules registers their rules
    return {rule.code: rule for rule in sorted(RULES, key=lambda rule: (rule.module, rule.place))}


def refuse_unknown(code: str, *, option: str = "", any_error: str = "") -> None:
    """Raise ``UsageError`` for an unknown finding code.

    Args:
        code: The code.
        option: The option in which the code was given, for the message.
        any_error: A word that is also accepted and stands for all errors.
    """
    known = [*filter(None, [any_error]), *rules()]
    if code not in known:
        code_text = f"{option} {code}" if option else code
        advice = "chatsquash explain lists all codes" + (f", {any_error} stands for any error" if any_error else "")
        raise UsageError(f"{code_text}: unknown finding code; {suggestion(code, known, advice)}")


def examine(view: View, *kinds: Kind, skipped: frozenset[str] = frozenset()) -> Iterator[Violation]:
    """Yield the violations in a record of the rules of some kinds, except the rules whose codes are ``skipped``."""
    features = [FEATURES[kind](view) for kind in kinds if kind in FEATURES]
    has = [name for each in features for name, is_there in each.items() if is_there]
    for rule in _rules_for(kinds, tuple(has), skipped):
        for fact in rule.function(view):
            yield rule.violation(fact)


@cache
def _rules_for(kinds: tuple[Kind, ...], has: tuple[Feature, ...], skipped: frozenset[str]) -> list[Rule]:
    """Return the rules of some kinds that apply to a record with these features, in order."""
    known = [rule for rule in rules().values() if rule.kind in kinds and rule.code not in skipped]
    return [rule for rule in known if not rule.features or not set(has).isdisjoint(rule.features)]


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
CONTENTS = frozenset({str, list, NoneType})

_decode = jsonio.decoder(dict).decode


def _ends_oddly(view: View) -> bool:
    """Return whether the last message is neither text nor a call of the assistant."""
    last = view.columns.last
    if last is None or last.get("role") != "assistant":
        return True
    content = last.get("content")
    has_no_text = not isinstance(content, str) or not content or content.isspace()
    return has_no_text and not last.get("tool_calls")


def _has_undeclared(view: View) -> bool:
    calls = view.columns.calls
    return calls is None or not view.tool_names.issuperset(calls.names)


def _has_odd_arguments(view: View) -> bool:
    """Return whether any arguments may not be a string that contains a JSON object."""
    calls = view.columns.calls
    try:
        for arguments in calls.arguments if calls else ():
            _decode(arguments)
    except (ValueError, RecursionError):
        return True
    return calls is None


def _features_of_record(view: View) -> dict[Feature, bool]:
    columns = view.columns
    return {
        "no messages": columns.last is None,
        "no tools": not view.tools,
        "unknown roles": not ROLES.issuperset(columns.roles),
        "odd content": not CONTENTS.issuperset(columns.kinds),
        "odd end": _ends_oddly(view),
    }


def _features_of_calls(view: View) -> dict[Feature, bool]:
    columns = view.columns
    return {
        "legacy calls": "function_call" in columns.keys,
        "odd calls": columns.calls is None,
        "undeclared calls": _has_undeclared(view),
        "odd arguments": _has_odd_arguments(view),
        "open calls": bool(columns.last and columns.last.get("tool_calls")),
        "bad results": bool(view.once(bad_results)),
        "unmatched results": not columns.are_matched,
    }


FEATURES: dict[Kind, Callable[[View], dict[Feature, bool]]] = {
    "record": _features_of_record,
    "native": _features_of_calls,
}
"""The features on which rules of a kind depend, each with whether a record has it."""
