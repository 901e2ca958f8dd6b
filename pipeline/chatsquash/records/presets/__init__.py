"""One module per preset: the shape of a record that a family of trainers reads as it is.

A module states its shape as a JSON Schema, makes it of a conversation, and names what it cannot hold.  Modules are
found by looking in this folder; none is imported before it is asked for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from chatsquash.core.registry import Room

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatsquash.core.model import Conversation, Mark, Violation
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
    calls_alone: bool = False
    """Whether text goes that stands beside calls only in the preset's shape."""


REFUSED = Choices()
"""Nothing is wanted: what a preset cannot hold is left out."""


class ShapeResult(NamedTuple):
    """What a preset makes of a conversation."""

    record: dict[str, Any] | None
    """``None`` for a conversation that it cannot hold."""
    findings: list[Violation]
    refused: Violation | None = None
    """Why it cannot hold the conversation; it is among the findings."""
    marks: list[Mark] | None = None
    """Those of the conversation, as the record has its assistant messages; ``None``: it has no place for flags."""


class Preset(Protocol):
    """The names that a module has."""

    NAME: str
    SCHEMA: dict[str, Any]
    """The JSON Schema of a record."""
    COLUMNS: tuple[Column, ...]
    """In the order of the record; a record may lack one."""

    @staticmethod
    def shape(conversation: Conversation, choices: Choices = REFUSED) -> ShapeResult:
        """The record of a conversation; nothing in the conversation is changed."""


class Readable(Preset, Protocol):
    """A preset whose records other commands read back, by one of these.

    Records with ``messages`` whose calls stand in ``tool_calls`` need neither.
    """

    @staticmethod
    def read(value: dict[str, Any]) -> StoredRecord | None:
        """The record in a line without ``messages``; ``None`` for that of another preset."""

    @staticmethod
    def native(messages: list[Any]) -> StoredRecord | None:
        """The conversation in messages whose calls and results stand in texts; ``None`` where they are not."""


class WithTrainers(Preset, Protocol):
    """A preset that is for certain trainers."""

    TRAINERS: dict[str, tuple[str, ...]]
    """What of ``--loss`` each of them reads."""


class WithFiles(Preset, Protocol):
    """A preset whose trainers want files of their own beside the dataset's."""

    @staticmethod
    def extra_files(files: list[str], splits: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
        """Files by name, for the dataset's files and those of each split, as paths below its folder."""


def choices(options: Options) -> Choices:
    """What the options say of such records."""
    text = NO_RESULT if options.unpaired_text is None else options.unpaired_text
    return Choices(
        options.unpaired,
        text,
        options.media,
        bridges=options.bridge_results == "join",
        merges=options.merge_consecutive,
        calls_alone=options.drop_text_beside_calls,
    )


def unaware(options: Options) -> list[str]:
    """The trainers that do not read the flags of the records that are made for them."""
    trainers = getattr(named(options.preset), "TRAINERS", {}) if options.flag != "none" else {}
    return [name for name, flags in trainers.items() if options.flag not in flags]


_ROOM: Room[Preset] = Room(sys.modules[__name__], place=lambda item: item.name != DEFAULT)
names, named, every = _ROOM.names, _ROOM.module, _ROOM.all
