"""The engines that run conversions: one module each, discovered in this folder, and the options that select one."""

# Without ``from __future__ import annotations``, since the declarations read the types of the fields.
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Literal, Protocol

from chatsquash.core.option_declarations import option
from chatsquash.core.options import Options
from chatsquash.core.registry import Room

if TYPE_CHECKING:
    from chatsquash.conversion.progress import Watch
    from chatsquash.core.overview import Overview

_engine = partial(option, group="engine", decides="nothing", on_card=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EngineSettings:
    """Options that select where a conversion runs; they do not affect its result."""

    engine: Literal["local", "ray"] = _engine(
        "local",
        "Run the conversion on this machine (local), or as tasks on a Ray cluster.",
    )
    address: str | None = _engine(
        None,
        "The Ray cluster, as HOST:PORT or auto.",
        metavar="ADDRESS",
        usually="one on this machine, for this run",
    )
    merge: bool = _engine(True, "Write the dataset at the end. --no-merge keeps the results of the shards instead.")


class EngineReport(Protocol):
    """The result of a run of an engine."""

    @property
    def complete(self) -> bool:
        """Whether every session was written and every line could be read."""

    def overview(self) -> "Overview":
        """Return the summary that the command prints."""

    def as_json(self) -> dict[str, object]:
        """Return the report as JSON values."""


class Engine(Protocol):
    """The interface of the modules in this folder."""

    MAKES_KEY: bool
    """Whether a key for pseudonyms is created if none is passed."""

    def convert(
        self, logs: Sequence[str], output: str, options: Options, settings: EngineSettings, watch: "Watch"
    ) -> EngineReport:
        """Convert session logs; raises as ``chatsquash.convert``."""


_room: Room[ModuleType] = Room(ModuleType, sys.modules[__name__])
names = _room.names


def engine(name: str) -> Engine:
    """Return the engine with a name."""
    plugin: Engine = _room.get(name)
    return plugin
