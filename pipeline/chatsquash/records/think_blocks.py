"""Reasoning that stands in a text, as blocks of ``<think>``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chatsquash.core.reasoning import CLOSE, OPEN


class _Block(NamedTuple):
    """A block in a text: from where to where it stands, tags included, and what is in it."""

    start: int
    stop: int
    inside: str


def bare(thought: str) -> str:
    """Reasoning without white space and tags around it."""
    return thought.strip().removeprefix(OPEN).removesuffix(CLOSE).strip()


def inlined(text: str, thought: str) -> str:
    """A text with reasoning in one block before it.

    A text that has this reasoning in a block already stays, wherever that stands.  Other reasoning that it begins with
    goes behind this one, in the same block; an empty block gives way.
    """
    thought = bare(thought)
    logged, rest = _leading(text, thought)
    inside = "\n\n".join(logged)
    if len(logged) == 1 and thought in inside:
        return text
    if not thought or _has(rest, thought):
        return text if logged else rest
    if thought not in inside:
        inside = "\n\n".join([thought, *(each for each in logged if each not in thought)])
    return f"{OPEN}\n{inside}\n{CLOSE}\n\n{rest}"


def dropped(text: str, thought: str) -> str:
    """A text without the blocks that it begins with, and without those of this reasoning."""
    thought = bare(thought)
    _, rest = _leading(text, thought)
    pieces, at = list[str](), 0
    for block in _blocks(rest):
        if thought and block.inside.strip() == thought:
            pieces.append(rest[at : block.start])
            at = block.stop
    return "".join([*pieces, rest[at:]])


def _blocks(text: str) -> Iterator[_Block]:
    """The blocks of a text, in order; a search for each would take quadratic time where none is closed."""
    start = text.find(OPEN)
    while start >= 0 and (close := text.find(CLOSE, start + len(OPEN))) >= 0:
        yield _Block(start, close + len(CLOSE), text[start + len(OPEN) : close])
        start = text.find(OPEN, close + len(CLOSE))


def _has(text: str, thought: str) -> bool:
    return any(block.inside.strip() == thought for block in _blocks(text))


def _leading(text: str, thought: str) -> tuple[list[str], str]:
    """What is thought in the blocks that a text begins with, without empty ones, and the text behind them."""
    inside, at = list[str](), 0
    for block in _blocks(text):
        if text[at : block.start].strip():
            break
        inside.append(block.inside.strip())
        at = block.stop
    if at:
        return [each for each in inside if each], text[at:].lstrip()
    said, close, rest = text.partition(CLOSE)
    if close and said.strip() and said.strip() == thought:  # of models whose prompt opens the block
        return [], rest.lstrip()
    return [], text
