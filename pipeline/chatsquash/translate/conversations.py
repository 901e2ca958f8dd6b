"""Reads a conversation from JSON values, writes it in another format, and measures the losses."""

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
    """Return the names of all readable formats."""
    return (*formats.names(), *documents.names())


def writable_formats() -> tuple[str, ...]:
    """Return the names of all writable formats."""
    return tuple(name for name in known_formats() if named_format(name).dump)


@cache
def named_format(name: str) -> Format | DocumentFormat:
    """Return the format with a name; raise ``UsageError`` for an unknown name."""
    if name in formats.names():
        return formats.get_format(name)
    if name in documents.names():
        return documents.get_format(name)
    raise UsageError(f"{name}: unknown format; {hint(name, known_formats())}")


def is_document(name: str) -> bool:
    """Return whether a format is a document format, not a request format; raise ``UsageError`` for an unknown name."""
    return isinstance(named_format(name), DocumentFormat)


def load(obj: Json, format: str | None = None) -> Conversation:  # noqa: A002 - the word of the field
    """Load the conversation in a request body, a record, an exchange or a document.

    Args:
        obj: A JSON value: a body such as ``{"messages": [...], "tools": [...]}``, a list of turns, an exchange
            ``{"request": ..., "response": ...}`` in the envelope of any supported logger, with a complete or streamed
            response, or a document such as a client's history.
        format: The name of a format that ``chatsquash formats`` lists; detected by default.

    Returns:
        The conversation with ``turns`` (ordered lists of blocks), ``messages`` in OpenAI chat format, and ``tools``.
        If a document contains several conversations, the first one is returned.

    Raises:
        UsageError: The format is unknown or cannot be detected, or the value does not match it.

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
    """Load every conversation of a file, with turns and tools; only ``load`` also adds messages.

    Args:
        objects: The JSON values of the lines of the file, or its single value.
        format: The name of the format; detected by default.
        every: Also return the branches of a history that other branches continue, in the order of the file.
        lines: The line numbers of ``objects``, from 1, if other lines were skipped.
        meta: The content of the companion file, for formats that have one.

    Raises:
        UsageError: As for ``load``.
    """
    if len(objects) == 1 and not format and (exchange := logs.exchange(objects[0], None)):
        return [exchange.conversation]
    name = format or recognise(objects)
    form = named_format(name)
    conversations: list[Conversation]
    try:
        if isinstance(form, Format):
            conversations = [_read_object(form, each, name) for each in objects]
        elif every and form.every:
            conversations = form.every(objects)
        else:
            values = documents.load(name, objects, lines, meta=meta)
            conversations = [replace(each, source=name) for each in values]
    except TurnError as problem:
        raise UsageError(f"not {name}: {problem}") from None
    if not conversations:
        raise UsageError(f"{name}: no conversation found")
    return conversations


def with_turns(conversation: Conversation) -> Conversation:
    """Return a conversation with its turns, built from its messages if necessary; may raise ``TurnError``."""
    return conversation if conversation.turns is not None else replace(conversation, turns=turns_of(conversation))


def _read_object(form: Format, value: Json, name: str) -> Conversation:
    exchange = logs.exchange(value, name)
    return exchange.conversation if exchange else bodies.read(form, value)


def read_body(value: Json, name: str) -> tuple[Conversation, Tools]:
    """Return the conversation and the tools in a request body that is not an exchange; may raise ``UsageError``."""
    form = formats.get_format(name)
    try:
        tools = bodies.tools_in(form, value, is_repeated=True)
        return bodies.read(form, value, tools), tools
    except TurnError as problem:
        raise UsageError(f"not {name}: {problem}") from None


def recognise(objects: list[Json]) -> str:
    """Detect the format of a file; raise ``UsageError`` if no format or more than one matches."""
    try:
        document_format = documents.recognise(objects)
    except TurnError as problem:
        raise UsageError(f"{problem}; choose with --from") from None
    if document_format:
        return document_format.name
    seen = [bodies.recognise(each) for each in objects[:50]]
    recognition = formats.recognise_file(seen)
    if recognition.name is None:
        if samples := next(filter(None, map(formats.describe_samples, objects[:1])), None):
            raise UsageError(f"{samples}, not conversations; convert the logs with --sample-shape messages")
        raise UsageError(f"{recognition.why}; supported documents: {', '.join(documents.names())}; choose with --from")
    return recognition.name


def dump(
    conversation: Conversation,
    format: str,  # noqa: A002
    *,
    sendable: bool = False,
    foreign_reasoning: ForeignReasoning = "drop",
) -> Json:
    """Write a conversation in a format: a body with turns, system prompt and tools, or a document.

    Content that the format cannot express is omitted; ``losses`` lists it.

    Args:
        conversation: The conversation.
        format: The name of a writable format.
        sendable: Adapt the body to the service, which may reject content that its format can express.
        foreign_reasoning: With ``sendable``, whether reasoning that the service has not signed is dropped or
            becomes text.

    Raises:
        UsageError: The format is unknown, cannot be written or has no service, or cannot express the conversation.
    """
    if sendable:
        return request(conversation, format, foreign_reasoning).body
    if foreign_reasoning != "drop":
        raise UsageError("foreign_reasoning has no effect without sendable; add it")
    form = _writer(format)
    _require_conversation(conversation)
    try:
        return form.dump(conversation)
    except TurnError as problem:
        raise UsageError(f"{format}: {problem}") from None


def request(conversation: Conversation, format: str, foreign_reasoning: ForeignReasoning = "drop") -> sendable.Request:  # noqa: A002
    """Return a conversation adapted to a service, and the changes made; raises like ``dump``."""
    if foreign_reasoning not in get_args(ForeignReasoning):
        known = " or ".join(get_args(ForeignReasoning))
        raise UsageError(f"foreign_reasoning {foreign_reasoning!r}: unknown value; expected {known}")
    form = _writer(format)
    _require_conversation(conversation)
    try:
        return sendable.request(form, conversation, foreign_reasoning)
    except TurnError as problem:
        raise UsageError(f"{format}: {problem}") from None


def dump_all(branches: list[Conversation], format: str) -> Json:  # noqa: A002
    """Write the branches of a history as one document; the format must support branches.  Raises like ``dump``."""
    for conversation in branches:
        _require_conversation(conversation)
    return _writer(format).dump_all(branches)


def supports_branches(format: str) -> bool:  # noqa: A002
    """Return whether a document of a format may contain several branches."""
    form = _writer(format)
    return isinstance(form, DocumentFormat) and form.dump_all is not None


def nest(family: list[tuple[int, Conversation, Json]], format: str) -> Json:  # noqa: A002
    """Embed the documents of sub-agents in that of the first conversation; see ``DocumentFormat.nest``."""
    return _writer(format).nest(family)


def supports_subagents(format: str) -> bool:  # noqa: A002
    """Return whether a document of a format may contain sub-agents."""
    form = _writer(format)
    return isinstance(form, DocumentFormat) and form.nest is not None


def writes_lines(format: str) -> bool:  # noqa: A002
    """Return whether a document of a format is a file of JSON lines."""
    form = _writer(format)
    return isinstance(form, DocumentFormat) and form.LINES


@cache
def _writer(name: str) -> Any:
    """Return a writable format; raise ``UsageError`` for an unknown name or a format that is only read."""
    if name not in known_formats():
        if name != "openai":
            trainers.refuse_as_value("--to", name)
        raise UsageError(f"{name}: unknown format; {hint(name, writable_formats())}")
    form = named_format(name)
    if not form.dump:
        raise UsageError(f"{name}: can be read but not written; expected one of {', '.join(writable_formats())}")
    return form


def _require_conversation(conversation: Conversation) -> None:
    """Raise ``UsageError`` unless the messages and tools of a conversation have the expected types."""
    try:
        _ = turns_of(conversation)
    except TurnError as problem:
        raise UsageError(str(problem)) from None
    if not isinstance(conversation.tools, list):
        raise UsageError("tools is not a list")


def losses(conversation: Conversation, format: str) -> comparison.Losses:  # noqa: A002
    """Return the paths of everything that other readers of a format lose when a conversation is written in it.

    Paths that ``load`` restores, because chatsquash wrote a mark for them, are in the list's ``kept_for_chatsquash``.
    """
    return losses_of_dump([conversation], dump(conversation, format), format)[0]


def losses_in(conversation: Conversation, document: Json, format: str) -> comparison.Losses:  # noqa: A002
    """Return the losses of a document compared with the conversation that it was written from."""
    return measured_losses([conversation], document, format)[0]


def losses_of_dump(branches: list[Conversation], document: Json, format: str) -> list[comparison.Losses]:  # noqa: A002
    """Return the losses of a document as ``dump`` returned it, one list per branch.

    For plain conversations, they are known from the format's declaration; others are measured.
    """
    form = named_format(format)
    paths = plain.plain_losses(branches[0], form) if len(branches) == 1 else None
    tools = branches[0].tools
    if paths is None or not all(isinstance(tool, dict) and PRIVATE not in tool for tool in tools):
        return measured_losses(branches, document, format)
    if isinstance(form, Format):
        definitions = bodies.tools_in(form, document).functions
    elif form.defined_tools:
        definitions = form.defined_tools(document)
    elif form.HAS_TOOLS:
        return measured_losses(branches, document, format)
    else:
        definitions = []
    return [comparison.Losses([*paths, *comparison.tool_differences(tools, definitions)])]


def measured_losses(branches: list[Conversation], document: Json, format: str) -> list[comparison.Losses]:  # noqa: A002
    """Read a document again and return its losses, one list per branch."""
    reread = load_all([document], format, every=True)
    all_differences = [comparison.differences(*pair) for pair in zip(branches, reread, strict=True)]
    if not any(map(_may_be_marked, branches)):
        return list(map(comparison.Losses, all_differences))
    unmarked = load_all([without_marks(document)], format, every=True)
    public_differences = [comparison.differences(*three) for three in zip(branches, unmarked, reread, strict=True)]
    return [
        comparison.Losses(differing, [path for path in paths if path not in differing])
        for differing, paths in zip(all_differences, public_differences, strict=True)
    ]


def _may_be_marked(conversation: Conversation) -> bool:
    """Return whether a conversation contains something that some formats can only express by a mark of chatsquash."""
    leads = True
    for turn in turns_of(conversation):
        leads = leads and turn.role in PROMPTS
        if turn.instructions or (turn.role in PROMPTS and not leads):
            return True
        if turn.role == "tool" and any(type(block) is Result and block.outcome in FAILED for block in turn.blocks):
            return True
    return False


def explain_mismatch(value: Json, form: str | None) -> str | None:
    """Return why a value is not a conversation of a format, or of any, or ``None`` if it is one."""
    try:
        load_all([value], form)
    except UsageError as problem:
        return str(problem)
    return None
