"""Assign numbers to messages so that messages that count as equal have the same number.

Two messages are equal if they have the same role and content, ignoring white space around texts and between parts,
reminders inserted by clients, ids and formatting of calls, and reasoning. Numbers are Python hashes, so they are only
valid within a process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import takewhile
from typing import Any

from msgspec import Struct, field
from xxhash import xxh3_64, xxh3_64_intdigest

from chatsquash.core import chat, jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Message
from chatsquash.core.reasoning import is_part, without_block
from chatsquash.core.text import remove_delimited

_REMINDERS = ("system-reminder", "environment_context", "environment_details", "info-msg")
_SEAMS = ("", "\n", " ", "\n\n")
"""Separators that may be between the parts of a text after they were joined."""
_MOST_ARGUMENTS = 4096
"""The number of arguments to remember."""
_numbers_of_arguments: dict[int, int] = {}
"""The hashes of the last normalized arguments by the hash of their raw text.

Shared by all sessions, because a log is first compared with other logs and then within itself.
"""
NOTHING = 0
"""The number of a message outside chains: a system prompt, or a message that consists only of reminders."""


class Canon(Struct):
    """Assigns numbers to the messages of one session."""

    _numbers_of_joins: dict[int, int] = field(default_factory=dict)
    """The numbers of texts that came in parts, by the hash of each possible joined text."""
    _single_texts: set[int] = field(default_factory=set)
    """The numbers of texts that came in one part."""

    def number(self, message: Message) -> int:
        """Return the number of a message; for results, ``result_number`` applies instead."""
        role = message["role"]
        if role in ("system", "developer"):
            return NOTHING
        content_number = self._content_number(role, message.get("content"))
        if role == "assistant":
            calls = message.get("tool_calls") or message.get("function_call")
            items = calls if isinstance(calls, list) else [calls]
            return hash((content_number, *map(self._call, items))) if calls else content_number
        return content_number

    def _content_number(self, role: str, content: Json) -> int:
        if type(content) is str:
            text = content.strip()
            if "<" in text:
                text = _essential(role, text)
            return self._text(role, text) if text or role != "user" else NOTHING
        if not isinstance(content, list):
            return hash((role, "" if content is None else jsonio.dumps(content)))
        return self._of_parts(role, [part for part in content if not is_part(part)])

    def _text(self, role: str, text: str) -> int:
        """Return the number of a text that came in one part."""
        number = hash((role, text))
        if self._numbers_of_joins and (known := self._numbers_of_joins.get(number)) is not None:
            return known
        self._single_texts.add(number)
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
        """Return the number of a text in parts, which is that of an equal text in one part with any separator."""
        joins = [hash((role, seam.join(texts))) for seam in _SEAMS]
        known = (self._numbers_of_joins.get(join, join if join in self._single_texts else None) for join in joins)
        result = next((number for number in known if number is not None), joins[0])
        self._numbers_of_joins.update(dict.fromkeys(joins, result))
        return result

    def number_of_both(self, beginning: Message, rest: Message, complete: Message) -> int:
        """Return the number of a message joined from two; other separators lead to the same number."""
        texts = [_essential("assistant", (chat.text(each) or "").strip()) for each in (beginning, rest)]
        if all(texts):
            number = self._join_parts("assistant", texts)
            exact = _essential("assistant", (chat.text(complete) or "").strip())
            self._numbers_of_joins.setdefault(hash(("assistant", exact)), number)
        return self.number(complete)

    def _call(self, call: Json) -> int:
        """Return the hash of a call: its tool and its arguments, regardless of their formatting."""
        function: Any = call.get("function") or call.get("custom") or call if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return hash(jsonio.dumps(call))
        arguments = function.get("arguments", function.get("input"))
        if type(arguments) is not str:
            number = hash(normalized_arguments(arguments))
            return hash((str(function.get("name")), number))
        key = hash(arguments)
        known = _numbers_of_arguments.get(key)
        number = _learn_arguments(key, arguments) if known is None else known
        return hash((str(function.get("name")), number))


def _learn_arguments(key: int, arguments: str) -> int:
    """Return the hash of normalized arguments and remember it."""
    if len(_numbers_of_arguments) >= _MOST_ARGUMENTS:  # the logs of a run may have any number of calls
        _numbers_of_arguments.clear()
    number = _numbers_of_arguments[key] = hash(normalized_arguments(arguments))
    return number


def result_number(place: int) -> int:
    """Return the number of a result from the place of the call that it answers, counted from 1; 0 for no call."""
    return hash(("tool", place))


def _essential(role: str, text: str) -> str:
    """Return the part of a text that counts: a user's without reminders, an assistant's without leading reasoning."""
    if role == "user":
        return without_reminders(text)
    return without_block(text).strip() if role == "assistant" else text


def without_reminders(text: str) -> str:
    """Return a user's text without the reminder blocks that clients insert."""
    if "<" not in text:  # most texts
        return text
    for tag in _REMINDERS:
        if f"<{tag}>" in text:
            text = remove_delimited(text, f"<{tag}>", f"</{tag}>").strip()
    return text


def prompt_text(message: Message) -> str:
    """Return the text of a user's message without reminders and surrounding white space."""
    return without_reminders(chat.text(message) or "").strip()


def _others(parts: list[Json]) -> int:
    """Return a hash of the parts that are not text; 0 if there are none."""
    # Hashed one by one, because a message may have many large parts.
    count, digest = 0, xxh3_64()
    for part in parts:
        if chat.part_text(part) is None:
            digest.update(jsonio.dumps(part))
            count += 1
    return hash((count, digest.intdigest())) if count else 0


def normalized_arguments(arguments: Json) -> bytes:
    """Return arguments in a normal form that ignores order, white space, escapes and the notation of numbers."""
    value: Any = arguments
    if isinstance(value, str):
        try:
            value = jsonio.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return str(value).strip().encode("utf-8", "surrogatepass")
    if value in (None, "", {}):
        return b"{}"
    serialized = jsonio.dumps(value, sort_keys=True)
    if _ODD_NUMBER.search(serialized) is None:
        return serialized
    # Proxies written in JavaScript change numbers that a double cannot represent.
    with suppress(RecursionError):  # no proxy parses such deep nesting
        serialized = jsonio.dumps(_as_parsed(value), sort_keys=True)
    return serialized


_ODD_NUMBER = lazy_compile(rb"[:,\[]-?(?:\d+[.eE]|\d{16})|\A-?\d")
"""A number that other serializers may write differently, in compact JSON, or a similar string."""
_EXACT = 1 << 53
"""All integers below this are exact as doubles."""


def _as_parsed(value: Any) -> Any:
    """Return a value with its numbers as JavaScript parses them: exact integers only up to 2**53."""
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
"""The minimum length of a long text in characters."""
RUN = 5
"""The number of words in a run."""
LEAST_RUNS = 5
"""The minimum number of runs that two texts have in common if one quotes the other."""
_SKETCH = 16
"""The maximum number of runs in a sketch."""
_ANCHORS = 4
"""The number of anchors of a text."""
_MANY = 128
"""The number of runs from which those with small hashes are selected before they are sorted."""
_ALIKE = 0.6
"""The minimum share of common text in two versions of a text."""
_FIRST = 256
"""The number of characters that are compared before most of a text."""
_WORD_BYTES = bytes(each if each > 127 or chr(each).isalnum() or each == ord("_") else ord(" ") for each in range(256))
"""Replaces the ASCII characters that separate words with spaces."""
_PUNCTUATION = lazy_compile(rb"\xe2(?:\x80[\x80-\xbf]|\x81[\x80-\xaf])")
"""A character of the block of general punctuation, encoded; none of them is part of a word."""
_WIDE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Kana and ideographs, which are written without spaces between words."""
_WORD_OR_WIDE = lazy_compile(rf"[{_WIDE}]|[^\W{_WIDE}]+")
_WIDE_ONES = lazy_compile(f"[{_WIDE}]+")
_MOST = 20_000
"""The maximum number of words of a text to examine."""
_LETTERS = 16
"""The maximum average length of a word with the separators after it."""


def runs(text: str) -> set[int]:
    """Return the hashes of all word runs of a text; for a text shorter than a run, the hash of its words.

    Separators are ignored. In scripts without spaces, each character is a word.
    """
    return _hash_runs(_words(text)[:_MOST])


def _hash_runs(words: list[bytes]) -> set[int]:
    if len(words) <= RUN:
        return {xxh3_64_intdigest(b" ".join(words))} if words else set()
    # Compiled functions only, since all texts of a session may be compared.
    return set(map(xxh3_64_intdigest, map(b" ".join, zip(*[words[at:] for at in range(RUN)], strict=False))))


def anchors(text: str) -> set[int]:
    """Return the hashes of a few word runs from the first to the last of a text, of which any copy contains most."""
    words = _words(text)[:_MOST]
    last = len(words) - RUN
    if last < _ANCHORS:
        return _hash_runs(words)
    starts = [last * number // (_ANCHORS - 1) for number in range(_ANCHORS)]
    hashes = {xxh3_64_intdigest(b" ".join(words[at : at + RUN])) for at in starts}
    # A text that repeats itself may have the same run at several places.
    return hashes if len(hashes) == _ANCHORS else set(sketch(_hash_runs(words)))


def _words(text: str) -> list[bytes]:
    """Return the words of a text in lower case, encoded."""
    lower = text.lower()[: _MOST * _LETTERS].encode("utf-8", "surrogatepass")
    if not lower.isascii():
        lower = _PUNCTUATION.sub(b" ", lower)
    words = lower.translate(_WORD_BYTES).split()
    if lower.isascii():
        return words
    encoded_words: list[bytes] = []
    for word in words:
        encoded_words += [word] if word.isascii() else _words_of_other_scripts(word)
    return encoded_words


def _words_of_other_scripts(characters: bytes) -> list[bytes]:
    """Return the words in characters that include others than those of ASCII."""
    words = " ".join(_WORD_OR_WIDE.findall(characters.decode("utf-8", "surrogatepass")))
    return words.encode("utf-8", "surrogatepass").split()


def sketch(words: set[int]) -> list[int]:
    """Return the sketch of a text from its word runs: those with the smallest hashes, a fair sample of all runs."""
    least: Iterable[int] = words
    if len(words) > _MANY:  # most are too large for the sketch, so they need not be sorted
        limit = (4 * _SKETCH << 64) // len(words)
        least = [run for run in words if run < limit]
        least = least if len(least) >= _SKETCH else words
    return sorted(least)[:_SKETCH]


def is_long(text: str) -> bool:
    """Return whether a text is too long for an equal text to be a coincidence.

    Characters of scripts without spaces count twice.
    """
    if len(text) >= _LONG or len(text.split(maxsplit=8)) > 7:
        return True
    return not text.isascii() and len(text) + sum(map(len, _WIDE_ONES.findall(text))) >= _LONG


def share_ends(one: str, other: str) -> float:
    """Return the share of the longer text that the shared prefix and suffix make up."""
    longest = max(len(one), len(other))
    return sum(common_ends(one, other)) / longest if longest else 1.0


def common_ends(one: str, other: str) -> tuple[int, int]:
    """Return the lengths of the shared prefix of two texts and of the shared suffix after it."""
    shortest = min(len(one), len(other))
    begin = _most(shortest, lambda count: one[:count] == other[:count])
    end = _most(shortest - begin, lambda count: one[len(one) - count :] == other[len(other) - count :])
    return begin, end


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count that fits, by bisection; all smaller counts must fit as well."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _begin_or_end_alike(one: str, other: str) -> bool:
    """Return whether both texts have most of the longer one as a shared prefix or suffix."""
    count = math.ceil(_ALIKE * max(len(one), len(other)))
    if not 0 < count <= min(len(one), len(other)):
        return False
    # Most texts that differ do so soon, and copying long ones takes most of the time.
    first = min(count, _FIRST)
    if other.startswith(one[:first]) and other.startswith(one[:count]):
        return True
    return other.endswith(one[-first:]) and other.endswith(one[-count:])


def is_similar_prompt(one: str, other: str) -> bool:
    """Return whether two system prompts may be versions of one prompt, for example with different clocks."""
    if one == other:
        return True
    if not one or not other:
        return False
    # One comparison of slices is faster than bisecting the common ends.
    if _begin_or_end_alike(one, other) or share_ends(one, other) >= _ALIKE:
        return True
    lines = set(other.splitlines())
    common = sum(len(line) for line in one.splitlines() if line in lines)
    return 2 * common >= max(len(one), len(other))


def is_rewritten(one: str, other: str, *, loosely: bool = False) -> bool:
    """Return whether a text is another one with lines added before or after it, or changed in the middle.

    With ``loosely``, an equal first or last paragraph is enough.
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
    """Return the first lines, or the last ones for a negative ``step``, up to an empty one."""
    return [*takewhile(str.strip, lines[::step])]
