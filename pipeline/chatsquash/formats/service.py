"""What the services of formats want of a request.

A format with a service has a module ``service`` with ``SERVICE``; ``docs/formats.md`` names the source of each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.blocks import PROMPTS, HostedCall, HostedResult, Media, Reasoning
from chatsquash.core.model import Json
from chatsquash.formats.parts import decode_base64
from chatsquash.formats.values import Object, string


class NameRule(Struct, frozen=True):
    """How a service wants names or ids."""

    forbidden: re.Pattern[str]
    """What must not be in one; it becomes an underscore."""
    max_length: int
    start: re.Pattern[str] = re.compile("")
    """How one must begin; an underscore is put before others."""

    def fit(self, name: str) -> str:
        """A name as the service allows it; one that it allows is left."""
        changed = self.forbidden.sub("_", name)
        return (changed if self.start.match(changed) else f"_{changed}")[: self.max_length]


class Service(Struct, frozen=True):
    """What a service wants of a conversation."""

    provider: str
    """Whose uploaded files it has."""
    takes: Callable[[Reasoning], bool]
    """Whether it takes a block of reasoning."""
    names: NameRule | None = None
    """Of tools; ``None``: it takes any."""
    ids: NameRule | None = None
    """Of calls."""
    runs: Callable[[HostedCall | HostedResult], bool] | None = None
    """Whether it knows a call that it is said to have run, or a result of such; ``None``: all that are written."""
    addresses: re.Pattern[str] = re.compile(r"https?://(?!generativelanguage\.googleapis\.com/)", re.IGNORECASE)
    """How the address of a medium begins that it can open; what was uploaded to Gemini only Gemini can."""
    images: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
    """The types of images that it takes by their data."""
    reasoning_leads: bool = False
    """Whether it refuses reasoning that nothing follows in its turn."""
    prompts: tuple[str, ...] = PROMPTS
    """The roles that it has for prompts; others become the first of them."""
    prompts_among_turns: bool = True
    """Whether a prompt may stand behind the first turn; else the user says it in ``<system>`` tags."""
    needs_words: bool = False
    """Whether it refuses a text that is only white space."""
    pairs: bool = True
    """Whether it refuses a call without a result, but at the end, and a result without a call."""
    alternates: bool = False
    """Whether it refuses calls that follow neither the user nor results."""
    lists_properties: bool = False
    """Whether it refuses parameters of tools that list no properties."""
    strict: Callable[[Json], Json] | None = None
    """Takes out of a request what the service does not know."""

    def fit_media(self, medium: Media) -> Media | None:
        """A medium as it takes it; ``None`` for one that it cannot open or that lies with another provider."""
        if medium.url:
            return medium if self.addresses.match(medium.url) else None
        if not medium.data:
            return medium if medium.provider in ("", self.provider) else None
        fitting = replace(medium, mime="image/jpeg") if medium.mime == "image/jpg" else medium
        is_supported = fitting.kind != "image" or fitting.mime in ("", *self.images)
        return fitting if is_supported and decode_base64(fitting.data) is not None else None


def only(holder: Object, names: Iterable[str]) -> Object:
    """The members of an object that have these names."""
    return {name: holder[name] for name in names if name in holder}


def known_members(holder: Json, members: dict[str, tuple[str, ...]]) -> Json:
    """An object with its type and the members that this has; as it is where the type is not known."""
    own = members.get(string(holder, "type"))
    return holder if own is None else only(holder, ("type", *own))
