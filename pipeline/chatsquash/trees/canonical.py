"""When messages are the same: what of them counts, as a number.

Two messages count as the same where they have one role and say the same, without regard to white space at the ends of
their texts and where parts meet, to reminders that clients put in, to the ids and the spelling of calls, and to
reasoning.  Numbers are Python's hashes, so they mean something in this process only.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from xxhash import xxh3_64

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.reasoning import is_part
from chatsquash.core.text import without_marked

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
            if role == "user" and "<" in text:
                text = without_reminders(text)
            return self._text(role, text) if text or role != "user" else NOTHING
        if not isinstance(content, list):
            return hash((role, "" if content is None else jsonio.dumps(content)))
        return self._of_parts(role, [part for part in content if not is_part(part)])

    def _text(self, role: str, text: str) -> int:
        """What a text is the same by that comes as one."""
        found = hash((role, text))
        if self._divided and (known := self._divided.get(found)) is not None:
            return known
        self._whole.add(found)
        return found

    def _of_parts(self, role: str, parts: list[Json]) -> int:
        others = _others(parts)
        texts = [text for part in parts if (text := (chat.part_text(part) or "").strip())]
        if role == "user":
            texts = [text for each in texts if (text := without_reminders(each))]
            if not texts and not others:
                return NOTHING
        found = self._joined(role, texts) if len(texts) > 1 else self._text(role, "".join(texts))
        return hash((found, others)) if others else found

    def _joined(self, role: str, texts: list[str]) -> int:
        """What a text is the same by that comes in parts: as a text that came as one, with some seam, if one did."""
        ways = [hash((role, seam.join(texts))) for seam in _SEAMS]
        known = (self._divided.get(way, way if way in self._whole else None) for way in ways)
        found = next((number for number in known if number is not None), ways[0])
        self._divided.update(dict.fromkeys(ways, found))
        return found

    def _call(self, call: Json) -> int:
        """What a call is the same by: its tool and its arguments, however they are spelled."""
        held: Any = call.get("function") or call.get("custom") or call if isinstance(call, dict) else None
        if not isinstance(held, dict):
            return hash(jsonio.dumps(call))
        given = held.get("arguments", held.get("input"))
        if type(given) is not str:
            number = hash(spelled(given))
            return hash((str(held.get("name")), number))
        known = self._spelled.get(given)
        number = self._spelled.setdefault(given, hash(spelled(given))) if known is None else known
        return hash((str(held.get("name")), number))


def result_number(place: int) -> int:
    """What a result is the same by, given the place of the call that it answers, from 1; 0 for none."""
    return hash(("tool", place))


def without_reminders(text: str) -> str:
    """A user's text without the blocks by which clients remind the model of something."""
    for tag in _REMINDERS:
        if f"<{tag}>" in text:
            text = without_marked(text, f"<{tag}>", f"</{tag}>").strip()
    return text


def _others(parts: list[Json]) -> int:
    """What the parts that are no text are the same by, which may be very many; 0 if there are none."""
    count, digest = 0, xxh3_64()
    for part in parts:
        if chat.part_text(part) is None:
            digest.update(jsonio.dumps(part))
            count += 1
    return hash((count, digest.intdigest())) if count else 0


def spelled(arguments: Json) -> bytes:
    """What arguments are the same by, however they are spelled."""
    value: Any = arguments
    if isinstance(value, str):
        try:
            value = jsonio.loads(value)
        except (ValueError, RecursionError):
            return str(value).strip().encode("utf-8", "surrogatepass")
    return jsonio.dumps(value, sort_keys=True) if value not in (None, "", {}) else b"{}"
