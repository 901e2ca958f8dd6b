"""The declaration of a rule, and what a rule over a record sees: the record, and its messages by columns.

The columns are computed once for each record. Nearly all records have calls of the usual form, followed by the results
of each message in order, and most rules can be decided from the columns alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, Protocol, TypeVar

from msgspec import Struct

from chatsquash.core import chat
from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Message, Severity, Tool, Violation
from chatsquash.core.text import escape

if TYPE_CHECKING:
    from chatsquash.core.model import Json, Message

Kind = Literal["tools", "record", "native", "inlined", "arguments", "log", "replies", "template"]
_OfRecord = Literal["no messages", "no tools", "unknown roles", "odd content", "odd end"]
_OfCalls = Literal["legacy calls", "odd calls", "undeclared calls", "odd arguments", "open calls"]
Feature = _OfRecord | _OfCalls | Literal["bad results", "unmatched results"]
"""What a rule may look at in a record."""
P = ParamSpec("P")
T = TypeVar("T")


class Fact(NamedTuple):
    """What a rule says is wrong; how grave that is, the rule declares once for all."""

    text: str
    at: int | None = None
    """0-based index of the message in the record, if it is about one."""
    kept: bool = False
    """Whether the session is converted all the same, since the user asked for that."""


class Rule(NamedTuple):
    """A check and its documentation."""

    code: str
    severity: Severity
    kept: Severity | None
    """Its severity where `--on-invalid keep` converts the session all the same; ``None`` for nearly all rules."""
    kind: Kind
    """When it runs: on the tools of a record alone, on any record, on a native or an inlined one, on its
    arguments where that is asked for, on a log, or on what a chat template makes of a record."""
    doc: str
    function: Callable[..., Any]
    module: str
    place: int
    looks: tuple[Feature, ...] = ()
    """It is called for records that have one of these; empty: for all."""

    def violation(self, fact: Fact) -> Violation:
        """What the rule says, with its code and its severity; what does not print of it is escaped."""
        severity = self.kept if self.kept and fact.kept else self.severity
        return Violation(severity, escape(fact.text), fact.at, self.code)

    @property
    def severities(self) -> tuple[Severity, ...]:
        """All severities that its findings have: one, and a second only where `--on-invalid keep` changes it."""
        return (self.severity, self.kept) if self.kept else (self.severity,)


RULES: list[Rule] = []


class Redefined(Protocol):
    """Tools that a session defines more than once."""

    def definition(self, message: Message, call_id: str | bytes | None, name: str) -> Tool | None:
        """The definition in force when a message made a call; ``None`` for a tool with only one."""


class View:
    """A conversation with values that several checks need, each computed once."""

    __slots__ = ("_known", "columns", "logged", "messages", "redefined", "tools")

    def __init__(
        self,
        conversation: Conversation,
        logged: list[Message] | None = None,
        redefined: Redefined | None = None,
    ) -> None:
        self.tools = conversation.tools
        """The record's tool definitions."""
        self.messages = conversation.messages
        """The record's messages."""
        self.columns = columns(self.messages)
        """The record's messages by columns."""
        self.logged = logged
        """Its messages before calls were inlined, if available."""
        self.redefined = redefined
        """Its tools that were defined more than once, if known."""
        self._known: dict[Callable[[View], Any], Any] = {}

    def once(self, work: Callable[[View], T]) -> T:
        """The result of ``work`` for this view, computed by the first call."""
        known = self._known
        if work not in known:
            known[work] = work(self)
        result: T = known[work]
        return result

    @property
    def tool_names(self) -> frozenset[str]:
        """The names that the definitions have."""
        return tool_names(self.tools)


@Last
def tool_names(tools: list[Tool]) -> frozenset[str]:
    """The names that definitions have."""
    return frozenset([name for tool in tools if (name := chat.tool_name(tool))])


def register(
    function: Callable[..., Any],
    kind: Kind,
    severity: Severity,
    kept: Severity | None = None,
    looks: tuple[Feature, ...] = (),
) -> Rule:
    """Make a function known as a rule."""
    code = function.__name__.replace("_", "-")
    doc = function.__doc__ or ""
    place = function.__code__.co_firstlineno
    known = Rule(code, severity, kept, kind, doc, function, function.__module__, place, looks)
    RULES.append(known)
    return known


def check(
    severity: Severity, kind: Kind = "native", *, looks: tuple[Feature, ...] = ()
) -> Callable[[Callable[[T], Iterator[Fact]]], Callable[[T], Iterator[Fact]]]:
    """Declare a generator of facts about a record of a kind; one that has nothing it ``looks`` at has none.

    It is given a ``View``, for the kind ``template`` a ``Trial``.
    """

    def declare(function: Callable[[T], Iterator[Fact]]) -> Callable[[T], Iterator[Fact]]:
        register(function, kind, severity, looks=looks)
        return function

    return declare


def rule(
    severity: Severity, kept: Severity | None = None, kind: Kind = "log"
) -> Callable[[Callable[P, Fact]], Callable[P, Violation]]:
    """Declare a function that says what the reader or a stage met on its way; calling it makes the finding.

    ``kept``: its severity where `--on-invalid keep` converts the session all the same.
    """

    def declare(function: Callable[P, Fact]) -> Callable[P, Violation]:
        known = register(function, kind, severity, kept)

        @wraps(function)
        def make_violation(*args: P.args, **kwargs: P.kwargs) -> Violation:
            return known.violation(function(*args, **kwargs))

        return make_violation

    return declare


class Calls(NamedTuple):
    """The calls of a record, all of which have an id of their own, a function's name, and arguments as a text."""

    counts: dict[int, int]
    """How many calls the messages have that have some, by their indices."""
    given: list[dict[str, Any]]
    """The calls themselves."""
    ids: list[str]
    names: list[str]
    arguments: list[str]


class Columns(Struct, frozen=True, gc=False):
    """The messages of a record by columns."""

    roles: list[str]
    kinds: set[type]
    """The types of their contents; ``NoneType`` where there is none."""
    last: Message | None
    """The very last one."""
    keys: set[str]
    """All that the messages have."""
    calls: Calls | None
    """``None`` where one is unusual."""
    results: list[int]
    """The indices of results."""
    given: list[Any]
    """The contents of these."""
    result_ids: list[Json]
    """What these have for the ids of their calls."""
    matched: bool
    """Whether no call is unusual, and the results of each message stand right behind it, in order.

    The very last message has none.
    """


def columns(messages: list[Message]) -> Columns:
    """The columns of messages."""
    roles: list[str] = list(map(_role, messages))
    kinds = {type(message.get("content")) for message in messages}
    keys: set[str] = set().union(*messages)
    calls = _calls_of(messages, roles) if "tool_calls" in keys else _NO_CALLS
    results = [at for at, role in enumerate(roles) if role == "tool"]
    ids = [messages[at].get("tool_call_id") for at in results]
    given = [messages[at].get("content") for at in results]
    last = messages[-1] if messages else None
    matched = are_matched(calls, results, ids, len(messages) - 1)
    return Columns(roles, kinds, last, keys, calls, results, given, ids, matched)


_role, _function, _call_id, _name, _arguments = map(itemgetter, ("role", "function", "id", "name", "arguments"))
_NO_CALLS = Calls({}, [], [], [], [])
_LIST, _OBJECT, _TEXT, _ASSISTANT = frozenset((list,)), frozenset((dict,)), frozenset((str,)), frozenset(("assistant",))


def _calls_of(messages: list[Message], roles: list[str]) -> Calls | None:
    listed: dict[int, Any] = {at: each["tool_calls"] for at, each in enumerate(messages) if "tool_calls" in each}
    if not _LIST.issuperset(map(type, listed.values())) or not _ASSISTANT.issuperset(map(roles.__getitem__, listed)):
        return None
    given = [*chain.from_iterable(listed.values())]
    try:
        functions = [*map(_function, given)]
        ids, names, arguments = [*map(_call_id, given)], [*map(_name, functions)], [*map(_arguments, functions)]
    except (KeyError, TypeError):
        return None
    are_objects = _OBJECT.issuperset(map(type, chain(given, functions)))
    are_texts = _TEXT.issuperset(map(type, chain(ids, names, arguments)))
    if not are_objects or not are_texts or "" in names or "" in ids or len(set(ids)) < len(ids):
        return None
    return Calls({at: len(calls) for at, calls in listed.items() if calls}, given, ids, names, arguments)


def are_matched(calls: Calls | None, results: list[int], ids: list[Json], last: int) -> bool:
    """Whether the results of each message but the last stand right behind it, in the order of its calls."""
    if calls is None:
        return False
    behind = [place for at, count in calls.counts.items() if at != last for place in range(at + 1, at + 1 + count)]
    return behind == results and calls.ids[: len(behind)] == ids
