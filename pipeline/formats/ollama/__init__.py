"""Ollama's ``/api/chat``: messages much like OpenAI's, with objects for arguments and images beside the text."""

from pipeline.formats.ollama.evidence import marks
from pipeline.formats.ollama.request import START, close, load, system, tools
from pipeline.formats.ollama.response import reply
from pipeline.formats.ollama.stream import assemble
from pipeline.formats.ollama.write import dump

NAME = "ollama"
TURNS = "messages"
SYSTEM: tuple[str, ...] = ()
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
