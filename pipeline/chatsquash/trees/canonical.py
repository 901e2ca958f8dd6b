"""When messages are the same: what of them counts, as a number.

Two messages count as the same where they have one role and say the same, without regard to white space at the ends of
their texts and where parts meet, to reminders that clients put in, to the ids and the spelling of calls, and to
reasoning.  Numbers are Python's hashes, so they mean something in this process only.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

from msgspec import Struct, field
from xxhash import xxh3_64, xxh3_64_intdigest

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.reasoning import is_part, without_block
from chatsquash.core.text import remove_delimited

_REMINDERS = ("system-reminder", "environment_context", "environment_details", "info-msg")
_SEAMS = ("", "\n", " ", "\n\n")
"""What one text may have where the parts of another meet."""
NOTHING = 0
"""The number of a message that is no part of a chain: a system prompt, or what only reminded."""


class Canon(Struct):
    """Gives messages of one session their numbers."""

    _divided: dict[int, int] = field(default_factory=dict)
    """Of texts that came in parts: the number by each way to put them together."""
    _spelled: dict[str, int] = field(default_factory=dict)
    """What arguments are the same by, as they are written."""
    _whole: set[int] = field(default_factory=set)
    """The numbers of texts that came as one."""

    def number(self, message: Message) -> int:
        """What a message is the same by; a result, by the place of the call that it answers, has another one."""
        role = message["role"]
        if role in ("system", "developer"):
            return NOTHING
        said = self._said(role, message.get("content"))
        if role == "assistant":
            calls = message.get("tool_calls") or message.get("function_call")
            listed = calls if isinstance(calls, list) else [calls]
            return hash((said, *map(self._call, listed))) if calls else said
        return said

    def _said(self, role: str, content: Json) -> int:
        if type(content) is str:
            text = content.strip()
            if "<" in text:
                text = _essential(role, text)
            return self._text(role, text) if text or role != "user" else NOTHING
        if not isinstance(content, list):
            return hash((role, "" if content is None else jsonio.dumps(content)))
        return self._of_parts(role, [part for part in content if not is_part(part)])

    def _text(self, role: str, text: str) -> int:
        """What a text is the same by that comes as one."""
        number = hash((role, text))
        if self._divided and (known := self._divided.get(number)) is not None:
            return known
        self._whole.add(number)
        return number

    def _of_parts(self, role: str, parts: list[Json]) -> int:
        others = _others(parts)
        texts = [text for part in parts if (text := (chat.part_text(part) or "").strip())]
        texts = [text for each in texts if (text := _essential(role, each))]
        if role == "user" and not texts and not others:
            return NOTHING
        number = self._join_parts(role, texts) if len(texts) > 1 else self._text(role, "".join(texts))
        return hash((number, others)) if others else number

    def _join_parts(self, role: str, texts: list[str]) -> int:
        """What a text is the same by that comes in parts: as a text that came as one, with some seam, if one did."""
        ways = [hash((role, seam.join(texts))) for seam in _SEAMS]
        known = (self._divided.get(way, way if way in self._whole else None) for way in ways)
        joined = next((number for number in known if number is not None), ways[0])
        self._divided.update(dict.fromkeys(ways, joined))
        return joined

    def number_of_both(self, begun: Message, said: Message, whole: Message) -> int:
        """The number of a message that consists of two, which others may join with another seam."""
        texts = [_essential("assistant", (chat.text(each) or "").strip()) for each in (begun, said)]
        if all(texts):
            number = self._join_parts("assistant", texts)
            exact = _essential("assistant", (chat.text(whole) or "").strip())
            self._divided.setdefault(hash(("assistant", exact)), number)
        return self.number(whole)

    def _call(self, call: Json) -> int:
        """What a call is the same by: its tool and its arguments, however they are spelled."""
        function: Any = call.get("function") or call.get("custom") or call if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return hash(jsonio.dumps(call))
        given = function.get("arguments", function.get("input"))
        if type(given) is not str:
            number = hash(spelled(given))
            return hash((str(function.get("name")), number))
        known = self._spelled.get(given)
        number = self._spelled.setdefault(given, hash(spelled(given))) if known is None else known
        return hash((str(function.get("name")), number))


def result_number(place: int) -> int:
    """What a result is the same by, given the place of the call that it answers, from 1; 0 for none."""
    return hash(("tool", place))


def _essential(role: str, text: str) -> str:
    """The part of a text that counts: a user's without reminders, an assistant's without reasoning before it."""
    if role == "user":
        return without_reminders(text)
    return without_block(text).strip() if role == "assistant" else text


def without_reminders(text: str) -> str:
    """A user's text without the blocks by which clients remind the model of something."""
    for tag in _REMINDERS:
        if f"<{tag}>" in text:
            text = remove_delimited(text, f"<{tag}>", f"</{tag}>").strip()
    return text


def prompt_text(message: Message) -> str:
    """Return what a user's message says, without reminders and white space at its ends."""
    return without_reminders(chat.text(message) or "").strip()


def _others(parts: list[Json]) -> int:
    """What the parts that are no text are the same by, which may be very many; 0 if there are none."""
    count, digest = 0, xxh3_64()
    for part in parts:
        if chat.part_text(part) is None:
            digest.update(jsonio.dumps(part))
            count += 1
    return hash((count, digest.intdigest())) if count else 0


def spelled(arguments: Json) -> bytes:
    """What arguments are the same by, whatever their order, white space, escapes and spelling of numbers."""
    value: Any = arguments
    if isinstance(value, str):
        try:
            value = jsonio.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return str(value).strip().encode("utf-8", "surrogatepass")
    if value in (None, "", {}):
        return b"{}"
    written = jsonio.dumps(value, sort_keys=True)
    if _ODD_NUMBER.search(written) is None:
        return written
    with suppress(RecursionError):  # no proxy parses such deep nesting
        written = jsonio.dumps(_as_parsed(value), sort_keys=True)
    return written


_ODD_NUMBER = re.compile(rb"[:,\[]-?(?:\d+[.eE]|\d{16})|\A-?\d")
"""A number that some write otherwise, in compact JSON; or what looks like one in a string."""
_EXACT = 1 << 53
"""The integers below have a double of their own."""


def _as_parsed(value: Any) -> Any:
    """A value with its numbers as parsers of JavaScript have them: integers as far as doubles have all of these."""
    if isinstance(value, dict):
        return {key: _as_parsed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_parsed(each) for each in value]
    if type(value) is int and abs(value) >= _EXACT:
        with suppress(OverflowError):
            return float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT else float(value)
    return value


_LONG = 24
"""Characters of a long text."""
RUN = 5
"""Words that are compared at once."""
LEAST_RUNS = 5
"""Runs of words that two texts have in common, at least, if one quotes the other."""
_SKETCH = 16
"""Runs that stand for all of a text: those with the smallest numbers, which are a fair sample."""
_ALIKE = 0.6
"""The share of a text that makes it another one, changed a little."""
_WORD = re.compile(r"\w+")
_WIDE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Kana and ideographs: scripts that put no space between words."""
_WORD_OR_WIDE = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+")
_WIDE_ONES = re.compile(f"[{_WIDE}]+")
_MOST = 20_000
"""Words of a text that are looked at."""
_LETTERS = 16
"""Characters of a word and what stands behind it, at most on average."""


class Sketch(NamedTuple):
    """Some of the runs of words of a text, which stand for all of them."""

    runs: array[int]
    all: int
    """How many runs the text has."""


def runs(text: str) -> set[int]:
    """The hashes of all runs of words of a text, whatever separates the words; of a shorter text, of all its words.

    In scripts without spaces each character is a word.
    """
    every = _WORD.findall if text.isascii() else _WORD_OR_WIDE.findall
    words = every(text.lower(), 0, _MOST * _LETTERS)[:_MOST]
    said = " ".join(words)
    joined = said.encode("utf-8", "surrogatepass")
    if len(words) <= RUN:
        return {xxh3_64_intdigest(joined)} if words else set()
    lengths = words if len(said) == len(joined) else [word.encode("utf-8", "surrogatepass") for word in words]
    begins = [*accumulate(map(len, lengths), lambda begin, length: begin + length + 1, initial=0)]
    return {xxh3_64_intdigest(joined[at : end - 1]) for at, end in zip(begins, begins[RUN:], strict=False)}


def sketch(text: str) -> Sketch:
    """The sketch of a text."""
    words = runs(text)
    return Sketch(array("Q", sorted(words)[:_SKETCH]), len(words))


def is_long(text: str) -> bool:
    """Whether a text is long enough that two equal ones are no coincidence.

    Characters of scripts without spaces count twice.
    """
    if len(text) >= _LONG or len(text.split(maxsplit=8)) > 7:
        return True
    return not text.isascii() and len(text) + sum(map(len, _WIDE_ONES.findall(text))) >= _LONG


def share_ends(one: str, other: str) -> float:
    """The share of the longer text that both begin and end with."""
    longest = max(len(one), len(other))
    return sum(common_ends(one, other)) / longest if longest else 1.0


def common_ends(one: str, other: str) -> tuple[int, int]:
    """How many characters two texts begin with in common, and end with after those."""
    shortest = min(len(one), len(other))
    begin = _most(shortest, lambda count: one[:count] == other[:count])
    end = _most(shortest - begin, lambda count: one[len(one) - count :] == other[len(other) - count :])
    return begin, end


def _most(most: int, fits: Callable[[int], bool]) -> int:
    """The largest count that fits, found by halving, where all below one that fits do."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _begin_or_end_alike(one: str, other: str) -> bool:
    """Whether both begin, or end, with most of the longer one."""
    count = math.ceil(_ALIKE * max(len(one), len(other)))
    if not 0 < count <= min(len(one), len(other)):
        return False
    return other.startswith(one[:count]) or other.endswith(one[-count:])


def is_similar_prompt(one: str, other: str) -> bool:
    """Whether one system prompt may be the other, changed a little: a clock, a line about the session."""
    if one == other:
        return True
    if not one or not other:
        return False
    if _begin_or_end_alike(one, other) or share_ends(one, other) >= _ALIKE:
        return True
    lines = set(other.splitlines())
    kept = sum(len(line) for line in one.splitlines() if line in lines)
    return 2 * kept >= max(len(one), len(other))


def is_rewritten(one: str, other: str, *, loosely: bool = False) -> bool:
    """Whether a text is another one with lines put before or behind it, or changed in its middle.

    ``loosely``: also where both begin or end with one paragraph, and differ in the others.
    """
    ours, theirs = one.strip().splitlines(), other.strip().splitlines()
    short, long = sorted((ours, theirs), key=len)
    if not short:
        return True
    if long[: len(short)] == short or long[-len(short) :] == short:
        return True
    if (
        loosely
        and len(short) > 1
        and (_paragraph(ours, 1) == _paragraph(theirs, 1) or _paragraph(ours, -1) == _paragraph(theirs, -1))
    ):
        return True
    return len(short) > 1 and share_ends(one, other) >= _ALIKE


def _paragraph(lines: list[str], step: int) -> list[str]:
    """The first lines, or the last ones, up to an empty one."""
    return [*takewhile(str.strip, lines[::step])]
