"""What can be wrong with a session; a rule's name is its code, its docstring is its documentation.

Rules over a record are generators marked ``@check``; rules that the reader or a stage finds on its way are plain
functions marked ``@rule`` that make the finding.  Both are found by looking in this folder.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from chatsquash.checks.registry import RULES, Rule
from chatsquash.model import Found
from chatsquash.registry import modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatsquash.checks.registry import Kind, View


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the modules and of the functions in them."""
    for module in modules(__path__):
        importlib.import_module(f"{__name__}.{module}")
    return {rule.code: rule for rule in sorted(RULES, key=lambda rule: (rule.module, rule.place))}


def examine(view: View, *kinds: Kind) -> Iterator[Found]:
    """What is wrong with a record, by the rules of the kinds named."""
    for rule in _of(*kinds):
        for fact in rule.function(view):
            yield rule.found(fact)


@cache
def _of(*kinds: Kind) -> list[Rule]:
    """The rules of some kinds, in order."""
    return [rule for rule in rules().values() if rule.kind in kinds]
