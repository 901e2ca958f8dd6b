"""OpenTelemetry's GenAI conventions: messages in the attributes of spans, events and log records."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio, reasoning
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Conversation, Json, Message, OriginReply, Tool
from chatsquash.formats.base import TurnError, expect_list
from chatsquash.formats.evidence import (
    LoggedTurn,
    Unread,
    line_numbers,
    load_conversation,
    origin_of,
    with_origin,
)
from chatsquash.formats.exports.otel import flattened
from chatsquash.formats.exports.otel.attributes import (
    INPUT,
    NESTING,
    OUTPUT,
    SYSTEM,
    TOOLS,
    Evaluations,
    Holder,
    holders,
)
from chatsquash.formats.exports.otel.messages import content, convert
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, as_list, objects, without_prefixes
from chatsquash.formats.values import members as members_of

NAME = "otel"
HAS_TOOLS = True
_BEGINNINGS = ("gen_ai.", "ai.prompt", "ai.response.")
MEMBERS = ("attributes", *NESTING, *_BEGINNINGS, "ai.prompt.")

_MESSAGE_ATTRIBUTES = (INPUT, OUTPUT, SYSTEM)
_LEVELS = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))
"""The members for the nested lists of a payload, outermost first."""


def fits(values: list[Json]) -> str | None:
    """Check for payloads with spans or logs, or for attributes with GenAI names."""
    for value in values:
        if isinstance(value, dict) and value.keys() & {"resourceSpans", "resourceLogs"}:
            return "resourceSpans" if "resourceSpans" in value else "resourceLogs"
    try:
        names = (name for holder in holders(values, line_numbers(values, None)) for name in holder.attributes)
        name = next((name for name in names if name.startswith(_BEGINNINGS)), None)
    except (TurnError, RecursionError):
        return None
    return f"the attribute {name}" if name else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return a conversation for each span or record with messages, unless another conversation continues it."""
    unread = Unread()
    try:
        every = list(holders(values, line_numbers(values, lines)))
        with_messages = [each for each in every if _has_messages(each)]
        # The AI SDK repeats the messages of nested spans in an outer span, which is needed only without the nested
        # spans.
        with_messages = with_messages or [each for each in every if flattened.has_prompt(each.attributes)]
        longest = _longest(_span_conversations(with_messages, Evaluations(every), unread))
    except RecursionError:  # attributes may be nested to any depth
        raise TurnError("nested too deeply") from None
    if not with_messages and not all(map(_is_blank, values)):
        raise TurnError(f"no attribute contains messages: {INPUT} and {OUTPUT} were not recorded")
    for holder in with_messages:
        holder.rest(unread)
    return [with_origin(each, id=str(place + 1), unread=unread.counts_for(place)) for place, each in enumerate(longest)]


def _has_messages(holder: Holder) -> bool:
    return _is_conventional(holder) or flattened.has_messages(holder.attributes)


def _is_conventional(holder: Holder) -> bool:
    """Return whether the messages are in attributes that the conventions define."""
    return bool(holder.attributes.keys() & set(_MESSAGE_ATTRIBUTES))


def _is_blank(value: Json) -> bool:
    """Return whether a payload has neither spans nor records; exporters sometimes send such payloads."""
    is_payload = isinstance(value, dict) and value.keys() <= {name for name, *_ in _LEVELS}
    return is_payload and not any(_has_items(value, *level) for level in _LEVELS)


def _has_items(holder: Json, name: str, *below: str) -> bool:
    """Return whether any innermost list has items, or any level of the nested lists is not a list."""
    items = holder.get(name) or [] if isinstance(holder, dict) else None
    if not isinstance(items, list):
        return True
    return any(_has_items(each, *below) for each in items) if below else bool(items)


def _span_conversations(with_messages: list[Holder], evaluations: Evaluations, unread: Unread) -> list[Conversation]:
    """Return the conversations of all spans.

    Spans in formats older than the conventions are counted as unread if their messages are truncated.

    Raises:
        TurnError: if a span is malformed, or all spans have truncated messages
    """
    converted, cut = list[Conversation](), list[TurnError]()
    for holder in with_messages:
        try:
            converted += list(_conversations(holder, evaluations))
        except TurnError as problem:
            if _is_conventional(holder):
                raise
            cut.append(problem)
    if cut and not converted:
        raise cut[0]
    for each in cut:
        unread.count(f"span ({each})")
    return converted


def _longest(converted: list[Conversation]) -> list[Conversation]:
    """Return the conversations that are neither prefixes nor repetitions of another conversation.

    The replies of their prefixes are added.  Conversations that share a reply with an earlier one are branches.
    """
    encoded = [list(map(_identity, each.messages)) for each in converted]
    chains = list(map(_chain, encoded))
    ends: dict[bytes, list[Conversation]] = {}
    for chain, each in zip(chains, converted, strict=True):
        if chain:
            ends.setdefault(chain[-1], []).append(each)
    longest: list[Conversation] = []
    names_by_prefix: dict[tuple[str | None, bytes], str] = {}
    for place in without_prefixes(encoded):
        if not encoded[place]:
            continue
        prefixes = [(origin_of(converted[place]).session_id, digest) for digest in chains[place]]
        parents = [names_by_prefix[key] for key in prefixes if key in names_by_prefix and key[1] in ends]
        beginnings = [each for digest in chains[place] for each in ends.get(digest, ())]
        longest.append(_with(converted[place], beginnings, parents[-1] if parents else None))
        for key in prefixes:
            names_by_prefix.setdefault(key, str(len(longest)))
    return longest


def _identity(message: Message) -> bytes:
    """Return a key for a message, which copies in later requests share even if arguments are formatted differently."""
    members: Object = {name: value for name, value in message.items() if name not in (PRIVATE, *reasoning.MEMBERS)}
    if calls := objects(members.get("tool_calls")):
        functions = [(call.get("id"), members_of(call.get("function"))) for call in calls]
        members["tool_calls"] = [[own, each.get("name"), _arguments(each.get("arguments"))] for own, each in functions]
    return jsonio.dumps({**members, "content": members.get("content") or None}, sort_keys=True)


def _arguments(spelled: Json) -> Json:
    return jsonio.value(spelled, spelled) if isinstance(spelled, str) else spelled


def _chain(messages: list[bytes]) -> list[bytes]:
    """Return a digest of each prefix of a conversation."""
    digests, before = list[bytes](), b""
    for message in messages:
        before = xxh3_128_digest(before + message)
        digests.append(before)
    return digests


def _with(conversation: Conversation, beginnings: list[Conversation], parent: str | None) -> Conversation:
    """Add the replies and times of the conversations that are prefixes of a conversation."""
    replies: dict[int | None, OriginReply] = {}
    for reply in (reply for each in beginnings for reply in origin_of(each).replies):
        replies.setdefault(reply.at, reply)
    times = [
        time
        for each in beginnings
        for time in (origin_of(each).started_at, origin_of(each).ended_at)
        if time is not None
    ]
    times_of = {"started_at": min(times), "ended_at": max(times)} if times else {}
    kind = "branch" if parent else "main"
    complete = structs.replace(conversation, messages=_with_reasoning(conversation.messages, beginnings))
    return with_origin(complete, replies=tuple(replies.values()), **times_of, kind=kind, parent=parent)


def _with_reasoning(messages: list[Message], beginnings: list[Conversation]) -> list[Message]:
    """Restore the reasoning of replies that later requests repeat without it."""
    with_reasoning = list(messages)
    for each in beginnings:
        last = len(each.messages) - 1
        if (
            with_reasoning[last]["role"] == "assistant"
            and reasoning.text(each.messages[last])
            and not reasoning.text(with_reasoning[last])
        ):
            with_reasoning[last] = each.messages[last]
    return with_reasoning


def _conversations(holder: Holder, evaluations: Evaluations) -> Iterator[Conversation]:
    """Yield a conversation for each choice; if all output messages are assistant messages, each is a choice."""
    request = [turn for name in (SYSTEM, INPUT) for turn in _turns(holder, name)]
    answers = _turns(holder, OUTPUT)
    tools: list[Tool] = list(openai_chat.tools(holder.json_value(TOOLS)).functions)
    if not _is_conventional(holder):
        attributes, place = holder.attributes, holder.place
        request = [(place, turn) for turn in flattened.request(attributes, place)]
        answers = [(place, turn) for turn in flattened.answers(attributes)]
        tools = tools or flattened.tools(attributes)
    are_choices = answers and all(turn["role"] == "assistant" for _, turn in answers)
    choices = [[answer] for answer in answers] if are_choices else [answers]
    evidence, of_reply = holder.evidence(), structs.replace(holder.of_reply(), scores=evaluations.of(holder))
    for choice in choices:
        turns = [LoggedTurn(place, turn, evidence) for place, turn in request]
        turns += [LoggedTurn(place, turn, of_reply) for place, turn in choice]
        yield load_conversation(openai_chat, turns, tools, session_id=holder.session)


def _turns(holder: Holder, name: str) -> list[tuple[str, Object]]:
    """Return the messages of an attribute; system instructions may be the parts of a single message."""
    value = holder.json_value(name)
    where = f"{holder.place}, {name}"
    if value is None or value in ("", []):
        return []
    if name == SYSTEM and not any("role" in each for each in objects(value)):
        return [(where, {"role": "system", "content": content(as_list(value))})]
    return [
        (f"{where}[{number}]", turn)
        for number, message in enumerate(expect_list(value, f"{where} is"))
        for turn in convert(message, f"{where}[{number}]")
    ]
