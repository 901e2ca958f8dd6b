"""The declaration of rules, and the view of a record that they check: the record, and its messages in columns.

The columns are computed once per record. Nearly all records have calls of the usual form, followed by the results in
order, so most rules can be decided from the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar

from msgspec import Struct

from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Message, Severity, Tool, Violation
from chatsquash.core.text import escape

if TYPE_CHECKING:
    from chatsquash.core.model import Json, Message

Kind = Literal["tools", "record", "native", "inlined", "arguments", "log", "replies", "template"]
_OfRecord = Literal["no messages", "no tools", "unknown roles", "odd content", "odd end"]
_OfCalls = Literal["legacy calls", "odd calls", "undeclared calls", "odd arguments", "open calls"]
Feature = _OfRecord | _OfCalls | Literal["bad results", "unmatched results", "odd definitions"]
"""A feature of records that a rule may depend on."""
P = ParamSpec("P")
T = TypeVar("T")


class Fact(Struct, frozen=True):
    """A fact that a rule reports; the rule declares the severity."""

    text: str
    at: int | None = None
    """The 0-based index of the message in the record, if one is concerned."""
    is_kept: bool = False
    """Whether the session is converted anyway, because the user requested it."""


class Rule(Struct, frozen=True):
    """A rule and its documentation."""

    code: str
    severity: Severity
    kept_severity: Severity | None
    """The severity if `--on-invalid keep` converts the session anyway; ``None`` for most rules."""
    kind: Kind
    """When it runs: on the tools of a record, on any record, on a native or an inlined one, on arguments if
    requested, on a log, on replies, or on a record rendered by a chat template.
    """
    doc: str
    function: Callable[..., Any]
    module: str
    place: int
    features: tuple[Feature, ...] = ()
    """Features of which a record must have at least one; empty for all records."""

    def violation(self, fact: Fact) -> Violation:
        """Return a fact with the code and severity of the rule, and with unprintable characters escaped."""
        severity = self.kept_severity if self.kept_severity and fact.is_kept else self.severity
        return Violation(severity, escape(fact.text), fact.at, self.code)

    @property
    def severities(self) -> tuple[Severity, ...]:
        """The severities of its findings: one, or two if `--on-invalid keep` changes it."""
        return (self.severity, self.kept_severity) if self.kept_severity else (self.severity,)


RULES: list[Rule] = []


class Redefined(Protocol):
    """The tools that a session defines more than once."""

    def definition(self, message: Message, call_id: str | bytes | None, name: str) -> Tool | None:
        """Return the definition in force when a message made a call, or ``None`` for a tool with only one."""


class View:
    """A conversation, with values that several checks need, each computed once."""

    __slots__ = ("_known", "columns", "logged_messages", "messages", "redefined", "tools")

    def __init__(
        self,
        conversation: Conversation,
        logged_messages: list[Message] | None = None,
        redefined: Redefined | None = None,
    ) -> None:
        self.tools = conversation.tools
        """The record's tool definitions."""
        self.messages = conversation.messages
        """The record's messages."""
        self.columns = columns(self.messages)
        """The record's messages by columns."""
        self.logged_messages = logged_messages
        """Its messages before calls were inlined, if available."""
        self.redefined = redefined
        """Its tools that were defined more than once, if known."""
        self._known: dict[Callable[[View], Any], Any] = {}

    def once(self, work: Callable[[View], T]) -> T:
        """Return the result of ``work`` for this view, computed on the first call."""
        known = self._known
        if work not in known:
            known[work] = work(self)
        result: T = known[work]
        return result

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tool definitions."""
        return tool_names(self.tools)


@Last
def tool_names(tools: list[Tool]) -> frozenset[str]:
    """Return the names of tool definitions."""
    # As in ``chat.tool_name``, whose calls would take most of the time.
    names = [name for tool in tools if isinstance(tool, dict) and isinstance(name := tool.get("name"), str)]
    return frozenset(filter(None, names))


def register(
    function: Callable[..., Any],
    kind: Kind,
    severity: Severity,
    kept_severity: Severity | None = None,
    looks: tuple[Feature, ...] = (),
) -> Rule:
    """Register a function as a rule."""
    code = function.__name__.replace("_", "-")
    doc = function.__doc__ or ""
    place = function.__code__.co_firstlineno
    known = Rule(code, severity, kept_severity, kind, doc, function, function.__module__, place, looks)
    RULES.append(known)
    return known


def check(
    severity: Severity, kind: Kind = "native", *, looks: tuple[Feature, ...] = ()
) -> Callable[[Callable[[T], Iterator[Fact]]], Callable[[T], Iterator[Fact]]]:
    """Declare a rule over records: a generator of facts about a ``View``, or a ``Trial`` for the kind ``template``."""

    def declare(function: Callable[[T], Iterator[Fact]]) -> Callable[[T], Iterator[Fact]]:
        register(function, kind, severity, looks=looks)
        return function

    return declare


def rule(
    severity: Severity, kept_severity: Severity | None = None, kind: Kind = "log"
) -> Callable[[Callable[P, Fact]], Callable[P, Violation]]:
    """Declare a rule that the reader or a stage applies; calling the function returns the finding.

    Args:
        severity: The severity of the findings.
        kept_severity: The severity if `--on-invalid keep` converts the session anyway.
        kind: When the rule runs.
    """

    def declare(function: Callable[P, Fact]) -> Callable[P, Violation]:
        known = register(function, kind, severity, kept_severity)

        @wraps(function)
        def make_violation(*args: P.args, **kwargs: P.kwargs) -> Violation:
            return known.violation(function(*args, **kwargs))

        return make_violation

    return declare


class Calls(Struct, frozen=True):
    """The calls of a record, if each has a distinct id, the name of a function, and arguments in a string."""

    counts: dict[int, int]
    """The number of calls by message index, for messages with calls."""
    objects: list[dict[str, Any]]
    """The call objects."""
    ids: list[str]
    names: list[str]
    arguments: list[str]


class Columns(Struct, frozen=True, gc=False):
    """The messages of a record in columns."""

    roles: list[str]
    kinds: set[type]
    """The types of content; ``NoneType`` for missing content."""
    last: Message | None
    """The last message."""
    keys: set[str]
    """The members of all messages."""
    calls: Calls | None
    """The calls; ``None`` if any call is unusual."""
    results: list[int]
    """The indices of tool messages."""
    result_contents: list[Any]
    """The content of each tool message."""
    result_ids: list[Json]
    """The call id of each tool message."""
    are_matched: bool
    """Whether no call is unusual and the results of each message directly follow it in order.

    The last message must not have results.
    """


def columns(messages: list[Message]) -> Columns:
    """Return messages in columns."""
    if not messages:  # when only definitions are checked
        return _NO_COLUMNS
    roles: list[str] = []
    kinds: set[type] = set()
    keys: set[str] = set().union(*messages)
    results: list[int] = []
    contents: list[Json] = []
    ids: list[Json] = []
    counts: dict[int, int] = {}
    objects: list[Json] = []
    are_usual = True
    for at, message in enumerate(messages):
        role, content = message["role"], message.get("content")
        roles.append(role)
        kinds.add(type(content))
        if role == "tool":
            results.append(at)
            contents.append(content)
            ids.append(message.get("tool_call_id"))
        if "tool_calls" in message:
            of_message = message["tool_calls"]
            if type(of_message) is not list or role != "assistant":
                are_usual = False
            elif of_message:
                counts[at] = len(of_message)
                objects += of_message
    calls = _calls_of(counts, objects) if are_usual else None
    is_matched = are_matched(calls, results, ids, len(messages) - 1)
    return Columns(roles, kinds, messages[-1], keys, calls, results, contents, ids, is_matched)


_NO_COLUMNS = Columns([], set(), None, set(), Calls({}, [], [], [], []), [], [], [], are_matched=True)
_ONLY_TEXT = frozenset({str})


def _calls_of(counts: dict[int, int], objects: list[Json]) -> Calls | None:
    """Return calls in columns, or ``None`` if any has an unusual form."""
    if not objects:
        return Calls(counts, [], [], [], [])
    ids: list[str] = []
    names: list[str] = []
    arguments: list[str] = []
    try:
        for each in objects:
            function = each["function"]
            ids.append(each["id"])
            names.append(function["name"])
            arguments.append(function["arguments"])
    except (KeyError, TypeError):  # only objects have members
        return None
    if not _ONLY_TEXT.issuperset(map(type, ids + names + arguments)) or "" in ids or "" in names:
        return None
    return Calls(counts, objects, ids, names, arguments) if len(set(ids)) == len(ids) else None


def are_matched(calls: Calls | None, results: list[int], ids: list[Json], last: int) -> bool:
    """Return whether the results of each message except the last directly follow it, in the order of its calls."""
    if calls is None:
        return False
    places: list[int] = []
    for at, count in calls.counts.items():
        if at != last:
            places += range(at + 1, at + 1 + count)
    return places == results and calls.ids[: len(places)] == ids
