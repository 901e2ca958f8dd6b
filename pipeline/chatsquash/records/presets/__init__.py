"""One module per preset: the shape of a record that a family of trainers reads as it is.

A module declares its shape as a JSON Schema, makes records of conversations, and reports content that it cannot
represent.  Modules are discovered in this folder and imported when needed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from chatsquash.core.registry import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatsquash.core.model import Mark, Violation
    from chatsquash.core.options import Options
    from chatsquash.core.shape_options import Media, Unpaired
    from chatsquash.records.line import StoredRecord

DEFAULT = "chat"
"""The specified record."""
NO_RESULT = "[no result]"
"""The default text for missing results."""


class Column(NamedTuple):
    """A member of a record."""

    name: str
    kind: Literal["messages", "text", "images"]
    """``messages``: a list of JSON objects; ``text``: a string; ``images``: names of image files."""
    members: tuple[str, ...] = ()
    """The members of the objects, if all have exactly these, with strings."""


class Choices(NamedTuple):
    """Options that presets apply, in addition to the stages that change the conversation; see ``Options``."""

    unpaired: Unpaired = "refuse"
    unpaired_text: str = NO_RESULT
    media: Media = "refuse"
    bridges: bool = False
    """Whether a user message directly after a result is appended to the result."""
    merges: bool = False
    """Whether messages of one role are joined if they only become adjacent in the preset's shape."""
    drops_text_with_calls: bool = False
    """Whether text is dropped if it only shares a message with calls in the preset's shape."""


NO_CHOICES = Choices()
"""The defaults: conversations that a preset cannot represent are skipped."""


class ShapeResult(NamedTuple):
    """The record of a conversation, with findings."""

    record: dict[str, Any] | None
    """``None`` for a conversation that the preset cannot represent."""
    findings: list[Violation]
    refusal: Violation | None = None
    """The reason why it cannot; also among the findings."""
    marks: list[Mark] | None = None
    """The marks of assistant messages in the record; ``None`` if it cannot have flags."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Preset:
    """The declarations in the module of a preset.

    Other commands read records back with ``read`` or ``native``; records with ``messages`` whose calls are in
    ``tool_calls`` need neither.
    """

    NAME: str
    doc: str
    """The docstring of the module, whose first line describes the preset."""
    SCHEMA: dict[str, Any]
    """The JSON Schema of a record."""
    COLUMNS: tuple[Column, ...]
    """The members of a record in order, some of which may be missing."""
    shape: Callable[..., ShapeResult]
    """Return the record of a conversation, given it and ``Choices``; nothing in the conversation is changed."""
    read: Callable[[dict[str, Any]], StoredRecord | None] | None = None
    """Return the record in a line without ``messages``; ``None`` for one of another preset."""
    native: Callable[[list[Any]], StoredRecord | None] | None = None
    """Return the conversation in messages whose calls and results are in texts; ``None`` for any other."""
    TRAINERS: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The trainers that read the preset, each with the values of ``--loss`` that it supports."""
    extra_files: Callable[[list[str], Mapping[str, Sequence[str]]], dict[str, bytes]] | None = None
    """Return more files by name, for the dataset's files and those of each split, as paths below its folder."""


def choices(options: Options) -> Choices:
    """Return the choices for presets in the options."""
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
