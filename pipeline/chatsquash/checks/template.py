"""Rules about the text that a chat template renders from a record.

The rules only report the results of a trial; ``chatsquash.templates.worker`` renders the record and examines the text.
"""

# No ``from __future__ import annotations``: tuples compile annotations that are texts.
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from chatsquash.checks.registry import Fact, check
from chatsquash.core import chat
from chatsquash.core.model import Message
from chatsquash.core.text import escape, pluralize, quote

Kind = Literal["tool", "property", "enum", "$defs", "system", "text", "call", "result", "reasoning"]


class Expectation(NamedTuple):
    """An element of a record that its rendering should contain."""

    kind: Kind
    at: int
    """The index of the message; for a tool or part of its definition, the index of the definition."""
    number: int = 0
    """The index of a call in its message."""
    name: str = ""
    """The name of the called or defined tool."""


class Trial(NamedTuple):
    """The results of rendering a record."""

    messages: list[Message]
    text: str | None
    """The rendering; empty if it is not needed, ``None`` if the template raised an exception."""
    problem: str = ""
    """The exception."""
    sought: frozenset[Kind] = frozenset()
    """The kinds of expected elements."""
    missing: tuple[Expectation, ...] = ()
    """The expected elements that are missing from the rendering."""
    twice: tuple[Expectation, ...] = ()
    """Calls whose arguments are encoded twice: a JSON string of JSON."""
    spelled: tuple[Expectation, ...] = ()
    """Elements that are printed as Python literals."""
    nulls: tuple[str, ...] = ()
    """The effects of null or missing content."""
    flat: bool = False
    """Whether flat tool definitions are rendered differently from wrapped ones."""
    empty: bool = False
    """Whether an empty tool list is rendered differently from no list."""
    beyond: bool = False
    """Whether rendering was stopped because it exceeded a time or memory limit."""

    def missing_kinds(self, *kinds: Kind) -> list[Expectation]:
        """Return the missing elements of some kinds."""
        return [place for place in self.missing if place.kind in kinds]


@check("error", "template")
def template_error(trial: Trial) -> Iterator[Fact]:
    """Reported when the template raises an exception or exceeds `--render-time` or `--render-memory`.

    If 20 records take more than a tenth of that time, the template is no longer used, with one finding; later records
    are not rendered.
    """
    if trial.text is None:
        yield Fact(f"the template raises {escape(trial.problem)}")


@check("error", "template")
def template_tool_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when a tool definition is missing from the rendering."""
    if missing := trial.missing_kinds("tool"):
        definitions = pluralize(len(missing), "tool definition")
        yield Fact(f"{definitions} missing from the rendering: {_names(missing)}")


_PARTS: dict[Kind, str] = {"property": "argument names", "enum": "enum values", "$defs": "parts of $defs"}
"""The parts of a definition that are checked separately."""


@check("warning", "template")
def template_definition_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when parts of a tool definition are missing: arguments, `enum` values or `$defs`.

    The first 20 parts of each definition are checked.
    """
    missing_tools = {place.at for place in trial.missing_kinds("tool")}
    missing = [place for place in trial.missing_kinds(*_PARTS) if place.at not in missing_tools]
    if missing:
        counts = Counter(place.kind for place in missing)
        kinds = ", ".join(f"{words} {counts[kind]}" for kind, words in _PARTS.items() if counts[kind])
        tools = list({place.at: place for place in missing}.values())
        yield Fact(f"missing from the rendering of {pluralize(len(tools), 'definition')}: {kinds} ({_names(tools)})")


@check("error", "template")
def template_call_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when a call or its arguments are missing from the rendering."""
    for at, missing in _by_message(trial.missing_kinds("call")):
        count = len(chat.calls(trial.messages[at]))
        which = ", ".join(f"call {place.number + 1} ({quote(place.name)})" for place in missing)
        yield Fact(f"{len(missing)} of {pluralize(count, 'call')} missing from the rendering: {which}", at)


@check("error", "template")
def template_text_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when the text of a message is missing from the rendering."""
    for place in trial.missing_kinds("text"):
        message = trial.messages[place.at]
        what = "the text next to calls" if chat.has_calls(message) else f"the text of role {quote(message['role'])}"
        yield Fact(f"{what} is missing from the rendering", place.at)


@check("error", "template")
def template_system_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when a system prompt or `developer` message is missing from the rendering."""
    for place in trial.missing_kinds("system"):
        role = quote(trial.messages[place.at]["role"])
        yield Fact(f"the message of role {role} is missing from the rendering", place.at)


@check("error", "template")
def template_result_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when a tool result is missing from the rendering."""
    for place in trial.missing_kinds("result"):
        yield Fact("the result is missing from the rendering", place.at)


@check("info", "template")
def template_reasoning_lost(trial: Trial) -> Iterator[Fact]:
    """Reported when reasoning is missing from the rendering.

    Many templates drop the reasoning of earlier turns; some drop all reasoning.
    """
    if missing := trial.missing_kinds("reasoning"):
        first = f"first in messages[{missing[0].at}]"
        yield Fact(f"the reasoning of {pluralize(len(missing), 'message')} is missing from the rendering ({first})")


@check("error", "template")
def template_arguments_twice(trial: Trial) -> Iterator[Fact]:
    r"""Reported when arguments are encoded twice, as in `"{\"path\": 1}"`."""
    for at, places in _by_message(trial.twice):
        yield Fact(f"arguments are encoded twice, as JSON within a JSON string: {_names(places)}", at)


@check("error", "template")
def template_python(trial: Trial) -> Iterator[Fact]:
    """Reported when arguments or content appear as Python literals, as in `{'path': 'a'}`."""
    for at, places in _by_message(trial.spelled):
        is_call = places[0].kind == "call"
        where = "arguments are printed as Python literals" if is_call else "the content is printed as a Python literal"
        yield Fact(where, at)


@check("error", "template")
def template_null(trial: Trial) -> Iterator[Fact]:
    """Reported when null or missing content is rendered as `None` or raises an exception.

    Before 5.23, transformers passed nulls in messages on to the template; both behaviors are tried.
    """
    for text in trial.nulls:
        yield Fact(escape(text))


@check("warning", "template")
def template_tools_flat(trial: Trial) -> Iterator[Fact]:
    """Reported when flat tool definitions are rendered differently from those wrapped in `function`."""
    if trial.flat:
        yield Fact("flat tool definitions render differently than the wrapped ones that models are trained with")


@check("warning", "template")
def template_tools_empty(trial: Trial) -> Iterator[Fact]:
    """Reported when an empty tool list is rendered differently from no list."""
    if trial.empty:
        yield Fact("an empty list of tools renders differently than no list")


def _by_message(places: Iterable[Expectation]) -> list[tuple[int, list[Expectation]]]:
    by_message: dict[int, list[Expectation]] = {}
    for place in places:
        by_message.setdefault(place.at, []).append(place)
    return list(by_message.items())


def _names(places: list[Expectation]) -> str:
    names = ", ".join(quote(place.name) for place in places[:5])
    return f"{names} and {len(places) - 5} more" if len(places) > 5 else names
