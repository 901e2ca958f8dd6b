"""Check the arguments of calls against the JSON schemas in tool definitions, if requested.

Schemas come from logs and are not trusted: references are not fetched, patterns take linear time, and schemas that
could take too many steps are not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

from msgspec import Struct, structs

from chatsquash.checks.registry import Fact, View, check
from chatsquash.checks.results import ToolCall, exchanges
from chatsquash.core import chat, jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.memo import Each
from chatsquash.core.model import Json, Tool
from chatsquash.core.text import quote

_MOST = 1 << 18
"""The maximum size of a schema, and of arguments, in bytes."""
_DEEP = 64
"""The maximum nesting depth of arguments."""
# The library copies the value for each alternative when it locates a mismatch.
_PRODUCT = 1 << 23
"""The maximum product of schema parts and argument bytes for locating a mismatch."""
_PATTERN = 1 << 18
"""The maximum size of a compiled pattern in bytes."""
_DETAIL_MEMBERS = {"required": "property", "additionalProperties": "unexpected", "type": "types"}
"""The attribute with details of a violation, by violated keyword."""


@check("warning", kind="arguments")
def arguments_invalid(view: View) -> Iterator[Fact]:
    """Reported when arguments do not match the schema in force when the call was made.

    The finding contains the first mismatch. For a log, the definition is that of the request that the call answers, or
    else that of the record.
    """
    for call, wrong in view.once(_argument_checks).wrong:
        text = f"arguments of {quote(call.name)} do not match its definition ({wrong})"
        yield Fact(f"{text}: check whether the call worked and should be trained on", call.at)


@check("info", kind="arguments")
def arguments_unchecked(view: View) -> Iterator[Fact]:
    """Reported when the arguments of a tool cannot be checked, for example because of its schema.

    Once per tool, with the reason: it has no schema, the schema refers to other documents, a pattern does not match in
    linear time, or the schema or the arguments are too large.
    """
    for name, (at, why) in view.once(_argument_checks).unchecked.items():
        yield Fact(f"arguments of {quote(name)} are not checked: {why}", at)


class _ArgumentChecks(Struct, frozen=True):
    wrong: list[tuple[ToolCall, str]]
    """Calls, each with the problem in its arguments."""
    unchecked: dict[str, tuple[int, str]]
    """The first message with unchecked arguments and the reason, by tool name."""


class _Schema(Struct, frozen=True):
    """The schema of a definition."""

    validator: Any = None
    """The compiled schema; ``None`` if it cannot be used."""
    why: str = ""
    """The reason why it cannot be used; empty if there is no schema."""
    steps: Steps | None = None
    """The cost of checking a value."""
    small: bool = True


def refuse_missing(option: str = "--check-arguments") -> None:
    """Raise ``UsageError`` if the schema validator is not installed."""
    try:
        import jsonschema_rs  # noqa: F401 - only checks whether it is installed
    except ImportError:
        hint = "pip install 'chatsquash[schema]'"
        raise UsageError(f"{option} requires the jsonschema-rs package: {hint}") from None


def _argument_checks(view: View) -> _ArgumentChecks:
    answer = _ArgumentChecks([], {})
    definitions = (
        tool for tool in reversed(view.tools) if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    )
    first = {tool["name"]: tool for tool in definitions}
    for call in view.once(exchanges).calls:
        tool = _definition(view, call, first)
        if tool is None or call.name is None:
            continue
        (schema,) = _known([tool])
        wrong, why = _check_arguments(schema, call.call_object["function"].get("arguments"))
        if wrong:
            answer.wrong.append((call, wrong))
        if why:
            answer.unchecked.setdefault(call.name, (call.at, why))
    return answer


def _definition(view: View, call: ToolCall, first: dict[str, Tool]) -> Tool | None:
    """Return the definition in force when a call was made."""
    if call.name is None:
        return None
    definition = view.redefined.definition(view.messages[call.at], call.key, call.name) if view.redefined else None
    return definition if isinstance(definition, dict) else first.get(call.name)


def _check_arguments(schema: _Schema, arguments: Json) -> tuple[str, str]:
    """Return the problem in arguments, or the reason for not checking them; neither if another rule reports them."""
    if schema.validator is None or schema.steps is None:
        return "", schema.why
    data = arguments.encode("utf-8", "surrogatepass") if isinstance(arguments, str) else jsonio.dumps(arguments)
    if len(data) > _MOST:
        return "", f"they have more than {_MOST:,} bytes"
    value = jsonio.value(data)
    if not isinstance(value, dict):
        return "", ""
    levels = _levels(value)
    steps = f"they have more than {_DEEP} levels" if levels > _DEEP else schema.steps.count(levels)
    if isinstance(steps, str):
        return "", steps
    return _check_value(schema.validator, value, is_small=steps * len(data) <= _PRODUCT)


def _check_value(validator: Any, value: Json, *, is_small: bool) -> tuple[str, str]:
    try:
        if validator.is_valid(value):
            return "", ""
        if is_small:
            validator.validate(value)
    except Exception as problem:  # noqa: BLE001 - errors of the library for unsupported texts and numbers
        kind = getattr(problem, "kind", None)
        return (_describe_error(problem), "") if kind else ("", f"they cannot be checked ({type(problem).__name__})")
    return "too much data to locate the mismatch", ""


def first_problem(schema: dict[str, Any], value: Json) -> str:
    """Return the first mismatch of a value with a schema of chatsquash itself, or an empty string if it matches."""
    if _levels(value) > _DEEP:
        return f"it has more than {_DEEP} levels"
    return " ".join(filter(None, _check_value(_compiled(jsonio.dumps(schema)), value, is_small=True)))


@cache
def _compiled(schema: bytes) -> Any:
    return _compile(jsonio.loads(schema)).validator


def _levels(value: Json) -> int:
    """Return the nesting depth of a value, at most one more than the limit."""
    level, count = [value], 0
    while level and count <= _DEEP:
        count += 1
        inner = chain.from_iterable(each.values() if isinstance(each, dict) else each for each in level)
        level = [each for each in inner if isinstance(each, dict | list)]
    return count


def _describe_error(error: Any) -> str:
    """Describe where arguments violate which keyword, without any value."""
    place = "/".join(["", *map(str, error.instance_path)])
    rule = str(error.schema_path[-1]) if error.schema_path else "false"
    more = getattr(error.kind, _DETAIL_MEMBERS.get(rule, ""), None)
    detail = more[0] if isinstance(more, list) and len(more) == 1 else more
    return " ".join(
        [quote(place) if place else "the top level", "violates", quote(rule), *([quote(detail)] if detail else [])]
    )


def _schema_of(tool: dict[str, Any]) -> _Schema:
    schema = next((tool[spelling] for spelling in chat.SCHEMAS if spelling in tool), None)
    if not isinstance(schema, dict):
        return _Schema()  # other rules report a missing schema
    data = jsonio.dumps(schema)
    if len(data) > _MOST:
        return _Schema(why=f"the schema has more than {_MOST:,} bytes", small=False)
    steps = Steps(schema)
    why = steps.count(0)
    return _Schema(why=why) if isinstance(why, str) else structs.replace(_compile(schema), steps=steps)


def _compile(schema: dict[str, Any]) -> _Schema:
    import jsonschema_rs

    patterns = jsonschema_rs.RegexOptions(size_limit=_PATTERN, dfa_size_limit=_PATTERN)
    try:
        validator = jsonschema_rs.validator_for(
            schema, pattern_options=patterns, retriever=_refuse_reference, validate_formats=False
        )
    except Exception as problem:  # noqa: BLE001 - errors of the library for arbitrary schemas in logs
        if type(getattr(problem, "kind", None)).__name__.endswith("Referencing"):
            return _Schema(why="the schema refers to another document, which is not fetched")
        place = "/".join(["", *map(str, getattr(problem, "instance_path", ()))])
        return _Schema(why=f"the schema is invalid, or has a pattern that takes too long, at {quote(place)}")
    return _Schema(validator)


def _refuse_reference(uri: str) -> Json:
    raise ValueError(uri)


_known: Each[Tool, _Schema] = Each(lambda tools: list(map(_schema_of, tools)), lambda schema: schema.small)


_STEPS = 5_000
"""The maximum number of objects and lists of a schema, including references, that a value may be checked against."""
_STATES = 100_000
"""The maximum number of parts to visit when counting."""
_FAR = 100
"""The maximum nesting depth of a schema, including references."""
_INSIDE = frozenset(
    (
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
    )
)
"""Keywords with schemas for the members or items of a value."""
_BY_NAME = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""Keywords with one schema per name."""
_ASIDE = frozenset(("$defs", "definitions", "default", "examples", "example", "description", "title"))
"""Keywords that do not constrain values."""
_OTHER_BASES = ("$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


class _UnusableError(Exception):
    """A schema has external references or too many references; the message is the reason."""


class Steps:
    """Counts the parts of a schema, including references, that a value may be checked against."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._known: dict[int, int | str] = {}
        self._counts: dict[tuple[int, int], int | None] = {}

    def count(self, levels: int) -> int | str:
        """Return the number of parts for arguments of a given depth, or the reason for not checking them."""
        if levels not in self._known:
            self._counts = {}
            try:
                self._known[levels] = self._count(self._schema, levels, 0)
            except _UnusableError as problem:
                self._known[levels] = str(problem)
        return self._known[levels]

    def _count(self, value: Json, levels: int, far: int) -> int:
        if not isinstance(value, dict | list) or levels < 0:
            return 0
        key = id(value), levels
        if key not in self._counts:
            if far > _FAR or len(self._counts) > _STATES:
                raise _UnusableError("the schema has too many parts or references")
            self._counts[key] = None  # detects circular references
            self._counts[key] = 1 + sum(self._count(*part, far + 1) for part in self._parts(value, levels))
        count = self._counts[key]
        if count is None:
            raise _UnusableError("the schema refers to itself in a cycle")
        if count > _STEPS:
            raise _UnusableError("the schema has too many parts or references")
        return count

    def _parts(self, value: dict[str, Any] | list[Any], levels: int) -> Iterator[tuple[Json, int]]:
        if isinstance(value, list):
            yield from ((each, levels) for each in value)
            return
        if value is not self._schema and any(isinstance(value.get(name), str) for name in _OTHER_BASES):
            raise _UnusableError("the schema uses named references")
        for name, part in value.items():
            if name == "$ref" and isinstance(part, str):
                yield self._referenced(part), levels
            elif name not in _ASIDE:
                below = levels - (name in _INSIDE)
                by_name = part.values() if name in _BY_NAME and isinstance(part, dict) else (part,)
                yield from ((each, below) for each in by_name)

    def _referenced(self, reference: str) -> Json:
        """Return the part of the schema that a reference refers to."""
        if reference != "#" and not reference.startswith("#/"):
            raise _UnusableError(f"the schema refers to {quote(reference)}, which is not fetched")
        target: Json = self._schema
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) else None
        if target is None:
            raise _UnusableError(f"the schema refers to {quote(reference)}, which does not exist in it")
        return target
