"""A conversation in the one form that all presets for training are made of.

Content is a string, calls have ids and names, results stand right behind their calls and have their names, and only the
first message is of the system.
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
from chatsquash.core.shape_options import Media
from chatsquash.core.text import quote
from chatsquash.formats import parts
from chatsquash.formats.calls import custom_input
from chatsquash.formats.providers.openai_chat.members import identifier, is_empty
from chatsquash.records import media
from chatsquash.records.arguments import Arguments, UnparsableError, objects, objects_or_texts
from chatsquash.records.notes import CannotHoldError, Notes
from chatsquash.records.presets import REFUSED, Choices

Turn = dict[str, Any]
_HINT = "--unpaired cut ends the record before the call, --unpaired close gives it a result, "


class _Open(NamedTuple):
    """A call that waits for its result."""

    logged: str | None
    ident: str
    name: str


def read(messages: list[Message], arguments: Arguments, notes: Notes, choices: Choices = REFUSED) -> list[Turn]:
    """The turns up to the last one of the assistant; raises ``CannotHoldError``.

    A turn is a new object, or a logged message that is a role and a text, which is not to be changed.
    """
    if choices.unpaired == "cut":
        messages = _cut(messages, notes)
    messages, is_single = _without_malformed_end(messages, notes)
    if is_single and arguments is objects_or_texts:
        arguments = objects  # a text is written where the conversation continues, never as the only reply
    reading = _TurnReader(messages, arguments, notes, choices)
    behind: list[Message] = []
    for at, message in enumerate(messages):
        try:
            reading.take(message, at)
        except UnparsableError:
            if not any(turn["role"] == "assistant" for turn in reading.turns):
                raise
            _note_malformed(messages[at:], notes)
            break
        except RefusedMediaError as problem:
            behind = messages[at:]
            if any(each["role"] == "assistant" for each in behind):
                raise CannotHoldError(shapes.media_dropped(str(problem), at)) from None
            break  # what is behind the last message of the assistant is no part of the record
    return reading.finish(behind)


def _without_malformed_end(messages: list[Message], notes: Notes) -> tuple[list[Message], bool]:
    """The messages before last replies with malformed arguments, and whether the only reply has some.

    A reply is truncated within a call when it reaches its limit.
    """
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
    notes.dropped["messages from a call with malformed arguments on"] += len(rest)


def _cut(messages: list[Message], notes: Notes) -> list[Message]:
    """The messages before the first with a call that has no result when the assistant goes on.

    Raises ``CannotHoldError`` where the assistant says nothing before.
    """
    place = _first_unpaired(messages)
    if place is None:
        return messages
    if not any(message["role"] == "assistant" for message in messages[:place]):
        what = "a call has no result, and the assistant says nothing before it with which the record could end"
        raise CannotHoldError(shapes.unpaired_call(what, place, "--unpaired close gives it a result, "))
    notes.changed["records cut before a call without a result"] += 1
    notes.dropped["messages from a call without a result on"] += len(messages) - place
    return messages[:place]


def _first_unpaired(messages: list[Message]) -> int | None:
    """The place of the first message with a call that has no result when the assistant goes on."""
    waiting: list[str | None] = []
    place = 0
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            if waiting:
                return place
            waiting, place = [identifier(call.get("id")) for call in chat.calls(message)], at
        elif message["role"] == "tool" and (logged := identifier(message.get("tool_call_id"))) in waiting:
            waiting.remove(logged)
    return None


@dataclass(slots=True)
class _TurnReader:
    messages: list[Message]
    arguments: Arguments
    notes: Notes
    choices: Choices
    turns: list[Turn] = field(default_factory=list)
    waiting: list[_Open] = field(default_factory=list)
    interruptions: list[tuple[Message, int]] = field(default_factory=list)
    """What came between a call and its results, to go behind them."""
    folded: Turn | None = None
    """The last turn that was a later system message."""
    free: Iterator[str] | None = None
    """Ids that no call of the conversation has, once one is asked for."""

    def take(self, message: Message, at: int) -> None:
        """The next message."""
        role = message["role"]
        if role == "assistant":
            self._assistant(message, at)
        elif role == "tool":
            self._result(message, at)
        elif self.waiting:
            self.interruptions.append((message, at))
        elif role == "user":
            self._user(message)
        elif role in ("system", "developer"):
            self._system(message)
        else:
            raise CannotHoldError(shapes.unsupported_shape(f"a message has the role {quote(role)}", at))

    def finish(self, behind: list[Message]) -> list[Turn]:
        """All turns but those behind the last one of the assistant; ``behind`` are messages that were not taken."""
        stop = len(self.turns)
        while stop and self.turns[stop - 1]["role"] != "assistant":
            stop -= 1
        if not stop:
            raise CannotHoldError(shapes.no_assistant_turn())
        if not contents.has_content(self.turns[stop - 1]):
            raise CannotHoldError(contents.unsupported_reply())
        roles = [*(turn["role"] for turn in self.turns[stop:]), *(message["role"] for message, _ in self.interruptions)]
        roles += [message["role"] for message in behind]
        self.notes.dropped.update(f"messages of role {role} behind the last of the assistant" for role in roles)
        return self.turns[:stop]

    def _user(self, message: Message) -> None:
        turn = self._plain(message, "user")
        if self.folded is not None and self.turns[-1] is self.folded:
            self.turns[-1] = _join(self.folded, turn)
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
            self.notes.changed["later system messages become the user's"] += 1
            self._user({"role": "user", "content": turn["content"]})
            self.folded = self.turns[-1]

    def _plain(self, message: Message, role: str) -> Turn:
        if len(message) == 2 and type(message.get("content")) is str:
            return message  # type: ignore[return-value]
        return {"role": role, "content": content_text(message, role, self.notes, self.choices.media)}

    def _assistant(self, message: Message, at: int) -> None:
        if self.waiting:
            self._close(at)
        if self.folded is not None and self.turns[-1] is self.folded and self.turns[-2]["role"] == "user":
            self.turns[-2:] = [_join(self.turns[-2], self.folded)]
        turn = self._plain(message, "assistant")
        if turn is not message:
            self._more(message, turn, at)
        self.turns.append(turn)

    def _more(self, message: Message, turn: Turn, at: int) -> None:
        """The reasoning and the calls of a message."""
        if reasoning := content_reasoning(message):
            turn["reasoning_content"] = reasoning
        calls: Json = message.get("tool_calls")
        if not is_empty(message.get("function_call")):
            raise CannotHoldError(shapes.unsupported_shape("a call is in function_call, the legacy form", at))
        if not calls:
            return
        if not isinstance(calls, list):
            raise CannotHoldError(shapes.unsupported_shape("tool_calls is not a list", at))
        if chat.CALL_OPEN in media.text_of(turn["content"]):
            raise CannotHoldError(
                shapes.unsupported_shape(f"{chat.CALL_OPEN} stands in the text beside tool_calls", at)
            )
        turn["tool_calls"] = [self._call(call, at) for call in calls]

    def _call(self, call: Json, at: int) -> dict[str, Any]:
        if isinstance(call, dict) and (custom := chat.custom(call)) and not call.get("function"):
            rest = {key: value for key, value in custom.items() if key != "input"}
            function = {**rest, "arguments": custom_input(custom.get("input", ""))}
            call = {**call, "type": "function", "custom": None, "function": function}
        name = chat.call_name(call) if isinstance(call, dict) else None
        if name is None or call.get("type") not in ("function", "", None):
            raise CannotHoldError(shapes.unsupported_shape("a call is not a call of a function with a name", at))
        function = call["function"]
        if len(call) > 3 or len(function) > 2:
            self._unknown(call, ("id", "type", "function", "index"))
            self._unknown(function, ("name", "arguments"))
        logged = identifier(call.get("id"))
        opened = _Open(logged, logged or self._new_id(), name)
        self.waiting.append(opened)
        given = self.arguments(function.get("arguments"), name, at, self.notes)
        return {"id": opened.ident, "type": "function", "function": {"name": name, "arguments": given}}

    def _unknown(self, holder: dict[str, Any], known: tuple[str, ...]) -> None:
        rest = sorted(key for key in holder if key not in known and not is_empty(holder[key]))
        self.notes.dropped.update(f"member {key} of calls" for key in rest)

    def _new_id(self) -> str:
        self.notes.changed["ids for calls without"] += 1
        if self.free is None:
            taken = {identifier(call.get("id")) for message in self.messages for call in chat.calls(message)}
            self.free = (made for number in count(1) if (made := f"call_{number}") not in taken)
        return next(self.free)

    def _result(self, message: Message, at: int) -> None:
        """Behind its call: that with its id or, where neither has one, the first that waits."""
        logged = identifier(message.get("tool_call_id"))
        place = next((place for place, call in enumerate(self.waiting) if call.logged == logged), None)
        if place is None:
            what = f"no call of the assistant before it has the id {quote(logged)}" if logged else "a result has no id"
            raise CannotHoldError(shapes.unpaired_call(what, at))
        call = self.waiting.pop(place)
        text: Json = message.get("content")
        if len(message) > 3 or logged is None or type(text) is not str:
            text = content_text(message, "tool", self.notes, self.choices.media)
        self.turns.append(_answer(call, text))
        if self.interruptions:
            self.notes.changed["results moved up to their calls"] += 1
        if not self.waiting:
            self._go_on()

    def _close(self, at: int) -> None:
        """Give the calls that wait a result, if that is wanted."""
        if self.choices.unpaired != "close":
            what = f"there is no result of {quote(self.waiting[0].name)} before the assistant goes on"
            raise CannotHoldError(shapes.unpaired_call(what, at, _HINT))
        self.notes.changed["calls without a result closed"] += len(self.waiting)
        text = self.choices.unpaired_text
        self.turns += [_answer(call, text) for call in self.waiting]
        self.waiting = []
        self._go_on()

    def _go_on(self) -> None:
        """Take what came before the last result."""
        waiting, self.interruptions = self.interruptions, []
        for each, place in waiting:
            self.take(each, place)


def _answer(call: _Open, text: Json) -> Turn:
    return {"role": "tool", "tool_call_id": call.ident, "name": call.name, "content": text}


def _join(first: Turn, second: Turn) -> Turn:
    return {"role": first["role"], "content": media.together(first["content"], second["content"])}


_MEMBERS = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", *thoughts.MEMBERS}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_ODD = frozenset(thoughts.MEMBERS[1:])


def content_text(message: Message, role: str, notes: Notes, wanted: Media = "refuse") -> str | list[Any]:
    """The content as a string: text parts are joined, other parts go; members that no preset has are noted.

    Where media are to be kept, a content with images is a list of texts and images; raises ``RefusedMediaError``.
    Where they are to be texts, placeholders stand for them, but never in what the assistant says.
    """
    if wanted == "text":
        message, wanted = _with_placeholders(message, role, notes), "drop"
    if rest := message.keys() - _MEMBERS[role]:
        holder: dict[str, Any] = message  # type: ignore[assignment]
        if wanted != "drop":
            _refuse(message, content=False)
        notes.dropped.update(f"member {key} of {role} messages" for key in sorted(rest) if not is_empty(holder[key]))
    content = message.get("content")
    if type(content) is str:
        return content
    if content is None:
        return ""
    if type(content) is list and any(map(chat.media_type, content)):
        if wanted == "keep":
            return _with_pictures(content, role, notes)
        if wanted == "refuse":
            _refuse(message)
    notes.dropped.update(f"parts of type {kind}" for kind in _kinds(content, role))
    return chat.joined_text(message) or ""


def _with_placeholders(message: Message, role: str, notes: Notes) -> Message:
    """A message with texts for its media; of the assistant without these, if it says anything else."""
    kinds = Counter(media.of(message))
    if not kinds:
        return message
    if role == "assistant":
        rest: Turn = {key: value for key, value in message.items() if key not in media.MEMBERS}
        if not contents.has_content({**rest, "content": chat.joined_text(message)}):
            _refuse(message)
        return message
    notes.replaced.update(kinds)
    content: Json = message.get("content")
    said = content if isinstance(content, list) else [parts.text(content)] if content else []
    said = [parts.text(media.placeholder(part)) if chat.media_type(part) else part for part in said]
    made = {**message, "content": [*said, *map(parts.text, media.placeholders(message))]}
    return {key: made[key] for key in made if key not in media.MEMBERS}  # type: ignore[return-value]


class RefusedMediaError(Exception):
    """A medium that is not kept and not to be dropped; the text says which."""


def _refuse(message: Message, *, content: bool = True) -> None:
    """Raise ``RefusedMediaError`` for media of a message, of its own members alone where those in parts are kept."""
    kinds = Counter(media.of(message) if content else media.of({**message, "content": ""}))
    if kinds:
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        raise RefusedMediaError(f"the preset has no place for media: {listed}")


def _with_pictures(content: list[Any], role: str, notes: Notes) -> str | list[Any]:
    """Texts and images in their order."""
    content_parts: list[Any] = []
    for is_medium, run in groupby(content, key=lambda part: chat.media_type(part) is not None):
        run_parts = list(run)
        if is_medium:
            content_parts += map(_picture, run_parts)
            if role == "tool":
                raise RefusedMediaError("a result has an image, and trainers count only those that are said")
            continue
        notes.dropped.update(f"parts of type {kind}" for kind in _kinds(run_parts, role))
        if said := chat.join(run_parts, role == "assistant"):
            content_parts.append(parts.text(said))
    return content_parts


def _picture(part: Json) -> media.Picture:
    if isinstance(part, media.Picture):  # of a system message that became the user's
        return part
    try:
        return media.picture(part)
    except media.NoPictureError as problem:
        raise RefusedMediaError(str(problem)) from None


def content_reasoning(message: Message) -> str:
    """The text of the reasoning, in whichever spelling; empty if there is none."""
    said = message.get(thoughts.MEMBER)
    if isinstance(message.get("content"), list) or not _ODD.isdisjoint(message) or not isinstance(said, str | None):
        return thoughts.text(message)
    return said or ""


def _kinds(content: Json, role: str) -> Iterator[str]:
    """The types of parts that are no text, but for reasoning, which has a place of its own."""
    for part in chat.other_parts({"role": role, "content": content}):
        if not thoughts.is_part(part) or role != "assistant":
            kind = part.get("type") if isinstance(part, dict) else None
            yield kind if isinstance(kind, str) else type(part).__name__
