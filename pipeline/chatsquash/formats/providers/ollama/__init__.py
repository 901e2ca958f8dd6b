"""Ollama's ``/api/chat``: messages like OpenAI's, but arguments are objects, and images are separate from the text."""

from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.base import no_system as system
from chatsquash.formats.providers.ollama.evidence import marks
from chatsquash.formats.providers.ollama.read import PROVIDER, START, load, tools
from chatsquash.formats.providers.ollama.response import assemble, reply
from chatsquash.formats.providers.ollama.usual import usual
from chatsquash.formats.providers.ollama.write import dump

NAME = "ollama"
PLACE = 40
TURNS = "messages"
SYSTEM: tuple[str, ...] = ()
TOOLS = ("tools",)
REFERS: tuple[str, ...] = ()
READS = ("message", "done_reason")

LOSES = """
developer role, developer mid, image url, audio, video, pdf, file id of OpenAI, file id of Anthropic, result file,
approval, refusal, custom tool call, hosted call, unanswered hosted call, source
"""
"""The kinds of content that lose information when written, by their names in ``docs/formats.md``."""
BLURS = """
instructions, text part bounds, image between text, text after call, result json obj, result json list, result
parts, is_error, denied result, reasoning of two blocks, reasoning between, anthropic signature, anthropic redacted,
openai encrypted, gemini call sig, native members
"""
"""The kinds of content that lose only their place, boundaries or marks."""

__all__ = ["PROVIDER", "START", "assemble", "close", "dump", "load", "marks", "reply", "system", "tools", "usual"]
