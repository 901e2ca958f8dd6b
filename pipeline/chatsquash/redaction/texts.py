"""The texts of JSON values, joined so that they are searched in one go, and put back with what was replaced."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.redaction.hits import Hit

_BETWEEN = "\n\0\n"
"""Stands between two texts, so that each begins and ends with a line; what is found across it is none."""
_STRUCTURE = frozenset(
    (
        *("messages", "conversations", "prompt", "completion", "chosen", "rejected", "text", "content", "value"),
        *("role", "from", "name", "type", "function", "arguments", "tools", "description", "parameters", "properties"),
        *("reasoning_content", "reasoning", "thinking", "tool_calls", "required", "enum", "input", "evidence"),
    )
)
"""Keys of records, which tell nothing of what stands under them."""
_SAID = frozenset(("content", "reasoning_content", "arguments"))
"""Those under which the texts of messages stand, which are nothing but texts unless they begin as media do."""
_GIVEN = frozenset(("arguments", "args", "input", "parameters", "input_schema", "inputSchema"))
"""Keys below which everything is the model's or the user's, ids too."""
_IDS = frozenset(
    (
        *("id", "tool_call_id", "call_id", "item_id", "response_id", "tool_use_id", "previous_response_id"),
        *("toolCallId", "toolUseId", "callId", "responseId", "messageId"),
    )
)
"""Ids of the protocol, by which results find their calls."""
_IDENTIFIED = frozenset(("type", "role", "function", "name", "toolName", "object", "parts", "toolCallId"))
"""Members beside an ``id`` that is one of the protocol: of a call, a message or a response."""
_CALLED = frozenset(("name", "toolName", "toolCallId", "toolUseId"))
"""Members beside an ``input`` that is a call's."""
_SEALED = frozenset(
    (
        *("signature", "thinking_signature", "thinkingSignature", "thought_signature", "thoughtSignature"),
        *("thoughtSignatures", "encrypted_content", "encrypted", "redacted", "redactedData", "redactedContent"),
    )
)
"""What only the service that made it can read, and refuses when it was changed."""
_SEALED_TYPES = ("redacted_thinking", "reasoning.encrypted")
"""Of blocks whose ``data`` is sealed so."""
_MEDIA = frozenset(("data", "file_data", "image", "b64_json"))
"""Members whose text is an image, a sound or a file, where something beside them says so."""
_MEDIA_BESIDE = frozenset(("format", "mimeType", "mime_type", "media_type", "mediaType", "file_data"))
_WORDS = frozenset(("signature", "encrypted", "redacted"))
"""Those that other things are called by, too."""
_BLOCK = frozenset(("type", "thinking", "text", "reasoning"))
"""Members beside one of these that is sealed."""
_MEDIA_URL = re.compile(
    r"data:(?:image|audio|video|font|application)/[\w.+-]{1,80}+(?:;(?!base64,)[\w=.+-]{1,80}+){0,4}+;base64,"
    r"[A-Za-z0-9+/_\r\n-]*+={0,2}+\s*+"
)
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_.:|~\r\n-]*+")
"""What ids, signatures and files in base64 are of; what has anything else in it is a text."""
_ROLES = frozenset(
    (
        "system",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
        "model",
        "human",
        "gpt",
        "function_call",
        "observation",
    )
)
_TYPES = frozenset(
    (
        *("object", "array", "string", "number", "integer", "boolean", "null", "function", "text", "image_url"),
        *("input_audio", "file", "image", "audio", "video", "thinking", "redacted_thinking", "tool_use", "tool_result"),
        *(
            "message",
            "function_call",
            "function_call_output",
            "reasoning",
            "input_text",
            "output_text",
            "json",
            "custom",
        ),
    )
)
_VOCABULARY = {"role": _ROLES, "from": _ROLES, "type": _TYPES}
"""Words of formats and schemas, which no list may replace."""
_SPECIAL = _IDS | _SEALED | _MEDIA
_NAMES = ("name", "key", "variable")
"""Members beside a ``value`` that say what it is."""
_LONGEST_NAME = 80
_LARGE, _SMALL = 100_000, 10
"""Numbers from which on one may be a secret or somebody's, and one may stand on a list."""


class TextPlace(NamedTuple):
    """Where a text stands in its value."""

    container: Any
    key: Any
    what: str = "text"
    """``key`` for the key itself, ``number`` for a number in digits."""


class Texts:
    """The texts of some JSON values: keys, strings and long integers, at any depth.

    Left out are media, what is sealed by a service, and the ids of the protocol; ``passed_over`` counts them.  With
    ``every`` fractions and shorter numbers are there, too, which only a list tells to be private.
    """

    def __init__(self, values: Iterable[Json], *, every: bool = False) -> None:
        self.passed_over = 0
        self._least = _SMALL if every else _LARGE
        self._every = every
        self._places: list[tuple[Any, Any, str]] = []
        self._texts: list[str] = []
        """Those at the places, some with what stands around them."""
        self._around: dict[int, tuple[int, int]] = {}
        """How many characters stand before and behind the text of a place, where some do."""
        self._values: list[int] = []
        """How many places there are before those of each value."""
        for value in values:
            self._values.append(len(self._texts))
            self._walk(value)
        self.joined = _BETWEEN.join([*self._texts, ""])

    def _walk(self, value: Json) -> None:
        inside: list[tuple[Any, bool]] = [(value, False)]
        places, texts = self._places, self._texts
        while inside:  # in no order that matters, and so that depth costs no recursion
            container, is_given = inside.pop()
            is_object = isinstance(container, dict)
            members: Iterable[tuple[Any, Json]] = container.items() if is_object else enumerate(container)
            for key, member in members:
                if tells := is_object and key not in _STRUCTURE:
                    self._add((container, key, "key"), key)
                kind = type(member)
                if kind is str:
                    if key in _SAID and is_object and not member.startswith("data:"):  # as most are
                        places.append((container, key, "text"))
                        texts.append(member)
                    else:
                        self._add_text(container, key, member, tells=tells, is_given=is_given)
                elif kind is dict or kind is list:
                    inside.append((member, is_given or _is_given(container, key)))
                elif (kind is int and abs(member) >= self._least) or (self._every and kind is float):
                    self._add((container, key, "number"), _digits(member), f'"{key}": ' if tells else "")

    def _add_text(self, container: Any, key: Any, text: str, *, tells: bool, is_given: bool) -> None:
        if key in _VOCABULARY and text in _VOCABULARY[key]:
            return
        is_special = key in _SPECIAL or text.startswith("data:")
        if is_special and _is_passed_over(container, key, text, is_given=is_given):
            self.passed_over += 1
        elif tells or (key == "value" and isinstance(container, dict)):
            self._add((container, key, "text"), text, f'"{_name(container, key)}": "', '"')
        else:
            self._add((container, key, "text"), text)

    def _add(self, place: tuple[Any, Any, str], text: str, before: str = "", after: str = "") -> None:
        if before:
            self._around[len(self._texts)] = len(before), len(after)
        self._places.append(place)
        self._texts.append(f"{before}{text}{after}")

    @cached_property
    def _spans(self) -> tuple[list[int], list[int]]:
        """Where the texts begin in what is joined, and where they end; nobody asks where nothing is found."""
        starts, ends, at = list[int](), list[int](), 0
        for number, text in enumerate(self._texts):
            before, after = self._around.get(number, (0, 0))
            starts.append(at + before)
            ends.append(at + len(text) - after)
            at += len(text) + len(_BETWEEN)
        return starts, ends

    def clipped(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Hits in what is joined as far as they stand in the text in which they begin."""
        for hit in hits:
            starts, ends = self._spans
            at = bisect_right(starts, hit.start) - 1
            if at >= 0 and hit.start < ends[at]:
                yield hit if hit.end <= ends[at] else hit._replace(end=ends[at])

    def by_place(self, hits: Iterable[Hit]) -> Iterator[tuple[int, TextPlace, list[Hit]]]:
        """Hits that are clipped, as hits in the texts that they stand in, with the index of the value of each text."""
        hits_at: dict[int, list[Hit]] = {}
        for hit in hits:
            starts, _ = self._spans
            at = bisect_right(starts, hit.start) - 1
            start = starts[at]
            hits_at.setdefault(at, []).append(hit._replace(start=hit.start - start, end=hit.end - start))
        for at in sorted(hits_at):
            yield bisect_right(self._values, at) - 1, TextPlace(*self._places[at]), hits_at[at]


def text_at(place: TextPlace) -> str:
    """The text at a place."""
    if place.what == "key":
        return str(place.key)
    value = place.container[place.key]
    return _digits(value) if place.what == "number" else str(value)


def _digits(number: float) -> str:
    """A number without its sign, as JSON has it."""
    return jsonio.dumps(abs(number)).decode()


def put(replaced: Iterable[tuple[TextPlace, str]]) -> None:
    """Put other texts in their places; keys last, since they lead to the others."""
    keys: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}
    for place, text in replaced:
        if place.what == "key":
            keys.setdefault(id(place.container), (place.container, {}))[1][place.key] = text
        elif place.what == "number":
            before = place.container[place.key]
            place.container[place.key] = type(before)(text) * (-1 if before < 0 else 1)
        else:
            place.container[place.key] = text
    for container, names in keys.values():
        members: dict[str, Any] = {}
        for key, member in container.items():
            members[_unused(names.get(key, key), members, container)] = member
        container.clear()
        container.update(members)


def _name(container: Any, key: str) -> str:
    """What a text is called: by its key, or where that is ``value`` by what stands beside it."""
    named = next((container[each] for each in _NAMES if key == "value" and each in container), key)
    return named if isinstance(named, str) and len(named) <= _LONGEST_NAME else key


def _unused(name: str, members: dict[str, Any], before: dict[str, Any]) -> str:
    """A name for a member that no other has: two forms of one value have the same placeholder."""
    number, unused = 1, name
    while unused in members or (unused != name and unused in before):
        number += 1
        unused = f"{name}_{number}"
    return unused


def _is_given(container: Any, key: Any) -> bool:
    """Whether all below a member is the model's or the user's; the input of a request is none of a call."""
    return key in _GIVEN and (key != "input" or bool(_CALLED & container.keys()))


def _is_passed_over(container: Any, key: Any, text: str, *, is_given: bool) -> bool:
    if text.startswith("data:") and _MEDIA_URL.fullmatch(text):
        return True
    if is_given or not _OPAQUE.fullmatch(text):
        return False
    if key in _IDS:
        return key != "id" or bool(_IDENTIFIED & container.keys())
    if key in _SEALED:
        return key not in _WORDS or bool(_BLOCK & container.keys())
    return key in _MEDIA and (container.get("type") in _SEALED_TYPES or bool(_MEDIA_BESIDE & container.keys()))
