"""Reasoning that stands in a text, as blocks of ``<think>``."""

from __future__ import annotations

import re

from chatsquash.reasoning import CLOSE, OPEN

_BLOCK = re.compile(rf"{OPEN}(.*?){CLOSE}", re.DOTALL)
_LEADING = re.compile(rf"(?:\s*{OPEN}.*?{CLOSE})+\s*", re.DOTALL)
_UNOPENED = re.compile(rf"\s*(.*?){CLOSE}\s*", re.DOTALL)
"""Of models whose prompt opens the block."""


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
    return _BLOCK.sub(lambda block: "" if thought and block[1].strip() == thought else block[0], rest)


def _has(text: str, thought: str) -> bool:
    return any(block.strip() == thought for block in _BLOCK.findall(text))


def _leading(text: str, thought: str) -> tuple[list[str], str]:
    """What is thought in the blocks that a text begins with, without empty ones, and the text behind them."""
    if blocks := _LEADING.match(text):
        inside = [block.strip() for block in _BLOCK.findall(blocks[0])]
        return [each for each in inside if each], text[blocks.end() :]
    unopened = _UNOPENED.match(text)
    said = unopened[1].strip() if unopened else ""
    if unopened and said and said == thought:
        return [], text[unopened.end() :]
    return [], text
