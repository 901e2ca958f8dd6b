"""The constraints that providers' services impose on requests.

If a format has such constraints, ``SERVICE`` in its module ``service`` describes them; ``docs/formats.md`` lists the
source of each constraint.
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
    """The syntax that a service requires for names or ids."""

    forbidden: re.Pattern[str]
    """Forbidden characters, which are replaced by underscores."""
    max_length: int
    start: re.Pattern[str] = re.compile("")
    """The required beginning; names without it are prefixed with an underscore."""

    def fit(self, name: str) -> str:
        """Return a name with the changes that the service requires; valid names are unchanged."""
        changed = self.forbidden.sub("_", name)
        return (changed if self.start.match(changed) else f"_{changed}")[: self.max_length]


class Service(Struct, frozen=True):
    """The constraints of a service on conversations."""

    provider: str
    """The provider that stores uploaded files."""
    accepts_reasoning: Callable[[Reasoning], bool]
    """Whether the service accepts a reasoning block."""
    names: NameRule | None = None
    """The rule for tool names; ``None`` if any name is accepted."""
    ids: NameRule | None = None
    """The rule for call ids."""
    accepts_hosted: Callable[[HostedCall | HostedResult], bool] | None = None
    """Whether the service accepts a hosted call or its result; ``None`` if it accepts all."""
    # Files uploaded to Gemini are only available to Gemini.
    openable_urls: re.Pattern[str] = re.compile(r"https?://(?!generativelanguage\.googleapis\.com/)", re.IGNORECASE)
    """The beginning of media URLs that the service can open."""
    images: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
    """The image types that it accepts as inline data."""
    rejects_trailing_reasoning: bool = False
    """Whether it rejects reasoning at the end of a turn."""
    prompts: tuple[str, ...] = PROMPTS
    """The roles that it supports for prompts; other prompt roles become the first of these."""
    prompts_among_turns: bool = True
    """Whether prompts may follow the first turn; otherwise they become user messages in ``<system>`` tags."""
    rejects_blank_texts: bool = False
    """Whether it rejects text that consists of white space."""
    requires_pairs: bool = True
    """Whether it rejects results without a call, and calls without a result except at the end."""
    requires_input_before_calls: bool = False
    """Whether it rejects calls that follow neither a user turn nor results."""
    requires_properties: bool = False
    """Whether it rejects tool parameters without properties."""
    remove_unknown_members: Callable[[Json], Json] | None = None
    """Remove the members of a request that the service does not accept."""

    def fit_media(self, medium: Media) -> Media | None:
        """Return a medium in a form that the service accepts, or ``None`` if the service cannot access or read it."""
        if medium.url:
            return medium if self.openable_urls.match(medium.url) else None
        if not medium.data:
            return medium if medium.provider in ("", self.provider) else None
        # ``image/jpg`` is a common but unofficial name.
        fitting = replace(medium, mime="image/jpeg") if medium.mime == "image/jpg" else medium
        is_supported = fitting.kind != "image" or fitting.mime in ("", *self.images)
        return fitting if is_supported and decode_base64(fitting.data) is not None else None


def only(holder: Object, names: Iterable[str]) -> Object:
    """Return the members of an object with these names."""
    return {name: holder[name] for name in names if name in holder}


def known_members(holder: Json, members: dict[str, tuple[str, ...]]) -> Json:
    """Return an object with only the members known for its type; objects of unknown types are returned unchanged."""
    own = members.get(string(holder, "type"))
    return holder if own is None else only(holder, ("type", *own))
