"""Planted sessions, one module for each fact: sessions with it, and look-alikes without it."""

from __future__ import annotations

from tests.steps.planted import (
    asked_again,
    denied,
    failed_call,
    held_out,
    ignored_result,
    interrupted,
    loop,
    reads_future,
    repeated_call,
    undone,
)
from tests.steps.sessions import Session, session

MODULES = {
    "failed_call": failed_call,
    "repeated_call": repeated_call,
    "loop": loop,
    "undone": undone,
    "ignored_result": ignored_result,
    "asked_again": asked_again,
    "interrupted": interrupted,
    "denied": denied,
    "reads_future": reads_future,
}


def sessions(kind: str) -> list[Session]:
    """Return the planted sessions about a fact, with it or as look-alikes."""
    return [session(f"planted/{kind}/{name}", steps) for name, steps in MODULES[kind].CASES.items()]


def held_out_sessions() -> list[Session]:
    """Return the sessions that were written after the detectors."""
    return [session(f"planted/held_out/{name}", steps) for name, steps in held_out.CASES.items()]
