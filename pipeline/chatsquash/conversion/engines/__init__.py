"""What runs a conversion: one module per engine, found by looking in this folder, and where it runs as options."""

# No annotation is a string here, since the declarations read the types of the fields.
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Literal, Protocol

from chatsquash.core.option_declarations import option
from chatsquash.core.options import Options
from chatsquash.core.overview import Overview
from chatsquash.core.registry import Room

if TYPE_CHECKING:
    from chatsquash.conversion.progress import Watch

_engine = partial(option, group="engine", decides="nothing", on_card=False)


@dataclass(frozen=True, slots=True)
class Where:
    """Where a conversion runs, which decides no byte of its result."""

    engine: Literal["local", "ray"] = _engine(
        "local",
        "Where the conversion runs: on this machine (local), or as tasks of a Ray cluster.",
    )
    address: str | None = _engine(
        None,
        "The Ray cluster, as HOST:PORT or auto.",
        metavar="ADDRESS",
        usually="one on this machine, for this run",
    )
    merge: bool = _engine(
        True, "Write the dataset at the end. --no-merge leaves the results of the shards as they are."
    )


class EngineReport(Protocol):
    """What an engine did, for people."""

    @property
    def complete(self) -> bool:
        """Whether every session was written and every line could be read."""

    def overview(self) -> Overview:
        """What people should know about it."""

    def as_json(self) -> dict[str, object]:
        """The same as JSON values."""


class Engine(Protocol):
    """What a module of this folder has."""

    MAKES_KEY: bool
    """Whether a key of pseudonyms is made where none is named."""

    def convert(self, logs: Sequence[str], output: str, options: Options, where: Where, watch: "Watch") -> EngineReport:
        """Convert session logs; raises as ``chatsquash.convert``."""


_room: Room[ModuleType] = Room(ModuleType, sys.modules[__name__])
names = _room.names


def engine(name: str) -> Engine:
    """The engine of a name."""
    plugin: Engine = _room.get(name)
    return plugin
