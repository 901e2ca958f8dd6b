"""This machine, with as many processes as the options say."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash.conversion import convert as run
from chatsquash.conversion.engines import Where
from chatsquash.conversion.progress import Watch
from chatsquash.core.options import Options
from chatsquash.dataset.summary import Summary

MAKES_KEY = True


def convert(logs: Sequence[str], output: str, options: Options, where: Where, watch: Watch) -> Summary:
    """As ``Engine`` has it."""
    del where
    return run.convert(logs, output, options, watch.observer)
