"""Arguments of calls: JSON objects, or their text, as a preset wants them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from pipeline import codec
from pipeline.checks import shapes
from pipeline.checks.registry import json_type
from pipeline.model import Json
from pipeline.write.holding import CannotHoldError, Notes

MISSING = "missing arguments are {}"


class Arguments(Protocol):
    """How a preset has arguments."""

    def read(self, arguments: Json, name: str, at: int, notes: Notes) -> Json:
        """Those of a call of ``name`` in message ``at``; raises ``CannotHoldError``."""


class Texts:
    """JSON text: as it was logged where it was text, whatever it says."""

    def read(self, arguments: Json, name: str, at: int, notes: Notes) -> str:
        """The text."""
        del name, at
        if isinstance(arguments, str):
            return arguments
        if arguments is None:
            notes.changed[MISSING] += 1
            return "{}"
        return codec.dumps(arguments).decode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Objects:
    """Objects, and the floats that stand in them."""

    floats: list[float] = field(default_factory=list)
    _decoder: msgspec.json.Decoder[Any] = field(init=False)

    def __post_init__(self) -> None:
        self._decoder = msgspec.json.Decoder(float_hook=self._float)

    def read(self, arguments: Json, name: str, at: int, notes: Notes) -> dict[str, Any]:
        """The object."""
        value = self._parsed(arguments, name, at) if isinstance(arguments, str) else arguments
        if isinstance(value, dict):
            if value is arguments:
                self.floats += (leaf for leaf in codec.leaves(value) if isinstance(leaf, float))
            return value
        if value is None and arguments is None:
            notes.changed[MISSING] += 1
            return {}
        raise CannotHoldError(shapes.arguments_unparsable(name, json_type(value), at))

    def _parsed(self, text: str, name: str, at: int) -> Json:
        try:
            return self._decoder.decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        try:
            value = codec.loads(text)  # which decides about all that is rare
        except (ValueError, RecursionError):
            raise CannotHoldError(shapes.arguments_unparsable(name, "no JSON", at)) from None
        self.floats += (leaf for leaf in codec.leaves(value) if isinstance(leaf, float))
        return value

    def _float(self, spelled: str) -> float:
        value = codec.finite(spelled)
        self.floats.append(value)
        return value
