"""Draws values of a documented shape: ``ghp_{a36}`` is ``ghp_`` and 36 letters and digits."""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Callable
from random import Random
from typing import NamedTuple

_FIELD = re.compile(r"\{(~?)(?:([a-zA-Z])(\d+)(?:-(\d+))?|(uuid|password|claims|basic|word|Word|WORD|port))\}")
_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "c": string.ascii_letters,
    "l": string.ascii_lowercase + string.digits,
    "z": string.ascii_lowercase,
    "U": string.ascii_uppercase + string.digits,
    "A": string.ascii_uppercase + "234567",  # base32
    "i": string.ascii_lowercase + "234567",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "n": "123456789",
    "w": string.ascii_letters + string.digits + "-_",  # base64 for URLs
    "b": string.ascii_letters + string.digits + "+/",
    "t": string.ascii_letters + string.digits + "-_.~",
    "x": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",  # bech32
    "D": string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)",  # what Django draws from
    "W": string.ascii_letters + string.digits + "!@#$%^&*()-_ []{}~+=,.;:/?|",  # what WordPress draws from
    "P": string.ascii_letters + string.digits + "!@#%^*-_=+.~?&$",  # what password generators draw from
}
WORDS = (
    "amber anchor apple arrow autumn badger bamboo banjo basil beacon berry birch bottle breeze bronze butter candle "
    "canyon castle cedar cherry chisel cinder clover cobalt comet copper coral cotton cricket crystal dagger daisy "
    "desert dolphin dragon eagle ember engine falcon feather fern forest fossil galaxy garden ginger glacier granite "
    "hammer harbor hazel helmet heron honey hunter island ivory jacket jasper jungle kettle ladder lantern laurel "
    "lemon lobster magnet mango maple marble meadow melon meteor mirror monkey mountain nectar nickel ocean olive "
    "onion orange orchid otter oyster panda paper pepper piano pigeon pillow planet pocket poppy prairie pumpkin "
    "purple puzzle quartz rabbit raven ribbon river rocket saddle salmon sandal saturn shadow silver socket spider "
    "spring summer sunset tiger timber tomato tulip tunnel turtle valley velvet violet walnut willow window winter"
).split()


class Value(NamedTuple):
    """A text, and the parts of it of which nothing may be left."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def mapped(self, spell: Callable[[str], str]) -> Value:
        """The value with each of its characters spelled otherwise."""
        pieces, ends = [], [0]
        for character in self.text:
            pieces.append(spell(character))
            ends.append(ends[-1] + len(pieces[-1]))
        return Value("".join(pieces), tuple((ends[start], ends[end]) for start, end in self.spans))

    def within(self, before: str, after: str) -> Value:
        """The value as a part of a text."""
        by = len(before)
        return Value(before + self.text + after, tuple((start + by, end + by) for start, end in self.spans))

    def parts(self) -> list[str]:
        """The parts of which nothing may be left."""
        return [self.text[start:end] for start, end in self.spans]


def draw(rng: Random, shape: str) -> Value:
    """A value of a shape; what is drawn is what may not be left, unless it is marked as public, as in ``{~word}``."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    done = length = 0
    for field in _FIELD.finditer(shape):
        is_public, what, least, most, whole = field.groups()
        fixed, drawn = shape[done : field.start()], _WHOLE[whole](rng) if whole else _drawn(rng, what, least, most)
        start = length + len(fixed)
        pieces += (fixed, drawn)
        length = start + len(drawn)
        done = field.end()
        if is_public:
            continue
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], length)
        else:
            spans.append((start, length))
    return Value("".join([*pieces, shape[done:]]), tuple(spans))


def text(rng: Random, shape: str) -> str:
    """A text of a shape, of which no part matters more than others."""
    return draw(rng, shape).text


def _drawn(rng: Random, what: str, least: str, most: str | None = None) -> str:
    count = rng.randint(int(least), int(most or least))
    return "".join(rng.choices(_ALPHABETS[what], k=count))


def _uuid(rng: Random) -> str:
    digits = _drawn(rng, "h", "32")
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{rng.choice('89ab')}{digits[17:20]}-{digits[20:]}"


def _password(rng: Random) -> str:
    """A password as people make it: words, digits and a sign or two, 8 to 32 characters."""
    words = rng.sample(WORDS, rng.randint(1, 3))
    digits = str(rng.randint(10, 9999))
    sign = rng.choice("!@%*-_=+.?")
    made = rng.choice(
        (
            f"{words[0].title()}{digits}{sign}",
            f"{words[0].replace('a', '4').replace('o', '0').title()}{sign}{digits}{rng.choice('!?.*')}",
            f"{'-'.join(words)}-{digits}",
            f"{''.join(word.title() for word in words)}{sign}{digits}",
            f"{_drawn(rng, 'l', '4', None)}{sign}{words[0].title()}{digits}",
        )
    )
    return made if len(made) >= 8 else made + _drawn(rng, "a", str(9 - len(made)))


def encoded(value: object) -> str:
    """JSON in base64 for URLs, as it stands in a web token."""
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _claims(rng: Random) -> str:
    word, born = rng.choice(WORDS), rng.randint(1_650_000_000, 1_740_000_000)
    claims = {"sub": _drawn(rng, "h", "24"), "name": word.title(), "iat": born, "exp": born + 3600}
    return encoded({**claims, "iss": f"https://auth.{word}.io", "scope": "read write"})


def _basic(rng: Random) -> str:
    return base64.b64encode(f"{rng.choice(WORDS)}:{_password(rng)}".encode()).decode().rstrip("=")


_WHOLE: dict[str, Callable[[Random], str]] = {
    "uuid": _uuid,
    "password": _password,
    "claims": _claims,
    "basic": _basic,
    "word": lambda rng: rng.choice(WORDS),
    "Word": lambda rng: rng.choice(WORDS).title(),
    "WORD": lambda rng: rng.choice(WORDS).upper(),
    "port": lambda rng: str(rng.choice((3000, 5432, 6379, 8000, 8080, 8443, 9090, 27017))),
}
