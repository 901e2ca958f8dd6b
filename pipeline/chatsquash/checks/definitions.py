"""Rules about tool definitions and about records as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from chatsquash.checks import ROLES
from chatsquash.checks.registry import Fact, View, check, rule
from chatsquash.core import chat
from chatsquash.core.model import Json
from chatsquash.core.text import json_type, pluralize, quote

ABSENT = object()


def _has_calls(view: View) -> bool:
    return any(map(chat.call_count, view.messages))


@check("error", kind="record", looks=("no messages",))
def no_messages(view: View) -> Iterator[Fact]:
    """Reported when a record has no messages."""
    if not view.messages:
        yield Fact("the record has no messages: exclude it")


@check("error", kind="record", looks=("unknown roles",))
def unknown_role(view: View) -> Iterator[Fact]:
    """Reported when a role is not `system`, `developer`, `user`, `assistant`, `tool` or `function`."""
    for at, message in enumerate(view.messages):
        if message["role"] not in ROLES:
            yield Fact(f"the role {quote(message['role'])} is unknown: check the logger", at)


@check("info", kind="record", looks=("no tools",))
def no_tools(view: View) -> Iterator[Fact]:
    """Reported when a record neither defines nor calls tools, as in plain chat."""
    if not view.tools and not _has_calls(view):
        yield Fact("the record defines no tools: if the session had some, the logger omits request.tools")


@check("error", kind="record", looks=("no tools",))
def calls_without_tools(view: View) -> Iterator[Fact]:
    """Reported when a record calls tools although its `tools` is empty."""
    if not view.tools and _has_calls(view):
        yield Fact("the record calls tools but does not define any: check whether the logger omits request.tools")


@check("error", kind="tools", looks=("odd definitions",))
def tool_not_object(view: View) -> Iterator[Fact]:
    """Reported when a tool definition is not a JSON object."""
    for index, tool in enumerate(view.tools):
        if not isinstance(tool, dict):
            yield Fact(f"tools[{index}] is {json_type(tool)}, not an object: remove or correct the definition")


@check("error", kind="tools", looks=("odd definitions",))
def tool_name(view: View) -> Iterator[Fact]:
    """Reported when the name of a tool is missing, empty or not a string."""
    for index, tool in _numbered_definitions(view):
        name = tool.get("name", ABSENT)
        if not isinstance(name, str) or not name:
            seen = "missing" if name is ABSENT else "empty" if name == "" else json_type(name)
            yield Fact(f"the name of tools[{index}] is {seen}: log the name that calls use")


@check("warning", kind="tools", looks=("odd definitions",))
def tool_description(view: View) -> Iterator[Fact]:
    """Reported when the `description` of a tool is missing, empty or not a string."""
    for index, tool in _numbered_definitions(view):
        description = tool.get("description")
        if not isinstance(description, str) or not description or description.isspace():
            yield Fact(f"{_label(index, tool)} has no description: describe what it does in a sentence")


@check("error", kind="tools", looks=("odd definitions",))
def tool_parameters(view: View) -> Iterator[Fact]:
    """Reported when the `parameters` of a tool is not an object."""
    for index, tool in _functions(view):
        parameters = tool.get("parameters", {})
        if not isinstance(parameters, dict):
            yield Fact(f"parameters of {_label(index, tool)} is {json_type(parameters)}: make it a JSON schema object")


@check("warning", kind="tools", looks=("odd definitions",))
def tool_parameters_missing(view: View) -> Iterator[Fact]:
    """Reported when the definition of a function has no `parameters`."""
    for index, tool in _functions(view):
        if "parameters" not in tool:
            yield Fact(f"{_label(index, tool)} has no parameters: add a JSON schema (empty if it has no arguments)")


@check("error", kind="tools", looks=("odd definitions",))
def tool_parameters_type(view: View) -> Iterator[Fact]:
    """Reported when the `type` of a tool's `parameters` is missing or not `object`."""
    for label, parameters in _schemas(view):
        kind = parameters.get("type", ABSENT)
        if kind != "object":
            seen = "missing" if kind is ABSENT else quote(kind) if isinstance(kind, str) else json_type(kind)
            yield Fact(f"the type in parameters of {label} is {seen}: it must be 'object'")


@check("error", kind="tools", looks=("odd definitions",))
def tool_properties(view: View) -> Iterator[Fact]:
    """Reported when `properties` in a tool's `parameters` is missing or not an object, or has a non-object property."""
    for label, parameters in _schemas(view):
        properties = parameters.get("properties", ABSENT)
        if isinstance(properties, dict):
            for name, schema in properties.items():
                if not isinstance(schema, dict):
                    where = f"the property {quote(name)} in parameters of {label}"
                    yield Fact(f"{where} is {json_type(schema)}: it must be a JSON schema object")
        else:
            seen = "missing" if properties is ABSENT else json_type(properties)
            where = f"properties in parameters of {label}"
            yield Fact(f"{where} is {seen}: it must be an object, which may be empty")


@check("error", kind="tools", looks=("odd definitions",))
def tool_required(view: View) -> Iterator[Fact]:
    """Reported when `required` in a tool's `parameters` is not a list of distinct, non-empty names."""
    for label, parameters in _schemas(view):
        if seen := _names_problem(parameters.get("required", [])):
            yield Fact(f"required in parameters of {label} {seen}: it must be a list of distinct names")


def _names_problem(required: Json) -> str | None:
    """Return the problem with a list of names, or ``None``."""
    if not isinstance(required, list):
        return f"is {json_type(required)}"
    seen: set[str] = set()
    for name in required:
        if not isinstance(name, str):
            return f"has {json_type(name)}"
        if not name or name in seen:
            return f"has {quote(name)} twice" if name else "has an empty name"
        seen.add(name)
    return None


def _label(index: int, tool: dict[str, Any]) -> str:
    name = tool.get("name")
    return f"tools[{index}]" if name is None or name == "" else f"tool {quote(name)}"


def _own(view: View) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the definitions that are objects, except those of hosted tools, which require no definition."""
    for index, tool in enumerate(view.tools):
        if isinstance(tool, dict) and not chat.is_hosted(tool):
            yield index, tool


def _numbered_definitions(view: View) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object with the name and description of each definition, and the definition's index."""
    for index, tool in _own(view):
        yield index, chat.custom(tool) or tool


def _functions(view: View) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the definitions of functions; custom tools accept text and have no parameters."""
    for index, tool in _own(view):
        if tool.get("type") != "custom":
            yield index, tool


def _schemas(view: View) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the argument schemas that are objects, in any spelling, each with a label for its definition."""
    for index, tool in _functions(view):
        for spelling in chat.SCHEMAS:
            if isinstance(schema := tool.get(spelling), dict):
                yield _label(index, tool), schema


@rule("warning")
def tool_conflict(
    name: str, first_line: int, line: int, *, kept_definition: Literal["first", "last", "each"] = "first"
) -> Fact:
    """Reported when the definition of a tool changes during a session.

    The record has the first definition, or the last one with `--tools last`; for a custom tool it has all of them.
    """
    where = f"line {line} defines {quote(name)} differently than line {first_line}"
    what = "each definition" if kept_definition == "each" else f"the {kept_definition} definition"
    calls = "earlier" if kept_definition == "last" else "later"
    return Fact(f"{where}; {what} is kept: check whether {calls} calls match it")


@rule("info")
def supplied_tools(count: int) -> Fact:
    """Reported when the log defines no tools, so the record uses those from `--tools-file`."""
    return Fact(
        f"the log defines no tools, so --tools-file supplies {pluralize(count, 'definition')}: check whether it matches"
    )


@rule("info")
def supplied_system() -> Fact:
    """Reported when the log has no system prompt, so the record begins with the one from `--system-file`."""
    return Fact(
        "the log has no system prompt, so --system-file is used: check whether it matches",
        0,
    )
