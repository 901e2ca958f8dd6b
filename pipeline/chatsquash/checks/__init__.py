"""Rules that report findings; the name of a rule is its code, and its docstring is its documentation.

Rules over records are generators marked ``@check``. Rules that the reader or a stage applies are functions marked
``@rule``, which return the finding. Both are discovered in this folder. A rule over records is called only if the
record has one of the features that the rule declares.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from itertools import chain
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any

from chatsquash.checks.registry import RULES, Feature, Kind, Rule, View
from chatsquash.checks.results import bad_results, decoded_arguments
from chatsquash.core.errors import UsageError
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Json, Tool, Violation
from chatsquash.core.registry import Item, Room
from chatsquash.core.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatsquash.checks.registry import Feature, Kind, View
    from chatsquash.core.model import Message
else:

    def __getattr__(name: str) -> LazyModule:
        """Return a module with rules that few runs need, so that importing it from here does not load it."""
        if name not in _ON_DEMAND:
            raise AttributeError(name)
        return LazyModule(f"{__name__}.{name}")


_ON_DEMAND = frozenset(
    (
        *("archives", "coverage", "dataset", "definition_members", "definitions", "files", "private", "reading"),
        *("sampling", "schemas", "shapes", "stored_records", "tags", "template"),
    )
)
_DEPENDENT: dict[str, frozenset[Feature]] = {
    "calls": frozenset(("legacy calls", "odd arguments", "odd calls", "undeclared calls")),
    "contents": frozenset(("odd content", "odd end")),
    "definitions": frozenset(("no messages", "no tools", "odd definitions", "unknown roles")),
    "results": frozenset(("bad results", "open calls", "unmatched results")),
}
"""The modules with rules of the kinds in ``FEATURES``, and the features on which these depend."""
_PLAIN = frozenset(("name", "description", "parameters", "type", "strict"))
_NONE: list[str] = []
_DICT, _STR = frozenset((dict,)), frozenset((str,))


@cache
def rules() -> dict[str, Rule]:
    """Return all rules by code, in the order of modules and of functions within them."""
    Room(ModuleType, sys.modules[__name__], place=_place).all()  # importing the modules registers their rules
    return {rule.code: rule for rule in sorted(RULES, key=_position)}


def _place(item: Item) -> int | None:
    """Return the place of a module with rules; packages in this folder contain none."""
    return None if item.path.endswith("__init__.py") else 0


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


def examine(view: View, *kinds: Kind, skipped: frozenset[str] = frozenset()) -> list[Violation]:
    """Return the violations in a record of the rules of some kinds, except the rules whose codes are ``skipped``."""
    features: list[Feature] = []
    for kind in kinds:
        if kind in FEATURES:
            features += FEATURES[kind](view)
    violations: list[Violation] = []
    for rule in _rules_for(kinds, tuple(features), skipped):
        violations += map(rule.violation, rule.function(view))
    return violations


@cache
def _rules_for(kinds: tuple[Kind, ...], has: tuple[Feature, ...], skipped: frozenset[str]) -> list[Rule]:
    """Return the rules of some kinds that apply to a record with these features, in order."""
    is_usual = FEATURES.keys() >= set(kinds) and len(__path__) == 1
    known = _rules_on(has) if is_usual else [*rules().values()]
    applicable = [rule for rule in known if rule.kind in kinds and rule.code not in skipped]
    return [rule for rule in applicable if not rule.features or not set(has).isdisjoint(rule.features)]


def _rules_on(has: tuple[Feature, ...]) -> list[Rule]:
    """Return the rules that depend on one of some features, in order, without importing all modules of rules."""
    for name, features in _DEPENDENT.items():
        if not features.isdisjoint(has):
            import_module(f"{__name__}.{name}")
    return sorted((rule for rule in RULES if rule.features), key=_position)


def _position(rule: Rule) -> tuple[str, int]:
    return rule.module, rule.place


DEFINITION_MEMBERS = frozenset(
    (
        *("type", "function", "name", "description", "parameters", "strict", "format"),  # OpenAI chat
        *("output_schema", "allowed_callers", "defer_loading", "namespace"),  # OpenAI Responses
        *("input_schema", "cache_control", "input_examples", "eager_input_streaming", "toolset_name"),  # Anthropic
        *("behavior", "response", "parametersJsonSchema", "responseJsonSchema"),  # Gemini
        *("parameters_json_schema", "response_json_schema"),
        *("inputSchema", "outputSchema", "title", "annotations", "execution", "icons", "_meta"),  # MCP
        *("return", "providerOptions"),  # Transformers, AI SDK
        *("$schema", "$id", "$ref", "$defs", "$comment", "definitions", "default"),  # JSON Schema
        *("examples", "deprecated", "properties", "required", "additionalProperties"),
    )
)
"""Known members of tool definitions.

They are from the types in SDKs (openai 3.57, anthropic 2.14, google-genai 3.6), or from documentation.
"""
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
CONTENTS = frozenset({str, list, NoneType})


def _features_of_record(view: View) -> list[Feature]:
    columns, last = view.columns, view.columns.last
    features: list[Feature] = []
    if last is None:
        features.append("no messages")
    if not view.tools:
        features.append("no tools")
    if not ROLES.issuperset(columns.roles):
        features.append("unknown roles")
    if not CONTENTS.issuperset(columns.kinds):
        features.append("odd content")
    if last is None or last["role"] != "assistant" or not (last.get("tool_calls") or _has_text(last)):
        features.append("odd end")
    return features


def _has_text(message: Message) -> bool:
    content = message.get("content")
    return isinstance(content, str) and bool(content) and not content.isspace()


def _features_of_calls(view: View) -> list[Feature]:
    columns = view.columns
    calls = columns.calls
    features: list[Feature] = []
    if "function_call" in columns.keys:
        features.append("legacy calls")
    if calls is None:
        features += ("odd calls", "undeclared calls", "odd arguments")
    elif calls.names:
        if not view.tool_names.issuperset(calls.names):
            features.append("undeclared calls")
        if None in view.once(decoded_arguments):
            features.append("odd arguments")
    if columns.last and columns.last.get("tool_calls"):
        features.append("open calls")
    if view.once(bad_results):
        features.append("bad results")
    if not columns.are_matched:
        features.append("unmatched results")
    return features


def _features_of_definitions(view: View) -> list[Feature]:
    return [] if are_sound(view.tools) else ["odd definitions"]


def are_sound(tools: list[Tool]) -> bool:
    """Return quickly whether certainly no rule reports any of these flattened definitions."""
    return all(map(_is_sound, tools))


def _is_sound(tool: Any) -> bool:
    if type(tool) is not dict or not _PLAIN.issuperset(tool) or tool.get("type", "function") != "function":
        return False
    name, description, schema = tool.get("name"), tool.get("description"), tool.get("parameters")
    if type(name) is not str or type(description) is not str or type(schema) is not dict:
        return False
    if not name or not description or description.isspace() or schema.get("type") != "object":
        return False
    properties, required = schema.get("properties"), schema.get("required", _NONE)
    if (
        type(properties) is not dict
        or type(required) is not list
        or not _DICT.issuperset(map(type, properties.values()))
    ):
        return False
    return not required or (_STR.issuperset(map(type, required)) and "" not in required and _are_distinct(required))


def are_usual(*holders: Json) -> bool:
    """Return quickly whether definitions and their functions have only known members."""
    try:
        return DEFINITION_MEMBERS.issuperset(chain(*holders))
    except TypeError:  # a definition that is not an object
        return False


def _are_distinct(names: list[str]) -> bool:
    return len(names) == 1 or len(set(names)) == len(names)


FEATURES: dict[Kind, Callable[[View], list[Feature]]] = {
    "tools": _features_of_definitions,
    "record": _features_of_record,
    "native": _features_of_calls,
}
"""The features of a record on which rules of a kind depend."""
