"""What can be wrong with a record as a whole and with its tool definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pipeline import chat
from pipeline.checks.registry import Fact, View, check, json_type, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model import Tool

ABSENT = object()


@check("error", kind="record")
def no_messages(view: View) -> Iterator[Fact]:
    """Reported when the record has no message: there is nothing to train on."""
    if not view.messages:
        yield Fact("the record has no message: leave it out")


def _lacks(view: View) -> Literal["definitions", "tools"] | None:
    """What a record without definitions lacks: these, where it calls tools all the same, else tools at all."""
    if view.tools:
        return None
    return "definitions" if any(chat.call_count(message) for message in view.messages) else "tools"


@check("info", kind="record", given=_lacks)
def no_tools(view: View) -> Iterator[Fact]:
    """Reported when `tools` is empty and nothing is called, as in plain chat."""
    if view.once(_lacks) == "tools":
        yield Fact("the record defines no tools: if the session had some, the logger leaves request.tools out")


@check("error", kind="record", given=_lacks)
def calls_without_tools(view: View) -> Iterator[Fact]:
    """Reported when `tools` is empty and the record calls tools all the same.

    A model trained on calls without definitions learns to call tools that it was never shown.
    """
    if view.once(_lacks) == "definitions":
        yield Fact("the record calls tools and defines none: see whether the logger leaves request.tools out")


@check("error", kind="tools")
def tool_not_object(view: View) -> Iterator[Fact]:
    """Reported when a tool definition is no JSON object: no chat template can print it."""
    for index, tool in enumerate(view.tools):
        if not isinstance(tool, dict):
            yield Fact(f"tools[{index}] is {json_type(tool)}, not an object: remove or correct the definition")


@check("error", kind="tools")
def tool_parameters(view: View) -> Iterator[Fact]:
    """Reported when a definition's `parameters` is there and no object: no chat template can print it."""
    for index, tool in enumerate(view.tools):
        parameters = tool.get("parameters", {}) if isinstance(tool, dict) else {}
        if not isinstance(parameters, dict):
            yield Fact(f"parameters of {_label(index, tool)} is {json_type(parameters)}: make it a JSON schema object")


@check("warning", kind="tools")
def tool_parameters_missing(view: View) -> Iterator[Fact]:
    """Reported when a definition has no `parameters`.

    The model is then trained on calls whose arguments are described nowhere.
    """
    for index, tool in enumerate(view.tools):
        if isinstance(tool, dict) and "parameters" not in tool:
            yield Fact(f"{_label(index, tool)} has no parameters: add a JSON schema, an empty one if it takes none")


@check("error", kind="tools")
def tool_parameters_type(view: View) -> Iterator[Fact]:
    """Reported when the `type` of a definition's `parameters` is missing or not `object`.

    Arguments are always an object, so the definition contradicts every call of the tool.
    """
    for index, tool, parameters in _schemas(view):
        kind = parameters.get("type", ABSENT)
        if kind != "object":
            seen = "missing" if kind is ABSENT else quoted(kind) if isinstance(kind, str) else json_type(kind)
            yield Fact(f"the type in parameters of {_label(index, tool)} is {seen}: it must be 'object'")


@check("error", kind="tools")
def tool_properties(view: View) -> Iterator[Fact]:
    """Reported when `properties` in a definition's `parameters` is missing or no object.

    Many chat templates read it and stop, or print the tool as if it took no arguments.
    """
    for index, tool, parameters in _schemas(view):
        properties = parameters.get("properties", ABSENT)
        if not isinstance(properties, dict):
            seen = "missing" if properties is ABSENT else json_type(properties)
            where = f"properties in parameters of {_label(index, tool)}"
            yield Fact(f"{where} is {seen}: it must be an object, if need be an empty one")


@check("error", kind="tools")
def tool_required(view: View) -> Iterator[Fact]:
    """Reported when `required` in a definition's `parameters` is there and no list.

    Chat templates that mark required arguments then mark wrong ones or stop.
    """
    for index, tool, parameters in _schemas(view):
        required = parameters.get("required", [])
        if not isinstance(required, list):
            yield Fact(
                f"required in parameters of {_label(index, tool)} is {json_type(required)}: it must be a list of names"
            )


def _label(index: int, tool: Tool) -> str:
    name = tool.get("name")
    return f"tools[{index}]" if name is None or name == "" else f"tool {quoted(name)}"


def _schemas(view: View) -> Iterator[tuple[int, Tool, dict[str, Any]]]:
    """Every definition whose ``parameters`` is an object, with its index and those."""
    for index, tool in enumerate(view.tools):
        parameters = tool.get("parameters") if isinstance(tool, dict) else None
        if isinstance(parameters, dict):
            yield index, tool, parameters
