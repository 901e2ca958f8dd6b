"""OpenAI chat completions, and what the vendors that speak it make of them."""

from pipeline.formats.openai_chat.evidence import marks
from pipeline.formats.openai_chat.request import START, close, load, system, tools
from pipeline.formats.openai_chat.response import reply
from pipeline.formats.openai_chat.stream import assemble
from pipeline.formats.openai_chat.thinking import reasoning
from pipeline.formats.openai_chat.vendors import variants
from pipeline.formats.openai_chat.write import dump

NAME = "openai_chat"
TURNS = "messages"
SYSTEM: tuple[str, ...] = ()
TOOLS = ("tools", "functions")
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
    "reasoning",
    "reply",
    "system",
    "tools",
    "variants",
]
