"""How a rule is declared, and what a rule over a record sees."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar

from pipeline import chat, codec
from pipeline.model import Conversation, Found, Json, Message, Severity, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Kind = Literal["tools", "record", "native", "inlined", "log", "template"]
P = ParamSpec("P")
T = TypeVar("T")

SHOWN = 80  # characters of a name or an id from a log that a finding shows


class Rule(NamedTuple):
    """A check and its documentation."""

    code: str
    severities: tuple[Severity, ...]
    kind: Kind
    """When it runs: on the tools of a record alone, on any record, on a native or an inlined one, on a log, or on what
    a chat template makes of a record."""
    doc: str
    function: Callable[..., Any]
    module: str
    place: int


RULES: list[Rule] = []


class Block(NamedTuple):
    """An assistant message with calls, and the tool results up to the next assistant message."""

    at: int
    """Index of the assistant message."""
    calls: list[dict[str, Any]]
    results: list[tuple[int, Message]]
    """Messages of role ``tool`` with their indices."""


@dataclass(frozen=True)
class View:
    """A conversation and what several checks want to know of it, worked out once."""

    conversation: Conversation
    logged: list[Message] | None = None
    """Its messages before calls were inlined, where they are at hand."""
    _known: dict[Callable[[View], Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, work: Callable[[View], T]) -> T:
        """What ``work`` makes of this view, worked out at the first call only."""
        if work not in self._known:
            self._known[work] = work(self)
        known: T = self._known[work]
        return known

    @property
    def messages(self) -> list[Message]:
        """The record's messages."""
        return self.conversation.messages

    @property
    def tools(self) -> list[Tool]:
        """The record's tool definitions."""
        return self.conversation.tools

    @cached_property
    def tool_names(self) -> set[str]:
        """The names that the definitions have."""
        return {name for tool in self.tools if (name := chat.tool_name(tool))}

    @cached_property
    def blocks(self) -> list[Block]:
        """Every assistant message with calls that are objects, and what answers it."""
        found: list[Block] = []
        current: Block | None = None
        for at, message in enumerate(self.messages):
            if message.get("role") == "assistant":
                calls = chat.calls(message)
                current = Block(at, calls, []) if calls else None
                found += [current] if current else []
            elif message.get("role") == "tool" and current is not None:
                current.results.append((at, message))
        return found


def register(function: Callable[..., Any], kind: Kind, severities: tuple[Severity, ...]) -> str:
    """Make a function known as a rule; returns its code."""
    code = function.__name__.replace("_", "-")
    doc = function.__doc__ or ""
    place = function.__code__.co_firstlineno
    RULES.append(Rule(code, severities, kind, doc, function, function.__module__, place))
    return code


def check(
    *severities: Severity, kind: Kind = "native"
) -> Callable[[Callable[[View], Iterator[Found]]], Callable[[View], Iterator[Found]]]:
    """Declare a generator of facts about a record of a kind."""

    def declare(function: Callable[[View], Iterator[Found]]) -> Callable[[View], Iterator[Found]]:
        register(function, kind, severities)
        return function

    return declare


def rule(*severities: Severity) -> Callable[[Callable[P, Found]], Callable[P, Found]]:
    """Declare a function that makes the finding which the reader or a stage met on its way."""

    def declare(function: Callable[P, Found]) -> Callable[P, Found]:
        code = register(function, "log", severities)

        @wraps(function)
        def made(*args: P.args, **kwargs: P.kwargs) -> Found:
            return function(*args, **kwargs)._replace(code=code)

        return made

    return declare


def error(text: str, at: int | None = None) -> Found:
    """A fact that makes the record wrong to train on as it stands."""
    return Found("error", text, at)


def warning(text: str, at: int | None = None) -> Found:
    """A fact that somebody should look at."""
    return Found("warning", text, at)


def info(text: str) -> Found:
    """A fact that explains the output."""
    return Found("info", text)


def escaped(text: str) -> str:
    """Text for a finding: control, bidi and other characters that do not print, and lone surrogates, as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def quoted(value: Json) -> str:
    """A name, an id or any other value from a log for a finding: in single quotes, escaped and cut short."""
    text = value if isinstance(value, str) else reprlib.repr(value)
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return "'" + escaped(shown.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def id_key(call_id: Json) -> str | bytes | None:
    """An id as something to look up; ``None`` for an id that is missing, null or empty."""
    if isinstance(call_id, str) or call_id is None:
        return call_id or None
    return codec.dumps(call_id)


def json_type(value: Json) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def counted(count: int, one: str, many: str = "") -> str:
    """``1 call``, ``2 calls``, ``2 entries``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
