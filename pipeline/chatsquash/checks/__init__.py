"""What can be wrong with a session; a rule's name is its code, its docstring is its documentation.

Rules over a record are generators marked ``@check``; rules that the reader or a stage finds on its way are plain
functions marked ``@rule`` that make the finding.  Both are found by looking in this folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

from chatsquash.checks._features import FEATURES
from chatsquash.checks.registry import RULES, Feature, Kind, Rule, View
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Violation
from chatsquash.core.registry import Room
from chatsquash.core.text import meant


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the modules and of the functions in them."""
    Room(sys.modules[__name__]).all()  # whose functions make themselves known
    return {rule.code: rule for rule in sorted(RULES, key=lambda rule: (rule.module, rule.place))}


def refuse_unknown(code: str, *, option: str = "", any_error: str = "") -> None:
    """Raise ``UsageError`` for a code that no finding has, as an ``option`` names it; ``any_error`` is no such code."""
    known = [*filter(None, [any_error]), *rules()]
    if code not in known:
        named = f"{option} {code}" if option else code
        listed = "chatsquash explain lists them" + (f", {any_error} means any error" if any_error else "")
        raise UsageError(f"{named}: no finding has this code; {meant(code, known, listed)}")


def examine(view: View, *kinds: Kind) -> Iterator[Violation]:
    """What is wrong with a record, by the rules of the kinds named."""
    tests = [test for kind in kinds if kind in FEATURES for test in FEATURES[kind].items()]
    has = [feature for feature, is_there in tests if is_there(view)]
    for rule in _called(kinds, tuple(has)):
        for fact in rule.function(view):
            yield rule.violation(fact)


@cache
def _called(kinds: tuple[Kind, ...], has: tuple[Feature, ...]) -> list[Rule]:
    """The rules of some kinds that have something to look at in a record with these features, in order."""
    known = [rule for rule in rules().values() if rule.kind in kinds]
    return [rule for rule in known if not rule.looks or not set(has).isdisjoint(rule.looks)]
