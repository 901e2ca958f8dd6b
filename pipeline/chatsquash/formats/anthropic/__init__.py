"""Anthropic Messages: turns of content blocks, tool results inside user turns, the system prompt beside them."""

from chatsquash.formats.anthropic.evidence import marks
from chatsquash.formats.anthropic.request import START, load, system, tools
from chatsquash.formats.anthropic.response import reply
from chatsquash.formats.anthropic.stream import assemble
from chatsquash.formats.anthropic.write import dump
from chatsquash.formats.base import nothing_open as close

NAME = "anthropic"
PLACE = 30
TURNS = "messages"
SYSTEM = ("system",)
TOOLS = ("tools",)
REFERS: tuple[str, ...] = ()
READS = ("content", "type", "role", "stop_reason")

__all__ = ["START", "assemble", "close", "dump", "load", "marks", "reply", "system", "tools"]
