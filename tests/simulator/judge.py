"""What a conversion made of a played log, held to what is true of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from tests.simulator.canonical import Canonical, Written, of_record
from tests.simulator.play import Played
from tests.simulator.rows import misshapen
from tests.simulator.score import Miss, Score
from tests.simulator.truth import Conversation, Message, Reply, Truth


class Output(NamedTuple):
    """What a conversion wrote."""

    rows: list[dict[str, Any]]
    """``reports/replies.jsonl``, with the names of files as they were played."""
    records: dict[str, dict[str, Any]]
    """Records by ``FILE:ROW``."""


def read(out: Path, root: str) -> Output:
    """What lies in an output folder; logs lay in ``root``, with which the reports begin their names."""
    rows = list(_lines(out / "reports" / "replies.jsonl"))
    for row in rows:
        row["file"] = row["file"].removeprefix(f"{root.rstrip('/')}/")
    files = sorted((out / "data").glob("*.jsonl"))
    records = {
        f"{file.relative_to(out).as_posix()}:{number}": record
        for file in files
        for number, record in enumerate(_lines(file), 1)
    }
    return Output(rows, records)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def judge(played: Played, output: Output, *, restored_loss: bool = False) -> Score:
    """Hold what was written of one played log to its truth; ``restored_loss`` says that of ``--restored-loss 1``."""
    return _Judge(played, output, restored_loss=restored_loss).score()


class _Judge:
    def __init__(self, played: Played, output: Output, *, restored_loss: bool):
        self.seed = played.seed
        self.truth: Truth = played.truth
        self.output = output
        self.restored_loss = restored_loss
        self.rows = {(row["file"], row["line"]): row for row in output.rows}
        self.written = {place: list(of_record(record["messages"])) for place, record in output.records.items()}
        self.all_known = set().union(*(each.known for each in self.truth.conversations.values()))
        self.logged = {each.canonical for each in self.truth.replies}
        """What was logged, though it may be in no conversation, as a reply that broke off."""
        self.everything = self.all_known | self.logged | self.truth.choices
        self.right: Counter[tuple[str, str]] = Counter()
        self.of: Counter[tuple[str, str]] = Counter()
        self.misses: list[Miss] = []
        self.of_conversation: dict[str, str] = {}
        for place, record in output.records.items():
            if self.of_conversation.setdefault(record["conversation"], place) != place:
                self._extra("conversations", place, 0, "a second record of its conversation")

    def score(self) -> Score:
        for reply in self.truth.replies:
            self._reply(reply)
        for conversation in self.truth.conversations.values():
            self._conversation(conversation)
        self._shapes()
        self._strangers()
        self._weights()
        self._results()
        return Score(self.right, self.of, self.misses)

    def _count(self, score: str, said: Reply | Conversation, why: str | None) -> None:
        """Count something; ``why`` says why it is not as it should be."""
        self.of[score, said.behaviour] += 1
        if why is None:
            self.right[score, said.behaviour] += 1
        else:
            self._miss(score, said, why)

    def _miss(self, score: str, said: Reply | Conversation, why: str) -> None:
        file, line = said.end if isinstance(said, Conversation) else (said.file, said.line)
        self.misses.append(Miss(self.seed, score, said.behaviour, file, line, why))

    def _reply(self, reply: Reply) -> None:
        row = self.rows.get((reply.file, reply.line))
        found = row["kind"] if row else "missing"
        self._count("kinds", reply, None if found == reply.kind else f"{reply.kind} is {found}")
        self._count("status", reply, _wrong_status(reply, row))
        loss = bool(row and row["loss"])
        if reply.loss_if_restored if self.restored_loss else reply.loss:
            self._count("loss", reply, self._without_loss(reply, row) if loss else f"no loss: {_said(row)}")
        elif loss:
            self._miss("loss never", reply, f"loss: {_said(row)}")

    def _without_loss(self, reply: Reply, row: dict[str, Any]) -> str | None:
        """Why the message that carries a reply's loss does not do so."""
        said = {each.index: each for each in self.written.get(row["record"], ())}
        message = said.get(row["message"])
        if message is None:
            return f"no message {row['message']} in {row['record']}"
        if message.canonical != reply.canonical:
            return f"message {row['message']} of {row['record']} is another"
        return None if message.weight == 1 else f"weight {message.weight} in {row['record']}"

    def _conversation(self, truth: Conversation) -> None:
        row = self.rows.get(truth.end)
        place = self.of_conversation.get(row["conversation"]) if row else None
        if place is None:
            self._count("conversations", truth, f"no record of this {truth.kind}")
            return
        record, written = self.output.records[place], self.written[place]
        why = None if record["kind"] == truth.kind else f"{truth.kind} is {record['kind']}"
        self._count("conversations", truth, why or difference(written, truth.messages))
        self._count("parents", truth, self._wrong_parent(truth, record))
        self._foreign(truth, written)

    def _wrong_parent(self, truth: Conversation, record: dict[str, Any]) -> str | None:
        expected = None
        if truth.parent:
            row = self.rows.get(self.truth.conversations[truth.parent].end)
            expected = row["conversation"] if row else "missing"
        return None if record["parent"] == expected else f"the parent of this {truth.kind} is {record['parent']}"

    def _foreign(self, truth: Conversation, written: list[Written]) -> None:
        for score, why in self._not_of(truth.known, written):
            self._miss(score, truth, why)

    def _not_of(self, known: frozenset[Canonical], written: list[Written]) -> Iterator[tuple[str, str]]:
        """Messages that are not of a conversation, but of another, or of none."""
        foreign = [each for each in written if each.canonical not in known]
        mixed = [each.index for each in foreign if each.canonical in self.all_known]
        unknown = [each.index for each in foreign if each.canonical not in self.everything]
        if mixed:
            yield "mixed", f"message {mixed[0]} is of another conversation"
        if unknown:
            yield "unknown", f"message {unknown[0]} was never logged"

    def _shapes(self) -> None:
        """Rows stand in the order of files and lines, and have the members that the contract names."""
        for row in self.output.rows:
            if why := misshapen(row):
                self._extra("rows", row.get("file", ""), row.get("line", 0), why)
        places = [(row["file"], row["line"]) for row in self.output.rows]
        if places != sorted(places):
            self._extra("rows", "reports/replies.jsonl", 0, "rows are not in the order of files and lines")

    def _strangers(self) -> None:
        """Rows and records of nothing that was played."""
        known = {(reply.file, reply.line) for reply in self.truth.replies}
        ends = [
            self.rows[each.end]["conversation"] for each in self.truth.conversations.values() if each.end in self.rows
        ]
        for place in sorted(self.rows.keys() - known):
            self._extra("kinds", *place, "no reply was logged here")
        for name in sorted(self.of_conversation.keys() - set(ends)):
            self._stranger(self.of_conversation[name])

    def _stranger(self, place: str) -> None:
        """A record of what is no conversation: a part of one, or several."""
        if self.written[place] and self.written[place][-1].canonical in self.truth.choices:
            return
        self._extra("conversations", place, 0, "no conversation ends so")
        written = self.written[place]
        said = {each.canonical for each in written}
        closest = max(self.truth.conversations.values(), key=lambda each: len(said & each.known))
        for score, why in self._not_of(closest.known, written):
            self._extra(score, place, 0, why)

    def _results(self) -> None:
        """Each result is one of its own call, which its text proves, since hardly any two results are equal."""
        calls = {text: call for call, texts in self.truth.results.items() for text in texts}
        for place, messages in self.written.items():
            asked: tuple[str, ...] = ()
            for each in messages:
                said = each.canonical
                asked = said.calls if said.role == "assistant" else asked
                call = calls.get(said.text) if said.role == "tool" else None
                if call and said.text not in self.truth.results.get(_at(asked, said.answers), ()):
                    self._extra("results", place, 0, f"message {each.index} is the result of another call: {call[:60]}")

    def _extra(self, score: str, file: str, line: int, why: str) -> None:
        self.of[score, "none"] += 1
        self.misses.append(Miss(self.seed, score, "none", file, line, why))

    def _weights(self) -> None:
        """Loss stands nowhere but where a row says so, and once there."""
        said = Counter((row["record"], row["message"]) for row in self.output.rows if row["loss"])
        for place, messages in self.written.items():
            for each in messages:
                if each.weight == 1 and said[place, each.index] != 1:
                    why = f"{said[place, each.index]} replies say loss at message {each.index}"
                    self._extra("loss never", place, 0, why)


def _wrong_status(reply: Reply, row: dict[str, Any] | None) -> str | None:
    """What else became of a reply than should have, where all conversations are written."""
    why = None if reply.conversation else "retry" if reply.kind == "retry" else "duplicate"
    expected = ("lost" if why else "carried", why)
    return None if row and (row["status"], row["why"]) == expected else f"{_said(row)} for {expected}"


def difference(written: Iterable[Written], expected: tuple[Message, ...]) -> str | None:
    """Where a record leaves what was said."""
    found, expected = in_order(written, expected)
    for at, (each, message) in enumerate(zip(found, expected, strict=False)):
        if each.canonical != message.canonical and each.canonical not in message.others:
            return f"message {at} is another {each.canonical.role}: {each.canonical.text[:40]!r} for {message.canonical.text[:40]!r}"
        if each.reasoning != message.reasoning and (message.own or each.reasoning):
            return f"the reasoning of message {at} is another"
    return None if len(found) == len(expected) else f"{len(found)} messages for {len(expected)}"


def in_order(written: Iterable[Written], expected: tuple[Message, ...]) -> tuple[list[Written], tuple[Message, ...]]:
    """Return both without messages that may be missing and are, and with results in the order of their calls."""
    found = list(written)
    present = {each.canonical for each in found}
    expected = tuple(each for each in expected if not each.optional or each.canonical in present)
    sorted_found = [
        each
        for is_result, run in groupby(found, lambda each: each.canonical.role == "tool")
        for each in (sorted(run, key=lambda each: each.canonical.answers) if is_result else run)
    ]
    sorted_expected = tuple(
        each
        for is_result, run in groupby(expected, lambda each: each.canonical.role == "tool")
        for each in (sorted(run, key=lambda each: each.canonical.answers) if is_result else run)
    )
    return sorted_found, sorted_expected


def _at(calls: tuple[str, ...], place: int) -> str:
    return calls[place] if place < len(calls) else ""


def _said(row: dict[str, Any] | None) -> str:
    return f"{row['kind']}, {row['status']}, {row['why']}" if row else "no row"
