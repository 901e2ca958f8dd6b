"""goose has no release on npm or PyPI."""

from __future__ import annotations

from pathlib import Path

from tests.agents.clients import Client, NotInstalledError


class Goose(Client):
    """``goose run``."""

    name, title = "goose", "goose"
    package, binary = "goose", "goose"
    files = (".local/share/goose/sessions",)

    @classmethod
    def fetch(cls, home: Path) -> None:
        raise NotInstalledError("it has no release on npm or PyPI")
