"""Anthropic Messages: turns of content blocks, tool results inside user turns, a separate system prompt."""

from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.providers.anthropic.blocks import PROVIDER
from chatsquash.formats.providers.anthropic.compaction import is_compaction, visible_turns
from chatsquash.formats.providers.anthropic.evidence import accepts, marks
from chatsquash.formats.providers.anthropic.plain import plain, usual
from chatsquash.formats.providers.anthropic.read import START, load, system, tools
from chatsquash.formats.providers.anthropic.response import reply
from chatsquash.formats.providers.anthropic.stream import assemble
from chatsquash.formats.providers.anthropic.write import dump

NAME = "anthropic"
PLACE = 30
TURNS = "messages"
SYSTEM = ("system",)
TOOLS = ("tools",)
REFERS: tuple[str, ...] = ()
READS = ("content", "type", "role", "stop_reason", "context_management", "input_transformations")

LOSES = """
developer role, developer mid, audio, video, approval, orphan result, reasoning, reasoning+call, reasoning of two
blocks, reasoning between, openai encrypted, refusal, custom tool call, source
"""
"""The kinds of content that lose information when written, by their names in ``docs/formats.md``."""
BLURS = "instructions, file id of OpenAI, result json obj, result json list, denied result, gemini call sig"
"""The kinds of content that lose only their place, boundaries or marks."""

__all__ = [
    "PROVIDER",
    "START",
    "accepts",
    "assemble",
    "close",
    "dump",
    "is_compaction",
    "load",
    "marks",
    "plain",
    "reply",
    "system",
    "tools",
    "usual",
    "visible_turns",
]
