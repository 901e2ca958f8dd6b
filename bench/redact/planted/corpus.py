"""The records of the second corpus: each has one planted text, in a message, an argument or a result."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

from bench.redact.planted import encoded, labelled, lookalikes, passwords, personal, tokens
from bench.redact.shapes import draw

_ROOM = re.compile(r"\{(area|nxx|gb)\}")

_KINDS = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_ALL = "".join(_KINDS)
_LEAST = 4
"""Characters of a piece of a split value that say anything of it."""


class Sample(NamedTuple):
    """A text with a value."""

    group: str
    """``plain``, ``beside``, ``known``, ``phones``, ``paths`` or ``look-alikes``."""
    name: str
    text: str
    parts: tuple[str, ...]
    """What may not be left."""
    value: str = ""
    """The value as a whole."""
    first: str = ""
    """A text of the same session, or of an earlier one, in which the value is plain."""

    def records(self, rng: Random) -> list[dict[str, Any]]:
        """Its session, and before it the earlier one, if there is one."""
        if self.group == "known":
            return [_record(rng, self.first), _record(rng, self.text)]
        return [_record(rng, self.text, self.first)]


def samples() -> list[Sample]:
    """All of them, the same in each run."""
    rng = Random("planted from documentation")
    plain = [*_tokens(rng), *_opaque(rng), *_cookies(rng), *_passwords(rng)]
    return [*plain, *_encoded(rng, plain), *_phones(rng), *_paths(rng), *_lookalikes(rng)]


def _tokens(rng: Random) -> Iterator[Sample]:
    for number, line in enumerate(tokens.TOKENS.strip().split("\n")):
        name, variable, shape = line.split("|")
        for each in range(4):
            where, text = tokens.ANYWHERE[(number * 5 + each * 7) % len(tokens.ANYWHERE)]
            value = draw(rng, shape)
            written = text.replace("<NAME>", variable).replace("<v>", value.text)
            yield Sample("plain", f"{name} in {where}", written, _parts(value.parts()), value.text)


def _opaque(rng: Random) -> Iterator[Sample]:
    for described, places in labelled.OPAQUE.items():
        name, shape = described.split("|")
        for place in places:
            value = draw(rng, shape).text
            yield Sample("plain", name, draw(rng, place).text.replace("<v>", value), _parts([value]), value)


def _cookies(rng: Random) -> Iterator[Sample]:
    for shape, place in labelled.COOKIES:
        value = draw(rng, shape).text
        yield Sample("plain", "cookie", place.replace("<v>", value), (value,), value)


def _passwords(rng: Random) -> Iterator[Sample]:
    for number, place in enumerate(passwords.URLS):
        value = quote(draw(rng, passwords.PASSWORDS[number % len(passwords.PASSWORDS)]).text, safe="!*-_.~")
        yield Sample("plain", "url password", place.replace("<v>", value), (value,), value)
        yield Sample(
            "plain", "url password", place.replace("<v>", quote(value, safe="!*-_.~")), (quote(value, safe="!*-_.~"),)
        )
    for number, place in enumerate(passwords.STRINGS):
        for shape in (passwords.PASSWORDS[number % len(passwords.PASSWORDS)], "{a16}"):
            value = re.sub(r"[;&,'\"$%]", "x", draw(rng, shape).text)
            yield Sample("plain", "password", place.replace("<v>", value), (value,), value)


def _encoded(rng: Random, plain: list[Sample]) -> Iterator[Sample]:
    usable = [each for each in plain if len(each.value) >= 8 and "%" not in each.value and "://" not in each.value]
    for form in encoded.FORMS:
        for group in ("beside", "known"):
            for each in rng.sample(usable, 12):
                written, parts = _spelled(rng, form, each.value)
                yield Sample(group, f"{form} of {each.name}", written, parts, each.value, each.text)


def _spelled(rng: Random, form: str, value: str) -> tuple[str, tuple[str, ...]]:
    """A text with the value in a form, and what may not be left of it: what another value would change."""
    seed = rng.random()
    written, other = (encoded.FORMS[form](Random(seed), each) for each in (value, _turned(value)))
    start = _same(written, other)
    end = len(written) - _same(written[::-1], other[::-1])
    if not form.startswith(("split", "wrapped")):
        return written, (written[start:end],)
    return written, tuple(_pieces(value, written[start:end]))


def _same(one: str, other: str) -> int:
    """With how many equal characters two texts begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))


def _turned(value: str) -> str:
    """A value of the same characters' kinds that has none of them where the value has it."""
    return "".join(
        next(each[(each.index(letter) + 1) % len(each)] for each in _KINDS if letter in each)
        if letter in _ALL
        else letter
        for letter in value
    )


def _pieces(value: str, text: str) -> Iterator[str]:
    """The longest pieces of a value, one after the other, that a text has."""
    at = 0
    while at < len(value):
        end = next((end for end in range(len(value), at, -1) if value[at:end] in text), at + 1)
        if end - at >= _LEAST:
            yield value[at:end]
        at = end


def _parts(parts: list[str]) -> tuple[str, ...]:
    return tuple(each for each in parts if len(each) >= 8) or tuple(parts)


def _phone(rng: Random, form: str) -> str:
    choices = {"area": personal.AREAS, "nxx": personal.EXCHANGES, "gb": personal.MOBILE_GB}
    return draw(rng, _ROOM.sub(lambda found: rng.choice(choices[found[1]]), form)).text


def _phones(rng: Random) -> Iterator[Sample]:
    for country, forms in personal.PHONES.items():
        for form in forms:
            for text in rng.sample(personal.IN_TEXT, 7):
                value = _phone(rng, form)
                yield Sample("phones", country, text.replace("<v>", value), (value,))
    for country, form in personal.LABELLED:
        for text in rng.sample(personal.LABELS, 8):
            value = _phone(rng, form)
            yield Sample("phones", f"{country} labelled", text.replace("<v>", value), (value,))


def _paths(rng: Random) -> Iterator[Sample]:
    for text in personal.PATHS:
        for user in rng.sample(personal.USERS, 3):
            yield Sample("paths", text, text.replace("<v>", user), (user,))


def _lookalikes(rng: Random) -> Iterator[Sample]:
    for text in (*lookalikes.LOOKALIKES, *personal.NOBODY):
        for _ in range(3):
            yield Sample("look-alikes", text, draw(rng, text).text, ())


def _record(rng: Random, text: str, first: str = "") -> dict[str, Any]:
    """A conversation with one text, and another before it."""
    told = [{"role": "user", "content": first}, {"role": "assistant", "content": "I see."}] if first else []
    arguments = json.dumps({"path": "a.txt", "content": text}, ensure_ascii=rng.random() < 0.5)
    call = {"id": "call_1", "type": "function", "function": {"name": "write", "arguments": arguments}}
    shapes = (
        [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}],
        [{"role": "user", "content": "Look."}, {"role": "assistant", "content": text}],
        [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "", "tool_calls": [call]}],
        [{"role": "user", "content": "Run."}, {"role": "tool", "tool_call_id": "call_1", "content": f"ok\n{text}\n$ "}],
        [{"role": "user", "content": [{"type": "text", "text": f"Before.\n\n{text}\n\nAfter."}]}],
    )
    return {"messages": [*told, *rng.choice(shapes)]}
