"""Kilo's CLI is a fork of OpenCode with folders of its own."""

from __future__ import annotations

from tests.agents.clients import PLATFORM
from tests.agents.clients.opencode import OpenCode


class Kilo(OpenCode):
    """``kilo run``."""

    name, title = "kilo", "Kilo"
    package, binary = f"@kilocode/cli{PLATFORM}", "kilo"
    files = (".local/share/kilo/kilo.db",)
    settings = ".config/kilo/kilo.json"
    prefix = "KILO"
