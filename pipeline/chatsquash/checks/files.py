"""What is found in the files of agents and clients, beside what is found in any log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsquash.checks.registry import Fact, rule
from chatsquash.text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 20


@rule("info")
def not_read(kinds: Mapping[str, int]) -> Fact:
    """Reported when the file of an agent or a client holds what is no part of a conversation, by name, with counts.

    It stands with the first conversation of the file. `chatsquash translate` tells the same, and `--lossless` refuses
    for it.
    """
    most = sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
    some = ", ".join(f"{quoted(name)} {count:,}" for name, count in most[:_SHOWN])
    rest = f" and {counted(len(most) - _SHOWN, 'other name')}" if len(most) > _SHOWN else ""
    return Fact(f"no part of the record: {some}{rest}")
