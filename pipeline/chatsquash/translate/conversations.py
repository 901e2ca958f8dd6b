"""One conversation, whatever its format: read from JSON values, written as another format, and what that loses."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from msgspec.structs import replace

from chatsquash import formats
from chatsquash.core.blocks import FAILED, PROMPTS, Result
from chatsquash.core.chat import PRIVATE
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Json
from chatsquash.core.text import hint
from chatsquash.dataset import trainers
from chatsquash.formats import bodies, documents, view
from chatsquash.formats.base import DocumentFormat, Format, Tools, TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.writing import without_marks
from chatsquash.translate import logs, plain, sendable
from chatsquash.translate import losses as comparison
from chatsquash.translate.sendable import ForeignReasoning


def known_formats() -> tuple[str, ...]:
    """The names of all formats that are read."""
    return (*formats.names(), *documents.names())


def writable() -> tuple[str, ...]:
    """The names of all formats that are written."""
    return tuple(name for name in known_formats() if named(name).dump)


@cache
def named(name: str) -> Format | DocumentFormat:
    """The format of a name; raises ``UsageError`` for a name that is none."""
    if name in formats.names():
        return formats.get_format(name)
    if name in documents.names():
        return documents.get_format(name)
    raise UsageError(f"{name}: no known format; {hint(name, known_formats())}")


def is_document(name: str) -> bool:
    """Whether a format is one of documents, not of exchanges; raises ``UsageError`` for a name that is none."""
    return isinstance(named(name), DocumentFormat)


def load(obj: Json, format: str | None = None) -> Conversation:  # noqa: A002 - the word of the field
    """The conversation in a request's body, a record, an exchange or a document.

    Args:
        obj: A JSON value: a body such as ``{"messages": [...], "tools": [...]}``, a list of its turns, an exchange
            ``{"request": ..., "response": ...}`` as any logger wraps it, its response whole or streamed, or a document
            such as a client keeps.
        format: Its format, as ``chatsquash formats`` lists them; told from the value by default.

    Returns:
        Its ``turns``, each an ordered list of blocks, its ``messages`` as OpenAI chat has them, and its ``tools``.  Of
        a document with several conversations the first.

    Raises:
        UsageError: The format is not known or cannot be told, or the value is not of it.

    >>> load([{"role": "user", "content": "hi"}]).messages
    [{'role': 'user', 'content': 'hi'}]
    """
    conversation = load_all([obj], format)[0]
    turns = turns_of(conversation)
    return replace(conversation, messages=view.public(turns), turns=turns)


def load_all(
    objects: list[Json],
    format: str | None = None,  # noqa: A002 - as in ``load``
    *,
    every: bool = False,
    lines: list[int] | None = None,
    meta: Json = None,
) -> list[Conversation]:
    """Every conversation in a file, whose lines, or whose one value, these are; raises as ``load``.

    Their turns and tools are read; messages are made of turns where somebody asks ``load``.  ``lines`` are the numbers
    of these lines, from 1, where others stand between them; ``meta`` is what lies beside.  ``every``: of a history also
    the branches that others go on from, all in the order of the file.
    """
    if len(objects) == 1 and not format and (logged := logs.exchange(objects[0], None)):
        return [logged.conversation]
    name = format or recognise(objects)
    form = named(name)
    conversations: list[Conversation]
    try:
        if isinstance(form, Format):
            conversations = [_of_body(form, each, name) for each in objects]
        elif every and form.every:
            conversations = form.every(objects)
        else:
            conversations = documents.load(name, objects, lines, meta=meta)
    except TurnError as problem:
        raise UsageError(f"not {name}: {problem}") from None
    if not conversations:
        raise UsageError(f"{name}: there is no conversation in it")
    return conversations


def with_turns(conversation: Conversation) -> Conversation:
    """A conversation whose turns are made of its messages at most once; raises ``TurnError``."""
    return conversation if conversation.turns is not None else replace(conversation, turns=turns_of(conversation))


def _of_body(form: Format, value: Json, name: str) -> Conversation:
    logged = logs.exchange(value, name)
    return logged.conversation if logged else bodies.read(form, value)


def read_body(value: Json, name: str) -> tuple[Conversation, Tools]:
    """The conversation in a body that is not an exchange, and the tools in it; raises ``UsageError``."""
    form = formats.get_format(name)
    try:
        tools = bodies.tools_in(form, value, is_repeated=True)
        return bodies.read(form, value, tools), tools
    except TurnError as problem:
        raise UsageError(f"not {name}: {problem}") from None


def recognise(objects: list[Json]) -> str:
    """The format of a file; raises ``UsageError`` where nothing is known of it, or where it may be of two."""
    try:
        fitting = documents.recognise(objects)
    except TurnError as problem:
        raise UsageError(f"{problem}; choose with --from") from None
    if fitting:
        return fitting.name
    seen = [bodies.recognise(each) for each in objects[:50]]
    whole = formats.recognise_file(seen)
    if whole.name is None:
        raise UsageError(f"{whole.why}; documents that are known: {', '.join(documents.names())}; choose with --from")
    return whole.name


def dump(
    conversation: Conversation,
    format: str,  # noqa: A002
    *,
    sendable: bool = False,
    foreign_reasoning: ForeignReasoning = "drop",
) -> Json:
    """A conversation in a format: a body with turns, system prompt and tools, or a document.

    What the format cannot hold is left out: ``losses`` says what.  ``sendable`` makes it what the service takes, where
    that refuses something that its format can hold; ``foreign_reasoning`` says what becomes of reasoning then that the
    service has not signed.  Raises ``UsageError`` for a format that is not known or not written, or has no service, and
    for a conversation that none of its documents can stand for.
    """
    if sendable:
        return request(conversation, format, foreign_reasoning).body
    if foreign_reasoning != "drop":
        raise UsageError("foreign_reasoning has no effect without sendable: add it")
    form = _writer(format)
    _refuse_none(conversation)
    try:
        return form.dump(conversation)
    except TurnError as problem:
        raise UsageError(f"{format}: {problem}") from None


def request(conversation: Conversation, format: str, foreign_reasoning: ForeignReasoning = "drop") -> sendable.Request:  # noqa: A002
    """What a service takes of a conversation, and what was changed for that; raises as ``dump``."""
    if foreign_reasoning not in get_args(ForeignReasoning):
        raise UsageError(f"{foreign_reasoning}: foreign_reasoning is {' or '.join(get_args(ForeignReasoning))}")
    form = _writer(format)
    _refuse_none(conversation)
    try:
        return sendable.request(form, conversation, foreign_reasoning)
    except TurnError as problem:
        raise UsageError(f"{format}: {problem}") from None


def dump_all(branches: list[Conversation], format: str) -> Json:  # noqa: A002
    """The branches of a history as one document, for a format that ``holds_branches``; raises as ``dump``."""
    for conversation in branches:
        _refuse_none(conversation)
    return _writer(format).dump_all(branches)


def holds_branches(format: str) -> bool:  # noqa: A002
    """Whether a document of a format may hold several branches."""
    form = _writer(format)
    return isinstance(form, DocumentFormat) and form.dump_all is not None


@cache
def _writer(name: str) -> Any:
    """The format to write; raises ``UsageError`` for a name that is none, and for a format that is only read."""
    if name not in known_formats():
        if name != "openai":
            trainers.refuse_as_value("--to", name)
        raise UsageError(f"{name}: no known format; {hint(name, writable())}")
    form = named(name)
    if not form.dump:
        raise UsageError(f"{name}: is read only; written are {', '.join(writable())}")
    return form


def _refuse_none(conversation: Conversation) -> None:
    """Raise ``UsageError`` for what is no conversation."""
    try:
        _ = turns_of(conversation)
    except TurnError as problem:
        raise UsageError(str(problem)) from None
    if not isinstance(conversation.tools, list):
        raise UsageError("tools is not a list")


def losses(conversation: Conversation, format: str) -> comparison.Losses:  # noqa: A002
    """The paths at which a conversation differs from what the format's own readers see of it once it is written.

    ``kept_for_chatsquash`` of the list has the paths that such readers miss and ``load`` does not.
    """
    return lost_of_dump([conversation], dump(conversation, format), format)[0]


def loss_of(conversation: Conversation, document: Json, format: str) -> comparison.Losses:  # noqa: A002
    """What a document in a format does not hold of a conversation that it was made of."""
    return lost_of_all([conversation], document, format)[0]


def lost_of_dump(branches: list[Conversation], document: Json, format: str) -> list[comparison.Losses]:  # noqa: A002
    """What a document in a format does not hold of the conversations that it was made of, and not fitted since.

    It is measured by reading the document, but for conversations that are so plain that it is known.
    """
    form = named(format)
    paths = plain.plain_losses(branches[0], form) if len(branches) == 1 else None
    tools = branches[0].tools
    if paths is None or not all(isinstance(tool, dict) and PRIVATE not in tool for tool in tools):
        return lost_of_all(branches, document, format)
    if isinstance(form, Format):
        written = bodies.tools_in(form, document).functions
    elif form.defined_tools:
        written = form.defined_tools(document)
    elif form.HAS_TOOLS:
        return lost_of_all(branches, document, format)
    else:
        written = []
    return [comparison.Losses([*paths, *comparison.of_tools(tools, written)])]


def lost_of_all(branches: list[Conversation], document: Json, format: str) -> list[comparison.Losses]:  # noqa: A002
    """The same for a document that holds several conversations."""
    read = load_all([document], format, every=True)
    differences = [comparison.differences(*pair) for pair in zip(branches, read, strict=True)]
    if not any(map(_may_be_marked, branches)):
        return list(map(comparison.Losses, differences))
    seen = load_all([without_marks(document)], format, every=True)
    missed = [comparison.differences(*three) for three in zip(branches, seen, read, strict=True)]
    return [
        comparison.Losses(ours, [path for path in paths if path not in ours])
        for ours, paths in zip(differences, missed, strict=True)
    ]


def _may_be_marked(conversation: Conversation) -> bool:
    """Whether something is in a conversation for which some formats have no place but a mark of ours."""
    leads = True
    for turn in turns_of(conversation):
        leads = leads and turn.role in PROMPTS
        if turn.instructions or (turn.role in PROMPTS and not leads):
            return True
        if turn.role == "tool" and any(type(block) is Result and block.outcome in FAILED for block in turn.blocks):
            return True
    return False


def why_none(value: Json, form: str | None) -> str | None:
    """Why a value is no conversation of a format, or of any; ``None`` for one."""
    try:
        load_all([value], form)
    except UsageError as problem:
        return str(problem)
    return None
