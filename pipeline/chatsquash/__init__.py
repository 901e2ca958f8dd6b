"""chatsquash: directories of LLM session logs in, fine-tuning datasets out."""

from __future__ import annotations

from chatsquash.core.version import __version__

__all__ = [
    "Conversation",
    "Options",
    "Outcome",
    "Session",
    "Summary",
    "__version__",
    "convert",
    "convert_session",
    "dump",
    "frame",
    "load",
    "losses",
    "read",
]

TYPE_CHECKING = False  # as typing has it, which takes time to import
if TYPE_CHECKING:
    from typing import Any

    from chatsquash.conversion.convert import convert
    from chatsquash.conversion.in_memory import convert_session, read
    from chatsquash.core.model import Conversation
    from chatsquash.core.options import Options
    from chatsquash.core.outcome import Outcome
    from chatsquash.dataset.choice import Session
    from chatsquash.dataset.summary import Summary
    from chatsquash.results.frame import frame
    from chatsquash.translate.conversations import dump, load, losses

_HOMES = {
    "Conversation": "chatsquash.core.model",
    "Options": "chatsquash.core.options",
    "Outcome": "chatsquash.core.outcome",
    "Session": "chatsquash.dataset.choice",
    "Summary": "chatsquash.dataset.summary",
    "convert": "chatsquash.conversion.convert",
    "convert_session": "chatsquash.conversion.in_memory",
    "dump": "chatsquash.translate.conversations",
    "frame": "chatsquash.results.frame",
    "load": "chatsquash.translate.conversations",
    "losses": "chatsquash.translate.conversations",
    "read": "chatsquash.conversion.in_memory",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``chatsquash --help`` answers at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
