"""Turn directories of LLM session logs into fine-tuning datasets.

Example::

    import chatsquash

    summary = chatsquash.convert("logs", "out", chatsquash.Options(preset="hf"))
"""

from __future__ import annotations

from chatsquash.core.version import __version__

__all__ = [
    "Conversation",
    "Options",
    "Outcome",
    "Session",
    "Summary",
    "__version__",
    "check",
    "convert",
    "convert_session",
    "dump",
    "frame",
    "load",
    "losses",
    "push",
    "read",
    "redact",
    "stats",
    "verify",
    "with_shorthands",
]

TYPE_CHECKING = False  # not imported from typing, since that takes time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from chatsquash.api import (
        Session,
        check,
        convert,
        convert_session,
        push,
        read,
        redact,
        stats,
        verify,
        with_shorthands,
    )
    from chatsquash.api import list_sessions as list  # noqa: A004, F401 - import * leaves it out
    from chatsquash.core.model import Conversation
    from chatsquash.core.options import Options
    from chatsquash.core.outcome import Outcome
    from chatsquash.dataset.summary import Summary
    from chatsquash.results.frame import frame
    from chatsquash.translate.conversations import dump, load, losses

_HOMES = {
    "Conversation": "chatsquash.core.model",
    "Options": "chatsquash.core.options",
    "Outcome": "chatsquash.core.outcome",
    "Session": "chatsquash.api",
    "Summary": "chatsquash.dataset.summary",
    "check": "chatsquash.api",
    "convert": "chatsquash.api",
    "convert_session": "chatsquash.api",
    "dump": "chatsquash.translate.conversations",
    "frame": "chatsquash.results.frame",
    "list": "chatsquash.api:list_sessions",
    "load": "chatsquash.translate.conversations",
    "losses": "chatsquash.translate.conversations",
    "push": "chatsquash.api",
    "read": "chatsquash.api",
    "redact": "chatsquash.api",
    "stats": "chatsquash.api",
    "verify": "chatsquash.api",
    "with_shorthands": "chatsquash.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that ``chatsquash --help`` starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home, _, own_name = _HOMES[name].partition(":")
    return getattr(import_module(home), own_name or name)


def __dir__() -> Iterable[str]:
    """Return the public names."""
    return sorted(__all__)
