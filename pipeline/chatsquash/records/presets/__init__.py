"""One module per preset: the shape of a record that a family of trainers reads as it is.

A module declares its shape as a JSON Schema, makes records of conversations, and reports content that it cannot
represent. Modules are discovered in this folder and imported when needed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct, field

from chatsquash.core.registry import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatsquash.core.model import Mark, Violation
    from chatsquash.core.options import Options
    from chatsquash.core.record_options import Media, Unpaired
    from chatsquash.records import StoredRecord

DEFAULT = "chat"
"""The default preset, whose records are specified."""
NO_RESULT = "[no result]"
"""The default text of missing results."""


class Column(Struct, frozen=True):
    """A member of a record."""

    name: str
    kind: Literal["messages", "text", "images"]
    """``messages``: a list of JSON objects; ``text``: a string; ``images``: names of image files."""
    members: tuple[str, ...] = ()
    """The members of the objects, if all of them have exactly these members with strings."""


class Choices(NamedTuple):
    """Options that presets apply, in addition to the stages that change the conversation; see ``Options``."""

    unpaired: Unpaired = "refuse"
    unpaired_text: str = NO_RESULT
    media: Media = "refuse"
    bridges: bool = False
    """Whether a user message directly after a result is appended to the result."""
    merges: bool = False
    """Whether messages of one role are joined if they become adjacent only in the preset's shape."""
    drops_text_with_calls: bool = False
    """Whether text is dropped if it shares a message with calls only in the preset's shape."""


NO_CHOICES = Choices()
"""The defaults, with which conversations that a preset cannot represent are skipped."""


class ShapeResult(NamedTuple):
    """The record of a conversation, with findings."""

    record: dict[str, Any] | None
    """The record; ``None`` for a conversation that the preset cannot represent."""
    findings: list[Violation]
    refusal: Violation | None = None
    """The reason why the preset cannot represent it; also among the findings."""
    marks: list[Mark] | None = None
    """The marks of assistant messages in the record; ``None`` if the record cannot have flags."""


class Preset(Struct, frozen=True, eq=False, kw_only=True):
    """The declarations in the module of a preset.

    Other commands read records back with ``read`` or ``native``. Records with ``messages`` whose calls are in
    ``tool_calls`` require neither.
    """

    NAME: str
    doc: str
    """The docstring of the module, whose first line describes the preset."""
    SCHEMA: dict[str, Any]
    """The JSON Schema of a record."""
    COLUMNS: tuple[Column, ...]
    """The members of a record in order, some of which may be missing."""
    shape: Callable[..., ShapeResult]
    """Returns the record of a conversation, given the conversation and ``Choices``; the conversation is not changed."""
    read: Callable[[dict[str, Any]], StoredRecord | None] | None = None
    """Returns the record in a line without ``messages``; ``None`` for a record of another preset."""
    native: Callable[[list[Any]], StoredRecord | None] | None = None
    """Returns the conversation in messages with calls and results as text; ``None`` for any other messages."""
    TRAINERS: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The trainers that read the preset, each with the values of ``--loss`` that it supports."""
    extra_files: Callable[[list[str], Mapping[str, Sequence[str]]], dict[str, bytes]] | None = None
    """Returns additional files by name, given the dataset's files and those of each split as paths under its folder."""


def choices(options: Options) -> Choices:
    """Return the choices for presets according to the options."""
    text = NO_RESULT if options.unpaired_text is None else options.unpaired_text
    return Choices(
        options.unpaired,
        text,
        options.media,
        bridges=options.bridge_results == "join",
        merges=options.merge_consecutive,
        drops_text_with_calls=options.drop_text_beside_calls,
    )


def trainers_ignoring_flags(options: Options) -> list[str]:
    """Return the trainers of the preset that ignore the requested flag."""
    trainers = get_preset(options.preset).TRAINERS if options.flag != "none" else {}
    return [name for name, flags in trainers.items() if options.flag not in flags]


_ROOM: Room[Preset] = Room(Preset, sys.modules[__name__], place=lambda item: item.name != DEFAULT)
names, get_preset, every = _ROOM.names, _ROOM.get, _ROOM.all
