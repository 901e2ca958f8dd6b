"""Join the strings of JSON values to search them in one pass, and write the replacements back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json
from chatsquash.redaction.values import Hit

# Each text starts and ends with a line, and matches across it do not count.
_BETWEEN = "\n\0\n"
"""The separator of joined texts."""
STRUCTURE = frozenset(
    (
        *("messages", "conversations", "prompt", "completion", "chosen", "rejected", "text", "content", "value"),
        *("role", "from", "name", "type", "function", "arguments", "tools", "description", "parameters", "properties"),
        *("reasoning_content", "reasoning", "thinking", "tool_calls", "required", "enum", "input", "evidence"),
    )
)
"""Structural keys of records, which reveal nothing about their values."""
_PLAIN_KEYS = frozenset(("content", "reasoning_content", "arguments", "description", "text"))
"""Structural keys whose strings are only texts, unless they start like media."""
ARGUMENT_KEYS = frozenset(("arguments", "args", "input", "parameters", "input_schema", "inputSchema"))
"""Keys below which everything comes from the model or the user, including ids."""
IDS = frozenset(
    (
        *("id", "tool_call_id", "call_id", "item_id", "response_id", "tool_use_id", "previous_response_id"),
        *("toolCallId", "toolUseId", "callId", "responseId", "messageId"),
    )
)
"""Protocol ids, which connect results with calls."""
_IDENTIFIED = frozenset(("type", "role", "function", "name", "toolName", "object", "parts", "toolCallId"))
"""Members that identify an ``id`` next to them as a protocol id of a call, message or response."""
_CALL_MEMBERS = frozenset(("name", "toolName", "toolCallId", "toolUseId"))
"""Members that identify an ``input`` next to them as that of a call."""
SEALED = frozenset(
    (
        *("signature", "thinking_signature", "thinkingSignature", "thought_signature", "thoughtSignature"),
        *("thoughtSignatures", "encrypted_content", "encrypted", "redacted", "redactedData", "redactedContent"),
    )
)
"""Opaque values of a service, which rejects them if they have been changed."""
_SEALED_TYPES = ("redacted_thinking", "reasoning.encrypted")
"""The types of blocks with opaque ``data``."""
MEDIA = frozenset(("data", "file_data", "image", "b64_json"))
"""Members that contain an image, audio or a file, if a member next to them indicates it."""
_MEDIA_BESIDE = frozenset(("format", "mimeType", "mime_type", "media_type", "mediaType", "file_data"))
_WORDS = frozenset(("signature", "encrypted", "redacted"))
"""The keys that also have other meanings."""
_BLOCK = frozenset(("type", "thinking", "text", "reasoning"))
"""Members that identify an opaque value next to them."""
_MEDIA_URL = lazy_compile(
    r"data:(?:image|audio|video|font|application)/[\w.+-]{1,80}+(?:;(?!base64,)[\w=.+-]{1,80}+){0,4}+;base64,"
    r"[A-Za-z0-9+/_\r\n-]*+={0,2}+\s*+"
)
_OPAQUE = lazy_compile(r"[A-Za-z0-9+/=_.:|~\r\n-]*+")
"""The characters of ids, signatures and base64 files; anything else is text."""
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
"""The words of formats and schemas, which lists must not replace."""
_SPECIAL = IDS | SEALED | MEDIA
_NAMES = ("name", "key", "variable")
"""The members next to a ``value`` that name it."""
_LONGEST_NAME = 80
_LARGE, _SMALL = 100_000, 10
"""The minimum of numbers that may be private, and the minimum of those that may be on a list."""


class TextPlace(Struct, frozen=True):
    """The position of a text in its value."""

    container: Any
    key: Any
    what: str = "text"
    """``text``, ``key`` for a key, or ``number`` for a number."""


class Texts:
    """The texts of JSON values: keys, strings and large integers, at any depth.

    Media, opaque values of services and protocol ids are skipped; ``passed_over_by_value`` counts them. With ``every``,
    fractions and smaller numbers are included, which only a list can identify as private.
    """

    def __init__(self, values: Iterable[Json], *, every: bool = False) -> None:
        self.passed_over_by_value: list[int] = []
        self._passed_over = 0
        self._least = _SMALL if every else _LARGE
        self._every = every
        self._places: list[tuple[Any, Any, str]] = []
        self._texts: list[str] = []
        """The texts at the places, some with context."""
        self._around: dict[int, tuple[int, int]] = {}
        """The length of the context before and after a text, if it has any."""
        self._values: list[int] = []
        """The number of places before those of each value."""
        for value in values:
            self._values.append(len(self._texts))
            self._passed_over = 0
            self._walk(value)
            self.passed_over_by_value.append(self._passed_over)
        self.joined = _BETWEEN.join([*self._texts, ""])

    def _walk(self, value: Json) -> None:
        inside: list[tuple[Any, bool]] = [(value, False)]
        while inside:  # without recursion; the order is irrelevant
            container, is_argument = inside.pop()
            if isinstance(container, dict):
                self._add_members(container, inside, is_argument=is_argument)
            else:
                self._add_items(container, inside, is_argument=is_argument)

    def _add_members(self, container: dict[str, Any], inside: list[tuple[Any, bool]], *, is_argument: bool) -> None:
        """Add the texts of an object; append the containers in it to ``inside``."""
        places, texts = self._places, self._texts
        for key, member in container.items():
            if is_informative := key not in STRUCTURE:
                places.append((container, key, "key"))
                texts.append(key)
            kind = type(member)
            if kind is str:
                if key in _PLAIN_KEYS and not member.startswith("data:"):  # the most frequent case
                    places.append((container, key, "text"))
                    texts.append(member)
                elif key not in _VOCABULARY or member not in _VOCABULARY[key]:
                    self._add_text(container, key, member, is_informative=is_informative, is_argument=is_argument)
            elif kind is dict or kind is list:
                inside.append((member, is_argument or _is_argument(container, key)))
            elif (kind is int and abs(member) >= self._least) or (self._every and kind is float):
                self._add((container, key, "number"), _digits(member), f'"{key}": ' if is_informative else "")

    def _add_items(self, container: list[Any], inside: list[tuple[Any, bool]], *, is_argument: bool) -> None:
        """Add the texts of a list, like ``_add_members``."""
        for at, item in enumerate(container):
            kind = type(item)
            if kind is str:
                if item.startswith("data:") and _is_passed_over(container, at, item, is_argument=is_argument):
                    self._passed_over += 1
                else:
                    self._places.append((container, at, "text"))
                    self._texts.append(item)
            elif kind is dict or kind is list:
                inside.append((item, is_argument))
            elif (kind is int and abs(item) >= self._least) or (self._every and kind is float):
                self._add((container, at, "number"), _digits(item))

    def _add_text(self, container: Any, key: str, text: str, *, is_informative: bool, is_argument: bool) -> None:
        is_special = key in _SPECIAL or text.startswith("data:")
        if is_special and _is_passed_over(container, key, text, is_argument=is_argument):
            self._passed_over += 1
        elif is_informative or key == "value":
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
        """The start and end of each text in the joined text, which are only computed if something is found."""
        starts, ends, at = list[int](), list[int](), 0
        for number, text in enumerate(self._texts):
            before, after = self._around.get(number, (0, 0))
            starts.append(at + before)
            ends.append(at + len(text) - after)
            at += len(text) + len(_BETWEEN)
        return starts, ends

    def clipped(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Clip hits in the joined text to the text in which they start."""
        for hit in hits:
            starts, ends = self._spans
            at = bisect_right(starts, hit.start) - 1
            if at >= 0 and hit.start < ends[at]:
                yield hit if hit.end <= ends[at] else hit._replace(end=ends[at])

    def by_place(self, hits: Iterable[Hit]) -> Iterator[tuple[int, TextPlace, list[Hit]]]:
        """Group clipped hits by text, with offsets in that text and the index of its value."""
        hits_at: dict[int, list[Hit]] = {}
        for hit in hits:
            starts, _ = self._spans
            at = bisect_right(starts, hit.start) - 1
            start = starts[at]
            hits_at.setdefault(at, []).append(hit._replace(start=hit.start - start, end=hit.end - start))
        for at in sorted(hits_at):
            yield bisect_right(self._values, at) - 1, TextPlace(*self._places[at]), hits_at[at]


def text_at(place: TextPlace) -> str:
    """Return the text at a place."""
    if place.what == "key":
        return str(place.key)
    value = place.container[place.key]
    return _digits(value) if place.what == "number" else str(value)


def _digits(number: float) -> str:
    """Return a number without its sign in JSON notation."""
    return jsonio.dumps(abs(number)).decode()


def insert(replacements: Iterable[tuple[TextPlace, str]]) -> None:
    """Write replacements to their places."""
    keys: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}
    for place, text in replacements:
        if place.what == "key":
            keys.setdefault(id(place.container), (place.container, {}))[1][place.key] = text
        elif place.what == "number":
            before = place.container[place.key]
            place.container[place.key] = type(before)(text) * (-1 if before < 0 else 1)
        else:
            place.container[place.key] = text
    # Keys are replaced last, because they lead to the other places.
    for container, names in keys.values():
        members: dict[str, Any] = {}
        for key, member in container.items():
            members[_unused(names.get(key, key), members, container)] = member
        container.clear()
        container.update(members)


def _name(container: Any, key: str) -> str:
    """Return the name of a text: its key, or for ``value`` the name given by a member next to it."""
    name = next((container[each] for each in _NAMES if key == "value" and each in container), key)
    return name if isinstance(name, str) and len(name) <= _LONGEST_NAME else key


# Two forms of one value have the same placeholder, so two keys may coincide.
def _unused(name: str, members: dict[str, Any], before: dict[str, Any]) -> str:
    """Return a unique key."""
    number, unused = 1, name
    while unused in members or (unused != name and unused in before):
        number += 1
        unused = f"{name}_{number}"
    return unused


def _is_argument(container: Any, key: Any) -> bool:
    """Return whether everything below a member comes from the model or the user, unlike the input of a request."""
    return key in ARGUMENT_KEYS and (key != "input" or bool(_CALL_MEMBERS & container.keys()))


def _is_passed_over(container: Any, key: Any, text: str, *, is_argument: bool) -> bool:
    if text.startswith("data:") and _MEDIA_URL.fullmatch(text):
        return True
    if is_argument or not _OPAQUE.fullmatch(text):
        return False
    if key in IDS:
        return key != "id" or bool(_IDENTIFIED & container.keys())
    if key in SEALED:
        return key not in _WORDS or bool(_BLOCK & container.keys())
    return key in MEDIA and (container.get("type") in _SEALED_TYPES or bool(_MEDIA_BESIDE & container.keys()))
