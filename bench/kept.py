"""What was measured for the model of ``cluster.py``, in a file beside the code, so that tables are made without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.commands import HERE
from bench.compared import Compared
from bench.rates import Rates

KEPT = HERE / "rates.json"


@dataclass(frozen=True)
class Kept:
    """The rates, and the runs that were compared with them."""

    rates: Rates
    compared: list[Compared]


def kept(path: Path = KEPT) -> Kept:
    """What was measured last."""
    return msgspec.json.decode(path.read_bytes(), type=Kept)


def keep(known: Kept, path: Path = KEPT) -> None:
    """Write what was measured."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
