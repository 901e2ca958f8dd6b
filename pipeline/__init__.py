"""chatsquash: directories of LLM session logs in, fine-tuning datasets out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Conversation",
    "Options",
    "Outcome",
    "Summary",
    "__version__",
    "convert",
    "convert_session",
    "dump",
    "load",
    "losses",
]

if TYPE_CHECKING:
    from pipeline.model import Conversation, Options, Outcome
    from pipeline.report.summary import Summary
    from pipeline.run.conversations import dump, load, losses
    from pipeline.run.convert import convert
    from pipeline.run.in_memory import convert_session

_HOMES = {
    "Conversation": "pipeline.model",
    "Options": "pipeline.model",
    "Outcome": "pipeline.model",
    "Summary": "pipeline.report.summary",
    "convert": "pipeline.run.convert",
    "convert_session": "pipeline.run.in_memory",
    "dump": "pipeline.run.conversations",
    "load": "pipeline.run.conversations",
    "losses": "pipeline.run.conversations",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``chatsquash --help`` answers at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
