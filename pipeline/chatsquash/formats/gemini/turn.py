"""A turn of Gemini's model."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash import reasoning
from chatsquash.chat import BREAKS
from chatsquash.formats.base import with_private
from chatsquash.formats.calls import Remembering, State, arguments, assistant, made_up, tool_call
from chatsquash.formats.gemini.pieces import Piece, camel, joined, pieces, rest_of, visible
from chatsquash.formats.values import Object, string
from chatsquash.model import Json, Message


def said(parts: list[Json], native: list[Json], state: State) -> tuple[Message, State]:
    """The message of a turn's parts."""
    message = _made(parts, state.call, native) if native else _remembered(parts, state.call)
    return message, state.called(message.get("tool_calls", []), by_assistant=True)


def _made(parts: list[Json], number: int, native: Sequence[Json] = ()) -> Message:
    turn = _Turn([*native], number)
    for piece in pieces(parts, turn.native):
        turn.add(piece)
    return turn.message()


_remembered = Remembering(_made)


class _Turn:
    """A model turn while its parts are read."""

    def __init__(self, native: list[Json], number: int) -> None:
        self.native, self.number = native, number
        self.content: list[Json] = []
        self.after: list[str] = []
        self.thinking: list[Object] = []
        self.calls: list[Object] = []
        self.breaks: list[int] = []
        self.filled, self.beside = 0, (0, 0)

    def add(self, piece: Piece) -> None:
        """Take one piece of a part."""
        if piece.kind == "functionCall":
            self.calls.append(_call(piece, self.number))
            self.number += made_up(self.calls[-1:])
            return
        thinks = piece.kind == "text" and piece.thought
        block = {"text": piece.value} if thinks else {}
        if piece.signature is not None:
            block["signature"] = piece.signature
        self.thinking += [block] if block else []
        if not thinks:
            self.show(piece)

    def show(self, piece: Piece) -> None:
        """Text stands before or behind the calls; anything else behind them has no place."""
        if self.calls and piece.kind == "text":
            self.after += [piece.value] if piece.value else []
        elif self.calls:
            self.native.append(piece.part)
        elif part := visible(piece, self.native):
            self._place(part)

    def _place(self, part: Json) -> None:
        """Add a part of the content, and note where thoughts, or what has no place, stood before it."""
        if part.get("text") == "":  # which is no part in the end
            self.content.append(part)
            return
        beside = (len(self.native), sum("text" in block for block in self.thinking))
        if self.filled and beside != self.beside:
            self.breaks.append(self.filled)
        self.content.append(part)
        self.filled, self.beside = self.filled + 1, beside

    def message(self) -> Message:
        """All that was read."""
        content = joined(self.content)
        message = assistant(
            None if self.calls and content == "" else content, reasoning.joined(self.thinking), self.calls
        )
        extra = {"after": self.after, "thinking": self.thinking, "native": self.native, BREAKS: self.breaks}
        return with_private(message, extra)


def _call(piece: Piece, number: int) -> Object:
    value = camel(piece.value)
    extra = {"signature": piece.signature, "native": rest_of("functionCall", value, "name", "args")}
    function = {"name": value.get("name"), "arguments": arguments(value.get("args"))}
    return tool_call(string(value, "id"), number, function, extra)
