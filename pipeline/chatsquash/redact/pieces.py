"""A record as pieces, so that it is known of what is found which message it stands in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.redact.placeholders import holds_secret

_LISTS = ("messages", "conversations", "prompt", "completion", "chosen", "rejected")
"""Members of records that hold messages; the last of several hold what is trained on."""
_CONTEXT = "prompt"
"""Messages that are never trained on."""
_REPLIES = ("completion", "chosen", "rejected")
"""Members that are a reply where they are a text."""


class Pieces:
    """A record's messages, and all that stands beside them; to be changed in place, and put together by ``whole``."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record
        self._rest: dict[str, Json] = {}
        self.values: list[Json] = []
        """JSON objects and lists, the last of which has what is beside the messages."""
        self._places: list[int | None] = []
        self._replies: set[int] = set()
        self._texts: dict[str, dict[str, Json]] = {}
        """Members that are a text and a reply, as pieces."""
        before = 0
        for name, member in record.items():
            if name in _REPLIES and isinstance(member, str):
                self._texts[name] = {name: member}
                self._add(self._texts[name], None, is_reply=True)
                continue
            if not _are_turns(name, member):
                self._rest[name] = member
                continue
            for at, turn in enumerate(member):
                self._add(turn, before + at, is_reply=name != _CONTEXT and _is_reply(turn))
            before += len(member) if name == _CONTEXT else 0
        self.values.append(self._rest)

    def _add(self, piece: dict[str, Json], place: int | None, *, is_reply: bool) -> None:
        if is_reply:
            self._replies.add(len(self.values))
        self._places.append(place)
        self.values.append(piece)

    def place(self, piece: int) -> int | None:
        """The index of a message in its record; ``None`` for a text alone, and for what stands beside all."""
        return self._places[piece] if piece < len(self._places) else None

    def masked(self) -> list[int]:
        """The indices of the replies in which a placeholder stands for a secret, as ``replies`` gives them."""
        return self.replies(self.masked_pieces())

    def masked_pieces(self) -> list[int]:
        """The pieces beside the last one in which a placeholder stands for a secret."""
        pieces = enumerate(self.values[:-1])
        return [at for at, each in pieces if holds_secret(jsonio.dumps(each).decode())]

    def replies(self, pieces: Iterable[int]) -> list[int]:
        """The indices of those messages that are the assistant's, and that may be trained on; 0 for a text alone."""
        return sorted({self._places[piece] or 0 for piece in pieces if piece in self._replies})

    def whole(self) -> dict[str, Json]:
        """The record as its pieces are now, its members in the order that they had."""
        rest = iter(self._rest.items())
        return dict(self._member(name, member) or next(rest) for name, member in self._record.items())

    def _member(self, name: str, member: Json) -> tuple[str, Json] | None:
        """A member that is no part of the rest, as it is now."""
        if name in self._texts:
            return name, self._texts[name][name]
        return (name, member) if _are_turns(name, member) else None


def _are_turns(name: str, member: Json) -> bool:
    return name in _LISTS and isinstance(member, list) and all(isinstance(turn, dict) for turn in member)


def _is_reply(turn: Json) -> bool:
    return isinstance(turn, dict) and (turn.get("role") == "assistant" or turn.get("from") in ("gpt", "function_call"))
