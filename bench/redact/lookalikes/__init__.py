"""What looks like a secret and is none: rows of a name, who writes it, and what it is."""

from __future__ import annotations

from typing import NamedTuple

from bench.redact.lookalikes import code, examples, public, references


class LookAlike(NamedTuple):
    """A kind of text that has to stay as it is."""

    name: str
    where: str
    template: str


def lookalikes() -> list[LookAlike]:
    """All kinds of look-alikes."""
    return [
        LookAlike(name, where, template)
        for module in (references, public, examples, code)
        for name, (where, template) in module.ROWS.items()
    ]
