"""Gemini's ``generateContent``: turns are lists of parts, mostly without ids, with keys in camel or snake case."""

from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.providers.gemini.blocks import PROVIDER
from chatsquash.formats.providers.gemini.declarations import tools
from chatsquash.formats.providers.gemini.evidence import marks
from chatsquash.formats.providers.gemini.read import START, load, system
from chatsquash.formats.providers.gemini.response import reply
from chatsquash.formats.providers.gemini.stream import assemble
from chatsquash.formats.providers.gemini.usual import plain, usual
from chatsquash.formats.providers.gemini.write import dump

NAME = "gemini"
PLACE = 10
TURNS = "contents"
SYSTEM = ("systemInstruction", "system_instruction")
TOOLS = ("tools",)
REFERS = ("cachedContent", "cached_content")
READS = ("candidates", "promptFeedback")

LOSES = """
developer role, developer mid, file id of OpenAI, file id of Anthropic, approval, refusal, custom tool call, hosted
call, unanswered hosted call, source
"""
"""The kinds of content that lose information when written, by their names in ``docs/formats.md``."""
BLURS = """
instructions, system mid, result parts, denied result, anthropic signature, anthropic redacted, openai encrypted,
native members
"""
"""The kinds of content that lose only their place, boundaries or marks."""

__all__ = [
    "PROVIDER",
    "START",
    "assemble",
    "close",
    "dump",
    "load",
    "marks",
    "plain",
    "reply",
    "system",
    "tools",
    "usual",
]
