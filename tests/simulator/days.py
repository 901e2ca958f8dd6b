"""Days of agents behind a gateway: what Claude Code, Codex, OpenCode and Gemini CLI send, in the mixture of a day.

Each is written from what the agent publishes (its source or its npm package) and from requests that it sent to a
recorded server: which API it uses, whether its requests have the id of a session, what it requests besides the turns
of the user, and how it begins after a compaction.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.simulator.behaviours import behaviours
from tests.simulator.client import Client
from tests.simulator.play import Played, collected, steps
from tests.simulator.session import Layout, Log, Session
from tests.simulator.words import Words


class Day(NamedTuple):
    """An agent and what happens in its sessions."""

    style: str
    ids: bool
    """Whether its requests have the id of a session."""
    habits: tuple[str, ...]
    openings: tuple[str, ...]
    each_turn: tuple[str, ...]
    """Requests that accompany every turn."""
    events: dict[str, int]
    """What else happens, with weights."""


_PEOPLE = {"rewind": 2, "edit": 1, "broken-retried": 2, "broken-last": 2, "broken-kept": 1, "truncated": 1}
"""What users and networks do with any agent: rewinds, retries, interruptions."""

DAYS = {
    "claude-code": Day(
        "anthropic",
        True,
        ("rewrite-parts", "rewrite-reminders", "summary-lists-prompts"),
        ("warm-up-before", "title-before"),
        ("each-turn-suggestion",),
        {
            **_PEOPLE,
            "command-classified": 3,
            "subagent": 3,
            "subagent-parallel": 2,
            "delegate-forked": 1,
            "compact-inside": 3,
            "summary-again": 1,
            "micro-compact": 2,
            "emptied-then-rewind": 1,
            "resume-new-id": 1,
            "side-probe": 1,
        },
    ),
    "codex": Day(
        "responses",
        True,
        ("rewrite-arguments",),
        (),
        (),
        {
            **_PEOPLE,
            "broken-item": 2,
            "subagent-parallel": 3,
            "subagent": 2,
            "summary-keeps-prompts": 3,
            "side-classification": 2,
            "resume-new-id": 1,
        },
    ),
    "opencode": Day(
        "openai",
        True,
        ("rewrite-reasoning",),
        ("title-before",),
        (),
        {
            **_PEOPLE,
            "delegate-own-id": 4,
            "summary-answer": 3,
            "micro-compact": 2,
            "regenerate": 1,
            "resume-new-id": 1,
        },
    ),
    "gemini-cli": Day(
        "gemini",
        False,
        (),
        (),
        ("each-turn-speaker",),
        {
            **_PEOPLE,
            "subagent": 3,
            "summary-checked": 3,
            "resume-repeats": 2,
            "compact-system": 1,
        },
    ),
}


def play_day(name: str, seed: int, *, ids: bool | None = None) -> Played:
    """Play some sessions of an agent at once, logged to one file; ``ids`` overrides whether lines name their session."""
    day, rng = DAYS[name], Random(f"{name} {seed}")
    layout, log = Layout(ids=day.ids if ids is None else ids, shared=True), Log(rng)
    sessions = [_session(day, f"d{seed:04}{letter}", rng, log, layout) for letter in "abc"[: rng.randint(2, 3)]]
    return collected(
        seed,
        rng,
        log,
        sessions,
        [steps(session, [behaviours()[each] for each in _chosen(day, rng)]) for session in sessions],
    )


def _session(day: Day, name: str, rng: Random, log: Log, layout: Layout) -> Session:
    words = Words(rng)
    client = Client(words, day.style)
    for habit in day.habits:
        behaviours()[habit].play(client)
    if client.reminds:
        client.reminds = "moves"
    return Session(name, rng, words, client, log, layout, most=48)


def _chosen(day: Day, rng: Random) -> list[str]:
    """The openings, some events and the requests of each turn, in the order in which they are played."""
    events = rng.choices(list(day.events), list(day.events.values()), k=rng.randint(3, 7))
    return [*(each for each in day.openings if rng.random() < 0.6), *day.each_turn, *events]
