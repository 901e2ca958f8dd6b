"""How members of archives are spelled: ``a.zip!/b.jsonl``."""

from __future__ import annotations

import re

MARK = "!/"
"""What stands between the path of an archive and the name of a member."""
_MEMBER = re.compile(r"(.+?\.(?:zip|tgz|tar(?:\.(?:gz|xz|bz2|zst))?))!/(.+)", re.IGNORECASE | re.DOTALL)


def container(path: str) -> tuple[str, str] | None:
    """The archive of a member's path, and the member's name; ``None`` for the path of a file."""
    match = _MEMBER.fullmatch(path) if MARK in path else None
    return (match[1], match[2]) if match else None
