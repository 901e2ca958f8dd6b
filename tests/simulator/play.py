"""A seed becomes a log and its truth: what is played when."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from tests.simulator.behaviours import Behaviour, behaviours, named
from tests.simulator.client import Client
from tests.simulator.not_yet import NOT_MIXED
from tests.simulator.session import Layout, Log, Session
from tests.simulator.styles import STYLES
from tests.simulator.truth import Truth, judged
from tests.simulator.words import Words

LEAST = 5
"""A session goes on until it has so many exchanges."""


class Played(NamedTuple):
    """A log and what is true of it."""

    seed: int
    files: dict[str, bytes]
    """By their names, with folders, in the order of these."""
    truth: Truth


PARTIAL = frozenset(
    {
        "broken-item",
        "broken-prefill",
        "choices",
        "resume-repeats",
        "rewrite-order-of-results",
        "rewrite-think-tags",
        "stored-conversation",
        "stored-responses",
    }
)
"""Behaviours with which one line alone is not what the record of its conversation shows."""


def play(seed: int, hard: bool = False, only: tuple[str, ...] = (), without: frozenset[str] = frozenset()) -> Played:
    """Play a seeded log; ``only`` names behaviours, or groups of them, that are played beside plain turns and no others.

    ``without``: those that are not mixed in.
    """
    rng = Random(seed)
    chosen = named(only) if only else _mixed(rng, hard=hard, without=without)
    layout = Layout()
    for each in _when(chosen, "layout"):
        each.play(layout)
    log = Log(rng)
    sessions: list[Session] = []
    for letter in "abc"[: _count(rng, layout)]:
        style = sessions[0].client.style if layout.alike and sessions else None
        sessions.append(_session(f"s{seed:05}{letter}", rng, log, layout, chosen, style))
    if layout.alike:
        _begin_alike(sessions)
    return collected(seed, rng, log, sessions, [steps(session, chosen) for session in sessions])


def collected(
    seed: int, rng: Random, log: Log, sessions: list[Session], planned: list[list[Callable[[], object]]]
) -> Played:
    """Play what is planned for each session, one step of any session after another, and collect log and truth."""
    while planned := [left for left in planned if left]:
        rng.choice(planned).pop(0)()
    truth = judged((session.name, session.trees) for session in sessions)
    files = {name: b"\n".join(lines) + b"\n" for name, lines in sorted(log.files.items())}
    return Played(seed, files, truth)


def _mixed(rng: Random, *, hard: bool, without: frozenset[str] = frozenset()) -> list[Behaviour]:
    """A layout or none, half of the habits, and a few events; hard ones only where they are wanted."""
    absent = NOT_MIXED | without
    found = [each for each in behaviours().values() if (hard or not each.hard) and each.name not in absent]
    layouts, habits = _when(found, "layout"), _when(found, "client")
    events = _when(found, "event")
    plain, difficult = [each for each in events if not each.hard], [each for each in events if each.hard]
    return [
        *rng.sample(layouts, rng.choice((0, 0, 1))),
        *(each for each in habits if rng.random() < 0.5),
        *(each for each in _when(found, "opening") if rng.random() < 0.15),
        *rng.sample(plain, rng.randint(1, 5)),
        *rng.sample(difficult, rng.randint(0, min(2, len(difficult)))),
    ]


def _when(chosen: list[Behaviour], when: str) -> list[Behaviour]:
    return [each for each in chosen if each.when == when]


def _count(rng: Random, layout: Layout) -> int:
    """How many sessions are logged together."""
    if layout.alike:
        return rng.choice((2, 3))
    if layout.shared:
        return rng.choice((1, 2, 3))
    return 1 if layout.ids else rng.choice((1, 2))


def _session(
    name: str, rng: Random, log: Log, layout: Layout, chosen: list[Behaviour], style: str | None = None
) -> Session:
    words = Words(rng)
    fitting = [style for style in STYLES if all(not each.styles or style in each.styles for each in chosen)]
    drawn = rng.choice(fitting or list(STYLES))
    client = Client(words, style or drawn)
    # Without ids of sessions, only those of responses tell a line that was logged twice from an answer like it.
    client.names_responses = not layout.ids or rng.random() < 0.85
    for each in _when(chosen, "client"):
        if not each.styles or client.style in each.styles:
            each.play(client)
    return Session(name, rng, words, client, log, layout)


def steps(session: Session, chosen: list[Behaviour]) -> list[Callable[[], object]]:
    """What a session does in order: its opening, then turns with events between them, until it is long enough."""
    events = [partial(_event, session, each) for each in _when(chosen, "event")]
    turns = [partial(_turn, session) for _ in range(session.rng.randint(0, 5))]
    middle = events + turns
    session.rng.shuffle(middle)
    openings = [partial(_opening, session, each) for each in _when(chosen, "opening")]
    return [*openings, partial(_first, session), *middle, partial(_last, session)]


def _begin_alike(sessions: list[Session]) -> None:
    said = sessions[0].words.text(60, 1200)
    for session in sessions:
        session.main.system, session.opening = sessions[0].main.system, said


def _opening(session: Session, each: Behaviour) -> None:
    session.playing = each.name
    each.play(session)


def _first(session: Session) -> None:
    session.playing = "append"
    session.turn(prompt=session.opening)


def _turn(session: Session) -> None:
    session.playing = "append"
    if session.count < session.most and not session.only_turn:
        session.turn()


def _last(session: Session) -> None:
    """Turns until there are enough, and one after what happened last, so that it is not the end."""
    session.playing = "append"
    if session.only_turn:
        return
    session.turn()
    while session.count < LEAST:
        session.turn()


def _event(session: Session, each: Behaviour) -> None:
    """Play an event, after some more turns where it cannot happen yet."""
    if session.count >= session.most or session.only_turn or (each.styles and session.client.style not in each.styles):
        return
    for _ in range(3):
        session.playing = each.name
        if each.play(session):
            return
        session.playing = "append"
        session.turn()
