"""Read a conversation into the common form from which all presets for training are made.

Content is a string, calls have ids and names, results directly follow their calls and have their names, and only the
first message may be a system message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any, NamedTuple

from chatsquash.checks import contents, shapes
from chatsquash.core import chat
from chatsquash.core import reasoning as thoughts
from chatsquash.core.model import Json, Message
from chatsquash.core.record_options import Media
from chatsquash.core.text import quote
from chatsquash.formats import parts
from chatsquash.formats.calls import custom_input
from chatsquash.formats.providers.openai_chat.members import identifier, is_empty
from chatsquash.records import media
from chatsquash.records.arguments import Arguments, UnparsableError, objects, objects_or_texts
from chatsquash.records.notes import CannotHoldError, Notes
from chatsquash.records.presets import NO_CHOICES, Choices

Turn = dict[str, Any]
_HINT = "--unpaired cut ends the record before the call; --unpaired close adds a result; "


class _OpenCall(NamedTuple):
    """A call that has no result yet."""

    logged_id: str | None
    ident: str
    name: str


def read(messages: list[Message], arguments: Arguments, notes: Notes, choices: Choices = NO_CHOICES) -> list[Turn]:
    """Return the turns up to the last one of the assistant; raise ``CannotHoldError`` if there is none.

    A turn is a new object, or a logged message with only a role and text, which must not be modified.
    """
    if choices.unpaired == "cut":
        messages = _cut_at_unpaired(messages, notes)
    messages, is_single = _without_malformed_end(messages, notes)
    if is_single and arguments is objects_or_texts:
        arguments = objects  # malformed arguments may remain text in a conversation, but not in its only reply
    reading = _TurnReader(messages, arguments, notes, choices)
    following: list[Message] = []
    for at, message in enumerate(messages):
        try:
            reading.take(message, at)
        except UnparsableError:
            if not any(turn["role"] == "assistant" for turn in reading.turns):
                raise
            _note_malformed(messages[at:], notes)
            break
        except RefusedMediaError as problem:
            following = messages[at:]
            if any(each["role"] == "assistant" for each in following):
                raise CannotHoldError(shapes.media_dropped(str(problem), at)) from None
            break  # messages after the assistant's last one are not part of the record
    return reading.finish(following)


def _without_malformed_end(messages: list[Message], notes: Notes) -> tuple[list[Message], bool]:
    """Return the messages without final replies with malformed arguments, and whether the only reply has them."""
    # A reply that reaches its token limit is truncated, often within a call.
    replies = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    stop = len(messages)
    while replies and any(map(chat.is_malformed, chat.calls(messages[replies[-1]]))):
        at = replies.pop()
        if not replies:
            return messages, True
        stop = at
    if stop < len(messages):
        _note_malformed(messages[stop:], notes)
    return messages[:stop], False


def _note_malformed(rest: list[Message], notes: Notes) -> None:
    notes.changed["records that end before a call with malformed arguments"] += 1
    notes.dropped["messages starting with a call with malformed arguments"] += len(rest)


def _cut_at_unpaired(messages: list[Message], notes: Notes) -> list[Message]:
    """Return the messages before the first call that has no result when the assistant continues.

    Raises ``CannotHoldError`` if no assistant message precedes the call.
    """
    place = _first_unpaired(messages)
    if place is None:
        return messages
    if not any(message["role"] == "assistant" for message in messages[:place]):
        what = "a call has no result, and no earlier assistant message could end the record"
        raise CannotHoldError(shapes.unpaired_call(what, place, "--unpaired close adds a result; "))
    notes.changed["records cut before a call without a result"] += 1
    notes.dropped["messages starting with a call without a result"] += len(messages) - place
    return messages[:place]


def _first_unpaired(messages: list[Message]) -> int | None:
    """Return the index of the first message with a call that has no result when the assistant continues."""
    open_ids: list[str | None] = []
    place = 0
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            if open_ids:
                return place
            open_ids, place = [identifier(call.get("id")) for call in chat.calls(message)], at
        elif message["role"] == "tool" and (logged_id := identifier(message.get("tool_call_id"))) in open_ids:
            open_ids.remove(logged_id)
    return None


@dataclass(slots=True)
class _TurnReader:
    messages: list[Message]
    arguments: Arguments
    notes: Notes
    choices: Choices
    turns: list[Turn] = field(default_factory=list)
    open_calls: list[_OpenCall] = field(default_factory=list)
    interruptions: list[tuple[Message, int]] = field(default_factory=list)
    """Messages between a call and its results, which are moved after the results."""
    folded_system: Turn | None = None
    """The last turn made from a later system message."""
    unused_ids: Iterator[str] | None = None
    """Ids that no call of the conversation has, created when needed."""

    def take(self, message: Message, at: int) -> None:
        """Add the next message."""
        role = message["role"]
        if role == "assistant":
            self._assistant(message, at)
        elif role == "tool":
            self._result(message, at)
        elif self.open_calls:
            self.interruptions.append((message, at))
        elif role == "user":
            self._user(message)
        elif role in ("system", "developer"):
            self._system(message)
        else:
            raise CannotHoldError(shapes.unsupported_shape(f"a message has the role {quote(role)}", at))

    def finish(self, following: list[Message]) -> list[Turn]:
        """Return all turns up to the last one of the assistant; ``following`` are the messages that were not added."""
        stop = len(self.turns)
        while stop and self.turns[stop - 1]["role"] != "assistant":
            stop -= 1
        if not stop:
            raise CannotHoldError(shapes.no_assistant_turn())
        if not contents.has_content(self.turns[stop - 1]):
            raise CannotHoldError(contents.unsupported_reply())
        roles = [*(turn["role"] for turn in self.turns[stop:]), *(message["role"] for message, _ in self.interruptions)]
        roles += [message["role"] for message in following]
        if roles:
            self.notes.dropped.update(f"{role} messages after the last assistant message" for role in roles)
        return self.turns[:stop]

    def _user(self, message: Message) -> None:
        turn = self._plain(message, "user")
        if self.folded_system is not None and self.turns[-1] is self.folded_system:
            self.turns[-1] = _join(self.folded_system, turn)
        else:
            self.turns.append(turn)

    def _system(self, message: Message) -> None:
        turn = self._plain(message, "system")
        if not self.turns:
            self.turns.append({**turn, "role": "system"})
        elif len(self.turns) == 1 and self.turns[0]["role"] == "system":
            self.notes.changed["system messages joined"] += 1
            self.turns[0] = _join(self.turns[0], turn)
        else:
            self.notes.changed["later system messages become user messages"] += 1
            self._user({"role": "user", "content": turn["content"]})
            self.folded_system = self.turns[-1]

    def _plain(self, message: Message, role: str) -> Turn:
        if len(message) == 2 and type(message.get("content")) is str:
            return message  # type: ignore[return-value]
        return {"role": role, "content": content_text(message, role, self.notes, self.choices.media)}

    def _assistant(self, message: Message, at: int) -> None:
        if self.open_calls:
            self._close(at)
        if self.folded_system is not None and self.turns[-1] is self.folded_system and self.turns[-2]["role"] == "user":
            self.turns[-2:] = [_join(self.turns[-2], self.folded_system)]
        turn = self._plain(message, "assistant")
        if turn is not message:
            self._add_reasoning_and_calls(message, turn, at)
        self.turns.append(turn)

    def _add_reasoning_and_calls(self, message: Message, turn: Turn, at: int) -> None:
        """Add the reasoning and the calls of a message to its turn."""
        if reasoning := content_reasoning(message):
            turn["reasoning_content"] = reasoning
        calls: Json = message.get("tool_calls")
        if not is_empty(message.get("function_call")):
            raise CannotHoldError(shapes.unsupported_shape("a call is in the legacy function_call member", at))
        if not calls:
            return
        if not isinstance(calls, list):
            raise CannotHoldError(shapes.unsupported_shape("tool_calls is not a list", at))
        if chat.CALL_OPEN in media.text_of(turn["content"]):
            raise CannotHoldError(
                shapes.unsupported_shape(f"{chat.CALL_OPEN} is in the text of a message with tool_calls", at)
            )
        turn["tool_calls"] = [self._call(call, at) for call in calls]

    def _call(self, call: Json, at: int) -> dict[str, Any]:
        if isinstance(call, dict) and (custom := chat.custom(call)) and not call.get("function"):
            rest = {key: value for key, value in custom.items() if key != "input"}
            function = {**rest, "arguments": custom_input(custom.get("input", ""))}
            call = {**call, "type": "function", "custom": None, "function": function}
        name = chat.call_name(call) if isinstance(call, dict) else None
        if name is None or call.get("type") not in ("function", "", None):
            raise CannotHoldError(shapes.unsupported_shape("a tool call has no function with a name", at))
        function = call["function"]
        if len(call) > 3 or len(function) > 2:
            self._note_unknown(call, ("id", "type", "function", "index"))
            self._note_unknown(function, ("name", "arguments"))
        logged_id = identifier(call.get("id"))
        open_call = _OpenCall(logged_id, logged_id or self._new_id(), name)
        self.open_calls.append(open_call)
        arguments = self.arguments(function.get("arguments"), name, at, self.notes)
        return {"id": open_call.ident, "type": "function", "function": {"name": name, "arguments": arguments}}

    def _note_unknown(self, members: dict[str, Any], known: tuple[str, ...]) -> None:
        rest = sorted(key for key in members if key not in known and not is_empty(members[key]))
        self.notes.dropped.update(f"member {key} of calls" for key in rest)

    def _new_id(self) -> str:
        self.notes.changed["ids added to calls"] += 1
        if self.unused_ids is None:
            in_use = {identifier(call.get("id")) for message in self.messages for call in chat.calls(message)}
            self.unused_ids = (candidate for number in count(1) if (candidate := f"call_{number}") not in in_use)
        return next(self.unused_ids)

    def _result(self, message: Message, at: int) -> None:
        """Add a result after the open call with its id, or after the first call without an id."""
        logged_id = identifier(message.get("tool_call_id"))
        for call in self.open_calls:
            if call.logged_id == logged_id:
                break
        else:
            what = (
                f"no call in the preceding assistant message has the id {quote(logged_id)}"
                if logged_id
                else "a result has no id"
            )
            raise CannotHoldError(shapes.unpaired_call(what, at))
        self.open_calls.remove(call)
        text: Json = message.get("content")
        if len(message) > 3 or logged_id is None or type(text) is not str:
            text = content_text(message, "tool", self.notes, self.choices.media)
        self.turns.append(_answer(call, text))
        if self.interruptions:
            self.notes.changed["results moved up to their calls"] += 1
        if not self.open_calls:
            self._take_interruptions()

    def _close(self, at: int) -> None:
        """Add the result of ``--unpaired close`` to open calls; raise ``CannotHoldError`` without the option."""
        if self.choices.unpaired != "close":
            what = f"the call of {quote(self.open_calls[0].name)} has no result before the next assistant message"
            raise CannotHoldError(shapes.unpaired_call(what, at, _HINT))
        self.notes.changed["calls without a result closed"] += len(self.open_calls)
        text = self.choices.unpaired_text
        self.turns += [_answer(call, text) for call in self.open_calls]
        self.open_calls = []
        self._take_interruptions()

    def _take_interruptions(self) -> None:
        """Add the messages that preceded the last result."""
        interruptions, self.interruptions = self.interruptions, []
        for each, place in interruptions:
            self.take(each, place)


def _answer(call: _OpenCall, text: Json) -> Turn:
    return {"role": "tool", "tool_call_id": call.ident, "name": call.name, "content": text}


def _join(first: Turn, second: Turn) -> Turn:
    return {"role": first["role"], "content": media.join_contents(first["content"], second["content"])}


_MEMBERS = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", *thoughts.MEMBERS}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_OTHER_REASONING = frozenset(thoughts.MEMBERS[1:])


def content_text(message: Message, role: str, notes: Notes, mode: Media = "refuse") -> str | list[Any]:
    """Return the content of a message as a string; other parts and unknown members are dropped and noted.

    With media ``keep``, content with images is a list of texts and images, and ``RefusedMediaError`` may be raised.
    With ``text``, media become placeholders, but never in assistant messages.
    """
    content: Json = message.get("content")
    if (type(content) is str or content is None) and message.keys() <= _MEMBERS[role]:
        return content or ""
    if mode == "text":
        message, mode = _with_placeholders(message, role, notes), "drop"
    if rest := message.keys() - _MEMBERS[role]:
        members: dict[str, Any] = message  # type: ignore[assignment]
        if mode != "drop":
            _reject_media(message, content=False)
        notes.dropped.update(f"member {key} of {role} messages" for key in sorted(rest) if not is_empty(members[key]))
    content = message.get("content")
    if type(content) is str:
        return content
    if content is None:
        return ""
    if type(content) is list and any(map(chat.media_type, content)):
        if mode == "keep":
            return _with_pictures(content, role, notes)
        if mode == "refuse":
            _reject_media(message)
    notes.dropped.update(f"parts of type {kind}" for kind in _kinds(content, role))
    return chat.joined_text(message) or ""


def _with_placeholders(message: Message, role: str, notes: Notes) -> Message:
    """Return a message with placeholders for its media, which assistant messages with other content drop instead."""
    kinds = Counter(media.media_types(message))
    if not kinds:
        return message
    if role == "assistant":
        rest: Turn = {key: value for key, value in message.items() if key not in media.MEMBERS}
        if not contents.has_content({**rest, "content": chat.joined_text(message)}):
            _reject_media(message)
        return message
    notes.media_replaced.update(kinds)
    content: Json = message.get("content")
    content_parts = content if isinstance(content, list) else [parts.text(content)] if content else []
    content_parts = [parts.text(media.placeholder(part)) if chat.media_type(part) else part for part in content_parts]
    result = {**message, "content": [*content_parts, *map(parts.text, media.placeholders(message))]}
    return {key: result[key] for key in result if key not in media.MEMBERS}  # type: ignore[return-value]


class RefusedMediaError(Exception):
    """Media can neither be kept nor dropped; the message describes them."""


def _reject_media(message: Message, *, content: bool = True) -> None:
    """Raise ``RefusedMediaError`` if a message has media; without ``content``, check only separate members."""
    kinds = Counter(media.media_types(message) if content else media.media_types({**message, "content": ""}))
    if kinds:
        counts = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        raise RefusedMediaError(f"the preset does not support media: {counts}")


def _with_pictures(content: list[Any], role: str, notes: Notes) -> str | list[Any]:
    """Return the texts and images of content in order."""
    content_parts: list[Any] = []
    for is_medium, run in groupby(content, key=lambda part: chat.media_type(part) is not None):
        run_parts = list(run)
        if is_medium:
            content_parts += map(_picture, run_parts)
            if role == "tool":
                raise RefusedMediaError("a result has an image, but trainers only read images in user messages")
            continue
        notes.dropped.update(f"parts of type {kind}" for kind in _kinds(run_parts, role))
        if text := chat.join(run_parts, role == "assistant"):
            content_parts.append(parts.text(text))
    return content_parts


def _picture(part: Json) -> media.Picture:
    if isinstance(part, media.Picture):  # from a system message that became a user message
        return part
    try:
        return media.picture(part)
    except media.NoPictureError as problem:
        raise RefusedMediaError(str(problem)) from None


def content_reasoning(message: Message) -> str:
    """Return the text of the reasoning, whatever member contains it, or an empty string without reasoning."""
    reasoning = message.get(thoughts.MEMBER)
    if (
        isinstance(message.get("content"), list)
        or not _OTHER_REASONING.isdisjoint(message)
        or not isinstance(reasoning, str | None)
    ):
        return thoughts.text(message)
    return reasoning or ""


def _kinds(content: Json, role: str) -> Iterator[str]:
    """Yield the types of parts other than text and the assistant's reasoning."""
    for part in chat.other_parts({"role": role, "content": content}):
        if not thoughts.is_part(part) or role != "assistant":
            kind = part.get("type") if isinstance(part, dict) else None
            yield kind if isinstance(kind, str) else type(part).__name__
