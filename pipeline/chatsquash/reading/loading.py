"""Requests of a format other than plain chat, as canonical messages, with the turns that they only refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.edits import difference
from chatsquash.core.model import Added, Json, Message, Repeated, Tool
from chatsquash.formats import bodies
from chatsquash.formats.base import Format
from chatsquash.reading import turns
from chatsquash.reading.deltas import Request
from chatsquash.reading.exchange import Exchange
from chatsquash.reading.members import NOTHING
from chatsquash.reading.repeated_members import SYSTEM
from chatsquash.reading.turns import Turns


class LoadedRequest(NamedTuple):
    """A request as canonical messages, and what the next one needs."""

    turns: Turns
    whole: list[Any]
    """The request's turns, with those that it only refers to."""
    system: tuple[bytes, Json]
    """The system member, raw and parsed."""
    referred: bool = False
    """Whether it refers to turns that do not stand in its line."""
    brought: list[Tool] = []  # noqa: RUF012 - never changed
    """The tools that its new turns bring."""


class Answer(NamedTuple):
    """What a later request may refer to by a response's id."""

    asked: list[Any]
    said: list[Any]


@dataclass(slots=True)
class Loader:
    """Loads neighbouring requests of one format."""

    form: Format
    answers: dict[str, Answer]
    """The turns up to each response of the log that a later request may refer to, by its id."""
    before: LoadedRequest | None = None

    def load(self, exchange: Exchange, request: Request) -> LoadedRequest:
        """A request as it adds to the one before; raises ``LineError`` for what is no turn of the format."""
        form = self.form
        before = self.before or LoadedRequest(turns.nothing(form), [], (NOTHING, None))
        raw = exchange.first(form.SYSTEM)
        system = (
            before.system if raw in (SYSTEM, before.system[0]) else (raw, jsonio.loads(raw) if raw != NOTHING else None)
        )
        whole, edits = request.messages, request.edits
        refers = exchange.first(form.REFERS)
        base = self.answers.get(_key(refers)) if refers else None
        if base:
            whole = [*base.asked, *base.said, *whole]
        if base or before.referred:  # the reader's edits are those of what stood in the lines
            edits = difference(before.whole, whole)
        brought = bodies.brought(form, (turn for run in edits if isinstance(run, Added) for turn in run.messages))
        return LoadedRequest(
            turns.follow(form, before.turns, whole, edits, system[1]), whole, system, bool(base), brought
        )

    def remember(self, loaded: LoadedRequest, exchange: Exchange) -> tuple[Repeated, ...]:
        """A request that is an entry: the next one goes on from it; gives what was found."""
        self.before = loaded
        refers = exchange.first(self.form.REFERS)
        is_missing = refers not in (NOTHING, b"null") and _key(refers) not in self.answers
        answer = exchange.reply.body
        if isinstance(answer, dict) and isinstance(answer.get("id"), str):
            said = answer.get("output")
            self.answers[answer["id"]] = Answer(loaded.whole, said if isinstance(said, list) else [])
        return (Repeated("missing-history"),) if is_missing else ()

    def adopt(self, messages: list[Message]) -> None:
        """Go on with these messages in the place of the equal ones that were loaded last."""
        if self.before:
            self.before = self.before._replace(turns=replace(self.before.turns, messages=messages))


def _key(reference: bytes) -> str:
    value = jsonio.loads(reference) if reference[:1] == b'"' else ""
    return str(value)
