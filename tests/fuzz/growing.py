"""Logs by a seed: mostly such as grow, with what may happen to their entries, their lines and their bytes."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from bench import generate
from bench.content import Shape
from tests import strategies
from tests.fuzz.clients import Chances, Client
from tests.fuzz.mutate import damaged, mutated
from tests.simulator.play import play
from tests.strategies import Entry, Style, render

Log = list[bytes]
"""Its lines, without the line feeds."""


def growing(seed: int) -> bytes:
    """A log of some source; bytes of one in twelve are changed."""
    random = Random(seed)
    lines = random.choice(SOURCES)(random)
    for _ in range(random.choice([*[0] * 6, 1, 1, 2])):
        random.choice(LINES)(lines, random)
    end = random.choice([b"\n", b"\n", b"\n", b"\n", b"", b"\n\n", b"\r\n", b"\n \n"])
    data = b"\n".join(lines) + end
    return mutated(data, random.getrandbits(32), random.choice([1, 1, 2, 3])) if random.random() < 0.08 else data


def calm(seed: int) -> bytes:
    """A log of a client that does little beside the usual; bytes of one in four are changed, a few of them."""
    random = Random(f"calm {seed}")
    data = b"\n".join(_of_client(random, calms=True)) + b"\n"
    return mutated(data, random.getrandbits(32), random.choice([1, 1, 2, 9])) if random.random() < 0.25 else data


# Where they come from


def _of_client(random: Random, *, calms: bool = False) -> Log:
    chances = Chances(random)
    client = Client(chances)
    if calms:
        client.calm_down()
    entries = client.session()
    if random.random() < 0.15:
        entries.insert(random.choice([0, len(entries), len(entries)]), client.title())
    for _ in range(random.choice([*[0] * 7, 1])):
        random.choice(ENTRIES)(entries, random)
    tricks = random.sample(strategies.TRICKS, 1) if random.random() < 0.05 else []
    space = random.choice([*["compact"] * 14, *["default"] * 14, "wide", "odd"])
    escape = random.choice(strategies.ESCAPES[:2] if random.random() < 0.96 else strategies.ESCAPES)
    style = Style(space, escape, random.choice([0, 0, 1, 2, 3, 4, 5]), frozenset(tricks), random.randrange(100))
    other = style
    if random.random() < 0.1:
        other = replace(style, **random.choice([{"space": "compact", "written": {}}, {"order": 2}, {"order": 5}]))
    return [render(entry, chances, random.choice([style, other])) for entry in entries]


def _of_bench(random: Random) -> Log:
    profile = generate.Profile(
        1, random.randint(2, 9), style=random.choice(["growing", "spaced", "hostile"]), shape=_SHAPE
    )
    return [b"".join(line) for line in generate._lines(random.randrange(10**6), profile)]


_SHAPE = Shape(prompt=300, tools=(1, 3), result=60)


def _of_simulator(random: Random) -> Log:
    played = play(random.randrange(10**6), only=random.choice([(), *PLAYED]))
    return random.choice(list(played.files.values())).splitlines()[:8]


PLAYED = [(name,) for name in ("broken-kept", "broken-last", "logged-twice", "side-title", "regenerate", "truncated")]


def _of_strategies(random: Random) -> Log:
    chances = Chances(random)
    families = frozenset(random.sample(strategies.FAMILIES, random.choice([0, 0, 1, 2])))
    style = strategies.a_style(chances, append_only=not families)
    found = strategies.steps(chances, families, append_only="edits" not in families)
    return [render(step.entry, chances, style) for step in found]


def _of_samples(random: Random) -> Log:
    return damaged(random.getrandbits(32)).split(b"\n")


SOURCES: list[Callable[[Random], Log]] = [
    *[_of_client] * 42,
    *[_of_bench] * 4,
    _of_simulator,
    _of_strategies,
    _of_samples,
]

# What happens to entries


def _repeated(entries: list[Entry], random: Random) -> None:
    at = random.randrange(len(entries))
    entries.insert(at, deepcopy(entries[at]))


def _lost(entries: list[Entry], random: Random) -> None:
    if len(entries) > 1:
        del entries[random.randrange(len(entries))]


def _swapped(entries: list[Entry], random: Random) -> None:
    at = random.randrange(len(entries))
    entries[at - 1], entries[at] = entries[at], entries[at - 1]


def _retried(entries: list[Entry], random: Random) -> None:
    """Another reply to the same request."""
    at = random.randrange(len(entries))
    again = deepcopy(entries[at])
    again["response"] = strategies.response(Chances(random), hostile=False)
    entries.insert(at, again)


def _edited(entries: list[Entry], random: Random) -> None:
    """A request that does not have all of the one before it as it was."""
    at = random.randrange(len(entries))
    request = entries[at]["request"]
    entries[at]["request"] = {
        **request,
        "messages": random.choice(strategies.EDITS)(request["messages"], Chances(random)),
    }


def _misshapen(entries: list[Entry], random: Random) -> None:
    at = random.randrange(len(entries))
    if isinstance(entries[at], dict) and "request" in entries[at] and isinstance(entries[at]["request"], dict):
        entries[at] = random.choice(strategies.WRONG_SHAPES)(entries[at])


def _member(name: str, values: list[Any], entries: list[Entry], random: Random) -> None:
    """Another value beside one request, or beside all of them from there on."""
    at = random.randrange(len(entries))
    value = random.choice(values)
    for entry in entries[at:] if random.random() < 0.3 else entries[at : at + 1]:
        if isinstance(entry, dict):
            entry[name] = value


def _asked(entries: list[Entry], random: Random) -> None:
    """Another value in one request."""
    entry = random.choice(entries)
    if isinstance(entry, dict) and isinstance(entry.get("request"), dict):
        name = random.choice(["tools", "max_tokens", "model", "functions", "system"])
        entry["request"][name] = random.choice([None, 1, [], "x", [strategies.TOOLS[0]]])


def _poisoned(entries: list[Entry], random: Random) -> None:
    """A message with a value that costs the line in most cases."""
    at = random.randrange(len(entries))
    request = entries[at].get("request") if isinstance(entries[at], dict) else None
    if isinstance(request, dict) and isinstance(request.get("messages"), list):
        messages = strategies.poisoned(request["messages"], Chances(random))
        entries[at]["request"] = {**request, "messages": messages}


def _extended(entries: list[Entry], random: Random) -> None:
    """A message that is in all requests from one on."""
    added, place = strategies.any_message(Chances(random)), random.randrange(9)
    for entry in entries[random.randrange(len(entries)) :]:
        request = entry.get("request") if isinstance(entry, dict) else None
        if isinstance(request, dict) and isinstance(request.get("messages"), list):
            messages = request["messages"]
            entry["request"] = {**request, "messages": [*messages[:place], added, *messages[place:]]}


def _answered(entries: list[Entry], random: Random) -> None:
    from tests.fuzz.clients import ODD_RESPONDS

    entry = random.choice(entries)
    if isinstance(entry, dict) and isinstance(entry.get("response"), dict) and entry["response"].get("choices"):
        entry["response"] = random.choice(ODD_RESPONDS)(entry["response"])


def _odd_response(entries: list[Entry], random: Random) -> None:
    entry = random.choice(entries)
    if isinstance(entry, dict):
        entry["response"] = random.choice(strategies.RESPONSES)


ENTRIES: list[Callable[[list[Entry], Random], None]] = [
    *[_repeated, _lost, _swapped, _retried, _edited, _misshapen, _asked, _poisoned, _answered, _odd_response],
    *[_extended] * 4,
    partial(_member, "timestamp", strategies.TIMES),
    partial(_member, "session_id", strategies.SESSION_IDS),
    partial(_member, "status", [200, 200.0, "200", 500, None, True]),
]

# What happens to lines


def _damaged(lines: Log, random: Random) -> None:
    at = random.randrange(len(lines))
    lines[at] = random.choice(strategies.DAMAGE)(lines[at], Chances(random))


def _cut(lines: Log, random: Random) -> None:
    """A line that ends anywhere, as where a writer was killed."""
    at = random.randrange(len(lines))
    lines[at] = lines[at][: random.randint(0, len(lines[at]))]


def _cut_and_whole(lines: Log, random: Random) -> None:
    """The same, and the line is written once more behind it."""
    at = random.randrange(len(lines))
    lines.insert(at, lines[at][: random.randint(0, len(lines[at]))])


def _blank(lines: Log, random: Random) -> None:
    lines.insert(random.randint(0, len(lines)), random.choice(strategies.BLANKS))


def _carriage_returns(lines: Log, random: Random) -> None:
    lines[:] = [line + b"\r" for line in lines]


def _marked(lines: Log, random: Random) -> None:
    lines[0] = b"\xef\xbb\xbf" + lines[0]


def _not_entry(lines: Log, random: Random) -> None:
    lines.insert(random.randint(0, len(lines)), random.choice(strategies.NOT_ENTRIES))


def _shuffled(lines: Log, random: Random) -> None:
    random.shuffle(lines)


def _joined(lines: Log, random: Random) -> None:
    """Two lines on one, with or without something between them."""
    at = random.randrange(len(lines))
    if at:
        lines[at - 1 : at + 1] = [random.choice([b"", b",", b" ", b"\r"]).join(lines[at - 1 : at + 1])]


def _split(lines: Log, random: Random) -> None:
    """One value on two lines."""
    at = random.randrange(len(lines))
    place = random.randint(0, len(lines[at]))
    if random.random() < 0.7:
        place = lines[at].rfind(b",", 0, place) + 1
    lines[at : at + 1] = [lines[at][:place], lines[at][place:]]


LINES: list[Callable[[Log, Random], None]] = [
    *[_damaged, _cut, _cut_and_whole, _not_entry, _blank, _carriage_returns] * 3,
    *[_marked, _shuffled, _joined, _split],
]
