"""Replies that repeat earlier ones: the same calls with the same results, cycles, and failed calls made again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from xxhash import xxh3_128_digest

from chatsquash.checks.steps.client_texts import is_cleared
from chatsquash.checks.steps.conversation import Step, StepCall
from chatsquash.core.lazy import lazy_compile

_LONGEST_CYCLE = 4
"""The maximum number of replies in a cycle."""
_TIMES = lazy_compile(
    r"""(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)
    |(?<![\d:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?![\d:])
    |(?<![\d.])\d{1,12}(?:\.\d{1,12})?[ ]?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?)\b""",
    re.VERBOSE,
)
"""Dates, times and durations, which differ between results that are otherwise equal."""
_TEMPORARY = lazy_compile(
    r"""rate[ _-]?limit|too[ ]many[ ]requests|(?:http|status|error|code)\W{0,3}(?:429|502|503|504|529)\b|overloaded
    |(?:service|server|model)[ ](?:is[ ])?(?:temporarily[ ])?unavailable|temporary[ ]failure|bad[ ]gateway
    |(?:connection|connect|request|read|gateway|network)[ ](?:timed[ -]?out|timeout)
    |connection[ ](?:reset|refused|closed|aborted)|econnre|etimedout|eai_again|could[ ]not[ ]resolve[ ]host""",
    re.IGNORECASE | re.VERBOSE,
)
"""Reasons for a failure that may be gone when the call is made again."""
_REASON = 1000
"""The number of characters at each end of a result that are searched for a reason."""


def repeated_calls(steps: list[Step], edits: set[int]) -> Iterator[int]:
    """Yield replies with only calls that were made before in the turn, with equal results.

    Args:
        steps: The replies.
        edits: The indices of messages with a successful edit. After an edit, the same call is not a repetition.
    """
    turn = -1
    digests: dict[bytes, bytes] = {}
    for step in steps:
        if step.turn != turn:
            turn, digests = step.turn, {}
        own = [(call.key, _result_digest(call)) for call in step.calls]
        if own and all(digest and digests.get(key) == digest for key, digest in own):
            yield step.at
        if step.at in edits:
            digests.clear()
        digests.update((key, digest) for key, digest in own if digest)


def _result_digest(call: StepCall) -> bytes | None:
    """Return a digest of the result, or ``None`` if it is missing, empty or cleared."""
    text = call.text
    return None if not call.results or not text.strip() or is_cleared(text) else _digest(text)


def _digest(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


class _Shape(NamedTuple):
    """What a reply must have in common with another reply in a loop."""

    turn: int
    content: bytes
    """A digest of the calls, or of the text of a reply without calls; empty if it has neither."""
    results: tuple[bytes | None, ...]
    """Digests of the results without times; ``None`` for missing and cleared results."""

    def repeats(self, other: _Shape) -> bool:
        """Return whether two replies are the same, with results that are not known to differ."""
        if self.turn != other.turn or self.content != other.content or not self.content:
            return False
        both = zip(self.results, other.results, strict=True)
        return all(one == two or one is None or two is None for one, two in both)


def loops(steps: list[Step]) -> Iterator[int]:
    """Yield replies that continue a cycle of replies for at least the third time."""
    shapes = list(map(_shape, steps))
    lengths = [0] * (_LONGEST_CYCLE + 1)  # by period, the number of replies that repeat the one a period before
    for number, (step, shape) in enumerate(zip(steps, shapes, strict=True)):
        for period in range(1, _LONGEST_CYCLE + 1):
            repeats = number >= period and shape.repeats(shapes[number - period])
            lengths[period] = lengths[period] + 1 if repeats else 0
        if any(lengths[period] > period for period in range(1, _LONGEST_CYCLE + 1)):
            yield step.at


def _shape(step: Step) -> _Shape:
    if not step.calls:
        return _Shape(step.turn, _digest(step.text) if step.text else b"", ())
    return _Shape(step.turn, b"".join(call.key for call in step.calls), tuple(map(_lasting_digest, step.calls)))


def _lasting_digest(call: StepCall) -> bytes | None:
    text = call.text
    return None if not call.results or is_cleared(text) else _digest(_TIMES.sub("0", text))


def failures_repeated(steps: list[Step]) -> Iterator[int]:
    """Yield replies that make a call again directly after it failed, unless the reason may be temporary."""
    for before, step in pairwise(steps):
        if before.turn != step.turn or not before.calls or not step.calls:
            continue
        failed = set()
        for call in reversed(before.calls):
            if call.state != "failed":
                break  # the calls before it are not the last ones
            failed.add(call.key)
        first = step.calls[0]
        if first.key in failed and not any(_is_temporary(call) for call in before.calls if call.key == first.key):
            yield step.at


def _is_temporary(call: StepCall) -> bool:
    text = call.text
    return _TEMPORARY.search(text[:_REASON]) is not None or _TEMPORARY.search(text[-_REASON:]) is not None
