"""Anthropic Messages: turns of content blocks, tool results inside user turns, the system prompt beside them."""

from pipeline.formats.anthropic.evidence import marks
from pipeline.formats.anthropic.request import START, close, load, system, tools
from pipeline.formats.anthropic.response import reply
from pipeline.formats.anthropic.stream import assemble
from pipeline.formats.anthropic.write import dump

NAME = "anthropic"
TURNS = "messages"
SYSTEM = ("system",)
TOOLS = ("tools",)
REFERS: tuple[str, ...] = ()

__all__ = [
    "NAME",
    "REFERS",
    "START",
    "SYSTEM",
    "TOOLS",
    "TURNS",
    "assemble",
    "close",
    "dump",
    "load",
    "marks",
    "reply",
    "system",
    "tools",
]
