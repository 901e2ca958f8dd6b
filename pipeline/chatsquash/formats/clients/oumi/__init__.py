"""Oumi's training conversations; this format also loads Oumi's chat histories."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import TurnError, load_objects
from chatsquash.formats.clients.oumi import history, training
from chatsquash.formats.clients.oumi.training import defined_tools, dump
from chatsquash.formats.evidence import at_line, line_numbers
from chatsquash.formats.values import kind

NAME = "oumi"
HAS_TOOLS = True
MEMBERS = ("messages",)

LOSES = """
developer role, developer mid, audio, video, pdf, file id of OpenAI, file id of Anthropic, result file, approval,
orphan result, refusal, custom tool call, hosted call, unanswered hosted call, source
"""
BLURS = """
instructions, text after call, result json obj, result json list, is_error, denied result, reasoning of two blocks,
reasoning between, anthropic signature, anthropic redacted, openai encrypted, gemini call sig, native members
"""

__all__ = ["HAS_TOOLS", "NAME", "conversations", "defined_tools", "dump", "every", "fits"]


def fits(objects: list[Json]) -> str | None:
    """Check whether all objects are training conversations."""
    return each_fits(objects, training.fits)


def each_fits(objects: list[Json], test: Callable[[dict[str, Json]], str | None]) -> str | None:
    """Return the evidence in the first object if all objects pass a test."""
    evidence = [test(each) for each in objects if isinstance(each, dict)]
    return evidence[0] if evidence and len(evidence) == len(objects) and None not in evidence else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load training conversations, and the branches of histories that are not the beginning of another branch.

    Raises:
        TurnError: with the place of malformed content
    """
    loaded_objects = load_objects(objects, lambda document: _load(document, history.load))
    return [
        at_line(each, line)
        for branches, line in zip(loaded_objects, line_numbers(objects, lines), strict=True)
        for each in branches
    ]


def every(objects: list[Json]) -> list[Conversation]:
    """Load training conversations and all branches of histories; may raise ``TurnError``."""
    loaded_objects = load_objects(objects, lambda document: _load(document, history.branches))
    return [at_line(each, number) for number, branches in enumerate(loaded_objects, 1) for each in branches]


def _load(document: Json, load: Callable[[dict[str, Json]], list[Conversation]]) -> list[Conversation]:
    if not isinstance(document, dict):
        raise TurnError(f"expected an object, not {kind(document)}")
    return [training.load(document)] if "messages" in document else load(document)
