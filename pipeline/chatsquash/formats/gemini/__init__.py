"""Gemini's ``generateContent``: turns are lists of parts, mostly without ids, with keys in camel or in snake case."""

from chatsquash.formats.base import nothing_open as close
from chatsquash.formats.gemini.declarations import tools
from chatsquash.formats.gemini.evidence import marks
from chatsquash.formats.gemini.request import START, load, system
from chatsquash.formats.gemini.response import reply
from chatsquash.formats.gemini.stream import assemble
from chatsquash.formats.gemini.write import dump

NAME = "gemini"
PLACE = 10
TURNS = "contents"
SYSTEM = ("systemInstruction", "system_instruction")
TOOLS = ("tools",)
REFERS = ("cachedContent", "cached_content")
READS = ("candidates", "promptFeedback")

__all__ = ["START", "assemble", "close", "dump", "load", "marks", "reply", "system", "tools"]
