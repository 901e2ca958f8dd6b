"""Replies that repeat earlier ones: the same calls with the same results, cycles, and failed calls made again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, takewhile

from xxhash import xxh3_128_digest

from chatsquash.checks.steps.client_texts import is_cleared
from chatsquash.checks.steps.conversation import Step, StepCall, command_text
from chatsquash.checks.steps.shell import commands
from chatsquash.core.lazy import lazy_compile

_LONGEST_CYCLE = 4
"""The maximum number of replies in a cycle."""
_VOLATILE = lazy_compile(
    r"""^(?:Chunk[ ]ID|Wall[ ]time|Process[ ]Group[ ]PGID|Background[ ]PIDs):[^\n]{0,80}$
    |"(?:duration_seconds|duration_ms|wall_time|chunk_id)":[ ]?(?:[\d.]{1,20}|"[^"\n]{0,40}")""",
    re.MULTILINE | re.VERBOSE,
)
"""Times and numbers of processes that Codex and Gemini CLI add to results."""
_MARKS = ("Chunk ID", "Wall time", "PGID", "PIDs", "duration_", "wall_time", "chunk_id")
_EDGE = 600
"""The number of characters at each end of a result that are searched for them."""
_READ_ONLY = lazy_compile(r"(?i)read|view|cat|open|list|\bls\b|grep|glob|search|find|fetch")
"""Names of tools whose results do not depend on edits of other files."""
_READERS = frozenset(
    (
        "cat",
        "head",
        "tail",
        "sed",
        "grep",
        "rg",
        "ls",
        "find",
        "wc",
        "less",
        "more",
        "nl",
        "stat",
        "file",
        "tree",
        "cd",
        "echo",
    )
)
"""Commands whose output does not depend on edits of other files."""


def repeated_calls(steps: list[Step], edits: set[int]) -> Iterator[int]:
    """Yield replies with only calls that were made before in the turn, with equal results.

    Args:
        steps: The replies.
        edits: The indices of messages with a successful edit. Running a program again after one is not a repetition,
            because the result may depend on it.
    """
    counts = Counter(call.key for step in steps for call in step.calls)
    turn = -1
    files: dict[bytes, bytes] = {}
    programs: dict[bytes, bytes] = {}
    for step in steps:
        if step.turn != turn:
            turn, files, programs = step.turn, {}, {}
        own = [(call.key, _result_digest(call) if counts[call.key] > 1 else None) for call in step.calls]
        if own and all(digest and digest in (files.get(key), programs.get(key)) for key, digest in own):
            yield step.at
        if step.at in edits:
            programs.clear()
        for call, (key, digest) in zip(step.calls, own, strict=True):
            if digest:
                (files if edits and _only_reads(call) else programs)[key] = digest


def _only_reads(call: StepCall) -> bool:
    """Return whether a call only reads files, so that an edit that it does not show had no influence on its result."""
    if _READ_ONLY.search(call.name) is not None:
        return True
    command = command_text(call)
    return bool(command) and all(each.words[0] in _READERS for each in commands(command) if each.words)


def _result_digest(call: StepCall) -> bytes | None:
    """Return a digest of the result, or ``None`` if it is missing, empty or cleared."""
    text = call.text
    if not call.results or not text.strip() or is_cleared(text):
        return None
    return _digest(_lasting(text[:_EDGE]) + text[_EDGE:-_EDGE] + _lasting(text[_EDGE:][-_EDGE:]))


def _lasting(text: str) -> str:
    """Return a text without times and numbers of processes."""
    return _VOLATILE.sub("", text) if any(map(text.__contains__, _MARKS)) else text  # most results contain no marks


def _digest(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


def loops(steps: list[Step]) -> Iterator[int]:
    """Yield replies that continue a cycle of replies for at least the third time, whatever the results are."""
    contents = [(step.turn, _content(step)) for step in steps]
    lengths = [0] * (_LONGEST_CYCLE + 1)  # by period, the number of replies that repeat the one a period before
    for number, (step, content) in enumerate(zip(steps, contents, strict=True)):
        for period in range(1, _LONGEST_CYCLE + 1):
            repeats = number >= period and content[1] and content == contents[number - period]
            lengths[period] = lengths[period] + 1 if repeats else 0
        if any(lengths[period] > period for period in range(1, _LONGEST_CYCLE + 1)):
            yield step.at


def _content(step: Step) -> bytes:
    """Return a digest of the calls, or of the text of a reply without calls; empty if it has neither."""
    if step.calls:
        return b"".join(call.key for call in step.calls)
    return _digest(step.text) if step.text else b""


def failures_repeated(steps: list[Step]) -> Iterator[int]:
    """Yield replies that make a call again directly after it failed."""
    for before, step in pairwise(steps):
        if before.turn == step.turn and step.calls:
            last_calls = takewhile(lambda call: call.state == "failed", reversed(before.calls))
            if step.calls[0].key in {call.key for call in last_calls}:
                yield step.at
