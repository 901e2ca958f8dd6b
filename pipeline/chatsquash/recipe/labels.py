"""Compare the tokens that a trainer trains on with the replies that it should train on."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash.core.text import pluralize, quote
from chatsquash.recipe.replies import Replies, TrainedReply, same_start
from chatsquash.templates.counting import Tokenizer

_SHORT = 60
"""The number of characters shown before and after a difference."""
_MAX_CANDIDATES = 50
"""Replies with the same text that are compared with a row that is none of them."""
_MAX_END = 2
"""Tokens that a trainer may add after the end of a conversation."""


class LabelledRow(Struct):
    """A row of a batch, without padding."""

    ids: list[int]
    trained: list[bool]
    """Whether there is loss on each token."""


class LabelError(Exception):
    """The trainer trains on something else than the replies; the message describes the first difference."""


class _Part(NamedTuple):
    """Neighbouring tokens of a row that all have loss, or none."""

    is_trained: bool
    ids: list[int]
    text: str


class Totals(Struct):
    """The replies that were found in the labels of a trainer."""

    rows: int = 0
    replies: int = 0
    tokens: int = 0
    """Tokens with loss."""
    exact: int = 0
    """Replies that follow exactly the prompt of inference; others follow one that keeps more of earlier replies."""
    headers: int = 0
    """Replies that are trained on together with the header of their turn."""
    seen: set[tuple[int, int]] = field(default_factory=set)
    """The replies by the indices of their row and in their row."""


class Labels:
    """Finds the replies of a dataset in the rows of a trainer."""

    def __init__(self, rows: Replies, tokenizer: Tokenizer) -> None:
        self._rows, self._tokenizer = rows, tokenizer
        self._counts: list[int] = []
        """The number of replies in each row."""
        self._by_text: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._by_end: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """The places of replies by their prompt and text."""
        self._headers: set[str] = set()
        for row, replies in enumerate(rows):
            self._counts.append(len(replies))
            for at, reply in enumerate(replies):
                self._by_text[hash(reply.text.strip())].append((row, at))
                self._by_end[_key(reply.prompt + reply.text)].append((row, at))
                self._headers.add(reply.header)
        self.totals = Totals()

    def add(self, row: LabelledRow) -> None:
        """Compare a row; raise ``LabelError`` if it trains on anything else than replies of one record."""
        self.totals.rows += 1
        parts = self._parts(row)
        trained = [at for at, part in enumerate(parts) if part.is_trained]
        if not trained:
            return
        problem: LabelError | None = None
        for place in self._candidates(parts, trained[0]):
            try:
                matches = self._match(parts, trained, place, row)
            except LabelError as error:
                problem = problem or error
                continue
            self._count(parts, trained, matches)
            return
        raise problem or self._unknown(parts[trained[0]].text)

    def finish(self) -> None:
        """Raise ``LabelError`` if a reply was not trained on."""
        places = ((row, at) for row, count in enumerate(self._counts) for at in range(count))
        missing = next((place for place in places if place not in self.totals.seen), None)
        if missing:
            reply = self._rows[missing[0]][missing[1]]
            count = pluralize(sum(self._counts) - len(self.totals.seen), "reply", "replies")
            raise LabelError(
                f"{reply.place}: not trained on, like {count} in all; the trainer dropped the record or has no"
                f" loss on it: {quote(reply.text[:_SHORT])}"
            )

    def _parts(self, row: LabelledRow) -> list[_Part]:
        pairs = zip(row.ids, row.trained, strict=True)
        parts = []
        for is_trained, group in groupby(pairs, key=lambda pair: pair[1]):
            ids = [token for token, _ in group]
            text = self._tokenizer.decode(ids) if min(ids) >= 0 else None
            if text is None:
                wrong = min(ids) if min(ids) < 0 else max(ids)
                raise LabelError(f"token {wrong} is not in the vocabulary of the model's tokenizer")
            parts.append(_Part(is_trained, ids, text))
        return parts

    def _candidates(self, parts: list[_Part], first: int) -> list[tuple[int, int]]:
        """Return the places of the replies that the first trained part may be, those not yet seen first."""
        text = parts[first].text
        before = parts[first - 1].text if first else ""
        places = self._by_end.get(_key(before + text), [])
        if not places:  # for the description of the difference
            texts = {text.strip()} | {text.removeprefix(header).strip() for header in self._headers}
            places = [place for each in sorted(texts) for place in self._by_text.get(hash(each), ())][:_MAX_CANDIDATES]
        return sorted(places, key=lambda place: place in self.totals.seen)

    def _match(
        self, parts: list[_Part], trained: list[int], place: tuple[int, int], row: LabelledRow
    ) -> list[tuple[tuple[int, int], bool, bool]]:
        """Match the trained parts with the replies from a place on.

        Returns:
            For each part, the place of its reply, whether its prompt is that of inference, and whether the part
            includes its header.
        """
        (number, start), matches = place, []
        replies, text = self._rows[number], ""
        whole = self._is_tokenization(row.ids, "".join(part.text for part in parts))
        for at, index in enumerate(trained):
            part, before = parts[index], parts[index - 1].text if index else ""
            if start + at >= len(replies):
                raise LabelError(
                    f"{replies[-1].place}: more is trained on after it in the same row: {self._other(part)}"
                )
            reply = replies[start + at]
            if (number, start + at) in self.totals.seen:
                raise LabelError(f"{reply.place}: trained on twice")
            header = _header(part, reply)
            if header is None:
                raise _different(reply, part.text, reply.text, self._other(part))
            text += before + header
            is_exact = text == reply.prompt
            if not is_exact and (not at or not _is_context(before + header, reply)):
                raise _different(reply._replace(place=f"{reply.place}, its prompt"), text, reply.prompt)
            if not whole and not self._is_tokenization(part.ids, part.text):
                raise LabelError(
                    f"{reply.place}: the tokens are not those of the model's tokenizer for {quote(part.text[:_SHORT])}"
                )
            text += part.text.removeprefix(header)
            matches.append(((number, start + at), is_exact, bool(header)))
        self._check_end(parts[trained[-1] + 1 :], replies[start + len(trained) - 1])
        return matches

    def _check_end(self, rest: list[_Part], reply: TrainedReply) -> None:
        if rest and len(rest[0].ids) > _MAX_END and rest[0].text.strip() and reply.is_last:
            raise LabelError(
                f"{reply.place}: followed by other text in the same row: {quote(rest[0].text.strip()[:_SHORT])}"
            )

    def _count(self, parts: list[_Part], trained: list[int], matches: list[tuple[tuple[int, int], bool, bool]]) -> None:
        totals = self.totals
        totals.tokens += sum(len(parts[index].ids) for index in trained)
        for place, is_exact, has_header in matches:
            totals.seen.add(place)
            totals.replies += 1
            totals.exact += is_exact
            totals.headers += has_header

    def _is_tokenization(self, ids: list[int], text: str) -> bool:
        tokens = array("I", ids)
        if sys.byteorder == "little":
            tokens.byteswap()
        return self._tokenizer.token_bytes(text) == tokens.tobytes()

    def _other(self, part: _Part) -> str:
        """Return what a part that does not match is instead."""
        known = self._by_text.get(hash(part.text.strip()))
        if known:
            row, at = known[0]
            return f"a reply of another record, {self._rows[row][at].place} (are records packed into one row?)"
        return quote(part.text[:_SHORT])

    def _unknown(self, text: str) -> LabelError:
        """Return the error for other text with loss, with the most similar reply."""
        words, best = text.lstrip(), None
        for reply in (reply for row in self._rows for reply in row):
            body = reply.text.strip()
            before, part, _ = text.partition(body) if body else ("", "", "")
            if part and before.strip():
                return LabelError(
                    f"{reply.place}: trained on together with the text before it: {quote(before[-_SHORT:])}"
                )
            same = len(same_start(words, reply.text.lstrip()))
            if best is None or same > best[0]:
                best = same, reply
        if best is None:
            return LabelError(f"trained on a text, but the records have no replies to train on: {quote(text[:_SHORT])}")
        return _different(best[1], words, best[1].text.lstrip())


def _key(text: str) -> int:
    return hash(text.rstrip())


def _header(part: _Part, reply: TrainedReply) -> str | None:
    """Return the end of the header that a trained part includes, or ``None`` if the part is not the reply."""
    body = reply.text.rstrip()
    text = part.text.rstrip()
    if not text.endswith(body):
        return None
    header = text[: len(text) - len(body)]
    return header if reply.header.endswith(header) else None


def _is_context(text: str, reply: TrainedReply) -> bool:
    """Return whether a text without loss is the end of the prompt, with the messages since the previous reply."""
    if not reply.prompt.endswith(text):
        return False
    at = 0
    for each in reply.preceding:
        at = text.find(each, at)
        if at < 0:
            return False
        at += len(each)
    return True


def _different(reply: TrainedReply, actual: str, expected: str, instead: str = "") -> LabelError:
    """Return the error for the first difference between two texts."""
    same = len(same_start(actual, expected))
    start = max(0, same - _SHORT)
    is_cut = same == len(actual) and same < len(expected.rstrip())
    end = " (cut off: is the maximum length of the trainer too small?)" if is_cut else ""
    actual_text = instead if instead.startswith("a reply") else quote(actual[start : same + _SHORT])
    return LabelError(
        f"{reply.place}: expected {quote(expected[start : same + _SHORT])}, but the trainer has {actual_text}{end}"
    )


def compare(rows: Replies, labelled: Iterable[LabelledRow], tokenizer: Tokenizer) -> Totals:
    """Compare all rows of a trainer with the replies of the records.

    Raises:
        LabelError: The labels are not exactly the replies, each once.
    """
    labels = Labels(rows, tokenizer)
    for row in labelled:
        labels.add(row)
    labels.finish()
    return labels.totals
