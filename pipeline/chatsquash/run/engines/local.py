"""This machine, with as many processes as the options say."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash.core.options import Options
from chatsquash.dataset.summary import Summary
from chatsquash.report.progress import Watch
from chatsquash.run import convert as run
from chatsquash.run.engines import Where

MAKES_KEY = True


def convert(logs: Sequence[str], output: str, options: Options, where: Where, watch: Watch) -> Summary:
    """As ``Engine`` has it."""
    del where
    return run.convert(logs, output, options, watch.observer)
