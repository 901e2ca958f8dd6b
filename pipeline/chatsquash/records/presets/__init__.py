"""One module per preset: the shape of a record that a family of trainers reads as it is.

A module states its shape as a JSON Schema, makes it of a conversation, and names what it cannot hold.  Modules are
found by looking in this folder; none is imported before it is asked for.
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
"""What a call without a result is closed with."""


class Column(NamedTuple):
    """A member of a record."""

    name: str
    kind: Literal["messages", "text", "images"]
    """``messages``: a list of JSON objects; ``text``: a string; ``images``: those that were kept, by name."""
    members: tuple[str, ...] = ()
    """The members of these objects, where each has exactly these and all are strings."""


class Choices(NamedTuple):
    """What the user wants of records beyond what stages make of the conversation; see ``Options``."""

    unpaired: Unpaired = "refuse"
    unpaired_text: str = NO_RESULT
    media: Media = "refuse"
    bridges: bool = False
    """Whether what a user says right behind a result goes into the result."""
    merges: bool = False
    """Whether messages of one role that stand in a row only in the preset's shape are joined."""
    drops_text_with_calls: bool = False
    """Whether text goes that stands beside calls only in the preset's shape."""


NO_CHOICES = Choices()
"""Nothing is wanted: what a preset cannot hold is left out."""


class ShapeResult(NamedTuple):
    """What a preset makes of a conversation."""

    record: dict[str, Any] | None
    """``None`` for a conversation that it cannot hold."""
    findings: list[Violation]
    refusal: Violation | None = None
    """Why it cannot hold the conversation; it is among the findings."""
    marks: list[Mark] | None = None
    """Those of the conversation, as the record has its assistant messages; ``None``: it has no place for flags."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Preset:
    """What the module of a preset declares.

    Other commands read records back with ``read`` or ``native``; records with ``messages`` whose calls are in
    ``tool_calls`` need neither.
    """

    NAME: str
    doc: str
    """The docstring of the module, whose first line describes the preset."""
    SCHEMA: dict[str, Any]
    """The JSON Schema of a record."""
    COLUMNS: tuple[Column, ...]
    """In the order of the record; a record may lack one."""
    shape: Callable[..., ShapeResult]
    """Return the record of a conversation, given it and ``Choices``; nothing in the conversation is changed."""
    read: Callable[[dict[str, Any]], StoredRecord | None] | None = None
    """Return the record in a line without ``messages``; ``None`` for one of another preset."""
    native: Callable[[list[Any]], StoredRecord | None] | None = None
    """Return the conversation in messages whose calls and results are in texts; ``None`` for any other."""
    TRAINERS: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The trainers that the preset is for, each with what of ``--loss`` it reads."""
    extra_files: Callable[[list[str], Mapping[str, Sequence[str]]], dict[str, bytes]] | None = None
    """Return more files by name, for the dataset's files and those of each split, as paths below its folder."""


def choices(options: Options) -> Choices:
    """What the options say of such records."""
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
    """The trainers that do not read the flags of the records that are made for them."""
    trainers = get_preset(options.preset).TRAINERS if options.flag != "none" else {}
    return [name for name, flags in trainers.items() if options.flag not in flags]


_ROOM: Room[Preset] = Room(Preset, sys.modules[__name__], place=lambda item: item.name != DEFAULT)
names, get_preset, every = _ROOM.names, _ROOM.get, _ROOM.all
