"""What the services of formats want of a request.

A format with a service has a module ``service`` with ``SERVICE``; ``docs/formats.md`` names the source of each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from chatsquash.blocks import PROMPTS, HostedCall, HostedResult, Reasoning
from chatsquash.formats.values import Object
from chatsquash.model import Json


class Letters(Struct, frozen=True):
    """How a service wants names or ids."""

    unfit: re.Pattern[str]
    """What must not be in one; it becomes an underscore."""
    longest: int
    starts: re.Pattern[str] = re.compile("")
    """How one must begin; an underscore is put before others."""

    def fitted(self, wanted: str) -> str:
        """A name as the service allows it; one that it allows is left."""
        changed = self.unfit.sub("_", wanted)
        return (changed if self.starts.match(changed) else f"_{changed}")[: self.longest]


class Service(Struct, frozen=True):
    """What a service wants of a conversation."""

    names: Letters | None = None
    """Of tools; ``None``: it takes any."""
    ids: Letters | None = None
    """Of calls."""
    takes: Callable[[Reasoning], bool] = lambda _: True
    """Whether it takes a block of reasoning."""
    runs: Callable[[HostedCall | HostedResult], bool] | None = None
    """Whether it knows a call that it is said to have run, or a result of such; ``None``: all that are written."""
    reasoning_leads: bool = False
    """Whether it refuses reasoning that nothing follows in its turn."""
    prompts: tuple[str, ...] = PROMPTS
    """The roles that it has for prompts; others become the first of them."""
    prompts_among_turns: bool = True
    """Whether a prompt may stand behind the first turn; else the user says it in ``<system>`` tags."""
    needs_words: bool = False
    """Whether it refuses a text that is only white space, and white space behind the last text of the assistant's."""
    pairs: bool = True
    """Whether it refuses a call without a result, but at the end, and a result without a call."""
    strict: Callable[[Json], Json] | None = None
    """Takes out of a request what the service does not know."""


def only(holder: Object, names: Iterable[str]) -> Object:
    """The members of an object that have these names."""
    return {name: holder[name] for name in names if name in holder}
