"""Runs a conversion on this machine, with as many processes as the options allow."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash.conversion import convert as run
from chatsquash.conversion.engines import EngineSettings
from chatsquash.conversion.progress import Watch
from chatsquash.core.options import Options
from chatsquash.dataset.summary import Summary

MAKES_KEY = True


def convert(logs: Sequence[str], output: str, options: Options, settings: EngineSettings, watch: Watch) -> Summary:
    """See ``Engine``."""
    del settings
    return run.convert(logs, output, options, watch.observer)
