"""Kilo's CLI is a fork of OpenCode with folders of its own."""

from __future__ import annotations

from tests.agents.clients.opencode import OpenCode


class Kilo(OpenCode):
    """``kilo run``, started as its documentation says."""

    name, title = "kilo", "Kilo"
    package, binary = "@kilocode/cli", "kilo"
    files = (".local/share/kilo/kilo.db",)
    settings = ".config/kilo/kilo.json"
    prefix = "KILO"
