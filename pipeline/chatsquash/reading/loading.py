"""Load requests of formats other than plain chat, including turns that they only refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.edits import difference, growth
from chatsquash.core.model import (
    AddedRun,
    Compacted,
    Edits,
    Json,
    KeptRun,
    Message,
    RepeatedViolation,
    Response,
)
from chatsquash.formats import bodies, view
from chatsquash.formats.base import Format, ShownTurns, is_no_compaction, no_tools
from chatsquash.reading.answers import Answer, Answers, LoadedRequest
from chatsquash.reading.deltas import Request
from chatsquash.reading.exchange import Exchange
from chatsquash.reading.members import NOTHING
from chatsquash.reading.repeats import SYSTEM
from chatsquash.reading.turns import blocks_of, follow, no_turns, rewrite


@dataclass(slots=True)
class Loader:
    """Loads consecutive requests of one format."""

    form: Format
    answers: Answers
    """The responses of the log that later requests may refer to."""
    is_mixed: bool = False
    """Whether turns are plain chat messages, of which only those with content of other formats are converted."""
    before: LoadedRequest | None = None
    last: Answer | None = None
    """The response to ``before``, if later requests can refer to it."""

    def load(self, exchange: Exchange, request: Request) -> LoadedRequest:
        """Return a request with edits relative to the previous one; raise ``LineError`` for turns of another format."""
        form = self.form
        before = self.before or LoadedRequest(no_turns(form), [], 0, [], (NOTHING, None))
        all_turns, edits, parent, base = request.messages, request.edits, before, None
        if before.base or (form.REFERS and exchange.first(form.REFERS)):
            base = self.answers.find_base(exchange, form, all_turns)
            parent, all_turns, edits = _with_stored(before, base, request)
        added_turns = [turn for run in edits if isinstance(run, AddedRun) for turn in run.messages]
        turn_tools = [] if form.turn_tools is no_tools else bodies.tools_of_turns(form, added_turns)
        visible = self._visible(parent, all_turns, added_turns, exchange.reply)
        if visible.turns is not all_turns or parent.visible_turns is not parent.all_turns:
            parent_visible = (
                parent.all_turns[: parent.length] if parent.visible_turns is parent.all_turns else parent.visible_turns
            )
            edits = difference(parent_visible, visible.turns)
        system = _system(exchange.first(form.SYSTEM), before) if form.SYSTEM else before.system
        turns = follow(form, parent.turns, visible.turns, edits, system[1], rewrite if self.is_mixed else blocks_of)
        known = 0
        if parent is not before:
            first = turns.edits[0] if turns.edits else None
            known = first.stop if isinstance(first, KeptRun) and first.start == 0 else 0
            turns = replace(turns, edits=growth(before.turns.messages, turns.messages))
        compacted = self._compacted(visible) if visible.summary else None
        return LoadedRequest(
            *(turns, all_turns, len(all_turns), visible.turns, system, turn_tools, base, compacted, visible.is_hidden),
            *(known, parent.turns.messages if known else None),
        )

    def _visible(
        self, parent: LoadedRequest, all_turns: list[Any], added_turns: list[Any], reply: Response
    ) -> ShownTurns:
        """Return the turns that the model saw; the reply may begin with a summary of them."""
        test = self.form.is_compaction
        is_compacted = parent.visible_turns is not parent.all_turns or (
            test is not is_no_compaction and any(map(test, added_turns))
        )
        is_compacted = is_compacted and any(map(test, all_turns))
        visible = self.form.visible_turns(all_turns) if is_compacted else ShownTurns(all_turns)
        if not reply.compacted:
            return visible
        if not self.form.is_compaction(reply.compacted):  # the response has another format
            return structs.replace(visible, is_hidden=True)
        return self.form.visible_turns([*visible.turns, reply.compacted])

    def _compacted(self, visible: ShownTurns) -> Compacted:
        """Return the summary and the last assistant message that it replaced."""
        summary: Any = {"role": "assistant", "content": visible.summary}
        assistant_turns = (
            each for each in reversed(visible.summarized) if isinstance(each, dict) and each.get("role") == "assistant"
        )
        for turn in assistant_turns:
            messages = view.messages(self.form.load(turn, self.form.START).turns)
            return Compacted(summary, messages[-1] if messages else None)
        return Compacted(summary, None)

    def remember(
        self, loaded_request: LoadedRequest, exchange: Exchange, turns: list[Any]
    ) -> tuple[RepeatedViolation, ...]:
        """Continue from the request of this valid entry; return the findings about it."""
        self.before = loaded_request
        # Such a request neither refers to responses nor can its own response be referred to.
        if exchange.reply.body is None and exchange.first(self.form.REFERS) in (NOTHING, b"null"):
            self.last = None
            return ()
        is_missing = self.answers.is_history_missing(exchange, self.form)
        self.last = self.answers.add(exchange, self.form, turns, loaded_request)
        return (RepeatedViolation("missing-history"),) if is_missing else ()

    # Equal messages then share their objects.
    def adopt(self, messages: list[Message]) -> None:
        """Continue with these messages instead of the equal ones loaded last."""
        if self.before:
            self.before = self.before._replace(turns=replace(self.before.turns, messages=messages))
            if self.last and self.last.request:
                self.last.request = self.before


def _system(raw: bytes, before: LoadedRequest) -> tuple[bytes, Json]:
    """Return the system member of a request, which is the same object while its bytes are repeated."""
    if raw in (SYSTEM, before.system[0]):
        return before.system
    return raw, jsonio.loads(raw) if raw != NOTHING else None


def _with_stored(
    before: LoadedRequest, base: Answer | None, request: Request
) -> tuple[LoadedRequest, list[Any], Edits]:
    """Return the request that a request continues, its turns including stored ones, and the edits between both."""
    all_turns = request.messages
    if base and base.request:
        parent, new_turns = base.request, (*base.response_turns, *all_turns)
        return parent, _extend(parent, new_turns), (KeptRun(0, parent.length), AddedRun(new_turns))
    # The reader's edits compare the turns in the lines, but these requests have more turns.
    if base or before.base:
        all_turns = [*base.turns, *all_turns] if base else all_turns
        return before, all_turns, difference(before.all_turns[: before.length], all_turns)
    return before, all_turns, request.edits


def _extend(parent: LoadedRequest, new_turns: tuple[Any, ...]) -> list[Any]:
    """Return the turns of a request that continues ``parent``, appended to the list of ``parent`` if possible."""
    # Copied if the list belongs to the reader, or if another continuation has already been appended to it.
    if parent.base is None or len(parent.all_turns) > parent.length:
        return [*parent.all_turns[: parent.length], *new_turns]
    parent.all_turns.extend(new_turns)
    return parent.all_turns
