"""Load requests of a format other than plain chat, with the turns that they only refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.edits import difference, growth
from chatsquash.core.model import (
    AddedRun,
    Compacted,
    KeptRun,
    Message,
    RepeatedViolation,
    Response,
)
from chatsquash.formats import bodies, view
from chatsquash.formats.base import Format, ShownTurns
from chatsquash.reading.answers import Answer, Answers, LoadedRequest
from chatsquash.reading.deltas import Request
from chatsquash.reading.exchange import Exchange
from chatsquash.reading.members import NOTHING
from chatsquash.reading.repeated_members import SYSTEM
from chatsquash.reading.turns import blocks_of, follow, nothing, rewrite


@dataclass(slots=True)
class Loader:
    """Loads neighbouring requests of one format."""

    form: Format
    answers: Answers
    """The responses of the log that later requests may refer to."""
    is_mixed: bool = False
    """Whether turns are messages of plain chat, of which those with content of other formats are rewritten."""
    before: LoadedRequest | None = None
    last: Answer | None = None
    """The response to it, if later requests can refer to that."""

    def load(self, exchange: Exchange, request: Request) -> LoadedRequest:
        """A request as it adds to the one before; raises ``LineError`` for what is no turn of the format."""
        form = self.form
        before = self.before or LoadedRequest(nothing(form), [], 0, [], (NOTHING, None))
        raw = exchange.first(form.SYSTEM)
        system = (
            before.system if raw in (SYSTEM, before.system[0]) else (raw, jsonio.loads(raw) if raw != NOTHING else None)
        )
        whole, edits, begun = request.messages, request.edits, before
        base = self.answers.referred(exchange, form, whole) if exchange.first(form.REFERS) else None
        if base and base.loaded:
            begun, more = base.loaded, (*base.said, *whole)
            whole, edits = _extend(begun, more), (KeptRun(0, begun.length), AddedRun(more))
        elif base or before.base:  # the reader's edits are those of what stood in the lines
            whole = [*base.turns, *whole] if base else whole
            edits = difference(before.whole[: before.length], whole)
        added = [turn for run in edits if isinstance(run, AddedRun) for turn in run.messages]
        brought = bodies.tools_of_turns(form, added)
        seen = self._visible(begun, whole, added, exchange.reply)
        if seen.turns is not whole or begun.shown is not begun.whole:
            shown = begun.whole[: begun.length] if begun.shown is begun.whole else begun.shown
            edits = difference(shown, seen.turns)
        turns = follow(form, begun.turns, seen.turns, edits, system[1], rewrite if self.is_mixed else blocks_of)
        known = 0
        if begun is not before:
            first = turns.edits[0] if turns.edits else None
            known = first.stop if isinstance(first, KeptRun) and first.start == 0 else 0
            turns = replace(turns, edits=growth(before.turns.messages, turns.messages))
        compacted = self._compacted(seen) if seen.summary else None
        return LoadedRequest(
            *(turns, whole, len(whole), seen.turns, system, brought, base, compacted, seen.is_hidden),
            *(known, begun.turns.messages if known else None),
        )

    def _visible(self, begun: LoadedRequest, whole: list[Any], added: list[Any], reply: Response) -> ShownTurns:
        """The turns that the model saw, before a reply that may begin with a summary of them."""
        is_compacted = begun.shown is not begun.whole or any(map(self.form.is_compaction, added))
        is_compacted = is_compacted and any(map(self.form.is_compaction, whole))
        seen = self.form.visible_turns(whole) if is_compacted else ShownTurns(whole)
        if not reply.compacted:
            return seen
        if not self.form.is_compaction(reply.compacted):  # the response is of another format
            return seen._replace(is_hidden=True)
        return self.form.visible_turns([*seen.turns, reply.compacted])

    def _compacted(self, seen: ShownTurns) -> Compacted:
        """What a summary replaced, as messages."""
        summary: Any = {"role": "assistant", "content": seen.summary}
        said = (
            each for each in reversed(seen.summarized) if isinstance(each, dict) and each.get("role") == "assistant"
        )
        for turn in said:
            messages = view.messages(self.form.load(turn, self.form.START).turns)
            return Compacted(summary, messages[-1] if messages else None)
        return Compacted(summary, None)

    def remember(self, loaded: LoadedRequest, exchange: Exchange, asked: list[Any]) -> tuple[RepeatedViolation, ...]:
        """A request that is an entry: the next one goes on from it; gives what was found."""
        self.before = loaded
        if not self.form.REFERS and exchange.reply.body is None:  # neither refers nor can be referred to
            self.last = None
            return ()
        is_missing = self.answers.lacks(exchange, self.form)
        self.last = self.answers.add(exchange, self.form, asked, loaded)
        return (RepeatedViolation("missing-history"),) if is_missing else ()

    def adopt(self, messages: list[Message]) -> None:
        """Go on with these messages in the place of the equal ones that were loaded last."""
        if self.before:
            self.before = self.before._replace(turns=replace(self.before.turns, messages=messages))
            if self.last and self.last.loaded:
                self.last.loaded = self.before


def _extend(begun: LoadedRequest, more: tuple[Any, ...]) -> list[Any]:
    """All turns of a request that continues an earlier one with these, in the list of that one if it can have them."""
    if begun.base is None or len(begun.whole) > begun.length:  # it is the reader's list, or another request did
        return [*begun.whole[: begun.length], *more]
    begun.whole.extend(more)
    return begun.whole
